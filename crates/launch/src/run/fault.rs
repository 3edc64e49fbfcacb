//! What stopped a launch, for people and for programs.

use super::{Run, origin};
use crate::render::Event;
use serde_json::{Map, Value as Json, json};
use softwarp::diagnostic::Location;
use softwarp::isa::Class;
use softwarp::registers::{self, Register};
use softwarp::source::Source;
use softwarp::vm::device::ModuleId;
use softwarp::vm::fault::{
    AwaitedMbarrier, BadAccess, BadTexture, Fault, FaultKind, Nearest, Place, Problem, Relative, Use,
    Waiting, What, space_name,
};
use std::collections::{BTreeMap, BTreeSet};

impl Run {
    /// The name of the buffer that begins at an address.
    pub(super) fn buffer_at(&self, address: u64) -> Option<&str> {
        self.buffers.iter().find(|buffer| buffer.address == address).map(|buffer| buffer.name.as_str())
    }

    /// What happened, with buffers by their names.
    fn words(&self, kind: &FaultKind) -> String {
        let mut kind = kind.clone();
        if let FaultKind::Access(bad) = &mut kind
            && let Some(nearest) = &mut bad.nearest
            && nearest.what == What::Allocation
            && let Some(name) = self.buffer_at(nearest.base)
        {
            nearest.what = What::Variable(name.to_owned());
        }
        kind.to_string()
    }
}

/// What stopped a launch, for people.
pub fn event(run: &mut Run, sources: &[Source], fault: &Fault) -> Event {
    let mut event = Event { message: run.words(&fault.kind), ..Event::default() };
    let kernel = &fault.kernel;
    match &fault.place {
        None => event.message += &format!(", in kernel `{kernel}`"),
        Some(place) => {
            event.places.push((Location { unit: place.unit, span: place.span }, None));
            event.notes.push(thread(place));
            event.notes.push(match &place.function_name {
                name if name == kernel => format!("in kernel `{kernel}`"),
                name => format!("in function `{name}`, called from kernel `{kernel}`"),
            });
            let held: Vec<String> = registers(run, fault).iter().map(Register::to_string).collect();
            if !held.is_empty() {
                event.notes.push(format!("registers of this thread: {}", held.join(", ")));
            }
            event.notes.extend(origin::notes(run, sources, "", place));
        }
    }
    let (places, warps) = running(fault);
    for (place, count) in &places {
        let at = Location { unit: place.unit, span: place.span };
        event.places.push((at, Some(format!("{count} of {warps} warps were here"))));
    }
    if let FaultKind::Deadlock(waiting) = &fault.kind {
        for Waiting { place, barrier, mbarrier, arrived, expected } in waiting {
            let at = Location { unit: place.unit, span: place.span };
            if event.places.iter().all(|(location, _)| *location != at) {
                let what =
                    barrier.map_or("the cluster's barrier".to_owned(), |number| format!("barrier {number}"));
                let reason = match mbarrier {
                    Some(mbarrier) => format!("others wait for {mbarrier}"),
                    None => format!("others wait at {what}, which has {arrived} of {expected} threads"),
                };
                event.places.push((at, Some(reason)));
            }
        }
    }
    event
}

/// The registers that the instruction of a fault reads, as far as their values are sure.
fn registers(run: &Run, fault: &Fault) -> Vec<Register> {
    let Some(place) = &fault.place else { return Vec::new() };
    let Ok(module) = run.device().module(ModuleId::default()) else { return Vec::new() };
    let unit = module.units.get(place.unit as usize);
    unit.map_or_else(Vec::new, |unit| registers::named(unit, place.span, &fault.registers))
}

fn register_json(register: &Register) -> Json {
    // Infinities and NaN, which JSON lacks, are strings.
    let is_float = register.ty.is_some_and(|ty| ty.class() == Class::Float);
    let number = register.number().map(|text| match (is_float, text.parse::<f64>()) {
        (true, Ok(number)) if number.is_finite() => number.into(),
        (true, _) => Json::from(text),
        (false, _) => serde_json::from_str(&text).unwrap_or(Json::from(text)),
    });
    json!({
        "name": register.name,
        "operand": if register.is_address { "address" } else { "data" },
        "type": register.ty.map_or_else(|| format!("b{}", register.bits), |ty| ty.name().to_owned()),
        "bits": match register.is_address {
            true => format!("0x{:x}", register.value),
            false => format!("0x{:0digits$x}", register.value, digits = usize::from(register.bits).div_ceil(4)),
        },
        "value": number,
    })
}

