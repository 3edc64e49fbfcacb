//! PTX in software, exact to the bit: check modules and run kernels on the CPU, without a GPU or a CUDA toolkit.
//!
//! A [`Module`] is PTX text that has been checked. A [`Device`] has memory and loaded modules; it launches kernels.
//! Buffers go to it and come back as slices of numbers:
//!
//! ```
//! use softwarp::{Device, Module};
//!
//! let module = Module::from_ptx("
//!     .version 8.0
//!     .target sm_80
//!     .address_size 64
//!     .visible .entry double(.param .u64 data)
//!     {
//!         .reg .b32 %i, %x;
//!         .reg .b64 %p;
//!         ld.param.u64 %p, [data];
//!         mov.u32 %i, %tid.x;
//!         mad.wide.u32 %p, %i, 4, %p;
//!         ld.global.u32 %x, [%p];
//!         add.u32 %x, %x, %x;
//!         st.global.u32 [%p], %x;
//!         ret;
//!     }")?;
//! let mut device = Device::new(&module)?;
//! let data = device.upload(&[1u32, 2, 3])?;
//! device.launch("double", 1, 3, 0, &[(&data).into()])?;
//! assert_eq!(device.download(&data)?, [2, 4, 6]);
//! # Ok::<(), softwarp::machine::Error>(())
//! ```
//!
//! A module with errors is refused with all of them. Each is data ([`diagnostic`]: a stable code, a message, places,
//! help), and [`plain::text`] renders it:
//!
//! ```
//! use softwarp::Module;
//! use softwarp::machine::Error;
//!
//! let wrong = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k() { add.s32 %r1, %r2; }\n";
//! let Err(Error::Invalid { errors, text }) = Module::from_ptx(wrong) else { panic!("it is wrong") };
//! assert!(errors.iter().all(|error| error.code.0.starts_with('E')));
//! assert!(text.contains("module:4:"), "{text}");
//! ```
//!
//! # Modules
//!
//! - [`machine`]: devices, buffers, arguments, textures, tensor maps, launches with limits and sanitizers.
//! - [`source`]: a file with its lines, read and checked in one step. [`plain`]: its diagnostics as text.
//!   [`codes`]: every code, explained. [`lineinfo`]: the lines of the program that PTX was made from.
//!   [`registers`]: what the registers of an instruction held that faulted.
//! - [`debug`]: breakpoints, stepping forward and backward, and expressions over registers and memory.
//! - [`literal`]: numbers as people write them. [`demangle`]: names of C++.
//!
//! # Crates
//!
//! Each layer is a crate that can be used alone, and is re-exported here. From the lowest on: [`num`] converts between
//! number formats, [`isa`] has the instruction table, [`syntax`] reads and prints PTX, [`check`] applies the
//! assembler's rules, [`image`] lays variables out in memory, [`vm`] runs kernels; [`tensor`] has tensor maps and
//! copies. Nothing here prints, and only [`lineinfo::SourceLine::text`] reads files: that is the crate `softwarp-cli`.

#![forbid(unsafe_code)]

pub mod codes;
pub mod debug;
pub mod demangle;
pub mod lineinfo;
pub mod literal;
pub mod machine;
pub mod plain;
pub mod registers;
pub mod reproduction;
pub mod source;

pub use machine::{Device, Module};
pub use softwarp_check as check;
pub use softwarp_diagnostic as diagnostic;
pub use softwarp_image as image;
pub use softwarp_ir as ir;
pub use softwarp_isa as isa;
pub use softwarp_jit as jit;
pub use softwarp_lower as lower;
pub use softwarp_num as num;
pub use softwarp_syntax as syntax;
pub use softwarp_tensor as tensor;
pub use softwarp_units as units;
pub use softwarp_vm as vm;
