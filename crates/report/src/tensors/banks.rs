//! Bank conflicts: how a warp's reads of what a copy left in shared memory fall on its 32 banks of four bytes.
//!
//! Reads of one phase that want different words of one bank are done one after another; the most words that one bank
//! must give is the degree: 1 is free of conflicts, 8 takes eight times as long. A swizzle is there to make it 1.

use super::request::Copy;
use softwarp::tensor::Swizzle;
use std::collections::BTreeSet;
use std::fmt;

const BANKS: u64 = 32;
const WORD: u64 = 4;
/// Threads of a warp.
const WARP: u64 = 32;
/// Bytes that one phase of reads delivers.
const PHASE: u64 = BANKS * WORD;

/// Which bytes the threads of a warp read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// 128 bytes of a row, four by each thread.
    Row,
    /// One element of each of 32 rows.
    Column,
    /// 16 bytes of each of eight rows, as `ldmatrix` reads a matrix.
    Ldmatrix,
    /// Four bytes each, a given number of bytes apart.
    Stride(u32),
}

impl Pattern {
    /// Reads `row`, `column`, `ldmatrix` or `stride:N`.
    pub fn from_name(name: &str) -> Result<Pattern, String> {
        match name {
            "row" => Ok(Pattern::Row),
            "column" => Ok(Pattern::Column),
            "ldmatrix" => Ok(Pattern::Ldmatrix),
            _ => {
                let Some(bytes) = name.strip_prefix("stride:") else {
                    return Err("an access is row, column, ldmatrix or stride:BYTES".to_owned());
                };
                let step: u32 = super::request::number(bytes)?;
                match step {
                    4..=65536 if step.is_multiple_of(4) => Ok(Pattern::Stride(step)),
                    _ => Err(format!("stride:{step}: the stride is a multiple of 4, from 4 to 65536")),
                }
            }
        }
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Pattern::Row => f.write_str("row: 128 bytes of a row"),
            Pattern::Column => f.write_str("column: one element of each of 32 rows"),
            Pattern::Ldmatrix => f.write_str("ldmatrix: 16 bytes of each of 8 rows"),
            Pattern::Stride(step) => write!(f, "stride: 32 words, {step} bytes apart"),
        }
    }
}

/// One phase of reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The first row that it reads from.
    pub row: u64,
    /// The first byte that it reads, in that row.
    pub byte: u64,
    /// How many banks take part.
    pub banks: usize,
    /// The most words of one bank.
    pub degree: usize,
    /// The conflicts there would be without swizzling.
    pub plain_degree: usize,
}

/// Every phase of a pattern over a copy.
pub fn count(copy: &Copy, pattern: Pattern) -> Vec<Group> {
    let (row_bytes, pitch) = copy.walk.row_bytes();
    let (row_bytes, pitch, rows) = (u64::from(row_bytes), u64::from(pitch), copy.walk.rows());
    let linear = |row: u64, byte: u64| copy.request.shared + row * pitch + byte;
    let mut groups = Vec::new();
    let mut push = |row: u64, byte: u64, reads: Vec<u64>, bytes: u64| {
        let (banks, degree) = conflict(copy.map.swizzle, &reads, bytes);
        let (_, plain_degree) = conflict(Swizzle::None, &reads, bytes);
        groups.push(Group { row, byte, banks, degree, plain_degree });
    };
    let down = |row: u64, byte: u64, threads: u64| -> Vec<u64> {
        (row..rows.min(row + threads)).map(|row| linear(row, byte)).collect()
    };
    match pattern {
        Pattern::Row => {
            for row in 0..rows {
                for start in (0..row_bytes).step_by(PHASE as usize) {
                    let reads = (start..row_bytes.min(start + PHASE)).step_by(WORD as usize);
                    push(row, start, reads.map(|byte| linear(row, byte)).collect(), WORD);
                }
            }
        }
        Pattern::Column => {
            // Reads of eight bytes come in two phases of half a warp.
            let bytes = u64::from(copy.map.element.bits() / 8).clamp(WORD, 8);
            let threads = PHASE / bytes;
            for row in (0..rows).step_by(threads as usize) {
                for byte in (0..row_bytes).step_by(bytes as usize) {
                    push(row, byte, down(row, byte, threads), bytes);
                }
            }
        }
        Pattern::Ldmatrix => {
            for row in (0..rows).step_by(8) {
                for byte in (0..row_bytes).step_by(16) {
                    push(row, byte, down(row, byte, 8), 16);
                }
            }
        }
        Pattern::Stride(step) => {
            let (step, end) = (u64::from(step), rows * pitch);
            for start in (0..end).step_by((step * WARP) as usize) {
                let reads = (start..end.min(start + step * WARP)).step_by(step as usize);
                let reads = reads.map(|at| copy.request.shared + at).collect();
                push(start / pitch.max(1), start % pitch.max(1), reads, WORD);
            }
        }
    }
    groups
}

/// How many banks reads of `bytes` bytes at these addresses (before swizzling) use, and the most words of one.
fn conflict(swizzle: Swizzle, reads: &[u64], bytes: u64) -> (usize, usize) {
    let words: BTreeSet<u64> = reads
        .iter()
        .flat_map(|read| (0..bytes).step_by(WORD as usize).map(move |at| swizzle.apply(read + at) / WORD))
        .collect();
    let mut banks = [0; BANKS as usize];
    for word in words {
        banks[(word % BANKS) as usize] += 1;
    }
    (banks.iter().filter(|count| **count > 0).count(), banks.into_iter().max().unwrap_or(0))
}

/// The bank of a shared address.
pub fn bank(address: u64) -> u64 {
    address / WORD % BANKS
}
