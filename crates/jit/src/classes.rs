//! Divergence analysis: which values are the same in all lanes, and which grow by a constant from lane to lane.
//!
//! An optimistic fixpoint over webs. The claims hold as long as all lanes of a warp execute everything together, which
//! is what the uniform code of a function ([`crate::Mode::Uniform`]) assumes: where it is entered, they are verified.

use crate::actions::arithmetic;
use crate::alignment::Alignment;
use crate::buffers::{Buffer, pooled};
use crate::decode::{Action, Combine, Compute, Extend, Width};
use crate::flow::{Flow, Touch, before, by_web};
pub(crate) use crate::steps::Steps;
use crate::{Mode, Rows, Shape};
use softwarp_ir::start::Given;
use softwarp_ir::{Alu, Function, Guard, Op, Slot, Special, Step};

/// How the lanes of a value are related.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// Nothing is known yet.
    Unknown,
    /// The value of the first lane, plus steps. Without any it is the same in all lanes.
    Affine(Steps),
    /// Within each half of the warp, the value of its first lane, plus a step from lane to lane. It is a vector.
    HalfAffine(i64),
    Varying,
}

impl Class {
    pub(crate) const UNIFORM: Class = Class::Affine(Steps::ZERO);

    fn meet(self, other: Class) -> Class {
        match (self, other) {
            (Class::Unknown, class) | (class, Class::Unknown) => class,
            (a, b) if a == b => a,
            (a, b) => {
                let step = a.step().filter(|_| a.step() == b.step());
                step.map_or(Class::Varying, Class::HalfAffine)
            }
        }
    }

    /// The step from lane to lane within each half of the warp.
    fn step(self) -> Option<i64> {
        match self {
            Class::Affine(steps) => Some(steps.lane),
            Class::HalfAffine(step) => Some(step),
            Class::Unknown | Class::Varying => None,
        }
    }

    /// Whether a value is a vector instead of a scalar.
    pub(crate) fn is_vector(self) -> bool {
        match self {
            Class::Affine(_) => false,
            Class::HalfAffine(_) | Class::Varying | Class::Unknown => true,
        }
    }

    /// Whether nothing is known of the lanes, and nothing more will be.
    fn varies(self) -> bool {
        match self {
            Class::Varying => true,
            Class::Unknown | Class::Affine(_) | Class::HalfAffine(_) => false,
        }
    }
}

pooled!(Class);

/// Steps of work to evaluate an operation.
const PASS: usize = 64;

/// How many times all operations are evaluated before those are that read what has changed.
const PASSES: usize = 8;

/// The values of the frame at barriers that are in first lanes only, sorted by operation.
pub(crate) type AtBarriers = Vec<(u32, Vec<(Slot, Class)>)>;

/// The classes of the webs and of the rows that are never written.
pub(crate) struct Classes<'a> {
    pub(crate) webs: Buffer<Class>,
    /// The webs that some lanes may write while others do not.
    pub(crate) merged: Buffer<bool>,
    function: &'a Function,
    fixed: &'a Fixed,
    alignment: Alignment<'a>,
}

