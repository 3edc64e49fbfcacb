//! Runs PTX kernels on the CPU, a warp at a time.

pub mod device;
pub mod fault;
pub mod lanes;
pub mod launch;
pub mod lower;
pub mod matrix;
pub mod mbarrier;
pub mod memory;
pub mod ops;
pub mod program;
pub mod sanitize;
pub mod stats;
pub mod texture;

mod cluster;
mod cta;
mod grid;
mod tuning;
mod warp;
