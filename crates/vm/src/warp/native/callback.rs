//! What compiled code has the interpreter do while it runs: operations that have no code, and the beginning of CTAs.
//!
//! A panic does not pass through compiled code, which has no tables for unwinding: it is kept, compiled code is left, and
//! the caller of compiled code goes on with the panic ([`Interpreter::go_on_panicking`]).
//!
//! `unsafe` is here for the state, which compiled code passes on.

use crate::context::Launch;
use crate::cta_source::CtaSource;
use crate::decode::Code;
use crate::fast::view;
use crate::injected::panic_if_wanted;
use crate::memory::Spaces;
use crate::meter::Meter;
use crate::warp::collective::exchange_alone;
use crate::warp::cost::{self, POLL, SLICE, STEP, TOUCH, WORK, work_of};
use crate::warp::fast_loop::{Memories, touch};
use crate::warp::run::first;
use crate::warp::{Activation, Env, Split, Warp};
use softwarp_ir::{Access, Address, AsyncOp, MatrixOp, Memory, Op, Step, WarpOp};
use softwarp_jit::{Compiled, Context, Entry, LEARN, Region, lend};
use softwarp_units::lanes::{ALL, Frame, LANES, lanes};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// What an operation that compiled code leaves to the interpreter needs.
pub(super) struct Interpreter<'a, 'b> {
    pub(super) code: &'a Code,
    pub(super) compiled: &'a Compiled,
    pub(super) env: &'a mut Env<'b>,
    /// The warps that run, each in a call of the function.
    pub(super) warps: &'a mut [Warp],
    pub(super) call: usize,
    /// Where compiled code has the first of them.
    pub(super) entries: *const Entry,
    /// What it needs to begin other CTAs, where warps run together.
    pub(super) ctas: Option<Ctas<'a>>,
    /// Whether it has performed an operation of the CTA.
    pub(super) stepped: bool,
    /// What operations have cost beside their instructions.
    pub(super) cost: i64,
    /// A panic of a callback. Nothing is done for compiled code any more.
    pub(super) panic: Option<Box<dyn Any + Send>>,
}

impl Interpreter<'_, '_> {
    /// After compiled code has returned: panics if a callback did.
    #[inline]
    pub(super) fn go_on_panicking(&mut self) {
        if let Some(panic) = self.panic.take() {
            resume_unwind(panic);
        }
    }

    /// Learns the region of an access, or performs an operation: whether compiled code goes on.
    fn step(&mut self, context: &mut Context, op: u32) -> bool {
        let (code, learns, op) = (self.code, op & LEARN != 0, (op & !LEARN) as usize);
        let warp = context.warp(self.entries);
        if let Some(address) = address_of(&code.ops[op]) {
            let frame = &self.warps[warp].calls[self.call].frame;
            let taking = if learns { 1 } else { code.ops[op].guard().lanes(frame, context.mask) };
            let site = &mut context.sites()[self.compiled.site(op)];
            let before = *site;
            learn(frame, address, &self.env.spaces, taking, site);
            if learns {
                return *site != before;
            }
        }
        panic_if_wanted();
        self.stepped = true;
        if let Some(ctas) = &mut self.ctas {
            ctas.settle(self.env.meter);
        }
        let performed = self.perform(warp, op, context.mask);
        lend(&mut self.warps[warp].calls[self.call].frame);
        performed
    }

    /// Begins the next CTA: whether there is one.
    fn next_cta(&mut self, context: &mut Context) -> bool {
        let Interpreter { env, ctas: Some(ctas), stepped, .. } = self else { return false };
        if !ctas.advance(env.meter, &mut env.cta, &mut context.cta) {
            return false;
        }
        // Compiled code does not access the reserved part of shared memory.
        zero_shared(&env.spaces, std::mem::take(stepped));
        true
    }

    /// Performs an operation for lanes of a warp: whether it was possible. Otherwise it can be executed again.
    fn perform(&mut self, warp: usize, op: usize, mask: u32) -> bool {
        let Interpreter { code, env, warps, call, .. } = self;
        let (code, warp) = (*code, &mut warps[warp]);
        let frame = &mut warp.calls[*call].frame;
        let (guard, step) = match &code.ops[op] {
            Op::Alu(_) => {
                if let Some(inst) = code.decoded[op].alu() {
                    let taking = inst.guard.lanes(frame, mask);
                    if taking != 0 {
                        inst.kernel.run(frame, inst, taking);
                    }
                }
                return true;
            }
            Op::Branch(..) => return false,
            Op::Other(guard, step) => (*guard, &**step),
        };
        let Env { spaces, hints, pieces, meter, .. } = &mut **env;
        if touch(frame, code, &mut Memories { spaces, hints, pieces, meter }, op, mask) {
            self.cost += TOUCH;
            return true;
        }
        // The limits are looked at before much more is done.
        if self.cost > SLICE {
            return false;
        }
        let at = At { call: *call, op, mask, taking: guard.lanes(frame, mask) };
        if !warp.perform(env, code, step, at) {
            return false;
        }
        warp.acted |= step.makes_progress();
        env.meter.work(work_of(step, at.taking));
        // Others run soon where a warp polls.
        self.cost += if may_poll(step) { POLL } else { STEP } + WORK * env.meter.take_work();
        true
    }
}

