//! `cp.async.bulk` and `cp.reduce.async.bulk` (PTX ISA sections 9.7.9.25.4.1 and 9.7.9.25.4.2).
//!
//! [`BulkAccesses`] is what a copy accesses, lane by lane. The executor performs it, and the observer reports it.

use super::accesses::{Accesses, LaneAccess};
use super::operand::{Destination, OperandAddress};
use super::refused;
use crate::fault::{FaultKind, Tried, Trouble, Use};
use crate::memory::Spaces;
use crate::memory::cell::{SharedBytes, Unit};
use crate::sanitize::Agent;
use crate::warp::cost::copying;
use crate::warp::multimem::several;
use crate::warp::{Env, Warp};
use softwarp_ir::asynchronous::Bulk;
use softwarp_ir::{Address, Memory, Order, Scope};
use softwarp_tensor::Element;
use softwarp_tensor::reduce::Operation;
use softwarp_units::lanes::{LANES, lanes};

/// Addresses and sizes are multiples of this.
const CHUNK: u64 = 16;

/// The accesses of a bulk copy.
pub(super) struct BulkAccesses {
    pub from: Accesses,
    /// The accesses to the destination that the instruction names.
    to: Accesses,
    /// The CTAs that the copy goes to, with `.multicast::cluster`.
    ctas: Option<[u32; LANES]>,
    /// Whether the destination is a multimem address.
    multimem: bool,
}

impl BulkAccesses {
    /// The destinations of a lane: one, the same in some CTAs of the cluster, or all that a multimem address stands for.
    pub fn targets(&self, spaces: &Spaces<'_>, lane: usize) -> Tried<Vec<LaneAccess>> {
        let to = self.to.of(lane);
        if self.multimem {
            let place = (to.at.memory, to.at.address);
            let found = several(spaces, place, (to.bytes, to.alignment), to.usage);
            let found = found.map_err(|bad| Trouble::new(lane, FaultKind::Access(bad)))?;
            let target = |at| LaneAccess { at: OperandAddress::of(spaces, Memory::Global, at), ..to };
            return Ok(found.into_iter().map(target).collect());
        }
        Ok(match &self.ctas {
            Some(ctas) => {
                let targets = Destination { at: to.at, mbarrier: to.mbarrier }.multicast(ctas[lane]);
                targets.into_iter().map(|target| to.to(target)).collect()
            }
            None => vec![to],
        })
    }
}

impl Warp {
    /// The accesses of a bulk copy, from its operands.
    pub(super) fn bulk_accesses(&self, env: &Env<'_>, call: usize, bulk: &Bulk, taking: u32) -> BulkAccesses {
        let operands = |operand: &Address| self.operands(env, call, operand, taking);
        let bytes = self.calls[call].frame.row::<u32>(bulk.size).map(u64::from);
        let (usage, order) = match bulk.reduction {
            Some(_) => (Use::Atomic, Order::relaxed(Scope::Gpu)),
            None => (Use::Write, Order::WEAK),
        };
        let from = Accesses {
            at: operands(&bulk.from),
            bytes,
            alignment: CHUNK,
            usage: Use::Read,
            order: Order::WEAK,
            agent: Agent::Source,
            mbarriers: None,
        };
        let to = Accesses {
            at: operands(&bulk.to),
            usage,
            order,
            agent: if bulk.mbarrier.is_some() { Agent::Counted } else { Agent::Target },
            mbarriers: bulk.mbarrier.as_ref().map(operands),
            ..from
        };
        BulkAccesses { from, to, ctas: self.narrow(call, bulk.multicast), multimem: bulk.multimem }
    }

