//! A launch as data: its parameters, its results, and its errors.

use crate::comparison::Comparisons;
use crate::debug::Debugger;
pub use crate::decode::native::Jit;
use crate::fault::Fault;
use crate::memory::global::MemoryError;
use crate::sanitize::{Finding, NotLookedAt, Sanitize};
use crate::schedule::Schedule;
use crate::stats::{Counts, OpCount, Progress, Tracer};
use softwarp_image::FunctionId;
use softwarp_isa::Target;
use softwarp_lower::Unsupported;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// A module of a device. The first that a device loads is the default; numbers are not used again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ModuleId(pub(crate) u32);

impl std::fmt::Display for ModuleId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "module {}", self.0)
    }
}

/// Why there is no such module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ModuleError {
    /// It was unloaded.
    #[error("{0} was unloaded")]
    Unloaded(ModuleId),
    /// The device has never loaded it.
    #[error("there is no {0}")]
    Missing(ModuleId),
}

/// A launch.
#[derive(Clone, Copy)]
pub struct Launch<'a> {
    /// The module that has the kernel.
    pub module: ModuleId,
    /// The kernel's name.
    pub kernel: &'a str,
    /// CTAs in each dimension.
    pub grid: [u32; 3],
    /// Threads of a CTA in each dimension.
    pub block: [u32; 3],
    /// CTAs of a cluster in each dimension; without it, what the kernel says.
    pub cluster: Option<[u32; 3]>,
    /// All CTAs are there at once and can wait for one another, with a barrier that `%envreg1` and `%envreg2` point to.
    pub cooperative: bool,
    /// Bytes of shared memory beyond what the kernel declares.
    pub dynamic_shared: u32,
    /// The bytes of each parameter.
    pub arguments: &'a [Vec<u8>],
    /// How many threads of the host run it; all without it.
    pub threads: Option<usize>,
    /// The most instructions of warps.
    pub most_instructions: Option<u64>,
    /// The most time.
    pub most_time: Option<Duration>,
    /// Stops when this becomes true.
    pub cancel: Option<&'a AtomicBool>,
    /// Takes what the kernel prints, a call of `printf` at a time.
    pub print: Option<&'a (dyn Fn(&str) + Sync)>,
    /// Sees every operation.
    pub tracer: Option<&'a dyn Tracer>,
    /// Sees every instruction before it is executed. With it, one thread of the host runs the launch.
    pub debugger: Option<&'a dyn Debugger>,
    /// Counts every operation by itself, and instructions by their mnemonics.
    pub count_operations: bool,
    /// Says how far it is, to other threads.
    pub progress: Option<&'a Progress>,
    /// The order in which threads run. With any but the fixed one, one thread of the host runs the launch.
    pub schedule: Schedule,
    /// The sanitizers to run. With any of them, one thread of the host runs the launch.
    pub sanitize: Sanitize,
    /// Nothing else accesses the device's memory while it runs: no other launch, and no other thread of the host. Where
    /// one thread runs it, its atomic operations then need not be atomic for others, and are faster.
    pub exclusive: bool,
    /// When functions are compiled to machine code, or whether compiled code and the interpreter are compared. Tracers,
    /// debuggers and sanitizers see the interpreter.
    pub jit: Jit,
}

impl<'a> Launch<'a> {
    /// A launch of a kernel of the first module, without anything special.
    pub fn new(kernel: &'a str, grid: [u32; 3], block: [u32; 3], arguments: &'a [Vec<u8>]) -> Launch<'a> {
        Launch {
            module: ModuleId::default(),
            kernel,
            grid,
            block,
            cluster: None,
            cooperative: false,
            dynamic_shared: 0,
            arguments,
            threads: None,
            most_instructions: None,
            most_time: None,
            cancel: None,
            print: None,
            tracer: None,
            debugger: None,
            count_operations: false,
            progress: None,
            schedule: Schedule::Fixed,
            sanitize: Sanitize::default(),
            exclusive: false,
            jit: Jit::from_environment(),
        }
    }
}

impl Default for Launch<'_> {
    /// A launch with default options and without a kernel.
    fn default() -> Self {
        Launch::new("", [1; 3], [1; 3], &[])
    }
}

/// The results of a launch.
#[derive(Clone, Debug)]
pub struct Report {
    /// How many CTAs ran.
    pub ctas: u64,
    /// Counts of executed instructions.
    pub counts: Counts,
    /// Instructions of warps that compiled code executed; those of the interpreter are the others.
    pub compiled: u64,
    /// How long it took.
    pub elapsed: Duration,
    /// If asked for: how often each instruction was executed, by its mnemonic.
    pub mnemonics: Vec<(String, OpCount)>,
    /// If asked for: how often each operation of each function was executed, in the order of its code.
    pub operations: Vec<(FunctionId, Vec<OpCount>)>,
    /// If asked for: what the sanitizers found.
    pub findings: Vec<Finding>,
    /// The limits that the sanitizers reached: accesses beyond them were not checked.
    pub not_looked_at: Vec<NotLookedAt>,
    /// In compare mode: what came of it.
    pub comparisons: Comparisons,
}

/// The end of a launch that began.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The report, up to the end or until the launch was stopped.
    pub report: Report,
    /// The fault that stopped it, if there is one.
    pub fault: Option<Box<Fault>>,
    /// The launches that its threads asked for. They have not begun.
    pub nested: Vec<NestedLaunch>,
}

/// A launch that a thread of a kernel asked for, of a kernel of the same module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NestedLaunch {
    /// The kernel.
    pub kernel: String,
    /// CTAs of the grid.
    pub grid: [u32; 3],
    /// Threads of a CTA.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub dynamic_shared: u32,
    /// The bytes of each parameter.
    pub arguments: Vec<Vec<u8>>,
    /// It is to run behind everything else that the grid launched.
    pub tail: bool,
}

