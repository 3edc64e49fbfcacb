//! Copies, stores and reductions of at most 16 bytes a thread: `cp.async` (PTX ISA section 9.7.9.25.3.1), `st.async`
//! (9.7.9.12), `red.async` (9.7.13.7); and `st.bulk` (9.7.9.13).

use super::accesses::CopyAccesses;
use super::refused;
use crate::fault::Tried;
use crate::memory::cell::Unit;
use crate::warp::atomic::{apply, combination};
use crate::warp::cost::copying;
use crate::warp::{Env, Warp};
use softwarp_ir::asynchronous::{CopyAsync, ReduceAsync, StoreAsync, ZeroBulk};
use softwarp_units::lanes::{LANES, lanes};

impl Warp {
    /// `cp.async`
    pub(in crate::warp) fn copy_async(
        &mut self,
        env: &Env<'_>,
        call: usize,
        copy: &CopyAsync,
        taking: u32,
    ) -> Tried<()> {
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
            if from.bytes[lane] > 0 {
                let (cells, at) = from.of(lane).cells(spaces)?;
                cells.read(at, &mut data[..from.bytes[lane] as usize]);
            }
            let (cells, at) = to.of(lane).cells(spaces)?;
            cells.write(at, &data[..to.bytes[lane] as usize]);
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
            for word in 0..bytes / 8 {
                0u64.store(cells, (at + 8 * word) as usize);
            }
        }
        Ok(())
    }
}
