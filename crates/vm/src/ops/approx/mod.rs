//! Approximate functions (PTX ISA sections 9.7.3 and 9.7.4: the forms with `.approx` and `.full`).
//!
//! The manual promises bounds of errors only. These are the hardware's results to the bit, all of them: the special
//! function unit interpolates in tables, and it was possible to find the tables and how it counts.

mod functions;
mod interpolate;
mod tables;
mod wide;

pub(crate) use functions::{quotient_factors, reciprocal};

use super::Kernels;
use super::half::{Bfloat, Binary16, Half, halves};
use super::lane::each;
use super::mode::{Mode, moded};
use softwarp_isa::Type;
use softwarp_isa::instruction::Shape;

/// The loop for a form.
pub fn select(shape: &Shape) -> Option<(Kernels, u32)> {
    if !shape.words.contains(&"approx") && !shape.words.contains(&"full") {
        return None;
    }
    let kernels = match (shape.opcode, shape.types.as_slice()) {
        ("rcp", [Type::F32]) => moded!(|mode, a: f32| functions::reciprocal(a, mode.ftz)),
        ("rsqrt", [Type::F32]) => moded!(|mode, a: f32| functions::reciprocal_root(a, mode.ftz)),
        ("sqrt", [Type::F32]) => moded!(|mode, a: f32| functions::root(a, mode.ftz)),
        ("lg2", [Type::F32]) => moded!(|mode, a: f32| functions::logarithm(a, mode.ftz)),
        ("ex2", [Type::F32]) => moded!(|mode, a: f32| functions::exponential(a, mode.ftz)),
        ("sin", [Type::F32]) => moded!(|mode, a: f32| functions::sine(a, mode.ftz)),
        ("cos", [Type::F32]) => moded!(|mode, a: f32| functions::cosine(a, mode.ftz)),
        ("tanh", [Type::F32]) => each!(|a: f32| functions::tangent(a)),
        ("tanh", &[ty]) => halves!(ty, |_mode, a| H::cut(f32::from_bits(functions::tangent(H::widen(a))))),
        ("ex2", &[ty]) => {
            halves!(ty, |mode, a| H::cut(f32::from_bits(functions::exponential(H::widen(a), mode.ftz))))
        }
        ("rcp", [Type::F64]) => each!(|a: u64| wide::reciprocal(a)),
        ("rsqrt", [Type::F64]) if shape.words.contains(&"ftz") => each!(|a: u64| wide::reciprocal_root(a)),
        ("rsqrt", [Type::F64]) => each!(|a: f64| wide::refined_reciprocal_root(a)),
        ("div", [Type::F32]) if shape.words.contains(&"full") => {
            moded!(|mode, a: f32, b: f32| functions::quotient(a, b, mode.ftz, true))
        }
        ("div", [Type::F32]) => moded!(|mode, a: f32, b: f32| functions::quotient(a, b, mode.ftz, false)),
        _ => return None,
    };
    Some((kernels, Mode::of_words(shape).packed()))
}
