//! Printing keeps the tree, but for the places, and printing again changes nothing.
#![no_main]

use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use softwarp_syntax::{Module, Tree, format, parse};

fn shape(source: &str, module: &Module) -> Value {
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
    let mut tree = serde_json::to_value(Tree::new(source, module)).expect("a tree");
    forget_places(&mut tree);
    tree
}

fuzz_target!(|source: &str| {
    let parsed = parse(source);
    if !parsed.diagnostics.is_empty() {
        return;
    }
    let formatted = format(source, &parsed);
    let again = parse(&formatted);
    assert!(again.diagnostics.is_empty());
    assert_eq!(shape(source, &parsed.module), shape(&formatted, &again.module));
    assert_eq!(format(&formatted, &again), formatted);
});
