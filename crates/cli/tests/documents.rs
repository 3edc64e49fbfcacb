//! The documents as a whole: their links lead somewhere, the book has every page, and the script of the release archive
//! can be read by the shell.

use softwarp_testkit::repository;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The text of a page without fenced blocks, indented blocks and code spans, which hold no links or headings.
fn prose(text: &str) -> String {
    let mut prose = String::new();
    let mut fenced = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if !fenced && !line.starts_with("    ") {
            prose.push_str(line);
            prose.push('\n');
        }
    }
    prose
}

/// A line without its code spans.
fn without_code(line: &str) -> String {
    line.split('`').step_by(2).collect::<Vec<_>>().join("``")
}

/// The targets of the links of a page.
fn links(text: &str) -> Vec<String> {
    let lines = prose(text);
    let targets = lines.lines().flat_map(|line| {
        let line = without_code(line);
        let targets = line.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        targets.map(str::to_owned).collect::<Vec<_>>()
    });
    targets.collect()
}

/// The fragments that lead to the headings of a page, as GitHub and mdBook make them.
fn fragments(text: &str) -> BTreeSet<String> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let headings = prose(text);
    let headings = headings.lines().filter(|line| line.starts_with('#'));
    headings
        .map(|line| {
            let title = line.trim_start_matches('#').trim().to_lowercase();
            let kept = title.chars().filter(|it| it.is_alphanumeric() || matches!(it, ' ' | '-' | '_'));
            let fragment: String = kept.map(|it| if it == ' ' { '-' } else { it }).collect();
            let count = seen.entry(fragment.clone()).or_default();
            *count += 1;
            if *count == 1 { fragment } else { format!("{fragment}-{}", *count - 1) }
        })
        .collect()
}

/// The pages of `docs`, but for the table of contents.
fn docs() -> BTreeSet<String> {
    let entries = std::fs::read_dir(repository("docs")).expect("the documents");
    let names = entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned());
    names.filter(|name| name.ends_with(".md") && name != "SUMMARY.md").collect()
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// What is wrong with a link of a page, if anything is.
fn broken(page: &Path, link: &str) -> Option<String> {
    if link.starts_with("http://") || link.starts_with("https://") || link.starts_with("mailto:") {
        return None;
    }
    let (file, fragment) = link.split_once('#').unwrap_or((link, ""));
    let target = match file {
        "" => page.to_owned(),
        _ => page.parent().expect("a folder").join(file),
    };
    if !target.exists() {
        return Some(format!("{}: `{link}`: there is no such file", page.display()));
    }
    let is_page = target.extension().is_some_and(|end| end == "md");
    (is_page && !fragment.is_empty() && !fragments(&read(&target)).contains(fragment))
        .then(|| format!("{}: `{link}`: the page has no such heading", page.display()))
}

#[test]
fn every_link_leads_to_a_file_and_a_heading() {
    let outside = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "examples/README.md", "bench/README.md"];
    let pages: Vec<PathBuf> = outside
        .map(repository)
        .into_iter()
        .chain(docs().iter().map(|name| repository("docs").join(name)))
        .chain([repository("docs/SUMMARY.md")])
        .collect();
    let mut count = 0;
    let mut wrong = Vec::new();
    for page in &pages {
        let links = links(&read(page));
        count += links.len();
        wrong.extend(links.iter().filter_map(|link| broken(page, link)));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 100, "{count} links were looked at");
}

#[test]
fn a_broken_link_is_found() {
    let page = repository("docs/ci.md");
    assert_eq!(broken(&page, "checking.md"), None);
    assert_eq!(broken(&page, "#pre-commit"), None);
    assert_eq!(broken(&page, "tensors.md#map-files"), None);
    assert!(broken(&page, "chequing.md").is_some());
    assert!(broken(&page, "#post-commit").is_some());
    assert!(broken(&page, "tensors.md#no-such-heading").is_some());
    let text = "a [b](c.md) `[d](e.md)` ![f](g.svg)\n```\n[h](i.md)\n# No heading\n```\n# A `b`: c, d!\n## A\n## A\n";
    assert_eq!(links(text), ["c.md", "g.svg"]);
    assert_eq!(fragments(text).into_iter().collect::<Vec<_>>(), ["a", "a-1", "a-b-c-d"]);
}

