//! A warp: up to 32 threads that execute the same operation together where possible.
//!
//! **Divergence.** A warp is a set of [`Split`]s: lanes that stand at the same operation of the same call. The one
//! that runs goes on until it parts at a branch, waits, or comes to where another stands; lanes that come to the
//! same place go on as one. Which runs first: the one in the deepest call, of one call the one at the smallest program
//! counter, so that lanes that are behind catch up. For code in the order that compilers write it, this brings the
//! lanes together where the paths meet.
//!
//! **Progress.** A split may wait for another one of the same warp, spinning on a lock that it holds. So a split
//! that keeps polling memory while others could run goes behind them (`turn.rs`).
//!
//! **Calls.** A call is an [`Activation`]: one frame for all lanes that made it together. Lanes return on their
//! own, to where they called.

mod access;
mod addresses;
mod asynchronous;
mod atomic;
mod bounds;
mod call;
mod cluster;
mod collective;
pub(crate) mod cost;
mod exchange;
mod fast_loop;
mod group;
mod held;
mod left;
mod matrix;
mod multimem;
mod native;
mod observe;
mod own;
mod print;
mod run;
mod special;
mod stop;
mod surface;
mod tensor_core;
mod texture;
mod turn;
mod used;

pub(crate) use left::Stop;
pub(crate) use native::{keep_scratch, run_ctas};
pub(crate) use run::Progress;

use crate::barrier::{Barriers, ClusterBarrier};
use crate::context::Launch;
use crate::decode::Code;
use crate::fast::{CACHED_REGIONS, HINTS};
use crate::fault::{Fault, FaultKind, Place, Trouble};
use crate::host_memory::Charge;
use crate::memory::Spaces;
use crate::memory::cell::{CachedRegion, Unit};
use crate::memory::local::LocalMemory;
use crate::meter::Meter;
use crate::sanitize::Sanitizer;
use crate::sanitize::defined::Shadow;
use crate::tensor_memory::TensorMemory;
use softwarp_ir::start::Given;
use softwarp_ir::{Op, Slot, Step, WarpOpKind};
use softwarp_jit::POLLS;
use softwarp_units::lanes::{Frame, LANES, Row};

/// The host memory of a call besides its registers and parameters, with the overhead of allocators, in bytes.
const ACTIVATION: u64 = 512;

/// The environment of a warp.
pub(crate) struct Env<'a> {
    pub(crate) launch: &'a Launch<'a>,
    pub(crate) spaces: Spaces<'a>,
    /// `%ctaid`
    pub(crate) cta: [u32; 3],
    /// `%cluster_ctarank`
    pub(crate) rank: u32,
    pub(crate) barriers: &'a mut Barriers,
    pub(crate) cluster: &'a mut ClusterBarrier,
    /// Tensor memory of the cluster's CTAs, by rank.
    pub(crate) tensor: &'a mut [TensorMemory],
    pub(crate) hints: &'a mut [u32; HINTS],
    pub(crate) pieces: [CachedRegion<'a>; CACHED_REGIONS],
    pub(crate) meter: &'a mut Meter,
}

/// Lanes at the same operation of the same call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Split {
    /// The operation that comes next.
    pc: u32,
    mask: u32,
    /// An index into [`Warp::calls`].
    call: u32,
    depth: u32,
    /// How many times it went behind others because it kept polling. Splits with smaller ages run first.
    age: u32,
    /// With a random schedule: it waits at an operation that a whole warp executes together, for others to come.
    held: bool,
    state: State,
}

impl Split {
    /// Lanes of a call that are ready.
    fn new(pc: u32, mask: u32, call: u32) -> Split {
        Split { pc, mask, call, depth: 0, age: 0, held: false, state: State::Ready }
    }

    /// With a random schedule: whether it has to wait at an operation for other lanes of the warp, which may come.
    fn holds(&mut self, others: &[Split], op: &Op) -> bool {
        let collective = matches!(op, Op::Other(_, step) if step.is_collective());
        self.held = !self.held && collective && others.iter().any(|other| other.state == State::Ready);
        self.held
    }
}

