//! How many low bits of a value are zero in the first lane of a warp.
//!
//! An optimistic fixpoint over webs. The value of the first lane is always what one of the definitions computed from
//! values of the first lane, whichever lanes execute: what is found holds in all code. Few webs are asked for: the fixpoint
//! is over those that they depend on.

use crate::buffers::Buffer;
use crate::decode::{Action, Compute, Extend, constant};
use crate::flow::Flow;
use crate::{Rows, Shape};
use softwarp_ir::start::Given;
use softwarp_ir::{Function, Op, Slot, Special};
use softwarp_isa::device::CTA_SHARED;
use std::cell::RefCell;

/// Of a zero: more bits than any value has.
const ALL: u32 = 64;

/// Of a web that nothing has asked for yet.
const UNKNOWN: u32 = u32::MAX;

/// The zeros below the lowest bit of values in the first lane.
pub(crate) struct Alignment<'a> {
    function: &'a Function,
    webs: RefCell<Buffer<u32>>,
    /// By the index of a row that is never written.
    fixed: Buffer<u32>,
}

impl<'a> Alignment<'a> {
    pub(crate) fn new(function: &'a Function, flow: &Flow, shape: Shape) -> Alignment<'a> {
        let webs = RefCell::new(Buffer::filled(UNKNOWN, flow.webs.len()));
        Alignment { function, webs, fixed: fixed(function, flow, shape) }
    }

    /// The zeros of a source.
    pub(crate) fn source(&self, flow: &Flow, op: usize, slot: Slot) -> u32 {
        if flow.is_fixed(slot) {
            return self.fixed[flow.index(slot)];
        }
        let Some(web) = flow.read(op, slot) else { return 0 };
        let webs = &mut self.webs.borrow_mut();
        if webs[web] == UNKNOWN {
            self.find(flow, webs, web);
        }
        webs[web]
    }

    /// Finds the zeros of a web.
    fn find(&self, flow: &Flow, webs: &mut [u32], web: usize) {
        let first = |web: usize| if flow.webs[web].from_start { 0 } else { ALL };
        webs[web] = first(web);
        let (mut waiting, mut ops) = (vec![web], Vec::new());
        while let Some(web) = waiting.pop() {
            if webs[web] == 0 {
                continue;
            }
            for &op in flow.defs(web) {
                ops.push(op);
                for source in flow.reads(op).iter().map(|touch| touch.web) {
                    if webs[source] == UNKNOWN {
                        webs[source] = first(source);
                        waiting.push(source);
                    }
                }
            }
        }
        ops.sort_unstable();
        ops.dedup();
        flow.budget.spend(4 * ops.len());
        loop {
            let mut changed = false;
            for &at in &ops {
                let zeros = self.result(flow, webs, at);
                for touch in flow.writes(at) {
                    let zeros = if touch.slot.is_wide() || zeros < 32 { zeros } else { ALL };
                    let web = &mut webs[touch.web];
                    if *web != UNKNOWN && zeros < *web {
                        (*web, changed) = (zeros, true);
                    }
                }
            }
            if !changed || !flow.budget.spend(64 * ops.len()) {
                return;
            }
            // What is read may be written before or after.
            ops.reverse();
        }
    }

    /// The zeros of what an operation writes.
    fn result(&self, flow: &Flow, webs: &[u32], at: usize) -> u32 {
        let function = self.function;
        let zeros = |slot: Slot| match flow.is_fixed(slot) {
            true => self.fixed[flow.index(slot)],
            false => flow.read(at, slot).map_or(0, |web| webs[web]),
        };
        if let Action::Copy(_, s) = flow.actions[at] {
            return zeros(s);
        }
        let (Some(compute), Op::Alu(alu)) = (flow.actions[at].compute(), &function.ops[at]) else { return 0 };
        let source = |n: usize| {
            let slot = alu.s.get(n).filter(|slot| slot.class() != softwarp_ir::Class::Predicate);
            slot.map_or(0, zeros)
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
            // Nothing is claimed of these.
            Compute::High { .. } | Compute::Permute(_) | Compute::Not(_) | Compute::Lop3(_) => 0,
            Compute::Funnel { .. } | Compute::Min { .. } | Compute::Max { .. } => 0,
            Compute::Extend(Extend::Sign { .. }) | Compute::Halves | Compute::Pack64 | Compute::High32 => 0,
            Compute::Compare { .. } | Compute::CompareFloat { .. } | Compute::CompareDouble { .. } => 0,
            Compute::CompareShort { .. } | Compute::Integer(_) | Compute::Half(_) | Compute::Double(_) => 0,
            Compute::Float(_) | Compute::Rounded(..) | Compute::Flushed(_) | Compute::Convert(_) => 0,
            Compute::WideConvert(_) | Compute::Special(_) | Compute::Predicate(_) => 0,
        }
    }
}

/// The zeros of rows that are never written.
fn fixed(function: &Function, flow: &Flow, shape: Shape) -> Buffer<u32> {
    let mut fixed = Buffer::filled(0, flow.fixed.len());
    for &given in &function.start.given {
        if let Given::Special(slot, special) = given {
            fixed[flow.index(Slot::narrow(slot))] = special_zeros(special, shape);
        }
    }
    for &(slot, value) in &function.narrow_constants {
        fixed[flow.index(Slot::narrow(slot))] = if value == 0 { ALL } else { value.trailing_zeros() };
    }
    // In a cluster, the window of the CTA is added.
    for &(slot, value) in &function.shared_narrow {
        fixed[flow.index(Slot::narrow(slot))] = (value | CTA_SHARED as u32).trailing_zeros();
    }
    for &(slot, value) in &function.wide_constants {
        fixed[flow.index(Slot::wide(slot))] = value.trailing_zeros();
    }
    for &(slot, value) in &function.shared_wide {
        fixed[flow.index(Slot::wide(slot))] = (value | CTA_SHARED).trailing_zeros();
    }
    fixed
}

/// The zeros of a special register.
fn special_zeros(special: Special, shape: Shape) -> u32 {
    match special {
        Special::LaneId => ALL,
        Special::Tid(0) => match shape.rows {
            Rows::Half => ALL,
            Rows::Whole => 5,
            Rows::Other => 0,
        },
        Special::Tid(1) => match shape.rows {
            Rows::Half => 1,
            Rows::Whole | Rows::Other => 0,
        },
        Special::Ntid(0) => match shape.whole_rows {
            true => 5,
            false => 0,
        },
        // Nothing is claimed of these.
        Special::Tid(_) | Special::Ntid(_) | Special::Ctaid(_) | Special::Nctaid(_) => 0,
        Special::WarpId | Special::NwarpId | Special::SmId | Special::NsmId | Special::GridId => 0,
        Special::LanemaskEq | Special::LanemaskLe | Special::LanemaskLt => 0,
        Special::LanemaskGe | Special::LanemaskGt => 0,
        Special::Clock | Special::ClockHi | Special::Clock64 => 0,
        Special::GlobalTimer | Special::GlobalTimerLo | Special::GlobalTimerHi => 0,
        Special::TotalSmemSize | Special::AggrSmemSize | Special::DynamicSmemSize => 0,
        Special::ReservedSmem(_) | Special::CurrentGraphExec | Special::EnvReg(_) => 0,
        Special::ClusterId(_) | Special::NclusterId(_) | Special::ClusterCtaid(_) => 0,
        Special::ClusterNctaid(_) | Special::ClusterCtarank | Special::ClusterNctarank => 0,
        Special::IsExplicitCluster | Special::Pm(_) => 0,
    }
}
