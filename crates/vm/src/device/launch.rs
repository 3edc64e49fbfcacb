//! Launches: checks of their arguments, the resources that they need, and their results.

use super::{Device, Module};
use crate::clock::Instant;
use crate::comparison::Comparisons;
use crate::context::Launch as Running;
use crate::decode::Program;
use crate::grid::Executed;
use crate::helpers::cores;
use crate::launch::{Jit, Launch, LaunchError, Outcome, Report};
use crate::launch_info::LaunchInfo;
use crate::memory::cell::SharedBytes;
use crate::memory::constant::Constant;
use crate::memory::global::{Global, MemoryError, lock};
use crate::memory::heap::{GAP, WIDE_GAP};
use crate::nested::{NestedLaunches, Requests};
use crate::sanitize::bounds::Bounds;
use crate::sanitize::init::Unwritten;
use crate::sanitize::{self, Sanitizer, Site, Watch};
use crate::stats::{OpCount, Progress};
use crate::texture::Textures;
use crate::tuning::Tuning;
use softwarp_image::{Function, FunctionId};
use softwarp_ir::{Call, Callee, Op, Provided, Step};
use softwarp_isa::device::{
    CTA_SIZE, CTA_THREADS, GRID_SIZE, LOCAL_BYTES, MULTIPROCESSOR_CTAS, MULTIPROCESSORS,
};
use softwarp_syntax::tree::Item;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes of the host that the calls of all warps can take together.
const MOST_STACKS: u64 = 1 << 30;

/// CTAs that can be there at once.
const MOST_COOPERATING: u64 = (MULTIPROCESSORS * MULTIPROCESSOR_CTAS) as u64;

/// The resources of a launch that is about to begin.
pub(super) struct Prepared {
    pub(super) kernel: FunctionId,
    /// In CTAs.
    grid: [u32; 3],
    cluster: Option<[u32; 3]>,
    shared_bytes: u64,
    parameters: SharedBytes,
    /// The address of the grid barrier of a cooperative launch; 0 for any other.
    workspace: u64,
    /// `%gridid`
    number: u64,
    /// Memory as it is now.
    pub(super) global: Global,
    pub(super) constant: Constant,
    textures: Textures,
    unwritten: Unwritten,
}

impl Prepared {
    /// The address of the grid barrier of a cooperative launch; 0 for any other.
    pub(super) fn workspace(&self) -> u64 {
        self.workspace
    }

    /// Whether there are textures, surfaces or samplers.
    pub(super) fn has_textures(&self) -> bool {
        !(self.textures.references.bound.is_empty() && self.textures.objects.is_empty())
    }
}

/// How a run of a launch differs from what is prepared.
#[derive(Default)]
pub(super) struct Variation<'a> {
    /// Other global memory, with the same allocations.
    pub(super) global: Option<&'a Global>,
    /// Clocks count their reads, and nothing depends on how long things take.
    pub(super) repeatable: bool,
    /// A random schedule leaves the order of a warp's lanes as it is.
    pub(super) lanes_in_order: bool,
    /// A byte whose last write is wanted.
    pub(super) watch: Option<&'a Watch>,
}

/// A run of a launch.
pub(super) struct Ran {
    pub(super) outcome: Outcome,
    /// Blocks that it took from `malloc`.
    given: Vec<sanitize::Given>,
    /// Steps that it took.
    pub(super) steps: u64,
    /// The last write of the byte that was watched.
    pub(super) last_write: Option<Site>,
}

/// What a launch was found to need, nothing of which is taken yet.
struct Requirements {
    kernel: FunctionId,
    /// In CTAs.
    grid: [u32; 3],
    cluster: Option<[u32; 3]>,
    shared_bytes: u64,
    parameters: SharedBytes,
}

impl Device {
    /// Runs a kernel to its end. A fault is an error.
    pub fn launch(&self, launch: &Launch<'_>) -> Result<Report, LaunchError> {
        let module = self.module(launch.module)?;
        let program = module.program(launch.kernel)?;
        self.launch_program(launch, &program)
    }

