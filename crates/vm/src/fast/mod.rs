//! Loads, stores and atomics whose lanes are all in one piece of memory, as nearly all are.
//!
//! Each kind of access has a function of its own, compiled for CPU features, which decoding chooses ([`Quick`]).
//! Whether addresses are all the same, or one behind the other, does not depend on the offset that is added to them,
//! so the register alone is looked at; memory is then found once. Any other case (a lane outside, a misaligned
//! address, several state spaces) is left to the general functions (`warp/access.rs`), which also find the fault.
//!
//! The most common kind of all has its own file (`direct.rs`), and so have accesses of several elements (`vector.rs`).
//!
//! Functions are compiled for each level ([`softwarp_num::multiversion!`]). `unsafe` is here for calls of a level's
//! instructions within them: the token of the level ([`RowCpu`]) says that the CPU has them.

mod direct;
pub(crate) mod element;
mod vector;

pub(crate) use direct::Direct;

use crate::memory::Spaces;
use crate::memory::cell::{LaneOffsets, Scalar, SharedBytes, Size};
use crate::memory::order;
use crate::memory::wide::{self, Baseline, Cpu, LaneAddresses};
use element::{elements, put};
use softwarp_ir::{Access, Address, Element, Memory};
use softwarp_num::multiversion;
use softwarp_units::lanes::{ALL, Frame, LANES};

/// How many places remember which allocation was used last: a power of two.
pub(crate) const HINTS: usize = 64;

/// How many pieces of memory are remembered: a power of two.
pub(crate) const CACHED_REGIONS: usize = 32;

/// The memory of an access, the lanes that take part, and the allocation that was used last.
pub(crate) struct At<'a, 'b> {
    pub(crate) spaces: &'a Spaces<'b>,
    pub(crate) taking: u32,
    pub(crate) hint: &'a mut u32,
}

/// A token whose level has instructions on rows.
pub(super) trait RowCpu: softwarp_num::Cpu {
    /// The level's instructions.
    type Cpu: Cpu;
}

impl RowCpu for softwarp_num::Baseline {
    type Cpu = Baseline;
}

#[cfg(target_arch = "x86_64")]
impl RowCpu for softwarp_num::Avx2 {
    type Cpu = wide::Avx2;
}

#[cfg(target_arch = "x86_64")]
impl RowCpu for softwarp_num::Avx512 {
    type Cpu = wide::Avx512;
}

/// The functions that perform an access in the common cases. Each returns whether it was performed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Quick {
    /// Lanes at one place, in a row, or in two halves that are.
    near: Load,
    /// Lanes anywhere in one piece of memory.
    apart: Load,
    store: Store,
}

