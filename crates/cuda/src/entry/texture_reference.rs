//! Texture and surface references (driver API: "Texture Reference Management", "Surface Reference Management").
//!
//! A reference is a variable of a module. Each change is given to the machine at once; launches that run do not see it.

use super::array::Descriptor;
use super::memory::second;
use super::texture::{ALIGNMENT, address_mode, check_levels, filter, flag, source, texels};
use crate::code::{Code, Done, ensure};
use crate::driver::Driver;
use crate::ffi::{In, Out, Text};
use crate::handle::{Handle, lock};
use crate::image::{Array, Mipmap, Reading, Reference, Shown, format_of};
use crate::module::{Function, Module};
use softwarp::isa::Opaque;
use softwarp::vm::device::ModuleId;
use softwarp::vm::texture::sampler::{AddressMode, Filter, Sampler};
use softwarp::vm::texture::{Bound, Texture};
use std::sync::{Arc, Mutex};

/// `CU_TRSA_OVERRIDE_FORMAT`: the format is the array's. It must be given.
const OVERRIDE_FORMAT: u32 = 1;

/// `CU_AD_FORMAT_FLOAT`
const FLOAT: u32 = 0x20;

/// The default settings of a texture reference.
fn initial(sampler: Sampler) -> Reading {
    let number = |mode: AddressMode| match mode {
        AddressMode::Wrap => 0,
        AddressMode::Clamp => 1,
        AddressMode::Mirror => 2,
        AddressMode::Border => 3,
    };
    Reading {
        shown: Shown::Nothing,
        format: FLOAT,
        channels: 1,
        address: sampler.address.map(number),
        filters: [sampler.filter, sampler.mip_filter].map(|it| u32::from(it == Filter::Linear)),
        flags: if sampler.normalized { flag::NORMALIZED } else { 0 },
        anisotropy: 1,
        bias: 0.0,
        clamp: [0.0, f32::MAX],
        border: [0.0; 4],
    }
}

fn reference(driver: &Driver, handle: Handle<Reference>) -> Result<Arc<Reference>, Code> {
    driver.images.references.get(handle).map_err(|_| Code::INVALID_HANDLE)
}

/// Gives the machine what a reference shows and how it reads.
fn bind(driver: &Driver, reference: &Reference, reading: &Reading) -> Done {
    let Some((_, id, name)) = &reference.variable else { return Ok(()) };
    if reading.shown == Shown::Nothing {
        return Ok(());
    }
    let bound = if reference.is_surface {
        Bound::Surface(texels(driver, reading.shown)?)
    } else {
        let source = source(driver, reading.shown, reading.format, reading.channels)?;
        check_levels(&source, reading.bias, reading.clamp)?;
        let [x, y, z] = reading.address;
        let sampler = Sampler {
            address: [address_mode(x)?, address_mode(y)?, address_mode(z)?],
            filter: filter(reading.filters[0])?,
            mip_filter: filter(reading.filters[1])?,
            normalized: reading.flags & flag::NORMALIZED != 0,
            force_unnormalized: false,
            border: reading.border,
        };
        Bound::Texture(Texture { source, sampler, integers: reading.flags & flag::INTEGERS != 0 })
    };
    driver.machine.bind(*id, name, bound).map_err(|_| Code::INVALID_VALUE)
}

/// Changes a reference.
fn change(handle: Handle<Reference>, f: impl FnOnce(&Driver, &mut Reading) -> Done) -> Done {
    let (driver, _) = second()?;
    let reference = reference(driver, handle)?;
    let mut reading = lock(&reference.reading);
    let mut changed = *reading;
    f(driver, &mut changed)?;
    bind(driver, &reference, &changed)?;
    *reading = changed;
    Ok(())
}

/// How a reference reads.
fn reading(handle: Handle<Reference>) -> Result<Reading, Code> {
    let (driver, _) = second()?;
    Ok(*lock(&reference(driver, handle)?.reading))
}

