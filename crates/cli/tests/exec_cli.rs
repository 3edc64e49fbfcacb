//! `softwarp exec` and `softwarp ptxas` as their users meet them: programs of the driver API that `cc` compiles.
#![cfg(target_os = "linux")]

use crate::binary::{Ran, command, run as call};
use softwarp_testkit::repository;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// Where cargo puts the libraries that this test depends on.
fn libraries() -> PathBuf {
    Path::new(env!("CARGO_BIN_EXE_softwarp")).parent().expect("a folder").join("deps")
}

/// A folder with the example of `examples/exec`, compiled.
fn example() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("exec");
        std::fs::create_dir_all(&folder).expect("a folder");
        for file in std::fs::read_dir(repository("examples/exec")).expect("the example") {
            let file = file.expect("a file");
            std::fs::copy(file.path(), folder.join(file.file_name())).expect("copied");
        }
        let mut compiler = Command::new("cc");
        compiler.args(["-Wall", "-Werror", "-o", "sum", "sum.c", "-L"]).arg(libraries()).arg("-lcuda");
        assert!(compiler.current_dir(&folder).status().expect("cc runs").success());
        folder
    })
}

fn softwarp(arguments: &[&str]) -> Ran {
    let mut command = command(example(), arguments);
    command.env("SOFTWARP_LIB", libraries());
    call(command, b"")
}

fn exec(arguments: &[&str]) -> Ran {
    softwarp(&[&["exec"], arguments].concat())
}

/// A text in which the time that kernels took is 0.
fn without_times(text: &str) -> String {
    const BEHIND: &str = " s in kernels";
    let mut parts = text.split(BEHIND).peekable();
    let mut whole = String::new();
    while let Some(part) = parts.next() {
        match parts.peek() {
            Some(_) => {
                whole.push_str(part.trim_end_matches(|it: char| it.is_ascii_digit() || it == '.'));
                whole.push('0');
                whole.push_str(BEHIND);
            }
            None => whole.push_str(part),
        }
    }
    whole
}

/// Runs every `$ softwarp exec` of a page, in the folder of the example, and compares what is printed.
fn replay(page: &str) -> usize {
    let text = std::fs::read_to_string(repository(page)).expect("the page");
    let folder = Path::new(env!("CARGO_BIN_EXE_softwarp")).parent().expect("a folder");
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap_or_default());
    let mut count = 0;
    for block in text.split("```").skip(1).step_by(2) {
        let mut transcripts = block.split("$ ").skip(1).peekable();
        while let Some(transcript) = transcripts.next() {
            let (line, wanted) = transcript.split_once('\n').expect("a line");
            if !line.starts_with("softwarp exec ") {
                continue;
            }
            let mut shell = Command::new("sh");
            shell.arg("-c").arg(format!("( {line} ) 2>&1")).current_dir(example());
            shell.env("PATH", &path).env("SOFTWARP_LIB", libraries());
            let ran = call(shell, b"");
            let is_last = transcripts.peek().is_none();
            let wanted = if is_last { wanted } else { wanted.trim_end_matches('\n') };
            assert_eq!(
                without_times(ran.stdout.trim_end()),
                without_times(wanted.trim_end()),
                "{page}: {line}"
            );
            count += 1;
        }
    }
    count
}

#[test]
fn the_transcripts_of_the_documents_are_true() {
    assert!(replay("docs/exec.md") >= 3);
    assert!(replay("README.md") >= 1);
}

#[test]
fn a_program_runs_and_is_summed_up() {
    let ran = exec(&["--format", "json", "--", "./sum", "sum.ptx", "2000"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "2001000\n"), "{}", ran.stderr);
    let summary: serde_json::Value = serde_json::from_str(&ran.stderr).expect("JSON");
    assert_eq!((&summary["launches"], &summary["kernels"]), (&1.into(), &1.into()));
    assert_eq!((&summary["warps"], &summary["bytes_copied"]), (&64.into(), &8004.into()));
    assert_eq!((&summary["faults"], &summary["processes"]), (&0.into(), &1.into()));
    let quiet = exec(&["--quiet", "./sum", "sum.ptx", "3"]);
    assert_eq!((quiet.code, quiet.stdout.as_str(), quiet.stderr.as_str()), (0, "6\n", ""));
}

