//! Operations of a block that one piece of code computes together.
//!
//! - Bitwise operations whose results are read once, by a bitwise operation, become one function of up to three rows:
//!   `vpternlogd` computes any such function. The last of them computes it; the others do nothing.
//! - The low and the high halves of the same products are computed by the first of the two operations.
//!
//! A result that is left out must not be missed: compiled code cannot be left between the operations.

use crate::actions::arithmetic;
use crate::buffers::Buffer;
use crate::decode::{Action, Compute, Extend, Integer, Width};
use softwarp_ir::{Alu, Class, Function, Op, Slot};
use std::ops::Range;

/// What an operation computes in place of several.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Fused {
    /// A bitwise function of rows.
    Logic(Logic),
    /// Both halves of the products of 32-bit words: the low ones, and the high ones.
    Product { results: [Slot; 2], sources: [Slot; 2], signed: bool },
}

/// A bitwise function of two or three rows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Logic {
    pub(crate) d: Slot,
    /// Two rows are followed by one of them again.
    pub(crate) sources: [Slot; 3],
    pub(crate) count: usize,
    /// The results for the bits of the sources, the first of which counts four, the second two and the third one.
    pub(crate) table: u8,
}

impl Fused {
    pub(crate) fn reads(&self) -> &[Slot] {
        match self {
            Fused::Logic(logic) => &logic.sources[..logic.count],
            Fused::Product { sources, .. } => sources,
        }
    }

    pub(crate) fn writes(&self) -> &[Slot] {
        match self {
            Fused::Logic(logic) => std::slice::from_ref(&logic.d),
            Fused::Product { results, .. } => results,
        }
    }
}

/// The tables of the three sources themselves.
pub(crate) const VARIABLES: [u8; 3] = [0xf0, 0xcc, 0xaa];

/// The table of a function whose sources have tables themselves.
pub(crate) fn composed(table: u8, sources: [u8; 3]) -> u8 {
    let [a, b, c] = sources;
    let bit = |at: u8| 0u8.wrapping_sub(table >> at & 1);
    let choose = |by: u8, yes: u8, no: u8| no ^ by & (yes ^ no);
    let by_third = |at: u8| choose(c, bit(at + 1), bit(at));
    let by_second = |at: u8| choose(b, by_third(at + 2), by_third(at));
    choose(a, by_second(4), by_second(0))
}

/// The table of a bitwise operation.
fn table(compute: Compute) -> Option<u8> {
    let [a, b, _] = VARIABLES;
    Some(match compute {
        Compute::And(_) => a & b,
        Compute::Or(_) => a | b,
        Compute::Xor(_) => a ^ b,
        Compute::Not(_) => !a,
        Compute::Lop3(table) => table,
        Compute::Copy(_) | Compute::Add(_) | Compute::Sub(_) | Compute::Neg(_) | Compute::Mul(_) => {
            return None;
        }
        Compute::High { .. } | Compute::Permute(_) | Compute::Mad(_) | Compute::Wide { .. } => return None,
        Compute::Shl(_) | Compute::Shr { .. } | Compute::Funnel { .. } | Compute::Min { .. } => return None,
        Compute::Max { .. } | Compute::Select(_) | Compute::Extend(_) | Compute::Halves => return None,
        Compute::Pack64 | Compute::High32 | Compute::Compare { .. } => return None,
        Compute::CompareFloat { .. } | Compute::CompareDouble { .. } => return None,
        Compute::CompareShort { .. } | Compute::Integer(_) | Compute::Half(_) => return None,
        Compute::Double(_) | Compute::Float(_) | Compute::Rounded(..) | Compute::Flushed(_) => return None,
        Compute::Convert(_) | Compute::WideConvert(_) => return None,
        Compute::Special(_) | Compute::Predicate(_) => return None,
    })
}

