//! Texture and surface objects.

use super::array::{ChannelFormat, descriptor, is_integer};
use crate::code::{Code, Done, ensure};
use crate::context::ensure_context;
use crate::driver::array::cuMipmappedArrayGetLevel;
use crate::driver::texture::*;
use crate::ffi::{Bits, In, Out, zeroed};

crate::c_struct! {
    /// `cudaResourceDesc` of CUDA 13. The words are a union: a handle; or an address, a format and sizes.
    RuntimeResource { kind: u32, words: [u64; 16], flags: u32, }
}

crate::c_struct! {
    /// `cudaResourceDesc` of CUDA 12: its union is shorter, and there are no flags.
    RuntimeResource12 { kind: u32, words: [u64; 7], }
}

crate::c_struct! {
    /// `cudaTextureDesc`.
    RuntimeSampling {
        address: [u32; 3], filter: u32, read_mode: u32, srgb: i32, border: [f32; 4], normalized: i32, anisotropy: u32,
        mip_filter: u32, bias: f32, clamp: [f32; 2], no_trilinear_optimization: i32, seamless: i32,
    }
}

/// `cudaResourceType`, which has the numbers of the driver's.
mod resource {
    pub const ARRAY: u32 = 0;
    pub const MIPMAP: u32 = 1;
    pub const LINEAR: u32 = 2;
    pub const PITCH: u32 = 3;
}

/// `CU_TRSF_*` flags.
mod flag {
    pub const INTEGERS: u32 = 1;
    pub const NORMALIZED: u32 = 2;
    pub const SRGB: u32 = 0x10;
    pub const NO_TRILINEAR_OPTIMIZATION: u32 = 0x20;
    pub const SEAMLESS: u32 = 0x40;
}

/// `cudaReadModeElementType`: integers are read as integers.
const ELEMENTS: u32 = 0;
/// `cudaReadModeNormalizedFloat`.
const FRACTIONS: u32 = 1;
/// `cudaFilterModeLinear`.
const LINEAR_FILTER: u32 = 1;

/// The low and the high half of a word.
fn halves(word: u64) -> [i32; 2] {
    [word as i32, (word >> 32) as i32]
}

fn word([low, high]: [i32; 2]) -> u64 {
    u64::from(low as u32) | u64::from(high as u32) << 32
}

impl RuntimeResource {
    /// The driver's resource. The format of memory takes one word there and two and a half here.
    fn to_driver(self) -> Result<Resource, Code> {
        let mut words = [0; 16];
        words[0] = self.words[0];
        match self.kind {
            resource::ARRAY | resource::MIPMAP => {}
            resource::LINEAR | resource::PITCH => {
                let [x, y] = halves(self.words[1]);
                let [z, w] = halves(self.words[2]);
                let format = ChannelFormat { bits: [x, y, z, w], kind: halves(self.words[3])[0] };
                let (format, channels) = format.to_driver()?;
                words[1] = word([format as i32, channels as i32]);
                let sizes = if self.kind == resource::LINEAR { 1 } else { 3 };
                words[2..2 + sizes].copy_from_slice(&self.words[4..4 + sizes]);
            }
            _ => return Err(Code::INVALID_VALUE),
        }
        Ok(Resource { kind: self.kind, words, flags: self.flags })
    }

    fn of_driver(from: &Resource) -> RuntimeResource {
        let mut words = [0; 16];
        words[0] = from.words[0];
        if matches!(from.kind, resource::LINEAR | resource::PITCH) {
            let [format, channels] = halves(from.words[1]);
            let ChannelFormat { bits: [x, y, z, w], kind } =
                ChannelFormat::of_driver(format as u32, channels as u32);
            words[1..4].copy_from_slice(&[word([x, y]), word([z, w]), word([kind, 0])]);
            let sizes = if from.kind == resource::LINEAR { 1 } else { 3 };
            words[4..4 + sizes].copy_from_slice(&from.words[2..2 + sizes]);
        }
        RuntimeResource { kind: from.kind, words, flags: from.flags }
    }
}

impl From<RuntimeResource12> for RuntimeResource {
    fn from(given: RuntimeResource12) -> RuntimeResource {
        let mut words = [0; 16];
        words[..7].copy_from_slice(&given.words);
        RuntimeResource { kind: given.kind, words, flags: 0 }
    }
}

impl From<RuntimeResource> for RuntimeResource12 {
    fn from(found: RuntimeResource) -> RuntimeResource12 {
        let mut words = [0; 7];
        words.copy_from_slice(&found.words[..7]);
        RuntimeResource12 { kind: found.kind, words }
    }
}

