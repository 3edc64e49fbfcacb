//! Texts that nobody should write: errors, quickly, and no panic.

use softwarp_syntax::{Tree, format, parse};
use std::time::{Duration, Instant};

const HEADER: &str = ".version 9.0\n.target sm_90\n.address_size 64\n";

/// Reads a text in every way there is; whether there were errors.
fn survives(what: &str, source: &str) -> bool {
    let start = Instant::now();
    let parsed = parse(source);
    format(source, &parsed);
    serde_json::to_writer(std::io::sink(), &Tree::new(source, &parsed.module)).expect("it is written");
    assert!(parsed.diagnostics.len() <= 101, "{what}: {} errors", parsed.diagnostics.len());
    assert!(start.elapsed() < Duration::from_secs(20), "{what} took {:?}", start.elapsed());
    !parsed.diagnostics.is_empty()
}

fn refused(what: &str, source: &str) {
    assert!(survives(what, source), "{what} has no errors");
}

#[test]
fn nothing_much() {
    for source in ["", "\n", "   ", "// x", "/**/", "\u{feff}", "\r\n\r\n"] {
        survives(source, source);
    }
}

#[test]
fn nesting() {
    let many = 1_000_000;
    let body = |text: &str| format!("{HEADER}.entry k()\n{{\n{text}\n}}\n");
    let value = |text: &str| format!("{HEADER}.global .u32 x = {text};\n");
    refused("open braces", &"{".repeat(many));
    refused("close braces", &"}".repeat(many));
    refused("open blocks", &body(&"{".repeat(many)));
    refused("blocks", &body(&("{".repeat(many) + &"}".repeat(many))));
    refused("parentheses", &value(&("(".repeat(many) + "1" + &")".repeat(many))));
    refused("open parentheses", &value(&"(".repeat(many)));
    refused("minus signs", &value(&("-".repeat(many) + "1")));
    refused("casts", &value(&("(.s64)".repeat(many) + "1")));
    refused("sums", &value(&("1+".repeat(many) + "1")));
    refused("conditions", &value(&("1?".repeat(many) + "1")));
    refused("other conditions", &value(&("1?2:".repeat(many) + "1")));
    refused("lists", &value(&("{".repeat(many) + &"}".repeat(many))));
    refused("operands", &body(&format!("mov.b32 a, {};", "(".repeat(many))));
    refused("vectors", &body(&format!("mov.b32 a, {};", "{".repeat(many))));
    refused("brackets", &body(&format!("mov.b32 a, {};", "[".repeat(many))));
    refused("words", &format!("{HEADER}.global {} x;", ".foo ".repeat(many)));
    refused("directives", &".visible ".repeat(many));
    refused("functions", &".func ".repeat(many));
}

#[test]
fn length() {
    let long = "a".repeat(10_000_000);
    survives("a long word", &format!("{HEADER}.global .u32 {long};"));
    refused("a long line", &format!("{HEADER}{long}"));
    refused("a long number", &format!("{HEADER}.global .u32 x = {};", "9".repeat(10_000_000) + "x"));
    survives(
        "a long decimal",
        &format!("{HEADER}.global .f32 x = {}.{};", "9".repeat(1_000_000), "9".repeat(1_000_000)),
    );
    survives("a long comment", &format!("{HEADER}// {long}"));
    refused("a long string", &format!("{HEADER}.pragma \"{long}"));
    survives("a long list", &format!("{HEADER}.global .u8 x[] = {{{}1}};", "1,".repeat(1_000_000)));
    survives("many labels", &format!("{HEADER}.entry k() {{ {} }}", "L: ".repeat(1_000_000)));
    survives("many spaces", &format!("{HEADER}{}", " ".repeat(10_000_000)));
    refused("many singles", &format!("{HEADER}{}", "0f".repeat(1_000_000)));
    refused("many hashes", &format!("{HEADER}{}", "# 1 ".repeat(1_000_000)));
    survives("many comments", &format!("{HEADER}{}", "/**/".repeat(1_000_000)));
    let parameters = vec![".param .b32 a"; 100_000].join(",");
    survives("many parameters", &format!("{HEADER}.func f({parameters});"));
    refused("many semicolons", &format!("{HEADER}{}", ";".repeat(1_000_000)));
    refused("many semicolons in a body", &format!("{HEADER}.entry k() {{ {} }}", ";".repeat(1_000_000)));
}

#[test]
fn characters() {
    for unfinished in
        ["/*", "/* *", "\"", ".pragma \"x", "'a'", "\0", "\0\0x", ".global .u32 é;", "\u{7f}", "\\"]
    {
        refused(unfinished, &format!("{HEADER}{unfinished}"));
        refused(unfinished, &format!("{HEADER}.entry k()\n{{\n{unfinished}"));
    }
    refused("NUL in a comment", &format!("{HEADER}// \0\n"));
    let binary: Vec<u8> = (0..1_000_000u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    refused("binary", &String::from_utf8_lossy(&binary));
}
