//! `tcgen05.cp` and `tcgen05.shift` (PTX ISA section 9.7.16.9).

use super::shared::{PIECE, Source};
use super::{address, bad_field, wrong};
use crate::fault::Tried;
use crate::warp::{Env, Warp};
use softwarp_ir::tensor_core::{TensorCopyIn, TensorShift};
use softwarp_units::lanes::lanes;
use softwarp_units::tensor_core::copy::Shape;
use softwarp_units::tensor_core::descriptor::SharedDescriptor;
use softwarp_units::tensor_core::{COLUMNS, LANES};

/// Columns that `tcgen05.shift` moves: 32 bytes.
const SHIFTED: usize = 8;

impl Warp {
    /// `tcgen05.cp`: each CTA of the group copies from its own shared memory to its own tensor memory.
    pub(super) fn tensor_copy_in(
        &mut self,
        env: &mut Env<'_>,
        call: usize,
        op: &TensorCopyIn,
        taking: u32,
    ) -> Tried<()> {
        for lane in lanes(taking) {
            let frame = &self.calls[call].frame;
            let to = address(frame, op.to, lane);
            let descriptor =
                SharedDescriptor::new(frame.row::<u64>(op.from)[lane]).map_err(bad_field(lane))?;
            // The last row may be in any lane of a quarter where one of each is written.
            let most = if op.shape == Shape::Lanes4x256b { 32 } else { 1 };
            if to.lane() >= most {
                return wrong(
                    lane,
                    format!(
                        "tensor memory address {:#010x} of tcgen05.cp has lane {}, which must be less than {most}",
                        to.0,
                        to.lane()
                    ),
                );
            }
            let span = if op.shape == Shape::Lanes4x256b { 97 } else { LANES };
            for rank in self.cta_group(env, op.ctas.into(), lane)? {
                let columns = op.shape.pieces() * 4;
                if let Err(message) = env.tensor[rank].check(to, span, columns) {
                    return wrong(lane, message);
                }
                let source = Source::new(&env.spaces, rank, lane);
                for row in 0..op.shape.rows() {
                    for piece in 0..op.shape.pieces() {
                        let at = descriptor.place(true, row as u64, piece as u64 * PIECE);
                        let words = op.packing.unpack(source.piece(at)?);
                        for target in op.shape.lanes(row) {
                            let cells = env.tensor[rank].lanes_mut(to.lane() + target, 1);
                            if let Some(cells) = cells.get_mut(to.column() + piece * 4..) {
                                cells.iter_mut().zip(words).for_each(|(cell, word)| *cell = word);
                            }
                        }
                    }
                }
                env.meter.work(op.shape.rows() as u64 / 4);
            }
        }
        Ok(())
    }

    /// `tcgen05.shift.down`: of 32 lanes, each but the last gets what the next one has.
    pub(super) fn tensor_shift(
        &mut self,
        env: &mut Env<'_>,
        call: usize,
        op: &TensorShift,
        taking: u32,
    ) -> Tried<()> {
        for lane in lanes(taking) {
            let at = address(&self.calls[call].frame, op.address, lane);
            if !at.lane().is_multiple_of(32) {
                return wrong(
                    lane,
                    format!(
                        "tensor memory address {:#010x} of tcgen05.shift has lane {}, which must be a multiple of 32",
                        at.0,
                        at.lane()
                    ),
                );
            }
            for rank in self.cta_group(env, op.ctas.into(), lane)? {
                let memory = &mut env.tensor[rank];
                if let Err(message) = memory.check(at, 32, SHIFTED) {
                    return wrong(lane, message);
                }
                let cells = memory.lanes_mut(at.lane(), 32);
                for to in 0..31 {
                    let from = (to + 1) * COLUMNS + at.column();
                    cells.copy_within(from..from + SHIFTED, to * COLUMNS + at.column());
                }
            }
        }
        Ok(())
    }
}
