//! Tensor copies performed: loads, stores and reductions between bytes (PTX ISA section 5.5).
//!
//! Shared memory is a slice that begins at shared address 0, so that a swizzle sees the addresses that the hardware
//! would; global memory is a [`Memory`], counted from the tensor's address.
//!
//! A copy is a few strips, each of equal rows at equal steps. Rows of usual lengths are moved by loops compiled for
//! them (`strips.rs`), swizzled ones in blocks within which the swizzle is one exclusive or. The general way
//! (`general.rs`) is for all that is rarer.

mod general;
mod strips;

use crate::map::Map;
use crate::swizzle::{CELL, LINE};
use crate::types::{Element, Fill};
use crate::walk::{CopyFault, Direction, Request, Walk};
use softwarp_num::{Conversion, Format};
use strips::Way;

const LINE_BYTES: usize = LINE as usize;
const CELL_BYTES: usize = CELL as usize;

/// The 16-bit lanes of the special NaN that fills.
const NAN_LANE: u16 = 0x7ff7;

/// Global memory as a tensor sees it: offsets are from the tensor's address.
pub trait Memory {
    /// Reads all of `into` from `offset`.
    fn read(&self, offset: u64, into: &mut [u8]) -> Result<(), Outside>;

    /// Writes all of `from` to `offset`.
    fn write(&mut self, offset: u64, from: &[u8]) -> Result<(), Outside>;

    /// The bytes themselves, where a memory has them in one piece: saves a copy.
    fn view(&self, _offset: u64, _length: usize) -> Option<&[u8]> {
        None
    }
}

/// Not all of these bytes are memory that may be accessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outside {
    /// The offset of the first.
    pub offset: u64,
    /// The number of bytes.
    pub length: usize,
}

impl Memory for [u8] {
    #[inline]
    fn read(&self, offset: u64, into: &mut [u8]) -> Result<(), Outside> {
        let outside = Outside { offset, length: into.len() };
        let start = usize::try_from(offset).map_err(|_| outside)?;
        let end = start.checked_add(into.len()).ok_or(outside)?;
        into.copy_from_slice(self.get(start..end).ok_or(outside)?);
        Ok(())
    }

    #[inline]
    fn write(&mut self, offset: u64, from: &[u8]) -> Result<(), Outside> {
        let outside = Outside { offset, length: from.len() };
        let start = usize::try_from(offset).map_err(|_| outside)?;
        let end = start.checked_add(from.len()).ok_or(outside)?;
        self.get_mut(start..end).ok_or(outside)?.copy_from_slice(from);
        Ok(())
    }

    #[inline]
    fn view(&self, offset: u64, length: usize) -> Option<&[u8]> {
        let start = usize::try_from(offset).ok()?;
        self.get(start..start.checked_add(length)?)
    }
}

impl From<Outside> for CopyFault {
    fn from(outside: Outside) -> CopyFault {
        let Outside { offset, length } = outside;
        let message = format!("{length} bytes at byte {offset} of the tensor are not in global memory");
        CopyFault { code: "copy-global-memory", message }
    }
}

/// What a load did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loaded {
    /// The bytes that complete on the mbarrier.
    pub transaction_bytes: u64,
}

/// Loads from global to shared memory. After a fault for memory that is not there, part of the copy may be done.
pub fn load<M: Memory + ?Sized>(
    map: &Map,
    request: &Request,
    global: &M,
    shared: &mut [u8],
) -> Result<Loaded, CopyFault> {
    if request.direction != Direction::Load {
        return Err(wrong_way("load"));
    }
    let walk = Walk::new(map, request)?;
    let loaded = Loaded { transaction_bytes: walk.transaction_bytes() };
    let shared = window(&walk, shared.len()).map(|length| &mut shared[..length])?;
    let layout = *walk.layout();
    let rounding = match map.element {
        Element::Tf32 | Element::Tf32Ftz => Conversion::new(Format::F32, Format::Tf32).compiled(),
        _ => None,
    };
    let fill = fill_line(map);
    for strip in walk.strips() {
        match Way::of(&layout, &strip).filter(|_| rounding.is_none()) {
            Some(way) => strips::load(way, &layout, strip, global, shared)?,
            None => {
                for piece in strip.pieces(&layout) {
                    general::load(&layout, piece, global, shared, &fill, rounding.as_ref())?;
                }
            }
        }
    }
    Ok(loaded)
}

/// Stores from shared to global memory, or reduces, as the request says. After a fault for memory that is not
/// there, part of the copy may be done.
pub fn store<M: Memory + ?Sized>(
    map: &Map,
    request: &Request,
    shared: &[u8],
    global: &mut M,
) -> Result<(), CopyFault> {
    let operation = match request.direction {
        Direction::Load => return Err(wrong_way("store or reduction")),
        Direction::Store => None,
        Direction::Reduce(operation) => Some((operation, map.element)),
    };
    let walk = Walk::new(map, request)?;
    let shared = window(&walk, shared.len()).map(|length| &shared[..length])?;
    let layout = *walk.layout();
    for strip in walk.strips().filter(|strip| strip.source.is_some()) {
        match Way::of(&layout, &strip).filter(|_| operation.is_none()) {
            Some(way) => strips::store(way, &layout, strip, shared, global)?,
            None => {
                for piece in strip.pieces(&layout) {
                    general::store(&layout, piece, shared, global, operation)?;
                }
            }
        }
    }
    Ok(())
}

fn wrong_way(what: &str) -> CopyFault {
    CopyFault { code: "copy-mode", message: format!("the request is not for a {what}") }
}

/// How much of shared memory a copy uses, from address 0; all that it touches is in there.
fn window(walk: &Walk, length: usize) -> Result<usize, CopyFault> {
    let start = walk.layout().shared;
    let footprint = walk.footprint();
    match start.checked_add(footprint).map(usize::try_from) {
        Some(Ok(end)) if end <= length => Ok(end),
        _ => Err(CopyFault {
            code: "copy-shared-memory",
            message: format!(
                "{footprint} bytes from shared address {start:#x} are not in {length} bytes of it"
            ),
        }),
    }
}

/// A line of what elements outside the tensor read as.
fn fill_line(map: &Map) -> [u8; LINE_BYTES] {
    let lane = if map.fill == Fill::Nan && map.element.is_float() { NAN_LANE } else { 0 };
    std::array::from_fn(|at| lane.to_le_bytes()[at % 2])
}
