//! CTAs that run compiled code alone: all warps together, up to barriers and ends, and one CTA after the other.
//!
//! `unsafe` is here for the call of compiled code.

use super::callback::{Ctas, Interpreter, next_cta, step, zero_shared};
use super::{PART, note_divergence, own_shared, scratch};
use crate::context::Launch;
use crate::cta_source::CtaSource;
use crate::decode::Code;
use crate::fault::{Fault, Trouble};
use crate::meter::Meter;
use crate::warp::cost::{self, SLICE};
use crate::warp::left::{Left, Stop};
use crate::warp::{Env, Split, Warp};
use softwarp_ir::Slot;
use softwarp_jit::{Call, Compiled, Entry, Lanes, Region, Scratch, lend};
use std::ffi::c_void;

/// The compiled code of a kernel, and the state of its warps while it runs alone.
struct Running<'a> {
    code: &'a Code,
    compiled: &'a Compiled,
    native: &'a mut Scratch,
    entries: &'a mut Vec<Entry>,
    stops: &'a mut Vec<Stop>,
    /// The memory that each thread has to itself, and the parameters of functions.
    own: [Region; 2],
    /// The first of the warps that were to be entered, and were not, since the interpreter goes on with one before them.
    unentered: usize,
}

impl Running<'_> {
    /// Has all warps begin. Those of an earlier CTA have the same frames.
    fn begin(&mut self, env: &Env<'_>, warps: &mut [Warp], again: bool) {
        self.native.waiting.clear();
        if !again {
            self.entries.clear();
            self.stops.clear();
            for warp in &mut *warps {
                self.entries.push(Entry::new(&mut warp.calls[0].frame, Lanes { op: 0, mask: 0 }));
                self.stops.push(Stop::Nothing);
            }
        }
        for (index, warp) in warps.iter_mut().enumerate() {
            let entry = &mut self.entries[index];
            (entry.op, entry.mask) = (0, env.launch.lanes(index));
            lend(&mut warp.calls[0].frame);
            self.own = warp.own_regions(0, env.spaces.windows.local.size, entry);
        }
    }

    /// Runs all warps. Returns where they were left, if all threads were left at the same end or barrier, and otherwise goes
    /// on until each warp stands at something.
    fn run_together(
        &mut self,
        env: &mut Env<'_>,
        warps: &mut [Warp],
        next: &mut dyn CtaSource,
    ) -> Result<Option<Left>, Box<Fault>> {
        let (launch, shared, count) = (env.launch, own_shared(&env.spaces, self.native), warps.len());
        let (code, compiled) = (self.code, self.compiled);
        let mut interpreter = Interpreter {
            code,
            compiled,
            ctas: Some(Ctas::new(launch, code, count, next)),
            env,
            warps,
            call: 0,
            entries: self.entries.as_ptr(),
            // What the CTA has done before is not known.
            stepped: true,
            cost: 0,
            panic: None,
        };
        // Compiled code, `step` and `next_cta` reach it through this pointer alone.
        let state = &raw mut interpreter;
        let ([own, parameters], next_cta) = (self.own, Some(next_cta as softwarp_jit::NextCta));
        let call = Call { shared, own, parameters, step, next_cta, state: state.cast::<c_void>() };
        self.compiled.prepare(self.native, &call);
        let (mut first, mut rest) = (0, SLICE);
        let mut together = self.compiled.enter_together(self.entries);
        if !together {
            for index in 0..count {
                self.stops[index] = self.enter_at(index);
                if self.stops[index] != Stop::Nothing {
                    note_divergence(self.code, self.compiled);
                }
            }
        }
        while first < count {
            let ready = match together {
                true => count,
                false => self.stops[first..].iter().take_while(|stop| **stop == Stop::Nothing).count(),
            };
            if ready == 0 {
                if self.stops[first] == Stop::Other {
                    self.unentered = first + 1;
                    return Ok(None);
                }
                (first, rest) = (first + 1, SLICE);
                continue;
            }
            let part = rest.min(PART);
            // SAFETY: as in `run_native`. The state outlives the loop, which reaches it through `state` only while compiled code
            // does not run.
            let done = unsafe {
                self.compiled.run(self.native, &mut self.entries[first..first + ready], together, part)
            };
            // SAFETY: compiled code does not run.
            let interpreter = unsafe { &mut *state };
            interpreter.go_on_panicking();
            let Interpreter { env, warps, ctas, cost, .. } = interpreter;
            if done.in_registers {
                let last = first + done.warps - 1;
                let frame = &mut warps[last].calls[0].frame;
                compiled.write_registers(self.native, &self.entries[last], frame);
            }
            if let Some(ctas) = ctas {
                ctas.settle(env.meter);
            }
            env.meter.count_native(&done);
            let cost = std::mem::take(cost) + done.polled as i64;
            let cost = cost + done.instructions as i64 + done.warps as i64;
            env.meter.spend_within(launch, cost).map_err(|trouble| limit(launch, *trouble))?;
            let last = first + done.warps - 1;
            let mut left = Left::at(self.code, self.entries[first].op);
            if together && done.warps == count && self.are_together(&left) {
                return Ok(Some(left));
            }
            let was_together = std::mem::take(&mut together);
            if was_together {
                self.stops.fill(Stop::Nothing);
            }
            for (index, warp) in warps.iter_mut().enumerate().take(last + 1).skip(first) {
                if self.entries[index].op != left.op {
                    left = Left::at(self.code, self.entries[index].op);
                }
                self.stop(launch, (index, warp), &left);
            }
            match self.stops[last] {
                Stop::End | Stop::Barrier(_) => {
                    (first, rest) = (last + 1, SLICE);
                    continue;
                }
                Stop::Nothing if self.entries[last].left <= 0 => {}
                // The interpreter goes on with it before the next one is entered: in the order without compiled code.
                Stop::Nothing | Stop::Other => {
                    self.unentered = last + 1;
                    return Ok(None);
                }
            }
            // The budget was spent. Warps that were together have come here in turns, and have just begun.
            let before = match last == first || was_together {
                true => part,
                false => self.entries[last - 1].left,
            };
            let executed = before - self.entries[last].left;
            let used = if was_together { 0 } else { executed };
            rest = if last == first { rest } else { SLICE } - used - 1;
            if rest <= 0 || executed == 0 {
                // Its slice has ended: others go first.
                self.stops[last] = Stop::Other;
                (first, rest) = (last + 1, SLICE);
                continue;
            }
            first = last;
            self.stops[last] = self.enter_at(last);
        }
        Ok(None)
    }

    /// Whether all threads were left at the same end or barrier. All warps are whole.
    fn are_together(&self, left: &Left) -> bool {
        let known = match left.at {
            Stop::End => true,
            Stop::Barrier(_) => left.barrier.is_some_and(|slot| self.is_constant(slot)),
            Stop::Nothing | Stop::Other => false,
        };
        known && self.entries.iter().all(|entry| entry.op == left.op && entry.mask == u32::MAX)
    }

    /// Whether a row is the number of a barrier, the same in all warps.
    fn is_constant(&self, slot: Slot) -> bool {
        let number = self.code.narrow_constants.iter().find(|(constant, _)| *constant == slot.number());
        !slot.is_wide() && number.is_some_and(|&(_, number)| number < softwarp_isa::device::BARRIERS)
    }

    /// Prepares to enter a warp at its operation. Without code there, the interpreter goes on.
    #[inline]
    fn enter_at(&mut self, index: usize) -> Stop {
        let entry = &mut self.entries[index];
        if self.compiled.enter_at(entry, &[]) { Stop::Nothing } else { Stop::Other }
    }

    /// Finds out what a warp stands at.
    #[inline]
    fn stop(&mut self, launch: &Launch<'_>, (index, warp): (usize, &mut Warp), left: &Left) {
        if left.is_branch(self.code) {
            note_divergence(self.code, self.compiled);
        }
        // Lanes wait elsewhere in the last warp only.
        let mask = self.entries[index].mask;
        if mask != launch.lanes(index) {
            warp.keep_polls(self.native);
            let waiting = self.native.waiting.drain(..);
            warp.splits.extend(waiting.map(|lanes| Split::new(lanes.op, lanes.mask, 0)));
            self.stops[index] = Stop::Other;
            return;
        }
        self.stops[index] = left.stop(warp);
    }

    /// Runs a CTA: each warp up to its end or to a barrier, and all of them again once all have come to it. Compiled code
    /// may begin others that `next` gives in its place. Returns whether all threads of the last one have exited.
    fn run_cta(
        &mut self,
        env: &mut Env<'_>,
        warps: &mut [Warp],
        next: &mut dyn CtaSource,
    ) -> Result<bool, Box<Fault>> {
        loop {
            self.unentered = warps.len();
            let left = self.run_together(env, warps, next)?;
            self.complete_unentered(env, warps);
            env.meter.flush(env.launch)?;
            let at = match left {
                Some(left) => {
                    let (warps, threads) = (self.entries.len() as u64, env.launch.block_threads());
                    env.meter.count_warps(left.instructions, warps, threads.into());
                    left.at
                }
                None => self.meet(env.meter),
            };
            match at {
                Stop::End => return Ok(true),
                Stop::Barrier(_) => self.entries.iter_mut().for_each(|entry| entry.op += 1),
                Stop::Nothing | Stop::Other => return Ok(false),
            }
        }
    }

    /// Makes the frames of warps that were to be entered what the code at their entries would have made of them.
    fn complete_unentered(&self, env: &Env<'_>, warps: &mut [Warp]) {
        for (index, warp) in warps.iter_mut().enumerate().skip(self.unentered) {
            let (entry, frame) = (&self.entries[index], &mut warp.calls[0].frame);
            if self.stops[index] == Stop::Nothing && !self.compiled.complete_unentered(entry, frame) {
                warp.clear(env, self.code);
            }
        }
    }

    /// What all warps stand at. Ends are counted, and a barrier to which all have come.
    fn meet(&self, meter: &mut Meter) -> Stop {
        let first = self.stops.first().copied().unwrap_or(Stop::End);
        let same = self.stops.iter().all(|&stop| stop == first);
        for (entry, stop) in self.entries.iter().zip(self.stops.iter()) {
            if *stop == Stop::End || same && matches!(first, Stop::Barrier(_)) {
                meter.count(Left::at(self.code, entry.op).instructions, entry.mask);
            }
        }
        if same { first } else { Stop::Other }
    }
}

