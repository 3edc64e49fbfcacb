//! PTX out of cubins, fat binaries and programs: `softwarp run`, `check`, `layout`, `lower`, `fmt` and `ast`. The files
//! were made by nvcc (`crates/container/tests/data/make.sh`).

use crate::binary;
use crate::binary::{Ran, command};
use softwarp_testkit::{files, repository};
use std::path::{Path, PathBuf};

fn data() -> PathBuf {
    repository("crates/container/tests/data")
}

fn softwarp(arguments: &[&str]) -> Ran {
    in_folder(&data(), arguments)
}

fn in_folder(folder: &Path, arguments: &[&str]) -> Ran {
    binary::run(command(folder, arguments), b"")
}

const SAXPY: &[&str] = &[
    "--block=4",
    "--arg=u32:3",
    "--arg=f32:2",
    "--arg=buffer:x=f32:1,2,3",
    "--arg=buffer:y=f32:10*3",
    "--dump=y:f32",
];

#[test]
fn kernels_run_out_of_every_kind_of_file() {
    for file in ["default.fatbin", "speed.fatbin", "none.fatbin", "lineinfo.cubin", "machine_lineinfo.fatbin"]
    {
        let ran = softwarp(&[&["run", file], SAXPY].concat());
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{file}");
        assert!(ran.stdout.replace([' ', '\n'], "").contains("[12.0,14.0,16.0]"), "{file}: {}", ran.stdout);
    }
    for file in ["two_files.elf#2", "two_archs.o", "linked_files.elf", "linked_lineinfo.elf"] {
        let kernel = if file.starts_with("two_files") { "other" } else { "hello" };
        let arguments =
            ["run", file, "--kernel", kernel, "--block=2", "--arg=buffer:p=zero:8", "--dump=p:u32"];
        let ran = softwarp(&arguments);
        let expected = if kernel == "other" { "[2,2]" } else { "[1,1]" };
        assert_eq!(ran.code, 0, "{file}: {}", ran.stderr);
        assert!(ran.stdout.replace([' ', '\n'], "").contains(expected), "{file}: {}", ran.stdout);
    }
    // One kernel calls a function of another file.
    let first = ["run", "linked.cubin", "--kernel=first", "--arg=buffer:x=f32:2", "--dump=x:f32"];
    let ran = softwarp(&first);
    assert!(ran.code == 0 && ran.stdout.contains("13"), "{}{}", ran.stdout, ran.stderr);
}

#[test]
fn standard_input_and_launch_files_name_them_too() {
    let bytes = std::fs::read(data().join("lineinfo.cubin")).expect("the cubin");
    let ran = binary::run(command(&data(), &[&["run", "-"], SAXPY].concat()), &bytes);
    assert!(ran.code == 0 && ran.stdout.contains("16"), "{}{}", ran.stdout, ran.stderr);
    let folder = files::folder(&[]);
    std::fs::copy(data().join("two_files.elf"), folder.path().join("two.elf")).expect("copied");
    let launch = r#"{"ptx": "two.elf#1", "buffers": {"p": {"bytes": 8}},
        "launches": [{"kernel": "_Z5helloPi", "grid": 1, "block": [2, 1, 1], "args": [{"buffer": "p"}]}], "dump": {"p": {"type": "u32"}}}"#;
    std::fs::write(folder.path().join("launch.json"), launch).expect("written");
    let ran = in_folder(folder.path(), &["run", "launch.json"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stdout.replace([' ', '\n'], "").contains("[1,1]"), "{}", ran.stdout);
    std::fs::write(folder.path().join("launch.json"), launch.replace("two.elf#1", "../two.elf#1"))
        .expect("written");
    assert_eq!(in_folder(folder.path(), &["run", "launch.json"]).code, 1);
}

#[test]
fn the_gpu_chooses_among_several() {
    let told = "note: suffixes.fatbin: the PTX for sm_100f is taken; there is also some for sm_80, sm_90a \
                (--arch chooses)\n";
    let ran = softwarp(&["fmt", "suffixes.fatbin"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, told));
    assert!(ran.stdout.contains(".target sm_100f"), "{}", ran.stdout);
    for (arch, target) in [("sm_90a", "sm_90a"), ("sm_90", "sm_80"), ("89", "sm_80"), ("sm_120", "sm_80")] {
        let ran = softwarp(&["fmt", "--arch", arch, "suffixes.fatbin"]);
        assert!(
            ran.code == 0 && ran.stdout.contains(&format!(".target {target}\n")),
            "{arch}: {}",
            ran.stderr
        );
        assert!(ran.stderr.contains(&format!("the PTX for {target} is taken")), "{arch}: {}", ran.stderr);
        let ran = softwarp(&["ast", "--json", "--arch", arch, "suffixes.fatbin"]);
        assert!(ran.code == 0 && ran.stdout.contains(target), "{arch}: {}", ran.stderr);
    }
    let ran = softwarp(&[&["run", "suffixes.fatbin", "--arch=sm_90a"], SAXPY].concat());
    assert!(ran.code == 0 && ran.stdout.contains("16"), "{}", ran.stderr);
    softwarp(&["check", "--arch=sm_75", "suffixes.fatbin"]).is_refused(
        1,
        "suffixes.fatbin: no PTX for sm_75 in this fat binary: it has PTX for sm_80, sm_90a, sm_100f and machine \
         code for sm_80, sm_90a, sm_100f; name one of these with --arch",
    );
}

