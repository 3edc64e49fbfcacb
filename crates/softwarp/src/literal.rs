//! Numbers as people write them, and the codes they stand for.
//!
//! Decimals (`1.5`, `1e-3`), bit patterns (`0x3c`), powers of two (`2^-3`), `inf` and `nan`, and PTX's own
//! floating constants (`0f3f800000`, `0d…`; PTX ISA section 4.5.2). A decimal is rounded once, to nearest
//! even, into the format asked for, and the caller is told if that changed it.

use crate::num::{Format, Kind, Rounding, Saturation};
use std::cmp::Ordering;

/// The code that a literal stands for in a format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Encoded {
    /// The code.
    pub code: u64,
    /// Whether the format holds the very value written.
    pub exact: bool,
}

/// Why a text stands for no code.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LiteralError {
    /// It is no number.
    #[error("`{}` is not a number: write one such as 1.5, -2e-3, 0x3f800000, 2^-3, inf or nan", shown(.0))]
    Malformed(String),
    /// A bit pattern with more bits than there is room for.
    #[error("{} is too wide for {what}, which has {bits} bits: at most 0x{:x}", shown(text), u64::MAX >> (64 - bits.clamp(&1, &64)))]
    TooWide {
        /// The text.
        text: String,
        /// What it was meant for.
        what: String,
        /// Its bits.
        bits: u32,
    },
    /// Beyond the numbers of the format.
    #[error("{} is out of range for {format}: {}", shown(text), range(*format))]
    OutOfRange {
        /// The text.
        text: String,
        /// The format.
        format: Format,
    },
    /// A fraction, where integers are wanted.
    #[error("{} is not an integer, and {format} takes nothing else", shown(text))]
    NotIntegral {
        /// The text.
        text: String,
        /// The format.
        format: Format,
    },
    /// Infinity or NaN, where there is none.
    #[error("{format} has no {name}")]
    NoSuchValue {
        /// `infinity` or `NaN`.
        name: &'static str,
        /// The format.
        format: Format,
    },
}

/// The finite numbers of a format, and whether there are others.
fn range(format: Format) -> String {
    let limit = |code| display(format, code);
    let infinity = if format.infinity().is_some() { ", or inf" } else { "" };
    format!("{} to {}{infinity}", limit(format.min_finite()), limit(format.max_finite()))
}

/// Text that a user gave, as it may be shown: on one line, and not at any length.
fn shown(text: &str) -> String {
    const LONGEST: usize = 40;
    let mut shown: String = text.chars().take(LONGEST).flat_map(char::escape_debug).collect();
    if text.chars().nth(LONGEST).is_some() {
        shown.push('…');
    }
    shown
}

/// A number as written.
#[derive(Clone, Debug, PartialEq)]
pub struct Literal {
    text: String,
    value: Written,
}

#[derive(Clone, Debug, PartialEq)]
enum Written {
    /// `0x…`; `None` if it has more than 64 bits.
    Pattern(Option<u64>),
    Decimal(Decimal),
    /// An f64 that is exactly what was written: a power of two, or PTX's `0f…` and `0d…`.
    Float(f64),
    /// The bits of an f32 (`0f…`), which keep a NaN's payload if an f32 is wanted.
    F32(u32),
    Infinity {
        negative: bool,
    },
    Nan {
        negative: bool,
    },
}

impl Literal {
    /// Reads a number.
    pub fn parse(text: &str) -> Result<Literal, LiteralError> {
        let value = written(text).ok_or_else(|| LiteralError::Malformed(text.to_owned()))?;
        Ok(Literal { text: text.to_owned(), value })
    }

    /// The bit pattern, if it is written as one (`0x…`).
    pub fn is_pattern(&self) -> bool {
        matches!(self.value, Written::Pattern(_))
    }

    /// As it was written, on one line.
    pub fn text(&self) -> String {
        shown(&self.text)
    }

    /// The bits of a register that `what` names: a pattern, or a whole number from zero up.
    pub fn register(&self, what: &str, bits: u32) -> Result<u64, LiteralError> {
        let wide = || LiteralError::TooWide { text: self.text.clone(), what: what.to_owned(), bits };
        let value = match &self.value {
            Written::Pattern(pattern) => pattern.ok_or_else(wide)?,
            Written::Decimal(decimal) => {
                let number = decimal.integer().ok_or_else(|| LiteralError::Malformed(self.text.clone()))?;
                u64::try_from(number).map_err(|_| wide())?
            }
            _ => return Err(LiteralError::Malformed(self.text.clone())),
        };
        if bits < 64 && value >> bits != 0 { Err(wide()) } else { Ok(value) }
    }

