//! Block-scaled formats: narrow elements that share a scale, built from the element conversions.
//!
//! The OCP microscaling (MX) formats have 32 elements to a ue8m0 scale, NVFP4 has 16 to an e4m3 scale and
//! one f32 scale for the whole tensor. How a scale is chosen:
//!
//! * MX: by a [`ScaleRule`], no less than 2^-127; that of OCP MX 1.0, section 6.3, unless asked otherwise.
//! * NVFP4: the tensor's scale is its largest magnitude / (448 * 6), a block's scale its largest magnitude
//!   / 6 / the tensor's scale, rounded to nearest even in e4m3.
//!
//! Elements are divided by their scale and rounded ([`ElementRounding`]; to nearest even unless asked
//! otherwise), saturating. Infinities saturate and do not count for the scale; a NaN makes its block's scale
//! NaN, and with it the whole block when it is read back. Blocks do not cross rows.

use crate::environment::with_standard_floats;
use crate::slice::packed_len;
use crate::{
    Conversion, ConversionLoop, Format, Kind, Rounding, Saturation, Vectorise, splitmix, vectorised,
};
use rayon::prelude::*;

/// A block-scaled format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // The table below documents each.
pub enum BlockFormat {
    Mxfp8E4m3,
    Mxfp8E5m2,
    Mxfp6E2m3,
    Mxfp6E3m2,
    Mxfp4,
    Nvfp4,
}

impl BlockFormat {
    /// Every block-scaled format.
    pub const ALL: [BlockFormat; 6] = [
        BlockFormat::Mxfp8E4m3,
        BlockFormat::Mxfp8E5m2,
        BlockFormat::Mxfp6E2m3,
        BlockFormat::Mxfp6E3m2,
        BlockFormat::Mxfp4,
        BlockFormat::Nvfp4,
    ];

    /// Name, element format, scale format, elements of a block.
    const fn row(self) -> (&'static str, Format, Format, usize) {
        match self {
            BlockFormat::Mxfp8E4m3 => ("mxfp8_e4m3", Format::E4m3, Format::Ue8m0, 32),
            BlockFormat::Mxfp8E5m2 => ("mxfp8_e5m2", Format::E5m2, Format::Ue8m0, 32),
            BlockFormat::Mxfp6E2m3 => ("mxfp6_e2m3", Format::E2m3, Format::Ue8m0, 32),
            BlockFormat::Mxfp6E3m2 => ("mxfp6_e3m2", Format::E3m2, Format::Ue8m0, 32),
            BlockFormat::Mxfp4 => ("mxfp4", Format::E2m1, Format::Ue8m0, 32),
            BlockFormat::Nvfp4 => ("nvfp4", Format::E2m1, Format::E4m3, 16),
        }
    }

    /// The name people use.
    pub const fn name(self) -> &'static str {
        self.row().0
    }

    /// Finds a format by its name.
    pub fn from_name(name: &str) -> Option<BlockFormat> {
        BlockFormat::ALL.into_iter().find(|format| format.name() == name)
    }

    /// The format of the elements.
    pub const fn element(self) -> Format {
        self.row().1
    }

    /// The format of the scales.
    pub const fn scale(self) -> Format {
        self.row().2
    }

    /// Elements of a block.
    pub const fn block(self) -> usize {
        self.row().3
    }
}

/// How the power of two that scales a block of an MX format follows from the block's largest magnitude.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum ScaleRule {
    /// The largest power of two not above the magnitude, divided by the largest power of two of the element
    /// format: OCP MX 1.0, section 6.3. The largest elements may saturate.
    #[default]
    Floor,
    /// The same with the power of two nearest to the magnitude, the upper one if both are equally near.
    Nearest,
    /// The same with the magnitude rounded to the precision of the element format first, so that no element
    /// saturates by more than it is rounded.
    Even,
    /// The least power of two with which the magnitude is not beyond the largest number of the element
    /// format, so that nothing saturates: NVIDIA's rule for MXFP8 (magnitude / largest number, rounded up).
    Ceil,
}

impl ScaleRule {
    /// The code of the ue8m0 scale for a largest magnitude, which is finite.
    fn scale(self, element: Format, largest: f32) -> u8 {
        // As an f64 every f32 but zero is normal.
        let (bits, top) = (f64::from(largest).to_bits(), element.decode(element.max_finite()).to_bits());
        const FRACTION: u64 = (1 << 52) - 1;
        let mantissa = match element.spec().kind {
            Kind::Float { mantissa, .. } => mantissa,
            _ => 0,
        };
        let bits = match self {
            ScaleRule::Floor => bits,
            ScaleRule::Nearest => bits + (1 << 51),
            ScaleRule::Even => bits + (1 << (51 - mantissa)),
            ScaleRule::Ceil => bits + (u64::from(bits & FRACTION > top & FRACTION) << 52),
        };
        let exponent = (bits >> 52) as i64 - (top >> 52) as i64;
        if largest == 0.0 { 0 } else { (exponent + 127).clamp(0, 254) as u8 }
    }
}

