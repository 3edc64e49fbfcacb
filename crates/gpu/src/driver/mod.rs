//! The driver's functions as Rust has them: results are checked, handles cannot be made up, memory has its size.
//!
//! Why the calls here are sound. Handles have private fields, come from the driver alone and are not copied; what belongs to a
//! module borrows it, and what destroys a handle takes it. Pointers that the driver reads or writes through during a call are
//! to locals or slices of the size that `cuda.h` states for the function; the driver keeps none of them. Device memory is
//! accessed within the bounds of its allocation. Kernels are another matter: on systems where a GPU can access the host's
//! memory they can write to that of this process, and no check here prevents it. So launches run in a process that does nothing
//! else ([`crate::worker`]).

mod launch;
mod textures;

pub use launch::Shape;
pub use textures::{Array, Object, Source};

use crate::error::DriverError;
use crate::raw::{Code, Functions, Handle};
use serde::{Deserialize, Serialize};
use std::ffi::{CStr, CString, OsStr, c_char, c_void};
use std::marker::PhantomData;
use std::path::Path;
use std::ptr::{null, null_mut};

/// The driver's library, by the name that the system knows it by.
pub const LIBRARY: &str = "libcuda.so.1";

/// Bytes of the compiler's messages that are kept.
const LOG: usize = 1 << 16;

type Done<T> = Result<T, DriverError>;

/// A GPU.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Device {
    /// Its number.
    pub number: i32,
    /// Its name.
    pub name: String,
    /// Its compute capability.
    pub compute_capability: (u32, u32),
    /// Its memory, in bytes.
    pub memory: u64,
    /// Its multiprocessors.
    pub multiprocessors: u32,
    /// The version of CUDA that the driver is for, as in 13.0.
    pub cuda: String,
    /// The version of the driver, where the system tells it.
    pub driver: Option<String>,
}

/// The driver.
#[derive(Debug)]
pub struct Driver(Functions);

/// A module in a context.
#[derive(Debug)]
pub struct Module(Handle);

/// A kernel of a module.
#[derive(Debug)]
pub struct Function<'m>(Handle, PhantomData<&'m Module>);

/// Memory of the device: an allocation, or a variable of a module.
#[derive(Debug)]
pub struct Memory {
    address: u64,
    bytes: u64,
}

impl Memory {
    /// Its first address.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// Its size.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

/// Calls a function of the driver and checks the result.
macro_rules! call {
    ($driver:expr, $name:ident($($argument:expr),* $(,)?)) => {{
        let function = $driver.0.$name.ok_or(DriverError::NoFunction { function: stringify!($name) })?;
        // SAFETY: the head of this file says why; arguments that need more have it beside them.
        let code = unsafe { function($($argument),*) };
        $driver.check(stringify!($name), code)
    }};
}
use call;

fn c_string(text: &str) -> Done<CString> {
    CString::new(text).map_err(|_| DriverError::Unusable("a name or text has a NUL byte in it".to_owned()))
}

impl Driver {
    /// Opens the driver: the system's, unless a path is given.
    pub fn open(path: Option<&Path>) -> Done<Driver> {
        Functions::open(path.map_or(OsStr::new(LIBRARY), Path::as_os_str)).map(Driver)
    }

    fn check(&self, function: &'static str, code: Code) -> Done<()> {
        if code == 0 {
            return Ok(());
        }
        let text = |get: Option<unsafe extern "C" fn(Code, *mut *const c_char) -> Code>| {
            let get = get?;
            let mut words = null();
            // SAFETY: the driver writes one pointer.
            let known = unsafe { get(code, &raw mut words) } == 0 && !words.is_null();
            // SAFETY: the driver's texts end with NUL and are never changed or freed.
            known.then(|| unsafe { CStr::from_ptr(words) }.to_string_lossy().into_owned())
        };
        let name = text(self.0.cuGetErrorName).unwrap_or_else(|| "an unknown error".to_owned());
        let words = text(self.0.cuGetErrorString).unwrap_or_default();
        Err(DriverError::Call { function, code, name, words })
    }

    /// Starts the driver.
    pub fn init(&self) -> Done<()> {
        call!(self, cuInit(0))
    }

    /// How many devices there are.
    pub fn device_count(&self) -> Done<i32> {
        let mut count = 0;
        call!(self, cuDeviceGetCount(&raw mut count))?;
        Ok(count)
    }

