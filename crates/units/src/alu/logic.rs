//! Logic and shifts (PTX ISA section 9.7.8). Shifts clamp: an amount of the width or more leaves nothing, or the
//! sign.

use super::lane::{each, widths};
use super::{AluLoops, alu_loop};
use crate::lanes::LANES;
use softwarp_isa::Type;
use softwarp_isa::instruction::InstructionForm;
use softwarp_isa::instruction::{Modifier, Opcode};

/// The loop for a form. `extra` of `lop3` with a predicate is 1 for `.and`, 0 for `.or`; its upper half is `immLut`.
pub fn select(form: &InstructionForm) -> Option<(AluLoops, u32)> {
    let ty = *form.types.first()?;
    let compiled = match (form.opcode, form.modifiers.as_slice(), ty) {
        (Opcode::And, [], Type::Pred) => predicates!(|a, b| a & b),
        (Opcode::Or, [], Type::Pred) => predicates!(|a, b| a | b),
        (Opcode::Xor, [], Type::Pred) => predicates!(|a, b| a ^ b),
        (Opcode::Not, [], Type::Pred) => {
            alu_loop!(|frame, inst, mask| frame.set_predicate(inst.d[0], !frame.predicate(inst.s[0]), mask))
        }
        // Zeros above 16 bits stay zeros but in `not`.
        (Opcode::And, [], _) => words!(ty, |a, b| a & b),
        (Opcode::Or, [], _) => words!(ty, |a, b| a | b),
        (Opcode::Xor, [], _) => words!(ty, |a, b| a ^ b),
        (Opcode::Not, [], _) => widths!(ty, |a| !a),
        (Opcode::Cnot, [], _) => match ty {
            Type::B16 | Type::B32 => each!(|a: u32| u32::from(a == 0)),
            Type::B64 => each!(|a: u64| u64::from(a == 0)),
            _ => return None,
        },
        (Opcode::Lop3, [], Type::B32) => alu_loop!(|frame, inst, mask| {
            let lut = inst.extra >> 16;
            super::ternary(frame, inst, mask, |a: u32, b: u32, c: u32| lookup(lut, a, b, c))
        }),
        (Opcode::Lop3, [op], Type::B32) => {
            let compiled = alu_loop!(|frame, inst, mask, ballot| {
                let (a, b) = (frame.row::<u32>(inst.s[0]), frame.row::<u32>(inst.s[1]));
                let (c, lut) = (frame.row::<u32>(inst.s[2]), inst.extra >> 16);
                let (mut d, mut holds) = ([0; LANES], [0; LANES]);
                for lane in 0..LANES {
                    d[lane] = lookup(lut, a[lane], b[lane], c[lane]);
                    holds[lane] = -i32::from(d[lane] != 0);
                }
                let (nonzero, e) = (ballot(&holds), frame.predicate(inst.s[3]));
                frame.set_row(inst.d[0], d, mask);
                let result = if inst.extra & 1 == 1 { nonzero & e } else { nonzero | e };
                super::set_second(frame, inst, result, mask);
            });
            return Some((compiled, u32::from(*op == Modifier::And)));
        }
        (Opcode::Shf, [Modifier::L, Modifier::Wrap], Type::B32) => {
            each!(|a: u32, b: u32, c: u32| funnel_left(a, b, c & 31))
        }
        (Opcode::Shf, [Modifier::L, Modifier::Clamp], Type::B32) => {
            each!(|a: u32, b: u32, c: u32| funnel_left(a, b, c.min(32)))
        }
        (Opcode::Shf, [Modifier::R, Modifier::Wrap], Type::B32) => {
            each!(|a: u32, b: u32, c: u32| funnel_right(a, b, c & 31))
        }
        (Opcode::Shf, [Modifier::R, Modifier::Clamp], Type::B32) => {
            each!(|a: u32, b: u32, c: u32| funnel_right(a, b, c.min(32)))
        }
        (Opcode::Shl, [], _) => match ty {
            Type::B16 => each!(|a: u16, b: u32| if b < 16 { a << b } else { 0 }),
            Type::B32 => each!(|a: u32, b: u32| if b < 32 { a << b } else { 0 }),
            Type::B64 => each!(|a: u64, b: u32| if b < 64 { a << b } else { 0 }),
            _ => return None,
        },
        (Opcode::Shr, [], _) => match ty {
            Type::B16 | Type::U16 | Type::B32 | Type::U32 => {
                each!(|a: u32, b: u32| if b < 32 { a >> b } else { 0 })
            }
            Type::B64 | Type::U64 => each!(|a: u64, b: u32| if b < 64 { a >> b } else { 0 }),
            Type::S16 => each!(|a: i16, b: u32| a >> b.min(15)),
            Type::S32 => each!(|a: i32, b: u32| a >> b.min(31)),
            Type::S64 => each!(|a: i64, b: u32| a >> b.min(63)),
            _ => return None,
        },
        _ => return None,
    };
    Some((compiled, 0))
}

/// The loop of a function of two predicates.
macro_rules! predicates {
    (|$a:ident, $b:ident| $d:expr) => {
        alu_loop!(|frame, inst, mask| {
            let ($a, $b) = (frame.predicate(inst.s[0]), frame.predicate(inst.s[1]));
            frame.set_predicate(inst.d[0], $d, mask)
        })
    };
}
use predicates;

/// The loop of a function that is the same for every width of a word.
macro_rules! words {
    ($ty:expr, |$a:ident, $b:ident| $d:expr) => {
        match $ty {
            Type::B16 | Type::B32 => each!(|$a: u32, $b: u32| $d),
            Type::B64 => each!(|$a: u64, $b: u64| $d),
            _ => return None,
        }
    };
}
use words;

/// Bit by bit, the bit of the table that three bits number, `a`'s the highest.
#[inline(always)]
fn lookup(table: u32, a: u32, b: u32, c: u32) -> u32 {
    let entry = |n: u32| (table >> n & 1).wrapping_neg();
    let choose = |bit: u32, one: u32, zero: u32| bit & one | !bit & zero;
    let pair = |n: u32| choose(c, entry(n + 1), entry(n));
    choose(a, choose(b, pair(6), pair(4)), choose(b, pair(2), pair(0)))
}

/// The upper word of `b:a` shifted left, by 32 at most.
#[inline(always)]
fn funnel_left(a: u32, b: u32, by: u32) -> u32 {
    ((u64::from(b) << 32 | u64::from(a)) << by >> 32) as u32
}

/// The lower word of `b:a` shifted right, by 32 at most.
#[inline(always)]
fn funnel_right(a: u32, b: u32, by: u32) -> u32 {
    ((u64::from(b) << 32 | u64::from(a)) >> by) as u32
}
