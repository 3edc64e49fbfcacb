//! Calls, returns, exits and the stack (PTX ISA sections 7.1 and 9.7.12), and the functions that the machine
//! provides.

use super::print::{Argument, format};
use super::run::first;
use super::{ACTIVATION, Activation, Env, Split, State, Warp, cost};
use crate::fault::{FaultKind, Tried, Trouble, Use};
use crate::memory::local::LocalMemory;
use crate::nested::Buffer;
use crate::sanitize::bounds::TAG_SHIFT;
use crate::sanitize::defined::Shadow;
use crate::sanitize::{Actor, Sanitizer};
use softwarp_ir::{Alloca, Call, Callee, Memory, Op, Provided, Slot, Step};
use softwarp_isa::device::{CTA_SIZE, CTA_THREADS, GRID_SIZE};
use softwarp_units::lanes::{Frame, LANES, lanes};

/// The most that the registers of a warp's calls may take: four times the local memory that its threads can have.
const MOST_WEIGHT: u64 = 64 << 20;

/// The most calls in one another. A GPU keeps at least the return address of a call in local memory, in steps of 16
/// bytes: more calls do not fit into 512 KiB, whatever they do.
const MOST_DEPTH: u32 = (512 << 10) / 16;

/// Bytes of a thread's memory in which frames of calls that are over are not used again, where that is checked.
const QUARANTINE: u64 = 32 << 10;

/// The most shared memory of a CTA that a kernel launches (recorded on an H200).
const MOST_NESTED_SHARED: u64 = 48 << 10;

/// The longest string that is read from memory.
const LONGEST_STRING: usize = 1 << 16;

impl Warp {
    /// `call`: whether the lanes go on with the next operation.
    pub(super) fn call(
        &mut self,
        env: &mut Env<'_>,
        split: &mut Split,
        to: &Call,
        taking: u32,
    ) -> Tried<bool> {
        let launch = env.launch;
        let (code, taking) = match to.callee {
            Callee::Direct(code) => (code, taking),
            Callee::Indirect(slot) => {
                let frame = &self.calls[split.call as usize].frame;
                let row = values(frame, slot);
                let lead = row[first(taking)];
                let function = env.spaces.image.function_at(env.spaces.windows, lead);
                let code =
                    function.and_then(|id| launch.program.of_function.get(id.0 as usize).copied().flatten());
                let Some(code) = code else {
                    return Err(Trouble::new(first(taking), FaultKind::NoFunction(lead)));
                };
                let same = lanes(taking).filter(|&lane| row[lane] == lead);
                (code, same.fold(0, |mask, lane| mask | 1 << lane))
            }
            Callee::Provided(provided) => {
                self.provided(env, split, provided, to, taking)?;
                return Ok(true);
            }
        };
        let Some(body) = launch.program.codes.get(code as usize) else {
            return Err(Trouble::new(first(taking), FaultKind::NoFunction(code.into())));
        };
        // Lanes that call something else come back to this operation; those that do not call are past it.
        let others = match to.callee {
            Callee::Indirect { .. } => self.others(split, taking, launch),
            _ => 0,
        };
        if others != 0 {
            self.splits.push(Split { mask: others, ..*split });
            split.mask &= !others;
        }
        self.leave_behind(split, taking);
        let overflow = || Trouble::new(first(taking), FaultKind::StackOverflow);
        let alignment = env.spaces.image.function(body.function).frame.alignment.max(16);
        let top = env.spaces.windows.local.size;
        let mut bottom = self.calls[split.call as usize].bottom;
        if launch.tags() && self.lowest > top - QUARANTINE {
            // Frames of calls that are over are not used again at once.
            bottom = bottom.min(self.lowest);
        }
        let base = bottom.checked_sub(body.local_bytes).ok_or_else(overflow)? & !(alignment - 1);
        if self.weight > MOST_WEIGHT || split.depth >= MOST_DEPTH || top - base > launch.most_stack {
            return Err(overflow());
        }
        self.lowest = self.lowest.min(base);
        env.meter.work(cost::zeroing(Activation::weight(body)));
        let grown = self.grow_stack(launch, top - base, false);
        let begun = grown.and_then(|()| self.activation(launch, code, env.spaces.window));
        let (callee, _) = begun.map_err(|kind| Trouble::new(first(taking), kind))?;
        let parameters = std::mem::take(&mut self.calls[split.call as usize].parameters);
        let activation = &mut self.calls[callee as usize];
        for &range in &to.inputs {
            env.meter.work(copy(&parameters, &mut activation.parameters, range, taking));
        }
        if launch.sanitizer.is_some_and(Sanitizer::tracks_registers) {
            self.pass_shadow(split.call, callee, &to.inputs, taking);
        }
        let activation = &mut self.calls[callee as usize];
        activation.caller = Some((split.call, split.pc + 1));
        activation.depth = split.depth + 1;
        activation.lanes = taking;
        (activation.base, activation.bottom) = (base, base);
        self.calls[split.call as usize].parameters = parameters;
        *split = Split { pc: 0, call: callee, depth: split.depth + 1, ..*split };
        Ok(false)
    }