// The fields of [`At`] are passed separately, in registers.
multiversion! {
    /// A load.
    struct Load(frame: &mut Frame, access: &Access, spaces: &Spaces<'_>, taking: u32, hint: &mut u32) -> bool;
}
multiversion! {
    /// A store.
    struct Store(frame: &Frame, access: &Access, spaces: &Spaces<'_>, taking: u32, hint: &mut u32) -> bool;
}

impl Quick {
    /// Loads in the common cases.
    #[inline(always)]
    pub(crate) fn load(&self, access: &Access, frame: &mut Frame, at: At<'_, '_>) -> bool {
        let At { spaces, taking, hint } = at;
        self.near.run(frame, access, spaces, taking, hint)
            || self.apart.run(frame, access, spaces, taking, hint)
    }

    /// Stores in the common cases.
    #[inline(always)]
    pub(crate) fn store(&self, access: &Access, frame: &Frame, at: At<'_, '_>) -> bool {
        let At { spaces, taking, hint } = at;
        self.store.run(frame, access, spaces, taking, hint)
    }
}

/// The address operand of an access, as far as it is known when the function is compiled.
trait Source {
    /// The memory, and the rows that the base is in; there is one element. Without it, whatever the access says.
    const IS: Option<(Memory, Rows)>;
}

/// The rows that a base is in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rows {
    /// There is no base.
    None,
    Narrow,
    Wide,
}

macro_rules! sources {
    ($($name:ident: $is:expr,)*) => {$(
        struct $name;
        impl Source for $name {
            const IS: Option<(Memory, Rows)> = $is;
        }
    )*};
}

sources! {
    Global: Some((Memory::Global, Rows::Wide)),
    Shared: Some((Memory::Shared, Rows::Narrow)),
    Generic: Some((Memory::Generic, Rows::Wide)),
    Any: None,
}

impl Quick {
    /// The functions for an access at an address, with a given number of elements of a given number of bytes. Common accesses have functions
    /// of their own; the others share those that look at the address.
    pub(crate) fn of(address: &Address, bytes: u8, elements: usize) -> Quick {
        match (address.memory, address.base.is_none(), address.is_wide(), elements, bytes) {
            // Memory of a thread's own is not found this way, nor are banks of different sizes.
            (Memory::Frame | Memory::Local | Memory::Function | Memory::Constant, ..) => Quick::NEVER,
            (Memory::Global, false, true, 1, 4) => Quick::new::<Global, u32>(),
            (Memory::Global, false, true, 1, 8) => Quick::new::<Global, u64>(),
            (Memory::Shared, false, false, 1, 4) => Quick::new::<Shared, u32>(),
            (Memory::Shared, false, false, 1, 8) => Quick::new::<Shared, u64>(),
            (Memory::Generic, false, true, 1, 4) => Quick::new::<Generic, u32>(),
            (Memory::Generic, false, true, 1, 8) => Quick::new::<Generic, u64>(),
            (.., 1, 1) => Quick::new::<Any, u8>(),
            (.., 1, 2) => Quick::new::<Any, u16>(),
            (.., 1, 4) => Quick::new::<Any, u32>(),
            (.., 1, 8) => Quick::new::<Any, u64>(),
            _ => vector::quick(bytes, elements),
        }
    }

    /// Leaves every access to the general way.
    pub(crate) const NEVER: Quick = Quick {
        near: Load::of(|_, _, _, _, _| false),
        apart: Load::of(|_, _, _, _, _| false),
        store: Store::of(|_, _, _, _, _| false),
    };

    fn new<S: Source, T: Scalar>() -> Quick {
        Quick { near: near::<S, T>().best(), apart: apart::<S, T>().best(), store: stores::<S, T>().best() }
    }
}

multiversion! {
    fn near[S: Source, T: Scalar][S, T]
        (frame: &mut Frame, access: &Access, spaces: &Spaces<'_>, taking: u32, hint: &mut u32) -> bool: Load = load_near;
}
multiversion! {
    fn apart[S: Source, T: Scalar][S, T]
        (frame: &mut Frame, access: &Access, spaces: &Spaces<'_>, taking: u32, hint: &mut u32) -> bool: Load = load_apart;
}
multiversion! {
    fn stores[S: Source, T: Scalar][S, T]
        (frame: &Frame, access: &Access, spaces: &Spaces<'_>, taking: u32, hint: &mut u32) -> bool: Store = store;
}

/// The places of all lanes in a piece of memory, if they have a pattern.
#[derive(Clone, Copy)]
enum Near {
    Same(u64),
    Row(u64),
    /// Each half at one place.
    SameHalves([u64; 2]),
    /// Each half in a row.
    RowHalves([u64; 2]),
}

/// Reads a word of a row by itself. The compiler would otherwise build the row's vectors from such words.
#[inline(always)]
fn alone<W: wide::Address>(row: &[W; LANES], lane: usize) -> W {
    // SAFETY: the pointer is one to an element of the row.
    unsafe { std::ptr::read_volatile(&raw const row[lane % LANES]) }
}

/// The memory that an address means, and the address of its first byte.
#[inline(always)]
pub(crate) fn view<'b>(
    spaces: &Spaces<'b>,
    memory: Memory,
    address: u64,
    hint: &mut u32,
) -> Option<(&'b SharedBytes, u64)> {
    match memory {
        Memory::Generic => {
            let (memory, window) = spaces.window_of(address);
            let (cells, base) = spaces.view(memory, address.wrapping_sub(window), hint)?;
            Some((cells, base.wrapping_add(window)))
        }
        _ => spaces.view(memory, address, hint),
    }
}

/// The memory of an access and the rows of its base.
#[inline(always)]
fn source<S: Source>(address: &Address) -> (Memory, Rows) {
    S::IS.unwrap_or((
        address.memory,
        match address.base {
            None => Rows::None,
            Some(base) if base.is_wide() => Rows::Wide,
            Some(_) => Rows::Narrow,
        },
    ))
}

/// The places of the lanes, if they have a pattern and are wholly inside one piece of memory and aligned.
#[inline(always)]
fn find_near<'b, S: Source, C: Cpu>(
    frame: &Frame,
    address: &Address,
    bytes: u64,
    at: At<'_, 'b>,
) -> Option<(&'b SharedBytes, Near)> {
    let (memory, rows) = source::<S>(address);
    match rows {
        Rows::None => {
            // A named variable is in the CTA's own memory.
            let window = if memory == Memory::Shared { at.spaces.window } else { 0 };
            let start = window.wrapping_add_signed(address.offset);
            let (cells, base) = view(at.spaces, memory, start, at.hint)?;
            inside(cells, start.wrapping_sub(base), bytes, bytes).map(|at| (cells, Near::Same(at)))
        }
        Rows::Narrow => near_in::<C, u32>(frame, address, memory, bytes, at),
        Rows::Wide => near_in::<C, u64>(frame, address, memory, bytes, at),
    }
}

/// The places of the lanes, if all of them are wholly inside one piece of memory and aligned. Lanes that do not take
/// part have the place of the first that does.
#[inline(always)]
fn find_each<'a, 'b, S: Source, C: Cpu>(
    frame: &Frame,
    address: &Address,
    bytes: u64,
    at: At<'_, 'b>,
    each: &'a mut [u64; LANES],
) -> Option<LaneOffsets<'a, 'b>> {
    let (memory, rows) = source::<S>(address);
    match rows {
        Rows::None => None,
        Rows::Narrow => each_in::<C, u32>(frame, address, memory, bytes, at, each),
        Rows::Wide => each_in::<C, u64>(frame, address, memory, bytes, at, each),
    }
}

/// A place, if a given number of bytes from it on are there, and it is aligned to the access.
#[inline(always)]
fn inside(cells: &SharedBytes, at: u64, bytes: u64, alignment: u64) -> Option<u64> {
    let last = cells.len().checked_sub(bytes)?;
    (at <= last && at & (alignment - 1) == 0).then_some(at)
}

#[inline(always)]
fn near_in<'b, C: Cpu, W: wide::Address>(
    frame: &Frame,
    address: &Address,
    memory: Memory,
    bytes: u64,
    At { spaces, taking, hint }: At<'_, 'b>,
) -> Option<(&'b SharedBytes, Near)> {
    const HALF: usize = LANES / 2;
    let row = &W::rows(frame)[address.base?.number() as usize].0;
    let offset = address.offset as u64;
    let lead = alone(row, taking.trailing_zeros() as usize);
    let start: u64 = lead.plus(offset).into();
    let (cells, base) = view(spaces, memory, start, hint)?;
    let at = start.wrapping_sub(base);
    // SAFETY: the CPU has the level: see the head of the file.
    let apart = |lead: W, step: u64| unsafe { C::apart(row, lead, step) };
    if taking != ALL {
        let same = apart(lead, 0) & taking == taking;
        return inside(cells, at, bytes, bytes).filter(|_| same).map(|at| (cells, Near::Same(at)));
    }
    // Two lanes suggest the pattern to check for.
    let second = alone(row, 1);
    let step = if second == lead { 0 } else { bytes };
    if second != lead.plus(step) {
        return None;
    }
    let lanes = if step == 0 { apart(lead, 0) } else { apart(lead, bytes) };
    if lanes == ALL {
        let (all, near) = if step == 0 { (1, Near::Same(at)) } else { (LANES as u64, Near::Row(at)) };
        return inside(cells, at, bytes * all, bytes).map(|_| (cells, near));
    }
    let middle = alone(row, HALF);
    let before = middle.plus((HALF as u64 * step).wrapping_neg());
    let low = if step == 0 { apart(before, 0) } else { apart(before, bytes) };
    if lanes as u16 != u16::MAX || low >> HALF != u32::from(u16::MAX) {
        return None;
    }
    let half = if step == 0 { bytes } else { bytes * HALF as u64 };
    let middle: u64 = middle.plus(offset).into();
    let halves = [inside(cells, at, half, bytes)?, inside(cells, middle.wrapping_sub(base), half, bytes)?];
    Some((cells, if step == 0 { Near::SameHalves(halves) } else { Near::RowHalves(halves) }))
}

#[inline(always)]
fn each_in<'a, 'b, C: Cpu, W: wide::Address>(
    frame: &Frame,
    address: &Address,
    memory: Memory,
    bytes: u64,
    At { spaces, taking, hint }: At<'_, 'b>,
    each: &'a mut [u64; LANES],
) -> Option<LaneOffsets<'a, 'b>> {
    let row = &W::rows(frame)[address.base?.number() as usize].0;
    let offset = address.offset as u64;
    let lead = alone(row, taking.trailing_zeros() as usize);
    let (cells, base) = view(spaces, memory, lead.plus(offset).into(), hint)?;
    let from = LaneAddresses { taking, lead, offset, base, last: 0, size: Size::new(bytes)? };
    // SAFETY: the CPU has the level: see the head of the file.
    unsafe { cells.places::<C, W>(row, from, each) }
}

/// The places of the lanes of an atomic operation, if all of them are in one piece of memory.
// In a function of its own it keeps its values in registers.
#[inline(never)]
pub(super) fn places<'b>(
    frame: &Frame,
    address: &Address,
    bytes: u64,
    At { spaces, taking, hint }: At<'_, 'b>,
) -> Option<(&'b SharedBytes, [u64; LANES])> {
    if address.base.is_none() {
        let at = At { spaces, taking, hint };
        return match find_near::<Any, Baseline>(frame, address, bytes, at)? {
            (cells, Near::Same(at)) => Some((cells, [at; LANES])),
            _ => None,
        };
    }
    let mut each = [0; LANES];
    let at = At { spaces, taking, hint };
    let cells = find_each::<Any, Baseline>(frame, address, bytes, at, &mut each)?.cells();
    Some((cells, each))
}

