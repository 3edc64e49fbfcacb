//! Files and arrays of softwarp, read, converted and compared.
//!
//! - Reading: [`input`] reads within bounds, [`json`] refuses unknown and repeated keys, [`locate`] finds the line of a
//!   value, [`npy`] and [`npz`] are NumPy's formats.
//! - Arrays: [`arrays`], [`values`] and [`blocks`] convert and quantise what is in them, [`differences`] and [`ulp`]
//!   measure how far arrays and codes are apart.
//! - [`bytes`] has hexadecimal digits and words that are made by a rule, [`space`] converts all numbers of an input space and sums up hashes of the results.
//! - [`render`] shows diagnostics as excerpts of their files.
//!
//! Nothing here reads arguments or prints: that is the crate `softwarp-cli`. Commands and `softwarp-launch` are compiled
//! without optimisation; the loops over elements and over bytes of files are here, compiled for speed.

#![forbid(unsafe_code)]

pub mod arrays;
pub mod blocks;
pub mod bytes;
pub mod differences;
pub mod input;
pub mod json;
pub mod locate;
pub mod npy;
pub mod npz;
pub mod render;
pub mod space;
pub mod ulp;
pub mod values;

use softwarp_report::{formats, names};
