//! The CUDA driver API on softwarp: `libcuda.so.1` without a GPU.
//!
//! Programs that talk to the CUDA driver load this library in place of NVIDIA's, and their kernels run on the CPU.
//! The layers, from the top down:
//!
//! - [`entry`]: the functions that programs call, one module for each chapter of the driver API. They check arguments in
//!   the order in which the driver does and turn errors into codes.
//! - [`driver`]: what there is once `cuInit` was called: the machine, devices, contexts, tables of handles; work as
//!   data ([`driver::work`]), and graphs and captures of it.
//! - [`stream`]: work in the order of streams. [`image`]: arrays and textures.
//! - `softwarp_container`, a crate of its own, reads the code that arrives: PTX text, fatbins, ELF files with PTX in them.
//! - [`handle`], [`code`], [`ffi`], [`config`]: typed handles, result codes, pointers of the caller, settings.
//!
//! What a C caller passes is trusted as far as the driver trusts it: a pointer that is not null is assumed to point
//! to what the documentation says (`ffi.rs`). Handles are not pointers, so that a handle that was destroyed, or never
//! was one, is an error code.
//!
//! `src/api.txt` lists all public symbols. Those that are not implemented return `CUDA_ERROR_NOT_SUPPORTED` and say so
//! once on stderr.

#![allow(non_snake_case, reason = "the driver's functions have their own names")]

pub mod assembler_log;
pub mod attributes;
pub mod code;
pub mod config;
pub mod context;
pub mod driver;
pub mod entry;
mod exit;
pub mod ffi;
pub mod handle;
pub mod image;
mod info_log;
pub mod jit;
pub mod limits;
pub mod memory;
pub mod module;
pub mod output;
pub mod pool;
pub mod registered;
mod registers;
pub mod settings;
pub mod stream;
pub mod summary;
pub mod symbols;
mod thread;
pub mod virtual_memory;
mod waiting;

/// What is done where there is no memory ([`softwarp_heap`]).
#[cfg(unix)]
#[global_allocator]
static HEAP: softwarp_heap::Heap = softwarp_heap::Heap;
