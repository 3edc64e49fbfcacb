//! Tensor memory and the fifth generation of tensor cores (PTX ISA section 9.7.16).
//!
//! What is asynchronous is done when it is issued, as everywhere ([`super::asynchronous`]): loads and stores need not be
//! waited for, fences order nothing, and `tcgen05.commit` arrives at once. What remains to wait for is room in tensor
//! memory, and the peer CTA.

mod access;
mod copy;
mod observe;
mod product;
mod shared;
mod written;

use super::run::{Flow, first};
use super::{Env, Split, Warp};
use crate::fault::{FaultKind, Tried, Trouble, Use};
use crate::memory::cell::Unit;
use crate::tensor_memory::{Allocation, Answer, Collective, Owner, alone, together};
use shared::Source;
use softwarp_ir::TensorCoreOp;
use softwarp_ir::tensor_core::{TensorAddress, TensorAlloc, TensorCommit, TensorDealloc};
use softwarp_units::lanes::{Frame, LANES, lanes};
use softwarp_units::matrix::lines::Line;
use softwarp_units::tensor_core::descriptor::SharedDescriptor;
use softwarp_units::tensor_core::product::Scratch;
use softwarp_units::tensor_core::{Address, BadField};

/// Buffers of products.
#[derive(Debug, Default)]
pub(crate) struct Buffers {
    rows: Vec<Line>,
    columns: Vec<Line>,
    scratch: Scratch,
}

/// A use that is wrong.
fn wrong<T>(lane: usize, message: impl Into<String>) -> Tried<T> {
    Err(Trouble::new(lane, FaultKind::TensorCore(message.into())))
}

/// A field of a descriptor that is wrong.
fn bad_field(lane: usize) -> impl Fn(BadField) -> Box<Trouble> {
    move |bad| Trouble::new(lane, FaultKind::TensorCore(bad.to_string()))
}

/// The address that a lane has.
fn address(frame: &Frame, operand: TensorAddress, lane: usize) -> Address {
    let base = operand.base.map_or(0, |slot| frame.row::<u32>(slot)[lane]);
    Address(base.wrapping_add(operand.offset))
}

/// What all lanes of a warp must have alike.
fn uniform<T: PartialEq + Copy>(row: &[T; LANES], taking: u32, what: &str) -> Tried<T> {
    let value = row[first(taking)];
    match lanes(taking).find(|&lane| row[lane] != value) {
        Some(lane) => wrong(lane, format!("the threads of a warp have different {what}")),
        None => Ok(value),
    }
}

impl Warp {
    /// Executes an instruction of tensor memory for the lanes of a split that take part.
    pub(super) fn tensor_core(
        &mut self,
        env: &mut Env<'_>,
        split: &mut Split,
        op: &TensorCoreOp,
        taking: u32,
    ) -> Tried<Flow> {
        let call = split.call as usize;
        match op {
            TensorCoreOp::Alloc(op) => return self.tensor_alloc(env, split, op, taking),
            TensorCoreOp::Dealloc(op) => return self.tensor_dealloc(env, call, op, taking),
            TensorCoreOp::Relinquish(op) => {
                return Ok(match self.manage(env, op.ctas, Collective::Relinquish, taking)? {
                    Some(_) => Flow::Next,
                    None => Flow::Again,
                });
            }
            TensorCoreOp::Load(op) => self.tensor_load(env, call, op, taking)?,
            TensorCoreOp::Store(op) => self.tensor_store(env, call, op, taking)?,
            TensorCoreOp::Wait(_) | TensorCoreOp::Fence(_) => {}
            TensorCoreOp::Commit(op) => {
                self.tensor_commit(env, call, op, taking)?;
                // On the hardware a product takes long, and all warps that wait for a phase see its end. Here others run
                // first: the next phase must not end before they have looked.
                self.yielded = true;
                split.pc += 1;
                return Ok(Flow::Gone);
            }
            TensorCoreOp::Copy(op) => self.tensor_copy_in(env, call, op, taking)?,
            TensorCoreOp::Shift(op) => self.tensor_shift(env, call, op, taking)?,
            TensorCoreOp::Mma(op) => self.tensor_mma(env, call, op, taking)?,
        }
        Ok(Flow::Next)
    }

