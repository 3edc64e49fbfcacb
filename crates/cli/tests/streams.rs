//! What cannot be written is heard: every command fails where standard output or standard error is full.
#![cfg(target_os = "linux")]

mod binary;

use binary::{Ran, command, run as call};
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
    ("completions", &["bash"]),
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
