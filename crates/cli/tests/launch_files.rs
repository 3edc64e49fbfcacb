//! Launch files and arguments of `softwarp run`: data, dumps, messages, names of kernels, hints; and the schema.

use crate::binary;
use crate::binary::{Ran, command};
use crate::files::with_headers as folder;
use crate::schema;
use serde_json::{Value as Json, json};
use softwarp_cli::npy::{Array, DType};
use softwarp_cli::run::file::LaunchFile;
use softwarp_testkit::files::TempDir;
use softwarp_testkit::{examples, repository};
use std::path::Path;

/// `add` adds one to each of `n` words; it is a template in C++ with two instances beside it.
const KERNELS: &str = "\
.visible .entry _Z3addPjj(.param .u64 p, .param .u32 n)
{
    .reg .b32 %v, %t;
    .reg .b64 %p;
    .reg .pred %outside;
    ld.param.u64 %p, [p];
    ld.param.u32 %v, [n];
    mov.u32 %t, %tid.x;
    setp.ge.u32 %outside, %t, %v;
    @%outside ret;
    mad.wide.u32 %p, %t, 4, %p;
    ld.global.u32 %v, [%p];
    add.u32 %v, %v, 1;
    st.global.u32 [%p], %v;
    ret;
}
.visible .entry _Z3twoIfEvPT_i() { ret; }
.visible .entry _Z3twoIiEvPT_i() { ret; }
.visible .entry _ZN2ns5threeEf(.param .f32 x) { ret; }
.extern .shared .align 4 .b8 tile[];
.visible .entry shares() { .reg .b32 %r; ld.shared.u32 %r, [tile+64]; st.shared.u32 [tile], %r; ret; }
.visible .entry waits() { .reg .b32 %r; mov.u32 %r, %envreg2; trap; }
.visible .entry takes(.param .align 8 .b8 s[24], .param .u64 out)
{
    .reg .b32 %a, %b;
    .reg .b64 %p, %o;
    ld.param.u32 %a, [s];
    ld.param.u64 %p, [s+8];
    ld.param.u32 %b, [s+16];
    ld.param.u64 %o, [out];
    st.global.u32 [%o], %a;
    st.global.u32 [%o+4], %b;
    ld.global.u32 %a, [%p];
    st.global.u32 [%o+8], %a;
    ret;
}
";

fn run(folder: &Path, args: &[&str]) -> Ran {
    binary::run(command(folder, &[&["run"], args].concat()), b"")
}

fn kernels(args: &[&str]) -> Ran {
    run(folder(&[("k.ptx", KERNELS)]).path(), &[&["k.ptx"], args].concat())
}

/// A launch of `add` on buffer `y`, and other members.
fn adds(members: Json) -> String {
    let mut file = json!({
        "ptx": "k.ptx",
        "launches": [{"kernel": "add", "grid": 1, "block": 32, "args": [{"buffer": "y"}, {"u32": 3}]}],
    });
    for (key, value) in members.as_object().expect("members") {
        file[key] = value.clone();
    }
    file.to_string()
}

fn with_file(text: &str) -> TempDir {
    folder(&[("k.ptx", KERNELS), ("l.json", text)])
}

#[test]
fn buffers_begin_with_numbers_and_are_read_back_as_such() {
    for (init, words) in [
        (json!({"u32": [1, "0xff", 4294967295u32, 7]}), json!([2, 256, 0, 7])),
        (json!({"i32": [[-1, 2], [3, 4]]}), json!([0, 3, 4, 4])),
        (json!({"u32": {"fill": 5, "count": 4}}), json!([6, 6, 6, 5])),
        (json!({"u32": {"range": [10, 14]}}), json!([11, 12, 13, 13])),
        (json!("00000000010000000200000003000000"), json!([1, 2, 3, 3])),
        (json!({"hex": "00000000010000000200000003000000"}), json!([1, 2, 3, 3])),
    ] {
        let text = adds(json!({"buffers": {"y": {"init": init}}, "dump": {"y": {"type": "u32"}}}));
        let ran = run(with_file(&text).path(), &["l.json"]);
        assert_eq!((ran.code, &ran.json()["dumps"]["y"]), (0, &words), "{init}: {}", ran.stderr);
    }
    let text = adds(json!({
        "buffers": {"y": {"bytes": 16, "init": {"f32": {"fill": 1.5}}}},
        "dump": {"y": {"type": "f32", "shape": [2, 2]}},
        "expect": {"y": {"u32": [0x3fc00001u32, 0x3fc00001u32, 0x3fc00001u32, 0x3fc00000u32]}},
    }));
    let folder = with_file(&text);
    let ran = run(folder.path(), &["l.json"]);
    assert_eq!(ran.json()["dumps"]["y"], json!([[1.5000001, 1.5000001], [1.5000001, 1.5]]), "{}", ran.stderr);
    assert_eq!(run(folder.path(), &["l.json", "--check"]).json(), json!({"ok": true, "differences": {}}));
}

