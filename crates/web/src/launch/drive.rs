//! Runs a launch again up to a moment, and on from there.

use super::capture::Stop;
use super::run::Printed;
use super::spec::{Machine, Ready};
use super::words;
use crate::request::Failure;
use softwarp::debug::drive::{Frontend, Interrupt, Target};
use softwarp::debug::expression::{NoValue, Scope, Variable};
use softwarp::debug::session::{Reason, Resume, Session};
use softwarp::debug::value::Value;
use softwarp::debug::view::{Buffer, Program};
use softwarp::ir::Memory;
use softwarp::isa::Type;
use softwarp::vm::debug::{Control, Debugger, State};
use softwarp::vm::device::{Launch, LaunchError};
use softwarp::vm::fault::{Fault, FaultKind};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The most steps that are told.
pub const MOST_STEPS: usize = 4096;

/// An instruction that a warp executed.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// Its number.
    pub moment: u64,
    /// Its first byte in the text.
    pub start: u32,
    /// The CTA.
    pub cta: [u32; 3],
    /// The warp.
    pub warp: u32,
    /// The lanes at it.
    pub lanes: u32,
    /// Those that pass its guard.
    pub executing: u32,
}

/// What is written down while a launch runs.
#[derive(Debug, Default)]
pub struct Log {
    /// How many instructions began.
    pub moment: u64,
    /// The CTAs that have begun, each with the first byte of the instruction that it was last at.
    pub ctas: Vec<([u32; 3], u32)>,
    current: usize,
    numbers: BTreeMap<[u32; 3], usize>,
    /// From which moment on steps are kept.
    pub steps_from: Option<u64>,
    /// The last steps.
    pub steps: VecDeque<Step>,
    /// Whether executions are counted.
    pub counts: bool,
    /// By first byte: executions by warps and by threads.
    pub executed: BTreeMap<u32, (u64, u64)>,
}

impl Log {
    fn restart(&mut self) {
        let Log { steps_from, counts, .. } = *self;
        *self = Log { steps_from, counts, ..Log::default() };
    }

    fn see(&mut self, state: &dyn State) {
        self.moment += 1;
        let at = state.at();
        let is_same = self.ctas.get(self.current).is_some_and(|(cta, _)| *cta == at.cta);
        if !is_same {
            let next = self.ctas.len();
            self.current = *self.numbers.entry(at.cta).or_insert(next);
            if self.current == next {
                self.ctas.push((at.cta, 0));
            }
        }
        if let Some((_, start)) = self.ctas.get_mut(self.current) {
            *start = at.span.start;
        }
        if self.steps_from.is_some_and(|from| self.moment >= from) {
            if self.steps.len() == MOST_STEPS {
                self.steps.pop_front();
            }
            let (cta, warp, lanes, executing) = (at.cta, at.warp, at.lanes, at.executing);
            self.steps.push_back(Step {
                moment: self.moment,
                start: at.span.start,
                cta,
                warp,
                lanes,
                executing,
            });
        }
        if self.counts {
            let (warp, thread) = self.executed.entry(at.span.start).or_default();
            *warp += 1;
            *thread += u64::from(at.executing.count_ones());
        }
    }
}

/// What a launch under a session runs on.
pub struct Runner<'a> {
    pub ready: &'a Ready,
    pub machine: &'a mut Option<Machine>,
    /// The last moment: behind it, the launch is interrupted.
    pub until: u64,
    pub log: &'a Mutex<Log>,
    pub interrupt: &'a Interrupt,
    pub printed: &'a Printed,
    /// What stopped it, if it was neither stopped by the session nor at its end.
    pub fault: Option<Box<Fault>>,
}

fn lock(log: &Mutex<Log>) -> MutexGuard<'_, Log> {
    log.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Sees instructions before the session does.
struct Watch<'a> {
    inner: &'a dyn Debugger,
    log: &'a Mutex<Log>,
    interrupt: &'a Interrupt,
    until: u64,
}

