//! PTX in software, exact to the bit.
//!
//! The parts: [`num`] converts between number formats, [`isa`] knows the instruction set. Here is what
//! stands between them and people: numbers as they are written ([`literal`]), what a conversion did and why
//! ([`explain`]), files read within bounds ([`input`], [`json`]), arrays in files ([`npy`], [`npz`], [`arrays`], [`blocks`]), and the replay of recorded results
//! ([`verify`]). [`syntax`] reads PTX and [`check`] judges it; a file becomes a [`source::Source`], and what is to
//! say about it is shown by [`render`]. [`image`] gives variables their places in memory, and [`layout`] shows
//! them. [`tensor`] judges, encodes and performs tensor copies, and [`tensors`] shows them.
//! [`vm`] runs kernels, [`machine`] is the way to it from Rust, and [`run`] from launch files. The command line is a
//! thin layer over this library.

#![forbid(unsafe_code)]

pub mod arrays;
pub mod blocks;
pub mod codes;
pub mod columns;
pub mod explain;
pub mod input;
pub mod json;
pub mod layout;
pub mod literal;
pub mod machine;
pub mod npy;
pub mod npz;
pub mod render;
pub mod run;
pub mod source;
pub mod splitmix;
pub mod tensors;
pub mod verify;
pub mod xml;

pub use machine::{Device, Module};
pub use softwarp_check as check;
pub use softwarp_image as image;
pub use softwarp_isa as isa;
pub use softwarp_num as num;
pub use softwarp_syntax as syntax;
pub use softwarp_tensor as tensor;
pub use softwarp_vm as vm;
