//! The host's side of textures and surfaces: making arrays, binding them to variables, and handles.
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
//! let mut device = Device::load(&[source], LoadOptions::default()).expect("a valid module");
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

use super::array::{Array, ArrayDescription};
use super::sampler::{AddressMode, Filter, Sampler};
use super::{Bound, Source, Texture, TextureError, Textures, Variable};
use crate::device::Device;
use softwarp_check::checked::FieldValue;
use softwarp_image::{Image, Object, ObjectId, State, Windows};
use softwarp_ir::texture::handle_of;
use softwarp_isa::space::opaque::{Member, TextureMode};
use softwarp_isa::{Opaque, StateSpace};
use std::sync::Arc;

/// Handles of objects count from here: no address of any state space is as high, and none of a host is seen.
const OBJECTS: u64 = 0x7e00_0000_0000_0000;

/// Textures over memory begin at multiples of this.
const ALIGNMENT: u64 = 16;

/// The most texels of a texture over a row of memory, and over rows, as an H200 has them.
const MOST_TEXELS: u32 = 1 << 28;
const MOST_PITCHED: [u32; 2] = [131_072, 65_000];

fn opaque(object: &Object) -> Option<Opaque> {
    object.opaque().or((object.space == StateSpace::Tex).then_some(Opaque::Texref))
}

/// What an opaque variable's initialiser says about sampling.
fn initial(object: &Object, element: u64, mode: TextureMode) -> Sampler {
    let mut sampler = Sampler::default();
    let Some(state) = State::of(object, element, mode) else { return sampler };
    for (member, value) in state.members() {
        let set = matches!(value, FieldValue::Number(1..));
        let word = if let FieldValue::Word(word) = value { word } else { "" };
        let address = match word {
            "wrap" => AddressMode::Wrap,
            "mirror" => AddressMode::Mirror,
            "clamp_to_border" => AddressMode::Border,
            _ => AddressMode::Clamp,
        };
        match member {
            Member::NormalizedCoords => sampler.normalized = set,
            Member::ForceUnnormalizedCoords => sampler.force_unnormalized = set,
            Member::FilterMode if word == "linear" => sampler.filter = Filter::Linear,
            Member::AddrMode0 => sampler.address[0] = address,
            Member::AddrMode1 => sampler.address[1] = address,
            Member::AddrMode2 => sampler.address[2] = address,
            _ => {}
        }
    }
    sampler
}

impl Textures {
    /// The opaque variables of modules, with samplers as their initialisers say.
    pub(crate) fn of(image: &Image, windows: &Windows) -> Textures {
        let mut textures = Textures::default();
        let mode = mode(image);
        for index in 0..image.objects.len() {
            let id = ObjectId(index as u32);
            let object = image.object(id);
            let (Some(opaque), Some(first)) = (opaque(object), handle_of(image, windows, id, None)) else {
                continue;
            };
            let elements = object.total().checked_div(object.element).unwrap_or(1).clamp(1, 1 << 16);
            for element in 0..elements {
                let handle = first + element * object.element;
                let name = match elements {
                    1 => object.name.clone(),
                    _ => format!("{}[{element}]", object.name).into(),
                };
                let members = given(object, element, mode);
                textures.variables.insert(handle, Variable { name, opaque, members });
                if opaque == Opaque::Samplerref {
                    textures.bound.insert(handle, Bound::Sampler(initial(object, element, mode)));
                }
            }
        }
        textures
    }

    fn object(&mut self, bound: Bound) -> u64 {
        self.objects += 1;
        let handle = OBJECTS + self.objects;
        self.bound.insert(handle, bound);
        handle
    }
}

/// What an opaque variable's initialiser gives, as `txq` and `suq` answer it.
fn given(object: &Object, element: u64, mode: TextureMode) -> Vec<(Member, u32)> {
    let Some(state) = State::of(object, element, mode) else { return Vec::new() };
    let number = |(member, value): (Member, FieldValue)| {
        let position = |word: &str| member.values().words().iter().position(|known| *known == word);
        let value = match value {
            FieldValue::Number(number) => number as u32,
            FieldValue::Word(word) => position(word).unwrap_or(0) as u32,
        };
        (member, value)
    };
    state.members().map(number).collect()
}

fn mode(image: &Image) -> TextureMode {
    match image.header.independent_textures {
        true => TextureMode::Independent,
        false => TextureMode::Unified,
    }
}

impl Device {
    /// Makes an array of zeros. It stays for as long as somebody holds it.
    pub fn create_array(&self, description: ArrayDescription) -> Result<Arc<Array>, TextureError> {
        Array::new(description, self.account()).map(Arc::new)
    }

    /// The sampler that a `.texref` or `.samplerref` variable begins with: what its initialiser says.
    pub fn initial_sampler(&self, name: &str) -> Option<Sampler> {
        let (_, object) = self.opaque_variable(name)?;
        Some(initial(object, 0, mode(self.image())))
    }

    fn opaque_variable(&self, name: &str) -> Option<(u64, &Object)> {
        let image = self.image();
        let named =
            |object: &Object| object.function.is_none() && &*object.name == name && opaque(object).is_some();
        let index = image.objects.iter().position(named)?;
        let id = ObjectId(index as u32);
        Some((handle_of(image, self.windows(), id, None)?, image.object(id)))
    }

    /// Whether a texture can be, with the memory that it shows.
    fn check(&self, texture: &Texture) -> Result<(), TextureError> {
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

    fn bind(&mut self, name: &str, wanted: Opaque, bound: Bound) -> Result<(), TextureError> {
        let missing = || TextureError::NoVariable { name: name.into() };
        let (handle, object) = self.opaque_variable(name).ok_or_else(missing)?;
        match opaque(object) {
            Some(is) if is != wanted => Err(TextureError::WrongVariable { name: name.into(), is }),
            _ => {
                self.textures_mut().bound.insert(handle, bound);
                Ok(())
            }
        }
    }

    /// Binds a texture to a `.texref` or `.tex` variable.
    pub fn bind_texture(&mut self, name: &str, texture: Texture) -> Result<(), TextureError> {
        self.check(&texture)?;
        self.bind(name, Opaque::Texref, Bound::Texture(texture))
    }

    /// Binds a surface to a `.surfref` variable: the first level of an array.
    pub fn bind_surface(&mut self, name: &str, array: Arc<Array>) -> Result<(), TextureError> {
        self.bind(name, Opaque::Surfref, Bound::Surface(array))
    }

    /// Gives a `.samplerref` variable other values than its initialiser's.
    pub fn bind_sampler(&mut self, name: &str, sampler: Sampler) -> Result<(), TextureError> {
        self.bind(name, Opaque::Samplerref, Bound::Sampler(sampler))
    }

    /// A texture object: a handle for kernels.
    pub fn texture_object(&mut self, texture: Texture) -> Result<u64, TextureError> {
        self.check(&texture)?;
        Ok(self.textures_mut().object(Bound::Texture(texture)))
    }

    /// A surface object: a handle for kernels.
    pub fn surface_object(&mut self, array: Arc<Array>) -> u64 {
        self.textures_mut().object(Bound::Surface(array))
    }

    /// A sampler object, for the independent mode: a handle for kernels.
    pub fn sampler_object(&mut self, sampler: Sampler) -> u64 {
        self.textures_mut().object(Bound::Sampler(sampler))
    }

    /// Forgets an object: using its handle is a fault from then on.
    pub fn destroy_object(&mut self, handle: u64) -> bool {
        handle >= OBJECTS && self.textures_mut().bound.remove(&handle).is_some()
    }
}
