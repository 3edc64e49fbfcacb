//! Runs what a launch file says, on a machine of its own.
//!
//! [`mod@file`] reads launch files, [`data`] the bytes in them, [`elements`] the numbers that these are; [`compare`] has the rules by which results are the same;
//! [`textures`] reads and binds textures and surfaces;
//! [`fault`] tells what stopped a launch, to people and to programs, [`finding`] what the sanitizers found;
//! [`compared`] writes what reproduces a mismatch of compare mode;
//! [`counted`] and [`observe`] how often instructions were executed, and what they cost.

pub mod argument;
pub mod compare;
pub mod compared;
pub mod data;
pub mod elements;
pub mod fault;
pub mod file;
pub mod finding;
mod numbers;
mod origin;
mod place;
pub mod tensormap;
pub mod textures;

pub use softwarp_listing::{counted, observe};

use compare::Difference;
use data::Init;
use file::{Argument, FileError, LaunchFile};
use softwarp::machine::{self, Device};
use softwarp::tensor::Description;
use softwarp::vm::device::{Launch, LaunchError, LoadError, LoadOptions, Report};
use softwarp::vm::memory::global::MemoryError;
use softwarp::vm::texture::TextureError;
use std::borrow::Cow;

/// How launches run: of a launch, everything that a launch file does not say.
pub type Options<'a> = Launch<'a>;

/// Why a launch file did not run to its end.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// It names something that is not there, or asks for what cannot be.
    #[error(transparent)]
    File(FileError),
    /// The module cannot be loaded.
    #[error("{}", unloadable(.0))]
    Load(LoadError),
    /// Memory cannot be had, read or written.
    #[error("`{of}`: {error}")]
    Memory {
        /// The name of the buffer or variable.
        of: String,
        /// Why it cannot.
        error: MemoryError,
    },
    /// A texture or surface cannot be made or bound.
    #[error("`{of}`: {error}")]
    Texture {
        /// The name of the texture or surface.
        of: String,
        /// Why it cannot.
        error: TextureError,
    },
    /// A launch failed.
    #[error("{error}")]
    Launch {
        /// Its number in the file, from 0.
        index: usize,
        /// Why it failed.
        error: LaunchError,
    },
}

/// Why a module cannot be loaded: its first error, if it has some.
fn unloadable(error: &LoadError) -> String {
    match error {
        LoadError::Invalid(found) => match found.first() {
            Some((_, first)) => format!("the module has errors: {} {}", first.code, first.message),
            None => "the module has errors".to_owned(),
        },
        error => error.to_string(),
    }
}

/// A buffer in the machine's memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    /// Its name.
    pub name: String,
    /// Its first address.
    pub address: u64,
    /// Its size.
    pub bytes: u64,
    /// Whether it was freed.
    pub freed: bool,
}

/// A launch file's module in a machine, with its memory as the file wants it.
#[derive(Debug)]
pub struct Run {
    device: Device,
    buffers: Vec<Placed>,
    bound: textures::Bound,
    /// Buffers in constant memory, by name: their addresses there.
    constants: Vec<(String, u64)>,
}

/// The most bytes of a kernel's parameters.
const MOST_PARAMETER: u64 = 32764;

