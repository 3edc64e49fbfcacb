//! Tensor copies and tensor maps: PTX ISA sections 9.7.9.25.5, 9.7.9.28 and 9.7.13.16.

use super::gates::*;
use crate::row::{Section, row};

#[rustfmt::skip]
pub(super) const SECTION: Section = Section {
    sets: &[
        ("dim", "1d 2d 3d 4d 5d"),
        ("report", "mbarrier::report::disabled mbarrier::report::validity::per_16bytes::80000000 mbarrier::report::validity::per_16bytes::8000 mbarrier::report::validity::per_16bytes::80 mbarrier::report::validity::per_16bytes::8 mbarrier::report::validity::per_element::ff"),
    ],
    rows: &[
        row(SM_90_86, "cp.async.bulk.tensor.dim.shared::cta.global{.tile}.mbarrier::complete_tx::bytes{.report}{.cta_group::1|cta_group::2}{.L2::cache_hint} [dst], [tensor], [mbar:shared]{, cache-policy:u64?L2::cache_hint}"),
        row(SM_100_86, "cp.async.bulk.tensor.2d.shared::cta.global.tile::gather4.mbarrier::complete_tx::bytes{.report}{.cta_group::1|cta_group::2}{.L2::cache_hint} [dst], [tensor], [mbar:shared]{, cache-policy:u64?L2::cache_hint}"),
        row(SM_90_86, "cp.async.bulk.tensor.3d|4d|5d.shared::cta.global.im2col.mbarrier::complete_tx::bytes{.report}{.cta_group::1|cta_group::2}{.L2::cache_hint} [dst], [tensor], [mbar:shared], im2colInfo*i:u16{, cache-policy:u64?L2::cache_hint}"),
        row(SM_100_86, "cp.async.bulk.tensor.3d|4d|5d.shared::cta.global.im2col::w|im2col::w::128.mbarrier::complete_tx::bytes{.report}{.cta_group::1|cta_group::2}{.L2::cache_hint} [dst], [tensor], [mbar:shared], im2colInfo*i:u16{, cache-policy:u64?L2::cache_hint}"),
        row(SM_90_80, "cp.async.bulk.tensor.dim.shared::cluster.global{.tile}.mbarrier::complete_tx::bytes{.report}{.cta_group::1|cta_group::2}{.L2::cache_hint} [dst], [tensor], [mbar:shared]{, cache-policy:u64?L2::cache_hint}"),
        row(SM_90_80, "cp.async.bulk.tensor.dim.shared::cluster.global{.tile}.mbarrier::complete_tx::bytes{.report}.multicast::cluster|multicast::cluster::16b{.cta_group::1|cta_group::2}{.L2::cache_hint} [dst], [tensor], [mbar:shared], ctaMask:u16{, cache-policy:u64?L2::cache_hint}"),
        row(SM_90_80, "cp.async.bulk.tensor.dim.shared::cluster.global{.tile}.mbarrier::complete_tx::bytes{.report}.multicast::cluster::32b{.cta_group::1|cta_group::2}{.L2::cache_hint} [dst], [tensor], [mbar:shared], ctaMask:u32{, cache-policy:u64?L2::cache_hint}"),
        row(SM_100_86, "cp.async.bulk.tensor.2d.shared::cluster.global.tile::gather4.mbarrier::complete_tx::bytes{.report}{.cta_group::1|cta_group::2}{.L2::cache_hint} [dst], [tensor], [mbar:shared]{, cache-policy:u64?L2::cache_hint}"),
        row(SM_100_86, "cp.async.bulk.tensor.2d.shared::cluster.global.tile::gather4.mbarrier::complete_tx::bytes{.report}.multicast::cluster|multicast::cluster::16b{.cta_group::1|cta_group::2}{.L2::cache_hint} [dst], [tensor], [mbar:shared], ctaMask:u16{, cache-policy:u64?L2::cache_hint}"),
        row(SM_100_86, "cp.async.bulk.tensor.2d.shared::cluster.global.tile::gather4.mbarrier::complete_tx::bytes{.report}.multicast::cluster::32b{.cta_group::1|cta_group::2}{.L2::cache_hint} [dst], [tensor], [mbar:shared], ctaMask:u32{, cache-policy:u64?L2::cache_hint}"),
        row(SM_90_80, "cp.async.bulk.tensor.3d|4d|5d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes{.report}{.cta_group::1|cta_group::2}{.L2::cache_hint} [dst], [tensor], [mbar:shared], im2colInfo*i:u16{, cache-policy:u64?L2::cache_hint}"),
        row(SM_90_80, "cp.async.bulk.tensor.3d|4d|5d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes{.report}.multicast::cluster|multicast::cluster::16b{.cta_group::1|cta_group::2}{.L2::cache_hint} [dst], [tensor], [mbar:shared], im2colInfo*i:u16, ctaMask:u16{, cache-policy:u64?L2::cache_hint}"),
        row(SM_90_80, "cp.async.bulk.tensor.3d|4d|5d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes{.report}.multicast::cluster::32b{.cta_group::1|cta_group::2}{.L2::cache_hint} [dst], [tensor], [mbar:shared], im2colInfo*i:u16, ctaMask:u32{, cache-policy:u64?L2::cache_hint}"),
        row(SM_100_86, "cp.async.bulk.tensor.3d|4d|5d.shared::cluster.global.im2col::w|im2col::w::128.mbarrier::complete_tx::bytes{.report}{.cta_group::1|cta_group::2}{.L2::cache_hint} [dst], [tensor], [mbar:shared], im2colInfo*i:u16{, cache-policy:u64?L2::cache_hint}"),
        row(SM_100_86, "cp.async.bulk.tensor.3d|4d|5d.shared::cluster.global.im2col::w|im2col::w::128.mbarrier::complete_tx::bytes{.report}.multicast::cluster|multicast::cluster::16b{.cta_group::1|cta_group::2}{.L2::cache_hint} [dst], [tensor], [mbar:shared], im2colInfo*i:u16, ctaMask:u16{, cache-policy:u64?L2::cache_hint}"),
        row(SM_100_86, "cp.async.bulk.tensor.3d|4d|5d.shared::cluster.global.im2col::w|im2col::w::128.mbarrier::complete_tx::bytes{.report}.multicast::cluster::32b{.cta_group::1|cta_group::2}{.L2::cache_hint} [dst], [tensor], [mbar:shared], im2colInfo*i:u16, ctaMask:u32{, cache-policy:u64?L2::cache_hint}"),
        row(SM_90_80, "cp.async.bulk.tensor.dim.global.shared::cta{.tile}.bulk_group{.L2::cache_hint} [tensor], [src:2]{, cache-policy:u64?L2::cache_hint}"),
        row(SM_100_86, "cp.async.bulk.tensor.2d.global.shared::cta.tile::scatter4.bulk_group{.L2::cache_hint} [tensor], [src:2]{, cache-policy:u64?L2::cache_hint}"),
        row(SM_90_80, "cp.async.bulk.tensor.3d|4d|5d.global.shared::cta.im2col_no_offs.bulk_group{.L2::cache_hint} [tensor], [src:2]{, cache-policy:u64?L2::cache_hint}"),
        row(FAMILY_107, "cp.async.bulk.tensor.3d|4d|5d.global.shared::cta.im2col_no_offs::w.bulk_group{.L2::cache_hint} [tensor], [src:2]{, cache-policy:u64?L2::cache_hint}"),
        row(SM_90_80, "cp.reduce.async.bulk.tensor.dim.global.shared::cta.add|min|max|inc|dec|and|or|xor{.tile}.bulk_group{.L2::cache_hint} [tensor], [src:2]{, cache-policy:u64?L2::cache_hint}"),
        row(SM_90_80, "cp.reduce.async.bulk.tensor.3d|4d|5d.global.shared::cta.add|min|max|inc|dec|and|or|xor.im2col_no_offs.bulk_group{.L2::cache_hint} [tensor], [src:2]{, cache-policy:u64?L2::cache_hint}"),
        row(SM_90_80, "cp.async.bulk.prefetch.tensor.dim.L2.global{.tile}{.L2::cache_hint} [tensor]{, cache-policy:u64?L2::cache_hint}"),
        row(SM_100_86, "cp.async.bulk.prefetch.tensor.2d.L2.global.tile::gather4{.L2::cache_hint} [tensor]{, cache-policy:u64?L2::cache_hint}"),
        row(SM_90_80, "cp.async.bulk.prefetch.tensor.3d|4d|5d.L2.global.im2col{.L2::cache_hint} [tensor], im2colInfo*i:u16{, cache-policy:u64?L2::cache_hint}"),
        row(SM_100_86, "cp.async.bulk.prefetch.tensor.3d|4d|5d.L2.global.im2col::w|im2col::w::128{.L2::cache_hint} [tensor], im2colInfo*i:u16{, cache-policy:u64?L2::cache_hint}"),
        row(FAMILY_107, "cp.reduce.async.bulk.tensor.3d|4d|5d.global.shared::cta.add|min|max|inc|dec|and|or|xor.im2col_no_offs::w.bulk_group{.L2::cache_hint} [tensor], [src:2]{, cache-policy:u64?L2::cache_hint}"),
        row(FAMILY_107, "cp.async.bulk.prefetch.tensor.dim.L2.global{.tile}.L2::evict_last [tensor]"),
        row(FAMILY_107, "cp.async.bulk.prefetch.tensor.2d.L2.global.tile::gather4.L2::evict_last [tensor]"),
        row(FAMILY_107, "cp.async.bulk.prefetch.tensor.3d|4d|5d.L2.global.im2col|im2col::w|im2col::w::128.L2::evict_last [tensor], im2colInfo*i:u16"),

        row(TENSORMAP, "tensormap.replace.tile.global_address{.global|shared::cta}.b1024.b64 [a], b"),
        row(TENSORMAP, "tensormap.replace.tile.rank{.global|shared::cta}.b1024.b32 [a], b"),
        row(TENSORMAP, "tensormap.replace.tile.box_dim|global_dim|element_stride{.global|shared::cta}.b1024.b32 [a], #ord, b"),
        row(TENSORMAP, "tensormap.replace.tile.global_stride{.global|shared::cta}.b1024.b64 [a], #ord, b"),
        row(TENSORMAP, "tensormap.replace.tile.elemtype|interleave_layout|swizzle_mode|fill_mode{.global|shared::cta}.b1024.b32 [a], #b"),
        row(MULTICAST_ALL, "tensormap.replace.tile.swizzle_atomicity{.global|shared::cta}.b1024.b32 [a], #b"),
        row(SM_90_83, "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.scope.sync.aligned [dst], [src:2], #size:128..128"),
    ],
};
