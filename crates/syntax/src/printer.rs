//! A module in one consistent layout, for `softwarp fmt`.
//!
//! The tree says where lines begin and how deep they are; what stands on a line are the source's own tokens,
//! so that nothing is lost or changed. Comments stay where they are: at the end of their line, or on lines of
//! their own. Preprocessor lines and the contents of sections are kept as they are.

use crate::lexer::Lexer;
use crate::token::{Mark, Token};
use crate::tree::{Body, Function, Item, Statement, Variables};
use crate::{Parsed, Span};

const INDENT: &str = "    ";

/// Lays a module out anew. A text with errors comes back as it is.
///
/// The result parses to the same tree, but for the places, and formatting it again changes nothing.
pub fn format(source: &str, parsed: &Parsed) -> String {
    if !parsed.diagnostics.is_empty() {
        return source.to_string();
    }
    let mut printer =
        Printer { source, out: String::with_capacity(source.len()), at: 0, depth: 0, blank: false };
    for item in &parsed.module.items {
        printer.item(item);
    }
    printer.trivia(source.len() as u32);
    printer.out
}

/// Places where a line is broken: the token that begins there goes to a new line, so deep.
type Breaks = Vec<(u32, usize)>;

struct Printer<'a> {
    source: &'a str,
    out: String,
    /// How much of the source is printed.
    at: u32,
    depth: usize,
    /// Whether an empty line must come before the next line.
    blank: bool,
}