    /// A device.
    pub fn device(&self, number: i32) -> Done<Device> {
        let (mut device, mut version, mut memory) = (0, 0, 0);
        call!(self, cuDeviceGet(&raw mut device, number))?;
        call!(self, cuDriverGetVersion(&raw mut version))?;
        call!(self, cuDeviceTotalMem_v2(&raw mut memory, device))?;
        let mut name = [0u8; 256];
        // The length is one less, so that a NUL is behind the name in any case.
        call!(self, cuDeviceGetName(name.as_mut_ptr().cast(), 255, device))?;
        let name = CStr::from_bytes_until_nul(&name).unwrap_or_default().to_string_lossy().into_owned();
        let attribute = |number| {
            let mut value = 0;
            call!(self, cuDeviceGetAttribute(&raw mut value, number, device))?;
            Ok(u32::try_from(value).unwrap_or(0))
        };
        Ok(Device {
            number,
            name,
            compute_capability: (attribute(75)?, attribute(76)?),
            memory: memory as u64,
            multiprocessors: attribute(16)?,
            cuda: format!("{}.{}", version / 1000, version % 1000 / 10),
            driver: kernel_module(),
        })
    }

    /// Makes the primary context of a device the current one, with some stack for recursive kernels.
    pub fn use_device(&self, number: i32) -> Done<()> {
        let (mut device, mut context) = (0, null_mut());
        call!(self, cuDeviceGet(&raw mut device, number))?;
        call!(self, cuDevicePrimaryCtxRetain(&raw mut context, device))?;
        call!(self, cuCtxSetCurrent(context))?;
        // CU_LIMIT_STACK_SIZE
        call!(self, cuCtxSetLimit(0, 4096))
    }

    /// Waits for everything.
    pub fn synchronize(&self) -> Done<()> {
        call!(self, cuCtxSynchronize())
    }

    /// Compiles and loads PTX; several texts are linked. The second result is what the compiler says, if it fails.
    pub fn load(&self, texts: &[String]) -> Result<Module, (DriverError, String)> {
        let mut log = vec![0u8; LOG];
        let loaded = match texts {
            [text] => self.load_one(text, &mut log),
            texts => self.link(texts, &mut log),
        };
        let words = || {
            let end = log.iter().position(|byte| *byte == 0).unwrap_or(log.len());
            String::from_utf8_lossy(&log[..end]).trim().to_owned()
        };
        loaded.map_err(|error| (error, words()))
    }

    fn load_one(&self, text: &str, log: &mut [u8]) -> Done<Module> {
        let text = c_string(&in_ascii(text))?;
        let mut module = null_mut();
        // CU_JIT_ERROR_LOG_BUFFER and its size: the driver writes no more than that.
        let options = [5, 6];
        let mut values = [log.as_mut_ptr().cast::<c_void>(), log.len() as *mut c_void];
        call!(
            self,
            cuModuleLoadDataEx(
                &raw mut module,
                text.as_ptr().cast(),
                options.len() as u32,
                options.as_ptr(),
                values.as_mut_ptr()
            )
        )?;
        Ok(Module(module))
    }

    fn link(&self, texts: &[String], log: &mut [u8]) -> Done<Module> {
        let mut state = null_mut();
        let options = [5, 6];
        // The linker keeps these until it is destroyed, which is at the end of this function.
        let mut values = [log.as_mut_ptr().cast::<c_void>(), log.len() as *mut c_void];
        call!(self, cuLinkCreate_v2(2, options.as_ptr(), values.as_mut_ptr(), &raw mut state))?;
        let linked = self.link_with(state, texts);
        let destroyed = call!(self, cuLinkDestroy(state));
        let module = linked?;
        destroyed.map(|()| module)
    }

    fn link_with(&self, state: Handle, texts: &[String]) -> Done<Module> {
        for (number, text) in texts.iter().enumerate() {
            let (text, name) = (c_string(&in_ascii(text))?, c_string(&format!("module {}", number + 1))?);
            let bytes = text.as_bytes_with_nul();
            // CU_JIT_INPUT_PTX
            call!(
                self,
                cuLinkAddData_v2(
                    state,
                    1,
                    bytes.as_ptr().cast(),
                    bytes.len(),
                    name.as_ptr(),
                    0,
                    null(),
                    null_mut()
                )
            )?;
        }
        let (mut cubin, mut bytes, mut module) = (null_mut(), 0, null_mut());
        call!(self, cuLinkComplete(state, &raw mut cubin, &raw mut bytes))?;
        // The cubin belongs to the linker, which is still there.
        call!(self, cuModuleLoadDataEx(&raw mut module, cubin, 0, null(), null_mut()))?;
        Ok(Module(module))
    }

