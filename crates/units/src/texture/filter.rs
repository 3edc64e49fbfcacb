//! Means of texels, as an H200 computes them: bit-exact on recorded lookups.
//!
//! Weights are 256ths that add up to 256. Where there are several dimensions they are multiplied and rounded one after
//! the other ([`spread`]), so that they still do.
//!
//! Texels of 8 and 16 bits that are read as fractions are summed as integers and rounded to 16 bits. Halves and singles
//! are aligned to the largest exponent among the texels that have a weight, four digits more than they have are kept
//! and the rest is cut, the sum is rounded once, halves away from zero; to a half, where texels are halves. Subnormal
//! singles count as zero. The two planes of a volume and the two levels of a mipmap are aligned by themselves, and added
//! to what there is with digits that begin at every fourth exponent. Infinities and NaN count even if the weight of a
//! texel that is read was rounded to nothing.

#![allow(
    clippy::needless_range_loop,
    reason = "several arrays side by side, and loops that must become vectors"
)]

use super::format::{Channel, Format};
use super::sampler::WHOLE;
use crate::lanes::LANES;
use softwarp_num::half::{Binary16, Half};

/// A texel that takes part.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tap {
    /// Its channels, as they are stored.
    pub code: [u32; 4],
    /// Of 256, all together.
    pub weight: u32,
    /// What it is aligned with: twice its level, the second plane of a volume one more.
    pub group: u8,
}

/// A share of the weight, spread over four texels: first and second in x, then the same of the next row.
#[inline(always)]
pub fn spread(share: u32, x: u32, y: u32) -> [u32; 4] {
    let second = (share * x + 128) >> 8;
    let first = share - second;
    let below_second = (second * y + 128) >> 8;
    let below_first = (first * y + 127) >> 8;
    [first - below_first, second - below_second, below_first, below_second]
}

/// The mean of texels that are read as floating point: bits of singles.
#[inline]
pub fn mean(format: Format, taps: &[Tap]) -> [u32; 4] {
    let mut result = [0; 4];
    for (n, result) in result.iter_mut().enumerate().take(usize::from(format.channels)) {
        let weighted = || taps.iter().map(|tap| (tap.code[n], tap.weight));
        *result = match format.channel {
            Channel::F32 | Channel::U32 | Channel::S32 => single(groups(taps, n, |code| code, SINGLE)),
            Channel::F16 => {
                let widen = |code| Binary16::widen(code as u16).to_bits();
                half(groups(taps, n, widen, HALF))
            }
            Channel::U8 | Channel::S8 | Channel::U16 | Channel::S16 => fraction(format.channel, weighted()),
        };
    }
    result
}

/// The mean of integers that are read as such: rounded, halves up; cut where they have 32 bits.
#[inline]
pub fn whole_mean(format: Format, taps: &[Tap]) -> [u32; 4] {
    let signed = format.channel.is_signed();
    let half = if format.channel.is_normalizable() { 128 } else { 0 };
    std::array::from_fn(|n| {
        let part = |tap: &Tap| {
            let code = format.channel.extend(tap.code[n]);
            i64::from(tap.weight) * if signed { i64::from(code as i32) } else { i64::from(code) }
        };
        ((taps.iter().map(part).sum::<i64>() + half) >> 8) as u32
    })
}

/// A sum of bytes, times 256, as a fraction.
#[inline(always)]
fn byte_fraction(sum: i32) -> f32 {
    ((sum * 257 + 128) >> 8) as f32 / 65535.0
}

/// The mean of fractions, as bits of a single.
#[inline(always)]
pub fn fraction(channel: Channel, texels: impl Iterator<Item = (u32, u32)>) -> u32 {
    let sum: i32 = match channel {
        Channel::S16 => {
            texels.map(|(code, weight)| i32::from((code as u16 as i16).max(-32767)) * weight as i32).sum()
        }
        channel => texels.map(|(code, weight)| channel.extend(code) as i32 * weight as i32).sum(),
    };
    let value = match channel {
        Channel::U8 => byte_fraction(sum),
        Channel::U16 => ((sum + 128) >> 8) as f32 / 65535.0,
        Channel::S8 => (sum + ((sum + 16 * (sum >> 12) + 64) >> 7)).max(-32767) as f32 / 32767.0,
        _ => ((sum + 128) >> 8) as f32 / 32767.0,
    };
    value.to_bits()
}

/// The sign of a single, and minus zero.
pub const SIGN: u32 = 0x8000_0000;

