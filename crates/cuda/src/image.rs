//! Arrays, mipmapped arrays, texture references, and texture and surface objects: what their handles stand for.

use crate::c_struct;
use crate::code::Code;
use crate::handle::{Handle, Handled, Kind, Missing, Table, lock};
use softwarp::vm::device::ModuleId;
use softwarp::vm::texture::array::Array as Texels;
use softwarp::vm::texture::format::{Channel, Format};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

/// What an array is made of and how large it is, as the program has said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shape {
    /// Width, height and depth or layers in texels; 0 for those that it has not.
    pub size: [u64; 3],
    /// `CUarray_format`
    pub format: u32,
    /// Channels of a texel.
    pub channels: u32,
    /// `CUDA_ARRAY3D_*` flags.
    pub flags: u32,
}

/// An array (`CUarray`): one level of texels.
#[derive(Debug)]
pub struct Array {
    /// The handle of its context.
    pub context: u64,
    /// What it is.
    pub shape: Shape,
    /// The texels.
    pub texels: Arc<Texels>,
    /// Which level of them it is.
    pub level: u32,
    /// Whether it is a level of a mipmapped array.
    pub in_mipmap: bool,
}

impl Handled for Array {
    const KIND: Kind = Kind::Array;
}

/// A mipmapped array (`CUmipmappedArray`).
#[derive(Debug)]
pub struct Mipmap {
    /// The handle of its context.
    pub context: u64,
    /// What its first level is.
    pub shape: Shape,
    /// The texels of all levels.
    pub texels: Arc<Texels>,
    /// The arrays of levels that were asked for, by level.
    pub levels: Mutex<HashMap<u32, Handle<Array>>>,
}

impl Handled for Mipmap {
    const KIND: Kind = Kind::Mipmapped;
}

/// What a texture or surface reference shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shown {
    /// Nothing yet.
    #[default]
    Nothing,
    /// An array.
    Array(Handle<Array>),
    /// A mipmapped array.
    Mipmap(Handle<Mipmap>),
    /// A row of memory: its address and its bytes.
    Linear(u64, u64),
    /// Rows of memory: the address, width and height in texels, and bytes from a row to the next.
    Pitch(u64, u64, u64, u64),
}

/// How a texture reference reads.
#[derive(Clone, Copy, Debug)]
pub struct Reading {
    /// What it shows.
    pub shown: Shown,
    /// `CUarray_format`
    pub format: u32,
    /// Channels of a texel.
    pub channels: u32,
    /// `CUaddress_mode`, by dimension.
    pub address: [u32; 3],
    /// `CUfilter_mode` within a level, and between levels.
    pub filters: [u32; 2],
    /// `CU_TRSF_*` flags.
    pub flags: u32,
    /// The most anisotropy.
    pub anisotropy: u32,
    /// What is added to a level.
    pub bias: f32,
    /// The least level and the most.
    pub clamp: [f32; 2],
    /// What is outside.
    pub border: [f32; 4],
}

/// A texture or surface reference (`CUtexref`, `CUsurfref`): a variable of a module, or none.
#[derive(Debug)]
pub struct Reference {
    /// The handle of the variable's module, its number in the machine, and the variable's name.
    pub variable: Option<(u64, ModuleId, String)>,
    /// Whether it is a surface.
    pub is_surface: bool,
    /// How it reads.
    pub reading: Mutex<Reading>,
}

impl Handled for Reference {
    const KIND: Kind = Kind::TextureReference;
}

c_struct! {
    /// `CUDA_RESOURCE_DESC`
    Resource {
        kind: u32,
        padding: u32,
        /// What the union holds: see [`Resource::shown`].
        words: [u64; 16],
        flags: u32,
        padding_behind: u32,
    }
}

c_struct! {
    /// `CUDA_TEXTURE_DESC`
    Sampling {
        address: [u32; 3],
        filter: u32,
        flags: u32,
        anisotropy: u32,
        mip_filter: u32,
        bias: f32,
        clamp: [f32; 2],
        border: [f32; 4],
        reserved: [u32; 12],
    }
}

c_struct! {
    /// `CUDA_RESOURCE_VIEW_DESC`
    View {
        format: u32,
        padding: u32,
        size: [u64; 3],
        levels: [u32; 2],
        layers: [u32; 2],
        reserved: [u32; 16],
    }
}

