//! Tensor maps and tensor copies (PTX ISA section 5.5): make, read and judge the 128-byte tensor map; perform any
//! tensor copy as the hardware would; say why something is illegal, and where each byte goes.
//!
//! A [`Description`] is what somebody asks for, in the driver's terms, right or wrong. [`rules`] judge it and say
//! all that is wrong with it; what is right is a [`Map`]. [`object`] turns maps into the 128 bytes that the
//! hardware reads, and back. A [`walk`] says which bytes an instruction moves where, as runs; [`copy`] moves them.
//!
//! Knows nothing of PTX text.

#![forbid(unsafe_code)]

pub mod codes;
pub mod copy;
pub mod map;
pub mod object;
pub mod reduce;
pub mod replace;
pub mod rules;
pub mod swizzle;
pub mod types;
pub mod walk;

pub use codes::{explain, unlisted};
pub use map::{Access, Description, Map, packed_strides};
pub use rules::check;
pub use softwarp_diagnostic::{Code, Diagnostic, Explained, Severity};
pub use softwarp_isa::Target;
pub use types::{Element, Fill, Interleave, Promotion, Swizzle, WideMode};
pub use walk::{Cell, Direction, Fault, Mode, Packing, Request, Run, Source, Walk};
