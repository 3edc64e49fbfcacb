//! Textures and surfaces of launch files, as docs/textures.md describes them.

use super::data::{Init, MOST_DATA};
use super::file::{FileError, init};
use super::place::{At, Read};
use super::{Run, RunError};
use softwarp::vm::device::Device;
use softwarp::vm::texture::array::{Array, ArrayDescription};
use softwarp::vm::texture::format::Format;
use softwarp::vm::texture::sampler::{AddressMode, Filter, Sampler};
use softwarp::vm::texture::{Geometry, Source, Texture, TextureError};
use std::sync::Arc;

/// Rows of a texture over memory of its own begin at multiples of this.
pub const PITCH: u64 = 512;

/// What a module knows a texture or surface by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A variable of its name.
    Variable,
    /// A handle, which arguments name.
    Object,
}

/// Where a texture's texels are.
#[derive(Clone, Debug, PartialEq)]
pub enum Texels {
    /// In an array of its own: what each level holds.
    Array(Vec<Init>),
    /// In a surface's array.
    ArrayOf(String),
    /// In memory, one row or rows apart: a buffer and an offset, or memory of its own with this in it.
    Memory {
        /// Rows apart.
        pitched: bool,
        /// The buffer.
        buffer: Option<(String, u64)>,
        /// Bytes from a row to the next.
        pitch: Option<u64>,
        /// What memory of its own holds.
        init: Init,
    },
}

/// What a launch file says about sampling; the rest is as the variable's initialiser has it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sampling {
    /// Coordinates go from 0 to 1.
    pub normalized: Option<bool>,
    /// Within a level.
    pub filter: Option<Filter>,
    /// Between levels.
    pub mip_filter: Option<Filter>,
    /// The address mode of each dimension.
    pub address: Option<[AddressMode; 3]>,
    /// What lies outside.
    pub border: Option<[f32; 4]>,
}

impl Sampling {
    fn over(&self, sampler: Sampler) -> Sampler {
        Sampler {
            address: self.address.unwrap_or(sampler.address),
            filter: self.filter.unwrap_or(sampler.filter),
            mip_filter: self.mip_filter.unwrap_or(sampler.mip_filter),
            normalized: self.normalized.unwrap_or(sampler.normalized),
            border: self.border.unwrap_or(sampler.border),
            force_unnormalized: sampler.force_unnormalized,
        }
    }
}

/// A texture.
#[derive(Clone, Debug, PartialEq)]
pub struct TextureEntry {
    /// Its name.
    pub name: String,
    /// What it is known by.
    pub kind: Kind,
    /// What its array is, or would be.
    pub description: ArrayDescription,
    /// Where its texels are.
    pub texels: Texels,
    /// Integers are not fractions.
    pub integers: bool,
    /// How it is read.
    pub sampling: Sampling,
    /// Its array must be made for `tld4`, where a GPU asks for that.
    pub gather: bool,
}

/// A surface.
#[derive(Clone, Debug, PartialEq)]
pub struct SurfaceEntry {
    /// Its name.
    pub name: String,
    /// What it is known by.
    pub kind: Kind,
    /// What it is.
    pub description: ArrayDescription,
    /// What it holds at first.
    pub init: Init,
    /// Whether it is read back.
    pub dump: bool,
}

/// One of a few words.
fn word<T: Copy>(at: &At<'_>, words: &[(&str, T)]) -> Read<T> {
    let text = at.text()?;
    match words.iter().find(|(word, _)| *word == text) {
        Some((_, value)) => Ok(*value),
        None => {
            let words: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            at.error(format!("it must be {}", words.join(", ")))
        }
    }
}

fn flag(at: &At<'_>, key: &str) -> Read<bool> {
    Ok(at.get(key)?.map(|at| at.boolean()).transpose()?.unwrap_or(false))
}

const FILTERS: &[(&str, Filter)] = &[("point", Filter::Point), ("linear", Filter::Linear)];

const MODES: &[(&str, AddressMode)] = &[
    ("wrap", AddressMode::Wrap),
    ("mirror", AddressMode::Mirror),
    ("clamp", AddressMode::Clamp),
    ("border", AddressMode::Border),
];

