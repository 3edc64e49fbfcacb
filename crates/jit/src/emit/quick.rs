//! Comparisons of a value that grows from lane to lane with one that is the same in all lanes, such as `%tid.x` with a
//! bound. Mostly they hold in all lanes of a warp or in none, which the first lane and the last one tell.

use super::idle::Behind;
use super::leading::holds;
use super::{Emitted, Emitter, Late, RCX, RDX};
use crate::Mode;
use crate::assembler::*;
use crate::classes::{Class, Steps};
use crate::decode::{Action, Order, Width};
use softwarp_ir::{Op, Slot};

/// Where code goes that has found a predicate to be the same in all lanes.
#[derive(Clone, Copy)]
pub(crate) struct Quick {
    pub(crate) predicate: Slot,
    /// Where it holds in all lanes, and where it holds in none.
    pub(crate) all: CodeLabel,
    pub(crate) none: CodeLabel,
    /// The predicate where its lanes differ, if that is known.
    pub(crate) mixed: Option<u32>,
    /// Where it decides for the warps behind, too.
    pub(crate) behind: Option<Behind>,
}

/// The order of two values in exchange.
fn mirrored(order: Order) -> Order {
    match order {
        Order::Lt => Order::Gt,
        Order::Le => Order::Ge,
        Order::Gt => Order::Lt,
        Order::Ge => Order::Le,
        Order::Eq => Order::Eq,
        Order::Ne => Order::Ne,
    }
}

