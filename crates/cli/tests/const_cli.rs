//! `softwarp const` as its users meet it.

use crate::binary::{Ran, command, run as call};
use serde_json::Value as Json;
use std::path::Path;

fn run(args: &[&str]) -> Ran {
    call(command(Path::new("."), &[&["const"], args].concat()), b"")
}

/// Standard output of a call that must succeed.
fn text(args: &[&str]) -> String {
    let ran = run(args);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{args:?}");
    ran.stdout
}

fn json(args: &[&str]) -> Json {
    let ran = run(&[&["--json"], args].concat());
    serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {}", ran.stdout))
}

/// Expressions with their type and bits. The manual's examples of section 4.5.5 come first; bits and types are
/// ptxas 13.4's, which shows the type of `e` by `(((e) & 0) - 1) >> 63`.
#[rustfmt::skip]
const WORTH: &[(&str, &str, &str)] = &[
    ("42", "s64", "0x000000000000002a"),
    ("0x1234", "s64", "0x0000000000001234"),
    ("0123", "s64", "0x0000000000000053"),
    ("0xfabc123400000000", "u64", "0xfabc123400000000"),
    ("42U", "u64", "0x000000000000002a"),
    ("0x1234U", "u64", "0x0000000000001234"),
    ("+123", "s64", "0x000000000000007b"),
    ("-1", "s64", "0xffffffffffffffff"),
    ("-(-42)", "s64", "0x000000000000002a"),
    ("-1U", "u64", "0xffffffffffffffff"),
    ("-0xfabc123400000000", "u64", "0x0543edcc00000000"),
    ("0b101", "s64", "0x0000000000000005"),
    ("9223372036854775807", "s64", "0x7fffffffffffffff"),
    ("9223372036854775808", "u64", "0x8000000000000000"),
    ("18446744073709551615", "u64", "0xffffffffffffffff"),
    ("18446744073709551616", "s64", "0x0000000000000000"),
    ("-9223372036854775808", "u64", "0x8000000000000000"),
    ("WARP_SZ", "s64", "0x0000000000000020"),
    ("WARP_SZ * 2", "s64", "0x0000000000000040"),
    ("!0", "s64", "0x0000000000000001"),
    ("!7", "s64", "0x0000000000000000"),
    ("!-1U", "s64", "0x0000000000000000"),
    ("~0", "u64", "0xffffffffffffffff"),
    ("~0>>60", "u64", "0x000000000000000f"),
    ("(.s64)~0 >> 60", "s64", "0xffffffffffffffff"),
    ("(.u64)-1 >> 60", "u64", "0x000000000000000f"),
    ("7 / 2", "s64", "0x0000000000000003"),
    ("-7 / 2", "s64", "0xfffffffffffffffd"),
    ("-7 / 2U", "u64", "0x7ffffffffffffffc"),
    ("-7U / 2", "u64", "0x7ffffffffffffffc"),
    ("7 % 3", "u64", "0x0000000000000001"),
    ("-7 % 3", "u64", "0x0000000000000000"),
    ("7 % -3", "u64", "0x0000000000000007"),
    ("(-8 % -4) / 2", "u64", "0x7ffffffffffffffc"),
    ("1 << 63", "s64", "0x8000000000000000"),
    ("1 << 64", "s64", "0x0000000000000001"),
    ("1 << 65", "s64", "0x0000000000000002"),
    ("-8 >> 1", "s64", "0xfffffffffffffffc"),
    ("-8U >> 1", "u64", "0x7ffffffffffffffc"),
    ("-8 >> 64", "s64", "0xfffffffffffffff8"),
    ("-8 >> -1", "s64", "0xffffffffffffffff"),
    ("1 << -1", "s64", "0x8000000000000000"),
    ("-1 < 1", "s64", "0x0000000000000001"),
    ("-1 < 1U", "s64", "0x0000000000000000"),
    ("-1 > 1U", "s64", "0x0000000000000001"),
    ("-1 == 0xffffffffffffffff", "s64", "0x0000000000000001"),
    ("1 != 1U", "s64", "0x0000000000000000"),
    ("3 & 5 == 5", "s64", "0x0000000000000001"),
    ("6 ^ 3 | 8", "s64", "0x000000000000000d"),
    ("0xff & ~0xf", "u64", "0x00000000000000f0"),
    ("-8 & -4", "s64", "0xfffffffffffffff8"),
    ("1 && 0", "s64", "0x0000000000000000"),
    ("0 || -1", "s64", "0x0000000000000001"),
    ("1 ? 2 : 3U", "s64", "0x0000000000000002"),
    ("0 ? 2 : 3U", "u64", "0x0000000000000003"),
    ("(1 ? -8 : 1U) / 2", "s64", "0xfffffffffffffffc"),
    ("1 ? 0 ? 4 : 5 : 6", "s64", "0x0000000000000005"),
    ("1 + 2 * 3", "s64", "0x0000000000000007"),
    ("(1 + 2) * 3", "s64", "0x0000000000000009"),
    ("10 - 4 - 3", "s64", "0x0000000000000003"),
    ("2 * 3 % 4", "u64", "0x0000000000000002"),
    ("1 << 2 + 1", "s64", "0x0000000000000008"),
    ("- - 5", "s64", "0x0000000000000005"),
    ("-+-5", "s64", "0x0000000000000005"),
    ("1.0 < 2.0", "s64", "0x0000000000000001"),
    ("2.0 <= 1.0", "s64", "0x0000000000000000"),
    ("1.5 == 1.5", "s64", "0x0000000000000001"),
    ("9223372036854775807 + 1", "s64", "0x8000000000000000"),
    ("-9223372036854775807 - 2", "s64", "0x7fffffffffffffff"),
    ("4294967296 * 4294967296", "s64", "0x0000000000000000"),
    ("0xff(1000 + 546)", "u64", "0x000000000000000a"),
    ("0xFF00(131187)", "u64", "0x0000000000000000"),
    ("0xff00(1000)", "u64", "0x0000000000000003"),
    ("0xff00000000000000(-1)", "u64", "0x00000000000000ff"),
    ("255(7)", "u64", "0x0000000000000007"),
    ("1.0", "f64", "0x3ff0000000000000"),
    ("1.0 / 3.0", "f64", "0x3fd5555555555555"),
    ("0.1 + 0.2", "f64", "0x3fd3333333333334"),
    ("1e308 * 10.0", "f64", "0x7ff0000000000000"),
    ("-1e308 * 10.0", "f64", "0xfff0000000000000"),
    ("-0.0", "f64", "0x8000000000000000"),
    ("0d3ff0000000000000", "f64", "0x3ff0000000000000"),
    ("0D7ff8000000000001 + 1.0", "f64", "0x7ff8000000000001"),
    ("1.5 - 2.5", "f64", "0xbff0000000000000"),
    ("2. * .5", "f64", "0x3ff0000000000000"),
    ("1e-300 * 1e-300", "f64", "0x0000000000000000"),
];

