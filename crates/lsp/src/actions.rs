//! Code actions: fixes that are certain, and those that somebody has to choose.

mod declare;
mod retype;
mod sync;

use crate::analysis::Document;
use crate::diagnostics;
use crate::protocol::{CodeAction, CodeActionParams, TextEdit, Uri, WorkspaceEdit};
use crate::world::{Answer, World};
use softwarp_diagnostic::{Diagnostic, Edit, Span};
use std::collections::BTreeMap;

/// A kind of actions: what mends a diagnostic.
pub const QUICK_FIX: &str = "quickfix";
/// The kind of what mends everything in a document.
pub const FIX_ALL: &str = "source.fixAll";

/// A change that can be made about a diagnostic.
#[derive(Debug)]
struct Proposal {
    title: String,
    edits: Vec<Edit>,
    /// Whether nothing else can have been meant.
    certain: bool,
}

/// What can be done about what is wrong in a part of a document.
pub fn actions(world: &World, params: CodeActionParams) -> Answer<Option<Vec<CodeAction>>> {
    let uri = &params.text_document.uri;
    let document = world.document(uri)?;
    let span = document.text.span(params.range);
    let wanted = |kind: &str| {
        let only = params.context.only.as_deref();
        only.is_none_or(|only| only.iter().any(|one| is_within(kind, one)))
    };
    let found = found(document);
    let mut actions: Vec<CodeAction> = Vec::new();
    if wanted(QUICK_FIX) {
        let near = found.iter().filter(|one| one.span().start <= span.end && span.start <= one.span().end);
        for diagnostic in near {
            for proposal in proposals(document, diagnostic) {
                actions.push(CodeAction {
                    title: proposal.title,
                    kind: QUICK_FIX,
                    diagnostics: Some(vec![diagnostics::in_protocol(world, uri, document, diagnostic)]),
                    is_preferred: proposal.certain.then_some(true),
                    edit: edit(uri, document, &proposal.edits),
                });
            }
        }
    }
    let certain: Vec<Edit> =
        found.iter().filter_map(|one| one.fix.as_ref()).flat_map(|fix| fix.edits.iter().cloned()).collect();
    let certain = apart(certain);
    if wanted(FIX_ALL) && !certain.is_empty() {
        actions.push(CodeAction {
            title: "make all certain fixes".to_owned(),
            kind: FIX_ALL,
            diagnostics: None,
            is_preferred: None,
            edit: edit(uri, document, &certain),
        });
    }
    Ok(Some(actions))
}

/// Whether a kind of action is another one, or below it: `source.fixAll` is below `source`.
fn is_within(kind: &str, other: &str) -> bool {
    other.is_empty() || kind == other || kind.strip_prefix(other).is_some_and(|rest| rest.starts_with('.'))
}

fn found(document: &Document) -> Vec<Diagnostic> {
    softwarp_check::Recheck::default().check(document.source(), document.options)
}

fn proposals(document: &Document, diagnostic: &Diagnostic) -> Vec<Proposal> {
    let mut all = Vec::new();
    if let Some(fix) = &diagnostic.fix {
        all.push(Proposal { title: fix.message.clone(), edits: fix.edits.clone(), certain: true });
    }
    all.extend(declare::proposals(document, diagnostic));
    all.extend(retype::proposals(document, diagnostic));
    all.extend(sync::proposals(document, diagnostic));
    all
}

/// Edits in the order of the text, without those that touch an earlier one.
fn apart(mut edits: Vec<Edit>) -> Vec<Edit> {
    edits.sort_by_key(|edit| (edit.span.start, edit.span.end));
    let mut end = None;
    edits.retain(|edit| {
        let free = end.is_none_or(|end| edit.span.start > end);
        if free {
            end = Some(edit.span.end);
        }
        free
    });
    edits
}

fn edit(uri: &Uri, document: &Document, edits: &[Edit]) -> WorkspaceEdit {
    let edits = edits
        .iter()
        .map(|edit| TextEdit { range: document.text.range(edit.span), new_text: edit.text.clone() });
    WorkspaceEdit { changes: BTreeMap::from([(uri.clone(), edits.collect())]) }
}

/// The operand that a place is of: the instruction, and which.
fn operand_at(document: &Document, at: Span) -> Option<(&softwarp_syntax::tree::Instruction, usize)> {
    let analysis = document.analysis();
    let instruction = analysis.instruction_at(at.start)?;
    let operands = instruction.operands.of(&analysis.module.operands);
    let index =
        operands.iter().position(|operand| operand.span.start <= at.start && at.start < operand.span.end)?;
    Some((instruction, index))
}
