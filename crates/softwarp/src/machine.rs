//! The machine for programs in Rust: a module, a device with memory, launches. Everything that launch files and the
//! command line can have is here: textures and surfaces ([`Device::bind_texture`] and its neighbours), clusters and
//! cooperative launches ([`Device::run`]), tensor maps ([`Device::tensor_map`]), multicast memory
//! ([`Device::multicast`]), constants and variables.
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
//! let device = Device::new(&Module::from_ptx(saxpy)?)?;
//! let x = device.upload(&[1.0f32, 2.0, 3.0])?;
//! let y = device.upload(&[10.0f32, 20.0, 30.0])?;
//! device.launch("saxpy", 1, 32, 0, &[2.0f32.into(), (&x).into(), (&y).into(), 3u32.into()])?;
//! assert_eq!(device.download(&y)?, [12.0, 24.0, 36.0]);
//! # Ok::<(), softwarp::machine::Error>(())
//! ```

mod error;
pub mod texture;
mod value;

pub use crate::vm::device::{Launch, LoadOptions, ModuleId};
pub use crate::vm::texture::array::{Array, ArrayDescription};
pub use crate::vm::texture::format::Format;
pub use crate::vm::texture::sampler::{AddressMode, Filter, Sampler};
pub use crate::vm::texture::{Source as Texels, Texture};
pub use error::Error;
pub use value::{Argument, Buffer, Element, Handle, Size};

use crate::check::Options;
use crate::plain;
use crate::source::Source;
use crate::syntax::{Diagnostic, Severity};
use crate::tensor::{Description, Map};
use crate::vm;
use crate::vm::device::{LaunchError, LoadError, Report};
use std::marker::PhantomData;
use value::{bytes_of, elements_of, fit};

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

    /// Checks a module with a name, which errors will have.
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

/// A machine with modules in its memory.
#[derive(Debug)]
pub struct Device {
    machine: vm::device::Device,
}

impl Device {
    /// A device with a module loaded.
    pub fn new(module: &Module) -> Result<Device, Error> {
        Device::linked(&[module])
    }

    /// One with several modules, linked.
    pub fn linked(modules: &[&Module]) -> Result<Device, Error> {
        let texts: Vec<&str> = modules.iter().map(|module| module.text()).collect();
        Device::load(&texts, LoadOptions::default()).map_err(|error| load_error(modules, error))
    }

    /// A device with the modules of these texts, which are parsed and checked first.
    pub fn load(texts: &[&str], options: LoadOptions) -> Result<Device, LoadError> {
        Ok(Device { machine: vm::device::Device::load(texts, options)? })
    }

    /// Loads further modules beside those that are there: linked with one another, and with no other. Their kernels work
    /// on the same buffers ([`Launch::module`] says which module a launch is of).
    ///
    /// ```
    /// use softwarp::machine::Launch;
    /// use softwarp::{Device, Module};
    ///
    /// let set = |value: u32| format!("
    ///     .version 8.0
    ///     .target sm_80
    ///     .address_size 64
    ///     .visible .entry set(.param .u64 to)
    ///     {{
    ///         .reg .b64 %to;
    ///         ld.param.u64 %to, [to];
    ///         st.global.u32 [%to], {value};
    ///         ret;
    ///     }}");
    /// let device = Device::new(&Module::from_ptx(&set(1))?)?;
    /// let to = device.zeros::<u32>(1)?;
    /// let two = device.add(&[&Module::from_ptx(&set(2))?])?;
    /// let launch = Launch { module: two, ..Launch::new("set", [1; 3], [1; 3], &[]) };
    /// device.run(&launch, &[(&to).into()])?;
    /// assert_eq!(device.download(&to)?, [2]);
    /// device.remove(two)?;
    /// assert_eq!(device.download(&to)?, [2]);
    /// assert!(device.run(&launch, &[(&to).into()]).is_err());
    /// # Ok::<(), softwarp::machine::Error>(())
    /// ```
    pub fn add(&self, modules: &[&Module]) -> Result<ModuleId, Error> {
        let texts: Vec<&str> = modules.iter().map(|module| module.text()).collect();
        let loaded = self.machine.load_module(&texts, LoadOptions::default());
        loaded.map_err(|error| load_error(modules, error))
    }

    /// Unloads modules that were loaded together. Buffers stay.
    pub fn remove(&self, module: ModuleId) -> Result<(), Error> {
        Ok(self.machine.unload_module(module).map_err(LaunchError::from)?)
    }

    /// The machine itself, with everything that it can do.
    pub fn machine(&self) -> &vm::device::Device {
        &self.machine
    }

