//! What `txq` and `suq` answer (PTX ISA sections 9.7.10.5 and 9.7.11.4). CUDA's driver has sizes only; the rest is as the
//! manual says, with OpenCL's numbers for channels.

use super::array::{Array, ArrayDescription};
use super::format::{Channel, Format};
use super::sampler::{AddressMode, Filter, Sampler};
use super::{Bound, Geometry, Source, Texture, Textures};
use crate::fault::BadTexture;
use softwarp_isa::Opaque;
use softwarp_isa::space::opaque::{CHANNEL_DATA_TYPES, CHANNEL_ORDERS, Member};

/// What `txq` and `suq` answer; of a level, if one is given. Without anything bound, what the initialiser says.
///
/// Sizes are as an H200 gives them: layers stand where the next dimension would.
pub(crate) fn answer(
    textures: &Textures,
    handle: u64,
    of: Opaque,
    member: Member,
    level: Option<i32>,
) -> Result<u32, BadTexture> {
    let variable = textures.variable(handle);
    let name = || variable.map_or_else(|| format!("handle 0x{handle:x}"), |it| it.name.to_string());
    let wrong = |is, wanted| Err(BadTexture::Kind { name: name(), is, wanted });
    match (textures.find(handle), of) {
        (Some(Bound::Texture(texture)), Opaque::Texref) => Ok(of_texture(texture, member, level)),
        (Some(Bound::Surface(array)), Opaque::Surfref) => Ok(of_surface(array, member)),
        (Some(Bound::Sampler(sampler)), Opaque::Samplerref) => Ok(of_sampler(sampler, member)),
        (Some(bound), Opaque::Texref) => wrong(bound.words(), "a texture"),
        (Some(bound), Opaque::Surfref) => wrong(bound.words(), "a surface"),
        (Some(bound), Opaque::Samplerref) => wrong(bound.words(), "a sampler"),
        (None, _) => match variable {
            None => Err(BadTexture::NoHandle { handle, wanted: "a texture, sampler or surface" }),
            Some(variable) => {
                let given = variable.members.iter().find(|(known, _)| *known == member);
                let missing = BadTexture::NoAnswer { name: name(), member: member.name() };
                given.map(|(_, value)| *value).ok_or(missing)
            }
        },
    }
}

fn of_sampler(sampler: &Sampler, member: Member) -> u32 {
    let address = |n: usize| match sampler.address[n] {
        AddressMode::Wrap => 0,
        AddressMode::Mirror => 1,
        AddressMode::Clamp => 3,
        AddressMode::Border => 4,
    };
    match member {
        Member::FilterMode => u32::from(sampler.filter == Filter::Linear),
        Member::AddrMode0 => address(0),
        Member::AddrMode1 => address(1),
        Member::AddrMode2 => address(2),
        Member::NormalizedCoords => u32::from(sampler.normalized),
        Member::ForceUnnormalizedCoords => u32::from(sampler.force_unnormalized),
        _ => 0,
    }
}

fn of_texture(texture: &Texture, member: Member, level: Option<i32>) -> u32 {
    match &texture.source {
        Source::Array(array) => {
            let description = &array.description;
            match member {
                Member::Width | Member::Height | Member::Depth => {
                    let level =
                        u32::try_from(level.unwrap_or(0)).ok().filter(|&level| level < description.levels);
                    // A texture of one dimension has a row to the hardware, a surface none.
                    let row = u32::from(description.geometry == Geometry::D1 && member == Member::Height);
                    level.map_or(0, |level| size(description, level, member).max(row))
                }
                Member::NumMipmapLevels if description.levels > 1 => description.levels,
                Member::NumSamples if description.geometry.is_multisampled() => description.samples,
                Member::ArraySize => array_size(description),
                Member::ChannelDataType => data_type(description.format, !texture.integers),
                Member::ChannelOrder => order(description.format),
                member => of_sampler(&texture.sampler, member),
            }
        }
        Source::Linear { texels, format, .. } => match member {
            Member::Width if level.unwrap_or(0) == 0 => *texels,
            Member::MemoryLayout => 1,
            Member::ChannelDataType => data_type(*format, !texture.integers),
            Member::ChannelOrder => order(*format),
            member => of_sampler(&texture.sampler, member),
        },
        Source::Pitch { width, height, format, .. } => match member {
            Member::Width if level.unwrap_or(0) == 0 => *width,
            Member::Height if level.unwrap_or(0) == 0 => *height,
            Member::MemoryLayout => 1,
            Member::ChannelDataType => data_type(*format, !texture.integers),
            Member::ChannelOrder => order(*format),
            member => of_sampler(&texture.sampler, member),
        },
    }
}

fn of_surface(array: &Array, member: Member) -> u32 {
    match member {
        Member::Width | Member::Height | Member::Depth => size(&array.description, 0, member),
        Member::ArraySize => array_size(&array.description),
        Member::ChannelDataType => data_type(array.description.format, false),
        Member::ChannelOrder => order(array.description.format),
        _ => 0,
    }
}

/// Width, height or depth of a level, with layers behind the dimensions that there are; 0 for what is not there.
fn size(description: &ArrayDescription, level: u32, member: Member) -> u32 {
    let [width, height, depth] = description.level_size(level);
    let layers = description.layers;
    match (member, description.geometry) {
        (Member::Width, _) => width,
        (Member::Height, Geometry::D1) => 0,
        (Member::Height, Geometry::A1) => layers,
        (Member::Height, _) => height,
        (_, Geometry::D3) => depth,
        (_, Geometry::A2 | Geometry::A2Ms) => layers,
        (_, Geometry::ACube) => layers / 6,
        _ => 0,
    }
}

fn array_size(description: &ArrayDescription) -> u32 {
    match description.geometry {
        Geometry::ACube => description.layers / 6,
        geometry if geometry.is_layered() => description.layers,
        _ => 0,
    }
}

/// OpenCL's name for a channel's type (Table 12).
fn data_type(format: Format, fractions: bool) -> u32 {
    let name = match (format.channel, fractions) {
        (Channel::U8, true) => "CL_UNORM_INT8",
        (Channel::U16, true) => "CL_UNORM_INT16",
        (Channel::S8, true) => "CL_SNORM_INT8",
        (Channel::S16, true) => "CL_SNORM_INT16",
        (Channel::U8, false) => "CL_UNSIGNED_INT8",
        (Channel::U16, false) => "CL_UNSIGNED_INT16",
        (Channel::S8, false) => "CL_SIGNED_INT8",
        (Channel::S16, false) => "CL_SIGNED_INT16",
        (Channel::U32, _) => "CL_UNSIGNED_INT32",
        (Channel::S32, _) => "CL_SIGNED_INT32",
        (Channel::F16, _) => "CL_HALF_FLOAT",
        (Channel::F32, _) => "CL_FLOAT",
    };
    CHANNEL_DATA_TYPES.iter().find(|(known, _)| *known == name).map_or(0, |(_, value)| *value)
}

/// OpenCL's name for how many channels there are (Table 13).
fn order(format: Format) -> u32 {
    let name = match format.channels {
        1 => "CL_R",
        2 => "CL_RG",
        _ => "CL_RGBA",
    };
    CHANNEL_ORDERS.iter().find(|(known, _)| *known == name).map_or(0, |(_, value)| *value)
}