fn description(at: &At<'_>, levels: usize) -> Read<ArrayDescription> {
    let format = at.need("format")?;
    let Some(format) = Format::parse(&format.text()?) else {
        return format.error("it must be a type and 1, 2 or 4 channels, as in u8x4 or f32x1");
    };
    let dims = at.need("dims")?;
    let mut sizes = [0u32; 3];
    let list = dims.list()?;
    if list.is_empty() || list.len() > 3 {
        return dims.error("there are one to three dimensions");
    }
    for (size, at) in sizes.iter_mut().zip(&list) {
        *size = at.less_than_2_32()?;
    }
    let [width, height, depth] = sizes;
    let samples = match at.get("samples")? {
        Some(at) => at.less_than_2_32()?,
        None => 1,
    };
    let (cubemap, layered) = (flag(at, "cubemap")?, flag(at, "layered")?);
    let plane = ArrayDescription::plane(format, width, height.max(1));
    let cube = ArrayDescription { size: plane.size, layers: depth, ..ArrayDescription::cube(format, width) };
    let one = match () {
        () if cubemap => cube,
        () if samples > 1 => plane.multisampled(samples),
        () if depth > 0 && !layered => ArrayDescription::volume(format, width, height.max(1), depth),
        () if height > 0 => plane,
        () => ArrayDescription::row(format, width),
    };
    let all = if layered { one.layered(depth) } else { one };
    let all = all.mipmapped(u32::try_from(levels).unwrap_or(u32::MAX));
    let description = ArrayDescription { samples, ..all };
    description.check().or_else(|error| dims.error(error.to_string()))?;
    Ok(description)
}

fn initial(at: &At<'_>, key: &str) -> Read<Init> {
    at.get(key)?.map_or(Ok(Init::Zero), |at| Ok(init(&at, MOST_DATA, None)?.0))
}

/// The keys of a texture. `depth` is a remark of recordings, and so is `gather` but on a GPU.
const TEXTURE_KEYS: &[&str] = &[
    "name",
    "kind",
    "format",
    "dims",
    "samples",
    "cubemap",
    "layered",
    "mips",
    "memory",
    "array_of",
    "buffer",
    "offset",
    "pitch",
    "data",
    "address",
    "border",
    "normalized",
    "filter",
    "mip_filter",
    "read_as_integer",
    "gather",
    "depth",
];

/// The members of a short list; more than it has room for are refused.
fn short<'a>(at: &At<'a>, most: usize) -> Read<Vec<At<'a>>> {
    let list = at.list()?;
    if list.len() > most {
        at.error(format!("it has {} members: there can be {most}", list.len()))
    } else {
        Ok(list)
    }
}

