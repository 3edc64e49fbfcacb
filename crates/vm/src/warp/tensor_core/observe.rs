//! Tells the sanitizers what instructions of tensor memory access.
//!
//! Shared memory is read by an agent of the thread, as `wgmma` reads it; `tcgen05.commit` hands on at an mbarrier that it
//! is done. Tensor memory has a shadow of its own: a word for each column of sixteen lanes. `tcgen05.ld` and `.st` are
//! done when `tcgen05.wait` has passed, the others when somebody has waited for their commit.
//!
//! `tcgen05.fence::before_thread_sync` orders what the thread gave to the tensor cores before what others give to them
//! later; loads and stores need more. [`super::written`] has what was written at all.

use super::product::{Factor, Issued};
use super::shared::PIECE;
use super::{Source, address};
use crate::fault::Use;
use crate::sanitize::{Actor, Agent, Event, Sanitizer, ShadowAddress, TENSOR, Touch};
use crate::warp::asynchronous::{OperandAddress, completing};
use crate::warp::observe::shadow_address;
use crate::warp::run::first;
use crate::warp::{Env, Split, Warp};
use softwarp_ir::group::{GroupOp, Queue};
use softwarp_ir::tensor_core::{TensorAddress, TensorCommit, TensorCopyIn, TensorMma};
use softwarp_ir::{Memory, Order, Scope, Semantics, TensorCoreOp};
use softwarp_isa::device::CTA_SHARED;
use softwarp_units::lanes::lanes;
use softwarp_units::tensor_core::fragment::{Fragment, Shape};
use softwarp_units::tensor_core::{Address, COLUMNS, LANES};

/// The order of arrivals by `tcgen05.commit`.
const ARRIVAL: Order = Order { semantics: Semantics::Release, scope: Scope::Cluster };

/// Lanes that have a word together.
const GROUP: usize = 16;

/// Reports to a sanitizer.
struct Observer<'a, 'b> {
    env: &'a Env<'b>,
    sanitizer: &'a Sanitizer<'a>,
    actor: &'a Actor,
}

impl Observer<'_, '_> {
    /// Cells of tensor memory of the CTA with a rank.
    fn cells(
        &self,
        lane: usize,
        rank: usize,
        (agent, usage): (Agent, Use),
        (lanes, columns): (std::ops::Range<usize>, std::ops::Range<usize>),
    ) {
        let env = self.env;
        let cta = if rank == env.rank as usize { env.cta } else { env.launch.sibling(env.cta, rank as u32) };
        // The executor reports what is not there.
        let groups = lanes.start / GROUP..lanes.end.min(LANES).div_ceil(GROUP);
        for group in groups {
            let word = |column: usize| TENSOR + 4 * (group * COLUMNS + column.min(COLUMNS)) as u64;
            let (start, end) = (word(columns.start), word(columns.end));
            if end > start {
                let at = ShadowAddress { space: Memory::Shared, cta, address: start };
                let touch = Touch { agent, ..Touch::by_thread(lane, usage, at, end - start) };
                self.sanitizer.touch(env.launch, self.actor, &touch, &|| None);
            }
        }
    }

    /// The first of 16 bytes of shared memory of the CTA with a rank, which the tensor cores read.
    fn piece(&self, lane: usize, rank: usize, offset: u64, bytes: u64) {
        let at = rank as u64 * CTA_SHARED + offset;
        let (env, memory) = (self.env, Memory::Cluster);
        if let Some(place) = shadow_address(env, memory, at)
            && Source::new(&env.spaces, rank, lane).piece(offset).is_ok()
        {
            let touch = Touch { agent: Agent::Product, ..Touch::by_thread(lane, Use::Read, place, bytes) };
            self.sanitizer.touch(env.launch, self.actor, &touch, &|| env.spaces.nearest(memory, at));
        }
    }

    fn issue(&self, agent: Agent) {
        self.sanitizer.issue(self.env.launch, self.actor, agent);
    }

    /// An arrival behind what the thread gave to the tensor cores.
    fn commit(&self, lane: usize, mbarrier: OperandAddress) {
        let (env, OperandAddress { memory, address, .. }) = (self.env, mbarrier);
        if let Some(phase) = completing(env, mbarrier, lane) {
            let named = || env.spaces.nearest(memory, address);
            // It also orders what the thread itself did before.
            for event in [Event::ArriveBehind(Agent::Product), Event::Arrive(ARRIVAL)] {
                self.sanitizer.mbarrier(env.launch, self.actor, (lane, ARRIVAL), phase, event, &named);
            }
        }
    }
}

