//! What two runs of a launch are compared by, and where they differ.

use super::words;
use crate::comparison::Difference;
use crate::device::launch::Ran;
use crate::fault::{Fault, FaultKind};
use crate::memory::copies::PAGE;
use crate::memory::global::Global;
use crate::stats::Counts;
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Mutex, PoisonError};

/// Bytes that are one place for the question whether they depend on the order of threads.
const GRANULE: usize = 16;

/// The most pages that are kept of two memories that differ.
const MOST_PAGES: usize = 4096;

/// Launches with more instructions of warps may have other counts of warps.
const LONG: u64 = 1 << 20;

/// Bytes of what is printed that are kept.
const MOST_TEXT: usize = 1 << 18;

/// What a kernel printed.
#[derive(Debug, Default)]
pub(super) struct Printed {
    calls: u64,
    /// A hash of all calls in their order.
    sequence: u64,
    /// The sum of the hashes of all calls.
    sum: u64,
    /// The first calls.
    first: Vec<String>,
    kept: usize,
}

impl Printed {
    /// Adds a call.
    pub(super) fn add(&mut self, text: &str) {
        let mut hasher = DefaultHasher::new();
        text.hash(&mut hasher);
        let hash = hasher.finish();
        self.calls += 1;
        self.sum = self.sum.wrapping_add(hash);
        self.sequence = (self.sequence.rotate_left(7) ^ hash).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        if self.kept < MOST_TEXT {
            self.kept += text.len() + size_of::<String>();
            self.first.push(text.to_owned());
        }
    }

    /// Whether the calls are the same in the same order.
    fn is_same(&self, other: &Printed) -> bool {
        (self.calls, self.sequence) == (other.calls, other.sequence)
    }

    /// Whether the calls are the same in any order.
    fn has_same_calls(&self, other: &Printed) -> bool {
        (self.calls, self.sum) == (other.calls, other.sum)
    }

    /// The first call that differs.
    fn difference(&self, other: &Printed) -> [String; 2] {
        let count = self.first.len().max(other.first.len());
        let pair = |index: usize| [self, other].map(|one| one.first.get(index).cloned().unwrap_or_default());
        (0..count).map(pair).find(|[one, other]| one != other).unwrap_or_default()
    }
}

/// A run of a launch, and what it printed.
pub(super) struct Results {
    pub(super) ran: Ran,
    printed: Printed,
}

impl Results {
    /// What a run came to.
    pub(super) fn of(ran: Ran, printed: Mutex<Printed>) -> Results {
        Results { ran, printed: printed.into_inner().unwrap_or_else(PoisonError::into_inner) }
    }

    fn fault(&self) -> Option<&Fault> {
        self.ran.outcome.fault.as_deref()
    }

    fn counts(&self) -> Counts {
        self.ran.outcome.report.counts
    }

    /// Whether both have the same counts. In long launches, lanes of a warp may meet elsewhere: then those of warps differ.
    fn counts_as(&self, other: &Results) -> bool {
        let (one, other) = (self.counts(), other.counts());
        let of_warps = |counts: &Counts| (counts.warp_instructions, counts.divergent_branches);
        let of_threads = |counts: &Counts| (counts.thread_instructions, counts.exchanges);
        let is_long = other.warp_instructions > LONG;
        of_threads(&one) == of_threads(&other) && (is_long || of_warps(&one) == of_warps(&other))
    }

    /// Whether it was stopped by a limit. What memory there is differs from run to run.
    pub(super) fn has_limit(&self) -> bool {
        let is_limit = |kind: &FaultKind| kind.is_limit() || matches!(kind, FaultKind::OutOfMemory { .. });
        self.fault().is_some_and(|fault| is_limit(&fault.kind))
    }

    /// Whether it was cancelled.
    pub(super) fn was_cancelled(&self) -> bool {
        self.fault().is_some_and(|fault| fault.kind == FaultKind::Cancelled)
    }

