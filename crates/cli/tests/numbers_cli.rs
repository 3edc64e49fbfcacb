//! `softwarp diff`, `quantize`, `cvt` between all formats, and the names of formats, as their users meet them.

use crate::binary::{Ran, command, run as call};
use serde_json::Value as Json;
use softwarp::num::Format;
use softwarp::num::block::BlockFormat;
use softwarp_cli::names;
use softwarp_cli::npy::{Array, DType};
use softwarp_testkit::expected::assert_file;
use softwarp_testkit::files::{TempDir, temporary};
use softwarp_testkit::repository;
use std::path::Path;

/// A folder of arrays, in which commands are run.
struct Folder(TempDir);

impl Folder {
    fn new() -> Folder {
        Folder(temporary())
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn run(&self, line: &str) -> Ran {
        self.pipe(line, b"")
    }

    fn pipe(&self, line: &str, input: &[u8]) -> Ran {
        call(command(self.path(), &line.split_whitespace().collect::<Vec<_>>()), input)
    }

    /// What a command writes to standard output, byte by byte.
    fn bytes(&self, line: &str, input: &str) -> Vec<u8> {
        let file = std::fs::File::open(self.path().join(input)).expect("a file");
        let mut command = command(self.path(), &line.split_whitespace().collect::<Vec<_>>());
        let output = command.stdin(file).output().expect("the binary runs");
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    }

    fn save(&self, name: &str, dtype: &str, shape: &[usize], data: Vec<u8>) {
        self.save_array(name, &Array::new(DType::parse(dtype).expect("a dtype"), shape.to_vec(), data));
    }

    fn save_array(&self, name: &str, array: &Array) {
        std::fs::write(self.path().join(name), array.to_bytes()).expect("written");
    }

    fn save_f32(&self, name: &str, shape: &[usize], values: &[f32]) {
        self.save(name, "<f4", shape, values.iter().flat_map(|x| x.to_le_bytes()).collect());
    }

    fn load(&self, name: &str) -> Array {
        Array::from_bytes(&std::fs::read(self.path().join(name)).expect("a file")).expect("an array")
    }

    fn load_f32(&self, name: &str) -> Vec<f32> {
        singles(&self.load(name))
    }
}

/// The call must fail with this code and one line of error that has `wanted` in it.
#[track_caller]
fn refused(ran: &Ran, code: i32, wanted: &str) {
    assert_eq!((ran.code, ran.stdout.as_str()), (code, ""), "{}", ran.stderr);
    assert!(ran.stderr.starts_with("error: ") && ran.stderr.lines().count() == 1, "{}", ran.stderr);
    assert!(ran.stderr.contains(wanted), "wanted {wanted}: {}", ran.stderr);
}

fn singles(array: &Array) -> Vec<f32> {
    assert_eq!(array.header.dtype.to_string(), "<f4");
    array.data.as_chunks::<4>().0.iter().map(|&four| f32::from_le_bytes(four)).collect()
}

/// Numbers of all sizes, not on any grid.
fn numbers(count: usize) -> Vec<f32> {
    (0..count).map(|n| (n as f32 * 0.37).sin() * (n as f32 * 0.011).exp()).collect()
}

#[test]
fn equal_arrays_are_equal() {
    let folder = Folder::new();
    folder.save_f32("a.npy", &[2, 3], &[1.0, -2.0, f32::NAN, f32::INFINITY, 0.0, -0.0]);
    let ran = folder.run("diff a.npy a.npy");
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stdout.contains("6 elements of f32\nequal, bit by bit\n"), "{}", ran.stdout);
    let json = folder.run("diff a.npy a.npy --json").json();
    assert_eq!((&json["equal"], &json["differ"], &json["max_ulp"]), (&true.into(), &0.into(), &Json::Null));
    assert_eq!(json["histogram"], serde_json::json!([{"from": 0, "to": 0, "elements": 6}]));
}

