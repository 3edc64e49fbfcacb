//! `wgmma.mma_async` (PTX ISA sections 9.7.15.5 and 9.7.15.6): a warp's 16 rows of D.

use super::Scratch;
use super::mma::{each_row, one};
use crate::fault::{FaultKind, Tried, Trouble, Use};
use crate::memory::Spaces;
use crate::memory::cell::{SharedBytes, Unit};
use crate::warp::run::first;
use softwarp_ir::Memory;
use softwarp_ir::matrix::{Product, Wgmma, WgmmaFactor, WgmmaProduct};
use softwarp_units::lanes::{Frame, LANES, Slot};
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

/// Bytes of a piece of a line.
pub(super) const PIECE: u64 = 16;

/// The memory and the lanes of an instruction.
pub(super) struct At<'a, 'b> {
    pub spaces: &'b Spaces<'a>,
    /// The index of the warp in its warpgroup.
    pub warp: usize,
    pub taking: u32,
}

/// Multiplies.
pub(super) fn multiply(frame: &mut Frame, scratch: &mut Scratch, op: &Wgmma, at: &At<'_, '_>) -> Tried<()> {
    let wgmma = &*op.product;
    let lane = first(at.taking);
    let row = |slot: Slot| &frame.narrow[slot.number() as usize].0;
    let nothing = [0; LANES];

    let mut rows = [Line::ZERO; ROWS];
    match &op.a {
        WgmmaFactor::Registers(slots) => {
            let mut registers = [&nothing; 4];
            registers.iter_mut().zip(slots).for_each(|(register, &slot)| *register = row(slot));
            collect(&registers, true, &mut rows);
        }
        WgmmaFactor::Descriptor(slot) => {
            let lines = Lines::of_a(wgmma, descriptor(frame, *slot, lane), at.warp);
            lines.read(at, &mut rows)?;
        }
    }
    let Scratch { columns, sums, .. } = scratch;
    columns.clear();
    columns.resize(wgmma.n, Line::ZERO);
    sums.resize(wgmma.n / 8, Sums::ZERO);
    Lines::of_b(wgmma, descriptor(frame, op.b, lane)).read(at, columns)?;
    for (lines, sign) in [(&mut rows[..], wgmma.negate[0]), (&mut columns[..], wgmma.negate[1])] {
        if sign != 0 {
            // In every element of a word.
            let signs = (0..32 / wgmma.bits).fold(0, |signs, at| signs | sign << (at * wgmma.bits));
            lines.iter_mut().flat_map(|line| &mut line.0).for_each(|word| *word ^= signs);
        }
    }

    let adds = frame.predicate(op.adds) >> lane & 1 == 1;
    let mut addends = [&nothing; SUMS];
    addends.iter_mut().zip(&op.c).for_each(|(register, &slot)| *register = row(slot));
    let addends = &addends[..if adds { op.c.len().min(SUMS) } else { 0 }];
    let sparse = wgmma.sparse.as_ref().zip(op.metadata.map(row));
    let chosen = sparse.map(|(sparsity, metadata)| places(sparsity, metadata));
    let done = match &wgmma.product {
        Product::Float(product) => {
            let rule = Rule::of(product);
            let places = chosen.as_ref();
            let panel = Panel { product, rule, a: &rows, b: columns, length: wgmma.k, places };
            panel::multiply(&panel, addends, sums)
        }
        Product::Integer(product) => integer::panel(product, &rows, columns, chosen.as_ref(), addends, sums),
        Product::Double(_) => false,
    };
    if done {
        let each = op.d.len() / sums.len().max(1);
        let results = sums.iter().flat_map(|sums| &sums.0[..each.min(4)]);
        for (&slot, row) in op.d.iter().zip(results) {
            if let Some(slot) = slot {
                frame.set_row(slot, *row, at.taking);
            }
        }
        return Ok(());
    }
    by_elements(frame, scratch, op, at, &rows, adds);
    Ok(())
}

/// D by elements, one matrix after the other: what is not done in registers.
fn by_elements(
    frame: &mut Frame,
    scratch: &mut Scratch,
    op: &Wgmma,
    at: &At<'_, '_>,
    rows: &[Line; ROWS],
    adds: bool,
) {
    let wgmma = &*op.product;
    let row = |slot: Slot| &frame.narrow[slot.number() as usize].0;
    let mut a = [0; FACTOR];
    for (line, elements) in rows.iter().zip(a.chunks_exact_mut(wgmma.stored)) {
        line.elements(wgmma.bits, elements);
    }
    let a = &a[..ROWS * wgmma.stored];
    let Scratch { b, c, d, chosen, columns, .. } = scratch;
    for (matrix, size) in [(&mut *b, wgmma.n * wgmma.k), (&mut *c, wgmma.d.size), (&mut *d, wgmma.d.size)] {
        matrix.resize(size, 0);
    }
    for (line, elements) in columns.iter().zip(b.chunks_exact_mut(wgmma.k)) {
        line.elements(wgmma.bits, elements);
    }
    match adds {
        true => wgmma.d.gather(op.c.iter().map(|&slot| row(slot)), c),
        false => c.fill(0),
    }
    match (&wgmma.sparse, op.metadata.map(row)) {
        (Some(sparsity), Some(metadata)) => {
            chosen.resize(wgmma.n * wgmma.stored, 0);
            each_row(sparsity, metadata, b, chosen, |row, chosen| {
                let range = row * wgmma.n..(row + 1) * wgmma.n;
                let a = &a[row * wgmma.stored..][..wgmma.stored];
                one(&wgmma.product, a, chosen, &c[range.clone()], &mut d[range], None);
            });
        }
        _ => one(&wgmma.product, a, b, c, d, None),
    }
    for (register, &slot) in op.d.iter().enumerate() {
        if let Some(slot) = slot {
            frame.set_row(slot, wgmma.d.scatter(register, d), at.taking);
        }
    }
}

