//! The parameters of `initialize` that this server uses.
//!
//! A client says in some hundred structures what it can do. Code that read all of them would be more than half of what
//! this crate compiles; the members that are not named here are passed over.

use crate::protocol::{Uri, WorkspaceFolder, json};
use serde_json::Value;

/// The parameters of `initialize`.
#[derive(Debug)]
pub struct InitializeParams {
    capabilities: ClientCapabilities,
    workspace_folders: Option<Vec<WorkspaceFolder>>,
    root_uri: Option<Uri>,
    /// The settings of this server.
    pub initialization_options: Option<Value>,
}

#[derive(Debug)]
struct ClientCapabilities {
    general: Option<General>,
    text_document: Option<TextDocument>,
}

#[derive(Debug)]
struct General {
    position_encodings: Option<Vec<String>>,
}

#[derive(Debug)]
struct TextDocument {
    completion: Option<Completion>,
    publish_diagnostics: Option<PublishDiagnostics>,
}

#[derive(Debug)]
struct Completion {
    completion_item: Option<CompletionItem>,
}

#[derive(Debug)]
struct CompletionItem {
    snippet_support: Option<bool>,
}

#[derive(Debug)]
struct PublishDiagnostics {
    related_information: Option<bool>,
}

json::reads!(InitializeParams:
    "capabilities" = capabilities,
    "workspaceFolders" = workspace_folders,
    "rootUri" = root_uri,
    "initializationOptions" = initialization_options
);
json::reads!(ClientCapabilities: "general" = general, "textDocument" = text_document);
json::reads!(General: "positionEncodings" = position_encodings);
json::reads!(TextDocument: "completion" = completion, "publishDiagnostics" = publish_diagnostics);
json::reads!(Completion: "completionItem" = completion_item);
json::reads!(CompletionItem: "snippetSupport" = snippet_support);
json::reads!(PublishDiagnostics: "relatedInformation" = related_information);

impl InitializeParams {
    /// The units of columns that the client knows, the preferred first.
    pub fn position_encodings(&self) -> &[String] {
        let general = self.capabilities.general.as_ref();
        general.and_then(|general| general.position_encodings.as_deref()).unwrap_or_default()
    }

    /// Whether completions may have places to fill in.
    pub fn snippets(&self) -> bool {
        let document = self.capabilities.text_document.as_ref();
        document
            .and_then(|document| document.completion.as_ref()?.completion_item.as_ref()?.snippet_support)
            .unwrap_or(false)
    }

    /// Whether diagnostics may name further places.
    pub fn related_information(&self) -> bool {
        let document = self.capabilities.text_document.as_ref();
        document
            .and_then(|document| document.publish_diagnostics.as_ref()?.related_information)
            .unwrap_or(false)
    }

    /// The folders that the client has open. Older clients name one.
    pub fn folders(&self) -> impl Iterator<Item = &Uri> {
        let folders = self.workspace_folders.as_deref().unwrap_or_default();
        let root = self.root_uri.as_ref().filter(|_| folders.is_empty());
        folders.iter().map(|folder| &folder.uri).chain(root)
    }
}
