//! Runs launches under a session: forward as they go, and again from their start to go back.

use super::expression::Scope;
use super::session::{Mode, Reason, Resume, Session, Who};
use super::view::Program;
use crate::vm::debug::{Control, Debugger, State};
use crate::vm::fault::Fault;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// The person or program that looks at stops.
pub trait Frontend: Send {
    /// The launch is stopped.
    fn stopped(&mut self, session: &mut Session, state: &dyn State, reason: &Reason) -> Resume;

    /// A breakpoint with a message was met.
    fn log(&mut self, text: &str);

    /// All launches have run, or one was stopped: what is to be told of it, and what names mean now.
    fn ended(&mut self, session: &mut Session, told: &str, scope: &dyn Scope) -> Resume;
}

/// The launches that are debugged.
pub trait Target {
    /// Why they cannot be run.
    type Error;

    /// Makes everything as it was at first, and says what the modules and buffers are.
    fn restart(&mut self) -> Result<Program, Self::Error>;

    /// Runs all launches. One that the debugger ends is no error.
    fn run(&mut self, debugger: &dyn Debugger) -> Result<(), Self::Error>;

    /// All launches have run, or one was stopped: tells the front end.
    fn ended(&mut self, session: &mut Session, front: &mut dyn Frontend) -> Resume;
}

/// Stops a launch that runs, from another thread.
#[derive(Debug, Default)]
pub struct Interrupt(AtomicBool);

impl Interrupt {
    /// An interrupt that has not been requested.
    pub const fn new() -> Interrupt {
        Interrupt(AtomicBool::new(false))
    }

    /// Requests a stop at the next instruction.
    pub fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Cancels a request that has not been served.
    pub fn clear(&self) {
        self.0.store(false, Ordering::Relaxed);
    }

    fn take(&self) -> bool {
        self.0.load(Ordering::Relaxed) && self.0.swap(false, Ordering::Relaxed)
    }
}

/// The debugger that a launch sees: a session and its front end.
struct Observer<'a> {
    inner: Mutex<(&'a mut Session, &'a mut dyn Frontend)>,
    interrupt: &'a Interrupt,
}

impl Observer<'_> {
    /// Shows a stop, and does what the front end wants.
    ///
    /// It also gives whether the launch goes on as if it had not been stopped.
    fn stop(
        session: &mut Session,
        front: &mut dyn Frontend,
        state: &dyn State,
        reason: &Reason,
    ) -> (Control, bool) {
        match front.stopped(session, state, reason) {
            Resume::Forward(goal) if !matches!(reason, Reason::Fault(_)) => {
                session.begin(state, goal);
                (Control::Continue, false)
            }
            Resume::Unchanged if *reason == Reason::Interrupted => (Control::Continue, true),
            resume => {
                if let Resume::Backward(goal) = resume {
                    let depth = session.view(state).calls().len().saturating_sub(1) as u32;
                    let before = session.moment;
                    session.mode = Mode::Search { goal, before, depth, found: VecDeque::new() };
                }
                session.resume = Some(resume);
                (Control::End, false)
            }
        }
    }
}

impl Observer<'_> {
    /// Why a launch that runs forward stops before an instruction, if it does. The focus is then on a lane that executes
    /// it.
    fn reason(session: &mut Session, front: &mut dyn Frontend, state: &dyn State) -> Option<Reason> {
        let at = state.at();
        if let Some((number, lane)) = session.broken(state, &at, &mut |text| front.log(text)) {
            session.focus = Session::focus_on(&at, lane);
            return Some(Reason::Breakpoint(number));
        }
        let changed = if session.watches.is_empty() { None } else { session.changed(state) };
        changed.or_else(|| session.reached(state, &at))
    }

    /// What happens before an instruction, apart from interrupts.
    fn next(session: &mut Session, front: &mut dyn Frontend, state: &dyn State) -> Next {
        match &session.mode {
            Mode::Replay { to, .. } if session.moment < *to => Next::Go,
            Mode::Replay { reason, .. } => {
                let reason = reason.clone();
                session.watch_again(state);
                Next::Stop(reason)
            }
            Mode::Search { before, .. } if session.moment >= *before => Next::End,
            &Mode::Search { goal, depth, .. } => {
                if session.met(state, &state.at(), goal, depth) {
                    session.remember();
                }
                Next::Go
            }
            Mode::Run { .. } => Self::reason(session, front, state).map_or(Next::Go, Next::Stop),
        }
    }
}

