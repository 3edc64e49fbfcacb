//! Register allocation: where each web is kept while compiled code runs.
//!
//! Webs are taken in the order of their weight (uses, weighted by loop depth) and get a register that no web has whose
//! live range overlaps (priority-based colouring over live ranges). A web has one place for its whole life; one that
//! gets none stays in its row of the frame, which instructions use as a memory operand.

use crate::Mode;
use crate::buffers::{Buffer, pooled};
use crate::classes::{Class, Classes};
use crate::decode::Action;
use crate::flow::{Flow, join_ranges};
use crate::row_addresses::RowAddresses;
use std::ops::Range;

/// Where a web is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// In its row of the frame. One that is affine: in the first lane of the row.
    Frame,
    /// In vector registers: two for 32-bit words, four for 64-bit words.
    Vector([u8; 4]),
    /// In a general-purpose register: the value of the first lane.
    Scalar(u8),
    /// In the first lanes of both halves of its row of the frame: two scalars ([`RowAddresses`]).
    Halves,
}

impl Place {
    /// The general-purpose register of a scalar.
    pub(crate) fn scalar(self) -> Option<u8> {
        match self {
            Place::Scalar(register) => Some(register),
            Place::Frame | Place::Vector(_) | Place::Halves => None,
        }
    }

    /// The registers of a vector.
    pub(crate) fn vector(self) -> Option<[u8; 4]> {
        match self {
            Place::Vector(registers) => Some(registers),
            Place::Frame | Place::Scalar(_) | Place::Halves => None,
        }
    }
}

pooled!(Place);

/// How many vector registers from the first on are for temporary values.
pub(crate) const TEMPORARIES: u8 = 8;

/// How many pairs of vector registers webs can have.
const PAIRS: usize = (32 - TEMPORARIES as usize) / 2;

/// General-purpose registers that webs can have, by their number in the instruction encoding.
pub(crate) const SCALARS: [u8; 6] = [3, 6, 7, 8, 9, 10];

/// The pairs of vector registers, as bits, that rows of 32-bit words can have, and the first pairs of the four registers
/// that rows of 64-bit words can have. A register always holds the same part of rows of a width, so that an operation may
/// write a part where a source of the same width had it.
///
/// In masked code, lanes that wait elsewhere keep values of other webs in the same registers, lane by lane: there a
/// register always holds the same lanes.
fn pairs(flow: &Flow, mode: Mode) -> [u32; 2] {
    /// Every other pair, from the first on.
    const EVEN: u32 = 0x5555_5555;
    let all = (1 << PAIRS) - 1;
    if mode == Mode::Uniform {
        return [all, all & EVEN];
    }
    let weight = |wide: bool| -> f64 {
        flow.webs.iter().filter(|web| web.is_wide() == wide).map(|web| web.weight).sum()
    };
    let quads = if weight(true) * 8.0 < weight(false) { 1 } else { 3 };
    let in_quads = (1 << (2 * quads)) - 1;
    [all & !in_quads, in_quads & EVEN]
}

/// The same for code without AVX-512: others are in use there.
pub(crate) const SCALARS_OF_HALVES: [u8; 4] = [3, 8, 9, 10];

