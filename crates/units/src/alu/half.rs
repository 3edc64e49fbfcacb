//! Half-precision arithmetic: f16 and bf16, one or two in a register (PTX ISA section 9.7.4; comparisons are in
//! `float_compare.rs`).
//!
//! Values are widened to f32. Sums and products of halves may be rounded to f32 first and to the half after: f32 is
//! wide enough that the second rounding gives the result of a single one. That does not hold for `fma`, whose first rounding is to odd.

use super::mode::{Mode, moded};
use super::single::{Choice, choose, fma_to_odd};
use super::{AluLoops, alu_loop};
use crate::alu::Inst;
use softwarp_isa::Type;
use softwarp_isa::instruction::InstructionForm;
use softwarp_isa::instruction::{Modifier, Opcode};
use softwarp_num::half::{Bfloat16, Binary16, Half};

/// Whether it is the NaN that a tensor copy leaves for elements that are out of bounds, if it was asked to.
#[inline(always)]
fn is_out_of_bounds(bits: u16) -> bool {
    bits & 0x7fff == 0x7ff7
}

/// The loop for a form.
pub fn select(form: &InstructionForm) -> Option<(AluLoops, u32)> {
    let [ty] = *form.types.as_slice() else { return None };
    let has = |modifier| form.has(modifier);
    if has(Modifier::Approx) {
        return None;
    }
    if matches!(form.opcode, Opcode::Min | Opcode::Max) {
        let ends = Ends {
            choice: Choice { max: form.opcode == Opcode::Max, nan: has(Modifier::PropagateNan) },
            ftz: has(Modifier::Ftz),
            xorsign: has(Modifier::Xorsign),
        };
        return Some((min_max(ty)?, ends.packed()));
    }
    Some((arithmetic(form.opcode, ty)?, Mode::of_words(form).packed()))
}

/// The loop of a function over one, two or three halves of a mode, by type: `halves!(ty, |mode, a, b| …)`; within,
/// `H` is the format.
macro_rules! halves {
    ($ty:expr, |$mode:ident, $($a:ident),*| $d:expr) => {
        match $ty {
            Type::F16 => $crate::alu::half::halves!(one Binary16, |$mode, $($a),*| $d),
            Type::Bf16 => $crate::alu::half::halves!(one Bfloat16, |$mode, $($a),*| $d),
            Type::F16x2 => $crate::alu::half::halves!(two Binary16, |$mode, $($a),*| $d),
            Type::Bf16x2 => $crate::alu::half::halves!(two Bfloat16, |$mode, $($a),*| $d),
            _ => return None,
        }
    };
    (one $half:ident, |$mode:ident, $($a:ident),*| $d:expr) => {
        moded!(|$mode, $($a: u16),*| {
            type H = $half;
            $d
        })
    };
    (two $half:ident, |$mode:ident, $($a:ident),*| $d:expr) => {
        moded!(|$mode, $($a: u32),*| {
            type H = $half;
            let half = |shift: u32| {
                $(let $a = ($a >> shift) as u16;)*
                let d: u16 = $d;
                u32::from(d) << shift
            };
            half(0) | half(16)
        })
    };
}
pub(super) use halves;

fn arithmetic(opcode: Opcode, ty: Type) -> Option<AluLoops> {
    Some(match opcode {
        Opcode::Add => halves!(ty, |mode, a, b| finish::<H>(wide::<H>(a, mode) + wide::<H>(b, mode), mode)),
        Opcode::Sub => halves!(ty, |mode, a, b| finish::<H>(wide::<H>(a, mode) - wide::<H>(b, mode), mode)),
        Opcode::Mul => halves!(ty, |mode, a, b| finish::<H>(wide::<H>(a, mode) * wide::<H>(b, mode), mode)),
        Opcode::Fma => halves!(ty, |mode, a, b, c| {
            let sum = fma_to_odd(wide::<H>(a, mode), wide::<H>(b, mode), wide::<H>(c, mode));
            if mode.oob && (is_out_of_bounds(a) || is_out_of_bounds(b)) { 0 } else { finish::<H>(sum, mode) }
        }),
        Opcode::Abs => halves!(ty, |mode, a| canonical::<H>(flushed::<H>(a & 0x7fff, mode.ftz))),
        Opcode::Neg => halves!(ty, |mode, a| canonical::<H>(flushed::<H>(a ^ 0x8000, mode.ftz))),
        _ => return None,
    })
}