/// How elements are rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum ElementRounding {
    /// To nearest, ties to even.
    #[default]
    NearestEven,
    /// Toward zero.
    TowardZero,
    /// At random, as `cvt.rs` rounds: the random bits of element i are the upper 16 of the output number i of
    /// splitmix64 started from this seed.
    Stochastic {
        /// The seed.
        seed: u64,
    },
}

impl ElementRounding {
    const fn rounding(self) -> Rounding {
        match self {
            ElementRounding::NearestEven => Rounding::NearestEven,
            ElementRounding::TowardZero => Rounding::TowardZero,
            ElementRounding::Stochastic { .. } => Rounding::Stochastic,
        }
    }
}

/// How to quantise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Rules {
    /// How the scales of MX formats are chosen. NVFP4 has one rule, and this is not looked at.
    pub scale: ScaleRule,
    /// How elements are rounded.
    pub rounding: ElementRounding,
}

/// A tensor in a block-scaled format.
#[derive(Clone, Debug, PartialEq)]
pub struct Quantized {
    /// The format.
    pub format: BlockFormat,
    /// The elements' codes, row after row, as in an array ([`packed_len`]); a row begins on a byte.
    pub codes: Vec<u8>,
    /// The scales' codes, row after row.
    pub scales: Vec<u8>,
    /// The scale of the whole tensor: 1 but for NVFP4.
    pub tensor_scale: f32,
}

impl Quantized {
    /// Whether codes and scales have the sizes of `elements` elements in rows of `row`.
    pub fn fits(&self, elements: usize, row: usize) -> bool {
        let rows = elements.checked_div(row).unwrap_or(0);
        row.checked_mul(rows) == Some(elements)
            && packed_len(self.format.element(), row).checked_mul(rows) == Some(self.codes.len())
            && row.div_ceil(self.format.block()).checked_mul(rows) == Some(self.scales.len())
    }
}

/// The conversions that a format needs.
struct Loops {
    down: ConversionLoop,
    up: ConversionLoop,
    scale_up: ConversionLoop,
    scale_down: Option<ConversionLoop>,
}

impl Loops {
    /// `None` never happens: a test makes them all.
    fn new(format: BlockFormat, rounding: Rounding) -> Option<Loops> {
        let down = |dst, rounding| {
            let conversion = Conversion::new(Format::F32, dst).with_rounding(rounding);
            conversion.with_saturation(Saturation::Finite).compiled()
        };
        let up = |src| Conversion::new(src, Format::F32).compiled();
        let (element, scale) = (format.element(), format.scale());
        Some(Loops {
            down: down(element, rounding)?,
            up: up(element)?,
            scale_up: up(scale)?,
            scale_down: down(scale, Rounding::NearestEven),
        })
    }
}

/// Quantises rows of `row` elements each; elements after the last whole row are left out.
pub fn quantize(format: BlockFormat, x: &[f32], row: usize) -> Quantized {
    quantize_by(format, Rules::default(), x, row)
}

/// As [`quantize`], by other rules.
pub fn quantize_by(format: BlockFormat, rules: Rules, x: &[f32], row: usize) -> Quantized {
    with_standard_floats(|| quantize_here(format, rules, x, row))
}

