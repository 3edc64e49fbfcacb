//! Findings as text.

use super::{Finding, FindingKind, Touched};
use crate::comparison::{Difference, Mismatch};
use crate::fault::{Relative, Use, space_name};
use crate::sanitize::ARRAYS;
use std::fmt::{Display, Formatter};

impl Display for Finding {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        self.kind.write(f)?;
        match &self.touched {
            Some(touched) => touched.write(f),
            None => Ok(()),
        }
    }
}

impl FindingKind {
    /// Writes what is wrong.
    fn write(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            FindingKind::Uninitialised
            | FindingKind::UninitialisedTensor { .. }
            | FindingKind::UndefinedShuffle
            | FindingKind::UndefinedRegister { .. }
            | FindingKind::Leak { .. }
            | FindingKind::TensorLeak { .. }
            | FindingKind::OutOfBounds { .. }
            | FindingKind::DeadLocal
            | FindingKind::ForeignLocal { .. } => self.write_misuse(f),
            FindingKind::Race { .. }
            | FindingKind::Unwaited { .. }
            | FindingKind::MissingProxyFence
            | FindingKind::UnwaitedRegister
            | FindingKind::UnloadedRegister
            | FindingKind::MissingTensorFence
            | FindingKind::MissingRegisterFence
            | FindingKind::StaleTexture => self.write_unordered(f),
            FindingKind::DivergentBarrier { .. }
            | FindingKind::MissedBarrier { .. }
            | FindingKind::DivergentBarrierOperand { .. }
            | FindingKind::BarrierCounts { .. }
            | FindingKind::ArrivesTwice { .. }
            | FindingKind::ArriveWithoutSync { .. }
            | FindingKind::Deadlock { .. } => self.write_barrier(f),
            FindingKind::MissingLanes { .. }
            | FindingKind::NotNamed { .. }
            | FindingKind::ExitedLanes { .. }
            | FindingKind::PartialWarp { .. }
            | FindingKind::PartialWarpgroup { .. } => self.write_lanes(f),
            FindingKind::JitMismatch(mismatch) => mismatch.write(f),
        }
    }

    /// Memory or a register is used that must not be, or not yet.
    fn write_misuse(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            FindingKind::Uninitialised => write!(f, "read of memory that was never written")?,
            FindingKind::UninitialisedTensor { lane, column } => {
                write!(f, "read of tensor memory that was never written: lane {lane}, column {column}")?
            }
            FindingKind::UndefinedShuffle => write!(
                f,
                "a value is used that shfl.sync took from a lane that does not take part in it: it is undefined"
            )?,
            FindingKind::UndefinedRegister { register, usage, never } => {
                let when =
                    if *never { "no instruction writes it" } else { "it was not written on this path" };
                write!(f, "register `{register}` is used {}, and {when}", usage.words())?;
            }
            FindingKind::Leak { bytes } => {
                write!(f, "{bytes} bytes that malloc gave were never freed")?;
            }
            FindingKind::TensorLeak { columns } => {
                write!(f, "{columns} columns of tensor memory were not freed before the CTA ended")?;
            }
            FindingKind::OutOfBounds { usage } => write!(f, "{} out of bounds", usage_name(*usage))?,
            FindingKind::DeadLocal => write!(f, "access to the local memory of a call that is over")?,
            FindingKind::ForeignLocal { owner } => {
                write!(f, "access by an address in the local memory of another thread")?;
                if let Some(owner) = owner {
                    write!(f, ", number {owner} of the CTA: it reaches this thread's own memory instead")?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Accesses that nothing orders.
    fn write_unordered(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            FindingKind::Race { first, second, across, missing } => {
                let between = if *across { "threads of different CTAs" } else { "threads of a CTA" };
                write!(f, "race between {between}: {}, {}", hazard(*first, *second), missing.words())?;
            }
            FindingKind::Unwaited { first, second, until } => {
                let does = |usage: Use| match usage {
                    Use::Read => "reads",
                    Use::Write => "writes",
                    Use::Atomic => "changes",
                };
                let (first, second, until) = (does(*first), does(*second), until.words());
                write!(
                    f,
                    "this {second} what an asynchronous operation {first}, and nobody has waited for it: {until} is missing before this"
                )?;
            }
            FindingKind::MissingProxyFence => write!(
                f,
                "an asynchronous operation uses what a thread wrote: fence.proxy.async is missing between them"
            )?,
            FindingKind::UnwaitedRegister => write!(
                f,
                "a register is used that wgmma.mma_async may still be using: wgmma.wait_group is missing before this"
            )?,
            FindingKind::UnloadedRegister => write!(
                f,
                "a register is used that tcgen05.ld may still be writing, and the warp never waits for it: tcgen05.wait::ld is missing before this"
            )?,
            FindingKind::MissingTensorFence => write!(
                f,
                "tensor memory is used behind a relaxed wait: tcgen05.fence::after_thread_sync is missing between them"
            )?,
            FindingKind::MissingRegisterFence => write!(
                f,
                "wgmma.mma_async uses registers that were written since the last wgmma.fence: one is missing before this"
            )?,
            FindingKind::StaleTexture => write!(
                f,
                "a texture is read where this launch has written: it may see what was there before; ld or suld would not"
            )?,
            _ => {}
        }
        Ok(())
    }

    /// Barriers of a CTA.
    fn write_barrier(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            FindingKind::DivergentBarrier { barrier, warp, came, missing: 0 } => write!(
                f,
                "lanes of warp {warp} came to barrier {barrier} at two places, 0x{came:08x} of them here; all must execute the same"
            )?,
            FindingKind::DivergentBarrier { barrier, warp, came, missing } => write!(
                f,
                "lanes 0x{came:08x} of warp {warp} came to barrier {barrier}, lanes 0x{missing:08x} did not; all must"
            )?,
            FindingKind::MissedBarrier { barrier, exited } => {
                write!(
                    f,
                    "{exited} threads exited without coming to barrier {barrier}, where others wait for all"
                )?;
            }
            FindingKind::DivergentBarrierOperand { count, first, second } => {
                let what = if *count { "counts of threads" } else { "barriers" };
                write!(
                    f,
                    "lanes of a warp give different {what}, {first} and {second}; all must give the same"
                )?;
            }
            FindingKind::BarrierCounts { barrier, first, second } => write!(
                f,
                "barrier {barrier} is used with a count of {second} threads here, and of {first} by another warp"
            )?,
            FindingKind::ArrivesTwice { barrier, warp } => {
                write!(f, "warp {warp} comes to barrier {barrier} again before the barrier has completed")?
            }
            FindingKind::ArriveWithoutSync { barrier } => {
                write!(f, "threads arrive at barrier {barrier}, and no thread ever waits there")?
            }
            FindingKind::Deadlock { barrier, arrived, expected } => match barrier {
                Some(number) => {
                    write!(f, "deadlock: barrier {number} has {arrived} of {expected} threads")?;
                }
                None => write!(f, "deadlock: no thread can go on")?,
            },
            _ => {}
        }
        Ok(())
    }

    /// Operations among lanes, of a warp or of a warpgroup.
    fn write_lanes(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            FindingKind::MissingLanes { named, came } => write!(
                f,
                "the operation names lanes 0x{named:08x}, but only 0x{came:08x} came, and the others never will"
            )?,
            FindingKind::NotNamed { named, came } => {
                write!(f, "lanes 0x{came:08x} execute an operation that names lanes 0x{named:08x}")?;
            }
            FindingKind::ExitedLanes { named, exited } => {
                write!(f, "the operation names lanes 0x{named:08x}, of which 0x{exited:08x} have exited")?
            }
            FindingKind::PartialWarp { came } => write!(
                f,
                "only lanes 0x{came:08x} of the warp execute this; all 32 must execute it together"
            )?,
            FindingKind::PartialWarpgroup { first, others } => {
                write!(f, "this is for the whole warpgroup of warps {first} to {}, but ", first + 3)?;
                let mut list = (0..4).filter(|n| others >> n & 1 == 1).map(|n| (first + n).to_string());
                let list: Vec<String> = list.by_ref().collect();
                write!(f, "warp {} does not execute it alike", list.join(", warp "))?;
            }
            _ => {}
        }
        Ok(())
    }
}

