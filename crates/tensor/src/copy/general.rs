//! Any piece of a copy, a line of shared memory at a time: fill, rounding, reductions, elements below a byte, rows
//! that end within a cell.

use super::strips::exchange_cells;
use super::{CELL_BYTES, LINE_BYTES, Memory};
use crate::reduce::Operation;
use crate::types::Element;
use crate::walk::{CopyFault, Packing, Piece, RowLayout};
use softwarp_num::ConversionLoop;

/// What of a piece is in one line of shared memory; of elements below a byte, one unit.
struct Portion {
    /// The shared address before swizzling, and the bits in which the real one differs.
    linear: usize,
    difference: usize,
    /// Bytes in global memory.
    global: usize,
    /// Bytes in shared memory that are read or written.
    shared: usize,
    rest: Option<Piece>,
}

impl Portion {
    #[inline]
    fn of(layout: &RowLayout, piece: Piece) -> Portion {
        let linear = piece.linear as usize;
        let units = match layout.packing {
            Packing::Plain => piece.units.min((LINE_BYTES - linear % LINE_BYTES) as u32),
            _ => 1,
        };
        let global = (units * layout.global_unit) as usize;
        Portion {
            linear,
            difference: layout.swizzle.difference(piece.linear) as usize,
            global,
            shared: if layout.packing == Packing::SixBits { CELL_BYTES } else { global },
            rest: layout.after(piece, units),
        }
    }

    /// Whether it is a line that is the same in both memories but for the exchange of cells.
    #[inline]
    fn is_line(&self) -> bool {
        self.global == LINE_BYTES
    }
}

#[inline]
pub(super) fn load<M: Memory + ?Sized>(
    layout: &RowLayout,
    piece: Piece,
    global: &M,
    shared: &mut [u8],
    fill: &[u8; LINE_BYTES],
    rounding: Option<&ConversionLoop>,
) -> Result<(), CopyFault> {
    let mut rest = Some(piece);
    while let Some(piece) = rest {
        let portion = Portion::of(layout, piece);
        let mut line = *fill;
        if let Some(offset) = piece.source {
            if portion.is_line() {
                global.read(offset, &mut line)?;
            } else {
                global.read(offset, &mut line[..portion.global])?;
            }
            if let Some(kernel) = rounding {
                let exact = line;
                kernel.run(&exact[..portion.global], &[], &mut line[..portion.global]);
            }
        }
        match shared.get_mut(portion.linear..).and_then(|rest| rest.first_chunk_mut()) {
            Some(target) if portion.is_line() => exchange_cells(&line, portion.difference, target),
            _ => exchanged(portion.linear, portion.difference, portion.shared, |from, length, to| {
                shared[to..to + length].copy_from_slice(&line[from..from + length]);
            }),
        }
        rest = portion.rest;
    }
    Ok(())
}

#[inline]
pub(super) fn store<M: Memory + ?Sized>(
    layout: &RowLayout,
    piece: Piece,
    shared: &[u8],
    global: &mut M,
    operation: Option<(Operation, Element)>,
) -> Result<(), CopyFault> {
    let mut rest = Some(piece);
    while let Some(piece) = rest
        && let Some(offset) = piece.source
    {
        let portion = Portion::of(layout, piece);
        let mut line = [0; LINE_BYTES];
        match shared.get(portion.linear..).and_then(|rest| rest.first_chunk()) {
            Some(source) if portion.is_line() => exchange_cells(source, portion.difference, &mut line),
            _ => exchanged(portion.linear, portion.difference, portion.shared, |to, length, from| {
                line[to..to + length].copy_from_slice(&shared[from..from + length]);
            }),
        }
        if layout.packing == Packing::SixBits {
            pack_six_bits(&mut line);
        }
        if let Some((operation, element)) = operation {
            let mut sum = [0; LINE_BYTES];
            global.read(offset, &mut sum[..portion.global])?;
            operation.apply(element, &mut sum[..portion.global], &line[..portion.global]);
            line = sum;
        }
        if portion.is_line() {
            global.write(offset, &line)?;
        } else {
            global.write(offset, &line[..portion.global])?;
        }
        rest = portion.rest;
    }
    Ok(())
}

/// Cuts `length` bytes of a line at `linear` into pieces that an exchange leaves together, and gives for each where
/// it is among the bytes, how long it is, and its shared address.
#[inline]
fn exchanged(linear: usize, difference: usize, length: usize, mut each: impl FnMut(usize, usize, usize)) {
    let grain = if difference == 0 { LINE_BYTES } else { difference & difference.wrapping_neg() };
    let mut at = 0;
    while at < length {
        let address = linear + at;
        let piece = (grain - address % grain).min(length - at);
        each(at, piece, address ^ difference);
        at += piece;
    }
}

/// The low six bits of each of the first sixteen bytes, as twelve bytes.
fn pack_six_bits(line: &mut [u8; LINE_BYTES]) {
    let packed =
        line[..CELL_BYTES].iter().rev().fold(0_u128, |bits, byte| bits << 6 | u128::from(byte & 0x3f));
    line[..CELL_BYTES].copy_from_slice(&packed.to_le_bytes());
}
