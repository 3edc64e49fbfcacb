//! Tensor maps and copies, and fragments of tensor memory.

use crate::request::{Answer, Failure, hex, read, shown};
use serde::Deserialize;
use serde_json::{Value as Json, json};
use softwarp::diagnostic::Diagnostic;
use softwarp::isa::Target;
use softwarp::tensor::object::encode;
use softwarp::tensor::reduce::Operation;
use softwarp::tensor::{Direction, Map};
use softwarp_report::codes;
use softwarp_report::tensors::banks::{self, Pattern};
use softwarp_report::tensors::file::{self, MapFile};
use softwarp_report::tensors::request::{self, Asked, Copy};
use softwarp_report::tensors::{svg, tmem as fragments};

/// The most elements of a walk that are told.
const MOST: usize = 1 << 15;

/// The largest box that bank conflicts are counted of, in bytes.
const MOST_COUNTED: u64 = 1 << 18;

#[derive(Deserialize)]
struct CopySpec {
    map: Json,
    target: Option<String>,
    at: Option<Vec<i32>>,
    offsets: Option<Vec<u32>>,
    mode: Option<String>,
    #[serde(default)]
    store: bool,
    reduce: Option<String>,
    #[serde(default)]
    shared: u64,
    most: Option<usize>,
}

impl CopySpec {
    fn read(&self) -> Result<(MapFile, Target), Failure> {
        let given = match &self.target {
            None => None,
            Some(name) => {
                let found = Target::from_name(name);
                Some(
                    found
                        .ok_or_else(|| Failure::new(format!("there is no target `{}`", shown(name))))?
                        .baseline(),
                )
            }
        };
        let file = file::from_json(&self.map);
        let arch = given.or(file.target).unwrap_or(Target::SM_90);
        Ok((file, arch))
    }

    fn asked(&self) -> Result<Asked, Failure> {
        let unknown =
            |what: &str, given: &str| Failure::new(format!("there is no {what} `{}`", shown(given)));
        let mode = match &self.mode {
            None => None,
            Some(name) => Some(request::mode(name).ok_or_else(|| unknown("mode", name))?),
        };
        let direction = match &self.reduce {
            None if self.store => Direction::Store,
            None => Direction::Load,
            Some(name) => {
                Direction::Reduce(Operation::from_name(name).ok_or_else(|| unknown("reduction", name))?)
            }
        };
        let (at, offsets) = (self.at.clone(), self.offsets.clone());
        Ok(Asked { at, offsets, mode, direction, shared: self.shared })
    }
}

fn finding(finding: &Diagnostic) -> Json {
    json!({
        "code": finding.code.0, "severity": finding.severity().name(), "message": finding.message,
        "title": codes::title(finding.code), "fix": finding.help,
    })
}

/// The map, unless it is refused.
fn legal(file: &MapFile, findings: &[Diagnostic], arch: Target) -> Option<Map> {
    let description = file.description.as_ref().filter(|_| !MapFile::is_refused(findings))?;
    Map::new(description, arch).ok()
}

/// Answers `tensor.show`.
pub fn show(request: &Json) -> Answer {
    let spec: CopySpec = read(request)?;
    let asked = spec.asked()?;
    let (file, arch) = spec.read()?;
    let findings = file.check(arch);
    let map = legal(&file, &findings, arch);
    let copy = map.map(|map| Copy::new(map, arch, &asked));
    let mut shown = json!({
        "legal": map.is_some(), "target": arch.to_string(),
        "findings": findings.iter().map(finding).collect::<Vec<_>>(),
        "svg": null, "refused": null, "title": null, "conflicts": [],
        "copiedBytes": map.as_ref().map(Map::copied_bytes),
        "object": map.as_ref().map(|map| hex(&encode(map))),
    });
    match copy {
        Some(Ok(copy)) => {
            shown["svg"] = svg::draw(&copy).into();
            shown["title"] = copy.title().into();
            if copy.map.copied_bytes() <= MOST_COUNTED {
                shown["conflicts"] = conflicts(&copy);
            }
        }
        Some(Err(refusal)) => shown["refused"] = refusal.to_string().into(),
        None => {}
    }
    Ok(shown)
}

/// What patterns of reads cost.
fn conflicts(copy: &Copy) -> Json {
    let patterns = [("row", Pattern::Row), ("column", Pattern::Column), ("ldmatrix", Pattern::Ldmatrix)];
    let row = |(name, pattern): (&str, Pattern)| {
        let groups = banks::count(copy, pattern);
        json!({
            "pattern": name, "words": pattern.to_string(), "ideal": groups.len(),
            "wavefronts": groups.iter().map(|group| group.degree).sum::<usize>(),
            "unswizzled": groups.iter().map(|group| group.plain_degree).sum::<usize>(),
            "worst": groups.iter().map(|group| group.degree).max().unwrap_or(0),
        })
    };
    patterns.into_iter().map(row).collect()
}

/// Answers `tensor.walk`.
pub fn walk(request: &Json) -> Answer {
    let spec: CopySpec = read(request)?;
    let asked = spec.asked()?;
    let (file, arch) = spec.read()?;
    let findings = file.check(arch);
    let Some(map) = legal(&file, &findings, arch) else {
        let told: Vec<Json> = findings.iter().map(finding).collect();
        return Err(Failure::new("the tensor map is not legal").with("findings", told.into()));
    };
    let copy = Copy::new(map, arch, &asked).map_err(|refusal| Failure::new(refusal.to_string()))?;
    let most = spec.most.unwrap_or(MOST).min(MOST);
    let rank = copy.map.rank;
    let mut elements = Vec::new();
    for (order, cell) in copy.walk.elements().take(most).enumerate() {
        elements.push(json!({
            "order": order, "coordinates": cell.coordinates[..rank], "global": cell.global, "shared": cell.shared,
            "plain": cell.linear, "bank": banks::bank(cell.shared), "bytes": cell.length, "row": cell.row,
            "elements": cell.elements,
        }));
    }
    let bytes = elements.first().and_then(|one| one["bytes"].as_u64()).unwrap_or(1).max(1);
    let total = copy.walk.rows().saturating_mul((u64::from(copy.walk.row_bytes().0) / bytes).max(1));
    Ok(json!({
        "title": copy.title(), "elementBits": copy.map.element.bits(), "total": total.max(elements.len() as u64),
        "rows": copy.walk.rows(), "rowBytes": copy.walk.row_bytes().0, "pitch": copy.walk.row_bytes().1,
        "elements": elements,
    }))
}

/// Answers `tensor.tmem`.
pub fn tmem(request: &Json) -> Answer {
    #[derive(Deserialize)]
    struct Of {
        shape: String,
    }
    let Of { shape } = read(request)?;
    let fragment = fragments::fragment(&shape)?;
    let mut cells = Vec::new();
    for register in 0..fragment.registers() {
        for thread in 0..32 {
            let cell = fragment.cell(register, thread);
            // With `.pack::16b`, a register holds the low halves of two columns.
            let parts = if fragment.packed { 2 } else { 1 };
            for part in 0..parts {
                cells.push(json!({
                    "lane": cell.lane, "column": cell.column + part, "second": cell.second, "thread": thread,
                    "register": register, "bit": part * 16, "bits": 32 / parts,
                }));
            }
        }
    }
    Ok(json!({
        "shape": shape, "lanes": fragment.shape.lanes(), "columns": fragment.columns(),
        "registers": fragment.registers(), "cells": cells, "text": fragments::table(&fragment),
    }))
}
