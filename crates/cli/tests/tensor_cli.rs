//! `softwarp tensor` and `softwarp verify` on recordings of tensors, as their users meet them.

use crate::binary::{Ran, command, run as call};
use serde_json::{Value as Json, json};
use softwarp::tensor::codes;
use softwarp_testkit::{expected::assert_file, repository};
use std::path::Path;

fn softwarp(args: &[&str], input: &[u8]) -> Ran {
    call(command(&repository(""), args), input)
}

fn tensor(args: &[&str], map: &str) -> Ran {
    softwarp(&[&["tensor"], args].concat(), map.as_bytes())
}

/// The codes of what `check` finds, in a map given on standard input.
fn findings(map: &str, more: &[&str]) -> Vec<String> {
    let ran = tensor(&[&["check", "-", "--json"], more].concat(), map);
    let verdict: Json =
        serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {map} {}", ran.stderr));
    assert_eq!(ran.code == 0, verdict["legal"] == true, "{map}");
    let rows = verdict["findings"].as_array().expect("a list");
    rows.iter().map(|row| row["code"].as_str().expect("a code").to_owned()).collect()
}

const TILE: &str =
    r#"{"kind":"tiled","type":"f16","dims":[64,64],"strides":[128],"box":[64,8],"swizzle":"128B"}"#;

// R5.5.8-3.
#[test]
fn a_legal_map_is_said_to_be_legal() {
    let text = tensor(&["check", "-"], TILE).success().stdout.clone();
    assert_eq!(text, "<stdin> is legal on sm_90\na copy completes 1024 bytes on its mbarrier\n");
    // As many characters as an object has bytes.
    assert_eq!(tensor(&["check", "-"], &format!("{TILE:128}")).success().stdout.clone(), text);
}

#[test]
fn everything_wrong_is_said_with_numbers_and_what_would_be_right() {
    let ran = tensor(&["check", "examples/tensor/broken.json"], "");
    assert_eq!((ran.code, ran.stderr.as_str()), (1, ""));
    let expected =
        "error[E1013]: strides[0] = 1000 is not a multiple of 16\n  fix: 1008 is the next that is\n";
    assert!(ran.stdout.starts_with(expected), "{}", ran.stdout);
    assert!(ran.stdout.ends_with("4 errors in examples/tensor/broken.json (sm_90)\n"), "{}", ran.stdout);
}

#[test]
fn every_rule_has_its_page_and_its_example_breaks_it() {
    for rule in codes::ALL.iter().chain(softwarp_cli::tensors::CODES) {
        let page = softwarp(&["explain", rule.code.0], b"").success().stdout.clone();
        assert!(page.starts_with(&format!("{}: {}\n", rule.code, rule.title)), "{page}");
        let found = findings(rule.wrong, &[]);
        assert!(found.iter().any(|code| code == rule.code.0), "{}: {found:?}", rule.code);
    }
    let page = softwarp(&["explain", "copy-start"], b"").success().stdout.clone();
    assert!(page.contains("multiple of 16 bytes"), "{page}");
}

