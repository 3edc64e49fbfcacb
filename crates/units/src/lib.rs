//! The functional units of a GPU in software: pure functions on rows of 32 lanes, without warps and without memory.
//!
//! [`lanes`] has the registers of a warp. [`alu`] has a vector loop for each arithmetic instruction, [`matrix`] the
//! matrix products, [`tensor_core`] those of tensor memory, [`texture`] formats, samplers and filters, [`mbarrier`] the
//! words of mbarrier objects.
//!
//! A register is a row: one word for each lane. An instruction is one call of a loop over rows, compiled for the CPU's
//! features, with a mask of the lanes that take part:
//!
//! ```
//! use softwarp_units::alu::{Inst, select};
//! use softwarp_units::lanes::{Frame, LANES, Row};
//!
//! let form = softwarp_isa::instruction::resolve("add", &["u32"]).expect("a form");
//! let add = Inst::new(select(&form).expect("a loop"), &[2], &[0, 1]);
//! let mut frame = Frame { narrow: vec![Row([0; LANES]); 3], ..Frame::default() };
//! frame.narrow[0] = Row(std::array::from_fn(|lane| lane as u32));
//! frame.narrow[1] = Row([100; LANES]);
//! // All lanes but the first.
//! add.kernel.run(&mut frame, &add, !1);
//! assert_eq!(frame.narrow[2].0[..3], [0, 101, 102]);
//! ```

pub mod alu;
pub mod lanes;
pub mod matrix;
pub mod mbarrier;
pub mod tensor_core;
pub mod texture;