    /// The same with a given program instead of the module's kernel.
    pub fn launch_program(&self, launch: &Launch<'_>, program: &Program) -> Result<Report, LaunchError> {
        let module = self.module(launch.module)?;
        let Outcome { mut report, mut fault, nested } = self.run(launch, &module, program)?;
        let mut waiting = NestedLaunches::default();
        waiting.extend(nested);
        while fault.is_none()
            && let Some(next) = waiting.take_next()
        {
            let program = module.program(&next.kernel)?;
            // The limits are those of all together.
            let used = report.counts.warp_instructions;
            let nested = Launch {
                most_instructions: launch.most_instructions.map(|most| most.saturating_sub(used)),
                most_time: launch.most_time.map(|most| most.saturating_sub(report.elapsed)),
                ..next.of(launch)
            };
            let outcome = self.run(&nested, &module, &program)?;
            report.add(outcome.report);
            fault = outcome.fault;
            waiting.extend(outcome.nested);
        }
        let mut observed = lock(&self.observed);
        observed.findings.clone_from(&report.findings);
        observed.not_looked_at.clone_from(&report.not_looked_at);
        let Some(fault) = fault else { return Ok(report) };
        observed.stopped = Some(report);
        Err(LaunchError::Fault(fault))
    }

    /// Runs a kernel. Unlike [`Device::launch`], it gives what a launch did also where a fault stopped it, and leaves
    /// [`Device::findings`] and its neighbours alone: for several threads that launch at the same time.
    pub fn execute(&self, launch: &Launch<'_>) -> Result<Outcome, LaunchError> {
        let module = self.module(launch.module)?;
        let program = module.program(launch.kernel)?;
        self.run(launch, &module, &program)
    }

    /// What is wrong with a launch before it begins, without running it.
    pub fn check_launch(&self, launch: &Launch<'_>) -> Result<(), LaunchError> {
        let module = self.module(launch.module)?;
        let program = module.program(launch.kernel)?;
        self.requirements(launch, &module, &program).map(drop)
    }

    /// Checks a launch, and takes what it needs.
    pub(super) fn prepare(
        &self,
        launch: &Launch<'_>,
        module: &Module,
        program: &Program,
    ) -> Result<Prepared, LaunchError> {
        let Requirements { kernel, grid, cluster, shared_bytes, parameters } =
            self.requirements(launch, module, program)?;
        if uses_heap(program) {
            self.prepare_heap(module.image.red_zones, launch.sanitize.init).map_err(LaunchError::Memory)?;
        }
        let workspace = if launch.cooperative { self.workspace()? } else { 0 };
        let global = lock(&self.global).clone();
        let unwritten = lock(&self.observed).unwritten.clone();
        let number = self.launches.fetch_add(1, Ordering::Relaxed) + 1;
        let constant = lock(&module.constant).clone();
        let textures =
            Textures { references: lock(&module.references).clone(), objects: lock(&self.objects).clone() };
        Ok(Prepared {
            kernel,
            grid,
            cluster,
            shared_bytes,
            parameters,
            workspace,
            number,
            global,
            constant,
            textures,
            unwritten,
        })
    }

    /// What a launch needs, if nothing is wrong with it.
    fn requirements(
        &self,
        launch: &Launch<'_>,
        module: &Module,
        program: &Program,
    ) -> Result<Requirements, LaunchError> {
        let name = launch.kernel;
        let image = &module.image;
        let kernel = module.kernel(name).ok_or_else(|| LaunchError::NoKernel { name: name.into() })?;
        check_size(launch.grid, launch.block)?;
        let tuning = module.tuning(kernel);
        tuning.check_block(launch.block)?;
        let clusters = tuning.clusters(launch.grid, launch.cluster, image.header.arch);
        let (grid, cluster) = clusters.map_err(LaunchError::Cluster)?;
        check_size(grid, launch.block)?;
        let function = image.function(kernel);
        let dynamic = u64::from(launch.dynamic_shared);
        let shared_bytes = function.dynamic_shared.unwrap_or(function.shared.bytes).saturating_add(dynamic);
        let most = image.header.arch.properties().cta_shared;
        let needed = shared_bytes.saturating_sub(function.shared_zones);
        if needed > most {
            return Err(LaunchError::Shared { bytes: needed, most });
        }
        let local = module.local_bytes(program);
        if local > LOCAL_BYTES {
            return Err(LaunchError::Local { bytes: local, most: LOCAL_BYTES });
        }
        let parameters = module.parameters(function, launch.arguments)?;
        let given = grid.iter().map(|&size| u64::from(size)).product();
        if launch.cooperative && given > MOST_COOPERATING {
            return Err(LaunchError::Cooperative { given, most: MOST_COOPERATING });
        }
        Ok(Requirements { kernel, grid, cluster, shared_bytes, parameters })
    }

