//! Whole instructions: which register bits each element of a packed `cvt` comes from and goes to, the
//! extension into wider registers, and `cvt.pack`.

use crate::reference::expected;
use softwarp_num::{Conversion, Cvt, Extra, Format, Rounding, Saturation, Scaling, extend, pack};
use softwarp_testkit::SplitMix64;

/// Codes of a source, random ones with all exponents and telling ones among them.
fn sources(random: &mut SplitMix64, c: Conversion, n: usize) -> Vec<u64> {
    let special = [0u64, 0x8000_0000, 0x3f80_0000, 0xbf80_0000, 0x7f80_0000, 0xff80_0000, 0x7fc0_0000, 1];
    let near_one = |bits: u64| (0x3b00_0000 + bits % 0x0900_0000) | bits >> 32 & 0x8000_0000;
    let code = |i: usize, random: &mut SplitMix64| match (i % 3, c.src) {
        (0, Format::F32) => special[random.next_u64() as usize % special.len()],
        (1, Format::F32) => near_one(random.next_u64()),
        _ => random.next_u64() >> (64 - c.src.bits()),
    };
    (0..n).map(|i| code(i, random)).collect()
}

fn conversion(src: Format, dst: Format, rounding: Rounding, saturation: Saturation) -> Conversion {
    Conversion { rounding, saturation, ..Conversion::new(src, dst) }
}

/// Two f32 into a pair: `a` above `b`, each converted as if it were alone.
fn two_f32(dst: Format, pitch: u32, rounding: Rounding, saturation: Saturation, relu: bool) {
    let c = Conversion { relu, ..conversion(Format::F32, dst, rounding, saturation) };
    let cvt = Cvt { element: c, lanes: 2, packed_source: false, shared_scale: false };
    let mut random = SplitMix64::new(pitch.into());
    for pair in sources(&mut random, c, 4000).chunks_exact(2) {
        let right = expected(c, pair[0], 0) << pitch | expected(c, pair[1], 0);
        assert_eq!(cvt.eval(pair, Extra::default()), Some(right), "{c:?} of {pair:x?}");
    }
}

// R-CVT-76, R-CVT-77, R-CVT-89, R-CVT-90, R5.2.4-1.
#[test]
fn two_f32_to_f16x2_and_bf16x2() {
    for dst in [Format::F16, Format::Bf16] {
        for rounding in [Rounding::NearestEven, Rounding::TowardZero] {
            for saturation in [Saturation::None, Saturation::Finite] {
                for relu in [false, true] {
                    two_f32(dst, 16, rounding, saturation, relu);
                }
            }
        }
    }
    let rz = conversion(Format::F32, Format::F16, Rounding::TowardZero, Saturation::None);
    let cvt = Cvt { element: rz, lanes: 2, packed_source: false, shared_scale: false };
    // 1.9999999 cut to 1.999, and -3.
    assert_eq!(cvt.eval(&[0x3fff_ffff, 0xc040_0000], Extra::default()), Some(0x3fff_c200));
}

// R-CVT-78, R-CVT-91, R5.2.3-23, R5.2.3-28, R5.2.4-1: bytes, FP6 with two zero bits on top.
#[test]
fn two_f32_to_pairs_of_bytes() {
    for dst in [Format::E4m3, Format::E5m2, Format::E2m3, Format::E3m2] {
        for relu in [false, true] {
            two_f32(dst, 8, Rounding::NearestEven, Saturation::Finite, relu);
        }
    }
    for rounding in [Rounding::TowardZero, Rounding::Up] {
        two_f32(Format::Ue8m0, 8, rounding, Saturation::Finite, false);
        two_f32(Format::Ue5m3, 8, rounding, Saturation::None, false);
    }
    two_f32(Format::S2f6, 8, Rounding::NearestEven, Saturation::Finite, false);
    // 1.0 and -2.0 in e4m3; 7.5 and -7.5 in e2m3, the largest: no bit above the sixth.
    let element = conversion(Format::F32, Format::E4m3, Rounding::NearestEven, Saturation::Finite);
    let cvt = Cvt { element, lanes: 2, packed_source: false, shared_scale: false };
    assert_eq!(cvt.eval(&[0x3f80_0000, 0xc000_0000], Extra::default()), Some(0x38c0));
    let cvt = Cvt { element: Conversion { dst: Format::E2m3, ..element }, ..cvt };
    assert_eq!(cvt.eval(&[0x40f0_0000, 0xc0f0_0000], Extra::default()), Some(0x1f3f));
}

// R-CVT-79, R-CVT-14: e2m1x2 is one byte.
#[test]
fn two_f32_to_e2m1x2() {
    two_f32(Format::E2m1, 4, Rounding::NearestEven, Saturation::Finite, false);
    let element = conversion(Format::F32, Format::E2m1, Rounding::NearestEven, Saturation::Finite);
    let cvt = Cvt { element, lanes: 2, packed_source: false, shared_scale: false };
    assert_eq!(cvt.eval(&[0x40c0_0000, 0xbf00_0000], Extra::default()), Some(0x79));
}

