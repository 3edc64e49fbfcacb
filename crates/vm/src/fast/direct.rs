//! Loads and stores of the most common kind: all lanes take part, with one element each, as wide as its register.
//!
//! `unsafe` is here for calls of a level's instructions within functions that are compiled for it, as in `fast.rs`.

use super::{CACHED_REGIONS, RowCpu, alone, view};
use crate::memory::Spaces;
use crate::memory::cell::{CachedRegion, Scalar};
use crate::memory::wide::{self, Cpu};
use softwarp_ir::{Access, Address, Element, Memory};
use softwarp_num::multiversion;
use softwarp_units::lanes::{Frame, LANES, Word};

/// An access with its operands. It is performed if each half of the warp accesses one place or consecutive places in
/// the cached region. The state space makes no difference then.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Direct {
    run: Run,
    /// The slot of the addresses.
    base: u32,
    /// The slot of the elements.
    slot: u32,
    offset: u64,
    /// The index of the cached region. Accesses to different state spaces use different regions, since the same
    /// address means different memory in each.
    piece: u32,
}

impl Direct {
    /// A load, if it is of this kind. `number` counts the accesses of a function.
    pub(crate) fn load(access: &Access, number: u32) -> Option<Direct> {
        Direct::of(access, number, |[load, _]| load)
    }

    /// A store, if it is of this kind.
    pub(crate) fn store(access: &Access, number: u32) -> Option<Direct> {
        Direct::of(access, number, |[_, store]| store)
    }

    fn of(access: &Access, number: u32, which: fn([Run; 2]) -> Run) -> Option<Direct> {
        let address = &access.address;
        // These are CACHED_REGIONS in all.
        let piece = match address.memory {
            Memory::Global => number % 16,
            Memory::Generic => 16 + number % 8,
            Memory::Shared => 24 + number % 4,
            Memory::Cluster => 28 + number % 4,
            _ => return None,
        };
        let Element { slot, bits } = *access.registers.first()?;
        if access.order.is_strong() || access.registers.len() != 1 {
            return None;
        }
        let (slot, base) = (slot?, address.base?);
        let both = match (base.is_wide(), access.bytes, bits) {
            (true, 4, 32) => runs::<u64, u32>(),
            (true, 8, 64) => runs::<u64, u64>(),
            (false, 4, 32) => runs::<u32, u32>(),
            (false, 8, 64) => runs::<u32, u64>(),
            _ => return None,
        };
        let (base, slot) = (base.number(), slot.number());
        Some(Direct { run: which(both), base, slot, offset: address.offset as u64, piece })
    }

    /// Performs the access if it is in the cached region. Returns whether it was performed.
    #[inline(always)]
    pub(crate) fn run(&self, frame: &mut Frame, pieces: &[CachedRegion<'_>; CACHED_REGIONS]) -> bool {
        self.run.run(frame, self, &pieces[self.piece as usize % CACHED_REGIONS])
    }

    /// Looks up the region, and performs the access if it is possible there.
    pub(crate) fn retry<'b>(
        &self,
        frame: &mut Frame,
        address: &Address,
        (spaces, hint): (&Spaces<'b>, &mut u32),
        pieces: &mut [CachedRegion<'b>; CACHED_REGIONS],
    ) -> bool {
        let found = learn(frame, address, spaces, hint);
        found.is_some_and(|piece| {
            pieces[self.piece as usize % CACHED_REGIONS] = piece;
            self.run(frame, pieces)
        })
    }
}

multiversion! {
    /// Performs an access if it is in the cached region. Returns whether it was performed.
    struct Run(frame: &mut Frame, direct: &Direct, piece: &CachedRegion<'_>) -> bool;
}

/// The functions that load and store elements, with addresses in rows of such words.
fn runs<W: wide::Address, T: Scalar + Word>() -> [Run; 2] {
    [loads::<W, T>().best(), stores::<W, T>().best()]
}

multiversion! {
    fn loads[W: wide::Address, T: Scalar + Word][W, T]
        (frame: &mut Frame, direct: &Direct, piece: &CachedRegion<'_>) -> bool: Run = load_directly;
}
multiversion! {
    fn stores[W: wide::Address, T: Scalar + Word][W, T]
        (frame: &mut Frame, direct: &Direct, piece: &CachedRegion<'_>) -> bool: Run = store_directly;
}

#[inline(always)]
fn load_directly<C: RowCpu, W: wide::Address, T: Scalar + Word>(
    _: C,
    frame: &mut Frame,
    direct: &Direct,
    piece: &CachedRegion<'_>,
) -> bool {
    let row = &W::rows(frame)[direct.base as usize].0;
    let leads = [alone(row, 0), alone(row, LANES / 2)];
    let starts = leads.map(|lead| lead.plus(direct.offset).into());
    if alone(row, 1) == leads[0] {
        // SAFETY: the CPU has the level: see the head of the file.
        let same = unsafe { C::Cpu::halves(row, leads, 0) };
        let Some(values) = piece.elements::<T>(starts).filter(|_| same) else { return false };
        let (low, high) = T::rows_mut(frame)[direct.slot as usize].0.split_at_mut(LANES / 2);
        low.fill(values[0]);
        high.fill(values[1]);
        return true;
    }
    // SAFETY: the CPU has the level: see the head of the file.
    unsafe {
        C::Cpu::halves(row, leads, T::BYTES as u64)
            && piece.read_halves::<C::Cpu, T>(starts, &mut T::rows_mut(frame)[direct.slot as usize].0)
    }
}

#[inline(always)]
fn store_directly<C: RowCpu, W: wide::Address, T: Scalar + Word>(
    _: C,
    frame: &mut Frame,
    direct: &Direct,
    piece: &CachedRegion<'_>,
) -> bool {
    let row = &W::rows(frame)[direct.base as usize].0;
    let leads = [alone(row, 0), alone(row, LANES / 2)];
    let starts = leads.map(|lead| lead.plus(direct.offset).into());
    // SAFETY: the CPU has the level: see the head of the file.
    unsafe {
        C::Cpu::halves(row, leads, T::BYTES as u64)
            && piece.write_halves::<C::Cpu, T>(starts, &T::rows(frame)[direct.slot as usize].0)
    }
}

/// The piece of memory that the first lane of an access is in, for [`Direct`]; none for what only the general way
/// may use.
fn learn<'b>(
    frame: &Frame,
    address: &Address,
    spaces: &Spaces<'b>,
    hint: &mut u32,
) -> Option<CachedRegion<'b>> {
    let base = address.base?;
    let (row, offset) = (base.number() as usize, address.offset as u64);
    let start = match base.is_wide() {
        true => wide::Address::plus(frame.wide[row].0[0], offset),
        false => u64::from(wide::Address::plus(frame.narrow[row].0[0], offset)),
    };
    let (cells, base) = view(spaces, address.memory, start, hint)?;
    (!std::ptr::eq(cells, spaces.parameters)).then(|| CachedRegion::new(base, cells))
}
