//! Tensor maps: checked, encoded, decoded; tensor copies performed and drawn.

use crate::check::target;
use numpy::{PyReadonlyArray1, PyReadwriteArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use softwarp::isa::Target;
use softwarp::tensor::copy::{load, store};
use softwarp::tensor::reduce::Operation;
use softwarp::tensor::{Description, Direction, Map};
use softwarp_cli::codes;
use softwarp_cli::tensors::file::{self, MapFile};
use softwarp_cli::tensors::request::{self, Asked, Copy};
use softwarp_cli::tensors::{object, page, svg};

/// A diagnostic: code, severity, message, the rule's title, and what would be right.
type Found = (&'static str, &'static str, String, &'static str, Option<String>);

fn read(map: &str, arch: Option<&str>) -> PyResult<(MapFile, Target)> {
    let given = arch.map(target).transpose()?.map(Target::baseline);
    let file = file::read(map.as_bytes());
    let arch = given.or(file.target).unwrap_or(Target::SM_90);
    Ok((file, arch))
}

/// A map without errors.
fn legal(map: &str, arch: Option<&str>) -> PyResult<(Description, Map, Target)> {
    let (file, arch) = read(map, arch)?;
    let made = file.description.as_ref().and_then(|description| Map::new(description, arch).ok());
    match (file.description, made) {
        (Some(description), Some(map)) if file.findings.is_empty() => Ok((description, map, arch)),
        _ => Err(PyValueError::new_err("the tensor map has errors")),
    }
}

/// What is wrong with a map, the bytes that a copy completes, and the target.
#[pyfunction]
#[pyo3(signature = (map, arch))]
pub fn tensor_check(map: &str, arch: Option<&str>) -> PyResult<(Vec<Found>, Option<u64>, String)> {
    let (file, arch) = read(map, arch)?;
    let findings = file.check(arch);
    let refused = MapFile::is_refused(&findings);
    let legal = file.description.as_ref().and_then(|description| Map::new(description, arch).ok());
    let found = findings.into_iter().map(|one| {
        (one.code.0, one.severity().name(), one.message.clone(), codes::title(one.code), one.help)
    });
    let bytes = legal.filter(|_| !refused).map(|map| map.copied_bytes());
    Ok((found.collect(), bytes, arch.to_string()))
}

/// The 128 bytes of a map.
#[pyfunction]
#[pyo3(signature = (map, arch))]
pub fn tensor_encode<'py>(py: Python<'py>, map: &str, arch: Option<&str>) -> PyResult<Bound<'py, PyBytes>> {
    let (_, map, _) = legal(map, arch)?;
    Ok(PyBytes::new(py, &softwarp::tensor::object::encode(&map)))
}

/// The map of 128 bytes, as JSON.
#[pyfunction]
pub fn tensor_decode(bytes: &[u8]) -> PyResult<String> {
    let wrong = |why: String| PyValueError::new_err(format!("bytes: {why}"));
    let bytes = object::read(bytes).map_err(wrong)?;
    let decoded = softwarp::tensor::object::decode(&bytes).map_err(|found| {
        let why: Vec<String> = found.iter().map(|one| format!("{} [{}]", one.message, one.code)).collect();
        wrong(why.join("; "))
    })?;
    Ok(file::to_json(&decoded.description).to_string())
}

/// The direction of a copy by its name: `load`, `store`, or a reduction.
fn direction(name: &str) -> PyResult<Direction> {
    let known = || Operation::ALL.iter().map(|one| one.name()).collect::<Vec<_>>().join(", ");
    match name {
        "load" => Ok(Direction::Load),
        "store" => Ok(Direction::Store),
        name => Operation::from_name(name).map(Direction::Reduce).ok_or_else(|| {
            PyValueError::new_err(format!("reduce: {name:?} is not a reduction; there are {}", known()))
        }),
    }
}

