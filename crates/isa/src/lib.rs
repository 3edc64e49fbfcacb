//! The PTX instruction set as data: types, versions, targets and the instruction table.
//!
//! What a name means and which spellings are legal is decided here, from tables that read like the
//! manual; how numbers convert is [`softwarp_num`]'s business, and reading `.ptx` text is that of the
//! crates above. Nothing here fails on bad input other than by returning an error that says why.
//!
//! [`instruction`] asks the instruction table: what a mnemonic means, which operands it wants, and where it
//! exists. `cvt` and `cvt.pack` have a table of their own, [`cvt`], because what they do with numbers is
//! described as well; [`pattern`] is the language of its rows.
//!
//! ```
//! use softwarp_isa::{Form, Target, Version};
//!
//! let form = Form::parse("rn.satfinite.e4m3x2.f32").unwrap();
//! assert_eq!(form.to_string(), "cvt.rn.satfinite.e4m3x2.f32");
//! let target = Target::from_name("sm_89").unwrap();
//! assert_eq!(form.min_version(target), Some(Version::new(8, 1)));
//!
//! let error = Form::parse("rn.e4m3x2.f32").unwrap_err();
//! assert_eq!(
//!     error.to_string(),
//!     "`.satfinite` is required for `e4m3x2`; did you mean cvt.rn.satfinite.e4m3x2.f32?"
//! );
//! ```

#![forbid(unsafe_code)]

pub mod availability;
pub mod cvt;
pub mod instruction;
pub mod pattern;
pub mod space;
pub mod special;
pub mod target;
pub mod types;
pub mod version;

mod mnemonic;
mod nearest;
mod row;
mod table;

pub use availability::{Availability, Targets};
pub use cvt::{Form, FormError, Semantics};
pub use nearest::nearest;
pub use space::{Opaque, StateSpace};
pub use special::SpecialRegister;
pub use target::{Target, TargetError, Variant};
pub use types::{Class, Type};
pub use version::{Version, VersionError};
