//! Runs a job: makes everything ready, launches, reads back, and cleans up.

use crate::driver::{Array, Driver, Memory, Module, Object, Shape, Source};
use crate::error::{DriverError, Failure, Stage};
use crate::job::{self, Job, Placed, Results, Texels};

/// What a job has on the device.
#[derive(Debug, Default)]
struct Held {
    buffers: Vec<(String, Memory)>,
    /// Buffers that were freed: their addresses are still given to kernels.
    freed: Vec<(String, u64)>,
    arrays: Vec<(String, Array)>,
    surfaces: Vec<(String, Object)>,
    textures: Vec<(String, Object)>,
}

fn find<'a, T>(list: &'a [(String, T)], name: &str) -> Option<&'a T> {
    list.iter().find(|(known, _)| known == name).map(|(_, one)| one)
}

fn memory_failure(name: &str, error: &DriverError) -> Failure {
    Failure::new(Stage::Memory, error).of(name)
}

fn unknown(what: &str, name: &str) -> DriverError {
    DriverError::Unusable(format!("there is no {what} `{name}`"))
}

/// Runs a job in the current context. `loaded` hears that the module is compiled. After a failure of the stage
/// [`Stage::Execution`] the context is of no use any more.
pub fn run(driver: &Driver, job: &Job, loaded: &mut dyn FnMut()) -> Result<Results, Failure> {
    let module = driver
        .load(&job.modules)
        .map_err(|(error, log)| Failure { log: log.into(), ..Failure::new(Stage::Load, &error) })?;
    loaded();
    let mut held = Held::default();
    let done = in_module(driver, job, &module, &mut held);
    if done.as_ref().is_err_and(|failure| failure.stage == Stage::Execution) {
        return done;
    }
    let cleaned = clean(driver, held, module);
    let results = done?;
    cleaned.map_err(|error| Failure::new(Stage::Memory, &error))?;
    Ok(results)
}

fn clean(driver: &Driver, held: Held, module: Module) -> Result<(), DriverError> {
    let objects = held.textures.into_iter().chain(held.surfaces);
    objects.map(|(_, object)| object).try_for_each(|object| driver.destroy_object(object))?;
    held.arrays.into_iter().try_for_each(|(_, array)| driver.destroy_array(array))?;
    held.buffers.into_iter().try_for_each(|(_, memory)| driver.free(memory))?;
    driver.unload(module)
}

fn in_module(driver: &Driver, job: &Job, module: &Module, held: &mut Held) -> Result<Results, Failure> {
    for buffer in &job.buffers {
        let failed = |error: DriverError| memory_failure(&buffer.name, &error);
        let memory = driver.allocate(buffer.bytes).map_err(failed)?;
        driver.clear(&memory).map_err(failed)?;
        if let Some(contents) = buffer.contents {
            driver.write(&memory, 0, job.bytes(contents)).map_err(failed)?;
        }
        held.buffers.push((buffer.name.clone(), memory));
    }
    let addresses = held.buffers.iter().map(|(name, memory)| (name.clone(), memory.address())).collect();
    for (name, contents) in &job.variables {
        let failed = |error: DriverError| memory_failure(name, &error);
        let variable = driver.variable(module, name).map_err(failed)?;
        driver.write(&variable, 0, job.bytes(*contents)).map_err(failed)?;
    }
    for surface in &job.surfaces {
        bind_surface(driver, job, module, surface, held)
            .map_err(|error| memory_failure(&surface.name, &error))?;
    }
    for texture in &job.textures {
        bind_texture(driver, job, module, texture, held)
            .map_err(|error| memory_failure(&texture.name, &error))?;
    }
    for name in &job.freed {
        let index = held.buffers.iter().position(|(known, _)| known == name);
        let Some(index) = index else { return Err(memory_failure(name, &unknown("buffer", name))) };
        let (name, memory) = held.buffers.remove(index);
        held.freed.push((name.clone(), memory.address()));
        driver.free(memory).map_err(|error| memory_failure(&name, &error))?;
    }
    // Copies may still be on their way.
    driver.synchronize().map_err(|error| Failure::new(Stage::Memory, &error))?;
    for (index, launch) in job.launches.iter().enumerate() {
        launch_one(driver, job, module, launch, held).map_err(|failure| failure.in_launch(index))?;
    }
    let read = |name: &String| {
        let failed = |error: DriverError| memory_failure(name, &error);
        let bytes = if let Some(memory) = find(&held.buffers, name) {
            driver.read(memory)
        } else if let Some(array) = find(&held.arrays, name)
            && let Some(surface) = job.surfaces.iter().find(|surface| &surface.name == name)
        {
            driver.read_array(array, &surface.array)
        } else {
            driver.variable(module, name).and_then(|variable| driver.read(&variable))
        };
        Ok((name.clone(), bytes.map_err(failed)?))
    };
    Ok(Results { memories: job.read.iter().map(read).collect::<Result<_, Failure>>()?, addresses })
}

