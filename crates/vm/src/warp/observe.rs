//! Tells the sanitizers what a warp is about to do. Only the observed loop comes here.
//!
//! What an operation accesses is described beside its executor, which reads the same description: [`Used`] for loads,
//! stores and atomic operations; the modules of other operations have their own.

use super::addresses::{Group, addresses, grouped};
use super::used::{How, Used};
use super::{Env, Split, Warp};
use crate::context::Launch;
use crate::fault::{Nearest, Relative, What};
use crate::meter::Seen;
use crate::sanitize::defined::Shadow;
use crate::sanitize::{Actor, Coming, Kind, Sanitizer, ShadowAddress, Span, Tolerant, Touches};
use softwarp_ir::group::GroupOp;
use softwarp_ir::{
    Access, Address, Barrier, BarrierOp, ClusterOp, Element, MatrixOp, Memory, Op, Step, WarpOp, WarpOpKind,
};
use softwarp_isa::device::CTA_SHARED;
use softwarp_units::lanes::{Frame, LANES, lanes};
use std::cell::Cell;

/// The most words that one thread stores with an instruction.
const MOST_WORDS: usize = 16;

/// Ends the observation of an instruction that touches much memory when the launch has to stop. The instruction itself
/// then meets the same limit: it is charged more steps for the same bytes.
pub(super) struct ObservedBytes<'a> {
    launch: &'a Launch<'a>,
    bytes: Cell<u64>,
    /// Bytes, and `TOUCH` for each touch, since the limits were checked.
    since: Cell<u64>,
    over: Cell<bool>,
}

impl<'a> ObservedBytes<'a> {
    /// After how many bytes the limits are checked.
    const LOOK: u64 = 1 << 18;

    /// The cost of a touch besides its bytes.
    const TOUCH: u64 = 64;

    /// The number of bytes that count as a step.
    const STEP: u64 = 1024;

    pub(super) fn new(launch: &'a Launch<'a>) -> ObservedBytes<'a> {
        ObservedBytes { launch, bytes: Cell::new(0), since: Cell::new(0), over: Cell::new(false) }
    }

    /// Adds bytes that are about to be touched. Returns whether the launch has to stop instead.
    pub(super) fn is_over(&self, bytes: u64) -> bool {
        self.bytes.set(self.bytes.get().saturating_add(bytes));
        self.since.set(self.since.get().saturating_add(bytes).saturating_add(Self::TOUCH));
        if self.since.get() >= Self::LOOK {
            self.since.set(0);
            self.over.set(self.launch.is_over(self.bytes.get() / Self::STEP));
        }
        self.over.get()
    }
}

/// The address as the sanitizers know it. An address in shared memory is relative to the memory of its CTA, which may
/// be another CTA of the cluster.
pub(super) fn shadow_address(env: &Env<'_>, memory: Memory, address: u64) -> Option<ShadowAddress> {
    if !memory.is_shared() {
        return Some(ShadowAddress { space: memory, cta: env.cta, address });
    }
    let (_, first) = env.spaces.shared_of(address).ok()?;
    let rank = (first / CTA_SHARED) as u32;
    let cta = if rank == env.rank { env.cta } else { env.launch.sibling(env.cta, rank) };
    Some(ShadowAddress { space: Memory::Shared, cta, address: address.checked_sub(first)? })
}

/// Tells the sanitizers which registers an operation is about to use, in functions where products use them meanwhile.
pub(super) fn observe_registers(launch: &Launch<'_>, seen: &Seen<'_>, frame: &Frame) {
    let Some(sanitizer) = launch.sanitizer.filter(|sanitizer| sanitizer.wants.race) else { return };
    let (Some(named), Some(op)) = (seen.code.named.get(seen.pc), seen.code.ops.get(seen.pc)) else { return };
    let lanes = op.guard().lanes(frame, seen.mask);
    if lanes != 0 {
        let (code, pc) = (seen.number as u32, seen.pc as u32);
        let actor = Actor { cta: seen.cta, warp: seen.warp, lanes, code, pc };
        sanitizer.registers(launch, &actor, op, named);
    }
}

/// Looks for registers that an operation is about to use though they are undefined.
pub(super) fn observe_defined(launch: &Launch<'_>, seen: &Seen<'_>, frame: &Frame, shadow: &mut Shadow) {
    let (Some(sanitizer), Some(table)) = (launch.sanitizer, seen.code.registers.as_deref()) else { return };
    let Some(op) = seen.code.ops.get(seen.pc) else { return };
    if let Some(misuse) = shadow.step(table, seen.pc, op, frame, seen.mask, launch.windows.local) {
        let (code, pc) = (seen.number as u32, seen.pc as u32);
        let actor = Actor { cta: seen.cta, warp: seen.warp, lanes: seen.mask, code, pc };
        sanitizer.undefined(launch, &actor, misuse);
    }
}

