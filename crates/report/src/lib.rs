//! Reports for people and programs, as text, JSON and SVG. The command line prints them, the Python package returns them,
//! and the page of the explorer shows them. Nothing here reads files or knows a terminal.
//!
//! - [`tensors`] shows tensor maps and copies.
//! - [`formats`] describes number formats, [`cvt`] what a form of `cvt` does, [`explain`] what a conversion did to a
//!   number and why, [`widening`] exact conversions beyond PTX's, [`names`] the names of formats.
//! - [`codes`] has all codes of diagnostics, [`columns`] tables, [`svg`] elements of drawings, [`numbers`] numbers as JSON
//!   has them.
//!
//! ```
//! use softwarp::num::Format;
//! use softwarp_report::{formats, names};
//!
//! let format = names::format("float8_e4m3fn")?;
//! assert_eq!(format, Format::E4m3);
//! assert_eq!(formats::json_one(format)["largest"]["value"], 448.0);
//! assert!(formats::draw(format).starts_with("<svg"));
//! # Ok::<(), String>(())
//! ```

#![forbid(unsafe_code)]

pub mod codes;
pub mod columns;
pub mod cvt;
pub mod explain;
pub mod formats;
pub mod names;
pub mod numbers;
pub mod svg;
pub mod tensors;
pub mod widening;

use softwarp::literal;
