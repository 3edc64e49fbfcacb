//! Loads of words one behind the other by each lane: those of a loop that is unrolled over the elements of a lane.
//!
//! Where lanes are anywhere in memory, a load of 16 bytes for each lane takes less time than several gathers. The first
//! load of a span reads the words of all, and keeps those of the others in the context.

use crate::actions::arithmetic;
use crate::buffers::Buffer;
use crate::context::SPANS;
use crate::decode::{Action, Compute, Width};
use crate::flow::{Flow, before};
use softwarp_ir::{Access, Alu, Function, Guard, Memory, Op, Slot, Step};

/// The fewest loads that are worth it.
const FEWEST: usize = 3;

/// The furthest distance of a word of a span from the first.
const FURTHEST: i64 = 12;

/// The most operations between what an address is computed of and the load.
const NEAR: usize = 64;

/// The most sums that an index is followed through.
const SUMS: usize = 4;

/// A row that is never written, or a web.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Value {
    Fixed(Slot),
    Web(usize),
}

/// What the addresses of a span have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Key {
    memory: Memory,
    /// The address, or the pointer that four times an index is added to.
    base: Value,
    index: Option<(Value, bool)>,
}

/// An address: what it shares with others, and its distance from that.
#[derive(Clone, Copy)]
struct Place {
    key: Key,
    /// What is added to the index.
    by: i64,
    /// What is added to the address.
    offset: i64,
}

/// The index of a span whose loads add to it: it must not wrap around.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Index {
    pub(crate) web: usize,
    pub(crate) signed: bool,
    /// The most that is added.
    pub(crate) most: u32,
}

/// Loads of a block that each lane has one behind the other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    /// The operation that loads all words.
    pub(crate) first: usize,
    /// Where words are kept in the context.
    pub(crate) number: usize,
    pub(crate) index: Option<Index>,
    count: usize,
}

/// The spans of a function.
pub(crate) struct Spans {
    spans: Vec<Span>,
    /// The span of each operation that has one: four times its number, plus that of the word.
    of: Buffer<Option<u32>>,
}

impl Spans {
    /// Those of a function; `constant` gives the values of rows that are never written.
    pub(crate) fn of(function: &Function, flow: &Flow, constant: impl Fn(Slot) -> Option<u32>) -> Spans {
        let mut spans = Spans { spans: Vec::new(), of: Buffer::filled(None, function.ops.len()) };
        let finder = Finder { function, flow, constant };
        let mut open = Vec::new();
        for block in &flow.blocks {
            let ops = block.start..block.end;
            if flow.actions[ops.clone()].iter().filter(|action| matches!(action, Action::Load)).count()
                >= FEWEST
            {
                open.clear();
                spans.find(&finder, ops, &mut open);
            }
        }
        spans
    }

    /// The span of a load and the number of its word, unless there are few.
    pub(crate) fn get(&self, op: usize) -> Option<(Span, usize)> {
        let at = self.of.get(op).copied().flatten()? as usize;
        let span = self.spans[at / 4];
        (span.count >= FEWEST && span.number < SPANS).then_some((span, at % 4))
    }

    /// Finds those of a block. `open` has the spans that loads may still be added to.
    fn find(
        &mut self,
        finder: &Finder<'_, impl Fn(Slot) -> Option<u32>>,
        ops: std::ops::Range<usize>,
        open: &mut Vec<(Place, usize)>,
    ) {
        let (flow, start) = (finder.flow, self.spans.len());
        for op in ops {
            if let Some(place) = finder.place(op) {
                self.insert(flow, open, op, place);
            }
            // Words are loaded before they were: nothing may store to them in between.
            if !leaves_memory(flow.actions[op]) && finder.load(op).is_none() {
                open.clear();
            }
            if open.is_empty() {
                continue;
            }
            for touch in flow.writes(op) {
                let web = Value::Web(touch.web);
                open.retain(|(place, _)| {
                    place.key.base != web && place.key.index.is_none_or(|(index, _)| index != web)
                });
            }
        }
        let long = self.spans[start..].iter_mut().filter(|span| span.count >= FEWEST);
        long.enumerate().for_each(|(number, span)| span.number = number);
    }

    /// Adds a load to a span that is open, or begins one.
    fn insert(&mut self, flow: &Flow, open: &mut Vec<(Place, usize)>, op: usize, place: Place) {
        if let Some((first, number)) = open.iter().find(|(first, _)| first.key == place.key) {
            let by = place.by - first.by;
            let distance = place.offset - first.offset + 4 * by;
            let span = &mut self.spans[*number];
            if distance == 0 {
                return;
            }
            // If the largest index does not wrap around, none does between it and the one that all are computed of, which
            // has to be there still.
            let is_there = |web: usize| first.by >= 0 && flow.is_live(web, before(span.first));
            let index = match place.key.index {
                Some((Value::Web(web), signed)) if is_there(web) => {
                    let most = span.index.map_or(0, |index| index.most).max(place.by as u32);
                    Some(Index { web, signed, most })
                }
                Some((Value::Web(_) | Value::Fixed(_), _)) | None => None,
            };
            let known = by == 0 || by > 0 && index.is_some();
            if (4..=FURTHEST).contains(&distance) && distance % 4 == 0 && known {
                span.count += 1;
                if by > 0 {
                    span.index = index;
                }
                self.of[op] = Some(*number as u32 * 4 + distance as u32 / 4);
                return;
            }
            open.retain(|(first, _)| first.key != place.key);
        }
        open.push((place, self.spans.len()));
        self.of[op] = Some(self.spans.len() as u32 * 4);
        self.spans.push(Span { first: op, number: SPANS, index: None, count: 1 });
    }
}

