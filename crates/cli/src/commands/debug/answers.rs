//! Answers to the requests of an editor that do not let the launch run.

use super::show;
use serde_json::{Value as Json, json};
use softwarp::debug::code::{Instruction, InstructionKey};
use softwarp::debug::expression::{Scope, contents};
use softwarp::debug::session::Session;
use softwarp::debug::view::{Focus, View};
use softwarp::ir::Memory;
use softwarp::source::Source;
use softwarp::vm::debug::State;
use std::path::Path;

/// The most calls of a thread.
const MOST_CALLS: u64 = 1 << 12;

/// The most bytes of memory that are read at once.
const MOST_BYTES: u64 = 1 << 16;

/// The most instructions that are listed at once.
const MOST_INSTRUCTIONS: u64 = 4096;

/// The number that the protocol has for a thread.
pub fn thread_id(focus: Focus) -> u64 {
    u64::from(focus.warp) * 32 + u64::from(focus.lane) + 1
}

/// Looks at the thread with a number.
pub fn focus_on(session: &mut Session, state: &dyn State, id: u64) {
    let index = id.saturating_sub(1);
    let (warp, lane) = ((index / 32) as u32, (index % 32) as u32);
    session.focus = Focus { cta: state.at().cta, warp, lane, call: 0 };
}

/// The kinds of variables of a call, as the protocol numbers them.
#[derive(Clone, Copy)]
enum Kind {
    Registers,
    Variables,
    Special,
}

const KINDS: [(Kind, &str); 3] =
    [(Kind::Registers, "Registers"), (Kind::Variables, "Variables"), (Kind::Special, "Special registers")];

/// The special registers that are listed.
const SPECIAL: [&str; 16] = [
    "%tid.x",
    "%tid.y",
    "%tid.z",
    "%ntid.x",
    "%ntid.y",
    "%ntid.z",
    "%ctaid.x",
    "%ctaid.y",
    "%ctaid.z",
    "%nctaid.x",
    "%nctaid.y",
    "%nctaid.z",
    "%laneid",
    "%warpid",
    "%cluster_ctarank",
    "%smid",
];

/// Answers a request, or says why not.
pub fn answer(
    sources: &[Source],
    session: &mut Session,
    state: Option<&dyn State>,
    request: &Json,
) -> Result<Json, String> {
    let arguments = &request["arguments"];
    let name = request["command"].as_str().unwrap_or_default();
    match name {
        "configurationDone" | "pause" | "setExceptionBreakpoints" => return Ok(json!({})),
        "initialize" => return Err("the session has begun".to_owned()),
        "setBreakpoints" => return Ok(set_breakpoints(session, arguments)),
        "setFunctionBreakpoints" => return Ok(set_function_breakpoints(session, arguments)),
        "source" => return source(sources, arguments),
        "loadedSources" => {
            let all: Vec<Json> = (0..).zip(sources).map(|(unit, one)| ptx(unit, one)).collect();
            return Ok(json!({"sources": all}));
        }
        "threads" if state.is_none() => return Ok(json!({"threads": [{"id": 1, "name": "the launch"}]})),
        _ => {}
    }
    let state = state.ok_or_else(|| format!("`{name}`: the launch does not run"))?;
    match name {
        "threads" => Ok(threads(session, state)),
        "stackTrace" => Ok(stack(sources, session, state, arguments)),
        "scopes" => {
            let frame = arguments["frameId"].as_u64().unwrap_or(0);
            let scope = |(index, (_, name)): (u64, &(Kind, &str))| {
                let many = matches!(index, 1 | 2);
                json!({"name": name, "variablesReference": frame * 4 + index + 1, "expensive": many})
            };
            Ok(json!({"scopes": (0..).zip(&KINDS).map(scope).collect::<Vec<_>>()}))
        }
        "variables" => Ok(variables(session, state, arguments)),
        "evaluate" => {
            let view = framed(session, state, arguments["frameId"].as_u64());
            let text = arguments["expression"].as_str().unwrap_or_default();
            let value = view.evaluate(text).map_err(|why| why.to_string())?;
            Ok(json!({"result": value.to_string(), "variablesReference": 0}))
        }
        "readMemory" => read_memory(session, state, arguments),
        "disassemble" => disassemble(sources, session, arguments),
        "exceptionInfo" => Ok(json!({"exceptionId": "fault", "breakMode": "always"})),
        _ => Err(format!("`{name}` is not supported")),
    }
}

