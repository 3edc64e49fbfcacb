//! Operands of instructions: what may stand for them, held against the assembler.
//!
//! The recording has one instruction in each module: a form that ptxas 13.4 takes, or one with an operand, modifier,
//! version or target changed. Verdicts and lines are compared; differences are listed in
//! `docs/assembler-differences.md` by their ids (`operands#0042`), and only those.

use softwarp_check::{Options, check};
use softwarp_isa::Target;
use softwarp_syntax::{Diagnostic, Lines, Severity, parse};
use softwarp_testkit::recording;
use std::collections::BTreeSet;

/// A kernel for a target with this instruction, and what is wrong with it.
fn errors(target: &str, instruction: &str) -> Vec<Diagnostic> {
    let text = format!(
        ".version 9.4\n.target {target}\n.address_size 64\n.global .align 128 .b8 g[1024];\n\
         .shared .align 128 .b8 s[1024];\n.entry k(.param .align 64 .b8 p[128]) {{\n\
         .reg .pred %p<9>; .reg .b16 %h<9>; .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .f32 %f<9>; .reg .f64 %d<9>;\n\
         {instruction}\nret;\n}}\n"
    );
    let parsed = parse(&text);
    let checked =
        check(&parsed.module, &text, Options { arch: Target::from_name(target), ..Options::default() });
    let found = parsed.diagnostics.into_iter().chain(checked);
    found.filter(|found| found.severity() == Severity::Error).collect()
}

#[track_caller]
fn accepted(target: &str, instruction: &str) {
    assert!(errors(target, instruction).is_empty(), "{instruction}: {:?}", errors(target, instruction));
}

#[track_caller]
fn refused(target: &str, instruction: &str) {
    assert!(!errors(target, instruction).is_empty(), "{instruction} is accepted");
}

const TENSOR: &str = "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes";
const GATHER: &str = "cp.async.bulk.tensor.2d.shared::cta.global.tile::gather4.mbarrier::complete_tx::bytes";

#[test]
fn tensor_copies_want_a_map_in_global_memory_and_all_coordinates() {
    accepted("sm_90a", &format!("{TENSOR} [s], [g, {{%r1, %r2}}], [s];"));
    accepted("sm_90a", &format!("{TENSOR} [s], [%rd1, {{%r1, %r2}}], %r3;"));
    refused("sm_90a", &format!("{TENSOR} [s], [s, {{%r1, %r2}}], [s];"));
    refused("sm_90a", &format!("{TENSOR} [s], [p, {{%r1, %r2}}], [s];"));
    refused("sm_90a", &format!("{TENSOR} [s], [%rd1, %r1], [s];"));
    accepted("sm_100a", &format!("{GATHER} [s], [%rd1, {{%r1, %r2, %r3, %r4, %r5}}], [s];"));
    refused("sm_100a", &format!("{GATHER} [s], [%rd1, {{%r1, %r2, %r3, %r4}}], [s];"));
    refused("sm_100a", &format!("{GATHER} [s], [%rd1, {{%r1, %r2, %r3, %r4, %r5, %r6}}], [s];"));
    accepted("sm_90a", "fence.proxy.tensormap::generic.acquire.gpu [p], 128;");
}

#[test]
fn bulk_copies_have_sizes_and_barriers_in_their_ranges() {
    let copy = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes";
    accepted("sm_90a", &format!("{copy} [s], [%rd1], 1048560, [s];"));
    refused("sm_90a", &format!("{copy} [s], [%rd1], 1048576, [s];"));
    refused("sm_90a", &format!("{copy} [s], [%rd1], 4294967296, [s];"));
    refused("sm_90a", &format!("{copy} [s], [%rd1], 16, [%h1];"));
    refused("sm_90a", "multimem.cp.async.bulk.global.shared::cta.bulk_group [%rd1], [s], 15;");
}

#[test]
fn mbarriers_are_in_shared_memory_and_return_what_their_space_does() {
    refused("sm_90a", "mbarrier.init.b64 [g], 1;");
    refused("sm_90a", "mbarrier.arrive.shared::cta.b64 s, [s];");
    accepted("sm_90a", "mbarrier.arrive.shared::cluster.b64 _, [s];");
    refused("sm_90a", "mbarrier.arrive.shared::cluster.b64 %rd1, [s];");
}

