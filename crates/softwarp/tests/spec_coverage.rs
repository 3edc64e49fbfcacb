//! Keeps docs/spec-coverage.md honest: no requirement left out, no test named that does not exist, no suite
//! of snippets named that has none for the requirement.

use std::collections::BTreeMap;
use std::path::Path;

/// The areas built so far, and how many requirements each has.
const AREAS: &[(&str, u32)] = &[
    ("R5", 1),
    ("R5.1", 27),
    ("R5.1.1", 12),
    ("R5.1.2", 3),
    ("R5.1.3", 10),
    ("R5.1.3.1", 11),
    ("R5.1.4", 5),
    ("R5.1.5", 8),
    ("R5.1.6", 14),
    ("R5.1.6.1", 11),
    ("R5.1.6.2", 1),
    ("R5.1.6.3", 12),
    ("R5.1.6.4", 17),
    ("R5.1.7", 8),
    ("R5.1.8", 15),
    ("R5.2.1", 16),
    ("R5.2.2", 6),
    ("R5.2.3", 40),
    ("R5.2.4", 2),
    ("R5.2.4.1", 17),
    ("R5.2.4.2", 5),
    ("R5.3", 32),
    ("R5.3.1", 2),
    ("R5.3.2", 27),
    ("R5.3.3", 3),
    ("R5.4", 2),
    ("R5.4.1", 6),
    ("R5.4.2", 9),
    ("R5.4.3", 7),
    ("R5.4.4", 35),
    ("R5.4.5", 9),
    ("R5.4.6", 7),
    ("R5.4.7", 2),
    ("R5.4.8", 13),
    ("R5.5", 5),
    ("R5.5.1", 9),
    ("R5.5.1.1.1", 10),
    ("R5.5.2", 3),
    ("R5.5.3.1", 6),
    ("R5.5.3.2", 5),
    ("R5.5.3.3", 3),
    ("R5.5.3.4", 7),
    ("R5.5.3.4.1", 4),
    ("R5.5.4", 3),
    ("R5.5.4.1", 20),
    ("R5.5.4.2", 3),
    ("R5.5.4.3", 2),
    ("R5.5.5", 4),
    ("R5.5.5.1", 6),
    ("R5.5.5.2", 1),
    ("R5.5.5.3", 5),
    ("R5.5.5.4", 5),
    ("R5.5.6", 7),
    ("R5.5.7", 34),
    ("R5.5.8", 4),
    ("R-CVT", 111),
    ("R-PACK", 17),
];

#[test]
fn every_requirement_has_a_row_and_every_named_test_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = std::fs::read_to_string(root.join("docs/spec-coverage.md")).expect("docs/spec-coverage.md");
    let mut rows: BTreeMap<&str, &str> = BTreeMap::new();
    for line in text.lines().filter(|line| line.starts_with("| R")) {
        let mut cells = line.trim_matches('|').split('|').map(str::trim);
        let (Some(id), Some(proof), None) = (cells.next(), cells.next(), cells.next()) else {
            panic!("not a row: {line}");
        };
        assert!(rows.insert(id, proof).is_none(), "{id} has two rows");
    }
    let mut expected = 0;
    for (area, count) in AREAS {
        for n in 1..=*count {
            let id = format!("{area}-{n}");
            assert!(rows.contains_key(id.as_str()), "{id} has no row");
            expected += 1;
        }
    }
    assert_eq!(rows.len(), expected, "rows of areas that are not listed here");

    for (id, proof) in rows {
        if proof.starts_with("words only:") {
            continue;
        }
        let names = proof.split('`').skip(1).step_by(2);
        let proofs: Vec<_> = names.filter(|name| name.contains("::") || name.ends_with(".ptxt")).collect();
        let waits = proof.contains("missing: waits for");
        assert!(!proofs.is_empty() || waits, "{id}: neither a proof nor what it waits for: {proof}");
        for proof in proofs {
            let (file, test) = proof.split_once("::").unwrap_or((proof, ""));
            let path = root.join("crates").join(file);
            let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{id}: {file}: {error}"));
            let proved = match file.ends_with(".ptxt") {
                true => heads_a_block(id, &text),
                false => text.contains(&format!("#[test]\nfn {test}()")),
            };
            assert!(proved, "{id}: there is no {proof}");
        }
    }
}

/// Whether a suite of snippets has a block for the requirement: `=== R5.1-1 R5.1-2: what is shown`.
fn heads_a_block(id: &str, suite: &str) -> bool {
    let heads = suite.lines().filter_map(|line| line.strip_prefix("=== ")?.split_once(": "));
    heads.flat_map(|(ids, _)| ids.split(' ')).any(|shown| shown == id)
}