/// Where an operation is performed: in which call, and by which of the lanes that stand there.
#[derive(Clone, Copy)]
struct At {
    call: usize,
    op: usize,
    mask: u32,
    taking: u32,
}

impl Warp {
    /// Performs an operation behind which the same lanes go on, if it is one. False if it is not, or it may be a fault: then
    /// it can be executed again as if nothing had happened.
    fn perform(&mut self, env: &mut Env<'_>, code: &Code, step: &Step, at: At) -> bool {
        let At { call, op, mask, taking } = at;
        let mut split = Split::new(op as u32, mask, call as u32);
        match step {
            // Polls: lanes that wait may have to go first.
            Step::Load(access) if access.order.is_strong() && mask != ALL => false,
            Step::Atomic(_) if mask != ALL => false,
            // Some lanes may get a new address before another's is a fault.
            Step::Load(access) if overwrites_base(access) => false,
            Step::Load(access) => {
                self.load(env, call, (access, code.decoded[op].access()), op, taking).is_ok()
            }
            Step::Store(access) => {
                self.store(env, call, (access, code.decoded[op].access()), op, taking).is_ok()
            }
            Step::Atomic(atomic) => self.atomic_together(env, call, atomic, op, taking),
            Step::Special(read) => {
                self.special(env, call, read.register, read.d, taking);
                true
            }
            Step::Matrix(MatrixOp::Wgmma(_)) => false,
            Step::Matrix(matrix) => self.matrix(env, &mut split, matrix, taking).is_ok(),
            Step::Texture(texture) => self.texture(env, &mut split, texture, taking).is_ok(),
            Step::Asynchronous(AsyncOp::Copy(copy)) => self.copy_async(env, call, copy, taking).is_ok(),
            Step::Warp(warp) => taking == ALL && self.exchange_groups(env, call, warp),
            // Other lanes or other code may go on after these.
            Step::Return | Step::Exit | Step::Trap | Step::Breakpoint | Step::Yield => false,
            Step::Switch(_) | Step::Call(_) | Step::FrameAddress(_) | Step::Alloca(_) => false,
            Step::StackSave(_) | Step::StackRestore(_) | Step::Fence(_) | Step::Barrier(_) => false,
            Step::Multimem(_) | Step::Group(_) | Step::Cluster(_) => false,
            Step::Asynchronous(_) | Step::TensorCore(_) => false,
        }
    }

    /// An operation among lanes of which all are there, each group of them that its lanes name: whether the groups are
    /// such.
    fn exchange_groups(&mut self, env: &mut Env<'_>, call: usize, op: &WarpOp) -> bool {
        let frame = &mut self.calls[call].frame;
        let members = op.members.map_or([ALL; LANES], |members| frame.row::<u32>(members));
        let mut rest = ALL;
        while rest != 0 {
            let named = members[first(rest)];
            let same = lanes(ALL).filter(|&lane| members[lane] == named);
            if same.fold(0, |all, lane| all | 1 << lane) != named {
                return false;
            }
            rest &= !named;
        }
        rest = ALL;
        while rest != 0 {
            let named = members[first(rest)];
            exchange_alone(frame, op, named);
            env.meter.exchanged();
            rest &= !named;
        }
        true
    }
}

/// CTAs that compiled code begins in place of others that have ended.
pub(super) struct Ctas<'a> {
    pub(super) launch: &'a Launch<'a>,
    /// Gives the next one.
    pub(super) next: &'a mut dyn CtaSource,
    /// The work of beginning one.
    work: u64,
    /// How many may begin in the order of the grid without asking, and how many have begun so.
    ahead: u64,
    begun: u64,
}

