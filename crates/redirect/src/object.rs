//! What is done with an object that the loader has mapped.

use crate::debug_file;
use crate::elf::Elf;
use crate::mapped::Mapped;
use crate::memory::{self, Failed, Write};
use crate::runtime::{self, Content, Public, Runtime};
use crate::settings::{say, trace};
use crate::stubs::{self, Full, Major, Refusal};
use std::borrow::Cow;
use std::ffi::{CStr, CString, OsStr, c_char, c_void};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

/// An object that is mapped.
#[derive(Clone, Copy, Debug)]
pub struct Object<'a> {
    /// Its path, as the loader has it: empty for the program.
    pub name: &'a [u8],
    /// By how much it was moved from the addresses in its file.
    pub base: usize,
    /// An address in it.
    pub inside: usize,
}

/// `struct link_map` of link.h: what the loader knows of an object.
#[repr(C)]
#[derive(Debug)]
pub struct LinkMap {
    /// By how much the object was moved.
    pub base: usize,
    name: *const c_char,
    dynamic: *const c_void,
    /// The next object in the loader's list.
    pub next: *const LinkMap,
    previous: *const LinkMap,
}

impl LinkMap {
    /// The object.
    pub fn object(&self) -> Object<'_> {
        let name = if self.name.is_null() {
            &[]
        } else {
            // SAFETY: the loader's names end with a NUL, and stay as long as the structure.
            unsafe { CStr::from_ptr(self.name) }.to_bytes()
        };
        Object { name, base: self.base, inside: self.dynamic.addr() }
    }
}

/// Redirects the runtime in an object, if it has one.
///
/// # Safety
///
/// Nothing of the object has run yet, or does before this returns, and it stays mapped.
pub unsafe fn loaded(object: Object<'_>) {
    let Some((path, bytes)) = open(&object) else { return };
    let Some(elf) = Elf::read(&bytes) else { return };
    let runtime = match runtime::look(&elf) {
        Content::Nothing => return,
        Content::Runtime(runtime) => runtime,
        Content::NoSymbols => match debug_file::runtime(&path, &elf) {
            Some(runtime) => runtime,
            None => {
                if trace() {
                    say(&without_symbols(&path));
                }
                return;
            }
        },
    };
    let path = path.display();
    let version = runtime.version;
    // SAFETY: as the caller promises.
    match unsafe { redirect(&elf, &object, &runtime, &path.to_string()) } {
        Ok(()) if trace() => {
            say(&format!(
                "{path}: {} functions of its CUDA runtime {version} redirected",
                runtime.functions.len()
            ));
        }
        Ok(()) | Err(Unable::Memory(Failed::Already)) => {}
        Err(why) => say(&format!(
            "{path} has the CUDA runtime {version} linked into it, which cannot be redirected: {}{}",
            why.text(),
            if matches!(why, Unable::Memory(Failed::Breakpoint)) {
                ""
            } else {
                "; link it with `-cudart shared`"
            }
        )),
    }
}

/// What to do about an object without symbols.
pub fn without_symbols(path: &Path) -> String {
    format!(
        "{} has a CUDA runtime linked into it and no symbols, without which it cannot be redirected; link it with \
         `-cudart shared`, do not strip it, or keep its symbols in a file that .gnu_debuglink or the build-id leads to",
        path.display()
    )
}

/// The file of an object.
fn open(object: &Object<'_>) -> Option<(PathBuf, Mapped)> {
    // What is no path, as linux-vdso.so.1, has no file.
    if object.name.contains(&b'/') {
        let path = PathBuf::from(OsStr::from_bytes(object.name));
        let bytes = Mapped::open(&path).ok()?;
        return Some((path, bytes));
    }
    if !object.name.is_empty() {
        return None;
    }
    // The program. `/proc/self/exe` is the loader if that was started with the program as its argument.
    let mappings = memory::mappings();
    let mapping = memory::mapping_at(&mappings, object.inside)?;
    let path = PathBuf::from(std::ffi::OsString::from_vec(mapping.path.clone()));
    if let Ok(bytes) = Mapped::open(&path) {
        return Some((path, bytes));
    }
    // A file that was removed: the link ends as the mapping's path does.
    let own = Path::new("/proc/self/exe");
    let is_own = std::fs::read_link(own).is_ok_and(|target| target == path);
    if is_own { Mapped::open(own).ok().map(|bytes| (path, bytes)) } else { None }
}

/// Why a runtime is not redirected.
#[derive(Debug)]
enum Unable {
    /// A function has too little room for a jump.
    NoRoom(Vec<u8>),
    /// The file has no code where a symbol says so, or its name cannot be one.
    Damaged,
    TooMany,
    Memory(Failed),
}

impl From<Full> for Unable {
    fn from(_: Full) -> Unable {
        Unable::TooMany
    }
}

