//! Instructions and labels (PTX ISA sections 4.3.2, 9.3).
//!
//! This is where time goes. An opcode with its modifiers is taken as one text and looked up whole; only one
//! that is new is split into words.

use super::{Parser, Read, Traits};
use crate::token::{Mark, Token};
use crate::tree::{Guard, Instruction, Mnemonic, MnemonicId, Statement, Symbol};
use crate::{Diagnostic, Span, codes};
use softwarp_isa::StateSpace;

/// Words that are directives to the assembler wherever they stand, so that they cannot be modifiers. The
/// manual does not have all of them.
const RESERVED: &[&str] = &[
    "4byte",
    "abi_preserve",
    "abi_preserve_after",
    "abi_preserve_control",
    "address_size",
    "align",
    "allocno",
    "attribute",
    "blocksareclusters",
    "branchtargets",
    "byte",
    "callprototype",
    "calltargets",
    "common",
    "entry",
    "explicitcluster",
    "extern",
    "file",
    "func",
    "fused",
    "language",
    "loc",
    "loc_intermediate",
    "local_maxnreg",
    "managed",
    "maxclusterrank",
    "maxnctapersm",
    "maxnreg",
    "maxntid",
    "metadata_domain",
    "minnctapersm",
    "minperctamemory",
    "noreturn",
    "nv_intermediate_source_section",
    "pragma",
    "proto",
    "ptr",
    "reg",
    "reqnctapercluster",
    "reqntid",
    "reserved",
    "retaddr_allocno",
    "scratch",
    "section",
    "target",
    "unified",
    "unique",
    "visible",
];

