//! CTAs of a cluster (PTX ISA sections 9.7.9.23, 9.7.9.24, 9.7.13.3, 9.7.13.17 and 9.7.13.18).

use super::form::Form;
use super::function::{Builder, Lowered, Refusal};
use softwarp_ir::cluster::{ClusterOp, Pointer};
use softwarp_ir::{Operands, Step};
use softwarp_isa::Type;
use softwarp_isa::instruction::Space;
use softwarp_isa::instruction::{Modifier, Opcode};
use softwarp_syntax::tree::{Operand, Range};

impl Builder<'_, '_> {
    /// CTAs of a cluster.
    pub fn cluster(&mut self, form: &Form, operands: Range<Operand>) -> Lowered<()> {
        match form.shape.opcode {
            Opcode::Barrier if form.has(Modifier::Arrive) => {
                let relaxed = form.has(Modifier::Relaxed);
                self.step(Step::Cluster(ClusterOp::Arrive { relaxed }, Operands::default()))
            }
            Opcode::Barrier if form.has(Modifier::Wait) => {
                self.step(Step::Cluster(ClusterOp::Wait, Operands::default()))
            }
            Opcode::Mapa => {
                let a = self.source(operands.start + 1, form.ty())?;
                let rank = self.source(operands.start + 2, Type::U32)?;
                self.cluster_value(ClusterOp::Map(pointer(form)), operands.start, form.ty(), vec![a, rank])
            }
            Opcode::Getctarank => {
                let a = self.source(operands.start + 1, form.ty())?;
                self.cluster_value(ClusterOp::Rank(pointer(form)), operands.start, Type::U32, vec![a])
            }
            Opcode::Clusterlaunchcontrol if form.has(Modifier::TryCancel) => {
                let response = self.address(operands.start, form.space())?;
                let mbarrier = self.address(operands.start + 1, form.space())?;
                let op = ClusterOp::TryCancel { multicast: form.has(Modifier::MulticastClusterAll) };
                let addresses = vec![response, mbarrier];
                self.step(Step::Cluster(op, Operands { addresses, ..Operands::default() }))
            }
            Opcode::Clusterlaunchcontrol if form.has(Modifier::QueryCancel) => {
                self.query_cancel(form, operands)
            }
            _ => Err(Refusal::Form),
        }
    }

    fn query_cancel(&mut self, form: &Form, operands: Range<Operand>) -> Lowered<()> {
        let response = self.source(operands.start + 1, Type::B128)?;
        let reads = vec![response, response + 1];
        let dimension = match () {
            () if form.has(Modifier::IsCanceled) => {
                return self.cluster_value(ClusterOp::IsCancelled, operands.start, Type::Pred, reads);
            }
            () if form.has(Modifier::GetFirstCtaidY) => 1,
            () if form.has(Modifier::GetFirstCtaidZ) => 2,
            () => 0,
        };
        if !form.has(Modifier::GetFirstCtaid) {
            return self.cluster_value(ClusterOp::FirstCta(dimension), operands.start, Type::B32, reads);
        }
        let elements = self.elements(operands.start, Type::B32)?;
        let writes = elements.into_iter().map(|(slot, _)| slot).collect();
        self.step(Step::Cluster(ClusterOp::FirstCta(0), Operands { reads, writes, addresses: Vec::new() }))
    }

    /// A step with one result of this type.
    fn cluster_value(&mut self, op: ClusterOp, d: u32, ty: Type, reads: Vec<u32>) -> Lowered<()> {
        let d = self.destination(d, ty)?;
        let operands = Operands { reads, writes: vec![d.slot], addresses: Vec::new() };
        self.step(Step::Cluster(op, operands))?;
        self.deliver(d);
        Ok(())
    }
}

fn pointer(form: &Form) -> Pointer {
    Pointer { generic: form.space() == Space::Generic, wide: form.ty().bits() > 32 }
}