    /// The virtual machine itself, to be changed.
    pub fn machine_mut(&mut self) -> &mut vm::device::Device {
        &mut self.machine
    }

    /// Memory for a given number of elements: zeros.
    pub fn zeros<T: Element>(&self, length: usize) -> Result<Buffer<T>, Error> {
        let bytes = (length as u64).saturating_mul(T::BYTES as u64);
        Ok(Buffer { address: self.machine.allocate(bytes)?, length, of: PhantomData })
    }

    /// Memory for a given number of elements. Launches that are sanitized report reads of
    /// elements that were not written before.
    pub fn uninitialised<T: Element>(&self, length: usize) -> Result<Buffer<T>, Error> {
        let bytes = (length as u64).saturating_mul(T::BYTES as u64);
        Ok(Buffer { address: self.machine.allocate_uninitialised(bytes)?, length, of: PhantomData })
    }

    /// Memory that holds these elements.
    pub fn upload<T: Element>(&self, elements: &[T]) -> Result<Buffer<T>, Error> {
        let buffer = self.zeros(elements.len())?;
        self.write(&buffer, elements)?;
        Ok(buffer)
    }

    /// Writes elements to the start of a buffer.
    pub fn write<T: Element>(&self, buffer: &Buffer<T>, elements: &[T]) -> Result<(), Error> {
        Ok(self.machine.write(buffer.address, &bytes_of(elements))?)
    }

    /// What a buffer holds.
    pub fn download<T: Element>(&self, buffer: &Buffer<T>) -> Result<Vec<T>, Error> {
        let mut bytes = vec![0; buffer.length * T::BYTES];
        self.machine.read(buffer.address, &mut bytes)?;
        Ok(elements_of(&bytes))
    }

    /// Gives memory back.
    pub fn free<T>(&self, buffer: Buffer<T>) -> Result<(), Error> {
        Ok(self.machine.free(buffer.address)?)
    }

    /// Elements in constant memory, as an argument for a parameter that is a `.ptr .const`.
    pub fn constant<T: Element>(&self, elements: &[T]) -> Result<Argument, Error> {
        let bytes = bytes_of(elements);
        let address = self.machine.allocate_constant(bytes.len() as u64)?;
        self.machine.write_constant(address, &bytes)?;
        Ok(Argument::Address(address))
    }

    /// Sets the first elements of a variable of the module, in `.global` or `.const`.
    pub fn set<T: Element>(&self, variable: &str, elements: &[T]) -> Result<(), Error> {
        Ok(self.machine.write_variable(variable, &bytes_of(elements))?)
    }

    /// What a variable of the module holds.
    pub fn get<T: Element>(&self, variable: &str) -> Result<Vec<T>, Error> {
        Ok(elements_of(&self.machine.read_variable(variable)?))
    }

    /// Memory that stands for the same places in several buffers, for `multimem` instructions and for nothing else. It
    /// has as many elements as the shortest.
    ///
    /// ```
    /// use softwarp::{Device, Module};
    ///
    /// let module = Module::from_ptx("
    ///     .version 8.6
    ///     .target sm_90
    ///     .address_size 64
    ///     .visible .entry total(.param .u64 all, .param .u64 sum)
    ///     {
    ///         .reg .b64 %all, %to;
    ///         .reg .b32 %sum;
    ///         ld.param.u64 %all, [all];
    ///         ld.param.u64 %to, [sum];
    ///         multimem.ld_reduce.relaxed.gpu.global.add.u32 %sum, [%all];
    ///         st.global.u32 [%to], %sum;
    ///         ret;
    ///     }")?;
    /// let device = Device::new(&module)?;
    /// let (a, b) = (device.upload(&[30u32])?, device.upload(&[12u32])?);
    /// let all = device.multicast(&[&a, &b])?;
    /// let sum = device.zeros::<u32>(1)?;
    /// device.launch("total", 1, 1, 0, &[(&all).into(), (&sum).into()])?;
    /// assert_eq!(device.download(&sum)?, [42]);
    /// # Ok::<(), softwarp::machine::Error>(())
    /// ```
    pub fn multicast<T: Element>(&self, parts: &[&Buffer<T>]) -> Result<Buffer<T>, Error> {
        let length = parts.iter().map(|part| part.length).min().unwrap_or(0);
        let starts: Vec<u64> = parts.iter().map(|part| part.address).collect();
        let address = self.machine.multicast(&starts, (length * T::BYTES) as u64)?;
        Ok(Buffer { address, length, of: PhantomData })
    }