/// A reference for a variable of a module; the same one each time.
fn of_variable(to: Out<Handle<Reference>>, module: Handle<Module>, name: Text<'_>, wanted: Opaque) -> Done {
    let (driver, _) = second()?;
    to.required()?;
    let name = name.get()?.to_str().map_err(|_| Code::NOT_FOUND)?.to_owned();
    let id: ModuleId = driver.modules.get(module).map_err(|_| Code::INVALID_HANDLE)?.id;
    ensure(driver.machine.opaque_variable(id, &name) == Some(wanted), Code::NOT_FOUND)?;
    let variable = Some((module.bits(), id, name));
    let made = driver.images.references.all().into_iter().find(|(_, it)| it.variable == variable);
    if let Some((handle, _)) = made {
        return to.set(handle);
    }
    let first = variable.as_ref().and_then(|(_, id, name)| driver.machine.initial_sampler_of(*id, name));
    let reading = Mutex::new(initial(first.unwrap_or_default()));
    let reference = Reference { variable, is_surface: wanted == Opaque::Surfref, reading };
    to.set(driver.images.references.insert(Arc::new(reference)).ok_or(Code::OUT_OF_MEMORY)?)
}

fn set_rows(handle: Handle<Reference>, descriptor: In<Descriptor>, address: u64, pitch: usize) -> Done {
    second()?;
    let Descriptor { width, height, format, channels } = descriptor.get()?;
    change(handle, |_, reading| {
        (reading.format, reading.channels) = (format, channels);
        reading.shown = Shown::Pitch(address, width as u64, height as u64, pitch as u64);
        Ok(())
    })
}

