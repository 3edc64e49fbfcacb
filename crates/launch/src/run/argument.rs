//! The arguments of launches, as launch files have them.

use super::data::MOST_DATA;
use super::file::Argument;
use super::place::{At, Read};
use super::{elements, numbers, tensormap};
use crate::json;
use softwarp::num::Format;

/// How deep structs can be in structs.
const DEEPEST: usize = 8;

/// What can stand beside the value of an argument.
const BESIDE: &[&str] = &["at", "offset", "name", "what"];

/// An argument; `depth` counts the structs that it is in.
pub(super) fn argument(at: &At<'_>, depth: usize) -> Read<Argument> {
    let object = at.object()?;
    let map = object.contains_key("tensormap");
    let beside = |key: &str| BESIDE.contains(&key) || map && key == "buffer";
    let mut kinds = object.iter().filter(|(key, _)| !beside(key));
    let (Some((kind, json)), None) = (kinds.next(), kinds.next()) else {
        return at.error("an argument has one value, as in {\"u32\": 7}");
    };
    let value = at.inside(kind, json);
    let has_address = matches!(kind.as_str(), "buffer" | "constant" | "tensormap");
    for (key, allowed) in [("offset", has_address), ("at", depth > 0)] {
        if !allowed && object.contains_key(key) {
            return at.error(format!("`{key}` says nothing beside `{}`", json::shown(kind)));
        }
    }
    match kind.as_str() {
        "buffer" | "constant" => {
            let offset = match at.get("offset")? {
                Some(at) => at.json.as_i64().map_or_else(|| at.error("it must be a whole number"), Ok)?,
                None => 0,
            };
            let is = if kind == "buffer" { Argument::Buffer } else { Argument::Constant };
            Ok(is(value.text()?, offset))
        }
        "bytes" => value.data(MOST_DATA, None).map(|data| Argument::Bytes(data.bytes)),
        "packed" if depth < DEEPEST => packed(&value, depth),
        "tensormap" => tensormap::read(value.json, at.json.get("buffer"), at.json.get("offset"))
            .or_else(|why| value.error(why)),
        "texobj" => Ok(Argument::Texture(value.text()?)),
        "surfobj" => Ok(Argument::Surface(value.text()?)),
        _ => scalar(kind, &value),
    }
}

fn packed(at: &At<'_>, depth: usize) -> Read<Argument> {
    at.only(&["size", "fields"])?;
    let size = at.need("size")?.unsigned()?;
    let mut fields = Vec::new();
    for field in at.need("fields")?.list()? {
        fields.push((field.need("at")?.unsigned()?, argument(&field, depth + 1)?));
    }
    Ok(Argument::Packed(size, fields))
}

/// A number of a type.
fn scalar(kind: &str, at: &At<'_>) -> Read<Argument> {
    let Some(format) = elements::format(kind).filter(|format| is_argument(*format)) else {
        return at.error(format!("`{}` is no kind of argument", json::shown(kind)));
    };
    Ok(number(format, numbers::number(at, format)?))
}

/// Whether a parameter can be a number of this type.
pub fn is_argument(format: Format) -> bool {
    format.bits() >= 8
}

/// The argument that is a number.
pub fn number(format: Format, code: u64) -> Argument {
    let bytes = (format.bits() as usize).div_ceil(8).next_power_of_two();
    Argument::Number(format, code.to_le_bytes()[..bytes.min(8)].to_vec())
}