/// PTX for a newer GPU runs if no GPU was asked for, and the summary says so.
#[test]
fn code_for_a_newer_gpu_runs_and_is_told() {
    let text = std::fs::read_to_string(example().join("sum.ptx")).expect("PTX");
    let newer = text.replacen(".target sm_75", ".target sm_120a", 1);
    assert_ne!(newer, text);
    std::fs::write(example().join("newer.ptx"), newer).expect("written");
    let ran = exec(&["--", "./sum", "newer.ptx", "2000"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "2001000\n"), "{}", ran.stderr);
    let told = "softwarp: 1 launch of PTX for sm_120a ran on a simulated sm_90\n";
    assert!(ran.stderr.ends_with(told), "{}", ran.stderr);
    let ran = exec(&["--format", "json", "--", "./sum", "newer.ptx", "2000"]);
    let summary: serde_json::Value = serde_json::from_str(&ran.stderr).expect("JSON");
    assert_eq!(
        (&summary["gpu"], &summary["newer_ptx"]),
        (&"sm_90".into(), &serde_json::json!({"sm_120a": 1}))
    );
    // A GPU that was asked for is as strict as it is.
    let ran = exec(&["--arch", "sm_90", "--", "./sum", "newer.ptx", "2000"]);
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("SM version specified by .target is higher"), "{}", ran.stderr);
    let ran = exec(&["--arch", "sm_120", "--", "./sum", "newer.ptx", "2000"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "2001000\n"), "{}", ran.stderr);
    assert!(!ran.stderr.contains("simulated"), "{}", ran.stderr);
}

/// Compare mode in programs on the driver library: right code is equal, wrong code a finding with a folder that shows it
/// again.
#[test]
fn compiled_code_is_compared_with_the_interpreter() {
    let exec = |flaw: &str, arguments: &[&str]| {
        let mut command =
            command(example(), &[&["exec", "--jit", "compare", "--format", "json"], arguments].concat());
        command.env("SOFTWARP_LIB", libraries()).env("SOFTWARP_JIT_FLAW", flaw);
        call(command, b"")
    };
    let summary = |ran: &Ran| -> serde_json::Value {
        serde_json::from_str(ran.stderr.lines().last().expect("a summary")).expect("JSON")
    };
    let right = exec("", &["--", "./sum", "sum.ptx", "2000"]);
    assert_eq!((right.code, right.stdout.as_str()), (0, "2001000\n"), "{}", right.stderr);
    assert_eq!(
        (&summary(&right)["compared"]["equal"], &summary(&right)["findings"]),
        (&1.into(), &serde_json::json!({}))
    );
    let _ = std::fs::remove_dir_all(example().join("differing"));
    let sanitized = ["--mismatches", "differing", "--check", "--sanitize", "leak"];
    let wrong = exec("1", &[&sanitized[..], &["--", "./sum", "sum.ptx", "2000"]].concat());
    // The program sees the interpreter's result.
    assert_eq!((wrong.code, wrong.stdout.as_str()), (1, "2001000\n"), "{}", wrong.stderr);
    assert_eq!(summary(&wrong)["findings"], serde_json::json!({"jit-mismatch": 1}));
    assert!(wrong.stderr.contains("atom.global.add.f32"), "{}", wrong.stderr);
    let folder = example().join("differing/sum-1");
    let mut again = command(&folder, &["run", "launch.json", "--jit", "compare"]);
    again.env("SOFTWARP_JIT_FLAW", "1");
    let again = call(again, b"");
    let found = &again.json()["findings"][0];
    let is_found = (&found["kind"], &found["at"]["line"]) == (&"jit-mismatch".into(), &95.into());
    assert!(again.code == 1 && is_found, "{found} {}", again.stderr);
}

