//! Tensor maps as arguments of launches: `{"tensormap": {…}}`, a map file (docs/tensors.md) with the name of the buffer
//! that the tensor is in, within the object or beside it.

use super::file::Argument;
use crate::tensors::file::from_json;
use serde_json::Value as Json;

/// Reads one.
pub fn read(map: &Json, buffer: Option<&Json>, offset: Option<&Json>) -> Result<Argument, String> {
    let Json::Object(pairs) = map else { return Err("it must be an object".to_owned()) };
    let mut pairs = pairs.clone();
    if let Some((key, _)) = [("buffer", buffer), ("offset", offset)]
        .iter()
        .find(|(key, beside)| beside.is_some() && pairs.contains_key(*key))
    {
        return Err(format!("`{key}` is given within it and beside it"));
    }
    let buffer = pairs.remove("buffer").or_else(|| buffer.cloned());
    let offset = pairs.remove("offset").or_else(|| offset.cloned());
    let Some(buffer) = buffer.as_ref().and_then(Json::as_str) else {
        return Err("it must name its `buffer`".to_owned());
    };
    let offset = match &offset {
        Some(offset) => offset.as_i64().ok_or("its `offset` must be a whole number")?,
        None => 0,
    };
    let file = from_json(&Json::Object(pairs));
    match (file.findings.first(), file.description) {
        (None, Some(description)) => {
            Ok(Argument::TensorMap(Box::new(description), buffer.to_owned(), offset))
        }
        (found, _) => Err(found.map_or("it is no tensor map".to_owned(), |found| found.message.clone())),
    }
}
