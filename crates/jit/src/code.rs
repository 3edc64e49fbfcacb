//! Compiled functions: assembling, executable memory, and the call.
//!
//! `unsafe` is here for the call of generated code and for the memory that it is in. What is relied on: the code accesses
//! only the frame, the context and regions of memory within the bounds that it checks; the caller gives pointers that are
//! valid while it runs. Pages of memory are written first and executable after, never both.
//!
//! Functions share mappings: to ask the system for one takes longer than to compile a short function. Each has pages of
//! its own. The pages of a mapping are given out one behind the other. Where no room is left and no function, all of them
//! are made writable again, at once, and are given out once more.

use crate::assembler::{CodeLabels, Unencodable};
use crate::blocks::MOST_BLOCKS;
use crate::budget::{Budget, Limits, Refused};
use crate::classes::{AtBarriers, Class};
use crate::context::{
    COMPACT, Call, Context, Done, Entry, GOES_ON, IN_REGISTERS, Lanes, MIXED, POLLS, Region, Register, SITES,
    lend, no_cta,
};
use crate::emit::{Common, Emitted, Emitter, Labels, Unit};
use crate::flow::{Flow, before};
use crate::kept::{Kept, fill, fill_halves};
use crate::stops::begins_ctas;
use crate::{Level, Mode, Shape, Wanted};
use memmap2::{MmapOptions, MmapRaw};
use softwarp_ir::Function;
use softwarp_units::lanes::Frame;
use std::sync::{Arc, Mutex, PoisonError};

/// A compiled function.
#[derive(Debug)]
pub struct Compiled {
    code: Code,
    /// The block that begins at each operation.
    block_at: Vec<Option<u32>>,
    /// The first operation of each block.
    starts: Vec<u32>,
    uniform: Vec<u64>,
    /// The same behind a barrier at which uniform code was left: nothing is verified. Others have 0.
    passed: Vec<u64>,
    /// The affine values of the frame at each barrier, sorted.
    at_barriers: AtBarriers,
    /// The webs of uniform code.
    webs: Vec<Kept>,
    /// Where they are live.
    live: Vec<(u32, u32)>,
    masked: Vec<u64>,
    tables: Tables,
    constants: Vec<Register>,
    /// Whether code can begin the kernel in another CTA.
    begins_ctas: bool,
    /// The site of each operation.
    sites: Vec<u8>,
    /// The steps that its compilation took.
    steps: u64,
}

/// Addresses by block, for masked code.
#[derive(Debug)]
struct Tables {
    blocks: Vec<u64>,
    loads: Vec<u64>,
    saves: Vec<u64>,
    switches: Vec<u64>,
}

/// Compiles a function, for CTAs of a shape. `None` if it cannot be compiled, does not pay, takes too much, or the CPU has no
/// code.
pub fn compile(function: &Function, shape: Shape, wanted: Wanted) -> Option<Compiled> {
    compile_within(function, shape, wanted, Limits::default()).ok()
}

/// The same within limits.
pub fn compile_within(
    function: &Function,
    shape: Shape,
    wanted: Wanted,
    limits: Limits<'_>,
) -> Result<Compiled, Refused> {
    let level = Level::current().filter(|_| !cfg!(miri)).ok_or(Refused::Never)?;
    let budget = Budget::new(limits, function.ops.len());
    let compiled = Flow::of(function, level, &budget).and_then(|flow| {
        if wanted.profitable && !flow.is_profitable(function, level) {
            return Err(Unencodable);
        }
        assemble(function, &flow, level, (shape, wanted.masked))
    });
    compiled.map_err(|Unencodable| budget.refused())
}

/// What is emitted: the unit, labels of uniform and masked code, where values are, and the sites of accesses.
pub(crate) type Parts = (Unit, Labels, Labels, (AtBarriers, Vec<Kept>), Vec<u8>);

