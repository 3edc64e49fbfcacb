//! A launch that is stepped through, as answers.

use super::capture::{self, Access, Row, Stop};
use super::spec::element_bytes;
use super::stepping::{Stepped, Where};
use super::words;
use crate::request::{Answer, Failure, hex, pattern, shown};
use crate::text::range;
use serde_json::{Value as Json, json};
use softwarp::debug::expression::{Scope, Variable};
use softwarp::debug::session::Reason;
use softwarp::debug::value::Value;
use softwarp::ir::Memory;
use softwarp::isa::Type;
use softwarp::num::Format;
use softwarp::vm::debug::{Group, Waits};
use softwarp_listing::observe::{BANKS, WORD, conflicts, sectors};
use std::collections::{BTreeMap, BTreeSet};

/// The most findings that are told of a launch that is stopped.
const MOST_FINDINGS: usize = 50;
/// The most bytes of memory that are told at once.
const MOST_BYTES: u64 = 1 << 16;

fn reason(stop: &Stop) -> (&'static str, Option<u32>) {
    match &stop.reason {
        Reason::Start => ("start", None),
        Reason::Breakpoint(number) => ("breakpoint", Some(*number)),
        Reason::Watch(number, ..) => ("watch", Some(*number)),
        Reason::Step => ("step", None),
        Reason::Exited => ("exited", None),
        Reason::Interrupted => ("bound", None),
        Reason::Beginning => ("beginning", None),
        Reason::Fault(_) => ("fault", None),
    }
}

/// Where a launch is.
pub fn status(number: u32, stepped: &Stepped) -> Json {
    let mut status = json!({
        "launch": number, "state": "done", "moment": stepped.executed(), "reason": "end", "at": null,
        "access": null, "printed": stepped.printed(),
    });
    if let Some(machine) = stepped.machine().filter(|_| stepped.ready.sanitize.any()) {
        let findings = machine.device.findings();
        let told =
            findings.iter().take(MOST_FINDINGS).map(|one| words::finding(&stepped.ready, machine, one));
        status["findings"] = told.collect();
    }
    let told = |fault| stepped.machine().map(|machine| words::fault(&stepped.ready, machine, fault));
    match &stepped.at {
        Where::Done => {}
        Where::Failed(fault) => {
            status["state"] = "fault".into();
            status["reason"] = "fault".into();
            status["fault"] = told(fault).into();
        }
        Where::Stopped(stop) => {
            let (reason, breakpoint) = reason(stop);
            status["state"] = "stopped".into();
            status["reason"] = reason.into();
            if let Some(number) = breakpoint {
                status["breakpoint"] = number.into();
            }
            if let Reason::Fault(fault) = &stop.reason {
                status["state"] = "fault".into();
                status["fault"] = told(fault).into();
            } else if stepped.over_limit {
                status["state"] = "limit".into();
                status["reason"] = "limit".into();
            }
            status["at"] = place(stepped, stop);
            status["access"] = stop.access.as_ref().map(access).into();
        }
    }
    status
}

fn place(stepped: &Stepped, stop: &Stop) -> Json {
    let text = stop.span.text(&stepped.ready.source.text);
    json!({
        "line": stepped.line(stop.span.start), "range": range(&stepped.ready.positions, stop.span),
        "text": text.split_whitespace().collect::<Vec<_>>().join(" "), "function": stop.function,
        "cta": stop.focus.cta, "warp": stop.focus.warp, "lane": stop.focus.lane, "lanes": stop.lanes,
        "executing": stop.executing,
    })
}