/// Whether a product of 32-bit words is the high half; none for what is no such product.
fn is_high_half(compute: Compute) -> Option<bool> {
    match compute {
        Compute::Mul(Width::W32) => Some(false),
        Compute::High { .. } => Some(true),
        Compute::Mul(Width::W64) | Compute::Wide { .. } | Compute::Mad(_) => None,
        Compute::Copy(_) | Compute::Add(_) | Compute::Sub(_) | Compute::Neg(_) | Compute::Permute(_) => None,
        Compute::And(_) | Compute::Or(_) | Compute::Xor(_) | Compute::Not(_) | Compute::Lop3(_) => None,
        Compute::Shl(_) | Compute::Shr { .. } | Compute::Funnel { .. } | Compute::Select(_) => None,
        Compute::Min { .. } | Compute::Max { .. } | Compute::Extend(_) | Compute::Halves => None,
        Compute::Pack64 | Compute::High32 | Compute::Compare { .. } | Compute::CompareFloat { .. } => None,
        Compute::CompareDouble { .. } | Compute::CompareShort { .. } | Compute::Integer(_) => None,
        Compute::Half(_) | Compute::Double(_) | Compute::Float(_) | Compute::Rounded(..) => None,
        Compute::Flushed(_) | Compute::Convert(_) | Compute::WideConvert(_) => None,
        Compute::Special(_) | Compute::Predicate(_) => None,
    }
}

/// Whether compiled code is never left at an operation, and the interpreter never called.
fn stays(action: Action) -> bool {
    match action {
        Action::Nothing | Action::Copy(..) => true,
        Action::Compute(compute) => computes_in_place(compute),
        Action::Fused(_) | Action::Loop | Action::Load | Action::Poll | Action::Store => false,
        Action::LoadOwn | Action::StoreOwn | Action::FrameAddress | Action::Atomic | Action::Fence => false,
        Action::Exchange | Action::Step | Action::Branch | Action::Exit => false,
    }
}

/// Whether the code of arithmetic never leaves compiled code, and never calls the interpreter.
fn computes_in_place(compute: Compute) -> bool {
    match compute {
        // Code checks that affine sources do not wrap around.
        Compute::Extend(Extend::Sign64 | Extend::Zero64) | Compute::Wide { .. } => false,
        Compute::Extend(Extend::Low32 | Extend::Field { .. } | Extend::Sign { .. }) => true,
        // The interpreter does rare inputs.
        Compute::Special(_) | Compute::Flushed(_) => false,
        Compute::Convert(_) | Compute::WideConvert(_) => false,
        Compute::CompareFloat { ftz, .. } => !ftz,
        Compute::Integer(integer) => match integer {
            Integer::DivideWide { .. } => false,
            Integer::Short(_) | Integer::Extract { .. } | Integer::Insert { .. } => true,
            Integer::Population { .. } | Integer::LeadingZeros { .. } | Integer::Highest { .. } => true,
            Integer::Magnitude { .. } | Integer::HighSum { .. } | Integer::HighWide { .. } => true,
            Integer::Divide { .. } | Integer::Dot { .. } | Integer::Permute => true,
            Integer::Distance { .. } | Integer::CopySign { .. } | Integer::Reverse { .. } => true,
            Integer::Ones { .. } | Integer::LowBits { .. } | Integer::Carry(_) => true,
            Integer::FunnelClamped { .. } => true,
        },
        Compute::Copy(_) | Compute::Add(_) | Compute::Sub(_) | Compute::Neg(_) | Compute::Mul(_) => true,
        Compute::High { .. } | Compute::Permute(_) | Compute::Mad(_) | Compute::Lop3(_) => true,
        Compute::And(_) | Compute::Or(_) | Compute::Xor(_) | Compute::Not(_) => true,
        Compute::Shl(_) | Compute::Shr { .. } | Compute::Funnel { .. } | Compute::Select(_) => true,
        Compute::Min { .. } | Compute::Max { .. } | Compute::Halves | Compute::Pack64 => true,
        Compute::High32 | Compute::Compare { .. } | Compute::CompareDouble { .. } => true,
        Compute::CompareShort { .. } | Compute::Half(_) | Compute::Double(_) | Compute::Float(_) => true,
        Compute::Rounded(..) | Compute::Predicate(_) => true,
    }
}

/// A row, and which of its values in the block: none but the first has the number 0.
type Value = (Slot, u32);

/// A value that is written in the block.
struct Write {
    op: usize,
    /// The index of its row among all.
    row: u32,
    /// The number of the row's value before.
    before: u32,
    /// How many operations read it; two if it may be read behind the block.
    uses: u8,
    /// The number of the expression that gives it.
    expression: Option<u32>,
}

