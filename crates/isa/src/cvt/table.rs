//! Every legal form of `cvt` and `cvt.pack`: the table, and its expansion.
//!
//! PTX ISA sections 9.7.9.21 (`cvt`) and 9.7.9.22 (`cvt.pack`) of version 9.1; 9.7.10.24 and 9.7.10.25 of
//! 9.4. Where the manual and the assembler disagree the row is the assembler's, which is what users meet:
//! the manual's syntax lines cover combinations that were never accepted, and its examples leave out
//! roundings that are required.
//!
//! A form is covered by exactly one row; a test holds that.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::modifier::{Modifier, Modifiers};
use super::{Opcode, OperandName};
use crate::availability::{Availability, Targets};
use crate::pattern::{Legend, Operand, Pattern};
use crate::{Type, Version};

const LEGEND: Legend = Legend {
    sets: &[
        ("irnd", "rni rzi rmi rpi"),
        ("frnd", "rn rz rm rp"),
        ("frnd2", "rn rz"),
        ("frnd3", "rz rp"),
        ("frnd4", "rn rz rp"),
        ("int", "u8 u16 u32 u64 s8 s16 s32 s64"),
        ("fp16x2", "f16x2 bf16x2"),
        ("f8x2", "e4m3x2 e5m2x2"),
        ("f6f4x2", "e2m1x2 e2m3x2 e3m2x2"),
        ("f8f6f4x2", "e4m3x2 e5m2x2 e2m1x2 e2m3x2 e3m2x2"),
        ("f8f6f4x4", "e4m3x4 e5m2x4 e2m1x4 e2m3x4 e3m2x4"),
        ("pack16", "u16 s16"),
        ("pack8", "u8 s8"),
        ("pack4", "u4 s4 u2 s2"),
    ],
    calls: &[("scale-factor", "scaled::n1::ue8m0 scaled::n2::ue8m0")],
};

/// Where the forms of a row exist.
type Class = &'static [Availability];

const fn since(targets: Targets, major: u8, minor: u8) -> Availability {
    Availability { targets, since: Version::new(major, minor) }
}

const BLACKWELL_ON: Targets = Targets::Families(&[100, 110, 120]);

const ANY: Class = &[since(Targets::All, 1, 0)];
const DOUBLE: Class = &[since(Targets::From(13), 1, 0)];
const AMPERE: Class = &[since(Targets::From(80), 7, 0)];
const AMPERE_71: Class = &[since(Targets::From(80), 7, 1)];
const AMPERE_81: Class = &[since(Targets::From(80), 8, 1)];
const TURING_81: Class = &[since(Targets::From(75), 8, 1)];
const FP8: Class = &[since(Targets::Only(89), 8, 1), since(Targets::From(90), 7, 8)];
const HOPPER: Class = &[since(Targets::From(90), 7, 8)];
const BLACKWELL: Class = &[since(Targets::From(100), 8, 6)];
const FAMILY: Class = &[since(BLACKWELL_ON, 8, 6)];
const FAMILY_91: Class = &[since(BLACKWELL_ON, 9, 1)];
const FAMILY_92: Class = &[since(BLACKWELL_ON, 9, 2)];
const STOCHASTIC: Class = &[since(Targets::Architectures(&[100, 103, 107]), 8, 7)];
const FIXED: Class = &[since(Targets::Architectures(&[100, 103, 107, 110, 120, 121]), 9, 1)];
const FIXED_RZ: Class = &[since(Targets::Architectures(&[107]), 9, 4)];
const FAMILY_107: Class = &[since(Targets::Families(&[107]), 9, 4)];
const PACK: Class = &[since(Targets::From(72), 6, 5)];
const PACK_SUB_BYTE: Class = &[since(Targets::From(75), 6, 5)];

/// Which of a row's spellings count.
#[derive(Clone, Copy, PartialEq)]
enum Only {
    /// All of them.
    All,
    /// Those whose destination does not hold every value of the source.
    Narrowing,
}

