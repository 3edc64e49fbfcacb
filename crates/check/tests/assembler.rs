//! Our verdicts against the assembler's, on its recorded ones: 12,000 modules and what ptxas 13.4 said.
//!
//! `cargo test -p softwarp-check --test assembler -- --nocapture` prints the score. `SOFTWARP_FAMILY=init_`
//! restricts it to families whose names begin so and prints every difference with its module. Differences
//! that remain are listed with their reasons in `docs/assembler-differences.md`, and only those.

use serde_json::Value;
use softwarp_check::{Options, check};
use softwarp_isa::Target;
use softwarp_syntax::{Lines, Severity, parse};
use softwarp_testkit::recording;
use std::collections::{BTreeMap, BTreeSet};

/// One module in one mode.
struct Case {
    id: String,
    family: String,
    ptx: String,
    arch: String,
    relocatable: bool,
    /// The assembler's errors: lines, where it names one, and messages. None: it took the module.
    errors: Vec<(Option<u64>, String)>,
    ok: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Outcome {
    /// The same verdict and, where both reject, a line in common.
    Agreed,
    /// Both reject, on other lines.
    OtherLine,
    /// We accept what the assembler rejects.
    Missed,
    /// We reject what the assembler accepts.
    FalseAlarm,
}

#[derive(Default)]
struct Score {
    cases: usize,
    verdicts: usize,
    both_reject: usize,
    lines: usize,
}

fn cases() -> Vec<Case> {
    let files = ["ptxas.jsonl.gz", "modules.jsonl.gz", "generated.jsonl.gz", "pragmas.jsonl.gz"];
    let rows = files.into_iter().flat_map(|file| recording::values(recording::golden("check", file)));
    let mut cases = Vec::new();
    for row in rows {
        let text = |key: &str| row[key].as_str().unwrap_or_default().to_owned();
        let case = |mode: &str, verdict: &Value| Case {
            id: format!("{}{}", text("id"), if mode == text("mode") { "" } else { " in the other mode" }),
            family: text("family"),
            ptx: text("ptx"),
            arch: text("arch"),
            relocatable: mode == "rdc",
            errors: verdict["errors"].as_array().into_iter().flatten().map(error).collect(),
            ok: verdict["ok"] == true,
        };
        cases.push(case(&text("mode"), &row));
        if let Some(mode) = row["other_mode"]["mode"].as_str() {
            cases.push(case(mode, &row["other_mode"]));
        }
    }
    cases
}

fn error(error: &Value) -> (Option<u64>, String) {
    match error {
        Value::Array(pair) => (pair[0].as_u64(), pair[1].as_str().unwrap_or_default().to_owned()),
        _ => (error["line"].as_u64(), error["message"].as_str().unwrap_or_default().to_owned()),
    }
}

fn judge(case: &Case) -> (Outcome, Vec<(u64, String)>) {
    let parsed = parse(&case.ptx);
    let options =
        Options { arch: Target::from_name(&case.arch), relocatable: case.relocatable, ..Options::default() };
    let lines = Lines::new(&case.ptx);
    let checked = check(&parsed.module, &case.ptx, options);
    let ours: Vec<(u64, String)> = parsed
        .diagnostics
        .iter()
        .chain(&checked)
        .filter(|found| found.severity() == Severity::Error)
        .map(|found| (lines.line(found.span().start).into(), format!("{} {}", found.code, found.message)))
        .collect();
    let theirs: Vec<u64> = case.errors.iter().filter_map(|(line, _)| *line).collect();
    let outcome = match (ours.is_empty(), case.ok) {
        (true, true) => Outcome::Agreed,
        (true, false) => Outcome::Missed,
        (false, true) => Outcome::FalseAlarm,
        (false, false) if theirs.is_empty() || ours.iter().any(|(line, _)| theirs.contains(line)) => {
            Outcome::Agreed
        }
        (false, false) => Outcome::OtherLine,
    };
    (outcome, ours)
}

/// The ids listed in the document, each in backquotes: `init_mask/0042`.
fn listed() -> BTreeSet<String> {
    let is_id = |part: &String| {
        part.split_once('/').is_some_and(|(family, rest)| {
            family.chars().all(|c| c.is_ascii_lowercase() || c == '_')
                && rest.starts_with(|c: char| c.is_ascii_digit())
        })
    };
    recording::listed_differences().into_iter().filter(is_id).collect()
}

#[test]
fn verdicts_and_lines_agree_with_the_assembler() {
    let only = std::env::var("SOFTWARP_FAMILY").ok();
    let mut families: BTreeMap<String, Score> = BTreeMap::new();
    let mut differences = BTreeMap::new();
    for case in cases() {
        if only.as_ref().is_some_and(|only| !case.family.starts_with(only)) {
            continue;
        }
        let (outcome, ours) = judge(&case);
        let score = families.entry(case.family.clone()).or_default();
        score.cases += 1;
        score.verdicts += usize::from(matches!(outcome, Outcome::Agreed | Outcome::OtherLine));
        if !case.ok && outcome != Outcome::Missed {
            score.both_reject += 1;
            score.lines += usize::from(outcome == Outcome::Agreed);
        }
        if outcome != Outcome::Agreed {
            if only.is_some() {
                let mode = if case.relocatable { " -c" } else { "" };
                println!("--- {outcome:?} {} ({}{mode})", case.id, case.arch);
                for (n, line) in case.ptx.lines().enumerate() {
                    println!("{:4} {line}", n + 1);
                }
                println!("  assembler: {:?}\n  softwarp:  {ours:?}", case.errors);
            }
            differences.insert(case.id, outcome);
        }
    }
    let mut total = Score::default();
    for (family, score) in &families {
        if score.verdicts < score.cases || score.lines < score.both_reject {
            println!(
                "{family:22} verdicts {:4} of {:4}, lines {:4} of {:4}",
                score.verdicts, score.cases, score.lines, score.both_reject
            );
        }
        total.cases += score.cases;
        total.verdicts += score.verdicts;
        total.both_reject += score.both_reject;
        total.lines += score.lines;
    }
    let verdicts = 100.0 * total.verdicts as f64 / total.cases as f64;
    let lines = 100.0 * total.lines as f64 / total.both_reject as f64;
    println!(
        "verdicts agree on {} of {} ({verdicts:.2} %), lines on {} of {} ({lines:.2} %)",
        total.verdicts, total.cases, total.lines, total.both_reject
    );
    if only.is_some() {
        return;
    }
    let listed = listed();
    let unlisted: Vec<_> = differences.iter().filter(|(id, _)| !listed.contains(*id)).collect();
    assert!(unlisted.is_empty(), "{} differences are not listed: {unlisted:?}", unlisted.len());
    let gone: Vec<_> = listed.iter().filter(|id| !differences.contains_key(*id)).collect();
    assert!(gone.is_empty(), "listed, but the same: {gone:?}");
    assert!(verdicts >= 99.5 && lines >= 97.0);
}
