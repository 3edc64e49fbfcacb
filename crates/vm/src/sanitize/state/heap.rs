//! Blocks that the device's `malloc` returned, and the calls: blocks that are never freed are leaks.
//!
//! A block may outlive its launch and be freed by a later one. So the launch only hands on which call gave which block;
//! [`crate::device::Device::leaks`] says, when the program has ended, which of them are still there.

use super::{Actor, Sanitizer};
use crate::launch_info::LaunchInfo;
use crate::memory::global::{Global, lock};
use crate::sanitize::{Finding, FindingKind};
use softwarp_units::lanes::LANES;
use std::collections::BTreeMap;

/// Blocks that one call gave, and a finding for them in case that they are not freed.
#[derive(Clone, Debug)]
pub(crate) struct Given {
    finding: Finding,
    /// Addresses, and bytes that were asked for.
    blocks: Vec<(u64, u64)>,
}

/// The call of `malloc`: the operation, the CTA and the thread; and the bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Taken {
    op: u32,
    cta: [u32; 3],
    thread: u32,
    bytes: u64,
}

impl Sanitizer<'_> {
    /// `malloc` gave memory to a lane; none if the address is 0.
    pub(crate) fn allocated(&self, actor: &Actor, lane: usize, address: u64, bytes: u64) {
        self.unwritten.forget(address, bytes);
        if self.wants.race && address != 0 {
            lock(&self.state).global.forget(address, bytes);
        }
        if self.wants.leak && address != 0 {
            let thread = actor.warp * LANES as u32 + lane as u32;
            let taken = Taken { op: self.op(actor), cta: actor.cta, thread, bytes };
            lock(&self.state).blocks.insert(address, taken);
        }
    }

    /// `free` took memory back.
    pub(crate) fn freed(&self, address: u64) {
        if self.wants.leak {
            lock(&self.state).blocks.remove(&address);
        }
    }

    /// The launch has ended: what it took and did not give back, by the calls that gave it.
    pub(crate) fn given(&self, launch: &LaunchInfo<'_>) -> Vec<Given> {
        let mut calls: BTreeMap<u32, (Taken, Vec<(u64, u64)>)> = BTreeMap::new();
        for (&address, taken) in &lock(&self.state).blocks {
            let (_, blocks) = calls.entry(taken.op).or_insert_with(|| (*taken, Vec::new()));
            blocks.push((address, taken.bytes));
        }
        let given = calls.into_values().map(|(taken, blocks)| {
            let lanes = 1 << (taken.thread % LANES as u32);
            let at = self.site(launch, taken.op, taken.cta, taken.thread, lanes);
            let (kind, kernel) = (FindingKind::Leak { bytes: 0 }, launch.name.into());
            Given { finding: Finding { kind, kernel, at, other: None, touched: None, count: 0 }, blocks }
        });
        given.collect()
    }
}

impl Given {
    /// The finding, if some of the blocks are still in use.
    pub(crate) fn leak(&self, global: &Global) -> Option<Finding> {
        let live = self.blocks.iter().filter(|&&(address, bytes)| global.block(address) == Some(bytes));
        let (count, bytes) = live.fold((0, 0), |(count, sum), &(_, bytes)| (count + 1, sum + bytes));
        let kind = FindingKind::Leak { bytes };
        (count != 0).then(|| Finding { kind, count, ..self.finding.clone() })
    }
}
