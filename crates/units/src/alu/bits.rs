//! Operations on the bits of integers (PTX ISA section 9.7.1, from `popc` on, and `clmad`), and dot products.

use super::lane::each;
use super::{AluLoops, alu_loop};
use crate::alu::Inst;
use crate::lanes::LANES;
use softwarp_isa::Type;
use softwarp_isa::instruction::InstructionForm;
use softwarp_isa::instruction::{Modifier, Opcode};

/// The loop for a form. `extra` of the dot products has a bit for each of a and b that is signed, and for `dp2a.hi`
/// a third.
pub fn select(form: &InstructionForm) -> Option<(AluLoops, u32)> {
    let ty = *form.types.first()?;
    let compiled = match (form.opcode, form.modifiers.as_slice(), ty) {
        (Opcode::Popc, [], Type::B32) => each!(|a: u32| a.count_ones()),
        (Opcode::Popc, [], Type::B64) => each!(|a: u64| a.count_ones()),
        (Opcode::Clz, [], Type::B32) => each!(|a: u32| a.leading_zeros()),
        (Opcode::Clz, [], Type::B64) => each!(|a: u64| a.leading_zeros()),
        (Opcode::Brev, [], Type::B32) => each!(|a: u32| a.reverse_bits()),
        (Opcode::Brev, [], Type::B64) => each!(|a: u64| a.reverse_bits()),
        // Without a bit that differs from the sign there are as many zeros as bits: the position is then -1.
        (Opcode::Bfind, [], Type::U32) => each!(|a: u32| 31u32.wrapping_sub(a.leading_zeros())),
        (Opcode::Bfind, [], Type::U64) => each!(|a: u64| 63u32.wrapping_sub(a.leading_zeros())),
        (Opcode::Bfind, [], Type::S32) => each!(|a: i32| 31u32.wrapping_sub((a ^ a >> 31).leading_zeros())),
        (Opcode::Bfind, [], Type::S64) => each!(|a: i64| 63u32.wrapping_sub((a ^ a >> 63).leading_zeros())),
        (Opcode::Bfind, [Modifier::Shiftamt], Type::U32) => each!(|a: u32| or_nothing(a.leading_zeros(), 32)),
        (Opcode::Bfind, [Modifier::Shiftamt], Type::U64) => each!(|a: u64| or_nothing(a.leading_zeros(), 64)),
        (Opcode::Bfind, [Modifier::Shiftamt], Type::S32) => {
            each!(|a: i32| or_nothing((a ^ a >> 31).leading_zeros(), 32))
        }
        (Opcode::Bfind, [Modifier::Shiftamt], Type::S64) => {
            each!(|a: i64| or_nothing((a ^ a >> 63).leading_zeros(), 64))
        }
        (Opcode::Fns, [], Type::B32) => {
            each!(|bits: u32, base: u32, offset: i32| nth_set(bits, base, offset))
        }
        (Opcode::Bfe, [], Type::U32) => {
            each!(|a: u32, b: u32, c: u32| extract(a.into(), byte(b), byte(c), 32) as u32)
        }
        (Opcode::Bfe, [], Type::U64) => each!(|a: u64, b: u32, c: u32| extract(a, b, c, 64)),
        (Opcode::Bfe, [], Type::S32) => {
            each!(|a: i32, b: u32, c: u32| signed_extract(a.into(), byte(b), byte(c), 32) as i32)
        }
        (Opcode::Bfe, [], Type::S64) => each!(|a: i64, b: u32, c: u32| signed_extract(a, b, c, 64)),
        (Opcode::Bfi, [], Type::B32) => alu_loop!(|frame, inst, mask| {
            let (a, b) = (frame.row::<u32>(inst.s[0]), frame.row::<u32>(inst.s[1]));
            let (position, length) = (frame.row::<u32>(inst.s[2]), frame.row::<u32>(inst.s[3]));
            let mut d = [0; LANES];
            for lane in 0..LANES {
                d[lane] =
                    insert(a[lane].into(), b[lane].into(), byte(position[lane]), byte(length[lane])) as u32;
            }
            frame.set_row(inst.d[0], d, mask)
        }),
        (Opcode::Bfi, [], Type::B64) => alu_loop!(|frame, inst, mask| {
            let (a, b) = (frame.row::<u64>(inst.s[0]), frame.row::<u64>(inst.s[1]));
            let (position, length) = (frame.row::<u32>(inst.s[2]), frame.row::<u32>(inst.s[3]));
            let mut d = [0; LANES];
            for lane in 0..LANES {
                d[lane] = insert(a[lane], b[lane], position[lane], length[lane]);
            }
            frame.set_row(inst.d[0], d, mask)
        }),
        (Opcode::Szext, [Modifier::Clamp], Type::U32) => each!(|a: u32, b: u32| a & low_ones(b)),
        (Opcode::Szext, [Modifier::Wrap], Type::U32) => each!(|a: u32, b: u32| a & low_ones(b & 31)),
        (Opcode::Szext, [Modifier::Clamp], Type::S32) => each!(|a: u32, b: u32| sign_extended(a, b)),
        (Opcode::Szext, [Modifier::Wrap], Type::S32) => each!(|a: u32, b: u32| sign_extended(a, b & 31)),
        (Opcode::Bmsk, [Modifier::Clamp], Type::B32) => each!(|a: u32, b: u32| shifted(low_ones(b), a)),
        (Opcode::Bmsk, [Modifier::Wrap], Type::B32) => each!(|a: u32, b: u32| low_ones(b & 31) << (a & 31)),
        (Opcode::Clmad, [Modifier::Lo], Type::U64) => {
            each!(|a: u64, b: u64, c: u64| carryless_product(a, b) as u64 ^ c)
        }
        (Opcode::Clmad, [Modifier::Hi], Type::U64) => {
            each!(|a: u64, b: u64, c: u64| (carryless_product(a, b) >> 64) as u64 ^ c)
        }
        (Opcode::Dp4a | Opcode::Dp2a, modifiers, _) => {
            let signs = u32::from(ty == Type::S32) | u32::from(*form.types.get(1)? == Type::S32) << 1;
            return Some(match modifiers {
                [Modifier::Lo] => (dp2a(), signs),
                [Modifier::Hi] => (dp2a(), signs | 4),
                _ => (dp4a(), signs),
            });
        }
        _ => return None,
    };
    Some((compiled, 0))
}

