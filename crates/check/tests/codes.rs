//! Every code is explained by a module that it is reported for, and one that is right.

use softwarp_check::{Options, check, codes};
use softwarp_syntax::{Explained, Severity};

/// Options under which the examples of a code are judged: those of deviations in strict mode are errors then.
fn options(explained: &Explained, strict: bool) -> Options {
    let arch = match explained.code.0 {
        "E0111" => softwarp_isa::Target::from_name("sm_90"),
        _ => None,
    };
    Options { arch, relocatable: false, strict }
}

/// The codes and severities that a module gets.
fn reported(source: &str, options: Options) -> Vec<(&'static str, Severity)> {
    let parsed = softwarp_syntax::parse(source);
    let checked = check(&parsed.module, source, options);
    parsed
        .diagnostics
        .iter()
        .chain(&checked)
        .map(|diagnostic| (diagnostic.code.0, diagnostic.severity()))
        .collect()
}

fn all() -> impl Iterator<Item = &'static Explained> {
    codes::ALL.iter().copied().flatten()
}

#[test]
fn wrong_examples_are_reported_and_right_ones_are_not() {
    let mut failures = Vec::new();
    for explained in all() {
        let code = explained.code.0;
        let wrong: Vec<_> = [false, true]
            .iter()
            .flat_map(|&strict| reported(explained.wrong, options(explained, strict)))
            .collect();
        if !wrong.iter().any(|(reported, _)| *reported == code) {
            failures.push(format!("{code}: the wrong example gets {wrong:?}"));
        }
        let right = reported(explained.right, options(explained, false));
        if right.iter().any(|(reported, severity)| *severity == Severity::Error || *reported == code) {
            failures.push(format!("{code}: the right example gets {right:?}"));
        }
    }
    assert!(failures.is_empty(), "\n{}", failures.join("\n"));
}

#[test]
fn codes_are_distinct_and_well_formed() {
    let mut seen: Vec<&str> = all().map(|explained| explained.code.0).collect();
    for code in &seen {
        assert!(
            code.len() == 5
                && code.starts_with(['E', 'W'])
                && code[1..].bytes().all(|byte| byte.is_ascii_digit()),
            "{code}"
        );
    }
    let count = seen.len();
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), count, "some code is explained twice");
}

#[test]
fn explanations_say_something() {
    for Explained { code, title, text, .. } in all() {
        assert!(!title.is_empty() && !title.ends_with('.'), "{code}: {title}");
        assert!(text.len() > 20 && text.ends_with(['.', ')']), "{code}: {text}");
    }
}
