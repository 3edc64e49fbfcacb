//! What `info` and its neighbours print.

use super::show;
use crate::columns::columns;
use softwarp::debug::code::Instruction;
use softwarp::debug::expression::{NoValue, Scope, contents, space_named};
use softwarp::debug::session::Session;
use softwarp::debug::value::{Value, bytes_of, type_named};
use softwarp::debug::view::Focus;
use softwarp::ir::Memory;
use softwarp::source::Source;
use softwarp::vm::debug::State;

/// The most values of memory that are printed.
const MOST: u64 = 1024;

fn told(result: Result<String, NoValue>) -> String {
    result.unwrap_or_else(|why| format!("error: {why}\n"))
}

/// The value of an expression for each lane of the warp.
pub fn lanes(session: &Session, state: &dyn State, expression: &str) -> String {
    let mut rows = Vec::new();
    let all = state
        .groups()
        .iter()
        .filter(|one| one.warp == session.focus.warp)
        .fold(0, |all, one| all | one.lanes);
    for lane in (0..32).filter(|lane| all >> lane & 1 == 1) {
        let focus = Focus { lane, ..session.focus };
        let view = softwarp::debug::view::View { focus, ..session.view(state) };
        let value = match view.evaluate(expression) {
            Ok(value) => value.to_string(),
            Err(why) => return format!("error: {why}\n"),
        };
        rows.push(vec![format!("lane {lane}"), value]);
    }
    columns(&rows)
}

/// `x/COUNT [SPACE.]TYPE ADDRESS`
pub fn memory(session: &Session, state: &dyn State, rest: &str) -> String {
    const USAGE: &str = "error: x takes [/COUNT] [SPACE.]TYPE ADDRESS, as in x/8 f32 %rd1\n";
    let (count, rest) = match rest.strip_prefix('/') {
        Some(rest) => {
            let (count, rest) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
            match count.parse::<u64>() {
                Ok(count) => (count.min(MOST), rest.trim()),
                Err(_) => return USAGE.to_owned(),
            }
        }
        None => (1, rest),
    };
    let Some((kind, address)) = rest.split_once(char::is_whitespace) else { return USAGE.to_owned() };
    let (space, name) = match kind.split_once('.') {
        Some((space, name)) => (space_named(space), name),
        None => (Some(Memory::Generic), kind),
    };
    let (Some(space), Some(ty)) = (space, type_named(name)) else { return USAGE.to_owned() };
    let view = session.view(state);
    let read = || {
        let first = match view.evaluate(address)?.number()? {
            softwarp::debug::expression::Number::Int(value) => u64::try_from(value).ok(),
            softwarp::debug::expression::Number::Float(_) => None,
        };
        let first = first.ok_or_else(|| NoValue("an address is a whole number from 0".to_owned()))?;
        let (size, mut rows) = (bytes_of(ty), Vec::new());
        for index in 0..count {
            let at = first.wrapping_add(index * size);
            let mut bytes = vec![0; size as usize];
            view.read(space, at, &mut bytes)?;
            let place = view.name_of(space, at).map_or(String::new(), |(name, at)| format!("{name}+{at}"));
            rows.push(vec![format!("{at:#x}"), place, Value::of_bytes(ty, &bytes).to_string()]);
        }
        Ok(columns(&rows))
    };
    told(read())
}

/// The registers of the call that the focus is on.
pub fn registers(session: &Session, state: &dyn State, names: &str) -> String {
    let view = session.view(state);
    let wanted: Vec<&str> = names.split_whitespace().collect();
    let registers = view.registers();
    if registers.is_empty() {
        return "the function has no registers here\n".to_owned();
    }
    let chosen = |name: &str| {
        wanted.is_empty()
            || wanted.iter().any(|one| match one.strip_suffix('*') {
                Some(start) => name.starts_with(start),
                None => *one == name,
            })
    };
    let rows: Vec<Vec<String>> = registers
        .iter()
        .filter(|(register, _)| chosen(&register.name))
        .map(|(register, value)| {
            vec![register.name.clone(), format!(".{}", value.ty.name()), value.to_string()]
        })
        .collect();
    if rows.is_empty() { "there are no such registers here\n".to_owned() } else { columns(&rows) }
}

/// The variables that can be named.
pub fn variables(session: &Session, state: &dyn State) -> String {
    let view = session.view(state);
    let row = |(name, variable): &(&str, softwarp::debug::expression::Variable)| {
        let value = contents(&view, variable);
        let value = value.map_or_else(|why| format!("({why})"), |value| value.to_string());
        let count = variable.bytes / bytes_of(variable.ty).max(1);
        let size = if count == 1 { String::new() } else { format!("[{count}]") };
        let space = format!(".{} .{}{size}", variable.space.name(), variable.ty.name());
        vec![(*name).to_owned(), space, format!("{:#x}", variable.address), value]
    };
    let variables = view.variables();
    let text = columns(&variables.iter().map(row).collect::<Vec<_>>());
    if text.is_empty() { "there are no variables here\n".to_owned() } else { text }
}

/// The buffers of the launch file.
pub fn buffers(session: &Session) -> String {
    let row = |one: &softwarp::debug::view::Buffer| {
        let ty = one.ty.map_or(String::new(), |ty| format!(".{}", ty.name()));
        vec![one.name.clone(), format!("{:#x}", one.address), format!("{} bytes", one.bytes), ty]
    };
    columns(&session.program.buffers.iter().map(row).collect::<Vec<_>>())
}

