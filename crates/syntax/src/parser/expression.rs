//! Constant expressions and initialisers (PTX ISA sections 4.5.4 and 5.4.4).
//!
//! Names are no part of constant expressions, but for the warp's size. An address stands alone, or before
//! a `+` and a constant; `generic(a)` and masks such as `0xff00(a)` wrap one.

use super::{MAX_DEPTH, Parser, Read, WARP_SIZE};
use crate::codes;
use crate::token::{Mark, Token};
use crate::tree::{BinaryOp, Expr, ExprId, Literal, Range, UnaryOp};
use crate::{Span, literal};
use softwarp_isa::Type;

/// The operators of two operands, and how strongly they bind.
fn binary(token: Token) -> Option<(BinaryOp, u8)> {
    let Token::Mark(mark) = token else { return None };
    Some(match mark {
        Mark::OrOr => (BinaryOp::LogicalOr, 1),
        Mark::AndAnd => (BinaryOp::LogicalAnd, 2),
        Mark::Or => (BinaryOp::Or, 3),
        Mark::Caret => (BinaryOp::Xor, 4),
        Mark::And => (BinaryOp::And, 5),
        Mark::EqualsEquals => (BinaryOp::Eq, 6),
        Mark::ExclamationEquals => (BinaryOp::Ne, 6),
        Mark::Less => (BinaryOp::Lt, 7),
        Mark::Greater => (BinaryOp::Gt, 7),
        Mark::LessEquals => (BinaryOp::Le, 7),
        Mark::GreaterEquals => (BinaryOp::Ge, 7),
        Mark::ShiftLeft => (BinaryOp::Shl, 8),
        Mark::ShiftRight => (BinaryOp::Shr, 8),
        Mark::Plus => (BinaryOp::Add, 9),
        Mark::Minus => (BinaryOp::Sub, 9),
        Mark::Star => (BinaryOp::Mul, 10),
        Mark::Slash => (BinaryOp::Div, 10),
        Mark::Percent => (BinaryOp::Rem, 10),
        _ => return None,
    })
}

fn unary(token: Token) -> Option<UnaryOp> {
    match token {
        Token::Mark(Mark::Plus) => Some(UnaryOp::Plus),
        Token::Mark(Mark::Minus) => Some(UnaryOp::Minus),
        Token::Mark(Mark::Exclamation) => Some(UnaryOp::Not),
        Token::Mark(Mark::Tilde) => Some(UnaryOp::Complement),
        _ => None,
    }
}

/// What operators do not apply to.
const EXACT: &str = "a constant; the bits of a single stand alone, or in parentheses";

/// An expression and how high its tree is.
#[derive(Clone, Copy)]
struct Tree {
    id: ExprId,
    height: u32,
}

