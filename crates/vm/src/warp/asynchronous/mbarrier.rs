//! What operations do to mbarriers (PTX ISA section 9.7.13.15); [`softwarp_units::mbarrier`] has the word.
//!
//! Lanes that arrive together at the same mbarrier do so at once, as on the hardware: all get the state before.

use super::{OperandAddress, alike};
use crate::fault::{AwaitedMbarrier, FaultKind, Tried, Trouble, Use};
use crate::memory::Spaces;
use crate::memory::cell::{SharedBytes, Unit};
use crate::warp::{Env, Warp};
use softwarp_ir::asynchronous::{
    CopyArrive, MbarrierArrive, MbarrierCheckLayout, MbarrierInit, MbarrierInval, MbarrierTx, MbarrierWait,
};
use softwarp_ir::{Address, Order, Slot};
use softwarp_units::lanes::{LANES, lanes};
use softwarp_units::mbarrier::{Mbarrier, Misuse};

/// An mbarrier in shared memory. The executor and the observer both find it by [`Object::find`].
#[derive(Clone, Copy)]
pub(super) struct Object<'a> {
    cells: &'a SharedBytes,
    at: usize,
    place: OperandAddress,
    lane: usize,
}

impl<'a> Object<'a> {
    /// The mbarrier at an operand; a fault if none can be there.
    pub(super) fn find(spaces: &Spaces<'a>, place: OperandAddress, lane: usize) -> Tried<Object<'a>> {
        let (cells, at) = place.need(spaces, lane, (8, 8), Use::Atomic)?;
        if !place.memory.is_shared() {
            let nearest = spaces.nearest(place.memory, place.address);
            let problem = crate::fault::Problem::WrongSpace;
            let bad = spaces.bad(problem, Use::Atomic, place.memory, place.address, 8, nearest);
            return Err(Trouble::new(lane, FaultKind::Access(bad)));
        }
        Ok(Object { cells, at: at as usize, place, lane })
    }

    pub(super) fn load(self) -> Mbarrier {
        Mbarrier(u64::load(self.cells, self.at))
    }

    fn store(self, spaces: &Spaces<'_>, after: Result<Mbarrier, Misuse>) -> Tried<()> {
        match after {
            Ok(after) => after.0.store(self.cells, self.at),
            Err(misuse) => {
                let OperandAddress { memory, address, .. } = self.place;
                let nearest = spaces.nearest(memory, address);
                return Err(Trouble::new(self.lane, FaultKind::Mbarrier { address, nearest, misuse }));
            }
        }
        Ok(())
    }
}

/// One arrival.
pub(crate) fn arrive(spaces: &Spaces<'_>, place: OperandAddress, lane: usize) -> Tried<()> {
    let object = Object::find(spaces, place, lane)?;
    object.store(spaces, object.load().check().and_then(|before| before.arrive(1, false)))
}

/// `complete_tx`: a number of bytes have been transferred.
pub(crate) fn complete_tx(spaces: &Spaces<'_>, place: OperandAddress, bytes: u32, lane: usize) -> Tried<()> {
    let object = Object::find(spaces, place, lane)?;
    // A copy may be larger than one operation can name.
    let mut barrier = object.load();
    let mut rest = bytes;
    loop {
        let part = rest.min(softwarp_units::mbarrier::MOST);
        match barrier.complete(part) {
            Ok(after) => barrier = after,
            misuse => return object.store(spaces, misuse),
        }
        rest -= part;
        if rest == 0 {
            return object.store(spaces, Ok(barrier));
        }
    }
}

/// Visits the mbarriers of the lanes that take part, each with the lanes that are there. `f` returns those of them
/// that are done; the others are visited again.
fn at_each<'a>(
    spaces: &Spaces<'a>,
    places: &[OperandAddress; LANES],
    taking: u32,
    mut f: impl FnMut(Object<'a>, u32) -> Tried<u32>,
) -> Tried<()> {
    let mut rest = taking;
    while rest != 0 {
        let same = alike(places, rest);
        let lane = same.trailing_zeros() as usize;
        let object = Object::find(spaces, places[lane], lane)?;
        rest &= !f(object, same)?;
    }
    Ok(())
}

impl Warp {
    /// The lanes that need not wait: the phase that they ask for is complete.
    pub(super) fn over(&self, env: &Env<'_>, call: usize, wait: &MbarrierWait, taking: u32) -> Tried<u32> {
        let places = self.operands(env, call, &wait.mbarrier, taking);
        let frame = &self.calls[call].frame;
        let awaited: [u32; LANES] = match wait.parity {
            true => frame.row::<u32>(wait.phase).map(|parity| parity & 1),
            false => frame.row::<u64>(wait.phase).map(|state| Mbarrier(state).parity()),
        };
        let mut over = 0;
        at_each(&env.spaces, &places, taking, |object, same| {
            let barrier = object.load();
            let passed = lanes(same).filter(|&lane| awaited[lane] != barrier.parity());
            over |= passed.fold(0, |mask, lane| mask | 1 << lane);
            Ok(same)
        })?;
        Ok(over)
    }