impl Warp {
    /// An operation is about to be executed, by these lanes.
    pub(super) fn observe(&self, env: &Env<'_>, split: &Split, step: &Step, taking: u32) {
        let Some(sanitizer) = env.launch.sanitizer else { return };
        let launch = env.launch;
        let activation = &self.calls[split.call as usize];
        let frame = &activation.frame;
        let actor =
            Actor { cta: env.cta, warp: self.index, lanes: taking, code: activation.code, pc: split.pc };
        let seen = (sanitizer, &actor);
        match step {
            Step::Load(access) => self.observe_memory(env, seen, split, &Used::load(access)),
            Step::Store(access) => self.observe_memory(env, seen, split, &Used::store(access)),
            Step::Atomic(atomic) => self.observe_memory(env, seen, split, &Used::atomic(atomic)),
            Step::Multimem(op) => self.observe_multimem(env, seen, split, op),
            Step::Fence(fence) => sanitizer.fence(launch, &actor, *fence),
            Step::Group(GroupOp::WholeWarp) if taking != launch.lanes(self.index as usize) => {
                sanitizer.whole_warp(launch, &actor)
            }
            Step::Group(GroupOp::WholeGroup) => sanitizer.whole_group(launch, &actor),
            Step::Group(op) => sanitizer.group(launch, &actor, *op),
            Step::Cluster(ClusterOp::Arrive(arrive)) => {
                sanitizer.cluster_arrived(launch, &actor, arrive.relaxed, env.cluster.phase());
            }
            Step::Cluster(ClusterOp::TryCancel(request)) => self.observe_cancel(env, seen, split, request),
            Step::Warp(WarpOp { op, members: Some(members), .. }) => {
                self.observe_members(env, seen, *op, &frame.row::<u32>(*members));
            }
            Step::Barrier(barrier) => observe_barrier(launch, seen, frame, barrier),
            Step::Matrix(op) => {
                match op {
                    MatrixOp::Wgmma(_) => sanitizer.whole_group(launch, &actor),
                    _ => sanitizer.whole_warp(launch, &actor),
                }
                self.observe_matrix(env, sanitizer, &actor, split, op);
            }
            Step::TensorCore(op) => self.observe_tensor_core(env, seen, split, op),
            Step::Texture(op) => self.observe_texture(env, seen, split, op),
            Step::Asynchronous(op) => self.observe_async(env, sanitizer, &actor, op, split),
            Step::Exit => sanitizer.exited(launch, &actor),
            Step::Return => match activation.caller {
                None => sanitizer.exited(launch, &actor),
                Some((caller, _)) => {
                    let to = self.calls.get(caller as usize).map_or(activation.base, |it| it.bottom);
                    sanitizer.left(launch, &actor, activation.bottom, to);
                }
            },
            // Neither memory nor other threads. A new step must be put here or above.
            Step::Trap
            | Step::Breakpoint
            | Step::Switch(_)
            | Step::Call(_)
            | Step::Special(_)
            | Step::FrameAddress(_)
            | Step::Alloca(_)
            | Step::StackSave(_)
            | Step::StackRestore(_)
            | Step::Warp(_)
            | Step::Cluster(..)
            | Step::Yield => {}
        }
    }