#[inline(always)]
fn load_near<C: RowCpu, S: Source, T: Scalar>(
    _: C,
    frame: &mut Frame,
    access: &Access,
    spaces: &Spaces<'_>,
    taking: u32,
    hint: &mut u32,
) -> bool {
    let at = At { spaces, taking, hint };
    let [register] = access.registers[..] else { return false };
    let bytes = T::BYTES as u64;
    let Some((cells, near)) = find_near::<S, C::Cpu>(frame, &access.address, bytes, at) else { return false };
    let mut row = [T::default(); LANES];
    match (near, register) {
        (Near::Same(at), _) => row = [T::load(cells, at as usize); LANES],
        // Directly to the register, where no conversion is needed.
        (Near::Row(at), Element { slot: Some(slot), bits: 32 }) if T::BYTES == 4 => {
            // SAFETY: the CPU has the level: see the head of the file.
            unsafe { cells.read_row::<C::Cpu, u32>(at, &mut frame.narrow[slot.number() as usize].0) }
            return true;
        }
        (Near::Row(at), Element { slot: Some(slot), bits: 64 }) if T::BYTES == 8 => {
            // SAFETY: the CPU has the level: see the head of the file.
            unsafe { cells.read_row::<C::Cpu, u64>(at, &mut frame.wide[slot.number() as usize].0) }
            return true;
        }
        // SAFETY: the CPU has the level: see the head of the file.
        (Near::Row(at), _) => unsafe { cells.read_row::<C::Cpu, T>(at, &mut row) },
        (Near::SameHalves([first, second]), _) => {
            let (low, high) = row.split_at_mut(LANES / 2);
            low.fill(T::load(cells, first as usize));
            high.fill(T::load(cells, second as usize));
        }
        (Near::RowHalves([first, second]), _) => {
            let (low, high) = row.split_at_mut(LANES / 2);
            // SAFETY: the CPU has the level: see the head of the file.
            unsafe {
                cells.read_row::<C::Cpu, T>(first, low);
                cells.read_row::<C::Cpu, T>(second, high);
            }
        }
    }
    put(frame, access.signed, register, &row, taking);
    true
}

