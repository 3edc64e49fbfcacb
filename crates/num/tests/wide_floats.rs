//! Conversions from f32 and f64 on telling inputs, against the reference.
//!
//! Telling are, for each destination: its values, the midpoints between them, the sources next to both,
//! what is special in the source, and many that look random.

use crate::reference::Step;
use crate::reference::cases::{
    Input, SCALES, compare_all, conversions, random_codes, random_codes_in_range, special_codes,
    telling_codes, with_random_bits,
};
use crate::reference::layout::width;
use softwarp_num::{Format, Rounding, Scaling};
use softwarp_testkit::SplitMix64;

/// The inputs for a rounding step whose source is wide: one batch, or one for each scale.
fn telling_inputs(step: Step) -> Vec<Vec<Input>> {
    let Step { src, dst, .. } = step;
    let mut random = SplitMix64::new(dst as u64 + 1);
    if step.scaling != Scaling::None {
        let batch = |&scale: &u32| {
            let power = if scale == 0xff { 0 } else { scale as i32 - 127 };
            let mut codes = special_codes(src);
            codes.extend(telling_codes(src, dst, power));
            codes.extend(random_codes_in_range(&mut random, src, dst, power, 1000));
            codes.extend(random_codes(&mut random, src, 1000));
            codes.into_iter().map(|code| (code, scale)).collect()
        };
        return SCALES.iter().map(batch).collect();
    }
    let mut codes = special_codes(src);
    codes.extend(telling_codes(src, dst, 0));
    codes.extend(random_codes_in_range(&mut random, src, dst, 0, 8000));
    codes.extend(random_codes(&mut random, src, 20_000));
    if step.rounding == Rounding::Stochastic {
        return vec![with_random_bits(&mut random, src, dst, &codes)];
    }
    vec![codes.into_iter().map(|code| (code, 0)).collect()]
}

/// Compares what `which` selects, and sees to it that there was enough to compare.
fn telling(which: impl Fn(Step) -> bool + Sync, at_least: usize) {
    let compared = compare_all(|step| if which(step) { telling_inputs(step) } else { Vec::new() });
    assert!(compared >= at_least, "only {compared} results were compared");
}

fn is_narrow(format: Format) -> bool {
    !format.is_int() && width(format) <= 8
}

// R-CVT-27, R-CVT-33, R-CVT-42, R-CVT-43, R-CVT-44, R-CVT-45, R-CVT-73.
#[test]
fn f32_to_integers() {
    telling(|step| step.src == Format::F32 && step.dst.is_int(), 8 * 4 * 28_000);
}

// R5.2.3-10, R5.2.3-13, R-CVT-9, R-CVT-28, R-CVT-29, R-CVT-30, R-CVT-34, R-CVT-35, R-CVT-36, R-CVT-37,
// R-CVT-38, R-CVT-39, R-CVT-40, R-CVT-67, R-CVT-68, R-CVT-70, R-CVT-71, R-CVT-72, R-CVT-73, R-CVT-83,
// R-CVT-84, R-CVT-85, R-CVT-87, R-CVT-94.
#[test]
fn f32_to_wide_floats_and_integral_values() {
    let wide = |step: Step| !step.dst.is_int() && !is_narrow(step.dst);
    telling(
        |step| step.src == Format::F32 && wide(step) && step.rounding != Rounding::Stochastic,
        12 * 48_000,
    );
}

// R5.2.3-4, R5.2.3-5, R5.2.3-6, R5.2.3-8, R5.2.3-15, R5.2.3-16, R5.2.3-19, R5.2.3-20, R5.2.3-23,
// R5.2.3-24, R5.2.3-25, R5.2.3-28, R5.2.3-29, R5.2.3-30, R5.2.3-31, R5.2.3-38, R-CVT-10, R-CVT-11,
// R-CVT-12, R-CVT-13, R-CVT-14, R-CVT-15, R-CVT-16, R-CVT-68, R-CVT-69, R-CVT-70, R-CVT-71, R-CVT-72,
// R-CVT-91.
#[test]
fn f32_to_narrow_formats() {
    telling(
        |step| {
            let plain = step.rounding != Rounding::Stochastic && step.scaling == Scaling::None;
            step.src == Format::F32 && is_narrow(step.dst) && plain
        },
        9 * 2 * 28_000,
    );
}

// `.scaled::n1::ue8m0`, and `.scaled::n2::ue8m0` to s2f6.
#[test]
fn f32_to_narrow_formats_with_a_scale() {
    telling(
        |step| step.src == Format::F32 && is_narrow(step.dst) && step.scaling != Scaling::None,
        7 * 2 * SCALES.len() * 2000,
    );
}

// R-CVT-41, R-CVT-96.
#[test]
fn f32_with_random_bits() {
    telling(|step| step.rounding == Rounding::Stochastic, 7 * 2 * 80_000);
}

// R-CVT-27, R-CVT-33, R-CVT-42, R-CVT-43, R-CVT-44, R-CVT-45.
#[test]
fn f64_to_integers() {
    telling(|step| step.src == Format::F64 && step.dst.is_int(), 8 * 4 * 28_000);
}

// R-CVT-29, R-CVT-30, R-CVT-34, R-CVT-35, R-CVT-36, R-CVT-38, R-CVT-39, R-CVT-40, R-CVT-67, R-CVT-73.
#[test]
fn f64_to_floats_and_integral_values() {
    telling(|step| step.src == Format::F64 && !step.dst.is_int(), 4 * 4 * 48_000);
}

#[test]
fn no_other_wide_float_is_a_source() {
    let known = |step: &Step| matches!(step.src, Format::F32 | Format::F64) || step.src.is_int();
    assert!(conversions().keys().all(|step| known(step) || width(step.src) <= 16));
}