/// The place of each web. General-purpose registers are those that are given.
pub(crate) fn places(
    flow: &Flow,
    classes: &Classes<'_>,
    addresses: &RowAddresses,
    mode: Mode,
    scalars: &[u8],
) -> Buffer<Place> {
    let cost = |number: usize| {
        let web = &flow.webs[number];
        let live: u32 = flow.live_ranges(number).iter().map(|(start, end)| end - start).sum();
        web.weight / (1.0 + f64::from(live)) / if web.is_wide() { 2.0 } else { 1.0 }
    };
    // Costs are not negative: their bits are in their order.
    let key = |web: usize| u64::from(!(cost(web) as f32).to_bits()) << 32 | web as u64;
    let operands = operands(flow, classes, mode);
    let mut order = Buffer::new(flow.webs.len());
    order.extend((0..flow.webs.len()).filter(|&web| !operands[web]).map(key));
    sort(&mut order);
    let allowed = pairs(flow, mode);
    let all_scalars = ((1 << scalars.len()) - 1) << PAIRS;
    let mut taken = Taken::new(flow.actions.len());
    let mut places = Buffer::filled(Place::Frame, flow.webs.len());
    for key in order.iter() {
        let web = *key as u32 as usize;
        let (live, held) = (flow.live_ranges(web), flow.held(web));
        let both;
        let live = match mode {
            Mode::Uniform if !held.is_empty() => {
                both = merged(live, held);
                &both
            }
            Mode::Uniform | Mode::Masked => live,
        };
        let wide = flow.webs[web].is_wide();
        let is_vector = classes.webs[web].is_vector();
        // The registers that it can have, of those that are free.
        let possible = |free: u32| match (is_vector, wide) {
            (true, true) => free & free >> 1 & allowed[1],
            (true, false) => free & allowed[0],
            (false, _) => free & all_scalars,
        };
        let (taken_here, looked_at) = taken.during(live, |taken| possible(!taken) == 0);
        let free = possible(!taken_here);
        if !flow.budget.spend(1 + looked_at) {
            return places;
        }
        match classes.webs[web] {
            Class::HalfAffine(_) if addresses.is_pair(web) => places[web] = Place::Halves,
            Class::Varying | Class::HalfAffine(_) | Class::Unknown => {
                if free == 0 {
                    continue;
                }
                // Rows of 32-bit words have the last ones in uniform code.
                let first = if wide || mode == Mode::Masked { free.trailing_zeros() } else { free.ilog2() };
                taken.add(live, if wide { 3 } else { 1 } << first);
                let register = TEMPORARIES + 2 * first as u8;
                places[web] = Place::Vector(match wide {
                    true => [register, register + 1, register + 2, register + 3],
                    false => [register, register + 1, 0, 0],
                });
            }
            Class::Affine(_) => {
                let register = (free >> PAIRS).trailing_zeros();
                if let Some(&scalar) = scalars.get(register as usize) {
                    taken.add(live, 1 << (PAIRS as u32 + register));
                    places[web] = Place::Scalar(scalar);
                }
            }
        }
    }
    places
}

/// The fewest keys that are sorted by their digits.
const FEWEST: usize = 64;

/// Sorts keys whose lower halves are in order already: by radix sort of their first 16 bits, which few keys share that
/// are not the same in the next ones.
fn sort(keys: &mut Buffer<u64>) {
    if keys.len() < FEWEST {
        return keys.sort_unstable();
    }
    let mut sorted = Buffer::filled(0, keys.len());
    for shift in [48, 56] {
        let digit = |key: u64| usize::from((key >> shift) as u8);
        let mut places = [0u32; 256];
        keys.iter().for_each(|&key| places[digit(key)] += 1);
        let mut next = 0;
        for place in &mut places {
            next += std::mem::replace(place, next);
        }
        for &key in keys.iter() {
            let place = &mut places[digit(key)];
            sorted[*place as usize] = key;
            *place += 1;
        }
        std::mem::swap(keys, &mut sorted);
    }
    for same in keys.chunk_by_mut(|a, b| a >> 48 == b >> 48) {
        if !same.is_sorted() {
            same.sort_unstable();
        }
    }
}

/// Values that are the same in all lanes, and that only instructions on vectors read: as memory operands they take no
/// instruction that broadcasts them.
fn operands(flow: &Flow, classes: &Classes<'_>, mode: Mode) -> Buffer<bool> {
    let mut operands: Buffer<bool> = classes.webs.iter().map(|&class| class == Class::UNIFORM).collect();
    // Masked code has none.
    let actions = if mode == Mode::Uniform { &flow.actions[..] } else { &[] };
    for (op, action) in actions.iter().enumerate() {
        let writes = flow.writes(op);
        let vector = has_operands(*action)
            && !writes.is_empty()
            && writes.iter().all(|touch| classes.webs[touch.web] == Class::Varying);
        if !vector {
            flow.reads(op).iter().for_each(|touch| operands[touch.web] = false);
        }
    }
    operands
}

