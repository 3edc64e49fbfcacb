//! `tcgen05.ld` and `tcgen05.st` (PTX ISA section 9.7.16.8).

use super::{address, uniform, wrong};
use crate::fault::Tried;
use crate::warp::run::first;
use crate::warp::{Env, Warp};
use softwarp_ir::tensor_core::{ReducedNumbers, Reduction, TensorAddress, TensorLoad, TensorStore};
use softwarp_units::lanes::LANES;
use softwarp_units::tensor_core::fragment::{Cell, Fragment, Shape};
use softwarp_units::tensor_core::{Address, COLUMNS};

/// Where an access begins: the lane, and the columns of both parts of `.16x32bx2`.
struct Start {
    lane: usize,
    columns: [usize; 2],
}

impl Start {
    /// The word of a cell.
    fn word(&self, cell: Cell) -> usize {
        (self.lane + cell.lane) * COLUMNS + self.columns[usize::from(cell.second)] + cell.column
    }
}

impl Warp {
    /// Checks the address of a load or store: the same in all threads, in lanes that the warp may access, in columns that
    /// are allocated.
    fn access_start(
        &self,
        env: &Env<'_>,
        call: usize,
        operand: TensorAddress,
        (fragment, split): (&Fragment, u32),
        taking: u32,
    ) -> Tried<Start> {
        let frame = &self.calls[call].frame;
        let lane = first(taking);
        let all = std::array::from_fn(|lane| address(frame, operand, lane).0);
        let at = Address(uniform(&all, taking, "tensor memory addresses")?);
        let own = self.index as usize % 4 * 32;
        let (begin, count) = (at.lane(), fragment.shape.lanes());
        if begin < own || begin + count > own + 32 || !begin.is_multiple_of(16) {
            return wrong(
                lane,
                format!(
                    "tensor memory address {:#010x} names lanes {begin} to {}: warp {} accesses lanes {own} to {} only, \
                     from {} on",
                    at.0,
                    begin + count - 1,
                    self.index,
                    own + 31,
                    if count == 32 { own.to_string() } else { format!("{own} or {}", own + 16) }
                ),
            );
        }
        let memory = &env.tensor[env.rank as usize];
        let columns = [at.column(), at.column() + split as usize];
        let parts = if fragment.shape == Shape::Lanes16x32bx2 { 2 } else { 1 };
        for &column in &columns[..parts] {
            let part = Address((begin as u32) << 16 | column.min(0xffff) as u32);
            if let Err(message) = memory.check(part, count, fragment.columns()) {
                return wrong(lane, message);
            }
        }
        Ok(Start { lane: begin, columns })
    }

    /// `tcgen05.ld`
    pub(super) fn tensor_load(
        &mut self,
        env: &mut Env<'_>,
        call: usize,
        op: &TensorLoad,
        taking: u32,
    ) -> Tried<()> {
        let fragment = &op.fragment;
        let start = self.access_start(env, call, op.address, (fragment, op.split), taking)?;
        let words = env.tensor[env.rank as usize].lanes(0, softwarp_units::tensor_core::LANES);
        let word = |at: usize| words.get(at).copied().unwrap_or(0);
        let frame = &mut self.calls[call].frame;
        let mut reduced = [None; LANES];
        for (register, &slot) in op.d.iter().enumerate() {
            let row: [u32; LANES] = std::array::from_fn(|thread| {
                let at = start.word(fragment.cell(register, thread));
                match fragment.packed {
                    true => word(at) & 0xffff | word(at + 1) << 16,
                    false => word(at),
                }
            });
            if let Some(reduction) = op.reduction {
                for (reduced, &word) in reduced.iter_mut().zip(&row) {
                    *reduced =
                        Some(reduced.map_or_else(|| reduction.alone(word), |old| reduction.of(old, word)));
                }
            }
            if let Some(slot) = slot {
                frame.set_row(slot, row, taking);
            }
        }
        if let Some(slot) = op.reduced {
            frame.set_row(slot, reduced.map(Option::unwrap_or_default), taking);
        }
        env.meter.work(op.d.len() as u64 / 8);
        Ok(())
    }

    /// `tcgen05.st`
    pub(super) fn tensor_store(
        &mut self,
        env: &mut Env<'_>,
        call: usize,
        op: &TensorStore,
        taking: u32,
    ) -> Tried<()> {
        let fragment = &op.fragment;
        let start = self.access_start(env, call, op.address, (fragment, op.split), taking)?;
        let frame = &self.calls[call].frame;
        let words = env.tensor[env.rank as usize].lanes_mut(0, softwarp_units::tensor_core::LANES);
        let mut put = |at: usize, word: u32| {
            if let Some(place) = words.get_mut(at) {
                *place = word;
            }
        };
        for (register, &slot) in op.data.iter().enumerate() {
            let row = frame.row::<u32>(slot);
            for (thread, &word) in row.iter().enumerate() {
                let at = start.word(fragment.cell(register, thread));
                if fragment.packed {
                    put(at, word & 0xffff);
                    put(at + 1, word >> 16);
                } else {
                    put(at, word);
                }
            }
        }
        env.meter.work(op.data.len() as u64 / 8);
        Ok(())
    }
}

/// Reductions of the columns of a lane.
trait Reduce {
    /// The first number.
    fn alone(self, word: u32) -> u32;
    /// Two numbers.
    fn of(self, a: u32, b: u32) -> u32;
}

impl Reduce for Reduction {
    fn alone(self, word: u32) -> u32 {
        match self.numbers {
            ReducedNumbers::Float { abs: true, .. } => word & i32::MAX as u32,
            _ => word,
        }
    }

    fn of(self, a: u32, b: u32) -> u32 {
        let b = self.alone(b);
        match (self.numbers, self.max) {
            (ReducedNumbers::Unsigned, true) => a.max(b),
            (ReducedNumbers::Unsigned, false) => a.min(b),
            (ReducedNumbers::Signed, true) => (a as i32).max(b as i32) as u32,
            (ReducedNumbers::Signed, false) => (a as i32).min(b as i32) as u32,
            (ReducedNumbers::Float { nan, .. }, max) => {
                let is_nan = |word: u32| word & i32::MAX as u32 > 0x7f80_0000;
                // Among numbers, the order of signed magnitudes: -0 is less than +0.
                let key = |word: u32| (word as i32) ^ ((word as i32 >> 31) as u32 >> 1) as i32;
                match (is_nan(a), is_nan(b)) {
                    (true, true) => 0x7fff_ffff,
                    (true, false) | (false, true) if nan => 0x7fff_ffff,
                    (true, false) => b,
                    (false, true) => a,
                    (false, false) if (key(a) < key(b)) == max => b,
                    (false, false) => a,
                }
            }
        }
    }
}
