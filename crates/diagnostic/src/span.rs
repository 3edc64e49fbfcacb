//! Places in a source text.

/// A range of bytes in the source: from `start` up to, not including, `end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// The bytes from `start` up to `end`.
    #[inline]
    pub const fn new(start: u32, end: u32) -> Span {
        Span { start, end }
    }

    /// The least span that contains both.
    pub fn to(self, other: Span) -> Span {
        Span { start: self.start.min(other.start), end: self.end.max(other.end) }
    }

    /// The text there; empty if the source is another one.
    #[inline]
    pub fn text(self, source: &str) -> &str {
        source.get(self.start as usize..self.end as usize).unwrap_or("")
    }
}

/// Where lines begin, to turn bytes into lines and columns.
#[derive(Clone, Debug)]
pub struct Lines {
    starts: Vec<u32>,
}

/// A line and a column, both from 1. Columns count characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// From 1.
    pub line: u32,
    /// From 1, in characters.
    pub column: u32,
}

impl Lines {
    /// Finds the lines of a text.
    pub fn new(source: &str) -> Lines {
        let after = source.bytes().enumerate().filter(|&(_, byte)| byte == b'\n').map(|(n, _)| n as u32 + 1);
        Lines { starts: std::iter::once(0).chain(after).collect() }
    }

    /// The line that a byte is on, from 1.
    pub fn line(&self, byte: u32) -> u32 {
        self.starts.partition_point(|&start| start <= byte) as u32
    }

    /// The first byte of a line, from 1; past every text for a line that is not there.
    pub fn start(&self, line: u32) -> u32 {
        self.starts.get((line as usize).wrapping_sub(1)).copied().unwrap_or(u32::MAX)
    }

    /// The line and column of a byte in the text that this was made from.
    pub fn position(&self, source: &str, byte: u32) -> Position {
        let line = self.line(byte);
        let start = self.starts[line as usize - 1];
        let column = Span::new(start, byte).text(source).chars().count() as u32 + 1;
        Position { line, column }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_have_lines_and_columns() {
        let source = "ab\nçd\n\n";
        let lines = Lines::new(source);
        let at = |byte| {
            let position = lines.position(source, byte);
            (position.line, position.column)
        };
        assert_eq!(
            [at(0), at(2), at(3), at(5), at(7), at(8)],
            [(1, 1), (1, 3), (2, 1), (2, 2), (3, 1), (4, 1)]
        );
    }
}