fn array(driver: &Driver, job: &Job, wanted: &job::Array) -> Result<Array, DriverError> {
    let levels: Vec<&[u8]> = wanted.levels.iter().map(|level| job.bytes(*level)).collect();
    driver.array(wanted, &levels)
}

fn bind_surface(
    driver: &Driver,
    job: &Job,
    module: &Module,
    surface: &job::Surface,
    held: &mut Held,
) -> Result<(), DriverError> {
    let array = array(driver, job, &surface.array)?;
    match surface.object {
        true => held.surfaces.push((surface.name.clone(), driver.surface_object(&array)?)),
        false => driver.bind_surface(module, &surface.name, &array)?,
    }
    held.arrays.push((surface.name.clone(), array));
    Ok(())
}

fn bind_texture(
    driver: &Driver,
    job: &Job,
    module: &Module,
    texture: &job::Texture,
    held: &mut Held,
) -> Result<(), DriverError> {
    // Arrays of textures have names that no surface has.
    let own = format!("texture {}", texture.name);
    let mut levels = 1;
    if let Texels::Array(wanted) = &texture.texels {
        levels = wanted.levels.len();
        held.arrays.push((own.clone(), array(driver, job, wanted)?));
    }
    let within = |buffer: &str, offset: u64| match find(&held.buffers, buffer) {
        Some(memory) => Ok(memory.address().wrapping_add(offset)),
        None => Err(unknown("buffer", buffer)),
    };
    let source = match &texture.texels {
        Texels::Array(_) => Source::Array(find(&held.arrays, &own).ok_or_else(|| unknown("array", &own))?),
        Texels::Surface(name) => {
            Source::Array(find(&held.arrays, name).ok_or_else(|| unknown("surface", name))?)
        }
        Texels::Linear { buffer, offset, bytes } => Source::Linear(within(buffer, *offset)?, *bytes),
        Texels::Pitched { buffer, offset, width, height, pitch } => {
            let address = within(buffer, *offset)?;
            Source::Pitched { address, width: *width, height: *height, pitch: *pitch }
        }
    };
    match texture.object {
        true => {
            let object = driver.texture_object(&source, texture, levels)?;
            held.textures.push((texture.name.clone(), object));
        }
        false => driver.bind_texture(module, &source, texture, levels)?,
    }
    Ok(())
}

fn launch_one(
    driver: &Driver,
    job: &Job,
    module: &Module,
    launch: &job::Launch,
    held: &Held,
) -> Result<(), Failure> {
    let refused = |error: DriverError| Failure::new(Stage::Launch, &error).of(&launch.kernel);
    let function = driver.function(module, &launch.kernel).map_err(refused)?;
    let arguments = launch.arguments.iter().map(|argument| bytes_of(driver, job, argument, held));
    let arguments = arguments.collect::<Result<Vec<_>, DriverError>>().map_err(refused)?;
    let shape = Shape {
        grid: launch.grid,
        block: launch.block,
        cluster: launch.cluster,
        cooperative: launch.cooperative,
        shared: launch.shared,
    };
    driver.launch(&function, &shape, &arguments).map_err(refused)?;
    driver.synchronize().map_err(|error| Failure::new(Stage::Execution, &error).of(&launch.kernel))
}

/// An argument with everything in its place.
fn bytes_of(
    driver: &Driver,
    job: &Job,
    argument: &job::Argument,
    held: &Held,
) -> Result<Vec<u8>, DriverError> {
    let mut bytes = job.bytes(argument.bytes).to_vec();
    let address = |name: &str, offset: i64| {
        let known = find(&held.buffers, name).map(Memory::address);
        let known = known.or_else(|| find(&held.freed, name).copied());
        known.map(|base| base.wrapping_add_signed(offset)).ok_or_else(|| unknown("buffer", name))
    };
    for (at, placed) in &argument.places {
        let value = match placed {
            Placed::Buffer(name, offset) => address(name, *offset)?.to_le_bytes().to_vec(),
            Placed::Texture(name) => handle(&held.textures, "texture object", name)?,
            Placed::Surface(name) => handle(&held.surfaces, "surface object", name)?,
            Placed::TensorMap(map, name, offset) => driver.tensor_map(map, address(name, *offset)?)?.to_vec(),
        };
        let place = at.checked_add(value.len()).and_then(|end| bytes.get_mut(*at..end));
        let place = place.ok_or_else(|| DriverError::Unusable("an argument is too short".to_owned()))?;
        place.copy_from_slice(&value);
    }
    Ok(bytes)
}

fn handle(list: &[(String, Object)], what: &str, name: &str) -> Result<Vec<u8>, DriverError> {
    find(list, name).map(|object| object.handle().to_le_bytes().to_vec()).ok_or_else(|| unknown(what, name))
}
