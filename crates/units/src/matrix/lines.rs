//! Rows of A and columns of B as the bytes that registers or shared memory hold of them.
//!
//! A register of a warp has 16 bytes of each of eight lines: lanes 4g to 4g + 3 those of line g (PTX ISA sections
//! 9.7.14.5 and 9.7.15.5.1). So do the core matrices of `wgmma` in shared memory.

use super::sparse::Sparsity;
use crate::lanes::LANES;

/// Rows of A, C and D that are worked on together.
pub const ROWS: usize = 16;

/// The most elements of a row of A that are stored.
pub const STORED: usize = 64;

/// A row of A or a column of B, from its first element; zeros follow the last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(align(64))]
pub struct Line(pub [u32; 16]);

impl Line {
    /// Zeros.
    pub const ZERO: Line = Line([0; 16]);

    /// Sets 16 bytes of it.
    #[inline(always)]
    pub fn set(&mut self, piece: usize, words: [u32; 4]) {
        self.0.as_chunks_mut::<4>().0[piece % 4] = words;
    }

    /// The first elements of a given number of bits.
    #[inline]
    pub fn elements(&self, bits: u32, into: &mut [u32]) {
        let (each, mask) = (32 / bits as usize, u32::MAX >> (32 - bits));
        for (word, elements) in self.0.iter().zip(into.chunks_mut(each)) {
            (0..).zip(elements).for_each(|(at, element)| *element = word >> (at * bits) & mask);
        }
    }
}

/// Takes lines from registers, which have 16 bytes of eight lines each. Those of the next eight lines follow at once if
/// `below`, else those of the next 16 bytes.
#[inline]
pub fn collect(registers: &[&[u32; LANES]], below: bool, lines: &mut [Line]) {
    let blocks = lines.len() / 8;
    let pieces = registers.len() / blocks.max(1);
    for (at, register) in registers.iter().enumerate() {
        let (block, piece) = if below { (at % blocks, at / blocks) } else { (at / pieces, at % pieces) };
        for (line, words) in lines[block * 8..].iter_mut().zip(register.as_chunks().0) {
            line.set(piece, *words);
        }
    }
}

/// Where in its row each stored element of a sparse A is.
pub type Places = [[u8; STORED]; ROWS];

/// The places that metadata tell.
#[inline]
pub fn places(sparsity: &Sparsity, metadata: &[u32; LANES]) -> Places {
    let mut places = [[0; STORED]; ROWS];
    let mut positions = [0; STORED];
    for (row, places) in places.iter_mut().enumerate() {
        sparsity.positions(metadata, row, &mut positions);
        places.iter_mut().zip(positions).for_each(|(place, position)| *place = position as u8);
    }
    places
}
