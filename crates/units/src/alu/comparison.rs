//! Comparisons of integers (PTX ISA sections 9.3.1.1 and 9.7.6: `setp`, `set`; those of packed values are in
//! `packed.rs`).
//!
//! Three comparisons suffice: `ge` is not `lt`, `gt` not `le`, `ne` not `eq`. What `extra` says of the rest is
//! [`Finish`].

use super::{AluLoops, alu_loop, holds};
use crate::alu::Inst;
use crate::lanes::{Frame, LANES, has_lane};
use softwarp_isa::Type;
use softwarp_isa::instruction::InstructionForm;
use softwarp_isa::instruction::{Modifier, Opcode};

/// The loop for a form. Of `setp`, `d` is p and q (which may be missing) and the third source the predicate that the
/// result is combined with, if there is one; of `set`, likewise but for `d`.
pub fn select(form: &InstructionForm) -> Option<(AluLoops, u32)> {
    let (&operator, rest) = form.modifiers.split_first()?;
    let (comparison, negated) = match operator {
        Modifier::Eq => (Comparison::Equal, false),
        Modifier::Ne => (Comparison::Equal, true),
        Modifier::Lt | Modifier::Lo => (Comparison::Less, false),
        Modifier::Ge | Modifier::Hs => (Comparison::Less, true),
        Modifier::Le | Modifier::Ls => (Comparison::LessOrEqual, false),
        Modifier::Gt | Modifier::Hi => (Comparison::LessOrEqual, true),
        _ => return None,
    };
    let combine = match rest.first() {
        Some(&Modifier::And) => Combine::And,
        Some(&Modifier::Or) => Combine::Or,
        Some(&Modifier::Xor) => Combine::Xor,
        _ => Combine::Nothing,
    };
    let finish = |truth| Finish { negated, combine, truth }.packed();
    match (form.opcode, form.types.as_slice()) {
        (Opcode::Setp, &[ty]) => Some((setp(comparison, ty)?, finish(Truth::Ones))),
        (Opcode::Set, &[to, ty]) => Some((set(comparison, ty)?, finish(Truth::of(to)?))),
        _ => None,
    }
}

#[derive(Clone, Copy)]
enum Comparison {
    Equal,
    Less,
    LessOrEqual,
}

/// The loop of a comparison that some function finishes, by type.
macro_rules! comparison {
    ($comparison:expr, $ty:expr, $finish:ident) => {
        match ($comparison, $ty) {
            (Comparison::Equal, Type::B16 | Type::U16 | Type::S16) => compared!(|a, b| a == b, u16, $finish),
            (Comparison::Equal, Type::B32 | Type::U32 | Type::S32) => compared!(|a, b| a == b, u32, $finish),
            (Comparison::Equal, Type::B64 | Type::U64 | Type::S64) => compared!(|a, b| a == b, u64, $finish),
            (Comparison::Less, Type::U16) => compared!(|a, b| a < b, u16, $finish),
            (Comparison::Less, Type::S16) => compared!(|a, b| a < b, i16, $finish),
            (Comparison::Less, Type::U32) => compared!(|a, b| a < b, u32, $finish),
            (Comparison::Less, Type::S32) => compared!(|a, b| a < b, i32, $finish),
            (Comparison::Less, Type::U64) => compared!(|a, b| a < b, u64, $finish),
            (Comparison::Less, Type::S64) => compared!(|a, b| a < b, i64, $finish),
            (Comparison::LessOrEqual, Type::U16) => compared!(|a, b| a <= b, u16, $finish),
            (Comparison::LessOrEqual, Type::S16) => compared!(|a, b| a <= b, i16, $finish),
            (Comparison::LessOrEqual, Type::U32) => compared!(|a, b| a <= b, u32, $finish),
            (Comparison::LessOrEqual, Type::S32) => compared!(|a, b| a <= b, i32, $finish),
            (Comparison::LessOrEqual, Type::U64) => compared!(|a, b| a <= b, u64, $finish),
            (Comparison::LessOrEqual, Type::S64) => compared!(|a, b| a <= b, i64, $finish),
            _ => return None,
        }
    };
}

macro_rules! compared {
    (|$a:ident, $b:ident| $holds:expr, $ty:ty, $finish:ident) => {
        alu_loop!(|frame, inst, mask, ballot| {
            let lanes = ballot(&holds(frame, inst, |$a: $ty, $b: $ty| $holds));
            $finish(frame, inst, lanes, mask)
        })
    };
}