/// The state of the lanes of a split.
#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    Ready,
    /// They wait at a barrier of the CTA.
    Barrier(u32),
    /// They wait for the end of a phase of the cluster's barrier.
    Cluster(u32),
    /// They wait for other lanes, to perform an operation with the lanes that it names.
    Exchange(WarpOpKind, u32),
}

/// A call that is not over.
#[derive(Debug, Default)]
pub(crate) struct Activation {
    pub(crate) frame: Frame,
    /// An index into the program's codes.
    code: u32,
    depth: u32,
    /// The caller, and the operation to go on with there.
    caller: Option<(u32, u32)>,
    /// Lanes that have not returned.
    lanes: u32,
    /// The parameters, return values and arguments of calls.
    parameters: LocalMemory,
    /// The first address of its variables in `.local`.
    base: u64,
    /// The lowest address of the stack that is in use.
    bottom: u64,
    /// The first address of its CTA's part of `.shared`.
    window: u64,
    /// The undefined registers, where these are tracked.
    shadow: Shadow,
}

impl Activation {
    /// Makes it a new call of a function, in a CTA whose part of `.shared` begins at `window`. What an earlier call of
    /// the same function left is used again: says whether there was none.
    fn start(&mut self, code: &Code, index: u32, window: u64) -> bool {
        let kept = self.code == index && self.frame.narrow.len() == code.narrow as usize && !self.is_new();
        let frame = &mut self.frame;
        match &code.start.zeroed {
            Some([narrow, wide]) if kept => {
                narrow.iter().for_each(|&slot| frame.narrow[slot as usize] = Row([0; LANES]));
                wide.iter().for_each(|&slot| frame.wide[slot as usize] = Row([0; LANES]));
            }
            _ if kept => {
                // Rows that are never written come first: constants, and rows that the launch gives.
                let narrow = code.narrow_constants.len() + code.start.narrow_given();
                let wide = code.wide_constants.len() + code.start.wide_given();
                frame.narrow[narrow..].fill(Row([0; LANES]));
                frame.wide[wide..].fill(Row([0; LANES]));
            }
            _ => {
                frame.narrow.clear();
                frame.narrow.resize(code.narrow as usize, Row([0; LANES]));
                frame.wide.clear();
                frame.wide.resize(code.wide as usize, Row([0; LANES]));
                for &(slot, value) in &code.narrow_constants {
                    frame.narrow[slot as usize] = Row([value; LANES]);
                }
                for &(slot, value) in &code.wide_constants {
                    frame.wide[slot as usize] = Row([value; LANES]);
                }
                // A warp's CTA keeps its rank.
                if window != 0 {
                    for &(slot, value) in &code.shared_narrow {
                        frame.narrow[slot as usize] = Row([value.wrapping_add(window as u32); LANES]);
                    }
                    for &(slot, value) in &code.shared_wide {
                        frame.wide[slot as usize] = Row([value.wrapping_add(window); LANES]);
                    }
                }
            }
        }
        match kept {
            true => frame.predicates.fill(0),
            false => {
                frame.predicates.clear();
                frame.predicates.resize(code.predicates.max(1) as usize, 0);
            }
        }
        self.window = window;
        self.code = index;
        self.parameters.reset(code.parameter_bytes);
        !kept
    }

    fn is_new(&self) -> bool {
        self.frame.predicates.is_empty()
    }

    /// Bytes of registers and parameters that a call of a function begins with.
    pub(crate) fn weight(code: &Code) -> u64 {
        u64::from(code.narrow) * 128 + u64::from(code.wide) * 256 + code.parameter_bytes.saturating_mul(32)
    }

    /// Bytes of the host that it takes.
    fn host_bytes(&self) -> u64 {
        let Frame { narrow, wide, predicates } = &self.frame;
        let rows = narrow.capacity() * 128 + wide.capacity() * 256 + predicates.capacity() * 4;
        ACTIVATION + rows as u64 + self.parameters.host_bytes()
    }

