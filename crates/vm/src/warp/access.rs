//! Loads and stores of a warp (PTX ISA sections 9.7.9.8 to 9.7.9.12).
//!
//! Nearly all of them are done by [`crate::fast`], or are copies of rows of the threads' own memory. The rest is here:
//! lanes are grouped by state space, and each lane's access is checked by itself.

use super::addresses::{addresses, grouped};
use super::own::{
    extend, halves, load_own, load_private, own_memory, private, store_own, store_private, words,
};
use super::used::Used;
use super::{Activation, Env, HINTS, Warp};
use crate::fast::{At, Quick};
use crate::fault::{FaultKind, Tried, Trouble};
use softwarp_ir::{Access, Address, Element, Memory};
use softwarp_units::lanes::LANES;
use std::sync::atomic::{Ordering, fence};

/// How the elements of a lane's access are moved: in one piece of up to 16 bytes, or in several of 16 bytes. Other threads
/// see none of a piece or all of it.
struct Pieces {
    /// Bytes of a piece.
    bytes: u64,
    /// Bytes of an element.
    element: u64,
}

impl Pieces {
    fn of(access: &Access, used: &Used<'_>) -> Pieces {
        Pieces { bytes: used.bytes.clamp(1, 16), element: u64::from(access.bytes).clamp(1, 16) }
    }

    /// The registers of each piece, and how far it is from the first.
    fn iter<'a>(&self, access: &'a Access) -> impl Iterator<Item = (&'a [Element], u64)> + use<'a> {
        let registers = access.registers.chunks((self.bytes / self.element).max(1) as usize);
        registers.zip((0..).step_by(self.bytes as usize))
    }

    /// In which word of a piece an element is, how far from its lowest bit, and the mask of its bits.
    fn place(&self, index: usize) -> (usize, u64, u64) {
        let bits = 8 * self.element * index as u64 % 128;
        (bits as usize / 64, bits % 64, u64::MAX >> (64 - 8 * self.element.min(8)))
    }

    /// An element of all lanes, extended with zeros.
    fn element(&self, words: &[[u64; 2]; LANES], index: usize) -> [u64; LANES] {
        let (word, by, mask) = self.place(index);
        std::array::from_fn(|lane| words[lane][word] >> by & mask)
    }

    /// Puts an element of all lanes into pieces that have none of it yet.
    fn put(&self, words: &mut [[u64; 2]; LANES], index: usize, row: &[u64; LANES]) {
        let (word, by, mask) = self.place(index);
        (0..LANES).for_each(|lane| words[lane][word] |= (row[lane] & mask) << by);
    }
}

impl Warp {
    /// `ld`
    #[inline(always)]
    pub(super) fn load(
        &mut self,
        env: &mut Env<'_>,
        call: usize,
        (access, quick): (&Access, &Quick),
        pc: usize,
        taking: u32,
    ) -> Tried<()> {
        let at = At { spaces: &env.spaces, taking, hint: &mut env.hints[pc % HINTS] };
        if !quick.load(access, &mut self.calls[call].frame, at) {
            self.load_slowly(env, call, access, taking)?;
        }
        if access.order.is_strong() {
            fence(Ordering::Acquire);
        }
        Ok(())
    }

    #[inline(never)]
    fn load_slowly(&mut self, env: &mut Env<'_>, call: usize, access: &Access, taking: u32) -> Tried<()> {
        let activation = &mut self.calls[call];
        let spaces = &env.spaces;
        if own_memory(access.address.memory) && load_own(activation, &self.local, access, spaces, taking) {
            return Ok(());
        }
        let used = Used::load(access);
        let addresses = addresses(activation, used.address);
        grouped(spaces, used.address.memory, addresses, used.bytes, taking, |group| {
            if group.is_private() {
                let Activation { frame, parameters, bottom, .. } = activation;
                let (memory, base) =
                    private(spaces, group, &mut self.local, parameters, *bottom, used.usage)?;
                return load_private(frame, memory, base, access, group);
            }
            let frame = &mut activation.frame;
            let pieces = Pieces::of(access, &used);
            for (registers, skip) in pieces.iter(access) {
                let words = match pieces.bytes {
                    1 => group.load::<u8>(spaces, skip)?,
                    2 => group.load::<u16>(spaces, skip)?,
                    4 => group.load::<u32>(spaces, skip)?,
                    8 => group.load::<u64>(spaces, skip)?,
                    _ => group.load::<u128>(spaces, skip)?,
                };
                for (index, &element) in registers.iter().enumerate() {
                    match element.slot {
                        Some(slot) if access.bytes == 16 => {
                            frame.set_row(slot, words.map(|[low, _]| low), group.lanes);
                            frame.set_row(slot.next(), words.map(|[_, high]| high), group.lanes);
                        }
                        _ => extend(frame, access, element, pieces.element(&words, index), group.lanes),
                    }
                }
            }
            Ok(())
        })
    }