#[inline(always)]
fn load_apart<C: RowCpu, S: Source, T: Scalar>(
    _: C,
    frame: &mut Frame,
    access: &Access,
    spaces: &Spaces<'_>,
    taking: u32,
    hint: &mut u32,
) -> bool {
    let at = At { spaces, taking, hint };
    let [register] = access.registers[..] else { return false };
    let mut each = [0; LANES];
    let found = find_each::<S, C::Cpu>(frame, &access.address, T::BYTES as u64, at, &mut each);
    let Some(places) = found else { return false };
    // SAFETY: the CPU has the level: see the head of the file.
    let row = unsafe { places.gather::<C::Cpu, T>(0) };
    put(frame, access.signed, register, &row, taking);
    true
}

/// Whether a store to memory is left to the general functions, which report the fault: kernel parameters must not be
/// written.
#[inline(always)]
fn is_refused<S: Source>(cells: &SharedBytes, spaces: &Spaces<'_>) -> bool {
    let checked = matches!(S::IS, None | Some((Memory::Generic | Memory::Kernel, _)));
    checked && std::ptr::eq(cells, spaces.parameters)
}

#[inline(always)]
fn store<C: RowCpu, S: Source, T: Scalar>(
    _: C,
    frame: &Frame,
    access: &Access,
    spaces: &Spaces<'_>,
    taking: u32,
    hint: &mut u32,
) -> bool {
    let [register] = access.registers[..] else { return false };
    let bytes = T::BYTES as u64;
    let near = find_near::<S, C::Cpu>(frame, &access.address, bytes, At { spaces, taking, hint: &mut *hint });
    match (near, register) {
        (Some((cells, _)), _) if is_refused::<S>(cells, spaces) => return false,
        (Some((cells, Near::Row(at))), Element { slot: Some(slot), bits: ..=32 }) if T::BYTES == 4 => {
            // SAFETY: the CPU has the level: see the head of the file.
            unsafe { cells.write_row::<C::Cpu, u32>(at, &frame.narrow[slot.number() as usize].0) };
        }
        (Some((cells, Near::Row(at))), Element { slot: Some(slot), bits: 64 }) if T::BYTES == 8 => {
            // SAFETY: the CPU has the level: see the head of the file.
            unsafe { cells.write_row::<C::Cpu, u64>(at, &frame.wide[slot.number() as usize].0) };
        }
        (Some((cells, Near::Same(at))), _) => {
            let last = order::winner(bytes, taking);
            elements::<T>(frame, register)[last].store(cells, at as usize);
        }
        _ => {
            let mut each = [0; LANES];
            let at = At { spaces, taking, hint };
            let places = find_each::<S, C::Cpu>(frame, &access.address, bytes, at, &mut each);
            let Some(places) = places.filter(|places| !is_refused::<S>(places.cells(), spaces)) else {
                return false;
            };
            places.scatter(0, &elements::<T>(frame, register), taking);
        }
    }
    true
}
