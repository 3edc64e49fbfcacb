//! Copies, stores and reductions of at most 16 bytes a thread: `cp.async` (PTX ISA section 9.7.9.25.3.1), `st.async`
//! (9.7.9.12), `red.async` (9.7.13.7); and `st.bulk` (9.7.9.13).

use super::{complete_tx, refused};
use crate::fault::{Tried, Use};
use crate::memory::cell::Unit;
use crate::warp::atomic::{apply, combination};
use crate::warp::cost::copying;
use crate::warp::{Env, Warp};
use softwarp_ir::asynchronous::{Choice, CopyAsync, ReduceAsync, StoreAsync, ZeroBulk};
use softwarp_units::lanes::{ALL, LANES, lanes};

impl Warp {
    /// How many bytes `cp.async` reads, lane by lane.
    pub(super) fn amounts(&self, call: usize, copy: &CopyAsync) -> [u64; LANES] {
        let whole = u64::from(copy.bytes);
        let frame = &self.calls[call].frame;
        match copy.choice {
            Choice::All => [whole; LANES],
            Choice::Size(slot) => frame.row::<u32>(slot).map(|size| sized(size.into(), whole)),
            Choice::Ignore(predicate) => {
                let ignored = predicate.lanes(frame, ALL);
                std::array::from_fn(|lane| if ignored >> lane & 1 == 1 { 0 } else { whole })
            }
        }
    }

    /// `cp.async`
    pub(super) fn copy_async(
        &mut self,
        env: &Env<'_>,
        call: usize,
        copy: &CopyAsync,
        taking: u32,
    ) -> Tried<()> {
        let whole = u64::from(copy.bytes);
        let to = self.places(env, call, &copy.to, taking);
        let from = self.places(env, call, &copy.from, taking);
        let amounts = self.amounts(call, copy);
        // Nothing is written if one of them must not.
        let spaces = &env.spaces;
        for lane in lanes(taking) {
            to[lane].need(spaces, lane, (whole, whole), Use::Write)?;
            if amounts[lane] > 0 {
                from[lane].need(spaces, lane, (amounts[lane], whole), Use::Read)?;
            }
        }
        for lane in lanes(taking) {
            let mut data = [0; 16];
            if amounts[lane] > 0 {
                let (cells, at) = from[lane].need(spaces, lane, (amounts[lane], whole), Use::Read)?;
                cells.read(at, &mut data[..amounts[lane] as usize]);
            }
            let (cells, at) = to[lane].need(spaces, lane, (whole, whole), Use::Write)?;
            cells.write(at, &data[..whole as usize]);
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
        let whole = (size * store.data.len()) as u64;
        let to = self.places(env, call, &store.to, taking);
        let barriers = self.places_if_any(env, call, store.mbarrier.as_ref(), taking);
        let (spaces, frame) = (&env.spaces, &self.calls[call].frame);
        for lane in lanes(taking) {
            let (cells, at) = to[lane].need(spaces, lane, (whole, whole), Use::Write)?;
            let mut at = at as usize;
            for &slot in &store.data {
                match size {
                    1 => (frame.row::<u32>(slot)[lane] as u8).store(cells, at),
                    2 => (frame.row::<u32>(slot)[lane] as u16).store(cells, at),
                    4 => frame.row::<u32>(slot)[lane].store(cells, at),
                    8 => frame.row::<u64>(slot)[lane].store(cells, at),
                    _ => {
                        frame.row::<u64>(slot)[lane].store(cells, at);
                        frame.row::<u64>(slot.next())[lane].store(cells, at + 8);
                    }
                }
                at += size;
            }
            if store.mbarrier.is_some() {
                complete_tx(spaces, barriers[lane], whole as u32, lane)?;
            }
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
        let size = u64::from(reduce.ty.bits() / 8);
        let to = self.places(env, call, &reduce.to, taking);
        let barriers = self.places_if_any(env, call, reduce.mbarrier.as_ref(), taking);
        let (spaces, frame) = (&env.spaces, &self.calls[call].frame);
        let values: [u64; LANES] =
            if size == 8 { frame.row::<u64>(reduce.b) } else { frame.row::<u32>(reduce.b).map(u64::from) };
        let combine = combination(reduce.op, reduce.ty, false, false);
        for lane in lanes(taking) {
            let (cells, at) = to[lane].need(spaces, lane, (size, size), Use::Atomic)?;
            let f = |word| combine(word, values[lane], 0);
            match size {
                8 => apply::<u64>(cells, at as usize, env.launch.alone, f),
                _ => apply::<u32>(cells, at as usize, env.launch.alone, f),
            };
            if reduce.mbarrier.is_some() {
                complete_tx(spaces, barriers[lane], size as u32, lane)?;
            }
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
        let sizes = self.calls[call].frame.row::<u64>(zero.size);
        let to = self.places(env, call, &zero.to, taking);
        for lane in lanes(taking) {
            let bytes = sizes[lane];
            if !bytes.is_multiple_of(8) {
                return refused(
                    lane,
                    "copy-size",
                    format!("st.bulk writes multiples of 8 bytes, not {bytes}"),
                );
            }
            let (cells, at) = to[lane].need(&env.spaces, lane, (bytes, 8), Use::Write)?;
            env.watch.work_within(env.launch, copying(bytes))?;
            for word in 0..bytes / 8 {
                0u64.store(cells, (at + 8 * word) as usize);
            }
        }
        Ok(())
    }
}

/// How much is read: what is more than can be copied begins anew, as recorded.
fn sized(size: u64, whole: u64) -> u64 {
    size.checked_sub(1).map_or(0, |less| less % whole + 1)
}
