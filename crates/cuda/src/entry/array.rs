//! Arrays (driver API: "Memory Management": `cuArray*`, `cuMipmappedArray*`).

use super::memory::second;
use crate::c_struct;
use crate::code::{Code, Done, ensure};
use crate::driver::current;
use crate::ffi::{In, Out};
use crate::handle::{Handle, lock};
use crate::image::{Array, Mipmap, Shape, format_of};
use softwarp::vm::texture::Geometry;
use softwarp::vm::texture::TextureError;
use softwarp::vm::texture::array::ArrayDescription;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

c_struct! {
    /// `CUDA_ARRAY_DESCRIPTOR`
    Descriptor {
        width: usize,
        height: usize,
        format: u32,
        channels: u32,
    }
}

c_struct! {
    /// `CUDA_ARRAY3D_DESCRIPTOR`
    Descriptor3D {
        width: usize,
        height: usize,
        depth: usize,
        format: u32,
        channels: u32,
        flags: u32,
        padding: u32,
    }
}

c_struct! {
    /// `CUDA_ARRAY_SPARSE_PROPERTIES`
    SparseProperties {
        tile: [u32; 3],
        first_tail_level: u32,
        tail_bytes: u64,
        flags: u32,
        reserved: [u32; 4],
        padding: u32,
    }
}

c_struct! {
    /// `CUDA_ARRAY_MEMORY_REQUIREMENTS`
    MemoryRequirements {
        bytes: usize,
        alignment: usize,
        reserved: [u32; 4],
    }
}

/// `CUDA_ARRAY3D_*` flags.
pub(crate) mod flag {
    pub const LAYERED: u32 = 1;
    pub const SURFACE: u32 = 2;
    pub const CUBE: u32 = 4;
    pub const GATHER: u32 = 8;
    pub const COLOR: u32 = 0x20;
    pub const SPARSE: u32 = 0x40;
    pub const ALL: u32 = LAYERED | SURFACE | CUBE | GATHER | COLOR | SPARSE;
}

impl From<Descriptor> for Shape {
    fn from(it: Descriptor) -> Shape {
        let size = [it.width as u64, it.height as u64, 0];
        Shape { size, format: it.format, channels: it.channels, flags: 0 }
    }
}

impl From<Descriptor3D> for Shape {
    fn from(it: Descriptor3D) -> Shape {
        let size = [it.width as u64, it.height as u64, it.depth as u64];
        Shape { size, format: it.format, channels: it.channels, flags: it.flags }
    }
}

/// What the machine is asked for.
fn description(shape: &Shape) -> Result<ArrayDescription, Code> {
    let format = format_of(shape.format, shape.channels)?;
    let [width, height, depth] = shape.size;
    let has = |flag: u32| shape.flags & flag != 0;
    ensure(shape.flags & !flag::ALL == 0 && width != 0, Code::INVALID_VALUE)?;
    let (geometry, layers) = match (has(flag::CUBE), has(flag::LAYERED)) {
        (true, false) => {
            ensure(depth == 6, Code::INVALID_VALUE)?;
            (Geometry::Cube, depth)
        }
        (true, true) => (Geometry::ACube, depth),
        (false, true) if height == 0 => (Geometry::A1, depth),
        (false, true) => (Geometry::A2, depth),
        (false, false) if depth != 0 => (Geometry::D3, 1),
        (false, false) if height != 0 => (Geometry::D2, 1),
        (false, false) => (Geometry::D1, 1),
    };
    ensure(!has(flag::GATHER) || matches!(geometry, Geometry::D2 | Geometry::A2), Code::INVALID_VALUE)?;
    let is_volume = geometry == Geometry::D3;
    ensure(!is_volume || height != 0, Code::INVALID_VALUE)?;
    let narrow = |value: u64| u32::try_from(value).map_err(|_| Code::INVALID_VALUE);
    let size = [narrow(width)?, narrow(height.max(1))?, if is_volume { narrow(depth)? } else { 1 }];
    Ok(ArrayDescription { format, geometry, size, layers: narrow(layers)?, levels: 1, samples: 1 })
}

fn code_of(error: TextureError) -> Code {
    match error {
        TextureError::OutOfMemory { .. } | TextureError::Limit(_) => Code::OUT_OF_MEMORY,
        _ => Code::INVALID_VALUE,
    }
}

fn create(to: Out<Handle<Array>>, shape: Shape) -> Done {
    let (driver, context) = second()?;
    to.required()?;
    let texels = driver.machine.create_array(description(&shape)?).map_err(code_of)?;
    let array = Array { context: context.handle, shape, texels, level: 0, in_mipmap: false };
    to.set(driver.images.arrays.insert(Arc::new(array)).ok_or(Code::OUT_OF_MEMORY)?)
}

/// An array by its handle, for functions that tell about it.
fn told(array: Handle<Array>) -> Result<Arc<Array>, Code> {
    let (driver, _) = second()?;
    driver.images.array(array)
}

