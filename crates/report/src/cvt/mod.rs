//! Forms of `cvt`: what they take ([`registers`], [`sources`]), where they exist ([`answer`]), and what they do with
//! operands ([`evaluate`]), as text and JSON ([`text`], [`json`]).

mod availability;
mod operands;
mod render;

pub use availability::{Question, Verdict, answer};
pub use operands::{Bound, Element, Evaluation, evaluate, registers, sources};
pub use render::{about, json, syntax, text};