    /// Bytes of the host that it would take for a call of a function.
    fn needed(&self, code: &Code) -> u64 {
        let Frame { narrow, wide, predicates } = &self.frame;
        let rows = narrow.capacity().max(code.narrow as usize) * 128
            + wide.capacity().max(code.wide as usize) * 256
            + predicates.capacity().max(code.predicates.max(1) as usize) * 4;
        let parameters = self.parameters.host_bytes().max(code.parameter_bytes.saturating_mul(32));
        (ACTIVATION + rows as u64).saturating_add(parameters)
    }

    /// Whether it has the room that a new one would get for a call of a function.
    fn has_room_of(&self, code: &Code) -> bool {
        let Frame { narrow, wide, predicates } = &self.frame;
        narrow.capacity() == code.narrow as usize
            && wide.capacity() == code.wide as usize
            && predicates.capacity() == code.predicates.max(1) as usize
    }

    /// Makes room for a call of a function. Returns whether the host had memory for it.
    fn reserve(&mut self, code: &Code) -> bool {
        fn reserve<T>(rows: &mut Vec<T>, count: u32) -> bool {
            rows.try_reserve_exact((count as usize).saturating_sub(rows.len())).is_ok()
        }
        let Frame { narrow, wide, predicates } = &mut self.frame;
        reserve(narrow, code.narrow)
            && reserve(wide, code.wide)
            && reserve(predicates, code.predicates.max(1))
            && self.parameters.reserve(code.parameter_bytes)
    }
}

/// A warp.
#[derive(Debug)]
pub(crate) struct Warp {
    /// The index of the warp in its CTA.
    index: u32,
    /// `%tid`
    tid: [Row<u32>; 3],
    /// Lanes that have not exited.
    live: u32,
    splits: Vec<Split>,
    calls: Vec<Activation>,
    /// Calls that are over.
    free: Vec<u32>,
    /// The stacks: the last byte is the last of the window.
    local: LocalMemory,
    /// The lowest address that a frame has had.
    lowest: u64,
    /// Bytes that the registers of all calls take that are not over.
    weight: u64,
    /// The charge for the kernel's own registers and variables.
    held: Charge,
    /// The charge for calls, once there has been one.
    held_by_calls: Option<Charge>,
    /// Lanes have exited: operations that wait for lanes must be checked again.
    recheck: bool,
    /// The slice ends with this split.
    yielded: bool,
    /// How many more polls end the turn of a split.
    polls_left: u32,
    /// Slices that were used up since a split has last gone behind others, or the lanes have reconverged.
    turns: u32,
    /// Buffers for matrices.
    scratch: matrix::Scratch,
    /// In this slice something happened that others may wait for at an mbarrier, or such a wait is over.
    advanced: bool,
    /// In this slice a wait at an mbarrier failed.
    waited: bool,
    /// In this slice an operation was executed that other threads may react to.
    acted: bool,
    /// How many slices have had only failed waits.
    idle: u32,
    /// Buffers and maps of tensor copies.
    tensors: asynchronous::Tensors,
    /// Buffers of products in tensor memory.
    products: tensor_core::Buffers,
}

impl Warp {
    /// Room for a warp of a CTA.
    pub(crate) fn new(launch: &Launch<'_>, index: u32) -> Warp {
        Warp {
            index,
            tid: launch.threads_from(index * LANES as u32),
            live: 0,
            splits: Vec::new(),
            calls: Vec::new(),
            free: Vec::new(),
            local: LocalMemory::default(),
            lowest: u64::MAX,
            weight: 0,
            held: launch.account.nothing(),
            held_by_calls: None,
            recheck: false,
            yielded: false,
            polls_left: POLLS,
            turns: 0,
            scratch: matrix::Scratch::default(),
            advanced: false,
            waited: false,
            acted: false,
            idle: 0,
            tensors: asynchronous::Tensors::default(),
            products: tensor_core::Buffers::default(),
        }
    }

