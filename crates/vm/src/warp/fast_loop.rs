//! The fast loop, which executes nearly all operations. It leaves the others to the general loop ([`super::run`]).

use super::collective::exchange_alone;
use super::cost::{PRODUCT, TOUCH};
use super::matrix::{load_tiles, multiply};
use super::{CACHED_REGIONS, HINTS};
use crate::decode::Code;
use crate::decode::plan::{Plan, PlanEntry};
use crate::fast::At;
use crate::memory::Spaces;
use crate::memory::cell::CachedRegion;
use crate::meter::Meter;
use softwarp_ir::{MatrixOp, Op, Step, WarpOp};
use softwarp_units::lanes::{ALL, Frame, LANES};

/// Memory, and what is cached about it from one access to the next.
pub(super) struct Memories<'a, 'b> {
    pub(super) spaces: &'a Spaces<'b>,
    pub(super) hints: &'a mut [u32; HINTS],
    pub(super) pieces: &'a mut [CachedRegion<'b>; CACHED_REGIONS],
    pub(super) meter: &'a mut Meter,
}

/// Runs a plan: arithmetic, uniform branches, and loads and stores whose fast functions apply. It stops at anything
/// else, before the operation `end`, or when the budget is spent. Returns the operation at which it stopped, and how
/// many instructions it executed.
#[inline(never)]
pub(super) fn run_fast(
    frame: &mut Frame,
    code: &Code,
    memories: &mut Memories<'_, '_>,
    (pc, end, mask): (usize, usize, u32),
    budget: &mut i64,
) -> (usize, u64) {
    let plan = &code.plan;
    let Some((entries, first)) = entries_between(plan, pc, end) else { return (pc, 0) };
    // The first operation of the next entry, from the entries that are left. The operation before it is the last of
    // the current entry, where that stops.
    let next =
        |rest: &[PlanEntry]| plan.starts.get(entries.len() - rest.len()).map_or(end, |&op| op as usize);
    let mut rest = entries.get(first..).unwrap_or_default();
    let mut paid = Paid { start: instructions_before(code, pc), done: 0 };
    let stopped = loop {
        let Some((entry, after)) = rest.split_first() else { break next(rest) };
        rest = after;
        let (guard, jump) = match entry {
            PlanEntry::Plain(inst) => {
                inst.kernel.run(frame, inst, mask);
                continue;
            }
            PlanEntry::Load(direct) | PlanEntry::Store(direct)
                if mask == ALL && direct.run(frame, memories.pieces) =>
            {
                continue;
            }
            PlanEntry::Load(_) | PlanEntry::Store(_) | PlanEntry::Other => {
                *budget -= TOUCH;
                if !touch(frame, code, memories, next(rest) - 1, mask) {
                    break next(rest) - 1;
                }
                continue;
            }
            PlanEntry::Test(inst, jump) => {
                inst.kernel.run(frame, inst, mask);
                (inst.guard, jump)
            }
            PlanEntry::Branch(guard, jump) => (*guard, jump),
            PlanEntry::Guarded(inst) => {
                let lanes = inst.guard.lanes(frame, mask);
                if lanes != 0 {
                    inst.kernel.run(frame, inst, lanes);
                }
                continue;
            }
            PlanEntry::Nothing => continue,
            PlanEntry::Pause => break next(rest),
            PlanEntry::WarpSync if mask == ALL => {
                memories.meter.exchanged();
                continue;
            }
            PlanEntry::Multiply if mask == ALL && product(frame, code, next(rest) - 1) => {
                *budget -= PRODUCT;
                continue;
            }
            PlanEntry::WarpSync | PlanEntry::Multiply => break next(rest) - 1,
        };
        let taken = guard.lanes(frame, mask);
        if taken != mask && taken != 0 {
            break next(rest) - 1;
        }
        paid.block(jump.counts[0], budget);
        *budget -= 1;
        if taken != 0 {
            paid.start = jump.counts[1];
            // The target is behind the operation `end`. The loop stops there, since another split may stand between.
            let Some(there) = entries.get(jump.to as usize..) else {
                break plan.starts.get(jump.to as usize).map_or(end, |&op| op as usize);
            };
            rest = there;
        }
        if *budget <= 0 {
            break next(rest);
        }
    };
    paid.block(instructions_before(code, stopped), budget);
    (stopped, paid.done)
}

