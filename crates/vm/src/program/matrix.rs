//! Matrix instructions (PTX ISA sections 9.7.14 and 9.7.15).

/// What is done with matrices.
#[derive(Clone, Debug)]
pub enum MatrixOp {}
