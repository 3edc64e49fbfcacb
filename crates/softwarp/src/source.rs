//! A PTX file as text: what is in it, where, and what is wrong with it.

use crate::check::{CheckedModule, Locals, Options, Outlined, resolve, resolve_outline};
use crate::syntax::{Code, Diagnostic, Explained, Lines, Module, Position, Span, parse};
use std::sync::OnceLock;

/// The most bytes that a file may have: places in it are 32-bit numbers.
pub const LONGEST: u64 = u32::MAX as u64;

/// From this many bytes on, a file is large: starting threads and reading heads first takes less time than it saves.
const LARGE: usize = 1 << 20;

/// What can be wrong with a file before it is read as PTX.
pub const CODES: &[Explained] = &[Explained {
    code: NOT_TEXT,
    title: "the file is not UTF-8",
    text: "PTX is ASCII text (section 4.1). Bytes that are not UTF-8 are read as `?`, and the first of them is \
           reported. They often come from a comment written in another encoding, or the file is no text at \
           all, such as a cubin.",
    wrong: ".version 8.0\n.target sm_90\n.address_size 64\n// caf<byte e9>\n.visible .entry k() { ret; }\n",
    right: ".version 8.0\n.target sm_90\n.address_size 64\n// cafe\n.visible .entry k() { ret; }\n",
}];

const NOT_TEXT: Code = Code("E0000");

/// A file's text, and where its lines are.
#[derive(Debug)]
pub struct Source {
    /// How to call the file.
    pub name: String,
    /// What is in it. Bytes that are no text are `?`.
    pub text: String,
    flaw: Option<Diagnostic>,
    /// Found when first asked for: a file without flaws has no use for them.
    places: OnceLock<(Lines, Columns)>,
}

/// A file that was read and checked.
#[derive(Debug)]
pub struct CheckedSource {
    /// Its tree.
    pub module: Module,
    /// What it means; with errors among the diagnostics, what could be made out.
    pub checked: CheckedModule,
    /// Everything to say about it, in the order of the text.
    pub diagnostics: Vec<Diagnostic>,
}

impl Source {
    /// Takes a file's content. More than [`LONGEST`] bytes are cut off.
    pub fn new(name: impl Into<String>, mut bytes: Vec<u8>) -> Source {
        bytes.truncate(LONGEST as usize);
        let (text, flaw) = match String::from_utf8(bytes) {
            Ok(text) => (text, None),
            Err(error) => {
                let (text, bad) = mend(error.as_bytes());
                (text, bad.map(not_text))
            }
        };
        Source { name: name.into(), text, flaw, places: OnceLock::new() }
    }

    /// Everything to say about the file, in the order of the text.
    pub fn diagnose(&self, options: Options) -> Vec<Diagnostic> {
        self.diagnose_on(options, 1)
    }

    /// The same. A large file is checked function by function, on up to a given number of threads; that changes nothing
    /// but the time and the memory that it takes.
    pub fn diagnose_on(&self, options: Options, threads: usize) -> Vec<Diagnostic> {
        match self.outlined(options, Locals::Few, threads) {
            Some(outlined) => outlined.diagnostics,
            None => self.check(options).diagnostics,
        }
    }

    /// What the file means, and everything to say about it, where nobody asks for the bodies of functions: those of a
    /// large file are empty. It is checked as by [`Source::diagnose_on`].
    pub fn check_outline(&self, options: Options, threads: usize) -> CheckedSource {
        self.outlined(options, Locals::All, threads).unwrap_or_else(|| self.check(options))
    }

    /// A large file checked function by function, unless it has to be read as a whole.
    fn outlined(&self, options: Options, locals: Locals, threads: usize) -> Option<CheckedSource> {
        if self.text.len() < LARGE || self.flaw.is_some() {
            return None;
        }
        let Outlined { module, checked, diagnostics } =
            resolve_outline(&self.text, options, locals, threads)?;
        Some(CheckedSource { module, checked, diagnostics })
    }

    /// What the file means, and everything to say about it.
    pub fn check(&self, options: Options) -> CheckedSource {
        let parsed = parse(&self.text);
        let (checked, found) = resolve(&parsed.module, &self.text, options);
        let mut diagnostics: Vec<Diagnostic> = self.flaw.iter().cloned().collect();
        diagnostics.extend(parsed.diagnostics);
        diagnostics.extend(found);
        diagnostics.sort_by_key(|diagnostic| diagnostic.span().start);
        CheckedSource { module: parsed.module, checked, diagnostics }
    }