fn access(access: &Access) -> Json {
    let lanes = || (0..).zip(&access.addresses).filter_map(|(lane, address)| Some((lane, (*address)?)));
    let words = |address: u64| {
        let past = address.saturating_add(access.bytes.max(1) - 1) / WORD;
        address / WORD..=past
    };
    let banks = (access.space == Memory::Shared).then(|| {
        let mut asked = vec![BTreeSet::new(); BANKS as usize];
        for word in lanes().flat_map(|(_, address)| words(address)) {
            asked[(word % BANKS) as usize].insert(word);
        }
        let of_lane = |address: &Option<u64>| -> Vec<u64> {
            address.map_or_else(Vec::new, |address| words(address).map(|word| word % BANKS).collect())
        };
        // Wide accesses are made by parts of the warp, one after the other.
        let passes = access.bytes.div_ceil(WORD).max(1);
        json!({
            "lanes": access.addresses.iter().map(of_lane).collect::<Vec<_>>(),
            "wavefronts": conflicts(lanes(), access.bytes) + passes,
            "ideal": passes,
            "words": asked.iter().map(BTreeSet::len).collect::<Vec<_>>(),
        })
    });
    let is_global = access.space == Memory::Global;
    json!({
        "kind": access.kind, "space": access.space.name(), "bytes": access.bytes,
        "addresses": access.addresses.iter().map(|one| one.map(|one| format!("0x{one:x}"))).collect::<Vec<_>>(),
        "banks": banks,
        "sectors": is_global.then(|| sectors(lanes(), access.bytes)),
        "name": access.name,
    })
}

/// The steps that were written down.
pub fn steps(stepped: &Stepped) -> Json {
    let step = |step: &super::drive::Step| {
        json!({
            "moment": step.moment - 1, "line": stepped.line(step.start), "cta": step.cta, "warp": step.warp,
            "lanes": step.lanes, "executing": step.executing,
        })
    };
    stepped.steps().iter().map(step).collect()
}

/// The warps of the CTA that runs.
pub fn warps(stepped: &Stepped) -> Json {
    let ctas = |current: Option<[u32; 3]>| {
        let row = |(cta, line): &([u32; 3], u32)| json!({"cta": cta, "line": line, "current": Some(*cta) == current});
        stepped.ctas().iter().map(row).collect::<Vec<_>>()
    };
    let Some(stop) = stepped.stop() else {
        return json!({"cta": [0, 0, 0], "warps": [], "barriers": [], "ctas": ctas(None)});
    };
    let group = |group: &Group| {
        let (waits, barrier) = match group.waits {
            Waits::Ready => ("ready", None),
            Waits::Barrier(number) => ("barrier", Some(number)),
            Waits::Cluster => ("cluster", None),
            Waits::Lanes(_) => ("lanes", None),
        };
        json!({
            "lanes": group.lanes, "line": stepped.line(group.span.start), "depth": group.depth, "waits": waits,
            "barrier": barrier, "current": group.current,
        })
    };
    let threads = stepped.ready.threads();
    let warp = |warp: u32| {
        let groups: Vec<&Group> = stop.groups.iter().filter(|group| group.warp == warp).collect();
        let lanes = (threads - u64::from(warp) * 32).min(32);
        let live = groups.iter().fold(0, |all, group| all | group.lanes);
        json!({
            "warp": warp, "lanes": ((1u64 << lanes) - 1) as u32, "live": live, "exited": live == 0,
            "groups": groups.into_iter().map(group).collect::<Vec<_>>(),
        })
    };
    let barrier = |one: &softwarp::vm::debug::BarrierState| json!({"number": one.number, "arrived": one.arrived, "expected": one.expected});
    json!({
        "cta": stop.focus.cta,
        "warps": (0..threads.div_ceil(32) as u32).map(warp).collect::<Vec<_>>(),
        "barriers": stop.barriers.iter().map(barrier).collect::<Vec<_>>(),
        "ctas": ctas(Some(stop.focus.cta)),
    })
}

