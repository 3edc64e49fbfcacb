//! A launch that runs: everything that does not change meanwhile, and the counters that its threads share.

use crate::clock::{self, Instant};
use crate::debug::Debugger;
use crate::decode::Code;
use crate::decode::native::{Allowed, Jit};
use crate::fault::FaultKind;
use crate::host_memory::{Account, Refused};
use crate::launch_info::LaunchInfo;
use crate::memory::Spaces;
use crate::memory::cell::SharedBytes;
use crate::memory::constant::Constant;
use crate::memory::global::Global;
use crate::memory::shared::Shared;
use crate::nested::Requests;
use crate::sanitize::Sanitizer;
use crate::schedule::shuffled;
use crate::stats::{Progress, Tracer};
use crate::texture::Textures;
use softwarp_image::Windows;
use softwarp_isa::device::CTA_SHARED;
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// A launch: everything that does not change while it runs.
pub(crate) struct Launch<'a> {
    pub(crate) info: LaunchInfo<'a>,
    /// The account of compiled code.
    pub(crate) code: &'a Account,
    pub(crate) windows: &'a Windows,
    pub(crate) global: &'a Global,
    pub(crate) constant: &'a Constant,
    pub(crate) textures: &'a Textures,
    pub(crate) parameters: &'a SharedBytes,
    /// The launch has clusters explicitly: `%is_explicit_cluster`.
    pub(crate) clustered: bool,
    pub(crate) dynamic_shared: u32,
    /// `%gridid`
    pub(crate) number: u64,
    /// The address of the grid barrier of a cooperative launch; 0 for any other launch.
    pub(crate) workspace: u64,
    pub(crate) threads: usize,
    /// One thread of the host runs the whole launch, and nothing else accesses its memory meanwhile.
    pub(crate) alone: bool,
    pub(crate) most_stack: u64,
    pub(crate) most_instructions: Option<u64>,
    pub(crate) most_time: Option<Duration>,
    pub(crate) cancel: Option<&'a AtomicBool>,
    pub(crate) print: Option<&'a (dyn Fn(&str) + Sync)>,
    pub(crate) tracer: Option<&'a dyn Tracer>,
    pub(crate) debugger: Option<&'a dyn Debugger>,
    pub(crate) count_operations: bool,
    pub(crate) sanitizer: Option<&'a Sanitizer<'a>>,
    /// Launches that its threads ask for.
    pub(crate) nested: &'a Requests,
    pub(crate) progress: &'a Progress,
    pub(crate) started: Instant,
    /// When functions are compiled, and for which shape of CTAs.
    pub(crate) jit: (Jit, softwarp_jit::Shape),
    /// Clocks count their reads, and nothing depends on how long things take.
    pub(crate) repeatable: bool,
    /// A random schedule leaves the order of a warp's lanes as it is.
    pub(crate) lanes_in_order: bool,
    /// The seed of a random schedule.
    pub(crate) seed: Option<u64>,
    /// The account of the calls of all warps together, a part of the device's.
    pub(crate) stacks: Account,
    /// Steps that were executed.
    pub(crate) steps: AtomicU64,
    /// The next cluster that no thread has claimed.
    pub(crate) next: AtomicU64,
    /// CTAs that never began, since others took their work.
    pub(crate) cancelled: AtomicU64,
}

impl<'a> Deref for Launch<'a> {
    type Target = LaunchInfo<'a>;

    fn deref(&self) -> &LaunchInfo<'a> {
        &self.info
    }
}

impl<'a> Launch<'a> {
    /// The memory of a CTA, by its rank in a cluster with this shared memory.
    pub(crate) fn spaces(&self, cluster: &'a [Shared], rank: u32) -> Spaces<'a> {
        let window = u64::from(rank) * CTA_SHARED;
        Spaces {
            image: self.image,
            windows: self.windows,
            global: self.global,
            allocations: self.global.allocations(),
            constant: self.constant,
            parameters: self.parameters,
            shared: &cluster[rank as usize].cells,
            shared_start: window + self.image.header.arch.properties().reserved_shared,
            cluster,
            window,
            kernel: self.kernel,
            tagged: self.tags(),
        }
    }
}

impl Launch<'_> {
    /// Whether addresses in `.local` have the tags of their threads: see [`crate::sanitize::bounds`].
    pub(crate) fn tags(&self) -> bool {
        let wanted = self.sanitizer.is_some_and(|sanitizer| sanitizer.wants.bounds);
        wanted && self.image.red_zones && self.image.header.address_bits == 64
    }

