//! Checks of PTX, and where its variables are.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use softwarp::check::Options;
use softwarp::diagnostic::{Diagnostic, Severity};
use softwarp::image::{self, Unit, Windows, lay_out};
use softwarp::isa::Target;
use softwarp::source::Source;
use softwarp_cli::layout::{View, json};
use softwarp_cli::render;

/// A GPU by its name, as in `sm_90a`.
pub fn target(name: &str) -> PyResult<Target> {
    name.to_ascii_lowercase().parse().map_err(|error| PyValueError::new_err(format!("{error}")))
}

fn options(arch: Option<&str>, relocatable: bool, strict: bool) -> PyResult<Options> {
    Ok(Options { arch: arch.map(target).transpose()?, relocatable, strict })
}

/// A diagnostic by the names of the fields of `softwarp.Diagnostic`.
fn in_python<'py>(py: Python<'py>, source: &Source, one: &Diagnostic) -> PyResult<Bound<'py, PyDict>> {
    let (from, to) = (source.position(one.span().start), source.position(one.span().end));
    let note = |related: &softwarp::diagnostic::Related| {
        let position = source.position(related.location.span.start);
        (position.line, position.column, related.message.clone())
    };
    let notes: Vec<(u32, u32, String)> = one.related.iter().map(note).collect();
    let fields = PyDict::new(py);
    fields.set_item("code", one.code.0)?;
    fields.set_item("severity", one.severity().name())?;
    fields.set_item("message", &one.message)?;
    fields.set_item("line", from.line)?;
    fields.set_item("column", from.column)?;
    fields.set_item("end_line", to.line)?;
    fields.set_item("end_column", to.column)?;
    fields.set_item("notes", notes)?;
    fields.set_item("help", &one.help)?;
    fields.set_item("rendered", render::text(source, one, false).trim_end())?;
    Ok(fields)
}

/// Everything to say about a module, in the order of the text.
#[pyfunction]
#[pyo3(signature = (text, name, arch, relocatable, strict))]
pub fn check<'py>(
    py: Python<'py>,
    text: &str,
    name: &str,
    arch: Option<&str>,
    relocatable: bool,
    strict: bool,
) -> PyResult<Vec<Bound<'py, PyDict>>> {
    let options = options(arch, relocatable, strict)?;
    let (source, found) = py.detach(|| {
        let source = Source::new(name, text.as_bytes().to_vec());
        let found = source.diagnose(options);
        (source, found)
    });
    found.iter().map(|one| in_python(py, &source, one)).collect()
}

/// Where the variables of a module are, as JSON; or its errors.
#[pyfunction]
#[pyo3(signature = (text, name, arch, bases))]
pub fn layout<'py>(
    py: Python<'py>,
    text: &str,
    name: &str,
    arch: Option<&str>,
    bases: bool,
) -> PyResult<(Option<String>, Vec<Bound<'py, PyDict>>)> {
    let options = options(arch, false, false)?;
    let (source, laid_out) = py.detach(|| {
        let source = Source::new(name, text.as_bytes().to_vec());
        let laid_out = in_json(&source, options, bases);
        (source, laid_out)
    });
    match laid_out {
        Ok(json) => Ok((Some(json), Vec::new())),
        Err(found) => {
            Ok((None, found.iter().map(|one| in_python(py, &source, one)).collect::<PyResult<_>>()?))
        }
    }
}

fn in_json(source: &Source, options: Options, bases: bool) -> Result<String, Vec<Diagnostic>> {
    let checked = source.check(options);
    if checked.diagnostics.iter().any(|one| one.severity() == Severity::Error) {
        return Err(checked.diagnostics);
    }
    let units = [Unit { module: &checked.module, checked: &checked.checked }];
    let image = lay_out(&units, image::Options { relocatable: false, red_zones: false })?;
    let windows = bases.then(|| Windows::for_target(image.header.address_bits, image.header.arch));
    let files = [source.name.as_str()];
    let mut text = Vec::new();
    // Writing into memory does not fail.
    let _ = json::write(&View { image: &image, files: &files, windows: windows.as_ref() }, &mut text);
    Ok(String::from_utf8_lossy(&text).into_owned())
}
