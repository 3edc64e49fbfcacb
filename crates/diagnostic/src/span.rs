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

/// Where the lines of a text begin that end with `\n`, `\r\n` or `\r`, as editors count them. It follows changes.
#[derive(Clone, Debug)]
pub struct LineStarts {
    starts: Vec<u32>,
}

impl LineStarts {
    /// Finds the lines of a text, which is at most 4 GiB long.
    pub fn new(source: &str) -> LineStarts {
        let mut starts = vec![0];
        let bytes = source.as_bytes();
        starts.extend((1..=bytes.len()).filter(|&at| begins_line(bytes, at)).map(|at| at as u32));
        LineStarts { starts }
    }

    /// The number of lines: at least one.
    pub fn count(&self) -> u32 {
        self.starts.len() as u32
    }

    /// The line that a byte is on, from 0.
    pub fn line(&self, byte: u32) -> u32 {
        (self.starts.partition_point(|&start| start <= byte) as u32).saturating_sub(1)
    }

    /// The first byte of a line, from 0.
    pub fn start(&self, line: u32) -> Option<u32> {
        self.starts.get(line as usize).copied()
    }

    /// Follows a change: what was at a span became some bytes of the text as it is now.
    pub fn replaced(&mut self, span: Span, length: u32, source: &str) {
        let bytes = source.as_bytes();
        // Whether a line begins at a byte is decided by this byte and the one before it.
        let first = self.starts.partition_point(|&start| start < span.start).max(1);
        let last = self.starts.partition_point(|&start| start <= span.end).max(first);
        let end = span.start + length;
        for start in &mut self.starts[last..] {
            *start = *start - span.end + end;
        }
        let around = span.start.max(1) as usize..=end as usize;
        let new: Vec<u32> = around.filter(|&at| begins_line(bytes, at)).map(|at| at as u32).collect();
        self.starts.splice(first..last, new);
    }
}

/// Whether a line begins at a byte, which is not the first.
fn begins_line(bytes: &[u8], at: usize) -> bool {
    match bytes.get(at.wrapping_sub(1)) {
        Some(b'\n') => true,
        Some(b'\r') => bytes.get(at) != Some(&b'\n'),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_starts_follow_changes() {
        let parts = ["", "\n", "\r", "\r\n", "a", "b\nc", "\n\r", "\r\r\n\n"];
        let text = "a\r\nb\rc\n\nd\r\n";
        for start in 0..=text.len() {
            for end in start..=text.len() {
                for part in parts {
                    let mut lines = LineStarts::new(text);
                    let mut new = text.to_owned();
                    new.replace_range(start..end, part);
                    lines.replaced(Span::new(start as u32, end as u32), part.len() as u32, &new);
                    assert_eq!(lines.starts, LineStarts::new(&new).starts, "{start}..{end} {part:?}");
                }
            }
        }
        let lines = LineStarts::new("a\r\nb\rc\n");
        assert_eq!((lines.count(), lines.start(1), lines.start(4)), (4, Some(3), None));
        assert_eq!((lines.line(0), lines.line(2), lines.line(3), lines.line(99)), (0, 0, 1, 3));
    }

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
