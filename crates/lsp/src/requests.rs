//! Which request is answered by what.

use crate::protocol::json::{Read, Write, text};
use crate::protocol::{self, DocumentFormattingParams, ErrorCode, TextEdit};
use crate::world::{Answer, Failure, World};
use crate::{actions, calls, completion, highlighting, hints, hover, lenses, navigate, symbols};
use serde_json::Value;

/// The JSON of an answer, or what is wrong.
pub type Result = std::result::Result<String, (ErrorCode, String)>;

/// What answers a request.
type Handler<P, R> = fn(&World, P) -> Answer<R>;

/// Answers a request; `None` if there is no such request.
pub fn answer(world: &World, method: &str, params: Value) -> Option<Result> {
    Some(match method {
        "textDocument/hover" => handle(world, params, hover::hover),
        "textDocument/completion" => handle(world, params, completion::complete),
        "textDocument/signatureHelp" => handle(world, params, completion::signature_help),
        "textDocument/definition" => handle(world, params, navigate::definition),
        "textDocument/references" => handle(world, params, navigate::references),
        "textDocument/documentHighlight" => handle(world, params, navigate::highlight),
        "textDocument/prepareRename" => handle(world, params, navigate::prepare_rename),
        "textDocument/rename" => handle(world, params, navigate::rename),
        "textDocument/documentSymbol" => handle(world, params, symbols::document_symbols),
        "workspace/symbol" => handle(world, params, symbols::workspace_symbols),
        "textDocument/foldingRange" => handle(world, params, symbols::folding),
        "textDocument/semanticTokens/full" => handle(world, params, highlighting::full),
        "textDocument/semanticTokens/range" => handle(world, params, highlighting::range),
        "textDocument/formatting" => handle(world, params, format),
        "textDocument/inlayHint" => handle(world, params, hints::hints),
        "textDocument/prepareCallHierarchy" => handle(world, params, calls::prepare),
        "callHierarchy/incomingCalls" => handle(world, params, calls::incoming),
        "callHierarchy/outgoingCalls" => handle(world, params, calls::outgoing),
        "textDocument/codeAction" => handle(world, params, actions::actions),
        "textDocument/codeLens" => handle(world, params, lenses::lenses),
        "softwarp/sourceLine" => handle(world, params, lenses::source_line),
        "softwarp/ptxLines" => handle(world, params, lenses::ptx_lines),
        "softwarp/explain" => handle(world, params, lenses::explain),
        _ => return None,
    })
}

/// Answers a request with its handler.
fn handle<P: Read, R: Write>(world: &World, params: Value, handler: Handler<P, R>) -> Result {
    let params = protocol::params(params).map_err(|why| (ErrorCode::InvalidParams, why))?;
    handler(world, params).map(|answer| text(&answer)).map_err(Failure::in_protocol)
}

/// The document in the layout of `softwarp fmt`.
fn format(world: &World, params: DocumentFormattingParams) -> Answer<Option<Vec<TextEdit>>> {
    let document = world.document(&params.text_document.uri)?;
    let source = document.source();
    let parsed = softwarp_syntax::parse(source);
    if let Some(error) =
        parsed.diagnostics.iter().find(|one| one.severity() == softwarp_diagnostic::Severity::Error)
    {
        let line = document.text.line(error.span().start) + 1;
        return Err(Failure::Failed(format!("line {line}: {}", error.message)));
    }
    let formatted = softwarp_syntax::format(source, &parsed);
    Ok(Some(crate::difference::edits(document, &formatted)))
}
