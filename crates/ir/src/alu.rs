//! Arithmetic operations: everything that stays within the lanes and registers of a warp.
//!
//! An operation names what is computed: a form of the instruction table (opcode, types, modifiers), or one of the
//! few operations that lowering itself needs ([`Simple`]). Which vector loop computes it is chosen where the program
//! is made ready for execution.

use softwarp_isa::instruction::Shape;
use softwarp_units::alu::simple::Simple;
use softwarp_units::alu::video::Selectors;
use softwarp_units::alu::{Guard, NONE};
use std::sync::Arc;

/// An arithmetic operation.
#[derive(Clone, Debug)]
pub struct Alu {
    /// What is computed.
    pub op: AluOp,
    /// Slots of destinations, in the order of the operands; [`NONE`] for a second one that is left out or `_`.
    /// (A first one that is `_` has a slot that nothing reads.) A register of 128 bits has its low half here and
    /// its high half in the next slot. All sources are read before a destination is written: they may share slots.
    ///
    /// The row is that of the operand's type: of 32-bit words up to 32 bits, with zeros above the type's bits.
    /// Where the register is wider (`cvt.s8.s32` into 32 bits), an operation that extends follows.
    pub d: [u32; 2],
    /// Slots of sources, in the order of the operands, vectors element by element, immediates as rows of
    /// constants; each in the rows of the operand's type. Bits above a type of fewer than 16 bits are undefined,
    /// above one of 16 bits zero. Operands that must be constants (`immLut`) are in the [`Immediate`] instead.
    pub s: [u32; 5],
    /// The guard.
    pub guard: Guard,
}

/// What an arithmetic operation computes.
#[derive(Clone, Debug)]
pub enum AluOp {
    /// An instruction of the table.
    Instruction(Arc<Shape>, Immediate),
    /// An operation that lowering adds.
    Simple(Simple),
}

impl AluOp {
    /// The instruction's form, if it is one of the table.
    pub fn form(&self) -> Option<&Shape> {
        match self {
            AluOp::Instruction(form, _) => Some(form),
            AluOp::Simple(_) => None,
        }
    }

    /// Whether it copies a whole row.
    pub fn is_copy(&self) -> bool {
        matches!(self, AluOp::Simple(Simple::Move32 | Simple::Move64))
    }
}

/// An operand that is part of the instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Immediate {
    /// There is none.
    #[default]
    None,
    /// `immLut` of `lop3`
    Lut(u8),
    /// The parts of registers that a scalar video instruction selects, and its negated sources.
    Video(Selectors),
}

impl Alu {
    /// One of lowering's own operations.
    pub fn simple(op: Simple, d: u32, sources: &[u32], guard: Guard) -> Alu {
        let mut s = [NONE; 5];
        s.iter_mut().zip(sources).for_each(|(slot, &source)| *slot = source);
        Alu { op: AluOp::Simple(op), d: [d, NONE], s, guard }
    }
}
