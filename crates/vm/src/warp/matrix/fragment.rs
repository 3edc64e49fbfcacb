//! `wmma.load` and `wmma.store` (PTX ISA sections 9.7.14.4.3 and 9.7.14.4.4): each lane its own elements.

use super::Places;
use crate::fault::{Tried, Use};
use crate::memory::cell::Unit;
use softwarp_ir::Slot;
use softwarp_ir::matrix::{FragmentLoad, FragmentStore, Memory, Piece};
use softwarp_units::lanes::{Frame, LANES, lanes};

/// What a lane stores; only the low bytes count.
pub(super) fn word(piece: &Piece, frame: &Frame, op: &FragmentStore, lane: usize) -> u64 {
    let slot = op.data[piece.register];
    match op.memory.bits {
        64 => frame.row::<u64>(slot)[lane],
        _ => u64::from(frame.row::<u32>(slot)[lane] >> piece.shift),
    }
}

/// Elements from one line in memory to the next, as a lane says.
pub(super) fn stride_of(memory: &Memory, frame: &Frame, slot: Option<Slot>, lane: usize) -> u64 {
    slot.map_or(memory.stride, |slot| frame.row::<u32>(slot)[lane].into()) / memory.unit
}

pub(super) fn load(frame: &mut Frame, op: &FragmentLoad, places: &Places<'_, '_>, taking: u32) -> Tried<()> {
    let memory = &*op.memory;
    let bytes = memory.piece_bytes();
    let mut rows = [[0u64; LANES]; 8];
    for lane in lanes(taking) {
        let stride = stride_of(memory, frame, op.stride, lane);
        for Piece { offset, shift, register } in memory.pieces(lane, stride) {
            let (cells, at) = places.judge(lane, offset, bytes, Use::Read)?;
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

pub(super) fn store(frame: &Frame, op: &FragmentStore, places: &Places<'_, '_>, taking: u32) -> Tried<()> {
    let memory = &*op.memory;
    let bytes = memory.piece_bytes();
    for lane in lanes(taking) {
        for piece in memory.pieces(lane, stride_of(memory, frame, op.stride, lane)) {
            places.judge(lane, piece.offset, bytes, Use::Write)?;
        }
    }
    for lane in lanes(taking) {
        for piece in memory.pieces(lane, stride_of(memory, frame, op.stride, lane)) {
            let word = word(&piece, frame, op, lane);
            let (cells, at) = places.judge(lane, piece.offset, bytes, Use::Write)?;
            match bytes {
                1 => u8::from_word(word).store(cells, at),
                2 => u16::from_word(word).store(cells, at),
                4 => u32::from_word(word).store(cells, at),
                _ => word.store(cells, at),
            }
        }
    }
    Ok(())
}