impl Printer<'_> {
    fn item(&mut self, item: &Item) {
        match item {
            Item::Version(at) => self.line(at.span, Style::Words),
            Item::Target(at) => self.line(at.span, Style::Words),
            Item::AddressSize(at) => self.line(at.span, Style::Words),
            Item::Variable(variables) => self.line(variables.span, Style::Words),
            Item::Function(function) => self.function(function),
            Item::Alias(at) => self.line(at.span, Style::Words),
            Item::File(at) => self.line(at.span, Style::Words),
            Item::Pragma(at) => self.line(at.span, Style::Words),
            Item::Other(at) => self.line(at.span, Style::Words),
            Item::Section(at) => {
                let (section, whole) = (&at.is, at.span);
                self.line(Span::new(whole.start, section.contents.start - 1), Style::Words);
                self.line(Span::new(section.contents.start - 1, section.contents.start), Style::Words);
                self.out.pop();
                self.out.push_str(section.contents.text(self.source).trim_ascii_end());
                self.out.push('\n');
                self.at = section.contents.end;
                self.line(Span::new(section.contents.end, whole.end), Style::Words);
            }
        }
    }

    fn function(&mut self, function: &Function) {
        let has_body = function.body.is_some();
        self.blank |= has_body;
        let mut breaks = Breaks::new();
        for parameters in
            function.parameters.iter().chain(function.returns.iter().filter(|list| list.len() > 1))
        {
            self.break_list(parameters, &mut breaks);
        }
        breaks.extend(function.directives.iter().map(|directive| (directive.span.start, self.depth)));
        breaks.sort_unstable();
        let end = function.body.as_ref().map_or(function.span.end, |body| body.span.start);
        self.broken_line(Span::new(function.span.start, end), Style::Words, &breaks);
        if let Some(body) = &function.body {
            self.body(body);
        }
        self.blank = has_body;
    }

    /// One parameter a line.
    fn break_list(&self, parameters: &[Variables], breaks: &mut Breaks) {
        let Some(last) = parameters.last() else { return };
        breaks.extend(parameters.iter().map(|parameter| (parameter.span.start, self.depth + 1)));
        let close = tokens(self.source, Span::new(last.span.end, u32::MAX)).next();
        breaks.extend(close.map(|(_, span)| (span.start, self.depth)));
    }

    fn body(&mut self, body: &Body) {
        self.line(Span::new(body.span.start, body.span.start + 1), Style::Words);
        self.depth += 1;
        for statement in &body.statements {
            self.statement(statement);
        }
        self.trivia(body.span.end - 1);
        self.depth -= 1;
        self.line(Span::new(body.span.end - 1, body.span.end), Style::Words);
    }

    fn statement(&mut self, statement: &Statement) {
        match statement {
            Statement::Open(span) => {
                self.line(*span, Style::Words);
                self.depth += 1;
            }
            Statement::Close(span) => {
                self.trivia(span.start);
                self.depth -= 1;
                self.line(*span, Style::Words);
            }
            Statement::Label(name) => {
                let colon = tokens(self.source, Span::new(name.span.end, u32::MAX)).next();
                let end = colon.map_or(name.span.end, |(_, span)| span.end);
                self.trivia(name.span.start);
                self.depth -= 1;
                self.line(Span::new(name.span.start, end), Style::Words);
                self.depth += 1;
            }
            Statement::Instruction(instruction) => {
                self.line(instruction.span, Style::Instruction(instruction.mnemonic_span));
            }
            Statement::Variable(variables) => self.line(variables.span, Style::Words),
            Statement::Loc(span) | Statement::Pragma(span) => self.line(*span, Style::Words),
            Statement::BranchTargets(at) | Statement::CallTargets(at) => self.line(at.span, Style::Words),
            Statement::CallPrototype(prototype) => self.line(prototype.span, Style::Words),
            Statement::Function(function) => self.line(function.span, Style::Words),
            Statement::Alias(at) => self.line(at.span, Style::Words),
            Statement::Other(at) => self.line(at.span, Style::Words),
        }
    }

    /// Prints comments and preprocessor lines up to some place, and an empty line if there is one.
    fn trivia(&mut self, to: u32) {
        let mut newlines = 0;
        let mut first = true;
        for piece in trivia(self.source, Span::new(self.at, to)) {
            match piece {
                Trivia::Newline => newlines += 1,
                Trivia::Comment(text) if newlines == 0 && first && self.out.ends_with('\n') => {
                    self.out.pop();
                    self.out.push(' ');
                    self.out.push_str(text);
                    self.out.push('\n');
                    first = false;
                }
                Trivia::Comment(text) | Trivia::Marker(text) => {
                    self.begin_line(newlines > 1);
                    if matches!(piece, Trivia::Comment(_)) {
                        self.indent(self.depth);
                    }
                    self.out.push_str(text);
                    self.out.push('\n');
                    newlines = 0;
                    first = false;
                }
            }
        }
        self.blank |= newlines > 1;
        self.at = to;
    }

    /// An empty line, if one is due or wanted, but none at the start of the file or of a block.
    fn begin_line(&mut self, blank: bool) {
        if (blank || self.blank) && !self.out.is_empty() && !self.out.ends_with("{\n") {
            self.out.push('\n');
        }
        self.blank = false;
    }

    fn indent(&mut self, depth: usize) {
        (0..depth).for_each(|_| self.out.push_str(INDENT));
    }

    fn line(&mut self, span: Span, style: Style) {
        self.broken_line(span, style, &Breaks::new());
    }

    /// Prints the tokens of a span on a line of their own, or on several.
    fn broken_line(&mut self, span: Span, style: Style, breaks: &[(u32, usize)]) {
        self.trivia(span.start);
        let closes = self.source.as_bytes().get(span.start as usize) == Some(&b'}');
        if closes {
            self.blank = false;
        }
        self.begin_line(false);
        self.indent(self.depth);
        let mut breaks = breaks.iter().peekable();
        let mut spacing = Spacing { style, before: None, tight: false, angle: false };
        for (token, at) in tokens(self.source, span) {
            while breaks.peek().is_some_and(|(start, _)| *start < at.start) {
                breaks.next();
            }
            let broken = breaks.peek().filter(|(start, _)| *start == at.start).copied();
            let commented = self.inner_trivia(at.start);
            let space = spacing.between(token, at, self.source);
            if let Some(&(_, depth)) = broken {
                self.break_line(depth);
            } else if space && !commented {
                self.out.push(' ');
            }
            self.out.push_str(at.text(self.source));
            self.at = at.end;
        }
        self.out.push('\n');
    }

    /// Ends a line inside of an item and begins another.
    fn break_line(&mut self, depth: usize) {
        let end = self.out.trim_end_matches(' ').len();
        self.out.truncate(end);
        if !self.out.ends_with('\n') {
            self.out.push('\n');
        }
        self.indent(depth);
    }

    /// Prints comments between the tokens of an item, and whether there were any. What comes next can follow
    /// without a space.
    fn inner_trivia(&mut self, to: u32) -> bool {
        let gap = Span::new(self.at, to);
        let mut any = false;
        if gap.text(self.source).trim_ascii().is_empty() {
            return any;
        }
        for piece in trivia(self.source, gap) {
            match piece {
                Trivia::Newline => continue,
                Trivia::Comment(text) => {
                    if !self.out.ends_with(' ') {
                        self.out.push(' ');
                    }
                    self.out.push_str(text);
                    if text.starts_with("//") {
                        self.break_line(self.depth + 2);
                    } else {
                        self.out.push(' ');
                    }
                }
                Trivia::Marker(text) => {
                    self.break_line(0);
                    self.out.push_str(text);
                    self.break_line(self.depth + 2);
                }
            }
            any = true;
        }
        any
    }
}

