//! Arithmetic on packed integers, two of 16 bits or four of 8 in a word (PTX ISA sections 9.7.1 and 9.7.6).

use super::lane::each;
use super::{AluLoops, alu_loop, binary};
use softwarp_isa::Type;
use softwarp_isa::instruction::InstructionForm;
use softwarp_isa::instruction::{Modifier, Opcode};

/// The loop for a form. `extra` of `set` is 1 where the opposite of what it asks for is compared.
pub fn select(form: &InstructionForm) -> Option<(AluLoops, u32)> {
    let ty = *form.types.first()?;
    let compiled = match (form.opcode, form.modifiers.as_slice(), ty) {
        (Opcode::Add, [], _) => match ty {
            Type::U16x2 | Type::S16x2 => each!(|a: u32, b: u32| pairs(a, b, u16::wrapping_add)),
            Type::U8x4 | Type::S8x4 => each!(|a: u32, b: u32| quads(a, b, u8::wrapping_add)),
            _ => return None,
        },
        (Opcode::Sub, [], _) => match ty {
            Type::U8x4 | Type::S8x4 => each!(|a: u32, b: u32| quads(a, b, u8::wrapping_sub)),
            _ => return None,
        },
        (Opcode::Add, [Modifier::Sat], _) => elements!(ty, |a, b| a.saturating_add(b)),
        (Opcode::Sub, [Modifier::Sat], _) => elements!(ty, |a, b| a.saturating_sub(b)),
        (Opcode::Min, [], _) => elements!(ty, |a, b| a.min(b)),
        (Opcode::Max, [], _) => elements!(ty, |a, b| a.max(b)),
        (Opcode::Min, [Modifier::Relu], Type::S16x2) => {
            each!(|a: u32, b: u32| pairs(a, b, |a: i16, b: i16| a.min(b).max(0)))
        }
        (Opcode::Max, [Modifier::Relu], Type::S16x2) => {
            each!(|a: u32, b: u32| pairs(a, b, |a: i16, b: i16| a.max(b).max(0)))
        }
        (Opcode::Min, [Modifier::Relu], Type::S8x4) => {
            each!(|a: u32, b: u32| quads(a, b, |a: i8, b: i8| a.min(b).max(0)))
        }
        (Opcode::Max, [Modifier::Relu], Type::S8x4) => {
            each!(|a: u32, b: u32| quads(a, b, |a: i8, b: i8| a.max(b).max(0)))
        }
        (Opcode::Neg, [], Type::S8x4) => each!(|a: u32| quads(0, a, u8::wrapping_sub)),
        (Opcode::Set, [operator], _) if form.types.len() == 1 => return set(*operator, ty),
        _ => return None,
    };
    Some((compiled, 0))
}

/// True is all ones of an element.
fn set(operator: Modifier, ty: Type) -> Option<(AluLoops, u32)> {
    let (compiled, negated) = match operator {
        Modifier::Eq | Modifier::Ne => {
            (elements!(ty, |a, b| ones(a, a == b), inverted), operator == Modifier::Ne)
        }
        Modifier::Lt | Modifier::Lo | Modifier::Ge | Modifier::Hs => {
            (elements!(ty, |a, b| ones(a, a < b), inverted), matches!(operator, Modifier::Ge | Modifier::Hs))
        }
        Modifier::Le | Modifier::Ls | Modifier::Gt | Modifier::Hi => {
            (elements!(ty, |a, b| ones(a, a <= b), inverted), matches!(operator, Modifier::Gt | Modifier::Hi))
        }
        _ => return None,
    };
    Some((compiled, negated.into()))
}

/// The loop of a function of two elements, by type; `inverted` if `extra` is 1.
macro_rules! elements {
    ($ty:expr, |$a:ident, $b:ident| $d:expr) => {
        match $ty {
            Type::U16x2 => each!(|a: u32, b: u32| pairs(a, b, |$a: u16, $b: u16| $d)),
            Type::S16x2 => each!(|a: u32, b: u32| pairs(a, b, |$a: i16, $b: i16| $d)),
            Type::U8x4 => each!(|a: u32, b: u32| quads(a, b, |$a: u8, $b: u8| $d)),
            Type::S8x4 => each!(|a: u32, b: u32| quads(a, b, |$a: i8, $b: i8| $d)),
            _ => return None,
        }
    };
    ($ty:expr, |$a:ident, $b:ident| $d:expr, inverted) => {
        match $ty {
            Type::U16x2 => elements!(pairs, |$a: u16, $b: u16| $d),
            Type::S16x2 => elements!(pairs, |$a: i16, $b: i16| $d),
            Type::U8x4 => elements!(quads, |$a: u8, $b: u8| $d),
            Type::S8x4 => elements!(quads, |$a: i8, $b: i8| $d),
            _ => return None,
        }
    };
    ($all:ident, |$a:ident: $A:ty, $b:ident: $B:ty| $d:expr) => {
        alu_loop!(|frame, inst, mask| {
            let flip = (inst.extra & 1).wrapping_neg();
            binary(frame, inst, mask, |a: u32, b: u32| $all(a, b, |$a: $A, $b: $B| $d) ^ flip)
        })
    };
}
use elements;

/// An element, as bits and as a number.
trait Element: Copy {
    fn of(bits: u32) -> Self;
    fn bits(self) -> u32;
    fn from_truth(truth: bool) -> Self;
}

macro_rules! element {
    ($($ty:ident through $unsigned:ident),*) => {$(
        impl Element for $ty {
            #[inline(always)]
            fn of(bits: u32) -> $ty {
                bits as $ty
            }
            #[inline(always)]
            fn bits(self) -> u32 {
                self as $unsigned as u32
            }
            #[inline(always)]
            fn from_truth(truth: bool) -> $ty {
                if truth { !0 } else { 0 }
            }
        }
    )*};
}
element!(u8 through u8, i8 through u8, u16 through u16, i16 through u16);

/// All ones or zero, of the type of some element.
#[inline(always)]
fn ones<E: Element>(_: E, truth: bool) -> E {
    E::from_truth(truth)
}

#[inline(always)]
fn pairs<E: Element, D: Element>(a: u32, b: u32, f: impl Fn(E, E) -> D) -> u32 {
    f(E::of(a), E::of(b)).bits() | f(E::of(a >> 16), E::of(b >> 16)).bits() << 16
}

#[inline(always)]
fn quads<E: Element, D: Element>(a: u32, b: u32, f: impl Fn(E, E) -> D) -> u32 {
    (0..4).fold(0, |d, n| d | f(E::of(a >> (8 * n)), E::of(b >> (8 * n))).bits() << (8 * n))
}
