//! Text document synchronization: documents are opened, changed and closed.

use super::json::{Members, Read, reads};
use super::structures::{Range, TextDocumentIdentifier, TextDocumentItem, VersionedTextDocumentIdentifier};
use serde::de::Error as _;
use serde_json::{Error, Value};

/// `textDocument/didOpen`
#[derive(Debug)]
pub struct DidOpenTextDocumentParams {
    /// The document.
    pub text_document: TextDocumentItem,
}

reads!(DidOpenTextDocumentParams: "textDocument" = text_document);

/// `textDocument/didChange`
#[derive(Debug)]
pub struct DidChangeTextDocumentParams {
    /// The document, and its state after the changes.
    pub text_document: VersionedTextDocumentIdentifier,
    /// The changes, one after the other.
    pub content_changes: Vec<TextDocumentContentChangeEvent>,
}

reads!(DidChangeTextDocumentParams: "textDocument" = text_document, "contentChanges" = content_changes);

/// `textDocument/didClose`
#[derive(Debug)]
pub struct DidCloseTextDocumentParams {
    /// The document.
    pub text_document: TextDocumentIdentifier,
}

reads!(DidCloseTextDocumentParams: "textDocument" = text_document);

/// A change of a document.
#[derive(Debug, PartialEq, Eq)]
pub struct TextDocumentContentChangeEvent {
    /// What is replaced. Without it, all of the document is.
    pub range: Option<Range>,
    /// By what.
    pub text: String,
}

impl Read for TextDocumentContentChangeEvent {
    fn read(value: Value) -> Result<TextDocumentContentChangeEvent, Error> {
        let parts = || {
            let mut members = Members::of(value, "TextDocumentContentChangeEvent").ok()?;
            // What is no range is not there.
            let range = members.take("range").ok();
            Some(TextDocumentContentChangeEvent { range, text: members.take("text").ok()? })
        };
        let form = "data did not match any variant of untagged enum TextDocumentContentChangeEvent";
        parts().ok_or_else(|| Error::custom(form))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::structures::Position;
    use serde_json::json;

    #[test]
    fn changes_have_two_forms() {
        let read = |value: Value| TextDocumentContentChangeEvent::read(value).ok();
        let whole = TextDocumentContentChangeEvent { range: None, text: "x".to_owned() };
        assert_eq!(read(json!({"text": "x"})).as_ref(), Some(&whole));
        assert_eq!(read(json!({"text": "x", "range": null})).as_ref(), Some(&whole));
        assert_eq!(read(json!({"text": "x", "range": {"start": 3}})).as_ref(), Some(&whole));
        let range = json!({"start": {"line": 1, "character": 2}, "end": {"line": 3, "character": 4}});
        let end = Position { line: 3, character: 4 };
        let part = TextDocumentContentChangeEvent {
            range: Some(Range { start: Position { line: 1, character: 2 }, end }),
            text: String::new(),
        };
        assert_eq!(read(json!({"range": range, "text": ""})).as_ref(), Some(&part));
        assert_eq!(read(json!({"range": range, "rangeLength": 7, "text": ""})).as_ref(), Some(&part));
        for wrong in [json!({}), json!({"range": range}), json!({"text": 1}), json!("x"), json!(["x"])] {
            let error = TextDocumentContentChangeEvent::read(wrong).expect_err("an error").to_string();
            assert!(error.ends_with("untagged enum TextDocumentContentChangeEvent"), "{error}");
        }
    }

    #[test]
    fn documents_have_a_version() {
        let document = json!({"uri": "a:b", "languageId": "ptx", "version": 3, "text": "x"});
        let read = DidOpenTextDocumentParams::read(json!({"textDocument": document})).expect("a document");
        assert_eq!((read.text_document.uri.0.as_str(), read.text_document.version), ("a:b", 3));
        let without = json!({"textDocument": {"uri": "a:b"}, "contentChanges": []});
        let error = DidChangeTextDocumentParams::read(without).expect_err("an error");
        assert_eq!(error.to_string(), "missing field `version`");
    }
}