impl Emitter<'_> {
    /// Whether a source is one plus steps that do not go down, while the other is the same in all lanes.
    fn rising(&self, op: usize, [a, b]: [Slot; 2]) -> Option<Steps> {
        let (Class::Affine(steps), Class::UNIFORM) = (self.class(op, a), self.class(op, b)) else {
            return None;
        };
        let (least, most) = steps.range()?;
        (steps != Steps::ZERO && least == 0 && most < 1 << 24).then_some(steps)
    }

    /// The values of a source in all lanes, where they are known.
    fn known_lanes(&self, op: usize, slot: Slot) -> Option<[u32; 32]> {
        let (Class::Affine(steps), value) = self.classes.source(self.flow, op, slot) else { return None };
        let first = match value {
            Some(value) => value as u32,
            None if self.classes.zeros(self.flow, op, slot) >= 32 => 0,
            None => return None,
        };
        Some(std::array::from_fn(|lane| first.wrapping_add(steps.at(lane) as u32)))
    }

    /// The result of a comparison of 32-bit words, where it is known.
    pub(super) fn known_result(
        &self,
        op: usize,
        (width, signed, order): (Width, bool, Order),
        [a, b]: [Slot; 2],
    ) -> Option<u32> {
        if self.mode != Mode::Uniform || width != Width::W32 {
            return None;
        }
        let (a, b) = (self.known_lanes(op, a)?, self.known_lanes(op, b)?);
        let holds = |lane: &usize| holds(signed, order, a[*lane], b[*lane]);
        Some((0..32).filter(holds).fold(0, |mask, lane| mask | 1 << lane))
    }

    /// Looks at the first and the last lane of a comparison of integers. Where they do not tell, code goes on behind.
    pub(super) fn compare_ends(
        &mut self,
        op: usize,
        (width, signed, order): (Width, bool, Order),
        [a, b]: [Slot; 2],
        predicate: Slot,
    ) -> Emitted<Option<Quick>> {
        if self.mode != Mode::Uniform || self.masked {
            return Ok(None);
        }
        let (steps, a, b, order) = match (self.rising(op, [a, b]), self.rising(op, [b, a])) {
            (Some(steps), _) => (steps, a, b, order),
            (None, Some(steps)) => (steps, b, a, mirrored(order)),
            (None, None) => return Ok(None),
        };
        let [all, none, mut general] = std::array::from_fn(|_| self.unit.a.create_label());
        let wraps = !steps.fit(self.classes.zeros(self.flow, op, a));
        let most = steps.range().map_or(0, |(_, most)| most as i32);
        self.scalar_to(op, a, RCX)?;
        let bound = self.bound(op, b)?;
        // The first lane: the comparison holds in all lanes, or in none, if it is above.
        self.compare_with(width, bound)?;
        let asm = &mut self.unit.a;
        let above = if order.holds_above() { all } else { none };
        let equal = order.joins_equal_to_above();
        // A value that wraps around is not the least in its first lane.
        let first = asm.create_label();
        let to = if wraps { first } else { above };
        match (signed, equal) {
            (true, true) => asm.jge(to)?,
            (true, false) => asm.jg(to)?,
            (false, true) => asm.jae(to)?,
            (false, false) => asm.ja(to)?,
        }
        match width {
            Width::W32 => asm.add(ecx, most)?,
            Width::W64 => asm.add(rcx, most)?,
        }
        if wraps {
            match signed {
                true => asm.jo(general)?,
                false => asm.jb(general)?,
            }
        }
        // The last one, if it is below.
        self.compare_with(width, bound)?;
        let asm = &mut self.unit.a;
        let below = if order.holds_below() { all } else { none };
        let equal = order.joins_equal_to_below();
        match (signed, equal) {
            (true, true) => asm.jle(below)?,
            (true, false) => asm.jl(below)?,
            (false, true) => asm.jbe(below)?,
            (false, false) => asm.jb(below)?,
        }
        self.unit.place(&mut general)?;
        if wraps {
            let wrapping = Late::Wrapping { first, above, general, most, wide: width == Width::W64, signed };
            self.late.push(wrapping);
        }
        let behind = self.decides_behind(op, (order, wraps), [a, b]);
        let mixed = self.mixed_result(op, (width, signed, order), [a, b], steps);
        Ok(Some(Quick { predicate, all, none, mixed, behind }))
    }

    /// A constant that a value is compared with, or none if `rdx` has the value.
    fn bound(&mut self, op: usize, slot: Slot) -> Emitted<Option<i32>> {
        let value = self.classes.source(self.flow, op, slot).1;
        let value = value.map(|value| if slot.is_wide() { value as i64 } else { i64::from(value as i32) });
        let constant = value.and_then(|value| i32::try_from(value).ok());
        if constant.is_none() {
            self.scalar_to(op, slot, RDX)?;
        }
        Ok(constant)
    }

    /// Compares `rcx` with it.
    fn compare_with(&mut self, width: Width, bound: Option<i32>) -> Emitted {
        let asm = &mut self.unit.a;
        match (width, bound) {
            (Width::W32, Some(bound)) => asm.cmp(ecx, bound),
            (Width::W64, Some(bound)) => asm.cmp(rcx, bound),
            (Width::W32, None) => asm.cmp(ecx, edx),
            (Width::W64, None) => asm.cmp(rcx, rdx),
        }
    }

    /// The first lane, in `rcx`, is above: so are all, unless a lane wraps around.
    pub(super) fn check_wrapping(
        &mut self,
        (above, general): (CodeLabel, CodeLabel),
        most: i32,
        (wide, signed): (bool, bool),
    ) -> Emitted {
        let asm = &mut self.unit.a;
        match wide {
            true => asm.add(rcx, most)?,
            false => asm.add(ecx, most)?,
        }
        match signed {
            true => asm.jo(general)?,
            false => asm.jb(general)?,
        }
        asm.jmp(above)
    }

    /// Behind the comparison: a branch that comes next has code for each case, other code reads the predicate.
    pub(super) fn end_quick(&mut self, op: usize, quick: Quick) -> Emitted {
        if self.branch_behind(op, quick.predicate).is_some() && !self.alone {
            self.quick = Some(quick);
            return Ok(());
        }
        let mut back = self.unit.a.create_label();
        self.unit.place(&mut back)?;
        self.late.push(Late::Known { quick, back });
        Ok(())
    }

    /// The branch by a predicate that comes next behind an operation, and where it leads to.
    pub(super) fn branch_behind(&self, op: usize, predicate: Slot) -> Option<(usize, usize)> {
        let end = self.flow.blocks[self.flow.block_of[op]].end;
        let next = (op + 1..end).find(|&next| self.flow.actions[next] != Action::Nothing)?;
        match self.function.ops[next] {
            Op::Branch(guard, target) if guard.predicate() == Some(predicate) => {
                let blocks = [target as usize, next + 1].map(|op| self.block_of_target(op));
                blocks.iter().all(Option::is_some).then_some((next, target as usize))
            }
            Op::Branch(..) | Op::Alu(_) | Op::Other(..) => None,
        }
    }

    /// Writes a predicate that is the same in all lanes, also to `eax`.
    pub(super) fn known(&mut self, mut quick: Quick, back: CodeLabel) -> Emitted {
        for (label, value) in [(&mut quick.all, -1), (&mut quick.none, 0)] {
            self.unit.place(label)?;
            self.unit.a.mov(eax, value)?;
            self.unit.a.mov(self.predicate(quick.predicate), eax)?;
            self.unit.a.jmp(back)?;
        }
        Ok(())
    }

    /// A branch whose predicate is the same in all lanes.
    pub(super) fn branch_known(&mut self, op: usize, mut quick: Quick) -> Emitted {
        let Op::Branch(guard, target) = self.function.ops[op] else { return Ok(()) };
        let (to, next) = (self.block_of_target(target as usize), self.block_of_target(op + 1));
        let start = self.flow.blocks[self.flow.block_of[op]].start;
        let quick_behind = quick.behind;
        for (label, holds) in [(&mut quick.all, true), (&mut quick.none, false)] {
            self.unit.place(label)?;
            self.unit.a.mov(self.predicate(quick.predicate), if holds { -1 } else { 0 })?;
            self.pay(start, op + 1)?;
            if let (false, Some(next)) = (holds != guard.is_negated(), next) {
                let label = self.own.blocks.at(next);
                self.unit.a.jmp(label)?;
                continue;
            }
            match to.and_then(|to| self.stops_at(to)) {
                Some((first, stop)) => {
                    self.idle = self.find_idle((op, holds), quick_behind, (first, stop));
                    self.leave_at(first, stop)?;
                    self.idle = None;
                }
                None => self.jump(op, to)?,
            }
        }
        Ok(())
    }

    /// The start of a block that does nothing before a barrier of all threads or the end of the kernel, and that operation.
    pub(super) fn stops_at(&self, block: usize) -> Option<(usize, usize)> {
        let (start, end) = (self.flow.blocks[block].start, self.flow.blocks[block].end);
        let stop = (start..end).find(|&op| self.flow.actions[op] != Action::Nothing)?;
        (self.is_barrier(stop) || self.is_end(stop)).then_some((start, stop))
    }
}
