//! What an editor asks: checks, hover, completion, symbols and so on. The language server's answers, in shorter words.

use crate::request::{Answer, Failure, read, shown};
use serde::Deserialize;
use serde_json::{Value as Json, json};
use softwarp::check::Options;
use softwarp::diagnostic::{Diagnostic, Severity, Span};
use softwarp::isa::Target;
use softwarp_lsp::Alone;
use softwarp_report::codes;

/// The most diagnostics that are told.
const MOST: usize = 1000;

#[derive(Deserialize)]
struct Text {
    text: String,
    #[serde(default)]
    strict: bool,
    arch: Option<String>,
}

#[derive(Deserialize)]
struct At {
    text: String,
    position: Json,
    name: Option<String>,
}

/// A range of a span.
pub fn range(text: &Alone, span: Span) -> Json {
    let [start, end] =
        text.range(span).map(|(line, character)| json!({"line": line, "character": character}));
    json!({"start": start, "end": end})
}

/// A text for ranges alone.
pub fn positions(text: &str) -> Alone {
    Alone::new(text, Options::default())
}

/// A diagnostic.
pub fn diagnostic(text: &Alone, found: &Diagnostic) -> Json {
    let related = found.related.iter().filter(|one| one.location.unit == 0);
    let related: Vec<Json> =
        related.map(|one| json!({"range": range(text, one.location.span), "message": one.message})).collect();
    let fix = found.fix.as_ref().map(|fix| {
        let edit = |edit: &softwarp::diagnostic::Edit| {
            json!({"range": range(text, edit.span), "newText": edit.text})
        };
        fix.edits.iter().map(edit).collect::<Vec<Json>>()
    });
    json!({
        "code": found.code.0, "severity": found.severity().name(), "message": found.message,
        "range": range(text, found.span()), "help": found.help, "title": codes::title(found.code),
        "related": related, "fix": fix,
    })
}

/// What is wrong with a module, as an error of a call that needs one without errors.
pub fn refusal(text: &str, found: &[Diagnostic]) -> Failure {
    let positions = positions(text);
    let errors: Vec<&Diagnostic> = found.iter().filter(|one| one.severity() == Severity::Error).collect();
    let first = errors.first().map_or(String::new(), |one| format!(": {}", one.message));
    let count = match errors.len() {
        1 => "an error".to_owned(),
        many => format!("{many} errors"),
    };
    let told: Vec<Json> = errors.iter().take(MOST).map(|one| diagnostic(&positions, one)).collect();
    Failure::new(format!("the module has {count}{first}")).with("diagnostics", told.into())
}

/// Answers `check`.
pub fn check(request: &Json) -> Answer {
    let asked: Text = read(request)?;
    let target = match &asked.arch {
        None => None,
        Some(name) => Some(
            Target::from_name(name)
                .ok_or_else(|| Failure::new(format!("there is no target `{}`", shown(name))))?,
        ),
    };
    let options = Options { strict: asked.strict, arch: target, ..Options::default() };
    let text = Alone::new(&asked.text, options);
    let found = text.diagnostics();
    let errors = found.iter().filter(|one| one.severity() == Severity::Error).count();
    let told: Vec<Json> = found.iter().take(MOST).map(|one| diagnostic(&text, one)).collect();
    Ok(json!({"diagnostics": told, "errors": errors, "warnings": found.len() - errors}))
}

/// Asks about a position.
fn ask(request: &Json, method: &str, more: Json) -> Answer {
    let At { text, position, .. } = read(request)?;
    let mut params = more;
    params["position"] = position;
    Ok(positions(&text).ask(method, params)?)
}

/// Markdown, or a plain text, as text.
fn markup(value: &Json) -> Json {
    match value {
        Json::Object(fields) => fields.get("value").cloned().unwrap_or(Json::Null),
        other => other.clone(),
    }
}

/// Answers `hover`.
pub fn hover(request: &Json) -> Answer {
    let found = ask(request, "textDocument/hover", json!({}))?;
    if found.is_null() {
        return Ok(found);
    }
    Ok(json!({"contents": markup(&found["contents"]), "range": found["range"]}))
}

/// The names of the protocol's kinds of completions, from 1.
const COMPLETION_KINDS: [&str; 25] = [
    "Text",
    "Method",
    "Function",
    "Constructor",
    "Field",
    "Variable",
    "Class",
    "Interface",
    "Module",
    "Property",
    "Unit",
    "Value",
    "Enum",
    "Keyword",
    "Snippet",
    "Color",
    "File",
    "Reference",
    "Folder",
    "EnumMember",
    "Constant",
    "Struct",
    "Event",
    "Operator",
    "TypeParameter",
];

/// The names of its kinds of symbols, from 1.
const SYMBOL_KINDS: [&str; 26] = [
    "File",
    "Module",
    "Namespace",
    "Package",
    "Class",
    "Method",
    "Property",
    "Field",
    "Constructor",
    "Enum",
    "Interface",
    "Function",
    "Variable",
    "Constant",
    "String",
    "Number",
    "Boolean",
    "Array",
    "Object",
    "Key",
    "Null",
    "EnumMember",
    "Struct",
    "Event",
    "Operator",
    "TypeParameter",
];

