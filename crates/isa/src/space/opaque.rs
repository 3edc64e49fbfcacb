//! Opaque types (PTX ISA section 5.3): handles of textures, samplers and surfaces, their named members and
//! what these may hold (Tables 10 to 13).

use std::fmt;

/// The opaque types: handles of textures, samplers and surfaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)] // The names are PTX's.
pub enum Opaque {
    Texref,
    Samplerref,
    Surfref,
}

impl Opaque {
    /// Every opaque type.
    pub const ALL: &[Opaque] = &[Opaque::Texref, Opaque::Samplerref, Opaque::Surfref];

    /// The name, without its dot.
    pub const fn name(self) -> &'static str {
        match self {
            Opaque::Texref => "texref",
            Opaque::Samplerref => "samplerref",
            Opaque::Surfref => "surfref",
        }
    }

    /// Finds an opaque type by its name, without its dot.
    pub fn from_name(name: &str) -> Option<Opaque> {
        Opaque::ALL.iter().copied().find(|opaque| opaque.name() == name)
    }

    /// Whether modules of a mode have it: samplers are the independent mode's.
    pub fn exists_in(self, mode: TextureMode) -> bool {
        self != Opaque::Samplerref || mode == TextureMode::Independent
    }
}

impl fmt::Display for Opaque {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, ".{}", self.name())
    }
}

/// How a module handles textures and samplers: its `.target` says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum TextureMode {
    /// A texture's handle carries its sampler too.
    #[default]
    Unified,
    /// Textures and samplers have handles of their own, combined where they are used.
    Independent,
}

/// A member of an opaque type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)] // The names are PTX's.
pub enum Member {
    Width,
    Height,
    Depth,
    ChannelDataType,
    ChannelOrder,
    NormalizedCoords,
    ForceUnnormalizedCoords,
    FilterMode,
    AddrMode0,
    AddrMode1,
    AddrMode2,
    ArraySize,
    NumMipmapLevels,
    NumSamples,
    MemoryLayout,
}

/// Whether a type has a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Standing {
    /// It has, and the member counts.
    Counts,
    /// It may be given, but nothing looks at it: the sampler's own value counts.
    Ignored,
    /// The type does not have the member.
    Absent,
}

/// A row of Tables 10 and 11 together: the standing on a texture in the unified and in the independent mode,
/// on a sampler, and on a surface (in both modes).
struct MemberRow {
    member: Member,
    name: &'static str,
    values: Values,
    unified_texture: Standing,
    texture: Standing,
    sampler: Standing,
    surface: Standing,
}

/// The tables disagree with the text on `addr_mode_*` of a texture in the independent mode: not applicable,
/// or ignored as `filter_mode` is. The assembler takes it and warns that it is ignored.
#[rustfmt::skip]
const ROWS: &[MemberRow] = {
    use {Member::*, Standing::{Absent as A, Counts as C, Ignored as I}, Values as V};
    const fn row(member: Member, name: &'static str, values: Values, standings: [Standing; 4]) -> MemberRow {
        let [unified_texture, texture, sampler, surface] = standings;
        MemberRow { member, name, values, unified_texture, texture, sampler, surface }
    }
    &[
        row(Width,                   "width",                     V::Number,          [C, C, A, C]),
        row(Height,                  "height",                    V::Number,          [C, C, A, C]),
        row(Depth,                   "depth",                     V::Number,          [C, C, A, C]),
        row(ChannelDataType,         "channel_data_type",         V::ChannelDataType, [C, C, A, C]),
        row(ChannelOrder,            "channel_order",             V::ChannelOrder,    [C, C, A, C]),
        row(NormalizedCoords,        "normalized_coords",         V::Flag,            [C, C, A, A]),
        row(ForceUnnormalizedCoords, "force_unnormalized_coords", V::Flag,            [A, A, C, A]),
        row(FilterMode,              "filter_mode",               V::FilterMode,      [C, I, C, A]),
        row(AddrMode0,               "addr_mode_0",               V::AddressMode,     [C, I, C, A]),
        row(AddrMode1,               "addr_mode_1",               V::AddressMode,     [C, I, C, A]),
        row(AddrMode2,               "addr_mode_2",               V::AddressMode,     [C, I, C, A]),
        row(ArraySize,               "array_size",                V::Number,          [C, C, A, C]),
        row(NumMipmapLevels,         "num_mipmap_levels",         V::Number,          [C, C, A, A]),
        row(NumSamples,              "num_samples",               V::Number,          [C, C, A, A]),
        row(MemoryLayout,            "memory_layout",             V::Flag,            [A, A, A, C]),
    ]
};

