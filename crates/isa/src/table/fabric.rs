//! Copies to and from logical endpoints: PTX ISA section 9.7.11 ("Fabric Instructions").

use super::gates::*;
use crate::row::{Section, row};

#[rustfmt::skip]
pub(super) const SECTION: Section = Section {
    sets: &[
        ("bitop", "and or xor"),
        ("words", "u32 s32 u64 s64"),
    ],
    rows: &[
        row(SM_100_93, "fabric.try_get.async.shared::cta.mbarrier::complete_tx::bytes.mbarrier::report::fabric{.relaxed}{.sys}.b128 [dst], [fabric], size:u32, [bar]"),
        row(SM_100_93, "fabric.try_put.async{.multimem}.shared::cta.mbarrier::complete_tx::16B.mbarrier::report::fabric{.cp_mask}{.relaxed}{.sys}.b128 [fabric], [src], size:u32, [bar]{, bytemask:u16?cp_mask}"),
        row(SM_100_93, "fabric.try_put.async{.multimem}.shared::cta.mbarrier::complete_tx::16B.mbarrier::report::fabric.counted::bytes{.relaxed}{.sys}.b128 [fabric::counted], [src], size:u32, [bar]"),
        row(SM_100_93, "fabric.try_red.async{.multimem}.shared::cta.mbarrier::complete_tx::16B.mbarrier::report::fabric{.relaxed}{.sys}.bitop.b32|b64 [fabric], [src], size:u32, [bar]"),
        row(SM_100_93, "fabric.try_red.async{.multimem}.shared::cta.mbarrier::complete_tx::16B.mbarrier::report::fabric{.relaxed}{.sys}.min|max.words|f16|bf16 [fabric], [src], size:u32, [bar]"),
        row(SM_100_93, "fabric.try_red.async{.multimem}.shared::cta.mbarrier::complete_tx::16B.mbarrier::report::fabric{.relaxed}{.sys}.add.u32|u64|f16|bf16|f32|f64 [fabric], [src], size:u32, [bar]"),
        row(SM_100_93, "fabric.try_red.async{.multimem}.shared::cta.mbarrier::complete_tx::16B.mbarrier::report::fabric.counted::bytes{.relaxed}{.sys}.bitop.b32|b64 [fabric::counted], [src], size:u32, [bar]"),
        row(SM_100_93, "fabric.try_red.async{.multimem}.shared::cta.mbarrier::complete_tx::16B.mbarrier::report::fabric.counted::bytes{.relaxed}{.sys}.min|max.words|f16|bf16 [fabric::counted], [src], size:u32, [bar]"),
        row(SM_100_93, "fabric.try_red.async{.multimem}.shared::cta.mbarrier::complete_tx::16B.mbarrier::report::fabric.counted::bytes{.relaxed}{.sys}.add.u32|u64|f16|bf16|f32|f64 [fabric::counted], [src], size:u32, [bar]"),
        row(SM_100_93, "fabric.try_pullred.async.multimem.shared::cta.mbarrier::complete_tx::bytes.mbarrier::report::fabric{.relaxed}{.sys}.bitop.b32|b64.sync [dst], [fabric], size:u32, [bar], membermask:u32"),
        row(SM_100_93, "fabric.try_pullred.async.multimem.shared::cta.mbarrier::complete_tx::bytes.mbarrier::report::fabric{.relaxed}{.sys}.min|max.words|f16|bf16.sync [dst], [fabric], size:u32, [bar], membermask:u32"),
        row(SM_100_93, "fabric.try_pullred.async.multimem.shared::cta.mbarrier::complete_tx::bytes.mbarrier::report::fabric{.relaxed}{.sys}.add.u32|u64|f16|bf16|f32.sync [dst], [fabric], size:u32, [bar], membermask:u32"),
        row(FABRIC_F8, "fabric.try_pullred.async.multimem.shared::cta.mbarrier::complete_tx::bytes.mbarrier::report::fabric{.relaxed}{.sys}.min|max.e4m3|e5m2.sync [dst], [fabric], size:u32, [bar], membermask:u32"),
        row(FABRIC_F8, "fabric.try_pullred.async.multimem.shared::cta.mbarrier::complete_tx::bytes.mbarrier::report::fabric{.relaxed}{.sys}.add.acc::f16.e4m3|e5m2.sync [dst], [fabric], size:u32, [bar], membermask:u32"),
        row(FABRIC_F8, "fabric.try_pullred.async.multimem.shared::cta.mbarrier::complete_tx::bytes.mbarrier::report::fabric{.relaxed}{.sys}.add.acc::f32.f16|bf16|e4m3|e5m2.sync [dst], [fabric], size:u32, [bar], membermask:u32"),
        row(SM_100_93, "fabric.submit{.op_restrict::fetching}"),
        row(SM_100_93, "fabric.wait.sync_restrict::reads"),
    ],
};
