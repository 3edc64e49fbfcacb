//! A launch that is stepped through.

use super::capture::{Row, Stop};
use super::drive::{Front, Log, Look, Runner, Step};
use super::run::Printed;
use super::spec::{Machine, Ready};
use crate::request::Failure;
use serde_json::{Value as Json, json};
use softwarp::debug::drive::{Interrupt, debug};
use softwarp::debug::session::{Goal, Reason, Resume, Session};
use softwarp::debug::view::Focus;
use softwarp::vm::debug::State;
use softwarp::vm::fault::Fault;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, PoisonError};

/// Where a launch is.
#[derive(Clone, Debug)]
pub enum Where {
    /// Before an instruction.
    Stopped(Box<Stop>),
    /// At its end.
    Done,
    /// A fault stopped it that is no instruction's.
    Failed(Box<Fault>),
}

/// A launch that is stepped through.
pub struct Stepped {
    /// What is launched.
    pub ready: Ready,
    /// Where it is.
    pub at: Where,
    /// Whether it is over its limit.
    pub over_limit: bool,
    session: Session,
    machine: Option<Machine>,
    printed: String,
    log: Mutex<Log>,
    /// The registers of warps when they were last looked at.
    seen: HashMap<([u32; 3], u32), Vec<Row>>,
    /// Those of the warp in focus before that.
    before: Vec<Row>,
}

impl Stepped {
    /// Begins a launch: it stops before its first instruction.
    pub fn new(ready: Ready) -> Result<Stepped, Failure> {
        let mut stepped = Stepped {
            ready,
            at: Where::Done,
            over_limit: false,
            session: Session::default(),
            machine: None,
            printed: String::new(),
            log: Mutex::default(),
            seen: HashMap::new(),
            before: Vec::new(),
        };
        stepped.session.go_to(1);
        stepped.drive(None, None, u64::MAX)?;
        Ok(stepped)
    }

    /// How many instructions of warps were executed.
    pub fn executed(&self) -> u64 {
        match self.at {
            Where::Stopped(_) => self.session.moment.saturating_sub(1),
            _ => self.session.moment,
        }
    }

    /// What was printed.
    pub fn printed(&self) -> &str {
        &self.printed
    }

    /// The machine, with its memory as it is now.
    pub fn machine(&self) -> Option<&Machine> {
        self.machine.as_ref()
    }

    /// The instructions.
    pub fn line(&self, start: u32) -> u32 {
        self.ready.source.position(start).line.saturating_sub(1)
    }

    /// Where it has stopped.
    pub fn stop(&self) -> Option<&Stop> {
        match &self.at {
            Where::Stopped(stop) => Some(stop),
            _ => None,
        }
    }

    /// The registers of the warp in focus at the stop before.
    pub fn before(&self) -> &[Row] {
        &self.before
    }

    /// The CTAs that have begun, each with the line that it was last at.
    pub fn ctas(&self) -> Vec<([u32; 3], u32)> {
        let log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        log.ctas.iter().map(|(cta, start)| (*cta, self.line(*start))).collect()
    }

