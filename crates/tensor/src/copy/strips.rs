//! Strips of usual shapes, moved by loops compiled for their row lengths.

use super::{CELL_BYTES, Memory, Outside};
use crate::swizzle::{CELL, LINE};
use crate::walk::{Packing, RowLayout, Strip};

/// How a strip can be moved.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// Its rows are the same in both memories.
    Rows,
    /// Its rows are blocks of a given number of bytes, at most a line, whose cells are exchanged.
    Blocks(u32),
}

impl Way {
    /// The way for a strip of plain bytes in the tensor; `None` if it has none of these shapes.
    pub fn of(layout: &RowLayout, strip: &Strip) -> Option<Way> {
        if strip.source.is_none() || layout.packing != Packing::Plain {
            return None;
        }
        if layout.swizzle.exchanges().is_empty() {
            return Some(Way::Rows);
        }
        let pitch = if strip.rows == 1 { 0 } else { layout.pitch };
        let alignment = (u64::from(strip.units | pitch | LINE) | strip.linear).trailing_zeros();
        (alignment >= CELL.trailing_zeros()).then_some(Way::Blocks(1 << alignment))
    }
}

/// Calls `$function` with the row's length as a constant if it is a usual one.
macro_rules! by_length {
    ($units:expr, $function:ident($($argument:expr),*)) => {
        match $units {
            16 => $function::<16, _>($($argument),*),
            32 => $function::<32, _>($($argument),*),
            64 => $function::<64, _>($($argument),*),
            128 => $function::<128, _>($($argument),*),
            256 => $function::<256, _>($($argument),*),
            _ => $function::<0, _>($($argument),*),
        }
    };
}

/// Chooses an instance of a function by the length of a block.
macro_rules! by_block {
    ($bytes:expr, $function:ident($($argument:expr),*)) => {
        match $bytes {
            32 => $function::<32, _>($($argument),*),
            64 => $function::<64, _>($($argument),*),
            128 => $function::<128, _>($($argument),*),
            _ => $function::<CELL_BYTES, _>($($argument),*),
        }
    };
}

pub(super) fn load<M: Memory + ?Sized>(
    way: Way,
    layout: &RowLayout,
    strip: Strip,
    global: &M,
    shared: &mut [u8],
) -> Result<(), Outside> {
    match way {
        Way::Rows => by_length!(strip.units, load_rows(layout, strip, global, shared)),
        Way::Blocks(bytes) => by_block!(bytes, load_blocks(layout, strip, global, shared)),
    }
}

pub(super) fn store<M: Memory + ?Sized>(
    way: Way,
    layout: &RowLayout,
    strip: Strip,
    shared: &[u8],
    global: &mut M,
) -> Result<(), Outside> {
    match way {
        Way::Rows => by_length!(strip.units, store_rows(layout, strip, shared, global)),
        Way::Blocks(bytes) => by_block!(bytes, store_blocks(layout, strip, shared, global)),
    }
}

/// Rows that are the same in both memories, of `N` bytes if that is not 0.
#[inline]
fn load_rows<const N: usize, M: Memory + ?Sized>(
    layout: &RowLayout,
    strip: Strip,
    global: &M,
    shared: &mut [u8],
) -> Result<(), Outside> {
    for piece in strip.pieces(layout) {
        let (offset, start) = (piece.source.unwrap_or(u64::MAX), piece.linear as usize);
        if N == 0 {
            global.read(offset, &mut shared[start..start + piece.units as usize])?;
        } else {
            global.read(offset, &mut shared[start..start + N])?;
        }
    }
    Ok(())
}

/// The way back.
#[inline]
fn store_rows<const N: usize, M: Memory + ?Sized>(
    layout: &RowLayout,
    strip: Strip,
    shared: &[u8],
    global: &mut M,
) -> Result<(), Outside> {
    for piece in strip.pieces(layout) {
        let (offset, start) = (piece.source.unwrap_or(u64::MAX), piece.linear as usize);
        if N == 0 {
            global.write(offset, &shared[start..start + piece.units as usize])?;
        } else {
            global.write(offset, &shared[start..start + N])?;
        }
    }
    Ok(())
}

/// Rows that are blocks of `N` bytes, whose cells are exchanged.
#[inline]
fn load_blocks<const N: usize, M: Memory + ?Sized>(
    layout: &RowLayout,
    strip: Strip,
    global: &M,
    shared: &mut [u8],
) -> Result<(), Outside> {
    let exchange = layout.swizzle.pair();
    for piece in strip.pieces(layout) {
        let mut offset = piece.source.unwrap_or(u64::MAX);
        let mut linear = piece.linear;
        for _ in 0..piece.units as usize / N {
            let mut copy = [0; N];
            let block = match global.view(offset, N).and_then(|bytes| bytes.first_chunk()) {
                Some(block) => block,
                None => {
                    global.read(offset, &mut copy)?;
                    &copy
                }
            };
            let (target, difference) = exchange.block::<N>(linear);
            if let Some(target) = shared[target..].first_chunk_mut() {
                exchange_cells(block, difference, target);
            }
            offset = offset.saturating_add(N as u64);
            linear += N as u64;
        }
    }
    Ok(())
}

/// The way back.
#[inline]
fn store_blocks<const N: usize, M: Memory + ?Sized>(
    layout: &RowLayout,
    strip: Strip,
    shared: &[u8],
    global: &mut M,
) -> Result<(), Outside> {
    let exchange = layout.swizzle.pair();
    for piece in strip.pieces(layout) {
        let mut offset = piece.source.unwrap_or(u64::MAX);
        let mut linear = piece.linear;
        for _ in 0..piece.units as usize / N {
            let (source, difference) = exchange.block::<N>(linear);
            let mut block = [0; N];
            if let Some(source) = shared[source..].first_chunk() {
                exchange_cells(source, difference, &mut block);
            }
            global.write(offset, &block)?;
            offset = offset.saturating_add(N as u64);
            linear += N as u64;
        }
    }
    Ok(())
}

/// A block with its cells exchanged, and in them their halves if the difference says so; the same undoes it.
#[inline(always)]
pub(super) fn exchange_cells<const N: usize>(source: &[u8; N], difference: usize, target: &mut [u8; N]) {
    let (from, to) = (source.as_chunks::<CELL_BYTES>().0, target.as_chunks_mut::<CELL_BYTES>().0);
    let count = N / CELL_BYTES;
    let cells = difference / CELL_BYTES % count;
    if difference & 8 == 0 {
        for cell in 0..count {
            to[cell ^ cells] = from[cell];
        }
    } else {
        for cell in 0..count {
            to[cell ^ cells] = u128::from_le_bytes(from[cell]).rotate_left(64).to_le_bytes();
        }
    }
}
