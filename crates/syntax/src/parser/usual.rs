//! The instructions that most of a module consists of, read from its bytes at once: a mnemonic that has occurred
//! before, and operands that are names, numbers, addresses of a name and a number, and vectors of names.
//!
//! Everything else is left to the parser proper, which begins at the same place again; nothing has changed then but
//! that names may have been interned, in the order in which the parser would intern them. What is read here is exactly
//! what the parser would make of it (a test compares them).

use super::{Parser, is_reserved};
use crate::Span;
use crate::lexer::IN_WORD;
use crate::symbols::register_at;
use crate::token::Token;
use crate::tree::{
    Expr, Guard, Instruction, Literal, MnemonicId, Operand, OperandKind, Range, Statement, Symbol,
};

/// What can be in a mnemonic: words, dots and colons.
const IN_MNEMONIC: [bool; 256] = {
    let mut table = IN_WORD;
    table[b'.' as usize] = true;
    table[b':' as usize] = true;
    table
};

/// Where operands, their parts and expressions were before an instruction.
#[derive(Clone, Copy)]
struct Before {
    operands: usize,
    pool: usize,
    expressions: usize,
}

impl Parser<'_> {
    /// Reads an instruction whose opcode is the next token, if it is a usual one.
    #[inline]
    pub(super) fn usual_instruction(
        &mut self,
        statements: &mut Vec<Statement>,
        start: u32,
        guard: Option<Guard>,
    ) -> bool {
        let opcode = self.span.start;
        let mut end = self.lexer.offset() as usize;
        let bytes = self.source.as_bytes();
        while bytes.get(end).is_some_and(|&byte| IN_MNEMONIC[byte as usize]) {
            end += 1;
        }
        let mnemonic_span = Span::new(opcode, end as u32);
        let Some(mnemonic) = self.known_mnemonic(mnemonic_span) else { return false };
        let before = Before {
            operands: self.operands.len(),
            pool: self.module.operands.len(),
            expressions: self.module.expressions.len(),
        };
        let Some(end) = self.usual_operands(end) else {
            self.operands.truncate(before.operands);
            self.module.operands.truncate(before.pool);
            self.module.expressions.truncate(before.expressions);
            return false;
        };
        let operands = self.take_operands(before.operands);
        let span = Span::new(start, end as u32);
        statements.push(Statement::Instruction(Instruction {
            guard,
            mnemonic,
            mnemonic_span,
            operands,
            span,
        }));
        self.bump_statement(end);
        true
    }

    /// Moves to the token behind a semicolon: mostly an opcode on the next line.
    #[inline]
    fn bump_statement(&mut self, end: usize) {
        let bytes = self.source.as_bytes();
        let mut at = end;
        if bytes.get(at) == Some(&b'\n') {
            at += 1;
        }
        if bytes.get(at) == Some(&b'\t') {
            at += 1;
        }
        self.span = Span::new(end as u32 - 1, end as u32);
        if bytes.get(at).is_some_and(u8::is_ascii_lowercase) {
            let start = at;
            while bytes.get(at).is_some_and(|&byte| IN_WORD[byte as usize]) {
                at += 1;
            }
            self.lexer.move_to(at as u32);
            self.last = end as u32;
            (self.token, self.span) = (Token::Word, Span::new(start as u32, at as u32));
        } else {
            self.lexer.move_to(end as u32);
            self.bump();
        }
    }

    /// A mnemonic that occurred before, unless it is one of those with operands of their own.
    #[inline]
    fn known_mnemonic(&self, span: Span) -> Option<MnemonicId> {
        let symbol = self.module.symbols.find(span.text(self.source))?;
        let id = self.mnemonic_of.get(symbol.0 as usize)?.checked_sub(1)?;
        let traits = self.traits.get(id as usize)?;
        (!traits.call && !traits.reserved).then_some(MnemonicId(id))
    }

    /// Reads operands up to the semicolon; gives the place behind it.
    #[inline]
    fn usual_operands(&mut self, mut at: usize) -> Option<usize> {
        let bytes = self.source.as_bytes();
        if *bytes.get(at)? == b';' {
            return Some(at + 1);
        }
        loop {
            at = self.usual_operand(blanks(bytes, at))?;
            match *bytes.get(at)? {
                b',' => at += 1,
                b';' => return Some(at + 1),
                b' ' | b'\t' => match *bytes.get(blanks(bytes, at))? {
                    b',' => at = blanks(bytes, at) + 1,
                    b';' => return Some(blanks(bytes, at) + 1),
                    _ => return None,
                },
                _ => return None,
            }
        }
    }

    /// Reads an operand; gives the place behind it.
    #[inline]
    fn usual_operand(&mut self, at: usize) -> Option<usize> {
        let bytes = self.source.as_bytes();
        let (kind, end) = match *bytes.get(at)? {
            b'[' => self.usual_address(at)?,
            b'{' => self.usual_vector(at)?,
            b'0'..=b'9' => {
                let (literal, end) = number(bytes, at)?;
                (OperandKind::Literal(literal), end)
            }
            b'-' if bytes.get(at + 1).is_some_and(u8::is_ascii_digit) => {
                let (Literal::Int { value, unsigned }, end) = number(bytes, at + 1)? else { return None };
                (OperandKind::Literal(Literal::Int { value: value.wrapping_neg(), unsigned }), end)
            }
            _ => {
                let (symbol, end) = self.usual_name(at)?;
                (OperandKind::Name(symbol), end as usize)
            }
        };
        self.operands.push(Operand { kind, span: Span::new(at as u32, end as u32) });
        Some(end)
    }

    /// A name that stands for itself, with nothing behind it that would belong to it.
    #[inline]
    fn usual_name(&mut self, at: usize) -> Option<(Symbol, u32)> {
        let bytes = self.source.as_bytes();
        let Some((letters, number, end)) = register_at(bytes, at) else { return self.other_name(at) };
        if !ENDS_NAME[*bytes.get(end)? as usize] {
            return None;
        }
        let symbol = match self.module.symbols.find_register(letters, number) {
            Some(symbol) => symbol,
            None => self.intern_name(Span::new(at as u32, end as u32).text(self.source)),
        };
        Some((symbol, end as u32))
    }

    /// A name that is no register's.
    fn other_name(&mut self, at: usize) -> Option<(Symbol, u32)> {
        let bytes = self.source.as_bytes();
        let end = word_end(bytes, at)?;
        if !ENDS_NAME[*bytes.get(end)? as usize] {
            return None;
        }
        let text = Span::new(at as u32, end as u32).text(self.source);
        (!is_reserved(text)).then(|| (self.intern_name(text), end as u32))
    }

    /// `[a]`, `[a+4]`
    #[inline]
    fn usual_address(&mut self, open: usize) -> Option<(OperandKind, usize)> {
        let bytes = self.source.as_bytes();
        let start = open + 1;
        let (symbol, end) = self.usual_name(start)?;
        let mut end = end as usize;
        let name = Operand { kind: OperandKind::Name(symbol), span: Span::new(start as u32, end as u32) };
        let mut base = name;
        if *bytes.get(end)? == b'+' {
            let from = end + 1;
            let (literal @ Literal::Int { .. }, behind) = number(bytes, from)? else { return None };
            let offset = self.push_expression(Expr::Literal(literal), Span::new(from as u32, behind as u32));
            let parts = self.pooled(name);
            let span = Span::new(start as u32, behind as u32);
            base = Operand { kind: OperandKind::Offset(parts, offset), span };
            end = behind;
        }
        if *bytes.get(end)? != b']' || !matches!(bytes.get(end + 1), Some(b',' | b';')) {
            return None;
        }
        Some((OperandKind::Address(self.pooled(base)), end + 1))
    }

    #[inline]
    fn pooled(&mut self, operand: Operand) -> Range<Operand> {
        let start = self.module.operands.len() as u32;
        self.module.operands.push(operand);
        Range::new(start, 1)
    }

    /// `{a, b}`
    #[inline]
    fn usual_vector(&mut self, open: usize) -> Option<(OperandKind, usize)> {
        let bytes = self.source.as_bytes();
        let mark = self.operands.len();
        let mut at = open + 1;
        loop {
            at = blanks(bytes, at);
            let (symbol, end) = self.usual_name(at)?;
            let span = Span::new(at as u32, end);
            self.operands.push(Operand { kind: OperandKind::Name(symbol), span });
            at = blanks(bytes, end as usize);
            match *bytes.get(at)? {
                b',' => at += 1,
                b'}' => break,
                _ => return None,
            }
        }
        Some((OperandKind::Vector(self.take_operands(mark)), at + 1))
    }
}

