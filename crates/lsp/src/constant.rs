//! A constant in all its readings: as integers, as floating-point numbers, as packed elements.

use softwarp_num::{Format, Packed, Rounding, Saturation};
use softwarp_syntax::tree::Literal;

/// The formats of 32 and 64 bits that a pattern is read as.
const PACKED: &[(Packed, u32)] = &[
    (Packed { element: Format::E4m3, lanes: 2 }, 16),
    (Packed { element: Format::E5m2, lanes: 2 }, 16),
    (Packed { element: Format::E2m1, lanes: 4 }, 16),
    (Packed { element: Format::F16, lanes: 1 }, 16),
    (Packed { element: Format::Bf16, lanes: 1 }, 16),
    (Packed { element: Format::F16, lanes: 2 }, 32),
    (Packed { element: Format::Bf16, lanes: 2 }, 32),
    (Packed { element: Format::E4m3, lanes: 4 }, 32),
    (Packed { element: Format::F32, lanes: 1 }, 32),
    (Packed { element: Format::F64, lanes: 1 }, 64),
];

/// What a floating-point constant becomes in shorter formats.
const SHORTER: &[Format] =
    &[Format::F32, Format::Tf32, Format::Bf16, Format::F16, Format::E5m2, Format::E4m3];

/// The readings of a literal, as a table in Markdown.
pub fn readings(literal: Literal) -> String {
    let mut rows: Vec<(String, String)> = Vec::new();
    match literal {
        Literal::Int { value, unsigned } => {
            let negative = !unsigned && (value as i64) < 0;
            rows.push((
                "decimal".into(),
                if negative { (value as i64).to_string() } else { value.to_string() },
            ));
            patterns(value, if negative { 32.max(width(!value) + 1) } else { width(value) }, &mut rows);
        }
        Literal::F32(bits) => {
            let value = f64::from(f32::from_bits(bits));
            number(value, display(Format::F32, bits.into()), &mut rows);
            patterns(bits.into(), 32, &mut rows);
            shortened(value, 1, &mut rows);
        }
        Literal::F64(bits) => {
            let value = f64::from_bits(bits);
            number(value, display(Format::F64, bits), &mut rows);
            patterns(bits, 64, &mut rows);
            shortened(value, 0, &mut rows);
        }
    }
    let mut table = String::from("| reading | value |\n|---|---|\n");
    for (name, value) in rows {
        table.push_str(&format!("| {name} | `{value}` |\n"));
    }
    table
}

/// How many bits a pattern needs, of those that registers have.
fn width(value: u64) -> u32 {
    match 64 - value.leading_zeros() {
        0..=16 => 16,
        17..=32 => 32,
        _ => 64,
    }
}

fn number(value: f64, shortest: String, rows: &mut Vec<(String, String)>) {
    rows.push(("value".into(), shortest));
    if value.is_finite() {
        rows.push(("hexadecimal float".into(), hex_float(value)));
    }
}

/// A pattern of bits, in what it can stand for.
fn patterns(value: u64, bits: u32, rows: &mut Vec<(String, String)>) {
    let bits = bits.clamp(16, 64).next_power_of_two();
    let value = if bits == 64 { value } else { value & ((1 << bits) - 1) };
    let digits = bits as usize / 4;
    rows.push(("hexadecimal".into(), format!("0x{value:0digits$x}")));
    if bits == 16 {
        rows.push(("binary".into(), format!("0b{value:b}")));
    }
    let unused = 64 - bits;
    let signed = (value << unused) as i64 >> unused;
    rows.push((format!("u{bits}"), value.to_string()));
    if signed < 0 {
        rows.push((format!("s{bits}"), signed.to_string()));
    }
    for &(packed, of) in PACKED.iter().filter(|(_, of)| *of == bits || (bits == 16 && *of == 32)) {
        if of > bits && packed.lanes > 1 {
            continue;
        }
        let elements =
            (0..u32::from(packed.lanes)).rev().map(|lane| display(packed.element, packed.get(value, lane)));
        let elements: Vec<String> = elements.collect();
        let text = match packed.lanes {
            1 => elements.concat(),
            _ => format!("{{{}}}", elements.into_iter().rev().collect::<Vec<_>>().join(", ")),
        };
        rows.push((format!("{packed}"), text));
    }
    let bytes = value.to_be_bytes();
    let bytes = &bytes[8 - bits as usize / 8..];
    let printable = |byte: &&u8| (b' '..=b'~').contains(*byte) && !matches!(byte, b'`' | b'|');
    let text: String = bytes.iter().skip_while(|byte| **byte == 0).map(|&byte| char::from(byte)).collect();
    if !text.is_empty() && bytes.iter().skip_while(|byte| **byte == 0).all(|byte| printable(&byte)) {
        rows.push(("characters".into(), text));
    }
}

