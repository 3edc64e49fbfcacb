//! Memory that each thread has to itself: `.local`, and the parameters of device functions.
//!
//! Rows hold the same word of all lanes, so an access at one address of all lanes is a copy of rows.

use super::Activation;
use super::addresses::Group;
use super::used::Used;
use crate::fault::{FaultKind, Nearest, Problem, Relative, Tried, Trouble, Use, What};
use crate::memory::Spaces;
use crate::memory::local::LocalMemory;
use softwarp_ir::{Access, Address, Element, Memory, Slot};
use softwarp_units::lanes::{Frame, LANES, lanes};

/// The private memory of a group, where its first byte is, and from where on it may be used.
pub(super) fn private<'a>(
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

/// Whether memory is the thread's own.
pub(super) fn own_memory(memory: Memory) -> bool {
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
    if base.is_some() || access.bytes > 8 {
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
pub(super) fn load_own(
    activation: &mut Activation,
    local: &LocalMemory,
    access: &Access,
    spaces: &Spaces<'_>,
    taking: u32,
) -> bool {
    let Some(at) = own_place(activation, local, access, spaces) else { return false };
    let Activation { frame, parameters, .. } = activation;
    let memory = if access.address.memory == Memory::Function { parameters } else { local };
    load_rows(frame, memory, at, access, taking);
    true
}

/// Loads elements of at most 8 bytes that all lanes have at the same offset.
fn load_rows(frame: &mut Frame, memory: &LocalMemory, at: u64, access: &Access, taking: u32) {
    for (&register, at) in access.registers.iter().zip((at..).step_by(access.bytes.into())) {
        let low = memory.row(at);
        match (access.bytes, register) {
            (_, Element { slot: None, .. }) => {}
            (4, Element { slot: Some(slot), bits: 32 }) => frame.set_row(slot, *low, taking),
            (4, _) => extend(frame, access, register, low.map(u64::from), taking),
            (1 | 2, _) => {
                let (shift, mask) = part(at, access.bytes);
                extend(frame, access, register, low.map(|word| u64::from(word >> shift & mask)), taking);
            }
            _ => {
                let high = memory.row(at + 4);
                let mut row = [0; LANES];
                for lane in 0..LANES {
                    row[lane] = u64::from(low[lane]) | u64::from(high[lane]) << 32;
                }
                extend(frame, access, register, row, taking);
            }
        }
    }
}

/// Stores to a variable of the thread's own, if that is a copy of rows.
pub(super) fn store_own(
    activation: &mut Activation,
    local: &mut LocalMemory,
    access: &Access,
    spaces: &Spaces<'_>,
    taking: u32,
) -> bool {
    let Some(at) = own_place(activation, local, access, spaces) else { return false };
    let Activation { frame, parameters, .. } = activation;
    let memory = if access.address.memory == Memory::Function { parameters } else { local };
    store_rows(frame, memory, at, access, taking);
    true
}

/// Where an element of 1 or 2 bytes is in its word: how far from its lowest bit, and the mask of its bits there.
fn part(at: u64, bytes: u8) -> (u32, u32) {
    (8 * (at & 3) as u32, (1 << (8 * u32::from(bytes))) - 1)
}

/// Stores elements of at most 8 bytes that all lanes have at the same offset.
fn store_rows(frame: &Frame, memory: &mut LocalMemory, at: u64, access: &Access, taking: u32) {
    let masked = |into: &mut [u32; LANES], row: [u32; LANES]| {
        for lane in 0..LANES {
            into[lane] = if taking >> lane & 1 == 1 { row[lane] } else { into[lane] };
        }
    };
    for (&element, at) in access.registers.iter().zip((at..).step_by(access.bytes.into())) {
        let Some(slot) = element.slot else { continue };
        if access.bytes < 4 {
            let (shift, mask) = part(at, access.bytes);
            let values = words(frame, element);
            let mut row = *memory.row(at);
            for lane in 0..LANES {
                row[lane] = row[lane] & !(mask << shift) | (values[lane] as u32 & mask) << shift;
            }
            masked(memory.row_mut(at), row);
        } else if element.bits < 64 {
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
    }
}

pub(super) fn load_private(
    frame: &mut Frame,
    memory: &LocalMemory,
    base: u64,
    access: &Access,
    group: &Group,
) -> Tried<()> {
    if group.shape.uniform && access.bytes <= 8 {
        load_rows(frame, memory, group.addresses[0] - base, access, group.lanes);
        return Ok(());
    }
    for (index, &element) in access.registers.iter().enumerate() {
        let skip = index as u64 * u64::from(access.bytes);
        let at = group.addresses.map(|address| address - base + skip);
        let Some(slot) = element.slot else { continue };
        if access.bytes == 16 {
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

pub(super) fn store_private(
    frame: &Frame,
    memory: &mut LocalMemory,
    base: u64,
    access: &Access,
    group: &Group,
) -> Tried<()> {
    if group.shape.uniform && access.bytes <= 8 {
        store_rows(frame, memory, group.addresses[0] - base, access, group.lanes);
        return Ok(());
    }
    for (index, &element) in access.registers.iter().enumerate() {
        let skip = index as u64 * u64::from(access.bytes);
        let at = group.addresses.map(|address| address - base + skip);
        let Some(slot) = element.slot else { continue };
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

/// A register as words, whatever its width.
#[inline]
pub(super) fn words(frame: &Frame, element: Element) -> [u64; LANES] {
    match (element.slot, element.bits) {
        (None, _) => [0; LANES],
        (Some(slot), 64..) => frame.row::<u64>(slot),
        (Some(slot), _) => frame.row::<u32>(slot).map(u64::from),
    }
}

/// Both halves of a register of 128 bits.
pub(super) fn halves(frame: &Frame, element: Element) -> [[u64; LANES]; 2] {
    element.slot.map_or([[0; LANES]; 2], |slot| [slot, slot.next()].map(|half| frame.row::<u64>(half)))
}

/// Writes loaded elements to a register that is wider, or narrower.
pub(super) fn extend(frame: &mut Frame, access: &Access, element: Element, row: [u64; LANES], mask: u32) {
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