/// The groups of lanes of each warp.
pub fn warps(sources: &[Source], session: &Session, state: &dyn State) -> String {
    let view = session.view(state);
    let row = |group: &softwarp::vm::debug::Group| {
        let key = softwarp::debug::code::InstructionKey {
            unit: view.unit(group.function),
            start: group.span.start,
        };
        let place = session.code().get(key).map_or(String::new(), |one| show::instruction(sources, one));
        let focus = group.warp == session.focus.warp && group.lanes >> session.focus.lane & 1 == 1;
        let mark = if focus { "*" } else { "" };
        vec![
            mark.to_owned(),
            format!("warp {}", group.warp),
            format!("lanes {}", show::lanes(group.lanes)),
            show::waits(group),
            place,
        ]
    };
    columns(&state.groups().iter().map(row).collect::<Vec<_>>())
}

/// The threads of the warp that the focus is on.
pub fn threads(sources: &[Source], session: &Session, state: &dyn State) -> String {
    let view = session.view(state);
    let mut rows = Vec::new();
    let groups = state.groups();
    for group in groups.iter().filter(|group| group.warp == session.focus.warp) {
        let key = softwarp::debug::code::InstructionKey {
            unit: view.unit(group.function),
            start: group.span.start,
        };
        let place = session.code().get(key).map_or(String::new(), |one| show::instruction(sources, one));
        for lane in (0..32).filter(|lane| group.lanes >> lane & 1 == 1) {
            let mark = if lane == session.focus.lane { "*" } else { "" };
            let thread = show::triple(show::thread_of(state, group.warp, lane));
            rows.push((
                lane,
                vec![mark.to_owned(), format!("lane {lane}"), thread, show::waits(group), place.clone()],
            ));
        }
    }
    rows.sort_by_key(|row| row.0);
    columns(&rows.into_iter().map(|row| row.1).collect::<Vec<_>>())
}

/// The barriers that threads wait at.
pub fn barriers(state: &dyn State) -> String {
    let row = |one: &softwarp::vm::debug::BarrierState| {
        let name = one.number.map_or("cluster".to_owned(), |number| format!("barrier {number}"));
        vec![name, format!("{} of {} threads have arrived", one.arrived, one.expected)]
    };
    let all = state.barriers();
    if all.is_empty() {
        return "no thread of the CTA waits at a barrier\n".to_owned();
    }
    columns(&all.iter().map(row).collect::<Vec<_>>())
}

/// The dimensions of the launch.
pub fn launch(state: &dyn State) -> String {
    let shape = state.shape();
    let name = softwarp::demangle::demangled(shape.kernel, false).unwrap_or_else(|| shape.kernel.to_owned());
    format!(
        "kernel {name}, grid {}, block {}, cluster {}, {} bytes of shared memory\n",
        show::triple(shape.grid),
        show::triple(shape.block),
        show::triple(shape.cluster),
        shape.shared_bytes
    )
}

/// The functions of the modules.
pub fn functions(session: &Session) -> String {
    session.code().functions.iter().map(|one| format!("{}\n", one.shown())).collect()
}

/// The breakpoints and watches.
pub fn breakpoints(sources: &[Source], session: &Session) -> String {
    let mut rows = Vec::new();
    for one in &session.breakpoints {
        let places = one.keys.iter().filter_map(|key| session.code().get(*key));
        let places: Vec<String> = places.map(|place| show::instruction(sources, place)).collect();
        let condition = one.condition.as_ref().map_or(String::new(), |text| format!("if {text}"));
        let state = if one.enabled { "" } else { "disabled" };
        let hits = format!("met {} times", one.hits);
        rows.push(vec![one.number.to_string(), places.join("; "), condition, hits, state.to_owned()]);
    }
    for one in &session.watches {
        rows.push(vec![one.number.to_string(), format!("watch {}", one.expression)]);
    }
    if rows.is_empty() { "there are no breakpoints\n".to_owned() } else { columns(&rows) }
}

/// A call, on one line.
pub fn backtrace_line(sources: &[Source], session: &Session, state: &dyn State, number: usize) -> String {
    let view = session.view(state);
    let calls = view.calls();
    let Some(call) = calls.get(number) else { return String::new() };
    let name = &*state.image().function(call.function).name;
    let name = softwarp::demangle::demangled(name, false).unwrap_or_else(|| name.to_owned());
    let place = view.instruction(call);
    let text = place.map_or(String::new(), |one| show::instruction(sources, one));
    let origin = place.and_then(|one| show::origin(sources, one));
    let origin = origin.map_or(String::new(), |origin| format!("\n    from {origin}"));
    format!("#{number}  {name}  {text}{origin}\n")
}

/// The calls of the thread.
pub fn backtrace(sources: &[Source], session: &Session, state: &dyn State) -> String {
    let calls = session.view(state).calls().len();
    (0..calls).map(|number| backtrace_line(sources, session, state, number)).collect()
}

/// Lines of the PTX, with marks for the present one and breakpoints.
pub fn list(
    sources: &[Source],
    session: &Session,
    here: &Instruction,
    lines: std::ops::Range<u32>,
) -> String {
    let Some(source) = sources.get(here.key.unit as usize) else { return String::new() };
    let last = source.position(source.text.len() as u32).line;
    let breaks = |line: u32| {
        let keys = session.breakpoints.iter().flat_map(|one| &one.keys);
        keys.filter_map(|key| session.code().get(*key))
            .any(|one| one.key.unit == here.key.unit && one.line == line)
    };
    let mut text = String::new();
    for line in lines.filter(|line| *line <= last) {
        let mark = match (line == here.line, breaks(line)) {
            (true, true) => "=>*",
            (true, false) => "=> ",
            (false, true) => "  *",
            (false, false) => "   ",
        };
        let content = source.line(line).text(&source.text).trim_end().replace('\t', "    ");
        text += format!("{mark} {line:>5}  {content}").trim_end();
        text.push('\n');
    }
    text
}
