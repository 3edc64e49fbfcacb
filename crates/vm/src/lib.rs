//! Runs PTX kernels on the CPU, a warp at a time.
//!
//! [`device`] is the way in: a device has one memory, modules are loaded into it, and their kernels are launched. What
//! the host reads back is what a GPU would have written:
//!
//! ```
//! use softwarp_vm::device::{Device, Launch, LoadOptions};
//!
//! let source = "
//!     .version 8.0
//!     .target sm_90
//!     .address_size 64
//!     .visible .entry square(.param .u64 out)
//!     {
//!         .reg .b64 %out, %offset;
//!         .reg .u32 %i, %square;
//!         ld.param.u64 %out, [out];
//!         mov.u32 %i, %tid.x;
//!         mul.lo.u32 %square, %i, %i;
//!         mul.wide.u32 %offset, %i, 4;
//!         add.u64 %out, %out, %offset;
//!         st.global.u32 [%out], %square;
//!         ret;
//!     }";
//! let device = Device::load(&[source], LoadOptions::default()).expect("a legal module");
//! let out = device.allocate(16).expect("memory");
//! let arguments = [out.to_le_bytes().to_vec()];
//! device.launch(&Launch::new("square", [1; 3], [4, 1, 1], &arguments)).expect("no fault");
//! let mut bytes = [0; 16];
//! device.read(out, &mut bytes).expect("a buffer");
//! assert_eq!(bytes, [0, 0, 0, 0, 1, 0, 0, 0, 4, 0, 0, 0, 9, 0, 0, 0]);
//! ```
//!
//! Kernels are interpreted: [`softwarp_lower`] makes operations of them, `decode` chooses a vector loop for each, and
//! `warp` executes these for 32 lanes at once, with every access to memory checked. [`fault`] says what went wrong and
//! where; [`sanitize`] finds races, uninitialised memory and misused collectives; [`stats`] counts and traces.

pub mod comparison;
pub mod debug;
pub mod device;
pub mod fault;
pub mod host_memory;
#[doc(hidden)]
pub mod injected;
pub mod memory;
pub mod sanitize;
pub mod schedule;
pub mod stats;
mod tensor_memory;
pub mod texture;

mod barrier;
mod clock;
mod cluster;
mod context;
mod cta;
mod cta_source;
mod decode;
mod fast;
mod grid;
mod helpers;
mod launch;
mod launch_info;
mod meter;
mod nested;
pub mod signals;
mod spare;
pub mod threads;
pub mod tuning;
mod warp;
