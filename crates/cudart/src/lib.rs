//! The CUDA runtime API over the driver API: `libcudart.so.13` and `libcudart.so.12` without a GPU.
//!
//! Programs that nvcc links with `-cudart shared` load this library in place of NVIDIA's. It opens `libcuda.so.1` when it
//! is first used and does everything through the driver API, so a program may use both. The layers, from the top down:
//!
//! - [`entry`]: the functions that programs call, one module for each chapter of the runtime API.
//! - [`properties`]: what `cudaGetDeviceProperties` says.
//! - [`registry`]: the code that programs register when they start: fat binaries, kernels, variables.
//! - [`context`]: the current device of a thread and its primary context, made when it is first needed.
//! - [`mod@driver`]: the functions of the driver. [`ffi`]: pointers of the caller. [`code`]: result codes and the last error
//!   of a thread.
//!
//! `src/api.txt` lists all public symbols. Those that are not implemented return `cudaErrorNotSupported` and say so once
//! on stderr.

#![allow(non_snake_case, reason = "the functions of CUDA have their own names")]

pub mod code;
pub mod context;
pub mod driver;
pub mod entry;
pub mod ffi;
pub mod properties;
pub mod registry;
pub mod symbols;
