//! Runs PTX kernels on the CPU, a warp at a time.
//!
//! [`device`] is the way in. The modules that are hidden here are public for this workspace's own tests and benches and
//! may change at any time; they are safe to use all the same.

pub mod account;
#[doc(hidden)]
pub mod decode;
pub mod device;
pub mod fault;
pub mod launch;
pub mod memory;
pub mod sanitize;
pub mod schedule;
pub mod stats;
pub mod texture;

mod barrier;
mod cluster;
mod context;
mod cta;
mod fast;
mod grid;
mod launch_info;
mod meter;
mod tuning;
mod warp;
