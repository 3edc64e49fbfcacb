//! Constants of instructions: which ones the assembler takes, for each operand that can be one.
//!
//! A row of the recording is an instruction with `#` in place of an operand, and the constants that ptxas 13.5 takes
//! and refuses there. Differences are listed in `docs/assembler-differences.md` by the instructions of their rows, and
//! only those.

use softwarp_check::{Options, check};
use softwarp_isa::Target;
use softwarp_syntax::{Severity, parse};
use softwarp_testkit::recording;
use std::collections::BTreeSet;
use std::fmt::Write;

/// What is wrong with a kernel of this instruction. The registers `Rb32_1` and their like are declared as named.
fn errors(arch: &str, version: &str, instruction: &str) -> Vec<String> {
    let types: BTreeSet<&str> = instruction
        .split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .filter_map(|word| word.strip_prefix('R')?.split_once('_').map(|(ty, _)| ty))
        .collect();
    let registers = types.iter().fold(String::new(), |mut text, ty| {
        let _ = write!(text, ".reg .{ty} R{ty}_<256>; ");
        text
    });
    let text = format!(
        ".version {version}\n.target {arch}\n.address_size 64\n.global .align 128 .b8 g[1024]; \
         .const .align 128 .b8 c[1024]; .shared .align 128 .b8 s[1024];\n.entry k(.param .u64 P) {{\n\
         {registers}.local .align 128 .b8 l[1024];\n{instruction};\nret;\n}}\n"
    );
    let parsed = parse(&text);
    let options = Options { arch: Target::from_name(arch), ..Options::default() };
    let checked = check(&parsed.module, &text, options);
    let found = parsed.diagnostics.into_iter().chain(checked);
    let errors = found.filter(|found| found.severity() == Severity::Error);
    errors.map(|error| format!("{} {}", error.code, error.message)).collect()
}

#[test]
fn constants_are_those_that_the_assembler_takes() {
    let listed: BTreeSet<String> = recording::listed_differences().into_iter().collect();
    let (mut asked, mut wrong) = (0, Vec::new());
    for row in recording::values(recording::golden("check", "constants.jsonl.gz")) {
        let text = |key: &str| row[key].as_str().unwrap_or_default();
        let instruction = text("text");
        let values = |key: &str| row[key].as_array().cloned().unwrap_or_default();
        let mut differs = Vec::new();
        for (key, taken) in [("takes", true), ("refuses", false)] {
            for value in values(key) {
                let value = value.as_str().unwrap_or_default();
                let found = errors(text("arch"), text("version"), &instruction.replace('#', value));
                asked += 1;
                if found.is_empty() != taken {
                    differs.push(format!("{value} ({key}; {found:?})"));
                }
            }
        }
        if listed.contains(instruction) == differs.is_empty() {
            wrong.push(format!("{} {instruction}: {}", text("arch"), differs.join(", ")));
        }
    }
    assert!(asked > 30_000);
    assert!(wrong.is_empty(), "{} of the rows differ:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn constants_that_break_a_rule_are_explained() {
    let said = |instruction: &str, words: &str| {
        let found = errors("sm_90", "8.6", instruction);
        assert!(found.len() == 1 && found[0].contains(words), "{instruction}: {found:?}");
    };
    said("cp.async.ca.shared.global [s], [Rb64_1], 12", "is 12; it can be 4 to 16, a power of two");
    said("cp.async.ca.shared.global [s], [Rb64_1], 8, 9", "is 9; it can be at most 8, which is `cp-size`");
    said(
        "createpolicy.fractional.L2::evict_last.b64 Rb64_1, 1.5",
        "is 1.5; it can be a number above 0 and up to 1",
    );
    said(
        "createpolicy.range.L2::evict_last.b64 Rb64_1, [Rb64_2], 9, 8",
        "is 9; it can be at most 8, which is `total-size`",
    );
    said("mov.u32 Rb32_1, 0 ? 1 : 4 / 0", "E0413 division by zero");
    said("ld.global.u32 Rb32_1, [Rb64_1+4/0]", "E0413 division by zero");
    said("createpolicy.fractional.L2::evict_last.b64 Rb64_1, 1 + 2.0", "both operands are of one kind");
}
