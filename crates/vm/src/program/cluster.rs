//! Steps among the CTAs of a cluster (PTX ISA sections 9.7.9.23 and 9.7.13.3).

/// What is done among the CTAs of a cluster.
#[derive(Clone, Debug)]
pub enum ClusterOp {}
