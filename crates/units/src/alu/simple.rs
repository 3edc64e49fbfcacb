//! The loops that lowering itself asks for: moves, packing and unpacking, extension, and arithmetic on addresses
//! (PTX ISA sections 6.4, 9.4.1 and 9.7.9).

use super::approx::quotient_factors;
use super::{AluLoop, AluLoops, Inst, alu_loop, binary, compare, unary};
use crate::lanes::{ALL, Frame, LANES};
use std::fmt;

/// An operation that lowering itself asks for.
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
    /// A predicate that is the same in all lanes.
    Truth(bool),
    /// Some bits of a row of 32-bit words, in one of 32-bit words.
    Extract32(Field),
    /// Some bits of a row of 64-bit words, in one of 32-bit words.
    Extract64(Field),
    /// Up to four rows of 32-bit words, each of this many bits, into one; the first is lowest.
    Pack32(u32),
    /// Up to four rows of 32-bit words, each of this many bits, into a row of 64-bit words.
    Pack64(u32),
    /// Sign extension within 32-bit words.
    Sign32(Extension),
    /// Sign extension of 32-bit words to 64-bit words.
    Sign64(Extension),
    /// Zero extension of 32-bit words to 64-bit words.
    Zero64,
    /// `a + b`, of 32-bit words.
    Add32,
    /// `a + b`, of 64-bit words.
    Add64,
    /// `a - b`, of 32-bit words.
    Sub32,
    /// `a - b`, of 64-bit words.
    Sub64,
    /// The dividend of `div.approx` or `div.full` as it is multiplied.
    Dividend(Quotient),
    /// What the dividend is multiplied by.
    Reciprocal(Quotient),
    /// Whether `a` is one of the `c` addresses from `b` on, or the predicate in the fourth source holds (if there
    /// is one).
    Inside {
        /// The result is inverted.
        inverted: bool,
    },
}

impl fmt::Display for Simple {
    /// Its name and parameters: `extract.b32 8..16`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let field = |field: &Field| format!("{}..{}", field.shift, field.shift + field.bits);
        match self {
            Simple::Move32 => f.write_str("copy.b32"),
            Simple::Move64 => f.write_str("copy.b64"),
            Simple::MovePredicate => f.write_str("copy.pred"),
            Simple::Not => f.write_str("not.pred"),
            Simple::Truth(holds) => write!(f, "{holds}"),
            Simple::Extract32(bits) => write!(f, "extract.b32 {}", field(bits)),
            Simple::Extract64(bits) => write!(f, "extract.b64 {}", field(bits)),
            Simple::Pack32(bits) => write!(f, "pack.b32 {bits}"),
            Simple::Pack64(bits) => write!(f, "pack.b64 {bits}"),
            Simple::Sign32(of) => write!(f, "sext.b32 {} to {}", of.from, of.to),
            Simple::Sign64(of) => write!(f, "sext.b64 {}", of.from),
            Simple::Zero64 => f.write_str("zext.b64"),
            Simple::Add32 => f.write_str("add.b32"),
            Simple::Add64 => f.write_str("add.b64"),
            Simple::Sub32 => f.write_str("sub.b32"),
            Simple::Sub64 => f.write_str("sub.b64"),
            Simple::Dividend(of) => write!(f, "div.dividend{of}"),
            Simple::Reciprocal(of) => write!(f, "div.reciprocal{of}"),
            Simple::Inside { inverted: false } => f.write_str("is_inside"),
            Simple::Inside { inverted: true } => f.write_str("is_outside"),
        }
    }
}

/// A bit field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Field {
    /// The lowest bit.
    pub shift: u32,
    /// How many bits.
    pub bits: u32,
}

/// A sign extension.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Extension {
    /// Bits of the source.
    pub from: u32,
    /// Bits of the result.
    pub to: u32,
}

/// How a quotient is approximated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Quotient {
    /// `.ftz`
    pub ftz: bool,
    /// `.full`
    pub full: bool,
}

impl fmt::Display for Quotient {
    /// Its modifiers: `.full.ftz`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.full { ".full" } else { "" })?;
        f.write_str(if self.ftz { ".ftz" } else { "" })
    }
}

impl Quotient {
    fn packed(self) -> u32 {
        u32::from(self.ftz) | u32::from(self.full) << 1
    }

    #[inline(always)]
    fn of(extra: u32) -> Quotient {
        Quotient { ftz: extra & 1 != 0, full: extra & 2 != 0 }
    }
}

impl Simple {
    /// What the loop finds in [`Inst::extra`].
    fn packed(self) -> u32 {
        match self {
            Simple::Truth(holds) => holds.into(),
            Simple::Extract32(field) | Simple::Extract64(field) => field.shift | field.bits << 8,
            Simple::Pack32(bits) | Simple::Pack64(bits) => bits,
            Simple::Sign32(extension) | Simple::Sign64(extension) => extension.from | extension.to << 8,
            Simple::Dividend(quotient) | Simple::Reciprocal(quotient) => quotient.packed(),
            Simple::Inside { inverted } => inverted.into(),
            _ => 0,
        }
    }

