//! Logic and shifts: PTX ISA section 9.7.8.

use super::gates::*;
use crate::row::{Section, row};

#[rustfmt::skip]
pub(super) const SECTION: Section = Section {
    sets: &[],
    rows: &[
        row(ANY,      "and.pred|bits       d, a, b"),
        row(ANY,      "or.pred|bits        d, a, b"),
        row(ANY,      "xor.pred|bits       d, a, b"),
        row(ANY,      "not.pred|bits       d, a"),
        row(ANY,      "cnot.bits           d, a"),
        row(SM_50_43, "lop3.b32            d, a, b, c, #immLut"),
        row(SM_70_82, "lop3.or|and.b32     d_|p:pred, a, b, c, #immLut, e:pred"),
        row(SM_32_31, "shf.l|r.clamp|wrap.b32 d, a, b, c:u32"),
        row(ANY,      "shl.bits            d, a, b:u32"),
        row(ANY,      "shr.bits|int        d, a, b:u32"),
    ],
};