/// A PTX file.
fn ptx(unit: u32, source: &Source) -> Json {
    let path = Path::new(&source.name);
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or(&source.name);
    match std::fs::canonicalize(path) {
        Ok(path) if path.extension().is_some_and(|end| end == "ptx") => {
            json!({"name": name, "path": path.to_string_lossy()})
        }
        _ => json!({"name": format!("{name} (PTX)"), "sourceReference": unit + 1}),
    }
}

/// The file and line of an instruction: of the program that the PTX was made from if its file is there, else of the PTX.
fn place(sources: &[Source], instruction: &Instruction) -> (Json, u32) {
    let unit = instruction.key.unit;
    let Some(source) = sources.get(unit as usize) else { return (Json::Null, 0) };
    let folder = Path::new(&source.name).parent().unwrap_or(Path::new(""));
    let found = instruction.source.as_ref().and_then(|line| {
        let name = Path::new(&*line.file);
        let path = [name.to_owned(), folder.join(name)].into_iter().find(|path| path.is_file())?;
        Some((std::fs::canonicalize(path).ok()?, line.line))
    });
    match found {
        Some((path, line)) => {
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            (json!({"name": name, "path": path.to_string_lossy()}), line)
        }
        None => (ptx(unit, source), instruction.line),
    }
}

/// The text of a file that the editor cannot open itself.
fn source(sources: &[Source], arguments: &Json) -> Result<Json, String> {
    let reference = arguments["source"]["sourceReference"].as_u64().or(arguments["sourceReference"].as_u64());
    let unit =
        reference.and_then(|number| usize::try_from(number).ok()).and_then(|number| number.checked_sub(1));
    let source = unit.and_then(|unit| sources.get(unit)).ok_or("there is no such source")?;
    Ok(json!({"content": source.text, "mimeType": "text/x-ptx"}))
}

/// Sets the breakpoints of a file in place of those that it had.
fn set_breakpoints(session: &mut Session, arguments: &Json) -> Json {
    let source = &arguments["source"];
    let file = source["path"].as_str().or(source["name"].as_str()).unwrap_or_default().to_owned();
    let unit = source["sourceReference"].as_u64().filter(|number| *number > 0);
    let prefix = format!("{file}\u{0}");
    session.delete_if(|one| one.place.starts_with(&prefix));
    let mut told = Vec::new();
    for wanted in arguments["breakpoints"].as_array().into_iter().flatten() {
        let line = wanted["line"].as_u64().and_then(|line| u32::try_from(line).ok()).unwrap_or(0);
        let found = match unit {
            Some(_) => session.code().find(&line.to_string(), None),
            None => find_in_file(session, &file, line),
        };
        told.push(match found {
            Err(why) => json!({"verified": false, "message": why.to_string()}),
            Ok(keys) => {
                let first = keys.first().and_then(|key| session.code().get(*key));
                let is_ptx = |one: &Instruction| same_file(session.code().file(one.key.unit), &file);
                let line = first.map(|one| match &one.source {
                    Some(source) if !is_ptx(one) => source.line,
                    _ => one.line,
                });
                let breakpoint = session.add_breakpoint(&format!("{prefix}{}", line.unwrap_or(0)), keys);
                let text =
                    |key: &str| wanted[key].as_str().filter(|text| !text.is_empty()).map(str::to_owned);
                breakpoint.condition = text("condition");
                breakpoint.message = text("logMessage");
                let hits = text("hitCondition").and_then(|hits| hits.trim().parse::<u64>().ok());
                breakpoint.ignore = hits.map_or(0, |hits| hits.saturating_sub(1));
                json!({"id": breakpoint.number, "verified": true, "line": line})
            }
        });
    }
    json!({"breakpoints": told})
}

fn same_file(one: &str, other: &str) -> bool {
    let whole = |path: &str| std::fs::canonicalize(path).unwrap_or_else(|_| path.into());
    whole(one) == whole(other)
}

