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
use crate::memory::cell::SharedBytes;
use softwarp_ir::{Access, Address, Memory};
use std::sync::atomic::{Ordering, fence};

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
            for (index, &element) in access.registers.iter().enumerate() {
                let skip = index as u64 * u64::from(access.bytes);
                let mask = group.lanes;
                let row = match access.bytes {
                    4 => group.load::<u32>(spaces, skip)?,
                    8 => group.load::<u64>(spaces, skip)?,
                    2 => group.load::<u16>(spaces, skip)?,
                    1 => group.load::<u8>(spaces, skip)?,
                    _ => {
                        // These are two words for the host. A strong access must be atomic as a whole.
                        let _guard = access.order.is_strong().then(SharedBytes::lock_pairs);
                        let low = group.load::<u64>(spaces, skip)?;
                        let high = group.load::<u64>(spaces, skip + 8)?;
                        if let Some(slot) = element.slot {
                            frame.set_row(slot, low, mask);
                            frame.set_row(slot.next(), high, mask);
                        }
                        continue;
                    }
                };
                extend(frame, access, element, row, mask);
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
            for (index, &element) in access.registers.iter().enumerate() {
                let skip = index as u64 * u64::from(access.bytes);
                match access.bytes {
                    1 => group.store::<u8>(spaces, skip, &words(frame, element))?,
                    2 => group.store::<u16>(spaces, skip, &words(frame, element))?,
                    4 => group.store::<u32>(spaces, skip, &words(frame, element))?,
                    8 => group.store::<u64>(spaces, skip, &words(frame, element))?,
                    _ => {
                        let [low, high] = halves(frame, element);
                        let _guard = access.order.is_strong().then(SharedBytes::lock_pairs);
                        group.store::<u64>(spaces, skip, &low)?;
                        group.store::<u64>(spaces, skip + 8, &high)?;
                    }
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
