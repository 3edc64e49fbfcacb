//! Video instructions (PTX ISA section 9.7.18): arithmetic on bytes and halves of words, with a second operation
//! on the result. They are rare and have many forms: one loop does all scalar ones, one those on pairs, one those
//! on quads, and `extra` says what is to be done.
//!
//! New GPUs lack most of them. The code that the assembler generates instead differs from the manual, and is followed
//! here. `VideoForm::combined`, `VideoForm::merged` and `VideoForm::multiply_add` say how.
//!
//! Operands, for lowering:
//!
//! - Sources are a, b and c; without a c, the third slot is not read.
//! - Scalar instructions have their selectors in the upper half of `extra`: four bits each for d, a and b, lowest
//!   first (0 for all of the register, 1 to 4 for `.b0` to `.b3`, 5 and 6 for `.h0` and `.h1`), then a bit for each
//!   of a, b and c that is negated (`vmad`).
//! - Those on pairs and quads have theirs in a row of constants, the fourth source: a bit for each element in d's
//!   mask (0 to 3), three bits for each element of a's selector (4 to 15) and of b's (16 to 27), lowest first.
//!   [`selectors`] makes the word. Without that source all are the defaults.

use super::{AluLoops, alu_loop};
use crate::alu::Inst;
use crate::lanes::{Frame, LANES};
use softwarp_isa::Type;
use softwarp_isa::instruction::InstructionForm;
use softwarp_isa::instruction::{Modifier, Opcode};

/// The loop for a form.
pub fn select(form: &InstructionForm) -> Option<(AluLoops, u32)> {
    let compiled = match form.opcode.video_elements()? {
        2 => alu_loop!(|frame, inst, mask| packed::<2>(frame, inst, mask)),
        4 => alu_loop!(|frame, inst, mask| packed::<4>(frame, inst, mask)),
        _ => alu_loop!(|frame, inst, mask| scalar(frame, inst, mask)),
    };
    Some((compiled, VideoForm::of(operation(form)?, form)?.encoded()))
}

fn operation(form: &InstructionForm) -> Option<Operation> {
    use Opcode::*;
    Some(match form.opcode {
        Vadd | Vadd2 | Vadd4 => Operation::Add,
        Vsub | Vsub2 | Vsub4 => Operation::Sub,
        Vabsdiff | Vabsdiff2 | Vabsdiff4 => Operation::AbsDiff,
        Vmin | Vmin2 | Vmin4 => Operation::Min,
        Vmax | Vmax2 | Vmax4 => Operation::Max,
        Vavrg2 | Vavrg4 => Operation::Average,
        Vshl => Operation::ShiftLeft,
        Vshr => Operation::ShiftRight,
        Vmad => Operation::MultiplyAdd,
        Vset | Vset2 | Vset4 => return comparison(form),
        _ => return None,
    })
}

fn comparison(form: &InstructionForm) -> Option<Operation> {
    form.modifiers.iter().find_map(|modifier| {
        Some(match modifier {
            Modifier::Eq => Equal,
            Modifier::Ne => NotEqual,
            Modifier::Lt => Less,
            Modifier::Le => LessOrEqual,
            Modifier::Gt => Greater,
            Modifier::Ge => GreaterOrEqual,
            _ => return None,
        })
    })
}

/// The word of constants of an instruction on pairs or quads, from what is written after d, a and b without its
/// dot (`h10`, `b3210`); `None` if that says nothing.
pub fn selectors(elements: u32, d: Option<&str>, a: Option<&str>, b: Option<&str>) -> Option<u32> {
    let digits = |text: &str| -> Option<Vec<u32>> {
        let letter = if elements == 2 { 'h' } else { 'b' };
        text.strip_prefix(letter)?.chars().rev().map(|digit| digit.to_digit(2 * elements)).collect()
    };
    let mask = match d {
        None => (1 << elements) - 1,
        Some(text) => {
            let places = digits(text)?;
            places.iter().all(|&place| place < elements).then_some(())?;
            places.iter().fold(0, |mask, place| mask | 1 << place)
        }
    };
    let choice = |text: Option<&str>, first: u32| -> Option<u32> {
        let places = match text {
            None => (first..first + elements).collect(),
            Some(text) => digits(text)?,
        };
        let right = places.len() == elements as usize;
        right.then(|| places.iter().rev().fold(0, |word, place| word << 3 | place))
    };
    Some(mask | choice(a, 0)? << 4 | choice(b, elements)? << 16)
}

