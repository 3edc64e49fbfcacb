//! Tokens to a tree (PTX ISA sections 4.3, 5.4, 7.1 and 11).
//!
//! A parser by recursive descent that never gives up: what cannot be read is reported once, skipped up to
//! where something new surely begins, and reading goes on. What is a matter of grammar is decided as the
//! assembler decides it; whether words fit together is for the checker.
//!
//! Only constant expressions and initialisers nest, and only to [`MAX_DEPTH`]; blocks lie flat in the tree.

mod declaration;
mod expression;
mod function;
mod instruction;
mod module;
mod operand;
pub(crate) mod outline;
mod statement;
mod usual;

use crate::lexer::Lexer;
use crate::token::{Mark, Token};
use crate::tree::{At, Expr, ExprId, Module, Name, Operand, Range, Symbol};
use crate::{Code, Diagnostic, Edit, Fix, Parsed, ParsedExpression, Span, codes, literal};

/// How deep expressions and initialisers may nest.
const MAX_DEPTH: u32 = 256;

/// How deep blocks may nest. (The assembler gives up at some 2,000.)
const MAX_BLOCKS: u32 = 1024;

/// After this many errors reading stops.
const MAX_ERRORS: usize = 100;

/// The error has been reported. The caller skips to a place where parsing can go on.
pub(crate) struct Skip;

/// What was read, or the news that it could not be.
pub(crate) type Read<T> = Result<T, Skip>;

/// Reads a module.
pub(crate) fn parse(source: &str) -> Parsed {
    if let Some(diagnostic) = too_long(source) {
        return Parsed { module: Module::default(), diagnostics: vec![diagnostic] };
    }
    finish(Parser::new(source))
}

/// Reads everything.
fn finish(mut parser: Parser<'_>) -> Parsed {
    parser.module();
    parser.diagnostics.sort_by_key(|diagnostic| diagnostic.span().start);
    Parsed { module: parser.module, diagnostics: parser.diagnostics }
}

/// Reads a text that is one constant expression.
pub(crate) fn parse_expression(source: &str) -> ParsedExpression {
    if let Some(diagnostic) = too_long(source) {
        return ParsedExpression { module: Module::default(), root: None, diagnostics: vec![diagnostic] };
    }
    let mut parser = Parser::new(source);
    let root = parser.only_expression().ok();
    ParsedExpression { module: parser.module, root, diagnostics: parser.diagnostics }
}

/// Places are 32-bit numbers.
fn too_long(source: &str) -> Option<Diagnostic> {
    let message = "the text is longer than 4 GiB";
    u32::try_from(source.len()).is_err().then(|| Diagnostic::new(codes::LENGTH, Span::new(0, 0), message))
}

/// What is known about an interned mnemonic beside its words.
#[derive(Clone, Copy, Default)]
struct Traits {
    /// Its operands are those of a call.
    call: bool,
    /// One of its modifiers is a word that only directives may be.
    reserved: bool,
}

struct Parser<'a> {
    source: &'a str,
    lexer: Lexer<'a>,
    /// The token to be read next, and where it is.
    token: Token,
    span: Span,
    /// Where the token before it ends.
    last: u32,
    module: Module,
    diagnostics: Vec<Diagnostic>,
    /// Whether there were too many errors to go on.
    stopped: bool,
    /// For each symbol that is the text of a whole mnemonic, its index plus one; 0 for others.
    mnemonic_of: Vec<u32>,
    traits: Vec<Traits>,
    /// Operands of the instruction that is being read, before they go to the pool together.
    operands: Vec<Operand>,
    /// Elements of the initialiser lists that are being read.
    elements: Vec<ExprId>,
    /// How many expressions and lists are open.
    depth: u32,
    /// Where the statement, item or parameter begins that is being read. It is wrong once, whatever follows.
    statement: u32,
    /// Bodies are passed over, and this is known of their ends; `None` where bodies are read.
    ends: Option<outline::BodyEnds>,
    /// Usual instructions are read in the short way. Only tests ask for the long one.
    usual: bool,
}