#[test]
fn buffers_come_from_files_and_go_to_files() {
    let text = adds(json!({
        "buffers": {"y": {"init": {"npy": "in/y.npy"}}, "z": {"init": {"file": "in/z.bin"}}},
        "dump": {"y": {"npy": "out.npy"}, "z": {"npy": "z.npy", "type": "s16", "shape": [2, 1]}},
    }));
    let folder = with_file(&text);
    let words = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
    let array = Array::new(DType::new('i', 4), vec![2, 2], words(&[1, 2, 3, 4]));
    std::fs::create_dir(folder.path().join("in")).expect("a folder");
    std::fs::write(folder.path().join("in/y.npy"), array.to_bytes()).expect("written");
    std::fs::write(folder.path().join("in/z.bin"), [1, 0, 254, 255]).expect("written");
    let ran = run(folder.path(), &["l.json"]);
    assert_eq!((ran.code, ran.json()), (0, json!({"ok": true, "dumps": {}})), "{}", ran.stderr);
    let read = |name: &str| {
        Array::from_bytes(&std::fs::read(folder.path().join(name)).expect("a file")).expect("an array")
    };
    let (y, z) = (read("out.npy"), read("z.npy"));
    assert_eq!(
        (y.header.dtype, y.header.shape, y.data),
        (DType::new('i', 4), vec![2, 2], words(&[2, 3, 4, 4]))
    );
    assert_eq!(
        (z.header.dtype, z.header.shape, z.data),
        (DType::new('i', 2), vec![2, 1], vec![1, 0, 254, 255])
    );
}

#[test]
fn files_outside_of_the_folder_are_neither_read_nor_written() {
    let outside = folder(&[]);
    std::fs::write(outside.path().join("x.bin"), "secret").expect("written");
    let path = outside.path().join("x.bin").to_string_lossy().into_owned();
    for name in [path.as_str(), "../x.bin"] {
        let text = adds(json!({"buffers": {"y": {"init": {"file": name}}}}));
        let ran = run(with_file(&text).path(), &["l.json"]);
        assert!(ran.code == 1 && ran.stderr.contains("lies outside of the file's folder"), "{}", ran.stderr);
        let text = adds(json!({"buffers": {"y": {"bytes": 16}}, "dump": {"y": {"file": name}}}));
        let ran = run(with_file(&text).path(), &["l.json"]);
        assert!(ran.code == 2 && ran.stderr.contains("lies outside of the file's folder"), "{}", ran.stderr);
    }
    assert_eq!(std::fs::read(outside.path().join("x.bin")).expect("read"), b"secret");
    let text = adds(json!({"buffers": {"y": {"bytes": 8, "init": {"file": "k.ptx"}}}}));
    let ran = run(with_file(&text).path(), &["l.json"]);
    assert!(ran.stderr.contains("bytes of data: there is room for 8\n"), "{}", ran.stderr);
    let text = adds(json!({"buffers": {"y": {"bytes": 16}}, "dump": {"y": {"file": path}}}));
    assert_eq!(run(with_file(&text).path(), &["l.json", "--allow-paths"]).code, 0);
    assert_eq!(std::fs::read(outside.path().join("x.bin")).expect("read").len(), 16);
}

#[test]
fn every_mistake_is_told_with_its_line() {
    let text = r#"{
  "ptx": "k.ptx",
  "launches": [
    {"kernel": "add", "grid": [1, 1, 1, 1], "block": 32,
     "args": [{"buffer": "z"}, {"u32": -3}]}
  ],
  "buffers": {"y": {"bytes": 16, "innit": "zero"}}
}
"#;
    let ran = run(with_file(text).path(), &["l.json"]);
    let expected = "\
error: launches[0].grid: there are one to three dimensions
 --> l.json:4:31
  |
