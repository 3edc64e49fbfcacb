//! Steps of textures and surfaces (PTX ISA sections 9.7.10 and 9.7.11).
//!
//! Every operation says in which order its slots stand in [`super::Operands`]. A handle that is in a register comes
//! first there, in the rows of 64-bit words.

use crate::AtomicOp;
use softwarp_image::{Image, ObjectId, Windows};
use softwarp_isa::space::opaque::Member;
use softwarp_isa::{Opaque, StateSpace, Type};
use softwarp_units::texture::Clamp;
use softwarp_units::texture::Geometry;

/// What is done with a texture or surface.
#[derive(Clone, Debug)]
pub enum TextureOp {
    /// `tex`, `tld4`
    Lookup(Lookup),
    /// `txq`, `suq`
    Query(Query),
    /// `istypep`: reads the pointer, writes a predicate.
    IsType(Opaque),
    /// `suld`, `sust`, `sured`
    Surface(SurfaceOp),
}

/// What an instruction works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handle {
    /// A variable, by what stands for it.
    Known(u64),
    /// In a register.
    Register,
}

/// How a lookup chooses levels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// The first one.
    Base,
    /// As an operand says.
    Level,
    /// From gradients.
    Gradient,
}

/// What a lookup's results are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {
    /// Four words.
    Words,
    /// Four halves.
    Halves,
    /// Two pairs of halves.
    Pairs,
}

/// A lookup. Reads, each if there is one: texture, sampler; coordinates, a layer or sample before them; level or
/// gradients; offsets. Writes: the values, then the predicate, if there is one.
#[derive(Clone, Copy, Debug)]
pub struct Lookup {
    /// Of what shape the texture is.
    pub geometry: Geometry,
    /// The texture.
    pub texture: Handle,
    /// A sampler of its own.
    pub sampler: Option<Handle>,
    /// Coordinates are texels' numbers.
    pub integers: bool,
    /// Which level.
    pub detail: Detail,
    /// Whether there are offsets.
    pub offset: bool,
    /// `tld4`: which channel of four texels.
    pub gather: Option<u8>,
    /// What is written.
    pub values: Values,
    /// Whether a predicate is written.
    pub resident: bool,
}

impl Lookup {
    /// How many coordinates there are, with a layer or sample.
    pub fn coordinates(&self) -> usize {
        match self.geometry {
            Geometry::D1 => 1,
            Geometry::D2 | Geometry::A1 => 2,
            Geometry::D3 | Geometry::A2 | Geometry::Cube | Geometry::D2Ms => 3,
            Geometry::ACube | Geometry::A2Ms => 4,
        }
    }

    /// How many parts a gradient has.
    pub fn gradients(&self) -> usize {
        if self.geometry.is_cube() { 3 } else { self.geometry.dimensions() }
    }
}

/// A query. Reads: the handle, the level. Writes the answer.
#[derive(Clone, Copy, Debug)]
pub struct Query {
    /// What is asked.
    pub member: Member,
    /// Whom: a texture, a sampler or a surface.
    pub of: Opaque,
    /// The one.
    pub handle: Handle,
    /// Whether there is a level.
    pub level: bool,
}

/// An access of a surface. Reads: the handle; coordinates, a layer before them; what is stored. Writes what is loaded.
#[derive(Clone, Copy, Debug)]
pub struct SurfaceOp {
    /// What is done.
    pub access: SurfaceAccess,
    /// Of what shape the surface is.
    pub geometry: Geometry,
    /// The surface.
    pub surface: Handle,
    /// What happens out of range.
    pub clamp: Clamp,
    /// Bytes of an element.
    pub bytes: u8,
    /// Elements.
    pub elements: u8,
}

/// What is done with a surface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SurfaceAccess {
    /// `suld.b`
    Load,
    /// `sust.b`
    Store,
    /// `sust.p`: texels, converted.
    StoreFormatted,
    /// `sured.b`
    Reduce(AtomicOp, Type),
    /// `sured.p`: x counts elements, and the surface says whether they have a sign.
    ReduceFormatted(AtomicOp, Type),
}

/// Handles of `.tex` variables count from here: they have no address.
const OLD_TEXTURES: u64 = 0x7d00_0000_0000_0000;

/// What stands for an opaque variable in registers: its address; `None` unless it is one at module scope.
pub fn handle_of(image: &Image, windows: &Windows, id: ObjectId, member: Option<u32>) -> Option<u64> {
    let object = image.object(id);
    let address = || image.address(windows, id, member);
    match object.space {
        StateSpace::Tex => Some(OLD_TEXTURES + address()?),
        StateSpace::Global if object.opaque().is_some() && object.is_at_module_scope() => address(),
        _ => None,
    }
}
