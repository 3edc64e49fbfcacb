//! The `softwarp` command: everything between the [`softwarp`] library and people, files and terminals.
//!
//! [`main`] parses the arguments and runs a command; [`run_words`] does so for programs that have the words elsewhere. `commands/` has one file for each; a command reads files, calls
//! the library and renders what it returns. The modules here are what commands share:
//!
//! - Files: [`input`] reads within bounds, [`json`] refuses unknown and repeated keys, [`npy`] and [`npz`] are NumPy's
//!   formats, [`arrays`] and [`blocks`] convert and quantise what is in them.
//! - Numbers: [`literal`] reads and writes them as text, [`names`] has the names of formats, [`explain`] says what a
//!   conversion did and why, [`widening`] has exact conversions beyond PTX's, [`ulp`] measures how far codes are apart.
//! - Kernels: [`run`] has launch files and what a launch came to, [`verify`] replays recorded results,
//!   [`cuda`] compiles CUDA C++.
//! - Pictures and tables: [`layout`] shows a memory layout, [`tensors`] tensor maps and copies, [`render`] diagnostics,
//!   [`columns`] tables, [`svg`] elements of drawings.
//!
//! The crate is a library so that the binary and the tests share one compilation. Programs in Rust use [`softwarp`]
//! instead; this interface may change with any version.
//!
//! ```
//! // What `softwarp cvt` makes of a number in its arguments.
//! use softwarp::num::Format;
//! use softwarp_cli::literal::{Literal, LiteralError, display};
//!
//! let encoded = Literal::parse("1.5")?.encode(Format::F16)?;
//! assert_eq!(encoded.code, 0x3e00);
//! assert_eq!(display(Format::F16, encoded.code), "1.5");
//! # Ok::<(), LiteralError>(())
//! ```

#![forbid(unsafe_code)]

pub mod arrays;
pub mod blocks;
pub mod codes;
pub mod columns;
mod commands;
pub mod cuda;
pub mod explain;
pub mod input;
pub mod json;
pub mod layout;
pub use softwarp::literal;
pub mod locate;
pub mod names;
pub mod npy;
pub mod npz;
pub mod render;
pub mod run;
pub mod svg;
pub mod tensors;
pub mod ulp;
pub mod verify;
pub mod widening;

pub use commands::{draw_format, main, run_words};