// R-CVT-92, R5.2.4-1: element i of the source makes element i of the result.
#[test]
fn pairs_up_and_down_keep_their_places() {
    let rows = [
        (Format::E4m3, 8, Format::F16, 16, Saturation::None),
        (Format::E5m2, 8, Format::F16, 16, Saturation::None),
        (Format::E2m3, 8, Format::F16, 16, Saturation::None),
        (Format::E3m2, 8, Format::F16, 16, Saturation::None),
        (Format::E2m1, 4, Format::F16, 16, Saturation::None),
        (Format::E4m3, 8, Format::Bf16, 16, Saturation::None),
        (Format::Ue8m0, 8, Format::Bf16, 16, Saturation::None),
        (Format::S2f6, 8, Format::Bf16, 16, Saturation::Finite),
        (Format::Ue5m3, 8, Format::F16, 16, Saturation::None),
        (Format::F16, 16, Format::E4m3, 8, Saturation::Finite),
        (Format::F16, 16, Format::E3m2, 8, Saturation::Finite),
        (Format::Bf16, 16, Format::E2m1, 4, Saturation::Finite),
    ];
    for (src, from, dst, to, saturation) in rows {
        let c = conversion(src, dst, Rounding::NearestEven, saturation);
        let cvt = Cvt { element: c, lanes: 2, packed_source: true, shared_scale: false };
        let mut random = SplitMix64::new(9);
        for _ in 0..3000 {
            let register = random.next_u64();
            let element = |lane: u32| expected(c, register >> (from * lane) & src.mask(), 0);
            let right = element(1) << to | element(0);
            assert_eq!(cvt.eval(&[register], Extra::default()), Some(right), "{c:?} of {register:x}");
        }
    }
}

// R-CVT-41, R-CVT-96: each half of the random bits serves its half of the result, 13 bits of it for f16.
#[test]
fn random_bits_of_pairs() {
    for dst in [Format::F16, Format::Bf16] {
        let c = conversion(Format::F32, dst, Rounding::Stochastic, Saturation::None);
        let cvt = Cvt { element: c, lanes: 2, packed_source: false, shared_scale: false };
        let mut random = SplitMix64::new(11);
        for pair in sources(&mut random, c, 6000).chunks_exact(2) {
            let rbits = random.next_u64() as u32;
            let right = expected(c, pair[0], rbits >> 16) << 16 | expected(c, pair[1], rbits & 0xffff);
            let extra = Extra { rbits, ..Extra::default() };
            assert_eq!(cvt.eval(pair, extra), Some(right), "{c:?} of {pair:x?} with {rbits:x}");
        }
    }
    // Seen on a GPU with stochastic rounding: a subnormal result adds at the top of the discarded bits too.
    let c = conversion(Format::F32, Format::F16, Rounding::Stochastic, Saturation::None);
    let cvt = Cvt { element: c, lanes: 2, packed_source: false, shared_scale: false };
    let extra = Extra { rbits: 0x1fff_1fff, ..Extra::default() };
    assert_eq!(cvt.eval(&[0x3380_03ff, 0x3380_0400], extra), Some(0x0001_0002));
}

// R-CVT-80, R-CVT-41: a, b, e, f from the top; a and b share one 16-bit field, e and f the other, and the
// first of each two reads it backwards (not verified on hardware).
#[test]
fn four_f32_with_random_bits() {
    for (dst, pitch) in
        [(Format::E4m3, 8), (Format::E5m2, 8), (Format::E2m3, 8), (Format::E3m2, 8), (Format::E2m1, 4)]
    {
        let c = conversion(Format::F32, dst, Rounding::Stochastic, Saturation::Finite);
        let cvt = Cvt { element: c, lanes: 4, packed_source: false, shared_scale: false };
        let mut random = SplitMix64::new(13);
        for four in sources(&mut random, c, 12_000).chunks_exact(4) {
            let rbits = random.next_u64() as u32;
            let byte = |n: u32| rbits >> (8 * n) & 0xff;
            let (first, second) = match dst {
                Format::E2m1 => (byte(3) << 8 | byte(1), byte(2) << 8 | byte(0)),
                _ => (rbits >> 16, rbits & 0xffff),
            };
            let backwards = |field: u32| (0..16).fold(0, |out, bit| out | (field >> bit & 1) << (15 - bit));
            let fields = [backwards(first), first, backwards(second), second];
            let elements = four.iter().zip(fields).map(|(&code, field)| expected(c, code, field));
            let right = elements.fold(0, |register, element| register << pitch | element);
            let extra = Extra { rbits, ..Extra::default() };
            assert_eq!(cvt.eval(four, extra), Some(right), "{c:?} of {four:x?} with {rbits:x}");
        }
    }
}

