//! What ptxas does to a program besides translating it, where programs can see it on the GPU. Each pass can be left out
//! ([`crate::Fidelity`]).
//!
//! - [`contraction`]: a multiplication and an addition become one fused multiply-add (`--fmad=true` of the tools).
//! - [`saturation`]: `mad.hi.sat.s32` loses its `.sat` beside another half of the same product.
//!
//! Both decide on the statements of PTX, since what the assembler does depends on its registers and basic blocks as
//! they are written, before any row is shared. Lowering then applies what they decided.

pub mod contraction;
pub mod saturation;
