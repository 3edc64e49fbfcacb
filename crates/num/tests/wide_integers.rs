//! Conversions from 32- and 64-bit integers on telling inputs, against the reference.

use crate::reference::Step;
use crate::reference::cases::{Input, compare_all, random_codes, special_codes, telling_codes};
use crate::reference::layout::width;
use softwarp_num::Format;
use softwarp_testkit::SplitMix64;

fn is_wide_integer(format: Format) -> bool {
    format.is_int() && width(format) >= 32
}

/// Integers with a tie at every destination's precision, and those next to it; and random ones of every
/// length.
fn integers(step: Step) -> Vec<Vec<Input>> {
    let Step { src, dst, .. } = step;
    let mut random = SplitMix64::new(src as u64 * 64 + dst as u64);
    let mask = u64::MAX >> (64 - width(src));
    let mut codes = special_codes(src);
    codes.extend(telling_codes(src, dst, 0));
    codes.extend(random_codes(&mut random, src, 12_000));
    codes.extend((0..12_000).map(|n| random.next_u64() >> (n % 64) & mask));
    for precision in [8, 11, 24, 53] {
        for shift in 1..=64 - precision {
            for _ in 0..4 {
                let significand = random.next_u64() >> (64 - precision) | 1 << (precision - 1);
                let tie = significand << shift | 1 << (shift - 1);
                let near = [tie - 1, tie, tie + 1];
                codes.extend(near.into_iter().flat_map(|n| [n & mask, n.wrapping_neg() & mask]));
            }
        }
    }
    vec![codes.into_iter().map(|code| (code, 0)).collect()]
}

fn check(which: impl Fn(Step) -> bool + Sync, at_least: usize) {
    let compared =
        compare_all(
            |step| {
                if is_wide_integer(step.src) && which(step) { integers(step) } else { Vec::new() }
            },
        );
    assert!(compared >= at_least, "only {compared} results were compared");
}

// R-CVT-24, R-CVT-25, R-CVT-66.
#[test]
fn wide_integers_to_integers() {
    check(|step| step.dst.is_int(), 4 * 8 * 24_000);
}

// R-CVT-26, R-CVT-36, R-CVT-38, R-CVT-39, R-CVT-40, R-CVT-67.
#[test]
fn wide_integers_to_floats() {
    check(|step| !step.dst.is_int(), 4 * 4 * 24_000);
}
