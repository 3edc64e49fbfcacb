//! Evaluates constant expressions as the assembler does (PTX ISA section 4.5).
//!
//! Integers have 64 bits and are signed or unsigned; operations wrap. Where the assembler differs from C, this
//! follows the assembler: `%` is unsigned whatever its operands are, and so is the result of `~`; shift counts wrap at 64;
//! `?:` has the sign of the branch that is taken (in strict mode the manual's common type); all operands are evaluated, whether they matter or not.
//! Floats compute in binary64; `0f…` ones stand alone, or in parentheses.

use crate::codes::declarations as codes;
use crate::context::Context;
use softwarp_isa::{Class, Type};
use softwarp_syntax::tree::{At, BinaryOp, Expr, ExprId, Literal, UnaryOp};
use softwarp_syntax::{Diagnostic, Span};

/// What a constant is worth.
///
/// Its type (section 4.5) is `.s64` or `.u64` for integers, `.f64` for floating-point numbers, and `.f32` for a
/// `0f…` literal alone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// An integer.
    Int {
        /// Its bits.
        value: u64,
        /// Whether operations on it are unsigned.
        unsigned: bool,
    },
    /// The bits of a `0f…` literal.
    F32(u32),
    /// A decimal or `0d…` literal, or what was computed from them.
    F64(f64),
}

/// `WARP_SZ`: the threads of a warp.
pub const WARP_SIZE: u64 = softwarp_isa::device::WARP_SIZE as u64;

impl Value {
    const fn signed(value: i64) -> Value {
        Value::Int { value: value as u64, unsigned: false }
    }

    /// Its type.
    pub fn ty(self) -> Type {
        match self {
            Value::Int { unsigned: false, .. } => Type::S64,
            Value::Int { unsigned: true, .. } => Type::U64,
            Value::F32(_) => Type::F32,
            Value::F64(_) => Type::F64,
        }
    }

    /// Its bits; of a `0f…` literal, 32.
    pub fn bits(self) -> u64 {
        match self {
            Value::Int { value, .. } => value,
            Value::F32(bits) => u64::from(bits),
            Value::F64(value) => value.to_bits(),
        }
    }

    /// Whether it can be the initial value of a variable of that type (section 5.4.4).
    pub fn goes_into(self, ty: Type) -> bool {
        match (ty.class(), self) {
            _ if matches!(ty, Type::F16 | Type::F16x2) => false,
            (Class::Signed | Class::Unsigned, Value::Int { .. }) => true,
            (Class::Float, Value::F32(_) | Value::F64(_)) => true,
            (Class::Bits, _) => true,
            _ => false,
        }
    }

    /// Whether it is an integer of which that type keeps only the low bits.
    pub fn is_chopped(self, ty: Type) -> bool {
        let Value::Int { value, .. } = self else { return false };
        let bits = ty.bits();
        let range = |bits: u32| -(1i64 << (bits - 1))..1 << bits;
        ty.is_int() && (1..63).contains(&bits) && !range(bits).contains(&(value as i64))
    }

    /// The bytes that the assembler stores for a variable of that type, lowest first. It rounds 64-bit floats to
    /// 32 bits where there are as many, and keeps the low bits of everything else.
    pub fn stored_as(self, ty: Type) -> Vec<u8> {
        let (bytes, size) = self.bytes(ty);
        bytes[..size].to_vec()
    }

    /// The bytes that [`Value::stored_as`] gives, at the beginning of an array, and how many they are.
    pub(crate) fn bytes(self, ty: Type) -> ([u8; 16], usize) {
        let size = (ty.register_type().bits() / 8) as usize;
        let bits = match self {
            Value::F64(value) if size == 4 => u64::from((value as f32).to_bits()),
            value => value.bits(),
        };
        let bytes = u128::from(bits).to_le_bytes();
        (bytes, size.min(bytes.len()))
    }

    /// The bits of an integer.
    pub fn int(self) -> Option<u64> {
        match self {
            Value::Int { value, .. } => Some(value),
            _ => None,
        }
    }

    /// `an integer` or `a floating-point number`, for messages.
    pub fn sort(self) -> &'static str {
        match self {
            Value::Int { .. } => "an integer",
            Value::F32(_) | Value::F64(_) => "a floating-point number",
        }
    }
}

impl From<Literal> for Value {
    fn from(literal: Literal) -> Value {
        match literal {
            Literal::Int { value, unsigned } => Value::Int { value, unsigned },
            Literal::F32(bits) => Value::F32(bits),
            Literal::F64(bits) => Value::F64(f64::from_bits(bits)),
        }
    }
}