/// What is said of a launch that has come to a limit.
fn limit(launch: &Launch<'_>, trouble: Trouble) -> Box<Fault> {
    let kernel = launch.name.to_string();
    Box::new(Fault { kind: trouble.kind, kernel, place: None, running: Vec::new(), registers: Vec::new() })
}

/// Runs CTAs with compiled code alone: the one that has begun, and those that `next` gives, one after the other. Returns
/// whether all threads of the last one have exited; otherwise the interpreter goes on with it.
pub(crate) fn run_ctas(
    env: &mut Env<'_>,
    warps: &mut [Warp],
    stops: &mut Vec<Stop>,
    next: &mut dyn CtaSource,
) -> Result<bool, Box<Fault>> {
    let launch = env.launch;
    let code = &launch.program.codes[0];
    let Some(mut compiled) = launch.compiled() else { return Ok(false) };
    let mut native = env.meter.native.take().unwrap_or_else(scratch);
    let mut entries = std::mem::take(&mut native.entries);
    let mut again = false;
    let done = loop {
        let own = [Region::EMPTY; 2];
        let (native, entries) = (&mut native, &mut entries);
        let mut running = Running { code, compiled, native, entries, stops, own, unentered: 0 };
        running.begin(env, warps, again);
        match running.run_cta(env, warps, next) {
            Ok(true) => {}
            Ok(false) => break Ok(false),
            Err(fault) => {
                // It is told where warps were.
                let is_end = |entry: &Entry| Left::at(code, entry.op).at == Stop::End;
                let stop = |entry| if is_end(entry) { Stop::End } else { Stop::Other };
                stops.clear();
                stops.extend(entries.iter().map(stop));
                break Err(fault);
            }
        }
        let Some(index) = next.next() else { break Ok(true) };
        begin_next(env, warps, code, launch.cta(index, 0))?;
        compiled = launch.compiled().unwrap_or(compiled);
        again = true;
    };
    if !matches!(done, Ok(true)) {
        env.barriers.restart((0..warps.len()).map(|warp| launch.lanes(warp)));
        for (index, warp) in warps.iter_mut().enumerate() {
            compiled.complete(&mut entries[index], &mut warp.calls[0].frame);
            let at = Lanes { op: entries[index].op, mask: entries[index].mask };
            warp.resume(env, launch.lanes(index), at, stops[index]);
        }
    }
    native.entries = entries;
    env.meter.native = Some(native);
    done
}

/// Begins another CTA in place of one that has ended.
fn begin_next(env: &mut Env<'_>, warps: &mut [Warp], code: &Code, place: [u32; 3]) -> Result<(), Box<Fault>> {
    env.cta = place;
    zero_shared(&env.spaces, true);
    env.meter.work(cost::zeroing(env.launch.shared_bytes));
    for warp in warps {
        warp.restart(env, code);
        warp.splits.clear();
    }
    env.meter.take_work();
    env.meter.flush(env.launch)
}
