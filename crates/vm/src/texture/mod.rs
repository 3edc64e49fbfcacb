//! Textures and surfaces (PTX ISA sections 5.3, 9.7.10 and 9.7.11), without warps: texels, samplers, and what an
//! address among them gives.
//!
//! [`mod@format`] says what texels are made of and [`mod@array`] how they lie; [`sampler`] turns coordinates
//! into texels and weights, `cube` directions into faces, `level` gradients into levels; `filter` has the sums, as an
//! H200 rounds them; `sample` is a whole lookup, and `fast` has the common ones for a warp; `surface` has the places of
//! surfaces and formatted stores, `query` the answers of `txq` and `suq`. `bind` has the opaque variables of modules.

pub mod array;
pub(crate) mod bind;
pub(crate) mod fast;
pub(crate) mod query;
pub(crate) mod sample;
pub(crate) mod surface;

pub use softwarp_units::texture::{Geometry, format, sampler};
pub(crate) use softwarp_units::texture::{cube, filter, level, short};

use crate::host_memory::Refused;
use array::Array;
use sampler::Sampler;
use softwarp_isa::Opaque;
use softwarp_isa::space::opaque::Member;
use std::collections::HashMap;
use std::sync::Arc;

/// The texels of a texture.
#[derive(Clone, Debug)]
pub enum Source {
    /// In an array.
    Array(Arc<Array>),
    /// In global memory, one row of a given number of texels.
    Linear {
        /// The first one's address.
        address: u64,
        /// How many.
        texels: u32,
        /// Their format.
        format: format::Format,
    },
    /// In global memory, rows apart.
    Pitch {
        /// The first one's address.
        address: u64,
        /// Texels of a row.
        width: u32,
        /// Rows.
        height: u32,
        /// Bytes from a row to the next.
        pitch: u64,
        /// Their format.
        format: format::Format,
    },
}

impl Source {
    /// The format of the texels.
    pub fn format(&self) -> format::Format {
        match self {
            Source::Array(array) => array.description.format,
            Source::Linear { format, .. } | Source::Pitch { format, .. } => *format,
        }
    }

    /// The arrangement of the texels.
    pub fn geometry(&self) -> Geometry {
        match self {
            Source::Array(array) => array.description.geometry,
            Source::Linear { .. } => Geometry::D1,
            Source::Pitch { .. } => Geometry::D2,
        }
    }
}

/// A texture: texels, and how they are read.
#[derive(Clone, Debug)]
pub struct Texture {
    /// The texels.
    pub source: Source,
    /// The sampler, unless the instruction names one.
    pub sampler: Sampler,
    /// Integers are given as they are, not as fractions.
    pub integers: bool,
}

impl From<Source> for Texture {
    /// Texels counted one by one, the nearest, integers as fractions; what is outside is as its edge.
    fn from(source: Source) -> Texture {
        Texture { source, sampler: Sampler::default(), integers: false }
    }
}

impl From<&Arc<Array>> for Texture {
    /// The texture of an array, with the default sampler.
    fn from(array: &Arc<Array>) -> Texture {
        Source::Array(array.clone()).into()
    }
}

/// The object of a handle.
#[derive(Clone, Debug)]
pub enum Bound {
    /// A texture, with its sampler.
    Texture(Texture),
    /// A surface: the first level of an array.
    Surface(Arc<Array>),
    /// A sampler of its own, in the independent mode.
    Sampler(Sampler),
}

impl Bound {
    /// `a texture`
    pub fn words(&self) -> &'static str {
        match self {
            Bound::Texture(_) => "a texture",
            Bound::Surface(_) => "a surface",
            Bound::Sampler(_) => "a sampler",
        }
    }
}

/// An opaque variable.
#[derive(Clone, Debug)]
pub(crate) struct Variable {
    /// Its name.
    pub name: Box<str>,
    /// Its opaque type.
    pub opaque: Opaque,
    /// The members that its initialiser gives.
    pub members: Vec<(Member, u32)>,
}

/// Handles of texture, surface and sampler objects count from here: no address of any state space is as high, and none
/// of a host is seen.
pub(crate) const OBJECTS: u64 = 0x7e00_0000_0000_0000;

