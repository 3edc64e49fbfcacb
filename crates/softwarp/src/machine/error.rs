//! Why something failed that a program asked of a machine.

use crate::image::Finding;
use crate::plain;
use crate::source::Source;
use crate::syntax::Diagnostic;
use crate::tensor;
use crate::vm::device::LaunchError;
use crate::vm::memory::global::MemoryError;
use crate::vm::texture::TextureError;

/// Why something failed.
#[derive(Debug)]
pub enum Error {
    /// A module is not valid: what is wrong, and all of it as text with the lines that it is about.
    Invalid {
        /// What is wrong.
        errors: Vec<Diagnostic>,
        /// The same for people.
        text: String,
    },
    /// Modules do not fit together, or not into memory.
    Unlinked(Vec<Finding>),
    /// Memory cannot be had, read or written.
    Memory(MemoryError),
    /// A texture, surface or sampler cannot be made or bound.
    Texture(TextureError),
    /// A tensor map breaks rules: all of them.
    TensorMap(Vec<tensor::Finding>),
    /// A struct has no room for a member.
    Member {
        /// Where the member would begin.
        at: usize,
        /// The struct's bytes.
        bytes: usize,
    },
    /// A launch failed, or was refused.
    Launch(LaunchError),
}

impl Error {
    pub(super) fn invalid(source: &Source, errors: Vec<Diagnostic>) -> Error {
        let text = errors.iter().map(|one| plain::text(source, one)).collect();
        Error::Invalid { errors, text }
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Error::Invalid { text, .. } => write!(f, "the module is not valid\n{}", text.trim_end()),
            Error::Unlinked(found) => match found.first() {
                Some(first) => write!(f, "the modules cannot be linked: {}", first.diagnostic.message),
                None => write!(f, "the modules cannot be linked"),
            },
            Error::Memory(error) => write!(f, "{error}"),
            Error::Texture(error) => write!(f, "{error}"),
            Error::TensorMap(findings) => {
                let words: Vec<String> =
                    findings.iter().map(|one| format!("{} [{}]", one.message, one.code)).collect();
                write!(f, "{}", words.join("; "))
            }
            Error::Member { at, bytes } => write!(f, "a member at {at} does not fit into {bytes} bytes"),
            Error::Launch(error) => write!(f, "{error}"),
        }
    }
}

impl std::error::Error for Error {}

impl From<MemoryError> for Error {
    fn from(error: MemoryError) -> Error {
        Error::Memory(error)
    }
}

impl From<TextureError> for Error {
    fn from(error: TextureError) -> Error {
        Error::Texture(error)
    }
}

impl From<LaunchError> for Error {
    fn from(error: LaunchError) -> Error {
        Error::Launch(error)
    }
}
