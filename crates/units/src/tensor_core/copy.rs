//! What `tcgen05.cp` moves from shared to tensor memory (PTX ISA section 9.7.16.9).

/// The shape of a copy, with the lanes that get the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Shape {
    /// `.128x256b`
    Lanes128x256b,
    /// `.4x256b`: one lane of each 32.
    Lanes4x256b,
    /// `.128x128b`
    Lanes128x128b,
    /// `.64x128b.warpx2::02_13`: the upper 64 lanes get what the lower get.
    Lanes64x128b02And13,
    /// `.64x128b.warpx2::01_23`: of each 64 lanes, the upper 32 get what the lower get.
    Lanes64x128b01And23,
    /// `.32x128b.warpx4`: each 32 lanes get the same.
    Lanes32x128b,
}

/// How elements lie in 16 bytes of shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Packing {
    /// As in tensor memory.
    Bytes,
    /// `.b6x16_p32`: 16 elements of six bits.
    Six,
    /// `.b4x16_p64`: 16 elements of four bits.
    Four,
}

impl Shape {
    /// Rows of the matrix in shared memory.
    pub fn rows(self) -> usize {
        match self {
            Shape::Lanes128x256b | Shape::Lanes128x128b => 128,
            Shape::Lanes4x256b => 4,
            Shape::Lanes64x128b02And13 | Shape::Lanes64x128b01And23 => 64,
            Shape::Lanes32x128b => 32,
        }
    }

    /// Pieces of 16 bytes of a row.
    pub fn pieces(self) -> usize {
        if matches!(self, Shape::Lanes128x256b | Shape::Lanes4x256b) { 2 } else { 1 }
    }

    /// The lanes that a row goes to, from that of the address on.
    pub fn lanes(self, row: usize) -> impl Iterator<Item = usize> {
        let (first, step, count) = match self {
            Shape::Lanes128x256b | Shape::Lanes128x128b => (row, 0, 1),
            Shape::Lanes4x256b => (row * 32, 0, 1),
            Shape::Lanes64x128b02And13 => (row, 64, 2),
            Shape::Lanes64x128b01And23 => (row % 32 + row / 32 * 64, 32, 2),
            Shape::Lanes32x128b => (row, 32, 4),
        };
        (0..count).map(move |copy| first + copy * step)
    }
}

impl Packing {
    /// How many of 16 bytes have elements.
    pub fn used(self) -> u64 {
        match self {
            Packing::Bytes => 16,
            Packing::Six => 12,
            Packing::Four => 8,
        }
    }

    /// What 16 bytes of shared memory become: elements of six bits are in the low bits of a byte, those of four bits in
    /// the middle of it.
    pub fn unpack(self, words: [u32; 4]) -> [u32; 4] {
        let bits = words.iter().rev().fold(0u128, |bits, &word| bits << 32 | u128::from(word));
        let (width, shift) = match self {
            Packing::Bytes => return words,
            Packing::Six => (6, 0),
            Packing::Four => (4, 2),
        };
        let byte = |at: usize| ((bits >> (at * width)) as u32 & ((1 << width) - 1)) << shift;
        std::array::from_fn(|word| (0..4).fold(0, |all, at| all | byte(word * 4 + at) << (at * 8)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_unpacked_into_bytes() {
        let four = Packing::Four.unpack([0x7654_3210, 0xfedc_ba98, 1, 2]);
        assert_eq!(four, [0x0c08_0400, 0x1c18_1410, 0x2c28_2420, 0x3c38_3430]);
        let six = Packing::Six.unpack([1 | 2 << 6 | 63 << 12, 0, 0, 9]);
        assert_eq!(six, [0x003f_0201, 0, 0, 0]);
        assert_eq!(Packing::Bytes.unpack([1, 2, 3, 4]), [1, 2, 3, 4]);
    }

    #[test]
    fn rows_go_to_the_lanes_of_their_warps() {
        let lanes = |shape: Shape, row| shape.lanes(row).collect::<Vec<_>>();
        assert_eq!(lanes(Shape::Lanes32x128b, 5), [5, 37, 69, 101]);
        assert_eq!(lanes(Shape::Lanes64x128b02And13, 40), [40, 104]);
        assert_eq!(lanes(Shape::Lanes64x128b01And23, 40), [72, 104]);
        assert_eq!(lanes(Shape::Lanes4x256b, 3), [96]);
    }
}
