//! The printer: nothing changes but the layout, and once is enough.

use crate::common;
use softwarp_syntax::{format, parse};
use softwarp_testkit::{expected::assert_file, repository};

#[test]
fn golden_cases_keep_their_trees() {
    for case in common::cases() {
        let source = case["ptx"].as_str().expect("a module");
        common::check_format(case["id"].as_str().expect("an id"), source);
    }
}

#[test]
fn lays_out() {
    let source = include_str!("layout/messy.ptx");
    let parsed = parse(source);
    assert_eq!(parsed.diagnostics, []);
    let formatted = format(source, &parsed);
    assert_file(repository("crates/syntax/tests/layout/tidy.ptx"), &formatted);
    common::check_format("messy.ptx", source);
}

#[test]
fn leaves_broken_modules_alone() {
    let source = ".version 9.0\n.target   sm_90\n.global   .u32 = ;";
    assert_eq!(format(source, &parse(source)), source);
}

#[test]
fn comments_stay() {
    let places = [
        "/*1*/ .version /*2*/ 9.0 /*3*/\n.target sm_90 // 4\n",
        ".version 9.0\n.target sm_90\n.func /*1*/ f /*2*/ ( /*3*/ .param .b32 a /*4*/ , // 5\n /*6*/ .param .b32 b /*7*/ ) /*8*/\n// 9\n{ // 10\n // 11\n ret /*12*/ ; /*13*/ L /*14*/ : // 15\n // 16\n } // 17\n",
        ".version 9.0\n.target sm_90\n.global .u32 x // 1\n // 2\n [ /*3*/ 4 ] = { 1, // 4\n /*5*/ 2 } /*6*/ ; // 7",
        ".version 9.0\n# 1 \"a\"\n.target sm_90\n.global .u32\n# 2 \"b\"\nx;\n  # 3 \"c\" 4\n",
    ];
    for source in places {
        common::check_format(source, source);
        let formatted = format(source, &parse(source));
        let comments =
            |text: &str| text.matches("/*").count() + text.matches("//").count() + text.matches('#').count();
        assert_eq!(comments(source), comments(&formatted), "{formatted}");
    }
}
