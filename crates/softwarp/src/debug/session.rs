//! A session: breakpoints, what the launch runs for, and when it stops.
//!
//! A session counts the instructions of warps. Since a launch runs in the same order each time, that number names a
//! moment. To go back, the launch is run again from its start: once to find the last moment that is wanted before the
//! present one, and once to get there.

use super::code::{Code, InstructionKey};
use super::view::{Focus, Program, View};
use crate::ir::{Op, Step};
use crate::vm::debug::{At, State};
use crate::vm::fault::Fault;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The most steps back at once.
const MOST_BACK: u64 = 1 << 20;

/// A breakpoint.
#[derive(Clone, Debug)]
pub struct Breakpoint {
    /// Its number, from 1.
    pub number: u32,
    /// The place, as it was given.
    pub place: String,
    /// The instructions that it is at.
    pub keys: Vec<InstructionKey>,
    /// It holds only if this is true for a thread.
    pub condition: Option<String>,
    /// How many times more it is passed over.
    pub ignore: u64,
    /// How many times it was met.
    pub hits: u64,
    /// Whether it is looked at.
    pub enabled: bool,
    /// Whether it is deleted when it is met.
    pub once: bool,
    /// Instead of stopping, this is told; `{expression}` stands for a value.
    pub message: Option<String>,
}

/// An expression whose changes stop the launch.
#[derive(Clone, Debug)]
pub struct Watch {
    /// Its number, from 1, among those of breakpoints.
    pub number: u32,
    /// The expression.
    pub expression: String,
    /// The thread that it is evaluated for.
    pub focus: Focus,
    /// What it was last.
    pub last: Option<String>,
}

/// How far a step goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// One instruction of the PTX.
    Instruction,
    /// To another line of the program that the PTX was made from; an instruction where that is not known.
    Line,
}

/// Whose steps count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// Those of the focus' thread.
    Thread,
    /// Those of any lanes of its warp.
    Warp,
}

/// What a launch runs for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Goal {
    /// A breakpoint.
    Continue,
    /// Some steps.
    Step {
        /// How far each goes.
        unit: Unit,
        /// Whether calls are one step.
        over: bool,
        /// Whose.
        who: Who,
        /// How many.
        count: u64,
    },
    /// The return from the call that the focus is in.
    Finish,
    /// The instruction with a number.
    Moment(u64),
}

/// What a front end wants after a stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resume {
    /// To go on.
    Forward(Goal),
    /// To go back.
    Backward(Goal),
    /// To go on with what it was doing before it was interrupted.
    Unchanged,
    /// To begin anew.
    Restart,
    /// To end.
    Quit,
}

/// Why a launch stopped.
#[derive(Clone, Debug, PartialEq)]
pub enum Reason {
    /// The first instruction.
    Start,
    /// A breakpoint with this number.
    Breakpoint(u32),
    /// A watch with this number: what it was and is.
    Watch(u32, String, String),
    /// A step has ended.
    Step,
    /// The thread of the focus has exited.
    Exited,
    /// It was asked to.
    Interrupted,
    /// The beginning was reached on the way back.
    Beginning,
    /// The instruction failed.
    Fault(Box<Fault>),
}

/// What is asked of a launch at each instruction.
#[derive(Clone, Debug)]
pub(super) enum Mode {
    /// Stops by breakpoints and a goal, which was given at a moment, in a call of some depth and on a line.
    Run { goal: Goal, since: u64, depth: u32, line: Option<u32>, left: u64 },
    /// Goes back: looks for the last moment before one that a goal would stop at.
    /// A goal of several steps wants the moment that many steps before the last.
    Search { goal: Goal, before: u64, depth: u32, found: VecDeque<u64> },
    /// Goes to a moment.
    Replay { to: u64, reason: Reason },
}

/// The state of a session.
#[derive(Debug)]
pub struct Session {
    /// The modules and buffers.
    pub program: Program,
    /// The breakpoints.
    pub breakpoints: Vec<Breakpoint>,
    /// The watches.
    pub watches: Vec<Watch>,
    /// The thread that commands are about.
    pub focus: Focus,
    /// The number of the instruction at which it is stopped, from 1.
    pub moment: u64,
    places: HashMap<InstructionKey, Vec<usize>>,
    next_number: u32,
    pub(super) mode: Mode,
    /// The line of the last instruction of the focus' thread.
    pub(super) last_line: Option<u32>,
    exited: bool,
    pub(super) resume: Option<Resume>,
    /// Whether launches only repeat what was seen, so that what they print has been printed.
    pub(super) repeats: Arc<AtomicBool>,
}