/// The copy that an instruction makes.
fn copy(
    map: &str,
    arch: Option<&str>,
    at: Option<Vec<i32>>,
    offsets: Option<Vec<u32>>,
    mode: Option<&str>,
    (shared, direction): (u64, Direction),
) -> PyResult<Copy> {
    let (_, map, arch) = legal(map, arch)?;
    let unknown = |name: &str| PyValueError::new_err(format!("mode: {name:?} is not a mode of copies"));
    let mode = mode.map(|name| request::mode(name).ok_or_else(|| unknown(name))).transpose()?;
    let asked = Asked { at, offsets, mode, direction, shared };
    Copy::new(map, arch, &asked).map_err(|refusal| PyValueError::new_err(refusal.to_string()))
}

/// What a load leaves in shared memory, from the shared address on. Bytes that it does not touch are zero.
#[pyfunction]
#[pyo3(signature = (map, arch, tensor, at, offsets, mode, shared))]
#[allow(clippy::too_many_arguments, reason = "they are those of Python's function")]
pub fn tensor_copy<'py>(
    py: Python<'py>,
    map: &str,
    arch: Option<&str>,
    tensor: PyReadonlyArray1<'py, u8>,
    at: Option<Vec<i32>>,
    offsets: Option<Vec<u32>>,
    mode: Option<&str>,
    shared: u64,
) -> PyResult<Bound<'py, PyBytes>> {
    let copy = copy(map, arch, at, offsets, mode, (shared, Direction::Load))?;
    let tensor = tensor.as_slice()?;
    // The copy is within shared memory.
    let (start, length) = (copy.request.shared as usize, copy.walk.footprint() as usize);
    let mut written = vec![0; start + length];
    load(&copy.map, &copy.request, tensor, &mut written)
        .map_err(|fault| PyValueError::new_err(format!("the hardware faults: {fault}")))?;
    Ok(PyBytes::new(py, &written[start..]))
}

/// Stores bytes of shared memory, from the shared address on, to a tensor, or reduces them into it.
#[pyfunction]
#[pyo3(signature = (map, arch, tile, tensor, at, offsets, mode, shared, direction))]
#[allow(clippy::too_many_arguments, reason = "they are those of Python's function")]
pub fn tensor_store(
    map: &str,
    arch: Option<&str>,
    tile: PyReadonlyArray1<'_, u8>,
    mut tensor: PyReadwriteArray1<'_, u8>,
    at: Option<Vec<i32>>,
    offsets: Option<Vec<u32>>,
    mode: Option<&str>,
    shared: u64,
    direction: &str,
) -> PyResult<()> {
    let copy = copy(map, arch, at, offsets, mode, (shared, self::direction(direction)?))?;
    let (tile, tensor) = (tile.as_slice()?, tensor.as_slice_mut()?);
    let (start, length) = (copy.request.shared as usize, copy.walk.footprint() as usize);
    if tile.len() != length {
        let given = tile.len();
        return Err(PyValueError::new_err(format!(
            "tile: the copy has {length} bytes, and {given} were given"
        )));
    }
    let mut memory = vec![0; start + length];
    memory[start..].copy_from_slice(tile);
    store(&copy.map, &copy.request, &memory, tensor)
        .map_err(|fault| PyValueError::new_err(format!("the hardware faults: {fault}")))
}

/// A copy as a picture, and as a page that moves.
#[pyfunction]
#[pyo3(signature = (map, arch, at, offsets, mode, shared, direction))]
pub fn tensor_draw(
    map: &str,
    arch: Option<&str>,
    at: Option<Vec<i32>>,
    offsets: Option<Vec<u32>>,
    mode: Option<&str>,
    shared: u64,
    direction: &str,
) -> PyResult<(String, String)> {
    let copy = copy(map, arch, at, offsets, mode, (shared, self::direction(direction)?))?;
    Ok((svg::draw(&copy), page::page(&copy)))
}
