//! The intermediate representation: functions as lists of typed operations over the rows of a warp.
//!
//! Every operand is a slot of a frame ([`softwarp_units::lanes::Frame`]): immediates are rows of constants that a
//! frame begins with. Arithmetic is an [`Alu`] operation; everything that leaves the frame (memory, control flow,
//! other lanes and warps) is a [`Step`].
//!
//! Operations stand in the order of the text. A program counter is an index into [`Function::ops`]. When the lanes
//! of a warp have diverged, those with the lowest program counter run first.
//!
//! Operations that are no arithmetic are declared in one table, which the printer, the visitor over slots and the
//! properties are made from:
//!
//! ```
//! use softwarp_ir::{Access, Address, Element, Guard, Memory, Op, Role, Slot, Step};
//!
//! let address = Address { memory: Memory::Global, base: Some(Slot::wide(3)), offset: 8, named: None };
//! let load = Access::new(address, 4, false, vec![Element::new(Slot::narrow(1), 32)]).expect("an access of PTX");
//! let step = Step::Load(load);
//! assert!(step.properties().memory && !step.properties().waits);
//! let mut op = Op::Other(Guard::new(Slot::predicate(2), true), Box::new(step));
//! assert_eq!(op.to_string(), "@!p2 r1 = ld [global d3+8], bytes=4");
//! let mut written = Vec::new();
//! op.visit(|slot, role| {
//!     if role == Role::Write {
//!         written.push(*slot);
//!     }
//! });
//! assert_eq!(written, [Slot::narrow(1)]);
//! ```

#![warn(clippy::wildcard_enum_match_arm)]

pub mod alu;
pub mod asynchronous;
pub mod cluster;
mod collective;
mod control;
pub mod debug;
pub mod defined;
pub mod group;
mod immediate;
mod input;
mod list;
pub mod matrix;
mod memory;
pub mod multimem;
mod operand;
mod operations;
mod order;
mod parse;
mod print;
mod properties;
pub mod start;
pub mod tensor_core;
pub mod texture;
mod values;
mod verify;

pub use alu::{Alu, AluOp, Immediate, Slots};
pub use collective::{Barrier, BarrierOp, WarpOp, WarpOpKind};
pub use control::{
    Alloca, Call, Callee, FrameAddress, Provided, ReadSpecial, Special, StackRestore, StackSave, Switch,
};
pub use input::ParseError;
pub use memory::{Access, Address, Atomic, AtomicOp, Element, Memory, TAGGED};
pub use operand::Role;
pub use operations::{AsyncOp, ClusterOp, Declared, MatrixOp, Step, TABLES, TensorCoreOp, TextureOp};
pub use order::{Fence, Order, Scope, Semantics};
pub use properties::Properties;
pub use softwarp_units::lanes::{Class, Guard, Slot};

use operand::Operand;
use softwarp_image::FunctionId;
use softwarp_syntax::Span;

/// A kernel and everything that it can call.
#[derive(Debug)]
pub struct Program {
    /// The functions, the kernel first.
    pub functions: Vec<Function>,
    /// For each function of the image, its index in `functions` if it is reached.
    pub of_function: Vec<Option<u32>>,
}

/// A function.
#[derive(Clone, Debug)]
pub struct Function {
    /// The function of the image.
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
    /// Rows of 32-bit words that hold the same in all lanes, from the start: slot and value. As the three lists that follow,
    /// it is in the order of slots.
    pub narrow_constants: Vec<(u32, u32)>,
    /// Rows of 64-bit words, likewise.
    pub wide_constants: Vec<(u32, u64)>,
    /// Those among the constants of 32 bits that are addresses in `.shared`, as they are in the first CTA of a
    /// cluster: each CTA has its own.
    pub shared_narrow: Vec<(u32, u32)>,
    /// Those among the constants of 64 bits that are addresses in `.shared`, as in `shared_narrow`.
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
    /// The registers of the text, if the function was lowered for debugging.
    pub debug: Option<Box<debug::Registers>>,
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
    /// A function without operations.
    pub fn empty(function: FunctionId) -> Function {
        Function {
            function,
            ops: Vec::new(),
            spans: Vec::new(),
            instructions: Vec::new(),
            locations: Vec::new(),
            narrow: 0,
            wide: 0,
            predicates: 0,
            narrow_constants: Vec::new(),
            wide_constants: Vec::new(),
            shared_narrow: Vec::new(),
            shared_wide: Vec::new(),
            local_bytes: 0,
            parameter_bytes: 0,
            start: start::Start::default(),
            forwarded: start::Forwarded::default(),
            named: Vec::new(),
            registers: None,
            debug: None,
        }
    }

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
            Op::Other(_, step) => step.targets(),
            Op::Alu(_) => &[],
        }
    }

    /// Whether no lane continues with the next operation.
    pub fn ends_block(&self) -> bool {
        self.guard() == Guard::ALWAYS
            && match self {
                Op::Alu(_) => false,
                Op::Branch(..) => true,
                Op::Other(_, step) => step.ends_block(),
            }
    }
}

impl Op {
    /// Shows every slot of an operation, those that are read first, the guard before all.
    ///
    /// While a function is lowered, slots are numbers of virtual registers. This is how their live ranges are found,
    /// and how they are replaced by rows.
    pub fn visit(&mut self, mut f: impl FnMut(&mut Slot, Role)) {
        let mut visit_guard = |guard: &mut Guard| guard.visit(&mut |slot, _| f(slot, Role::Read));
        match self {
            Op::Alu(alu) => {
                visit_guard(&mut alu.guard);
                alu.s.iter_mut().for_each(|slot| f(slot, Role::Read));
                alu.d.iter_mut().for_each(|slot| f(slot, Role::Write));
            }
            Op::Branch(guard, _) => visit_guard(guard),
            Op::Other(guard, step) => {
                visit_guard(guard);
                step.visit(&mut f);
            }
        }
    }
}
