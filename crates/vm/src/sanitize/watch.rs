//! Which instruction wrote a byte of global memory last: for a finding that has the byte and not the instruction.

use super::touch::{Actor, Touch, Touches};
use crate::fault::Use;
use crate::memory::global::lock;
use softwarp_ir::Memory;
use softwarp_units::lanes::{LANES, lanes};
use std::sync::Mutex;

/// Watches a byte.
#[derive(Debug)]
pub(crate) struct Watch {
    /// The addresses that it has.
    addresses: Vec<u64>,
    last: Mutex<Option<Write>>,
}

/// A write: the number of the operation, `%ctaid`, the thread in its CTA, and the lanes that executed it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Write {
    pub(crate) op: u32,
    pub(crate) cta: [u32; 3],
    pub(crate) thread: u32,
    pub(crate) lanes: u32,
}

impl Watch {
    /// Watches the byte that has these addresses.
    pub(crate) fn new(addresses: Vec<u64>) -> Watch {
        Watch { addresses, last: Mutex::default() }
    }

    /// The last write so far.
    pub(crate) fn last(&self) -> Option<Write> {
        *lock(&self.last)
    }

    fn covers(&self, start: u64, bytes: u64) -> bool {
        self.addresses.iter().any(|address| address.wrapping_sub(start) < bytes)
    }

    fn note(&self, op: u32, actor: &Actor, lane: usize) {
        let thread = actor.warp * LANES as u32 + lane as u32;
        *lock(&self.last) = Some(Write { op, cta: actor.cta, thread, lanes: actor.lanes });
    }

    /// Lanes access memory.
    pub(super) fn touches(&self, op: u32, actor: &Actor, touches: &Touches<'_>) {
        if touches.usage == Use::Read || touches.space != Memory::Global {
            return;
        }
        for lane in lanes(touches.lanes) {
            if self.covers(touches.addresses[lane], touches.bytes) {
                self.note(op, actor, lane);
            }
        }
    }

    /// A lane, or an agent for it, accesses memory.
    pub(super) fn touch(&self, op: u32, actor: &Actor, touch: &Touch<'_>) {
        let writes = touch.usage != Use::Read && touch.at.space == Memory::Global;
        if writes && self.covers(touch.at.address, touch.bytes) {
            self.note(op, actor, touch.lane);
        }
    }
}
