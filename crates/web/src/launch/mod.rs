//! Launches: run to their end ([`run()`]), or step by step.
//!
//! A launch that is stepped through is not kept while it is stopped: it would hold the one thread that there is. It runs again
//! from its start up to the moment where it was, and on from there. Launches with a debugger are the same each time, so
//! results do not differ; a step takes as long as everything before it.

mod capture;
mod drive;
mod run;
mod show;
mod spec;
mod stepping;
mod words;

pub use run::run;
pub use spec::SANITIZERS;

use crate::request::{Answer, Failure, Number, format, read, shown};
use serde::Deserialize;
use serde_json::{Value as Json, json};
use softwarp::debug::session::{Goal, Resume, Unit, Who};
use spec::Spec;
use std::collections::BTreeMap;
use stepping::Stepped;

/// The most launches that are kept.
const MOST: usize = 16;
/// The most instructions of a call where the request does not say it.
const USUAL_STEPS: u64 = 200_000;

/// The launches that pages step through.
#[derive(Default)]
pub struct Launches {
    next: u32,
    all: BTreeMap<u32, Stepped>,
}

#[derive(Deserialize)]
struct Which {
    launch: u32,
}

impl Launches {
    fn get(&mut self, request: &Json) -> Result<(u32, &mut Stepped), Failure> {
        let Which { launch } = read(request)?;
        let found = self.all.get_mut(&launch);
        found
            .map(|found| (launch, found))
            .ok_or_else(|| Failure::new(format!("there is no launch {launch}; `launch.start` begins one")))
    }
}

/// Answers `launch.start`.
pub fn start(launches: &mut Launches, request: &Json) -> Answer {
    let spec: Spec = read(request)?;
    let mut stepped = Stepped::new(spec.ready()?)?;
    if !spec.breakpoints.is_empty() {
        stepped.breakpoints(spec.breakpoints.iter().map(|line| (*line, None)).collect());
    }
    // A page that has forgotten launches does not fill the memory.
    if launches.all.len() >= MOST {
        launches.all.pop_first();
    }
    launches.next += 1;
    let number = launches.next;
    let status = show::status(number, &stepped);
    launches.all.insert(number, stepped);
    Ok(status)
}

#[derive(Deserialize)]
struct StepSpec {
    by: String,
    count: Option<u64>,
    #[serde(default)]
    over: bool,
    max: Option<u64>,
    #[serde(default)]
    trace: bool,
}

impl StepSpec {
    /// What to run for, and whether breakpoints count.
    fn goal(&self, executed: u64, back: bool) -> Result<(Goal, bool), Failure> {
        let count = self.count.unwrap_or(1).max(1);
        let step = |unit, who| Goal::Step { unit, over: self.over, who, count };
        Ok(match self.by.as_str() {
            "instruction" => (step(Unit::Instruction, Who::Thread), true),
            "warp" => (step(Unit::Instruction, Who::Warp), true),
            "line" => (step(Unit::Line, Who::Thread), true),
            "any" if back => (Goal::Moment(executed.saturating_sub(count) + 1), false),
            "any" => (Goal::Moment(executed.saturating_add(count) + 1), false),
            "continue" => (Goal::Continue, true),
            "run" => (Goal::Continue, false),
            "finish" => (Goal::Finish, true),
            other => {
                let known = "instruction, warp, any, line, continue, run and finish";
                return Err(Failure::new(format!(
                    "there is no step by `{}`; there are {known}",
                    shown(other)
                )));
            }
        })
    }
}

/// Answers `launch.step`.
pub fn step(launches: &mut Launches, request: &Json) -> Answer {
    let (number, stepped) = launches.get(request)?;
    let spec: StepSpec = read(request)?;
    let (goal, with_breakpoints) = spec.goal(stepped.executed(), false)?;
    let max = spec.max.unwrap_or(USUAL_STEPS).max(1);
    stepped.forward(goal, with_breakpoints, max, spec.trace)?;
    let mut status = show::status(number, stepped);
    if spec.trace {
        status["steps"] = show::steps(stepped);
    }
    Ok(status)
}

/// Answers `launch.back`.
pub fn back(launches: &mut Launches, request: &Json) -> Answer {
    let (number, stepped) = launches.get(request)?;
    let spec: StepSpec = read(request)?;
    match spec.goal(stepped.executed(), true)? {
        (Goal::Moment(moment), _) => stepped.go_to(moment)?,
        (goal, with_breakpoints) => stepped.backward(Resume::Backward(goal), with_breakpoints)?,
    }
    Ok(show::status(number, stepped))
}

