//! What becomes of NaN: the rules measured on a GPU (sm_90), where the manual is mostly silent.

use super::layout::{Layout, layout_of, sign_bit, width};
use softwarp_num::{Conversion, Format, Rounding, Saturation};

/// The NaN that a format's conversions produce unless a rule below says otherwise.
pub fn canonical(format: Format) -> Option<u64> {
    Some(match format {
        Format::F16 | Format::Bf16 => 0x7fff,
        Format::Tf32 => 0x7fff_e000,
        Format::F32 => 0x7fff_ffff,
        Format::F64 => 0x7fff_ffff_ffff_ffff,
        Format::E4m3 | Format::E5m2 | Format::Ue4m3 => 0x7f,
        Format::Ue8m0 | Format::Ue5m3 => 0xff,
        _ => return None,
    })
}

/// What NaN becomes in formats that have none: the largest positive number.
fn instead(format: Format) -> u64 {
    match format {
        Format::E2m1 => 0x7,
        Format::E2m3 | Format::E3m2 => 0x1f,
        Format::S2f6 => 0x7f,
        _ => panic!("NaN to {format} has a rule of its own"),
    }
}

/// How a pair of formats treats NaN.
enum Rule {
    /// All bits as they are, moved up by that many.
    Keep(u32),
    /// Sign and as much of the payload as fits, with the quiet bit set.
    Quieten,
}

/// The pairs that do not give the canonical NaN.
fn rule(c: Conversion) -> Option<Rule> {
    match (c.src, c.dst) {
        (Format::F32, Format::F32) if !c.ftz && !c.integral => Some(Rule::Keep(0)),
        (Format::F64, Format::F64) if !c.integral => Some(Rule::Keep(0)),
        (Format::Bf16, Format::F32) if !c.ftz => Some(Rule::Keep(16)),
        (Format::F64, Format::F16 | Format::Bf16 | Format::F32 | Format::F64) => Some(Rule::Quieten),
        (Format::F16 | Format::Bf16, Format::F64) => Some(Rule::Quieten),
        (Format::F32, Format::F64) if !c.ftz => Some(Rule::Quieten),
        _ => None,
    }
}

/// The result for a NaN: `code` is the source's, or `None` if the NaN came from the scale.
pub fn result(c: Conversion, code: Option<u64>) -> u64 {
    if let Layout::Integer { bits, .. } = layout_of(c.dst) {
        let indefinite = c.src == Format::F64 || bits == 64;
        return if indefinite { 1 << (bits - 1) } else { 0 };
    }
    if c.saturation == Saturation::Clamp {
        return 0;
    }
    match (c.rounding, code, rule(c)) {
        (Rounding::NearestAway, Some(code), _) if c.dst == Format::Tf32 => round_away_bits(c, code),
        // f32 to f64 under .ftz: the f32 is made canonical before it is widened.
        (_, Some(_), None) if (c.src, c.dst) == (Format::F32, Format::F64) => 0x7fff_ffff_e000_0000,
        (_, Some(code), Some(Rule::Keep(shift))) => code << shift,
        (_, Some(code), Some(Rule::Quieten)) => quieten(c.src, c.dst, code),
        _ => canonical(c.dst).unwrap_or_else(|| instead(c.dst)),
    }
}

/// `cvt.rna.tf32` knows no NaN: it adds half a unit below infinity only, clears the low bits in any case,
/// and under `.satfinite` steps one unit down whatever is then not below infinity.
fn round_away_bits(c: Conversion, code: u64) -> u64 {
    let (sign, magnitude) = (code & 0x8000_0000, code & 0x7fff_ffff);
    let cleared = magnitude & !0x1fff;
    let lowered = c.saturation == Saturation::Finite && cleared >= 0x7f80_0000;
    sign | if lowered { cleared - 0x2000 } else { cleared }
}

/// Sign, all-ones exponent, quiet bit, and the payload aligned at its top.
fn quieten(src: Format, dst: Format, code: u64) -> u64 {
    let fields = |format| match layout_of(format) {
        Layout::Float { exponent, mantissa, .. } => (exponent, mantissa),
        _ => panic!("{format} is no floating format"),
    };
    let ((_, from), (exponent, to)) = (fields(src), fields(dst));
    let payload = code & ((1 << from) - 1);
    let payload = if to >= from { payload << (to - from) } else { payload >> (from - to) };
    let sign = if code & sign_bit(src) == 0 { 0 } else { 1 << (width(dst) - 1) };
    sign | ((1 << exponent) - 1) << to | 1 << (to - 1) | payload
}
