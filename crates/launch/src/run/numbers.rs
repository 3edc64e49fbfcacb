//! Numbers in launch files: single ones, lists, and what is made by a rule.

use super::data::Data;
use super::elements::{self, Elements};
use super::place::{At, Read};
use crate::arrays;
use crate::explain::Value;
use crate::literal::{Literal, LiteralError, display};
use serde_json::Value as Json;
use softwarp::num::Format;

/// How deep lists of numbers can be in lists.
const DEEPEST: usize = 32;

/// The code of one number: a JSON number, or a string such as `"nan"`, `"0x3f800000"` or `"2^-3"`.
pub(super) fn number(at: &At<'_>, format: Format) -> Read<u64> {
    encode(at.json, format).or_else(|why| at.error(why))
}

fn encode(json: &Json, format: Format) -> Result<u64, String> {
    let float = matches!(format, Format::F32 | Format::F64);
    let word = match json.as_str() {
        Some("nan") if float => Some(f64::NAN),
        Some("inf") if float => Some(f64::INFINITY),
        Some("-inf") if float => Some(f64::NEG_INFINITY),
        _ => None,
    };
    let not_a_number = if format.is_int() { "it must be a whole number" } else { "it must be a number" };
    match (word.or_else(|| json.as_f64().filter(|_| float)), json) {
        (Some(value), _) if format == Format::F32 => Ok(u64::from((value as f32).to_bits())),
        (Some(value), _) => Ok(value.to_bits()),
        (None, Json::Number(number)) if format.is_int() => {
            let value = number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from));
            integer(value.ok_or(not_a_number)?, format)
        }
        (None, Json::Number(number)) => literal(&number.to_string(), format),
        (None, Json::String(text)) => literal(text, format),
        (None, _) => Err(not_a_number.to_owned()),
    }
}

fn literal(text: &str, format: Format) -> Result<u64, String> {
    let encoded = Literal::parse(text).and_then(|literal| literal.encode(format));
    encoded.map(|encoded| encoded.code).map_err(|error| match error {
        LiteralError::Malformed(_) => "it must be a number".to_owned(),
        error => error.to_string(),
    })
}

fn integer(value: i128, format: Format) -> Result<u64, String> {
    let limit = |code| match Value::of(format, code) {
        Value::Int(value) => value,
        Value::Float(value) => value as i128,
    };
    let (low, high) = (limit(format.min_finite()), limit(format.max_finite()));
    match (low..=high).contains(&value) {
        true => Ok(value as u64 & format.mask()),
        false => Err(format!(
            "it does not fit: {format} is from {} to {}",
            display(format, format.min_finite()),
            display(format, format.max_finite())
        )),
    }
}

/// Reads numbers of a type: a list, in which there can be lists, or `fill` or `range`. At most a given number of bytes;
/// `room` is how many there are to fill, if that is known.
pub(super) fn read(at: &At<'_>, format: Format, most: u64, room: Option<u64>) -> Read<Data> {
    let (codes, shape) = match at.json {
        Json::Array(_) => {
            let (mut codes, mut shape) = (Vec::new(), Vec::new());
            list(
                at.json,
                0,
                &mut List { at, format, codes: &mut codes, shape: &mut shape },
                &mut Vec::new(),
            )?;
            (codes, shape)
        }
        Json::Object(_) => {
            let codes = made(at, format, most, room)?;
            let count = codes.len();
            (codes, vec![count])
        }
        _ => {
            return at.error("it must be a list, {\"fill\": x, \"count\": n} or {\"range\": [first, end]}");
        }
    };
    Ok(Data { bytes: elements::pack(format, &codes), elements: Some(Elements::new(format, shape)) })
}

