//! The general loop: executes operations one after the other, and changes the splits of a warp as each step requires.

use super::collective::exchange_alone;
use super::cost::{OBSERVED, OBSERVED_STEP, OBSERVED_WORK, POLL, SHORTEST, SLICE, STEP, TURN, WORK, work_of};
use super::fast_loop::{Memories, run_fast};
use super::observe::{observe_defined, observe_registers};
use super::stop::Peers;
use super::{Activation, Env, Split, State, Warp};
use crate::barrier::Arrival;
use crate::debug::Control;
use crate::decode::Code;
use crate::decode::native::Jit;
use crate::fault::{Fault, FaultKind, Tried, Trouble};
use crate::meter::{LOOK, Meter, Seen};
use crate::sanitize::bounds::{TAG_SHIFT, tag};
use crate::schedule::Random;
use softwarp_ir::{Barrier, BarrierOp, Op, Slot, Step};
use softwarp_units::lanes::{Frame, LANES, lanes};
use std::sync::atomic::{Ordering, fence};

/// The end of a warp's slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// It could go on.
    Paused,
    /// It waits at barriers.
    Blocked,
    /// All its lanes have exited.
    Done,
}

/// The continuation after a step.
pub(super) enum Flow {
    /// The next operation, with the same lanes.
    Next,
    /// The lanes went elsewhere.
    Gone,
    /// The same operation once more, when others have run.
    Again,
    /// The next operation, when other lanes of the warp have run.
    Behind,
}

/// The position of a split in the function that it executes.
struct Cursor<'a> {
    code: &'a Code,
    /// The index of the function in the program.
    number: usize,
    /// The operations up to the next one at which another split stands.
    ops: &'a [Op],
    mask: u32,
    pc: usize,
    /// The first operation that is not counted: instructions are counted in runs between jumps.
    start: usize,
    /// Another split stands at an operation before `pc`: after a jump back, it may be the next one to come to.
    passed: bool,
}

impl Cursor<'_> {
    /// Counts the instructions of the run that ends before an operation.
    #[inline(always)]
    fn count(&self, meter: &mut Meter, end: usize) {
        meter.count(self.code.instructions_between(self.start, end), self.mask);
    }

    /// Counts, and leaves the split at the next operation.
    #[inline(always)]
    fn leave(&self, meter: &mut Meter, split: &mut Split) {
        self.count(meter, self.pc);
        split.pc = self.pc as u32;
    }
}

/// Why arithmetic and branches have ended.
enum Reached<'a> {
    /// A step, and the lanes that pass its guard.
    Step(u32, &'a Step),
    /// The fast loop can go on.
    Arithmetic,
    /// The split has ended its turn, and is left where it stands.
    End,
    /// The debugger ends the launch.
    Cancelled,
}

impl Warp {
    /// Runs for a slice.
    pub(crate) fn run<const OBSERVING: bool>(
        &mut self,
        env: &mut Env<'_>,
        peers: Peers<'_>,
    ) -> Result<Progress, Box<Fault>> {
        let slice = match &mut env.meter.random {
            Some(random) => random.slice(SHORTEST, SLICE.ilog2()),
            None => SLICE,
        };
        let mut budget = slice;
        let progress = self.run_slice::<OBSERVING>(env, peers, &mut budget);
        env.meter.spend(slice - budget + TURN);
        progress
    }

    fn run_slice<const OBSERVING: bool>(
        &mut self,
        env: &mut Env<'_>,
        peers: Peers<'_>,
        budget: &mut i64,
    ) -> Result<Progress, Box<Fault>> {
        (self.advanced, self.waited, self.acted) = (false, false, false);
        loop {
            if std::mem::take(&mut self.recheck) {
                self.exchange_complete(env, false);
            }
            // Nearly always there is one split. It is not returned in an option, which would be copied field by field.
            let mut split;
            if self.is_together() {
                split = self.splits[0];
                self.splits.clear();
            } else if let Some(picked) = self.pick(self.random_lanes(env)) {
                split = picked;
            } else {
                if self.live == 0 {
                    return Ok(Progress::Done);
                }
                let barrier = self
                    .splits
                    .iter()
                    .any(|split| matches!(split.state, State::Barrier(_) | State::Cluster(_)));
                if self.exchange_complete(env, !barrier) {
                    continue;
                }
                return Ok(Progress::Blocked);
            }
            self.begin_turn();
            if let Err(trouble) = self.run_split::<OBSERVING>(env, peers, &mut split, budget) {
                let fault = self.fault(env, &split, split.mask, *trouble);
                if fault.kind.is_limit() {
                    // It is told where warps were.
                    self.splits.push(split);
                }
                if OBSERVING && !fault.kind.is_limit() {
                    self.debug_fault(env, peers, split, &fault);
                }
                return Err(fault);
            }
            if self.live == 0 {
                return Ok(Progress::Done);
            }
            let yielded = std::mem::take(&mut self.yielded);
            let (spent, polled) = (*budget <= 0 || yielded, self.has_polled());
            if spent {
                self.rest(yielded, env.meter.random.is_some());
            }
            if spent || polled {
                self.end_turn(&mut split, yielded || polled);
            }
            if split.mask != 0 {
                self.splits.push(split);
            }
            if spent || env.barriers.any_completed() {
                return Ok(Progress::Paused);
            }
        }
    }