/// Reads one of `textures`.
pub(super) fn texture(at: &At<'_>) -> Read<TextureEntry> {
    at.only(TEXTURE_KEYS)?;
    let kind = word(&at.need("kind")?, &[("texref", Kind::Variable), ("texobj", Kind::Object)])?;
    let mips = at.list_of("mips", |at| Ok(init(at, MOST_DATA, None)?.0))?;
    let description = description(at, mips.len().max(1))?;
    let memory = at.get("memory")?;
    let memory = memory.map(|at| word(&at, &[("array", 0), ("linear", 1), ("pitch2d", 2)])).transpose()?;
    let in_memory = memory.unwrap_or(0) != 0;
    for (key, allowed) in
        [("array_of", !in_memory), ("buffer", in_memory), ("offset", in_memory), ("pitch", memory == Some(2))]
    {
        if let Some(at) = at.get(key)?.filter(|_| !allowed) {
            return at.error("it says nothing for a texture in this kind of `memory`");
        }
    }
    let texels = match (memory.unwrap_or(0), at.get("array_of")?) {
        (0, Some(surface)) => Texels::ArrayOf(surface.text()?),
        (0, None) if mips.is_empty() => Texels::Array(vec![initial(at, "data")?]),
        (0, None) => Texels::Array(mips),
        (memory, _) => {
            let number = |key: &str| at.get(key)?.map(|at| at.unsigned()).transpose();
            let buffer = at.get("buffer")?.map(|at| at.text()).transpose()?;
            let buffer = buffer.map(|name| Ok((name, number("offset")?.unwrap_or(0)))).transpose()?;
            let wanted = if memory == 2 { Geometry::D2 } else { Geometry::D1 };
            if description.geometry != wanted || !mips.is_empty() {
                return at.need("memory")?.error(format!("such a texture is .{}", wanted.name()));
            }
            Texels::Memory {
                pitched: memory == 2,
                buffer,
                pitch: number("pitch")?,
                init: initial(at, "data")?,
            }
        }
    };
    let address = match at.get("address")? {
        None => None,
        Some(list) => {
            let mut modes = [AddressMode::default(); 3];
            for (mode, at) in modes.iter_mut().zip(short(&list, 3)?) {
                *mode = word(&at, MODES)?;
            }
            Some(modes)
        }
    };
    let border = match at.get("border")? {
        None => None,
        Some(list) => {
            let mut colour = [0.0; 4];
            for (part, at) in colour.iter_mut().zip(short(&list, 4)?) {
                *part = at.json.as_f64().map_or_else(|| at.error("it must be a number"), Ok)? as f32;
            }
            Some(colour)
        }
    };
    let filter = |key: &str| at.get(key)?.map(|at| word(&at, FILTERS)).transpose();
    let sampling = Sampling {
        normalized: at.get("normalized")?.map(|at| at.boolean()).transpose()?,
        filter: filter("filter")?,
        mip_filter: filter("mip_filter")?,
        address,
        border,
    };
    let (name, integers) = (at.need("name")?.text()?, flag(at, "read_as_integer")?);
    let gather = at.get("gather")?.is_some_and(|at| at.json.as_bool() == Some(true));
    Ok(TextureEntry { name, kind, description, texels, integers, sampling, gather })
}

/// Reads one of `surfaces`.
pub(super) fn surface(at: &At<'_>) -> Read<SurfaceEntry> {
    at.only(&["name", "kind", "format", "dims", "samples", "cubemap", "layered", "data", "dump"])?;
    let kind = word(&at.need("kind")?, &[("surfref", Kind::Variable), ("surfobj", Kind::Object)])?;
    let description = description(at, 1)?;
    let (name, init, dump) = (at.need("name")?.text()?, initial(at, "data")?, flag(at, "dump")?);
    Ok(SurfaceEntry { name, kind, description, init, dump })
}

/// What arguments and dumps name: textures' and surfaces' handles, and surfaces' arrays.
#[derive(Debug, Default)]
pub(super) struct Bound {
    textures: Vec<(String, u64)>,
    surfaces: Vec<(String, u64)>,
    arrays: Vec<(String, Arc<Array>)>,
}

impl Bound {
    /// The handle that an argument names.
    pub(super) fn handle(&self, texture: bool, name: &str) -> Option<u64> {
        let list = if texture { &self.textures } else { &self.surfaces };
        list.iter().find(|(known, _)| known == name).map(|(_, handle)| *handle)
    }

    /// A surface's array.
    pub(super) fn array(&self, name: &str) -> Option<&Arc<Array>> {
        self.arrays.iter().find(|(known, _)| known == name).map(|(_, array)| array)
    }
}

/// What a level holds, as bytes; of at most that many.
fn bytes(init: &Init, most: u64) -> Result<Vec<u8>, TextureError> {
    let mut data = Vec::new();
    init.write(most, |at, piece| {
        let full = || TextureError::OutOfMemory { bytes: most };
        let at = usize::try_from(at).map_err(|_| full())?;
        data.try_reserve(piece.len()).map_err(|_| full())?;
        data.resize(at.max(data.len()), 0);
        data.extend_from_slice(piece);
        Ok(())
    })?;
    Ok(data)
}

