//! Settings that programs make and ask for, and that change little or nothing here: advice on managed memory, attributes
//! of streams, what the first launch functions keep for a function, and which contexts may use each other's memory.

use crate::handle::Handle;
use crate::pool::Pool;
use std::collections::{HashMap, HashSet};
use std::sync::Mutex;

/// `CU_DEVICE_INVALID`
pub const NO_DEVICE: i32 = -2;

/// A place of memory: `CUmemLocation`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// `CUmemLocationType`
    pub kind: u32,
    /// The number of the device, or of the host's node.
    pub id: i32,
}

impl Default for Place {
    /// None.
    fn default() -> Place {
        Place { kind: 0, id: NO_DEVICE }
    }
}

/// What was said about managed memory.
#[derive(Clone, Debug, Default)]
pub struct Advice {
    /// It is mostly read.
    pub read_mostly: bool,
    /// Where it is to be.
    pub preferred: Place,
    /// Where it was last fetched to.
    pub fetched: Place,
    /// Who accesses it.
    pub accessed_by: Vec<i32>,
}

/// Attributes of a stream (`CUstreamAttrID`).
#[derive(Clone, Copy, Debug)]
pub struct StreamAttributes {
    /// The access policy window, as it was given.
    pub window: [u64; 4],
    /// `CUsynchronizationPolicy`
    pub policy: u32,
    /// Its priority, if one was set.
    pub priority: Option<i32>,
    /// The domains of default and remote accesses.
    pub domains: [u8; 2],
    /// `CUlaunchMemSyncDomain`
    pub domain: u32,
}

impl Default for StreamAttributes {
    fn default() -> StreamAttributes {
        StreamAttributes { window: [0; 4], policy: 1, priority: None, domains: [0, 1], domain: 0 }
    }
}

/// What the first launch functions keep for a function.
#[derive(Clone, Debug)]
pub struct OldLaunch {
    /// The size of a block.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub shared: u32,
    /// The parameters.
    pub parameters: Vec<u8>,
}

impl Default for OldLaunch {
    fn default() -> OldLaunch {
        OldLaunch { block: [1; 3], shared: 0, parameters: Vec::new() }
    }
}

/// What a pool is for: the kind of the place, its number, and the kind of memory.
pub type PoolPlace = (u32, i32, u32);

/// All of them.
#[derive(Debug, Default)]
pub struct Settings {
    /// Pools of the host's memory and of managed memory: the place's own, and the one that was set.
    pub pools: Mutex<HashMap<PoolPlace, [Option<Handle<Pool>>; 2]>>,
    /// Of managed memory, by the number of the allocation.
    pub advice: Mutex<HashMap<u64, Advice>>,
    /// Of streams, by number.
    pub streams: Mutex<HashMap<u64, StreamAttributes>>,
    /// Of functions, by handle.
    pub launches: Mutex<HashMap<u64, OldLaunch>>,
    /// Contexts with those whose memory they may use.
    pub peers: Mutex<HashSet<(u64, u64)>>,
}