/// The instructions of a function with their labels: uniform code and masked code. `listed` says that they are shown with
/// what they belong to.
pub(crate) fn emit(
    function: &Function,
    flow: &Flow,
    level: Level,
    (shape, has_masked): (Shape, bool),
    listed: bool,
) -> Emitted<Parts> {
    let mut unit = Unit::new(function.ops.len(), level, listed)?;
    let count = flow.blocks.len();
    let mut uniform = Labels::new(&mut unit, count);
    let mut masked = Labels::new(&mut unit, count);
    unit.prologue()?;
    let common = Common::of(function, flow, shape);
    flow.budget.check()?;
    let (known, both) = ((flow, &common), (&mut uniform, &masked));
    let mut emitter = Emitter::new(&mut unit, function, known, (shape, Mode::Uniform), both, has_masked);
    emitter.emit()?;
    let frame = (std::mem::take(&mut emitter.at_barriers), Kept::all(&emitter));
    if has_masked {
        let both = (&mut masked, &uniform);
        Emitter::new(&mut unit, function, known, (shape, Mode::Masked), both, true).emit()?;
    } else {
        unit.leave_at_blocks(&masked, flow)?;
    }
    unit.finish()?;
    Ok((unit, uniform, masked, frame, common.sites))
}

fn assemble(function: &Function, flow: &Flow, level: Level, how: (Shape, bool)) -> Emitted<Compiled> {
    let (mut unit, uniform, masked, (at_barriers, webs), sites) = emit(function, flow, level, how, false)?;
    let code = Code::new(unit.a.finish()?)?;
    let base = code.start() as u64;
    let addresses = |labels: CodeLabels| -> Emitted<Vec<u64>> {
        labels.iter().map(|label| Ok(base + unit.a.place_of(label)?)).collect()
    };
    let masked_addresses = |labels: CodeLabels| if how.1 { addresses(labels) } else { Ok(Vec::new()) };
    let tables = Tables {
        blocks: masked_addresses(masked.blocks)?,
        loads: masked_addresses(masked.enters)?,
        saves: masked_addresses(masked.saves)?,
        switches: masked_addresses(masked.switches)?,
    };
    let mut block_at = vec![None; function.ops.len() + 1];
    for (number, block) in flow.blocks.iter().enumerate() {
        block_at[block.start] = Some(number as u32);
    }
    Ok(Compiled {
        block_at,
        starts: flow.blocks.iter().map(|block| block.start as u32).collect(),
        uniform: addresses(uniform.enters)?,
        passed: (uniform.passed.iter())
            .map(|label| label.map_or(Ok(0), |label| Ok(base + unit.a.place_of(label)?)))
            .collect::<Emitted<_>>()?,
        at_barriers,
        webs,
        live: flow.ranges.clone(),
        masked: masked_addresses(masked.starts)?,
        tables,
        constants: unit.constants(),
        begins_ctas: begins_ctas(function),
        sites,
        steps: flow.budget.steps(),
        code,
    })
}

/// Bytes of a page of memory.
const PAGE: usize = 4096;

/// Bytes of a mapping that functions share, and the most of a function's code for which a new one is made.
const SHARED: usize = 16 * PAGE;
const LONGEST: usize = SHARED / 2;

/// The mapping that functions are put in.
struct Shared {
    memory: Arc<MmapRaw>,
    /// Bytes that were given out, and how many functions have some.
    used: usize,
    functions: usize,
}

impl Shared {
    fn new() -> Emitted<Shared> {
        Ok(Shared { memory: map(SHARED)?, used: 0, functions: 0 })
    }

    /// Whether there is room for some bytes that are writable.
    fn has_room(&mut self, bytes: usize) -> Emitted<bool> {
        if self.used + bytes > SHARED && bytes <= SHARED && self.functions == 0 {
            protect(&self.memory, 0, self.used, false)?;
            self.used = 0;
        }
        Ok(self.used + bytes <= SHARED)
    }
}

static SHARED_MEMORY: Mutex<Option<Shared>> = Mutex::new(None);

/// The code of a function in memory that is executable. Nothing writes to its pages any more.
#[derive(Debug)]
struct Code {
    memory: Arc<MmapRaw>,
    start: usize,
    length: usize,
}

