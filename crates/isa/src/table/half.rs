//! Half-precision arithmetic: PTX ISA section 9.7.4.

use super::gates::*;
use crate::row::{Section, row};

#[rustfmt::skip]
pub(super) const SECTION: Section = Section {
    sets: &[("f16s", "f16 f16x2"), ("bf16s", "bf16 bf16x2")],
    rows: &[
        row(SM_53_42, "add{.rn}{.ftz}{.sat}.f16s    d, a, b"),
        row(SM_90_78, "add{.rn}.bf16s               d, a, b"),
        row(SM_53_42, "sub{.rn}{.ftz}{.sat}.f16s    d, a, b"),
        row(SM_90_78, "sub{.rn}.bf16s               d, a, b"),
        row(SM_53_42, "mul{.rn}{.ftz}{.sat}.f16s    d, a, b"),
        row(SM_90_78, "mul{.rn}.bf16s               d, a, b"),
        row(SM_53_42, "fma.rn{.ftz}{.sat}.f16s      d, a, b, c"),
        row(SM_80_70, "fma.rn{.ftz}.relu.f16s       d, a, b, c"),
        row(SM_80_70, "fma.rn{.relu}.bf16s          d, a, b, c"),
        row(SM_90_81, "fma.rn.oob{.relu}.f16s|bf16s d, a, b, c"),
        row(SM_53_60, "neg{.ftz}.f16s               d, a"),
        row(SM_80_70, "neg.bf16s                    d, a"),
        row(SM_53_65, "abs{.ftz}.f16s               d, a"),
        row(SM_80_70, "abs.bf16s                    d, a"),
        row(SM_80_70, "min{.ftz}{.NaN}.f16s         d, a, b"),
        row(SM_86_72, "min{.ftz}{.NaN}.xorsign.abs.f16s d, a, b"),
        row(SM_80_70, "min{.NaN}.bf16s              d, a, b"),
        row(SM_86_72, "min{.NaN}.xorsign.abs.bf16s  d, a, b"),
        row(SM_80_70, "max{.ftz}{.NaN}.f16s         d, a, b"),
        row(SM_86_72, "max{.ftz}{.NaN}.xorsign.abs.f16s d, a, b"),
        row(SM_80_70, "max{.NaN}.bf16s              d, a, b"),
        row(SM_86_72, "max{.NaN}.xorsign.abs.bf16s  d, a, b"),
        row(SM_75_70, "tanh.approx.f16s             d, a"),
        row(SM_90_78, "tanh.approx.bf16s            d, a"),
        row(SM_75_70, "ex2.approx.f16s              d, a"),
        row(SM_90_78, "ex2.approx.ftz.bf16s         d, a"),
    ],
};