#[test]
fn differences_are_counted_and_placed() {
    let folder = Folder::new();
    let next = |x: f32, steps: u32| f32::from_bits(x.to_bits() + steps);
    folder.save_f32("a.npy", &[2, 4], &[1.0, 2.0, 4.0, 0.0, 1.0, f32::MAX, f32::NAN, 8.0]);
    let other = [1.0, next(2.0, 1), next(4.0, 3), -0.0, f32::NAN, f32::INFINITY, -f32::NAN, 8.0];
    folder.save_f32("b.npy", &[2, 4], &other);
    let ran = folder.run("diff a.npy b.npy --json");
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    let json = ran.json();
    let count = |key: &str| json[key].as_u64().expect("a count");
    assert_eq!((count("elements"), count("differ"), count("beyond")), (8, 4, 4));
    assert_eq!((count("nan_in_one"), count("zeros_of_other_sign"), count("not_finite")), (1, 1, 2));
    assert_eq!((&json["first"]["index"], &json["first"]["ulp"]), (&serde_json::json!([0, 1]), &1.into()));
    assert_eq!((&json["max_ulp"]["index"], &json["max_ulp"]["ulp"]), (&serde_json::json!([0, 2]), &3.into()));
    let error = |key: &str| json[key]["error"].as_f64().expect("a number");
    assert!((error("max_abs_error") / f64::from(next(4.0, 3) - 4.0) - 1.0).abs() < 1e-12);
    assert!((error("max_rel_error") / f64::from((next(4.0, 3) - 4.0) / 4.0) - 1.0).abs() < 1e-12);
    let histogram: Vec<u64> = json["histogram"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|row| row["elements"].as_u64().unwrap())
        .collect();
    assert_eq!(histogram, [4, 2, 0, 1]);
    assert_eq!(json["equal"], false);

    let text = folder.run("diff a.npy b.npy").stdout;
    assert!(text.contains("max ulp        3 "), "{text}");
    assert!(text.contains("\n4 differ (50.000 %); 1 zero of the other sign\n"), "{text}");
    assert!(
        text.contains("[0, 2]") && text.contains("3 to 4      1\n") && text.contains("NaN in one  1\n"),
        "{text}"
    );
    // Three steps are accepted, NaN never is.
    let ran = folder.run("diff a.npy b.npy --max-ulp 3 --json");
    assert_eq!((ran.code, &ran.json()["beyond"]), (1, &1.into()));
    folder.save_f32("c.npy", &[2, 4], &[1.0, next(2.0, 1), next(4.0, 3), 0.0, 1.0, f32::MAX, f32::NAN, 8.0]);
    assert_eq!(folder.run("diff a.npy c.npy --max-ulp 3").code, 0);
    assert_eq!(folder.run("diff a.npy c.npy --max-ulp 2").code, 1);
}

#[test]
fn arrays_of_codes_are_compared_by_their_format() {
    let folder = Folder::new();
    folder.save("a.npy", "|u1", &[4], vec![0x38, 0x7e, 0x00, 0x7f]);
    folder.save("b.npy", "|u1", &[4], vec![0x3a, 0x7e, 0x80, 0xff]);
    // As bytes 2, 128 and 128 apart; as e4m3 only the first differs.
    assert_eq!(folder.run("diff a.npy b.npy --json").json()["differ"], 3);
    for name in ["e4m3", "fp8", "float8_e4m3fn", "E4M3"] {
        let json = folder.run(&format!("diff a.npy b.npy --json --type {name}")).json();
        assert_eq!((&json["differ"], &json["type"]), (&1.into(), &"e4m3".into()));
        assert_eq!((&json["max_ulp"]["ulp"], &json["max_ulp"]["b"]), (&2.into(), &1.25.into()));
    }
    // Two codes to a byte: the shape is in elements.
    let json = folder.run("diff a.npy b.npy --json --type fp4").json();
    assert_eq!(json["shape"], serde_json::json!([8]));
}

#[test]
fn what_cannot_be_compared_is_refused() {
    let folder = Folder::new();
    folder.save_f32("a.npy", &[4], &[0.0; 4]);
    folder.save_f32("b.npy", &[2, 2], &[0.0; 4]);
    folder.save("v.npy", "|V1", &[4], vec![0; 4]);
    refused(&folder.run("diff a.npy b.npy"), 1, "the shape is (2, 2), and (4,) is wanted");
    refused(&folder.run("diff a.npy v.npy"), 1, "the array holds |V1");
    refused(&folder.run("diff v.npy v.npy"), 2, "say what that is by --type");
    refused(&folder.run("diff a.npy a.npy --type fp6"), 2, "fp6_e2m3 and fp6_e3m2 are");
    refused(&folder.run("diff - -"), 2, "`-` may be given once");
    refused(&folder.run("diff a.npy none.npy"), 2, "cannot read none.npy");
}

