//! Diagnostics as data, for every crate that checks an input: `syntax`, `check`, `image` and `tensor`.
//!
//! A [`Diagnostic`] has a stable [`Code`], which gives its [`Severity`], a message, a primary [`Location`], related
//! locations with a message each, help: what would be right, and a [`Fix`] where that is certain. A location is a
//! [`Span`] of bytes in one of several texts. Nothing here renders: the library has plain text for error messages, the
//! command line excerpts with colours, JSON and annotations.
//!
//! An [`Explained`] is the page of a code: the rule, why, and an example that breaks it. Each crate has a table of
//! its own.
//!
//! ```
//! use softwarp_diagnostic::{Code, Diagnostic, Lines, Severity, Span};
//!
//! let text = ".reg .b33 %r;\n";
//! let diagnostic = Diagnostic::new(Code("E0101"), Span::new(5, 9), "there is no type `.b33`")
//!     .with_related(Span::new(0, 4), "in this declaration")
//!     .with_help("did you mean `.b32`?");
//! assert_eq!(diagnostic.severity(), Severity::Error);
//! assert_eq!(diagnostic.span().text(text), ".b33");
//! assert_eq!(Lines::new(text).position(text, diagnostic.span().start).column, 6);
//! ```

#![forbid(unsafe_code)]

mod code;
mod diagnostic;
mod span;

pub use code::{Code, Explained, Severity};
pub use diagnostic::{Diagnostic, Edit, Fix, Location, Related};
pub use span::{LineStarts, Lines, Position, Span};
