//! Memory, as windows of one generic address space (PTX ISA section 5.1): the layout, and the checks of accesses.
//!
//! Accesses of a warp go through `Spaces::view` once for all lanes where they can; `Spaces::judge` checks one lane,
//! and its error names the nearest variable.

pub(crate) mod cell;
pub(crate) mod constant;
pub(crate) mod copies;
pub mod global;
#[cfg_attr(not(all(unix, not(miri))), path = "unguarded.rs")]
mod guard;
pub(crate) mod heap;
pub mod host;
pub(crate) mod local;
pub(crate) mod order;
mod reserved;
pub(crate) mod shared;
mod sixteen;
pub(crate) mod wide;

use crate::fault::{BadAccess, Nearest, Problem, Relative, Use, What};
pub use cell::SharedBytes;
use constant::Constant;
use global::{Allocation, AllocationKind, Global, Variable, lock, nearest};
use shared::Shared;
use softwarp_image::{FunctionId, Image, Object, ObjectId, Windows};
use softwarp_ir::Memory;
use softwarp_ir::TAGGED;
use softwarp_isa::StateSpace;
use softwarp_isa::device::{CTA_SHARED, RESERVED_SHARED};

/// The memory of a CTA.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spaces<'a> {
    pub(crate) image: &'a Image,
    pub(crate) windows: &'a Windows,
    pub(crate) global: &'a Global,
    /// The allocations of global memory, kept here for fewer indirections.
    pub(crate) allocations: &'a [Allocation],
    pub(crate) constant: &'a Constant,
    pub(crate) parameters: &'a SharedBytes,
    /// The CTA's own, from the first byte that is not the system's.
    pub(crate) shared: &'a SharedBytes,
    /// The address of that byte.
    pub(crate) shared_start: u64,
    /// The shared memory of all CTAs of the cluster, by rank.
    pub(crate) cluster: &'a [Shared],
    /// The first address of the CTA's own part of `.shared`. Addresses of named variables are relative to it.
    pub(crate) window: u64,
    pub(crate) kernel: FunctionId,
    /// Addresses in `.local` have tags: see [`crate::sanitize::bounds`].
    pub(crate) tagged: bool,
}

impl<'a> Spaces<'a> {
    /// The first address of the shared memory of a CTA.
    pub(crate) fn shared_base(&self) -> u64 {
        self.image.header.arch.properties().reserved_shared
    }

    /// Whether cells are the shared memory of a CTA of the cluster.
    #[inline]
    pub(crate) fn is_shared(&self, cells: &SharedBytes) -> bool {
        let of = |cta: &Shared| std::ptr::eq(cells, &cta.cells) || std::ptr::eq(cells, &cta.reserved);
        std::ptr::eq(cells, self.shared) || self.cluster.iter().any(of)
    }

    /// The space that a generic address means, and what to subtract from it.
    #[inline]
    pub(crate) fn window_of(&self, address: u64) -> (Memory, u64) {
        let windows = self.windows;
        // All windows lie above global memory.
        if address < windows.constant.base {
            (Memory::Global, 0)
        } else if windows.shared.contains(address) {
            (Memory::Cluster, windows.shared.base)
        } else if windows.local.contains(address) {
            (Memory::Local, windows.local.base)
        } else if windows.constant.contains(address) {
            (Memory::Constant, windows.constant.base)
        } else if windows.parameter.contains(address) {
            (Memory::Kernel, windows.parameter.base)
        } else if self.tagged && address.wrapping_sub(windows.local.base) < TAGGED {
            (Memory::Local, windows.local.base)
        } else {
            (Memory::Global, 0)
        }
    }

    /// The cells that an address is in, and the address of their first byte; for everything but private memory.
    /// `None` where a lane must be checked by itself. The hint is where global memory was used last.
    #[inline]
    pub(crate) fn view(
        &self,
        memory: Memory,
        address: u64,
        hint: &mut u32,
    ) -> Option<(&'a SharedBytes, u64)> {
        match memory {
            Memory::Global => {
                let mut allocation = self.allocations.get(*hint as usize);
                if allocation.is_none_or(|it| address.wrapping_sub(it.base) >= it.bytes) {
                    let index = self.global.before(address)?;
                    *hint = index as u32;
                    allocation = self.allocations.get(index);
                }
                let allocation = allocation?;
                match allocation.kind {
                    AllocationKind::Heap(_) => None,
                    _ => allocation.cells.as_ref().map(|cells| (&**cells, allocation.base)),
                }
            }
            Memory::Shared | Memory::Cluster if self.is_own(address) => {
                Some((self.shared, self.shared_start))
            }
            Memory::Cluster => self.shared_of(address).ok(),
            Memory::Kernel => Some((self.parameters, 0)),
            // The banks differ in size.
            _ => None,
        }
    }

    /// Whether an address in `.shared` is in the CTA's own part.
    #[inline(always)]
    fn is_own(&self, address: u64) -> bool {
        address.wrapping_sub(self.window) < CTA_SHARED
    }

