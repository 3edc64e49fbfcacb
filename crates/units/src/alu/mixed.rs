//! Pairs of f32 beside pairs of a half precision (PTX ISA sections 9.7.5.1 to 9.7.5.4, sm_107): from the manual only,
//! no GPU here runs them.
//!
//! A half that is widened is widened exactly. Results that become halves are rounded toward zero, which is the same
//! in one step as in two.

use super::AluLoops;
use super::half::flushed;
use super::mode::{Mode, moded};
use super::single::{self, input, output};
use softwarp_isa::Type;
use softwarp_isa::instruction::InstructionForm;
use softwarp_isa::instruction::Opcode;
use softwarp_num::Rounding;
use softwarp_num::half::{Bfloat16, Binary16, Half};

/// The loops with one of the half precisions.
macro_rules! with {
    ($half:ident, $opcode:expr, $widens:expr) => {
        match ($opcode, $widens) {
            (Opcode::Add, true) => moded!(|mode, a: u32, c: u64| {
                wide(|n| output(single::add(half::<$half>(a, n), float(c, n), mode.rounding), mode))
            }),
            (Opcode::Sub, true) => moded!(|mode, a: u32, c: u64| {
                wide(|n| output(single::add(half::<$half>(a, n), -float(c, n), mode.rounding), mode))
            }),
            (Opcode::Fma, true) => moded!(|mode, a: u32, b: u64, c: u64| {
                wide(|n| {
                    output(single::fma(half::<$half>(a, n), float(b, n), float(c, n), mode.rounding), mode)
                })
            }),
            (Opcode::Add, false) => moded!(|mode, a: u64, c: u64| {
                narrow::<$half>(a, c, mode, |a, c| single::add(a, c, Rounding::TowardZero))
            }),
            (Opcode::Sub, false) => moded!(|mode, a: u64, c: u64| {
                narrow::<$half>(a, c, mode, |a, c| single::add(a, -c, Rounding::TowardZero))
            }),
            (Opcode::Mul, false) => moded!(|mode, a: u64, c: u64| {
                narrow::<$half>(a, c, mode, |a, c| single::mul(a, c, Rounding::TowardZero))
            }),
            _ => return None,
        }
    };
}

/// The loop for a form.
pub fn select(form: &InstructionForm) -> Option<(AluLoops, u32)> {
    use Type::{Bf16x2, F16x2, F32x2};
    let (half, widens) = match *form.types.as_slice() {
        [F32x2, half @ (F16x2 | Bf16x2), F32x2] | [F32x2, half @ (F16x2 | Bf16x2), F32x2, F32x2] => {
            (half, true)
        }
        [half @ (F16x2 | Bf16x2), F32x2, F32x2] => (half, false),
        _ => return None,
    };
    let compiled = match half {
        F16x2 => with!(Binary16, form.opcode, widens),
        _ => with!(Bfloat16, form.opcode, widens),
    };
    Some((compiled, Mode::of_words(form).packed()))
}

/// One of the two halves in a word, as f32.
#[inline(always)]
fn half<H: Half>(word: u32, n: u32) -> f32 {
    H::widen((word >> (16 * n)) as u16)
}

/// One of the two f32 in a word.
#[inline(always)]
fn float(word: u64, n: u32) -> f32 {
    f32::from_bits((word >> (32 * n)) as u32)
}

#[inline(always)]
fn wide(f: impl Fn(u32) -> u32) -> u64 {
    u64::from(f(0)) | u64::from(f(1)) << 32
}

#[inline(always)]
fn narrow<H: Half>(a: u64, c: u64, mode: Mode, f: impl Fn(f32, f32) -> f32) -> u32 {
    let one = |n: u32| {
        let result = f(input(float(a, n), mode), input(float(c, n), mode));
        u32::from(flushed::<H>(H::truncate(result), mode.ftz))
    };
    one(0) | one(1) << 16
}
