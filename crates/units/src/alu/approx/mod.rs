//! Approximate functions (PTX ISA sections 9.7.3 and 9.7.4: the forms with `.approx` and `.full`).
//!
//! The manual promises bounds of errors only. These are the hardware's results to the bit, all of them: the special
//! function unit interpolates in tables, and it was possible to find the tables and how it counts.

mod functions;
mod interpolate;
mod tables;
mod wide;

pub use functions::RANGES_OF_TANGENT;
pub(crate) use functions::{quotient_factors, reciprocal};
pub use interpolate::{Segment, Table};
pub use tables::{EXPONENTIAL, LOGARITHM, RECIPROCAL, RECIPROCAL_ROOT, ROOT, SINE, TANGENT};

use super::AluLoops;
use super::half::halves;
use super::lane::each;
use super::mode::{Mode, moded};
use softwarp_isa::Type;
use softwarp_isa::instruction::InstructionForm;
use softwarp_isa::instruction::{Modifier, Opcode};
use softwarp_num::half::{Bfloat16, Binary16, Half};

/// The loop for a form.
pub fn select(form: &InstructionForm) -> Option<(AluLoops, u32)> {
    if !form.has(Modifier::Approx) && !form.has(Modifier::Full) {
        return None;
    }
    let compiled = match (form.opcode, form.types.as_slice()) {
        (Opcode::Rcp, [Type::F32]) => moded!(|mode, a: f32| functions::reciprocal(a, mode.ftz)),
        (Opcode::Rsqrt, [Type::F32]) => moded!(|mode, a: f32| functions::reciprocal_root(a, mode.ftz)),
        (Opcode::Sqrt, [Type::F32]) => moded!(|mode, a: f32| functions::root(a, mode.ftz)),
        (Opcode::Lg2, [Type::F32]) => moded!(|mode, a: f32| functions::logarithm(a, mode.ftz)),
        (Opcode::Ex2, [Type::F32]) => moded!(|mode, a: f32| functions::exponential(a, mode.ftz)),
        (Opcode::Sin, [Type::F32]) => moded!(|mode, a: f32| functions::sine(a, mode.ftz)),
        (Opcode::Cos, [Type::F32]) => moded!(|mode, a: f32| functions::cosine(a, mode.ftz)),
        (Opcode::Tanh, [Type::F32]) => each!(|a: f32| functions::tangent(a)),
        (Opcode::Tanh, &[ty]) => {
            halves!(ty, |_mode, a| H::truncate_or_overflow(f32::from_bits(functions::tangent(H::widen(a)))))
        }
        (Opcode::Ex2, &[ty]) => {
            halves!(ty, |mode, a| H::truncate_or_overflow(f32::from_bits(functions::exponential(
                H::widen(a),
                mode.ftz
            ))))
        }
        (Opcode::Rcp, [Type::F64]) => each!(|a: u64| wide::reciprocal(a)),
        (Opcode::Rsqrt, [Type::F64]) if form.has(Modifier::Ftz) => each!(|a: u64| wide::reciprocal_root(a)),
        (Opcode::Rsqrt, [Type::F64]) => each!(|a: f64| wide::refined_reciprocal_root(a)),
        (Opcode::Div, [Type::F32]) if form.has(Modifier::Full) => {
            moded!(|mode, a: f32, b: f32| functions::quotient(a, b, mode.ftz, true))
        }
        (Opcode::Div, [Type::F32]) => {
            moded!(|mode, a: f32, b: f32| functions::quotient(a, b, mode.ftz, false))
        }
        _ => return None,
    };
    Some((compiled, Mode::of_words(form).packed()))
}
