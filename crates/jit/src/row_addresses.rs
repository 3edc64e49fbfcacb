//! Addresses of CTAs with rows of 16 threads, where each half of a warp has a first lane of its own
//! ([`Class::HalfAffine`]): which of them are two scalars.
//!
//! An address is mostly a base that is the same in all lanes, plus an index times the size of an element. The index is
//! computed as two scalars, one for each half of the warp, if nothing reads it as a vector. The product and the sum are
//! left to the access, if they are right before it and nothing else reads them.

use crate::Mode;
use crate::actions::arithmetic;
use crate::classes::{Class, Classes};
use crate::decode::{Action, Compute, Width};
use crate::flow::Flow;
use softwarp_ir::{Alu, Function, Guard, Op, Slot, Step};

/// An address that its access computes: a base plus an index times a factor.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowAddress {
    /// The access.
    pub(crate) access: usize,
    /// The operation that multiplies; those from it to the access have no code of their own.
    pub(crate) product: usize,
    /// The operation that adds.
    pub(crate) sum: usize,
    pub(crate) index: Slot,
    /// The step of the index from lane to lane.
    pub(crate) step: i64,
    /// Whether the index is a signed number.
    pub(crate) signed: bool,
    /// 1, 2, 4 or 8.
    pub(crate) factor: i32,
    pub(crate) base: Slot,
}

/// The addresses of a function.
#[derive(Default)]
pub(crate) struct RowAddresses {
    /// Sorted by their accesses.
    addresses: Vec<RowAddress>,
    /// Webs that are two scalars. Empty if there are none.
    pairs: Vec<bool>,
}

impl RowAddresses {
    pub(crate) fn of(function: &Function, flow: &Flow, classes: &Classes<'_>, mode: Mode) -> RowAddresses {
        let any = classes.webs.iter().any(|class| matches!(class, Class::HalfAffine(_)));
        if mode != Mode::Uniform || !any {
            return RowAddresses::default();
        }
        let finder = Finder::new(function, flow, classes);
        let addresses: Vec<RowAddress> =
            (0..flow.actions.len()).filter_map(|op| finder.address(op)).collect();
        let pairs = finder.pairs(&addresses);
        RowAddresses { addresses, pairs }
    }

    /// Whether a web is two scalars.
    pub(crate) fn is_pair(&self, web: usize) -> bool {
        self.pairs.get(web).is_some_and(|&pair| pair)
    }

    /// The address that an access computes.
    pub(crate) fn of_access(&self, op: usize) -> Option<RowAddress> {
        let at = self.addresses.binary_search_by_key(&op, |address| address.access).ok()?;
        Some(self.addresses[at])
    }

    /// Whether an operation is left to an access.
    pub(crate) fn is_left_to_access(&self, op: usize) -> bool {
        let at = self.addresses.partition_point(|address| address.access <= op);
        self.addresses.get(at).is_some_and(|address| address.product <= op)
    }
}

struct Finder<'a> {
    function: &'a Function,
    flow: &'a Flow<'a>,
    classes: &'a Classes<'a>,
    /// How many operations read each web.
    readers: Vec<u32>,
    /// Operations that some lanes may execute while others wait.
    apart: Vec<bool>,
}

