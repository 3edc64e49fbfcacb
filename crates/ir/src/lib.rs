//! The intermediate representation: functions as lists of typed operations over the rows of a warp.
//!
//! Every operand is a slot of a frame ([`softwarp_units::lanes::Frame`]): immediates are rows of constants that a
//! frame begins with. Arithmetic is an [`Alu`] operation; everything that leaves the frame (memory, control flow,
//! other lanes and warps) is a [`Step`].
//!
//! Operations stand in the order of the text. A program counter is an index into [`Function::ops`]. When the lanes
//! of a warp have diverged, those with the lowest program counter run first.

pub mod alu;
pub mod asynchronous;
pub mod cluster;
mod collective;
pub mod defined;
pub mod group;
pub mod matrix;
mod memory;
pub mod multimem;
mod order;
pub mod start;
pub mod texture;
mod visit;

pub use alu::{Alu, AluOp, Immediate};
pub use collective::{Barrier, BarrierOp, WarpOp, WarpOpKind};
pub use memory::{Access, Address, Atomic, AtomicOp, Memory, TAGGED};
pub use order::{Fence, Order, Scope, Semantics};
pub use softwarp_units::alu::{Guard, NONE};
pub use visit::Role;

use softwarp_image::FunctionId;
use softwarp_syntax::Span;

/// A kernel and everything that it can call.
#[derive(Debug)]
pub struct Program {
    /// The functions, the kernel first.
    pub functions: Vec<Function>,
    /// Which of them a function of the image is; [`NONE`] for those that are not reached.
    pub of_function: Vec<u32>,
}

/// A function.
#[derive(Clone, Debug)]
pub struct Function {
    /// Which function of the image.
    pub function: FunctionId,
    /// Its operations.
    pub ops: Vec<Op>,
    /// The place in the text of each operation.
    pub spans: Vec<Span>,
    /// How many instructions of the text begin before each operation, and in all: an instruction may be several
    /// operations, and some operations belong to none.
    pub instructions: Vec<u32>,
    /// What `.loc` says, by the first operation that it applies to; it applies up to the next.
    pub locations: Vec<(u32, Location)>,
    /// How many rows of 32-bit words a frame has.
    pub narrow: u32,
    /// How many rows of 64-bit words.
    pub wide: u32,
    /// How many predicates.
    pub predicates: u32,
    /// Rows of 32-bit words that hold the same in all lanes, from the start: slot and value.
    pub narrow_constants: Vec<(u32, u32)>,
    /// Rows of 64-bit words, likewise.
    pub wide_constants: Vec<(u32, u64)>,
    /// Those among the constants of 32 bits that are addresses in `.shared`, as they are in the first CTA of a
    /// cluster: each CTA has its own.
    pub shared_narrow: Vec<(u32, u32)>,
    /// Those of 64 bits, likewise.
    pub shared_wide: Vec<(u32, u64)>,
    /// Bytes of `.local` memory that a call takes.
    pub local_bytes: u64,
    /// Bytes of the function's parameters, return values and the arguments of its calls, which are per thread.
    pub parameter_bytes: u64,
    /// What a frame begins with, besides constants.
    pub start: start::Start,
    /// What copy propagation found.
    pub forwarded: start::Forwarded,
    /// The registers of each operation, in functions that have products of several warps.
    pub named: Vec<group::Named>,
    /// What the sanitizer of registers needs, if the function has any that may be undefined.
    pub registers: Option<Box<defined::Table>>,
}

/// A place in the program that the PTX was made from, as `.loc` gives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Location {
    /// The number of a `.file`.
    pub file: u32,
    /// From 1.
    pub line: u32,
    /// From 1; 0 if there is none.
    pub column: u32,
}

impl Function {
    /// How many instructions begin with the operations from one to before another.
    #[inline(always)]
    pub fn instructions_between(&self, start: usize, end: usize) -> u64 {
        let before = |op: usize| self.instructions.get(op).copied().unwrap_or(0);
        u64::from(before(end).wrapping_sub(before(start)))
    }

    /// Where an operation stands in the program that the PTX was made from.
    pub fn location(&self, op: u32) -> Option<Location> {
        let after = self.locations.partition_point(|&(first, _)| first <= op);
        self.locations.get(after.wrapping_sub(1)).map(|&(_, location)| location)
    }
}

