//! Launches that are run step by step.

use crate::machine::{Allocated, Machine};
use crate::pool::on_pool;
use crate::watch::value;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use softwarp::debug::drive::{self, Frontend, Interrupt, Target};
use softwarp::debug::expression::{NoValue, Scope, Variable};
use softwarp::debug::session::{Goal, Reason, Resume, Session, Unit, Who};
use softwarp::debug::value::Value;
use softwarp::debug::view::{Buffer, Program};
use softwarp::image::ObjectId;
use softwarp::ir::Memory;
use softwarp::isa::StateSpace;
use softwarp::machine::{Device, Launch};
use softwarp::source::Source;
use softwarp::vm::debug::{self, State};
use softwarp::vm::device::LaunchError;
use std::mem;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// How long a launch runs before Python is asked whether Ctrl-C was pressed.
const SIGNALS: Duration = Duration::from_millis(50);

/// What Python asks of a launch that is stopped.
enum Ask {
    Registers,
    Evaluate(String),
    Break(String, Option<String>),
    Watch(String),
    Delete(u32),
    Focus([u32; 3], [u32; 3]),
    Go(Resume),
}

/// Where a launch is stopped.
struct Stop {
    reason: &'static str,
    message: Option<String>,
    moment: u64,
    file: Option<String>,
    function: String,
    line: Option<u32>,
    instruction: Option<String>,
    source: Option<(String, u32)>,
    cta: [u32; 3],
    thread: [u32; 3],
}

/// What a launch answers.
enum Answer {
    Stopped(Box<Stop>),
    Registers(Vec<(String, Value)>),
    Text(String),
    Number(u32),
    Refused(String),
    /// It has ended: why, unless it ran to its end.
    Ended(Option<String>),
}

/// A launch that runs on a thread of its own, and stops where it is asked to.
#[pyclass(frozen)]
pub struct Stepper {
    inner: Mutex<(Sender<Ask>, Receiver<Answer>)>,
    interrupt: Arc<Interrupt>,
    printed: Arc<Mutex<String>>,
}

/// The launch.
struct Launched {
    device: Arc<Device>,
    sources: Arc<[Source]>,
    buffers: Vec<Buffer>,
    allocated: Arc<Mutex<Allocated>>,
    /// What memory held before the first run.
    before: Option<Vec<Held>>,
    kernel: String,
    sizes: ([u32; 3], [u32; 3], Option<[u32; 3]>),
    cooperative: bool,
    shared: u32,
    arguments: Vec<Vec<u8>>,
    printed: Arc<Mutex<String>>,
    /// Whether a run only repeats what was seen.
    repeats: Arc<AtomicBool>,
}

/// What a piece of memory held: its address, the number of the allocation unless it is a variable, and the bytes.
type Held = (u64, Option<u64>, Vec<u8>);

impl Launched {
    /// Reads all that a launch can change: arrays, and `.global` variables of the module.
    fn memory(&self) -> Result<Vec<Held>, String> {
        let machine = self.device.machine();
        let module = machine.module(Default::default()).map_err(|error| error.to_string())?;
        let (image, windows) = (&module.image, &module.image.windows);
        let variables = image.objects.iter().zip(0..).filter_map(|(object, id)| {
            let placed = object.space == StateSpace::Global && object.offset.is_some();
            let address = placed.then(|| image.address(windows, ObjectId(id), None)).flatten()?;
            Some((windows.generic(StateSpace::Global, address), object.total(), None))
        });
        let allocated = self.allocated.lock().unwrap_or_else(PoisonError::into_inner).all();
        let allocated = allocated.into_iter().map(|(address, bytes, number)| (address, bytes, Some(number)));
        let mut all = Vec::new();
        for (address, bytes, number) in allocated.chain(variables) {
            let mut held = Vec::new();
            let size = usize::try_from(bytes).unwrap_or(usize::MAX);
            let full = |_| format!("there is no room for a copy of {bytes} bytes of memory");
            held.try_reserve_exact(size).map_err(full)?;
            held.resize(size, 0);
            if machine.read(address, &mut held).is_ok() {
                all.push((address, number, held));
            }
        }
        Ok(all)
    }
}

impl Target for Launched {
    type Error = String;

    fn restart(&mut self) -> Result<Program, String> {
        let module = self.device.machine().module(Default::default()).map_err(|error| error.to_string())?;
        match &self.before {
            None => self.before = Some(self.memory()?),
            Some(before) => {
                let allocated = self.allocated.lock().unwrap_or_else(PoisonError::into_inner);
                let there = |address: u64, number: Option<u64>| {
                    number.is_none_or(|number| allocated.is_live(address, number))
                };
                for (address, _, bytes) in before.iter().filter(|one| there(one.0, one.1)) {
                    self.device.machine().write(*address, bytes).map_err(|error| error.to_string())?;
                }
            }
        }
        Ok(Program::new(&self.sources, &module, self.buffers.clone()))
    }

