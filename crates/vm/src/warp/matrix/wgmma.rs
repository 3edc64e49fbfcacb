//! `wgmma.mma_async` (PTX ISA sections 9.7.15.5 and 9.7.15.6): a warp's 16 rows of D.

use super::Scratch;
use super::mma::{each_row, one};
use crate::fault::{FaultKind, Tried, Trouble, Use};
use crate::memory::Spaces;
use crate::memory::cell::{Cells, Unit};
use crate::warp::run::first;
use softwarp_ir::matrix::{Product, Wgmma};
use softwarp_ir::{Memory, NONE, Operands};
use softwarp_units::lanes::{Frame, LANES};
use softwarp_units::matrix::descriptor::Descriptor;
use softwarp_units::matrix::float::fragment::Sums;
use softwarp_units::matrix::float::panel::{self, Panel};
use softwarp_units::matrix::float::rules::Rule;
use softwarp_units::matrix::integer;
use softwarp_units::matrix::lines::{Line, collect, places};

/// Rows of D that a warp computes.
const ROWS: usize = 16;

/// Elements of the largest A: 64 of 8 bits are 32 that are stored.
const FACTOR: usize = ROWS * 32;

/// Registers of the largest C and D.
const SUMS: usize = 128;

/// Where it happens.
pub(super) struct At<'a, 'b> {
    pub spaces: &'b Spaces<'a>,
    /// Which of the four warps of a warpgroup.
    pub warp: usize,
    pub taking: u32,
}

/// Multiplies.
pub(super) fn multiply(
    frame: &mut Frame,
    scratch: &mut Scratch,
    op: &Wgmma,
    operands: &Operands,
    at: &At<'_, '_>,
) -> Tried<()> {
    let lane = first(at.taking);
    let row = |slot: u32| &frame.narrow[slot as usize].0;
    let sums = op.d.registers();
    let (of_d, mut rest) = operands.reads.split_at(sums);
    let mut next = || match rest.split_first() {
        Some((&slot, others)) => {
            rest = others;
            slot
        }
        None => 0,
    };

    let mut rows = [Line::ZERO; ROWS];
    match &op.a {
        Some(_) => {
            let mut slots = [0; 4];
            slots.fill_with(&mut next);
            collect(&slots.map(row), true, &mut rows);
        }
        None => {
            let descriptor = Descriptor::new(frame.wide[next() as usize].0[lane]);
            Lines::of_a(op, descriptor, at.warp).read(at, op.k_major[0], &mut rows)?;
        }
    }
    let descriptor = Descriptor::new(frame.wide[next() as usize].0[lane]);
    let Scratch { columns, sums, .. } = scratch;
    columns.clear();
    columns.resize(op.n, Line::ZERO);
    sums.resize(op.n / 8, Sums::ZERO);
    Lines::of_b(op, descriptor).read(at, op.k_major[1], columns)?;
    for (lines, sign) in [(&mut rows[..], op.negate[0]), (&mut columns[..], op.negate[1])] {
        if sign != 0 {
            // In every element of a word.
            let signs = (0..32 / op.bits).fold(0, |signs, at| signs | sign << (at * op.bits));
            lines.iter_mut().flat_map(|line| &mut line.0).for_each(|word| *word ^= signs);
        }
    }

    let metadata = op.sparse.map(|_| row(next()));
    let adds = frame.predicate(next()) >> lane & 1 == 1;
    let nothing = [0; LANES];
    let mut addends = [&nothing; SUMS];
    addends.iter_mut().zip(of_d).for_each(|(register, &slot)| *register = row(slot));
    let addends = &addends[..if adds { of_d.len().min(SUMS) } else { 0 }];
    let sparse = op.sparse.as_ref().zip(metadata);
    let chosen = sparse.map(|(sparsity, metadata)| places(sparsity, metadata));
    let done = match &op.product {
        Product::Float(product) => {
            let rule = Rule::of(product);
            let places = chosen.as_ref();
            let panel = Panel { product, rule, a: &rows, b: columns, length: op.k, places };
            panel::multiply(&panel, addends, sums)
        }
        Product::Integer(product) => integer::panel(product, &rows, columns, chosen.as_ref(), addends, sums),
        Product::Double(_) => false,
    };
    if done {
        let each = operands.writes.len() / sums.len().max(1);
        let results = sums.iter().flat_map(|sums| &sums.0[..each.min(4)]);
        for (&slot, row) in operands.writes.iter().zip(results) {
            if slot != NONE {
                frame.set_row(slot, *row, at.taking);
            }
        }
        return Ok(());
    }
    by_elements(frame, scratch, op, operands, at, &rows, adds);
    Ok(())
}

