//! Directives: which numbers they have, where they stand, and what lists of targets and aliases name. Lines are those that
//! ptxas 13.4 reports.

use softwarp_check::{Options, check};
use softwarp_syntax::{Lines, Severity, parse};

/// The lines with errors in a module of this version for sm_90; its header has three.
fn lines(version: &str, module: &str) -> Vec<u32> {
    let text = format!(".version {version}\n.target sm_90\n.address_size 64\n{module}\n");
    let parsed = parse(&text);
    let checked = check(&parsed.module, &text, Options::default());
    let lines = Lines::new(&text);
    let found = parsed.diagnostics.iter().chain(&checked);
    let errors = found.filter(|found| found.severity() == Severity::Error);
    let mut errors: Vec<u32> = errors.map(|error| lines.line(error.span().start)).collect();
    errors.dedup();
    errors
}

/// The same with these statements in a kernel; the first is on line 6.
fn in_kernel(statements: &str) -> Vec<u32> {
    lines("9.4", &format!(".entry k()\n{{\n{statements}\nL: ret;\n}}"))
}

#[test]
fn branches_go_to_code() {
    assert_eq!(in_kernel("T: .branchtargets L;"), [0u32; 0]);
    assert_eq!(in_kernel("T: .branchtargets T;"), [0u32; 0]);
    assert_eq!(in_kernel("T: .branchtargets L;\nU: .branchtargets T;"), [7]);
    assert_eq!(in_kernel("U: .branchtargets T;\nT: .branchtargets L;"), [6]);
    assert_eq!(in_kernel("P: .callprototype _ ();\nbra P;"), [7]);
    assert_eq!(in_kernel("T: .calltargets k;\nU: .branchtargets T;"), [7]);
}

#[test]
fn files_have_numbers_of_their_own() {
    let kernel = ".entry k() { ret; }";
    assert_eq!(lines("9.4", &format!(".file 1 \"a\"\n.file 2 \"a\"\n{kernel}")), [0u32; 0]);
    assert_eq!(lines("9.4", &format!(".file 1 \"a\"\n.file 1 \"b\"\n{kernel}")), [6]);
    assert_eq!(lines("9.4", &format!(".file 1 \"a\"\n.file 1 \"a\", 1, 2\n{kernel}")), [5]);
}

#[test]
fn pragmas_about_code_stand_in_bodies() {
    assert_eq!(in_kernel(".pragma \"used_bytes_mask 1\";"), [0u32; 0]);
    assert_eq!(lines("9.4", ".pragma \"used_bytes_mask 1\";\n.entry k() { ret; }"), [4]);
    assert_eq!(lines("9.4", ".entry k()\n.pragma \"enable_smem_spilling\";\n{\nret;\n}"), [5]);
    assert_eq!(lines("9.4", ".entry k()\n.pragma \"nounroll\";\n{\nret;\n}"), [0u32; 0]);
}

#[test]
fn numbers_of_languages_and_preserved_registers_have_limits() {
    assert_eq!(lines("9.2", ".entry k() .language 1, 2\n{\nret;\n}"), [0u32; 0]);
    assert_eq!(lines("9.1", ".entry k() .language 1\n{\nret;\n}"), [5]);
    assert_eq!(lines("9.2", ".entry k() .language 11\n{\nret;\n}"), [4]);
    let function =
        |directive: &str| format!(".func f() {directive}\n{{\nret;\n}}\n.entry k() {{ call f; ret; }}");
    assert_eq!(lines("9.4", &function(".abi_preserve 239")), [0u32; 0]);
    assert_eq!(lines("9.4", &function(".abi_preserve 256")), [4]);
    assert_eq!(lines("9.4", &function(".abi_preserve_control 11")), [0u32; 0]);
    assert_eq!(lines("9.4", &function(".abi_preserve_control 12")), [4]);
}

#[test]
fn targets_inside_bodies_are_passed_over() {
    assert_eq!(in_kernel(".target sm_90"), [0u32; 0]);
    assert_eq!(in_kernel(".target nosuch"), [6]);
    assert_eq!(in_kernel(".version 9.0"), [6]);
}

#[test]
fn declarations_of_a_function_agree_on_what_it_preserves() {
    let kernel = ".entry k() { ret; }";
    assert_eq!(
        lines("9.4", &format!(".func x() .noreturn;\n.func x() .noreturn {{ ret; }}\n{kernel}")),
        [0u32; 0]
    );
    assert_eq!(lines("9.4", &format!(".func x() .noreturn;\n.func x() {{ ret; }}\n{kernel}")), [5]);
    assert_eq!(lines("9.4", &format!(".func x();\n.func x() .abi_preserve 5 {{ ret; }}\n{kernel}")), [5]);
    assert_eq!(lines("9.4", &format!(".func f();\n.alias f, f;\n{kernel}")), [4, 5]);
}

#[test]
fn aliases_inside_bodies_are_aliases() {
    let module = |alias: &str| format!(".func f() {{ ret; }}\n.func g();\n.entry k()\n{{\n{alias}\nret;\n}}");
    assert_eq!(lines("9.4", &module(".alias g, f;")), [0u32; 0]);
    assert_eq!(lines("9.4", &module(".alias a, f;")), [5, 8]);
    assert_eq!(lines("9.4", &module("")), [5]);
}
