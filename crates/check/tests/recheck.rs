//! Checking again after changes gives what checking the whole module gives, diagnostics and their places included.

use softwarp_check::{Options, Recheck, check};
use softwarp_syntax::{Diagnostic, parse};
use softwarp_testkit::{SplitMix64, recording};

/// What is wrong with a text, read as a whole.
fn whole(text: &str) -> Vec<Diagnostic> {
    let parsed = parse(text);
    let mut diagnostics = parsed.diagnostics;
    diagnostics.extend(check(&parsed.module, text, Options::default()));
    diagnostics.sort_by_key(|diagnostic| diagnostic.span().start);
    diagnostics
}

/// A text with a word put in the place of a token, or before it.
fn changed(text: &str, random: &mut SplitMix64) -> String {
    const WORDS: [&str; 16] = [
        "",
        ".u32",
        ".f32",
        ".pred",
        "%r1",
        "%r99999",
        "%rd1",
        "add",
        "ld",
        ".global",
        "x",
        "%tid.x",
        "// no\n",
        ";",
        "mov.u32 %r1, %r2;",
        "}",
    ];
    let tokens: Vec<_> = softwarp_syntax::tokens(text).collect();
    let Some(token) = tokens.get(random.next_u32() as usize % tokens.len().max(1)) else {
        return text.to_owned();
    };
    let word = WORDS[random.next_u32() as usize % WORDS.len()];
    let end = if random.next_u32().is_multiple_of(2) { token.end } else { token.start };
    format!("{} {word} {}", &text[..token.start as usize], &text[end as usize..])
}

#[test]
fn modules_that_change_are_judged_as_if_they_were_new() {
    let mut random = SplitMix64::new(5);
    let (mut compared, mut by_bodies, mut wrong) = (0, 0, 0);
    for row in recording::values(recording::golden("check", "real.jsonl.gz")) {
        let text = row["ptx"].as_str().unwrap_or_default();
        if text.len() > 60_000 {
            continue;
        }
        let mut recheck = Recheck::default();
        assert_eq!(recheck.check(text, Options::default()), whole(text));
        for _ in 0..6 {
            // Every change is made to the text as it was, so that errors of the grammar do not stay.
            let changed = changed(text, &mut random);
            let expected = whole(&changed);
            assert_eq!(recheck.check(&changed, Options::default()), expected, "{changed}");
            by_bodies += usize::from(recheck.judged() > 0);
            wrong += usize::from(!expected.is_empty());
            compared += 1;
        }
    }
    println!("{compared} changes, {by_bodies} checked by bodies, {wrong} with diagnostics");
    assert!(compared > 300 && by_bodies > 50 && wrong > 100, "{compared}, {by_bodies}, {wrong}");
}
