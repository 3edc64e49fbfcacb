//! A module without the bodies of its functions, and bodies one at a time.
//!
//! The tree of a large module takes several times its text, and most of the time that it costs is spent on memory:
//! pages that are touched for the first time, and caches that hold none of it when the checker comes. Here the bodies
//! are passed over, and then each is read into the memory of the one before it. Bodies do not depend on one another,
//! so that several threads can read them.
//!
//! The end of a body is guessed: a brace at the beginning of a line that an item follows. Whoever reads the body then
//! sees whether it ends there. Where anything is unusual there is no outline, or no body, and the module has to be read
//! as a whole; so errors of the grammar are reported in one way only.

use super::Parser;
use crate::token::{Mark, Token};
use crate::tree::{Body, Item, Module, Statement};
use crate::{Diagnostic, Span};
use memchr::memmem;

/// What stands at module scope, with every body passed over.
#[derive(Debug)]
pub struct Outline {
    /// The tree. The bodies of its functions have their places, and no statements.
    pub module: Module,
    /// The bodies, in the order of the text.
    pub bodies: Vec<OutlinedBody>,
}

/// The place of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutlinedBody {
    /// The function: an index into [`Module::items`].
    pub item: u32,
    /// From brace to brace.
    pub span: Span,
}

/// Reads a module without the bodies of its functions. `None` where the text has errors, or bodies whose ends are not
/// seen at once; [`crate::parse`] then has to read all of it.
pub fn outline(source: &str) -> Option<Outline> {
    super::too_long(source).is_none().then_some(())?;
    let mut parser = Parser::over(source, Module::default());
    parser.ends = Some(BodyEnds { unseen: 4 * source.len(), failed: false });
    parser.bump();
    parser.last = 0;
    parser.module();
    let failed = parser.ends.is_none_or(|ends| ends.failed);
    if failed || !parser.diagnostics.is_empty() {
        return None;
    }
    let bodies = (0..).zip(&parser.module.items).filter_map(|(item, of)| match of {
        Item::Function(function) => Some(OutlinedBody { item, span: function.body.as_ref()?.span }),
        _ => None,
    });
    let bodies = bodies.collect();
    Some(Outline { module: parser.module, bodies })
}

/// The search for the ends of bodies.
#[derive(Clone, Copy, Debug)]
pub(super) struct BodyEnds {
    /// How many bytes may still be looked at behind braces. It bounds the time that hostile text takes.
    unseen: usize,
    /// Whether a body was found whose end is not seen.
    failed: bool,
}

/// What stands behind the body of a function, most often. In bodies these are rare: whoever reads one then finds that
/// it does not end there.
const BEHIND_BODIES: [&str; 11] = [
    ".visible", ".weak", ".entry", ".func", ".extern", ".global", ".const", ".section", ".file", ".alias",
    ".pragma",
];

impl Parser<'_> {
    /// Passes over a body, from its opening brace on.
    pub(super) fn passed_body(&mut self, mut ends: BodyEnds) -> Body {
        let open = self.span;
        match body_end(self.source, open.end, &mut ends.unseen) {
            Some(end) => {
                self.lexer.move_to(end);
                self.span = Span::new(end - 1, end);
                self.bump();
            }
            None => {
                ends.failed = true;
                self.stop();
            }
        }
        self.ends = Some(ends);
        Body { statements: Vec::new(), span: self.since(open.start) }
    }
}

/// One past the brace that most likely closes a body.
fn body_end(source: &str, from: u32, unseen: &mut usize) -> Option<u32> {
    let text = source.as_bytes().get(from as usize..)?;
    memmem::find_iter(text, b"\n}").map(|at| at + 2).find_map(|end| {
        let behind = source.get(from as usize + end..)?;
        let next = next_word(behind, unseen)?;
        let is_end = next.is_empty() || BEHIND_BODIES.iter().any(|word| next.starts_with(word));
        is_end.then_some(from + end as u32)
    })
}

/// The text from the next token on. `None` once too much has been looked at.
fn next_word<'t>(text: &'t str, unseen: &mut usize) -> Option<&'t str> {
    let mut rest = text;
    loop {
        rest = rest.trim_ascii_start();
        let comment = if rest.starts_with("//") {
            memchr::memchr(b'\n', rest.as_bytes()).unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            memmem::find(rest.as_bytes(), b"*/").map_or(rest.len(), |at| at + 2)
        } else {
            break;
        };
        *unseen = unseen.checked_sub(comment)?;
        rest = rest.get(comment..)?;
    }
    *unseen = unseen.checked_sub(text.len() - rest.len())?;
    Some(rest)
}

/// Reads bodies that were passed over, one at a time. Symbols of the outline keep their numbers.
pub struct BodyParser<'a> {
    parser: Parser<'a>,
    /// Symbols whose numbers have been cut off.
    seen: usize,
}

impl<'a> BodyParser<'a> {
    /// For the bodies of an outline of this text.
    pub fn new(source: &'a str, outline: &Outline) -> BodyParser<'a> {
        let symbols = outline.module.symbols.clone();
        let parser = Parser::over(source, Module { symbols, ..Module::default() });
        let mut bodies = BodyParser { parser, seen: 0 };
        bodies.intern_prefixes();
        bodies
    }

    /// The names of the bodies so far, and the operands of the last one. There are no items in it.
    pub fn module(&self) -> &Module {
        &self.parser.module
    }

    /// Reads a body, over what is left of the one before it. `None` where it has errors or ends elsewhere.
    pub fn parse(&mut self, span: Span, mut before: Vec<Statement>) -> Option<Body> {
        let parser = &mut self.parser;
        parser.module.operands.clear();
        parser.module.expressions.clear();
        parser.module.elements.clear();
        parser.module.specifiers.clear();
        parser.module.declarators.clear();
        parser.lexer.move_to(span.start);
        parser.bump();
        if parser.token != Token::Mark(Mark::OpenBrace) {
            return None;
        }
        let open = parser.span;
        parser.bump();
        before.clear();
        let statements = parser.statements(open, before);
        let whole = parser.last == span.end && parser.diagnostics.is_empty() && !parser.stopped;
        self.intern_prefixes();
        whole.then_some(Body { statements, span })
    }

    /// What was wrong with the last body.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.parser.diagnostics
    }

    /// Interns what stands before the digits at the ends of new symbols, so that whoever numbers the symbols of one
    /// body need not number them again when another declares a family.
    fn intern_prefixes(&mut self) {
        let symbols = &mut self.parser.module.symbols;
        let end = symbols.len();
        for index in self.seen..end {
            symbols.intern_prefix(crate::tree::Symbol(index as u32));
        }
        self.seen = symbols.len();
    }
}
