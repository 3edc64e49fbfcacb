//! Conversions of large arrays, against memcpy and against other Rust converters, in one run.
//!
//! usage: `softwarp-bench [--json] [ELEMENTS]` (16 Mi elements unless told)
//!
//! Every candidate of a row is timed in turn, over and over, and its best time counts, so that anything else
//! the machine does falls on all of them alike. memcpy moves as many bytes, read and written, as the
//! conversion does. softwarp finds the machine's features by itself; the others need a build with
//! `RUSTFLAGS="-C target-cpu=native"`. `compare.py` beside this runs both builds and adds the Python others.

#![forbid(unsafe_code)]

use half::slice::HalfFloatSliceExt;
use half::{bf16, f16};
use minifloat::{F4E2M1FN, F8E4M3FN, F8E5M2};
use softwarp_bench::SplitMix64;
use softwarp_num::slice::{convert_packed, packed_len};
use softwarp_num::{Conversion, Format, Level, Saturation};
use std::hint::black_box;
use std::time::Instant;

const ROUNDS: usize = 40;

/// A way to do a row's conversion.
struct Candidate<'a> {
    name: &'static str,
    run: Box<dyn FnMut() + 'a>,
    best: f64,
}

struct Data {
    floats: Vec<f32>,
    bytes: Vec<u8>,
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let json = arguments.iter().any(|argument| argument == "--json");
    let elements = arguments.iter().find_map(|argument| argument.parse().ok()).unwrap_or(16 << 20);
    let data = Data::new(elements);
    let two = rayon::ThreadPoolBuilder::new().num_threads(2).build().expect("two threads");

    let mut rows = Vec::new();
    for (src, dst) in [
        (Format::F32, Format::E4m3),
        (Format::F32, Format::E5m2),
        (Format::F32, Format::E2m1),
        (Format::F32, Format::F16),
        (Format::F32, Format::Bf16),
        (Format::E4m3, Format::F32),
        (Format::E2m1, Format::F32),
    ] {
        let bytes = packed_len(src, elements) + packed_len(dst, elements);
        let times = compare(src, dst, elements, &data, &two);
        rows.push((src, dst, bytes, times));
    }
    if json {
        let rows: Vec<_> = rows
            .iter()
            .map(|(src, dst, bytes, times)| {
                let times: serde_json::Map<_, _> =
                    times.iter().map(|(name, time)| ((*name).to_owned(), (*time).into())).collect();
                serde_json::json!({"from": src.name(), "to": dst.name(), "bytes": bytes, "seconds": times})
            })
            .collect();
        println!(
            "{}",
            serde_json::json!({"elements": elements, "level": Level::current().name(), "rows": rows})
        );
        return;
    }
    println!("{elements} elements, {}: M elements/s (time / memcpy's)", Level::current().name());
    for (src, dst, _, times) in rows {
        let memcpy = times.iter().find(|(name, _)| *name == "memcpy").map_or(f64::NAN, |(_, time)| *time);
        print!("{:12}", format!("{src}→{dst}"));
        for (name, time) in times {
            print!("  {name} {:.0} ({:.2})", elements as f64 / time / 1e6, time / memcpy);
        }
        println!();
    }
}

impl Data {
    /// Numbers of either sign around one, with some that are subnormal in the narrow formats.
    fn new(elements: usize) -> Data {
        let mut random = SplitMix64::new(1);
        let floats = (0..elements).map(|_| (random.next_u32() as f32 / 2f32.powi(31) - 1.0) * 8.0).collect();
        let bytes = (0..elements).map(|_| random.next_u64() as u8).collect();
        Data { floats, bytes }
    }
}

