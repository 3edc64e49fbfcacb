//! Which addresses belong to variables: what is in none of them is out of bounds.
//!
//! Modules that are loaded for this have **red zones** between their variables ([`softwarp_image::Options::red_zones`]),
//! so that an access past the end of one is not in the next. In addition, an instruction that names a variable must stay
//! in that one. Buffers of the host and blocks of `malloc` lie apart always; an access between them is a fault.
//!
//! **Local memory.** Frames of calls that are over are not used again at once (a quarantine, as AddressSanitizer's fake
//! stack), and addresses of a thread's own variables have a **tag** of the thread in bits that are zero otherwise (as in
//! hardware-assisted AddressSanitizer): 24 bits are the place in the thread's memory, and the 8 above them the tag, so
//! that a pointer that another thread got hold of is known. Threads whose numbers differ by a multiple of 255 have the
//! same tag.
//!
//! What remains unseen: an index so far off that it skips a red zone and reaches another variable, members of one
//! variable (compilers put all local arrays of a function into one), and tags where addresses have 32 bits.

use crate::decode::Program;
use softwarp_image::{Function, FunctionId, Image, ObjectId};
use softwarp_isa::StateSpace;

/// Bits of an address in `.local` that are the place in the thread's memory.
pub(crate) const TAG_SHIFT: u32 = 24;

/// Bytes of addresses in `.local` with tags.
pub(crate) const TAGGED: u64 = 1 << 32;

/// The tag of a thread of a CTA: never 0, which stands for no thread.
pub(crate) fn tag(cta: u64, thread: u32) -> u64 {
    1 + cta.wrapping_mul(89).wrapping_add(thread.into()) % 255
}

/// A variable: its first address, the one past its end, and which it is.
type Range = (u64, u64, Option<ObjectId>);

/// Variables of a state space, by address.
#[derive(Debug, Default)]
pub(crate) struct Ranges(Vec<Range>);

impl Ranges {
    fn new(mut list: Vec<Range>) -> Ranges {
        list.sort_unstable_by_key(|range| (range.0, range.1));
        Ranges(list)
    }

    /// The variable that a given number of bytes at an address are in. Arrays of `.shared` without a size lie over one another.
    pub(crate) fn find(&self, at: u64, bytes: u64) -> Option<&Range> {
        let after = self.0.partition_point(|range| range.0 <= at);
        let end = at.checked_add(bytes)?;
        self.0[..after].iter().rev().take(8).find(|range| end <= range.1)
    }

    /// The variable whose beginning or end is nearest to an address.
    pub(crate) fn nearest(&self, at: u64) -> Option<&Range> {
        let after = self.0.partition_point(|range| range.0 <= at);
        let before = after.checked_sub(1).and_then(|index| self.0.get(index));
        let distance = |range: &&Range| match at < range.0 {
            true => range.0 - at,
            false => at.saturating_sub(range.1).saturating_add(1),
        };
        before.into_iter().chain(self.0.get(after)).min_by_key(distance)
    }
}

/// The variables that a launch can reach.
#[derive(Debug, Default)]
pub(crate) struct Bounds {
    /// Variables in global memory, by address.
    pub(crate) global: Ranges,
    /// Variables in shared memory, by offset in a CTA's part.
    pub(crate) shared: Ranges,
    /// Variables in constant memory, by address.
    pub(crate) constant: Ranges,
    /// The kernel's parameters, by offset.
    pub(crate) parameters: Ranges,
    /// The local variables of each function, by offset in the frame.
    pub(crate) frames: Vec<Ranges>,
}

impl Bounds {
    /// The variables of a kernel, in a launch that gives a CTA a given number of bytes of shared memory.
    pub(crate) fn new(
        image: &Image,
        windows: &softwarp_image::Windows,
        program: &Program,
        kernel: FunctionId,
        shared_bytes: u64,
    ) -> Bounds {
        let function = image.function(kernel);
        let ids = || (0..image.objects.len() as u32).map(ObjectId);
        let in_space = |space: StateSpace| {
            let placed = ids().filter(|&id| image.object(id).space == space).filter_map(|id| {
                let start = image.address(windows, id, None)?;
                let object = image.object(id);
                let bytes = if object.open { u64::MAX - start } else { object.total() };
                Some((start, start + bytes, Some(id)))
            });
            Ranges::new(placed.collect())
        };
        let parameters = function.parameters.iter().filter_map(|&id| {
            let object = image.object(id);
            let start = object.offset?;
            Some((start, start + object.total(), Some(id)))
        });
        let frames = program.codes.iter().map(|code| {
            let function = image.function(code.function);
            let local = |id: &&ObjectId| image.object(**id).space == StateSpace::Local;
            let placed = function.locals.iter().filter(local).filter_map(|&id| {
                let object = image.object(id);
                let start = object.offset?;
                Some((start, start + object.total(), Some(id)))
            });
            // Behind them are parameters whose addresses are taken.
            Ranges::new(placed.chain([(function.frame.bytes, code.local_bytes, None)]).collect())
        });
        Bounds {
            global: in_space(StateSpace::Global),
            shared: shared(image, function, shared_bytes),
            constant: in_space(StateSpace::Const),
            parameters: Ranges::new(parameters.collect()),
            frames: frames.collect(),
        }
    }
}

/// The variables in a kernel's shared memory.
fn shared(image: &Image, function: &Function, bytes: u64) -> Ranges {
    let every = || (0..image.objects.len() as u32).map(ObjectId).collect();
    let all: Vec<ObjectId> = function.shared_objects.clone().unwrap_or_else(every);
    let mut list: Vec<Range> = Vec::new();
    let mut dynamic = function.shared.bytes;
    for id in all {
        let object = image.object(id);
        if object.is_dynamic_shared() {
            let start = function.dynamic_offset(object);
            dynamic = dynamic.min(start);
            list.push((start, bytes, Some(id)));
        } else if object.space == StateSpace::Shared
            && let Some(start) = object.offset
        {
            list.push((start, start + object.total(), Some(id)));
        }
    }
    // Dynamic shared memory that no variable names.
    list.push((dynamic, bytes, None));
    Ranges::new(list)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_no_variable_is_near_one() {
        let ranges = Ranges::new(vec![(64, 80, Some(ObjectId(1))), (0, 16, Some(ObjectId(0)))]);
        assert_eq!(ranges.find(0, 16).map(|it| it.2), Some(Some(ObjectId(0))));
        assert_eq!(ranges.find(64, 4).map(|it| it.2), Some(Some(ObjectId(1))));
        assert!(ranges.find(12, 8).is_none() && ranges.find(16, 1).is_none() && ranges.find(63, 1).is_none());
        assert_eq!(ranges.nearest(16).map(|it| it.0), Some(0));
        assert_eq!(ranges.nearest(60).map(|it| it.0), Some(64));
        assert_eq!(ranges.nearest(1000).map(|it| it.0), Some(64));
    }

    #[test]
    fn threads_near_one_another_have_different_tags() {
        for thread in 0..1024 {
            assert!((1..256).contains(&tag(7, thread)));
            assert!((1..255).all(|other| tag(7, thread) != tag(7, thread + other)));
        }
    }
}
