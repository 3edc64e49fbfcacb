//! Comparisons of floating-point numbers (PTX ISA sections 9.3.1.2, 9.7.6 and 9.7.7: `setp`, `set`).
//!
//! Two numbers are related in one of four ways: less, equal, greater, unordered. An operator is the set of those in
//! which it holds, so one loop does for all. The common ones in f32 and f64 have loops of their own.

use super::comparison::{Combine, Finish, Truth, write_predicates, write_row};
use super::half::flushed;
use super::single::flush;
use super::{AluLoops, alu_loop, holds};
use crate::alu::Inst;
use crate::lanes::{Frame, LANES};
use softwarp_isa::Type;
use softwarp_isa::instruction::InstructionForm;
use softwarp_isa::instruction::{Modifier, Opcode};
use softwarp_num::half::{Bfloat16, Binary16, Half};

const LESS: u32 = 1;
const EQUAL: u32 = 2;
const GREATER: u32 = 4;
const UNORDERED: u32 = 8;

/// The relations in which an operator holds.
fn relations(operator: Modifier) -> Option<u32> {
    Some(match operator {
        Modifier::Eq => EQUAL,
        Modifier::Ne => LESS | GREATER,
        Modifier::Lt => LESS,
        Modifier::Le => LESS | EQUAL,
        Modifier::Gt => GREATER,
        Modifier::Ge => GREATER | EQUAL,
        Modifier::Equ => EQUAL | UNORDERED,
        Modifier::Neu => LESS | GREATER | UNORDERED,
        Modifier::Ltu => LESS | UNORDERED,
        Modifier::Leu => LESS | EQUAL | UNORDERED,
        Modifier::Gtu => GREATER | UNORDERED,
        Modifier::Geu => GREATER | EQUAL | UNORDERED,
        Modifier::Num => LESS | EQUAL | GREATER,
        Modifier::Nan => UNORDERED,
        _ => return None,
    })
}

/// The loop of `setp` for one operator, or for any.
macro_rules! common {
    ($ty:ty, $relations:expr) => {
        match $relations {
            relation if relation == EQUAL => common!(= $ty, |a, b| a == b),
            relation if relation == LESS | GREATER | UNORDERED => common!(= $ty, |a, b| a != b),
            relation if relation == LESS => common!(= $ty, |a, b| a < b),
            relation if relation == LESS | EQUAL => common!(= $ty, |a, b| a <= b),
            relation if relation == GREATER => common!(= $ty, |a, b| a > b),
            relation if relation == GREATER | EQUAL => common!(= $ty, |a, b| a >= b),
            _ => alu_loop!(|frame, inst, mask, ballot| {
                let asked = Asked::of(inst);
                let lanes = ballot(&holds(frame, inst, |a: $ty, b: $ty| asked.holds(a.partial_cmp(&b))));
                write_predicates(frame, &asked.finish(inst), lanes, mask)
            }),
        }
    };
    (= $ty:ty, |$a:ident, $b:ident| $holds:expr) => {
        alu_loop!(|frame, inst, mask, ballot| {
            let lanes = ballot(&holds(frame, inst, |$a: $ty, $b: $ty| $holds));
            write_predicates(frame, &Asked::of(inst).finish(inst), lanes, mask)
        })
    };
}

/// The loop for a form. `extra` is a [`Finish`] and, from bit 8, the relations and a bit for `.ftz`.
pub fn select(form: &InstructionForm) -> Option<(AluLoops, u32)> {
    let relations = relations(*form.modifiers.first()?)?;
    let combine = match form.modifiers.get(1) {
        Some(&Modifier::And) => Combine::And,
        Some(&Modifier::Or) => Combine::Or,
        Some(&Modifier::Xor) => Combine::Xor,
        _ => Combine::Nothing,
    };
    let ftz = form.has(Modifier::Ftz);
    let (compiled, truth) = match (form.opcode, form.types.as_slice()) {
        (Opcode::Setp, &[Type::F32]) if !ftz => (common!(f32, relations), Truth::Ones),
        (Opcode::Setp, &[Type::F64]) => (common!(f64, relations), Truth::Ones),
        (Opcode::Setp, &[ty]) => (any_setp(ty)?, Truth::Ones),
        (Opcode::Set, &[to, ty @ (Type::F16x2 | Type::Bf16x2)]) => (any_set(ty)?, pair_truth(to)?),
        (Opcode::Set, &[to, ty]) => (any_set(ty)?, Truth::of(to)?),
        _ => return None,
    };
    let finish = Finish { negated: false, combine, truth };
    Some((compiled, finish.packed() | relations << 8 | u32::from(ftz) << 12))
}

/// What `set` writes into each half for two comparisons.
fn pair_truth(to: Type) -> Option<Truth> {
    Some(match to {
        Type::U32 | Type::S32 => Truth::Ones16,
        Type::F16x2 => Truth::F16,
        Type::Bf16x2 => Truth::Bf16,
        _ => return None,
    })
}

