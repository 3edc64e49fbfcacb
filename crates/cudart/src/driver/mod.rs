//! The functions of the driver API.
//!
//! `libcuda.so.1` is opened when a function is first called: the one beside this library, else the one that the loader
//! finds. `SOFTWARP_LIBCUDA` names another. A function whose name is missing returns `cudaErrorNotSupported`; without a
//! library all of them return `cudaErrorInsufficientDriver`.
//!
//! To open the library and to find functions takes the loader's lock, which a thread holds that runs constructors of a
//! library it loads. Such a constructor may call this library: so all functions are found at once, when nothing is locked,
//! and no thread waits for another one that does it.
//!
//! **Why this is sound.** A function of the driver has the signature with which it is declared here, which is that of
//! cuda.h. Pointers among its arguments are those of the caller or point to variables of this library.

pub mod array;
pub mod batch_copy;
pub mod capture;
pub mod context;
pub mod graph;
pub mod graph_node;
pub mod ipc;
pub mod launch;
pub mod library;
pub mod memory;
pub mod pool;
pub mod stream;
pub mod texture;
pub mod user_object;

use crate::code::Code;
use std::cell::Cell;
use std::ffi::{CStr, CString, OsStr, c_char, c_int, c_void};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering};

unsafe extern "C" {
    fn dlopen(file: *const c_char, mode: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
    fn dladdr(address: *const c_void, info: *mut DlInfo) -> c_int;
}

#[repr(C)]
struct DlInfo {
    file: *const c_char,
    base: *mut c_void,
    symbol: *const c_char,
    address: *mut c_void,
}

const RTLD_NOW_GLOBAL: c_int = 0x102;

thread_local! {
    static PER_THREAD: Cell<bool> = const { Cell::new(false) };
}

/// Runs a function for which the null stream is the thread's own.
pub fn with_per_thread_stream<R>(f: impl FnOnce() -> R) -> R {
    let before = PER_THREAD.replace(true);
    let result = f();
    PER_THREAD.set(before);
    result
}

/// Whether the null stream is the thread's own in this call.
pub fn per_thread() -> bool {
    PER_THREAD.get()
}

/// The folder in which this library is.
fn own_folder() -> Option<PathBuf> {
    let mut info = DlInfo {
        file: std::ptr::null(),
        base: std::ptr::null_mut(),
        symbol: std::ptr::null(),
        address: std::ptr::null_mut(),
    };
    // SAFETY: the address is that of a function here, and there is a place for the result.
    if unsafe { dladdr(own_folder as *const c_void, &mut info) } == 0 || info.file.is_null() {
        return None;
    }
    // SAFETY: the loader's name of a loaded file ends with a NUL and stays.
    let file = unsafe { CStr::from_ptr(info.file) };
    let file = PathBuf::from(OsStr::from_bytes(file.to_bytes()));
    // The name of a program is what it was started with.
    let file = if file.is_absolute() { file } else { std::env::current_exe().ok()? };
    Some(file.parent()?.to_owned())
}

/// Opens a library by its file name or path.
fn open(file: impl Into<Vec<u8>>) -> Option<usize> {
    let file = CString::new(file).ok()?;
    // SAFETY: the name ends with a NUL. What the library does when it is loaded is its own affair.
    let library = unsafe { dlopen(file.as_ptr(), RTLD_NOW_GLOBAL) };
    (!library.is_null()).then_some(library as usize)
}

/// Looks for the driver's library and opens it.
fn open_driver() -> Option<usize> {
    if let Some(file) = std::env::var_os("SOFTWARP_LIBCUDA") {
        return open(file.into_vec());
    }
    let folder = own_folder().unwrap_or_default();
    // `libcuda.so` is what it is called where it was built.
    let files = ["libcuda.so.1", "libcuda.so"].map(|name| folder.join(name));
    let beside = files.into_iter().find(|file| file.is_absolute() && file.is_file());
    beside.and_then(|file| open(file.into_os_string().into_vec())).or_else(|| open("libcuda.so.1"))
}

/// The driver's library.
fn library() -> Result<usize, Code> {
    static LIBRARY: OnceLock<Option<usize>> = OnceLock::new();
    if let Some(found) = LIBRARY.get() {
        return found.ok_or(Code::INSUFFICIENT_DRIVER);
    }
    let found = open_driver();
    if let Some(library) = found {
        for slot in MODULES.iter().copied().flatten() {
            slot.find(library);
        }
    }
    if LIBRARY.set(found).is_ok() && found.is_none() {
        eprintln!("softwarp: libcuda.so.1 cannot be opened (SOFTWARP_LIBCUDA may name it)");
    }
    found.ok_or(Code::INSUFFICIENT_DRIVER)
}

/// The functions of all modules.
static MODULES: &[&[&Slot]] = &[
    array::SLOTS,
    batch_copy::SLOTS,
    capture::SLOTS,
    context::SLOTS,
    graph::SLOTS,
    graph_node::SLOTS,
    ipc::SLOTS,
    launch::SLOTS,
    library::SLOTS,
    memory::SLOTS,
    pool::SLOTS,
    stream::SLOTS,
    texture::SLOTS,
    user_object::SLOTS,
];

/// A function of the driver.
#[derive(Debug)]
pub struct Slot {
    name: &'static str,
    found: AtomicPtr<c_void>,
}

impl Slot {
    /// A function by its name, which ends with a NUL.
    pub const fn new(name: &'static str) -> Slot {
        Slot { name, found: AtomicPtr::new(std::ptr::null_mut()) }
    }

    /// Looks it up in the driver's library.
    fn find(&self, library: usize) {
        // SAFETY: the library was opened and is never closed; the name ends with a NUL.
        let found = unsafe { dlsym(library as *mut c_void, self.name.as_ptr().cast()) };
        self.found.store(found, Ordering::Release);
    }

    /// Its address.
    pub fn get(&self) -> Result<*mut c_void, Code> {
        let mut found = self.found.load(Ordering::Acquire);
        if found.is_null() {
            library()?;
            found = self.found.load(Ordering::Acquire);
        }
        if found.is_null() {
            eprintln!("softwarp: the driver library has no {}", self.name.trim_end_matches('\0'));
            return Err(Code::NOT_SUPPORTED);
        }
        Ok(found)
    }
}

/// Declares functions of the driver. `cuX / cuX_ptsz(…);` has a twin, which is called for [`per_thread`] calls.
#[macro_export]
macro_rules! driver {
    ($(fn $name:ident $(/ $twin:ident)? ($($argument:ident: $type:ty),* $(,)?);)*) => {
        /// The functions, each with a place for its address.
        mod slots {
            #![allow(non_upper_case_globals, reason = "the functions of CUDA have their own names")]
            use $crate::driver::Slot;
            $(
                pub static $name: Slot = Slot::new(concat!(stringify!($name), "\0"));
                $(pub static $twin: Slot = Slot::new(concat!(stringify!($twin), "\0"));)?
            )*
        }

        /// All functions here.
        pub(super) static SLOTS: &[&$crate::driver::Slot] = &[$(&slots::$name, $(&slots::$twin,)?)*];

        $(
            #[doc = concat!("`", stringify!($name), "` of the driver.")]
            #[allow(clippy::too_many_arguments, reason = "the arguments are those of the C API")]
            pub fn $name($($argument: $type),*) -> $crate::code::Done {
                let slot = &slots::$name;
                $(let slot = if $crate::driver::per_thread() { &slots::$twin } else { slot };)?
                let address = slot.get()?;
                // SAFETY: the function has this signature in cuda.h.
                let function = unsafe {
                    std::mem::transmute::<*mut std::ffi::c_void, extern "C" fn($($type),*) -> u32>(address)
                };
                $crate::code::Code(function($($argument),*)).done()
            }
        )*
    };
}
