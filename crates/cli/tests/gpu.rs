//! `softwarp run --gpu`, `--compare`, `verify --gpu`, `record` and `gpu`, with softwarp's own driver library in place of a GPU's.
#![cfg(target_os = "linux")]

use crate::binary::{Ran, command, run as call};
use crate::files::{KERNEL, launch};
use serde_json::{Value as Json, json};
use softwarp_testkit::files::{TempDir, folder};
use softwarp_testkit::{examples, repository};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The driver library that cargo has built for this test.
fn driver() -> PathBuf {
    let folder = Path::new(env!("CARGO_BIN_EXE_softwarp")).parent().expect("a folder");
    folder.join("deps").join("libcuda.so")
}

/// Runs the command with that driver, and variables of the environment.
fn softwarp_with(folder: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> Ran {
    let mut command = command(folder, arguments);
    command.env("SOFTWARP_GPU_DRIVER", driver());
    command.envs(variables.iter().copied());
    call(command, b"")
}

fn softwarp(folder: &Path, arguments: &[&str]) -> Ran {
    softwarp_with(folder, arguments, &[])
}

fn parsed(ran: &Ran) -> Json {
    serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{}{}", ran.stdout, ran.stderr))
}

/// `k` adds products of its inputs, which may be contracted; `bad` writes to a wrong address; `forever` never ends;
/// `address` writes its argument; `two` is a template in C++.
const MODULE: &str = "\
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 p)
{
    .reg .b64 %p; .reg .f32 %f<4>; .reg .b32 %r;
    ld.param.u64 %p, [p];
    mov.u32 %r, %tid.x;
    mad.wide.u32 %p, %r, 4, %p;
    ld.global.f32 %f0, [%p];
    mul.f32 %f1, %f0, %f0;
    add.f32 %f2, %f1, 0fBF800001;
    st.global.f32 [%p], %f2;
    ret;
}
.visible .entry bad(.param .u64 p)
{
    .reg .b64 %p;
    mov.u64 %p, 8;
    st.global.u32 [%p], 7;
    ret;
}
.visible .entry misaligned(.param .u64 p)
{
    .reg .b64 %p;
    ld.param.u64 %p, [p];
    st.global.u32 [%p+2], 7;
    ret;
}
.visible .entry forever(.param .u64 p) { L: bra L; }
.visible .entry address(.param .u64 p, .param .u64 q)
{
    .reg .b64 %p, %q;
    ld.param.u64 %p, [p];
    ld.param.u64 %q, [q];
    st.global.u64 [%p], %q;
    ret;
}
.visible .entry _Z3twoIfEvPT_i(.param .u64 p, .param .u32 n)
{
    .reg .b64 %p; .reg .b32 %n;
    ld.param.u64 %p, [p];
    ld.param.u32 %n, [n];
    st.global.u32 [%p], %n;
    ret;
}
";

fn module() -> TempDir {
    folder(&[("m.ptx", MODULE)])
}

#[test]
fn a_gpu_prints_what_softwarp_prints() {
    for name in ["saxpy.json", "cluster.json", "matmul.json", "resample.json", "tiles.json"] {
        let here = softwarp(&examples(), &["run", name]);
        let there = softwarp(&examples(), &["run", "--gpu", name]);
        assert_eq!((here.code, there.code), (0, 0), "{name}: {}{}", here.stderr, there.stderr);
        assert_eq!(parsed(&here)["dumps"], parsed(&there)["dumps"], "{name}");
        assert_eq!(parsed(&there)["device"]["compute_capability"], "9.0", "{name}");
        let text = |gpu: &[&str]| softwarp(&examples(), &[&["run", name, "--format", "text"], gpu].concat());
        assert_eq!(text(&[]).stdout, text(&["--gpu"]).stdout, "{name}");
    }
    let ran = softwarp(&examples(), &["run", "--gpu", "saxpy.json", "--check"]);
    assert!(ran.code == 0 && parsed(&ran)["differences"] == json!({}), "{}{}", ran.stdout, ran.stderr);
}

#[test]
fn results_go_to_files_and_expectations_are_checked() {
    let wrong = launch(r#", "expect": {"y": "08000000"}, "dump": {"y": {"type": "u32"}}"#);
    let files = folder(&[("x.json", &wrong), ("x.ptx", KERNEL)]);
    let ran = softwarp(files.path(), &["run", "--gpu", "x.json", "--check", "--dump", "y:u32=y.npy"]);
    assert_eq!(ran.code, 1, "{}", ran.stdout);
    assert!(ran.stderr.contains("1 result differs from what the launch file expects"), "{}", ran.stderr);
    let written = std::fs::read(files.path().join("y.npy")).expect("written");
    assert!(written.starts_with(b"\x93NUMPY") && written.ends_with(&[7, 0, 0, 0]));
    let ran = softwarp(files.path(), &["run", "--gpu", "x.json"]);
    assert_eq!(parsed(&ran)["dumps"]["y"], json!([7]));
}

#[test]
fn arguments_names_and_blocks_are_found_as_without_a_gpu() {
    let files = module();
    let ran = softwarp(
        files.path(),
        &[
            "run",
            "--gpu",
            "m.ptx",
            "--kernel",
            "two<float>",
            "--arg",
            "buffer:y=zero:4",
            "--arg",
            "u32:9",
            "--dump",
            "y:u32",
        ],
    );
    assert_eq!(parsed(&ran)["dumps"]["y"], json!([9]), "{}", ran.stderr);
    let ran = softwarp(files.path(), &["run", "--gpu", "m.ptx", "--kernel", "two", "--arg", "u32:9"]);
    assert!(ran.code == 2 && ran.stderr.contains("has 2 parameters"), "{}", ran.stderr);
    let ran = softwarp(
        files.path(),
        &["run", "--gpu", "m.ptx", "--kernel", "two", "--arg", "buffer:y=zero:4", "--arg", "u64:9"],
    );
    assert!(ran.code == 2 && ran.stderr.contains("argument 1 has 8 bytes"), "{}", ran.stderr);
    let ran = softwarp(
        files.path(),
        &["run", "--gpu", "m.ptx", "--kernel", "k", "--arg", "buffer:y=zero:4", "--dump", "z"],
    );
    assert!(ran.code == 2 && ran.stderr.contains("--dump z"), "{}", ran.stderr);
}

#[test]
fn several_modules_are_linked() {
    let head = ".version 8.0\n.target sm_90\n.address_size 64\n";
    let seven = format!("{head}.visible .func (.param .b32 r) seven() {{ st.param.b32 [r], 7; ret; }}\n");
    let caller = format!(
        "{head}.extern .func (.param .b32 r) seven();\n.visible .entry k(.param .u64 p)\n{{\n\
         .reg .b64 %p; .reg .b32 %r; .param .b32 out;\nld.param.u64 %p, [p];\ncall (out), seven;\n\
         ld.param.b32 %r, [out];\nst.global.u32 [%p], %r;\nret;\n}}\n"
    );
    let files = folder(&[("a.ptx", &caller), ("b.ptx", &seven)]);
    let ran = softwarp(
        files.path(),
        &["run", "--gpu", "a.ptx", "b.ptx", "--arg", "buffer:y=zero:4", "--dump", "y:u32"],
    );
    assert_eq!(parsed(&ran)["dumps"]["y"], json!([7]), "{}", ran.stderr);
}

/// Where the same program is computed in another way: here without contraction, on the other side with it.
#[test]
fn the_first_difference_is_shown_with_its_writer() {
    let files = module();
    let data = "buffer:y=f32:1,1.0001,1.5,2.3,1.1,1.2,1.3,1.4";
    let words = ["run", "--compare", "m.ptx", "--kernel", "k", "--block", "8", "--arg", data];
    let same = softwarp(files.path(), &[&words[..], &["--dump", "y:f32"]].concat());
    assert_eq!(same.code, 0, "{}{}", same.stdout, same.stderr);
    assert_eq!(parsed(&same)["comparison"]["differing"], 0);
    assert_eq!(parsed(&same)["comparison"]["elements"], 8);

    let other = softwarp(files.path(), &[&words[..], &["--dump", "y:f32", "--fmad=false"]].concat());
    assert_eq!(other.code, 1, "{}", other.stdout);
    let found = &parsed(&other)["comparison"];
    let first = &found["first"];
    assert!(found["differing"].as_u64().is_some_and(|count| count > 1), "{found}");
    assert_eq!((&first["name"], &first["index"]), (&json!("y"), &json!(1)), "{found}");
    assert_eq!(first["writer"]["thread"], json!([1, 0, 0]));
    assert_eq!(first["writer"]["instruction"], "st.global.f32 [%p], %f2;");
    assert_eq!(first["writer"]["line"], 13);
    assert_ne!(first["gpu"]["bits"], first["softwarp"]["bits"]);
    assert!(first["gpu"]["value"].is_f64() && first["softwarp"]["value"].is_f64(), "{first}");
    assert!(other.stderr.contains("error: the GPU and softwarp differ: "), "{}", other.stderr);

    let text = softwarp(files.path(), &[&words[..], &["--format", "text", "--fmad=false"]].concat());
    assert!(text.stdout.starts_with("y[1]: the GPU has "), "{}", text.stdout);
    assert!(
        text.stdout.contains("last written here by thread (1,0,0) of CTA (0,0,0): m.ptx:13: st.global.f32")
    );
    assert!(text.stdout.contains(" of 8 elements differ\n"), "{}", text.stdout);
    // Results that differ by little are the same where the launch file says so.
    let launch = r#"{"ptx": "m.ptx", "launches": [{"kernel": "k", "grid": 1, "block": 2, "args": [{"buffer": "y"}]}],
        "buffers": {"y": {"init": {"f32": [1.5, 1.0001]}}}, "dump": ["y"], "expect": {"y": "0000000000000000"}RULE}"#;
    for (rule, code) in [("", 1), (r#", "compare": {"f32_rel": 0.01}"#, 0)] {
        std::fs::write(files.path().join("x.json"), launch.replace("RULE", rule)).expect("written");
        let ran = softwarp(files.path(), &["run", "--compare", "x.json", "--fmad=false"]);
        assert_eq!(ran.code, code, "{}{}", ran.stdout, ran.stderr);
    }
}

#[test]
fn addresses_of_the_same_byte_are_no_difference() {
    let files = module();
    let words = ["run", "--compare", "m.ptx", "--kernel", "address", "--arg", "buffer:y=zero:8", "--arg"];
    let ran = softwarp(files.path(), &[&words[..], &["buffer:y+8"]].concat());
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    let ran = softwarp(files.path(), &[&words[..], &["u64:12345"]].concat());
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
}

#[test]
fn faults_have_their_names() {
    let files = module();
    let run = |how: &str, kernel: &str| {
        softwarp(
            files.path(),
            &["run", how, "m.ptx", "--kernel", kernel, "--block", "1", "--arg", "buffer:y=zero:8"],
        )
    };
    for (kernel, name, code, kind) in [
        ("bad", "CUDA_ERROR_ILLEGAL_ADDRESS", 700, "out_of_bounds"),
        ("misaligned", "CUDA_ERROR_MISALIGNED_ADDRESS", 716, "misaligned"),
    ] {
        let ran = run("--gpu", kernel);
        assert_eq!(ran.code, 1, "{}", ran.stderr);
        let fault = &parsed(&ran)["fault"];
        assert_eq!((&fault["kind"], &fault["code"]), (&json!(name), &json!(code)));
        assert_eq!(fault["kernel"], kernel);
        assert!(ran.stderr.contains(&format!("error: the GPU stopped in kernel `{kernel}`: {name}")));
        let both = run("--compare", kernel);
        assert_eq!(both.code, 0, "{}{}", both.stdout, both.stderr);
        assert_eq!(parsed(&both)["faults"]["softwarp"]["kind"], kind);
        assert_eq!(parsed(&both)["faults"]["gpu"]["kind"], name);
    }
}

#[test]
fn a_kernel_that_never_ends_is_stopped() {
    let files = module();
    let words = ["--kernel", "forever", "--block", "1", "--arg", "buffer:y=zero:8", "--timeout", "1.5"];
    let began = Instant::now();
    let ran = softwarp(files.path(), &[&["run", "--gpu", "m.ptx"], &words[..]].concat());
    assert!(began.elapsed() < Duration::from_secs(60));
    assert_eq!((ran.code, &parsed(&ran)["fault"]["kind"]), (1, &json!("time_limit")), "{}", ran.stderr);
    assert!(ran.stderr.contains("it did not end within 1.5 s (--timeout)"), "{}", ran.stderr);
    let both =
        softwarp(files.path(), &[&["run", "--compare", "m.ptx", "--steps", "10000"], &words[..]].concat());
    assert_eq!(both.code, 0, "both did not end: {}{}", both.stdout, both.stderr);
}

#[test]
fn a_driver_or_device_that_is_not_there_is_named() {
    for words in [
        &["run", "--gpu", "saxpy.json", "--driver", "/none/libcuda.so"][..],
        &["verify", "--gpu", ".", "--driver", "/none/libcuda.so"],
        &["record", ".", "out", "--driver", "/none/libcuda.so"],
        &["gpu", "--driver", "/none/libcuda.so"],
    ] {
        let ran = softwarp(&examples(), words);
        assert_eq!(ran.code, 2, "{}", ran.stderr);
        for part in [
            "the CUDA driver `/none/libcuda.so` cannot be opened: ",
            "No such file",
            "--driver or SOFTWARP_GPU_DRIVER",
        ] {
            assert!(ran.stderr.contains(part), "{words:?}: {}", ran.stderr);
        }
    }
    let ran = softwarp(&examples(), &["run", "--gpu", "saxpy.json", "--device", "3"]);
    assert!(
        ran.code == 2 && ran.stderr.contains("there is no device 3: there is one, device 0"),
        "{}",
        ran.stderr
    );
    // A library that is no driver.
    let library = Path::new("/proc/self/exe").display().to_string();
    let ran = softwarp(&examples(), &["run", "--gpu", "saxpy.json", "--driver", &library]);
    assert!(ran.code == 2 && ran.stderr.starts_with("error: "), "{}", ran.stderr);
}

#[test]
fn modules_that_the_driver_refuses_are_told_with_its_messages() {
    let broken = MODULE.replace("add.f32 %f2", "add.f33 %f2");
    let newer = MODULE.replace("sm_90", "sm_100a").replace(".version 8.0", ".version 8.6");
    let latest = MODULE.replace(".version 8.0", ".version 9.2");
    let files = folder(&[("broken.ptx", &broken), ("newer.ptx", &newer), ("latest.ptx", &latest)]);
    let run = |name: &str, variables: &[(&str, &str)]| {
        let words = ["run", "--gpu", name, "--kernel", "k", "--block", "1", "--arg", "buffer:y=zero:4"];
        softwarp_with(files.path(), &words, variables)
    };
    let ran = run("broken.ptx", &[]);
    assert_eq!(ran.code, 1);
    assert!(
        ran.stderr.contains("CUDA_ERROR_INVALID_PTX") && ran.stderr.contains("line 12"),
        "{}",
        ran.stderr
    );
    let ran = run("newer.ptx", &[("SOFTWARP_ARCH", "sm_90")]);
    assert_eq!(ran.code, 1);
    assert!(
        ran.stderr.contains(
            "newer.ptx: the PTX is for sm_100a, and such code runs on no other GPU: the GPU is sm_90"
        ),
        "{}",
        ran.stderr
    );
    assert_eq!(run("newer.ptx", &[("SOFTWARP_ARCH", "sm_100")]).code, 0);
    let ran = run("latest.ptx", &[("SOFTWARP_CUDA_VERSION", "13000")]);
    assert_eq!(ran.code, 1);
    assert!(
        ran.stderr.contains("CUDA_ERROR_UNSUPPORTED_PTX_VERSION")
            && ran.stderr.contains("older than the PTX"),
        "{}",
        ran.stderr
    );
}

#[test]
fn what_a_gpu_does_not_do_is_named() {
    let constants = r#"{"ptx": "k.ptx", "launches": [{"kernel": "k", "grid": 1, "block": 1, "args": [{"constant": "c"}]}],
        "constants": {"c": {"init": "00000000"}}}"#;
    let multicast = launch(r#", "ptx": "k.ptx""#)
        .replace(r#""buffers": {"#, r#""buffers": {"m": {"multicast": ["y"]}, "#);
    let samples = launch(
        r#", "ptx": "k.ptx", "textures": [{"name": "t", "kind": "texobj", "format": "u8x4", "dims": [8, 8], "samples": 4}]"#,
    );
    let files = folder(&[
        ("k.ptx", KERNEL),
        ("constants.json", constants),
        ("multicast.json", &multicast),
        ("samples.json", &samples),
    ]);
    for (name, why) in [
        ("constants.json", "constants.c: CUDA's driver gives no addresses of constant memory"),
        ("multicast.json", "buffers.m: multicast memory is on several GPUs"),
        ("samples.json", "textures[0]: CUDA's driver makes no multi-sampled arrays"),
    ] {
        let ran = softwarp(files.path(), &["run", "--gpu", name]);
        assert!(ran.code == 1 && ran.stderr.contains(why), "{name}: {}", ran.stderr);
    }
    for (words, why) in [
        (&["run", "--gpu", "--stats"][..], "--stats: a GPU has no such thing"),
        (&["run", "--compare", "--sanitize", "all"], "--sanitize: a GPU has no such thing"),
        (
            &["run", "--gpu", "--steps", "7"],
            "--steps: a GPU has no such thing; run it without --gpu, or compare",
        ),
        (&["run", "--gpu", "--fmad=false"], "--fmad and --fidelity: a GPU has no such thing"),
        (&["run", "--device", "0"], "--device goes with --gpu or --compare"),
        (&["run", "--compare", "--check"], "give one of them"),
        (&["verify", "--timeout", "7"], "--timeout goes with --gpu"),
        (&["verify", "--gpu", "--steps", "7"], "--steps: a GPU counts none"),
    ] {
        let ran = softwarp(&examples(), &[words, &["saxpy.json"]].concat());
        assert!(ran.code == 2 && ran.stderr.contains(why), "{words:?}: {}", ran.stderr);
    }
}

#[test]
fn devices_are_listed() {
    let ran = softwarp_with(
        &examples(),
        &["gpu", "--json"],
        &[("SOFTWARP_DEVICES", "2"), ("SOFTWARP_ARCH", "sm_120")],
    );
    let devices = parsed(&ran);
    assert_eq!(devices.as_array().map(Vec::len), Some(2), "{}", ran.stdout);
    assert_eq!((&devices[1]["number"], &devices[1]["compute_capability"]), (&json!(1), &json!("12.0")));
    let text = softwarp(&examples(), &["gpu"]);
    assert!(text.stdout.starts_with("0  ") && text.stdout.contains("sm_90"), "{}", text.stdout);
    let second = softwarp_with(
        &examples(),
        &["run", "--gpu", "--device", "1", "saxpy.json", "--check"],
        &[("SOFTWARP_DEVICES", "2")],
    );
    assert_eq!(second.code, 0, "{}", second.stderr);
}

/// Launch files whose data is in other files stand alone in a recording.
#[test]
fn what_is_recorded_is_verified() {
    let seven = launch(r#", "ptx": "k.ptx", "dump": {"y": {"file": "out.bin"}}"#)
        .replace(r#"{"bytes": 4}"#, r#"{"init": {"file": "data/y.bin"}}"#);
    let forever = launch("").replace("\"k\"", "\"forever\"");
    let files = folder(&[
        ("suite/seven.json", &seven),
        ("suite/forever.json", &forever),
        ("suite/forever.ptx", KERNEL),
        ("suite/k.ptx", KERNEL),
        ("suite/data/y.bin", "\u{1}\u{2}\u{3}\u{4}\u{5}\u{6}\u{7}\u{8}"),
        ("suite/rows.jsonl", "{\"form\": \"cvt.rn.f16.f32\", \"rows\": [[\"3f800000\", \"ffff\"]]}\n"),
    ]);
    let words = ["record", "suite", "out", "--date", "a Tuesday", "--timeout", "2"];
    let ran = softwarp(files.path(), &words);
    assert_eq!(ran.code, 1, "{}{}", ran.stdout, ran.stderr);
    assert!(
        ran.stdout.contains("not recorded suite/forever.json: forever: it did not end within 2 s"),
        "{}",
        ran.stdout
    );
    assert!(ran.stdout.contains("2 rows recorded on softwarp sm_90 (sm_90, CUDA 13.4)\n"), "{}", ran.stdout);
    let ran = softwarp(files.path(), &["verify", "out"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "2 passed, 0 failed\n"), "{}", ran.stderr);
    let ran = softwarp(files.path(), &["verify", "--gpu", "out"]);
    assert_eq!(ran.stdout, "on softwarp sm_90 (sm_90, CUDA 13.4)\n2 passed, 0 failed\n", "{}", ran.stderr);

    let one = softwarp(files.path(), &["record", "suite/seven.json", "one.jsonl", "--date", "a Tuesday"]);
    assert_eq!(one.code, 0, "{}", one.stderr);
    let text = std::fs::read_to_string(files.path().join("one.jsonl")).expect("written");
    let row: Json = serde_json::from_str(&text).expect("a row");
    assert_eq!(row["launch"]["expect"]["y"], "0700000005060708");
    assert_eq!(row["launch"]["buffers"]["y"]["init"], "0102030405060708");
    assert_eq!(row["hardware"]["compute_capability"], "9.0");
    assert_eq!(row["hardware"]["date"], "a Tuesday");
    // A recording that says otherwise is held against the GPU, too.
    std::fs::write(files.path().join("one.jsonl"), text.replace("0700000005", "0800000005"))
        .expect("written");
    let ran = softwarp(files.path(), &["verify", "--gpu", "one.jsonl"]);
    assert!(ran.code == 1 && ran.stdout.contains("0 passed, 1 failed"), "{}", ran.stdout);
    let ran = softwarp(files.path(), &["record", "suite", "two.jsonl", "--timeout", "2"]);
    assert!(ran.code == 2 && ran.stderr.contains("name a folder"), "{}", ran.stderr);
}

/// Every kind of argument, memory, texture, surface, tensor map, cluster and large shared memory that recordings have.
#[test]
fn recordings_are_held_against_the_gpu() {
    for (name, passed, skipped) in [
        ("programs", 384, 6),
        ("asynchronous", 144, 0),
        ("clusters", 37, 0),
        ("textures", 906, 0),
        ("places", 24, 0),
    ] {
        let path = repository("crates/cli/tests/golden").join(format!("{name}.jsonl.gz"));
        let ran = softwarp(&examples(), &["verify", "--gpu", "--json", &path.display().to_string()]);
        let report = parsed(&ran);
        assert_eq!((ran.code, &report["passed"]), (0, &json!(passed)), "{name}: {}", ran.stderr);
        let refused = report["refused"].as_array().map_or(&[][..], Vec::as_slice);
        assert_eq!(refused.len(), skipped, "{name}");
        for one in refused {
            assert!(one["why"].as_str().is_some_and(|why| why.starts_with("a planted bug")), "{one}");
        }
    }
}

/// Recorded conversions become kernels: those of a Blackwell GPU on such a one.
#[test]
fn conversions_are_held_against_the_gpu() {
    let golden = repository("crates/cli/tests/golden");
    let path = |name: &str| golden.join(name).display().to_string();
    let files = ["h200/samples.jsonl.gz", "h200/pack.jsonl.gz", "cuda-headers/samples.jsonl.gz"].map(path);
    let words: Vec<&str> = ["verify", "--gpu"].into_iter().chain(files.iter().map(String::as_str)).collect();
    for (arch, passed, skipped) in [("sm_90", 870, 57), ("sm_100", 898, 29), ("sm_107", 927, 0)] {
        let ran = softwarp_with(&examples(), &words, &[("SOFTWARP_ARCH", arch)]);
        let skipped = if skipped == 0 { String::new() } else { format!(", {skipped} skipped") };
        assert!(
            ran.stdout.ends_with(&format!("\n{passed} passed, 0 failed{skipped}\n")),
            "{arch}: {}",
            ran.stdout
        );
    }
    // A result and a sum that are wrong are found.
    let rows = "{\"form\": \"cvt.rn.f16.f32\", \"rows\": [[\"3f800000\", \"3c01\"]]}\n";
    let sums: Vec<String> = vec!["0".to_owned(); 64];
    let sums = json!({"form": "cvt.f32.f16", "n": 65536, "sums": sums}).to_string() + "\n";
    let files = folder(&[("rows.jsonl", rows), ("sums.jsonl", &sums)]);
    let ran = softwarp(files.path(), &["verify", "--gpu", "."]);
    assert!(ran.code == 1 && ran.stdout.ends_with("\n0 passed, 2 failed\n"), "{}", ran.stdout);
    assert!(ran.stdout.contains("0x3f800000 gives 0x3c00, expected 0x3c01"), "{}", ran.stdout);
    // Recorded again, they are right.
    assert_eq!(softwarp(files.path(), &["record", ".", "new"]).code, 0);
    let ran = softwarp(files.path(), &["verify", "new"]);
    assert_eq!(ran.stdout, "2 passed, 0 failed\n", "{}", ran.stdout);
}

/// The transcripts of docs/hardware.md that need no GPU.
#[test]
fn the_page_shows_what_is_printed() {
    let page = std::fs::read_to_string(repository("docs/hardware.md")).expect("the page");
    let saxpy = |name: &str| std::fs::read_to_string(examples().join(name)).expect("an example");
    let files = folder(&[
        ("saxpy.json", &saxpy("saxpy.json")),
        ("saxpy.ptx", &saxpy("saxpy.ptx")),
        ("contract.ptx", CONTRACT),
    ]);
    let block = page.split("```").nth(1).expect("a block");
    let mut count = 0;
    for transcript in block.split("$ softwarp ").skip(1) {
        let (line, wanted) = transcript.split_once('\n').expect("a line");
        let words: Vec<&str> = line.split_whitespace().collect();
        let ran = softwarp(files.path(), &words);
        // The device is told before the results, the verdict after them.
        let (first, last) = ran.stderr.split_once('\n').expect("a line");
        assert_eq!(format!("{first}\n{}{last}", ran.stdout).trim_end(), wanted.trim_end(), "{line}");
        count += 1;
    }
    assert_eq!(count, 2);
}

const CONTRACT: &str = "\
.version 8.0
.target sm_90
.address_size 64
.visible .entry square(.param .u64 p)
{
    .reg .b64 %p; .reg .f32 %x, %y; .reg .b32 %i;
    ld.param.u64 %p, [p];
    mov.u32 %i, %tid.x;
    mad.wide.u32 %p, %i, 4, %p;
    ld.global.f32 %x, [%p];
    // One rounding or two.
    mul.f32 %y, %x, %x;
    add.f32 %y, %y, 0fBF800001;
    st.global.f32 [%p], %y;
    ret;
}
";