/// A few things.
#[derive(Clone, Copy)]
struct Few<T, const N: usize> {
    all: [T; N],
    count: u8,
}

impl<T: Copy + PartialEq, const N: usize> Few<T, N> {
    fn new(fill: T) -> Few<T, N> {
        Few { all: [fill; N], count: 0 }
    }

    fn get(&self) -> &[T] {
        &self.all[..usize::from(self.count)]
    }

    /// Adds one that is not among them; false if there is no room.
    fn add(&mut self, one: T) -> bool {
        if self.get().contains(&one) {
            return true;
        }
        let Some(place) = self.all.get_mut(usize::from(self.count)) else { return false };
        *place = one;
        self.count += 1;
        true
    }
}

/// A bitwise operation, with those that it computes beside itself.
#[derive(Clone, Copy)]
struct Expression {
    op: usize,
    leaves: Few<Value, 3>,
    table: u8,
    absorbed: Few<u32, 8>,
    segment: u32,
}

/// A product of a block.
struct Half {
    op: usize,
    /// Signed and high; none for the low half.
    high: Option<bool>,
    sources: [Value; 2],
    d: Slot,
    segment: u32,
    paired: bool,
}

/// Finds what can be computed together.
pub(crate) struct Fuser<'a> {
    function: &'a Function,
    /// How many rows of 32-bit words there are: those of 64-bit words follow.
    narrow: usize,
    /// Of each row, the number of its value, and the last operation that has read or written it.
    current: Buffer<(u32, usize)>,
    writes: Vec<Write>,
    fused: Vec<(usize, Fused)>,
    nothing: Vec<usize>,
}

/// No operation.
const NONE: usize = usize::MAX;

/// The products behind one that may be of the same words.
const NEAR: usize = 8;

