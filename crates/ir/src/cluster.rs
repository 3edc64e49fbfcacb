//! Operations among the CTAs of a cluster (PTX ISA sections 9.7.9.23, 9.7.9.24, 9.7.13.3, 9.7.13.17 and
//! 9.7.13.18).

use crate::{Address, Slot};

/// `barrier.cluster.arrive`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClusterArrive {
    /// `.relaxed`: it orders nothing.
    pub relaxed: bool,
}

/// `mapa`: an address in shared memory, in the CTA with another rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MapShared {
    /// The address in the other CTA.
    pub d: Slot,
    /// The address.
    pub address: Slot,
    /// The rank of the other CTA.
    pub rank: Slot,
    /// Addresses are generic; otherwise in `.shared`.
    pub generic: bool,
}

/// `getctarank`: the rank of the CTA that an address is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CtaRank {
    /// The rank.
    pub d: Slot,
    /// The address.
    pub address: Slot,
    /// The address is generic; otherwise in `.shared`.
    pub generic: bool,
}

/// `isspacep.shared::cta`: whether a generic address is in the CTA's own part of `.shared`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IsOwnShared {
    /// The predicate.
    pub d: Slot,
    /// The address.
    pub address: Slot,
}

/// `clusterlaunchcontrol.try_cancel`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TryCancel {
    /// Where the response goes.
    pub response: Address,
    /// The mbarrier that it completes on.
    pub mbarrier: Address,
    /// `.multicast::cluster::all`: the same in each CTA of the cluster.
    pub multicast: bool,
}

/// `clusterlaunchcontrol.query_cancel.is_canceled`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IsCancelled {
    /// The predicate.
    pub d: Slot,
    /// Both halves of a response.
    pub response: [Slot; 2],
}

/// `clusterlaunchcontrol.query_cancel.get_first_ctaid`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FirstCta {
    /// `%ctaid` of the first CTA that was cancelled, one dimension after the other.
    pub d: Vec<Option<Slot>>,
    /// Both halves of a response.
    pub response: [Slot; 2],
    /// The first dimension.
    pub from: u8,
}

/// What `clusterlaunchcontrol.try_cancel` answers: 16 bytes that mean something to `query_cancel` only. All zeros
/// are a request that failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Response {
    /// `%ctaid` of the first CTA of the cluster that was cancelled, if one was.
    pub first: Option<[u32; 3]>,
}

/// The bit of the high half that says that a cluster was cancelled, above z.
const CANCELLED: u64 = 1 << 32;

impl Response {
    /// The low and the high half.
    pub fn halves(self) -> [u64; 2] {
        match self.first {
            Some([x, y, z]) => [u64::from(x) | u64::from(y) << 32, u64::from(z) | CANCELLED],
            None => [0; 2],
        }
    }

    /// What two halves mean.
    pub fn of([low, high]: [u64; 2]) -> Response {
        let first = [low as u32, (low >> 32) as u32, high as u32];
        Response { first: (high & CANCELLED != 0).then_some(first) }
    }
}
