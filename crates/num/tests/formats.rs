//! The formats themselves: what every code stands for, limits, and encoding, against the reference.
//!
//! PTX ISA 5.2.3.

mod reference;

use reference::cases::{random_codes, random_codes_in_range, special_codes, telling_codes};
use reference::exact::Exact;
use reference::layout::{Number, count, infinity, is_subnormal, largest, layout_of, number, values, width};
use reference::round::{choose, listed_neighbours, neighbours, spaced_neighbours};
use reference::{Rounded, Step, expected, nan};
use softwarp_num::{Class, Conversion, Format, Kind, Rounding, Saturation, Scaling};
use softwarp_testkit::SplitMix64;

/// All codes where they are few, else a good many.
fn codes(format: Format) -> Vec<u64> {
    if width(format) <= 16 {
        return (0..count(format)).collect();
    }
    let mut codes = special_codes(format);
    codes.extend(random_codes(&mut SplitMix64::new(3), format, 50_000));
    if format == Format::Tf32 {
        codes.iter_mut().for_each(|code| *code &= !0x1fff);
    }
    codes
}

// R5.2.3-1, R5.2.3-2, R5.2.3-4, R5.2.3-8, R5.2.3-10, R5.2.3-15, R5.2.3-19, R5.2.3-24, R5.2.3-29,
// R5.2.3-34, R-CVT-8, R-CVT-9, R-CVT-10, R-CVT-11, R-CVT-12, R-CVT-13, R-CVT-14, R-CVT-15, R-CVT-16.
#[test]
fn every_code_decodes_to_its_exact_value() {
    for format in Format::ALL {
        for code in codes(format) {
            let decoded = number(Format::F64, format.decode(code).to_bits());
            let right = match number(format, code) {
                // 64-bit integers are rounded to nearest.
                Number::Finite { negative, value } if width(format) == 64 && format.is_int() => {
                    let chosen =
                        choose(Rounding::NearestEven, &value, neighbours(Format::F64, &value), (0, 1));
                    Number::Finite { negative, value: chosen.value }
                }
                right => right,
            };
            assert_eq!(decoded, right, "{format} {code:x}");
        }
    }
}

// R5.2.3-5, R5.2.3-6, R5.2.3-8, R5.2.3-16, R5.2.3-20, R5.2.3-25, R5.2.3-30, R5.2.3-31, R5.2.3-35,
// R5.2.3-36.
#[test]
fn infinities_and_nans_are_where_the_manual_says() {
    let rows: [(Format, &[u64], &[u64]); 9] = [
        (Format::E4m3, &[], &[0x7f, 0xff]),
        (Format::E5m2, &[0x7c, 0xfc], &[0x7d, 0x7e, 0x7f, 0xfd, 0xfe, 0xff]),
        (Format::E2m3, &[], &[]),
        (Format::E3m2, &[], &[]),
        (Format::E2m1, &[], &[]),
        (Format::Ue8m0, &[], &[0xff]),
        (Format::Ue4m3, &[], &[0x7f]),
        (Format::Ue5m3, &[], &[0xff]),
        (Format::S2f6, &[], &[]),
    ];
    for (format, infinite, nan) in rows {
        let of =
            |class| (0..count(format)).filter(|&code| format.classify(code) == class).collect::<Vec<_>>();
        assert_eq!(of(Class::Infinite), infinite, "{format}");
        assert_eq!(of(Class::Nan), nan, "{format}");
    }
}

