//! `--compare`: a launch here and on a GPU, and how they differ.

use super::super::{CommandError, Printed, output};
use super::document::Style;
use super::dumps::Dump;
use super::gpu::{self, OnGpu};
use super::table;
use crate::gpu::compare::{Compared, First, Place, Places, compare};
use crate::gpu::writer::{self, Write};
use crate::gpu::{Gpu, GpuError};
use crate::run::{Options, Run, RunError, fault};
use serde_json::{Value as Json, json};
use softwarp::vm::device::{LaunchError, ModuleId};
use softwarp::vm::fault::{Fault, FaultKind, Problem};
use softwarp_gpu::job::Results;

/// What one side came to.
enum Here {
    Done(Box<Run>),
    Fault(Box<Fault>, String),
}

/// Runs on both sides, and prints how they differ.
pub fn run(
    on: &OnGpu<'_>,
    gpu: &mut Gpu,
    dumps: &[Dump],
    options: &Options<'_>,
    device: Json,
    style: Style,
) -> Result<Printed, CommandError> {
    let names = compared_names(on, dumps);
    let here = here(on, options)?;
    let there = match gpu.run(&on.file, on.sources, names.clone()) {
        Ok(results) => Ok(results),
        Err(error) if gpu::fault(&error).is_some() => Err(error),
        Err(error) => return Err(on.refused(&error)),
    };
    let outcome = match (here, there) {
        (Here::Done(run), Ok(results)) => memories(on, &run, &results, &names, options)?,
        (here, there) => faults(&here, &there),
    };
    let Outcome { ok, text, mut json, verdict } = outcome;
    json.insert(0, ("ok", ok.into()));
    json.push(("device", device));
    let members: serde_json::Map<String, Json> =
        json.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
    let text = match style {
        Style::Text => text,
        Style::Json => {
            if !ok {
                output::stderr(&text);
            }
            format!("{}\n", Json::Object(members))
        }
    };
    Ok(Printed { text, failure: (!ok).then_some(CommandError::Input(verdict)) })
}

/// What is compared: what is read back, or else every buffer.
fn compared_names(on: &OnGpu<'_>, dumps: &[Dump]) -> Vec<String> {
    let mut names: Vec<String> = dumps.iter().map(|dump| dump.name.clone()).collect();
    if on.args.launch.dump.is_empty() {
        names.extend(on.file.buffers.iter().map(|buffer| buffer.name.clone()));
    }
    names.retain(|name| !on.file.freed.contains(name));
    let mut seen = std::collections::BTreeSet::new();
    names.retain(|name| seen.insert(name.clone()));
    names
}

/// Runs it here.
fn here(on: &OnGpu<'_>, options: &Options<'_>) -> Result<Here, CommandError> {
    let texts: Vec<&str> = on.sources.iter().map(|source| source.text.as_str()).collect();
    let mut run = Run::prepare(&on.file, &texts, on.load).map_err(|error| on.refusal.of(&error, None))?;
    for index in 0..on.file.launches.len() {
        let options = Options { print: Some(&output::stderr), ..*options };
        match run.launch(&on.file, index, &options) {
            Ok(_) => {}
            Err(RunError::Launch { error: LaunchError::Fault(stop), .. }) => {
                let event = fault::event(&mut run, on.sources, &stop);
                let text = crate::render::event(on.sources, &event, on.refusal.colour);
                return Ok(Here::Fault(stop, text));
            }
            Err(error) => return Err(on.refusal.of(&error, Some((&run, &on.file)))),
        }
    }
    Ok(Here::Done(Box::new(run)))
}

