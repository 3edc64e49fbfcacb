//! Map files: a tensor map as a JSON object, with names or in the driver's numbers.
//!
//! Everything wrong in a file is found at once, each with its key. Where a value cannot be read, the others are
//! still checked by those rules that do not depend on it.

mod reader;

use super::{diagnostic, object};
use reader::{Kind, Reader};
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::{Value as Json, json};
use softwarp::diagnostic::{Code, Diagnostic, Explained, Severity};
use softwarp::tensor::{Access, Description, Target, check, object::decode};

/// The longest file that is read: a map is short.
pub const LONGEST: u64 = 1 << 20;

/// The most that is said about one file.
const MOST_FINDINGS: usize = 100;

pub(super) const FORM: Explained = Explained {
    code: Code("E1060"),
    title: "a map file is no JSON object",
    text: "A map file holds one JSON object, as in {\"type\": \"f16\", \"dims\": [64, 64], \"box\": [64, 8]}, or the 128 bytes of a map.",
    wrong: r#"[64, 64]"#,
    right: r#"{"type": "f16", "dims": [64, 64], "box": [64, 8]}"#,
};

pub(super) const KEY: Explained = Explained {
    code: Code("E1061"),
    title: "a key of a map file is unknown, missing or there twice",
    text: "All kinds have type, dims, address, strides, element_strides, interleave, swizzle, promotion, fill and target. A tiled map has box, an im2col map lower, upper, channels and pixels, a wide map wide, too. The driver's words (api, dtype, rank, addr, estrides, l2, mode) stand for the same. An object stands alone, in hexadecimal.",
    wrong: r#"{"type": "f16", "dims": [64, 64], "box": [64, 8], "swizle": "128B"}"#,
    right: r#"{"type": "f16", "dims": [64, 64], "box": [64, 8], "swizzle": "128B"}"#,
};

pub(super) const VALUE: Explained = Explained {
    code: Code("E1062"),
    title: "a value in a map file is of the wrong sort",
    text: "Dimensions, strides and sizes are whole numbers (or strings of digits, hexadecimal after 0x), in lists where there is one for each dimension. Options are names or the driver's numbers.",
    wrong: r#"{"type": "f16", "dims": [64, 64.5], "box": [64, 8]}"#,
    right: r#"{"type": "f16", "dims": [64, 64], "box": [64, 8]}"#,
};

/// Rules about single numbers and the lengths of lists: what cannot be read elsewhere in the file has no part in them.
const INDEPENDENT: &[&str] =
    &["E1003", "E1004", "E1005", "E1006", "E1011", "E1012", "E1014", "E1020", "E1030", "E1031", "E1032"];

/// What a map file says.
#[derive(Clone, Debug)]
pub struct MapFile {
    /// The map, right or wrong; `None` if too little could be read.
    pub description: Option<Description>,
    /// The target that it names.
    pub target: Option<Target>,
    /// What could not be read.
    pub findings: Vec<Diagnostic>,
}

impl MapFile {
    /// All that is to be said about the file, for a target, in the order of the codes.
    pub fn check(&self, arch: Target) -> Vec<Diagnostic> {
        let mut all = self.findings.clone();
        if let Some(description) = &self.description {
            let found = check(description, arch);
            let whole = self.findings.is_empty();
            all.extend(found.into_iter().filter(|one| whole || INDEPENDENT.contains(&one.code.0)));
        }
        all.sort_by_key(|one| one.code);
        all.truncate(MOST_FINDINGS);
        all
    }

    /// Whether there are errors among diagnostics.
    pub fn is_refused(findings: &[Diagnostic]) -> bool {
        findings.iter().any(|one| one.severity() == Severity::Error)
    }
}

/// Reads a map file: JSON, or the 128 bytes of an object.
pub fn read(bytes: &[u8]) -> MapFile {
    // A short map may have 128 characters; no object is text, since words of it are zero.
    if let Ok(object) = bytes.try_into()
        && bytes.contains(&0)
    {
        return of_object(object, None);
    }
    let form = |message: String| MapFile {
        description: None,
        target: None,
        findings: vec![diagnostic(&FORM, message, None)],
    };
    let Ok(text) = std::str::from_utf8(bytes) else {
        return form("the file is neither text nor 128 bytes".to_owned());
    };
    match serde_json::from_str::<Pairs>(text) {
        Ok(pairs) => of_pairs(pairs.0),
        Err(error) => form(error.to_string()),
    }
}