// R5.2.3-15, R5.2.3-19, R5.2.3-24, R-CVT-16: a few, written out by hand.
#[test]
fn some_values_by_hand() {
    let e2m1 = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0];
    for (code, value) in (0..).zip(e2m1) {
        assert_eq!(Format::E2m1.decode(code), value);
        assert_eq!(Format::E2m1.decode(code | 8).to_bits(), (-value).to_bits());
    }
    let rows = [
        (Format::E4m3, 0x7e, 448.0),
        (Format::E4m3, 0x01, 0.001953125),
        (Format::E5m2, 0x7b, 57344.0),
        (Format::E2m3, 0x1f, 7.5),
        (Format::E2m3, 0x01, 0.125),
        (Format::E3m2, 0x1f, 28.0),
        (Format::E3m2, 0x21, -0.0625),
        (Format::Ue8m0, 0x00, 2f64.powi(-127)),
        (Format::Ue8m0, 0xfe, 2f64.powi(127)),
        (Format::Ue4m3, 0x7e, 448.0),
        (Format::Ue5m3, 0xfe, 114_688.0),
        (Format::S2f6, 0x80, -2.0),
        (Format::S2f6, 0x7f, 1.984375),
        (Format::F16, 0x7bff, 65504.0),
        (Format::Bf16, 0x3f80, 1.0),
        (Format::Tf32, 0x3f80_2000, 1.0009765625),
    ];
    for (format, code, value) in rows {
        assert_eq!(format.decode(code), value, "{format} {code:x}");
    }
}

// R5.2.3-1, R5.2.3-2, R5.2.3-4, R5.2.3-5, R5.2.3-6, R5.2.3-8, R5.2.3-10, R5.2.3-11, R5.2.3-12, R5.2.3-15,
// R5.2.3-16, R5.2.3-19, R5.2.3-20, R5.2.3-24, R5.2.3-25, R5.2.3-29, R5.2.3-30, R5.2.3-31, R5.2.3-34,
// R5.2.3-35, R5.2.3-36: widths, limits, and what kind of number each code is.
#[test]
fn widths_limits_and_classes() {
    for format in Format::ALL {
        assert_eq!(format.bits(), width(format), "{format} {:?}", layout_of(format));
        assert_eq!(format.max_finite(), largest(format, false), "{format}");
        let unsigned = matches!(format, Format::Ue8m0 | Format::Ue4m3 | Format::Ue5m3);
        assert_eq!(format.min_finite(), if unsigned { 0 } else { largest(format, true) }, "{format}");
        assert_eq!(format.infinity(), infinity(format, false), "{format}");
        assert_eq!(format.canonical_nan(), nan::canonical(format), "{format}");
        for code in codes(format) {
            let right = match number(format, code) {
                Number::Nan => Class::Nan,
                Number::Infinite { .. } => Class::Infinite,
                Number::Finite { value, .. } if value.is_zero() => Class::Zero,
                Number::Finite { .. } if is_subnormal(format, code) => Class::Subnormal,
                Number::Finite { .. } => Class::Normal,
            };
            assert_eq!(format.classify(code), right, "{format} {code:x}");
        }
    }
    assert_eq!(Format::Ue4m3.bits(), 7);
    assert!(matches!(Format::Tf32.spec().kind, Kind::Float { mantissa: 10, padding: 13, .. }));
    assert!(Format::Tf32.spec().about.contains("matrix instructions"));
}

#[test]
fn neighbours_are_those_in_the_list() {
    for format in Format::ALL.into_iter().filter(|&format| width(format) <= 16) {
        let list = values(format);
        for pair in list.windows(2) {
            let [(_, low), (_, high)] = pair else { unreachable!() };
            // By value: either zero will do.
            let value = |code: Option<u64>| code.map(|code| format.decode(code));
            assert_eq!(value(format.next_up(*low)), value(Some(*high)), "{format} {low:x}");
            assert_eq!(value(format.next_down(*high)), value(Some(*low)), "{format} {high:x}");
        }
    }
}

/// Rounding an f64 to a format, by the reference; NaN aside.
fn encoded(format: Format, x: f64, rounding: Rounding, saturation: Saturation) -> u64 {
    expected(Conversion { rounding, saturation, ..Conversion::new(Format::F64, format) }, x.to_bits(), 0)
}