fn setp(comparison: Comparison, ty: Type) -> Option<AluLoops> {
    Some(comparison!(comparison, ty, write_predicates))
}

fn set(comparison: Comparison, ty: Type) -> Option<AluLoops> {
    Some(comparison!(comparison, ty, write_row))
}

/// What becomes of a comparison's result: the low half of `extra`. Comparisons of other types end in the same way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Finish {
    /// The opposite was compared.
    pub negated: bool,
    /// How the third source takes part.
    pub combine: Combine,
    /// What `set` writes where the result is true.
    pub truth: Truth,
}

/// How a comparison's result and a predicate are combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // The names are PTX's.
pub enum Combine {
    Nothing,
    And,
    Or,
    Xor,
}

/// What `set` writes for true: all ones, or 1 as a float.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // The names say it.
pub enum Truth {
    Ones,
    F32,
    F16,
    Bf16,
    /// For destinations of 16 bits.
    Ones16,
}

impl Truth {
    const ALL: [Truth; 5] = [Truth::Ones, Truth::F32, Truth::F16, Truth::Bf16, Truth::Ones16];

    /// The one of a destination type.
    pub fn of(to: Type) -> Option<Truth> {
        Some(match to {
            Type::U32 | Type::S32 => Truth::Ones,
            Type::F32 => Truth::F32,
            Type::F16 => Truth::F16,
            Type::Bf16 => Truth::Bf16,
            Type::U16 | Type::S16 => Truth::Ones16,
            _ => return None,
        })
    }

    /// What is written.
    #[inline(always)]
    pub(super) fn word(self) -> u32 {
        match self {
            Truth::Ones => u32::MAX,
            Truth::F32 => 0x3f80_0000,
            Truth::F16 => 0x3c00,
            Truth::Bf16 => 0x3f80,
            Truth::Ones16 => 0xffff,
        }
    }
}

impl Finish {
    const COMBINE: [Combine; 4] = [Combine::Nothing, Combine::And, Combine::Or, Combine::Xor];

    /// As it is in `extra`: a bit for the opposite, two for the combination, then the value.
    pub fn packed(self) -> u32 {
        u32::from(self.negated) | (self.combine as u32) << 1 | (self.truth as u32) << 3
    }

    /// What `extra` says.
    #[inline(always)]
    pub(super) fn of(inst: &Inst) -> Finish {
        let extra = inst.extra & 0xffff;
        Finish {
            negated: extra & 1 == 1,
            combine: Finish::COMBINE[(extra >> 1 & 3) as usize],
            truth: *Truth::ALL.get((extra >> 3) as usize).unwrap_or(&Truth::Ones),
        }
    }

    /// The result and what `q` gets: the same with the comparison's opposite.
    #[inline(always)]
    pub(super) fn apply(self, frame: &Frame, inst: &Inst, lanes: u32) -> (u32, u32) {
        let p = if self.negated { !lanes } else { lanes };
        let combined = |lanes: u32, c: u32| match self.combine {
            Combine::Nothing => lanes,
            Combine::And => lanes & c,
            Combine::Or => lanes | c,
            Combine::Xor => lanes ^ c,
        };
        let c = if self.combine == Combine::Nothing { 0 } else { frame.predicate(inst.s[2]) };
        (combined(p, c), combined(!p, c))
    }
}

/// Ends a `setp`: the lanes in which the comparison held, finished as `extra` says. Where p and q are one predicate, p
/// remains in it, as in what the assembler makes of it.
#[inline(always)]
pub fn write_predicates(frame: &mut Frame, inst: &Inst, lanes: u32, mask: u32) {
    let (p, q) = Finish::of(inst).apply(frame, inst, lanes);
    super::set_second(frame, inst, q, mask);
    frame.set_predicate(inst.d[0], p, mask);
}

/// Ends a `set` into a row of 32-bit words, likewise.
#[inline(always)]
pub fn write_row(frame: &mut Frame, inst: &Inst, lanes: u32, mask: u32) {
    let finish = Finish::of(inst);
    let (result, truth) = (finish.apply(frame, inst, lanes).0, finish.truth.word());
    let mut d = [0u32; LANES];
    for (lane, word) in d.iter_mut().enumerate() {
        *word = if has_lane(result, lane) { truth } else { 0 };
    }
    frame.set_row(inst.d[0], d, mask);
}
