//! Kernels and functions (PTX ISA sections 11.2 and 11.4, 11.7, 11.8), and the prototypes of calls (11.3.3).

use super::{Parser, Read};
use crate::token::{Mark, Token};
use crate::tree::{At, Body, Directive, Function, Linkage, Name, Performance, Prototype, Variables};
use crate::{Span, codes};

/// Directives between a kernel's parameters and its body, with the most numbers behind each.
const OF_KERNELS: &[(&str, usize)] = &[
    ("maxntid", 3),
    ("reqntid", 3),
    ("minnctapersm", 1),
    ("maxnctapersm", 1),
    ("maxnreg", 1),
    ("local_maxnreg", 1),
    ("minperctamemory", 1),
    ("reqnctapercluster", 3),
    ("maxclusterrank", 1),
    ("explicitcluster", 0),
    ("blocksareclusters", 0),
    ("language", MOST_LANGUAGES),
];

/// How many languages `.language` may list: a limit of ours against endless lists.
const MOST_LANGUAGES: usize = 64;

/// Directives behind the parameters of functions and prototypes, as above. `.noreturn` comes first.
const OF_FUNCTIONS: &[(&str, usize)] =
    &[("noreturn", 0), ("abi_preserve", 1), ("abi_preserve_control", 1), ("language", MOST_LANGUAGES)];

