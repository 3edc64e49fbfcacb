//! `cp.async.bulk` and `cp.reduce.async.bulk` (PTX ISA sections 9.7.9.25.4.1 and 9.7.9.25.4.2).

use crate::builder::{Builder, Lowered, Refusal, because};
use crate::form::Form;
use softwarp_ir::AsyncOp;
use softwarp_ir::asynchronous::Bulk;
use softwarp_isa::Type;
use softwarp_isa::instruction::Space;
use softwarp_isa::instruction::{Modifier, Opcode};
use softwarp_syntax::tree::{Operand, Range};
use softwarp_tensor::Element;
use softwarp_tensor::reduce::Operation;

/// What a type is to a reduction.
fn element(ty: Type) -> Option<Element> {
    Some(match ty {
        Type::U32 | Type::B32 => Element::U32,
        Type::S32 => Element::S32,
        Type::U64 | Type::B64 => Element::U64,
        Type::S64 => Element::S64,
        Type::F16 => Element::F16,
        Type::Bf16 => Element::Bf16,
        // With `.noftz` or without, subnormals stay: so it is on an H200.
        Type::F32 => Element::F32,
        Type::F64 => Element::F64,
        _ => return None,
    })
}

impl Builder<'_, '_> {
    pub(super) fn bulk(&mut self, form: &Form, operands: Range<Operand>) -> Lowered<()> {
        let has = |modifier| form.has(modifier);
        if form.instruction.modifiers.iter().any(|word| word.reports_validity()) {
            return because("with a report of what is valid");
        }
        let operation = form.instruction.words.iter().find_map(|word| Operation::from_name(word.name()));
        let reduction = match (has(Modifier::Reduce), operation) {
            (false, _) => None,
            (true, Some(operation)) => {
                let Some(element) = element(form.ty()) else { return Err(Refusal::Form) };
                Some((operation, element))
            }
            (true, None) => return Err(Refusal::Form),
        };
        let mut places = self.places(operands);
        let mut next = || places.next().ok_or(Refusal::Form);
        let to = self.address(next()?, form.space())?;
        let from = self.address(next()?, Self::second_space(form))?;
        let size = self.source(next()?, Type::U32)?;
        let mut op = Bulk {
            to,
            from,
            size,
            ignore: None,
            mbarrier: None,
            multicast: None,
            mask: None,
            reduction,
            multimem: form.instruction.opcode == Opcode::Multimem,
        };
        if has(Modifier::IgnoreOob) {
            op.ignore = Some([self.source(next()?, Type::U32)?, self.source(next()?, Type::U32)?]);
        }
        if has(Modifier::MbarrierCompleteTxBytes) {
            // With the destination, or in the CTA itself.
            let space =
                if form.space() == Space::SharedCluster { Space::SharedCluster } else { Space::Shared };
            op.mbarrier = Some(self.address(next()?, space)?);
        }
        if form.instruction.modifiers.iter().any(|word| word.is_multicast()) {
            let ty = if has(Modifier::MulticastCluster32b) { Type::U32 } else { Type::U16 };
            op.multicast = Some(self.source(next()?, ty)?);
        }
        if has(Modifier::L2CacheHint) {
            next()?;
        }
        if has(Modifier::CpMask) {
            op.mask = Some(self.source(next()?, Type::U16)?);
        }
        self.issue(AsyncOp::Bulk(op))
    }
}
