//! Holds the instruction table against recorded verdicts of the assembler.
//!
//! Each row of the golden file is one instruction with its operands, and whether ptxas 13.4 took it for a
//! target and version. Registers are named after their types (`Rf32_7`), so that the operands can be judged
//! here by what the table wants. There are no exceptions.

use serde::Deserialize;
use softwarp_isa::instruction::{Kind, LiteralKind, Signature, Value, Wanted, known, resolve};
use softwarp_isa::{Target, Type, Version};
use softwarp_testkit::{SplitMix64, recording};

#[derive(Deserialize)]
struct Row {
    /// Mnemonic, then operands.
    text: String,
    arch: String,
    version: String,
    ok: bool,
    /// What the assembler said.
    #[serde(default)]
    message: String,
}

fn rows() -> Vec<Row> {
    recording::rows(recording::golden("isa", "instructions.jsonl.gz")).collect()
}

/// Cuts at the separators that are not inside brackets.
fn split(text: &str, separator: char) -> Vec<&str> {
    let (mut depth, mut start, mut parts) = (0, 0, Vec::new());
    for (at, c) in text.char_indices() {
        match c {
            '{' | '[' => depth += 1,
            '}' | ']' => depth -= 1,
            _ if c == separator && depth == 0 => {
                parts.push(text[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(text[start..].trim());
    parts.retain(|part| !part.is_empty());
    parts
}

fn register(operand: &str) -> Option<Type> {
    let (name, _) = operand.strip_prefix('R')?.split_once('_')?;
    Type::from_name(name)
}

fn literal(operand: &str) -> Option<LiteralKind> {
    let digits = operand.strip_prefix('-').unwrap_or(operand);
    if !digits.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    Some(match digits {
        _ if digits.starts_with("0f") => LiteralKind::F32,
        _ if digits.starts_with("0d") || digits.contains('.') => LiteralKind::F64,
        _ => LiteralKind::Integer,
    })
}

fn value_fits(value: &Value, operand: &str) -> bool {
    if operand == "_" {
        return value.forms.sink;
    }
    if let Some(negated) = operand.strip_prefix('!') {
        return value.forms.negated && register(negated).is_some_and(|ty| value.accepts(ty));
    }
    match (register(operand), literal(operand)) {
        (Some(ty), _) => value.accepts(ty),
        (None, Some(kind)) => value.accepts_literal(kind),
        (None, None) => value.forms.address,
    }
}

fn elements(operand: &str) -> Option<Vec<&str>> {
    Some(split(operand.strip_prefix('{')?.strip_suffix('}')?, ','))
}

fn fits(wanted: &Wanted, operand: &str) -> bool {
    match &wanted.kind {
        Kind::Any | Kind::Call => true,
        Kind::Label => operand == "L0",
        Kind::Sink => operand == "_",
        Kind::Value(value) => value_fits(value, operand),
        Kind::Pair(first, second) => match split(operand, '|')[..] {
            [one] => second.optional && fits(first, one),
            [one, other] => fits(first, one) && fits(second, other),
            _ => false,
        },
        Kind::Vector { counts, element, bare } => match elements(operand) {
            Some(parts) => {
                counts.contains(&(parts.len() as u8)) && parts.iter().all(|part| value_fits(element, part))
            }
            None => *bare && operand != "_" && value_fits(element, operand),
        },
        Kind::Immediate(range) => match operand.parse::<i64>() {
            Ok(number) => range.is_none_or(|(least, most)| (least..=most).contains(&number)),
            Err(_) => false,
        },
        Kind::Handle { coordinates, .. } => {
            let Some(inner) = operand.strip_prefix('[').and_then(|text| text.strip_suffix(']')) else {
                return false;
            };
            match (coordinates, split(inner, ',')[..].last().copied().and_then(elements)) {
                (None, given) => given.is_none(),
                (Some(wanted), Some(parts)) => {
                    let first = wanted.index.as_ref().unwrap_or(&wanted.element);
                    wanted.counts.contains(&(parts.len() as u8))
                        && value_fits(first, parts[0])
                        && parts[1..].iter().all(|part| value_fits(&wanted.element, part))
                }
                (Some(_), None) => false,
            }
        }
        Kind::Address(_) | Kind::Tensor { .. } | Kind::Fabric { .. } => operand.starts_with('['),
    }
}

/// Whether the operands fit the list: optional ones may be missing from any place.
fn all_fit(wanted: &[Wanted], operands: &[&str]) -> bool {
    let Some((first, rest)) = wanted.split_first() else { return operands.is_empty() };
    let here = operands.split_first().is_some_and(|(one, others)| fits(first, one) && all_fit(rest, others));
    here || (first.optional && all_fit(rest, operands))
}

fn accepts(row: &Row) -> bool {
    let (mnemonic, operands) = row.text.split_once(' ').unwrap_or((&row.text, ""));
    let mut words = mnemonic.split('.');
    let opcode = words.next().unwrap_or_default();
    let words: Vec<&str> = words.collect();
    let target = Target::from_name(&row.arch).expect("a target");
    let version: Version = row.version.parse().expect("a version");
    let operands = split(operands, ',');
    let right = |signature: &Signature| {
        signature.shut_gate(version, target).is_none() && all_fit(&signature.operands, &operands)
    };
    match resolve(opcode, &words) {
        Ok(shape) => shape.signatures.iter().any(right),
        Err(_) => false,
    }
}

#[test]
fn the_table_agrees_with_the_assembler() {
    let rows = rows();
    assert!(rows.len() > 3000, "{} rows", rows.len());
    let wrong: Vec<String> = rows
        .iter()
        .filter(|row| accepts(row) != row.ok)
        .map(|row| {
            format!("{} {}: assembler {} {} ({})", row.version, row.arch, row.ok, row.text, row.message)
        })
        .collect();
    assert!(wrong.is_empty(), "{} of {} disagree:\n{}", wrong.len(), rows.len(), wrong.join("\n"));
}

#[test]
fn every_opcode_that_real_ptx_uses_is_known() {
    let used = "ld ret st mov add setp mul bra cvt shl cvta and mad sub shr or selp bar fma not neg div max min \
        xor shfl atom abs cp call membar rcp rem sqrt barrier prmt tex bfe ldmatrix exit mma vote popc ex2 clz \
        bfi fence set griddepcontrol mbarrier nanosleep brev bfind copysign isspacep rsqrt redux elect mul24 shf \
        activemask multimem match lg2 sin cos tcgen05 trap tanh wgmma stmatrix dp4a madc wmma mapa sust addc \
        dp2a prefetch ldu subc clusterlaunchcontrol slct brkpt setmaxnreg createpolicy suld red testp bmsk \
        tensormap vabsdiff4 lop3 txq suq vshr movmatrix sad alloca fns sured getctarank vabsdiff2";
    for opcode in used.split_whitespace() {
        assert!(known(opcode), "{opcode}");
    }
}

/// The fault's code, its words, and the spelling that would do.
#[track_caller]
fn check(mnemonic: &str, code: &str, words: &[usize], nearest: &str) {
    let mut parts = mnemonic.split('.');
    let opcode = parts.next().unwrap_or_default();
    let fault = resolve(opcode, &parts.collect::<Vec<_>>()).expect_err(mnemonic);
    assert_eq!((fault.code(), &fault.words[..]), (code, words), "{fault}");
    assert_eq!(fault.nearest.as_deref().unwrap_or_default(), nearest, "{fault}");
    assert!(!fault.to_string().is_empty());
}

#[test]
fn every_kind_of_fault() {
    check("ad.u32", "unknown-opcode", &[], "");
    check("ld.gobal.u32", "unknown-modifier", &[0], "ld.global.u32");
    check("add.global.u32", "modifier-not-with-opcode", &[0], "add.u32");
    check("fma.f32", "missing-modifier", &[], "fma.rn.f32");
    check("add.sat.u64", "modifier-combination", &[0], "add.u64");
    check("mul.s32.lo", "misplaced-modifier", &[1], "mul.hi.s32");
    check("add.u32.u32", "duplicate-modifier", &[1], "add.u32");
    check("cvt.f16.f32", "missing-modifier", &[], "cvt.rn.f16.f32");
    assert!(!known("frobnicate"));
}

#[test]
fn words_come_in_any_order_that_the_assembler_takes() {
    let canonical = |opcode: &str, words: &[&str]| match resolve(opcode, words) {
        Ok(shape) => shape.mnemonic(),
        other => panic!("{other:?}"),
    };
    assert_eq!(canonical("ld", &["u32", "v2", "global"]), "ld.global.v2.u32");
    assert_eq!(canonical("add", &["f32", "rn", "sat", "sat"]), "add.rn.sat.f32");
    assert_eq!(canonical("cvt", &["f32", "rn", "s32"]), "cvt.rn.f32.s32");
    assert!(
        resolve("mma", &"sync.aligned.m16n8k16.col.row.f32.f16.f16.f32".split('.').collect::<Vec<_>>())
            .is_err()
    );
}

#[test]
fn hostile_mnemonics_are_only_faults() {
    let many: Vec<&str> = std::iter::repeat_n("sat", 5000).chain(std::iter::repeat_n("u32", 5000)).collect();
    assert!(resolve("add", &many).is_err());
    assert!(resolve("ld", &[""]).is_err() && resolve("", &[]).is_err() && resolve("add", &[]).is_err());
    let long = "x".repeat(1 << 20);
    assert!(resolve(&long, &[&long]).is_err() && resolve("add", &[&long]).is_err());
}

#[test]
fn most_of_what_is_spelled_by_chance_from_the_rows_is_legal() {
    let (mut legal, mut all, mut random) = (0, 0, SplitMix64::new(1));
    for opcode in softwarp_isa::instruction::opcodes() {
        for _ in 0..8 {
            let Some(mnemonic) = softwarp_isa::instruction::spell(opcode, |count| random.below(count)) else {
                continue;
            };
            let words: Vec<&str> = mnemonic.split('.').skip(1).collect();
            all += 1;
            legal += usize::from(resolve(opcode, &words).is_ok());
        }
    }
    assert!(all > 1000 && legal * 10 > all * 8, "{legal} of {all}");
    assert_eq!(softwarp_isa::instruction::spell("frobnicate", |_| 0), None);
}
