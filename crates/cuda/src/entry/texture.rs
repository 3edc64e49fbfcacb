//! Texture and surface objects (driver API: "Texture Object Management", "Surface Object Management").

use super::memory::second;
use crate::code::{Code, Done, ensure};
use crate::driver::Driver;
use crate::driver::report;
use crate::ffi::{In, Out};
use crate::handle::lock;
use crate::image::{Object, Resource, Sampling, Shown, View, format_of};
use softwarp::vm::texture::array::Array as Texels;
use softwarp::vm::texture::format::Format;
use softwarp::vm::texture::sampler::{AddressMode, Filter, Sampler};
use softwarp::vm::texture::{Geometry, Source, Texture};
use std::sync::Arc;

/// Textures over memory begin at multiples of this.
pub(crate) const ALIGNMENT: u64 = 512;

/// Rows of textures over memory are multiples of this.
const PITCH: u64 = 32;

/// The most texels of a texture over a row of memory.
const MOST_TEXELS: u64 = 1 << 30;

/// The most texels of a row, and the most rows, of a texture over rows of memory.
const MOST_PITCHED: [u64; 2] = [131_072, 65_000];

/// `CU_TRSF_*` flags.
pub(crate) mod flag {
    pub const INTEGERS: u32 = 1;
    pub const NORMALIZED: u32 = 2;
    pub const SRGB: u32 = 0x10;
    pub const SEAMLESS: u32 = 0x40;
    /// Flags that every texture can have.
    pub const COMMON: u32 = 0x3f;
}

/// `CUaddress_mode` as the machine has it.
pub(crate) fn address_mode(mode: u32) -> Result<AddressMode, Code> {
    Ok(match mode {
        0 => AddressMode::Wrap,
        1 => AddressMode::Clamp,
        2 => AddressMode::Mirror,
        3 => AddressMode::Border,
        _ => return Err(Code::INVALID_VALUE),
    })
}

/// `CUfilter_mode` as the machine has it.
pub(crate) fn filter(mode: u32) -> Result<Filter, Code> {
    Ok(match mode {
        0 => Filter::Point,
        1 => Filter::Linear,
        _ => return Err(Code::INVALID_VALUE),
    })
}

/// The sampler that is asked for.
pub(crate) fn sampler(sampling: &Sampling) -> Result<Sampler, Code> {
    let [x, y, z] = sampling.address;
    Ok(Sampler {
        address: [address_mode(x)?, address_mode(y)?, address_mode(z)?],
        filter: filter(sampling.filter)?,
        mip_filter: filter(sampling.mip_filter)?,
        normalized: sampling.flags & flag::NORMALIZED != 0,
        force_unnormalized: false,
        border: sampling.border,
    })
}

/// Bytes from an address on to the end of its allocation.
fn bytes_from(driver: &Driver, address: u64) -> Option<u64> {
    let block = driver.block(address)?;
    Some(block.bytes - (address - block.base))
}

/// A row of memory. What is not allocated behind an allocation is left out.
fn linear(driver: &Driver, address: u64, bytes: u64, format: Format) -> Result<Source, Code> {
    ensure(address != 0 && address.is_multiple_of(ALIGNMENT), Code::INVALID_VALUE)?;
    let texel = u64::from(format.bytes());
    ensure(bytes / texel <= MOST_TEXELS, Code::INVALID_VALUE)?;
    let there = bytes_from(driver, address).map_or(bytes, |there| bytes.min(there));
    let texels = u32::try_from((there / texel).max(1)).map_err(|_| Code::INVALID_VALUE)?;
    Ok(Source::Linear { address, texels, format })
}

/// Rows of memory. What is not allocated behind an allocation is left out.
fn pitched(driver: &Driver, place: [u64; 4], format: Format) -> Result<Source, Code> {
    let [address, width, height, pitch] = place;
    ensure(address != 0 && address.is_multiple_of(ALIGNMENT), Code::INVALID_VALUE)?;
    ensure(pitch.is_multiple_of(PITCH), Code::INVALID_VALUE)?;
    ensure(width <= MOST_PITCHED[0] && height <= MOST_PITCHED[1], Code::INVALID_VALUE)?;
    let (mut width, mut height) = (width.max(1), height.max(1));
    let texel = u64::from(format.bytes());
    if let Some(there) = bytes_from(driver, address) {
        width = width.min((there / texel).max(1));
        let rows = there.saturating_sub(width * texel).checked_div(pitch).unwrap_or(height - 1) + 1;
        height = height.min(rows);
    }
    Ok(Source::Pitch { address, width: width as u32, height: height as u32, pitch, format })
}

