//! Matrix instructions of a warp (PTX ISA sections 9.7.14 and 9.7.15).
//!
//! The lanes have come together before. Of lanes that are not there the registers are taken as they are.

mod fragment;
mod mma;
mod observe;
mod registers;
mod tiles;
mod wgmma;

pub(super) use mma::multiply;

use super::access::addresses;
use super::run::Flow;
use super::{Env, Split, Warp};
use crate::fault::{FaultKind, Tried, Trouble, Use};
use crate::memory::Spaces;
use crate::memory::cell::SharedBytes;
use softwarp_ir::matrix::{FragmentLoad, FragmentStore, LoadMatrix, StoreMatrix};
use softwarp_ir::{MatrixOp, Memory};
use softwarp_units::matrix::float::fragment::Sums;
use softwarp_units::matrix::lines::Line;

/// Room for matrices too large for the stack, used again and again.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    b: Vec<u32>,
    c: Vec<u32>,
    d: Vec<u32>,
    chosen: Vec<u32>,
    columns: Vec<Line>,
    sums: Vec<Sums>,
}

impl Warp {
    /// A step of its kind, by the lanes of a split that take part.
    pub(super) fn matrix(
        &mut self,
        env: &mut Env<'_>,
        split: &mut Split,
        op: &MatrixOp,
        taking: u32,
    ) -> Tried<Flow> {
        if matches!(op, MatrixOp::Wgmma(_)) {
            env.barriers.products().0[self.index as usize].issue();
        }
        let activation = &mut self.calls[split.call as usize];
        let spaces = &env.spaces;
        let done = match op {
            MatrixOp::Mma(op) => {
                multiply(&mut activation.frame, op, taking);
                return Ok(Flow::Next);
            }
            MatrixOp::Wgmma(op) => {
                let warp = self.index as usize % 4;
                let at = wgmma::At { spaces, warp, taking };
                wgmma::multiply(&mut activation.frame, &mut self.scratch, op, &at)
            }
            MatrixOp::Transpose(op) => {
                tiles::transpose(&mut activation.frame, op, taking);
                return Ok(Flow::Next);
            }
            MatrixOp::Load(LoadMatrix { row: address, .. })
            | MatrixOp::Store(StoreMatrix { row: address, .. })
            | MatrixOp::FragmentLoad(FragmentLoad { address, .. })
            | MatrixOp::FragmentStore(FragmentStore { address, .. }) => {
                let places =
                    Places { spaces, memory: address.memory, addresses: addresses(activation, address) };
                let frame = &mut activation.frame;
                match op {
                    MatrixOp::Load(op) => tiles::load(frame, op, &places, taking),
                    MatrixOp::Store(op) => tiles::store(frame, op, &places, taking),
                    MatrixOp::FragmentLoad(op) => fragment::load(frame, op, &places, taking),
                    MatrixOp::FragmentStore(op) => fragment::store(frame, op, &places, taking),
                    _ => Ok(()),
                }
                .map_err(|trouble| self.blame(env, split.call as usize, address, trouble))
            }
        };
        done.map(|()| Flow::Next)
    }
}

/// Memory, and the address that each lane gives.
struct Places<'a, 'b> {
    spaces: &'b Spaces<'a>,
    memory: Memory,
    addresses: [u64; softwarp_units::lanes::LANES],
}

impl<'a> Places<'a, '_> {
    /// The shared memory that as many bytes at the addresses of the first lanes are in, aligned, and the address of its
    /// first byte; `None` if they are not, or one has to look closer.
    fn shared(&self, lanes: usize, bytes: u64) -> Option<(&'a SharedBytes, u64)> {
        let (memory, window) = match self.memory {
            Memory::Generic => self.spaces.window_of(self.addresses[0]),
            memory => (memory, 0),
        };
        if !memory.is_shared() {
            return None;
        }
        let (cells, base) = self.spaces.view(memory, self.addresses[0].wrapping_sub(window), &mut 0)?;
        let (base, last) = (base.wrapping_add(window), cells.len().checked_sub(bytes)?);
        let fits = |address: &u64| address.is_multiple_of(bytes) & (address.wrapping_sub(base) <= last);
        let all = self.addresses.iter().take(lanes).fold(true, |all, address| all & fits(address));
        all.then_some((cells, base))
    }

    /// Where something is that lies so far from a lane's address; or what is wrong with it.
    fn judge(&self, lane: usize, offset: u64, bytes: u64, usage: Use) -> Tried<(&'a SharedBytes, usize)> {
        let address = self.addresses[lane].wrapping_add(offset);
        let (memory, window) = match self.memory {
            Memory::Generic => self.spaces.window_of(address),
            memory => (memory, 0),
        };
        match self.spaces.judge(memory, address.wrapping_sub(window), bytes, usage) {
            Ok((cells, at)) => Ok((cells, at as usize)),
            Err(mut bad) => {
                bad.generic = (self.memory == Memory::Generic).then_some(address);
                Err(Trouble::new(lane, FaultKind::Access(bad)))
            }
        }
    }
}
