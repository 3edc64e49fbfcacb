//! Tells the sanitizer of bounds which addresses a warp is about to use: [`crate::sanitize::bounds`].

use super::addresses::Group;
use super::observe::shadow_address;
use super::run::first;
use super::{Env, Split, Warp};
use crate::fault::{Nearest, Relative, Use, What};
use crate::sanitize::bounds::{Bounds, TAG_SHIFT, TAGGED, tag};
use crate::sanitize::{Actor, FindingKind, Sanitizer, Span, Touched};
use softwarp_image::ObjectId;
use softwarp_image::image::BANK_BYTES;
use softwarp_ir::{Address, Memory};
use softwarp_isa::StateSpace;
use softwarp_units::lanes::{LANES, lanes};

impl Warp {
    /// An instruction is about to access `bytes` of memory at these addresses. Returns the variables to check them
    /// against, if bounds are checked and the address alone does not already show an error.
    pub(super) fn bounds_to_look_at<'a>(
        &self,
        env: &Env<'_>,
        (sanitizer, actor): (&'a Sanitizer<'_>, &Actor),
        split: &Split,
        address: &Address,
        (raw, bytes): (&[u64; LANES], u64),
        usage: Use,
    ) -> Option<&'a Bounds> {
        let bounds = sanitizer.bounds.as_ref()?;
        if let (None, Some(id)) = (address.base, address.named) {
            let at = raw[first(actor.lanes)];
            if let Some(nearest) = self.outside(env, split, (id, address.memory), at, bytes) {
                let touched = touched(address.memory, at, bytes, Some(nearest));
                sanitizer.out_of_bounds(env.launch, actor, FindingKind::OutOfBounds { usage }, touched);
                return None;
            }
        }
        if env.spaces.tagged && matches!(address.memory, Memory::Generic | Memory::Local) {
            self.observe_tags(env, (sanitizer, actor), address.memory, raw, bytes);
        }
        (address.memory != Memory::Function).then_some(bounds)
    }

    /// Lanes are about to access `bytes` each in the same state space.
    pub(super) fn observe_bounds(
        &self,
        env: &Env<'_>,
        (sanitizer, actor): (&Sanitizer<'_>, &Actor),
        split: &Split,
        (bounds, group, span): (&Bounds, &Group, Span),
        bytes: u64,
        usage: Use,
    ) {
        let judge = |at: u64| self.judge_bounds(env, bounds, split, (group.memory, at), bytes);
        // Nearly always, all lanes are in the same variable. Those that do not take part have the address of one that does.
        let Span { low, high, .. } = span;
        let inside = |start: u64, end: u64, low: u64, high: u64| {
            start <= low && high.checked_add(bytes).is_some_and(|past| past <= end)
        };
        let mut last = (1, 0);
        if let Judged::Inside(start, end) = judge(low) {
            if inside(start, end, low, high) {
                return;
            }
            last = (start, end);
        }
        for lane in lanes(group.lanes) {
            let at = group.addresses[lane];
            if inside(last.0, last.1, at, at) {
                continue;
            }
            match judge(at) {
                Judged::Inside(start, end) => last = (start, end),
                Judged::Unknown => {}
                Judged::Wrong(kind, nearest) => {
                    let actor = Actor { lanes: 1 << lane, ..*actor };
                    let kind = kind.unwrap_or(FindingKind::OutOfBounds { usage });
                    let touched = touched(group.memory, at, bytes, nearest);
                    sanitizer.out_of_bounds(env.launch, &actor, kind, touched);
                }
            }
        }
    }

    /// The variable that an instruction names, if the access leaves it.
    fn outside(
        &self,
        env: &Env<'_>,
        split: &Split,
        (id, memory): (ObjectId, Memory),
        at: u64,
        bytes: u64,
    ) -> Option<Nearest> {
        let spaces = &env.spaces;
        let object = spaces.image.object(id);
        let activation = &self.calls[split.call as usize];
        let base = match memory {
            // Parameters may lie there, too.
            Memory::Frame if object.space != StateSpace::Local => return None,
            Memory::Frame => activation.base.wrapping_add(object.offset?),
            Memory::Shared | Memory::Cluster => {
                let offset = match object.is_dynamic_shared() {
                    true => spaces.image.function(spaces.kernel).dynamic_offset(object),
                    false => object.offset?,
                };
                spaces.window + spaces.shared_base() + offset
            }
            Memory::Global | Memory::Constant | Memory::Kernel => {
                spaces.image.address(spaces.windows, id, None)?
            }
            _ => return None,
        };
        if object.open {
            return None;
        }
        let inside = at.checked_sub(base).and_then(|from| from.checked_add(bytes));
        let inside = inside.is_some_and(|end| end <= object.total());
        (!inside).then(|| spaces.named(id, base, at))
    }

    /// Looks for addresses that have the tags of other threads.
    fn observe_tags(
        &self,
        env: &Env<'_>,
        (sanitizer, actor): (&Sanitizer<'_>, &Actor),
        memory: Memory,
        raw: &[u64; LANES],
        bytes: u64,
    ) {
        let window = if memory == Memory::Generic { env.spaces.windows.local.base } else { 0 };
        let cta = env.launch.linear(env.cta);
        for lane in lanes(actor.lanes) {
            let at = raw[lane].wrapping_sub(window);
            let found = at >> TAG_SHIFT;
            let own = tag(cta, self.index * LANES as u32 + lane as u32);
            if at >= TAGGED || found == 0 || found == own {
                continue;
            }
            let threads = env.launch.block_threads();
            let mut owners = (0..threads).filter(|&thread| tag(cta, thread) == found);
            let owner = owners.next().filter(|_| owners.next().is_none());
            let actor = Actor { lanes: 1 << lane, ..*actor };
            let touched = touched(Memory::Local, at & ((1 << TAG_SHIFT) - 1), bytes, None);
            sanitizer.out_of_bounds(env.launch, &actor, FindingKind::ForeignLocal { owner }, touched);
        }
    }

    /// Whether an access is in a variable.
    fn judge_bounds(
        &self,
        env: &Env<'_>,
        bounds: &Bounds,
        split: &Split,
        (memory, at): (Memory, u64),
        bytes: u64,
    ) -> Judged {
        match memory {
            Memory::Local => self.judge_local(env, bounds, split, at, bytes),
            _ => judge_range(env, bounds, (memory, at), bytes),
        }
    }

    /// The same in the thread's own memory.
    fn judge_local(&self, env: &Env<'_>, bounds: &Bounds, split: &Split, at: u64, bytes: u64) -> Judged {
        let spaces = &env.spaces;
        let top = spaces.windows.local.size;
        if at >= top - spaces.image.thread.bytes {
            return Judged::Unknown;
        }
        let mut call = Some(split.call);
        while let Some(activation) = call.and_then(|call| self.calls.get(call as usize)) {
            let code = &env.launch.program.codes[activation.code as usize];
            let (base, end) = (activation.base, activation.base + code.local_bytes);
            if (activation.bottom..base).contains(&at) {
                return Judged::Unknown;
            }
            if (base..end).contains(&at) {
                let Some(frame) = bounds.frames.get(activation.code as usize) else { return Judged::Unknown };
                if let Some(range) = frame.find(at - base, bytes) {
                    return Judged::Inside(base + range.0, base + range.1);
                }
                let near = frame.nearest(at - base).and_then(|&(start, _, id)| Some((start, id?)));
                return Judged::Wrong(None, near.map(|(start, id)| spaces.named(id, base + start, at)));
            }
            call = activation.caller.map(|(caller, _)| caller);
        }
        if at < self.lowest {
            // The access itself is a fault.
            return Judged::Unknown;
        }
        let (base, size) = (self.lowest, top - self.lowest);
        let what =
            Nearest { what: What::Stack, base, bytes: size, at: Relative::of(at, base, size), freed: true };
        Judged::Wrong(Some(FindingKind::DeadLocal), Some(what))
    }
}

/// A lane is about to access `bytes` of global or shared memory, by an instruction that is no plain load or store.
pub(crate) fn observe_range(
    env: &Env<'_>,
    (sanitizer, actor): (&Sanitizer<'_>, &Actor),
    lane: usize,
    (memory, at): (Memory, u64),
    bytes: u64,
    usage: Use,
) {
    let Some(bounds) = &sanitizer.bounds else { return };
    if let Judged::Wrong(_, nearest) = judge_range(env, bounds, (memory, at), bytes) {
        let actor = Actor { lanes: 1 << (lane % LANES), ..*actor };
        let touched = touched(memory, at, bytes, nearest);
        sanitizer.out_of_bounds(env.launch, &actor, FindingKind::OutOfBounds { usage }, touched);
    }
}

/// Whether an access is in a variable; of memory that no thread has to itself.
fn judge_range(env: &Env<'_>, bounds: &Bounds, (memory, at): (Memory, u64), bytes: u64) -> Judged {
    let spaces = &env.spaces;
    let (ranges, place) = match memory {
        Memory::Global if spaces.windows.globals.contains(at) => (&bounds.global, at),
        // In the rest of global memory, accesses outside of allocations are faults.
        Memory::Global => return Judged::Inside(spaces.windows.heap.base, spaces.windows.constant.base),
        Memory::Constant if at < BANK_BYTES => (&bounds.constant, at),
        Memory::Kernel => (&bounds.parameters, at),
        Memory::Shared | Memory::Cluster => match shadow_address(env, memory, at) {
            // Past the end, the access is a fault, or in the reserved part.
            Some(found) if found.address < env.launch.shared_bytes => (&bounds.shared, found.address),
            _ => return Judged::Unknown,
        },
        _ => return Judged::Unknown,
    };
    // Back to addresses as the program has them.
    let shift = at.wrapping_sub(place);
    match ranges.find(place, bytes) {
        Some(range) => Judged::Inside(range.0.wrapping_add(shift), range.1.wrapping_add(shift)),
        None => {
            let near = ranges.nearest(place);
            let named = near.and_then(|&(start, _, id)| Some((start, id?)));
            let nearest = named.map(|(start, id)| spaces.named(id, start.wrapping_add(shift), at));
            Judged::Wrong(None, nearest)
        }
    }
}

/// The result of a check.
enum Judged {
    /// It is in a variable that has these addresses.
    Inside(u64, u64),
    /// Not checked: no variables are known there.
    Unknown,
    /// It is in no variable: the kind of finding, if it is not the usual one, and the nearest variable.
    Wrong(Option<FindingKind>, Option<Nearest>),
}

fn touched(space: Memory, address: u64, bytes: u64, nearest: Option<Nearest>) -> Touched {
    let space = match space {
        Memory::Frame => Memory::Local,
        Memory::Cluster => Memory::Shared,
        space => space,
    };
    Touched { space, address, bytes: u32::try_from(bytes).unwrap_or(u32::MAX), nearest }
}
