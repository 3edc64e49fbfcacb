//! Text to tokens (PTX ISA sections 4.1, 4.2, 4.4 and 4.5).
//!
//! Tokens are made one at a time, as kinds and places; nothing is copied. What a number is worth is worked
//! out where it is used, in `literal.rs`. Where the manual is silent the rules are the assembler's: `1.` and
//! `.5` are numbers, `7%3` is `7` and the name `%3`, `08` is `0` and `8`, and `.const[3]` is one word.

use crate::token::{Mark, Token};
use crate::{Span, codes, literal};

/// What a byte can be.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Blank,
    Newline,
    Letter,
    Digit,
    /// `_`, `$`
    Joiner,
    Percent,
    Dot,
    Quote,
    Slash,
    Hash,
    /// Stands for itself whatever follows.
    Single(Mark),
    /// May be the first of two.
    Pair(Mark),
    At,
    High,
    Other,
}

const CLASSES: [Class; 256] = {
    let mut table = [Class::Other; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = match byte as u8 {
            b' ' | b'\t' | b'\r' | 0x0c => Class::Blank,
            b'\n' => Class::Newline,
            b'a'..=b'z' | b'A'..=b'Z' => Class::Letter,
            b'0'..=b'9' => Class::Digit,
            b'_' | b'$' => Class::Joiner,
            b'%' => Class::Percent,
            b'.' => Class::Dot,
            b'"' => Class::Quote,
            b'/' => Class::Slash,
            b'#' => Class::Hash,
            b'@' => Class::At,
            b',' => Class::Single(Mark::Comma),
            b';' => Class::Single(Mark::Semicolon),
            b':' => Class::Single(Mark::Colon),
            b'?' => Class::Single(Mark::Question),
            b'{' => Class::Single(Mark::OpenBrace),
            b'}' => Class::Single(Mark::CloseBrace),
            b'(' => Class::Single(Mark::OpenParen),
            b')' => Class::Single(Mark::CloseParen),
            b'[' => Class::Single(Mark::OpenBracket),
            b']' => Class::Single(Mark::CloseBracket),
            b'+' => Class::Single(Mark::Plus),
            b'-' => Class::Single(Mark::Minus),
            b'*' => Class::Single(Mark::Star),
            b'~' => Class::Single(Mark::Tilde),
            b'^' => Class::Single(Mark::Caret),
            b'!' => Class::Pair(Mark::Exclamation),
            b'&' => Class::Pair(Mark::And),
            b'|' => Class::Pair(Mark::Or),
            b'=' => Class::Pair(Mark::Equals),
            b'<' => Class::Pair(Mark::Less),
            b'>' => Class::Pair(Mark::Greater),
            0x80..=0xff => Class::High,
            _ => Class::Other,
        };
        byte += 1;
    }
    table
};

/// Whether a byte can be inside a word, after its first.
const fn is_word(byte: u8) -> bool {
    matches!(CLASSES[byte as usize], Class::Letter | Class::Digit | Class::Joiner)
}

pub(crate) const IN_WORD: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = is_word(byte as u8);
        byte += 1;
    }
    table
};

const BLANK: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = matches!(CLASSES[byte], Class::Blank | Class::Newline);
        byte += 1;
    }
    table
};

/// Something wrong with the text itself; the text is read on behind it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Problem {
    pub code: crate::Code,
    pub message: &'static str,
    pub span: Span,
}

/// Reads tokens, one after another.
pub(crate) struct Lexer<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Problems since the parser last took them.
    pub problems: Vec<Problem>,
}

