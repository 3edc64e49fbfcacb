//! CTAs of a cluster (PTX ISA sections 9.7.9.23, 9.7.9.24, 9.7.13.3, 9.7.13.17 and 9.7.13.18).

use crate::builder::{Builder, Lowered, Refusal};
use crate::form::Form;
use softwarp_ir::cluster::{ClusterArrive, CtaRank, FirstCta, IsCancelled, MapShared, TryCancel};
use softwarp_ir::group::GroupOp;
use softwarp_ir::{ClusterOp, Slot, Step};
use softwarp_isa::Type;
use softwarp_isa::instruction::{Modifier, Opcode, Space};
use softwarp_syntax::tree::{Operand, Range};

impl Builder<'_, '_> {
    /// CTAs of a cluster.
    pub fn cluster(&mut self, form: &Form, operands: Range<Operand>) -> Lowered<()> {
        match form.instruction.opcode {
            Opcode::Barrier if form.has(Modifier::Cluster) => self.cluster_barrier(form),
            Opcode::Mapa => {
                let address = self.source(operands.start + 1, form.ty())?;
                let rank = self.source(operands.start + 2, Type::U32)?;
                let generic = form.space() == Space::Generic;
                let op = |d| ClusterOp::Map(MapShared { d, address, rank, generic });
                self.cluster_value(op, operands.start, form.ty())
            }
            Opcode::Getctarank => {
                let address = self.source(operands.start + 1, form.ty())?;
                let generic = form.space() == Space::Generic;
                let op = |d| ClusterOp::Rank(CtaRank { d, address, generic });
                self.cluster_value(op, operands.start, Type::U32)
            }
            Opcode::Clusterlaunchcontrol if form.has(Modifier::TryCancel) => {
                let response = self.address(operands.start, form.space())?;
                let mbarrier = self.address(operands.start + 1, form.space())?;
                let multicast = form.has(Modifier::MulticastClusterAll);
                self.step(Step::Cluster(ClusterOp::TryCancel(TryCancel { response, mbarrier, multicast })))
            }
            Opcode::Clusterlaunchcontrol if form.has(Modifier::QueryCancel) => {
                self.query_cancel(form, operands)
            }
            Opcode::Clusterlaunchcontrol => Err(Refusal::Form),
            _ => Err(Refusal::Elsewhere),
        }
    }

    /// `barrier.cluster`
    fn cluster_barrier(&mut self, form: &Form) -> Lowered<()> {
        if form.has(Modifier::Aligned) {
            self.together(Step::Group(GroupOp::WholeWarp))?;
        }
        let op = match () {
            () if form.has(Modifier::Arrive) => {
                ClusterOp::Arrive(ClusterArrive { relaxed: form.has(Modifier::Relaxed) })
            }
            () if form.has(Modifier::Wait) => ClusterOp::Wait,
            () => return Err(Refusal::Form),
        };
        self.step(Step::Cluster(op))
    }

    fn query_cancel(&mut self, form: &Form, operands: Range<Operand>) -> Lowered<()> {
        let response = self.source(operands.start + 1, Type::B128)?;
        let response = [response, response.next()];
        let dimension = match () {
            () if form.has(Modifier::IsCanceled) => {
                let op = |d| ClusterOp::IsCancelled(IsCancelled { d, response });
                return self.cluster_value(op, operands.start, Type::Pred);
            }
            () if form.has(Modifier::GetFirstCtaidY) => 1,
            () if form.has(Modifier::GetFirstCtaidZ) => 2,
            () => 0,
        };
        if !form.has(Modifier::GetFirstCtaid) {
            let op = |d| ClusterOp::FirstCta(FirstCta { d: vec![Some(d)], response, from: dimension });
            return self.cluster_value(op, operands.start, Type::B32);
        }
        let elements = self.elements(operands.start, Type::B32)?;
        let d = elements.into_iter().map(|element| element.slot).collect();
        self.step(Step::Cluster(ClusterOp::FirstCta(FirstCta { d, response, from: 0 })))
    }

    /// A step with one result of this type.
    fn cluster_value(&mut self, op: impl FnOnce(Slot) -> ClusterOp, d: u32, ty: Type) -> Lowered<()> {
        let d = self.destination(d, ty)?;
        self.step(Step::Cluster(op(d.slot)))?;
        self.deliver(d);
        Ok(())
    }
}