impl Run {
    /// Loads the modules and fills the memory.
    pub fn prepare(file: &LaunchFile, sources: &[&str], load: LoadOptions) -> Result<Run, RunError> {
        let load = LoadOptions { windows: file.windows.or(load.windows), ..load };
        let device = Device::load(sources, load).map_err(RunError::Load)?;
        let mut run =
            Run { device, buffers: Vec::new(), constants: Vec::new(), bound: textures::Bound::default() };
        for buffer in &file.buffers {
            let failed = |error| RunError::Memory { of: buffer.name.clone(), error };
            let machine = run.device.machine();
            let address = match (buffer.address, &buffer.init) {
                (Some(address), _) => machine.allocate_at(address, buffer.bytes).map(|()| address),
                (None, Init::None) => machine.allocate_uninitialised(buffer.bytes),
                (None, _) => machine.allocate(buffer.bytes),
            };
            let address = address.map_err(failed)?;
            let put = |at, piece: &[u8]| run.device.machine_mut().write(address.saturating_add(at), piece);
            buffer.init.write(buffer.bytes, put).map_err(failed)?;
            let (name, bytes) = (buffer.name.clone(), buffer.bytes);
            run.buffers.push(Placed { name, address, bytes, freed: false });
        }
        for (name, of) in &file.multicasts {
            let find = |part: &String| {
                let found = run.buffers.iter().find(|buffer| &buffer.name == part);
                found.map(|buffer| (buffer.address, buffer.bytes)).ok_or_else(|| no_buffer("buffers", part))
            };
            let parts = of.iter().map(find).collect::<Result<Vec<_>, _>>()?;
            let bytes = parts.iter().map(|(_, bytes)| *bytes).min().unwrap_or(0);
            let starts: Vec<u64> = parts.iter().map(|(address, _)| *address).collect();
            let failed = |error| RunError::Memory { of: name.clone(), error };
            let address = run.device.machine_mut().multicast(&starts, bytes).map_err(failed)?;
            run.buffers.push(Placed { name: name.clone(), address, bytes, freed: false });
        }
        for buffer in &file.constants {
            let failed = |error| RunError::Memory { of: buffer.name.clone(), error };
            let address = run.device.machine_mut().allocate_constant(buffer.bytes).map_err(failed)?;
            let put =
                |at, piece: &[u8]| run.device.machine_mut().write_constant(address.saturating_add(at), piece);
            buffer.init.write(buffer.bytes, put).map_err(failed)?;
            run.constants.push((buffer.name.clone(), address));
        }
        for (address, bytes) in &file.contents {
            let failed = |error| RunError::Memory { of: format!("contents at 0x{address:x}"), error };
            run.device.machine().write(*address, bytes).map_err(failed)?;
        }
        for name in &file.freed {
            let index = run.buffers.iter().position(|one| &one.name == name);
            let Some(placed) = index.and_then(|index| run.buffers.get_mut(index)) else {
                return Err(no_buffer("freed", name));
            };
            placed.freed = true;
            let failed = |error| RunError::Memory { of: name.clone(), error };
            run.device.machine_mut().free(placed.address).map_err(failed)?;
        }
        run.bind(&file.surfaces, &file.textures)?;
        if let Some(name) = file.dump.iter().map(|dump| &dump.name).find(|name| !run.has(file, name)) {
            let why = format!("there is no buffer, variable or surface `{name}`");
            return Err(RunError::File(FileError::new("dump", why)));
        }
        for global in &file.globals {
            if let Some(data) = &global.set {
                let failed = |error| RunError::Memory { of: global.name.clone(), error };
                run.device.machine_mut().write_variable(&global.name, data).map_err(failed)?;
            }
        }
        Ok(run)
    }

    /// The machine.
    pub fn device(&self) -> &softwarp::vm::device::Device {
        self.device.machine()
    }

    /// Where the buffers are.
    pub fn buffers(&self) -> &[Placed] {
        &self.buffers
    }

    /// The buffers with the types of their elements, for a debugger.
    pub fn named_buffers(&self, file: &LaunchFile) -> Vec<softwarp::debug::view::Buffer> {
        let named = self.buffers.iter().map(|placed| {
            let elements = file.buffer(&placed.name).and_then(|one| one.elements.as_ref());
            let format = elements.and_then(|one| one.format);
            softwarp::debug::view::Buffer {
                name: placed.name.clone(),
                address: placed.address,
                bytes: placed.bytes,
                ty: format.and_then(|format| softwarp::debug::value::type_named(format.name())),
            }
        });
        named.collect()
    }

    /// Runs one of the launches.
    pub fn launch(
        &mut self,
        file: &LaunchFile,
        index: usize,
        options: &Options<'_>,
    ) -> Result<Report, RunError> {
        let Some(launch) = file.launches.get(index) else {
            let place = format!("launches[{index}]");
            return Err(RunError::File(FileError::new(place, "there is no such launch")));
        };
        let place = |number| format!("launches[{index}].args[{number}]");
        let arguments = launch.arguments.iter().enumerate();
        let arguments = arguments.map(|(number, one)| self.argument(one, &place(number)));
        let arguments = arguments.collect::<Result<Vec<_>, _>>()?;
        let launch = Launch {
            kernel: &launch.kernel,
            grid: launch.grid,
            block: launch.block,
            cluster: launch.cluster,
            cooperative: launch.cooperative,
            dynamic_shared: launch.dynamic_shared,
            exclusive: true,
            ..*options
        };
        self.device.run(&launch, &arguments).map_err(|error| match error {
            machine::Error::Launch(error) => RunError::Launch { index, error },
            other => wrong(&format!("launches[{index}]"), &other),
        })
    }