impl Mismatch {
    /// Writes how compiled code differs, and in which launch.
    fn write(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let [grid, block] = [self.grid, self.block].map(|[x, y, z]| format!("({x},{y},{z})"));
        write!(
            f,
            "compiled code and the interpreter differ in a launch of {grid} CTAs of {block} threads: "
        )?;
        let [interpreted, compiled] = self.what.values();
        match &self.what {
            Difference::Memory { bytes, .. } => {
                let last = match self.placed {
                    true => "this instruction wrote last in the interpreter",
                    false => "no instruction of the interpreter wrote",
                };
                write!(
                    f,
                    "the byte that {last} is {interpreted} interpreted and {compiled} compiled ({bytes} bytes differ)"
                )
            }
            Difference::Fault { .. } => {
                write!(f, "interpreted, the end is {interpreted}; compiled, {compiled}")
            }
            Difference::Printed { .. } => {
                write!(f, "it prints {interpreted:?} interpreted, and {compiled:?} compiled")
            }
            Difference::Requests => {
                write!(f, "the kernels that it launches or its blocks of malloc are others")
            }
            Difference::Counts { .. } => write!(f, "{interpreted} interpreted; {compiled} compiled"),
        }
    }
}

impl Touched {
    /// The memory that a finding is about.
    fn write(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let (space, bytes) = (space_name(self.space), self.bytes);
        write!(f, ": {bytes} bytes")?;
        if self.address < ARRAYS {
            write!(f, " at {space} address 0x{:x}", self.address)?;
        }
        let Some(nearest) = &self.nearest else { return Ok(()) };
        match nearest.at {
            Relative::Inside(bytes) => write!(f, ", {bytes} bytes into ")?,
            Relative::After(0) => write!(f, ", right behind ")?,
            Relative::After(bytes) => write!(f, ", {bytes} bytes past the end of ")?,
            Relative::Before(bytes) => write!(f, ", {bytes} bytes before ")?,
        }
        nearest.write_name(f)?;
        match nearest.at {
            Relative::Inside(_) => Ok(()),
            _ => write!(f, ", which has {} bytes", nearest.bytes),
        }
    }
}

/// A use of memory, as a noun.
fn usage_name(usage: Use) -> &'static str {
    match usage {
        Use::Read => "read",
        Use::Write => "write",
        Use::Atomic => "atomic operation",
    }
}

/// Two uses of memory, the earlier first.
fn hazard(first: Use, second: Use) -> &'static str {
    match (first, second) {
        (Use::Read, _) => "a write after a read",
        (_, Use::Read) => "a read after a write",
        _ => "a write after a write",
    }
}
