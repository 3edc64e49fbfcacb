//! Code lenses: run a kernel with its launch files; and the way from PTX to the program that it was made from, and back.

use crate::analysis::Document;
use crate::hover;
use crate::navigate::at_line;
use crate::protocol::{
    CodeLens, CodeLensParams, Command, Location, Range, TextDocumentIdentifier, TextDocumentPositionParams,
    json,
};
use crate::run;
use crate::source_lines::{self, Lines};
use crate::uri;
use crate::world::{Answer, Failure, World};
use serde_json::Value;
use softwarp_syntax::Span;
use softwarp_syntax::tree::Statement;

/// The lenses of a document.
pub fn lenses(world: &World, params: CodeLensParams) -> Answer<Option<Vec<CodeLens>>> {
    let uri = &params.text_document.uri;
    let document = world.document(uri)?;
    let analysis = document.analysis();
    let path = uri::to_path(uri);
    let launches = match (&world.program, &path) {
        (Some(_), Some(path)) => run::launch_files(path),
        _ => Vec::new(),
    };
    let lines = Lines::new(document.source(), &analysis.module);
    let mut found = Vec::new();
    for (item, function) in analysis.functions().filter(|(_, function)| function.body.is_some()) {
        let range = document.text.range(function.name.span);
        let name = analysis.name(function.name.symbol);
        for (launch, kernels) in launches.iter().filter(|_| function.entry) {
            if !kernels.iter().any(|kernel| is_named(name, kernel)) {
                continue;
            }
            let file = launch.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            for (title, command) in
                [(format!("▶ run {file}"), run::RUN), (format!("sanitize {file}"), run::SANITIZE)]
            {
                let arguments = run::arguments(uri, launch);
                found.push(lens(range, title, command, arguments));
            }
        }
        let first = analysis.statements(item).iter().find_map(|statement| match statement {
            Statement::Loc(span) => lines.place(span.text(document.source())),
            _ => None,
        });
        if let Some(place) = first
            && let Some(source) = source_lines::find(&place.file, path.as_deref(), &world.folders)
        {
            let name = place.file.rsplit(['/', '\\']).next().unwrap_or_default();
            let location = at_line(&uri::of_path(&source), place.line, place.column);
            let title = format!("source: {name}:{}", place.line);
            found.push(lens(range, title, "softwarp.showSource", vec![json::value(&location)]));
        }
    }
    Ok(Some(found))
}

/// Whether a kernel of the PTX is the one that a launch file names, by its name in the PTX or in C++: the mangled name of
/// `scale<float>(float*)` has `5scale` in it.
fn is_named(name: &str, launched: &str) -> bool {
    let plain = launched.split(['(', '<']).next().unwrap_or_default();
    let last = plain.rsplit("::").next().unwrap_or_default().trim();
    let mangled =
        || name.starts_with("_Z") && !last.is_empty() && name.contains(&format!("{}{last}", last.len()));
    name == launched || mangled()
}

fn lens(range: Range, title: String, command: &str, arguments: Vec<Value>) -> CodeLens {
    CodeLens { range, command: Command { title, command: command.to_owned(), arguments } }
}

/// `softwarp/sourceLine`: the line of the program that the instruction at a position comes from.
pub fn source_line(world: &World, at: TextDocumentPositionParams) -> Answer<Option<Location>> {
    let (document, byte) = world.place(&at)?;
    let analysis = document.analysis();
    let lines = Lines::new(document.source(), &analysis.module);
    let Some((item, function)) = analysis.function_at(byte) else { return Ok(None) };
    // On the head of a function, its first line counts.
    let limit = function.body.as_ref().map_or(byte, |body| byte.max(body.span.start));
    let all = || {
        analysis.statements(item).iter().filter_map(|statement| match statement {
            Statement::Loc(span) => Some(*span),
            _ => None,
        })
    };
    let before = all().filter(|span| document.text.line(span.start) <= document.text.line(limit)).last();
    let Some(loc) = before.or_else(|| all().next()) else { return Ok(None) };
    let Some(place) = lines.place(loc.text(document.source())) else { return Ok(None) };
    let beside = uri::to_path(&at.text_document.uri);
    let Some(path) = source_lines::find(&place.file, beside.as_deref(), &world.folders) else {
        return Ok(None);
    };
    Ok(Some(at_line(&uri::of_path(&path), place.line, place.column)))
}

/// The parameters of `softwarp/ptxLines`.
#[derive(Debug)]
pub struct PtxLinesParams {
    /// The file of the program.
    pub text_document: TextDocumentIdentifier,
    /// Its line, from 0.
    pub line: u32,
}

json::reads!(PtxLinesParams: "textDocument" = text_document, "line" = line);

/// `softwarp/ptxLines`: the PTX that was made from a line of a program, in all documents. Where no PTX names the line, the
/// next one that is named counts.
pub fn ptx_lines(world: &World, params: PtxLinesParams) -> Answer<Vec<Location>> {
    let Some(path) = uri::to_path(&params.text_document.uri) else { return Ok(Vec::new()) };
    let mut found: Vec<(u32, Location)> = Vec::new();
    for (uri, document) in world.documents() {
        let module = &document.analysis().module;
        let lines = Lines::new(document.source(), module);
        for (span, place) in lines.all(document.source(), module) {
            if place.line > params.line && source_lines::is_same_file(&place.file, &path) {
                found.push((place.line, world.location(&uri, &document, behind(&document, span))));
            }
        }
    }
    let nearest = found.iter().map(|(line, _)| *line).min();
    Ok(found.into_iter().filter(|(line, _)| Some(*line) == nearest).map(|(_, location)| location).collect())
}

/// The instructions behind a `.loc`, up to the next one.
fn behind(document: &Document, loc: Span) -> Span {
    let analysis = document.analysis();
    let Some((item, index)) = analysis.statement_at(loc.start) else { return loc };
    let rest = &analysis.statements(item)[index as usize + 1..];
    let instructions = rest
        .iter()
        .take_while(|statement| !matches!(statement, Statement::Loc(_)))
        .filter_map(|statement| match statement {
            Statement::Instruction(instruction) => Some(instruction.span),
            _ => None,
        });
    instructions.reduce(Span::to).unwrap_or(loc)
}

/// The parameters of `softwarp/explain`.
#[derive(Debug)]
pub struct ExplainParams {
    /// `E0603`
    pub code: String,
}

json::reads!(ExplainParams: "code" = code);

/// `softwarp/explain`: what a code means.
pub fn explain(_: &World, params: ExplainParams) -> Answer<String> {
    hover::code(&params.code).ok_or_else(|| Failure::Parameters("there is no such code".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_are_known_by_both_names() {
        assert!(is_named("saxpy", "saxpy"));
        assert!(is_named("_Z5saxpyfPKfPfi", "saxpy"));
        assert!(is_named("_ZN4math5scaleIfEEvPT_", "math::scale<float>(float*)"));
        assert!(!is_named("_Z6saxpy2f", "saxpy"));
        assert!(!is_named("saxpy2", "saxpy"));
        assert!(!is_named("_Z1fv", ""));
    }
}