crate::entries! {
    /// A texture reference of a module.
    fn cuModuleGetTexRef(to: Out<Handle<Reference>>, module: Handle<Module>, name: Text<'_>) {
        of_variable(to, module, name, Opaque::Texref)
    }

    /// A surface reference of a module.
    fn cuModuleGetSurfRef(to: Out<Handle<Reference>>, module: Handle<Module>, name: Text<'_>) {
        of_variable(to, module, name, Opaque::Surfref)
    }

    /// Makes a texture reference that is no variable's.
    fn cuTexRefCreate(to: Out<Handle<Reference>>) {
        let (driver, _) = second()?;
        to.required()?;
        let reading = Mutex::new(initial(Sampler::default()));
        let reference = Reference { variable: None, is_surface: false, reading };
        to.set(driver.images.references.insert(Arc::new(reference)).ok_or(Code::OUT_OF_MEMORY)?)
    }

    /// Destroys a texture reference that is no variable's.
    fn cuTexRefDestroy(handle: Handle<Reference>) {
        let (driver, _) = second()?;
        ensure(reference(driver, handle)?.variable.is_none(), Code::INVALID_HANDLE)?;
        driver.images.references.remove(handle).map(drop).map_err(|_| Code::INVALID_HANDLE)
    }

    /// Makes a texture reference known to a function: it is already.
    fn cuParamSetTexRef(function: Handle<Function>, _unit: i32, handle: Handle<Reference>) {
        let (driver, _) = second()?;
        super::launch::function(driver, function)?;
        reference(driver, handle).map(drop)
    }

    /// Shows an array.
    fn cuTexRefSetArray(handle: Handle<Reference>, array: Handle<Array>, flags: u32) {
        change(handle, |driver, reading| {
            ensure(flags == OVERRIDE_FORMAT, Code::INVALID_VALUE)?;
            let found = driver.images.array(array)?;
            (reading.format, reading.channels) = (found.shape.format, found.shape.channels);
            reading.shown = Shown::Array(array);
            Ok(())
        })
    }

    /// Shows a mipmapped array.
    fn cuTexRefSetMipmappedArray(handle: Handle<Reference>, mipmap: Handle<Mipmap>, flags: u32) {
        change(handle, |driver, reading| {
            ensure(flags == OVERRIDE_FORMAT, Code::INVALID_VALUE)?;
            let found = driver.images.mipmap(mipmap)?;
            (reading.format, reading.channels) = (found.shape.format, found.shape.channels);
            reading.shown = Shown::Mipmap(mipmap);
            Ok(())
        })
    }

    /// Shows a row of memory, from the multiple of 512 before its address on.
    fn cuTexRefSetAddress_v2(offset: Out<usize>, handle: Handle<Reference>, address: u64, bytes: usize) {
        let outside = address % ALIGNMENT;
        change(handle, |_, reading| {
            ensure(outside == 0 || !offset.is_null(), Code::INVALID_VALUE)?;
            reading.shown = match address {
                0 => Shown::Nothing,
                address => Shown::Linear(address - outside, bytes as u64 + outside),
            };
            Ok(())
        })?;
        offset.set_if_any(outside as usize);
        Ok(())
    }

    /// Shows rows of memory.
    fn cuTexRefSetAddress2D_v2(handle: Handle<Reference>, descriptor: In<Descriptor>, address: u64, pitch: usize) {
        set_rows(handle, descriptor, address, pitch)
    }

    /// Shows rows of memory.
    fn cuTexRefSetAddress2D_v3(handle: Handle<Reference>, descriptor: In<Descriptor>, address: u64, pitch: usize) {
        set_rows(handle, descriptor, address, pitch)
    }

    /// Sets what texels in memory are.
    fn cuTexRefSetFormat(handle: Handle<Reference>, format: u32, channels: i32) {
        change(handle, |_, reading| {
            format_of(format, channels as u32)?;
            (reading.format, reading.channels) = (format, channels as u32);
            Ok(())
        })
    }

    /// Sets what coordinates outside of a dimension mean.
    fn cuTexRefSetAddressMode(handle: Handle<Reference>, dimension: i32, mode: u32) {
        change(handle, |_, reading| {
            address_mode(mode)?;
            let index = usize::try_from(dimension).map_err(|_| Code::INVALID_VALUE)?;
            *reading.address.get_mut(index).ok_or(Code::INVALID_VALUE)? = mode;
            Ok(())
        })
    }

    /// Sets how values are computed from texels.
    fn cuTexRefSetFilterMode(handle: Handle<Reference>, mode: u32) {
        change(handle, |_, reading| {
            filter(mode)?;
            reading.filters[0] = mode;
            Ok(())
        })
    }

    /// Sets how values are computed from levels.
    fn cuTexRefSetMipmapFilterMode(handle: Handle<Reference>, mode: u32) {
        change(handle, |_, reading| {
            filter(mode)?;
            reading.filters[1] = mode;
            Ok(())
        })
    }

    /// Sets what is added to a level.
    fn cuTexRefSetMipmapLevelBias(handle: Handle<Reference>, bias: f32) {
        change(handle, |_, reading| {
            reading.bias = bias;
            Ok(())
        })
    }

    /// Sets the least level and the most.
    fn cuTexRefSetMipmapLevelClamp(handle: Handle<Reference>, least: f32, most: f32) {
        change(handle, |_, reading| {
            reading.clamp = [least, most];
            Ok(())
        })
    }

    /// Sets the most anisotropy, which changes nothing here.
    fn cuTexRefSetMaxAnisotropy(handle: Handle<Reference>, most: u32) {
        change(handle, |_, reading| {
            reading.anisotropy = most;
            Ok(())
        })
    }

    /// Sets what is outside.
    fn cuTexRefSetBorderColor(handle: Handle<Reference>, color: In<[f32; 4]>) {
        change(handle, |_, reading| {
            reading.border = color.get()?;
            Ok(())
        })
    }

    /// Sets flags: whether integers stay integers, and whether coordinates go from 0 to 1.
    fn cuTexRefSetFlags(handle: Handle<Reference>, flags: u32) {
        change(handle, |_, reading| {
            ensure(flags & !(flag::COMMON | flag::SEAMLESS) == 0, Code::INVALID_VALUE)?;
            reading.flags = flags;
            Ok(())
        })
    }

    /// The memory that a reference shows.
    fn cuTexRefGetAddress_v2(to: Out<u64>, handle: Handle<Reference>) {
        to.required()?;
        match reading(handle)?.shown {
            Shown::Linear(address, _) | Shown::Pitch(address, ..) => to.set(address),
            _ => Err(Code::INVALID_VALUE),
        }
    }

    /// The array that a reference shows.
    fn cuTexRefGetArray(to: Out<Handle<Array>>, handle: Handle<Reference>) {
        to.required()?;
        match reading(handle)?.shown {
            Shown::Array(array) => to.set(array),
            _ => Err(Code::INVALID_VALUE),
        }
    }

    /// The mipmapped array that a reference shows.
    fn cuTexRefGetMipmappedArray(to: Out<Handle<Mipmap>>, handle: Handle<Reference>) {
        to.required()?;
        match reading(handle)?.shown {
            Shown::Mipmap(mipmap) => to.set(mipmap),
            _ => Err(Code::INVALID_VALUE),
        }
    }

    /// What coordinates outside of a dimension mean.
    fn cuTexRefGetAddressMode(to: Out<u32>, handle: Handle<Reference>, dimension: i32) {
        to.required()?;
        let index = usize::try_from(dimension).map_err(|_| Code::INVALID_VALUE)?;
        to.set(*reading(handle)?.address.get(index).ok_or(Code::INVALID_VALUE)?)
    }

    /// How values are computed from texels.
    fn cuTexRefGetFilterMode(to: Out<u32>, handle: Handle<Reference>) {
        to.required()?;
        to.set(reading(handle)?.filters[0])
    }

    /// How values are computed from levels.
    fn cuTexRefGetMipmapFilterMode(to: Out<u32>, handle: Handle<Reference>) {
        to.required()?;
        to.set(reading(handle)?.filters[1])
    }

    /// What is added to a level.
    fn cuTexRefGetMipmapLevelBias(to: Out<f32>, handle: Handle<Reference>) {
        to.required()?;
        to.set(reading(handle)?.bias)
    }

    /// The least level and the most.
    fn cuTexRefGetMipmapLevelClamp(least: Out<f32>, most: Out<f32>, handle: Handle<Reference>) {
        least.required()?;
        most.required()?;
        let clamp = reading(handle)?.clamp;
        least.set(clamp[0])?;
        most.set(clamp[1])
    }

    /// The most anisotropy.
    fn cuTexRefGetMaxAnisotropy(to: Out<i32>, handle: Handle<Reference>) {
        to.required()?;
        to.set(reading(handle)?.anisotropy as i32)
    }

    /// What is outside.
    fn cuTexRefGetBorderColor(to: Out<[f32; 4]>, handle: Handle<Reference>) {
        to.required()?;
        to.set(reading(handle)?.border)
    }

    /// The flags.
    fn cuTexRefGetFlags(to: Out<u32>, handle: Handle<Reference>) {
        to.required()?;
        to.set(reading(handle)?.flags)
    }

    /// What texels are.
    fn cuTexRefGetFormat(format: Out<u32>, channels: Out<i32>, handle: Handle<Reference>) {
        let reading = reading(handle)?;
        format.set_if_any(reading.format);
        channels.set_if_any(reading.channels as i32);
        Ok(())
    }

    /// Shows an array as a surface.
    fn cuSurfRefSetArray(handle: Handle<Reference>, array: Handle<Array>, flags: u32) {
        change(handle, |driver, reading| {
            ensure(flags == 0, Code::INVALID_VALUE)?;
            driver.images.array(array)?;
            reading.shown = Shown::Array(array);
            Ok(())
        })
    }

    /// The array that a surface reference shows.
    fn cuSurfRefGetArray(to: Out<Handle<Array>>, handle: Handle<Reference>) {
        to.required()?;
        match reading(handle)?.shown {
            Shown::Array(array) => to.set(array),
            _ => Err(Code::INVALID_VALUE),
        }
    }
}