    /// `st`
    #[inline(always)]
    pub(super) fn store(
        &mut self,
        env: &mut Env<'_>,
        call: usize,
        (access, quick): (&Access, &Quick),
        pc: usize,
        taking: u32,
    ) -> Tried<()> {
        if access.order.is_strong() {
            fence(Ordering::Release);
        }
        let at = At { spaces: &env.spaces, taking, hint: &mut env.hints[pc % HINTS] };
        if quick.store(access, &self.calls[call].frame, at) {
            return Ok(());
        }
        self.store_slowly(env, call, access, taking)
    }

    #[inline(never)]
    fn store_slowly(&mut self, env: &mut Env<'_>, call: usize, access: &Access, taking: u32) -> Tried<()> {
        let activation = &mut self.calls[call];
        let spaces = &env.spaces;
        if own_memory(access.address.memory) && store_own(activation, &mut self.local, access, spaces, taking)
        {
            return Ok(());
        }
        let used = Used::store(access);
        let addresses = addresses(activation, used.address);
        grouped(spaces, used.address.memory, addresses, used.bytes, taking, |group| {
            if group.is_private() {
                let Activation { frame, parameters, bottom, .. } = activation;
                let (memory, base) =
                    private(spaces, group, &mut self.local, parameters, *bottom, used.usage)?;
                return store_private(frame, memory, base, access, group);
            }
            let frame = &activation.frame;
            let pieces = Pieces::of(access, &used);
            for (registers, skip) in pieces.iter(access) {
                let mut row = [[0; 2]; LANES];
                for (index, &element) in registers.iter().enumerate() {
                    match access.bytes {
                        16 => {
                            let [low, high] = halves(frame, element);
                            row = std::array::from_fn(|lane| [low[lane], high[lane]]);
                        }
                        _ => pieces.put(&mut row, index, &words(frame, element)),
                    }
                }
                match pieces.bytes {
                    1 => group.store::<u8>(spaces, skip, &row)?,
                    2 => group.store::<u16>(spaces, skip, &row)?,
                    4 => group.store::<u32>(spaces, skip, &row)?,
                    8 => group.store::<u64>(spaces, skip, &row)?,
                    _ => group.store::<u128>(spaces, skip, &row)?,
                }
            }
            Ok(())
        })
    }

    /// Adds to a fault what the instruction itself says about its address.
    pub(super) fn blame(
        &self,
        env: &Env<'_>,
        call: usize,
        address: &Address,
        mut trouble: Box<Trouble>,
    ) -> Box<Trouble> {
        if let FaultKind::Access(bad) = &mut trouble.kind
            && let Some(id) = address.named
        {
            let base = match address.memory {
                Memory::Frame => env
                    .spaces
                    .image
                    .object(id)
                    .offset
                    .map(|offset| self.calls[call].base.wrapping_add(offset)),
                Memory::Shared => {
                    let base = env.spaces.image.address(env.spaces.windows, id, None);
                    base.map(|base| base.wrapping_add(env.spaces.window))
                }
                _ => env.spaces.image.address(env.spaces.windows, id, None),
            };
            if let Some(base) = base {
                bad.nearest = Some(env.spaces.named(id, base, bad.address));
            }
        }
        trouble
    }
}