/// The descriptor that a lane has.
fn descriptor(frame: &Frame, slot: Slot, lane: usize) -> Descriptor {
    Descriptor::new(frame.wide[slot.number() as usize].0[lane])
}

/// Calls a function with the offset of each piece of 16 bytes that is read: from the start of the CTA's own shared memory.
pub(super) fn pieces(frame: &Frame, op: &Wgmma, warp: usize, lane: usize, mut f: impl FnMut(u64)) {
    let wgmma = &*op.product;
    if let WgmmaFactor::Descriptor(slot) = op.a {
        let lines = Lines::of_a(wgmma, descriptor(frame, slot, lane), warp);
        lines.offsets().for_each(&mut f);
    }
    Lines::of_b(wgmma, descriptor(frame, op.b, lane)).offsets().for_each(f);
}

/// The address of an offset from the start of the CTA's own shared memory, from which descriptors count.
pub(super) fn address(spaces: &Spaces<'_>, offset: u64) -> u64 {
    spaces.window.wrapping_add(offset)
}

/// Rows of A, or columns of B, in shared memory. The executor reads their pieces, and the observer reports them; both get
/// the offsets from [`Lines::offset`].
struct Lines {
    descriptor: Descriptor,
    /// Whether the elements of a line are side by side. If not, those of all lines at one `k` are.
    k_major: bool,
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
    fn of_a(wgmma: &WgmmaProduct, descriptor: Descriptor, warp: usize) -> Lines {
        let (k_major, length, bits) = (wgmma.k_major[0], wgmma.stored, wgmma.bits);
        Lines { descriptor, k_major, first: warp * ROWS, count: ROWS, length, bits }
    }

    /// The columns of B.
    fn of_b(wgmma: &WgmmaProduct, descriptor: Descriptor) -> Lines {
        let (k_major, length, bits) = (wgmma.k_major[1], wgmma.k, wgmma.bits);
        Lines { descriptor, k_major, first: 0, count: wgmma.n, length, bits }
    }

    /// The offset of a piece of 16 bytes: of a line, or of the elements of all lines at one `k`.
    #[inline(always)]
    fn offset(&self, along: usize, piece: usize) -> u64 {
        let bytes = piece as u64 * PIECE;
        if self.k_major {
            return self.descriptor.place(true, (self.first + along) as u64, bytes);
        }
        let first = (self.first * self.bits as usize / 8) as u64;
        self.descriptor.place(false, along as u64, first + bytes)
    }

    /// How many pieces a number of elements side by side has.
    fn pieces(&self, elements: usize) -> usize {
        elements * self.bits as usize / (8 * PIECE as usize)
    }

    /// The offsets of all pieces.
    fn offsets(&self) -> impl Iterator<Item = u64> {
        let (lines, elements) =
            if self.k_major { (self.count, self.length) } else { (self.length, self.count) };
        let pieces = self.pieces(elements);
        (0..lines).flat_map(move |line| (0..pieces).map(move |piece| self.offset(line, piece)))
    }

    /// Reads them.
    fn read(&self, at: &At<'_, '_>, into: &mut [Line]) -> Tried<()> {
        let own = at.own(self.descriptor.start);
        if self.k_major {
            let pieces = self.pieces(self.length);
            for (line, into) in into.iter_mut().enumerate() {
                for piece in 0..pieces {
                    into.set(piece, words(at.piece(own, self.offset(line, piece))?));
                }
            }
            return Ok(());
        }
        // Elements of 16 bits: a word of a line has those of two neighbouring pieces.
        for line in 0..self.length / 2 {
            for piece in 0..self.pieces(self.count) {
                let read = |odd: usize| at.piece(own, self.offset(line * 2 + odd, piece));
                let [even, odd] = [words(read(0)?), words(read(1)?)];
                for (column, line_of) in into[piece * 8..].iter_mut().enumerate().take(8) {
                    let half = |words: &[u32; 4]| words[column / 2] >> (column % 2 * 16) & 0xffff;
                    line_of.0[line % 16] = half(&even) | half(&odd) << 16;
                }
            }
        }
        Ok(())
    }
}

impl At<'_, '_> {
    /// The CTA's own shared memory, if the piece at an offset is in it, and the difference between indices in it and
    /// offsets.
    fn own(&self, offset: u64) -> Option<(&SharedBytes, u64)> {
        let address = address(self.spaces, offset);
        let judged = self.spaces.judge(Memory::Shared, address, PIECE, Use::Read);
        judged.ok().map(|(cells, at)| (cells, at.wrapping_sub(offset)))
    }

    /// 16 bytes of the CTA's own shared memory, from whose start descriptors count.
    #[inline(always)]
    fn piece(&self, own: Option<(&SharedBytes, u64)>, offset: u64) -> Tried<[u64; 2]> {
        if let Some((cells, start)) = own {
            let at = offset.wrapping_add(start);
            // The index is aligned, as all offsets of pieces are, so only the bounds are checked.
            if at.checked_add(16).is_some_and(|end| end <= cells.len()) {
                return Ok([u64::load(cells, at as usize), u64::load(cells, at as usize + 8)]);
            }
        }
        self.judged(offset)
    }

    /// The same, checked by [`Spaces::judge`], which finds the fault.
    #[cold]
    fn judged(&self, offset: u64) -> Tried<[u64; 2]> {
        let address = address(self.spaces, offset);
        match self.spaces.judge(Memory::Shared, address, PIECE, Use::Read) {
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
