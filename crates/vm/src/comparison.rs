//! Compare mode ([`Jit::Compare`](crate::device::Jit)), as data: what came of the launches that ran both compiled and
//! interpreted.
//!
//! The interpreter runs a launch first, on the device's memory; what it does is what the program sees. Compiled code then
//! runs the same launch on a copy of the memory as it was before. Both run on one thread of the host, begin CTAs and warps
//! in the same order, and have clocks that count their reads. Memory, the fault, what is printed, the launches by the
//! kernel and the counts must be the same.
//!
//! **Order.** Where they differ, both run again on copies. If they differ again, the interpreter runs in several random
//! orders ([`crate::schedule`]). What differs among these as well depends on the order of threads, which PTX leaves open:
//! the launch is counted as order-dependent. Anything else is a finding
//! ([`FindingKind::JitMismatch`](crate::sanitize::FindingKind)).

use std::collections::BTreeMap;

/// How many launches were compared, and with what result.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comparisons {
    /// Both did the same.
    pub equal: u64,
    /// They differ where the result depends on the order of threads.
    pub order_dependent: u64,
    /// They differ elsewhere.
    pub mismatches: u64,
    /// No instruction of the launch has compiled code that was used.
    pub not_compiled: u64,
    /// Launches that only the interpreter ran, or whose results cannot be compared.
    pub not_compared: BTreeMap<NotCompared, u64>,
    /// What launches that differ began with.
    pub reproductions: Vec<Reproduction>,
}

/// Why a launch was not compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NotCompared {
    /// There is no memory for copies.
    Memory,
    /// It was stopped by a limit, or cancelled.
    Limit,
    /// It does not end on a copy of its memory: it waits for something that the host does.
    WaitsForHost,
    /// It writes surfaces.
    Surface,
    /// A debugger or a random schedule decides the order of its threads.
    Observed,
    /// Another launch was being compared.
    Concurrent,
    /// Allocations share a part of their memory.
    Overlap,
}

impl NotCompared {
    /// A word for programs.
    pub fn word(self) -> &'static str {
        match self {
            NotCompared::Memory => "memory",
            NotCompared::Limit => "limit",
            NotCompared::WaitsForHost => "waits_for_host",
            NotCompared::Surface => "surface",
            NotCompared::Observed => "observed",
            NotCompared::Concurrent => "concurrent",
            NotCompared::Overlap => "overlap",
        }
    }

    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            NotCompared::Memory => "there was no memory for copies",
            NotCompared::Limit => "a limit stopped it",
            NotCompared::WaitsForHost => "it waits for the host",
            NotCompared::Surface => "it writes surfaces",
            NotCompared::Observed => "a debugger or a random schedule was there",
            NotCompared::Concurrent => "another launch was being compared",
            NotCompared::Overlap => "allocations overlap",
        }
    }
}

impl Comparisons {
    /// Adds those of other launches.
    pub fn add(&mut self, other: Comparisons) {
        self.equal += other.equal;
        self.order_dependent += other.order_dependent;
        self.mismatches += other.mismatches;
        self.not_compiled += other.not_compiled;
        for (why, count) in other.not_compared {
            *self.not_compared.entry(why).or_default() += count;
        }
        self.reproductions.extend(other.reproductions);
    }

    /// The counts alone.
    pub fn counts(&self) -> Comparisons {
        let &Comparisons { equal, order_dependent, mismatches, not_compiled, .. } = self;
        let (not_compared, reproductions) = (self.not_compared.clone(), Vec::new());
        Comparisons { equal, order_dependent, mismatches, not_compiled, not_compared, reproductions }
    }

    /// Launches that were compared.
    pub fn compared(&self) -> u64 {
        self.equal + self.order_dependent + self.mismatches
    }

    /// All launches in compare mode.
    pub fn launches(&self) -> u64 {
        self.compared() + self.not_compiled + self.not_compared.values().sum::<u64>()
    }

    pub(crate) fn not_compared(why: NotCompared) -> Comparisons {
        Comparisons { not_compared: BTreeMap::from([(why, 1)]), ..Comparisons::default() }
    }
}