/// How many places of warps are told.
const PLACES: usize = 3;

/// Where most warps were when a launch was stopped, with how many, and how many there were in all.
fn running(fault: &Fault) -> (Vec<(&Place, usize)>, usize) {
    type Warps = BTreeSet<([u32; 3], u32)>;
    let mut places: BTreeMap<(u32, u32), (&Place, Warps)> = BTreeMap::new();
    for place in &fault.running {
        let (_, warps) = places.entry((place.unit, place.span.start)).or_insert((place, Warps::new()));
        warps.insert((place.cta, place.warp));
    }
    let all: Warps = fault.running.iter().map(|place| (place.cta, place.warp)).collect();
    let mut places: Vec<(&Place, usize)> =
        places.into_values().map(|(place, warps)| (place, warps.len())).collect();
    places.sort_by_key(|(_, warps)| std::cmp::Reverse(*warps));
    places.truncate(PLACES);
    (places, all.len())
}

/// `thread (63,0,0) of CTA (0,0,0), in warp 1 with 1 active lane`
pub(super) fn thread(place: &Place) -> String {
    let ([cx, cy, cz], [x, y, z]) = (place.cta, place.thread);
    let count = place.lanes.count_ones();
    let lanes = if count == 1 { "lane" } else { "lanes" };
    format!(
        "thread ({x},{y},{z}) of CTA ({cx},{cy},{cz}), in warp {} with {count} active {lanes}",
        place.warp
    )
}

/// What stopped a launch, for programs.
pub fn json(run: &mut Run, sources: &[Source], fault: &Fault) -> Json {
    let mut map = Map::new();
    let mut put = |key: &str, value: Json| map.insert(key.to_owned(), value);
    put("kind", kind(&fault.kind).into());
    put("message", run.words(&fault.kind).into());
    put("kernel", fault.kernel.clone().into());
    if let Some(at) = &fault.place {
        map.extend(place(run, sources, at));
    }
    let (places, _) = running(fault);
    let row = |(at, warps): &(&Place, usize)| {
        let mut row = place(run, sources, at);
        row.retain(|key, _| !["cta", "thread", "warp", "lanes"].contains(&key.as_str()));
        row.insert("warps".to_owned(), (*warps).into());
        Json::Object(row)
    };
    let list: Vec<Json> = places.iter().map(row).collect();
    let mut put = |key: &str, value: Json| map.insert(key.to_owned(), value);
    if !list.is_empty() {
        put("running", list.into());
    }
    match &fault.kind {
        FaultKind::Access(bad) => {
            put("access", access(run, bad));
            put("registers", registers(run, fault).iter().map(register_json).collect());
        }
        FaultKind::Assert { message, file, line, function } => {
            put("assertion", json!({"message": message, "file": file, "line": line, "function": function}));
        }
        FaultKind::Deadlock(waiting) => {
            let one = |one: &Waiting| {
                json!({
                    "barrier": one.barrier, "mbarrier": one.mbarrier.as_ref().map(|it| mbarrier(run, it)),
                    "arrived": one.arrived, "expected": one.expected,
                    "cta": one.place.cta, "thread": one.place.thread, "warp": one.place.warp,
                    "lanes": format!("0x{:08x}", one.place.lanes),
                })
            };
            put("waiting", waiting.iter().map(one).collect());
        }
        _ => {}
    }
    Json::Object(map)
}

fn mbarrier(run: &Run, mbarrier: &AwaitedMbarrier) -> Json {
    json!({
        "address": format!("0x{:x}", mbarrier.address), "initialised": mbarrier.initialised,
        "parity": mbarrier.parity, "pending": mbarrier.pending, "bytes": mbarrier.bytes,
        "nearest": mbarrier.nearest.as_ref().map(|nearest| near(run, nearest)),
    })
}