/// What the operands of a scalar video instruction select.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Selectors {
    /// The parts of d, a and b.
    pub parts: [Part; 3],
    /// Which of a, b and c are negated (`vmad`).
    pub negated: [bool; 3],
}

/// A part of a register.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Part {
    /// The whole register.
    #[default]
    All,
    /// `.b0` to `.b3`
    Byte(u8),
    /// `.h0`, `.h1`
    Half(u8),
}

impl Part {
    /// Finds a part by its selector, without the dot.
    pub fn from_name(name: &str) -> Option<Part> {
        Some(match name {
            "b0" => Part::Byte(0),
            "b1" => Part::Byte(1),
            "b2" => Part::Byte(2),
            "b3" => Part::Byte(3),
            "h0" => Part::Half(0),
            "h1" => Part::Half(1),
            _ => return None,
        })
    }

    fn packed(self) -> u32 {
        match self {
            Part::All => 0,
            Part::Byte(n) => 1 + u32::from(n & 3),
            Part::Half(n) => 5 + u32::from(n & 1),
        }
    }
}

impl Selectors {
    /// As the loop finds them in [`Inst::extra`].
    pub fn packed(self) -> u32 {
        let parts = (0..).zip(self.parts).fold(0, |word, (n, part)| word | part.packed() << (16 + 4 * n));
        (0..).zip(self.negated).fold(parts, |word, (n, negated)| word | u32::from(negated) << (28 + n))
    }
}

/// What is done with two values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operation {
    Add,
    Sub,
    AbsDiff,
    Min,
    Max,
    Average,
    ShiftLeft,
    ShiftRight,
    MultiplyAdd,
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

use Operation::*;

/// By the number that it has in `extra`.
const OPERATIONS: [Operation; 15] = [
    Add,
    Sub,
    AbsDiff,
    Min,
    Max,
    Average,
    ShiftLeft,
    ShiftRight,
    MultiplyAdd,
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
];

/// What is done with the result and c.
const SECONDARY: [Option<Operation>; 4] = [None, Some(Add), Some(Min), Some(Max)];

/// A form, as the lower half of `extra` has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct VideoForm {
    operation: Operation,
    signed_d: bool,
    signed_a: bool,
    signed_b: bool,
    saturate: bool,
    secondary: Option<Operation>,
    /// Amounts of shifts wrap rather than clamp.
    wrap: bool,
    /// `.po`: one is added.
    plus_one: bool,
    /// How far `vmad` shifts its result right.
    scale: u32,
}

impl VideoForm {
    fn of(operation: Operation, form: &InstructionForm) -> Option<VideoForm> {
        let has = |modifier| form.has(modifier);
        // Comparisons have no type of their result: a's is that of c.
        let (d, a, b) = match *form.types.as_slice() {
            [d, a, b] => (d, a, b),
            [a, b] => (a, a, b),
            _ => return None,
        };
        // `.add` and the like are the secondary operation: the first is in the opcode.
        let secondary = [(Modifier::Add, Add), (Modifier::Min, Min), (Modifier::Max, Max)];
        Some(VideoForm {
            operation,
            signed_d: d == Type::S32,
            signed_a: a == Type::S32,
            signed_b: b == Type::S32,
            saturate: has(Modifier::Sat),
            secondary: secondary.into_iter().find(|(word, _)| has(*word)).map(|(_, operation)| operation),
            wrap: has(Modifier::Wrap),
            plus_one: has(Modifier::Po),
            scale: [(Modifier::Shr7, 7), (Modifier::Shr15, 15)]
                .into_iter()
                .find(|(word, _)| has(*word))
                .map_or(0, |(_, by)| by),
        })
    }

    fn encoded(self) -> u32 {
        let secondary = SECONDARY.iter().position(|&one| one == self.secondary).unwrap_or(0) as u32;
        self.operation as u32
            | u32::from(self.signed_d) << 4
            | u32::from(self.signed_a) << 5
            | u32::from(self.signed_b) << 6
            | u32::from(self.saturate) << 7
            | secondary << 8
            | u32::from(self.wrap) << 10
            | u32::from(self.plus_one) << 11
            | self.scale << 12
    }