struct Row(Class, &'static str, Only);

const fn row(class: Class, pattern: &'static str) -> Row {
    Row(class, pattern, Only::All)
}

#[rustfmt::skip]
const ROWS: &[Row] = &[
    // Integers to integers. Saturation is legal only where it could matter.
    row(ANY,        "cvt.int.int                               d, a"),
    Row(ANY,        "cvt.sat.int.int                           d, a", Only::Narrowing),
    // Floats to integers.
    row(ANY,        "cvt.irnd{.sat}.int.f16                    d, a"),
    row(ANY,        "cvt.irnd{.ftz}{.sat}.int.f32              d, a"),
    row(DOUBLE,     "cvt.irnd{.sat}.int.f64                    d, a"),
    row(HOPPER,     "cvt.irnd.int.bf16                         d, a"),
    // Integers to floats.
    row(ANY,        "cvt.frnd{.sat}.f16.int                    d, a"),
    row(ANY,        "cvt.frnd{.ftz}{.sat}.f32.int              d, a"),
    row(DOUBLE,     "cvt.frnd{.sat}.f64.int                    d, a"),
    row(HOPPER,     "cvt.frnd.bf16.int                         d, a"),
    // Between f16, f32 and f64: narrowing rounds, widening must not.
    row(DOUBLE,     "cvt.frnd{.sat}.f16.f64                    d, a"),
    row(DOUBLE,     "cvt.frnd{.ftz}{.sat}.f32.f64              d, a"),
    row(ANY,        "cvt.frnd{.ftz}{.sat}.f16.f32              d, a"),
    row(AMPERE,     "cvt.frnd2.relu.f16.f32                    d, a"),
    row(TURING_81,  "cvt.frnd2.satfinite.f16.f32               d, a"),
    row(AMPERE_81,  "cvt.frnd2.relu.satfinite.f16.f32          d, a"),
    row(FAMILY_107, "cvt.frnd2{.relu}{.satfinite}.pzo.f16.f32  d, a"),
    row(ANY,        "cvt{.ftz}{.sat}.f32.f16                   d, a"),
    row(DOUBLE,     "cvt{.ftz}{.sat}.f64.f32                   d, a"),
    row(DOUBLE,     "cvt{.sat}.f64.f16                         d, a"),
    // A float to itself: a copy, or a rounding to an integral value.
    row(ANY,        "cvt{.irnd}{.sat}.f16.f16                  d, a"),
    row(ANY,        "cvt{.irnd}{.ftz}{.sat}.f32.f32            d, a"),
    row(DOUBLE,     "cvt{.irnd}{.sat}.f64.f64                  d, a"),
    row(HOPPER,     "cvt{.irnd}.bf16.bf16                      d, a"),
    // bf16. Widening takes a rounding, for nothing; .ftz brings .rm and .rp to .pzo, as measured.
    row(AMPERE,     "cvt.frnd{.ftz}.bf16.f32                   d, a"),
    row(AMPERE,     "cvt.frnd2.relu.bf16.f32                   d, a"),
    row(AMPERE_81,  "cvt.frnd2{.relu}.satfinite.bf16.f32       d, a"),
    row(FAMILY_107, "cvt.frnd2{.relu}{.satfinite}.pzo.bf16.f32 d, a"),
    row(FAMILY_107, "cvt.frnd.ftz.pzo.bf16.f32                 d, a"),
    row(HOPPER,     "cvt.frnd.bf16.f64                         d, a"),
    row(HOPPER,     "cvt{.frnd}.bf16.f16                       d, a"),
    row(HOPPER,     "cvt{.frnd}.f16.bf16                       d, a"),
    row(AMPERE_71,  "cvt{.frnd}.f32.bf16                       d, a"),
    row(HOPPER,     "cvt{.frnd}.ftz.f32.bf16                   d, a"),
    row(HOPPER,     "cvt{.frnd}.f64.bf16                       d, a"),
    // tf32.
    row(AMPERE,     "cvt.rna.tf32.f32                          d, a"),
    row(AMPERE_81,  "cvt.rna.satfinite.tf32.f32                d, a"),
    row(HOPPER,     "cvt.frnd2{.relu}.tf32.f32                 d, a"),
    row(BLACKWELL,  "cvt.frnd2{.relu}.satfinite.tf32.f32       d, a"),
    row(FAMILY_107, "cvt.frnd2{.relu}{.satfinite}.pzo.tf32.f32 d, a"),
    // Two f32 into one register.
    row(AMPERE,     "cvt.frnd2{.relu}.fp16x2.f32                    d, a, b"),
    row(AMPERE_81,  "cvt.frnd2{.relu}.satfinite.fp16x2.f32          d, a, b"),
    row(FAMILY_107, "cvt.frnd2{.relu}{.satfinite}.pzo.fp16x2.f32    d, a, b"),
    row(STOCHASTIC, "cvt.rs{.relu}{.satfinite}.fp16x2.f32           d, a, b, rbits"),
    // Down to FP8, FP6 and FP4.
    row(FP8,        "cvt.rn{.relu}.satfinite.f8x2.f32               d, a, b"),
    row(FP8,        "cvt.rn{.relu}.satfinite.f8x2.f16x2             d, a"),
    row(FAMILY_91,  "cvt.rn{.relu}.satfinite.f8x2.bf16x2            d, a"),
    row(FAMILY,     "cvt.rn{.relu}.satfinite.f6f4x2.f32             d, a, b"),
    row(FAMILY_91,  "cvt.rn{.relu}.satfinite.f6f4x2.fp16x2          d, a"),
    row(FAMILY_107, "cvt.rz{.relu}.satfinite.f8f6f4x2.f32           d, a, b"),
    row(FAMILY_107, "cvt.rz{.relu}.satfinite.f8f6f4x2.fp16x2        d, a"),
    row(FAMILY_107, "cvt.frnd2{.relu}.satfinite.pzo.f8f6f4x2.f32    d, a, b"),
    row(FAMILY_107, "cvt.frnd2{.relu}.satfinite.pzo.f8f6f4x2.fp16x2 d, a"),
    row(FAMILY_107, "cvt.frnd2{.relu}.satfinite{.pzo}.scaled::n1::ue8m0.f8f6f4x2.f32    d, a, b{, scale-factor}"),
    row(FAMILY_107, "cvt.frnd2{.relu}.satfinite{.pzo}.scaled::n1::ue8m0.f8f6f4x2.fp16x2 d, a{, scale-factor}"),
    row(STOCHASTIC, "cvt.rs{.relu}.satfinite.f8f6f4x4.f32           d, {a, b, e, f}, rbits"),
    // Up from FP8, FP6 and FP4.
    row(FP8,        "cvt.rn{.relu}.f16x2.f8x2                       d, a"),
    row(FAMILY,     "cvt.rn{.relu}.f16x2.f6f4x2                     d, a"),
    row(FAMILY_92,  "cvt.rn{.relu}{.satfinite}{.scaled::n2::ue8m0}.bf16x2.f8f6f4x2 d, a{, scale-factor}"),
    // ue8m0 has neither sign nor fraction: no .relu, and only directed roundings.
    row(FAMILY,     "cvt.frnd3{.satfinite}.ue8m0x2.f32              d, a, b"),
    row(FAMILY,     "cvt.frnd3{.satfinite}.ue8m0x2.bf16x2           d, a"),
    row(FAMILY,     "cvt.rn.bf16x2.ue8m0x2                          d, a"),
    // ue5m3.
    row(FAMILY_107, "cvt.frnd4{.satfinite}.ue5m3x2.f32                       d, a, b"),
    row(FAMILY_107, "cvt.frnd4{.satfinite}.ue5m3x2.fp16x2                    d, a"),
    row(FAMILY_107, "cvt.frnd2{.satfinite}.scaled::n1::ue8m0.ue5m3x2.f32     d, a, b{, scale-factor}"),
    row(FAMILY_107, "cvt.frnd2{.satfinite}.scaled::n1::ue8m0.ue5m3x2.fp16x2  d, a{, scale-factor}"),
    row(FAMILY_107, "cvt.rn.f16x2.ue5m3x2                                    d, a"),
    row(FAMILY_107, "cvt.rn{.satfinite}{.scaled::n2::ue8m0}.bf16x2.ue5m3x2   d, a{, scale-factor}"),
    // s2f6.
    row(FIXED,      "cvt.rn{.relu}.satfinite{.scaled::n2::ue8m0}.s2f6x2.f32      d, a, b{, scale-factor}"),
    row(FIXED,      "cvt.rn{.relu}.satfinite{.scaled::n2::ue8m0}.s2f6x2.bf16x2   d, a{, scale-factor}"),
    row(FIXED_RZ,   "cvt.rz{.relu}.satfinite{.scaled::n2::ue8m0}.s2f6x2.f32      d, a, b{, scale-factor}"),
    row(FIXED_RZ,   "cvt.rz{.relu}.satfinite{.scaled::n2::ue8m0}.s2f6x2.bf16x2   d, a{, scale-factor}"),
    row(FIXED,      "cvt.rn{.relu}{.satfinite}{.scaled::n2::ue8m0}.bf16x2.s2f6x2 d, a{, scale-factor}"),
    // Two integers into fields of one register.
    row(PACK,          "cvt.pack.sat.pack16.s32     d, a, b"),
    row(PACK,          "cvt.pack.sat.pack8.s32.b32  d, a, b, c"),
    row(PACK_SUB_BYTE, "cvt.pack.sat.pack4.s32.b32  d, a, b, c"),
];

/// A legal form, written out.
#[derive(Debug)]
pub(super) struct Entry {
    pub opcode: Opcode,
    pub modifiers: Modifiers,
    pub types: Types,
    pub operands: Vec<Operand<OperandName>>,
    pub availability: Class,
    /// The row it comes from.
    pub syntax: &'static str,
}

/// The type words of a form in their order: destination, source and, for `cvt.pack` with `c`, that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Types {
    types: [Type; 3],
    len: u8,
}

