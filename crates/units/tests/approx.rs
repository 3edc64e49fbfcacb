//! The approximate functions, to the bit what an H200 makes of them.

use crate::float_ops::harness::Operation;
use softwarp_testkit::{hash, recording};
use softwarp_units::lanes::LANES;

/// A form and sums over its results: 64 over all inputs in order, and for f32 64 over those whose low half is zero.
/// A sum is that of `hash(result ^ hash(input))`, modulo 2^64.
struct Recorded {
    form: String,
    inputs: u64,
    sums: Vec<u64>,
    samples: Vec<u64>,
}

fn recorded() -> Vec<Recorded> {
    let sums = |value: &serde_json::Value| {
        let sums = value.as_array().into_iter().flatten().filter_map(|sum| sum.as_str());
        sums.map(|sum| u64::from_str_radix(sum, 16).expect("a number")).collect()
    };
    let read = |value: serde_json::Value| Recorded {
        form: value["form"].as_str().expect("a form").to_owned(),
        inputs: value["n"].as_u64().expect("a number"),
        sums: sums(&value["sums"]),
        samples: sums(&value["samples"]),
    };
    recording::values(recording::golden("units", "approx.jsonl.gz")).map(read).collect()
}

fn sum(operation: &mut Operation, inputs: impl Fn(u64) -> u64, from: u64, to: u64) -> u64 {
    let mut sum = 0u64;
    for base in (from..to).step_by(LANES) {
        let row = std::array::from_fn(|lane| inputs(base + lane as u64));
        operation.set(0, &row);
        for (input, result) in row.into_iter().zip(operation.values(false, 1, None)) {
            sum = sum.wrapping_add(hash(result ^ hash(input)));
        }
    }
    sum
}

#[test]
fn functions_of_f32_are_exact_at_65536_places() {
    for recorded in recorded().iter().filter(|recorded| !recorded.samples.is_empty()) {
        let mut operation = Operation::new(&recorded.form);
        for (&expected, chunk) in recorded.samples.iter().zip(0u64..) {
            let found = sum(&mut operation, |at| at << 16, chunk << 10, (chunk + 1) << 10);
            assert_eq!(found, expected, "{} from {:x}", recorded.form, chunk << 26);
        }
    }
}

#[test]
fn functions_of_16_bits_are_exact_everywhere() {
    for recorded in recorded().iter().filter(|recorded| recorded.inputs == 1 << 16) {
        let mut operation = Operation::new(&recorded.form);
        for (&expected, chunk) in recorded.sums.iter().zip(0u64..) {
            let found = sum(&mut operation, |at| at, chunk << 10, (chunk + 1) << 10);
            assert_eq!(found, expected, "{} from {:x}", recorded.form, chunk << 10);
        }
    }
}

#[test]
#[ignore = "all 2^32 inputs of 19 forms: an hour unoptimised, a few minutes in release on many cores"]
fn functions_of_32_bits_are_exact_everywhere() {
    let workers = std::thread::available_parallelism().map_or(1, |count| count.get() as u64);
    for recorded in recorded().iter().filter(|recorded| recorded.inputs == 1 << 32) {
        std::thread::scope(|scope| {
            for worker in 0..workers {
                scope.spawn(move || {
                    let mut operation = Operation::new(&recorded.form);
                    for chunk in (worker..64).step_by(workers as usize) {
                        let found = sum(&mut operation, |at| at, chunk << 26, (chunk + 1) << 26);
                        assert_eq!(
                            found,
                            recorded.sums[chunk as usize],
                            "{} from {:x}",
                            recorded.form,
                            chunk << 26
                        );
                    }
                });
            }
        });
    }
}

#[test]
fn divisions_that_are_approximate_keep_within_two_places() {
    for form in ["div.approx.f32", "div.full.f32", "div.approx.ftz.f32", "div.full.ftz.f32"] {
        let mut operation = Operation::new(form);
        for row in 0..2000u64 {
            // Quotients between 2^-32 and 2^32.
            let value = |source: u64, lane: usize| {
                let random = hash(row * 64 + source * 32 + lane as u64);
                f32::from_bits(random as u32 & 0x807f_ffff | ((random >> 40 & 31) as u32 + 111) << 23)
            };
            for source in 0..2 {
                operation.set(
                    source as usize,
                    &std::array::from_fn(|lane| u64::from(value(source, lane).to_bits())),
                );
            }
            let results = operation.values(false, 2, None);
            for (lane, result) in results.into_iter().enumerate() {
                let (a, b) = (value(0, lane), value(1, lane));
                let distance = result.abs_diff(u64::from((a / b).to_bits()));
                assert!(distance <= 2, "{form} {a:e} {b:e}");
            }
        }
    }
}
