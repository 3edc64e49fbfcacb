//! What a conversion did to a number, found by comparing what went in with what came out.
//!
//! The comparison is of exact values: of f64s, which hold every format but the 64-bit integers, and of
//! integers where those take part. Nothing here converts; the results come from `softwarp_num`.

use crate::literal::{display, display_f64};
use softwarp::num::{Class, Conversion, Format, Kind, Rounding, Saturation, Scaling};
use std::cmp::Ordering;
use std::fmt;

/// The exact value of a code.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// A value of any other format.
    Float(f64),
    /// A value of an integer format.
    Int(i128),
}

impl Value {
    /// What a code stands for.
    pub fn of(format: Format, code: u64) -> Value {
        let code = code & format.mask();
        match format.spec().kind {
            Kind::Int { signed: false } => Value::Int(code.into()),
            Kind::Int { signed: true } => {
                let unused = 64 - format.bits();
                Value::Int(((code << unused) as i64 >> unused).into())
            }
            _ => Value::Float(format.decode(code)),
        }
    }

    /// The nearest f64.
    pub fn to_f64(self) -> f64 {
        match self {
            Value::Float(x) => x,
            Value::Int(n) => n as f64,
        }
    }

    fn is_negative(self) -> bool {
        self.to_f64() < 0.0
    }

    /// `None` if either is NaN.
    fn compare(self, other: Value) -> Option<Ordering> {
        match (self, other) {
            (Value::Float(x), Value::Float(y)) => x.partial_cmp(&y),
            (Value::Int(m), Value::Int(n)) => Some(m.cmp(&n)),
            (Value::Float(_), Value::Int(_)) => other.compare(self).map(Ordering::reverse),
            // An f64 from 2^53 up is an integer; below, so is the i128's f64.
            (Value::Int(n), Value::Float(x)) if x.abs() >= 2f64.powi(53) => Some(n.cmp(&(x as i128))),
            (Value::Int(n), Value::Float(x)) => (n as f64).partial_cmp(&x),
        }
    }

    /// `self - other`, as an f64.
    fn minus(self, other: Value) -> f64 {
        let whole = |value| match value {
            Value::Int(n) => Some(n),
            Value::Float(x) => (x.abs() < 2f64.powi(100) && x.fract() == 0.0).then_some(x as i128),
        };
        match (self, other) {
            (Value::Float(x), Value::Float(y)) => x - y,
            (m, n) => match (whole(m), whole(n)) {
                (Some(m), Some(n)) => (m - n) as f64,
                _ => m.to_f64() - n.to_f64(),
            },
        }
    }
}

/// What a conversion did to a number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Outcome {
    /// The result is the very value.
    Exact,
    /// The result is the next larger number.
    RoundedUp,
    /// The result is the next smaller number.
    RoundedDown,
    /// Too small for the destination: the result is zero.
    Underflowed,
    /// Too large: the result is infinity.
    OverflowedToInfinity,
    /// Too large, and the destination has NaN but no infinity.
    OverflowedToNan,
    /// Out of range, and clamped to its edge.
    Saturated,
    /// Out of the range of a shorter integer: only its low bits are left.
    Wrapped,
    /// The input was subnormal and counts as zero.
    InputFlushed,
    /// The result would be subnormal and is zero.
    ResultFlushed,
    /// Negative, and made zero by `.relu`.
    RectifiedToZero,
    /// Negative zero, and made positive.
    ZeroMadePositive,
    /// The destination has no zero: the result is its least number.
    RaisedToLeast,
    /// NaN in, NaN out.
    NanKept,
    /// NaN in, and something else out.
    NanReplaced,
    /// The scale is NaN, and so the result is NaN or what stands for it.
    NanScale,
}

impl Outcome {
    /// The stable name of the outcome.
    pub fn name(self) -> &'static str {
        match self {
            Outcome::Exact => "exact",
            Outcome::RoundedUp => "rounded_up",
            Outcome::RoundedDown => "rounded_down",
            Outcome::Underflowed => "underflowed",
            Outcome::OverflowedToInfinity => "overflowed_to_infinity",
            Outcome::OverflowedToNan => "overflowed_to_nan",
            Outcome::Saturated => "saturated",
            Outcome::Wrapped => "wrapped",
            Outcome::InputFlushed => "input_flushed",
            Outcome::ResultFlushed => "result_flushed",
            Outcome::RectifiedToZero => "rectified_to_zero",
            Outcome::ZeroMadePositive => "zero_made_positive",
            Outcome::RaisedToLeast => "raised_to_least",
            Outcome::NanKept => "nan_kept",
            Outcome::NanReplaced => "nan_replaced",
            Outcome::NanScale => "nan_scale",
        }
    }
}

