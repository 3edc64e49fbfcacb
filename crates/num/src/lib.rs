//! Number formats and the conversions between them, exact to the bit.
pub mod block;
mod body;
mod carrier;
mod clones;
mod conversion;
mod cvt;
mod format;
mod kernel;
pub mod slice;
mod stream;
mod value;
pub use clones::{LEVEL_VARIABLE, Level, Vectorise, vectorised};
pub use conversion::{Conversion, Rounding, Saturation, Scaling};
pub use cvt::{Cvt, Extra, extend, pack};
pub use format::{Format, Kind, Packed, Spec, TopCodes};
pub use kernel::Kernel;
pub use value::Class;