impl Parser<'_> {
    /// Whether an expression that seems finished goes on.
    #[inline]
    pub(super) fn continues_expression(&self) -> bool {
        self.at(Mark::Question) || binary(self.token).is_some()
    }

    /// Whether the next token can begin a constant expression.
    pub(super) fn begins_expression(&self) -> bool {
        match self.token {
            Token::Int | Token::Decimal | Token::Single | Token::Double => true,
            Token::Mark(Mark::OpenParen) => true,
            Token::Word => self.text() == WARP_SIZE,
            token => unary(token).is_some(),
        }
    }

    /// Reads a constant expression.
    pub(super) fn expression(&mut self) -> Read<ExprId> {
        Ok(self.conditional()?.id)
    }

    /// Reads on behind an operand that has been read.
    pub(super) fn expression_from(&mut self, left: ExprId) -> Read<ExprId> {
        let left = self.binary_from(Tree { id: left, height: 1 }, 0)?;
        Ok(self.conditional_from(left)?.id)
    }

    fn conditional(&mut self) -> Read<Tree> {
        let left = self.unary()?;
        let condition = self.binary_from(left, 0)?;
        self.conditional_from(condition)
    }

    fn conditional_from(&mut self, condition: Tree) -> Read<Tree> {
        if !self.eat(Mark::Question) {
            return Ok(condition);
        }
        let yes = self.deeper(Parser::conditional)?;
        self.expect(Mark::Colon, "`:`")?;
        let no = self.deeper(Parser::conditional)?;
        let height = condition.height.max(yes.height).max(no.height) + 1;
        self.tree(Expr::Conditional(condition.id, yes.id, no.id), self.span_of(condition.id).start, height)
    }

    fn span_of(&self, id: ExprId) -> Span {
        self.module.expression(id).span
    }

    fn tree(&mut self, expression: Expr, start: u32, height: u32) -> Read<Tree> {
        let span = self.since(start);
        if height > MAX_DEPTH {
            return Err(self.too_deep(span, MAX_DEPTH));
        }
        Ok(Tree { id: self.push_expression(expression, span), height })
    }

    /// Reads operators that bind more strongly than `least`, and what is right of them.
    fn binary_from(&mut self, mut left: Tree, least: u8) -> Read<Tree> {
        while let Some((operator, strength)) = binary(self.token).filter(|&(_, strength)| strength > least) {
            // `0f3f800000` stands alone, or in parentheses.
            if matches!(self.module.expression(left.id).is, Expr::Literal(Literal::F32(_))) {
                break;
            }
            self.bump();
            if self.token == Token::Single {
                return Err(self.unexpected(codes::EXPRESSION, EXACT));
            }
            let right = self.unary()?;
            let right = self.deeper(|parser| parser.binary_from(right, strength))?;
            let height = left.height.max(right.height) + 1;
            left =
                self.tree(Expr::Binary(operator, left.id, right.id), self.span_of(left.id).start, height)?;
        }
        Ok(left)
    }

    fn unary(&mut self) -> Read<Tree> {
        let start = self.span.start;
        let Some(operator) = unary(self.token) else { return self.primary() };
        self.bump();
        if self.token == Token::Single {
            return Err(self.unexpected(codes::EXPRESSION, EXACT));
        }
        let operand = self.deeper(Parser::unary)?;
        self.tree(Expr::Unary(operator, operand.id), start, operand.height + 1)
    }

    fn primary(&mut self) -> Read<Tree> {
        let start = self.span.start;
        if let Some(literal) = literal::literal(self.token, self.text()) {
            self.bump();
            return self.tree(Expr::Literal(literal), start, 1);
        }
        match self.token {
            Token::Word if self.text() == WARP_SIZE => {
                let name = self.word();
                self.tree(Expr::Name(name.symbol), start, 1)
            }
            Token::Mark(Mark::OpenParen) => {
                self.bump();
                if let Some(word) = self.dotted() {
                    let Some(to) = Type::from_name(word) else {
                        return Err(self.unexpected(codes::EXPRESSION, "a type to cast to"));
                    };
                    self.bump();
                    self.expect(Mark::CloseParen, "`)` behind the cast's type")?;
                    let operand = self.deeper(Parser::unary)?;
                    return self.tree(Expr::Cast(to, operand.id), start, operand.height + 1);
                }
                let inner = self.deeper(Parser::conditional)?;
                self.expect(Mark::CloseParen, "`)`")?;
                self.tree(Expr::Paren(inner.id), start, inner.height + 1)
            }
            Token::Word => {
                let expected = "a constant; names can only stand first, as in `name+4`";
                Err(self.unexpected(codes::EXPRESSION, expected))
            }
            _ => Err(self.unexpected(codes::EXPRESSION, "a constant")),
        }
    }

    /// Reads a text that is one expression, or a mask over one. Addresses are read too, so that who evaluates it
    /// can say what is wrong with them.
    pub(super) fn only_expression(&mut self) -> Read<ExprId> {
        let root = match self.token {
            Token::Word if self.text() != WARP_SIZE => self.address_initialiser()?,
            Token::Int | Token::Word => self.masked_or_constant()?,
            _ => self.expression()?,
        };
        if self.token == Token::End {
            return Ok(root);
        }
        let skip = self.unexpected(codes::EXPECTED, "an operator or the end");
        if let (true, Some(diagnostic)) = (self.text().starts_with('%'), self.diagnostics.last_mut()) {
            diagnostic.help =
                Some("`%` before a letter or digit begins a name: write a space behind it".to_owned());
        }
        Err(skip)
    }

    /// Reads what stands behind `=`.
    pub(super) fn initialiser(&mut self) -> Read<ExprId> {
        match self.token {
            Token::Mark(Mark::OpenBrace) => self.deeper(Parser::list),
            Token::Word if self.text() != WARP_SIZE => self.address_initialiser(),
            Token::Int | Token::Word => self.masked_or_constant(),
            _ if self.begins_expression() => self.expression(),
            _ => Err(self.unexpected(codes::INITIALISER, "an initial value")),
        }
    }

    /// `{1, {2, 3}}` or `{width = 4, height = 8}`
    fn list(&mut self) -> Read<ExprId> {
        let start = self.span.start;
        self.bump();
        let mark = self.elements.len();
        if let Err(skip) = self.list_elements() {
            self.elements.truncate(mark);
            self.skip_to_brace();
            return Err(skip);
        }
        let first = self.module.elements.len();
        self.module.elements.extend_from_slice(&self.elements[mark..]);
        let count = self.elements.len() - mark;
        self.elements.truncate(mark);
        let span = self.since(start);
        Ok(self.push_expression(Expr::List(Range::new(first as u32, count as u32)), span))
    }

    /// `1, {2, 3}}`
    fn list_elements(&mut self) -> Read<()> {
        if !self.at(Mark::CloseBrace) {
            loop {
                let element = self.initialiser()?;
                self.elements.push(element);
                if !self.eat(Mark::Comma) {
                    break;
                }
            }
        }
        self.expect(Mark::CloseBrace, "`,` or `}`")
    }

    /// `g`, `g+4`, `generic(g)`, `generic(g)+4`; and `width = 4` for opaque variables.
    fn address_initialiser(&mut self) -> Read<ExprId> {
        let start = self.span.start;
        let is_generic = self.text() == "generic";
        let name = self.name("an initial value")?;
        if is_generic && self.at(Mark::OpenParen) {
            self.bump();
            let inner = self.name("a variable's name")?;
            self.expect(Mark::CloseParen, "`)`")?;
            let inner = self.push_expression(Expr::Name(inner.symbol), inner.span);
            let span = self.since(start);
            let generic = self.push_expression(Expr::Generic(inner), span);
            return self.with_offset(generic);
        }
        if self.eat(Mark::Equals) {
            let value = match self.token {
                Token::Word if self.text() != WARP_SIZE => {
                    let value = self.name("a value")?;
                    self.push_expression(Expr::Name(value.symbol), value.span)
                }
                _ => self.expression()?,
            };
            let span = self.since(start);
            return Ok(self.push_expression(Expr::Field((name.symbol, name.span), value), span));
        }
        let address = self.push_expression(Expr::Name(name.symbol), name.span);
        self.with_offset(address)
    }

    /// `+ 4` behind an address.
    fn with_offset(&mut self, address: ExprId) -> Read<ExprId> {
        if !self.eat(Mark::Plus) {
            return Ok(address);
        }
        let offset = self.expression()?;
        let span = self.since(self.span_of(address).start);
        Ok(self.push_expression(Expr::Binary(BinaryOp::Add, address, offset), span))
    }

    /// `0xff00(g+4)`, or a constant that begins with an integer.
    fn masked_or_constant(&mut self) -> Read<ExprId> {
        let span = self.span;
        let is_name = self.token == Token::Word;
        let (value, unsigned) = if is_name { (32, false) } else { literal::integer(self.text()) };
        let constant = if is_name {
            Expr::Name(self.intern(WARP_SIZE))
        } else {
            Expr::Literal(Literal::Int { value, unsigned })
        };
        self.bump();
        if self.eat(Mark::OpenParen) {
            let inner = match self.token {
                Token::Word if self.text() != WARP_SIZE => self.address_initialiser()?,
                _ => self.expression()?,
            };
            self.expect(Mark::CloseParen, "`)`")?;
            let whole = self.since(span.start);
            return Ok(self.push_expression(Expr::Mask((value, span), inner), whole));
        }
        let left = self.push_expression(constant, span);
        self.expression_from(left)
    }
}