    /// The shared memory of the CTA that an address is in, and the address of its first byte. Outside a cluster,
    /// addresses beyond the CTA's own are just past its memory.
    #[cold]
    pub(crate) fn shared_of(&self, address: u64) -> Result<(&'a SharedBytes, u64), Problem> {
        let rank = address / CTA_SHARED;
        if self.cluster.len() == 1 || self.is_own(address) {
            return Ok((self.shared, self.shared_start));
        }
        let cta = usize::try_from(rank).ok().and_then(|rank| self.cluster.get(rank));
        let cta = cta.ok_or(Problem::NoCta)?;
        match cta.ended.get() {
            true => Err(Problem::Ended),
            false => Ok((&cta.cells, rank * CTA_SHARED + self.shared_base())),
        }
    }

    /// The reserved part of a CTA's shared memory (PTX ISA section 10, `%reserved_smem_offset_begin`), which
    /// cooperative groups use, and the offset of an address in it.
    #[cold]
    fn reserved_at(&self, address: u64) -> Option<(&'a SharedBytes, u64)> {
        let cta = self.cluster.get(usize::try_from(address / CTA_SHARED).ok()?)?;
        Some((&cta.reserved, (address % CTA_SHARED).checked_sub(self.reserved_start())?))
    }

    /// The offset of the reserved part in a CTA's shared memory: at the start, or at the very end on targets that
    /// reserve nothing.
    pub(crate) fn reserved_start(&self) -> u64 {
        if self.shared_base() == 0 { CTA_SHARED - RESERVED_SHARED } else { 0 }
    }

    /// Checks one lane's access. Returns the cells and the index of the first, or the error.
    pub(crate) fn judge(
        &self,
        memory: Memory,
        address: u64,
        bytes: u64,
        usage: Use,
    ) -> Result<(&'a SharedBytes, u64), Box<BadAccess>> {
        let bad = |problem, nearest| self.bad(problem, usage, memory, address, bytes, nearest);
        if !address.is_multiple_of(bytes.max(1)) {
            return Err(bad(Problem::Misaligned, self.nearest(memory, address)));
        }
        let fits = |offset: u64, size: u64| offset.checked_add(bytes).is_some_and(|end| end <= size);
        match memory {
            Memory::Global => {
                let Some(index) = self.global.before(address) else {
                    return Err(bad(Problem::OutOfBounds, self.nearest(memory, address)));
                };
                let allocation = &self.global.allocations()[index];
                let offset = address - allocation.base;
                if !fits(offset, allocation.bytes) {
                    return Err(bad(Problem::OutOfBounds, self.nearest(memory, address)));
                }
                if let AllocationKind::Multicast(_) = &allocation.kind {
                    return Err(bad(Problem::Multicast, None));
                }
                let Some(cells) = &allocation.cells else {
                    let problem = match allocation.kind {
                        AllocationKind::Variables(_) => Problem::Unloaded,
                        _ => Problem::Freed,
                    };
                    return Err(bad(problem, self.nearest(memory, address)));
                };
                if let AllocationKind::Heap(blocks) = &allocation.kind {
                    let block = lock(blocks).before(offset);
                    match block {
                        Some((start, size, live)) if fits(offset - start, size) => {
                            if !live {
                                return Err(bad(Problem::Freed, self.nearest(memory, address)));
                            }
                        }
                        _ => return Err(bad(Problem::OutOfBounds, self.nearest(memory, address))),
                    }
                }
                Ok((&**cells, offset))
            }
            Memory::Constant | Memory::Kernel if usage != Use::Read => {
                Err(bad(Problem::ReadOnly, self.nearest(memory, address)))
            }
            Memory::Constant if self.constant.holds(address, bytes) => Ok((&self.constant.cells, address)),
            Memory::Kernel if fits(address, self.parameters.len()) => Ok((self.parameters, address)),
            // As on the hardware, `.shared::cta` does not reach other CTAs.
            Memory::Shared if self.cluster.len() > 1 && !self.is_own(address) => {
                Err(bad(Problem::OtherCta, None))
            }
            Memory::Shared | Memory::Cluster => match self.shared_of(address) {
                Err(problem) => Err(bad(problem, None)),
                Ok((cells, start)) => match address.checked_sub(start) {
                    Some(offset) if fits(offset, cells.len()) => Ok((cells, offset)),
                    _ => match self.reserved_at(address) {
                        Some((cells, offset)) if fits(offset, cells.len()) => Ok((cells, offset)),
                        _ => Err(bad(Problem::OutOfBounds, self.nearest(memory, address))),
                    },
                },
            },
            _ => Err(bad(Problem::OutOfBounds, self.nearest(memory, address))),
        }
    }

