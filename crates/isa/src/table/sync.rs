//! Barriers, fences, votes and other communication within a CTA or cluster: PTX ISA section 9.7.13.

use super::gates::*;
use crate::Version;
use crate::instruction::{Section, old, row};

#[rustfmt::skip]
pub(super) const SECTION: Section = Section {
    sets: &[("mode", "all any uni")],
    rows: &[
        row(ANY,      "bar.sync                           a:u32{, b:u32}"),
        row(SM_20_20, "bar.arrive                         a:u32, b:u32"),
        row(SM_20_20, "bar.red.popc.u32                   d:u32, a:u32{, b:u32}, c:pred"),
        row(SM_20_20, "bar.red.and|or.pred                p, a:u32{, b:u32}, c:pred"),
        row(SM_20_78, "bar.cta.sync                       a:u32{, b:u32}"),
        row(SM_20_78, "bar.cta.arrive                     a:u32, b:u32"),
        row(SM_20_78, "bar.cta.red.popc.u32               d:u32, a:u32{, b:u32}, c:pred"),
        row(SM_20_78, "bar.cta.red.and|or.pred            p, a:u32{, b:u32}, c:pred"),
        row(SM_30_60, "barrier.sync{.aligned}             a:u32{, b:u32}"),
        row(SM_30_60, "barrier.arrive{.aligned}           a:u32, b:u32"),
        row(SM_30_60, "barrier.red.popc{.aligned}.u32     d:u32, a:u32{, b:u32}, c:pred"),
        row(SM_30_60, "barrier.red.and|or{.aligned}.pred  p, a:u32{, b:u32}, c:pred"),
        row(SM_30_78, "barrier.cta.sync{.aligned}         a:u32{, b:u32}"),
        row(SM_30_78, "barrier.cta.arrive{.aligned}       a:u32, b:u32"),
        row(SM_30_78, "barrier.cta.red.popc{.aligned}.u32 d:u32, a:u32{, b:u32}, c:pred"),
        row(SM_30_78, "barrier.cta.red.and|or{.aligned}.pred p, a:u32{, b:u32}, c:pred"),
        row(SM_30_60, "bar.warp.sync                      mask:u32"),
        row(SM_90_78, "barrier.cluster.arrive{.aligned}"),
        row(SM_90_80, "barrier.cluster.arrive.release|relaxed{.aligned}"),
        row(SM_90_78, "barrier.cluster.wait{.aligned}"),
        row(SM_90_80, "barrier.cluster.wait.acquire{.aligned}"),

        row(ANY,      "membar.cta|gl"),
        row(SM_20_20, "membar.sys"),
        row(SM_60_75, "membar.proxy.alias"),
        row(SM_70_60, "fence{.sc|acq_rel}.scope"),
        row(SM_90_86, "fence.acquire|release.scope"),
        row(SM_90_86, "fence.acquire.sync_restrict::shared::cluster.cluster"),
        row(SM_90_86, "fence.release.sync_restrict::shared::cta.cluster"),
        row(SM_90_80, "fence.mbarrier_init.release.cluster"),
        row(SM_70_75, "fence.proxy.alias"),
        row(SM_90_80, "fence.proxy.async{.global|shared::cta|shared::cluster}"),
        row(SM_100_93, "fence.proxy.generic::fabric|fabric::generic|fabric::fabric.alias.acquire|release.sys"),
        row(SM_90_83, "fence.proxy.tensormap::generic.release.scope"),
        row(SM_90_83, "fence.proxy.tensormap::generic.acquire.scope [a], #size:128..128"),
        row(SM_90_86, "fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster"),
        row(SM_90_86, "fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster"),

        old(Version::new(6, 4), SM_11_12, "vote.mode.pred  p:pred, a:pred"),
        old(Version::new(6, 4), SM_20_20, "vote.ballot.b32 d:b32, a:pred"),
        row(SM_30_60, "vote.sync.mode.pred                p:pred, a:pred, mask:u32"),
        row(SM_30_60, "vote.sync.ballot.b32               d, a:pred, mask:b32"),
        row(SM_70_60, "match.any.sync.b32|b64             d:u32, a, mask:u32"),
        row(SM_70_60, "match.all.sync.b32|b64             d:u32{|p:pred_}, a, mask:u32"),
        row(SM_30_62, "activemask.b32                     d"),
        row(SM_80_70, "redux.sync.add|min|max.u32|s32     d:u32, a:u32, mask:u32"),
        row(SM_80_70, "redux.sync.and|or|xor.b32          d:u32, a:u32, mask:u32"),
        row(REDUX_F32, "redux.sync.min|max{.abs}{.NaN}.f32 d:f32, a:f32, mask:u32"),
        row(SM_90_78, "griddepcontrol.launch_dependents|wait"),
        row(SM_90_80, "elect.sync                         d:u32_|p:pred, mask:b32"),
    ],
};
