//! Copies of tensors (PTX ISA section 9.7.9.25.5) and what changes a tensor map (9.7.9.28, 9.7.13.16). Which bytes go
//! where is for [`softwarp_tensor`] to say.
//!
//! [`Asked`], [`TensorUse`] and the [`Walk`] describe a copy. The executor performs it, and the observer reports it.

use super::accesses::{CopyAccesses, LaneAccess};
use super::operand::{Destination, OperandAddress};
use super::{MAP_ALIGNMENT, bulk, refused};
use crate::fault::{BadAccess, FaultKind, Tried, Trouble, Use};
use crate::memory::Spaces;
use crate::sanitize::Agent;
use crate::warp::cost::copying;
use crate::warp::{Env, Warp};
use softwarp_ir::asynchronous::{CopyMap, ReplaceField, TensorCopy, TensorWay};
use softwarp_ir::{Address, Memory, Order, Scope, Slot};
use softwarp_isa::device::CTA_SHARED;
use softwarp_tensor::copy::{self, Outside};
use softwarp_tensor::object::{self, SIZE};
use softwarp_tensor::replace::write;
use softwarp_tensor::{Access, CopyFault, Direction, Map, Mode, Request, Source, Target, Walk, WideMode};
use softwarp_units::lanes::{LANES, lanes};
use std::cell::{Cell, RefCell};

/// Swizzles depend on the address modulo this.
const PERIOD: u64 = 1024;

/// How many maps a warp remembers: those of two factors, a sum and a result.
const KEPT: usize = 4;

/// Buffers and maps that a warp keeps for the next copy.
#[derive(Debug, Default)]
pub(crate) struct Tensors {
    pub(super) scratch: Vec<u8>,
    /// The maps that were used last, the latest first, and the mode that each was read for.
    last: Vec<([u8; SIZE], Option<WideMode>, Map)>,
}

impl Tensors {
    /// The map that an object is for an instruction, or what is wrong with it.
    fn map(&mut self, object: &[u8; SIZE], wide: Option<WideMode>, arch: Target) -> Result<Map, CopyFault> {
        if let Some(index) = self.last.iter().position(|(known, mode, _)| (known, *mode) == (object, wide)) {
            self.last[..=index].rotate_right(1);
            return Ok(self.last[0].2);
        }
        let map = read(object, wide, arch)?;
        self.last.truncate(KEPT - 1);
        self.last.insert(0, (*object, wide, map));
        Ok(map)
    }
}

fn read(object: &[u8; SIZE], wide: Option<WideMode>, arch: Target) -> Result<Map, CopyFault> {
    let wrong = |findings: Vec<softwarp_tensor::Diagnostic>| {
        let first =
            findings.into_iter().find(|finding| finding.severity() == softwarp_tensor::Severity::Error);
        let (code, why) = first.map_or(("copy-map", String::new()), |found| (found.code.0, found.message));
        CopyFault { code, message: format!("the tensor map is none: {why}") }
    };
    let mut description = object::decode(object).map_err(wrong)?.description;
    // A map for the W modes looks like any of im2col: the instruction decides.
    if let (Some(mode), Access::Im2col { lower, upper, channels, pixels }) = (wide, &description.access) {
        let corner = |list: &[i32]| list.first().copied().unwrap_or(0);
        let (lower, upper) = (corner(lower), corner(upper));
        description.access = Access::Wide { mode, lower, upper, channels: *channels, pixels: *pixels };
    }
    Map::new(&description, arch).map_err(wrong)
}

/// Global memory, from a tensor's address on.
struct Tensor<'a, 'b> {
    spaces: &'b Spaces<'a>,
    base: u64,
    hint: Cell<u32>,
    bad: RefCell<Option<Box<BadAccess>>>,
}

impl<'a> Tensor<'a, '_> {
    fn cells(
        &self,
        offset: u64,
        length: usize,
        usage: Use,
    ) -> Result<(&'a crate::memory::cell::SharedBytes, u64), Outside> {
        let address = self.base.wrapping_add(offset);
        let mut hint = self.hint.get();
        let view = self.spaces.view(Memory::Global, address, &mut hint);
        self.hint.set(hint);
        if let Some((cells, start)) = view
            && let Some(at) = address.checked_sub(start)
            && at.checked_add(length as u64).is_some_and(|end| end <= cells.len())
        {
            return Ok((cells, at));
        }
        OperandAddress::of(self.spaces, Memory::Global, address)
            .span(self.spaces, length as u64, 1, usage)
            .map_err(|bad| {
                *self.bad.borrow_mut() = Some(bad);
                Outside { offset, length }
            })
    }
}

