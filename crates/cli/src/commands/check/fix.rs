//! `softwarp check --fix`: makes the changes that are certain, and checks again.
//!
//! A diagnostic carries its fix as data ([`softwarp::diagnostic::Fix`]). A pass makes all that do not touch one
//! another; then the text is checked again, since one change can make others possible. No fix adds or removes lines.

use super::collect::Collected;
use super::{Checker, FileReport, Format, counts};
use crate::commands::files::Output;
use crate::commands::{CommandError, Printed, output, print, remark, sources};
use softwarp::diagnostic::{Diagnostic, Edit};
use softwarp::source::Source;
use std::path::Path;

/// After this many passes the text is left as it is: every one must have made a change.
const MOST_PASSES: usize = 16;

/// A file with what was certain changed.
struct Mended {
    source: Source,
    /// What was done: the line, the code and the change.
    changes: Vec<String>,
}

/// Mends files, and reports what is left.
pub fn run(checker: &Checker, collected: &Collected, dry_run: bool) -> Result<Printed, CommandError> {
    let (mut reports, mut code) = (Vec::new(), 0);
    let mut text = String::new();
    for path in &collected.files {
        match mend_file(checker, path, dry_run) {
            Ok((shown, report)) => {
                text.push_str(&shown);
                reports.push(report);
            }
            Err(failure) => code = code.max(failure.report().code()),
        }
    }
    print(&text)?;
    let refused = reports.iter().any(|report| report.errors > 0);
    if !checker.quiet {
        counts(&reports, collected);
    }
    let code = code.max(u8::from(refused));
    Ok(Printed { text: String::new(), failure: (code > 0).then_some(CommandError::Reported(code)) })
}

/// Mends a file. Gives what goes to standard output, and what is left to say about the file.
fn mend_file(checker: &Checker, path: &Path, dry_run: bool) -> Result<(String, FileReport), CommandError> {
    let before = sources::read(path)?;
    let mended = mend(checker, &before)?;
    let changed = mended.source.text != before.text;
    for change in &mended.changes {
        remark(&format!("{}:{change}", before.name));
    }
    if !checker.quiet && changed {
        let fixes = match mended.changes.len() {
            1 => "1 fix".to_owned(),
            several => format!("{several} fixes"),
        };
        remark(&format!("{fixes} {} {}", if dry_run { "possible in" } else { "made in" }, before.name));
    }
    let findings = checker.policy.apply(mended.source.diagnose_on(checker.options, checker.threads));
    let report = FileReport::new(checker, path, &mended.source, findings);
    let standard = sources::is_standard_input(path);
    let shown = match (dry_run, standard) {
        (true, _) => difference(&before, &mended.source),
        (false, true) => {
            output::stderr(&report.text);
            mended.source.text.clone()
        }
        (false, false) => {
            if changed {
                Output::write(path, mended.source.text.as_bytes())?;
            }
            report.text.clone()
        }
    };
    Ok((shown, report))
}

/// Makes all changes that are certain.
fn mend(checker: &Checker, before: &Source) -> Result<Mended, CommandError> {
    if before.flaw().is_some() {
        return Err(CommandError::input(&before.name, "it is not UTF-8, and --fix does not change it"));
    }
    let mut source = Source::new(before.name.clone(), before.text.clone().into_bytes());
    let mut changes = Vec::new();
    for _ in 0..MOST_PASSES {
        let findings = checker.policy.apply(source.diagnose_on(checker.options, checker.threads));
        let diagnostics: Vec<Diagnostic> = findings.into_iter().map(|finding| finding.diagnostic).collect();
        let (made, edits) = chosen(&source, &diagnostics);
        if edits.is_empty() {
            break;
        }
        changes.extend(made);
        source = Source::new(before.name.clone(), apply(&source.text, &edits).into_bytes());
    }
    Ok(Mended { source, changes })
}

