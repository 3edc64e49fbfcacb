//! Keeps docs/instructions.md true: which instructions are checked, executed, and verified on hardware.
//!
//! What is checked is in the instruction table. What is executed is asked of the machine: every spelling that the
//! assembler took when the table was tried on it is lowered. What is verified occurs in a recorded program whose
//! results are right, or in the machine's tests of single operations.
//!
//! `SOFTWARP_BLESS=1 cargo test -p softwarp-cli --test commands instructions_page` rewrites it.

use rayon::prelude::*;
use serde_json::Value as Json;
use softwarp::isa::instruction::{known, opcodes};
use softwarp::syntax::parse;
use softwarp::vm::device::{Device, LoadOptions};
use softwarp_cli::verify::programs::{Program, Verdict, verdict};
use softwarp_testkit::{expected::assert_file, recording, repository};
use std::collections::{BTreeMap, BTreeSet};
use std::io::BufRead;

/// A spelling of each opcode that was not tried on the assembler.
const SAMPLES: &[(&str, &str)] = &[
    ("sm_90", "bra L"),
    ("sm_90", "brkpt"),
    ("sm_90", "cvt.rn.f16.f32 Rb16_1, Rf32_2"),
    ("sm_90", "discard.global.L2 [Rb64_1], 128"),
    ("sm_90", "elect.sync Rb32_1|Rpred_2, -1"),
    ("sm_90", "istypep.texref Rpred_1, Rb64_2"),
    ("sm_90", "getctarank.shared::cluster.u32 Rb32_1, Rb32_2"),
    ("sm_90", "lop3.b32 Rb32_1, Rb32_2, Rb32_3, Rb32_4, 128"),
    ("sm_90", "mad.lo.u32 Rb32_1, Rb32_2, Rb32_3, Rb32_4"),
    ("sm_90", "testp.finite.f32 Rpred_1, Rf32_2"),
    ("sm_90", "vabsdiff.u32.u32.u32 Ru32_1, Ru32_2, Ru32_3"),
    ("sm_90", "vabsdiff2.u32.u32.u32 Ru32_1, Ru32_2, Ru32_3, Ru32_4"),
    ("sm_90", "vabsdiff4.u32.u32.u32 Ru32_1, Ru32_2, Ru32_3, Ru32_4"),
    ("sm_90", "vadd.u32.u32.u32 Ru32_1, Ru32_2, Ru32_3"),
    ("sm_90", "vadd2.u32.u32.u32 Ru32_1, Ru32_2, Ru32_3, Ru32_4"),
    ("sm_90", "vadd4.u32.u32.u32 Ru32_1, Ru32_2, Ru32_3, Ru32_4"),
    ("sm_90", "vavrg2.u32.u32.u32 Ru32_1, Ru32_2, Ru32_3, Ru32_4"),
    ("sm_90", "vavrg4.u32.u32.u32 Ru32_1, Ru32_2, Ru32_3, Ru32_4"),
    ("sm_90", "vmad.u32.u32.u32 Ru32_1, Ru32_2, Ru32_3, Ru32_4"),
    ("sm_90", "vmax.u32.u32.u32 Ru32_1, Ru32_2, Ru32_3"),
    ("sm_90", "vmax2.u32.u32.u32 Ru32_1, Ru32_2, Ru32_3, Ru32_4"),
    ("sm_90", "vmax4.u32.u32.u32 Ru32_1, Ru32_2, Ru32_3, Ru32_4"),
    ("sm_90", "vmin.u32.u32.u32 Ru32_1, Ru32_2, Ru32_3"),
    ("sm_90", "vmin2.u32.u32.u32 Ru32_1, Ru32_2, Ru32_3, Ru32_4"),
    ("sm_90", "vmin4.u32.u32.u32 Ru32_1, Ru32_2, Ru32_3, Ru32_4"),
    ("sm_90", "vset.u32.u32.eq Ru32_1, Ru32_2, Ru32_3"),
    ("sm_90", "vset2.u32.u32.eq Ru32_1, Ru32_2, Ru32_3, Ru32_4"),
    ("sm_90", "vset4.u32.u32.eq Ru32_1, Ru32_2, Ru32_3, Ru32_4"),
    ("sm_90", "vshl.u32.u32.u32.clamp Ru32_1, Ru32_2, Ru32_3"),
    ("sm_90", "vshr.u32.u32.u32.clamp Ru32_1, Ru32_2, Ru32_3"),
    ("sm_90", "vsub.u32.u32.u32 Ru32_1, Ru32_2, Ru32_3"),
    ("sm_90", "vsub2.u32.u32.u32 Ru32_1, Ru32_2, Ru32_3, Ru32_4"),
    ("sm_90", "vsub4.u32.u32.u32 Ru32_1, Ru32_2, Ru32_3, Ru32_4"),
    ("sm_90a", "wgmma.fence.sync.aligned"),
];

