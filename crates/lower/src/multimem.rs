//! Memory that several devices have together (PTX ISA sections 9.7.9.14, 9.7.9.26 and 9.7.9.27).

use crate::builder::{Builder, Lowered, Refusal, because};
use crate::form::{self, Form};
use softwarp_ir::multimem::{MultimemKind, MultimemOp};
use softwarp_ir::{AtomicOp, Order, Scope, Step};
use softwarp_isa::Type;
use softwarp_isa::instruction::{Modifier, Opcode};
use softwarp_syntax::tree::{Operand, Range};

impl Builder<'_, '_> {
    /// `multimem`
    pub fn multimem(&mut self, form: &Form, operands: Range<Operand>) -> Lowered<()> {
        // `multimem.cp` is a copy.
        if form.instruction.opcode != Opcode::Multimem || form.has(Modifier::Cp) {
            return Err(Refusal::Elsewhere);
        }
        let ty = form.ty();
        let reduction = || {
            let op = form::atomic(&form.instruction).ok_or(Refusal::Form)?;
            if ty.bits() / u32::from(ty.lanes()) < 16 {
                return because("with numbers of 8 bits: how their sums are rounded is not known");
            }
            let smallest = matches!(op, AtomicOp::Min | AtomicOp::Max);
            if smallest && matches!(ty, Type::F32 | Type::F64) {
                return Err(Refusal::Form);
            }
            Ok(op)
        };
        let kind = match () {
            () if form.has(Modifier::LdReduce) => MultimemKind::LoadReduce(reduction()?),
            () if form.has(Modifier::Red) => MultimemKind::Reduce(reduction()?),
            () if form.has(Modifier::St) => MultimemKind::Store,
            () => return Err(Refusal::Form),
        };
        let loads = matches!(kind, MultimemKind::LoadReduce(_));
        let (value, at) =
            if loads { (operands.start, operands.start + 1) } else { (operands.start + 1, operands.start) };
        let elements = self.elements(value, ty)?;
        let address = self.address(at, form.space())?;
        let (data, d) = if loads { (Vec::new(), elements) } else { (elements, Vec::new()) };
        let implied =
            if matches!(kind, MultimemKind::Reduce(_)) { Order::relaxed(Scope::Sys) } else { Order::WEAK };
        let order = Order::of(&form.instruction.modifiers, implied);
        let accumulates_f32 = form.has(Modifier::AccF32);
        self.step(Step::Multimem(MultimemOp { d, address, data, kind, ty, accumulates_f32, order }))
    }
}
