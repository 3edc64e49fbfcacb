//! Programs that nvcc links with the static CUDA runtime (`libcudart_static.a`, its default) call another runtime.
//!
//! NVIDIA's runtime works with NVIDIA's driver only. Its public functions can be found in a linked program: the linker
//! keeps their names as local symbols in `.symtab`. When an object is mapped, and before anything in it has run, jumps
//! are written over the beginnings of these functions. They lead to stubs in this library, one for each function and
//! version. The first call of a stub loads softwarp's `libcudart.so` and looks the function up in it, in the version
//! that the object was linked with. The private part of NVIDIA's runtime is never called.
//!
//! - [`elf`] reads ELF files, and [`runtime`] finds the runtime among the symbols of one. [`debug_file`] finds the
//!   symbols of an object that was stripped of them. They take any bytes, and are bounded in time and memory.
//! - [`object`] is what is done with an object that the loader has mapped. The crates `audit` and `preload` are the
//!   libraries that the loader calls, by `LD_AUDIT` and by `LD_PRELOAD`.
//! - [`loader`] says which of the two a program needs. The driver's library has [`caller`] say what to do about a
//!   runtime that was not redirected.

#[cfg(unix)]
pub mod debug_file;
pub mod elf;
pub mod loader;
pub mod mapped;
pub mod runtime;
mod search;

#[cfg(test)]
mod tests;

#[cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
pub mod caller;
#[cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
mod memory;
#[cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
pub mod object;
#[cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
mod refused;
#[cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
mod settings;
#[cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
mod stubs;
#[cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
mod target;