impl<'a> Parser<'a> {
    fn new(source: &'a str) -> Parser<'a> {
        let mut parser = Parser::over(source, Module::default());
        // What is usual, to spare the pool its growth: an operand in 20 bytes.
        parser.module.operands.reserve(source.len() / 20);
        parser.bump();
        parser.last = 0;
        parser
    }

    /// Before the first token of a text, with what is known of the module so far.
    fn over(source: &'a str, module: Module) -> Parser<'a> {
        Parser {
            source,
            lexer: Lexer::new(source),
            token: Token::End,
            span: Span::default(),
            last: 0,
            module,
            diagnostics: Vec::new(),
            stopped: false,
            mnemonic_of: Vec::new(),
            traits: Vec::new(),
            operands: Vec::new(),
            elements: Vec::new(),
            depth: 0,
            statement: 0,
            ends: None,
            usual: true,
        }
    }

    /// As [`Parser::bump`], behind an operand or a comma: mostly to a comma, a semicolon or a register.
    #[inline(always)]
    fn bump_operand(&mut self) {
        match self.lexer.usual_next() {
            Some((token, span)) => {
                self.last = self.span.end;
                (self.token, self.span) = (token, span);
            }
            None => self.bump(),
        }
    }

    /// Moves to the next token.
    fn bump(&mut self) {
        self.last = self.span.end;
        (self.token, self.span) = self.lexer.next();
        if !self.lexer.problems.is_empty() {
            self.take_problems();
        }
    }

    #[cold]
    fn take_problems(&mut self) {
        for problem in std::mem::take(&mut self.lexer.problems) {
            self.statement = self.statement.max(problem.span.start);
            self.report(Diagnostic::new(problem.code, problem.span, problem.message));
        }
    }

    #[inline]
    fn at(&self, mark: Mark) -> bool {
        self.token == Token::Mark(mark)
    }

    /// Moves on if the next token is this one.
    #[inline]
    fn eat(&mut self, mark: Mark) -> bool {
        let there = self.at(mark);
        if there {
            self.bump();
        }
        there
    }

    /// Moves past a token that must be there.
    #[inline]
    fn expect(&mut self, mark: Mark, expected: &str) -> Read<()> {
        if self.eat(mark) { Ok(()) } else { Err(self.unexpected(codes::EXPECTED, expected)) }
    }

    /// Moves past the semicolon that ends a statement. If it is missing at the end of a line, that is reported, and the statement counts as
    /// it stands: what it declares is declared, and reading goes on with the next line.
    #[inline]
    fn end_statement(&mut self, expected: &str) -> Read<()> {
        if self.eat(Mark::Semicolon) {
            return Ok(());
        }
        let skip = self.no_semicolon(expected);
        if self.begins_line() { Ok(()) } else { Err(skip) }
    }

    /// Reports that a statement goes on where it should end.
    #[cold]
    fn no_semicolon(&mut self, expected: &str) -> Skip {
        let reported = self.diagnostics.len();
        let begins_statement = self.surely_begins_statement();
        let skip = self.unexpected(codes::EXPECTED, expected);
        if self.begins_line()
            && let Some(diagnostic) = self.diagnostics.get_mut(reported)
        {
            diagnostic.help = Some("is there a `;` missing at the end of the line before?".to_string());
            if begins_statement {
                let edits = vec![Edit { span: Span::new(self.last, self.last), text: ";".to_string() }];
                let message = "write `;` at the end of the line before".to_string();
                diagnostic.fix = Some(Box::new(Fix { message, edits }));
            }
        }
        skip
    }

    /// Whether the next token can only begin a statement, or end a body.
    fn surely_begins_statement(&self) -> bool {
        match self.token {
            Token::Word => {
                softwarp_isa::instruction::known(self.text()) && matches!(self.lexer.next_byte(), b'.' | b';')
            }
            Token::Dotted | Token::Mark(Mark::At | Mark::CloseBrace) => true,
            _ => false,
        }
    }

    /// The text of the next token.
    #[inline]
    fn text(&self) -> &'a str {
        self.span.text(self.source)
    }

    /// The next token's word without its dot, if it has one.
    #[inline]
    fn dotted(&self) -> Option<&'a str> {
        if self.token == Token::Dotted { self.text().get(1..) } else { None }
    }