impl Unable {
    fn text(&self) -> Cow<'static, str> {
        match self {
            Unable::NoRoom(name) => format!("{} is too short", String::from_utf8_lossy(name)).into(),
            Unable::Damaged => "its symbols do not fit its code".into(),
            Unable::TooMany => "too many functions were redirected in this process".into(),
            Unable::Memory(Failed::NotCode) => "its code is not mapped as its file says".into(),
            Unable::Memory(Failed::Differs) => "its code differs from its file".into(),
            Unable::Memory(Failed::Breakpoint) => {
                "a debugger has a breakpoint in it, which it can have when the program \
                                                   runs, and not before"
                    .into()
            }
            Unable::Memory(Failed::Already) => "it was redirected already".into(),
            Unable::Memory(Failed::Denied(error)) => {
                format!("the system does not let its code be written to ({error})").into()
            }
        }
    }
}

/// Writes jumps over all functions, or changes nothing.
///
/// # Safety
///
/// As for [`loaded`].
unsafe fn redirect(elf: &Elf<'_>, object: &Object<'_>, runtime: &Runtime, path: &str) -> Result<(), Unable> {
    let version = runtime.version;
    let refusal = |what: &str| {
        Refusal::new(format!(
            "{path} has the CUDA runtime {version} linked into it, which {what}; build it with CUDA 12 or 13 to run it \
             here"
        ))
    };
    let stub = match version.major {
        12 => Ok(Major::Twelve),
        13 => Ok(Major::Thirteen),
        ..12 => Err(refusal("is older than those that are supported")),
        14.. => Err(refusal("is newer than those that are supported")),
    };
    let mut writes = Vec::new();
    for function in &runtime.functions {
        let name = CString::new(function.name.as_slice()).map_err(|_| Unable::Damaged)?;
        let code = match (stub, version.number) {
            // Programs choose other libraries by it.
            (_, Some(number)) if function.name == b"cudaRuntimeGetVersion" => {
                version_function(number).to_vec()
            }
            (Ok(major), Some(number)) if number < major.newest() => match by_version(&function.name) {
                Some(name) => entry_point_function(number, stubs::function(name.to_owned(), major)?).to_vec(),
                None => jump(stubs::function(name, major)?).to_vec(),
            },
            (Ok(major), Some(_) | None) => jump(stubs::function(name, major)?).to_vec(),
            (Err(why), Some(_) | None) => jump(stubs::refused(name, why)?).to_vec(),
        };
        writes.push(write(elf, object, function, code)?);
    }
    // Names of one function: the first one's jump serves.
    writes.dedup_by_key(|write| write.at);
    // SAFETY: as the caller promises.
    unsafe { memory::write(&memory::mappings(), &writes) }.map_err(Unable::Memory)
}

fn write(elf: &Elf<'_>, object: &Object<'_>, function: &Public, new: Vec<u8>) -> Result<Write, Unable> {
    if function.room < new.len() as u64 {
        return Err(Unable::NoRoom(function.name.clone()));
    }
    let old = elf.code_at(function.address).and_then(|code| code.get(..new.len())).ok_or(Unable::Damaged)?;
    let at = usize::try_from(function.address).map_err(|_| Unable::Damaged)?;
    Ok(Write { at: object.base.wrapping_add(at), old: old.to_vec(), new })
}

/// `jmp *0(%rip)`, and the address: it reaches everything, and changes no register.
fn jump(to: usize) -> [u8; 14] {
    let mut code = [0xff, 0x25, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    code[6..].copy_from_slice(&to.to_le_bytes());
    code
}

/// The function that stores a number where its argument points to and returns 0, or returns 1 (`cudaErrorInvalidValue`)
/// for a null pointer.
fn version_function(number: u32) -> [u8; 20] {
    let [a, b, c, d] = number.to_le_bytes();
    [
        0x48, 0x85, 0xff, // test %rdi,%rdi
        0x74, 0x09, // je
        0xc7, 0x07, a, b, c, d, // movl $number,(%rdi)
        0x31, 0xc0, // xor %eax,%eax
        0xc3, // ret
        0xb8, 1, 0, 0, 0,    // mov $1,%eax
        0xc3, // ret
    ]
}

/// The function that takes a version, in place of one that takes the runtime's own.
fn by_version(name: &[u8]) -> Option<&'static CStr> {
    match name {
        b"cudaGetDriverEntryPoint" => Some(c"cudaGetDriverEntryPointByVersion"),
        b"cudaGetDriverEntryPoint_ptsz" => Some(c"cudaGetDriverEntryPointByVersion_ptsz"),
        _ => None,
    }
}

/// The function that goes on to `cudaGetDriverEntryPointByVersion(name, function, number, flags, status)`: its own
/// arguments are `(name, function, flags, status)`.
fn entry_point_function(number: u32, to: usize) -> [u8; 25] {
    let [a, b, c, d] = number.to_le_bytes();
    let mut code = [0; 25];
    code[..11].copy_from_slice(&[
        0x49, 0x89, 0xc8, // mov %rcx,%r8
        0x48, 0x89, 0xd1, // mov %rdx,%rcx
        0xba, a, b, c, d, // mov $number,%edx
    ]);
    code[11..].copy_from_slice(&jump(to));
    code
}
