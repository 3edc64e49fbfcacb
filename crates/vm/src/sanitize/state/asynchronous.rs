//! Asynchronous operations of a sanitized launch: their agents, groups and mbarriers, and registers of products and of
//! loads from tensor memory.

use super::{Actor, Sanitizer};
use crate::launch_info::LaunchInfo;
use crate::memory::global::lock;
use crate::sanitize::Agent;
use crate::sanitize::clock::Plane;
use crate::sanitize::registers::{EarlyUse, Misuse, Registers};
use crate::sanitize::{Finding, FindingKind};
use crate::tensor_memory::Owner;
use softwarp_ir::MatrixOp;
use softwarp_ir::group::{GroupOp, Named};
use softwarp_ir::{Fence, Op, Order, Scope, Semantics, Step, TensorCoreOp};
use softwarp_units::lanes::LANES;

/// The number of findings about columns that were not freed.
const TENSOR_LEAK: u8 = 30;

impl Sanitizer<'_> {
    /// A warp gives something to an agent, which then touches memory.
    pub(crate) fn issue(&self, launch: &LaunchInfo<'_>, actor: &Actor, agent: Agent) {
        let mut state = lock(&self.state);
        if let Some(number) = state.causality.number(launch.linear(actor.cta) as u32) {
            state.causality.issue(number, actor.warp as usize, agent);
        }
    }

    /// `tcgen05.fence`. Before a synchronisation, what the lanes gave to the tensor cores comes before what is given to
    /// them behind it, and a relaxed arrival releases. Behind one, a relaxed wait acquires.
    pub(crate) fn tensor_fence(&self, launch: &LaunchInfo<'_>, actor: &Actor, before: bool) {
        let mut state = lock(&self.state);
        let Some(number) = state.causality.number(launch.linear(actor.cta) as u32) else { return };
        let (causality, warp, lanes) = (&mut state.causality, actor.warp as usize, actor.lanes);
        if before {
            causality.order_products(number, warp, lanes);
        }
        let semantics = if before { Semantics::Release } else { Semantics::Acquire };
        let order = Order { semantics, scope: Scope::Cluster };
        causality.fence(number, warp, lanes, Fence { order, mbarrier_init: false });
    }

    /// A CTA has ended, and did not free columns of tensor memory.
    pub(crate) fn tensor_left(&self, launch: &LaunchInfo<'_>, cta: [u32; 3], owner: Owner, columns: u32) {
        if !self.wants.leak {
            return;
        }
        let actor = Actor { cta, warp: owner.warp, lanes: u32::MAX, code: owner.code, pc: owner.pc };
        let at = self.site_of(launch, &actor, 0);
        let (kind, kernel) = (FindingKind::TensorLeak { columns }, launch.name.into());
        let finding = Finding { kind, kernel, at, other: None, touched: None, count: 1 };
        lock(&self.state).report((TENSOR_LEAK, self.op(&actor), u32::MAX, 0), finding);
    }

    /// Groups, and fences for what is asynchronous.
    pub(crate) fn group(&self, launch: &LaunchInfo<'_>, actor: &Actor, op: GroupOp) {
        let mut state = lock(&self.state);
        let Some(number) = state.causality.number(launch.linear(actor.cta) as u32) else { return };
        let (causality, warp, lanes) = (&mut state.causality, actor.warp as usize, actor.lanes);
        match op {
            GroupOp::Commit(queue) => causality.commit(number, warp, lanes, queue),
            GroupOp::Wait { queue, pending, reads, all } => {
                causality.wait((number, warp, lanes), (queue, pending), reads, all);
            }
            GroupOp::Proxy { shared, global } => {
                if shared {
                    causality.proxy(number, warp, lanes, Plane::FencedShared);
                }
                if global {
                    causality.proxy(number, warp, lanes, Plane::FencedGlobal);
                }
            }
            GroupOp::Registers | GroupOp::WholeGroup | GroupOp::WholeWarp => {}
        }
    }

    /// A warp has ended: the loads from tensor memory that it never waited for, and whose results it used.
    pub(super) fn never_loaded(&self, launch: &LaunchInfo<'_>, cta: [u32; 3], registers: &[Registers]) {
        for (warp, registers) in (0..).zip(registers) {
            for &EarlyUse { op, load } in registers.early() {
                let site = |op| self.site(launch, op, cta, warp * LANES as u32, u32::MAX);
                let (at, other) = (site(op), Some(site(load)));
                let (kind, kernel) = (FindingKind::UnloadedRegister, launch.name.into());
                let finding = Finding { kind, kernel, at, other, touched: None, count: 1 };
                lock(&self.state).report((11, op, load, 0), finding);
            }
        }
    }

    /// Registers are about to be used, in a function where products use them meanwhile.
    pub(crate) fn registers(&self, launch: &LaunchInfo<'_>, actor: &Actor, op: &Op, named: &Named) {
        let mut state = lock(&self.state);
        let cta = state.ctas.get_mut(&(launch.linear(actor.cta) as u32));
        let Some(registers) = cta.and_then(|cta| cta.registers.get_mut(actor.warp as usize)) else { return };
        let number = self.op(actor);
        let misuse = match op {
            Op::Other(_, step) => match &**step {
                Step::Group(op) => return registers.group(*op),
                Step::Matrix(MatrixOp::Wgmma(_)) => registers.product(number, named),
                Step::TensorCore(TensorCoreOp::Load(_)) => registers.load(number, named),
                Step::TensorCore(TensorCoreOp::Wait(wait)) if wait.loads => return registers.loaded(),
                _ => registers.plain(number, named),
            },
            _ => registers.plain(number, named),
        };
        let Some(misuse) = misuse else { return };
        let (kind, other) = match misuse {
            Misuse::Unwaited(other) => (FindingKind::UnwaitedRegister, Some(other)),
            Misuse::Unfenced(other) => (FindingKind::MissingRegisterFence, other),
        };
        let lane = actor.lanes.trailing_zeros();
        let thread = actor.warp * LANES as u32 + lane % LANES as u32;
        let site = |op| self.site(launch, op, actor.cta, thread, actor.lanes);
        let (at, other_site) = (site(number), other.map(site));
        let key = (9, number, other.unwrap_or(u32::MAX), 0);
        let kernel = launch.name.into();
        state.report(key, Finding { kind, kernel, at, other: other_site, touched: None, count: 1 });
    }
}
