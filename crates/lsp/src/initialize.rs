//! The parameters of `initialize` that this server uses.
//!
//! A client says in some hundred structures what it can do. Code that read all of them would be more than half of what
//! this crate compiles; serde passes over the members that are not named here.

use gen_lsp_types::{PositionEncodingKind, Uri, WorkspaceFolder};
use serde::Deserialize;
use serde_json::Value;

/// The parameters of `initialize`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InitializeParams {
    capabilities: ClientCapabilities,
    workspace_folders: Option<Vec<WorkspaceFolder>>,
    root_uri: Option<Uri>,
    /// The settings of this server.
    #[serde(default)]
    pub initialization_options: Value,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ClientCapabilities {
    general: Option<General>,
    text_document: Option<TextDocument>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct General {
    position_encodings: Option<Vec<PositionEncodingKind>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct TextDocument {
    completion: Option<Completion>,
    publish_diagnostics: Option<PublishDiagnostics>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Completion {
    completion_item: Option<CompletionItem>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct CompletionItem {
    snippet_support: Option<bool>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct PublishDiagnostics {
    related_information: Option<bool>,
}

impl InitializeParams {
    /// The units of columns that the client knows, the preferred first.
    pub fn position_encodings(&self) -> &[PositionEncodingKind] {
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
