//! Products of floating-point matrices: recorded results of an H200, and quick ways against the exact one.
//!
//! `golden/matrix_float.jsonl.gz` has a line for each form: 18 products of four rows by four columns, taken from larger
//! ones, each with numbers of another kind (near 1, far apart, cancelling, subnormal, overflowing, special). `k` of the
//! shape counts the zeros of a sparse A; `products` does not, and only the elements of B that were chosen are there.

use serde_json::Value;
use softwarp_num::{Format, Rounding};
use softwarp_testkit::{SplitMix64, recording};
use softwarp_units::matrix::float::{exact, fragment, multiply, rules::Rule};
use softwarp_units::matrix::{BlockScale, FloatProduct, Scales, Unit, double};

/// Rows and columns of what was recorded.
const SIDE: usize = 4;

struct Recorded {
    what: String,
    unit: Unit,
    /// Of D, A, B and C.
    types: [Format; 4],
    /// Columns of the whole product.
    columns: usize,
    products: usize,
    /// A, B, C and D.
    matrices: [Vec<u64>; 4],
}

fn recorded() -> Vec<Recorded> {
    recording::values(recording::golden("units", "matrix_float.jsonl.gz"))
        .map(|line: Value| {
            let word = |name: &str| line[name].as_str().unwrap().to_string();
            let types =
                [0, 1, 2, 3].map(|at| Format::from_name(line["types"][at].as_str().unwrap()).unwrap());
            let numbers = |name: &str, format: Format| -> Vec<u64> {
                let digits = format.bits() as usize / 4;
                let text = word(name);
                let codes = text.as_bytes().chunks(digits);
                codes
                    .map(|code| u64::from_str_radix(std::str::from_utf8(code).unwrap(), 16).unwrap())
                    .collect()
            };
            let shape = word("shape");
            let columns = shape.split(['m', 'n', 'k']).nth(2).unwrap().parse().unwrap();
            let [d, a, b, c] = types;
            Recorded {
                what: format!("{} {shape} {d}.{a}.{b}.{c}", word("name")),
                unit: if word("name").starts_with("wgmma") { Unit::Wgmma } else { Unit::Mma },
                types,
                columns,
                products: line["products"].as_u64().unwrap() as usize,
                matrices: [numbers("a", a), numbers("b", b), numbers("c", c), numbers("d", d)],
            }
        })
        .collect()
}

/// The product of the whole shape, which decides about the rule, and that of what was recorded.
fn products(recorded: &Recorded) -> (FloatProduct, FloatProduct) {
    let [d, a, b, c] = recorded.types;
    let (unit, k) = (recorded.unit, recorded.products);
    let product = FloatProduct { unit, a, b, c, d, m: SIDE, n: SIDE, k, sparse: false, scale: None };
    (FloatProduct { n: recorded.columns, ..product }, product)
}

#[test]
fn recorded_products_have_the_same_bits() {
    let mut values = 0;
    for recorded in recorded() {
        let [a, b, c, d] = &recorded.matrices;
        let (factors, size) = (SIDE * recorded.products, SIDE * SIDE);
        let parts = a.chunks(factors).zip(b.chunks(factors)).zip(c.chunks(size)).zip(d.chunks(size));
        for (case, (((a, b), c), want)) in parts.enumerate() {
            let got: Vec<u64> = if recorded.types[0] == Format::F64 {
                let mut got = vec![0; size];
                double::multiply(Rounding::NearestEven, recorded.products, a, b, c, &mut got);
                got
            } else {
                let narrow = |x: &[u64]| -> Vec<u32> { x.iter().map(|&x| x as u32).collect() };
                let (a, b, c) = (narrow(a), narrow(b), narrow(c));
                let (whole, product) = products(&recorded);
                let (mut exactly, mut quickly) = (vec![0; size], vec![0; size]);
                exact::multiply(&product, Rule::of(&whole), &a, &b, &c, &mut exactly, None);
                if Rule::of(&whole) == Rule::of(&product) {
                    multiply(&product, &a, &b, &c, &mut quickly, None);
                    assert_eq!(exactly, quickly, "{} of product {case}", recorded.what);
                }
                exactly.into_iter().map(u64::from).collect()
            };
            assert_eq!(got, want, "{} of product {case}", recorded.what);
            values += want.len();
        }
    }
    assert!(values >= 18_000, "{values} values were recorded");
}

/// Random codes.
struct Random(SplitMix64);

impl Random {
    fn next(&mut self) -> u32 {
        self.0.next_u32()
    }

