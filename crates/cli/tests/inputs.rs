//! Files that are hostile, or that say nothing: what is read has bounds, and nothing is passed over in silence.

use crate::binary::{Ran, command, run as call};
use crate::files;
use crate::files::KERNEL;
use softwarp_cli::npy::{Array, DType, Header};
use softwarp_testkit::files::folder;
use std::io::Write;
use std::path::Path;

fn softwarp(folder: &Path, args: &[&str]) -> Ran {
    call(command(folder, args), b"")
}

/// A launch file that reads its buffer back, and has more members.
fn launch(more: &str) -> String {
    files::launch(&format!(r#", "dump": ["y"]{more}"#))
}

#[track_caller]
fn refused(ran: &Ran, code: i32, part: &str) {
    assert_eq!((ran.code, ran.stdout.as_str()), (code, ""), "{}", ran.stderr);
    assert!(ran.stderr.starts_with("error: ") && ran.stderr.contains(part), "{}", ran.stderr);
}

#[cfg(target_os = "linux")]
#[test]
fn devices_without_an_end_are_not_read() {
    let folder = folder(&[("l.json", &launch(r#", "ptx": "/dev/zero""#))]);
    for args in [
        &["check", "/dev/zero"][..],
        &["fmt", "/dev/urandom"],
        &["layout", "/dev/zero"],
        &["ast", "--json", "/dev/zero"],
        &["run", "/dev/zero"],
        &["run", "l.json", "--allow-paths"],
        &["tensor", "check", "/dev/zero"],
        &["quantize", "--to", "mxfp4", "/dev/zero", "out.npz"],
        &["dequantize", "/dev/zero", "out.npy"],
        &["cvt", "rn.f16.f32", "--input", "/dev/zero", "--output", "out.npy"],
        &["verify", "/dev/zero"],
    ] {
        let ran = softwarp(folder.path(), args);
        assert!(
            ran.code != 0 && ran.stderr.contains("it is a device, which may have no end"),
            "{args:?}: {}",
            ran.stderr
        );
    }
    // Standard input is one as well.
    let zero = std::fs::File::open("/dev/zero").expect("Linux has it");
    let ran: Ran = command(folder.path(), &["check", "-"]).stdin(zero).output().expect("it runs").into();
    refused(&ran, 2, "cannot read <stdin>: it is a device");
    // And this one ends at once.
    assert!(softwarp(folder.path(), &["check", "/dev/null"]).stderr.contains("in /dev/null"));
}

#[test]
fn files_and_streams_have_a_length_that_the_user_can_choose() {
    let folder = folder(&[("k.ptx", KERNEL), ("l.json", &launch(r#", "ptx": "k.ptx""#))]);
    let too_long = "it is longer than 64 bytes, the most that is read; --max-input raises that";
    refused(
        &softwarp(folder.path(), &["check", "k.ptx", "--max-input", "64"]),
        1,
        &format!("k.ptx: {too_long}"),
    );
    let ran = call(command(folder.path(), &["--max-input", "64", "fmt", "-"]), KERNEL.as_bytes());
    refused(&ran, 1, &format!("<stdin>: {too_long}"));
    refused(
        &softwarp(folder.path(), &["run", "l.json", "--max-input", "64"]),
        1,
        &format!("l.json: {too_long}"),
    );
    assert_eq!(softwarp(folder.path(), &["run", "l.json", "--max-input", "4K"]).code, 0);
    refused(&softwarp(folder.path(), &["check", "k.ptx", "--max-input", "much"]), 2, "--max-input");
    // A file that claims a length takes no memory for it.
    let sparse = std::fs::File::create(folder.path().join("sparse.ptx")).expect("made");
    sparse.set_len(1 << 40).expect("sparse");
    refused(&softwarp(folder.path(), &["check", "sparse.ptx"]), 1, "sparse.ptx: it is longer than 1 GiB");
}

#[test]
fn a_launch_file_reads_its_own_folder_only() {
    let outside = folder(&[("secret.ptx", "the password is swordfish\n"), ("k.ptx", KERNEL)]);
    let at = outside.path().display();
    let inside = folder(&[
        ("absolute.json", &launch(&format!(r#", "ptx": "{at}/secret.ptx""#))),
        ("missing.json", &launch(&format!(r#", "ptx": "{at}/nothing.ptx""#))),
        ("up/l.json", &launch(r#", "ptx": "../k.ptx""#)),
        ("k.ptx", KERNEL),
        ("down.json", &launch(r#", "ptx": "sub/../sub/k.ptx""#)),
        ("sub/k.ptx", KERNEL),
        ("gone.json", &launch(r#", "ptx": "gone.ptx""#)),
    ]);
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(outside.path().join("secret.ptx"), inside.path().join("link.ptx"))
            .expect("a link");
        std::fs::write(inside.path().join("link.json"), launch(r#", "ptx": "link.ptx""#)).expect("written");
        std::fs::write(inside.path().join("same.json"), launch("")).expect("written");
        std::os::unix::fs::symlink(outside.path().join("secret.ptx"), inside.path().join("same.ptx"))
            .expect("a link");
    }
    for name in ["absolute.json", "missing.json", "up/l.json", "link.json", "same.json"] {
        let ran = softwarp(inside.path(), &["run", name]);
        refused(&ran, 1, "lies outside of the file's folder; --allow-paths reads it");
        assert!(!ran.stderr.contains("swordfish") && !ran.stderr.contains("No such file"), "{}", ran.stderr);
        let ran = softwarp(inside.path(), &["verify", name]);
        assert!(ran.code == 1 && ran.stderr.contains("lies outside"), "{}", ran.stderr);
    }
    assert_eq!(softwarp(inside.path(), &["run", "down.json"]).code, 0);
    refused(&softwarp(inside.path(), &["run", "gone.json"]), 2, "cannot read gone.ptx: No such file");
    assert_eq!(softwarp(inside.path(), &["run", "up/l.json", "--allow-paths"]).code, 0);
    assert!(softwarp(inside.path(), &["run", "absolute.json", "--allow-paths"]).stderr.contains("swordfish"));
    let ran = call(command(inside.path(), &["run", "-"]), launch(r#", "ptx": "../k.ptx""#).as_bytes());
    refused(&ran, 1, "<stdin>: ptx: `../k.ptx` lies outside");
}

#[test]
fn launch_files_have_no_unknown_and_no_repeated_keys() {
    let file = |text: &str| {
        let folder = folder(&[("l.json", text), ("l.ptx", KERNEL)]);
        softwarp(folder.path(), &["run", "l.json"])
    };
    let top = |more: &str| launch(&format!(", {more}"));
    let in_launch = |more: &str| launch("").replace(r#""grid": 1"#, &format!(r#""grid": 1, {more}"#));
    let in_buffer = |more: &str| launch("").replace(r#""bytes": 4"#, &format!(r#""bytes": 4, {more}"#));
    let in_argument =
        |more: &str| launch("").replace(r#"{"buffer": "y"}"#, &format!(r#"{{"buffer": "y", {more}}}"#));
    assert_eq!(file(&launch("")).code, 0);
    assert_eq!(file(&top(r#""what": "a test", "_seed": 1, "comment": null"#)).code, 0);
    for (text, why) in [
        (top(r#""dumps": ["y"]"#), "there is no key `dumps`: did you mean `dump`?"),
        (top(r#""expct": {}"#), "there is no key `expct`: did you mean `expect`?"),
        (
            in_launch(r#""dynamic_shared": 8"#),
            "launches[0]: there is no key `dynamic_shared`: did you mean `dynamic_smem`?",
        ),
        (in_launch(r#""kernal": "k""#), "launches[0]: there is no key `kernal`: did you mean `kernel`?"),
        (in_buffer(r#""int": "zero""#), "buffers.y: there is no key `int`: did you mean `init`?"),
        (in_buffer(r#""init": {"splitmix32": 1, "hex": "00"}"#), "buffers.y.init: there is no key `hex`"),
        (in_argument(r#""ofset": 4"#), "launches[0].args[0]: an argument has one value"),
        (in_argument(r#""at": 4"#), "launches[0].args[0]: `at` says nothing beside `buffer`"),
        (
            launch("").replace(r#"{"buffer": "y"}"#, r#"{"u64": 1, "offset": 4}"#),
            "launches[0].args[0]: `offset` says nothing beside `u64`",
        ),
        (
            launch("").replace(r#"{"buffer": "y"}"#, r#"{"packed": {"size": 8, "fields": [], "align": 8}}"#),
            "launches[0].args[0].packed: there is no key `align`",
        ),
        (
            top(r#""globals": [{"name": "g", "dmp": true}]"#),
            "globals[0]: there is no key `dmp`: did you mean `dump`?",
        ),
        (top(r#""compare": {"f32_rel": 1, "f32_ulp": 1}"#), "compare: there is no key `f32_rel`"),
        (top(r#""compare": {"f32_rel": 1, "asb": 1}"#), "compare: there is no key `asb`"),
        (
            top(r#""expect": {"y": "00"}, "compare": {"per_buffer": {"z": "exact"}}"#),
            "compare: `z` is not in `expect`",
        ),
        (top(r#""sanitizer": {"tol": "x"}"#), "sanitizer: there is no key `tol`: did you mean `tool`?"),
        (
            top(
                r#""surfaces": [{"name": "s", "kind": "surfref", "format": "u8x4", "dims": [1], "dmup": true}]"#,
            ),
            "surfaces[0]: there is no key `dmup`",
        ),
        (
            top(
                r#""textures": [{"name": "s", "kind": "texref", "format": "u8x4", "dims": [1], "filtr": "point"}]"#,
            ),
            "textures[0]: there is no key `filtr`: did you mean `filter`?",
        ),
        (
            top(
                r#""textures": [{"name": "s", "kind": "texref", "format": "u8x4", "dims": [1], "pitch": 512}]"#,
            ),
            "textures[0].pitch: it says nothing",
        ),
        (top(r#""dump": []"#), "the key `dump` is given twice"),
        (in_launch(r#""block": 2"#), "the key `block` is given twice"),
        (in_buffer(r#""bytes": 8"#), "the key `bytes` is given twice"),
    ] {
        refused(&file(&text), 1, why);
    }
}

#[test]
fn options_that_would_be_ignored_are_refused() {
    let files = folder(&[("l.json", &launch("")), ("l.ptx", KERNEL)]);
    let run = |args: &[&str]| softwarp(files.path(), &[&["run"], args].concat());
    refused(&run(&["l.json", "--cooperative"]), 2, "--cooperative goes with PTX files");
    let ptx = ["l.ptx", "--kernel", "k", "--arg", "buffer:y=zero:4"];
    let ptx = |more: &[&str]| run(&[&ptx, more].concat());
    for thread in ["9:63", "1:0", "0:1", "0,1:0", "0:0,1"] {
        for file in [run(&["l.json", "--trace", thread]), ptx(&["--trace", thread])] {
            refused(&file, 2, "no launch has such a thread");
        }
    }
    assert!(ptx(&["--trace", "0:0"]).stderr.contains("st.global"));
    refused(&ptx(&["--trace", "0:0", "--threads", "2"]), 2, "--threads");
    refused(&ptx(&["--dump", "y:f32=y.bin"]), 2, "only .npy files have a type");
    refused(&ptx(&["--dump", "y=a.bin", "--dump", "y=a.bin"]), 2, "two memories cannot both go to a.bin");
    refused(&ptx(&["--set", "v=hex:00", "--set", "v=hex:01"]), 2, "the variable is set already");
    let ran = softwarp(files.path(), &["tensor", "copy", "l.json", "--input", "l.ptx"]);
    assert!(ran.code == 2 && ran.stderr.contains("--output"), "{}", ran.stderr);
}

#[test]
fn a_memory_can_be_dumped_to_several_places() {
    let files = folder(&[("l.json", &launch("")), ("l.ptx", KERNEL)]);
    let dumps = ["--dump", "y=a.bin", "--dump", "y:u32=b.npy", "--dump", "y", "--dump", "y"];
    let ran = softwarp(files.path(), &[&["run", "l.json"][..], &dumps].concat());
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (0, "{\"ok\":true,\"dumps\":{\"y\":\"07000000\"}}\n"),
        "{}",
        ran.stderr
    );
    assert_eq!(std::fs::read(files.path().join("a.bin")).expect("written"), [7, 0, 0, 0]);
    let array =
        Array::from_bytes(&std::fs::read(files.path().join("b.npy")).expect("written")).expect("an array");
    assert_eq!((array.header, array.data), (Header::new(DType::new('u', 4), vec![1]), vec![7, 0, 0, 0]));
}

/// Dumps are written in pieces: none is lost, and none comes twice.
#[test]
fn a_long_dump_is_whole() {
    let files = folder(&[("l.ptx", KERNEL)]);
    let args = [
        "run",
        "l.ptx",
        "--kernel",
        "k",
        "--arg",
        "buffer:y=iota32:1000000",
        "--dump",
        "y",
        "--dump",
        "y=y.bin",
    ];
    let ran = softwarp(files.path(), &args);
    let json: serde_json::Value = serde_json::from_str(&ran.stdout).expect("JSON");
    let expected: Vec<u8> =
        (0..250_000u32).map(|word| if word == 0 { 7 } else { word }).flat_map(u32::to_le_bytes).collect();
    let digits: String = expected.iter().map(|byte| format!("{byte:02x}")).collect();
    assert!(json["dumps"]["y"] == digits.as_str());
    assert!(std::fs::read(files.path().join("y.bin")).expect("written") == expected);
}

#[test]
fn data_in_a_launch_file_is_bounded_all_together() {
    let mut packed = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
    for _ in 0..600 {
        packed.write_all(&[0; 1 << 20]).expect("packed");
    }
    let packed = packed.finish().expect("packed");
    let text = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, packed);
    let expect = format!(r#", "expect": {{"a": {{"zlib": "{text}"}}, "b": {{"zlib": "{text}"}}}}"#);
    let files = folder(&[("l.json", &launch(&expect)), ("l.ptx", KERNEL)]);
    refused(&softwarp(files.path(), &["run", "l.json"]), 1, "expect.b: zlib: there is more data than");
}

/// An `.npy` file of f32 with this shape and no more than its header.
fn header(shape: &str) -> Vec<u8> {
    let text = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((text.len() as u16).to_le_bytes());
    bytes.extend(text.as_bytes());
    bytes
}

#[test]
fn quantize_writes_nothing_that_dequantize_refuses() {
    let files = folder(&[]);
    for (shape, taken) in [
        ("(0, 18446744073709551615)", false),
        ("(0, 9223372036854775807)", false),
        ("(18446744073709551615, 0)", false),
        ("(0, 5)", true),
        ("(7, 0)", true),
        ("(0,)", true),
    ] {
        std::fs::write(files.path().join("x.npy"), header(shape)).expect("written");
        let ran = softwarp(files.path(), &["quantize", "--to", "mxfp4", "x.npy", "x.npz"]);
        assert_eq!(ran.code, i32::from(!taken), "{shape}: {}", ran.stderr);
        if taken {
            let ran = softwarp(files.path(), &["dequantize", "x.npz", "y.npy"]);
            assert_eq!(ran.code, 0, "{shape}: {}", ran.stderr);
        }
    }
}

/// An archive of an array that is 5,000 times its size: deflate makes a byte of a thousand, and f32 eight of one.
#[test]
fn dequantize_does_not_unpack_a_bomb() {
    let files = folder(&[]);
    let elements: u64 = 1 << 31;
    let path = files.path().join("bomb.npz");
    let mut zip = zip::ZipWriter::new(std::fs::File::create(&path).expect("made"));
    let options =
        zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Deflated);
    let mut put = |name: &str, array: Header, zeros: u64, data: &[u8]| {
        zip.start_file(format!("{name}.npy"), options).expect("begun");
        zip.write_all(&array.to_bytes()).expect("written");
        zip.write_all(data).expect("written");
        for _ in 0..zeros >> 20 {
            zip.write_all(&[0; 1 << 20]).expect("written");
        }
    };
    let name: Vec<u8> = "mxfp4".chars().flat_map(|c| u32::from(c).to_le_bytes()).collect();
    put("format", Header::new(DType::new('U', 5), vec![]), 0, &name);
    put("shape", Header::new(DType::new('i', 8), vec![1]), 0, &elements.to_le_bytes());
    // A part of the codes is enough: the shape is refused before they are read.
    put("codes", Header::new(DType::new('u', 1), vec![16 << 20]), 16 << 20, &[]);
    put("scales", Header::new(DType::new('u', 1), vec![1 << 20]), 1 << 20, &[]);
    zip.finish().expect("written");
    assert!(std::fs::metadata(&path).expect("there").len() < 1 << 20);
    let ran = softwarp(files.path(), &["dequantize", "bomb.npz", "out.npy"]);
    refused(&ran, 1, "the array takes 8589934592 bytes when it is unpacked, and 1073741824 are allowed");
    assert!(!files.path().join("out.npy").exists());
}
