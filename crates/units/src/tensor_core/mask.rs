//! Which columns of B count as zeros in `tcgen05.mma.ws` (PTX ISA section 9.7.16.4.3).
//!
//! The manual's table calls the two spans by each other's names; its examples and CUTLASS agree on what is here.

use super::BadField;

/// A zero-column mask descriptor, taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZeroColumns {
    /// How much of its first span each part of the mask leaves out.
    start: [u8; 4],
    /// Whether each part begins with zeros.
    zeros_first: [bool; 4],
    /// Whether there is a mask.
    some: bool,
    /// Columns of zeros in a row, and columns of B.
    spans: [usize; 2],
    /// The column of B that is the first.
    pub shift: usize,
}

impl ZeroColumns {
    /// From its 64 bits, for a product with that many rows.
    pub fn new(bits: u64, m: usize) -> Result<ZeroColumns, BadField> {
        let byte = |from: u32| (bits >> from) as u8;
        let reserved = (bits >> 36 & 7) | (bits >> 62) << 3;
        if reserved != 0 {
            let field = "a reserved field (bits 36 to 38, 62 and 63) of the zero-column mask descriptor";
            return Err(BadField::new(field, "is not 0"));
        }
        let shift = (bits >> 56 & 0x3f) as usize;
        let most = if m == 32 { 16 } else { 32 };
        if shift > most {
            let field = "the column shift (bits 56 to 61) of the zero-column mask descriptor";
            return Err(BadField::new(field, format!("is {shift}: with M = {m} it is at most {most}")));
        }
        Ok(ZeroColumns {
            start: [0, 8, 16, 24].map(byte),
            zeros_first: [32, 33, 34, 35].map(|bit| bits >> bit & 1 == 1),
            some: bits >> 39 & 1 == 1,
            spans: [usize::from(byte(40)) + 1, usize::from(byte(48)) + 1],
            shift,
        })
    }

    /// Whether a column counts as zeros, in a product with that many rows and columns.
    pub fn is_zero(&self, column: usize, m: usize, n: usize) -> bool {
        if !self.some {
            return false;
        }
        let parts = (128 / m).clamp(1, 4);
        let part = column / (n / parts).max(1) % 4;
        let at = column % (n / parts).max(1) + usize::from(self.start[part]);
        let [zeros, used] = self.spans;
        let at = at % (zeros + used);
        if self.zeros_first[part] { at < zeros } else { at >= used }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lowest columns of a part, the first on the right.
    fn part(bits: u64, m: usize, part: usize, length: usize) -> String {
        let (n, parts) = (128, 128 / m);
        let mask = ZeroColumns::new(bits, m).expect("it is right");
        let column = |at: usize| if mask.is_zero(part * n / parts + at, m, n) { '1' } else { '0' };
        (0..length).rev().map(column).collect()
    }

    #[test]
    fn the_examples_of_the_manual_come_out() {
        let bits = |starts: u64, firsts: u64, some: u64, skip: u64, used: u64, shift: u64| {
            starts | firsts << 32 | some << 39 | skip << 40 | used << 48 | shift << 56
        };
        assert_eq!(part(bits(0, 0, 0, 4, 3, 0), 128, 0, 14), "00000000000000");
        assert_eq!(part(bits(0, 0, 1, 2, 3, 0), 128, 0, 14), "11100001110000");
        assert_eq!(part(bits(0, 1, 1, 2, 3, 0), 64, 0, 14), "00001110000111");
        assert_eq!(part(bits(0, 1, 1, 2, 3, 0), 64, 1, 14), "11100001110000");
        let last = bits(1 << 24 | 2 << 16 | 1 << 8, 3, 1, 2, 3, 2);
        assert_eq!(part(last, 32, 0, 14), "00001110000111");
        assert_eq!(part(last, 32, 1, 13), "0000111000011");
        assert_eq!(part(last, 32, 2, 12), "111000011100");
        assert_eq!(part(last, 32, 3, 13), "1110000111000");
        assert_eq!(ZeroColumns::new(last, 32).map(|mask| mask.shift), Ok(2));
        assert!(ZeroColumns::new(17 << 56, 32).is_err());
    }
}