#[cfg(test)]
mod tests {
    use crate::tree::Expr;
    use crate::{ParsedExpression, Span, parse_expression};

    /// The only thing that is wrong with a text: its code, place and words.
    fn wrong(text: &str) -> (&'static str, Span, String) {
        let ParsedExpression { root, mut diagnostics, .. } = parse_expression(text);
        assert!(root.is_none() || !diagnostics.is_empty(), "{text} was read");
        assert_eq!(diagnostics.len(), 1, "{diagnostics:?}");
        let diagnostic = diagnostics.remove(0);
        (diagnostic.code.0, diagnostic.span(), diagnostic.message)
    }

    #[test]
    fn a_text_is_one_expression() {
        for text in
            ["1", " 1 + 2 // three", "-(1.5)", "WARP_SZ*2", "0xff00(1 + 2)", "1 ? 2 : 3", "0f3f800000"]
        {
            let ParsedExpression { module, root, diagnostics } = parse_expression(text);
            assert!(diagnostics.is_empty(), "{text}: {diagnostics:?}");
            let root = module.expression(root.expect("an expression"));
            assert_eq!(root.span.text(text), text.split(" //").next().unwrap_or("").trim());
        }
        let masked = parse_expression("0xff(1)");
        assert!(matches!(masked.root.map(|root| masked.module.expression(root).is), Some(Expr::Mask(..))));
    }

    #[test]
    fn what_is_left_over_is_reported_where_it_stands() {
        let end = "expected an operator or the end, found";
        assert_eq!(wrong("1 2"), ("E0005", Span::new(2, 3), format!("{end} `2`")));
        assert_eq!(wrong("1;"), ("E0005", Span::new(1, 2), format!("{end} `;`")));
        assert_eq!(wrong("7%3"), ("E0005", Span::new(1, 3), format!("{end} `%3`")));
        let help = parse_expression("7%3").diagnostics.remove(0).help;
        assert_eq!(
            help.as_deref(),
            Some("`%` before a letter or digit begins a name: write a space behind it")
        );
    }

    #[test]
    fn what_is_missing_is_reported_at_the_end() {
        let found = "expected a constant, found the end of the text".to_owned();
        assert_eq!(wrong("1 +"), ("E0021", Span::new(3, 3), found.clone()));
        assert_eq!(wrong(""), ("E0021", Span::new(0, 0), found));
    }

    #[test]
    fn nesting_is_bounded_and_length_is_not() {
        let deep = format!("{}1{}", "(".repeat(100_000), ")".repeat(100_000));
        assert_eq!(wrong(&deep).2, "nested more than 256 deep");
        assert_eq!(wrong(&"-".repeat(100_000)).2, "nested more than 256 deep");
        assert_eq!(wrong(&format!("1{}", " + 1".repeat(100_000))).2, "nested more than 256 deep");
        assert!(parse_expression(&format!("{}1", " ".repeat(1 << 20))).diagnostics.is_empty());
    }
}
