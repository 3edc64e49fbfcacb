//! Operations on mbarriers (PTX ISA section 9.7.13.15). How memory is ordered around them is for the sanitizers only: the
//! machine orders everything.
//!
//! Without a scope, the manual has `.cta`. Libraries arrive so at mbarriers of other CTAs of the cluster and rely on the
//! order: here, no scope means `.cluster`.

use crate::builder::{Builder, Lowered, Refusal, because};
use crate::form::Form;
use softwarp_ir::asynchronous::{
    MbarrierArrive, MbarrierCheckLayout, MbarrierInit, MbarrierInval, MbarrierTx, MbarrierWait, PendingCount,
};
use softwarp_ir::{AsyncOp, Order, Scope, Semantics};
use softwarp_isa::Type;
use softwarp_isa::instruction::Modifier;
use softwarp_syntax::tree::{Operand, OperandKind, Range};

impl Builder<'_, '_> {
    pub(super) fn mbarrier(&mut self, form: &Form, operands: Range<Operand>) -> Lowered<()> {
        let has = |modifier| form.has(modifier);
        let mut places = self.places(operands);
        let multicast = match has(Modifier::MulticastCluster32b) {
            true => Some(self.source(places.next_back().ok_or(Refusal::Form)?, Type::U32)?),
            false => None,
        };
        let mut next = || places.next().ok_or(Refusal::Form);
        let order =
            |semantics| Order::of(&form.instruction.modifiers, Order { semantics, scope: Scope::Cluster });
        let space = form.space();
        let op = if has(Modifier::PendingCount) {
            let d = self.destination(next()?, Type::U32)?;
            let state = self.source(next()?, Type::U64)?;
            self.issue(AsyncOp::PendingCount(PendingCount { d: d.slot, state }))?;
            self.deliver(d);
            return Ok(());
        } else if has(Modifier::Init) {
            let mbarrier = self.address(next()?, space)?;
            let count = self.source(next()?, Type::U32)?;
            let second_layout = has(Modifier::LayoutV1);
            AsyncOp::MbarrierInit(MbarrierInit { mbarrier, count, second_layout })
        } else if has(Modifier::Inval) {
            AsyncOp::MbarrierInval(MbarrierInval { mbarrier: self.address(next()?, space)? })
        } else if has(Modifier::CheckLayout) {
            let d = self.destination(next()?, Type::Pred)?.slot;
            let mbarrier = self.address(next()?, space)?;
            let second_layout = has(Modifier::LayoutV1);
            AsyncOp::MbarrierCheckLayout(MbarrierCheckLayout { d, mbarrier, second_layout })
        } else if has(Modifier::TestWait) || has(Modifier::TryWait) {
            return self.mbarrier_wait(form, operands, order(Semantics::Acquire));
        } else if has(Modifier::Arrive) || has(Modifier::ArriveDrop) {
            let d = next()?;
            let d = match self.operand(d).kind {
                OperandKind::Sink => None,
                _ => Some(self.destination(d, Type::U64)?.slot),
            };
            if multicast.is_some() && d.is_some() {
                return because("in several CTAs at once with a result, which no document explains");
            }
            let mbarrier = self.address(next()?, space)?;
            let count = places.next().map(|index| self.source(index, Type::U32)).transpose()?;
            AsyncOp::MbarrierArrive(MbarrierArrive {
                d,
                mbarrier,
                count,
                multicast,
                drop: has(Modifier::ArriveDrop),
                expect: has(Modifier::ExpectTx),
                single: has(Modifier::NoComplete),
                order: order(Semantics::Release),
            })
        } else if has(Modifier::ExpectTx) || has(Modifier::CompleteTx) {
            let mbarrier = self.address(next()?, space)?;
            let bytes = self.source(next()?, Type::U32)?;
            let complete = !has(Modifier::ExpectTx);
            AsyncOp::MbarrierTx(MbarrierTx { mbarrier, bytes, multicast, complete })
        } else {
            return Err(Refusal::Form);
        };
        self.issue(op)
    }

    /// `mbarrier.test_wait`, `mbarrier.try_wait`
    fn mbarrier_wait(&mut self, form: &Form, operands: Range<Operand>, order: Order) -> Lowered<()> {
        let mut places = self.places(operands);
        let mut next = || places.next().ok_or(Refusal::Form);
        let mut d = next()?;
        let mut second = None;
        if let OperandKind::Pair(parts) = self.operand(d).kind {
            if parts.len != 2 {
                return Err(Refusal::Form);
            }
            (d, second) = (parts.start, Some(parts.start + 1));
        }
        let d = self.destination(d, Type::Pred)?.slot;
        let second = second.map(|second| self.destination(second, Type::Pred)).transpose()?;
        let mut at = next()?;
        let mut report = None;
        if !matches!(self.operand(at).kind, OperandKind::Address(_) | OperandKind::Unified(_)) {
            report = Some(self.destination(at, Type::B8)?);
            at = next()?;
        }
        let mbarrier = self.address(at, form.space())?;
        // How long to wait at most is a hint.
        let parity = form.has(Modifier::Parity);
        let phase = self.source(next()?, if parity { Type::U32 } else { Type::U64 })?;
        self.issue(AsyncOp::MbarrierWait(MbarrierWait {
            d,
            second: second.map(|second| second.slot),
            report: report.map(|report| report.slot),
            mbarrier,
            phase,
            parity,
            order,
        }))?;
        if let Some(report) = report {
            self.deliver(report);
        }
        Ok(())
    }
}
