//! PTX text and its tree: lexer, recovering parser, printer (PTX ISA sections 4, 5.4, 6, 7.1 and 11).
//!
//! [`parse`] reads a module. It never fails and never panics: it returns the tree of what it understood and a list of
//! everything that is wrong, each with its place. The parser is by recursive descent; after an error it skips to where a
//! new statement or item begins. It decides only what is a matter of grammar, as the assembler decides it. Whether words
//! fit together is for the crate `softwarp-check`.
//!
//! ```
//! use softwarp_syntax::tree::{Item, Statement};
//! use softwarp_syntax::{Lines, format, parse};
//!
//! let source = ".version 9.0\n.target sm_90\n.func f() { .reg .b32 %r<2>;  mov.b32 %r0, %r1;ret;\n}\n";
//! let parsed = parse(source);
//! assert!(parsed.diagnostics.is_empty());
//!
//! // Names and mnemonics are interned: the tree holds numbers, the module their texts.
//! let module = &parsed.module;
//! let Some(Item::Function(function)) = module.items.last() else { panic!("a function") };
//! assert_eq!(module.name(function.name.symbol), "f");
//! let body = function.body.as_ref().expect("a body");
//! let opcodes = body.statements.iter().filter_map(|statement| match statement {
//!     Statement::Instruction(one) => Some(module.name(module.mnemonic(one.mnemonic).opcode)),
//!     _ => None,
//! });
//! assert_eq!(opcodes.collect::<Vec<_>>(), ["mov", "ret"]);
//!
//! // The printer lays the tokens out anew and changes nothing else.
//! assert!(format(source, &parsed).contains("    mov.b32 %r0, %r1;\n    ret;\n"));
//!
//! // An error has a code and a place; reading goes on behind it.
//! let source = ".version 9.0\n.target sm_90\n.global .u32 = 1;\n.global .u32 b;\n";
//! let wrong = parse(source);
//! assert_eq!((wrong.diagnostics.len(), wrong.module.items.len()), (1, 3));
//! assert_eq!(Lines::new(source).line(wrong.diagnostics[0].span().start), 3);
//! ```
//!
//! # Modules
//!
//! - [`tree`]: the tree. Statements and operands lie in flat arrays, so that no recursion is as deep as hostile text can
//!   nest.
//! - `lexer`, `token`, `literal`: tokens and the values of numbers.
//! - `parser`: one file for each part of the grammar, and [`outline`], which passes over the bodies of functions.
//! - [`cursor`]: what is being written at a place of a text that is not whole.
//! - `printer`: the layout of `softwarp fmt`.
//! - `symbols`: interned names, with keyed hash tables.
//! - [`codes`]: the errors of this crate. [`Diagnostic`], [`Span`] and [`Lines`] are those of `softwarp-diagnostic`.
//! - `serialize`: the tree for serde, with the feature `serde`.
//!
//! # Limits
//!
//! A text is at most 4 GiB long. Expressions and blocks nest to a fixed depth; reading stops after a fixed number of
//! errors. All limits are constants of the parser.

#![forbid(unsafe_code)]

pub mod codes;
pub mod cursor;
pub mod tree;

mod lexer;
mod literal;
mod parser;
mod printer;
#[cfg(feature = "serde")]
mod serialize;
mod symbols;
mod token;

pub use parser::outline::{BodyParser, Outline, OutlinedBody, outline};
pub use printer::format;
#[cfg(feature = "serde")]
pub use serialize::Tree;
pub use softwarp_diagnostic::{
    Code, Diagnostic, Edit, Explained, Fix, Lines, Location, Position, Related, Severity, Span,
};
pub use symbols::Symbols;
pub use tree::Module;

/// What the parser made of a text.
#[derive(Debug)]
pub struct Parsed {
    /// The tree of everything that could be parsed.
    pub module: Module,
    /// What was wrong, in the order of the text.
    pub diagnostics: Vec<Diagnostic>,
}

/// Reads a module.
pub fn parse(source: &str) -> Parsed {
    parser::parse(source)
}

/// What the parser made of a text that should be one constant expression.
#[derive(Debug)]
pub struct ParsedExpression {
    /// What it understood: a module of nothing but expressions.
    pub module: Module,
    /// The expression, if all of it could be read.
    pub root: Option<tree::ExprId>,
    /// The errors and warnings.
    pub diagnostics: Vec<Diagnostic>,
}

/// Reads a constant expression, or a mask over one such as `0xff00(1000)`: what may stand behind the `=` of a
/// variable that is neither an array nor opaque. Places are those in this text.
pub fn parse_expression(source: &str) -> ParsedExpression {
    parser::parse_expression(source)
}

/// The places of a text's tokens, in order: words, numbers, strings and marks, without comments and space.
pub fn tokens(source: &str) -> Tokens<'_> {
    Tokens(lexer::Lexer::new(source))
}

/// What [`tokens`] gives.
pub struct Tokens<'s>(lexer::Lexer<'s>);

impl Iterator for Tokens<'_> {
    type Item = Span;

    // It is compiled here, since crates that use it may not be optimised.
    #[inline(never)]
    fn next(&mut self) -> Option<Span> {
        let (token, span) = self.0.next();
        self.0.problems.clear();
        (token != token::Token::End).then_some(span)
    }
}

/// The places of a text's comments. Those that only space separates are one.
pub fn comments(source: &str) -> Vec<Span> {
    let mut found = Vec::new();
    let mut end = 0;
    let last = Span::new(source.len() as u32, source.len() as u32);
    for token in tokens(source).chain([last]) {
        let gap = Span::new(end, token.start).text(source);
        if gap.contains("//") || gap.contains("/*") {
            let trimmed = gap.trim_start();
            let start = end + (gap.len() - trimmed.len()) as u32;
            found.push(Span::new(start, start + trimmed.trim_end().len() as u32));
        }
        end = token.end;
    }
    found
}
