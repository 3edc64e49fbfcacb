//! Arithmetic operations: everything that stays within the lanes and registers of a warp.
//!
//! An operation names what is computed: a form of the instruction table (opcode, types, modifiers), or one of the
//! few operations that lowering itself needs ([`Simple`]). Which vector loop computes it is chosen where the program
//! is made ready for execution.

use softwarp_isa::instruction::InstructionForm;
use softwarp_units::alu::simple::Simple;
use softwarp_units::alu::video::Selectors;
use softwarp_units::lanes::{Guard, Slot};
use std::fmt;
use std::sync::Arc;

/// An arithmetic operation.
#[derive(Clone, Debug)]
pub struct Alu {
    /// What is computed.
    pub op: AluOp,
    /// Destinations, in the order of the operands; no second one if it is left out or `_`. (A first one that is `_`
    /// has a slot that nothing reads.) A register of 128 bits has its low half here and
    /// its high half in the next slot. All sources are read before a destination is written: they may share slots.
    ///
    /// The row is that of the operand's type: of 32-bit words up to 32 bits, with zeros above the type's bits.
    /// Where the register is wider (`cvt.s8.s32` into 32 bits), an operation that extends follows.
    pub d: Slots<2>,
    /// Sources, in the order of the operands, vectors element by element, immediates as rows of
    /// constants; each in the rows of the operand's type. Bits above a type of fewer than 16 bits are undefined,
    /// above one of 16 bits zero. Operands that must be constants (`immLut`) are in the [`Immediate`] instead.
    pub s: Slots<5>,
    /// The guard.
    pub guard: Guard,
}

/// What an arithmetic operation computes.
#[derive(Clone, Debug)]
pub enum AluOp {
    /// An instruction of the table.
    Instruction(Arc<InstructionForm>, Immediate),
    /// An operation that lowering adds.
    Simple(Simple),
}

impl AluOp {
    /// The instruction's form, if it is one of the table.
    pub fn form(&self) -> Option<&InstructionForm> {
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
    /// No operand.
    #[default]
    None,
    /// `immLut` of `lop3`
    Lut(u8),
    /// The parts of registers that a scalar video instruction selects, and its negated sources.
    Video(Selectors),
}

impl Alu {
    /// One of lowering's own operations.
    pub fn simple(op: Simple, d: Slot, sources: &[Slot], guard: Guard) -> Alu {
        Alu { op: AluOp::Simple(op), d: Slots::of(&[d]), s: Slots::of(sources), guard }
    }
}

/// Up to `N` slots.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Slots<const N: usize>([Option<Slot>; N]);

impl<const N: usize> Default for Slots<N> {
    fn default() -> Slots<N> {
        Slots([None; N])
    }
}

impl<const N: usize> fmt::Debug for Slots<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl<const N: usize> Slots<N> {
    /// These; those beyond `N` are left out.
    pub fn of(slots: &[Slot]) -> Slots<N> {
        let mut all = Slots::default();
        all.0.iter_mut().zip(slots).for_each(|(place, &slot)| *place = Some(slot));
        all
    }

    /// Adds one; false if there is no room.
    #[must_use]
    pub fn push(&mut self, slot: Slot) -> bool {
        let place = self.0.iter_mut().find(|place| place.is_none());
        place.map(|place| *place = Some(slot)).is_some()
    }

    /// The slot of a given number.
    pub fn get(&self, n: usize) -> Option<Slot> {
        self.0.get(n).copied().flatten()
    }

    /// All, in order.
    pub fn iter(&self) -> impl Iterator<Item = Slot> {
        self.0.iter().map_while(|slot| *slot)
    }

    /// All, to be changed.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Slot> {
        self.0.iter_mut().map_while(Option::as_mut)
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.iter().count()
    }
}
