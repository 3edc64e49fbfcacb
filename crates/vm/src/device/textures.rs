//! The host's side of textures and surfaces: making arrays, binding them to variables of modules, and objects, which
//! belong to the device.
//!
//! ```
//! use softwarp_vm::device::{Device, Launch, LoadOptions};
//! use softwarp_vm::texture::array::ArrayDescription;
//! use softwarp_vm::texture::format::Format;
//! use softwarp_vm::texture::sampler::Sampler;
//! use softwarp_vm::texture::{Geometry, Source, Texture};
//!
//! let source = ".version 8.0\n.target sm_90\n.address_size 64\n.global .texref t;\n\
//!     .visible .entry k(.param .u64 out) { .reg .b32 %r<5>; .reg .b64 %o; ld.param.u64 %o, [out];\n\
//!     mov.b32 %r0, 0f40200000; tex.1d.v4.u32.f32 {%r1,%r2,%r3,%r4}, [t, {%r0}]; st.global.u32 [%o], %r1; ret; }";
//! let device = Device::load(&[source], LoadOptions::default()).expect("a valid module");
//! let format = Format::parse("u8x1").expect("a format");
//! let size = [4, 1, 1];
//! let row = ArrayDescription { format, geometry: Geometry::D1, size, layers: 1, levels: 1, samples: 1 };
//! let array = device.create_array(row).expect("room");
//! array.write(0, &[10, 20, 30, 40]).expect("a level");
//! let texture = Texture { source: Source::Array(array), sampler: Sampler::default(), integers: true };
//! device.bind_texture("t", texture).expect("a texture");
//! let out = device.allocate(4).expect("room");
//! device.launch(&Launch::new("k", [1; 3], [1; 3], &[out.to_le_bytes().to_vec()])).expect("no fault");
//! let mut result = [0; 4];
//! device.read(out, &mut result).expect("inside");
//! assert_eq!(result, [30, 0, 0, 0]);
//! ```

use super::{Device, ModuleId};
use crate::memory::global::lock;
use crate::texture::array::{Array, ArrayDescription};
use crate::texture::bind::{initial, mode, opaque};
use crate::texture::sampler::Sampler;
use crate::texture::{Bound, Source, Texture, TextureError};
use softwarp_image::{Image, Object, ObjectId};
use softwarp_ir::texture::handle_of;
use softwarp_isa::Opaque;
use std::sync::Arc;

/// Textures over memory begin at multiples of this.
const ALIGNMENT: u64 = 16;

/// The most texels of a texture over a row of memory, and over rows, as an H200 has them.
const MOST_TEXELS: u32 = 1 << 28;
const MOST_PITCHED: [u32; 2] = [131_072, 65_000];

impl Device {
    /// Makes an array of zeros. It exists for as long as there is a reference to it.
    pub fn create_array(&self, description: ArrayDescription) -> Result<Arc<Array>, TextureError> {
        Array::new(description, self.account()).map(Arc::new)
    }

    /// The sampler that a `.texref` or `.samplerref` variable of the first module begins with: what its
    /// initialiser says.
    pub fn initial_sampler(&self, name: &str) -> Option<Sampler> {
        self.initial_sampler_of(ModuleId::default(), name)
    }

    /// The sampler that a `.texref` or `.samplerref` variable of a module begins with.
    pub fn initial_sampler_of(&self, module: ModuleId, name: &str) -> Option<Sampler> {
        let module = self.module(module).ok()?;
        let (_, object) = opaque_variable(&module.image, name)?;
        Some(initial(object, 0, mode(&module.image)))
    }

    /// Whether a texture can be, with the memory that it shows.
    fn check_texture(&self, texture: &Texture) -> Result<(), TextureError> {
        let aligned = |what, value: u64, multiple: u64| match value.is_multiple_of(multiple) {
            true => Ok(()),
            false => Err(TextureError::Misaligned { what, value, multiple }),
        };
        let within = |what, given: u32, most: u32| match (1..=most).contains(&given) {
            true => Ok(()),
            false => Err(TextureError::Size { what, given, most }),
        };
        match texture.source {
            Source::Array(_) => {}
            Source::Linear { texels, .. } => within("texels", texels, MOST_TEXELS)?,
            Source::Pitch { width, height, .. } => {
                within("width", width, MOST_PITCHED[0])?;
                within("height", height, MOST_PITCHED[1])?;
            }
        }
        let texel = u64::from(texture.source.format().bytes());
        let (address, bytes) = match texture.source {
            Source::Array(_) => return Ok(()),
            Source::Linear { address, texels, .. } => (address, u64::from(texels) * texel),
            Source::Pitch { address, width, height, pitch, .. } => {
                aligned("pitch", pitch, texel.max(ALIGNMENT))?;
                let row = u64::from(width) * texel;
                if pitch < row {
                    return Err(TextureError::Size {
                        what: "width",
                        given: width,
                        most: (pitch / texel) as u32,
                    });
                }
                (address, pitch.saturating_mul(u64::from(height) - 1).saturating_add(row))
            }
        };
        aligned("address", address, ALIGNMENT)?;
        match self.has(address, bytes) {
            true => Ok(()),
            false => Err(TextureError::NotAllocated { address, bytes }),
        }
    }

