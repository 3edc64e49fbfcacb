//! The table against the real assembler: what ptxas 13.4 said about every combination of types and
//! modifiers, the least version on 26 targets, and the registers it took. No exceptions.

use std::collections::{BTreeMap, HashSet};

use serde::Deserialize;
use serde::de::DeserializeOwned;
use softwarp_isa::cvt::{Opcode, Operand, OperandName};
use softwarp_isa::{CvtForm, Target, Type, Version};
use softwarp_testkit::recording;

fn rows<T: DeserializeOwned>(file: &str) -> Vec<T> {
    recording::rows(recording::golden("isa", file)).collect()
}

/// The operands with plain registers, the way the recordings write them.
fn operands(form: CvtForm) -> String {
    let one = |name: &OperandName| {
        let sources = matches!(name, OperandName::A | OperandName::B);
        match form.opcode() {
            Opcode::CvtPack if sources => name.to_string(),
            _ => format!(".{} {name}", form.register(*name).unwrap()),
        }
    };
    let operand = |operand: &Operand| match operand {
        Operand::Single(name) => one(name),
        Operand::Vector(names) => format!("{{{}}}", names.iter().map(one).collect::<Vec<_>>().join(", ")),
    };
    form.operands().iter().map(operand).collect::<Vec<_>>().join(", ")
}

#[derive(Deserialize)]
struct Verdict {
    form: String,
    operands: String,
    target: String,
    ptx: String,
    accepted: bool,
    min_ptx: Option<String>,
}

#[test]
fn every_verdict_of_the_assembler_is_ours() {
    let verdicts: Vec<Verdict> = rows("forms.jsonl.gz");
    assert_eq!(verdicts.len(), 78_156);
    for row in &verdicts {
        let (target, ptx): (Target, Version) = (row.target.parse().unwrap(), row.ptx.parse().unwrap());
        let least = match CvtForm::parse(&row.form) {
            Ok(form) if operands(form) == row.operands => form.min_version(target),
            _ => None,
        };
        let accepted = least.filter(|least| *least <= ptx);
        assert_eq!(accepted.is_some(), row.accepted, "{} {} on {target}", row.form, row.operands);
        assert_eq!(accepted.map(|least| least.to_string()), row.min_ptx, "{} on {target}", row.form);
    }
}

#[test]
fn the_forms_are_exactly_the_accepted_ones() {
    let verdicts: Vec<Verdict> = rows("forms.jsonl.gz");
    let accepted: HashSet<&str> =
        verdicts.iter().filter(|row| row.accepted).map(|row| row.form.as_str()).collect();
    let spellings: Vec<String> = CvtForm::all().map(|form| form.to_string()).collect();
    let ours: HashSet<&str> = spellings.iter().map(String::as_str).collect();
    assert_eq!(spellings.len(), 1276);
    assert_eq!(ours.len(), 1276);
    assert!(ours == accepted);
    for (form, spelling) in CvtForm::all().zip(&spellings) {
        assert_eq!(CvtForm::parse(spelling).as_ref(), Ok(&form));
    }
}

#[derive(Deserialize)]
struct LeastVersions {
    form: String,
    operands: String,
    min_ptx_by_target: BTreeMap<String, String>,
}

#[test]
fn the_least_version_on_every_measured_target_is_ours() {
    let measured: Vec<LeastVersions> = rows("targets.jsonl.gz");
    assert_eq!(measured.len(), 1268);
    let targets: Vec<Target> =
        measured[0].min_ptx_by_target.keys().map(|name| name.parse().unwrap()).collect();
    assert_eq!(targets.len(), 26);
    for row in &measured {
        let form = CvtForm::parse(&row.form).unwrap();
        assert_eq!(form.to_string(), row.form);
        assert_eq!(operands(form), row.operands, "{form}");
        for target in &targets {
            let ours = form.min_version(*target).map(|version| version.to_string());
            assert_eq!(ours.as_ref(), row.min_ptx_by_target.get(target.name()), "{form} on {target}");
        }
    }
}

#[derive(Deserialize)]
struct Registers {
    form: String,
    accepted_reg_types: BTreeMap<String, Vec<String>>,
}

#[test]
fn every_accepted_register_is_ours() {
    let measured: Vec<Registers> = rows("regs.jsonl.gz");
    assert_eq!(measured.len(), 217);
    for row in &measured {
        let form = CvtForm::parse(&row.form).unwrap();
        for (operand, accepted) in &row.accepted_reg_types {
            let is_meant = |name: &OperandName| name.name().trim_end_matches("-factor") == operand;
            let name = OperandName::ALL.into_iter().find(is_meant).unwrap();
            assert!(form.has_operand(name), "{form} {operand}");
            assert!(form.accepts(name, form.register(name).unwrap()), "{form} {operand}");
            for ty in Type::ALL {
                let expected = accepted.iter().any(|name| name == ty.name());
                assert_eq!(form.accepts(name, *ty), expected, "{form}: .{ty} for {operand}");
            }
        }
    }
}