/// What may stand behind a name that nothing belongs to.
const ENDS_NAME: [bool; 256] = {
    let mut table = [false; 256];
    let mut at = 0;
    while at < 6 {
        table[b",;]}+ "[at] as usize] = true;
        at += 1;
    }
    table
};

/// Behind blanks: mostly one or none.
#[inline]
fn blanks(bytes: &[u8], at: usize) -> usize {
    let behind = at + (bytes.get(at) == Some(&b' ')) as usize;
    match bytes.get(behind) {
        Some(b' ' | b'\t') => {
            behind + bytes[behind..].iter().take_while(|&&byte| byte == b' ' || byte == b'\t').count()
        }
        _ => behind,
    }
}

/// Behind a word that begins with a letter, a dollar sign, an underscore or a percent sign.
#[inline]
fn word_end(bytes: &[u8], at: usize) -> Option<usize> {
    let first = *bytes.get(at)?;
    let begins = first == b'%' || IN_WORD[first as usize] && !first.is_ascii_digit();
    let mut end = at + 1;
    while bytes.get(end).is_some_and(|&byte| IN_WORD[byte as usize]) {
        end += 1;
    }
    // A dollar sign or a percent sign alone is no word.
    (begins && (end > at + 1 || first.is_ascii_alphabetic())).then_some(end)
}