/// The driver's format of what a resource shows.
fn format_of(shown: &Resource) -> Result<u32, Code> {
    match shown.kind {
        resource::ARRAY => Ok(descriptor(shown.words[0])?.format),
        resource::MIPMAP => {
            let mut level = 0;
            cuMipmappedArrayGetLevel(Out::of(&mut level), shown.words[0], 0)?;
            Ok(descriptor(level)?.format)
        }
        _ => Ok(shown.words[1] as u32),
    }
}

impl RuntimeSampling {
    /// How the driver's texture reads. `integers` is whether the texels are integers.
    fn to_driver(self, integers: bool) -> Result<Sampling, Code> {
        let as_integers = integers && self.read_mode == ELEMENTS;
        ensure(!as_integers || self.filter != LINEAR_FILTER, Code::INVALID_FILTER_SETTING)?;
        let flags = [
            (as_integers, flag::INTEGERS),
            (self.normalized != 0, flag::NORMALIZED),
            (self.srgb != 0, flag::SRGB),
            (self.no_trilinear_optimization != 0, flag::NO_TRILINEAR_OPTIMIZATION),
            (self.seamless != 0, flag::SEAMLESS),
        ];
        Ok(Sampling {
            address: self.address,
            filter: self.filter,
            flags: flags.iter().filter(|it| it.0).fold(0, |all, it| all | it.1),
            anisotropy: self.anisotropy,
            mip_filter: self.mip_filter,
            bias: self.bias,
            clamp: self.clamp,
            border: self.border,
            reserved: [0; 12],
        })
    }

    fn of_driver(from: &Sampling, integers: bool) -> RuntimeSampling {
        let has = |flag: u32| i32::from(from.flags & flag != 0);
        RuntimeSampling {
            address: from.address,
            filter: from.filter,
            read_mode: if integers && has(flag::INTEGERS) == 0 { FRACTIONS } else { ELEMENTS },
            srgb: has(flag::SRGB),
            border: from.border,
            normalized: has(flag::NORMALIZED),
            anisotropy: from.anisotropy,
            mip_filter: from.mip_filter,
            bias: from.bias,
            clamp: from.clamp,
            no_trilinear_optimization: has(flag::NO_TRILINEAR_OPTIMIZATION),
            seamless: has(flag::SEAMLESS),
        }
    }
}

/// Makes a texture object.
fn create_texture<R: Bits + Into<RuntimeResource>>(
    object: Out<u64>,
    resource: In<R>,
    sampling: In<RuntimeSampling>,
    view: In<ViewFields>,
) -> Done {
    object.required()?;
    let resource: RuntimeResource = resource.get()?.into();
    ensure(!sampling.is_null(), Code::INVALID_RESOURCE_HANDLE)?;
    let sampling = sampling.get()?;
    ensure_context()?;
    let resource = resource.to_driver()?;
    let sampling = sampling.to_driver(is_integer(format_of(&resource)?))?;
    let mut whole: View = zeroed();
    if !view.is_null() {
        whole.fields = view.get()?;
    }
    let whole = if view.is_null() { In::NULL } else { In::of(&whole) };
    cuTexObjectCreate(object, In::of(&resource), In::of(&sampling), whole)
}

/// Makes a surface object.
fn create_surface<R: Bits + Into<RuntimeResource>>(object: Out<u64>, resource: In<R>) -> Done {
    object.required()?;
    let resource: RuntimeResource = resource.get()?.into();
    ensure_context()?;
    cuSurfObjectCreate(object, In::of(&resource.to_driver()?))
}

/// Writes what an object shows.
fn give_resource<R: Bits + From<RuntimeResource>>(
    resource: Out<R>,
    object: u64,
    get: fn(Out<Resource>, u64) -> Done,
) -> Done {
    resource.required()?;
    ensure_context()?;
    let mut found = zeroed();
    get(Out::of(&mut found), object)?;
    resource.set(RuntimeResource::of_driver(&found).into())
}

