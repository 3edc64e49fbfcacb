//! Findings of the sanitizers, as data: the kind, both places of a conflict, the memory, and how often.

mod text;

use super::Agent;
use crate::comparison::Mismatch;
use crate::fault::{Nearest, Place, Use};
use softwarp_ir::{Location, Memory};

/// An error that did not stop the launch.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// The kind of finding.
    pub kind: FindingKind,
    /// The kernel that was launched.
    pub kernel: String,
    /// The place where it was found: of a race, the later access.
    pub at: Site,
    /// The other place: of a race, the earlier access; of a barrier, what other threads did instead.
    pub other: Option<Site>,
    /// The memory concerned, if it is about memory.
    pub touched: Option<Touched>,
    /// How many times the same was found at these places.
    pub count: u64,
}

/// A place in a kernel, with its place in the program that the PTX was made from.
#[derive(Clone, Debug, PartialEq)]
pub struct Site {
    /// The instruction, the CTA and the thread.
    pub place: Place,
    /// The source location from `.loc`.
    pub location: Option<Location>,
}

/// Memory that a finding is about.
#[derive(Clone, Debug, PartialEq)]
pub struct Touched {
    /// The state space; never generic.
    pub space: Memory,
    /// The address in it of the first byte concerned; texels of arrays have numbers from [`super::ARRAYS`] on.
    pub address: u64,
    /// Bytes that one thread accesses.
    pub bytes: u32,
    /// The variable or allocation.
    pub nearest: Option<Nearest>,
}

/// The kinds of findings.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum FindingKind {
    /// A read of memory that was never written (`init`).
    Uninitialised,
    /// A read of a cell of tensor memory that was never written (`init`); `other` is the allocation.
    UninitialisedTensor {
        /// The lane.
        lane: u32,
        /// The column.
        column: u32,
    },
    /// Two threads use the same memory, at least one of them writes, and nothing orders them (`race`).
    Race {
        /// The kind of the earlier access.
        first: Use,
        /// The kind of the later access.
        second: Use,
        /// The threads are in different CTAs.
        across: bool,
        /// The synchronisation that would order them.
        missing: Missing,
    },
    /// Memory that an asynchronous operation may still be using: no thread has waited for it (`race`).
    Unwaited {
        /// The kind of the asynchronous access.
        first: Use,
        /// The kind of the later access.
        second: Use,
        /// The instruction that waits for it.
        until: Until,
    },
    /// An asynchronous operation reads what a thread wrote, with no proxy fence between them (`race`).
    MissingProxyFence,
    /// A texture is read where the same launch has written: what it reads may be old (`race`).
    StaleTexture,
    /// A register is used that `wgmma.mma_async` may still be using: the warp has not waited for it (`race`).
    UnwaitedRegister,
    /// A register is used that `tcgen05.ld` may still be writing, and the warp never waits for it (`race`); `other` is the
    /// load.
    UnloadedRegister,
    /// Tensor memory is used behind a wait that orders nothing by itself: `tcgen05.fence::after_thread_sync` is missing
    /// (`race`).
    MissingTensorFence,
    /// A register was written since the last `wgmma.fence`, and `wgmma.mma_async` uses it; or there was no fence (`race`).
    MissingRegisterFence,
    /// A barrier for whole warps that only part of a warp executed, or at two places (`sync`).
    DivergentBarrier {
        /// The barrier's number.
        barrier: u32,
        /// The warp in its CTA.
        warp: u32,
        /// Lanes that came to it, at `at`.
        came: u32,
        /// Lanes of the warp that did not.
        missing: u32,
    },
    /// A barrier for all threads of the CTA that some left out: they exited while others waited (`sync`).
    MissedBarrier {
        /// The barrier's number.
        barrier: u32,
        /// How many threads exited instead.
        exited: u32,
    },
    /// An operation among lanes that names lanes which never come to it (`sync`).
    MissingLanes {
        /// Lanes that it names.
        named: u32,
        /// Lanes that came.
        came: u32,
    },
    /// An operation among lanes, executed by a lane that it does not name (`sync`).
    NotNamed {
        /// Lanes that it names.
        named: u32,
        /// Lanes that execute it.
        came: u32,
    },
    /// An operation among lanes that names lanes which have exited (`sync`).
    ExitedLanes {
        /// Lanes that it names.
        named: u32,
        /// Those of them that have exited.
        exited: u32,
    },
    /// An instruction for whole warps that only part of a warp executes (`sync`).
    PartialWarp {
        /// Lanes that execute it.
        came: u32,
    },
    /// An instruction for whole warpgroups that not all four warps execute alike (`sync`).
    PartialWarpgroup {
        /// The first warp of the group.
        first: u32,
        /// The warps of the group that the CTA has not, or that did otherwise: a bit each, the first one lowest.
        others: u32,
    },
    /// Lanes of a warp that name different barriers in one instruction, or different counts of threads (`sync`).
    DivergentBarrierOperand {
        /// Whether the counts differ, and not the barriers.
        count: bool,
        /// The operand of the first lane.
        first: u32,
        /// The operand of another lane.
        second: u32,
    },
    /// Warps that use a barrier together and give different counts of threads (`sync`).
    BarrierCounts {
        /// The barrier's number.
        barrier: u32,
        /// The count at `other`.
        first: u32,
        /// The count at `at`.
        second: u32,
    },
    /// A warp arrives at a barrier again before it has completed (`sync`).
    ArrivesTwice {
        /// The barrier's number.
        barrier: u32,
        /// The warp in its CTA.
        warp: u32,
    },
    /// Threads arrive at a barrier that no thread of the CTA ever waits at (`sync`).
    ArriveWithoutSync {
        /// The barrier's number.
        barrier: u32,
    },
    /// A value is used that `shfl.sync` took from a lane which does not take part (`sync`). `at` is the use, and `other`
    /// the `shfl.sync`.
    UndefinedShuffle,
    /// A register is used that was not written (`init`); `other` is its declaration.
    UndefinedRegister {
        /// Its name.
        register: String,
        /// The use.
        usage: RegisterUse,
        /// No instruction of the function writes it.
        never: bool,
    },
    /// A block that `malloc` returned and that was never freed (`leak`); `at` is the call.
    Leak {
        /// Bytes of this block, or of all that the same call gave.
        bytes: u64,
    },
    /// Columns of tensor memory that a CTA allocated and did not free (`leak`); `at` is the allocation.
    TensorLeak {
        /// How many.
        columns: u32,
    },
    /// An access outside the variable or block that it was meant for, or that is nearest (`bounds`).
    OutOfBounds {
        /// The kind of access.
        usage: Use,
    },
    /// An access to the local memory of a call that is over (`bounds`).
    DeadLocal,
    /// An access by an address in another thread's local memory (`bounds`).
    ForeignLocal {
        /// The thread in its CTA, counted through all dimensions; `None` if it is in another CTA.
        owner: Option<u32>,
    },
    /// Nothing can go on: every thread waits (`sync`). The launch was stopped, too.
    Deadlock {
        /// The barrier; `None` for one of the cluster.
        barrier: Option<u32>,
        /// How many threads it has counted.
        arrived: u32,
        /// How many it waits for.
        expected: u32,
    },
    /// Compiled code and the interpreter do not do the same (`compare`): an error of softwarp, and none of the kernel.
    /// `at` is the instruction of the interpreter.
    JitMismatch(Box<Mismatch>),
}

