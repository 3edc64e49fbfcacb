//! Arithmetic with a carry (PTX ISA section 9.7.2). The carry flag is the predicate [`Slot::CARRY`].
//!
//! The manual says that a subtraction leaves its borrow there. The hardware adds the complement and leaves the
//! carry of that sum, which is the opposite; it shows where `addc` follows `sub.cc`.

use super::integer::MultiplyHigh;
use super::lane::Lane;
use super::{AluLoops, alu_loop};
use crate::alu::Inst;
use crate::lanes::{ALL, Frame, LANES, Slot, has_lane};
use softwarp_isa::Type;
use softwarp_isa::instruction::InstructionForm;
use softwarp_isa::instruction::{Modifier, Opcode};

/// `extra`: the carry is an operand.
const CARRY_IN: u32 = 1;
/// `extra`: the carry is written.
const CARRY_OUT: u32 = 2;
/// `extra`: one is carried in, so that the complement's sum is the difference.
const ONE_IN: u32 = 4;

/// The loop for a form. What it does with the carry is in `extra`.
pub fn select(form: &InstructionForm) -> Option<(AluLoops, u32)> {
    let writes = form.has(Modifier::Cc);
    let reads = matches!(form.opcode, Opcode::Addc | Opcode::Subc | Opcode::Madc);
    if !writes && !reads {
        return None;
    }
    let ty = *form.types.first()?;
    let wide = matches!(ty, Type::U64 | Type::S64);
    let compiled = match (form.opcode, form.modifiers.as_slice(), ty, wide) {
        (Opcode::Addc, [Modifier::Sat], Type::S32, _) => carried!(|a: i32, b: i32, _c: i32, carry| {
            (clamp(i64::from(a) + i64::from(b) + i64::from(carry)), false)
        }),
        (Opcode::Subc, [Modifier::Sat], Type::S32, _) => carried!(|a: i32, b: i32, _c: i32, carry| {
            (clamp(i64::from(a) + i64::from(!b) + i64::from(carry)), false)
        }),
        (Opcode::Add | Opcode::Addc, _, Type::U16 | Type::S16, _) => {
            carried!(|a: u16, b: u16, _c: u16, carry| a.carrying_sum(b, carry))
        }
        (Opcode::Sub | Opcode::Subc, _, Type::U16 | Type::S16, _) => {
            carried!(|a: u16, b: u16, _c: u16, carry| a.carrying_sum(!b, carry))
        }
        (Opcode::Mad | Opcode::Madc, [Modifier::Lo, ..], Type::U16 | Type::S16, _) => {
            carried!(|a: u16, b: u16, c: u16, carry| a.wrapping_mul(b).carrying_sum(c, carry))
        }
        (Opcode::Add | Opcode::Addc, _, _, false) => {
            carried!(|a: u32, b: u32, _c: u32, carry| a.carrying_sum(b, carry))
        }
        (Opcode::Add | Opcode::Addc, _, _, true) => {
            carried!(|a: u64, b: u64, _c: u64, carry| a.carrying_sum(b, carry))
        }
        (Opcode::Sub | Opcode::Subc, _, _, false) => {
            carried!(|a: u32, b: u32, _c: u32, carry| a.carrying_sum(!b, carry))
        }
        (Opcode::Sub | Opcode::Subc, _, _, true) => {
            carried!(|a: u64, b: u64, _c: u64, carry| a.carrying_sum(!b, carry))
        }
        (Opcode::Mad | Opcode::Madc, [Modifier::Lo, ..], _, false) => {
            carried!(|a: u32, b: u32, c: u32, carry| a.wrapping_mul(b).carrying_sum(c, carry))
        }
        (Opcode::Mad | Opcode::Madc, [Modifier::Lo, ..], _, true) => {
            carried!(|a: u64, b: u64, c: u64, carry| a.wrapping_mul(b).carrying_sum(c, carry))
        }
        (Opcode::Mad | Opcode::Madc, [Modifier::Hi, ..], _, _) => match ty {
            Type::U32 => carried!(|a: u32, b: u32, c: u32, carry| a.multiply_high(b).carrying_sum(c, carry)),
            Type::U64 => carried!(|a: u64, b: u64, c: u64, carry| a.multiply_high(b).carrying_sum(c, carry)),
            Type::S32 => carried!(|a: i32, b: i32, c: i32, carry| {
                (a.multiply_high(b) as u32).carrying_sum(c as u32, carry)
            }),
            Type::S64 => carried!(|a: i64, b: i64, c: i64, carry| {
                (a.multiply_high(b) as u64).carrying_sum(c as u64, carry)
            }),
            _ => return None,
        },
        _ => return None,
    };
    let carry_in = match form.opcode {
        _ if reads => CARRY_IN,
        Opcode::Sub => ONE_IN,
        _ => 0,
    };
    let carry_out = if writes { CARRY_OUT } else { 0 };
    Some((compiled, carry_in | carry_out))
}

/// The loop of a function of two or three values and the carry, which gives a value and a carry.
macro_rules! carried {
    (|$a:ident: $A:ty, $b:ident: $B:ty, $c:ident: $C:ty, $carry:ident| $d:expr) => {
        alu_loop!(|frame, inst, mask, ballot| {
            with_carry(frame, inst, mask, ballot, |$a: $A, $b: $B, $c: $C, $carry: bool| $d)
        })
    };
}
use carried;

#[inline(always)]
fn with_carry<A: Lane, D: Lane>(
    frame: &mut Frame,
    inst: &Inst,
    mask: u32,
    ballot: impl Fn(&super::ballot::Holds) -> u32,
    f: impl Fn(A, A, A, bool) -> (D, bool),
) {
    let (a, b) = (frame.row::<A::Word>(inst.s[0]), frame.row::<A::Word>(inst.s[1]));
    // Sums have no third operand: their function looks at none.
    let third = inst.source(2).unwrap_or(inst.s[1]);
    let c = frame.row::<A::Word>(third);
    let carry = match inst.extra & (CARRY_IN | ONE_IN) {
        0 => 0,
        CARRY_IN => frame.predicate(Slot::CARRY),
        _ => ALL,
    };
    let (mut d, mut carries) = ([D::Word::default(); LANES], [0; LANES]);
    for lane in 0..LANES {
        let (value, out) = f(A::of(a[lane]), A::of(b[lane]), A::of(c[lane]), has_lane(carry, lane));
        d[lane] = value.word();
        carries[lane] = -i32::from(out);
    }
    frame.set_row(inst.d[0], d, mask);
    if inst.extra & CARRY_OUT != 0 {
        frame.set_predicate(Slot::CARRY, ballot(&carries), mask);
    }
}

#[inline(always)]
fn clamp(sum: i64) -> i32 {
    sum.clamp(i32::MIN.into(), i32::MAX.into()) as i32
}

/// Sums with what is carried in and out.
trait Carry: Sized {
    fn carrying_sum(self, other: Self, carry: bool) -> (Self, bool);
}

macro_rules! carry {
    ($($ty:ident),*) => {$(
        impl Carry for $ty {
            #[inline(always)]
            fn carrying_sum(self, other: $ty, carry: bool) -> ($ty, bool) {
                let (sum, first) = self.overflowing_add(other);
                let (sum, second) = sum.overflowing_add(carry.into());
                (sum, first | second)
            }
        }
    )*};
}
carry!(u16, u32, u64);
