//! Chapter 5 of the PTX ISA, requirement by requirement: `rules/SECTION.ptxt` shows each by small modules and
//! the verdict on them. The assembler's verdicts were recorded from ptxas 13.4; `differs` is where the manual
//! is stricter.
//!
//! A file begins with a line of words. A block begins with `=== IDS: what is shown`; each snippet in it with
//! `--- VERDICT OPTIONS`, and the text up to the next such line is the snippet:
//! - `accept`: no errors; with `warns`, at least one warning.
//! - `reject LINE`: an error on that line of the snippet; without a line, anywhere.
//! - `differs LINE`: accepted with a warning on that line; in strict mode an error there.
//!
//! Options: `in kernel` and `in function` put the text into a body with some registers ([`REGISTERS`]);
//! `ptx 8.0`, `sm_80`, `texmode_independent` change the header; `relocatable` judges as `ptxas -c` does.

use softwarp_check::{Options, check};
use softwarp_isa::{Target, Version};
use softwarp_syntax::{Lines, Severity, parse};
use std::fmt::Write;
use std::path::Path;

/// The files, the requirements they show, and how many of these there are.
const FILES: &[(&str, &str, u32)] = &[
    ("5.1", "R5.1", 27),
    ("5.1.1", "R5.1.1", 12),
    ("5.1.2", "R5.1.2", 3),
    ("5.1.3", "R5.1.3", 10),
    ("5.1.3.1", "R5.1.3.1", 11),
    ("5.1.4", "R5.1.4", 5),
    ("5.1.5", "R5.1.5", 8),
    ("5.1.6", "R5.1.6", 14),
    ("5.1.6.1", "R5.1.6.1", 11),
    ("5.1.6.2", "R5.1.6.2", 1),
    ("5.1.6.3", "R5.1.6.3", 12),
    ("5.1.6.4", "R5.1.6.4", 17),
    ("5.1.7", "R5.1.7", 8),
    ("5.1.8", "R5.1.8", 15),
    ("5.2.1", "R5.2.1", 16),
    ("5.2.2", "R5.2.2", 6),
    ("5.2.3", "R5.2.3", 40),
    ("5.2.4.1", "R5.2.4.1", 17),
    ("5.2.4.2", "R5.2.4.2", 5),
    ("5.3", "R5.3", 32),
    ("5.3.1", "R5.3.1", 2),
    ("5.3.2", "R5.3.2", 27),
    ("5.4", "R5.4", 2),
    ("5.4.1", "R5.4.1", 6),
    ("5.4.2", "R5.4.2", 9),
    ("5.4.3", "R5.4.3", 7),
    ("5.4.4", "R5.4.4", 35),
    ("5.4.5", "R5.4.5", 9),
    ("5.4.6", "R5.4.6", 7),
    ("5.4.7", "R5.4.7", 2),
    ("5.4.8", "R5.4.8", 13),
    ("cvt", "R-CVT", 111),
    ("cvt.pack", "R-PACK", 17),
];

/// The registers of a body: predicates, 16, 32 and 64 bits, single and double floats.
const REGISTERS: &str = ".reg .pred %p<4>; .reg .b16 %h<4>; .reg .b32 %r<8>; .reg .b64 %d<8>; \
    .reg .f32 %f<8>; .reg .f64 %g<4>;";

/// The oldest GPU that the assembler still assembles for; modules for older ones are judged for it.
const OLDEST: &str = "sm_75";

#[derive(Clone, Copy, Debug, PartialEq)]
enum Verdict {
    Accept { warns: bool },
    Reject,
    Differs,
}

#[derive(Debug)]
struct Snippet {
    verdict: Verdict,
    /// Where the error or the warning is, as a line of the snippet as it is written.
    line: Option<u32>,
    options: Options,
    /// The whole module.
    source: String,
    /// How many lines of it come before the snippet's first.
    before: u32,
}