impl<'a> Finder<'a> {
    fn new(function: &'a Function, flow: &'a Flow<'a>, classes: &'a Classes<'a>) -> Finder<'a> {
        let mut readers = vec![0; flow.webs.len()];
        let mut apart = vec![false; flow.actions.len()];
        for op in 0..flow.actions.len() {
            flow.reads(op).iter().for_each(|touch| readers[touch.web] += 1);
        }
        for (skipped, _) in (0..flow.blocks.len()).filter_map(|block| flow.skipped(block)) {
            apart[skipped].fill(true);
        }
        Finder { function, flow, classes, readers, apart }
    }

    fn class(&self, op: usize, slot: Slot) -> Class {
        self.classes.source(self.flow, op, slot).0
    }

    /// Arithmetic of all lanes.
    fn arithmetic(&self, op: usize) -> Option<(Compute, &'a Alu)> {
        arithmetic(self.function, &self.flow.actions, op)
    }

    /// The base of an access of all lanes to one element each, where the lanes of each half access consecutive ones, or
    /// load the same.
    fn base(&self, op: usize) -> Option<Slot> {
        let Op::Other(Guard::ALWAYS, step) = &self.function.ops[op] else { return None };
        let (access, is_load) = match (self.flow.actions[op], &**step) {
            (Action::Load, Step::Load(access)) => (access, true),
            (Action::Store, Step::Store(access)) => (access, false),
            // These actions have no other operations.
            (Action::Load | Action::Store, _) => return None,
            (Action::Nothing | Action::Copy(..) | Action::Compute(_) | Action::Fused(_), _) => return None,
            (Action::Loop | Action::Step | Action::Branch | Action::Exit | Action::Fence, _) => return None,
            (Action::Poll | Action::LoadOwn | Action::StoreOwn | Action::FrameAddress, _) => return None,
            (Action::Atomic | Action::Exchange, _) => return None,
        };
        let [element] = &access.registers[..] else { return None };
        let stored = element.slot?;
        let base = access.address.base?;
        let Class::HalfAffine(step) = self.class(op, base) else { return None };
        let bytes = i64::from(access.bytes);
        let in_rows = step == bytes || is_load && step == 0;
        let is_value = !is_load && stored == base;
        let fits = bytes >= 4 && i32::try_from(access.address.offset).is_ok();
        (in_rows && fits && !is_value && !self.apart[op]).then_some(base)
    }

    /// Whether an operation has the only definition of what another reads in a row, and that is the only reader.
    fn only_feeds(&self, op: usize, reader: usize, slot: Slot) -> bool {
        let web = if self.flow.is_fixed(slot) { None } else { self.flow.read(reader, slot) };
        web.is_some_and(|web| {
            self.readers[web] == 1 && self.flow.defs(web) == [op] && !self.flow.webs[web].from_start
        })
    }

    /// The address of an access, if the operations right before it compute it and nothing else.
    fn address(&self, access: usize) -> Option<RowAddress> {
        let last = self.base(access).filter(|base| base.is_wide())?;
        let start = self.flow.blocks[self.flow.block_of[access]].start;
        let sum = access.checked_sub(1).filter(|&sum| sum >= start && self.only_feeds(sum, access, last))?;
        let (compute, alu) = self.arithmetic(sum)?;
        let (product, base) = if let Compute::Wide { add: true, .. } = compute {
            (sum, alu.s.get(2)?)
        } else if compute == Compute::Add(Width::W64) {
            let product = sum.checked_sub(1).filter(|&product| product >= start)?;
            let (a, b) = (alu.s.get(0)?, alu.s.get(1)?);
            match () {
                () if self.only_feeds(product, sum, a) => (product, b),
                () if self.only_feeds(product, sum, b) => (product, a),
                () => return None,
            }
        } else {
            return None;
        };
        let (compute, alu) = self.arithmetic(product)?;
        let Compute::Wide { signed, add } = compute else { return None };
        if add != (product == sum) || self.class(sum, base) != Class::UNIFORM {
            return None;
        }
        let (a, b) = (alu.s.get(0)?, alu.s.get(1)?);
        let known = |slot: Slot| self.classes.source(self.flow, product, slot).1;
        let (index, factor) = match (known(a), known(b)) {
            (None, Some(factor)) => (a, factor),
            (Some(factor), None) => (b, factor),
            (None, None) | (Some(_), Some(_)) => return None,
        };
        let Class::HalfAffine(step) = self.class(product, index) else { return None };
        let factor = matches!(factor, 1 | 2 | 4 | 8).then_some(factor as i32)?;
        Some(RowAddress { access, product, sum, index, step, signed, factor, base })
    }

    /// Whether an operation can be performed on two scalars.
    fn has_pair(&self, op: usize) -> bool {
        if self.apart[op] || self.flow.writes(op).len() != 1 {
            return false;
        }
        if let Action::Copy(d, _) = self.flow.actions[op] {
            return !d.is_wide();
        }
        let Some((compute, alu)) = self.arithmetic(op) else { return false };
        match compute {
            Compute::Copy(Width::W32)
            | Compute::Add(Width::W32)
            | Compute::Sub(Width::W32)
            | Compute::Mul(Width::W32)
            | Compute::Mad(Width::W32) => true,
            Compute::Shl(Width::W32) => {
                let by = alu.s.get(1).and_then(|by| self.classes.constant(self.flow, by));
                by.is_some_and(|by| by < 32)
            }
            Compute::Copy(Width::W64) | Compute::Add(Width::W64) | Compute::Sub(Width::W64) => false,
            Compute::Mul(Width::W64) | Compute::Mad(Width::W64) | Compute::Shl(Width::W64) => false,
            Compute::Neg(_) | Compute::High { .. } | Compute::Permute(_) | Compute::Wide { .. } => false,
            Compute::And(_) | Compute::Or(_) | Compute::Xor(_) | Compute::Not(_) | Compute::Lop3(_) => false,
            Compute::Shr { .. } | Compute::Funnel { .. } | Compute::Min { .. } | Compute::Max { .. } => false,
            Compute::Select(_) | Compute::Extend(_) | Compute::Halves | Compute::Pack64 => false,
            Compute::High32 | Compute::Compare { .. } | Compute::CompareFloat { .. } => false,
            Compute::CompareDouble { .. } | Compute::CompareShort { .. } | Compute::Integer(_) => false,
            Compute::Half(_) | Compute::Double(_) | Compute::Float(_) | Compute::Rounded(..) => false,
            Compute::Flushed(_) | Compute::Convert(_) | Compute::WideConvert(_) => false,
            Compute::Special(_) | Compute::Predicate(_) => false,
        }
    }

    /// The webs of 32-bit words that are two scalars: only such operations and accesses touch them.
    fn pairs(&self, addresses: &[RowAddress]) -> Vec<bool> {
        let is_narrow = |web: usize| !self.flow.webs[web].is_wide();
        let is_half = |web: usize| matches!(self.classes.webs[web], Class::HalfAffine(_));
        let mut pairs: Vec<bool> =
            (0..self.flow.webs.len()).map(|web| is_narrow(web) && is_half(web)).collect();
        loop {
            let mut changed = false;
            for op in 0..self.flow.actions.len() {
                let writes = self.flow.writes(op);
                let computes = self.has_pair(op);
                for touch in writes.iter().filter(|_| !computes) {
                    changed |= std::mem::take(&mut pairs[touch.web]);
                }
                let into_pair = computes && writes.iter().all(|touch| pairs[touch.web]);
                let base = self.base(op);
                // An access comes right after the product: both are in the same order.
                let is_product = addresses.binary_search_by_key(&op, |address| address.product).is_ok();
                for touch in self.flow.reads(op).iter().filter(|_| !into_pair && !is_product) {
                    if base != Some(touch.slot) {
                        changed |= std::mem::take(&mut pairs[touch.web]);
                    }
                }
            }
            if !changed || !self.flow.budget.spend(64 * self.flow.actions.len()) {
                return pairs;
            }
        }
    }
}
