//! The loops compiled for different CPU features agree, and so do loops of all lengths.
//!
//! The level is chosen once per process, so each level gets a process of its own: this test binary again.

use crate::reference::cases::{conversions, random_codes, special_codes, to_bytes};
use crate::reference::layout::{count, width};
use softwarp_num::slice::{convert_packed, packed_len};
use softwarp_num::{
    Conversion, ConversionLoop, Format, LEVEL_VARIABLE, Level, Rounding, Saturation, Scaling,
};
use softwarp_testkit::SplitMix64;
use std::process::Command;

/// Sources and auxiliary input for a conversion: all codes where they are few.
fn input(compiled: &ConversionLoop) -> (Vec<u8>, Vec<u8>) {
    let c = compiled.conversion();
    let mut random = SplitMix64::new(c.src as u64);
    let codes: Vec<u64> = if width(c.src) <= 16 {
        (0..count(c.src)).collect()
    } else {
        let mut codes = special_codes(c.src);
        codes.extend(random_codes(&mut random, c.src, 30_000));
        codes
    };
    let aux = to_bytes(codes.iter().map(|_| random.next_u64()), compiled.aux_bytes());
    (to_bytes(codes.into_iter(), c.src.bytes()), aux)
}

fn convert(compiled: &ConversionLoop, src: &[u8], aux: &[u8]) -> Vec<u8> {
    let c = compiled.conversion();
    let mut dst = vec![0; src.len() / c.src.bytes() * c.dst.bytes()];
    compiled.run(src, aux, &mut dst);
    dst
}

/// FNV-1a.
fn digest(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

#[test]
#[ignore = "for the child processes of every_level_gives_the_same_results"]
fn print_digests_of_this_level() {
    println!("level {}", Level::current().name());
    for compiled in conversions().values().flatten() {
        let (src, aux) = input(compiled);
        println!("digest {:016x} {:?}", digest(&convert(compiled, &src, &aux)), compiled.conversion());
    }
}

#[test]
fn every_level_gives_the_same_results() {
    let report = |level: Level| -> Vec<String> {
        let output = Command::new(std::env::current_exe().expect("the path of this binary"))
            .args(["--exact", "levels::print_digests_of_this_level", "--ignored", "--nocapture"])
            .env(LEVEL_VARIABLE, level.name())
            .output()
            .expect("this binary runs again");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).expect("the report is text");
        let used = format!("level {}", level.min(Level::best()).name());
        assert!(text.lines().any(|line| line.ends_with(&used)), "no {used} in {text}");
        text.lines().filter(|line| line.starts_with("digest")).map(str::to_owned).collect()
    };
    let baseline = report(Level::Baseline);
    assert!(baseline.len() > 500, "{} conversions reported", baseline.len());
    for level in [Level::Avx2, Level::Avx512] {
        if level > Level::best() {
            println!("this CPU has no {}: not compared", level.name());
        }
        let other = report(level);
        assert_eq!(other.len(), baseline.len());
        let differing: Vec<_> = other.iter().zip(&baseline).filter(|(a, b)| a != b).collect();
        assert!(differing.is_empty(), "{} differs from baseline: {differing:#?}", level.name());
    }
}

/// Lengths around what loops are cut into: vectors of up to 64 bytes, a few of them at a time, and strides
/// of 256 elements.
fn lengths(most: usize) -> impl Iterator<Item = usize> {
    (0..=most).filter(|n| n % 256 < 70 || n % 256 > 185)
}

#[test]
fn short_runs_are_the_beginning_of_long_ones() {
    for compiled in conversions().values().flatten() {
        let c = compiled.conversion();
        let (src, aux) = input(compiled);
        let most = 600.min(src.len() / c.src.bytes());
        // From the end: that is where infinities and NaNs are.
        let src = &src[src.len() - most * c.src.bytes()..];
        let aux = &aux[..most * compiled.aux_bytes()];
        let long = convert(compiled, src, aux);
        for n in lengths(most) {
            let mut dst = vec![0xa5; long.len()];
            let (filled, rest) = dst.split_at_mut(n * c.dst.bytes());
            compiled.run(&src[..n * c.src.bytes()], aux, filled);
            assert_eq!(*filled, long[..filled.len()], "{n} elements of {c:?}");
            assert!(rest.iter().all(|&byte| byte == 0xa5));
        }
    }
}

/// Elements as they lie in an array: 4-bit codes two to a byte, the first in the low half.
fn packed(format: Format, bytes: &[u8]) -> Vec<u8> {
    match width(format) {
        4 => bytes.chunks(2).map(|two| two[0] & 15 | two.get(1).unwrap_or(&0) << 4).collect(),
        _ => bytes.to_vec(),
    }
}

#[test]
fn arrays_hold_two_4_bit_codes_in_a_byte() {
    for compiled in conversions().values().flatten() {
        let c = compiled.conversion();
        let (src, aux) = input(compiled);
        // 16 codes are not enough to fill a stride.
        let (src, aux) = (src.repeat(50), aux.repeat(50));
        let most = 600.min(src.len() / c.src.bytes());
        for n in lengths(most) {
            let src = &src[..n * c.src.bytes()];
            let right = packed(c.dst, &convert(compiled, src, &aux));
            let mut dst = vec![0xa5; right.len()];
            compiled.run_packed(&packed(c.src, src), &aux, &mut dst);
            assert_eq!(dst, right, "{n} elements of {c:?}");
        }
    }
}

#[test]
fn large_arrays_are_cut_into_pieces() {
    let up = Conversion { scaling: Scaling::Multiply, ..Conversion::new(Format::E2m1, Format::Bf16) };
    let down = Conversion::new(Format::F32, Format::E2m1).with_saturation(Saturation::Finite);
    let random = down.with_rounding(Rounding::Stochastic);
    for c in [up, down, random, Conversion::new(Format::F32, Format::F16)] {
        let compiled = c.compiled().expect("the conversion exists");
        let n = 1_200_001;
        let mut numbers = SplitMix64::new(5);
        let src = to_bytes(random_codes(&mut numbers, c.src, n).into_iter(), c.src.bytes());
        let aux = to_bytes(random_codes(&mut numbers, Format::U16, n).into_iter(), compiled.aux_bytes());
        let right = packed(c.dst, &convert(&compiled, &src, &aux));
        let mut dst = vec![0xa5; packed_len(c.dst, n)];
        convert_packed(&compiled, &packed(c.src, &src), &aux, &mut dst);
        assert!(dst == right, "{c:?}");
    }
}