    /// Whether both ended in the same way, at the same place.
    fn ends_as(&self, other: &Results) -> bool {
        match (self.fault(), other.fault()) {
            (None, None) => true,
            (Some(one), Some(other)) => {
                one.kind == other.kind && one.place == other.place && one.registers == other.registers
            }
            _ => false,
        }
    }

    /// How it ended, in words.
    fn end(&self) -> String {
        let place = self.fault().and_then(|fault| fault.place.as_ref());
        let place = place.map(|place| {
            let ([x, y, z], [a, b, c]) = (place.thread, place.cta);
            let at = place.span.start;
            format!(" in thread ({x},{y},{z}) of CTA ({a},{b},{c}), at byte {at} of the text")
        });
        format!("{}{}", words(self.fault().map(|fault| &fault.kind)), place.unwrap_or_default())
    }

    fn has_same_requests(&self, other: &Results) -> bool {
        self.ran.outcome.nested == other.ran.outcome.nested
    }
}

/// A page that differs: the allocation, the offset, the bytes of compiled code and of the interpreter, and which of its
/// places depend on the order of threads.
#[derive(Debug)]
struct Page {
    allocation: usize,
    offset: u64,
    bytes: [Box<[u8]>; 2],
    ordered: Vec<bool>,
}

impl Page {
    /// The places that differ, and whether they depend on the order.
    fn places(&self) -> impl Iterator<Item = (usize, bool)> {
        let [one, other] = &self.bytes;
        let differs = one.chunks(GRANULE).zip(other.chunks(GRANULE)).map(|(one, other)| one != other);
        let places = differs.enumerate().filter(|(_, differs)| *differs);
        places.map(|(index, _)| (index, self.ordered.get(index).copied().unwrap_or(false)))
    }
}

/// Where compiled code differs from the interpreter, besides what depends on the order of threads.
#[derive(Debug, Default)]
pub(super) struct Differences {
    fault: bool,
    printed: bool,
    requests: bool,
    counts: bool,
    pages: Vec<Page>,
    /// How many bytes differ, in these pages.
    bytes: u64,
}

