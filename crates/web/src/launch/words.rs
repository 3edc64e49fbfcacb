//! What stopped a launch, and what the sanitizers found, with the places in the text.

use super::spec::{Machine, Ready};
use crate::request::{Failure, hex, pattern};
use crate::text::range;
use serde_json::{Value as Json, json};
use softwarp::literal::display;
use softwarp::num::Format;
use softwarp::registers;
use softwarp::vm::device::LaunchError;
use softwarp::vm::fault::{Fault, FaultKind, Nearest, Place, What};
use softwarp::vm::sanitize::Finding;

/// The most elements of a buffer that are told.
const MOST_VALUES: usize = 1 << 16;

/// Puts the name of a buffer in place of "an allocation".
fn name(machine: &Machine, nearest: &mut Option<Nearest>) {
    if let Some(nearest) = nearest
        && nearest.what == What::Allocation
        && let Some(buffer) = machine.buffers.iter().find(|one| one.address == nearest.base)
    {
        nearest.what = What::Variable(buffer.name.clone());
    }
}

fn thread(place: &Place) -> Json {
    json!({"cta": place.cta, "thread": place.thread, "warp": place.warp, "lanes": place.lanes})
}

/// What stopped a launch.
pub fn fault(ready: &Ready, machine: &Machine, fault: &Fault) -> Json {
    let mut kind = fault.kind.clone();
    if let FaultKind::Access(bad) = &mut kind {
        name(machine, &mut bad.nearest);
    }
    let mut notes = Vec::new();
    if let Some(place) = &fault.place {
        let ([cx, cy, cz], [x, y, z]) = (place.cta, place.thread);
        notes.push(format!("thread ({x},{y},{z}) of CTA ({cx},{cy},{cz}), in warp {}", place.warp));
        if let Ok(module) = machine.device.module(Default::default())
            && let Some(unit) = module.units.get(place.unit as usize)
        {
            notes
                .extend(registers::named(unit, place.span, &fault.registers).iter().map(ToString::to_string));
        }
    }
    json!({
        "message": kind.to_string(),
        "range": fault.place.as_ref().map(|place| range(&ready.positions, place.span)),
        "thread": fault.place.as_ref().map(thread),
        "notes": notes,
    })
}

/// What a sanitizer found.
pub fn finding(ready: &Ready, machine: &Machine, found: &Finding) -> Json {
    let mut found = found.clone();
    if let Some(touched) = &mut found.touched {
        name(machine, &mut touched.nearest);
    }
    let is_race = found.kind.sanitizer() == "race";
    let message = if is_race { "the earlier access" } else { "the other place" };
    let related = found
        .other
        .iter()
        .map(|other| json!({"range": range(&ready.positions, other.place.span), "message": message}));
    json!({
        "sanitizer": found.kind.sanitizer(),
        "kind": found.kind.word(),
        "message": found.to_string(),
        "range": range(&ready.positions, found.at.place.span),
        "related": related.collect::<Vec<_>>(),
        "thread": thread(&found.at.place),
        "other": found.other.as_ref().map(|other| thread(&other.place)),
        "count": found.count,
        "notes": [],
    })
}

/// Why a launch did not begin.
pub fn refusal(ready: &Ready, error: &LaunchError) -> Failure {
    let failure = Failure::new(error.to_string());
    match error {
        LaunchError::Unsupported(list) => {
            let one = |one: &softwarp::lower::Unsupported| json!({"range": range(&ready.positions, one.span), "message": one.what});
            failure.with("unsupported", list.iter().map(one).collect())
        }
        _ => failure,
    }
}

/// Bytes as numbers of a format.
pub fn values(format: Format, bytes: &[u8]) -> Vec<String> {
    let size = super::spec::element_bytes(format);
    let code = |bytes: &[u8]| bytes.iter().rev().fold(0, |code, byte| code << 8 | u64::from(*byte));
    bytes
        .chunks_exact(size)
        .take(MOST_VALUES)
        .map(|bytes| display(format, code(bytes) & format.mask()))
        .collect()
}

/// The buffers as they are.
pub fn buffers(machine: &Machine) -> Json {
    let row = |buffer: &super::spec::Placed| {
        let mut now = vec![0; buffer.before.len()];
        // A kernel cannot free what the host allocated, so this can be read.
        let _ = machine.device.read(buffer.address, &mut now);
        let size = super::spec::element_bytes(buffer.format);
        let pairs = now.chunks_exact(size).zip(buffer.before.chunks_exact(size)).enumerate();
        let changed: Vec<usize> = pairs
            .take(MOST_VALUES)
            .filter(|(_, (now, before))| now != before)
            .map(|(index, _)| index)
            .collect();
        json!({
            "name": buffer.name, "parameter": buffer.parameter, "format": buffer.format.name(),
            "address": pattern(64, buffer.address), "count": now.len() / size,
            "values": values(buffer.format, &now), "changed": changed,
            "hex": hex(&now[..now.len().min(MOST_VALUES * size)]),
        })
    };
    machine.buffers.iter().map(row).collect()
}
