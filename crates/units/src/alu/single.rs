//! Arithmetic on one f32: roundings, flushing, and the order of numbers, as the instructions of PTX ISA section
//! 9.7.3 have them. `float.rs` makes loops of these functions.
//!
//! The CPU rounds to nearest. For the other roundings the exact result is first rounded to odd in f64, so that a later
//! rounding gives the result of a single one. It is then rounded to nearest in f32, and moved by one place if that
//! went the wrong way.

use super::lane::Lane;
use super::mode::Mode;
use softwarp_num::Rounding;

/// The NaN that arithmetic makes.
pub const NAN: u32 = 0x7fff_ffff;

const SIGN: u32 = 1 << 31;
const INFINITY: u32 = 0x7f80_0000;

impl Lane for f32 {
    type Word = u32;
    #[inline(always)]
    fn of(word: u32) -> f32 {
        f32::from_bits(word)
    }
    #[inline(always)]
    fn word(self) -> u32 {
        self.to_bits()
    }
}

/// The bits of a result: every NaN is the same one.
#[inline(always)]
pub fn bits(x: f32) -> u32 {
    if x.is_nan() { NAN } else { x.to_bits() }
}

/// A subnormal number becomes zero of the same sign.
#[inline(always)]
pub fn flush(x: f32) -> f32 {
    f32::from_bits(flush_bits(x.to_bits()))
}

/// [`flush`] on the bits of a number.
#[inline(always)]
pub fn flush_bits(x: u32) -> u32 {
    if x & INFINITY == 0 { x & SIGN } else { x }
}

/// An input under a mode.
#[inline(always)]
pub fn input(x: f32, mode: Mode) -> f32 {
    if mode.ftz { flush(x) } else { x }
}

/// The bits of a result under a mode.
#[inline(always)]
pub fn output(x: f32, mode: Mode) -> u32 {
    let x = input(x, mode);
    if mode.sat { saturate(x) } else { bits(x) }
}

/// The bits of a result that may be a subnormal number rounded up to the least normal one: `.ftz` makes those zero,
/// too. `scaled` is the result as it would be 2^64 times larger, where nothing is subnormal.
#[inline(always)]
pub fn output_of_product(x: f32, scaled: impl Fn() -> f32, mode: Mode) -> u32 {
    let doubtful = mode.ftz && x.abs() == f32::MIN_POSITIVE;
    let x = if doubtful && scaled().abs() < f32::MIN_POSITIVE * UP { 0f32.copysign(x) } else { x };
    output(x, mode)
}

/// What doubtful results are scaled by.
pub const UP: f32 = f32::from_bits((127 + 64) << 23);

/// Clamps to 0 through 1, and NaN to 0.
#[inline(always)]
pub fn saturate(x: f32) -> u32 {
    let positive = if x > 0.0 { x } else { 0.0 };
    (if positive < 1.0 { positive } else { 1.0 }).to_bits()
}

/// `a + b`, rounded.
#[inline(always)]
pub fn add(a: f32, b: f32, rounding: Rounding) -> f32 {
    match rounding {
        Rounding::NearestEven => a + b,
        _ => sum(a.into(), b.into(), rounding),
    }
}

/// `a * b`, rounded.
#[inline(always)]
pub fn mul(a: f32, b: f32, rounding: Rounding) -> f32 {
    match rounding {
        Rounding::NearestEven => a * b,
        _ => narrow(f64::from(a) * f64::from(b), rounding),
    }
}

/// `a * b + c`, rounded once.
#[inline(always)]
pub fn fma(a: f32, b: f32, c: f32, rounding: Rounding) -> f32 {
    match rounding {
        Rounding::NearestEven => a.mul_add(b, c),
        _ => sum(f64::from(a) * f64::from(b), c.into(), rounding),
    }
}

/// `a / b`, rounded.
#[inline(always)]
pub fn div(a: f32, b: f32, rounding: Rounding) -> f32 {
    let nearest = a / b;
    // The product of two f32 is exact in f64, and so is the sign of a difference.
    let rest = f64::from(a) - f64::from(nearest) * f64::from(b);
    redirect(nearest, if b.is_sign_negative() { -rest } else { rest }, rounding)
}

