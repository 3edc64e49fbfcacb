//! PTX text and its tree: lexer, recovering parser, printer.
//!
//! Reading never fails and never panics: it returns what was understood and everything that was wrong.

#![forbid(unsafe_code)]

pub mod codes;
pub mod diagnostic;
pub mod span;
pub mod tree;

mod json;
mod lexer;
mod literal;
mod parser;
mod printer;
mod symbols;
mod token;

pub use diagnostic::{Code, Diagnostic, Explained, Related, Severity};
pub use json::json;
pub use printer::format;
pub use span::{Lines, Position, Span};
pub use symbols::Symbols;
pub use tree::Module;

/// What the parser made of a text.
#[derive(Debug)]
pub struct Parsed {
    /// What it understood.
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
    /// What was wrong.
    pub diagnostics: Vec<Diagnostic>,
}

/// Reads a constant expression, or a mask over one such as `0xff00(1000)`: what may stand behind the `=` of a
/// variable that is neither an array nor opaque. Places are those in this text.
pub fn parse_expression(source: &str) -> ParsedExpression {
    parser::parse_expression(source)
}

/// The places of a text's tokens, in order: words, numbers, strings and marks, without comments and space.
pub fn tokens(source: &str) -> impl Iterator<Item = Span> {
    let mut lexer = lexer::Lexer::new(source);
    std::iter::from_fn(move || {
        let (token, span) = lexer.next();
        lexer.problems.clear();
        (token != token::Token::End).then_some(span)
    })
}
