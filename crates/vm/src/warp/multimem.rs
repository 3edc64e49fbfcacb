//! Multimem addresses, each of which stands for memory on several devices (PTX ISA sections 8.2.3 and 9.7.9.14).
//!
//! The machine is one device; the places that a multimem address stands for are all in its global memory. Their
//! order is the one in which the host named them, and it is the order in which sums are added up.

use super::addresses::addresses;
use super::atomic::{apply, combination};
use super::observe::ObservedBytes;
use super::run::Flow;
use super::{Activation, Env, Split, Warp};
use crate::fault::{BadAccess, FaultKind, Problem, Tried, Trouble, Use};
use crate::memory::Spaces;
use crate::memory::cell::SharedBytes;
use crate::sanitize::{Actor, Sanitizer, ShadowAddress, Touch};
use softwarp_ir::multimem::{MultimemKind, MultimemOp};
use softwarp_ir::{AtomicOp, Element, Memory};
use softwarp_isa::Type;
use softwarp_num::half::{Bfloat16, Binary16, Half};
use softwarp_units::lanes::{Frame, LANES, lanes};
use std::sync::atomic::{Ordering, fence};

/// The accesses of an instruction. The executor performs them, and [`Warp::observe_multimem`] reports them.
struct MultimemAccess {
    memory: Memory,
    /// The multimem address of each lane.
    addresses: [u64; LANES],
    /// The bytes that a lane accesses at each place. The address must be a multiple of this.
    bytes: u64,
    usage: Use,
}

impl MultimemAccess {
    fn of(activation: &Activation, op: &MultimemOp) -> MultimemAccess {
        let usage = match op.kind {
            MultimemKind::LoadReduce(_) => Use::Read,
            MultimemKind::Store => Use::Write,
            MultimemKind::Reduce(_) => Use::Atomic,
        };
        let addresses = addresses(activation, &op.address);
        MultimemAccess { memory: op.address.memory, addresses, bytes: op.bytes(), usage }
    }

    /// The addresses in global memory that a lane accesses.
    fn places(&self, spaces: &Spaces<'_>, lane: usize) -> Result<Vec<u64>, Box<BadAccess>> {
        let address = (self.memory, self.addresses[lane]);
        several(spaces, address, (self.bytes, self.bytes), self.usage)
    }
}

/// The values of all places, combined.
fn combined(multimem: &MultimemOp, op: AtomicOp, words: impl Iterator<Item = u64>) -> u64 {
    if multimem.accumulates_f32 && op == AtomicOp::Add {
        match multimem.ty {
            Type::F16 | Type::F16x2 => return sum::<Binary16>(words),
            Type::Bf16 | Type::Bf16x2 => return sum::<Bfloat16>(words),
            _ => {}
        }
    }
    let combine = combination(op, multimem.ty, true, true);
    words.reduce(|a, b| combine(a, b, 0)).unwrap_or(0)
}

/// The sums of both halves of words, rounded once at the end.
fn sum<H: Half>(words: impl Iterator<Item = u64>) -> u64 {
    let sums = words.map(|word| [H::widen(word as u16), H::widen((word >> 16) as u16)]);
    let sums = sums.reduce(|a, b| [a[0] + b[0], a[1] + b[1]]).unwrap_or([0.0; 2]);
    let [low, high] = sums.map(|sum| u64::from(H::narrow(sum)));
    low | high << 16
}

/// The places that an address stands for, in global memory, with a given number of bytes from each on.
pub(super) fn several(
    spaces: &Spaces<'_>,
    (memory, address): (Memory, u64),
    (bytes, alignment): (u64, u64),
    usage: Use,
) -> Result<Vec<u64>, Box<BadAccess>> {
    let (space, base) = if memory == Memory::Generic { spaces.window_of(address) } else { (memory, 0) };
    let at = address.wrapping_sub(base);
    let bad = |problem| spaces.bad(problem, usage, space, at, bytes, spaces.nearest(space, at));
    if space != Memory::Global {
        return Err(bad(Problem::WrongSpace));
    }
    if !at.is_multiple_of(alignment.max(1)) {
        return Err(bad(Problem::Misaligned));
    }
    spaces.global.multicast(at, bytes).ok_or_else(|| bad(Problem::NotMulticast))
}

/// What is at a place: an access of up to 16 bytes, in one piece.
fn load(cells: &SharedBytes, at: u64, bytes: u64) -> u128 {
    let mut all = [0; 16];
    let count = (bytes as usize).min(all.len());
    cells.read(at, &mut all[..count]);
    u128::from_le_bytes(all)
}

/// The bits of an element from its lowest bit on.
fn element_of(all: u128, index: u64, element: u64) -> u64 {
    let mask = u64::MAX >> (64 - 8 * element.clamp(1, 8));
    (all >> (8 * index * element % 128)) as u64 & mask
}