    /// The cluster that begins as the nth.
    pub(crate) fn nth_unit(&self, index: u64) -> u64 {
        self.seed.map_or(index, |seed| shuffled(seed, index, self.units()))
    }

    /// `clusterlaunchcontrol.try_cancel`: takes a cluster that has not begun out of the grid; `%ctaid` of its first
    /// CTA.
    pub(crate) fn cancel_cluster(&self) -> Option<[u32; 3]> {
        let units = self.units();
        if self.next.load(Ordering::Relaxed) >= units {
            return None;
        }
        let index = self.next.fetch_add(1, Ordering::Relaxed);
        (index < units).then(|| {
            let index = self.nth_unit(index);
            self.cancelled.fetch_add(self.cluster_ctas().into(), Ordering::Relaxed);
            self.progress.ctas_done.fetch_add(self.cluster_ctas().into(), Ordering::Relaxed);
            self.cta(index, 0)
        })
    }

    /// The fault that the host has no memory for something, although the limit allows it.
    pub(crate) fn no_memory(&self, what: &'static str, bytes: u64) -> FaultKind {
        let (used, most) = (self.account.used(), self.account.most());
        FaultKind::OutOfMemory { what, bytes, used, most }
    }

    /// The fault when the account refuses memory to calls: all stacks together are too large, or there is no memory
    /// left.
    pub(crate) fn stack_refused(&self, what: &'static str, refused: Refused) -> FaultKind {
        match refused.most == self.stacks.most() {
            true => FaultKind::StackOverflow,
            false => FaultKind::out_of_memory(what, refused),
        }
    }

    /// Whether the launch has to stop: it was cancelled, or the limit of time or of steps is reached. `steps` are
    /// added to those that are counted.
    pub(crate) fn is_over(&self, steps: u64) -> bool {
        let done = self.steps.load(Ordering::Relaxed).saturating_add(steps);
        self.cancel.is_some_and(|cancel| cancel.load(Ordering::Relaxed))
            || self.most_instructions.is_some_and(|most| done > most)
            || self.most_time.is_some_and(|most| self.started.elapsed() > most)
    }

    /// Time since the launch.
    pub(crate) fn nanoseconds(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// The compiled code of the kernel, if there is some and nothing observes it.
    pub(crate) fn compiled(&self) -> Option<&softwarp_jit::Compiled> {
        if self.jit.0 == Jit::Off || self.is_observed() {
            return None;
        }
        self.compiled_code(self.program.codes.first()?)
    }

    /// The compiled code of a function, if there is some or it is time to make it. That ends where the launch has to stop.
    #[inline]
    pub(crate) fn compiled_code<'c>(&self, code: &'c Code) -> Option<&'c softwarp_jit::Compiled> {
        let allowed = Allowed { account: self.account, code: self.code, stop: &|| self.is_over(0) };
        code.native.get(code, self.jit, allowed)
    }

    /// Whether the observed loop runs: a tracer, a debugger, counts by operation, or sanitizers.
    pub(crate) fn is_observed(&self) -> bool {
        self.tracer.is_some()
            || self.debugger.is_some()
            || self.count_operations
            || self.sanitizer.is_some()
            || self.seed.is_some()
    }

    /// Whether a random schedule decides which lanes of a warp run.
    #[inline]
    pub(crate) fn has_random_lanes(&self) -> bool {
        self.seed.is_some() && !self.lanes_in_order
    }

    /// Whether each run of the launch is the same: clocks count their reads.
    pub(crate) fn is_repeatable(&self) -> bool {
        self.repeatable || self.seed.is_some() || self.debugger.is_some() || !clock::EXISTS
    }
}