impl Snippet {
    fn read(head: &str, text: &str) -> Result<Snippet, String> {
        let mut words = head.split_whitespace();
        let verdict = words.next().unwrap_or_default();
        let (mut line, mut body, mut warns, mut options) = (None, None, false, Options::default());
        let (mut version, mut target, mut texture_mode) = (Version::new(9, 0), "sm_90", "");
        while let Some(word) = words.next() {
            match word {
                "in" => body = words.next(),
                "ptx" => {
                    version = words.next().unwrap_or_default().parse().map_err(|error| format!("{error}"))?
                }
                "relocatable" => options.relocatable = true,
                "warns" => warns = true,
                _ if word.starts_with("sm_") => target = word,
                _ if word.starts_with("texmode_") => texture_mode = word,
                _ => line = Some(word.parse().map_err(|_| format!("`{word}` is no option"))?),
            }
        }
        let verdict = match verdict {
            "accept" => Verdict::Accept { warns },
            "reject" => Verdict::Reject,
            "differs" => Verdict::Differs,
            _ => return Err(format!("`{verdict}` is no verdict")),
        };
        let target = Target::from_name(target).ok_or_else(|| format!("`{target}` is no target"))?;
        options.arch = Target::from_name(OLDEST).max(Some(target));

        let comma = if texture_mode.is_empty() { "" } else { ", " };
        let mut source = format!(".version {version}\n.target {target}{comma}{texture_mode}\n");
        if version >= Version::new(2, 3) {
            source += ".address_size 64\n";
        }
        match body {
            Some("kernel") => source += &format!(".entry kernel()\n{{\n{REGISTERS}\n"),
            Some("function") => source += &format!(".func function()\n{{\n{REGISTERS}\n"),
            Some(body) => return Err(format!("`{body}` is no body")),
            None => {}
        }
        let before = source.lines().count() as u32;
        source += text;
        source.push('\n');
        if body.is_some() {
            source += "ret;\n}\n";
        }
        Ok(Snippet { verdict, line, options, source, before })
    }

    /// What we say about it: severity, line of the snippet, code and message.
    fn judge(&self, strict: bool) -> Vec<(Severity, i64, String)> {
        let parsed = parse(&self.source);
        let lines = Lines::new(&self.source);
        let checked = check(&parsed.module, &self.source, Options { strict, ..self.options });
        let line = |at| i64::from(lines.line(at)) - i64::from(self.before);
        let all = parsed.diagnostics.iter().chain(&checked);
        all.map(|found| {
            let message = format!("{} {}", found.code, found.message);
            (found.severity(), line(found.span().start), message)
        })
        .collect()
    }

    /// Whether what we say is what is wanted; else what is not.
    fn verify(&self) -> Result<(), String> {
        let found = self.judge(false);
        let is = |found: &[(Severity, i64, String)], wanted: Severity| {
            let on_line = |line: i64| self.line.is_none_or(|wanted| line == i64::from(wanted));
            found.iter().any(|(severity, line, _)| *severity == wanted && on_line(*line))
        };
        let accepted = found.iter().all(|(severity, ..)| *severity != Severity::Error);
        let right = match self.verdict {
            Verdict::Accept { warns } => accepted && (!warns || !found.is_empty()),
            Verdict::Reject => is(&found, Severity::Error),
            Verdict::Differs => accepted && is(&found, Severity::Warning),
        };
        if !right {
            return Err(said("", &found));
        }
        if self.verdict == Verdict::Differs {
            let found = self.judge(true);
            if !is(&found, Severity::Error) {
                return Err(said(" in strict mode", &found));
            }
        }
        Ok(())
    }
}

fn said(how: &str, found: &[(Severity, i64, String)]) -> String {
    let mut text = format!("we say{how}{}", if found.is_empty() { " nothing" } else { ":" });
    for (severity, line, message) in found {
        let _ = write!(text, "\n  line {line}: {} {message}", severity.name());
    }
    text
}

/// A block: the requirements it shows, what it says of them, and its snippets as they are written.
struct Block<'a> {
    ids: Vec<&'a str>,
    shows: &'a str,
    snippets: Vec<(&'a str, String)>,
}

