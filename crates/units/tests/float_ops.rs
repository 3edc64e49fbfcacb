//! Floating-point arithmetic, comparisons and conversions: against what an H200 computed, and against references.

pub(crate) mod harness;

use harness::Operation;
use softwarp_isa::cvt::{CvtForm, OperandName, Semantics};
use softwarp_num::{Extra, pack};
use softwarp_testkit::{hash, recording};
use softwarp_units::lanes::LANES;

/// A recording: a line of JSON that says which forms were run on which class of inputs; then words of 64 bits: a, b and
/// c of each class, and the results of each form. A predicate c is the lowest bit of c; p and q are bits 0 and 1.
fn replay(file: &str) {
    let bytes = recording::bytes(recording::golden("units", file));
    let end = bytes.iter().position(|&byte| byte == b'\n').expect("it has a first line");
    let head: serde_json::Value = serde_json::from_slice(&bytes[..end]).expect("which is JSON");
    let words: Vec<u64> =
        bytes[end + 1..].as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word)).collect();
    let lanes = head["lanes"].as_u64().expect("lanes") as usize;
    let classes = head["classes"].as_array().expect("classes");
    let mut wrong = Vec::new();
    for (index, entry) in head["forms"].as_array().expect("forms").iter().enumerate() {
        let text = |field: &str| entry[field].as_str().expect("text");
        let class = classes.iter().position(|class| class == text("of")).expect("a class");
        let inputs = &words[class * 3 * lanes..];
        let expected = &words[(classes.len() * 3 + index) * lanes..][..lanes];
        let sources = entry["sources"].as_u64().expect("sources") as usize;
        let mut operation = Operation::new(text("form"));
        for base in (0..lanes).step_by(LANES) {
            let source = |source: usize| -> [u64; LANES] {
                std::array::from_fn(|lane| inputs[source * lanes + base + lane])
            };
            (0..3).for_each(|at| operation.set(at, &source(at)));
            let odd = source(2).iter().rev().fold(0, |mask, c| mask << 1 | (c & 1) as u32);
            let predicate = text("kind").ends_with('c').then_some(odd);
            let results = if text("kind").starts_with('p') {
                let both = text("kind").contains('q');
                let [p, q] = operation.predicates(sources, predicate, both);
                std::array::from_fn(|lane| {
                    u64::from(p >> lane & 1) | if both { u64::from(q >> lane & 1) << 1 } else { 0 }
                })
            } else {
                operation.values(text("to") == "f64", sources, predicate)
            };
            for (lane, result) in results.into_iter().enumerate() {
                if result != expected[base + lane] {
                    let [a, b, c] = [0, 1, 2].map(|at| source(at)[lane]);
                    wrong.push(format!(
                        "{} {a:x} {b:x} {c:x}: {result:x}, not {:x}",
                        text("form"),
                        expected[base + lane]
                    ));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong[..wrong.len().min(20)].join("\n"));
}

#[test]
fn every_form_gives_what_the_hardware_gave() {
    replay("float.bin.gz");
}

#[test]
fn results_at_the_edge_of_subnormals_and_out_of_bounds_are_the_hardwares() {
    replay("float_edges.bin.gz");
}

#[test]
fn a_third_operand_of_min_and_max_takes_part() {
    let row = |x: f32| [u64::from(x.to_bits()); LANES];
    let of = |form: &str, values: &[f32]| {
        let mut operation = Operation::new(form);
        values.iter().enumerate().for_each(|(at, &value)| operation.set(at, &row(value)));
        f32::from_bits(operation.values(false, values.len(), None)[0] as u32)
    };
    assert_eq!(of("min.f32", &[2.0, 3.0]), 2.0);
    assert_eq!(of("min.f32", &[2.0, 3.0, -1.0]), -1.0);
    assert_eq!(of("max.f32", &[2.0, f32::NAN, 5.0]), 5.0);
    assert!(of("max.NaN.f32", &[2.0, f32::NAN, 5.0]).is_nan());
    assert_eq!(of("max.abs.f32", &[2.0, -7.0, 5.0]), 7.0);
}

/// Values of a kind that random bits seldom are: close to each other, to powers of two, to the ends.
fn telling(seed: u64) -> u64 {
    let random = hash(seed);
    let exponent = hash(seed ^ 0x5555) % 40 + 1003;
    match seed % 6 {
        0 => random,
        1 => random & 0x800f_ffff_ffff_ffff | exponent << 52,
        2 => random & 0x8000_0000_0000_0003 | exponent << 52,
        3 => random & 0x800f_ffff_ffff_ffff | (random >> 20 & 1) << 52,
        4 => random & 0x800f_ffff_ffff_ffff | 0x7fe << 52,
        _ => random & 0x800f_ffff_ffff_ffff | 0x7ff << 52,
    }
}

#[test]
fn directed_roundings_of_f64_enclose_the_nearest_and_are_neighbours() {
    for (operation, sources) in
        [("add", 2), ("sub", 2), ("mul", 2), ("fma", 3), ("div", 2), ("rcp", 1), ("sqrt", 1)]
    {
        let [mut near, mut zero, mut down, mut up] =
            ["rn", "rz", "rm", "rp"].map(|rounding| Operation::new(&format!("{operation}.{rounding}.f64")));
        for row in 0..300u64 {
            for source in 0..3 {
                let values = std::array::from_fn(|lane| telling(row * 96 + source * 32 + lane as u64));
                for one in [&mut near, &mut zero, &mut down, &mut up] {
                    one.set(source as usize, &values);
                }
            }
            let [near, zero, down, up] = [&mut near, &mut zero, &mut down, &mut up]
                .map(|one| one.values(true, sources, None).map(f64::from_bits));
            for lane in 0..LANES {
                let (near, zero, down, up) = (near[lane], zero[lane], down[lane], up[lane]);
                if near.is_nan() {
                    assert!(zero.is_nan() && down.is_nan() && up.is_nan());
                    continue;
                }
                assert!(down <= near && near <= up, "{operation}: {down:e} {near:e} {up:e}");
                assert!(down == up || down.next_up() == up, "{operation}: {down:e} {up:e}");
                let expected = if down >= 0.0 { down } else { up };
                assert!(zero == expected, "{operation}: {zero:e} {expected:e}");
            }
        }
    }
}

#[test]
fn directed_roundings_of_f32_are_those_of_the_exact_value() {
    use softwarp_num::{Format, Rounding, Saturation};
    let names = [
        ("rn", Rounding::NearestEven),
        ("rz", Rounding::TowardZero),
        ("rm", Rounding::Down),
        ("rp", Rounding::Up),
    ];
    for (name, rounding) in names {
        let mut mul = Operation::new(&format!("mul.{name}.f32"));
        let mut add = Operation::new(&format!("add.{name}.f32"));
        for row in 0..500u64 {
            // Exponents so close that a sum is exact in f64, as a product always is.
            let close = |seed: u64| f64::from_bits(telling(seed * 6 + 1) & !0 << 29) as f32;
            let value = |source: u64, lane: usize| close(row * 64 + source * 32 + lane as u64);
            for operation in [&mut mul, &mut add] {
                for source in 0..2 {
                    operation.set(
                        source as usize,
                        &std::array::from_fn(|lane| u64::from(value(source, lane).to_bits())),
                    );
                }
            }
            let (products, sums) = (mul.values(false, 2, None), add.values(false, 2, None));
            for lane in 0..LANES {
                let (a, b) = (f64::from(value(0, lane)), f64::from(value(1, lane)));
                let encoded = |x: f64| Format::F32.encode(x, rounding, Saturation::None);
                assert_eq!(Some(products[lane]), encoded(a * b), "{a:e} * {b:e} {name}");
                let exact = (a + b) - a == b && (a + b) - b == a;
                if exact && a + b != 0.0 {
                    assert_eq!(Some(sums[lane]), encoded(a + b), "{a:e} + {b:e} {name}");
                }
            }
        }
    }
}

#[test]
fn every_conversion_is_that_of_the_number_formats() {
    for form in CvtForm::all() {
        let mut operation = Operation::new(&form.to_string());
        let names = form
            .operands()
            .iter()
            .flat_map(|operand| operand.names())
            .filter(|name| **name != OperandName::D);
        let names: Vec<OperandName> = names.copied().collect();
        let to = form.operand_type(OperandName::D).expect("a destination");
        for row in 0..6u64 {
            let sources: Vec<[u64; LANES]> = names
                .iter()
                .zip(0..)
                .map(|(&name, at): (_, u64)| {
                    let ty = form.operand_type(name).expect("a type");
                    let bits = if ty.bits() < 16 { 32 } else { ty.bits() };
                    let ones = u64::MAX >> (64 - bits);
                    std::array::from_fn(|lane| {
                        let wide = telling(row * 1000 + at * 32 + lane as u64);
                        let narrow = u64::from((f64::from_bits(wide) as f32).to_bits());
                        (if bits == 32 && row % 2 == 0 { narrow } else { wide }) & ones
                    })
                })
                .collect();
            sources.iter().enumerate().for_each(|(at, values)| operation.set(at, values));
            let results = operation.values(to.bits() > 32, names.len(), None);
            for lane in 0..LANES {
                let registers: Vec<u64> = sources.iter().map(|values| values[lane]).collect();
                let expected = match form.semantics() {
                    Semantics::Cvt(cvt) => {
                        let last = registers.last().copied().unwrap_or(0);
                        let extra = match names.last() {
                            Some(OperandName::Rbits) => Extra { rbits: last as u32, ..Extra::default() },
                            Some(OperandName::ScaleFactor) => {
                                Extra { scale: last as u16, ..Extra::default() }
                            }
                            _ => Extra::default(),
                        };
                        cvt.eval(&registers, extra).expect("it exists")
                    }
                    Semantics::Pack { to, with_c } => {
                        let c = with_c.then(|| registers[2] as u32);
                        pack(to, registers[0] as i32, registers[1] as i32, c).into()
                    }
                };
                assert_eq!(results[lane], expected, "{form} of {registers:x?}");
            }
        }
    }
}

#[test]
fn conversions_of_one_number_are_right_near_whole_numbers_and_bounds() {
    let near = |index: u64| {
        let whole = [0.0, 0.5, 1.0, 1.5, 2.5, 127.5, 255.0, 32767.5, 65535.5, 8388607.5, 16777217.0];
        let bounds =
            [2147483647.5, 2147483648.0, 4294967295.5, 9.223372036854775e18, 1.8446744073709552e19, 1e300];
        let all: Vec<f64> = whole.into_iter().chain(bounds).collect();
        let value = all[index as usize % all.len()] * if index & 32 == 0 { 1.0 } else { -1.0 };
        (value, (index / 64 % 5).wrapping_sub(2))
    };
    for form in CvtForm::all().filter(|form| form.operands().len() == 2 && form.atype().bits() >= 32) {
        let Semantics::Cvt(cvt) = form.semantics() else { continue };
        let mut operation = Operation::new(&form.to_string());
        for base in (0..320u64).step_by(LANES) {
            let codes: [u64; LANES] = std::array::from_fn(|lane| {
                let (value, step) = near(base + lane as u64);
                match form.atype().to_string().as_str() {
                    "f32" | ".f32" => u64::from((value as f32).to_bits().wrapping_add(step as u32)),
                    "f64" | ".f64" => value.to_bits().wrapping_add(step),
                    _ => {
                        let ones = u64::MAX >> (64 - form.atype().bits());
                        (value as i128 as u64).wrapping_add(step) & ones
                    }
                }
            });
            operation.set(0, &codes);
            let results = operation.values(form.dtype().bits() > 32, 1, None);
            for (code, result) in codes.into_iter().zip(results) {
                assert_eq!(Some(result), cvt.eval(&[code], Extra::default()), "{form} of {code:x}");
            }
        }
    }
}

#[test]
fn conversions_from_16_bits_are_right_for_every_input() {
    for form in CvtForm::all().filter(|form| form.operands().len() == 2 && form.atype().bits() == 16) {
        let Semantics::Cvt(cvt) = form.semantics() else { continue };
        let mut operation = Operation::new(&form.to_string());
        for base in (0..1u64 << 16).step_by(LANES) {
            operation.set(0, &std::array::from_fn(|lane| base + lane as u64));
            let results = operation.values(form.dtype().bits() > 32, 1, None);
            for (lane, result) in results.into_iter().enumerate() {
                let code = base + lane as u64;
                assert_eq!(Some(result), cvt.eval(&[code], Extra::default()), "{form} of {code:x}");
            }
        }
    }
}

/// Some words, with values of every size in them.
fn words(seed: u64) -> [u64; LANES] {
    std::array::from_fn(|lane| {
        let word = hash(seed.wrapping_mul(1000) + lane as u64);
        // Half of the numbers are near enough to one another for sums to have something of both.
        if lane % 2 == 0 { word } else { word & 0x83ff_ffff_83ff_ffff | 0x3c00_0000_3c00_0000 }
    })
}

/// What an operation without predicates gives.
fn results(form: &str, wide: bool, sources: &[[u64; LANES]]) -> [u64; LANES] {
    let mut operation = Operation::new(form);
    sources.iter().enumerate().for_each(|(at, values)| operation.set(at, values));
    operation.values(wide, sources.len(), None)
}

#[test]
fn pairs_of_mixed_precision_do_what_two_single_operations_do() {
    for (half, seed) in
        [("f16", 1), ("bf16", 2)].into_iter().flat_map(|(half, n)| (0..20).map(move |s| (half, 20 * n + s)))
    {
        let [a, b, c] = [words(3 * seed), words(3 * seed + 1), words(3 * seed + 2)];
        let halves = a.map(|word| word & 0xffff_ffff);
        for n in 0..2 {
            let one = a.map(|word| word >> (16 * n) & 0xffff);
            let [b1, c1] = [b, c].map(|words| words.map(|word| word >> (32 * n) & 0xffff_ffff));
            let part =
                |pairs: [u64; LANES], bits: u32| pairs.map(|word| word >> (bits * n) & ((1 << bits) - 1));
            for rounding in ["rn", "rz", "rm", "rp"] {
                for opcode in ["add", "sub"] {
                    let pairs =
                        results(&format!("{opcode}.{rounding}.f32x2.{half}x2.f32x2"), true, &[halves, c]);
                    let single = results(&format!("{opcode}.{rounding}.f32.{half}"), false, &[one, c1]);
                    assert_eq!(part(pairs, 32), single, "{opcode}.{rounding} with {half}");
                }
                let pairs =
                    results(&format!("fma.{rounding}.f32x2.{half}x2.f32x2.f32x2"), true, &[halves, b, c]);
                let wide = results(&format!("cvt.f32.{half}"), false, &[one]);
                assert_eq!(
                    part(pairs, 32),
                    results(&format!("fma.{rounding}.f32"), false, &[wide, b1, c1]),
                    "{half}"
                );
            }
            let ftz = if half == "f16" { ".ftz" } else { "" };
            for opcode in ["add", "sub", "mul"] {
                let pairs = results(&format!("{opcode}.rz{ftz}.{half}x2.f32x2.f32x2"), false, &[b, c]);
                let single = results(&format!("{opcode}.rz{ftz}.f32"), false, &[b1, c1]);
                let cut = results(&format!("cvt.rz.{half}.f32"), false, &[single]);
                let flushed =
                    cut.map(|bits| if half == "f16" && bits & 0x7c00 == 0 { bits & 0x8000 } else { bits });
                assert_eq!(part(pairs, 16), flushed, "{opcode} to {half}");
            }
        }
    }
}