/// Reads a map that is JSON already.
pub fn from_json(map: &Json) -> MapFile {
    match map {
        Json::Object(pairs) => of_pairs(pairs.clone().into_iter().collect()),
        _ => read(map.to_string().as_bytes()),
    }
}

fn of_object(bytes: &[u8; 128], target: Option<Target>) -> MapFile {
    match decode(bytes) {
        Ok(decoded) => MapFile { description: Some(decoded.description), target, findings: Vec::new() },
        Err(findings) => MapFile { description: None, target, findings },
    }
}

fn of_pairs(pairs: Vec<(String, Json)>) -> MapFile {
    let mut reader = Reader::default();
    reader.sort(pairs);
    let target = reader.target();
    if let Some(object) = reader.take("object") {
        for (key, _) in std::mem::take(&mut reader.values) {
            reader.key(format!("`{key}` stands beside `object`, which says everything"), None);
        }
        let text = object.as_str().map(|text| object::read(text.as_bytes()));
        let mut file = match text {
            Some(Ok(bytes)) => of_object(&bytes, target),
            Some(Err(why)) => {
                reader.value("object", why);
                MapFile { description: None, target, findings: Vec::new() }
            }
            None => {
                reader.value("object", "it is not a string of hexadecimal digits".to_owned());
                MapFile { description: None, target, findings: Vec::new() }
            }
        };
        file.findings.extend(reader.findings);
        return file;
    }
    let description = reader.description();
    MapFile { description, target, findings: reader.findings }
}

/// The pairs of a JSON object, all of them: a `Map` would keep the last of two with one key.
struct Pairs(Vec<(String, Json)>);

impl<'de> Deserialize<'de> for Pairs {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Pairs, D::Error> {
        struct Collect;
        impl<'de> Visitor<'de> for Collect {
            type Value = Pairs;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a JSON object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Pairs, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(Pairs(pairs))
            }
        }
        from.deserialize_map(Collect)
    }
}

/// A map as JSON that [`read`] takes back.
pub fn to_json(description: &Description) -> Json {
    let kind = match description.access {
        Access::Tiled { .. } => Kind::Tiled,
        Access::Im2col { .. } => Kind::Im2col,
        Access::Wide { .. } => Kind::Wide,
    };
    let mut map = json!({
        "kind": kind.name(),
        "type": description.element.name(),
        // A string: not every reader of JSON keeps all of 64 bits.
        "address": format!("{:#x}", description.address),
        "dims": description.dims,
        "strides": description.strides,
        "element_strides": description.element_strides,
        "interleave": description.interleave.name(),
        "swizzle": description.swizzle.name(),
        "promotion": description.promotion.name(),
        "fill": description.fill.name(),
    });
    let access = match &description.access {
        Access::Tiled { box_dims } => json!({ "box": box_dims }),
        Access::Im2col { lower, upper, channels, pixels } => {
            json!({"lower": lower, "upper": upper, "channels": channels, "pixels": pixels})
        }
        Access::Wide { mode, lower, upper, channels, pixels } => {
            json!({"wide": mode.name(), "lower": [lower], "upper": [upper], "channels": channels, "pixels": pixels})
        }
    };
    if let (Json::Object(map), Json::Object(access)) = (&mut map, access) {
        map.extend(access);
    }
    map
}

/// A JSON object with a line for each key: lists of numbers stay together.
pub fn to_text(map: &Json) -> String {
    let Json::Object(pairs) = map else { return format!("{map}\n") };
    let spaced = |value: &Json| match value {
        Json::Array(list) => format!("[{}]", list.iter().map(Json::to_string).collect::<Vec<_>>().join(", ")),
        other => other.to_string(),
    };
    let lines: Vec<String> =
        pairs.iter().map(|(key, value)| format!("  \"{key}\": {}", spaced(value))).collect();
    format!("{{\n{}\n}}\n", lines.join(",\n"))
}