fn array(
    device: &Device,
    description: ArrayDescription,
    levels: &[Init],
) -> Result<Arc<Array>, TextureError> {
    let array = device.create_array(description)?;
    for (level, init) in (0..).zip(levels) {
        array.write(level, &bytes(init, array.level_bytes(level))?)?;
    }
    Ok(array)
}

impl Run {
    /// Makes and binds what a launch file has of textures and surfaces.
    pub(super) fn bind(
        &mut self,
        surfaces: &[SurfaceEntry],
        textures: &[TextureEntry],
    ) -> Result<(), RunError> {
        for surface in surfaces {
            let failed = |error| RunError::Texture { of: surface.name.clone(), error };
            let array =
                array(self.device.machine(), surface.description, std::slice::from_ref(&surface.init))
                    .map_err(failed)?;
            match surface.kind {
                Kind::Variable => {
                    self.device.machine_mut().bind_surface(&surface.name, array.clone()).map_err(failed)?
                }
                Kind::Object => {
                    let handle = self.device.machine_mut().surface_object(array.clone());
                    self.bound.surfaces.push((surface.name.clone(), handle));
                }
            }
            self.bound.arrays.push((surface.name.clone(), array));
        }
        for (index, entry) in textures.iter().enumerate() {
            let failed = |error| RunError::Texture { of: entry.name.clone(), error };
            let place = |key: &str| format!("textures[{index}].{key}");
            let wrong = |key: &str, why: String| RunError::File(FileError::new(place(key), why));
            let source = match &entry.texels {
                Texels::Array(levels) => {
                    Source::Array(array(self.device.machine(), entry.description, levels).map_err(failed)?)
                }
                Texels::ArrayOf(name) => {
                    let missing = || wrong("array_of", format!("there is no surface `{name}`"));
                    Source::Array(self.bound.array(name).ok_or_else(missing)?.clone())
                }
                Texels::Memory { pitched, buffer, pitch, init } => {
                    let format = entry.description.format;
                    let [width, height, _] = entry.description.size;
                    let row = u64::from(width) * u64::from(format.bytes());
                    let rows = if *pitched { pitch.unwrap_or(row.next_multiple_of(PITCH)) } else { row };
                    let address = match buffer {
                        Some((name, offset)) => {
                            let missing = || wrong("buffer", format!("there is no buffer `{name}`"));
                            let found = self.buffers.iter().find(|buffer| &buffer.name == name);
                            found.ok_or_else(missing)?.address.saturating_add(*offset)
                        }
                        None => self.rows(init, row, rows, height).map_err(failed)?,
                    };
                    match pitched {
                        true => Source::Pitch { address, width, height, pitch: rows, format },
                        false => Source::Linear { address, texels: width, format },
                    }
                }
            };
            let initial = match entry.kind {
                Kind::Variable => self.device.machine().initial_sampler(&entry.name).unwrap_or_default(),
                Kind::Object => Sampler::default(),
            };
            let texture = Texture { source, sampler: entry.sampling.over(initial), integers: entry.integers };
            match entry.kind {
                Kind::Variable => {
                    self.device.machine_mut().bind_texture(&entry.name, texture).map_err(failed)?
                }
                Kind::Object => {
                    let handle = self.device.machine_mut().texture_object(texture).map_err(failed)?;
                    self.bound.textures.push((entry.name.clone(), handle));
                }
            }
        }
        Ok(())
    }

    /// Memory of a texture's own, with its rows apart.
    fn rows(&mut self, init: &Init, row: u64, pitch: u64, height: u32) -> Result<u64, TextureError> {
        let size = pitch.saturating_mul(u64::from(height));
        let full = |_| TextureError::OutOfMemory { bytes: size };
        let address = self.device.machine_mut().allocate(size).map_err(full)?;
        let data = bytes(init, row.saturating_mul(u64::from(height)))?;
        let step = usize::try_from(row.max(1)).unwrap_or(usize::MAX);
        for (y, piece) in (0..u64::from(height)).zip(data.chunks(step)) {
            self.device.machine_mut().write(address + y * pitch, piece).map_err(full)?;
        }
        Ok(address)
    }
}
