//! Language features: what is asked about a document, and the answers.

use super::json::{Members, Read, Write, reads, writes, writes_numbers};
use super::structures::{
    Command, Diagnostic, Location, Markdown, Position, Range, TextDocumentIdentifier,
    TextDocumentPositionParams, WorkspaceEdit,
};
use serde_json::{Error, Value};

/// Parameters that are a place in a document.
macro_rules! at_places {
    ($($(#[$about:meta])* $name:ident),*) => {$(
        $(#[$about])*
        #[derive(Debug)]
        pub struct $name {
            /// The place.
            pub at: TextDocumentPositionParams,
        }

        impl Read for $name {
            fn read(value: Value) -> Result<$name, Error> {
                let at = Members::of(value, stringify!($name))?.rest();
                Ok($name { at: TextDocumentPositionParams::read(at)? })
            }
        }
    )*};
}

at_places!(
    /// `textDocument/hover`
    HoverParams,
    /// `textDocument/completion`
    CompletionParams,
    /// `textDocument/signatureHelp`
    SignatureHelpParams,
    /// `textDocument/definition`
    DefinitionParams,
    /// `textDocument/documentHighlight`
    DocumentHighlightParams,
    /// `textDocument/prepareRename`
    PrepareRenameParams,
    /// `textDocument/prepareCallHierarchy`
    CallHierarchyPrepareParams
);

/// Parameters that are a document.
macro_rules! of_documents {
    ($($(#[$about:meta])* $name:ident),*) => {$(
        $(#[$about])*
        #[derive(Debug)]
        pub struct $name {
            /// The document.
            pub text_document: TextDocumentIdentifier,
        }

        reads!($name: "textDocument" = text_document);
    )*};
}

of_documents!(
    /// `textDocument/documentSymbol`
    DocumentSymbolParams,
    /// `textDocument/foldingRange`
    FoldingRangeParams,
    /// `textDocument/semanticTokens/full`
    SemanticTokensParams,
    /// `textDocument/formatting`: the layout has no options.
    DocumentFormattingParams,
    /// `textDocument/codeLens`
    CodeLensParams
);

/// Parameters that are a part of a document.
macro_rules! of_parts {
    ($($(#[$about:meta])* $name:ident),*) => {$(
        $(#[$about])*
        #[derive(Debug)]
        pub struct $name {
            /// The document.
            pub text_document: TextDocumentIdentifier,
            /// The part.
            pub range: Range,
        }

        reads!($name: "textDocument" = text_document, "range" = range);
    )*};
}

of_parts!(
    /// `textDocument/semanticTokens/range`
    SemanticTokensRangeParams,
    /// `textDocument/inlayHint`
    InlayHintParams
);

/// `textDocument/references`
#[derive(Debug)]
pub struct ReferenceParams {
    /// The place.
    pub at: TextDocumentPositionParams,
    /// What is wanted.
    pub context: ReferenceContext,
}

impl Read for ReferenceParams {
    fn read(value: Value) -> Result<ReferenceParams, Error> {
        let mut members = Members::of(value, "ReferenceParams")?;
        let context = members.take("context")?;
        Ok(ReferenceParams { at: TextDocumentPositionParams::read(members.rest())?, context })
    }
}

/// Which references are wanted.
#[derive(Debug)]
pub struct ReferenceContext {
    /// Declarations, too.
    pub include_declaration: bool,
}

reads!(ReferenceContext: "includeDeclaration" = include_declaration);

/// `textDocument/rename`
#[derive(Debug)]
pub struct RenameParams {
    /// The place.
    pub at: TextDocumentPositionParams,
    /// The name that is to be.
    pub new_name: String,
}

impl Read for RenameParams {
    fn read(value: Value) -> Result<RenameParams, Error> {
        let mut members = Members::of(value, "RenameParams")?;
        let new_name = members.take("newName")?;
        Ok(RenameParams { at: TextDocumentPositionParams::read(members.rest())?, new_name })
    }
}

/// What stands at a place.
#[derive(Debug)]
pub struct Hover {
    /// What there is to say.
    pub contents: Markdown,
    /// What it is about.
    pub range: Range,
}

writes!(Hover: "contents" = contents, "range" = range);

/// One place, or several.
#[derive(Debug)]
pub enum Definition {
    /// One.
    One(Location),
    /// Several.
    Several(Vec<Location>),
}

impl Write for Definition {
    fn write(&self, to: &mut String) {
        match self {
            Definition::One(location) => location.write(to),
            Definition::Several(locations) => locations.write(to),
        }
    }
}

/// A place where the name under the cursor stands.
#[derive(Debug)]
pub struct DocumentHighlight {
    /// The place.
    pub range: Range,
    /// What is done with it.
    pub kind: DocumentHighlightKind,
}

writes!(DocumentHighlight: "range" = range, "kind" = kind);

/// What is done with a name.
#[derive(Clone, Copy, Debug)]
pub enum DocumentHighlightKind {
    /// It stands there.
    Text = 1,
    /// It is read.
    Read = 2,
    /// It is written.
    Write = 3,
}

/// A symbol of a document.
#[derive(Clone, Debug)]
pub struct DocumentSymbol {
    /// Its name.
    pub name: String,
    /// More about it.
    pub detail: Option<String>,
    /// What it is.
    pub kind: SymbolKind,
    /// All of it.
    pub range: Range,
    /// Its name's place.
    pub selection_range: Range,
    /// What is in it.
    pub children: Option<Vec<DocumentSymbol>>,
}

writes!(DocumentSymbol:
    "name" = name,
    "detail" = detail,
    "kind" = kind,
    "range" = range,
    "selectionRange" = selection_range,
    "children" = children
);

/// What a symbol is.
#[derive(Clone, Copy, Debug)]
pub enum SymbolKind {
    /// A function that kernels call.
    Method = 6,
    /// A parameter.
    Field = 8,
    /// A kernel.
    Function = 12,
    /// A variable.
    Variable = 13,
    /// One that does not change.
    Constant = 14,
    /// A label.
    Key = 20,
}

/// What can be folded.
#[derive(Debug)]
pub struct FoldingRange {
    /// The line that stays.
    pub start_line: u32,
    /// The last one that goes.
    pub end_line: u32,
    /// `comment`
    pub kind: Option<&'static str>,
}

writes!(FoldingRange: "startLine" = start_line, "endLine" = end_line, "kind" = kind);

/// The names of what tokens can be.
#[derive(Debug)]
pub struct SemanticTokensLegend {
    /// Kinds.
    pub token_types: Vec<String>,
    /// Bits.
    pub token_modifiers: Vec<String>,
}

writes!(SemanticTokensLegend: "tokenTypes" = token_types, "tokenModifiers" = token_modifiers);

/// The tokens of a document.
#[derive(Debug)]
pub struct SemanticTokens {
    /// Five numbers for each: lines and columns from the one before it, length, kind and modifiers.
    pub data: Vec<[u32; 5]>,
}

impl Write for SemanticTokens {
    fn write(&self, to: &mut String) {
        // There can be a million numbers, most of them of one or two digits.
        let digits: Vec<String> = (0..100).map(|number| format!("{number},")).collect();
        let digits: Vec<&str> = digits.iter().map(String::as_str).collect();
        to.push_str("{\"data\":[");
        for token in &self.data {
            for number in token {
                match digits.get(*number as usize) {
                    Some(digits) => to.push_str(digits),
                    None => {
                        number.write(to);
                        to.push(',');
                    }
                }
            }
        }
        if !self.data.is_empty() {
            to.pop();
        }
        to.push_str("]}");
    }
}

/// A text that is shown between others.
#[derive(Debug)]
pub struct InlayHint {
    /// Where.
    pub position: Position,
    /// The text.
    pub label: String,
    /// What it is.
    pub kind: InlayHintKind,
    /// Whether there is a space before it.
    pub padding_left: Option<bool>,
}

writes!(InlayHint: "position" = position, "label" = label, "kind" = kind, "paddingLeft" = padding_left);

/// What a hint is.
#[derive(Clone, Copy, Debug)]
pub enum InlayHintKind {
    /// A type.
    Type = 1,
    /// Something else.
    Parameter = 2,
}

writes_numbers!(DocumentHighlightKind, SymbolKind, InlayHintKind);

/// `textDocument/codeAction`
#[derive(Debug)]
pub struct CodeActionParams {
    /// The document.
    pub text_document: TextDocumentIdentifier,
    /// The part that is asked about.
    pub range: Range,
    /// What is wanted.
    pub context: CodeActionContext,
}

reads!(CodeActionParams: "textDocument" = text_document, "range" = range, "context" = context);

/// Which code actions are wanted.
#[derive(Debug)]
pub struct CodeActionContext {
    /// Those of these kinds only.
    pub only: Option<Vec<String>>,
}

reads!(CodeActionContext: "only" = only);

/// A change that is offered.
#[derive(Debug)]
pub struct CodeAction {
    /// What is shown.
    pub title: String,
    /// Its kind.
    pub kind: &'static str,
    /// What it mends.
    pub diagnostics: Option<Vec<Diagnostic>>,
    /// Whether it is the one to take.
    pub is_preferred: Option<bool>,
    /// The change.
    pub edit: WorkspaceEdit,
}

writes!(CodeAction:
    "title" = title,
    "kind" = kind,
    "diagnostics" = diagnostics,
    "isPreferred" = is_preferred,
    "edit" = edit
);

/// A command that is shown above a line.
#[derive(Debug)]
pub struct CodeLens {
    /// Where.
    pub range: Range,
    /// The command.
    pub command: Command,
}

writes!(CodeLens: "range" = range, "command" = command);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::json::text;
    use crate::protocol::structures::Uri;
    use serde_json::json;

    #[test]
    fn places_are_read_with_and_without_more() {
        let mut params = json!({"textDocument": {"uri": "a:b"}, "position": {"line": 1, "character": 2}});
        assert_eq!(HoverParams::read(params.clone()).expect("a place").at.position.character, 2);
        let wrong = ReferenceParams::read(params.clone()).expect_err("no context").to_string();
        assert_eq!(wrong, "missing field `context`");
        params["context"] = json!({"includeDeclaration": true});
        params["newName"] = json!("x");
        params["workDoneToken"] = json!(3);
        assert!(ReferenceParams::read(params.clone()).expect("a place").context.include_declaration);
        assert_eq!(RenameParams::read(params.clone()).expect("a place").new_name, "x");
        assert_eq!(CompletionParams::read(params).expect("a place").at.text_document.uri.0, "a:b");
        let wrong = CompletionParams::read(json!([])).expect_err("a sequence").to_string();
        assert_eq!(wrong, "invalid type: sequence, expected struct CompletionParams");
    }

    #[test]
    fn kinds_of_actions_may_be_absent_or_null() {
        let only = |context| CodeActionContext::read(context).expect("a context").only;
        assert_eq!(only(json!({"diagnostics": []})), None);
        assert_eq!(only(json!({"only": null})), None);
        assert_eq!(
            only(json!({"only": ["quickfix", "other"]})),
            Some(vec!["quickfix".into(), "other".into()])
        );
    }

    #[test]
    fn tokens_are_one_list_of_numbers() {
        assert_eq!(text(&SemanticTokens { data: vec![] }), r#"{"data":[]}"#);
        let data = vec![[0, 9, 10, 99, 100], [u32::MAX, 1, 2, 3, 4]];
        assert_eq!(text(&SemanticTokens { data }), r#"{"data":[0,9,10,99,100,4294967295,1,2,3,4]}"#);
    }

    #[test]
    fn definitions_have_two_forms() {
        let one = || Location { uri: Uri("a:b".to_owned()), range: Range::default() };
        let single = text(&Definition::One(one()));
        assert!(single.starts_with("{\"uri\":\"a:b\",\"range\":"), "{single}");
        assert_eq!(text(&Definition::Several(vec![one(), one()])), format!("[{single},{single}]"));
    }
}
