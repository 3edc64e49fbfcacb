//! Runs compiled code ([`softwarp_jit`]) in place of the fast loop.
//!
//! Compiled code is entered at the start of a basic block, with all lanes of a call or with lanes that have diverged. It
//! stops at what it has no code for, and the interpreter goes on there. Its results, counts and faults are those of the
//! interpreter.
//!
//! `unsafe` is here for the call of compiled code.

mod callback;
mod ctas;

pub(crate) use ctas::run_ctas;

use super::left::Stop;
use super::{Activation, Env, Split, State, Warp, cost};
use crate::decode::Code;
use crate::fault::Tried;
use crate::memory::Spaces;
use crate::meter::LOOK;
use callback::{Interpreter, step};
use softwarp_ir::Op;
use softwarp_jit::{Call, Compiled, Entry, GENERIC_SITES, Lanes, POLL_COST, POLLS, Region, Scratch};
use softwarp_units::lanes::{LANES, Row};
use std::cell::Cell;
use std::ffi::c_void;

/// The most instructions of warps that compiled code executes before the limits are checked: about as long as the
/// interpreter takes for [`LOOK`].
const PART: i64 = 4 * LOOK;

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
        env.meter.work(1 + cost::zeroing(Activation::weight(code)));
        self.clear(env, code);
    }

    /// Makes the frame of the kernel what it is where a CTA begins.
    fn clear(&mut self, env: &Env<'_>, code: &Code) {
        let frame = &mut self.calls[0].frame;
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
        let mut native = env.meter.native.take().unwrap_or_else(scratch);
        native.waiting.clear();
        // All other lanes that are ready wait in the same call, where code can be entered. Those at barriers stay there.
        let is_ready = |other: &&Split| other.state == State::Ready;
        let joins = |other: &Split| other.call == split.call && other.age == split.age && !other.held;
        if !self.splits.iter().filter(is_ready).all(joins) {
            env.meter.native = Some(native);
            return None;
        }
        let ready = self.splits.iter().filter(is_ready);
        native.waiting.extend(ready.map(|other| Lanes { op: other.pc, mask: other.mask }));
        native.polls_left = self.polls_left;
        let part = (*budget).min(PART);
        let shared = own_shared(&env.spaces, &mut native);
        let at = Lanes { op: split.pc, mask: split.mask };
        let frame = split.call as usize;
        let mut entry = Entry::new(&mut self.calls[frame].frame, at);
        let [own, parameters] = self.own_regions(frame, env.spaces.windows.local.size, &mut entry);
        if !compiled.enter_at(&mut entry, &native.waiting) {
            note_divergence(code, compiled);
            env.meter.native = Some(native);
            return None;
        }
        let entries = std::slice::from_mut(&mut entry);
        let mut interpreter = Interpreter {
            code,
            compiled,
            env: &mut *env,
            warps: std::slice::from_mut(self),
            call: frame,
            entries: entries.as_ptr(),
            ctas: None,
            stepped: false,
            cost: 0,
            panic: None,
        };
        // Compiled code and `step` reach it through this pointer alone.
        let state = (&raw mut interpreter).cast::<c_void>();
        let call = Call { shared, own, parameters, step, next_cta: None, state };
        compiled.prepare(&mut native, &call);
        // SAFETY: the frame is that of a call of this function, and only `step` accesses it meanwhile. Regions are those of the
        // launch's memory, which outlives it; `step` gets its state.
        let done = unsafe { compiled.run(&mut native, entries, false, part) };
        interpreter.go_on_panicking();
        let performed = interpreter.cost;
        if done.in_registers {
            compiled.write_registers(&native, &entry, &mut self.calls[frame].frame);
        }
        compiled.complete(&mut entry, &mut self.calls[frame].frame);
        let meter = &mut *env.meter;
        if matches!(code.ops.get(entry.op as usize), Some(Op::Branch(..))) {
            note_divergence(code, compiled);
        }
        meter.count_native(&done);
        // Other threads may have waited for them.
        self.acted |= done.atomics != 0;
        *budget -= done.instructions as i64 + 1 + performed + done.polled as i64 * (cost::POLL / POLL_COST);
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

impl Warp {
    /// Adds the cost of compiled code, and checks the limits from time to time.
    pub(super) fn spend_native(env: &mut Env<'_>, cost: i64) -> Tried<()> {
        env.meter.spend_within(env.launch, cost)
    }
}
