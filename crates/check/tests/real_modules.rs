//! Modules as compilers write them: every one reads, checks without an error, and prints as it reads.
//!
//! `golden/record/` says where they come from; the assembler takes all of them.

use softwarp_check::{Options, check};
use softwarp_isa::Target;
use softwarp_syntax::{Diagnostic, Lines, Severity, format, parse};
use softwarp_testkit::recording;

/// A recorded module.
struct Real {
    name: String,
    options: Options,
    ptx: String,
}

fn modules() -> Vec<Real> {
    recording::values(recording::golden("check", "real.jsonl.gz"))
        .map(|row| {
            let field = |name: &str| row[name].as_str().expect("a string").to_owned();
            let arch = Target::from_name(&field("arch"));
            assert!(arch.is_some(), "{}", row["arch"]);
            let options = Options { arch, relocatable: field("mode") == "rdc", ..Options::default() };
            Real { name: format!("{}/{}", field("origin"), field("name")), options, ptx: field("ptx") }
        })
        .collect()
}

/// The errors, each as a line, with the source's line.
fn errors(real: &Real, diagnostics: &[Diagnostic]) -> Vec<String> {
    let lines = Lines::new(&real.ptx);
    let errors = diagnostics.iter().filter(|diagnostic| diagnostic.severity() == Severity::Error);
    let in_words = |diagnostic: &Diagnostic| {
        let at = lines.position(&real.ptx, diagnostic.span().start);
        let text = real.ptx.lines().nth(at.line as usize - 1).unwrap_or("").trim();
        format!(
            "{}:{}:{}: {} {}: {text:.200}",
            real.name, at.line, at.column, diagnostic.code, diagnostic.message
        )
    };
    errors.map(in_words).collect()
}

fn report(wrong: &[String]) {
    assert!(wrong.is_empty(), "{} errors:\n{}", wrong.len(), wrong[..wrong.len().min(200)].join("\n"));
}

#[test]
fn there_are_modules_of_every_origin() {
    let names: Vec<String> = modules().into_iter().map(|real| real.name).collect();
    assert!(names.len() >= 60, "{}", names.len());
    for origin in ["nvcc/", "llvm/", "clang/", "triton/"] {
        assert!(names.iter().filter(|name| name.starts_with(origin)).count() >= 12, "{origin}");
    }
}

#[test]
fn they_read_without_an_error() {
    let wrong =
        modules().iter().flat_map(|real| errors(real, &parse(&real.ptx).diagnostics)).collect::<Vec<_>>();
    report(&wrong);
}

#[test]
fn they_check_without_an_error() {
    let judge = |real: &Real| errors(real, &check(&parse(&real.ptx).module, &real.ptx, real.options));
    let wrong: Vec<String> = modules().iter().flat_map(judge).collect();
    report(&wrong);
}

#[test]
fn they_print_as_they_read() {
    for real in modules() {
        let once = format(&real.ptx, &parse(&real.ptx));
        let parsed = parse(&once);
        assert!(parsed.diagnostics.is_empty(), "{}: {:?}", real.name, parsed.diagnostics[0]);
        let twice = format(&once, &parsed);
        assert!(once == twice, "{}: printing again changes the text", real.name);
    }
}