/// The registers of a warp; of that in focus without one.
pub fn registers(stepped: &mut Stepped, warp: Option<u32>) -> Answer {
    let Some(stop) = stepped.stop() else { return Ok(json!({"warp": 0, "live": 0, "registers": []})) };
    let own = stop.focus.warp;
    let warp = warp.unwrap_or(own);
    let live = stop.groups.iter().filter(|group| group.warp == warp).fold(0, |all, group| all | group.lanes);
    let rows = match warp == own {
        true => stop.registers.clone(),
        false => stepped.look(|session, state| capture::registers(session, state, warp))?,
    };
    let before: &[Row] = if warp == own { stepped.before() } else { &[] };
    let row = |(index, row): (usize, &Row)| {
        let last = before.get(index).filter(|last| last.name == row.name);
        let last = last.or_else(|| before.iter().find(|last| last.name == row.name));
        let shown = row.lanes.iter().flatten().next().map_or(row.ty, |value| value.ty);
        json!({
            "name": row.name, "type": row.ty.name(), "shown": shown.name(),
            "bits": row.lanes.iter().map(|one| one.map(|one| one.hexadecimal())).collect::<Vec<_>>(),
            "text": row.lanes.iter().map(|one| one.map(|one| one.number())).collect::<Vec<_>>(),
            "changed": last.is_some_and(|last| bits(last) != bits(row)),
        })
    };
    Ok(json!({"warp": warp, "live": live, "registers": rows.iter().enumerate().map(row).collect::<Vec<_>>()}))
}

fn bits(row: &Row) -> Vec<Option<u128>> {
    row.lanes.iter().map(|one| one.map(|one: Value| one.bits)).collect()
}

/// Bytes of memory.
struct Part {
    space: Memory,
    address: u64,
    bytes: Vec<u8>,
    /// What they are, if a variable or buffer says it.
    ty: Option<Type>,
    names: Vec<Json>,
}

fn named(name: &str, offset: u64, bytes: u64, ty: Option<Type>) -> Json {
    json!({"name": name, "offset": offset, "bytes": bytes, "type": ty.map(Type::name)})
}

/// The format that a type is shown in.
fn format_of(ty: Option<Type>) -> Format {
    let same = ty.and_then(|ty| softwarp_report::names::find(ty.name()));
    same.unwrap_or(match ty.map_or(32, Type::bits) {
        8 => Format::U8,
        16 => Format::U16,
        64 => Format::U64,
        _ => Format::U32,
    })
}

/// Memory by its address or by a name.
pub fn memory(
    stepped: &mut Stepped,
    space: &str,
    address: Option<u64>,
    name: Option<&str>,
    bytes: Option<u64>,
    format: Option<Format>,
) -> Answer {
    let most = bytes.unwrap_or(MOST_BYTES).min(MOST_BYTES);
    let part = match (name, space) {
        (Some(name), _) => match buffer(stepped, name, address.unwrap_or(0), most) {
            Some(part) => part,
            None => variable(stepped, name, most)?,
        },
        (None, "shared") => shared(stepped, address, most)?,
        (None, "global") => {
            let address =
                address.ok_or_else(|| Failure::new("the request has no `address` and no `name`"))?;
            let wanted = bytes.unwrap_or(256).min(MOST_BYTES);
            let mut bytes = vec![0; wanted as usize];
            let machine = stepped.machine().ok_or_else(|| Failure::new("there is no machine"))?;
            machine.device.read(address, &mut bytes).map_err(|error| Failure::new(error.to_string()))?;
            Part { space: Memory::Global, address, bytes, ty: None, names: Vec::new() }
        }
        (None, "local" | "const" | "param") => {
            let memory = match space {
                "local" => Memory::Frame,
                "const" => Memory::Constant,
                _ => Memory::Kernel,
            };
            let (address, wanted) = (address.unwrap_or(0), bytes.unwrap_or(64).min(MOST_BYTES));
            let variable = Variable { space: memory, address, generic: None, ty: Type::B32, bytes: wanted };
            Part { ty: None, ..at(stepped, variable, wanted)? }
        }
        (None, other) => {
            let known = "shared, global, local, const and param";
            return Err(Failure::new(format!("there is no space `{}`; there are {known}", shown(other))));
        }
    };
    let format = format.unwrap_or_else(|| format_of(part.ty));
    let whole = part.bytes.len() / element_bytes(format) * element_bytes(format);
    Ok(json!({
        "space": part.space.name(), "address": pattern(64, part.address), "bytes": part.bytes.len(),
        "hex": hex(&part.bytes), "format": format.name(), "values": words::values(format, &part.bytes[..whole]),
        "names": part.names,
    }))
}