    /// The code that it stands for: a pattern is one, anything else is rounded to nearest even.
    pub fn encode(&self, format: Format) -> Result<Encoded, LiteralError> {
        let exactly = |code| Ok(Encoded { code, exact: true });
        let sign = |negative: bool| u64::from(negative) << (format.bits() - 1);
        match &self.value {
            Written::Pattern(_) => exactly(self.register(format.name(), format.bits())?),
            Written::F32(bits) if format == Format::F32 => exactly(u64::from(*bits)),
            Written::F32(bits) => self.encode_float(format, f32::from_bits(*bits).into()),
            Written::Float(value) => self.encode_float(format, *value),
            Written::Infinity { negative } => {
                let infinity =
                    format.infinity().ok_or(LiteralError::NoSuchValue { name: "infinity", format })?;
                exactly(infinity | sign(*negative))
            }
            Written::Nan { negative } => {
                let nan = format.canonical_nan().ok_or(LiteralError::NoSuchValue { name: "NaN", format })?;
                let signed = *negative && matches!(format.spec().kind, Kind::Float { signed: true, .. });
                exactly(nan | sign(signed))
            }
            Written::Decimal(decimal) if format.is_int() => self.encode_integer(format, decimal),
            Written::Decimal(decimal) => {
                let nearest = decimal.nearest_f64();
                let excess = decimal.cmp_magnitude(nearest);
                let odd = round_to_odd(nearest, excess);
                let encoded = self.round(format, odd, nearest)?;
                Ok(Encoded { exact: encoded.exact && excess == Ordering::Equal, ..encoded })
            }
        }
    }

    fn out_of_range(&self, format: Format) -> LiteralError {
        LiteralError::OutOfRange { text: self.text.clone(), format }
    }

