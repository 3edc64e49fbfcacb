//! Values that compiled code leaves in registers or in first lanes, and that are written to their rows of the frame.

use crate::classes::{Class, Steps};
use crate::context::Context;
use crate::emit::Emitter;
use crate::flow::{Extent, is_in};
use crate::places::Place;
use softwarp_ir::Slot;
use softwarp_units::lanes::Frame;

/// A web of uniform code that is not in its row of the frame.
#[derive(Debug)]
pub(crate) struct Kept {
    slot: Slot,
    class: Class,
    place: Place,
    /// Whether its NaNs have to be made canonical.
    lazy: bool,
    /// Positions where it is live, among all ranges, and the first and the end of them.
    live: Extent,
    hull: (u32, u32),
}

impl Kept {
    /// The webs of a function.
    pub(crate) fn all(emitter: &Emitter<'_>) -> Vec<Kept> {
        let mut kept = Vec::with_capacity(emitter.flow.webs.len());
        let places = emitter.places.iter().zip(emitter.classes.webs.iter());
        for (number, (&place, &class)) in places.enumerate() {
            if place != Place::Frame || !class.is_vector() {
                let (slot, lazy) = (emitter.flow.webs[number].slot, emitter.lazy[number]);
                let (live, ranges) = (emitter.flow.live_extent(number), emitter.flow.live_ranges(number));
                let hull =
                    (ranges.first().map_or(0, |first| first.0), ranges.last().map_or(0, |last| last.1));
                kept.push(Kept { slot, class, place, lazy, live, hull });
            }
        }
        kept
    }

    /// Whether it is live at a position, by all ranges.
    pub(crate) fn is_live(&self, ranges: &[(u32, u32)], position: u32) -> bool {
        let (start, end) = self.hull;
        start <= position && position < end && is_in(self.live.of(ranges), position)
    }

    /// Writes it to its row, from the registers that the context has.
    pub(crate) fn write(&self, context: &Context, frame: &mut Frame) {
        let number = self.slot.number() as usize;
        if let Class::Affine(steps) = self.class {
            let first = match self.place {
                Place::Scalar(register) => Some(context.saved_scalars[usize::from(register)]),
                Place::Frame | Place::Vector(_) | Place::Halves => None,
            };
            return fill(frame, self.slot, first, steps);
        }
        if let (Class::HalfAffine(step), Place::Halves) = (self.class, self.place) {
            return fill_halves(frame, self.slot, step);
        }
        let Place::Vector(registers) = self.place else { return };
        let words = |part: usize| context.saved[usize::from(registers[part])].0;
        if self.slot.is_wide() {
            let row = &mut frame.wide[number].0;
            for (part, to) in row.as_chunks_mut::<8>().0.iter_mut().enumerate() {
                *to = words(part);
            }
            return;
        }
        let row = &mut frame.narrow[number].0;
        for (part, to) in row.as_chunks_mut::<16>().0.iter_mut().enumerate() {
            for (word, to) in words(part).into_iter().zip(to.as_chunks_mut::<2>().0) {
                *to = [word as u32, (word >> 32) as u32];
            }
        }
        if self.lazy {
            row.iter_mut()
                .filter(|bits| f32::from_bits(**bits).is_nan())
                .for_each(|bits| *bits = 0x7fff_ffff);
        }
    }
}

/// Writes a row of 32-bit words, from the first lanes of both halves.
pub(crate) fn fill_halves(frame: &mut Frame, slot: Slot, step: i64) {
    for half in frame.narrow[slot.number() as usize].0.as_chunks_mut::<16>().0 {
        let first = half[0];
        (0..16).for_each(|lane| half[lane] = first.wrapping_add((step as u32).wrapping_mul(lane as u32)));
    }
}

/// Writes an affine row, from its first lane or another value of it.
pub(crate) fn fill(frame: &mut Frame, slot: Slot, first: Option<u64>, steps: Steps) {
    let number = slot.number() as usize;
    if slot.is_wide() {
        let row = &mut frame.wide[number].0;
        let first = first.unwrap_or(row[0]);
        (0..32).for_each(|lane| row[lane] = first.wrapping_add_signed(steps.at(lane)));
    } else {
        let row = &mut frame.narrow[number].0;
        let first = first.map_or(row[0], |first| first as u32);
        (0..32).for_each(|lane| row[lane] = first.wrapping_add(steps.at(lane) as u32));
    }
}
