//! Tests of conversions.
//!
//! One binary: each further one would link all crates again, and compile what tests share.

mod exhaustive;
mod folding;
mod levels;
mod ml_dtypes;
mod packed;
mod reference;
mod wide_floats;
mod wide_integers;