impl Default for Session {
    fn default() -> Session {
        Session {
            program: Program::default(),
            breakpoints: Vec::new(),
            watches: Vec::new(),
            focus: Focus::default(),
            moment: 0,
            places: HashMap::new(),
            next_number: 1,
            mode: Mode::Replay { to: 1, reason: Reason::Start },
            last_line: None,
            exited: false,
            resume: None,
            repeats: Arc::new(AtomicBool::new(true)),
        }
    }
}

impl Session {
    /// The view of the focus.
    pub fn view<'a>(&'a self, state: &'a dyn State) -> View<'a> {
        View { state, program: &self.program, focus: self.focus }
    }

    /// Lets the next run of the launches go to a moment and stop there, for the reason that they have started. Beyond the
    /// last moment, they run to their end.
    pub fn go_to(&mut self, moment: u64) {
        self.mode = Mode::Replay { to: moment.max(1), reason: Reason::Start };
    }

    /// Whether launches only repeat what was seen: what they print then is to be dropped.
    pub fn repeats(&self) -> Arc<AtomicBool> {
        self.repeats.clone()
    }

    /// The instructions.
    pub fn code(&self) -> &Code {
        &self.program.code
    }

    /// Adds a breakpoint at instructions, and gives its number.
    pub fn add_breakpoint(&mut self, place: &str, keys: Vec<InstructionKey>) -> &mut Breakpoint {
        let number = self.number();
        self.breakpoints.push(Breakpoint {
            number,
            place: place.to_owned(),
            keys,
            condition: None,
            ignore: 0,
            hits: 0,
            enabled: true,
            once: false,
            message: None,
        });
        self.index();
        let last = self.breakpoints.len() - 1;
        &mut self.breakpoints[last]
    }

    /// Adds a watch, and gives its number.
    pub fn add_watch(&mut self, expression: &str, last: Option<String>) -> u32 {
        let (number, focus) = (self.number(), self.focus);
        self.watches.push(Watch { number, expression: expression.to_owned(), focus, last });
        number
    }

    /// Deletes a breakpoint or watch. Returns whether there was one.
    pub fn delete(&mut self, number: u32) -> bool {
        let before = self.breakpoints.len() + self.watches.len();
        self.breakpoints.retain(|one| one.number != number);
        self.watches.retain(|one| one.number != number);
        self.index();
        before != self.breakpoints.len() + self.watches.len()
    }

    /// Deletes the breakpoints that a function chooses.
    pub fn delete_if(&mut self, chosen: impl Fn(&Breakpoint) -> bool) {
        self.breakpoints.retain(|one| !chosen(one));
        self.index();
    }

    fn number(&mut self) -> u32 {
        self.next_number += 1;
        self.next_number - 1
    }

    fn index(&mut self) {
        self.places.clear();
        for (index, breakpoint) in self.breakpoints.iter().enumerate() {
            for &key in &breakpoint.keys {
                self.places.entry(key).or_default().push(index);
            }
        }
    }

    /// The breakpoint that stops the launch here, and the lane for which it does; messages of others are given to `log`.
    pub(super) fn broken(
        &mut self,
        state: &dyn State,
        at: &At<'_>,
        log: &mut dyn FnMut(&str),
    ) -> Option<(u32, u32)> {
        let unit = state.image().function(at.function).unit;
        let here = self.places.get(&InstructionKey { unit, start: at.span.start })?.clone();
        let mut stops = None;
        for index in here {
            let Some(breakpoint) = self.breakpoints.get(index).filter(|one| one.enabled) else { continue };
            let condition = breakpoint.condition.clone();
            let Some(lane) = self.lane(state, at, condition.as_deref()) else { continue };
            let text = breakpoint.message.clone().map(|message| self.filled(state, at, lane, &message));
            let Some(breakpoint) = self.breakpoints.get_mut(index) else { continue };
            breakpoint.hits += 1;
            if breakpoint.ignore > 0 {
                breakpoint.ignore -= 1;
            } else if let Some(text) = text {
                log(&text);
            } else if stops.is_none() {
                stops = Some((breakpoint.number, lane));
            }
        }
        if let Some((number, _)) = stops {
            self.delete_if(|one| one.once && one.number == number);
        }
        stops
    }

