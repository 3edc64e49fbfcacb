//! What stands in a body (PTX ISA sections 4.3, 11.3, 11.4.7, 11.5.4).

use super::declaration::{DeclaredIn, linkage};
use super::{MAX_BLOCKS, Parser, Read};
use crate::token::{Mark, Token};
use crate::tree::{At, Directive, Statement};
use crate::{Diagnostic, Span, codes};

/// Words that can stand at module scope only, and take no semicolon.
const NOT_IN_BODIES: &[&str] = &["version", "address_size", "file", "section"];

/// What `.target` can name beside architectures.
const TARGET_OPTIONS: &[&str] = &["debug", "map_f64_to_f32", "texmode_independent", "texmode_unified"];

impl Parser<'_> {
    /// Reads statements up to and with the brace that closes the body, and puts them behind those given.
    pub(super) fn statements(&mut self, open: Span, mut statements: Vec<Statement>) -> Vec<Statement> {
        let mut depth = 0;
        loop {
            self.statement = self.span.start;
            match self.token {
                Token::Word => {
                    if self.word_statement(&mut statements).is_err() {
                        self.skip_statement();
                    }
                }
                Token::Mark(Mark::At) => {
                    if self.guarded(&mut statements).is_err() {
                        self.skip_statement();
                    }
                }
                Token::Dotted if self.ends_body() => {
                    let message = format!("expected `}}` before `{}`: the body is still open", self.text());
                    let diagnostic = Diagnostic::new(codes::UNCLOSED, self.span, message);
                    self.report(diagnostic.with_related(open, "it opens here"));
                    return statements;
                }
                Token::Dotted => {
                    let labelled = matches!(statements.last(), Some(Statement::Label(_)));
                    match self.directive(labelled) {
                        Ok(statement) => statements.push(statement),
                        Err(_) => self.skip_statement(),
                    }
                }
                Token::Mark(Mark::OpenBrace) => {
                    if depth == MAX_BLOCKS {
                        let _ = self.too_deep(self.span, MAX_BLOCKS);
                        self.stop();
                        return statements;
                    }
                    statements.push(Statement::Open(self.span));
                    depth += 1;
                    self.bump();
                }
                Token::Mark(Mark::CloseBrace) => {
                    let span = self.span;
                    self.bump();
                    if depth == 0 {
                        return statements;
                    }
                    depth -= 1;
                    statements.push(Statement::Close(span));
                }
                Token::End => {
                    let _ = self.unclosed(open, "body");
                    return statements;
                }
                _ => {
                    let _ = self.unexpected(codes::STATEMENT, "an instruction, a declaration or a label");
                    self.skip_statement();
                }
            }
        }
    }

    fn ends_body(&self) -> bool {
        self.at_dotted("entry") || self.begins_line() && (self.before_entry() || self.defines_function())
    }

    /// Whether the next token begins the definition of a function: what stands in a body is a declaration only.
    fn defines_function(&self) -> bool {
        let mut rest = self.source.get(self.span.start as usize..).unwrap_or("");
        if let Some((word, behind)) = rest.split_once(char::is_whitespace)
            && matches!(word, ".visible" | ".weak" | ".extern")
        {
            rest = behind.trim_start();
        }
        let Some(head) = rest.strip_prefix(".func").filter(|head| head.starts_with([' ', '\t', '\n', '(']))
        else {
            return false;
        };
        head.bytes().find(|byte| matches!(byte, b'{' | b'}' | b';')) == Some(b'{')
    }

    /// Whether the next token is a linkage and `.entry` follows it.
    fn before_entry(&self) -> bool {
        if !matches!(self.text(), ".visible" | ".weak") {
            return false;
        }
        let rest = self.source.get(self.span.end as usize..).unwrap_or("");
        rest.trim_start().starts_with(".entry")
    }

    /// A directive or declaration.
    fn directive(&mut self, labelled: bool) -> Read<Statement> {
        let start = self.span.start;
        let word = self.dotted().unwrap_or("");
        match word {
            "loc" => {
                self.location()?;
                Ok(Statement::Loc(self.since(start)))
            }
            "pragma" => {
                self.pragma()?;
                Ok(Statement::Pragma(self.since(start)))
            }
            "branchtargets" | "calltargets" | "callprototype" if !labelled => {
                Err(self.fail(codes::STATEMENT, self.span, format!("`.{word}` needs a label before it")))
            }
            "branchtargets" | "calltargets" => {
                self.bump();
                let names = self.names("a name")?;
                self.end_statement("`,` or `;`")?;
                let targets = Box::new(Directive { is: names, span: self.since(start) });
                Ok(if word == "branchtargets" {
                    Statement::BranchTargets(targets)
                } else {
                    Statement::CallTargets(targets)
                })
            }
            "callprototype" => Ok(Statement::CallPrototype(Box::new(self.prototype()?))),
            "alias" => {
                let names = self.alias()?;
                Ok(Statement::Alias(Box::new(Directive { is: names, span: self.since(start) })))
            }
            "func" => Ok(Statement::Function(Box::new(self.nested_function(start, Vec::new())?))),
            "extern" | "visible" | "weak" => {
                let linkages = linkage(word).map(|is| At { is, span: self.span }).into_iter().collect();
                self.bump();
                Ok(Statement::Function(Box::new(self.nested_function(start, linkages)?)))
            }
            // The assembler passes over it, wherever it stands.
            "target" => {
                let symbol = self.intern(word);
                self.bump();
                for name in self.names("a target, such as `sm_90`")? {
                    let text = name.span.text(self.source);
                    if softwarp_isa::Target::from_name(text).is_none() && !TARGET_OPTIONS.contains(&text) {
                        let message = format!("there is no target `{text}`");
                        let _ = self.fail(codes::STATEMENT, name.span, message);
                    }
                }
                Ok(Statement::Other(Box::new(Directive { is: symbol, span: self.since(start) })))
            }
            _ if NOT_IN_BODIES.contains(&word) => {
                let _ = self.fail(
                    codes::STATEMENT,
                    self.span,
                    format!("`.{word}` can stand at module scope only"),
                );
                self.bump();
                if word == "section" {
                    let _ = self.section();
                }
                while self.token != Token::End && !self.begins_line() {
                    self.bump();
                }
                let symbol = self.intern(word);
                Ok(Statement::Other(Box::new(Directive { is: symbol, span: self.since(start) })))
            }
            _ => Ok(Statement::Variable(self.variables(start, None, DeclaredIn::Body)?)),
        }
    }

    /// `.loc 1 20 3, function_name $name+4, inlined_at 1 10 3`
    fn location(&mut self) -> Read<()> {
        self.bump();
        for expected in ["the file's number", "a line", "a column"] {
            self.short_number(expected)?;
        }
        if !self.eat(Mark::Comma) {
            return Ok(());
        }
        self.keyword("function_name")?;
        if self.token == Token::Dotted {
            self.bump();
        } else {
            self.name("a label of `.debug_str`")?;
        }
        if self.eat(Mark::Plus) {
            self.number("an offset")?;
        }
        self.expect(Mark::Comma, "`,` and `inlined_at`")?;
        self.keyword("inlined_at")?;
        for expected in ["the file's number", "a line", "a column"] {
            self.short_number(expected)?;
        }
        Ok(())
    }

    fn keyword(&mut self, word: &str) -> Read<()> {
        if self.token == Token::Word && self.text() == word {
            self.bump();
            return Ok(());
        }
        Err(self.unexpected(codes::EXPECTED, &format!("`{word}`")))
    }
}