/// What `extra` says about the comparison itself.
#[derive(Clone, Copy, Debug)]
struct Asked {
    relations: u32,
    ftz: bool,
}

impl Asked {
    #[inline(always)]
    fn of(inst: &Inst) -> Asked {
        Asked { relations: inst.extra >> 8 & 15, ftz: inst.extra >> 12 & 1 == 1 }
    }

    /// The instruction as those who finish a comparison want it.
    #[inline(always)]
    fn finish(self, inst: &Inst) -> Inst {
        Inst { extra: inst.extra & 0xff, ..*inst }
    }

    /// Whether two numbers so related are among those asked for.
    #[inline(always)]
    fn holds(self, order: Option<std::cmp::Ordering>) -> bool {
        use std::cmp::Ordering::{Equal, Greater, Less};
        let relation = match order {
            Some(Less) => LESS,
            Some(Equal) => EQUAL,
            Some(Greater) => GREATER,
            None => UNORDERED,
        };
        self.relations & relation != 0
    }

    #[inline(always)]
    fn holds_f32(self, a: u32, b: u32) -> bool {
        let value = |x: u32| if self.ftz { flush(f32::from_bits(x)) } else { f32::from_bits(x) };
        self.holds(value(a).partial_cmp(&value(b)))
    }

    #[inline(always)]
    fn holds_half<H: Half>(self, a: u16, b: u16) -> bool {
        let value = |x: u16| H::widen(flushed::<H>(x, self.ftz));
        self.holds(value(a).partial_cmp(&value(b)))
    }
}

/// The loop of a comparison by any operator that some function finishes.
macro_rules! any {
    ($ty:expr, $finish:ident, $pair:ident) => {
        match $ty {
            Type::F32 => any!(|asked, a: u32, b: u32| asked.holds_f32(a, b), $finish),
            Type::F64 => any!(|asked, a: f64, b: f64| asked.holds(a.partial_cmp(&b)), $finish),
            Type::F16 => any!(|asked, a: u16, b: u16| asked.holds_half::<Binary16>(a, b), $finish),
            Type::Bf16 => any!(|asked, a: u16, b: u16| asked.holds_half::<Bfloat16>(a, b), $finish),
            Type::F16x2 => any!(pair Binary16, $pair),
            Type::Bf16x2 => any!(pair Bfloat16, $pair),
            _ => return None,
        }
    };
    (|$asked:ident, $a:ident: $A:ty, $b:ident: $B:ty| $holds:expr, $finish:ident) => {
        alu_loop!(|frame, inst, mask, ballot| {
            let $asked = Asked::of(inst);
            let lanes = ballot(&holds(frame, inst, |$a: $A, $b: $B| $holds));
            $finish(frame, &$asked.finish(inst), lanes, mask)
        })
    };
    (pair $half:ident, $finish:ident) => {
        alu_loop!(|frame, inst, mask, ballot| {
            let asked = Asked::of(inst);
            let high = |x: u32| (x >> 16) as u16;
            let lanes = [
                ballot(&holds(frame, inst, |a: u32, b: u32| asked.holds_half::<$half>(a as u16, b as u16))),
                ballot(&holds(frame, inst, |a: u32, b: u32| asked.holds_half::<$half>(high(a), high(b)))),
            ];
            $finish(frame, &asked.finish(inst), lanes, mask)
        })
    };
}

fn any_setp(ty: Type) -> Option<AluLoops> {
    Some(any!(ty, write_predicates, write_pair_of_predicates))
}

fn any_set(ty: Type) -> Option<AluLoops> {
    Some(any!(ty, write_row, write_pairs))
}

/// Ends a `setp` of pairs: p is about the low halves, q about the high ones.
#[inline(always)]
fn write_pair_of_predicates(frame: &mut Frame, inst: &Inst, [low, high]: [u32; 2], mask: u32) {
    let finish = Finish::of(inst);
    let (p, q) = (finish.apply(frame, inst, low).0, finish.apply(frame, inst, high).0);
    super::set_second(frame, inst, q, mask);
    frame.set_predicate(inst.d[0], p, mask);
}

/// Ends a `set` of pairs: a result in each half.
#[inline(always)]
fn write_pairs(frame: &mut Frame, inst: &Inst, [low, high]: [u32; 2], mask: u32) {
    let finish = Finish::of(inst);
    let (low, high) = (finish.apply(frame, inst, low).0, finish.apply(frame, inst, high).0);
    let truth = finish.truth.word();
    let mut d = [0u32; LANES];
    for (lane, d) in d.iter_mut().enumerate() {
        let half = |lanes: u32| if lanes >> lane & 1 == 1 { truth } else { 0 };
        *d = half(low) | half(high) << 16;
    }
    frame.set_row(inst.d[0], d, mask);
}
