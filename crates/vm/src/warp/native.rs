//! Runs compiled code ([`softwarp_jit`]) in place of the fast loop.
//!
//! Compiled code is entered at the start of a basic block, with all lanes of a call or with lanes that have diverged. It
//! stops at what it has no code for, and the interpreter goes on there. Its results, counts and faults are those of the
//! interpreter.
//!
//! `unsafe` is here for the call of compiled code, and for its calls back.

use super::cost::{self, SLICE};
use super::fast_loop::{Memories, touch};
use super::left::{Left, Stop};
use super::{Activation, Env, Split, State, Warp};
use crate::context::Launch;
use crate::cta_source::CtaSource;
use crate::decode::Code;
use crate::fast::view;
use crate::fault::{Fault, Tried};
use crate::memory::Spaces;
use crate::meter::{LOOK, Meter};
use softwarp_ir::{Address, Memory, Op, Slot, Step};
use softwarp_jit::{Call, Compiled, Context, Entry, GENERIC_SITES, LEARN, Lanes, POLLS, Region, Scratch};
use softwarp_units::lanes::{Frame, LANES, Row, lanes};
use std::cell::Cell;
use std::ffi::c_void;

/// The most instructions of warps that compiled code executes before the limits are checked: about as long as the
/// interpreter takes for [`LOOK`].
const PART: i64 = 4 * LOOK;

/// What an operation that compiled code leaves to the interpreter needs.
struct Interpreter<'a, 'b, 'c> {
    code: &'a Code,
    compiled: &'a Compiled,
    memories: Memories<'b, 'c>,
    /// What it needs to begin other CTAs, where warps run together.
    ctas: Option<Ctas<'b>>,
    /// Whether it has performed an operation of the CTA.
    stepped: bool,
}

/// CTAs that compiled code begins in place of others that have ended.
struct Ctas<'a> {
    launch: &'a Launch<'a>,
    /// The place of the CTA that runs.
    place: &'a mut [u32; 3],
    /// Gives the next one.
    next: &'a mut dyn CtaSource,
    /// The work of beginning one.
    work: u64,
    /// How many may begin in the order of the grid without asking, and how many have begun so.
    ahead: u64,
    begun: u64,
}

impl Ctas<'_> {
    /// The work of beginning a CTA.
    fn work(launch: &Launch<'_>, code: &Code, warps: usize) -> u64 {
        let warp = 1 + cost::zeroing(Activation::weight(code));
        warps as u64 * warp + cost::zeroing(launch.shared_bytes)
    }

    /// Begins the next one, if there is one and no check of the limits is due: whether there is. Its place is written
    /// twice from registers. To copy it would read words that were just written as one, which the CPU does not forward:
    /// it would wait until all stores of the CTA before have left the store buffer.
    #[inline]
    fn advance(&mut self, meter: &mut Meter, cta: &mut [u32; 4]) -> bool {
        if self.ahead == 0 {
            return self.ask(meter, cta);
        }
        (self.ahead, self.begun) = (self.ahead - 1, self.begun + 1);
        let [x, y, z] = self.launch.after(*self.place);
        (*self.place, *cta) = ([x, y, z], [x, y, z, 0]);
        true
    }

    #[cold]
    fn ask(&mut self, meter: &mut Meter, cta: &mut [u32; 4]) -> bool {
        self.settle(meter);
        if meter.is_due() {
            return false;
        }
        let Some(index) = self.next.next() else { return false };
        let [x, y, z] = self.launch.cta(index, 0);
        (*self.place, *cta) = ([x, y, z], [x, y, z, 0]);
        self.add_work(meter, 1);
        self.ahead = self.next.ahead().min(meter.times_before_due(self.work));
        true
    }

    /// Tells about those that have begun without asking. The next one is asked for.
    fn settle(&mut self, meter: &mut Meter) {
        let begun = std::mem::take(&mut self.begun);
        self.ahead = 0;
        if begun != 0 {
            self.next.begun(begun);
            self.add_work(meter, begun);
        }
    }

    fn add_work(&self, meter: &mut Meter, ctas: u64) {
        meter.work(ctas * self.work);
        meter.take_work();
    }
}

thread_local! {
    /// What the last launch of the thread has left: to make it takes longer than a short launch.
    static SCRATCH: Cell<Option<Box<Scratch>>> = const { Cell::new(None) };
}