4 |     {\"kernel\": \"add\", \"grid\": [1, 1, 1, 1], \"block\": 32,
  |                               ^^^^^^^^^^^^

error: launches[0].args[0]: there is no buffer `z`
 --> l.json:5:15
  |
5 |      \"args\": [{\"buffer\": \"z\"}, {\"u32\": -3}]}
  |               ^^^^^^^^^^^^^^^

error: launches[0].args[1].u32: it does not fit: u32 is from 0 to 4294967295
 --> l.json:5:40
  |
5 |      \"args\": [{\"buffer\": \"z\"}, {\"u32\": -3}]}
  |                                        ^^

error: buffers.y: there is no key `innit`: did you mean `init`?
 --> l.json:7:34
  |
7 |   \"buffers\": {\"y\": {\"bytes\": 16, \"innit\": \"zero\"}}
  |                                  ^^^^^^^

error: l.json: 4 mistakes
";
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (1, "", expected));

    // A key that is misspelt is not missing, too.
    let misspelt = r#"{"launches": [{"kernel": "add", "grid": 1, "blok": 1}]}"#;
    let ran = run(with_file(misspelt).path(), &["l.json"]);
    assert!(ran.stderr.starts_with("error: launches[0]: there is no key `blok`: did you mean `block`?\n"));
    assert!(ran.stderr.ends_with("error: l.json: 1 mistake\n"), "{}", ran.stderr);

    let zero = r#"{"launches": [{"kernel": "add", "grid": 0, "block": [32, 0], "arg": []}]}"#;
    let ran = run(with_file(zero).path(), &["l.json"]);
    for line in [
        "error: launches[0].grid: it must be at least 1\n --> l.json:1:41\n",
        "error: launches[0].block[1]: it must be at least 1\n --> l.json:1:58\n",
        "error: launches[0]: there is no key `arg`: did you mean `args`?\n",
        "error: l.json: 3 mistakes\n",
    ] {
        assert!(ran.stderr.contains(line), "{line}{}", ran.stderr);
    }

    let ran = run(with_file("{\n  \"launches\": [1,\n  }\n").path(), &["l.json"]);
    assert!(
        ran.stderr.starts_with("error: not JSON: ") && ran.stderr.contains(" --> l.json:3:3\n"),
        "{}",
        ran.stderr
    );
    let twice = "{\"launches\": [],\n \"launches\": []}";
    assert!(run(with_file(twice).path(), &["l.json"]).stderr.contains("--> l.json:2:"));
}

#[test]
fn people_get_a_table() {
    let args = ["--kernel", "add", "--block", "32", "--arg", "buffer:y=u32:0..20", "--arg", "u32:3"];
    let ran = kernels(&[&args[..], &["--dump", "y", "--format", "text"]].concat());
    let table = "\
y: u32[20], 80 bytes
  [0]    1   2   3   3   4   5   6   7
  [8]    8   9  10  11  12  13  14  15
  [16]  16  17  18  19
";
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (0, table, ""));
    let ran = kernels(&[&args[..], &["--dump", "y:f32[4,5]", "--format", "text"]].concat());
    assert!(ran.stdout.starts_with("y: f32[4, 5], 80 bytes\n  [0, 0]    1e-45    3e-45  "), "{}", ran.stdout);
    assert_eq!(ran.stdout.lines().count(), 5);
    let args = ["--kernel", "add", "--block", "32", "--arg", "buffer:y=zero:40000", "--arg", "u32:3"];
    let ran = kernels(&[&args[..], &["--dump", "y", "--format", "text"]].concat());
    assert!(ran.stdout.starts_with("y: b32[10000], 40000 bytes\n  [0]    00000001  "), "{}", ran.stdout);
    assert!(ran.stdout.ends_with("\n  … and 9872 more\n"), "{}", ran.stdout);
    assert_eq!(kernels(&[&args[..], &["--format", "text"]].concat()).stdout, "ok\n");
    let checked = run(&examples(), &["saxpy.json", "--check", "--format", "text"]);
    assert_eq!(checked.stdout, "ok: the results are as expected\n");
    // Standard output is no terminal here, so the output is JSON.
    assert_eq!(kernels(&[&args[..], &["--dump", "y:u32[100,100]"]].concat()).json()["dumps"]["y"][99][99], 0);
    kernels(&[&args[..], &["--dump", "y:u32[100,99]"]].concat())
        .is_refused(2, "--dump y: 10000 elements of u32 do not have the shape [100, 99]");
}

