//! Standard streams: every command fails where standard output or standard error is full; `-` is standard input or
//! output; progress is shown on a terminal alone.
#![cfg(target_os = "linux")]

use crate::binary::{Ran, command, run as call};
use softwarp_cli::npy::{Array, DType};
use softwarp_testkit::examples;
use std::fs::OpenOptions;
use std::process::Command;

/// For each command a call that prints something; `{}` is a folder of the test's own. Commands whose results are files
/// alone are called for help.
const CALLS: &[(&str, &[&str])] = &[
    ("check", &["broken.ptx"]),
    ("layout", &["layout.ptx"]),
    ("lower", &["saxpy.ptx"]),
    ("run", &["saxpy.json"]),
    ("debug", &["--batch", "saxpy.json"]),
    ("exec", &["--help"]),
    ("ptxas", &["--version"]),
    ("fmt", &["-"]),
    ("ast", &["--json", "saxpy.ptx"]),
    ("explain", &["E0005"]),
    ("cvt", &["rn.satfinite.e4m3x2.f32", "1.5", "-300"]),
    ("const", &["1 + 1"]),
    ("tensor check", &["tensor/tile.json"]),
    ("tensor encode", &["tensor/tile.json"]),
    ("tensor decode", &["{}/object"]),
    ("tensor copy", &["tensor/tile.json"]),
    ("tensor show", &["tensor/tile.json"]),
    ("tensor draw", &["tensor/tile.json", "--svg", "-"]),
    ("quantize", &["--to", "mxfp4", "weights.npy", "{}/weights.npz", "--json"]),
    ("dequantize", &["--help"]),
    ("diff", &["weights.npy", "weights.npy"]),
    ("formats", &["e4m3"]),
    ("verify", &["{}/rows.jsonl"]),
    ("record", &["--help"]),
    ("gpu", &["--help"]),
    ("completions", &["bash"]),
    ("lsp", &["--help"]),
    ("man", &[]),
];

/// More calls, by other ways of printing.
const MORE: &[&[&str]] = &[
    &["check", "--json", "broken.ptx"],
    &["check", "--format", "github", "broken.ptx"],
    &["check", "--format", "sarif", "broken.ptx"],
    &["layout", "--json", "layout.ptx"],
    &["layout", "--svg", "-", "layout.ptx"],
    &["run", "saxpy.json", "--check", "--stats"],
    &["explain", "--json"],
    &["cvt", "f32.f16", "--json"],
    &["cvt", "--list", "e4m3"],
    &["diff", "weights.npy", "weights.npy", "--json"],
    &["const", "1.5", "--json"],
    &["tensor", "show", "tensor/tile.json", "--json"],
    &["formats", "--json"],
    &["verify", "{}/rows.jsonl", "--json"],
    &["--help"],
    &["--version"],
];

/// The commands that a help page lists.
fn listed(words: &[&str]) -> Vec<String> {
    let help = call(command(&examples(), &[words, &["--help"]].concat()), b"").stdout;
    let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let lines = lines
        .take_while(|line| !line.is_empty())
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let names = lines.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help");
    names.map(str::to_owned).collect()
}

/// All commands, those of commands included.
fn commands() -> Vec<String> {
    let mut all = Vec::new();
    for name in listed(&[]) {
        let inner = listed(&[&name]);
        match inner.is_empty() {
            true => all.push(name),
            false => all.extend(inner.iter().map(|one| format!("{name} {one}"))),
        }
    }
    all
}

/// A folder of things to be read, and calls with its name in them.
struct Place(softwarp_testkit::files::TempDir);

impl Place {
    fn new() -> Place {
        let folder = softwarp_testkit::files::temporary();
        let rows = "{\"form\": \"rn.f16.f32\", \"rows\": [[\"3f800000\", \"3c00\"]]}\n";
        std::fs::write(folder.path().join("rows.jsonl"), rows).expect("written");
        let object = call(command(&examples(), &["tensor", "encode", "tensor/tile.json"]), b"").stdout;
        std::fs::write(folder.path().join("object"), object).expect("written");
        let half = Array::new(DType::new('f', 2), vec![2], vec![0; 4]).to_bytes();
        std::fs::write(folder.path().join("half.npy"), half).expect("written");
        Place(folder)
    }