/// Room that compiled code works in.
fn scratch() -> Box<Scratch> {
    SCRATCH.take().unwrap_or_default()
}

/// Keeps it for the next launch of the thread.
pub(crate) fn keep_scratch(scratch: Option<Box<Scratch>>) {
    if let Some(mut scratch) = scratch {
        scratch.clear();
        SCRATCH.set(Some(scratch));
    }
}

/// The end of a run of compiled code.
pub(super) struct Ran {
    /// The operation at which the split stands.
    pub(super) op: usize,
    /// Whether lanes have diverged: the split has other lanes, or other splits have been made.
    pub(super) diverged: bool,
    /// Whether it has executed the last of its polls, and others go first.
    pub(super) polled: bool,
}

impl Warp {
    /// Whether an earlier CTA of the launch has left the kernel's frame.
    pub(crate) fn is_prepared(&self) -> bool {
        self.calls.first().is_some_and(|call| !call.is_new() && call.code == 0)
    }

    /// Begins the kernel in another CTA, in the frame that an earlier one left. Only compiled code runs until
    /// [`Warp::resume`].
    #[inline]
    pub(crate) fn restart(&mut self, env: &mut Env<'_>, code: &Code) {
        let frame = &mut self.calls[0].frame;
        env.meter.work(1 + cost::zeroing(Activation::weight(code)));
        match &code.start.zeroed {
            Some([narrow, wide]) => {
                narrow.iter().for_each(|&slot| frame.narrow[slot as usize] = Row([0; LANES]));
                wide.iter().for_each(|&slot| frame.wide[slot as usize] = Row([0; LANES]));
            }
            None => {
                let narrow = code.narrow_constants.len() + code.start.narrow_given();
                let wide = code.wide_constants.len() + code.start.wide_given();
                frame.narrow[narrow..].fill(Row([0; LANES]));
                frame.wide[wide..].fill(Row([0; LANES]));
            }
        }
        frame.predicates.fill(0);
        for &(slot, axis) in &code.start.of_cta {
            let place = env.cta.get(usize::from(axis)).copied().unwrap_or(0);
            frame.narrow[slot as usize] = Row([place; LANES]);
        }
        if code.parameter_bytes != 0 {
            self.calls[0].parameters.reset(code.parameter_bytes);
        }
    }

    /// Makes it a warp that the interpreter runs, from where compiled code stands.
    fn resume(&mut self, env: &mut Env<'_>, lanes: u32, at: Lanes, stop: Stop) {
        let code = &env.launch.program.codes[0];
        let ended = stop == Stop::End;
        self.live = if ended { 0 } else { lanes };
        self.free.clear();
        self.free.extend((1..self.calls.len() as u32).rev());
        self.weight = super::ACTIVATION + Activation::weight(code);
        (self.recheck, self.yielded, self.idle) = (false, false, 0);
        let activation = &mut self.calls[0];
        (activation.caller, activation.depth, activation.lanes) = (None, 0, lanes);
        activation.bottom = activation.base;
        self.lowest = activation.base;
        if ended {
            self.splits.clear();
            self.free.push(0);
            env.barriers.exit(self.index, 0);
            env.cluster.exit(env.rank, self.index, 0);
            return;
        }
        // The lanes that wait elsewhere are in `splits` already.
        let mut split = Split::new(at.op, at.mask, 0);
        self.begin_turn();
        if self.has_polled() {
            self.end_turn(&mut split, true);
        }
        self.splits.push(split);
    }

    /// Before compiled code runs alone: there are no splits.
    pub(crate) fn clear_splits(&mut self) {
        self.splits.clear();
    }
}