    /// Copies which parameters or results are undefined to the other side of a call.
    fn pass_shadow(&mut self, from: u32, to: u32, ranges: &[(u64, u64, u64)], lanes: u32) {
        let shadow = std::mem::take(&mut self.calls[from as usize].shadow);
        for &range in ranges {
            self.calls[to as usize].shadow.pass(&shadow, range, lanes);
        }
        self.calls[from as usize].shadow = shadow;
    }

    /// The lanes of an indirect call that pass its guard and call something else.
    fn others(&self, split: &Split, taking: u32, launch: &crate::context::Launch<'_>) -> u32 {
        let activation = &self.calls[split.call as usize];
        match launch.program.codes[activation.code as usize].ops.get(split.pc as usize) {
            Some(Op::Other(guard, _)) => guard.lanes(&activation.frame, split.mask) & !taking,
            _ => 0,
        }
    }

    /// `ret`
    pub(super) fn leave(&mut self, env: &mut Env<'_>, split: &mut Split, leaving: u32) {
        let callee = split.call as usize;
        let Some((caller, pc)) = self.calls[callee].caller else {
            return self.exit(env, split, leaving);
        };
        let parameters = std::mem::take(&mut self.calls[callee].parameters);
        let code = &env.launch.program.codes[self.calls[caller as usize].code as usize];
        if let Some(Op::Other(_, step)) = code.ops.get((pc as usize).wrapping_sub(1))
            && let Step::Call(call) = &**step
        {
            for &range in &call.outputs {
                let work = copy(&parameters, &mut self.calls[caller as usize].parameters, range, leaving);
                env.meter.work(work);
            }
            if env.launch.sanitizer.is_some_and(Sanitizer::tracks_registers) {
                self.pass_shadow(callee as u32, caller, &call.outputs, leaving);
            }
        }
        self.calls[callee].parameters = parameters;
        self.finish(env, split.call, leaving);
        *split = Split { pc, mask: leaving, call: caller, depth: split.depth - 1, ..*split };
    }

    /// Lanes are done with a call.
    fn finish(&mut self, env: &Env<'_>, call: u32, leaving: u32) {
        let activation = &mut self.calls[call as usize];
        activation.lanes &= !leaving;
        if activation.lanes == 0 {
            let code = &env.launch.program.codes[activation.code as usize];
            self.weight = self.weight.saturating_sub(ACTIVATION + Activation::weight(code));
            self.free.push(call);
        }
    }

    /// `exit`
    pub(super) fn exit(&mut self, env: &mut Env<'_>, split: &mut Split, leaving: u32) {
        env.meter.work(u64::from(split.depth) / 64);
        let mut call = Some(split.call);
        while let Some(index) = call {
            call = self.calls[index as usize].caller.map(|(caller, _)| caller);
            self.finish(env, index, leaving);
        }
        self.live &= !leaving;
        split.mask &= !leaving;
        self.recheck |= self.splits.iter().any(|split| matches!(split.state, State::Exchange(..)));
        env.barriers.exit(self.index, self.live);
        env.cluster.exit(env.rank, self.index, self.live);
    }

    /// `alloca`: the same place for all lanes, of the largest size that one asks for.
    pub(super) fn alloca(
        &mut self,
        env: &Env<'_>,
        call: usize,
        Alloca { d, size, alignment }: Alloca,
        taking: u32,
    ) -> Tried<()> {
        let activation = &mut self.calls[call];
        let frame = &activation.frame;
        let sizes = values(frame, size);
        let bytes = lanes(taking).map(|lane| sizes[lane]).max().unwrap_or(0);
        let top = env.spaces.windows.local.size;
        let alignment = alignment.max(16);
        let place = activation.bottom.checked_sub(bytes).map(|place| place & !(alignment - 1));
        let Some(place) = place.filter(|place| top - place <= env.launch.most_stack) else {
            return Err(Trouble::new(first(taking), FaultKind::StackOverflow));
        };
        activation.bottom = place;
        self.lowest = self.lowest.min(place);
        self.set_local(env, call, d, place, taking);
        let grown = self.grow_stack(env.launch, top - place, false);
        grown.map_err(|kind| Trouble::new(first(taking), kind))
    }

