//! Reductions into a tensor (`cp.reduce.async.bulk.tensor`): what each does to an element, to the bit.
//!
//! All is as recorded on an H200, which faults on types that an operation does not take. Sums round to nearest even
//! and give the canonical NaN, binary64 excepted; the FTZ types flush what goes in and what comes out. Minimum and
//! maximum prefer a number to a NaN, and -0 is below +0.

use crate::types::Element;
use softwarp_num::{Conversion, Format, with_standard_floats};
use std::cmp::Ordering;
use std::fmt;

/// What a reduction does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// Sum; integers wrap.
    Add,
    /// Minimum.
    Min,
    /// Maximum.
    Max,
    /// One more than what was there, or 0 where that was not below the source.
    Inc,
    /// One less than what was there, or the source where that was 0 or above the source.
    Dec,
    /// Bitwise and.
    And,
    /// Bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
}

impl Operation {
    /// Every operation.
    pub const ALL: &[Operation] = &[
        Operation::Add,
        Operation::Min,
        Operation::Max,
        Operation::Inc,
        Operation::Dec,
        Operation::And,
        Operation::Or,
        Operation::Xor,
    ];

    /// What PTX calls it.
    pub const fn name(self) -> &'static str {
        match self {
            Operation::Add => "add",
            Operation::Min => "min",
            Operation::Max => "max",
            Operation::Inc => "inc",
            Operation::Dec => "dec",
            Operation::And => "and",
            Operation::Or => "or",
            Operation::Xor => "xor",
        }
    }

    /// Finds it by its name.
    pub fn from_name(name: &str) -> Option<Operation> {
        Operation::ALL.iter().copied().find(|one| one.name() == name)
    }

    /// The element types it takes.
    pub const fn elements(self) -> &'static [Element] {
        use Element::*;
        match self {
            Operation::Add => &[U32, S32, U64, F16, F32, F64, Bf16, F32Ftz, Tf32, Tf32Ftz],
            Operation::Min | Operation::Max => &[U32, S32, U64, S64, F16, Bf16],
            Operation::Inc | Operation::Dec => &[U32],
            Operation::And | Operation::Or | Operation::Xor => &[U32, S32, U64],
        }
    }

    /// Whether it takes elements of this type.
    pub fn takes(self, element: Element) -> bool {
        self.elements().contains(&element)
    }

    /// Reduces whole elements of `source` into `destination`; changes nothing if it does not take the type.
    pub fn apply(self, element: Element, destination: &mut [u8], source: &[u8]) {
        if self.takes(element) {
            with_standard_floats(|| self.apply_here(element, destination, source));
        }
    }

    fn apply_here(self, element: Element, destination: &mut [u8], source: &[u8]) {
        if self == Operation::Add
            && let Some(format) = small_float(element)
        {
            return add_small(format, destination, source);
        }
        let bytes = element.bits() as usize / 8;
        for (old, new) in destination.chunks_exact_mut(bytes).zip(source.chunks_exact(bytes)) {
            let result = self.one(element, word(old), word(new));
            old.copy_from_slice(&result.to_le_bytes()[..bytes]);
        }
    }

    fn one(self, element: Element, old: u64, new: u64) -> u64 {
        if let Some(format) = small_float(element) {
            return self.extremum(format, old, new);
        }
        match element {
            Element::F64 => double_sum(old, new),
            Element::F32 | Element::Tf32 => sum(old as u32, new as u32),
            Element::F32Ftz | Element::Tf32Ftz => flush(sum(flush(old) as u32, flush(new) as u32)),
            Element::S32 => self.integer(old, new, i64::from(old as i32), i64::from(new as i32)),
            Element::S64 => self.integer(old, new, old as i64, new as i64),
            _ => self.integer(old, new, old, new),
        }
    }

    /// `left` and `right` are what `old` and `new` compare as.
    fn integer<T: Ord>(self, old: u64, new: u64, left: T, right: T) -> u64 {
        match self {
            Operation::Add => old.wrapping_add(new),
            Operation::Min => {
                if right < left {
                    new
                } else {
                    old
                }
            }
            Operation::Max => {
                if right > left {
                    new
                } else {
                    old
                }
            }
            Operation::Inc => {
                if old >= new {
                    0
                } else {
                    old.wrapping_add(1)
                }
            }
            Operation::Dec => {
                if old == 0 || old > new {
                    new
                } else {
                    old.wrapping_sub(1)
                }
            }
            Operation::And => old & new,
            Operation::Or => old | new,
            Operation::Xor => old ^ new,
        }
    }

    /// Minimum or maximum.
    fn extremum(self, format: Format, old: u64, new: u64) -> u64 {
        let (left, right) = (format.decode(old), format.decode(new));
        match (left.is_nan(), right.is_nan()) {
            (true, true) => format.canonical_nan().unwrap_or_default(),
            (true, false) => new,
            (false, true) => old,
            (false, false) => self.integer(old, new, left.total_cmp(&right), Ordering::Equal),
        }
    }
}

/// The format of a type that is reduced by way of binary32.
fn small_float(element: Element) -> Option<Format> {
    match element {
        Element::F16 => Some(Format::F16),
        Element::Bf16 => Some(Format::Bf16),
        _ => None,
    }
}

/// Sums in binary32, rounded to the format. Rounding twice is the same as rounding once, since binary32 has more
/// than twice the digits.
fn add_small(format: Format, destination: &mut [u8], source: &[u8]) {
    const ELEMENTS: usize = 64;
    let (widen, narrow) = (Conversion::new(format, Format::F32), Conversion::new(Format::F32, format));
    let (Some(widen), Some(narrow)) = (widen.compiled(), narrow.compiled()) else { return };
    for (old, new) in destination.chunks_mut(2 * ELEMENTS).zip(source.chunks(2 * ELEMENTS)) {
        let (mut left, mut right) = ([0; 4 * ELEMENTS], [0; 4 * ELEMENTS]);
        widen.run(old, &[], &mut left);
        widen.run(new, &[], &mut right);
        for (left, right) in left.as_chunks_mut().0.iter_mut().zip(right.as_chunks().0) {
            *left = (f32::from_le_bytes(*left) + f32::from_le_bytes(*right)).to_le_bytes();
        }
        narrow.run(&left, &[], old);
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The little-endian number that up to eight bytes are.
fn word(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte))
}

/// Unlike narrower types, binary64 keeps the NaNs it is given, the source's first, bit by bit.
fn double_sum(old: u64, new: u64) -> u64 {
    let (left, right) = (f64::from_bits(old), f64::from_bits(new));
    match (left.is_nan(), right.is_nan()) {
        (_, true) => new,
        (true, false) => old,
        _ if (left + right).is_nan() => 0xfff8_0000_0000_0000,
        _ => (left + right).to_bits(),
    }
}

fn sum(left: u32, right: u32) -> u64 {
    canonical(Format::F32, u64::from((f32::from_bits(left) + f32::from_bits(right)).to_bits()))
}

/// A subnormal binary32 as a zero of its sign.
fn flush(code: u64) -> u64 {
    if code & 0x7f80_0000 == 0 { code & 0x8000_0000 } else { code }
}

/// Any NaN as the format's one NaN.
fn canonical(format: Format, code: u64) -> u64 {
    match format.canonical_nan() {
        Some(nan) if format.decode(code).is_nan() => nan,
        _ => code,
    }
}