impl Resource {
    /// What it shows, and for memory the format and the channels of a texel.
    pub fn shown(&self) -> Result<(Shown, u32, u32), Code> {
        let [first, texel, ..] = self.words;
        let (format, channels) = (texel as u32, (texel >> 32) as u32);
        Ok(match self.kind {
            0 => (Shown::Array(Handle::of(first)), 0, 0),
            1 => (Shown::Mipmap(Handle::of(first)), 0, 0),
            2 => (Shown::Linear(first, self.words[2]), format, channels),
            3 => (Shown::Pitch(first, self.words[2], self.words[3], self.words[4]), format, channels),
            _ => return Err(Code::INVALID_VALUE),
        })
    }
}

/// What a texture or surface object was made from.
#[derive(Clone, Copy, Debug)]
pub struct Object {
    /// What it shows.
    pub resource: Resource,
    /// How it reads; surfaces have none.
    pub sampling: Option<Sampling>,
    /// How what it shows is looked at.
    pub view: Option<View>,
}

/// Everything that textures need.
#[derive(Default)]
pub struct Images {
    /// `CUarray`
    pub arrays: Table<Array>,
    /// `CUmipmappedArray`
    pub mipmaps: Table<Mipmap>,
    /// `CUtexref` and `CUsurfref`
    pub references: Table<Reference>,
    /// `CUtexObject` and `CUsurfObject`
    pub objects: Mutex<HashMap<u64, Object>>,
    /// Objects that were destroyed since the last one was made. Kernels can still use them, as on a GPU, where a place
    /// stays as it is until it is used again.
    pub retired: Mutex<Vec<u64>>,
}

/// The code for a handle that means nothing.
fn code_of<T>(handle: Handle<T>, missing: Missing) -> Code {
    match missing {
        Missing::Destroyed => Code::CONTEXT_IS_DESTROYED,
        Missing::Never if handle.is_null() => Code::INVALID_HANDLE,
        Missing::Never => Code::INVALID_CONTEXT,
    }
}

impl Images {
    /// An array by its handle.
    pub fn array(&self, handle: Handle<Array>) -> Result<Arc<Array>, Code> {
        self.arrays.get(handle).map_err(|missing| code_of(handle, missing))
    }

    /// A mipmapped array by its handle.
    pub fn mipmap(&self, handle: Handle<Mipmap>) -> Result<Arc<Mipmap>, Code> {
        self.mipmaps.get(handle).map_err(|missing| code_of(handle, missing))
    }

    /// Forgets an array. Who still uses it keeps the texels.
    pub fn destroy_array(&self, handle: Handle<Array>) -> Result<(), Code> {
        self.arrays.remove(handle).map(drop).map_err(|missing| code_of(handle, missing))
    }

    /// Forgets a mipmapped array with the arrays of its levels.
    pub fn destroy_mipmap(&self, handle: Handle<Mipmap>) -> Result<(), Code> {
        let mipmap = self.mipmaps.remove(handle).map_err(|missing| code_of(handle, missing))?;
        for &array in lock(&mipmap.levels).values() {
            let _ = self.arrays.remove(array);
        }
        Ok(())
    }

    /// Forgets what belongs to a context.
    pub fn clear(&self, context: u64) {
        for (handle, _) in self.mipmaps.all().into_iter().filter(|(_, it)| it.context == context) {
            let _ = self.mipmaps.remove(handle);
        }
        for (handle, _) in self.arrays.all().into_iter().filter(|(_, it)| it.context == context) {
            let _ = self.arrays.remove(handle);
        }
    }
}

/// The texel of a `CUarray_format` with a number of channels.
pub fn format_of(format: u32, channels: u32) -> Result<Format, Code> {
    let channel = match format {
        0x01 => Channel::U8,
        0x02 => Channel::U16,
        0x03 => Channel::U32,
        0x08 => Channel::S8,
        0x09 => Channel::S16,
        0x0a => Channel::S32,
        0x10 => Channel::F16,
        0x20 => Channel::F32,
        // Fractions and compressed blocks.
        0xc0..=0xcb | 0x91..=0x9e | 0x50 => return Err(Code::NOT_SUPPORTED),
        _ => return Err(Code::INVALID_VALUE),
    };
    let channels = u8::try_from(channels).map_err(|_| Code::INVALID_VALUE)?;
    Format::new(channel, channels).ok_or(Code::INVALID_VALUE)
}