/// The instructions of a line. The PTX may name a file by a shorter path than the editor.
fn find_in_file(
    session: &Session,
    file: &str,
    line: u32,
) -> Result<Vec<InstructionKey>, softwarp::debug::code::NoPlace> {
    let code = session.code();
    let known = code.instructions().iter().filter_map(|one| one.source.as_ref()).map(|one| &*one.file);
    let ptx = code.instructions().iter().map(|one| code.file(one.key.unit));
    let known = known.chain(ptx).find(|name| same_file(name, file) || Path::new(file).ends_with(name));
    let name = Path::new(file).file_name().and_then(|name| name.to_str()).unwrap_or(file);
    code.file_line(known.unwrap_or(name), line)
}

fn set_function_breakpoints(session: &mut Session, arguments: &Json) -> Json {
    session.delete_if(|one| one.place.starts_with("function\u{0}"));
    let mut told = Vec::new();
    for wanted in arguments["breakpoints"].as_array().into_iter().flatten() {
        let name = wanted["name"].as_str().unwrap_or_default();
        told.push(match session.code().find(name, None) {
            Err(why) => json!({"verified": false, "message": why.to_string()}),
            Ok(keys) => {
                let breakpoint = session.add_breakpoint(&format!("function\u{0}{name}"), keys);
                breakpoint.condition = wanted["condition"].as_str().map(str::to_owned);
                json!({"id": breakpoint.number, "verified": true})
            }
        });
    }
    json!({"breakpoints": told})
}

fn threads(session: &Session, state: &dyn State) -> Json {
    let cta = show::triple(state.at().cta);
    let thread = |group: &softwarp::vm::debug::Group| {
        let focus = session.focus;
        let mine = group.warp == focus.warp && group.lanes >> focus.lane & 1 == 1;
        let lane = if mine { focus.lane } else { group.lanes.trailing_zeros() };
        let waits = show::waits(group);
        let name = format!("CTA {cta} warp {} lanes {} ({waits})", group.warp, show::lanes(group.lanes));
        json!({"id": thread_id(Focus { warp: group.warp, lane, ..focus }), "name": name})
    };
    json!({"threads": state.groups().iter().map(thread).collect::<Vec<_>>()})
}

/// An instruction's address, as the protocol has it.
fn address(key: InstructionKey) -> String {
    format!("{:#x}", u64::from(key.unit) << 32 | u64::from(key.start))
}

fn stack(sources: &[Source], session: &Session, state: &dyn State, arguments: &Json) -> Json {
    let id = arguments["threadId"].as_u64().unwrap_or(1).saturating_sub(1);
    let focus = Focus { warp: (id / 32) as u32, lane: (id % 32) as u32, call: 0, ..session.focus };
    let view = View { focus, ..session.view(state) };
    let calls = view.calls();
    let frame = |(number, call): (u64, &softwarp::vm::debug::Call)| {
        let name = &*state.image().function(call.function).name;
        let name = softwarp::demangle::demangled(name, false).unwrap_or_else(|| name.to_owned());
        let mut frame = json!({"id": id * MOST_CALLS + number, "name": name, "line": 0, "column": 1});
        if let Some(instruction) = view.instruction(call) {
            let (source, line) = place(sources, instruction);
            frame["source"] = source;
            frame["line"] = line.into();
            frame["instructionPointerReference"] = address(instruction.key).into();
        }
        frame
    };
    let first = arguments["startFrame"].as_u64().unwrap_or(0) as usize;
    let levels = arguments["levels"].as_u64().filter(|levels| *levels > 0).unwrap_or(MOST_CALLS) as usize;
    let frames: Vec<Json> = (0..).zip(&calls).skip(first).take(levels).map(frame).collect();
    json!({"stackFrames": frames, "totalFrames": calls.len()})
}

/// The view of a frame.
fn framed<'a>(session: &'a Session, state: &'a dyn State, frame: Option<u64>) -> View<'a> {
    let mut view = session.view(state);
    if let Some(frame) = frame {
        let id = frame / MOST_CALLS;
        view.focus.warp = (id / 32) as u32;
        view.focus.lane = (id % 32) as u32;
        view.focus.call = (frame % MOST_CALLS) as usize;
    }
    view
}

