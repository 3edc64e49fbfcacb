//! A machine with a module: memory, kernels, launches.

use crate::check::target;
use crate::pool::on_pool;
use crate::watch;
use numpy::{PyReadonlyArray1, PyReadwriteArray1};
use pyo3::exceptions::{PyMemoryError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use softwarp::debug::trace::{Filter, Followed, Record, Tracer};
use softwarp::debug::view::{Buffer, Program};
use softwarp::isa::StateSpace;
use softwarp::lineinfo;
use softwarp::machine::{Device, Launch, LoadOptions};
use softwarp::source::Source;
use softwarp::vm::comparison::{Comparisons, Reproduction};
use softwarp::vm::debug::Debugger;
use softwarp::vm::device::{Jit, LaunchError, LoadError, Module};
use softwarp::vm::fault::{Fault, FaultKind, Place, What};
use softwarp::vm::memory::global::MemoryError;
use softwarp::vm::sanitize::{Finding, Sanitize};
use softwarp::vm::stats;
use softwarp_cli::run::compared::reproduce;
use softwarp_cli::run::counted::counted;
use softwarp_cli::run::fault;
use softwarp_cli::run::observe::Observer;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How long a launch runs before Python is asked whether Ctrl-C was pressed.
const SIGNALS: Duration = Duration::from_millis(50);

/// The most records of a trace if no limit is given.
const MOST_RECORDS: usize = 1_000_000;

/// A device with one module: one text, or several that are linked.
#[pyclass(frozen)]
pub struct Machine {
    device: Arc<Device>,
    sources: Arc<[Source]>,
    sanitize: Sanitize,
    jit: Jit,
    allocated: Arc<Mutex<Allocated>>,
}

/// Memory of [`Machine::allocate`] that was not freed.
#[derive(Default)]
pub struct Allocated {
    /// Bytes and numbers by addresses. A place that is taken again has another number.
    live: BTreeMap<u64, (u64, u64)>,
    count: u64,
}

impl Allocated {
    fn insert(&mut self, address: u64, bytes: u64) {
        self.count += 1;
        self.live.insert(address, (bytes, self.count));
    }

    /// Addresses, bytes and numbers.
    pub fn all(&self) -> Vec<(u64, u64, u64)> {
        self.live.iter().map(|(&address, &(bytes, number))| (address, bytes, number)).collect()
    }

    /// Whether the allocation with a number is still at an address.
    pub fn is_live(&self, address: u64, number: u64) -> bool {
        self.live.get(&address).is_some_and(|&(_, live)| live == number)
    }
}

/// A parameter: its name, its type, its bytes, and whether it is an array.
type Parameter = (String, String, u64, bool);

fn memory_error(error: MemoryError) -> PyErr {
    match error {
        MemoryError::OutOfMemory { .. } | MemoryError::Limit(_) | MemoryError::Module { .. } => {
            PyMemoryError::new_err(error.to_string())
        }
        _ => PyValueError::new_err(error.to_string()),
    }
}

fn sanitizers(names: &[String]) -> PyResult<Sanitize> {
    let mut wanted = Sanitize::default();
    for name in names {
        match name.as_str() {
            "all" => wanted = Sanitize::ALL,
            "init" => wanted.init = true,
            "race" => wanted.race = true,
            "sync" => wanted.sync = true,
            "bounds" => wanted.bounds = true,
            "leak" => wanted.leak = true,
            _ => {
                let all = "all, init, race, sync, bounds and leak";
                return Err(PyValueError::new_err(format!("{name:?} is not a sanitizer; there are {all}")));
            }
        }
    }
    Ok(wanted)
}

/// When kernels are compiled, by its name.
fn when(name: &str) -> PyResult<Jit> {
    let wrong = || PyValueError::new_err(format!("jit: {name:?} is not off, on, auto or compare"));
    Jit::from_name(name).ok_or_else(wrong)
}

#[pymethods]
impl Machine {
    /// Loads a module.
    #[new]
    #[pyo3(signature = (texts, arch, sanitize, debug, jit))]
    fn new(
        py: Python<'_>,
        texts: Vec<(String, String)>,
        arch: Option<&str>,
        sanitize: Vec<String>,
        debug: bool,
        jit: Option<&str>,
    ) -> PyResult<Machine> {
        let sanitize = sanitizers(&sanitize)?;
        let jit = jit.map_or_else(|| Ok(Jit::from_environment()), when)?;
        let arch = arch.map(target).transpose()?;
        let options = LoadOptions { arch, red_zones: sanitize.bounds, debug, ..LoadOptions::default() };
        let all: Vec<&str> = texts.iter().map(|(_, text)| text.as_str()).collect();
        let device = py.detach(|| Device::load(&all, options)).map_err(|error| match &error {
            LoadError::Memory(error) => memory_error(error.clone()),
            LoadError::Invalid(found) => {
                let first = found.first().map_or(String::new(), |(_, first)| format!(": {}", first.message));
                PyValueError::new_err(format!("{error}{first}"))
            }
            LoadError::Unlinked(found) => {
                let first = found.first().map_or(String::new(), |first| format!(": {}", first.message));
                PyValueError::new_err(format!("{error}{first}"))
            }
            _ => PyValueError::new_err(error.to_string()),
        })?;
        Ok(Machine {
            device: Arc::new(device),
            sources: texts.into_iter().map(|(name, text)| Source::new(name, text.into_bytes())).collect(),
            sanitize,
            jit,
            allocated: Arc::default(),
        })
    }

    /// The kernels with their parameters.
    fn kernels(&self) -> PyResult<Vec<(String, Vec<Parameter>)>> {
        let module = self.module()?;
        let image = &module.image;
        let parameter = |id: &softwarp::image::ObjectId| {
            let object = image.object(*id);
            let ty = object.value_type().map_or("handle", |ty| ty.name());
            (
                object.name.to_string(),
                ty.to_owned(),
                object.total(),
                !object.dimensions.is_empty() || object.vector > 1,
            )
        };
        let kernel = |function: &softwarp::image::image::Function| {
            (function.name.to_string(), function.parameters.iter().map(parameter).collect())
        };
        Ok(image.kernels().map(kernel).collect())
    }

    /// Takes memory: zeros.
    fn allocate(&self, bytes: u64) -> PyResult<u64> {
        let address = self.device.machine().allocate(bytes).map_err(memory_error)?;
        self.allocated.lock().unwrap_or_else(PoisonError::into_inner).insert(address, bytes);
        Ok(address)
    }

    /// Gives memory back.
    fn free(&self, address: u64) -> PyResult<()> {
        self.allocated.lock().unwrap_or_else(PoisonError::into_inner).live.remove(&address);
        self.device.machine().free(address).map_err(memory_error)
    }

    /// Copies bytes into memory.
    fn write(&self, py: Python<'_>, address: u64, bytes: PyReadonlyArray1<'_, u8>) -> PyResult<()> {
        let bytes = bytes.as_slice()?;
        py.detach(|| self.device.machine().write(address, bytes)).map_err(memory_error)
    }

    /// Copies bytes out of memory.
    fn read(&self, py: Python<'_>, address: u64, mut bytes: PyReadwriteArray1<'_, u8>) -> PyResult<()> {
        let bytes = bytes.as_slice_mut()?;
        py.detach(|| self.device.machine().read(address, bytes)).map_err(memory_error)
    }

    /// The address and the bytes of a variable of the module.
    fn variable(&self, name: &str) -> Option<(u64, u64)> {
        self.device.machine().symbol(name).map(|symbol| (symbol.address, symbol.bytes))
    }

    /// Whether launches can leave something behind: the module has `.global` variables, or textures and surfaces.
    fn has_state(&self) -> PyResult<bool> {
        let state =
            |object: &softwarp::image::Object| matches!(object.space, StateSpace::Global | StateSpace::Tex);
        Ok(self.module()?.image.objects.iter().any(state))
    }

    /// Runs a kernel: what it did and printed, and the fault that stopped it.
    #[allow(clippy::too_many_arguments, reason = "they are those of Python's function")]
    fn launch<'py>(
        &self,
        py: Python<'py>,
        kernel: &str,
        grid: [u32; 3],
        block: [u32; 3],
        cluster: Option<[u32; 3]>,
        cooperative: bool,
        shared: u32,
        timeout: Option<f64>,
        arguments: Vec<Vec<u8>>,
        buffers: Vec<(String, u64, u64)>,
        count: bool,
        follow: Vec<([u32; 3], [u32; 3])>,
        most_records: Option<usize>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let (cancel, printed) = (AtomicBool::new(false), Mutex::new(String::new()));
        let print = |text: &str| printed.lock().unwrap_or_else(PoisonError::into_inner).push_str(text);
        let time = timeout.map(Duration::try_from_secs_f64).transpose();
        let most_time = time.map_err(|_| PyValueError::new_err("the timeout is not a number of seconds"))?;
        let (sanitize, device, module) = (self.sanitize, &self.device, self.module()?);
        let (observer, records) = (Observer::default(), Mutex::new((Vec::new(), false)));
        let most_records = most_records.unwrap_or(MOST_RECORDS);
        let sink = |record: Record| {
            let mut records = records.lock().unwrap_or_else(PoisonError::into_inner);
            match records.0.len() < most_records {
                true => records.0.push(record),
                false => records.1 = true,
            }
        };
        let named: Vec<Buffer> = buffers.into_iter().map(buffer).collect();
        let program = match follow.is_empty() {
            true => Program { buffers: named, ..Program::default() },
            false => Program::new(&self.sources, &module, named),
        };
        let followed = follow.iter().map(|&(cta, thread)| Followed { cta, thread }).collect();
        let tracer = Tracer::new(followed, Filter::default(), (&program, &module), &sink);
        let run = || {
            let launch = Launch::new(kernel, grid, block, &arguments);
            let launch = Launch {
                cluster,
                cooperative,
                sanitize,
                jit: self.jit,
                most_time,
                dynamic_shared: shared,
                cancel: Some(&cancel),
                print: Some(&print),
                tracer: count.then_some(&observer as &dyn stats::Tracer),
                debugger: (!follow.is_empty()).then_some(&tracer as &dyn Debugger),
                count_operations: count,
                ..launch
            };
            device.machine().launch(&launch)
        };
        let (outcome, interrupted) = py.detach(|| interruptible(&cancel, || on_pool(run)));
        tracer.end();
        if let Some(error) = interrupted {
            return Err(error);
        }
        let result = PyDict::new(py);
        let report = match outcome {
            Ok(report) => Some(report),
            Err(LaunchError::Fault(fault)) => {
                result.set_item("fault", self.fault(py, &module, &program, &fault)?)?;
                self.device.machine().stopped()
            }
            Err(LaunchError::Memory(error)) => return Err(memory_error(error)),
            Err(error) => return Err(PyValueError::new_err(error.to_string())),
        };
        result.set_item("ctas", report.as_ref().map_or(0, |report| report.ctas))?;
        result.set_item("seconds", report.as_ref().map_or(0.0, |report| report.elapsed.as_secs_f64()))?;
        if count {
            let functions = counted(&module, &self.sources, report.as_slice());
            result.set_item("stats", watch::stats(py, &self.sources, &functions, &observer)?)?;
            result.set_item("coverage", watch::coverage(py, &self.sources, &functions)?)?;
        }
        let found = self.device.machine().findings();
        let found = if self.sanitize.any() || self.jit == Jit::Compare { found } else { Vec::new() };
        let found = found.iter().map(|one| self.finding(py, one)).collect::<PyResult<Vec<_>>>()?;
        result.set_item("findings", found)?;
        let comparisons = report.map(|report| report.comparisons).filter(|_| self.jit == Jit::Compare);
        result.set_item("compared", comparisons.map(|one| compared(py, &one)).transpose()?)?;
        let (records, truncated) = records.into_inner().unwrap_or_else(PoisonError::into_inner);
        result.set_item("truncated", truncated)?;
        let records = records.iter().map(|one| watch::record(py, one)).collect::<PyResult<Vec<_>>>()?;
        result.set_item("trace", records)?;
        result.set_item("printed", printed.into_inner().unwrap_or_else(PoisonError::into_inner))?;
        Ok(result)
    }

    /// Blocks that kernels took from `malloc` and no launch has freed.
    fn leaks<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        self.device.machine().leaks().iter().map(|one| self.finding(py, one)).collect()
    }
}

