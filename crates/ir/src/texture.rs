//! Operations of textures and surfaces (PTX ISA sections 9.7.10 and 9.7.11).

use crate::{AtomicOp, Slot};
use softwarp_image::{Image, ObjectId, Windows};
use softwarp_isa::space::opaque::Member;
use softwarp_isa::{Opaque, StateSpace, Type};
use softwarp_units::texture::{Clamp, Geometry};

/// The texture, sampler or surface that an instruction uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handle {
    /// A variable, by its handle.
    Known(u64),
    /// A handle in a register.
    Register(Slot),
}

/// How a lookup chooses levels of detail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Detail {
    /// The first level.
    Base,
    /// As an operand says.
    Level(Slot),
    /// From gradients: along x, and along y.
    Gradient([Vec<Slot>; 2]),
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

/// `tex`, `tld4`
#[derive(Clone, Debug)]
pub struct Lookup {
    /// The values.
    pub d: Vec<Slot>,
    /// The predicate that says whether all texels are resident.
    pub resident: Option<Slot>,
    /// The texture.
    pub texture: Handle,
    /// A sampler of its own.
    pub sampler: Option<Handle>,
    /// The coordinates, a layer or sample before them.
    pub coordinates: Vec<Slot>,
    /// Which level of detail.
    pub detail: Detail,
    /// Offsets in texels, if there are any.
    pub offsets: Vec<Slot>,
    /// The geometry of the texture.
    pub geometry: Geometry,
    /// Coordinates are texels' numbers.
    pub integers: bool,
    /// `tld4`: which channel of four texels.
    pub gather: Option<u8>,
    /// The width of the values.
    pub values: Values,
}

impl Lookup {
    /// How many coordinates a geometry has, with a layer or sample.
    pub fn coordinates(geometry: Geometry) -> usize {
        match geometry {
            Geometry::D1 => 1,
            Geometry::D2 | Geometry::A1 => 2,
            Geometry::D3 | Geometry::A2 | Geometry::Cube | Geometry::D2Ms => 3,
            Geometry::ACube | Geometry::A2Ms => 4,
        }
    }

    /// How many parts a gradient has for a geometry.
    pub fn gradients(geometry: Geometry) -> usize {
        if geometry.is_cube() { 3 } else { geometry.dimensions() }
    }
}

/// `txq`, `suq`
#[derive(Clone, Debug)]
pub struct Query {
    /// The answer.
    pub d: Slot,
    /// The texture, sampler or surface.
    pub handle: Handle,
    /// The level of detail.
    pub level: Option<Slot>,
    /// The member that is read.
    pub member: Member,
    /// Of what: a texture, a sampler or a surface.
    pub of: Opaque,
}

/// `istypep`
#[derive(Clone, Debug)]
pub struct IsType {
    /// The predicate.
    pub d: Slot,
    /// The pointer.
    pub pointer: Slot,
    /// The type.
    pub opaque: Opaque,
}

/// `suld`, `sust`, `sured`
#[derive(Clone, Debug)]
pub struct SurfaceOp {
    /// The rows that are loaded.
    pub d: Vec<Slot>,
    /// The surface.
    pub surface: Handle,
    /// The coordinates, a layer before them.
    pub coordinates: Vec<Slot>,
    /// What is stored.
    pub data: Vec<Slot>,
    /// What is done.
    pub access: SurfaceAccess,
    /// The geometry of the surface.
    pub geometry: Geometry,
    /// What happens out of range.
    pub clamp: Clamp,
    /// Bytes of an element.
    pub bytes: u8,
}

impl SurfaceOp {
    /// How many elements are loaded or stored.
    pub fn elements(&self) -> usize {
        self.d.len().max(self.data.len())
    }
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
#[allow(clippy::wildcard_enum_match_arm, reason = "variables in other spaces are no opaque ones")]
pub fn handle_of(image: &Image, windows: &Windows, id: ObjectId, member: Option<u32>) -> Option<u64> {
    let object = image.object(id);
    let address = || image.address(windows, id, member);
    match object.space {
        StateSpace::Tex => Some(OLD_TEXTURES + address()?),
        StateSpace::Global if object.opaque().is_some() && object.is_at_module_scope() => address(),
        _ => None,
    }
}