impl<'a> Fuser<'a> {
    pub(crate) fn new(function: &'a Function) -> Fuser<'a> {
        let (narrow, wide) = (function.narrow as usize, function.wide as usize);
        let current = Buffer::filled((0, NONE), narrow + wide);
        Fuser { function, narrow, current, writes: Vec::new(), fused: Vec::new(), nothing: Vec::new() }
    }

    /// The index of a row among all.
    fn index(&self, slot: Slot) -> usize {
        slot.number() as usize + if slot.is_wide() { self.narrow } else { 0 }
    }

    /// The first operation of a block that may be computed together with others, if there may be any.
    pub(crate) fn first(actions: &[Action]) -> Option<usize> {
        let (mut first, mut logic, mut products, mut high) = (None, 0, 0, false);
        for (op, action) in actions.iter().enumerate() {
            let Some(compute) = action.compute() else { continue };
            if table(compute).is_some() {
                logic += 1;
            } else if let Some(is_high) = is_high_half(compute) {
                (products, high) = (products + 1, high || is_high);
            } else {
                continue;
            }
            first = first.or(Some(op));
        }
        first.filter(|_| logic > 1 || high && products > 1)
    }

    /// Looks at a block. `reads` and `writes` are the rows of its operations, `is_live` says whether a row is live behind it.
    pub(crate) fn block(
        &mut self,
        actions: &[Action],
        ops: Range<usize>,
        rows: impl Fn(usize) -> (&'a [Slot], &'a [Slot]) + Copy,
        is_live: impl Fn(usize) -> bool,
    ) {
        self.count_uses(ops.clone(), rows, is_live);
        let (mut known, mut halves) = (Vec::<Expression>::new(), Vec::<Half>::new());
        let (mut segment, mut next) = (0, 0);
        for op in ops {
            segment += u32::from(!stays(actions[op]));
            let (reads, writes) = rows(op);
            if let Some((compute, alu)) = arithmetic(self.function, actions, op)
                && writes.len() == 1
                && alu.s.iter().all(|slot| slot.class() != Class::Predicate)
            {
                if let Some(table) = table(compute) {
                    let made = self.expression(table, (op, alu), segment, &known);
                    // They are read here now.
                    for &(slot, _) in made.leaves.get() {
                        let at = self.index(slot);
                        self.current[at].1 = op;
                    }
                    self.writes[next as usize].expression = Some(known.len() as u32);
                    known.push(made);
                } else if is_high_half(compute).is_some() {
                    self.product(compute, (op, alu), segment, &mut halves);
                }
            }
            for &slot in reads.iter().chain(writes) {
                let at = self.index(slot);
                self.current[at].1 = op;
            }
            for &slot in writes {
                let at = self.index(slot);
                next += 1;
                self.current[at].0 = next;
            }
        }
        self.take(&known);
    }

    /// Numbers the values of rows, and counts how often they are read.
    fn count_uses(
        &mut self,
        ops: Range<usize>,
        rows: impl Fn(usize) -> (&'a [Slot], &'a [Slot]) + Copy,
        is_live: impl Fn(usize) -> bool,
    ) {
        // Rows that only blocks before this one have touched count as untouched.
        for write in self.writes.drain(..) {
            self.current[write.row as usize].0 = 0;
        }
        for op in ops {
            let (reads, writes) = rows(op);
            for &slot in reads {
                let (value, _) = self.current[self.index(slot)];
                if let Some(write) = self.writes.get_mut((value as usize).wrapping_sub(1)) {
                    write.uses = write.uses.saturating_add(1);
                }
            }
            for &slot in writes {
                let at = self.index(slot);
                let current = &mut self.current[at].0;
                self.writes.push(Write { op, row: at as u32, before: *current, uses: 0, expression: None });
                *current = self.writes.len() as u32;
            }
        }
        // The last value of each row.
        for number in (0..self.writes.len()).rev() {
            let row = self.writes[number].row as usize;
            if std::mem::take(&mut self.current[row].0) as usize == number + 1 && is_live(row) {
                self.writes[number].uses = 2;
            }
        }
    }

    /// The present value of a row.
    fn value(&self, slot: Slot) -> Value {
        (slot, self.current[self.index(slot)].0)
    }

    /// Whether a row would have this value now if some operations did nothing.
    fn is_kept(&self, (slot, value): Value, absorbed: &[u32]) -> bool {
        let mut now = self.current[self.index(slot)].0;
        while now != value {
            let write = self.writes.get((now as usize).wrapping_sub(1));
            let Some(write) = write.filter(|write| absorbed.contains(&(write.op as u32))) else {
                return false;
            };
            now = write.before;
        }
        true
    }

    /// A bitwise operation with those before it that it can compute beside itself.
    fn expression(
        &self,
        table: u8,
        (op, alu): (usize, &Alu),
        segment: u32,
        known: &[Expression],
    ) -> Expression {
        let mut sources = [(None, None); 3];
        for (to, slot) in sources.iter_mut().zip(alu.s.iter()) {
            to.0 = Some(self.value(slot));
        }
        let none = Few::new((Slot::narrow(0), 0));
        let (mut absorbed, mut read) = (Few::new(u32::MAX), leaves(&sources).unwrap_or(none));
        // A source may fit once another one has been taken.
        for n in [0, 1, 2, 0, 1] {
            let (Some((_, value)), None) = sources[n] else { continue };
            let Some(write) = self.writes.get((value as usize).wrapping_sub(1)) else { continue };
            if write.uses != 1 {
                continue;
            }
            let Some(inner) = write.expression.map(|at| &known[at as usize]) else { continue };
            if inner.segment != segment {
                continue;
            }
            sources[n].1 = Some(inner);
            let mut all = absorbed;
            let room = all.add(write.op as u32) && inner.absorbed.get().iter().all(|&op| all.add(op));
            let fits = |leaves: &Few<Value, 3>| {
                leaves.count > 1 && leaves.get().iter().all(|&leaf| self.is_kept(leaf, all.get()))
            };
            match leaves(&sources).filter(|leaves| room && fits(leaves)) {
                Some(leaves) => (absorbed, read) = (all, leaves),
                None => sources[n].1 = None,
            }
        }
        if absorbed.count == 0 && usize::from(read.count) == alu.s.count() {
            return Expression { op, table, leaves: read, absorbed, segment };
        }
        let variable =
            |leaf: &Value| read.get().iter().position(|other| other == leaf).map_or(0, |n| VARIABLES[n]);
        let tables = sources.map(|source| match source {
            (_, Some(inner)) => {
                let of = |n: usize| inner.leaves.get().get(n).map_or(0, variable);
                composed(inner.table, [of(0), of(1), of(2)])
            }
            (source, None) => source.as_ref().map_or(0, variable),
        });
        Expression { op, table: composed(table, tables), leaves: read, absorbed, segment }
    }

    /// Computes both halves of a product at once, if the other has been computed before.
    fn product(&mut self, compute: Compute, (op, alu): (usize, &Alu), segment: u32, halves: &mut Vec<Half>) {
        let (Some(d), Some(a), Some(b)) = (alu.d.get(0), alu.s.get(0), alu.s.get(1)) else { return };
        let sources = [self.value(a), self.value(b)];
        let high = if let Compute::High { signed } = compute { Some(signed) } else { None };
        let touched = self.current[self.index(d)].1;
        let first = halves.iter_mut().rev().take(NEAR).find(|first| {
            let same = first.sources == sources || first.sources == [sources[1], sources[0]];
            let free = touched == NONE || touched <= first.op;
            let other = first.high.is_some() != high.is_some();
            same && free && other && first.d != d && first.segment == segment && !first.paired
        });
        let Some(first) = first else {
            halves.push(Half { op, high, sources, d, segment, paired: false });
            return;
        };
        first.paired = true;
        let results = if high.is_some() { [first.d, d] } else { [d, first.d] };
        let signed = high.or(first.high).unwrap_or(false);
        self.fused.push((first.op, Fused::Product { results, sources: [a, b], signed }));
        self.nothing.push(op);
    }

    /// Takes the expressions that compute several operations and are not a part of another.
    fn take(&mut self, known: &[Expression]) {
        let mut inside = Vec::new();
        for expression in known.iter().rev() {
            let absorbed = expression.absorbed.get();
            if absorbed.is_empty() || inside.contains(&(expression.op as u32)) {
                continue;
            }
            let Some(d) = self.result(expression.op) else { continue };
            let (all, count) = (expression.leaves.all, usize::from(expression.leaves.count));
            let sources = [0, 1, 2].map(|n: usize| all[n.min(count - 1)].0);
            let logic = Logic { d, sources, count, table: expression.table };
            self.fused.push((expression.op, Fused::Logic(logic)));
            self.nothing.extend(absorbed.iter().map(|&op| op as usize));
            // Only those before it can be inside of another.
            inside.retain(|&op| op < expression.op as u32);
            inside.extend_from_slice(absorbed);
        }
    }

    fn result(&self, op: usize) -> Option<Slot> {
        match &self.function.ops[op] {
            Op::Alu(alu) => alu.d.get(0),
            Op::Branch(..) | Op::Other(..) => None,
        }
    }

    /// Writes what was found into the actions of operations.
    pub(crate) fn finish(self, actions: &mut [Action]) -> Vec<Fused> {
        self.nothing.iter().for_each(|&op| actions[op] = Action::Nothing);
        for (number, &(op, _)) in self.fused.iter().enumerate() {
            actions[op] = Action::Fused(number as u32);
        }
        self.fused.into_iter().map(|(_, fused)| fused).collect()
    }
}

/// What an operation reads, if some of its sources are computed beside it; none if these are more than three.
fn leaves(sources: &[(Option<Value>, Option<&Expression>); 3]) -> Option<Few<Value, 3>> {
    let mut leaves = Few::new(sources[0].0?);
    for (source, inner) in sources {
        let of = match (inner, source) {
            (Some(inner), _) => inner.leaves.get(),
            (None, source) => source.as_slice(),
        };
        if !of.iter().all(|&leaf| leaves.add(leaf)) {
            return None;
        }
    }
    Some(leaves)
}

#[cfg(test)]
mod tests {
    use super::{VARIABLES, composed};

    #[test]
    fn tables_of_tables() {
        for table in 0..=u8::MAX {
            assert_eq!(composed(table, VARIABLES), table);
            for sources in [[0x96, 0xca, 0x0f], [0xe8, 0x96, 0x33], [0xff, 0x00, table]] {
                let value = |n: usize, at: u32| usize::from(sources[n] >> at & 1);
                let expected = (0..8).fold(0, |all, at| {
                    let input = 4 * value(0, at) + 2 * value(1, at) + value(2, at);
                    all | (table >> input & 1) << at
                });
                assert_eq!(composed(table, sources), expected);
            }
        }
    }
}
