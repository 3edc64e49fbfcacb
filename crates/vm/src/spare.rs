//! Room for CTAs that launches have left, for the launches behind them: to allocate the warps of a CTA takes longer than to
//! run a short one.
//!
//! Only clusters of one CTA are kept, and only a few. What is kept has no charge; a launch that takes it is charged as if
//! it had allocated it. Nothing of a launch can be read in another: registers are rebuilt, shared memory is zeroed, and the
//! rest is given up. A thread takes the room that it has left itself, if it can: that is in the caches of its core.

use crate::cluster::Cluster;
use crate::context::Launch;
use crate::memory::global::lock;
use std::sync::Mutex;
use std::thread::{self, ThreadId};

/// How many clusters are kept.
const MOST: usize = 16;

/// The largest cluster that is kept, in bytes.
const LARGEST: u64 = 1 << 20;

/// What two launches have in common whose clusters have the same room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Key {
    block: [u32; 3],
    shared_bytes: u64,
}

impl Key {
    /// Of a launch that leaves room and takes it.
    fn of(launch: &Launch<'_>) -> Option<Key> {
        let is_plain = launch.cluster_ctas() == 1 && !launch.is_observed();
        is_plain.then_some(Key { block: launch.block, shared_bytes: launch.shared_bytes })
    }
}

/// Room for a cluster, and who has left it.
struct Left {
    key: Key,
    thread: ThreadId,
    cluster: Cluster,
}

/// Room that launches have left.
#[derive(Default)]
pub(crate) struct Spare {
    /// The oldest first.
    clusters: Mutex<Vec<Left>>,
}

impl std::fmt::Debug for Spare {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Spare").finish_non_exhaustive()
    }
}

impl Spare {
    /// Room for a cluster of a launch, if there is some and the account allows it.
    pub(crate) fn take(&self, launch: &Launch<'_>) -> Option<Cluster> {
        let key = Key::of(launch)?;
        let thread = thread::current().id();
        let mut clusters = lock(&self.clusters);
        let own = clusters.iter().rposition(|left| left.key == key && left.thread == thread);
        let at = own.or_else(|| clusters.iter().rposition(|left| left.key == key))?;
        let Left { mut cluster, .. } = clusters.remove(at);
        drop(clusters);
        cluster.use_again(launch).then_some(cluster)
    }

    /// Keeps what a thread of a launch has left.
    pub(crate) fn put(&self, launch: &Launch<'_>, left: Vec<Cluster>) {
        let Some(key) = Key::of(launch) else { return };
        // Most threads leave one.
        for mut cluster in left.into_iter().take(1).filter(|cluster| cluster.bytes() <= LARGEST) {
            cluster.give_up();
            let mut clusters = lock(&self.clusters);
            let oldest = (clusters.len() == MOST).then(|| clusters.remove(0));
            clusters.push(Left { key, thread: thread::current().id(), cluster });
            drop((clusters, oldest));
        }
    }
}