/// What stands between tokens.
#[derive(Clone, Copy)]
enum Trivia<'a> {
    Newline,
    Comment(&'a str),
    /// `# 1 "x.cu"`
    Marker(&'a str),
}

fn trivia(source: &str, span: Span) -> impl Iterator<Item = Trivia<'_>> {
    let mut rest = span.text(source);
    std::iter::from_fn(move || {
        rest = rest.trim_start_matches([' ', '\t', '\r', '\x0c']);
        let line = || rest.find('\n').unwrap_or(rest.len());
        let (piece, length) = match rest.as_bytes() {
            [] => return None,
            [b'\n', ..] => (Trivia::Newline, 1),
            [b'/', b'*', ..] => {
                let length = rest.find("*/").map_or(rest.len(), |at| at + 2);
                (Trivia::Comment(&rest[..length]), length)
            }
            [b'#', ..] => (Trivia::Marker(rest[..line()].trim_ascii_end()), line()),
            _ => (Trivia::Comment(rest[..line()].trim_ascii_end()), line()),
        };
        rest = &rest[length..];
        Some(piece)
    })
}

/// The tokens that begin in a span.
fn tokens(source: &str, span: Span) -> impl Iterator<Item = (Token, Span)> {
    let mut lexer = Lexer::new(source);
    lexer.move_to(span.start);
    std::iter::from_fn(move || {
        let (token, at) = lexer.next();
        (token != Token::End && at.start < span.end).then_some((token, at))
    })
}

/// What stands on a line.
#[derive(Clone, Copy)]
enum Style {
    /// Words with spaces between them.
    Words,
    /// An instruction, and where its mnemonic is.
    Instruction(Span),
}

/// Decides where spaces go.
struct Spacing {
    style: Style,
    before: Option<(Token, Span)>,
    /// Whether the token before holds on to the next one.
    tight: bool,
    /// Whether `<` of `%r<10>` is open.
    angle: bool,
}

impl Spacing {
    /// Whether there is a space before a token; it then becomes the one before.
    fn between(&mut self, token: Token, at: Span, source: &str) -> bool {
        let before = self.before.replace((token, at));
        let Some((previous, previous_at)) = before else {
            self.tight = matches!(token, Token::Mark(Mark::At));
            return false;
        };
        let mnemonic = match self.style {
            Style::Instruction(mnemonic) => mnemonic,
            Style::Words => Span::default(),
        };
        let in_mnemonic = |span: Span| span.start >= mnemonic.start && span.end <= mnemonic.end;
        let is_value = !in_mnemonic(previous_at)
            && match previous {
                Token::Mark(mark) => matches!(mark, Mark::CloseParen | Mark::CloseBracket | Mark::CloseBrace),
                _ => previous != Token::Dotted || matches!(self.style, Style::Instruction(_)),
            };
        let was_tight = std::mem::take(&mut self.tight);
        let name_before = previous == Token::Word || previous == Token::Mark(Mark::CloseBrace);
        match token {
            Token::Dotted if in_mnemonic(at) => false,
            Token::Dotted => {
                let member = matches!(self.style, Style::Instruction(_))
                    && (previous == Token::Word || previous == Token::Mark(Mark::CloseBracket));
                !was_tight && !member
            }
            Token::Mark(mark) => match mark {
                Mark::Comma | Mark::Semicolon | Mark::CloseParen | Mark::CloseBracket | Mark::CloseBrace => {
                    false
                }
                Mark::Colon => {
                    matches!(previous, Token::Int | Token::Decimal | Token::Double | Token::Single)
                        || previous == Token::Mark(Mark::CloseParen)
                }
                Mark::OpenParen | Mark::OpenBracket | Mark::OpenBrace => {
                    self.tight = true;
                    let attribute = matches!(previous_at.text(source), ".attribute" | ".unified");
                    let call =
                        mark != Mark::OpenBrace && is_value && previous != Token::Mark(Mark::CloseParen);
                    !(was_tight || attribute || call)
                }
                Mark::Less if previous == Token::Word && matches!(self.style, Style::Words) => {
                    self.angle = true;
                    self.tight = true;
                    false
                }
                Mark::Greater if self.angle => {
                    self.angle = false;
                    false
                }
                Mark::Plus | Mark::Minus | Mark::Or if is_value && name_before => {
                    self.tight = true;
                    false
                }
                Mark::At => {
                    self.tight = true;
                    !was_tight
                }
                Mark::Plus | Mark::Minus | Mark::Exclamation | Mark::Tilde if !is_value => {
                    self.tight = true;
                    !was_tight
                }
                _ => !was_tight,
            },
            _ => !was_tight,
        }
    }
}