    fn command(&self, words: &[&str]) -> Command {
        let path = self.0.path().display().to_string();
        let words: Vec<String> = words.iter().map(|word| word.replace("{}", &path)).collect();
        command(&examples(), &words.iter().map(String::as_str).collect::<Vec<_>>())
    }
}

fn full() -> std::fs::File {
    OpenOptions::new().write(true).open("/dev/full").expect("Linux has it")
}

fn ran(mut command: Command) -> Ran {
    let source = std::fs::File::open(examples().join("scale.ptx")).expect("the example");
    command.stdin(source).output().expect("the binary runs").into()
}

#[test]
fn every_command_fails_where_standard_output_is_full() {
    let tested: Vec<&str> = CALLS.iter().map(|(name, _)| *name).collect();
    assert_eq!(commands(), tested, "a call for each command, in the order of the help page");
    let place = Place::new();
    let calls =
        CALLS.iter().map(|(name, rest)| name.split(' ').chain(rest.iter().copied()).collect::<Vec<_>>());
    for words in calls.chain(MORE.iter().map(|words| words.to_vec())) {
        let well = ran(place.command(&words));
        assert!(!well.stdout.is_empty(), "{words:?} prints nothing: {}", well.stderr);
        let mut command = place.command(&words);
        command.stdout(full());
        let full = ran(command);
        assert_eq!(full.code, 2, "{words:?}: {}", full.stderr);
        assert!(
            full.stderr.contains("error: cannot write to standard output: No space left"),
            "{words:?}: {}",
            full.stderr
        );
    }
}

#[test]
fn help_pages_fail_where_standard_output_is_full() {
    for name in commands() {
        let words: Vec<&str> = name.split(' ').chain(["--help"]).collect();
        let mut command = command(&examples(), &words);
        command.stdout(full());
        assert_eq!(ran(command).code, 2, "{name}");
    }
}

#[test]
fn what_is_lost_on_standard_error_shows_in_the_exit_code() {
    let folder = softwarp_testkit::files::temporary();
    let hello = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() { ret; }\n";
    std::fs::write(folder.path().join("k.ptx"), hello).expect("written");
    for words in [&["check", "k.ptx"][..], &["run", "k.ptx", "--trace", "0:0"], &["run", "k.ptx", "--stats"]]
    {
        assert_eq!(ran(command(folder.path(), words)).code, 0, "{words:?}");
        let mut lost = command(folder.path(), words);
        lost.stderr(full());
        assert_eq!(ran(lost).code, 2, "{words:?}");
    }
}

#[test]
fn a_closed_pipe_is_no_error() {
    let place = Place::new();
    for words in [&["formats", "bf16"][..], &["layout", "--json", "layout.ptx"], &["run", "saxpy.json"]] {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let mut command = place.command(words);
        command.stdout(writer);
        let ran = ran(command);
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{words:?}");
    }
}

#[test]
fn arrays_are_lost_where_standard_output_is_full() {
    let place = Place::new();
    for words in [
        &["cvt", "f32.f16", "--input", "{}/half.npy", "--output", "-"][..],
        &["quantize", "--to", "mxfp4", "weights.npy", "-"],
    ] {
        let mut command = place.command(words);
        command.stdout(full());
        let full = ran(command);
        assert_eq!(full.code, 2, "{words:?}: {}", full.stderr);
        assert!(full.stderr.contains("cannot write to standard output"), "{words:?}: {}", full.stderr);
    }
}