impl Parser<'_> {
    /// Reads a function from its `.entry` or `.func` on.
    pub(super) fn function(
        &mut self,
        start: u32,
        linkage: Vec<At<Linkage>>,
        may_have_body: bool,
    ) -> Read<Function> {
        let entry = self.at_dotted("entry");
        let nowhere = Name { symbol: self.intern(""), span: Span::new(self.span.end, self.span.end) };
        let mut function = Function {
            entry,
            linkage,
            attributes: Vec::new(),
            returns: None,
            name: nowhere,
            parameters: None,
            directives: Vec::new(),
            body: None,
            span: self.span,
            head: self.span,
        };
        self.bump();
        let readable = self.head(&mut function).is_ok();
        function.head = self.since(start);
        let opens = may_have_body && self.at(Mark::OpenBrace);
        // A kernel with directives must have a body.
        let may_end = readable && (!entry || function.directives.is_empty());
        let ends =
            opens || may_end && (self.eat(Mark::Semicolon) || self.ends_prototype(entry, may_have_body));
        if !ends {
            let expected = match (may_have_body, may_end) {
                (true, true) => "`{` or `;`",
                (true, false) => "`{`",
                (false, _) => "`;`: only declarations can stand in a body",
            };
            // If the head is unreadable that has been said, and this goes unsaid.
            let _ = self.unexpected(codes::EXPECTED, expected);
            if readable && may_have_body && self.token == Token::Word && self.begins_line() {
                // Only the brace is missing.
                function.body = Some(self.opened_body(self.span));
            } else {
                self.skip_head();
            }
        }
        if opens || !ends && may_have_body && self.at(Mark::OpenBrace) {
            function.body = Some(self.body());
        } else if !ends && function.body.is_none() {
            // What is wrong has been said; that there is no body need not be.
            function.body = Some(Body { statements: Vec::new(), span: self.since(self.last) });
        }
        function.span = self.since(start);
        Ok(function)
    }

    /// Whether a prototype without its semicolon may end here, as the assembler lets it.
    fn ends_prototype(&self, entry: bool, may_have_body: bool) -> bool {
        !entry && may_have_body && (self.token == Token::End || self.begins_item())
    }

    /// Skips to a function's body, or past the end of its declaration.
    fn skip_head(&mut self) {
        loop {
            match self.token {
                Token::End | Token::Mark(Mark::OpenBrace | Mark::CloseBrace) => return,
                Token::Mark(Mark::Semicolon) => {
                    self.bump();
                    if matches!(self.token, Token::Dotted | Token::End) {
                        return;
                    }
                }
                Token::Dotted if self.begins_line() && self.begins_function() => {
                    return;
                }
                _ => self.bump(),
            }
        }
    }

    /// Attributes, returns, name, parameters and tuning.
    fn head(&mut self, function: &mut Function) -> Read<()> {
        if !function.entry {
            while self.at_dotted("attribute") {
                self.bump();
                function.attributes.extend(self.attributes(&["unified"])?);
            }
            if self.at(Mark::OpenParen) {
                function.returns = Some(self.parameters()?);
            }
        }
        function.name = self.name("the function's name")?;
        if self.at(Mark::OpenParen) {
            function.parameters = Some(self.parameters()?);
        }
        self.performance(&mut function.directives, function.entry)
    }

    /// `(…)`; a parameter that cannot be read is left out.
    fn parameters(&mut self) -> Read<Vec<Variables>> {
        self.bump();
        let mut parameters = Vec::new();
        if self.eat(Mark::CloseParen) {
            return Ok(parameters);
        }
        loop {
            match self.parameter() {
                Ok(parameter) => parameters.push(parameter),
                Err(_) => self.skip_parameter(),
            }
            if !self.eat(Mark::Comma) {
                break;
            }
        }
        self.expect(Mark::CloseParen, "`,` or `)`")?;
        Ok(parameters)
    }

    fn skip_parameter(&mut self) {
        let mut depth = 0u32;
        loop {
            match self.token {
                Token::Mark(Mark::Comma | Mark::CloseParen) if depth == 0 => return,
                Token::End | Token::Mark(Mark::Semicolon) => return,
                Token::Mark(Mark::OpenBrace | Mark::CloseBrace) if self.begins_line() => return,
                Token::Mark(Mark::OpenParen) => depth += 1,
                Token::Mark(Mark::CloseParen) => depth -= 1,
                _ => {}
            }
            self.bump();
        }
    }

    /// `.maxntid 256, 1, 1` and the like.
    fn performance(&mut self, directives: &mut Vec<Directive<Performance>>, entry: bool) -> Read<()> {
        while let Some(word) = self.dotted() {
            let start = self.span.start;
            if entry && word == "pragma" {
                let word = Name { symbol: self.intern(word), span: self.span };
                self.pragma()?;
                let is = Performance { word, arguments: Vec::new() };
                directives.push(Directive { is, span: self.since(start) });
                continue;
            }
            let (table, others) = if entry { (OF_KERNELS, OF_FUNCTIONS) } else { (OF_FUNCTIONS, OF_KERNELS) };
            let Some(&(_, most)) = table.iter().find(|(known, _)| *known == word) else {
                if self.begins_item() {
                    return Ok(());
                }
                let message = if others.iter().any(|(known, _)| *known == word) {
                    format!("`.{word}` is for {} only", if entry { "functions" } else { "kernels" })
                } else {
                    format!("`.{word}` is no directive that can stand before a function's body")
                };
                return Err(self.fail(codes::PERFORMANCE, self.span, message));
            };
            if word == "noreturn" && !directives.is_empty() {
                let message = "`.noreturn` comes once, and before other directives";
                return Err(self.fail(codes::PERFORMANCE, self.span, message));
            }
            let word = self.dotted_name();
            let arguments = if most == 0 { Vec::new() } else { self.numbers(most, "an integer literal")? };
            let is = Performance { word, arguments };
            directives.push(Directive { is, span: self.since(start) });
        }
        Ok(())
    }

    /// Reads `{ … }`. A brace that is missing at the end is reported; there is a body all the same.
    fn body(&mut self) -> Body {
        if let Some(ends) = self.ends {
            return self.passed_body(ends);
        }
        let open = self.span;
        self.bump();
        self.opened_body(open)
    }

    /// Reads what stands behind a body's opening brace.
    fn opened_body(&mut self, open: Span) -> Body {
        let mut statements = self.statements(open, Vec::new());
        statements.shrink_to_fit();
        Body { statements, span: self.since(open.start) }
    }

    /// `.callprototype (.param .b32 _) _ (.param .b32 _) .noreturn;`
    pub(super) fn prototype(&mut self) -> Read<Prototype> {
        let start = self.span.start;
        self.bump();
        let mut prototype =
            Prototype { returns: None, parameters: None, directives: Vec::new(), span: self.span };
        if self.at(Mark::OpenParen) {
            prototype.returns = Some(self.parameters()?);
        }
        if self.token != Token::Word || self.text() != "_" {
            return Err(self.unexpected(codes::EXPECTED, "`_` in place of the function's name"));
        }
        self.bump();
        if self.at(Mark::OpenParen) {
            prototype.parameters = Some(self.parameters()?);
        }
        self.performance(&mut prototype.directives, false)?;
        self.end_statement("`;`")?;
        prototype.span = self.since(start);
        Ok(prototype)
    }

    /// A function's declaration inside a body.
    pub(super) fn nested_function(&mut self, start: u32, linkage: Vec<At<Linkage>>) -> Read<Function> {
        if !self.at_dotted("func") {
            return Err(self.unexpected(codes::LINKAGE, "`.func`: variables in a body have no linkage"));
        }
        let function = self.function(start, linkage, false)?;
        Ok(function)
    }
}
