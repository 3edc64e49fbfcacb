//! A validator for the keywords of JSON Schema that `docs/launch-file.schema.json` uses.

use serde_json::{Map, Value as Json};
use softwarp_testkit::repository;

/// A schema. One with a keyword that is not known here is refused.
pub struct Schema(Json);

impl Schema {
    /// The schema of launch files.
    pub fn read() -> Schema {
        let text = std::fs::read_to_string(repository("docs/launch-file.schema.json")).expect("the schema");
        Schema(serde_json::from_str(&text).expect("JSON"))
    }

    /// Whether a value is as the schema says; else a place and a keyword.
    pub fn check(&self, value: &Json) -> Result<(), String> {
        self.value(&self.0, value, "")
    }

    fn value(&self, schema: &Json, value: &Json, place: &str) -> Result<(), String> {
        let rules = schema.as_object().expect("a schema is an object");
        rules.iter().try_for_each(|(keyword, rule)| {
            let fits = match keyword.as_str() {
                "$schema" | "$defs" | "title" | "description" | "additionalProperties" => Ok(true),
                "$ref" => return self.value(self.definition(rule), value, place),
                "anyOf" => Ok(list(rule).iter().any(|one| self.value(one, value, place).is_ok())),
                "type" => Ok(list(rule).iter().any(|one| is(value, one.as_str().expect("a type")))),
                "enum" => Ok(list(rule).contains(value)),
                "const" => Ok(rule == value),
                "pattern" => {
                    Ok(value.as_str().is_none_or(|text| matches(rule.as_str().expect("a pattern"), text)))
                }
                "minimum" => {
                    Ok(value.as_f64().is_none_or(|number| number >= rule.as_f64().expect("a number")))
                }
                "maximum" => {
                    Ok(value.as_f64().is_none_or(|number| number <= rule.as_f64().expect("a number")))
                }
                "minItems" => Ok(value.as_array().is_none_or(|list| list.len() as u64 >= size(rule))),
                "maxItems" => Ok(value.as_array().is_none_or(|list| list.len() as u64 <= size(rule))),
                "minProperties" => Ok(value.as_object().is_none_or(|map| map.len() as u64 >= size(rule))),
                "maxProperties" => Ok(value.as_object().is_none_or(|map| map.len() as u64 <= size(rule))),
                "required" => Ok(value.as_object().is_none_or(|map| {
                    list(rule).iter().all(|key| map.contains_key(key.as_str().expect("a key")))
                })),
                "items" => {
                    let members = value.as_array().into_iter().flatten().enumerate();
                    members
                        .into_iter()
                        .try_for_each(|(index, one)| self.value(rule, one, &format!("{place}[{index}]")))?;
                    Ok(true)
                }
                "properties" | "patternProperties" => {
                    self.members(rules, value, place)?;
                    Ok(true)
                }
                other => Err(format!("the keyword `{other}` is not known")),
            };
            if fits? { Ok(()) } else { Err(format!("{place}: {keyword}")) }
        })?;
        if !rules.contains_key("properties") && rules.contains_key("additionalProperties") {
            self.members(rules, value, place)?;
        }
        Ok(())
    }

    fn members(&self, rules: &Map<String, Json>, value: &Json, place: &str) -> Result<(), String> {
        let none = Map::new();
        let part = |key: &str| rules.get(key).and_then(Json::as_object).unwrap_or(&none);
        let (properties, patterns) = (part("properties"), part("patternProperties"));
        for (key, member) in value.as_object().unwrap_or(&none) {
            let named = properties.get(key).into_iter();
            let fitting =
                patterns.iter().filter(|(pattern, _)| matches(pattern, key)).map(|(_, schema)| schema);
            let schemas: Vec<&Json> = named.chain(fitting).collect();
            let place = format!("{place}.{key}");
            match rules.get("additionalProperties") {
                Some(Json::Bool(false)) if schemas.is_empty() => {
                    return Err(format!("{place}: additionalProperties"));
                }
                Some(schema @ Json::Object(_)) if schemas.is_empty() => self.value(schema, member, &place)?,
                _ => schemas.iter().try_for_each(|schema| self.value(schema, member, &place))?,
            }
        }
        Ok(())
    }

    fn definition(&self, reference: &Json) -> &Json {
        let name = reference.as_str().and_then(|name| name.strip_prefix("#/$defs/")).expect("a definition");
        self.0["$defs"].get(name).unwrap_or_else(|| panic!("there is no definition {name}"))
    }
}

fn size(rule: &Json) -> u64 {
    rule.as_u64().expect("a size")
}

/// A rule that is one thing or a list.
fn list(rule: &Json) -> &[Json] {
    rule.as_array().map_or(std::slice::from_ref(rule), Vec::as_slice)
}

fn is(value: &Json, name: &str) -> bool {
    match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "number" => value.is_number(),
        "integer" => value.is_i64() || value.is_u64(),
        other => panic!("the type {other} is not known"),
    }
}

/// The patterns of the schema: hexadecimal digits, or words at the beginning or in place of all.
fn matches(pattern: &str, text: &str) -> bool {
    if pattern == "^([0-9a-fA-F]{2})*$" {
        return text.len().is_multiple_of(2) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    }
    let inner = pattern.strip_prefix("^(").expect("a pattern of words");
    let (words, whole) = match inner.strip_suffix(")$") {
        Some(words) => (words, true),
        None => (inner.strip_suffix(')').expect("a pattern of words"), false),
    };
    let mut words = words.split('|').map(|word| word.replace('\\', ""));
    words.any(|word| if whole { text == word } else { text.starts_with(&word) })
}