#[test]
fn narrow_arrays_become_wide_ones() {
    let folder = Folder::new();
    folder.save("codes.npy", "|u1", &[2, 4], vec![0x00, 0x38, 0xb8, 0x7e, 0x01, 0x80, 0x7f, 0x40]);
    folder.run("cvt f32.e4m3 --input codes.npy --output f32.npy").success();
    let wanted = [0.0, 1.0, -1.0, 448.0, 2f32.powi(-9), -0.0];
    let got = folder.load_f32("f32.npy");
    assert!(
        got[..6].iter().zip(wanted).all(|(x, y)| x.to_bits() == y.to_bits()) && got[6].is_nan(),
        "{got:?}"
    );
    folder.run("cvt double.fp8 --input codes.npy --output f64.npy").success();
    assert_eq!(folder.load("f64.npy").data[24..32], 448f64.to_le_bytes());
    // And FP4, two to a byte, there and back.
    folder.run("cvt e4m3.e2m1 --input codes.npy --output wide.npy").success();
    let wide = folder.load("wide.npy");
    assert_eq!(
        (wide.header.shape, &wide.data[..8]),
        (vec![2, 8], &[0, 0, 0x80, 0x3c, 0x80, 0xbc, 0xc8, 0x4c][..])
    );
    let report = folder.run("cvt f32.e2m1 --input codes.npy --output x.npy --json").json();
    assert_eq!((&report["form"], &report["elements"]), (&"f32.e2m1".into(), &16.into()));
}

#[test]
fn only_exact_conversions_go_beyond_ptx() {
    let folder = Folder::new();
    assert_eq!(folder.run("cvt f32.e4m3 0x7e --json").json()["elements"][0]["value"], 448.0);
    refused(&folder.run("cvt e4m3.f32 1"), 2, "cvt");
    refused(&folder.run("cvt e5m2.e4m3 1"), 2, "cvt");
    refused(&folder.run("cvt f32.e4m3 1 --arch sm_90"), 2, "no form of PTX");
    folder.save("codes.npy", "|u1", &[2], vec![0, 1]);
    refused(&folder.run("cvt f32.e4m3 --input codes.npy --output x.npy --seed 1"), 2, "is exact");
}

#[test]
fn forms_may_have_the_names_of_libraries() {
    let folder = Folder::new();
    let ran = folder.run("cvt rn.satfinite.fp8x2.float 1.5 -300");
    assert!(ran.stdout.starts_with("cvt.rn.satfinite.e4m3x2.f32 d, a, b\n"), "{}", ran.stdout);
    assert!(folder.run("cvt rn.half.double 1").stdout.starts_with("cvt.rn.f16.f64 d, a\n"));
}

#[test]
fn forms_are_listed() {
    let folder = Folder::new();
    let all = folder.run("cvt --list").success().stdout.lines().count();
    assert!(all > 1276, "{all}");
    let listed = folder.run("cvt --list float fp8 --arch 90").stdout;
    let forms: Vec<&str> = listed.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(forms, ["cvt.rn.satfinite.e4m3x2.f32", "cvt.rn.relu.satfinite.e4m3x2.f32"]);
    let rows = folder.run("cvt --list e4m3 f32 --json").json();
    assert_eq!(
        rows,
        serde_json::json!([{"form": "f32.e4m3", "from": "e4m3", "to": "f32", "availability": null}])
    );
    refused(&folder.run("cvt --list e4m3 f32 --arch sm_90"), 1, "there is no conversion from e4m3 to f32");
    refused(&folder.run("cvt --list nofloat"), 2, "`nofloat` is not a format");
    refused(&folder.run("cvt"), 2, "FORM");
}

