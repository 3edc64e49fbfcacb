//! Files of softwarp: NumPy arrays, launch files and recorded results, read, run and compared.
//!
//! - Reading: [`input`] reads within bounds, [`json`] refuses unknown and repeated keys, [`locate`] finds the line of a
//!   value, [`npy`] and [`npz`] are NumPy's formats.
//! - Arrays: [`arrays`], [`values`] and [`blocks`] convert and quantise what is in them, [`differences`] and [`ulp`]
//!   measure how far arrays and codes are apart.
//! - Kernels: [`run`] has launch files and what a launch came to, [`mod@gpu`] runs them on a GPU, [`verify`] replays
//!   recorded results.
//! - [`render`] shows diagnostics as excerpts of their files.
//!
//! Nothing here reads arguments or prints: that is the crate `softwarp-cli`. Commands are compiled for size and in
//! little time; the loops over elements and recorded rows are here, compiled for speed.

#![forbid(unsafe_code)]

pub mod arrays;
pub mod blocks;
pub mod differences;
pub mod gpu;
pub mod input;
pub mod json;
pub mod locate;
pub mod npy;
pub mod npz;
pub mod render;
pub mod run;
pub mod ulp;
pub mod values;
pub mod verify;

use softwarp::literal;
use softwarp_report::{explain, formats, names, tensors};
