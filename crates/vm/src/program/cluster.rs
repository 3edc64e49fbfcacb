//! Steps among the CTAs of a cluster (PTX ISA sections 9.7.9.23, 9.7.9.24 and 9.7.13.3).

/// What is done among the CTAs of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClusterOp {
    /// `barrier.cluster.arrive`
    Arrive,
    /// `barrier.cluster.wait`
    Wait,
    /// `mapa`: reads an address and a rank, and writes the same place of the CTA with that rank.
    Map(Pointer),
    /// `getctarank`: reads an address and writes the rank of the CTA that it is in.
    Rank(Pointer),
    /// `isspacep.shared::cta`: reads a generic address, and writes whether it is in the CTA's own part of `.shared`.
    IsOwn,
}

/// How an address into shared memory is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pointer {
    /// A generic address; otherwise one in `.shared`.
    pub generic: bool,
    /// In rows of 64-bit words.
    pub wide: bool,
}