impl Parser<'_> {
    /// A label or an instruction.
    #[inline]
    pub(super) fn word_statement(&mut self, statements: &mut Vec<Statement>) -> Read<()> {
        let start = self.span;
        if self.lexer.next_byte() == b'.' {
            return self.instruction(statements, start.start, None);
        }
        let text = self.text();
        self.bump();
        if self.at(Mark::Colon) {
            if super::is_reserved(text) {
                return Err(self.fail(codes::NAME, start, format!("`{text}` cannot be a label")));
            }
            let symbol = self.intern(text);
            statements.push(Statement::Label(crate::tree::Name { symbol, span: start }));
            self.bump();
            return Ok(());
        }
        if self.token == Token::Dotted && StateSpace::from_name(text).is_some() {
            return self.undotted_declaration(statements, start);
        }
        self.operation(statements, start.start, None, start)
    }

    /// `reg .b32 a;`: a declaration whose first word lacks its dot. It is read as if the dot were there.
    #[cold]
    fn undotted_declaration(&mut self, statements: &mut Vec<Statement>, word: Span) -> Read<()> {
        let text = word.text(self.source);
        let message = format!("`{text}` is not an instruction: a declaration begins with `.{text}`");
        let dot = Span::new(word.start, word.start);
        let diagnostic = Diagnostic::new(codes::STATEMENT, word, message);
        self.report(diagnostic.with_fix(dot, ".", format!("write `.{text}`")));
        let variables = self.variables_in(word, StateSpace::from_name(text))?;
        statements.push(Statement::Variable(variables));
        Ok(())
    }

    /// `@p` or `@!p`, and an instruction.
    pub(super) fn guarded(&mut self, statements: &mut Vec<Statement>) -> Read<()> {
        let start = self.span.start;
        self.bump();
        let negated = self.eat(Mark::Exclamation);
        let name = self.name("a predicate")?;
        let guard = Some(Guard { name, negated });
        if self.token != Token::Word || super::is_reserved(self.text()) {
            return Err(self.unexpected(codes::STATEMENT, "an instruction behind its guard"));
        }
        self.instruction(statements, start, guard)
    }

    /// Reads an instruction; its opcode is the next token.
    #[inline]
    fn instruction(&mut self, statements: &mut Vec<Statement>, start: u32, guard: Option<Guard>) -> Read<()> {
        if self.usual && self.usual_instruction(statements, start, guard) {
            return Ok(());
        }
        let opcode = self.span.start;
        self.lexer.modifiers();
        let mnemonic = Span::new(opcode, self.lexer.offset());
        self.span = mnemonic;
        self.bump();
        self.operation(statements, start, guard, mnemonic)
    }

    /// Reads an instruction; the words of its mnemonic that stand together are behind.
    #[inline]
    fn operation(
        &mut self,
        statements: &mut Vec<Statement>,
        start: u32,
        guard: Option<Guard>,
        mut mnemonic_span: Span,
    ) -> Read<()> {
        let text = mnemonic_span.text(self.source);
        if super::is_reserved(text) {
            return Err(self.fail(codes::NAME, mnemonic_span, format!("`{text}` is no instruction")));
        }
        let scattered = self.token == Token::Dotted;
        let symbol = if scattered { self.scattered(text, &mut mnemonic_span) } else { self.intern(text) };
        let mnemonic = self.mnemonic(symbol);
        let traits = self.traits.get(mnemonic.0 as usize).copied().unwrap_or_default();
        if traits.reserved {
            return Err(self.reserved(mnemonic, mnemonic_span));
        }
        let mark = self.operands.len();
        let read = if traits.call { self.call_operands() } else { self.instruction_operands() };
        if read.is_err() {
            self.operands.truncate(mark);
        }
        read?;
        let operands = self.take_operands(mark);
        self.end_statement("`,` or `;`")?;
        let span = self.since(start);
        statements.push(Statement::Instruction(Instruction {
            guard,
            mnemonic,
            mnemonic_span,
            operands,
            span,
        }));
        Ok(())
    }

    /// The whole of a mnemonic whose words have white space between them.
    #[cold]
    fn scattered(&mut self, text: &str, span: &mut Span) -> Symbol {
        let mut whole = text.to_string();
        while self.token == Token::Dotted {
            whole.push_str(self.text());
            self.bump();
        }
        span.end = self.last;
        self.intern(&whole)
    }

    /// The mnemonic with this text.
    #[inline]
    fn mnemonic(&mut self, text: Symbol) -> MnemonicId {
        match self.mnemonic_of.get(text.0 as usize) {
            Some(&known) if known > 0 => MnemonicId(known - 1),
            _ => self.new_mnemonic(text),
        }
    }

    #[cold]
    fn new_mnemonic(&mut self, whole: Symbol) -> MnemonicId {
        let text = self.module.symbols.text(whole).to_string();
        let mut words = text.split('.');
        let opcode = words.next().unwrap_or("");
        let traits =
            Traits { call: opcode == "call", reserved: words.clone().any(|word| RESERVED.contains(&word)) };
        let mnemonic = Mnemonic {
            opcode: self.intern(opcode),
            modifiers: words.map(|word| self.intern(word)).collect(),
        };
        let id = MnemonicId(self.module.mnemonics.len() as u32);
        self.module.mnemonics.push(mnemonic);
        self.traits.push(traits);
        let index = whole.0 as usize;
        if self.mnemonic_of.len() <= index {
            self.mnemonic_of.resize((index + 1).next_power_of_two(), 0);
        }
        self.mnemonic_of[index] = id.0 + 1;
        id
    }

    #[cold]
    fn reserved(&mut self, mnemonic: MnemonicId, span: Span) -> super::Skip {
        let mut words = self.module.mnemonic(mnemonic).modifiers.iter().map(|&word| self.module.name(word));
        let word = words.find(|word| RESERVED.contains(word)).unwrap_or("").to_string();
        let at = span.text(self.source).find(&format!(".{word}")).unwrap_or(0) as u32;
        let span = Span::new(span.start + at, span.start + at + 1 + word.len() as u32);
        self.fail(codes::MODIFIER, span, format!("`.{word}` is a directive: it cannot modify an instruction"))
    }
}
