//! What is being written at the cursor. The text there is rarely whole, so this goes by tokens, not by the tree.

use crate::{Span, tokens};

/// What is being written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Writing<'t> {
    /// The first word of a statement in a body: an opcode.
    Opcode,
    /// A word of a mnemonic, behind its dot: the opcode and the words before it.
    Modifier(Mnemonic<'t>),
    /// A directive, or a word of a declaration, from its dot on: the words of the line before it.
    Directive {
        /// The words before it.
        before: Vec<&'t str>,
        /// Whether it stands in a body.
        in_body: bool,
    },
    /// An operand.
    Operand {
        /// The instruction.
        mnemonic: Mnemonic<'t>,
        /// Which operand, from 0.
        index: usize,
        /// Whether it is inside of brackets.
        in_address: bool,
    },
    /// The predicate behind `@`.
    Guard,
    /// What follows the dot of a special register.
    Component(&'t str),
    /// A target behind `.target`.
    Target,
    /// A version behind `.version`.
    Version,
    /// 32 or 64, behind `.address_size`.
    AddressSize,
    /// Nothing that can be completed.
    Nothing,
}

/// A mnemonic as far as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mnemonic<'t> {
    /// The opcode.
    pub opcode: &'t str,
    /// The words behind it, without their dots.
    pub words: Vec<&'t str>,
}

/// The cursor: what is being written, and the part of it that is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cursor<'t> {
    /// What is being written.
    pub writing: Writing<'t>,
    /// The word at the cursor up to it, without a dot; empty if there is none.
    pub prefix: Span,
}

/// Directives that end with their line.
const LINES: &[&str] = &[".version", ".target", ".address_size", ".file", ".loc"];

/// What is being written at a byte.
pub fn cursor(source: &str, byte: u32) -> Cursor<'_> {
    let nothing = |prefix| Cursor { writing: Writing::Nothing, prefix };
    let empty = Span::new(byte, byte);
    let Some(before) = source.get(..byte as usize) else { return nothing(empty) };
    let all: Vec<Span> = tokens(before).collect();
    let last_end = all.last().map_or(0, |span| span.end);
    let gap = Span::new(last_end, byte).text(source);
    if in_comment(gap)
        || all.last().is_some_and(|span| span.text(before).starts_with('"') && span.end == byte)
    {
        return nothing(empty);
    }
    let (statement, in_body) = statement(before, &all);
    let touching = gap.is_empty();
    let last = statement.last().copied();
    let is_word = |span: &Span| {
        span.text(before).starts_with(|c: char| c.is_ascii_alphanumeric() || "%$_.".contains(c))
    };
    let word = last.filter(|span| touching && is_word(span));
    let prefix = word.map_or(empty, |span| match span.text(before).starts_with('.') {
        true => Span::new(span.start + 1, span.end),
        false => span,
    });
    let rest = if word.is_some() { &statement[..statement.len() - 1] } else { statement };
    let dotted = word.is_some_and(|span| span.text(before).starts_with('.'));
    let texts: Vec<&str> = rest.iter().map(|span| span.text(before)).collect();
    let adjacent = rest.last().is_some_and(|span| span.end == word.map_or(byte, |word| word.start));
    let text = word.map_or("", |span| span.text(before));
    Cursor { writing: writing(&texts, dotted, adjacent, in_body, text), prefix }
}

/// Whether what stands between the last token and the cursor is a comment that goes on.
fn in_comment(gap: &str) -> bool {
    let after = match gap.rfind("*/") {
        Some(end) => &gap[end + 2..],
        None => gap,
    };
    let line = after.rsplit('\n').next().unwrap_or_default();
    line.contains("//") || line.trim_start().starts_with('#') || after.contains("/*")
}

