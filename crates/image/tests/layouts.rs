//! Tests of layout and linking.
//!
//! One binary: each further one would link all crates again, and compile what tests share.

mod linking;
mod manual;
mod memory;
mod support;