/// D by elements, one matrix after the other: what is not done in registers.
fn by_elements(
    frame: &mut Frame,
    scratch: &mut Scratch,
    op: &Wgmma,
    operands: &Operands,
    at: &At<'_, '_>,
    rows: &[Line; ROWS],
    adds: bool,
) {
    let row = |slot: u32| &frame.narrow[slot as usize].0;
    let (of_d, rest) = operands.reads.split_at(op.d.registers());
    let mut a = [0; FACTOR];
    for (line, elements) in rows.iter().zip(a.chunks_exact_mut(op.stored)) {
        line.elements(op.bits, elements);
    }
    let a = &a[..ROWS * op.stored];
    let Scratch { b, c, d, chosen, columns, .. } = scratch;
    for (matrix, size) in [(&mut *b, op.n * op.k), (&mut *c, op.d.size), (&mut *d, op.d.size)] {
        matrix.resize(size, 0);
    }
    for (line, elements) in columns.iter().zip(b.chunks_exact_mut(op.k)) {
        line.elements(op.bits, elements);
    }
    match adds {
        true => op.d.gather(of_d.iter().map(|&slot| row(slot)), c),
        false => c.fill(0),
    }
    let metadata = rest.len().checked_sub(2).map(|at| row(rest[at]));
    match (&op.sparse, metadata) {
        (Some(sparsity), Some(metadata)) => {
            chosen.resize(op.n * op.stored, 0);
            each_row(sparsity, metadata, b, chosen, |row, chosen| {
                let range = row * op.n..(row + 1) * op.n;
                let a = &a[row * op.stored..][..op.stored];
                one(&op.product, a, chosen, &c[range.clone()], &mut d[range], None);
            });
        }
        _ => one(&op.product, a, b, c, d, None),
    }
    for (register, &slot) in operands.writes.iter().enumerate() {
        if slot != NONE {
            frame.set_row(slot, op.d.scatter(register, d), at.taking);
        }
    }
}

/// Calls a function with the place of each piece of 16 bytes that is read, in the CTA's own shared memory.
pub(super) fn pieces(
    frame: &Frame,
    op: &Wgmma,
    operands: &Operands,
    warp: usize,
    lane: usize,
    mut f: impl FnMut(u64),
) {
    let descriptor = |at: usize| {
        let row = operands.reads.get(at).and_then(|&slot| frame.wide.get(slot as usize));
        Descriptor::new(row.map_or(0, |row| row.0[lane]))
    };
    let sums = op.d.registers();
    let of_b = match &op.a {
        Some(fragment) => sums + fragment.registers(),
        None => {
            let lines = Lines::of_a(op, descriptor(sums), warp);
            lines.places(op.k_major[0]).for_each(|(_, at)| f(at));
            sums + 1
        }
    };
    Lines::of_b(op, descriptor(of_b)).places(op.k_major[1]).for_each(|(_, at)| f(at));
}

/// Rows of A, or columns of B, in shared memory.
struct Lines {
    descriptor: Descriptor,
    /// The first, and how many.
    first: usize,
    count: usize,
    /// Elements of each.
    length: usize,
    /// Bits of an element.
    bits: u32,
}

impl Lines {
    /// A warp's rows of A.
    fn of_a(op: &Wgmma, descriptor: Descriptor, warp: usize) -> Lines {
        Lines { descriptor, first: warp * ROWS, count: ROWS, length: op.stored, bits: op.bits }
    }

