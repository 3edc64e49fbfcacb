//! The command line as its users meet it: what is printed, exit codes, and files.

use crate::binary::{Ran, command, run as call};
use serde_json::Value as Json;
use softwarp_cli::npy::{Array, DType, Header};
use std::path::Path;
use std::process::Stdio;

fn softwarp_in(folder: &Path, args: &[&str]) -> Ran {
    call(command(folder, args), b"")
}

fn softwarp(args: &[&str]) -> Ran {
    softwarp_in(Path::new("."), args)
}

fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

/// The call must fail with this code and one line of error that has `wanted` in it.
fn refused(ran: &Ran, code: i32, wanted: &str) {
    assert_eq!(ran.code, code, "{}", ran.stderr);
    assert!(ran.stderr.starts_with("error: "), "{}", ran.stderr);
    assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
    assert!(ran.stderr.contains(wanted), "wanted {wanted}: {}", ran.stderr);
}

fn json(ran: &Ran) -> Json {
    serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {}", ran.stdout))
}

fn save(folder: &Path, name: &str, dtype: &str, shape: &[usize], data: Vec<u8>) {
    let dtype = DType::parse(dtype).expect("a dtype");
    std::fs::write(folder.join(name), Array::new(dtype, shape.to_vec(), data).to_bytes()).expect("written");
}

fn save_f32(folder: &Path, name: &str, shape: &[usize], values: &[f32]) {
    let data = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    save(folder, name, "<f4", shape, data);
}

fn load(folder: &Path, name: &str) -> Array {
    Array::from_bytes(&std::fs::read(folder.join(name)).expect("a file")).expect("an array")
}

fn header(dtype: &str, shape: &[usize]) -> Header {
    Header::new(DType::parse(dtype).expect("a dtype"), shape.to_vec())
}

