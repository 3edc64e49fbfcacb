//! `docs/ir.md` lists every operation as it is declared.

use softwarp_ir::{AsyncOp, ClusterOp, Declared, MatrixOp, Step, TensorCoreOp, TextureOp};
use std::fmt::Write;

const HEAD: &str = "\
# The intermediate representation

Generated from the declarations in `crates/ir/src/operations.rs` (`SOFTWARP_BLESS=1 cargo test -p softwarp-ir` writes it
anew). `softwarp lower kernel.ptx` prints a kernel in this form.

Arithmetic is not listed: it keeps the opcode, types and modifiers of its instruction, with slots for its operands.
Every operation has a guard. Properties: `memory` it reads or writes memory; `waits` it may wait for others; `faults` it
may stop the launch; `collective` all lanes of the warp execute it together; `progress` others may react to it; `lanes` it
may read registers of lanes that do not take part. Those in parentheses depend on the operands.
";

fn table(page: &mut String, title: &str, operations: &[Declared]) {
    let _ = write!(
        page,
        "\n## {title}\n\n| operation | PTX | writes | reads | immediate | properties |\n|---|---|---|---|---|---|\n"
    );
    let list = |names: &[&str]| {
        let names: Vec<&str> = names.iter().copied().filter(|name| !name.is_empty()).collect();
        names.join(", ")
    };
    for one in operations {
        let (writes, reads, immediates) = (list(one.writes), list(one.reads), list(one.immediates));
        let properties = list(one.properties);
        let Declared { name, instructions, .. } = one;
        let _ = writeln!(
            page,
            "| `{name}` | {instructions} | {writes} | {reads} | {immediates} | {properties} |"
        );
    }
}

#[test]
fn the_page_lists_every_operation() {
    let mut page = HEAD.to_owned();
    for (title, operations) in [
        ("Control flow, memory and collectives", Step::TABLE),
        ("Textures and surfaces", TextureOp::TABLE),
        ("Clusters", ClusterOp::TABLE),
        ("Asynchronous copies and mbarriers", AsyncOp::TABLE),
        ("Matrices", MatrixOp::TABLE),
        ("Tensor memory", TensorCoreOp::TABLE),
    ] {
        assert!(!operations.is_empty());
        table(&mut page, title, operations);
    }
    softwarp_testkit::expected::assert_file(softwarp_testkit::repository("docs/ir.md"), &page);
}

#[test]
fn names_are_unique() {
    let tables = [
        Step::TABLE,
        TextureOp::TABLE,
        ClusterOp::TABLE,
        AsyncOp::TABLE,
        MatrixOp::TABLE,
        TensorCoreOp::TABLE,
    ];
    let mut names: Vec<&str> = tables.iter().flat_map(|table| table.iter().map(|one| one.name)).collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count);
}
