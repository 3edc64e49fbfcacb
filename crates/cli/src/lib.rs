//! The `softwarp` command: everything between the [`softwarp`] library and people, files and terminals.
//!
//! [`main`] parses the arguments and runs a command; [`run_words`] does so for programs that have the words elsewhere.
//! `commands/` has one file for each; a command reads files, calls the library and renders what it returns. [`cuda`]
//! compiles CUDA C++. What commands share is in the crates `softwarp-files` (files and arrays),
//! `softwarp-launch` (launch files, recorded results), `softwarp-listing` and `softwarp-report` (tables and pictures), whose
//! modules are here, too.
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

mod commands;
pub mod cuda;

pub use commands::{main, run_words};
pub use softwarp::literal;
pub use softwarp_files::{
    arrays, blocks, bytes, differences, input, json, locate, npy, npz, render, ulp, values,
};
pub use softwarp_launch::{gpu, run, verify};
pub use softwarp_listing::{layout, lowered};
pub use softwarp_report::formats::draw as draw_format;
pub use softwarp_report::{codes, columns, explain, formats, names, numbers, svg, tensors, widening};
