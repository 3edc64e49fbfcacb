//! Constants that the assembler holds against each other, or of which it wants a part of the real numbers (PTX ISA
//! sections 9.7.9.15 and 9.7.9.25). Only constants are checked: the values of registers are not known.

use super::Walk;
use super::forms::{Special, Want};
use super::mismatch::{Mismatch, Reason};
use crate::constant::{self, Value};
use softwarp_syntax::tree::{Operand, OperandKind};

impl Walk<'_, '_> {
    /// The first operand whose constant breaks the instruction's rule, and its place. The operands fit one by one.
    pub(super) fn broken_relation(
        &mut self,
        special: Special,
        wants: &[Want],
        operands: &[Operand],
    ) -> Option<(usize, Mismatch)> {
        let name = match special {
            Special::AsyncCopy => "src-size",
            Special::PolicyFraction => "fraction",
            Special::PolicyRange => "primary-size",
            _ => return None,
        };
        let place = wants.iter().position(|want| want.name == name)?;
        let operand = &operands[place];
        let why = match special {
            // What is copied has the size of what is read, or zeros after it.
            Special::AsyncCopy => {
                let most = self.integer(&operands[2])?;
                let value = self.integer(operand)?;
                (value > most).then_some(Reason::Above { value, most, of: "cp-size" })
            }
            // The assembler compares 32 bits.
            Special::PolicyRange => {
                let most = i64::from(self.integer(&operands[3])? as u32);
                let value = i64::from(self.integer(operand)? as u32);
                (value > most).then_some(Reason::Above { value, most, of: "total-size" })
            }
            _ => {
                let value = self.single(operand)?;
                let fits = value > 0.0 && value <= 1.0;
                (!fits).then_some(Reason::Fraction { value })
            }
        };
        why.map(|why| (place, Mismatch { at: operand.span, why }))
    }

    fn constant(&mut self, operand: &Operand) -> Option<Value> {
        match operand.kind {
            OperandKind::Literal(literal) => Some(literal.into()),
            OperandKind::Expr(id) => constant::evaluate(self.context, id),
            _ => None,
        }
    }

    fn integer(&mut self, operand: &Operand) -> Option<i64> {
        self.constant(operand)?.int().map(|value| value as i64)
    }

    /// A floating-point constant as the instruction has it.
    fn single(&mut self, operand: &Operand) -> Option<f32> {
        match self.constant(operand)? {
            Value::F32(bits) => Some(f32::from_bits(bits)),
            Value::F64(value) => Some(value as f32),
            Value::Int { .. } => None,
        }
    }
}