    /// The breakpoint at the instruction where the launch is stopped, if it would stop there.
    pub fn breakpoint_here(&self, state: &dyn State) -> Option<u32> {
        let at = state.at();
        let unit = state.image().function(at.function).unit;
        let here = self.places.get(&InstructionKey { unit, start: at.span.start })?;
        let stops = |one: &&Breakpoint| {
            let plain = one.enabled && one.message.is_none() && one.ignore == 0;
            plain && self.lane(state, &at, one.condition.as_deref()).is_some()
        };
        here.iter().filter_map(|index| self.breakpoints.get(*index)).find(stops).map(|one| one.number)
    }

    /// The focus on a lane of the warp that is about to run.
    pub(super) fn focus_on(at: &At<'_>, lane: u32) -> Focus {
        Focus { cta: at.cta, warp: at.warp, lane, call: 0 }
    }

    /// A lane for which a condition holds: that of the focus if it does, else the first.
    pub(super) fn lane(&self, state: &dyn State, at: &At<'_>, condition: Option<&str>) -> Option<u32> {
        let lanes = if at.executing == 0 { at.lanes } else { at.executing };
        let here = at.cta == self.focus.cta && at.warp == self.focus.warp;
        let own = Some(self.focus.lane).filter(|lane| here && lanes >> lane & 1 == 1);
        let mut all = own.into_iter().chain((0..32).filter(|lane| lanes >> lane & 1 == 1));
        let Some(condition) = condition else { return all.next() };
        all.find(|&lane| {
            let view = View { state, program: &self.program, focus: Self::focus_on(at, lane) };
            // What has no value stops, so that the mistake is seen.
            view.evaluate(condition).map_or(true, |value| value.is_true())
        })
    }

    /// A message with the values of the expressions in braces.
    fn filled(&self, state: &dyn State, at: &At<'_>, lane: u32, message: &str) -> String {
        let view = View { state, program: &self.program, focus: Self::focus_on(at, lane) };
        let (mut text, mut rest) = (String::new(), message);
        while let Some((before, behind)) = rest.split_once('{') {
            let Some((expression, after)) = behind.split_once('}') else { break };
            let value =
                view.evaluate(expression).map_or_else(|error| error.to_string(), |one| one.to_string());
            text += &format!("{before}{value}");
            rest = after;
        }
        text + rest
    }

    /// The watch whose value has changed.
    pub(super) fn changed(&mut self, state: &dyn State) -> Option<Reason> {
        let mut found = None;
        for index in 0..self.watches.len() {
            let watch = &self.watches[index];
            let view = View { state, program: &self.program, focus: watch.focus };
            if state.at().cta != watch.focus.cta {
                continue;
            }
            let now = view.evaluate(&watch.expression).ok().map(|value| value.to_string());
            let (Some(now), number) = (now, watch.number) else { continue };
            let before = self.watches[index].last.replace(now.clone());
            if let Some(before) = before.filter(|before| *before != now) {
                found = found.or(Some(Reason::Watch(number, before, now)));
            }
        }
        found
    }

    /// Takes the values of watches anew, since the launch was run again.
    pub(super) fn watch_again(&mut self, state: &dyn State) {
        for index in 0..self.watches.len() {
            let watch = &self.watches[index];
            let view = View { state, program: &self.program, focus: watch.focus };
            let now =
                if state.at().cta == watch.focus.cta { view.evaluate(&watch.expression).ok() } else { None };
            let now = now.map(|value| value.to_string());
            self.watches[index].last = now;
        }
    }

    /// The line of the program that an instruction comes from.
    pub(super) fn line(&self, state: &dyn State, at: &At<'_>) -> Option<u32> {
        let unit = state.image().function(at.function).unit;
        let instruction = self.program.code.get(InstructionKey { unit, start: at.span.start })?;
        instruction.source.as_ref().map(|source| source.line)
    }

    /// Whether the thread of the focus, or its warp, is among those that are about to run.
    pub(super) fn concerns(&self, at: &At<'_>, who: Who) -> bool {
        let warp = at.cta == self.focus.cta && at.warp == self.focus.warp;
        warp && (who == Who::Warp || at.lanes >> self.focus.lane & 1 == 1)
    }

