//! One slip, one error: the parser goes on as if what is missing were there, so that nothing else is reported.

use softwarp_check::{Options, check};
use softwarp_syntax::{Diagnostic, Lines, Severity, parse};

/// The errors of a module, or with `warnings` those: line and code, in the order of the text.
fn found(ptx: &str, severity: Severity) -> Vec<(u32, &'static str)> {
    let parsed = parse(ptx);
    let mut all: Vec<Diagnostic> = parsed.diagnostics.clone();
    all.extend(check(&parsed.module, ptx, Options::default()));
    all.sort_by_key(|diagnostic| diagnostic.span().start);
    let lines = Lines::new(ptx);
    let of_severity = all.iter().filter(|diagnostic| diagnostic.severity() == severity);
    of_severity.map(|diagnostic| (lines.line(diagnostic.span().start), diagnostic.code.0)).collect()
}

fn errors(ptx: &str) -> Vec<(u32, &'static str)> {
    found(ptx, Severity::Error)
}

/// A module whose kernel's body begins on line 6.
fn kernel(body: &str) -> String {
    format!(".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k()\n{{\n{body}\n    ret;\n}}\n")
}

/// A module whose declarations begin on line 4.
fn module(text: &str) -> String {
    format!(".version 9.0\n.target sm_90\n.address_size 64\n{text}\n")
}

#[test]
fn a_missing_semicolon_is_one_error_and_loses_nothing() {
    assert_eq!(errors(&kernel(".reg .b32 a\n.reg .b32 b;\nmov.b32 a, 1;\nmov.b32 b, a;")), [(7, "E0005")]);
    assert_eq!(errors(&kernel(".reg .b32 a;\nmov.b32 a, 1\nadd.s32 a, a, a;")), [(8, "E0005")]);
    assert_eq!(errors(&kernel(".reg .pred p;\n@p bra DONE\nDONE:")), [(8, "E0005")]);
    assert_eq!(errors(&kernel(".pragma \"nounroll\"\n.reg .b32 a;\nmov.b32 a, 1;")), [(7, "E0005")]);
    let text = ".global .u32 g\n.global .u32 h;\n.visible .entry k()\n{\n.reg .b64 p;\nmov.u64 p, g;\nmov.u64 p, h;\nret;\n}";
    assert_eq!(errors(&module(text)), [(5, "E0005")]);
}

#[test]
fn a_missing_comma_or_dot_is_one_error_and_loses_nothing() {
    assert_eq!(errors(&kernel(".reg .b32 a b;\nadd.s32 a, b, 2;")), [(6, "E0005")]);
    assert_eq!(errors(&kernel(".reg b32 a;\nadd.s32 a, a, 2;")), [(6, "E0012")]);
    assert_eq!(errors(&kernel("reg .b32 a;\nadd.s32 a, a, 2;")), [(6, "E0010")]);
    assert_eq!(errors(&kernel(".reg .b32 a;\nadd.s32 a, a 2;\nmov.b32 a, 1;")), [(7, "E0005")]);
    assert_eq!(errors(&kernel("local .align 4 .b8 x[8];\nst.local.u32 [x], 1;")), [(6, "E0010")]);
}

#[test]
fn a_missing_brace_is_one_error() {
    let two = ".visible .entry a()\n{\nret;\n.visible .entry b()\n{\nret;\n}";
    assert_eq!(errors(&module(two)), [(7, "E0006")]);
    let function =
        ".func f()\n{\nret;\n.func g()\n{\nret;\n}\n.visible .entry k()\n{\ncall f;\ncall g;\nret;\n}";
    assert_eq!(errors(&module(function)), [(7, "E0006")]);
    let opening = ".visible .entry k()\n\nret;\n}\n.global .u32 x;";
    assert_eq!(errors(&module(opening)), [(6, "E0005")]);
}

#[test]
fn a_head_that_cannot_be_read_is_no_undefined_kernel() {
    for head in ["k(.param .u32 a .param .u32 b)", "k(.param .u32)", "k .param .u32 a)", "k() .foo 1"] {
        let text = format!(".visible .entry {head}\n{{\nret;\n}}");
        let lines: Vec<u32> = errors(&module(&text)).iter().map(|(line, _)| *line).collect();
        assert_eq!(lines, [4], "{head}");
    }
}

#[test]
fn a_missing_version_is_reported_behind_the_target() {
    assert_eq!(errors(".target sm_90\n.address_size 64\n.global .u32 x;\n"), [(2, "E0102")]);
    assert_eq!(errors(".target\nsm_90\n\n.global .u32 x;\n"), [(4, "E0102")]);
    assert_eq!(errors(".version\n9.0\n.target sm_90\n.global .u32 x;\n"), [(1, "E0011")]);
}

#[test]
fn newer_versions_are_read_as_the_newest_with_a_warning() {
    for version in ["9.5", "10.0", "300.1"] {
        let ptx = format!(".version {version}\n.target sm_90\n.address_size 64\n.global .u32 x;\n");
        assert_eq!(errors(&ptx), [], "{version}");
        assert_eq!(found(&ptx, Severity::Warning), [(1, "W0103")], "{version}");
    }
    assert_eq!(errors(".version 8.9\n.target sm_90\n"), [(1, "E0101")]);
}

#[test]
fn what_crashes_the_assembler_is_warned_about() {
    let store = kernel(".reg .b32 a;\n.reg .b64 p;\nst.param.b32 [p], a;");
    let family = kernel(".reg .b32 a<0x80000000>;");
    let threads = module(".visible .entry k() .reqntid 4294967295\n{\nret;\n}");
    let aligned = module(".global .align 2147483648 .b8 x[4];");
    for (ptx, line) in [(store, 8), (family, 6), (threads, 4), (aligned, 4)] {
        assert_eq!(errors(&ptx), [], "{ptx}");
        assert!(found(&ptx, Severity::Warning).contains(&(line, "W0307")), "{ptx}");
    }
}

#[test]
fn forms_that_ended_say_so_and_what_to_write() {
    let reason = |version: &str, target: &str, body: &str| {
        let ptx = format!(
            ".version {version}\n.target {target}\n.address_size 64\n.entry k()\n{{\n.reg .b32 r<4>;\n.reg .f32 f<4>;\n.reg .pred p<2>;\n{body}\nret;\n}}\n"
        );
        let parsed = parse(&ptx);
        let first = check(&parsed.module, &ptx, Options::default()).into_iter().next();
        first.map(|diagnostic| (diagnostic.message, diagnostic.help.unwrap_or_default()))
    };
    let (message, help) = reason("7.0", "sm_70", "vote.ballot.b32 r0, p0;").expect("an error");
    assert!(message.contains("ended with PTX 6.4 on sm_70 and newer"), "{message}");
    assert!(help.contains("vote.sync"), "{help}");
    assert_eq!(reason("6.3", "sm_70", "vote.ballot.b32 r0, p0;"), None);
    assert_eq!(reason("7.0", "sm_60", "vote.ballot.b32 r0, p0;"), None);
    let (message, help) = reason("3.2", "sm_20", "mad.f32 f0, f1, f2, f3;").expect("an error");
    assert!(message.contains("ended with PTX 3.2") && help.contains("mad.rn.f32"), "{message} {help}");
    assert_eq!(reason("3.1", "sm_20", "mad.f32 f0, f1, f2, f3;"), None);
    assert_eq!(reason("3.2", "sm_13", "mad.f32 f0, f1, f2, f3;"), None);
}
