//! The parser against the assembler: what it accepts parses, and what it finds ungrammatical does not.

use crate::common;
use serde_json::Value;
use softwarp_syntax::{Lines, parse};

#[test]
fn follows_the_assembler() {
    let (mut accepted, mut refused, mut right) = (0, 0, 0);
    let mut wrong = Vec::new();
    for case in common::cases() {
        let id = case["id"].as_str().unwrap();
        let source = case["ptx"].as_str().unwrap();
        let parsed = parse(source);
        let lines = Lines::new(source);
        let ours: Vec<u64> = parsed.diagnostics.iter().map(|d| lines.line(d.span().start) as u64).collect();
        let errors = case["errors"].as_array().unwrap();
        let message = |error: &Value| error[1].as_str().unwrap().to_string();
        let grammatical = errors.iter().find(|error| message(error).starts_with("Parsing error near"));
        if case["ok"].as_bool().unwrap() {
            accepted += 1;
            match parsed.diagnostics.first() {
                None => right += 1,
                Some(first) => wrong.push(format!("{id}: accepted, but we say {}", first.message)),
            }
        } else if let Some(error) = grammatical {
            refused += 1;
            let line = error[0].as_u64().unwrap();
            if ours.contains(&line) {
                right += 1;
            } else {
                wrong.push(format!("{id}: refused on line {line}, we on {ours:?}"));
            }
        } else if let Some(first) = parsed.diagnostics.first()
            && !errors.iter().any(|error| error[0].as_u64().is_none_or(|line| ours.contains(&line)))
        {
            wrong.push(format!("{id}: `{}`, but we say {}", message(&errors[0]), first.message));
        }
    }
    println!("{right} of {} right ({accepted} accepted, {refused} refused)", accepted + refused);
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}
