//! Products in tensor memory: the fast loops give the bits of `float::exact`.

use softwarp_num::Format;
use softwarp_testkit::SplitMix64 as SplitMix;
use softwarp_units::matrix::float::exact;
use softwarp_units::matrix::float::rules::Rule;
use softwarp_units::matrix::lines::Line;
use softwarp_units::matrix::{BlockScale, FloatProduct, Scales, Unit};
use softwarp_units::tensor_core::COLUMNS;
use softwarp_units::tensor_core::element::Element;
use softwarp_units::tensor_core::instruction::{Instruction, Kind, Modifiers};
use softwarp_units::tensor_core::product::{Block, Product, Scratch, multiply};

const ROWS: usize = 16;
const N: usize = 24;

fn instruction(kind: Kind, types: [u32; 2], wide: bool) -> Instruction {
    let modifiers = Modifiers { kind, ctas: 1, ws: false, sparse: false, shifts_a: false, scale: None };
    let scaled = if kind.is_scaled() { 1 << 23 } else { u32::from(wide) << 4 };
    let bits = scaled | types[0] << 7 | types[1] << 10 | (N as u32 / 8) << 17 | 8 << 24;
    Instruction::new(bits, &modifiers).expect("a descriptor")
}

/// A code of a format: any, or one near 1.
fn code(random: &mut SplitMix, format: Format, near: bool) -> u32 {
    let bits = format.bits();
    let any = random.next_u32() & (u32::MAX >> (32 - bits));
    match (near, format) {
        (true, Format::F16) => any & 0x83ff | (0x3800 + (any >> 11 & 3) * 0x400),
        (true, Format::Bf16) => any & 0x807f | (0x3f00 + (any >> 8 & 3) * 0x80),
        (true, Format::E4m3) => any & 0x87 | (0x30 + (any >> 4 & 1) * 8),
        (true, Format::E5m2) => any & 0x83 | (0x38 + (any >> 3 & 1) * 4),
        _ => any,
    }
}

/// Compares all bits of a product with those of the exact sums.
fn compare(it: &Instruction, random: &mut SplitMix, near: bool) {
    let [of_a, of_b] = it.factors.map(Element::format);
    let bits = it.factors[0].bits();
    let k = it.k;
    let mut take =
        |rows: usize, format| (0..rows * k).map(|_| code(random, format, near)).collect::<Vec<u32>>();
    let (a, b) = (take(ROWS, of_a), take(N, of_b));
    let lines = |codes: &[u32]| -> Vec<Line> {
        let line = |row: &[u32]| {
            let mut line = Line::ZERO;
            for (at, &code) in row.iter().enumerate() {
                line.0[at * bits as usize / 32] |= code << (at as u32 * bits % 32);
            }
            line
        };
        codes.chunks(k).map(line).collect()
    };
    let (rows, columns) = (lines(&a), lines(&b));
    let rows: &[Line; ROWS] = rows.as_slice().try_into().expect("sixteen rows");
    let c: Vec<u32> = (0..ROWS * N).map(|_| code(random, it.d, false)).collect();
    let c: Vec<u32> = match (near, it.d) {
        (true, Format::F32) => {
            c.iter().map(|c| (f32::from_bits(0x3f80_0000 | c & 0x807f_ffff) * 8.0).to_bits()).collect()
        }
        (true, _) => c.iter().map(|c| c & 0x83ff | 0x4800).collect(),
        _ => c,
    };
    let scale = it.scale.map(|scale| BlockScale { format: scale.format, block: k / scale.count });
    let mut scale_codes = |count: usize| -> Vec<u32> {
        (0..count)
            .map(|_| if near { 120 + random.next_u32() % 16 } else { random.next_u32() & 0xff })
            .collect()
    };
    let (scales_a, scales_b) = (scale_codes(ROWS), scale_codes(N));
    let scales = scale.map(|_| Scales { a: &scales_a, b: &scales_b });
    let of = FloatProduct {
        unit: Unit::Tcgen05,
        a: of_a,
        b: of_b,
        c: it.d,
        d: it.d,
        m: ROWS,
        n: N,
        k,
        sparse: false,
        scale,
    };
    let mut wanted = vec![0; ROWS * N];
    exact::multiply(&of, Rule::of(&of), &a, &b, &c, &mut wanted, scales.as_ref());
    let mut words = vec![0; ROWS * COLUMNS];
    for (row, c) in c.chunks(N).enumerate() {
        words[row * COLUMNS + 8..][..N].copy_from_slice(c);
    }
    let product =
        Product { instruction: it, a: rows, b: &columns, places: None, scales, adds: true, scale_d: 0 };
    let mut block = Block { words: &mut words, column: 8, written: u16::MAX };
    multiply(&product, &mut block, &mut Scratch::default());
    for (row, wanted) in wanted.chunks(N).enumerate() {
        assert_eq!(&words[row * COLUMNS + 8..][..N], wanted, "{:?} row {row}", it.factors);
    }
}

#[test]
fn products_have_the_bits_of_exact_sums() {
    let mut random = SplitMix::new(5);
    for round in 0..60 {
        let near = round % 3 != 0;
        for (kind, types, wide) in [
            (Kind::F16, [0, 0], true),
            (Kind::F16, [0, 0], false),
            (Kind::F16, [1, 1], true),
            (Kind::Tf32, [2, 2], true),
            (Kind::F8f6f4, [0, 0], true),
            (Kind::F8f6f4, [0, 1], true),
            (Kind::F8f6f4, [1, 0], false),
            (Kind::Mxf8f6f4, [0, 0], true),
            (Kind::Mxf8f6f4, [1, 0], true),
        ] {
            compare(&instruction(kind, types, wide), &mut random, near);
        }
    }
}
