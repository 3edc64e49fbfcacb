//! A new text as edits of the old one: the lines between their common beginning and their common end.

use crate::analysis::Document;
use crate::protocol::TextEdit;
use softwarp_diagnostic::Span;

/// The edits that make a text of a document's: one, or none if they are equal.
pub fn edits(document: &Document, new: &str) -> Vec<TextEdit> {
    let old = document.source();
    if old == new {
        return Vec::new();
    }
    let old_lines: Vec<&str> = old.split_inclusive('\n').collect();
    let new_lines: Vec<&str> = new.split_inclusive('\n').collect();
    let before = old_lines.iter().zip(&new_lines).take_while(|(a, b)| a == b).count();
    let most = old_lines.len().min(new_lines.len()) - before;
    let after =
        old_lines.iter().rev().zip(new_lines.iter().rev()).take(most).take_while(|(a, b)| a == b).count();
    let length = |lines: &[&str]| lines.iter().map(|line| line.len()).sum::<usize>();
    let start = length(&old_lines[..before]);
    let end = old.len() - length(&old_lines[old_lines.len() - after..]);
    let text = new_lines[before..new_lines.len() - after].concat();
    vec![TextEdit { range: document.text.range(Span::new(start as u32, end as u32)), new_text: text }]
}