/// What is left to do while an expression is evaluated: its operands, then itself.
enum Step {
    Enter(ExprId),
    Leave(ExprId),
}

/// Evaluates what can stand behind an `=`: an expression, or a mask over one.
pub(crate) fn evaluate_initial(context: &mut Context<'_>, root: ExprId) -> Option<Value> {
    let At { is, span } = context.module.expression(root);
    match is {
        Expr::Mask((mask, mask_span), inner) => {
            let shift = mask_shift(context, mask, mask_span)?;
            masked(context, mask, shift, inner, span)
        }
        _ => evaluate(context, root),
    }
}

/// How far a mask's byte is from the lowest. A mask that does not select one byte is reported.
pub(crate) fn mask_shift(context: &mut Context<'_>, mask: u64, span: Span) -> Option<u32> {
    let shift = mask.trailing_zeros();
    if mask == 0 || !shift.is_multiple_of(8) || mask >> shift != 0xff {
        let message = format!("the mask {mask:#x} does not select one byte");
        let help = "a mask is 0xff, 0xff00, 0xff0000 and so on";
        context.report(Diagnostic::new(codes::MASK, span, message).with_help(help));
        return None;
    }
    Some(shift)
}

/// The byte of an integer that a mask selects.
pub(crate) fn masked(
    context: &mut Context<'_>,
    mask: u64,
    shift: u32,
    inner: ExprId,
    span: Span,
) -> Option<Value> {
    let value = evaluate(context, inner)?;
    let Some(value) = value.int() else {
        let message = "a mask selects a byte of an integer or address, not of a floating-point number";
        context.report(Diagnostic::new(codes::EXPRESSION_TYPE, span, message));
        return None;
    };
    Some(Value::Int { value: (value & mask) >> shift, unsigned: true })
}

/// Evaluates an expression. `None` if something was wrong with it, which has then been reported.
pub(crate) fn evaluate(context: &mut Context<'_>, root: ExprId) -> Option<Value> {
    let At { is, span } = context.module.expression(root);
    if let Expr::Literal(literal) = is {
        check_range(context, literal, span);
        return Some(literal.into());
    }
    let mut steps = vec![Step::Enter(root)];
    let mut values: Vec<Option<Value>> = Vec::new();
    while let Some(step) = steps.pop() {
        match step {
            Step::Enter(id) => enter(context, id, &mut steps, &mut values),
            Step::Leave(id) => {
                let value = leave(context, id, &mut values);
                values.push(value);
            }
        }
    }
    values.pop().flatten()
}

/// Evaluates a leaf, or schedules the operands of something larger.
fn enter(context: &mut Context<'_>, id: ExprId, steps: &mut Vec<Step>, values: &mut Vec<Option<Value>>) {
    let At { is, span } = context.module.expression(id);
    match is {
        Expr::Literal(literal) => {
            check_range(context, literal, span);
            values.push(Some(literal.into()));
        }
        Expr::Name(symbol) if context.text(symbol) == "WARP_SZ" => {
            values.push(Some(Value::signed(WARP_SIZE as i64)));
        }
        Expr::Unary(_, operand) | Expr::Cast(_, operand) => {
            steps.extend([Step::Leave(id), Step::Enter(operand)]);
        }
        Expr::Paren(inner) => steps.push(Step::Enter(inner)),
        Expr::Binary(_, left, right) => {
            steps.extend([Step::Leave(id), Step::Enter(right), Step::Enter(left)]);
        }
        Expr::Conditional(condition, yes, no) => {
            steps.extend([Step::Leave(id), Step::Enter(no), Step::Enter(yes), Step::Enter(condition)]);
        }
        Expr::Name(symbol) => {
            let message = format!("`{}` has no value before the program runs", context.text(symbol));
            let help = "an address stands alone, as in `x`, `x+4` or `generic(x)+4`";
            context.report(Diagnostic::new(codes::EXPRESSION_TYPE, span, message).with_help(help));
            values.push(None);
        }
        Expr::Generic(_) | Expr::Mask(..) | Expr::List(_) | Expr::Field(..) => {
            let message = "this cannot stand inside a constant expression";
            context.report(Diagnostic::new(codes::EXPRESSION_TYPE, span, message));
            values.push(None);
        }
        Expr::Error => values.push(None),
    }
}

