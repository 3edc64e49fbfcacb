//! CUDA C++ compiled to PTX by NVIDIA's library.

use crate::library;
use std::ffi::{CString, c_char, c_long};
use std::path::PathBuf;

/// Why there is no PTX.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CompileError {
    /// NVIDIA's library was not found.
    NotFound,
    /// The source, its name or an option has a NUL in it.
    Nul,
    /// The compiler refuses the source: its messages.
    Refused(String),
    /// A function of the library failed: its name and its result.
    Failed(&'static str, c_long),
}

/// A program of the library, which is destroyed in the end.
struct Program(c_long);

impl Drop for Program {
    fn drop(&mut self) {
        let _ = call("nvrtcDestroyProgram", [&raw mut self.0 as c_long, 0, 0, 0, 0, 0]);
    }
}

/// Calls a function that returns an `nvrtcResult`.
fn call(name: &'static str, arguments: [c_long; 6]) -> Result<(), CompileError> {
    match library::call(name, arguments) {
        Some(0) => Ok(()),
        // The result has 32 bits.
        Some(code) => Err(CompileError::Failed(name, c_long::from(code as i32))),
        None => Err(CompileError::NotFound),
    }
}

/// A text of a program, whose size one function gives and whose bytes another.
fn text(program: &Program, size: &'static str, get: &'static str) -> Result<String, CompileError> {
    let mut bytes: usize = 0;
    call(size, [program.0, &raw mut bytes as c_long, 0, 0, 0, 0])?;
    let mut text = vec![0u8; bytes];
    call(get, [program.0, text.as_mut_ptr() as c_long, 0, 0, 0, 0])?;
    let end = text.iter().position(|&byte| byte == 0).unwrap_or(text.len());
    Ok(String::from_utf8_lossy(&text[..end]).into_owned())
}

/// The PTX of a source, and the compiler's warnings.
pub fn to_ptx(source: &str, name: &str, options: &[String]) -> Result<(String, String), CompileError> {
    if library::path().is_none() {
        return Err(CompileError::NotFound);
    }
    let c_string = |text: &str| CString::new(text).map_err(|_| CompileError::Nul);
    let (source, name) = (c_string(source)?, c_string(name)?);
    let options: Vec<CString> = options.iter().map(|option| c_string(option)).collect::<Result<_, _>>()?;
    let pointers: Vec<*const c_char> = options.iter().map(|option| option.as_ptr()).collect();
    let mut program = Program(0);
    let to = &raw mut program.0 as c_long;
    let (text_of, name_of) = (source.as_ptr() as c_long, name.as_ptr() as c_long);
    call("nvrtcCreateProgram", [to, text_of, name_of, 0, 0, 0])?;
    let compiled = call(
        "nvrtcCompileProgram",
        [program.0, pointers.len() as c_long, pointers.as_ptr() as c_long, 0, 0, 0],
    );
    let log = text(&program, "nvrtcGetProgramLogSize", "nvrtcGetProgramLog").unwrap_or_default();
    match compiled {
        Ok(()) => Ok((text(&program, "nvrtcGetPTXSize", "nvrtcGetPTX")?, log)),
        Err(CompileError::Failed(..)) if !log.trim().is_empty() => Err(CompileError::Refused(log)),
        Err(error) => Err(error),
    }
}

/// Folders with CUDA's headers, beside the library.
pub fn include_folders() -> Vec<PathBuf> {
    let Some(toolkit) = library::path().and_then(|path| Some(path.parent()?.parent()?.to_owned())) else {
        return Vec::new();
    };
    let folders = ["include", "include/cccl", "../../include"].map(|part| toolkit.join(part));
    folders.into_iter().filter(|folder| folder.is_dir()).collect()
}