    /// `stackrestore`: what lanes that went elsewhere still use stays.
    pub(super) fn stack_restore(&mut self, call: usize, a: Slot, taking: u32, tagged: bool) {
        let activation = &mut self.calls[call];
        let frame = &activation.frame;
        let row = values(frame, a);
        if taking == activation.lanes {
            let mut to = row[first(taking)];
            if tagged {
                // The top of the window has the first bit of a tag: an empty stack ends there.
                to = (to.wrapping_sub(1) & ((1 << TAG_SHIFT) - 1)) + 1;
            }
            activation.bottom = to.clamp(activation.bottom, activation.base);
        }
    }

    fn provided(
        &mut self,
        env: &mut Env<'_>,
        split: &Split,
        provided: Provided,
        to: &Call,
        taking: u32,
    ) -> Tried<()> {
        let call = split.call as usize;
        let code = self.calls[call].code;
        let actor = Actor { cta: env.cta, warp: self.index, lanes: taking, code, pc: split.pc };
        let mut memory = LocalMemory::default();
        memory.grow(128);
        for &range in &to.inputs {
            copy(&self.calls[call].parameters, &mut memory, range, taking);
        }
        let width = env.spaces.image.header.address_bytes();
        for lane in lanes(taking) {
            let argument = |index: u64| memory.load(lane, 16 * index, width);
            match provided {
                Provided::Malloc => {
                    env.meter.work(4);
                    let block = env.spaces.global.take(argument(0));
                    if let Some(sanitizer) = env.launch.sanitizer {
                        sanitizer.allocated(&actor, lane, block, argument(0));
                    }
                    memory.store(lane, 16, width, block);
                }
                Provided::Free => {
                    env.meter.work(4);
                    let block = argument(0);
                    if block != 0 && !env.spaces.global.give_back(block) {
                        return Err(Trouble::new(lane, FaultKind::BadFree(block)));
                    }
                    if let Some(sanitizer) = env.launch.sanitizer {
                        sanitizer.freed(block);
                    }
                }
                Provided::AssertFail => {
                    let kind = FaultKind::Assert {
                        message: self.string(env, lane, argument(0), LONGEST_STRING)?,
                        file: self.string(env, lane, argument(1), LONGEST_STRING)?,
                        line: memory.load(lane, 32, 4) as u32,
                        function: self.string(env, lane, argument(3), LONGEST_STRING)?,
                    };
                    return Err(Trouble::new(lane, kind));
                }
                Provided::Vprintf => {
                    let (text, from) = (self.string(env, lane, argument(0), LONGEST_STRING)?, argument(1));
                    let mut at = 0u64;
                    let mut count = 0u64;
                    let mut next = |kind: Argument| {
                        let bytes = kind.bytes(width);
                        at = at.next_multiple_of(bytes);
                        let word = self.word(env, lane, from.wrapping_add(at), bytes)?;
                        (at, count) = (at + bytes, count + 1);
                        Ok(word)
                    };
                    let mut string = |address, most: usize| self.string(env, lane, address, most);
                    let (printed, lost) = format(&text, &mut next, &mut string)?;
                    let bytes = text.len() + printed.len() + lost;
                    env.meter.work_within(env.launch, 4 + bytes as u64 / 32)?;
                    if let Some(print) = env.launch.print {
                        print(&printed);
                    }
                    memory.store(lane, 32, 4, count);
                }
                Provided::ParameterBuffer => {
                    env.meter.work(4);
                    let dimensions = |at: u64| [0, 4, 8].map(|axis| memory.load(lane, at + axis, 4) as u32);
                    let (grid, block) = (dimensions(16), dimensions(32));
                    let shared = memory.load(lane, 48, 4) as u32;
                    memory.store(lane, 64, width, parameter_buffer(env, argument(0), grid, block, shared));
                }
                Provided::LaunchDevice => {
                    env.meter.work(4);
                    let error = launch_nested(env, argument(0), argument(1));
                    memory.store(lane, 32, 4, u64::from(error));
                }
            }
        }
        for &range in &to.outputs {
            copy(&memory, &mut self.calls[call].parameters, range, taking);
            self.calls[call].shadow.pass(&Shadow::default(), range, taking);
        }
        Ok(())
    }

    /// A word at a generic address.
    fn word(&self, env: &Env<'_>, lane: usize, address: u64, bytes: u64) -> Tried<u64> {
        let spaces = &env.spaces;
        let (memory, base) = spaces.window_of(address);
        let mut at = address.wrapping_sub(base);
        if spaces.tagged && memory == Memory::Local {
            at &= (1 << TAG_SHIFT) - 1;
        }
        let bad = |bad| Trouble::new(lane, FaultKind::Access(bad));
        if memory == Memory::Local {
            let start = spaces.windows.local.size - self.local.len();
            return match at.checked_sub(start) {
                Some(offset) if at.is_multiple_of(bytes) && offset + bytes <= self.local.len() => {
                    Ok(self.local.load(lane, offset, bytes))
                }
                _ => {
                    let problem = crate::fault::Problem::OutOfBounds;
                    Err(bad(spaces.bad(problem, Use::Read, memory, at, bytes, None)))
                }
            };
        }
        let (cells, at) = spaces.judge(memory, at, bytes, Use::Read).map_err(bad)?;
        let mut word = [0; 8];
        cells.read(at, &mut word[..bytes as usize]);
        Ok(u64::from_le_bytes(word))
    }