/// The texels of an array, for textures and surfaces: the machine shows arrays from their first level on.
pub(crate) fn texels(driver: &Driver, shown: Shown) -> Result<Arc<Texels>, Code> {
    match shown {
        Shown::Array(array) => {
            ensure(!array.is_null(), Code::INVALID_VALUE)?;
            let array = driver.images.array(array).map_err(|_| Code::INVALID_VALUE)?;
            ensure(!array.in_mipmap || array.texels.description.levels == 1, Code::NOT_SUPPORTED)?;
            Ok(array.texels.clone())
        }
        Shown::Mipmap(mipmap) => {
            ensure(!mipmap.is_null(), Code::INVALID_VALUE)?;
            let mipmap = driver.images.mipmap(mipmap).map_err(|_| Code::INVALID_VALUE)?;
            Ok(mipmap.texels.clone())
        }
        _ => Err(Code::INVALID_VALUE),
    }
}

/// The texels that are shown.
pub(crate) fn source(driver: &Driver, shown: Shown, format: u32, channels: u32) -> Result<Source, Code> {
    match shown {
        Shown::Nothing => Err(Code::INVALID_VALUE),
        Shown::Array(_) | Shown::Mipmap(_) => Ok(Source::Array(texels(driver, shown)?)),
        Shown::Linear(address, bytes) => linear(driver, address, bytes, format_of(format, channels)?),
        Shown::Pitch(address, width, height, pitch) => {
            pitched(driver, [address, width, height, pitch], format_of(format, channels)?)
        }
    }
}

/// Whether levels are read in a way that the machine has: without a bias, and all of them.
pub(crate) fn check_levels(source: &Source, bias: f32, clamp: [f32; 2]) -> Done {
    let Source::Array(texels) = source else { return Ok(()) };
    let levels = texels.description.levels;
    let is_whole = bias == 0.0 && clamp[0] <= 0.0 && clamp[1] >= (levels - 1) as f32;
    ensure(levels == 1 || is_whole, Code::NOT_SUPPORTED)
}

/// Whether a view shows all of what there is, as it is: the machine has no others.
fn check_view(view: &View, source: &Source) -> Done {
    ensure(view.reserved == [0; 16], Code::INVALID_VALUE)?;
    let Source::Array(texels) = source else { return Err(Code::INVALID_VALUE) };
    let it = &texels.description;
    let depth = if it.layers > 1 { it.layers } else { it.size[2] };
    let size = [it.size[0], it.size[1], depth].map(u64::from);
    let same_size = view.size.iter().zip(size).all(|(&given, size)| given.max(1) == size);
    let same_levels = view.levels == [0, it.levels - 1];
    let same_layers = view.layers == [0, 0] || view.layers == [0, it.layers - 1];
    ensure(view.format == view_format(it.format), Code::NOT_SUPPORTED)?;
    ensure(same_size && same_levels && same_layers, Code::NOT_SUPPORTED)
}

/// `CUresourceViewFormat` of texels: the types in their order, each with 1, 2 and 4 channels.
fn view_format(format: Format) -> u32 {
    use softwarp::vm::texture::format::Channel;
    let kind = match format.channel {
        Channel::U8 => 0,
        Channel::S8 => 1,
        Channel::U16 => 2,
        Channel::S16 => 3,
        Channel::U32 => 4,
        Channel::S32 => 5,
        Channel::F16 => 6,
        Channel::F32 => 7,
    };
    let channels = match format.channels {
        1 => 0,
        2 => 1,
        _ => 2,
    };
    1 + 3 * kind + channels
}