impl Report {
    /// Adds what a nested launch did.
    pub(crate) fn add(&mut self, nested: Report) {
        self.ctas += nested.ctas;
        self.counts.merge(&nested.counts);
        self.compiled += nested.compiled;
        self.elapsed += nested.elapsed;
        for (mnemonic, count) in nested.mnemonics {
            match self.mnemonics.iter_mut().find(|(name, _)| *name == mnemonic) {
                Some((_, sum)) => {
                    sum.warp += count.warp;
                    sum.thread += count.thread;
                }
                None => self.mnemonics.push((mnemonic, count)),
            }
        }
        self.operations.extend(nested.operations);
        self.findings.extend(nested.findings);
        self.not_looked_at.extend(nested.not_looked_at);
        self.comparisons.add(nested.comparisons);
    }
}

/// Why a launch did not run to its end.
#[derive(Clone, Debug, thiserror::Error)]
pub enum LaunchError {
    /// There is no such module.
    #[error(transparent)]
    Module(#[from] ModuleError),
    /// There is no such kernel.
    #[error("there is no kernel `{name}`")]
    NoKernel {
        /// The name.
        name: String,
    },
    /// It has instructions that cannot be executed.
    #[error("{}", unsupported(.0))]
    Unsupported(Vec<Unsupported>),
    /// A dimension of the grid or of its CTAs that is zero or too large.
    #[error("{what}.{} is {given}: it must be from 1 to {most}", axis(*.dimension))]
    Dimension {
        /// `grid` or `block`.
        what: &'static str,
        /// The dimension: 0 for x.
        dimension: usize,
        /// The given value.
        given: u32,
        /// The most that there can be.
        most: u32,
    },
    /// Too many threads in a CTA, or not as many as the kernel asks for.
    #[error("a CTA of {given} threads: there can be {most}")]
    Threads {
        /// The given number.
        given: u64,
        /// The most that there can be.
        most: u64,
    },
    /// The kernel is for CTAs of other dimensions (`.reqntid`).
    #[error("CTAs of {given:?} threads: the kernel is for {wanted:?}")]
    Block {
        /// The given dimensions.
        given: [u32; 3],
        /// The dimensions that the kernel requires.
        wanted: [u32; 3],
    },
    /// Clusters that cannot be.
    #[error("{0}")]
    Cluster(ClusterError),
    /// More CTAs than can be there at once, in a cooperative launch.
    #[error("{given} CTAs in a cooperative launch: at most {most} can be there at once")]
    Cooperative {
        /// The given number.
        given: u64,
        /// The most that there can be.
        most: u64,
    },
    /// More shared memory than a CTA can have.
    #[error("the launch needs {bytes} bytes of shared memory for each CTA, and a CTA can have {most}")]
    Shared {
        /// The bytes that it needs.
        bytes: u64,
        /// The most bytes that a CTA can have.
        most: u64,
    },
    /// More local memory than a thread can have.
    #[error("the kernel needs {bytes} bytes of local memory for each thread, and a thread can have {most}")]
    Local {
        /// The bytes that the kernel's own variables need.
        bytes: u64,
        /// The most bytes that a thread can have.
        most: u64,
    },
    /// More or fewer arguments than the kernel has parameters.
    #[error("{given} arguments: the kernel has {parameters} parameters")]
    ArgumentCount {
        /// How many parameters there are.
        parameters: usize,
        /// How many were given.
        given: usize,
    },
    /// An argument that has not the size of its parameter.
    #[error("argument {index} has {given} bytes: parameter `{name}` has {bytes}")]
    ArgumentSize {
        /// The index of the argument, from 0.
        index: usize,
        /// The parameter's name.
        name: String,
        /// The parameter's bytes.
        bytes: u64,
        /// The argument's bytes.
        given: u64,
    },
    /// There is no memory for it.
    #[error("{0}")]
    Memory(MemoryError),
    /// It was stopped.
    #[error("{0}")]
    Fault(Box<Fault>),
}

/// The name of a dimension.
fn axis(dimension: usize) -> &'static str {
    ["x", "y", "z"].get(dimension).copied().unwrap_or("?")
}

fn unsupported(list: &[Unsupported]) -> String {
    match list.first() {
        Some(first) => format!("cannot be executed: {} (and {} more)", first.what, list.len() - 1),
        None => "cannot be executed".into(),
    }
}

/// An error of a launch's clusters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ClusterError {
    /// The machine has none.
    #[error("{0} has no clusters: they came with sm_90")]
    Target(Target),
    /// A dimension that is zero.
    #[error("a cluster of {cluster:?} CTAs has none")]
    Empty {
        /// The given dimensions.
        cluster: [u32; 3],
    },
    /// More CTAs than a cluster can have.
    #[error("a cluster of {given} CTAs: there can be {most}")]
    TooMany {
        /// The given number.
        given: u64,
        /// The most that there can be.
        most: u64,
    },
    /// The grid is no multiple of the cluster.
    #[error("a grid of {grid:?} CTAs is not a multiple of clusters of {cluster:?}")]
    Grid {
        /// The grid.
        grid: [u32; 3],
        /// The cluster.
        cluster: [u32; 3],
    },
    /// The kernel is for other clusters (`.reqnctapercluster`).
    #[error("clusters of {given:?} CTAs: the kernel is for {wanted:?}")]
    Differs {
        /// The given dimensions.
        given: [u32; 3],
        /// The dimensions that the kernel requires.
        wanted: [u32; 3],
    },
    /// The kernel must be launched with clusters (`.explicitcluster`), and was not.
    #[error("the kernel must be launched with clusters, and none were asked for")]
    Missing,
}
