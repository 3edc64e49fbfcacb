//! `cp.async.bulk` and `cp.reduce.async.bulk` (PTX ISA sections 9.7.9.25.4.1 and 9.7.9.25.4.2).

use super::place::each;
use super::{Place, complete_tx, refused};
use crate::fault::{FaultKind, Tried, Trouble, Use};
use crate::memory::Spaces;
use crate::memory::cell::{SharedBytes, Unit};
use crate::warp::cost::copying;
use crate::warp::multimem::several;
use crate::warp::{Env, Warp};
use softwarp_ir::Memory;
use softwarp_ir::asynchronous::Bulk;
use softwarp_tensor::Element;
use softwarp_tensor::reduce::Operation;
use softwarp_units::lanes::{LANES, lanes};

/// Addresses and sizes are multiples of this.
const CHUNK: u64 = 16;

/// The operands of a copy that both the machine and the sanitizers look at, lane by lane.
pub(super) struct BulkOperands {
    to: [Place; LANES],
    pub from: [Place; LANES],
    mbarriers: [Place; LANES],
    pub sizes: [u32; LANES],
    /// The CTAs that it goes to, with `.multicast::cluster`.
    ctas: Option<[u32; LANES]>,
}

impl BulkOperands {
    /// Where a copy goes, with the mbarrier there: to one place, to the same in some CTAs of the cluster, or to all
    /// that a multimem address stands for.
    pub fn targets(&self, spaces: &Spaces<'_>, bulk: &Bulk, lane: usize) -> Tried<Vec<(Place, Place)>> {
        let (to, mbarrier) = (self.to[lane], self.mbarriers[lane]);
        if bulk.multimem {
            let usage = if bulk.reduction.is_some() { Use::Atomic } else { Use::Write };
            let whole = (u64::from(self.sizes[lane]), CHUNK);
            let found = several(spaces, (to.memory, to.address), whole, usage);
            let found = found.map_err(|bad| Trouble::new(lane, FaultKind::Access(bad)))?;
            let target = |at| (Place::of(spaces, Memory::Global, at), mbarrier);
            return Ok(found.into_iter().map(target).collect());
        }
        Ok(match &self.ctas {
            Some(ctas) => each(to, mbarrier, ctas[lane]),
            None => vec![(to, mbarrier)],
        })
    }
}

impl Warp {
    /// The operands of a copy.
    pub(super) fn bulk_operands(&self, env: &Env<'_>, call: usize, bulk: &Bulk, taking: u32) -> BulkOperands {
        BulkOperands {
            to: self.places(env, call, &bulk.to, taking),
            from: self.places(env, call, &bulk.from, taking),
            mbarriers: self.places_if_any(env, call, bulk.mbarrier.as_ref(), taking),
            sizes: self.calls[call].frame.row(bulk.size),
            ctas: self.narrow(call, bulk.multicast),
        }
    }

    pub(super) fn bulk(&mut self, env: &mut Env<'_>, call: usize, bulk: &Bulk, taking: u32) -> Tried<()> {
        let operands = self.bulk_operands(env, call, bulk, taking);
        let (from, sizes) = (&operands.from, &operands.sizes);
        let [left, right] = match bulk.ignore {
            Some(ignored) => ignored.map(|slot| self.calls[call].frame.row::<u32>(slot)),
            None => [[0; LANES]; 2],
        };
        let masks = self.narrow(call, bulk.mask);
        let Env { launch, spaces, watch, .. } = env;
        let mut data = std::mem::take(&mut self.tensors.scratch);
        for lane in lanes(taking) {
            let bytes = u64::from(sizes[lane]);
            if !bytes.is_multiple_of(CHUNK) {
                return refused(
                    lane,
                    "copy-size",
                    format!("bulk copies are of multiples of 16 bytes, not {bytes}"),
                );
            }
            let targets = operands.targets(spaces, bulk, lane)?;
            for (to, _) in &targets {
                to.need(spaces, lane, (bytes, CHUNK), Use::Write)?;
            }
            // A size that no memory has takes no room of the host.
            if bulk.ignore.is_none() {
                from[lane].need(spaces, lane, (bytes, CHUNK), Use::Read)?;
            }
            let each = if bulk.reduction.is_some() || bulk.mask.is_some() { 16 } else { 1 };
            watch.work_within(launch, copying(bytes))?;
            data.clear();
            if data.try_reserve(bytes as usize).is_err() {
                return Err(Trouble::new(lane, launch.no_memory("a bulk copy", bytes)));
            }
            data.resize(bytes as usize, 0);
            let ignored = (u64::from(left[lane]), u64::from(right[lane]));
            read_but(spaces, from[lane], &mut data, ignored, lane)?;
            for (to, barrier) in targets {
                watch.work_within(launch, copying(each * bytes))?;
                let (cells, at) = to.need(spaces, lane, (bytes, CHUNK), Use::Write)?;
                match (bulk.reduction, &masks) {
                    (Some((operation, element)), _) => reduce(cells, at, operation, element, &data),
                    (None, Some(masks)) => write_masked(cells, at, &data, masks[lane]),
                    (None, None) => cells.write(at, &data),
                }
                if bulk.mbarrier.is_some() {
                    complete_tx(spaces, barrier, sizes[lane], lane)?;
                }
            }
        }
        self.tensors.scratch = data;
        self.advanced = true;
        Ok(())
    }
}

/// Reads; bytes at either end that may be outside of all memory are zeros if the whole is not inside.
fn read_but(
    spaces: &Spaces<'_>,
    from: Place,
    data: &mut [u8],
    (left, right): (u64, u64),
    lane: usize,
) -> Tried<()> {
    let bytes = data.len() as u64;
    if left + right > 0
        && left + right <= bytes
        && from.span(spaces, bytes, CHUNK, Use::Read).is_err()
        && from.address.is_multiple_of(CHUNK)
    {
        let inner = bytes - left - right;
        let (cells, at) = from.after(left).need(spaces, lane, (inner, 1), Use::Read)?;
        cells.read(at, &mut data[left as usize..(left + inner) as usize]);
        return Ok(());
    }
    let (cells, at) = from.need(spaces, lane, (bytes, CHUNK), Use::Read)?;
    cells.read(at, data);
    Ok(())
}

/// Writes those bytes of each 16 that a mask names.
fn write_masked(cells: &SharedBytes, at: u64, data: &[u8], mask: u32) {
    for (index, byte) in data.iter().enumerate() {
        if mask >> (index % CHUNK as usize) & 1 == 1 {
            byte.store(cells, at as usize + index);
        }
    }
}

/// Reduces whole words into memory, each in one step, since other CTAs may do so at the same time.
pub(super) fn reduce(cells: &SharedBytes, at: u64, operation: Operation, element: Element, data: &[u8]) {
    // Nothing that passes the rules is elsewhere, but for maps that were changed by hand.
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
