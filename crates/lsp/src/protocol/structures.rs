//! Basic JSON structures: places, edits, diagnostics, commands and texts in Markdown.

use super::json::{Read, Write, object, reads, writes, writes_numbers};
use serde_json::{Error, Value};
use std::collections::BTreeMap;

/// The address of a document.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Uri(pub String);

impl AsRef<str> for Uri {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl Read for Uri {
    fn read(value: Value) -> Result<Uri, Error> {
        String::read(value).map(Uri)
    }
}

impl Write for Uri {
    fn write(&self, to: &mut String) {
        self.0.write(to);
    }
}

/// A place between two characters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// From 0.
    pub line: u32,
    /// From 0, in the units that were agreed.
    pub character: u32,
}

reads!(Position: "line" = line, "character" = character);
writes!(Position: "line" = line, "character" = character);

/// What is between two positions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Range {
    /// Its beginning.
    pub start: Position,
    /// What is behind it.
    pub end: Position,
}

reads!(Range: "start" = start, "end" = end);
writes!(Range: "start" = start, "end" = end);

/// A range of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// The document.
    pub uri: Uri,
    /// The range.
    pub range: Range,
}

writes!(Location: "uri" = uri, "range" = range);

/// The name of a document.
#[derive(Debug)]
pub struct TextDocumentIdentifier {
    /// Its address.
    pub uri: Uri,
}

reads!(TextDocumentIdentifier: "uri" = uri);

/// The name of a document in a state.
#[derive(Debug)]
pub struct VersionedTextDocumentIdentifier {
    /// The number of the state.
    pub version: i32,
    /// Its address.
    pub uri: Uri,
}

reads!(VersionedTextDocumentIdentifier: "version" = version, "uri" = uri);

/// A document that is handed over.
#[derive(Debug)]
pub struct TextDocumentItem {
    /// Its address.
    pub uri: Uri,
    /// The number of its state.
    pub version: i32,
    /// Its text.
    pub text: String,
}

reads!(TextDocumentItem: "uri" = uri, "version" = version, "text" = text);

/// A place in a document.
#[derive(Debug)]
pub struct TextDocumentPositionParams {
    /// The document.
    pub text_document: TextDocumentIdentifier,
    /// The place.
    pub position: Position,
}

reads!(TextDocumentPositionParams: "textDocument" = text_document, "position" = position);

/// A change of a text.
#[derive(Debug)]
pub struct TextEdit {
    /// What is replaced.
    pub range: Range,
    /// By what.
    pub new_text: String,
}

writes!(TextEdit: "range" = range, "newText" = new_text);

/// Changes of documents.
#[derive(Debug)]
pub struct WorkspaceEdit {
    /// The changes of each.
    pub changes: BTreeMap<Uri, Vec<TextEdit>>,
}

writes!(WorkspaceEdit: "changes" = changes);

/// What is wrong with a part of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// The part.
    pub range: Range,
    /// How bad it is.
    pub severity: DiagnosticSeverity,
    /// Its code.
    pub code: String,
    /// Where the code is explained.
    pub code_description: Option<CodeDescription>,
    /// Who says it.
    pub source: String,
    /// What is wrong.
    pub message: String,
    /// What it means to how the part is shown.
    pub tags: Option<Vec<DiagnosticTag>>,
    /// Other places that have to do with it.
    pub related_information: Option<Vec<DiagnosticRelatedInformation>>,
}

writes!(Diagnostic:
    "range" = range,
    "severity" = severity,
    "code" = code,
    "codeDescription" = code_description,
    "source" = source,
    "message" = message,
    "tags" = tags,
    "relatedInformation" = related_information
);

/// How bad something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiagnosticSeverity {
    /// An error.
    Error = 1,
    /// A warning.
    Warning = 2,
}

/// What a diagnostic means to how its part is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiagnosticTag {
    /// It is struck through.
    Deprecated = 2,
}

writes_numbers!(DiagnosticSeverity, DiagnosticTag);

/// Where a code is explained.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeDescription {
    /// A page.
    pub href: Uri,
}

writes!(CodeDescription: "href" = href);

/// Another place that has to do with a diagnostic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiagnosticRelatedInformation {
    /// The place.
    pub location: Location,
    /// What it has to do with it.
    pub message: String,
}

writes!(DiagnosticRelatedInformation: "location" = location, "message" = message);

/// A command that the client can have executed.
#[derive(Debug)]
pub struct Command {
    /// What is shown.
    pub title: String,
    /// Its name.
    pub command: String,
    /// What it takes.
    pub arguments: Vec<Value>,
}

writes!(Command: "title" = title, "command" = command, "arguments" = arguments);

/// A text in Markdown.
#[derive(Debug)]
pub struct Markdown(pub String);

impl Write for Markdown {
    fn write(&self, to: &mut String) {
        object(&[("kind", &"markdown"), ("value", &self.0)], to);
    }
}

/// A folder of the workspace.
#[derive(Debug)]
pub struct WorkspaceFolder {
    /// Its address.
    pub uri: Uri,
}

reads!(WorkspaceFolder: "uri" = uri);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::json::{text, value};
    use serde_json::json;

    #[test]
    fn positions_are_numbers_from_zero() {
        let at = Position { line: 1, character: 2 };
        assert_eq!(Position::read(json!({"line": 1, "character": 2})).expect("a position"), at);
        assert!(Position::read(json!({"line": 1})).is_err());
        assert!(Position::read(json!({"line": 1.5, "character": 0})).is_err());
        let range = Range { start: at, end: at };
        assert_eq!(Range::read(value(&range)).expect("a range"), range);
    }

    #[test]
    fn members_are_in_the_order_of_the_protocol() {
        let uri = Uri("file:///\"".to_owned());
        let range = Range::default();
        let empty = r#"{"start":{"line":0,"character":0},"end":{"line":0,"character":0}}"#;
        let mut diagnostic = Diagnostic {
            range,
            severity: DiagnosticSeverity::Warning,
            code: "W1".to_owned(),
            code_description: None,
            source: "s".to_owned(),
            message: "m".to_owned(),
            tags: None,
            related_information: None,
        };
        let short = format!(r#"{{"range":{empty},"severity":2,"code":"W1","source":"s","message":"m"}}"#);
        assert_eq!(text(&diagnostic), short);
        diagnostic.code_description = Some(CodeDescription { href: uri.clone() });
        diagnostic.tags = Some(vec![DiagnosticTag::Deprecated]);
        let location = Location { uri: uri.clone(), range };
        diagnostic.related_information =
            Some(vec![DiagnosticRelatedInformation { location, message: "r".to_owned() }]);
        let long = format!(
            "{{\"range\":{empty},\"severity\":2,\"code\":\"W1\",\"codeDescription\":{{\"href\":\"file:///\\\"\"}},\
             \"source\":\"s\",\"message\":\"m\",\"tags\":[2],\"relatedInformation\":[{{\"location\":{{\"uri\":\"file:///\\\"\",\
             \"range\":{empty}}},\"message\":\"r\"}}]}}"
        );
        assert_eq!(text(&diagnostic), long);
        let edits = vec![TextEdit { range, new_text: "x".to_owned() }];
        let edit = WorkspaceEdit { changes: BTreeMap::from([(uri, edits)]) };
        let written = format!(r#"{{"changes":{{"file:///\"":[{{"range":{empty},"newText":"x"}}]}}}}"#);
        assert_eq!(text(&edit), written);
        assert_eq!(text(&Markdown("*".to_owned())), r#"{"kind":"markdown","value":"*"}"#);
    }
}