    /// Unloads a module.
    pub fn unload(&self, module: Module) -> Done<()> {
        call!(self, cuModuleUnload(module.0))
    }

    /// A kernel.
    pub fn function<'m>(&self, module: &'m Module, name: &str) -> Done<Function<'m>> {
        let (mut function, name) = (null_mut(), c_string(name)?);
        call!(self, cuModuleGetFunction(&raw mut function, module.0, name.as_ptr()))?;
        Ok(Function(function, PhantomData))
    }

    /// A variable.
    pub fn variable(&self, module: &Module, name: &str) -> Done<Memory> {
        let (mut address, mut bytes, name) = (0, 0, c_string(name)?);
        call!(self, cuModuleGetGlobal_v2(&raw mut address, &raw mut bytes, module.0, name.as_ptr()))?;
        Ok(Memory { address, bytes: bytes as u64 })
    }

    /// Memory; of no bytes too, which has an address of its own.
    pub fn allocate(&self, bytes: u64) -> Done<Memory> {
        let mut address = 0;
        let size = usize::try_from(bytes.max(1))
            .map_err(|_| DriverError::Unusable(format!("{bytes} bytes are too many")))?;
        call!(self, cuMemAlloc_v2(&raw mut address, size))?;
        Ok(Memory { address, bytes })
    }

    /// Frees an allocation.
    pub fn free(&self, memory: Memory) -> Done<()> {
        call!(self, cuMemFree_v2(memory.address))
    }

    /// Sets all of a memory to zero.
    pub fn clear(&self, memory: &Memory) -> Done<()> {
        match usize::try_from(memory.bytes).unwrap_or(0) {
            0 => Ok(()),
            bytes => call!(self, cuMemsetD8_v2(memory.address, 0, bytes)),
        }
    }

    /// Writes to the beginning of a memory.
    pub fn write(&self, memory: &Memory, at: u64, bytes: &[u8]) -> Done<()> {
        let end = at.checked_add(bytes.len() as u64);
        if end.is_none_or(|end| end > memory.bytes) {
            let why = format!("{} bytes at byte {at} of {}: there is no room", bytes.len(), memory.bytes);
            return Err(DriverError::Unusable(why));
        }
        match bytes {
            [] => Ok(()),
            _ => call!(self, cuMemcpyHtoD_v2(memory.address + at, bytes.as_ptr().cast(), bytes.len())),
        }
    }

    /// What a memory holds.
    pub fn read(&self, memory: &Memory) -> Done<Vec<u8>> {
        let mut bytes = zeros(memory.bytes)?;
        if !bytes.is_empty() {
            call!(self, cuMemcpyDtoH_v2(bytes.as_mut_ptr().cast(), memory.address, bytes.len()))?;
        }
        Ok(bytes)
    }
}

/// A buffer of zeros, if this computer has the memory.
fn zeros(bytes: u64) -> Done<Vec<u8>> {
    let full = || DriverError::Unusable(format!("{bytes} bytes are more than this computer has"));
    let size = usize::try_from(bytes).map_err(|_| full())?;
    let mut all = Vec::new();
    all.try_reserve_exact(size).map_err(|_| full())?;
    all.resize(size, 0);
    Ok(all)
}

/// The version of the driver's kernel module, as Linux shows it.
fn kernel_module() -> Option<String> {
    let text = std::fs::read_to_string("/proc/driver/nvidia/version").ok()?;
    let is_version =
        |word: &&str| word.contains('.') && word.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    text.lines().next()?.split_whitespace().find(is_version).map(str::to_owned)
}

/// The text with a question mark for each byte that is not ASCII. Such characters may stand in comments, but the compilers
/// of older drivers refuse them there, too. Columns of their messages stay right.
fn in_ascii(text: &str) -> String {
    text.bytes().map(|byte| if byte.is_ascii() { char::from(byte) } else { '?' }).collect()
}

#[cfg(test)]
mod tests {
    use super::in_ascii;

    #[test]
    fn other_characters_keep_their_bytes() {
        assert_eq!(in_ascii("// y ← a·x\n.version 8.0"), "// y ??? a??x\n.version 8.0");
        assert_eq!(in_ascii("add.s32"), "add.s32");
    }
}
