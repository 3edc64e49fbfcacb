//! The tables of ml_dtypes, a library that many people convert with: where it and PTX mean the same, the
//! results are equal.
//!
//! They differ by design in these, and the tests leave out nothing else:
//! - NaN: theirs keeps the sign, and in e5m2 is 7e or fe; PTX gives 7f. In e2m3, e3m2 and e2m1 it becomes
//!   a zero of the other sign there and the largest number here.
//! - ue8m0: ml_dtypes rounds to nearest with ties upwards (and everything between 2^-127 and 2^-126 up), PTX
//!   toward zero or up; zero and negative numbers are NaN there, and the magnitude counts here.

use crate::reference::cases::{Input, run};
use serde_json::Value;
use softwarp_num::{Class, Conversion, Format, Rounding, Saturation};
use softwarp_testkit::recording;

fn table(name: &str) -> Value {
    let path = recording::golden("num", &format!("{name}.json.gz"));
    serde_json::from_reader(recording::open(&path))
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The results by source code, for a source and destination.
fn down(table: &Value, src: Format, dst: Format) -> Vec<u64> {
    let hex = table[format!("from_{src}")][dst.name()].as_str().expect("a row of hex");
    let byte = |at| u64::from_str_radix(&hex[at..at + 2], 16).expect("a byte");
    let codes: Vec<_> = (0..hex.len()).step_by(2).map(byte).collect();
    assert_eq!(codes.len(), 1 << 16);
    codes
}

fn ours(c: Conversion) -> Vec<u64> {
    let inputs: Vec<Input> = (0..1 << 16).map(|code| (code, 0)).collect();
    run(&c.compiled().expect("the conversion exists"), &inputs)
}

fn is_nan(format: Format, code: u64) -> bool {
    format.classify(code) == Class::Nan
}

// R5.2.3-4, R5.2.3-5, R5.2.3-6, R5.2.3-8, R5.2.3-15, R5.2.3-19, R5.2.3-24, R5.2.3-29.
#[test]
fn codes_decode_to_the_same_numbers() {
    let table = table("up");
    for format in [Format::E4m3, Format::E5m2, Format::E2m3, Format::E3m2, Format::E2m1, Format::Ue8m0] {
        let row = table[format.name()].as_array().expect("a row");
        assert_eq!(row.len(), 1 << format.bits());
        let to_f32 = Conversion::new(format, Format::F32).compiled().expect("the conversion exists");
        for (code, theirs) in (0..).zip(row) {
            let theirs = u32::from_str_radix(theirs.as_str().expect("hex"), 16).expect("hex");
            let value = f32::from_bits(theirs);
            let decoded = format.decode(code);
            if value.is_nan() {
                assert!(decoded.is_nan() && is_nan(format, code), "{format} {code:x}");
            } else {
                assert_eq!(decoded.to_bits(), f64::from(value).to_bits(), "{format} {code:x}");
                assert_eq!(to_f32.one(code, 0), u64::from(theirs), "{format} {code:x}");
            }
        }
    }
}

// R-CVT-10, R-CVT-11, R-CVT-29, R-CVT-36.
#[test]
fn fp8_without_saturation() {
    let table = table("down");
    for src in [Format::Bf16, Format::F16] {
        for dst in [Format::E4m3, Format::E5m2] {
            let theirs = down(&table, src, dst);
            for (code, (ours, theirs)) in (0..).zip(ours(Conversion::new(src, dst)).into_iter().zip(theirs)) {
                let same =
                    if is_nan(src, code) { is_nan(dst, ours) && is_nan(dst, theirs) } else { ours == theirs };
                assert!(same, "{src} {code:04x} to {dst}: {ours:02x}, ml_dtypes {theirs:02x}");
            }
        }
    }
}

// R-CVT-10, R-CVT-11, R-CVT-12, R-CVT-13, R-CVT-14, R-CVT-36, R-CVT-69, R-CVT-70.
#[test]
fn saturating_to_fp8_fp6_and_fp4() {
    let table = table("down");
    for src in [Format::Bf16, Format::F16] {
        for dst in [Format::E4m3, Format::E5m2, Format::E2m3, Format::E3m2, Format::E2m1] {
            let theirs = down(&table, src, dst);
            let c = Conversion::new(src, dst).with_saturation(Saturation::Finite);
            for (code, (ours, theirs)) in (0..).zip(ours(c).into_iter().zip(theirs)) {
                let negative = code & 0x8000 != 0;
                let theirs = match dst.classify(theirs) {
                    _ if is_nan(src, code) => dst.canonical_nan().unwrap_or(dst.max_finite()),
                    // FP8 overflows there; what is beyond the largest number must be it here.
                    Class::Nan | Class::Infinite if negative => dst.min_finite(),
                    Class::Nan | Class::Infinite => dst.max_finite(),
                    _ => theirs,
                };
                assert_eq!(ours, theirs, "{src} {code:04x} to {dst}");
            }
        }
    }
}

// R5.2.3-29, R-CVT-15: of our results, toward zero and up, the one that is nearer is theirs.
#[test]
fn ue8m0_is_next_to_theirs() {
    let theirs = down(&table("down"), Format::Bf16, Format::Ue8m0);
    let c = Conversion::new(Format::Bf16, Format::Ue8m0).with_saturation(Saturation::Finite);
    let below = ours(c.with_rounding(Rounding::TowardZero));
    let above = ours(c.with_rounding(Rounding::Up));
    for code in 1..0x7f80 {
        let (below, above, theirs) = (below[code], above[code], theirs[code]);
        let mantissa = code & 0x7f;
        let right = match code {
            // Nearest to 2^128: NaN there, the largest with saturation here.
            0x7f40.. => 0xfe,
            0x80.. if mantissa >= 0x40 => above,
            0x80.. => below,
            // 0040 is the least power, 2^-127, and everything up to it becomes it.
            ..=0x40 => 0,
            _ => above,
        };
        let theirs = if code >= 0x7f40 && theirs == 0xff { 0xfe } else { theirs };
        assert_eq!(theirs, right, "bf16 {code:04x}: ours {below:02x} and {above:02x}");
        assert!(above - below <= 1);
    }
}
