//! What numbers are worth (PTX ISA section 4.5).

use crate::token::Token;
use crate::tree::Literal;

/// Integers of at most this many characters fit 64 bits, in every notation.
pub(crate) const SAFE_LENGTH: usize = 17;

/// The digits of an integer token, and their radix.
fn digits(text: &str) -> (&str, u64) {
    let digits = text.strip_suffix('U').unwrap_or(text);
    match digits.as_bytes() {
        [b'0', b'x' | b'X', ..] => (&digits[2..], 16),
        [b'0', b'b' | b'B', ..] => (&digits[2..], 2),
        [b'0', _, ..] => (&digits[1..], 8),
        _ => (digits, 10),
    }
}

/// Takes one more digit in; what does not fit 64 bits is lost.
fn append(value: u64, radix: u64, digit: u8) -> u64 {
    let digit = (digit as char).to_digit(16).unwrap_or(0);
    value.wrapping_mul(radix).wrapping_add(u64::from(digit))
}

/// The value of an integer token, as far as 64 bits hold it, and whether it is unsigned.
pub(crate) fn integer(text: &str) -> (u64, bool) {
    let (digits, radix) = digits(text);
    let value = digits.bytes().fold(0, |value, digit| append(value, radix, digit));
    (value, text.ends_with('U') || value > i64::MAX as u64)
}

/// Whether the assembler calls an integer token too large. It looks at the highest bit only, and before it
/// takes a digit in, so that some that are too large pass: `0x1ffffffffffffffff` does.
pub(crate) fn overflows(text: &str) -> bool {
    let (digits, radix) = digits(text);
    let mut value = 0u64;
    digits.bytes().any(|digit| {
        let full = value >> 63 != 0;
        value = append(value, radix, digit);
        full
    })
}

/// The literal that a number token is; `None` for tokens of other kinds.
pub(crate) fn literal(token: Token, text: &str) -> Option<Literal> {
    let hexadecimal = || u64::from_str_radix(text.get(2..).unwrap_or(""), 16).unwrap_or(0);
    match token {
        Token::Int => {
            let (value, unsigned) = integer(text);
            Some(Literal::Int { value, unsigned })
        }
        Token::Decimal => Some(Literal::F64(text.parse::<f64>().unwrap_or(0.0).to_bits())),
        Token::Single => Some(Literal::F32(hexadecimal() as u32)),
        Token::Double => Some(Literal::F64(hexadecimal())),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_wrap_and_know_their_sign() {
        let cases = [
            ("0", 0, false),
            ("017", 15, false),
            ("0b101U", 5, true),
            ("0xfU", 15, true),
            ("00", 0, false),
            ("9223372036854775807", i64::MAX as u64, false),
            ("9223372036854775808", 1 << 63, true),
            ("0x1ffffffffffffffff", u64::MAX, true),
        ];
        for (text, value, unsigned) in cases {
            assert_eq!(integer(text), (value, unsigned), "{text}");
        }
    }

    #[test]
    fn the_assembler_overlooks_some_overflows() {
        let long = |digit: &str, count: usize| format!("0b{}", digit.repeat(count));
        for text in [
            "0xFFFFFFFFFFFFFFFFF",
            "0x80000000000000000",
            "92233720368547758080",
            "100000000000000000000U",
            &long("1", 65),
        ] {
            assert!(overflows(text), "{text}");
        }
        for text in [
            "0xFFFFFFFFFFFFFFFF",
            "0x1FFFFFFFFFFFFFFFF",
            "0x100000000000000000",
            "18446744073709551616",
            "92233720368547758079",
            &long("1", 64),
            &long("0", 65),
        ] {
            assert!(!overflows(text), "{text}");
        }
    }

    #[test]
    fn floats_are_their_bits() {
        assert_eq!(literal(Token::Single, "0F3f800000"), Some(Literal::F32(0x3f80_0000)));
        assert_eq!(literal(Token::Double, "0dBFF0000000000000"), Some(Literal::F64((-1f64).to_bits())));
        for (text, value) in [("1.", 1.0), (".5", 0.5), ("1e3", 1000.0), ("2.5E-1", 0.25)] {
            assert_eq!(literal(Token::Decimal, text), Some(Literal::F64(f64::to_bits(value))), "{text}");
        }
    }
}
