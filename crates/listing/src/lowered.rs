//! The operations that kernels are executed as, with the lines of PTX that they are made from.

use serde_json::{Value as Json, json};
use softwarp::image::Image;
use softwarp::ir::{Function, Program};
use softwarp::lower::Unsupported;
use softwarp::source::Source;

/// The line that an operation is made from.
pub fn line_of(source: &Source, function: &Function, op: usize) -> Option<u32> {
    let span = function.spans.get(op)?;
    Some(source.position(span.start).line)
}

/// A kernel: its operations, or what of it cannot be executed.
pub fn kernel_json(
    sources: &[Source],
    image: &Image,
    name: &str,
    lowered: &Result<Program, Vec<Unsupported>>,
) -> Json {
    match lowered {
        Ok(program) => {
            let functions: Vec<Json> =
                program.functions.iter().map(|function| function_json(sources, image, function)).collect();
            json!({ "name": name, "supported": true, "functions": functions, "unsupported": [] })
        }
        Err(unsupported) => {
            let places: Vec<Json> = unsupported
                .iter()
                .map(|one| {
                    let source = &sources[one.unit as usize];
                    let position = source.position(one.span.start);
                    let (line, column) = (position.line, position.column);
                    json!({ "file": source.name, "line": line, "column": column, "message": one.what })
                })
                .collect();
            json!({ "name": name, "supported": false, "functions": [], "unsupported": places })
        }
    }
}

fn function_json(sources: &[Source], image: &Image, function: &Function) -> Json {
    let is = image.function(function.function);
    let source = &sources[is.unit as usize];
    let operations: Vec<Json> = function
        .ops
        .iter()
        .enumerate()
        .map(|(n, op)| {
            let line = line_of(source, function, n);
            json!({ "text": op.to_string(), "line": line, "unread": function.is_unread(n) })
        })
        .collect();
    let Function { narrow, wide, predicates, .. } = function;
    json!({
        "name": &*is.name,
        "rows": { "narrow": narrow, "wide": wide, "predicates": predicates },
        "operations": operations,
    })
}
