//! Which arithmetic instructions have code, by their forms: opcode, types and modifiers.
//!
//! A form is compiled only if it is listed here or in the files that this one asks (`conversions.rs`, `functions.rs`,
//! `integers.rs`). One that is not listed, such as a new opcode or one with a new modifier, is computed by the
//! interpreter's loop ([`crate::actions::Action::Loop`]).

#![allow(clippy::wildcard_enum_match_arm, reason = "a form that is not listed is not compiled")]

use crate::actions::{Combine, Compute, Order, PredicateOp, ShortType, Width};
use crate::conversions::{Conversion, conversion};
use crate::functions::{Float, Rounding, half, special};
use crate::integers::integer as other_integer;
use softwarp_ir::{Alu, Immediate};
use softwarp_isa::Type;
use softwarp_isa::instruction::{InstructionForm, Modifier, Opcode};

/// The arithmetic of a form; `None` if it has no code.
pub(crate) fn instruction(form: &InstructionForm, immediate: Immediate, alu: &Alu) -> Option<Compute> {
    let modifiers = form.modifiers.as_slice();
    if form.opcode == Opcode::Cvt {
        return conversion(form).map(converted);
    }
    if form.opcode == Opcode::Dp4a {
        return other_integer(form).map(Compute::Integer);
    }
    // The others have one type: with more, such as `add.rz.f32.f16`, sources differ from the result.
    let &[ty] = form.types.as_slice() else { return None };
    let width = match ty {
        Type::B16 | Type::U16 | Type::S16 | Type::B32 | Type::U32 | Type::S32 | Type::F32 => Some(Width::W32),
        Type::B64 | Type::U64 | Type::S64 | Type::F64 => Some(Width::W64),
        _ => None,
    };
    let signed = matches!(ty, Type::S32 | Type::S64);
    let integer = matches!(ty, Type::U32 | Type::S32 | Type::U64 | Type::S64);
    let bits = matches!(ty, Type::B32 | Type::B64);
    // 16-bit words have zeros above.
    let short = matches!(ty, Type::B16 | Type::U16);
    if ty == Type::Pred {
        return predicate(form);
    }
    Some(match (form.opcode, modifiers) {
        (Opcode::Setp, _) => return comparison(form, ty),
        (Opcode::Selp, []) => Compute::Select(width?),
        (Opcode::Add, []) if integer => Compute::Add(width?),
        (Opcode::Sub, []) if integer => Compute::Sub(width?),
        (Opcode::Neg, []) if integer => Compute::Neg(width?),
        (Opcode::Mul, [Modifier::Lo]) if integer => Compute::Mul(width?),
        (Opcode::Mul, [Modifier::Hi]) if matches!(ty, Type::U32 | Type::S32) => Compute::High { signed },
        (Opcode::Mad, [Modifier::Lo]) if integer => Compute::Mad(width?),
        (Opcode::Mul, [Modifier::Wide]) if matches!(ty, Type::U32 | Type::S32) => {
            Compute::Wide { signed, add: false }
        }
        (Opcode::Mad, [Modifier::Wide]) if matches!(ty, Type::U32 | Type::S32) => {
            Compute::Wide { signed, add: true }
        }
        (Opcode::Mul, [Modifier::Wide]) if ty == Type::U16 => Compute::Mul(Width::W32),
        (Opcode::Mad, [Modifier::Wide]) if ty == Type::U16 => Compute::Mad(Width::W32),
        (Opcode::Min, []) if integer || short => Compute::Min { width: width?, signed },
        (Opcode::Max, []) if integer || short => Compute::Max { width: width?, signed },
        (Opcode::And, []) if bits || short => Compute::And(width?),
        (Opcode::Or, []) if bits || short => Compute::Or(width?),
        (Opcode::Xor, []) if bits || short => Compute::Xor(width?),
        (Opcode::Not, []) if bits => Compute::Not(width?),
        (Opcode::Lop3, []) if ty == Type::B32 => match immediate {
            Immediate::Lut(lut) => Compute::Lop3(lut),
            Immediate::None | Immediate::Video(_) => return None,
        },
        (Opcode::Shf, [direction @ (Modifier::L | Modifier::R), Modifier::Wrap]) if ty == Type::B32 => {
            Compute::Funnel { left: *direction == Modifier::L }
        }
        (Opcode::Shl, []) if bits => Compute::Shl(width?),
        (Opcode::Shr, []) if bits || integer || short => Compute::Shr { width: width?, signed },
        (opcode, &[direction]) if ty == Type::F32 && Rounding::directed(direction).is_some() => {
            Compute::Rounded(rounded(opcode)?, Rounding::directed(direction)?)
        }
        (Opcode::Copysign, _) => return other_integer(form).map(Compute::Integer),
        (_, _) if ty == Type::F32 => return single(form.opcode, modifiers, alu),
        (_, _) if ty == Type::F64 => Compute::Double(float(form.opcode, modifiers, alu)?),
        _ => {
            return half(form).map(Compute::Half).or_else(|| other_integer(form).map(Compute::Integer));
        }
    })
}

/// A conversion.
fn converted(conversion: Conversion) -> Compute {
    match conversion {
        Conversion::Copy32 => Compute::Copy(Width::W32),
        Conversion::Copy64 => Compute::Copy(Width::W64),
        Conversion::Extend(extend) => Compute::Extend(extend),
        Conversion::Short(convert) => Compute::Convert(convert),
        Conversion::Wide(convert) => Compute::WideConvert(convert),
    }
}

