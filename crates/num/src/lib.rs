//! Number formats and the conversions between them, exact to the bit.
mod conversion;
mod cvt;
mod format;
pub use conversion::{Conversion, Rounding, Saturation, Scaling};
pub use cvt::Cvt;
pub use format::{Format, Kind, Packed, Spec, TopCodes};
