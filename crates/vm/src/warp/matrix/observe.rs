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
use softwarp_ir::matrix::{FragmentLoad, FragmentStore, LoadMatrix, StoreMatrix};
use softwarp_ir::{MatrixOp, Memory, Order};
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
    ) {
        let activation = &self.calls[split.call as usize];
        let frame = &activation.frame;
        let address = match op {
            MatrixOp::Load(LoadMatrix { row: address, .. })
            | MatrixOp::Store(StoreMatrix { row: address, .. })
            | MatrixOp::FragmentLoad(FragmentLoad { address, .. })
            | MatrixOp::FragmentStore(FragmentStore { address, .. }) => Some(address),
            MatrixOp::Transpose(_) | MatrixOp::Mma(_) | MatrixOp::Wgmma(_) => None,
        };
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
            MatrixOp::Load(LoadMatrix { tiles, .. }) => {
                let rows = (tiles.count * tiles.kind.rows(true)) as usize;
                for lane in lanes(actor.lanes).filter(|&lane| lane < rows) {
                    touch(lane, own[lane], 16, Use::Read, None);
                }
            }
            MatrixOp::Store(op) => {
                let count = (op.tiles.count * op.tiles.kind.rows(false)) as usize;
                let rows = tiles::rows_given(frame, op);
                for lane in lanes(actor.lanes).filter(|&lane| lane < count) {
                    let row = rows[lane].map(u32::to_le_bytes);
                    touch(lane, own[lane], 16, Use::Write, Some(row.as_flattened()));
                }
            }
            MatrixOp::FragmentLoad(FragmentLoad { stride, memory, .. }) => {
                let bytes = memory.piece_bytes();
                for lane in lanes(actor.lanes) {
                    for piece in memory.pieces(lane, stride_of(memory, frame, *stride, lane)) {
                        touch(lane, own[lane].wrapping_add(piece.offset), bytes, Use::Read, None);
                    }
                }
            }
            MatrixOp::FragmentStore(op) => {
                let memory = &*op.memory;
                let bytes = memory.piece_bytes();
                for lane in lanes(actor.lanes) {
                    for piece in memory.pieces(lane, stride_of(memory, frame, op.stride, lane)) {
                        let word = word(&piece, frame, op, lane).to_le_bytes();
                        let data = word.get(..bytes as usize);
                        touch(lane, own[lane].wrapping_add(piece.offset), bytes, Use::Write, data);
                    }
                }
            }
            MatrixOp::Wgmma(op) => {
                let lane = first(actor.lanes);
                sanitizer.issue(env.launch, actor, Agent::Product);
                wgmma::pieces(frame, op, self.index as usize % 4, lane, |at| {
                    touch(lane, env.spaces.window.wrapping_add(at), 16, Use::Read, None);
                });
            }
            MatrixOp::Transpose(_) | MatrixOp::Mma(_) => {}
        }
    }
}