/// Applies an operator to the values of its operands, which are the last ones.
fn leave(context: &mut Context<'_>, id: ExprId, values: &mut Vec<Option<Value>>) -> Option<Value> {
    let At { is, span } = context.module.expression(id);
    let mut pop = || values.pop().flatten();
    match is {
        Expr::Unary(op, _) => unary(context, op, pop()?, span),
        Expr::Cast(ty, _) => cast(context, ty, pop()?, span),
        Expr::Binary(op, ..) => {
            let (right, left) = (pop(), pop());
            binary(context, op, left?, right?, span)
        }
        Expr::Conditional(..) => {
            let (no, yes, condition) = (pop(), pop(), pop());
            let (no, yes, condition) = (no?, yes?, condition?);
            for value in [condition, yes, no] {
                integer(context, value, "`?:`", span)?;
            }
            let chosen = if condition.int() != Some(0) { yes } else { no };
            // The manual has the branches converted to a common type first (section 4.5.5).
            let common = matches!(
                (yes, no),
                (Value::Int { unsigned: true, .. }, _) | (_, Value::Int { unsigned: true, .. })
            );
            match chosen {
                Value::Int { value, .. } if context.options.strict && common => {
                    Some(Value::Int { value, unsigned: true })
                }
                chosen => Some(chosen),
            }
        }
        _ => None,
    }
}

/// The bits of an integer operand; anything else is an error.
fn integer(context: &mut Context<'_>, value: Value, operator: &str, span: Span) -> Option<u64> {
    let int = value.int();
    if int.is_none() {
        let message = format!("{operator} takes integers, and this operand is {}", value.sort());
        context.report(Diagnostic::new(codes::EXPRESSION_TYPE, span, message));
    }
    int
}

fn unary(context: &mut Context<'_>, op: UnaryOp, value: Value, span: Span) -> Option<Value> {
    match (op, value) {
        (UnaryOp::Plus, value) => Some(value),
        (UnaryOp::Minus, Value::Int { value, unsigned }) => {
            Some(Value::Int { value: value.wrapping_neg(), unsigned })
        }
        (UnaryOp::Minus, value @ (Value::F32(_) | Value::F64(_))) => {
            Some(Value::F64(-double(context, value, span)?))
        }
        (UnaryOp::Not, value) => Some(Value::signed((integer(context, value, "`!`", span)? == 0).into())),
        (UnaryOp::Complement, value) => {
            Some(Value::Int { value: !integer(context, value, "`~`", span)?, unsigned: true })
        }
    }
}

fn cast(context: &mut Context<'_>, ty: Type, value: Value, span: Span) -> Option<Value> {
    let unsigned = match ty {
        Type::S64 => false,
        Type::U64 => true,
        _ => {
            let message = format!("a constant can be cast to `.s64` or `.u64`, not to `.{ty}`");
            context.report(Diagnostic::new(codes::CAST, span, message));
            return None;
        }
    };
    Some(Value::Int { value: integer(context, value, "a cast", span)?, unsigned })
}

fn binary(context: &mut Context<'_>, op: BinaryOp, left: Value, right: Value, span: Span) -> Option<Value> {
    match (left, right) {
        (Value::Int { value: a, unsigned: x }, Value::Int { value: b, unsigned: y }) => {
            integers(context, op, (a, x), (b, y), span)
        }
        (Value::F32(_) | Value::F64(_), Value::F32(_) | Value::F64(_)) => {
            let (a, b) = (double(context, left, span)?, double(context, right, span)?);
            floats(context, op, a, b, span)
        }
        _ => {
            let message =
                format!("both operands are of one kind; these are {} and {}", left.sort(), right.sort());
            let help = "write integers as `1`, floating-point numbers as `1.0`";
            context.report(Diagnostic::new(codes::EXPRESSION_TYPE, span, message).with_help(help));
            None
        }
    }
}

/// The operand of an operation on floats. The assembler takes the 32 bits of a `0f…` literal for the low ones
/// of 64: they are another number then, nearly zero.
fn double(context: &mut Context<'_>, value: Value, span: Span) -> Option<f64> {
    match value {
        Value::Int { .. } => None,
        Value::F64(value) => Some(value),
        Value::F32(bits) => {
            let message = "the assembler computes with the bits of a `0f…` literal, not with its value";
            let help = "write it as `0d…` or as a decimal number";
            context.report(Diagnostic::new(codes::SINGLE_IN_DOUBLE, span, message).with_help(help));
            Some(f64::from_bits(u64::from(bits)))
        }
    }
}