#[test]
fn kernels_have_names_in_cpp() {
    let one = |name: &str, more: &[&str]| kernels(&[&["--kernel", name, "--block", "1"], more].concat());
    assert_eq!(one("two<int>", &[]).code, 0);
    assert_eq!(one("ns::three", &["--arg", "f32:1"]).code, 0);
    one("two", &[]).is_refused(
        2,
        "`two` can be 2 kernels: `_Z3twoIfEvPT_i` (two<float>(float*, int)), `_Z3twoIiEvPT_i` (two<int>(int*, int)); \
         give the whole name of one",
    );
    let text = adds(json!({"launches": [{"kernel": "sub", "grid": 1, "block": 1}]}));
    let ran = run(with_file(&text).path(), &["l.json"]);
    let words = "error: launches[0].kernel: there is no kernel `sub`: there is `_Z3addPjj` (add(unsigned int*, unsigned int)), ";
    assert!(ran.code == 1 && ran.stderr.starts_with(words), "{}", ran.stderr);
    let folder = folder(&[("k.ptx", KERNELS)]);
    let lowered = binary::run(command(folder.path(), &["lower", "--kernel", "three", "k.ptx"]), b"");
    assert!(lowered.success().stdout.starts_with(".entry _ZN2ns5threeEf\n"), "{}", lowered.stdout);
}

#[test]
fn arguments_of_other_types_are_warned_of_and_one_thread_is_told() {
    let ran =
        kernels(&["--kernel", "add", "--arg", "buffer:y=u32:1,2", "--arg", "f32:1.5", "--dump", "y:u32"]);
    assert_eq!(ran.json()["dumps"]["y"], json!([2, 2]));
    assert_eq!(
        ran.stderr,
        "warning: argument 1 is f32, and parameter `n` is .u32: the kernel gets the bits 0x3fc00000\n\
         note: one thread ran in each CTA: --block says how many there are\n"
    );
    let ran = kernels(&["--kernel", "three", "--block", "1", "--arg", "u32:1"]);
    let warning =
        "warning: argument 0 is u32, and parameter `x` is .f32: the kernel gets the bits 0x00000001\n";
    assert_eq!((ran.code, ran.stderr.as_str()), (0, warning));
    assert_eq!(kernels(&["--kernel", "three", "--block", "1", "--arg", "f32:1"]).stderr, "");
    kernels(&["--kernel", "add", "--arg", "u32:1"])
        .is_refused(2, "1 arguments: kernel `_Z3addPjj` has 2 parameters: .u64 p, .u32 n");
}

#[test]
fn the_block_that_a_kernel_requires_is_the_default() {
    let ptx = "\
.visible .entry exact(.param .u64 p) .reqntid 8, 2
{
    .reg .b32 %r; .reg .b64 %p;
    ld.param.u64 %p, [p]; mov.u32 %r, 1; red.global.add.u32 [%p], %r; ret;
}
.visible .entry most(.param .u64 p) .maxntid 4
{
    .reg .b32 %r; .reg .b64 %p;
    ld.param.u64 %p, [p]; mov.u32 %r, 1; red.global.add.u32 [%p], %r; ret;
}
";
    let folder = folder(&[("k.ptx", ptx)]);
    let threads = |kernel: &str, more: &[&str]| {
        let common = ["k.ptx", "--kernel", kernel, "--arg", "buffer:y=zero:4", "--dump", "y:u32"];
        run(folder.path(), &[&common[..], more].concat())
    };
    let ran = threads("exact", &[]);
    let note = "note: --block 8,2,1 is taken: the kernel is for such CTAs (.reqntid)\n";
    assert_eq!((&ran.json()["dumps"]["y"], ran.stderr.as_str()), (&json!([16]), note));
    assert_eq!(threads("exact", &["--grid", "3"]).json()["dumps"]["y"], json!([48]));
    let ran = threads("exact", &["--block", "8,2"]);
    assert_eq!((&ran.json()["dumps"]["y"], ran.stderr.as_str()), (&json!([16]), ""));
    threads("exact", &["--block", "8"])
        .is_refused(2, "CTAs of [8, 1, 1] threads: the kernel is for [8, 2, 1]");
    let ran = threads("most", &[]);
    let note = "note: one thread ran in each CTA: --block says how many there are, at most 4 (.maxntid)\n";
    assert_eq!((&ran.json()["dumps"]["y"], ran.stderr.as_str()), (&json!([1]), note));
    threads("most", &["--block", "5"]).is_refused(2, "a CTA of 5 threads: there can be 4");
}

