//! Kernels with `.cta_group::1` and `.cta_group::2`, held against the assembler.
//!
//! The recording has modules with each pair of instructions, and with groups in functions that are called, named in
//! tables or not reached; and which functions ptxas 13.4 refuses, on its own and for the linker.

use serde::Deserialize;
use softwarp_check::{Locals, Options, check, resolve_outline};
use softwarp_syntax::{Severity, parse};
use softwarp_testkit::recording;

#[derive(Deserialize)]
struct Row {
    name: String,
    mode: String,
    ok: bool,
    functions: Vec<String>,
    ptx: String,
}

#[test]
fn the_functions_that_are_refused_are_the_assemblers() {
    let rows: Vec<Row> = recording::rows(recording::golden("check", "cta_groups.jsonl.gz")).collect();
    assert!(rows.len() > 400 && rows.iter().filter(|row| row.ok).count() > 150, "{}", rows.len());
    for row in rows {
        let options = Options { relocatable: row.mode == "rdc", ..Options::default() };
        let parsed = parse(&row.ptx);
        assert_eq!(parsed.diagnostics, [], "{}", row.name);
        let found = check(&parsed.module, &row.ptx, options);
        let errors = found.iter().filter(|one| one.severity() == Severity::Error);
        let mut refused: Vec<&str> = errors
            .map(|one| {
                assert_eq!(one.code.0, "E0717", "{}: {}", row.name, one.message);
                one.message.split('`').nth(1).unwrap_or_default()
            })
            .collect();
        refused.sort_unstable();
        let mut functions = row.functions;
        functions.sort_unstable();
        assert_eq!(refused, functions, "{} ({}):\n{}", row.name, row.mode, row.ptx);
        assert_eq!(refused.is_empty(), row.ok, "{}", row.name);
        if let Some(outlined) = resolve_outline(&row.ptx, options, Locals::Few, 1) {
            assert_eq!(outlined.diagnostics, found, "{}", row.name);
        }
    }
}