#[test]
fn expressions_are_worth_what_the_assembler_makes_of_them() {
    for &(expression, ty, bits) in WORTH {
        let found = json(&[expression]);
        assert_eq!((&found["type"], &found["bits"]), (&ty.into(), &bits.into()), "{expression}");
        assert_eq!(found["expression"], expression);
    }
}

/// Types, expressions and the bytes that ptxas 13.4 stores.
#[rustfmt::skip]
const STORED: &[(&str, &str, &str)] = &[
    ("u8",  "300",                "2c"),
    ("s8",  "-1",                 "ff"),
    ("s16", "-32769",             "ff7f"),
    ("u32", "-1",                 "ffffffff"),
    ("u64", "-1U",                "ffffffffffffffff"),
    ("b8",  "1.0",                "00"),
    ("b16", "1.1",                "9a99"),
    ("b32", "1.5",                "0000c03f"),
    ("b32", "0f3f800000",         "0000803f"),
    ("b64", "1.5",                "000000000000f83f"),
    ("b64", "0f3f800000",         "0000803f00000000"),
    ("f32", "1.1",                "cdcc8c3f"),
    ("f32", "0d7ff4000020000000", "0100e07f"),
    ("f32", "0f7f800001",         "0100807f"),
    ("f32", "1e300",              "0000807f"),
    ("f64", "0f3f800000",         "0000803f00000000"),
    ("u8",  "0xff00(1000)",       "03"),
    ("b8",  "256",                "00"),
    ("s64", "0xff(-1)",           "ff00000000000000"),
];

