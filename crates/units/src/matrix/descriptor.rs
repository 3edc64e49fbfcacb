//! Matrices in shared memory as `wgmma` reads them (PTX ISA section 9.7.15.5.1.2).
//!
//! A matrix lies in pieces of 16 bytes. [`Descriptor::place`] says where each is; an H200 was asked for every
//! swizzling mode, both orders, and strides and base offsets of all kinds.

/// A matrix descriptor, taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Descriptor {
    /// The address in shared memory.
    pub start: u64,
    /// The leading dimension's byte offset.
    pub leading: u64,
    /// The stride dimension's byte offset.
    pub stride: u64,
    /// The base offset: where in the swizzling pattern the matrix begins, in rows of 128 bytes.
    pub base: u64,
    /// Bits of an address that are swizzled: 0 to 3.
    pub swizzle: u32,
}

/// Bits of an address in shared memory that a descriptor has.
const ADDRESSES: u64 = 1 << 18;

impl Descriptor {
    /// From its 64 bits.
    #[inline]
    pub fn new(bits: u64) -> Descriptor {
        let field = |from: u32| (bits >> from & 0x3fff) << 4;
        let swizzle = match bits >> 62 {
            0 => 0,
            mode => 4 - mode as u32,
        };
        Descriptor { start: field(0), leading: field(16), stride: field(32), base: bits >> 49 & 7, swizzle }
    }

    /// The address of a piece of 16 bytes. If `k` runs fastest: of a row (a column, of B), the piece that begins after
    /// a given number of bytes of its `k`. Else: of a `k`, the piece that begins after a given number of bytes of its rows.
    #[inline(always)]
    pub fn place(&self, k_major: bool, line: u64, bytes: u64) -> u64 {
        // Powers of two: shifts, since this is asked of every piece.
        let width = 16 << self.swizzle;
        let (across, within) = (bytes >> (4 + self.swizzle), bytes & (width - 1));
        let inside = line % 8 * width + within;
        // Eight lines make a block. The offsets are the leading one from block to block along a line, and the stride
        // to the next eight lines; the other way round where neither swizzling nor `k` is first.
        let along_lines = k_major || self.swizzle > 0;
        let (along, next) =
            if along_lines { (self.leading, self.stride) } else { (self.stride, self.leading) };
        let offset = line / 8 * next + across * along + inside;
        let address = self.start.wrapping_add(offset) % ADDRESSES;
        let pattern = (address >> 7).wrapping_sub(self.base) & ((1 << self.swizzle) - 1);
        address ^ pattern << 4
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn descriptor(start: u64, leading: u64, stride: u64, base: u64, mode: u64) -> Descriptor {
        Descriptor::new(start >> 4 | leading << 12 | stride << 28 | base << 49 | mode << 62)
    }

    #[test]
    fn without_swizzling_the_offsets_lead_from_block_to_block() {
        let plain = descriptor(0x400, 0x80, 0x200, 0, 0);
        assert_eq!(plain.place(true, 3, 0), 0x430);
        assert_eq!(plain.place(true, 3, 16), 0x4b0);
        assert_eq!(plain.place(true, 11, 16), 0x6b0);
        // With rows first, the stride leads along them.
        assert_eq!(plain.place(false, 3, 16), 0x630);
        assert_eq!(plain.place(false, 11, 0), 0x4b0);
    }

    #[test]
    fn swizzling_moves_pieces_by_the_number_of_their_row_in_the_pattern() {
        let wide = descriptor(0, 0x800, 0x400, 0, 1);
        assert_eq!(wide.place(true, 2, 0), 0x120);
        assert_eq!(wide.place(true, 9, 16), 0x480);
        assert_eq!(wide.place(false, 1, 128), 0x890);
        // The pattern begins a row later.
        assert_eq!(descriptor(0, 0x800, 0x400, 1, 1).place(true, 0, 0), 0x70);
        // Rows of 32 bytes: the pattern's rows of 128 bytes have four of them.
        let narrow = descriptor(0, 0x800, 0x400, 0, 3);
        assert_eq!(narrow.place(true, 3, 0), 0x60);
        assert_eq!(narrow.place(true, 4, 0), 0x90);
    }
}