/// The story of one element.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Explanation {
    /// The conversion.
    pub conversion: Conversion,
    /// The bits of the source.
    pub source: u64,
    /// The ue8m0 code of the scale, if there is one.
    pub scale: Option<u8>,
    /// The value converted: that of the source, scaled.
    pub value: Value,
    /// The bits of the result.
    pub result: u64,
    /// What the conversion did.
    pub outcome: Outcome,
    /// Whether a sign was lost because the destination has none.
    pub sign_dropped: bool,
    /// Result less value, where both are finite and the result is meant to be near.
    pub error: Option<f64>,
}

/// Tells what `conversion` did when it made `result` of `source` and `aux`.
pub fn explain(conversion: Conversion, source: u64, aux: u32, result: u64) -> Explanation {
    let c = conversion;
    let (before, after) = (Value::of(c.src, source), Value::of(c.dst, result));
    let scale = (c.scaling != Scaling::None).then_some(aux as u8);
    let factor = scale.map_or(1.0, |code| Format::Ue8m0.decode(code.into()));
    let value = match (c.scaling, before) {
        (Scaling::None, _) | (_, Value::Int(_)) => before,
        (Scaling::Multiply, Value::Float(x)) => Value::Float(x * factor),
        (_, Value::Float(x)) => Value::Float(x / factor),
    };
    let unsigned = !c.dst.is_signed() && !c.dst.is_int();
    let sign_dropped = unsigned && value.is_negative();
    let counted = if sign_dropped { Value::Float(-value.to_f64()) } else { value };
    let outcome = outcome(c, source, factor, counted, after, result);
    let near = matches!(
        outcome,
        Outcome::Exact
            | Outcome::RoundedUp
            | Outcome::RoundedDown
            | Outcome::Underflowed
            | Outcome::RaisedToLeast
    );
    let error = (near && value.to_f64().is_finite()).then(|| after.minus(counted));
    Explanation { conversion, source, scale, value, result, outcome, sign_dropped, error }
}

fn outcome(c: Conversion, source: u64, factor: f64, value: Value, after: Value, result: u64) -> Outcome {
    let (x, y) = (value.to_f64(), after.to_f64());
    let canonical = c.canonical();
    let class = c.src.classify(source);
    if class == Class::Nan {
        return if y.is_nan() { Outcome::NanKept } else { Outcome::NanReplaced };
    }
    if factor.is_nan() {
        return Outcome::NanScale;
    }
    let flushes_input = canonical.ftz && c.src == Format::F32 || c.scaling == Scaling::DivideFlushed;
    if flushes_input && class == Class::Subnormal {
        return Outcome::InputFlushed;
    }
    if y.is_nan() {
        return Outcome::OverflowedToNan;
    }
    if y.is_infinite() {
        return if x.is_infinite() { Outcome::Exact } else { Outcome::OverflowedToInfinity };
    }
    if x == 0.0 && y == 0.0 {
        let lost = x.is_sign_negative() && y.is_sign_positive() && !c.dst.is_int();
        return if lost && c.dst.is_signed() && c.dst != Format::S2f6 {
            Outcome::ZeroMadePositive
        } else {
            Outcome::Exact
        };
    }
    if c.relu && x < 0.0 {
        return Outcome::RectifiedToZero;
    }
    if c.src.is_int() && c.dst.is_int() && c.saturation == Saturation::None {
        return if value == after { Outcome::Exact } else { Outcome::Wrapped };
    }
    if is_clamped(c, value) {
        return Outcome::Saturated;
    }
    match after.compare(value) {
        Some(Ordering::Equal) => Outcome::Exact,
        _ if y == 0.0 && !c.dst.is_int() && !c.integral => {
            let flushed = canonical.ftz && c.dst == Format::F32 && x.abs() >= Format::F32.decode(1) / 2.0;
            if flushed { Outcome::ResultFlushed } else { Outcome::Underflowed }
        }
        _ if c.dst == Format::Ue8m0 && result == 0 && x < y => Outcome::RaisedToLeast,
        Some(Ordering::Greater) => Outcome::RoundedUp,
        _ => Outcome::RoundedDown,
    }
}