/// A number of the usual sorts, and the place behind it: decimal digits without a leading zero that fit 32 bits,
/// hexadecimal digits, the bits of a single or a double. Nothing that could go on may stand behind it.
#[inline]
fn number(bytes: &[u8], at: usize) -> Option<(Literal, usize)> {
    let prefix = bytes.get(at + 1).copied().unwrap_or(0);
    let zero = *bytes.get(at)? == b'0';
    let (literal, end) = match prefix {
        b'x' if zero => {
            let (value, end) = hexadecimal(bytes, at + 2)?;
            (Literal::Int { value, unsigned: value > i64::MAX as u64 }, end)
        }
        b'f' | b'F' if zero => {
            let (value, end) = hexadecimal(bytes, at + 2)?;
            if end - at != 10 {
                return None;
            }
            (Literal::F32(value as u32), end)
        }
        b'd' | b'D' if zero => {
            let (value, end) = hexadecimal(bytes, at + 2)?;
            if end - at != 18 {
                return None;
            }
            (Literal::F64(value), end)
        }
        b'0'..=b'9' if zero => return None,
        _ => {
            let (mut value, mut end) = (0u64, at);
            while let Some(digit @ b'0'..=b'9') = bytes.get(end) {
                value = value * 10 + u64::from(digit - b'0');
                end += 1;
                if end - at > 9 {
                    return None;
                }
            }
            (Literal::Int { value, unsigned: false }, end)
        }
    };
    matches!(bytes.get(end), Some(b',' | b';' | b']')).then_some((literal, end))
}

/// One to sixteen hexadecimal digits.
#[inline]
fn hexadecimal(bytes: &[u8], at: usize) -> Option<(u64, usize)> {
    let (mut value, mut end) = (0u64, at);
    while let Some(digit) = bytes.get(end).and_then(|&byte| (byte as char).to_digit(16)) {
        value = value << 4 | u64::from(digit);
        end += 1;
        if end - at > 16 {
            return None;
        }
    }
    (end > at).then_some((value, end))
}

#[cfg(test)]
mod tests {
    use super::super::{Parser, finish};
    use crate::Parsed;
    use softwarp_testkit::{SplitMix64, recording};

    /// All that a tree is, in words.
    fn whole(parsed: &Parsed) -> String {
        let module = &parsed.module;
        let names: Vec<&str> =
            (0..module.symbols.len() as u32).map(|n| module.name(crate::tree::Symbol(n))).collect();
        format!(
            "{:?} {:?} {:?} {:?} {:?} {:?} {:?} {names:?} {:?}",
            module.items,
            module.mnemonics,
            module.operands,
            module.expressions,
            module.elements,
            module.specifiers,
            module.declarators,
            parsed.diagnostics
        )
    }

