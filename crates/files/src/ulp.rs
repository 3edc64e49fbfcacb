//! How far two codes of a format are apart, in units in the last place.
//!
//! The distance is the number of steps from one value to the other through the values of the format. Both zeros are
//! one value. Infinity is one step above the largest finite number. NaN has no distance to anything; two NaN are taken
//! for equal, whatever their bits.

use softwarp::num::{Format, Kind};

/// How two codes compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Distance {
    /// This many steps; 0 for equal values, zeros of different sign and two NaN.
    Steps(u64),
    /// One is NaN and the other is not.
    NanInOne,
}

/// The place of a code among the values of its format in order; `None` for NaN.
pub fn ordinal(format: Format, code: u64) -> Option<i128> {
    let code = code & format.mask();
    if format.decode(code).is_nan() {
        return None;
    }
    let bits = format.bits();
    let signed = |code: u64| i128::from((code << (64 - bits)) as i64 >> (64 - bits));
    Some(match format.spec().kind {
        Kind::Float { signed: true, padding, .. } => {
            let sign = 1 << (bits - 1);
            let magnitude = i128::from((code & !sign) >> padding);
            if code & sign == 0 { magnitude } else { -magnitude }
        }
        Kind::Fixed { .. } | Kind::Int { signed: true } => signed(code),
        Kind::Float { signed: false, .. } | Kind::Exponent { .. } | Kind::Int { signed: false } => {
            code.into()
        }
    })
}

/// How far two codes are apart.
pub fn distance(format: Format, a: u64, b: u64) -> Distance {
    match (ordinal(format, a), ordinal(format, b)) {
        (Some(a), Some(b)) => Distance::Steps(u64::try_from(a.abs_diff(b)).unwrap_or(u64::MAX)),
        (None, None) => Distance::Steps(0),
        _ => Distance::NanInOne,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_one_step_apart() {
        for format in Format::ALL.into_iter().filter(|format| format.bits() <= 16) {
            for code in format.codes() {
                let Some(next) = format.next_up(code) else { continue };
                if format.decode(code) < format.decode(next) {
                    assert_eq!(
                        distance(format, code, next),
                        Distance::Steps(1),
                        "{format} {code:x} {next:x}"
                    );
                }
            }
        }
    }

    #[test]
    fn order_is_that_of_the_values() {
        for format in Format::ALL.into_iter().filter(|format| format.bits() <= 8) {
            for (a, b) in format.codes().flat_map(|a| format.codes().map(move |b| (a, b))) {
                let (Some(x), Some(y)) = (ordinal(format, a), ordinal(format, b)) else { continue };
                let values = (format.decode(a), format.decode(b));
                assert_eq!(x.cmp(&y), values.0.partial_cmp(&values.1).unwrap(), "{format} {a:x} {b:x}");
            }
        }
    }

    #[test]
    fn nan_zero_and_infinity() {
        let apart = |a: f32, b: f32| distance(Format::F32, a.to_bits().into(), b.to_bits().into());
        assert_eq!(apart(0.0, -0.0), Distance::Steps(0));
        assert_eq!(apart(f32::NAN, -f32::NAN), Distance::Steps(0));
        assert_eq!(apart(f32::NAN, 1.0), Distance::NanInOne);
        assert_eq!(apart(f32::MAX, f32::INFINITY), Distance::Steps(1));
        assert_eq!(apart(f32::from_bits(1), -f32::from_bits(1)), Distance::Steps(2));
        assert_eq!(distance(Format::U64, 0, u64::MAX), Distance::Steps(u64::MAX));
        assert_eq!(distance(Format::S64, 1 << 63, u64::MAX >> 1), Distance::Steps(u64::MAX));
        assert_eq!(distance(Format::Tf32, 0x3f80_0000, 0x3f80_2000), Distance::Steps(1));
    }
}
