//! A launch as data: what is asked for, what came of it, and why it could not be.

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

/// A launch.
#[derive(Clone, Copy)]
pub struct Launch<'a> {
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
    /// Counts every operation by itself, and instructions by their mnemonics.
    pub count_operations: bool,
    /// Says how far it is, to other threads.
    pub progress: Option<&'a Progress>,
    /// The order in which threads run. With any but the fixed one, one thread of the host runs the launch.
    pub schedule: Schedule,
    /// What to look for besides faults. With anything in it, one thread of the host runs the launch.
    pub sanitize: Sanitize,
}

impl<'a> Launch<'a> {
    /// A launch without anything special.
    pub fn new(kernel: &'a str, grid: [u32; 3], block: [u32; 3], arguments: &'a [Vec<u8>]) -> Launch<'a> {
        Launch {
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
            count_operations: false,
            progress: None,
            schedule: Schedule::Fixed,
            sanitize: Sanitize::default(),
        }
    }
}

impl Default for Launch<'_> {
    /// A launch of nothing yet: how, and not what.
    fn default() -> Self {
        Launch::new("", [1; 3], [1; 3], &[])
    }
}

/// What a launch did.
#[derive(Clone, Debug)]
pub struct Report {
    /// How many CTAs ran.
    pub ctas: u64,
    /// What was executed.
    pub counts: Counts,
    /// How long it took.
    pub elapsed: Duration,
    /// If asked for: how often each instruction was executed, by its mnemonic.
    pub mnemonics: Vec<(String, OpCount)>,
    /// If asked for: how often each operation of each function was executed, in the order of its code.
    pub operations: Vec<(FunctionId, Vec<OpCount>)>,
    /// If asked for: what the sanitizers found.
    pub findings: Vec<Finding>,
    /// What the sanitizers did not look at, if they reached a limit.
    pub not_looked_at: Vec<NotLookedAt>,
}

/// Why a launch did not run to its end.
#[derive(Clone, Debug)]
pub enum LaunchError {
    /// There is no such kernel.
    NoKernel {
        /// The name.
        name: String,
    },
    /// It has instructions that cannot be executed.
    Unsupported(Vec<Unsupported>),
    /// A dimension of the grid or of its CTAs that is zero or too large.
    Dimension {
        /// `grid` or `block`.
        what: &'static str,
        /// Which: 0 for x.
        dimension: usize,
        /// What was given.
        given: u32,
        /// The most that there can be.
        most: u32,
    },
    /// Too many threads in a CTA, or not as many as the kernel asks for.
    Threads {
        /// What was given.
        given: u64,
        /// The most that there can be.
        most: u64,
    },
    /// The kernel is for CTAs of other dimensions (`.reqntid`).
    Block {
        /// What was given.
        given: [u32; 3],
        /// What the kernel wants.
        wanted: [u32; 3],
    },
    /// Clusters that cannot be.
    Cluster(ClusterError),
    /// More CTAs than can be there at once, in a cooperative launch.
    Cooperative {
        /// What was given.
        given: u64,
        /// The most that there can be.
        most: u64,
    },
    /// More shared memory than a CTA can have.
    Shared {
        /// What it needs.
        bytes: u64,
        /// What there is.
        most: u64,
    },
    /// More local memory than a thread can have.
    Local {
        /// What the kernel's own variables need.
        bytes: u64,
        /// What there is.
        most: u64,
    },
    /// More or fewer arguments than the kernel has parameters.
    ArgumentCount {
        /// How many parameters there are.
        parameters: usize,
        /// How many were given.
        given: usize,
    },
    /// An argument that has not the size of its parameter.
    ArgumentSize {
        /// Which, from 0.
        index: usize,
        /// The parameter's name.
        name: String,
        /// The parameter's bytes.
        bytes: u64,
        /// The argument's bytes.
        given: u64,
    },
    /// There is no memory for it.
    Memory(MemoryError),
    /// It was stopped.
    Fault(Box<Fault>),
}

/// What is wrong with a launch's clusters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClusterError {
    /// The machine has none.
    Target(Target),
    /// A dimension that is zero.
    Empty {
        /// What was given.
        cluster: [u32; 3],
    },
    /// More CTAs than a cluster can have.
    TooMany {
        /// What was given.
        given: u64,
        /// The most that there can be.
        most: u64,
    },
    /// The grid is no multiple of the cluster.
    Grid {
        /// The grid.
        grid: [u32; 3],
        /// The cluster.
        cluster: [u32; 3],
    },
    /// The kernel is for other clusters (`.reqnctapercluster`).
    Differs {
        /// What was given.
        given: [u32; 3],
        /// What the kernel wants.
        wanted: [u32; 3],
    },
    /// The kernel must be launched with clusters (`.explicitcluster`), and was not.
    Missing,
}

impl std::fmt::Display for ClusterError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ClusterError::Target(arch) => write!(f, "{arch} has no clusters: they came with sm_90"),
            ClusterError::Empty { cluster } => write!(f, "a cluster of {cluster:?} CTAs has none"),
            ClusterError::TooMany { given, most } => {
                write!(f, "a cluster of {given} CTAs: there can be {most}")
            }
            ClusterError::Grid { grid, cluster } => {
                write!(f, "a grid of {grid:?} CTAs is not a multiple of clusters of {cluster:?}")
            }
            ClusterError::Differs { given, wanted } => {
                write!(f, "clusters of {given:?} CTAs: the kernel is for {wanted:?}")
            }
            ClusterError::Missing => {
                write!(f, "the kernel must be launched with clusters, and none were asked for")
            }
        }
    }
}

impl std::fmt::Display for LaunchError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            LaunchError::NoKernel { name } => write!(f, "there is no kernel `{name}`"),
            LaunchError::Unsupported(list) => match list.first() {
                Some(first) => write!(f, "cannot be executed: {} (and {} more)", first.what, list.len() - 1),
                None => write!(f, "cannot be executed"),
            },
            LaunchError::Dimension { what, dimension, given, most } => {
                let name = ["x", "y", "z"].get(*dimension).copied().unwrap_or("?");
                write!(f, "{what}.{name} is {given}: it must be from 1 to {most}")
            }
            LaunchError::Threads { given, most } => {
                write!(f, "a CTA of {given} threads: there can be {most}")
            }
            LaunchError::Block { given, wanted } => {
                write!(f, "CTAs of {given:?} threads: the kernel is for {wanted:?}")
            }
            LaunchError::Cluster(error) => write!(f, "{error}"),
            LaunchError::Cooperative { given, most } => {
                write!(f, "{given} CTAs in a cooperative launch: at most {most} can be there at once")
            }
            LaunchError::Shared { bytes, most } => {
                write!(f, "{bytes} bytes of shared memory for each CTA: there are {most}")
            }
            LaunchError::Local { bytes, most } => {
                write!(f, "{bytes} bytes of local memory for each thread: there are {most}")
            }
            LaunchError::ArgumentCount { parameters, given } => {
                write!(f, "{given} arguments: the kernel has {parameters} parameters")
            }
            LaunchError::ArgumentSize { index, name, bytes, given } => {
                write!(f, "argument {index} has {given} bytes: parameter `{name}` has {bytes}")
            }
            LaunchError::Memory(error) => write!(f, "{error}"),
            LaunchError::Fault(fault) => write!(f, "{fault}"),
        }
    }
}

impl std::error::Error for LaunchError {}