    fn compare(text: &str) {
        let mut parser = Parser::new(text);
        parser.usual = false;
        let long = whole(&finish(parser));
        let short = whole(&crate::parse(text));
        assert!(short == long, "the short way reads something else:\n{text}");
    }

    #[test]
    fn the_short_way_reads_what_the_long_one_reads() {
        // Instructions that only look usual, among usual ones.
        let odd = [
            "add.s32 %r1, %r2, 08;",
            "add.s32 %r1, %r2, 0x;",
            "add.s32 %r1, %r2, 0xfU;",
            "add.s32 %r1, %r2, 0x11112222333344445;",
            "add.s32 %r1, %r2, 1.5;",
            "add.s32 %r1, %r2, 1e5;",
            "add.s32 %r1, %r2, -0f3f800000;",
            "add.s32 %r1, %r2, - 1;",
            "add.s32 %r1, %r2, 1 ;",
            "add.s32 %r1, %r2, 4294967296;",
            "add.s32 %r1, %r2, -9223372036854775808;",
            "add.s32 %r1, %r2, 0f3f8000000;",
            "add.s32 %r1, %r2, 0d3ff0000000000000;",
            "add.s32 %r1 %r2, 1;",
            "add.s32 %r1, , 1;",
            "add.s32 %r1, %r2, 1",
            "add.s32 %r1, %r2, %r3.x;",
            "add.s32 _, WARP_SZ, %r3;",
            "add.s32 %r1, WARP_SZ, inlined_at;",
            "add.s32 %r1, %r007, %;",
            "add.s32 %r1, $, $x;",
            "add.s32 %r1|%p1, %r2, %r3;",
            "add .s32 %r1, %r2, %r3;",
            "add.s32%r1, %r2, %r3;",
            "add.s32 // comment\n%r1, %r2, %r3;",
            "add.s32 %r1, %r2, %r3 /* comment */;",
            "add.s32.5 %r1, %r2, %r3;",
            "add.s32: add.s32 %r1, %r2;",
            "ld.global.u32 %r1, [%rd1+-4];",
            "ld.global.u32 %r1, [%rd1+0x10];",
            "ld.global.u32 %r1, [ %rd1 + 4 ];",
            "ld.global.u32 %r1, [%rd1+4*2];",
            "ld.global.u32 %r1, [%rd1+4];ret;",
            "ld.global.u32 %r1, [%rd1].unified;",
            "ld.global.u32 %r1, [4];",
            "ld.global.u32 %r1, [a, {%r1, %r2}];",
            "ld.global.u32 {%r1, _}, [x+1.5];",
            "ld.global.u32 {%r1}, [x+0f3f800000];",
            "ld.global.u32 {}, [x];",
            "@%p1 add.s32 %r1, %r2, %r3;",
            "@!%p1 bra L;",
            "bra L; L: ret;",
            "ret ;",
            "call f, (%r1);",
        ];
        let usual = "add.s32 %r1, %r2, %r3;\nld.global.u32 %r1, [%rd1+16];\n\tld.global.v2.u32 {%r1,%r2}, [x];\nbra L;\nret;\n";
        for instruction in odd {
            compare(&format!(
                ".version 9.0\n.target sm_90\n.entry k() {{\n{usual}{instruction}\n{usual}}}\n"
            ));
            compare(&format!(".version 9.0\n.target sm_90\n.entry k() {{\n{usual}{instruction}"));
        }
    }

    #[test]
    fn recorded_and_mutated_modules_are_read_alike() {
        let mut random = SplitMix64::new(7);
        let pieces = [
            ";", ",", " ", "\n", "%", "%r1", "[", "]", "{", "}", "+", "-", "0", "0x1f", ".", "x", ":", "//",
            "_", "é",
        ];
        for row in recording::values(recording::golden("check", "real.jsonl.gz")) {
            let text = row["ptx"].as_str().expect("a text");
            if text.len() > 200_000 {
                continue;
            }
            compare(text);
            let mut mutated = text.to_owned();
            for _ in 0..8 {
                let at = random.next_u32() as usize % mutated.len();
                if mutated.is_char_boundary(at) {
                    mutated.insert_str(at, pieces[random.next_u32() as usize % pieces.len()]);
                }
            }
            compare(&mutated);
        }
    }
}
