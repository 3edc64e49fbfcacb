//! Which slots an operation reads and writes.
//!
//! While a function is lowered, slots are numbers of virtual registers; [`visit`] is how they are found to see
//! where each is live, and how they are replaced by those of rows once these are known.

use crate::{Atomic, Barrier, Call, Callee, NONE, Op, Step, WarpOp};

/// What is done with a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It is read.
    Read,
    /// It is written, in those lanes that pass the guard.
    Write,
}

impl Op {
    /// Shows every slot of an operation, those that are read first.
    pub fn visit(&mut self, mut f: impl FnMut(&mut u32, Role)) {
        let mut see = |slot: &mut u32, role| {
            if *slot != NONE {
                f(slot, role);
            }
        };
        match self {
            Op::Alu(inst) => {
                see(&mut inst.guard.slot, Role::Read);
                inst.s.iter_mut().for_each(|slot| see(slot, Role::Read));
                inst.d.iter_mut().for_each(|slot| see(slot, Role::Write));
            }
            Op::Branch(guard, _) => see(&mut guard.slot, Role::Read),
            Op::Other(guard, step) => {
                see(&mut guard.slot, Role::Read);
                visit_step(step, &mut see);
            }
        }
    }
}

fn visit_step(step: &mut Step, see: &mut impl FnMut(&mut u32, Role)) {
    match step {
        Step::Return
        | Step::Exit
        | Step::Trap
        | Step::Breakpoint
        | Step::Yield
        | Step::Fence(_)
        | Step::Group(_)
        | Step::Call(Call { callee: Callee::Direct(_) | Callee::Provided(_), .. }) => {}
        Step::Call(Call { callee: Callee::Indirect { slot, .. }, .. }) => see(slot, Role::Read),
        Step::Switch { index, .. } => see(index, Role::Read),
        Step::Special { d, .. } | Step::FrameAddress { d, .. } | Step::StackSave { d, .. } => {
            see(d, Role::Write);
        }
        Step::StackRestore { a, .. } => see(a, Role::Read),
        Step::Alloca { size, d, .. } => {
            see(size, Role::Read);
            see(d, Role::Write);
        }
        Step::Load(access) => {
            see(&mut access.address.base, Role::Read);
            access.registers.iter_mut().for_each(|(slot, _)| see(slot, Role::Write));
        }
        Step::Store(access) => {
            see(&mut access.address.base, Role::Read);
            access.registers.iter_mut().for_each(|(slot, _)| see(slot, Role::Read));
        }
        Step::Atomic(Atomic { address, d, b, c, .. }) => {
            see(&mut address.base, Role::Read);
            b.iter_mut().for_each(|slot| see(slot, Role::Read));
            see(c, Role::Read);
            d.iter_mut().for_each(|slot| see(slot, Role::Write));
        }
        Step::Barrier(Barrier { number, count, predicate, d, .. }) => {
            for slot in [number, count, &mut predicate.slot] {
                see(slot, Role::Read);
            }
            see(d, Role::Write);
        }
        Step::Warp(WarpOp { members, d, s, .. }) => {
            see(members, Role::Read);
            s.iter_mut().for_each(|slot| see(slot, Role::Read));
            d.iter_mut().for_each(|slot| see(slot, Role::Write));
        }
        Step::Texture(_, operands)
        | Step::Cluster(_, operands)
        | Step::Multimem(_, operands)
        | Step::Asynchronous(_, operands)
        | Step::Matrix(_, operands) => {
            operands.reads.iter_mut().for_each(|slot| see(slot, Role::Read));
            operands.addresses.iter_mut().for_each(|address| see(&mut address.base, Role::Read));
            operands.writes.iter_mut().for_each(|slot| see(slot, Role::Write));
        }
    }
}
