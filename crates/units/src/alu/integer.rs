//! Integer arithmetic (PTX ISA section 9.7.1, without the operations on bits, which are in `bits.rs`, and those on
//! packed values, in `packed.rs`).
//!
//! Division by zero is left open by the manual. The hardware gives all ones, as quotient and as remainder.

use super::AluLoops;
use super::lane::{each, integers, widths};
use softwarp_isa::Type;
use softwarp_isa::instruction::InstructionForm;
use softwarp_isa::instruction::{Modifier, Opcode};

/// The loop for a form.
pub fn select(form: &InstructionForm) -> Option<(AluLoops, u32)> {
    let ty = *form.types.first()?;
    let compiled = match (form.opcode, form.modifiers.as_slice(), ty) {
        (Opcode::Add, [], _) => widths!(ty, |a, b| a.wrapping_add(b)),
        (Opcode::Sub, [], _) => widths!(ty, |a, b| a.wrapping_sub(b)),
        (Opcode::Add, [Modifier::Sat], Type::S32) => each!(|a: i32, b: i32| a.saturating_add(b)),
        (Opcode::Add, [Modifier::Sat], Type::U32) => each!(|a: u32, b: u32| a.saturating_add(b)),
        (Opcode::Sub, [Modifier::Sat], Type::S32) => each!(|a: i32, b: i32| a.saturating_sub(b)),

        (Opcode::Mul, [Modifier::Lo], _) => widths!(ty, |a, b| a.wrapping_mul(b)),
        (Opcode::Mul, [Modifier::Hi], _) => integers!(ty, |a, b| a.multiply_high(b)),
        (Opcode::Mul, [Modifier::Wide], Type::U16) => each!(|a: u16, b: u16| u32::from(a) * u32::from(b)),
        (Opcode::Mul, [Modifier::Wide], Type::S16) => each!(|a: i16, b: i16| i32::from(a) * i32::from(b)),
        (Opcode::Mul, [Modifier::Wide], Type::U32) => each!(|a: u32, b: u32| u64::from(a) * u64::from(b)),
        (Opcode::Mul, [Modifier::Wide], Type::S32) => each!(|a: i32, b: i32| i64::from(a) * i64::from(b)),
        (Opcode::Mad, [Modifier::Lo], _) => widths!(ty, |a, b, c| a.wrapping_mul(b).wrapping_add(c)),
        (Opcode::Mad, [Modifier::Hi], _) => integers!(ty, |a, b, c| a.multiply_high(b).wrapping_add(c)),
        (Opcode::Mad, [Modifier::Hi, Modifier::Sat], Type::S32) => {
            each!(|a: i32, b: i32, c: i32| a.multiply_high(b).saturating_add(c))
        }
        (Opcode::Mad, [Modifier::Wide], _) => match ty {
            Type::U16 => each!(|a: u16, b: u16, c: u32| (u32::from(a) * u32::from(b)).wrapping_add(c)),
            Type::S16 => each!(|a: i16, b: i16, c: i32| (i32::from(a) * i32::from(b)).wrapping_add(c)),
            Type::U32 => each!(|a: u32, b: u32, c: u64| (u64::from(a) * u64::from(b)).wrapping_add(c)),
            Type::S32 => each!(|a: i32, b: i32, c: i64| (i64::from(a) * i64::from(b)).wrapping_add(c)),
            _ => return None,
        },

        (Opcode::Mul24, [Modifier::Lo], Type::U32) => each!(|a: u32, b: u32| product24(a, b) as u32),
        (Opcode::Mul24, [Modifier::Lo], Type::S32) => each!(|a: i32, b: i32| signed_product24(a, b) as i32),
        (Opcode::Mul24, [Modifier::Hi], Type::U32) => each!(|a: u32, b: u32| (product24(a, b) >> 16) as u32),
        (Opcode::Mul24, [Modifier::Hi], Type::S32) => {
            each!(|a: i32, b: i32| (signed_product24(a, b) >> 16) as i32)
        }
        (Opcode::Mad24, [Modifier::Lo], Type::U32) => {
            each!(|a: u32, b: u32, c: u32| (product24(a, b) as u32).wrapping_add(c))
        }
        (Opcode::Mad24, [Modifier::Lo], Type::S32) => {
            each!(|a: i32, b: i32, c: i32| (signed_product24(a, b) as i32).wrapping_add(c))
        }
        (Opcode::Mad24, [Modifier::Hi], Type::U32) => {
            each!(|a: u32, b: u32, c: u32| ((product24(a, b) >> 16) as u32).wrapping_add(c))
        }
        (Opcode::Mad24, [Modifier::Hi], Type::S32) => {
            each!(|a: i32, b: i32, c: i32| ((signed_product24(a, b) >> 16) as i32).wrapping_add(c))
        }
        (Opcode::Mad24, [Modifier::Hi, Modifier::Sat], Type::S32) => {
            each!(|a: i32, b: i32, c: i32| ((signed_product24(a, b) >> 16) as i32).saturating_add(c))
        }

        (Opcode::Sad, [], _) => integers!(ty, |a, b, c| {
            c.wrapping_add(if a < b { b.wrapping_sub(a) } else { a.wrapping_sub(b) })
        }),
        (Opcode::Div, [], _) => integers!(ty, |a, b| a.quotient(b)),
        (Opcode::Rem, [], _) => integers!(ty, |a, b| a.remainder(b)),
        (Opcode::Abs, [], _) => match ty {
            Type::S16 => each!(|a: i16| a.wrapping_abs()),
            Type::S32 => each!(|a: i32| a.wrapping_abs()),
            Type::S64 => each!(|a: i64| a.wrapping_abs()),
            _ => return None,
        },
        (Opcode::Neg, [], _) => widths!(ty, |a| a.wrapping_neg()),
        (Opcode::Min, [], _) => integers!(ty, |a, b| a.min(b)),
        (Opcode::Max, [], _) => integers!(ty, |a, b| a.max(b)),
        (Opcode::Min, [Modifier::Relu], Type::S32) => each!(|a: i32, b: i32| a.min(b).max(0)),
        (Opcode::Max, [Modifier::Relu], Type::S32) => each!(|a: i32, b: i32| a.max(b).max(0)),
        _ => return None,
    };
    Some((compiled, 0))
}