impl<'a> Classes<'a> {
    pub(crate) fn of(
        function: &'a Function,
        flow: &Flow,
        fixed: &'a Fixed,
        (shape, mode): (Shape, Mode),
    ) -> Classes<'a> {
        let webs = Buffer::filled(Class::Varying, flow.webs.len());
        let alignment = Alignment::new(function, flow, shape);
        let mut classes = Classes { webs, merged: Buffer::default(), function, fixed, alignment };
        if mode == Mode::Masked {
            return classes;
        }
        let mut varying = Buffer::filled(false, flow.webs.len());
        loop {
            classes.solve(function, flow, &varying);
            if !classes.find_merged(function, flow, &mut varying) || flow.budget.check().is_err() {
                classes.merged = varying;
                return classes;
            }
        }
    }

    /// The fixpoint, where some webs are known to vary.
    fn solve(&mut self, function: &Function, flow: &Flow, varying: &[bool]) {
        for (web, (class, varying)) in flow.webs.iter().zip(self.webs.iter_mut().zip(varying)) {
            *class = match (varying, web.from_start) {
                (true, _) => Class::Varying,
                // The frame begins with zeros.
                (false, true) => Class::UNIFORM,
                (false, false) => Class::Unknown,
            };
        }
        let mut seen = Buffer::filled(false, flow.webs.len());
        // Whether a web has changed that was read before, and operations whose results may change.
        let (mut changed, mut rest) = (false, Buffer::<u32>::new(function.ops.len()));
        flow.budget.spend(2 * function.ops.len());
        for (at, op) in function.ops.iter().enumerate() {
            flow.reads(at).iter().for_each(|touch| seen[touch.web] = true);
            changed |= self.transfer(flow, at, op, &seen);
            if !flow.writes(at).iter().all(|touch| self.webs[touch.web].varies()) {
                rest.push(at as u32);
            }
        }
        let mut passes = 0;
        while changed && flow.budget.spend(PASS * rest.len()) {
            if passes == PASSES {
                self.settle(function, flow, (&rest, &seen));
            } else {
                passes += 1;
            }
            changed = false;
            for at in rest.iter().map(|&at| at as usize) {
                changed |= self.transfer(flow, at, &function.ops[at], &seen);
            }
        }
        let unknown = self.webs.iter_mut().filter(|class| **class == Class::Unknown);
        unknown.for_each(|class| *class = Class::Varying);
    }

    /// Evaluates operations and those that read what has changed, until nothing changes. What an operation writes may depend
    /// on more than it reads: the caller looks at all of them again.
    fn settle(&mut self, function: &Function, flow: &Flow, (ops, seen): (&[u32], &[bool])) {
        let mut reads = Buffer::<(u32, u32)>::new(2 * ops.len());
        for &at in ops {
            reads.extend(flow.reads(at as usize).iter().map(|touch| (touch.web as u32, at)));
        }
        let (extents, readers) = by_web(&reads, flow.webs.len(), flow.budget);
        let mut waits = Buffer::filled(false, function.ops.len());
        ops.iter().for_each(|&at| waits[at as usize] = true);
        let (mut waiting, mut before) = (ops.to_vec(), Vec::new());
        while let Some(at) = waiting.pop().map(|at| at as usize) {
            waits[at] = false;
            if !flow.budget.spend(PASS) {
                return;
            }
            let writes = flow.writes(at);
            before.clear();
            before.extend(writes.iter().map(|touch| self.webs[touch.web]));
            self.transfer(flow, at, &function.ops[at], seen);
            for (touch, before) in writes.iter().zip(&before) {
                if self.webs[touch.web] == *before {
                    continue;
                }
                for &reader in extents[touch.web].of(&readers) {
                    if !std::mem::replace(&mut waits[reader as usize], true) {
                        waiting.push(reader);
                    }
                }
            }
        }
    }

    /// Finds webs that some lanes may write while others skip the operation: they vary. Returns whether there are more.
    fn find_merged(&self, function: &Function, flow: &Flow, varying: &mut [bool]) -> bool {
        let mut more = false;
        for block in 0..flow.blocks.len() {
            let Some((skipped, _)) = flow.skipped(block) else { continue };
            flow.budget.spend(skipped.len());
            if self.is_uniform_branch(function, flow, block) {
                continue;
            }
            let end = before(skipped.end);
            for touch in skipped.flat_map(|op| flow.writes(op)) {
                if flow.is_live(touch.web, end) && !varying[touch.web] {
                    varying[touch.web] = true;
                    more |= self.webs[touch.web] != Class::Varying;
                }
            }
        }
        more
    }

    /// Whether the predicate of a block's branch is a comparison of values that are the same in all lanes.
    fn is_uniform_branch(&self, function: &Function, flow: &Flow, block: usize) -> bool {
        let (start, last) = (flow.blocks[block].start, flow.blocks[block].end - 1);
        let Some(predicate) = function.ops[last].guard().predicate() else { return true };
        let writes = |op: &Op| match op {
            Op::Alu(alu) => alu.d.iter().any(|slot| slot == predicate),
            Op::Branch(..) => false,
            Op::Other(_, step) => {
                let mut found = false;
                step.clone()
                    .visit(&mut |slot: &mut Slot, role| found |= *slot == predicate && !role.is_read());
                found
            }
        };
        let Some(at) = (start..last).rev().find(|&at| writes(&function.ops[at])) else { return false };
        let Some((Compute::Compare { combine: Combine::Nothing, .. }, alu)) =
            arithmetic(function, &flow.actions, at)
        else {
            return false;
        };
        alu.s.iter().take(2).all(|slot| self.source(flow, at, slot).0 == Class::UNIFORM)
    }

    /// The value of a row of 32-bit words that is never written, if that is known.
    pub(crate) fn constant(&self, flow: &Flow, slot: Slot) -> Option<u32> {
        self.fixed.constant(flow, slot)
    }

    /// The class of a source, and its value if that is known.
    pub(crate) fn source(&self, flow: &Flow, op: usize, slot: Slot) -> (Class, Option<u64>) {
        if flow.is_fixed(slot) {
            return self.fixed.0[flow.index(slot)];
        }
        match flow.read(op, slot) {
            Some(web) => (self.webs[web], None),
            None => (Class::Varying, None),
        }
    }

    /// Evaluates an operation. Returns whether a web has changed that was seen.
    fn transfer(&mut self, flow: &Flow, at: usize, op: &Op, seen: &[bool]) -> bool {
        let writes = flow.writes(at);
        let varies = |touch: &Touch| self.webs[touch.web].varies();
        if writes.iter().all(varies) {
            return false;
        }
        let mut changed = false;
        // What is computed of a varying value varies.
        let result =
            if flow.reads(at).iter().any(varies) { Class::Varying } else { self.result(flow, at, op) };
        for touch in writes {
            let class = self.webs[touch.web].meet(result);
            changed |= class != self.webs[touch.web] && seen[touch.web];
            self.webs[touch.web] = class;
        }
        changed
    }

    /// The class of what an operation writes.
    fn result(&self, flow: &Flow, at: usize, op: &Op) -> Class {
        if op.guard() != Guard::ALWAYS {
            return Class::Varying;
        }
        let source = |slot: Slot| self.source(flow, at, slot);
        match (flow.actions[at], op) {
            (Action::Copy(_, s), _) => source(s).0,
            (Action::FrameAddress, _) => Class::UNIFORM,
            (Action::Compute(compute), Op::Alu(alu)) => self.computed(flow, at, compute, alu),
            (Action::Fused(number), _) => self.fused(flow, at, flow.fused[number as usize].reads()),
            (Action::Load | Action::Poll, Op::Other(_, step)) => {
                let Step::Load(access) = &**step else { return Class::Varying };
                match access.address.base.map(|base| source(base).0) {
                    Some(Class::UNIFORM) | None if access.bytes >= 4 => Class::UNIFORM,
                    Some(Class::Unknown) => Class::Unknown,
                    Some(Class::Affine(_) | Class::HalfAffine(_) | Class::Varying) | None => Class::Varying,
                }
            }
            // Nothing is claimed of what these write, if anything.
            (Action::Nothing | Action::Loop | Action::Step | Action::Exchange | Action::Exit, _) => {
                Class::Varying
            }
            (Action::Store | Action::StoreOwn | Action::Fence | Action::Branch, _) => Class::Varying,
            (Action::LoadOwn | Action::Atomic, _) => Class::Varying,
            // These actions have no such operations.
            (Action::Compute(_) | Action::Load | Action::Poll, _) => Class::Varying,
        }
    }

    /// The class of what is computed of rows bit by bit, or as a product of two halves.
    fn fused(&self, flow: &Flow, at: usize, rows: &[Slot]) -> Class {
        let classes = rows.iter().map(|&row| self.source(flow, at, row).0);
        classes.fold(Class::UNIFORM, |all, class| match (all, class) {
            (Class::Varying, _) | (_, Class::Varying) => Class::Varying,
            (Class::Unknown, _) | (_, Class::Unknown) => Class::Unknown,
            (all @ (Class::Affine(_) | Class::HalfAffine(_)), Class::UNIFORM) => all,
            (Class::Affine(_) | Class::HalfAffine(_), Class::Affine(_) | Class::HalfAffine(_)) => {
                Class::Varying
            }
        })
    }

    fn computed(&self, flow: &Flow, at: usize, compute: Compute, alu: &Alu) -> Class {
        if let Some((slot, by, mask)) = self.shifted_bits(flow, at, compute, alu)
            && let (Class::Affine(steps), _) = self.source(flow, at, slot)
            && let Some(steps) = steps.through(|step| step >> by & i64::from(mask))
        {
            return Class::Affine(steps);
        }
        let mut steps = [(Steps::ZERO, None); 3];
        for (n, slot) in alu.s.iter().enumerate().take(3) {
            if slot.class() == softwarp_ir::Class::Predicate {
                continue;
            }
            match self.source(flow, at, slot) {
                (Class::Unknown, _) => return Class::Unknown,
                (Class::Varying, _) => return Class::Varying,
                (Class::Affine(of), value) => steps[n] = (of, value),
                (Class::HalfAffine(_), _) => return self.half_affine(flow, at, compute, alu),
            }
        }
        let [(a, a_value), (b, b_value), (c, _)] = steps;
        let zero = Steps::ZERO;
        let uniform = a == zero && b == zero && c == zero;
        // A product of an affine value and a constant.
        let scaled = |factor: fn(u64) -> i64| {
            if a == zero && b == zero {
                return Some(zero);
            }
            let (steps, value) = match (a_value, b_value) {
                (_, Some(value)) if b == zero => (a, value),
                (Some(value), _) if a == zero => (b, value),
                (None, None) | (Some(_), _) | (_, Some(_)) => return None,
            };
            Some(steps.map(|step| step.wrapping_mul(factor(value))))
        };
        let signed: fn(u64) -> i64 = |value| i64::from(value as u32 as i32);
        let unsigned: fn(u64) -> i64 = |value| value as u32 as i64;
        let whole: fn(u64) -> i64 = |value| value as i64;
        let affine = match compute {
            Compute::Copy(_) => Some(a),
            Compute::Add(Width::W32) => Some(a.add(b).narrow()),
            Compute::Add(Width::W64) => Some(a.add(b)),
            Compute::Sub(Width::W32) => Some(a.add(b.map(i64::wrapping_neg)).narrow()),
            Compute::Sub(Width::W64) => Some(a.add(b.map(i64::wrapping_neg))),
            Compute::Mul(Width::W32) => scaled(signed).map(Steps::narrow),
            Compute::Mul(Width::W64) => scaled(whole),
            Compute::Mad(Width::W32) => scaled(signed).map(|scaled| scaled.add(c).narrow()),
            Compute::Mad(Width::W64) => scaled(whole).map(|scaled| scaled.add(c)),
            // Code checks that the source does not wrap around among the lanes.
            Compute::Wide { signed: true, .. } if a.is_small() && b.is_small() => {
                scaled(signed).map(|scaled| scaled.add(c))
            }
            Compute::Wide { signed: false, .. }
                if a.is_small() && b.is_small() && !a.is_negative() && !b.is_negative() =>
            {
                scaled(unsigned).map(|scaled| scaled.add(c))
            }
            Compute::Shl(_) if a == zero && b == zero => Some(zero),
            Compute::Shl(width) => {
                let by = b_value.filter(|&by| by < 32 && b == zero);
                let shifted = by.map(|by| a.map(|step| step << by));
                match width {
                    Width::W32 => shifted.map(Steps::narrow),
                    Width::W64 => shifted,
                }
            }
            Compute::Extend(Extend::Sign64) if a.is_small() => Some(a),
            Compute::Extend(Extend::Zero64) if a.is_small() && !a.is_negative() => Some(a),
            Compute::Extend(Extend::Low32) => Some(a.narrow()),
            Compute::And(_) | Compute::Or(_) | Compute::Xor(_) | Compute::Shr { .. } if !uniform => {
                self.of_bits(flow, at, compute, alu, [(a, a_value), (b, b_value)])
            }
            Compute::Extend(Extend::Field { shift, bits })
                if !uniform && alu.s.get(0).is_some_and(|slot| a.fit(self.zeros(flow, at, slot))) =>
            {
                let mask = (1 << bits.clamp(1, 32)) - 1;
                a.through(|step| step >> shift & mask)
            }
            Compute::Neg(_) | Compute::Shr { .. } | Compute::And(_) | Compute::Or(_) | Compute::Xor(_) => {
                uniform.then_some(zero)
            }
            Compute::Integer(integer) if integer.has_scalar() => uniform.then_some(zero),
            Compute::Not(_) | Compute::Min { .. } | Compute::Max { .. } | Compute::Extend(_) => {
                uniform.then_some(zero)
            }
            Compute::Lop3(_) | Compute::High { .. } | Compute::Funnel { .. } => uniform.then_some(zero),
            // Sources that may wrap around.
            Compute::Wide { .. } => None,
            // Code for these is that of vectors: nothing is claimed.
            Compute::Permute(_) | Compute::Select(_) | Compute::Halves | Compute::Pack64 => None,
            Compute::High32 | Compute::Compare { .. } | Compute::CompareFloat { .. } => None,
            Compute::CompareDouble { .. } | Compute::CompareShort { .. } | Compute::Integer(_) => None,
            Compute::Half(_) | Compute::Double(_) | Compute::Float(_) | Compute::Rounded(..) => None,
            Compute::Flushed(_) | Compute::Convert(_) | Compute::WideConvert(_) => None,
            Compute::Special(_) | Compute::Predicate(_) => None,
        };
        affine.map_or_else(|| self.half_affine(flow, at, compute, alu), Class::Affine)
    }

    /// The class of a result that is a vector.
    fn half_affine(&self, flow: &Flow, at: usize, compute: Compute, alu: &Alu) -> Class {
        let mut sources = [(0, None); 3];
        for (source, slot) in sources.iter_mut().zip(alu.s.iter()) {
            if slot.class() == softwarp_ir::Class::Predicate {
                return Class::Varying;
            }
            let (class, value) = self.source(flow, at, slot);
            match (class, class.step()) {
                (Class::Unknown, _) => return Class::Unknown,
                (_, None) => return Class::Varying,
                (_, Some(step)) => *source = (step, value),
            }
        }
        let [(a, a_value), (b, b_value), (c, _)] = sources;
        let narrow = |step: i64| i64::from(step as i32);
        let scaled = |factor: fn(u64) -> i64| match (a_value, b_value) {
            (_, _) if a == 0 && b == 0 => Some(0),
            (_, Some(value)) => Some(a.wrapping_mul(factor(value))),
            (Some(value), None) => Some(b.wrapping_mul(factor(value))),
            (None, None) => None,
        };
        let signed: fn(u64) -> i64 = |value| i64::from(value as u32 as i32);
        let unsigned: fn(u64) -> i64 = |value| value as u32 as i64;
        let small = |step: i64, signed: bool| step.unsigned_abs() < 1 << 20 && (signed || step >= 0);
        let step = match compute {
            Compute::Copy(_) => Some(a),
            Compute::Add(Width::W32) => Some(narrow(a.wrapping_add(b))),
            Compute::Add(Width::W64) => Some(a.wrapping_add(b)),
            Compute::Sub(Width::W32) => Some(narrow(a.wrapping_sub(b))),
            Compute::Sub(Width::W64) => Some(a.wrapping_sub(b)),
            Compute::Mul(Width::W32) => scaled(signed).map(narrow),
            Compute::Mul(Width::W64) => scaled(|value| value as i64),
            Compute::Mad(Width::W32) => scaled(signed).map(|scaled| narrow(scaled.wrapping_add(c))),
            Compute::Mad(Width::W64) => scaled(|value| value as i64).map(|scaled| scaled.wrapping_add(c)),
            // Code checks that sources do not wrap around within a half.
            Compute::Wide { signed: is_signed, .. } if small(a, is_signed) && small(b, is_signed) => {
                scaled(if is_signed { signed } else { unsigned }).map(|scaled| scaled.wrapping_add(c))
            }
            Compute::Shl(width) => {
                let shifted = b_value.filter(|&by| by < 32).map(|by| a << by);
                match width {
                    Width::W32 => shifted.map(narrow),
                    Width::W64 => shifted,
                }
            }
            Compute::Extend(Extend::Sign64) => Some(a).filter(|&a| small(a, true)),
            Compute::Extend(Extend::Zero64) => Some(a).filter(|&a| small(a, false)),
            Compute::Extend(Extend::Low32) => Some(narrow(a)),
            // Nothing is claimed of these.
            Compute::Wide { .. } | Compute::Extend(Extend::Field { .. } | Extend::Sign { .. }) => None,
            Compute::Neg(_) | Compute::High { .. } | Compute::Permute(_) | Compute::Lop3(_) => None,
            Compute::And(_) | Compute::Or(_) | Compute::Xor(_) | Compute::Not(_) => None,
            Compute::Shr { .. } | Compute::Funnel { .. } | Compute::Min { .. } | Compute::Max { .. } => None,
            Compute::Select(_) | Compute::Halves | Compute::Pack64 | Compute::High32 => None,
            Compute::Compare { .. } | Compute::CompareFloat { .. } | Compute::CompareDouble { .. } => None,
            Compute::CompareShort { .. } | Compute::Integer(_) | Compute::Half(_) | Compute::Double(_) => {
                None
            }
            Compute::Float(_) | Compute::Rounded(..) | Compute::Flushed(_) | Compute::Convert(_) => None,
            Compute::WideConvert(_) | Compute::Special(_) | Compute::Predicate(_) => None,
        };
        step.map_or(Class::Varying, Class::HalfAffine)
    }

    /// How many low bits of a source are zero in the first lane, at least.
    pub(crate) fn zeros(&self, flow: &Flow, op: usize, slot: Slot) -> u32 {
        self.alignment.source(flow, op, slot)
    }

    /// Bits of a row that is never written, shifted to the right before: the row, by how much, and which bits. The lanes
    /// of the row differ in bits that are zero in its first lane, but those of the shifted row are not affine.
    pub(crate) fn shifted_bits(
        &self,
        flow: &Flow,
        at: usize,
        compute: Compute,
        alu: &Alu,
    ) -> Option<(Slot, u32, u32)> {
        let (Compute::And(Width::W32), [a, b]) = (compute, [alu.s.get(0)?, alu.s.get(1)?]) else {
            return None;
        };
        let mask = Some(b).filter(|&b| flow.is_fixed(b))?;
        let web = flow.read(at, a).filter(|&web| self.webs[web] == Class::Varying)?;
        let &[shift] = flow.defs(web) else { return None };
        let (Action::Compute(Compute::Shr { width: Width::W32, .. }), Op::Alu(alu)) =
            (flow.actions[shift], &self.function.ops[shift])
        else {
            return None;
        };
        let (slot, by) = (alu.s.get(0)?, alu.s.get(1)?);
        let by = self.constant(flow, by).filter(|&amount| flow.is_fixed(by) && amount < 32)?;
        let (class, _) = self.source(flow, at, slot);
        let mask = self.constant(flow, mask)?;
        let Class::Affine(steps) = class else { return None };
        let whole = alu.guard == Guard::ALWAYS && flow.is_fixed(slot);
        (whole && steps.fit(self.zeros(flow, at, slot))).then_some((slot, by, mask))
    }

    /// A bitwise operation on an affine value and one that is the same in all lanes, or a shift to the right, where the
    /// lanes of the first differ in bits that are zero in its first lane: the index of a lane in its warp, that of a warp
    /// in its CTA.
    fn of_bits(
        &self,
        flow: &Flow,
        at: usize,
        compute: Compute,
        alu: &Alu,
        [(a, a_value), (b, b_value)]: [(Steps, Option<u64>); 2],
    ) -> Option<Steps> {
        let (first, second) = (alu.s.get(0)?, alu.s.get(1)?);
        let is_shift = matches!(compute, Compute::Shr { .. });
        let (steps, slot, other, value) = match () {
            () if b == Steps::ZERO => (a, first, second, b_value),
            () if a == Steps::ZERO && !is_shift => (b, second, first, a_value),
            () => return None,
        };
        if !steps.fit(self.zeros(flow, at, slot)) {
            return None;
        }
        let value = match value {
            Some(value) => value as i64,
            // Its low bits are zero.
            None if !is_shift && steps.fit(self.zeros(flow, at, other)) => 0,
            None => return None,
        };
        if let Compute::And(_) = compute {
            steps.through(|step| step & value)
        } else if let Compute::Or(_) = compute {
            steps.through(|step| step | value)
        } else if let Compute::Xor(_) = compute {
            steps.through(|step| step ^ value)
        } else if is_shift {
            steps.through(|step| step >> value.clamp(0, 63))
        } else {
            None
        }
    }
}

