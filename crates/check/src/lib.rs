//! Checks a PTX module by the rules of the assembler.
//!
//! [`check`] walks over the tree once, in the order of the text: the header, then every declaration, and the
//! body of each function as it comes. What is wrong becomes a [`Diagnostic`]; what is right becomes a
//! [`CheckedModule`], which later stages read.
//!
//! ```
//! use softwarp_check::{Options, resolve};
//!
//! let source = ".version 8.0\n.target sm_90\n.address_size 64\n\
//!     .visible .entry k(.param .u64 p)\n{\n\
//!     .reg .b32 %r<2>;\n.reg .b64 %rd<2>;\n\
//!     ld.param.u64 %rd1, [p];\n\
//!     st.global.u32 [%rd1], %r1;\n\
//!     add.f64 %r0, %r1, %r1;\n\
//!     ret;\n}\n";
//! let parsed = softwarp_syntax::parse(source);
//! let (checked, diagnostics) = resolve(&parsed.module, source, Options::default());
//!
//! assert_eq!(checked.functions.len(), 1);
//! assert_eq!(parsed.module.name(checked.functions[0].name), "k");
//! // The sum is of .f64, and the registers have 32 bits.
//! assert_eq!(diagnostics.len(), 1);
//! assert!(diagnostics[0].message.contains("`add.f64`"), "{}", diagnostics[0].message);
//! ```
//!
//! The modules form layers; `module` is the topmost and walks over the items. Below it are `body` (statements and
//! operands), `function` and `declaration` (what is declared), `limits` and `abi` (what only the whole module shows),
//! and at the bottom `context` (the state of the walk), [`names`] (scopes), [`checked`] (the result) and [`codes`]
//! (every diagnostic with its explanation). [`occurrences`] stands beside: it lists the names of a module that was judged.
//!
//! Where the assembler and the manual disagree, the assembler wins and a warning names both; with
//! [`Options::strict`] the manual wins and the warning is an error. The short rows of initialisers, which both
//! allow and read differently, keep their warning then and are read as the manual does.

#![forbid(unsafe_code)]

pub mod checked;
pub mod codes;
pub mod constant;
pub mod names;
pub mod occurrences;

mod abi;
mod body;
mod call_graph;
mod context;
mod cta_groups;
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
mod outline;
mod pragma;
mod recheck;
mod redeclaration;
mod specifiers;
mod tuning;

pub use body::{GuardReference, Reference, References};
pub use checked::CheckedModule;
pub use header::unfit;
pub use options::Options;
pub use outline::{Locals, Outlined, resolve_outline};
pub use recheck::Recheck;

use context::Context;
use softwarp_syntax::tree::ExprId;
use softwarp_syntax::{Diagnostic, Module};

/// Judges a module. Diagnostics come in the order of the text.
pub fn check(module: &Module, source: &str, options: Options) -> Vec<Diagnostic> {
    resolve(module, source, options).1
}

/// Judges a module and says what it means. Without errors among the diagnostics, the checked module can be
/// relied on; with them, it is what could be made out.
pub fn resolve(module: &Module, source: &str, options: Options) -> (CheckedModule, Vec<Diagnostic>) {
    let mut context = Context::new(module, source, options, header::assumed(options));
    module::check(&mut context, &mut body::Memory::default());
    (context.checked, context.diagnostics)
}

/// Judges a module as [`resolve`] does, and says what every name in the operands of instructions means.
pub fn resolve_references(
    module: &Module,
    source: &str,
    options: Options,
) -> (CheckedModule, References, Vec<Diagnostic>) {
    let mut context = Context::new(module, source, options, header::assumed(options));
    let mut memory = body::Memory::recording_references();
    module::check(&mut context, &mut memory);
    (context.checked, memory.references.unwrap_or_default(), context.diagnostics)
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
