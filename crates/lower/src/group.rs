//! Groups of asynchronous operations, and fences for them: [`softwarp_ir::group`].

use crate::builder::{Builder, Lowered, Refusal};
use crate::form::Form;
use softwarp_ir::Role;
use softwarp_ir::group::{GroupOp, Named, Queue};
use softwarp_ir::matrix::WgmmaFactor;
use softwarp_ir::{Fence, MatrixOp, Op, Order, Scope, Semantics, Step, TensorCoreOp};
use softwarp_isa::StateSpace;
use softwarp_isa::instruction::{Modifier, Opcode};
use softwarp_syntax::tree::{Operand, Range};

impl Builder<'_, '_> {
    /// `commit_group`, `wait_group`, `wait_all`
    pub fn group(&mut self, form: &Form, queue: Queue, operands: Range<Operand>) -> Lowered<()> {
        let has = |modifier| form.has(modifier);
        let op = match () {
            () if has(Modifier::CommitGroup) => GroupOp::Commit(queue),
            () if has(Modifier::Fence) => GroupOp::Registers,
            () => {
                let all = has(Modifier::WaitAll);
                let pending = if all { 0 } else { self.immediate(operands.start)? };
                let pending = u32::try_from(pending).map_err(|_| Refusal::Form)?;
                GroupOp::Wait { queue, pending, reads: has(Modifier::Read), all }
            }
        };
        self.step(Step::Group(op))
    }

    /// `membar`, `fence`
    pub fn fence(&mut self, form: &Form, _: Range<Operand>) -> Lowered<()> {
        if !matches!(form.instruction.opcode, Opcode::Membar | Opcode::Fence) {
            return Err(Refusal::Elsewhere);
        }
        let modifiers = &form.instruction.modifiers;
        let both = Order { semantics: Semantics::AcquireRelease, scope: Scope::Gpu };
        let order = Order::of(modifiers, both);
        if form.has(Modifier::Proxy) {
            if modifiers.iter().any(|word| matches!(word, Modifier::Async | Modifier::AsyncGeneric)) {
                let spaces = &form.instruction.spaces;
                let of = |space| spaces.iter().any(|one| one.of_variables() == Some(space));
                let [shared, global] = [of(StateSpace::Shared), of(StateSpace::Global)];
                let all = !shared && !global;
                self.step(Step::Group(GroupOp::Proxy { shared: all || shared, global: all || global }))?;
            }
            // Those that go one way release or acquire; the others order nothing but the proxies of a thread.
            if !(form.has(Modifier::Acquire) || form.has(Modifier::Release)) {
                return Ok(());
            }
        }
        self.step(Step::Fence(Fence { order, mbarrier_init: form.has(Modifier::MbarrierInit) }))
    }
}

/// The registers of each operation, while they have numbers of their own: of functions with products, or with loads from
/// tensor memory.
pub fn named(ops: &mut [Op], is_move: impl Fn(usize) -> bool) -> Vec<Named> {
    fn is_asynchronous(op: &Op) -> bool {
        let Op::Other(_, step) = op else { return false };
        matches!(**step, Step::Matrix(MatrixOp::Wgmma(_)) | Step::TensorCore(TensorCoreOp::Load(_)))
    }
    if !ops.iter().any(is_asynchronous) {
        return Vec::new();
    }
    let named = |(at, op): (usize, &mut Op)| Named { moves: is_move(at), ..registers(op) };
    ops.iter_mut().enumerate().map(named).collect()
}

fn registers(op: &mut Op) -> Named {
    let mut named = Named::default();
    if let Op::Other(_, step) = op
        && let Step::Matrix(MatrixOp::Wgmma(product)) = &**step
    {
        if let WgmmaFactor::Registers(a) = &product.a {
            named.reads = a.iter().map(|slot| slot.number()).collect();
        }
        named.writes = product.d.iter().flatten().map(|slot| slot.number()).collect();
        return named;
    }
    op.visit(|slot, role| match role {
        Role::Read | Role::Address => named.reads.push(slot.number()),
        Role::Write => named.writes.push(slot.number()),
    });
    named
}
