//! `vprintf`: formats as C does, with the argument widths of CUDA (CUDA C++ Programming Guide, formatted output).

use crate::fault::Tried;

/// The types of arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Argument {
    Int,
    Long,
    Double,
    Pointer,
}

impl Argument {
    /// The bytes of an argument, for pointers of `address` bytes. `long` is as on 64-bit Linux.
    pub(super) fn bytes(self, address: u64) -> u64 {
        match self {
            Argument::Int => 4,
            Argument::Long | Argument::Double => 8,
            Argument::Pointer => address,
        }
    }
}

/// A conversion specification.
#[derive(Clone, Debug, Default)]
struct Spec {
    left: bool,
    plus: bool,
    space: bool,
    alternate: bool,
    zero: bool,
    width: usize,
    precision: Option<usize>,
    long: bool,
    half: u32,
}

/// The widest field: more is cut, since a width can be an argument.
const WIDEST: usize = 4096;

/// The longest text of one call, which is the initial size of CUDA's buffer for all calls. It also limits the bytes
/// that conversions read and write. The rest of the call is left out.
const LONGEST: usize = 1 << 20;

/// Formats; `next` gives the next argument, `string` the string at an address, of at most a number of bytes. Returns the
/// text, and how many bytes were read and written that are not in it.
pub(super) fn format(
    text: &str,
    next: &mut dyn FnMut(Argument) -> Tried<u64>,
    string: &mut dyn FnMut(u64, usize) -> Tried<String>,
) -> Tried<(String, usize)> {
    let mut made = Made { out: String::new(), lost: 0, next, string };
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if made.out.len() + made.lost > LONGEST {
            break;
        }
        if c != '%' {
            made.out.push(c);
            continue;
        }
        let spec = Spec::read(&mut chars, made.next)?;
        let Some(conversion) = chars.next() else {
            made.out.push('%');
            break;
        };
        made.convert(&spec, conversion)?;
    }
    Ok((made.out, made.lost))
}

/// The rest of a format.
type Rest<'a> = std::iter::Peekable<std::str::Chars<'a>>;

/// The text of a call so far, and the sources of its arguments.
struct Made<'a> {
    out: String,
    /// Bytes that were read or written and are not in the text: `%.0s` reads a string, and `%.4000g` writes zeros that it
    /// removes.
    lost: usize,
    next: &'a mut dyn FnMut(Argument) -> Tried<u64>,
    string: &'a mut dyn FnMut(u64, usize) -> Tried<String>,
}

impl Made<'_> {
    /// Prints the next argument.
    fn convert(&mut self, spec: &Spec, conversion: char) -> Tried<()> {
        self.lost += 8 + spec.precision.unwrap_or(0);
        match conversion {
            '%' => self.out.push('%'),
            'd' | 'i' | 'u' | 'o' | 'x' | 'X' => self.integer(spec, conversion)?,
            'f' | 'F' | 'e' | 'E' | 'g' | 'G' | 'a' | 'A' => self.float(spec, conversion)?,
            'c' => {
                let c = (self.next)(Argument::Int)? as u8 as char;
                pad(&mut self.out, spec, "", &c.to_string(), false);
            }
            's' => {
                let address = (self.next)(Argument::Pointer)?;
                let most = spec.precision.unwrap_or(usize::MAX);
                let whole = if address == 0 { "(null)".to_owned() } else { (self.string)(address, most)? };
                self.lost += whole.len();
                let cut: String = whole.chars().take(most).collect();
                pad(&mut self.out, spec, "", &cut, false);
            }
            'p' => {
                let address = (self.next)(Argument::Pointer)?;
                let text = if address == 0 { "(nil)".to_owned() } else { format!("0x{address:x}") };
                pad(&mut self.out, spec, "", &text, false);
            }
            other => {
                self.out.push('%');
                self.out.push(other);
            }
        }
        Ok(())
    }

    fn integer(&mut self, spec: &Spec, conversion: char) -> Tried<()> {
        let word = (self.next)(if spec.long { Argument::Long } else { Argument::Int })?;
        if matches!(conversion, 'd' | 'i') {
            let value = match (spec.long, spec.half) {
                (true, _) => word as i64,
                (false, 0) => i64::from(word as i32),
                (false, 1) => i64::from(word as i16),
                (false, _) => i64::from(word as i8),
            };
            let digits = digits(spec, value.unsigned_abs().to_string(), value == 0);
            pad(&mut self.out, spec, spec.sign(value < 0), &digits, spec.precision.is_none());
            return Ok(());
        }
        let value = match (spec.long, spec.half) {
            (true, _) => word,
            (false, 0) => u64::from(word as u32),
            (false, 1) => u64::from(word as u16),
            (false, _) => u64::from(word as u8),
        };
        let (text, prefix) = match conversion {
            'u' => (value.to_string(), ""),
            'o' => (format!("{value:o}"), "0"),
            'x' => (format!("{value:x}"), "0x"),
            _ => (format!("{value:X}"), "0X"),
        };
        let prefix = if spec.alternate && value != 0 { prefix } else { "" };
        let digits = digits(spec, text, value == 0);
        pad(&mut self.out, spec, prefix, &digits, spec.precision.is_none());
        Ok(())
    }

    fn float(&mut self, spec: &Spec, conversion: char) -> Tried<()> {
        let value = f64::from_bits((self.next)(Argument::Double)?);
        let (mut body, finite) = match value.is_finite() {
            true => (float(spec, value.abs(), conversion.to_ascii_lowercase()), true),
            false => (if value.is_nan() { "nan" } else { "inf" }.to_owned(), false),
        };
        if conversion.is_ascii_uppercase() {
            body.make_ascii_uppercase();
        }
        pad(&mut self.out, spec, spec.sign(value.is_sign_negative()), &body, finite);
        Ok(())
    }
}