#[test]
fn several_modules_are_listed_and_checked() {
    softwarp(&["run", "two_files.elf"]).is_refused(
        2,
        "two_files.elf has 2 PTX modules: choose one, as in two_files.elf#1: two_files.elf#1 (_Z5helloPi), \
         two_files.elf#2 (_Z5otherPi)",
    );
    softwarp(&["lower", "two_files.elf#3"]).is_refused(2, "two_files.elf#3: two_files.elf has 2 modules");
    let ran = softwarp(&["check", "two_files.elf"]);
    let counts = "no errors in two_files.elf#1 (PTX)\nno errors in two_files.elf#2 (PTX)\n";
    assert_eq!((ran.code, ran.stderr.as_str()), (0, counts));
    let ran = softwarp(&["lower", "two_files.elf#2"]);
    assert!(ran.code == 0 && ran.stdout.contains("_Z5otherPi"), "{}", ran.stderr);
    let ran = softwarp(&["layout", "linked.cubin"]);
    assert!(
        ran.code == 0 && ran.stdout.contains("linked.cubin (PTX, part 1 of 2)"),
        "{}{}",
        ran.stdout,
        ran.stderr
    );
    softwarp(&["fmt", "linked.cubin"])
        .is_refused(1, "linked.cubin: it was linked of 2 PTX texts, and one is wanted");
    let ran = softwarp(&["check", "linked_half.cubin"]);
    let note = "note: linked_half.cubin: 1 part of it has no PTX; what it defines is missing\n";
    assert!(ran.stderr.contains(note), "{}", ran.stderr);
}

#[test]
fn files_without_ptx_say_what_helps() {
    let help = "; rebuild with -lineinfo, which keeps the PTX, or give the PTX";
    for command in ["run", "check", "layout", "lower", "fmt"] {
        softwarp(&[command, "plain.cubin"]).is_refused(
            1,
            &format!("plain.cubin: no PTX in this cubin: it has machine code for sm_90{help}"),
        );
    }
    softwarp(&["check", "lto.fatbin"])
        .is_refused(1, &format!("lto.fatbin: no PTX in this fat binary: it has LTO-IR for sm_90{help}"));
    softwarp(&["check", "machine.so"])
        .is_refused(1, &format!("machine.so: no PTX in this file: it has machine code for sm_90{help}"));
    let program = env!("CARGO_BIN_EXE_softwarp");
    let ran = softwarp(&["check", program]);
    assert!(
        ran.code == 1 && ran.stderr.contains("without GPU code: it has no section .nv_fatbin"),
        "{}",
        ran.stderr
    );
}

/// What the assembler was told about contraction counts, unless the user says otherwise.
#[test]
fn the_assemblers_fmad_is_kept() {
    let fuses = |arguments: &[&str]| {
        let ran = softwarp(&[&["lower"], arguments].concat());
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        ran.stdout.contains("fma")
    };
    assert!(fuses(&["lineinfo.cubin"]));
    let separate = softwarp(&["fmt", "lineinfo_no_fmad.cubin"]).stdout;
    assert!(separate.contains("mul") && !separate.contains("fma."), "{separate}");
    assert!(!fuses(&["lineinfo_no_fmad.cubin"]));
    assert!(fuses(&["--fmad=true", "lineinfo_no_fmad.cubin"]) || separate.contains(".rn"));
}

/// The place of `softwarp ptxas` in a build: what it writes is read back.
#[test]
fn what_softwarp_ptxas_writes_is_read() {
    let folder = files::folder(&[]);
    let ptx = repository("examples/saxpy.ptx");
    let ptx = ptx.to_str().expect("a path");
    in_folder(folder.path(), &["ptxas", "-arch=sm_90", "--fmad=false", "-o", "saxpy.cubin", ptx]).success();
    let ran = in_folder(folder.path(), &["check", "saxpy.cubin"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, "no errors in saxpy.cubin (PTX)\n"));
}

/// A launch file with a cubin is a test as any other.
#[test]
fn recordings_may_have_cubins() {
    let launch = |expected: &str| {
        format!(
            r#"{{"ptx": "k.cubin", "buffers": {{"x": {{"init": {{"f32": [1, 2]}}}}, "y": {{"init": {{"f32": [10, 10]}}}}}},
            "launches": [{{"kernel": "saxpy", "grid": 1, "block": 2,
                "args": [{{"u32": 2}}, {{"f32": 2}}, {{"buffer": "x"}}, {{"buffer": "y"}}]}}],
            "expect": {{"y": {{"f32": {expected}}}}}}}"#
        )
    };
    let folder = files::folder(&[("right.json", &launch("[12, 14]")), ("wrong.json", &launch("[12, 15]"))]);
    std::fs::copy(data().join("lineinfo.cubin"), folder.path().join("k.cubin")).expect("copied");
    let ran = in_folder(folder.path(), &["verify", "."]);
    assert!(ran.code == 1 && ran.stdout.ends_with("1 passed, 1 failed\n"), "{}{}", ran.stdout, ran.stderr);
    std::fs::copy(data().join("linked.cubin"), folder.path().join("k.cubin")).expect("copied");
    let ran = in_folder(folder.path(), &["verify", "."]);
    assert!(
        ran.stdout.contains("there are several PTX texts in it")
            || ran.stderr.contains("there are several PTX texts in it"),
        "{}{}",
        ran.stdout,
        ran.stderr
    );
}