    /// An operation among the lanes that each lane names.
    fn observe_members(
        &self,
        env: &Env<'_>,
        (sanitizer, actor): (&Sanitizer<'_>, &Actor),
        op: WarpOpKind,
        named: &[u32; LANES],
    ) {
        // Lanes may name different ones.
        let mut rest = actor.lanes;
        while rest != 0 {
            let names = named[super::run::first(rest)];
            let same = lanes(rest).filter(|&lane| named[lane] == names);
            let mask = same.fold(0, |mask, lane| mask | 1 << lane);
            let some = Actor { lanes: mask, ..*actor };
            sanitizer.exchanged(env.launch, &some, names);
            self.name_exited(env, sanitizer, &some, names);
            // All are here; otherwise they wait for one another.
            if op == WarpOpKind::Sync
                && mask == actor.lanes
                && names & self.live & !mask == 0
                && !self.precedes_collective(env, &some)
            {
                sanitizer.synced(env.launch, env.cta, self.index, mask);
            }
            rest &= !mask;
        }
    }

    /// An operation among lanes, for which a split waits, goes on without some that it names: they have exited, or will
    /// never come.
    pub(super) fn goes_without(&self, env: &Env<'_>, split: usize, came: u32, named: u32) {
        if let Some(sanitizer) = env.launch.sanitizer
            && let Some(split) = self.splits.get(split)
        {
            let code = self.calls[split.call as usize].code;
            let actor = Actor { cta: env.cta, warp: self.index, lanes: came, code, pc: split.pc };
            if named & self.live & !came != 0 && !self.precedes_collective(env, &actor) {
                sanitizer.gave_up(env.launch, &actor, named);
            }
            self.name_exited(env, sanitizer, &actor, named);
        }
    }

    /// Looks whether an operation among lanes names lanes that have exited.
    fn name_exited(&self, env: &Env<'_>, sanitizer: &Sanitizer<'_>, actor: &Actor, named: u32) {
        let exited = env.launch.lanes(self.index as usize) & !self.live & named;
        if exited != 0 && !self.precedes_collective(env, actor) {
            sanitizer.names_exited(env.launch, actor, named, exited);
        }
    }

    /// Whether an operation is the `bar.warp.sync` before an instruction of the whole warp, for which the lanes are
    /// checked.
    pub(super) fn precedes_collective(&self, env: &Env<'_>, actor: &Actor) -> bool {
        let code = env.launch.program.codes.get(actor.code as usize);
        let step = |pc: u32| match code.and_then(|code| code.ops.get(pc as usize)) {
            Some(Op::Other(_, step)) => Some(&**step),
            _ => None,
        };
        let meets = matches!(step(actor.pc), Some(Step::Warp(op)) if op.op == WarpOpKind::Sync);
        let next = step(actor.pc + 1);
        meets
            && matches!(
                next,
                Some(
                    Step::Matrix(..)
                        | Step::TensorCore(..)
                        | Step::Group(GroupOp::WholeGroup | GroupOp::WholeWarp)
                )
            )
    }

    /// An instruction is about to use memory: the sanitizers check its bounds, whether the memory was written, and
    /// whether earlier accesses are ordered before this one.
    fn observe_memory(
        &self,
        env: &Env<'_>,
        (sanitizer, actor): (&Sanitizer<'_>, &Actor),
        split: &Split,
        used: &Used<'_>,
    ) {
        let &Used { address, bytes, usage, .. } = used;
        let wants = sanitizer.wants;
        let threads_own = matches!(address.memory, Memory::Function | Memory::Kernel | Memory::Constant);
        let accesses = !threads_own && (wants.init || wants.race || sanitizer.watch.is_some());
        let raw = addresses(&self.calls[split.call as usize], address);
        let seen = (sanitizer, actor);
        let bounds = self.bounds_to_look_at(env, seen, split, address, (&raw, bytes), usage);
        if !accesses && bounds.is_none() {
            return;
        }
        // The executor reports bad addresses.
        let _ = grouped(&env.spaces, address.memory, raw, bytes, actor.lanes, |group| {
            let span = group.span();
            if let Some(bounds) = bounds {
                self.observe_bounds(env, seen, split, (bounds, group, span), bytes, usage);
            }
            if accesses {
                self.observe_access(env, seen, split, used, (group, span));
            }
            Ok(())
        });
    }

    /// Lanes are about to use memory of the same state space.
    fn observe_access(
        &self,
        env: &Env<'_>,
        (sanitizer, actor): (&Sanitizer<'_>, &Actor),
        split: &Split,
        used: &Used<'_>,
        (group, span): (&Group, Span),
    ) {
        let &Used { address, bytes, usage, order, elements, how, .. } = used;
        let mut rows = None;
        let kind = match how {
            How::Load => Kind::Load,
            How::Store(access) if sanitizer.wants.race => {
                let frame = &self.calls[split.call as usize].frame;
                Kind::Store(stored(frame, access, rows.insert([[0; LANES]; MOST_WORDS])))
            }
            How::Store(_) => Kind::Store(None),
            How::Atomic { reduces, op } => Kind::Atomic { reduces, tolerant: Tolerant::of(op) },
        };
        let mut rest = group.aligned();
        while rest != 0 {
            // Those whose memory is of the same CTA.
            let first = super::run::first(rest);
            let Some(at) = shadow_address(env, group.memory, group.addresses[first]) else {
                rest &= !(1 << first);
                continue;
            };
            let ShadowAddress { space, cta, address: start } = at;
            let before = group.addresses[first].wrapping_sub(start);
            let mut alike = rest;
            if group.memory.is_shared() && env.launch.cluster_ctas() > 1 {
                let there = |lane: usize| shadow_address(env, group.memory, group.addresses[lane]);
                let same = |lane: &usize| there(*lane).is_some_and(|at| at.cta == cta);
                alike = lanes(rest).filter(same).fold(0, |mask, lane| mask | 1 << lane);
            }
            let (low, high) = (span.low.wrapping_sub(before), span.high.wrapping_sub(before));
            let span = match alike == group.lanes && low <= high {
                true => Span { low, high, ..span },
                false => Span { low: 0, high: u64::MAX, side_by_side: [false; 2] },
            };
            let moved;
            let addresses = if before == 0 {
                &group.addresses
            } else {
                moved = group.addresses.map(|address| address.wrapping_sub(before));
                &moved
            };
            let touches =
                Touches { lanes: alike, usage, order, space, cta, addresses, span, bytes, elements, kind };
            let named = |lane: usize| self.called(env, split, address, group.memory, group.addresses[lane]);
            sanitizer.touches(env.launch, actor, &touches, &named);
            rest &= !alike & !(1 << first);
        }
    }

    /// The variable, allocation or stack that an address is in or near.
    pub(super) fn called(
        &self,
        env: &Env<'_>,
        split: &Split,
        address: &Address,
        memory: Memory,
        at: u64,
    ) -> Option<Nearest> {
        let spaces = &env.spaces;
        let activation = &self.calls[split.call as usize];
        if let (Memory::Frame, Some(id)) = (address.memory, address.named)
            && let Some(offset) = spaces.image.object(id).offset
        {
            return Some(spaces.named(id, activation.base.wrapping_add(offset), at));
        }
        if memory == Memory::Local {
            let (base, top) = (activation.bottom, spaces.windows.local.size);
            let bytes = top.saturating_sub(base);
            return Some(Nearest {
                what: What::Stack,
                base,
                bytes,
                at: Relative::of(at, base, bytes),
                freed: false,
            });
        }
        spaces.nearest(memory, at)
    }
}

/// A barrier of the CTA.
fn observe_barrier(
    launch: &Launch<'_>,
    (sanitizer, actor): (&Sanitizer<'_>, &Actor),
    frame: &Frame,
    barrier: &Barrier,
) {
    let numbers = frame.row::<u32>(barrier.number);
    let counts = barrier.count.map(|count| frame.row::<u32>(count));
    sanitizer.barrier_operands(launch, actor, &numbers, counts.as_ref());
    let lane = super::run::first(actor.lanes);
    let count = counts.map(|counts| counts[lane]).filter(|&count| count != 0);
    let waits = barrier.op != BarrierOp::Arrive;
    let coming = Coming {
        barrier: numbers[lane],
        count: count.unwrap_or(launch.block_threads().next_multiple_of(LANES as u32)),
        waits,
        aligned: barrier.aligned,
        all: barrier.count.is_none() && waits,
    };
    sanitizer.arrived(launch, actor, &coming);
}

/// The words that lanes store, one row after the other; the last may be part of a word. Nothing if they are not known.
fn stored<'a>(
    frame: &Frame,
    access: &Access,
    rows: &'a mut [[u32; LANES]; MOST_WORDS],
) -> Option<&'a [[u32; LANES]]> {
    let size = usize::from(access.bytes);
    let bytes = size * access.registers.len();
    let low = |row: [u64; LANES]| row.map(|value| value as u32);
    let high = |row: [u64; LANES]| row.map(|value| (value >> 32) as u32);
    for (index, &Element { slot, bits: width }) in access.registers.iter().enumerate() {
        let at = index * size;
        let into = rows.get_mut(at / 4..(at + size).div_ceil(4))?;
        let slot = slot?;
        match (into, width) {
            ([one], _) => {
                let row = if width < 64 { frame.row::<u32>(slot) } else { low(frame.row(slot)) };
                let kept = if size < 4 { (1 << (8 * size)) - 1 } else { u32::MAX };
                for (into, word) in one.iter_mut().zip(row) {
                    *into |= (word & kept) << (8 * (at % 4));
                }
            }
            ([first, _], ..64) => *first = frame.row(slot),
            (wide, _) => {
                for (pair, slot) in wide.chunks_exact_mut(2).zip([slot, slot.next()]) {
                    let row = frame.row::<u64>(slot);
                    (pair[0], pair[1]) = (low(row), high(row));
                }
            }
        }
    }
    rows.get(..bytes.div_ceil(4))
}