    /// `cp.async.bulk`, `cp.reduce.async.bulk`
    pub(super) fn bulk(&mut self, env: &mut Env<'_>, call: usize, bulk: &Bulk, taking: u32) -> Tried<()> {
        let accesses = self.bulk_accesses(env, call, bulk, taking);
        let [left, right] = match bulk.ignore {
            Some(ignored) => ignored.map(|slot| self.calls[call].frame.row::<u32>(slot)),
            None => [[0; LANES]; 2],
        };
        let masks = self.narrow(call, bulk.mask);
        let Env { launch, spaces, meter, .. } = env;
        let mut data = std::mem::take(&mut self.tensors.scratch);
        for lane in lanes(taking) {
            let from = accesses.from.of(lane);
            let bytes = from.bytes;
            if !bytes.is_multiple_of(CHUNK) {
                return refused(
                    lane,
                    "copy-size",
                    format!("bulk copies are of multiples of 16 bytes, not {bytes}"),
                );
            }
            let mut targets = accesses.targets(spaces, lane)?;
            for to in &mut targets {
                // A fault of a reduction is reported as that of a write.
                to.usage = Use::Write;
                to.cells(spaces)?;
            }
            // The source is checked first, so that a size larger than all memory allocates nothing.
            if bulk.ignore.is_none() {
                from.cells(spaces)?;
            }
            let each = if bulk.reduction.is_some() || bulk.mask.is_some() { 16 } else { 1 };
            meter.work_within(launch, copying(bytes))?;
            data.clear();
            if data.try_reserve(bytes as usize).is_err() {
                return Err(Trouble::new(lane, launch.no_memory("a bulk copy", bytes)));
            }
            data.resize(bytes as usize, 0);
            read_but(spaces, &from, &mut data, (u64::from(left[lane]), u64::from(right[lane])))?;
            for to in targets {
                meter.work_within(launch, copying(each * bytes))?;
                let (cells, at) = to.cells(spaces)?;
                match (bulk.reduction, &masks) {
                    (Some((operation, element)), _) => reduce(cells, at, operation, element, &data),
                    (None, Some(masks)) => write_masked(cells, at, &data, masks[lane]),
                    (None, None) => cells.write(at, &data),
                }
                to.complete(spaces)?;
            }
        }
        self.tensors.scratch = data;
        self.advanced = true;
        Ok(())
    }
}

/// Reads; bytes at either end that may be outside of all memory are zeros if the whole is not inside.
fn read_but(spaces: &Spaces<'_>, from: &LaneAccess, data: &mut [u8], (left, right): (u64, u64)) -> Tried<()> {
    if left + right > 0
        && left + right <= from.bytes
        && from.cells(spaces).is_err()
        && from.at.address.is_multiple_of(CHUNK)
    {
        let bytes = from.bytes - left - right;
        let inner = LaneAccess { at: from.at.after(left), bytes, alignment: 1, ..*from };
        let (cells, at) = inner.cells(spaces)?;
        cells.read(at, &mut data[left as usize..(left + bytes) as usize]);
        return Ok(());
    }
    let (cells, at) = from.cells(spaces)?;
    cells.read(at, data);
    Ok(())
}

/// Writes those bytes of each 16 that a mask names, in one piece.
fn write_masked(cells: &SharedBytes, at: u64, data: &[u8], mask: u32) {
    let named =
        (0..16).filter(|byte| mask >> byte & 1 == 1).fold(0u128, |all, byte| all | 0xff << (8 * byte));
    for (index, &piece) in data.as_chunks().0.iter().enumerate() {
        let new = u128::from_le_bytes(piece) & named;
        u128::update(cells, at as usize + 16 * index, |old| old & !named | new);
    }
}

/// Reduces whole words into memory, each in one step, since other CTAs may do so at the same time.
pub(super) fn reduce(cells: &SharedBytes, at: u64, operation: Operation, element: Element, data: &[u8]) {
    // Only a tensor map that was changed by hand leads to such an address.
    if !at.is_multiple_of(8) {
        let mut there = vec![0; data.len()];
        cells.read(at, &mut there);
        operation.apply(element, &mut there, data);
        return cells.write(at, &there);
    }
    for (index, new) in data.chunks_exact(8).enumerate() {
        u64::update(cells, at as usize + 8 * index, |old| {
            let mut word = old.to_le_bytes();
            operation.apply(element, &mut word, new);
            u64::from_le_bytes(word)
        });
    }
}
