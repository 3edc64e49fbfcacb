//! Operations among lanes: their operands and results in frames, and the lanes that wait for others.
//! [`super::exchange`] computes the results.

use super::exchange::{Brought, Got, exchange, shuffle};
use super::run::{Flow, first};
use super::{Env, Split, State, Warp};
use crate::sanitize::defined::is_shuffle;
use crate::sanitize::{Actor, Sanitizer};
use softwarp_ir::{Op, Slot, Step, WarpOp, WarpOpKind};
use softwarp_units::lanes::{Frame, LANES, lanes};

impl Warp {
    /// An operation among lanes that are named: it waits for those that are not there yet.
    pub(super) fn exchange_members(
        &mut self,
        env: &mut Env<'_>,
        split: &mut Split,
        op: &WarpOp,
        taking: u32,
    ) -> Flow {
        let frame = &self.calls[split.call as usize].frame;
        let members = op.members.map_or([u32::MAX; LANES], |members| frame.row::<u32>(members));
        let named = members[first(taking)];
        let mut differ = 0;
        for (lane, other) in members.iter().enumerate() {
            differ |= if taking >> lane & 1 == 1 { other ^ named } else { 0 };
        }
        let alike = differ == 0;
        // All named lanes are here: none has to wait.
        if alike && taking & (named & self.live) == named & self.live {
            if env.launch.sanitizer.is_some_and(Sanitizer::tracks_registers) {
                let frame = &self.calls[split.call as usize].frame;
                let row = |n| op.s.get(n).map_or([0; LANES], |slot| frame.row::<u32>(slot));
                let rows = is_shuffle(op.op).then(|| (row(1), row(2)));
                self.observe_shuffle(env, split, op.op, rows, taking);
            }
            exchange_alone(&mut self.calls[split.call as usize].frame, op, taking);
            env.meter.exchanged();
            return Flow::Next;
        }
        self.leave_behind(split, taking);
        let mut rest = taking;
        while rest != 0 {
            let named = members[first(rest)];
            let same = lanes(rest).filter(|&lane| members[lane] == named);
            let mask = same.fold(0, |mask, lane| mask | 1 << lane);
            self.splits.push(Split { mask, state: State::Exchange(op.op, named), ..*split });
            rest &= !mask;
        }
        split.mask = 0;
        self.exchange_complete(env, false);
        Flow::Gone
    }

    /// Performs the operations whose named lanes have all come; with `force` also those that wait for lanes which
    /// will not come. Returns whether any was performed.
    pub(crate) fn exchange_complete(&mut self, env: &mut Env<'_>, force: bool) -> bool {
        let mut done = false;
        let mut index = 0;
        while index < self.splits.len() {
            let State::Exchange(kind, named) = self.splits[index].state else {
                index += 1;
                continue;
            };
            let alike = |split: &Split| split.state == State::Exchange(kind, named);
            let present = self.splits.iter().filter(|s| alike(s)).fold(0, |mask, split| mask | split.mask);
            let needed = named & self.live;
            let forced = force && !done;
            if present & needed == needed || forced {
                if present != named {
                    self.goes_without(env, index, present, named);
                }
                self.exchange_parked(env, kind, named, present);
                done = true;
            }
            index += 1;
        }
        done
    }

    /// Performs an operation for all splits that wait for it, wherever they stand.
    fn exchange_parked(&mut self, env: &mut Env<'_>, kind: WarpOpKind, named: u32, present: u32) {
        let launch = env.launch;
        let waits = |split: &&Split| split.state == State::Exchange(kind, named);
        // `bar.warp.sync` before an instruction of the whole warp orders no memory.
        let whole = launch.sanitizer.is_some()
            && self.splits.iter().find(waits).is_some_and(|split| {
                let (code, pc) = (self.calls[split.call as usize].code, split.pc);
                self.precedes_collective(
                    env,
                    &Actor { cta: env.cta, warp: self.index, lanes: split.mask, code, pc },
                )
            });
        let mut brought = BROUGHT_NOTHING;
        let mut first = true;
        for write in [false, true] {
            let got = if write { Some(exchange(kind, &brought, present)) } else { None };
            if write && launch.sanitizer.is_some_and(Sanitizer::tracks_registers) {
                let rows = is_shuffle(kind).then_some((brought.b, brought.c));
                let waiting = |split: &&Split| split.state == State::Exchange(kind, named);
                for split in self.splits.iter().filter(waiting).copied().collect::<Vec<_>>() {
                    self.observe_shuffle(env, &split, kind, rows, present);
                }
            }
            for split in &mut self.splits {
                if split.state != State::Exchange(kind, named) {
                    continue;
                }
                let activation = &mut self.calls[split.call as usize];
                let op = launch.program.codes[activation.code as usize].ops.get(split.pc as usize);
                let Some(Op::Other(_, step)) = op else { continue };
                let Step::Warp(op) = &**step else { continue };
                if let Some(got) = &got {
                    take(&mut activation.frame, op, got, split.mask);
                    split.pc += 1;
                    split.state = State::Ready;
                } else {
                    bring(&activation.frame, op, split.mask, first, &mut brought);
                    first = false;
                }
            }
        }
        if kind == WarpOpKind::Sync
            && !whole
            && let Some(sanitizer) = launch.sanitizer
        {
            sanitizer.synced(launch, env.cta, self.index, present);
        }
        env.meter.exchanged();
    }
}

