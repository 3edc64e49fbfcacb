//! Runs the programs with `tcgen05` whose results were computed from the manual's layouts (tests/golden/README.md says
//! what they are).

use crate::binary;
use crate::binary::Ran;
use crate::recorded::{assert_agree, programs};
use softwarp::vm::sanitize::{Finding, Sanitize};
use softwarp_cli::run::file::LaunchFile;
use softwarp_cli::run::{Options, run};
use softwarp_cli::verify::programs::Program;
use std::path::Path;

/// How many kernels of CUTLASS there are.
const CUTLASS: usize = 4;

fn call(folder: &Path, arguments: &[&str]) -> Ran {
    binary::run(binary::command(folder, arguments), b"")
}

/// The programs whose names begin with a prefix compute what they must, and there are as many as expected.
fn agree(beginning: &str, count: usize) {
    let mut programs = programs("blackwell.jsonl.gz");
    programs.retain(|program| program.name.starts_with(beginning));
    assert_agree(&programs, count);
}

#[test]
fn tensor_memory_is_loaded_in_every_shape() {
    agree("tcgen05_ld_", 36);
}

#[test]
fn tensor_memory_is_stored_in_every_shape() {
    agree("tcgen05_st_", 10);
}

#[test]
fn matrices_are_copied_from_shared_memory_in_every_shape() {
    agree("tcgen05_cp_", 18);
}

#[test]
fn rows_are_shifted_and_columns_are_waited_for() {
    agree("tcgen05_shift", 1);
    agree("tcgen05_alloc", 1);
}

#[test]
fn products_are_those_of_the_matrices() {
    agree("tcgen05_mma_", 92);
}

#[test]
fn four_bit_products_have_96_steps_of_k() {
    agree("tcgen05_mma_k96_", 8);
}

#[test]
fn kernels_of_triton_compute_the_products() {
    assert_agree(&programs("triton_blackwell.jsonl.gz"), 47);
}

#[test]
fn kernels_in_gluon_compute_the_products() {
    assert_agree(&programs("gluon_blackwell.jsonl.gz"), 7);
}

#[test]
fn kernels_of_cutlass_compute_what_its_own_check_accepts() {
    assert_agree(&programs("cutlass_blackwell.jsonl.gz"), CUTLASS);
}

