//! The number formats of PTX and every conversion between them, exact to the bit.
//!
//! # Formats and conversions
//!
//! A [`Format`] names a row of a table: how many bits a code has and what they mean. [`Format::decode`] and
//! [`Format::encode`] give values of single codes. A [`Conversion`] says from which format to which, with which rounding,
//! saturation and scale. [`Conversion::compiled`] gives the compiled loops that perform it, a [`ConversionLoop`]:
//!
//! ```
//! use softwarp_num::{Conversion, Format, Rounding, Saturation};
//!
//! let to_e4m3 = Conversion::new(Format::F32, Format::E4m3).with_saturation(Saturation::Finite);
//! let compiled = to_e4m3.compiled().expect("PTX has this conversion");
//!
//! // One value...
//! assert_eq!(compiled.one(1000f32.to_bits().into(), 0), 0x7e); // 448, the largest
//! // ...or an array.
//! let source: Vec<u8> = [1.5f32, -0.1, f32::NAN].iter().flat_map(|x| x.to_le_bytes()).collect();
//! let mut codes = [0; 3];
//! compiled.run(&source, &[], &mut codes);
//! assert_eq!(codes, [0x3c, 0x9d, 0x7f]);
//! assert_eq!(Format::E4m3.decode(0x9d), -0.1015625);
//! # assert_eq!(Format::E4m3.encode(-0.1, Rounding::NearestEven, Saturation::Finite), Some(0x9d));
//! ```
//!
//! [`Cvt`] is a whole `cvt` instruction on registers of one, two or four elements. [`slice`](mod@slice) converts arrays
//! on all cores, [`block`] arrays with block scales (MX, NVFP4).
//!
//! One branchless function converts an element (`body`). It rounds in a working format, binary32 or binary64
//! (`working`). Modifiers are numbers that it compares with (`parameters`). Common conversions have loops of their own
//! (`dedicated`); the others share loops that run in stages (`stages`).
//!
//! # What other crates use besides
//!
//! - [`half`](mod@half): scalar codecs of f16, bf16 and FP8 for loops over lanes.
//! - [`multiversion!`], [`Level`], [`vectorised`]: multiversioning. A function is compiled for several sets of CPU
//!   features, and the best one that the CPU has is chosen at run time.
//! - [`with_standard_floats`]: results do not depend on the floating-point environment that a host program has set.
//!   Conversions run in the standard one and restore the host's.
//! - [`splitmix`]: random numbers from a seed.
//!
//! # Limits
//!
//! This crate knows nothing of PTX text, reads and writes no files, and has `unsafe` in three modules only (`levels`,
//! `environment`, `stream`).

pub mod block;
mod body;
mod conversion;
mod conversion_loop;
mod cvt;
mod dedicated;
mod environment;
mod format;
mod forms;
pub mod half;
mod levels;
mod parameters;
mod path;
pub mod slice;
pub mod splitmix;
mod stages;
mod stream;
mod value;
mod working;

pub use conversion::{Conversion, Rounding, Saturation, Scaling};
pub use conversion_loop::ConversionLoop;
pub use cvt::{Cvt, Extra, extend, pack};
pub use environment::with_standard_floats;
pub use format::{Format, Kind, Packed, Spec, TopCodes};
pub use levels::{
    Avx2, Avx512, Baseline, Cpu, LEVEL_VARIABLE, Level, Levels, Vectorise, vectorised, vectorised_rare,
};
pub use value::Class;