/// What a call writes to standard output, byte by byte, with a file as its input.
fn written(place: &Place, words: &[&str], input: &[u8]) -> Vec<u8> {
    let mut command = place.command(words);
    command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
    command.stderr(std::process::Stdio::piped());
    let mut child = command.spawn().expect("the binary runs");
    let mut to = child.stdin.take().expect("a pipe");
    let input = input.to_vec();
    let writer = std::thread::spawn(move || std::io::Write::write_all(&mut to, &input));
    let output = child.wait_with_output().expect("it ends");
    let _ = writer.join();
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

/// What a call writes to `-` is what it writes to a file, and what it reads from `-` is what it reads from one.
#[test]
fn a_hyphen_is_standard_input_and_output() {
    let place = Place::new();
    let folder = place.0.path();
    let read = |name: &str| std::fs::read(folder.join(name)).expect("a file");
    let example = |name: &str| std::fs::read(examples().join(name)).expect("an example");
    std::fs::write(folder.join("zeros"), vec![0; 8192]).expect("written");
    // What is written: the call with a file at the end, and that with `-`.
    for (words, last) in [
        (&["ptxas", "saxpy.ptx", "-o"][..], "out"),
        (&["layout", "layout.ptx", "--svg"], "out"),
        (&["run", "saxpy.json", "--coverage"], "out"),
        (&["run", "saxpy.json", "--dump"], "y=out"),
        (&["quantize", "--to", "mxfp4", "weights.npy"], "out"),
        (&["cvt", "f32.f16", "--input", "{}/half.npy", "--output"], "out"),
        (&["tensor", "copy", "tensor/tile.json", "--input", "{}/zeros", "--output"], "out"),
        (&["tensor", "draw", "tensor/tile.json", "--html"], "out"),
        (&["formats", "e4m3", "--svg"], "out"),
    ] {
        let to_file = last.replace("out", "{}/out");
        written(&place, &[words, &[&to_file]].concat(), b"");
        let to_stdout = last.replace("out", "-");
        let printed = written(&place, &[words, &[&to_stdout]].concat(), b"");
        assert!(!printed.is_empty() && printed == read("out"), "{words:?} {last}");
        std::fs::remove_file(folder.join("out")).expect("removed");
    }
    // What is read: the call with `{}` for the file, and the file.
    for (words, file) in [
        (&["ptxas", "FILE", "-o", "-"][..], "saxpy.ptx"),
        (&["check", "--json", "FILE"], "saxpy.ptx"),
        (&["fmt", "-"], "saxpy.ptx"),
        (&["ast", "--json", "FILE"], "saxpy.ptx"),
        (&["lower", "FILE"], "saxpy.ptx"),
        (&["layout", "--svg", "-", "FILE"], "scale.ptx"),
        (&["tensor", "encode", "FILE"], "tensor/tile.json"),
        (&["tensor", "show", "FILE"], "tensor/tile.json"),
        (&["diff", "FILE", "weights.npy", "--json"], "weights.npy"),
        (&["quantize", "--to", "mxfp4", "FILE", "-"], "weights.npy"),
    ] {
        let named = |name: &str| -> Vec<u8> {
            let words: Vec<&str> =
                words.iter().map(|word| if *word == "FILE" { name } else { word }).collect();
            written(&place, &words, &example(file))
        };
        let (from_stdin, from_file) = (named("-"), named(file));
        let plain = |bytes: Vec<u8>| {
            String::from_utf8_lossy(&bytes).replace("<stdin>", file).replace("&lt;stdin&gt;", file)
        };
        assert_eq!(plain(from_stdin), plain(from_file), "{words:?}");
    }
    assert_eq!(written(&place, &["man", "-"], b""), written(&place, &["man"], b""));
    let names = softwarp_testkit::files::names(folder);
    assert_eq!(names, ["half.npy", "object", "rows.jsonl", "zeros"], "nothing is called `-`");
}

/// Standard input is read once.
#[test]
fn standard_input_is_for_one_thing() {
    let place = Place::new();
    for words in [
        &["cvt", "rs.f16x2.f32", "--input", "-", "--rbits", "-", "--output", "{}/out"][..],
        &["diff", "-", "-"],
        &["check", "-", "-"],
        &["tensor", "copy", "-", "--input", "-", "--output", "{}/out"],
    ] {
        let ran = ran(place.command(words));
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{words:?}: {}", ran.stderr);
        assert!(ran.stderr.contains("standard input can be read only once"), "{words:?}: {}", ran.stderr);
    }
}

/// Two things cannot both be standard output.
#[test]
fn standard_output_is_for_one_thing() {
    let place = Place::new();
    std::fs::write(place.0.path().join("zeros"), vec![0; 8192]).expect("written");
    for words in [
        &["run", "saxpy.json", "--coverage", "-", "--dump", "y=-"][..],
        &["run", "saxpy.json", "--dump", "x=-", "--dump", "y=-"],
        &["tensor", "copy", "tensor/tile.json", "--input", "{}/zeros", "--output", "-", "--json"],
        &["tensor", "draw", "tensor/tile.json", "--svg", "-", "--html", "-"],
        &["layout", "layout.ptx", "--json", "--svg", "-"],
        &["exec", "--report", "-", "--summary", "-", "--", "true"],
    ] {
        let ran = ran(place.command(words));
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{words:?}: {}", ran.stderr);
        assert!(ran.stderr.contains("standard output"), "{words:?}: {}", ran.stderr);
    }
}

/// A kernel that prints, and then never ends.
const PRINTING: &str = ".version 8.0
.target sm_90
.address_size 64
.extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);
.global .align 1 .b8 text[7] = {104, 101, 108, 108, 111, 10, 0};
.visible .entry k()
{
    .reg .b64 %d<2>;
    mov.u64 %d0, text;
    cvta.global.u64 %d0, %d0;
    mov.u64 %d1, 0;
    {
        .param .b64 f;
        .param .b64 a;
        .param .b32 r;
        st.param.b64 [f], %d0;
        st.param.b64 [a], %d1;
        call.uni (r), vprintf, (f, a);
    }
L:
    bra L;
}
";