impl Warp {
    /// An instruction of tensor memory is about to be executed.
    pub(crate) fn observe_tensor_core(
        &self,
        env: &Env<'_>,
        (sanitizer, actor): (&Sanitizer<'_>, &Actor),
        split: &Split,
        op: &TensorCoreOp,
    ) {
        let see = Observer { env, sanitizer, actor };
        let (call, rank) = (split.call as usize, env.rank as usize);
        let lane = first(actor.lanes);
        let collective = op.properties().collective;
        if collective {
            sanitizer.whole_warp(env.launch, actor);
        }
        match op {
            TensorCoreOp::Alloc(op) => {
                let to = self.operands(env, call, &op.to, actor.lanes)[lane];
                if let Some(at) = shadow_address(env, to.memory, to.address) {
                    let touch = Touch::by_thread(lane, Use::Write, at, 4);
                    let named = || env.spaces.nearest(to.memory, to.address);
                    sanitizer.touch(env.launch, actor, &touch, &named);
                }
            }
            TensorCoreOp::Load(op) => {
                self.observe_fragment(&see, call, op.address, (&op.fragment, op.split), Use::Read)
            }
            TensorCoreOp::Store(op) => {
                self.observe_fragment(&see, call, op.address, (&op.fragment, op.split), Use::Write);
            }
            TensorCoreOp::Wait(_) => {
                let wait = GroupOp::Wait { queue: Queue::Copies, pending: 0, reads: false, all: true };
                sanitizer.group(env.launch, actor, wait);
            }
            TensorCoreOp::Fence(fence) => sanitizer.tensor_fence(env.launch, actor, fence.before),
            TensorCoreOp::Commit(op) => self.observe_commit(&see, call, op),
            TensorCoreOp::Copy(op) => self.observe_copy_in(&see, call, op),
            TensorCoreOp::Shift(op) => {
                see.issue(Agent::Product);
                for lane in lanes(actor.lanes) {
                    let at = address(&self.calls[call].frame, op.address, lane);
                    let cells = (at.lane()..at.lane() + 32, at.column()..at.column() + 8);
                    see.cells(lane, rank, (Agent::Product, Use::Write), cells);
                }
            }
            TensorCoreOp::Mma(op) => self.observe_mma(&see, call, op),
            TensorCoreOp::Dealloc(_) | TensorCoreOp::Relinquish(_) => {}
        }
        if sanitizer.wants.init {
            self.observe_written(env, (sanitizer, actor), call, op);
        }
    }

    /// `tcgen05.ld`, `tcgen05.st`
    fn observe_fragment(
        &self,
        see: &Observer<'_, '_>,
        call: usize,
        operand: TensorAddress,
        (fragment, split): (&Fragment, u32),
        usage: Use,
    ) {
        let lane = first(see.actor.lanes);
        let at = address(&self.calls[call].frame, operand, lane);
        let rank = see.env.rank as usize;
        see.issue(Agent::Copy);
        let halves = if fragment.shape == Shape::Lanes16x32bx2 { 2 } else { 1 };
        for half in 0..halves {
            let column = at.column() + half * split as usize;
            let cells = (at.lane()..at.lane() + fragment.shape.lanes(), column..column + fragment.columns());
            see.cells(lane, rank, (Agent::Copy, usage), cells);
        }
    }

    /// `tcgen05.commit`
    fn observe_commit(&self, see: &Observer<'_, '_>, call: usize, op: &TensorCommit) {
        let taking = see.actor.lanes;
        let places = self.operands(see.env, call, &op.mbarrier, taking);
        let masks = op.multicast.map(|slot| self.calls[call].frame.row::<u32>(slot));
        for lane in lanes(taking) {
            match &masks {
                None => see.commit(lane, places[lane]),
                Some(masks) => {
                    lanes(masks[lane]).for_each(|rank| see.commit(lane, places[lane].in_cta(rank as u64)));
                }
            }
        }
    }

    /// `tcgen05.cp`
    fn observe_copy_in(&self, see: &Observer<'_, '_>, call: usize, op: &TensorCopyIn) {
        let env = see.env;
        see.issue(Agent::Product);
        for lane in lanes(see.actor.lanes) {
            let frame = &self.calls[call].frame;
            let to = address(frame, op.to, lane);
            // The executor reports what is wrong.
            let Ok(descriptor) = super::SharedDescriptor::new(frame.row::<u64>(op.from)[lane]) else {
                continue;
            };
            let Ok(group) = self.cta_group(env, op.ctas.into(), lane) else { continue };
            for rank in group {
                for row in 0..op.shape.rows() {
                    for piece in 0..op.shape.pieces() {
                        let at = descriptor.place(true, row as u64, piece as u64 * PIECE);
                        see.piece(lane, rank, at, op.packing.used());
                    }
                }
                let cells = (0..LANES, to.column()..to.column() + op.shape.pieces() * 4);
                see.cells(lane, rank, (Agent::Product, Use::Write), cells);
            }
        }
    }

    /// `tcgen05.mma`
    fn observe_mma(&self, see: &Observer<'_, '_>, call: usize, op: &TensorMma) {
        see.issue(Agent::Product);
        for lane in lanes(see.actor.lanes) {
            // The executor reports what is wrong.
            let Ok(issued) = Issued::of(&self.calls[call].frame, op, lane) else { continue };
            let Ok(group) = self.cta_group(see.env, op.modifiers.ctas, lane) else { continue };
            let it = &issued.instruction;
            for (index, rank) in group.clone().enumerate() {
                let (range, columns) = issued.columns_of(group.len(), index);
                let used = columns.element.packing().used();
                columns.offsets(range.len(), |offset| see.piece(lane, rank, offset, used));
                let read = |at: Address, count: usize| {
                    let cells = (0..LANES, at.column()..at.column() + count);
                    see.cells(lane, rank, (Agent::Product, Use::Read), cells);
                };
                match issued.a {
                    Factor::Shared(descriptor) => {
                        let rows = issued.rows(descriptor);
                        let used = rows.element.packing().used();
                        rows.offsets(it.layout.rows(), |offset| see.piece(lane, rank, offset, used));
                    }
                    Factor::Tensor(at) => read(at, it.row_bytes()[0] / 4),
                }
                issued.others().for_each(|(at, count)| read(at, count));
                for panel in it.layout.panels(it.n, issued.d.lane()) {
                    let column = issued.d.column();
                    let cells = (panel.lane..panel.lane + GROUP, column..column + panel.count);
                    see.cells(lane, rank, (Agent::Product, Use::Write), cells);
                }
            }
        }
    }
}