fn integers(
    context: &mut Context<'_>,
    op: BinaryOp,
    (a, a_unsigned): (u64, bool),
    (b, b_unsigned): (u64, bool),
    span: Span,
) -> Option<Value> {
    let unsigned = a_unsigned || b_unsigned;
    let value = |value: u64| Some(Value::Int { value, unsigned });
    let truth = |truth: bool| Some(Value::signed(truth.into()));
    let (signed_a, signed_b) = (a as i64, b as i64);
    let less = |a: u64, b: u64| if unsigned { a < b } else { (a as i64) < b as i64 };
    if b == 0 && matches!(op, BinaryOp::Div | BinaryOp::Rem) {
        return division_by_zero(context, span);
    }
    match op {
        BinaryOp::Add => value(a.wrapping_add(b)),
        BinaryOp::Sub => value(a.wrapping_sub(b)),
        BinaryOp::Mul => value(a.wrapping_mul(b)),
        BinaryOp::Div if unsigned => value(a / b),
        BinaryOp::Div => value(signed_a.wrapping_div(signed_b) as u64),
        BinaryOp::Rem => Some(Value::Int { value: a % b, unsigned: true }),
        BinaryOp::And => value(a & b),
        BinaryOp::Or => value(a | b),
        BinaryOp::Xor => value(a ^ b),
        BinaryOp::Shl => Some(Value::Int { value: a.wrapping_shl(b as u32), unsigned: a_unsigned }),
        BinaryOp::Shr if a_unsigned => Some(Value::Int { value: a.wrapping_shr(b as u32), unsigned: true }),
        BinaryOp::Shr => Some(Value::signed(signed_a.wrapping_shr(b as u32))),
        BinaryOp::Lt => truth(less(a, b)),
        BinaryOp::Gt => truth(less(b, a)),
        BinaryOp::Le => truth(!less(b, a)),
        BinaryOp::Ge => truth(!less(a, b)),
        BinaryOp::Eq => truth(a == b),
        BinaryOp::Ne => truth(a != b),
        BinaryOp::LogicalAnd => truth(a != 0 && b != 0),
        BinaryOp::LogicalOr => truth(a != 0 || b != 0),
    }
}

fn floats(context: &mut Context<'_>, op: BinaryOp, a: f64, b: f64, span: Span) -> Option<Value> {
    let truth = |truth: bool| Some(Value::signed(truth.into()));
    match op {
        BinaryOp::Add => Some(Value::F64(a + b)),
        BinaryOp::Sub => Some(Value::F64(a - b)),
        BinaryOp::Mul => Some(Value::F64(a * b)),
        BinaryOp::Div if b == 0.0 => division_by_zero(context, span),
        BinaryOp::Div => Some(Value::F64(a / b)),
        BinaryOp::Lt => truth(a < b),
        BinaryOp::Gt => truth(a > b),
        BinaryOp::Le => truth(a <= b),
        BinaryOp::Ge => truth(a >= b),
        BinaryOp::Eq => truth(a == b),
        BinaryOp::Ne => truth(a != b),
        _ => {
            let message = "this operator takes integers, and these operands are floating-point numbers";
            context.report(Diagnostic::new(codes::EXPRESSION_TYPE, span, message));
            None
        }
    }
}

fn division_by_zero(context: &mut Context<'_>, span: Span) -> Option<Value> {
    let message = "division by zero in a constant expression";
    context.report(Diagnostic::new(codes::DIVISION_BY_ZERO, span, message));
    None
}

/// Reports a decimal float that binary64 has no normal number for: the assembler calls it an overflow, also
/// when it is too small.
pub(crate) fn check_range(context: &mut Context<'_>, literal: Literal, span: Span) {
    let Literal::F64(bits) = literal else { return };
    let value = f64::from_bits(bits);
    if value.is_normal() {
        return;
    }
    let text = span.text(context.source);
    let digits = text.trim_start_matches(['-', '+', ' ']);
    if digits.starts_with("0d") || digits.starts_with("0D") {
        return;
    }
    let mantissa = digits.split(['e', 'E']).next().unwrap_or("");
    if mantissa.bytes().all(|byte| !byte.is_ascii_digit() || byte == b'0') {
        return;
    }
    let (what, help) = if value.is_infinite() {
        ("large", "the largest is 1.7976931348623157e308; infinity is `0d7ff0000000000000`")
    } else {
        ("small", "the smallest is 2.2250738585072014e-308; write smaller ones in hexadecimal, as `0d…`")
    };
    let message = format!("`{digits}` is too {what} for a 64-bit floating-point number");
    context.report(Diagnostic::new(codes::CONSTANT_RANGE, span, message).with_help(help));
}