impl Warp {
    /// Runs compiled code from where a split stands. `None` if there is none, or nothing was executed.
    pub(super) fn run_native(
        &mut self,
        env: &mut Env<'_>,
        split: &mut Split,
        (code, compiled): (&Code, &Compiled),
        budget: &mut i64,
    ) -> Option<Ran> {
        if !compiled.has_entry(split.pc as usize) {
            return None;
        }
        let Env { launch: _, spaces, hints, pieces, meter, .. } = &mut *env;
        let mut native = meter.native.take().unwrap_or_else(scratch);
        native.waiting.clear();
        // All other lanes that are ready wait in the same call, where code can be entered. Those at barriers stay there.
        let is_ready = |other: &&Split| other.state == State::Ready;
        let joins = |other: &Split| other.call == split.call && other.age == split.age && !other.held;
        if !self.splits.iter().filter(is_ready).all(joins) {
            meter.native = Some(native);
            return None;
        }
        let ready = self.splits.iter().filter(is_ready);
        native.waiting.extend(ready.map(|other| Lanes { op: other.pc, mask: other.mask }));
        native.polls_left = self.polls_left;
        let part = (*budget).min(PART);
        let shared = own_shared(spaces, &mut native);
        let at = Lanes { op: split.pc, mask: split.mask };
        let mut entry = Entry::new(&mut self.calls[split.call as usize].frame, at);
        let [own, parameters] = self.own_regions(split.call as usize, spaces.windows.local.size, &mut entry);
        if !compiled.enter_at(&mut entry, &native.waiting) {
            note_divergence(code, compiled);
            meter.native = Some(native);
            return None;
        }
        let memories = Memories { spaces, hints, pieces, meter };
        let mut interpreter = Interpreter { code, compiled, memories, ctas: None, stepped: false };
        let state = (&raw mut interpreter).cast::<c_void>();
        let call = Call { shared, own, parameters, step, next_cta: None, state };
        compiled.prepare(&mut native, &call);
        // SAFETY: the frame is that of a call of this function. Regions are those of the launch's memory, which outlives
        // it; `step` gets its state.
        let done = unsafe { compiled.run(&mut native, std::slice::from_mut(&mut entry), false, part) };
        compiled.complete(&mut entry, &mut self.calls[split.call as usize].frame);
        let meter = &mut *env.meter;
        if matches!(code.ops.get(entry.op as usize), Some(Op::Branch(..))) {
            note_divergence(code, compiled);
        }
        meter.count_native(&done);
        // Other threads may have waited for them.
        self.acted |= done.atomics != 0;
        *budget -= done.instructions as i64 + 1;
        let diverged = entry.mask != split.mask || !native.waiting.is_empty();
        self.keep_polls(&native);
        self.splits.retain(|other| other.state != State::Ready);
        self.splits.extend(native.waiting.iter().map(|lanes| Split {
            pc: lanes.op,
            mask: lanes.mask,
            ..*split
        }));
        (split.pc, split.mask) = (entry.op, entry.mask);
        meter.native = Some(native);
        Some(Ran { op: entry.op as usize, diverged, polled: self.polls_left == 0 })
    }

    /// The memory that each thread has to itself, from the first variable of a call's frame on, and the call's parameters. It
    /// is entered where they are in the host's memory: as long as the stack does not grow, and no other call begins.
    fn own_regions(&mut self, call: usize, size: u64, entry: &mut Entry) -> [Region; 2] {
        let Activation { base, parameters, .. } = &mut self.calls[call];
        let start = size.saturating_sub(self.local.len());
        let own = match *base >= start && *base <= size && base.is_multiple_of(16) {
            true => {
                entry.own = self.local.host_address(*base - start);
                Region::new(*base, 0, size - *base)
            }
            false => Region::EMPTY,
        };
        entry.parameters = parameters.host_address(0);
        [own, Region::new(0, 0, parameters.len())]
    }

    /// Takes over the polls that compiled code has left.
    fn keep_polls(&mut self, native: &Scratch) {
        let waits = !native.waiting.is_empty();
        self.polls_left = if waits { native.polls_left } else { POLLS };
        if !(waits && native.kept_waiting) {
            self.turns = 0;
        }
    }
}

/// The CTA's shared memory. What was learned about generic addresses in another CTA is forgotten: they may mean shared
/// memory.
fn own_shared(spaces: &Spaces<'_>, native: &mut Scratch) -> Region {
    let shared = Region::new(spaces.shared_start, spaces.shared.host_address(), spaces.shared.len());
    if native.shared_host() != shared.host {
        native.sites()[GENERIC_SITES].fill(Region::EMPTY);
    }
    shared
}

/// Compiled code was left, or not entered, since lanes have diverged.
#[cold]
fn note_divergence(code: &Code, compiled: &Compiled) {
    if !compiled.has_masked() {
        code.native.diverged();
    }
}