/// What to print.
struct Outcome {
    ok: bool,
    text: String,
    json: Vec<(&'static str, Json)>,
    verdict: String,
}

/// Compares what memories hold.
fn memories(
    on: &OnGpu<'_>,
    run: &Run,
    results: &Results,
    names: &[String],
    options: &Options<'_>,
) -> Result<Outcome, CommandError> {
    let wrong = |error: RunError| CommandError::Input(error.to_string());
    let address =
        |name: &str| results.addresses.iter().find(|(known, _)| known == name).map(|(_, address)| *address);
    let placed = run.buffers().iter().filter_map(|buffer| {
        Some(Place { here: buffer.address, gpu: address(&buffer.name)?, bytes: buffer.bytes })
    });
    let places = Places(placed.collect());
    let mut all = Vec::new();
    for name in names {
        let here = run.read(name).map_err(wrong)?;
        let there = results.memories.iter().find(|(known, _)| known == name).map(|(_, bytes)| bytes);
        let there = there.ok_or_else(|| CommandError::Input(format!("`{name}` was not read back")))?;
        let format = on.format(name);
        all.push(compare(name, format, &on.file.compare, &places, &here, there));
    }
    let first = all.iter().find_map(|one| Some((one, one.first?)));
    let (elements, differing, addresses) =
        all.iter().fold((0, 0, 0), |(x, y, z), one| (x + one.elements, y + one.differing, z + one.addresses));
    let mut comparison = json!({
        "elements": elements,
        "differing": differing,
        "addresses": addresses,
        "memories": all.iter().map(|one| (one.name.clone(), of_memory(one))).collect::<serde_json::Map<_, _>>(),
    });
    let mut text = String::new();
    if let Some((one, first)) = first {
        let mut told = in_json(&first);
        told["name"] = one.name.as_str().into();
        text += &format!("{}[{}]: {}\n", one.name, first.index, first.words());
        let start = (first.index * first.width) as u64;
        let texts: Vec<&str> = on.sources.iter().map(|source| source.text.as_str()).collect();
        let place = (one.name.as_str(), start..start + first.width as u64);
        match writer::last(&on.file, &texts, on.load, options, place).map_err(wrong)? {
            Some(write) => {
                let (words, json) = written(on, run, &write);
                text += &format!("  last written here by {words}\n");
                told["writer"] = json;
            }
            None => text += "  no store or atomic operation wrote it here\n",
        }
        comparison["first"] = told;
    }
    for one in all.iter().filter(|one| one.differing > 0) {
        text += &format!("{}: {} of {} elements differ\n", one.name, one.differing, one.elements);
    }
    if differing == 0 {
        let names = names.join(", ");
        text += &format!("same: {elements} elements of {names}\n");
    }
    if addresses > 0 {
        text += &format!(
            "{addresses} of them are in addresses of the same bytes, which are not the same numbers\n"
        );
    }
    let verdict = format!("the GPU and softwarp differ: {differing} of {elements} elements");
    Ok(Outcome { ok: differing == 0, text, json: vec![("comparison", comparison)], verdict })
}

fn of_memory(one: &Compared) -> Json {
    let mut json = json!({"elements": one.elements, "differing": one.differing});
    if let Some(first) = &one.first {
        json["first"] = in_json(first);
    }
    json
}

/// An element that differs, for programs.
fn in_json(first: &First) -> Json {
    let digits = 2 * first.width;
    let value = |bits: u64| {
        let mut json = json!({"bits": format!("0x{bits:0digits$x}")});
        if let Some(format) = first.format {
            json["value"] = serde_json::from_str(&table::json_number(format, bits)).unwrap_or_default();
        }
        json
    };
    json!({"index": first.index, "gpu": value(first.gpu), "softwarp": value(first.here)})
}

/// Who wrote a place, for people and for programs.
fn written(on: &OnGpu<'_>, run: &Run, write: &Write) -> (String, Json) {
    let [x, y, z] = write.thread;
    let [cx, cy, cz] = write.cta;
    let mut words = format!("thread ({x},{y},{z}) of CTA ({cx},{cy},{cz})");
    if on.file.launches.len() > 1 {
        words += &format!(" of launch {}", write.launch);
    }
    let mut json = json!({"launch": write.launch, "cta": write.cta, "thread": write.thread});
    let unit = run
        .device()
        .module(ModuleId::default())
        .ok()
        .map(|module| module.image.function(write.function).unit as usize);
    if let Some(source) = unit.and_then(|unit| on.sources.get(unit)) {
        let start = (write.span.start as usize).min(source.text.len());
        let line = source.text.as_bytes()[..start].iter().filter(|byte| **byte == b'\n').count() + 1;
        let instruction = write.span.text(&source.text);
        words += &format!(": {}:{line}: {instruction}", source.name);
        json["file"] = source.name.as_str().into();
        json["line"] = line.into();
        json["instruction"] = instruction.into();
    }
    (words, json)
}

/// Compares how launches ended, where one at least did not end well.
fn faults(here: &Here, there: &Result<Results, GpuError>) -> Outcome {
    let mut text = String::new();
    let ours = match here {
        Here::Done(_) => Json::Null,
        Here::Fault(stop, shown) => {
            text += &format!("softwarp: {}\n", shown.trim_end());
            json!({"kind": fault::kind(&stop.kind), "message": stop.kind.to_string()})
        }
    };
    if matches!(here, Here::Done(_)) {
        text += "softwarp: ran to the end\n";
    }
    let theirs = match there {
        Ok(_) => {
            text += "the GPU: ran to the end; it does not notice every wrong access\n";
            Json::Null
        }
        Err(error) => {
            text += &format!("the GPU: {}\n", gpu::words(error));
            gpu::fault(error).unwrap_or(Json::Null)
        }
    };
    let ok = match (here, there) {
        (Here::Fault(stop, _), Err(error)) => {
            let kind = error.fault().and_then(|failure| failure.name.as_deref()).unwrap_or(TIMEOUT);
            driver_names(&stop.kind).contains(&kind)
        }
        _ => false,
    };
    text +=
        if ok { "same: both stopped, for the same reason\n" } else { "they did not end in the same way\n" };
    Outcome {
        ok,
        text,
        json: vec![("faults", json!({"gpu": theirs, "softwarp": ours}))],
        verdict: "the GPU and softwarp did not end in the same way".to_owned(),
    }
}

/// A kernel that did not end.
const TIMEOUT: &str = "timeout";

/// What CUDA's driver calls the same fault, on one GPU or another.
fn driver_names(kind: &FaultKind) -> &'static [&'static str] {
    match kind {
        FaultKind::Access(bad) if bad.problem == Problem::Misaligned => &["CUDA_ERROR_MISALIGNED_ADDRESS"],
        FaultKind::Access(bad) if bad.problem == Problem::WrongSpace => {
            &["CUDA_ERROR_ILLEGAL_ADDRESS", "CUDA_ERROR_INVALID_ADDRESS_SPACE", "CUDA_ERROR_LAUNCH_FAILED"]
        }
        FaultKind::Access(_) | FaultKind::StackOverflow => {
            &["CUDA_ERROR_ILLEGAL_ADDRESS", "CUDA_ERROR_LAUNCH_FAILED"]
        }
        FaultKind::NoFunction(_) => &["CUDA_ERROR_ILLEGAL_ADDRESS", "CUDA_ERROR_INVALID_PC"],
        FaultKind::Assert { .. } => &["CUDA_ERROR_ASSERT"],
        FaultKind::Copy { .. }
        | FaultKind::TensorCore(_)
        | FaultKind::BarrierCount(_)
        | FaultKind::NoBarrier(_) => &["CUDA_ERROR_ILLEGAL_INSTRUCTION", "CUDA_ERROR_LAUNCH_FAILED"],
        FaultKind::StepLimit | FaultKind::TimeLimit | FaultKind::Deadlock(_) => {
            &[TIMEOUT, "CUDA_ERROR_LAUNCH_TIMEOUT"]
        }
        FaultKind::Cancelled => &[],
        FaultKind::OutOfMemory { .. } => &["CUDA_ERROR_OUT_OF_MEMORY"],
        _ => &["CUDA_ERROR_LAUNCH_FAILED", "CUDA_ERROR_ILLEGAL_INSTRUCTION", "CUDA_ERROR_ILLEGAL_ADDRESS"],
    }
}