    /// Allocates, frees or relinquishes, alone or with the peer CTA: the first column, none if it must wait.
    fn manage(
        &mut self,
        env: &mut Env<'_>,
        ctas: u8,
        wanted: Collective,
        taking: u32,
    ) -> Tried<Option<usize>> {
        let rank = env.rank as usize;
        let answer = match ctas {
            1 => alone(&mut env.tensor[rank], wanted),
            _ => together(env.tensor, rank, self.index, wanted),
        };
        match answer {
            Answer::Done(column) => {
                self.advanced = true;
                Ok(Some(column))
            }
            Answer::Wait => {
                // Others run first; then the operation is executed again.
                (self.yielded, self.waited) = (true, true);
                Ok(None)
            }
            Answer::Wrong(message) => wrong(first(taking), message),
        }
    }

    /// `tcgen05.alloc`
    fn tensor_alloc(
        &mut self,
        env: &mut Env<'_>,
        split: &Split,
        op: &TensorAlloc,
        taking: u32,
    ) -> Tried<Flow> {
        let (lane, call) = (first(taking), split.call as usize);
        let columns = self.calls[call].frame.row::<u32>(op.columns);
        let columns = uniform(&columns, taking, "numbers of columns")? as usize;
        // A bad address is found before anything is allocated.
        let to = self.operands(env, call, &op.to, taking)[lane];
        let (cells, at) = to.need(&env.spaces, lane, (4, 4), Use::Write)?;
        let provided = env.tensor[env.rank as usize].provide(env.launch.account);
        provided.map_err(|refused| Trouble::new(lane, FaultKind::out_of_memory("tensor memory", refused)))?;
        let Some(column) = self.manage(env, op.ctas, Collective::Allocate { columns }, taking)? else {
            return Ok(Flow::Again);
        };
        (column as u32).store(cells, at as usize);
        let owner = Owner { warp: self.index, code: self.calls[call].code, pc: split.pc };
        env.tensor[env.rank as usize].own(column, owner);
        Ok(Flow::Next)
    }

    /// `tcgen05.dealloc`
    fn tensor_dealloc(
        &mut self,
        env: &mut Env<'_>,
        call: usize,
        op: &TensorDealloc,
        taking: u32,
    ) -> Tried<Flow> {
        let lane = first(taking);
        let frame = &self.calls[call].frame;
        let columns = uniform(&frame.row::<u32>(op.columns), taking, "numbers of columns")? as usize;
        let at = Address(uniform(&frame.row::<u32>(op.address), taking, "tensor memory addresses")?);
        if at.lane() != 0 {
            return wrong(
                lane,
                format!("tcgen05.dealloc at {:#010x}: the address of an allocation has lane 0", at.0),
            );
        }
        let wanted = Collective::Free(Allocation { first: at.column(), columns });
        Ok(match self.manage(env, op.ctas, wanted, taking)? {
            Some(_) => Flow::Next,
            None => Flow::Again,
        })
    }

    /// `tcgen05.commit`: what was issued is done, so the arrival follows at once.
    fn tensor_commit(&mut self, env: &mut Env<'_>, call: usize, op: &TensorCommit, taking: u32) -> Tried<()> {
        let places = self.operands(env, call, &op.mbarrier, taking);
        let masks = op.multicast.map(|slot| self.calls[call].frame.row::<u32>(slot));
        for lane in lanes(taking) {
            match &masks {
                None => super::asynchronous::arrive(&env.spaces, places[lane], lane)?,
                Some(masks) => {
                    for rank in lanes(masks[lane]) {
                        let place = places[lane].in_cta(rank as u64);
                        super::asynchronous::arrive(&env.spaces, place, lane)?;
                    }
                }
            }
        }
        self.advanced = true;
        Ok(())
    }

    /// The ranks of the CTAs whose tensor memory an instruction accesses: the own one, or both of the pair, the even one
    /// first.
    fn cta_group(&self, env: &Env<'_>, ctas: usize, lane: usize) -> Tried<std::ops::Range<usize>> {
        let rank = env.rank as usize;
        if ctas == 1 {
            return Ok(rank..rank + 1);
        }
        if rank ^ 1 >= env.tensor.len() {
            return wrong(
                lane,
                format!(".cta_group::2 needs a peer CTA: the cluster has {}", env.tensor.len()),
            );
        }
        if env.spaces.cluster[rank ^ 1].ended.get() {
            return wrong(lane, ".cta_group::2 needs the peer CTA, which has ended");
        }
        Ok(rank & !1..(rank & !1) + 2)
    }
}
