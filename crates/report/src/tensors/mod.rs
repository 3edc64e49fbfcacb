//! Tensor maps and tensor copies for people: map files, the object as text, tables, drawings, and a page that moves.
//!
//! [`softwarp::tensor`] checks, encodes and walks; nothing here decides anything about a map or a copy.

pub mod banks;
pub mod file;
pub mod object;
pub mod page;
pub mod request;
mod scene;
pub mod svg;
pub mod table;
pub mod tmem;
mod view;

use softwarp::diagnostic::{Diagnostic, Explained};

/// The codes of what is wrong with a map file before it says anything about a tensor.
pub const CODES: &[Explained] = &[file::FORM, file::KEY, file::VALUE];

/// What is wrong by a rule, with what would be right.
fn diagnostic(rule: &Explained, message: String, help: Option<String>) -> Diagnostic {
    Diagnostic { help, ..Diagnostic::without_place(rule.code, message) }
}

/// Coordinates as one writes them: `(0, 8)`.
pub fn tuple<T: std::fmt::Display>(numbers: &[T]) -> String {
    let numbers: Vec<String> = numbers.iter().map(T::to_string).collect();
    format!("({})", numbers.join(", "))
}