/// A program with a stand-in of the static runtime in it: what it calls is softwarp's runtime.
#[cfg(all(target_arch = "x86_64", target_env = "gnu"))]
#[test]
fn a_runtime_in_a_program_is_redirected() {
    const MAIN: &str = "
        #include <stdio.h>
        int cudaMalloc(void **, unsigned long), cudaMemset(void *, int, unsigned long);
        int cudaMemcpy(void *, const void *, unsigned long, int), cudaRuntimeGetVersion(int *);
        int main(void) {
            void *at;
            int number = 0, version = 0, code = cudaMalloc(&at, 4);
            code |= cudaMemset(at, 1, 4) | cudaMemcpy(&number, at, 4, 2) | cudaRuntimeGetVersion(&version);
            printf(\"%d %#x %d\\n\", code, number, version);
            return 0;
        }";
    let folder = example();
    std::fs::write(folder.join("memory.c"), MAIN).expect("written");
    let mut compiler = Command::new("cc");
    compiler.args(["-O2", "-fno-toplevel-reorder", "-DNUMBER=12090", "-o", "memory", "memory.c"]);
    compiler.arg(repository("crates/audit/tests/programs/runtime.c"));
    assert!(compiler.current_dir(folder).status().expect("cc runs").success());
    let ran = exec(&["--", "./memory"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "0 0x1010101 12090\n"), "{}", ran.stderr);
    // A process that it starts, with an auditor that was there already.
    let script = "case $LD_AUDIT in *audit.so:/none.so) ./memory;; esac";
    let mut child = command(folder, &["exec", "--trace", "--", "/bin/sh", "-c", script]);
    child.env("SOFTWARP_LIB", libraries()).env("LD_AUDIT", "/none.so");
    let ran = call(child, b"");
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "0 0x1010101 12090\n"), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("/memory: 14 functions of its CUDA runtime 12.9 redirected\n"),
        "{}",
        ran.stderr
    );
    // Without the libraries that redirect, the driver's library is not even asked: the stand-in fails by itself.
    let mut alone = command(folder, &["exec", "--quiet", "--", "./memory"]);
    let few = folder.join("few");
    std::fs::create_dir_all(&few).expect("a folder");
    for library in ["libcuda.so", "libcudart.so"] {
        let _ = std::os::unix::fs::symlink(libraries().join(library), few.join(library));
    }
    alone.env("SOFTWARP_LIB", few);
    assert!(call(alone, b"").stdout.starts_with("-1 "));
}

#[test]
fn the_exit_code_is_the_programs() {
    let code = |arguments: &[&str]| exec(&[&["--quiet", "--"], arguments].concat()).code;
    assert_eq!(code(&["sh", "-c", "exit 7"]), 7);
    assert_eq!(code(&["sh", "-c", "kill -9 $$"]), 137);
    assert_eq!(code(&["sh", "-c", "kill -TERM $$"]), 143);
    // Words of the program are not numbers to us.
    assert_eq!(code(&["sh", "-c", "test $1 = -1", "sh", "-1"]), 0);
    assert_eq!(code(&["./sum"]), 2);
    assert_eq!(code(&["./sum", "sum_bounds.ptx"]), 1);
    assert_eq!(code(&["no-such-program-here"]), 127);
    assert_eq!(code(&["./no-such-program-here"]), 127);
    assert_eq!(code(&["./sum.c"]), 126);
}

#[test]
fn a_report_names_the_kernels_line_and_inlined_functions() {
    let text = std::fs::read_to_string(example().join("sum.ptx")).expect("the kernel");
    let text = text.replace("[%rd6]", "[%rd6+4096]");
    std::fs::write(example().join("sum_inlined.ptx"), text).expect("written");
    let ran = exec(&["--", "./sum", "sum_inlined.ptx"]);
    let report = "    at sum.cu:15:9, line 95 of the PTX: atom.global.add.f32 %f8, [%rd6+4096], %f7;\n    \
        inlined `atomicAdd` at sm_20_atomic_functions.hpp:84:3\n";
    assert!(ran.stderr.contains(report), "{}", ran.stderr);
}

