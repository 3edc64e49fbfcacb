//! Tells the sanitizers which memory a matrix instruction uses.

use super::fragment::{stride_of, word};
use super::{tiles, wgmma};
use crate::fault::Use;
use crate::sanitize::{Actor, Agent, Sanitizer, Touch};
use crate::warp::access::addresses;
use crate::warp::bounds::observe_range;
use crate::warp::observe::located;
use crate::warp::run::first;
use crate::warp::{Env, Split, Warp};
use softwarp_ir::matrix::MatrixOp;
use softwarp_ir::{Memory, Operands, Order};
use softwarp_units::lanes::{LANES, lanes};

impl Warp {
    /// A matrix instruction is about to be executed.
    pub(crate) fn observe_matrix(
        &self,
        env: &Env<'_>,
        sanitizer: &Sanitizer<'_>,
        actor: &Actor,
        split: &Split,
        op: &MatrixOp,
        operands: &Operands,
    ) {
        let activation = &self.calls[split.call as usize];
        let frame = &activation.frame;
        let address = operands.addresses.first();
        let own = address.map_or([0; LANES], |address| addresses(activation, address));
        let memory = address.map_or(Memory::Shared, |address| address.memory);
        let touch = |lane: usize, at: u64, bytes: u64, usage: Use, data: Option<&[u8]>| {
            let (space, window) = match memory {
                Memory::Generic => env.spaces.window_of(at),
                memory => (memory, 0),
            };
            let at = at.wrapping_sub(window);
            // What is wrong with an address is found when it is used.
            let Some((kept, cta, start)) = located(env, space, at) else { return };
            if !at.is_multiple_of(bytes) {
                return;
            }
            observe_range(env, (sanitizer, actor), lane, (space, at), bytes, usage);
            let (order, completes) = (Order::WEAK, None);
            let agent = if matches!(op, MatrixOp::Wgmma(_)) { Agent::Product } else { Agent::Thread };
            let (space_of, address_of) = (kept, start);
            let touch = Touch {
                lane,
                usage,
                order,
                space: space_of,
                cta,
                address: address_of,
                bytes,
                data,
                agent,
                completes,
            };
            let named = || address.and_then(|address| self.called(env, split, address, space, at));
            sanitizer.touch(env.launch, actor, &touch, &named);
        };
        match op {
            MatrixOp::Load(tiles) | MatrixOp::Store(tiles) => {
                let loads = matches!(op, MatrixOp::Load(_));
                let usage = if loads { Use::Read } else { Use::Write };
                let rows = (tiles.count * tiles.kind.rows(loads)) as usize;
                let given = (!loads).then(|| tiles::rows_given(frame, tiles, operands));
                for lane in lanes(actor.lanes).filter(|&lane| lane < rows) {
                    let row = given.map(|rows| rows[lane].map(u32::to_le_bytes));
                    touch(lane, own[lane], 16, usage, row.as_ref().map(|row| row.as_flattened()));
                }
            }
            MatrixOp::FragmentLoad(memory) | MatrixOp::FragmentStore(memory) => {
                let loads = matches!(op, MatrixOp::FragmentLoad(_));
                let usage = if loads { Use::Read } else { Use::Write };
                let bytes = memory.piece_bytes();
                let stride = operands.reads.get(if loads { 0 } else { memory.fragment.registers() });
                for lane in lanes(actor.lanes) {
                    let pieces = memory.pieces(lane, stride_of(memory, frame, stride, lane));
                    for piece in pieces {
                        let word =
                            (!loads).then(|| word(&piece, frame, memory, operands, lane).to_le_bytes());
                        let data = word.as_ref().and_then(|word| word.get(..bytes as usize));
                        touch(lane, own[lane].wrapping_add(piece.offset), bytes, usage, data);
                    }
                }
            }
            MatrixOp::Wgmma(op) => {
                let lane = first(actor.lanes);
                sanitizer.issue(env.launch, actor, Agent::Product);
                wgmma::pieces(frame, op, operands, self.index as usize % 4, lane, |at| {
                    touch(lane, env.spaces.window.wrapping_add(at), 16, Use::Read, None);
                });
            }
            MatrixOp::Transpose | MatrixOp::Mma(_) => {}
        }
    }
}