/// The use of a register that was not written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RegisterUse {
    /// In an address.
    Address,
    /// As a guard, or as the condition of a branch.
    Guard,
    /// It is written to memory, or is an operand of an atomic operation.
    Stored,
    /// As an operand that says what an instruction does: the number of a barrier, lanes that are named, a size.
    Operand,
}

impl RegisterUse {
    /// In words, behind "is used".
    pub fn words(self) -> &'static str {
        match self {
            RegisterUse::Address => "in an address",
            RegisterUse::Guard => "as a guard",
            RegisterUse::Stored => "as data for memory",
            RegisterUse::Operand => "as an operand",
        }
    }
}

/// The synchronisation that is missing between two accesses that race.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// Anything: the threads have not synchronised at all since the earlier access.
    Everything,
    /// A synchronisation of lanes of a warp.
    WarpBarrier,
    /// Both are strong, and the scope of one does not include the other thread.
    AccessScope,
    /// The later thread read a value that was written without a release.
    Release,
    /// The value that it read was written with a release, and it did not acquire, or for another scope.
    Acquire,
    /// The scopes of the write and of the read do not include both threads.
    Scope,
    /// Another thread of its CTA has synchronised, and nothing hands that on.
    HandOn,
}

impl Missing {
    /// In words, after what raced.
    pub fn words(self) -> &'static str {
        match self {
            Missing::Everything => "with nothing between them",
            Missing::WarpBarrier => {
                "with nothing between them that orders lanes of a warp, as bar.warp.sync does"
            }
            Missing::AccessScope => "both strong, but a scope does not include the other thread",
            Missing::Release => {
                "with a flag between them that is written without a release: .release or a fence before it is missing"
            }
            Missing::Acquire => {
                "with a flag between them that is read without an acquire that includes who released it: .acquire or a fence behind it is missing, or its scope is too narrow"
            }
            Missing::Scope => {
                "with a flag between them whose accesses have scopes that do not include both threads"
            }
            Missing::HandOn => {
                "with another thread of this CTA that has synchronised with the earlier one: a barrier behind that is missing"
            }
        }
    }

    /// A word for programs.
    pub fn word(self) -> &'static str {
        match self {
            Missing::Everything => "synchronisation",
            Missing::WarpBarrier => "warp_barrier",
            Missing::AccessScope => "access_scope",
            Missing::Release => "release",
            Missing::Acquire => "acquire",
            Missing::Scope => "scope",
            Missing::HandOn => "barrier_after_acquire",
        }
    }
}