    /// The loop, for this CPU, and what it finds in [`Inst::extra`].
    pub fn bind(self) -> (AluLoop, u32) {
        (self.compiled().best(), self.packed())
    }

    fn compiled(self) -> AluLoops {
        match self {
            Simple::Move32 => alu_loop!(|frame, inst, mask| unary(frame, inst, mask, |a: u32| a)),
            Simple::Move64 => alu_loop!(|frame, inst, mask| unary(frame, inst, mask, |a: u64| a)),
            Simple::MovePredicate => {
                alu_loop!(|frame, inst, mask| frame.set_predicate(
                    inst.d[0],
                    frame.predicate(inst.s[0]),
                    mask
                ))
            }
            Simple::Not => {
                alu_loop!(|frame, inst, mask| frame.set_predicate(
                    inst.d[0],
                    !frame.predicate(inst.s[0]),
                    mask
                ))
            }
            Simple::Truth(_) => alu_loop!(|frame, inst, mask| {
                frame.set_predicate(inst.d[0], if inst.extra == 0 { 0 } else { ALL }, mask)
            }),
            Simple::Extract32(_) => alu_loop!(|frame, inst, mask| {
                let (shift, low) = field(inst.extra);
                unary(frame, inst, mask, |a: u32| a.wrapping_shr(shift) & low)
            }),
            Simple::Extract64(_) => alu_loop!(|frame, inst, mask| {
                let (shift, low) = field(inst.extra);
                unary(frame, inst, mask, |a: u64| a.wrapping_shr(shift) as u32 & low)
            }),
            Simple::Pack32(_) => alu_loop!(|frame, inst, mask| {
                let packed = pack(frame, inst);
                frame.set_row(inst.d[0], packed.map(|word| word as u32), mask)
            }),
            Simple::Pack64(_) => alu_loop!(|frame, inst, mask| {
                let packed = pack(frame, inst);
                frame.set_row(inst.d[0], packed, mask)
            }),
            Simple::Sign32(_) => alu_loop!(|frame, inst, mask| {
                let (unused, low) = sign(inst.extra);
                unary(frame, inst, mask, |a: u32| ((a << unused) as i32 >> unused) as u32 & low)
            }),
            Simple::Sign64(_) => alu_loop!(|frame, inst, mask| {
                let (unused, _) = sign(inst.extra);
                unary(frame, inst, mask, |a: u32| i64::from((a << unused) as i32 >> unused) as u64)
            }),
            Simple::Zero64 => alu_loop!(|frame, inst, mask| unary(frame, inst, mask, |a: u32| u64::from(a))),
            Simple::Add32 => {
                alu_loop!(|frame, inst, mask| binary(frame, inst, mask, |a: u32, b: u32| a.wrapping_add(b)))
            }
            Simple::Add64 => {
                alu_loop!(|frame, inst, mask| binary(frame, inst, mask, |a: u64, b: u64| a.wrapping_add(b)))
            }
            Simple::Sub32 => {
                alu_loop!(|frame, inst, mask| binary(frame, inst, mask, |a: u32, b: u32| a.wrapping_sub(b)))
            }
            Simple::Sub64 => {
                alu_loop!(|frame, inst, mask| binary(frame, inst, mask, |a: u64, b: u64| a.wrapping_sub(b)))
            }
            Simple::Dividend(_) => alu_loop!(|frame, inst, mask| {
                let Quotient { ftz, full } = Quotient::of(inst.extra);
                binary(frame, inst, mask, |a: f32, b: f32| quotient_factors(a, b, ftz, full).0)
            }),
            Simple::Reciprocal(_) => alu_loop!(|frame, inst, mask| {
                let Quotient { ftz, full } = Quotient::of(inst.extra);
                binary(frame, inst, mask, |a: f32, b: f32| quotient_factors(a, b, ftz, full).1)
            }),
            Simple::Inside { .. } => alu_loop!(|frame, inst, mask| {
                let size = frame.row::<u64>(inst.s[2])[0];
                let inside = compare(frame, inst, |a: u64, base: u64| a.wrapping_sub(base) < size);
                put_inside(frame, inst, inside, mask)
            }),
        }
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
    for (n, &slot) in inst.s.iter().enumerate().take(usize::from(inst.sources)) {
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
    let also = inst.source(3).map_or(0, |row| frame.predicate(row));
    let result = if inst.extra == 0 { inside | also } else { !(inside | also) };
    frame.set_predicate(inst.d[0], result, mask);
}
