//! Matrices that a warp holds together (PTX ISA sections 9.7.14 and 9.7.15): arithmetic, apart from where the
//! elements come from.
//!
//! Products are functions of elements: [`float`] adds up as the hardware's units do, [`integer`] and [`double`] exactly
//! and in order. [`layout`] says which lane holds which element, [`sparse`] which elements are there, [`descriptor`]
//! where a matrix lies in shared memory. [`registers`] multiplies what registers hold without taking elements out,
//! with rows and columns as [`lines`] of bytes.

pub mod descriptor;
pub mod double;
pub mod float;
pub mod integer;
pub mod layout;
pub mod lines;
pub mod registers;
pub mod sparse;
#[cfg(target_arch = "x86_64")]
mod vectors;

pub use float::multiply;

use softwarp_num::Format;

/// What hardware path adds up the products: they round differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unit {
    /// `mma` and `wmma`
    Mma,
    /// `wgmma`
    Wgmma,
    /// `tcgen05.mma`
    Tcgen05,
}

/// How the products of blocks of factors are scaled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BlockScale {
    /// The format of the scales: [`Format::Ue8m0`] or [`Format::Ue4m3`].
    pub format: Format,
    /// How many factors, along `k`, share a scale. [`FloatProduct::k`] is a multiple of it.
    pub block: usize,
}

/// A product of matrices of floating-point numbers: D = A·B + C.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FloatProduct {
    /// The unit of the GPU, whose rounding is followed.
    pub unit: Unit,
    /// The format of A's elements.
    pub a: Format,
    /// The format of B's elements.
    pub b: Format,
    /// The format of C's elements: [`Format::F16`] or [`Format::F32`].
    pub c: Format,
    /// The format of D's elements: [`Format::F16`] or [`Format::F32`].
    pub d: Format,
    /// Rows of A, C and D.
    pub m: usize,
    /// Columns of B, C and D.
    pub n: usize,
    /// How many products make an element. Of a sparse matrix, those that its metadata chooses: half of the shape's.
    pub k: usize,
    /// Whether A is sparse. Only the elements that are there are given; then `m` is 1, since each row of A meets
    /// other elements of B.
    pub sparse: bool,
    /// How blocks of factors are scaled, if they are.
    pub scale: Option<BlockScale>,
}

/// The scales of blocks, as their formats' bits.
#[derive(Clone, Copy, Debug)]
pub struct Scales<'a> {
    /// Of A: for each row, one for each block along `k`.
    pub a: &'a [u32],
    /// Of B: for each column, one for each block along `k`.
    pub b: &'a [u32],
}
