//! Loads and stores of a warp (PTX ISA sections 9.7.9.8 to 9.7.9.12).
//!
//! Nearly all of them are done by [`crate::fast`], or are copies of rows of the threads' own memory. The rest is here:
//! lanes are grouped by state space, and each lane's access is checked by itself.

use super::run::first;
use super::used::Used;
use super::{Activation, Env, HINTS, Warp};
use crate::fast::{At, Quick};
use crate::fault::{FaultKind, Nearest, Problem, Relative, Tried, Trouble, Use, What};
use crate::memory::Spaces;
use crate::memory::cell::{SharedBytes, Unit};
use crate::memory::local::LocalMemory;
use crate::memory::order;
use crate::sanitize::Span;
use crate::sanitize::bounds::{TAG_SHIFT, TAGGED};
use softwarp_ir::{Access, Address, Element, Memory, Slot};
use softwarp_num::{Vectorise, vectorised};
use softwarp_units::lanes::{ALL, Frame, LANES, has_lane, lanes};
use std::sync::atomic::{Ordering, fence};

/// The addresses of the lanes that take part, all in one state space. Lanes that do not take part have the
/// address of the first that does.
pub(super) struct Group {
    pub(super) memory: Memory,
    pub(super) lanes: u32,
    pub(super) addresses: [u64; LANES],
    /// The base of the window, which was subtracted from generic addresses.
    window: Option<u64>,
    /// The bytes of each lane's access.
    bytes: u64,
    shape: Shape,
}

/// Properties of the addresses of lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Shape {
    aligned: bool,
    uniform: bool,
}

/// Computes the range of addresses; compiled for CPU features.
struct Measure<'a> {
    addresses: &'a [u64; LANES],
    bytes: u64,
}

impl Vectorise for Measure<'_> {
    type Output = Span;

    #[inline(always)]
    fn run(self) -> Span {
        let (mut low, mut high) = (u64::MAX, 0);
        for &address in self.addresses {
            low = low.min(address);
            high = high.max(address);
        }
        let side_by_side = [0, LANES / 2].map(|half| {
            let mut differ = 0;
            for lane in 0..LANES / 2 {
                let next = self.addresses[half].wrapping_add(lane as u64 * self.bytes);
                differ |= self.addresses[half + lane] ^ next;
            }
            differ == 0
        });
        Span { low, high, side_by_side }
    }
}

/// Looks at addresses; compiled for CPU features.
struct Look<'a> {
    addresses: &'a [u64; LANES],
    bytes: u64,
}

impl Vectorise for Look<'_> {
    type Output = Shape;

    #[inline(always)]
    fn run(self) -> Shape {
        let first = self.addresses[0];
        let (mut low, mut differ) = (0, 0);
        for &address in self.addresses {
            low |= address;
            differ |= address ^ first;
        }
        Shape { aligned: low & (self.bytes - 1) == 0, uniform: differ == 0 }
    }
}

/// The addresses that an operand stands for, of all lanes.
#[inline]
pub(super) fn addresses(activation: &Activation, address: &Address) -> [u64; LANES] {
    let frame = &activation.frame;
    let mut row = match address.base {
        None if address.memory == Memory::Shared => {
            [activation.window.wrapping_add_signed(address.offset); LANES]
        }
        None => [address.offset as u64; LANES],
        Some(slot) if slot.is_wide() => {
            frame.row::<u64>(slot).map(|base| base.wrapping_add_signed(address.offset))
        }
        Some(slot) => frame.row::<u32>(slot).map(|base| base.wrapping_add(address.offset as u32).into()),
    };
    if address.memory == Memory::Frame {
        row.iter_mut().for_each(|at| *at = at.wrapping_add(activation.base));
    }
    row
}