impl copy::Memory for Tensor<'_, '_> {
    fn read(&self, offset: u64, into: &mut [u8]) -> Result<(), Outside> {
        let (cells, at) = self.cells(offset, into.len(), Use::Read)?;
        cells.read(at, into);
        Ok(())
    }

    fn write(&mut self, offset: u64, from: &[u8]) -> Result<(), Outside> {
        let (cells, at) = self.cells(offset, from.len(), Use::Write)?;
        cells.write(at, from);
        Ok(())
    }
}

impl Tensor<'_, '_> {
    /// The fault of a copy.
    fn trouble(&self, lane: usize, fault: CopyFault) -> Box<Trouble> {
        let kind = match self.bad.borrow_mut().take() {
            Some(bad) => FaultKind::Access(bad),
            None => FaultKind::Copy { rule: fault.code, message: fault.message },
        };
        Trouble::new(lane, kind)
    }
}

/// A copy that one thread asks for.
pub(super) struct Asked {
    pub lane: usize,
    map: OperandAddress,
    pub request: Request,
    /// The destinations in shared memory, or the source; a load has an mbarrier at each.
    pub targets: Vec<Destination>,
}

/// The kinds of access of a copy to both memories.
#[derive(Clone, Copy)]
pub(super) struct TensorUse {
    pub global: Use,
    pub shared: Use,
    /// In global memory. Shared memory is accessed weakly.
    pub order: Order,
}

impl TensorUse {
    /// None for a prefetch, which accesses no memory of the program.
    pub fn of(way: TensorWay) -> Option<TensorUse> {
        let (global, shared, order) = match way {
            TensorWay::Prefetch => return None,
            TensorWay::Load => (Use::Read, Use::Write, Order::WEAK),
            TensorWay::Store => (Use::Write, Use::Read, Order::WEAK),
            TensorWay::Reduce(_) => (Use::Atomic, Use::Read, Order::relaxed(Scope::Gpu)),
        };
        Some(TensorUse { global, shared, order })
    }

    /// An access of the copy in shared memory, a number of bytes behind a target. Loads complete on mbarriers, other
    /// copies in groups.
    pub fn shared(self, asked: &Asked, target: Destination, offset: u64, bytes: u64) -> LaneAccess {
        LaneAccess {
            lane: asked.lane,
            at: target.at.after(offset),
            bytes,
            alignment: 1,
            usage: self.shared,
            order: Order::WEAK,
            agent: if target.mbarrier.is_some() { Agent::Counted } else { Agent::Source },
            mbarrier: target.mbarrier,
        }
    }

    /// The accesses of the copy in global memory. The walk has their addresses and sizes.
    pub fn global(self, asked: &Asked) -> LaneAccess {
        LaneAccess {
            lane: asked.lane,
            at: OperandAddress::UNUSED,
            bytes: 0,
            alignment: 1,
            usage: self.global,
            order: self.order,
            agent: Agent::Target,
            mbarrier: None,
        }
    }
}

impl Warp {
    pub(super) fn tensor_copy(
        &mut self,
        env: &mut Env<'_>,
        call: usize,
        copy: &TensorCopy,
        taking: u32,
    ) -> Tried<()> {
        for asked in self.asked(env, call, copy, taking) {
            let bytes = self.copy_tensor(env, copy, &asked)?;
            // Rows of a box may be short.
            env.meter.work_within(env.launch, 1 + 8 * copying(bytes))?;
        }
        self.advanced = true;
        Ok(())
    }