// One scale for both elements (n1), or the lower byte for the lower element (n2).
#[test]
fn scales_of_pairs() {
    let down = Conversion {
        scaling: Scaling::DivideFlushed,
        ..conversion(Format::F32, Format::E4m3, Rounding::NearestEven, Saturation::Finite)
    };
    let n1 = Cvt { element: down, lanes: 2, packed_source: false, shared_scale: true };
    let up = Conversion {
        scaling: Scaling::Multiply,
        ..conversion(Format::E4m3, Format::Bf16, Rounding::NearestEven, Saturation::None)
    };
    let n2 = Cvt { element: up, lanes: 2, packed_source: true, shared_scale: false };
    let mut random = SplitMix64::new(17);
    for pair in sources(&mut random, down, 4000).chunks_exact(2) {
        let scale = 0x7878 + (random.next_u64() as u16 & 0x0f0f);
        let (low, high) = (u32::from(scale & 0xff), u32::from(scale >> 8));
        let extra = Extra { scale, ..Extra::default() };
        let right = expected(down, pair[0], low) << 8 | expected(down, pair[1], low);
        assert_eq!(n1.eval(pair, extra), Some(right), "{pair:x?} by {scale:x}");
        let register = random.next_u64() & 0xffff;
        let right = expected(up, register >> 8, high) << 16 | expected(up, register & 0xff, low);
        assert_eq!(n2.eval(&[register], extra), Some(right), "{register:x} by {scale:x}");
    }
}

// R-CVT-31, R-CVT-32.
#[test]
fn wider_registers_are_filled_by_sign_or_zero() {
    let integers = [Format::U8, Format::S8, Format::U16, Format::S16, Format::U32, Format::S32];
    for format in integers {
        let bits = format.bits();
        for register in [16, 32, 64].into_iter().filter(|&register| register >= bits) {
            let mask = u64::MAX >> (64 - register);
            for code in [0, 1, 1 << (bits - 1), format.mask(), format.mask() >> 1, 0x5a & format.mask()] {
                let sign = format.name().starts_with('s') && code >> (bits - 1) == 1;
                let fill = if sign { mask & !format.mask() } else { 0 };
                assert_eq!(extend(format, code, register), code | fill, "{format} {code:x} in {register}");
            }
        }
    }
    for code in [0x8000, 0xffff, 0x3c00] {
        assert_eq!(extend(Format::F16, code, 32), code);
        assert_eq!(extend(Format::Bf16, code, 32), code);
    }
}

const PACKS: [(Format, u32, i64, i64); 8] = [
    (Format::U16, 16, 0, 65535),
    (Format::S16, 16, -32768, 32767),
    (Format::U8, 8, 0, 255),
    (Format::S8, 8, -128, 127),
    (Format::U4, 4, 0, 15),
    (Format::S4, 4, -8, 7),
    (Format::U2, 2, 0, 3),
    (Format::S2, 2, -2, 1),
];

// R-PACK-1, R-PACK-9, R-PACK-10, R-PACK-11.
#[test]
fn pack_clamps_and_joins() {
    let mut edges = vec![i32::MIN, i32::MIN + 1, i32::MAX - 1, i32::MAX];
    for (_, _, least, most) in PACKS {
        edges.extend((-2..=2).flat_map(|d| [least + d, most + d]).map(|n| n as i32));
    }
    edges.extend((0..32).flat_map(|bit| [1 << bit, -1 << bit]));
    edges.sort_unstable();
    edges.dedup();
    let cs = [0, 1, 3, 0xff, 0x1234_5678, 0x8000_0001, 0xffff_ffff];
    for (to, width, least, most) in PACKS {
        let mask = (1u64 << width) - 1;
        // The bits of the clamped number in two's complement.
        let sat = |n: i32| i64::from(n).max(least).min(most) as u64 & mask;
        for &a in &edges {
            for &b in &edges {
                let pair = sat(b) | sat(a) << width;
                if width == 16 {
                    assert_eq!(u64::from(pack(to, a, b, None)), pair, "{to} {a} {b}");
                    continue;
                }
                for c in cs {
                    let right = (pair | u64::from(c) << (2 * width)) as u32;
                    assert_eq!(pack(to, a, b, Some(c)), right, "{to} {a} {b} {c:x}");
                }
            }
        }
    }
}

// R-PACK-12, R-PACK-13, R-PACK-14: the manual's worked example.
#[test]
fn pack_step_by_step() {
    let (r2, r3, r5, r6) = (300, -7, 65, 66);
    let r1 = pack(Format::U8, r2, r3, Some(0));
    assert_eq!(r1, 0x0000_ff00);
    assert_eq!(pack(Format::U8, r5, r6, Some(r1)), 0xff00_4142);
}