/// Memory for a number of bytes, which are written at once.
fn map(bytes: usize) -> Emitted<Arc<MmapRaw>> {
    let memory = MmapOptions::new().len(bytes).populate().map_anon().map_err(|_| Unencodable)?;
    Ok(Arc::new(memory.into()))
}

/// Makes whole pages writable, or executable: one or the other.
#[cfg(unix)]
fn protect(memory: &MmapRaw, start: usize, end: usize, executable: bool) -> Emitted {
    assert!(start <= end && end <= memory.len());
    let access = if executable { libc::PROT_EXEC } else { libc::PROT_WRITE };
    // SAFETY: the pages are in the mapping, and belong to one function that does not run: it is written, or has been dropped.
    let failed = unsafe {
        let pages = memory.as_mut_ptr().add(start);
        libc::mprotect(pages.cast(), end - start, libc::PROT_READ | access)
    };
    if failed == 0 { Ok(()) } else { Err(Unencodable) }
}

/// Code follows the conventions of such systems.
#[cfg(not(unix))]
fn protect(_: &MmapRaw, _: usize, _: usize, _: bool) -> Emitted {
    Err(Unencodable)
}

impl Code {
    fn new(code: &[u8]) -> Emitted<Code> {
        let bytes = code.len().max(1).next_multiple_of(PAGE);
        let place = match Code::share(bytes, code.len())? {
            Some(place) => place,
            None => Code { memory: map(bytes)?, start: 0, length: code.len() },
        };
        let (start, end) = (place.start, place.start + bytes);
        // SAFETY: the pages are in the mapping, writable, and no other function has them.
        unsafe {
            std::ptr::copy_nonoverlapping(code.as_ptr(), place.memory.as_mut_ptr().add(start), code.len());
        }
        protect(&place.memory, start, end, true)?;
        Ok(place)
    }

    /// Pages of the mapping that functions share, or of another one where it has no room. None for long code that has no
    /// room.
    fn share(bytes: usize, length: usize) -> Emitted<Option<Code>> {
        let mut shared = SHARED_MEMORY.lock().unwrap_or_else(PoisonError::into_inner);
        let has_room = match &mut *shared {
            Some(shared) => shared.has_room(bytes)?,
            None => false,
        };
        if !has_room {
            if bytes > LONGEST {
                return Ok(None);
            }
            *shared = Some(Shared::new()?);
        }
        let Some(Shared { memory, used, functions }) = &mut *shared else { return Err(Unencodable) };
        let start = *used;
        *used += bytes;
        *functions += 1;
        Ok(Some(Code { memory: Arc::clone(memory), start, length }))
    }

    /// Where it begins.
    fn start(&self) -> *const u8 {
        // SAFETY: it begins inside the mapping.
        unsafe { self.memory.as_ptr().add(self.start) }
    }
}

impl Drop for Code {
    fn drop(&mut self) {
        let mut shared = SHARED_MEMORY.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(shared) = shared.as_mut().filter(|shared| Arc::ptr_eq(&shared.memory, &self.memory)) {
            shared.functions -= 1;
        }
    }
}

/// Calls code that a test has assembled, with an empty context and a state.
#[cfg(test)]
pub(crate) fn call_trial<S>(memory: memmap2::MmapMut, state: &mut S) {
    let code = memory.make_exec().expect("memory");
    let mut context = Box::new(Context::new());
    // SAFETY: the code accesses the context and the state alone, and this CPU has its instructions.
    unsafe {
        let enter: extern "C" fn(*mut Context, *mut S) = std::mem::transmute(code.as_ptr());
        enter(&raw mut *context, &raw mut *state);
    }
}

/// Room that compiled code works in, kept from call to call.
pub struct Scratch {
    context: Box<Context>,
    pending: Box<[u32; MOST_BLOCKS]>,
    pending_blocks: Box<[u64; MOST_BLOCKS / 64]>,
    /// Lanes that wait, before and after a call.
    pub waiting: Vec<Lanes>,
    /// The polls that are left ([`POLLS`]), before and after a call. Where none is left, lanes wait, and these go first.
    pub polls_left: u32,
    /// After a call, where lanes wait: whether some have waited ever since it.
    pub kept_waiting: bool,
    /// The warps of a CTA, between calls.
    pub entries: Vec<Entry>,
}