/// A launch that takes longer than half a second shows a bar on a terminal, which is gone in the end, and nothing
/// where standard error is none. `script` makes a terminal.
#[test]
fn progress_is_shown_on_a_terminal_alone() {
    if Command::new("script").arg("--version").output().is_err() {
        println!("skipped: there is no `script` here");
        return;
    }
    let folder = softwarp_testkit::files::temporary();
    let forever = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() { L: bra L; }\n";
    std::fs::write(folder.path().join("k.ptx"), forever).expect("written");
    let softwarp = env!("CARGO_BIN_EXE_softwarp");
    let on_terminal = |words: &str| {
        let line = format!("{softwarp} {words}");
        let mut script = Command::new("script");
        script.args(["-q", "-e", "-c", &line, "/dev/null"]).current_dir(folder.path());
        let output = script.stdin(std::process::Stdio::null()).output().expect("script runs");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let shown = on_terminal("run k.ptx --grid 3 --time 1.5");
    assert!(shown.contains("0% of 3 CTAs") && shown.contains("instructions of warps"), "{shown:?}");
    // The line is cleared before anything else is said.
    let error = shown.rfind("error").expect("the limit is told");
    let bar = shown.rfind("CTAs").filter(|at| *at < error).expect("the bar comes first");
    assert!(shown[bar..error].contains("\u{1b}[2K"), "{shown:?}");
    // What a kernel prints stays whole.
    std::fs::write(folder.path().join("p.ptx"), PRINTING).expect("written");
    let printed = on_terminal("run p.ptx --grid 3 --time 1.5");
    assert!(printed.contains("hello\r\n"), "{printed:?}");
    let short = on_terminal("run k.ptx --grid 3 --time 0.2");
    assert!(!short.contains("% of 3 CTAs"), "{short:?}");
    let apart = ran(command(folder.path(), &["run", "k.ptx", "--grid", "3", "--time", "1.5"]));
    assert!(!apart.stderr.contains("CTAs,") && !apart.stderr.contains('\u{1b}'), "{:?}", apart.stderr);
}
