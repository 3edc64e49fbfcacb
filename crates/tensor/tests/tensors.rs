//! Tests of tensor maps and copies.
//!
//! One binary: each further one would link all crates again, and compile what tests share.

mod copies;
mod encode;
mod examples;
mod object;
mod properties;
mod rules;
mod support;
mod swizzles;