    #[inline]
    fn at_dotted(&self, word: &str) -> bool {
        self.dotted() == Some(word)
    }

    #[inline]
    fn intern(&mut self, text: &str) -> Symbol {
        self.module.symbols.intern(text)
    }

    /// The symbol of a name, which is most likely a register's.
    #[inline]
    fn intern_name(&mut self, text: &str) -> Symbol {
        self.module.symbols.intern_register(text)
    }

    /// Whether the next token begins with `%`: a name that is no word of the language.
    #[inline]
    fn at_percent(&self) -> bool {
        self.source.as_bytes().get(self.span.start as usize) == Some(&b'%')
    }

    /// From some byte to the end of the last token.
    #[inline]
    fn since(&self, start: u32) -> Span {
        Span::new(start, self.last.max(start))
    }

    /// Reads a name: any word but the sink, the one predefined constant and the words of `.loc`.
    fn name(&mut self, expected: &str) -> Read<Name> {
        if self.token != Token::Word || !self.at_percent() && is_reserved(self.text()) {
            return Err(self.unexpected(codes::NAME, expected));
        }
        Ok(self.word())
    }

    /// The word that comes next, whatever it is.
    #[inline]
    fn word(&mut self) -> Name {
        let name = Name { symbol: self.intern_name(self.text()), span: self.span };
        self.bump_operand();
        name
    }

    /// The dotted word that comes next, without its dot.
    fn dotted_name(&mut self) -> Name {
        let name = Name { symbol: self.intern(self.dotted().unwrap_or("")), span: self.span };
        self.bump();
        name
    }

    /// Reads one integer literal, or the warp's size.
    fn number(&mut self, expected: &str) -> Read<At<u64>> {
        let value = match self.token {
            Token::Int => literal::integer(self.text()).0,
            Token::Word if self.text() == WARP_SIZE => u64::from(softwarp_isa::device::WARP_SIZE),
            _ => return Err(self.unexpected(codes::NUMBER, expected)),
        };
        let span = self.span;
        self.bump();
        Ok(At { is: value, span })
    }

    /// Reads one integer of 32 bits.
    fn short_number(&mut self, expected: &str) -> Read<At<u64>> {
        let number = self.number(expected)?;
        if u32::try_from(number.is).is_err() {
            let message = format!("{} does not fit 32 bits", number.is);
            let _ = self.fail(codes::NUMBER, number.span, message);
        }
        Ok(number)
    }

    /// Reads one to `most` integers with commas between them.
    fn numbers(&mut self, most: usize, expected: &str) -> Read<Vec<At<u64>>> {
        let mut numbers = vec![self.number(expected)?];
        while numbers.len() < most && self.eat(Mark::Comma) {
            numbers.push(self.number(expected)?);
        }
        Ok(numbers)
    }

    fn push_expression(&mut self, expression: Expr, span: Span) -> ExprId {
        let id = ExprId(self.module.expressions.len() as u32);
        self.module.expressions.push(At { is: expression, span });
        id
    }

    /// Moves the operands that were read since `mark` to the pool.
    #[inline]
    fn take_operands(&mut self, mark: usize) -> Range<Operand> {
        let start = self.module.operands.len();
        // One by one: they are few, and a call to copy them costs more.
        for operand in &self.operands[mark..] {
            self.module.operands.push(*operand);
        }
        let count = self.operands.len() - mark;
        self.operands.truncate(mark);
        Range::new(start as u32, count as u32)
    }

