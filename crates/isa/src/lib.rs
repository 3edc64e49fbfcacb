//! The PTX instruction set as data: types, versions, targets and the instruction table.
//!
//! What a name means and which spellings are legal is decided here, from tables that read like the
//! manual; how numbers convert is in [`softwarp_num`], and reading `.ptx` text is in the
//! crates above. Nothing here fails on bad input other than by returning an error that says why.
//!
//! - [`instruction::resolve`] asks the instruction table what a mnemonic means, which operands it wants, and where it
//!   exists. The rows are in `table/`, written in the language of `row/language.rs`: the manual's syntax lines with
//!   types added.
//! - [`cvt`] lists the forms of `cvt` and `cvt.pack`, which are rows of the same table, and says what they do with
//!   numbers.
//! - [`Type`], [`StateSpace`], [`SpecialRegister`], [`Version`] and [`Target`] are the names that programs use,
//!   [`availability`] says where something exists, [`device`] what the GPUs of a target have.
//!
//! ```
//! use softwarp_isa::instruction::{Modifier, Opcode, resolve};
//! use softwarp_isa::{CvtForm, Target, Type, Version};
//!
//! // Words may stand in any order that the assembler takes.
//! let load = resolve("ld", &["f32", "global", "v2"]).unwrap();
//! assert_eq!(load.mnemonic(), "ld.global.v2.f32");
//! assert_eq!((load.opcode, load.types[0]), (Opcode::Ld, Type::F32));
//! assert!(load.has(Modifier::V2));
//! assert_eq!(load.signatures[0].in_words(), "{d0, d1}, [a]");
//!
//! let fault = resolve("ld", &["globl", "f32"]).unwrap_err();
//! assert_eq!(fault.nearest.as_deref(), Some("ld.global.f32"));
//!
//! let form = CvtForm::parse("rn.satfinite.e4m3x2.f32").unwrap();
//! assert_eq!(form.to_string(), "cvt.rn.satfinite.e4m3x2.f32");
//! let target = Target::from_name("sm_89").unwrap();
//! assert_eq!(form.min_version(target), Some(Version::new(8, 1)));
//!
//! let error = CvtForm::parse("rn.e4m3x2.f32").unwrap_err();
//! assert_eq!(
//!     error.to_string(),
//!     "`.satfinite` is required for `e4m3x2`; did you mean cvt.rn.satfinite.e4m3x2.f32?"
//! );
//! ```

#![forbid(unsafe_code)]

pub mod availability;
pub mod cvt;
pub mod device;
pub mod instruction;
pub mod manual;
pub mod space;
pub mod special;
pub mod target;
pub mod types;
pub mod version;

mod mnemonic;
mod nearest;
mod operand;
mod row;
mod spelling;
mod table;

pub use availability::{Availability, Targets};
pub use cvt::{CvtForm, FormError, Semantics};
pub use nearest::{nearest, only_slip};
pub use space::{Opaque, StateSpace};
pub use special::SpecialRegister;
pub use target::{Target, TargetError, Variant};
pub use types::{Class, Type};
pub use version::{Version, VersionError};