#[test]
fn multimem_has_the_types_and_vectors_of_its_operations() {
    accepted("sm_90a", "multimem.ld_reduce.relaxed.sys.global.add.v2.f32 {%f1, %f2}, [%rd1];");
    accepted("sm_90a", "multimem.red.relaxed.sys.global.min.v2.f16x2 [%rd1], {%r1, %r2};");
    for wrong in
        ["add.f32 %h1", "add.f32 %p1", "add.v2.f32 {%f1, %f2, %f3, %f4}", "add.f16 %h1", "min.f32 %f1"]
    {
        refused("sm_90a", &format!("multimem.ld_reduce.relaxed.sys.global.{wrong}, [%rd1];"));
    }
}

#[test]
fn constants_and_special_registers_stand_where_the_assembler_lets_them() {
    accepted("sm_90", "cvta.to.global.u64 %rd1, 42;");
    accepted("sm_90", "st.global.v2.f32 [%rd1], {%laneid, %f1};");
    accepted("sm_90", "setp.lt.pred.s32 %p1, %r1, %r2;");
    accepted("sm_90", "add.pred.s32 %r1, %r1, %r2;");
    refused("sm_90", "mov.pred.u32 %r1, %r2;");
    refused("sm_90", "add.f64 %d1, %d1, !0d3ff0000000000000;");
}

#[test]
fn words_of_other_instructions_are_passed_over_once() {
    for odd in ["add.rank.u32 %r1, %r1, %r1;", "add.finite.b8x16.b8x16.u32 %r1, %r1, %r1;", "ret.box_dim;"] {
        accepted("sm_90", odd);
    }
    accepted("sm_90", "add.texref.f32 %f1, %f1, %f1;");
    accepted("sm_90", "cvt.rn.satfinite.satfinite.f16.f32 %h1, %f1;");
    refused("sm_90", "add.rank.box_dim.u32 %r1, %r1, %r1;");
    refused("sm_90", "add.finite.normal.u32 %r1, %r1, %r1;");
    refused("sm_90", "mov.texref.u32 %r1, %r1;");
    refused("sm_90", "add.rn.rn.f32 %f1, %f1, %f1;");
}

#[test]
fn fragments_that_functions_take_have_no_special_registers() {
    let store = "wmma.store.d.sync.aligned.row.m16n16k16.global.f32 [g], {%f1, %f2, %f3, %f4, %f5, %f6, %f7";
    accepted("sm_90", &format!("{store}, %f8}}, 16;"));
    refused("sm_90", &format!("{store}, %laneid}}, 16;"));
    let nibbles = "mma.sync.aligned.m8n8k32.row.col.s32.s4.s4.s32 {%r1, %r2}, {%laneid}, {%r3}, {%r1, %r2};";
    accepted("sm_89", nibbles);
    refused("sm_90", nibbles);
    let bytes = "mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32 {%r1, %r2, %r3, %r4}, {%r1, %r2}";
    accepted("sm_90", &format!("{bytes}, {{%r3}}, {{0, 0, 0, 0}};"));
    refused("sm_90", &format!("{bytes}, {{5}}, {{%r1, %r2, %r3, %r4}};"));
}

#[test]
fn scales_of_block_scaled_products_are_named_within_bounds() {
    let scaled = |kind: &str, ids: &str| {
        format!(
            "mma.sync.aligned.{kind} {{%f1, %f2, %f3, %f4}}, {{%r1, %r2, %r3, %r4}}, {{%r5, %r6}}, \
             {{%f1, %f2, %f3, %f4}}, %r1, {ids};"
        )
    };
    let one = "m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e4m3.f32.ue8m0";
    accepted("sm_120a", &scaled(one, "{3, 1}, %r2, {3, 3}"));
    refused("sm_120a", &scaled(one, "{4, 1}, %r2, {3, 3}"));
    refused("sm_120a", &scaled(one, "{3, 2}, %r2, {3, 3}"));
    let two = "m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0";
    accepted("sm_120a", &scaled(two, "{2, 1}, %r2, {0, 3}"));
    refused("sm_120a", &scaled(two, "{1, 1}, %r2, {0, 3}"));
}

