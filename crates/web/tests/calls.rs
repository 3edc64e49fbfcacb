//! Tests of the calls of the page.
//!
//! One binary: each further one would link all crates again, and compile what tests share.

mod common;
mod launches;
mod numbers;
mod runs;
mod texts;
