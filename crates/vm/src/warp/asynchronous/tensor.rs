//! Copies of tensors (PTX ISA section 9.7.9.25.5) and what changes a tensor map (9.7.9.28, 9.7.13.16). Which bytes go
//! where is for [`softwarp_tensor`] to say.

use super::place::each;
use super::{Place, bulk, complete_tx, refused};
use crate::fault::{BadAccess, FaultKind, Tried, Trouble, Use};
use crate::memory::Spaces;
use crate::warp::cost::copying;
use crate::warp::{Env, Warp};
use softwarp_ir::asynchronous::{CopyMap, ReplaceField, TensorCopy, TensorWay};
use softwarp_ir::{Memory, Slot};
use softwarp_tensor::copy::{self, Outside};
use softwarp_tensor::object::{self, SIZE};
use softwarp_tensor::replace::write;
use softwarp_tensor::{Access, Direction, Fault, Map, Mode, Request, Source, Target, Walk, WideMode};
use softwarp_units::lanes::{LANES, lanes};
use std::cell::{Cell, RefCell};

/// Swizzles look at no higher bits of an address.
const PERIOD: u64 = 1024;

/// Where a map can lie.
const MAP_ALIGNMENT: u64 = 64;

/// How many maps a warp remembers: those of two factors, a sum and a result.
const KEPT: usize = 4;

/// What a warp keeps for the next copy.
#[derive(Debug, Default)]
pub(crate) struct Tensors {
    pub(super) scratch: Vec<u8>,
    /// The maps that were used last, the latest first, and what they were read as.
    last: Vec<([u8; SIZE], Option<WideMode>, Map)>,
}

