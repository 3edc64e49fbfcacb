//! Listings of softwarp, which grow with what they list: the variables of a module, the operations of a kernel, the
//! instructions of a launch.
//!
//! - [`layout`] shows where variables are in memory, as tables, JSON and drawings.
//! - [`lowered`] has the operations that kernels are executed as.
//! - [`counted`] says how often instructions were executed, [`observe`] what their accesses cost.
//!
//! Nothing here reads files or knows a terminal. What is short, a format or a conversion, is in `softwarp-report`, which
//! is compiled without optimisation; this crate is compiled for speed.
//!
//! ```
//! use softwarp::image::{Options, Unit, lay_out};
//! use softwarp::source::Source;
//! use softwarp_listing::layout::{View, json};
//! # fn main() -> std::io::Result<()> {
//! let text = ".version 8.6\n.target sm_90\n.address_size 64\n.global .u32 counter[4];\n";
//! let source = Source::new("counter.ptx", text.into());
//! let checked = source.check(softwarp::check::Options::default());
//! let linked = [Unit { module: &checked.module, checked: &checked.checked }];
//! let image = lay_out(&linked, Options::default()).expect("it fits");
//! let mut listing = Vec::new();
//! json::write(&View { image: &image, files: &["counter.ptx"], windows: None }, &mut listing)?;
//! assert!(String::from_utf8_lossy(&listing).contains(r#""name":"counter""#));
//! # Ok(())
//! # }
//! ```

#![forbid(unsafe_code)]

pub mod counted;
pub mod layout;
pub mod lowered;
pub mod observe;
