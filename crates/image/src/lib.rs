//! Lays checked modules out in memory: where each variable lives, what it holds before a kernel runs, and which
//! addresses go into it once the memory has been placed (PTX ISA sections 5.1, 5.3 and 5.4).
//!
//! [`lay_out`] takes one module or several that belong together, links their names and gives an [`Image`]:
//! every variable with its size, alignment, offset, bytes and relocations, and every function with its
//! parameters, its stack and the shared memory that it needs. [`Windows`] are the places of the state spaces in
//! one generic address space; with them, [`Image::initial`] gives the bytes with all addresses in place.
//!
//! ```
//! use softwarp_check::{Options as Checks, resolve};
//! use softwarp_image::{Options, Unit, lay_out};
//! use softwarp_syntax::parse;
//!
//! let text = ".version 9.0\n.target sm_90\n.address_size 64\n\
//!             .global .u8 flag = 1;\n.global .u32 counts[3] = {1, 2};\n";
//! let parsed = parse(text);
//! let (checked, diagnostics) = resolve(&parsed.module, text, Checks::default());
//! assert!(diagnostics.is_empty());
//! let unit = Unit { module: &parsed.module, checked: &checked };
//! let image = lay_out(&[unit], Options::default()).expect("it fits");
//! let counts = image.objects.iter().find(|object| &*object.name == "counts").expect("it is there");
//! assert_eq!((counts.offset, counts.size, counts.alignment), (Some(4), 12, 4));
//! assert_eq!(image.global.bytes, 16);
//! ```
//!
//! Nothing here is as large as a declared size: an array of a gigabyte is one row, and its bytes are runs.

#![forbid(unsafe_code)]

pub mod codes;
pub mod contents;
pub mod image;
pub mod window;

mod call_graph;
mod compatibility;
mod declaration;
mod layout;
mod link;
mod opaque;
mod place;
mod relocate;

pub use contents::Contents;
pub use image::{Extent, Function, FunctionId, Image, Kind, Object, ObjectId, Relocation, Target};
pub use opaque::State;
pub use window::{Window, Windows};

use softwarp_check::CheckedModule;
use softwarp_syntax::{Diagnostic, Module};

/// One module: its tree and what it means. It must have been checked without errors.
#[derive(Clone, Copy, Debug)]
pub struct Unit<'a> {
    /// The tree, for its names.
    pub module: &'a Module,
    /// The checked module.
    pub checked: &'a CheckedModule,
}

/// How to lay out.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// The result will be linked with others: names may remain without a definition (`ptxas -c`).
    pub relocatable: bool,
    /// Unused bytes lie between variables (see `place.rs`), so that an access past the end of one is in none of them. The
    /// addresses are then not those that the assembler gives.
    pub red_zones: bool,
}

/// Links modules and lays their variables out. All that is wrong is found at once: errors with the warnings
/// beside them, else an image with its [`Image::warnings`]. The unit of a place is an index into the units.
///
/// A single module that will not be linked further is a whole program, as for the assembler: it defines what it
/// declares `.extern`.
pub fn lay_out(units: &[Unit<'_>], options: Options) -> Result<Image, Vec<Diagnostic>> {
    let mut linked = link::link(units, options)?;
    let warnings = std::mem::take(&mut linked.warnings);
    match layout::build(units, &linked, options.red_zones) {
        Ok(image) => Ok(Image { warnings, ..image }),
        Err(errors) => Err(warnings.into_iter().chain(errors).collect()),
    }
}