/// A part of a buffer, from an offset on.
fn buffer(stepped: &Stepped, name: &str, offset: u64, most: u64) -> Option<Part> {
    let machine = stepped.machine()?;
    let buffer = machine.buffers.iter().find(|one| one.name == name)?;
    let total = buffer.before.len() as u64;
    let offset = offset.min(total);
    let mut bytes = vec![0; (total - offset).min(most) as usize];
    let address = buffer.address + offset;
    machine.device.read(address, &mut bytes).ok()?;
    let ty = Type::from_name(buffer.format.name());
    Some(Part { space: Memory::Global, address, bytes, ty, names: vec![named(name, 0, total, ty)] })
}

/// A variable that the thread in focus can name.
fn variable(stepped: &mut Stepped, name: &str, most: u64) -> Result<Part, Failure> {
    let found = stepped.look(|session, state| session.view(state).variable(name))?;
    let missing = || Failure::new(format!("there is no variable or buffer `{}` here", shown(name)));
    let variable = found.ok_or_else(missing)?;
    let wanted = variable.bytes.min(most);
    let names = vec![named(name, 0, variable.bytes, Some(variable.ty))];
    Ok(Part { names, ..at(stepped, variable, wanted)? })
}

fn at(stepped: &mut Stepped, variable: Variable, bytes: u64) -> Result<Part, Failure> {
    let Variable { space, address, ty, .. } = variable;
    let read = stepped.look(|session, state| {
        let mut into = vec![0; bytes as usize];
        session.view(state).read(space, address, &mut into).map(|()| into).map_err(|error| error.0)
    })?;
    Ok(Part { space, address, bytes: read?, ty: Some(ty), names: Vec::new() })
}

/// Shared memory of the CTA.
fn shared(stepped: &Stepped, address: Option<u64>, most: u64) -> Result<Part, Failure> {
    let ended = || Failure::new("the launch has ended: there is no .shared memory");
    let stop = stepped.stop().ok_or_else(ended)?;
    let (first, all) = (stop.shared.0, &stop.shared.1);
    let from = address.unwrap_or(first).saturating_sub(first).min(all.len() as u64);
    let past = (from + most).min(all.len() as u64);
    let inside = stop
        .variables
        .iter()
        .filter(|one| one.address < first + past && one.address + one.bytes > first + from);
    let names =
        inside.map(|one| named(&one.name, one.address.saturating_sub(first + from), one.bytes, Some(one.ty)));
    Ok(Part {
        space: Memory::Shared,
        address: first + from,
        bytes: all[from as usize..past as usize].to_vec(),
        ty: stop.variables.first().map(|one| one.ty),
        names: names.collect(),
    })
}

/// What was executed up to here, by line.
pub fn stats(stepped: &Stepped, executed: &BTreeMap<u32, (u64, u64)>) -> Json {
    let mut lines: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
    for (start, (warp, thread)) in executed {
        let line = lines.entry(stepped.line(*start)).or_default();
        *line = (line.0 + warp, line.1 + thread);
    }
    let rows: Vec<Json> = lines
        .iter()
        .map(|(line, (warp, thread))| json!({"line": line, "warp": warp, "thread": thread}))
        .collect();
    json!({
        "warpInstructions": lines.values().map(|(warp, _)| warp).sum::<u64>(),
        "threadInstructions": lines.values().map(|(_, thread)| thread).sum::<u64>(),
        "ctas": stepped.ctas().len(),
        "lines": rows,
    })
}