#[test]
fn variables_hold_the_assemblers_bytes() {
    for &(ty, expression, bytes) in STORED {
        let found = json(&[expression, "--as", ty]);
        assert_eq!(found["stored"]["bytes"], bytes, ".{ty} = {expression}");
        assert_eq!(found["stored"]["type"], ty);
    }
}

#[test]
fn an_integer_is_shown_in_every_way() {
    let wanted = "\
value     -3 (.s64)
signed    -3
unsigned  18446744073709551613
hex       0xfffffffffffffffd
binary    0b11111111_11111111_11111111_11111111_11111111_11111111_11111111_11111101
in .u8    fd
";
    assert_eq!(text(&["-7 / 2", "--as", "u8"]), wanted);
}

#[test]
fn a_double_is_shown_with_all_its_digits_and_as_a_single() {
    let wanted = "\
value    0.3333333333333333 (.f64)
exact    0.333333333333333314829616256247390992939472198486328125
bits     0d3fd5555555555555
as .f32  0f3eaaaaab = 0.3333333432674408: rounded up, error +9.93411e-9
in .f32  abaaaa3e (rounded up, error +9.93411e-9)
";
    assert_eq!(text(&["1.0 / 3.0", "--as", ".f32"]), wanted);
}

#[test]
fn a_single_stands_for_itself() {
    let wanted = "\
value    1.100000023841858 (.f32)
exact    1.10000002384185791015625
bits     0f3f8ccccd
in .f64  cdcc8c3f00000000 (its 32 bits, not its value)
";
    assert_eq!(text(&["0F3F8CCCCD", "--as", "f64"]), wanted);
}

#[test]
fn numbers_of_many_digits_are_shown_as_products() {
    let exact = |expression: &str| json(&[expression])["exact"].clone();
    assert_eq!(exact("1e300"), "1681218273811815 × 2^946");
    assert_eq!(exact("-0d0000000000000003"), "-3 × 2^-1074");
    assert_eq!(exact("0.1"), "0.1000000000000000055511151231257827021181583404541015625");
    assert_eq!(exact("-0.0"), "-0");
    assert_eq!(exact("1e22"), "10000000000000000000000");
    assert_eq!(exact("0d7ff0000000000000"), Json::Null);
}

#[test]
fn infinities_and_nan_are_words_in_json() {
    assert_eq!(json(&["-1e308 * 10.0"])["value"], "-inf");
    let nan = json(&["0d7ff0000000000001"]);
    assert_eq!(nan["value"], "nan");
    assert_eq!(nan["f32"]["literal"], "0f7fc00000");
}

#[test]
fn json_has_everything() {
    let wanted = r#"{
  "expression": "0xfff - 0U",
  "type": "u64",
  "value": 4095,
  "signed": 4095,
  "unsigned": 4095,
  "bits": "0x0000000000000fff",
  "stored": {
    "type": "u8",
    "bytes": "ff",
    "note": "the low 8 bits"
  },
  "diagnostics": []
}
"#;
    assert_eq!(text(&["0xfff - 0U", "--as", "u8", "--json"]), wanted);
}

#[test]
fn a_leading_minus_is_no_flag_and_quotes_can_be_spared() {
    for (args, value) in [
        (&["-7 / 2"] as &[&str], -3),
        (&["-7", "/", "2"], -3),
        (&["-WARP_SZ"], -32),
        (&["-(1)"], -1),
        (&["--5"], 5),
        (&["--", "-5"], -5),
        (&["1", "-", "-2", "--as", "u8"], 3),
    ] {
        assert_eq!(json(args)["value"], value, "{args:?}");
    }
}