/// The instruction that waits for an asynchronous operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// `cp.async.wait_group`
    Copies,
    /// `cp.async.bulk.wait_group.read`
    BulkRead,
    /// `cp.async.bulk.wait_group`
    Bulk,
    /// A wait at its mbarrier.
    Mbarrier,
    /// `wgmma.wait_group`
    Products,
    /// `tcgen05.commit`, and a wait at its mbarrier.
    Committed,
    /// `tcgen05.wait::ld`, `tcgen05.wait::st`
    TensorAccesses,
}

impl Until {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Until::Copies => "cp.async.wait_group or cp.async.wait_all",
            Until::BulkRead => "cp.async.bulk.wait_group.read",
            Until::Bulk => "cp.async.bulk.wait_group",
            Until::Mbarrier => "a wait at its mbarrier",
            Until::Products => "wgmma.wait_group",
            Until::Committed => "tcgen05.commit with a wait at its mbarrier",
            Until::TensorAccesses => "tcgen05.wait::ld or tcgen05.wait::st",
        }
    }
}

impl From<Agent> for Until {
    fn from(agent: Agent) -> Until {
        match agent {
            Agent::Copy => Until::Copies,
            Agent::Source => Until::BulkRead,
            Agent::Target => Until::Bulk,
            Agent::Product => Until::Products,
            Agent::Counted | Agent::Store | Agent::Thread | Agent::Lookup => Until::Mbarrier,
        }
    }
}

impl FindingKind {
    /// A word for programs.
    pub fn word(&self) -> &'static str {
        match self {
            FindingKind::Uninitialised => "uninitialised_read",
            FindingKind::Race { .. } => "race",
            FindingKind::Unwaited { .. } => "unwaited",
            FindingKind::MissingProxyFence => "missing_proxy_fence",
            FindingKind::StaleTexture => "stale_texture",
            FindingKind::UnwaitedRegister => "unwaited_register",
            FindingKind::UnloadedRegister => "unloaded_register",
            FindingKind::MissingTensorFence => "missing_tensor_fence",
            FindingKind::UninitialisedTensor { .. } => "uninitialised_tensor_memory",
            FindingKind::MissingRegisterFence => "missing_register_fence",
            FindingKind::DivergentBarrier { .. } => "divergent_barrier",
            FindingKind::MissedBarrier { .. } => "missed_barrier",
            FindingKind::MissingLanes { .. } => "missing_lanes",
            FindingKind::NotNamed { .. } => "lane_not_named",
            FindingKind::ExitedLanes { .. } => "exited_lanes",
            FindingKind::PartialWarp { .. } => "partial_warp",
            FindingKind::PartialWarpgroup { .. } => "partial_warpgroup",
            FindingKind::DivergentBarrierOperand { .. } => "divergent_barrier_operand",
            FindingKind::BarrierCounts { .. } => "barrier_counts",
            FindingKind::ArrivesTwice { .. } => "arrives_twice",
            FindingKind::ArriveWithoutSync { .. } => "arrive_without_sync",
            FindingKind::UndefinedShuffle => "undefined_shuffle",
            FindingKind::UndefinedRegister { .. } => "uninitialised_register",
            FindingKind::Leak { .. } => "leak",
            FindingKind::TensorLeak { .. } => "tensor_memory_leak",
            FindingKind::OutOfBounds { .. } => "out_of_bounds",
            FindingKind::DeadLocal => "dead_local",
            FindingKind::ForeignLocal { .. } => "foreign_local",
            FindingKind::Deadlock { .. } => "deadlock",
            FindingKind::JitMismatch(_) => "jit-mismatch",
        }
    }

    /// The sanitizer that finds it: `init`, `race`, `sync`, `bounds` or `leak`; `compare` for compare mode.
    pub fn sanitizer(&self) -> &'static str {
        match self {
            FindingKind::Uninitialised
            | FindingKind::UninitialisedTensor { .. }
            | FindingKind::UndefinedRegister { .. } => "init",
            FindingKind::Leak { .. } | FindingKind::TensorLeak { .. } => "leak",
            FindingKind::JitMismatch(_) => "compare",
            FindingKind::OutOfBounds { .. } | FindingKind::DeadLocal | FindingKind::ForeignLocal { .. } => {
                "bounds"
            }
            FindingKind::Race { .. }
            | FindingKind::Unwaited { .. }
            | FindingKind::MissingProxyFence
            | FindingKind::StaleTexture
            | FindingKind::UnwaitedRegister
            | FindingKind::UnloadedRegister
            | FindingKind::MissingTensorFence
            | FindingKind::MissingRegisterFence => "race",
            _ => "sync",
        }
    }
}
