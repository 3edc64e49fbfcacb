//! Launches by kernels (CUDA's dynamic parallelism).
//!
//! A thread asks for memory for the parameters of a kernel, writes them, and launches it. The grid begins when the one
//! that launched it has ended, which CUDA allows: a kernel cannot wait for what it launches. A grid is complete when all
//! that it launched is complete. So what a grid launched runs before what comes behind it in its own order (depth-first
//! order), and what it put into the tail stream last.

use crate::launch::{Launch, NestedLaunch};
use crate::memory::global::lock;
use softwarp_image::{FunctionId, Image};
use std::collections::BTreeMap;
use std::sync::Mutex;

/// Bytes of the host that the launches of one grid may take before they begin.
const MOST_PENDING: usize = 64 << 20;

/// `cudaStreamTailLaunch`
const TAIL: u64 = 3;

/// What a kernel is launched with, while its parameters are being written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Buffer {
    pub(crate) kernel: FunctionId,
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) shared: u32,
}

/// The requests of a grid that runs.
#[derive(Debug, Default)]
pub(crate) struct Requests {
    is: Mutex<Pending>,
}

#[derive(Debug, Default)]
struct Pending {
    /// By the address of the parameters.
    buffers: BTreeMap<u64, Buffer>,
    /// With the CTA that asked. One thread of the host runs a CTA, so that the requests of each are in order.
    launches: Vec<([u32; 3], NestedLaunch)>,
    bytes: usize,
}

impl Requests {
    /// Memory at an address is for the parameters of a kernel.
    pub(crate) fn begin(&self, address: u64, buffer: Buffer) {
        lock(&self.is).buffers.insert(address, buffer);
    }

    /// The parameters at an address are written: the kernel's, if there is one.
    pub(crate) fn end(&self, address: u64) -> Option<Buffer> {
        lock(&self.is).buffers.remove(&address)
    }

    /// Adds a launch; whether there was room for it.
    pub(crate) fn add(&self, cta: [u32; 3], launch: NestedLaunch) -> bool {
        let mut pending = lock(&self.is);
        let bytes = launch.arguments.iter().map(|it| it.len() + size_of::<Vec<u8>>()).sum::<usize>();
        pending.bytes += bytes + launch.kernel.len() + size_of::<([u32; 3], NestedLaunch)>();
        if pending.bytes <= MOST_PENDING {
            pending.launches.push((cta, launch));
        }
        pending.bytes <= MOST_PENDING
    }

    /// The launches, CTA by CTA.
    pub(crate) fn into_launches(self) -> Vec<NestedLaunch> {
        let mut launches = std::mem::take(&mut lock(&self.is).launches);
        launches.sort_by_key(|&([x, y, z], _)| [z, y, x]);
        launches.into_iter().map(|(_, launch)| launch).collect()
    }
}

impl Buffer {
    /// The launch, with the bytes of all parameters.
    pub(crate) fn launch(&self, image: &Image, parameters: &[u8], stream: u64) -> Option<NestedLaunch> {
        let function = image.function(self.kernel);
        let argument = |&id: &_| {
            let object = image.object(id);
            let from = usize::try_from(object.offset?).ok()?;
            Some(parameters.get(from..from.checked_add(usize::try_from(object.total()).ok()?)?)?.to_vec())
        };
        Some(NestedLaunch {
            kernel: function.name.to_string(),
            grid: self.grid,
            block: self.block,
            dynamic_shared: self.shared,
            arguments: function.parameters.iter().map(argument).collect::<Option<_>>()?,
            tail: stream == TAIL,
        })
    }
}

impl NestedLaunch {
    /// The launch as its parent's module has it, with the parent's settings.
    pub fn of<'a>(&'a self, parent: &Launch<'a>) -> Launch<'a> {
        Launch {
            kernel: &self.kernel,
            grid: self.grid,
            block: self.block,
            cluster: None,
            cooperative: false,
            dynamic_shared: self.dynamic_shared,
            arguments: &self.arguments,
            ..*parent
        }
    }
}

/// Launches by kernels that have not begun, in the order in which they run.
#[derive(Debug, Default)]
pub struct NestedLaunches {
    /// The last one is the next.
    stack: Vec<NestedLaunch>,
}

impl NestedLaunches {
    /// Adds what the grid launched that ran last.
    pub fn extend(&mut self, launches: Vec<NestedLaunch>) {
        let (tail, others): (Vec<_>, Vec<_>) = launches.into_iter().partition(|launch| launch.tail);
        self.stack.extend(tail.into_iter().rev());
        self.stack.extend(others.into_iter().rev());
    }

    /// The next one.
    pub fn take_next(&mut self) -> Option<NestedLaunch> {
        self.stack.pop()
    }
}