/// The entries before an operation, and the index of the one that begins at `pc`. None in the midst of an entry: what it
/// did before must not be done again.
#[inline(always)]
fn entries_between(plan: &Plan, pc: usize, end: usize) -> Option<(&[PlanEntry], usize)> {
    let entry_of = |op: usize| plan.of.get(op).map_or(0, |&entry| entry as usize);
    let first = entry_of(pc);
    let begins = plan.starts.get(first).is_some_and(|&start| start as usize == pc);
    begins.then(|| (plan.entries.get(..entry_of(end)).unwrap_or_default(), first))
}

/// The number of instructions of a function before an operation.
#[inline(always)]
fn instructions_before(code: &Code, op: usize) -> u32 {
    code.instructions.get(op).copied().unwrap_or(0)
}

/// The instructions that the loop has paid for. A basic block is paid for at its end.
struct Paid {
    /// Instructions of the function before the block.
    start: u32,
    /// Instructions that were executed.
    done: u64,
}

impl Paid {
    /// Pays for the instructions from the start of the block up to an instruction.
    #[inline(always)]
    fn block(&mut self, end: u32, budget: &mut i64) {
        let instructions = end.wrapping_sub(self.start);
        self.done += u64::from(instructions);
        *budget -= i64::from(instructions);
        self.start = end;
    }
}

/// A product of matrices by a whole warp. Returns whether it was done.
#[inline(never)]
fn product(frame: &mut Frame, code: &Code, op: usize) -> bool {
    let Some(Op::Other(_, step)) = code.ops.get(op) else { return false };
    let Step::Matrix(MatrixOp::Mma(op)) = &**step else { return false };
    multiply(frame, op, ALL);
    true
}

/// An operation that is not arithmetic: a load or store that is not in the cached region or not of the most common
/// kind, and what a converged warp does together. Returns whether it was done.
#[inline(never)]
pub(super) fn touch(
    frame: &mut Frame,
    code: &Code,
    Memories { spaces, hints, pieces, meter }: &mut Memories<'_, '_>,
    op: usize,
    mask: u32,
) -> bool {
    let Some(Op::Other(guard, step)) = code.ops.get(op) else { return false };
    let taking = guard.lanes(frame, mask);
    if taking == 0 {
        return true;
    }
    let access = match &**step {
        Step::Load(access) | Step::Store(access) => access,
        Step::Matrix(MatrixOp::Mma(op)) if taking == ALL => {
            multiply(frame, op, taking);
            return true;
        }
        Step::Matrix(MatrixOp::Load(op)) if taking == ALL => return load_tiles(frame, op, spaces),
        Step::Warp(op) if taking == ALL && names_all(frame, op) => {
            exchange_alone(frame, op, taking);
            meter.exchanged();
            return true;
        }
        _ => return false,
    };
    let hint = &mut hints[op % HINTS];
    if taking == ALL
        && let Some(entry) = code.plan.of.get(op)
        && let Some(PlanEntry::Load(direct) | PlanEntry::Store(direct)) =
            code.plan.entries.get(*entry as usize)
        && direct.retry(frame, &access.address, (spaces, hint), pieces)
    {
        return true;
    }
    match &**step {
        _ if access.order.is_strong() => false,
        Step::Load(_) => code.decoded[op].access().load(access, frame, At { spaces, taking, hint }),
        _ => code.decoded[op].access().store(access, frame, At { spaces, taking, hint }),
    }
}

/// Whether an operation among lanes is one of all of them, as each lane says.
fn names_all(frame: &Frame, op: &WarpOp) -> bool {
    op.members.is_none_or(|members| frame.narrow[members.number() as usize].0 == [ALL; LANES])
}
