//! Operands, literals and constant expressions for serde.

use super::{Context, List, Node, Placed};
use crate::tree::{BinaryOp, Expr, ExprId, Literal, Operand, OperandKind, Symbol, UnaryOp};
use serde::{Serialize, Serializer};
use std::borrow::Cow;

impl Node for Symbol {
    type Serialized<'a> = &'a str;

    fn form<'a>(&'a self, context: Context<'a>) -> &'a str {
        context.name(*self)
    }
}

#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(super) enum LiteralFields {
    Int { value: Integer, unsigned: bool },
    F32 { bits: String },
    F64 { bits: String },
}

/// The value of an integer literal, as the assembler reads it.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Integer {
    Signed(i64),
    Unsigned(u64),
}

impl From<Literal> for LiteralFields {
    fn from(literal: Literal) -> LiteralFields {
        match literal {
            Literal::Int { value, unsigned: true } => {
                LiteralFields::Int { value: Integer::Unsigned(value), unsigned: true }
            }
            Literal::Int { value, unsigned: false } => {
                LiteralFields::Int { value: Integer::Signed(value as i64), unsigned: false }
            }
            Literal::F32(bits) => LiteralFields::F32 { bits: format!("0x{bits:08x}") },
            Literal::F64(bits) => LiteralFields::F64 { bits: format!("0x{bits:016x}") },
        }
    }
}

#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum OperandFields<'a> {
    Literal(LiteralFields),
    Bare {
        kind: &'static str,
    },
    Name {
        kind: &'static str,
        name: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        member: Option<&'a str>,
    },
    Expression {
        kind: &'static str,
        value: Expression<'a>,
    },
    Compound {
        kind: &'static str,
        parts: List<'a, Operand>,
        #[serde(skip_serializing_if = "Option::is_none")]
        offset: Option<Expression<'a>>,
    },
}

impl Node for Operand {
    type Serialized<'a> = Placed<OperandFields<'a>>;

    fn form<'a>(&'a self, context: Context<'a>) -> Self::Serialized<'a> {
        use OperandFields as Fields;
        let name = |symbol| context.name(symbol);
        let compound = |kind, parts| Fields::Compound { kind, parts: context.operands(parts), offset: None };
        let fields = match self.kind {
            OperandKind::Name(symbol) => Fields::Name { kind: "name", name: name(symbol), member: None },
            OperandKind::Member(of, member) => {
                Fields::Name { kind: "member", name: name(of), member: Some(name(member)) }
            }
            OperandKind::Sink => Fields::Bare { kind: "sink" },
            OperandKind::Literal(literal) => Fields::Literal(literal.into()),
            OperandKind::Expr(id) => Fields::Expression { kind: "expression", value: context.expression(id) },
            OperandKind::Not(parts) => compound("not", parts),
            OperandKind::Negated(parts) => compound("negated", parts),
            OperandKind::Pair(parts) => compound("pair", parts),
            OperandKind::Vector(parts) => compound("vector", parts),
            OperandKind::Paren(parts) => compound("paren", parts),
            OperandKind::Address(parts) => compound("address", parts),
            OperandKind::Unified(parts) => compound("unified", parts),
            OperandKind::Index(parts) => compound("index", parts),
            OperandKind::Offset(parts, offset) => Fields::Compound {
                kind: "offset",
                parts: context.operands(parts),
                offset: Some(context.expression(offset)),
            },
            OperandKind::Error => Fields::Bare { kind: "error" },
        };
        Placed::new(fields, self.span)
    }
}

/// An expression. The parser bounds its depth to a few hundred.
pub(super) struct Expression<'a> {
    pub context: Context<'a>,
    pub id: ExprId,
}

impl Serialize for Expression<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let at = self.context.module.expression(self.id);
        Placed::new(ExpressionFields::new(self.context, at.is), at.span).serialize(serializer)
    }
}

/// The parts of an expression.
struct Parts<'a> {
    context: Context<'a>,
    ids: Cow<'a, [ExprId]>,
}

impl Serialize for Parts<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.ids.iter().map(|&id| self.context.expression(id)))
    }
}

#[derive(Serialize)]
#[serde(untagged)]
enum ExpressionFields<'a> {
    Literal(LiteralFields),
    Error { kind: &'static str },
    Name { kind: &'static str, name: &'a str },
    Compound { kind: &'static str, parts: Parts<'a> },
    Operation { kind: &'static str, operator: &'static str, parts: Parts<'a> },
    Cast { kind: &'static str, r#type: &'static str, parts: Parts<'a> },
    Mask { kind: &'static str, mask: u64, parts: Parts<'a> },
    Field { kind: &'static str, name: &'a str, parts: Parts<'a> },
}

impl<'a> ExpressionFields<'a> {
    fn new(context: Context<'a>, expression: Expr) -> ExpressionFields<'a> {
        use ExpressionFields as Fields;
        let parts = |ids: &[ExprId]| Parts { context, ids: ids.to_vec().into() };
        match expression {
            Expr::Literal(literal) => Fields::Literal(literal.into()),
            Expr::Name(symbol) => Fields::Name { kind: "name", name: context.name(symbol) },
            Expr::Unary(operator, operand) => {
                Fields::Operation { kind: "unary", operator: unary(operator), parts: parts(&[operand]) }
            }
            Expr::Binary(operator, left, right) => {
                Fields::Operation { kind: "binary", operator: binary(operator), parts: parts(&[left, right]) }
            }
            Expr::Conditional(condition, yes, no) => {
                Fields::Compound { kind: "conditional", parts: parts(&[condition, yes, no]) }
            }
            Expr::Cast(to, operand) => {
                Fields::Cast { kind: "cast", r#type: to.name(), parts: parts(&[operand]) }
            }
            Expr::Paren(inner) => Fields::Compound { kind: "paren", parts: parts(&[inner]) },
            Expr::Generic(inner) => Fields::Compound { kind: "generic", parts: parts(&[inner]) },
            Expr::Mask((mask, _), inner) => Fields::Mask { kind: "mask", mask, parts: parts(&[inner]) },
            Expr::List(elements) => {
                let ids = elements.of(&context.module.elements).into();
                Fields::Compound { kind: "list", parts: Parts { context, ids } }
            }
            Expr::Field((name, _), value) => {
                Fields::Field { kind: "field", name: context.name(name), parts: parts(&[value]) }
            }
            Expr::Error => Fields::Error { kind: "error" },
        }
    }
}

fn unary(operator: UnaryOp) -> &'static str {
    match operator {
        UnaryOp::Plus => "+",
        UnaryOp::Minus => "-",
        UnaryOp::Not => "!",
        UnaryOp::Complement => "~",
    }
}

fn binary(operator: BinaryOp) -> &'static str {
    match operator {
        BinaryOp::Mul => "*",
        BinaryOp::Div => "/",
        BinaryOp::Rem => "%",
        BinaryOp::Add => "+",
        BinaryOp::Sub => "-",
        BinaryOp::Shl => "<<",
        BinaryOp::Shr => ">>",
        BinaryOp::Lt => "<",
        BinaryOp::Gt => ">",
        BinaryOp::Le => "<=",
        BinaryOp::Ge => ">=",
        BinaryOp::Eq => "==",
        BinaryOp::Ne => "!=",
        BinaryOp::And => "&",
        BinaryOp::Xor => "^",
        BinaryOp::Or => "|",
        BinaryOp::LogicalAnd => "&&",
        BinaryOp::LogicalOr => "||",
    }
}