    /// The string at a generic address, up to its zero, of at most a given number of bytes.
    fn string(&self, env: &Env<'_>, lane: usize, address: u64, most: usize) -> Tried<String> {
        let mut bytes = Vec::new();
        while bytes.len() < most.min(LONGEST_STRING) {
            match self.word(env, lane, address.wrapping_add(bytes.len() as u64), 1)? {
                0 => break,
                byte => bytes.push(byte as u8),
            }
        }
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

/// `cnpGetParameterBufferV2`: memory for the parameters of a kernel; 0 if it cannot be launched so, or there is no room.
fn parameter_buffer(env: &Env<'_>, function: u64, grid: [u32; 3], block: [u32; 3], shared: u32) -> u64 {
    let image = env.spaces.image;
    let kernel = image.function_at(env.spaces.windows, function);
    let Some(kernel) = kernel.filter(|&id| image.function(id).entry && image.function(id).defined) else {
        return 0;
    };
    let inside = |size: [u32; 3], most: [u32; 3]| (0..3).all(|axis| (1..=most[axis]).contains(&size[axis]));
    let threads: u64 = block.iter().map(|&size| u64::from(size)).product();
    let is = image.function(kernel);
    let shared_bytes = is.dynamic_shared.unwrap_or(is.shared.bytes).saturating_add(shared.into());
    let fits = inside(grid, GRID_SIZE) && inside(block, CTA_SIZE) && threads <= CTA_THREADS.into();
    if !fits || shared_bytes > MOST_NESTED_SHARED {
        return 0;
    }
    let bytes = is.parameter_extent.bytes.max(1);
    let address = env.spaces.global.take(bytes);
    if address != 0 {
        env.launch.nested.begin(address, Buffer { kernel, grid, block, shared });
    }
    address
}

/// `cnpLaunchDeviceV2`: the code of an error, or 0.
fn launch_nested(env: &Env<'_>, address: u64, stream: u64) -> u32 {
    /// `cudaErrorInvalidValue`
    const INVALID_VALUE: u32 = 1;
    /// `cudaErrorLaunchPendingCountExceeded`
    const TOO_MANY: u32 = 69;
    let Some(buffer) = env.launch.nested.end(address) else { return INVALID_VALUE };
    let image = env.spaces.image;
    let mut parameters = vec![0; image.function(buffer.kernel).parameter_extent.bytes as usize];
    let Ok((cells, at)) = env.spaces.global.range(address, parameters.len() as u64) else {
        return INVALID_VALUE;
    };
    cells.read(at, &mut parameters);
    env.spaces.global.give_back(address);
    let Some(launch) = buffer.launch(image, &parameters, stream) else { return INVALID_VALUE };
    if env.launch.nested.add(env.cta, launch) { 0 } else { TOO_MANY }
}

/// Copies bytes of some lanes: from, to, how many. Bytes that one of the sides does not have are left out: a call
/// through a pointer may reach a function that does not match its prototype. Returns the work.
fn copy(
    source: &LocalMemory,
    target: &mut LocalMemory,
    (from, to, bytes): (u64, u64, u64),
    mask: u32,
) -> u64 {
    let bytes = bytes.min(source.len().saturating_sub(from)).min(target.len().saturating_sub(to));
    if (from | to).is_multiple_of(4) && bytes.is_multiple_of(4) {
        for at in (0..bytes).step_by(4) {
            let row = source.row(from + at);
            let into = target.row_mut(to + at);
            for lane in 0..LANES {
                into[lane] = if mask >> lane & 1 == 1 { row[lane] } else { into[lane] };
            }
        }
        return cost::zeroing(bytes * LANES as u64);
    }
    for lane in lanes(mask) {
        for at in 0..bytes {
            target.store(lane, to + at, 1, source.load(lane, from + at, 1));
        }
    }
    // Bytes one by one.
    32 * cost::copying(bytes * u64::from(mask.count_ones()))
}

/// A register of 32 or 64 bits, as 64 bits.
fn values(frame: &Frame, slot: Slot) -> [u64; LANES] {
    if slot.is_wide() { frame.row::<u64>(slot) } else { frame.row::<u32>(slot).map(u64::from) }
}
