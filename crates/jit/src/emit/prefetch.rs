//! Prefetches.
//!
//! A kernel of one dimension mostly accesses arrays from one warp to the next: the memory behind that of a warp is soon
//! accessed by others. Compiled code does too much between two accesses for the CPU to have many of them under way. Where
//! it is known how far an address moves from one CTA to the next, or from one round of a loop to the next, what will be
//! accessed there is prefetched.

use super::plain::Plain;
use super::{Emitted, Emitter};
use crate::Mode;
use crate::assembler::*;
use crate::classes::Class;
use crate::decode::{Action, Compute, Extend, Width};
use softwarp_ir::{Op, Slot};
use std::ops::Range;

/// The distance of a prefetch from the access, in bytes: the next warps access what is there. In loops, the least
/// distance from round to round at which there are prefetches, since a CPU follows lines that are near by itself.
const DISTANCE: i64 = 512;

/// The distance in warps.
const WARPS: i64 = 4;

/// The most arrays of a kernel that are prefetched: a CPU has few misses under way at a time.
const ARRAYS: usize = 8;

/// The most accesses that are prefetched for the next CTA or round.
const ACCESSES: usize = 24;

/// How many operations a prefetch in a loop is ahead of its access, at least.
const AHEAD: usize = 48;

/// The most sums that an address is followed through.
const SUMS: usize = 8;

/// The most operations that an address is followed through.
const OPERATIONS: usize = 24;

/// What an address depends on.
#[derive(Clone)]
enum Over {
    /// `%ctaid.x`.
    Ctas,
    /// The rounds of a loop, by its operations.
    Rounds(Range<usize>),
}

