//! Tells the sanitizers which cells of tensor memory are read and written, one by one: what is read must have been
//! written. Columns that are freed count as never written.

use super::address;
use super::product::Issued;
use crate::sanitize::{Actor, Sanitizer, TensorCells};
use crate::warp::run::first;
use crate::warp::{Env, Warp};
use softwarp_ir::TensorCoreOp;
use softwarp_ir::tensor_core::{TensorAddress, TensorMma};
use softwarp_units::lanes::lanes;
use softwarp_units::tensor_core::LANES;
use softwarp_units::tensor_core::fragment::{Fragment, Shape};
use std::ops::Range;

/// Columns that `tcgen05.shift` moves.
const SHIFTED: usize = 8;

/// Reports cells of one CTA.
struct Cells<'a, 'b> {
    env: &'a Env<'b>,
    sanitizer: &'a Sanitizer<'a>,
    actor: &'a Actor,
    lane: usize,
    rank: usize,
}

impl Cells<'_, '_> {
    fn of(&self) -> TensorCells<'_> {
        let env = self.env;
        let own = self.rank == env.rank as usize;
        let cta = if own { env.cta } else { env.launch.sibling(env.cta, self.rank as u32) };
        TensorCells { actor: self.actor, lane: self.lane, cta }
    }

    fn write(&self, lane: usize, columns: Range<usize>) {
        self.sanitizer.tensor_written(self.env.launch, &self.of(), lane, columns);
    }

    fn read(&self, lane: usize, columns: Range<usize>) {
        let owner = |column: usize| self.env.tensor[self.rank].owner(column);
        self.sanitizer.tensor_read(self.env.launch, &self.of(), lane, columns, &owner);
    }
}

impl Warp {
    /// An instruction of tensor memory is about to be executed. What is wrong with it, the executor reports.
    pub(super) fn observe_written(
        &self,
        env: &Env<'_>,
        (sanitizer, actor): (&Sanitizer<'_>, &Actor),
        call: usize,
        op: &TensorCoreOp,
    ) {
        let frame = &self.calls[call].frame;
        let own = env.rank as usize;
        let cells = |lane: usize, rank: usize| Cells { env, sanitizer, actor, lane, rank };
        let one = cells(first(actor.lanes), own);
        match op {
            TensorCoreOp::Load(op) => {
                self.fragment(call, op.address, (&op.fragment, op.split), &one, |lane, columns| {
                    one.read(lane, columns);
                });
            }
            TensorCoreOp::Store(op) => {
                self.fragment(call, op.address, (&op.fragment, op.split), &one, |lane, columns| {
                    one.write(lane, columns);
                });
            }
            TensorCoreOp::Copy(op) => {
                for lane in lanes(actor.lanes) {
                    let to = address(frame, op.to, lane);
                    let columns = to.column()..to.column() + op.shape.pieces() * 4;
                    for rank in self.cta_group(env, op.ctas.into(), lane).into_iter().flatten() {
                        let targets = (0..op.shape.rows()).flat_map(|row| op.shape.lanes(row));
                        targets.for_each(|at| cells(lane, rank).write(to.lane() + at, columns.clone()));
                    }
                }
            }
            TensorCoreOp::Shift(op) => {
                for lane in lanes(actor.lanes) {
                    let at = address(frame, op.address, lane);
                    for rank in self.cta_group(env, op.ctas.into(), lane).into_iter().flatten() {
                        let of = cells(lane, rank);
                        sanitizer.tensor_shifted(env.launch, &of.of(), at.lane(), (at.column(), SHIFTED));
                    }
                }
            }
            TensorCoreOp::Mma(op) => {
                for lane in lanes(actor.lanes) {
                    let group = self.cta_group(env, op.modifiers.ctas, lane);
                    for (index, rank) in group.into_iter().flatten().enumerate() {
                        self.product_cells(call, op, index, &cells(lane, rank));
                    }
                }
            }
            TensorCoreOp::Dealloc(op) => {
                let lane = first(actor.lanes);
                let (at, count) = (frame.row::<u32>(op.address)[lane], frame.row::<u32>(op.columns)[lane]);
                let columns = (at & 0xffff) as usize..(at & 0xffff) as usize + count.min(512) as usize;
                sanitizer.tensor_freed(env.launch, &one.of(), columns);
            }
            TensorCoreOp::Alloc(_)
            | TensorCoreOp::Relinquish(_)
            | TensorCoreOp::Wait(_)
            | TensorCoreOp::Fence(_)
            | TensorCoreOp::Commit(_) => {}
        }
    }

    /// The cells of a load or store: all lanes of its shape, and the columns of each part.
    fn fragment(
        &self,
        call: usize,
        operand: TensorAddress,
        (fragment, split): (&Fragment, u32),
        of: &Cells<'_, '_>,
        mut each: impl FnMut(usize, Range<usize>),
    ) {
        let at = address(&self.calls[call].frame, operand, of.lane);
        let parts = if fragment.shape == Shape::Lanes16x32bx2 { 2 } else { 1 };
        for part in 0..parts {
            let column = at.column() + part * split as usize;
            for lane in at.lane()..(at.lane() + fragment.shape.lanes()).min(LANES) {
                each(lane, column..column + fragment.columns());
            }
        }
    }

    /// The cells of a product in one of its CTAs.
    fn product_cells(&self, call: usize, op: &TensorMma, index: usize, of: &Cells<'_, '_>) {
        let Ok(issued) = Issued::of(&self.calls[call].frame, op, of.lane) else { return };
        let it = &issued.instruction;
        let panels: Vec<_> = it.layout.panels(it.n, issued.d.lane()).collect();
        let used: Vec<_> = panels.iter().map(|panel| issued.cells(op, panel, index)).collect();
        used.iter()
            .flat_map(|panel| &panel.reads)
            .for_each(|(lane, columns)| of.read(*lane, columns.clone()));
        for panel in &used {
            panel.written.iter().for_each(|&lane| of.write(lane, panel.columns.clone()));
        }
    }
}