/// Numbers that are made by a rule.
fn made(at: &At<'_>, format: Format, most: u64, room: Option<u64>) -> Read<Vec<u64>> {
    at.only(&["fill", "count", "range"])?;
    let too_much = || at.error(format!("there is more data than {most} bytes"));
    let fits = |count: u64| arrays::bytes(format, count).is_some_and(|bytes| bytes <= most.saturating_add(1));
    if let Some(range) = at.get("range")? {
        let (first, step, count) = steps(&range)?;
        let count = if fits(count) { count } else { return too_much() };
        let code = |index: u64| match (first, step) {
            (Step::Whole(first), Step::Whole(step)) if format.is_int() => {
                integer(first.saturating_add(step.saturating_mul(i128::from(index))), format)
            }
            _ => encode(&Json::from(first.float() + step.float() * index as f64), format),
        };
        return (0..count).map(code).collect::<Result<_, String>>().or_else(|why| range.error(why));
    }
    let code = number(&at.need("fill")?, format)?;
    let count = match (at.get("count")?, room) {
        (Some(count), _) => count.unsigned()?,
        (None, Some(room)) => elements::count(format, room)
            .map_or_else(|| at.error(format!("{room} bytes are no whole number of {format}")), Ok)?,
        (None, None) => at.need("count")?.unsigned()?,
    };
    if fits(count) { Ok(vec![code; usize::try_from(count).unwrap_or(0)]) } else { too_much() }
}

/// A number of a range.
#[derive(Clone, Copy)]
enum Step {
    Whole(i128),
    Float(f64),
}

impl Step {
    fn float(self) -> f64 {
        match self {
            Step::Whole(value) => value as f64,
            Step::Float(value) => value,
        }
    }
}

/// The first number of a range, from each to the next, and how many there are. The end is not among them.
fn steps(at: &At<'_>) -> Read<(Step, Step, u64)> {
    let step = |at: &At<'_>| {
        let whole = at.json.as_i64().map(i128::from).or_else(|| at.json.as_u64().map(i128::from));
        match (whole, at.json.as_f64()) {
            (Some(value), _) => Ok(Step::Whole(value)),
            (None, Some(value)) => Ok(Step::Float(value)),
            (None, None) => at.error("it must be a number"),
        }
    };
    let parts = at.list()?.iter().map(step).collect::<Read<Vec<Step>>>()?;
    let (first, end, by) = match *parts.as_slice() {
        [first, end] => (first, end, Step::Whole(1)),
        [first, end, by] => (first, end, by),
        _ => return at.error("it is [first, end] or [first, end, step]"),
    };
    if by.float() == 0.0 {
        return at.error("the step must not be zero");
    }
    let count = match (first, end, by) {
        (Step::Whole(first), Step::Whole(end), Step::Whole(by)) => {
            let (way, step) = ((end - first) * by.signum(), by.abs());
            u64::try_from((way.max(0) + step - 1) / step).unwrap_or(u64::MAX)
        }
        // Too large a number becomes the largest.
        _ => ((end.float() - first.float()) / by.float()).ceil().max(0.0) as u64,
    };
    Ok((first, by, count))
}

/// What is read of a list.
struct List<'a> {
    at: &'a At<'a>,
    format: Format,
    codes: &'a mut Vec<u64>,
    /// The lengths of the lists, outermost first.
    shape: &'a mut Vec<usize>,
}

/// Reads a list whose members are all numbers, or all lists alike. `path` are the indices that lead to it.
fn list(json: &Json, depth: usize, into: &mut List<'_>, path: &mut Vec<usize>) -> Read<()> {
    let wrong = |into: &List<'_>, path: &[usize], why: String| -> Read<()> {
        let indices: String = path.iter().map(|index| format!("[{index}]")).collect();
        let place = format!("{}{indices}", into.at.place);
        At { json: into.at.json, place, reading: into.at.reading }.error(why)
    };
    match json {
        Json::Array(members) if depth < DEEPEST => {
            match into.shape.get(depth).copied() {
                None if into.codes.is_empty() => into.shape.push(members.len()),
                None => return wrong(into, path, "it must be a number, as the one before it".to_owned()),
                Some(length) if length != members.len() => {
                    let why =
                        format!("it has {} members, and the list before it has {length}", members.len());
                    return wrong(into, path, why);
                }
                Some(_) => {}
            }
            for (index, member) in members.iter().enumerate() {
                path.push(index);
                list(member, depth + 1, into, path)?;
                path.pop();
            }
            Ok(())
        }
        Json::Array(_) => wrong(into, path, format!("lists are at most {DEEPEST} deep")),
        number if depth == into.shape.len() => match encode(number, into.format) {
            Ok(code) => {
                into.codes.push(code);
                Ok(())
            }
            Err(why) => wrong(into, path, why),
        },
        _ => wrong(into, path, "it must be a list, as the one before it".to_owned()),
    }
}