/// What happens before an instruction.
enum Next {
    Go,
    Stop(Reason),
    End,
}

impl Debugger for Observer<'_> {
    fn before(&self, state: &dyn State) -> Control {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let (session, front) = &mut *inner;
        session.moment += 1;
        let at = state.at();
        let reason = match Self::next(session, *front, state) {
            Next::End => return Control::End,
            Next::Stop(reason) => reason,
            Next::Go if self.interrupt.take() => Reason::Interrupted,
            Next::Go => {
                session.passes(state, &at);
                return Control::Continue;
            }
        };
        let focus = session.focus;
        if !session.concerns(&at, Who::Thread) {
            let lane = session.lane(state, &at, None).unwrap_or(0);
            session.focus = Session::focus_on(&at, lane);
        }
        session.focus.call = 0;
        let (control, unchanged) = Self::stop(session, *front, state, &reason);
        if unchanged {
            session.focus = focus;
            session.passes(state, &at);
        }
        control
    }

    fn failed(&self, state: &dyn State, fault: &Fault) {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let (session, front) = &mut *inner;
        let at = state.at();
        if matches!(session.mode, Mode::Search { .. }) {
            return;
        }
        let lane = fault.place.as_ref().and_then(|place| {
            let lane_of = |lane: &u32| {
                let [x, y, _] = state.shape().block;
                let index = at.warp * 32 + lane;
                [index % x, index / x % y, index / x / y] == place.thread
            };
            (0..32).find(lane_of)
        });
        session.focus = Session::focus_on(&at, lane.unwrap_or(0));
        Self::stop(session, *front, state, &Reason::Fault(Box::new(fault.clone())));
    }
}

/// Runs launches under a session until the front end wants to end, and runs them again where it wants to go back.
pub fn debug<T: Target>(
    target: &mut T,
    session: &mut Session,
    front: &mut dyn Frontend,
    interrupt: &Interrupt,
) -> Result<(), T::Error> {
    loop {
        session.program = target.restart()?;
        (session.moment, session.last_line, session.resume) = (0, None, None);
        session.repeats.store(true, Ordering::Relaxed);
        let observer = Observer { inner: Mutex::new((&mut *session, &mut *front)), interrupt };
        target.run(&observer)?;
        let searches = matches!(session.mode, Mode::Search { .. });
        let resume = match session.resume.take() {
            None if searches => None,
            None => Some(match target.ended(session, front) {
                Resume::Backward(goal) => {
                    let before = session.moment + 1;
                    session.mode = Mode::Search { goal, before, depth: u32::MAX, found: VecDeque::new() };
                    Resume::Backward(goal)
                }
                Resume::Forward(_) | Resume::Unchanged => Resume::Restart,
                resume => resume,
            }),
            resume => resume,
        };
        match resume {
            Some(Resume::Quit) => return Ok(()),
            Some(Resume::Restart | Resume::Forward(_) | Resume::Unchanged) => {
                session.mode = Mode::Replay { to: 1, reason: Reason::Start };
                session.breakpoints.iter_mut().for_each(|one| one.hits = 0);
            }
            // The search begins with the next run.
            Some(Resume::Backward(_)) => {}
            // It has ended with this one.
            None => {
                if let Mode::Search { found, .. } = &session.mode {
                    let first = found.front().copied();
                    let reason = if first.is_some() { Reason::Step } else { Reason::Beginning };
                    session.mode = Mode::Replay { to: first.unwrap_or(1), reason };
                }
            }
        }
    }
}