/// The objects that are bound to the opaque variables of a module, by address.
#[derive(Clone, Debug, Default)]
pub(crate) struct TextureReferences {
    pub(crate) bound: HashMap<u64, Bound>,
    pub(crate) variables: Arc<HashMap<u64, Variable>>,
}

/// Texture, surface and sampler objects of a device, by their handles.
#[derive(Clone, Debug, Default)]
pub(crate) struct Objects {
    bound: HashMap<u64, Bound>,
    made: u64,
}

impl Objects {
    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.bound.is_empty()
    }

    /// Makes an object: its handle.
    pub(crate) fn make(&mut self, bound: Bound) -> u64 {
        self.made += 1;
        let handle = OBJECTS + self.made;
        self.bound.insert(handle, bound);
        handle
    }

    /// Forgets an object; whether there was one.
    pub(crate) fn destroy(&mut self, handle: u64) -> bool {
        self.bound.remove(&handle).is_some()
    }
}

/// Everything that handles can stand for in a launch: references of its module, and objects of the device. A clone is
/// what there is at that moment.
#[derive(Clone, Debug, Default)]
pub(crate) struct Textures {
    pub(crate) references: Arc<TextureReferences>,
    pub(crate) objects: Arc<Objects>,
}

impl Textures {
    /// The object of a handle.
    #[inline]
    pub fn find(&self, handle: u64) -> Option<&Bound> {
        let bound = if handle >= OBJECTS { &self.objects.bound } else { &self.references.bound };
        bound.get(&handle)
    }

    /// The opaque variable at an address.
    pub fn variable(&self, handle: u64) -> Option<&Variable> {
        self.references.variables.get(&handle)
    }
}

/// Why the host's request failed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // The words say what the fields are.
pub enum TextureError {
    /// A dimension that is zero or too large.
    Size { what: &'static str, given: u32, most: u32 },
    /// A cube that is none.
    Cube { width: u32, height: u32, layers: u32 },
    /// There is no room for a given number of bytes.
    OutOfMemory { bytes: u64 },
    /// The limit on host memory does not allow it.
    Limit(Refused),
    /// A level that is not there.
    NoLevel { level: u32, levels: u32 },
    /// More data than an array has room for.
    TooMuchData { bytes: u64, given: u64 },
    /// There is no such opaque variable.
    NoVariable { name: String },
    /// The variable is for something else.
    WrongVariable { name: String, is: Opaque },
    /// The memory that a texture is to show is not there.
    NotAllocated { address: u64, bytes: u64 },
    /// Memory that does not begin where a texture can.
    Misaligned { what: &'static str, value: u64, multiple: u64 },
    /// Only floating-point numbers can be filtered, and integers that are read as fractions.
    Filter,
}

impl std::fmt::Display for TextureError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            TextureError::Size { what, given, most } => write!(f, "{what}: {given} is not from 1 to {most}"),
            TextureError::Cube { width, height, layers } => {
                write!(
                    f,
                    "a cube has square faces, six of them or a multiple: not {width} by {height} by {layers}"
                )
            }
            TextureError::OutOfMemory { bytes } => write!(f, "no room for {bytes} bytes"),
            TextureError::Limit(refused) => write!(f, "no room for {refused}"),
            TextureError::NoLevel { level, levels } => {
                write!(f, "there is no level {level}: there are {levels}")
            }
            TextureError::TooMuchData { bytes, given } => {
                write!(f, "{given} bytes of data: the array has {bytes}")
            }
            TextureError::NoVariable { name } => write!(f, "there is no opaque variable `{name}`"),
            TextureError::WrongVariable { name, is } => write!(f, "`{name}` is a {is}"),
            TextureError::NotAllocated { address, bytes } => {
                write!(f, "{bytes} bytes at 0x{address:x} are not in an allocation")
            }
            TextureError::Misaligned { what, value, multiple } => {
                write!(f, "{what}: {value} is not a multiple of {multiple}")
            }
            TextureError::Filter => {
                write!(f, "integers cannot be filtered unless they are read as fractions")
            }
        }
    }
}

impl std::error::Error for TextureError {}