    /// Gives up what the next launch does not use: all but the room of the kernel's registers. Another charge takes over its
    /// own.
    pub(crate) fn give_up(&mut self, held: &mut Charge) {
        self.splits.clear();
        self.calls.truncate(1);
        for call in &mut self.calls {
            call.frame.predicates.clear();
            call.parameters = LocalMemory::default();
        }
        self.live = 0;
        self.local = LocalMemory::default();
        self.scratch = matrix::Scratch::default();
        self.tensors = asynchronous::Tensors::default();
        self.products = tensor_core::Buffers::default();
        held.take_over(&mut self.held);
        self.held_by_calls = None;
    }

    /// Makes it room for a warp of another launch with CTAs of the same size. The room of registers is kept if it is what the
    /// kernel needs: its bytes, which have no charge yet.
    pub(crate) fn use_again(&mut self, launch: &Launch<'_>) -> u64 {
        self.calls.retain(|call| launch.program.codes.first().is_some_and(|code| call.has_room_of(code)));
        self.kept()
    }

    /// The bytes of the registers of calls.
    fn kept(&self) -> u64 {
        self.calls.iter().map(Activation::host_bytes).sum()
    }

    /// Takes the charge for what is kept from another: whether that has as much.
    pub(crate) fn take_charge(&mut self, held: &mut Charge) -> bool {
        held.hand_over(self.kept(), &mut self.held)
    }

    /// The charge for calls.
    fn held_by_calls(&mut self, launch: &Launch<'_>) -> &mut Charge {
        self.held_by_calls.get_or_insert_with(|| launch.stacks.nothing())
    }

    /// Begins a kernel with the lanes that exist.
    pub(crate) fn start(&mut self, env: &mut Env<'_>, mask: u32) -> Result<(), FaultKind> {
        let launch = env.launch;
        self.live = mask;
        self.splits.clear();
        self.free.clear();
        self.free.extend((0..self.calls.len() as u32).rev());
        self.weight = 0;
        (self.recheck, self.yielded, self.idle) = (false, false, 0);
        (self.polls_left, self.turns) = (POLLS, 0);
        let top = env.spaces.windows.local.size;
        let (call, new) = self.activation(launch, 0, env.spaces.window)?;
        let code = &launch.program.codes[0];
        env.meter.work(1 + cost::zeroing(Activation::weight(code)));
        if new {
            self.give(env, call as usize);
        }
        for &(slot, axis) in &code.start.of_cta {
            let place = env.cta.get(usize::from(axis)).copied().unwrap_or(0);
            self.calls[call as usize].frame.narrow[slot as usize] = Row([place; LANES]);
        }
        // The image's own part of a thread's memory lies below all frames.
        let thread = env.spaces.image.thread.bytes;
        let alignment = env.spaces.image.function(code.function).frame.alignment.max(16);
        let base = top.saturating_sub(thread).saturating_sub(code.local_bytes) & !(alignment - 1);
        let activation = &mut self.calls[call as usize];
        (activation.caller, activation.depth, activation.lanes) = (None, 0, mask);
        (activation.base, activation.bottom) = (base, base);
        self.lowest = base;
        self.grow_stack(launch, top - base, true)?;
        self.splits.push(Split::new(0, mask, call));
        Ok(())
    }

    /// Makes sure that the stack has a given number of bytes: of the kernel's own variables, or of calls.
    fn grow_stack(&mut self, launch: &Launch<'_>, bytes: u64, own: bool) -> Result<(), FaultKind> {
        if bytes <= self.local.len() {
            return Ok(());
        }
        let grown = self.local.grown(bytes, launch.most_stack);
        let more = (grown - self.local.len()).saturating_mul(LANES as u64);
        let what = "variables in .local memory";
        if own {
            self.held.grow(more).map_err(|refused| FaultKind::out_of_memory(what, refused))?;
        } else {
            self.held_by_calls(launch).grow(more).map_err(|refused| launch.stack_refused(what, refused))?;
        }
        match self.local.grow_down(grown) {
            true => Ok(()),
            false => Err(launch.no_memory(what, more)),
        }
    }

