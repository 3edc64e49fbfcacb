//! What is asynchronous in a launch that is looked at: agents, groups, mbarriers, and registers of products.

use super::{Actor, Sanitizer};
use crate::grid::Launch;
use crate::lanes::LANES;
use crate::memory::global::lock;
use crate::program::group::{GroupOp, Named};
use crate::program::matrix::MatrixOp;
use crate::program::{Op, Step};
use crate::sanitize::clock::{Agent, Event};
use crate::sanitize::registers::Misuse;
use crate::sanitize::{Finding, FindingKind};

impl Sanitizer<'_> {
    /// A warp gives something to its agents, and then touches memory for them.
    pub(crate) fn issue(&self, launch: &Launch<'_>, actor: &Actor, agents: &[Agent]) {
        if let Some(cta) = lock(&self.state).ctas.get_mut(&(launch.linear(actor.cta) as u32)) {
            cta.clocks.issue(actor.warp as usize, agents);
        }
    }

    /// Groups, and fences for what is asynchronous.
    pub(crate) fn group(&self, launch: &Launch<'_>, actor: &Actor, op: GroupOp) {
        let mut state = lock(&self.state);
        let Some(cta) = state.ctas.get_mut(&(launch.linear(actor.cta) as u32)) else { return };
        let (clocks, warp) = (&mut cta.clocks, actor.warp as usize);
        match op {
            GroupOp::Commit(queue) => clocks.commit(warp, queue),
            GroupOp::Wait { queue, pending, reads, all } => clocks.wait(warp, queue, pending, reads, all),
            GroupOp::Proxy => clocks.proxy(warp),
            GroupOp::Registers | GroupOp::WholeGroup | GroupOp::WholeWarp => {}
        }
    }

    /// Registers are about to be used, in a function where products use them meanwhile.
    pub(crate) fn registers(&self, launch: &Launch<'_>, actor: &Actor, op: &Op, named: &Named) {
        let mut state = lock(&self.state);
        let cta = state.ctas.get_mut(&(launch.linear(actor.cta) as u32));
        let Some(registers) = cta.and_then(|cta| cta.registers.get_mut(actor.warp as usize)) else { return };
        let number = self.op(actor);
        let misuse = match op {
            Op::Other(_, step) => match &**step {
                Step::Group(op) => return registers.group(*op),
                Step::Matrix(MatrixOp::Wgmma(_), _) => registers.product(number, named),
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

    /// Something happens at an mbarrier of a CTA whose phase has this parity.
    pub(crate) fn mbarrier(
        &self,
        launch: &Launch<'_>,
        actor: &Actor,
        (owner, address, parity): ([u32; 3], u64, u32),
        event: Event,
    ) {
        let mut state = lock(&self.state);
        let (own, owner) = (launch.linear(actor.cta) as u32, launch.linear(owner) as u32);
        let Some(cta) = state.strong(own) else { return };
        if own == owner {
            return cta.clocks.mbarrier(actor.warp as usize, address, parity, event);
        }
        cta.clocks.tell(actor.warp as usize);
        if let Some(owner) = state.ctas.get_mut(&owner) {
            owner.clocks.arrive_from_afar(address, parity);
        }
    }
}