/// The tokens of the statement that the text ends in, and whether it is in a body.
fn statement<'s>(source: &str, all: &'s [Span]) -> (&'s [Span], bool) {
    let (mut start, mut depth, mut inner) = (0, 0_u32, 0_u32);
    for (index, span) in all.iter().enumerate() {
        let text = span.text(source);
        let first = all.get(start).filter(|_| start < index).map(|span| span.text(source));
        let before = index.checked_sub(1).and_then(|before| all.get(before));
        let new_line =
            || before.is_some_and(|before| source[before.end as usize..span.start as usize].contains('\n'));
        if first.is_some_and(|first| LINES.contains(&first))
            && new_line()
            && before.is_some_and(|before| before.text(source) != ",")
        {
            start = index;
        }
        // A statement that is not finished ends where the next line begins another.
        let goes_on =
            |before: &Span| matches!(before.text(source), "," | "{" | "(" | "[" | "|" | "+" | "-" | "=");
        let begins = text == "@" || text.starts_with('.') || softwarp_isa::instruction::known(text);
        if depth > 0 && begins && new_line() && !before.is_some_and(goes_on) {
            (start, inner) = (index, 0);
        }
        let first = all.get(start).filter(|_| start < index).map(|span| span.text(source));
        match text {
            ";" => (start, inner) = (index + 1, 0),
            "{" if opens_block(first, before.map(|before| before.text(source)), inner) => {
                (start, depth) = (index + 1, depth + 1);
            }
            "{" => inner += 1,
            "}" if inner > 0 => inner -= 1,
            "}" => (start, depth) = (index + 1, depth.saturating_sub(1)),
            ":" if index == start + 1 => start = index + 1,
            _ => {}
        }
    }
    (&all[start.min(all.len())..], depth > 0)
}

/// Whether a brace opens a body or block, and no vector or list.
fn opens_block(first: Option<&str>, before: Option<&str>, inner: u32) -> bool {
    inner == 0
        && first.is_none_or(|first| first.starts_with('.') && before != Some("=") && before != Some(","))
}

