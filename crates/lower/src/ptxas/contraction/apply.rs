//! What is lowered in the place of products and sums that become one.

use crate::builder::{Builder, Lowered, Refusal};
use crate::form::Form;
use crate::operand::{Destination, Gathered};
use softwarp_ir::{AluOp, Immediate, Slot};
use softwarp_isa::Type;
use softwarp_isa::instruction;
use softwarp_isa::instruction::{Modifier, Opcode};
use softwarp_syntax::tree::{Operand, OperandKind, Range};
use softwarp_units::alu::has_loop;
use softwarp_units::alu::simple::{Quotient, Simple};
use std::sync::Arc;

impl Builder<'_, '_> {
    /// Keeps the factors of a product for the sums that take it in.
    pub fn keep_factors(&mut self, form: &Form, operands: Range<Operand>) -> Lowered<()> {
        if !self.ptxas.contractions.products.contains_key(&self.current.statement) {
            return Ok(());
        }
        let ty = form.ty();
        let sources = [self.source(operands.start + 1, ty)?, self.source(operands.start + 2, ty)?];
        let factors = if form.instruction.opcode == Opcode::Div {
            let quotient = Quotient { ftz: form.has(Modifier::Ftz), full: form.has(Modifier::Full) };
            [Simple::Dividend(quotient), Simple::Reciprocal(quotient)].map(|part| {
                let slot = self.fresh(32);
                self.simple(part, slot, &sources);
                slot
            })
        } else {
            let mut factors = sources;
            for (slot, n) in factors.iter_mut().zip(1..) {
                if matches!(
                    self.operand(operands.start + n).kind,
                    OperandKind::Name(_) | OperandKind::Member(..)
                ) {
                    let copy = self.fresh(ty.bits());
                    let simple = if ty.bits() > 32 { Simple::Move64 } else { Simple::Move32 };
                    self.simple(simple, copy, &[*slot]);
                    *slot = copy;
                }
            }
            factors
        };
        self.ptxas.contractions.products.insert(self.current.statement, Some(factors));
        Ok(())
    }

    /// A sum that takes a product in; false if it takes none.
    pub fn contracted(&mut self, form: &Form, operands: Range<Operand>) -> Lowered<bool> {
        let Some(&taken) = self.ptxas.contractions.sums.get(&self.current.statement) else {
            return Ok(false);
        };
        let Some(&Some([mut factor, other])) = self.ptxas.contractions.products.get(&taken.product) else {
            return Ok(false);
        };
        let ty = form.ty();
        let subtracts = form.instruction.opcode == Opcode::Sub;
        let kept =
            form.instruction.modifiers.iter().filter(|word| matches!(word, Modifier::Ftz | Modifier::Sat));
        let mut words = vec![Modifier::Rn];
        words.extend(kept);
        words.push(Modifier::Type(ty));
        let op = self.instruction_of(Opcode::Fma, &words)?;
        let mut addend = self.source(operands.start + if taken.second { 1 } else { 2 }, ty)?;
        let destination = self.destination(operands.start, ty)?;
        if taken.negated != (subtracts && taken.second) {
            factor = self.negated(factor, ty)?;
        }
        if subtracts && !taken.second {
            addend = self.negated(addend, ty)?;
        }
        let mut gathered = Gathered::default();
        gathered.write(destination)?;
        for slot in [factor, other, addend] {
            gathered.read(slot)?;
        }
        self.emit(op, gathered)?;
        Ok(true)
    }

    fn negated(&mut self, slot: Slot, ty: Type) -> Lowered<Slot> {
        let op = self.instruction_of(Opcode::Neg, &[Modifier::Type(ty)])?;
        let result = self.fresh(ty.bits());
        let mut gathered = Gathered::default();
        gathered.write(Destination::plain(result))?;
        gathered.read(slot)?;
        self.always(|builder| builder.emit(op, gathered))?;
        Ok(result)
    }

    fn instruction_of(&self, opcode: Opcode, words: &[Modifier]) -> Lowered<AluOp> {
        let words: Vec<&str> = words.iter().map(|word| word.name()).collect();
        match instruction::resolve(opcode.name(), &words) {
            Ok(form) if has_loop(&form) => Ok(AluOp::Instruction(Arc::from(form), Immediate::None)),
            _ => Err(Refusal::Form),
        }
    }
}