    fn encode_integer(&self, format: Format, decimal: &Decimal) -> Result<Encoded, LiteralError> {
        if decimal.is_fraction() {
            return Err(LiteralError::NotIntegral { text: self.text.clone(), format });
        }
        let number = decimal.integer().ok_or_else(|| self.out_of_range(format))?;
        let bits = format.bits();
        let (low, high) = if format.is_signed() {
            (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
        } else {
            (0, (1i128 << bits) - 1)
        };
        if number < low || number > high {
            return Err(self.out_of_range(format));
        }
        Ok(Encoded { code: number as u64 & format.mask(), exact: true })
    }

    fn encode_float(&self, format: Format, value: f64) -> Result<Encoded, LiteralError> {
        if value.is_nan() || value.is_infinite() {
            let negative = value.is_sign_negative();
            let value =
                if value.is_nan() { Written::Nan { negative } } else { Written::Infinity { negative } };
            return Literal { text: self.text.clone(), value }.encode(format);
        }
        if format.is_int() {
            // Rust writes a float without an exponent, so this is the value digit by digit.
            return match Decimal::parse(&format!("{value}")) {
                Some(decimal) => self.encode_integer(format, &decimal),
                None => Err(LiteralError::Malformed(self.text.clone())),
            };
        }
        self.round(format, value, value)
    }

    /// Rounds `value` to nearest even. `value` is exact or has a last bit that stands for all that is
    /// below it; `nearest` is the f64 nearest to what was written.
    fn round(&self, format: Format, value: f64, nearest: f64) -> Result<Encoded, LiteralError> {
        let beyond = || self.out_of_range(format);
        let code = match format.spec().kind {
            _ if nearest.is_infinite() => return Err(beyond()),
            // Nothing narrower follows, so the nearest it is.
            _ if format == Format::F64 => nearest.to_bits(),
            // Not clamped, as conversions do, but refused.
            _ if !format.is_signed() && (nearest < 0.0) => return Err(beyond()),
            Kind::Exponent { .. } => {
                let down = format.encode(value, Rounding::TowardZero, Saturation::Finite);
                let up = format.encode(value, Rounding::Up, Saturation::Finite);
                let (down, up) = down.zip(up).ok_or_else(beyond)?;
                if value < format.decode(format.min_finite()) || value > format.decode(format.max_finite()) {
                    return Err(beyond());
                }
                let (below, above) = (value - format.decode(down), format.decode(up) - value);
                if below < above || (below == above && down % 2 == 0) { down } else { up }
            }
            kind => {
                let fixed = matches!(kind, Kind::Fixed { .. });
                let saturation = if fixed { Saturation::Finite } else { Saturation::None };
                format.encode(value, Rounding::NearestEven, saturation).ok_or_else(beyond)?
            }
        };
        let result = format.decode(code);
        if format == Format::F64 {
            return Ok(Encoded { code, exact: true });
        }
        // Formats without infinity clamp: what is clamped by more than rounding would change it is refused.
        let largest = format.decode(format.max_finite());
        let step = format.next_down(format.max_finite()).map_or(0.0, |below| largest - format.decode(below));
        if !result.is_finite() || (value - result).abs() > step {
            return Err(beyond());
        }
        Ok(Encoded { code, exact: result == value })
    }
}

fn written(text: &str) -> Option<Written> {
    // U+2212 is the minus sign of typeset numbers.
    let (negative, magnitude) = match text.strip_prefix(['-', '\u{2212}']) {
        Some(magnitude) => (true, magnitude),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let lower = magnitude.to_ascii_lowercase();
    let hex = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_hexdigit()) && !digits.is_empty();
    if let Some(digits) = lower.strip_prefix("0x") {
        let significant = digits.trim_start_matches('0');
        let pattern =
            if significant.is_empty() { Some(0) } else { u64::from_str_radix(significant, 16).ok() };
        return (hex(digits) && !negative).then_some(Written::Pattern(pattern));
    }
    if let Some(digits) = lower.strip_prefix("0f").filter(|digits| digits.len() == 8 && hex(digits)) {
        return u32::from_str_radix(digits, 16)
            .ok()
            .map(|bits| Written::F32(bits ^ u32::from(negative) << 31));
    }
    if let Some(digits) = lower.strip_prefix("0d").filter(|digits| digits.len() == 16 && hex(digits)) {
        let bits = u64::from_str_radix(digits, 16).ok()?;
        return Some(Written::Float(f64::from_bits(bits ^ u64::from(negative) << 63)));
    }
    if let Some(power) = lower.strip_prefix("2^") {
        let power: i32 = power.parse().ok()?;
        let value = if (-1074..=1023).contains(&power) { 2f64.powi(power) } else { return None };
        return Some(Written::Float(if negative { -value } else { value }));
    }
    match lower.as_str() {
        "inf" | "infinity" => Some(Written::Infinity { negative }),
        "nan" => Some(Written::Nan { negative }),
        _ => {
            let decimal = Decimal::parse(magnitude)?;
            Some(Written::Decimal(Decimal { negative, ..decimal }))
        }
    }
}

/// A decimal number, exactly: 0.d₁d₂d₃… × 10^point, without zeros at either end of the digits.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Decimal {
    negative: bool,
    digits: Vec<u8>,
    point: i64,
}

impl Decimal {
    /// Reads digits with perhaps a point and an exponent, but no sign in front other than a minus.
    fn parse(text: &str) -> Option<Decimal> {
        let (negative, text) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
        let (significand, exponent) = match text.split_once(['e', 'E']) {
            Some((significand, exponent)) => (significand, exponent),
            None => (text, "0"),
        };
        let (whole, fraction) = significand.split_once('.').unwrap_or((significand, ""));
        let all_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let exponent_digits = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
        let some = !whole.is_empty() || !fraction.is_empty();
        if !some || !all_digits(whole) || !all_digits(fraction) {
            return None;
        }
        if exponent_digits.is_empty() || !all_digits(exponent_digits) {
            return None;
        }
        // An exponent that does not fit is as good as any other beyond every format's range.
        let far = if exponent.starts_with('-') { -1_000_000_000 } else { 1_000_000_000 };
        let exponent = exponent.parse::<i64>().map_or(far, |e| e.clamp(-1_000_000_000, 1_000_000_000));
        let digits: Vec<u8> = whole.bytes().chain(fraction.bytes()).map(|byte| byte - b'0').collect();
        let leading = digits.iter().take_while(|&&digit| digit == 0).count();
        let end = digits.iter().rposition(|&digit| digit != 0).map_or(leading, |last| last + 1);
        let point = if leading == digits.len() { 0 } else { whole.len() as i64 + exponent - leading as i64 };
        Some(Decimal { negative, digits: digits[leading..end].to_vec(), point })
    }