    /// Makes room for `malloc`.
    fn prepare_heap(&self, red_zones: bool, init: bool) -> Result<(), MemoryError> {
        let gap = if red_zones { WIDE_GAP } else { GAP };
        let bytes = self.heap_bytes.load(Ordering::SeqCst);
        let base = lock(&self.global).prepare_heap(bytes, gap)?;
        let unwritten = &mut lock(&self.observed).unwritten;
        if init && !unwritten.has(base) {
            unwritten.add(&self.account, base, bytes)?;
        }
        Ok(())
    }

    fn run(&self, launch: &Launch<'_>, module: &Module, program: &Program) -> Result<Outcome, LaunchError> {
        if launch.jit == Jit::Compare {
            return self.run_compared(launch, module, program);
        }
        let prepared = self.prepare(launch, module, program)?;
        let ran = self.run_prepared(launch, (module, program), &prepared, &Variation::default());
        self.finish(launch, &prepared, ran)
    }

    /// Runs a launch that was prepared. It can run several times.
    pub(super) fn run_prepared(
        &self,
        launch: &Launch<'_>,
        (module, program): (&Module, &Program),
        prepared: &Prepared,
        variation: &Variation<'_>,
    ) -> Ran {
        let &Prepared { kernel, grid, cluster, shared_bytes, workspace, number, .. } = prepared;
        let image = &module.image;
        let own = Progress::default();
        let nested = Requests::default();
        let started = Instant::now();
        let seed = launch.schedule.seed();
        let threads = threads(launch);
        let sanitizer = (launch.sanitize.any() || variation.watch.is_some()).then(|| {
            let bounds = || Bounds::new(image, &image.windows, program, kernel, shared_bytes);
            let sanitizer = Sanitizer::new(launch.sanitize, program, &prepared.unwritten);
            sanitizer.with_bounds(bounds).with_watch(variation.watch)
        });
        let info = LaunchInfo {
            program,
            image,
            kernel,
            name: launch.kernel,
            grid,
            block: launch.block,
            cluster: cluster.unwrap_or([1; 3]),
            shared_bytes,
            account: &self.account,
        };
        let running = Running {
            info,
            code: &self.code,
            windows: &image.windows,
            global: variation.global.unwrap_or(&prepared.global),
            constant: &prepared.constant,
            textures: &prepared.textures,
            parameters: &prepared.parameters,
            clustered: cluster.is_some(),
            dynamic_shared: launch.dynamic_shared,
            number,
            workspace,
            threads,
            jit: (launch.jit, softwarp_jit::Shape::of(launch.block)),
            alone: launch.exclusive && (threads == 1 || grid == cluster.unwrap_or([1; 3])),
            // Red zones and the quarantine of frames take more.
            most_stack: if image.red_zones { 8 * LOCAL_BYTES } else { LOCAL_BYTES },
            most_instructions: launch.most_instructions,
            most_time: launch.most_time,
            cancel: launch.cancel,
            print: launch.print,
            tracer: launch.tracer,
            debugger: launch.debugger,
            count_operations: launch.count_operations,
            sanitizer: sanitizer.as_ref(),
            nested: &nested,
            progress: launch.progress.unwrap_or(&own),
            started,
            repeatable: variation.repeatable,
            lanes_in_order: variation.lanes_in_order,
            seed,
            stacks: self.account.part(MOST_STACKS.min(self.account.most() / 4)),
            steps: AtomicU64::new(0),
            next: AtomicU64::new(0),
            cancelled: AtomicU64::new(0),
        };
        let (mut outcome, given) = self.observe(launch, module, &running);
        let steps = running.steps.load(Ordering::Relaxed);
        let last_write = sanitizer.as_ref().and_then(|sanitizer| sanitizer.last_write(&running.info));
        let found = sanitizer.map(Sanitizer::findings).unwrap_or_default();
        (outcome.report.findings, outcome.report.not_looked_at) = found;
        outcome.nested = nested.into_launches();
        Ran { outcome, given, steps, last_write }
    }

