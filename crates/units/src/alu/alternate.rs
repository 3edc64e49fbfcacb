//! Arithmetic of four numbers of eight bits and less (PTX ISA 9.4, sections 9.7.6.1 to 9.7.6.4; sm_100a, sm_103a): from
//! the manual only, no GPU here runs them.
//!
//! Results are computed exactly and rounded once, to the nearest number and in a tie to the even one. What is out of range
//! becomes the largest finite number with `.satfinite`; else NaN in e4m3, and infinity in e5m2, with its sign.

use super::{AluLoops, Inst, alu_loop, binary, ternary};
use softwarp_isa::Type;
use softwarp_isa::instruction::{InstructionForm, Modifier, Opcode};
use softwarp_num::{Format, Rounding, Saturation};

/// How four numbers lie in a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Four {
    format: Format,
    /// Bits from one to the next.
    step: u32,
}

/// By their numbers in `extra`.
const FOURS: [Four; 7] = [
    Four { format: Format::E4m3, step: 8 },
    Four { format: Format::E5m2, step: 8 },
    Four { format: Format::E3m2, step: 8 },
    Four { format: Format::E2m3, step: 8 },
    Four { format: Format::E2m1, step: 4 },
    Four { format: Format::E2m1, step: 8 },
    Four { format: Format::Ue8m0, step: 8 },
];

impl Four {
    /// The value of the n-th number.
    fn value(self, word: u32, n: u32) -> f64 {
        self.format.decode((word >> (self.step * n)).into())
    }
}

/// What `extra` says: the types of d, a and b, and whether results are limited.
#[derive(Clone, Copy)]
struct Types {
    d: Four,
    a: Four,
    b: Four,
    saturation: Saturation,
}

impl Types {
    fn of(inst: &Inst) -> Types {
        let four = |at: u32| FOURS[(inst.extra >> (3 * at) & 7) as usize % FOURS.len()];
        let saturation = if inst.extra >> 9 & 1 == 1 { Saturation::Finite } else { Saturation::None };
        Types { d: four(0), a: four(1), b: four(2), saturation }
    }

    /// Four results.
    fn four(self, f: impl Fn(u32) -> f64) -> u32 {
        (0..4).fold(0, |word, n| {
            let code = self.d.format.encode(f(n), Rounding::NearestEven, self.saturation).unwrap_or(0);
            word | (code as u32) << (8 * n)
        })
    }
}

/// The number of a type in [`FOURS`].
fn number(form: &InstructionForm, at: usize) -> Option<u32> {
    let name = form.words.iter().map(|word| word.name()).filter(|name| name.ends_with("x4")).nth(at)?;
    let names = ["e4m3x4", "e5m2x4", "e3m2x4", "e2m3x4", "e2m1x4", "e2m1p4x4", "ue8m0x4"];
    names.iter().position(|&one| one == name).map(|at| at as u32)
}

/// The loop for a form.
pub fn select(form: &InstructionForm) -> Option<(AluLoops, u32)> {
    if !matches!(form.types.first(), Some(Type::E4m3x4 | Type::E5m2x4)) {
        return None;
    }
    let (d, a) = (number(form, 0)?, number(form, 1)?);
    let factors = matches!(form.opcode, Opcode::Mul | Opcode::Fma);
    let b = if factors { number(form, 2)? } else { d };
    let compiled = match form.opcode {
        Opcode::Add => alu_loop!(
            rare | frame,
            inst,
            mask | {
                let types = Types::of(inst);
                binary(frame, inst, mask, |a: u32, c: u32| {
                    types.four(|n| sum(types.a.value(a, n), types.d.value(c, n)))
                })
            }
        ),
        Opcode::Sub => alu_loop!(
            rare | frame,
            inst,
            mask | {
                let types = Types::of(inst);
                binary(frame, inst, mask, |a: u32, c: u32| {
                    types.four(|n| sum(types.a.value(a, n), -types.d.value(c, n)))
                })
            }
        ),
        Opcode::Mul => alu_loop!(
            rare | frame,
            inst,
            mask | {
                let types = Types::of(inst);
                binary(frame, inst, mask, |a: u32, b: u32| {
                    types.four(|n| types.a.value(a, n) * types.b.value(b, n))
                })
            }
        ),
        Opcode::Fma => alu_loop!(
            rare | frame,
            inst,
            mask | {
                let types = Types::of(inst);
                ternary(frame, inst, mask, |a: u32, b: u32, c: u32| {
                    types.four(|n| sum(types.a.value(a, n) * types.b.value(b, n), types.d.value(c, n)))
                })
            }
        ),
        _ => return None,
    };
    let saturates = u32::from(form.has(Modifier::Satfinite));
    Some((compiled, d | a << 3 | b << 6 | saturates << 9))
}

