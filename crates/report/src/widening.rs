//! Exact conversions that PTX has no single instruction for: from a narrow format to any that holds all its values.
//!
//! PTX goes from FP8, FP6 and FP4 to f16 and bf16, two elements at a time. Arrays are often wanted in f32 or f64, or
//! in a wider narrow format. Every value of the source is a value of the destination, so that nothing is rounded.

use softwarp::num::slice::convert_packed;
use softwarp::num::{Conversion, ConversionLoop, Format, Rounding, Saturation};

/// An exact conversion of elements.
pub struct Widening {
    /// The format of the input.
    pub src: Format,
    /// The format of the result.
    pub dst: Format,
    /// Loops that are run one after another; by way of f32 if there are two.
    stages: Vec<ConversionLoop>,
}

impl Widening {
    /// The conversion, if the source is a narrow or 16-bit format, the destination another one, and every value of
    /// the source, infinities and NaN included, is one of the destination's.
    pub fn new(src: Format, dst: Format) -> Option<Widening> {
        if src == dst || src.is_int() || dst.is_int() || src.bits() > 16 {
            return None;
        }
        let stages = match direct(src, dst) {
            Some(one) => vec![one],
            None => vec![direct(src, Format::F32)?, direct(Format::F32, dst)?],
        };
        let widening = Widening { src, dst, stages };
        src.codes().all(|code| widening.is_exact(code)).then_some(widening)
    }

    /// Every such conversion.
    pub fn all() -> impl Iterator<Item = Widening> {
        let pairs =
            Format::ALL.into_iter().flat_map(|src| Format::ALL.into_iter().map(move |dst| (src, dst)));
        pairs.filter_map(|(src, dst)| Widening::new(src, dst))
    }

    /// The conversion of one element, as one rounding would do it.
    pub fn conversion(&self) -> Conversion {
        Conversion::new(self.src, self.dst)
    }

    /// Converts a single element.
    pub fn one(&self, code: u64) -> u64 {
        self.stages.iter().fold(code & self.src.mask(), |code, stage| stage.one(code, 0))
    }

    /// Converts packed elements; `to` has room for as many.
    pub fn run(&self, from: &[u8], elements: usize, to: &mut [u8]) {
        match self.stages.as_slice() {
            [one] => convert_packed(one, from, &[], to),
            [first, second] => {
                let mut between = vec![0; 4 * elements];
                convert_packed(first, from, &[], &mut between);
                convert_packed(second, &between, &[], to);
            }
            _ => {}
        }
    }

    fn is_exact(&self, code: u64) -> bool {
        let (before, after) = (self.src.decode(code), self.dst.decode(self.one(code)));
        (before.is_nan() && after.is_nan())
            || (before == after && before.is_sign_negative() == after.is_sign_negative())
    }
}

/// A single loop, by whichever rounding exists: exact conversions do not round.
fn direct(src: Format, dst: Format) -> Option<ConversionLoop> {
    let conversion = Conversion::new(src, dst);
    let saturated = conversion.with_saturation(Saturation::Finite);
    [conversion, saturated, conversion.with_rounding(Rounding::TowardZero)]
        .into_iter()
        .find_map(Conversion::compiled)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn narrow_formats_widen_to_all_that_hold_them() {
        let there = |src, dst| Widening::new(src, dst).is_some();
        for src in [Format::E4m3, Format::E5m2, Format::E2m3, Format::E3m2, Format::E2m1, Format::S2f6] {
            for dst in [Format::F16, Format::Bf16, Format::F32, Format::F64] {
                assert!(there(src, dst), "{src} {dst}");
            }
        }
        for (src, dst) in [
            (Format::E2m1, Format::E4m3),
            (Format::E2m1, Format::E2m3),
            (Format::E3m2, Format::E5m2),
            (Format::Ue8m0, Format::F64),
            (Format::Ue4m3, Format::F32),
            (Format::F16, Format::F64),
            (Format::Bf16, Format::F32),
        ] {
            assert!(there(src, dst), "{src} {dst}");
        }
        for (src, dst) in [
            (Format::E4m3, Format::E5m2),
            (Format::E5m2, Format::E4m3),
            (Format::Bf16, Format::F16),
            (Format::F32, Format::F16),
            (Format::Ue8m0, Format::F16),
            (Format::E4m3, Format::E4m3),
            (Format::E4m3, Format::E2m1),
        ] {
            assert!(!there(src, dst), "{src} {dst}");
        }
    }

    #[test]
    fn arrays_are_widened_as_single_elements_are() {
        for widening in Widening::all().filter(|one| one.src.bits() <= 8) {
            let codes: Vec<u64> = widening.src.codes().collect();
            let packed = |format: Format, codes: &[u64]| -> Vec<u8> {
                match format.pitch() {
                    4 => codes.chunks(2).map(|pair| (pair[0] | pair[1] << 4) as u8).collect(),
                    _ => {
                        codes.iter().flat_map(|code| code.to_le_bytes()[..format.bytes()].to_vec()).collect()
                    }
                }
            };
            let wanted: Vec<u64> = codes.iter().map(|&code| widening.one(code)).collect();
            let wanted = packed(widening.dst, &wanted);
            let mut to = vec![0; wanted.len()];
            widening.run(&packed(widening.src, &codes), codes.len(), &mut to);
            assert!(to == wanted, "{} to {}", widening.src, widening.dst);
        }
    }
}