#[test]
fn every_mistake_in_a_file_is_named_with_its_key() {
    let map = r#"{"type": "f24", "dims": [64, -1, 1.5, "x"], "dims": [1], "strides": 5, "box": [300, 99999999999],
                  "swizle": "128B", "swizzle": 9, "address": 1e40, "lower": [0], "dtype": 1}"#;
    let ran = tensor(&["check", "-"], map);
    assert_eq!(ran.code, 1);
    for said in [
        "there is no type `f24`",
        "dims[1]: -1 is not a number from 0 on of 64 bits",
        "dims[2]: 1.5 is not a whole number",
        "dims[3]: x is not a whole number",
        "`dims` is given twice",
        "`type` is given twice (as `dtype`)",
        "strides: it is not a list",
        "box[1]: 99999999999 is not a number from 0 on of 32 bits",
        "there is no key `swizle`\n  fix: did you mean swizzle?",
        "there is no swizzle `9`",
        "address: 1e+40 is not a whole number",
    ] {
        assert!(ran.stdout.contains(said), "{said}: {}", ran.stdout);
    }
    let wrong = [
        ("", "E1060"),
        ("{", "E1060"),
        ("[]", "E1060"),
        ("null", "E1060"),
        ("{}", "E1061"),
        (r#"{"type":"u8","dims":[64,64]}"#, "E1061"),
        (r#"{"type":"u8","dims":[64,64],"box":[16,1],"pixels":3}"#, "E1061"),
        (r#"{"kind":"im2col","type":"u8","dims":[64,64,2],"channels":16}"#, "E1061"),
        (r#"{"kind":"cubic","type":"u8","dims":[64,64],"box":[16,1]}"#, "E1002"),
        (r#"{"type":"u8","dims":[64,64],"box":[16,1],"target":"sm_xy"}"#, "E1062"),
        (r#"{"object":"00"}"#, "E1062"),
        (r#"{"object":7}"#, "E1062"),
        (r#"{"type":"u8","rank":3,"dims":[64,64],"box":[16,1]}"#, "E1006"),
        (r#"{"type":"u8","rank":1e30,"dims":[64,64],"box":[16,1]}"#, "E1062"),
        (r#"{"kind":"wide","type":"u8","dims":[64,9,64],"lower":[0,0],"channels":16,"pixels":8}"#, "E1062"),
    ];
    for (map, code) in wrong {
        assert!(findings(map, &[]).iter().any(|found| found == code), "{map}: {:?}", findings(map, &[]));
    }
    let deep = "[".repeat(100_000);
    assert_eq!(findings(&deep, &[]), ["E1060"]);
}

#[test]
fn what_can_be_judged_is_judged_beside_what_cannot_be_read() {
    let found = findings(r#"{"type":"f24","dims":[64,0],"box":[300,1],"element_strides":[1,9]}"#, &[]);
    assert_eq!(found, ["E1002", "E1012", "E1020"]);
}

#[test]
fn numbers_at_their_limits_are_judged() {
    let map = |dims: &str, strides: &str| {
        format!(
            r#"{{"type":"u8","address":"0x1fffffffffffff0","dims":{dims},"strides":{strides},"box":[16,1]}}"#
        )
    };
    assert_eq!(findings(&map("[16,4294967296]", "[16]"), &[]), ["W1013"]);
    assert_eq!(findings(&map("[16,4294967297]", "[1099511627776]"), &[]), ["E1012", "E1014"]);
    assert_eq!(
        findings(&map("[18446744073709551615,18446744073709551615]", "[18446744073709551615]"), &[]),
        ["E1012", "E1012", "E1013", "E1014"]
    );
    let corners = r#"{"type":"u8","dims":[64,8,8,2],"lower":[-2147483648,2147483647],"upper":[2147483647,-2147483648],"channels":16,"pixels":1}"#;
    assert!(findings(corners, &[]).iter().filter(|code| *code == "E1032").count() == 4);
}

#[test]
fn the_target_is_that_of_the_command_or_else_that_of_the_file() {
    let map = r#"{"type":"b4x16","dims":[64,64],"box":[64,8]}"#;
    assert!(findings(map, &[]).contains(&"E1040".to_owned()));
    assert_eq!(findings(map, &["--target", "sm_100"]), [""; 0]);
    assert_eq!(findings(&map.replace('{', r#"{"target":"sm_100a","#), &[]), [""; 0]);
    let ran = tensor(&["check", "-", "--target", "sm_9O"], TILE);
    assert_eq!((ran.code, ran.stderr.as_str()), (2, "error: `sm_9O` is not a target; did you mean sm_90?\n"));
}

// R5.5.8-1, R5.5.8-4: what cuTensorMapEncodeTiled made of the same call on an H200.
#[test]
fn a_call_in_the_drivers_numbers_encodes_as_the_driver_does() {
    let object = "00000000127f00001025000004000000000000000000000000000000000000001f0000000800000000000000000000\
                  00000000002100000f01000000000000000000000000000000000100000000000000000000000000000000000000000000\
                  0000000000000000000000000000000000000000000000000000000000000000";
    assert_eq!(
        tensor(&["encode", "examples/tensor/driver.json"], "").success().stdout.clone(),
        format!("{object}\n")
    );
}

#[test]
fn what_is_encoded_is_decoded_and_encoded_again() {
    for name in ["tile", "im2col", "gather4", "interleaved", "driver"] {
        let file = format!("examples/tensor/{name}.json");
        let target = if name == "gather4" { "sm_100" } else { "sm_90" };
        let hex = tensor(&["encode", &file], "").success().stdout.clone();
        for form in [&["--c"][..], &["--u64"], &["--json"]] {
            let made = tensor(&[&["encode", &file], form].concat(), "").success().stdout.clone();
            let map = tensor(&["decode", "-"], &made).success().stdout.clone();
            assert_eq!(
                tensor(&["encode", "-", "--target", target], &map).success().stdout.clone(),
                hex,
                "{name} {form:?}: {map}"
            );
        }
        let map = tensor(&["decode", hex.trim()], "").success().stdout.clone();
        assert_eq!(
            tensor(&["encode", "-", "--target", target], &map).success().stdout.clone(),
            hex,
            "{name}"
        );
    }
}

#[test]
fn decoding_tells_unknown_bits_and_notes_and_refuses_the_rest() {
    let mut bytes = vec![0_u8; 128];
    bytes[8] = 0x10;
    bytes[0x60] = 0xff;
    let folder = softwarp_testkit::files::temporary();
    let file = folder.path().join("object.bin");
    std::fs::write(&file, &bytes).expect("written");
    let map = tensor(&["decode", &file.display().to_string()], "").success().json();
    assert_eq!(map["unknown_bits"], json!([{"at": "0x60", "bits": "0x000000ff"}]));
    assert!(map["notes"].to_string().contains("0x40"), "{map}");
    // The file of 128 bytes is a map too.
    let verdict = tensor(&["check", &file.display().to_string(), "--json"], "");
    assert!(verdict.stdout.contains("E1021"), "{}", verdict.stdout);
    for wrong in ["", "zz", "00", "{}", "0x1 0x2", &"f".repeat(255), &"f".repeat(256)] {
        let ran = tensor(&["decode", "-"], wrong);
        assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{wrong}");
        assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
    }
}

// R5.5.7-11: rows of 128 bytes, cells exchanged by the number of the row.
#[test]
fn a_copy_says_its_bytes_and_its_runs() {
    let copy = tensor(&["copy", "-", "--at", "0,62", "--json"], TILE).success().json();
    assert_eq!((&copy["transaction_bytes"], &copy["footprint"]), (&json!(1024), &json!(1024)));
    let runs = copy["runs"].as_array().expect("a list");
    assert_eq!(runs[0], json!({"global": 62 * 128, "shared": 0, "bytes": 128}));
    assert_eq!(runs[1], json!({"global": 63 * 128, "shared": 0x90, "bytes": 16}));
    assert!(runs.iter().any(|run| run["global"].is_null()));
    let bytes: u64 = runs.iter().map(|run| run["bytes"].as_u64().expect("a number")).sum();
    assert_eq!(bytes, 1024);
    let text = tensor(&["copy", "-", "--at", "0,62"], TILE).success().stdout.clone();
    assert!(text.starts_with("load, tile, at (0, 62), shared address 0x0\nmbarrier: 1024 bytes\n"), "{text}");
}

#[test]
fn a_load_a_store_and_a_reduction_move_the_bytes_of_files() {
    let folder = softwarp_testkit::files::temporary();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let map = r#"{"type":"u32","dims":[8,4],"box":[4,2],"swizzle":"32B"}"#;
    std::fs::write(path("map.json"), map).expect("written");
    let tensor_bytes: Vec<u8> = (0..32_u32).flat_map(u32::to_le_bytes).collect();
    std::fs::write(path("g.bin"), &tensor_bytes).expect("written");
    let array = softwarp_cli::npy::Array::new(
        softwarp_cli::npy::DType::new('u', 4),
        vec![4, 8],
        tensor_bytes.clone(),
    );
    std::fs::write(path("g.npy"), array.to_bytes()).expect("written");
    let run = |args: &[&str]| {
        tensor(&[&["copy", &path("map.json"), "--at", "4,1"], args].concat(), "").success().stdout.clone()
    };
    for input in ["g.bin", "g.npy"] {
        run(&["--input", &path(input), "--output", &path("s.bin")]);
        let shared = std::fs::read(path("s.bin")).expect("written");
        let words: Vec<u32> = shared.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word)).collect();
        // Rows of 16 bytes, each in a span of 32; the rest is not touched.
        assert_eq!(words[..12], [12, 13, 14, 15, 0, 0, 0, 0, 20, 21, 22, 23], "{input}");
    }
    run(&["--store", "--input", &path("s.bin"), "--output", &path("new.bin")]);
    let stored = std::fs::read(path("new.bin")).expect("written");
    assert_eq!(stored[48..64], tensor_bytes[48..64]);
    assert!(stored[..48].iter().all(|byte| *byte == 0));
    run(&[
        "--reduce",
        "add",
        "--input",
        &path("s.bin"),
        "--global",
        &path("g.bin"),
        "--output",
        &path("new.bin"),
    ]);
    let sum = std::fs::read(path("new.bin")).expect("written");
    assert_eq!((sum[48], sum[80], sum[0], sum[4]), (24, 40, 0, 1));

    let fail = |args: &[&str]| {
        let ran = tensor(&[&["copy", &path("map.json"), "--at", "4,1"], args].concat(), "");
        assert_ne!(ran.code, 0, "{args:?}");
        ran.stderr
    };
    std::fs::write(path("short.bin"), [0; 40]).expect("written");
    assert!(fail(&["--input", &path("short.bin"), "--output", &path("x")]).contains("not in global memory"));
    assert!(fail(&["--store", "--input", &path("short.bin"), "--output", &path("x")]).contains("reads 64"));
    let bytes = softwarp_cli::npy::Array::new(softwarp_cli::npy::DType::new('u', 1), vec![128], tensor_bytes);
    std::fs::write(path("bytes.npy"), bytes.to_bytes()).expect("written");
    assert!(fail(&["--input", &path("bytes.npy"), "--output", &path("x")]).contains("holds |u1"));
    assert!(fail(&["--output", &path("x")]).contains("--input"));
    assert!(fail(&["--input", &path("g.bin")]).contains("--output"));
    assert!(fail(&["--input", &path("nothing"), "--output", &path("x")]).contains("cannot read"));
    assert!(!Path::new(&path("x")).exists());
}

#[test]
fn instructions_that_do_not_exist_or_fault_are_refused_with_the_reason() {
    let cases: [(&[&str], i32, &str); 12] = [
        (&["--at", "0"], 2, "takes 2 coordinates"),
        (&["--at", "0,x"], 2, "--at: `x` is not a whole number"),
        (&["--at", "0,2147483648"], 2, "does not fit in 32 bits"),
        (&["--offsets", "1"], 2, "takes no offsets"),
        (&["--mode", "gather5"], 2, "`gather5` is not a mode"),
        (&["--mode", "gather4"], 2, "sm_90 has no tile::gather4"),
        (&["--mode", "im2col"], 1, "needs a map of kind im2col"),
        (&["--at", "4,0"], 1, "[copy-start]"),
        (&["--at", "-8,0", "--store"], 1, "[copy-negative]"),
        (&["--reduce", "mul"], 2, "`mul` is not a reduction"),
        (&["--shared", "0x10"], 1, "[copy-shared-alignment]"),
        (&["--shared", "18446744073709551488"], 1, "[copy-shared-memory]"),
    ];
    for (args, code, said) in cases {
        for command in ["copy", "show"] {
            let ran = tensor(&[&[command, "-"], args].concat(), TILE);
            assert_eq!(ran.code, code, "{command} {args:?}: {}", ran.stderr);
            assert!(ran.stderr.contains(said), "{command} {args:?}: {}", ran.stderr);
        }
    }
    for at in ["-2147483648,-2147483648", "2147483640,2147483647"] {
        let copy = tensor(&["copy", "-", "--at", at, "--json"], TILE).success().json();
        assert!(copy["runs"].as_array().expect("a list").iter().all(|run| run["global"].is_null()));
    }
    // A box that the driver counts as nothing, though it would fill gigabytes.
    let map = r#"{"type":"u8","dims":[256,256,256,256],"box":[256,256,7,256],"element_strides":[1,1,8,1]}"#;
    let ran = tensor(&["copy", "-"], map);
    assert!(ran.code == 1 && ran.stderr.contains("[copy-shared-memory]"), "{}", ran.stderr);
}

#[test]
fn the_table_shows_what_lands_where() {
    let text = tensor(&["show", "examples/tensor/tile.json", "--at", "0,60"], "").success().stdout.clone();
    assert_file(repository("crates/cli/tests/transcripts/tensor_show.txt"), &text);
    let table = tensor(
        &["show", "-", "--elements", "--json"],
        r#"{"type":"f32","dims":[6,2],"strides":[32],"box":[8,2]}"#,
    );
    let table = table.success().json();
    let cells = table["cells"].as_array().expect("a list");
    assert_eq!(cells.len(), 16);
    assert_eq!((&cells[5]["fate"], &cells[6]["fate"]), (&json!("copied"), &json!("fill")));
    assert_eq!(
        (&cells[8]["at"], &cells[8]["global"], &cells[8]["bank"]),
        (&json!([0, 1]), &json!(32), &json!(8))
    );
}

#[test]
fn padding_and_fill_are_marked() {
    let map = r#"{"type":"f16","dims":[16,2],"strides":[32],"box":[16,3],"swizzle":"64B"}"#;
    let text = tensor(&["show", "-"], map).success().stdout.clone();
    assert_eq!(text.matches("untouched").count(), 6, "{text}");
    assert_eq!(text.matches("fill").count(), 2, "{text}");
    let stored = tensor(&["show", "-", "--store"], map).success().stdout.clone();
    assert_eq!(stored.matches("skipped").count(), 2, "{stored}");
    let packed = r#"{"target":"sm_100","type":"b4x16_p64","dims":[128,2],"box":[128,1]}"#;
    let text = tensor(&["show", "-"], packed).success().stdout.clone();
    assert!(text.contains("(8 of each 16 are data, the rest is padding)"), "{text}");
}

#[test]
fn bank_conflicts_are_those_of_the_swizzle() {
    let worst = |swizzle: &str, access: &str| {
        let map = TILE.replace("128B", swizzle).replace("[64,8]", "[64,32]");
        let table = tensor(&["show", "-", "--access", access, "--json"], &map).success().json();
        (table["conflicts"]["worst"].as_u64(), table["conflicts"]["unswizzled_worst"].as_u64())
    };
    // Eight rows of 128 bytes: without a swizzle all 16-byte cells of a column are in the same four banks.
    assert_eq!(worst("none", "ldmatrix"), (Some(8), Some(8)));
    assert_eq!(worst("128B", "ldmatrix"), (Some(1), Some(8)));
    assert_eq!(worst("none", "column"), (Some(32), Some(32)));
    assert_eq!(worst("128B", "column"), (Some(4), Some(32)));
    assert_eq!(worst("128B", "row"), (Some(1), Some(1)));
    assert_eq!(worst("none", "stride:128"), (Some(32), Some(32)));
    assert_eq!(worst("none", "stride:4"), (Some(1), Some(1)));
    let narrow = r#"{"type":"f16","dims":[32,64],"box":[32,32],"swizzle":"64B"}"#;
    let table = tensor(&["show", "-", "--json"], narrow).success().json();
    assert_eq!(
        (&table["conflicts"]["worst"], &table["conflicts"]["unswizzled_worst"]),
        (&json!(1), &json!(4))
    );
    for wrong in ["diagonal", "stride:3", "stride:", "stride:99999999999"] {
        assert_eq!(tensor(&["show", "-", "--access", wrong], TILE).code, 2, "{wrong}");
    }
}

#[test]
fn recordings_are_replayed() {
    let golden = "crates/tensor/tests/golden";
    let ran = softwarp(&["verify", golden], b"").success().stdout.clone();
    assert!(ran.contains("store_values.jsonl.gz: nothing in it is replayed"), "{ran}");
    let last = ran.lines().last().expect("a line");
    let passed: u32 = last.strip_suffix(" passed, 0 failed").expect("none failed").parse().expect("a number");
    assert!(passed > 10_000, "{last}");
}

#[test]
fn recordings_that_differ_or_lack_a_file_are_told() {
    let folder = softwarp_testkit::files::temporary();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).expect("written");
    let map = r#"{"api":"tiled","dtype":0,"rank":1,"dims":[16],"strides":[],"estrides":[1],"interleave":0,"swizzle":0,"l2":0,"fill":0,"box":[16]}"#;
    let load = |tx: u32, fnv: &str, result: &str| {
        format!(
            r#"{{"id":7,"kind":"load","map":{map},"coords":[0],"smem_offset":0,"result":"{result}","tx":{tx},"at":0,"len":16,"fnv64":"{fnv}"}}"#
        )
    };
    let right: Vec<u8> = (0..4_u32).flat_map(|word| word.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
    let fnv = right.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let verify = || softwarp(&["verify", &folder.path().display().to_string()], b"");
    write("load.jsonl", &load(16, &format!("{fnv:016x}"), "ok"));
    let ran = verify();
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    for missing in ["load.bin", "store.jsonl", "encode.jsonl", "encode_wide.jsonl"] {
        assert!(
            ran.stdout.contains(&format!("{missing}: what needs it is not compared")),
            "{missing}: {}",
            ran.stdout
        );
    }
    assert!(ran.stdout.ends_with("1 passed, 0 failed\n"), "{}", ran.stdout);

    let mut wrong = right.clone();
    wrong[9] ^= 0xff;
    std::fs::write(folder.path().join("load.bin"), &wrong).expect("written");
    let ran = verify();
    assert!(
        ran.code == 1 && ran.stdout.contains("load 7: recorded ") && ran.stdout.contains("at byte 9"),
        "{}",
        ran.stdout
    );
    std::fs::write(folder.path().join("load.bin"), &right).expect("written");
    assert_eq!(verify().code, 0);
    for row in [
        load(17, &format!("{fnv:016x}"), "ok"),
        load(16, "0", "ok"),
        load(16, "0", "fault"),
        "{\"map\":{},\"coords\":[],\"result\":\"ok\"}".to_owned(),
    ] {
        write("load.jsonl", &row);
        let ran = verify();
        assert!(ran.code == 1 && ran.stdout.ends_with("0 passed, 1 failed\n"), "{row}: {}", ran.stdout);
    }
    write(
        "load.jsonl",
        &load(16, &format!("{fnv:016x}"), "ok").replace("\"len\":16", "\"len\":99999999999999"),
    );
    assert!(verify().stdout.contains("takes more than"));
}

/// A line as a shell would split it; the page quotes nothing.
fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

#[test]
fn the_page_on_tensors_shows_what_the_commands_print() {
    let page = std::fs::read_to_string(repository("docs/tensors.md")).expect("the page");
    let mut commands = 0;
    for block in page.split("```console\n").skip(1).filter_map(|rest| rest.split("```").next()) {
        for call in block.split("$ softwarp ").skip(1) {
            let (line, shown) = call.split_once('\n').expect("a line");
            let ran = softwarp(&words(line), b"");
            let printed = ran.stdout + &ran.stderr;
            // A line of an ellipsis stands for many.
            match shown.split_once("…\n") {
                Some((start, end)) => {
                    assert!(printed.starts_with(start) && printed.ends_with(end), "{line}:\n{printed}")
                }
                None => assert_eq!(printed, shown, "{line}"),
            }
            commands += 1;
        }
    }
    assert!(commands >= 7, "{commands}");
    let rules = softwarp::tensor::walk::RULES.iter().chain(softwarp::vm::fault::COPY_RULES);
    for (rule, says) in rules.filter(|(rule, _)| !rule.ends_with("-memory")) {
        assert!(page.contains(&format!("| `{rule}` | {says} |\n")), "{rule}");
    }
}

#[test]
fn the_pictures_of_the_page_are_what_draw_makes() {
    let pictures: [(&str, &[&str]); 3] = [
        ("tensor-tile", &["examples/tensor/tile.json", "--at", "0,60"]),
        ("tensor-im2col", &["examples/tensor/im2col.json", "--at", "0,4,7,7"]),
        ("tensor-gather4", &["examples/tensor/gather4.json", "--mode", "gather4", "--at", "16,2,5,0,9"]),
    ];
    for (name, args) in pictures {
        let drawn = tensor(&[&["draw", "--svg", "-"], args].concat(), "").success().stdout.clone();
        assert_file(repository(&format!("docs/images/{name}.svg")), &drawn);
    }
}

#[test]
fn drawings_are_well_formed_whatever_is_copied() {
    let cases: [(&str, &[&str]); 8] = [
        ("tile", &["--at", "-2147483648,2147483647"]),
        ("tile", &["--store", "--shared", "0x380"]),
        ("im2col", &["--at", "-64,4,7,2147483647", "--offsets", "255,255"]),
        ("gather4", &["--mode", "gather4", "--at", "0,-2147483648,2147483647,0,1"]),
        ("interleaved", &["--at", "-5,9,1,0"]),
        ("wide", &["--offsets", "511,31"]),
        ("driver", &[]),
        ("wide", &["--at", "0,-2147483648,0,0"]),
    ];
    for (name, args) in cases {
        let file = format!("examples/tensor/{name}.json");
        let svg = tensor(&[&["draw", &file, "--svg", "-"], args].concat(), "").success().stdout.clone();
        assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"), "{name} {args:?}");
        for tag in ["g", "text", "title", "style", "defs"] {
            let (opened, closed) = (
                svg.matches(&format!("<{tag}>")).count() + svg.matches(&format!("<{tag} ")).count(),
                svg.matches(&format!("</{tag}>")).count(),
            );
            assert_eq!(opened, closed, "{name} {args:?}: {tag}");
        }
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{name} {args:?}");
        assert!(svg.len() < 1_000_000, "{name} {args:?}: {}", svg.len());
        let page = tensor(&[&["draw", &file, "--html", "-"], args].concat(), "").success().stdout.clone();
        assert!(page.ends_with("</html>\n"));
    }
    let both = tensor(&["draw", "-", "--svg", "-", "--html", "-"], TILE);
    assert_eq!(both.code, 2);
    assert_eq!(tensor(&["draw", "-"], TILE).code, 2);
}

proptest::proptest! {
    #![proptest_config(proptest::test_runner::Config { cases: 2000, ..Default::default() })]

    #[test]
    fn no_text_breaks_the_readers(
        at in proptest::collection::vec((0_usize..400, proptest::prelude::any::<u8>()), 0..6),
        cut in 0_usize..400,
    ) {
        let texts = [
            TILE.to_owned(),
            r#"{"target":"sm_100","kind":"wide","wide":"w","type":"f16","dims":[128,9,7,64],"lower":[0],"upper":[0],"channels":64,"pixels":128,"interleave":1,"address":"0x10","element_strides":[1,1,1,1],"rank":4,"l2":2,"fill":"nan"}"#.to_owned(),
            "0x12ull, ".repeat(16),
            "ab".repeat(128),
        ];
        for text in texts {
            let mut bytes = text.into_bytes();
            for (place, byte) in &at {
                let length = bytes.len();
                bytes[place % length] = *byte;
            }
            bytes.truncate(bytes.len().saturating_sub(cut % 40));
            let file = softwarp_cli::tensors::file::read(&bytes);
            for arch in [softwarp::tensor::Target::SM_90, softwarp::tensor::Target::SM_103] {
                file.check(arch);
            }
            let _ = softwarp_cli::tensors::object::read(&bytes);
        }
    }
}
