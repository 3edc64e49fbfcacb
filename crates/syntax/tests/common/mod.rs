//! What the tests share.
#![allow(dead_code)] // Each test uses its part.

use serde_json::Value;
use softwarp_testkit::recording;

/// The assembler's verdicts on small modules.
pub fn cases() -> Vec<Value> {
    recording::values(recording::golden("check", "ptxas.jsonl.gz")).collect()
}

/// A module as JSON, without the places.
pub fn shape(source: &str, module: &softwarp_syntax::Module) -> Value {
    let mut tree: Value = serde_json::to_value(softwarp_syntax::Tree::new(source, module)).expect("a tree");
    forget_places(&mut tree);
    tree
}

fn forget_places(value: &mut Value) {
    match value {
        Value::Array(elements) => elements.iter_mut().for_each(forget_places),
        Value::Object(fields) => {
            fields.remove("span");
            fields.values_mut().for_each(forget_places);
        }
        _ => {}
    }
}

/// Panics unless formatting keeps the tree and formatting again changes nothing.
pub fn check_format(what: &str, source: &str) {
    let parsed = softwarp_syntax::parse(source);
    let formatted = softwarp_syntax::format(source, &parsed);
    let again = softwarp_syntax::parse(&formatted);
    assert_eq!(
        parsed.diagnostics.len(),
        again.diagnostics.len(),
        "{what}:\n{source}\n{formatted}\n{:?}",
        again.diagnostics
    );
    assert_eq!(
        shape(source, &parsed.module),
        shape(&formatted, &again.module),
        "{what}:\n{source}\n{formatted}"
    );
    let twice = softwarp_syntax::format(&formatted, &again);
    assert_eq!(formatted, twice, "{what} is not stable");
}
