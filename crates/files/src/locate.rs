//! Where a value of a JSON text is, by its place: `launches[0].args[2]`.
//!
//! The text was read before, so that it is JSON. Only what leads to the place is looked at closely.

use crate::json::shown;
use softwarp::diagnostic::Span;

/// What to look for.
#[derive(Clone, Copy, Debug)]
pub struct Position<'a> {
    /// The place of a value, as messages have it; empty for the whole.
    pub place: &'a str,
    /// The key of one of its members: the key itself is meant.
    pub key: Option<&'a str>,
}

/// How deep values can lie.
const DEEPEST: usize = 128;

/// Where it is in the text: of an object or a list, its first character.
pub fn locate(text: &str, what: &Position<'_>) -> Option<Span> {
    let mut walk = Walk { bytes: text.as_bytes(), at: 0, what, found: None };
    walk.value("", 0);
    let (start, end) = walk.found?;
    Some(Span::new(u32::try_from(start).ok()?, u32::try_from(end).ok()?))
}

struct Walk<'a> {
    bytes: &'a [u8],
    at: usize,
    what: &'a Position<'a>,
    found: Option<(usize, usize)>,
}

impl Walk<'_> {
    fn peek(&mut self) -> Option<u8> {
        while self.bytes.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
        self.bytes.get(self.at).copied()
    }

    /// Goes over a value at a place. Ends early once the place is found.
    fn value(&mut self, place: &str, depth: usize) {
        let Some(first) = self.peek() else { return };
        let (start, wanted) = (self.at, place == self.what.place);
        if depth > DEEPEST {
            // Nothing so deep was read: there is nothing to find.
            self.at = self.bytes.len();
            return;
        }
        match first {
            b'{' => self.object(place, depth),
            b'[' => self.list(place, depth),
            b'"' => drop(self.string()),
            _ => self.word(),
        }
        if wanted && self.found.is_none() {
            let end = if matches!(first, b'{' | b'[') && self.bytes[start..self.at].contains(&b'\n') {
                start + 1
            } else {
                self.at
            };
            self.found = Some((start, end));
        }
    }

    fn word(&mut self) {
        let ends = |byte: &u8| matches!(byte, b',' | b']' | b'}') || byte.is_ascii_whitespace();
        let from = self.at;
        while self.bytes.get(self.at).is_some_and(|byte| !ends(byte)) {
            self.at += 1;
        }
        // What is no value is stepped over.
        self.at = self.at.max(from + 1);
    }

    /// Goes over a string; gives what it says, if it can be read.
    fn string(&mut self) -> Option<String> {
        let from = self.at;
        self.at += 1;
        while let Some(byte) = self.bytes.get(self.at) {
            self.at += if *byte == b'\\' { 2 } else { 1 };
            if *byte == b'"' {
                break;
            }
        }
        serde_json::from_slice(self.bytes.get(from..self.at)?).ok()
    }

    fn object(&mut self, place: &str, depth: usize) {
        self.at += 1;
        while self.found.is_none() {
            match self.peek() {
                Some(b'"') => {
                    let start = self.at;
                    let key = self.string().unwrap_or_default();
                    if place == self.what.place && self.what.key == Some(key.as_str()) {
                        self.found = Some((start, self.at));
                        return;
                    }
                    if self.peek() == Some(b':') {
                        self.at += 1;
                    }
                    let dot = if place.is_empty() { "" } else { "." };
                    self.value(&format!("{place}{dot}{}", shown(&key)), depth + 1);
                }
                Some(b',') => self.at += 1,
                Some(b'}') => {
                    self.at += 1;
                    return;
                }
                _ => return,
            }
        }
    }

    fn list(&mut self, place: &str, depth: usize) {
        self.at += 1;
        let mut index = 0usize;
        while self.found.is_none() {
            match self.peek() {
                Some(b',') => {
                    self.at += 1;
                    index += 1;
                }
                Some(b']') => {
                    self.at += 1;
                    return;
                }
                Some(_) => self.value(&format!("{place}[{index}]"), depth + 1),
                None => return,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"{"a": [1, {"b\n": "x,]}"}, -2.5e3],
        "c d": {"e": null,
                "f": [ ]}}"#;

    fn at(place: &str, key: Option<&str>) -> Option<&'static str> {
        locate(TEXT, &Position { place, key }).map(|span| span.text(TEXT))
    }

    #[test]
    fn values_and_keys_are_found() {
        assert_eq!(at("a[0]", None), Some("1"));
        assert_eq!(at("a[1]", None), Some(r#"{"b\n": "x,]}"}"#));
        assert_eq!(at("a[1].b\\n", None), Some("\"x,]}\""));
        assert_eq!(at("a[2]", None), Some("-2.5e3"));
        assert_eq!(at("c d.f", None), Some("[ ]"));
        assert_eq!(at("c d", None), Some("{"));
        assert_eq!(at("", None), Some("{"));
        assert_eq!(at("c d", Some("f")), Some("\"f\""));
        assert_eq!(at("", Some("c d")), Some("\"c d\""));
        assert_eq!(at("c d.g", None), None);
    }

    #[test]
    fn what_is_no_json_has_no_place_and_does_no_harm() {
        for text in ["", "{", "[[[", "{\"a\"", "{\"a\":", "}", "[}", "\"\\", "{\"a\" 1 ::}", "é{[é"] {
            let _ = locate(text, &Position { place: "x", key: None });
        }
        let deep = "[".repeat(100_000);
        assert_eq!(locate(&deep, &Position { place: "x", key: None }), None);
    }
}
