//! The registers of an instruction that faults, with what they hold in the thread concerned.
//!
//! Registers have names in the text only. What is told here is which operand of the instruction a value belongs to, so
//! that who has the text can name it.
//!
//! Why the values are right: an operand of these operations is the row of the register that the text names, or one that
//! copy propagation found to hold the same. All accesses of a group of lanes are judged before any of its lanes is
//! written, so that a register which the instruction writes too still holds what was read. An address is told only if
//! it leads to what faulted.

use super::{Activation, Warp};
use crate::fault::{BadAccess, FaultKind, Held, HeldIn};
use softwarp_ir::{Access, Address, Atomic, Op, Slot, Step};
use softwarp_units::lanes::LANES;

impl Warp {
    /// The registers that an operation reads, in a lane, if it is a load, a store or an atomic operation.
    pub(super) fn held(&self, call: usize, op: &Op, kind: &FaultKind, lane: usize) -> Vec<Held> {
        let (Some(activation), FaultKind::Access(bad), true) = (self.calls.get(call), kind, lane < LANES)
        else {
            return Vec::new();
        };
        let Op::Other(_, step) = op else { return Vec::new() };
        let reader = Reader { activation, lane };
        match &**step {
            Step::Load(access) => reader.address(&access.address, bad).into_iter().collect(),
            Step::Store(access) => reader.store(access, bad),
            Step::Atomic(atomic) => reader.atomic(atomic, bad),
            _ => Vec::new(),
        }
    }
}

/// Reads registers of one thread.
struct Reader<'a> {
    activation: &'a Activation,
    lane: usize,
}

impl Reader<'_> {
    /// The low bits of a register.
    fn value(&self, slot: Slot, bits: u8) -> u64 {
        let frame = &self.activation.frame;
        let value = match slot.is_wide() {
            true => frame.row::<u64>(slot)[self.lane],
            false => frame.row::<u32>(slot)[self.lane].into(),
        };
        if bits < 64 { value & ((1 << bits) - 1) } else { value }
    }

    /// The register of an address, unless it does not lead to what faulted.
    fn address(&self, address: &Address, bad: &BadAccess) -> Option<Held> {
        let slot = address.base?;
        let bits = if slot.is_wide() { 64 } else { 32 };
        let value = self.value(slot, bits);
        let reached = value.wrapping_add_signed(address.offset);
        let reached = if bits == 32 { reached & u64::from(u32::MAX) } else { reached };
        let leads = reached == bad.generic.unwrap_or(bad.address);
        leads.then_some(Held { operand: HeldIn::Address, bits, value })
    }

    fn store(&self, access: &Access, bad: &BadAccess) -> Vec<Held> {
        let address = self.address(&access.address, bad);
        let data = access.registers.iter().enumerate().filter_map(|(index, element)| {
            let bits = Some(element.bits).filter(|bits| *bits <= 64)?;
            let value = self.value(element.slot?, bits);
            Some(Held { operand: HeldIn::Data(index as u32), bits, value })
        });
        address.into_iter().chain(data).collect()
    }

    fn atomic(&self, atomic: &Atomic, bad: &BadAccess) -> Vec<Held> {
        let address = self.address(&atomic.address, bad);
        let bits = atomic.ty.bits() as u8;
        let operands = atomic.b.iter().chain(std::iter::once(&atomic.c)).enumerate();
        let data = operands.filter_map(|(index, slot)| {
            let slot = slot.filter(|_| bits <= 64)?;
            Some(Held { operand: HeldIn::Data(index as u32), bits, value: self.value(slot, bits) })
        });
        address.into_iter().chain(data).collect()
    }
}