/// Calls a function for each group of lanes whose addresses are in the same state space.
#[inline]
pub(super) fn grouped(
    spaces: &Spaces<'_>,
    memory: Memory,
    addresses: [u64; LANES],
    bytes: u64,
    taking: u32,
    mut f: impl FnMut(&Group) -> Tried<()>,
) -> Tried<()> {
    let mut rest = taking;
    while rest != 0 {
        let lead = first(rest);
        let (mut space, mut window, mut mask) = (memory, None, rest);
        if memory == Memory::Generic {
            let (found, base) = spaces.window_of(addresses[lead]);
            mask = lanes(rest).fold(0, |mask, lane| {
                mask | u32::from(spaces.window_of(addresses[lane]) == (found, base)) << lane
            });
            (space, window) = (found, Some(base));
        } else if memory == Memory::Frame {
            space = Memory::Local;
        }
        let mut own = addresses;
        if mask != ALL {
            (0..LANES).filter(|lane| mask >> lane & 1 == 0).for_each(|lane| own[lane] = addresses[lead]);
        }
        if let Some(base) = window {
            own.iter_mut().for_each(|at| *at = at.wrapping_sub(base));
        }
        if spaces.tagged && space == Memory::Local {
            own.iter_mut().filter(|at| **at < TAGGED).for_each(|at| *at &= (1 << TAG_SHIFT) - 1);
        }
        let shape = vectorised(Look { addresses: &own, bytes });
        f(&Group { memory: space, lanes: mask, addresses: own, window, bytes, shape })?;
        rest &= !mask;
    }
    Ok(())
}

impl Group {
    /// The range of the addresses.
    pub(super) fn span(&self) -> Span {
        vectorised(Measure { addresses: &self.addresses, bytes: self.bytes })
    }

    /// The lanes whose addresses are multiples of what they access.
    pub(super) fn aligned(&self) -> u32 {
        if self.shape.aligned {
            return self.lanes;
        }
        let aligned = lanes(self.lanes).filter(|&lane| self.addresses[lane].is_multiple_of(self.bytes));
        aligned.fold(0, |mask, lane| mask | 1 << lane)
    }

    /// Checks one lane's access. Returns the cells and the index of the first, or a fault.
    pub(super) fn judge<'a>(
        &self,
        spaces: &Spaces<'a>,
        lane: usize,
        usage: Use,
    ) -> Tried<(&'a SharedBytes, u64)> {
        spaces.judge(self.memory, self.addresses[lane], self.bytes, usage).map_err(|mut bad| {
            bad.generic = self.window.map(|base| self.addresses[lane].wrapping_add(base));
            Trouble::new(lane, FaultKind::Access(bad))
        })
    }

    fn is_private(&self) -> bool {
        matches!(self.memory, Memory::Local | Memory::Function)
    }

    /// An element of all lanes that take part.
    fn load<T: Unit>(&self, spaces: &Spaces<'_>, skip: u64) -> Tried<[u64; LANES]> {
        let mut row = [0; LANES];
        for lane in lanes(self.lanes) {
            let (cells, at) = self.judge(spaces, lane, Use::Read)?;
            row[lane] = T::load(cells, (at + skip) as usize).to_word();
        }
        Ok(row)
    }

    /// Writes an element of all lanes that take part, the one that wins last; none if one of them must not.
    fn store<T: Unit>(&self, spaces: &Spaces<'_>, skip: u64, row: &[u64; LANES]) -> Tried<()> {
        for lane in lanes(self.lanes) {
            self.judge(spaces, lane, Use::Write)?;
        }
        for lane in order::storing(self.bytes).filter(|&lane| has_lane(self.lanes, lane)) {
            let (cells, at) = self.judge(spaces, lane, Use::Write)?;
            T::from_word(row[lane]).store(cells, (at + skip) as usize);
        }
        Ok(())
    }
}