/// Rows that are never written, by their indices: their classes, and their values where these are known.
pub(crate) struct Fixed(Vec<(Class, Option<u64>)>);

impl Fixed {
    pub(crate) fn of(function: &Function, flow: &Flow, shape: Shape) -> Fixed {
        let mut fixed = vec![(Class::Varying, None); flow.fixed.len()];
        let mut insert = |slot: Slot, of: (Class, Option<u64>)| fixed[flow.index(slot)] = of;
        for &(slot, value) in &function.narrow_constants {
            insert(Slot::narrow(slot), (Class::UNIFORM, Some(u64::from(value))));
        }
        for &(slot, value) in &function.wide_constants {
            insert(Slot::wide(slot), (Class::UNIFORM, Some(value)));
        }
        for &(slot, _) in &function.shared_narrow {
            insert(Slot::narrow(slot), (Class::UNIFORM, None));
        }
        for &(slot, _) in &function.shared_wide {
            insert(Slot::wide(slot), (Class::UNIFORM, None));
        }
        for &(slot, _) in &function.start.of_cta {
            insert(Slot::narrow(slot), (Class::UNIFORM, None));
        }
        for &given in &function.start.given {
            let (slot, class) = match given {
                Given::Narrow(slot, _) => (Slot::narrow(slot), Class::UNIFORM),
                Given::Wide(slot, _) => (Slot::wide(slot), Class::UNIFORM),
                Given::Special(slot, special) => (Slot::narrow(slot), special_class(special, shape)),
            };
            insert(slot, (class, None));
        }
        Fixed(fixed)
    }

