//! Matrix instructions of a warp (PTX ISA sections 9.7.14 and 9.7.15).
//!
//! The lanes have converged before. Registers of lanes that do not take part are read as they are.
//!
//! Each kind of instruction has one iterator over what it accesses: `tiles::rows`, `fragment::pieces` and
//! `wgmma::Lines`. The executor performs these accesses, and the observer (`observe.rs`) reports them.

mod fragment;
mod mma;
mod observe;
mod registers;
mod tiles;
mod wgmma;

pub(super) use mma::multiply;

use super::addresses::{addresses, based};
use super::run::Flow;
use super::{Activation, Env, Split, Warp};
use crate::fault::{FaultKind, Tried, Trouble, Use};
use crate::memory::Spaces;
use crate::memory::cell::SharedBytes;
use softwarp_ir::matrix::{FragmentLoad, FragmentStore, LoadMatrix, StoreMatrix};
use softwarp_ir::{Address, MatrixOp, Memory};
use softwarp_units::lanes::{ALL, Frame, LANES};
use softwarp_units::matrix::float::fragment::Sums;
use softwarp_units::matrix::lines::Line;

/// Buffers for matrices too large for the stack.
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
    /// Executes a matrix instruction for the lanes of a split that take part.
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
            MatrixOp::Load(_)
            | MatrixOp::Store(_)
            | MatrixOp::FragmentLoad(_)
            | MatrixOp::FragmentStore(_) => {
                let Some(address) = memory_operand(op) else { return Ok(Flow::Next) };
                let places = MatrixAddresses::of(spaces, activation, address);
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

/// `ldmatrix` by all lanes, with addresses in a register. False if it cannot be performed: nothing has happened then.
#[inline]
pub(super) fn load_tiles(frame: &mut Frame, op: &LoadMatrix, spaces: &Spaces<'_>) -> bool {
    let Address { memory, base: Some(base), offset, .. } = op.row else { return false };
    let places = MatrixAddresses { spaces, memory, addresses: based(frame, base, offset) };
    memory == Memory::Shared && tiles::load(frame, op, &places, ALL).is_ok()
}

/// The operand of an instruction that is an address; none where there is only a descriptor, or no memory is accessed.
fn memory_operand(op: &MatrixOp) -> Option<&Address> {
    match op {
        MatrixOp::Load(LoadMatrix { row: address, .. })
        | MatrixOp::Store(StoreMatrix { row: address, .. })
        | MatrixOp::FragmentLoad(FragmentLoad { address, .. })
        | MatrixOp::FragmentStore(FragmentStore { address, .. }) => Some(address),
        MatrixOp::Transpose(_) | MatrixOp::Mma(_) | MatrixOp::Wgmma(_) => None,
    }
}

/// The address that each lane gives, and the memory that it is in.
struct MatrixAddresses<'a, 'b> {
    spaces: &'b Spaces<'a>,
    memory: Memory,
    addresses: [u64; LANES],
}

impl<'a, 'b> MatrixAddresses<'a, 'b> {
    /// The addresses that an operand stands for. Inlined, so that they are not copied.
    #[inline(always)]
    fn of(spaces: &'b Spaces<'a>, activation: &Activation, operand: &Address) -> MatrixAddresses<'a, 'b> {
        MatrixAddresses { spaces, memory: operand.memory, addresses: addresses(activation, operand) }
    }

    /// The state space of an address, and the address there.
    fn resolve(&self, address: u64) -> (Memory, u64) {
        match self.memory {
            Memory::Generic => {
                let (memory, window) = self.spaces.window_of(address);
                (memory, address.wrapping_sub(window))
            }
            memory => (memory, address),
        }
    }

    /// The shared memory that contains `bytes` at the addresses of the first lanes, all aligned, and the address of
    /// its first byte. `None` if they are elsewhere or misaligned, or each lane must be checked by itself.
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

    /// The piece of memory that the address of a lane is in, and the address of its first byte. `None` for memory that may
    /// not be accessed by everything.
    fn piece(&self, lane: usize) -> Option<(&'a SharedBytes, u64)> {
        let (memory, address) = self.resolve(self.addresses[lane]);
        let window = self.addresses[lane].wrapping_sub(address);
        let (cells, base) = match memory {
            Memory::Shared | Memory::Cluster | Memory::Global => self.spaces.view(memory, address, &mut 0)?,
            _ => return None,
        };
        Some((cells, base.wrapping_add(window)))
    }

    /// The same as [`MatrixAddresses::judge`], of an access that is probably in a piece of memory.
    #[inline]
    fn judge_near(
        &self,
        near: Option<(&'a SharedBytes, u64)>,
        (lane, offset): (usize, u64),
        bytes: u64,
        usage: Use,
    ) -> Tried<(&'a SharedBytes, usize)> {
        let address = self.addresses[lane].wrapping_add(offset);
        if let Some((cells, base)) = near
            && let Some(last) = cells.len().checked_sub(bytes)
            && address.wrapping_sub(base) <= last
            && address.is_multiple_of(bytes)
        {
            return Ok((cells, address.wrapping_sub(base) as usize));
        }
        self.judge(lane, offset, bytes, usage)
    }

    /// The cells of an access that begins at an offset from a lane's address, and the index of the first; or a fault.
    fn judge(&self, lane: usize, offset: u64, bytes: u64, usage: Use) -> Tried<(&'a SharedBytes, usize)> {
        let address = self.addresses[lane].wrapping_add(offset);
        let (memory, at) = self.resolve(address);
        match self.spaces.judge(memory, at, bytes, usage) {
            Ok((cells, at)) => Ok((cells, at as usize)),
            Err(mut bad) => {
                bad.generic = (self.memory == Memory::Generic).then_some(address);
                Err(Trouble::new(lane, FaultKind::Access(bad)))
            }
        }
    }
}