    /// The steps that were written down.
    pub fn steps(&self) -> Vec<Step> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner).steps.iter().copied().collect()
    }

    /// Runs the launch as the session's mode says, does something where it was, and keeps where it stops.
    fn drive(&mut self, then: Option<Resume>, look: Option<Look<'_>>, until: u64) -> Result<(), Failure> {
        let (interrupt, printed) = (Interrupt::new(), Printed::default());
        let mut runner = Runner {
            ready: &self.ready,
            machine: &mut self.machine,
            until,
            log: &self.log,
            interrupt: &interrupt,
            printed: &printed,
            fault: None,
        };
        let mut front = Front { then, look, stop: None, ended: false };
        debug(&mut runner, &mut self.session, &mut front, &interrupt)?;
        let fault = runner.fault.take();
        let stop = front.stop.take();
        self.printed = printed.take();
        self.at = match (stop, fault) {
            (Some(stop), _) => {
                let rows = stop.registers.clone();
                let key = (stop.focus.cta, stop.focus.warp);
                self.before = self.seen.insert(key, rows).unwrap_or_default();
                Where::Stopped(Box::new(stop))
            }
            (None, Some(fault)) => Where::Failed(fault),
            (None, None) => Where::Done,
        };
        Ok(())
    }

    /// The moment to go to, to be where it is now.
    fn here(&self) -> u64 {
        if self.stop().is_some() { self.session.moment } else { u64::MAX }
    }

    /// Goes on.
    pub fn forward(&mut self, goal: Goal, breakpoints: bool, max: u64, trace: bool) -> Result<(), Failure> {
        let Some(stop) = self.stop() else { return Ok(()) };
        if self.over_limit || matches!(stop.reason, Reason::Fault(_)) {
            return Ok(());
        }
        let (focus, here) = (stop.focus, self.here());
        let until = (here - 1).saturating_add(max);
        let limit = self.ready.limit;
        {
            let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
            log.steps_from = trace.then_some(here);
        }
        self.session.breakpoints.iter_mut().for_each(|one| one.enabled = breakpoints);
        self.session.go_to(here);
        let mut look = |session: &mut Session, _: &dyn State| session.focus = focus;
        let result = self.drive(Some(Resume::Forward(goal)), Some(&mut look), until.min(limit));
        self.session.breakpoints.iter_mut().for_each(|one| one.enabled = true);
        self.over_limit = self.stop().is_some() && self.executed() >= limit;
        result
    }

    /// Goes back.
    pub fn backward(&mut self, resume: Resume, breakpoints: bool) -> Result<(), Failure> {
        let focus = self.stop().map(|stop| stop.focus);
        self.session.breakpoints.iter_mut().for_each(|one| one.enabled = breakpoints);
        self.session.go_to(self.here());
        let mut look = |session: &mut Session, _: &dyn State| {
            if let Some(focus) = focus {
                session.focus = focus;
            }
        };
        let result = self.drive(Some(resume), Some(&mut look), u64::MAX);
        self.session.breakpoints.iter_mut().for_each(|one| one.enabled = true);
        self.over_limit = false;
        result
    }

    /// Goes to the instruction with a number, from 1; to the end if there are fewer.
    pub fn go_to(&mut self, moment: u64) -> Result<(), Failure> {
        self.session.go_to(moment);
        self.drive(None, None, self.ready.limit)?;
        self.over_limit = self.stop().is_some() && self.executed() >= self.ready.limit;
        Ok(())
    }

    /// Looks at the launch where it is.
    pub fn look<T: Send>(
        &mut self,
        mut look: impl FnMut(&Session, &dyn State) -> T + Send,
    ) -> Result<T, Failure> {
        let ended = || Failure::new("the launch has ended: there are no threads");
        let stop = self.stop().ok_or_else(ended)?;
        let (focus, reason) = (stop.focus, stop.reason.clone());
        let mut found = None;
        let mut see = |session: &mut Session, state: &dyn State| {
            session.focus = focus;
            found = Some(look(session, state));
        };
        let before = self.before.clone();
        self.session.go_to(self.here());
        self.drive(None, Some(&mut see), u64::MAX)?;
        self.before = before;
        if let Where::Stopped(stop) = &mut self.at {
            stop.reason = reason;
        }
        found.ok_or_else(ended)
    }

    /// Changes the thread that steps are about.
    pub fn focus(&mut self, warp: Option<u32>, lane: Option<u32>) -> Result<(), Failure> {
        let warps = self.ready.threads().div_ceil(32);
        if warp.is_some_and(|warp| u64::from(warp) >= warps) {
            return Err(Failure::new(format!("a CTA has {warps} warps, counted from 0")));
        }
        let Some(stop) = self.stop() else { return Ok(()) };
        let focus = Focus {
            warp: warp.unwrap_or(stop.focus.warp),
            lane: lane.unwrap_or(stop.focus.lane),
            call: 0,
            ..stop.focus
        };
        if let Where::Stopped(stop) = &mut self.at {
            stop.focus = focus;
        }
        self.look(|_, _| ())
    }

    /// Sets all breakpoints.
    pub fn breakpoints(&mut self, wanted: Vec<(u32, Option<String>)>) -> Json {
        self.session.delete_if(|_| true);
        let (mut set, mut refused) = (Vec::new(), Vec::new());
        for (line, condition) in wanted {
            let place = line.saturating_add(1).to_string();
            match self.session.code().find(&place, None) {
                Ok(keys) => {
                    let at = keys.first().and_then(|key| self.session.code().get(*key)).map(|one| one.line);
                    let breakpoint = self.session.add_breakpoint(&place, keys);
                    breakpoint.condition = condition;
                    let line = at.map_or(line, |at| at.saturating_sub(1));
                    set.push(json!({"line": line, "number": breakpoint.number}));
                }
                Err(error) => refused.push(json!({"line": line, "message": error.to_string()})),
            }
        }
        json!({"set": set, "refused": refused})
    }

    /// How often each instruction was executed up to here, by its first byte: by warps and by threads.
    pub fn count(&mut self) -> Result<BTreeMap<u32, (u64, u64)>, Failure> {
        let (at, before) = (self.at.clone(), self.before.clone());
        self.log.lock().unwrap_or_else(PoisonError::into_inner).counts = true;
        self.session.go_to(self.here());
        let result = self.drive(None, None, u64::MAX);
        (self.at, self.before) = (at, before);
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        log.counts = false;
        let mut executed = std::mem::take(&mut log.executed);
        // The instruction that it stands before has been seen, too.
        if let Where::Stopped(stop) = &self.at
            && let Some((warp, thread)) = executed.get_mut(&stop.span.start)
        {
            *warp = warp.saturating_sub(1);
            *thread = thread.saturating_sub(stop.executing.count_ones().into());
        }
        result.map(|()| executed)
    }
}
