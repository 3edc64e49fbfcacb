//! Permutation of bytes (PTX ISA section 9.7.9: `prmt`). `mov` is lowered to copies.

use super::{AluLoops, alu_loop, ternary};
use softwarp_isa::Type;
use softwarp_isa::instruction::InstructionForm;
use softwarp_isa::instruction::{Modifier, Opcode};

/// The loop for a form. `extra` is 0, or the number from 1 of a mode in `MODES`.
pub fn select(form: &InstructionForm) -> Option<(AluLoops, u32)> {
    let ty = *form.types.first()?;
    let mode = match (form.opcode, form.modifiers.as_slice(), ty) {
        (Opcode::Prmt, [], Type::B32) => 0,
        (Opcode::Prmt, [mode], Type::B32) => 1 + MODES.iter().position(|(name, _)| name == mode)? as u32,
        _ => return None,
    };
    let compiled = alu_loop!(|frame, inst, mask| {
        match MODES.get((inst.extra as usize).wrapping_sub(1)) {
            None => ternary(frame, inst, mask, |a: u32, b: u32, c: u32| permuted(a, b, c)),
            Some((_, selectors)) => ternary(frame, inst, mask, |a: u32, b: u32, c: u32| {
                permuted(a, b, selectors[(c & 3) as usize])
            }),
        }
    });
    Some((compiled, mode))
}

/// The modes, and the selector that each makes of the two low bits of `c`.
const MODES: [(Modifier, [u32; 4]); 6] = [
    (Modifier::F4e, [0x3210, 0x4321, 0x5432, 0x6543]),
    (Modifier::B4e, [0x5670, 0x6701, 0x7012, 0x0123]),
    (Modifier::Rc8, [0x0000, 0x1111, 0x2222, 0x3333]),
    (Modifier::Ecl, [0x3210, 0x3211, 0x3222, 0x3333]),
    (Modifier::Ecr, [0x0000, 0x1110, 0x2210, 0x3210]),
    (Modifier::Rc16, [0x1010, 0x3232, 0x1010, 0x3232]),
];

/// Four bytes of `b:a`, each chosen by three bits of the selector; with the fourth, its sign in all bits.
#[inline(always)]
fn permuted(a: u32, b: u32, selector: u32) -> u32 {
    let bytes = u64::from(b) << 32 | u64::from(a);
    (0..4).fold(0, |d, n| {
        let choice = selector >> (4 * n);
        let byte = (bytes >> (8 * (choice & 7))) as u8;
        let signs = (byte as i8 >> 7) as u8;
        d | u32::from(if choice & 8 == 0 { byte } else { signs }) << (8 * n)
    })
}