fn quantize_here(format: BlockFormat, rules: Rules, x: &[f32], row: usize) -> Quantized {
    let mut quantized = Quantized { format, codes: Vec::new(), scales: Vec::new(), tensor_scale: 1.0 };
    let (Some(loops), true) = (Loops::new(format, rules.rounding.rounding()), row > 0) else {
        return quantized;
    };
    let rows = x.len() / row;
    let x = &x[..rows * row];
    if format == BlockFormat::Nvfp4 {
        let largest = x.par_chunks(1 << 16).map(|x| vectorised(Largest(x)).0).max().unwrap_or(0);
        let scale = f32::from_bits(largest) / (448.0 * 6.0);
        // A tensor of zeros, or so small that its scale vanishes, is not scaled.
        quantized.tensor_scale = if scale > 0.0 { scale } else { 1.0 };
    }
    let (row_codes, row_scales) = (packed_len(format.element(), row), row.div_ceil(format.block()));
    quantized.codes = vec![0; rows * row_codes];
    quantized.scales = vec![0; rows * row_scales];
    let quantizer = Quantizer { format, rules, loops, tensor_scale: quantized.tensor_scale };
    x.par_chunks(row)
        .zip(quantized.codes.par_chunks_mut(row_codes))
        .zip(quantized.scales.par_chunks_mut(row_scales))
        .enumerate()
        .for_each(|(number, ((x, codes), scales))| {
            let blocks =
                x.chunks(format.block()).zip(codes.chunks_mut(packed_len(format.element(), format.block())));
            let firsts = (number * row..).step_by(format.block());
            with_standard_floats(|| {
                for (((x, codes), scale), first) in blocks.zip(scales).zip(firsts) {
                    *scale = quantizer.block(first, x, codes);
                }
            });
        });
    quantized
}

/// What every block of a tensor needs to be quantised.
struct Quantizer {
    format: BlockFormat,
    rules: Rules,
    loops: Loops,
    tensor_scale: f32,
}

impl Quantizer {
    /// Quantises one block, which begins with the element of this number; returns its scale's code.
    fn block(&self, first: usize, x: &[f32], codes: &mut [u8]) -> u8 {
        let Quantizer { format, rules, loops, tensor_scale } = self;
        let (largest, nan) = vectorised(Largest(x));
        let scale = match format.scale() {
            _ if nan => format.scale().canonical_nan().unwrap_or(0) as u8,
            Format::Ue8m0 => rules.scale.scale(format.element(), f32::from_bits(largest)),
            _ => {
                let wanted = f32::from_bits(largest) / 6.0 / tensor_scale;
                loops.scale_down.map_or(0, |down| down.one(wanted.to_bits().into(), 0) as u8)
            }
        };
        let mut scaled = [[0u8; 4]; 32];
        let divisor = f32::from_bits(loops.scale_up.one(scale.into(), 0) as u32) * tensor_scale;
        if divisor != 0.0 && !nan {
            vectorised(Divide { x, divisor, out: &mut scaled });
        }
        let mut random = [[0u8; 2]; 32];
        let random = match rules.rounding {
            ElementRounding::Stochastic { seed } => {
                for (bits, element) in random[..x.len()].iter_mut().zip(first as u64..) {
                    *bits = ((splitmix::output(seed, element) >> 48) as u16).to_le_bytes();
                }
                random[..x.len()].as_flattened()
            }
            _ => &[],
        };
        loops.down.run_packed(&scaled.as_flattened()[..4 * x.len()], random, codes);
        scale
    }
}

/// Reads a quantised tensor of `elements` elements in rows of `row` back; what its codes and scales have no
/// room for is left out.
pub fn dequantize(quantized: &Quantized, elements: usize, row: usize) -> Vec<f32> {
    let format = quantized.format;
    let (Some(loops), true) = (Loops::new(format, Rounding::NearestEven), row > 0) else {
        return Vec::new();
    };
    let (row_codes, row_scales) = (packed_len(format.element(), row), row.div_ceil(format.block()));
    let rows =
        (quantized.codes.len() / row_codes).min(quantized.scales.len() / row_scales).min(elements / row);
    let mut out = vec![0.0; rows * row];
    out.par_chunks_mut(row)
        .zip(quantized.codes.par_chunks(row_codes))
        .zip(quantized.scales.par_chunks(row_scales))
        .for_each(|((out, codes), scales)| {
            let block_codes = packed_len(format.element(), format.block());
            let blocks = out.chunks_mut(format.block()).zip(codes.chunks(block_codes)).zip(scales);
            with_standard_floats(|| {
                for ((out, codes), &scale) in blocks {
                    dequantize_block(&loops, quantized.tensor_scale, codes, scale, out);
                }
            });
        });
    out
}

fn dequantize_block(loops: &Loops, tensor_scale: f32, codes: &[u8], scale: u8, out: &mut [f32]) {
    let scale = f32::from_bits(loops.scale_up.one(scale.into(), 0) as u32) * tensor_scale;
    let mut values = [[0u8; 4]; 32];
    loops.up.run_packed(codes, &[], values.as_flattened_mut());
    for (out, value) in out.iter_mut().zip(values) {
        *out = f32::from_le_bytes(value) * scale;
    }
}

/// The bits of the largest finite magnitude, and whether there is a NaN.
struct Largest<'a>(&'a [f32]);

