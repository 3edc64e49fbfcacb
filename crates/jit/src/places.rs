//! Register allocation: where each web is kept while compiled code runs.
//!
//! Webs are taken in the order of their weight (uses, weighted by loop depth) and get a register that no web has whose
//! live range overlaps (priority-based colouring over live ranges). A web has one place for its whole life; one that
//! gets none stays in its row of the frame, which instructions use as a memory operand.

use crate::Mode;
use crate::classes::{Class, Classes};
use crate::flow::Flow;

/// Where a web is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// In its row of the frame. One that is affine: in the first lane of the row.
    Frame,
    /// In vector registers: two for 32-bit words, four for 64-bit words.
    Vector([u8; 4]),
    /// In a general-purpose register: the value of the first lane.
    Scalar(u8),
}

/// How many vector registers from the first on are for temporary values.
pub(crate) const TEMPORARIES: u8 = 8;

/// General-purpose registers that webs can have, by their number in the instruction encoding.
pub(crate) const SCALARS: [u8; 6] = [3, 6, 7, 8, 9, 10];

/// The pairs of vector registers that rows of 32-bit words can have, and the first pairs of the four registers that rows
/// of 64-bit words can have. A register always holds the same part of rows of a width, so that an operation may write a
/// part where a source of the same width had it.
///
/// In masked code, lanes that wait elsewhere keep values of other webs in the same registers, lane by lane: there a
/// register always holds the same lanes.
fn pairs(flow: &Flow, mode: Mode) -> [Vec<usize>; 2] {
    let count = usize::from((32 - TEMPORARIES) / 2);
    if mode == Mode::Uniform {
        return [(0..count).rev().collect(), (0..count).step_by(2).collect()];
    }
    let weight = |wide: bool| -> f64 {
        flow.webs.iter().filter(|web| web.is_wide() == wide).map(|web| web.weight).sum()
    };
    let quads = if weight(true) * 8.0 < weight(false) { 1 } else { 3 };
    [(2 * quads..count).collect(), (0..2 * quads).step_by(2).collect()]
}

/// The place of each web.
pub(crate) fn places(flow: &Flow, classes: &Classes, mode: Mode) -> Vec<Place> {
    let mut order: Vec<usize> = (0..flow.webs.len()).collect();
    let cost = |web: usize| {
        let live: u32 = flow.webs[web].live.iter().map(|(start, end)| end - start).sum();
        flow.webs[web].weight / (1.0 + f64::from(live)) / if flow.webs[web].is_wide() { 2.0 } else { 1.0 }
    };
    order.sort_by(|&a, &b| cost(b).total_cmp(&cost(a)));
    let allowed = pairs(flow, mode);
    let mut vectors: Vec<Ranges> = vec![Ranges::default(); usize::from((32 - TEMPORARIES) / 2)];
    let mut scalars: Vec<Ranges> = vec![Ranges::default(); SCALARS.len()];
    let mut places = vec![Place::Frame; flow.webs.len()];
    for web in order {
        let held = &flow.webs[web].held;
        let live = &match mode {
            Mode::Uniform if !held.is_empty() => merged(&flow.webs[web].live, held),
            _ => flow.webs[web].live.clone(),
        };
        match classes.webs[web] {
            Class::Varying | Class::Unknown => {
                let wanted = if flow.webs[web].is_wide() { 2 } else { 1 };
                let is_free = |first: &usize| (0..wanted).all(|n| !vectors[first + n].overlaps(live));
                let Some(&first) = allowed[wanted - 1].iter().find(|first| is_free(first)) else { continue };
                let mut registers = [0; 4];
                for n in 0..wanted {
                    let pair = first + n;
                    vectors[pair].add(live);
                    registers[2 * n] = TEMPORARIES + 2 * pair as u8;
                    registers[2 * n + 1] = TEMPORARIES + 2 * pair as u8 + 1;
                }
                places[web] = Place::Vector(registers);
            }
            Class::Affine(_) => {
                let free = (0..SCALARS.len()).find(|&register| !scalars[register].overlaps(live));
                if let Some(register) = free {
                    scalars[register].add(live);
                    places[web] = Place::Scalar(SCALARS[register]);
                }
            }
        }
    }
    places
}

/// Ranges that are in one list or the other, sorted and disjoint.
fn merged(a: &[(u32, u32)], b: &[(u32, u32)]) -> Vec<(u32, u32)> {
    let mut all = [a, b].concat();
    all.sort_unstable();
    let mut merged: Vec<(u32, u32)> = Vec::with_capacity(all.len());
    for (start, end) in all {
        match merged.last_mut() {
            Some(last) if start <= last.1 => last.1 = last.1.max(end),
            _ => merged.push((start, end)),
        }
    }
    merged
}

/// The ranges in which a register is taken, sorted.
#[derive(Clone, Default)]
struct Ranges {
    taken: Vec<(u32, u32)>,
}

impl Ranges {
    fn overlaps(&self, live: &[(u32, u32)]) -> bool {
        live.iter().any(|&(start, end)| {
            let at = self.taken.partition_point(|&(_, taken_end)| taken_end <= start);
            self.taken.get(at).is_some_and(|&(taken_start, _)| taken_start < end)
        })
    }

    fn add(&mut self, live: &[(u32, u32)]) {
        for &range in live {
            let at = self.taken.partition_point(|&taken| taken < range);
            self.taken.insert(at, range);
        }
    }
}
