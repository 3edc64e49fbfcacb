//! `ldmatrix`, `stmatrix` and `movmatrix` (PTX ISA sections 9.7.14.5.15 to 9.7.14.5.17).
//!
//! A tile is rows of 16 bytes. In registers, the four lanes of a group hold a row between them; transposed, each lane
//! has what is in its group's column.

use super::MatrixAddresses;
use crate::fault::{Tried, Use};
use crate::memory::cell::{SharedBytes, Unit};
use crate::memory::order;
use softwarp_ir::matrix::{LoadMatrix, Packing, StoreMatrix, TileKind, Tiles, Transpose};
use softwarp_units::lanes::{ALL, Frame, LANES, has_lane};

/// Bytes of a row of a tile.
pub(super) const ROW: u64 = 16;

/// A row: four words, as lanes hold it.
pub(super) type Words = [u32; 4];

/// How many rows of tiles an instruction accesses. Row `n` is at the address of lane `n`.
pub(super) fn row_count(tiles: &Tiles, loads: bool) -> usize {
    (tiles.count * tiles.kind.rows(loads)) as usize
}

/// The lanes whose rows are accessed.
pub(super) fn rows(count: usize, taking: u32) -> impl Iterator<Item = usize> {
    (0..count).filter(move |&lane| has_lane(taking, lane))
}

/// `ldmatrix`
pub(super) fn load(
    frame: &mut Frame,
    op: &LoadMatrix,
    places: &MatrixAddresses<'_, '_>,
    taking: u32,
) -> Tried<()> {
    let tiles = &op.tiles;
    let mut words = [[0; 4]; LANES];
    let count = row_count(tiles, true);
    if taking == ALL
        && let Some((cells, base)) = places.shared(count, ROW)
    {
        for (row, address) in words.iter_mut().zip(&places.addresses).take(count) {
            *row = read(cells, (address - base) as usize);
        }
    } else {
        for lane in rows(count, taking) {
            let (cells, at) = places.judge(lane, 0, ROW, Use::Read)?;
            words[lane] = read(cells, at);
        }
    }
    if let TileKind::Bytes(packing @ (Packing::Six | Packing::Four))
    | TileKind::Wide(packing @ (Packing::Six | Packing::Four)) = tiles.kind
    {
        words.iter_mut().for_each(|row| *row = unpack(row, packing));
    }
    for (register, &slot) in op.d.iter().enumerate() {
        let values = match tiles.kind {
            TileKind::Halves { transposed: true } => transposed(&words[register * 8..][..8]),
            TileKind::Halves { transposed: false } | TileKind::Wide(_) => {
                let mut values = [0; LANES];
                values.copy_from_slice(words[register * 8..][..8].as_flattened());
                values
            }
            TileKind::Bytes(_) => columns(&words[register / 2 * 16..][..16], register % 2 * 8),
        };
        if let Some(slot) = slot {
            frame.set_row(slot, values, taking);
        }
    }
    Ok(())
}

/// `stmatrix`
pub(super) fn store(
    frame: &Frame,
    op: &StoreMatrix,
    places: &MatrixAddresses<'_, '_>,
    taking: u32,
) -> Tried<()> {
    let count = row_count(&op.tiles, false);
    let shared = if taking == ALL { places.shared(count, ROW) } else { None };
    let place = |lane: usize| match shared {
        Some((cells, base)) => Ok((cells, (places.addresses[lane] - base) as usize)),
        None => places.judge(lane, 0, ROW, Use::Write),
    };
    // All of them, before anything is written.
    for lane in rows(count, taking) {
        place(lane)?;
    }
    let words = rows_given(frame, op);
    for lane in order::storing(ROW).filter(|&lane| lane < count && has_lane(taking, lane)) {
        let (cells, at) = place(lane)?;
        let [a, b, c, d] = words[lane].map(u64::from);
        (a | b << 32).store(cells, at);
        (c | d << 32).store(cells, at + 8);
    }
    Ok(())
}

/// The rows that `stmatrix` stores.
pub(super) fn rows_given(frame: &Frame, op: &StoreMatrix) -> [Words; LANES] {
    let mut rows = [[0; 4]; LANES];
    for (&slot, tile) in op.data.iter().zip(rows.chunks_exact_mut(8)) {
        let values = frame.row::<u32>(slot);
        match op.tiles.kind {
            TileKind::Halves { transposed: true } => {
                let values = transposed(&held(&values));
                tile.copy_from_slice(&held(&values));
            }
            TileKind::Halves { transposed: false } | TileKind::Wide(_) => {
                tile.copy_from_slice(&held(&values))
            }
            TileKind::Bytes(_) => tile.copy_from_slice(&spread(&values)),
        }
    }
    rows
}

/// `movmatrix`
pub(super) fn transpose(frame: &mut Frame, op: &Transpose, taking: u32) {
    if let Some(d) = op.d {
        let values = frame.row::<u32>(op.a);
        frame.set_row(d, transposed(&held(&values)), taking);
    }
}

/// The rows that the groups of lanes hold.
fn held(values: &[u32; LANES]) -> [Words; 8] {
    std::array::from_fn(|row| std::array::from_fn(|word| values[row * 4 + word]))
}

/// A tile of halves, transposed, as lanes hold it.
fn transposed(rows: &[Words]) -> [u32; LANES] {
    let half = |row: usize, column: usize| rows[row][column / 2] >> (column % 2 * 16) & 0xffff;
    std::array::from_fn(|lane| {
        let (group, within) = (lane / 4, lane % 4);
        half(within * 2, group) | half(within * 2 + 1, group) << 16
    })
}

fn byte(words: &Words, at: usize) -> u32 {
    words[at / 4] >> (at % 4 * 8) & 0xff
}

/// Eight columns of a tile of 16 rows of bytes, transposed: each lane has four bytes of its group's column.
fn columns(rows: &[Words], first: usize) -> [u32; LANES] {
    std::array::from_fn(|lane| {
        let (column, row) = (first + lane / 4, lane % 4 * 4);
        (0..4).fold(0, |word, at| word | byte(&rows[row + at], column) << (8 * at))
    })
}

/// A tile of 16 × 8 bytes by columns, from lanes that have two neighbours of their group's row and of that eight below.
fn spread(values: &[u32; LANES]) -> [Words; 8] {
    let element = |row: usize, column: usize| {
        let word = values[row % 8 * 4 + column / 2];
        word >> (row / 8 * 16 + column % 2 * 8) & 0xff
    };
    std::array::from_fn(|column| {
        std::array::from_fn(|word| (0..4).fold(0, |all, at| all | element(word * 4 + at, column) << (8 * at)))
    })
}

/// The 16 elements of a packed row, each in a byte.
fn unpack(row: &Words, packing: Packing) -> Words {
    let bits = match packing {
        Packing::Bytes => 8,
        Packing::Six => 6,
        Packing::Four => 4,
    };
    let packed = row.iter().rev().fold(0, |packed, &word| packed << 32 | u128::from(word));
    let bytes = (0..16).fold(0, |all, at| {
        let element = (packed >> (bits * at)) as u8 & (0xff >> (8 - bits));
        all | u128::from(element) << (8 * at)
    });
    std::array::from_fn(|word| (bytes >> (32 * word)) as u32)
}

/// A row in memory.
#[inline(always)]
fn read(cells: &SharedBytes, at: usize) -> Words {
    let [low, high] = [u64::load(cells, at), u64::load(cells, at + 8)];
    [low as u32, (low >> 32) as u32, high as u32, (high >> 32) as u32]
}