    /// The columns of B.
    fn of_b(op: &Wgmma, descriptor: Descriptor) -> Lines {
        Lines { descriptor, first: 0, count: op.n, length: op.k, bits: op.bits }
    }

    /// The pieces of 16 bytes: the index of the first element of each, and its address.
    fn places(&self, k_major: bool) -> impl Iterator<Item = (usize, u64)> {
        let each = (128 / self.bits) as usize;
        let bytes = |elements: usize| (elements * self.bits as usize / 8) as u64;
        // Lines are rows or columns if `k` is first, else they are at one `k`.
        let (lines, along) = if k_major { (self.count, self.length) } else { (self.length, self.count) };
        (0..lines).flat_map(move |line| {
            (0..along).step_by(each).map(move |at| match k_major {
                true => {
                    let place = self.descriptor.place(true, (self.first + line) as u64, bytes(at));
                    (line * self.length + at, place)
                }
                false => {
                    let place = self.descriptor.place(false, line as u64, bytes(self.first + at));
                    (at * self.length + line, place)
                }
            })
        })
    }

    /// Reads them.
    fn read(&self, at: &At<'_, '_>, k_major: bool, into: &mut [Line]) -> Tried<()> {
        let own = at.own(self.descriptor.start);
        if k_major {
            let pieces = self.length * self.bits as usize / 128;
            for (line, into) in into.iter_mut().enumerate() {
                for piece in 0..pieces {
                    let place = self.descriptor.place(true, (self.first + line) as u64, piece as u64 * 16);
                    into.set(piece, words(at.piece(own, place)?));
                }
            }
            return Ok(());
        }
        // Elements of 16 bits: a word of a line has those of two neighbouring pieces.
        for line in 0..self.length / 2 {
            for from in (0..self.count).step_by(8) {
                let place = |odd: usize| {
                    let bytes = (self.first + from) as u64 * 2;
                    at.piece(own, self.descriptor.place(false, (line * 2 + odd) as u64, bytes))
                };
                let [even, odd] = [words(place(0)?), words(place(1)?)];
                for (column, line_of) in into[from..].iter_mut().enumerate().take(8) {
                    let half = |words: &[u32; 4]| words[column / 2] >> (column % 2 * 16) & 0xffff;
                    line_of.0[line % 16] = half(&even) | half(&odd) << 16;
                }
            }
        }
        Ok(())
    }
}

impl At<'_, '_> {
    /// The CTA's own shared memory, if a piece is in it, and what leads from offsets to places in it.
    fn own(&self, offset: u64) -> Option<(&Cells, u64)> {
        let address = self.spaces.window.wrapping_add(offset);
        let judged = self.spaces.judge(Memory::Shared, address, 16, Use::Read);
        judged.ok().map(|(cells, at)| (cells, at.wrapping_sub(offset)))
    }

    /// 16 bytes of the CTA's own shared memory, from whose start descriptors count.
    #[inline(always)]
    fn piece(&self, own: Option<(&Cells, u64)>, offset: u64) -> Tried<[u64; 2]> {
        if let Some((cells, start)) = own {
            let at = offset.wrapping_add(start);
            // What is there needs no further judgement: pieces are as far apart as their alignment.
            if at.checked_add(16).is_some_and(|end| end <= cells.len()) {
                return Ok([u64::load(cells, at as usize), u64::load(cells, at as usize + 8)]);
            }
        }
        self.judged(offset)
    }

    /// The same, wherever it is.
    #[cold]
    fn judged(&self, offset: u64) -> Tried<[u64; 2]> {
        let address = self.spaces.window.wrapping_add(offset);
        match self.spaces.judge(Memory::Shared, address, 16, Use::Read) {
            Ok((cells, at)) => Ok([u64::load(cells, at as usize), u64::load(cells, at as usize + 8)]),
            Err(bad) => Err(Trouble::new(first(self.taking), FaultKind::Access(bad))),
        }
    }
}

/// The words of a piece.
#[inline(always)]
fn words([low, high]: [u64; 2]) -> [u32; 4] {
    [low as u32, (low >> 32) as u32, high as u32, (high >> 32) as u32]
}