/// Recordings of single operations, for the machine's tests: a row for each form.
const FORMS: &[&str] = &["integer_ops.jsonl.gz", "approx.jsonl.gz"];
/// The same with all forms in the first line.
const LISTS: &[&str] = &["float.bin.gz", "float_edges.bin.gz"];

/// A module with one instruction. Registers are named after their types; some variables are there to be named.
fn module(target: &str, instruction: &str) -> String {
    let words = instruction.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let registers: BTreeSet<&str> =
        words.filter(|word| word.starts_with('R') && word.contains('_')).collect();
    let declare = |name: &&str| {
        let (ty, _) = name[1..].split_once('_').unwrap_or(("b32", ""));
        format!(".reg .{ty} {name};\n")
    };
    let registers: String = registers.iter().map(declare).collect();
    format!(
        ".version 9.4\n.target {target}\n.address_size 64\n.global .texref tx;\n.global .surfref sf;\n\
         .const .align 128 .b8 c[256];\n\
         .visible .entry k(.param .align 16 .b8 prm[64])\n{{\n.shared .align 128 .b8 s[1024];\n\
         .local .align 16 .b8 l[64];\n{registers}L:\n{instruction};\nret;\n}}\n"
    )
}

/// Whether the machine executes an instruction; `None` if the module around it does not fit.
fn is_executed(target: &str, instruction: &str) -> Option<bool> {
    let device = Device::load(&[&module(target, instruction)], LoadOptions::default()).ok()?;
    Some(device.program("k").is_ok())
}

/// The opcodes of a module's instructions.
fn opcodes_of(text: &str) -> BTreeSet<String> {
    let module = parse(text).module;
    let name = |mnemonic: &softwarp::syntax::tree::Mnemonic| module.name(mnemonic.opcode).to_owned();
    module.mnemonics.iter().map(name).collect()
}

/// What was recorded for single inputs.
fn single_forms() -> Vec<String> {
    let form = |row: &Json| row["form"].as_str().map(str::to_owned);
    let mut forms: Vec<String> = Vec::new();
    for file in FORMS {
        forms.extend(recording::values(recording::golden("units", file)).filter_map(|row| form(&row)));
    }
    for file in LISTS {
        let mut first = Vec::new();
        recording::open(recording::golden("units", file)).read_until(b'\n', &mut first).expect("a line");
        let list: Json = serde_json::from_slice(&first).expect("JSON");
        forms.extend(list["forms"].as_array().expect("forms").iter().filter_map(form));
    }
    forms
}

#[derive(Default)]
struct Row {
    executed: usize,
    tried: usize,
    /// Spellings that are not executed.
    refused: Vec<String>,
    programs: usize,
    single: bool,
}

/// Files of programs that an H200 ran.
const RECORDED: &[&str] = &[
    "programs",
    "misc",
    "textures",
    "lookups",
    "clusters",
    "asynchronous",
    "matrix",
    "cuda",
    "triton",
    "places",
];

fn table() -> BTreeMap<String, Row> {
    let mut table: BTreeMap<String, Row> =
        opcodes().map(|opcode| (opcode.to_owned(), Row::default())).collect();
    let recorded = recording::values(recording::golden("isa", "instructions.jsonl.gz"));
    let mut spellings: BTreeSet<(String, String)> =
        SAMPLES.iter().map(|(target, text)| ((*target).to_owned(), (*text).to_owned())).collect();
    for row in recorded.filter(|row| row["ok"] == true) {
        let text = |key: &str| row[key].as_str().unwrap_or_default().to_owned();
        spellings.insert((text("arch"), text("text")));
    }
    let spellings: Vec<(String, String)> = spellings.into_iter().collect();
    let asked: Vec<Option<bool>> =
        spellings.par_iter().map(|(target, text)| is_executed(target, text)).collect();
    // The same spelling for several targets is one form.
    let mut forms: BTreeMap<&str, bool> = BTreeMap::new();
    for ((_, text), executed) in spellings.iter().zip(asked) {
        if let Some(executed) = executed {
            let mnemonic = text.split_whitespace().next().unwrap_or_default();
            *forms.entry(mnemonic).or_default() |= executed;
        }
    }
    for (mnemonic, executed) in forms {
        let opcode = mnemonic.split('.').next().unwrap_or_default();
        if let Some(row) = table.get_mut(opcode) {
            row.tried += 1;
            row.executed += usize::from(executed);
            if !executed {
                row.refused.push(mnemonic.to_owned());
            }
        }
    }
    let recorded = RECORDED
        .iter()
        .flat_map(|name| recording::values(recording::golden("cli", &format!("{name}.jsonl.gz"))));
    for program in recorded {
        let program: Program = serde_json::from_value(program).expect("a program");
        if program.launch.get("expect").is_some() && verdict(&program) == Verdict::Passed {
            for opcode in opcodes_of(&program.ptx) {
                if let Some(row) = table.get_mut(&opcode) {
                    row.programs += 1;
                }
            }
        }
    }
    for form in single_forms() {
        if let Some(row) = form.split(['.', ' ']).next().and_then(|opcode| table.get_mut(opcode)) {
            row.single = true;
        }
    }
    if let Some(row) = table.get_mut("cvt") {
        row.single = true;
    }
    table
}

