//! `lower --asm`: the machine code of functions, beside their operations and the PTX.

use super::lower::beside;
use serde_json::{Value as Json, json};
use softwarp::ir::{Function, Program};
use softwarp::jit::{Line, Part, Shape, listing};
use softwarp::source::Source;
use std::fmt::Write;

/// The machine code of a function for CTAs of a shape, each part below the operation that it belongs to.
pub fn print(text: &mut String, source: &Source, function: &Function, block: [u32; 3]) {
    let Some(lines) = listing(function, Shape::of(block)) else {
        let _ = writeln!(text, "not compiled: the interpreter runs it");
        return;
    };
    let _ = writeln!(text, "{} bytes", lines.last().map_or(0, |line| line.offset + line.length));
    let mut last = None;
    for of in lines.chunk_by(|one, next| one.part == next.part) {
        let _ = writeln!(text, "{}", head(source, function, of[0].part, &mut last));
        for line in of {
            let _ = writeln!(text, "    {:6x}  {}", line.offset, line.text);
        }
    }
}

/// What a part is.
fn head(source: &Source, function: &Function, part: Part, last: &mut Option<u32>) -> String {
    let (op, lanes) = match part {
        Part::Frame => return "entry and exit".to_owned(),
        Part::Rest => return "entries of blocks, exits, rare cases".to_owned(),
        Part::Uniform(op) => (op as usize, ""),
        Part::Masked(op) => (op as usize, ", some lanes"),
    };
    let operation = function.ops.get(op).map_or_else(String::new, ToString::to_string);
    beside(format!("{op}{lanes}: {operation}"), source, function, op, last)
}

/// Adds the machine code of its functions to a kernel in JSON.
pub fn add(kernel: &mut Json, program: &Program, block: [u32; 3]) {
    let functions = kernel["functions"].as_array_mut().into_iter().flatten();
    for (json, function) in functions.zip(&program.functions) {
        json["code"] = listing(function, Shape::of(block)).map_or(Json::Null, |lines| parts(&lines));
    }
}

fn parts(lines: &[Line]) -> Json {
    let parts = lines.chunk_by(|one, next| one.part == next.part).map(|of| {
        let instructions: Vec<Json> =
            of.iter().map(|line| json!({ "offset": line.offset, "text": line.text })).collect();
        match of[0].part {
            Part::Frame => json!({ "part": "frame", "instructions": instructions }),
            Part::Rest => json!({ "part": "rest", "instructions": instructions }),
            Part::Uniform(op) => {
                json!({ "part": "operation", "operation": op, "masked": false, "instructions": instructions })
            }
            Part::Masked(op) => {
                json!({ "part": "operation", "operation": op, "masked": true, "instructions": instructions })
            }
        }
    });
    Json::Array(parts.collect())
}
