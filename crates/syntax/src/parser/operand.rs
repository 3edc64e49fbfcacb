//! Operands (PTX ISA chapter 6, and 9.7.12 for `call`).
//!
//! The forms are the assembler's: only a first operand can be the sink or a pair, only names can have an
//! offset, and vectors do not nest.

use super::{Parser, Read, WARP_SIZE};
use crate::token::{Mark, Token};
use crate::tree::{Expr, ExprId, Literal, Operand, OperandKind, Range, UnaryOp};
use crate::{codes, literal};

impl Parser<'_> {
    /// Operands with commas between them, up to the semicolon.
    #[inline]
    pub(super) fn instruction_operands(&mut self) -> Read<()> {
        if self.at(Mark::Semicolon) {
            return Ok(());
        }
        let first = self.first_operand()?;
        self.operands.push(first);
        while self.at(Mark::Comma) {
            self.bump_operand();
            let operand = self.operand()?;
            self.operands.push(operand);
        }
        Ok(())
    }

    /// The first operand: any, or the sink, or a pair.
    #[inline]
    fn first_operand(&mut self) -> Read<Operand> {
        let start = self.span;
        let operand = if self.at_sink() { self.sink() } else { self.operand()? };
        let may_pair =
            matches!(operand.kind, OperandKind::Name(_) | OperandKind::Sink | OperandKind::Vector(_));
        if !(may_pair && self.at(Mark::Or)) {
            return Ok(operand);
        }
        self.bump();
        let second = if self.at_sink() {
            self.sink()
        } else {
            let name = self.name("a predicate")?;
            Operand { kind: OperandKind::Name(name.symbol), span: name.span }
        };
        let parts = self.parts([operand, second]);
        Ok(Operand { kind: OperandKind::Pair(parts), span: self.since(start.start) })
    }

    #[inline]
    fn at_sink(&self) -> bool {
        self.token == Token::Word && !self.at_percent() && self.text() == "_"
    }

    fn sink(&mut self) -> Operand {
        let span = self.span;
        self.bump();
        Operand { kind: OperandKind::Sink, span }
    }

    #[inline]
    fn parts<const N: usize>(&mut self, parts: [Operand; N]) -> Range<Operand> {
        let start = self.module.operands.len();
        self.module.operands.extend(parts);
        Range::new(start as u32, N as u32)
    }

    #[inline]
    fn operand(&mut self) -> Read<Operand> {
        match self.token {
            Token::Word => self.named_operand(),
            Token::Mark(Mark::OpenBracket) => self.address(),
            Token::Mark(Mark::OpenBrace) => self.vector(),
            Token::Mark(mark @ (Mark::Minus | Mark::Exclamation)) => self.signed_operand(mark),
            _ => self.immediate(),
        }
    }

    /// `a`, `a.x`, `a+4`, `a[i]`
    #[inline]
    fn named_operand(&mut self) -> Read<Operand> {
        let text = self.text();
        let span = self.span;
        if !self.at_percent() {
            if text == WARP_SIZE {
                return self.immediate();
            }
            if text == "_" {
                return Err(self.unexpected(codes::OPERAND, "an operand; only the first can be the sink"));
            }
        }
        let symbol = self.intern_name(text);
        self.bump_operand();
        let base = Operand { kind: OperandKind::Name(symbol), span };
        match self.token {
            Token::Dotted => self.member(base),
            Token::Mark(Mark::Plus) => self.offset(base),
            Token::Mark(Mark::OpenBracket) => self.index(base),
            _ => Ok(base),
        }
    }

    /// `.x` behind a name.
    fn member(&mut self, base: Operand) -> Read<Operand> {
        let word = self.dotted().unwrap_or("");
        let OperandKind::Name(name) = base.kind else { return Ok(base) };
        if softwarp_isa::StateSpace::from_name(word).is_some() {
            return Err(self.unexpected(codes::OPERAND, "an element, such as `.x`"));
        }
        let member = self.intern(word);
        self.bump();
        Ok(Operand { kind: OperandKind::Member(name, member), span: self.since(base.span.start) })
    }

    /// `+4` behind a name.
    fn offset(&mut self, base: Operand) -> Read<Operand> {
        self.bump();
        let offset = self.offset_value()?;
        let parts = self.parts([base]);
        Ok(Operand { kind: OperandKind::Offset(parts, offset), span: self.since(base.span.start) })
    }

    /// What is added to a name: mostly an integer alone.
    #[inline]
    fn offset_value(&mut self) -> Read<ExprId> {
        let span = self.span;
        if self.token != Token::Int {
            return self.expression();
        }
        let (value, unsigned) = literal::integer(self.text());
        self.bump();
        let literal = self.push_expression(Expr::Literal(Literal::Int { value, unsigned }), span);
        if self.continues_expression() { self.expression_from(literal) } else { Ok(literal) }
    }

    /// `[i]` behind a name.
    fn index(&mut self, base: Operand) -> Read<Operand> {
        self.bump();
        let index = match self.token {
            Token::Word if !matches!(self.text(), "_" | WARP_SIZE) => self.name_with_offset()?,
            _ => self.immediate()?,
        };
        self.expect(Mark::CloseBracket, "`]`")?;
        let parts = self.parts([base, index]);
        Ok(Operand { kind: OperandKind::Index(parts), span: self.since(base.span.start) })
    }

    /// `a` or `a+4`
    #[inline]
    fn name_with_offset(&mut self) -> Read<Operand> {
        let name = self.name("a name")?;
        let base = Operand { kind: OperandKind::Name(name.symbol), span: name.span };
        if self.at(Mark::Plus) { self.offset(base) } else { Ok(base) }
    }

    /// `-a`, `!p`, or a constant expression that begins so.
    fn signed_operand(&mut self, mark: Mark) -> Read<Operand> {
        let start = self.span;
        let (ahead, span) = self.lexer.peek();
        if ahead != Token::Word || span.text(self.source) == WARP_SIZE {
            return self.immediate();
        }
        self.bump();
        let name = self.name("a register")?;
        let mut part = Operand { kind: OperandKind::Name(name.symbol), span: name.span };
        if mark == Mark::Minus && self.token == Token::Dotted {
            part = self.member(part)?;
        }
        let parts = self.parts([part]);
        let kind = if mark == Mark::Minus { OperandKind::Negated(parts) } else { OperandKind::Not(parts) };
        Ok(Operand { kind, span: self.since(start.start) })
    }

    /// A constant.
    #[inline]
    fn immediate(&mut self) -> Read<Operand> {
        let span = self.span;
        if let Some(literal) = literal::literal(self.token, self.text()) {
            self.bump();
            if !self.continues_expression() {
                return Ok(Operand { kind: OperandKind::Literal(literal), span });
            }
            let left = self.push_expression(Expr::Literal(literal), span);
            let expression = self.expression_from(left)?;
            return Ok(Operand { kind: OperandKind::Expr(expression), span: self.since(span.start) });
        }
        if !self.begins_expression() {
            return Err(self.unexpected(codes::OPERAND, "an operand"));
        }
        let first = self.module.expressions.len();
        let expression = self.expression()?;
        let span = self.since(span.start);
        if let Expr::Unary(UnaryOp::Minus, inner) = self.module.expression(expression).is
            && let Expr::Literal(literal) = self.module.expression(inner).is
        {
            let kind = match literal {
                Literal::Int { value, unsigned } => Literal::Int { value: value.wrapping_neg(), unsigned },
                Literal::F64(bits) => Literal::F64(bits ^ 1 << 63),
                Literal::F32(bits) => Literal::F32(bits ^ 1 << 31),
            };
            self.module.expressions.truncate(first);
            return Ok(Operand { kind: OperandKind::Literal(kind), span });
        }
        Ok(Operand { kind: OperandKind::Expr(expression), span })
    }

    /// `{a, b}`
    fn vector(&mut self) -> Read<Operand> {
        let start = self.span.start;
        self.bump();
        let mark = self.operands.len();
        if let Err(skip) = self.elements() {
            self.skip_to_brace();
            return Err(skip);
        }
        let parts = self.take_operands(mark);
        Ok(Operand { kind: OperandKind::Vector(parts), span: self.since(start) })
    }

    /// `a, b}`
    fn elements(&mut self) -> Read<()> {
        loop {
            let element = self.element()?;
            self.operands.push(element);
            if !self.eat(Mark::Comma) {
                break;
            }
        }
        self.expect(Mark::CloseBrace, "`,` or `}`")
    }

    /// What stands in a vector: a name, a member, the sink or a constant.
    fn element(&mut self) -> Read<Operand> {
        if self.token != Token::Word || !self.at_percent() && self.text() == WARP_SIZE {
            return self.immediate();
        }
        if self.at_sink() {
            return Ok(self.sink());
        }
        let name = self.word();
        let base = Operand { kind: OperandKind::Name(name.symbol), span: name.span };
        if self.token == Token::Dotted { self.member(base) } else { Ok(base) }
    }

    /// `[a]`, `[a+4]`, `[4]`, `[a, b, {x, y}]`, and `.unified` behind it.
    #[inline]
    fn address(&mut self) -> Read<Operand> {
        let start = self.span.start;
        self.bump();
        let mark = self.operands.len();
        let is_name = self.token == Token::Word && (self.at_percent() || self.text() != WARP_SIZE);
        let base = if is_name { self.name_with_offset()? } else { self.immediate()? };
        self.operands.push(base);
        if matches!(base.kind, OperandKind::Name(_)) {
            self.coordinates()?;
        }
        self.expect(Mark::CloseBracket, if is_name { "`+`, `,` or `]`" } else { "`]`" })?;
        let parts = self.take_operands(mark);
        let address = Operand { kind: OperandKind::Address(parts), span: self.since(start) };
        if self.at_dotted("unified") {
            self.bump();
            let parts = self.parts([address]);
            return Ok(Operand { kind: OperandKind::Unified(parts), span: self.since(start) });
        }
        Ok(address)
    }

    /// `, sampler, {x, y}` behind the first name of an address: names, and last a vector. Behind two names, what
    /// overrides a tensor map's values may follow: more vectors, and names between them.
    #[inline]
    fn coordinates(&mut self) -> Read<()> {
        let mut names = 1;
        while self.eat(Mark::Comma) {
            if self.at(Mark::OpenBrace) {
                let vector = self.vector()?;
                self.operands.push(vector);
                if names < 2 {
                    return Ok(());
                }
                continue;
            }
            names += 1;
            let name = self.name("a name or a vector")?;
            self.operands.push(Operand { kind: OperandKind::Name(name.symbol), span: name.span });
        }
        Ok(())
    }

    /// `(r), f, (a, b), prototype`: only the function is needed.
    pub(super) fn call_operands(&mut self) -> Read<()> {
        if self.at(Mark::OpenParen) {
            let returns = self.arguments()?;
            self.operands.push(returns);
            self.expect(Mark::Comma, "`,` between what is returned and the function")?;
        }
        self.push_name("the function to call")?;
        if !self.eat(Mark::Comma) {
            return Ok(());
        }
        if self.at(Mark::OpenParen) {
            let arguments = self.arguments()?;
            self.operands.push(arguments);
            if !self.eat(Mark::Comma) {
                return Ok(());
            }
        }
        self.push_name("arguments in parentheses, or the prototype's label")
    }

    fn push_name(&mut self, expected: &str) -> Read<()> {
        let name = self.name(expected)?;
        self.operands.push(Operand { kind: OperandKind::Name(name.symbol), span: name.span });
        Ok(())
    }

    /// `(a, b)`
    fn arguments(&mut self) -> Read<Operand> {
        let start = self.span.start;
        self.bump();
        let mark = self.operands.len();
        if !self.at(Mark::CloseParen) {
            loop {
                let argument = self.argument()?;
                self.operands.push(argument);
                if !self.eat(Mark::Comma) {
                    break;
                }
            }
        }
        self.expect(Mark::CloseParen, "`,` or `)`")?;
        let parts = self.take_operands(mark);
        Ok(Operand { kind: OperandKind::Paren(parts), span: self.since(start) })
    }

    fn argument(&mut self) -> Read<Operand> {
        if self.token != Token::Word || self.text() == WARP_SIZE {
            return self.immediate();
        }
        if self.at_sink() {
            return Ok(self.sink());
        }
        let name = self.word();
        Ok(Operand { kind: OperandKind::Name(name.symbol), span: name.span })
    }
}