/// The square root, rounded.
#[inline(always)]
pub fn sqrt(a: f32, rounding: Rounding) -> f32 {
    let nearest = a.sqrt();
    redirect(nearest, f64::from(a) - f64::from(nearest) * f64::from(nearest), rounding)
}

/// The sum of two numbers that are products of f32 at most, rounded once to f32.
#[inline(always)]
fn sum(a: f64, b: f64, rounding: Rounding) -> f32 {
    let exact = narrow(sum_to_odd(a, b), rounding);
    // What cancels is +0, except downward.
    let negative = a.is_sign_negative() || b.is_sign_negative();
    if rounding == Rounding::Down && exact == 0.0 && a + b == 0.0 && negative { -0.0 } else { exact }
}

/// The sum of two numbers of moderate size, rounded to odd: an inexact one gets the neighbour whose last bit is set.
#[inline(always)]
fn sum_to_odd(a: f64, b: f64) -> f64 {
    let sum = a + b;
    let of_b = sum - a;
    let error = (a - (sum - of_b)) + (b - of_b);
    let away = (error > 0.0) == (sum > 0.0);
    let even = sum.to_bits() & 1 == 0;
    let inexact = error.abs() > 0.0;
    let step = if inexact && even { if away { 1 } else { u64::MAX } } else { 0 };
    f64::from_bits(sum.to_bits().wrapping_add(step))
}

/// A number that is exact or rounded to odd, rounded to f32.
#[inline(always)]
pub fn narrow(x: f64, rounding: Rounding) -> f32 {
    let nearest = x as f32;
    redirect(nearest, x - f64::from(nearest), rounding)
}

/// `a * b + c` rounded to odd, for a later rounding to a shorter format.
#[inline(always)]
pub fn fma_to_odd(a: f32, b: f32, c: f32) -> f32 {
    let exact = sum_to_odd(f64::from(a) * f64::from(b), c.into());
    let nearest = exact as f32;
    let rest = exact - f64::from(nearest);
    let inexact = rest.abs() > 0.0;
    let step = if inexact && nearest.to_bits() & 1 == 0 {
        if (rest > 0.0) == (nearest > 0.0 || nearest.to_bits() == 0) { 1 } else { u32::MAX }
    } else {
        0
    };
    f32::from_bits(nearest.to_bits().wrapping_add(step))
}

/// The result that a rounding wants, from the nearest one and the sign of what it lacks. (NaN lacks nothing.)
#[inline(always)]
pub fn redirect(nearest: f32, lacks: f64, rounding: Rounding) -> f32 {
    let (up, down) = match rounding {
        Rounding::Up => (lacks > 0.0, false),
        Rounding::Down => (false, lacks < 0.0),
        Rounding::TowardZero => (lacks > 0.0 && nearest < 0.0, lacks < 0.0 && nearest > 0.0),
        _ => (false, false),
    };
    match (up, down) {
        (true, _) => nearest.next_up(),
        (_, true) => nearest.next_down(),
        _ => nearest,
    }
}

/// A key that orders numbers as `min` and `max` see them: −0 before +0.
#[inline(always)]
fn key(x: f32) -> i32 {
    let bits = x.to_bits() as i32;
    bits ^ ((bits >> 31) as u32 >> 1) as i32
}

/// How `min` and `max` treat what is not just two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The larger one.
    pub max: bool,
    /// `.NaN`: NaN wins over numbers.
    pub nan: bool,
}

/// The lesser or the larger of two: the bits of the one chosen.
#[inline(always)]
pub fn choose(a: f32, b: f32, choice: Choice) -> u32 {
    let first = if choice.max { key(a) > key(b) } else { key(a) < key(b) };
    let chosen = if first { a.to_bits() } else { b.to_bits() };
    match (a.is_nan(), b.is_nan()) {
        (true, true) => NAN,
        (true, false) => {
            if choice.nan {
                NAN
            } else {
                b.to_bits()
            }
        }
        (false, true) => {
            if choice.nan {
                NAN
            } else {
                a.to_bits()
            }
        }
        (false, false) => chosen,
    }
}