    fn is_fraction(&self) -> bool {
        self.digits.len() as i64 > self.point
    }

    /// As an integer; `None` for fractions, and beyond some 38 digits.
    fn integer(&self) -> Option<i128> {
        let zeros = usize::try_from(self.point - self.digits.len() as i64).ok()?;
        if self.point > 38 {
            return None;
        }
        let digits = self.digits.iter().copied().chain(std::iter::repeat_n(0, zeros));
        let number = digits.fold(0i128, |number, digit| number * 10 + i128::from(digit));
        Some(if self.negative { -number } else { number })
    }

    fn nearest_f64(&self) -> f64 {
        let digits: String = self.digits.iter().map(|digit| char::from(digit + b'0')).collect();
        let magnitude: f64 = format!("0.{digits}e{}", self.point).parse().unwrap_or(0.0);
        if self.negative { -magnitude } else { magnitude }
    }

    /// How its magnitude compares with that of `value`, exactly.
    fn cmp_magnitude(&self, value: f64) -> Ordering {
        // No f64 has more than 767 significant digits.
        match Decimal::parse(&format!("{:.770e}", value.abs())) {
            Some(other) if self.digits.is_empty() || other.digits.is_empty() => {
                self.digits.len().cmp(&other.digits.len())
            }
            Some(other) => self.point.cmp(&other.point).then_with(|| self.digits.cmp(&other.digits)),
            None => Ordering::Less, // Infinite.
        }
    }
}

/// The f64 that a second rounding, to fewer bits, cannot tell from the exact value: cut toward zero, and its
/// last bit set if anything was cut off. `nearest` is the f64 nearest to the exact value, whose magnitude
/// compares with that of `nearest` as `excess`.
fn round_to_odd(nearest: f64, excess: Ordering) -> f64 {
    let bits = nearest.to_bits();
    match excess {
        Ordering::Equal => nearest,
        Ordering::Greater => f64::from_bits(bits | 1),
        Ordering::Less => f64::from_bits((bits - 1) | 1),
    }
}

/// The value of a code in words: a decimal, `inf`, `nan`, or a power of two for ue8m0.
///
/// Of f32 and f64 (and tf32) the shortest decimal that stands for that very number; of narrower formats
/// the number itself.
pub fn display(format: Format, code: u64) -> String {
    let value = format.decode(code);
    match format {
        Format::Ue8m0 if value.is_finite() => format!("2^{}", value.log2()),
        Format::U64 => (code & format.mask()).to_string(),
        Format::S64 => (code as i64).to_string(),
        Format::F32 | Format::Tf32 => tidy(&format!("{:?}", value as f32)),
        _ => display_f64(value),
    }
}

/// The shortest decimal for an f64.
pub fn display_f64(value: f64) -> String {
    tidy(&format!("{value:?}"))
}

