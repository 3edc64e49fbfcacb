//! softwarp for web pages: everything that the explorer shows, behind one function that takes and gives JSON.
//!
//! [`call`] answers a request. Compiled to WebAssembly, the module exports it with `alloc` and `free` (`abi.rs`), and needs
//! nothing from the page: no imports, no threads, no clock, no files. `web/src/engine-types.ts` states every call, with what
//! it takes and answers.
//!
//! ```
//! let answer = softwarp_web::call(br#"{"call": "number.decode", "format": "e4m3", "bits": "0x7e"}"#);
//! let answer: serde_json::Value = serde_json::from_slice(&answer).unwrap();
//! assert_eq!(answer["ok"]["text"], "448");
//! let answer = softwarp_web::call(b"{}");
//! assert!(answer.starts_with(br#"{"error":{"message":"#));
//! ```
//!
//! # Modules
//!
//! - `engine`: which call is answered by what. `request`: reading requests, and errors.
//! - `text`: checks, hover, completion and so on. `module`: layouts, operations, kernels.
//! - `launch`: runs of kernels, and steps through them. `numbers`, `blocks`, `tensors`: what is said there.

pub mod abi;
mod blocks;
mod engine;
mod launch;
mod module;
mod numbers;
mod request;
mod tensors;
mod text;

pub use engine::{CALLS, Engine};

use std::cell::RefCell;

thread_local! {
    /// The engine of the page: launches live between calls.
    static ENGINE: RefCell<Engine> = RefCell::default();
}

/// Answers a request with the engine of this thread.
pub fn call(request: &[u8]) -> Vec<u8> {
    ENGINE.with_borrow_mut(|engine| engine.call(request))
}
