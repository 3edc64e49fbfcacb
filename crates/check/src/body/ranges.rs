//! Constants that the assembler wants from a range, where a register could stand as well (PTX ISA sections
//! 9.7.1.19, 9.7.1.20, 9.7.9.25, 9.7.9.27, 9.7.13 and 9.7.20). Only constants are checked: the values of registers are not known.
//!
//! Ranges of operands that are always constants are in the instruction table; here are those that it has no
//! words for.

use softwarp_isa::instruction::{InstructionForm, Modifier, Opcode};

/// The values that a constant can have.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    pub least: i64,
    pub most: i64,
    pub multiple: i64,
    /// Zero is none of them, whatever the range.
    pub not_zero: bool,
    /// Only the low 32 bits count.
    low_word: bool,
    /// Only powers of two.
    pub power: bool,
}

impl Bounds {
    /// The value that counts, if it is out of bounds.
    pub fn broken_by(&self, value: i64) -> Option<i64> {
        let value = if self.low_word { i64::from(value as u32) } else { value };
        let multiple = value % self.multiple == 0 && !(self.not_zero && value == 0);
        let power = !self.power || value.count_ones() == 1;
        let fits = multiple && power && (self.least..=self.most).contains(&value);
        (!fits).then_some(value)
    }
}

const fn range(least: i64, most: i64) -> Bounds {
    Bounds { least, most, multiple: 1, not_zero: false, low_word: false, power: false }
}