/// Rust's spelling of a float without the `.0` of whole numbers.
fn tidy(text: &str) -> String {
    match text {
        "NaN" => "nan".into(),
        _ => text.strip_suffix(".0").unwrap_or(text).replace(".0e", "e"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn code(text: &str, format: Format) -> Result<(u64, bool), String> {
        let literal = Literal::parse(text).map_err(|error| error.to_string())?;
        literal.encode(format).map(|e| (e.code, e.exact)).map_err(|error| error.to_string())
    }

    #[test]
    fn numbers_are_read() {
        let cases = [
            ("1.5", Format::F32, 0x3fc0_0000, true),
            ("-300", Format::F32, 0xc396_0000, true),
            ("0.1", Format::F32, 0x3dcc_cccd, false),
            ("-0", Format::F32, 0x8000_0000, true),
            ("-0.0e7", Format::F64, 1 << 63, true),
            ("1e-3", Format::F64, 0x3f50_624d_d2f1_a9fc, false),
            ("0x3c", Format::E4m3, 0x3c, true),
            ("0f3f800000", Format::F32, 0x3f80_0000, true),
            ("0f7f800001", Format::F32, 0x7f80_0001, true),
            ("0f3f800000", Format::F16, 0x3c00, true),
            ("0d3ff0000000000000", Format::Bf16, 0x3f80, true),
            ("inf", Format::F16, 0x7c00, true),
            ("-inf", Format::E5m2, 0xfc, true),
            ("\u{2212}inf", Format::F32, 0xff80_0000, true),
            ("nan", Format::E4m3, 0x7f, true),
            ("2^-3", Format::Ue8m0, 124, true),
            ("0.125", Format::Ue8m0, 124, true),
            ("3", Format::Ue8m0, 128, false),
            ("5.9", Format::Ue8m0, 0x81, false),
            ("-128", Format::S8, 0x80, true),
            ("1e3", Format::U16, 1000, true),
            ("18446744073709551615", Format::U64, u64::MAX, true),
            ("-9223372036854775808", Format::S64, 1 << 63, true),
            ("2^4", Format::U8, 16, true),
            ("1.984375", Format::S2f6, 0x7f, true),
            ("6.9", Format::E2m1, 7, false),
            // Half way between two f16 but for a digit that no f64 has.
            ("1.00048828125", Format::F16, 0x3c00, false),
            ("1.000488281250000000000000000000000000000000001", Format::F16, 0x3c01, false),
            ("1e-400", Format::F64, 0, false),
            ("5e-324", Format::F32, 0, false),
        ];
        for (text, format, wanted, exact) in cases {
            assert_eq!(code(text, format), Ok((wanted, exact)), "{text} as {format}");
        }
    }

    #[test]
    fn errors_name_the_range() {
        let cases = [
            ("abc", Format::F32, "`abc` is not a number"),
            ("", Format::F32, "`` is not a number"),
            ("1e", Format::F32, "`1e` is not a number"),
            ("0x", Format::F32, "`0x` is not a number"),
            ("-0x1", Format::F32, "`-0x1` is not a number"),
            ("1e40", Format::F32, "out of range for f32: -3.4028235e38 to 3.4028235e38, or inf"),
            ("1e400", Format::F64, "out of range for f64"),
            ("256", Format::U8, "256 is out of range for u8: 0 to 255"),
            ("-1", Format::U64, "-1 is out of range for u64: 0 to 18446744073709551615"),
            ("-129", Format::S8, "-129 is out of range for s8: -128 to 127"),
            ("2.5", Format::S32, "2.5 is not an integer, and s32 takes nothing else"),
            ("1e99", Format::S64, "out of range for s64"),
            ("inf", Format::E4m3, "e4m3 has no infinity"),
            ("nan", Format::S32, "s32 has no NaN"),
            ("0x100", Format::E4m3, "0x100 is too wide for e4m3, which has 8 bits: at most 0xff"),
            ("0x10000000000000000", Format::F64, "too wide for f64"),
            ("500", Format::E4m3, "out of range for e4m3: -448 to 448"),
            ("10", Format::E2m1, "out of range for e2m1: -6 to 6"),
            ("2.1", Format::S2f6, "out of range for s2f6: -2 to 1.984375"),
            ("-1", Format::Ue8m0, "out of range for ue8m0: 2^-127 to 2^127"),
            ("0", Format::Ue8m0, "out of range for ue8m0: 2^-127 to 2^127"),
        ];
        for (text, format, wanted) in cases {
            let message = code(text, format).unwrap_err();
            assert!(message.contains(wanted), "{text} as {format}: {message}");
        }
    }

    proptest! {
        #[test]
        fn nothing_panics(text in "[-+0-9a-fxpEinf.^\u{2212}]{0,30}") {
            if let Ok(literal) = Literal::parse(&text) {
                for format in Format::ALL {
                    let _ = literal.encode(format).map_err(|error| error.to_string());
                }
                let _ = literal.register("rbits", 32);
            }
        }

        #[test]
        fn decimals_round_as_rust_rounds_them(x in any::<f64>(), digits in 1usize..30) {
            let text = format!("{x:.digits$e}");
            let rounded: f32 = text.parse().unwrap();
            if rounded.is_finite() {
                prop_assert_eq!(code(&text, Format::F32).unwrap().0, u64::from(rounded.to_bits()));
            }
            let rounded: f64 = text.parse().unwrap();
            if rounded.is_finite() {
                prop_assert_eq!(code(&text, Format::F64).unwrap().0, rounded.to_bits());
            }
        }

        #[test]
        fn what_is_shown_is_read_back(bits in any::<u32>()) {
            for (format, code) in [(Format::F32, bits), (Format::F16, bits & 0xffff), (Format::S32, bits)] {
                let (code, shown) = (u64::from(code), display(format, code.into()));
                if format.decode(code).is_finite() {
                    prop_assert_eq!(Literal::parse(&shown).unwrap().encode(format).unwrap().code, code);
                }
            }
        }
    }
}
