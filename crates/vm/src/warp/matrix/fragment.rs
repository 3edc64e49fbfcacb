//! `wmma.load` and `wmma.store` (PTX ISA sections 9.7.14.4.3 and 9.7.14.4.4): each lane its own elements.

use super::MatrixAddresses;
use crate::fault::{Tried, Use};
use crate::memory::cell::{Scalar, Unit};
use crate::warp::run::first;
use softwarp_ir::Slot;
use softwarp_ir::matrix::{FragmentLoad, FragmentStore, Memory, Piece};
use softwarp_units::lanes::{Frame, LANES, lanes};

/// The word that a lane stores; only the low bytes are stored.
pub(super) fn word(piece: &Piece, frame: &Frame, op: &FragmentStore, lane: usize) -> u64 {
    let slot = op.data[piece.register];
    match op.memory.bits {
        64 => frame.wide[slot.number() as usize].0[lane],
        _ => u64::from(frame.narrow[slot.number() as usize].0[lane] >> piece.shift),
    }
}

/// The accesses of lanes: each piece begins `offset` bytes behind the lane's address, and has [`Memory::piece_bytes`].
pub(super) fn pieces(
    memory: &Memory,
    frame: &Frame,
    stride: Option<Slot>,
    taking: u32,
) -> impl Iterator<Item = (usize, Piece)> {
    let strides = strides(memory, frame, stride);
    lanes(taking).flat_map(move |lane| memory.pieces(lane, strides[lane]).map(move |piece| (lane, piece)))
}

/// Elements from one line in memory to the next, as each lane says.
fn strides(memory: &Memory, frame: &Frame, slot: Option<Slot>) -> [u64; LANES] {
    let strides = slot.map_or([memory.stride; LANES], |slot| frame.row::<u32>(slot).map(u64::from));
    strides.map(|stride| stride / memory.unit)
}

/// `wmma.load`
pub(super) fn load(
    frame: &mut Frame,
    op: &FragmentLoad,
    places: &MatrixAddresses<'_, '_>,
    taking: u32,
) -> Tried<()> {
    let memory = &*op.memory;
    let bytes = memory.piece_bytes();
    let mut rows = [[0u64; LANES]; 8];
    let near = places.piece(first(taking));
    let strides = strides(memory, frame, op.stride);
    for lane in lanes(taking) {
        for Piece { offset, shift, register } in memory.pieces(lane, strides[lane]) {
            let (cells, at) = places.judge_near(near, (lane, offset), bytes, Use::Read)?;
            let value = match bytes {
                1 => u8::load(cells, at).to_word(),
                2 => u16::load(cells, at).to_word(),
                4 => u32::load(cells, at).to_word(),
                _ => u64::load(cells, at),
            };
            rows[register % 8][lane] |= value << shift;
        }
    }
    for (&slot, row) in op.d.iter().zip(rows) {
        let Some(slot) = slot else { continue };
        match memory.bits {
            64 => frame.set_row(slot, row, taking),
            _ => frame.set_row(slot, row.map(|word| word as u32), taking),
        }
    }
    Ok(())
}

/// `wmma.store`
pub(super) fn store(
    frame: &Frame,
    op: &FragmentStore,
    places: &MatrixAddresses<'_, '_>,
    taking: u32,
) -> Tried<()> {
    let memory = &*op.memory;
    let (bytes, near) = (memory.piece_bytes(), places.piece(first(taking)));
    let strides = strides(memory, frame, op.stride);
    // Nothing is written if one of the accesses is a fault.
    for is_checked in [false, true] {
        for lane in lanes(taking) {
            for piece in memory.pieces(lane, strides[lane]) {
                let (cells, at) = places.judge_near(near, (lane, piece.offset), bytes, Use::Write)?;
                if !is_checked {
                    continue;
                }
                let word = word(&piece, frame, op, lane);
                match bytes {
                    1 => u8::from_word(word).store(cells, at),
                    2 => u16::from_word(word).store(cells, at),
                    4 => u32::from_word(word).store(cells, at),
                    _ => word.store(cells, at),
                }
            }
        }
    }
    Ok(())
}