fn min_max(ty: Type) -> Option<AluLoops> {
    macro_rules! ends {
        (one $half:ident) => {
            alu_loop!(|frame, inst, mask| {
                let ends = Ends::of(inst);
                super::binary(frame, inst, mask, |a: u16, b: u16| ends.choose::<$half>(a, b))
            })
        };
        (two $half:ident) => {
            alu_loop!(|frame, inst, mask| {
                let ends = Ends::of(inst);
                super::binary(frame, inst, mask, |a: u32, b: u32| {
                    let high = ends.choose::<$half>((a >> 16) as u16, (b >> 16) as u16);
                    u32::from(ends.choose::<$half>(a as u16, b as u16)) | u32::from(high) << 16
                })
            })
        };
    }
    Some(match ty {
        Type::F16 => ends!(one Binary16),
        Type::Bf16 => ends!(one Bfloat16),
        Type::F16x2 => ends!(two Binary16),
        Type::Bf16x2 => ends!(two Bfloat16),
        _ => return None,
    })
}

/// An input under a mode, widened.
#[inline(always)]
fn wide<H: Half>(bits: u16, mode: Mode) -> f32 {
    H::widen(flushed::<H>(bits, mode.ftz))
}

/// A result under a mode.
#[inline(always)]
fn finish<H: Half>(x: f32, mode: Mode) -> u16 {
    let mut code = flushed::<H>(H::narrow(x), mode.ftz);
    if mode.ftz && H::is_tiny(x) {
        code &= 0x8000;
    }
    let nan = code & 0x7fff > H::INFINITY;
    let positive = if code & 0x8000 != 0 { 0 } else { code };
    match (mode.sat, mode.relu) {
        (true, _) => {
            if nan {
                0
            } else {
                positive.min(H::ONE)
            }
        }
        (_, true) => positive,
        _ => code,
    }
}

/// With `ftz`, a subnormal number becomes zero of the same sign.
#[inline(always)]
pub(super) fn flushed<H: Half>(bits: u16, ftz: bool) -> u16 {
    if ftz && bits & H::INFINITY == 0 { bits & 0x8000 } else { bits }
}

/// Every NaN becomes the same one.
#[inline(always)]
fn canonical<H: Half>(bits: u16) -> u16 {
    if bits & 0x7fff > H::INFINITY { H::NAN } else { bits }
}

/// `min` and `max`: which of two numbers is taken, and what is done with them first. As in `float.rs`, `.abs` comes only with
/// `.xorsign`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Ends {
    choice: Choice,
    ftz: bool,
    xorsign: bool,
}

impl Ends {
    fn packed(self) -> u32 {
        let flags = [self.choice.max, self.choice.nan, self.ftz, self.xorsign];
        (0..).zip(flags).fold(0, |packed, (bit, flag)| packed | u32::from(flag) << bit)
    }

    #[inline(always)]
    fn of(inst: &Inst) -> Ends {
        let flag = |bit: u32| inst.extra >> bit & 1 == 1;
        Ends { choice: Choice { max: flag(0), nan: flag(1) }, ftz: flag(2), xorsign: flag(3) }
    }

    #[inline(always)]
    fn choose<H: Half>(self, a: u16, b: u16) -> u16 {
        let magnitude = if self.xorsign { 0x7fff } else { 0xffff };
        let prepared = |x: u16| H::widen(flushed::<H>(x, self.ftz) & magnitude);
        let chosen = H::narrow(f32::from_bits(choose(prepared(a), prepared(b), self.choice)));
        let sign = if self.xorsign && chosen != H::NAN { (a ^ b) & 0x8000 } else { 0 };
        chosen | sign
    }
}
