//! Operands of video instructions, tensor memory and fabrics, held against the assembler.
//!
//! The recording has an instruction and a target in each row, and whether ptxas 13.4 takes it in the kernel below:
//! forms of the manual, and forms with an operand, a part of a register, a count or a minus sign changed.

use serde::Deserialize;
use softwarp_check::{Options, check};
use softwarp_isa::Target;
use softwarp_syntax::{Severity, parse};
use softwarp_testkit::recording;

#[derive(Deserialize)]
struct Row {
    target: String,
    instruction: String,
    ok: bool,
}

/// What surrounds the instruction.
fn kernel(row: &Row) -> String {
    format!(
        ".version 9.4\n.target {}\n.address_size 64\n.shared .align 16 .b8 sm[4096];\n\
         .visible .entry k(.param .u64 q)\n{{\n\
         .reg .b32 %r<300>; .reg .u32 %u<8>; .reg .s32 %s<8>; .reg .f32 %f<8>; .reg .b64 %rd<8>; .reg .f64 %d<4>; \
         .reg .pred %p<4>; .reg .b16 %h<8>; .reg .u8 %c<4>; .reg .b128 %q<4>;\n{}\nret;\n}}\n",
        row.target, row.instruction
    )
}

#[test]
fn verdicts_are_the_assemblers() {
    let rows: Vec<Row> = recording::rows(recording::golden("check", "video_tensor.jsonl.gz")).collect();
    assert!(rows.len() > 1000 && rows.iter().filter(|row| row.ok).count() > 300, "{}", rows.len());
    let differs = |row: &&Row| {
        let text = kernel(row);
        let parsed = parse(&text);
        let options = Options { arch: Target::from_name(&row.target), ..Options::default() };
        let mut found = parsed.diagnostics.iter().cloned().chain(check(&parsed.module, &text, options));
        found.any(|one| one.severity() == Severity::Error) == row.ok
    };
    let wrong: Vec<String> = rows
        .iter()
        .filter(differs)
        .map(|row| format!("{} ({}; ptxas: {})", row.instruction, row.target, row.ok))
        .collect();
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}