#[test]
fn the_example_multiplies_two_matrices() {
    let ran = call(&softwarp_testkit::examples(), &["run", "--check", "blackwell.json"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
}

/// The message of a kernel of one warp with 32 columns at `%ta`, an instruction descriptor and shared memory descriptors
/// that are right, and a body.
fn fault(body: &str) -> String {
    let text = format!(
        ".version 8.8\n.target sm_100a\n.address_size 64\n.visible .entry k()\n{{\n.reg .pred %p;\n\
         .reg .b32 %r<9>, %ta, %i, %tl;\n.reg .b64 %rd<9>, %a, %b;\n.shared .align 128 .b8 tile[8192];\n\
         .shared .align 8 .b64 bar;\n.shared .align 4 .b32 base;\n\
         tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [base], 32;\nld.shared.b32 %ta, [base];\n\
         mov.u32 %r0, tile;\nshr.u32 %r0, %r0, 4;\ncvt.u64.u32 %a, %r0;\nor.b64 %a, %a, 0x0000400800800000;\n\
         mov.b64 %b, %a;\nmov.b32 %i, 0x08020010;\nsetp.eq.u32 %p, 0, 0;\n{body}\n\
         tcgen05.dealloc.cta_group::1.sync.aligned.b32 %ta, 32;\nret;\n}}\n"
    );
    // All instructions of a kernel have the same group.
    let pair = body.contains("cta_group::2");
    let text = if pair { text.replace("cta_group::1", "cta_group::2") } else { text };
    let folder = softwarp_testkit::files::folder_of([("k.ptx", text)]);
    let ran = call(folder.path(), &["run", "k.ptx", "--block", "32"]);
    match ran.code {
        0 => String::new(),
        _ => ran.stderr,
    }
}

#[test]
fn wrong_uses_of_tensor_memory_are_faults_that_say_what_is_wrong() {
    let mma = |change: &str| format!("{change}\ntcgen05.mma.cta_group::1.kind::f16 [%ta], %a, %b, %i, %p;");
    assert_eq!(fault(&mma("")), "");
    for (body, said) in [
        (
            "mov.b32 %r0, 48;\ntcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [base], %r0;".to_owned(),
            "the number must be a power of two from 32 to 512",
        ),
        (
            "tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;\n\
             tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [base], 32;"
                .to_owned(),
            "after tcgen05.relinquish_alloc_permit",
        ),
        (
            "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %ta, 64;".to_owned(),
            "tcgen05.dealloc of 64 columns at column 0: the allocation there has 32",
        ),
        (
            "tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [base], 32;".to_owned(),
            ".cta_group::2 needs a peer CTA",
        ),
        (
            "tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r1}, [%ta+32];".to_owned(),
            "column 32 of tensor memory is not allocated",
        ),
        (
            "tcgen05.ld.sync.aligned.32x32b.x2.b32 {%r1, %r2}, [%ta+511];".to_owned(),
            "columns 511 to 512 do not all exist",
        ),
        (
            "add.u32 %tl, %ta, 0x200000;\ntcgen05.st.sync.aligned.32x32b.x1.b32 [%tl], {%r1};".to_owned(),
            "names lanes 32 to 63: warp 0 accesses lanes 0 to 31 only, from 0 on",
        ),
        (
            "add.u32 %tl, %ta, 0x80000;\ntcgen05.st.sync.aligned.16x64b.x1.b32 [%tl], {%r1};".to_owned(),
            "from 0 or 16 on",
        ),
        (
            "mov.u32 %r1, %laneid;\nadd.u32 %tl, %ta, %r1;\ntcgen05.ld.sync.aligned.32x32b.x1.b32 {%r1}, [%tl];"
                .to_owned(),
            "the threads of a warp have different tensor memory addresses",
        ),
        (
            "add.u32 %tl, %ta, 0x10000;\ntcgen05.shift.cta_group::1.down [%tl];".to_owned(),
            "has lane 1, which must be a multiple of 32",
        ),
        (mma("mov.b32 %i, 0x08020030;"), "the type of D (bits 4 and 5) of the instruction descriptor is 3"),
        (mma("mov.b32 %i, 0x08020050;"), "bit 6 of the instruction descriptor is 0x1, and must be 0"),
        (mma("mov.b32 %i, 0x07020010;"), "M (bits 24 to 28) of the instruction descriptor is 112"),
        (mma("mov.b32 %i, 0x08000010;"), "N (bits 17 to 22) of the instruction descriptor is 0"),
        (mma("mov.b32 %i, 0x08020014;"), "says that A is sparse, and the instruction has no .sp"),
        (mma("mov.b32 %i, 0x08200010;"), "column 32 of tensor memory is not allocated"),
        (mma("and.b64 %a, %a, 0xffffffff;"), "bits 46 to 48 of the shared memory descriptor are 0b000"),
        (mma("or.b64 %b, %b, 0x6000000000000000;"), "the swizzling mode (bits 61 to 63)"),
        (mma("add.u32 %ta, %ta, 0x100000;"), "begins at lane 16, and must at 0"),
        (mma("or.b64 %a, %a, 0x3fff;"), "read of 16 bytes at .shared address"),
    ] {
        let found = fault(&body);
        assert!(found.contains(said), "{body}\nfound: {found}");
    }
}

#[test]
fn fragments_are_shown() {
    let folder = softwarp_testkit::examples();
    let ran = call(&folder, &["tensor", "show", "--tmem", "16x64b.x1"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let expected = "\
.16x64b.x1: 16 lanes, 2 columns; 1 register of each of 32 threads
lane |        0        1
   0 |    t0 r0    t2 r0
   1 |    t4 r0    t6 r0";
    assert!(ran.stdout.starts_with(expected), "{}", ran.stdout);
    call(&folder, &["tensor", "show", "--tmem", "16x256b.x64"])
        .is_refused(2, "--tmem: `.16x256b` is not repeated 64 times");
    call(&folder, &["tensor", "show", "--tmem", "8x8b"]).is_refused(
        2,
        "--tmem: there is no shape `8x8b`: there are 32x32b, 16x64b, 16x128b, 16x256b, 16x32bx2",
    );
    call(&folder, &["tensor", "show"])
        .is_refused(2, "the following required arguments were not provided: <MAP>");
}

/// What the sanitizers find in a program.
fn found(program: &Program) -> Vec<Finding> {
    let file = LaunchFile::from_json(&program.launch).expect("a launch file");
    let options = Options { sanitize: Sanitize::ALL, ..Options::default() };
    let ran = run(&file, &[&program.ptx], &options).expect("it runs");
    ran.reports.into_iter().flat_map(|report| report.findings).collect()
}

/// The same in words.
fn findings(program: &Program) -> Vec<String> {
    found(program).iter().map(ToString::to_string).collect()
}

/// A program that is right, with some of its lines replaced.
fn changed(changes: &[(&str, &str)]) -> Program {
    let right = programs("blackwell.jsonl.gz").into_iter().find(|it| it.name == "tcgen05_mma_f16_f32");
    let mut program = right.expect("the program");
    for (line, by) in changes {
        assert!(program.ptx.contains(line), "{line}");
        program.ptx = program.ptx.replacen(line, by, 1);
    }
    program
}

#[test]
fn the_sanitizers_find_nothing_in_programs_that_are_right() {
    let files = ["blackwell", "triton_blackwell", "gluon_blackwell", "cutlass_blackwell"];
    for file in files {
        for program in programs(&format!("{file}.jsonl.gz")) {
            let mut found = findings(&program);
            // Its warps give registers back one by one.
            if program.name == "triton/matmul_ws_sm100" {
                found.retain(|finding| !finding.contains("for the whole warpgroup"));
            }
            // CUTLASS initialises the mbarrier of the last deallocation behind its `fence.mbarrier_init`.
            if program.name.starts_with("cutlass/") {
                found.retain(|finding| !finding.contains("into `_ZN7cutlass4smemE`"));
            }
            // This tutorial never waits for its loads, and leaves the registers to the assembler.
            if program.name == "cute_dsl/fp16_gemm_0" {
                found.retain(|finding| !finding.contains("tcgen05.wait::ld is missing"));
            }
            assert_eq!(found, Vec::<String>::new(), "{}", program.name);
        }
    }
}

#[test]
fn missing_waits_and_fences_are_found() {
    let right = programs("blackwell.jsonl.gz").into_iter().find(|it| it.name == "tcgen05_mma_f16_f32");
    let right = right.expect("the program");
    let without = |line: &str| {
        assert!(right.ptx.contains(line), "{line}");
        let ptx = right.ptx.replacen(line, "", 1);
        findings(&Program { ptx, ..right.clone() }).join("; ")
    };
    for (line, said) in [
        ("  fence.proxy.async;\n", "fence.proxy.async is missing"),
        (
            "  mbarrier.try_wait.parity.shared.b64 %p, [bar], 0;\n  @!%p bra WAIT;\n",
            "tcgen05.commit with a wait at its mbarrier is missing",
        ),
        ("  tcgen05.wait::st.sync.aligned;\n", "tcgen05.wait::ld or tcgen05.wait::st is missing"),
        (
            "  tcgen05.dealloc.cta_group::1.sync.aligned.b32 %ta, 512;\n",
            "512 columns of tensor memory were not freed",
        ),
    ] {
        let found = without(line);
        assert!(found.contains(said), "{line}: {found}");
    }
}

/// The wait for the products, and what follows it.
const WAIT: &str = "  mbarrier.try_wait.parity.shared.b64 %p, [bar], 0;\n  @!%p bra WAIT;\n";
const AFTER: &str = "  @!%p bra WAIT;\n  tcgen05.fence::after_thread_sync;\n";
const COMMIT: &str =
    "  tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [bar];\nISSUED:\nWAIT:\n";
const RELAXED: (&str, &str) =
    ("mbarrier.try_wait.parity.shared.b64", "mbarrier.try_wait.parity.relaxed.cluster.shared::cta.b64");

#[test]
fn tensor_memory_is_written_before_it_is_read() {
    assert_eq!(findings(&changed(&[])), Vec::<String>::new());
    let store = "  tcgen05.st.sync.aligned.32x32b.x1.b32 [%x], {%r0};\n";
    let found = found(&changed(&[(store, "")]));
    let [finding] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!(
        finding.to_string(),
        "read of tensor memory that was never written: lane 0, column 0",
        "the product adds to it"
    );
    assert!(finding.other.is_some(), "the allocation");
    // Without a sum, nothing is read; but what is loaded beyond D is.
    let unread = [(store, ""), ("%y, %one;\n  ld.param.u64 %rd4", "%y, %q;\n  ld.param.u64 %rd4")];
    assert_eq!(findings(&changed(&unread)), Vec::<String>::new());
    let beyond = [unread[0], unread[1], ("{%r0}, [%x+0];", "{%r0}, [%x+1];")];
    let found = findings(&changed(&beyond)).join("; ");
    assert!(found.contains("column 64"), "{found}");
}

#[test]
fn what_is_loaded_is_waited_for() {
    let found = found(&changed(&[("  tcgen05.wait::ld.sync.aligned;\n", "")]));
    let [finding] = found.as_slice() else { panic!("{found:?}") };
    assert!(finding.to_string().ends_with("tcgen05.wait::ld is missing before this"), "{finding}");
    assert!(finding.other.is_some(), "the load");
    // The assembler sees to a use before the wait, as long as there is one.
    let late = "  st.global.b32 [%out], %r0;\n";
    let late = [
        ("  tcgen05.wait::ld.sync.aligned;\n", ""),
        (late, "  st.global.b32 [%out], %r0;\n  tcgen05.wait::ld.sync.aligned;\n"),
    ];
    assert_eq!(findings(&changed(&late)), Vec::<String>::new());
}

#[test]
fn a_relaxed_wait_needs_a_fence_behind_it() {
    assert_eq!(findings(&changed(&[RELAXED])), Vec::<String>::new());
    let found = found(&changed(&[(AFTER, "  @!%p bra WAIT;\n"), RELAXED]));
    let said =
        |finding: &Finding| finding.to_string().contains("tcgen05.fence::after_thread_sync is missing");
    assert!(!found.is_empty() && found.iter().all(|it| said(it) && it.other.is_some()), "{found:?}");
}

#[test]
fn a_fence_orders_products_but_does_not_complete_them() {
    // A load behind a fence and a barrier only.
    let synced = "  tcgen05.fence::before_thread_sync;\nISSUED:\n  bar.sync 0;\nWAIT:\n";
    let found = findings(&changed(&[(COMMIT, synced), (WAIT, "")])).join("; ");
    assert!(found.contains("tcgen05.commit with a wait at its mbarrier is missing"), "{found}");
    // Two threads that multiply into the same columns.
    let second = |fence: &str| {
        let other = format!(
            "{fence}FIRST:\n  bar.sync 0;\n  tcgen05.fence::after_thread_sync;\n  setp.ne.u32 %p, %th, 32;\n  \
             @%p bra ISSUED;\n  mov.u32 %s, dyn;\n  shr.u32 %s, %s, 4;\n  cvt.u64.u32 %rd20, %s;\n  \
             setp.eq.u32 %one, 0, 0;\n  ld.param.u32 %y, [idesc];\n  add.u32 %x, %ta, 0;\n  ld.param.u64 %rd4, [a1];\n"
        );
        findings(&changed(&[("@%p bra ISSUED;", "@%p bra FIRST;"), ("  ld.param.u64 %rd4, [a1];\n", &other)]))
    };
    assert_eq!(second("  tcgen05.fence::before_thread_sync;\n"), Vec::<String>::new());
    let found = second("").join("; ");
    assert!(found.contains("nobody has waited for it"), "{found}");
}

/// Runs a launch file with a module; it must end as expected.
fn checked(ptx: &str, launch: &str) {
    let files = [("k.ptx", ptx), ("k.json", launch)].map(|(name, text)| (name, text.to_owned()));
    let folder = softwarp_testkit::files::folder_of(files);
    let ran = call(folder.path(), &["run", "--check", "k.json"]);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
}

#[test]
fn four_numbers_of_eight_bits_are_added_and_multiplied() {
    let ptx = ".version 9.4\n.target sm_100a\n.address_size 64\n.visible .entry k(.param .u64 o)\n{\n\
        .reg .b32 %r<9>; .reg .b16 %h; .reg .b64 %d;\nld.param.u64 %d, [o];\n\
        mov.b32 %r0, 0x7e38c030; mov.b32 %r1, 0x7e303808; mov.b16 %h, 0x7321;\n\
        add.rn.e4m3x4.e4m3x4 %r2, %r0, %r1; st.global.b32 [%d], %r2;\n\
        add.satfinite.e4m3x4.e4m3x4 %r2, %r0, %r1; st.global.b32 [%d+4], %r2;\n\
        sub.e5m2x4.e2m1x4 %r2, %h, %r1; st.global.b32 [%d+8], %r2;\n\
        mul.e4m3x4.e2m1x4.e4m3x4 %r2, %h, %r0; st.global.b32 [%d+12], %r2;\n\
        mov.b32 %r3, 0x807f7f7e; mov.b32 %r4, 0x02010507;\n\
        fma.e4m3x4.ue8m0x4.e2m1p4x4 %r2, %r3, %r4, %r1; st.global.b32 [%d+16], %r2;\nret;\n}\n";
    // e4m3: 0x30 is 0.5, 0xc0 is -2, 0x38 is 1, 0x7e is 448; 0x08 is 2^-6. e2m1: 1, 2, 3 and 7 are 0.5, 1, 1.5 and 6.
    // 0.5 + 2^-6 lies between 0.5 and 0.5625 and is nearer to 0.5; -2 + 1; 1 + 0.5; 448 + 448 is out of range.
    // In e5m2, 0x08, 0x38, 0x30 and 0x7e are 2^-13, 0.5, 0.125 and NaN; 1.5 - 0.125 is a tie that goes to 1.5.
    // 2^-1 * 6 + 2^-6; 2^0 * 3 + 1; 2^0 * 0.5 + 0.5; 2^1 * 1 + 448, a tie that goes to 448.
    let words = [0x7f3c_b830u32, 0x7e3c_b830, 0x7f3e_3838, 0x7f3c_c028, 0x7e38_4844];
    let hex: String =
        words.iter().flat_map(|word| word.to_le_bytes()).map(|byte| format!("{byte:02x}")).collect();
    let launch = format!(
        r#"{{"ptx": "k.ptx", "launches": [{{"kernel": "k", "grid": 1, "block": 1, "args": [{{"buffer": "o"}}]}}],
        "buffers": {{"o": {{"bytes": 20}}}}, "dump": ["o"], "expect": {{"o": "{hex}"}}}}"#
    );
    checked(ptx, &launch);
}

#[test]
fn an_arrival_reaches_several_ctas() {
    let ptx = ".version 9.4\n.target sm_107a\n.address_size 64\n.visible .entry k(.param .u64 o) .reqnctapercluster 4\n{\n\
        .reg .pred %p; .reg .b32 %r<9>; .reg .b64 %d;\n.shared .align 8 .b64 bar;\n\
        mov.u32 %r0, %cluster_ctarank; mbarrier.init.shared.b64 [bar], 2;\n\
        fence.mbarrier_init.release.cluster; barrier.cluster.arrive; barrier.cluster.wait;\n\
        setp.ne.u32 %p, %r0, 0; @%p bra WAIT;\n\
        mbarrier.expect_tx.relaxed.cluster.shared::cluster.multicast::cluster::32b.b64 [bar], 8, 13;\n\
        mbarrier.arrive.release.cluster.shared::cluster.multicast::cluster::32b.b64 _, [bar], 2, 13;\n\
        mbarrier.complete_tx.relaxed.cluster.shared::cluster.multicast::cluster::32b.b64 [bar], 8, 13;\n\
        WAIT: barrier.cluster.arrive; barrier.cluster.wait;\n\
        mbarrier.test_wait.parity.shared.b64 %p, [bar], 0;\n\
        selp.u32 %r1, 1, 0, %p; ld.param.u64 %d, [o]; mad.wide.u32 %d, %r0, 4, %d; st.global.u32 [%d], %r1;\nret;\n}\n";
    let launch = r#"{"ptx": "k.ptx",
        "launches": [{"kernel": "k", "grid": 4, "block": 1, "cluster": 4, "args": [{"buffer": "o"}]}],
        "buffers": {"o": {"bytes": 16}}, "dump": ["o"], "expect": {"o": "01000000000000000100000001000000"}}"#;
    checked(ptx, launch);
}
