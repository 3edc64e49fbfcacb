//! Asynchronous warpgroup-level matrix instructions: PTX ISA section 9.7.15.

use super::gates::*;
use crate::row::{Section, row};

#[rustfmt::skip]
pub(super) const SECTION: Section = Section {
    sets: &[
        ("f8", "e4m3 e5m2"),
        ("k8", "m64n8k8 m64n16k8 m64n24k8 m64n32k8 m64n40k8 m64n48k8 m64n56k8 m64n64k8 m64n72k8 m64n80k8 m64n88k8 m64n96k8 m64n104k8 m64n112k8 m64n120k8 m64n128k8 m64n136k8 m64n144k8 m64n152k8 m64n160k8 m64n168k8 m64n176k8 m64n184k8 m64n192k8 m64n200k8 m64n208k8 m64n216k8 m64n224k8 m64n232k8 m64n240k8 m64n248k8 m64n256k8"),
        ("k16", "m64n8k16 m64n16k16 m64n24k16 m64n32k16 m64n40k16 m64n48k16 m64n56k16 m64n64k16 m64n72k16 m64n80k16 m64n88k16 m64n96k16 m64n104k16 m64n112k16 m64n120k16 m64n128k16 m64n136k16 m64n144k16 m64n152k16 m64n160k16 m64n168k16 m64n176k16 m64n184k16 m64n192k16 m64n200k16 m64n208k16 m64n216k16 m64n224k16 m64n232k16 m64n240k16 m64n248k16 m64n256k16"),
        ("k32", "m64n8k32 m64n16k32 m64n24k32 m64n32k32 m64n40k32 m64n48k32 m64n56k32 m64n64k32 m64n72k32 m64n80k32 m64n88k32 m64n96k32 m64n104k32 m64n112k32 m64n120k32 m64n128k32 m64n136k32 m64n144k32 m64n152k32 m64n160k32 m64n168k32 m64n176k32 m64n184k32 m64n192k32 m64n200k32 m64n208k32 m64n216k32 m64n224k32 m64n232k32 m64n240k32 m64n248k32 m64n256k32"),
        ("k64", "m64n8k64 m64n16k64 m64n24k64 m64n32k64 m64n40k64 m64n48k64 m64n56k64 m64n64k64 m64n72k64 m64n80k64 m64n88k64 m64n96k64 m64n104k64 m64n112k64 m64n120k64 m64n128k64 m64n136k64 m64n144k64 m64n152k64 m64n160k64 m64n168k64 m64n176k64 m64n184k64 m64n192k64 m64n200k64 m64n208k64 m64n216k64 m64n224k64 m64n232k64 m64n240k64 m64n248k64 m64n256k64"),
        ("ik32", "m64n8k32 m64n16k32 m64n24k32 m64n32k32 m64n48k32 m64n64k32 m64n80k32 m64n96k32 m64n112k32 m64n128k32 m64n144k32 m64n160k32 m64n176k32 m64n192k32 m64n208k32 m64n224k32 m64n240k32 m64n256k32"),
        ("ik64", "m64n8k64 m64n16k64 m64n24k64 m64n32k64 m64n48k64 m64n64k64 m64n80k64 m64n96k64 m64n112k64 m64n128k64 m64n144k64 m64n160k64 m64n176k64 m64n192k64 m64n208k64 m64n224k64 m64n240k64 m64n256k64"),
        ("ik256", "m64n8k256 m64n16k256 m64n24k256 m64n32k256 m64n48k256 m64n64k256 m64n80k256 m64n96k256 m64n112k256 m64n128k256 m64n144k256 m64n160k256 m64n176k256 m64n192k256 m64n208k256 m64n224k256 m64n240k256 m64n256k256"),
    ],
    rows: &[
        row(SM_90A, "wgmma.fence.sync{.aligned}"),
        row(SM_90A, "wgmma.commit_group.sync{.aligned}"),
        row(SM_90A, "wgmma.wait_group.sync{.aligned} #n"),

        row(SM_90A, "wgmma.mma_async.sync{.aligned}.k16.f16.f16.f16 +d*n4:f16x2, a-desc:u64, b-desc:u64, scale-d:pred, #imm-scale-a, #imm-scale-b, #imm-trans-a, #imm-trans-b"),
        row(SM_90A, "wgmma.mma_async.sync{.aligned}.k16.f16.f16.f16 +d*n4:f16x2, %a*4:f16x2, b-desc:u64, scale-d:pred, #imm-scale-a, #imm-scale-b, #imm-trans-b"),
        row(SM_90A, "wgmma.mma_async.sync{.aligned}.k16.f32.f16.f16 +d*n2:f32, a-desc:u64, b-desc:u64, scale-d:pred, #imm-scale-a, #imm-scale-b, #imm-trans-a, #imm-trans-b"),
        row(SM_90A, "wgmma.mma_async.sync{.aligned}.k16.f32.f16.f16 +d*n2:f32, %a*4:f16x2, b-desc:u64, scale-d:pred, #imm-scale-a, #imm-scale-b, #imm-trans-b"),
        row(SM_90A, "wgmma.mma_async.sync{.aligned}.k16.f32.bf16.bf16 +d*n2:f32, a-desc:u64, b-desc:u64, scale-d:pred, #imm-scale-a, #imm-scale-b, #imm-trans-a, #imm-trans-b"),
        row(SM_90A, "wgmma.mma_async.sync{.aligned}.k16.f32.bf16.bf16 +d*n2:f32, %a*4:f16x2, b-desc:u64, scale-d:pred, #imm-scale-a, #imm-scale-b, #imm-trans-b"),
        row(SM_90A, "wgmma.mma_async.sync{.aligned}.k8.f32.tf32.tf32 +d*n2:f32, a-desc:u64, b-desc:u64, scale-d:pred, #imm-scale-a, #imm-scale-b"),
        row(SM_90A, "wgmma.mma_async.sync{.aligned}.k8.f32.tf32.tf32 +d*n2:f32, %a*4:f16x2, b-desc:u64, scale-d:pred, #imm-scale-a, #imm-scale-b"),
        row(SM_90A, "wgmma.mma_async.sync{.aligned}.k32.f16.f8.f8 +d*n4:f16x2, a-desc:u64, b-desc:u64, scale-d:pred, #imm-scale-a, #imm-scale-b"),
        row(SM_90A, "wgmma.mma_async.sync{.aligned}.k32.f16.f8.f8 +d*n4:f16x2, %a*4:f16x2, b-desc:u64, scale-d:pred, #imm-scale-a, #imm-scale-b"),
        row(SM_90A, "wgmma.mma_async.sync{.aligned}.k32.f32.f8.f8 +d*n2:f32, a-desc:u64, b-desc:u64, scale-d:pred, #imm-scale-a, #imm-scale-b"),
        row(SM_90A, "wgmma.mma_async.sync{.aligned}.k32.f32.f8.f8 +d*n2:f32, %a*4:f16x2, b-desc:u64, scale-d:pred, #imm-scale-a, #imm-scale-b"),
        row(SM_90A, "wgmma.mma_async.sync{.aligned}.ik32{.satfinite}.s32.u8|s8.u8|s8 +d*n2:s32, a-desc:u64, b-desc:u64, scale-d:pred"),
        row(SM_90A, "wgmma.mma_async.sync{.aligned}.ik32{.satfinite}.s32.u8|s8.u8|s8 +d*n2:s32, %a*4:b32, b-desc:u64, scale-d:pred"),
        row(SM_90A, "wgmma.mma_async.sync{.aligned}.ik256.s32.b1.b1.and.popc +d*n2:s32, a-desc:u64, b-desc:u64, scale-d:pred"),
        row(SM_90A, "wgmma.mma_async.sync{.aligned}.ik256.s32.b1.b1.and.popc +d*n2:s32, %a*4:b32, b-desc:u64, scale-d:pred"),
        row(SM_90A_82, "wgmma.mma_async.sp.sync{.aligned}.k32.f16.f16.f16 +d*n4:f16x2, a-desc:u64, b-desc:u64, sp-meta:b32, #sp-sel:0..1, scale-d:pred, #imm-scale-a, #imm-scale-b, #imm-trans-a, #imm-trans-b"),
        row(SM_90A_82, "wgmma.mma_async.sp.sync{.aligned}.k32.f16.f16.f16 +d*n4:f16x2, %a*4:f16x2, b-desc:u64, sp-meta:b32, #sp-sel:0..1, scale-d:pred, #imm-scale-a, #imm-scale-b, #imm-trans-b"),
        row(SM_90A_82, "wgmma.mma_async.sp.sync{.aligned}.k32.f32.f16.f16 +d*n2:f32, a-desc:u64, b-desc:u64, sp-meta:b32, #sp-sel:0..1, scale-d:pred, #imm-scale-a, #imm-scale-b, #imm-trans-a, #imm-trans-b"),
        row(SM_90A_82, "wgmma.mma_async.sp.sync{.aligned}.k32.f32.f16.f16 +d*n2:f32, %a*4:f16x2, b-desc:u64, sp-meta:b32, #sp-sel:0..1, scale-d:pred, #imm-scale-a, #imm-scale-b, #imm-trans-b"),
        row(SM_90A_82, "wgmma.mma_async.sp.sync{.aligned}.k32.f32.bf16.bf16 +d*n2:f32, a-desc:u64, b-desc:u64, sp-meta:b32, #sp-sel:0..1, scale-d:pred, #imm-scale-a, #imm-scale-b, #imm-trans-a, #imm-trans-b"),
        row(SM_90A_82, "wgmma.mma_async.sp.sync{.aligned}.k32.f32.bf16.bf16 +d*n2:f32, %a*4:f16x2, b-desc:u64, sp-meta:b32, #sp-sel:0..1, scale-d:pred, #imm-scale-a, #imm-scale-b, #imm-trans-b"),
        row(SM_90A_82, "wgmma.mma_async.sp.sync{.aligned}.k16.f32.tf32.tf32 +d*n2:f32, a-desc:u64, b-desc:u64, sp-meta:b32, #sp-sel:0..1, scale-d:pred, #imm-scale-a, #imm-scale-b"),
        row(SM_90A_82, "wgmma.mma_async.sp.sync{.aligned}.k16.f32.tf32.tf32 +d*n2:f32, %a*4:f16x2, b-desc:u64, sp-meta:b32, #sp-sel:0..1, scale-d:pred, #imm-scale-a, #imm-scale-b"),
        row(SM_90A_82, "wgmma.mma_async.sp.sync{.aligned}.k64.f16.f8.f8 +d*n4:f16x2, a-desc:u64, b-desc:u64, sp-meta:b32, #sp-sel:0..0, scale-d:pred, #imm-scale-a, #imm-scale-b"),
        row(SM_90A_82, "wgmma.mma_async.sp.sync{.aligned}.k64.f16.f8.f8 +d*n4:f16x2, %a*4:f16x2, b-desc:u64, sp-meta:b32, #sp-sel:0..0, scale-d:pred, #imm-scale-a, #imm-scale-b"),
        row(SM_90A_82, "wgmma.mma_async.sp.sync{.aligned}.k64.f32.f8.f8 +d*n2:f32, a-desc:u64, b-desc:u64, sp-meta:b32, #sp-sel:0..0, scale-d:pred, #imm-scale-a, #imm-scale-b"),
        row(SM_90A_82, "wgmma.mma_async.sp.sync{.aligned}.k64.f32.f8.f8 +d*n2:f32, %a*4:f16x2, b-desc:u64, sp-meta:b32, #sp-sel:0..0, scale-d:pred, #imm-scale-a, #imm-scale-b"),
        row(SM_90A_82, "wgmma.mma_async.sp.sync{.aligned}.ik64{.satfinite}.s32.u8|s8.u8|s8 +d*n2:s32, a-desc:u64, b-desc:u64, sp-meta:b32, #sp-sel:0..0, scale-d:pred"),
        row(SM_90A_82, "wgmma.mma_async.sp.sync{.aligned}.ik64{.satfinite}.s32.u8|s8.u8|s8 +d*n2:s32, %a*4:b32, b-desc:u64, sp-meta:b32, #sp-sel:0..0, scale-d:pred"),
    ],
};