fn page() -> String {
    let table = table();
    let mut text = "# Instructions\n\n\
        Every opcode of the PTX manual: whether `softwarp check` judges its forms, whether the machine executes them, \
        and whether the results were compared with an H200's.\n\n\
        - **checked**: its forms are in the instruction table, which is held against the assembler.\n\
        - **executed**: of the spellings that were tried, how many the machine executes. What it does not execute is refused, by name and place, when a kernel is loaded.\n\
        - **verified on hardware**: in how many recorded programs with the right results it occurs; *single* where its results were recorded for single inputs, too.\n\n\
        This page is made by `crates/cli/tests/instructions_page.rs`.\n\n"
        .to_owned();
    let whole = table.values().filter(|row| row.tried > 0 && row.executed == row.tried).count();
    let some = table.values().filter(|row| row.executed > 0).count();
    let verified = table.values().filter(|row| row.programs > 0 || row.single).count();
    text += &format!(
        "{} opcodes: {} checked, {some} executed ({whole} of them in all spellings tried), {verified} verified on hardware.\n\n",
        table.len(),
        table.keys().filter(|opcode| known(opcode)).count(),
    );
    text += "| opcode | checked | executed | verified on hardware |\n|---|---|---|---|\n";
    for (opcode, row) in &table {
        let checked = if known(opcode) { "yes" } else { "no" };
        let executed = match (row.executed, row.tried) {
            (0, 0) if row.programs > 0 => "yes".to_owned(),
            (0, _) => "no".to_owned(),
            (all, tried) if all == tried => "yes".to_owned(),
            (some, tried) => format!("{some} of {tried}"),
        };
        let verified = match (row.programs, row.single) {
            (0, false) => "–".to_owned(),
            (0, true) => "single".to_owned(),
            (programs, single) => {
                let plural = if programs == 1 { "" } else { "s" };
                format!("{programs} program{plural}{}", if single { ", single" } else { "" })
            }
        };
        text += &format!("| `{opcode}` | {checked} | {executed} | {verified} |\n");
    }
    text += "\n## Not executed, of opcodes that otherwise are\n\n";
    for (opcode, row) in table.iter().filter(|(_, row)| row.executed > 0 && !row.refused.is_empty()) {
        let spellings: Vec<String> = row.refused.iter().map(|mnemonic| format!("`{mnemonic}`")).collect();
        text += &format!("- `{opcode}`: {}\n", spellings.join(", "));
    }
    text += "\n## Why not\n\n| what | reason |\n|---|---|\n";
    for (opcodes, what, reason) in REASONS {
        let names: Vec<String> = opcodes.iter().map(|opcode| format!("`{opcode}`")).collect();
        text += &format!("| {}{what} | {reason} |\n", names.join(", "));
    }
    for (opcode, row) in &table {
        let told = REASONS.iter().any(|(opcodes, ..)| opcodes.contains(&opcode.as_str()));
        assert!(row.refused.is_empty() || told, "{opcode} has a reason");
    }
    text
}

/// Why some forms are not executed: of which opcodes, which of their forms, and the reason.
const REASONS: &[(&[&str], &str, &str)] = &[
    (&["cp"], " with a report of validity", "no document says what is reported for which bytes"),
    (
        &["cp"],
        " with `.im2col_no_offs::w` from shared memory",
        "the manual does not say which pixels are written",
    ),
    (&["fabric"], "", "it reaches memory of other machines; there are none here"),
    (&["ldmatrix"], " of `.s8.s4`", "no document says how rows lie"),
    (
        &["spcompress", "spdecompress"],
        " and `tcgen05.ld.spcompress`",
        "only sm_107a has them; the order of elements and metadata is in pictures of the manual alone, and which of equal elements is kept is left to the hardware",
    ),
    (
        &["tcgen05"],
        " with `.kind::ti16`, with `.decompress::lut::b`, or of integers with `scale-input-d`",
        "the first two are for sm_107 only, and how their operands lie was not established; the manual has no `scale-input-d` for integers, though the assembler takes it",
    ),
];

#[test]
fn the_page_of_instructions_is_true() {
    assert_file(repository("docs/instructions.md"), &page());
}

#[test]
fn every_sample_is_taken_by_the_checker() {
    for (target, instruction) in SAMPLES {
        assert!(is_executed(target, instruction).is_some(), "{instruction} for {target}");
    }
}
