//! Matrices in shared memory as `tcgen05` reads them (PTX ISA sections 9.7.16.3 and 9.7.16.4.1).

use super::BadField;
use crate::matrix::descriptor::Descriptor;

/// How 16 bytes at a time change places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Swizzle {
    /// Not at all, or by rows of 32, 64 or 128 bytes.
    Rows,
    /// By rows of 128 bytes, 32 bytes at a time.
    Pairs,
}

/// A shared memory descriptor, taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedDescriptor {
    /// Addresses and offsets, and the rows that are swizzled.
    pub matrix: Descriptor,
    /// What is swizzled.
    pub swizzle: Swizzle,
    /// The leading dimension's field is the address of a second buffer.
    pub absolute: bool,
}

/// Bits of an address in shared memory that a descriptor has.
const ADDRESSES: u64 = 1 << 18;

impl SharedDescriptor {
    /// From its 64 bits.
    pub fn new(bits: u64) -> Result<SharedDescriptor, BadField> {
        let bad = |field, problem: String| Err(BadField::new(field, problem));
        let version = bits >> 46 & 7;
        if version != 1 {
            return bad(
                "bits 46 to 48 of the shared memory descriptor",
                format!("are {version:#05b}, and must be 0b001"),
            );
        }
        let fixed = bits >> 53 & 0xff;
        if fixed != 0 {
            return bad(
                "bits 53 to 60 of the shared memory descriptor",
                format!("are {fixed:#x}, and must be 0"),
            );
        }
        let (swizzle, rows) = match bits >> 61 {
            0 => (Swizzle::Rows, 0),
            1 => (Swizzle::Pairs, 3),
            2 => (Swizzle::Rows, 3),
            4 => (Swizzle::Rows, 2),
            6 => (Swizzle::Rows, 1),
            mode => {
                return bad(
                    "the swizzling mode (bits 61 to 63) of the shared memory descriptor",
                    format!("is {mode}: 0, 1, 2, 4 and 6 exist"),
                );
            }
        };
        let field = |from: u32| (bits >> from & 0x3fff) << 4;
        let matrix = Descriptor {
            start: field(0),
            leading: field(16),
            stride: field(32),
            base: bits >> 49 & 7,
            swizzle: rows,
        };
        let absolute = bits >> 52 & 1 == 1;
        if absolute && (swizzle != Swizzle::Rows || rows != 3 || matrix.base != 0) {
            return bad(
                "the leading dimension's mode (bit 52) of the shared memory descriptor",
                "is an absolute address, which needs swizzling by 128 bytes and a base offset of 0"
                    .to_owned(),
            );
        }
        Ok(SharedDescriptor { matrix, swizzle, absolute })
    }

    /// The address of a piece of 16 bytes. If `k` runs fastest: of a row (a column, of B), the piece that begins after
    /// a given number of bytes of its `k`. Else: of a `k`, the piece that begins after a given number of bytes of its
    /// rows.
    #[inline(always)]
    pub fn place(&self, k_major: bool, line: u64, bytes: u64) -> u64 {
        let matrix = &self.matrix;
        if self.absolute {
            return self.in_two_buffers(line, bytes);
        }
        if self.swizzle == Swizzle::Rows {
            return matrix.place(k_major, line, bytes);
        }
        let lines = if k_major { 8 } else { 4 };
        let offset =
            line / lines * matrix.stride + (bytes >> 7) * matrix.leading + line % lines * 128 + (bytes & 127);
        let address = matrix.start.wrapping_add(offset) % ADDRESSES;
        let pattern = (address >> 7).wrapping_sub(matrix.base) & 3;
        address ^ pattern << 5
    }

    /// With an absolute address: what would leave the 128 bytes of a row continues in the second buffer.
    fn in_two_buffers(&self, line: u64, bytes: u64) -> u64 {
        let matrix = &self.matrix;
        let within = (matrix.start & 127) + bytes;
        let rows = line / 8 * matrix.stride + line % 8 * 128;
        let start = if within < 128 { matrix.start & !127 } else { matrix.leading & !127 };
        let address = start.wrapping_add(rows + (within & 127)) % ADDRESSES;
        address ^ (address >> 7 & 7) << 4
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const VERSION: u64 = 1 << 46;

    #[test]
    fn fields_that_must_be_constant_are_named() {
        let problem = |bits| SharedDescriptor::new(bits).expect_err("it is wrong").to_string();
        assert_eq!(problem(0), "bits 46 to 48 of the shared memory descriptor are 0b000, and must be 0b001");
        assert_eq!(
            problem(VERSION | 3 << 61),
            "the swizzling mode (bits 61 to 63) of the shared memory descriptor is 3: 0, 1, 2, 4 and 6 exist"
        );
        assert!(problem(VERSION | 1 << 55).contains("bits 53 to 60"));
        assert!(problem(VERSION | 1 << 52).contains("absolute"));
    }

    #[test]
    fn swizzling_by_pairs_moves_32_bytes() {
        let descriptor = SharedDescriptor::new(VERSION | 1 << 61 | (0x400 >> 4) << 32).expect("it is right");
        assert_eq!(descriptor.place(false, 0, 16), 16);
        assert_eq!(descriptor.place(false, 1, 16), 128 + (16 ^ 32));
        assert_eq!(descriptor.place(false, 3, 0), 3 * 128 + 96);
        assert_eq!(descriptor.place(false, 4, 0), 0x400);
    }
}