    fn run(&mut self, debugger: &dyn debug::Debugger) -> Result<(), String> {
        let print = |text: &str| {
            if !self.repeats.load(Ordering::Relaxed) {
                self.printed.lock().unwrap_or_else(PoisonError::into_inner).push_str(text);
            }
        };
        let (grid, block, cluster) = self.sizes;
        let outcome = on_pool(|| {
            let launch = Launch::new(&self.kernel, grid, block, &self.arguments);
            let launch = Launch {
                cluster,
                cooperative: self.cooperative,
                dynamic_shared: self.shared,
                debugger: Some(debugger),
                print: Some(&print),
                ..launch
            };
            self.device.machine().launch(&launch)
        });
        match outcome {
            Ok(_) => Ok(()),
            // A fault was a stop.
            Err(LaunchError::Fault(_)) => Ok(()),
            Err(error) => Err(error.to_string()),
        }
    }

    fn ended(&mut self, session: &mut Session, front: &mut dyn Frontend) -> Resume {
        front.ended(session, "", &Nothing)
    }
}

/// What names mean when the launch has ended.
struct Nothing;

impl Scope for Nothing {
    fn register(&self, _name: &str) -> Option<Value> {
        None
    }

    fn variable(&self, _name: &str) -> Option<Variable> {
        None
    }

    fn read(&self, _space: Memory, _address: u64, _into: &mut [u8]) -> Result<(), NoValue> {
        Err(NoValue("the launch has ended".to_owned()))
    }
}

/// Tells Python about stops, and does what it asks.
struct Front {
    sources: Arc<[Source]>,
    asks: Receiver<Ask>,
    answers: Sender<Answer>,
}

impl Front {
    fn stop(&self, session: &Session, state: &dyn State, reason: &Reason) -> Stop {
        let (view, at, focus) = (session.view(state), state.at(), session.focus);
        let instruction = view.call().and_then(|call| view.instruction(&call)).or_else(|| view.next());
        let function = view.call().map_or(at.function, |call| call.function);
        let [x, y, _] = state.shape().block;
        let index = focus.warp * 32 + focus.lane;
        let (word, message) = match reason {
            Reason::Start | Reason::Beginning => ("start", None),
            Reason::Breakpoint(_) => ("breakpoint", None),
            Reason::Watch(_, before, now) => ("watch", Some(format!("{before} became {now}"))),
            Reason::Step => ("step", None),
            Reason::Exited => ("exited", None),
            Reason::Interrupted => ("interrupted", None),
            Reason::Fault(fault) => ("fault", Some(fault.kind.to_string())),
        };
        let source = instruction.and_then(|one| one.source.as_ref());
        let file = instruction.and_then(|one| self.sources.get(one.key.unit as usize));
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        Stop {
            reason: word,
            message,
            moment: session.moment,
            file: file.map(|file| file.name.clone()),
            function: state.image().function(function).name.to_string(),
            line: instruction.map(|one| one.line),
            instruction: instruction.and_then(|one| Some(words(one.span.text(&file?.text)))),
            source: source.map(|at| (at.file.to_string(), at.line)),
            cta: focus.cta,
            thread: [index % x.max(1), index / x.max(1) % y.max(1), index / x.max(1) / y.max(1)],
        }
    }

    fn answer(&self, session: &mut Session, state: &dyn State, ask: Ask) -> Answer {
        match ask {
            Ask::Registers => {
                let view = session.view(state);
                let all = view.registers();
                Answer::Registers(all.into_iter().map(|(one, value)| (one.name.clone(), value)).collect())
            }
            Ask::Evaluate(text) => match session.view(state).evaluate(&text) {
                Ok(value) => Answer::Text(value.to_string()),
                Err(why) => Answer::Refused(why.to_string()),
            },
            Ask::Break(place, condition) => match session.code().find(&place, session.view(state).next()) {
                Ok(keys) => {
                    let added = session.add_breakpoint(&place, keys);
                    added.condition = condition;
                    Answer::Number(added.number)
                }
                Err(why) => Answer::Refused(why.to_string()),
            },
            Ask::Watch(expression) => match session.view(state).evaluate(&expression) {
                Ok(value) => Answer::Number(session.add_watch(&expression, Some(value.to_string()))),
                Err(why) => Answer::Refused(why.to_string()),
            },
            Ask::Delete(number) => match session.delete(number) {
                true => Answer::Number(number),
                false => Answer::Refused(format!("number: there is no breakpoint or watch {number}")),
            },
            Ask::Focus(cta, [x, y, z]) => {
                let [width, height, depth] = state.shape().block;
                if cta != state.at().cta {
                    return Answer::Refused(format!(
                        "cta: {:?} runs now, and no other can be seen",
                        state.at().cta
                    ));
                }
                if x >= width || y >= height || z >= depth {
                    return Answer::Refused(format!(
                        "thread: the block has {width} × {height} × {depth} threads"
                    ));
                }
                let index = (z * height + y) * width + x;
                (session.focus.cta, session.focus.call) = (cta, 0);
                (session.focus.warp, session.focus.lane) = (index / 32, index % 32);
                Answer::Stopped(Box::new(self.stop(session, state, &Reason::Step)))
            }
            Ask::Go(_) => Answer::Refused("the launch has ended".to_owned()),
        }
    }
}

