//! The machine for programs in Rust: a module, a device with memory, launches.
//!
//! ```
//! use softwarp::{Device, Module};
//!
//! let saxpy = "
//!     .version 8.0
//!     .target sm_80
//!     .address_size 64
//!     .visible .entry saxpy(.param .f32 a, .param .u64 x, .param .u64 y, .param .u32 n)
//!     {
//!         .reg .pred %outside;
//!         .reg .b32 %i, %n;
//!         .reg .b64 %offset, %px, %py;
//!         .reg .f32 %a, %x, %y;
//!         mov.u32 %i, %tid.x;
//!         ld.param.u32 %n, [n];
//!         setp.ge.u32 %outside, %i, %n;
//!         @%outside ret;
//!         ld.param.f32 %a, [a];
//!         ld.param.u64 %px, [x];
//!         ld.param.u64 %py, [y];
//!         mul.wide.u32 %offset, %i, 4;
//!         add.u64 %px, %px, %offset;
//!         add.u64 %py, %py, %offset;
//!         ld.global.f32 %x, [%px];
//!         ld.global.f32 %y, [%py];
//!         fma.rn.f32 %y, %a, %x, %y;
//!         st.global.f32 [%py], %y;
//!         ret;
//!     }";
//! let mut device = Device::new(&Module::from_ptx(saxpy)?)?;
//! let x = device.upload(&[1.0f32, 2.0, 3.0])?;
//! let y = device.upload(&[10.0f32, 20.0, 30.0])?;
//! device.launch("saxpy", 1, 32, 0, &[2.0f32.into(), (&x).into(), (&y).into(), 3u32.into()])?;
//! assert_eq!(device.download(&y)?, [12.0, 24.0, 36.0]);
//! # Ok::<(), softwarp::machine::Error>(())
//! ```

use crate::check::Options;
use crate::image::Finding;
use crate::render;
use crate::source::Source;
use crate::syntax::{Diagnostic, Severity};
use crate::vm::device::{Launch, LaunchError, LoadError, LoadOptions, Report};
use crate::vm::memory::global::MemoryError;
use std::marker::PhantomData;

/// A module that has been checked.
#[derive(Debug)]
pub struct Module {
    source: Source,
}

impl Module {
    /// Checks a module.
    pub fn from_ptx(text: &str) -> Result<Module, Error> {
        Module::named("module", text)
    }

    /// The same with a name, which errors will have.
    pub fn named(name: &str, text: &str) -> Result<Module, Error> {
        let source = Source::new(name, text.as_bytes().to_vec());
        // What it lacks, a module that it is linked with may have.
        let options = Options { relocatable: true, ..Options::default() };
        let mut errors = source.diagnose(options);
        errors.retain(|one| one.severity() == Severity::Error);
        if errors.is_empty() { Ok(Module { source }) } else { Err(Error::invalid(&source, errors)) }
    }

    /// Its text.
    pub fn text(&self) -> &str {
        &self.source.text
    }
}

/// Why something failed.
#[derive(Debug)]
pub enum Error {
    /// A module is not valid: what is wrong, and all of it as text with the lines that it is about.
    Invalid {
        /// What is wrong.
        errors: Vec<Diagnostic>,
        /// The same for people.
        text: String,
    },
    /// Modules do not fit together, or not into memory.
    Unlinked(Vec<Finding>),
    /// Memory cannot be had, read or written.
    Memory(MemoryError),
    /// A launch failed, or was refused.
    Launch(LaunchError),
}

impl Error {
    fn invalid(source: &Source, errors: Vec<Diagnostic>) -> Error {
        let text = errors.iter().map(|one| render::text(source, one, false)).collect();
        Error::Invalid { errors, text }
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Error::Invalid { text, .. } => write!(f, "the module is not valid\n{}", text.trim_end()),
            Error::Unlinked(found) => match found.first() {
                Some(first) => write!(f, "the modules cannot be linked: {}", first.diagnostic.message),
                None => write!(f, "the modules cannot be linked"),
            },
            Error::Memory(error) => write!(f, "{error}"),
            Error::Launch(error) => write!(f, "{error}"),
        }
    }
}

impl std::error::Error for Error {}

impl From<MemoryError> for Error {
    fn from(error: MemoryError) -> Error {
        Error::Memory(error)
    }
}

impl From<LaunchError> for Error {
    fn from(error: LaunchError) -> Error {
        Error::Launch(error)
    }
}

/// What memory of a device can hold elements of.
pub trait Element: Copy {
    /// Its bytes.
    const BYTES: usize;
    /// Appends it, least significant byte first.
    fn put(self, bytes: &mut Vec<u8>);
    /// Reads it from that many bytes; zeros for those that are not there.
    fn get(bytes: &[u8]) -> Self;
}

