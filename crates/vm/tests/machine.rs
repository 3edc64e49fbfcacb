//! The tests of the machine, a module for each subject.
//!
//! One binary: each further one would link all crates again, and compile what tests share. `compiled` is apart: it
//! runs for hours, on other machines too.

mod asynchronous;
mod auto;
mod clusters;
mod compare;
mod compile_limits;
mod compiled_conversions;
mod compiled_lanes;
mod contract;
mod endless;
mod faults;
mod filetests;
mod float_environment;
mod limits;
mod litmus;
mod long_runs;
mod matrix;
mod modules;
mod nested;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
#[path = "../../num/tests/odd_environment/mod.rs"]
mod odd_environment;
mod one_address;
mod panics;
mod plans;
mod planted;
mod programs;
mod race_rows;
mod runtime;
mod sanitize;
mod sanitized;
mod small;
mod spare;
mod special_functions;
mod state_spaces;
mod texture_races;
mod textures;
mod unwaited;
