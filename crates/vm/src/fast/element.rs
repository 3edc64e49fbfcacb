//! Elements of an access as registers hold them.

use crate::memory::cell::Scalar;
use softwarp_ir::Element;
use softwarp_units::lanes::{Frame, LANES};

/// Writes what was loaded to a register, extended or cut to its width.
#[inline(always)]
pub(crate) fn put<T: Scalar>(
    frame: &mut Frame,
    signed: bool,
    Element { slot, bits: width }: Element,
    row: &[T; LANES],
    mask: u32,
) {
    let Some(slot) = slot else { return };
    if T::BYTES == 4 && width == 32 {
        let mut narrow = [0; LANES];
        (0..LANES).for_each(|lane| narrow[lane] = row[lane].to_word() as u32);
        return frame.set_row(slot, narrow, mask);
    }
    if T::BYTES == 8 && width == 64 {
        let mut wide = [0; LANES];
        (0..LANES).for_each(|lane| wide[lane] = row[lane].to_word());
        return frame.set_row(slot, wide, mask);
    }
    let shift = 64 - 8 * T::BYTES as u32;
    if width >= 64 {
        let mut wide = [0u64; LANES];
        for lane in 0..LANES {
            let word = row[lane].to_word();
            wide[lane] = if signed { ((word << shift) as i64 >> shift) as u64 } else { word };
        }
        frame.set_row(slot, wide, mask);
        if width >= 128 {
            let sign = if signed { wide.map(|word| (word as i64 >> 63) as u64) } else { [0; LANES] };
            frame.set_row(slot.next(), sign, mask);
        }
        return;
    }
    let keep = if width >= 32 { u32::MAX } else { (1 << width) - 1 };
    let mut narrow = [0u32; LANES];
    for lane in 0..LANES {
        let word = row[lane].to_word();
        let word = if signed { ((word << shift) as i64 >> shift) as u64 } else { word };
        narrow[lane] = word as u32 & keep;
    }
    frame.set_row(slot, narrow, mask);
}

/// The elements to be stored of a register.
#[inline(always)]
pub(crate) fn elements<T: Scalar>(frame: &Frame, Element { slot, bits }: Element) -> [T; LANES] {
    let mut row = [T::default(); LANES];
    let Some(slot) = slot else { return row };
    if bits >= 64 {
        let from = &frame.wide[slot.number() as usize].0;
        (0..LANES).for_each(|lane| row[lane] = T::from_word(from[lane]));
    } else {
        let from = &frame.narrow[slot.number() as usize].0;
        (0..LANES).for_each(|lane| row[lane] = T::from_word(from[lane].into()));
    }
    row
}