fn kind(names: &[&'static str], number: &Json) -> &'static str {
    let index = number.as_u64().and_then(|number| usize::try_from(number).ok()?.checked_sub(1));
    index.and_then(|index| names.get(index).copied()).unwrap_or("Text")
}

/// Answers `complete`.
pub fn complete(request: &Json) -> Answer {
    let found = ask(request, "textDocument/completion", json!({}))?;
    let items = found.get("items").unwrap_or(&found);
    let item = |item: &Json| {
        let edit = &item["textEdit"];
        let range = if edit["range"].is_null() { &edit["replace"] } else { &edit["range"] };
        json!({
            "label": item["label"], "kind": kind(&COMPLETION_KINDS, &item["kind"]), "detail": item["detail"],
            "documentation": markup(&item["documentation"]), "filterText": item["filterText"],
            "sortText": item["sortText"], "edit": {"range": range, "newText": edit["newText"]},
            "snippet": item["insertTextFormat"] == 2,
        })
    };
    Ok(items.as_array().map(|items| items.iter().map(item).collect::<Vec<_>>()).unwrap_or_default().into())
}

/// Answers `signature`.
pub fn signature(request: &Json) -> Answer {
    let found = ask(request, "textDocument/signatureHelp", json!({}))?;
    let Some(signatures) = found["signatures"].as_array() else { return Ok(Json::Null) };
    let signature = |one: &Json| {
        let parameters = one["parameters"].as_array().map(Vec::as_slice).unwrap_or_default();
        let labels: Vec<&Json> = parameters.iter().map(|parameter| &parameter["label"]).collect();
        json!({"label": one["label"], "documentation": markup(&one["documentation"]), "parameters": labels})
    };
    Ok(json!({
        "signatures": signatures.iter().map(signature).collect::<Vec<_>>(),
        "activeSignature": found["activeSignature"], "activeParameter": found["activeParameter"],
    }))
}

/// Answers `format`.
pub fn format(request: &Json) -> Answer {
    let Text { text, .. } = read(request)?;
    let parsed = softwarp::syntax::parse(&text);
    if parsed.diagnostics.iter().any(|one| one.severity() == Severity::Error) {
        return Err(refusal(&text, &parsed.diagnostics));
    }
    let formatted = softwarp::syntax::format(&text, &parsed);
    Ok(json!({"changed": formatted != text, "text": formatted}))
}

/// Answers `symbols`.
pub fn symbols(request: &Json) -> Answer {
    let Text { text, .. } = read(request)?;
    let found = positions(&text).ask("textDocument/documentSymbol", json!({}))?;
    fn symbol(one: &Json) -> Json {
        let children = one["children"].as_array().map(Vec::as_slice).unwrap_or_default();
        json!({
            "name": one["name"], "detail": one["detail"], "kind": kind(&SYMBOL_KINDS, &one["kind"]),
            "range": one["range"], "selectionRange": one["selectionRange"],
            "children": children.iter().map(symbol).collect::<Vec<_>>(),
        })
    }
    Ok(found.as_array().map(|all| all.iter().map(symbol).collect::<Vec<_>>()).unwrap_or_default().into())
}

/// Answers `tokens`.
pub fn tokens(request: &Json) -> Answer {
    let Text { text, .. } = read(request)?;
    let found = positions(&text).ask("textDocument/semanticTokens/full", json!({}))?;
    let (kinds, modifiers) = Alone::legend();
    let numbers: Vec<u64> =
        found["data"].as_array().map(|all| all.iter().filter_map(Json::as_u64).collect()).unwrap_or_default();
    let (mut line, mut character) = (0, 0);
    let mut tokens = Vec::new();
    let (rows, _) = numbers.as_chunks::<5>();
    for &[lines, columns, length, kind, bits] in rows {
        (line, character) = (line + lines, if lines == 0 { character + columns } else { columns });
        let of_token = (0..).zip(&modifiers).filter(|(bit, _)| bits >> bit & 1 == 1).map(|(_, name)| name);
        tokens.push(json!({
            "line": line, "character": character, "length": length,
            "type": usize::try_from(kind).ok().and_then(|kind| kinds.get(kind)),
            "modifiers": of_token.collect::<Vec<_>>(),
        }));
    }
    Ok(tokens.into())
}

/// The ranges of locations.
fn ranges(found: &Json) -> Json {
    let range = |one: &Json| match &one["targetSelectionRange"] {
        Json::Null => one["range"].clone(),
        range => range.clone(),
    };
    match found {
        Json::Array(all) => all.iter().map(range).collect(),
        Json::Null => json!([]),
        one => json!([range(one)]),
    }
}

/// Answers `definition`.
pub fn definition(request: &Json) -> Answer {
    Ok(ranges(&ask(request, "textDocument/definition", json!({}))?))
}

/// Answers `references`.
pub fn references(request: &Json) -> Answer {
    let more = json!({"context": {"includeDeclaration": true}});
    Ok(ranges(&ask(request, "textDocument/references", more)?))
}

/// Answers `rename`.
pub fn rename(request: &Json) -> Answer {
    let At { name, .. } = read(request)?;
    let name = name.ok_or_else(|| Failure::new("the request has no `name`"))?;
    let found = ask(request, "textDocument/rename", json!({"newName": name}))?;
    let by_file = found["changes"].as_object().into_iter().flat_map(|files| files.values());
    let by_document = found["documentChanges"].as_array().into_iter().flatten().map(|one| &one["edits"]);
    let edits: Vec<Json> = by_file.chain(by_document).filter_map(Json::as_array).flatten().cloned().collect();
    Ok(edits.into())
}

/// Answers `explain` and `number.explain`.
pub fn explain(request: &Json) -> Answer {
    #[derive(Deserialize)]
    struct Asked {
        code: String,
    }
    let Asked { code } = read(request)?;
    let wanted = code.to_ascii_uppercase();
    let all = codes::all();
    let page = all.iter().find(|page| page.code.0 == wanted);
    let page = page.ok_or_else(|| Failure::new(format!("there is no code `{}`", shown(&code))))?;
    Ok(json!({
        "code": page.code.0, "severity": page.code.severity().name(), "title": page.title, "text": page.text,
        "wrong": page.wrong, "right": page.right,
    }))
}