/// An operation.
#[derive(Clone, Debug)]
pub enum Op {
    /// Arithmetic: everything that stays within lanes and registers.
    Alu(Alu),
    /// Everything else.
    Other(Guard, Box<Step>),
    /// `bra`: the most common of the others. The guard chooses the lanes that jump.
    Branch(Guard, u32),
}

impl Op {
    /// The guard.
    #[inline]
    pub fn guard(&self) -> Guard {
        match self {
            Op::Alu(alu) => alu.guard,
            Op::Other(guard, _) | Op::Branch(guard, _) => *guard,
        }
    }

    /// Where it may branch to.
    pub fn targets(&self) -> &[u32] {
        match self {
            Op::Branch(_, target) => std::slice::from_ref(target),
            Op::Other(_, step) => match &**step {
                Step::Switch { targets, .. } => targets,
                _ => &[],
            },
            Op::Alu(_) => &[],
        }
    }

    /// Whether no lane continues with the next operation.
    pub fn ends_block(&self) -> bool {
        self.guard() == Guard::ALWAYS
            && match self {
                Op::Alu(_) => false,
                Op::Branch(..) => true,
                Op::Other(_, step) => {
                    matches!(**step, Step::Return | Step::Exit | Step::Trap | Step::Switch { .. })
                }
            }
    }
}

/// An operation that needs more than the frame.
#[derive(Clone, Debug)]
#[allow(missing_docs)] // Each variant says what its fields are.
pub enum Step {
    /// `ret`
    Return,
    /// `exit`
    Exit,
    /// `trap`
    Trap,
    /// `brkpt`: nothing happens without a debugger.
    Breakpoint,
    /// `brx.idx`: the slot of the index, and the targets.
    Switch { index: u32, targets: Vec<u32> },
    /// `call`
    Call(Call),
    /// A special register, read into a slot.
    Special { register: Special, d: u32 },
    /// `ld`, `ldu`, and `ld` of parameters
    Load(Access),
    /// `st`
    Store(Access),
    /// `atom`, `red`
    Atomic(Atomic),
    /// The address in `.local` of what lies so far from the start of the call's frame, into a row of 64-bit words
    /// or of 32-bit ones.
    FrameAddress { d: u32, wide: bool, offset: u64 },
    /// `alloca`: slots of the size and of the result (an address in `.local`), both of 64-bit words or both of
    /// 32-bit ones, and the alignment in bytes.
    Alloca { size: u32, d: u32, wide: bool, alignment: u64 },
    /// `stacksave`: the top of the thread's stack, for `stackrestore`.
    StackSave { d: u32, wide: bool },
    /// `stackrestore`
    StackRestore { a: u32, wide: bool },
    /// `bar`, `barrier`
    Barrier(Barrier),
    /// Operations among the lanes of a warp: they wait for those that they name.
    Warp(WarpOp),
    /// `nanosleep`, and other hints to let others go first.
    Yield,
    /// `membar`, `fence`
    Fence(Fence),
    /// Groups of asynchronous operations, and fences for them.
    Group(group::GroupOp),
    /// Textures and surfaces.
    Texture(texture::TextureOp, Operands),
    /// CTAs of a cluster.
    Cluster(cluster::ClusterOp, Operands),
    /// Memory that several devices have together.
    Multimem(multimem::MultimemOp, Operands),
    /// Asynchronous copies, and the barriers that they complete on.
    Asynchronous(asynchronous::AsyncOp, Operands),
    /// Matrices that a warp holds together.
    Matrix(matrix::MatrixOp, Operands),
}

impl Step {
    /// Whether all lanes of a warp execute it together, and it does not wait for those that are missing by itself.
    pub fn is_collective(&self) -> bool {
        match self {
            Step::Matrix(..) => true,
            Step::Barrier(barrier) => barrier.aligned,
            Step::Warp(op) => op.members == NONE,
            Step::Cluster(op, _) => {
                matches!(op, cluster::ClusterOp::Arrive { .. } | cluster::ClusterOp::Wait)
            }
            _ => false,
        }
    }

