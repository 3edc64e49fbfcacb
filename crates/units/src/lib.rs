//! The functional units of a GPU in software: pure functions on rows of 32 lanes, without warps and without memory.
//!
//! [`lanes`] has the registers of a warp. [`alu`] has a vector loop for each arithmetic instruction, [`matrix`] the
//! matrix products, [`texture`] formats, samplers and filters, [`mbarrier`] the words of mbarrier objects.

pub mod alu;
pub mod lanes;
pub mod matrix;
pub mod mbarrier;
pub mod texture;
