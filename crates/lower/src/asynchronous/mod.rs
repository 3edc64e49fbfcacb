//! Asynchronous copies and mbarriers (PTX ISA sections 9.7.9.12, 9.7.9.25, 9.7.9.28, 9.7.13.7, 9.7.13.15 and
//! 9.7.13.16).
//!
//! Copies are performed when they are issued. So groups of them are for the sanitizers only, prefetches and cache
//! policies are hints, and only mbarriers are waited for.

mod bulk;
mod mbarrier;
mod tensor;

use super::form::{Form, atomic};
use super::function::{Builder, Lowered, Refusal, because};
use softwarp_ir::asynchronous::{AsyncOp, Choice, CopyAsync, ReduceAsync, StoreAsync};
use softwarp_ir::group::Queue;
use softwarp_ir::{NONE, Operands, Step};
use softwarp_isa::Type;
use softwarp_isa::instruction::Space;
use softwarp_isa::instruction::{Modifier, Opcode};
use softwarp_syntax::tree::{Operand, OperandKind, Range};

impl Builder<'_, '_> {
    /// Asynchronous copies and mbarriers.
    pub fn asynchronous(&mut self, form: &Form, operands: Range<Operand>) -> Lowered<()> {
        let has = |modifier| form.has(modifier);
        match form.shape.opcode {
            Opcode::Mbarrier => self.mbarrier(form, operands),
            Opcode::Prefetch => Ok(()),
            Opcode::St if has(Modifier::Bulk) => self.store_zeros(form, operands),
            Opcode::St => self.store_async(form, operands),
            Opcode::Red => self.reduce_async(form, operands),
            Opcode::Tensormap if has(Modifier::Replace) => self.replace(form, operands),
            Opcode::Tensormap => self.copy_map(form, operands),
            _ if has(Modifier::CommitGroup) || has(Modifier::WaitGroup) || has(Modifier::WaitAll) => {
                let queue = if has(Modifier::Bulk) { Queue::Bulk } else { Queue::Copies };
                self.group(form, queue, operands)
            }
            _ if has(Modifier::Mbarrier) => {
                let addresses = vec![self.address(operands.start, form.space())?];
                let op = AsyncOp::CopyArrive { noinc: has(Modifier::Noinc) };
                self.issue(op, Operands { addresses, ..Operands::default() })
            }
            _ if has(Modifier::Tensor) => self.tensor_copy(form, operands),
            _ if has(Modifier::Bulk) && has(Modifier::Prefetch) => Ok(()),
            _ if has(Modifier::Bulk) => self.bulk(form, operands),
            _ => self.copy_async(form, operands),
        }
    }

    /// Appends such a step.
    fn issue(&mut self, op: AsyncOp, operands: Operands) -> Lowered<()> {
        self.step(Step::Asynchronous(op, operands))
    }

    /// The state space that a form names second.
    fn second_space(form: &Form) -> Space {
        form.shape.spaces.get(1).copied().unwrap_or(Space::Generic)
    }

    /// `cp.async`: the fourth operand is a number of bytes or a predicate, unless it is the cache's policy.
    fn copy_async(&mut self, form: &Form, operands: Range<Operand>) -> Lowered<()> {
        let at = operands.start;
        let addresses =
            vec![self.address(at, form.space())?, self.address(at + 1, Self::second_space(form))?];
        let Ok(bytes @ (4 | 8 | 16)) = u8::try_from(self.immediate(at + 2)?) else {
            return Err(Refusal::Form);
        };
        let mut reads = Vec::new();
        let choice = match operands.len - u32::from(form.has(Modifier::L2CacheHint)) {
            3 => Choice::All,
            4 if self.is_predicate(at + 3)? => {
                let (slot, negated) = self.predicate(at + 3)?;
                reads.push(slot);
                Choice::Ignore { negated }
            }
            4 => {
                reads.push(self.source(at + 3, Type::U32)?);
                Choice::Size
            }
            _ => return Err(Refusal::Form),
        };
        let op = AsyncOp::Copy(CopyAsync { bytes, choice });
        self.issue(op, Operands { reads, addresses, ..Operands::default() })
    }

    fn is_predicate(&mut self, index: u32) -> Lowered<bool> {
        Ok(match self.operand(index).kind {
            OperandKind::Not(_) => true,
            _ => self.named_register(index)?.is_some_and(|register| register.bits == 1),
        })
    }

    /// `st.async`
    fn store_async(&mut self, form: &Form, operands: Range<Operand>) -> Lowered<()> {
        let (at, ty, space) = (operands.start, form.ty(), form.space());
        let mbarrier = operands.len == 3;
        if form.has(Modifier::MbarrierCompleteTxBytes) && !mbarrier {
            return because("without its mbarrier");
        }
        let mut addresses = vec![self.address(at, space)?];
        if mbarrier {
            addresses.push(self.address(at + 2, space)?);
        }
        let elements = self.elements(at + 1, ty)?;
        let mut reads = Vec::new();
        for (slot, bits) in elements {
            if slot == NONE {
                return because("with `_`");
            }
            // A register may be wider than what is stored of it.
            reads.push(match (bits, ty.bits()) {
                (64, ..=32) => self.fit(super::function::Register { id: slot, bits: 64 }, Type::B32)?,
                _ => slot,
            });
        }
        let op = StoreAsync { bytes: (ty.bits() / 8) as u8, mbarrier };
        self.issue(AsyncOp::Store(op), Operands { reads, addresses, ..Operands::default() })
    }

    /// `red.async`
    fn reduce_async(&mut self, form: &Form, operands: Range<Operand>) -> Lowered<()> {
        let (at, ty, space) = (operands.start, form.ty(), form.space());
        let Some(op) = atomic(&form.shape) else { return Err(Refusal::Form) };
        let mbarrier = operands.len == 3;
        if form.has(Modifier::MbarrierCompleteTxBytes) && !mbarrier {
            return because("without its mbarrier");
        }
        let mut addresses = vec![self.address(at, space)?];
        if mbarrier {
            addresses.push(self.address(at + 2, space)?);
        }
        let reads = vec![self.source(at + 1, ty)?];
        let op = ReduceAsync { op, ty, mbarrier };
        self.issue(AsyncOp::Reduce(op), Operands { reads, addresses, ..Operands::default() })
    }

    /// `st.bulk`
    fn store_zeros(&mut self, form: &Form, operands: Range<Operand>) -> Lowered<()> {
        let addresses = vec![self.address(operands.start, form.space())?];
        let reads = vec![self.source(operands.start + 1, Type::U64)?];
        self.issue(AsyncOp::Zero, Operands { reads, addresses, ..Operands::default() })
    }
}
