//! Language features: completion and signature help.

use super::json::{Write, writes, writes_numbers};
use super::structures::{Markdown, TextEdit};

/// What can be written at a place.
#[derive(Debug)]
pub struct CompletionItem {
    /// What is shown.
    pub label: String,
    /// What is shown behind it.
    pub label_details: Option<CompletionItemLabelDetails>,
    /// What it is.
    pub kind: CompletionItemKind,
    /// How it is shown.
    pub tags: Option<Vec<CompletionItemTag>>,
    /// More about it.
    pub detail: Option<String>,
    /// What orders the items.
    pub sort_text: Option<String>,
    /// What the text of the edit is.
    pub insert_text_format: Option<InsertTextFormat>,
    /// The change of the text.
    pub text_edit: TextEdit,
}

writes!(CompletionItem:
    "label" = label,
    "labelDetails" = label_details,
    "kind" = kind,
    "tags" = tags,
    "detail" = detail,
    "sortText" = sort_text,
    "insertTextFormat" = insert_text_format,
    "textEdit" = text_edit
);

/// What is shown behind an item.
#[derive(Debug)]
pub struct CompletionItemLabelDetails {
    /// A text.
    pub description: String,
}

writes!(CompletionItemLabelDetails: "description" = description);

/// What an item is.
#[derive(Clone, Copy, Debug)]
pub enum CompletionItemKind {
    /// A function.
    Function = 3,
    /// A component of a register.
    Field = 5,
    /// A register or a variable.
    Variable = 6,
    /// A number.
    Value = 12,
    /// A word of the language.
    Keyword = 14,
    /// A text with places to fill in.
    Snippet = 15,
    /// A label.
    Reference = 18,
    /// One of several words.
    EnumMember = 20,
    /// A special register.
    Constant = 21,
    /// A type.
    TypeParameter = 25,
}

/// How an item is shown.
#[derive(Clone, Copy, Debug)]
pub enum CompletionItemTag {
    /// Struck through.
    Deprecated = 1,
}

/// What the text of an edit is.
#[derive(Clone, Copy, Debug)]
pub enum InsertTextFormat {
    /// It has places to fill in.
    Snippet = 2,
}

writes_numbers!(CompletionItemKind, CompletionItemTag, InsertTextFormat);

/// What an instruction takes.
#[derive(Debug)]
pub struct SignatureHelp {
    /// The lists of operands that there are.
    pub signatures: Vec<SignatureInformation>,
    /// The one that is being written.
    pub active_signature: u32,
    /// The operand that is being written.
    pub active_parameter: u32,
}

writes!(SignatureHelp:
    "signatures" = signatures,
    "activeSignature" = active_signature,
    "activeParameter" = active_parameter
);

/// A list of operands.
#[derive(Debug)]
pub struct SignatureInformation {
    /// The instruction with them.
    pub label: String,
    /// What it does.
    pub documentation: Markdown,
    /// The operands.
    pub parameters: Vec<ParameterInformation>,
}

writes!(SignatureInformation: "label" = label, "documentation" = documentation, "parameters" = parameters);

/// An operand.
#[derive(Debug)]
pub struct ParameterInformation {
    /// Its part of the signature.
    pub label: LabelPart,
    /// What it is.
    pub documentation: Markdown,
}

writes!(ParameterInformation: "label" = label, "documentation" = documentation);

/// A part of a label, in UTF-16 units: its beginning, and what is behind it.
#[derive(Clone, Copy, Debug)]
pub struct LabelPart(pub u32, pub u32);

impl Write for LabelPart {
    fn write(&self, to: &mut String) {
        vec![self.0, self.1].write(to);
    }
}
