//! A document's text, and positions in it as the protocol counts them: lines from 0, and in a line bytes, UTF-16 units or
//! characters, as client and server have agreed.

use crate::protocol::{Position, Range, TextDocumentContentChangeEvent};
use softwarp_diagnostic::{LineStarts, Span};

/// What the columns of positions count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Encoding {
    /// Bytes.
    Utf8,
    /// Units of UTF-16: what every client can do.
    #[default]
    Utf16,
    /// Characters.
    Utf32,
}

impl Encoding {
    /// The best of those that a client offers. Bytes cost nothing.
    pub fn choose(offered: &[String]) -> Encoding {
        let best = [Encoding::Utf8, Encoding::Utf32];
        best.into_iter().find(|one| offered.iter().any(|name| name == one.name())).unwrap_or_default()
    }

    /// As the protocol names it.
    pub fn name(self) -> &'static str {
        match self {
            Encoding::Utf8 => "utf-8",
            Encoding::Utf16 => "utf-16",
            Encoding::Utf32 => "utf-32",
        }
    }

    /// How many units a character counts for.
    fn units(self, character: char) -> usize {
        match self {
            Encoding::Utf8 => character.len_utf8(),
            Encoding::Utf16 => character.len_utf16(),
            Encoding::Utf32 => 1,
        }
    }
}

/// A text, and where its lines begin.
#[derive(Clone, Debug)]
pub struct Text {
    text: String,
    starts: LineStarts,
    encoding: Encoding,
}

impl Text {
    /// Takes a text. Places in it are 32-bit numbers: what is longer is cut off.
    pub fn new(mut text: String, encoding: Encoding) -> Text {
        if u32::try_from(text.len()).is_err() {
            let end = (0..=u32::MAX as usize).rev().find(|&end| text.is_char_boundary(end));
            text.truncate(end.unwrap_or(0));
        }
        let starts = LineStarts::new(&text);
        Text { text, starts, encoding }
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The number of lines: at least one.
    pub fn line_count(&self) -> u32 {
        self.starts.count()
    }

    /// The line that a byte is on, from 0.
    pub fn line(&self, byte: u32) -> u32 {
        self.starts.line(byte)
    }

    /// The first byte of a line, from 0. A line that is not there begins behind every text.
    pub fn line_start(&self, line: u32) -> u32 {
        self.starts.start(line).unwrap_or(u32::MAX)
    }

    /// The bytes of a line, from 0, without its end. A line that is not there is empty, at the end of the text.
    pub fn line_span(&self, line: u32) -> Span {
        let length = self.text.len() as u32;
        let start = self.starts.start(line).unwrap_or(length);
        let next = self.starts.start(line.saturating_add(1)).unwrap_or(length);
        let line = Span::new(start, next).text(&self.text);
        Span::new(start, start + line.trim_end_matches(['\n', '\r']).len() as u32)
    }

    /// The byte at a position. A column past the end of its line is the end of the line; a line that is not there has
    /// none.
    pub fn offset(&self, position: Position) -> Option<u32> {
        self.starts.start(position.line)?;
        let line = self.line_span(position.line);
        let mut left = position.character as usize;
        let mut at = line.start as usize;
        for character in line.text(&self.text).chars() {
            let units = self.encoding.units(character);
            if left < units {
                break;
            }
            left -= units;
            at += character.len_utf8();
        }
        Some(at as u32)
    }

    /// The byte at a position, or the end of the text.
    fn offset_or_end(&self, position: Position) -> u32 {
        self.offset(position).unwrap_or(self.text.len() as u32)
    }

    /// The position of a byte.
    pub fn position(&self, byte: u32) -> Position {
        let mut byte = (byte as usize).min(self.text.len());
        while !self.text.is_char_boundary(byte) {
            byte -= 1;
        }
        let line = self.line(byte as u32);
        let start = self.starts.start(line).unwrap_or(0);
        let before = Span::new(start, byte as u32).text(&self.text);
        Position { line, character: self.units(before) }
    }

    /// How many columns a part of a line takes.
    pub fn units(&self, part: &str) -> u32 {
        let units = match self.encoding {
            Encoding::Utf8 => part.len(),
            _ if part.is_ascii() => part.len(),
            encoding => part.chars().map(|character| encoding.units(character)).sum(),
        };
        units as u32
    }

    /// The range of a span.
    pub fn range(&self, span: Span) -> Range {
        Range { start: self.position(span.start), end: self.position(span.end) }
    }

    /// The span of a range; what is not in the text is its end.
    pub fn span(&self, range: Range) -> Span {
        let start = self.offset_or_end(range.start);
        Span::new(start, self.offset_or_end(range.end).max(start))
    }

    /// Makes a change that the client reports.
    pub fn apply(&mut self, change: TextDocumentContentChangeEvent) {
        let Some(range) = change.range else {
            *self = Text::new(change.text, self.encoding);
            return;
        };
        let span = self.span(range);
        let kept = self.text.len() - (span.end - span.start) as usize;
        if kept + change.text.len() > u32::MAX as usize {
            return;
        }
        self.text.replace_range(span.start as usize..span.end as usize, &change.text);
        self.starts.replaced(span, change.text.len() as u32, &self.text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(line: u32, character: u32) -> Position {
        Position { line, character }
    }

    #[test]
    fn columns_count_what_was_agreed() {
        let text = "a\u{e9}\u{1f600}b\nc";
        let end_of_b = "a\u{e9}\u{1f600}b".len() as u32;
        for (encoding, column) in [(Encoding::Utf8, 8), (Encoding::Utf16, 5), (Encoding::Utf32, 4)] {
            let text = Text::new(text.to_owned(), encoding);
            assert_eq!(text.position(end_of_b), at(0, column), "{encoding:?}");
            assert_eq!(text.offset(at(0, column)), Some(end_of_b), "{encoding:?}");
            assert_eq!(text.offset(at(0, 99)), Some(end_of_b), "{encoding:?}");
            assert_eq!(text.offset(at(2, 0)), None, "{encoding:?}");
        }
    }

    #[test]
    fn lines_end_in_three_ways() {
        let text = Text::new("a\r\nb\rc\nd".to_owned(), Encoding::Utf8);
        assert_eq!(text.line_count(), 4);
        let lines: Vec<&str> = (0..5).map(|line| text.line_span(line).text(text.as_str())).collect();
        assert_eq!(lines, ["a", "b", "c", "d", ""]);
    }

    #[test]
    fn changes_are_made_in_place() {
        let mut text = Text::new("one\ntwo\nthree\n".to_owned(), Encoding::Utf16);
        let part = |start, end, new: &str| {
            let range = Some(Range { start, end });
            TextDocumentContentChangeEvent { range, text: new.to_owned() }
        };
        text.apply(part(at(1, 0), at(2, 0), "2\n"));
        assert_eq!(text.as_str(), "one\n2\nthree\n");
        text.apply(part(at(1, 1), at(1, 1), "\u{e9}"));
        text.apply(part(at(77, 0), at(99, 3), "end"));
        assert_eq!(text.as_str(), "one\n2\u{e9}\nthree\nend");
        assert_eq!(text.line_count(), 4);
        // A range that ends before it begins inserts.
        text.apply(part(at(2, 2), at(0, 0), "x"));
        assert_eq!(text.as_str(), "one\n2\u{e9}\nthxree\nend");
        text.apply(TextDocumentContentChangeEvent { range: None, text: "new".to_owned() });
        assert_eq!((text.as_str(), text.line_count()), ("new", 1));
    }
}
