//! The loops that lowering itself asks for: moves, packing and unpacking, extension, and arithmetic on addresses
//! (PTX ISA sections 6.4, 9.4.1 and 9.7.9).

use super::approx::quotient_factors;
use super::{Inst, Kernel, Kernels, NONE, binary, compare, kernel, unary};
use crate::lanes::{ALL, Frame, LANES};

/// What lowering itself asks for. `extra` is packed by the functions below.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Simple {
    /// A row of 32-bit words, copied.
    Move32,
    /// A row of 64-bit words, copied.
    Move64,
    /// A predicate, copied.
    MovePredicate,
    /// A predicate, inverted.
    Not,
    /// A predicate that is the same in all lanes: `extra` is 0 or 1.
    Truth,
    /// Some bits of a row of 32-bit words, in one of 32-bit words: [`bits`].
    Extract32,
    /// Some bits of a row of 64-bit words, in one of 32-bit words: [`bits`].
    Extract64,
    /// Up to four rows of 32-bit words, each a given number of bits (`extra`), into one; the first is lowest.
    Pack32,
    /// The same into a row of 64-bit words.
    Pack64,
    /// 32-bit words from the sign at some bit: [`signed`].
    Sign32,
    /// The same into a row of 64-bit words.
    Sign64,
    /// 32-bit words as 64-bit ones.
    Zero64,
    /// `a + b`
    Add32,
    /// `a + b`
    Add64,
    /// `a - b`
    Sub32,
    /// `a - b`
    Sub64,
    /// The dividend of `div.approx` or `div.full` as it is multiplied; `extra` is 1 for `.ftz` and 2 for `.full`.
    Dividend,
    /// What it is multiplied by.
    Reciprocal,
    /// Whether `a` is one of the `c` addresses from `b` on, or the predicate in the fourth source holds (if there
    /// is one). `extra` 1 inverts the result.
    Inside,
}

/// `extra` of an extraction: a given number of bits from this one on.
pub fn bits(shift: u32, count: u32) -> u32 {
    shift | count << 8
}

/// `extra` of an extension: the bits there are, and those there will be.
pub fn signed(from: u32, to: u32) -> u32 {
    from | to << 8
}

impl Simple {
    /// The loop, for this CPU.
    pub fn kernel(self) -> Kernel {
        let kernels: Kernels = match self {
            Simple::Move32 => kernel!(|frame, inst, mask| unary(frame, inst, mask, |a: u32| a)),
            Simple::Move64 => kernel!(|frame, inst, mask| unary(frame, inst, mask, |a: u64| a)),
            Simple::MovePredicate => {
                kernel!(|frame, inst, mask| frame.set_predicate(inst.d[0], frame.predicate(inst.s[0]), mask))
            }
            Simple::Not => {
                kernel!(|frame, inst, mask| frame.set_predicate(inst.d[0], !frame.predicate(inst.s[0]), mask))
            }
            Simple::Truth => kernel!(|frame, inst, mask| {
                frame.set_predicate(inst.d[0], if inst.extra == 0 { 0 } else { ALL }, mask)
            }),
            Simple::Extract32 => kernel!(|frame, inst, mask| {
                let (shift, low) = field(inst.extra);
                unary(frame, inst, mask, |a: u32| a.wrapping_shr(shift) & low)
            }),
            Simple::Extract64 => kernel!(|frame, inst, mask| {
                let (shift, low) = field(inst.extra);
                unary(frame, inst, mask, |a: u64| a.wrapping_shr(shift) as u32 & low)
            }),
            Simple::Pack32 => kernel!(|frame, inst, mask| {
                let packed = pack(frame, inst);
                frame.set_row(inst.d[0], packed.map(|word| word as u32), mask)
            }),
            Simple::Pack64 => kernel!(|frame, inst, mask| {
                let packed = pack(frame, inst);
                frame.set_row(inst.d[0], packed, mask)
            }),
            Simple::Sign32 => kernel!(|frame, inst, mask| {
                let (unused, low) = sign(inst.extra);
                unary(frame, inst, mask, |a: u32| ((a << unused) as i32 >> unused) as u32 & low)
            }),
            Simple::Sign64 => kernel!(|frame, inst, mask| {
                let (unused, _) = sign(inst.extra);
                unary(frame, inst, mask, |a: u32| i64::from((a << unused) as i32 >> unused) as u64)
            }),
            Simple::Zero64 => kernel!(|frame, inst, mask| unary(frame, inst, mask, |a: u32| u64::from(a))),
            Simple::Add32 => {
                kernel!(|frame, inst, mask| binary(frame, inst, mask, |a: u32, b: u32| a.wrapping_add(b)))
            }
            Simple::Add64 => {
                kernel!(|frame, inst, mask| binary(frame, inst, mask, |a: u64, b: u64| a.wrapping_add(b)))
            }
            Simple::Sub32 => {
                kernel!(|frame, inst, mask| binary(frame, inst, mask, |a: u32, b: u32| a.wrapping_sub(b)))
            }
            Simple::Sub64 => {
                kernel!(|frame, inst, mask| binary(frame, inst, mask, |a: u64, b: u64| a.wrapping_sub(b)))
            }
            Simple::Dividend => kernel!(|frame, inst, mask| {
                let (ftz, full) = (inst.extra & 1 != 0, inst.extra & 2 != 0);
                binary(frame, inst, mask, |a: f32, b: f32| quotient_factors(a, b, ftz, full).0)
            }),
            Simple::Reciprocal => kernel!(|frame, inst, mask| {
                let (ftz, full) = (inst.extra & 1 != 0, inst.extra & 2 != 0);
                binary(frame, inst, mask, |a: f32, b: f32| quotient_factors(a, b, ftz, full).1)
            }),
            Simple::Inside => kernel!(|frame, inst, mask| {
                let size = frame.row::<u64>(inst.s[2])[0];
                let inside = compare(frame, inst, |a: u64, base: u64| a.wrapping_sub(base) < size);
                put_inside(frame, inst, inside, mask)
            }),
        };
        kernels.best()
    }
}

#[inline(always)]
fn field(extra: u32) -> (u32, u32) {
    let count = (extra >> 8).clamp(1, 32);
    (extra & 63, u32::MAX >> (32 - count))
}

/// How many bits above the sign are unused, and the mask of those there will be.
#[inline(always)]
fn sign(extra: u32) -> (u32, u32) {
    let (from, to) = ((extra & 0xff).clamp(1, 32), (extra >> 8).clamp(1, 32));
    (32 - from, u32::MAX >> (32 - to))
}

#[inline(always)]
fn pack(frame: &Frame, inst: &Inst) -> [u64; LANES] {
    let mut packed = [0u64; LANES];
    for (n, &slot) in inst.s.iter().enumerate().filter(|&(_, &slot)| slot != NONE) {
        let part = frame.row::<u32>(slot);
        let shift = inst.extra * n as u32;
        for lane in 0..LANES {
            packed[lane] |= u64::from(part[lane]).wrapping_shl(shift);
        }
    }
    packed
}

#[inline(always)]
fn put_inside(frame: &mut Frame, inst: &Inst, inside: u32, mask: u32) {
    let also = if inst.s[3] == NONE { 0 } else { frame.predicate(inst.s[3]) };
    let result = if inst.extra == 0 { inside | also } else { !(inside | also) };
    frame.set_predicate(inst.d[0], result, mask);
}