impl Frontend for Front {
    fn stopped(&mut self, session: &mut Session, state: &dyn State, reason: &Reason) -> Resume {
        let told = Answer::Stopped(Box::new(self.stop(session, state, reason)));
        if self.answers.send(told).is_err() {
            return Resume::Quit;
        }
        loop {
            match self.asks.recv() {
                Ok(Ask::Go(Resume::Forward(_))) if matches!(reason, Reason::Fault(_)) => return Resume::Quit,
                Ok(Ask::Go(resume)) => return resume,
                Ok(ask) => {
                    if self.answers.send(self.answer(session, state, ask)).is_err() {
                        return Resume::Quit;
                    }
                }
                // Python has let go of the launch.
                Err(_) => return Resume::Quit,
            }
        }
    }

    fn log(&mut self, _text: &str) {}

    fn ended(&mut self, _session: &mut Session, _told: &str, _scope: &dyn Scope) -> Resume {
        if self.answers.send(Answer::Ended(None)).is_err() {
            return Resume::Quit;
        }
        loop {
            match self.asks.recv() {
                Ok(Ask::Go(resume @ (Resume::Backward(_) | Resume::Restart))) => return resume,
                Ok(_) => {
                    if self.answers.send(Answer::Refused("the launch has ended".to_owned())).is_err() {
                        return Resume::Quit;
                    }
                }
                // Python has let go of the launch.
                Err(_) => return Resume::Quit,
            }
        }
    }
}

#[pymethods]
impl Stepper {
    /// Begins a launch, which stops before its first instruction.
    #[new]
    #[allow(clippy::too_many_arguments, reason = "they are those of Python's function")]
    #[pyo3(signature = (machine, kernel, grid, block, cluster, cooperative, shared, arguments, buffers))]
    fn new(
        machine: &Machine,
        kernel: String,
        grid: [u32; 3],
        block: [u32; 3],
        cluster: Option<[u32; 3]>,
        cooperative: bool,
        shared: u32,
        arguments: Vec<Vec<u8>>,
        buffers: Vec<(String, u64, u64)>,
    ) -> Stepper {
        let (ask, asks) = mpsc::channel();
        let (answers, answer) = mpsc::channel();
        let interrupt = Arc::new(Interrupt::new());
        let (stops, printed) = (Arc::clone(&interrupt), Arc::new(Mutex::new(String::new())));
        let mut session = Session::default();
        let mut launched = Launched {
            device: Arc::clone(machine.device()),
            sources: Arc::clone(machine.sources()),
            buffers: buffers.into_iter().map(crate::machine::buffer).collect(),
            allocated: Arc::clone(machine.allocated()),
            before: None,
            kernel,
            sizes: (grid, block, cluster),
            cooperative,
            shared,
            arguments,
            printed: Arc::clone(&printed),
            repeats: session.repeats(),
        };
        thread::spawn(move || {
            let sources = Arc::clone(&launched.sources);
            let mut front = Front { sources, asks, answers: answers.clone() };
            let ended = drive::debug(&mut launched, &mut session, &mut front, &stops);
            // The receiver may have been dropped, which is no error.
            let _ = answers.send(Answer::Ended(ended.err()));
        });
        Stepper { inner: Mutex::new((ask, answer)), interrupt, printed }
    }

