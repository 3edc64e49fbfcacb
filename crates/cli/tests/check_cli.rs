//! `softwarp check`, `fmt`, `ast` and `explain` as their users meet them.

use crate::binary::{Ran, command, run as call};
use serde_json::Value as Json;
use softwarp_testkit::files;
use std::path::Path;

fn run(folder: &Path, args: &[&str], input: &[u8], environment: &[(&str, &str)]) -> Ran {
    let mut command = command(folder, args);
    command.envs(environment.iter().copied());
    call(command, input)
}

/// A folder of files, in which commands are run.
struct Folder(softwarp_testkit::files::TempDir);

impl Folder {
    fn new(files: &[(&str, &[u8])]) -> Folder {
        Folder(files::folder_of(files.iter().copied()))
    }

    fn run(&self, args: &[&str]) -> Ran {
        run(self.0.path(), args, b"", &[])
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.0.path().join(name)).expect("text")
    }

    fn names(&self) -> Vec<String> {
        files::names(self.0.path())
    }
}

const HEADER: &str = ".version 8.0\n.target sm_90\n.address_size 64\n";

/// A module around a body, which begins on line 6.
fn module(body: &str) -> String {
    format!("{HEADER}.visible .entry k()\n{{\n{body}\n    ret;\n}}\n")
}

/// `%f` is no integer register.
fn wrong() -> String {
    module("    .reg .b32 %r<3>;\n    .reg .f64 %d;\n    add.s32 %r0, %r1, %d;")
}

#[test]
fn a_clean_file_is_said_to_be_clean() {
    let folder = Folder::new(&[("good.ptx", module("").as_bytes())]);
    for args in [
        &["check", "good.ptx"][..],
        &["check", "good.ptx", "--json"],
        &["check", "good.ptx", "--format", "github"],
    ] {
        let ran = folder.run(args);
        let said = (ran.code, ran.stdout.as_str(), ran.stderr.as_str());
        assert_eq!(said, (0, "", "no errors in good.ptx\n"), "{args:?}");
    }
}

#[test]
fn json_has_every_field() {
    let folder = Folder::new(&[("bad.ptx", wrong().as_bytes())]);
    for args in [&["check", "bad.ptx", "--json"][..], &["check", "--format", "json", "bad.ptx"]] {
        let ran = folder.run(args);
        assert_eq!(ran.code, 1, "{}", ran.stderr);
        assert_eq!(ran.stderr, "1 error in bad.ptx\n");
        let rows = ran.rows();
        assert_eq!(rows.len(), 1, "{}", ran.stdout);
        let row = &rows[0];
        assert_eq!(
            (&row["file"], &row["line"], &row["severity"]),
            (&"bad.ptx".into(), &8.into(), &"error".into())
        );
        assert_eq!(
            (&row["column"], &row["end_line"], &row["end_column"]),
            (&23.into(), &8.into(), &25.into())
        );
        assert!(row["code"].as_str().is_some_and(|code| code.starts_with('E')), "{row}");
        assert!(row["message"].as_str().is_some_and(|message| message.contains("add.s32")), "{row}");
        assert!(row["help"].is_null() || row["help"].is_string(), "{row}");
        for place in row["related"].as_array().expect("a list") {
            assert!(
                place["line"].is_u64() && place["column"].is_u64() && place["message"].is_string(),
                "{place}"
            );
        }
        let keys: Vec<&String> = row.as_object().expect("an object").keys().collect();
        let wanted = "file line column end_line end_column severity code message help related fix";
        assert_eq!(keys, wanted.split(' ').collect::<Vec<_>>());
    }
}