impl<'a> Lexer<'a> {
    /// From the start of a text, which is at most 4 GiB long.
    pub fn new(source: &'a str) -> Lexer<'a> {
        Lexer { bytes: source.as_bytes(), at: 0, problems: Vec::new() }
    }

    /// Where the next token is looked for.
    pub fn offset(&self) -> u32 {
        self.at as u32
    }

    /// Reads on from another place.
    pub fn move_to(&mut self, offset: u32) {
        self.at = offset as usize;
    }

    /// What comes next, without moving there.
    pub fn peek(&self) -> (Token, Span) {
        Lexer { bytes: self.bytes, at: self.at, problems: Vec::new() }.next()
    }

    /// The byte that comes next, if any.
    #[inline]
    pub fn next_byte(&self) -> u8 {
        self.byte(self.at)
    }

    /// A byte; 0 beyond the end, where 0 is an unknown character anyway.
    #[inline]
    fn byte(&self, at: usize) -> u8 {
        self.bytes.get(at).copied().unwrap_or(0)
    }

    fn problem(&mut self, code: crate::Code, start: usize, end: usize, message: &'static str) {
        self.problems.push(Problem { code, message, span: Span::new(start as u32, end as u32) });
    }

    /// The next token if it is one of those that most instructions are made of: a comma, a semicolon or a
    /// name that begins with `%`. This spares [`Lexer::next`] the choice between all there are.
    #[inline(always)]
    pub fn usual_next(&mut self) -> Option<(Token, Span)> {
        let mut start = self.at;
        while self.byte(start) == b' ' {
            start += 1;
        }
        let token = match self.byte(start) {
            b',' => Token::Mark(Mark::Comma),
            b';' => Token::Mark(Mark::Semicolon),
            b'%' if IN_WORD[self.byte(start + 1) as usize] => {
                self.word(start + 2);
                return Some((Token::Word, Span::new(start as u32, self.at as u32)));
            }
            _ => return None,
        };
        self.at = start + 1;
        Some((token, Span::new(start as u32, self.at as u32)))
    }

    /// The next token and its place.
    #[inline]
    pub fn next(&mut self) -> (Token, Span) {
        loop {
            while self.bytes.get(self.at).is_some_and(|&byte| BLANK[byte as usize]) {
                self.at += 1;
            }
            let start = self.at;
            let Some(&byte) = self.bytes.get(start) else {
                return (Token::End, Span::new(start as u32, start as u32));
            };
            let token = match CLASSES[byte as usize] {
                Class::Blank | Class::Newline => {
                    self.at += 1;
                    continue;
                }
                Class::Letter => {
                    self.word(start + 1);
                    Token::Word
                }
                Class::Single(mark) => {
                    self.at += 1;
                    Token::Mark(mark)
                }
                Class::Digit => self.number(),
                Class::Dot => self.dot(),
                Class::Joiner => {
                    self.word(start + 1);
                    // A dollar sign alone is no name; an underscore alone is the sink.
                    if byte == b'$' && self.at == start + 1 { Token::Unknown } else { Token::Word }
                }
                Class::Percent => {
                    self.word(start + 1);
                    if self.at == start + 1 { Token::Mark(Mark::Percent) } else { Token::Word }
                }
                Class::Pair(mark) => self.pair(mark),
                Class::Slash => match self.byte(start + 1) {
                    b'/' => {
                        self.line_comment();
                        continue;
                    }
                    b'*' => {
                        self.block_comment();
                        continue;
                    }
                    _ => {
                        self.at += 1;
                        Token::Mark(Mark::Slash)
                    }
                },
                Class::Hash if self.is_line_marker() => {
                    self.skip_line();
                    continue;
                }
                Class::At if self.bytes[start..].starts_with(b"@@DWARF") => {
                    self.at += b"@@DWARF".len();
                    Token::Dwarf
                }
                Class::At => {
                    self.at += 1;
                    Token::Mark(Mark::At)
                }
                Class::Quote => self.text(),
                Class::High => {
                    self.skip_while(|byte| byte >= 0x80);
                    self.problem(codes::CHARACTER, start, self.at, "a character that is not ASCII");
                    continue;
                }
                Class::Other if byte == 0 => {
                    self.nul();
                    continue;
                }
                Class::Other | Class::Hash => {
                    self.at += 1;
                    Token::Unknown
                }
            };
            return (token, Span::new(start as u32, self.at as u32));
        }
    }

    #[inline]
    fn word(&mut self, from: usize) {
        self.at = from;
        while let Some(&byte) = self.bytes.get(self.at)
            && IN_WORD[byte as usize]
        {
            self.at += 1;
        }
    }

    #[inline]
    fn skip_while(&mut self, test: impl Fn(u8) -> bool) {
        let rest = &self.bytes[self.at..];
        self.at += rest.iter().position(|&byte| !test(byte)).unwrap_or(rest.len());
    }

    fn skip_line(&mut self) {
        self.skip_while(|byte| byte != b'\n');
    }

    /// NUL characters, which the assembler takes for the end of the file even in comments.
    #[cold]
    fn nul(&mut self) {
        let start = self.at;
        self.skip_while(|byte| byte == 0);
        self.problem(codes::CHARACTER, start, self.at, "a NUL character");
    }

    fn line_comment(&mut self) {
        loop {
            self.skip_while(|byte| byte != b'\n' && byte != 0);
            if self.byte(self.at) == b'\n' || self.at == self.bytes.len() {
                return;
            }
            self.nul();
        }
    }

    fn block_comment(&mut self) {
        let start = self.at;
        self.at += 2;
        loop {
            self.skip_while(|byte| byte != b'*' && byte != 0);
            if self.at == self.bytes.len() {
                self.problem(codes::COMMENT, start, start + 2, "this comment does not end");
                return;
            }
            if self.byte(self.at) == 0 {
                self.nul();
            } else if self.byte(self.at + 1) == b'/' {
                self.at += 2;
                return;
            } else {
                self.at += 1;
            }
        }
    }

    /// `# 1 "x.cu" 2`, as preprocessors leave them: nothing else may stand behind it on its line.
    fn is_line_marker(&self) -> bool {
        let blank = |byte: &u8| matches!(byte, b' ' | b'\t');
        let line = &self.bytes[self.at + 1..];
        let line = &line[run(line, blank)..];
        let digits = run(line, u8::is_ascii_digit);
        let line = &line[digits..];
        let blanks = run(line, blank);
        let [b'"', line @ ..] = &line[blanks..] else { return false };
        let line = &line[run(line, |&byte| byte != b'"' && byte != b'\n')..];
        let [b'"', line @ ..] = line else { return false };
        let line = &line[run(line, |byte| matches!(byte, b' ' | b'\t' | b'\r' | b'0'..=b'9'))..];
        digits > 0 && blanks > 0 && matches!(line, [] | [b'\n', ..])
    }

    /// A string: all up to the next quote, lines included.
    fn text(&mut self) -> Token {
        let start = self.at;
        self.at += 1;
        self.skip_while(|byte| byte != b'"');
        if self.at == self.bytes.len() {
            self.at = start + 1;
            self.skip_line();
            self.problem(codes::TEXT, start, start + 1, "this string does not end");
            return Token::Text;
        }
        self.at += 1;
        if let Some(at) = self.bytes[start..self.at].iter().position(|&byte| byte >= 0x80 || byte == 0) {
            self.problem(codes::CHARACTER, start + at, self.at, "a character that is not ASCII, in a string");
        }
        Token::Text
    }

    fn pair(&mut self, mark: Mark) -> Token {
        let pair = match (mark, self.byte(self.at + 1)) {
            (Mark::Exclamation, b'=') => Some(Mark::ExclamationEquals),
            (Mark::Equals, b'=') => Some(Mark::EqualsEquals),
            (Mark::And, b'&') => Some(Mark::AndAnd),
            (Mark::Or, b'|') => Some(Mark::OrOr),
            (Mark::Less, b'<') => Some(Mark::ShiftLeft),
            (Mark::Less, b'=') => Some(Mark::LessEquals),
            (Mark::Greater, b'>') => Some(Mark::ShiftRight),
            (Mark::Greater, b'=') => Some(Mark::GreaterEquals),
            _ => None,
        };
        self.at += 1 + pair.is_some() as usize;
        Token::Mark(pair.unwrap_or(mark))
    }

    /// What begins with a dot: a word, or a number such as `.5`, or the dot alone.
    fn dot(&mut self) -> Token {
        let start = self.at;
        self.words(start);
        if self.at == start {
            self.at += 1;
            return Token::Mark(Mark::Dot);
        }
        let length = decimal_length(&self.bytes[start..]);
        if length >= self.at - start {
            self.at = start + length;
            return Token::Decimal;
        }
        Token::Dotted
    }

    /// Reads `.word`, `.word::word`, `.word::2:4` and `.const[3]` from `at` on; moves not at all if there is none.
    fn words(&mut self, at: usize) {
        self.word(at + 1);
        if self.at == at + 1 {
            self.at = at;
            return;
        }
        let mut qualified = false;
        while self.byte(self.at) == b':' {
            let colons = match self.byte(self.at + 1) {
                b':' => 2,
                // Behind `::` one is enough: `.sp::2:4` is a word.
                _ if qualified => 1,
                _ => break,
            };
            let from = self.at + colons;
            if !IN_WORD[self.byte(from) as usize] {
                break;
            }
            self.word(from);
            qualified = true;
        }
        if self.byte(self.at) == b'[' && &self.bytes[at + 1..self.at] == b"const" {
            let digits = self.bytes[self.at + 1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
            if digits > 0 && self.byte(self.at + 1 + digits) == b']' {
                self.at += digits + 2;
            }
        }
    }

    /// Reads the modifiers that stand right behind an opcode: `.global.f32`.
    pub fn modifiers(&mut self) {
        while self.byte(self.at) == b'.' {
            let start = self.at;
            self.words(start);
            let digit = self.byte(start + 1).is_ascii_digit();
            if self.at == start || digit && decimal_length(&self.bytes[start..]) >= self.at - start {
                self.at = start;
                return;
            }
        }
    }

    fn number(&mut self) -> Token {
        let start = self.at;
        let (token, length) = number(&self.bytes[start..]);
        self.at += length;
        if token == Token::Int && length > literal::SAFE_LENGTH {
            self.long_integer(start);
        }
        token
    }

    #[cold]
    fn long_integer(&mut self, start: usize) {
        let overflows = std::str::from_utf8(&self.bytes[start..self.at]).is_ok_and(literal::overflows);
        if overflows {
            self.problem(codes::OVERFLOW, start, self.at, "this integer does not fit 64 bits");
        }
    }
}

fn run(bytes: &[u8], test: impl Fn(&u8) -> bool) -> usize {
    bytes.iter().position(|byte| !test(byte)).unwrap_or(bytes.len())
}

/// Whether some text begins with a given number of hexadecimal digits.
fn has_digits(text: &[u8], count: usize) -> bool {
    text.get(..count).is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
}

/// The length of a decimal number at the start of some text: digits with a point or an exponent, or both;
/// 0 if there is none.
fn decimal_length(text: &[u8]) -> usize {
    let whole = run(text, u8::is_ascii_digit);
    let mut length = whole;
    let mut fraction = 0;
    let point = text.get(length) == Some(&b'.');
    if point {
        fraction = run(&text[length + 1..], u8::is_ascii_digit);
        length += 1 + fraction;
    }
    if whole + fraction == 0 {
        return 0;
    }
    let mut exponent = 0;
    if let Some(b'e' | b'E') = text.get(length) {
        let sign = matches!(text.get(length + 1), Some(b'+' | b'-')) as usize;
        let digits = run(text.get(length + 1 + sign..).unwrap_or(&[]), u8::is_ascii_digit);
        if digits > 0 {
            exponent = 1 + sign + digits;
        }
    }
    if point || exponent > 0 { length + exponent } else { 0 }
}

/// The number at the start of some text that begins with a digit, and its length.
fn number(text: &[u8]) -> (Token, usize) {
    let decimal = decimal_length(text);
    if decimal > 0 {
        return (Token::Decimal, decimal);
    }
    let behind = text.get(2..).unwrap_or(&[]);
    let prefixed = match text {
        [b'0', b'x' | b'X', ..] => run(behind, u8::is_ascii_hexdigit),
        [b'0', b'b' | b'B', ..] => run(behind, |byte| matches!(byte, b'0' | b'1')),
        [b'0', b'f' | b'F', ..] if has_digits(behind, 8) => return (Token::Single, 10),
        [b'0', b'd' | b'D', ..] if has_digits(behind, 16) => return (Token::Double, 18),
        _ => 0,
    };
    let length = match text {
        _ if prefixed > 0 => 2 + prefixed,
        [b'0', ..] => run(text, |byte| matches!(byte, b'0'..=b'7')),
        _ => run(text, u8::is_ascii_digit),
    };
    (Token::Int, length + (text.get(length) == Some(&b'U')) as usize)
}