    /// Fills the rows of a kernel that stay the same for a warp of a launch.
    fn give(&mut self, env: &mut Env<'_>, call: usize) {
        let launch = env.launch;
        for &given in &launch.program.codes[0].start.given {
            let frame = &mut self.calls[call].frame;
            match given {
                Given::Special(slot, register) => {
                    self.special(env, call, register, Slot::narrow(slot), u32::MAX)
                }
                Given::Narrow(slot, offset) => {
                    frame.narrow[slot as usize] = Row([u32::load(launch.parameters, offset as usize); LANES]);
                }
                Given::Wide(slot, offset) => {
                    frame.wide[slot as usize] = Row([u64::load(launch.parameters, offset as usize); LANES]);
                }
            }
        }
    }

    /// A call that is about to begin, its frame made, in a CTA whose part of `.shared` begins there; and whether it has
    /// nothing of an earlier one. The first is the kernel itself.
    fn activation(&mut self, launch: &Launch<'_>, code: u32, window: u64) -> Result<(u32, bool), FaultKind> {
        let body = &launch.program.codes[code as usize];
        // Most often an earlier call of the same function has left its room.
        if let Some(&call) = self.free.last()
            && let activation = &self.calls[call as usize]
            && activation.code == code
            && !activation.is_new()
        {
            self.free.pop();
            return Ok((call, self.begin(launch, call, code, window)));
        }
        let (call, held) = match self.free.last() {
            Some(&call) => (call, self.calls[call as usize].host_bytes()),
            None => (self.calls.len() as u32, 0),
        };
        let unused = Activation::default();
        let needed = self.calls.get(call as usize).unwrap_or(&unused).needed(body);
        let what = "registers of calls";
        if needed > held {
            let more = needed - held;
            match call {
                0 => self.held.grow(more).map_err(|refused| FaultKind::out_of_memory(what, refused))?,
                _ => self
                    .held_by_calls(launch)
                    .grow(more)
                    .map_err(|refused| launch.stack_refused(what, refused))?,
            }
        }
        if call as usize == self.calls.len() {
            if self.calls.try_reserve(1).is_err() {
                return Err(launch.no_memory(what, needed));
            }
            self.calls.push(unused);
        } else {
            self.free.pop();
        }
        let activation = &mut self.calls[call as usize];
        if !activation.reserve(body) {
            return Err(launch.no_memory(what, needed));
        }
        Ok((call, self.begin(launch, call, code, window)))
    }

    /// Begins a call, in room that it has; whether it has nothing of an earlier one.
    fn begin(&mut self, launch: &Launch<'_>, call: u32, code: u32, window: u64) -> bool {
        let body = &launch.program.codes[code as usize];
        let activation = &mut self.calls[call as usize];
        let new = activation.start(body, code, window);
        if launch.sanitizer.is_some_and(Sanitizer::tracks_registers) {
            activation.shadow.start(code, body.registers.as_deref());
        }
        self.weight += ACTIVATION + Activation::weight(body);
        new
    }

    /// Lanes that have not exited.
    pub(crate) fn live(&self) -> u32 {
        self.live
    }

    /// Bytes that it takes.
    pub(crate) fn bytes(&self) -> u64 {
        self.held.bytes() + self.held_by_calls.as_ref().map_or(0, Charge::bytes)
    }

    /// Whether an operation of its last slice may have let threads at mbarriers go on.
    pub(crate) fn has_advanced(&self) -> bool {
        self.advanced
    }

    /// For how many slices it has only found that mbarriers are not ready.
    pub(crate) fn idle(&self) -> u32 {
        self.idle
    }

    /// At the end of a slice: counts the slices in which the warp only waited.
    fn rest(&mut self, yielded: bool, random: bool) {
        self.idle = match (self.acted, yielded) {
            (false, true) => self.idle.saturating_add(self.waited.into()),
            // A short slice may end before the wait.
            (false, false) if random && !self.advanced => self.idle,
            _ => 0,
        };
    }

    /// Whether something can run.
    pub(crate) fn is_ready(&self) -> bool {
        self.recheck || self.any_ready()
    }

