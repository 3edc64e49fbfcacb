//! Surfaces: PTX ISA section 9.7.11.

use super::gates::*;
use crate::row::{Section, row};

#[rustfmt::skip]
pub(super) const SECTION: Section = Section {
    sets: &[
        ("geom", "1d 2d 3d a1d a2d 4d 5d"),
        ("bytes", "b8 b16 b32"),
        ("clamp", "trap clamp zero"),
        ("query", "width height depth channel_data_type channel_order array_size memory_layout"),
    ],
    rows: &[
        row(ANY_15,   "suld.b.geom{.ca|cg|cs|cv}.v2|v4.bytes.clamp d*v:1~_, [surf c:s32]"),
        row(ANY_15,   "suld.b.geom{.ca|cg|cs|cv}.v2.b64.clamp      d*v:1~_, [surf c:s32]"),
        row(ANY_15,   "suld.b.geom{.ca|cg|cs|cv}.bytes|b64.clamp   d*1:1~_, [surf c:s32]"),
        row(ANY_15,   "sust.b.geom{.wb|cg|cs|wt}.v2|v4.bytes.clamp [surf c:s32], b*v:1~"),
        row(ANY_15,   "sust.b.geom{.wb|cg|cs|wt}.v2.b64.clamp      [surf c:s32], b*v:1~"),
        row(ANY_15,   "sust.b.geom{.wb|cg|cs|wt}.bytes|b64.clamp   [surf c:s32], b*1:1~"),
        row(SM_20_20, "sust.p.geom.v2|v4.b32.clamp                 [surf c:s32], b*v:1~"),
        row(SM_20_20, "sust.p.geom.b32.clamp                       [surf c:s32], b*1:1~"),
        // The assembler takes vectors of anything where none is said.
        row(ANY_15,   "suld.b.geom{.ca|cg|cs|cv}.bytes|b64.clamp   d*2/4:b8~_, [surf c:s32]"),
        row(ANY_15,   "sust.b.geom{.wb|cg|cs|wt}.bytes|b64.clamp   [surf c:s32], b*2/4:b8~"),
        row(SM_20_20, "sust.p.geom.b32.clamp                       [surf c:s32], b*2/4:b8~"),
        row(SM_20_20, "sured.b.add.1d|2d|3d|4d|5d.u32|s32|u64.clamp        [surf c:s32], b:1~"),
        row(SM_20_20, "sured.b.min|max.1d|2d|3d|4d|5d.u32|s32.clamp        [surf c:s32], b:1~"),
        row(SM_50_81, "sured.b.min|max.1d|2d|3d|4d|5d.u64|s64.clamp        [surf c:s32], b:1~"),
        row(SM_20_20, "sured.b.and|or.1d|2d|3d|4d|5d.b32.clamp             [surf c:s32], b:1~"),
        row(SM_20_20, "sured.p.add|min|max|and|or.1d|2d|3d|4d|5d.b32.clamp [surf c:s32], b:1~"),
        row(SM_50_81, "sured.p.min|max.1d|2d|3d|4d|5d.b64.clamp            [surf c:s32], b:1~"),
        row(ANY_15,   "suq.query.b32                                 d, [surf]"),
    ],
};
