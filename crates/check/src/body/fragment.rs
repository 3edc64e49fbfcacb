//! The fragments of `mma` and `wmma`: what may stand in them beyond the rules for vectors (PTX ISA section 9.7.14).
//!
//! Some forms have no hardware on a target, and the assembler calls a function or adds an instruction for them. Those
//! take no special registers, and some only the very type. Constants may stand for the accumulators, but integers alone
//! are no fragment of the multiplicands. All of this was measured.

use super::accepts::Accepts;
use softwarp_isa::instruction::{InstructionForm, Modifier, Opcode};
use softwarp_isa::{Target, Type};

/// What the elements of an operand may be.
pub(super) fn accepts(form: &InstructionForm, operand: &str, target: Target, accepts: Accepts) -> Accepts {
    match form.opcode {
        Opcode::Mma | Opcode::Wmma => {}
        Opcode::Ldmatrix => return accepts.with_predicates(),
        Opcode::Stmatrix => return accepts.without(Accepts::INTEGER),
        Opcode::Spcompress | Opcode::Spdecompress => {
            return accepts.with(Accepts::NO_SPECIAL | Accepts::NO_PREDICATE);
        }
        // Integers alone are no vector of these either, and nothing is dropped of what is read.
        Opcode::Tcgen05 => {
            let none = Accepts::NO_PREDICATE | Accepts::NO_SPECIAL | Accepts::NO_SINK;
            return accepts.with(none).without(Accepts::INTEGER);
        }
        _ => return accepts,
    }
    let multiplicand = matches!(operand, "a" | "b") && !form.has(Modifier::Store);
    let accumulator = operand == "c";
    let mut accepts = accepts;
    let result = operand == "d" && !form.has(Modifier::Load);
    if calls_function(form, target) && !result {
        accepts = accepts.with(Accepts::NO_SPECIAL | Accepts::PLAIN | Accepts::NO_PREDICATE);
    }
    let metadata = operand == "e";
    if metadata {
        accepts = accepts.without(Accepts::INTEGER);
    }
    if (multiplicand || metadata) && !calls_function(form, target) {
        accepts = accepts.without(Accepts::INTEGER);
        if form.matrix().is_some_and(|matrix| matrix.name == "m8n8k16") {
            accepts = accepts.only(&[Type::B32, Type::S32, Type::U32]).without(Accepts::F32);
        } else if accepts.ty == Type::B32 && !converts_bytes(form, target) {
            accepts = accepts.with_predicates();
        }
    }
    match accepts.ty {
        Type::F64 => accepts = accepts.with_integers(),
        Type::F32 if accumulator => accepts = accepts.without(Accepts::F64),
        _ => {}
    }
    if accepts.ty == Type::F64 && accumulator {
        accepts = accepts.with(Accepts::INTEGER);
    }
    if converts_bytes(form, target) {
        if multiplicand {
            accepts = accepts.with(Accepts::NO_PREDICATE);
        } else if !metadata {
            let half = form.types.first() == Some(&Type::F16);
            let own = if half { Type::F16x2 } else { Type::F32 };
            accepts = accepts.only(&[Type::B32, own]).with(Accepts::EACH | Accepts::NO_SPECIAL);
        }
    }
    accepts
}

/// What a single value of a matrix instruction accepts.
pub(super) fn value(form: &InstructionForm, operand: &str, accepts: Accepts) -> Accepts {
    let has = |modifier| form.has(modifier);
    match (form.opcode, operand) {
        (Opcode::Movmatrix, _) => accepts.with_predicates(),
        (Opcode::Wgmma, "sp-meta") => accepts.without(Accepts::INTEGER),
        (Opcode::Tcgen05, "idesc") => accepts.with(Accepts::NO_OFFSET),
        (Opcode::Wgmma, "a-desc" | "b-desc") => accepts.with(Accepts::NO_VARIABLE).without(Accepts::F64),
        (Opcode::Tcgen05, "a-desc" | "b-desc" | "s-desc") => accepts.with(Accepts::NO_VARIABLE),
        // The assembler subtracts one from these.
        (Opcode::Tensormap, "b")
            if [Modifier::BoxDim, Modifier::GlobalDim, Modifier::ElementStride].into_iter().any(has) =>
        {
            accepts.without_type(Type::F32)
        }
        (Opcode::Cvt, "rbits") => accepts.with(Accepts::FIXED | Accepts::NO_VARIABLE),
        _ => accepts,
    }
}

/// Whether the assembler calls a function for a form, whose arguments are registers.
fn calls_function(form: &InstructionForm, target: Target) -> bool {
    let has = |modifier| form.has(modifier);
    let narrow = has(Modifier::B1) || form.types.iter().any(|ty| matches!(ty, Type::U4 | Type::S4));
    match form.opcode {
        Opcode::Wmma => has(Modifier::Store) || has(Modifier::Load) || narrow,
        _ if form.matrix().is_some_and(|matrix| matrix.name == "m8n8k4")
            && form.types.first() != Some(&Type::F64) =>
        {
            target.sm() >= 80
        }
        _ => narrow && target.sm() >= 90,
    }
}

/// Whether 8-bit floats are converted to half precision first, and added to accumulators of it by an instruction of its
/// own: targets from sm_90 on, but for those that have such products.
fn converts_bytes(form: &InstructionForm, target: Target) -> bool {
    let bytes = form.types.iter().any(|ty| matches!(ty, Type::E4m3 | Type::E5m2));
    form.opcode == Opcode::Mma && bytes && (90..120).contains(&target.sm())
}
