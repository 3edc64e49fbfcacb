//! Finds what is wrong with a mnemonic that no row covers.
//!
//! No rule is written here: the rows of the opcode say what could have stood.

use super::{MnemonicError, MnemonicErrorKind, Opcode};
use crate::mnemonic::names_word;
use crate::nearest::nearest;
use crate::row::language::{Parsed, Slot};
use crate::spelling::{Order, order};
use crate::table;

/// How a row falls short of covering the words.
struct Attempt<'r> {
    row: &'r Parsed,
    /// For each slot, the index of the word in it.
    filled: Vec<Option<usize>>,
    /// Words without a slot.
    extra: Vec<usize>,
    /// Slots without a word that must have one.
    missing: Vec<usize>,
}

impl Attempt<'_> {
    fn cost(&self) -> usize {
        self.extra.len() + self.missing.len()
    }
}

/// Why none of the rows covers the words.
pub(super) fn fault(opcode: Opcode, rows: &[Parsed], words: &[&str]) -> MnemonicError {
    if let Some(fault) = foreign_word(opcode, rows, words) {
        return fault;
    }
    let best = rows.iter().map(|row| attempt(row, words)).min_by_key(Attempt::cost);
    let Some(best) = best else {
        let kind = MnemonicErrorKind::Missing { choices: Vec::new(), what: "modifier" };
        return MnemonicError { kind, words: Vec::new(), nearest: None };
    };
    let nearest = Some(spelling(opcode, &best, words));
    let (kind, at) = match (best.extra.first(), best.missing.first()) {
        (Some(&word), missing) => {
            let text = words[word].to_owned();
            let kind = if words[..word].contains(&words[word]) {
                MnemonicErrorKind::Duplicate { word: text }
            } else if names_word(opcode.name(), &text) && missing.is_some() {
                MnemonicErrorKind::Misplaced { word: text }
            } else {
                let choices = missing.map_or(Vec::new(), |&slot| names(&best.row.slots[slot]));
                MnemonicErrorKind::Combination { word: text, choices }
            };
            (kind, vec![word])
        }
        (None, Some(&slot)) => {
            let choices = names(&best.row.slots[slot]);
            let what = what(&choices);
            (MnemonicErrorKind::Missing { choices, what }, Vec::new())
        }
        // The words are right and only their order is not.
        (None, None) => {
            let word = words.first().copied().unwrap_or_default().to_owned();
            (MnemonicErrorKind::Misplaced { word }, vec![0])
        }
    };
    MnemonicError { kind, words: at, nearest }
}

/// The words that may stand in a slot.
fn names(slot: &Slot) -> Vec<&'static str> {
    slot.choices.iter().map(|word| word.name()).collect()
}

/// What a set of words is called.
fn what(choices: &[&str]) -> &'static str {
    let all = |known: &[&str]| choices.iter().all(|choice| known.contains(choice));
    if all(&["rn", "rz", "rm", "rp", "rna", "rs", "approx", "full"]) {
        "rounding"
    } else if choices.iter().all(|choice| order(choice) == Order::Type) {
        "type"
    } else if choices.iter().all(|choice| order(choice) == Order::Space) {
        "state space"
    } else if choices.contains(&"eq") {
        "comparison"
    } else {
        "modifier"
    }
}

/// A word that no row of the opcode has.
fn foreign_word(opcode: Opcode, rows: &[Parsed], words: &[&str]) -> Option<MnemonicError> {
    let slots = || rows.iter().flat_map(|row| &row.slots);
    let has = |word: &str| slots().any(|slot: &Slot| slot.choice(word).is_some());
    let at = words.iter().position(|word| !has(word))?;
    let word = words[at].to_owned();
    let own = || slots().flat_map(|slot| slot.choices.iter().map(|word| word.name()));
    let meant = nearest(&word, own());
    let corrected = meant.and_then(|meant| {
        let mut words = words.to_vec();
        words[at] = meant;
        let best = rows.iter().map(|row| attempt(row, &words)).min_by_key(Attempt::cost)?;
        Some(spelling(opcode, &best, &words))
    });
    let kind = if table::is_word(&word) {
        MnemonicErrorKind::NotWithOpcode { opcode: opcode.name(), word }
    } else {
        let nearest = meant.or_else(|| nearest(&word, table::all_words()));
        MnemonicErrorKind::UnknownModifier { word, nearest }
    };
    let without = || {
        let rest: Vec<&str> =
            words.iter().enumerate().filter(|(i, _)| *i != at).map(|(_, word)| *word).collect();
        let best = rows.iter().map(|row| attempt(row, &rest)).min_by_key(Attempt::cost)?;
        (best.cost() <= 1).then(|| spelling(opcode, &best, &rest))
    };
    Some(MnemonicError { kind, words: vec![at], nearest: corrected.or_else(without) })
}

/// Puts as many words as it can into the row's slots.
fn attempt<'r>(row: &'r Parsed, words: &[&str]) -> Attempt<'r> {
    let named = row.named;
    let mut left: Vec<bool> = vec![true; words.len()];
    let mut filled = vec![None; row.slots.len()];
    for (index, slot) in row.slots.iter().enumerate() {
        let fits = |&at: &usize| {
            let placed = index >= named || at == index;
            left[at] && placed && slot.choice(words[at]).is_some()
        };
        if let Some(at) = (0..words.len()).find(fits) {
            left[at] = false;
            filled[index] = Some(at);
        }
    }
    let missing =
        (0..row.slots.len()).filter(|&index| filled[index].is_none() && !row.slots[index].optional).collect();
    let extra = (0..words.len()).filter(|&at| left[at]).collect();
    Attempt { row, filled, extra, missing }
}

/// The spelling that the row would have wanted.
fn spelling(opcode: Opcode, attempt: &Attempt<'_>, words: &[&str]) -> String {
    let mut text = opcode.name().to_owned();
    for (slot, filled) in attempt.row.slots.iter().zip(&attempt.filled) {
        let word = match filled {
            Some(at) => Some(words[*at]),
            None if slot.optional => None,
            None => slot.choices.first().map(|word| word.name()),
        };
        if let Some(word) = word {
            text.push('.');
            text.push_str(word);
        }
    }
    text
}