macro_rules! elements {
    ($($element:ty),*) => {$(
        impl Element for $element {
            const BYTES: usize = size_of::<$element>();
            fn put(self, bytes: &mut Vec<u8>) {
                bytes.extend(self.to_le_bytes());
            }
            fn get(bytes: &[u8]) -> $element {
                let mut exactly = [0; size_of::<$element>()];
                exactly.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
                <$element>::from_le_bytes(exactly)
            }
        }

        impl From<$element> for Argument {
            fn from(value: $element) -> Argument {
                Argument::Bytes(value.to_le_bytes().to_vec())
            }
        }
    )*};
}

elements!(u8, i8, u16, i16, u32, i32, u64, i64, f32, f64);

/// An argument of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Argument {
    /// An address, as wide as the module's.
    Address(u64),
    /// The bytes of a parameter.
    Bytes(Vec<u8>),
}

impl<T> From<&Buffer<T>> for Argument {
    fn from(buffer: &Buffer<T>) -> Argument {
        Argument::Address(buffer.address)
    }
}

/// Memory of a device that holds elements of one type.
#[derive(Debug)]
pub struct Buffer<T> {
    address: u64,
    length: usize,
    of: PhantomData<T>,
}

impl<T> Buffer<T> {
    /// Its first address.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// How many elements it has.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }
}

/// Sizes in up to three dimensions: `4`, `(4, 2)` or `(4, 2, 1)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size(pub [u32; 3]);

impl From<u32> for Size {
    fn from(x: u32) -> Size {
        Size([x, 1, 1])
    }
}

impl From<(u32, u32)> for Size {
    fn from((x, y): (u32, u32)) -> Size {
        Size([x, y, 1])
    }
}

impl From<(u32, u32, u32)> for Size {
    fn from((x, y, z): (u32, u32, u32)) -> Size {
        Size([x, y, z])
    }
}

impl From<[u32; 3]> for Size {
    fn from(sizes: [u32; 3]) -> Size {
        Size(sizes)
    }
}

/// A machine with modules in its memory.
#[derive(Debug)]
pub struct Device {
    machine: crate::vm::device::Device,
}

impl Device {
    /// One with a module.
    pub fn new(module: &Module) -> Result<Device, Error> {
        Device::linked(&[module])
    }

    /// One with several modules, linked.
    pub fn linked(modules: &[&Module]) -> Result<Device, Error> {
        let texts: Vec<&str> = modules.iter().map(|module| module.text()).collect();
        let machine = crate::vm::device::Device::load(&texts, LoadOptions::default());
        let machine = machine.map_err(|error| match error {
            LoadError::Invalid(found) => {
                let text = |(unit, diagnostic): &(u32, Diagnostic)| {
                    let module = modules.get(*unit as usize)?;
                    Some(render::text(&module.source, diagnostic, false))
                };
                let text = found.iter().filter_map(text).collect();
                Error::Invalid { text, errors: found.into_iter().map(|(_, diagnostic)| diagnostic).collect() }
            }
            LoadError::Unlinked(found) => Error::Unlinked(found),
            LoadError::Memory(error) => Error::Memory(error),
        })?;
        Ok(Device { machine })
    }

    /// The machine itself, with everything that it can do.
    pub fn machine(&mut self) -> &mut crate::vm::device::Device {
        &mut self.machine
    }

    /// Memory for so many elements: zeros.
    pub fn zeros<T: Element>(&mut self, length: usize) -> Result<Buffer<T>, Error> {
        let bytes = (length as u64).saturating_mul(T::BYTES as u64);
        Ok(Buffer { address: self.machine.allocate(bytes)?, length, of: PhantomData })
    }

    /// Memory that holds these elements.
    pub fn upload<T: Element>(&mut self, elements: &[T]) -> Result<Buffer<T>, Error> {
        let buffer = self.zeros(elements.len())?;
        self.write(&buffer, elements)?;
        Ok(buffer)
    }

    /// Writes elements to the start of a buffer.
    pub fn write<T: Element>(&mut self, buffer: &Buffer<T>, elements: &[T]) -> Result<(), Error> {
        let mut bytes = Vec::with_capacity(elements.len() * T::BYTES);
        elements.iter().for_each(|element| element.put(&mut bytes));
        Ok(self.machine.write(buffer.address, &bytes)?)
    }

    /// What a buffer holds.
    pub fn download<T: Element>(&self, buffer: &Buffer<T>) -> Result<Vec<T>, Error> {
        let mut bytes = vec![0; buffer.length * T::BYTES];
        self.machine.read(buffer.address, &mut bytes)?;
        Ok(bytes.chunks(T::BYTES).map(T::get).collect())
    }