    /// Runs a split until it parts, waits or comes to where another stands. It is left where it stands; without
    /// lanes if these went elsewhere.
    fn run_split<const OBSERVING: bool>(
        &mut self,
        env: &mut Env<'_>,
        peers: Peers<'_>,
        split: &mut Split,
        budget: &mut i64,
    ) -> Tried<()> {
        let launch = env.launch;
        let call = split.call as usize;
        let number = self.calls[call].code as usize;
        let code = &launch.program.codes[number];
        let ops = &code.ops[..self.stop(split, code.ops.len())];
        let pc = split.pc as usize;
        let passed = env.meter.random.is_none() && self.has_passed(split);
        let mut at = Cursor { code, number, ops, mask: split.mask, pc, start: pc, passed };
        loop {
            if !OBSERVING && !self.run_plan(env, split, &mut at, budget)? {
                return Ok(());
            }
            let (guard, step) = match self.next_step::<OBSERVING>(env, peers, split, (&mut at, budget)) {
                Reached::Step(0, _) => {
                    at.pc += 1;
                    continue;
                }
                Reached::Step(guard, step) => (guard, step),
                Reached::Arithmetic => continue,
                Reached::End => return Ok(()),
                Reached::Cancelled => return Err(Trouble::new(0, FaultKind::Cancelled)),
            };
            split.pc = at.pc as u32;
            *budget -= if OBSERVING { OBSERVED_STEP } else { STEP };
            env.meter.work(work_of(step, guard));
            if OBSERVING {
                self.observe(env, split, step, guard);
            }
            self.acted = self.acted || step.makes_progress();
            let flow = self.execute(env, split, (code, step), guard, budget)?;
            if matches!(flow, Flow::Again) {
                at.count(env.meter, at.pc);
                return Ok(());
            }
            at.pc += 1;
            *budget -= env.meter.take_work() * if OBSERVING { OBSERVED_WORK } else { WORK };
            match flow {
                Flow::Next if *budget > 0 => {
                    if OBSERVING {
                        env.meter.after(launch, &self.calls[call].frame);
                    }
                }
                Flow::Next | Flow::Behind => {
                    at.leave(env.meter, split);
                    return Ok(());
                }
                Flow::Gone | Flow::Again => {
                    at.count(env.meter, at.pc);
                    return Ok(());
                }
            }
        }
    }

    /// Runs compiled code and the fast loop as far as they go. Returns whether the split goes on.
    #[inline(always)]
    fn run_plan(
        &mut self,
        env: &mut Env<'_>,
        split: &mut Split,
        at: &mut Cursor<'_>,
        budget: &mut i64,
    ) -> Tried<bool> {
        at.count(env.meter, at.pc);
        at.start = at.pc;
        let jit = env.launch.jit.0;
        loop {
            let compiled = if jit == Jit::Off { None } else { env.launch.compiled_code(at.code) };
            let mut end = at.ops.len();
            if let Some(compiled) = compiled {
                split.pc = at.pc as u32;
                let before = *budget;
                if let Some(ran) = self.run_native(env, split, (at.code, compiled), budget) {
                    (at.pc, at.start, at.mask) = (ran.op, ran.op, split.mask);
                    Warp::spend_native(env, before - *budget)?;
                    if ran.diverged && self.has_met(split) {
                        return Ok(false);
                    }
                    if ran.diverged {
                        at.ops = &at.code.ops[..self.stop(split, at.code.ops.len())];
                    }
                    return Ok(*budget > 0 && !ran.polled);
                }
                // Compiled code goes on where it can be entered.
                end = end.min(compiled.next_entry(at.pc));
            }
            let frame = &mut self.calls[split.call as usize].frame;
            let Env { spaces, hints, pieces, meter, .. } = &mut *env;
            let mut memories = Memories { spaces, hints, pieces, meter };
            // A slice may take long: limits are checked within it.
            let mut part = if at.passed { 1 } else { (*budget).min(LOOK) };
            if compiled.is_some() {
                // A branch back may lead to where compiled code can be entered.
                part = part.min(end.saturating_sub(at.pc).max(1) as i64);
            }
            let (from, mut left) = (at.pc, part);
            let (to, done) = run_fast(frame, at.code, &mut memories, (at.pc, end, at.mask), &mut left);
            *budget -= part - left;
            env.meter.count(done, at.mask);
            if jit == Jit::Auto && compiled.is_none() {
                at.code.native.interpreted(done);
            }
            (at.pc, at.start, split.pc) = (to, to, to as u32);
            if *budget <= 0 || at.passed && to < from {
                return Ok(false);
            }
            env.meter.spend_within(env.launch, part - left)?;
            let can_enter = compiled.is_some_and(|compiled| compiled.has_entry(to));
            if done == 0 || !can_enter || to >= at.ops.len() {
                return Ok(true);
            }
        }
    }

