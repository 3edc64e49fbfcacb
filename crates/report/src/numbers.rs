//! Numbers as JSON has them.

use crate::explain::Value;
use serde_json::Value as Json;
use softwarp::num::Format;

/// A number as JSON has it; infinities and NaN, which it lacks, as strings.
pub fn json_number(x: f64) -> Json {
    match x {
        _ if x.is_nan() => "nan".into(),
        _ if x.is_infinite() => (if x > 0.0 { "inf" } else { "-inf" }).into(),
        _ => x.into(),
    }
}

/// The value of a code as JSON has it.
pub fn json_value(format: Format, code: u64) -> Json {
    match Value::of(format, code) {
        Value::Float(x) => json_number(x),
        Value::Int(n) => match (u64::try_from(n), i64::try_from(n)) {
            (Ok(n), _) => n.into(),
            (_, Ok(n)) => n.into(),
            _ => Json::Null,
        },
    }
}
