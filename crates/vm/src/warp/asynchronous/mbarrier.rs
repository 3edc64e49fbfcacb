//! What operations do to mbarriers (PTX ISA section 9.7.13.15); [`softwarp_units::mbarrier`] has the word.
//!
//! Lanes that arrive together at the same mbarrier do so at once, as on the hardware: all get the state before.

use super::{Place, alike};
use crate::fault::{AwaitedMbarrier, FaultKind, Tried, Trouble, Use};
use crate::memory::Spaces;
use crate::memory::cell::{Cells, Unit};
use crate::warp::{Env, Warp};
use softwarp_ir::asynchronous::MbarrierOp;
use softwarp_ir::{NONE, Operands, Order};
use softwarp_units::lanes::{LANES, lanes};
use softwarp_units::mbarrier::{Mbarrier, Misuse};

/// An mbarrier's place in memory.
#[derive(Clone, Copy)]
struct Object<'a> {
    cells: &'a Cells,
    at: usize,
    place: Place,
    lane: usize,
}

impl<'a> Object<'a> {
    fn find(spaces: &Spaces<'a>, place: Place, lane: usize) -> Tried<Object<'a>> {
        let (cells, at) = place.need(spaces, lane, (8, 8), Use::Atomic)?;
        if !place.memory.is_shared() {
            let nearest = spaces.nearest(place.memory, place.address);
            let problem = crate::fault::Problem::WrongSpace;
            let bad = spaces.bad(problem, Use::Atomic, place.memory, place.address, 8, nearest);
            return Err(Trouble::new(lane, FaultKind::Access(bad)));
        }
        Ok(Object { cells, at: at as usize, place, lane })
    }

    fn load(self) -> Mbarrier {
        Mbarrier(u64::load(self.cells, self.at))
    }

    fn store(self, spaces: &Spaces<'_>, after: Result<Mbarrier, Misuse>) -> Tried<()> {
        match after {
            Ok(after) => after.0.store(self.cells, self.at),
            Err(misuse) => {
                let Place { memory, address, .. } = self.place;
                let nearest = spaces.nearest(memory, address);
                return Err(Trouble::new(self.lane, FaultKind::Mbarrier { address, nearest, misuse }));
            }
        }
        Ok(())
    }
}

/// A given number of bytes have come to what an mbarrier awaits.
pub(crate) fn complete_tx(spaces: &Spaces<'_>, place: Place, bytes: u32, lane: usize) -> Tried<()> {
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

/// The parity of the phase that is not complete.
pub(super) fn parity(spaces: &Spaces<'_>, place: Place, lane: usize) -> Option<u32> {
    Object::find(spaces, place, lane).ok().map(|object| object.load().parity())
}

impl Warp {
    /// The lanes that need not wait: the phase that they ask for is complete.
    pub(super) fn over(
        &self,
        env: &Env<'_>,
        call: usize,
        operands: &Operands,
        parity: bool,
        taking: u32,
    ) -> Tried<u32> {
        let Some(&source) = operands.reads.first() else { return Ok(taking) };
        let places = self.places(env, call, operands, 0, taking);
        let frame = &self.calls[call].frame;
        let awaited: [u32; LANES] = match parity {
            true => frame.row::<u32>(source).map(|parity| parity & 1),
            false => frame.row::<u64>(source).map(|state| Mbarrier(state).parity()),
        };
        let (mut over, mut rest) = (0, taking);
        while rest != 0 {
            let same = alike(&places, rest);
            let lane = same.trailing_zeros() as usize;
            let barrier = Object::find(&env.spaces, places[lane], lane)?.load();
            let passed = lanes(same).filter(|&lane| awaited[lane] != barrier.parity());
            over |= passed.fold(0, |mask, lane| mask | 1 << lane);
            rest &= !same;
        }
        Ok(over)
    }

    /// `test_wait`, `try_wait`: whether all lanes need wait no longer.
    pub(super) fn wait(
        &mut self,
        env: &Env<'_>,
        call: usize,
        operands: &Operands,
        parity: bool,
        taking: u32,
    ) -> Tried<bool> {
        let over = self.over(env, call, operands, parity, taking)?;
        let frame = &mut self.calls[call].frame;
        let mut writes = operands.writes.iter().copied();
        for value in [over, 0] {
            if let Some(slot) = writes.next().filter(|&slot| slot != NONE) {
                frame.set_predicate(slot, value, taking);
            }
        }
        if let Some(report) = writes.next() {
            frame.set_row(report, [0u32; LANES], taking);
        }
        (self.advanced, self.acted) = (self.advanced | (over == taking), self.acted | (over == taking));
        Ok(over == taking)
    }

    /// The mbarrier that a wait at which lanes of a call failed was for.
    pub(super) fn awaited(
        &self,
        env: &Env<'_>,
        call: usize,
        operands: &Operands,
        mask: u32,
    ) -> Option<AwaitedMbarrier> {
        let places = self.places(env, call, operands, 0, mask);
        let lane = lanes(mask).next()?;
        let barrier = Object::find(&env.spaces, places[lane], lane).ok()?.load();
        let Place { memory, address, .. } = places[lane];
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

    /// All other operations on an mbarrier.
    pub(super) fn mbarrier(
        &mut self,
        env: &Env<'_>,
        call: usize,
        op: MbarrierOp,
        operands: &Operands,
        taking: u32,
    ) -> Tried<()> {
        let spaces = &env.spaces;
        let places = self.places(env, call, operands, 0, taking);
        let amounts = self.narrow(call, operands, 0).unwrap_or([1; LANES]);
        let mut tokens = [0; LANES];
        let mut rest = taking;
        self.advanced = true;
        while rest != 0 {
            let mut same = alike(&places, rest);
            let lead = same.trailing_zeros() as usize;
            let object = Object::find(spaces, places[lead], lead)?;
            let before = object.load();
            match op {
                MbarrierOp::Arrive { drop, expect, single: false, .. } => {
                    let total = lanes(same).fold(0u32, |sum, lane| sum.saturating_add(amounts[lane]));
                    let (arrivals, bytes) = if expect { (same.count_ones(), total) } else { (total, 0) };
                    let expecting = before.check().and_then(|before| before.expect(bytes));
                    object.store(spaces, expecting.and_then(|expecting| expecting.arrive(arrivals, drop)))?;
                    lanes(same).for_each(|lane| tokens[lane] = before.token());
                }
                MbarrierOp::Arrive { drop, .. } => {
                    // Those with the same count one after the other, then those with another.
                    same &= alike(&amounts, same);
                    for lane in lanes(same) {
                        let before = object.load();
                        tokens[lane] = before.token();
                        Object { lane, ..object }.store(spaces, before.arrive(amounts[lane], drop))?;
                    }
                }
                MbarrierOp::CheckLayout { second } => {
                    let holds = u64::from(before.has_second_layout() == second);
                    lanes(same).for_each(|lane| tokens[lane] = holds);
                }
                _ => {
                    for lane in lanes(same) {
                        let before = object.load();
                        let after = match op {
                            MbarrierOp::Init { second_layout } => Mbarrier::new(amounts[lane], second_layout),
                            MbarrierOp::Inval => Ok(before.invalidated()),
                            MbarrierOp::ExpectTx => before.expect(amounts[lane]),
                            _ => before.complete(amounts[lane]),
                        };
                        Object { lane, ..object }.store(spaces, after)?;
                    }
                }
            }
            rest &= !same;
        }
        match (op, operands.writes.first()) {
            (MbarrierOp::CheckLayout { .. }, Some(&slot)) => {
                let holds = lanes(taking).filter(|&lane| tokens[lane] == 1);
                let holds = holds.fold(0, |mask, lane| mask | 1 << lane);
                self.calls[call].frame.set_predicate(slot, holds, taking);
            }
            (_, Some(&slot)) => self.put(call, slot, tokens, taking),
            (_, None) => {}
        }
        Ok(())
    }

    /// `cp.async.mbarrier.arrive`: the copies are done, so the arrival follows at once. Without `.noinc` it was added
    /// to what is pending just before, and changes nothing.
    pub(super) fn copy_arrive(
        &mut self,
        env: &Env<'_>,
        call: usize,
        noinc: bool,
        operands: &Operands,
        taking: u32,
    ) -> Tried<()> {
        if noinc {
            let order = Order::WEAK;
            let arrive = MbarrierOp::Arrive { drop: false, expect: false, single: false, order };
            return self.mbarrier(env, call, arrive, operands, taking);
        }
        let places = self.places(env, call, operands, 0, taking);
        for lane in lanes(taking) {
            let object = Object::find(&env.spaces, places[lane], lane)?;
            object.store(&env.spaces, object.load().check())?;
        }
        Ok(())
    }
}
