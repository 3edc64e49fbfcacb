//! What is wrong with a mnemonic: data, and one line of words for it.

use std::fmt;

/// Why a mnemonic is no form of its opcode.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// What is wrong.
    pub kind: FaultKind,
    /// The words at fault: indices into the modifiers given. Empty where something is missing.
    pub words: Vec<usize>,
    /// The nearest legal spelling of the whole mnemonic, if there is one near enough: `fma.rn.f32`.
    pub nearest: Option<String>,
}

/// The kinds of fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// There is no such instruction.
    UnknownOpcode {
        /// As written.
        opcode: String,
        /// The opcode it looks like.
        nearest: Option<&'static str>,
    },
    /// A word that no instruction has.
    UnknownModifier {
        /// As written.
        word: String,
        /// The word it looks like.
        nearest: Option<&'static str>,
    },
    /// A word that this opcode never has.
    NotWithOpcode {
        /// The opcode.
        opcode: &'static str,
        /// The word.
        word: String,
    },
    /// A word that stands twice, or a second one of a kind of which there can be one.
    Duplicate {
        /// The word.
        word: String,
    },
    /// Something must stand that does not: a rounding, a type, or any other word.
    Missing {
        /// What could stand: `rn`, `rz`; or one word.
        choices: Vec<&'static str>,
        /// `rounding`, `type`, `comparison`, or just `modifier`.
        what: &'static str,
    },
    /// Words that the opcode has, but not this one with the others.
    Combination {
        /// The word that is in the way.
        word: String,
        /// What could stand in its place; empty if nothing could.
        choices: Vec<&'static str>,
    },
    /// A word of the opcode's name that stands elsewhere than right after it (`mul.s32.lo`).
    Misplaced {
        /// The word.
        word: String,
    },
}

impl Fault {
    /// The stable code of the kind.
    pub fn code(&self) -> &'static str {
        match self.kind {
            FaultKind::UnknownOpcode { .. } => "unknown-opcode",
            FaultKind::UnknownModifier { .. } => "unknown-modifier",
            FaultKind::NotWithOpcode { .. } => "modifier-not-with-opcode",
            FaultKind::Duplicate { .. } => "duplicate-modifier",
            FaultKind::Missing { .. } => "missing-modifier",
            FaultKind::Combination { .. } => "modifier-combination",
            FaultKind::Misplaced { .. } => "misplaced-modifier",
        }
    }
}

fn dotted(words: &[&str]) -> String {
    words.iter().map(|word| format!("`.{word}`")).collect::<Vec<_>>().join(", ")
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            FaultKind::UnknownOpcode { opcode, .. } => write!(f, "`{opcode}` is not an instruction"),
            FaultKind::UnknownModifier { word, .. } => write!(f, "no instruction has a modifier `.{word}`"),
            FaultKind::NotWithOpcode { opcode, word } => write!(f, "`{opcode}` has no modifier `.{word}`"),
            FaultKind::Duplicate { word } => write!(f, "`.{word}` is one modifier too many of its kind"),
            FaultKind::Missing { choices, what } if choices.is_empty() => write!(f, "a {what} is missing"),
            FaultKind::Missing { choices, what } => {
                write!(f, "a {what} is missing: {}", dotted(choices))
            }
            FaultKind::Combination { word, choices } if choices.is_empty() => {
                write!(f, "`.{word}` does not go with the other modifiers")
            }
            FaultKind::Combination { word, choices } => {
                write!(
                    f,
                    "`.{word}` does not go with the other modifiers; here could stand {}",
                    dotted(choices)
                )
            }
            FaultKind::Misplaced { word } => {
                write!(f, "`.{word}` belongs to the instruction's name and stands right after it")
            }
        }
    }
}

impl std::error::Error for Fault {}