    /// Whether others may answer it: for who only looks whether an mbarrier is ready, and does no deed, nothing will
    /// change by itself. To look at a clock is one, since who does may give up.
    pub fn makes_progress(&self) -> bool {
        match self {
            Step::Asynchronous(op, _) => !op.is_wait(),
            Step::Load(access) | Step::Store(access) => access.order.is_strong(),
            Step::Call(call) => matches!(call.callee, Callee::Provided(_)),
            Step::Special { register, .. } => matches!(
                register,
                Special::Clock
                    | Special::ClockHi
                    | Special::Clock64
                    | Special::GlobalTimer
                    | Special::GlobalTimerLo
                    | Special::GlobalTimerHi
            ),
            Step::Return
            | Step::Breakpoint
            | Step::Switch { .. }
            | Step::FrameAddress { .. }
            | Step::Alloca { .. }
            | Step::StackSave { .. }
            | Step::StackRestore { .. }
            | Step::Warp(_)
            | Step::Yield
            | Step::Group(_)
            | Step::Fence(_) => false,
            Step::Exit
            | Step::Trap
            | Step::Atomic(_)
            | Step::Barrier(_)
            | Step::Texture(..)
            | Step::Cluster(..)
            | Step::Multimem(..)
            | Step::Matrix(..) => true,
        }
    }
}

/// The slots of a step that has many: what each is, the step says.
#[derive(Clone, Debug, Default)]
pub struct Operands {
    /// Slots that are read.
    pub reads: Vec<u32>,
    /// Slots that are written, in those lanes that pass the guard; [`NONE`] for `_`.
    pub writes: Vec<u32>,
    /// Addresses: their bases are read.
    pub addresses: Vec<Address>,
}

/// A call.
///
/// All values travel through the per-thread parameter memory: a function finds its parameters at the start of its
/// own, each at the next multiple of 16 (or of its alignment, if that is more), and leaves its return values behind
/// them in the same way. That is so for functions that the machine provides, too: of `vprintf`, the arguments are
/// at 0 and 16 and the result is at 32. `.reg` parameters are loaded and stored by operations of the function.
#[derive(Clone, Debug)]
pub struct Call {
    /// What is called.
    pub callee: Callee,
    /// Bytes to copy from the caller's arguments to the callee's parameters: from, to, length; both count from
    /// the start of the per-thread parameter memory of their function.
    pub inputs: Vec<(u64, u64, u64)>,
    /// Bytes to copy back on return: from the callee's, to the caller's, length.
    pub outputs: Vec<(u64, u64, u64)>,
}

/// What a call calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // Each variant says what its fields are.
pub enum Callee {
    /// A function: an index into [`Program::functions`].
    Direct(u32),
    /// The function whose address is in a slot: of 64-bit words, or of 32-bit ones.
    Indirect { slot: u32, wide: bool },
    /// One that the machine provides: `vprintf`, `malloc`, `free`, `__assertfail`.
    Provided(Provided),
}

/// Functions that the machine provides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // They are CUDA's.
pub enum Provided {
    Vprintf,
    Malloc,
    Free,
    AssertFail,
}

/// The special registers that a program can read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // The names are PTX's.
pub enum Special {
    Tid(u8),
    Ntid(u8),
    Ctaid(u8),
    Nctaid(u8),
    LaneId,
    WarpId,
    NwarpId,
    SmId,
    NsmId,
    GridId,
    LanemaskEq,
    LanemaskLe,
    LanemaskLt,
    LanemaskGe,
    LanemaskGt,
    Clock,
    ClockHi,
    Clock64,
    GlobalTimer,
    GlobalTimerLo,
    GlobalTimerHi,
    TotalSmemSize,
    AggrSmemSize,
    DynamicSmemSize,
    /// `begin`, `end`, `cap`, `0` and `1`, in this order.
    ReservedSmem(u8),
    ClusterId(u8),
    NclusterId(u8),
    ClusterCtaid(u8),
    ClusterNctaid(u8),
    ClusterCtarank,
    ClusterNctarank,
    IsExplicitCluster,
    CurrentGraphExec,
    EnvReg(u8),
    /// `%pm0` to `%pm7`, and from 8 on `%pm0_64` to `%pm7_64`.
    Pm(u8),
}

impl Special {
    /// Whether it has 64 bits.
    pub fn is_wide(self) -> bool {
        use Special::{Clock64, CurrentGraphExec, GlobalTimer, GridId, Pm};
        // The counters of 64 bits follow the eight of 32.
        matches!(self, GridId | Clock64 | GlobalTimer | CurrentGraphExec | Pm(8..))
    }
}