impl Warp {
    /// Lanes of a split are about to get values from others: values of lanes that do not take part are undefined.
    fn observe_shuffle(
        &mut self,
        env: &Env<'_>,
        split: &Split,
        kind: WarpOpKind,
        rows: Option<([u32; LANES], [u32; LANES])>,
        present: u32,
    ) {
        let Some((b, c)) = rows else { return };
        let lane = std::array::from_fn(|lane| lane as u32);
        let got = shuffle(kind, (&lane, &b, &c), present);
        let activation = &mut self.calls[split.call as usize];
        let code = &env.launch.program.codes[activation.code as usize];
        if let Some(table) = code.registers.as_deref()
            && let Some(Op::Other(_, step)) = code.ops.get(split.pc as usize)
            && let Step::Warp(op) = &**step
        {
            let (at, mask) = (split.pc as usize, split.mask & present);
            let sources = (got.d, got.p);
            activation.shadow.shuffled(table, at, op.d.is_some(), (mask, present), sources);
        }
    }
}

/// An operation among the lanes that execute it together.
pub(super) fn exchange_alone(frame: &mut Frame, op: &WarpOp, taking: u32) {
    use WarpOpKind::{ShflBfly, ShflDown, ShflIdx, ShflUp, Sync};
    let got = match op.op {
        Sync => return,
        ShflUp | ShflDown | ShflBfly | ShflIdx => {
            let row = |n| op.s.get(n).map_or(&ZEROS, |slot| &frame.narrow[slot.number() as usize].0);
            shuffle(op.op, (row(0), row(1), row(2)), taking)
        }
        _ => {
            let mut brought = BROUGHT_NOTHING;
            bring(frame, op, taking, true, &mut brought);
            exchange(op.op, &brought, taking)
        }
    };
    take(frame, op, &got, taking);
}

/// The row of a source operand that the operation does not have.
const ZEROS: [u32; LANES] = [0; LANES];

const BROUGHT_NOTHING: Brought = Brought { a: [0; LANES], b: [0; LANES], c: [0; LANES], p: 0 };

/// Takes an operation's sources from a frame: those of some lanes, or, for the first frame, the whole rows, since
/// lanes that are absent can be read, too, though what they hold means nothing.
fn bring(frame: &Frame, op: &WarpOp, mask: u32, whole: bool, into: &mut Brought) {
    use WarpOpKind::*;
    let mask = if whole { u32::MAX } else { mask };
    let wanted = |lane: usize| mask >> lane & 1 == 1;
    let narrow = |slot: Option<Slot>, into: &mut [u32; LANES]| {
        let Some(slot) = slot else { return };
        let row = &frame.narrow[slot.number() as usize].0;
        for lane in 0..LANES {
            into[lane] = if wanted(lane) { row[lane] } else { into[lane] };
        }
    };
    let Some(a) = op.s.get(0) else { return };
    match op.op {
        Sync | ActiveMask | Elect => {}
        VoteAll | VoteAny | VoteUni | VoteBallot => {
            let holds = frame.predicate(a) ^ if op.negated { u32::MAX } else { 0 };
            into.p = into.p & !mask | holds & mask;
        }
        MatchAny64 | MatchAll64 => {
            let row = &frame.wide[a.number() as usize].0;
            for (lane, (into, &word)) in into.a.iter_mut().zip(row).enumerate() {
                *into = if wanted(lane) { word } else { *into };
            }
        }
        _ => {
            let row = &frame.narrow[a.number() as usize].0;
            for (lane, (into, &word)) in into.a.iter_mut().zip(row).enumerate() {
                *into = if wanted(lane) { word.into() } else { *into };
            }
            if matches!(op.op, ShflUp | ShflDown | ShflBfly | ShflIdx) {
                narrow(op.s.get(1), &mut into.b);
                narrow(op.s.get(2), &mut into.c);
            }
        }
    }
}

/// Puts results into a frame.
fn take(frame: &mut Frame, op: &WarpOp, got: &Got, mask: u32) {
    if let Some(d) = op.d {
        frame.set_row(d, got.d, mask);
    }
    if let Some(p) = op.p {
        frame.set_predicate(p, got.p, mask);
    }
}
