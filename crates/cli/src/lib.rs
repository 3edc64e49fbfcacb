//! The `softwarp` command: everything between the [`softwarp`] library and people, files and terminals.
//!
//! [`main`] parses the arguments and runs a command; [`run_words`] does so for programs that have the words elsewhere. `commands/` has one file for each; a command reads files, calls
//! the library and renders what it returns. The modules here are what commands share:
//!
//! - Files: [`input`] reads within bounds, [`json`] refuses unknown and repeated keys, [`npy`] and [`npz`] are NumPy's
//!   formats, [`arrays`] and [`blocks`] convert and quantise what is in them.
//! - Numbers: [`literal`] reads and writes them as text, [`ulp`] measures how far codes are apart.
//! - Kernels: [`run`] has launch files and what a launch came to, [`mod@gpu`] runs them on a GPU, [`verify`] replays
//!   recorded results,
//!   [`cuda`] compiles CUDA C++.
//! - [`render`] shows diagnostics. Other tables and pictures come from the crate `softwarp-report`, whose modules are
//!   here, too.
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
mod commands;
pub mod cuda;
pub mod gpu;
pub mod input;
pub mod json;
pub use softwarp::literal;
pub mod locate;
pub mod npy;
pub mod npz;
pub mod render;
pub mod run;
pub mod ulp;
pub mod verify;

pub use commands::{main, run_words};
pub use softwarp_report::formats::draw as draw_format;
pub use softwarp_report::{
    codes, columns, explain, formats, layout, lowered, names, numbers, svg, tensors, widening,
};