/// Whether an operation accesses no memory.
fn leaves_memory(action: Action) -> bool {
    match action {
        Action::Nothing | Action::Copy(..) | Action::Compute(_) | Action::Fused(_) | Action::Loop => true,
        Action::Load | Action::Poll | Action::Store | Action::LoadOwn | Action::StoreOwn => false,
        Action::FrameAddress | Action::Atomic | Action::Fence | Action::Exchange | Action::Step => false,
        Action::Branch | Action::Exit => false,
    }
}

/// Follows addresses back to what they are computed of.
struct Finder<'a, F> {
    function: &'a Function,
    flow: &'a Flow<'a>,
    constant: F,
}

impl<F: Fn(Slot) -> Option<u32>> Finder<'_, F> {
    /// A weak load that every lane performs.
    fn load(&self, op: usize) -> Option<&Access> {
        let (Action::Load, Op::Other(Guard::ALWAYS, step)) = (self.flow.actions[op], &self.function.ops[op])
        else {
            return None;
        };
        let Step::Load(access) = &**step else { return None };
        Some(access).filter(|access| !access.order.is_strong())
    }

    /// The address of a load of a word.
    fn place(&self, op: usize) -> Option<Place> {
        let access = self.load(op)?;
        let ([register], 4, Some(base)) = (&access.registers[..], access.bytes, access.address.base) else {
            return None;
        };
        if register.bits != 32 || register.slot.is_none() || !base.is_wide() {
            return None;
        }
        let (memory, offset) = (access.address.memory, access.address.offset);
        if let Some(place) = self.indexed(op, base, memory, offset) {
            return Some(place);
        }
        let key = Key { memory, base: self.value(op, base)?, index: None };
        Some(Place { key, by: 0, offset })
    }

    /// An address that is a pointer and four times an index.
    fn indexed(&self, op: usize, base: Slot, memory: Memory, offset: i64) -> Option<Place> {
        let (at, compute, alu) = self.definition(op, op, base)?;
        let (product, factors, pointer, signed) = if let Compute::Wide { signed, add: true } = compute {
            (at, alu, alu.s.get(2)?, signed)
        } else if compute == Compute::Add(Width::W64) {
            let (a, b) = (alu.s.get(0)?, alu.s.get(1)?);
            let product = |slot: Slot| {
                let (product, compute, factors) = self.definition(op, at, slot)?;
                let Compute::Wide { signed, add: false } = compute else { return None };
                Some((product, factors, signed))
            };
            match (product(a), product(b)) {
                (Some((product, factors, signed)), None) => (product, factors, b, signed),
                (None, Some((product, factors, signed))) => (product, factors, a, signed),
                (None, None) | (Some(_), Some(_)) => return None,
            }
        } else {
            return None;
        };
        let index = factors.s.get(0).filter(|_| factors.s.get(1).and_then(&self.constant) == Some(4))?;
        let Value::Web(mut root) = self.value(product, index)? else { return None };
        let (mut by, mut since, mut slot) = (0, product, index);
        for _ in 0..SUMS {
            let Some((sum, Compute::Add(Width::W32), alu)) = self.definition(op, since, slot) else { break };
            let (a, b) = (alu.s.get(0)?, alu.s.get(1)?);
            let (other, constant) = match [a, b].map(&self.constant) {
                [None, Some(constant)] => (a, constant),
                [Some(constant), None] => (b, constant),
                [None, None] | [Some(_), Some(_)] => break,
            };
            let Value::Web(next) = self.value(sum, other)? else { break };
            (root, since, slot) = (next, sum, other);
            by += i64::from(constant as i32);
        }
        let pointer = self.value(at, pointer)?;
        let key = Key { memory, base: pointer, index: Some((Value::Web(root), signed)) };
        let same = |value: Value| match value {
            Value::Fixed(_) => true,
            Value::Web(web) => {
                (since..op).all(|op| self.flow.writes(op).iter().all(|touch| touch.web != web))
            }
        };
        let root_written = !same(Value::Web(root));
        let place = Place { key, by, offset };
        (!root_written && same(pointer)).then_some(place)
    }

    /// The operation of the block of a load that alone gives a row its value, which another operation reads.
    fn definition(&self, load: usize, reader: usize, slot: Slot) -> Option<(usize, Compute, &Alu)> {
        let Value::Web(web) = self.value(reader, slot)? else { return None };
        let &[at] = self.flow.defs(web) else { return None };
        let near = at < reader && load - at <= NEAR && self.flow.block_of[at] == self.flow.block_of[load];
        let (compute, alu) = arithmetic(self.function, &self.flow.actions, at).filter(|_| near)?;
        Some((at, compute, alu))
    }

    /// What an operation reads in a row.
    fn value(&self, op: usize, slot: Slot) -> Option<Value> {
        match self.flow.is_fixed(slot) {
            true => Some(Value::Fixed(slot)),
            false => self.flow.read(op, slot).map(Value::Web),
        }
    }
}
