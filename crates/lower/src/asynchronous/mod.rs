//! Asynchronous copies and mbarriers (PTX ISA sections 9.7.9.12, 9.7.9.25, 9.7.9.28, 9.7.13.7, 9.7.13.15 and
//! 9.7.13.16).
//!
//! Copies are performed when they are issued. So groups of them are for the sanitizers only, prefetches and cache
//! policies are hints, and only mbarriers are waited for.

mod bulk;
mod mbarrier;
mod tensor;

use crate::builder::{Builder, Lowered, Refusal, because};
use crate::form::{Form, atomic};
use softwarp_ir::asynchronous::{Choice, CopyArrive, CopyAsync, ReduceAsync, StoreAsync, ZeroBulk};
use softwarp_ir::group::Queue;
use softwarp_ir::{Address, AsyncOp, Step};
use softwarp_isa::Type;
use softwarp_isa::instruction::Space;
use softwarp_isa::instruction::{Modifier, Opcode};
use softwarp_syntax::tree::{Operand, OperandKind, Range};

impl Builder<'_, '_> {
    /// Asynchronous copies and mbarriers.
    pub fn asynchronous(&mut self, form: &Form, operands: Range<Operand>) -> Lowered<()> {
        let has = |modifier| form.has(modifier);
        match form.instruction.opcode {
            Opcode::Mbarrier => self.mbarrier(form, operands),
            Opcode::St if has(Modifier::Bulk) => self.store_zeros(form, operands),
            Opcode::St if has(Modifier::Async) => self.store_async(form, operands),
            Opcode::Red if has(Modifier::Async) || has(Modifier::Bulk) => self.reduce_async(form, operands),
            Opcode::Tensormap if has(Modifier::Replace) => self.replace(form, operands),
            Opcode::Tensormap => self.copy_map(form, operands),
            Opcode::Cp => self.copies(form, operands),
            Opcode::Multimem if has(Modifier::Cp) => self.copies(form, operands),
            _ => Err(Refusal::Elsewhere),
        }
    }

    /// `cp.async`, `multimem.cp`
    fn copies(&mut self, form: &Form, operands: Range<Operand>) -> Lowered<()> {
        let has = |modifier| form.has(modifier);
        match () {
            () if has(Modifier::CommitGroup) || has(Modifier::WaitGroup) || has(Modifier::WaitAll) => {
                let queue = if has(Modifier::Bulk) { Queue::Bulk } else { Queue::Copies };
                self.group(form, queue, operands)
            }
            () if has(Modifier::Mbarrier) => {
                let mbarrier = self.address(operands.start, form.space())?;
                self.issue(AsyncOp::CopyArrive(CopyArrive { mbarrier, noinc: has(Modifier::Noinc) }))
            }
            () if has(Modifier::Tensor) => self.tensor_copy(form, operands),
            () if has(Modifier::Bulk) && has(Modifier::Prefetch) => Ok(()),
            () if has(Modifier::Bulk) => self.bulk(form, operands),
            () => self.copy_async(form, operands),
        }
    }

    /// Appends such a step.
    fn issue(&mut self, op: AsyncOp) -> Lowered<()> {
        self.step(Step::Asynchronous(op))
    }

    /// The state space that a form names second.
    fn second_space(form: &Form) -> Space {
        form.instruction.spaces.get(1).copied().unwrap_or(Space::Generic)
    }

    /// `cp.async`: the fourth operand is a number of bytes or a predicate, unless it is the cache's policy.
    fn copy_async(&mut self, form: &Form, operands: Range<Operand>) -> Lowered<()> {
        let at = operands.start;
        let to = self.address(at, form.space())?;
        let from = self.address(at + 1, Self::second_space(form))?;
        let Ok(bytes @ (4 | 8 | 16)) = u8::try_from(self.immediate(at + 2)?) else {
            return Err(Refusal::Form);
        };
        let choice = match operands.len - u32::from(form.has(Modifier::L2CacheHint)) {
            3 => Choice::All,
            4 if self.is_predicate(at + 3)? => Choice::Ignore(self.predicate(at + 3)?),
            4 => Choice::Size(self.source(at + 3, Type::U32)?),
            _ => return Err(Refusal::Form),
        };
        self.issue(AsyncOp::Copy(CopyAsync { to, from, choice, bytes }))
    }

    fn is_predicate(&mut self, index: u32) -> Lowered<bool> {
        Ok(match self.operand(index).kind {
            OperandKind::Not(_) => true,
            _ => self.named_register(index)?.is_some_and(|register| register.bits == 1),
        })
    }

    /// `st.async`
    fn store_async(&mut self, form: &Form, operands: Range<Operand>) -> Lowered<()> {
        let (at, ty) = (operands.start, form.ty());
        let (to, mbarrier) = self.destination_and_mbarrier(form, operands)?;
        let mut data = Vec::new();
        for element in self.elements(at + 1, ty)? {
            let Some(slot) = element.slot else { return because("with `_`") };
            // A register may be wider than what is stored of it.
            data.push(match (element.bits, ty.bits()) {
                (64, ..=32) => self.fit(crate::builder::Register { id: slot, bits: 64 }, Type::B32)?,
                _ => slot,
            });
        }
        let bytes = (ty.bits() / 8) as u8;
        self.issue(AsyncOp::Store(StoreAsync { to, mbarrier, data, bytes }))
    }

    /// The destination of `st.async` or `red.async`, and the mbarrier that it completes on, if there is one.
    fn destination_and_mbarrier(
        &mut self,
        form: &Form,
        operands: Range<Operand>,
    ) -> Lowered<(Address, Option<Address>)> {
        let (at, space) = (operands.start, form.space());
        let has_mbarrier = operands.len == 3;
        if form.has(Modifier::MbarrierCompleteTxBytes) && !has_mbarrier {
            return because("without its mbarrier");
        }
        let to = self.address(at, space)?;
        let mbarrier = if has_mbarrier { Some(self.address(at + 2, space)?) } else { None };
        Ok((to, mbarrier))
    }

    /// `red.async`
    fn reduce_async(&mut self, form: &Form, operands: Range<Operand>) -> Lowered<()> {
        let ty = form.ty();
        let Some(op) = atomic(&form.instruction) else { return Err(Refusal::Form) };
        let (to, mbarrier) = self.destination_and_mbarrier(form, operands)?;
        let b = self.source(operands.start + 1, ty)?;
        self.issue(AsyncOp::Reduce(ReduceAsync { to, mbarrier, b, op, ty }))
    }

    /// `st.bulk`
    fn store_zeros(&mut self, form: &Form, operands: Range<Operand>) -> Lowered<()> {
        let to = self.address(operands.start, form.space())?;
        let size = self.source(operands.start + 1, Type::U64)?;
        self.issue(AsyncOp::Zero(ZeroBulk { to, size }))
    }
}
