//! `wgmma.mma_async` (PTX ISA sections 9.7.15.5 and 9.7.15.6): a warp's 16 rows of D.

use super::Scratch;
use super::mma::{each_row, one};
use crate::fault::{FaultKind, Tried, Trouble, Use};
use crate::lanes::Frame;
use crate::matrix::descriptor::Descriptor;
use crate::memory::Spaces;
use crate::memory::cell::Unit;
use crate::program::matrix::Wgmma;
use crate::program::{Memory, NONE, Operands};
use crate::warp::run::first;

/// Rows of D that a warp computes.
const ROWS: usize = 16;

/// Elements of the largest A: 64 of 8 bits are 32 that are stored.
const FACTOR: usize = ROWS * 32;

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

    let mut a = [0; FACTOR];
    match &op.a {
        Some(fragment) => {
            let mut slots = [0; 4];
            slots.fill_with(&mut next);
            fragment.gather(slots.iter().map(|&slot| row(slot)), &mut a);
        }
        None => {
            let descriptor = Descriptor::new(frame.wide[next() as usize].0[lane]);
            let lines =
                Lines { descriptor, first: at.warp * ROWS, count: ROWS, length: op.stored, bits: op.bits };
            lines.read(at, op.k_major[0], &mut a)?;
        }
    }
    let a = &mut a[..ROWS * op.stored];
    let descriptor = Descriptor::new(frame.wide[next() as usize].0[lane]);
    let Scratch { b, c, d, chosen } = scratch;
    for (matrix, size) in [(&mut *b, op.n * op.k), (&mut *c, op.d.size), (&mut *d, op.d.size)] {
        matrix.resize(size, 0);
    }
    Lines::of_b(op, descriptor).read(at, op.k_major[1], b)?;
    for (matrix, sign) in [(&mut *a, op.negate[0]), (&mut b[..], op.negate[1])] {
        if sign != 0 {
            matrix.iter_mut().for_each(|element| *element ^= sign);
        }
    }

    let metadata = op.sparse.map(|_| row(next()));
    let adds = frame.predicate(next()) >> lane & 1 == 1;
    match adds {
        true => op.d.gather(of_d.iter().map(|&slot| row(slot)), c),
        false => c.fill(0),
    }
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
    Ok(())
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

    /// Reads them, one behind the other.
    fn read(&self, at: &At<'_, '_>, k_major: bool, into: &mut [u32]) -> Tried<()> {
        let each = (128 / self.bits) as usize;
        for (index, address) in self.places(k_major) {
            let words = at.piece(address)?;
            match k_major {
                true => unpack(words, self.bits, into[index..index + each].iter_mut()),
                false => {
                    unpack(words, self.bits, into[index..].iter_mut().step_by(self.length).take(each));
                }
            }
        }
        Ok(())
    }
}

impl At<'_, '_> {
    /// 16 bytes of the CTA's own shared memory, from whose start descriptors count.
    #[inline]
    fn piece(&self, offset: u64) -> Tried<[u64; 2]> {
        let address = self.spaces.window.wrapping_add(offset);
        match self.spaces.judge(Memory::Shared, address, 16, Use::Read) {
            Ok((cells, at)) => Ok([u64::load(cells, at as usize), u64::load(cells, at as usize + 8)]),
            Err(bad) => Err(Trouble::new(first(self.taking), FaultKind::Access(bad))),
        }
    }
}

/// The elements of a piece.
#[inline(always)]
fn unpack<'a>(words: [u64; 2], bits: u32, into: impl Iterator<Item = &'a mut u32>) {
    let mask = u64::MAX >> (64 - bits);
    let each = (64 / bits) as usize;
    for (at, element) in into.enumerate() {
        *element = (words[at / each % 2] >> (at % each * bits as usize) & mask) as u32;
    }
}