impl Member {
    /// Every member, in the order of the tables.
    pub fn all() -> impl Iterator<Item = Member> + Clone {
        ROWS.iter().map(|row| row.member)
    }

    fn row(self) -> &'static MemberRow {
        &ROWS[self as usize]
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// Finds a member by its name.
    pub fn from_name(name: &str) -> Option<Member> {
        ROWS.iter().find(|row| row.name == name).map(|row| row.member)
    }

    /// What it may hold.
    pub fn values(self) -> Values {
        self.row().values
    }

    /// Whether an opaque type has it in a mode.
    pub fn on(self, opaque: Opaque, mode: TextureMode) -> Standing {
        let row = self.row();
        match (opaque, mode) {
            (Opaque::Texref, TextureMode::Unified) => row.unified_texture,
            (Opaque::Texref, TextureMode::Independent) => row.texture,
            (Opaque::Samplerref, TextureMode::Unified) => Standing::Absent,
            (Opaque::Samplerref, TextureMode::Independent) => row.sampler,
            (Opaque::Surfref, _) => row.surface,
        }
    }
}

/// What a member may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Values {
    /// A number: of elements, textures, levels, samples.
    Number,
    /// 0 or 1.
    Flag,
    /// A row of [`CHANNEL_DATA_TYPES`].
    ChannelDataType,
    /// A row of [`CHANNEL_ORDERS`].
    ChannelOrder,
    /// A word of [`FILTER_MODES`].
    FilterMode,
    /// A word of [`ADDRESS_MODES`].
    AddressMode,
}

impl Values {
    /// The words it may hold; none where it holds numbers.
    pub const fn words(self) -> &'static [&'static str] {
        match self {
            Values::FilterMode => FILTER_MODES,
            Values::AddressMode => ADDRESS_MODES,
            _ => &[],
        }
    }

    /// Whether it may hold a number. The enumerations are the source language's: OpenCL's values are the
    /// only ones with names, but any number may be meant.
    pub const fn takes(self, number: u64) -> bool {
        match self {
            Values::Number | Values::ChannelDataType | Values::ChannelOrder => true,
            Values::Flag => number <= 1,
            Values::FilterMode | Values::AddressMode => false,
        }
    }
}

/// How texture reads compute their value from the coordinates.
pub const FILTER_MODES: &[&str] = &["nearest", "linear"];

/// What coordinates out of range do.
pub const ADDRESS_MODES: &[&str] = &["wrap", "mirror", "clamp_ogl", "clamp_to_edge", "clamp_to_border"];

/// Table 12: the channel data types of OpenCL 1.0, the only source language that gives the member a meaning.
pub const CHANNEL_DATA_TYPES: &[(&str, u32)] = &[
    ("CL_SNORM_INT8", 0x10D0),
    ("CL_SNORM_INT16", 0x10D1),
    ("CL_UNORM_INT8", 0x10D2),
    ("CL_UNORM_INT16", 0x10D3),
    ("CL_UNORM_SHORT_565", 0x10D4),
    ("CL_UNORM_SHORT_555", 0x10D5),
    ("CL_UNORM_INT_101010", 0x10D6),
    ("CL_SIGNED_INT8", 0x10D7),
    ("CL_SIGNED_INT16", 0x10D8),
    ("CL_SIGNED_INT32", 0x10D9),
    ("CL_UNSIGNED_INT8", 0x10DA),
    ("CL_UNSIGNED_INT16", 0x10DB),
    ("CL_UNSIGNED_INT32", 0x10DC),
    ("CL_HALF_FLOAT", 0x10DD),
    ("CL_FLOAT", 0x10DE),
];

/// Table 13: the channel orders of OpenCL 1.0.
pub const CHANNEL_ORDERS: &[(&str, u32)] = &[
    ("CL_R", 0x10B0),
    ("CL_A", 0x10B1),
    ("CL_RG", 0x10B2),
    ("CL_RA", 0x10B3),
    ("CL_RGB", 0x10B4),
    ("CL_RGBA", 0x10B5),
    ("CL_BGRA", 0x10B6),
    ("CL_ARGB", 0x10B7),
    ("CL_INTENSITY", 0x10B8),
    ("CL_LUMINANCE", 0x10B9),
];