impl Emitter<'_> {
    /// Prefetches behind a load or store of words whose first is at `rax` plus an offset. Their number of cache lines is given.
    pub(super) fn prefetch(&mut self, plain: &Plain<'_>, offset: i32, lines: i32) -> Emitted {
        let several_axes = self.function.start.of_cta.iter().any(|&(_, axis)| axis != 0);
        if self.masked || self.mode != Mode::Uniform || several_axes || plain.is_shared() || plain.total() < 4
        {
            return Ok(());
        }
        let Some(distance) = self.prefetch_distance(plain, i64::from(lines)) else { return Ok(()) };
        let Some(offset) = i32::try_from(distance).ok().and_then(|distance| offset.checked_add(distance))
        else {
            return Ok(());
        };
        for line in 0..lines {
            self.unit.a.prefetcht0(byte_ptr(rax + offset.saturating_add(64 * line)))?;
        }
        Ok(())
    }

    /// How far from an access there is a prefetch: the next round of its loop, the next CTA, or, once for each array, the
    /// next warps.
    fn prefetch_distance(&mut self, plain: &Plain<'_>, lines: i64) -> Option<i64> {
        let (op, base) = (plain.op, plain.base?);
        // Lanes that are apart: other accesses of the array are to the same lines.
        if lines > plain.bytes() as i64 / 2 && !self.is_first_of_array(op, base) {
            return None;
        }
        let ahead = match self.loop_around(op) {
            Some(rounds) => {
                let length = rounds.len();
                let step = self.slope((op, base), &Over::Rounds(rounds), &mut 0)?;
                (step.unsigned_abs() >= DISTANCE as u64)
                    .then_some(step.saturating_mul(AHEAD.div_ceil(length) as i64))?
            }
            None => match self.slope((op, base), &Over::Ctas, &mut 0).filter(|&step| step > 0) {
                Some(step) => step.saturating_mul((DISTANCE as u64).div_ceil(step as u64) as i64),
                None => return self.is_first_of_array(op, base).then_some(DISTANCE.max(WARPS * 64 * lines)),
            },
        };
        let known = self.prefetched_ahead.contains(&op);
        if !known && self.prefetched_ahead.len() < ACCESSES {
            self.prefetched_ahead.push(op);
        }
        (known || self.prefetched_ahead.last() == Some(&op)).then_some(ahead)
    }

    /// Whether an access is the first one of its array that is prefetched.
    fn is_first_of_array(&mut self, op: usize, base: Slot) -> bool {
        let Some(array) = self.array_of(op, base) else { return false };
        match self.prefetched.iter().find(|(_, other)| *other == array) {
            Some((first, _)) => *first == op,
            None if self.prefetched.len() == ARRAYS => false,
            None => {
                self.prefetched.push((op, array));
                true
            }
        }
    }

    /// The operations of the innermost loop around an operation.
    fn loop_around(&self, op: usize) -> Option<Range<usize>> {
        let inside = self.flow.block_of[op];
        if self.flow.blocks[inside].depth == 0 || !self.flow.budget.spend(self.flow.blocks.len()) {
            return None;
        }
        let blocks = self.flow.blocks.iter().enumerate().skip(inside);
        let backward = blocks.flat_map(|(last, block)| block.next.iter().map(move |&first| (first, last)));
        let around = backward.filter(|&(first, _)| first <= inside);
        let (first, last) = around.min_by_key(|&(first, last)| last - first)?;
        Some(self.flow.blocks[first].start..self.flow.blocks[last].end)
    }

    /// How much a source grows with what it depends on, if that is known. `steps` counts the operations that were looked
    /// at.
    fn slope(&self, (op, slot): (usize, Slot), over: &Over, steps: &mut usize) -> Option<i64> {
        if self.flow.is_fixed(slot) {
            let is_axis = |&(axis, _): &(u32, u8)| slot == Slot::narrow(axis);
            let is_cta = matches!(over, Over::Ctas) && self.function.start.of_cta.iter().any(is_axis);
            return Some(i64::from(is_cta));
        }
        *steps += 1;
        let web = self.flow.read(op, slot).filter(|_| *steps <= OPERATIONS)?;
        let defs = self.flow.defs(web);
        let inside = |op: &&usize| match over {
            Over::Ctas => true,
            Over::Rounds(rounds) => rounds.contains(op),
        };
        if matches!(over, Over::Rounds(_)) && !self.flow.budget.spend(defs.len()) {
            return None;
        }
        let mut changes = defs.iter().filter(inside);
        let (Some(&change), None) = (changes.next(), changes.next()) else {
            return defs.iter().all(|op| !inside(&op)).then_some(0);
        };
        let itself = self.flow.reads(change).iter().find(|touch| touch.web == web);
        match itself.map(|touch| touch.slot) {
            Some(itself) => self.growth(change, itself),
            None => self.slope_of(change, over, steps),
        }
    }

    /// The constant that an operation adds to a source.
    fn growth(&self, op: usize, itself: Slot) -> Option<i64> {
        let (Action::Compute(compute), Op::Alu(alu)) = (self.flow.actions[op], &self.function.ops[op]) else {
            return None;
        };
        let (a, b) = (alu.s.get(0)?, alu.s.get(1)?);
        if let Compute::Add(_) = compute {
            return match () {
                () if a == itself => self.factor(op, b),
                () if b == itself => self.factor(op, a),
                () => None,
            };
        }
        let falls = matches!(compute, Compute::Sub(_)) && a == itself;
        if falls { Some(self.factor(op, b)?.wrapping_neg()) } else { None }
    }

    /// How much the result of an operation grows.
    fn slope_of(&self, op: usize, over: &Over, steps: &mut usize) -> Option<i64> {
        if let Action::Copy(_, s) = self.flow.actions[op] {
            return self.slope((op, s), over, steps);
        }
        let (Some(compute), Op::Alu(alu)) = (self.flow.actions[op].compute(), &self.function.ops[op]) else {
            return None;
        };
        let mut slopes = [0i64; 3];
        for (slope, slot) in slopes.iter_mut().zip(alu.s.iter()) {
            if slot.class() == softwarp_ir::Class::Predicate {
                return None;
            }
            *slope = self.slope((op, slot), over, steps)?;
        }
        let [a, b, c] = slopes;
        let factor = |n: usize| alu.s.get(n).and_then(|slot| self.factor(op, slot));
        let product = || match (a, b) {
            (0, 0) => Some(0),
            (a, 0) => Some(a.wrapping_mul(factor(1)?)),
            (0, b) => Some(b.wrapping_mul(factor(0)?)),
            (_, _) => None,
        };
        if slopes == [0; 3] {
            return Some(0);
        }
        match compute {
            Compute::Copy(_) | Compute::Extend(Extend::Sign64 | Extend::Zero64 | Extend::Low32) => Some(a),
            Compute::Add(_) | Compute::Or(_) => Some(a.wrapping_add(b)),
            Compute::Sub(_) => Some(a.wrapping_sub(b)),
            Compute::Mul(_) => product(),
            Compute::Mad(_) | Compute::Wide { .. } => Some(product()?.wrapping_add(c)),
            Compute::Shl(_) if b == 0 => {
                Some(a.wrapping_shl(u32::try_from(factor(1)?).ok().filter(|&by| by < 32)?))
            }
            // Nothing is fetched early for these.
            Compute::Shl(_) | Compute::Shr { .. } | Compute::Funnel { .. } | Compute::Neg(_) => None,
            Compute::Extend(Extend::Field { .. } | Extend::Sign { .. }) | Compute::High { .. } => None,
            Compute::Permute(_) | Compute::And(_) | Compute::Xor(_) | Compute::Not(_) => None,
            Compute::Lop3(_) | Compute::Min { .. } | Compute::Max { .. } | Compute::Select(_) => None,
            Compute::Halves | Compute::Pack64 | Compute::High32 | Compute::Compare { .. } => None,
            Compute::CompareFloat { .. } | Compute::CompareDouble { .. } => None,
            Compute::CompareShort { .. } | Compute::Integer(_) | Compute::Half(_) => None,
            Compute::Double(_) | Compute::Float(_) | Compute::Rounded(..) | Compute::Flushed(_) => None,
            Compute::Convert(_) | Compute::WideConvert(_) => None,
            Compute::Special(_) | Compute::Predicate(_) => None,
        }
    }

    /// The value of a source that is a constant.
    fn factor(&self, op: usize, slot: Slot) -> Option<i64> {
        let value = self.classes.source(self.flow, op, slot).1?;
        Some(if slot.is_wide() { value as i64 } else { i64::from(value as i32) })
    }

    /// The row of the pointer that an address is a sum of, which is the same in all lanes.
    fn array_of(&self, op: usize, base: Slot) -> Option<Slot> {
        let (mut op, mut slot) = (op, base);
        let mut array = None;
        for _ in 0..SUMS {
            let Some(web) = self.flow.read(op, slot) else { break };
            let &[sum] = self.flow.defs(web) else { break };
            let (Action::Compute(Compute::Add(Width::W64)), Op::Alu(alu)) =
                (self.flow.actions[sum], &self.function.ops[sum])
            else {
                break;
            };
            let (a, b) = (alu.s.get(0)?, alu.s.get(1)?);
            let (same, other) = match [a, b].map(|slot| self.class(sum, slot) == Class::UNIFORM) {
                [true, false] => (a, b),
                [false, true] => (b, a),
                [true, true] | [false, false] => break,
            };
            array = Some(same);
            (op, slot) = (sum, other);
        }
        array
    }
}
