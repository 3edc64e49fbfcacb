//! Messages between threads: what a release hands to whom, by scope (PTX ISA sections 8.5, 8.8 and 8.9.4).
//!
//! A release pattern synchronizes with an acquire pattern only if the scope of each includes the thread of the other. So a
//! message goes to the CTA of who sends it whatever the scope is, to its cluster if the scope is at least `.cluster`, and to all threads from `.gpu` on. A thread receives the messages that its own scope includes.

use super::clock::{Knowledge, join, join_option};
use softwarp_ir::Scope;
use std::sync::Arc;

/// Messages of one location.
#[derive(Clone, Debug, Default)]
pub(super) struct Channel {
    /// Messages by the CTA of the sender.
    ctas: Vec<(u32, Arc<Knowledge>)>,
    /// Messages by the cluster of the sender.
    clusters: Vec<(u32, Arc<Knowledge>)>,
    /// With at least the scope `.gpu`.
    all: Option<Arc<Knowledge>>,
}

/// The messages that a thread may receive, by the least scope that it needs: `.cta`, `.cluster`, `.gpu`.
#[derive(Clone, Debug, Default)]
pub(super) struct Received {
    by_scope: [Option<Arc<Knowledge>>; 3],
}

impl Received {
    /// All of it that a scope includes.
    pub(super) fn within(&self, scope: Scope) -> impl Iterator<Item = &Arc<Knowledge>> {
        let classes = match scope {
            Scope::Cta => 1,
            Scope::Cluster => 2,
            Scope::Gpu | Scope::Sys => 3,
        };
        self.by_scope.iter().take(classes).flatten()
    }

    pub(super) fn merge(&mut self, other: &Received) {
        for (mine, theirs) in self.by_scope.iter_mut().zip(&other.by_scope) {
            if let Some(theirs) = theirs {
                join_option(mine, theirs);
            }
        }
    }

    /// Adds what any scope includes.
    pub(super) fn learn(&mut self, knowledge: &Arc<Knowledge>) {
        join_option(&mut self.by_scope[0], knowledge);
    }

    /// Whether there is something that a scope does not include.
    pub(super) fn is_more_than(&self, scope: Scope) -> bool {
        self.by_scope.iter().flatten().count() > self.within(scope).count()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.by_scope.iter().all(Option::is_none)
    }
}

impl Channel {
    /// A thread of a CTA and cluster sends what it knows.
    pub(super) fn send(&mut self, (cta, cluster): (u32, u32), scope: Scope, knowledge: &Arc<Knowledge>) {
        add(&mut self.ctas, cta, knowledge);
        if scope >= Scope::Cluster {
            add(&mut self.clusters, cluster, knowledge);
        }
        if scope >= Scope::Gpu {
            join_option(&mut self.all, knowledge);
        }
    }

    /// The messages that a thread of a CTA and cluster may receive.
    pub(super) fn receive(&self, (cta, cluster): (u32, u32)) -> Received {
        Received { by_scope: [find(&self.ctas, cta), find(&self.clusters, cluster), self.all.clone()] }
    }

    pub(super) fn merge(&mut self, other: Channel) {
        other.ctas.iter().for_each(|(cta, known)| add(&mut self.ctas, *cta, known));
        other.clusters.iter().for_each(|(cluster, known)| add(&mut self.clusters, *cluster, known));
        if let Some(all) = &other.all {
            join_option(&mut self.all, all);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.ctas.is_empty()
    }

    /// How many CTAs and clusters have sent something that is kept.
    pub(super) fn len(&self) -> usize {
        self.ctas.len() + self.clusters.len()
    }
}

fn find(list: &[(u32, Arc<Knowledge>)], key: u32) -> Option<Arc<Knowledge>> {
    let at = list.binary_search_by_key(&key, |entry| entry.0).ok()?;
    list.get(at).map(|(_, known)| Arc::clone(known))
}

fn add(list: &mut Vec<(u32, Arc<Knowledge>)>, key: u32, knowledge: &Arc<Knowledge>) {
    match list.binary_search_by_key(&key, |entry| entry.0) {
        Ok(at) => join(&mut list[at].1, knowledge),
        Err(at) => list.insert(at, (key, Arc::clone(knowledge))),
    }
}

#[cfg(test)]
mod tests {
    use super::super::clock::Plane;
    use super::*;

    #[test]
    fn both_scopes_must_include_the_other_thread() {
        let mut known = Knowledge::default();
        known.learn(Plane::Thread, (0, 1), 0, (1, false), 1);
        let known = Arc::new(known);
        let received = |sent: Scope, taken: Scope, to: (u32, u32)| {
            let mut channel = Channel::default();
            channel.send((0, 0), sent, &known);
            channel.receive(to).within(taken).next().is_some()
        };
        let (same_cta, same_cluster, elsewhere) = ((0, 0), (1, 0), (2, 1));
        assert!(received(Scope::Cta, Scope::Cta, same_cta));
        assert!(
            !received(Scope::Cta, Scope::Gpu, same_cluster)
                && !received(Scope::Gpu, Scope::Cta, same_cluster)
        );
        assert!(received(Scope::Cluster, Scope::Gpu, same_cluster));
        assert!(!received(Scope::Cluster, Scope::Sys, elsewhere));
        assert!(!received(Scope::Gpu, Scope::Cluster, elsewhere));
        assert!(received(Scope::Gpu, Scope::Sys, elsewhere));
    }
}
