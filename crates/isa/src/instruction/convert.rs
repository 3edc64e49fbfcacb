//! What is wrong with a mnemonic of `cvt` that no row covers. [`crate::cvt`] compares it with the forms that have its
//! types, which says more than comparing words.

use super::{MnemonicError, MnemonicErrorKind};
use crate::cvt::{CvtForm, ProblemKind};
use crate::spelling::is_idle;

/// Why no row of `cvt` covers the words.
pub(super) fn fault(modifiers: &[&str]) -> MnemonicError {
    let kept: Vec<usize> = (0..modifiers.len()).filter(|&at| !is_idle("cvt", modifiers, at)).collect();
    let words: Vec<&str> = kept.iter().map(|&at| modifiers[at]).collect();
    let mut fault = fault_of(&words);
    fault.words = fault.words.iter().filter_map(|&word| kept.get(word).copied()).collect();
    fault
}

fn fault_of(modifiers: &[&str]) -> MnemonicError {
    let Err(error) = CvtForm::parse(&modifiers.join(".")) else {
        // A word that the assembler passes over stands before `.pack`, which is part of the name.
        let word = modifiers.first().copied().unwrap_or_default().to_owned();
        return MnemonicError { kind: MnemonicErrorKind::Misplaced { word }, words: vec![0], nearest: None };
    };
    let problem = error.problems.first();
    let word = problem.map_or(0, |problem| word_at(modifiers, problem.span.start));
    let text = || modifiers.get(word).copied().unwrap_or_default().to_owned();
    let mut words = vec![word];
    let kind = match problem.map(|problem| &problem.kind) {
        Some(ProblemKind::UnknownName { name, nearest }) => {
            MnemonicErrorKind::UnknownModifier { word: name.clone(), nearest: *nearest }
        }
        Some(ProblemKind::Duplicate { .. } | ProblemKind::ExtraType { .. }) => {
            MnemonicErrorKind::Duplicate { word: text() }
        }
        Some(ProblemKind::MisplacedPack) => MnemonicErrorKind::Misplaced { word: text() },
        Some(ProblemKind::Empty | ProblemKind::MissingType { .. }) | None => {
            words.clear();
            MnemonicErrorKind::Missing { choices: Vec::new(), what: "type" }
        }
        Some(ProblemKind::MissingRounding { .. }) => {
            words.clear();
            MnemonicErrorKind::Missing { choices: Vec::new(), what: "rounding" }
        }
        Some(ProblemKind::Required { modifier, .. }) => {
            words.clear();
            MnemonicErrorKind::Missing { choices: vec![modifier.name()], what: "modifier" }
        }
        Some(_) => MnemonicErrorKind::Combination { word: text(), choices: Vec::new() },
    };
    MnemonicError { kind, words, nearest: error.nearest.first().map(CvtForm::to_string) }
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