    /// Waits until the launch stops: where; none if it has ended.
    fn wait<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        match self.answer(py)? {
            Answer::Stopped(stop) => Ok(Some(place(py, &stop)?)),
            Answer::Ended(Some(why)) => Err(PyRuntimeError::new_err(why)),
            Answer::Ended(None) => Ok(None),
            _ => Err(PyRuntimeError::new_err("the launch answered something else")),
        }
    }

    /// Goes some steps on or back, or to a breakpoint.
    fn go(&self, steps: Option<u64>, line: bool, over: bool, back: bool) -> PyResult<()> {
        let unit = if line { Unit::Line } else { Unit::Instruction };
        let goal = steps.map_or(Goal::Continue, |count| Goal::Step {
            unit,
            over,
            who: Who::Thread,
            count: count.max(1),
        });
        self.ask(Ask::Go(if back { Resume::Backward(goal) } else { Resume::Forward(goal) }))
    }

    /// Begins anew.
    fn restart(&self) -> PyResult<()> {
        self.ask(Ask::Go(Resume::Restart))
    }

    /// What the kernel has printed since the last call.
    fn printed(&self) -> String {
        mem::take(&mut self.printed.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The registers of the thread.
    fn registers<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.ask(Ask::Registers)?;
        let found = PyDict::new(py);
        if let Answer::Registers(all) = self.answer(py)? {
            for (name, one) in all {
                found.set_item(name, value(py, &one)?)?;
            }
        }
        Ok(found)
    }

    /// The value of an expression, as text.
    fn evaluate(&self, py: Python<'_>, expression: String) -> PyResult<String> {
        self.text(py, Ask::Evaluate(expression))
    }

    /// Adds a breakpoint: its number.
    fn breakpoint(&self, py: Python<'_>, place: String, condition: Option<String>) -> PyResult<u32> {
        self.number(py, Ask::Break(place, condition))
    }

    /// Stops when the value of an expression changes: the number of the watch.
    fn watch(&self, py: Python<'_>, expression: String) -> PyResult<u32> {
        self.number(py, Ask::Watch(expression))
    }

    /// Deletes a breakpoint or watch.
    fn delete(&self, py: Python<'_>, number: u32) -> PyResult<()> {
        self.number(py, Ask::Delete(number)).map(drop)
    }

    /// Looks at another thread: where it is.
    fn focus<'py>(&self, py: Python<'py>, cta: [u32; 3], thread: [u32; 3]) -> PyResult<Bound<'py, PyDict>> {
        self.ask(Ask::Focus(cta, thread))?;
        match self.answer(py)? {
            Answer::Stopped(stop) => place(py, &stop),
            Answer::Refused(why) => Err(PyValueError::new_err(why)),
            _ => Err(PyRuntimeError::new_err("the launch has ended")),
        }
    }
}

impl Stepper {
    fn ask(&self, ask: Ask) -> PyResult<()> {
        let inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.0.send(ask).map_err(|_| PyRuntimeError::new_err("the launch has ended"))
    }

    fn text(&self, py: Python<'_>, ask: Ask) -> PyResult<String> {
        self.ask(ask)?;
        match self.answer(py)? {
            Answer::Text(text) => Ok(text),
            Answer::Refused(why) => Err(PyValueError::new_err(why)),
            _ => Err(PyRuntimeError::new_err("the launch has ended")),
        }
    }

    fn number(&self, py: Python<'_>, ask: Ask) -> PyResult<u32> {
        self.ask(ask)?;
        match self.answer(py)? {
            Answer::Number(number) => Ok(number),
            Answer::Refused(why) => Err(PyValueError::new_err(why)),
            _ => Err(PyRuntimeError::new_err("the launch has ended")),
        }
    }

    /// The next answer. Ctrl-C stops the launch at its next instruction.
    fn answer(&self, py: Python<'_>) -> PyResult<Answer> {
        loop {
            let answer = py.detach(|| {
                let inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
                inner.1.recv_timeout(SIGNALS)
            });
            match answer {
                Ok(answer) => return Ok(answer),
                Err(RecvTimeoutError::Timeout) => {
                    if py.check_signals().is_err() {
                        self.interrupt.set();
                    }
                }
                Err(RecvTimeoutError::Disconnected) => return Ok(Answer::Ended(None)),
            }
        }
    }
}

impl Drop for Stepper {
    fn drop(&mut self) {
        // The launch stops at its next instruction and ends, since the channel is closed.
        self.interrupt.set();
    }
}

fn place<'py>(py: Python<'py>, stop: &Stop) -> PyResult<Bound<'py, PyDict>> {
    let fields = PyDict::new(py);
    let three = |[x, y, z]: [u32; 3]| (x, y, z);
    fields.set_item("reason", stop.reason)?;
    fields.set_item("message", &stop.message)?;
    fields.set_item("moment", stop.moment)?;
    fields.set_item("file", &stop.file)?;
    fields.set_item("function", &stop.function)?;
    fields.set_item("line", stop.line)?;
    fields.set_item("instruction", &stop.instruction)?;
    fields.set_item("source_file", stop.source.as_ref().map(|(file, _)| file))?;
    fields.set_item("source_line", stop.source.as_ref().map(|(_, line)| line))?;
    fields.set_item("cta", three(stop.cta))?;
    fields.set_item("thread", three(stop.thread))?;
    Ok(fields)
}