    /// `test_wait`, `try_wait`: whether all lanes need wait no longer.
    pub(super) fn wait(
        &mut self,
        env: &Env<'_>,
        call: usize,
        wait: &MbarrierWait,
        taking: u32,
    ) -> Tried<bool> {
        let over = self.over(env, call, wait, taking)?;
        let frame = &mut self.calls[call].frame;
        // Where both are one predicate, the first remains in it.
        if let Some(second) = wait.second {
            frame.set_predicate(second, 0, taking);
        }
        frame.set_predicate(wait.d, over, taking);
        if let Some(report) = wait.report {
            frame.set_row(report, [0u32; LANES], taking);
        }
        (self.advanced, self.acted) = (self.advanced | (over == taking), self.acted | (over == taking));
        Ok(over == taking)
    }

    /// The mbarrier of a wait that failed.
    pub(super) fn awaited(
        &self,
        env: &Env<'_>,
        call: usize,
        wait: &MbarrierWait,
        mask: u32,
    ) -> Option<AwaitedMbarrier> {
        let places = self.operands(env, call, &wait.mbarrier, mask);
        let lane = lanes(mask).next()?;
        let barrier = Object::find(&env.spaces, places[lane], lane).ok()?.load();
        let OperandAddress { memory, address, .. } = places[lane];
        Some(AwaitedMbarrier {
            address,
            nearest: env.spaces.nearest(memory, address),
            initialised: barrier.check().is_ok(),
            parity: barrier.parity(),
            pending: barrier.pending(),
            expected: barrier.expected(),
            bytes: barrier.awaited(),
        })
    }

    /// `init`
    pub(super) fn mbarrier_init(
        &mut self,
        env: &Env<'_>,
        call: usize,
        init: &MbarrierInit,
        taking: u32,
    ) -> Tried<()> {
        let counts: [u32; LANES] = self.calls[call].frame.row(init.count);
        self.update(env, call, (&init.mbarrier, None), taking, |_, lane| {
            Mbarrier::new(counts[lane], init.second_layout)
        })
    }

    /// `inval`
    pub(super) fn mbarrier_inval(
        &mut self,
        env: &Env<'_>,
        call: usize,
        inval: &MbarrierInval,
        taking: u32,
    ) -> Tried<()> {
        self.update(env, call, (&inval.mbarrier, None), taking, |before, _| Ok(before.invalidated()))
    }

    /// `expect_tx`, `complete_tx`
    pub(super) fn mbarrier_tx(
        &mut self,
        env: &Env<'_>,
        call: usize,
        tx: &MbarrierTx,
        taking: u32,
    ) -> Tried<()> {
        let bytes: [u32; LANES] = self.calls[call].frame.row(tx.bytes);
        self.update(env, call, (&tx.mbarrier, tx.multicast), taking, |before, lane| match tx.complete {
            true => before.complete(bytes[lane]),
            false => before.expect(bytes[lane]),
        })
    }

    /// Replaces mbarriers, one lane after the other.
    fn update(
        &mut self,
        env: &Env<'_>,
        call: usize,
        (mbarrier, multicast): (&Address, Option<Slot>),
        taking: u32,
        after: impl Fn(Mbarrier, usize) -> Result<Mbarrier, Misuse>,
    ) -> Tried<()> {
        let spaces = &env.spaces;
        self.advanced = true;
        for (places, taking) in self.mbarriers(env, call, (mbarrier, multicast), taking) {
            at_each(spaces, &places, taking, |object, same| {
                for lane in lanes(same) {
                    Object { lane, ..object }.store(spaces, after(object.load(), lane))?;
                }
                Ok(same)
            })?;
        }
        Ok(())
    }

