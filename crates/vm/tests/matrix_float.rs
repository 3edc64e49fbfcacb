//! Products of floating-point matrices: recorded results of an H200, and quick ways against the exact one.
//!
//! `golden/matrix_float.jsonl.gz` has a line for each form: 18 products of four rows by four columns, taken from larger
//! ones, each with numbers of another kind (ordinary, far apart, cancelling, subnormal, overflowing, special). `k` of the
//! shape counts the zeros of a sparse A; `products` does not, and only the elements of B that were chosen are there.

use flate2::read::GzDecoder;
use serde_json::Value;
use softwarp_num::{Format, Rounding};
use softwarp_vm::matrix::float::{exact, fragment, multiply, rules::Rule};
use softwarp_vm::matrix::{BlockScale, FloatProduct, Scales, Unit, double};
use std::io::Read;

/// Rows and columns of what was recorded.
const SIDE: usize = 4;

const GOLDEN: &[u8] = include_bytes!("golden/matrix_float.jsonl.gz");

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
    let mut text = String::new();
    GzDecoder::new(GOLDEN).read_to_string(&mut text).unwrap();
    text.lines()
        .map(|line| {
            let line: Value = serde_json::from_str(line).unwrap();
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

/// Numbers that look random.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 ^ self.0 >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd) >> 32) as u32
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
    let mut random = Random(1);
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

#[test]
fn products_in_registers_have_the_bits_of_exact_ones() {
    let mut random = Random(2);
    let mut taken = 0;
    for (factors, k) in [(Format::F16, 8), (Format::F16, 16), (Format::Bf16, 8), (Format::Bf16, 16)] {
        let product = FloatProduct {
            unit: Unit::Mma,
            a: factors,
            b: factors,
            c: Format::F32,
            d: Format::F32,
            m: 16,
            n: 8,
            k,
            sparse: false,
            scale: None,
        };
        for round in 0..60 {
            let near = round % 6 != 0;
            let (a, b) = (random.codes(factors, near, 16 * k), random.codes(factors, near, 8 * k));
            let c = random.codes(Format::F32, near, 128);
            let mut d = vec![0; 128];
            exact::multiply(&product, Rule::of(&product), &a, &b, &c, &mut d, None);

            // The fragments of PTX ISA section 9.7.14.5: lane 4g + t.
            let pair =
                |codes: &[u32], line: usize, at: usize| codes[line * k + at] | codes[line * k + at + 1] << 16;
            let row = |f: &dyn Fn(usize, usize) -> u32| -> [u32; 32] {
                std::array::from_fn(|lane| f(lane / 4, lane % 4))
            };
            let of_a: Vec<_> =
                (0..k / 4).map(|r| row(&|g, t| pair(&a, g + r % 2 * 8, r / 2 * 8 + 2 * t))).collect();
            let of_b: Vec<_> = (0..k / 8).map(|r| row(&|g, t| pair(&b, g, r * 8 + 2 * t))).collect();
            let sums = |x: &[u32]| [0, 1, 2, 3].map(|r| row(&|g, t| x[(g + r / 2 * 8) * 8 + 2 * t + r % 2]));
            let of_c = sums(&c);
            let mut got = fragment::Sums::ZERO;
            if fragment::multiply(
                factors,
                &of_a.iter().collect::<Vec<_>>(),
                &of_b.iter().collect::<Vec<_>>(),
                &of_c.each_ref(),
                &mut got,
            ) {
                assert_eq!(got.0, sums(&d), "{product:?}, round {round}");
                taken += 1;
            }
        }
    }
    assert!(taken >= 200, "only {taken} of 240 products were ordinary");
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