#[test]
fn arrays_in_fortran_order_are_read() {
    let folder = Folder::new();
    let x = numbers(3 * 64);
    folder.save_f32("c.npy", &[3, 64], &x);
    let turned: Vec<u8> = (0..64)
        .flat_map(|j| (0..3).flat_map(move |i| [(i, j)]))
        .collect::<Vec<_>>()
        .iter()
        .flat_map(|&(i, j)| x[i * 64 + j].to_le_bytes())
        .collect();
    let mut array = Array::new(DType::new('f', 4), vec![3, 64], turned);
    array.header.fortran_order = true;
    folder.save_array("f.npy", &array);
    assert_eq!(folder.run("diff c.npy f.npy --json").json()["equal"], true);
    for order in ["c", "f"] {
        folder
            .run(&format!("cvt rn.satfinite.e4m3x2.f32 --input {order}.npy --output {order}8.npy"))
            .success();
        folder.run(&format!("quantize --to nvfp4 {order}.npy {order}.npz")).success();
    }
    assert_eq!(folder.load("c8.npy"), folder.load("f8.npy"));
    let read = |name: &str| std::fs::read(folder.path().join(name)).expect("a file");
    assert!(read("c.npz") == read("f.npz"));
}

#[test]
fn arrays_of_other_formats_are_quantized() {
    let folder = Folder::new();
    // Halves of small integers: exact in all of these.
    let x: Vec<f32> = (0..128).map(|n| (n as f32 - 64.0) / 2.0).collect();
    folder.save_f32("f32.npy", &[2, 64], &x);
    folder.save("f64.npy", "<f8", &[2, 64], x.iter().flat_map(|&x| f64::from(x).to_le_bytes()).collect());
    folder.run("cvt rn.f16.f32 --input f32.npy --output f16.npy").success();
    folder.run("cvt rn.bf16.f32 --input f32.npy --output bf16.npy").success();
    let npz = |line: &str| {
        folder.run(&format!("quantize --to mxfp8 {line} out.npz")).success();
        std::fs::read(folder.path().join("out.npz")).expect("a file")
    };
    let wanted = npz("f32.npy");
    for line in ["f16.npy", "f64.npy", "--from bf16 bf16.npy", "--from bfloat16 bf16.npy"] {
        assert!(npz(line) == wanted, "{line}");
    }
    refused(&folder.run("quantize --to mxfp8 bf16.npy out.npz"), 1, "the array holds <u2");
    refused(&folder.run("quantize --to mxfp8 --from s32 f32.npy out.npz"), 1, "the array holds <f4");
    refused(&folder.run("quantize --to mxfp6 f32.npy out.npz"), 2, "mxfp6_e2m3 and mxfp6_e3m2 are");
    // An f64 is rounded once: a little above a tie of e4m3 it goes up.
    let above = f64::from_bits(1.0625f64.to_bits() + 1);
    folder.save("tie.npy", "<f8", &[2], [above, 1.75].iter().flat_map(|x| x.to_le_bytes()).collect());
    folder.run("quantize --to mxfp8 tie.npy tie.npz").success();
    folder.run("dequantize tie.npz tie32.npy").success();
    assert_eq!(folder.load_f32("tie32.npy"), [1.125, 1.75]);
}

#[test]
fn blocks_lie_along_any_axis() {
    let folder = Folder::new();
    let (rows, columns) = (40, 3);
    let x = numbers(rows * columns);
    folder.save_f32("x.npy", &[rows, columns], &x);
    let turned: Vec<f32> =
        (0..columns).flat_map(|j| (0..rows).map(move |i| (i, j))).map(|(i, j)| x[i * columns + j]).collect();
    folder.save_f32("t.npy", &[columns, rows], &turned);
    for format in ["mxfp4", "nvfp4", "mxfp8_e5m2"] {
        folder.run(&format!("quantize --to {format} --axis 0 x.npy x.npz")).success();
        folder.run("dequantize x.npz x2.npy").success();
        folder.run(&format!("quantize --to {format} t.npy t.npz")).success();
        folder.run("dequantize t.npz t2.npy").success();
        let (x2, t2) = (folder.load("x2.npy"), folder.load_f32("t2.npy"));
        assert_eq!(x2.header.shape, [rows, columns]);
        let x2 = singles(&x2);
        assert!((0..rows).all(|i| (0..columns).all(|j| x2[i * columns + j] == t2[j * rows + i])), "{format}");
    }
    for (axis, name) in [("-2", "below"), ("0", "first")] {
        folder.run(&format!("quantize --to mxfp4 --axis {axis} x.npy {name}.npz")).success();
    }
    let read = |name: &str| std::fs::read(folder.path().join(name)).expect("a file");
    assert!(read("below.npz") == read("first.npz"));
    refused(
        &folder.run("quantize --to mxfp4 --axis 2 x.npy o.npz"),
        2,
        "--axis 2 is not there: the array has axes 0 to 1",
    );
    refused(&folder.run("quantize --to mxfp4 --axis -3 x.npy o.npz"), 2, "--axis -3 is not there");
}