/// The product of the low 24 bits of each.
#[inline(always)]
fn product24(a: u32, b: u32) -> u64 {
    u64::from(a & 0xff_ffff) * u64::from(b & 0xff_ffff)
}

/// The product of the low 24 bits of each, as signed numbers.
#[inline(always)]
fn signed_product24(a: i32, b: i32) -> i64 {
    i64::from(a << 8 >> 8) * i64::from(b << 8 >> 8)
}

/// The upper half of a product.
pub(super) trait MultiplyHigh {
    /// As many bits as a factor has.
    fn multiply_high(self, other: Self) -> Self;
}

/// Quotients toward zero, and the remainders that go with them, for all divisors.
trait Divide {
    /// All ones if the divisor is zero.
    fn quotient(self, divisor: Self) -> Self;
    /// All ones if the divisor is zero.
    fn remainder(self, divisor: Self) -> Self;
}

macro_rules! arithmetic {
    ($($ty:ident in $wide:ident),*) => {$(
        impl MultiplyHigh for $ty {
            #[inline(always)]
            fn multiply_high(self, other: $ty) -> $ty {
                (($wide::from(self) * $wide::from(other)) >> $ty::BITS) as $ty
            }
        }

        impl Divide for $ty {
            #[inline(always)]
            fn quotient(self, divisor: $ty) -> $ty {
                if divisor == 0 { !0 } else { self.wrapping_div(divisor) }
            }
            #[inline(always)]
            fn remainder(self, divisor: $ty) -> $ty {
                if divisor == 0 { !0 } else { self.wrapping_rem(divisor) }
            }
        }
    )*};
}

arithmetic!(u16 in u32, i16 in i32, u32 in u64, i32 in i64, u64 in u128, i64 in i128);
