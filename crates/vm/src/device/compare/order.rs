//! Runs of a launch from the same memory, in other orders of threads: what differs among them is left open by the kernel.

use super::results::{Differences, Results};
use super::{Comparing, How};
use crate::clock::Instant;
use crate::launch::Jit;
use crate::memory::global::Global;
use crate::memory::heap::Blocks;
use crate::schedule::Schedule;
use std::time::Duration;

/// How many orders are tried.
const ORDERS: u64 = 8;

/// After this number of orders in which nothing has differed, no further one is tried.
const ALIKE: u64 = 4;

/// No further order is tried after this time.
const MOST_TIME: Duration = Duration::from_secs(60);

/// A launch, and the memory that it begins with.
pub(super) struct Order<'a> {
    pub(super) comparing: &'a Comparing<'a>,
    pub(super) limits: &'a How<'a>,
    pub(super) start: &'a Global,
    /// The blocks of `malloc` that it begins with.
    pub(super) blocks: Option<&'a Blocks>,
}

impl<'a> Order<'a> {
    /// Runs the launch in this memory, which gets what it begins with.
    pub(super) fn run<'b>(&self, memory: &'b Global, change: impl FnOnce(How<'b>) -> How<'b>) -> Results {
        self.start.copy_to(memory);
        memory.set_blocks(self.blocks);
        let How { jit, schedule, lanes_in_order, steps, time, .. } = *self.limits;
        let how = How { jit, schedule, lanes_in_order, steps, time, global: memory, watch: None };
        self.comparing.run_copy(&change(how))
    }

    /// Tries other orders until all differences between compiled code and the interpreter are explained by them.
    pub(super) fn explain(
        &self,
        differences: &mut Differences,
        memory: &Global,
        (interpreted, usual): (&Results, &Global),
        compiled: &Results,
    ) {
        let started = Instant::now();
        let mut explained = false;
        for seed in 0..ORDERS {
            // Random orders of lanes change the counts of warps of every kernel that diverges.
            let lanes_in_order = seed % 2 == 0;
            // Instructions take more time where they are observed.
            let other = self.run(memory, |how| How {
                jit: Jit::Off,
                schedule: Schedule::Random(seed),
                lanes_in_order,
                steps: how.steps.saturating_mul(4),
                time: how.time.saturating_mul(4),
                ..how
            });
            // A run that did not end says nothing, unless compiled code did not end either.
            if other.has_limit() && !compiled.has_limit() {
                continue;
            }
            explained |=
                differences.explain((&other, memory), (interpreted, usual), (compiled, lanes_in_order));
            let is_over = differences.is_explained() || started.elapsed() > MOST_TIME;
            if is_over || seed + 1 >= ALIKE && !explained {
                break;
            }
        }
        differences.spread();
    }
}
