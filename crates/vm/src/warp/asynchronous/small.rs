//! Copies, stores and reductions of at most 16 bytes a thread: `cp.async` (PTX ISA section 9.7.9.25.3.1), `st.async`
//! (9.7.9.12), `red.async` (9.7.13.7); and `st.bulk` (9.7.9.13).

use super::accesses::{CopyAccesses, source_bytes};
use super::refused;
use crate::fast::{At, places};
use crate::fault::Tried;
use crate::memory::Spaces;
use crate::memory::cell::Unit;
use crate::warp::atomic::{apply, combination};
use crate::warp::cost::copying;
use crate::warp::{Env, Warp};
use softwarp_ir::Memory;
use softwarp_ir::asynchronous::{Choice, CopyAsync, ReduceAsync, StoreAsync, ZeroBulk};
use softwarp_units::lanes::{ALL, Frame, LANES, lanes};

/// What `st.bulk` writes at a time.
static ZEROS: [u8; 1024] = [0; 1024];

impl Warp {
    /// `cp.async`
    pub(in crate::warp) fn copy_async(
        &mut self,
        env: &Env<'_>,
        call: usize,
        copy: &CopyAsync,
        taking: u32,
    ) -> Tried<()> {
        if copy_together(&env.spaces, &self.calls[call].frame, copy, taking) {
            return Ok(());
        }
        let CopyAccesses { from, to } = self.copy_accesses(env, call, copy, taking);
        // Nothing is written if one of the accesses is a fault.
        let spaces = &env.spaces;
        for lane in lanes(taking) {
            to.of(lane).cells(spaces)?;
            if from.bytes[lane] > 0 {
                from.of(lane).cells(spaces)?;
            }
        }
        for lane in lanes(taking) {
            let mut data = [0; 16];
            let (read, whole) = (from.bytes[lane] as usize, to.bytes[lane] as usize);
            if read > 0 {
                let (cells, at) = from.of(lane).cells(spaces)?;
                cells.read_first(at, read, &mut data[..whole]);
            }
            let (cells, at) = to.of(lane).cells(spaces)?;
            cells.write(at, &data[..whole]);
        }
        Ok(())
    }

    /// `st.async`
    pub(super) fn store_async(
        &mut self,
        env: &Env<'_>,
        call: usize,
        store: &StoreAsync,
        taking: u32,
    ) -> Tried<()> {
        let size = usize::from(store.bytes);
        let to = self.store_accesses(env, call, store, taking);
        let (spaces, frame) = (&env.spaces, &self.calls[call].frame);
        for lane in lanes(taking) {
            let access = to.of(lane);
            let (cells, at) = access.cells(spaces)?;
            // All elements in one piece.
            let mut data = [0; 16];
            for (element, &slot) in data.chunks_exact_mut(size).zip(&store.data) {
                let word = match size {
                    1 | 2 | 4 => u128::from(frame.row::<u32>(slot)[lane]),
                    8 => u128::from(frame.row::<u64>(slot)[lane]),
                    _ => u128::of_words([slot, slot.next()].map(|half| frame.row::<u64>(half)[lane])),
                };
                element.copy_from_slice(&word.to_le_bytes()[..size]);
            }
            cells.write(at, &data[..access.bytes as usize]);
            access.complete(spaces)?;
        }
        self.advanced = true;
        Ok(())
    }

    /// `red.async`
    pub(super) fn reduce_async(
        &mut self,
        env: &Env<'_>,
        call: usize,
        reduce: &ReduceAsync,
        taking: u32,
    ) -> Tried<()> {
        let to = self.reduce_accesses(env, call, reduce, taking);
        let (spaces, frame) = (&env.spaces, &self.calls[call].frame);
        let values: [u64; LANES] = match reduce.ty.bits() {
            64 => frame.row::<u64>(reduce.b),
            _ => frame.row::<u32>(reduce.b).map(u64::from),
        };
        let combine = combination(reduce.op, reduce.ty, false, false);
        for lane in lanes(taking) {
            let access = to.of(lane);
            let (cells, at) = access.cells(spaces)?;
            let f = |word| combine(word, values[lane], 0);
            match access.bytes {
                8 => apply::<u64>(cells, at as usize, env.launch.alone, f),
                _ => apply::<u32>(cells, at as usize, env.launch.alone, f),
            };
            access.complete(spaces)?;
        }
        self.advanced = true;
        Ok(())
    }

    /// `st.bulk`
    pub(super) fn store_zeros(
        &mut self,
        env: &mut Env<'_>,
        call: usize,
        zero: &ZeroBulk,
        taking: u32,
    ) -> Tried<()> {
        let to = self.zero_accesses(env, call, zero, taking);
        for lane in lanes(taking) {
            let bytes = to.bytes[lane];
            if !bytes.is_multiple_of(8) {
                return refused(
                    lane,
                    "copy-size",
                    format!("st.bulk writes multiples of 8 bytes, not {bytes}"),
                );
            }
            let (cells, at) = to.of(lane).cells(&env.spaces)?;
            env.meter.work_within(env.launch, copying(bytes))?;
            for start in (0..bytes).step_by(ZEROS.len()) {
                let count = ZEROS.len().min((bytes - start) as usize);
                cells.write(at + start, &ZEROS[..count]);
            }
        }
        Ok(())
    }
}

/// `cp.async` where each lane reads all bytes or none, from one piece of global memory, and writes to one of shared memory.
/// False where it is not so, or an access may be a fault: nothing has happened then.
fn copy_together(spaces: &Spaces<'_>, frame: &Frame, copy: &CopyAsync, taking: u32) -> bool {
    let bytes = u64::from(copy.bytes);
    let reading = match copy.choice {
        Choice::All => taking,
        Choice::Ignore(predicate) => taking & !predicate.lanes(frame, ALL),
        Choice::Size(slot) => {
            let read = frame.row::<u32>(slot).map(|size| source_bytes(size.into(), bytes));
            if lanes(taking).any(|lane| read[lane] != 0 && read[lane] != bytes) {
                return false;
            }
            lanes(taking).fold(0, |mask, lane| mask | u32::from(read[lane] != 0) << lane)
        }
    };
    if copy.to.memory != Memory::Shared || copy.from.memory != Memory::Global {
        return false;
    }
    let find = |address, taking| places(frame, address, bytes, At { spaces, taking, hint: &mut 0 });
    let Some((to, places_to)) = find(&copy.to, taking) else { return false };
    let from = if reading == 0 { Some((to, places_to)) } else { find(&copy.from, reading) };
    let Some((from, places_from)) = from else { return false };
    for lane in lanes(taking) {
        let (from_at, to_at) = (places_from[lane] as usize, places_to[lane] as usize);
        let is_read = reading >> lane & 1 == 1;
        match copy.bytes {
            4 => (if is_read { u32::load(from, from_at) } else { 0 }).store(to, to_at),
            8 => (if is_read { u64::load(from, from_at) } else { 0 }).store(to, to_at),
            _ => (if is_read { u128::load(from, from_at) } else { 0 }).store(to, to_at),
        }
    }
    true
}