impl Spec {
    /// Reads what stands between `%` and the conversion.
    fn read(chars: &mut Rest<'_>, next: &mut dyn FnMut(Argument) -> Tried<u64>) -> Tried<Spec> {
        let mut spec = Spec::default();
        while let Some(&flag) = chars.peek() {
            match flag {
                '-' => spec.left = true,
                '+' => spec.plus = true,
                ' ' => spec.space = true,
                '#' => spec.alternate = true,
                '0' => spec.zero = true,
                _ => break,
            }
            chars.next();
        }
        let width = number(chars, next)?.unwrap_or(0);
        spec.left |= width < 0;
        spec.width = usize::try_from(width.unsigned_abs()).unwrap_or(WIDEST).min(WIDEST);
        if chars.peek() == Some(&'.') {
            chars.next();
            let precision = number(chars, next)?.unwrap_or(0);
            spec.precision = usize::try_from(precision).ok().map(|precision| precision.min(WIDEST));
        }
        while let Some(&length) = chars.peek() {
            match length {
                'l' | 'j' | 'z' | 't' | 'q' => spec.long = true,
                'h' => spec.half += 1,
                'L' => {}
                _ => break,
            }
            chars.next();
        }
        Ok(spec)
    }

    fn sign(&self, negative: bool) -> &'static str {
        match (negative, self.plus, self.space) {
            (true, ..) => "-",
            (false, true, _) => "+",
            (false, false, true) => " ",
            (false, false, false) => "",
        }
    }
}

/// A width or precision: digits, or the next argument for `*`.
fn number(chars: &mut Rest<'_>, next: &mut dyn FnMut(Argument) -> Tried<u64>) -> Tried<Option<i64>> {
    if chars.peek() == Some(&'*') {
        chars.next();
        return Ok(Some(i64::from(next(Argument::Int)? as i32)));
    }
    let mut value = None;
    while let Some(digit) = chars.peek().and_then(|c| c.to_digit(10)) {
        value = Some((value.unwrap_or(0) * 10 + i64::from(digit)).min(WIDEST as i64));
        chars.next();
    }
    Ok(value)
}

/// At least as many digits as the precision says; none for a zero with precision 0.
fn digits(spec: &Spec, text: String, zero: bool) -> String {
    match spec.precision {
        Some(0) if zero => String::new(),
        Some(least) => format!("{text:0>least$}"),
        None => text,
    }
}

fn pad(out: &mut String, spec: &Spec, prefix: &str, body: &str, zeros: bool) {
    let fill = spec.width.saturating_sub(prefix.chars().count() + body.chars().count());
    let zeros = spec.zero && zeros && !spec.left;
    if !spec.left && !zeros {
        out.extend(std::iter::repeat_n(' ', fill));
    }
    out.push_str(prefix);
    if zeros {
        out.extend(std::iter::repeat_n('0', fill));
    }
    out.push_str(body);
    if spec.left {
        out.extend(std::iter::repeat_n(' ', fill));
    }
}

/// A finite number without its sign.
fn float(spec: &Spec, value: f64, conversion: char) -> String {
    let precision = spec.precision.unwrap_or(6);
    match conversion {
        'f' => {
            let mut text = format!("{value:.precision$}");
            if spec.alternate && precision == 0 {
                text.push('.');
            }
            text
        }
        'e' => exponential(value, precision),
        'g' => {
            let precision = precision.max(1);
            let exponent = decimal_exponent(value, precision - 1);
            let (mut text, tail) = if exponent < -4 || exponent >= precision as i64 {
                let text = exponential(value, precision - 1);
                let (digits, tail) = text.split_at(text.find('e').unwrap_or(text.len()));
                (digits.to_owned(), tail.to_owned())
            } else {
                let places = usize::try_from(precision as i64 - 1 - exponent).unwrap_or(0);
                (format!("{value:.places$}"), String::new())
            };
            if !spec.alternate && text.contains('.') {
                text.truncate(text.trim_end_matches('0').trim_end_matches('.').len());
            }
            text + &tail
        }
        _ => hexadecimal(value, spec.precision),
    }
}