    /// Begins to run for a goal.
    pub(super) fn begin(&mut self, state: &dyn State, goal: Goal) {
        let (at, since) = (state.at(), self.moment);
        let depth = self.view(state).calls().len().saturating_sub(1 + self.focus.call) as u32;
        let line = if self.concerns(&at, Who::Thread) { self.line(state, &at) } else { self.last_line };
        let left = if let Goal::Step { count, .. } = goal { count.max(1) } else { 1 };
        self.mode = Mode::Run { goal, since, depth, line, left };
        self.exited = false;
        self.repeats.store(false, Ordering::Relaxed);
        self.leaves(&at);
    }

    /// An instruction is executed without a stop.
    pub(super) fn passes(&mut self, state: &dyn State, at: &At<'_>) {
        let Mode::Run { goal, .. } = self.mode else { return };
        if goal != Goal::Continue {
            self.leaves(at);
        }
        if self.concerns(at, Who::Thread) {
            self.last_line = self.line(state, at);
        }
    }

    /// Notes if the thread of the focus exits with this instruction.
    pub(super) fn leaves(&mut self, at: &At<'_>) {
        let ends = match at.op {
            Some(Op::Other(_, step)) => match **step {
                Step::Exit => true,
                Step::Return => at.depth == 0,
                _ => false,
            },
            _ => false,
        };
        let own = at.cta == self.focus.cta && at.warp == self.focus.warp;
        self.exited |= ends && own && at.executing >> self.focus.lane & 1 == 1;
    }

    /// Whether a goal is reached at an instruction, by a thread that ran for it since a moment.
    pub(super) fn reached(&mut self, state: &dyn State, at: &At<'_>) -> Option<Reason> {
        let Mode::Run { goal, since, depth, line, left } = self.mode.clone() else { return None };
        if self.moment <= since {
            return None;
        }
        let over = match goal {
            Goal::Continue => return None,
            Goal::Moment(moment) => return (self.moment >= moment).then_some(Reason::Step),
            _ if self.exited => return Some(Reason::Exited),
            Goal::Finish => {
                let returned = self.concerns(at, Who::Thread) && at.depth < depth;
                return returned.then_some(Reason::Step);
            }
            Goal::Step { over, .. } => over,
        };
        let Goal::Step { unit, who, .. } = goal else { return None };
        if !self.concerns(at, who) || over && at.depth > depth {
            return None;
        }
        let now = self.line(state, at);
        if unit == Unit::Line && line.is_some() && (now == line && at.depth >= depth || now.is_none()) {
            return None;
        }
        if left > 1 {
            self.mode = Mode::Run { goal, since, depth: at.depth, line: now, left: left - 1 };
            return None;
        }
        Some(Reason::Step)
    }

    /// Whether a goal that is looked for on the way back is met at an instruction.
    pub(super) fn met(&mut self, state: &dyn State, at: &At<'_>, goal: Goal, depth: u32) -> bool {
        let line = self.line(state, at);
        match goal {
            Goal::Moment(moment) => self.moment == moment,
            Goal::Continue => {
                let unit = state.image().function(at.function).unit;
                let here = self.places.get(&InstructionKey { unit, start: at.span.start });
                let stops = |index: &usize| {
                    let one = self.breakpoints.get(*index).filter(|one| one.enabled && one.message.is_none());
                    one.is_some_and(|one| self.lane(state, at, one.condition.as_deref()).is_some())
                };
                here.is_some_and(|all| all.iter().any(stops))
            }
            Goal::Finish => self.concerns(at, Who::Thread) && at.depth < depth,
            Goal::Step { unit, over, who, .. } => {
                if !self.concerns(at, who) || over && at.depth > depth {
                    return false;
                }
                let before = std::mem::replace(&mut self.last_line, line);
                unit == Unit::Instruction || line.is_none() || line != before
            }
        }
    }
}

impl Session {
    /// Notes the present moment as one that is looked for on the way back.
    pub(super) fn remember(&mut self) {
        let Mode::Search { goal, found, .. } = &mut self.mode else { return };
        let count = if let Goal::Step { count, .. } = *goal { count.clamp(1, MOST_BACK) } else { 1 };
        found.push_back(self.moment);
        while found.len() as u64 > count {
            found.pop_front();
        }
    }
}
