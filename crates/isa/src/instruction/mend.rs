//! What a wrong mnemonic was certainly meant to be.
//!
//! [`MnemonicError::nearest`] is a guess, for people. This is for programs that change the text without asking: there
//! must be one legal spelling that a single slip leads to, and no other.

use super::{MnemonicError, MnemonicErrorKind, Opcode, opcodes, resolve};
use crate::nearest::slips;
use crate::table::rows;

/// The whole mnemonic that was certainly meant, for the error that [`resolve`] gave.
pub fn mend(opcode: &str, modifiers: &[&str], error: &MnemonicError) -> Option<String> {
    match &error.kind {
        MnemonicErrorKind::UnknownOpcode { .. } => {
            let near = slips(opcode, opcodes()).into_iter();
            only(near.filter(|known| resolve(known, modifiers).is_ok()).map(|known| spell(known, modifiers)))
        }
        MnemonicErrorKind::UnknownModifier { word, .. } => {
            let &at = error.words.first()?;
            let slots = rows(Opcode::from_name(opcode)?).iter().flat_map(|row| &row.slots);
            let known = slots.flat_map(|slot| slot.choices.iter().map(|choice| choice.name()));
            only(slips(word, known).into_iter().filter_map(|known| {
                let mut words = modifiers.to_vec();
                *words.get_mut(at)? = known;
                resolve(opcode, &words).is_ok().then(|| spell(opcode, &words))
            }))
        }
        MnemonicErrorKind::Duplicate { word } => {
            let &at = error.words.first()?;
            let mut words = modifiers.to_vec();
            let gone = (at < words.len()).then(|| words.remove(at))?;
            let twice = gone == word && words.contains(&gone);
            (twice && resolve(opcode, &words).is_ok()).then(|| spell(opcode, &words))
        }
        MnemonicErrorKind::Missing { choices, .. } => match choices[..] {
            [one] => arranged(error, opcode, modifiers.iter().copied().chain([one]).collect()),
            _ => None,
        },
        MnemonicErrorKind::Misplaced { .. } => {
            let &at = error.words.first()?;
            let mut words = modifiers.to_vec();
            let name = (at < words.len()).then(|| words.remove(at))?;
            words.insert(0, name);
            match resolve(opcode, &words) {
                Ok(_) => Some(spell(opcode, &words)),
                Err(_) => arranged(error, opcode, modifiers.to_vec()),
            }
        }
        MnemonicErrorKind::NotWithOpcode { .. } | MnemonicErrorKind::Combination { .. } => None,
    }
}

/// The nearest legal spelling, if it has exactly these words.
fn arranged(error: &MnemonicError, opcode: &str, mut words: Vec<&str>) -> Option<String> {
    let near = error.nearest.as_deref()?;
    let (name, rest) = near.split_once('.')?;
    let arranged: Vec<&str> = rest.split('.').collect();
    let mut sorted = arranged.clone();
    sorted.sort_unstable();
    words.sort_unstable();
    (name == opcode && sorted == words && resolve(opcode, &arranged).is_ok()).then(|| near.to_owned())
}

fn spell(opcode: &str, words: &[&str]) -> String {
    words.iter().fold(opcode.to_owned(), |text, word| text + "." + word)
}

/// The only one there is.
fn only(mut all: impl Iterator<Item = String>) -> Option<String> {
    let one = all.next()?;
    all.next().is_none().then_some(one)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mended(mnemonic: &str) -> Option<String> {
        let mut words = mnemonic.split('.');
        let opcode = words.next().unwrap_or_default();
        let modifiers: Vec<&str> = words.collect();
        let error = resolve(opcode, &modifiers).expect_err("it is wrong");
        mend(opcode, &modifiers, &error)
    }

    #[test]
    fn one_slip_is_mended() {
        for (wrong, right) in [
            ("sbu.s32", "sub.s32"),
            ("add.F32", "add.f32"),
            ("fma.rn.f23", "fma.rn.f32"),
            ("ld.globl.u32", "ld.global.u32"),
            ("mul.s32.lo", "mul.lo.s32"),
            (
                "mma.aligned.m16n8k16.row.col.f32.f16.f16.f32",
                "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
            ),
        ] {
            assert_eq!(mended(wrong).as_deref(), Some(right), "{wrong}");
        }
    }

    #[test]
    fn what_could_be_several_things_is_left_alone() {
        for wrong in ["ad.s32", "add.x32", "fma.f32", "add.rn.u32", "banana.f32", "shfl.sync.b32"] {
            assert_eq!(mended(wrong), None, "{wrong}");
        }
    }
}