fn variables(session: &Session, state: &dyn State, arguments: &Json) -> Json {
    let reference = arguments["variablesReference"].as_u64().unwrap_or(1).saturating_sub(1);
    let view = framed(session, state, Some(reference / 4));
    let kind = KINDS.get((reference % 4) as usize).map_or(Kind::Registers, |one| one.0);
    let row = |name: &str, value: String, ty: &str| json!({"name": name, "value": value, "type": ty, "variablesReference": 0, "evaluateName": name});
    let rows: Vec<Json> = match kind {
        Kind::Registers => {
            let all = view.registers();
            all.iter().map(|(one, value)| row(&one.name, value.to_string(), value.ty.name())).collect()
        }
        Kind::Variables => {
            let one = |(name, variable): &(&str, softwarp::debug::expression::Variable)| {
                let value = contents(&view, variable);
                let value = value.map_or_else(|why| why.to_string(), |value| value.to_string());
                let mut row = row(name, value, variable.ty.name());
                if let Some(generic) = variable.generic {
                    row["memoryReference"] = format!("{generic:#x}").into();
                }
                row
            };
            let buffers = session.program.buffers.iter();
            let buffers = buffers.filter_map(|one| Some((one.name.as_str(), view.variable(&one.name)?)));
            let is_buffer = |name: &str| session.program.buffers.iter().any(|one| one.name == name);
            let mut all = view.variables();
            // A parameter that points to a buffer of the same name is less interesting than the buffer.
            all.retain(|(name, one)| one.space != Memory::Kernel || !is_buffer(name));
            all.extend(buffers);
            all.iter().map(one).collect()
        }
        Kind::Special => {
            let named = SPECIAL.iter().filter_map(|name| Some((name, view.evaluate(name).ok()?)));
            named.map(|(name, value)| row(name, value.to_string(), "u32")).collect()
        }
    };
    json!({"variables": rows})
}

fn read_memory(session: &Session, state: &dyn State, arguments: &Json) -> Result<Json, String> {
    use base64::Engine;
    let text = arguments["memoryReference"].as_str().unwrap_or_default();
    let start = text.strip_prefix("0x").and_then(|digits| u64::from_str_radix(digits, 16).ok());
    let start = start.ok_or_else(|| format!("`{text}` is no address"))?;
    let start = start.wrapping_add_signed(arguments["offset"].as_i64().unwrap_or(0));
    let count = arguments["count"].as_u64().unwrap_or(0).min(MOST_BYTES);
    let view = session.view(state);
    let mut bytes = Vec::new();
    for at in 0..count {
        let mut byte = [0];
        if view.read(Memory::Generic, start.wrapping_add(at), &mut byte).is_err() {
            break;
        }
        bytes.push(byte[0]);
    }
    let missing = count - bytes.len() as u64;
    let data = base64::engine::general_purpose::STANDARD.encode(&bytes);
    Ok(json!({"address": format!("{start:#x}"), "data": data, "unreadableBytes": missing}))
}

fn disassemble(sources: &[Source], session: &Session, arguments: &Json) -> Result<Json, String> {
    let text = arguments["memoryReference"].as_str().unwrap_or_default();
    let number = text.strip_prefix("0x").and_then(|digits| u64::from_str_radix(digits, 16).ok());
    let number = number.ok_or_else(|| format!("`{text}` is no address"))?;
    let all = session.code().instructions();
    let key = InstructionKey { unit: (number >> 32) as u32, start: number as u32 };
    let at = all.partition_point(|one| one.key < key) as i64;
    let first = at + arguments["instructionOffset"].as_i64().unwrap_or(0);
    let count = arguments["instructionCount"].as_u64().unwrap_or(1).min(MOST_INSTRUCTIONS) as i64;
    let row = |index: i64| match usize::try_from(index).ok().and_then(|index| all.get(index)) {
        Some(one) => {
            let (source, line) = place(sources, one);
            let text = show::text(sources, one);
            json!({"address": address(one.key), "instruction": text, "location": source, "line": line})
        }
        None => json!({"address": "0x0", "instruction": "", "presentationHint": "invalid"}),
    };
    Ok(json!({"instructions": (first..first.saturating_add(count)).map(row).collect::<Vec<_>>()}))
}