/// How numbers are aligned: the least exponent of a single that counts as the largest, how many of a single's 23
/// digits are beyond those that are kept.
#[derive(Clone, Copy)]
pub struct Alignment {
    least: u32,
    surplus: i32,
}

#[inline(always)]
fn exponent(bits: u32) -> u32 {
    bits >> 23 & 0xff
}

impl Alignment {
    /// What is left of a single beside those with the largest exponent.
    #[inline(always)]
    fn kept(self, bits: u32, largest: u32) -> u32 {
        let own = exponent(bits);
        let surplus = largest as i32 - own as i32 + self.surplus;
        // Not even the first digit.
        let nothing = own == 0 || surplus > 23;
        bits & if nothing { SIGN } else { u32::MAX << (surplus.max(0) & 31) }
    }
}

/// Singles: 4 digits more than they have.
pub const SINGLE: Alignment = Alignment { least: 0, surplus: -4 };

/// Halves as singles, which have 13 digits more.
pub const HALF: Alignment = Alignment { least: 113, surplus: 9 };

/// The sum of all groups, times 256: those of the first level, then those of the next with what there is. What is below
/// the digits of the greatest is rounded down.
#[inline(always)]
fn groups(taps: &[Tap], channel: usize, widen: impl Fn(u32) -> u32 + Copy, alignment: Alignment) -> f64 {
    let group = |group: u8| {
        let own = taps.iter().filter(move |tap| tap.group == group);
        aligned(own.map(move |tap| (weighed(widen(tap.code[channel]), tap.weight), tap.weight)), alignment)
    };
    if taps.iter().all(|tap| tap.group == 0) {
        return group(0).0;
    }
    let (mut sum, mut largest) = (-0.0, 0);
    for planes in [[0, 1], [2, 3]] {
        let [(first, one), (second, other)] = planes.map(group);
        largest = one.max(other).max(largest);
        let digit = 2f64.powi((largest & !3) as i32 - 127 - 23 + alignment.surplus);
        let cut = |sum: f64| if sum.is_finite() { (sum / digit).floor() * digit } else { sum };
        sum = cut(sum) + cut(first) + cut(second);
    }
    sum
}

/// What is left of a single that is read. One whose weight was rounded to nothing is a zero of its sign, unless it is not
/// finite.
#[inline(always)]
fn weighed(bits: u32, weight: u32) -> u32 {
    if weight > 0 || exponent(bits) == 0xff { bits } else { bits & SIGN }
}

/// A weighted sum of singles, times 256, and the largest exponent among them.
///
/// Everything that is kept of them has 28 digits at most below the largest exponent, and weights have 9: a double holds
/// the sum exactly.
#[inline(always)]
pub fn aligned(texels: impl Iterator<Item = (u32, u32)> + Clone, alignment: Alignment) -> (f64, u32) {
    let largest = texels.clone().map(|(bits, _)| exponent(bits)).fold(alignment.least, u32::max);
    let sum = texels.fold(-0.0, |sum, (bits, weight)| {
        sum + f64::from(f32::from_bits(alignment.kept(bits, largest))) * f64::from(weight.max(1))
    });
    (sum, largest)
}

/// The means of four singles in each lane; those that are not read are [`SIGN`]. No data decides a branch, so that the
/// loops become vector instructions.
#[inline(always)]
pub fn single_means(texels: &[[u32; LANES]; 4], weights: &[[u32; LANES]; 4]) -> [u32; LANES] {
    let mut taking = [[SIGN; LANES]; 4];
    let mut largest = [SINGLE.least; LANES];
    for tap in 0..4 {
        for lane in 0..LANES {
            let bits = weighed(texels[tap][lane], weights[tap][lane]);
            taking[tap][lane] = bits;
            largest[lane] = largest[lane].max(exponent(bits));
        }
    }
    let mut sums = [-0.0; LANES];
    for tap in 0..4 {
        for lane in 0..LANES {
            let kept = f32::from_bits(SINGLE.kept(taking[tap][lane], largest[lane]));
            sums[lane] += f64::from(kept) * f64::from(weights[tap][lane].max(1) as i32);
        }
    }
    let mut means = [0; LANES];
    for lane in 0..LANES {
        means[lane] = single(sums[lane]);
    }
    means
}

/// The means of a byte of four words in each lane, as fractions.
#[inline(always)]
pub fn byte_means(texels: &[[u32; LANES]; 4], byte: usize, weights: &[[u32; LANES]; 4]) -> [u32; LANES] {
    let mut sums = [0; LANES];
    for tap in 0..4 {
        for lane in 0..LANES {
            let code = texels[tap][lane] >> (8 * byte) & 0xff;
            sums[lane] += code as i32 * weights[tap][lane] as i32;
        }
    }
    let mut means = [0; LANES];
    for lane in 0..LANES {
        means[lane] = byte_fraction(sums[lane]).to_bits();
    }
    means
}

