//! Cells of tensor memory of a sanitized launch: which were written, a bit for each.

use super::{Actor, Sanitizer, State, Written};
use crate::launch_info::LaunchInfo;
use crate::memory::global::lock;
use crate::sanitize::{Finding, FindingKind};
use crate::tensor_memory::Owner;
use softwarp_units::tensor_core::{COLUMNS, LANES};
use std::ops::Range;

/// The number of findings about cells that were not written.
const UNWRITTEN: u8 = 31;

/// Who uses cells, and whose they are.
pub(crate) struct TensorCells<'a> {
    pub(crate) actor: &'a Actor,
    /// The lane of the warp that uses them.
    pub(crate) lane: usize,
    /// `%ctaid` of the CTA whose tensor memory it is.
    pub(crate) cta: [u32; 3],
}

/// The place of a cell among all; those beyond the last lane and column do not count.
fn places(lane: usize, columns: Range<usize>) -> (u64, u64) {
    let end = columns.end.min(COLUMNS);
    match lane < LANES && columns.start < end {
        true => ((lane * COLUMNS + columns.start) as u64, (end - columns.start) as u64),
        false => (0, 0),
    }
}

impl State {
    /// The bits of a CTA's cells, from the first use on.
    fn cells(&mut self, launch: &LaunchInfo<'_>, cta: [u32; 3]) -> Option<&Written> {
        let cta = self.ctas.get_mut(&(launch.linear(cta) as u32))?;
        if cta.tensor.is_none() {
            cta.tensor = Written::nothing((LANES * COLUMNS) as u64);
        }
        cta.tensor.as_ref()
    }
}

impl Sanitizer<'_> {
    /// Cells of a lane are written.
    pub(crate) fn tensor_written(
        &self,
        launch: &LaunchInfo<'_>,
        of: &TensorCells<'_>,
        lane: usize,
        columns: Range<usize>,
    ) {
        let (at, count) = places(lane, columns);
        if let Some(cells) = lock(&self.state).cells(launch, of.cta) {
            cells.write(at, count);
        }
    }

    /// Columns are freed: what was in them is gone.
    pub(crate) fn tensor_freed(&self, launch: &LaunchInfo<'_>, of: &TensorCells<'_>, columns: Range<usize>) {
        if let Some(cells) = lock(&self.state).cells(launch, of.cta) {
            for lane in 0..LANES {
                let (at, count) = places(lane, columns.clone());
                cells.forget(at, count);
            }
        }
    }

    /// Of 32 lanes, each but the last gets what the next has.
    pub(crate) fn tensor_shifted(
        &self,
        launch: &LaunchInfo<'_>,
        of: &TensorCells<'_>,
        first: usize,
        (column, columns): (usize, usize),
    ) {
        let mut state = lock(&self.state);
        let Some(cells) = state.cells(launch, of.cta) else { return };
        for to in first..first + 31 {
            for column in column..column + columns {
                let [(to, count), (from, _)] = [to, to + 1].map(|lane| places(lane, column..column + 1));
                match cells.all(from, count) {
                    true => cells.write(to, count),
                    false => cells.forget(to, count),
                }
            }
        }
    }

    /// Cells of a lane are read; they count as written from now on.
    pub(crate) fn tensor_read(
        &self,
        launch: &LaunchInfo<'_>,
        of: &TensorCells<'_>,
        lane: usize,
        columns: Range<usize>,
        owner: &dyn Fn(usize) -> Option<Owner>,
    ) {
        let (at, count) = places(lane, columns);
        let mut state = lock(&self.state);
        let Some(cells) = state.cells(launch, of.cta) else { return };
        if cells.all(at, count) {
            return;
        }
        let Some(missing) = (at..at + count).find(|&cell| !cells.all(cell, 1)) else { return };
        cells.write(at, count);
        let column = missing as usize % COLUMNS;
        let kind = FindingKind::UninitialisedTensor { lane: lane as u32, column: column as u32 };
        let allocation = owner(column).map(|owner| {
            let Owner { warp, code, pc } = owner;
            self.site_of(launch, &Actor { cta: of.cta, warp, lanes: u32::MAX, code, pc }, 0)
        });
        let at = self.site_of(launch, of.actor, of.lane);
        let kernel = launch.name.into();
        let finding = Finding { kind, kernel, at, other: allocation, touched: None, count: 1 };
        state.report((UNWRITTEN, self.op(of.actor), u32::MAX, 0), finding);
    }
}
