//! Keeps docs/spec-coverage.md honest: no requirement left out, no test named that does not exist.

use std::collections::BTreeMap;
use std::path::Path;

/// The areas built so far, and how many requirements each has.
const AREAS: &[(&str, u32)] = &[
    ("R5.2.1", 16),
    ("R5.2.2", 6),
    ("R5.2.3", 40),
    ("R5.2.4", 2),
    ("R5.2.4.1", 17),
    ("R5.2.4.2", 5),
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

    let mut sources: BTreeMap<String, String> = BTreeMap::new();
    for (id, proof) in rows {
        let tests: Vec<_> = proof.split('`').skip(1).step_by(2).filter(|name| name.contains("::")).collect();
        let words = proof.contains("missing: waits for") || proof.starts_with("words only:");
        assert!(!tests.is_empty() || words, "{id}: neither a test nor what it waits for: {proof}");
        for test in tests {
            let (file, name) = test.split_once("::").expect("a file and a test");
            let source = sources.entry(file.to_owned()).or_insert_with(|| {
                let path = root.join("crates").join(file);
                std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{id}: {file}: {error}"))
            });
            let declared = source.contains(&format!("#[test]\nfn {name}()"));
            assert!(declared, "{id}: no test {name} in {file}");
        }
    }
}
