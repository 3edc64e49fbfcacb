//! Inserts `.sync`, with a mask of all lanes, where an instruction ended without it.

use super::Proposal;
use crate::analysis::Document;
use softwarp_check::codes::instructions as codes;
use softwarp_diagnostic::{Diagnostic, Edit, Span};

pub(super) fn proposals(document: &Document, diagnostic: &Diagnostic) -> Vec<Proposal> {
    if diagnostic.code != codes::UNAVAILABLE {
        return Vec::new();
    }
    mend(document, diagnostic).into_iter().collect()
}

fn mend(document: &Document, diagnostic: &Diagnostic) -> Option<Proposal> {
    let analysis = document.analysis();
    let instruction = analysis.instruction_at(diagnostic.span().start)?;
    let mnemonic = analysis.module.mnemonic(instruction.mnemonic);
    let opcode = analysis.name(mnemonic.opcode);
    let has_sync = mnemonic.modifiers.iter().any(|&word| analysis.name(word) == "sync");
    if !matches!(opcode, "shfl" | "vote") || has_sync {
        return None;
    }
    let last = instruction.operands.of(&analysis.module.operands).last()?;
    let start = instruction.mnemonic_span.start + opcode.len() as u32;
    let word = Edit { span: Span::new(start, start), text: ".sync".to_owned() };
    let mask = Edit { span: Span::new(last.span.end, last.span.end), text: ", 0xffffffff".to_owned() };
    Some(Proposal {
        title: format!("write `{opcode}.sync`, with all lanes"),
        edits: vec![word, mask],
        certain: false,
    })
}