    fn decoded(extra: u32) -> VideoForm {
        let bit = |n: u32| extra >> n & 1 == 1;
        VideoForm {
            operation: *OPERATIONS.get((extra & 15) as usize).unwrap_or(&Add),
            signed_d: bit(4),
            signed_a: bit(5),
            signed_b: bit(6),
            saturate: bit(7),
            secondary: SECONDARY[(extra >> 8 & 3) as usize],
            wrap: bit(10),
            plus_one: bit(11),
            scale: extra >> 12 & 15,
        }
    }

    /// The operation on two values; `vmad` is [`VideoForm::multiply_add`].
    fn apply(self, a: i128, b: i128) -> i128 {
        let by = if self.wrap { b & 31 } else { b.min(32) };
        match self.operation {
            Add => a + b,
            Sub => a - b,
            AbsDiff => (a - b).abs(),
            Min => a.min(b),
            Max => a.max(b),
            // Halves are rounded away from zero.
            Average => (a + b + i128::from(a + b >= 0)) >> 1,
            ShiftLeft => a << by,
            ShiftRight => a >> by,
            MultiplyAdd => a * b,
            Equal => (a == b).into(),
            NotEqual => (a != b).into(),
            Less => (a < b).into(),
            LessOrEqual => (a <= b).into(),
            Greater => (a > b).into(),
            GreaterOrEqual => (a >= b).into(),
        }
    }

    /// `vmad`. Whole registers are signed, whatever their types; the destination's type has no effect.
    fn multiply_add(self, a: i128, b: i128, c: u32, negated: u32) -> u32 {
        let (negate_product, negate_c) = ((negated ^ negated >> 1) & 1 == 1, negated & 4 == 4);
        let product = if negate_product { -(a * b) } else { a * b };
        let c = if negate_c { -extended(c, 32, true) } else { extended(c, 32, true) };
        let sum = product + c + i128::from(self.plus_one);
        let signed = self.signed_a || self.signed_b || negate_product || negate_c;
        // An unsigned result that is scaled is shifted as one of 64 bits.
        let result =
            if signed || self.scale == 0 { sum >> self.scale } else { (sum as u64 >> self.scale).into() };
        (if self.saturate { clamped(result, 32, signed) } else { result }) as u32
    }

    /// A scalar result that becomes the whole destination, or is combined with c to be.
    fn combined(self, result: i128, c: u32) -> u32 {
        let result = match (self.saturate, self.signed_d) {
            (false, _) => result,
            (true, _) if self.shifts() => self.saturated_shift(result),
            // Unsigned sums wrap.
            (true, false) if result >= 0 => i128::from(result as u32),
            (true, signed) => clamped(result, 32, signed),
        };
        // What cannot be negative is compared as it is, and so is what was shifted left and not saturated; other
        // results as 32 bits.
        let natural = match self.operation {
            AbsDiff => true,
            ShiftLeft => !self.saturate,
            Min => !self.signed_a && !self.signed_b,
            Max => !self.signed_a || !self.signed_b,
            _ => false,
        };
        let first = match (natural, self.signed_d) {
            (true, true) => result,
            (true, false) => i128::from(result as u64),
            (false, signed) => extended(result as u32, 32, signed),
        };
        let second = extended(c, 32, self.signed_d);
        // Unsigned numbers with their top bits set are not told apart.
        let alike = !natural && !self.signed_d && first.min(second) >= 1 << 31;
        (match self.secondary {
            None => result,
            Some(Min) if alike => second,
            Some(Max) if alike => first,
            Some(Min) => first.min(second),
            Some(Max) => first.max(second),
            Some(_) => result + second,
        }) as u32
    }

    fn shifts(self) -> bool {
        matches!(self.operation, ShiftLeft | ShiftRight)
    }

    /// What was shifted, saturated to 32 bits whatever the destination; of the result, 34 bits are looked at.
    fn saturated_shift(self, result: i128) -> i128 {
        clamped(result << 94 >> 94, 32, self.signed_d)
    }

