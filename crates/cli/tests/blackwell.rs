//! Runs the programs with `tcgen05` whose results were computed from the manual's layouts (tests/golden/README.md says
//! what they are).

mod binary;
mod recorded;

use binary::Ran;
use recorded::{assert_agree, programs};
use softwarp::vm::sanitize::Sanitize;
use softwarp_cli::run::file::LaunchFile;
use softwarp_cli::run::{Options, run};
use softwarp_cli::verify::programs::Program;
use std::path::Path;

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
    agree("tcgen05_mma_", 84);
}

#[test]
fn kernels_of_triton_compute_the_products() {
    assert_agree(&programs("triton_blackwell.jsonl.gz"), 47);
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
fn findings(program: &Program) -> Vec<String> {
    let file = LaunchFile::from_json(&program.launch).expect("a launch file");
    let options = Options { sanitize: Sanitize::ALL, ..Options::default() };
    let ran = run(&file, &[&program.ptx], &options).expect("it runs");
    let findings = ran.reports.into_iter().flat_map(|report| report.findings);
    findings.map(|finding| finding.to_string()).collect()
}

#[test]
fn the_sanitizers_find_nothing_in_programs_that_are_right() {
    for file in ["blackwell.jsonl.gz", "triton_blackwell.jsonl.gz"] {
        for program in programs(file) {
            let mut found = findings(&program);
            // Its warps give registers back one by one.
            if program.name == "triton/matmul_ws_sm100" {
                found.retain(|finding| !finding.contains("for the whole warpgroup"));
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
