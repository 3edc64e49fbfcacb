//! Arrays of texels, and textures and surfaces that show them.

use super::{Done, Driver, Module, c_string, call, zeros};
use crate::error::DriverError;
use crate::job;
use crate::raw::{ArrayDescriptor, Copy3D, CopySide, Handle, PlaneDescriptor, Resource, TextureDescriptor};
use std::marker::PhantomData;
use std::ptr::{null, null_mut};

/// A texture or surface variable of a module.
#[derive(Debug)]
pub struct Reference<'m>(Handle, PhantomData<&'m Module>);

/// An array, with or without levels.
#[derive(Debug)]
pub struct Array {
    handle: Handle,
    mipmapped: bool,
}

/// A texture or surface object.
#[derive(Debug)]
pub struct Object {
    handle: u64,
    surface: bool,
}

impl Object {
    /// What kernels get.
    pub fn handle(&self) -> u64 {
        self.handle
    }
}

/// Where the texels of a texture are, on the device.
#[derive(Debug)]
pub enum Source<'a> {
    /// In an array.
    Array(&'a Array),
    /// Bytes at an address.
    Linear(u64, u64),
    /// In rows.
    Pitched {
        /// The address.
        address: u64,
        /// Texels of a row.
        width: u64,
        /// Rows.
        height: u64,
        /// Bytes from a row to the next.
        pitch: u64,
    },
}

impl Driver {
    /// An array, with what its levels hold.
    pub fn array(&self, wanted: &job::Array, levels: &[&[u8]]) -> Done<Array> {
        let mut handle = null_mut();
        let &job::Array { size, format, channels, flags, .. } = wanted;
        let descriptor = ArrayDescriptor { size, format, channels, flags };
        let mipmapped = levels.len() > 1;
        if mipmapped {
            let count = levels.len() as u32;
            call!(self, cuMipmappedArrayCreate(&raw mut handle, &raw const descriptor, count))?;
        } else {
            call!(self, cuArray3DCreate_v2(&raw mut handle, &raw const descriptor))?;
        }
        let array = Array { handle, mipmapped };
        for (level, bytes) in levels.iter().enumerate() {
            let mut whole = zeros(level_bytes(wanted, level))?;
            let length = whole.len().min(bytes.len());
            whole[..length].copy_from_slice(&bytes[..length]);
            self.copy(&array, wanted, level, &mut whole, true)?;
        }
        Ok(array)
    }

    /// What the first level of an array holds.
    pub fn read_array(&self, array: &Array, wanted: &job::Array) -> Done<Vec<u8>> {
        let mut bytes = zeros(level_bytes(wanted, 0))?;
        self.copy(array, wanted, 0, &mut bytes, false)?;
        Ok(bytes)
    }