impl Scratch {
    /// Regions by site.
    pub fn sites(&mut self) -> &mut [Region; SITES] {
        self.context.sites()
    }

    /// Forgets what it knows of a launch.
    pub fn clear(&mut self) {
        self.context.sites().fill(Region::EMPTY);
        self.context.shared = Region::EMPTY;
        self.waiting.clear();
        self.entries.clear();
        self.polls_left = POLLS;
        self.kept_waiting = false;
    }

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
            waiting: Vec::new(),
            polls_left: POLLS,
            kept_waiting: false,
            entries: Vec::new(),
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

    /// The site of an access: which region it looks at.
    pub fn site(&self, op: usize) -> usize {
        self.sites.get(op).map_or(0, |&site| site.into())
    }

    /// Whether lanes that have diverged can be run.
    pub fn has_masked(&self) -> bool {
        !self.masked.is_empty()
    }

    /// How many bytes of code there are.
    pub fn len(&self) -> usize {
        self.code.length
    }

    /// How many steps of work its compilation took, about as long as it takes to look at an operand: they grow in proportion to the
    /// function.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// Whether there is no code.
    pub fn is_empty(&self) -> bool {
        self.code.length == 0
    }

    /// The code.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: these bytes were written, and are only read from then on.
        unsafe { std::slice::from_raw_parts(self.code.start(), self.code.length) }
    }

    /// Prepares calls of [`Compiled::run`].
    pub fn prepare(&self, scratch: &mut Scratch, call: &Call) {
        let Scratch { context, pending, pending_blocks, .. } = scratch;
        context.shared = call.shared;
        context.own = call.own;
        context.parameters = call.parameters;
        context.step = call.step;
        context.next_cta = call.next_cta.filter(|_| self.begins_ctas).unwrap_or(no_cta);
        context.state = call.state;
        context.constants = self.constants.as_ptr();
        context.masked_blocks = self.tables.blocks.as_ptr();
        context.masked_loads = self.tables.loads.as_ptr();
        context.masked_saves = self.tables.saves.as_ptr();
        context.masked_switches = self.tables.switches.as_ptr();
        context.pending = pending.as_mut_ptr();
        context.pending_blocks = pending_blocks.as_mut_ptr();
    }

    /// Sets where a warp is entered: its operation, with its lanes. Returns whether there is such code, and lanes that
    /// wait let it be entered: all where code can be entered, and behind it.
    #[inline]
    pub fn enter_at(&self, entry: &mut Entry, waiting: &[Lanes]) -> bool {
        let Some(block) = self.block_at.get(entry.op as usize).copied().flatten() else { return false };
        let behind = |lanes: &Lanes| {
            let other = self.block_at.get(lanes.op as usize).copied().flatten();
            other.is_some_and(|other| other > block)
        };
        if !waiting.iter().all(behind) {
            return false;
        }
        let passed = std::mem::take(&mut entry.compact);
        entry.target = match (entry.mask, self.masked.get(block as usize)) {
            (u32::MAX, _) if passed && waiting.is_empty() => self.passed[block as usize],
            (u32::MAX, _) if waiting.is_empty() => self.uniform[block as usize],
            (_, Some(&target)) => target,
            (_, None) => return false,
        };
        true
    }

    /// Prepares to enter several warps at the same operation, if all lanes of all of them stand there. Returns whether
    /// they do, and there is code.
    #[inline]
    pub fn enter_together(&self, entries: &mut [Entry]) -> bool {
        let Some(&Entry { op, compact, .. }) = entries.first() else { return false };
        let Some(block) = self.block_at.get(op as usize).copied().flatten() else { return false };
        let same = |entry: &Entry| entry.op == op && entry.mask == u32::MAX && entry.compact == compact;
        if !entries.iter().all(same) {
            return false;
        }
        let target = if compact { self.passed[block as usize] } else { self.uniform[block as usize] };
        for entry in entries {
            (entry.target, entry.compact) = (target, false);
        }
        true
    }

    /// Completes the rows of the frame of a warp that was left at a barrier and that is not entered behind it.
    pub fn complete(&self, entry: &mut Entry, frame: &mut Frame) {
        if !std::mem::take(&mut entry.compact) {
            return;
        }
        self.complete_rows(entry.op, frame);
    }

    /// Completes the rows of the frame of which code leaves the first lanes at a barrier.
    fn complete_rows(&self, barrier: u32, frame: &mut Frame) {
        let found = self.at_barriers.binary_search_by_key(&barrier, |(op, _)| *op);
        for &(slot, class) in found.map_or(&[][..], |at| &self.at_barriers[at].1) {
            match class {
                Class::Affine(steps) => fill(frame, slot, None, steps),
                Class::HalfAffine(step) => fill_halves(frame, slot, step),
                Class::Unknown | Class::Varying => {}
            }
        }
    }

    /// Completes the frame of a warp that was to be entered ([`Compiled::enter_at`], [`Compiled::run`]) and is not, but goes on
    /// at its operation without compiled code. Returns false if the warp was to begin another CTA, and the frame is still
    /// that of the one before.
    pub fn complete_unentered(&self, entry: &Entry, frame: &mut Frame) -> bool {
        let Some(block) = self.block_at.get(entry.op as usize).copied().flatten() else { return true };
        let block = block as usize;
        if entry.op > 0 && self.passed.get(block) == Some(&entry.target) {
            self.complete_rows(entry.op - 1, frame);
            return true;
        }
        let own = [self.uniform.get(block), self.masked.get(block)];
        entry.op != 0 || own.contains(&Some(&entry.target))
    }

    /// Runs warps one after the other. Each is left where its code ends or cannot go on; those after it are not entered
    /// when the budget is spent, or when it is left with lanes that wait elsewhere, or at neither a barrier nor an end. Lanes of the first warp may wait before
    /// ([`Scratch::waiting`]), and some of the last one afterwards.
    ///
    /// With `together`, the warps are all of a CTA, all threads of which stand at one operation
    /// ([`Compiled::enter_together`]). Where all come to the same barrier they go on behind it, and where all have ended the
    /// next CTA begins ([`Call::next_cta`]).
    ///
    /// # Safety
    /// [`Compiled::prepare`] was called with this scratch, and nothing else was compiled for it since. The entries were
    /// made by this function's code, with its scratch, for frames with the rows of the function. There is no reference to
    /// their rows while code runs, but in callbacks; [`lend`] was called after the last one. The shape of the CTA is the one
    /// that it was compiled for. The regions lie in memory that is valid meanwhile, and that other threads may access. `step`
    /// and `next_cta` can be called with the state, and do not unwind.
    #[inline]
    pub unsafe fn run(
        &self,
        scratch: &mut Scratch,
        entries: &mut [Entry],
        together: bool,
        budget: i64,
    ) -> Done {
        let (mut first, mut turn) = (u32::MAX, u64::from(POLLS));
        if !scratch.waiting.is_empty() {
            first = self.wait(scratch);
            turn = 1 << 32 | u64::from(scratch.polls_left);
        }
        let range = entries.as_mut_ptr_range();
        if range.is_empty() {
            return Done::default();
        }
        let context = &mut *scratch.context;
        context.first = if together { range.start } else { std::ptr::null_mut() };
        (context.current, context.last) = (range.start, range.end);
        (context.warps, context.stop) = (entries.len() as u32, MIXED);
        (context.begun, context.target) = (entries[0].op, entries[0].target);
        context.budget = budget;
        (context.threads, context.divergent, context.exchanges) = (0, 0, 0);
        (context.atomics, context.polled) = (0, 0);
        (context.first_pending, context.turn) = (first, turn);
        // SAFETY: the code was made for this call; see the head of the file.
        unsafe {
            let enter: extern "C" fn(*mut Context) = std::mem::transmute(self.code.start());
            enter(&raw mut *context);
        }
        let instructions = (budget - context.budget - context.polled as i64).max(0) as u64;
        let mut done = Done {
            warps: (context.current as usize - range.start as usize) / size_of::<Entry>() + 1,
            instructions,
            threads: (32 * instructions).wrapping_add_signed(context.threads),
            divergent: context.divergent,
            exchanges: context.exchanges,
            atomics: context.atomics,
            polled: context.polled,
            in_registers: false,
        };
        for entry in &mut entries[..done.warps] {
            entry.compact = entry.op & COMPACT != 0;
            entry.op &= !(COMPACT | GOES_ON);
        }
        if let Some(entry) = entries.get_mut(done.warps - 1)
            && entry.op & IN_REGISTERS != 0
        {
            entry.op &= !IN_REGISTERS;
            done.in_registers = true;
        }
        if scratch.context.first_pending != u32::MAX {
            let turn = scratch.context.turn;
            (scratch.polls_left, scratch.kept_waiting) = (turn as u32, turn >> 32 != 0);
            self.collect(scratch);
        } else {
            scratch.waiting.clear();
        }
        done
    }

    /// Writes what is live before the operation at which a warp was left to its frame, from the registers that the scratch
    /// has. To be called for the last warp that ran, before anything else uses its frame or the scratch
    /// ([`Done::in_registers`]).
    #[cold]
    pub fn write_registers(&self, scratch: &Scratch, entry: &Entry, frame: &mut Frame) {
        let position = before(entry.op as usize);
        let live = self.webs.iter().filter(|web| web.is_live(&self.live, position));
        live.for_each(|web| web.write(&scratch.context, frame));
        lend(frame);
    }

    /// Has lanes wait at their blocks. Returns the first one.
    fn wait(&self, scratch: &mut Scratch) -> u32 {
        let mut first = u32::MAX;
        for lanes in &scratch.waiting {
            let other = self.block_at[lanes.op as usize].unwrap_or(0);
            first = first.min(other);
            scratch.pending[other as usize] |= lanes.mask;
            scratch.pending_blocks[other as usize / 64] |= 1 << (other % 64);
        }
        first
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

#[cfg(test)]
mod tests {
    use super::{Code, LONGEST, PAGE};

    /// What `/proc/self/maps` says of the page at an address, and whether any page can be both written and executed.
    #[cfg(target_os = "linux")]
    fn access(address: u64) -> (String, bool) {
        let maps = std::fs::read_to_string("/proc/self/maps").expect("maps");
        let mut found = String::new();
        for line in maps.lines() {
            let (range, rest) = line.split_once(' ').expect("a range");
            let (start, end) = range.split_once('-').expect("two addresses");
            let number = |text: &str| u64::from_str_radix(text, 16).expect("an address");
            if (number(start)..number(end)).contains(&address) {
                found = rest[..4].to_owned();
            }
        }
        (found, maps.contains(" rwx"))
    }

    #[test]
    #[cfg_attr(miri, ignore = "it maps memory")]
    fn functions_share_memory() {
        let code = |byte: u8, count: usize| Code::new(&vec![byte; count]).expect("memory");
        let bytes = |code: &Code| {
            // SAFETY: these bytes were written, and are only read from then on.
            unsafe { std::slice::from_raw_parts(code.start(), code.length) }.to_vec()
        };
        for round in 0..4 {
            let sizes = [1, PAGE, PAGE + 1, LONGEST, LONGEST + 1, 3, 5 * PAGE];
            let all: Vec<Code> = sizes.iter().map(|&count| code(round, count)).collect();
            for (one, count) in all.iter().zip(sizes) {
                assert_eq!(bytes(one), vec![round; count]);
                assert_eq!(one.start() as usize % PAGE, 0);
                #[cfg(target_os = "linux")]
                assert_eq!(access(one.start() as u64), ("r-xp".to_owned(), false));
            }
            let mut pages: Vec<(usize, usize)> =
                all.iter().map(|one| (one.start() as usize, one.start() as usize + one.length)).collect();
            pages.sort_unstable();
            assert!(pages.windows(2).all(|pair| pair[0].1 <= pair[1].0));
        }
    }
}
