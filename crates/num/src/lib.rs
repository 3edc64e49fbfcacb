//! The number formats of PTX and every conversion between them, exact to the bit.
//!
//! A [`Format`] is data; a [`Conversion`] is a value that says from which format to which, and how; a
//! [`Kernel`] is the loop compiled for it. [`Cvt`] is a whole `cvt` instruction on registers. Arrays are
//! converted by [`slice`](mod@slice), block-scaled ones (MX, NVFP4) by [`block`].
//!
//! ```
//! use softwarp_num::{Conversion, Format, Rounding, Saturation};
//!
//! let to_e4m3 = Conversion::new(Format::F32, Format::E4m3).with_saturation(Saturation::Finite);
//! let kernel = to_e4m3.kernel().expect("PTX has this conversion");
//!
//! // One value...
//! assert_eq!(kernel.one(1000f32.to_bits().into(), 0), 0x7e); // 448, the largest
//! // ...or an array.
//! let source: Vec<u8> = [1.5f32, -0.1, f32::NAN].iter().flat_map(|x| x.to_le_bytes()).collect();
//! let mut codes = [0; 3];
//! kernel.run(&source, &[], &mut codes);
//! assert_eq!(codes, [0x3c, 0x9d, 0x7f]);
//! assert_eq!(Format::E4m3.decode(0x9d), -0.1015625);
//! # assert_eq!(Format::E4m3.encode(-0.1, Rounding::NearestEven, Saturation::Finite), Some(0x9d));
//! ```
//!
//! Results do not depend on the floating-point environment that a host program has set: conversions run in
//! [the standard one](with_standard_floats) and restore the host's.
//!
//! This crate knows nothing of PTX text, reads and writes no files, and has `unsafe` in three modules only
//! (`levels`, `environment`, `stream`).

pub mod block;
mod body;
mod conversion;
mod cvt;
mod dedicated;
mod environment;
mod format;
mod forms;
mod kernel;
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
pub use cvt::{Cvt, Extra, extend, pack};
pub use environment::with_standard_floats;
pub use format::{Format, Kind, Packed, Spec, TopCodes};
pub use kernel::Kernel;
pub use levels::{
    Avx2, Avx512, Baseline, Cpu, LEVEL_VARIABLE, Level, Levels, Vectorise, vectorised, vectorised_rare,
};
pub use value::Class;
