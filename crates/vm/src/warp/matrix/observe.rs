//! Tells the sanitizers which memory a matrix instruction uses.

use super::{tiles, wgmma};
use crate::fault::Use;
use crate::lanes::{LANES, lanes};
use crate::program::matrix::MatrixOp;
use crate::program::{Memory, Operands};
use crate::sanitize::{Actor, Sanitizer, Touch};
use crate::warp::access::addresses;
use crate::warp::observe::located;
use crate::warp::run::first;
use crate::warp::{Env, Split, Warp};

impl Warp {
    /// A matrix instruction is about to be executed.
    pub(in crate::warp) fn observe_matrix(
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
            let touch = Touch { lane, usage, strong: false, space: kept, cta, address: start, bytes, data };
            let named = || address.and_then(|address| self.called(env, split, address, space, at));
            sanitizer.touch(env.launch, actor, &touch, &named);
        };
        match op {
            MatrixOp::Load(tiles) => {
                let rows = (tiles.count * tiles.kind.rows(true)) as usize;
                let giving = lanes(actor.lanes).filter(|&lane| lane < rows);
                giving.for_each(|lane| touch(lane, own[lane], 16, Use::Read, None));
            }
            MatrixOp::Store(tiles) => {
                let rows = (tiles.count * tiles.kind.rows(false)) as usize;
                let words = tiles::rows(frame, tiles, operands);
                for lane in lanes(actor.lanes).filter(|&lane| lane < rows) {
                    let row = words[lane].map(u32::to_le_bytes);
                    touch(lane, own[lane], 16, Use::Write, Some(row.as_flattened()));
                }
            }
            MatrixOp::FragmentLoad(memory) => {
                let bytes = memory.piece_bytes();
                for lane in lanes(actor.lanes) {
                    for piece in memory.pieces(lane, memory.stride_of(frame, operands.reads.first(), lane)) {
                        touch(lane, own[lane].wrapping_add(piece.offset), bytes, Use::Read, None);
                    }
                }
            }
            MatrixOp::FragmentStore(memory) => {
                let bytes = memory.piece_bytes();
                let stride = operands.reads.get(memory.fragment.registers());
                for lane in lanes(actor.lanes) {
                    for piece in memory.pieces(lane, memory.stride_of(frame, stride, lane)) {
                        let word = piece.word(frame, memory, operands, lane).to_le_bytes();
                        let data = word.get(..bytes as usize);
                        touch(lane, own[lane].wrapping_add(piece.offset), bytes, Use::Write, data);
                    }
                }
            }
            MatrixOp::Wgmma(op) => {
                let lane = first(actor.lanes);
                wgmma::pieces(frame, op, operands, self.index as usize % 4, lane, |at| {
                    touch(lane, env.spaces.window.wrapping_add(at), 16, Use::Read, None);
                });
            }
            MatrixOp::Transpose | MatrixOp::Mma(_) => {}
        }
    }
}