crate::entries! {
    /// Makes an array of one or two dimensions.
    fn cuArrayCreate_v2(to: Out<Handle<Array>>, descriptor: In<Descriptor>) {
        second()?;
        create(to, descriptor.get()?.into())
    }

    /// Makes an array: a volume, layers, or a cube.
    fn cuArray3DCreate_v2(to: Out<Handle<Array>>, descriptor: In<Descriptor3D>) {
        second()?;
        create(to, descriptor.get()?.into())
    }

    /// Destroys an array.
    fn cuArrayDestroy(array: Handle<Array>) {
        let (driver, context) = current()?;
        let found = driver.images.array(array)?;
        ensure(!found.in_mipmap, Code::INVALID_HANDLE)?;
        driver.synchronize(&context)?;
        driver.images.destroy_array(array)
    }

    /// What an array is, in two dimensions.
    fn cuArrayGetDescriptor_v2(to: Out<Descriptor>, array: Handle<Array>) {
        second()?;
        to.required()?;
        let Shape { size: [width, height, _], format, channels, .. } = told(array)?.shape;
        to.set(Descriptor { width: width as usize, height: height as usize, format, channels })
    }

    /// What an array is.
    fn cuArray3DGetDescriptor_v2(to: Out<Descriptor3D>, array: Handle<Array>) {
        second()?;
        to.required()?;
        let Shape { size: [width, height, depth], format, channels, flags } = told(array)?.shape;
        let (width, height, depth) = (width as usize, height as usize, depth as usize);
        to.set(Descriptor3D { width, height, depth, format, channels, flags, padding: 0 })
    }

    /// A plane of an array of several planes: there are none such.
    fn cuArrayGetPlane(_to: Out<Handle<Array>>, array: Handle<Array>, _index: u32) {
        told(array)?;
        Err(Code::INVALID_VALUE)
    }

    /// What memory an array needs that gets its memory later: there are none such.
    fn cuArrayGetMemoryRequirements(_to: Out<MemoryRequirements>, array: Handle<Array>, _device: i32) {
        told(array)?;
        Err(Code::INVALID_VALUE)
    }

    /// What memory a mipmapped array needs that gets its memory later: there are none such.
    fn cuMipmappedArrayGetMemoryRequirements(_to: Out<MemoryRequirements>, array: Handle<Mipmap>, _device: i32) {
        let (driver, _) = second()?;
        driver.images.mipmap(array)?;
        Err(Code::INVALID_VALUE)
    }

    /// How memory is mapped to parts of an array: it cannot be.
    fn cuArrayGetSparseProperties(_to: Out<SparseProperties>, array: Handle<Array>) {
        let array = told(array)?;
        ensure(array.shape.flags & flag::SPARSE != 0, Code::INVALID_VALUE)?;
        Err(Code::NOT_SUPPORTED)
    }

    /// The properties of a sparse mipmapped array: there are none such.
    fn cuMipmappedArrayGetSparseProperties(_to: Out<SparseProperties>, array: Handle<Mipmap>) {
        let (driver, _) = second()?;
        let mipmap = driver.images.mipmap(array)?;
        ensure(mipmap.shape.flags & flag::SPARSE != 0, Code::INVALID_VALUE)?;
        Err(Code::NOT_SUPPORTED)
    }

    /// Makes a mipmapped array. It has no more levels than there can be.
    fn cuMipmappedArrayCreate(to: Out<Handle<Mipmap>>, descriptor: In<Descriptor3D>, levels: u32) {
        let (driver, context) = second()?;
        to.required()?;
        let shape = Shape::from(descriptor.get()?);
        let first = description(&shape)?;
        let largest = first.size.into_iter().max().unwrap_or(1);
        let most = 32 - largest.leading_zeros();
        let wanted = first.mipmapped(levels.clamp(1, most.max(1)));
        let texels = driver.machine.create_array(wanted).map_err(code_of)?;
        let mipmap = Mipmap { context: context.handle, shape, texels, levels: Mutex::new(HashMap::new()) };
        to.set(driver.images.mipmaps.insert(Arc::new(mipmap)).ok_or(Code::OUT_OF_MEMORY)?)
    }

    /// A level of a mipmapped array, as an array.
    fn cuMipmappedArrayGetLevel(to: Out<Handle<Array>>, mipmap: Handle<Mipmap>, level: u32) {
        let (driver, _) = second()?;
        to.required()?;
        let mipmap = driver.images.mipmap(mipmap)?;
        ensure(level < mipmap.texels.description.levels, Code::INVALID_VALUE)?;
        let mut levels = lock(&mipmap.levels);
        if let Some(&made) = levels.get(&level) {
            return to.set(made);
        }
        let mut shape = mipmap.shape;
        let size = mipmap.texels.description.level_size(level);
        let is_volume = mipmap.texels.description.geometry == Geometry::D3;
        for (dimension, (given, size)) in shape.size.iter_mut().zip(size).enumerate() {
            // Layers stay; what it has not stays 0.
            if *given != 0 && (dimension < 2 || is_volume) {
                *given = size.into();
            }
        }
        let texels = mipmap.texels.clone();
        let array = Array { context: mipmap.context, shape, texels, level, in_mipmap: true };
        let handle = driver.images.arrays.insert(Arc::new(array)).ok_or(Code::OUT_OF_MEMORY)?;
        levels.insert(level, handle);
        to.set(handle)
    }

    /// Destroys a mipmapped array.
    fn cuMipmappedArrayDestroy(mipmap: Handle<Mipmap>) {
        let (driver, context) = current()?;
        driver.images.mipmap(mipmap)?;
        driver.synchronize(&context)?;
        driver.images.destroy_mipmap(mipmap)
    }
}
