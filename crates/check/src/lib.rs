//! Judges a PTX module as the assembler does, and says why.
//!
//! [`check`] walks over the tree once, in the order of the text: the header, then every declaration, and the
//! body of each function as it comes. What is wrong becomes a [`Diagnostic`]; what is right becomes a
//! [`Checked`] module, which later stages read.
//!
//! Where the assembler and the manual disagree, the assembler wins and a warning names both; with
//! [`Options::strict`] the manual wins and the warning is an error. The short rows of initialisers, which both
//! allow and read differently, keep their warning then and are read as the manual does.

#![forbid(unsafe_code)]

pub mod checked;
pub mod codes;
pub mod constant;
pub mod names;

mod abi;
mod body;
mod call_graph;
mod context;
mod debugging;
mod declaration;
mod function;
mod gates;
mod header;
mod initialiser;
mod limits;
mod module;
mod opaque;
mod options;
mod pragma;
mod specifiers;
mod tuning;

pub use body::{Reference, Settled, SettledGuard};
pub use checked::Checked;
pub use header::unfit;
pub use options::Options;

use context::Context;
use softwarp_syntax::tree::ExprId;
use softwarp_syntax::{Diagnostic, Module};

/// Judges a module. Diagnostics come in the order of the text.
pub fn check(module: &Module, source: &str, options: Options) -> Vec<Diagnostic> {
    resolve(module, source, options).1
}

/// Judges a module and says what it means. Without errors among the diagnostics, the checked module can be
/// relied on; with them, it is what could be made out.
pub fn resolve(module: &Module, source: &str, options: Options) -> (Checked, Vec<Diagnostic>) {
    let mut context = Context::new(module, source, options, header::assumed(options));
    module::check(&mut context, &mut body::Memory::default());
    (context.checked, context.diagnostics)
}

/// The same, and what every name in the operands of instructions means.
pub fn settle(module: &Module, source: &str, options: Options) -> (Checked, Settled, Vec<Diagnostic>) {
    let mut context = Context::new(module, source, options, header::assumed(options));
    let mut memory = body::Memory::recording_references();
    module::check(&mut context, &mut memory);
    (context.checked, memory.settled.unwrap_or_default(), context.diagnostics)
}

/// Evaluates an expression that [`softwarp_syntax::parse_expression`] has read. Without a value, the diagnostics
/// say why.
pub fn evaluate(module: &Module, root: ExprId, source: &str) -> (Option<constant::Value>, Vec<Diagnostic>) {
    let options = Options::default();
    let mut context = Context::new(module, source, options, header::assumed(options));
    let value = constant::evaluate_initial(&mut context, root);
    context.diagnostics.sort_by_key(|diagnostic| diagnostic.span().start);
    (value, context.diagnostics)
}