    /// A tensor map as an argument: a parameter of 128 bytes. The rules are those of the GPU that the machine is.
    ///
    /// ```
    /// use softwarp::tensor::{Description, Element, packed_strides};
    /// use softwarp::{Device, Module};
    ///
    /// let module = Module::from_ptx("
    ///     .version 8.6
    ///     .target sm_90
    ///     .address_size 64
    ///     .visible .entry corner(.param .align 64 .b8 map[128], .param .u64 to)
    ///     {
    ///         .reg .pred %done;
    ///         .reg .b32 %x, %y, %value;
    ///         .reg .b64 %map, %to;
    ///         .shared .align 128 .b8 tile[32];
    ///         .shared .align 8 .b64 ready;
    ///         mov.b64 %map, map;
    ///         cvta.param.u64 %map, %map;
    ///         ld.param.u64 %to, [to];
    ///         mov.u32 %x, 4;
    ///         mov.u32 %y, 1;
    ///         mbarrier.init.shared.b64 [ready], 1;
    ///         fence.proxy.async;
    ///         mbarrier.arrive.expect_tx.shared.b64 _, [ready], 32;
    ///         cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes
    ///             [tile], [%map, {%x, %y}], [ready];
    ///     WAIT:
    ///         mbarrier.try_wait.parity.shared.b64 %done, [ready], 0;
    ///         @!%done bra WAIT;
    ///         ld.shared.u32 %value, [tile+20];
    ///         st.global.u32 [%to], %value;
    ///         ret;
    ///     }")?;
    /// let device = Device::new(&module)?;
    /// let rows = device.upload(&(0..64u32).collect::<Vec<_>>())?;
    /// let to = device.zeros::<u32>(1)?;
    /// let dims = [8, 8];
    /// let tiled = Description::tiled(Element::U32, &dims, &packed_strides(Element::U32, &dims), &[4, 2]);
    /// let map = device.tensor_map(&Description { address: rows.address(), ..tiled })?;
    /// device.launch("corner", 1, 1, 0, &[map, (&to).into()])?;
    /// assert_eq!(device.download(&to)?, [2 * 8 + 5]);
    /// # Ok::<(), softwarp::machine::Error>(())
    /// ```
    pub fn tensor_map(&self, description: &Description) -> Result<Argument, Error> {
        let arch = self.machine.arch().baseline();
        let map = Map::new(description, arch).map_err(|mut findings| {
            findings.retain(|one| one.severity() == Severity::Error);
            Error::TensorMap(findings)
        })?;
        Ok((&map).into())
    }

    /// Runs a kernel to its end: CTAs of the grid, threads of a CTA, bytes of shared memory beyond what the kernel
    /// declares, and an argument for each parameter.
    pub fn launch(
        &self,
        kernel: &str,
        grid: impl Into<Size>,
        block: impl Into<Size>,
        shared: u32,
        arguments: &[Argument],
    ) -> Result<Report, Error> {
        let launch = Launch::new(kernel, grid.into().0, block.into().0, &[]);
        self.run(&Launch { dynamic_shared: shared, ..launch }, arguments)
    }

    /// Runs a kernel with all that a launch can have: clusters and cooperation, limits, observers, sanitizers. Its
    /// arguments are given here.
    ///
    /// ```
    /// use softwarp::machine::Launch;
    /// use softwarp::vm::sanitize::Sanitize;
    /// use softwarp::{Device, Module};
    ///
    /// let module = Module::from_ptx("
    ///     .version 8.6
    ///     .target sm_90
    ///     .address_size 64
    ///     .visible .entry neighbours(.param .u64 to)   // what the other CTA of the cluster has
    ///     {
    ///         .reg .b32 %rank, %other, %at, %value, %cta;
    ///         .reg .b64 %to;
    ///         .shared .align 4 .u32 own;
    ///         ld.param.u64 %to, [to];
    ///         mov.u32 %cta, %ctaid.x;
    ///         st.shared.u32 [own], %cta;
    ///         barrier.cluster.arrive;
    ///         barrier.cluster.wait;
    ///         mov.u32 %rank, %cluster_ctarank;
    ///         xor.b32 %other, %rank, 1;
    ///         mapa.shared::cluster.u32 %at, own, %other;
    ///         ld.shared::cluster.u32 %value, [%at];
    ///         mad.wide.u32 %to, %cta, 4, %to;
    ///         st.global.u32 [%to], %value;
    ///         barrier.cluster.arrive;
    ///         barrier.cluster.wait;
    ///         ret;
    ///     }
    ///     .visible .entry together(.param .u64 to)     // no CTA goes on before all have come
    ///     {
    ///         .reg .pred %more;
    ///         .reg .b32 %old, %now;
    ///         .reg .b64 %to;
    ///         ld.param.u64 %to, [to];
    ///         atom.global.add.u32 %old, [%to], 1;
    ///     WAIT:
    ///         ld.acquire.gpu.global.u32 %now, [%to];
    ///         setp.lt.u32 %more, %now, 4;
    ///         @%more bra WAIT;
    ///         ret;
    ///     }")?;
    /// let device = Device::new(&module)?;
    /// let to = device.zeros::<u32>(4)?;
    /// let plain = Launch::new("neighbours", [4, 1, 1], [1, 1, 1], &[]);
    /// let launch = Launch { cluster: Some([2, 1, 1]), sanitize: Sanitize::ALL, ..plain };
    /// let report = device.run(&launch, &[(&to).into()])?;
    /// assert_eq!(device.download(&to)?, [1, 0, 3, 2]);
    /// assert!(report.findings.is_empty());
    ///
    /// let count = device.zeros::<u32>(1)?;
    /// let launch = Launch { cooperative: true, ..Launch::new("together", [4, 1, 1], [1, 1, 1], &[]) };
    /// device.run(&launch, &[(&count).into()])?;
    /// assert_eq!(device.download(&count)?, [4]);
    /// # Ok::<(), softwarp::machine::Error>(())
    /// ```
    pub fn run(&self, launch: &Launch<'_>, arguments: &[Argument]) -> Result<Report, Error> {
        let module = self.machine.module(launch.module).map_err(LaunchError::from)?;
        let arguments = fit(&module, launch.kernel, arguments);
        Ok(self.machine.launch(&Launch { arguments: &arguments, ..*launch })?)
    }

