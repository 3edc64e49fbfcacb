//! The lines of the program that PTX was made from, for people and for programs: from the kernel's own line down to the
//! inlined function that an instruction is in.

use super::Run;
use serde_json::{Map, Value as Json, json};
use softwarp::lineinfo::{self, SourceLine};
use softwarp::source::Source;
use softwarp::vm::device::ModuleId;
use softwarp::vm::fault::Place;
use std::path::Path;

/// The lines of a place with their texts, where these are found: that of the function of the PTX first.
fn stack(run: &Run, sources: &[Source], place: &Place) -> Vec<(SourceLine, Option<String>)> {
    let Ok(module) = run.device().module(ModuleId::default()) else { return Vec::new() };
    let Some(unit) = module.units.get(place.unit as usize) else { return Vec::new() };
    let folder = sources.get(place.unit as usize).and_then(|source| Path::new(&source.name).parent());
    let folders: Vec<&Path> = folder.into_iter().collect();
    let lines = lineinfo::stack(&unit.source, &unit.module, place.span).into_iter().rev();
    lines.map(|line| (line.clone(), line.text(&folders))).collect()
}

/// A note for each line. The role of the place comes before it.
pub fn notes(run: &Run, sources: &[Source], role: &str, place: &Place) -> Vec<String> {
    let note = |(line, text): (SourceLine, Option<String>)| {
        let text = text.map_or(String::new(), |text| format!(": {text}"));
        match &line.function {
            None => format!("{role}from {line}{text}"),
            Some(function) => format!("{role}inlined `{function}` at {line}{text}"),
        }
    };
    stack(run, sources, place).into_iter().map(note).collect()
}

/// `source`, the innermost line, and, if there are inlined functions, `source_stack`.
pub fn json(run: &Run, sources: &[Source], place: &Place) -> Map<String, Json> {
    let row = |(line, text): &(SourceLine, Option<String>)| {
        let mut row = json!({"file": &*line.file, "line": line.line, "column": line.column});
        if let Some(text) = text {
            row["text"] = text.as_str().into();
        }
        row
    };
    let stack = stack(run, sources, place);
    let mut map = Map::new();
    map.extend(stack.last().map(|innermost| ("source".to_owned(), row(innermost))));
    if stack.len() > 1 {
        let rows = stack.iter().map(|one| {
            let mut row = row(one);
            if let Some(function) = &one.0.function {
                row["function"] = function.as_str().into();
            }
            row
        });
        map.insert("source_stack".to_owned(), rows.collect());
    }
    map
}