/// Arithmetic in f32.
fn single(opcode: Opcode, modifiers: &[Modifier], alu: &Alu) -> Option<Compute> {
    let (kept, ftz) = without_ftz(modifiers);
    if let [Modifier::Approx | Modifier::Full] = kept {
        return special(opcode, kept, ftz).map(Compute::Special);
    }
    let float = float(opcode, kept, alu)?;
    Some(if ftz { Compute::Flushed(float) } else { Compute::Float(float) })
}

/// Modifiers without a last `.ftz`, and whether there is one.
fn without_ftz(modifiers: &[Modifier]) -> (&[Modifier], bool) {
    match modifiers {
        [kept @ .., Modifier::Ftz] => (kept, true),
        all => (all, false),
    }
}

/// Arithmetic in f32 or f64.
fn float(opcode: Opcode, modifiers: &[Modifier], alu: &Alu) -> Option<Float> {
    let nearest = matches!(modifiers, [] | [Modifier::Rn]);
    let bare = modifiers.is_empty();
    Some(match opcode {
        Opcode::Add if nearest => Float::Add,
        Opcode::Sub if nearest => Float::Sub,
        Opcode::Mul if nearest => Float::Mul,
        Opcode::Fma | Opcode::Mad if nearest => Float::Fma,
        Opcode::Div if modifiers == [Modifier::Rn] => Float::Div,
        Opcode::Rcp if modifiers == [Modifier::Rn] => Float::Rcp,
        Opcode::Sqrt if modifiers == [Modifier::Rn] => Float::Sqrt,
        Opcode::Neg if bare => Float::Neg,
        Opcode::Abs if bare => Float::Abs,
        Opcode::Min if bare && alu.s.count() == 2 => Float::Min,
        Opcode::Max if bare && alu.s.count() == 2 => Float::Max,
        _ => return None,
    })
}

/// The arithmetic of f32 that may have a rounding other than to nearest.
fn rounded(opcode: Opcode) -> Option<Float> {
    Some(match opcode {
        Opcode::Add => Float::Add,
        Opcode::Sub => Float::Sub,
        Opcode::Mul => Float::Mul,
        Opcode::Fma | Opcode::Mad => Float::Fma,
        Opcode::Div => Float::Div,
        Opcode::Rcp => Float::Rcp,
        Opcode::Sqrt => Float::Sqrt,
        _ => return None,
    })
}

fn predicate(form: &InstructionForm) -> Option<Compute> {
    if !form.modifiers.is_empty() {
        return None;
    }
    Some(Compute::Predicate(match form.opcode {
        Opcode::And => PredicateOp::And,
        Opcode::Or => PredicateOp::Or,
        Opcode::Xor => PredicateOp::Xor,
        Opcode::Not => PredicateOp::Not,
        _ => return None,
    }))
}

fn comparison(form: &InstructionForm, ty: Type) -> Option<Compute> {
    let (&operator, rest) = form.modifiers.split_first()?;
    let (rest, ftz) = without_ftz(rest);
    let combine = match rest {
        [] => Combine::Nothing,
        [Modifier::And] => Combine::And,
        [Modifier::Or] => Combine::Or,
        [Modifier::Xor] => Combine::Xor,
        _ => return None,
    };
    if ftz && ty != Type::F32 {
        return None;
    }
    let integers = |width: Width, signed: bool| {
        Some(Compute::Compare { width, signed, order: order_of(operator)?, combine })
    };
    match ty {
        Type::F32 => Some(Compute::CompareFloat { predicate: float_predicate(operator)?, combine, ftz }),
        Type::F64 => Some(Compute::CompareDouble { predicate: float_predicate(operator)?, combine }),
        Type::F16 | Type::Bf16 => {
            let of = if ty == Type::F16 { ShortType::F16 } else { ShortType::Bf16 };
            Some(Compute::CompareShort { of, predicate: float_predicate(operator)?, combine })
        }
        Type::S16 => match order_of(operator)? {
            Order::Eq | Order::Ne => integers(Width::W32, false),
            order @ (Order::Lt | Order::Le | Order::Gt | Order::Ge) => {
                let predicate = order.predicate();
                Some(Compute::CompareShort { of: ShortType::S16, predicate, combine })
            }
        },
        Type::B16 | Type::U16 | Type::B32 | Type::U32 => integers(Width::W32, false),
        Type::S32 => integers(Width::W32, true),
        Type::B64 | Type::U64 => integers(Width::W64, false),
        Type::S64 => integers(Width::W64, true),
        _ => None,
    }
}

/// The predicate of `vcmpps` that raises no exceptions.
fn float_predicate(operator: Modifier) -> Option<u8> {
    Some(match operator {
        Modifier::Eq => 0x00,
        Modifier::Lt => 0x11,
        Modifier::Le => 0x12,
        Modifier::Nan => 0x03,
        Modifier::Neu => 0x04,
        Modifier::Geu => 0x15,
        Modifier::Gtu => 0x16,
        Modifier::Num => 0x07,
        Modifier::Equ => 0x08,
        Modifier::Ltu => 0x19,
        Modifier::Leu => 0x1a,
        Modifier::Ne => 0x0c,
        Modifier::Ge => 0x1d,
        Modifier::Gt => 0x1e,
        _ => return None,
    })
}

/// The order of integers of a comparison.
fn order_of(operator: Modifier) -> Option<Order> {
    Some(match operator {
        Modifier::Eq => Order::Eq,
        Modifier::Ne => Order::Ne,
        Modifier::Lt | Modifier::Lo => Order::Lt,
        Modifier::Le | Modifier::Ls => Order::Le,
        Modifier::Gt | Modifier::Hi => Order::Gt,
        Modifier::Ge | Modifier::Hs => Order::Ge,
        _ => return None,
    })
}