    /// A bad access.
    pub(crate) fn bad(
        &self,
        problem: Problem,
        usage: Use,
        space: Memory,
        address: u64,
        bytes: u64,
        nearest: Option<Nearest>,
    ) -> Box<BadAccess> {
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        Box::new(BadAccess { problem, usage, space, address, generic: None, bytes, nearest })
    }

    /// A variable that an instruction named, relative to an address in its space.
    pub(crate) fn named(&self, id: ObjectId, base: u64, address: u64) -> Nearest {
        let object = self.image.object(id);
        let bytes = match object.is_dynamic_shared() {
            // A dynamic array has all shared memory of the launch from its base on.
            true => (self.shared_base() + self.shared.len()).saturating_sub(base % CTA_SHARED),
            false => object.total(),
        };
        let at = Relative::of(address, base, bytes);
        Nearest { what: What::Variable(object.name.to_string()), base, bytes, at, freed: false }
    }

    /// The variable, allocation or other thing that is nearest to an address.
    pub(crate) fn nearest(&self, memory: Memory, address: u64) -> Option<Nearest> {
        match memory {
            Memory::Global => self.global.nearest(address),
            Memory::Constant => self.nearest_object(StateSpace::Const, address),
            Memory::Kernel => self.nearest_object(StateSpace::Param, address).or_else(|| {
                let bytes = self.parameters.len();
                let at = Relative::of(address, 0, bytes);
                Some(Nearest { what: What::Parameters, base: 0, bytes, at, freed: false })
            }),
            Memory::Shared | Memory::Cluster => {
                let (cells, base) = self.shared_of(address).ok()?;
                let bytes = cells.len();
                let at = Relative::of(address, base, bytes);
                let whole = Nearest { what: What::Shared, base, bytes, at, freed: false };
                let Relative::Inside(_) = at else { return Some(whole) };
                // Variables have their addresses in the first CTA.
                let window = base - self.shared_base();
                let object = self.nearest_object(StateSpace::Shared, address - window);
                object.map(|object| Nearest { base: object.base + window, ..object }).or(Some(whole))
            }
            _ => None,
        }
    }

    fn nearest_object(&self, space: StateSpace, address: u64) -> Option<Nearest> {
        let reached = self.image.function(self.kernel).shared_objects.as_deref();
        // Variables of different kernels may lie over one another.
        let own = |index: usize, object: &Object| match space {
            StateSpace::Param => object.function == Some(self.kernel),
            StateSpace::Shared => reached.is_none_or(|ids| ids.contains(&ObjectId(index as u32))),
            _ => true,
        };
        let objects = self.image.objects.iter().enumerate().filter(|(n, o)| o.space == space && own(*n, o));
        let placed = objects.filter_map(|(index, object)| {
            let base = self.image.address(self.windows, ObjectId(index as u32), None)?;
            let distance = distance(address, base, object.total());
            Some((distance, ObjectId(index as u32), base))
        });
        let (_, id, base) = placed.min_by_key(|&(distance, ..)| distance)?;
        Some(self.named(id, base, address))
    }
}

impl Global {
    /// The allocation, or the variable or block in it, that is nearest to an address.
    pub(crate) fn nearest(&self, address: u64) -> Option<Nearest> {
        let allocations = self.allocations();
        let index = self.before(address);
        let around = [index, Some(index.map_or(0, |index| index + 1))];
        let near = around.into_iter().flatten().filter_map(|index| allocations.get(index));
        // Far from all allocations, as where null pointers lead, none is named.
        let near = near.filter(|it| distance(address, it.base, it.bytes) < 1 << 32);
        let allocation = near.min_by_key(|it| distance(address, it.base, it.bytes))?;
        let (what, base, bytes, freed) = match &allocation.kind {
            AllocationKind::Heap(blocks) => {
                let block = lock(blocks).before(address.saturating_sub(allocation.base));
                let (start, bytes, live) = block.unwrap_or((0, allocation.bytes, true));
                (What::Heap, allocation.base + start, bytes, !live)
            }
            AllocationKind::Variables(list) => {
                let variable = nearest(list, address.saturating_sub(allocation.base));
                let what = |variable: &Variable| What::Variable(variable.name.to_string());
                let (base, bytes) = variable.map_or((allocation.base, allocation.bytes), |variable| {
                    (allocation.base + variable.offset, variable.bytes)
                });
                (variable.map_or(What::Allocation, what), base, bytes, allocation.is_freed())
            }
            _ => (What::Allocation, allocation.base, allocation.bytes, allocation.cells.is_none()),
        };
        Some(Nearest { what, base, bytes, at: Relative::of(address, base, bytes), freed })
    }
}

/// The distance of an address from a range; 0 inside.
fn distance(address: u64, base: u64, bytes: u64) -> u64 {
    match Relative::of(address, base, bytes) {
        Relative::Before(bytes) => bytes,
        Relative::Inside(_) => 0,
        Relative::After(bytes) => bytes.saturating_add(1),
    }
}

/// The most shared memory that a CTA can have.
pub const MOST_SHARED: u64 = CTA_SHARED;
