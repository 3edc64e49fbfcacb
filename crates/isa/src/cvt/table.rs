//! Every legal form of `cvt` and `cvt.pack`: the rows of `table/convert.rs`, expanded.
//!
//! A form is covered by exactly one row; a test holds that.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::modifier::{Modifier, Modifiers};
use super::{Opcode, Operand, OperandName};
use crate::availability::Availability;
use crate::mnemonic;
use crate::operand::Value;
use crate::row::language::{self, Count, Kind, Parsed, Presence};
use crate::{Type, table};

/// A legal form, written out.
#[derive(Debug)]
pub(super) struct Entry {
    pub opcode: Opcode,
    pub modifiers: Modifiers,
    pub types: Types,
    pub operands: Vec<Operand>,
    /// What each of the operands may be; the elements of a vector are alike.
    pub values: Vec<Value>,
    pub availability: &'static [Availability],
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

    /// Finds the form with these words, which are in the order of a row.
    pub fn find_words(&self, words: &[mnemonic::Modifier]) -> Option<u16> {
        let (opcode, modifiers, types) = split(words)?;
        self.find(opcode, modifiers, types)
    }
}

pub(super) static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let rows = table::rows(mnemonic::Opcode::Cvt);
    let entries: Vec<Entry> = rows.iter().flat_map(expand).flatten().collect();
    let index = (0..).zip(&entries).map(|(i, e)| ((e.opcode, e.modifiers, e.types), i)).collect();
    Table { entries, index }
});

/// The forms of a row. Earlier words vary slowest, and an optional word is absent before it is present. `None` stands
/// for a form that this module cannot describe; a test holds that there is none.
fn expand(row: &'static Parsed) -> Vec<Option<Entry>> {
    let mut spellings: Vec<Vec<mnemonic::Modifier>> = vec![Vec::new()];
    for slot in &row.slots {
        let absent = slot.optional.then_some(None);
        let choices: Vec<_> = absent.into_iter().chain(slot.choices.iter().copied().map(Some)).collect();
        let longer = spellings.iter().flat_map(|words| {
            choices.iter().map(move |choice| words.iter().copied().chain(*choice).collect())
        });
        spellings = longer.collect();
    }
    spellings.iter().map(|words| entry(row, words)).collect()
}

fn entry(row: &Parsed, words: &[mnemonic::Modifier]) -> Option<Entry> {
    let (opcode, modifiers, types) = split(words)?;
    let stands = |operand: &&language::Operand| match operand.presence {
        Presence::With(word) => words.contains(&word),
        Presence::Always | Presence::Optional => true,
    };
    let mut operands = Vec::new();
    let mut values = Vec::new();
    for operand in row.operands.iter().filter(stands) {
        let Kind::Value(value) = &operand.kind else { return None };
        values.push(value.instantiate(types.as_slice(), value.access())?);
        let name = OperandName::from_name(value.name)?;
        operands.push(match &value.count {
            None => Operand::Single(name),
            Some(Count::Fixed { counts, .. }) if *counts == [4] && name == OperandName::A => {
                Operand::Vector(vec![OperandName::A, OperandName::B, OperandName::E, OperandName::F])
            }
            Some(_) => return None,
        });
    }
    Some(Entry { opcode, modifiers, types, operands, values, availability: row.row.availability })
}

/// The words of a form by their kinds.
fn split(words: &[mnemonic::Modifier]) -> Option<(Opcode, Modifiers, Types)> {
    let (opcode, words) = match words.split_first() {
        Some((mnemonic::Modifier::Pack, rest)) => (Opcode::CvtPack, rest),
        _ => (Opcode::Cvt, words),
    };
    let mut modifiers = Modifiers::NONE;
    let mut types = Vec::new();
    for word in words {
        match word.ty() {
            Some(ty) => types.push(ty),
            None => modifiers = modifiers.with(Modifier::from_name(word.name())?),
        }
    }
    Some((opcode, modifiers, Types::new(&types)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_expands_and_no_form_comes_twice() {
        let rows = table::rows(mnemonic::Opcode::Cvt);
        assert!(rows.len() > 80, "{} rows", rows.len());
        for row in rows {
            let forms = expand(row);
            assert!(!forms.is_empty() && forms.iter().all(Option::is_some), "{}", row.row.line);
        }
        assert_eq!(TABLE.index.len(), TABLE.entries.len());
    }
}
