//! Arithmetic instructions of the table, with the operands that they want.

use crate::choices::Choices;
use softwarp_isa::instruction::{Access, InstructionForm, Kind, Value, Wanted, resolve, spell};
use softwarp_isa::{Target, Type, Version};
use softwarp_units::alu::has_loop;
use std::sync::Arc;

/// The opcodes of arithmetic, the more common ones twice.
const OPCODES: &[&str] = &[
    "add", "sub", "mul", "mad", "add", "mul", "mul24", "mad24", "sad", "div", "rem", "abs", "neg", "min",
    "max", "min", "max", "popc", "clz", "bfind", "fns", "brev", "bfe", "bfi", "bmsk", "szext", "dp4a",
    "dp2a", "and", "or", "xor", "not", "cnot", "lop3", "shf", "shl", "shr", "prmt", "selp", "slct", "set",
    "setp", "setp", "cvt", "cvt", "copysign", "testp", "fma", "fma", "rcp", "sqrt", "rsqrt", "sin", "cos",
    "lg2", "ex2", "tanh", "addc", "subc", "madc",
];

/// Types of conversions, and words before them.
const CONVERTED: &[&str] = &[
    "u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64", "f16", "bf16", "f32", "f64", "f16x2", "bf16x2",
    "u32", "s32", "f32", "f16",
];
const CONVERSIONS: &[&str] =
    &["", "", ".rn", ".rz", ".rni", ".rzi", ".rmi", ".rpi", ".rm", ".rp", ".sat", ".rni.ftz", ".rn.ftz"];

/// The version of programs; their GPU is sm_90.
const VERSION: Version = Version { major: 8, minor: 6 };

/// An operand.
pub enum Operand {
    /// One value.
    Value {
        /// What it is read or written as.
        ty: Type,
        /// The type of a register that fits.
        register: Type,
        written: bool,
        /// Whether a constant may stand there.
        immediate: bool,
    },
    /// Two destinations.
    Pair(Type, Type),
    /// Several sources.
    Vector(Type, u8),
    /// `immLut` of `lop3`.
    Lut(u8),
}

/// An instruction without its operands' names.
pub struct Arithmetic {
    pub form: Arc<InstructionForm>,
    pub operands: Vec<Operand>,
}

/// A form that has a loop, and its operands; none where the choices lead nowhere.
pub fn arithmetic(choices: &mut Choices<'_>) -> Option<Arithmetic> {
    (0..8).find_map(|_| one(choices))
}

fn one(choices: &mut Choices<'_>) -> Option<Arithmetic> {
    let opcode = choices.pick(OPCODES);
    let mnemonic = match opcode {
        "cvt" => {
            format!(
                "cvt{}.{}.{}",
                choices.pick(CONVERSIONS),
                choices.pick(CONVERTED),
                choices.pick(CONVERTED)
            )
        }
        _ => spell(opcode, |count| choices.below(count as u64) as usize)?,
    };
    let words: Vec<&str> = mnemonic.split('.').skip(1).collect();
    let form = resolve(opcode, &words).ok()?;
    if !has_loop(&form) || form.types.iter().any(|ty| ty.bits() > 64) {
        return None;
    }
    let target = Target::from_name("sm_90")?;
    let open = |at: &usize| form.signatures[*at].shut_gate(VERSION, target).is_none();
    let signatures: Vec<usize> = (0..form.signatures.len()).filter(open).collect();
    let signature = *signatures.get(choices.below(signatures.len() as u64) as usize)?;
    let wanted = &form.signatures[signature].operands;
    let operands = wanted.iter().filter_map(|wanted| {
        let left_out = wanted.optional && choices.once_in(2);
        (!left_out).then(|| operand(choices, wanted))
    });
    let operands = operands.collect::<Option<Vec<Operand>>>()?;
    Some(Arithmetic { form: Arc::from(form), operands })
}

fn operand(choices: &mut Choices<'_>, wanted: &Wanted) -> Option<Operand> {
    Some(match &wanted.kind {
        Kind::Value(value) => Operand::Value {
            ty: value.ty,
            register: value.register(),
            written: wanted.access == Access::Write,
            immediate: value.forms.immediate,
        },
        Kind::Pair(first, second) => match (&first.kind, &second.kind) {
            (Kind::Value(one), Kind::Value(_)) if second.optional && choices.once_in(2) => alone(one),
            (Kind::Value(one), Kind::Value(other)) => Operand::Pair(one.ty, other.ty),
            _ => return None,
        },
        Kind::Vector { counts, element, .. } if wanted.access == Access::Read => {
            Operand::Vector(element.ty, *counts.first()?)
        }
        Kind::Immediate(_) => Operand::Lut(choices.below(256) as u8),
        _ => return None,
    })
}

fn alone(value: &Value) -> Operand {
    Operand::Value { ty: value.ty, register: value.register(), written: true, immediate: false }
}
