//! The modifiers of floating-point arithmetic, as `extra` carries them: rounding, `.ftz`, `.sat`, `.relu`, `.oob`.

use crate::alu::Inst;
use softwarp_isa::instruction::InstructionForm;
use softwarp_isa::instruction::Modifier;
use softwarp_num::Rounding;

/// Modifiers that change how a result is rounded and clamped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mode {
    /// Rounding: of those that arithmetic has, never `NearestAway` or `Stochastic`.
    pub rounding: Rounding,
    /// `.ftz`: subnormal inputs and results become zero of the same sign.
    pub ftz: bool,
    /// `.sat`: results are clamped to 0 through 1, and NaN becomes 0.
    pub sat: bool,
    /// `.relu`: negative results become 0.
    pub relu: bool,
    /// `.oob`: the result is 0 if a factor has all bits set.
    pub oob: bool,
}

impl Mode {
    /// To nearest, and nothing else.
    pub const PLAIN: Mode =
        Mode { rounding: Rounding::NearestEven, ftz: false, sat: false, relu: false, oob: false };

    const ROUNDINGS: [Rounding; 4] =
        [Rounding::NearestEven, Rounding::TowardZero, Rounding::Down, Rounding::Up];

    /// What the words of a form say.
    pub fn of_words(form: &InstructionForm) -> Mode {
        let has = |modifier| form.has(modifier);
        let rounding = match (has(Modifier::Rz), has(Modifier::Rm), has(Modifier::Rp)) {
            (true, _, _) => Rounding::TowardZero,
            (_, true, _) => Rounding::Down,
            (_, _, true) => Rounding::Up,
            _ => Rounding::NearestEven,
        };
        Mode {
            rounding,
            ftz: has(Modifier::Ftz),
            sat: has(Modifier::Sat),
            relu: has(Modifier::Relu),
            oob: has(Modifier::Oob),
        }
    }

    /// As it is in `extra`.
    pub fn packed(self) -> u32 {
        let rounding = Mode::ROUNDINGS.iter().position(|&one| one == self.rounding).unwrap_or(0) as u32;
        let flags = [self.ftz, self.sat, self.relu, self.oob];
        (0..).zip(flags).fold(rounding, |packed, (bit, flag)| packed | u32::from(flag) << (2 + bit))
    }

    /// What `extra` says.
    #[inline(always)]
    pub fn of(inst: &Inst) -> Mode {
        let flag = |bit: u32| inst.extra >> bit & 1 == 1;
        Mode {
            rounding: Mode::ROUNDINGS[(inst.extra & 3) as usize],
            ftz: flag(2),
            sat: flag(3),
            relu: flag(4),
            oob: flag(5),
        }
    }
}

/// The loop of a function of one lane and a mode: `moded!(|mode, a: f32, b: f32| …)`.
macro_rules! moded {
    (|$mode:ident, $a:ident: $A:ty| $d:expr) => {
        $crate::alu::alu_loop!(|frame, inst, mask| {
            let $mode = $crate::alu::mode::Mode::of(inst);
            $crate::alu::unary(frame, inst, mask, |$a: $A| $d)
        })
    };
    (|$mode:ident, $a:ident: $A:ty, $b:ident: $B:ty| $d:expr) => {
        $crate::alu::alu_loop!(|frame, inst, mask| {
            let $mode = $crate::alu::mode::Mode::of(inst);
            $crate::alu::binary(frame, inst, mask, |$a: $A, $b: $B| $d)
        })
    };
    (|$mode:ident, $a:ident: $A:ty, $b:ident: $B:ty, $c:ident: $C:ty| $d:expr) => {
        $crate::alu::alu_loop!(|frame, inst, mask| {
            let $mode = $crate::alu::mode::Mode::of(inst);
            $crate::alu::ternary(frame, inst, mask, |$a: $A, $b: $B, $c: $C| $d)
        })
    };
}
pub(crate) use moded;