    /// One level deeper, if that is not too deep.
    fn deeper<T>(&mut self, read: impl FnOnce(&mut Parser<'a>) -> Read<T>) -> Read<T> {
        if self.depth == MAX_DEPTH {
            return Err(self.too_deep(self.span, MAX_DEPTH));
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }

    #[cold]
    fn too_deep(&mut self, span: Span, most: u32) -> Skip {
        self.fail(codes::DEPTH, span, format!("nested more than {most} deep"))
    }

    /// Reports that something else was expected.
    #[cold]
    fn unexpected(&mut self, code: Code, expected: &str) -> Skip {
        let found = match self.token {
            Token::End => "the end of the text".to_string(),
            _ => format!("`{}`", shorten(self.text())),
        };
        self.fail(code, self.span, format!("expected {expected}, found {found}"))
    }

    #[cold]
    fn fail(&mut self, code: Code, span: Span, message: impl Into<String>) -> Skip {
        self.report(Diagnostic::new(code, span, message));
        Skip
    }

    /// Says it, unless something was said about the same statement, or too much altogether.
    #[cold]
    fn report(&mut self, diagnostic: Diagnostic) {
        if self.stopped || self.diagnostics.last().is_some_and(|last| last.span().start >= self.statement) {
            return;
        }
        if self.diagnostics.len() == MAX_ERRORS {
            let message = format!("more than {MAX_ERRORS} errors: the rest of the file is not read");
            self.diagnostics.push(Diagnostic::new(codes::FLOOD, diagnostic.span(), message));
            self.stop();
            return;
        }
        self.diagnostics.push(diagnostic);
    }

    /// Makes the text end here.
    fn stop(&mut self) {
        self.stopped = true;
        self.lexer.move_to(self.source.len() as u32);
        self.token = Token::End;
        let end = self.source.len() as u32;
        self.span = Span::new(end, end);
    }

    /// Whether the next token is the first of its line.
    fn begins_line(&self) -> bool {
        let before = self.source.get(..self.span.start as usize).unwrap_or("");
        before.bytes().rev().find(|byte| !matches!(byte, b' ' | b'\t')).is_none_or(|byte| byte == b'\n')
    }

    /// Skips to the end of a statement or declaration: past a semicolon, or up to what must be something
    /// new.
    fn skip_statement(&mut self) {
        if self.token == Token::Dotted && self.span.start == self.statement {
            self.bump();
        }
        loop {
            match self.token {
                Token::End | Token::Mark(Mark::CloseBrace) => return,
                Token::Mark(Mark::OpenBrace) if self.is_vector() => {
                    self.bump();
                    self.skip_to_brace();
                }
                Token::Mark(Mark::OpenBrace) => return,
                Token::Mark(Mark::Semicolon) => return self.bump(),
                Token::Dotted if self.begins_line() && self.begins_item() => return,
                _ => self.bump(),
            }
        }
    }

    /// Whether a brace opens a vector or a list and not a block, so far as that can be seen.
    fn is_vector(&self) -> bool {
        let rest = self.source.get(self.span.end as usize..).unwrap_or("");
        rest.bytes().find(|byte| matches!(byte, b'{' | b'}' | b';')) == Some(b'}')
    }

    /// Skips past the brace that closes a vector or list that has been opened, if there is one before the
    /// statement ends.
    fn skip_to_brace(&mut self) {
        let mut depth = 0u32;
        loop {
            match self.token {
                Token::End | Token::Mark(Mark::Semicolon) => return,
                Token::Mark(Mark::OpenBrace) => depth += 1,
                Token::Mark(Mark::CloseBrace) if depth == 0 => return self.bump(),
                Token::Mark(Mark::CloseBrace) => depth -= 1,
                Token::Dotted if self.begins_line() && self.begins_item() => return,
                _ => {}
            }
            self.bump();
        }
    }

    /// Whether the next token is a directive that begins something new.
    fn begins_item(&self) -> bool {
        self.dotted().is_some_and(|word| {
            module::BEGIN_ITEMS.contains(&word) || softwarp_isa::StateSpace::from_name(word).is_some()
        })
    }
}

/// Whether a word can name nothing: the sink, the warp's size, and two words of `.loc`.
fn is_reserved(word: &str) -> bool {
    matches!(word, "_" | WARP_SIZE | "function_name" | "inlined_at")
}

/// The one constant that has a name.
const WARP_SIZE: &str = "WARP_SZ";

/// A token as it is quoted in a message.
fn shorten(text: &str) -> String {
    match text.char_indices().nth(40) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_string(),
    }
}