/// A sum, rounded to odd: rounding it once more gives what rounding the exact sum gives. Products of two numbers of eight
/// bits are exact.
fn sum(x: f64, y: f64) -> f64 {
    let sum = x + y;
    let of_y = sum - x;
    // The exact error, by Knuth's two-sum.
    let error = (x - (sum - of_y)) + (y - of_y);
    if !sum.is_finite() || error == 0.0 || sum.to_bits() & 1 == 1 {
        return sum;
    }
    let away = error.is_sign_negative() == sum.is_sign_negative();
    f64::from_bits(if away { sum.to_bits() | 1 } else { sum.to_bits() - 1 })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A number times 2^32; none if it is no number.
    fn scaled(format: Format, code: u64) -> Option<i128> {
        let value = format.decode(code);
        value.is_finite().then_some((value * 4_294_967_296.0) as i128)
    }

    /// The code of the nearest number to an exact value times 2^32, found by looking at all of them.
    fn nearest(format: Format, exact: i128) -> u64 {
        let top = format.max_finite();
        let (magnitude, sign) = (exact.unsigned_abs() as i128, if exact < 0 { 0x80 } else { 0 });
        let code = (0..=top).min_by_key(|&code| {
            let distance = (scaled(format, code).unwrap_or(i128::MAX) - magnitude).abs();
            (distance, code & 1)
        });
        // The next number would be one more step away.
        let [last, largest] = [top - 1, top].map(|code| scaled(format, code).unwrap_or(0));
        let half = largest + (largest - last) / 2;
        match (magnitude > half || magnitude == half && top & 1 == 1, format) {
            (true, Format::E4m3) => 0x7f | sign,
            (true, _) => 0x7c | sign,
            (false, _) => code.unwrap_or(0) | sign,
        }
    }

    #[test]
    fn sums_and_products_are_the_nearest_numbers() {
        for (d, a) in [(0, 0), (0, 1), (1, 0), (1, 1), (0, 2), (1, 3), (0, 4)] {
            let (d, a) = (FOURS[d], FOURS[a]);
            let types = Types { d, a, b: a, saturation: Saturation::None };
            for x in a.format.codes() {
                for y in d.format.codes() {
                    let (Some(p), Some(q)) = (scaled(a.format, x), scaled(d.format, y)) else { continue };
                    let found = types.four(|_| sum(a.format.decode(x), d.format.decode(y))) & 0xff;
                    let mut expected = nearest(d.format, p + q);
                    if p + q == 0 {
                        // A sum of zeros is negative if both are; else it is positive.
                        let negative = |format: Format, code| format.decode(code).is_sign_negative();
                        let both = p == 0 && negative(a.format, x) && negative(d.format, y);
                        expected = if both { 0x80 } else { 0 };
                    }
                    assert_eq!(u64::from(found), expected, "{:?} {x:#x} + {:?} {y:#x}", a.format, d.format);
                }
            }
        }
    }

    #[test]
    fn what_is_far_smaller_decides_a_tie() {
        let e4m3 = |value: f64| Format::E4m3.encode(value, Rounding::NearestEven, Saturation::None);
        // 17 lies between 16 and 18.
        assert_eq!(e4m3(sum(17.0, 0.0)), e4m3(16.0));
        assert_eq!(e4m3(sum(17.0, 2f64.powi(-127))), e4m3(18.0));
        assert_eq!(e4m3(sum(19.0, -(2f64.powi(-254)))), e4m3(18.0));
        assert_eq!(e4m3(sum(19.0, 0.0)), e4m3(20.0));
    }

    #[test]
    fn what_is_out_of_range_is_limited_or_not() {
        let limited = |format: Format, saturation| {
            let four = Four { format, step: 8 };
            Types { d: four, a: four, b: four, saturation }.four(|_| -1e30) & 0xff
        };
        assert_eq!(limited(Format::E4m3, Saturation::None) & 0x7f, 0x7f);
        assert_eq!(limited(Format::E5m2, Saturation::None), 0xfc);
        assert_eq!(limited(Format::E4m3, Saturation::Finite), 0xfe);
        assert_eq!(limited(Format::E5m2, Saturation::Finite), 0xfb);
    }
}
