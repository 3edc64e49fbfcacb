//! Planted bugs and correct controls (`bugs/README.md`): the sanitizers find every bug at its place, and nothing in a
//! control; with the fixed schedule, and with random ones.

use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// What is still wrong, a line each: `missed NAME`, `false NAME` or `words NAME`; `random-missed` and so on where it is
/// right with the fixed schedule and wrong with random ones.
const DIFFERENCES: &str = include_str!("bugs/differences.txt");
/// What is looked for.
const SANITIZERS: &str = "all";
/// Random schedules that controls must be clean with; a bug must be found with one of them.
const SEEDS: [&str; 2] = ["random:1", "random:2"];
/// The least numbers of cases: a folder that was lost is no success.
const LEAST_BUGS: usize = 240;
const LEAST_CONTROLS: usize = 90;

/// What the comments of a PTX file say.
struct Case {
    file: PathBuf,
    /// Sanitizers, or `fault`; empty for a control.
    expected: Vec<String>,
    /// What the message must have in it.
    says: Option<String>,
    /// Lines that a finding may be at; any without one.
    lines: BTreeSet<u64>,
}

impl Case {
    fn read(file: PathBuf) -> Case {
        let text = std::fs::read_to_string(&file).expect("a text");
        let header = |key: &str| text.lines().take(4).find_map(|line| line.strip_prefix(key)).map(str::trim);
        let expected = header("// expect: ").unwrap_or_else(|| panic!("{file:?} expects nothing"));
        let expected: Vec<String> = expected.split('|').map(str::to_owned).collect();
        const WORDS: [&str; 7] = ["clean", "fault", "init", "race", "sync", "bounds", "leak"];
        assert!(expected.iter().all(|word| WORDS.contains(&&**word)), "{file:?}: {expected:?}");
        let lines = (1..).zip(text.lines()).filter(|(_, line)| line.ends_with("// here"));
        Case {
            expected: expected.into_iter().filter(|word| word != "clean").collect(),
            says: header("// says: ").map(str::to_owned),
            lines: lines.map(|(number, _)| number).collect(),
            file,
        }
    }

    fn name(&self) -> String {
        self.file.file_stem().expect("a name").to_string_lossy().into_owned()
    }

    /// What is wrong with what is found, if anything: with the fixed schedule or with random ones.
    fn wrong(&self) -> Option<String> {
        if let Some(what) = self.wrong_with("fixed") {
            return Some(what.to_owned());
        }
        let mut wrong = SEEDS.iter().map(|seed| self.wrong_with(seed));
        let what = match self.expected.is_empty() {
            true => wrong.find_map(|what| what),
            false => wrong.try_fold(None, |_, what| what.map(Some)).flatten(),
        };
        what.map(|what| format!("random-{what}"))
    }

    fn wrong_with(&self, schedule: &str) -> Option<&'static str> {
        let found = found(&self.file.with_extension("json"), schedule);
        if self.expected.is_empty() {
            return (!found.is_empty()).then_some("false");
        }
        let right = |one: &&Found| {
            self.expected.contains(&one.sanitizer)
                && (self.lines.is_empty() || one.lines.iter().any(|line| self.lines.contains(line)))
        };
        let right: Vec<&Found> = found.iter().filter(right).collect();
        if right.is_empty() {
            return Some("missed");
        }
        let says = |words: &String| right.iter().any(|one| one.message.contains(words));
        (!self.says.as_ref().is_none_or(says)).then_some("words")
    }
}

/// A finding or a fault.
struct Found {
    /// The sanitizer, or `fault`.
    sanitizer: String,
    message: String,
    lines: Vec<u64>,
}

/// Runs a launch file with all sanitizers.
fn found(file: &Path, schedule: &str) -> Vec<Found> {
    let output = Command::new(env!("CARGO_BIN_EXE_softwarp"))
        .arg("run")
        .arg(file)
        .args(["--sanitize", SANITIZERS, "--schedule", schedule, "--time", "60"])
        .output()
        .expect("it runs");
    let text = String::from_utf8_lossy(&output.stdout);
    let told: Value = serde_json::from_str(text.trim()).unwrap_or_else(|error| {
        panic!("{file:?}: {error}\n{text}\n{}", String::from_utf8_lossy(&output.stderr))
    });
    let words = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let line = |value: &Value| value["line"].as_u64();
    let mut all: Vec<Found> = Vec::new();
    for finding in told["findings"].as_array().into_iter().flatten() {
        all.push(Found {
            sanitizer: words(&finding["sanitizer"]),
            message: words(&finding["message"]),
            lines: [&finding["at"], &finding["other"]].into_iter().filter_map(line).collect(),
        });
    }
    let fault = &told["fault"];
    if fault.is_object() {
        all.push(Found {
            sanitizer: "fault".to_owned(),
            message: words(&fault["message"]),
            lines: [fault, &fault["at"]].into_iter().filter_map(line).collect(),
        });
    }
    all
}

fn cases() -> Vec<Case> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bugs");
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("the folder")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "ptx"))
        .collect();
    files.sort();
    files.into_iter().map(Case::read).collect()
}

#[test]
fn planted_bugs_are_found_and_controls_are_clean() {
    let cases = cases();
    let controls = cases.iter().filter(|case| case.expected.is_empty()).count();
    assert!(controls >= LEAST_CONTROLS, "{controls} controls");
    assert!(cases.len() - controls >= LEAST_BUGS, "{} bugs", cases.len() - controls);
    let next = AtomicUsize::new(0);
    let work = || {
        let mut wrong = Vec::new();
        while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
            wrong.extend(case.wrong().map(|what| format!("{what} {}", case.name())));
        }
        wrong
    };
    let wrong: BTreeSet<String> = thread::scope(|scope| {
        let workers: Vec<_> = (0..4).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().expect("no panic")).collect()
    });
    let listed: BTreeSet<String> = DIFFERENCES
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(str::to_owned)
        .collect();
    let lines = |set: Vec<&String>| set.into_iter().map(|line| format!("  {line}\n")).collect::<String>();
    let (new, stale) =
        (lines(wrong.difference(&listed).collect()), lines(listed.difference(&wrong).collect()));
    assert!(
        new.is_empty() && stale.is_empty(),
        "not in bugs/differences.txt:\n{new}in bugs/differences.txt and right by now, to be removed:\n{stale}"
    );
}
