//! `wmma.load` and `wmma.store` (PTX ISA sections 9.7.14.4.3 and 9.7.14.4.4): each lane its own elements.

use super::Places;
use crate::fault::{Tried, Use};
use crate::memory::cell::Unit;
use softwarp_ir::matrix::{Memory, Piece};
use softwarp_ir::{NONE, Operands};
use softwarp_units::lanes::{Frame, LANES, lanes};

/// What a lane stores; only the low bytes count.
pub(super) fn word(piece: &Piece, frame: &Frame, memory: &Memory, operands: &Operands, lane: usize) -> u64 {
    let slot = operands.reads[piece.register];
    match memory.bits {
        64 => frame.row::<u64>(slot)[lane],
        _ => u64::from(frame.row::<u32>(slot)[lane] >> piece.shift),
    }
}

/// Elements from one line in memory to the next, as a lane says.
pub(super) fn stride_of(memory: &Memory, frame: &Frame, slot: Option<&u32>, lane: usize) -> u64 {
    slot.map_or(memory.stride, |&slot| frame.row::<u32>(slot)[lane].into()) / memory.unit
}

pub(super) fn load(
    frame: &mut Frame,
    memory: &Memory,
    operands: &Operands,
    places: &Places<'_, '_>,
    taking: u32,
) -> Tried<()> {
    let bytes = memory.piece_bytes();
    let mut rows = [[0u64; LANES]; 8];
    for lane in lanes(taking) {
        let stride = stride_of(memory, frame, operands.reads.first(), lane);
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
    for (&slot, row) in operands.writes.iter().zip(rows) {
        if slot == NONE {
            continue;
        }
        match memory.bits {
            64 => frame.set_row(slot, row, taking),
            _ => frame.set_row(slot, row.map(|word| word as u32), taking),
        }
    }
    Ok(())
}

pub(super) fn store(
    frame: &Frame,
    memory: &Memory,
    operands: &Operands,
    places: &Places<'_, '_>,
    taking: u32,
) -> Tried<()> {
    let bytes = memory.piece_bytes();
    let registers = memory.fragment.registers();
    let stride = operands.reads.get(registers);
    for lane in lanes(taking) {
        for piece in memory.pieces(lane, stride_of(memory, frame, stride, lane)) {
            places.judge(lane, piece.offset, bytes, Use::Write)?;
        }
    }
    for lane in lanes(taking) {
        for piece in memory.pieces(lane, stride_of(memory, frame, stride, lane)) {
            let word = word(&piece, frame, memory, operands, lane);
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