#[test]
fn what_is_wrong_is_shown_in_the_expression() {
    let wanted = "\
error[E0413]: division by zero in a constant expression
 --> <expression>:1:5
  |
1 | 1 + 2 / (1 - 1)
  |     ^^^^^^^^^^^

";
    let ran = run(&["1 + 2 / (1 - 1)"]);
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (1, wanted, ""));
    let wanted = "\
error[E0005]: expected an operator or the end, found `%3`
 --> <expression>:1:2
  |
1 | 7%3
  |  ^^
  |
  = help: `%` before a letter or digit begins a name: write a space behind it

";
    let ran = run(&["7%3"]);
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (1, wanted, ""));
}

#[test]
fn refused_expressions_have_the_code_of_their_fault() {
    for (expression, code, column) in [
        ("", "E0021", 1),
        ("1 +", "E0021", 4),
        ("(1", "E0005", 3),
        ("1 2", "E0005", 3),
        ("{1, 2}", "E0021", 1),
        ("x + 4", "E0412", 1),
        ("generic(x)", "E0412", 1),
        ("1 + 1.0", "E0412", 1),
        ("1 ? 2.0 : 3.0", "E0412", 1),
        ("5.0 % 3.0", "E0412", 1),
        ("-0f3f800000", "E0021", 2),
        ("(.u32)5", "E0414", 1),
        ("1.0 / 0.0", "E0413", 1),
        ("4.9e-324", "E0415", 1),
        ("0xf0(1)", "E0410", 1),
        ("0xff(1.0)", "E0412", 1),
        ("0xff(x)", "E0412", 6),
        ("é", "E0003", 1),
    ] {
        let found = json(&[expression]);
        let diagnostic = &found["diagnostics"][0];
        assert_eq!(
            (&diagnostic["code"], &diagnostic["column"]),
            (&code.into(), &column.into()),
            "{expression}"
        );
        assert_eq!((diagnostic["file"].as_str(), found.get("value")), (Some("<expression>"), None));
        assert_eq!(run(&[expression]).code, 1, "{expression}");
    }
}

#[test]
fn warnings_come_before_the_value() {
    let ran = run(&["-(0f3f800000)"]);
    assert_eq!(ran.code, 0);
    assert!(ran.stdout.starts_with("warning[W0407]: the assembler computes with the bits"), "{}", ran.stdout);
    assert!(ran.stdout.contains("\nbits     0d800000003f800000\n"), "{}", ran.stdout);
    assert_eq!(json(&["-(0f3f800000)"])["diagnostics"][0]["code"], "W0407");
}

#[test]
fn a_type_that_cannot_begin_so_is_the_inputs_fault_and_one_that_is_none_the_calls() {
    let complaint = |args: &[&str]| {
        let ran = run(args);
        (ran.code, ran.stdout, ran.stderr)
    };
    let wanted = |code: i32, line: &str| (code, String::new(), format!("error: {line}\n"));
    assert_eq!(
        complaint(&["1", "--as", "f32"]),
        wanted(1, "a variable of type .f32 cannot begin with an integer")
    );
    assert_eq!(
        complaint(&["1.0", "--as", "f16"]),
        wanted(1, "a variable of type .f16 cannot begin with a floating-point number")
    );
    assert_eq!(
        complaint(&["1", "--as", "u9"]),
        wanted(2, "`u9` is not a type of variables; did you mean u8?")
    );
    assert_eq!(complaint(&["1", "--as", "e4m3"]).0, 2);
}

#[test]
fn long_and_deep_expressions_are_no_trouble() {
    let wide = format!("({})", vec!["1 + 1"; 200].join(") * ("));
    assert_eq!(json(&[&wide])["bits"], "0x0000000000000000");
    let long = format!("{}7", "0x0 | ".repeat(250));
    assert_eq!(json(&[&long])["value"], 7);
    let deep = format!("{}1{}", "(".repeat(20_000), ")".repeat(20_000));
    assert_eq!(json(&[&deep])["diagnostics"][0]["message"], "nested more than 256 deep");
}