    /// Gives back what a launch took, and keeps what outlives it.
    pub(super) fn finish(
        &self,
        launch: &Launch<'_>,
        prepared: &Prepared,
        ran: Ran,
    ) -> Result<Outcome, LaunchError> {
        if prepared.workspace != 0 {
            lock(&self.global).free(prepared.workspace).map_err(LaunchError::Memory)?;
        }
        let mut observed = lock(&self.observed);
        observed.given.extend(ran.given.into_iter().map(|one| (launch.module, one)));
        if !launch.sanitize.init {
            // The launch was not sanitized, so its writes are not known.
            observed.unwritten.clear();
        }
        Ok(ran.outcome)
    }

    /// Runs a launch: what it did, and blocks that it took from `malloc`.
    fn observe(
        &self,
        launch: &Launch<'_>,
        module: &Module,
        running: &Running<'_>,
    ) -> (Outcome, Vec<sanitize::Given>) {
        let program = running.program;
        let done_before = running.progress.ctas_done.load(Ordering::Relaxed);
        let (Executed { mut counts, compiled, operations }, fault) = running.run(&self.spare);
        let ctas = match fault {
            None => launch.grid.iter().map(|&size| u64::from(size)).product(),
            Some(_) => running.progress.ctas_done.load(Ordering::Relaxed).saturating_sub(done_before),
        };
        let elapsed = running.started.elapsed();
        let ctas = ctas.saturating_sub(running.cancelled.load(Ordering::Relaxed));
        if let (Some(sanitizer), Some(fault)) = (running.sanitizer, &fault) {
            sanitizer.stopped(program, fault);
        }
        let given = running.sanitizer.map(|sanitizer| sanitizer.given(running)).unwrap_or_default();
        let functions = program.codes.iter().map(|code| code.function);
        let operations: Vec<_> = functions.zip(operations).collect();
        let mnemonics = module.mnemonics(program, &operations);
        if fault.is_some() && launch.count_operations {
            counts.recount(program, &operations);
        }
        let (findings, not_looked_at) = (Vec::new(), Vec::new());
        let comparisons = Comparisons::default();
        let report = Report {
            ctas,
            counts,
            compiled,
            elapsed,
            mnemonics,
            operations,
            findings,
            not_looked_at,
            comparisons,
        };
        (Outcome { report, fault, nested: Vec::new() }, given)
    }

    /// Memory for the barrier of a cooperative launch's grid: two words, as the driver makes them.
    fn workspace(&self) -> Result<u64, LaunchError> {
        self.allocate(8).map_err(LaunchError::Memory)
    }
}

/// How many threads of the host run a launch.
fn threads(launch: &Launch<'_>) -> usize {
    if launch.sanitize.any() || launch.schedule.seed().is_some() || launch.debugger.is_some() {
        return 1;
    }
    launch.threads.unwrap_or_else(cores).max(1)
}

impl Module {
    /// Bytes of local memory that a thread needs for the kernel's own variables and those of the module.
    fn local_bytes(&self, program: &Program) -> u64 {
        let Some(code) = program.codes.first() else { return 0 };
        let alignment = self.image.function(code.function).frame.alignment.max(16);
        let bytes = self.image.thread.bytes.checked_add(code.local_bytes);
        bytes.and_then(|bytes| bytes.checked_next_multiple_of(alignment)).unwrap_or(u64::MAX)
    }

