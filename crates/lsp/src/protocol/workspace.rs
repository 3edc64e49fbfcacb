//! Workspace and window features: folders, commands, and what is told to the user.

use super::json::{reads, writes, writes_numbers};
use super::structures::{Location, Uri, WorkspaceFolder};
use super::{Diagnostic, SymbolKind};
use serde_json::Value;

/// `workspace/didChangeWorkspaceFolders`
#[derive(Debug)]
pub struct DidChangeWorkspaceFoldersParams {
    /// What has changed.
    pub event: WorkspaceFoldersChangeEvent,
}

reads!(DidChangeWorkspaceFoldersParams: "event" = event);

/// Folders that have come and gone.
#[derive(Debug)]
pub struct WorkspaceFoldersChangeEvent {
    /// Those that are new.
    pub added: Vec<WorkspaceFolder>,
    /// Those that are not there any more.
    pub removed: Vec<WorkspaceFolder>,
}

reads!(WorkspaceFoldersChangeEvent: "added" = added, "removed" = removed);

/// `workspace/executeCommand`
#[derive(Debug)]
pub struct ExecuteCommandParams {
    /// The name of the command.
    pub command: String,
    /// What it takes.
    pub arguments: Option<Vec<Value>>,
}

reads!(ExecuteCommandParams: "command" = command, "arguments" = arguments);

/// `workspace/symbol`
#[derive(Debug)]
pub struct WorkspaceSymbolParams {
    /// A part of a name.
    pub query: String,
}

reads!(WorkspaceSymbolParams: "query" = query);

/// A symbol of the workspace.
#[derive(Debug)]
pub struct SymbolInformation {
    /// Where it is.
    pub location: Location,
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: SymbolKind,
}

writes!(SymbolInformation: "location" = location, "name" = name, "kind" = kind);

/// `textDocument/publishDiagnostics`
#[derive(Debug)]
pub struct PublishDiagnosticsParams {
    /// The document.
    pub uri: Uri,
    /// The number of the state that they are about.
    pub version: Option<i32>,
    /// What is wrong with it.
    pub diagnostics: Vec<Diagnostic>,
}

writes!(PublishDiagnosticsParams: "uri" = uri, "version" = version, "diagnostics" = diagnostics);

/// `window/showMessage` and `window/logMessage`
#[derive(Debug)]
pub struct MessageParams {
    /// How it is shown.
    pub kind: MessageType,
    /// The text.
    pub message: String,
}

writes!(MessageParams: "type" = kind, "message" = message);

/// How a message is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageType {
    /// As an error.
    Error = 1,
    /// As a warning.
    Warning = 2,
    /// As a message.
    Info = 3,
}

writes_numbers!(MessageType);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::json::{Read, text};
    use crate::protocol::structures::Range;
    use serde_json::json;

    #[test]
    fn arguments_may_be_absent_or_null() {
        for params in [json!({"command": "a"}), json!({"command": "a", "arguments": null})] {
            assert_eq!(ExecuteCommandParams::read(params).expect("a command").arguments, None);
        }
        let params = json!({"command": "a", "arguments": [1, "b"], "workDoneToken": 3});
        let read = ExecuteCommandParams::read(params).expect("a command");
        assert_eq!(read.arguments, Some(vec![json!(1), json!("b")]));
    }

    #[test]
    fn members_are_in_the_order_of_the_protocol() {
        let params = MessageParams { kind: MessageType::Info, message: "a".to_owned() };
        assert_eq!(text(&params), r#"{"type":3,"message":"a"}"#);
        let uri = Uri("a:b".to_owned());
        let location = Location { uri: uri.clone(), range: Range::default() };
        let symbol = SymbolInformation { location, name: "n".to_owned(), kind: SymbolKind::Key };
        let text_of = text(&symbol);
        assert!(text_of.starts_with(r#"{"location":{"uri":"a:b","range":{"#), "{text_of}");
        assert!(text_of.ends_with(r#","name":"n","kind":20}"#), "{text_of}");
        let mut params = PublishDiagnosticsParams { uri, version: None, diagnostics: vec![] };
        assert_eq!(text(&params), r#"{"uri":"a:b","diagnostics":[]}"#);
        params.version = Some(-1);
        assert_eq!(text(&params), r#"{"uri":"a:b","version":-1,"diagnostics":[]}"#);
    }
}