/// The fixes that can be made together, in words, and their edits in the order of the text.
fn chosen(source: &Source, diagnostics: &[Diagnostic]) -> (Vec<String>, Vec<Edit>) {
    let (mut made, mut edits): (Vec<String>, Vec<Edit>) = (Vec::new(), Vec::new());
    for diagnostic in diagnostics {
        let Some(fix) = &diagnostic.fix else { continue };
        let touches = |new: &Edit| {
            edits.iter().any(|old| new.span.start <= old.span.end && old.span.start <= new.span.end)
        };
        if fix.edits.iter().any(touches) {
            continue;
        }
        let at = fix.edits.first().map_or(diagnostic.span().start, |edit| edit.span.start);
        made.push(format!("{}: {}: {}", source.position(at).line, diagnostic.code, fix.message));
        edits.extend(fix.edits.iter().cloned());
    }
    edits.sort_by_key(|edit| edit.span.start);
    (made, edits)
}

/// The text with edits made, which are in order and do not overlap.
fn apply(text: &str, edits: &[Edit]) -> String {
    let mut mended = String::with_capacity(text.len() + 64);
    let mut at = 0;
    for edit in edits {
        mended.push_str(text.get(at..edit.span.start as usize).unwrap_or(""));
        mended.push_str(&edit.text);
        at = edit.span.end as usize;
    }
    mended.push_str(text.get(at..).unwrap_or(""));
    mended
}

/// How many lines are shown around changes.
const AROUND: usize = 3;

/// The lines that differ, as `diff -u` shows them. Both texts have the same number of lines.
fn difference(before: &Source, after: &Source) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) =
        (before.text.split_inclusive('\n').collect(), after.text.split_inclusive('\n').collect());
    let changed: Vec<usize> =
        (0..old.len().max(new.len())).filter(|&line| old.get(line) != new.get(line)).collect();
    let Some(&first) = changed.first() else { return String::new() };
    let name = &before.name;
    let mut text = format!("--- {name}\n+++ {name}\n");
    let mut hunks: Vec<(usize, usize)> = vec![(first, first)];
    for &line in &changed[1..] {
        match hunks.last_mut() {
            Some((_, last)) if line <= *last + 2 * AROUND + 1 => *last = line,
            _ => hunks.push((line, line)),
        }
    }
    for (first, last) in hunks {
        let (from, to) = (first.saturating_sub(AROUND), (last + AROUND + 1).min(old.len().max(new.len())));
        let lines = to - from;
        text.push_str(&format!("@@ -{0},{lines} +{0},{lines} @@\n", from + 1));
        let mut line = from;
        while line < to {
            let same = |line: usize| old.get(line) == new.get(line);
            if same(line) {
                put(&mut text, ' ', old.get(line));
                line += 1;
                continue;
            }
            let end = (line..to).find(|&line| same(line)).unwrap_or(to);
            (line..end).for_each(|line| put(&mut text, '-', old.get(line)));
            (line..end).for_each(|line| put(&mut text, '+', new.get(line)));
            line = end;
        }
    }
    text
}

fn put(text: &mut String, mark: char, line: Option<&&str>) {
    let Some(line) = line else { return };
    text.push(mark);
    text.push_str(line);
    if !line.ends_with('\n') {
        text.push_str("\n\\ No newline at end of file\n");
    }
}

/// Whether a format can be printed beside what `--fix` prints.
pub fn format_fits(format: Format, files: &[std::path::PathBuf], dry_run: bool) -> bool {
    format == Format::Text || !dry_run && !files.iter().any(|file| sources::is_standard_input(file))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_differ_are_shown_with_those_around_them() {
        let old = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n14\n15\n16\n17\n18\n19\n20";
        let new = old.replace("2\n3\n", "2\nthree\n").replace("20", "twenty");
        let source = |text: &str| Source::new("a.ptx", text.as_bytes().to_vec());
        let expected = "--- a.ptx\n+++ a.ptx\n@@ -1,6 +1,6 @@\n 1\n 2\n-3\n+three\n 4\n 5\n 6\n@@ -17,4 +17,4 @@\n 17\n 18\n 19\n\
                        -20\n\\ No newline at end of file\n+twenty\n\\ No newline at end of file\n";
        assert_eq!(difference(&source(old), &source(&new)), expected);
        assert_eq!(difference(&source(old), &source(old)), "");
    }

    #[test]
    fn edits_are_made_in_the_order_of_the_text() {
        use softwarp::syntax::Span;
        let edit = |start, end, text: &str| Edit { span: Span::new(start, end), text: text.to_owned() };
        assert_eq!(apply("abcdef", &[edit(0, 1, "x"), edit(3, 3, "-"), edit(5, 6, "")]), "xbc-de");
    }
}