/// The texture that is asked for.
fn texture(driver: &Driver, resource: &Resource, sampling: &Sampling) -> Result<Texture, Code> {
    let (shown, format, channels) = resource.shown()?;
    ensure(resource.flags == 0 && sampling.reserved == [0; 12], Code::INVALID_VALUE)?;
    let source = source(driver, shown, format, channels)?;
    let sampler = sampler(sampling)?;
    let is_cube = matches!(source.geometry(), Geometry::Cube | Geometry::ACube);
    let possible = flag::COMMON | if is_cube { flag::SEAMLESS } else { 0 };
    ensure(sampling.flags & !possible == 0, Code::INVALID_VALUE)?;
    check_levels(&source, sampling.bias, sampling.clamp)?;
    let integers = sampling.flags & flag::INTEGERS != 0;
    if sampling.flags & flag::SRGB != 0 && !integers && source.format().channel.bytes() == 1 {
        report::write(driver, "softwarp: a texture is read as sRGB, which is not converted");
    }
    Ok(Texture { source, sampler, integers })
}

/// How a texture reads, as it is told: only coordinates that go from 0 to 1 wrap around or are mirrored.
fn told(mut sampling: Sampling) -> Sampling {
    const CLAMP: u32 = 1;
    if sampling.flags & flag::NORMALIZED == 0 {
        sampling.address = sampling.address.map(|mode| if matches!(mode, 0 | 2) { CLAMP } else { mode });
    }
    sampling
}

fn object(driver: &Driver, handle: u64) -> Result<Object, Code> {
    lock(&driver.images.objects).get(&handle).copied().ok_or(Code::INVALID_VALUE)
}

fn destroy(handle: u64) -> Done {
    let (driver, context) = second()?;
    if lock(&driver.images.objects).remove(&handle).is_some() {
        driver.synchronize(&context)?;
        lock(&driver.images.retired).push(handle);
    }
    Ok(())
}

/// Keeps what an object was made from, and forgets those that were destroyed before.
fn keep(driver: &Driver, handle: u64, object: Object) {
    for old in std::mem::take(&mut *lock(&driver.images.retired)) {
        driver.machine.destroy_object(old);
    }
    lock(&driver.images.objects).insert(handle, object);
}

crate::entries! {
    /// Makes a texture object.
    fn cuTexObjectCreate(to: Out<u64>, resource: In<Resource>, sampling: In<Sampling>, view: In<View>) {
        let (driver, _) = second()?;
        to.required()?;
        let (resource, sampling) = (resource.get()?, sampling.get()?);
        let made = texture(driver, &resource, &sampling)?;
        let view = if view.is_null() { None } else { Some(view.get()?) };
        if let Some(view) = &view {
            check_view(view, &made.source)?;
        }
        let handle = driver.machine.unchecked_texture_object(made);
        keep(driver, handle, Object { resource, sampling: Some(told(sampling)), view });
        to.set(handle)
    }

    /// Destroys a texture object. What is none is accepted.
    fn cuTexObjectDestroy(handle: u64) {
        destroy(handle)
    }

    /// What a texture object shows.
    fn cuTexObjectGetResourceDesc(to: Out<Resource>, handle: u64) {
        let (driver, _) = second()?;
        to.required()?;
        to.set(object(driver, handle)?.resource)
    }

    /// How a texture object reads.
    fn cuTexObjectGetTextureDesc(to: Out<Sampling>, handle: u64) {
        let (driver, _) = second()?;
        to.required()?;
        to.set(object(driver, handle)?.sampling.ok_or(Code::INVALID_VALUE)?)
    }

    /// The view of a texture object. Without one, nothing is written.
    fn cuTexObjectGetResourceViewDesc(to: Out<View>, handle: u64) {
        let (driver, _) = second()?;
        to.required()?;
        if let Some(view) = object(driver, handle)?.view {
            to.set_if_any(view);
        }
        Ok(())
    }

    /// Makes a surface object.
    fn cuSurfObjectCreate(to: Out<u64>, resource: In<Resource>) {
        let (driver, _) = second()?;
        to.required()?;
        let resource = resource.get()?;
        let (shown, ..) = resource.shown()?;
        ensure(matches!(shown, Shown::Array(_)) && resource.flags == 0, Code::INVALID_VALUE)?;
        let handle = driver.machine.surface_object(texels(driver, shown)?);
        keep(driver, handle, Object { resource, sampling: None, view: None });
        to.set(handle)
    }

    /// Destroys a surface object. What is none is accepted.
    fn cuSurfObjectDestroy(handle: u64) {
        destroy(handle)
    }

    /// What a surface object shows.
    fn cuSurfObjectGetResourceDesc(to: Out<Resource>, handle: u64) {
        let (driver, _) = second()?;
        to.required()?;
        to.set(object(driver, handle)?.resource)
    }
}