    /// A scalar result that becomes a part of c. Negative ones saturate at the top; `.h1` gets the result's own upper
    /// half. Both are not so for shifts that saturate.
    fn merged(self, result: i128, c: u32, (first, bits): (u32, u32)) -> u32 {
        let ones = (u32::MAX >> (32 - bits)) << first;
        if self.saturate && self.shifts() {
            return (self.saturated_shift(result) as u32) << first & ones | c & !ones;
        }
        let most = (1 << (bits - u32::from(self.signed_d))) - 1;
        let natural = if result < 0 { i128::from(result as u32) } else { result };
        let result = (if self.saturate { natural.min(most) } else { result }) as u32;
        let placed = if (first, bits) == (16, 16) { result } else { result << first };
        placed & ones | c & !ones
    }
}

/// The low bits as a number.
fn extended(word: u32, bits: u32, signed: bool) -> i128 {
    let top = word << (32 - bits);
    if signed { i128::from(top as i32 >> (32 - bits)) } else { i128::from(top >> (32 - bits)) }
}

/// The nearest number that a type of a given number of bits has.
fn clamped(value: i128, bits: u32, signed: bool) -> i128 {
    let ends = if signed { (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) } else { (0, (1 << bits) - 1) };
    value.clamp(ends.0, ends.1)
}

/// Where the part that a selector names begins, and its bits.
fn part(selector: u32) -> (u32, u32) {
    match selector {
        1..=4 => (8 * (selector - 1), 8),
        5 | 6 => (16 * (selector - 5), 16),
        _ => (0, 32),
    }
}

fn scalar(frame: &mut Frame, inst: &Inst, mask: u32) {
    let video = VideoForm::decoded(inst.extra);
    let [d_part, a_part, b_part] = [16, 20, 24].map(|first| part(inst.extra >> first & 15));
    let negated = inst.extra >> 28 & 7;
    let multiplies = video.operation == MultiplyAdd;
    each_lane(frame, inst, mask, |a, b, c, _| {
        let a = extended(a >> a_part.0, a_part.1, video.signed_a || multiplies && a_part.1 == 32);
        let b = extended(b >> b_part.0, b_part.1, video.signed_b || multiplies && b_part.1 == 32);
        match d_part.1 {
            _ if multiplies => video.multiply_add(a, b, c, negated),
            32 => video.combined(video.apply(a, b), c),
            _ => video.merged(video.apply(a, b), c, d_part),
        }
    });
}

fn packed<const ELEMENTS: u32>(frame: &mut Frame, inst: &Inst, mask: u32) {
    let video = VideoForm::decoded(inst.extra);
    let bits = 32 / ELEMENTS;
    let ones = u32::MAX >> (32 - bits);
    let defaults =
        if inst.source(3).is_none() { selectors(ELEMENTS, None, None, None).unwrap_or(0) } else { 0 };
    each_lane(frame, inst, mask, |a, b, c, selectors| {
        let selectors = selectors | defaults;
        let both = u64::from(b) << 32 | u64::from(a);
        let element = |first: u32, n: u32, signed: bool| {
            let place = selectors >> (first + 3 * n) & (2 * ELEMENTS - 1);
            extended((both >> (bits * place)) as u32, bits, signed)
        };
        let (mut merged, mut sum) = (c, c);
        for n in (0..ELEMENTS).filter(|n| selectors >> n & 1 == 1) {
            let result = video.apply(element(4, n, video.signed_a), element(16, n, video.signed_b));
            let result = if video.saturate { clamped(result, bits, video.signed_d) } else { result };
            merged = merged & !(ones << (bits * n)) | (result as u32 & ones) << (bits * n);
            sum = sum.wrapping_add(result as u32);
        }
        if video.secondary.is_some() { sum } else { merged }
    });
}

/// `d = f(a, b, c, selectors)`; zero stands for what has no slot.
#[inline(always)]
fn each_lane(frame: &mut Frame, inst: &Inst, mask: u32, f: impl Fn(u32, u32, u32, u32) -> u32) {
    let row = |n| inst.source(n).map_or([0; LANES], |row| frame.row::<u32>(row));
    let [a, b, c, selectors] = [0, 1, 2, 3].map(row);
    let mut d = [0; LANES];
    for lane in 0..LANES {
        d[lane] = f(a[lane], b[lane], c[lane], selectors[lane]);
    }
    frame.set_row(inst.d[0], d, mask);
}
