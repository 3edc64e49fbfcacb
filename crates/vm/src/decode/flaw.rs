//! A flaw in compiled code that is asked for: with `SOFTWARP_JIT_FLAW=1`, sums of f32 give their first operand. It shows what
//! compare mode does with wrong code; tests use it.

use softwarp_ir::{Alu, AluOp, Function, Op, Slots};
use softwarp_isa::Type;
use softwarp_isa::instruction::Opcode;
use softwarp_units::alu::simple::Simple;
use std::borrow::Cow;
use std::sync::OnceLock;

/// A function as it is compiled.
pub(super) fn with_flaw(function: &Function) -> Cow<'_, Function> {
    static WANTED: OnceLock<bool> = OnceLock::new();
    if !*WANTED.get_or_init(|| std::env::var("SOFTWARP_JIT_FLAW").is_ok_and(|value| value == "1")) {
        return Cow::Borrowed(function);
    }
    let mut changed = function.clone();
    for op in &mut changed.ops {
        if let Op::Alu(alu) = op
            && alu.op.form().is_some_and(|form| form.opcode == Opcode::Add && form.types == [Type::F32])
            && let Some(first) = alu.s.get(0)
        {
            *alu = Alu { op: AluOp::Simple(Simple::Move32), s: Slots::of(&[first]), ..alu.clone() };
        }
    }
    Cow::Owned(changed)
}