/// The names of formats that libraries have, wherever `run` takes a type.
#[test]
fn types_go_by_the_names_that_people_know() {
    let dumped = |contents: &str, ty: &str| {
        let buffer = format!("buffer:y={contents}");
        let dump = format!("y:{ty}");
        let ran = kernels(&["--kernel=add", "--block=1", "--arg", &buffer, "--arg=uint:0", "--dump", &dump]);
        assert_eq!(ran.code, 0, "{contents} {ty}: {}", ran.stderr);
        ran.json()["dumps"]["y"].clone()
    };
    for (contents, ty, numbers) in [
        ("fp8:1.5,-2", "float8_e4m3fn", json!([1.5, -2.0])),
        ("E4M3:1.5,-2", "fp8", json!([1.5, -2.0])),
        ("bf8:1.5,-2", "__nv_fp8_e5m2", json!([1.5, -2.0])),
        ("float32:1.5", "float", json!([1.5])),
        ("half:1.5*2", "float16", json!([1.5, 1.5])),
        ("bfloat16:0..2", "bf16", json!([0.0, 1.0])),
        ("double:1", "f64", json!([1.0])),
        ("int:-1", "int32", json!([-1])),
        ("int8:-1,1", "i8", json!([-1, 1])),
        ("fp4:1.5,6", "e2m1", json!([1.5, 6.0])),
    ] {
        assert_eq!(dumped(contents, ty), numbers, "{contents} {ty}");
    }
    let three = |argument: &str| kernels(&["--kernel", "three", "--block", "1", "--arg", argument]);
    assert_eq!((three("float:1").code, three("float:1").stderr.as_str()), (0, ""));
    three("flaot:1").is_refused(2, "--arg flaot:1: `flaot` is no kind of argument");
    let text = adds(json!({
        "buffers": {"y": {"init": {"uint32": [1, 2, 3]}}, "z": {"init": {"Float8_E4M3FN": [1.5]}}},
        "launches": [{"kernel": "add", "grid": 1, "block": 32, "args": [{"buffer": "y"}, {"int": 3}]}],
        "dump": {"y": {"type": "int32"}, "z": {"type": "fp8"}},
    }));
    let ran = run(with_file(&text).path(), &["l.json"]);
    assert_eq!(ran.json()["dumps"], json!({"y": [2, 3, 4], "z": [1.5]}), "{}", ran.stderr);
}

/// The schema has every name of every format. (No key begins with `_`: such keys are remarks.)
#[test]
fn the_schema_has_the_names_of_formats() {
    let schema = schema::Schema::read();
    let fits = |file: &Json| schema.check(file).is_ok() && LaunchFile::from_json(file).is_ok();
    for row in softwarp_cli::names::NUMBERS {
        for name in row.aliases.iter().copied().chain([row.format.name()]) {
            let data = json!({"launches": [], "buffers": {"x": {"init": {name: [1, 1]}}}});
            assert_eq!(fits(&data), !name.starts_with('_'), "{data}");
            let dump = json!({"launches": [], "buffers": {"x": {"bytes": 8}}, "dump": {"x": {"type": name}}});
            assert!(fits(&dump), "{dump}");
            let launch = json!({"kernel": "k", "grid": 1, "block": 1, "args": [{name: 1}]});
            let file = json!({"launches": [launch]});
            assert_eq!(fits(&file), row.format.bits() >= 8 && !name.starts_with('_'), "{file}");
        }
    }
}

#[test]
fn structs_and_other_memory_are_arguments() {
    let more = ["--arg", "buffer:out=u32:0*3", "--dump", "out:u32", "--block", "1", "--kernel", "takes"];
    let ran =
        kernels(&[&["--buffer", "x=u32:9", "--arg", "struct:u32:7;buffer:x;i32:-1"], &more[..]].concat());
    assert_eq!((ran.code, &ran.json()["dumps"]["out"]), (0, &json!([7, 4294967295u32, 9])), "{}", ran.stderr);
    for (argument, why) in [
        ("struct:", "a struct has members, as in 'struct:u32:7;f32:1.5'"),
        ("struct:u32:7;q:1", "`q` is no kind of argument"),
        ("buffer:y=u8:1,256", "u8[1]: it does not fit: u8 is from 0 to 255"),
        ("buffer:y=q:1", "contents are @FILE, numbers (f32:1,2,3), zero:BYTES"),
    ] {
        let ran = kernels(&["--kernel", "takes", "--arg", argument]);
        assert!(ran.code == 2 && ran.stderr.contains(why), "{argument}: {}", ran.stderr);
    }
    kernels(&["--buffer", "x"]).is_refused(2, "--buffer x: it is NAME=CONTENTS, as in x=zero:4096");
}