#[test]
fn check_fails_where_something_was_found() {
    let found = exec(&["--check", "--", "./sum", "sum_race.ptx"]);
    assert_eq!(found.code, 1);
    assert!(
        found.stderr.contains("later access: at sum_race.cu:6:5, line 54 of the PTX"),
        "{}",
        found.stderr
    );
    assert_eq!(exec(&["--check", "--", "./sum", "sum.ptx"]).code, 0);
    // The race is not looked for.
    assert_eq!(exec(&["--check", "--sanitize", "leak", "--", "./sum", "sum_race.ptx"]).code, 0);
    assert_eq!(exec(&["--sanitize", "race", "--", "./sum", "sum_race.ptx"]).code, 0);
    // A report is appended to what an earlier run of this test left.
    let _ = std::fs::remove_file(example().join("report.txt"));
    // Children and processes that end without `exit` count as well.
    let forked = "./sum sum_race.ptx & wait; ./sum sum_race.ptx; kill -9 $$";
    let ran = exec(&["--check", "--format", "json", "--report", "report.txt", "--", "sh", "-c", forked]);
    let summary: serde_json::Value = serde_json::from_str(&ran.stderr).expect("JSON");
    assert_eq!((ran.code, &summary["processes"]), (137, &2.into()));
    assert_eq!(summary["findings"]["race"], 2);
    let report = std::fs::read_to_string(example().join("report.txt")).expect("a report");
    assert_eq!(report.matches("race between threads").count(), 2);
    // On standard output the report comes after what the program wrote.
    let ran = exec(&[
        "--check",
        "--quiet",
        "--report",
        "-",
        "--",
        "sh",
        "-c",
        "echo first; ./sum sum_race.ptx; echo last",
    ]);
    let (last, race) = (ran.stdout.find("last\n"), ran.stdout.find("race between threads"));
    assert!(last.is_some() && last < race, "{}\n{}", ran.stdout, ran.stderr);
    assert!(!ran.stderr.contains("race between"), "{}", ran.stderr);
    assert!(!example().join("-").exists());
}

#[test]
fn settings_reach_the_program() {
    let show = "echo $SOFTWARP_ARCH $SOFTWARP_THREADS $SOFTWARP_MEMORY $SOFTWARP_DEVICES $SOFTWARP_SANITIZE; \
                echo $NVCC_APPEND_FLAGS; ls $TRITON_LIBCUDA_PATH; echo $LD_PRELOAD";
    let options =
        "--arch sm_80 --threads 3 --memory 2M --devices 2 --sanitize race,init --hide-nvjitlink always";
    let options: Vec<&str> = options.split(' ').collect();
    let ran = exec(&[&options[..], &["--", "sh", "-c", show]].concat());
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert_eq!(lines[..2], ["sm_80 3 2097152 2 race,init", "-lineinfo"]);
    assert!(lines.contains(&"libcuda.so.1") && lines.contains(&"libcuda.so"), "{lines:?}");
    assert!(lines.last().is_some_and(|line| line.ends_with("/preload/libnvJitLink.so.13")), "{lines:?}");
    assert_eq!(ran.stderr, "softwarp: the program did not initialise the CUDA driver\n");
    let refused = exec(&["--arch", "sm_1", "--", "true"]);
    assert_eq!(refused.code, 2);
}

/// A program that was linked with the runtime of CUDA 11 as a library.
#[test]
fn the_runtime_of_cuda_11_is_refused_by_name() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cuda_11");
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join("lib.c"), "int cudaFree(void *p) { return p != 0; }\n").expect("written");
    std::fs::write(folder.join("main.c"), "int cudaFree(void *);\nint main(void) { return cudaFree(0); }\n")
        .expect("written");
    for words in [
        &["-shared", "-fPIC", "-Wl,-soname,libcudart.so.11.0", "-o", "libcudart.so", "lib.c"][..],
        &["-o", "program", "main.c", "-L.", "-lcudart"],
    ] {
        assert!(Command::new("cc").args(words).current_dir(&folder).status().expect("cc runs").success());
    }
    let mut command = command(&folder, &["exec", "--", "./program"]);
    command.env("SOFTWARP_LIB", libraries());
    let ran = call(command, b"");
    assert_eq!(ran.code, 127, "{}", ran.stderr);
    assert!(
        ran.stderr.contains("the program needs the CUDA runtime 11 (libcudart.so.11.0)"),
        "{}",
        ran.stderr
    );
}

/// A program in the folder of the example, with a name by which it is taken for Python.
fn like_python(name: &str, source: &str) {
    let file = example().join(format!("{name}.c"));
    std::fs::write(&file, source).expect("written");
    let mut compiler = Command::new("cc");
    compiler.args(["-Wall", "-Werror", "-o", name]).arg(&file).arg("-ldl");
    assert!(compiler.current_dir(example()).status().expect("cc runs").success());
}

