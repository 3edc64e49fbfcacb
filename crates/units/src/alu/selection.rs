//! Selection (PTX ISA section 9.7.6: `selp`, `slct`).

use super::lane::each;
use super::{AluLoops, alu_loop, ternary};
use crate::alu::Inst;
use crate::lanes::{Frame, LANES, Word, has_lane};
use softwarp_isa::Type;
use softwarp_isa::instruction::InstructionForm;
use softwarp_isa::instruction::{Modifier, Opcode};
use std::hint::select_unpredictable;

/// The loop for a form. `extra` is 1 with `.ftz`.
pub fn select(form: &InstructionForm) -> Option<(AluLoops, u32)> {
    let wide = matches!(form.types.first()?, Type::B64 | Type::U64 | Type::S64 | Type::F64);
    let compiled = match (form.opcode, wide, form.types.get(1)) {
        (Opcode::Selp, false, None) => alu_loop!(|frame, inst, mask| selp::<u32>(frame, inst, mask)),
        (Opcode::Selp, true, None) => alu_loop!(|frame, inst, mask| selp::<u64>(frame, inst, mask)),
        (Opcode::Slct, false, Some(Type::S32)) => each!(|a: u32, b: u32, c: i32| if c >= 0 { a } else { b }),
        (Opcode::Slct, true, Some(Type::S32)) => each!(|a: u64, b: u64, c: i32| if c >= 0 { a } else { b }),
        (Opcode::Slct, false, Some(Type::F32)) => alu_loop!(|frame, inst, mask| {
            let least = least_selected(inst);
            ternary(frame, inst, mask, |a: u32, b: u32, c: u32| if is_at_least(least, c) { a } else { b })
        }),
        (Opcode::Slct, true, Some(Type::F32)) => alu_loop!(|frame, inst, mask| {
            let least = least_selected(inst);
            ternary(frame, inst, mask, |a: u64, b: u64, c: u32| if is_at_least(least, c) { a } else { b })
        }),
        _ => return None,
    };
    Some((compiled, u32::from(form.has(Modifier::Ftz))))
}

#[inline(always)]
fn selp<W: Word>(frame: &mut Frame, inst: &Inst, mask: u32) {
    let (a, b) = (frame.row::<W>(inst.s[0]), frame.row::<W>(inst.s[1]));
    let c = frame.predicate(inst.s[2]);
    let mut d = [W::default(); LANES];
    for lane in 0..LANES {
        d[lane] = select_unpredictable(has_lane(c, lane), a[lane], b[lane]);
    }
    frame.set_row(inst.d[0], d, mask);
}

/// The least `c` that selects `a`: zero, or with `.ftz` (`extra` 1) the last subnormal below it, which counts as zero.
#[inline(always)]
fn least_selected(inst: &Inst) -> f32 {
    if inst.extra & 1 == 1 { -f32::from_bits(0x007f_ffff) } else { 0.0 }
}

#[inline(always)]
fn is_at_least(least: f32, c: u32) -> bool {
    f32::from_bits(c) >= least
}