    /// The value of a row of 32-bit words, if that is known.
    pub(crate) fn constant(&self, flow: &Flow, slot: Slot) -> Option<u32> {
        let (_, value) = self.0[flow.index(slot)];
        value.filter(|_| slot.class() == softwarp_ir::Class::Narrow).map(|value| value as u32)
    }
}

fn special_class(special: Special, shape: Shape) -> Class {
    match (special, shape.rows) {
        (Special::Tid(0), Rows::Whole) | (Special::LaneId, _) => Class::Affine(Steps::even(1)),
        (Special::Tid(0), Rows::Half) => Class::Affine(Steps { lane: 1, half: 0 }),
        (Special::Tid(1), Rows::Whole) => Class::UNIFORM,
        (Special::Tid(1), Rows::Half) => Class::Affine(Steps { lane: 0, half: 1 }),
        (Special::Tid(2), _) if shape.third_axis_uniform => Class::UNIFORM,
        (Special::Tid(_), _) => Class::Varying,
        (Special::Ntid(_) | Special::Nctaid(_) | Special::Ctaid(_), _) => Class::UNIFORM,
        (Special::WarpId | Special::NwarpId, _) => Class::UNIFORM,
        (Special::SmId | Special::NsmId | Special::GridId, _) => Class::Varying,
        (Special::LanemaskEq | Special::LanemaskLe | Special::LanemaskLt, _) => Class::Varying,
        (Special::LanemaskGe | Special::LanemaskGt, _) => Class::Varying,
        (Special::Clock | Special::ClockHi | Special::Clock64, _) => Class::Varying,
        (Special::GlobalTimer | Special::GlobalTimerLo | Special::GlobalTimerHi, _) => Class::Varying,
        (Special::TotalSmemSize | Special::AggrSmemSize | Special::DynamicSmemSize, _) => Class::Varying,
        (Special::ReservedSmem(_) | Special::CurrentGraphExec | Special::EnvReg(_), _) => Class::Varying,
        (Special::ClusterId(_) | Special::NclusterId(_) | Special::ClusterCtaid(_), _) => Class::Varying,
        (Special::ClusterNctaid(_) | Special::ClusterCtarank, _) => Class::Varying,
        (Special::ClusterNctarank | Special::IsExplicitCluster | Special::Pm(_), _) => Class::Varying,
    }
}
