//! Conversions of arrays: element streams as they lie in memory, on one core or all.
//!
//! In an array, 4-bit codes lie two to a byte, the first in the low half; every other format takes
//! [`Format::bytes`] bytes, little-endian. This is also how the registers of PTX's x2 and x4 types lie in
//! memory: element 0 is the lowest.

use crate::{Format, Kernel};
use rayon::prelude::*;

/// Elements of one piece of parallel work. Even, so that pieces of 4-bit codes begin on a byte.
const PIECE: usize = 1 << 18;

/// Bytes that `elements` elements of a format take in an array.
pub const fn packed_len(format: Format, elements: usize) -> usize {
    match format.pitch() {
        4 => elements.div_ceil(2),
        _ => elements.saturating_mul(format.bytes()),
    }
}

/// Converts an array on all cores; a small one on this thread, as [`Kernel::run_packed`] does.
pub fn convert_packed(kernel: &Kernel, src: &[u8], aux: &[u8], dst: &mut [u8]) {
    let (from, to) = (kernel.conversion().src, kernel.conversion().dst);
    let (src_piece, dst_piece) = (packed_len(from, PIECE), packed_len(to, PIECE));
    let small = src.len() < 2 * src_piece || dst.len() < 2 * dst_piece;
    if small || rayon::current_num_threads() == 1 {
        return kernel.run_packed(src, aux, dst);
    }
    let aux_piece = PIECE * kernel.aux_bytes();
    let pieces = src.par_chunks(src_piece).zip(dst.par_chunks_mut(dst_piece));
    pieces.enumerate().for_each(|(piece, (src, dst))| {
        let aux = aux.get(piece * aux_piece..).unwrap_or(&[]);
        kernel.run_packed(src, aux, dst);
    });
}