crate::entries! {
    /// Makes a texture object.
    fn cudaCreateTextureObject(
        object: Out<u64>, resource: In<RuntimeResource>, sampling: In<RuntimeSampling>, view: In<ViewFields>,
    ) {
        create_texture(object, resource, sampling, view)
    }

    /// Makes a texture object of a resource in the structure of CUDA 12.
    fn v12_cudaCreateTextureObject(
        object: Out<u64>, resource: In<RuntimeResource12>, sampling: In<RuntimeSampling>, view: In<ViewFields>,
    ) {
        create_texture(object, resource, sampling, view)
    }

    /// Destroys a texture object.
    fn cudaDestroyTextureObject(object: u64) {
        ensure_context()?;
        cuTexObjectDestroy(object)
    }

    /// What a texture object shows.
    fn cudaGetTextureObjectResourceDesc(resource: Out<RuntimeResource>, object: u64) {
        give_resource(resource, object, cuTexObjectGetResourceDesc)
    }

    /// What a texture object shows, in the structure of CUDA 12.
    fn v12_cudaGetTextureObjectResourceDesc(resource: Out<RuntimeResource12>, object: u64) {
        give_resource(resource, object, cuTexObjectGetResourceDesc)
    }

    /// How a texture object reads.
    fn cudaGetTextureObjectTextureDesc(sampling: Out<RuntimeSampling>, object: u64) {
        sampling.required()?;
        ensure_context()?;
        let (mut found, mut resource) = (zeroed(), zeroed());
        cuTexObjectGetTextureDesc(Out::of(&mut found), object)?;
        cuTexObjectGetResourceDesc(Out::of(&mut resource), object)?;
        sampling.set(RuntimeSampling::of_driver(&found, is_integer(format_of(&resource)?)))
    }

    /// The view of a texture object. Reserved words after it, which CUDA 12 does not have, are left alone.
    fn cudaGetTextureObjectResourceViewDesc(view: Out<ViewFields>, object: u64) {
        view.required()?;
        ensure_context()?;
        let mut found: View = zeroed();
        cuTexObjectGetResourceViewDesc(Out::of(&mut found), object)?;
        view.set(found.fields)
    }

    /// Makes a surface object.
    fn cudaCreateSurfaceObject(object: Out<u64>, resource: In<RuntimeResource>) {
        create_surface(object, resource)
    }

    /// Makes a surface object of a resource in the structure of CUDA 12.
    fn v12_cudaCreateSurfaceObject(object: Out<u64>, resource: In<RuntimeResource12>) {
        create_surface(object, resource)
    }

    /// Destroys a surface object.
    fn cudaDestroySurfaceObject(object: u64) {
        ensure_context()?;
        cuSurfObjectDestroy(object)
    }

    /// What a surface object shows.
    fn cudaGetSurfaceObjectResourceDesc(resource: Out<RuntimeResource>, object: u64) {
        give_resource(resource, object, cuSurfObjectGetResourceDesc)
    }

    /// What a surface object shows, in the structure of CUDA 12.
    fn v12_cudaGetSurfaceObjectResourceDesc(resource: Out<RuntimeResource12>, object: u64) {
        give_resource(resource, object, cuSurfObjectGetResourceDesc)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resources_go_to_the_driver_and_back() {
        let mut pitched: RuntimeResource = zeroed();
        pitched.kind = resource::PITCH;
        pitched.words[..7].copy_from_slice(&[0x1000, word([8, 8]), word([8, 8]), 1, 640, 480, 2560]);
        let there = pitched.to_driver().expect("it is valid");
        assert_eq!(there.words[..5], [0x1000, word([1, 4]), 640, 480, 2560]);
        assert_eq!(RuntimeResource::of_driver(&there).words, pitched.words);
        pitched.kind = 9;
        assert_eq!(pitched.to_driver().err(), Some(Code::INVALID_VALUE));
    }

    #[test]
    fn only_texels_that_are_read_as_floats_are_filtered() {
        let mut sampling: RuntimeSampling = zeroed();
        sampling.filter = LINEAR_FILTER;
        assert_eq!(sampling.to_driver(true).err(), Some(Code::INVALID_FILTER_SETTING));
        assert_eq!(sampling.to_driver(false).map(|it| it.flags), Ok(0));
        sampling.read_mode = FRACTIONS;
        assert_eq!(sampling.to_driver(true).map(|it| it.flags), Ok(0));
        (sampling.filter, sampling.read_mode, sampling.normalized, sampling.seamless) = (0, ELEMENTS, 1, 1);
        let there = sampling.to_driver(true).expect("it is valid");
        assert_eq!(there.flags, flag::INTEGERS | flag::NORMALIZED | flag::SEAMLESS);
        let back = RuntimeSampling::of_driver(&there, true);
        assert_eq!((back.read_mode, back.normalized, back.seamless, back.srgb), (ELEMENTS, 1, 1, 0));
    }
}
