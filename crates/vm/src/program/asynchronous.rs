//! Asynchronous copies and mbarriers (PTX ISA sections 9.7.9.25 and 9.7.13.15).

/// What is done asynchronously, or with an mbarrier.
#[derive(Clone, Debug)]
pub enum AsyncOp {}