/// All ones where the count says that nothing was found.
#[inline(always)]
fn or_nothing(count: u32, nothing: u32) -> u32 {
    if count == nothing { u32::MAX } else { count }
}

/// The place of the set bit that is the `offset`-th from `base` on, upward or (negative) downward; `base` itself for
/// 0, if it is set. All ones if there is none.
#[inline(always)]
fn nth_set(bits: u32, base: u32, offset: i32) -> u32 {
    if offset == i32::MIN {
        return 0; // So the hardware, where the offset's magnitude overflows.
    }
    if base > 31 {
        return u32::MAX;
    }
    let mut rest = match offset {
        0 => bits & 1 << base,
        1.. => bits & u32::MAX << base,
        _ => bits.reverse_bits() & u32::MAX << (31 - base),
    };
    let before = offset.unsigned_abs().saturating_sub(1);
    if before >= rest.count_ones() {
        return u32::MAX;
    }
    for _ in 0..before {
        rest &= rest - 1;
    }
    let place = rest.trailing_zeros();
    if offset < 0 { 31 - place } else { place }
}

/// A given number of ones, at most 32, lowest first.
#[inline(always)]
fn low_ones(count: u32) -> u32 {
    shifted(1, count).wrapping_sub(1)
}

/// Shifted left; nothing is left by 32 or more.
#[inline(always)]
fn shifted(a: u32, by: u32) -> u32 {
    if by < 32 { a << by } else { 0 }
}

/// The low bits as a signed number: that many, at most 32.
#[inline(always)]
fn sign_extended(a: u32, count: u32) -> u32 {
    let unused = 32 - count.min(32);
    let extended = ((a << (unused & 31)) as i32 >> (unused & 31)) as u32;
    if count == 0 { 0 } else { extended }
}

/// A field of a value of a given number of bits; what lies beyond its top is zero.
#[inline(always)]
fn extract(a: u64, position: u32, length: u32, width: u32) -> u64 {
    let field = if position < width { a >> position } else { 0 };
    if length < 64 { field & !(u64::MAX << length) } else { field }
}

/// [`extract`] with the sign of the field in the bits above it.
#[inline(always)]
fn signed_extract(a: i64, position: u32, length: u32, width: u32) -> i64 {
    let field = a >> position.min(width - 1);
    let unused = 64 - length.clamp(1, 64);
    if length == 0 { 0 } else { field << unused >> unused }
}

/// `b` with the low bits of `a` at a place in it.
#[inline(always)]
fn insert(a: u64, b: u64, position: u32, length: u32) -> u64 {
    let ones = if length < 64 { !(u64::MAX << length) } else { u64::MAX };
    if position < 64 { b & !(ones << position) | (a & ones) << position } else { b }
}

/// Places and lengths of fields in 32 bits are bytes. In 64 bits the hardware looks at all bits of them.
#[inline(always)]
fn byte(count: u32) -> u32 {
    count & 0xff
}

/// The product of polynomials over two elements.
#[inline(always)]
fn carryless_product(a: u64, b: u64) -> u128 {
    (0..64).fold(0, |sum, bit| sum ^ u128::from(a >> bit & 1).wrapping_neg() & u128::from(b) << bit)
}

fn dp4a() -> AluLoops {
    alu_loop!(|frame, inst, mask| {
        let (signed_a, signed_b) = signs(inst);
        super::ternary(frame, inst, mask, |a: u32, b: u32, c: u32| {
            (0..4).fold(c, |sum, n| {
                sum.wrapping_add(part(a, 8 * n, 8, signed_a).wrapping_mul(part(b, 8 * n, 8, signed_b)))
            })
        })
    })
}

fn dp2a() -> AluLoops {
    alu_loop!(|frame, inst, mask| {
        let (signed_a, signed_b) = signs(inst);
        let first = if inst.extra & 4 == 0 { 0 } else { 16 };
        super::ternary(frame, inst, mask, |a: u32, b: u32, c: u32| {
            (0..2).fold(c, |sum, n| {
                let (a, b) = (part(a, 16 * n, 16, signed_a), part(b, first + 8 * n, 8, signed_b));
                sum.wrapping_add(a.wrapping_mul(b))
            })
        })
    })
}

#[inline(always)]
fn signs(inst: &Inst) -> (bool, bool) {
    (inst.extra & 1 == 1, inst.extra & 2 == 2)
}

/// Some bits of a word, extended.
#[inline(always)]
fn part(word: u32, first: u32, bits: u32, signed: bool) -> u32 {
    let top = word << (32 - bits - first);
    if signed { (top as i32 >> (32 - bits)) as u32 } else { top >> (32 - bits) }
}
