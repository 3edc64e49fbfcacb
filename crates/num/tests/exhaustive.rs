//! Every conversion from a source of at most 16 bits, on every source code, against the reference.
//!
//! PTX ISA 5.2.3, 6.5 and `cvt` in 9.7.

use crate::reference::Step;
use crate::reference::cases::{Input, SCALES, compare_all, conversions, every_input, run};
use crate::reference::layout::{count, width};
use softwarp_num::{Format, Scaling};

/// Compares the conversions that `which` selects on all source codes. `at_least` is how many results that
/// must be, so that conversions that went missing are noticed.
fn every_code(which: impl Fn(Step) -> bool + Sync, at_least: usize) {
    let inputs = |step: Step| -> Vec<Vec<Input>> { if which(step) { every_input(step) } else { Vec::new() } };
    let compared = compare_all(inputs);
    assert!(compared >= at_least, "only {compared} results were compared");
}

const CODES_16: usize = 1 << 16;

fn is_half(step: Step) -> bool {
    matches!(step.src, Format::F16 | Format::Bf16)
}

fn is_narrow(format: Format) -> bool {
    !format.is_int() && width(format) <= 8
}

// R-CVT-24, R-CVT-25, R-CVT-26, R-CVT-66, R-CVT-67: widening, narrowing, clamping, rounding to floats.
#[test]
fn integers_of_8_and_16_bits() {
    // u16 and s16: 8 integers, f16 and bf16 in four roundings, f32 and f64 exactly; some with .sat.
    every_code(|step| step.src.is_int() && width(step.src) <= 16, 2 * (8 + 4 + 4 + 2) * CODES_16);
}

// R-CVT-27, R-CVT-33, R-CVT-42, R-CVT-43, R-CVT-44, R-CVT-45.
#[test]
fn f16_and_bf16_to_integers() {
    every_code(|step| is_half(step) && step.dst.is_int(), 2 * 8 * 4 * CODES_16);
}

// R5.2.3-1, R5.2.3-2, R-CVT-8, R-CVT-28, R-CVT-29, R-CVT-30, R-CVT-86, R-CVT-88.
#[test]
fn f16_and_bf16_to_wide_floats_and_integral_values() {
    let wide = |step: Step| is_half(step) && !step.dst.is_int() && !is_narrow(step.dst);
    every_code(wide, (8 + 2 * 4 + 8) * CODES_16);
}

// R5.2.3-4, R5.2.3-5, R5.2.3-6, R5.2.3-8, R5.2.3-15, R5.2.3-16, R5.2.3-19, R5.2.3-20, R5.2.3-23,
// R5.2.3-24, R5.2.3-25, R5.2.3-28, R5.2.3-29, R5.2.3-30, R5.2.3-31, R-CVT-10, R-CVT-11, R-CVT-12,
// R-CVT-13, R-CVT-14, R-CVT-15, R-CVT-16, R-CVT-68, R-CVT-69, R-CVT-70, R-CVT-71, R-CVT-72.
#[test]
fn f16_and_bf16_to_narrow_formats() {
    let unscaled = |step: Step| is_half(step) && is_narrow(step.dst) && step.scaling == Scaling::None;
    every_code(unscaled, 2 * 5 * 2 * 3 * CODES_16);
}

// `.scaled::n1::ue8m0`, and `.scaled::n2::ue8m0` to s2f6.
#[test]
fn f16_and_bf16_to_narrow_formats_with_a_scale() {
    let scaled = |step: Step| is_half(step) && is_narrow(step.dst) && step.scaling != Scaling::None;
    every_code(scaled, 2 * 5 * 2 * 3 * SCALES.len() * CODES_16);
}

// R5.2.3-4, R5.2.3-5, R5.2.3-6, R5.2.3-8, R5.2.3-15, R5.2.3-16, R5.2.3-19, R5.2.3-20, R5.2.3-24,
// R5.2.3-25, R5.2.3-29, R5.2.3-30, R5.2.3-31, R5.2.3-34, R5.2.3-35, R5.2.3-36, R-CVT-10, R-CVT-11,
// R-CVT-12, R-CVT-13, R-CVT-14, R-CVT-15, R-CVT-16, R-CVT-92.
#[test]
fn narrow_formats_up() {
    every_code(|step| is_narrow(step.src), 6 * 256 * (2 + SCALES.len()));
}

// R5.2.3-23, R5.2.3-28, R5.2.3-38: codes of 4, 6 and 7 bits sit in bytes; what is above them in a source
// is no part of the number.
#[test]
fn bits_above_a_narrow_code_are_ignored() {
    for compiled in conversions().values().flatten() {
        let c = compiled.conversion();
        if is_narrow(c.src) && width(c.src) < 8 {
            let all: Vec<Input> = (0..256).map(|byte| (byte, 0x7f)).collect();
            let cut: Vec<Input> = (0..256).map(|byte| (byte % count(c.src), 0x7f)).collect();
            assert_eq!(run(compiled, &all), run(compiled, &cut), "{c:?}");
        }
    }
}