/// Rust writes `1e5` where C writes `1e+05`.
fn exponential(value: f64, precision: usize) -> String {
    let text = format!("{value:.precision$e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i64 = exponent.parse().unwrap_or(0);
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.abs())
}

/// The decimal exponent after rounding to a given number of places.
fn decimal_exponent(value: f64, places: usize) -> i64 {
    let text = format!("{value:.places$e}");
    text.split_once('e').and_then(|(_, exponent)| exponent.parse().ok()).unwrap_or(0)
}

fn hexadecimal(value: f64, precision: Option<usize>) -> String {
    let bits = value.to_bits();
    let (mut exponent, mut fraction) = ((bits >> 52) as i64 - 1023, bits & ((1 << 52) - 1));
    let mut lead = 1u64;
    if bits >> 52 == 0 {
        lead = 0;
        exponent = if fraction == 0 { 0 } else { -1022 };
    }
    if let Some(places) = precision.filter(|&places| places < 13) {
        let drop = 52 - 4 * places as u32;
        let whole = lead << 52 | fraction;
        let (kept, rest, half) = (whole >> drop, whole & ((1 << drop) - 1), 1u64 << (drop - 1));
        let rounded = kept + u64::from(rest > half || rest == half && kept & 1 == 1);
        (lead, fraction) = (rounded << drop >> 52, rounded << drop & ((1 << 52) - 1));
    }
    let digits = format!("{fraction:013x}");
    let digits = match precision {
        Some(places) => format!("{digits:0<places$}")[..places].to_owned(),
        None => digits.trim_end_matches('0').to_owned(),
    };
    let point = if digits.is_empty() { "" } else { "." };
    format!("0x{lead}{point}{digits}p{exponent:+}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn print(text: &str, arguments: &[u64]) -> String {
        let mut rest = arguments.iter();
        format(text, &mut |_| Ok(rest.next().copied().unwrap_or(0)), &mut |_, most| {
            Ok("word".chars().take(most).collect())
        })
        .unwrap_or_default()
        .0
    }

    #[test]
    fn what_one_call_prints_and_reads_is_bounded() {
        let wide = print(&"%4096d".repeat(10_000), &[]);
        assert!(wide.len() + WIDEST > LONGEST && wide.len() < LONGEST + 2 * WIDEST, "{}", wide.len());
        // Each writes 4000 zeros, and removes them.
        let removed = print(&"%.4000g".repeat(10_000), &[]);
        assert!(removed.len() < LONGEST / 1000);
        let mut read = 0;
        let mut string = |_, most: usize| {
            read += most.min(1 << 16);
            Ok("x".repeat(most.min(1 << 16)))
        };
        format(&"%s%.0s%.1s".repeat(10_000), &mut |_| Ok(1), &mut string).unwrap_or_default();
        assert!(read <= LONGEST + (1 << 17), "{read}");
    }

    #[test]
    fn numbers_print_as_c_prints_them() {
        let f = f64::to_bits;
        let rows: &[(&str, &[u64], &str)] = &[
            ("%d|%5d|%-5d|%05d|%+d", &[-1i64 as u64, 42, 42, -42i64 as u64, 7], "-1|   42|42   |-0042|+7"),
            ("%u %x %#X %o %#o", &[u64::from(u32::MAX), 255, 255, 8, 8], "4294967295 ff 0XFF 10 010"),
            (
                "%lld %llu %hhd %hu",
                &[i64::MIN as u64, u64::MAX, 255, 65537],
                "-9223372036854775808 18446744073709551615 -1 1",
            ),
            (
                "%f %.2f %8.3f|%-8.1f|",
                &[f(1.5), f(-2.345), f(3.25159), f(2.0)],
                "1.500000 -2.35    3.252|2.0     |",
            ),
            ("%e %.0e %E", &[f(12345.678), f(5.0), f(1e-300)], "1.234568e+04 5e+00 1.000000E-300"),
            ("%g %g %g %g", &[f(0.0001), f(0.00001), f(1e6), f(123456.0)], "0.0001 1e-05 1e+06 123456"),
            ("%a %.1a", &[f(1.0), f(1.96875)], "0x1p+0 0x2.0p+0"),
            ("%f %G", &[f(f64::INFINITY), f(f64::NAN)], "inf NAN"),
            ("%c%c|%3c|%s|%6.2s|%p|%%", &[104, 105, 33, 1, 1, 0x10], "hi|  !|word|    wo|0x10|%"),
            ("%*d|%-*d|%.*f", &[5, 1, 4, 2, 1, f(0.25)], "    1|2   |0.2"),
            ("%.3d|%.0d|%y", &[7, 0], "007||%y"),
        ];
        for (text, arguments, printed) in rows {
            assert_eq!(print(text, arguments), *printed, "{text}");
        }
    }
}