    fn argument(&self, argument: &Argument, place: &str) -> Result<machine::Argument, RunError> {
        match argument {
            Argument::Bytes(bytes) | Argument::Number(_, bytes) => {
                Ok(machine::Argument::Bytes(bytes.clone()))
            }
            Argument::Buffer(name, offset) => {
                let found = self.buffers.iter().find(|buffer| &buffer.name == name);
                let found = found.ok_or_else(|| no_buffer(place, name))?;
                Ok(machine::Argument::Address(found.address.wrapping_add_signed(*offset)))
            }
            Argument::TensorMap(description, name, offset) => {
                let found = self.buffers.iter().find(|buffer| &buffer.name == name);
                let address =
                    found.ok_or_else(|| no_buffer(place, name))?.address.wrapping_add_signed(*offset);
                let description = Description { address, ..(**description).clone() };
                self.device.tensor_map(&description).map_err(|error| wrong(place, &error))
            }
            Argument::Texture(name) | Argument::Surface(name) => {
                let texture = matches!(argument, Argument::Texture(_));
                let what = if texture { "texture" } else { "surface" };
                let why = format!("there is no {what} object `{name}`");
                let missing = || RunError::File(FileError::new(place, why));
                let handle = self.bound.handle(texture, name).ok_or_else(missing)?;
                Ok(machine::Argument::Bytes(handle.to_le_bytes().to_vec()))
            }
            Argument::Constant(name, offset) => {
                let found = self.constants.iter().find(|(one, _)| one == name);
                let &(_, address) = found.ok_or_else(|| no_buffer(place, name))?;
                Ok(machine::Argument::Address(address.wrapping_add_signed(*offset)))
            }
            Argument::Packed(size, fields) => {
                if *size > MOST_PARAMETER {
                    let why = format!("a struct of {size} bytes: parameters have at most {MOST_PARAMETER}");
                    return Err(RunError::File(FileError::new(place, why)));
                }
                let member = |(at, member): &(u64, Argument)| {
                    Ok((usize::try_from(*at).unwrap_or(usize::MAX), self.argument(member, place)?))
                };
                let members = fields.iter().map(member).collect::<Result<Vec<_>, RunError>>()?;
                machine::Argument::packed(*size as usize, &members).map_err(|error| wrong(place, &error))
            }
        }
    }

    /// What a buffer, or else a variable of the module, holds now.
    pub fn read(&self, name: &str) -> Result<Vec<u8>, RunError> {
        let failed = |error| RunError::Memory { of: name.to_owned(), error };
        let Some(buffer) = self.buffers.iter().find(|buffer| buffer.name == name) else {
            if let Some(array) = self.bound.array(name) {
                return array.read(0).map_err(|error| RunError::Texture { of: name.to_owned(), error });
            }
            return self.device.machine().read_variable(name).map_err(failed);
        };
        let out_of_memory = || failed(MemoryError::OutOfMemory { bytes: buffer.bytes });
        // There must be room for it; who holds several charges them together.
        let account = self.device.machine().account();
        account.charge(buffer.bytes).map_err(|refused| failed(MemoryError::Limit(refused)))?;
        let size = usize::try_from(buffer.bytes).map_err(|_| out_of_memory())?;
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(size).map_err(|_| out_of_memory())?;
        bytes.resize(size, 0);
        self.device.machine().read(buffer.address, &mut bytes).map_err(failed)?;
        Ok(bytes)
    }

    fn read_at(&self, buffer: &Placed, at: u64, into: &mut [u8]) -> Result<(), RunError> {
        let failed = |error| RunError::Memory { of: buffer.name.clone(), error };
        self.device.machine().read(buffer.address.saturating_add(at), into).map_err(failed)
    }

    /// What the file wants to be read back. All of it must fit into the host memory that is left.
    pub fn dumps(&self, file: &LaunchFile) -> Result<Vec<(String, Vec<u8>)>, RunError> {
        let mut held = self.device.machine().account().nothing();
        let mut dumps = Vec::new();
        for name in file.dumped() {
            let bytes = self.read(name)?;
            let error = |refused| RunError::Memory { of: name.clone(), error: MemoryError::Limit(refused) };
            held.grow(bytes.len() as u64).map_err(error)?;
            dumps.push((name.clone(), bytes));
        }
        Ok(dumps)
    }

    /// How memory differs now from what the file expects, by name. One buffer is copied at a time.
    pub fn differences(&self, file: &LaunchFile) -> Result<Vec<(String, Difference)>, RunError> {
        let mut differing = Vec::new();
        for (name, expected) in &file.expect {
            let difference = file.compare.difference(name, &self.read(name)?, expected);
            differing.extend(difference.map(|difference| (name.clone(), difference)));
        }
        Ok(differing)
    }
}

/// Where memory is read back from.
pub trait Memories {
    /// What can be read back under this name, now.
    fn memory(&self, name: &str) -> Result<Memory<'_>, RunError>;

