//! Number formats and the conversions between them, exact to the bit.
mod body;
mod carrier;
mod clones;
mod conversion;
mod cvt;
mod format;
mod kernel;
pub use clones::{LEVEL_VARIABLE, Level, Vectorise, vectorised};
pub use conversion::{Conversion, Rounding, Saturation, Scaling};
pub use cvt::{Cvt, Extra, extend, pack};
pub use format::{Format, Kind, Packed, Spec, TopCodes};
pub use kernel::Kernel;