    /// Runs arithmetic and branches up to the next step. In the loop that is not observed, the fast loop follows each
    /// arithmetic operation.
    #[inline(always)]
    fn next_step<'a, const OBSERVING: bool>(
        &mut self,
        env: &mut Env<'_>,
        peers: Peers<'_>,
        split: &mut Split,
        (at, budget): (&mut Cursor<'a>, &mut i64),
    ) -> Reached<'a> {
        let (launch, code, mask) = (env.launch, at.code, at.mask);
        loop {
            let Some(op) = at.ops.get(at.pc) else {
                at.leave(env.meter, split);
                // Past the last operation is the end of the function.
                if at.pc >= code.ops.len() {
                    *budget -= STEP;
                    self.leave(env, split, mask);
                }
                return Reached::End;
            };
            if OBSERVING {
                if *budget <= 0 || launch.has_random_lanes() && split.holds(&self.splits, op) {
                    at.leave(env.meter, split);
                    return Reached::End;
                }
                if launch.debugger.is_some() && code.instructions_between(at.pc, at.pc + 1) != 0 {
                    split.pc = at.pc as u32;
                    if self.debug(env, peers, *split) == Control::End {
                        at.leave(env.meter, split);
                        return Reached::Cancelled;
                    }
                }
            }
            let Activation { frame, shadow, .. } = &mut self.calls[split.call as usize];
            if OBSERVING {
                *budget -= OBSERVED;
                let (number, pc) = (at.number, at.pc);
                let seen = Seen { code, number, pc, mask, cta: env.cta, warp: self.index };
                env.meter.before(launch, &seen, frame);
                observe_registers(launch, &seen, frame);
                observe_defined(launch, &seen, frame, shadow);
            }
            match op {
                Op::Alu(_) => {
                    if let Some(inst) = code.decoded[at.pc].alu() {
                        let lanes = inst.guard.lanes(frame, mask);
                        if lanes != 0 {
                            inst.kernel.run(frame, inst, lanes);
                        }
                    }
                    at.pc += 1;
                    *budget -= 1;
                    if !OBSERVING {
                        return Reached::Arithmetic;
                    }
                }
                Op::Branch(guard, target) => {
                    let taken = guard.lanes(frame, mask);
                    at.count(env.meter, at.pc + 1);
                    *budget -= 1;
                    let target = *target as usize;
                    if taken != mask && taken != 0 {
                        *budget -= STEP;
                        env.meter.diverged();
                        self.diverge(split, (at.pc, target), taken);
                        return Reached::End;
                    }
                    let back = taken != 0 && target <= at.pc;
                    at.pc = if taken == 0 { at.pc + 1 } else { target };
                    at.start = at.pc;
                    if *budget <= 0 || at.passed && back {
                        split.pc = at.pc as u32;
                        return Reached::End;
                    }
                }
                Op::Other(guard, step) => return Reached::Step(guard.lanes(frame, mask), step),
            }
            if OBSERVING {
                env.meter.after(launch, frame);
            }
        }
    }

    /// Some lanes of a split take a branch at `pc`. The split goes on with those at the lower operation; the others become
    /// a split of their own.
    fn diverge(&mut self, split: &mut Split, (pc, target): (usize, usize), taken: u32) {
        let fallen = split.mask & !taken;
        let (low, low_mask, high, high_mask) = match target <= pc {
            true => (target, taken, pc + 1, fallen),
            false => (pc + 1, fallen, target, taken),
        };
        self.splits.push(Split { pc: high as u32, mask: high_mask, ..*split });
        (split.pc, split.mask) = (low as u32, low_mask);
    }

    /// Executes an operation that needs more than the frame, by the lanes of a split that pass its guard.
    #[inline(always)]
    fn execute(
        &mut self,
        env: &mut Env<'_>,
        split: &mut Split,
        (code, step): (&Code, &Step),
        guard: u32,
        budget: &mut i64,
    ) -> Tried<Flow> {
        let (call, pc) = (split.call as usize, split.pc as usize);
        Ok(match step {
            Step::Load(access) => {
                let done = self.load(env, call, (access, code.decoded[pc].access()), pc, guard);
                done.map_err(|trouble| self.blame(env, call, &access.address, trouble))?;
                if access.order.is_strong() {
                    *budget -= POLL;
                    self.poll()
                } else {
                    Flow::Next
                }
            }
            Step::Store(access) => {
                let done = self.store(env, call, (access, code.decoded[pc].access()), pc, guard);
                done.map_err(|trouble| self.blame(env, call, &access.address, trouble))?;
                Flow::Next
            }
            Step::Atomic(atomic) => {
                *budget -= POLL;
                let done = self.atomic(env, call, atomic, pc, guard);
                done.map_err(|trouble| self.blame(env, call, &atomic.address, trouble))?;
                self.poll()
            }
            Step::Fence(_) => {
                fence(Ordering::SeqCst);
                Flow::Next
            }
            Step::Warp(op) if op.members.is_none() => {
                exchange_alone(&mut self.calls[call].frame, op, guard);
                env.meter.exchanged();
                Flow::Next
            }
            Step::Warp(op) => self.exchange_members(env, split, op, guard),
            Step::Group(op) => self.group(env, *op),
            Step::Barrier(barrier) => self.barrier(env, split, barrier, guard)?,
            Step::Texture(op) => self.texture(env, split, op, guard)?,
            Step::Cluster(op) => self.cluster(env, split, op, guard)?,
            Step::Multimem(op) => self.multimem(env, split, op, guard)?,
            Step::Asynchronous(op) => self.asynchronous(env, split, op, guard)?,
            Step::Matrix(op) => self.matrix(env, split, op, guard)?,
            Step::TensorCore(op) => self.tensor_core(env, split, op, guard)?,
            Step::Yield => {
                self.yielded = true;
                *budget -= POLL;
                split.pc += 1;
                Flow::Gone
            }
            Step::Trap | Step::Breakpoint | Step::Call(_) | Step::Return | Step::Exit | Step::Switch(_) => {
                self.transfer(env, split, step, guard)?
            }
            Step::Special(_)
            | Step::FrameAddress(_)
            | Step::Alloca(_)
            | Step::StackSave(_)
            | Step::StackRestore(_) => {
                self.own_state(env, call, step, guard)?;
                Flow::Next
            }
        })
    }

    /// Executes a transfer of control.
    #[inline]
    fn transfer(&mut self, env: &mut Env<'_>, split: &mut Split, step: &Step, guard: u32) -> Tried<Flow> {
        match step {
            Step::Trap => return Err(Trouble::new(first(guard), FaultKind::Trap)),
            Step::Breakpoint => return Err(Trouble::new(first(guard), FaultKind::Breakpoint)),
            Step::Call(to) => {
                if self.call(env, split, to, guard)? {
                    return Ok(Flow::Next);
                }
            }
            Step::Return => {
                self.leave_behind(split, guard);
                self.leave(env, split, guard);
            }
            Step::Exit => {
                self.leave_behind(split, guard);
                self.exit(env, split, guard);
            }
            Step::Switch(op) => self.switch(split, op.index, &op.targets, guard)?,
            _ => return Ok(Flow::Next),
        }
        Ok(Flow::Gone)
    }

    /// Executes what reads special registers, or reads or changes the stack of the threads.
    #[inline]
    fn own_state(&mut self, env: &mut Env<'_>, call: usize, step: &Step, guard: u32) -> Tried<()> {
        match step {
            Step::Special(read) => self.special(env, call, read.register, read.d, guard),
            Step::FrameAddress(op) => {
                let address = self.calls[call].base.wrapping_add(op.offset);
                self.set_local(env, call, op.d, address, guard);
            }
            Step::Alloca(op) => self.alloca(env, call, *op, guard)?,
            Step::StackSave(op) => {
                let bottom = self.calls[call].bottom;
                self.set_local(env, call, op.d, bottom, guard);
            }
            Step::StackRestore(op) => self.stack_restore(call, op.a, guard, env.spaces.tagged),
            _ => {}
        }
        Ok(())
    }

    /// The random numbers that choose among splits; none with the fixed schedule.
    fn random_lanes<'a>(&self, env: &'a mut Env<'_>) -> Option<&'a mut Random> {
        let independent = env.launch.image.header.arch.has_independent_threads();
        let random = env.launch.has_random_lanes();
        env.meter.random.as_mut().filter(|_| independent && random)
    }

    /// Leaves behind the lanes that a guard holds back, to go on after the operation.
    pub(super) fn leave_behind(&mut self, split: &mut Split, taking: u32) {
        let rest = split.mask & !taking;
        if rest != 0 {
            self.splits.push(Split { pc: split.pc + 1, mask: rest, ..*split });
        }
        split.mask = taking;
    }

    /// Writes an address in the threads' own memory, the same in all lanes but for tags.
    pub(super) fn set_local(&mut self, env: &Env<'_>, call: usize, slot: Slot, address: u64, mask: u32) {
        let frame = &mut self.calls[call].frame;
        if !env.spaces.tagged {
            return set_address(frame, slot, address, mask);
        }
        let (cta, first) = (env.launch.linear(env.cta), self.index * LANES as u32);
        let row: [u64; LANES] =
            std::array::from_fn(|lane| address + (tag(cta, first + lane as u32) << TAG_SHIFT));
        match slot.is_wide() {
            true => frame.set_row(slot, row, mask),
            false => frame.set_row(slot, row.map(|address| address as u32), mask),
        }
    }

    fn switch(&mut self, split: &mut Split, index: Slot, targets: &[u32], taking: u32) -> Tried<()> {
        let row = self.calls[split.call as usize].frame.row::<u32>(index);
        self.leave_behind(split, taking);
        let mut rest = taking;
        while rest != 0 {
            let lane = first(rest);
            let index = row[lane];
            let Some(&target) = targets.get(index as usize) else {
                let targets = targets.len() as u32;
                return Err(Trouble::new(lane, FaultKind::NoTarget { index, targets }));
            };
            let same = lanes(rest).filter(|&lane| targets.get(row[lane] as usize) == Some(&target));
            let mask = same.fold(0, |mask, lane| mask | 1 << lane);
            self.splits.push(Split { pc: target, mask, ..*split });
            rest &= !mask;
        }
        split.mask = 0;
        Ok(())
    }

    fn barrier(
        &mut self,
        env: &mut Env<'_>,
        split: &mut Split,
        barrier: &Barrier,
        taking: u32,
    ) -> Tried<Flow> {
        let frame = &self.calls[split.call as usize].frame;
        let lane = first(taking);
        let number = frame.row::<u32>(barrier.number)[lane];
        let count = barrier.count.map(|count| frame.row::<u32>(count)[lane]);
        // A count of zero in a register means all threads, as without a count.
        let count = count.filter(|&count| count != 0);
        if number >= softwarp_isa::device::BARRIERS {
            return Err(Trouble::new(lane, FaultKind::NoBarrier(number)));
        }
        if count.is_some_and(|count| count % LANES as u32 != 0) {
            return Err(Trouble::new(lane, FaultKind::BarrierCount(count.unwrap_or(0))));
        }
        let holds = match barrier.op {
            BarrierOp::Popc | BarrierOp::And | BarrierOp::Or => Some(barrier.predicate.lanes(frame, taking)),
            BarrierOp::Sync | BarrierOp::Arrive => None,
        };
        let arrival = Arrival { warp: self.index, lanes: taking, count, aligned: barrier.aligned, holds };
        if barrier.op == BarrierOp::Arrive {
            if env.barriers.arrive(number, arrival)
                && let Some(sanitizer) = env.launch.sanitizer
            {
                sanitizer.renewed(env.launch, env.cta, number);
            }
            return Ok(Flow::Next);
        }
        self.leave_behind(split, taking);
        env.barriers.wait(number, arrival);
        split.state = State::Barrier(number);
        Ok(Flow::Gone)
    }
}

/// The lowest of some lanes.
pub(super) fn first(mask: u32) -> usize {
    mask.trailing_zeros() as usize % LANES
}

/// Writes an address that is the same in all lanes.
fn set_address(frame: &mut Frame, slot: Slot, address: u64, mask: u32) {
    if slot.is_wide() {
        frame.set_row(slot, [address; LANES], mask);
    } else {
        frame.set_row(slot, [address as u32; LANES], mask);
    }
}
