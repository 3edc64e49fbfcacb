//! Requests as they come, and what is wrong with them.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value as Json, json};
use softwarp_report::names;

/// Why a call has no result.
#[derive(Clone, Debug, Default)]
pub struct Failure {
    message: String,
    /// What else there is to say: `diagnostics`, `unsupported`, `range`.
    more: Map<String, Json>,
}

impl Failure {
    /// An error with a message.
    pub fn new(message: impl Into<String>) -> Failure {
        Failure { message: message.into(), more: Map::new() }
    }

    /// The same with something else to say.
    pub fn with(mut self, key: &str, value: Json) -> Failure {
        self.more.insert(key.to_owned(), value);
        self
    }

    /// The same, said of something.
    pub fn about(mut self, what: &str) -> Failure {
        self.message = format!("{what}: {}", self.message);
        self
    }

    /// The answer.
    pub fn json(self) -> Json {
        let mut error = json!({ "message": self.message });
        if let Json::Object(fields) = &mut error {
            fields.extend(self.more);
        }
        error
    }
}

impl From<String> for Failure {
    fn from(message: String) -> Failure {
        Failure::new(message)
    }
}

/// What a call is answered with.
pub type Answer = Result<Json, Failure>;

/// Reads what a call takes.
pub fn read<T: DeserializeOwned>(request: &Json) -> Result<T, Failure> {
    T::deserialize(request)
        .map_err(|error| Failure::new(format!("the request is not as it must be: {error}")))
}

/// A number of JSON, or one that is written as a string.
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(untagged)]
pub enum Number {
    /// A number.
    Plain(serde_json::Number),
    /// As people write it.
    Text(String),
}

impl Number {
    /// As text.
    pub fn text(&self) -> String {
        match self {
            Number::Plain(number) => number.to_string(),
            Number::Text(text) => text.clone(),
        }
    }

    /// A whole number from zero up; after `0x` hexadecimal.
    pub fn whole(&self) -> Result<u64, Failure> {
        let text = self.text();
        let found = match text.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16).ok(),
            None => text.parse().ok(),
        };
        found.ok_or_else(|| {
            Failure::new(format!("`{}` is not a whole number of at most 64 bits", shown(&text)))
        })
    }
}

/// A text of the page as it may be shown: on one line, and not at any length.
pub fn shown(text: &str) -> String {
    text.chars().take(40).flat_map(char::escape_debug).collect()
}

/// A format by any of its names.
pub fn format(name: &str) -> Result<softwarp::num::Format, Failure> {
    Ok(names::format(name)?)
}

/// Bytes in hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |value: u8| char::from(DIGITS[usize::from(value & 15)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(*byte)]).collect()
}

/// Bytes from hexadecimal, with or without spaces.
pub fn bytes(text: &str) -> Result<Vec<u8>, Failure> {
    let wrong = || Failure::new("`hex` must be pairs of hexadecimal digits");
    let digits: Vec<u32> = text
        .chars()
        .filter(|one| !one.is_whitespace())
        .map(|one| one.to_digit(16).ok_or_else(wrong))
        .collect::<Result<_, _>>()?;
    let (pairs, rest) = digits.as_chunks::<2>();
    if rest.is_empty() {
        Ok(pairs.iter().map(|[high, low]| (high << 4 | low) as u8).collect())
    } else {
        Err(wrong())
    }
}

/// A pattern of bits, with all digits.
pub fn pattern(bits: u32, value: u64) -> String {
    format!("0x{value:0digits$x}", digits = bits.div_ceil(4) as usize)
}
