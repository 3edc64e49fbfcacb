//! Steps among the CTAs of a cluster (PTX ISA sections 9.7.9.23, 9.7.9.24, 9.7.13.3, 9.7.13.17 and
//! 9.7.13.18).

/// What is done among the CTAs of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClusterOp {
    /// `barrier.cluster.arrive`
    Arrive {
        /// `.relaxed`: it orders nothing.
        relaxed: bool,
    },
    /// `barrier.cluster.wait`
    Wait,
    /// `mapa`: reads an address and a rank, and writes the same place of the CTA with that rank.
    Map(Pointer),
    /// `getctarank`: reads an address and writes the rank of the CTA that it is in.
    Rank(Pointer),
    /// `isspacep.shared::cta`: reads a generic address, and writes whether it is in the CTA's own part of `.shared`.
    IsOwn,
    /// `clusterlaunchcontrol.try_cancel`: the addresses are where the response goes, and an mbarrier. With
    /// `.multicast::cluster::all`, the same in each CTA of the cluster.
    TryCancel {
        /// `.multicast::cluster::all`
        multicast: bool,
    },
    /// `clusterlaunchcontrol.query_cancel.is_canceled`: reads both halves of a response, and writes a predicate.
    IsCancelled,
    /// `clusterlaunchcontrol.query_cancel.get_first_ctaid`: reads both halves of a response, and writes `%ctaid` of
    /// the first CTA that was cancelled: from this dimension on, as many as there are destinations.
    FirstCta(u8),
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

/// How an address into shared memory is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pointer {
    /// A generic address; otherwise one in `.shared`.
    pub generic: bool,
    /// In rows of 64-bit words.
    pub wide: bool,
}