/// The private memory of a group, where its first byte is, and from where on it may be used.
fn private<'a>(
    spaces: &Spaces<'_>,
    group: &Group,
    local: &'a mut LocalMemory,
    parameters: &'a mut LocalMemory,
    bottom: u64,
    usage: Use,
) -> Tried<(&'a mut LocalMemory, u64)> {
    let (memory, low, high) = match group.memory {
        Memory::Local => (local, bottom, spaces.windows.local.size),
        _ => {
            let bytes = parameters.len();
            (parameters, 0, bytes)
        }
    };
    for lane in lanes(group.lanes) {
        let address = group.addresses[lane];
        let inside = address >= low && address.checked_add(group.bytes).is_some_and(|end| end <= high);
        let problem = match (inside, group.shape.aligned || address.is_multiple_of(group.bytes)) {
            (true, true) => continue,
            (_, false) => Problem::Misaligned,
            (false, true) => Problem::OutOfBounds,
        };
        let what = if group.memory == Memory::Local { What::Stack } else { What::Parameters };
        let bytes = high.saturating_sub(low);
        let nearest = Nearest { what, base: low, bytes, at: Relative::of(address, low, bytes), freed: false };
        let mut bad = spaces.bad(problem, usage, group.memory, address, group.bytes, Some(nearest));
        bad.generic = group.window.map(|base| address.wrapping_add(base));
        return Err(Trouble::new(lane, FaultKind::Access(bad)));
    }
    let base = if group.memory == Memory::Local { high - memory.len() } else { 0 };
    Ok((memory, base))
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

/// Whether memory is the thread's own.
fn own_memory(memory: Memory) -> bool {
    matches!(memory, Memory::Frame | Memory::Local | Memory::Function)
}

/// The offset of a variable of the thread's own that the operand names without a register: the same in all lanes.
#[inline]
fn own_place(
    activation: &Activation,
    local: &LocalMemory,
    access: &Access,
    spaces: &Spaces<'_>,
) -> Option<u64> {
    let Address { memory, base, offset, .. } = access.address;
    let bytes = Used::load(access).bytes;
    if base.is_some() || !matches!(access.bytes, 4 | 8) {
        return None;
    }
    let (at, room) = match memory {
        Memory::Frame => {
            let top = spaces.windows.local.size;
            let at = activation.base.wrapping_add_signed(offset);
            (at.checked_sub(top - local.len()).filter(|_| at >= activation.bottom)?, local.len())
        }
        Memory::Function => (offset as u64, activation.parameters.len()),
        _ => return None,
    };
    let fits = at.checked_add(bytes).is_some_and(|end| end <= room);
    (fits && at.is_multiple_of(bytes)).then_some(at)
}

/// Loads a variable of the thread's own, if that is a copy of rows.
fn load_own(
    activation: &mut Activation,
    local: &LocalMemory,
    access: &Access,
    spaces: &Spaces<'_>,
    taking: u32,
) -> bool {
    let Some(mut at) = own_place(activation, local, access, spaces) else { return false };
    let Activation { frame, parameters, .. } = activation;
    let memory = if access.address.memory == Memory::Function { parameters } else { local };
    for &register in &access.registers {
        let low = memory.row(at);
        match (access.bytes, register) {
            (_, Element { slot: None, .. }) => {}
            (4, Element { slot: Some(slot), bits: 32 }) => frame.set_row(slot, *low, taking),
            (4, _) => extend(frame, access, register, low.map(u64::from), taking),
            _ => {
                let high = memory.row(at + 4);
                let mut row = [0; LANES];
                for lane in 0..LANES {
                    row[lane] = u64::from(low[lane]) | u64::from(high[lane]) << 32;
                }
                extend(frame, access, register, row, taking);
            }
        }
        at += u64::from(access.bytes);
    }
    true
}

/// Stores to a variable of the thread's own, if that is a copy of rows.
fn store_own(
    activation: &mut Activation,
    local: &mut LocalMemory,
    access: &Access,
    spaces: &Spaces<'_>,
    taking: u32,
) -> bool {
    let Some(mut at) = own_place(activation, local, access, spaces) else { return false };
    let Activation { frame, parameters, .. } = activation;
    let memory = if access.address.memory == Memory::Function { parameters } else { local };
    let masked = |into: &mut [u32; LANES], row: [u32; LANES]| {
        for lane in 0..LANES {
            into[lane] = if taking >> lane & 1 == 1 { row[lane] } else { into[lane] };
        }
    };
    for &element in &access.registers {
        let Some(slot) = element.slot else { continue };
        if element.bits < 64 {
            masked(memory.row_mut(at), frame.row(slot));
            if access.bytes == 8 {
                masked(memory.row_mut(at + 4), [0; LANES]);
            }
        } else {
            let row = frame.row::<u64>(slot);
            let (mut low, mut high) = ([0; LANES], [0; LANES]);
            for lane in 0..LANES {
                (low[lane], high[lane]) = (row[lane] as u32, (row[lane] >> 32) as u32);
            }
            masked(memory.row_mut(at), low);
            if access.bytes == 8 {
                masked(memory.row_mut(at + 4), high);
            }
        }
        at += u64::from(access.bytes);
    }
    true
}

/// A register as words, whatever its width.
#[inline]
fn words(frame: &Frame, element: Element) -> [u64; LANES] {
    match (element.slot, element.bits) {
        (None, _) => [0; LANES],
        (Some(slot), 64..) => frame.row::<u64>(slot),
        (Some(slot), _) => frame.row::<u32>(slot).map(u64::from),
    }
}

/// Both halves of a register of 128 bits.
fn halves(frame: &Frame, element: Element) -> [[u64; LANES]; 2] {
    element.slot.map_or([[0; LANES]; 2], |slot| [slot, slot.next()].map(|half| frame.row::<u64>(half)))
}

/// Writes loaded elements to a register that is wider, or narrower.
fn extend(frame: &mut Frame, access: &Access, element: Element, row: [u64; LANES], mask: u32) {
    let Element { slot: Some(slot), bits: width } = element else { return };
    let shift = 64 - 8 * u32::from(access.bytes.min(8));
    let row = if access.signed { row.map(|value| ((value << shift) as i64 >> shift) as u64) } else { row };
    match width {
        128.. => {
            frame.set_row(slot, row, mask);
            let high = if access.signed { row.map(|value| (value as i64 >> 63) as u64) } else { [0; LANES] };
            frame.set_row(slot.next(), high, mask);
        }
        64.. => frame.set_row(slot, row, mask),
        _ => {
            let keep = if width >= 32 { u32::MAX } else { (1 << width) - 1 };
            frame.set_row(slot, row.map(|value| value as u32 & keep), mask);
        }
    }
}

fn load_private(
    frame: &mut Frame,
    memory: &LocalMemory,
    base: u64,
    access: &Access,
    group: &Group,
) -> Tried<()> {
    for (index, &element) in access.registers.iter().enumerate() {
        let skip = index as u64 * u64::from(access.bytes);
        let at = group.addresses.map(|address| address - base + skip);
        let Some(slot) = element.slot else { continue };
        if group.shape.uniform && access.bytes == 4 && element.bits == 32 {
            frame.set_row(slot, *memory.row(at[0]), group.lanes);
        } else if access.bytes == 16 {
            for (half, add) in [(slot, 0), (slot.next(), 8)] {
                let row: [u64; LANES] = std::array::from_fn(|lane| memory.load(lane, at[lane] + add, 8));
                frame.set_row(half, row, group.lanes);
            }
        } else {
            let bytes = u64::from(access.bytes);
            let row = std::array::from_fn(|lane| memory.load(lane, at[lane], bytes));
            extend(frame, access, element, row, group.lanes);
        }
    }
    Ok(())
}

fn store_private(
    frame: &Frame,
    memory: &mut LocalMemory,
    base: u64,
    access: &Access,
    group: &Group,
) -> Tried<()> {
    for (index, &element) in access.registers.iter().enumerate() {
        let skip = index as u64 * u64::from(access.bytes);
        let at = group.addresses.map(|address| address - base + skip);
        let Some(slot) = element.slot else { continue };
        if group.shape.uniform && group.lanes == ALL && access.bytes == 4 && element.bits <= 32 {
            *memory.row_mut(at[0]) = frame.row(slot);
            continue;
        }
        let halves: &[(Slot, u64)] =
            if access.bytes == 16 { &[(slot, 0), (slot.next(), 8)] } else { &[(slot, 0)] };
        for &(slot, add) in halves {
            let row = words(frame, Element { slot: Some(slot), ..element });
            for lane in lanes(group.lanes) {
                memory.store(lane, at[lane] + add, u64::from(access.bytes.min(8)), row[lane]);
            }
        }
    }
    Ok(())
}
