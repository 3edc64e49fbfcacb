//! Launch files and recorded results, read, run and compared.
//!
//! - [`run`] has launch files and what a launch came to.
//! - [`mod@gpu`] runs launch files on a GPU.
//! - [`verify`] replays recorded results.
//!
//! Nothing here reads arguments or prints: that is the crate `softwarp-cli`. Like that one, this crate is compiled without
//! optimisation. Loops over elements, bytes of files and input spaces are in `softwarp-files`, which is compiled for speed.

#![forbid(unsafe_code)]

pub mod gpu;
pub mod run;
pub mod verify;

use softwarp::literal;
use softwarp_files::{arrays, bytes, input, json, locate, npy, render, space};
use softwarp_report::{explain, names, tensors};
