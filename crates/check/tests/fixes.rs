//! Fixes: each mends what it belongs to, and there is none where something else can have been meant.

use softwarp_check::{Options, check, codes};
use softwarp_syntax::{Diagnostic, Fix, parse};
use std::collections::BTreeSet;

fn diagnose(text: &str) -> Vec<Diagnostic> {
    let parsed = parse(text);
    let found = check(&parsed.module, text, Options::default());
    parsed.diagnostics.into_iter().chain(found).collect()
}

fn mended(text: &str, fix: &Fix) -> String {
    let mut mended = text.to_owned();
    for edit in fix.edits.iter().rev() {
        mended.replace_range(edit.span.start as usize..edit.span.end as usize, &edit.text);
    }
    mended
}

/// A kernel for sm_90 with these statements.
fn kernel(version: &str, body: &str) -> String {
    format!(
        ".version {version}\n.target sm_90\n.address_size 64\n.visible .entry k()\n{{\n.reg .b32 %r<9>;\n.reg .f32 %f<9>;\n\
         .reg .b64 %rd<4>;\n{body}\nret;\n}}\n"
    )
}

/// The code and the message of each fix.
fn fixes(text: &str) -> Vec<(&'static str, String)> {
    let found = diagnose(text);
    found.iter().filter_map(|one| Some((one.code.0, one.fix.as_ref()?.message.clone()))).collect()
}

#[test]
fn each_code_that_has_fixes_is_mended() {
    let header = |text: &str| format!("{text}.visible .entry k()\n{{\nret;\n}}\n");
    for (code, message, text) in [
        ("E0005", "write `;` at the end of the line before", kernel("8.0", "add.s32 %r1, %r2, %r3")),
        ("E0010", "write `.reg`", kernel("8.0", "reg .b32 a;")),
        ("E0012", "write `.f32`", kernel("8.0", ".reg .fl32 a;")),
        ("E0104", "write `sm_90`", header(".version 8.0\n.target sm90\n.address_size 64\n")),
        ("E0105", "raise `.version` to 7.8", header(".version 7.0\n.target sm_90\n.address_size 64\n")),
        ("E0107", "write `.address_size 64`", header(".version 8.0\n.target sm_90\n.address_size 46\n")),
        (
            "E0109",
            "raise `.version` to 8.3",
            header(".version 8.0\n.target sm_90\n.address_size 64\n.global .b128 x;\n"),
        ),
        ("E0501", "write `sub.s32`", kernel("8.0", "sbu.s32 %r1, %r2, %r3;")),
        ("E0502", "write `fma.rn.f32`", kernel("8.0", "fma.rn.f23 %f1, %f2, %f3, %f1;")),
        ("E0504", "write `add.s32`", kernel("8.0", "add.s32.s32 %r1, %r2, %r3;")),
        ("E0507", "write `mul.lo.s32`", kernel("8.0", "mul.s32.lo %r1, %r2, %r3;")),
        (
            "E0510",
            "raise `.version` to 8.1",
            kernel("8.0", "multimem.red.relaxed.sys.global.add.u32 [%rd1], %r1;"),
        ),
        ("W0102", "write `sm_90`", header(".version 8.0\n.target sm_90x\n.address_size 64\n")),
        ("W0101", "write `sm_110a`", header(".version 9.0\n.target sm_101a\n.address_size 64\n")),
    ] {
        let found = diagnose(&text);
        let one = found.iter().find(|one| one.code.0 == code && one.fix.is_some());
        let one = one.unwrap_or_else(|| panic!("{code}: no fix\n{text}\n{found:#?}"));
        let fix = one.fix.as_ref().expect("it has one");
        assert_eq!(fix.message, message, "{code}");
        let after = mended(&text, fix);
        assert!(diagnose(&after).is_empty(), "{code}: {:?}\n{after}", diagnose(&after));
        assert_eq!(after.lines().count(), text.lines().count(), "{code}");
    }
}

#[test]
fn nothing_uncertain_is_mended() {
    for text in [
        // `add` or `sad`; `.b16` or `.b64`; one of two operands; an array of them.
        kernel("8.0", "ad.s32 %r1, %r2, %r3;"),
        kernel("8.0", ".reg .b46 a;"),
        kernel("8.0", "add.s32 %r1, %r2\n%r3;"),
        kernel("8.0", "fma.f32 %f1, %f2, %f3, %f1;"),
        // Only another target has it.
        kernel("8.0", "wgmma.fence.sync.aligned;"),
        // Pointers would have another size.
        ".version 8.0\n.target sm_90\n.address_size 32\n".to_owned(),
        // The target is not known, so neither is the version that it needs.
        ".version 5.0\n.target sm_banana\n.address_size 64\n.visible .entry k()\n{\nret;\n}\n".to_owned(),
    ] {
        assert_eq!(fixes(&text), [], "{text}");
        assert!(!diagnose(&text).is_empty(), "{text}");
    }
}

#[test]
fn the_examples_of_all_codes_get_better() {
    let mut seen = BTreeSet::new();
    let pages =
        softwarp_syntax::codes::ALL.iter().chain(codes::declarations::ALL).chain(codes::instructions::ALL);
    for page in pages {
        let before = diagnose(page.wrong);
        for one in before.iter().filter(|one| one.fix.is_some()) {
            let fix = one.fix.as_ref().expect("it has one");
            let after = mended(page.wrong, fix);
            let left = diagnose(&after);
            assert!(left.len() < before.len(), "{}: {left:?}\n{after}", page.code);
            seen.insert(one.code.0);
        }
    }
    assert!(seen.len() >= 4, "{seen:?}");
}