    /// The copies that lanes ask for.
    pub(super) fn asked(&self, env: &Env<'_>, call: usize, copy: &TensorCopy, taking: u32) -> Vec<Asked> {
        let operands = |operand: &Address| self.operands(env, call, operand, taking);
        let maps = operands(&copy.map);
        let shared = copy.shared.as_ref().map_or([OperandAddress::UNUSED; LANES], operands);
        let mbarriers = copy.mbarrier.as_ref().map(operands);
        let row = |&slot: &Slot| self.calls[call].frame.row::<u32>(slot);
        let coordinates: Vec<[u32; LANES]> = copy.coordinates.iter().map(row).collect();
        let offsets: Vec<[u32; LANES]> = copy.offsets.iter().map(row).collect();
        let ctas = self.narrow(call, copy.multicast);
        let direction = match copy.way {
            TensorWay::Load | TensorWay::Prefetch => Direction::Load,
            TensorWay::Store => Direction::Store,
            TensorWay::Reduce(operation) => Direction::Reduce(operation),
        };
        let ask = |lane: usize| {
            let at = |list: &[[u32; LANES]], index: usize| list.get(index).map_or(0, |row| row[lane]);
            let request = Request {
                mode: copy.mode,
                direction,
                coordinates: std::array::from_fn(|index| at(&coordinates, index) as i32),
                offsets: std::array::from_fn(|index| at(&offsets, index)),
                shared: shared[lane].address,
            };
            let mbarrier = mbarriers.as_ref().map(|mbarriers| mbarriers[lane]);
            let target = Destination { at: shared[lane], mbarrier };
            let targets = match (&ctas, mbarrier) {
                (Some(ctas), Some(mbarrier)) if copy.pair => {
                    target.multicast_to_pairs(ctas[lane], mbarrier.address / CTA_SHARED)
                }
                (Some(ctas), _) => target.multicast(ctas[lane]),
                (None, _) => vec![target],
            };
            Asked { lane, map: maps[lane], request, targets }
        };
        let mut asked: Vec<Asked> = lanes(taking).map(ask).collect();
        // All lanes of a warp may execute a store that one thread could. The same store is performed once.
        if copy.way == TensorWay::Store {
            asked.dedup_by(|one, other| one.map.address == other.map.address && one.request == other.request);
        }
        asked
    }

    /// The map of a copy.
    fn map(&mut self, env: &Env<'_>, copy: &TensorCopy, asked: &Asked) -> Tried<Map> {
        let object = read_map(&env.spaces, asked.map, asked.lane)?;
        let refuse = |fault: CopyFault| {
            Trouble::new(asked.lane, FaultKind::Copy { rule: fault.code, message: fault.message })
        };
        self.tensors.map(&object, wide(copy.mode), arch(env)).map_err(refuse)
    }

    /// Copies what one thread asks for. Returns the bytes, counted for each destination.
    fn copy_tensor(&mut self, env: &Env<'_>, copy: &TensorCopy, asked: &Asked) -> Tried<u64> {
        let &Asked { lane, mut request, .. } = asked;
        let spaces = &env.spaces;
        let refuse = |fault: CopyFault| {
            Trouble::new(lane, FaultKind::Copy { rule: fault.code, message: fault.message })
        };
        let map = self.map(env, copy, asked)?;
        if map.rank != usize::from(copy.rank) {
            let message =
                format!("the tensor map has {} dimensions, the instruction {}", map.rank, copy.rank);
            return refused(lane, "copy-rank", message);
        }
        let Some(uses) = TensorUse::of(copy.way) else {
            request.shared = 0;
            return Walk::new(&map, &request).map(|_| 0).map_err(refuse);
        };
        let walk = Walk::new(&map, &request).map_err(refuse)?;
        let footprint = walk.footprint();
        for &target in &asked.targets {
            uses.shared(asked, target, 0, footprint).cells(spaces)?;
        }
        // Swizzles depend on these bits of the address, so the scratch buffer has the same.
        request.shared %= PERIOD;
        let (start, end) = (request.shared as usize, (request.shared + footprint) as usize);
        let mut scratch = std::mem::take(&mut self.tensors.scratch);
        if scratch.len() < end {
            scratch.resize(end, 0);
        }
        let room = &mut scratch[..end];
        let mut tensor = Tensor { spaces, base: map.address, hint: Cell::new(0), bad: RefCell::new(None) };
        match copy.way {
            TensorWay::Load => {
                let bytes = walk.transaction_bytes();
                for &target in &asked.targets {
                    let access = uses.shared(asked, target, 0, footprint);
                    let (cells, at) = access.cells(spaces)?;
                    // Between rows there may be bytes that stay as they are.
                    if bytes != footprint {
                        cells.read(at, &mut room[start..]);
                    }
                    copy::load(&map, &request, &tensor, room).map_err(|fault| tensor.trouble(lane, fault))?;
                    cells.write(at, &room[start..]);
                    LaneAccess { bytes, ..access }.complete(spaces)?;
                }
            }
            _ => {
                let Some(&target) = asked.targets.first() else { return Ok(0) };
                let (cells, at) = uses.shared(asked, target, 0, footprint).cells(spaces)?;
                cells.read(at, &mut room[start..]);
                match request.direction {
                    Direction::Reduce(operation) => {
                        let walk = Walk::new(&map, &request).map_err(refuse)?;
                        for run in walk {
                            let Source::Global(offset) = run.source else { continue };
                            let (from, length) = (run.shared as usize, run.length as usize);
                            let place = tensor.cells(offset, length, uses.global);
                            let (cells, at) =
                                place.map_err(|outside| tensor.trouble(lane, outside.into()))?;
                            bulk::reduce(cells, at, operation, map.element, &room[from..from + length]);
                        }
                    }
                    _ => copy::store(&map, &request, room, &mut tensor)
                        .map_err(|fault| tensor.trouble(lane, fault))?,
                }
            }
        }
        self.tensors.scratch = scratch;
        Ok(footprint * asked.targets.len() as u64)
    }

