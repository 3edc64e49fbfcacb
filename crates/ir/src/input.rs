//! The text of the intermediate representation while it is parsed: characters, words, numbers and errors.

use crate::Slot;
use std::fmt;

/// What is wrong with a text, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// From 1.
    pub line: usize,
    /// In characters, from 1.
    pub column: usize,
    /// What is wrong.
    pub what: String,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}: {}", self.line, self.column, self.what)
    }
}

impl std::error::Error for ParseError {}

pub(crate) type Parsed<T> = Result<T, ParseError>;

/// The rest of a line.
#[derive(Clone, Debug)]
pub(crate) struct Input<'a> {
    /// The whole line.
    line: &'a str,
    /// Its number, from 1.
    number: usize,
    /// The byte that comes next.
    at: usize,
}

/// A character of a word: of names, modifiers and values.
fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '.'
}

impl<'a> Input<'a> {
    /// A line with its number.
    pub(crate) fn new(line: &'a str, number: usize) -> Input<'a> {
        Input { line, number, at: 0 }
    }

    /// An error at the next character that is no space.
    pub(crate) fn error(&self, what: impl Into<String>) -> ParseError {
        let mut ahead = self.clone();
        ahead.rest();
        let before = self.line.get(..ahead.at).unwrap_or(self.line);
        ParseError { line: self.number, column: before.chars().count() + 1, what: what.into() }
    }

    /// Skips spaces; what is left.
    pub(crate) fn rest(&mut self) -> &'a str {
        let rest = self.line.get(self.at..).unwrap_or_default();
        let left = rest.trim_start_matches([' ', '\t']);
        self.at += rest.len() - left.len();
        left
    }

    /// Whether the line is at its end.
    pub(crate) fn is_at_end(&mut self) -> bool {
        self.rest().is_empty()
    }

    /// An error unless the line is at its end.
    pub(crate) fn end(&mut self) -> Parsed<()> {
        if self.is_at_end() { Ok(()) } else { Err(self.error("the end of the line was expected")) }
    }

    /// Takes these characters, if they come next.
    pub(crate) fn eat(&mut self, what: &str) -> bool {
        let found = self.rest().starts_with(what);
        self.at += if found { what.len() } else { 0 };
        found
    }

    /// Takes these characters.
    pub(crate) fn expect(&mut self, what: &str) -> Parsed<()> {
        if self.eat(what) { Ok(()) } else { Err(self.error(format!("`{what}` was expected"))) }
    }

    /// Takes these words, with any spaces between them.
    pub(crate) fn expect_words(&mut self, words: &str) -> Parsed<()> {
        words.split(' ').try_for_each(|word| self.expect(word))
    }

    /// The word that comes next, which is not taken.
    pub(crate) fn peek_word(&mut self) -> &'a str {
        let rest = self.rest();
        &rest[..rest.find(|c| !is_word(c)).unwrap_or(rest.len())]
    }

    /// A word.
    pub(crate) fn word(&mut self) -> Parsed<&'a str> {
        let word = self.peek_word();
        if word.is_empty() {
            return Err(self.error("a word was expected"));
        }
        self.at += word.len();
        Ok(word)
    }

    /// Takes a word, if it comes next.
    pub(crate) fn eat_word(&mut self, word: &str) -> bool {
        let found = self.peek_word() == word;
        self.at += if found { word.len() } else { 0 };
        found
    }

    /// Takes `_`, which stands for an operand that is absent, if it comes next; but not that of an element (`_:32`).
    pub(crate) fn eat_absent(&mut self) -> bool {
        let mut ahead = self.clone();
        let found = ahead.eat_word("_") && !ahead.rest().starts_with(':');
        if found {
            *self = ahead;
        }
        found
    }

    /// Everything up to a space.
    pub(crate) fn name(&mut self) -> Parsed<&'a str> {
        let rest = self.rest();
        let name = &rest[..rest.find([' ', '\t']).unwrap_or(rest.len())];
        if name.is_empty() {
            return Err(self.error("the name of an operation was expected"));
        }
        self.at += name.len();
        Ok(name)
    }

    /// A whole number that fits the type: decimal, or hexadecimal after `0x`.
    pub(crate) fn number<T: TryFrom<i128>>(&mut self) -> Parsed<T> {
        let rest = self.rest();
        let (digits, negative) = match rest.strip_prefix('-') {
            Some(digits) => (digits, true),
            None => (rest, false),
        };
        let (digits, radix) = match digits.strip_prefix("0x") {
            Some(digits) => (digits, 16),
            None => (digits, 10),
        };
        let digits = &digits[..digits.find(|c: char| !c.is_digit(radix)).unwrap_or(digits.len())];
        let value = i128::from_str_radix(digits, radix).ok();
        let value = value.map(|value| if negative { -value } else { value });
        let Some(value) = value.and_then(|value| T::try_from(value).ok()) else {
            return Err(self.error("a number was expected that is not too large here"));
        };
        self.at += usize::from(negative) + if radix == 16 { 2 } else { 0 } + digits.len();
        Ok(value)
    }

    /// Whether a slot comes next.
    pub(crate) fn is_at_slot(&mut self) -> bool {
        let word = self.peek_word();
        let digits = word.strip_prefix(['r', 'd', 'p']).unwrap_or_default();
        !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
    }

    /// A slot: `r4`, `d4` or `p4`.
    pub(crate) fn slot(&mut self) -> Parsed<Slot> {
        if !self.is_at_slot() {
            return Err(self.error("a slot was expected, such as r4, d4 or p4"));
        }
        let word = self.peek_word();
        let number = word[1..].parse().ok().filter(|&number| number < MOST_ROWS);
        let Some(number) = number else {
            return Err(self.error(format!("a function has at most {MOST_ROWS} rows of a kind")));
        };
        self.at += word.len();
        Ok(match word.as_bytes()[0] {
            b'r' => Slot::narrow(number),
            b'd' => Slot::wide(number),
            _ => Slot::predicate(number),
        })
    }

    /// What stands before ` = `, if what an operation writes comes next; it is taken with the sign.
    pub(crate) fn split_writes(&mut self) -> Input<'a> {
        let start = self.at;
        let rest = self.rest();
        let has_writes = self.is_at_slot() || rest.starts_with(['{', '_', '=']);
        let Some(sign) = rest.find('=').filter(|_| has_writes) else {
            return Input { line: "", ..self.clone() };
        };
        let end = self.at + sign;
        self.at = end + 1;
        Input { line: &self.line[..end], number: self.number, at: start }
    }

    /// Skips what a value may be: everything up to a comma that is in no brackets.
    pub(crate) fn skip_value(&mut self) -> Parsed<()> {
        let rest = self.rest();
        let mut depth = 0usize;
        let mut end = rest.len();
        for (at, c) in rest.char_indices() {
            match c {
                '(' | '[' | '{' => depth += 1,
                ')' | ']' | '}' if depth == 0 => return Err(self.error("a bracket that was not opened")),
                ')' | ']' | '}' => depth -= 1,
                ',' if depth == 0 => {
                    end = at;
                    break;
                }
                _ => {}
            }
        }
        self.at += end;
        Ok(())
    }
}

/// The most rows of a kind that a parsed function may have.
pub(crate) const MOST_ROWS: u32 = 1 << 20;