/// Answers `launch.goto`.
pub fn go_to(launches: &mut Launches, request: &Json) -> Answer {
    #[derive(Deserialize)]
    struct To {
        moment: u64,
    }
    let (number, stepped) = launches.get(request)?;
    let To { moment } = read(request)?;
    stepped.go_to(moment.saturating_add(1))?;
    Ok(show::status(number, stepped))
}

/// Answers `launch.status`.
pub fn status(launches: &mut Launches, request: &Json) -> Answer {
    let (number, stepped) = launches.get(request)?;
    Ok(show::status(number, stepped))
}

/// Answers `launch.breakpoints`.
pub fn breakpoints(launches: &mut Launches, request: &Json) -> Answer {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Line {
        Plain(u32),
        Conditional { line: u32, condition: Option<String> },
    }
    #[derive(Deserialize)]
    struct Lines {
        lines: Vec<Line>,
    }
    let (_, stepped) = launches.get(request)?;
    let Lines { lines } = read(request)?;
    let wanted = lines.into_iter().map(|line| match line {
        Line::Plain(line) => (line, None),
        Line::Conditional { line, condition } => (line, condition),
    });
    Ok(stepped.breakpoints(wanted.collect()))
}

/// Answers `launch.focus`.
pub fn focus(launches: &mut Launches, request: &Json) -> Answer {
    #[derive(Deserialize)]
    struct Thread {
        warp: Option<u32>,
        lane: Option<u32>,
    }
    let (number, stepped) = launches.get(request)?;
    let Thread { warp, lane } = read(request)?;
    if lane.is_some_and(|lane| lane > 31) {
        return Err(Failure::new("a lane is a number from 0 to 31"));
    }
    stepped.focus(warp, lane)?;
    Ok(show::status(number, stepped))
}

/// Answers `launch.warps`.
pub fn warps(launches: &mut Launches, request: &Json) -> Answer {
    let (_, stepped) = launches.get(request)?;
    Ok(show::warps(stepped))
}

/// Answers `launch.registers`.
pub fn registers(launches: &mut Launches, request: &Json) -> Answer {
    #[derive(Deserialize)]
    struct Of {
        warp: Option<u32>,
    }
    let (_, stepped) = launches.get(request)?;
    let Of { warp } = read(request)?;
    show::registers(stepped, warp)
}

/// Answers `launch.memory`.
pub fn memory(launches: &mut Launches, request: &Json) -> Answer {
    let (_, stepped) = launches.get(request)?;
    let asked: MemorySpec = read(request)?;
    let as_format = asked.format.as_deref().map(format).transpose()?;
    let address = asked.address.as_ref().map(Number::whole).transpose()?;
    let space = asked.space.as_deref().unwrap_or("global");
    show::memory(stepped, space, address, asked.name.as_deref(), asked.bytes, as_format)
}

#[derive(Deserialize)]
struct MemorySpec {
    space: Option<String>,
    address: Option<Number>,
    name: Option<String>,
    bytes: Option<u64>,
    format: Option<String>,
}

/// Answers `launch.buffers`.
pub fn buffers(launches: &mut Launches, request: &Json) -> Answer {
    let (_, stepped) = launches.get(request)?;
    Ok(stepped.machine().map_or(json!([]), words::buffers))
}

/// Answers `launch.evaluate`.
pub fn evaluate(launches: &mut Launches, request: &Json) -> Answer {
    #[derive(Deserialize)]
    struct Asked {
        expression: String,
    }
    let (_, stepped) = launches.get(request)?;
    let Asked { expression } = read(request)?;
    let found = stepped.look(|session, state| {
        session.view(state).evaluate(&expression).map(|value| value.to_string()).map_err(|error| error.0)
    })?;
    Ok(json!({ "text": found? }))
}

/// Answers `launch.stats`.
pub fn stats(launches: &mut Launches, request: &Json) -> Answer {
    let (_, stepped) = launches.get(request)?;
    let executed = stepped.count()?;
    Ok(show::stats(stepped, &executed))
}

/// Answers `launch.end`.
pub fn end(launches: &mut Launches, request: &Json) -> Answer {
    let (number, _) = launches.get(request)?;
    launches.all.remove(&number);
    Ok(Json::Null)
}