    /// Gives memory back.
    pub fn free<T>(&mut self, buffer: Buffer<T>) -> Result<(), Error> {
        Ok(self.machine.free(buffer.address)?)
    }

    /// Runs a kernel to its end: CTAs of the grid, threads of a CTA, bytes of shared memory beyond what the kernel
    /// declares, and an argument for each parameter.
    pub fn launch(
        &mut self,
        kernel: &str,
        grid: impl Into<Size>,
        block: impl Into<Size>,
        shared: u32,
        arguments: &[Argument],
    ) -> Result<Report, Error> {
        let arguments = fit(&self.machine, kernel, arguments);
        let launch = Launch::new(kernel, grid.into().0, block.into().0, &arguments);
        Ok(self.machine.launch(&Launch { dynamic_shared: shared, ..launch })?)
    }
}

/// The bytes of arguments: an address has four where the parameter has, in a module of 32 bits.
pub(crate) fn fit(machine: &crate::vm::device::Device, kernel: &str, arguments: &[Argument]) -> Vec<Vec<u8>> {
    let image = machine.image();
    let named = image.functions.iter().find(|function| function.entry && &*function.name == kernel);
    let parameters = named.map_or(&[][..], |function| &function.parameters);
    let bytes = |(index, argument): (usize, &Argument)| match argument {
        Argument::Bytes(bytes) => bytes.clone(),
        Argument::Address(address) => {
            let narrow = parameters.get(index).is_some_and(|&id| image.object(id).total() == 4);
            match u32::try_from(*address) {
                Ok(address) if narrow => address.to_le_bytes().to_vec(),
                _ => address.to_le_bytes().to_vec(),
            }
        }
    };
    arguments.iter().enumerate().map(bytes).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vm::fault::FaultKind;

    const COPY: &str = ".version 8.0\n.target sm_90\n.address_size 64\n\
        .visible .entry copy(.param .u64 p)\n{\n.reg .b64 %p;\n.reg .b32 %i, %n;\n.reg .b64 %o;\n\
        ld.param.u64 %p, [p];\nmov.u32 %i, %tid.x;\nmov.u32 %n, %tid.y;\nmad.lo.u32 %n, %n, 4, %i;\n\
        mul.wide.u32 %o, %n, 4;\nadd.u64 %p, %p, %o;\nst.global.u32 [%p], %n;\nret;\n}\n";

    fn device() -> Device {
        Device::new(&Module::from_ptx(COPY).expect("it is valid")).expect("it loads")
    }

    #[test]
    fn a_launch_of_two_dimensions_writes_each_element() {
        let mut device = device();
        let out = device.zeros::<u32>(8).expect("memory");
        let report = device.launch("copy", 1, (4, 2), 0, &[(&out).into()]).expect("it runs");
        assert_eq!(device.download(&out).expect("memory"), [0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(report.ctas, 1);
    }

    #[test]
    fn a_fault_names_its_place() {
        let mut device = device();
        let out = device.zeros::<u32>(7).expect("memory");
        let error = device.launch("copy", 1, (4, 2), 0, &[(&out).into()]).expect_err("one too many");
        let Error::Launch(LaunchError::Fault(fault)) = error else { panic!("{error}") };
        assert!(matches!(&fault.kind, FaultKind::Access(bad) if bad.bytes == 4), "{fault}");
        assert_eq!(fault.place.expect("a place").thread, [3, 1, 0]);
    }

    #[test]
    fn what_is_freed_is_gone() {
        let mut device = device();
        let out = device.upload(&[1.5f32]).expect("memory");
        let address = out.address();
        device.free(out).expect("it was there");
        let gone = device.machine().read(address, &mut [0]);
        assert_eq!(gone, Err(MemoryError::Freed { address }));
    }

    #[test]
    fn errors_of_modules_and_launches_are_told_apart() {
        let error =
            Module::from_ptx(".version 8.0\n.target sm_90\n.visible .entry k() { bad; }").expect_err("bad");
        assert!(
            matches!(&error, Error::Invalid { errors, text } if !errors.is_empty() && text.contains("bad;"))
        );
        let error = device().launch("none", 1, 1, 0, &[]).expect_err("no such kernel");
        assert!(matches!(error, Error::Launch(LaunchError::NoKernel { .. })), "{error}");
        let error = device().launch("copy", 1, 1, 0, &[7u32.into()]).expect_err("too short");
        assert!(
            matches!(error, Error::Launch(LaunchError::ArgumentSize { bytes: 8, given: 4, .. })),
            "{error}"
        );
        let error = device().zeros::<u64>(usize::MAX).expect_err("too much");
        assert!(matches!(error, Error::Memory(MemoryError::OutOfMemory { .. })), "{error}");
    }
}
