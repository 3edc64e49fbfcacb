//! Debugging: who sees a launch before each instruction of a warp, and what can be seen.
//!
//! A launch with a [`Debugger`] runs on one thread of the host, in a fixed order, and clocks count their reads: the same
//! launch on the same memory gives the same sequence of instructions each time. A debugger can so go back: it ends the
//! launch, restores memory and runs it again up to an earlier instruction.

use crate::decode::Program;
use crate::fault::Fault;
use softwarp_image::{FunctionId, Image};
use softwarp_ir::{Memory, Op, Slot, Special};
use softwarp_syntax::Span;

/// What a debugger wants after it has seen an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// The launch goes on.
    Continue,
    /// The launch ends here, as if it were cancelled.
    End,
}

/// Sees a launch while it runs. Modules must be loaded for it
/// ([`LoadOptions::debug`](crate::device::LoadOptions::debug)).
pub trait Debugger: Sync {
    /// A warp is about to execute an instruction of the text.
    fn before(&self, state: &dyn State) -> Control;

    /// An instruction has failed, and the launch is about to end. The state is that before the instruction.
    fn failed(&self, state: &dyn State, fault: &Fault);
}

/// Where a warp is.
#[derive(Clone, Copy, Debug)]
pub struct At<'a> {
    /// The function.
    pub function: FunctionId,
    /// The operation in the function that comes next.
    pub index: u32,
    /// That operation; none at the end of a function.
    pub op: Option<&'a Op>,
    /// The instruction in the text.
    pub span: Span,
    /// `%ctaid`
    pub cta: [u32; 3],
    /// The warp in its CTA.
    pub warp: u32,
    /// The lanes that are about to execute it, whatever its guard says.
    pub lanes: u32,
    /// Those that pass its guard.
    pub executing: u32,
    /// How many calls it is in; 0 in the kernel itself.
    pub depth: u32,
}

/// The dimensions of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape<'a> {
    /// The kernel's name.
    pub kernel: &'a str,
    /// CTAs of the grid.
    pub grid: [u32; 3],
    /// Threads of a CTA.
    pub block: [u32; 3],
    /// CTAs of a cluster.
    pub cluster: [u32; 3],
    /// Bytes of shared memory of a CTA.
    pub shared_bytes: u64,
}

/// What the lanes of a group wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waits {
    /// Nothing: they can run.
    Ready,
    /// They wait at a barrier of the CTA.
    Barrier(u32),
    /// They wait at the barrier of the cluster.
    Cluster,
    /// They wait for other lanes of the warp.
    Lanes(u32),
}

/// Lanes of a warp that are at the same instruction of the same call.
#[derive(Clone, Copy, Debug)]
pub struct Group {
    /// The warp in its CTA.
    pub warp: u32,
    /// The lanes.
    pub lanes: u32,
    /// The function.
    pub function: FunctionId,
    /// The operation that comes next.
    pub index: u32,
    /// The instruction in the text.
    pub span: Span,
    /// How many calls they are in.
    pub depth: u32,
    /// What they wait for.
    pub waits: Waits,
    /// Whether they are those that are about to run.
    pub current: bool,
}

/// A call that a thread is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// The function.
    pub function: FunctionId,
    /// The operation that comes next, or that follows the call.
    pub index: u32,
    /// Its instruction in the text: of a caller, the call.
    pub span: Span,
}

/// A barrier of a CTA that threads have come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BarrierState {
    /// Its number; none for the barrier of the cluster.
    pub number: Option<u32>,
    /// Threads that have arrived.
    pub arrived: u32,
    /// Threads that it waits for.
    pub expected: u32,
}

/// A thread of the CTA that is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Thread {
    /// Its warp.
    pub warp: u32,
    /// Its lane.
    pub lane: u32,
}

/// Why memory cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no memory of {} bytes at {:#x} in .{}", .bytes, .address, .space.name())]
pub struct Unreadable {
    /// The state space.
    pub space: Memory,
    /// The address.
    pub address: u64,
    /// How many bytes were asked for.
    pub bytes: u64,
}

/// A launch that is stopped before an instruction: the CTA of the warp that is about to execute it, and memory.
pub trait State {
    /// The warp that runs, and where it is.
    fn at(&self) -> At<'_>;

    /// The dimensions of the launch.
    fn shape(&self) -> Shape<'_>;

    /// The program.
    fn program(&self) -> &Program;

    /// Where variables are.
    fn image(&self) -> &Image;

    /// All lanes of the CTA that have not exited, by warps.
    fn groups(&self) -> Vec<Group>;

    /// The calls that a thread is in, the innermost first; none if it has exited.
    fn calls(&self, thread: Thread) -> Vec<Call>;

    /// The bits of a register of a thread, in one of its calls (0 is the innermost). A predicate is 0 or 1.
    fn register(&self, thread: Thread, call: usize, slot: Slot) -> Option<u64>;

    /// The value of a special register; none of those that count time.
    fn special(&self, thread: Thread, register: Special) -> Option<u64>;

    /// Reads memory as a thread sees it in one of its calls.
    fn read(
        &self,
        thread: Thread,
        call: usize,
        space: Memory,
        address: u64,
        into: &mut [u8],
    ) -> Result<(), Unreadable>;

    /// The addresses that an operand of memory stands for, of the lanes of the warp that runs.
    fn addresses(&self, address: &softwarp_ir::Address) -> [u64; 32];

    /// The first address of the CTA's own part of `.shared`. Addresses of variables there count from it.
    fn shared_window(&self) -> u64;

    /// The barriers that threads of the CTA wait at.
    fn barriers(&self) -> Vec<BarrierState>;
}