/// Opcodes, a word that the mnemonic must have (any mnemonic without one), operands as the manual names them,
/// and their bounds. The first row that fits counts.
type BoundsRow = (&'static [Opcode], Option<Modifier>, &'static [&'static str], Bounds);

const BARRIERS: &[Opcode] = &[Opcode::Bar, Opcode::Barrier];
const MULTICASTS: &[Opcode] = &[Opcode::Cp, Opcode::Mbarrier, Opcode::Tcgen05];
const ALL: Bounds = range(i64::MIN, i64::MAX);

#[rustfmt::skip]
static ROWS: &[BoundsRow] = &[
    (BARRIERS,               None,                  &["a"],      Bounds { low_word: true, ..range(0, 15) }),
    (BARRIERS,               Some(Modifier::Arrive),            &["b"],      Bounds { multiple: 32, not_zero: true, ..ALL }),
    (BARRIERS,               None,                  &["b"],      Bounds { multiple: 32, ..ALL }),
    (&[Opcode::Mbarrier],          Some(Modifier::Init),              &["count"],  range(1, 0xf_ffff)),
    (&[Opcode::Mbarrier],          None,                  &["count"],  range(1, i64::MAX)),
    (&[Opcode::Mbarrier],          None,                  &["parity"], range(0, 1)),
    (&[Opcode::Bfe],               None,                  &["b", "c"], range(0, 255)),
    (&[Opcode::Bfi],               None,                  &["c", "e"], range(0, 255)),
    (&[Opcode::Pmevent],           Some(Modifier::Mask),              &["a"],      range(0, 0xffff)),
    (&[Opcode::Setmaxnreg],        None,                  &["count"],  Bounds { multiple: 8, ..range(24, 256) }),
    (&[Opcode::Cp, Opcode::Multimem],    Some(Modifier::Bulk),              &["size"],   Bounds { multiple: 16, ..range(0, 0xf_fff0) }),
    (&[Opcode::Cp],                Some(Modifier::Async),             &["src-size"], range(0, 16)),
    (&[Opcode::Cp],                Some(Modifier::Async),             &["cp-size"], Bounds { power: true, ..range(4, 16) }),
    (&[Opcode::Cp],                Some(Modifier::IgnoreOob),         &["ignoreBytesLeft", "ignoreBytesRight"], Bounds { low_word: true, ..range(0, 15) }),
    (MULTICASTS,             Some(Modifier::MulticastCluster32b), &["ctaMask"], range(0, 0xffff_ffff)),
    (MULTICASTS,             None,                  &["ctaMask"], range(0, 0xffff)),
    (&[Opcode::Alloca],            None,                  &["align"],  Bounds { power: true, low_word: true, ..range(1, 0x80_0000) }),
    (&[Opcode::St],                Some(Modifier::Bulk),              &["size"],   Bounds { multiple: 8, ..range(0, 0x100_0000) }),
    (&[Opcode::Tcgen05],           None,                  &["nCols"],  Bounds { multiple: 32, power: true, low_word: true, ..range(32, 512) }),
    (&[Opcode::Wgmma],             Some(Modifier::MmaAsync),         &["imm-scale-a", "imm-scale-b"], Bounds { not_zero: true, ..range(-1, 1) }),
    (&[Opcode::Wgmma],             Some(Modifier::MmaAsync),         &["imm-trans-a", "imm-trans-b", "scale-d"], range(0, 1)),
    (&[Opcode::Wgmma],             Some(Modifier::WaitGroup),        &["n"],      range(0, i64::MAX)),
    (&[Opcode::Fabric],            None,                  &["membermask"], range(0xffff_ffff, 0xffff_ffff)),
    (&[Opcode::Tensormap],         None,                  &["ord"],    range(0, 4)),
    (&[Opcode::Tensormap],         Some(Modifier::Elemtype),          &["b"],      range(0, 12)),
    (&[Opcode::Tensormap],         Some(Modifier::InterleaveLayout), &["b"],      range(0, 2)),
    (&[Opcode::Tensormap],         Some(Modifier::SwizzleMode),      &["b"],      range(0, 3)),
    (&[Opcode::Tensormap],         Some(Modifier::SwizzleAtomicity), &["b"],      range(0, 3)),
    (&[Opcode::Tensormap],         Some(Modifier::FillMode),         &["b"],      range(0, 1)),
];

/// The bounds of an operand of this form.
pub(super) fn of(form: &InstructionForm, operand: &str) -> Option<&'static Bounds> {
    let row = ROWS.iter().find(|(opcodes, word, operands, _)| {
        opcodes.contains(&form.opcode)
            && operands.contains(&operand)
            && word.is_none_or(|word| form.has(word))
    });
    row.map(|(.., bounds)| bounds)
}

/// The elements of the scale selectors of `mma`: the byte that holds the first scale, and the thread of each group of four.
static SCALE_IDS: [[[Bounds; 2]; 2]; 3] = [
    [[range(0, 3), range(0, 1)], [range(0, 3), range(0, 3)]],
    [
        [Bounds { multiple: 2, ..range(0, 2) }, range(0, 1)],
        [Bounds { multiple: 2, ..range(0, 2) }, range(0, 3)],
    ],
    [[range(0, 0), range(0, 1)], [range(0, 0), range(0, 3)]],
];

/// The bounds of the elements of a vector, where they have some (PTX ISA section 9.7.14.3).
pub(super) fn of_elements(form: &InstructionForm, operand: &str) -> &'static [Bounds] {
    let which = match operand {
        "id-a" => 0,
        "id-b" => 1,
        _ => return &[],
    };
    let has = |modifier| form.has(modifier);
    let scales = match (has(Modifier::ScaleVec4X), has(Modifier::KindMxf8f6f4)) {
        (true, _) => 2,
        (_, true) => 0,
        _ => 1,
    };
    &SCALE_IDS[scales][which]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_hold_for_multiples_and_low_words() {
        let threads = Bounds { multiple: 32, not_zero: true, ..ALL };
        assert_eq!([-32, 0, 31, 32].map(|value| threads.broken_by(value)), [None, Some(0), Some(31), None]);
        let number = Bounds { low_word: true, ..range(0, 15) };
        assert_eq!([15, 16, 1 << 32].map(|value| number.broken_by(value)), [None, Some(16), None]);
    }
}