    /// Whether there is something of this name that can be read back.
    fn has(&self, file: &LaunchFile, name: &str) -> bool;
}

impl Memories for Run {
    /// The first bytes are read to see that they can.
    fn memory(&self, name: &str) -> Result<Memory<'_>, RunError> {
        match self.buffers.iter().find(|buffer| buffer.name == name) {
            Some(buffer) => {
                let memory = Memory(Contents::Buffer(self, buffer));
                let first = &mut [0][..buffer.bytes.min(1) as usize];
                self.read_at(buffer, 0, first)?;
                Ok(memory)
            }
            None => Ok(Memory(Contents::Bytes(self.read(name)?.into()))),
        }
    }

    fn has(&self, file: &LaunchFile, name: &str) -> bool {
        file.buffer(name).is_some()
            || self.device.machine().symbol(name).is_some()
            || self.bound.array(name).is_some()
    }
}

/// Memory that is read back a piece at a time, so that a large buffer is never copied as a whole.
#[derive(Debug)]
pub struct Memory<'a>(Contents<'a>);

#[derive(Debug)]
enum Contents<'a> {
    Buffer(&'a Run, &'a Placed),
    Bytes(Cow<'a, [u8]>),
}

/// Bytes that are read at a time.
const PIECE: u64 = 1 << 16;

impl<'a> Memory<'a> {
    /// Bytes that are there already.
    pub fn of(bytes: &'a [u8]) -> Memory<'a> {
        Memory(Contents::Bytes(bytes.into()))
    }

    /// How many bytes there are.
    pub fn length(&self) -> u64 {
        match &self.0 {
            Contents::Buffer(_, buffer) => buffer.bytes,
            Contents::Bytes(bytes) => bytes.len() as u64,
        }
    }

    /// The first bytes, of at most a given number.
    pub fn start(&self, most: usize) -> Result<Vec<u8>, RunError> {
        match &self.0 {
            Contents::Bytes(bytes) => Ok(bytes[..most.min(bytes.len())].to_vec()),
            Contents::Buffer(run, buffer) => {
                let mut bytes = vec![0; usize::try_from(buffer.bytes).map_or(most, |all| all.min(most))];
                run.read_at(buffer, 0, &mut bytes)?;
                Ok(bytes)
            }
        }
    }

    /// Gives all bytes away, in order.
    pub fn pieces<E: From<RunError>>(&self, mut put: impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        match &self.0 {
            Contents::Bytes(bytes) => put(bytes),
            Contents::Buffer(run, buffer) => {
                let mut piece = vec![0; buffer.bytes.min(PIECE) as usize];
                let mut at = 0;
                while at < buffer.bytes {
                    let length = (buffer.bytes - at).min(PIECE) as usize;
                    run.read_at(buffer, at, &mut piece[..length])?;
                    put(&piece[..length])?;
                    at += length as u64;
                }
                Ok(())
            }
        }
    }
}

/// What the machine says about something in a file.
fn wrong(place: &str, error: &machine::Error) -> RunError {
    RunError::File(FileError::new(place, error.to_string()))
}

fn no_buffer(place: &str, name: &str) -> RunError {
    let why = format!("there is no buffer `{name}`");
    RunError::File(FileError::new(place, why))
}

/// What a file's launches came to.
#[derive(Debug)]
pub struct Ran {
    /// What was read back, by name.
    pub dumps: Vec<(String, Vec<u8>)>,
    /// The reports of the launches.
    pub reports: Vec<Report>,
}

/// Runs all launches of a file and reads back what it wants.
pub fn run(file: &LaunchFile, sources: &[&str], options: &Options<'_>) -> Result<Ran, RunError> {
    let load = LoadOptions { red_zones: options.sanitize.bounds, ..LoadOptions::default() };
    let mut run = Run::prepare(file, sources, load)?;
    let launched = (0..file.launches.len()).map(|index| run.launch(file, index, options));
    let mut reports = launched.collect::<Result<Vec<Report>, RunError>>()?;
    if let Some(last) = reports.last_mut() {
        last.findings.extend(run.device().leaks());
    }
    Ok(Ran { reports, dumps: run.dumps(file)? })
}

/// How what was read back differs from what the file expects, by name; what was not read back is left out.
pub fn differences(file: &LaunchFile, dumps: &[(String, Vec<u8>)]) -> Vec<(String, Difference)> {
    let difference = |(name, expected): &(String, Vec<u8>)| {
        let (_, got) = dumps.iter().find(|(of, _)| of == name)?;
        Some((name.clone(), file.compare.difference(name, got, expected)?))
    };
    file.expect.iter().filter_map(difference).collect()
}
