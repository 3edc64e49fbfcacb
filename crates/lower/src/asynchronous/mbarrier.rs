//! Operations on mbarriers (PTX ISA section 9.7.13.15). How memory is ordered around them is for the sanitizers only: the
//! machine orders everything.
//!
//! Without a scope, the manual has `.cta`. Libraries arrive so at mbarriers of other CTAs of the cluster and rely on the
//! order: here, no scope means `.cluster`.

use crate::form::Form;
use crate::function::{Builder, Lowered, Refusal, because};
use softwarp_ir::asynchronous::{AsyncOp, MbarrierOp};
use softwarp_ir::{NONE, Operands, Order, Scope, Semantics};
use softwarp_isa::Type;
use softwarp_isa::instruction::Modifier;
use softwarp_syntax::tree::{Operand, OperandKind, Range};

impl Builder<'_, '_> {
    pub(super) fn mbarrier(&mut self, form: &Form, operands: Range<Operand>) -> Lowered<()> {
        let has = |modifier| form.has(modifier);
        if has(Modifier::MulticastCluster32b) {
            return because("in several CTAs at once");
        }
        let mut places = self.places(operands);
        let mut next = || places.next().ok_or(Refusal::Form);
        let mut found = Operands::default();
        if has(Modifier::PendingCount) {
            let d = self.destination(next()?, Type::U32)?;
            found.reads = vec![self.source(next()?, Type::U64)?];
            found.writes = vec![d.slot];
            self.issue(AsyncOp::PendingCount, found)?;
            self.deliver(d);
            return Ok(());
        }
        let order = |semantics| Order::of(&form.shape.modifiers, Order { semantics, scope: Scope::Cluster });
        let op = if has(Modifier::Init) {
            MbarrierOp::Init { second_layout: has(Modifier::LayoutV1) }
        } else if has(Modifier::Inval) {
            MbarrierOp::Inval
        } else if has(Modifier::CheckLayout) {
            MbarrierOp::CheckLayout { second: has(Modifier::LayoutV1) }
        } else if has(Modifier::TestWait) || has(Modifier::TryWait) {
            MbarrierOp::Wait { parity: has(Modifier::Parity), order: order(Semantics::Acquire) }
        } else if has(Modifier::Arrive) || has(Modifier::ArriveDrop) {
            MbarrierOp::Arrive {
                drop: has(Modifier::ArriveDrop),
                expect: has(Modifier::ExpectTx),
                single: has(Modifier::NoComplete),
                order: order(Semantics::Release),
            }
        } else if has(Modifier::ExpectTx) {
            MbarrierOp::ExpectTx
        } else if has(Modifier::CompleteTx) {
            MbarrierOp::CompleteTx
        } else {
            return Err(Refusal::Form);
        };
        // Destinations.
        let mut delivered = None;
        match op {
            MbarrierOp::Arrive { .. } => {
                let d = next()?;
                found.writes.push(match self.operand(d).kind {
                    OperandKind::Sink => NONE,
                    _ => self.destination(d, Type::U64)?.slot,
                });
            }
            MbarrierOp::CheckLayout { .. } => {
                found.writes.push(self.destination(next()?, Type::Pred)?.slot);
            }
            MbarrierOp::Wait { .. } => {
                let d = next()?;
                match self.operand(d).kind {
                    OperandKind::Pair(parts) => {
                        for part in self.places(parts) {
                            found.writes.push(self.destination(part, Type::Pred)?.slot);
                        }
                    }
                    _ => found.writes.extend([self.destination(d, Type::Pred)?.slot, NONE]),
                }
            }
            _ => {}
        }
        let mut at = next()?;
        if !matches!(self.operand(at).kind, OperandKind::Address(_) | OperandKind::Unified(_)) {
            let report = self.destination(at, Type::B8)?;
            found.writes.push(report.slot);
            delivered = Some(report);
            at = next()?;
        }
        found.addresses.push(self.address(at, form.space())?);
        // Sources; how long to wait at most is a hint.
        match op {
            MbarrierOp::Wait { parity, .. } => {
                let ty = if parity { Type::U32 } else { Type::U64 };
                found.reads.push(self.source(next()?, ty)?);
            }
            _ => {
                for index in places {
                    found.reads.push(self.source(index, Type::U32)?);
                }
            }
        }
        self.issue(AsyncOp::Mbarrier(op), found)?;
        if let Some(report) = delivered {
            self.deliver(report);
        }
        Ok(())
    }
}