#[test]
fn text_shows_the_line_and_its_code() {
    let folder = Folder::new(&[("bad.ptx", wrong().as_bytes())]);
    let ran = folder.run(&["check", "bad.ptx"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (1, "1 error in bad.ptx\n"));
    assert!(ran.stdout.starts_with("error[E"), "{}", ran.stdout);
    assert!(ran.stdout.contains(" --> bad.ptx:8:23\n"), "{}", ran.stdout);
    assert!(ran.stdout.contains("8 |     add.s32 %r0, %r1, %d;\n"), "{}", ran.stdout);
    assert!(!ran.stdout.contains('\x1b'), "no colours in a pipe");
}

#[test]
fn colours_are_for_who_wants_them() {
    let folder = Folder::new(&[("bad.ptx", wrong().as_bytes())]);
    let coloured = |args: &[&str], environment: &[(&str, &str)]| {
        run(folder.0.path(), args, b"", environment).stdout.contains('\x1b')
    };
    assert!(coloured(&["check", "bad.ptx", "--color", "always"], &[]));
    assert!(coloured(&["check", "bad.ptx", "--color", "always"], &[("NO_COLOR", "1")]));
    assert!(!coloured(&["check", "bad.ptx", "--color", "never"], &[]));
    assert!(!coloured(&["check", "bad.ptx"], &[("NO_COLOR", "1")]));
}

#[test]
fn github_gets_annotations() {
    let folder = Folder::new(&[("a,b.ptx", wrong().as_bytes())]);
    let ran = folder.run(&["check", "--format", "github", "a,b.ptx"]);
    assert_eq!(ran.code, 1);
    let line = ran.stdout.lines().next().expect("a line");
    assert!(
        line.starts_with("::error file=a%2Cb.ptx,line=8,col=23,endLine=8,endColumn=25,title=E0"),
        "{line}"
    );
    assert!(line.split("::").nth(2).is_some_and(|message| message.contains("%25d")), "{line}");
}

#[test]
fn standard_input_is_a_file() {
    let here = Path::new(".");
    let ran = run(here, &["check", "-", "--json"], wrong().as_bytes(), &[]);
    assert_eq!((ran.code, ran.stderr.as_str()), (1, "1 error in <stdin>\n"));
    assert_eq!(ran.rows()[0]["file"], "<stdin>");
    assert_eq!(run(here, &["check", "-"], module("").as_bytes(), &[]).code, 0);
    let ran = run(here, &["check", "-", "-"], b"", &[]);
    assert_eq!(ran.code, 2, "{}", ran.stderr);
}

#[test]
fn many_files_are_told_in_order() {
    let files: Vec<(String, String)> =
        (0..20).map(|n| (format!("{n}.ptx"), if n % 3 == 0 { wrong() } else { module("") })).collect();
    let files: Vec<(&str, &[u8])> =
        files.iter().map(|(name, text)| (name.as_str(), text.as_bytes())).collect();
    let folder = Folder::new(&files);
    let args: Vec<&str> =
        ["check", "--json"].into_iter().chain(files.iter().map(|(name, _)| *name)).collect();
    let ran = folder.run(&args);
    assert_eq!(ran.code, 1);
    let names: Vec<String> = (0..20).step_by(3).map(|n| format!("{n}.ptx")).collect();
    assert_eq!(ran.rows().iter().map(|row| row["file"].as_str().expect("a name")).collect::<Vec<_>>(), names);
    assert_eq!(ran.stderr.lines().count(), files.len(), "{}", ran.stderr);
}

#[test]
fn a_missing_file_is_a_bad_call_and_the_others_are_checked() {
    let folder = Folder::new(&[("bad.ptx", wrong().as_bytes())]);
    let ran = folder.run(&["check", "no.ptx", "bad.ptx", "--json"]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.starts_with("error: cannot read no.ptx: "), "{}", ran.stderr);
    assert_eq!(ran.rows().len(), 1);
}

#[test]
fn bad_calls_are_refused_in_one_line() {
    let folder = Folder::new(&[("good.ptx", module("").as_bytes())]);
    let cases: [(&[&str], &str); 9] = [
        (&["check"], "<FILE>"),
        (&["check", "good.ptx", "--arch", "sm_90b"], "`sm_90b` is not a target; did you mean sm_90"),
        (&["check", "good.ptx", "--arch", "banana"], "`banana` is not a target"),
        (&["check", "good.ptx", "--format", "xml"], "xml"),
        (&["check", "good.ptx", "--json", "--format", "github"], "cannot be used"),
        (&["fmt", "."], "cannot read ."),
        (&["fmt", "no.ptx"], "cannot read no.ptx"),
        (&["ast", "good.ptx"], "--json"),
        (&["explain", "E9999"], "`E9999` is not a code"),
    ];
    for (args, wanted) in cases {
        let ran = folder.run(args);
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{args:?} {}", ran.stderr);
        assert!(ran.stderr.starts_with("error: ") && ran.stderr.contains(wanted), "{args:?} {}", ran.stderr);
        assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
    }
}

#[test]
fn bytes_that_are_no_text_are_one_error() {
    let text = module("    // caf\u{e9}").replace('\u{e9}', "\u{0}");
    let bytes: Vec<u8> = text.bytes().map(|byte| if byte == 0 { 0xe9 } else { byte }).collect();
    let folder = Folder::new(&[("latin.ptx", &bytes), ("binary.ptx", b"\x7fBIN\xff\xfe\x00\x80")]);
    let ran = folder.run(&["check", "latin.ptx", "--json"]);
    assert_eq!(ran.code, 1);
    let rows = ran.rows();
    assert_eq!(rows.len(), 1, "{}", ran.stdout);
    assert_eq!(
        (&rows[0]["line"], &rows[0]["column"], &rows[0]["code"]),
        (&6.into(), &11.into(), &"E0000".into())
    );
    let ran = folder.run(&["check", "latin.ptx"]);
    assert!(ran.stdout.contains("// caf?\n"), "{}", ran.stdout);
    let ran = folder.run(&["check", "binary.ptx", "--json"]);
    assert_eq!(ran.code, 1);
    assert_eq!(ran.rows().iter().filter(|row| row["code"] == "E0000").count(), 1);
}

#[test]
fn a_huge_line_is_not_echoed() {
    let filler = "add.s32 %r0, %r1, %r2; ".repeat(250_000);
    let start = format!("{HEADER}.visible .entry k() {{ .reg .b32 %r<3>; .reg .f64 %d; ");
    let text = format!("{start}{filler}add.s32 %r0, %r1, %d; {filler}ret; }}\n");
    assert!(text.len() > 10_000_000);
    let folder = Folder::new(&[("long.ptx", text.as_bytes())]);
    let ran = folder.run(&["check", "long.ptx"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (1, "1 error in long.ptx\n"));
    assert!(ran.stdout.len() < 2000, "{} bytes are printed", ran.stdout.len());
    let column =
        text.find("%d; ").expect("the declaration") - HEADER.len() + "%d; ".len() + filler.len() + 19;
    assert!(ran.stdout.contains(&format!(" --> long.ptx:4:{column}\n")), "{column}: {}", ran.stdout);
    assert_eq!(folder.run(&["check", "long.ptx", "--json"]).rows()[0]["column"], column);
}

#[test]
fn odd_files_do_no_harm() {
    let deep = "{".repeat(100_000);
    let zeroes = vec![0u8; 10_000];
    let files: [(&str, &[u8]); 5] = [
        ("empty", b""),
        ("newline", b"\n"),
        ("zeroes", &zeroes),
        ("deep", deep.as_bytes()),
        ("cr", b"\r\r\r.version"),
    ];
    let folder = Folder::new(&files);
    for (name, _) in files {
        for more in [
            &[][..],
            &["--json"],
            &["--format", "github"],
            &["--strict", "--relocatable", "--arch", "sm_100a"],
        ] {
            let ran = folder.run(&[&["check", name], more].concat());
            assert!(ran.code == 0 || ran.code == 1, "{name} {more:?}: {} {}", ran.code, ran.stderr);
        }
    }
}

#[test]
fn options_reach_the_checker() {
    let extern_call = format!("{HEADER}.extern .func f;\n.visible .entry k() {{ call f; ret; }}\n");
    let newer = ".version 8.7\n.target sm_100a\n.address_size 64\n.visible .entry k() { ret; }\n";
    let folder = Folder::new(&[("extern.ptx", extern_call.as_bytes()), ("newer.ptx", newer.as_bytes())]);
    assert_eq!(folder.run(&["check", "extern.ptx"]).code, 1);
    assert_eq!(folder.run(&["check", "extern.ptx", "--relocatable"]).code, 0);
    assert_eq!(folder.run(&["check", "newer.ptx", "--arch", "sm_100a"]).code, 0);
    assert_eq!(folder.run(&["check", "newer.ptx", "--arch", "sm_90"]).code, 1);
}

#[test]
fn fmt_rewrites_and_then_has_nothing_to_do() {
    let ugly =
        format!("{HEADER}.visible .entry k(){{.reg .b32 %r<3>;add.s32 %r0,%r1,  %r2;\n\n\n// why\n  ret;}}");
    let folder = Folder::new(&[("ugly.ptx", ugly.as_bytes())]);
    let ran = folder.run(&["fmt", "--check", "ugly.ptx"]);
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (1, "ugly.ptx\n", ""));
    assert_eq!(folder.read("ugly.ptx"), ugly);
    let ran = folder.run(&["fmt", "ugly.ptx"]);
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (0, "", ""));
    let pretty = folder.read("ugly.ptx");
    assert!(
        pretty.contains("// why") && pretty.lines().any(|line| line.trim() == "add.s32 %r0, %r1, %r2;"),
        "{pretty}"
    );
    assert_eq!(folder.run(&["fmt", "--check", "ugly.ptx"]).code, 0);
    assert_eq!(folder.run(&["check", "ugly.ptx"]).code, 0);
    let ran = run(folder.0.path(), &["fmt", "-"], ugly.as_bytes(), &[]);
    assert_eq!((ran.code, ran.stdout), (0, pretty));
    assert_eq!(folder.names(), ["ugly.ptx"]);
}