    /// What the directives of a kernel ask of launches.
    pub fn directives(&self, kernel: &str) -> Option<Tuning> {
        self.kernel(kernel).map(|id| self.tuning(id))
    }

    /// The tuning directives of a kernel.
    fn tuning(&self, id: FunctionId) -> Tuning {
        let function = self.image.function(id);
        let Some(unit) = self.units.get(function.unit as usize) else { return Tuning::default() };
        let item = unit.checked.function(function.id).item;
        match unit.module.items.get(item as usize) {
            Some(Item::Function(tree)) => Tuning::of(&unit.module, tree),
            _ => Tuning::default(),
        }
    }

    /// The block of a kernel's parameters.
    fn parameters(&self, function: &Function, arguments: &[Vec<u8>]) -> Result<SharedBytes, LaunchError> {
        let parameters = &function.parameters;
        if parameters.len() != arguments.len() {
            let (parameters, given) = (parameters.len(), arguments.len());
            return Err(LaunchError::ArgumentCount { parameters, given });
        }
        let bytes = function.parameter_extent.bytes;
        let cells = SharedBytes::new(bytes).ok_or(LaunchError::Memory(MemoryError::OutOfMemory { bytes }))?;
        for (index, (&id, argument)) in parameters.iter().zip(arguments).enumerate() {
            let object = self.image.object(id);
            let (bytes, given) = (object.total(), argument.len() as u64);
            let offset = object.offset.filter(|&offset| offset + bytes <= cells.len());
            match offset {
                Some(offset) if bytes == given => cells.write(offset, argument),
                _ => {
                    let name = object.name.to_string();
                    return Err(LaunchError::ArgumentSize { index, name, bytes, given });
                }
            }
        }
        Ok(cells)
    }

    /// Counts by the words that the instructions begin with.
    fn mnemonics(
        &self,
        program: &Program,
        operations: &[(FunctionId, Vec<OpCount>)],
    ) -> Vec<(String, OpCount)> {
        let mut sums: BTreeMap<&str, OpCount> = BTreeMap::new();
        for (code, (_, counts)) in program.codes.iter().zip(operations) {
            let unit = self.image.function(code.function).unit;
            let Some(unit) = self.units.get(unit as usize) else { continue };
            // An instruction may be several operations; the first counts.
            let mut last = None;
            for (span, count) in code.spans.iter().zip(counts) {
                if last.replace(*span) == Some(*span) || count.warp == 0 {
                    continue;
                }
                let text = unit.source.get(span.start as usize..span.end as usize).unwrap_or("");
                let mut words = text.split(|c: char| c.is_whitespace() || c == ';');
                let word = words.find(|word| !word.is_empty() && !word.starts_with('@')).unwrap_or("");
                let sum = sums.entry(word).or_default();
                sum.warp += count.warp;
                sum.thread += count.thread;
            }
        }
        sums.into_iter().map(|(word, count)| (word.to_owned(), count)).collect()
    }
}

fn check_size(grid: [u32; 3], block: [u32; 3]) -> Result<(), LaunchError> {
    for (what, given, most) in [("grid", grid, GRID_SIZE), ("block", block, CTA_SIZE)] {
        for (dimension, (&given, &most)) in given.iter().zip(&most).enumerate() {
            if given == 0 || given > most {
                return Err(LaunchError::Dimension { what, dimension, given, most });
            }
        }
    }
    let given = block.iter().map(|&size| u64::from(size)).product();
    if given > u64::from(CTA_THREADS) {
        return Err(LaunchError::Threads { given, most: u64::from(CTA_THREADS) });
    }
    Ok(())
}

fn uses_heap(program: &Program) -> bool {
    let takes = |op: &Op| match op {
        Op::Other(_, step) => {
            let Step::Call(Call { callee: Callee::Provided(provided), .. }) = **step else { return false };
            matches!(provided, Provided::Malloc | Provided::ParameterBuffer)
        }
        _ => false,
    };
    program.codes.iter().any(|code| code.ops.iter().any(takes))
}
