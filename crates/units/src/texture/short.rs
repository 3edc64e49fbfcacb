//! Short floating-point numbers, as the unit that finds levels of detail has them (PTX ISA section 9.7.10.2, gradients).
//!
//! Ten binary digits, cut. Its adder keeps one digit more of the smaller operand, its multiplier leaves out the lowest
//! columns.

/// Binary digits of a number.
const DIGITS: u32 = 10;

/// A number with ten digits, or zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Short {
    /// From 512 to 1023, or 0.
    digits: u32,
    /// What the last digit is worth, as a power of two.
    unit: i32,
    negative: bool,
}

impl Short {
    /// Nothing.
    pub const ZERO: Short = Short { digits: 0, unit: -10_000, negative: false };

    /// More than any number of texels.
    pub const HUGE: Short = Short { digits: 512, unit: 1000, negative: false };

    /// A number of any digits, cut.
    fn cut(magnitude: u64, unit: i32, negative: bool) -> Short {
        if magnitude == 0 {
            return Short::ZERO;
        }
        let surplus = (u64::BITS - magnitude.leading_zeros()) as i32 - DIGITS as i32;
        let digits = if surplus >= 0 { magnitude >> surplus } else { magnitude << -surplus };
        Short { digits: digits as u32, unit: unit + surplus, negative }
    }

    /// A single, cut. NaN and subnormal ones are 0.
    #[inline]
    pub fn of(value: f32) -> Short {
        let Single { digits, unit, negative } = Single::of(value);
        if value.is_infinite() { Short::HUGE } else { Short::cut(digits, unit, negative) }
    }

    /// The difference of two singles.
    #[inline]
    pub fn difference(a: f32, b: f32) -> Short {
        let [a, b] = [Single::of(a), Single::of(-b)];
        if a.unit.max(b.unit) >= Single::LARGEST {
            return Short::HUGE;
        }
        sum([a.digits, b.digits], [a.unit, b.unit], [a.negative, b.negative])
    }

    /// The sum of two.
    #[inline]
    pub fn plus(self, other: Short) -> Short {
        let [a, b] = [self, other];
        sum([a.digits, b.digits].map(u64::from), [a.unit, b.unit], [a.negative, b.negative])
    }

    /// The product with a factor, whose last digits are rounded away.
    #[inline]
    pub fn times(self, factor: u32, last: u32) -> Short {
        let product = (u64::from(self.digits * factor) + (1 << last >> 1)) >> last;
        Short::cut(product, self.unit + last as i32, self.negative)
    }

    /// The product with a number of texels, of which ten digits count. The multiplier adds up the rows of a product
    /// without their last six columns, and something for these.
    #[inline]
    pub fn of_texels(self, count: u32) -> Short {
        if self.digits == 0 || count == 0 {
            return Short::ZERO;
        }
        let bits = u32::BITS - count.leading_zeros();
        let count = (u64::from(count) << DIGITS) >> bits;
        let row = |bit: u32| (u64::from(self.digits) << bit >> 6) * (count >> bit & 1);
        let product = (0..DIGITS).map(row).sum::<u64>() + 7;
        Short::cut(product >> 3, self.unit + bits as i32 - 1, self.negative)
    }

    /// The product with a power of two.
    #[inline]
    pub fn shifted(self, exponent: i32) -> Short {
        Short { unit: self.unit + exponent, ..self }
    }

    /// The absolute value.
    #[inline]
    pub fn magnitude(self) -> Short {
        Short { negative: false, ..self }
    }

    /// The number with the other sign.
    #[inline]
    pub fn negated(self) -> Short {
        Short { negative: !self.negative, ..self }
    }

    /// Something that is larger for larger magnitudes.
    #[inline]
    pub fn size(self) -> (i32, u32) {
        (self.unit, self.digits)
    }

    /// The larger one in magnitude.
    #[inline]
    pub fn larger(self, other: Short) -> Short {
        if other.size() > self.size() { other } else { self }
    }

    /// The exponent of the first digit.
    #[inline]
    pub fn exponent(self) -> i32 {
        self.unit + DIGITS as i32 - 1
    }

    /// Eight digits behind the first.
    #[inline]
    pub fn fraction(self) -> u8 {
        (self.digits >> 1) as u8
    }
}

/// A single, with all its digits.
struct Single {
    digits: u64,
    unit: i32,
    negative: bool,
}

impl Single {
    /// Units from here on are too large for the adder.
    const LARGEST: i32 = 97 - 23;

    /// NaN and subnormal ones are 0.
    fn of(value: f32) -> Single {
        let bits = value.to_bits();
        let exponent = (bits >> 23 & 0xff) as i32;
        let negative = value.is_sign_negative();
        if exponent == 0 || value.is_nan() {
            return Single { digits: 0, unit: -1000, negative };
        }
        Single { digits: u64::from(bits & 0x7f_ffff | 0x80_0000), unit: exponent - 127 - 23, negative }
    }
}

/// The sum of two numbers with as many digits. The smaller one is cut one digit below the larger one's last.
fn sum(digits: [u64; 2], units: [i32; 2], negative: [bool; 2]) -> Short {
    let unit = units[0].max(units[1]);
    let part = |n: usize| {
        let aligned = digits[n] << 1 >> (unit - units[n]).min(63);
        if negative[n] { -(aligned as i64) } else { aligned as i64 }
    };
    let sum = part(0) + part(1);
    Short::cut(sum.unsigned_abs(), unit - 1, sum < 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_digits_are_kept() {
        assert_eq!(Short::of(1.0), Short { digits: 512, unit: -9, negative: false });
        assert_eq!(Short::of(-1.999), Short { digits: 1023, unit: -9, negative: true });
        assert_eq!(Short::of(1e-40), Short::ZERO);
        assert_eq!(Short::of(f32::NAN), Short::ZERO);
        assert_eq!(Short::of(3.0).plus(Short::of(-3.0)), Short::ZERO);
        assert_eq!(Short::of(3.0).plus(Short::ZERO), Short::of(3.0));
        assert_eq!(Short::ZERO.plus(Short::ZERO), Short::ZERO);
    }

    #[test]
    fn the_smaller_of_two_has_one_digit_more() {
        // 1 less 3/2048 is 1 less 1/1024.
        assert_eq!(Short::of(1.0).plus(Short::of(-3.0 / 2048.0)), Short::of(1.0 - 1.0 / 1024.0));
        // A single's 24 digits and one, 2^-25 being less than what the larger one's last digit and a half are.
        let tiny = f32::EPSILON / 4.0;
        assert_eq!(Short::difference(1.0, tiny / 2.0), Short::of(1.0));
        assert_eq!(Short::difference(1.0, tiny * 2.0), Short::of(1.0 - 1.0 / 1024.0));
        assert_eq!(Short::difference(f32::MAX, f32::MAX), Short::HUGE);
    }

    #[test]
    fn products_with_sizes_are_nearly_rounded() {
        assert_eq!(Short::of(0.75).of_texels(64), Short::of(48.0));
        // 526/1024 of 1000 is 513.67, and 532/1024 of it is 519.53.
        assert_eq!(Short::of(526.0 / 1024.0).of_texels(1000), Short::of(514.0));
        assert_eq!(Short::of(532.0 / 1024.0).of_texels(1000), Short::of(519.0));
        assert_eq!(Short::of(0.5).of_texels(0), Short::ZERO);
    }
}