/// Where something happened, for programs.
pub(super) fn place(run: &Run, sources: &[Source], place: &Place) -> Map<String, Json> {
    let mut map = Map::new();
    let mut put = |key: &str, value: Json| map.insert(key.to_owned(), value);
    let at = sources.get(place.unit as usize).map(|source| (source, source.position(place.span.start)));
    put("function", place.function_name.clone().into());
    if let Some((source, position)) = at {
        put("file", source.name.clone().into());
        put("line", position.line.into());
        put("column", position.column.into());
        let text: String = place.span.text(&source.text).split_whitespace().collect::<Vec<_>>().join(" ");
        put("instruction", text.into());
    }
    put("cta", json!(place.cta));
    put("thread", json!(place.thread));
    put("warp", place.warp.into());
    put("lanes", format!("0x{:08x}", place.lanes).into());
    map.extend(origin::json(run, sources, place));
    map
}

/// A word for each kind.
pub fn kind(kind: &FaultKind) -> &'static str {
    match kind {
        FaultKind::Access(bad) => match bad.problem {
            Problem::OutOfBounds => "out_of_bounds",
            Problem::Misaligned => "misaligned",
            Problem::ReadOnly => "read_only",
            Problem::Freed | Problem::Unloaded => "use_after_free",
            Problem::WrongSpace => "wrong_space",
            Problem::Multicast => "multicast",
            Problem::NotMulticast => "not_multicast",
            Problem::OtherCta => "other_cta",
            Problem::NoCta => "no_cta",
            Problem::Ended => "ended_cta",
        },
        FaultKind::Trap => "trap",
        FaultKind::Breakpoint => "breakpoint",
        FaultKind::Assert { .. } => "assert",
        FaultKind::Deadlock(_) => "deadlock",
        FaultKind::NoBarrier(_) => "no_barrier",
        FaultKind::BarrierCount(_) => "barrier_count",
        FaultKind::ArrivesTwice => "cluster_barrier_arrives_twice",
        FaultKind::Mbarrier { .. } => "mbarrier",
        FaultKind::Copy { .. } => "copy",
        FaultKind::TensorCore(_) => "tensor_core",
        FaultKind::StackOverflow => "stack_overflow",
        FaultKind::NoFunction(_) => "no_function",
        FaultKind::NoTarget { .. } => "no_target",
        FaultKind::BadFree(_) => "bad_free",
        FaultKind::Texture(bad) => match **bad {
            BadTexture::Unbound { .. } | BadTexture::NoAnswer { .. } => "texture_unbound",
            BadTexture::NoHandle { .. } => "texture_handle",
            BadTexture::Kind { .. } | BadTexture::Geometry { .. } => "texture_kind",
            BadTexture::OutOfRange { .. } => "surface_out_of_range",
            BadTexture::Misaligned { .. } => "surface_misaligned",
            BadTexture::Freed { .. } => "use_after_free",
        },
        FaultKind::OutOfMemory { .. } => "out_of_memory",
        FaultKind::StepLimit => "step_limit",
        FaultKind::TimeLimit => "time_limit",
        FaultKind::Cancelled => "cancelled",
    }
}

/// A word for each use of memory.
pub(super) fn usage(usage: Use) -> &'static str {
    match usage {
        Use::Read => "read",
        Use::Write => "write",
        Use::Atomic => "atomic",
    }
}

fn access(run: &Run, bad: &BadAccess) -> Json {
    json!({
        "use": usage(bad.usage),
        "space": space_name(bad.space).trim_start_matches('.'),
        "address": format!("0x{:x}", bad.address),
        "generic": bad.generic.map(|address| format!("0x{address:x}")),
        "bytes": bad.bytes,
        "nearest": bad.nearest.as_ref().map(|nearest| near(run, nearest)),
    })
}

pub(super) fn near(run: &Run, nearest: &Nearest) -> Json {
    let (what, name) = match &nearest.what {
        What::Variable(name) => ("variable", Some(name.as_str())),
        What::Allocation => ("buffer", run.buffer_at(nearest.base)),
        What::Heap => ("heap", None),
        What::Shared => ("shared", None),
        What::Stack => ("stack", None),
        What::Parameters => ("parameters", None),
    };
    let (side, distance) = match nearest.at {
        Relative::Before(bytes) => ("before", bytes),
        Relative::Inside(bytes) => ("inside", bytes),
        Relative::After(bytes) => ("after", bytes),
    };
    json!({
        "what": what, "name": name, "base": format!("0x{:x}", nearest.base), "bytes": nearest.bytes,
        "side": side, "distance": distance, "freed": nearest.freed,
    })
}

/// Whether a launch was stopped for reasons outside the kernel: what it did so far is as it should be.
pub fn was_cut_short(fault: &Fault) -> bool {
    fault.kind.is_limit()
}
