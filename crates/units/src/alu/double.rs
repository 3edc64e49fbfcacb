//! Floating-point arithmetic in f64 (PTX ISA section 9.7.3). The approximate functions are in `approx/`.
//!
//! Rounding to nearest is the CPU's; the other roundings are done in integers, by `wide_round.rs`. Unlike those of
//! f32, NaNs keep their payload.

use super::float::Property;
use super::lane::{Lane, each};
use super::mode::{Mode, moded};
use super::wide_round as exact;
use super::{AluLoops, alu_loop};
use crate::lanes::LANES;
use softwarp_isa::Type;
use softwarp_isa::instruction::InstructionForm;
use softwarp_isa::instruction::{Modifier, Opcode};
use softwarp_num::Rounding;

/// The NaN that operations make of numbers.
const NAN: u64 = 0xfff8_0000_0000_0000;

/// The bit that makes a NaN quiet.
const QUIET: u64 = 1 << 51;

impl Lane for f64 {
    type Word = u64;
    #[inline(always)]
    fn of(word: u64) -> f64 {
        f64::from_bits(word)
    }
    #[inline(always)]
    fn word(self) -> u64 {
        self.to_bits()
    }
}

/// The loop for a form.
pub fn select(form: &InstructionForm) -> Option<(AluLoops, u32)> {
    if form.types != [Type::F64] || form.has(Modifier::Approx) {
        return None;
    }
    let mode = Mode::of_words(form);
    let nearest = mode == Mode::PLAIN;
    let compiled = match (form.opcode, nearest) {
        (Opcode::Add, true) => each!(|a: f64, b: f64| bits(a + b, [b, a])),
        (Opcode::Sub, true) => each!(|a: f64, b: f64| bits(a - b, [b, a])),
        (Opcode::Mul, true) => each!(|a: f64, b: f64| bits(a * b, [b, a])),
        (Opcode::Fma | Opcode::Mad, true) => each!(|a: f64, b: f64, c: f64| bits(a.mul_add(b, c), [b, c, a])),
        (Opcode::Div, true) => each!(|a: f64, b: f64| bits(a / b, [a, b])),
        (Opcode::Rcp, true) => each!(|a: f64| bits(1.0 / a, [a])),
        (Opcode::Sqrt, true) => each!(|a: f64| bits(a.sqrt(), [a])),
        (Opcode::Add, false) => {
            moded!(|mode, a: f64, b: f64| bits(exact::fma(a, 1.0, b, mode.rounding), [b, a]))
        }
        (Opcode::Sub, false) => {
            moded!(|mode, a: f64, b: f64| bits(exact::fma(a, 1.0, -b, mode.rounding), [b, a]))
        }
        (Opcode::Mul, false) => moded!(|mode, a: f64, b: f64| bits(exact::mul(a, b, mode.rounding), [b, a])),
        (Opcode::Fma | Opcode::Mad, false) => {
            moded!(|mode, a: f64, b: f64, c: f64| bits(exact::fma(a, b, c, mode.rounding), [b, c, a]))
        }
        (Opcode::Div, false) => moded!(|mode, a: f64, b: f64| bits(exact::div(a, b, mode.rounding), [a, b])),
        (Opcode::Rcp, false) => moded!(|mode, a: f64| bits(exact::div(1.0, a, mode.rounding), [a])),
        (Opcode::Sqrt, false) => moded!(|mode, a: f64| bits(exact::sqrt(a, mode.rounding), [a])),
        (Opcode::Abs, _) => each!(|a: f64| bits(a.abs(), [a])),
        (Opcode::Neg, _) => each!(|a: f64| bits(-a, [a])),
        (Opcode::Min, _) => each!(|a: f64, b: f64| choose(a, b, false)),
        (Opcode::Max, _) => each!(|a: f64, b: f64| choose(a, b, true)),
        (Opcode::Copysign, _) => each!(|a: u64, b: u64| a & 1 << 63 | b & u64::MAX >> 1),
        (Opcode::Testp, _) => alu_loop!(|frame, inst, mask, ballot| {
            let a = frame.row::<u64>(inst.s[0]);
            let property = Property::of(inst);
            let mut holds = [0; LANES];
            for lane in 0..LANES {
                holds[lane] = -i32::from(property.holds(f64::from_bits(a[lane]).classify()));
            }
            frame.set_predicate(inst.d[0], ballot(&holds), mask)
        }),
        _ => return None,
    };
    let extra = if form.opcode == Opcode::Testp { Property::of_words(form) as u32 } else { mode.packed() };
    Some((compiled, extra))
}

/// The bits of a result. If it is NaN, it is the first NaN among the inputs, made quiet: the hardware looks at them
/// in an order of its own.
#[inline(always)]
fn bits<const N: usize>(x: f64, inputs: [f64; N]) -> u64 {
    let nan = inputs
        .iter()
        .rev()
        .fold(NAN, |nan, input| if input.is_nan() { input.to_bits() | QUIET } else { nan });
    if x.is_nan() { nan } else { x.to_bits() }
}

/// `fma` of bits.
pub fn fused(a: u64, b: u64, c: u64, rounding: Rounding) -> u64 {
    let [a, b, c] = [a, b, c].map(f64::from_bits);
    let sum = match rounding {
        Rounding::NearestEven => a.mul_add(b, c),
        rounding => exact::fma(a, b, c, rounding),
    };
    bits(sum, [b, c, a])
}

/// The lesser or the larger of two, −0 before +0: the bits of the one chosen. A number wins over NaN.
#[inline(always)]
fn choose(a: f64, b: f64, max: bool) -> u64 {
    let key = |x: f64| x.to_bits() as i64 ^ ((x.to_bits() as i64 >> 63) as u64 >> 1) as i64;
    let first = if max { key(a) > key(b) } else { key(a) < key(b) };
    match (a.is_nan(), b.is_nan()) {
        (true, true) => b.to_bits() | QUIET,
        (true, false) => b.to_bits(),
        (false, true) => a.to_bits(),
        (false, false) if first => a.to_bits(),
        (false, false) => b.to_bits(),
    }
}
