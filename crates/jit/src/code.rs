//! Compiled functions: assembling, executable memory, and the call.
//!
//! `unsafe` is here for the call of generated code. What is relied on: the code accesses only the frame, the context and
//! regions of memory within the bounds that it checks; the caller gives pointers that are valid while it runs. Memory
//! is written first and executable after, never both.

use crate::context::{Call, Context, Done, Lanes, Region, Register, SITES};
use crate::emit::{Emitted, Emitter, Labels, MOST_BLOCKS, Part, Unit};
use crate::flow::Flow;
use crate::{Mode, Shape, Wanted};
use iced_x86::code_asm::CodeLabel;
use iced_x86::{BlockEncoderOptions, Decoder, DecoderOptions, Formatter, Instruction, IntelFormatter};
use memmap2::{Mmap, MmapMut};
use softwarp_ir::Function;
use softwarp_units::lanes::Frame;

/// A compiled function.
#[derive(Debug)]
pub struct Compiled {
    code: Mmap,
    length: usize,
    /// The block that begins at each operation.
    block_at: Vec<Option<u32>>,
    /// The first operation of each block.
    starts: Vec<u32>,
    uniform: Vec<u64>,
    masked: Vec<u64>,
    tables: Tables,
    constants: Vec<Register>,
}

/// Addresses by block, for masked code.
#[derive(Debug)]
struct Tables {
    blocks: Vec<u64>,
    loads: Vec<u64>,
    saves: Vec<u64>,
    switches: Vec<u64>,
}

/// Compiles a function, for CTAs of a shape. `None` if it cannot be compiled, does not pay, or the CPU lacks AVX-512.
pub fn compile(function: &Function, shape: Shape, wanted: Wanted) -> Option<Compiled> {
    let features = std::is_x86_feature_detected!("avx512f")
        && std::is_x86_feature_detected!("avx512bw")
        && std::is_x86_feature_detected!("avx512dq")
        && std::is_x86_feature_detected!("avx512vl")
        && std::is_x86_feature_detected!("popcnt");
    if !features || cfg!(miri) {
        return None;
    }
    let flow = Flow::of(function, shape)?;
    if flow.blocks.len() > MOST_BLOCKS || wanted.profitable && !flow.is_profitable() {
        return None;
    }
    assemble(function, &flow, (shape, wanted.masked)).ok().flatten()
}

/// The instructions of a function with their labels: uniform code and masked code.
fn emit(
    function: &Function,
    flow: &Flow,
    (shape, has_masked): (Shape, bool),
) -> Emitted<(Unit, Labels, Labels)> {
    let mut unit = Unit::new()?;
    let count = flow.blocks.len();
    let mut uniform = Labels::new(&mut unit, count);
    let mut masked = Labels::new(&mut unit, count);
    unit.prologue()?;
    let others = masked.clone();
    let mut emitter =
        Emitter::new(&mut unit, function, flow, (shape, Mode::Uniform), (&mut uniform, &others), has_masked);
    emitter.emit()?;
    if has_masked {
        let others = uniform.clone();
        let both = (&mut masked, &others);
        Emitter::new(&mut unit, function, flow, (shape, Mode::Masked), both, true).emit()?;
    } else {
        unit.leave_at_blocks(&mut masked, flow)?;
    }
    unit.finish()?;
    Ok((unit, uniform, masked))
}

/// A line of a listing.
#[derive(Clone, Debug)]
pub struct Line {
    /// What the instruction belongs to.
    pub part: Part,
    /// Its offset from the start of the code.
    pub offset: u64,
    /// The instruction, as the manuals of Intel write it.
    pub text: String,
}