    /// What the sanitizers found in the last launch, also where it was stopped.
    pub fn findings(&self) -> Vec<vm::sanitize::Finding> {
        self.machine.findings()
    }
}

/// Why modules were not loaded, with the lines that it is about.
fn load_error(modules: &[&Module], error: LoadError) -> Error {
    match error {
        LoadError::Invalid(found) => {
            let text = |(unit, diagnostic): &(u32, Diagnostic)| {
                let module = modules.get(*unit as usize)?;
                Some(plain::text(&module.source, diagnostic))
            };
            let text = found.iter().filter_map(text).collect();
            Error::Invalid { text, errors: found.into_iter().map(|(_, diagnostic)| diagnostic).collect() }
        }
        LoadError::Unlinked(found) => Error::Unlinked(found),
        LoadError::Memory(error) => Error::Memory(error),
        error @ (LoadError::AddressSize { .. } | LoadError::Addresses { .. }) => Error::Load(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vm::fault::FaultKind;
    use crate::vm::memory::global::MemoryError;

    const COPY: &str = ".version 8.0\n.target sm_90\n.address_size 64\n\
        .visible .entry copy(.param .u64 p)\n{\n.reg .b64 %p;\n.reg .b32 %i, %n;\n.reg .b64 %o;\n\
        ld.param.u64 %p, [p];\nmov.u32 %i, %tid.x;\nmov.u32 %n, %tid.y;\nmad.lo.u32 %n, %n, 4, %i;\n\
        mul.wide.u32 %o, %n, 4;\nadd.u64 %p, %p, %o;\nst.global.u32 [%p], %n;\nret;\n}\n";

    fn device() -> Device {
        Device::new(&Module::from_ptx(COPY).expect("it is valid")).expect("it loads")
    }

    #[test]
    fn a_launch_of_two_dimensions_writes_each_element() {
        let device = device();
        let out = device.zeros::<u32>(8).expect("memory");
        let report = device.launch("copy", 1, (4, 2), 0, &[(&out).into()]).expect("it runs");
        assert_eq!(device.download(&out).expect("memory"), [0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(report.ctas, 1);
    }

    #[test]
    fn a_fault_names_its_place() {
        let device = device();
        let out = device.zeros::<u32>(7).expect("memory");
        let error = device.launch("copy", 1, (4, 2), 0, &[(&out).into()]).expect_err("one too many");
        let Error::Launch(LaunchError::Fault(fault)) = error else { panic!("{error}") };
        assert!(matches!(&fault.kind, FaultKind::Access(bad) if bad.bytes == 4), "{fault}");
        assert_eq!(fault.place.expect("a place").thread, [3, 1, 0]);
    }

    #[test]
    fn what_is_freed_is_gone() {
        let device = device();
        let out = device.upload(&[1.5f32]).expect("memory");
        let address = out.address();
        device.free(out).expect("it was there");
        let gone = device.machine().read(address, &mut [0]);
        assert_eq!(gone, Err(MemoryError::Freed { address, base: address, bytes: 4 }));
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
