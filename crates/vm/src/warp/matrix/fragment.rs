//! `wmma.load` and `wmma.store` (PTX ISA sections 9.7.14.4.3 and 9.7.14.4.4): each lane its own elements.

use super::Places;
use crate::fault::{Tried, Use};
use crate::memory::cell::Unit;
use crate::program::matrix::Memory;
use crate::program::{NONE, Operands};
use softwarp_units::lanes::{Frame, LANES, lanes};

/// What a lane reads or writes at once: where it lies, from the lane's address; how far up in the register; which one.
pub(super) struct Piece {
    pub offset: u64,
    shift: u32,
    register: usize,
}

impl Piece {
    /// What a lane stores; only the low bytes count.
    pub(super) fn word(&self, frame: &Frame, memory: &Memory, operands: &Operands, lane: usize) -> u64 {
        let slot = operands.reads[self.register];
        match memory.bits {
            64 => frame.row::<u64>(slot)[lane],
            _ => u64::from(frame.row::<u32>(slot)[lane] >> self.shift),
        }
    }
}

impl Memory {
    /// Bytes of a piece.
    pub(super) fn piece_bytes(&self) -> u64 {
        if self.bits < 32 && self.along { 4 } else { u64::from(self.bits / 8) }
    }

    /// The pieces of a lane: whole registers where their elements are neighbours in memory.
    pub(super) fn pieces(&self, lane: usize, stride: u64) -> impl Iterator<Item = Piece> {
        let each = (32 / self.bits).max(1) as usize;
        let step = if self.along { each } else { 1 };
        let elements = self.fragment.elements.iter().enumerate().step_by(step);
        elements.map(move |(at, &part)| {
            let index = usize::from(self.fragment.lanes[lane]) + usize::from(part);
            let (line, within) = ((index / self.length) as u64, (index % self.length) as u64);
            let element = match self.along {
                true => line.wrapping_mul(stride).wrapping_add(within),
                false => within.wrapping_mul(stride).wrapping_add(line),
            };
            let offset = element.wrapping_mul(u64::from(self.bits)) / 8;
            Piece { offset, shift: (at % each) as u32 * self.bits, register: at / each }
        })
    }

    /// Elements of ours from line to line, as a lane says.
    pub(super) fn stride_of(&self, frame: &Frame, slot: Option<&u32>, lane: usize) -> u64 {
        slot.map_or(self.stride, |&slot| frame.row::<u32>(slot)[lane].into()) / self.unit
    }
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
        let stride = memory.stride_of(frame, operands.reads.first(), lane);
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
        for piece in memory.pieces(lane, memory.stride_of(frame, stride, lane)) {
            places.judge(lane, piece.offset, bytes, Use::Write)?;
        }
    }
    for lane in lanes(taking) {
        for piece in memory.pieces(lane, memory.stride_of(frame, stride, lane)) {
            let word = piece.word(frame, memory, operands, lane);
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
