//! Lists the opcodes of the instruction table for the enumeration `Opcode`.
//!
//! A row of the table is a line `row(…, "getctarank.u32 …"),` or `old(…)` in `src/table`. Its first word is an opcode.
//! The list is an invocation of the macro `opcodes!` of `src/mnemonic/opcode.rs`.

use std::collections::BTreeSet;
use std::path::Path;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    println!("cargo:rerun-if-changed=src/table");
    let mut opcodes = BTreeSet::new();
    for file in fs::read_dir("src/table")? {
        let text = fs::read_to_string(file?.path())?;
        opcodes.extend(text.lines().filter_map(opcode).map(str::to_owned));
    }
    let lines: String = opcodes.iter().map(|name| format!("    {} {name:?},\n", variant(name))).collect();
    let out = env::var_os("OUT_DIR").ok_or_else(|| io::Error::other("OUT_DIR is not set"))?;
    fs::write(Path::new(&out).join("opcodes.rs"), format!("opcodes! {{\n{lines}}}\n"))
}

/// The opcode of a row, if the line is one.
fn opcode(line: &str) -> Option<&str> {
    let line = line.trim_start();
    if !line.starts_with("row(") && !line.starts_with("old(") {
        return None;
    }
    let (_, syntax) = line.split_once('"')?;
    syntax.split(|c: char| !c.is_ascii_alphanumeric()).next()
}

/// The name of an opcode's variant: `Getctarank` of `getctarank`.
fn variant(name: &str) -> String {
    let (first, rest) = name.split_at(1);
    first.to_ascii_uppercase() + rest
}