/// CuPy takes two folders above the real path of NVRTC's library for that of the toolkit.
#[test]
fn the_archive_of_the_device_runtime_is_beside_nvrtc() {
    let source = r#"
        #define _GNU_SOURCE
        #include <dlfcn.h>
        #include <limits.h>
        #include <stdio.h>
        #include <stdlib.h>
        #include <string.h>
        int main(void) {
            Dl_info found;
            char path[PATH_MAX + 32];
            void *library = dlopen("libnvrtc.so.13", RTLD_NOW | RTLD_NOLOAD);
            if (!library || !dladdr(dlsym(library, "nvrtcVersion"), &found) || !realpath(found.dli_fname, path))
                return 1;
            strcpy(strrchr(path, '/'), "/../lib/libcudadevrt.a");
            FILE *file = fopen(path, "r");
            return file && fgets(path, 9, file) && !strcmp(path, "!<arch>\n") ? 0 : 2;
        }"#;
    like_python("python-archive", source);
    let ran = exec(&["--", "./python-archive"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
}

#[test]
fn the_stand_in_of_nvrtc_is_not_taken_for_nvidias() {
    let source = r#"
        #include <dlfcn.h>
        #include <stdio.h>
        int main(void) {
            int major, minor;
            int (*version)(int *, int *) = dlsym(dlopen("libnvrtc.so.13", RTLD_NOW), "nvrtcVersion");
            printf("%d\n", version(&major, &minor));
        }"#;
    like_python("python-version", source);
    let mut command = command(example(), &["exec", "--", "./python-version"]);
    command.env("SOFTWARP_LIB", libraries()).env("SOFTWARP_NVRTC", libraries().join("libnvrtc.so"));
    let ran = call(command, b"");
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "11\n"), "{}", ran.stderr);
    assert!(ran.stderr.contains("NVIDIA's libnvrtc.so.13 or .12 was not found"), "{}", ran.stderr);
}

#[test]
fn missing_libraries_are_named() {
    let ran = exec(&["--lib", "/nonexistent", "--", "true"]);
    assert_eq!(ran.code, 2);
    assert!(
        ran.stderr.contains("libcuda.so is not in /nonexistent; `cargo build --release`"),
        "{}",
        ran.stderr
    );
}

#[test]
fn ptxas_hands_a_module_through() {
    let folder = example();
    let ran =
        softwarp(&["ptxas", "-lineinfo", "--gpu-name=sm_90", "-v", "-O3", "sum.ptx", "-o", "plain.cubin"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, ""), "{}", ran.stderr);
    assert!(ran.stderr.starts_with("ptxas info    : "), "{}", ran.stderr);
    let source = std::fs::read_to_string(folder.join("sum.ptx")).expect("the source");
    let output = |name: &str| std::fs::read_to_string(folder.join(name)).expect("the output");
    assert_eq!(output("plain.cubin"), format!("{source}\0"));
    softwarp(&["ptxas", "--fmad=false", "sum.ptx", "-o", "no_fmad.cubin"]).success();
    assert_eq!(output("no_fmad.cubin"), format!("/* softwarp ptxas: -fmad false */ {source}\0"));
    for image in ["plain.cubin", "no_fmad.cubin"] {
        assert_eq!(exec(&["--quiet", "--", "./sum", image]).success().stdout, "500500\n");
    }
}

#[test]
fn ptxas_reports_in_its_own_form() {
    let broken = repository("examples/broken.ptx");
    let ran =
        softwarp(&["ptxas", "-arch=sm_90", "--foo", &broken.display().to_string(), "-o", "broken.cubin"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (255, ""));
    let lines: Vec<&str> = ran.stderr.lines().collect();
    assert_eq!(lines[0], "ptxas warning : Unknown option '-foo' is ignored");
    assert!(
        lines[1].starts_with(&format!("ptxas {}, line 19; error   : ", broken.display())),
        "{}",
        lines[1]
    );
    assert_eq!(lines[4], "ptxas fatal   : Ptx assembly aborted due to errors");
    assert!(!example().join("broken.cubin").exists());
    let missing = softwarp(&["ptxas", "nothing.ptx"]);
    assert_eq!(missing.code, 255);
    assert!(missing.stderr.starts_with("ptxas fatal   : Input file 'nothing.ptx' could not be opened\n"));
    assert_eq!(softwarp(&["ptxas"]).code, 255);
}

#[test]
fn ptxas_is_a_name_of_the_executable() {
    let link = example().join("ptxas");
    let _ = std::fs::remove_file(&link);
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_softwarp"), &link).expect("a link");
    let mut version = Command::new(&link);
    version.arg("--version");
    let ran = call(version, b"");
    assert!(ran.success().stdout.contains("Cuda compilation tools, release 13.4, V13.4."), "{}", ran.stdout);
    assert_eq!(softwarp(&["ptxas", "--version"]).stdout, ran.stdout);
}
