//! Whole instructions: `cvt` on registers of one, two or four elements, and `cvt.pack`.
//!
//! PTX ISA, `cvt` and `cvt.pack` in 9.7: which part of which register each element comes from, which
//! random bits or scale it gets, and where it goes.

use crate::path::{int_range, int_value};
use crate::{Conversion, ConversionLoop, Format, Packed, Rounding, Scaling};

/// What a `cvt` instruction does with its registers: one [`Conversion`] per element, and where the
/// elements come from and go.
///
/// The destination is one register of `lanes` elements. With `packed_source` the source is one too;
/// otherwise there are `lanes` source registers, the first of which (PTX's `a`) becomes the highest
/// element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Cvt {
    /// What happens to each element.
    pub element: Conversion,
    /// Elements converted: 1, 2 or 4.
    pub lanes: u8,
    /// Whether the source elements share one register.
    pub packed_source: bool,
    /// Whether one scale serves all elements (`n1`) or each has its own (`n2`).
    pub shared_scale: bool,
}

/// The registers that a [`Cvt`] reads, beyond the sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Extra {
    /// The random bits of `.rs`.
    pub rbits: u32,
    /// The ue8m0 scale, or two of them.
    pub scale: u16,
}

impl Default for Extra {
    /// No random bits, and scales of one.
    fn default() -> Extra {
        Extra { rbits: 0, scale: 0x7f7f }
    }
}

impl Cvt {
    /// The layout of the destination.
    pub const fn dst(self) -> Packed {
        Packed { element: self.element.dst, lanes: self.lanes }
    }

    /// The layout of each source register.
    pub const fn src(self) -> Packed {
        Packed { element: self.element.src, lanes: if self.packed_source { self.lanes } else { 1 } }
    }

    /// How many source registers it reads.
    pub const fn sources(self) -> usize {
        if self.packed_source { 1 } else { self.lanes as usize }
    }

    /// The loops that convert its elements; `None` if there is no such conversion.
    pub fn compiled(self) -> Option<ConversionLoop> {
        self.element.compiled()
    }

    /// The code that goes into `lane` (0 is the lowest) before it is converted.
    pub fn source_code(self, sources: &[u64], lane: u32) -> u64 {
        if self.packed_source {
            self.src().get(sources.first().copied().unwrap_or(0), lane)
        } else {
            let register = u32::from(self.lanes) - 1 - lane;
            sources.get(register as usize).copied().unwrap_or(0) & self.element.src.mask()
        }
    }

    /// The random bits or scale that `lane` (0 is the lowest) gets.
    pub fn lane_extra(self, extra: Extra, lane: u32) -> u32 {
        if matches!(self.element.scaling, Scaling::None) {
            return match self.element.rounding {
                Rounding::Stochastic => lane_random(self.dst(), extra.rbits, lane),
                _ => 0,
            };
        }
        let shift = if self.shared_scale { 0 } else { 8 * lane };
        u32::from(extra.scale) >> shift & 0xff
    }

    /// What the instruction leaves in a destination register of its own width.
    ///
    /// `sources` are the source registers in PTX's order; bits above each source's width are ignored.
    /// `None` if there is no such conversion.
    pub fn eval(self, sources: &[u64], extra: Extra) -> Option<u64> {
        let compiled = self.compiled()?;
        let mut codes = [0; 4];
        for (lane, code) in (0..u32::from(self.lanes)).zip(&mut codes) {
            *code = compiled.one(self.source_code(sources, lane), self.lane_extra(extra, lane));
        }
        Some(self.dst().join(&codes[..usize::from(self.lanes).min(4)]))
    }
}

/// The random bits of one element under `.rs`.
///
/// Two elements get a half of `rbits` each. Four share: the two upper elements the upper half (FP4: the
/// upper bytes of both halves), the two lower ones the lower, the first of each two reading its 16 bits in
/// reverse. How two elements share 16 bits is from a third party's observation, not from the manual.
fn lane_random(dst: Packed, rbits: u32, lane: u32) -> u32 {
    if dst.lanes < 4 {
        return rbits >> (16 * lane) & 0xffff;
    }
    let pair = lane / 2;
    let field = match dst.element {
        Format::E2m1 => {
            let bytes = rbits >> (8 * pair);
            bytes >> 8 & 0xff00 | bytes & 0xff
        }
        _ => rbits >> (16 * pair),
    } as u16;
    u32::from(if lane % 2 == 1 { field.reverse_bits() } else { field })
}

