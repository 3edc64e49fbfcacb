//! Conversions give the same bits whatever floating-point environment the host program has set, and leave it as it was.

#![cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]

mod odd_environment;

use odd_environment::{ODD, get, set, within};
use softwarp_num::block::{BlockFormat, dequantize, quantize};
use softwarp_num::slice::{convert_packed, packed_len};
use softwarp_num::{Conversion, Format, Rounding, Saturation, with_standard_floats};
use softwarp_testkit::SplitMix64;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Numbers of f32: any, halves of the last bits of smaller formats, subnormals of all of them.
fn numbers() -> Vec<f32> {
    let mut random = SplitMix64::new(1);
    let random = std::iter::repeat_with(move || f32::from_bits(random.next_u32()));
    let telling =
        [1.0 + f32::EPSILON, 0.1, -0.1, 1e-40, -1e-40, 3e-39, 6e-8, 65519.9, 448.1, f32::from_bits(1)];
    telling.into_iter().chain(random.filter(|x| !x.is_nan())).take(1 << 12).collect()
}

fn bytes(numbers: &[f32]) -> Vec<u8> {
    numbers.iter().flat_map(|x| x.to_le_bytes()).collect()
}

/// Conversions of all kinds, on an array and on single values. (The numbers are made before: where exceptions trap, a
/// comparison with a NaN would.)
fn converted(array: &[u8]) -> Vec<u8> {
    let mut all = Vec::new();
    for dst in [Format::E4m3, Format::E5m2, Format::F16, Format::Bf16, Format::Tf32, Format::F64, Format::S32]
    {
        for rounding in [Rounding::NearestEven, Rounding::TowardZero, Rounding::Up, Rounding::Down] {
            for saturation in [Saturation::None, Saturation::Finite] {
                let c = Conversion { rounding, saturation, ..Conversion::new(Format::F32, dst) };
                let Some(compiled) = c.compiled() else { continue };
                let mut out = vec![0; packed_len(dst, array.len() / 4)];
                compiled.run_packed(array, &[], &mut out);
                all.extend(&out);
                let one = compiled.one(u64::from(0.1f32.to_bits()), 0);
                all.extend(one.to_le_bytes());
            }
        }
    }
    // Decoded to f32 and f64, and rounded from them.
    for code in 0..=255 {
        all.extend(Format::E5m2.decode(code).to_bits().to_le_bytes());
        all.extend(Format::F32.decode(code).to_bits().to_le_bytes());
        all.push(Format::F64.classify(code) as u8);
    }
    all.extend(Format::U64.decode(u64::MAX - 1024).to_bits().to_le_bytes());
    for format in [Format::E4m3, Format::F16, Format::F32, Format::Ue8m0] {
        for value in [0.1, 1e-7, 1e-320, 3e38] {
            let code = format.encode(value, Rounding::TowardZero, Saturation::Finite);
            all.extend(code.unwrap_or(0).to_le_bytes());
        }
    }
    all
}

fn finite() -> Vec<f32> {
    numbers().into_iter().map(|x| if x.is_finite() { x } else { 1.0 }).collect()
}

fn quantized(numbers: &[f32]) -> Vec<u8> {
    let mut all = Vec::new();
    for format in BlockFormat::ALL {
        let quantized = quantize(format, numbers, 64);
        all.extend(&quantized.codes);
        all.extend(&quantized.scales);
        all.extend(quantized.tensor_scale.to_bits().to_le_bytes());
        all.extend(bytes(&dequantize(&quantized, numbers.len(), 64)));
    }
    all
}

/// A large array, which is converted on all threads.
fn in_parallel(array: &[u8]) -> Vec<u8> {
    let compiled = Conversion::new(Format::F32, Format::F16).compiled().expect("it exists");
    let mut out = vec![0; array.len() / 2];
    convert_packed(&compiled, array, &[], &mut out);
    out
}

#[test]
fn conversions_do_not_depend_on_the_host_s_environment() {
    let standard = get();
    let (array, finite) = (bytes(&numbers()), finite());
    let (plain, blocks) = (converted(&array), quantized(&finite));
    assert_eq!(get(), standard);
    for &word in ODD {
        assert!(within(word, || converted(&array)) == plain, "conversions in environment {word:#x}");
        assert!(within(word, || quantized(&finite)) == blocks, "block formats in environment {word:#x}");
    }
}

/// The threads of a pool that the host has made may be in such an environment, too.
#[test]
fn nor_on_that_of_worker_threads() {
    let (array, finite) = (bytes(&numbers()).repeat(300), finite());
    let (plain, blocks) = (in_parallel(&array), quantized(&finite));
    for &word in ODD {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(3)
            .start_handler(move |_| {
                set(word);
            })
            .build()
            .expect("a pool");
        let (ours, theirs) = pool.install(|| (in_parallel(&array), quantized(&finite)));
        assert!(ours == plain, "an array in environment {word:#x}");
        assert!(theirs == blocks, "block formats in environment {word:#x}");
        let after = pool.broadcast(|_| get());
        assert!(after.iter().all(|&after| after == bits_of(word)), "{after:x?}, not {word:#x}");
    }
}

/// What [`get`] gives in such an environment.
fn bits_of(word: u64) -> u64 {
    let before = set(word);
    let bits = get();
    set(before);
    bits
}

#[test]
fn a_panic_restores_it() {
    for &word in ODD {
        let before = set(word);
        let caught = catch_unwind(AssertUnwindSafe(|| with_standard_floats(|| panic!("in the middle"))));
        let after = set(before);
        assert!(caught.is_err());
        assert_eq!(after, bits_of(word));
    }
}

/// A sum that is rounded, and a product that is subnormal.
fn sum_and_product() -> [u32; 2] {
    let number = std::hint::black_box::<f32>;
    [number(1.0) + number(1e-10), number(1e-20) * number(1e-20)].map(f32::to_bits)
}

/// Otherwise the other tests would say nothing: the first environment rounds up, the fourth flushes subnormals.
#[test]
fn the_environments_are_odd() {
    assert_eq!(sum_and_product(), [0x3f80_0000, 0x0001_16c2]);
    assert_eq!(within(ODD[0], sum_and_product), [0x3f80_0001, 0x0001_16c3]);
    assert_eq!(within(ODD[3], sum_and_product), [0x3f80_0000, 0]);
}

#[test]
fn inside_it_arithmetic_is_the_standard_s() {
    for &word in ODD {
        let results = within(word, || with_standard_floats(sum_and_product));
        assert_eq!(results, [0x3f80_0000, 0x0001_16c2], "{word:#x}");
    }
}