fn writing<'t>(texts: &[&'t str], dotted: bool, adjacent: bool, in_body: bool, text: &str) -> Writing<'t> {
    // A guard: `@p`, `@!p`.
    let texts = match texts {
        ["@"] | ["@", "!"] => return Writing::Guard,
        ["@", "!", _, rest @ ..] | ["@", _, rest @ ..] => rest,
        _ => texts,
    };
    let directive = |texts: &[&'t str]| Writing::Directive { before: texts.to_vec(), in_body };
    let Some((&first, rest)) = texts.split_first() else {
        let numeric = text.starts_with(|c: char| c.is_ascii_digit());
        return match () {
            () if dotted => directive(texts),
            () if in_body && !numeric => Writing::Opcode,
            () => Writing::Nothing,
        };
    };
    if first.starts_with('.') || first == "." {
        return match first {
            ".version" => Writing::Version,
            ".target" => Writing::Target,
            ".address_size" => Writing::AddressSize,
            _ if dotted || texts.last() == Some(&".") => directive(texts),
            _ => Writing::Nothing,
        };
    }
    let words: Vec<&str> =
        rest.iter().map_while(|word| word.strip_prefix('.')).filter(|word| !word.is_empty()).collect();
    let mnemonic_length = 1 + rest.iter().take_while(|word| word.starts_with('.')).count();
    let mnemonic = Mnemonic { opcode: first, words };
    let operands = &texts[mnemonic_length..];
    if operands.is_empty() && (dotted || texts.last() == Some(&".")) && adjacent {
        return Writing::Modifier(mnemonic);
    }
    if operands.is_empty() && adjacent {
        return Writing::Nothing;
    }
    let ends_with_dot = operands.last() == Some(&".") && operands.len() > 1;
    if dotted || ends_with_dot {
        let of = if dotted { operands.last() } else { operands.get(operands.len() - 2) };
        return of.map_or(Writing::Nothing, |of| Writing::Component(of));
    }
    let (mut index, mut depth, mut in_address) = (0, 0_u32, 0_u32);
    for &token in operands {
        match token {
            "[" | "{" | "(" => {
                depth += 1;
                in_address += u32::from(token == "[");
            }
            "]" | "}" | ")" => {
                depth = depth.saturating_sub(1);
                in_address -= u32::from(token == "]" && in_address > 0);
            }
            "," if depth == 0 => index += 1,
            _ => {}
        }
    }
    Writing::Operand { mnemonic, index, in_address: in_address > 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The cursor is at the bar.
    fn at(text: &str) -> (String, String) {
        let byte = text.find('|').expect("a cursor");
        let source = text.replacen('|', "", 1);
        let cursor = cursor(&source, byte as u32);
        (format!("{:?}", cursor.writing), cursor.prefix.text(&source).to_owned())
    }

    #[test]
    fn what_is_written_is_seen_from_tokens() {
        let body = ".version 8.0\n.target sm_90\n.entry k()\n{\n";
        let cases = [
            ("ad|", "Opcode", "ad"),
            ("|", "Opcode", ""),
            ("L:|", "Opcode", ""),
            ("@%p ad|", "Opcode", "ad"),
            ("@|", "Guard", ""),
            ("@!%p|", "Guard", "%p"),
            ("add.|", "Modifier(Mnemonic { opcode: \"add\", words: [] })", ""),
            ("ld.global.v|", "Modifier(Mnemonic { opcode: \"ld\", words: [\"global\"] })", "v"),
            (
                "add.s32 |",
                "Operand { mnemonic: Mnemonic { opcode: \"add\", words: [\"s32\"] }, index: 0, in_address: false }",
                "",
            ),
            (
                "add.s32 %r1, %r|",
                "Operand { mnemonic: Mnemonic { opcode: \"add\", words: [\"s32\"] }, index: 1, in_address: false }",
                "%r",
            ),
            (
                "st.v2.f32 [%rd|], {%f1, %f2}",
                "Operand { mnemonic: Mnemonic { opcode: \"st\", words: [\"v2\", \"f32\"] }, index: 0, in_address: true }",
                "%rd",
            ),
            (
                "st.v2.f32 [%rd1], {%f1, |",
                "Operand { mnemonic: Mnemonic { opcode: \"st\", words: [\"v2\", \"f32\"] }, index: 1, in_address: false }",
                "",
            ),
            ("mov.u32 %r1, %tid.|", "Component(\"%tid\")", ""),
            ("mov.u32 %r1, %tid.x|", "Component(\"%tid\")", "x"),
            (".re|", "Directive { before: [], in_body: true }", "re"),
            (".reg .b|", "Directive { before: [\".reg\"], in_body: true }", "b"),
            ("// add.|", "Nothing", ""),
            ("/* add.|", "Nothing", ""),
            ("/* x */ ad|", "Opcode", "ad"),
            (".loc 1 2 3\nad|", "Opcode", "ad"),
            ("{ .reg .b32 t; } ad|", "Opcode", "ad"),
            ("mul.\nadd.|", "Modifier(Mnemonic { opcode: \"add\", words: [] })", ""),
            ("ld.global.f32 %f1, [%rd\n@|", "Guard", ""),
        ];
        for (text, writing, prefix) in cases {
            assert_eq!(at(&format!("{body}{text}")), (writing.to_owned(), prefix.to_owned()), "{text}");
        }
        assert_eq!(at(".ver|").0, "Directive { before: [], in_body: false }");
        assert_eq!(at(".version 8|").0, "Version");
        assert_eq!(at(".version 8.0\n.target sm_|"), ("Target".to_owned(), "sm_".to_owned()));
        assert_eq!(at(".version 8.0\n.target sm_90\n.address_size |").0, "AddressSize");
        assert_eq!(at(".version 8.0\n.target sm_90\n.gl|").0, "Directive { before: [], in_body: false }");
        assert_eq!(at(".global .u32 a[2] = {1, 2};\n.gl|").0, "Directive { before: [], in_body: false }");
    }

    #[test]
    fn no_text_and_no_place_is_too_odd() {
        let text = "@ { } : ; , . :: \u{e9} \" /* .target @!%p add. [ ( { \n}";
        for byte in 0..=text.len() as u32 + 2 {
            let _ = cursor(text, byte);
        }
    }
}
