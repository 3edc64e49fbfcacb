//! How many low bits of a value are zero in the first lane of a warp.
//!
//! An optimistic fixpoint over webs. The value of the first lane is always what one of the definitions computed from
//! values of the first lane, whichever lanes execute: what is found holds in all code.

use crate::buffers::Buffer;
use crate::decode::{Action, Compute, Extend, constant};
use crate::flow::Flow;
use crate::{Rows, Shape};
use softwarp_ir::start::Given;
use softwarp_ir::{Function, Op, Slot, Special};

/// Of a zero: more bits than any value has.
const ALL: u32 = 64;

/// The zeros below the lowest bit of values in the first lane.
#[derive(Default)]
pub(crate) struct Alignment {
    webs: Buffer<u32>,
    /// By the index of a row that is never written.
    fixed: Buffer<u32>,
}

impl Alignment {
    pub(crate) fn of(function: &Function, flow: &Flow, shape: Shape) -> Alignment {
        let webs = flow.webs.iter().map(|web| if web.from_start { 0 } else { ALL }).collect();
        let mut alignment = Alignment { webs, fixed: fixed(function, flow, shape) };
        let mut seen = Buffer::filled(false, flow.webs.len());
        loop {
            // Whether a web has changed that was read before.
            let mut changed = false;
            for at in 0..function.ops.len() {
                flow.reads(at).iter().for_each(|touch| seen[touch.web] = true);
                let writes = flow.writes(at);
                if writes.iter().all(|touch| alignment.webs[touch.web] == 0) {
                    continue;
                }
                let zeros = alignment.result(function, flow, at);
                for touch in writes {
                    let zeros = if touch.slot.is_wide() || zeros < 32 { zeros } else { ALL };
                    changed |= zeros < alignment.webs[touch.web] && seen[touch.web];
                    alignment.webs[touch.web] = alignment.webs[touch.web].min(zeros);
                }
            }
            if !changed {
                return alignment;
            }
        }
    }

    /// The zeros of a source.
    pub(crate) fn source(&self, flow: &Flow, op: usize, slot: Slot) -> u32 {
        match flow.is_fixed(slot) {
            true => self.fixed[flow.index(slot)],
            false => flow.read(op, slot).map_or(0, |web| self.webs[web]),
        }
    }

    /// The zeros of what an operation writes.
    fn result(&self, function: &Function, flow: &Flow, at: usize) -> u32 {
        let zeros = |slot: Slot| self.source(flow, at, slot);
        let (compute, alu) = match (flow.actions[at], &function.ops[at]) {
            (Action::Copy(_, s), _) => return zeros(s),
            (Action::Compute(compute), Op::Alu(alu)) => (compute, alu),
            _ => return 0,
        };
        let source = |n: usize| match alu.s.get(n) {
            Some(slot) if slot.class() != softwarp_ir::Class::Predicate => zeros(slot),
            _ => 0,
        };
        let (a, b) = (|| source(0), || source(1));
        // Whether a source is a constant with no bit from `bits` on.
        let is_below = |n: usize, bits: u32| {
            let value = alu.s.get(n).and_then(|slot| constant(function, slot));
            value.is_some_and(|value| u64::from(value) >> bits.min(63) == 0)
        };
        let product = || (a() + b()).min(ALL);
        let amount = || alu.s.get(1).and_then(|slot| constant(function, slot)).filter(|&by| by < 32);
        let shifted_down = |by: u32| if a() == ALL { ALL } else { a().saturating_sub(by) };
        match compute {
            Compute::Copy(_) | Compute::Neg(_) => a(),
            Compute::Shl(_) => (a() + amount().unwrap_or(0)).min(ALL),
            Compute::Shr { .. } => amount().map_or(0, shifted_down),
            Compute::Extend(Extend::Sign64 | Extend::Zero64 | Extend::Low32) => a(),
            Compute::Extend(Extend::Field { shift, bits }) if shift + bits <= a() => ALL,
            Compute::Extend(Extend::Field { shift, .. }) => shifted_down(shift),
            Compute::Add(_) | Compute::Sub(_) | Compute::Or(_) | Compute::Xor(_) => a().min(b()),
            Compute::Select(_) => a().min(b()),
            Compute::And(_) if is_below(1, a()) || is_below(0, b()) => ALL,
            Compute::And(_) => a().max(b()),
            Compute::Mul(_) | Compute::Wide { add: false, .. } => product(),
            Compute::Mad(_) | Compute::Wide { add: true, .. } => product().min(source(2)),
            _ => 0,
        }
    }
}

/// The zeros of rows that are never written.
fn fixed(function: &Function, flow: &Flow, shape: Shape) -> Buffer<u32> {
    let mut fixed = Buffer::filled(0, flow.fixed.len());
    for &given in &function.start.given {
        if let Given::Special(slot, special) = given {
            fixed[flow.index(Slot::narrow(slot))] = match (special, shape.rows) {
                (Special::LaneId, _) | (Special::Tid(0), Rows::Half) => ALL,
                (Special::Tid(0), Rows::Whole) => 5,
                (Special::Tid(1), Rows::Half) => 1,
                _ => 0,
            };
        }
    }
    let shared_narrow = |slot: u32| function.shared_narrow.iter().any(|&(other, _)| other == slot);
    for &(slot, value) in function.narrow_constants.iter().filter(|(slot, _)| !shared_narrow(*slot)) {
        fixed[flow.index(Slot::narrow(slot))] = if value == 0 { ALL } else { value.trailing_zeros() };
    }
    let shared_wide = |slot: u32| function.shared_wide.iter().any(|&(other, _)| other == slot);
    for &(slot, value) in function.wide_constants.iter().filter(|(slot, _)| !shared_wide(*slot)) {
        fixed[flow.index(Slot::wide(slot))] = value.trailing_zeros();
    }
    fixed
}