#[test]
fn scales_and_roundings_are_chosen() {
    let folder = Folder::new();
    folder.save_f32("x.npy", &[2], &[7.0, 1.2]);
    let back = |options: &str| {
        folder.run(&format!("quantize --to mxfp4 {options} x.npy x.npz")).success();
        folder.run("dequantize x.npz y.npy").success();
        folder.load_f32("y.npy")
    };
    // 7 saturates to 6 under scale 1; under scale 2 it is 3.5, half way between 3 and 4.
    assert_eq!(back(""), [6.0, 1.0]);
    for rule in ["floor", "ocp"] {
        assert_eq!(back(&format!("--scale-rule {rule}")), [6.0, 1.0]);
    }
    for rule in ["nearest", "even", "amax", "nvidia", "ceil"] {
        assert_eq!(back(&format!("--scale-rule {rule}")), [8.0, 1.0], "{rule}");
    }
    assert_eq!(back("--scale-rule amax --rounding zero"), [6.0, 1.0]);
    let random: Vec<Vec<f32>> =
        (0..40).map(|seed| back(&format!("--scale-rule amax --rounding stochastic --seed {seed}"))).collect();
    assert!(random.iter().any(|y| y[0] == 6.0) && random.iter().any(|y| y[0] == 8.0), "{random:?}");
    assert_eq!(back("--rounding stochastic --seed 3"), back("--rounding stochastic --seed 3"));
    refused(&folder.run("quantize --to mxfp4 --rounding stochastic x.npy o.npz"), 2, "give --seed");
    refused(&folder.run("quantize --to mxfp4 --seed 1 x.npy o.npz"), 2, "--seed is for");
    refused(&folder.run("quantize --to nvfp4 --scale-rule floor x.npy o.npz"), 2, "nvfp4 has one rule");
    folder.run("quantize --to nvfp4 --scale-rule amax x.npy o.npz").success();
}

#[test]
fn everything_goes_through_pipes() {
    let folder = Folder::new();
    folder.save_f32("x.npy", &[2, 32], &numbers(64));
    folder.run("quantize --to mxfp8 x.npy x.npz").success();
    folder.run("dequantize x.npz back.npy").success();
    folder.run("cvt rn.f16.f32 --input x.npy --output half.npy").success();
    let read = |name: &str| std::fs::read(folder.path().join(name)).expect("a file");
    assert!(folder.bytes("quantize --to mxfp8 - -", "x.npy") == read("x.npz"));
    assert!(folder.bytes("dequantize - -", "x.npz") == read("back.npy"));
    assert!(folder.bytes("cvt rn.f16.f32 --input - --output -", "x.npy") == read("half.npy"));
    assert!(folder.bytes("formats e4m3 --svg -", "x.npy").starts_with(b"<svg"));
    assert_eq!(
        folder.bytes("diff - x.npy", "x.npy").split(|byte| *byte == b'\n').nth(1),
        Some(&b"equal, bit by bit"[..])
    );
    for line in ["quantize --to mxfp8 x.npy - --json", "cvt rn.f16.f32 --input x.npy --output - --json"] {
        refused(&folder.run(line), 2, "cannot both write to standard output");
    }
    assert!(!folder.path().join("-").exists());
    for (result, code) in [("3c00", 0), ("3c01", 1)] {
        let rows = format!("{{\"form\": \"rn.f16.f32\", \"rows\": [[\"3f800000\", \"{result}\"]]}}\n");
        assert_eq!(folder.pipe("verify -", rows.as_bytes()).code, code);
    }
    refused(&folder.run("verify - -"), 2, "`-` may be given once");
}