/// The machine code of a function, instruction by instruction, whether this CPU can execute it or not. `None` if it
/// cannot be compiled.
pub fn listing(function: &Function, shape: Shape) -> Option<Vec<Line>> {
    let flow = Flow::of(function, shape).filter(|flow| flow.blocks.len() <= MOST_BLOCKS)?;
    let (mut unit, ..) = emit(function, &flow, (shape, true)).ok()?;
    let options = BlockEncoderOptions::RETURN_NEW_INSTRUCTION_OFFSETS;
    let result = unit.a.assemble_options(0, options).ok()?;
    let (bytes, offsets) = (&result.inner.code_buffer, &result.inner.new_instruction_offsets);
    let mut formatter = IntelFormatter::new();
    let mut decoder = Decoder::new(64, bytes, DecoderOptions::NONE);
    let starts: Vec<(u64, Part)> = unit
        .marks
        .iter()
        .map(|&(index, part)| (offsets.get(index).map_or(u64::MAX, |&offset| u64::from(offset)), part))
        .collect();
    let mut lines = Vec::new();
    let mut instruction = Instruction::default();
    while decoder.can_decode() {
        decoder.decode_out(&mut instruction);
        let offset = instruction.ip();
        let at = starts.partition_point(|&(start, _)| start <= offset);
        let part = starts.get(at.wrapping_sub(1)).map_or(Part::Rest, |&(_, part)| part);
        let mut text = String::new();
        formatter.format(&instruction, &mut text);
        lines.push(Line { part, offset, text });
    }
    Some(lines)
}

fn assemble(function: &Function, flow: &Flow, how: (Shape, bool)) -> Emitted<Option<Compiled>> {
    let (mut unit, uniform, masked) = emit(function, flow, how)?;
    // Code is position-independent: first its length, then the memory, then the addresses of labels.
    let options = BlockEncoderOptions::RETURN_NEW_INSTRUCTION_OFFSETS;
    let result = unit.a.assemble_options(0, options)?;
    let bytes = &result.inner.code_buffer;
    let Ok(mut memory) = MmapMut::map_anon(bytes.len().max(1)) else { return Ok(None) };
    memory[..bytes.len()].copy_from_slice(bytes);
    let Ok(code) = memory.make_exec() else { return Ok(None) };
    let base = code.as_ptr() as u64;
    let addresses = |labels: &[CodeLabel]| -> Emitted<Vec<u64>> {
        labels.iter().map(|label| Ok(base + result.label_ip(label)?)).collect()
    };
    let masked_addresses = |labels: &[CodeLabel]| if how.1 { addresses(labels) } else { Ok(Vec::new()) };
    let tables = Tables {
        blocks: masked_addresses(&masked.blocks)?,
        loads: masked_addresses(&masked.enters)?,
        saves: masked_addresses(&masked.saves)?,
        switches: masked_addresses(&masked.switches)?,
    };
    Ok(Some(Compiled {
        length: bytes.len(),
        block_at: (0..=function.ops.len()).map(|op| flow.block_at(op).map(|block| block as u32)).collect(),
        starts: flow.blocks.iter().map(|block| block.start as u32).collect(),
        uniform: addresses(&uniform.enters)?,
        masked: masked_addresses(&masked.starts)?,
        tables,
        constants: unit.constants(),
        code,
    }))
}

/// Room that compiled code works in, kept from call to call.
pub struct Scratch {
    context: Box<Context>,
    pending: Box<[u32; MOST_BLOCKS]>,
    pending_blocks: Box<[u64; MOST_BLOCKS / 64]>,
    /// Regions by site.
    pub sites: Box<[Region; SITES]>,
    /// Lanes that wait, before and after a call.
    pub waiting: Vec<Lanes>,
}

impl Scratch {
    /// Where the shared memory of the last call is in the host's memory.
    pub fn shared_host(&self) -> u64 {
        self.context.shared.host
    }
}

impl Default for Scratch {
    fn default() -> Scratch {
        Scratch {
            context: Box::new(Context::new()),
            pending: Box::new([0; MOST_BLOCKS]),
            pending_blocks: Box::new([0; MOST_BLOCKS / 64]),
            sites: Box::new([Region::EMPTY; SITES]),
            waiting: Vec::new(),
        }
    }
}

impl Compiled {
    /// Whether code can be entered at an operation.
    pub fn has_entry(&self, op: usize) -> bool {
        self.block_at.get(op).copied().flatten().is_some()
    }

    /// The next operation behind one at which code can be entered, or the end.
    pub fn next_entry(&self, op: usize) -> usize {
        let at = self.starts.partition_point(|&start| start as usize <= op);
        self.starts.get(at).map_or(self.block_at.len() - 1, |&start| start as usize)
    }

    /// Whether lanes that have diverged can be run.
    pub fn has_masked(&self) -> bool {
        !self.masked.is_empty()
    }

    /// How many bytes of code there are.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether there is no code.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// The code.
    pub fn bytes(&self) -> &[u8] {
        &self.code[..self.length]
    }

