//! The rows of the instruction table, one file per section of PTX ISA chapter 9.
//!
//! The language is that of `row/language.rs`. Where the manual and the assembler disagree the row is the
//! assembler's, which is what users meet. A form may be covered by several rows, which then are alternatives:
//! they differ in their operands.

mod gates;
mod index;

mod async_copy;
mod atomics;
mod compare;
mod control;
mod convert;
mod data_movement;
mod fabric;
mod float;
mod half;
mod integer;
mod logic;
mod matrix;
mod mbarrier;
mod sparse;
mod surface;
mod sync;
mod tcgen05;
mod tensor;
mod texture;
mod video;
mod wgmma;

use std::collections::HashSet;
use std::sync::LazyLock;

use crate::Type;
use crate::row::Section;

pub(crate) use gates::word_gates;
pub(crate) use index::rows;

/// Every section.
pub(crate) const SECTIONS: &[&Section] = &[
    &integer::SECTION,
    &float::SECTION,
    &half::SECTION,
    &compare::SECTION,
    &logic::SECTION,
    &data_movement::SECTION,
    &convert::SECTION,
    &async_copy::SECTION,
    &texture::SECTION,
    &surface::SECTION,
    &control::SECTION,
    &sync::SECTION,
    &atomics::SECTION,
    &tensor::SECTION,
    &mbarrier::SECTION,
    &matrix::SECTION,
    &wgmma::SECTION,
    &tcgen05::SECTION,
    &video::SECTION,
    &fabric::SECTION,
    &sparse::SECTION,
];

/// Sets that every section may use.
pub(crate) const SETS: &[(&str, &str)] = &[
    ("rnd", "rn rz rm rp"),
    ("scope", "cta cluster gpu sys"),
    ("shared_ss", "shared shared::cta shared::cluster"),
    ("int", "u16 u32 u64 s16 s32 s64"),
    ("bits", "b16 b32 b64"),
    ("boolop", "and or xor"),
];

static WORDS: LazyLock<HashSet<&'static str>> = LazyLock::new(|| {
    let mut words: HashSet<&'static str> = Type::ALL.iter().map(|ty| ty.name()).collect();
    for section in SECTIONS {
        for (_, members) in section.sets.iter().chain(SETS) {
            words.extend(members.split(' '));
        }
        let names = section.sets.iter().chain(SETS).map(|(name, _)| *name).collect::<HashSet<_>>();
        for row in section.rows {
            let head = row.line.split(' ').next().unwrap_or_default();
            let inline = head.split(['.', '{', '}', '|']).skip(1);
            words.extend(inline.filter(|word| !word.is_empty() && !names.contains(word)));
        }
    }
    words
});

/// Whether some instruction has the word.
pub(crate) fn is_word(word: &str) -> bool {
    WORDS.contains(word)
}

/// Every word that some instruction has, in alphabetical order.
pub(crate) fn all_words() -> impl Iterator<Item = &'static str> {
    let mut words: Vec<&'static str> = WORDS.iter().copied().collect();
    words.sort_unstable();
    words.into_iter()
}