impl Vectorise for Largest<'_> {
    type Output = (u32, bool);

    #[inline(always)]
    fn run(self) -> (u32, bool) {
        let infinity = f32::INFINITY.to_bits();
        let (mut largest, mut top) = (0, 0);
        for x in self.0 {
            let magnitude = x.to_bits() & 0x7fff_ffff;
            top = magnitude.max(top);
            largest = largest.max(if magnitude < infinity { magnitude } else { 0 });
        }
        (largest, top > infinity)
    }
}

/// Each element divided by the scale.
struct Divide<'a> {
    x: &'a [f32],
    divisor: f32,
    out: &'a mut [[u8; 4]],
}

impl Vectorise for Divide<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for (x, out) in self.x.iter().zip(self.out) {
            *out = (x / self.divisor).to_le_bytes();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_has_its_conversions() {
        for format in BlockFormat::ALL {
            for rounding in [Rounding::NearestEven, Rounding::TowardZero, Rounding::Stochastic] {
                let loops = Loops::new(format, rounding).expect("its conversions");
                assert_eq!(loops.scale_down.is_some(), format == BlockFormat::Nvfp4);
            }
            assert_eq!(BlockFormat::from_name(format.name()), Some(format));
        }
    }

    #[test]
    fn a_block_of_mxfp4_by_hand() {
        let mut x = [0.0f32; 32];
        x[..6].copy_from_slice(&[12.0, -7.0, 1.0, 0.4, f32::INFINITY, -0.0]);
        let quantized = quantize(BlockFormat::Mxfp4, &x, 32);
        // Largest 12 = 1.5 * 2^3, less e2m1's top exponent 2: scale 2, code 128.
        assert_eq!(quantized.scales, [128]);
        // 6, -3.5 (a tie: to even, -4), 0.5, 0.2 (nearer 0), the largest number, -0.
        assert_eq!(quantized.codes[..3], [0xe7, 0x01, 0x87]);
        let back = dequantize(&quantized, 32, 32);
        assert_eq!(back[..6], [12.0, -8.0, 1.0, 0.0, 12.0, -0.0]);
    }

    #[test]
    fn scales_follow_the_definition_in_every_binade() {
        for format in BlockFormat::ALL.into_iter().filter(|format| format.scale() == Format::Ue8m0) {
            let top = format.element().decode(format.element().max_finite());
            for exponent in -149..128 {
                let x = 2f64.powi(exponent) * 1.75;
                let x = x as f32;
                let wanted = 2f64.powi(f64::from(x).log2().floor() as i32 - top.log2().floor() as i32);
                let quantized = quantize(format, &[x], 1);
                let got = Format::Ue8m0.decode(quantized.scales[0].into());
                assert_eq!(got, wanted.max(2f64.powi(-127)), "{} {x:e}", format.name());
                let back = f64::from(dequantize(&quantized, 1, 1)[0]);
                assert!(
                    (back - f64::from(x)).abs() <= f64::from(x) * 0.25 + 2f64.powi(-127),
                    "{x:e} {back:e}"
                );
            }
        }
    }

    /// The scale that a rule asks for, from its definition.
    fn wanted(rule: ScaleRule, element: Format, x: f32) -> f64 {
        let (x, top) = (f64::from(x), element.decode(element.max_finite()));
        let floor = |x: f64| x.log2().floor() as i32;
        let top_exponent = floor(top);
        let exponent = match rule {
            ScaleRule::Floor => floor(x) - top_exponent,
            ScaleRule::Nearest => {
                let below = floor(x);
                let up = x - 2f64.powi(below) >= 2f64.powi(below + 1) - x;
                below + i32::from(up) - top_exponent
            }
            ScaleRule::Even => {
                let Kind::Float { mantissa, .. } = element.spec().kind else { unreachable!() };
                let unit = 2f64.powi(floor(x) - i32::from(mantissa));
                floor((x / unit + 0.5).floor() * unit) - top_exponent
            }
            ScaleRule::Ceil => {
                (-300..300).find(|&e| top * 2f64.powi(e) >= x).expect("some power is large enough")
            }
        };
        2f64.powi(exponent.clamp(-127, 127))
    }

