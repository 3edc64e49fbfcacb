//! Tells the sanitizers which memory a matrix instruction accesses: the rows, pieces and lines that the executor reads or
//! writes.

use super::tiles::{self, ROW, row_count, rows};
use super::wgmma::{self, PIECE};
use super::{MatrixAddresses, fragment, memory_operand};
use crate::fault::Use;
use crate::sanitize::{Actor, Agent, Sanitizer, Touch};
use crate::warp::bounds::observe_range;
use crate::warp::observe::shadow_address;
use crate::warp::run::first;
use crate::warp::{Activation, Env, Split, Warp};
use softwarp_ir::matrix::{FragmentLoad, FragmentStore, LoadMatrix, StoreMatrix, Wgmma};
use softwarp_ir::{Address, MatrixOp, Memory};

/// Reports to a sanitizer.
struct Observer<'a, 'b> {
    warp: &'a Warp,
    env: &'a Env<'b>,
    sanitizer: &'a Sanitizer<'a>,
    actor: &'a Actor,
    split: &'a Split,
    /// The operand that is an address.
    operand: Option<&'a Address>,
    agent: Agent,
}

/// An access of a lane.
struct Piece<'a> {
    lane: usize,
    memory: Memory,
    at: u64,
    bytes: u64,
    usage: Use,
    /// The bytes that it writes.
    data: Option<&'a [u8]>,
}

impl Observer<'_, '_> {
    fn touch(&self, piece: &Piece<'_>) {
        let &Piece { lane, memory, at, bytes, usage, data } = piece;
        let (env, agent) = (self.env, self.agent);
        // The executor reports bad addresses.
        let Some(place) = shadow_address(env, memory, at) else { return };
        if !at.is_multiple_of(bytes) {
            return;
        }
        observe_range(env, (self.sanitizer, self.actor), lane, (memory, at), bytes, usage);
        let touch = Touch { data, agent, ..Touch::by_thread(lane, usage, place, bytes) };
        let named =
            || self.operand.and_then(|operand| self.warp.called(env, self.split, operand, memory, at));
        self.sanitizer.touch(env.launch, self.actor, &touch, &named);
    }

    /// An access that begins at an offset from a lane's address.
    fn access(
        &self,
        places: &MatrixAddresses<'_, '_>,
        lane: usize,
        (offset, bytes): (u64, u64),
        usage: Use,
        data: Option<&[u8]>,
    ) {
        let (memory, at) = places.resolve(places.addresses[lane].wrapping_add(offset));
        self.touch(&Piece { lane, memory, at, bytes, usage, data });
    }

    /// `ldmatrix`
    fn load(&self, places: &MatrixAddresses<'_, '_>, op: &LoadMatrix) {
        for lane in rows(row_count(&op.tiles, true), self.actor.lanes) {
            self.access(places, lane, (0, ROW), Use::Read, None);
        }
    }

    /// `stmatrix`
    fn store(&self, places: &MatrixAddresses<'_, '_>, activation: &Activation, op: &StoreMatrix) {
        let words = tiles::rows_given(&activation.frame, op);
        for lane in rows(row_count(&op.tiles, false), self.actor.lanes) {
            let row = words[lane].map(u32::to_le_bytes);
            self.access(places, lane, (0, ROW), Use::Write, Some(row.as_flattened()));
        }
    }

    /// `wmma.load`
    fn fragment_load(&self, places: &MatrixAddresses<'_, '_>, activation: &Activation, op: &FragmentLoad) {
        let bytes = op.memory.piece_bytes();
        for (lane, piece) in fragment::pieces(&op.memory, &activation.frame, op.stride, self.actor.lanes) {
            self.access(places, lane, (piece.offset, bytes), Use::Read, None);
        }
    }

    /// `wmma.store`
    fn fragment_store(&self, places: &MatrixAddresses<'_, '_>, activation: &Activation, op: &FragmentStore) {
        let (frame, bytes) = (&activation.frame, op.memory.piece_bytes());
        for (lane, piece) in fragment::pieces(&op.memory, frame, op.stride, self.actor.lanes) {
            let word = fragment::word(&piece, frame, op, lane).to_le_bytes();
            self.access(places, lane, (piece.offset, bytes), Use::Write, word.get(..bytes as usize));
        }
    }

    /// `wgmma.mma_async`
    fn wgmma(&self, activation: &Activation, op: &Wgmma) {
        let (lane, warp) = (first(self.actor.lanes), self.warp.index as usize % 4);
        self.sanitizer.issue(self.env.launch, self.actor, Agent::Product);
        wgmma::pieces(&activation.frame, op, warp, lane, |offset| {
            let at = wgmma::address(&self.env.spaces, offset);
            let (memory, bytes, usage, data) = (Memory::Shared, PIECE, Use::Read, None);
            self.touch(&Piece { lane, memory, at, bytes, usage, data });
        });
    }
}

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
        let operand = memory_operand(op);
        let agent = if matches!(op, MatrixOp::Wgmma(_)) { Agent::Product } else { Agent::Thread };
        let see = Observer { warp: self, env, sanitizer, actor, split, operand, agent };
        let places = operand.map(|operand| MatrixAddresses::of(&env.spaces, activation, operand));
        match (op, &places) {
            (MatrixOp::Load(op), Some(places)) => see.load(places, op),
            (MatrixOp::Store(op), Some(places)) => see.store(places, activation, op),
            (MatrixOp::FragmentLoad(op), Some(places)) => see.fragment_load(places, activation, op),
            (MatrixOp::FragmentStore(op), Some(places)) => see.fragment_store(places, activation, op),
            (MatrixOp::Wgmma(op), _) => see.wgmma(activation, op),
            (MatrixOp::Transpose(_) | MatrixOp::Mma(_), _) | (_, None) => {}
        }
    }
}