#[test]
fn encoding_rounds_once() {
    use Rounding::{Down, NearestAway, NearestEven, TowardZero, Up};
    let mut differences = Vec::new();
    for format in Format::ALL {
        let mut codes = special_codes(Format::F64);
        codes.extend(telling_codes(Format::F64, format, 0).into_iter().step_by(3));
        codes.extend(random_codes_in_range(&mut SplitMix64::new(21), Format::F64, format, 0, 2000));
        let mut encoded_at_all = 0;
        for rounding in [NearestEven, NearestAway, TowardZero, Down, Up] {
            for saturation in [Saturation::None, Saturation::Finite] {
                let wrong = |x: &f64| {
                    let ours = format.encode(*x, rounding, saturation)?;
                    let right = encoded(format, *x, rounding, saturation);
                    let any_nan = x.is_nan() && format.classify(ours) == Class::Nan;
                    (ours != right && !any_nan).then(|| format!("{x:e} gave {ours:x}, not {right:x}"))
                };
                let values = codes.iter().map(|&code| f64::from_bits(code));
                let rows: Vec<_> = values.clone().filter_map(|x| wrong(&x)).collect();
                encoded_at_all += values.filter_map(|x| format.encode(x, rounding, saturation)).count();
                if let Some(first) = rows.first() {
                    differences
                        .push(format!("{format} {rounding:?} {saturation:?}: {} ({first})", rows.len()));
                }
            }
        }
        assert!(encoded_at_all >= 2 * codes.len(), "{format}");
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

// The reference has two ways to find neighbours; where both work they must agree.
#[test]
fn the_reference_agrees_with_itself() {
    let formats =
        [Format::F16, Format::Bf16, Format::E4m3, Format::E5m2, Format::E2m3, Format::E3m2, Format::E2m1];
    for format in formats {
        for code in telling_codes(Format::F32, format, 0) {
            let Number::Finite { value, .. } = number(Format::F32, code) else { continue };
            let (listed, spaced) = (listed_neighbours(format, &value), spaced_neighbours(format, &value));
            for (listed, spaced) in [(&listed.0, &spaced.0), (&listed.1, &spaced.1)] {
                // Beyond the range the spacing goes on growing, and the list ends.
                if spaced.code.is_none() {
                    assert!(listed.code.is_none(), "{format} {code:x}");
                    continue;
                }
                assert_eq!(listed.value, spaced.value, "{format} {code:x}");
                assert_eq!(listed.even, spaced.even, "{format} {code:x}");
                let zero = listed.value.is_zero();
                assert!(zero || listed.code == spaced.code, "{format} {code:x}");
            }
        }
    }
}

// The reference itself, on results written down by hand from the definitions.
#[test]
fn the_reference_rounds_by_the_book() {
    let step = |dst, rounding| Step {
        src: Format::F64,
        dst,
        rounding,
        integral: false,
        ftz: false,
        scaling: Scaling::None,
    };
    let round = |dst, rounding, x: f64| match step(dst, rounding).round(x.to_bits(), 0) {
        Rounded::Finite { code, .. } => Some(code),
        _ => None,
    };
    use Rounding::{Down, NearestAway, NearestEven, TowardZero, Up};
    // Between 16 and 18: a tie at 17.
    assert_eq!(round(Format::E4m3, NearestEven, 17.0), Some(0x58));
    assert_eq!(round(Format::E4m3, NearestAway, 17.0), Some(0x59));
    assert_eq!(round(Format::E4m3, TowardZero, -17.9), Some(0x58));
    assert_eq!(round(Format::E4m3, Down, -16.1), Some(0x59));
    assert_eq!(round(Format::E4m3, Up, 16.1), Some(0x59));
    // 448 is even and 480 is not: the tie stays. In e5m2 57344 is odd, and 61440 goes over.
    assert_eq!(round(Format::E4m3, NearestEven, 464.0), Some(0x7e));
    assert_eq!(round(Format::E4m3, NearestEven, 464.001), None);
    assert_eq!(round(Format::E5m2, NearestEven, 61440.0), None);
    assert_eq!(round(Format::E5m2, NearestEven, 61439.9), Some(0x7b));
    assert_eq!(round(Format::S32, NearestEven, 2.5), Some(2));
    assert_eq!(round(Format::S32, NearestEven, -3.5), Some(0xffff_fffc));
    assert_eq!(round(Format::F32, NearestEven, 16_777_217.0), Some(0x4b80_0000));
    assert_eq!(Exact::new(3, -1).times(2), Exact::new(3, 0));
}
