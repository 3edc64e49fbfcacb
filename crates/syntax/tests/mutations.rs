//! Mutated modules: no panic, and the printer keeps what it may not change. Deterministic, a few seconds.

use crate::common;
use softwarp_syntax::{Lines, Span, parse};
use softwarp_testkit::SplitMix64;

/// What is put into modules: marks, words and beginnings of things.
const PIECES: &[&str] = &[
    ";",
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    ",",
    ":",
    "::",
    ".",
    "@",
    "!",
    "-",
    "+",
    "|",
    "%",
    "<",
    ">",
    "=",
    "?",
    "_",
    "\"",
    "/*",
    "*/",
    "//",
    "#",
    "# 1 \"a\"\n",
    "\n",
    " ",
    "\0",
    "é",
    "0f3f800000",
    "0x",
    "1.5e",
    "08",
    "7%3",
    "WARP_SZ",
    ".reg",
    ".param",
    ".entry",
    ".func",
    ".visible",
    ".align 8",
    ".v2",
    ".u32",
    ".section .x {",
    ".pragma",
    ".loc 1 1 1",
    ".const[3]",
    ".attribute(.managed)",
    "@@DWARF",
    "@p",
    "generic(",
    "call (r), f, (a);",
    "{a, b}",
    "[a+4]",
    "L:",
    ".callprototype _;",
    ".branchtargets",
];

/// What may stand between any two tokens.
const BETWEEN: &[&str] =
    &["\n", "\n\n\n", "\t", " /* a */ ", " // b\n", "\n// c\n", "\n# 1 \"d\"\n", "/* e\n  f */", "\r\n"];

/// A text between two places of the kind that tokens begin at.
fn piece<'a>(source: &'a str, random: &mut SplitMix64) -> &'a str {
    let words: Vec<&str> = source.split_inclusive([' ', ',', ';', '\n', '[', '(']).collect();
    let first = random.below(words.len());
    let start: usize = words[..first].iter().map(|word| word.len()).sum();
    let length: usize = words[first..].iter().take(1 + random.below(6)).map(|word| word.len()).sum();
    &source[start..start + length]
}

fn place(source: &str, random: &mut SplitMix64) -> usize {
    let mut at = random.below(source.len() + 1);
    while !source.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// Puts something else in the place of a space.
fn respace(source: &str, random: &mut SplitMix64) -> String {
    let spaces: Vec<usize> = source.match_indices([' ', '\n', ';', ',']).map(|(at, _)| at).collect();
    let at = spaces[random.below(spaces.len())];
    format!("{}{}{}", &source[..at], BETWEEN[random.below(BETWEEN.len())], &source[at..])
}

fn mutate(source: &str, other: &str, random: &mut SplitMix64) -> String {
    let at = place(source, random);
    let (before, after) = source.split_at(at);
    match random.below(6) {
        0 => format!("{before}{}{after}", PIECES[random.below(PIECES.len())]),
        1 => format!("{before} {} {after}", PIECES[random.below(PIECES.len())]),
        2 => source.replacen(piece(source, random), "", 1),
        3 => source.replacen(piece(source, random), piece(other, random), 1),
        4 => format!("{before}{}{after}", piece(other, random)),
        _ => {
            let mut bytes = source.as_bytes().to_vec();
            if let Some(byte) = bytes.get_mut(at) {
                *byte = random.next_u64() as u8;
            }
            String::from_utf8_lossy(&bytes).into_owned()
        }
    }
}

#[test]
fn mutated_modules_are_read_and_printed() {
    let accepted = |case: &serde_json::Value| case["ok"].as_bool() == Some(true);
    let seeds = common::cases().into_iter().filter(accepted);
    let seeds: Vec<String> = seeds.map(|case| case["ptx"].as_str().expect("a module").to_string()).collect();
    let mut random = SplitMix64::new(0x5eed);
    let mut clean = 0;
    for round in 0..6_500 {
        let mut source = seeds[random.below(seeds.len())].clone();
        if round % 4 == 0 {
            source = include_str!("layout/messy.ptx").to_string();
        }
        for _ in 0..1 + random.below(3) {
            let other = random.below(seeds.len());
            source = match round % 3 {
                0 if source.contains(' ') => respace(&source, &mut random),
                _ => mutate(&source, &seeds[other], &mut random),
            };
        }
        let parsed = parse(&source);
        let lines = Lines::new(&source);
        for diagnostic in &parsed.diagnostics {
            let Span { start, end } = diagnostic.span();
            assert!(start <= end && end as usize <= source.len(), "{diagnostic:?}\n{source}");
            assert!(source.is_char_boundary(start as usize), "{diagnostic:?}\n{source}");
            lines.position(&source, start);
        }
        assert!(parsed.diagnostics.is_sorted_by_key(|diagnostic| diagnostic.span().start), "{source}");
        clean += parsed.diagnostics.is_empty() as usize;
        common::check_format("a mutated module", &source);
    }
    assert!(clean > 2_000, "only {clean} mutated modules are still grammatical");
}
