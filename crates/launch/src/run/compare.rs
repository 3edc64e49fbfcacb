//! Rules of comparison: what counts as the same result.

use crate::json;
use crate::literal::display;
use serde_json::Value as Json;
use softwarp::num::Format;

/// When two memories are the same.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Rule {
    /// Bit by bit.
    #[default]
    Exact,
    /// Values of f32 with at most a given number of others between them, less one.
    Ulp(u64),
    /// `|x − y| ≤ absolute + relative · |y|`, where `y` was recorded; NaN equals NaN.
    Near {
        /// What the values are.
        format: Format,
        /// In parts of the recorded value.
        relative: f64,
        /// Whatever the value.
        absolute: f64,
        /// Memories that are compared bit by bit.
        raw: Vec<String>,
    },
    /// Bytes that differ by so much at most.
    Bytes(u8),
    /// By the memory's name; others bit by bit.
    Each(Vec<(String, Rule)>),
}

/// The rules that compare values, and their formats.
const NEAR: &[(&str, &str)] =
    &[("f32_rel", "f32"), ("f64_rel", "f64"), ("f16_rel", "f16"), ("bf16_rel", "bf16")];

impl Rule {
    /// Reads a rule of a launch file.
    pub fn from_json(json: &Json) -> Result<Rule, String> {
        Rule::read(json, true)
    }

    fn read(json: &Json, outermost: bool) -> Result<Rule, String> {
        let unknown = || "no rule of comparison that is known".to_owned();
        if json == "exact" {
            return Ok(Rule::Exact);
        }
        let map = json.as_object().ok_or_else(unknown)?;
        let number = |key: &str| match map.get(key) {
            None => Ok(0.0),
            Some(value) => value.as_f64().ok_or_else(|| format!("`{key}` must be a number")),
        };
        let only = |known: &[&str]| json::unknown(map, known).map_or(Ok(()), Err);
        if let Some(each) = map.get("per_buffer").filter(|_| outermost) {
            only(&["per_buffer"])?;
            let each = each.as_object().ok_or("`per_buffer` must be an object")?;
            let rules = each.iter().map(|(name, rule)| Ok((name.clone(), Rule::read(rule, false)?)));
            return Ok(Rule::Each(rules.collect::<Result<_, String>>()?));
        }
        if let Some(count) = map.get("f32_ulp") {
            only(&["f32_ulp"])?;
            return count
                .as_u64()
                .map(Rule::Ulp)
                .ok_or_else(|| "`f32_ulp` must be a whole number".to_owned());
        }
        if let Some(most) = map.get("u8_abs") {
            only(&["u8_abs"])?;
            let most = most.as_u64().and_then(|most| u8::try_from(most).ok());
            return most.map(Rule::Bytes).ok_or_else(|| "`u8_abs` must be a number from 0 to 255".to_owned());
        }
        let near = NEAR.iter().find(|(key, _)| map.contains_key(*key));
        let (key, format) = near.ok_or_else(unknown)?;
        only(&[*key, "abs", "raw"])?;
        let raw = match map.get("raw") {
            None => Vec::new(),
            Some(raw) => serde_json::from_value(raw.clone()).map_err(|_| "`raw` must be a list of names")?,
        };
        let format = Format::from_name(format).ok_or_else(unknown)?;
        Ok(Rule::Near { format, relative: number(key)?, absolute: number("abs")?, raw })
    }

