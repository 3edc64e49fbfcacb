//! Two operations in one loop: an addition and the comparison after it, as at the end of nearly every loop of a
//! program.

use super::ballot::Holds;
use super::lane::Lane;
use super::{AluLoops, alu_loop};
use crate::alu::{AluLoop, Inst};
use crate::lanes::{Frame, LANES};
use softwarp_isa::Type;
use softwarp_isa::instruction::InstructionForm;
use softwarp_isa::instruction::{Modifier, Opcode};

/// What a form is, if two of a kind can be fused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// `add`, of a given number of bits.
    Add(u32),
    /// `setp` with one result and nothing combined.
    Compare(Comparison, Type),
}

/// A comparison; its opposite is in `extra`, as of `setp` itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // The names say it.
pub enum Comparison {
    Equal,
    Less,
    LessOrEqual,
}

impl Part {
    /// The part that a form can be, if any.
    pub fn of(form: &InstructionForm) -> Option<Part> {
        let &[ty] = form.types.as_slice() else { return None };
        if !matches!(ty, Type::U32 | Type::S32 | Type::B32 | Type::U64 | Type::S64 | Type::B64) {
            return None;
        }
        match (form.opcode, form.modifiers.as_slice(), ty) {
            (Opcode::Add, [], _) => Some(Part::Add(ty.bits())),
            (Opcode::Setp, [operator], _) => {
                let comparison = match *operator {
                    Modifier::Eq | Modifier::Ne => Comparison::Equal,
                    Modifier::Lt | Modifier::Lo | Modifier::Ge | Modifier::Hs => Comparison::Less,
                    Modifier::Le | Modifier::Ls | Modifier::Gt | Modifier::Hi => Comparison::LessOrEqual,
                    _ => return None,
                };
                Some(Part::Compare(comparison, ty))
            }
            _ => None,
        }
    }
}

/// An addition and a comparison as one instruction: both without a guard, of the same width.
pub fn fuse((first, add): (Part, &Inst), (second, setp): (Part, &Inst)) -> Option<Inst> {
    let (Part::Add(bits), Part::Compare(comparison, ty)) = (first, second) else { return None };
    if bits != ty.bits() || setp.destinations != 1 {
        return None;
    }
    let alu_loop = loop_of(comparison, ty)?;
    let s = [add.s[0], add.s[1], setp.s[0], setp.s[1]];
    Some(Inst { guard: setp.guard, ..Inst::new((alu_loop, setp.extra & 1), &[add.d[0], setp.d[0]], &s) })
}

macro_rules! fused {
    (|$a:ident, $b:ident| $holds:expr, $ty:ty) => {
        alu_loop!(|frame, inst, mask, ballot| {
            let holds = add_and_hold(frame, inst, mask, |$a: $ty, $b: $ty| $holds);
            let lanes = ballot(&holds);
            frame.set_predicate(inst.d[1], if inst.extra == 1 { !lanes } else { lanes }, mask)
        })
    };
}

fn loop_of(comparison: Comparison, ty: Type) -> Option<AluLoop> {
    let compiled: AluLoops = match (comparison, ty) {
        (Comparison::Equal, Type::B32 | Type::U32 | Type::S32) => fused!(|a, b| a == b, u32),
        (Comparison::Equal, Type::B64 | Type::U64 | Type::S64) => fused!(|a, b| a == b, u64),
        (Comparison::Less, Type::U32) => fused!(|a, b| a < b, u32),
        (Comparison::Less, Type::S32) => fused!(|a, b| a < b, i32),
        (Comparison::Less, Type::U64) => fused!(|a, b| a < b, u64),
        (Comparison::Less, Type::S64) => fused!(|a, b| a < b, i64),
        (Comparison::LessOrEqual, Type::U32) => fused!(|a, b| a <= b, u32),
        (Comparison::LessOrEqual, Type::S32) => fused!(|a, b| a <= b, i32),
        (Comparison::LessOrEqual, Type::U64) => fused!(|a, b| a <= b, u64),
        (Comparison::LessOrEqual, Type::S64) => fused!(|a, b| a <= b, i64),
        _ => return None,
    };
    Some(compiled.best())
}

/// A value that can be added.
trait Sum: Lane {
    fn plus(self, other: Self) -> Self;
}

macro_rules! sum {
    ($($ty:ty),*) => {$(
        impl Sum for $ty {
            #[inline(always)]
            fn plus(self, other: $ty) -> $ty {
                self.wrapping_add(other)
            }
        }
    )*};
}

sum!(u32, i32, u64, i64);

/// Adds; then sees where the comparison holds.
#[inline(always)]
fn add_and_hold<A: Sum>(frame: &mut Frame, inst: &Inst, mask: u32, f: impl Fn(A, A) -> bool) -> Holds {
    super::binary(frame, inst, mask, |a: A, b: A| a.plus(b));
    let (a, b) = (frame.row::<A::Word>(inst.s[2]), frame.row::<A::Word>(inst.s[3]));
    let mut holds = [0; LANES];
    for lane in 0..LANES {
        holds[lane] = -i32::from(f(A::of(a[lane]), A::of(b[lane])));
    }
    holds
}