/// The compiled code of a kernel, and the state of its warps while it runs alone.
struct Running<'a> {
    code: &'a Code,
    compiled: &'a Compiled,
    native: &'a mut Scratch,
    entries: &'a mut Vec<Entry>,
    stops: &'a mut Vec<Stop>,
    /// The memory that each thread has to itself, and the parameters of functions.
    own: [Region; 2],
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
    ) -> Tried<Option<Left>> {
        let Env { launch, spaces, hints, pieces, meter, cta, .. } = &mut *env;
        let launch = *launch;
        let shared = own_shared(spaces, self.native);
        let memories = Memories { spaces, hints, pieces, meter };
        let work = Ctas::work(launch, self.code, warps.len());
        let ctas = Ctas { launch, place: cta, next, work, ahead: 0, begun: 0 };
        // What the CTA has done before is not known.
        let (code, compiled) = (self.code, self.compiled);
        let mut interpreter = Interpreter { code, compiled, memories, ctas: Some(ctas), stepped: true };
        // Compiled code, `step` and `next_cta` reach it through this pointer alone.
        let state = &raw mut interpreter;
        let ([own, parameters], next_cta) = (self.own, Some(next_cta as softwarp_jit::NextCta));
        let call = Call { shared, own, parameters, step, next_cta, state: state.cast::<c_void>() };
        self.compiled.prepare(self.native, &call);
        let (mut first, mut rest) = (0, SLICE);
        let mut together = self.compiled.enter_together(self.entries);
        if !together {
            for index in 0..warps.len() {
                self.stops[index] = self.enter_at(index);
                if self.stops[index] != Stop::Nothing {
                    note_divergence(self.code, self.compiled);
                }
            }
        }
        while first < warps.len() {
            let ready = match together {
                true => warps.len(),
                false => self.stops[first..].iter().take_while(|stop| **stop == Stop::Nothing).count(),
            };
            if ready == 0 {
                (first, rest) = (first + 1, SLICE);
                continue;
            }
            let part = rest.min(PART);
            // SAFETY: as in `run_native`; the state outlives the loop.
            let done = unsafe {
                self.compiled.run(self.native, &mut self.entries[first..first + ready], together, part)
            };
            // SAFETY: compiled code does not run.
            let Interpreter { memories: Memories { meter, .. }, ctas, .. } = unsafe { &mut *state };
            if let Some(ctas) = ctas {
                ctas.settle(meter);
            }
            meter.count_native(&done);
            meter.spend_within(launch, done.instructions as i64 + done.warps as i64)?;
            let mut left = Left::at(self.code, self.entries[first].op);
            let last = first + done.warps - 1;
            if together && done.warps == warps.len() && self.are_together(&left) {
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
            if self.stops[last] != Stop::Nothing {
                (first, rest) = (last + 1, SLICE);
                continue;
            }
            // The budget was spent. Warps that were together have come here in turns, and have just begun.
            let before = match last == first || was_together {
                true => part,
                false => self.entries[last - 1].left,
            };
            let executed = before - self.entries[last].left;
            let used = if was_together { 0 } else { executed };
            rest = if last == first { rest } else { SLICE } - used - 1;
            first = last;
            let stuck = rest <= 0 || executed == 0;
            self.stops[last] = if stuck { Stop::Other } else { self.enter_at(last) };
        }
        Ok(None)
    }

    /// Whether all threads were left at the same end or barrier. All warps are whole.
    fn are_together(&self, left: &Left) -> bool {
        let known = match left.at {
            Stop::End => true,
            Stop::Barrier(_) => left.barrier.is_some_and(|slot| self.is_constant(slot)),
            _ => false,
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
            let left = self.run_together(env, warps, next).map_err(|trouble| {
                let kernel = env.launch.name.to_string();
                let (running, registers) = (Vec::new(), Vec::new());
                Box::new(Fault { kind: trouble.kind, kernel, place: None, running, registers })
            })?;
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
        let mut running = Running { code, compiled, native: &mut native, entries: &mut entries, stops, own };
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

/// Begins the next CTA for compiled code, which prepares the frames: whether there is one.
extern "C" fn next_cta(context: *mut Context) -> u32 {
    // SAFETY: as in `step`.
    let (context, interpreter) = unsafe {
        let context = &mut *context;
        let interpreter = &mut *context.state.cast::<Interpreter<'_, '_, '_>>();
        (context, interpreter)
    };
    let Interpreter { memories, ctas: Some(ctas), stepped, .. } = interpreter else { return 0 };
    let Memories { spaces, meter, .. } = memories;
    if !ctas.advance(meter, &mut context.cta) {
        return 0;
    }
    // Compiled code does not access the reserved part of shared memory.
    zero_shared(spaces, std::mem::take(stepped));
    1
}

/// Zeroes the shared memory of a CTA; its reserved part if it may have been written.
fn zero_shared(spaces: &Spaces<'_>, reserved: bool) {
    // SAFETY: the CTA is the only one of its cluster, and this thread alone runs it.
    unsafe {
        if !spaces.shared.is_empty() {
            spaces.shared.zero();
        }
        if reserved {
            spaces.cluster.iter().for_each(|shared| shared.reserved.zero());
        }
    }
}

/// Performs an operation for compiled code: whether it was possible.
extern "C" fn step(context: *mut Context, op: u32) -> u32 {
    // SAFETY: compiled code passes the context that it was called with, whose state is an `Interpreter`, and touches
    // neither it nor the frame meanwhile.
    let (mask, interpreter, sites, frame) = unsafe {
        let context = &mut *context;
        let frame = &mut *context.frame();
        (context.mask, &mut *context.state.cast::<Interpreter<'_, '_, '_>>(), context.sites(), frame)
    };
    let (code, learns, op) = (interpreter.code, op & LEARN != 0, (op & !LEARN) as usize);
    if learns {
        let Some(address) = address_of(&code.ops[op]) else { return 0 };
        let site = &mut sites[interpreter.compiled.site(op)];
        let before = *site;
        learn(frame, address, interpreter.memories.spaces, 1, site);
        return u32::from(*site != before);
    }
    interpreter.stepped = true;
    if let Some(ctas) = &mut interpreter.ctas {
        ctas.settle(interpreter.memories.meter);
    }
    match &code.ops[op] {
        Op::Alu(_) => {
            if let Some(inst) = code.decoded[op].alu() {
                let taking = inst.guard.lanes(frame, mask);
                if taking != 0 {
                    inst.kernel.run(frame, inst, taking);
                }
            }
            1
        }
        Op::Other(guard, _) => {
            if let Some(address) = address_of(&code.ops[op]) {
                let taking = guard.lanes(frame, mask);
                let site = &mut sites[interpreter.compiled.site(op)];
                learn(frame, address, interpreter.memories.spaces, taking, site);
            }
            u32::from(touch(frame, code, &mut interpreter.memories, op, mask))
        }
        Op::Branch(..) => 0,
    }
}

/// The address of an access.
fn address_of(op: &Op) -> Option<&Address> {
    let Op::Other(_, step) = op else { return None };
    match &**step {
        Step::Load(access) | Step::Store(access) => Some(&access.address),
        Step::Atomic(atomic) => Some(&atomic.address),
        _ => None,
    }
}

/// Remembers the region of an access.
fn learn(frame: &Frame, address: &Address, spaces: &Spaces<'_>, taking: u32, site: &mut Region) {
    // The CTA's shared memory is known.
    let Some(lane) = lanes(taking).next().filter(|_| address.memory != Memory::Shared) else { return };
    let offset = address.offset as u64;
    let start = match address.base {
        None => offset,
        Some(base) if base.is_wide() => frame.wide[base.number() as usize].0[lane].wrapping_add(offset),
        Some(_) => return,
    };
    if address.memory == Memory::Constant {
        if let Some((base, bytes)) = spaces.constant.region(start) {
            let host = spaces.constant.cells.host_address() + base;
            *site = Region::new(base, host, bytes);
        }
        return;
    }
    if address.memory == Memory::Kernel {
        *site = Region::new(0, spaces.parameters.host_address(), spaces.parameters.len());
        return;
    }
    let mut hint = 0;
    if let Some((cells, base)) = view(spaces, address.memory, start, &mut hint)
        && !std::ptr::eq(cells, spaces.parameters)
        && (std::ptr::eq(cells, spaces.shared) || !spaces.is_shared(cells))
    {
        *site = Region::new(base, cells.host_address(), cells.len());
    }
}

impl Warp {
    /// Adds the cost of compiled code, and checks the limits from time to time.
    pub(super) fn spend_native(env: &mut Env<'_>, cost: i64) -> Tried<()> {
        env.meter.spend_within(env.launch, cost)
    }
}
