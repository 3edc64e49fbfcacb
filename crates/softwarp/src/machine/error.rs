//! Why something failed that a program asked of a machine.

use crate::plain;
use crate::source::Source;
use crate::syntax::Diagnostic;
use crate::vm::device::{LaunchError, LoadError};
use crate::vm::memory::global::MemoryError;
use crate::vm::texture::TextureError;

/// Why something failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A module is not valid: what is wrong, and all of it as text with the lines that it is about.
    #[error("the module is not valid\n{}", text.trim_end())]
    Invalid {
        /// What is wrong.
        errors: Vec<Diagnostic>,
        /// The errors as text, each with its line.
        text: String,
    },
    /// Modules do not fit together, or not into memory.
    #[error("the modules cannot be linked{}", first(.0))]
    Unlinked(Vec<Diagnostic>),
    /// A module cannot be loaded beside the others.
    #[error(transparent)]
    Load(LoadError),
    /// Memory cannot be had, read or written.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// A texture, surface or sampler cannot be made or bound.
    #[error(transparent)]
    Texture(#[from] TextureError),
    /// A tensor map breaks rules: all of them.
    #[error("{}", rules(.0))]
    TensorMap(Vec<Diagnostic>),
    /// A struct has no room for a member.
    #[error("a member at {at} does not fit into {bytes} bytes")]
    Member {
        /// Where the member would begin.
        at: usize,
        /// The struct's bytes.
        bytes: usize,
    },
    /// A launch failed, or was refused.
    #[error(transparent)]
    Launch(#[from] LaunchError),
}

impl Error {
    pub(super) fn invalid(source: &Source, errors: Vec<Diagnostic>) -> Error {
        let text = errors.iter().map(|one| plain::text(source, one)).collect();
        Error::Invalid { errors, text }
    }
}

/// The first of what is wrong between modules.
fn first(found: &[Diagnostic]) -> String {
    found.first().map_or(String::new(), |first| format!(": {}", first.message))
}

/// Rules that are broken, with their codes.
fn rules(found: &[Diagnostic]) -> String {
    let words: Vec<String> = found.iter().map(|one| format!("{} [{}]", one.message, one.code)).collect();
    words.join("; ")
}
