//! What is wrong with a mnemonic of `cvt` that no row covers. [`crate::cvt`] compares it with the forms that have its
//! types, which says more than comparing words.

use super::{Fault, FaultKind};
use crate::cvt::{Form, ProblemKind};
use crate::spelling::is_idle;

/// Why no row of `cvt` covers the words.
pub(super) fn fault(modifiers: &[&str]) -> Fault {
    let kept: Vec<usize> = (0..modifiers.len()).filter(|&at| !is_idle("cvt", modifiers, at)).collect();
    let words: Vec<&str> = kept.iter().map(|&at| modifiers[at]).collect();
    let mut fault = fault_of(&words);
    fault.words = fault.words.iter().filter_map(|&word| kept.get(word).copied()).collect();
    fault
}

fn fault_of(modifiers: &[&str]) -> Fault {
    let Err(error) = Form::parse(&modifiers.join(".")) else {
        // A word that the assembler passes over stands before `.pack`, which is part of the name.
        let word = modifiers.first().copied().unwrap_or_default().to_owned();
        return Fault { kind: FaultKind::Misplaced { word }, words: vec![0], nearest: None };
    };
    let problem = error.problems.first();
    let word = problem.map_or(0, |problem| word_at(modifiers, problem.span.start));
    let text = || modifiers.get(word).copied().unwrap_or_default().to_owned();
    let mut words = vec![word];
    let kind = match problem.map(|problem| &problem.kind) {
        Some(ProblemKind::UnknownName { name, nearest }) => {
            FaultKind::UnknownModifier { word: name.clone(), nearest: *nearest }
        }
        Some(ProblemKind::Duplicate { .. } | ProblemKind::ExtraType { .. }) => {
            FaultKind::Duplicate { word: text() }
        }
        Some(ProblemKind::MisplacedPack) => FaultKind::Misplaced { word: text() },
        Some(ProblemKind::Empty | ProblemKind::MissingType { .. }) | None => {
            words.clear();
            FaultKind::Missing { choices: Vec::new(), what: "type" }
        }
        Some(ProblemKind::MissingRounding { .. }) => {
            words.clear();
            FaultKind::Missing { choices: Vec::new(), what: "rounding" }
        }
        Some(ProblemKind::Required { modifier, .. }) => {
            words.clear();
            FaultKind::Missing { choices: vec![modifier.name()], what: "modifier" }
        }
        Some(_) => FaultKind::Combination { word: text(), choices: Vec::new() },
    };
    Fault { kind, words, nearest: error.nearest.first().map(Form::to_string) }
}

/// Which of the words a byte of their spelling is in.
fn word_at(words: &[&str], byte: usize) -> usize {
    let mut end = 0;
    for (index, word) in words.iter().enumerate() {
        end += word.len() + 1;
        if byte < end {
            return index;
        }
    }
    words.len().saturating_sub(1)
}
