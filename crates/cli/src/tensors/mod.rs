//! Tensor maps and tensor copies for people: map files, the object as text, tables, drawings, and a page that moves.
//!
//! [`softwarp::tensor`] judges, encodes and walks; nothing here decides anything about a map or a copy.

pub mod banks;
pub mod file;
pub mod object;
pub mod page;
pub mod request;
mod scene;
pub mod svg;
pub mod table;
mod view;

use softwarp::tensor::{Explained, Finding, Severity};

/// The codes of what is wrong with a map file before it says anything about a tensor.
pub const CODES: &[Explained] = &[file::FORM, file::KEY, file::VALUE];

/// A finding that breaks a rule, by the code's letter an error or a warning.
fn finding(rule: &Explained, message: String, fix: Option<String>) -> Finding {
    let severity = if rule.code.starts_with('W') { Severity::Warning } else { Severity::Error };
    Finding { code: rule.code, severity, rule: rule.title, message, fix }
}

/// Coordinates as one writes them: `(0, 8)`.
pub fn tuple<T: std::fmt::Display>(numbers: &[T]) -> String {
    let numbers: Vec<String> = numbers.iter().map(T::to_string).collect();
    format!("({})", numbers.join(", "))
}
