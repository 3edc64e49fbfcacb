//! Floating-point arithmetic in f32 (PTX ISA section 9.7.3, and the mixed forms of 9.7.5). The approximate functions
//! are in `approx/`.
//!
//! Rounding to nearest, plain or with `.ftz`, has loops of its own: they are what programs consist of. All other
//! combinations of modifiers share one, which reads them from `extra`.

use super::lane::each;
use super::mode::{Mode, moded};
use super::single::{self, Choice, UP, bits, choose, flush, flush_bits, input, output, output_of_product};
use super::{AluLoops, alu_loop};
use crate::alu::Inst;
use crate::lanes::{Frame, LANES};
use softwarp_isa::Type;
use softwarp_isa::instruction::InstructionForm;
use softwarp_isa::instruction::{Modifier, Opcode};
use softwarp_num::Rounding;
use softwarp_num::half::{Bfloat16, Binary16, Half};

/// The loops of arithmetic in f32 with operands in a half precision.
macro_rules! mixed {
    ($half:ident, $opcode:expr) => {
        match $opcode {
            Opcode::Add => {
                moded!(|mode, a: u16, c: f32| output(single::add($half::widen(a), c, mode.rounding), mode))
            }
            Opcode::Sub => {
                moded!(|mode, a: u16, c: f32| output(single::add($half::widen(a), -c, mode.rounding), mode))
            }
            Opcode::Fma => moded!(|mode, a: u16, b: u16, c: f32| {
                output(single::fma($half::widen(a), $half::widen(b), c, mode.rounding), mode)
            }),
            _ => return None,
        }
    };
}

/// The loop for a form.
pub fn select(form: &InstructionForm) -> Option<(AluLoops, u32)> {
    let has = |modifier| form.has(modifier);
    let mode = Mode::of_words(form);
    let compiled = match form.types.as_slice() {
        [Type::F32] if has(Modifier::Approx) || has(Modifier::Full) => return None,
        [Type::F32] if matches!(form.opcode, Opcode::Min | Opcode::Max) => return min_max(form),
        [Type::F32] => single_loops(form, mode)?,
        [Type::F32x2] => paired_loops(form.opcode)?,
        [Type::F32, Type::F16] => mixed!(Binary16, form.opcode),
        [Type::F32, Type::Bf16] => mixed!(Bfloat16, form.opcode),
        _ => return None,
    };
    let extra = if form.opcode == Opcode::Testp { Property::of_words(form) as u32 } else { mode.packed() };
    Some((compiled, extra))
}

/// The loops of an operation: to nearest, the same with `.ftz`, and with any mode.
macro_rules! roundings {
    ($mode:expr, |$($a:ident),*| $nearest:expr, |$rounding:ident| $rounded:expr) => {
        match $mode {
            Mode::PLAIN => each!(|$($a: f32),*| bits($nearest)),
            Mode { ftz: true, sat: false, rounding: Rounding::NearestEven, .. } => each!(|$($a: f32),*| {
                $(let $a = flush($a);)*
                flush_bits(bits($nearest))
            }),
            _ => moded!(|mode, $($a: f32),*| {
                $(let $a = input($a, mode);)*
                let $rounding = mode.rounding;
                output($rounded, mode)
            }),
        }
    };
}

/// The rows of sources, by name.
macro_rules! rows {
    ($frame:expr, $inst:expr, |$a:ident|) => {
        let $a = $frame.row::<u32>($inst.s[0]);
    };
    ($frame:expr, $inst:expr, |$a:ident, $b:ident|) => {
        let ($a, $b) = ($frame.row::<u32>($inst.s[0]), $frame.row::<u32>($inst.s[1]));
    };
    ($frame:expr, $inst:expr, |$a:ident, $b:ident, $c:ident|) => {
        rows!($frame, $inst, |$a, $b|);
        let $c = $frame.row::<u32>($inst.s[2]);
    };
}