/// A named buffer: its name, its address and its bytes.
pub fn buffer((name, address, bytes): (String, u64, u64)) -> Buffer {
    Buffer { name, address, bytes, ty: None }
}

impl Machine {
    /// The device.
    pub fn device(&self) -> &Arc<Device> {
        &self.device
    }

    /// The module's texts.
    pub fn sources(&self) -> &Arc<[Source]> {
        &self.sources
    }

    /// What was allocated.
    pub fn allocated(&self) -> &Arc<Mutex<Allocated>> {
        &self.allocated
    }

    fn module(&self) -> PyResult<Arc<Module>> {
        let module = self.device.machine().module(Default::default());
        module.map_err(|error| PyRuntimeError::new_err(error.to_string()))
    }

    /// The text that a place is in.
    fn source(&self, place: &Place) -> Option<&Source> {
        self.sources.get(place.unit as usize)
    }

    /// Where something happened.
    fn place(&self, into: &Bound<'_, PyDict>, place: Option<&Place>) -> PyResult<()> {
        let source = place.and_then(|place| Some((place, self.source(place)?)));
        let position = source.map(|(place, source)| source.position(place.span.start));
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let instruction = source.map(|(place, source)| words(place.span.text(&source.text)));
        into.set_item("file", source.map(|(_, source)| &source.name))?;
        into.set_item("line", position.map(|position| position.line))?;
        into.set_item("column", position.map(|position| position.column))?;
        into.set_item("instruction", instruction)?;
        into.set_item("function", place.map(|place| place.function_name.clone()))?;
        into.set_item("thread", place.map(|place| (place.thread[0], place.thread[1], place.thread[2])))?;
        into.set_item("cta", place.map(|place| (place.cta[0], place.cta[1], place.cta[2])))
    }