/// Whether the code of an operation on vectors takes what is the same in all lanes from memory.
fn has_operands(action: Action) -> bool {
    match action {
        Action::Compute(_) | Action::Fused(_) => true,
        Action::Nothing | Action::Copy(..) | Action::Loop | Action::Step | Action::Exchange => false,
        Action::Load | Action::Poll | Action::Store | Action::LoadOwn | Action::StoreOwn => false,
        Action::FrameAddress | Action::Atomic | Action::Fence | Action::Branch | Action::Exit => false,
    }
}

/// Ranges that are in one list or the other, sorted and disjoint.
fn merged(a: &[(u32, u32)], b: &[(u32, u32)]) -> Vec<(u32, u32)> {
    let mut all = [a, b].concat();
    all.sort_unstable();
    let count = join_ranges(&mut all);
    all.truncate(count);
    all
}

/// Positions that are looked at together.
const CHUNK: usize = 64;

/// Which registers are taken at which positions: a bit for each.
struct Taken {
    /// By position.
    positions: Buffer<u32>,
    /// By chunk of positions: registers that are taken at all of them beside what the positions say, and those that are
    /// taken at any.
    chunks: Buffer<(u32, u32)>,
}

impl Taken {
    fn new(ops: usize) -> Taken {
        let chunks = (3 * (ops + 1)).div_ceil(CHUNK);
        Taken { positions: Buffer::filled(0, chunks * CHUNK), chunks: Buffer::filled((0, 0), chunks) }
    }

    /// The registers that are taken somewhere in ranges, or in the first of them that are enough; and how many chunks were
    /// looked at.
    fn during(&self, live: &[(u32, u32)], enough: impl Fn(u32) -> bool) -> (u32, usize) {
        let (mut taken, mut looked_at) = (0, 0);
        for &(start, end) in live {
            for (chunk, range) in chunks(start as usize, end as usize) {
                let (full, any) = self.chunks[chunk];
                taken |= match range.len() == CHUNK {
                    true => any,
                    false => self.positions[range].iter().fold(full, |taken, position| taken | position),
                };
                looked_at += 1;
                if enough(taken) {
                    return (taken, looked_at);
                }
            }
        }
        (taken, looked_at)
    }

    /// Takes registers.
    fn add(&mut self, live: &[(u32, u32)], bits: u32) {
        for &(start, end) in live {
            for (chunk, range) in chunks(start as usize, end as usize) {
                let (full, any) = &mut self.chunks[chunk];
                *any |= bits;
                match range.len() == CHUNK {
                    true => *full |= bits,
                    false => self.positions[range].iter_mut().for_each(|position| *position |= bits),
                }
            }
        }
    }
}

/// The part of a range in each chunk.
fn chunks(start: usize, end: usize) -> impl Iterator<Item = (usize, Range<usize>)> {
    (start / CHUNK..end.div_ceil(CHUNK)).map(move |chunk| {
        let range = (chunk * CHUNK).max(start)..((chunk + 1) * CHUNK).min(end);
        (chunk, range)
    })
}

#[cfg(test)]
mod tests {
    use crate::buffers::Buffer;

    #[test]
    fn keys_are_sorted() {
        for count in [0, 1, 63, 64, 300, 5000] {
            let upper = |n: u64| n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (32 + n % 3 * 12);
            let mut keys: Buffer<u64> = (0..count).map(|n| upper(n) << 32 | n).collect();
            let mut expected = keys.to_vec();
            expected.sort_unstable();
            super::sort(&mut keys);
            assert_eq!(keys.as_slice(), expected);
        }
    }
}
