//! A language server for PTX (Language Server Protocol 3.17).
//!
//! [`serve`] speaks the protocol on two streams: diagnostics as one types, hover, completion, signature help, definitions,
//! references, renaming, outline, folding, semantic highlighting, formatting, inlay hints, call hierarchy, code actions,
//! and code lenses that run kernels. `softwarp lsp` serves standard input and output.
//!
//! ```
//! use softwarp_lsp::{Ended, Options, serve};
//!
//! let message = |text: &str| format!("Content-Length: {}\r\n\r\n{text}", text.len());
//! let input = [
//!     message(r#"{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"capabilities": {}}}"#),
//!     message(r#"{"jsonrpc": "2.0", "id": 2, "method": "shutdown"}"#),
//!     message(r#"{"jsonrpc": "2.0", "method": "exit"}"#),
//! ];
//! let mut output = Vec::new();
//! let ended = serve(std::io::Cursor::new(input.concat()), &mut output, Options::default()).unwrap();
//! assert_eq!(ended, Ended::Properly);
//! assert!(String::from_utf8(output).unwrap().contains("hoverProvider"));
//! ```
//!
//! # Modules
//!
//! - `protocol`: the structures of messages. `server`, `transport`, `requests`, `capabilities`: messages, and who answers
//!   them. `world` has the documents.
//! - `text`: positions; `analysis`: what a text means; `flow`: which instructions wrote a register. What is being
//!   written is for [`softwarp_syntax::cursor`], and the names in a text for [`softwarp_check::occurrences`]: those crates
//!   are optimised, and this one is not.
//! - `alone`: the features for programs that are not clients.
//! - The features, one file each: `diagnostics`, `hover` (with `words` and `constant`), `completion`, `navigate`,
//!   `symbols`, `highlighting`, `hints`, `calls`, `actions`, `lenses` and `run`.
//!
//! Diagnostics go by [`softwarp_check::Recheck`], which judges only the bodies that have changed. The other features
//! read the whole text when they are first asked for after a change.

#![forbid(unsafe_code)]

mod actions;
mod alone;
mod analysis;
mod calls;
mod capabilities;
mod completion;
mod constant;
mod diagnostics;
mod difference;
mod flow;
mod highlighting;
mod hints;
mod hover;
mod initialize;
mod lenses;
mod levels;
mod navigate;
mod protocol;
mod requests;
mod run;
mod server;
mod source_lines;
mod symbols;
mod text;
mod transport;
mod uri;
mod words;
mod world;

pub use alone::Alone;
pub use levels::{Level, Levels};
pub use server::{Ended, Options, serve};