/// The best time of each candidate, in seconds.
fn compare(
    src: Format,
    dst: Format,
    elements: usize,
    data: &Data,
    two: &rayon::ThreadPool,
) -> Vec<(&'static str, f64)> {
    let down = src == Format::F32;
    let saturation = if down && dst.bits() <= 8 { Saturation::Finite } else { Saturation::None };
    let compiled = Conversion::new(src, dst).with_saturation(saturation).compiled().expect("a conversion");
    let source: Vec<u8> = if down {
        data.floats.iter().flat_map(|x| x.to_le_bytes()).collect()
    } else {
        data.bytes[..packed_len(src, elements)].to_vec()
    };
    let (read, written) = (packed_len(src, elements), packed_len(dst, elements));
    let mut out = vec![1u8; written];
    let mut out_two = vec![1u8; written];
    let moved = (read + written) / 2;
    let (from, mut to) = (vec![1u8; moved], vec![2u8; moved]);
    let mut narrow = vec![1u8; elements];
    let mut halves = vec![f16::ONE; elements];
    let mut brains = vec![bf16::ONE; elements];
    let mut floats = vec![1f32; elements];

    let mut candidates: Vec<Candidate> = vec![
        Candidate::new("memcpy", || black_box(&mut to).copy_from_slice(black_box(&from))),
        Candidate::new("softwarp", || compiled.run_packed(black_box(&source), &[], &mut out)),
        Candidate::new("softwarp, 2 threads", || {
            two.install(|| convert_packed(&compiled, black_box(&source), &[], &mut out_two));
        }),
    ];
    let other: (&str, Box<dyn FnMut()>) = match (src, dst) {
        (_, Format::F16) => ("half", Box::new(|| halves.convert_from_f32_slice(black_box(&data.floats)))),
        (_, Format::Bf16) => ("half", Box::new(|| brains.convert_from_f32_slice(black_box(&data.floats)))),
        (_, Format::E4m3) => (
            "minifloat",
            Box::new(|| each(black_box(&data.floats), &mut narrow, |x| F8E4M3FN::from_f32(x).to_bits())),
        ),
        (_, Format::E5m2) => (
            "minifloat",
            Box::new(|| each(black_box(&data.floats), &mut narrow, |x| F8E5M2::from_f32(x).to_bits())),
        ),
        (_, Format::E2m1) => ("minifloat", Box::new(|| pack_fp4(black_box(&data.floats), &mut narrow))),
        (Format::E4m3, _) => (
            "minifloat",
            Box::new(|| each(black_box(&data.bytes), &mut floats, |x| F8E4M3FN::from_bits(x).to_f32())),
        ),
        _ => ("minifloat", Box::new(|| unpack_fp4(black_box(&source), &mut floats))),
    };
    candidates.push(Candidate { name: other.0, run: other.1, best: f64::MAX });

    for _ in 0..ROUNDS {
        for candidate in &mut candidates {
            let start = Instant::now();
            (candidate.run)();
            candidate.best = candidate.best.min(start.elapsed().as_secs_f64());
        }
    }
    candidates.iter().map(|candidate| (candidate.name, candidate.best)).collect()
}

impl<'a> Candidate<'a> {
    fn new(name: &'static str, run: impl FnMut() + 'a) -> Candidate<'a> {
        Candidate { name, run: Box::new(run), best: f64::MAX }
    }
}

fn each<A: Copy, B>(from: &[A], to: &mut [B], convert: impl Fn(A) -> B) {
    for (from, to) in from.iter().zip(to) {
        *to = convert(*from);
    }
}

/// What a user of minifloat, which has no packed arrays, writes to fill one.
fn pack_fp4(from: &[f32], to: &mut [u8]) {
    let (pairs, _) = from.as_chunks();
    for ([low, high], to) in pairs.iter().zip(to) {
        *to = F4E2M1FN::from_f32(*low).to_bits() | F4E2M1FN::from_f32(*high).to_bits() << 4;
    }
}

/// And to read one.
fn unpack_fp4(from: &[u8], to: &mut [f32]) {
    let (pairs, _) = to.as_chunks_mut();
    for (codes, [low, high]) in from.iter().zip(pairs) {
        *low = F4E2M1FN::from_bits(codes & 15).to_f32();
        *high = F4E2M1FN::from_bits(codes >> 4).to_f32();
    }
}