    /// Copies to or from a level; `bytes` has those of the whole level.
    fn copy(&self, array: &Array, wanted: &job::Array, level: usize, bytes: &mut [u8], to: bool) -> Done<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        let mut handle = array.handle;
        if array.mipmapped {
            call!(self, cuMipmappedArrayGetLevel(&raw mut handle, array.handle, level as u32))?;
        }
        let [width, height, depth] = wanted.level(level);
        let row = width * wanted.texel;
        let host =
            CopySide { kind: 1, host: bytes.as_mut_ptr().cast(), pitch: row, height, ..CopySide::NONE };
        let texels = CopySide { kind: 3, array: handle, ..CopySide::NONE };
        let (from, to) = if to { (host, texels) } else { (texels, host) };
        let copy = Copy3D { from, to, size: [row, height, depth] };
        // The host's side has row · height · depth bytes, which is what `level_bytes` says.
        call!(self, cuMemcpy3D_v2(&raw const copy))
    }

    /// Destroys an array.
    pub fn destroy_array(&self, array: Array) -> Done<()> {
        match array.mipmapped {
            true => call!(self, cuMipmappedArrayDestroy(array.handle)),
            false => call!(self, cuArrayDestroy(array.handle)),
        }
    }

    /// A surface object.
    pub fn surface_object(&self, array: &Array) -> Done<Object> {
        let (mut handle, resource) = (0, resource_of(array));
        call!(self, cuSurfObjectCreate(&raw mut handle, &raw const resource))?;
        Ok(Object { handle, surface: true })
    }

    /// A texture object.
    pub fn texture_object(&self, source: &Source<'_>, texture: &job::Texture, levels: usize) -> Done<Object> {
        let sampling = &texture.sampling;
        let integers = u32::from(sampling.integers);
        let descriptor = TextureDescriptor {
            // Clamping, which is 1.
            address: sampling.address.unwrap_or([1; 3]),
            filter: sampling.filter.unwrap_or(0),
            flags: integers | u32::from(sampling.normalized.unwrap_or(false)) << 1,
            mip_filter: sampling.mip_filter.unwrap_or(0),
            mip_clamp: [0.0, levels.saturating_sub(1) as f32],
            border: sampling.border.unwrap_or_default(),
            ..TextureDescriptor::default()
        };
        let resource = match source {
            Source::Array(array) => resource_of(array),
            Source::Linear(address, bytes) => {
                resource(2, &[*address, words(texture.format, texture.channels), *bytes])
            }
            Source::Pitched { address, width, height, pitch } => {
                let format = words(texture.format, texture.channels);
                resource(3, &[*address, format, *width, *height, *pitch])
            }
        };
        let mut handle = 0;
        let (resource, descriptor) = (&raw const resource, &raw const descriptor);
        call!(self, cuTexObjectCreate(&raw mut handle, resource, descriptor, null()))?;
        Ok(Object { handle, surface: false })
    }

    /// Destroys an object.
    pub fn destroy_object(&self, object: Object) -> Done<()> {
        match object.surface {
            true => call!(self, cuSurfObjectDestroy(object.handle)),
            false => call!(self, cuTexObjectDestroy(object.handle)),
        }
    }

    /// Binds an array to a surface variable.
    pub fn bind_surface(&self, module: &Module, name: &str, array: &Array) -> Done<()> {
        let (mut reference, name) = (null_mut(), c_string(name)?);
        call!(self, cuModuleGetSurfRef(&raw mut reference, module.0, name.as_ptr()))?;
        call!(self, cuSurfRefSetArray(reference, array.handle, 0))
    }

    /// Binds a texture variable.
    pub fn bind_texture(
        &self,
        module: &Module,
        source: &Source<'_>,
        texture: &job::Texture,
        levels: usize,
    ) -> Done<()> {
        let (mut reference, name) = (null_mut(), c_string(&texture.name)?);
        call!(self, cuModuleGetTexRef(&raw mut reference, module.0, name.as_ptr()))?;
        let reference = Reference::<'_>(reference, PhantomData);
        self.set_sampling(&reference, texture)?;
        match source {
            Source::Linear(address, bytes) => {
                let (mut offset, bytes) = (0, *bytes as usize);
                call!(self, cuTexRefSetAddress_v2(&raw mut offset, reference.0, *address, bytes))?;
                match offset {
                    0 => Ok(()),
                    _ => Err(DriverError::Unusable("its memory is not aligned for a texture".to_owned())),
                }
            }
            Source::Pitched { address, width, height, pitch } => {
                let (format, channels) = (texture.format, texture.channels);
                let plane = PlaneDescriptor { width: *width, height: *height, format, channels };
                let pitch = *pitch as usize;
                call!(self, cuTexRefSetAddress2D_v3(reference.0, &raw const plane, *address, pitch))
            }
            // CU_TRSA_OVERRIDE_FORMAT
            Source::Array(array) if array.mipmapped => {
                let most = levels.saturating_sub(1) as f32;
                call!(self, cuTexRefSetMipmapLevelClamp(reference.0, 0.0, most))?;
                call!(self, cuTexRefSetMipmappedArray(reference.0, array.handle, 1))
            }
            Source::Array(array) => call!(self, cuTexRefSetArray(reference.0, array.handle, 1)),
        }
    }

    fn set_sampling(&self, reference: &Reference<'_>, texture: &job::Texture) -> Done<()> {
        let sampling = &texture.sampling;
        call!(self, cuTexRefSetFormat(reference.0, texture.format, texture.channels as i32))?;
        if let Some(filter) = sampling.filter {
            call!(self, cuTexRefSetFilterMode(reference.0, filter))?;
        }
        if let Some(filter) = sampling.mip_filter {
            call!(self, cuTexRefSetMipmapFilterMode(reference.0, filter))?;
        }
        let linear = matches!(texture.texels, job::Texels::Linear { .. });
        for (dimension, mode) in sampling.address.iter().filter(|_| !linear).flatten().enumerate() {
            call!(self, cuTexRefSetAddressMode(reference.0, dimension as i32, *mode))?;
        }
        if let Some(mut border) = sampling.border.filter(|_| !linear) {
            call!(self, cuTexRefSetBorderColor(reference.0, border.as_mut_ptr()))?;
        }
        let mut flags = 0;
        call!(self, cuTexRefGetFlags(&raw mut flags, reference.0))?;
        let normalized = sampling.normalized.map_or(flags & 2, |yes| u32::from(yes) << 1);
        let flags = flags & !3 | u32::from(sampling.integers) | normalized;
        call!(self, cuTexRefSetFlags(reference.0, flags))
    }
}

/// Two words of 32 bits beside one another.
fn words(low: u32, high: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

fn resource(kind: u32, given: &[u64]) -> Resource {
    let mut members = [0; 16];
    members.iter_mut().zip(given).for_each(|(to, from)| *to = *from);
    Resource { kind, members, flags: 0 }
}

fn resource_of(array: &Array) -> Resource {
    resource(u32::from(array.mipmapped), &[array.handle as u64])
}

fn level_bytes(array: &job::Array, level: usize) -> u64 {
    array.level(level).iter().fold(array.texel, |bytes, size| bytes.saturating_mul(*size))
}