#[test]
fn the_book_has_every_page_once() {
    let mut listed = links(&read(&repository("docs/SUMMARY.md")));
    listed.sort();
    assert_eq!(listed, docs().into_iter().collect::<Vec<_>>());
    let book: toml::Table = read(&repository("book.toml")).parse().expect("TOML");
    assert_eq!(book["book"]["src"].as_str(), Some("docs"));
}

/// The script is read and not run: it makes a release build.
#[test]
#[cfg(unix)]
fn the_script_of_the_archive_can_be_read() {
    use std::os::unix::fs::PermissionsExt;
    let script = repository("tools/archive.sh");
    let ran = std::process::Command::new("bash").arg("-n").arg(&script).output().expect("bash runs");
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let mode = std::fs::metadata(&script).expect("the script").permissions().mode();
    assert_eq!(mode & 0o111, 0o111, "it is executable");
}

/// The book has the files of `docs` and no others.
#[test]
fn links_of_pages_stay_in_the_book() {
    for page in docs() {
        let text = std::fs::read_to_string(repository("docs").join(&page)).expect("a page");
        let out: Vec<String> = links(&text).into_iter().filter(|link| link.starts_with("../")).collect();
        assert!(out.is_empty(), "docs/{page} has links that the book cannot follow: {out:?}");
    }
}

/// The part of a source file from one line on, up to a line that closes it.
fn part<'a>(source: &'a str, from: &str, end: &str) -> &'a str {
    let start = source.find(from).unwrap_or_else(|| panic!("no {from:?}"));
    let length = source[start..].find(end).unwrap_or_else(|| panic!("no end of {from:?}"));
    &source[start..start + length]
}

/// The variants of an enumeration: the names that begin a line at the first level.
fn variants(source: &str, name: &str) -> Vec<String> {
    let body = part(source, &format!("pub enum {name} {{"), "\n}");
    let lines = body.lines().skip(1).filter_map(|line| line.strip_prefix("    "));
    let names = lines.map(|line| line.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default());
    names.filter(|name| name.starts_with(char::is_uppercase)).map(str::to_owned).collect()
}

/// Every kind of fault and of finding has a word, and the documents list the word with what it means.
#[test]
fn every_kind_of_fault_and_finding_is_documented() {
    let read = |path: &str| std::fs::read_to_string(repository(path)).expect("a file");
    let words =
        |text: &str| -> Vec<String> { text.split('"').skip(1).step_by(2).map(str::to_owned).collect() };
    let faults = read("crates/vm/src/fault.rs");
    let findings = read("crates/vm/src/sanitize/finding.rs");
    let (fault_words, finding_words) = (read("crates/launch/src/run/fault.rs"), findings.clone());
    let fault_words = part(&fault_words, "fn kind(kind: &FaultKind)", "\n}");
    let finding_words = part(&finding_words, "impl FindingKind {", "\n    }");
    for (source, name, named) in [
        (&faults, "FaultKind", fault_words),
        (&faults, "Problem", fault_words),
        (&faults, "BadTexture", fault_words),
        (&findings, "FindingKind", finding_words),
    ] {
        let variants = variants(source, name);
        assert!(variants.len() > 5, "{name} has {variants:?}");
        for variant in variants {
            assert!(named.contains(&format!("{name}::{variant}")), "{name}::{variant} has no word");
        }
    }
    let (running, sanitizers) = (read("docs/running.md"), read("docs/sanitizers.md"));
    let kinds = part(&running, "### Kinds", "\n## ");
    for word in words(fault_words) {
        assert!(kinds.contains(&format!("`{word}`")), "docs/running.md does not list the fault `{word}`");
    }
    for word in words(finding_words) {
        for (page, text) in [("docs/running.md", &running), ("docs/sanitizers.md", &sanitizers)] {
            let listed =
                text.lines().any(|line| line.starts_with('|') && line.contains(&format!("`{word}`")));
            assert!(listed, "{page} has no table with the finding `{word}`");
        }
    }
}