    /// `tensormap.replace`
    pub(super) fn replace(
        &mut self,
        env: &Env<'_>,
        call: usize,
        replace: &ReplaceField,
        taking: u32,
    ) -> Tried<()> {
        let maps = self.replace_accesses(env, call, replace, taking);
        let frame = &self.calls[call].frame;
        let values: [u64; LANES] = match replace.field.value_bits() {
            64 => frame.row::<u64>(replace.value),
            _ => frame.row::<u32>(replace.value).map(u64::from),
        };
        for lane in lanes(taking) {
            let (cells, at) = maps.of(lane).cells(&env.spaces)?;
            let mut object = [0; SIZE];
            cells.read(at, &mut object);
            write(&mut object, replace.field, replace.ordinal, values[lane]);
            cells.write(at, &object);
        }
        Ok(())
    }

    /// `tensormap.cp_fenceproxy`
    pub(super) fn copy_map(&mut self, env: &Env<'_>, call: usize, copy: &CopyMap, taking: u32) -> Tried<()> {
        let CopyAccesses { from, to } = self.copy_map_accesses(env, call, copy, taking);
        for lane in lanes(taking) {
            let mut object = [0; SIZE];
            let (cells, at) = from.of(lane).cells(&env.spaces)?;
            cells.read(at, &mut object);
            let (cells, at) = to.of(lane).cells(&env.spaces)?;
            cells.write(at, &object);
        }
        Ok(())
    }
}

fn wide(mode: Mode) -> Option<WideMode> {
    match mode {
        Mode::Im2colW => Some(WideMode::W),
        Mode::Im2colW128 => Some(WideMode::W128),
        _ => None,
    }
}

fn arch(env: &Env<'_>) -> Target {
    env.launch.image.header.arch.baseline()
}

/// The address of a copy's tensor and the runs of bytes that it moves; none if it is not valid.
pub(super) fn walk(env: &Env<'_>, copy: &TensorCopy, asked: &Asked) -> Option<(u64, Walk)> {
    let object = read_map(&env.spaces, asked.map, asked.lane).ok()?;
    let map = read(&object, wide(copy.mode), arch(env)).ok()?;
    Some((map.address, Walk::new(&map, &asked.request).ok()?))
}

/// The 128 bytes of a map. The hardware reads none from shared memory.
fn read_map(spaces: &Spaces<'_>, place: OperandAddress, lane: usize) -> Tried<[u8; SIZE]> {
    let (cells, at) = place.need(spaces, lane, (SIZE as u64, MAP_ALIGNMENT), Use::Read)?;
    if !matches!(place.memory, Memory::Global | Memory::Constant | Memory::Kernel) {
        let message = "a tensor map is in .param, .const or .global memory, not in .shared".to_owned();
        return refused(lane, "copy-map", message);
    }
    let mut object = [0; SIZE];
    cells.read(at, &mut object);
    Ok(object)
}