    fn fault<'py>(
        &self,
        py: Python<'py>,
        module: &Module,
        program: &Program,
        fault: &Fault,
    ) -> PyResult<Bound<'py, PyDict>> {
        let fields = PyDict::new(py);
        let (kind, buffer) = named(fault, &program.buffers);
        fields.set_item("kind", fault::kind(&kind))?;
        fields.set_item("message", kind.to_string())?;
        fields.set_item("buffer", buffer)?;
        let unit =
            fault.place.as_ref().and_then(|place| Some((place, module.units.get(place.unit as usize)?)));
        let lines = unit.map(|(place, unit)| lineinfo::stack(&unit.source, &unit.module, place.span));
        let line = lines.and_then(|lines| lines.into_iter().next());
        fields.set_item("source_file", line.as_ref().map(|line| line.file.to_string()))?;
        fields.set_item("source_line", line.as_ref().map(|line| line.line))?;
        fields.set_item("kernel", &fault.kernel)?;
        self.place(&fields, fault.place.as_ref())?;
        Ok(fields)
    }

    fn finding<'py>(&self, py: Python<'py>, finding: &Finding) -> PyResult<Bound<'py, PyDict>> {
        let fields = PyDict::new(py);
        fields.set_item("sanitizer", finding.kind.sanitizer())?;
        fields.set_item("kind", finding.kind.word())?;
        fields.set_item("message", finding.to_string())?;
        fields.set_item("kernel", &finding.kernel)?;
        fields.set_item("count", finding.count)?;
        let other = finding.other.as_ref();
        let other =
            other.and_then(|other| Some(self.source(&other.place)?.position(other.place.span.start).line));
        fields.set_item("other_line", other)?;
        self.place(&fields, Some(&finding.at.place))?;
        Ok(fields)
    }
}