    /// A code of a format: any, or one whose exponent is near 1's.
    fn code(&mut self, format: Format, near: bool) -> u32 {
        let any = self.next() & format.mask() as u32;
        let (mantissa, bias) = match format {
            Format::F16 => (10, 15),
            Format::Bf16 => (7, 127),
            Format::E4m3 => (3, 7),
            Format::E5m2 => (2, 15),
            _ => (23, 127),
        };
        if !near {
            return any;
        }
        let field = bias - 3 + self.next() % 7;
        let fields = (1 << (format.bits() - 1)) - 1;
        any & !(fields >> mantissa << mantissa) | field << mantissa
    }

    fn codes(&mut self, format: Format, near: bool, count: usize) -> Vec<u32> {
        (0..count).map(|_| self.code(format, near)).collect()
    }
}

#[test]
fn quick_products_have_the_bits_of_exact_ones() {
    let mut random = Random(SplitMix64::new(1));
    let f = [Format::F16, Format::Bf16, Format::Tf32, Format::E4m3, Format::E5m2];
    for (unit, a) in [Unit::Mma, Unit::Wgmma].into_iter().flat_map(|unit| f.map(|a| (unit, a))) {
        for d in [Format::F32, Format::F16] {
            let eight = matches!(a, Format::E4m3 | Format::E5m2);
            let k = if eight { 32 } else { 16 };
            let product = FloatProduct { unit, a, b: a, c: d, d, m: 4, n: 24, k, sparse: false, scale: None };
            for round in 0..40 {
                let near = round % 8 != 0;
                let left = random.codes(a, near, 4 * k);
                let right = random.codes(a, near, 24 * k);
                let c = random.codes(d, near, 4 * 24);
                let (mut exactly, mut quickly) = (vec![0; 96], vec![1; 96]);
                exact::multiply(&product, Rule::of(&product), &left, &right, &c, &mut exactly, None);
                multiply(&product, &left, &right, &c, &mut quickly, None);
                assert_eq!(exactly, quickly, "{product:?}, round {round}");
            }
        }
    }
}

/// Codes of six kinds: any; near 1; mostly zeros; the largest below 2, whose sums are too; at the ends of what is
/// inside the fast range; subnormal.
fn codes_of_kind(random: &mut Random, format: Format, kind: usize, count: usize) -> Vec<u32> {
    let (mantissa, fields): (u32, &[u32]) = match format {
        Format::F16 => (10, &[0, 1, 2, 15, 29, 30]),
        Format::E4m3 => (3, &[0, 1, 7, 14]),
        Format::E5m2 => (2, &[0, 1, 15, 30]),
        Format::Bf16 => (7, &[76, 77, 78, 120, 160, 161, 162, 177]),
        Format::Tf32 => (23, &[77, 78, 120, 160, 177]),
        _ => (23, &[0, 26, 27, 28, 127, 226, 227, 228]),
    };
    let sign = 1 << (format.bits() - 1);
    let below = (1 << mantissa) - 1;
    let one = match format {
        Format::F16 | Format::E5m2 => 15,
        Format::E4m3 => 7,
        _ => 127,
    };
    (0..count)
        .map(|_| match kind {
            0 => random.code(format, false),
            2 if !random.next().is_multiple_of(3) => random.next() & sign,
            3 => one << mantissa | below,
            4 => {
                // Few are at the very ends, so that most products stay inside the fast range.
                let field = match random.next() % 16 {
                    0 => fields[random.next() as usize % fields.len()],
                    _ => fields[fields.len() / 2],
                };
                random.next() & (sign | below) | field << mantissa
            }
            5 if one == 15 && random.next().is_multiple_of(2) => random.next() & (sign | below),
            _ => random.code(format, true),
        })
        .collect()
}