/// Fills a register wider than the result's format, as loads and conversions do: by sign for signed
/// integers, by zeros for everything else.
pub fn extend(format: Format, code: u64, register_bits: u32) -> u64 {
    let filled = if format.is_int() { int_value(format, code) as u64 } else { code & format.mask() };
    filled & (u64::MAX >> 64u32.saturating_sub(register_bits).min(63))
}

/// `cvt.pack.sat`: `a` and `b` clamped to `to`, `b` in the lowest bits, `a` above it, and for formats of
/// at most 8 bits `c` moved up over both.
pub fn pack(to: Format, a: i32, b: i32, c: Option<u32>) -> u32 {
    let width = to.bits();
    let (low, high) = int_range(to);
    let clamp = |n: i32| (i64::from(n).clamp(low, high) as u64 & to.mask()) as u32;
    let pair = clamp(b) | clamp(a) << width;
    c.map_or(pair, |c| c.checked_shl(2 * width).unwrap_or(0) | pair)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Saturation;

    const NARROW: Conversion = Conversion::new(Format::F32, Format::E4m3).with_saturation(Saturation::Finite);

    fn bits(x: f32) -> u64 {
        x.to_bits().into()
    }

    #[test]
    fn a_goes_to_the_high_element() {
        let cvt = Cvt { element: NARROW, lanes: 2, packed_source: false, shared_scale: false };
        assert_eq!(cvt.eval(&[bits(1.0), bits(-2.0)], Extra::default()), Some(0x38c0));
    }

    #[test]
    fn four_elements_go_from_the_top() {
        let element = Conversion { rounding: Rounding::Stochastic, dst: Format::E2m1, ..NARROW };
        let cvt = Cvt { element, lanes: 4, packed_source: false, shared_scale: false };
        let sources = [1.0, 2.0, 3.0, 4.0].map(bits);
        assert_eq!(cvt.eval(&sources, Extra::default()), Some(0x2456));
    }

    #[test]
    fn each_lane_gets_its_random_bits() {
        let of = |element, lanes, lane| lane_random(Packed { element, lanes }, 0x8123_4567, lane);
        assert_eq!([1, 0].map(|lane| of(Format::Bf16, 2, lane)), [0x8123, 0x4567]);
        assert_eq!([3, 2, 1, 0].map(|lane| of(Format::E4m3, 4, lane)), [0xc481, 0x8123, 0xe6a2, 0x4567]);
        assert_eq!([3, 2, 1, 0].map(|lane| of(Format::E2m1, 4, lane)), [0xa281, 0x8145, 0xe6c4, 0x2367]);
    }

    #[test]
    fn signed_integers_fill_a_wider_register_by_sign() {
        assert_eq!(extend(Format::S8, 0x80, 32), 0xffff_ff80);
        assert_eq!(extend(Format::U8, 0x80, 32), 0x80);
        assert_eq!(extend(Format::F16, 0x8000, 32), 0x8000);
        assert_eq!(extend(Format::S64, 1 << 63, 64), 1 << 63);
    }

    #[test]
    fn pack_clamps_both_ways_and_shifts_c_up() {
        assert_eq!(pack(Format::U8, 300, -1, Some(0xabcd_1234)), 0x1234_ff00);
        assert_eq!(pack(Format::S8, -200, 127, Some(0)), 0x0000_807f);
        assert_eq!(pack(Format::S16, -40000, 40000, None), 0x8000_7fff);
        assert_eq!(pack(Format::U16, -1, 70000, None), 0x0000_ffff);
        assert_eq!(pack(Format::S4, -9, 7, Some(0x1)), 0x187);
        assert_eq!(pack(Format::U2, 9, 2, Some(0xffff_ffff)), 0xffff_fffe);
        assert_eq!(pack(Format::S2, -3, 1, Some(3)), 0x39);
    }

    #[test]
    fn pack_works_step_by_step() {
        let first = pack(Format::U8, 1, 2, Some(0));
        assert_eq!(pack(Format::U8, 3, 4, Some(first)), 0x0102_0304);
    }
}
