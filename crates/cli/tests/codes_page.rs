//! Keeps docs/codes.md true: it is made from the rows that `softwarp explain` shows.
//!
//! `SOFTWARP_BLESS=1 cargo test -p softwarp-cli --test commands codes_page` rewrites it.

use softwarp::syntax::{Explained, Severity};
use softwarp_testkit::{expected::assert_file, repository};

/// What the first two digits of a code mean.
const RANGES: &[(&str, &str)] = &[
    ("00", "Text and grammar"),
    ("01", "Version, target and address size"),
    ("02", "Names, scopes and linkage"),
    ("03", "Declarations"),
    ("04", "Initialisers and constant expressions"),
    ("05", "Instructions and their modifiers"),
    ("06", "Operands"),
    ("07", "Addresses and state spaces"),
    ("08", "Modules together: linking and memory"),
    ("10", "Tensor maps"),
];

fn page() -> String {
    let mut text = "# Codes\n\nEvery diagnostic of `softwarp check`, `softwarp layout` and `softwarp tensor`, with a module (or a tensor map) that gets it and one that does not. \
                    `E` codes are errors, `W` codes warnings. `softwarp explain CODE` prints the same. This page is \
                    made by `crates/cli/tests/codes_page.rs`.\n"
        .to_owned();
    let all = softwarp_cli::codes::all();
    for (digits, title) in RANGES {
        let rows: Vec<&&Explained> = all.iter().filter(|row| row.code.0[1..].starts_with(digits)).collect();
        if rows.is_empty() {
            continue;
        }
        text += &format!("\n## {title}\n");
        for row in rows {
            let kind = if row.code.severity() == Severity::Error { "" } else { " (warning)" };
            let words: Vec<String> = row
                .text
                .split("\n\n")
                .map(|part| part.split_whitespace().collect::<Vec<_>>().join(" "))
                .collect();
            text += &format!("\n### {}: {}{kind}\n\n{}\n", row.code, row.title, words.join("\n\n"));
            // What takes gigabytes has no example, nor what another rule forestalls.
            for (word, module) in [("Wrong", row.wrong), ("Right", row.right)] {
                if !module.is_empty() {
                    let language = if *digits == "10" { "json" } else { "ptx" };
                    text += &format!("\n{word}:\n\n```{language}\n{}\n```\n", module.trim_end());
                }
            }
        }
    }
    text
}

#[test]
fn the_page_of_codes_is_true() {
    assert_file(repository("docs/codes.md"), &page());
}

/// Every code of tensor maps has a map that gets it, and nothing else, and one that gets nothing.
#[test]
fn examples_of_tensor_maps_are_true() {
    let judged = |text: &str| -> Vec<&str> {
        let map = softwarp_cli::tensors::file::read(text.as_bytes());
        let target = map.target.unwrap_or(softwarp::tensor::Target::SM_90);
        map.check(target).iter().map(|finding| finding.code.0).collect()
    };
    let all = softwarp_cli::codes::all();
    let rows: Vec<&&Explained> = all.iter().filter(|row| row.code.0[1..].starts_with("10")).collect();
    assert!(rows.len() > 45, "{}", rows.len());
    for row in rows {
        assert_eq!(judged(row.wrong), [row.code.0], "{} wrong: {}", row.code, row.wrong);
        assert!(judged(row.right).is_empty(), "{} right: {} {:?}", row.code, row.right, judged(row.right));
    }
}

#[test]
fn codes_are_unique_and_have_a_range() {
    let all = softwarp_cli::codes::all();
    for pair in all.windows(2) {
        assert_ne!(pair[0].code, pair[1].code);
    }
    for row in all {
        assert!(RANGES.iter().any(|(digits, _)| row.code.0[1..].starts_with(digits)), "{}", row.code);
        assert!(row.code.0.len() == 5 && row.code.0.starts_with(['E', 'W']), "{}", row.code);
        assert!(!row.title.is_empty() && !row.title.ends_with('.') && !row.text.is_empty(), "{}", row.code);
    }
}
