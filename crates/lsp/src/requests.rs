//! Which request is answered by what.

use crate::world::{Answer, Failure, World};
use crate::{actions, calls, completion, highlighting, hints, hover, lenses, navigate, symbols};
use gen_lsp_types as lsp;
use lsp_server::ErrorCode;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

type Result = std::result::Result<Value, (ErrorCode, String)>;

/// What answers a request.
type Handler<P, R> = fn(&World, P) -> Answer<R>;

/// Answers a request; `None` if there is no such request.
pub fn answer(world: &World, method: &str, params: Value) -> Option<Result> {
    Some(match method {
        "textDocument/hover" => handle::<lsp::HoverRequest>(world, params, hover::hover),
        "textDocument/completion" => handle::<lsp::CompletionRequest>(world, params, completion::complete),
        "textDocument/signatureHelp" => {
            handle::<lsp::SignatureHelpRequest>(world, params, completion::signature_help)
        }
        "textDocument/definition" => handle::<lsp::DefinitionRequest>(world, params, navigate::definition),
        "textDocument/references" => handle::<lsp::ReferencesRequest>(world, params, navigate::references),
        "textDocument/documentHighlight" => {
            handle::<lsp::DocumentHighlightRequest>(world, params, navigate::highlight)
        }
        "textDocument/prepareRename" => {
            handle::<lsp::PrepareRenameRequest>(world, params, navigate::prepare_rename)
        }
        "textDocument/rename" => handle::<lsp::RenameRequest>(world, params, navigate::rename),
        "textDocument/documentSymbol" => {
            handle::<lsp::DocumentSymbolRequest>(world, params, symbols::document_symbols)
        }
        "workspace/symbol" => {
            handle::<lsp::WorkspaceSymbolRequest>(world, params, symbols::workspace_symbols)
        }
        "textDocument/foldingRange" => handle::<lsp::FoldingRangeRequest>(world, params, symbols::folding),
        "textDocument/semanticTokens/full" => {
            handle::<lsp::SemanticTokensRequest>(world, params, highlighting::full)
        }
        "textDocument/semanticTokens/range" => {
            handle::<lsp::SemanticTokensRangeRequest>(world, params, highlighting::range)
        }
        "textDocument/formatting" => handle::<lsp::DocumentFormattingRequest>(world, params, format),
        "textDocument/inlayHint" => handle::<lsp::InlayHintRequest>(world, params, hints::hints),
        "textDocument/prepareCallHierarchy" => {
            handle::<lsp::CallHierarchyPrepareRequest>(world, params, calls::prepare)
        }
        "callHierarchy/incomingCalls" => {
            handle::<lsp::CallHierarchyIncomingCallsRequest>(world, params, calls::incoming)
        }
        "callHierarchy/outgoingCalls" => {
            handle::<lsp::CallHierarchyOutgoingCallsRequest>(world, params, calls::outgoing)
        }
        "textDocument/codeAction" => handle::<lsp::CodeActionRequest>(world, params, actions::actions),
        "textDocument/codeLens" => handle::<lsp::CodeLensRequest>(world, params, lenses::lenses),
        "softwarp/sourceLine" => own(params, |at| lenses::source_line(world, &at)),
        "softwarp/ptxLines" => own(params, |at| lenses::ptx_lines(world, &at)),
        "softwarp/explain" => own(params, |asked: lenses::ExplainParams| {
            hover::code(&asked.code).ok_or_else(|| Failure::Parameters("there is no such code".to_owned()))
        }),
        _ => return None,
    })
}

/// Answers a request of the protocol with its handler.
fn handle<R: lsp::Request>(world: &World, params: Value, handler: Handler<R::Params, R::Result>) -> Result {
    own(params, |params| handler(world, params))
}

/// A request that the protocol does not have.
fn own<P: DeserializeOwned, R: Serialize>(params: Value, handler: impl FnOnce(P) -> Answer<R>) -> Result {
    let params =
        serde_json::from_value(params).map_err(|error| (ErrorCode::InvalidParams, error.to_string()))?;
    let result = handler(params).map_err(Failure::in_protocol)?;
    serde_json::to_value(result).map_err(|error| (ErrorCode::InternalError, error.to_string()))
}

/// The document in the layout of `softwarp fmt`.
fn format(world: &World, params: lsp::DocumentFormattingParams) -> Answer<Option<Vec<lsp::TextEdit>>> {
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