/// The same for operations whose result can be a subnormal number before it is rounded and a normal one after.
macro_rules! products {
    ($mode:expr, |$($a:ident),*| $nearest:expr, |$rounding:ident, $up:ident| $rounded:expr) => {
        match $mode {
            Mode::PLAIN => each!(|$($a: f32),*| bits($nearest)),
            Mode { ftz: true, sat: false, rounding: Rounding::NearestEven, .. } => alu_loop!(|frame, inst, mask| {
                rows!(frame, inst, |$($a),*|);
                let mut d = [0; LANES];
                for lane in 0..LANES {
                    $(let $a = flush(f32::from_bits($a[lane]));)*
                    d[lane] = flush_bits(bits($nearest));
                }
                // Rarely does a result need a second look.
                if d.iter().fold(false, |found, d| found | (d << 1 == 0x0100_0000)) {
                    for lane in 0..LANES {
                        $(let $a = flush(f32::from_bits($a[lane]));)*
                        let at = |$up: f32| { let $rounding = Rounding::NearestEven; $rounded };
                        d[lane] = output_of_product(at(1.0), || at(UP), Mode { ftz: true, ..Mode::PLAIN });
                    }
                }
                frame.set_row(inst.d[0], d, mask)
            }),
            _ => moded!(|mode, $($a: f32),*| {
                $(let $a = input($a, mode);)*
                let at = |$up: f32| { let $rounding = mode.rounding; $rounded };
                output_of_product(at(1.0), || at(UP), mode)
            }),
        }
    };
}

fn single_loops(form: &InstructionForm, mode: Mode) -> Option<AluLoops> {
    Some(match form.opcode {
        Opcode::Add => roundings!(mode, |a, b| a + b, |rounding| single::add(a, b, rounding)),
        Opcode::Sub => roundings!(mode, |a, b| a - b, |rounding| single::add(a, -b, rounding)),
        Opcode::Mul => products!(mode, |a, b| a * b, |rounding, up| single::mul(a * up, b, rounding)),
        Opcode::Fma | Opcode::Mad => products!(mode, |a, b, c| a.mul_add(b, c), |rounding, up| {
            single::fma(a * up, b, c * up, rounding)
        }),
        Opcode::Div => products!(mode, |a, b| a / b, |rounding, up| single::div(a * up, b, rounding)),
        Opcode::Rcp => products!(mode, |a| 1.0 / a, |rounding, up| single::div(up, a, rounding)),
        Opcode::Sqrt => roundings!(mode, |a| a.sqrt(), |rounding| single::sqrt(a, rounding)),
        Opcode::Abs => moded!(|mode, a: f32| output(a.abs(), mode)),
        Opcode::Neg => moded!(|mode, a: f32| output(-a, mode)),
        Opcode::Copysign => each!(|a: u32, b: u32| a & 0x8000_0000 | b & 0x7fff_ffff),
        Opcode::Testp => alu_loop!(|frame, inst, mask, ballot| {
            let a = frame.row::<u32>(inst.s[0]);
            let property = Property::of(inst);
            let mut holds = [0; LANES];
            for lane in 0..LANES {
                holds[lane] = -i32::from(property.holds(f32::from_bits(a[lane]).classify()));
            }
            frame.set_predicate(inst.d[0], ballot(&holds), mask)
        }),
        _ => return None,
    })
}

/// What `testp` asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Property {
    Finite,
    Infinite,
    Number,
    NotANumber,
    Normal,
    Subnormal,
}

impl Property {
    const ALL: [(Modifier, Property); 6] = [
        (Modifier::Finite, Property::Finite),
        (Modifier::Infinite, Property::Infinite),
        (Modifier::Number, Property::Number),
        (Modifier::Notanumber, Property::NotANumber),
        (Modifier::Normal, Property::Normal),
        (Modifier::Subnormal, Property::Subnormal),
    ];

    /// What a form says; one that says nothing asks for normal numbers, as the hardware has it.
    pub(super) fn of_words(form: &InstructionForm) -> Property {
        let named = |(word, _): &&(Modifier, Property)| form.has(*word);
        Property::ALL.iter().find(named).map_or(Property::Normal, |&(_, property)| property)
    }

    /// What `extra` says.
    #[inline(always)]
    pub(super) fn of(inst: &Inst) -> Property {
        Property::ALL[(inst.extra & 0xffff) as usize % Property::ALL.len()].1
    }

    /// Whether a number of that kind has it. Zero counts as normal and not as subnormal.
    #[inline(always)]
    pub(super) fn holds(self, kind: std::num::FpCategory) -> bool {
        use std::num::FpCategory::{Infinite, Nan, Normal, Subnormal, Zero};
        match self {
            Property::Finite => !matches!(kind, Nan | Infinite),
            Property::Infinite => kind == Infinite,
            Property::Number => kind != Nan,
            Property::NotANumber => kind == Nan,
            Property::Normal => matches!(kind, Normal | Zero),
            Property::Subnormal => kind == Subnormal,
        }
    }
}

