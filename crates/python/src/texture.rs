//! Arrays of texels, and the textures, surfaces and samplers over them.

use crate::machine::Machine;
use numpy::PyReadonlyArray1;
use pyo3::exceptions::{PyMemoryError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use softwarp::machine::Device;
use softwarp::vm::texture::array::{Array, ArrayDescription};
use softwarp::vm::texture::format::Format;
use softwarp::vm::texture::sampler::{AddressMode, Filter, Sampler};
use softwarp::vm::texture::{Geometry, Source, Texture, TextureError};
use std::sync::Arc;

/// What a sampler says; what is left out is as the variable's initialiser has it, else as of an object without any:
/// normalized coordinates, the filter, the filter between levels, the address modes and the border colour.
type Sampling = (Option<bool>, Option<String>, Option<String>, Option<Vec<String>>, Option<[f32; 4]>);

/// The texels of textures and surfaces: an array, or memory of a machine.
#[pyclass(frozen)]
pub struct Texels {
    device: Arc<Device>,
    source: Source,
}

fn texture_error(error: TextureError) -> PyErr {
    match error {
        TextureError::OutOfMemory { .. } => PyMemoryError::new_err(error.to_string()),
        _ => PyValueError::new_err(error.to_string()),
    }
}

fn format_named(name: &str) -> PyResult<Format> {
    Format::parse(name).ok_or_else(|| PyValueError::new_err(format!("{name:?} is not a format of texels")))
}

fn filter(argument: &str, name: &str) -> PyResult<Filter> {
    match name {
        "point" => Ok(Filter::Point),
        "linear" => Ok(Filter::Linear),
        _ => Err(PyValueError::new_err(format!("{argument}: {name:?} is neither point nor linear"))),
    }
}

fn address_mode(name: &str) -> PyResult<AddressMode> {
    match name {
        "wrap" => Ok(AddressMode::Wrap),
        "mirror" => Ok(AddressMode::Mirror),
        "clamp" => Ok(AddressMode::Clamp),
        "border" => Ok(AddressMode::Border),
        _ => Err(PyValueError::new_err(format!("address: {name:?} is not wrap, mirror, clamp or border"))),
    }
}

/// A sampler with what is said over what it is otherwise.
fn sampler(sampling: &Sampling, otherwise: Sampler) -> PyResult<Sampler> {
    let (normalized, filters, mip_filter, modes, border) = sampling;
    let mut address = otherwise.address;
    for (mode, name) in address.iter_mut().zip(modes.iter().flatten()) {
        *mode = address_mode(name)?;
    }
    Ok(Sampler {
        address,
        filter: filters.as_ref().map_or(Ok(otherwise.filter), |name| filter("filter", name))?,
        mip_filter: mip_filter
            .as_ref()
            .map_or(Ok(otherwise.mip_filter), |name| filter("mip_filter", name))?,
        normalized: normalized.unwrap_or(otherwise.normalized),
        border: border.unwrap_or(otherwise.border),
        force_unnormalized: otherwise.force_unnormalized,
    })
}

impl Texels {
    fn array(&self) -> PyResult<&Arc<Array>> {
        match &self.source {
            Source::Array(array) => Ok(array),
            _ => Err(PyValueError::new_err("the texels are in memory, and not in an array")),
        }
    }

    fn texture(&self, sampling: &Sampling, integers: bool, otherwise: Sampler) -> PyResult<Texture> {
        Ok(Texture { source: self.source.clone(), sampler: sampler(sampling, otherwise)?, integers })
    }
}

#[pymethods]
impl Texels {
    /// An array of texels: zeros.
    #[new]
    fn new(
        machine: &Machine,
        format: &str,
        geometry: &str,
        size: [u32; 3],
        layers: u32,
        levels: u32,
        samples: u32,
    ) -> PyResult<Texels> {
        let found = Geometry::ALL.iter().copied().find(|one| one.name() == geometry);
        let unknown = || PyValueError::new_err(format!("{geometry:?} is not a geometry of textures"));
        let geometry = found.ok_or_else(unknown)?;
        let format = format_named(format)?;
        let description = ArrayDescription { format, geometry, size, layers, levels, samples };
        description.check().map_err(texture_error)?;
        let device = Arc::clone(machine.device());
        let array = device.machine().create_array(description).map_err(texture_error)?;
        Ok(Texels { device, source: Source::Array(array) })
    }

    /// Texels in memory: rows of some bytes, or one row.
    #[staticmethod]
    fn in_memory(
        machine: &Machine,
        format: &str,
        address: u64,
        width: u32,
        rows: Option<(u32, u64)>,
    ) -> PyResult<Texels> {
        let format = format_named(format)?;
        let source = match rows {
            Some((height, pitch)) => Source::Pitch { address, width, height, pitch, format },
            None => Source::Linear { address, texels: width, format },
        };
        Ok(Texels { device: Arc::clone(machine.device()), source })
    }

    /// Writes a level.
    fn write(&self, level: u32, bytes: PyReadonlyArray1<'_, u8>) -> PyResult<()> {
        self.array()?.write(level, bytes.as_slice()?).map_err(texture_error)
    }

    /// Reads a level.
    fn read<'py>(&self, py: Python<'py>, level: u32) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.array()?.read(level).map_err(texture_error)?))
    }

    /// The bytes of a level.
    fn bytes(&self, level: u32) -> PyResult<u64> {
        Ok(self.array()?.level_bytes(level))
    }

    /// A texture object: its handle.
    fn texture_object(&self, sampling: Sampling, integers: bool) -> PyResult<u64> {
        let texture = self.texture(&sampling, integers, Sampler::default())?;
        self.device.machine().texture_object(texture).map_err(texture_error)
    }

    /// A surface object: its handle.
    fn surface_object(&self) -> PyResult<u64> {
        Ok(self.device.machine().surface_object(Arc::clone(self.array()?)))
    }

    /// Binds a texture to a variable of the module.
    fn bind_texture(&self, name: &str, sampling: Sampling, integers: bool) -> PyResult<()> {
        let initial = self.device.machine().initial_sampler(name).unwrap_or_default();
        let texture = self.texture(&sampling, integers, initial)?;
        self.device.machine().bind_texture(name, texture).map_err(texture_error)
    }

    /// Binds a surface to a variable of the module.
    fn bind_surface(&self, name: &str) -> PyResult<()> {
        self.device.machine().bind_surface(name, Arc::clone(self.array()?)).map_err(texture_error)
    }

    /// A sampler object: its handle.
    #[staticmethod]
    fn sampler_object(machine: &Machine, sampling: Sampling) -> PyResult<u64> {
        Ok(machine.device().machine().sampler_object(sampler(&sampling, Sampler::default())?))
    }

    /// Gives a sampler variable of the module other values.
    #[staticmethod]
    fn bind_sampler(machine: &Machine, name: &str, sampling: Sampling) -> PyResult<()> {
        let device = machine.device().machine();
        let initial = device.initial_sampler(name).unwrap_or_default();
        device.bind_sampler(name, sampler(&sampling, initial)?).map_err(texture_error)
    }

    /// Ends an object.
    #[staticmethod]
    fn destroy(machine: &Machine, handle: u64) {
        machine.device().machine().destroy_object(handle);
    }
}
