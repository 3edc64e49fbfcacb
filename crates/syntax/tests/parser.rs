//! Tests of the parser and the printer.
//!
//! One binary: each further one would link all crates again, and compile what tests share.

mod assembler;
mod common;
mod format;
mod hostile;
mod mutations;