#[test]
fn textures_and_tensor_maps_are_described_in_files() {
    let ptx = ".visible .entry k(.param .u64 t, .param .u64 out) { .reg .b64 %t, %o; .reg .b32 %x, %r<4>;
        ld.param.u64 %t, [t]; ld.param.u64 %o, [out]; mov.b32 %x, 0f3FC00000;
        tex.1d.v4.u32.f32 {%r0,%r1,%r2,%r3}, [%t, {%x}]; st.global.u32 [%o], %r0; ret; }
        .visible .entry m(.param .align 64 .b8 map[128], .param .u64 out) { ret; }";
    let texture = r#"{"format": "u32x1", "dims": [2], "data": {"u32": [3, 4]}, "read_as_integer": true}"#;
    let map = r#"{"type": "f32", "dims": [64, 64], "box": [64, 16]}"#;
    let folder =
        folder(&[("k.ptx", ptx), ("t.json", texture), ("m.json", map), ("bad.json", r#"{"format": "x"}"#)]);
    let out = ["--block", "1", "--arg", "buffer:y=zero:4", "--dump", "y:u32"];
    let ran = run(folder.path(), &[&["k.ptx", "--kernel", "k", "--arg", "texobj:t.json"], &out[..]].concat());
    assert_eq!((ran.code, &ran.json()["dumps"]["y"]), (0, &json!([4])), "{}", ran.stderr);
    let map = ["k.ptx", "--kernel", "m", "--buffer", "x=zero:16384", "--arg", "tensormap:m.json=x"];
    let ran = run(folder.path(), &[&map[..], &out].concat());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let ran = run(folder.path(), &["k.ptx", "--kernel", "m", "--arg", "tensormap:m.json=q"]);
    assert!(
        ran.code == 2 && ran.stderr.contains("`q`: there is no buffer of this name yet"),
        "{}",
        ran.stderr
    );
    let ran = run(folder.path(), &["k.ptx", "--kernel", "k", "--arg", "texobj:bad.json"]);
    assert!(
        ran.code == 1 && ran.stderr.starts_with("error: bad.json: format: it must be a type"),
        "{}",
        ran.stderr
    );
}

#[test]
fn a_fault_says_what_may_be_missing() {
    let ran = kernels(&["--kernel", "shares", "--block", "1"]);
    let hint = "`tile` has as many bytes as the launch gives it, and that is none: pass --shared BYTES (`dynamic_smem` in a launch file)";
    assert_eq!(ran.json()["fault"]["hints"], json!([hint]), "{}", ran.stderr);
    assert!(ran.stderr.contains(&format!("= note: hint: {hint}\n")), "{}", ran.stderr);
    assert_eq!(kernels(&["--kernel", "shares", "--block", "1", "--shared", "68"]).code, 0);
    let ran = kernels(&["--kernel", "waits", "--block", "1"]);
    assert!(ran.stderr.contains("pass --cooperative"), "{}", ran.stderr);
    let ran = kernels(&["--kernel", "waits", "--block", "1", "--cooperative"]);
    assert!(ran.code == 1 && !ran.stderr.contains("pass --cooperative"), "{}", ran.stderr);
}

#[test]
fn files_that_are_no_ptx_are_named() {
    let folder = folder(&[
        ("empty.txt", " \n"),
        ("new.txt", ".version 19.0\n.target sm_90\n.entry k() { new.u32; }\n"),
    ]);
    std::fs::write(folder.path().join("k.cubin"), b"\x7fELF\x02\x01\x01\x41").expect("written");
    std::fs::write(folder.path().join("k.fatbin"), b"\x50\xed\x55\xba\x01\0\x10\0").expect("written");
    for (name, words) in [
        ("empty.txt", "empty.txt: the file is empty: PTX is wanted"),
        ("k.cubin", "k.cubin: the header of an ELF file ends too early"),
        ("k.fatbin", "k.fatbin: the fat binary ends too early"),
    ] {
        run(folder.path(), &[name]).is_refused(1, words);
    }
    let ran = run(folder.path(), &["new.txt"]);
    assert!(
        ran.code == 1 && ran.stderr.contains("note: new.txt is PTX 19.0, and the newest that is known is "),
        "{}",
        ran.stderr
    );
}

#[test]
fn cuda_sources_need_nvrtc() {
    let folder = folder(&[("k.cu", "__global__ void k() {}\n")]);
    let softwarp = |command: &[&str]| {
        let mut softwarp = std::process::Command::new(env!("CARGO_BIN_EXE_softwarp"));
        softwarp.args(command).arg("k.cu").current_dir(folder.path());
        let output = softwarp.env("SOFTWARP_NVRTC", "/nonexistent/libnvrtc.so.13").output().expect("it runs");
        (output.status.code(), String::from_utf8(output.stderr).expect("text"))
    };
    for command in [&["run"][..], &["check"], &["layout"], &["ast", "--json"]] {
        let (code, said) = softwarp(command);
        assert!(code != Some(0) && said.contains("k.cu: it is CUDA C++, and NVRTC, which compiles it, was not found: `pip install nvidia-cuda-nvrtc"), "{said}");
    }
    // Formatting would write PTX over it.
    let (code, said) = softwarp(&["fmt"]);
    assert!(code != Some(0) && said.contains("it is CUDA C++, and PTX is wanted"), "{said}");
    assert_eq!(
        std::fs::read_to_string(folder.path().join("k.cu")).expect("there"),
        "__global__ void k() {}\n"
    );
}

/// The launch files among the blocks of JSON of a page.
fn blocks(page: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(page).expect("a page");
    let blocks = text.split("```json\n").skip(1).filter_map(|rest| rest.split("```").next());
    blocks.filter(|block| block.contains("\"launches\"")).map(str::to_owned).collect()
}

fn pages() -> Vec<std::path::PathBuf> {
    let entries =
        std::fs::read_dir(repository("docs")).expect("a folder").map(|entry| entry.expect("an entry").path());
    entries
        .filter(|path| path.extension().is_some_and(|end| end == "md"))
        .chain([repository("README.md")])
        .collect()
}

#[test]
fn the_schema_takes_every_launch_file() {
    let schema = schema::Schema::read();
    let mut texts: Vec<(String, String)> = Vec::new();
    for folder in [examples(), repository("crates/cli/tests/bugs")] {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.extension().is_some_and(|end| end == "json") {
                texts.push((path.display().to_string(), std::fs::read_to_string(&path).expect("a file")));
            }
        }
    }
    let of_docs: Vec<(String, String)> = pages()
        .iter()
        .flat_map(|page| blocks(page).into_iter().map(|text| (page.display().to_string(), text)))
        .collect();
    assert!(of_docs.len() >= 3, "{} launch files in the documents", of_docs.len());
    texts.extend(of_docs);
    let mut count = 0;
    for (name, text) in texts {
        let json: Json = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        if json.get("launches").is_some() {
            assert_eq!(schema.check(&json), Ok(()), "{name}");
            count += 1;
        }
    }
    assert!(count > 100, "{count}");
}

#[test]
fn the_schema_refuses_what_the_reader_refuses() {
    let schema = schema::Schema::read();
    let launch = |more: Json| {
        let mut launch = json!({"kernel": "k", "grid": 1, "block": [1, 2]});
        more.as_object().expect("members").iter().for_each(|(key, value)| launch[key] = value.clone());
        json!({"launches": [launch]})
    };
    let argument = |argument: Json| launch(json!({"args": [argument]}));
    let file = |more: Json| {
        let mut file = json!({"launches": []});
        more.as_object().expect("members").iter().for_each(|(key, value)| file[key] = value.clone());
        file
    };
    let buffer = |init: Json| file(json!({"buffers": {"x": {"bytes": 8, "init": init}}}));
    for right in [
        launch(json!({})),
        launch(json!({"cluster": null, "_x": 1, "what": "a test"})),
        argument(json!({"f32": "nan"})),
        argument(json!({"packed": {"size": 8, "fields": [{"at": 4, "u32": 7}]}})),
        buffer(json!({"f32": [[1, "inf"]]})),
        buffer(json!({"e4m3": {"fill": 1, "count": 8}})),
        buffer(json!({"splitmix32": 7})),
        file(
            json!({"dump": {"x": {"type": "i32", "shape": [1, 2]}, "y": null}, "buffers": {"x": {"bytes": 1}}}),
        ),
        file(json!({"compare": {"f32_rel": 0.1, "abs": 1}})),
    ] {
        assert_eq!(schema.check(&right), Ok(()), "{right}");
        assert!(LaunchFile::from_json(&right).is_ok(), "{right}");
    }
    for wrong in [
        json!([]),
        json!({}),
        file(json!({"launchs": []})),
        launch(json!({"grid": [1, 1, 1, 1]})),
        launch(json!({"block": -1})),
        launch(json!({"kernel": 7})),
        launch(json!({"blok": 1})),
        launch(json!({"cooperative": 1})),
        argument(json!({})),
        argument(json!({"q": 1})),
        argument(json!({"u32": 1.5})),
        argument(json!({"u4": 1})),
        argument(json!({"buffer": 7})),
        argument(json!({"packed": {"size": 8, "fields": [{"u32": 7}]}})),
        buffer(json!("0")),
        buffer(json!({"q": []})),
        buffer(json!({"f32": 7})),
        buffer(json!({"u8": [1.5]})),
        buffer(json!({"u8": {"range": [1]}})),
        buffer(json!({"u8": {"fil": 1, "count": 1}})),
        file(json!({"buffers": []})),
        file(json!({"buffers": {"x": {"bites": 8}}})),
        file(json!({"dump": {"x": {"type": "f33"}}})),
        file(json!({"dump": 7})),
        file(json!({"freed": "x"})),
        file(json!({"compare": "near"})),
        file(json!({"globals": [{"set": "00"}]})),
        file(json!({"textures": [{"name": "t", "kind": "tex", "format": "u8x4", "dims": [4]}]})),
    ] {
        assert!(schema.check(&wrong).is_err(), "{wrong}");
        assert!(LaunchFile::from_json(&wrong).is_err(), "{wrong}");
    }
}

#[test]
fn the_documents_list_every_kind_of_fault_and_finding() {
    let page = std::fs::read_to_string(repository("docs/running.md")).expect("a page");
    let words = |path: &str, from: &str, to: &str| {
        let text = std::fs::read_to_string(repository(path)).expect("a file");
        let part =
            text.split(from).nth(1).and_then(|rest| rest.split(to).next()).expect("the part").to_owned();
        let words = part.split('"').skip(1).step_by(2).map(str::to_owned).collect::<Vec<String>>();
        assert!(words.len() > 20, "{words:?}");
        words
    };
    let faults =
        words("crates/launch/src/run/fault.rs", "fn kind(kind: &FaultKind)", "/// A word for each use");
    let findings = words(
        "crates/vm/src/sanitize/finding.rs",
        "FindingKind::Uninitialised =>",
        "/// The sanitizer that finds it",
    );
    for word in faults.iter().chain(findings.iter().filter(|word| word.contains('_'))) {
        assert!(page.contains(&format!("`{word}`")), "docs/running.md lacks `{word}`");
    }
}

/// The launch file that docs/launch-files.md shows the mistakes of.
const MISTAKES: &str = r#"{
  "launches": [
    {"kernel": "saxpy", "grid": [1, 1, 1, 1], "blok": 32, "block": 32,
     "args": [{"f32": 2}, {"buffer": "z"}, {"buffer": "y"}, {"u32": 8}]}
  ],
  "buffers": {"y": {"bytes": 32}}
}
"#;

#[test]
fn the_transcripts_of_the_page_are_true() {
    let page = std::fs::read_to_string(repository("docs/launch-files.md")).expect("the page");
    let files = folder(&[("mistakes.json", MISTAKES)]);
    std::fs::create_dir(files.path().join("examples")).expect("a folder");
    for name in ["saxpy.json", "saxpy.ptx"] {
        std::fs::copy(examples().join(name), files.path().join("examples").join(name)).expect("copied");
    }
    let mut count = 0;
    for block in page.split("```").skip(1).step_by(2) {
        for transcript in block.split("$ softwarp ").skip(1) {
            let (line, wanted) = transcript.split_once('\n').expect("a line");
            let ran = binary::run(command(files.path(), &line.split(' ').collect::<Vec<_>>()), b"");
            assert_eq!(format!("{}{}", ran.stderr, ran.stdout), wanted, "{line}");
            count += 1;
        }
    }
    assert_eq!(count, 4);
}
