//! What is recorded of a launch besides its results: counts of lines, and what threads did.

use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use softwarp::debug::trace::{MemoryUse, Record};
use softwarp::debug::value::Value;
use softwarp::source::Source;
use softwarp_cli::run::counted::Counted;
use softwarp_cli::run::observe::{Observer, Seen};
use std::collections::BTreeMap;

/// A row for each instruction, by the names of its columns.
pub fn stats<'py>(
    py: Python<'py>,
    sources: &[Source],
    functions: &[Counted],
    observer: &Observer,
) -> PyResult<Vec<Bound<'py, PyDict>>> {
    let mut rows = Vec::new();
    for (function, one) in functions.iter().flat_map(|it| it.instructions.iter().map(move |one| (it, one))) {
        let Some(source) = sources.get(function.unit) else { continue };
        let text: Vec<&str> = source.line(one.line).text(&source.text).split_whitespace().collect();
        let Seen { divergent, requests, sectors, shared_requests, conflicts } =
            one.operation.map(|operation| observer.seen(operation)).unwrap_or_default();
        let row = PyDict::new(py);
        row.set_item("function", &function.name)?;
        row.set_item("file", &source.name)?;
        row.set_item("line", one.line)?;
        row.set_item("text", text.join(" "))?;
        row.set_item("source_file", one.source.as_ref().map(|at| at.file.to_string()))?;
        row.set_item("source_line", one.source.as_ref().map(|at| at.line))?;
        row.set_item("warps", one.count.warp)?;
        row.set_item("threads", one.count.thread)?;
        row.set_item("divergent", divergent)?;
        row.set_item("global_requests", requests)?;
        row.set_item("global_sectors", sectors)?;
        row.set_item("shared_requests", shared_requests)?;
        row.set_item("bank_conflicts", conflicts)?;
        rows.push(row);
    }
    Ok(rows)
}

/// A row for each line of the PTX, and of the files that it was made from: how often warps executed its instructions.
pub fn coverage<'py>(
    py: Python<'py>,
    sources: &[Source],
    functions: &[Counted],
) -> PyResult<Vec<Bound<'py, PyDict>>> {
    let mut lines: BTreeMap<(bool, String, u32), u64> = BTreeMap::new();
    for (function, one) in functions.iter().flat_map(|it| it.instructions.iter().map(move |one| (it, one))) {
        let Some(source) = sources.get(function.unit) else { continue };
        *lines.entry((false, source.name.clone(), one.line)).or_default() += one.count.warp;
        // Line 0 is for what no line stands for.
        if let Some(at) = one.source.as_ref().filter(|at| at.line > 0) {
            *lines.entry((true, at.file.to_string(), at.line)).or_default() += one.count.warp;
        }
    }
    let row = |((_, file, line), count)| {
        let row = PyDict::new(py);
        row.set_item("file", file)?;
        row.set_item("line", line)?;
        row.set_item("count", count)?;
        Ok(row)
    };
    lines.into_iter().map(row).collect()
}

/// A value as Python's bool, int or float; a packed one as text.
pub fn value<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    let text = value.number();
    match (text.parse::<bool>(), text.parse::<i128>(), text.parse::<f64>()) {
        (Ok(bit), ..) => bit.into_bound_py_any(py),
        (_, Ok(number), _) if !text.starts_with("-0") => integer(py, value, number),
        (_, _, Ok(number)) => number.into_bound_py_any(py),
        _ => text.into_bound_py_any(py),
    }
}

/// A whole number: an int unless its type is a float's.
fn integer<'py>(py: Python<'py>, value: &Value, number: i128) -> PyResult<Bound<'py, PyAny>> {
    match value.ty.class() {
        softwarp::isa::Class::Float => (number as f64).into_bound_py_any(py),
        // The limited interface of Python has no 128 bits; text has all digits.
        _ => match i64::try_from(number) {
            Ok(number) => number.into_bound_py_any(py),
            Err(_) => match u64::try_from(number) {
                Ok(number) => number.into_bound_py_any(py),
                Err(_) => number.to_string().into_bound_py_any(py),
            },
        },
    }
}

/// A record of what a thread did.
pub fn record<'py>(py: Python<'py>, record: &Record) -> PyResult<Bound<'py, PyDict>> {
    let row = PyDict::new(py);
    let ([cx, cy, cz], [x, y, z]) = (record.thread.cta, record.thread.thread);
    row.set_item("cta", (cx, cy, cz))?;
    row.set_item("thread", (x, y, z))?;
    row.set_item("function", &record.function)?;
    row.set_item("line", record.line)?;
    row.set_item("source_file", record.source.as_ref().map(|at| at.file.to_string()))?;
    row.set_item("source_line", record.source.as_ref().map(|at| at.line))?;
    row.set_item("instruction", &record.text)?;
    row.set_item("executed", record.executed)?;
    let memory = record.memory.as_ref();
    row.set_item("space", memory.map(|one| one.space.name()))?;
    row.set_item("address", memory.map(|one| one.address))?;
    let name = memory.and_then(|MemoryUse { name, .. }| name.as_ref());
    row.set_item("buffer", name.map(|(name, _)| name))?;
    row.set_item("offset", name.map(|(_, offset)| offset))?;
    let stored = PyList::empty(py);
    for one in memory.into_iter().flat_map(|one| &one.stored) {
        stored.append(value(py, one)?)?;
    }
    row.set_item("stored", stored)?;
    let results = PyDict::new(py);
    for (register, one) in &record.results {
        results.set_item(register, value(py, one)?)?;
    }
    row.set_item("results", results)?;
    Ok(row)
}