#[test]
fn products_in_registers_have_the_bits_of_exact_ones() {
    let mut random = Random(SplitMix64::new(2));
    let forms = [
        (Format::F16, Format::F16, Format::F32, [8, 16]),
        (Format::F16, Format::F16, Format::F16, [8, 16]),
        (Format::Bf16, Format::Bf16, Format::F32, [8, 16]),
        (Format::Tf32, Format::Tf32, Format::F32, [4, 8]),
        (Format::E4m3, Format::E4m3, Format::F32, [16, 32]),
        (Format::E5m2, Format::E4m3, Format::F32, [16, 32]),
        (Format::E4m3, Format::E5m2, Format::F32, [16, 32]),
        (Format::E4m3, Format::E5m2, Format::F16, [16, 32]),
    ];
    for (left, right, sum, k) in forms.into_iter().flat_map(|(a, b, d, k)| k.map(|k| (a, b, d, k))) {
        let (unit, m, n) = (Unit::Mma, 16, 8);
        let product =
            FloatProduct { unit, a: left, b: right, c: sum, d: sum, m, n, k, sparse: false, scale: None };
        let mut taken = [0; 6];
        for round in 0..120 {
            let kind = round % 6;
            let a = codes_of_kind(&mut random, left, kind, 16 * k);
            let b = codes_of_kind(&mut random, right, kind, 8 * k);
            let c = codes_of_kind(&mut random, sum, kind, 128);
            let mut d = vec![0; 128];
            exact::multiply(&product, Rule::of(&product), &a, &b, &c, &mut d, None);

            // The fragments of PTX ISA section 9.7.14.5: lane 4g + t.
            let bits = if left == Format::Tf32 { 32 } else { left.bits() };
            let each = 32 / bits as usize;
            let word = |codes: &[u32], line: usize, at: usize| {
                let codes = codes[line * k + at..][..each].iter().rev();
                codes.fold(0, |word, &code| (u64::from(word) << bits) as u32 | code)
            };
            let row = |f: &dyn Fn(usize, usize) -> u32| -> [u32; 32] {
                std::array::from_fn(|lane| f(lane / 4, lane % 4))
            };
            let of_a: Vec<_> = (0..k / each / 2)
                .map(|r| row(&|g, t| word(&a, g + r % 2 * 8, (r / 2 * 4 + t) * each)))
                .collect();
            let of_b: Vec<_> =
                (0..k / each / 4).map(|r| row(&|g, t| word(&b, g, (r * 4 + t) * each))).collect();
            let sums = |x: &[u32]| -> Vec<[u32; 32]> {
                let at = |g: usize, t: usize, side: usize, odd: usize| x[(g + side * 8) * 8 + 2 * t + odd];
                match sum {
                    Format::F16 => {
                        (0..2).map(|side| row(&|g, t| at(g, t, side, 0) | at(g, t, side, 1) << 16)).collect()
                    }
                    _ => (0..4).map(|r| row(&|g, t| at(g, t, r / 2, r % 2))).collect(),
                }
            };
            let of_c = sums(&c);
            let (a, b, c): (Vec<_>, Vec<_>, Vec<_>) =
                (of_a.iter().collect(), of_b.iter().collect(), of_c.iter().collect());
            let (mut got, mut portably) = (fragment::Sums::ZERO, fragment::Sums::ZERO);
            let done = match each {
                4 => fragment::multiply_bytes([left, right], &a, &b, &c, &mut got),
                _ => fragment::multiply(left, &a, &b, &c, &mut got),
            };
            if done {
                assert_eq!(got.0[..c.len()], sums(&d), "{product:?}, round {round}");
                taken[kind] += 1;
            }
            if each != 4 && fragment::portable(left, &a, &b, &c, &mut portably) {
                assert_eq!(portably.0[..c.len()], sums(&d), "{product:?} in loops, round {round}");
            }
        }
        // Of any codes some are no numbers; ends are within reach of some formats only.
        assert!(
            taken[1..4].iter().all(|&taken| taken == 20),
            "inside the fast range of {product:?}: {taken:?}"
        );
    }
}

#[test]
fn block_scales_are_powers_of_two_or_small_numbers() {
    let product = |a, k, scale| FloatProduct {
        unit: Unit::Mma,
        a,
        b: a,
        c: Format::F32,
        d: Format::F32,
        m: 1,
        n: 1,
        k,
        sparse: false,
        scale: Some(scale),
    };
    let sum = |product: &FloatProduct, a: u32, b: u32, c: f32, scales: &Scales<'_>| {
        let mut d = [0];
        multiply(product, &vec![a; product.k], &vec![b; product.k], &[c.to_bits()], &mut d, Some(scales));
        f32::from_bits(d[0])
    };
    // mxf8f6f4: 32 times 1.5 · 1.5, times 2^3 · 2^−1.
    let eight = product(Format::E4m3, 32, BlockScale { format: Format::Ue8m0, block: 32 });
    assert_eq!(sum(&eight, 0x3c, 0x3c, 1.0, &Scales { a: &[130], b: &[126] }), 289.0);
    assert!(sum(&eight, 0x3c, 0x3c, 1.0, &Scales { a: &[255], b: &[126] }).is_nan());
    // mxf4nvf4: four blocks of 16 times 3 · 3, the first two scaled by 1.5 · 1, the others by 0.
    let four = product(Format::E2m1, 64, BlockScale { format: Format::Ue4m3, block: 16 });
    let scales = Scales { a: &[0x3c, 0x3c, 0, 0], b: &[0x38; 4] };
    assert_eq!(sum(&four, 5, 5, 0.5, &scales), 432.5);
}
