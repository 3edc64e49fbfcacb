//! Textures, samplers and surfaces of a machine (docs/textures.md). They are bound to variables of the module by name,
//! or passed as handles:
//!
//! ```
//! use softwarp::machine::{ArrayDescription, Filter, Format, Sampler, Texture};
//! use softwarp::{Device, Module};
//!
//! let between = "
//!     .version 8.0
//!     .target sm_90
//!     .address_size 64
//!     .global .texref ramp;
//!     .visible .entry between(.param .u64 texture, .param .u64 surface)
//!     {
//!         .reg .b64 %texture, %surface;
//!         .reg .b32 %x, %y;
//!         .reg .f32 %at, %a, %b, %zero<3>;
//!         ld.param.u64 %texture, [texture];
//!         ld.param.u64 %surface, [surface];
//!         mov.u32 %x, %tid.x;
//!         mov.u32 %y, 0;
//!         cvt.rn.f32.u32 %at, %x;
//!         add.f32 %at, %at, 1.0;
//!         tex.1d.v4.f32.f32 {%a, %zero0, %zero1, %zero2}, [ramp, {%at}];
//!         tex.1d.v4.f32.f32 {%b, %zero0, %zero1, %zero2}, [%texture, {%at}];
//!         add.f32 %a, %a, %b;
//!         shl.b32 %x, %x, 2;
//!         sust.b.2d.b32.trap [%surface, {%x, %y}], {%a};
//!         ret;
//!     }";
//! let device = Device::new(&Module::from_ptx(between)?)?;
//! let format = Format::parse("f32x1").expect("one float");
//! let ramp = device.array(ArrayDescription::row(format, 4), &[0.0f32, 1.0, 2.0, 4.0])?;
//! let steps = device.array(ArrayDescription::row(format, 4), &[0.0f32, 100.0, 200.0, 300.0])?;
//! let result = device.array(ArrayDescription::plane(format, 3, 1), &[0.0f32; 3])?;
//!
//! // By name, between the texels; by a handle, the nearest of them.
//! let linear = Sampler { filter: Filter::Linear, ..Sampler::default() };
//! device.bind_texture("ramp", Texture { sampler: linear, ..Texture::from(&ramp) })?;
//! let nearest = device.texture_object((&steps).into())?;
//! let surface = device.surface_object(&result);
//! device.launch("between", 1, 3, 0, &[nearest.into(), surface.into()])?;
//! assert_eq!(device.texels::<f32>(&result, 0)?, [100.5, 201.5, 303.0]);
//! # Ok::<(), softwarp::machine::Error>(())
//! ```

use super::value::{bytes_of, elements_of};
use super::{Device, Element, Error, Handle};
use crate::vm::texture::Texture;
use crate::vm::texture::array::{Array, ArrayDescription};
use crate::vm::texture::sampler::Sampler;
use std::sync::Arc;

impl Device {
    /// An array of texels. What its first level holds comes row by row without gaps; behind it are zeros.
    pub fn array<T: Element>(
        &self,
        description: ArrayDescription,
        elements: &[T],
    ) -> Result<Arc<Array>, Error> {
        let array = self.machine.create_array(description)?;
        self.write_texels(&array, 0, elements)?;
        Ok(array)
    }

    /// Fills a level of an array.
    pub fn write_texels<T: Element>(&self, array: &Array, level: u32, elements: &[T]) -> Result<(), Error> {
        Ok(array.write(level, &bytes_of(elements))?)
    }

    /// What a level of an array holds, row by row without gaps.
    pub fn texels<T: Element>(&self, array: &Array, level: u32) -> Result<Vec<T>, Error> {
        Ok(elements_of(&array.read(level)?))
    }

    /// Binds a texture to a `.texref` variable.
    pub fn bind_texture(&self, name: &str, texture: Texture) -> Result<(), Error> {
        Ok(self.machine.bind_texture(name, texture)?)
    }

    /// Binds the first level of an array to a `.surfref` variable.
    pub fn bind_surface(&self, name: &str, array: &Arc<Array>) -> Result<(), Error> {
        Ok(self.machine.bind_surface(name, array.clone())?)
    }

    /// Gives a `.samplerref` variable other values than its initialiser's.
    pub fn bind_sampler(&self, name: &str, sampler: Sampler) -> Result<(), Error> {
        Ok(self.machine.bind_sampler(name, sampler)?)
    }

    /// A texture that kernels know by a handle.
    pub fn texture_object(&self, texture: Texture) -> Result<Handle, Error> {
        Ok(Handle(self.machine.texture_object(texture)?))
    }

    /// A surface that kernels know by a handle.
    pub fn surface_object(&self, array: &Arc<Array>) -> Handle {
        Handle(self.machine.surface_object(array.clone()))
    }

    /// A sampler that kernels know by a handle, in the independent mode.
    pub fn sampler_object(&self, sampler: Sampler) -> Handle {
        Handle(self.machine.sampler_object(sampler))
    }

    /// Forgets a handle: to use it is a fault from then on.
    pub fn forget(&self, handle: Handle) {
        self.machine.destroy_object(handle.0);
    }
}
