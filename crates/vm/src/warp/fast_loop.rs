//! The loop for what nearly all operations are. What it does not do, [`super::run`] does.

use super::collective::exchange_alone;
use super::cost::{PRODUCT, TOUCH};
use super::matrix::multiply;
use super::{CACHED_REGIONS, HINTS};
use crate::decode::Code;
use crate::decode::plan::Entry;
use crate::fast::At;
use crate::memory::Spaces;
use crate::memory::cell::CachedRegion;
use crate::meter::Watch;
use softwarp_ir::{MatrixOp, Op, Step, WarpOp};
use softwarp_units::lanes::{ALL, Frame, LANES};

/// What is remembered of memory from one access to the next.
pub(super) struct Memories<'a, 'b> {
    pub(super) spaces: &'a Spaces<'b>,
    pub(super) hints: &'a mut [u32; HINTS],
    pub(super) pieces: &'a mut [CachedRegion<'b>; CACHED_REGIONS],
    pub(super) watch: &'a mut Watch,
}

/// The plain case, in a loop with little else in it: arithmetic, branches that all lanes take or none, loads and
/// stores with nothing out of the ordinary. It stops at anything else, before the operation `end`, or when the
/// budget is spent. Gives where it stopped, and how many instructions it executed.
#[inline(never)]
pub(super) fn run_fast(
    frame: &mut Frame,
    code: &Code,
    memories: &mut Memories<'_, '_>,
    (pc, end, mask): (usize, usize, u32),
    budget: &mut i64,
) -> (usize, u64) {
    let plan = &code.plan;
    let before = |op: usize| code.instructions.get(op).copied().unwrap_or(0);
    let entry_of = |op: usize| plan.of.get(op).map_or(0, |&entry| entry as usize);
    let entries = plan.entries.get(..entry_of(end)).unwrap_or_default();
    // In the midst of an entry, what it did before must not be done again.
    if plan.starts.get(entry_of(pc)).is_none_or(|&start| start as usize != pc) {
        return (pc, 0);
    }
    // The first operation of the entry that comes next, from those that are left; the one before it is the one that
    // an entry stops at.
    let next = |rest: &[Entry]| plan.starts.get(entries.len() - rest.len()).map_or(end, |&op| op as usize);
    let mut rest = entries.get(entry_of(pc)..).unwrap_or_default();
    let (mut start, mut done) = (before(pc), 0);
    let stopped = loop {
        let Some((entry, after)) = rest.split_first() else { break next(rest) };
        rest = after;
        let (guard, jump) = match entry {
            Entry::Plain(inst) => {
                inst.kernel.run(frame, inst, mask);
                continue;
            }
            Entry::Load(direct) | Entry::Store(direct) => {
                if mask != ALL || !direct.run(frame, memories.pieces) {
                    *budget -= TOUCH;
                    if !touch(frame, code, memories, next(rest) - 1, mask) {
                        break next(rest) - 1;
                    }
                }
                continue;
            }
            Entry::Test(inst, jump) => {
                inst.kernel.run(frame, inst, mask);
                (inst.guard, jump)
            }
            Entry::Branch(guard, jump) => (*guard, jump),
            Entry::Guarded(inst) => {
                let lanes = inst.guard.lanes(frame, mask);
                if lanes != 0 {
                    inst.kernel.run(frame, inst, lanes);
                }
                continue;
            }
            Entry::Nothing => continue,
            Entry::Pause => break next(rest),
            Entry::WarpSync => {
                if mask != ALL {
                    break next(rest) - 1;
                }
                memories.watch.exchanged();
                continue;
            }
            Entry::Multiply => {
                if mask != ALL || !product(frame, code, next(rest) - 1) {
                    break next(rest) - 1;
                }
                *budget -= PRODUCT;
                continue;
            }
            Entry::Other => {
                *budget -= TOUCH;
                if !touch(frame, code, memories, next(rest) - 1, mask) {
                    break next(rest) - 1;
                }
                continue;
            }
        };
        let taken = guard.lanes(frame, mask);
        if taken != mask && taken != 0 {
            break next(rest) - 1;
        }
        // A basic block is paid for at its end.
        let block = jump.counts[0].wrapping_sub(start);
        done += u64::from(block);
        *budget -= i64::from(block) + 1;
        start = jump.counts[0];
        if taken != 0 {
            start = jump.counts[1];
            // Others may stand on the way, where this ends.
            let Some(there) = entries.get(jump.to as usize..) else {
                break plan.starts.get(jump.to as usize).map_or(end, |&op| op as usize);
            };
            rest = there;
        }
        if *budget <= 0 {
            break next(rest);
        }
    };
    let rest = before(stopped).wrapping_sub(start);
    *budget -= i64::from(rest);
    (stopped, done + u64::from(rest))
}

/// A product of matrices by a whole warp. Says whether it was done.
#[inline(never)]
fn product(frame: &mut Frame, code: &Code, op: usize) -> bool {
    let Some(Op::Other(_, step)) = code.ops.get(op) else { return false };
    let Step::Matrix(MatrixOp::Mma(op)) = &**step else { return false };
    multiply(frame, op, ALL);
    true
}

/// What is no arithmetic: a load or store that is not as it was before, or not of the most common kind; and what a
/// whole warp does together, if it is together. Says whether it was done.
#[inline(never)]
fn touch(
    frame: &mut Frame,
    code: &Code,
    Memories { spaces, hints, pieces, watch }: &mut Memories<'_, '_>,
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
        Step::Warp(op) if taking == ALL && names_all(frame, op) => {
            exchange_alone(frame, op, taking);
            watch.exchanged();
            return true;
        }
        _ => return false,
    };
    let hint = &mut hints[op % HINTS];
    if taking == ALL
        && let Some(entry) = code.plan.of.get(op)
        && let Some(Entry::Load(direct) | Entry::Store(direct)) = code.plan.entries.get(*entry as usize)
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