    #[test]
    fn every_rule_of_scales_follows_its_definition() {
        for format in BlockFormat::ALL.into_iter().filter(|format| format.scale() == Format::Ue8m0) {
            for rule in [ScaleRule::Floor, ScaleRule::Nearest, ScaleRule::Even, ScaleRule::Ceil] {
                for exponent in -149..128 {
                    for mantissa in [1.0, 1.2, 1.4999, 1.5, 1.5001, 1.74999, 1.75, 1.9375, 1.99999] {
                        let x = (2f64.powi(exponent) * mantissa) as f32;
                        let rules = Rules { scale: rule, ..Rules::default() };
                        let quantized = quantize_by(format, rules, &[x, -x / 3.0], 2);
                        let got = Format::Ue8m0.decode(quantized.scales[0].into());
                        assert_eq!(got, wanted(rule, format.element(), x), "{format:?} {rule:?} {x:e}");
                    }
                }
                let rules = Rules { scale: rule, ..Rules::default() };
                assert_eq!(quantize_by(format, rules, &[0.0, -0.0], 2).scales, [0]);
            }
        }
    }

    #[test]
    fn with_the_rule_ceil_nothing_saturates() {
        let rules = Rules { scale: ScaleRule::Ceil, ..Rules::default() };
        for format in [BlockFormat::Mxfp8E4m3, BlockFormat::Mxfp4] {
            let x: Vec<f32> = (1..4000).map(|n| n as f32 * 0.37).collect();
            for x in x.chunks_exact(1) {
                let quantized = quantize_by(format, rules, x, 1);
                let back = dequantize(&quantized, 1, 1)[0];
                let scale = Format::Ue8m0.decode(quantized.scales[0].into()) as f32;
                let top = format.element().decode(format.element().max_finite()) as f32;
                assert!(x[0] <= top * scale && back <= top * scale, "{x:?}");
            }
        }
    }

    #[test]
    fn rounding_toward_zero_and_at_random() {
        let x: Vec<f32> = (0..6400).map(|n| if n % 32 == 0 { 6.0 } else { 1.1 }).collect();
        let quantized = |rounding| {
            let rules = Rules { rounding, ..Rules::default() };
            dequantize(&quantize_by(BlockFormat::Mxfp4, rules, &x, 64), x.len(), 64)
        };
        let zero = quantized(ElementRounding::TowardZero);
        assert!(zero.iter().zip(&x).all(|(y, x)| *y == if *x == 6.0 { 6.0 } else { 1.0 }));
        let random = quantized(ElementRounding::Stochastic { seed: 1 });
        // 1.1 is a fifth of the way from 1 to 1.5.
        let up = random.iter().filter(|y| **y == 1.5).count() as f64 / 6200.0;
        assert!((up - 0.2).abs() < 0.03 && random.iter().all(|y| [1.0, 1.5, 6.0].contains(y)), "{up}");
        assert!(random != quantized(ElementRounding::Stochastic { seed: 2 }));
        assert!(random == quantized(ElementRounding::Stochastic { seed: 1 }));
    }

    #[test]
    fn nan_poisons_its_block_and_no_other() {
        for format in BlockFormat::ALL {
            let block = format.block();
            let mut x = vec![1.0; 2 * block];
            x[3] = f32::NAN;
            let back = dequantize(&quantize(format, &x, 2 * block), 2 * block, 2 * block);
            assert!(back[..block].iter().all(|x| x.is_nan()), "{}", format.name());
            assert!(back[block..].iter().all(|x| (x - 1.0).abs() < 0.1), "{} {back:?}", format.name());
        }
    }

    #[test]
    fn values_of_the_format_come_back_exactly() {
        for format in BlockFormat::ALL {
            let element = format.element();
            // Every block holds the largest element, so that scales are one times a power of two.
            let top = element.decode(element.max_finite()) as f32;
            let values: Vec<f32> = element.codes().map(|code| element.decode(code) as f32).collect();
            let values = values.iter().copied().filter(|x| x.is_finite());
            let x: Vec<f32> =
                values.flat_map(|x| std::iter::once(x).chain(vec![top; format.block() - 1])).collect();
            let back = dequantize(&quantize(format, &x, x.len()), x.len(), x.len());
            for (x, back) in x.iter().zip(back) {
                assert!((x - back).abs() <= x.abs() * 1e-6, "{} {x} {back}", format.name());
            }
        }
    }

    #[test]
    fn short_rows_and_odd_lengths() {
        for format in BlockFormat::ALL {
            let x: Vec<f32> = (0..3 * 37).map(|n| (n as f32 * 0.7).sin()).collect();
            let quantized = quantize(format, &x, 37);
            assert!(quantized.fits(x.len(), 37));
            assert!(!quantized.fits(x.len() + 37, 37));
            let back = dequantize(&quantized, x.len(), 37);
            assert_eq!(back.len(), x.len());
            assert!(x.iter().zip(&back).all(|(x, back)| (x - back).abs() < 0.26), "{}", format.name());
        }
    }
}