    /// What is wrong with the file apart from PTX.
    pub fn flaw(&self) -> Option<&Diagnostic> {
        self.flaw.as_ref()
    }

    /// The line and column of a byte. Asking costs the same in long lines as in short ones.
    pub fn position(&self, byte: u32) -> Position {
        let (lines, columns) = self.places();
        let line = lines.line(byte);
        let column = columns.before(&self.text, byte) - columns.before(&self.text, lines.start(line));
        Position { line, column: column + 1 }
    }

    /// The bytes of a line, from 1, without its end. Lines that are not there are empty.
    pub fn line(&self, line: u32) -> Span {
        let lines = &self.places().0;
        let length = self.text.len() as u32;
        let (begin, next) = (lines.start(line).min(length), lines.start(line + 1));
        let content = Span::new(begin, if next > length { length } else { next - 1 });
        let without = content.text(&self.text).strip_suffix('\r').map_or(content.end, |_| content.end - 1);
        Span::new(begin, without)
    }

    fn places(&self) -> &(Lines, Columns) {
        self.places.get_or_init(|| (Lines::new(&self.text), Columns::new(&self.text)))
    }
}

fn not_text(at: u32) -> Diagnostic {
    Diagnostic::new(NOT_TEXT, Span::new(at, at + 1), "the file is not UTF-8 text from here on")
        .with_help("save it as UTF-8; if it is a cubin or fatbin, disassemble it or find its PTX first")
}

/// The text with `?` for each byte that is none, and where the first of them is.
fn mend(bytes: &[u8]) -> (String, Option<u32>) {
    let mut text = String::with_capacity(bytes.len());
    let mut first = None;
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        if !chunk.invalid().is_empty() {
            first.get_or_insert(text.len() as u32);
            text.extend(chunk.invalid().iter().map(|_| '?'));
        }
    }
    (text, first)
}

/// How many characters there are before every few bytes; empty if all are one byte.
#[derive(Debug)]
struct Columns {
    before: Vec<u32>,
}

impl Columns {
    const STEP: usize = 1024;

    fn new(text: &str) -> Columns {
        if text.is_ascii() {
            return Columns { before: Vec::new() };
        }
        let mut characters = 0;
        let count = |chunk: &[u8]| {
            let before = characters;
            characters += begins(chunk);
            before
        };
        Columns { before: text.as_bytes().chunks(Columns::STEP).map(count).collect() }
    }

    /// How many characters begin before a byte.
    fn before(&self, text: &str, byte: u32) -> u32 {
        let byte = (byte as usize).min(text.len());
        match self.before.get(byte / Columns::STEP).or(self.before.last()) {
            None => byte as u32,
            Some(before) => {
                let step = (byte / Columns::STEP).min(self.before.len() - 1) * Columns::STEP;
                before + begins(&text.as_bytes()[step..byte])
            }
        }
    }
}

fn begins(bytes: &[u8]) -> u32 {
    bytes.iter().filter(|&&byte| byte as i8 >= -0x40).count() as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_those_of_lines() {
        let long = "é".repeat(3000);
        for text in ["ab\ncd\n\n", "aé\nçd\r\n", "", &format!("{long}\nx{long}")] {
            let (source, lines) = (Source::new("x", text.into()), Lines::new(text));
            for byte in (0..=text.len()).filter(|&byte| text.is_char_boundary(byte)) {
                assert_eq!(
                    source.position(byte as u32),
                    lines.position(text, byte as u32),
                    "{byte} of {text:.20}"
                );
            }
        }
    }

    #[test]
    fn lines_have_no_ends() {
        let source = Source::new("x", b"ab\r\nc\n".to_vec());
        let line = |n| source.line(n).text(&source.text);
        assert_eq!([line(1), line(2), line(3), line(4)], ["ab", "c", "", ""]);
    }

    #[test]
    fn bytes_that_are_no_text_are_marked() {
        let source = Source::new("x", b"a\xffb\xe9\xc3 \xe2\x82".to_vec());
        assert_eq!(source.text, "a?b?? ??");
        assert_eq!(source.flaw().map(|flaw| flaw.span()), Some(Span::new(1, 2)));
    }
}
