//! Instructions in the oldest versions of PTX and for the oldest targets, against the assembler's recorded verdicts.
//!
//! `golden/old_versions.jsonl.gz` has some 4,000 instructions, and for each version and target the numbers of
//! those that ptxas 13.4 refuses; `golden/record/old_versions.py` recorded it.

use serde_json::Value;
use softwarp_check::{Options, check};
use softwarp_isa::Target;
use softwarp_syntax::{Lines, Severity, parse};
use softwarp_testkit::recording;
use std::collections::BTreeSet;

/// Instructions in one module: so few that nothing is left unsaid.
const TOGETHER: usize = 60;

/// Which of the instructions are refused; they stand one to a line.
fn refused(before: &str, instructions: &[&str], after: &str, arch: Target) -> BTreeSet<usize> {
    let ptx = format!("{before}{}\n{after}", instructions.join("\n"));
    let first = before.matches('\n').count() as u32 + 1;
    let parsed = parse(&ptx);
    let lines = Lines::new(&ptx);
    let checked = check(&parsed.module, &ptx, Options { arch: Some(arch), ..Options::default() });
    let errors =
        parsed.diagnostics.iter().chain(&checked).filter(|found| found.severity() == Severity::Error);
    errors
        .filter_map(|found| lines.line(found.span().start).checked_sub(first))
        .map(|at| at as usize)
        .collect()
}

#[test]
fn instructions_of_old_modules_are_judged_as_the_assembler_does() {
    let mut rows = recording::values(recording::golden("check", "old_versions.jsonl.gz"));
    let all = rows.next().expect("the instructions");
    let instructions: Vec<&str> = all["instructions"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|one| one.as_str().unwrap_or(""))
        .collect();
    let mut modules = 0;
    let mut wrong = Vec::new();
    for row in rows {
        let text = |key: &str| row[key].as_str().unwrap_or_default();
        let numbers = row["refused"].as_array().expect("a list").iter().filter_map(Value::as_u64);
        let theirs: BTreeSet<usize> = numbers.map(|number| number as usize).collect();
        let arch = Target::from_name(text("arch")).expect("a target");
        modules += 1;
        for (chunk, some) in instructions.chunks(TOGETHER).enumerate() {
            let ours = refused(text("before"), some, text("after"), arch);
            for (at, instruction) in some.iter().enumerate() {
                if ours.contains(&at) != theirs.contains(&(chunk * TOGETHER + at)) {
                    let verdict = if ours.contains(&at) { "refused" } else { "accepted" };
                    wrong.push(format!("{} {}: {verdict}: {instruction}", text("version"), text("target")));
                }
            }
        }
    }
    assert!(modules >= 15, "{modules}");
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}
