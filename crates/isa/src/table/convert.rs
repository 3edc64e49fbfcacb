//! `cvt` and `cvt.pack`: PTX ISA sections 9.7.10.24 and 9.7.10.25 (of version 9.4; 9.7.9.21 and 9.7.9.22 of 9.1).
//!
//! The manual's syntax lines cover combinations that were never accepted, and its examples leave out roundings that are
//! required: the rows are the assembler's. A form is covered by exactly one row, and [`crate::cvt`] expands them all; a
//! test holds that. Of some operands the assembler checks only the size (`#`), pointless as most such registers are.

use super::gates::*;
use crate::availability::Targets;
use crate::row::{Section, row};

const BLACKWELL_ON: Targets = Targets::Families(&[100, 110, 120]);
const FP8: Gates = &[since(Targets::Only(89), 8, 1), since(Targets::From(90), 7, 8)];
const FAMILY: Gates = &[since(BLACKWELL_ON, 8, 6)];
const FAMILY_91: Gates = &[since(BLACKWELL_ON, 9, 1)];
const FAMILY_92: Gates = &[since(BLACKWELL_ON, 9, 2)];
const STOCHASTIC: Gates = &[since(Targets::Architectures(&[100, 103, 107]), 8, 7)];
const FIXED: Gates = &[since(Targets::Architectures(&[100, 103, 107, 110, 120, 121]), 9, 1)];
const FIXED_RZ: Gates = &[since(Targets::Architectures(&[107]), 9, 4)];