/// A launch whose compiled code and interpreter differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// CTAs of the grid.
    pub grid: [u32; 3],
    /// Threads of a CTA.
    pub block: [u32; 3],
    /// CTAs of a cluster.
    pub cluster: Option<[u32; 3]>,
    /// Bytes of dynamic shared memory.
    pub dynamic_shared: u32,
    /// The first difference.
    pub what: Difference,
    /// Whether the interpreter wrote the byte, or ended there: the finding's place is that instruction.
    pub placed: bool,
}

/// A difference between the interpreter and compiled code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Difference {
    /// A byte of memory.
    Memory {
        /// The byte after the interpreter.
        interpreted: u8,
        /// The byte after compiled code.
        compiled: u8,
        /// How many bytes differ, at least.
        bytes: u64,
    },
    /// The fault, or that there is none.
    Fault {
        /// The interpreter's.
        interpreted: String,
        /// Compiled code's.
        compiled: String,
    },
    /// What the kernel prints.
    Printed {
        /// The first call that differs, by the interpreter.
        interpreted: String,
        /// By compiled code.
        compiled: String,
    },
    /// The launches that the kernel asks for, or its blocks of `malloc`.
    Requests,
    /// Counts of instructions.
    Counts {
        /// Of warps and of threads, divergent branches, and operations among lanes: the interpreter's.
        interpreted: [u64; 4],
        /// Compiled code's.
        compiled: [u64; 4],
    },
}

impl Difference {
    /// A word for programs.
    pub fn word(&self) -> &'static str {
        match self {
            Difference::Memory { .. } => "memory",
            Difference::Fault { .. } => "fault",
            Difference::Printed { .. } => "printf",
            Difference::Requests => "requests",
            Difference::Counts { .. } => "counts",
        }
    }

    /// What the interpreter has, and what compiled code has.
    pub fn values(&self) -> [String; 2] {
        match self {
            Difference::Memory { interpreted, compiled, .. } => {
                [interpreted, compiled].map(|byte| format!("0x{byte:02x}"))
            }
            Difference::Fault { interpreted, compiled } | Difference::Printed { interpreted, compiled } => {
                [interpreted.clone(), compiled.clone()]
            }
            Difference::Requests => [String::new(), String::new()],
            Difference::Counts { interpreted, compiled } => [interpreted, compiled].map(|counts| {
                let [warps, threads, branches, exchanges] = counts;
                format!(
                    "{warps} instructions of warps, {threads} of threads, {branches} divergent branches, {exchanges} exchanges"
                )
            }),
        }
    }
}

/// Everything that a launch began with: enough to run it again elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reproduction {
    /// The texts of the module.
    pub texts: Vec<String>,
    /// The GPU that the device is.
    pub arch: String,
    /// The windows of the module's address space: first addresses and sizes of variables, heap, constants, parameters,
    /// functions, `.local` and `.shared`.
    pub windows: [(u64, u64); 7],
    /// The kernel.
    pub kernel: String,
    /// CTAs of the grid.
    pub grid: [u32; 3],
    /// Threads of a CTA.
    pub block: [u32; 3],
    /// CTAs of a cluster.
    pub cluster: Option<[u32; 3]>,
    /// All CTAs are there at once.
    pub cooperative: bool,
    /// Bytes of dynamic shared memory.
    pub dynamic_shared: u32,
    /// The bytes of each parameter.
    pub arguments: Vec<Vec<u8>>,
    /// Memory, by address.
    pub memory: Vec<Piece>,
    /// What is missing in it.
    pub missing: Vec<&'static str>,
}

/// A piece of memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The kind of memory.
    pub kind: PieceKind,
    /// Its first address.
    pub address: u64,
    /// Its size.
    pub bytes: u64,
    /// Bytes that are not zero: offsets, and what is there.
    pub runs: Vec<(u64, Vec<u8>)>,
}

/// The kinds of memory of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PieceKind {
    /// An allocation, which has to be made.
    Buffer,
    /// The variables of the module in `.global`.
    Variables,
    /// A bank of constants, by its generic address.
    Constants,
}