/// A lane's word of a register.
fn word(frame: &Frame, element: Element, lane: usize) -> u64 {
    match (element.slot, element.bits) {
        (None, _) => 0,
        (Some(slot), 64..) => frame.row::<u64>(slot)[lane],
        (Some(slot), _) => frame.row::<u32>(slot)[lane].into(),
    }
}

impl Warp {
    /// Executes `multimem.ld_reduce`, `multimem.st` and `multimem.red` for the lanes of a split that take part.
    pub(super) fn multimem(
        &mut self,
        env: &mut Env<'_>,
        split: &mut Split,
        op: &MultimemOp,
        taking: u32,
    ) -> Tried<Flow> {
        let activation = &mut self.calls[split.call as usize];
        let access = MultimemAccess::of(activation, op);
        let frame = &mut activation.frame;
        let Env { launch, spaces, meter, .. } = env;
        let element = op.element();
        if op.order.is_strong() {
            fence(Ordering::SeqCst);
        }
        let mut found = Vec::new();
        for lane in lanes(taking) {
            let bad = |bad| Trouble::new(lane, FaultKind::Access(bad));
            let at = access.places(spaces, lane).map_err(bad)?;
            meter.work_within(launch, at.len() as u64 / 4)?;
            let at = at.into_iter().map(|at| spaces.judge(Memory::Global, at, access.bytes, access.usage));
            found.push((lane, at.collect::<Result<Vec<_>, _>>().map_err(bad)?));
        }
        for (lane, places) in found {
            if let MultimemKind::Store = op.kind {
                let values = op.data.iter().map(|&data| word(frame, data, lane));
                let bytes: Vec<u8> =
                    values.flat_map(|value| value.to_le_bytes().into_iter().take(element as usize)).collect();
                // In one piece at each place.
                places.iter().for_each(|(cells, at)| cells.write(*at, &bytes));
                continue;
            }
            // Before any of them is combined.
            let all: Vec<u128> = match op.kind {
                MultimemKind::LoadReduce(_) => {
                    places.iter().map(|(cells, at)| load(cells, *at, access.bytes)).collect()
                }
                _ => Vec::new(),
            };
            let registers = if op.d.is_empty() { &op.data } else { &op.d };
            for (index, &register) in registers.iter().enumerate() {
                let skip = index as u64 * element;
                let value = op.data.get(index).map_or(0, |data| word(frame, *data, lane));
                match op.kind {
                    MultimemKind::Store => {}
                    MultimemKind::Reduce(reduction) => {
                        let combine = combination(reduction, op.ty, true, true);
                        let f = |before| combine(before, value, 0);
                        for (cells, at) in &places {
                            let at = (at + skip) as usize;
                            match element {
                                2 => apply::<u16>(cells, at, launch.alone, f),
                                4 => apply::<u32>(cells, at, launch.alone, f),
                                _ => apply::<u64>(cells, at, launch.alone, f),
                            };
                        }
                    }
                    MultimemKind::LoadReduce(reduction) => {
                        let words = all.iter().map(|&all| element_of(all, index as u64, element));
                        let result = combined(op, reduction, words);
                        let only = 1 << lane;
                        match (register.slot, register.bits) {
                            (None, _) => {}
                            (Some(d), 64..) => frame.set_row(d, [result; 32], only),
                            (Some(d), _) => frame.set_row(d, [result as u32; 32], only),
                        }
                    }
                }
            }
        }
        if op.order.is_strong() {
            fence(Ordering::SeqCst);
        }
        Ok(Flow::Next)
    }

    /// Tells the sanitizers what an instruction is about to access.
    pub(super) fn observe_multimem(
        &self,
        env: &Env<'_>,
        (sanitizer, actor): (&Sanitizer<'_>, &Actor),
        split: &Split,
        op: &MultimemOp,
    ) {
        let access = MultimemAccess::of(&self.calls[split.call as usize], op);
        let (spaces, bytes) = (&env.spaces, access.bytes);
        // The executor reports bad addresses.
        let all = lanes(actor.lanes).flat_map(|lane| {
            let places = access.places(spaces, lane).unwrap_or_default();
            places.into_iter().map(move |at| (lane, at))
        });
        let observed = ObservedBytes::new(env.launch);
        for (lane, address) in all {
            if observed.is_over(bytes) {
                return;
            }
            let at = ShadowAddress { space: Memory::Global, cta: env.cta, address };
            let touch = Touch { order: op.order, ..Touch::by_thread(lane, access.usage, at, bytes) };
            sanitizer.touch(env.launch, actor, &touch, &|| spaces.nearest(Memory::Global, address));
        }
    }
}
