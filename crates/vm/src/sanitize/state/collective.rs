//! Errors of instructions that several threads execute together, other than barriers: operations among lanes (PTX ISA
//! sections 9.7.9.6 and 9.7.13), instructions of whole warps and of whole warpgroups (sections 9.7.14, 9.7.15 and
//! 9.7.19.5).
//!
//! Lanes that have exited count as named by mistake, although `shfl`, `vote`, `match` and `redux` do not wait for
//! them: what they would contribute is undefined. Lanes that the CTA never had do not count.
//!
//! The warps of a warpgroup are compared when the CTA ends: each must have executed the same instructions, in the same
//! order. Only a number of them and a hash of their sequence are kept for each warp.

use super::{Actor, Sanitizer};
use crate::launch_info::LaunchInfo;
use crate::memory::global::lock;
use crate::sanitize::{Finding, FindingKind};
use softwarp_units::lanes::LANES;

/// Warps of a warpgroup.
const WARPGROUP: u32 = 4;

/// The instructions for whole warpgroups that a warp has executed: their number and a hash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sequence {
    count: u64,
    hash: u64,
    last: Option<(u32, u32)>,
}

impl Sequence {
    fn add(&mut self, op: u32, lanes: u32) {
        self.count += 1;
        self.hash = (self.hash ^ u64::from(op)).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(23);
        self.last = Some((op, lanes));
    }

    /// Whether another warp has executed the same.
    fn is_like(&self, other: &Sequence) -> bool {
        (self.count, self.hash) == (other.count, other.hash)
    }
}

/// The kinds of findings that are reported once for an instruction.
#[derive(Clone, Copy)]
enum Number {
    ExitedLanes = 20,
    PartialWarp = 21,
    PartialWarpgroup = 22,
    BarrierId = 23,
    BarrierCount = 24,
}

impl Sanitizer<'_> {
    /// Reports something about an instruction that lanes execute.
    fn about(&self, launch: &LaunchInfo<'_>, actor: &Actor, number: Number, kind: FindingKind) {
        let at = self.site_of(launch, actor, actor.lanes.trailing_zeros() as usize % LANES);
        let finding = Finding { kind, kernel: launch.name.into(), at, other: None, touched: None, count: 1 };
        lock(&self.state).report((number as u8, self.op(actor), u32::MAX, 0), finding);
    }

    /// Lanes execute an operation among lanes that names some which have exited.
    pub(crate) fn names_exited(&self, launch: &LaunchInfo<'_>, actor: &Actor, named: u32, exited: u32) {
        if self.wants.sync {
            self.about(launch, actor, Number::ExitedLanes, FindingKind::ExitedLanes { named, exited });
        }
    }

    /// Lanes execute an instruction for whole warps.
    pub(crate) fn whole_warp(&self, launch: &LaunchInfo<'_>, actor: &Actor) {
        if self.wants.sync && actor.lanes != u32::MAX {
            let kind = FindingKind::PartialWarp { came: actor.lanes };
            self.about(launch, actor, Number::PartialWarp, kind);
        }
    }

    /// Lanes execute an instruction for whole warpgroups.
    pub(crate) fn whole_group(&self, launch: &LaunchInfo<'_>, actor: &Actor) {
        if !self.wants.sync {
            return;
        }
        self.whole_warp(launch, actor);
        let first = actor.warp / WARPGROUP * WARPGROUP;
        let others = (0..WARPGROUP).filter(|n| launch.lanes((first + n) as usize) != u32::MAX);
        let others = others.fold(0, |others, n| others | 1 << n);
        if others & !(1 << (actor.warp - first)) != 0 {
            let kind = FindingKind::PartialWarpgroup { first, others };
            return self.about(launch, actor, Number::PartialWarpgroup, kind);
        }
        let op = self.op(actor);
        let mut state = lock(&self.state);
        let cta = state.ctas.get_mut(&(launch.linear(actor.cta) as u32));
        if let Some(sequence) = cta.and_then(|cta| cta.sequences.get_mut(actor.warp as usize)) {
            sequence.add(op, actor.lanes);
        }
    }

    /// A CTA has ended: whether the warps of each group have executed the same.
    pub(super) fn compare_groups(&self, launch: &LaunchInfo<'_>, cta: [u32; 3], sequences: &[Sequence]) {
        for (first, group) in sequences.chunks(WARPGROUP as usize).enumerate() {
            let Some(most) = group.iter().max_by_key(|it| it.count) else { continue };
            let Some((op, lanes)) = most.last else { continue };
            let differing = (0..).zip(group).filter(|(_, it)| !it.is_like(most));
            let others = differing.fold(0, |others, (n, _)| others | 1 << n);
            if others == 0 {
                continue;
            }
            let first = first as u32 * WARPGROUP;
            let warp = (0..).zip(group).find(|(_, it)| it.is_like(most)).map_or(0, |(n, _): (u32, _)| n);
            let thread = (first + warp) * LANES as u32 + lanes.trailing_zeros() % LANES as u32;
            let at = self.site(launch, op, cta, thread, lanes);
            let kind = FindingKind::PartialWarpgroup { first, others };
            let kernel = launch.name.into();
            let finding = Finding { kind, kernel, at, other: None, touched: None, count: 1 };
            let key = (Number::PartialWarpgroup as u8, op, u32::MAX, 0);
            lock(&self.state).report(key, finding);
        }
    }

    /// Lanes come to a barrier, and each says which one it is, and of how many threads.
    pub(crate) fn barrier_operands(
        &self,
        launch: &LaunchInfo<'_>,
        actor: &Actor,
        numbers: &[u32; LANES],
        counts: Option<&[u32; LANES]>,
    ) {
        if !self.wants.sync {
            return;
        }
        for (row, count) in [(Some(numbers), false), (counts, true)] {
            let Some(row) = row else { continue };
            let mut lanes = softwarp_units::lanes::lanes(actor.lanes).map(|lane| row[lane]);
            let Some(first) = lanes.next() else { continue };
            if let Some(second) = lanes.find(|&other| other != first) {
                let kind = FindingKind::DivergentBarrierOperand { count, first, second };
                let number = if count { Number::BarrierCount } else { Number::BarrierId };
                self.about(launch, actor, number, kind);
            }
        }
    }
}