    /// The memories that the rule names.
    pub fn names(&self) -> Box<dyn Iterator<Item = &String> + '_> {
        match self {
            Rule::Exact | Rule::Ulp(_) | Rule::Bytes(_) => Box::new(std::iter::empty()),
            Rule::Near { raw, .. } => Box::new(raw.iter()),
            // Rules are not nested further.
            Rule::Each(rules) => Box::new(rules.iter().flat_map(|(name, rule)| {
                let inner: &[String] = if let Rule::Near { raw, .. } = rule { raw } else { &[] };
                std::iter::once(name).chain(inner)
            })),
        }
    }

    /// How what was computed differs from what was recorded in a memory of this name.
    pub fn difference(&self, name: &str, got: &[u8], expected: &[u8]) -> Option<Difference> {
        if got.len() != expected.len() {
            return Some(Difference::Length { got: got.len(), expected: expected.len() });
        }
        // The same bytes are the same values by every rule.
        if got == expected {
            return None;
        }
        match self {
            Rule::Each(rules) => {
                let rule = rules.iter().find(|(of, _)| of == name).map_or(&Rule::Exact, |(_, rule)| rule);
                // Rules are not nested.
                if matches!(rule, Rule::Each(_)) { None } else { rule.difference(name, got, expected) }
            }
            Rule::Near { raw, .. } if raw.iter().any(|one| one == name) => {
                differing(1, got, expected, |x, y| x == y)
            }
            Rule::Exact => {
                // Words are easier on the eye than bytes.
                let width = if got.len().is_multiple_of(4) { 4 } else { 1 };
                differing(width, got, expected, |x, y| x == y)
            }
            Rule::Bytes(most) => differing(1, got, expected, |x, y| x.abs_diff(y) <= u64::from(*most)),
            Rule::Ulp(most) => {
                let near = |x, y| {
                    let nan = |bits| f32::from_bits(bits as u32).is_nan();
                    nan(x) && nan(y) || !nan(x) && !nan(y) && rank(x).abs_diff(rank(y)) <= *most
                };
                differing(4, got, expected, near).map(|found| found.of(Format::F32))
            }
            Rule::Near { format, relative, absolute, .. } => {
                let near = |x, y| {
                    let (x, y) = (format.decode(x), format.decode(y));
                    x == y || x.is_nan() && y.is_nan() || (x - y).abs() <= absolute + relative * y.abs()
                };
                let width = format.bits() as usize / 8;
                differing(width, got, expected, near).map(|found| found.of(*format))
            }
        }
    }
}

/// Where a binary32 stands in the order of all.
fn rank(bits: u64) -> i64 {
    let magnitude = (bits & 0x7fff_ffff) as i64;
    if bits >> 31 & 1 == 1 { -magnitude } else { magnitude }
}

/// How a memory differs from what was recorded.
#[derive(Clone, Debug, PartialEq)]
pub enum Difference {
    /// The lengths differ.
    Length {
        /// Ours, in bytes.
        got: usize,
        /// The recorded one.
        expected: usize,
    },
    /// The values differ.
    Values {
        /// How many elements differ.
        count: usize,
        /// How many elements there are.
        of: usize,
        /// The first that does.
        index: usize,
        /// Bytes of an element.
        width: usize,
        /// What its bits mean, if that is known.
        format: Option<Format>,
        /// Ours.
        got: u64,
        /// The recorded one.
        expected: u64,
    },
}

impl Difference {
    fn of(self, meaning: Format) -> Difference {
        match self {
            Difference::Values { count, of, index, width, got, expected, .. } => {
                Difference::Values { count, of, index, width, format: Some(meaning), got, expected }
            }
            other => other,
        }
    }
}

impl std::fmt::Display for Difference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Difference::Length { got, expected } => write!(f, "{got} bytes, expected {expected}"),
            Difference::Values { count, of, index, width, format, got, expected } => {
                let digits = 2 * width;
                let word = |bits: u64| match format {
                    Some(format) => format!("{} (0x{bits:0digits$x})", display(*format, bits)),
                    None => format!("0x{bits:0digits$x}"),
                };
                let unit = if *width == 1 { "byte" } else { "element" };
                write!(f, "{count} of {of} {unit}s differ, first {unit} {index}: ")?;
                write!(f, "{}, expected {}", word(*got), word(*expected))
            }
        }
    }
}

/// Compares element by element; bytes at the end that are no whole element must be equal.
fn differing(
    width: usize,
    got: &[u8],
    expected: &[u8],
    same: impl Fn(u64, u64) -> bool,
) -> Option<Difference> {
    let value = |bytes: &[u8]| bytes.iter().rev().fold(0u64, |value, &byte| value << 8 | u64::from(byte));
    let mut first = None;
    let mut count = 0;
    for (index, (x, y)) in got.chunks(width).zip(expected.chunks(width)).enumerate() {
        let equal = x == y || x.len() == width && same(value(x), value(y));
        if !equal {
            count += 1;
            first.get_or_insert((index, value(x), value(y)));
        }
    }
    first.map(|(index, got_value, expected_value)| Difference::Values {
        count,
        of: got.len().div_ceil(width),
        index,
        width,
        format: None,
        got: got_value,
        expected: expected_value,
    })
}