/// `min` and `max`. What `extra` holds is [`Ends`].
fn min_max(form: &InstructionForm) -> Option<(AluLoops, u32)> {
    let has = |modifier| form.has(modifier);
    let ends = Ends {
        choice: Choice { max: form.opcode == Opcode::Max, nan: has(Modifier::PropagateNan) },
        ftz: has(Modifier::Ftz),
        abs: has(Modifier::Abs),
        xorsign: has(Modifier::Xorsign),
    };
    let plain = !(ends.choice.nan || ends.ftz || ends.abs);
    let compiled = match (plain, ends.choice.max) {
        (true, false) => alu_loop!(|frame, inst, mask| choose_rows(frame, inst, mask, Ends::MIN)),
        (true, true) => alu_loop!(|frame, inst, mask| choose_rows(frame, inst, mask, Ends::MAX)),
        (false, _) => alu_loop!(|frame, inst, mask| choose_rows(frame, inst, mask, Ends::of(inst))),
    };
    Some((compiled, ends.packed()))
}

/// The one of two rows, or of three if there is a third source.
#[inline(always)]
fn choose_rows(frame: &mut Frame, inst: &Inst, mask: u32, ends: Ends) {
    if inst.sources < 3 {
        return super::binary(frame, inst, mask, |a: f32, b: f32| ends.choose(a, b));
    }
    super::ternary(frame, inst, mask, |a: f32, b: f32, c: f32| {
        ends.choose(f32::from_bits(ends.choose(a, b)), c)
    });
}

/// `min` and `max`: which of two numbers is taken, and what is done with them first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Ends {
    choice: Choice,
    /// `.ftz`
    ftz: bool,
    /// `.abs`: magnitudes are compared.
    abs: bool,
    /// `.xorsign`: the result's sign is the product's.
    xorsign: bool,
}

impl Ends {
    const MIN: Ends =
        Ends { choice: Choice { max: false, nan: false }, ftz: false, abs: false, xorsign: false };
    const MAX: Ends = Ends { choice: Choice { max: true, nan: false }, ..Ends::MIN };

    fn packed(self) -> u32 {
        let flags = [self.choice.max, self.choice.nan, self.ftz, self.abs, self.xorsign];
        (0..).zip(flags).fold(0, |packed, (bit, flag)| packed | u32::from(flag) << bit)
    }

    #[inline(always)]
    fn of(inst: &Inst) -> Ends {
        let flag = |bit: u32| inst.extra >> bit & 1 == 1;
        Ends { choice: Choice { max: flag(0), nan: flag(1) }, ftz: flag(2), abs: flag(3), xorsign: flag(4) }
    }

    #[inline(always)]
    fn choose(self, a: f32, b: f32) -> u32 {
        let prepared = |x: f32| {
            let x = if self.ftz { flush(x) } else { x };
            if self.abs { x.abs() } else { x }
        };
        let chosen = choose(prepared(a), prepared(b), self.choice);
        let sign = (a.to_bits() ^ b.to_bits()) & 0x8000_0000;
        if self.xorsign && !f32::from_bits(chosen).is_nan() { chosen | sign } else { chosen }
    }
}

/// Two f32 in one register.
fn paired_loops(opcode: Opcode) -> Option<AluLoops> {
    Some(match opcode {
        Opcode::Add => {
            moded!(|mode, a: u64, b: u64| paired(a, b, 0, mode, |a, b, _| single::add(a, b, mode.rounding)))
        }
        Opcode::Sub => {
            moded!(|mode, a: u64, b: u64| paired(a, b, 0, mode, |a, b, _| single::add(a, -b, mode.rounding)))
        }
        Opcode::Mul => {
            moded!(|mode, a: u64, b: u64| paired(a, b, 0, mode, |a, b, _| single::mul(a, b, mode.rounding)))
        }
        Opcode::Fma => moded!(|mode, a: u64, b: u64, c: u64| {
            paired(a, b, c, mode, |a, b, c| single::fma(a, b, c, mode.rounding))
        }),
        _ => return None,
    })
}

#[inline(always)]
fn paired(a: u64, b: u64, c: u64, mode: Mode, f: impl Fn(f32, f32, f32) -> f32) -> u64 {
    let half = |shift: u32| {
        let [a, b, c] = [a, b, c].map(|x| input(f32::from_bits((x >> shift) as u32), mode));
        u64::from(output_of_product(f(a, b, c), || f(a * UP, b, c * UP), mode)) << shift
    };
    half(0) | half(32)
}