impl<'a> Ctas<'a> {
    pub(super) fn new(
        launch: &'a Launch<'a>,
        code: &Code,
        warps: usize,
        next: &'a mut dyn CtaSource,
    ) -> Ctas<'a> {
        let warp = 1 + cost::zeroing(Activation::weight(code));
        let work = warps as u64 * warp + cost::zeroing(launch.shared_bytes);
        Ctas { launch, next, work, ahead: 0, begun: 0 }
    }

    /// Begins the next one, if there is one and no check of the limits is due: whether there is. Its place is written
    /// twice from registers. To copy it would read words that were just written as one, which the CPU does not forward:
    /// it would wait until all stores of the CTA before have left the store buffer.
    #[inline]
    fn advance(&mut self, meter: &mut Meter, place: &mut [u32; 3], cta: &mut [u32; 4]) -> bool {
        if self.ahead == 0 {
            return self.ask(meter, place, cta);
        }
        (self.ahead, self.begun) = (self.ahead - 1, self.begun + 1);
        let [x, y, z] = self.launch.after(*place);
        (*place, *cta) = ([x, y, z], [x, y, z, 0]);
        true
    }

    #[cold]
    fn ask(&mut self, meter: &mut Meter, place: &mut [u32; 3], cta: &mut [u32; 4]) -> bool {
        self.settle(meter);
        if meter.is_due() {
            return false;
        }
        let Some(index) = self.next.next() else { return false };
        let [x, y, z] = self.launch.cta(index, 0);
        (*place, *cta) = ([x, y, z], [x, y, z, 0]);
        self.add_work(meter, 1);
        self.ahead = self.next.ahead().min(meter.times_before_due(self.work));
        true
    }

    /// Tells about those that have begun without asking. The next one is asked for.
    pub(super) fn settle(&mut self, meter: &mut Meter) {
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

/// Does something for compiled code, with the context and the state that it passes on: whether it succeeded. It does not
/// unwind: a panic is kept in the state, and from then on nothing succeeds, so that compiled code is left.
///
/// # Safety
/// Compiled code has called with the context that [`Compiled::run`] was called with, and the state of its
/// [`softwarp_jit::Call`] is an [`Interpreter`].
#[inline(always)]
unsafe fn call_back(
    context: *mut Context,
    body: impl FnOnce(&mut Interpreter<'_, '_>, &mut Context) -> bool,
) -> u32 {
    // SAFETY: the caller of compiled code has kept no reference to the context or to the state that it uses before compiled code
    // returns, and compiled code accesses neither of them until this function returns: these are the only ones. The state lives
    // as long as the call.
    let (context, interpreter) = unsafe {
        let context = &mut *context;
        let interpreter = &mut *context.state.cast::<Interpreter<'_, '_>>();
        (context, interpreter)
    };
    if interpreter.panic.is_some() {
        return 0;
    }
    // What a panic has left is looked at by nobody: the launch ends.
    match catch_unwind(AssertUnwindSafe(|| body(interpreter, context))) {
        Ok(succeeded) => succeeded.into(),
        Err(panic) => {
            interpreter.panic = Some(panic);
            0
        }
    }
}

/// Begins the next CTA for compiled code, which prepares the frames: whether there is one.
///
/// # Safety
/// See [`softwarp_jit::NextCta`]; the state is an [`Interpreter`].
pub(super) unsafe extern "C" fn next_cta(context: *mut Context) -> u32 {
    // SAFETY: by the contract of this function.
    unsafe { call_back(context, |interpreter, context| interpreter.next_cta(context)) }
}

/// Performs an operation for compiled code: whether it was possible.
///
/// # Safety
/// See [`softwarp_jit::Step`]; the state is an [`Interpreter`].
pub(super) unsafe extern "C" fn step(context: *mut Context, op: u32) -> u32 {
    // SAFETY: by the contract of this function.
    unsafe { call_back(context, |interpreter, context| interpreter.step(context, op)) }
}

/// Zeroes the shared memory of a CTA; its reserved part if it may have been written.
pub(super) fn zero_shared(spaces: &Spaces<'_>, reserved: bool) {
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

/// Whether a warp may execute an operation again and again until another thread has written.
fn may_poll(step: &Step) -> bool {
    match step {
        Step::Load(access) => access.order.is_strong(),
        Step::Atomic(_) => true,
        Step::Store(_) | Step::Special(_) | Step::Texture(_) | Step::Matrix(_) | Step::Warp(_) => false,
        // A copy gives no value to the thread.
        Step::Asynchronous(_) => false,
        // These are not performed.
        Step::Return | Step::Exit | Step::Trap | Step::Breakpoint | Step::Yield | Step::Switch(_) => false,
        Step::Call(_) | Step::FrameAddress(_) | Step::Alloca(_) | Step::StackSave(_) => false,
        Step::StackRestore(_) | Step::Fence(_) | Step::Barrier(_) | Step::Multimem(_) => false,
        Step::Group(_) | Step::Cluster(_) | Step::TensorCore(_) => false,
    }
}

/// Whether a load writes the register that its address is in.
fn overwrites_base(access: &Access) -> bool {
    access.address.base.is_some_and(|base| access.registers.iter().any(|one| one.slot == Some(base)))
}

/// The address of an access.
fn address_of(op: &Op) -> Option<&Address> {
    let Op::Other(_, step) = op else { return None };
    match &**step {
        Step::Load(access) | Step::Store(access) => Some(&access.address),
        Step::Atomic(atomic) => Some(&atomic.address),
        // Compiled code performs no others.
        Step::Return | Step::Exit | Step::Trap | Step::Breakpoint | Step::Yield | Step::Switch(_) => None,
        Step::Call(_) | Step::Special(_) | Step::FrameAddress(_) | Step::Alloca(_) => None,
        Step::StackSave(_) | Step::StackRestore(_) | Step::Fence(_) | Step::Barrier(_) => None,
        Step::Warp(_) | Step::Multimem(_) | Step::Group(_) | Step::Texture(_) | Step::Cluster(_) => None,
        Step::Asynchronous(_) | Step::Matrix(_) | Step::TensorCore(_) => None,
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