fn blocks(text: &str) -> Result<Vec<Block<'_>>, String> {
    let mut blocks: Vec<Block<'_>> = Vec::new();
    for line in text.lines() {
        if let Some(head) = line.strip_prefix("=== ") {
            let (ids, shows) = head.split_once(": ").ok_or_else(|| format!("no words: {line}"))?;
            blocks.push(Block { ids: ids.split(' ').collect(), shows, snippets: Vec::new() });
        } else if let Some(block) = blocks.last_mut() {
            if let Some(head) = line.strip_prefix("--- ") {
                block.snippets.push((head, String::new()));
            } else if let Some((_, text)) = block.snippets.last_mut() {
                text.push_str(line);
                text.push('\n');
            }
        }
    }
    Ok(blocks)
}

#[test]
fn every_requirement_is_kept() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/rules");
    let files = std::fs::read_dir(&folder).expect("the rules").count();
    assert_eq!(files, FILES.len(), "files that are not listed");
    let (mut judged, mut failures) = (0, String::new());
    for (file, area, count) in FILES {
        let text = std::fs::read_to_string(folder.join(format!("{file}.ptxt"))).expect(file);
        for block in blocks(&text).expect(file) {
            for id in &block.ids {
                let number = id.strip_prefix(area).and_then(|rest| rest.strip_prefix('-')?.parse().ok());
                assert!(
                    number.is_some_and(|n: u32| (1..=*count).contains(&n)),
                    "{file}: no requirement {id}"
                );
            }
            assert!(!block.snippets.is_empty(), "{:?} shows nothing", block.ids);
            for (head, text) in block.snippets {
                judged += 1;
                let failure = match Snippet::read(head, text.trim_end_matches('\n')) {
                    Ok(snippet) => std::panic::catch_unwind(|| snippet.verify())
                        .unwrap_or_else(|_| Err("the checker panicked".to_owned())),
                    Err(error) => Err(error),
                };
                if let Err(failure) = failure {
                    let ids = block.ids.join(" ");
                    let _ = write!(
                        failures,
                        "\n=== {ids}: {}\n--- {head}\n{}\n{failure}\n",
                        block.shows,
                        text.trim_end()
                    );
                }
            }
        }
    }
    let count = failures.matches("\n--- ").count();
    assert!(failures.is_empty(), "{count} of {judged} snippets fail:\n{failures}");
}

/// Sections 5.1.8 and 5.3; too long for a file of snippets.
#[test]
fn a_kernel_uses_at_most_256_textures_32_samplers_and_32_surfaces() {
    for (options, declaration, most, declared, used) in [
        ("ptx 1.4 sm_13", "", 256, ".tex .u32", "tex.1d.v4.f32.f32 {a, b, c, d}, [x#, {f}];"),
        ("", "", 256, ".global .texref", "tex.1d.v4.f32.f32 {a, b, c, d}, [x#, {f}];"),
        ("", "", 32, ".global .surfref", "suld.b.1d.b32.trap i, [x#, {i}];"),
        (
            "texmode_independent",
            ".global .texref t;",
            32,
            ".global .samplerref",
            "tex.1d.v4.f32.f32 {a, b, c, d}, [t, x#, {f}];",
        ),
    ] {
        for (count, verdict) in [(most, "accept"), (most + 1, "reject")] {
            let mut text = format!("{declaration}\n");
            for n in 0..count {
                let _ = writeln!(text, "{declared} x{n};");
            }
            text += ".entry kernel()\n{\n.reg .f32 a, b, c, d, f;\n.reg .b32 i;\n";
            for n in 0..count {
                let _ = writeln!(text, "{}", used.replace('#', &n.to_string()));
            }
            text += "exit;\n}";
            let snippet = Snippet::read(&format!("{verdict} {options}"), &text).expect("a snippet");
            assert_eq!(snippet.verify(), Ok(()), "{count} of {declared}");
        }
    }
}