#[test]
fn fmt_refuses_what_it_cannot_read() {
    let broken = module("    add.s32 %r0, , ;;;");
    let folder = Folder::new(&[("broken.ptx", broken.as_bytes())]);
    for args in [&["fmt", "broken.ptx"][..], &["fmt", "--check", "broken.ptx"]] {
        let ran = folder.run(args);
        assert_eq!((ran.code, ran.stdout.as_str()), (1, ""));
        assert!(ran.stderr.contains("error[E0") && ran.stderr.contains("broken.ptx:6:"), "{}", ran.stderr);
        assert!(ran.stderr.contains("error: broken.ptx: not formatted"), "{}", ran.stderr);
    }
    assert_eq!(folder.read("broken.ptx"), broken);
}

#[test]
fn the_tree_is_json() {
    let folder = Folder::new(&[
        ("good.ptx", module("").as_bytes()),
        ("broken.ptx", module("    add.s32 ,;").as_bytes()),
    ]);
    let ran = folder.run(&["ast", "--json", "good.ptx"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    let tree: Json = serde_json::from_str(&ran.stdout).expect("JSON");
    assert!(tree.is_object(), "{tree}");
    let ran = folder.run(&["ast", "--json", "broken.ptx"]);
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("error[E0"), "{}", ran.stderr);
    serde_json::from_str::<Json>(&ran.stdout).expect("JSON for what was understood");
}

#[test]
fn codes_are_explained() {
    let here = Path::new(".");
    let list = run(here, &["explain"], b"", &[]);
    assert_eq!(list.code, 0);
    let codes: Vec<&str> = list.stdout.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert!(codes.contains(&"E0000") && codes.is_sorted(), "{codes:?}");
    let all: Json = serde_json::from_str(&run(here, &["explain", "--json"], b"", &[]).stdout).expect("JSON");
    assert_eq!(all.as_array().map(Vec::len), Some(codes.len()));
    let page = run(here, &["explain", "E0000"], b"", &[]);
    assert_eq!(page.code, 0);
    assert!(page.stdout.starts_with("E0000: the file is not UTF-8\n\n"), "{}", page.stdout);
    assert!(
        page.stdout.contains("\nWrong:\n\n    .version") && page.stdout.contains("\nRight:\n\n"),
        "{}",
        page.stdout
    );
    assert_eq!(run(here, &["explain", "e0000"], b"", &[]).stdout, page.stdout);
    let one: Json =
        serde_json::from_str(&run(here, &["explain", "e0000", "--json"], b"", &[]).stdout).expect("JSON");
    for field in ["code", "severity", "title", "text", "wrong", "right"] {
        assert!(one[field].is_string(), "{field}");
    }
    let unknown = run(here, &["explain", "E000"], b"", &[]);
    assert_eq!(unknown.code, 2);
    assert!(unknown.stderr.contains("near to it are E0000"), "{}", unknown.stderr);
}
