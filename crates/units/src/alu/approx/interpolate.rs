//! The special function unit's interpolator: a quadratic polynomial in each of 64 or 128 segments, in fixed point.
//!
//! The square of the position within a segment is what a squarer with its low columns left out makes of it. All else
//! is exact until the sum is cut to the bits of the result.

/// The coefficients of a segment: c0, c1, c2.
pub type Segment = [i32; 3];

/// The coefficients of a function in segments of equal length.
///
/// With d the position in a segment, from 0 to 1, the function is `c0 + c1·d + c2·d²` of a unit, where `c0` is in
/// quarters of it.
pub struct Table<const N: usize> {
    /// Added everywhere, in units of 2^-17.
    pub bias: i64,
    /// The coefficients of each segment.
    pub segments: [Segment; N],
}

/// Bits of a position within a segment.
const POSITION: u32 = 17;

impl<const N: usize> Table<N> {
    /// The function in the segment, at `position` of 2^17, in units of 2^-17 of its unit.
    #[inline(always)]
    pub fn at(&self, segment: u32, position: u32) -> i64 {
        let [c0, c1, c2] = self.segments[segment as usize % N].map(i64::from);
        let linear = c1 * i64::from(position);
        // The square has 15 bits.
        let quadratic = (c2 * i64::from(square(position))) << (POSITION - 15);
        (c0 << (POSITION - 2)) + self.bias + linear + quadratic
    }
}

/// The upper 15 bits of the square of a number of 17 bits: the sum of the products of its bits, each pair taken
/// once, without the products that are worth less than the last of the 15 bits.
#[inline(always)]
fn square(x: u32) -> u32 {
    let mut sum = 0;
    for bit in 1..POSITION {
        let below = x & ((1 << bit) - 1);
        let with_others = below >> (POSITION + 1 - bit);
        let with_itself = if 2 * bit >= 19 { 1 << (2 * bit - 19) } else { 0 };
        sum += (with_others + with_itself) * (x >> bit & 1);
    }
    sum
}

/// The f32 below a positive number in fixed point with that many fraction bits, which has at most 53 bits.
#[inline(always)]
pub fn cut(fixed: u64, fraction: u32) -> f32 {
    let exact = fixed as f64 * f64::from_bits(u64::from(1023 - fraction) << 52);
    f64::from_bits(exact.to_bits() & !0 << 29) as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_square_lacks_only_its_low_columns() {
        assert_eq!(square(0), 0);
        assert_eq!(square(1 << 16), 1 << 13);
        let exact = |x: u32| ((u64::from(x) * u64::from(x)) >> 19) as u32;
        for x in 0..1 << POSITION {
            assert!((0..=8).contains(&(exact(x) - square(x))), "{x}");
        }
    }
}
