//! Matrices in shared memory, as products and copies read them: of the CTA itself, or of its peer.

use crate::fault::{FaultKind, Tried, Trouble, Use};
use crate::memory::Spaces;
use crate::memory::cell::{SharedBytes, Unit};
use softwarp_ir::Memory;
use softwarp_isa::device::CTA_SHARED;
use softwarp_units::matrix::lines::Line;
use softwarp_units::tensor_core::descriptor::SharedDescriptor;
use softwarp_units::tensor_core::element::{Element, From};

/// Bytes of a piece of a line.
pub(super) const PIECE: u64 = 16;

/// The shared memory of a CTA of the cluster.
pub(super) struct Source<'a, 'b> {
    spaces: &'b Spaces<'a>,
    /// The address of the CTA's first byte.
    window: u64,
    /// The lane that a fault is of.
    lane: usize,
    /// Its bytes, and the difference between indices in them and offsets.
    cells: Option<(&'a SharedBytes, u64)>,
}

impl<'a, 'b> Source<'a, 'b> {
    /// That of the CTA with a rank.
    pub(super) fn new(spaces: &'b Spaces<'a>, rank: usize, lane: usize) -> Source<'a, 'b> {
        let window = rank as u64 * CTA_SHARED;
        let cells = spaces.shared_of(window).ok().map(|(cells, start)| (cells, window.wrapping_sub(start)));
        Source { spaces, window, lane, cells }
    }

    /// 16 bytes at an offset.
    #[inline(always)]
    pub(super) fn piece(&self, offset: u64) -> Tried<[u32; 4]> {
        if let Some((cells, start)) = self.cells {
            let at = offset.wrapping_add(start);
            // The index is aligned, as all offsets of pieces are, so only the bounds are checked.
            if at.checked_add(PIECE).is_some_and(|end| end <= cells.len()) {
                return Ok(words(cells, at));
            }
        }
        self.judged(offset)
    }

    /// The same, checked by [`Spaces::judge`], which finds the fault.
    #[cold]
    fn judged(&self, offset: u64) -> Tried<[u32; 4]> {
        let address = self.window.wrapping_add(offset);
        match self.spaces.judge(Memory::Cluster, address, PIECE, Use::Read) {
            Ok((cells, at)) => Ok(words(cells, at)),
            Err(bad) => Err(Trouble::new(self.lane, FaultKind::Access(bad))),
        }
    }
}

fn words(cells: &SharedBytes, at: u64) -> [u32; 4] {
    let [low, high] = [u64::load(cells, at as usize), u64::load(cells, at as usize + 8)];
    [low as u32, (low >> 32) as u32, high as u32, (high >> 32) as u32]
}

/// Rows of A, or columns of B.
#[derive(Clone, Copy)]
pub(super) struct Lines {
    pub(super) descriptor: SharedDescriptor,
    pub(super) element: Element,
    /// Whether the elements of a line are side by side. If not, those of all lines at one `k` are.
    pub(super) k_major: bool,
    /// The first.
    pub(super) first: usize,
    /// Elements of each.
    pub(super) length: usize,
}

impl Lines {
    /// Calls a function with the offset of each piece of `count` lines.
    pub(super) fn offsets(&self, count: usize, mut f: impl FnMut(u64)) {
        let bits = self.element.bits() as usize;
        if self.k_major {
            for line in 0..count {
                for piece in 0..(self.length * bits).div_ceil(128) {
                    f(self.descriptor.place(true, (self.first + line) as u64, piece as u64 * PIECE));
                }
            }
            return;
        }
        let each = 128 / bits;
        for at in 0..self.length {
            for piece in self.first / each..(self.first + count).div_ceil(each) {
                f(self.descriptor.place(false, at as u64, piece as u64 * PIECE));
            }
        }
    }

    /// Reads them.
    pub(super) fn read(&self, source: &Source<'_, '_>, into: &mut [Line]) -> Tried<()> {
        let bits = self.element.bits() as usize;
        if self.k_major {
            let pieces = (self.length * bits).div_ceil(128);
            for (line, into) in into.iter_mut().enumerate() {
                for piece in 0..pieces {
                    let at = self.descriptor.place(true, (self.first + line) as u64, piece as u64 * PIECE);
                    into.set(piece, self.element.take(From::Shared, source.piece(at)?));
                }
            }
            return Ok(());
        }
        let each = 128 / bits;
        let mask = u32::MAX >> (32 - bits);
        into.fill(Line::ZERO);
        for at in 0..self.length {
            let (word, shift) = (at * bits / 32, at * bits % 32);
            for piece in self.first / each..(self.first + into.len()).div_ceil(each) {
                let words = source.piece(self.descriptor.place(false, at as u64, piece as u64 * PIECE))?;
                for within in 0..each {
                    let line = (piece * each + within).checked_sub(self.first);
                    if let Some(line) = line.and_then(|line| into.get_mut(line)) {
                        let code = words[within * bits / 32] >> (within * bits % 32) & mask;
                        line.0[word % 16] |= code << shift;
                    }
                }
            }
        }
        Ok(())
    }
}
