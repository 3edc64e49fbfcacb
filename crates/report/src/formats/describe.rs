//! What there is to say about a format, found from its row and its codes.

use softwarp::num::{Format, Kind, TopCodes};

/// A run of bits with one meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its name.
    pub name: &'static str,
    /// One letter for drawings.
    pub letter: char,
    /// How many bits it has.
    pub bits: u32,
}

/// The fields of a format, from the top bit down.
pub fn fields(format: Format) -> Vec<Field> {
    let field = |name, letter, bits: u32| Field { name, letter, bits };
    let sign = |signed: bool| field("sign", 's', u32::from(signed));
    let fields = match format.spec().kind {
        Kind::Float { exponent, mantissa, signed, padding, .. } => vec![
            sign(signed),
            field("exponent", 'e', exponent.into()),
            field("mantissa", 'm', mantissa.into()),
            field("zero", '0', padding.into()),
        ],
        Kind::Exponent { .. } => vec![field("exponent", 'e', format.bits())],
        Kind::Fixed { fraction } => vec![
            field("integer", 'i', format.bits() - u32::from(fraction)),
            field("fraction", 'f', fraction.into()),
        ],
        Kind::Int { signed: true } => vec![field("integer, two's complement", 'i', format.bits())],
        Kind::Int { signed: false } => vec![field("integer", 'i', format.bits())],
    };
    fields.into_iter().filter(|field| field.bits > 0).collect()
}

/// How the fields make a value.
pub fn formula(format: Format) -> String {
    match format.spec().kind {
        Kind::Float { exponent, bias, top, signed, .. } => {
            let sign = if signed { "(-1)^s × " } else { "" };
            let special = match top {
                TopCodes::Ieee => {
                    let all = (1u32 << exponent) - 1;
                    format!("; with e = {all}: infinity if m = 0, else NaN")
                }
                TopCodes::NanOnly => "; with e and m all ones: NaN".into(),
                TopCodes::Finite => String::new(),
            };
            format!("{sign}2^(e-{bias}) × 1.m; with e = 0: {sign}2^{} × 0.m{special}", 1 - bias)
        }
        Kind::Exponent { bias } => format!("2^(e-{bias}); all ones: NaN"),
        Kind::Fixed { fraction } => format!("the two's complement integer × 2^-{fraction}"),
        Kind::Int { .. } => "the integer".into(),
    }
}

/// The bias of the exponent.
pub fn bias(format: Format) -> Option<i16> {
    match format.spec().kind {
        Kind::Float { bias, .. } | Kind::Exponent { bias } => Some(bias),
        _ => None,
    }
}

/// The codes of all NaNs where these are few, else of the one that conversions make.
pub fn nans(format: Format) -> Vec<u64> {
    let Some(canonical) = format.canonical_nan() else { return Vec::new() };
    match format.spec().kind {
        Kind::Float { top: TopCodes::NanOnly, signed: true, .. } => {
            vec![canonical, canonical | 1 << (format.bits() - 1)]
        }
        _ => vec![canonical],
    }
}

/// The codes worth knowing, least value first, with what they are.
pub fn landmarks(format: Format) -> Vec<(&'static str, u64)> {
    let mut landmarks = Vec::new();
    let (least, most) = (format.min_finite(), format.max_finite());
    let float = matches!(format.spec().kind, Kind::Float { .. });
    if format.decode(least) < 0.0 {
        landmarks.push(("least", least));
    }
    if format != Format::Ue8m0 {
        landmarks.push(("zero", 0));
    }
    landmarks.push(("least positive", format.min_positive()));
    if let Some(normal) = format.min_normal() {
        landmarks.extend(format.next_down(normal).map(|code| ("largest subnormal", code)));
        landmarks.push(("least normal", normal));
    }
    let one = one(format);
    if let Some(one) = one {
        landmarks.push(("one", one));
        if float {
            landmarks.extend(format.next_up(one).map(|code| ("next above one", code)));
        }
    }
    landmarks.push(("largest", most));
    landmarks.extend(format.infinity().map(|code| ("infinity", code)));
    landmarks.extend(nans(format).into_iter().map(|code| ("NaN", code)));
    landmarks
}

/// The code of one, where that is not also one of the limits.
fn one(format: Format) -> Option<u64> {
    let code = match format.spec().kind {
        Kind::Float { mantissa, bias, padding, .. } => (bias as u64) << (mantissa + padding),
        Kind::Exponent { bias } => bias as u64,
        Kind::Fixed { fraction } => 1 << fraction,
        Kind::Int { .. } => return None,
    };
    (Some(code) != format.min_normal()).then_some(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_and_landmarks_fit_the_format() {
        for format in Format::ALL {
            let bits: u32 = fields(format).iter().map(|field| field.bits).sum();
            assert_eq!(bits, format.bits(), "{format}");
            for (name, code) in landmarks(format) {
                let value = format.decode(code);
                assert_eq!(name == "NaN", value.is_nan(), "{format} {name}");
                assert!(name != "one" || value == 1.0, "{format}");
            }
        }
    }

    #[test]
    fn every_nan_of_a_narrow_format_without_infinity_is_listed() {
        for format in Format::ALL.into_iter().filter(|f| f.bits() <= 8 && f.infinity().is_none()) {
            let found: Vec<u64> = format.codes().filter(|&code| format.decode(code).is_nan()).collect();
            assert_eq!(found, nans(format), "{format}");
        }
    }
}
