//! Tensor maps and tensor copies (PTX ISA section 5.5): encode, decode and check the 128-byte tensor map; perform any
//! tensor copy as the hardware would; say why something is illegal, and where each byte goes.
//!
//! A [`Description`] is a request in the driver's terms, right or wrong. [`rules`] check it and report all that is
//! wrong with it; what is right is a [`Map`]. [`object`] turns maps into the 128 bytes that the
//! hardware reads, and back. A [`walk`] says which bytes an instruction moves where, as runs; [`copy`] moves them.
//!
//! ```
//! use softwarp_tensor::{Description, Element, Map, Target, object, packed_strides};
//!
//! // A tile of 8 x 64 elements of a matrix of 64 x 64.
//! let dims = [64, 64];
//! let tiled = Description::tiled(Element::F16, &dims, &packed_strides(Element::F16, &dims), &[64, 8]);
//! let map = Map::new(&tiled, Target::SM_90).expect("it is legal");
//! assert_eq!(map.copied_bytes(), 64 * 8 * 2);
//! let bytes = object::encode(&map);
//! assert_eq!(Map::from_object(&bytes, Target::SM_90), Ok(map));
//!
//! // Rows of 250 elements do not begin at multiples of 16 bytes.
//! let odd = [250, 64];
//! let wrong = Description::tiled(Element::F16, &odd, &packed_strides(Element::F16, &odd), &[64, 8]);
//! let found = Map::new(&wrong, Target::SM_90).expect_err("a stride is wrong");
//! assert_eq!(found[0].code.0, "E1013");
//! assert_eq!(found[0].message, "strides[0] = 500 is not a multiple of 16");
//! ```
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
pub use walk::{Cell, CopyFault, Direction, Mode, Packing, Request, Run, Source, Walk};
