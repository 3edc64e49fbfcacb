//! Structured sparsity: PTX ISA sections 9.7.10.30 and 9.7.10.31.

use super::gates::*;
use crate::row::{Section, row};

#[rustfmt::skip]
pub(super) const SECTION: Section = Section {
    sets: &[
        ("upto16", "x1 x2 x4 x8 x16"),
        ("upto32", "x1 x2 x4 x8 x16 x32"),
        ("upto64", "x1 x2 x4 x8 x16 x32 x64"),
        ("from2", "x2 x4 x8 x16 x32 x64"),
    ],
    rows: &[
        row(SPARSE, "spcompress.b8|b16.b2|b4.sp::2:4.upto64 d*sm:b32, d1*sc:b32, data*sd:b32, %spdesc:b32"),

        // A group of compressed elements fits 32 bits, an index reaches the whole group, and the dense elements are 32 to
        // 4,096 bits.
        row(SPARSE, "spdecompress.b8.b2|b4.sp::1:2.from2 d*sd:b32, %mdata*sm:b32, %cdata*sc:b32"),
        row(SPARSE, "spdecompress.b8.b2|b4.sp::1:4|sp::2:4.upto64 d*sd:b32, %mdata*sm:b32, %cdata*sc:b32"),
        row(SPARSE, "spdecompress.b8.b4.sp::1:8|sp::2:8|sp::4:8.upto64 d*sd:b32, %mdata*sm:b32, %cdata*sc:b32"),
        row(SPARSE, "spdecompress.b8.b4.sp::1:16|sp::2:16|sp::4:16.upto32 d*sd:b32, %mdata*sm:b32, %cdata*sc:b32"),
        row(SPARSE, "spdecompress.b16.b2|b4.sp::1:2|sp::1:4|sp::2:4.upto64 d*sd:b32, %mdata*sm:b32, %cdata*sc:b32"),
        row(SPARSE, "spdecompress.b16.b4.sp::1:8|sp::2:8.upto32 d*sd:b32, %mdata*sm:b32, %cdata*sc:b32"),
        row(SPARSE, "spdecompress.b16.b4.sp::1:16|sp::2:16.upto16 d*sd:b32, %mdata*sm:b32, %cdata*sc:b32"),
    ],
};