impl Tensors {
    /// The map that an object is to an instruction, or why it is none.
    fn map(&mut self, object: &[u8; SIZE], wide: Option<WideMode>, arch: Target) -> Result<Map, Fault> {
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

fn read(object: &[u8; SIZE], wide: Option<WideMode>, arch: Target) -> Result<Map, Fault> {
    let wrong = |findings: Vec<softwarp_tensor::Diagnostic>| {
        let first =
            findings.into_iter().find(|finding| finding.severity() == softwarp_tensor::Severity::Error);
        let (code, why) = first.map_or(("copy-map", String::new()), |found| (found.code.0, found.message));
        Fault { code, message: format!("the tensor map is none: {why}") }
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
        Place::of(self.spaces, Memory::Global, address).span(self.spaces, length as u64, 1, usage).map_err(
            |bad| {
                *self.bad.borrow_mut() = Some(bad);
                Outside { offset, length }
            },
        )
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
    /// What stopped a copy.
    fn trouble(&self, lane: usize, fault: Fault) -> Box<Trouble> {
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
    map: Place,
    pub request: Request,
    /// Where in shared memory, each with its mbarrier.
    pub targets: Vec<(Place, Place)>,
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
            env.watch.work_within(env.launch, 1 + 8 * copying(bytes))?;
        }
        self.advanced = true;
        Ok(())
    }

    /// What each lane asks for.
    pub(super) fn asked(&self, env: &Env<'_>, call: usize, copy: &TensorCopy, taking: u32) -> Vec<Asked> {
        let maps = self.places(env, call, &copy.map, taking);
        let shared = self.places_if_any(env, call, copy.shared.as_ref(), taking);
        let barriers = self.places_if_any(env, call, copy.mbarrier.as_ref(), taking);
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
            let targets = match &ctas {
                Some(ctas) => each(shared[lane], barriers[lane], ctas[lane]),
                None => vec![(shared[lane], barriers[lane])],
            };
            Asked { lane, map: maps[lane], request, targets }
        };
        let mut asked: Vec<Asked> = lanes(taking).map(ask).collect();
        // Whole warps store what one of their threads could, and what is stored once need not be stored again.
        if copy.way == TensorWay::Store {
            asked.dedup_by(|one, other| one.map.address == other.map.address && one.request == other.request);
        }
        asked
    }

    /// The map of a copy.
    fn map(&mut self, env: &Env<'_>, copy: &TensorCopy, asked: &Asked) -> Tried<Map> {
        let object = read_map(&env.spaces, asked.map, asked.lane)?;
        let refuse = |fault: Fault| {
            Trouble::new(asked.lane, FaultKind::Copy { rule: fault.code, message: fault.message })
        };
        self.tensors.map(&object, wide(copy.mode), arch(env)).map_err(refuse)
    }

    /// Copies what one thread asks for: how many bytes that are, in all places where they go.
    fn copy_tensor(&mut self, env: &Env<'_>, copy: &TensorCopy, asked: &Asked) -> Tried<u64> {
        let &Asked { lane, mut request, .. } = asked;
        let spaces = &env.spaces;
        let refuse =
            |fault: Fault| Trouble::new(lane, FaultKind::Copy { rule: fault.code, message: fault.message });
        let map = self.map(env, copy, asked)?;
        if map.rank != usize::from(copy.rank) {
            let message =
                format!("the tensor map has {} dimensions, the instruction {}", map.rank, copy.rank);
            return refused(lane, "copy-rank", message);
        }
        if copy.way == TensorWay::Prefetch {
            request.shared = 0;
            return Walk::new(&map, &request).map(|_| 0).map_err(refuse);
        }
        let walk = Walk::new(&map, &request).map_err(refuse)?;
        let footprint = walk.footprint();
        let usage = if copy.way == TensorWay::Load { Use::Write } else { Use::Read };
        for (shared, _) in &asked.targets {
            shared.need(spaces, lane, (footprint, 1), usage)?;
        }
        // The same bits that swizzles look at, in a room of its own.
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
                for &(shared, barrier) in &asked.targets {
                    let (cells, at) = shared.need(spaces, lane, (footprint, 1), Use::Write)?;
                    // Between rows there may be bytes that stay as they are.
                    if bytes != footprint {
                        cells.read(at, &mut room[start..]);
                    }
                    copy::load(&map, &request, &tensor, room).map_err(|fault| tensor.trouble(lane, fault))?;
                    cells.write(at, &room[start..]);
                    complete_tx(spaces, barrier, u32::try_from(bytes).unwrap_or(u32::MAX), lane)?;
                }
            }
            _ => {
                let Some((shared, _)) = asked.targets.first() else { return Ok(0) };
                let (cells, at) = shared.need(spaces, lane, (footprint, 1), Use::Read)?;
                cells.read(at, &mut room[start..]);
                match request.direction {
                    Direction::Reduce(operation) => {
                        let walk = Walk::new(&map, &request).map_err(refuse)?;
                        for run in walk {
                            let Source::Global(offset) = run.source else { continue };
                            let (from, length) = (run.shared as usize, run.length as usize);
                            let place = tensor.cells(offset, length, Use::Atomic);
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
        let places = self.places(env, call, &replace.map, taking);
        let frame = &self.calls[call].frame;
        let values: [u64; LANES] = match replace.field.value_bits() {
            64 => frame.row::<u64>(replace.value),
            _ => frame.row::<u32>(replace.value).map(u64::from),
        };
        for lane in lanes(taking) {
            let (cells, at) =
                places[lane].need(&env.spaces, lane, (SIZE as u64, MAP_ALIGNMENT), Use::Write)?;
            let mut object = [0; SIZE];
            cells.read(at, &mut object);
            write(&mut object, replace.field, replace.ordinal, values[lane]);
            cells.write(at, &object);
        }
        Ok(())
    }

    /// `tensormap.cp_fenceproxy`
    pub(super) fn copy_map(&mut self, env: &Env<'_>, call: usize, copy: &CopyMap, taking: u32) -> Tried<()> {
        let to = self.places(env, call, &copy.to, taking);
        let from = self.places(env, call, &copy.from, taking);
        for lane in lanes(taking) {
            let mut object = [0; SIZE];
            let bytes = (SIZE as u64, MAP_ALIGNMENT);
            let (cells, at) = from[lane].need(&env.spaces, lane, bytes, Use::Read)?;
            cells.read(at, &mut object);
            let (cells, at) = to[lane].need(&env.spaces, lane, bytes, Use::Write)?;
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

/// What a copy moves, if it is right, and where its tensor begins.
pub(super) fn walk(env: &Env<'_>, copy: &TensorCopy, asked: &Asked) -> Option<(u64, Walk)> {
    let object = read_map(&env.spaces, asked.map, asked.lane).ok()?;
    let map = read(&object, wide(copy.mode), arch(env)).ok()?;
    Some((map.address, Walk::new(&map, &asked.request).ok()?))
}

/// The 128 bytes of a map. The hardware reads none from shared memory.
fn read_map(spaces: &Spaces<'_>, place: Place, lane: usize) -> Tried<[u8; SIZE]> {
    let (cells, at) = place.need(spaces, lane, (SIZE as u64, MAP_ALIGNMENT), Use::Read)?;
    if !matches!(place.memory, Memory::Global | Memory::Constant | Memory::Kernel) {
        let message = "a tensor map is in .param, .const or .global memory, not in .shared".to_owned();
        return refused(lane, "copy-map", message);
    }
    let mut object = [0; SIZE];
    cells.read(at, &mut object);
    Ok(object)
}
