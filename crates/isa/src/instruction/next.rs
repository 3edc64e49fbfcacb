//! Which words may follow those of a mnemonic that is not finished: for completion in editors.

use super::{Gate, Modifier, Opcode};
use crate::row::language::Parsed;
use crate::table::{self, rows};
use crate::{Target, Version};

/// A word that may follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NextWord {
    /// The word.
    pub word: Modifier,
    /// Whether a module of the given version for the given target may have it there.
    pub available: bool,
}

/// How a mnemonic can go on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NextWords {
    /// The words that may follow, in the table's order.
    pub words: Vec<NextWord>,
    /// Whether it may end here.
    pub complete: bool,
}

/// How a mnemonic can go on behind an opcode and the words after it, without their dots, in a module of a version for a
/// target. Where the words stand in the manual's order, so do those that may follow; else any word may follow that is
/// still missing.
pub fn next_words(opcode: &str, words: &[&str], version: Version, target: Target) -> NextWords {
    let Some(opcode) = Opcode::from_name(opcode) else { return NextWords::default() };
    let mut found = Found { opcode, version, target, next: NextWords::default() };
    for row in rows(opcode) {
        found.in_order(row, words);
    }
    if found.next == NextWords::default() {
        for row in rows(opcode) {
            found.in_any_order(row, words);
        }
    }
    found.next
}

struct Found {
    opcode: Opcode,
    version: Version,
    target: Target,
    next: NextWords,
}

impl Found {
    /// The words that follow if those that stand are the row's, in its order.
    fn in_order(&mut self, row: &Parsed, words: &[&str]) {
        let mut reached = vec![0];
        for word in words {
            let mut next = Vec::new();
            for &from in &reached {
                for (index, slot) in row.slots.iter().enumerate().skip(from) {
                    if slot.choice(word).is_some() && !next.contains(&(index + 1)) {
                        next.push(index + 1);
                    }
                    if !slot.optional {
                        break;
                    }
                }
            }
            reached = next;
        }
        for &from in &reached {
            let mut is_end = true;
            for slot in &row.slots[from..] {
                slot.choices.iter().for_each(|&word| self.add(row, word));
                if !slot.optional {
                    is_end = false;
                    break;
                }
            }
            self.next.complete |= is_end;
        }
    }

    /// The words that follow if those that stand are some of the row's.
    fn in_any_order(&mut self, row: &Parsed, words: &[&str]) {
        let mut left: Vec<_> = row.slots.iter().collect();
        for word in words {
            let Some(index) = left.iter().position(|slot| slot.choice(word).is_some()) else { return };
            left.remove(index);
        }
        self.next.complete |= left.iter().all(|slot| slot.optional);
        for slot in left {
            slot.choices.iter().for_each(|&word| self.add(row, word));
        }
    }

    fn add(&mut self, row: &Parsed, word: Modifier) {
        let whole = Gate { word: None, any_of: row.row.availability, removed: row.row.removed };
        let mut gates = std::iter::once(whole).chain(table::word_gates(self.opcode, &[word]));
        let available = gates.all(|gate| gate.is_open(self.version, self.target));
        match self.next.words.iter_mut().find(|known| known.word == word) {
            Some(known) => known.available |= available,
            None => self.next.words.push(NextWord { word, available }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::instruction::resolve;

    fn next(opcode: &str, words: &[&str], version: Version, target: &str) -> (Vec<&'static str>, bool) {
        let found = next_words(opcode, words, version, Target::from_name(target).unwrap());
        let words = found.words.iter().filter(|next| next.available).map(|next| next.word.name());
        (words.collect(), found.complete)
    }

    #[test]
    fn words_follow_in_the_order_of_the_manual() {
        let (words, complete) = next("mul", &["wide"], Version::LATEST, "sm_90");
        assert_eq!((words, complete), (vec!["u16", "s16", "u32", "s32"], false));
        assert_eq!(next("mul", &["wide", "u32"], Version::LATEST, "sm_90"), (vec![], true));
        let (words, _) = next("ld", &["global"], Version::LATEST, "sm_90");
        assert!(words.contains(&"v4") && words.contains(&"f32") && !words.contains(&"shared"), "{words:?}");
        assert!(next("ret", &[], Version::LATEST, "sm_90").1);
        assert_eq!(next("nothing", &[], Version::LATEST, "sm_90"), (vec![], false));
    }

    #[test]
    fn what_the_target_lacks_is_not_available() {
        let packed = |version, target| next("add", &[], version, target).0.contains(&"u16x2");
        assert!(packed(Version::LATEST, "sm_90"));
        assert!(!packed(Version::LATEST, "sm_80"));
        assert!(!packed(Version::new(7, 0), "sm_90"));
    }

    #[test]
    fn in_another_order_what_is_missing_follows() {
        let (words, complete) = next("ld", &["f32", "global"], Version::LATEST, "sm_90");
        assert!(complete && words.contains(&"v4") && !words.contains(&"u32"), "{words:?}");
    }

    /// A mnemonic made of suggested words is legal in most cases. Words that exclude one another stand in different rows
    /// of the table, so a few are not.
    #[test]
    fn mnemonics_that_are_complete_are_legal() {
        for &opcode in Opcode::ALL {
            let mut words: Vec<&str> = Vec::new();
            for step in 0..12 {
                let next =
                    next_words(opcode.name(), &words, Version::LATEST, Target::from_name("sm_100a").unwrap());
                if next.complete {
                    assert!(resolve(opcode.name(), &words).is_ok(), "{opcode} {words:?}");
                }
                let Some(word) = next.words.get(step * 7 % next.words.len().max(1)) else { break };
                words.push(word.word.name());
            }
        }
    }
}