/// What compare mode did in a launch. What reproduces a mismatch is written to a folder.
fn compared<'py>(py: Python<'py>, comparisons: &Comparisons) -> PyResult<Bound<'py, PyDict>> {
    let fields = PyDict::new(py);
    let not_compared = PyDict::new(py);
    for (why, count) in &comparisons.not_compared {
        not_compared.set_item(why.word(), count)?;
    }
    fields.set_item("equal", comparisons.equal)?;
    fields.set_item("order_dependent", comparisons.order_dependent)?;
    fields.set_item("mismatches", comparisons.mismatches)?;
    fields.set_item("not_compiled", comparisons.not_compiled)?;
    fields.set_item("not_compared", not_compared)?;
    let place = std::env::var_os("SOFTWARP_MISMATCHES").filter(|place| !place.is_empty());
    let place = PathBuf::from(place.unwrap_or_else(|| "softwarp-mismatches".into()));
    let write = |one: &Reproduction| reproduce(&place, one, "");
    let folders = comparisons.reproductions.iter().map(write).collect::<Result<Vec<_>, _>>()?;
    fields.set_item("folders", folders)?;
    Ok(fields)
}

/// What stopped a launch, with an array by the name of its parameter, and the name of what is nearest to the address.
fn named(fault: &Fault, buffers: &[Buffer]) -> (FaultKind, Option<String>) {
    let mut kind = fault.kind.clone();
    let FaultKind::Access(bad) = &mut kind else { return (kind, None) };
    let Some(nearest) = &mut bad.nearest else { return (kind, None) };
    if nearest.what == What::Allocation
        && let Some(buffer) = buffers.iter().find(|buffer| buffer.address == nearest.base)
    {
        nearest.what = What::Variable(buffer.name.clone());
    }
    let name = match &nearest.what {
        What::Variable(name) => Some(name.clone()),
        _ => None,
    };
    (kind, name)
}

/// Runs a launch on a thread of its own, and asks Python now and then whether to stop.
fn interruptible<T: Send>(cancel: &AtomicBool, run: impl FnOnce() -> T + Send) -> (T, Option<PyErr>) {
    let (done, waiting) = mpsc::channel();
    std::thread::scope(|scope| {
        scope.spawn(move || done.send(run()));
        let mut stop = None;
        loop {
            match waiting.recv_timeout(SIGNALS) {
                Ok(outcome) => return (outcome, stop),
                Err(mpsc::RecvTimeoutError::Timeout) => {
                    if let Err(error) = Python::attach(|py| py.check_signals()) {
                        cancel.store(true, Ordering::SeqCst);
                        stop = Some(error);
                    }
                }
                // The thread ended without a result: it panicked, and the scope passes that on.
                Err(mpsc::RecvTimeoutError::Disconnected) => panic!("the launch ended without a result"),
            }
        }
    })
}
