//! Runs compiled code ([`softwarp_jit`]) in place of the fast loop.
//!
//! Compiled code is entered at the start of a basic block, with all lanes of a call or with lanes that have diverged. It
//! stops at what it has no code for, and the interpreter goes on there. Its results, counts and faults are those of the
//! interpreter.
//!
//! `unsafe` is here for the call of compiled code, and for its calls back.

use super::cost::{self, SLICE};
use super::fast_loop::{Memories, touch};
use super::{Activation, Env, Split, State, Warp};
use crate::decode::Code;
use crate::fast::view;
use crate::fault::Tried;
use crate::memory::Spaces;
use crate::meter::{LOOK, Meter};
use softwarp_ir::{Access, BarrierOp, Guard, Memory, Op, Step};
use softwarp_jit::{Call, Compiled, Context, GENERIC_SITES, Lanes, Region, SITES, Scratch, site};
use softwarp_units::lanes::{Frame, LANES, Row, lanes};
use std::ffi::c_void;

/// What an operation that compiled code leaves to the interpreter needs.
struct Interpreter<'a, 'b, 'c> {
    frame: *mut Frame,
    code: &'a Code,
    memories: Memories<'b, 'c>,
}

/// The end of a run of compiled code.
pub(super) struct Ran {
    /// The operation at which the split stands.
    pub(super) op: usize,
    /// Whether lanes have diverged: the split has other lanes, or other splits have been made.
    pub(super) diverged: bool,
}

/// Where a warp stands that runs compiled code and nothing else.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Position {
    /// The operation that comes next.
    pub(crate) op: u32,
    /// The lanes that stand there.
    pub(crate) mask: u32,
    /// What it stands at.
    pub(crate) at: Stop,
}

/// What a warp stands at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// Compiled code goes on.
    Nothing,
    /// The end: all its threads have exited.
    End,
    /// A barrier of this number, which all threads of the CTA have to come to.
    Barrier(u32),
    /// Something that the interpreter has to do.
    Other,
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

    /// What a warp stands at, where compiled code was left.
    fn stop_of(&self, meter: &mut Meter, code: &Code, position: &Position, whole: u32) -> Stop {
        if position.mask != whole || !self.splits.is_empty() {
            return Stop::Other;
        }
        self.stop_at(meter, code, position.op as usize, whole)
    }

    /// What an operation is at which compiled code was left by all threads of a warp.
    fn stop_at(&self, meter: &mut Meter, code: &Code, op: usize, mask: u32) -> Stop {
        let Some(Op::Other(Guard::ALWAYS, step)) = code.ops.get(op) else {
            // Code is left before a block when the budget is spent.
            let spent = code.plan.of.get(op).is_some() && op < code.ops.len();
            return if spent && !matches!(code.ops[op], Op::Branch(..)) {
                Stop::Nothing
            } else {
                Stop::Other
            };
        };
        let instructions = code.instructions_between(op, op + 1);
        match &**step {
            Step::Return | Step::Exit => {
                meter.count(instructions, mask);
                Stop::End
            }
            Step::Barrier(barrier) if barrier.op == BarrierOp::Sync && barrier.count.is_none() => {
                let number = self.calls[0].frame.row::<u32>(barrier.number)[0];
                if number < softwarp_isa::device::BARRIERS { Stop::Barrier(number) } else { Stop::Other }
            }
            _ => Stop::Other,
        }
    }

    /// Passes a barrier that all threads of the CTA have come to.
    pub(crate) fn pass_barrier(meter: &mut Meter, code: &Code, position: &mut Position) {
        let op = position.op as usize;
        meter.count(code.instructions_between(op, op + 1), position.mask);
        position.op += 1;
        position.at = Stop::Nothing;
    }

    /// Makes it a warp that the interpreter runs, from where compiled code stands.
    pub(crate) fn resume(&mut self, env: &mut Env<'_>, lanes: u32, position: &Position) {
        let code = &env.launch.program.codes[0];
        let ended = position.at == Stop::End;
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
        self.splits.push(Split::new(position.op, position.mask, 0));
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
        let mut native = meter.native.take().unwrap_or_default();
        native.waiting.clear();
        // All other lanes wait in the same call, where code can be entered.
        let joins = |other: &Split| {
            other.state == State::Ready && other.call == split.call && other.age == split.age && !other.held
        };
        if !self.splits.iter().all(joins) {
            meter.native = Some(native);
            return None;
        }
        native.waiting.extend(self.splits.iter().map(|other| Lanes { op: other.pc, mask: other.mask }));
        let part = (*budget).min(LOOK);
        let shared = own_shared(spaces, &mut native);
        let frame = &raw mut self.calls[split.call as usize].frame;
        let memories = Memories { spaces, hints, pieces, meter };
        let mut interpreter = Interpreter { frame, code, memories };
        let call = Call { shared, step, state: (&raw mut interpreter).cast::<c_void>() };
        let at = Lanes { op: split.pc, mask: split.mask };
        compiled.prepare(&mut native, &call);
        // SAFETY: the frame is that of a call of this function. Regions are those of the launch's memory, which outlives
        // it; `step` gets its state.
        let done = unsafe { compiled.enter(&mut native, frame, at, part) };
        let meter = &mut *env.meter;
        let Some(done) = done else {
            note_divergence(code, compiled);
            meter.native = Some(native);
            return None;
        };
        if matches!(code.ops.get(done.op as usize), Some(Op::Branch(..))) {
            note_divergence(code, compiled);
        }
        meter.count_native(&done);
        *budget -= done.instructions as i64 + 1;
        let diverged = done.mask != split.mask || !native.waiting.is_empty();
        self.splits.clear();
        self.splits.extend(native.waiting.iter().map(|lanes| Split {
            pc: lanes.op,
            mask: lanes.mask,
            ..*split
        }));
        (split.pc, split.mask) = (done.op, done.mask);
        meter.native = Some(native);
        Some(Ran { op: done.op as usize, diverged })
    }
}

