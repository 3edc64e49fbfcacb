//! Counts of executed operations, and tracing.
//!
//! The plain loop counts runs of operations between jumps, which costs almost nothing. Counts for each operation and a
//! [`Tracer`] use a second instance of the loop.

use crate::decode::Program;
use softwarp_image::FunctionId;
use softwarp_ir::Op;
use softwarp_syntax::Span;
use softwarp_units::lanes::Frame;
use std::sync::atomic::AtomicU64;

/// Counts of executed instructions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Instructions, each once for all lanes of a warp that execute it together.
    pub warp_instructions: u64,
    /// Instructions, once for each active lane.
    pub thread_instructions: u64,
    /// Branches at which the lanes of a warp parted.
    pub divergent_branches: u64,
    /// Operations among the lanes of a warp.
    pub exchanges: u64,
}

impl Counts {
    pub(crate) fn merge(&mut self, other: &Counts) {
        self.warp_instructions += other.warp_instructions;
        self.thread_instructions += other.thread_instructions;
        self.divergent_branches += other.divergent_branches;
        self.exchanges += other.exchanges;
    }

    /// Counts instructions by their operations. Runs between jumps, which are what is counted otherwise, leave out the
    /// one that a fault ended.
    pub(crate) fn recount(&mut self, program: &Program, operations: &[(FunctionId, Vec<OpCount>)]) {
        (self.warp_instructions, self.thread_instructions) = (0, 0);
        for (code, (_, counts)) in program.codes.iter().zip(operations) {
            for (op, count) in counts.iter().enumerate() {
                let begins = code.instructions_between(op, op + 1);
                self.warp_instructions += begins * count.warp;
                self.thread_instructions += begins * count.thread;
            }
        }
    }
}

/// The progress of a launch, which other threads can read while it runs.
#[derive(Debug, Default)]
pub struct Progress {
    /// CTAs that there are.
    pub ctas: AtomicU64,
    /// CTAs that have ended.
    pub ctas_done: AtomicU64,
    /// Instructions of warps.
    pub warp_instructions: AtomicU64,
}

/// An operation that a warp executes.
#[derive(Clone, Copy, Debug)]
pub struct Event<'a> {
    /// The function.
    pub function: FunctionId,
    /// The instruction in the text.
    pub span: Span,
    /// The index of the operation in the function.
    pub index: u32,
    /// The operation.
    pub op: &'a Op,
    /// `%ctaid`
    pub cta: [u32; 3],
    /// The warp in its CTA.
    pub warp: u32,
    /// The lanes that are active, whatever its guard says.
    pub lanes: u32,
}

/// An observer of a launch.
pub trait Tracer: Sync {
    /// An operation is about to be executed, on these registers.
    fn before(&self, event: &Event<'_>, frame: &Frame);

    /// The operation was executed. It is not called for operations that end a run of lanes (calls, returns, barriers,
    /// branches).
    fn after(&self, frame: &Frame);
}

/// How often an operation was executed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpCount {
    /// Executions by warps.
    pub warp: u64,
    /// Executions by active lanes.
    pub thread: u64,
}