/// The files of a folder, hidden ones too.
fn files(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("a folder");
    let mut names: Vec<String> =
        entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn a_conversion_is_shown_whole() {
    let ran = softwarp(&["cvt", "rn.satfinite.e4m3x2.f32", "1.5", "-300"]);
    assert_eq!(ran.code, 0);
    assert_eq!(ran.stderr, "");
    assert_eq!(
        ran.stdout,
        "\
cvt.rn.satfinite.e4m3x2.f32 d, a, b
  round to nearest, ties to even; make what is too large the largest finite number
  exists on sm_89, PTX 8.1; sm_90 or newer, PTX 7.8

operand  type    bits        value  registers
a        f32     0x3fc00000  1.5    .f32 .b32
b        f32     0xc3960000  -300   .f32 .b32
d        e4m3x2  0x3cf9             .b16

element  bits  value  what happened
d[1]     0x3c  1.5    from a: exact
d[0]     0xf9  -288   from b: rounded up, error +12
"
    );
}

#[test]
fn a_form_alone_is_described() {
    let ran = softwarp(&["cvt", "cvt.rs.satfinite.e2m1x4.f32"]);
    assert_eq!(ran.code, 0);
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert_eq!(lines[0], "cvt.rs.satfinite.e2m1x4.f32 d, {a, b, e, f}, rbits");
    assert_eq!(words(lines[4]), ["operand", "type", "registers"]);
    assert_eq!(words(lines[9]), ["rbits", "b32", ".b32"]);
    assert_eq!(words(lines[10]), ["d", "e2m1x4", ".b16"]);
}

#[test]
fn results_of_all_kinds_of_operands() {
    let cases: [(&[&str], &str); 12] = [
        (&["rn.f16.f32", "-inf"], "0xfc00"),
        (&["rn.f16.f32", "-1e-3"], "0x9419"),
        (&["rn.f16.f32", "-0"], "0x8000"),
        (&["rn.f16.f32", "0f3f800000"], "0x3c00"),
        (&["rn.f16x2.e4m3x2", "0x3cf9"], "0x3e00dc80"),
        (&["rn.f16x2.e4m3x2", "1.5", "-288"], "0x3e00dc80"),
        (&["rn.f16x2.e4m3x2", "0x3c", "0xf9"], "0x3e00dc80"),
        (&["rn.scaled::n2::ue8m0.bf16x2.e4m3x2", "0x3cfe", "0x8282"], "0x4140c560"),
        (&["rn.scaled::n2::ue8m0.bf16x2.e4m3x2", "1.5", "-448", "2^3"], "0x4140c560"),
        (&["rs.satfinite.e2m1x4.f32", "1", "2", "3", "4", "0"], "0x2456"),
        (&["pack.sat.u8.s32.b32", "300", "-1", "0xabcd1234"], "0x1234ff00"),
        (&["pack.sat.s16.s32", "-40000", "40000"], "0x80007fff"),
    ];
    for (args, bits) in cases {
        let ran = softwarp(&[&["cvt"], args, &["--json"]].concat());
        assert_eq!(ran.code, 0, "{args:?} {}", ran.stderr);
        assert_eq!(json(&ran)["result"]["bits"], bits, "{args:?}");
    }
}

#[test]
fn json_says_what_the_text_says() {
    let ran = softwarp(&["cvt", "rn.satfinite.e4m3x2.f32", "0.1", "inf", "--json", "--target", "sm_100a"]);
    assert_eq!(ran.code, 0);
    let object = json(&ran);
    assert_eq!(object["form"], "cvt.rn.satfinite.e4m3x2.f32");
    assert_eq!(object["operands"][0]["name"], "a");
    assert_eq!(object["operands"][0]["exact"], false);
    assert_eq!(object["operands"][1]["values"][0], "inf");
    let low = &object["result"]["elements"][0];
    assert_eq!((&low["lane"], &low["from"], &low["outcome"]), (&0.into(), &"b".into(), &"saturated".into()));
    assert_eq!((&low["value"], &low["error"]), (&448.0.into(), &Json::Null));
    let high = &object["result"]["elements"][1];
    assert_eq!((&high["bits"], &high["outcome"]), (&"0x1d".into(), &"rounded_up".into()));
    assert_eq!(object["availability"]["legal"], true);
    assert_eq!(object["availability"]["since"], "8.6");
}

#[test]
fn inexact_decimals_and_wide_registers_are_pointed_out() {
    let ran = softwarp(&["cvt", "rni.s8.f32", "-100.1"]);
    assert!(ran.stdout.contains("-100.0999984741211 (the nearest to -100.1)"), "{}", ran.stdout);
    assert!(ran.stdout.contains("(in a 32-bit register, d is 0xffffff9c)"), "{}", ran.stdout);
}

#[test]
fn legality_is_judged() {
    let form = "rn.satfinite.e4m3x2.f32";
    let legal: [&[&str]; 3] =
        [&["--target", "sm_89"], &["--ptx", "8.1"], &["--target", "compute_90", "--ptx", "7.8"]];
    for args in legal {
        let ran = softwarp(&[&["cvt", form], args].concat());
        assert_eq!(ran.code, 0, "{args:?} {}", ran.stderr);
        assert!(ran.stdout.contains("\n  legal "), "{}", ran.stdout);
    }
    let illegal: [(&[&str], &str); 5] = [
        (&["--target", "sm_80"], "not legal on sm_80: it exists on sm_89"),
        (&["--ptx", "7.0"], "not legal in PTX 7.0"),
        (&["--target", "sm_89", "--ptx", "8.0"], "not legal on sm_89 in PTX 8.0: it came with PTX 8.1"),
        (&["--target", "sm_100", "--ptx", "8.1"], "the target came with PTX 8.6"),
        (&["--target", "sm_101", "--ptx", "9.1"], "it is sm_110 since PTX 9.0"),
    ];
    for (args, wanted) in illegal {
        let ran = softwarp(&[&["cvt", form, "1", "2"], args].concat());
        refused(&ran, 1, wanted);
        assert!(ran.stdout.contains("0x3840"), "{}", ran.stdout);
    }
}

#[test]
fn bad_calls_are_refused_in_one_line() {
    let cases: [(&[&str], &str); 30] = [
        (&["cvt"], "<FORM>"),
        (&["cvt", "rn.e4m3x2.f32", "1", "2"], "did you mean cvt.rn.satfinite.e4m3x2.f32?"),
        (&["cvt", "", "1"], "nothing to convert"),
        (&["cvt", "rn.f16.f32", "1", "2"], "takes 1 value (a), and 2 were given"),
        (&["cvt", "rn.satfinite.e4m3x2.f32", "1"], "takes 2 values (a, b), and 1 was given"),
        (&["cvt", "rn.f16x2.e4m3x2", "1", "2", "3"], "or 2 with the 2 elements of a one by one"),
        (&["cvt", "rn.f16x2.e4m3x2", "1"], "takes one register pattern such as 0x3c3c, or 2 elements"),
        (&["cvt", "rn.f16.f32", "abc"], "`abc` is not a number"),
        (&["cvt", "rn.f16.f32", "0x1ffffffff"], "operand a: 0x1ffffffff is too wide for f32"),
        (&["cvt", "rn.f16x2.e4m3x2", "0x12345"], "too wide for a register of e4m3x2, which has 16 bits"),
        (&["cvt", "u8.s32", "2147483648"], "out of range for s32: -2147483648 to 2147483647"),
        (&["cvt", "u8.s32", "-1.5"], "not an integer"),
        (&["cvt", "u8.s32", "nan"], "s32 has no NaN"),
        (&["cvt", "rs.f16x2.f32", "1", "2", "0x1ffffffff"], "operand rbits"),
        (&["cvt", "rs.f16x2.f32", "1", "2", "-1"], "operand rbits"),
        (&["cvt", "rn.scaled::n2::ue8m0.bf16x2.e4m3x2", "0x3c3c", "3"], "operand scale-factor"),
        (&["cvt", "rn.f16.f32", "1", "--target", "sm_1000"], "`sm_1000` is not a target"),
        (&["cvt", "rn.f16.f32", "1", "--ptx", "99.1"], "newer than the newest"),
        (&["cvt", "rn.f16.f32", "1", "--ptx", "x"], "not a PTX version"),
        (&["cvt", "rn.f16.f32", "--output", "y.npy"], "--input"),
        (&["cvt", "rn.f16.f32", "--input", "x.npy"], "--output"),
        (&["cvt", "rn.f16.f32", "1", "--input", "x.npy", "--output", "y.npy"], "cannot be used"),
        (&["cvt", "rn.f16.f32", "--input", "no.npy", "--output", "y.npy"], "cannot read no.npy"),
        (&["cvt", "rn.f16.f32", "1", "--jsn"], "--json"),
        (&["cvt", "pack.sat.s16.s32", "--input", "x.npy", "--output", "y.npy"], "takes no arrays"),
        (&["quantize", "--to", "mxfp5", "x.npy", "y.npz"], "`mxfp5` is not a block format"),
        (&["dequantize", "no.npz", "y.npy"], "cannot read no.npz"),
        (&["formats", "e9m9"], "`e9m9` is not a format"),
        (&["verify", "no-such-folder"], "no-such-folder"),
        (&["convert"], "convert"),
    ];
    let folder = softwarp_testkit::files::temporary();
    for (args, wanted) in cases {
        let ran = softwarp_in(folder.path(), args);
        refused(&ran, 2, wanted);
        assert_eq!(ran.stdout, "", "{args:?}");
    }
    assert!(files(folder.path()).is_empty(), "{:?}", files(folder.path()));
}

#[test]
fn help_and_version() {
    let ran = softwarp(&[]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    assert!(ran.stdout.contains("Usage: softwarp"), "{}", ran.stdout);
    let ran = softwarp(&["--version"]);
    assert_eq!(ran.stdout, format!("softwarp {}\n", env!("CARGO_PKG_VERSION")));
    for command in ["cvt", "quantize", "dequantize", "formats", "verify"] {
        let ran = softwarp(&[command, "--help"]);
        assert_eq!(ran.code, 0);
        assert!(ran.stdout.contains("Example"), "{}", ran.stdout);
    }
}

#[test]
fn arrays_are_converted() {
    let folder = softwarp_testkit::files::temporary();
    let folder = folder.path();
    save_f32(folder, "x.npy", &[2, 4], &[1.5, -300.0, 0.0, -0.0, 1000.0, f32::NAN, 0.1, 6.0]);
    let convert = |form: &str, from: &str, to: &str, more: &[&str]| {
        let ran = softwarp_in(folder, &[&["cvt", form, "--input", from, "--output", to], more].concat());
        assert_eq!(ran.code, 0, "{form}: {}", ran.stderr);
        (load(folder, to), ran)
    };

    let (codes, ran) = convert("rn.satfinite.e4m3x2.f32", "x.npy", "codes.npy", &[]);
    assert_eq!(codes.header, header("|u1", &[2, 4]));
    assert_eq!(codes.data, [0x3c, 0xf9, 0, 0x80, 0x7e, 0x7f, 0x1d, 0x4c]);
    assert!(ran.stderr.starts_with("8 elements in "), "{}", ran.stderr);
    assert_eq!(ran.stderr.lines().count(), 1);

    let (nibbles, _) = convert("rn.satfinite.e2m1x2.f32", "x.npy", "nibbles.npy", &[]);
    assert_eq!(nibbles.header, header("|u1", &[2, 2]));
    assert_eq!(nibbles.data, [0xf3, 0x80, 0x77, 0x70]);
    let (back, _) = convert("rn.f16x2.e2m1x2", "nibbles.npy", "back.npy", &[]);
    assert_eq!(back.header, header("<f2", &[2, 4]));
    assert_eq!(back.data[..4], [0x00, 0x3e, 0x00, 0xc6]);

    // Over its own input, and again with the same random bits given one by one.
    let (seeded, _) = convert("rs.satfinite.e4m3x4.f32", "x.npy", "seeded.npy", &["--seed", "7"]);
    let mut bits = Vec::new();
    softwarp_cli::arrays::random_bits(7, 0, 8, &mut bits);
    save(folder, "r.npy", "<u2", &[2, 4], bits);
    let (given, _) = convert("rs.satfinite.e4m3x4.f32", "x.npy", "given.npy", &["--rbits", "r.npy"]);
    assert_eq!(seeded, given);

    let scaled = "rn.satfinite.scaled::n1::ue8m0.e4m3x2.f32";
    let (one, ran) = convert(scaled, "x.npy", "one.npy", &["--scale", "2^-3", "--json"]);
    assert_eq!(one.data[0], 0x54);
    assert_eq!((&json(&ran)["elements"], &json(&ran)["dtype"]), (&8.into(), &"|u1".into()));
    save(folder, "s.npy", "|u1", &[2, 4], vec![124; 8]);
    let (each, _) = convert(scaled, "x.npy", "each.npy", &["--scales", "s.npy"]);
    assert_eq!(one, each);

    let (replaced, _) = convert("rna.tf32.f32", "x.npy", "x.npy", &[]);
    assert_eq!(replaced.header, header("<f4", &[2, 4]));
}

#[test]
fn shapes_of_any_kind_are_converted() {
    let folder = softwarp_testkit::files::temporary();
    for shape in [&[][..], &[0], &[3, 0, 2], &[1, 1, 1]] {
        let count: usize = shape.iter().product();
        save_f32(folder.path(), "x.npy", shape, &vec![1.0; count]);
        let ran = softwarp_in(folder.path(), &["cvt", "rn.f16.f32", "--input", "x.npy", "--output", "y.npy"]);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        assert_eq!(load(folder.path(), "y.npy").header, header("<f2", shape));
    }
}

#[test]
fn bad_arrays_are_refused_and_leave_nothing_behind() {
    let folder = softwarp_testkit::files::temporary();
    let folder = folder.path();
    let values = [1.0f32; 8];
    save_f32(folder, "good.npy", &[2, 4], &values);
    save_f32(folder, "odd.npy", &[2, 1], &values[..2]);
    save(folder, "f8.npy", "<f8", &[2], vec![0; 16]);
    save(folder, "big.npy", ">f4", &[2], vec![0; 8]);
    save(folder, "r.npy", "<u2", &[4], vec![0; 8]);
    save(folder, "s.npy", "<u2", &[2, 4], vec![0; 16]);
    let good = load(folder, "good.npy");
    let bytes = good.to_bytes();
    std::fs::write(folder.join("short.npy"), &bytes[..bytes.len() - 1]).expect("written");
    std::fs::write(folder.join("long.npy"), [&bytes[..], b"x"].concat()).expect("written");
    std::fs::write(folder.join("text.npy"), "hello").expect("written");
    std::fs::create_dir(folder.join("folder.npy")).expect("made");
    let before = files(folder);

    let form = "rn.satfinite.e4m3x2.f32";
    let scaled = "rn.satfinite.scaled::n1::ue8m0.e4m3x2.f32";
    let cases: [(i32, &str, &str, &[&str], &str); 16] = [
        (1, form, "odd.npy", &[], "odd.npy: the last axis has 1 elements"),
        (1, form, "f8.npy", &[], "the array holds <f8, and <f4 for f32 is wanted"),
        (1, form, "big.npy", &[], "newbyteorder"),
        (1, form, "short.npy", &[], "needs 32 bytes and 31 are there"),
        (1, form, "long.npy", &[], "1 bytes follow the data"),
        (1, form, "text.npy", &[], "text.npy: not a .npy file"),
        (2, form, "folder.npy", &[], "cannot read folder.npy"),
        (2, form, "good.npy", &["--seed", "1"], "takes no random bits"),
        (2, form, "good.npy", &["--scale", "1"], "takes no scales"),
        (2, "rs.satfinite.e4m3x4.f32", "good.npy", &[], "give --seed or --rbits"),
        (
            1,
            "rs.satfinite.e4m3x4.f32",
            "good.npy",
            &["--rbits", "r.npy"],
            "the shape is (4,), and (2, 4) is wanted",
        ),
        (2, scaled, "good.npy", &[], "give --scale or --scales"),
        (2, scaled, "good.npy", &["--scale", "3"], "--scale: 3 is not a power of two"),
        (2, scaled, "good.npy", &["--scale", "0x100"], "--scale: 0x100 is too wide"),
        (1, scaled, "good.npy", &["--scales", "s.npy"], "s.npy: the array holds <u2"),
        (1, form, "good.npy", &["--target", "sm_80"], "not legal on sm_80"),
    ];
    for (code, form, input, more, wanted) in cases {
        let args = [&["cvt", form, "--input", input, "--output", "out.npy"], more].concat();
        refused(&softwarp_in(folder, &args), code, wanted);
        assert_eq!(files(folder), before, "{args:?}");
    }
    for output in ["folder.npy", "none/out.npy", ".."] {
        let ran = softwarp_in(folder, &["cvt", form, "--input", "good.npy", "--output", output]);
        refused(&ran, 2, &format!("cannot write {output}"));
        assert_eq!(files(folder), before);
    }
}

#[test]
fn arrays_come_through_pipes() {
    let folder = softwarp_testkit::files::temporary();
    save_f32(folder.path(), "x.npy", &[2], &[1.0, 2.0]);
    let array = std::fs::read(folder.path().join("x.npy")).expect("a file");
    let args = ["cvt", "rn.f16.f32", "--input", "-", "--output", "y.npy"];
    assert_eq!(call(command(folder.path(), &args), &array).code, 0);
    assert_eq!(load(folder.path(), "y.npy").data, [0x00, 0x3c, 0x00, 0x40]);
}

#[test]
fn block_scaled_arrays_go_there_and_back() {
    let folder = softwarp_testkit::files::temporary();
    let folder = folder.path();
    let values: Vec<f32> = (0..3 * 37).map(|i| (i as f32 - 50.0) / 8.0).collect();
    save_f32(folder, "x.npy", &[3, 37], &values);
    for format in ["mxfp8_e4m3", "mxfp8_e5m2", "mxfp6_e2m3", "mxfp6_e3m2", "mxfp4", "nvfp4"] {
        let ran = softwarp_in(folder, &["quantize", "--to", format, "x.npy", "q.npz"]);
        assert_eq!((ran.code, ran.stdout.as_str()), (0, ""), "{}", ran.stderr);
        assert!(ran.stderr.starts_with("111 elements, max abs error "), "{}", ran.stderr);
        assert!(ran.stderr.contains(" dB"), "{}", ran.stderr);
        let ran = softwarp_in(folder, &["dequantize", "q.npz", "y.npy"]);
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
        let back = load(folder, "y.npy");
        assert_eq!(back.header, header("<f4", &[3, 37]));
        let (bytes, _) = back.data.as_chunks::<4>();
        for (x, y) in values.iter().zip(bytes.iter().map(|&y| f32::from_le_bytes(y))) {
            assert!((x - y).abs() <= 1.5, "{format}: {x} became {y}");
        }
    }
    let ran = softwarp_in(folder, &["quantize", "--to", "mxfp4", "x.npy", "q.npz", "--json"]);
    assert_eq!(json(&ran)["elements"], 111);
    for shape in [&[][..], &[0], &[2, 0]] {
        save_f32(folder, "z.npy", shape, &vec![1.0; shape.iter().product()]);
        assert_eq!(softwarp_in(folder, &["quantize", "--to", "nvfp4", "z.npy", "z.npz"]).code, 0);
        assert_eq!(softwarp_in(folder, &["dequantize", "z.npz", "z.npy"]).code, 0);
        assert_eq!(load(folder, "z.npy").header, header("<f4", shape));
    }
}

#[test]
fn bad_block_scaled_files_are_refused() {
    let folder = softwarp_testkit::files::temporary();
    let folder = folder.path();
    let text = |name: &str| {
        let data = name.chars().flat_map(|c| u32::from(c).to_le_bytes()).collect();
        Array::new(DType::new('U', name.len() as u32), vec![], data)
    };
    let shape = |axes: &[i64]| {
        let data = axes.iter().flat_map(|axis| axis.to_le_bytes()).collect();
        Array::new(DType::new('i', 8), vec![axes.len()], data)
    };
    let bytes = |count: usize| Array::new(DType::new('u', 1), vec![count], vec![0; count]);
    let cases = [
        (vec![], "there is no array `format`"),
        (vec![("format", text("mxfp9"))], "`mxfp9` is not one of mxfp8_e4m3"),
        (vec![("format", bytes(1))], "array `format`: it must be one string"),
        (vec![("format", text("mxfp4"))], "there is no array `shape`"),
        (vec![("format", text("mxfp4")), ("shape", bytes(2))], "array `shape`: it must be a row of <i8"),
        (vec![("format", text("mxfp4")), ("shape", shape(&[-1]))], "an axis is negative"),
        (vec![("format", text("mxfp4")), ("shape", shape(&[1 << 40, 1 << 40]))], "larger than any array"),
        (
            vec![("format", text("mxfp4")), ("shape", shape(&[4])), ("codes", bytes(1))],
            "`codes`: it must be 2 bytes",
        ),
        (
            vec![("format", text("mxfp4")), ("shape", shape(&[4])), ("codes", bytes(3))],
            "`codes` is larger than it can be",
        ),
        (vec![("format", text("mxfp4")), ("shape", shape(&[4])), ("codes", bytes(2))], "no array `scales`"),
        (vec![("format", text("nvfp4")), ("shape", shape(&[4]))], "no array `tensor_scale`"),
    ];
    for (arrays, wanted) in cases {
        let file = std::fs::File::create(folder.join("q.npz")).expect("made");
        softwarp_cli::npz::write(file, &arrays).expect("written");
        refused(&softwarp_in(folder, &["dequantize", "q.npz", "y.npy"]), 1, wanted);
        assert_eq!(files(folder), ["q.npz"]);
    }
    std::fs::write(folder.join("q.npz"), "hello").expect("written");
    refused(&softwarp_in(folder, &["dequantize", "q.npz", "y.npy"]), 1, "q.npz: not a .npz file");
    save(folder, "i8.npy", "<i8", &[2], vec![0; 16]);
    refused(
        &softwarp_in(folder, &["quantize", "--to", "mxfp4", "i8.npy", "y.npz"]),
        1,
        "<f2, <f4 or <f8 is wanted",
    );
    assert_eq!(files(folder), ["i8.npy", "q.npz"]);
}

#[test]
fn the_example_array_is_its_formula() {
    let splitmix64 = |i: u64| {
        let mut z = 42u64.wrapping_add((i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    };
    let weight = |n: u64| {
        let total: u64 = (0..4).map(|k| splitmix64(4 * n + k) >> 40).sum();
        let outlier = if matches!(n % 64, 17 | 42) { 8.0 } else { 1.0 };
        ((total as f64 - f64::from(1 << 25)) / f64::from(1 << 24) * 0.035 * outlier) as f32
    };
    let examples = softwarp_testkit::examples();
    let array = load(&examples, "weights.npy");
    assert_eq!(array.header, header("<f4", &[64, 64]));
    let wanted: Vec<u8> = (0..64 * 64).flat_map(|n| weight(n).to_le_bytes()).collect();
    assert!(array.data == wanted);
}

#[test]
fn formats_are_listed_and_shown() {
    let ran = softwarp(&["formats"]);
    assert_eq!(ran.code, 0);
    let e4m3 = ran.stdout.lines().find(|line| line.starts_with("e4m3 ")).expect("a row");
    assert_eq!(
        words(e4m3)[..10],
        ["e4m3", "8", "1/4/3", "7", "448", "0.015625", "0.001953125", "-", "0x7f", "0xff"]
    );
    for format in softwarp::num::Format::ALL {
        let ran = softwarp(&["formats", format.name()]);
        assert_eq!(ran.code, 0);
        assert!(ran.stdout.starts_with(&format!("{format}: ")), "{}", ran.stdout);
    }
    let shown = softwarp(&["formats", "e2m1"]).stdout;
    let table: Vec<&str> = shown.lines().skip_while(|line| !line.starts_with("code")).collect();
    assert_eq!(words(table[1]), ["0x0", "0", "0.5", "1", "1.5", "2", "3", "4", "6"]);
    assert_eq!(words(table[2]), ["0x8", "-0", "-0.5", "-1", "-1.5", "-2", "-3", "-4", "-6"]);

    let all = json(&softwarp(&["formats", "--json"]));
    assert_eq!(all.as_array().map(Vec::len), Some(softwarp::num::Format::COUNT));
    let one = json(&softwarp(&["formats", "e5m2", "--json"]));
    assert_eq!((&one["bias"], &one["largest"]["value"]), (&15.into(), &57344.0.into()));
    assert_eq!(one["codes"][0x7c]["value"], "inf");

    let folder = softwarp_testkit::files::temporary();
    let ran = softwarp_in(folder.path(), &["formats", "e4m3", "--svg", "e4m3.svg"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, ""));
    let svg = std::fs::read_to_string(folder.path().join("e4m3.svg")).expect("a file");
    assert!(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\""));
    assert_eq!(files(folder.path()), ["e4m3.svg"]);
}

#[test]
fn recorded_results_are_replayed() {
    let folder = softwarp_testkit::files::temporary();
    let folder = folder.path();
    let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).expect("written");
    let row = |results: &str| format!("{{\"form\": \"rn.f16.f32\", \"rows\": [{results}]}}\n");
    write("good.jsonl", &row("[\"3f800000\", \"3c00\"], [\"40000000\", \"4000\"]"));
    let ran = softwarp_in(folder, &["verify", "good.jsonl"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "1 passed, 0 failed\n"), "{}", ran.stderr);

    let ten = ["[\"3f800000\", \"3c01\"]"; 10].join(", ");
    write("bad.jsonl", &row(&ten));
    write("other.jsonl", "{\"colour\": \"blue\"}\n");
    write("verdicts.jsonl", "{\"form\": \"cvt.u8.u8\", \"accepted\": true}\n");
    let ran = softwarp_in(folder, &["verify", "."]);
    refused(&ran, 1, "1 row differs");
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert_eq!(lines[0], "skipped ./verdicts.jsonl: nothing in it is replayed");
    assert!(lines[1].starts_with("./bad.jsonl: rn.f16.f32: 0x3f800000"), "{}", lines[1]);
    assert!(lines[1].contains(" gives 0x3c00, expected 0x3c01"), "{}", lines[1]);
    assert!(lines[1].ends_with(" … and 2 more"), "{}", lines[1]);
    assert!(lines[2].starts_with("not read ./other.jsonl: "), "{}", lines[2]);
    assert!(lines[2].contains("there is no key `colour`"), "{}", lines[2]);
    assert_eq!(lines[3], "1 passed, 1 failed, 1 not read");

    let ran = softwarp_in(folder, &["verify", "bad.jsonl", "--json"]);
    refused(&ran, 1, "1 row differs");
    let report = json(&ran);
    assert_eq!((&report["passed"], &report["failed"]), (&0.into(), &1.into()));
    assert_eq!(report["outcomes"][0]["failure"]["rows"][0]["got"], "0x3c00");

    write("broken.jsonl", "{\"form\": \"rn.f16.f32\", \"rows\": [[\"xyz\", \"0\"]]}\n");
    refused(&softwarp_in(folder, &["verify", "broken.jsonl"]), 1, "broken.jsonl:1: ");
    refused(&softwarp_in(folder, &["verify", "other.jsonl"]), 1, "there is no key `colour`");
}

#[test]
fn a_reader_that_goes_away_is_no_crash() {
    let mut child = command(Path::new("."), &["formats", "bf16"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary runs");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert!(output.status.success());
}