    /// Binds a texture, a surface or a sampler to an opaque variable of a module. Launches that run do not see it.
    pub fn bind(&self, module: ModuleId, name: &str, bound: Bound) -> Result<(), TextureError> {
        if let Bound::Texture(texture) = &bound {
            self.check_texture(texture)?;
        }
        let wanted = match bound {
            Bound::Texture(_) => Opaque::Texref,
            Bound::Surface(_) => Opaque::Surfref,
            Bound::Sampler(_) => Opaque::Samplerref,
        };
        let missing = || TextureError::NoVariable { name: name.into() };
        let module = self.module(module).map_err(|_| missing())?;
        let (handle, object) = opaque_variable(&module.image, name).ok_or_else(missing)?;
        match opaque(object) {
            Some(is) if is != wanted => Err(TextureError::WrongVariable { name: name.into(), is }),
            _ => {
                Arc::make_mut(&mut lock(&module.references)).bound.insert(handle, bound);
                Ok(())
            }
        }
    }

    /// Binds a texture to a `.texref` or `.tex` variable of the first module.
    pub fn bind_texture(&self, name: &str, texture: Texture) -> Result<(), TextureError> {
        self.bind(ModuleId::default(), name, Bound::Texture(texture))
    }

    /// Binds a surface to a `.surfref` variable of the first module: the first level of an array.
    pub fn bind_surface(&self, name: &str, array: Arc<Array>) -> Result<(), TextureError> {
        self.bind(ModuleId::default(), name, Bound::Surface(array))
    }

    /// Gives a `.samplerref` variable of the first module other values than its initialiser's.
    pub fn bind_sampler(&self, name: &str, sampler: Sampler) -> Result<(), TextureError> {
        self.bind(ModuleId::default(), name, Bound::Sampler(sampler))
    }

    /// A texture object: a handle for kernels.
    pub fn texture_object(&self, texture: Texture) -> Result<u64, TextureError> {
        self.check_texture(&texture)?;
        Ok(self.make_object(Bound::Texture(texture)))
    }

    /// A texture object over memory that need not be there: lookups are faults where it is not.
    pub fn unchecked_texture_object(&self, texture: Texture) -> u64 {
        self.make_object(Bound::Texture(texture))
    }

    /// What an opaque variable of a module is for.
    pub fn opaque_variable(&self, module: ModuleId, name: &str) -> Option<Opaque> {
        let module = self.module(module).ok()?;
        opaque(opaque_variable(&module.image, name)?.1)
    }

    /// A surface object: a handle for kernels.
    pub fn surface_object(&self, array: Arc<Array>) -> u64 {
        self.make_object(Bound::Surface(array))
    }

    /// A sampler object, for the independent mode: a handle for kernels.
    pub fn sampler_object(&self, sampler: Sampler) -> u64 {
        self.make_object(Bound::Sampler(sampler))
    }

    /// Forgets an object: using its handle is a fault from then on.
    pub fn destroy_object(&self, handle: u64) -> bool {
        Arc::make_mut(&mut lock(&self.objects)).destroy(handle)
    }

    fn make_object(&self, bound: Bound) -> u64 {
        Arc::make_mut(&mut lock(&self.objects)).make(bound)
    }
}

/// An opaque variable of a module by name: its handle, and what it is.
fn opaque_variable<'a>(image: &'a Image, name: &str) -> Option<(u64, &'a Object)> {
    let named =
        |object: &Object| object.function.is_none() && &*object.name == name && opaque(object).is_some();
    let index = image.objects.iter().position(named)?;
    let id = ObjectId(index as u32);
    Some((handle_of(image, &image.windows, id, None)?, image.object(id)))
}