/// The CTA's shared memory. What was learned about generic addresses in another CTA is forgotten: they may mean shared
/// memory.
fn own_shared(spaces: &Spaces<'_>, native: &mut Scratch) -> Region {
    let shared = Region::new(spaces.shared_start, spaces.shared.host_address(), spaces.shared.len());
    if native.shared_host() != shared.host {
        native.sites[GENERIC_SITES].fill(Region::EMPTY);
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

/// Runs compiled code for the warps of a CTA, one after the other.
pub(crate) fn run_warps(
    env: &mut Env<'_>,
    (code, compiled): (&Code, &Compiled),
    warps: &mut [Warp],
    positions: &mut [Position],
) -> Tried<()> {
    let Env { launch, spaces, hints, pieces, meter, .. } = &mut *env;
    let mut native = meter.native.take().unwrap_or_default();
    native.waiting.clear();
    let shared = own_shared(spaces, &mut native);
    let memories = Memories { spaces, hints, pieces, meter };
    let mut interpreter = Interpreter { frame: std::ptr::null_mut(), code, memories };
    // Compiled code and `step` reach it through this pointer alone.
    let state = &raw mut interpreter;
    compiled.prepare(&mut native, &Call { shared, step, state: state.cast::<c_void>() });
    for (warp, position) in warps.iter_mut().zip(positions) {
        if position.at != Stop::Nothing {
            continue;
        }
        let whole = position.mask;
        let frame = &raw mut warp.calls[0].frame;
        let mut rest = SLICE;
        while position.at == Stop::Nothing {
            if rest <= 0 {
                position.at = Stop::Other;
                break;
            }
            let at = Lanes { op: position.op, mask: position.mask };
            let part = rest.min(LOOK);
            // SAFETY: as in `run_native`; the state outlives the loop.
            let done = unsafe {
                (*state).frame = frame;
                compiled.enter(&mut native, frame, at, part)
            };
            // SAFETY: compiled code does not run.
            let meter = unsafe { &mut *(*state).memories.meter };
            let Some(done) = done else {
                note_divergence(code, compiled);
                position.at = Stop::Other;
                break;
            };
            if matches!(code.ops.get(done.op as usize), Some(Op::Branch(..))) {
                note_divergence(code, compiled);
            }
            meter.count_native(&done);
            rest -= done.instructions as i64 + 1;
            meter.spend_within(launch, done.instructions as i64 + 1)?;
            (position.op, position.mask) = (done.op, done.mask);
            let waiting = native.waiting.drain(..);
            warp.splits.extend(waiting.map(|lanes| Split::new(lanes.op, lanes.mask, 0)));
            position.at = warp.stop_of(meter, code, position, whole);
            if position.at == Stop::Nothing && done.instructions == 0 {
                position.at = Stop::Other;
            }
        }
    }
    meter.native = Some(native);
    Ok(())
}

/// Performs an operation for compiled code: whether it was possible.
extern "C" fn step(context: *mut Context, op: u32) -> u32 {
    // SAFETY: compiled code passes the context that it was called with, whose state is an `Interpreter`, and touches
    // neither it nor the frame meanwhile.
    let (mask, interpreter, sites) = unsafe {
        let context = &mut *context;
        (context.mask, &mut *context.state.cast::<Interpreter<'_, '_, '_>>(), &mut *context.sites())
    };
    // SAFETY: as above.
    let frame = unsafe { &mut *interpreter.frame };
    let (code, op) = (interpreter.code, op as usize);
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
        Op::Other(guard, other) => {
            if let Step::Load(access) | Step::Store(access) = &**other {
                let taking = guard.lanes(frame, mask);
                learn(frame, access, interpreter.memories.spaces, (op, taking), sites);
            }
            u32::from(touch(frame, code, &mut interpreter.memories, op, mask))
        }
        Op::Branch(..) => 0,
    }
}

/// Remembers the region of an access.
fn learn(
    frame: &Frame,
    access: &Access,
    spaces: &Spaces<'_>,
    (op, taking): (usize, u32),
    sites: &mut [Region; SITES],
) {
    let address = &access.address;
    let Some(lane) = lanes(taking).next() else { return };
    let offset = address.offset as u64;
    let start = match address.base {
        None => offset,
        Some(base) if base.is_wide() => frame.wide[base.number() as usize].0[lane].wrapping_add(offset),
        Some(_) => return,
    };
    if address.memory == Memory::Constant {
        if let Some((base, bytes)) = spaces.constant.region(start) {
            let host = spaces.constant.cells.host_address() + base;
            sites[site(address.memory, op)] = Region::new(base, host, bytes);
        }
        return;
    }
    let mut hint = 0;
    if let Some((cells, base)) = view(spaces, address.memory, start, &mut hint)
        && !std::ptr::eq(cells, spaces.parameters)
        && (std::ptr::eq(cells, spaces.shared) || !spaces.is_shared(cells))
    {
        sites[site(address.memory, op)] = Region::new(base, cells.host_address(), cells.len());
    }
}

impl Warp {
    /// Adds the cost of compiled code, and checks the limits from time to time.
    pub(super) fn spend_native(env: &mut Env<'_>, cost: i64) -> Tried<()> {
        env.meter.spend_within(env.launch, cost)
    }
}
