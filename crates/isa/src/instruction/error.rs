//! Errors in mnemonics, as data and as a line of text.

/// The error of a mnemonic whose modifiers match no form of its opcode.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kind}")]
pub struct MnemonicError {
    /// What is wrong.
    pub kind: MnemonicErrorKind,
    /// The words at fault: indices into the modifiers given. Empty where something is missing.
    pub words: Vec<usize>,
    /// The nearest legal spelling of the whole mnemonic, if there is one near enough: `fma.rn.f32`.
    pub nearest: Option<String>,
}

/// What is wrong with a mnemonic.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MnemonicErrorKind {
    /// There is no such instruction.
    #[error("`{opcode}` is not an instruction")]
    UnknownOpcode {
        /// As written.
        opcode: String,
        /// The opcode it looks like.
        nearest: Option<&'static str>,
    },
    /// A word that no instruction has.
    #[error("no instruction has a modifier `.{word}`")]
    UnknownModifier {
        /// As written.
        word: String,
        /// The word it looks like.
        nearest: Option<&'static str>,
    },
    /// A word that this opcode never has.
    #[error("`{opcode}` has no modifier `.{word}`")]
    NotWithOpcode {
        /// The opcode.
        opcode: &'static str,
        /// The word.
        word: String,
    },
    /// A word that stands twice, or a second one of a kind of which there can be one.
    #[error("`.{word}` is one modifier too many of its kind")]
    Duplicate {
        /// The word.
        word: String,
    },
    /// Something must stand that does not: a rounding, a type, or any other word.
    #[error("a {what} is missing{}", choice(": ", .choices))]
    Missing {
        /// What could stand: `rn`, `rz`; or one word.
        choices: Vec<&'static str>,
        /// `rounding`, `type`, `comparison`, or just `modifier`.
        what: &'static str,
    },
    /// Words that the opcode has, but not this one with the others.
    #[error("`.{word}` does not go with the other modifiers{}", choice("; here could stand ", .choices))]
    Combination {
        /// The word that is in the way.
        word: String,
        /// What could stand in its place; empty if nothing could.
        choices: Vec<&'static str>,
    },
    /// A word of the opcode's name that stands elsewhere than right after it (`mul.s32.lo`).
    #[error("`.{word}` belongs to the instruction's name and stands right after it")]
    Misplaced {
        /// The word.
        word: String,
    },
}

impl MnemonicError {
    /// The stable code of the kind.
    pub fn code(&self) -> &'static str {
        match self.kind {
            MnemonicErrorKind::UnknownOpcode { .. } => "unknown-opcode",
            MnemonicErrorKind::UnknownModifier { .. } => "unknown-modifier",
            MnemonicErrorKind::NotWithOpcode { .. } => "modifier-not-with-opcode",
            MnemonicErrorKind::Duplicate { .. } => "duplicate-modifier",
            MnemonicErrorKind::Missing { .. } => "missing-modifier",
            MnemonicErrorKind::Combination { .. } => "modifier-combination",
            MnemonicErrorKind::Misplaced { .. } => "misplaced-modifier",
        }
    }
}

/// `before` and words that could stand, if there are any.
fn choice(before: &str, words: &[&str]) -> String {
    match words {
        [] => String::new(),
        _ => format!(
            "{before}{}",
            words.iter().map(|word| format!("`.{word}`")).collect::<Vec<_>>().join(", ")
        ),
    }
}
