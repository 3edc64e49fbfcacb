//! The loop for what nearly all operations are. What it does not do, [`super::run`] does.
//!
//! `unsafe` is here only to call an operation's own loop: it may be compiled for CPU features, and only those that
//! the CPU has are handed out.

use super::HINTS;
use super::fast::At;
use crate::lanes::Frame;
use crate::memory::Spaces;
use crate::program::{Code, Op, Step};

/// The plain case, in a loop with little else in it: arithmetic, branches that all lanes take or none, loads and
/// stores with nothing out of the ordinary. It stops at anything else, or when the budget is spent. Gives where it
/// stopped, and how many instructions it executed.
#[inline(never)]
pub(super) fn hurry(
    frame: &mut Frame,
    (code, ops): (&Code, &[Op]),
    spaces: &Spaces<'_>,
    hints: &mut [u32; HINTS],
    (mut pc, mask): (usize, u32),
    budget: &mut i64,
) -> (usize, u64) {
    let (mut start, mut done) = (pc, 0);
    while let Some(op) = ops.get(pc) {
        match op {
            Op::Alu(inst) => {
                let lanes = inst.guard.lanes(frame, mask);
                if lanes != 0 {
                    // SAFETY: `ops` gives out the loops of the level that was detected.
                    unsafe { (inst.kernel)(frame, inst, lanes) };
                }
                pc += 1;
            }
            Op::Branch(guard, target) => {
                let taken = guard.lanes(frame, mask);
                if taken != mask && taken != 0 {
                    break;
                }
                done += code.instructions_between(start, pc + 1);
                pc = if taken == 0 { pc + 1 } else { *target as usize };
                start = pc;
                *budget -= 1;
                if *budget <= 0 {
                    break;
                }
            }
            Op::Other(guard, step) => {
                let taking = guard.lanes(frame, mask);
                if taking == 0 {
                    pc += 1;
                    continue;
                }
                let at = At { spaces, taking, hint: &mut hints[pc % HINTS] };
                let quickly = match &**step {
                    Step::Load(access) if !access.strong => access.load_quickly(frame, at),
                    Step::Store(access) if !access.strong => access.store_quickly(frame, at),
                    _ => false,
                };
                if !quickly {
                    break;
                }
                pc += 1;
            }
        }
    }
    (pc, done + code.instructions_between(start, pc))
}