impl Types {
    /// Up to three types; `None` if there are more.
    pub fn new(given: &[Type]) -> Option<Types> {
        let mut types = [Type::Pred; 3];
        types.get_mut(..given.len())?.copy_from_slice(given);
        Some(Types { types, len: given.len() as u8 })
    }

    pub fn as_slice(&self) -> &[Type] {
        &self.types[..usize::from(self.len)]
    }
}

/// All legal forms in table order, and the way to find one.
pub(super) struct Table {
    pub entries: Vec<Entry>,
    index: HashMap<(Opcode, Modifiers, Types), u16>,
}

impl Table {
    pub fn find(&self, opcode: Opcode, modifiers: Modifiers, types: Types) -> Option<u16> {
        self.index.get(&(opcode, modifiers, types)).copied()
    }
}

/// The table. Expanding it panics if a row is misspelt; the rows are part of the program, and the
/// tests of this file expand them.
pub(super) static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let entries: Vec<Entry> = ROWS.iter().flat_map(expand).collect();
    let index = (0..).zip(&entries).map(|(i, e)| ((e.opcode, e.modifiers, e.types), i)).collect();
    Table { entries, index }
});

fn expand(&Row(availability, syntax, only): &Row) -> Vec<Entry> {
    let misspelt = |why: &str| -> ! { panic!("row `{syntax}`: {why}") };
    let pattern = Pattern::parse(syntax, &LEGEND).unwrap_or_else(|error| misspelt(&error.to_string()));
    let mut entries = Vec::new();
    for expansion in pattern.expand() {
        let (opcode, words) = match expansion.words.split_first() {
            Some((&Opcode::PACK, rest)) => (Opcode::CvtPack, rest),
            _ => (Opcode::Cvt, expansion.words.as_slice()),
        };
        let mut modifiers = Modifiers::NONE;
        let mut types = Vec::new();
        for word in words {
            match (Modifier::from_name(word), Type::from_name(word)) {
                (Some(modifier), _) => modifiers = modifiers.with(modifier),
                (None, Some(ty)) => types.push(ty),
                (None, None) => misspelt(word),
            }
        }
        let operands =
            expansion.operands.iter().map(|operand| operand.try_map(|name| OperandName::from_name(name)));
        let Some(operands) = operands.collect::<Option<Vec<_>>>() else { misspelt("operands") };
        let Some(packed) = Types::new(&types) else { misspelt("types") };
        if only == Only::Narrowing && holds(types[0], types[1]) {
            continue;
        }
        entries.push(Entry { opcode, modifiers, types: packed, operands, availability, syntax });
    }
    entries
}

/// Whether integer type `outer` holds every value of integer type `inner`.
pub(super) fn holds(outer: Type, inner: Type) -> bool {
    use crate::Class::{Signed, Unsigned};
    match (outer.class(), inner.class()) {
        (Signed, Signed) | (Unsigned, Unsigned) => outer.bits() >= inner.bits(),
        (Signed, Unsigned) => outer.bits() > inner.bits(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_expands_and_no_form_comes_twice() {
        assert!(ROWS.iter().all(|row| !expand(row).is_empty()));
        assert_eq!(TABLE.index.len(), TABLE.entries.len());
    }

    #[test]
    fn every_set_of_the_legend_is_used_and_known() {
        for (name, members) in LEGEND.sets {
            let word = |row: &Row| row.1.split(['.', '{', '}', ' ']).any(|word| word == *name);
            assert!(ROWS.iter().any(word), "{name}");
            let known = |word| Modifier::from_name(word).is_some() || Type::from_name(word).is_some();
            assert!(members.split(' ').all(known), "{members}");
        }
    }
}