/// Whether a value is outside of what the destination, or `.sat`, lets through.
fn is_clamped(c: Conversion, value: Value) -> bool {
    let beyond = |low: Value, high: Value, value: Value| {
        value.compare(low) == Some(Ordering::Less) || value.compare(high) == Some(Ordering::Greater)
    };
    let finite = |code| Value::of(c.dst, code);
    let (low, high) = (finite(c.dst.min_finite()), finite(c.dst.max_finite()));
    if c.dst.is_int() {
        // A fraction may be rounded into the range; what is clamped is what is outside afterwards.
        let rounded = match value {
            Value::Int(_) => value,
            Value::Float(x) => Value::Float(match c.rounding {
                Rounding::TowardZero => x.trunc(),
                Rounding::Down => x.floor(),
                Rounding::Up => x.ceil(),
                _ => x.round_ties_even(),
            }),
        };
        return beyond(low, high, rounded);
    }
    match c.saturation {
        Saturation::Clamp => beyond(Value::Int(0), Value::Int(1), value),
        // What is not finite, such as the sign of an unsigned format, was dealt with before.
        Saturation::Finite => beyond(if c.dst.is_signed() { low } else { Value::Int(0) }, high, value),
        Saturation::None => false,
    }
}

impl fmt::Display for Explanation {
    /// In words: `rounded up, error +12`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let to = self.conversion.dst;
        if let Some(scale) = self.scale {
            let sign = if self.conversion.scaling == Scaling::Multiply { "×" } else { "÷" };
            write!(f, "{sign} {}", display(Format::Ue8m0, scale.into()))?;
            match self.value.to_f64() {
                value if value.is_nan() => write!(f, ", ")?,
                value => write!(f, " is {}, ", display_f64(value))?,
            }
        }
        if self.sign_dropped {
            write!(f, "sign dropped, ")?;
        }
        match self.outcome {
            Outcome::Exact => write!(f, "exact"),
            Outcome::RoundedUp => write!(f, "rounded up"),
            Outcome::RoundedDown => write!(f, "rounded down"),
            Outcome::Underflowed => write!(f, "underflowed to zero"),
            Outcome::OverflowedToInfinity => write!(f, "overflowed to infinity"),
            Outcome::OverflowedToNan => write!(f, "overflowed to NaN: {to} has no infinity"),
            Outcome::Saturated => write!(f, "saturated to {}", display(to, self.result)),
            Outcome::Wrapped => write!(f, "wrapped: the low {} bits are kept", to.bits()),
            Outcome::InputFlushed => write!(f, "subnormal input flushed to zero"),
            Outcome::ResultFlushed => write!(f, "subnormal result flushed to zero"),
            Outcome::RectifiedToZero => write!(f, "negative: clamped to zero by .relu"),
            Outcome::ZeroMadePositive => write!(f, "negative zero made positive"),
            Outcome::RaisedToLeast => write!(f, "raised to the least number of {to}, which has no zero"),
            Outcome::NanKept => write!(f, "NaN stays NaN"),
            Outcome::NanReplaced => write!(f, "NaN replaced by {}", display(to, self.result)),
            Outcome::NanScale => write!(f, "the scale is NaN"),
        }?;
        match self.error {
            Some(error) if error != 0.0 => write!(f, ", error {}", short(error)),
            _ => Ok(()),
        }
    }
}