#[test]
fn formats_have_all_their_names() {
    let folder = Folder::new();
    for (name, wanted) in
        [("half", "f16: "), ("float8_e4m3fn", "e4m3: "), ("BF16", "bf16: "), ("fp4", "e2m1: ")]
    {
        let ran = folder.run(&format!("formats {name}"));
        assert!(ran.stdout.starts_with(wanted), "{}", ran.stdout);
    }
    let ran = folder.run("formats nvfp4");
    assert!(
        ran.stdout.starts_with("nvfp4: blocks of 16 e2m1 elements, each with an e4m3 scale"),
        "{}",
        ran.stdout
    );
    let json = folder.run("formats mxfp8 --json").json();
    assert_eq!(
        (&json["name"], &json["element"], &json["block"]),
        (&"mxfp8_e4m3".into(), &"e4m3".into(), &32.into())
    );
    let list = folder.run("formats").stdout;
    assert!(list.contains("bf16    bfloat16 __nv_bfloat16\n"), "{list}");
    let rows = folder.run("formats --json").json();
    assert_eq!(rows[0]["aliases"][0], "fp16");
    refused(&folder.run("formats mxfp4 --svg x.svg"), 2, "--svg draws formats of single numbers");
}

#[test]
fn targets_are_spelled_one_way_and_others_are_understood() {
    let folder = Folder::new();
    for option in ["--arch sm_90", "--arch 90", "--target sm_90", "--arch compute_90", "--arch SM_90"] {
        let ran = folder.run(&format!("cvt rn.f16.f32 {option}"));
        assert!(ran.code == 0 && ran.stdout.contains("legal on sm_90 "), "{option}: {}", ran.stderr);
    }
    refused(&folder.run("cvt rn.f16.f32 --arch sm_91"), 2, "`sm_91` is not a target; did you mean sm_90?");
    std::fs::write(folder.path().join("k.ptx"), ".version 8.0\n.target sm_90\n.address_size 64\n")
        .expect("written");
    for command in ["check", "layout", "lower"] {
        refused(
            &folder.run(&format!("{command} k.ptx --arch 91a")),
            2,
            "`91a` is not a target; did you mean sm_90a?",
        );
        let ran = folder.run(&format!("{command} k.ptx --arch 90a"));
        assert!(!ran.stderr.contains("target"), "{command}: {}", ran.stderr);
    }
    refused(&folder.run("exec --arch 95 -- true"), 2, "did you mean sm_90?");
    std::fs::write(folder.path().join("map.json"), "{}").expect("written");
    refused(&folder.run("tensor check map.json --arch 99"), 2, "did you mean sm_100?");
    refused(&folder.run("tensor check map.json --target 99"), 2, "did you mean sm_100?");
}

const BEGIN: &str = "<!-- the tables of names are made by tests/numbers_cli.rs -->\n";
const END: &str = "<!-- end of the tables of names -->\n";

/// The names of formats as the documentation lists them.
fn tables() -> String {
    let code = |names: &[&str]| names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    let mut text = "| format | other names |\n|---|---|\n".to_owned();
    for format in Format::ALL.into_iter().filter(|format| !names::aliases(*format).is_empty()) {
        text += &format!("| `{format}` | {} |\n", code(names::aliases(format)));
    }
    text += "\n| block-scaled format | elements | scales | other names |\n|---|---|---|---|\n";
    for format in BlockFormat::ALL {
        let (elements, scales) = (format.element(), format.scale());
        let aliases = code(names::block_aliases(format));
        text +=
            &format!("| `{}` | {} × {elements} | {scales} | {aliases} |\n", format.name(), format.block());
    }
    text
}

#[test]
fn the_names_in_the_documentation_are_true() {
    let file = repository("docs/conversions.md");
    let text = std::fs::read_to_string(&file).expect("docs/conversions.md");
    let (before, rest) = text.split_once(BEGIN).expect("the beginning of the tables");
    let (_, after) = rest.split_once(END).expect("the end of the tables");
    assert_file(&file, &format!("{before}{BEGIN}{}{END}{after}", tables()));
}

#[test]
fn the_transcripts_of_the_documentation_are_true() {
    let folder = Folder::new();
    let text = std::fs::read_to_string(repository("docs/conversions.md")).expect("docs/conversions.md");
    let mut count = 0;
    for block in text.split("```\n$ softwarp ").skip(1) {
        let (line, rest) = block.split_once('\n').expect("a line");
        let wanted = rest.split("```").next().expect("a transcript");
        assert_eq!(folder.run(line).stdout, wanted, "{line}");
        count += 1;
    }
    assert!(count >= 1);
}