    /// Prepares calls of [`Compiled::enter`].
    pub fn prepare(&self, scratch: &mut Scratch, call: &Call) {
        let Scratch { context, pending, pending_blocks, sites, .. } = scratch;
        context.shared = call.shared;
        context.step = call.step;
        context.state = call.state;
        context.sites = sites.as_mut_ptr();
        context.constants = self.constants.as_ptr();
        context.masked_blocks = self.tables.blocks.as_ptr();
        context.masked_loads = self.tables.loads.as_ptr();
        context.masked_saves = self.tables.saves.as_ptr();
        context.masked_switches = self.tables.switches.as_ptr();
        context.pending = pending.as_mut_ptr();
        context.pending_blocks = pending_blocks.as_mut_ptr();
    }

    /// Runs code from an operation on, with lanes that stand there, and others that wait elsewhere, all where code can be
    /// entered. [`Scratch::waiting`] has these, and afterwards those that wait. `budget` is what may be executed.
    /// `None` if code cannot be entered so.
    ///
    /// # Safety
    /// [`Compiled::prepare`] was called with this scratch, and nothing else was compiled for it since. The frame is one
    /// of the function that this was compiled from, and the shape of the CTA the one that it was compiled for. The
    /// regions lie in memory that is valid meanwhile, and that other threads may access. `step` can be called with the
    /// state.
    #[inline]
    pub unsafe fn enter(
        &self,
        scratch: &mut Scratch,
        frame: *mut Frame,
        at: Lanes,
        budget: i64,
    ) -> Option<Done> {
        let block = (*self.block_at.get(at.op as usize)?)?;
        let mut first = u32::MAX;
        if !scratch.waiting.is_empty() {
            first = self.first_waiting(scratch, block)?;
        }
        let uniform = at.mask == u32::MAX && first == u32::MAX;
        let target = match uniform {
            true => self.uniform[block as usize],
            false => *self.masked.get(block as usize)?,
        };
        if first != u32::MAX {
            self.wait(scratch);
        }
        let context = &mut *scratch.context;
        {
            // SAFETY: the frame is valid, as the caller says.
            let frame = unsafe { &mut *frame };
            context.narrow = frame.narrow.as_mut_ptr().cast();
            context.wide = frame.wide.as_mut_ptr().cast();
            context.predicates = frame.predicates.as_mut_ptr();
        }
        context.budget = budget;
        (context.threads, context.divergent, context.exchanges) = (0, 0, 0);
        (context.exit, context.mask, context.first_pending) = (at.op, at.mask, first);
        // SAFETY: the code was made for this call; see the head of the file.
        unsafe {
            let enter: extern "C" fn(*mut Context, u64) = std::mem::transmute(self.code.as_ptr());
            enter(&raw mut *context, target);
        }
        let instructions = (budget - context.budget).max(0) as u64;
        let done = Done {
            op: context.exit,
            mask: context.mask,
            instructions,
            threads: (32 * instructions).wrapping_add_signed(context.threads),
            divergent: context.divergent,
            exchanges: context.exchanges,
        };
        if scratch.context.first_pending != u32::MAX {
            self.collect(scratch);
        } else {
            scratch.waiting.clear();
        }
        Some(done)
    }

    /// The first block at which lanes wait, if it is behind the one that is entered.
    fn first_waiting(&self, scratch: &Scratch, block: u32) -> Option<u32> {
        let mut first = u32::MAX;
        for lanes in &scratch.waiting {
            first = first.min((*self.block_at.get(lanes.op as usize)?)?);
        }
        (first > block).then_some(first)
    }

    /// Has lanes wait at their blocks.
    fn wait(&self, scratch: &mut Scratch) {
        for lanes in &scratch.waiting {
            let other = self.block_at[lanes.op as usize].unwrap_or(0) as usize;
            scratch.pending[other] |= lanes.mask;
            scratch.pending_blocks[other / 64] |= 1 << (other % 64);
        }
    }

    /// Collects the lanes that wait.
    fn collect(&self, scratch: &mut Scratch) {
        let Scratch { pending, pending_blocks, waiting, .. } = scratch;
        waiting.clear();
        for (word, set) in pending_blocks.iter_mut().enumerate().take(self.starts.len().div_ceil(64)) {
            while *set != 0 {
                let other = word * 64 + set.trailing_zeros() as usize;
                *set &= *set - 1;
                waiting.push(Lanes { op: self.starts[other], mask: std::mem::take(&mut pending[other]) });
            }
        }
    }
}
