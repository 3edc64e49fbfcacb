//! Surfaces (PTX ISA section 9.7.11): the places of accesses, and formatted stores.

use super::array::Array;
use super::format::Channel;

pub use softwarp_units::texture::Clamp;

/// The place of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spot {
    /// The offset of its first byte.
    At(u64),
    /// It is outside of the surface.
    Outside,
    /// The offset is not a multiple of the access's size.
    Misaligned,
}

impl Array {
    /// The place of an access of a given number of bytes: x in bytes, y, and the slice.
    #[inline(always)]
    pub fn spot(&self, x: i32, y: i32, slice: i32, bytes: u32, clamp: Clamp) -> Spot {
        let Some(level) = self.levels.first() else { return Spot::Outside };
        let row = level.size[0] * self.description.format.bytes();
        let slices = i32::try_from(self.description.slices(0)).unwrap_or(i32::MAX);
        let height = level.size[1] as i32;
        // Only whole accesses count: of a row of 22 bytes, the last one of 8 is at 8.
        let last = (row / bytes.max(1)).saturating_sub(1) as i32 * bytes as i32;
        let past = row as i32 - bytes as i32;
        let inside = x >= 0 && x <= past && (0..height).contains(&y) && (0..slices).contains(&slice);
        let (x, y, slice) = match clamp {
            _ if inside => (x, y, slice),
            Clamp::Clamp => (x.clamp(0, last), y.clamp(0, height - 1), slice.clamp(0, slices - 1)),
            Clamp::Trap | Clamp::Zero => return Spot::Outside,
        };
        if past < 0 {
            return Spot::Outside;
        }
        if !x.unsigned_abs().is_multiple_of(bytes.min(16)) {
            return Spot::Misaligned;
        }
        Spot::At(level.offset + slice as u64 * level.slice + y as u64 * level.pitch + x as u64)
    }
}

/// A 32-bit value as a channel of a surface takes it from a formatted store: integers keep the nearest number that they
/// can hold, halves and singles are converted from singles.
pub fn formatted(channel: Channel, value: u32) -> u32 {
    let signed = value as i32;
    match channel {
        Channel::U8 => value.min(0xff),
        Channel::U16 => value.min(0xffff),
        Channel::S8 => signed.clamp(-0x80, 0x7f) as u32 & 0xff,
        Channel::S16 => signed.clamp(-0x8000, 0x7fff) as u32 & 0xffff,
        Channel::F16 => channel.nearest(f32::from_bits(value)),
        Channel::U32 | Channel::S32 | Channel::F32 => value,
    }
}
