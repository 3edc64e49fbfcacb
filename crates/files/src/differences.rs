//! Counts and extremes of the differences between two arrays.

use crate::ulp::{Distance, distance};
use softwarp::num::Format;

/// Two elements that differ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Difference {
    /// The number of the element in C order.
    pub place: u64,
    /// Its code in the first array.
    pub a: u64,
    /// Its code in the second array.
    pub b: u64,
    /// `None` if one is NaN.
    pub ulp: Option<u64>,
    /// The error that this is an extreme of; of others the absolute one, which may be NaN.
    pub error: f64,
}

/// What is known about all elements so far.
#[derive(Debug)]
pub struct Differences {
    /// What the arrays hold.
    pub format: Format,
    /// The distance that is accepted.
    pub allowed: u64,
    /// How many elements were compared.
    pub elements: u64,
    /// Whether all codes are the same.
    pub equal: bool,
    /// Elements whose values differ.
    pub differ: u64,
    /// Those farther apart than `allowed`, or NaN in one.
    pub beyond: u64,
    /// Elements that are NaN in one array.
    pub nan_in_one: u64,
    /// Zeros whose signs differ.
    pub zeros_of_other_sign: u64,
    /// Differing elements of which one is infinite or NaN.
    pub not_finite: u64,
    /// The first element that differs.
    pub first: Option<Difference>,
    /// The one farthest apart.
    pub max_ulp: Option<Difference>,
    /// The one with the largest error.
    pub max_abs: Option<Difference>,
    /// The one with the largest error relative to the first array.
    pub max_rel: Option<Difference>,
    /// How many elements are 0 apart, 1 apart, and up to each further power of two.
    buckets: [u64; 66],
}

impl Differences {
    /// Nothing compared yet.
    pub fn new(format: Format, allowed: u64) -> Differences {
        Differences {
            format,
            allowed,
            elements: 0,
            equal: true,
            differ: 0,
            beyond: 0,
            nan_in_one: 0,
            zeros_of_other_sign: 0,
            not_finite: 0,
            first: None,
            max_ulp: None,
            max_abs: None,
            max_rel: None,
            buckets: [0; 66],
        }
    }

    /// Compares the next elements, as they lie in arrays.
    pub fn add(&mut self, a: &[u8], b: &[u8], count: u64) {
        if a == b {
            // NaN is equal to itself here.
            self.buckets[0] += count;
        } else {
            for at in 0..count {
                self.compare(self.elements + at, code(self.format, a, at), code(self.format, b, at));
            }
        }
        self.elements += count;
    }

    fn compare(&mut self, place: u64, a: u64, b: u64) {
        if a == b {
            self.buckets[0] += 1;
            return;
        }
        self.equal = false;
        let (x, y) = (self.format.decode(a), self.format.decode(b));
        let error = (y - x).abs();
        let steps = match distance(self.format, a, b) {
            Distance::Steps(0) => {
                self.buckets[0] += 1;
                self.zeros_of_other_sign += u64::from(x == 0.0);
                return;
            }
            Distance::Steps(steps) => Some(steps),
            Distance::NanInOne => None,
        };
        let difference = Difference { place, a, b, ulp: steps, error };
        self.differ += 1;
        self.beyond += u64::from(steps.is_none_or(|steps| steps > self.allowed));
        self.first.get_or_insert(difference);
        match steps {
            None => self.nan_in_one += 1,
            Some(steps) => {
                self.buckets[bucket(steps)] += 1;
                if self.max_ulp.is_none_or(|most| most.ulp < Some(steps)) {
                    self.max_ulp = Some(difference);
                }
            }
        }
        if !error.is_finite() {
            self.not_finite += 1;
            return;
        }
        if self.max_abs.is_none_or(|most| most.error < error) {
            self.max_abs = Some(difference);
        }
        let relative = error / x.abs();
        if x != 0.0 && self.max_rel.is_none_or(|most| most.error < relative) {
            self.max_rel = Some(Difference { error: relative, ..difference });
        }
    }

    /// Ranges of distances with how many elements are in each, up to the last that has any.
    pub fn histogram(&self) -> Vec<(u64, u64, u64)> {
        let used = self.buckets.iter().rposition(|&count| count > 0).map_or(0, |last| last + 1);
        let range = |bucket: usize| match bucket {
            0 | 1 => (bucket as u64, bucket as u64),
            65 => ((1 << 63) + 1, u64::MAX),
            _ => ((1 << (bucket - 2)) + 1, 1 << (bucket - 1)),
        };
        (0..used)
            .map(|bucket| {
                let (from, to) = range(bucket);
                (from, to, self.buckets[bucket])
            })
            .collect()
    }
}

/// 0, 1, 2, 3 to 4, 5 to 8, and so on.
fn bucket(steps: u64) -> usize {
    match steps {
        0 | 1 => steps as usize,
        _ => (64 - (steps - 1).leading_zeros()) as usize + 1,
    }
}

/// The code of an element in an array.
fn code(format: Format, bytes: &[u8], at: u64) -> u64 {
    let at = at as usize;
    if format.pitch() == 4 {
        return u64::from(bytes[at / 2] >> (4 * (at % 2)) & 0xf);
    }
    let size = format.bytes();
    let mut code = [0; 8];
    code[..size].copy_from_slice(&bytes[at * size..(at + 1) * size]);
    u64::from_le_bytes(code) & format.mask()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_fall_into_ranges() {
        for steps in (0..200).chain([1 << 40, (1 << 40) + 1, 1 << 63, (1 << 63) + 1, u64::MAX]) {
            let mut differences = Differences::new(Format::U64, 0);
            differences.compare(0, 0, steps);
            let histogram = differences.histogram();
            let (from, to, count) = histogram[histogram.len() - 1];
            assert!(from <= steps && steps <= to && count == 1, "{steps}: {from} to {to}");
            assert!(histogram.windows(2).all(|pair| pair[0].1 + 1 == pair[1].0));
        }
    }

    #[test]
    fn four_bit_codes_lie_two_to_a_byte() {
        let mut differences = Differences::new(Format::E2m1, 1);
        // 0, 1, 2, 8 (which is -0) and 0, 1, 4, 0.
        differences.add(&[0x10, 0x82], &[0x10, 0x04], 4);
        assert_eq!((differences.elements, differences.differ, differences.beyond), (4, 1, 1));
        assert_eq!((differences.zeros_of_other_sign, differences.equal), (1, false));
        let most = differences.max_ulp.unwrap();
        assert_eq!((most.place, most.ulp, most.error), (2, Some(2), 1.0));
        assert_eq!(differences.max_rel.unwrap().error, 1.0);
    }
}