/// A signed number of few digits.
fn short(x: f64) -> String {
    let rounded: f64 = format!("{x:.5e}").parse().unwrap_or(x);
    let sign = if x > 0.0 { "+" } else { "" };
    format!("{sign}{}", display_f64(rounded))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::literal::Literal;
    use softwarp::isa::{CvtForm, Semantics};

    /// Runs a form on one number (and scale) and tells the story.
    fn story(form: &str, text: &str, aux: u32) -> String {
        let Semantics::Cvt(cvt) = CvtForm::parse(form).unwrap().semantics() else { panic!("{form}") };
        let source = Literal::parse(text).unwrap().encode(cvt.element.src).unwrap().code;
        let result = cvt.compiled().unwrap().one(source, aux);
        explain(cvt.element, source, aux, result).to_string()
    }

    #[test]
    fn stories_are_true() {
        let cases = [
            ("rn.satfinite.e4m3x2.f32", "1.5", "exact"),
            ("rn.satfinite.e4m3x2.f32", "-300", "rounded up, error +12"),
            ("rn.satfinite.e4m3x2.f32", "330", "rounded down, error -10"),
            ("rn.satfinite.e4m3x2.f32", "1000", "saturated to 448"),
            ("rn.satfinite.e4m3x2.f32", "-inf", "saturated to -448"),
            ("rn.satfinite.e4m3x2.f32", "nan", "NaN stays NaN"),
            ("rn.satfinite.e2m1x2.f32", "nan", "NaN replaced by 6"),
            ("rn.satfinite.e4m3x2.f32", "1e-9", "underflowed to zero, error -1e-9"),
            ("rn.satfinite.relu.e4m3x2.f32", "-2", "negative: clamped to zero by .relu"),
            ("rn.satfinite.relu.e4m3x2.f32", "-0", "negative zero made positive"),
            ("rn.f16.f32", "70000", "overflowed to infinity"),
            ("rz.f16.f32", "70000", "rounded down, error -4496"),
            ("rn.f16.f32", "inf", "exact"),
            ("rn.satfinite.pzo.e4m3x2.f32", "-0", "negative zero made positive"),
            ("rn.ue5m3x2.f32", "1e9", "overflowed to NaN: ue5m3 has no infinity"),
            ("rn.ue5m3x2.f32", "-1", "sign dropped, exact"),
            ("rz.ue8m0x2.f32", "-3", "sign dropped, rounded down, error -1"),
            (
                "rp.satfinite.ue8m0x2.f32",
                "0",
                "raised to the least number of ue8m0, which has no zero, error +5.87747e-39",
            ),
            ("rp.ue8m0x2.f32", "3e38", "overflowed to NaN: ue8m0 has no infinity"),
            ("rn.satfinite.s2f6x2.f32", "-5", "saturated to -2"),
            ("rn.satfinite.s2f6x2.f32", "-0", "exact"),
            ("rni.s32.f32", "2.5", "rounded down, error -0.5"),
            ("rni.s32.f32", "3e9", "saturated to 2147483647"),
            ("rni.u8.f32", "-0.3", "rounded up, error +0.3"),
            ("rmi.u8.f32", "-0.3", "saturated to 0"),
            ("rni.s32.f32", "nan", "NaN replaced by 0"),
            ("rni.u64.f64", "1e300", "saturated to 18446744073709551615"),
            ("u8.s32", "300", "wrapped: the low 8 bits are kept"),
            ("sat.u8.s32", "300", "saturated to 255"),
            ("sat.u8.s32", "-1", "saturated to 0"),
            ("rn.f32.s64", "9223372036854775807", "rounded up, error +1"),
            ("rz.f64.u64", "18446744073709551615", "rounded down, error -2047"),
            ("rn.f64.s64", "9007199254740993", "rounded down, error -1"),
            ("ftz.f32.f32", "1e-40", "subnormal input flushed to zero"),
            ("rn.ftz.f32.f64", "1e-40", "subnormal result flushed to zero"),
            ("rn.ftz.f32.f64", "1e-60", "underflowed to zero, error -1e-60"),
            ("sat.f32.f32", "3", "saturated to 1"),
            ("sat.f32.f32", "-3", "saturated to 0"),
            ("sat.f32.f32", "nan", "NaN replaced by 0"),
            ("rni.f32.f32", "0.3", "rounded down, error -0.3"),
        ];
        for (form, text, wanted) in cases {
            assert_eq!(story(form, text, 0), wanted, "{form} {text}");
        }
    }

    #[test]
    fn scales_are_told() {
        let down = "rn.satfinite.scaled::n1::ue8m0.e4m3x2.f32";
        assert_eq!(story(down, "12", 130), "÷ 2^3 is 1.5, exact");
        assert_eq!(story(down, "12", 0xff), "÷ nan, the scale is NaN");
        assert_eq!(
            story(down, "1e-40", 0),
            "÷ 2^-127 is 0.017014026641845703, subnormal input flushed to zero"
        );
        let up = "rn.scaled::n2::ue8m0.bf16x2.e4m3x2";
        assert_eq!(story(up, "1.5", 130), "× 2^3 is 12, exact");
    }

    #[test]
    fn a_result_that_equals_the_value_is_exact_and_no_other() {
        for form in CvtForm::all() {
            let Semantics::Cvt(cvt) = form.semantics() else { continue };
            let c = cvt.element;
            let Some(compiled) = cvt.compiled() else { continue };
            for k in 0..2000u64 {
                let source = k.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - c.src.bits());
                let aux = if c.scaling == Scaling::None { k as u32 & 0xffff } else { k as u32 & 0xff };
                let story = explain(c, source, aux, compiled.one(source, aux));
                let (value, result) = (story.value.to_f64(), Value::of(c.dst, story.result).to_f64());
                match story.outcome {
                    Outcome::Exact if story.sign_dropped => assert_eq!(-value, result, "{form} {source:x}"),
                    Outcome::Exact => assert_eq!(value, result, "{form} {source:x}"),
                    Outcome::RoundedUp | Outcome::RoundedDown => {
                        assert!(story.error.is_some_and(|error| error != 0.0), "{form} {source:x}");
                    }
                    _ => {}
                }
            }
        }
    }
}
