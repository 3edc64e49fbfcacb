//! JSON, read into structures and written from them.

use serde::de::{Error as _, Expected, Unexpected};
use serde_json::{Error, Map, Value};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// What is read from JSON.
pub trait Read: Sized {
    /// Reads it.
    fn read(value: Value) -> Result<Self, Error>;

    /// What a member is that is not there.
    fn missing(member: &'static str) -> Result<Self, Error> {
        Err(Error::missing_field(member))
    }
}

/// What is written as JSON.
pub trait Write {
    /// Writes it at the end of a text.
    fn write(&self, to: &mut String);

    /// Whether an object has no such member.
    fn is_absent(&self) -> bool {
        false
    }
}

/// Parses a text of JSON.
pub fn parse(text: &[u8]) -> Result<Value, Error> {
    match std::str::from_utf8(text) {
        // This parser is compiled, and optimised, in its own crate; `from_slice` would be compiled in this one.
        Ok(text) => text.parse(),
        // It says where the text is wrong.
        Err(_) => serde_json::from_slice(text),
    }
}

/// What something is in JSON.
pub fn text(what: &dyn Write) -> String {
    let mut text = String::new();
    what.write(&mut text);
    text
}

/// What something is in JSON, as a value.
pub fn value(what: &dyn Write) -> Value {
    text(what).parse().unwrap_or_default()
}

/// The members of an object that is being read.
pub struct Members(Map<String, Value>);

impl Members {
    /// Takes the object of a structure.
    pub fn of(value: Value, structure: &str) -> Result<Members, Error> {
        match value {
            Value::Object(members) => Ok(Members(members)),
            other => Err(Error::invalid_type(unexpected(&other), &Structure(structure))),
        }
    }

    /// Reads a member.
    pub fn take<T: Read>(&mut self, member: &'static str) -> Result<T, Error> {
        self.0.remove(member).map_or_else(|| T::missing(member), T::read)
    }

    /// The members that have not been read.
    pub fn rest(self) -> Value {
        Value::Object(self.0)
    }
}

/// What an error says that was expected.
struct Structure<'a>(&'a str);

impl Expected for Structure<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "struct {}", self.0)
    }
}

fn unexpected(value: &Value) -> Unexpected<'_> {
    match value {
        Value::Null => Unexpected::Unit,
        Value::Bool(is) => Unexpected::Bool(*is),
        Value::Number(number) => match (number.as_u64(), number.as_i64()) {
            (Some(number), _) => Unexpected::Unsigned(number),
            (None, Some(number)) => Unexpected::Signed(number),
            (None, None) => Unexpected::Float(number.as_f64().unwrap_or_default()),
        },
        Value::String(text) => Unexpected::Str(text),
        Value::Array(_) => Unexpected::Seq,
        Value::Object(_) => Unexpected::Map,
    }
}

/// Reads a structure member by member: `reads!(Range: "start" = start, "end" = end)`.
macro_rules! reads {
    ($structure:ident: $($member:literal = $field:ident),*) => {
        impl $crate::protocol::json::Read for $structure {
            fn read(value: serde_json::Value) -> Result<Self, serde_json::Error> {
                let mut members = $crate::protocol::json::Members::of(value, stringify!($structure))?;
                Ok($structure { $($field: members.take($member)?),* })
            }
        }
    };
}

/// Writes a structure member by member, in this order: `writes!(Range: "start" = start, "end" = end)`.
macro_rules! writes {
    ($structure:ident: $($member:literal = $field:ident),*) => {
        impl $crate::protocol::json::Write for $structure {
            fn write(&self, to: &mut String) {
                $crate::protocol::json::object(&[$(($member, &self.$field)),*], to);
            }
        }
    };
}

/// Writes the kinds of an enumeration as numbers.
macro_rules! writes_numbers {
    ($($enumeration:ident),*) => {$(
        impl $crate::protocol::json::Write for $enumeration {
            fn write(&self, to: &mut String) {
                $crate::protocol::json::Write::write(&(*self as u32), to);
            }
        }
    )*};
}

pub(crate) use {reads, writes, writes_numbers};

/// Writes an object. The names of members have no characters that need a backslash.
pub fn object(members: &[(&str, &dyn Write)], to: &mut String) {
    let mut before = "{\"";
    for (name, member) in members {
        if !member.is_absent() {
            to.push_str(before);
            to.push_str(name);
            to.push_str("\":");
            member.write(to);
            before = ",\"";
        }
    }
    to.push_str(if before == "{\"" { "{}" } else { "}" });
}

/// Reads what serde reads.
macro_rules! read_by_serde {
    ($($what:ty),*) => {$(
        impl Read for $what {
            fn read(value: Value) -> Result<$what, Error> {
                serde_json::from_value(value)
            }
        }
    )*};
}

read_by_serde!(u32, i32, bool, String);

impl Read for Value {
    fn read(value: Value) -> Result<Value, Error> {
        Ok(value)
    }
}