impl Debugger for Watch<'_> {
    fn before(&self, state: &dyn State) -> Control {
        let moment = {
            let mut log = lock(self.log);
            log.see(state);
            log.moment
        };
        if moment > self.until {
            self.interrupt.set();
        }
        self.inner.before(state)
    }

    fn failed(&self, state: &dyn State, fault: &Fault) {
        self.inner.failed(state, fault);
    }
}

/// The type of PTX that shows a format best.
fn type_of(buffer: &super::spec::Placed) -> Option<Type> {
    Type::from_name(buffer.format.name())
}

impl Target for Runner<'_> {
    type Error = Failure;

    fn restart(&mut self) -> Result<Program, Failure> {
        // Two machines at once would take twice the memory.
        *self.machine = None;
        lock(self.log).restart();
        self.printed.take();
        let machine = self.ready.machine(true)?;
        let module = machine.device.module(Default::default());
        let module = module.map_err(|error| Failure::new(error.to_string()))?;
        let buffer = |one: &super::spec::Placed| Buffer {
            name: one.name.clone(),
            address: one.address,
            bytes: one.before.len() as u64,
            ty: type_of(one),
        };
        let buffers = machine.buffers.iter().map(buffer).collect();
        let program = Program::new(std::slice::from_ref(&self.ready.source), &module, buffers);
        *self.machine = Some(machine);
        Ok(program)
    }

    fn run(&mut self, debugger: &dyn Debugger) -> Result<(), Failure> {
        let Some(machine) = &*self.machine else { return Ok(()) };
        let watch = Watch { inner: debugger, log: self.log, interrupt: self.interrupt, until: self.until };
        let print = |text: &str| self.printed.add(text);
        let launch = Launch {
            print: Some(&print),
            debugger: Some(&watch),
            sanitize: self.ready.sanitize,
            ..self.ready.launch(machine)
        };
        match machine.device.launch(&launch) {
            Ok(_) => Ok(()),
            Err(LaunchError::Fault(fault)) => {
                if fault.kind != FaultKind::Cancelled {
                    self.fault = Some(fault);
                }
                Ok(())
            }
            Err(error) => Err(words::refusal(self.ready, &error)),
        }
    }

    fn ended(&mut self, session: &mut Session, front: &mut dyn Frontend) -> Resume {
        front.ended(session, "", &Nothing)
    }
}

/// What names mean when no launch runs.
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

/// Looks at a launch that is stopped.
pub type Look<'a> = &'a mut (dyn FnMut(&mut Session, &dyn State) + Send);

/// Lets a launch go to the moment where it was, does something there, and keeps where it stops then.
pub struct Front<'a> {
    /// What to do at the moment where it was; nothing if that is where it is to stop.
    pub then: Option<Resume>,
    /// What to look at where it was.
    pub look: Option<Look<'a>>,
    /// Where it has stopped.
    pub stop: Option<Stop>,
    /// Whether it has ended.
    pub ended: bool,
}

impl Frontend for Front<'_> {
    fn stopped(&mut self, session: &mut Session, state: &dyn State, reason: &Reason) -> Resume {
        if let Some(look) = self.look.take() {
            look(session, state);
        }
        // A fault that a launch goes to again is where it was.
        let goes_on = !matches!(reason, Reason::Fault(_)) || matches!(self.then, Some(Resume::Backward(_)));
        if goes_on && let Some(then) = self.then.take() {
            return then;
        }
        self.stop = Some(Stop::new(session, state, reason));
        Resume::Quit
    }

    fn log(&mut self, _text: &str) {}

    fn ended(&mut self, _session: &mut Session, _told: &str, _scope: &dyn Scope) -> Resume {
        match self.then.take() {
            Some(Resume::Backward(goal)) => Resume::Backward(goal),
            _ => {
                self.ended = true;
                Resume::Quit
            }
        }
    }
}