impl Differences {
    /// How a run of compiled code differs from one of the interpreter.
    pub(super) fn of(
        (compiled, memory): (&Results, &Global),
        (interpreted, other): (&Results, &Global),
    ) -> Differences {
        if let (Some(_), Some(_)) = (compiled.fault(), interpreted.fault()) {
            // How far other warps came is left open.
            return Differences { fault: !compiled.ends_as(interpreted), ..Differences::default() };
        }
        let mut differences = Differences {
            fault: !compiled.ends_as(interpreted),
            printed: !compiled.printed.is_same(&interpreted.printed),
            requests: !compiled.has_same_requests(interpreted) || memory.blocks() != other.blocks(),
            counts: !compiled.counts_as(interpreted),
            ..Differences::default()
        };
        memory.for_differing(other, |page| {
            let [one, two] = page.bytes;
            differences.bytes += one.iter().zip(two).filter(|(one, two)| one != two).count() as u64;
            differences.pages.push(Page {
                allocation: page.allocation,
                offset: page.offset,
                bytes: page.bytes.map(Box::from),
                ordered: vec![false; PAGE / GRANULE],
            });
            differences.pages.len() < MOST_PAGES
        });
        differences
    }

    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        let Differences { fault, printed, requests, counts, pages, .. } = self;
        !(fault | printed | requests | counts) && pages.is_empty()
    }

    /// The interpreter did this in another order, from the same memory. Where it differs from itself, differences come from
    /// the order. Returns whether there was such a place.
    pub(super) fn explain(
        &mut self,
        (other, memory): (&Results, &Global),
        (interpreted, usual): (&Results, &Global),
        (compiled, lanes_in_order): (&Results, bool),
    ) -> bool {
        let Differences { fault, printed, requests, counts, pages, .. } = self;
        let mut explained = false;
        let mut drop = |what: &mut bool, same: bool| {
            explained |= *what && !same;
            *what &= same;
        };
        drop(fault, other.ends_as(interpreted));
        // Warps print in another order in nearly every run, which says nothing of other calls.
        let same = match compiled.printed.has_same_calls(&interpreted.printed) {
            true => other.printed.is_same(&interpreted.printed),
            false => other.printed.has_same_calls(&interpreted.printed),
        };
        drop(printed, same);
        let same = other.has_same_requests(interpreted) && memory.blocks() == usual.blocks();
        drop(requests, same);
        // Lanes that meet elsewhere change how many instructions warps execute, and not those of threads.
        let threads = |run: &Results| run.counts().thread_instructions;
        let same = threads(other) == threads(interpreted);
        drop(counts, same && (!lanes_in_order || other.counts_as(interpreted)));
        let mut rooms = [vec![0; PAGE], vec![0; PAGE]];
        for page in pages {
            let [one, two] = &mut rooms;
            let bytes = page.bytes[0].len();
            memory.page(page.allocation, page.offset, &mut one[..bytes]);
            usual.page(page.allocation, page.offset, &mut two[..bytes]);
            let granules = one[..bytes].chunks(GRANULE).zip(two[..bytes].chunks(GRANULE));
            for ((one, two), ordered) in granules.zip(&mut page.ordered) {
                explained |= one != two && !*ordered;
                *ordered |= one != two;
            }
        }
        explained
    }

    /// Whether every difference comes from the order of threads so far.
    pub(super) fn is_explained(&self) -> bool {
        let Differences { fault, printed, requests, counts, pages, .. } = self;
        let mut places = pages.iter().flat_map(Page::places);
        !(fault | printed | requests | counts) && places.all(|(_, ordered)| ordered)
    }

    /// Where most of the places of an allocation that differ do so among orders too, the others are taken to depend on the
    /// order as well: few orders are tried.
    pub(super) fn spread(&mut self) {
        let mut counts: BTreeMap<usize, [u64; 2]> = BTreeMap::new();
        for page in &self.pages {
            let of = counts.entry(page.allocation).or_default();
            page.places().for_each(|(_, ordered)| of[usize::from(ordered)] += 1);
        }
        for page in &mut self.pages {
            if counts.get(&page.allocation).is_some_and(|[not, ordered]| ordered >= not) {
                page.ordered.fill(true);
            }
        }
    }

    /// The first byte that differs and does not depend on the order: the allocation, the offset, and both values.
    fn byte(&self) -> Option<(usize, u64, [u8; 2])> {
        let first = |page: &Page| {
            let (granule, _) = page.places().find(|(_, ordered)| !ordered)?;
            let [one, other] = &page.bytes;
            let start = granule * GRANULE;
            let at = (start..one.len()).find(|&at| one[at] != other[at])?;
            Some((page.allocation, page.offset + at as u64, [one[at], other[at]]))
        };
        self.pages.iter().find_map(first)
    }

    /// Where that byte is.
    pub(super) fn place(&self) -> Option<(usize, u64)> {
        self.byte().map(|(allocation, offset, _)| (allocation, offset))
    }

    /// The first difference that does not depend on the order, of these runs of compiled code and of the interpreter.
    pub(super) fn first(&self, [compiled, interpreted]: [&Results; 2]) -> Option<Difference> {
        if self.fault {
            return Some(Difference::Fault { interpreted: interpreted.end(), compiled: compiled.end() });
        }
        if let Some((_, _, [compiled, interpreted])) = self.byte() {
            return Some(Difference::Memory { interpreted, compiled, bytes: self.bytes });
        }
        if self.printed {
            let [interpreted, compiled] = interpreted.printed.difference(&compiled.printed);
            return Some(Difference::Printed { interpreted, compiled });
        }
        if self.requests {
            return Some(Difference::Requests);
        }
        let numbers = |run: &Results| {
            let Counts { warp_instructions, thread_instructions, divergent_branches, exchanges } =
                run.counts();
            [warp_instructions, thread_instructions, divergent_branches, exchanges]
        };
        self.counts
            .then(|| Difference::Counts { interpreted: numbers(interpreted), compiled: numbers(compiled) })
    }
}