impl<T: Read> Read for Option<T> {
    fn read(value: Value) -> Result<Option<T>, Error> {
        if value.is_null() { Ok(None) } else { T::read(value).map(Some) }
    }

    fn missing(_: &'static str) -> Result<Option<T>, Error> {
        Ok(None)
    }
}

impl<T: Read> Read for Vec<T> {
    fn read(value: Value) -> Result<Vec<T>, Error> {
        match value {
            Value::Array(all) => all.into_iter().map(T::read).collect(),
            other => Err(Error::invalid_type(unexpected(&other), &"a sequence")),
        }
    }
}

/// Writes to a text. It cannot fail.
fn show(what: std::fmt::Arguments<'_>, to: &mut String) {
    let _ = to.write_fmt(what);
}

impl Write for u32 {
    fn write(&self, to: &mut String) {
        show(format_args!("{self}"), to);
    }
}

impl Write for i32 {
    fn write(&self, to: &mut String) {
        show(format_args!("{self}"), to);
    }
}

impl Write for bool {
    fn write(&self, to: &mut String) {
        to.push_str(if *self { "true" } else { "false" });
    }
}

impl Write for Value {
    fn write(&self, to: &mut String) {
        show(format_args!("{self}"), to);
    }
}

impl Write for str {
    fn write(&self, to: &mut String) {
        // The crate of `Value` is optimised, and knows what needs a backslash.
        Value::from(self).write(to);
    }
}

impl Write for &str {
    fn write(&self, to: &mut String) {
        (**self).write(to);
    }
}

impl Write for String {
    fn write(&self, to: &mut String) {
        self.as_str().write(to);
    }
}

impl<T: Write> Write for Option<T> {
    fn write(&self, to: &mut String) {
        match self {
            Some(value) => value.write(to),
            None => to.push_str("null"),
        }
    }

    fn is_absent(&self) -> bool {
        self.is_none()
    }
}

impl<T: Write> Write for Vec<T> {
    fn write(&self, to: &mut String) {
        let mut before = "[";
        for one in self {
            to.push_str(before);
            one.write(to);
            before = ",";
        }
        to.push_str(if self.is_empty() { "[]" } else { "]" });
    }
}

impl<K: AsRef<str>, T: Write> Write for BTreeMap<K, T> {
    fn write(&self, to: &mut String) {
        let mut before = "{";
        for (name, one) in self {
            to.push_str(before);
            name.as_ref().write(to);
            to.push(':');
            one.write(to);
            before = ",";
        }
        to.push_str(if self.is_empty() { "{}" } else { "}" });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[derive(Debug, PartialEq)]
    struct Both {
        count: u32,
        name: Option<String>,
        list: Vec<bool>,
    }

    reads!(Both: "count" = count, "name" = name, "list" = list);
    writes!(Both: "count" = count, "name" = name, "list" = list);

    #[test]
    fn optional_members_are_absent_or_null() {
        let none = Both { count: 1, name: None, list: vec![] };
        assert_eq!(Both::read(json!({"count": 1, "list": []})).expect("absent"), none);
        assert_eq!(Both::read(json!({"count": 1, "name": null, "list": [], "x": 2})).expect("null"), none);
        assert_eq!(text(&none), r#"{"count":1,"list":[]}"#);
        let some =
            Both { count: 4_294_967_295, name: Some("\"\n\u{e9}\u{1}".to_owned()), list: vec![true, false] };
        assert_eq!(text(&some), r#"{"count":4294967295,"name":"\"\né\u0001","list":[true,false]}"#);
        assert_eq!(Both::read(value(&some)).expect("what was written"), some);
        assert_eq!(text(&Vec::<Both>::new()), "[]");
        assert_eq!(text(&None::<Both>), "null");
        assert_eq!(text(&BTreeMap::from([("b", 1_u32), ("a", 2)])), r#"{"a":2,"b":1}"#);
    }

    #[test]
    fn errors_say_what_is_wrong() {
        let why = |value: Value| Both::read(value).expect_err("an error").to_string();
        assert_eq!(why(json!({"list": []})), "missing field `count`");
        assert_eq!(why(json!([])), "invalid type: sequence, expected struct Both");
        assert_eq!(why(json!(null)), "invalid type: null, expected struct Both");
        assert_eq!(why(json!(1.5)), "invalid type: floating point `1.5`, expected struct Both");
        assert_eq!(why(json!({"count": -1})), "invalid value: integer `-1`, expected u32");
        assert_eq!(why(json!({"count": 1, "list": "x"})), "invalid type: string \"x\", expected a sequence");
        assert_eq!(why(json!({"count": 1, "name": 3})), "invalid type: integer `3`, expected a string");
    }

    #[test]
    fn texts_that_are_not_utf8_are_no_json() {
        assert_eq!(parse(b"[1, \"\xc3\xa9\"]").expect("JSON"), json!([1, "\u{e9}"]));
        assert!(parse(b"\"\xff\"").is_err());
        assert!(parse(b"{").is_err());
    }
}
