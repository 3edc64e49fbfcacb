//! Textures (PTX ISA sections 5.3 and 9.7.10) without memory: formats of texels, samplers, filters, levels of detail.
//!
//! [`mod@format`] says what a texel is made of. [`sampler`] turns coordinates into texels and weights, [`cube`]
//! directions into faces, [`level`] gradients into levels of detail. [`filter`] has the weighted sums, rounded as an
//! H200 rounds them.

pub mod cube;
pub mod filter;
pub mod format;
pub mod level;
pub mod sampler;
pub mod short;

/// How texels are arranged, as instructions name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // Their names are in [`Geometry::name`].
pub enum Geometry {
    D1,
    D2,
    D3,
    A1,
    A2,
    Cube,
    ACube,
    D2Ms,
    A2Ms,
}

impl Geometry {
    /// Every one.
    pub const ALL: &[Geometry] = &[
        Geometry::D1,
        Geometry::D2,
        Geometry::D3,
        Geometry::A1,
        Geometry::A2,
        Geometry::Cube,
        Geometry::ACube,
        Geometry::D2Ms,
        Geometry::A2Ms,
    ];

    /// Its word in a mnemonic.
    #[inline]
    pub const fn name(self) -> &'static str {
        match self {
            Geometry::D1 => "1d",
            Geometry::D2 => "2d",
            Geometry::D3 => "3d",
            Geometry::A1 => "a1d",
            Geometry::A2 => "a2d",
            Geometry::Cube => "cube",
            Geometry::ACube => "acube",
            Geometry::D2Ms => "2dms",
            Geometry::A2Ms => "a2dms",
        }
    }

    /// Finds one by its word.
    #[inline]
    pub fn from_name(name: &str) -> Option<Geometry> {
        Geometry::ALL.iter().copied().find(|geometry| geometry.name() == name)
    }

    /// Dimensions of a slice: how many coordinates choose a texel there.
    #[inline]
    pub const fn dimensions(self) -> usize {
        match self {
            Geometry::D1 | Geometry::A1 => 1,
            Geometry::D3 => 3,
            _ => 2,
        }
    }

    /// Whether the first coordinate is a layer.
    #[inline]
    pub const fn is_layered(self) -> bool {
        matches!(self, Geometry::A1 | Geometry::A2 | Geometry::ACube | Geometry::A2Ms)
    }

    /// Whether coordinates are directions.
    #[inline]
    pub const fn is_cube(self) -> bool {
        matches!(self, Geometry::Cube | Geometry::ACube)
    }

    /// Whether texels have samples.
    #[inline]
    pub const fn is_multisampled(self) -> bool {
        matches!(self, Geometry::D2Ms | Geometry::A2Ms)
    }

    /// Whether an instruction of this geometry can be used on an array of that one: its own, and the faces of cubes
    /// as layers.
    #[inline]
    pub fn reads(self, array: Geometry) -> bool {
        self == array || (self == Geometry::A2 && array.is_cube())
    }
}

/// What accesses out of range do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Clamp {
    /// They stop the launch.
    Trap,
    /// They go to the nearest place.
    Clamp,
    /// They read zero and write nothing.
    Zero,
}
