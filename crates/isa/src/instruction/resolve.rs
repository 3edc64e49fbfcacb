//! Finds the rows that cover a mnemonic.

use super::operands::wanted;
use super::{Gate, InstructionForm, MnemonicError, MnemonicErrorKind, Opcode, Signature, convert, diagnose};
use crate::nearest::nearest;
use crate::row::language::{self, Parsed, Presence};
use crate::spelling::Spelling;
use crate::table::{self, rows};

/// Every opcode.
pub fn opcodes() -> impl Iterator<Item = &'static str> {
    Opcode::ALL.iter().map(|opcode| opcode.name())
}

/// Whether there is such an instruction.
pub fn known(opcode: &str) -> bool {
    Opcode::from_name(opcode).is_some()
}

/// A mnemonic of an opcode, made by choices: the function is given a number of possibilities, more than none, and
/// says which. Words that exclude one another may stand together in it: [`resolve`] says whether it is legal.
pub fn spell(opcode: &str, mut choose: impl FnMut(usize) -> usize) -> Option<String> {
    let rows = rows(Opcode::from_name(opcode)?);
    let row = rows.get(choose(rows.len().max(1)))?;
    let mut mnemonic = opcode.to_owned();
    for slot in &row.slots {
        // One more possibility: nothing.
        let word = slot.choices.get(choose(slot.choices.len() + usize::from(slot.optional)));
        if let Some(word) = word.or(slot.choices.first().filter(|_| !slot.optional)) {
            mnemonic.push('.');
            mnemonic.push_str(word.name());
        }
    }
    Some(mnemonic)
}

/// The opcode that a misspelt one looks like.
pub fn nearest_opcode(opcode: &str) -> Option<&'static str> {
    let mut all: Vec<&'static str> = opcodes().collect();
    all.sort_unstable();
    nearest(opcode, all)
}

/// No mnemonic has more words; a longer one is not worth the time to understand.
const MOST_WORDS: usize = 40;

/// What an opcode and the words after it spell: the operand lists of all rows that cover them. Words are without their dots, in any order that the
/// assembler takes.
pub fn resolve(opcode: &str, modifiers: &[&str]) -> Result<Box<InstructionForm>, MnemonicError> {
    if let Some(word) = modifiers.get(MOST_WORDS) {
        let kind = MnemonicErrorKind::Duplicate { word: (*word).to_owned() };
        return Err(MnemonicError { kind, words: vec![MOST_WORDS], nearest: None });
    }
    let Some(opcode) = Opcode::from_name(opcode) else {
        let kind =
            MnemonicErrorKind::UnknownOpcode { opcode: opcode.to_owned(), nearest: nearest_opcode(opcode) };
        return Err(MnemonicError { kind, words: Vec::new(), nearest: None });
    };
    let spelling = Spelling::new(opcode, modifiers);
    let mut found: Option<InstructionForm> = None;
    for row in rows(opcode) {
        let Some(words) = spelling.matches(row) else { continue };
        let form = found.get_or_insert_with(|| InstructionForm::new(opcode, words));
        let signature = signature(row, form);
        let again =
            |known: &Signature| known.operands == signature.operands && known.gates == signature.gates;
        if !form.signatures.iter().any(again) {
            form.signatures.push(signature);
        }
    }
    match found {
        Some(form) => Ok(Box::new(form)),
        None if opcode == Opcode::Cvt => Err(convert::fault(modifiers)),
        None => Err(diagnose::fault(opcode, rows(opcode), modifiers)),
    }
}

fn signature(row: &Parsed, form: &InstructionForm) -> Signature {
    let stands = |operand: &&language::Operand| match operand.presence {
        Presence::With(word) => form.words.contains(&word),
        Presence::Always | Presence::Optional => true,
    };
    let whole = Gate { word: None, any_of: row.row.availability, removed: row.row.removed };
    let gates = std::iter::once(whole).chain(table::word_gates(form.opcode, &form.words));
    Signature {
        syntax: row.row.line,
        operands: row.operands.iter().filter(stands).map(|operand| wanted(operand, form)).collect(),
        gates: gates.collect(),
    }
}