#[rustfmt::skip]
pub(super) const SECTION: Section = Section {
    sets: &[
        ("irnd", "rni rzi rmi rpi"),
        ("frnd", "rn rz rm rp"),
        ("frnd2", "rn rz"),
        ("frnd3", "rz rp"),
        ("frnd4", "rn rz rp"),
        ("integer", "u8 u16 u32 u64 s8 s16 s32 s64"),
        ("signed", "s8 s16 s32 s64"),
        ("fp16x2", "f16x2 bf16x2"),
        ("f8x2", "e4m3x2 e5m2x2"),
        ("f6x2", "e2m3x2 e3m2x2"),
        ("f6f4x2", "e2m1x2 e2m3x2 e3m2x2"),
        ("f8f6x2", "e4m3x2 e5m2x2 e2m3x2 e3m2x2"),
        ("f8f6f4x2", "e4m3x2 e5m2x2 e2m1x2 e2m3x2 e3m2x2"),
        ("f8f6f4x4", "e4m3x4 e5m2x4 e2m1x4 e2m3x4 e3m2x4"),
        ("pack16", "u16 s16"),
        ("pack8", "u8 s8"),
        ("pack4", "u4 s4 u2 s2"),
    ],
    rows: &[
        // Integers to integers. Saturation is legal only where the destination does not hold every value of the source.
        row(ANY,        "cvt.integer.integer                       d~, a:2~$"),
        row(ANY,        "cvt.sat.u8.u16|u32|u64|signed             d~, a:2~$"),
        row(ANY,        "cvt.sat.u16.u32|u64|signed                d~, a:2~$"),
        row(ANY,        "cvt.sat.u32.u64|signed                    d~, a:2~$"),
        row(ANY,        "cvt.sat.u64.signed                        d~, a:2~$"),
        row(ANY,        "cvt.sat.s8.u8|u16|u32|u64|s16|s32|s64     d~, a:2~$"),
        row(ANY,        "cvt.sat.s16.u16|u32|u64|s32|s64           d~, a:2~$"),
        row(ANY,        "cvt.sat.s32.u32|u64|s64                   d~, a:2~$"),
        row(ANY,        "cvt.sat.s64.u64                           d~, a:2~$"),
        // Floats to integers.
        row(ANY,        "cvt.irnd{.sat}.integer.f16                d~, a:2~"),
        row(ANY,        "cvt.irnd{.ftz}{.sat}.integer.f32          d~, a:2~"),
        row(SM_13,      "cvt.irnd{.sat}.integer.f64                d~, a:2~"),
        row(SM_90_78,   "cvt.irnd.integer.bf16                     d~, a:2~"),
        // Integers to floats.
        row(ANY,        "cvt.frnd{.sat}.f16.integer                d~, a:2~"),
        row(ANY,        "cvt.frnd{.ftz}{.sat}.f32.integer          d~, a:2~"),
        row(SM_13,      "cvt.frnd{.sat}.f64.integer                d~, a:2~"),
        row(SM_90_78,   "cvt.frnd.bf16.integer                     d~, a:2~"),
        // Between f16, f32 and f64: narrowing rounds, widening must not.
        row(SM_13,      "cvt.frnd{.sat}.f16.f64                    d~, a:2~"),
        row(SM_13,      "cvt.frnd{.ftz}{.sat}.f32.f64              d~, a:2~"),
        row(ANY,        "cvt.frnd{.ftz}{.sat}.f16.f32              d~, a:2~"),
        row(SM_80_70,   "cvt.frnd2.relu.f16.f32                    d~, a:2~"),
        row(SM_75_81,   "cvt.frnd2.satfinite.f16.f32               d~, a:2~"),
        row(SM_80_81,   "cvt.frnd2.relu.satfinite.f16.f32          d~, a:2~"),
        row(FAMILY_107, "cvt.frnd2{.relu}{.satfinite}.pzo.f16.f32  d~, a:2~"),
        row(ANY,        "cvt{.ftz}{.sat}.f32.f16                   d~, a:2~"),
        row(SM_13,      "cvt{.ftz}{.sat}.f64.f32                   d~, a:2~"),
        row(SM_13,      "cvt{.sat}.f64.f16                         d~, a:2~"),
        // A float to itself: a copy, or a rounding to an integral value.
        row(ANY,        "cvt{.irnd}{.sat}.f16.f16                  d~, a:2~"),
        row(ANY,        "cvt{.irnd}{.ftz}{.sat}.f32.f32            d~, a:2~"),
        row(SM_13,      "cvt{.irnd}{.sat}.f64.f64                  d~, a:2~"),
        row(SM_90_78,   "cvt{.irnd}.bf16.bf16                      d~, a:2~"),
        // bf16. Widening takes a rounding, for nothing; .ftz brings .rm and .rp to .pzo, as measured.
        row(SM_80_70,   "cvt.frnd{.ftz}.bf16.f32                   d~, a:2~"),
        row(SM_80_70,   "cvt.frnd2.relu.bf16.f32                   d~, a:2~"),
        row(SM_80_81,   "cvt.frnd2{.relu}.satfinite.bf16.f32       d~, a:2~"),
        row(FAMILY_107, "cvt.frnd2{.relu}{.satfinite}.pzo.bf16.f32 d~, a:2~"),
        row(FAMILY_107, "cvt.frnd.ftz.pzo.bf16.f32                 d~, a:2~"),
        row(SM_90_78,   "cvt.frnd.bf16.f64                         d~, a:2~"),
        row(SM_90_78,   "cvt{.frnd}.bf16.f16                       d~, a:2~"),
        row(SM_90_78,   "cvt{.frnd}.f16.bf16                       d~, a:2~"),
        row(SM_80_71,   "cvt{.frnd}.f32.bf16                       d~, a:2~"),
        row(SM_90_78,   "cvt{.frnd}.ftz.f32.bf16                   d~, a:2~"),
        row(SM_90_78,   "cvt{.frnd}.f64.bf16                       d~, a:2~"),
        // tf32.
        row(SM_80_70,   "cvt.rna.tf32.f32                          d~, a:2~"),
        row(SM_80_81,   "cvt.rna.satfinite.tf32.f32                d~, a:2~"),
        row(SM_90_78,   "cvt.frnd2{.relu}.tf32.f32                 d~, a:2~"),
        row(SM_100_86,  "cvt.frnd2{.relu}.satfinite.tf32.f32       d~, a:2~"),
        row(FAMILY_107, "cvt.frnd2{.relu}{.satfinite}.pzo.tf32.f32 d~, a:2~"),
        // Two f32 into one register.
        row(SM_80_70,   "cvt.frnd2{.relu}.fp16x2.f32                    d~, a:2~, b:2~"),
        row(SM_80_81,   "cvt.frnd2{.relu}.satfinite.fp16x2.f32          d~, a:2~, b:2~"),
        row(FAMILY_107, "cvt.frnd2{.relu}{.satfinite}.pzo.fp16x2.f32    d~, a:2~, b:2~"),
        row(STOCHASTIC, "cvt.rs{.relu}{.satfinite}.fp16x2.f32           d~, a:2~, b:2~, %rbits:b32="),
        // Down to FP8, FP6 and FP4.
        row(FP8,        "cvt.rn{.relu}.satfinite.f8x2.f32               d~, a:2~, b:2~"),
        row(FP8,        "cvt.rn{.relu}.satfinite.f8x2.f16x2             d~, a:2~"),
        row(FAMILY_91,  "cvt.rn{.relu}.satfinite.f8x2.bf16x2            d~, a:2~"),
        row(FAMILY,     "cvt.rn{.relu}.satfinite.f6f4x2.f32             d~, a:2~, b:2~"),
        row(FAMILY_91,  "cvt.rn{.relu}.satfinite.e2m1x2.f16x2           d~, a:2~"),
        row(FAMILY_91,  "cvt.rn{.relu}.satfinite.e2m1x2.bf16x2          d~, a:2#"),
        row(FAMILY_91,  "cvt.rn{.relu}.satfinite.f6x2.fp16x2            d~, a:2~"),
        row(FAMILY_107, "cvt.rz{.relu}.satfinite.f8f6f4x2.f32           d~, a:2~, b:2~"),
        row(FAMILY_107, "cvt.rz{.relu}.satfinite.f8f6f4x2.f16x2         d~, a:2~"),
        row(FAMILY_107, "cvt.rz{.relu}.satfinite.f8f6x2.bf16x2          d~, a:2~"),
        row(FAMILY_107, "cvt.rz{.relu}.satfinite.e2m1x2.bf16x2          d~, a:2#"),
        row(FAMILY_107, "cvt.frnd2{.relu}.satfinite.pzo.f8f6f4x2.f32    d~, a:2~, b:2~"),
        row(FAMILY_107, "cvt.frnd2{.relu}.satfinite.pzo.f8f6f4x2.f16x2  d~, a:2~"),
        row(FAMILY_107, "cvt.frnd2{.relu}.satfinite.pzo.f8f6x2.bf16x2   d~, a:2~"),
        row(FAMILY_107, "cvt.frnd2{.relu}.satfinite.pzo.e2m1x2.bf16x2   d~, a:2#"),
        row(FAMILY_107, "cvt.frnd2{.relu}.satfinite{.pzo}.scaled::n1::ue8m0.f8f6f4x2.f32    d~, a:2~, b:2~, %scale-factor:b8="),
        row(FAMILY_107, "cvt.frnd2{.relu}.satfinite{.pzo}.scaled::n1::ue8m0.f8f6f4x2.f16x2  d~, a:2~, %scale-factor:b8="),
        row(FAMILY_107, "cvt.frnd2{.relu}.satfinite{.pzo}.scaled::n1::ue8m0.f8f6f4x2.bf16x2 d~, a:2#, %scale-factor:b8="),
        row(STOCHASTIC, "cvt.rs{.relu}.satfinite.f8f6f4x4.f32           d~, a*4:2~, %rbits:b32="),
        // Up from FP8, FP6 and FP4.
        row(FP8,        "cvt.rn{.relu}.f16x2.f8x2                       d~, a:2~"),
        row(FAMILY,     "cvt.rn{.relu}.f16x2.f6f4x2                     d~, a:2~"),
        row(FAMILY_92,  "cvt.rn{.relu}{.satfinite}{.scaled::n2::ue8m0}.bf16x2.f8f6f4x2 d~, a:2~{, %scale-factor:b16=?scaled::n2::ue8m0}"),
        // ue8m0 has neither sign nor fraction: no .relu, and only directed roundings.
        row(FAMILY,     "cvt.frnd3{.satfinite}.ue8m0x2.f32              d~, a:2~, b:2~"),
        row(FAMILY,     "cvt.frnd3{.satfinite}.ue8m0x2.bf16x2           d~, a:2~"),
        row(FAMILY,     "cvt.rn.bf16x2.ue8m0x2                          d~, a:2~"),
        // ue5m3.
        row(FAMILY_107, "cvt.frnd4{.satfinite}.ue5m3x2.f32                       d~, a:2~, b:2~"),
        row(FAMILY_107, "cvt.frnd4{.satfinite}.ue5m3x2.fp16x2                    d~, a:2~"),
        row(FAMILY_107, "cvt.frnd2{.satfinite}.scaled::n1::ue8m0.ue5m3x2.f32     d~, a:2~, b:2~, %scale-factor:b8="),
        row(FAMILY_107, "cvt.frnd2{.satfinite}.scaled::n1::ue8m0.ue5m3x2.f16x2   d~, a:2~, %scale-factor:b8="),
        row(FAMILY_107, "cvt.frnd2{.satfinite}.scaled::n1::ue8m0.ue5m3x2.bf16x2  d~, a:2#, %scale-factor:b8="),
        row(FAMILY_107, "cvt.rn.f16x2.ue5m3x2                                    d~, a:2~"),
        row(FAMILY_107, "cvt.rn{.satfinite}{.scaled::n2::ue8m0}.bf16x2.ue5m3x2   d~, a:2~{, %scale-factor:b16=?scaled::n2::ue8m0}"),
        // s2f6.
        row(FIXED,      "cvt.rn{.relu}.satfinite{.scaled::n2::ue8m0}.s2f6x2.f32      d#, a:2~, b:2~{, %scale-factor:b16=?scaled::n2::ue8m0}"),
        row(FIXED,      "cvt.rn{.relu}.satfinite{.scaled::n2::ue8m0}.s2f6x2.bf16x2   d#, a:2~{, %scale-factor:b16=?scaled::n2::ue8m0}"),
        row(FIXED_RZ,   "cvt.rz{.relu}.satfinite{.scaled::n2::ue8m0}.s2f6x2.f32      d#, a:2~, b:2~{, %scale-factor:b16=?scaled::n2::ue8m0}"),
        row(FIXED_RZ,   "cvt.rz{.relu}.satfinite{.scaled::n2::ue8m0}.s2f6x2.bf16x2   d#, a:2~{, %scale-factor:b16=?scaled::n2::ue8m0}"),
        row(FIXED,      "cvt.rn{.relu}{.satfinite}{.scaled::n2::ue8m0}.bf16x2.s2f6x2 d~, a:2~{, %scale-factor:b16=?scaled::n2::ue8m0}"),
        // Two integers into fields of one register. The assembler takes registers of integers, wider ones too.
        row(SM_72_65,   "cvt.pack.sat.pack16.s32     d:s32~, a:s32~, b:s32~"),
        row(SM_72_65,   "cvt.pack.sat.pack8.s32.b32  d:s32~, a:s32~, b:s32~, c:b32~"),
        row(SM_75_65,   "cvt.pack.sat.pack4.s32.b32  d:s32~, a:s32~, b:s32~, c:b32~"),
    ],
};
