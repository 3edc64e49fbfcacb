//! Tests of the arithmetic of instructions.
//!
//! One binary: each further one would link all crates again, and compile what tests share.

mod approx;
mod float_ops;
mod integer_ops;
mod matrix_float;
mod matrix_registers;
mod tensor_core;
