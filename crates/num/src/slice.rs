//! Conversions of arrays: element streams as they lie in memory, on one core or all.
//!
//! In an array, 4-bit codes lie two to a byte, the first in the low half; every other format takes
//! [`Format::bytes`] bytes, little-endian. This is also how the registers of PTX's x2 and x4 types lie in
//! memory: element 0 is the lowest.

use crate::{ConversionLoop, Format};
use rayon::prelude::*;

/// Elements of one piece of parallel work. Even, so that pieces of 4-bit codes begin on a byte.
const PIECE: usize = 1 << 18;

/// Bytes that `elements` elements of a format take in an array.
pub const fn packed_len(format: Format, elements: usize) -> usize {
    match format.pitch() {
        4 => elements.div_ceil(2),
        _ => elements.saturating_mul(format.bytes()),
    }
}

/// Converts an array on all cores; a small one on this thread, as [`ConversionLoop::run_packed`] does.
pub fn convert_packed(compiled: &ConversionLoop, src: &[u8], aux: &[u8], dst: &mut [u8]) {
    let (from, to) = (compiled.conversion().src, compiled.conversion().dst);
    let (src_piece, dst_piece) = (packed_len(from, PIECE), packed_len(to, PIECE));
    let small = src.len() < 2 * src_piece || dst.len() < 2 * dst_piece;
    if small || rayon::current_num_threads() == 1 {
        return compiled.run_packed(src, aux, dst);
    }
    let aux_piece = PIECE * compiled.aux_bytes();
    let pieces = src.par_chunks(src_piece).zip(dst.par_chunks_mut(dst_piece));
    pieces.enumerate().for_each(|(piece, (src, dst))| {
        let aux = aux.get(piece * aux_piece..).unwrap_or(&[]);
        compiled.run_packed(src, aux, dst);
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::splitmix::SplitMix64;
    use crate::{Conversion, Saturation};

    /// Random bytes.
    fn noise(len: usize) -> Vec<u8> {
        let mut random = SplitMix64::new(len as u64);
        (0..len).map(|_| random.next_u64() as u8).collect()
    }

    fn element(format: Format, array: &[u8], n: usize) -> u64 {
        if format.pitch() == 4 {
            return u64::from(array[n / 2] >> (4 * (n % 2)) & 15);
        }
        let bytes = &array[n * format.bytes()..][..format.bytes()];
        bytes.iter().rev().fold(0, |code, &byte| code << 8 | u64::from(byte))
    }

    #[test]
    fn an_array_is_its_elements_one_by_one() {
        let narrow = Saturation::Finite;
        let cases = [
            (Format::F32, Format::E2m1, narrow),
            (Format::F32, Format::E4m3, narrow),
            (Format::F16, Format::E2m1, narrow),
            (Format::E2m1, Format::F32, Saturation::None),
            (Format::E2m1, Format::F16, Saturation::None),
            (Format::F64, Format::F16, Saturation::None),
            (Format::U8, Format::S64, Saturation::None),
        ];
        for (src, dst, saturation) in cases {
            let compiled = Conversion::new(src, dst).with_saturation(saturation).compiled().unwrap();
            // Around the lengths at which loops and threads divide their work.
            for elements in [0, 1, 2, 3, 63, 64, 65, 127, 129, 1000, 2 * PIECE - 1, 2 * PIECE + 77] {
                let array = noise(packed_len(src, elements));
                let mut out = vec![0xcd; packed_len(dst, elements) + 8];
                let (used, rest) = out.split_at_mut(packed_len(dst, elements));
                convert_packed(&compiled, &array, &[], used);
                assert_eq!(rest, [0xcd; 8]);
                for n in (0..elements).filter(|n| elements < 2000 || n % 97 == 0 || n + 200 > elements) {
                    let expected = compiled.one(element(src, &array, n), 0);
                    assert_eq!(element(dst, used, n), expected, "{src} {dst} {n} of {elements}");
                }
            }
        }
    }

    /// Large arrays are written past the caches where the CPU can, in step with its lines.
    #[test]
    fn a_large_array_is_its_elements_wherever_it_lies() {
        let elements = (1 << 20) + 200;
        for src in [Format::E2m1, Format::E4m3, Format::Bf16, Format::F16, Format::S16] {
            let compiled = Conversion::new(src, Format::F32).compiled().unwrap();
            let array = noise(packed_len(src, elements));
            let expected: Vec<u8> = (0..elements)
                .flat_map(|n| compiled.one(element(src, &array, n), 0).to_le_bytes()[..4].to_vec())
                .collect();
            for start in [0, 1, 2, 4, 8, 12, 16, 60] {
                let mut out = vec![0xcd; 4 * elements + 128];
                let start = out.as_ptr().align_offset(64) + start;
                compiled.run_packed(&array, &[], &mut out[start..][..4 * elements]);
                assert!(out[start..][..4 * elements] == expected, "{src} at {start}");
                let around = out[..start].iter().chain(&out[start + 4 * elements..]);
                assert!(around.into_iter().all(|&byte| byte == 0xcd), "{src} at {start}");
            }
        }
    }

    #[test]
    fn auxiliary_input_keeps_step_on_all_threads() {
        let c = Conversion {
            rounding: crate::Rounding::Stochastic,
            ..Conversion::new(Format::F32, Format::Bf16)
        };
        let compiled = c.compiled().unwrap();
        let elements = 2 * PIECE + 5;
        let (array, aux) = (noise(4 * elements), noise(2 * elements + 1)[1..].to_vec());
        let mut out = vec![0; 2 * elements];
        convert_packed(&compiled, &array, &aux, &mut out);
        for n in (0..elements).step_by(101).chain(elements - 10..elements) {
            let random = element(Format::U16, &aux, n) as u32;
            let expected = compiled.one(element(Format::F32, &array, n), random);
            assert_eq!(element(Format::Bf16, &out, n), expected, "{n}");
        }
    }
}