    /// Lets the lanes go that wait at a barrier, with the result of its reduction, if it has one.
    pub(crate) fn release(&mut self, launch: &Launch<'_>, number: u32, result: crate::barrier::Reduced) {
        use softwarp_ir::BarrierOp;
        for split in self.splits.iter_mut().filter(|split| split.state == State::Barrier(number)) {
            let activation = &mut self.calls[split.call as usize];
            let op = launch.program.codes[activation.code as usize].ops.get(split.pc as usize);
            if let Some(Op::Other(_, step)) = op
                && let Step::Barrier(barrier) = &**step
            {
                let frame = &mut activation.frame;
                let all = |holds: bool| if holds { u32::MAX } else { 0 };
                match (barrier.op, barrier.d) {
                    (BarrierOp::Popc, Some(d)) => frame.set_row(d, [result.count; LANES], split.mask),
                    (BarrierOp::And, Some(d)) => frame.set_predicate(d, all(result.all), split.mask),
                    (BarrierOp::Or, Some(d)) => frame.set_predicate(d, all(result.any), split.mask),
                    _ => {}
                }
            }
            split.pc += 1;
            split.state = State::Ready;
        }
    }

    /// Lets the lanes go that wait for the end of a phase of the cluster's barrier, now that there is another.
    pub(crate) fn pass(&mut self, env: &Env<'_>) {
        for split in &mut self.splits {
            if let State::Cluster(phase) = split.state
                && phase != env.cluster.phase()
            {
                if let Some(sanitizer) = env.launch.sanitizer {
                    sanitizer.cluster_passed(env.launch, env.cta, (self.index, split.mask), phase);
                }
                split.pc += 1;
                split.state = State::Ready;
            }
        }
    }

    /// The lanes that wait at barriers, and where: the barrier's number, none of the cluster's, and the place.
    pub(crate) fn waiting(&self, env: &Env<'_>) -> Vec<(Option<u32>, Place)> {
        let at_barrier = self.splits.iter().filter_map(|split| {
            let barrier = match split.state {
                State::Barrier(number) => Some(number),
                State::Cluster(_) => None,
                State::Ready | State::Exchange(..) => return None,
            };
            Some((barrier, self.place(env, split, split.mask, None)))
        });
        at_barrier.collect()
    }

    /// Where its lanes are.
    pub(crate) fn running(&self, env: &Env<'_>) -> Vec<Place> {
        self.splits.iter().map(|split| self.place(env, split, split.mask, None)).collect()
    }

    /// The place of lanes of a split, for faults.
    fn place(&self, env: &Env<'_>, split: &Split, mask: u32, lane: Option<usize>) -> Place {
        let code = &env.launch.program.codes[self.calls[split.call as usize].code as usize];
        let function = env.spaces.image.function(code.function);
        let lane = lane.unwrap_or(mask.trailing_zeros() as usize % LANES);
        let at = (split.pc as usize).min(code.spans.len().saturating_sub(1));
        Place {
            function: code.function,
            function_name: function.name.to_string(),
            unit: function.unit,
            span: code.spans.get(at).copied().unwrap_or_default(),
            cta: env.cta,
            thread: env.launch.thread(self.index * LANES as u32 + lane as u32),
            warp: self.index,
            lanes: mask,
        }
    }

    /// A fault of a split, with its place.
    fn fault(&self, env: &Env<'_>, split: &Split, mask: u32, trouble: Trouble) -> Box<Fault> {
        let limit = trouble.kind.is_limit();
        let place = (!limit).then(|| self.place(env, split, mask, Some(trouble.lane)));
        let code = &env.launch.program.codes[self.calls[split.call as usize].code as usize];
        let op = code.ops.get(split.pc as usize);
        let registers =
            op.map_or_else(Vec::new, |op| self.held(split.call as usize, op, &trouble.kind, trouble.lane));
        Box::new(Fault {
            kind: trouble.kind,
            kernel: env.launch.name.to_string(),
            place,
            running: Vec::new(),
            registers,
        })
    }
}
