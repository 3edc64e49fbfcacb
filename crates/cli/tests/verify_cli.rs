//! `softwarp verify` as its users meet it: what looks like a test is run, or it is an error.

use crate::binary::{Ran, command, run as call};
use crate::files::{KERNEL, launch};
use softwarp_cli::npy::{Array, DType};
use softwarp_testkit::files::folder;
use std::io::Write;
use std::path::Path;

fn verify(folder: &Path, args: &[&str]) -> Ran {
    call(command(folder, &[&["verify"], args].concat()), b"")
}

const RIGHT: &str = r#", "expect": {"y": "07000000"}"#;

#[test]
fn launch_files_with_a_module_elsewhere_are_run() {
    let files = folder(&[
        ("right.json", &launch(&format!(r#", "ptx": "modules/k.ptx"{RIGHT}"#))),
        ("wrong.json", &launch(r#", "ptx": "modules/k.ptx", "expect": {"y": "08000000"}"#)),
        ("modules/k.ptx", KERNEL),
    ]);
    let ran = verify(files.path(), &["."]);
    assert_eq!(ran.code, 1, "{}", ran.stdout);
    assert!(
        ran.stdout.contains("wrong.json: wrong: ") && ran.stdout.ends_with("1 passed, 1 failed\n"),
        "{}",
        ran.stdout
    );
}

/// Data of tests may be numbers, arrays and files in their folders.
#[test]
fn data_comes_from_numbers_and_files() {
    let expect = |data: &str| launch(&format!(r#", "ptx": "k.ptx", "expect": {{"y": {data}}}"#));
    let files = folder(&[
        ("k.ptx", KERNEL),
        ("numbers.json", &expect(r#"{"u32": [7]}"#)),
        ("file.json", &expect(r#"{"file": "data/seven.bin"}"#)),
        ("npy.json", &expect(r#"{"npy": "data/seven.npy"}"#)),
        ("wrong.json", &expect(r#"{"file": "data/eight.bin"}"#)),
        ("data/seven.bin", "\u{7}\0\0\0"),
        ("data/eight.bin", "\u{8}\0\0\0"),
    ]);
    let seven = Array::new(DType::parse("<u4").expect("a type"), vec![1], vec![7, 0, 0, 0]);
    std::fs::write(files.path().join("data/seven.npy"), seven.to_bytes()).expect("written");
    let ran = verify(files.path(), &["."]);
    assert!(ran.code == 1 && ran.stdout.contains("wrong.json: wrong: "), "{}", ran.stdout);
    assert!(ran.stdout.ends_with("3 passed, 1 failed\n"), "{}", ran.stdout);
    let outside = folder(&[("k.ptx", KERNEL), ("x.json", &expect(r#"{"file": "/etc/hostname"}"#))]);
    let ran = verify(outside.path(), &["."]);
    assert!(ran.code == 1 && ran.stdout.contains("lies outside of the file's folder"), "{}", ran.stdout);
}

/// Each of these is alone in a folder with a test that passes.
#[test]
fn what_looks_like_a_test_and_is_not_run_is_an_error() {
    let row = |launch: &str| {
        format!(r#"{{"name": "x", "ptx": {KERNEL:?}, "launch": {}}}"#, launch.replace('\n', " "))
    };
    for (name, text, why) in [
        ("x.json", "{not json".to_owned(), "not JSON"),
        ("x.json", String::new(), "not JSON"),
        ("x.json", launch(&format!(r#", "ptx": "gone.ptx"{RIGHT}"#)), "No such file"),
        ("x.json", launch(&format!(r#", "ptx": 7{RIGHT}"#)), "ptx: it must be a string"),
        ("x.json", launch(&format!(r#", "ptx": "ok.ptx", "dump": ["y"], "dump": []{RIGHT}"#)), "given twice"),
        ("x.json", launch("").replace("launches", "lanches"), "did you mean `launches`?"),
        ("x.json", r#"{"kernel": "k", "expect": {}}"#.to_owned(), "there is no key `kernel`"),
        ("x.jsonl", "{\n".to_owned(), "not JSON"),
        ("x.jsonl", String::new(), "the file is empty"),
        ("x.jsonl", "{\"form\": \"rn.f16.f32\", \"row\": []}\n".to_owned(), "did you mean `rows`?"),
        ("x.jsonl", row(&launch(RIGHT)).replace("\"launch\"", "\"lanch\""), "did you mean `launch`?"),
        (
            "x.jsonl",
            row(&launch(RIGHT)).replace("\"name\"", "\"expect\": {}, \"name\""),
            "there is no key `expect`",
        ),
        (
            "x.jsonl",
            "{\"colour\": \"blue\"}\n".to_owned(),
            "x.jsonl:1: there is no key `colour`: a row has form, n, sums",
        ),
        ("x.jsonl", "{\"coordinates\": []}\n".to_owned(), "no key `coordinates`: did you mean `coords`?"),
        ("x.jsonl", "{\"name\": \"x\"}\n".to_owned(), "keys are missing: a row has form, n, sums"),
        ("x.jsonl", "7\n".to_owned(), "x.jsonl:1: a row must be an object"),
        (
            "x.jsonl",
            "{\"api\": \"tiled\", \"rc\": 1}\n{\"api\": \"tiled\", \"cr\": 1}\n".to_owned(),
            "x.jsonl:2: there is no key `cr`",
        ),
        ("x.jsonl.gz", "this is not gzip".to_owned(), "invalid gzip header"),
        ("x.json.gz", "this is not gzip".to_owned(), "invalid gzip header"),
        ("x.JSON", "{".to_owned(), "not JSON"),
    ] {
        let files = folder(&[("ok.json", &launch(RIGHT)), ("ok.ptx", KERNEL), (name, &text)]);
        let ran = verify(files.path(), &["."]);
        assert_eq!(ran.code, 1, "{name} {text}: {}{}", ran.stdout, ran.stderr);
        assert!(
            ran.stdout.contains(&format!("not read ./{name}: ")) && ran.stdout.contains(why),
            "{why}: {}",
            ran.stdout
        );
        assert!(ran.stdout.ends_with("1 passed, 0 failed, 1 not read\n"), "{}", ran.stdout);
        assert!(ran.stderr.contains("1 file cannot be read"), "{}", ran.stderr);
    }
}

#[test]
fn a_test_that_compares_nothing_fails() {
    for (more, why) in [
        ("", "neither `expect` nor `bug`"),
        (r#", "expect": {}"#, "neither `expect` nor `bug`"),
        (r#", "expct": {"y": "07000000"}"#, "did you mean `expect`?"),
        (r#", "expect": {"z": "07000000"}"#, "there is no variable `z`"),
        (r#", "expect": {"y": "07"}"#, "4 bytes, expected 1"),
        (r#", "dump": [], "expect": {"y": "08000000"}"#, "expected 0x00000008"),
    ] {
        let files = folder(&[("x.json", &launch(more)), ("x.ptx", KERNEL)]);
        let ran = verify(files.path(), &["."]);
        assert!(ran.code == 1 && ran.stdout.contains(why), "{more}: {}", ran.stdout);
        assert!(ran.stdout.ends_with("0 passed, 1 failed\n"), "{}", ran.stdout);
    }
    // That nothing is to be found is something to compare with.
    let files = folder(&[("x.json", &launch(r#", "bug": null"#)), ("x.ptx", KERNEL)]);
    assert_eq!(verify(files.path(), &["."]).stdout, "1 passed, 0 failed\n");
}

#[test]
fn json_that_is_no_test_is_listed() {
    let files = folder(&[
        ("x.json", &launch(RIGHT)),
        ("x.ptx", KERNEL),
        ("package.json", r#"{"version": 1}"#),
        ("map.json", r#"{"type": "f16", "dims": [64, 64], "box": [64, 8]}"#),
        ("notes.txt", "{"),
    ]);
    let ran = verify(files.path(), &["."]);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    for name in ["package.json", "map.json"] {
        assert!(ran.stdout.contains(&format!("skipped ./{name}: ")), "{name}: {}", ran.stdout);
    }
    assert!(ran.stdout.ends_with("1 passed, 0 failed\n"));
}

#[test]
fn an_endless_program_is_stopped() {
    let endless = launch(RIGHT).replace("\"k\"", "\"forever\"");
    let files =
        folder(&[("x.json", &endless), ("x.ptx", KERNEL), ("ok.json", &launch(RIGHT)), ("ok.ptx", KERNEL)]);
    let ran = verify(files.path(), &[".", "--steps", "1000"]);
    assert!(ran.code == 1 && ran.stdout.ends_with("1 passed, 1 failed\n"), "{}", ran.stdout);
    // On a slow machine, the other might not end in this time.
    let ran = verify(files.path(), &["x.json", "--time", "0.2"]);
    assert!(ran.code == 1 && ran.stdout.ends_with("0 passed, 1 failed\n"), "{}", ran.stdout);
    for wrong in ["-1", "nan", "soon", "1e400"] {
        assert_eq!(verify(files.path(), &[".", "--time", wrong]).code, 2, "{wrong}");
    }
}

#[cfg(unix)]
#[test]
fn links_are_followed_once_and_not_outside() {
    use std::os::unix::fs::symlink;
    let outside = folder(&[("far.json", &launch(RIGHT)), ("far.ptx", KERNEL)]);
    let files = folder(&[("a/x.json", &launch(RIGHT)), ("a/x.ptx", KERNEL)]);
    symlink(files.path(), files.path().join("a/loop")).expect("a link");
    symlink("self", files.path().join("self")).expect("a link");
    let ran = verify(files.path(), &["."]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "1 passed, 0 failed\n"), "{}", ran.stderr);
    symlink(outside.path(), files.path().join("away")).expect("a link");
    symlink("nowhere.json", files.path().join("dead.json")).expect("a link");
    let ran = verify(files.path(), &["."]);
    assert_eq!(ran.code, 1);
    assert!(
        ran.stdout.contains("not read ./away: a link that leads outside of the folder"),
        "{}",
        ran.stdout
    );
    assert!(ran.stdout.contains("not read ./dead.json: "), "{}", ran.stdout);
    std::fs::remove_file(files.path().join("dead.json")).expect("removed");
    let ran = verify(files.path(), &[".", "--allow-paths"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "2 passed, 0 failed\n"), "{}", ran.stderr);
}

#[test]
fn a_line_that_is_too_long_is_not_unpacked() {
    let files = folder(&[]);
    let file = std::fs::File::create(files.path().join("bomb.jsonl.gz")).expect("made");
    let mut packed = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
    for _ in 0..300 {
        packed.write_all(&[b'x'; 1 << 20]).expect("packed");
    }
    packed.finish().expect("packed");
    let ran = verify(files.path(), &["."]);
    assert!(
        ran.code == 1 && ran.stdout.contains("bomb.jsonl.gz: it is longer than 256 MiB"),
        "{}",
        ran.stdout
    );
    let ran = verify(files.path(), &["bomb.jsonl.gz", "--max-input", "1M"]);
    assert!(ran.code == 1 && ran.stderr.contains("it is longer than 1 MiB"), "{}", ran.stderr);
}

#[test]
fn launch_files_may_be_compressed() {
    let files = folder(&[("x.ptx", KERNEL)]);
    let file = std::fs::File::create(files.path().join("x.json.gz")).expect("made");
    let mut packed = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
    packed.write_all(launch(RIGHT).as_bytes()).expect("packed");
    packed.finish().expect("packed");
    let ran = verify(files.path(), &[".", "--json"]);
    let report: serde_json::Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!((ran.code, &report["passed"], &report["unread"]), (0, &1.into(), &serde_json::json!([])));
}