    /// The mbarriers that lanes name, and the lanes; with a mask of CTAs, those at the same offset in each of them.
    pub(super) fn mbarriers(
        &self,
        env: &Env<'_>,
        call: usize,
        (mbarrier, multicast): (&Address, Option<Slot>),
        taking: u32,
    ) -> Vec<([OperandAddress; LANES], u32)> {
        let places = self.operands(env, call, mbarrier, taking);
        let Some(masks) = self.narrow(call, multicast) else { return vec![(places, taking)] };
        let named = lanes(taking).fold(0, |all, lane| all | masks[lane]);
        let of_cta = |rank: usize| {
            let there = lanes(taking).filter(|&lane| masks[lane] >> rank & 1 == 1);
            (places.map(|place| place.in_cta(rank as u64)), there.fold(0, |all, lane| all | 1 << lane))
        };
        lanes(named).map(of_cta).collect()
    }

    /// `arrive`, `arrive_drop`
    pub(super) fn mbarrier_arrive(
        &mut self,
        env: &Env<'_>,
        call: usize,
        arrive: &MbarrierArrive,
        taking: u32,
    ) -> Tried<()> {
        let spaces = &env.spaces;
        let amounts = self.narrow(call, arrive.count).unwrap_or([1; LANES]);
        let mut states = [0; LANES];
        self.advanced = true;
        let mut at_one = |object: Object<'_>, same: u32| {
            if arrive.single {
                // Those with the same count one after the other, then those with another.
                let same = same & alike(&amounts, same);
                for lane in lanes(same) {
                    let before = object.load();
                    states[lane] = before.token();
                    Object { lane, ..object }.store(spaces, before.arrive(amounts[lane], arrive.drop))?;
                }
                return Ok(same);
            }
            let before = object.load();
            let total = lanes(same).fold(0u32, |sum, lane| sum.saturating_add(amounts[lane]));
            let (arrivals, bytes) = if arrive.expect { (same.count_ones(), total) } else { (total, 0) };
            let expecting = before.check().and_then(|before| before.expect(bytes));
            object.store(spaces, expecting.and_then(|expecting| expecting.arrive(arrivals, arrive.drop)))?;
            lanes(same).for_each(|lane| states[lane] = before.token());
            Ok(same)
        };
        for (places, taking) in self.mbarriers(env, call, (&arrive.mbarrier, arrive.multicast), taking) {
            at_each(spaces, &places, taking, &mut at_one)?;
        }
        if let Some(d) = arrive.d {
            self.calls[call].frame.set_row::<u64>(d, states, taking);
        }
        Ok(())
    }

    /// `check_layout`
    pub(super) fn mbarrier_check_layout(
        &mut self,
        env: &Env<'_>,
        call: usize,
        check: &MbarrierCheckLayout,
        taking: u32,
    ) -> Tried<()> {
        let places = self.operands(env, call, &check.mbarrier, taking);
        let mut holds = 0;
        self.advanced = true;
        at_each(&env.spaces, &places, taking, |object, same| {
            if object.load().has_second_layout() == check.second_layout {
                holds |= same;
            }
            Ok(same)
        })?;
        self.calls[call].frame.set_predicate(check.d, holds, taking);
        Ok(())
    }

    /// `cp.async.mbarrier.arrive`: the copies are done, so the arrival follows at once. Without `.noinc` it was added
    /// to what is pending just before, and changes nothing.
    pub(super) fn copy_arrive(
        &mut self,
        env: &Env<'_>,
        call: usize,
        arrive: &CopyArrive,
        taking: u32,
    ) -> Tried<()> {
        if arrive.noinc {
            let arrive = MbarrierArrive {
                d: None,
                mbarrier: arrive.mbarrier,
                count: None,
                multicast: None,
                drop: false,
                expect: false,
                single: false,
                order: Order::WEAK,
            };
            return self.mbarrier_arrive(env, call, &arrive, taking);
        }
        let places = self.operands(env, call, &arrive.mbarrier, taking);
        for lane in lanes(taking) {
            let object = Object::find(&env.spaces, places[lane], lane)?;
            object.store(&env.spaces, object.load().check())?;
        }
        Ok(())
    }
}
