//! Tests of the tables of instructions, types and spaces.
//!
//! One binary: each further one would link all crates again, and compile what tests share.

mod errors;
mod forms;
mod golden;
mod instructions;
mod rows;
mod spaces;
mod types;