#[test]
fn columns_of_tensor_memory_are_a_power_of_two() {
    let columns =
        |count: &str| format!("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [s], {count};");
    for right in ["32", "64", "512", "%r1"] {
        accepted("sm_100a", &columns(right));
    }
    for wrong in ["0", "16", "96", "1024", "-32"] {
        refused("sm_100a", &columns(wrong));
    }
}

#[test]
fn offsets_and_elements_are_no_operands_of_video_instructions() {
    accepted("sm_90", "vadd4.s32.s32.s32 %r1, %r2, %r3, %r4;");
    refused("sm_90", "vadd4.s32.s32.s32 %r1, %r2+4, %r3, %r4;");
    refused("sm_90", "vadd4.s32.s32.s32 %r1, k, %r3, %r4;");
    refused("sm_90", "vadd.s32.s32.s32 %r1, %r2+4, %r3;");
    accepted("sm_90", "vadd.s32.s32.s32.add %r1, %r2, %r3, %r4+4;");
}

#[test]
fn addresses_are_in_registers_and_spaces_that_the_instruction_reaches() {
    accepted("sm_90", "prefetchu.L1 [g];");
    refused("sm_90", "prefetchu.L1 [s];");
    refused("sm_90", "prefetchu.L1 [%clock64];");
    refused("sm_90a", "tensormap.replace.tile.rank.global.b1024.b32 [%h1], %r1;");
    accepted("sm_90", "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r1}, [%h1];");
    refused("sm_90", "ldmatrix.sync.aligned.m8n8.x1.b16 {%r1}, [%h1];");
    accepted("sm_90", "mbarrier.test_wait.b64 %p1, [s], %rd1+4;");
    refused("sm_90", "mbarrier.test_wait.b64 %p1, [s], g+4;");
}

#[test]
fn help_is_in_the_manuals_words() {
    let found = errors("sm_90", "ld.global.v2.u32 %r1;");
    let help = found[0].help.clone().unwrap_or_default();
    assert_eq!(help, "its syntax is `ld.global.v2.u32 {d0, d1}, [a]`");
    let found = errors("sm_90", "wgmma.fence.sync.aligned;");
    let help = found[0].help.clone().unwrap_or_default();
    assert!(help.contains("`.target sm_90a`"), "{help}");
}

fn listed() -> BTreeSet<String> {
    let all = recording::listed_differences();
    all.into_iter().filter(|part| part.starts_with("operands#")).collect()
}

#[test]
fn verdicts_and_lines_agree_with_the_assembler() {
    let files = ["operands.jsonl.gz", "stratified.jsonl.gz", "newest.jsonl.gz"];
    let rows = files.into_iter().flat_map(|file| recording::values(recording::golden("check", file)));
    let mut differences = BTreeSet::new();
    let mut cases = 0;
    for row in rows {
        let ptx = row["ptx"].as_str().expect("a module");
        let arch = Target::from_name(row["arch"].as_str().unwrap_or_default());
        let parsed = parse(ptx);
        let checked = check(&parsed.module, ptx, Options { arch, ..Options::default() });
        let lines = Lines::new(ptx);
        let found = parsed.diagnostics.iter().chain(&checked);
        let found = found.filter(|found| found.severity() == Severity::Error);
        let ours: Vec<u64> = found.map(|found| lines.line(found.span().start).into()).collect();
        let theirs = row["errors"].as_array().into_iter().flatten();
        let theirs: Vec<u64> = theirs.filter_map(|error| error[0].as_u64()).collect();
        let same_line = theirs.is_empty() || theirs.iter().any(|line| ours.contains(line));
        cases += 1;
        if ours.is_empty() != (row["ok"] == true) || !(ours.is_empty() || same_line) {
            differences.insert(row["id"].as_str().unwrap_or_default().to_owned());
        }
    }
    assert!(cases > 3000, "only {cases} cases");
    assert_eq!(differences, listed(), "of {cases} cases");
}