/// Rounds a double to a given number of digits fewer, halves away from zero.
#[inline(always)]
fn away(value: f64, digits: u32) -> f64 {
    let half = 1u64 << (digits - 1);
    f64::from_bits((value.to_bits().wrapping_add(half)) & !(2 * half - 1))
}

/// A sum times 256 as a single; zero where that is subnormal.
#[inline(always)]
pub fn single(sum: f64) -> u32 {
    let bits = (away(sum / f64::from(WHOLE), 29) as f32).to_bits();
    let flushed = if exponent(bits) == 0 { bits & SIGN } else { bits };
    if sum.is_nan() { 0x7fff_ffff } else { flushed }
}

/// A sum times 256 as a half, widened.
#[inline(always)]
pub fn half(sum: f64) -> u32 {
    if sum.is_nan() {
        return 0x7fff_e000;
    }
    let value = sum / f64::from(WHOLE);
    const LEAST_NORMAL: f64 = 1.0 / 16384.0;
    let rounded = if value.abs() < LEAST_NORMAL {
        (value * 16_777_216.0).round() / 16_777_216.0
    } else {
        away(value, 42)
    };
    let rounded = if rounded.abs() > 65504.0 { f64::INFINITY.copysign(rounded) } else { rounded };
    (rounded as f32).to_bits()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(format: &str, texels: &[(u32, u32)]) -> u32 {
        let taps: Vec<Tap> =
            texels.iter().map(|&(code, weight)| Tap { code: [code, 0, 0, 0], weight, group: 0 }).collect();
        mean(Format::parse(format).unwrap(), &taps)[0]
    }

    #[test]
    fn weights_of_four_texels_add_up() {
        assert_eq!(spread(256, 80, 74), [125, 57, 51, 23]);
        assert_eq!(spread(256, 164, 224), [12, 20, 80, 144]);
        for share in [256, 100, 1, 0] {
            for x in 0..256 {
                for y in 0..256 {
                    assert_eq!(spread(share, x, y).iter().sum::<u32>(), share);
                }
            }
        }
    }

    #[test]
    fn bytes_are_rounded_to_16_bits() {
        assert_eq!(of("u8x1", &[(255, 256)]), 1f32.to_bits());
        assert_eq!(of("u8x1", &[(251, 15), (201, 241)]), 0.799_725_35f32.to_bits());
        assert_eq!(of("s8x1", &[(0x80, 256)]), (-1f32).to_bits());
    }

    #[test]
    fn singles_are_cut_four_digits_below_and_rounded_away() {
        let bits = f32::to_bits;
        // Both recorded: a tie that goes away from zero, and digits that were cut.
        assert_eq!(of("f32x1", &[(bits(0.629_732_1), 64), (bits(0.249_062_66), 192)]), bits(0.344_230_03));
        assert_eq!(
            of("f32x1", &[(bits(-0.007_775_780_3), 251), (bits(-1.135_106_4), 5)]),
            bits(-0.029_793_954)
        );
        assert_eq!(of("f32x1", &[(bits(f32::INFINITY), 1), (bits(1.0), 255)]), bits(f32::INFINITY));
        assert_eq!(of("f32x1", &[(bits(f32::NAN), 1), (bits(1.0), 255)]), 0x7fff_ffff);
        // Read, but its weight is nothing.
        assert_eq!(of("f32x1", &[(bits(f32::NAN), 0), (bits(1.0), 256)]), 0x7fff_ffff);
        assert_eq!(of("f32x1", &[(bits(-f32::INFINITY), 0), (bits(1.0), 256)]), bits(-f32::INFINITY));
        assert_eq!(of("f32x1", &[(bits(3e38), 0), (bits(1.0), 256)]), bits(1.0));
        assert_eq!(of("f32x1", &[(bits(3e38), 0), (bits(-0.0), 256)]), 0);
        assert_eq!(of("f32x1", &[(bits(-3e38), 0), (bits(-0.0), 256)]), bits(-0.0));
        assert_eq!(of("f32x1", &[(bits(1e-40), 256)]), 0);
    }

    #[test]
    fn halves_give_halves() {
        let half = |value: f32| u32::from(Binary16::narrow(value));
        let mean = f32::from_bits(of("f16x1", &[(half(1.467_773_4), 128), (half(0.458_496_1), 128)]));
        assert_eq!(mean, 0.963_378_9);
    }
}
