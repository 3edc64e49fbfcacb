//! Places and values for people.

use softwarp::debug::code::Instruction;
use softwarp::debug::session::Reason;
use softwarp::debug::view::{Focus, View};
use softwarp::source::Source;
use softwarp::vm::debug::{Group, State, Waits};
use std::path::Path;

/// A position in three dimensions.
pub fn triple([x, y, z]: [u32; 3]) -> String {
    format!("({x},{y},{z})")
}

/// `%tid` of a lane.
pub fn thread_of(state: &dyn State, warp: u32, lane: u32) -> [u32; 3] {
    let [x, y, _] = state.shape().block;
    let index = warp * 32 + lane;
    [index % x.max(1), index / x.max(1) % y.max(1), index / x.max(1) / y.max(1)]
}

/// The thread of the focus.
pub fn focus(state: &dyn State, focus: Focus) -> String {
    let thread = triple(thread_of(state, focus.warp, focus.lane));
    format!("CTA {}, thread {thread}, warp {}, lane {}", triple(focus.cta), focus.warp, focus.lane)
}

/// Lanes as ranges: `0-15,17`.
pub fn lanes(mask: u32) -> String {
    let mut parts = Vec::new();
    let mut lane = 0;
    while lane < 32 {
        if mask >> lane & 1 == 0 {
            lane += 1;
            continue;
        }
        let end = (lane..32).find(|next| mask >> next & 1 == 0).unwrap_or(32) - 1;
        parts.push(if end == lane { lane.to_string() } else { format!("{lane}-{end}") });
        lane = end + 1;
    }
    parts.join(",")
}

/// The text of an instruction on one line.
pub fn text(sources: &[Source], instruction: &Instruction) -> String {
    let source = sources.get(instruction.key.unit as usize);
    let text = source.map_or("", |source| instruction.span.text(&source.text));
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The source line of an instruction with its text, where these are known.
pub fn origin(sources: &[Source], instruction: &Instruction) -> Option<String> {
    let line = instruction.source.as_ref()?;
    let source = sources.get(instruction.key.unit as usize)?;
    let folders: Vec<&Path> = Path::new(&source.name).parent().into_iter().collect();
    let text = line.text(&folders).map_or(String::new(), |text| format!("  {text}"));
    Some(format!("{}:{}{text}", line.file, line.line))
}

/// An instruction with its line: `saxpy.ptx:12  add.s32 %r1, %r2, %r3;`
pub fn instruction(sources: &[Source], instruction: &Instruction) -> String {
    let name = sources.get(instruction.key.unit as usize).map_or("", |source| source.name.as_str());
    let name = Path::new(name).file_name().and_then(|name| name.to_str()).unwrap_or(name);
    format!("{name}:{}  {}", instruction.line, text(sources, instruction))
}

/// Why a launch stopped.
pub fn reason(reason: &Reason) -> Option<String> {
    Some(match reason {
        Reason::Start => "stopped before the first instruction".to_owned(),
        Reason::Breakpoint(number) => format!("breakpoint {number}"),
        Reason::Watch(number, before, now) => format!("watch {number}: {before} became {now}"),
        Reason::Step => return None,
        Reason::Exited => "the thread has exited".to_owned(),
        Reason::Interrupted => "interrupted".to_owned(),
        Reason::Beginning => "no earlier stop: this is the first instruction".to_owned(),
        Reason::Fault(_) => "the instruction failed".to_owned(),
    })
}

/// Where a stop is: the thread, the instruction and the source line.
pub fn stop(sources: &[Source], view: &View<'_>, why: &Reason) -> String {
    let at = view.state.at();
    let mut text = match reason(why) {
        Some(reason) => format!("{reason}\n"),
        None => String::new(),
    };
    text += &focus(view.state, view.focus);
    let executing = match at.executing == at.lanes {
        true => format!("; lanes {} execute", lanes(at.lanes)),
        false if at.executing == 0 => format!("; lanes {} pass over it: its guard is false", lanes(at.lanes)),
        false => format!("; of lanes {}, {} execute", lanes(at.lanes), lanes(at.executing)),
    };
    text += &executing;
    text.push('\n');
    if let Some(next) = view.next() {
        text += &format!("{}\n", instruction(sources, next));
        if let Some(origin) = origin(sources, next) {
            text += &format!("  from {origin}\n");
        }
    }
    text
}

/// What lanes wait for.
pub fn waits(group: &Group) -> String {
    match group.waits {
        Waits::Ready if group.current => "runs".to_owned(),
        Waits::Ready => "ready".to_owned(),
        Waits::Barrier(number) => format!("waits at barrier {number}"),
        Waits::Cluster => "waits at the cluster's barrier".to_owned(),
        Waits::Lanes(mask) => format!("waits for lanes {}", lanes(mask)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_are_ranges() {
        assert_eq!(lanes(u32::MAX), "0-31");
        assert_eq!(lanes(0b1011), "0-1,3");
        assert_eq!(lanes(1 << 31), "31");
        assert_eq!(lanes(0), "");
    }
}
