//! What stands at module scope (PTX ISA sections 11.1, 11.2.3, 11.5).

use super::{Parser, Read};
use crate::token::{Mark, Token};
use crate::tree::{Directive, FileDirective, Item, Name, Section, Symbol};
use crate::{Diagnostic, Span, codes};

/// Words that begin an item, beside the state spaces.
pub(super) const BEGIN_ITEMS: &[&str] = &[
    "version",
    "target",
    "address_size",
    "entry",
    "func",
    "extern",
    "visible",
    "weak",
    "common",
    "alias",
    "file",
    "section",
    "pragma",
    "align",
    "attribute",
];

impl Parser<'_> {
    /// Reads everything.
    pub(super) fn module(&mut self) {
        while self.token != Token::End {
            if self.item().is_err() {
                self.skip_item();
            }
        }
    }

    /// Skips to where an item surely begins.
    fn skip_item(&mut self) {
        if self.span.start == self.statement {
            self.bump();
        }
        loop {
            match self.token {
                Token::End => return,
                Token::Mark(Mark::Semicolon) => {
                    self.bump();
                    // Behind garbage there may be more of it; nothing but an item ends it.
                    if self.token == Token::Dotted || self.token == Token::End {
                        return;
                    }
                }
                // What is in braces belongs to the garbage before it.
                Token::Mark(Mark::OpenBrace) => self.skip_block(),
                Token::Dotted if self.begins_line() && self.begins_item() => return,
                _ => self.bump(),
            }
        }
    }

    /// Skips a block and all blocks in it, but not another function.
    fn skip_block(&mut self) {
        let mut depth = 0u32;
        loop {
            match self.token {
                Token::End => return,
                Token::Mark(Mark::OpenBrace) => depth += 1,
                Token::Mark(Mark::CloseBrace) if depth == 1 => return self.bump(),
                Token::Mark(Mark::CloseBrace) => depth -= 1,
                Token::Dotted if self.begins_line() && self.begins_function() => return,
                _ => {}
            }
            self.bump();
        }
    }

    /// Whether the next token is a word that functions begin with.
    pub(super) fn begins_function(&self) -> bool {
        matches!(self.dotted(), Some("entry" | "func" | "visible"))
    }

    fn item(&mut self) -> Read<()> {
        let start = self.span.start;
        self.statement = start;
        if self.token == Token::Dwarf {
            self.bump();
            let is = self.dwarf()?;
            self.module.items.push(Item::Other(Directive { is, span: self.since(start) }));
            return Ok(());
        }
        let Some(word) = self.dotted() else {
            return Err(self.unexpected(codes::ITEM, "a directive or a declaration"));
        };
        let item = match word {
            "version" => {
                self.header_once(|item| matches!(item, Item::Version(_)));
                let word = self.span;
                self.bump();
                let version = self.version(word)?;
                Item::Version(Directive { is: version, span: self.since(start) })
            }
            "target" => {
                // Several may follow one another.
                if !matches!(self.module.items.last(), Some(Item::Target(_))) {
                    self.header_once(|item| matches!(item, Item::Target(_)));
                }
                self.bump();
                let names = self.names("a target, such as `sm_90`")?;
                Item::Target(Directive { is: names, span: self.since(start) })
            }
            "address_size" => {
                self.header_once(|item| matches!(item, Item::AddressSize(_)));
                if !matches!(self.module.items.last(), Some(Item::Target(_) | Item::AddressSize(_))) {
                    let message = "`.address_size` must stand right behind `.target`";
                    let _ = self.fail(codes::HEADER, self.span, message);
                }
                self.bump();
                let size = self.number("32 or 64")?;
                Item::AddressSize(Directive { is: size.is, span: self.since(start) })
            }
            "alias" => {
                let names = self.alias()?;
                Item::Alias(Directive { is: names, span: self.since(start) })
            }
            "file" => {
                self.bump();
                let file = self.file()?;
                Item::File(Directive { is: file, span: self.since(start) })
            }
            "section" => {
                self.bump();
                let section = self.section()?;
                Item::Section(Directive { is: section, span: self.since(start) })
            }
            "pragma" => {
                let texts = self.pragma()?;
                Item::Pragma(Directive { is: texts, span: self.since(start) })
            }
            _ => return self.declaration_or_function(),
        };
        self.module.items.push(item);
        Ok(())
    }

    /// `.section .debug_info, "", @progbits` or `.byte 1, 2` behind `@@DWARF` (section 11.5.1); returns the
    /// first word.
    fn dwarf(&mut self) -> Read<Symbol> {
        let word = self.dotted().unwrap_or("");
        match word {
            "section" => {
                self.bump();
                if self.token != Token::Dotted {
                    return Err(self.unexpected(codes::EXPECTED, "the section's name, such as `.debug_info`"));
                }
                self.bump();
                self.expect(Mark::Comma, "`,`")?;
                if self.token != Token::Text {
                    return Err(self.unexpected(codes::EXPECTED, "a string"));
                }
                self.bump();
                self.expect(Mark::Comma, "`,`")?;
                self.expect(Mark::At, "`@progbits`")?;
                if self.text() != "progbits" {
                    return Err(self.unexpected(codes::EXPECTED, "`progbits`"));
                }
                self.bump();
            }
            "byte" | "4byte" | "quad" => {
                self.bump();
                if word != "byte" && self.token == Token::Word {
                    self.bump();
                } else {
                    self.numbers(usize::MAX, "an integer")?;
                }
            }
            _ => return Err(self.unexpected(codes::EXPECTED, "`.section`, `.byte`, `.4byte` or `.quad`")),
        }
        Ok(self.intern(word))
    }

    /// Reports a header that comes twice.
    fn header_once(&mut self, same: impl Fn(&Item) -> bool) {
        let first = self.module.items.iter().find_map(|item| match item {
            Item::Version(Directive { span, .. })
            | Item::Target(Directive { span, .. })
            | Item::AddressSize(Directive { span, .. })
                if same(item) =>
            {
                Some(*span)
            }
            _ => None,
        });
        if let Some(first) = first {
            let message = format!("a second `{}`", self.text());
            self.report(Diagnostic::new(codes::HEADER, self.span, message).with_related(first, "the first"));
        }
    }

    /// `9.0`, on the line of `.version` and without a comment between: the assembler reads both as one token.
    fn version(&mut self, word: Span) -> Read<(u32, u32)> {
        let text = self.text();
        let between = self.source.get(word.end as usize..self.span.start as usize).unwrap_or("");
        if !between.bytes().all(|byte| matches!(byte, b' ' | b'\t')) {
            let message = "the version must stand on the same line as `.version`, with blanks between them";
            return Err(self.fail(codes::HEADER, word, message));
        }
        let halves = text.split_once('.').filter(|_| self.token == Token::Decimal);
        let version = halves.and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)));
        let Some(version) = version else {
            return Err(self.unexpected(codes::HEADER, "a version, such as `9.0`"));
        };
        self.bump();
        Ok(version)
    }

    /// Names with commas between them.
    pub(super) fn names(&mut self, expected: &str) -> Read<Vec<Name>> {
        let mut names = vec![self.name(expected)?];
        while self.eat(Mark::Comma) {
            names.push(self.name(expected)?);
        }
        Ok(names)
    }

    /// `.alias a, b;`
    pub(super) fn alias(&mut self) -> Read<(Name, Name)> {
        self.bump();
        let alias = self.name("the alias's name")?;
        self.expect(Mark::Comma, "`,`")?;
        let function = self.name("a function's name")?;
        self.end_statement("`;`")?;
        Ok((alias, function))
    }

    /// `1 "x.cu", 123, 456`
    fn file(&mut self) -> Read<FileDirective> {
        let index = self.short_number("the file's number")?.is;
        if self.token != Token::Text {
            return Err(self.unexpected(codes::EXPECTED, "the file's name in quotes"));
        }
        let name = self.span;
        self.bump();
        let mut stamp = None;
        if self.eat(Mark::Comma) {
            let time = self.number("a timestamp")?.is;
            let size = if self.eat(Mark::Comma) { self.number("the file's size")?.is } else { 0 };
            stamp = Some((time, size));
        }
        Ok(FileDirective { index, name, stamp })
    }

    /// `.pragma "…", "…";`
    pub(super) fn pragma(&mut self) -> Read<Vec<Span>> {
        self.bump();
        let mut texts = Vec::new();
        loop {
            if self.token != Token::Text {
                return Err(self.unexpected(codes::EXPECTED, "a string"));
            }
            texts.push(self.span);
            self.bump();
            if !self.eat(Mark::Comma) {
                break;
            }
        }
        self.end_statement("`;`")?;
        Ok(texts)
    }

    /// `.debug_info { … }`
    pub(super) fn section(&mut self) -> Read<Section> {
        if self.token != Token::Dotted {
            return Err(self.unexpected(codes::EXPECTED, "the section's name, such as `.debug_info`"));
        }
        let name = Name { symbol: self.intern(self.text()), span: self.span };
        self.bump();
        let open = self.span;
        self.expect(Mark::OpenBrace, "`{`")?;
        if let Err(skip) = self.section_lines(open) {
            while !matches!(self.token, Token::End | Token::Mark(Mark::CloseBrace)) {
                self.bump();
            }
            self.eat(Mark::CloseBrace);
            return Err(skip);
        }
        let contents = Span::new(open.end, self.span.start);
        self.bump();
        Ok(Section { name, contents })
    }

    /// Labels and numbers, up to the closing brace.
    fn section_lines(&mut self, open: Span) -> Read<()> {
        loop {
            match self.token {
                Token::Mark(Mark::CloseBrace) => return Ok(()),
                Token::End => return Err(self.unclosed(open, "section")),
                Token::Word => {
                    self.bump();
                    self.expect(Mark::Colon, "`:` behind a label")?;
                }
                Token::Dotted => {
                    let bits = match self.text() {
                        ".b8" => 8,
                        ".b16" => 16,
                        ".b32" => 32,
                        ".b64" => 64,
                        _ => return Err(self.no_section_data()),
                    };
                    self.bump();
                    self.section_data(bits)?;
                }
                _ => return Err(self.no_section_data()),
            }
        }
    }

    #[cold]
    fn no_section_data(&mut self) -> super::Skip {
        self.unexpected(codes::EXPECTED, "`.b8`, `.b16`, `.b32`, `.b64` or a label")
    }

    /// `1, -2`, or `label+4`, or `label-label`, or `.debug_info+4`. What is wrong with a number or label is
    /// noticed at the token after it, which could have gone on.
    fn section_data(&mut self, bits: u32) -> Read<()> {
        match self.token {
            Token::Word | Token::Dotted => {
                let may_subtract = self.token == Token::Word;
                self.bump();
                if self.eat(Mark::Plus) {
                    self.number("an offset")?;
                } else if may_subtract && self.eat(Mark::Minus) {
                    self.name("a label")?;
                }
                if bits < 32 {
                    let message = format!("an address does not fit `.b{bits}`: it takes `.b32` or `.b64`");
                    let _ = self.fail(codes::NUMBER, self.span, message);
                }
            }
            _ => loop {
                let negative = self.eat(Mark::Minus);
                if self.token != Token::Int {
                    return Err(self.unexpected(codes::NUMBER, "an integer or a label"));
                }
                let magnitude = self.number("an integer or a label")?.is;
                self.statement = self.statement.max(self.span.start);
                let most = if negative { 1u64 << (bits - 1) } else { u64::MAX >> (64 - bits) };
                let kept = if negative || bits == 64 { magnitude } else { magnitude & u64::from(u32::MAX) };
                if bits < 64 && kept > most {
                    let sign = if negative { "-" } else { "" };
                    let message = format!("{sign}{magnitude} does not fit `.b{bits}`");
                    let _ = self.fail(codes::NUMBER, self.span, message);
                }
                if !self.eat(Mark::Comma) {
                    break;
                }
            },
        }
        Ok(())
    }

    /// Reports a brace without its partner, at the end of the text.
    pub(super) fn unclosed(&mut self, open: Span, what: &str) -> super::Skip {
        let message = format!("expected `}}` at the end of this {what}");
        self.report(Diagnostic::new(codes::UNCLOSED, self.span, message).with_related(open, "it opens here"));
        super::Skip
    }
}
