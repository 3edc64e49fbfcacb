//! How the assembler reads a mnemonic's words, and which rows they match.
//!
//! The manual gives one order. The assembler knows names of several words (`mul.lo`, `cp.async.bulk.tensor`),
//! whose words stand right after the opcode, and takes the other words in any order, as long as types keep
//! their order among themselves, state spaces theirs, and so do any two words that could stand for one
//! another (`.row.col`). All of this was measured.

use crate::Type;
use crate::mnemonic::{Modifier, Opcode, Space, in_name};
use crate::row::language::{Parsed, Slot};

/// A mnemonic's words as the assembler reads them.
pub(crate) struct Spelling<'a> {
    /// How many of them belong to the name.
    named: usize,
    /// The words; `None` for one that only repeats another.
    words: Vec<Option<(&'a str, Order)>>,
}

impl<'a> Spelling<'a> {
    /// Reads the words after an opcode.
    pub fn new(opcode: Opcode, words: &[&'a str]) -> Spelling<'a> {
        let read = |at: usize| (!is_idle(opcode.name(), words, at)).then(|| (words[at], order(words[at])));
        Spelling { named: in_name(opcode.name(), words), words: (0..words.len()).map(read).collect() }
    }

    /// The words in the row's order, if the row covers them: a backtracking search over its slots.
    pub fn matches(&self, row: &Parsed) -> Option<Vec<Modifier>> {
        if self.named != row.named {
            return None;
        }
        let mut given = self.words.clone();
        let mut taken = Vec::with_capacity(given.len());
        for (slot, word) in row.slots.iter().zip(&mut given).take(self.named) {
            let (word, _) = word.take()?;
            taken.push(slot.choice(word)?);
        }
        fill(&row.slots[self.named..], &mut given, &mut taken).then_some(taken)
    }
}

/// Puts the remaining words into the remaining slots. A slot takes the first word that fits it, of types and
/// spaces only the first that is left; it is tried without one last.
fn fill(slots: &[Slot], given: &mut [Option<(&str, Order)>], taken: &mut Vec<Modifier>) -> bool {
    let Some((slot, rest)) = slots.split_first() else { return given.iter().all(Option::is_none) };
    if given.iter().flatten().count() > slots.len() {
        return false;
    }
    let (mut type_passed, mut space_passed, mut layout_passed) = (false, false, false);
    for at in 0..given.len() {
        let Some((word, order)) = given[at] else { continue };
        let passed = match order {
            Order::Type => std::mem::replace(&mut type_passed, true),
            Order::Space => std::mem::replace(&mut space_passed, true),
            Order::Layout => std::mem::replace(&mut layout_passed, true),
            Order::Free => false,
        };
        if passed {
            continue;
        }
        let Some(choice) = slot.choice(word) else { continue };
        given[at] = None;
        taken.push(choice);
        if fill(rest, given, taken) {
            return true;
        }
        taken.pop();
        given[at] = Some((word, order));
        break;
    }
    slot.optional && fill(rest, given, taken)
}

/// Words that may stand several times to no effect.
const REPEATABLE: &[&str] = &["NaN", "approx", "cc", "relu", "sat", "satfinite", "shiftamt", "sync", "uni"];

/// Types that the assembler passes over beside the others, with these opcodes and some forms of others.
const IGNORED_TYPES: &[&str] = &["pred", "texref", "samplerref", "surfref"];
const TYPE_IGNORED: &[&str] = &[
    "abs", "add", "atom", "cos", "cvt", "ex2", "fma", "ldmatrix", "lg2", "max", "min", "neg", "rcp", "rsqrt",
    "set", "setp", "sin", "sqrt", "sub", "tanh",
];

/// Words of one instruction that the assembler passes over with any other, one of a kind: its opcode, and the words.
const FOREIGN: &[(&str, &[&str])] = &[
    (
        "tensormap",
        &[
            "box_dim",
            "element_stride",
            "elemtype",
            "fill_mode",
            "global_address",
            "global_dim",
            "global_stride",
            "interleave_layout",
            "rank",
            "swizzle_atomicity",
            "swizzle_mode",
        ],
    ),
    ("testp", &["finite", "infinite", "normal", "notanumber", "number", "subnormal"]),
];

/// Formats of packed data, which `ldmatrix` and `tcgen05.cp` have; others pass over them, however many.
const FORMATS: &[&str] = &["b8x16", "b6x16_p32", "b4x16_p64"];

/// Whether the word at this place says nothing: it repeats an earlier one that may be repeated, or the assembler
/// passes over it with this opcode.
pub(crate) fn is_idle(opcode: &str, words: &[&str], at: usize) -> bool {
    let word = words[at];
    let repeats = REPEATABLE.contains(&word) && words[..at].contains(&word);
    let alone = |kind: &[&str]| words.iter().filter(|word| kind.contains(word)).count() == 1;
    let foreign = |(owner, kind): &(&str, &[&str])| {
        let owned = *owner == opcode && words.first() != Some(&"cp_fenceproxy");
        !owned && kind.contains(&word) && alone(kind)
    };
    let typed = || match opcode {
        "cp" => words.contains(&"reduce"),
        "mul" => !matches!(words.first(), Some(&"lo" | &"hi" | &"wide")),
        "multimem" => !words.contains(&"cp") || words.contains(&"reduce"),
        "red" => words.first() != Some(&"async"),
        "wmma" => words.first() == Some(&"mma"),
        "wgmma" => words.first() == Some(&"mma_async"),
        _ => TYPE_IGNORED.contains(&opcode),
    };
    let moves_tiles = match opcode {
        "ldmatrix" | "stmatrix" | "movmatrix" => true,
        "tcgen05" => matches!(words.first(), Some(&"cp" | &"ld" | &"st")),
        "wgmma" => words.first() == Some(&"mma_async"),
        _ => false,
    };
    let with_formats = opcode == "ldmatrix" || (opcode == "tcgen05" && words.first() == Some(&"cp"));
    repeats
        || (IGNORED_TYPES.contains(&word) && typed())
        || FOREIGN.iter().any(foreign)
        || (opcode == "fence"
            && words.first() == Some(&"proxy")
            && Space::from_name(word).is_some()
            && words.contains(&"release")
            && !words.contains(&"async"))
        || (FORMATS.contains(&word) && !with_formats)
        || (matches!(word, "row" | "col") && moves_tiles)
        || (word == "uni" && matches!(opcode, "tex" | "tld4"))
        || (matches!(word, "all" | "any")
            && opcode == "bar"
            && words.first() == Some(&"sync")
            && alone(&["all", "any"]))
}

/// The kinds of word whose order among themselves counts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    Type,
    Space,
    /// `.row` and `.col`; and the formats `.b8x16` and `.b6x16_p32`, which never meet them.
    Layout,
    Free,
}

pub(crate) fn order(word: &str) -> Order {
    if Type::from_name(word).is_some() || word == "b1" {
        Order::Type
    } else if Space::from_name(word).is_some() {
        Order::Space
    } else if matches!(word, "row" | "col" | "b8x16" | "b6x16_p32" | "b4x16_p64") {
        Order::Layout
    } else {
        Order::Free
    }
}
