//! Strict JSON: repeated keys and unknown keys are errors.
//!
//! [`parse`] reads text into [`serde_json::Value`], which would keep the last of two values of one key. [`unknown`]
//! finds the keys of an object that are not among those that its reader knows, with the nearest that is.
//! [`write_tree`] writes what a parser has read.

use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};
use softwarp::isa::nearest;
use softwarp::syntax::Tree;
use std::fmt;
use std::io::{self, Write};

/// Writes the tree of a module.
pub fn write_tree(tree: &Tree<'_>, out: &mut dyn Write) -> io::Result<()> {
    Ok(serde_json::to_writer(out, tree)?)
}

/// Reads JSON in which no object has one key twice.
pub fn parse(text: &str) -> Result<Value, serde_json::Error> {
    serde_json::from_str::<Strict>(text).map(|strict| strict.0)
}

/// A value in which no object has one key twice.
struct Strict(Value);

impl<'de> Deserialize<'de> for Strict {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Strict, D::Error> {
        Build.deserialize(from).map(Strict)
    }
}

/// Builds a value; nesting is bounded by the deserializer, which stops at 128 levels.
#[derive(Clone, Copy)]
struct Build;

impl<'de> DeserializeSeed<'de> for Build {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Value, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Build {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(value) = from.next_element_seed(self)? {
            list.push(value);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(key) = from.next_key::<String>()? {
            if map.contains_key(&key) {
                return Err(A::Error::custom(format!("the key `{}` is given twice", shown(&key))));
            }
            let value = from.next_value_seed(self)?;
            map.insert(key, value);
        }
        Ok(Value::Object(map))
    }
}

/// Keys for people, which are allowed beside all others.
const REMARKS: &[&str] = &[
    "what",
    "comment",
    "note",
    "notes",
    "name",
    "description",
    "id",
    "group",
    "section",
    "hardware",
    "origin",
    "source",
    "title",
];

/// Whether a key is for people: a word of `REMARKS`, or one that begins with `_`, `$`, `#` or `//`.
pub fn is_remark(key: &str) -> bool {
    REMARKS.contains(&key) || key.starts_with(['_', '$', '#']) || key.starts_with("//")
}

/// What to say about the first key of an object that is none of those `known`, and no remark.
pub fn unknown(object: &Map<String, Value>, known: &[&str]) -> Option<String> {
    unknown_keys(object, known).next().map(|(_, why)| why)
}

/// The keys of an object that are none of those `known`, and no remarks, and what to say about each.
pub fn unknown_keys<'a>(
    object: &'a Map<String, Value>,
    known: &'a [&str],
) -> impl Iterator<Item = (&'a String, String)> {
    let keys = object.keys().filter(|key| !known.contains(&key.as_str()) && !is_remark(key));
    keys.map(|key| {
        let meant = match near(key, known) {
            Some(word) => format!("did you mean `{word}`?"),
            None => format!("it can have {}", known.join(", ")),
        };
        (key, format!("there is no key `{}`: {meant}", shown(key)))
    })
}

/// The known key that is nearest to one.
pub fn near<'a>(key: &str, known: &[&'a str]) -> Option<&'a str> {
    nearest(key, known.iter().copied()).or_else(|| alike(key, known))
}

/// The known key with the longest beginning in common, of three characters at least: `dynamic_shared` is `dynamic_smem`.
fn alike<'a>(key: &str, known: &[&'a str]) -> Option<&'a str> {
    let common = |word: &str| word.bytes().zip(key.bytes()).take_while(|(a, b)| a == b).count();
    known.iter().copied().max_by_key(|word| common(word)).filter(|word| common(word) >= 3)
}

/// A key as it may be shown: on one line, and not at any length.
pub fn shown(key: &str) -> String {
    key.chars().take(80).flat_map(char::escape_debug).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_are_those_of_serde_json() {
        for text in [
            "null",
            "-7",
            "18446744073709551615",
            "1.5e300",
            r#"{"b": [1, {"a": ""}], "a": {}}"#,
            "\"\\u00e9\"",
        ] {
            assert_eq!(parse(text).unwrap(), serde_json::from_str::<Value>(text).unwrap(), "{text}");
        }
        assert!(parse(&"[".repeat(100_000)).is_err());
        assert!(parse("[1] x").is_err() && parse("").is_err());
    }

    #[test]
    fn a_key_twice_is_refused_at_every_level() {
        for text in [r#"{"a": 1, "a": 1}"#, r#"[{"b": {"a": 1, "c": 2, "a": 3}}]"#] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.starts_with("the key `a` is given twice at line 1"), "{error}");
        }
    }

    #[test]
    fn unknown_keys_are_told_with_the_nearest() {
        let object = json!({"grid": 1, "blok": 2});
        let known = ["grid", "block"];
        assert_eq!(
            unknown(object.as_object().unwrap(), &known).unwrap(),
            "there is no key `blok`: did you mean `block`?"
        );
        let object = json!({"dynamic_shared": 2});
        assert_eq!(
            unknown(object.as_object().unwrap(), &["dump", "dynamic_smem"]).unwrap(),
            "there is no key `dynamic_shared`: did you mean `dynamic_smem`?"
        );
        let object = json!({"zzzzzzzz": 2});
        assert_eq!(
            unknown(object.as_object().unwrap(), &known).unwrap(),
            "there is no key `zzzzzzzz`: it can have grid, block"
        );
        let object = json!({"grid": 1, "what": "a test", "_seed": 7, "//": "a remark"});
        assert_eq!(unknown(object.as_object().unwrap(), &known), None);
    }
}