/// What a number becomes in shorter formats, rounded to the nearest.
fn shortened(value: f64, skip: usize, rows: &mut Vec<(String, String)>) {
    for &format in &SHORTER[skip..] {
        let saturation = if format == Format::E4m3 { Saturation::Finite } else { Saturation::None };
        let Some(code) = format.encode(value, Rounding::NearestEven, saturation) else { continue };
        let exact = format.decode(code) == value || value.is_nan();
        let digits = format.bits().div_ceil(4) as usize;
        let relation = if exact { "exactly" } else { "rounded" };
        rows.push((
            format!("as {format}"),
            format!("{} (0x{code:0digits$x}), {relation}", display(format, code)),
        ));
    }
}

/// The value of a code, in as few digits as tell it from its neighbours.
pub fn display(format: Format, code: u64) -> String {
    let value = format.decode(code);
    let text = match format {
        Format::F32 | Format::Tf32 => format!("{:?}", value as f32),
        _ => format!("{value:?}"),
    };
    match text.as_str() {
        "NaN" => "nan".to_owned(),
        text => text.strip_suffix(".0").unwrap_or(text).replace(".0e", "e"),
    }
}

/// A finite number as C writes it in base 16: `0x1.8p+1`.
fn hex_float(value: f64) -> String {
    let bits = value.to_bits();
    let sign = if value.is_sign_negative() { "-" } else { "" };
    let (field, mantissa) = (bits >> 52 & 0x7ff, bits & ((1 << 52) - 1));
    if field == 0 && mantissa == 0 {
        return format!("{sign}0x0p+0");
    }
    // Subnormals are written with a leading one too.
    let (exponent, mantissa) = match field {
        0 => {
            let shift = mantissa.leading_zeros() - 11;
            (-1022 - i64::from(shift), (mantissa << shift) & ((1 << 52) - 1))
        }
        field => (field as i64 - 1023, mantissa),
    };
    let digits = format!("{mantissa:013x}");
    let digits = digits.trim_end_matches('0');
    let point = if digits.is_empty() { "" } else { "." };
    format!("{sign}0x1{point}{digits}p{exponent:+}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_base_16() {
        let cases = [
            (1.0, "0x1p+0"),
            (-1.5, "-0x1.8p+0"),
            (0.1, "0x1.999999999999ap-4"),
            (0.0, "0x0p+0"),
            (5e-324, "0x1p-1074"),
            (f64::MAX, "0x1.fffffffffffffp+1023"),
        ];
        for (value, wanted) in cases {
            assert_eq!(hex_float(value), wanted);
        }
    }

    #[test]
    fn constants_are_read_in_all_ways() {
        let has = |literal, wanted: &[&str]| {
            let table = readings(literal);
            for row in wanted {
                assert!(table.contains(row), "{row} in\n{table}");
            }
        };
        has(
            Literal::F32(0x3fc0_0000),
            &["| value | `1.5` |", "0x1.8p+0", "| u32 | `1069547520` |", "| as e4m3 | `1.5 (0x3c), exactly`"],
        );
        has(
            Literal::Int { value: 0x3c38, unsigned: false },
            &["| e4m3x2 | `{1, 1.5}` |", "| f16 | `1.0546875` |"],
        );
        has(
            Literal::Int { value: u64::MAX, unsigned: false },
            &["| decimal | `-1` |", "| u32 | `4294967295` |"],
        );
        has(Literal::Int { value: 0x4142_4344, unsigned: false }, &["| characters | `ABCD` |"]);
        has(Literal::F64(0x3ff0_0000_0000_0000), &["| value | `1` |", "| as f16 | `1 (0x3c00), exactly`"]);
        has(Literal::F32(0x7fc0_0000), &["| value | `nan` |"]);
    }
}
