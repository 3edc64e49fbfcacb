//! `docs/ir.md` lists every operation as it is declared.

use softwarp_ir::Declared;
use std::fmt::Write;

const HEAD: &str = "\
# The intermediate representation

Generated from the declarations in `crates/ir/src/operations.rs` (`SOFTWARP_BLESS=1 cargo test -p softwarp-ir` writes it
anew). `softwarp lower kernel.ptx` prints a kernel in this form.

Arithmetic is not listed: it keeps the opcode, types and modifiers of its instruction, with slots for its operands.
Every operation has a guard. Properties: `memory` it reads or writes memory; `waits` it may wait for others; `faults` it
may stop the launch; `collective` all lanes of the warp execute it together; `progress` others may react to it; `lanes` it
may read registers of lanes that do not take part. Those in parentheses depend on the operands.

## Text

A function can be read back: `Function::parse` takes what `{:#}` prints. (`{}`, which `softwarp lower` uses, shortens long
immediate operands and leaves out tables.) Not in the text are places in the source, names of variables for messages, and
the tables of debuggers and sanitizers. File tests of the compiler are written in this form (`CONTRIBUTING.md`).

```text
function  = rows { head } { line }
rows      = \"rows:\" N \"of 32 bits,\" N \"of 64 bits,\" N \"predicates\"
head      = \"memory per thread:\" N \"bytes local,\" N \"bytes of parameters\"
          | slot \"=\" ( N | \"[param\" N \"]\" | register )     what a row holds from the start
          | \"shared:\" slot \"=\" N { \",\" slot \"=\" N }         constants that are addresses in .shared
          | \"zeroed:\" ( \"none\" | slot { \",\" slot } )         rows that may be read before they are written
          | \"unread:\" N { \",\" N }                         operations whose results nothing reads
          | \"from launch:\" N \"=\" slot \"of\" slot { \",\" … }  operations that copy a row that the launch gives
          | \"instructions:\" N \"=\" N { \",\" … }            operations that begin not one instruction
line      = [ N \":\" ] [ \"@\" [ \"!\" ] predicate ] operation
operation = \"bra\" N
          | [ slots \"=\" ] arithmetic [ parameters ] [ slots ] [ \",\" ( N | Selectors ) ]
          | [ operands \"=\" ] name [ operands ] { \",\" immediate }
operands  = operand { \",\" operand }      one for each that the tables below list; those absent at the end are left out
operand   = slot [ \":\" bits ] | [ \"!\" ] predicate | address | \"{\" operands \"}\" | N | \"_\"
          | \"level(\" slot \")\" | \"gradient({\" slots \"}, {\" slots \"})\" | \"ignore(\" predicate \")\" | \"function(\" N \")\"
address   = \"[\" memory ( slot [ (\"+\" | \"-\") N ] | N ) \"]\"
immediate = name \"=\" value | name                 one without a value is true
slot      = \"r\" N | \"d\" N | \"p\" N              rows of 32-bit words, of 64-bit words, predicates
```

`N` is decimal, or hexadecimal after `0x`. `//` begins a comment. A list of one operand needs no braces; `_` is an operand
that is absent. Arithmetic has the mnemonic of its instruction (`add.u32`), or is one of lowering's own: `copy.b32`,
`copy.b64`, `copy.pred`, `not.pred`, `true`, `false`, `extract.b32 8..16`, `extract.b64 8..16`, `pack.b32 16`,
`pack.b64 32`, `sext.b32 8 to 32`, `sext.b64 32`, `zext.b64`, `add.b32`, `add.b64`, `sub.b32`, `sub.b64`, `div.dividend`,
`div.reciprocal` (with `.full` and `.ftz`), `is_inside`, `is_outside`. An error names its line and column.
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
    for (title, operations) in softwarp_ir::TABLES {
        assert!(!operations.is_empty());
        table(&mut page, title, operations);
    }
    softwarp_testkit::expected::assert_file(softwarp_testkit::repository("docs/ir.md"), &page);
}

#[test]
fn names_are_unique() {
    let mut names: Vec<&str> =
        softwarp_ir::TABLES.iter().flat_map(|(_, table)| table.iter().map(|one| one.name)).collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count);
}
