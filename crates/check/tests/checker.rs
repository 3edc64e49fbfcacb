//! Tests of the checker.
//!
//! One binary: each further one would link all crates again, and compile what tests share.

mod codes;
mod constants;
mod cta_groups;
mod directives;
mod fixes;
mod meaning;
mod old_versions;
mod operands;
mod outline;
mod real_modules;
mod recheck;
mod recovery;
mod rules;
mod video_tensor;
