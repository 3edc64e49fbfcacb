//! Compiles functions of the intermediate representation to vector code of the CPU, for warps of 32 lanes.
//!
//! A row of 32-bit words is two registers of 512 bits, a row of 64-bit words four. Values that are the same in all lanes,
//! or grow by a constant from lane to lane, are one scalar (`classes.rs`). Predicates are words of the frame. On CPUs
//! without AVX-512 a register of 512 bits is two of 256 bits, or memory (`assembler/halves/`).
//!
//! A function is compiled twice: uniform code assumes that all 32 lanes execute everything together; masked
//! code executes any set of lanes. Uniform code goes over into masked code where a branch diverges, and masked code
//! goes back where the lanes have met again.
//!
//! **Exits.** Compiled code can be left at every operation: the values of the frame that the interpreter will read are
//! then in the frame. It is left at what has no code (barriers, calls), at an access that is not simple, and
//! when the budget is spent. It can be entered at the start of every basic block.
//!
//! **Every access is checked**: against the bounds of a region of memory, and for alignment, before it is performed.
//!
//! ```
//! use softwarp_ir::start::{Forwarded, Start};
//! use softwarp_ir::{Alu, Function, Guard, Op, Slot, Step};
//! use softwarp_jit::{Part, Shape, listing};
//! use softwarp_units::alu::simple::Simple;
//!
//! let sum = Alu::simple(Simple::Add32, Slot::narrow(2), &[Slot::narrow(0), Slot::narrow(1)], Guard::ALWAYS);
//! let function = Function {
//!     ops: vec![Op::Alu(sum), Op::Other(Guard::ALWAYS, Box::new(Step::Return))],
//!     narrow: 3,
//!     narrow_constants: vec![(0, 1), (1, 2)],
//!     start: Start::default(),
//!     forwarded: Forwarded::default(),
//!     ..Function::empty(softwarp_image::FunctionId(0))
//! };
//! # #[cfg(target_arch = "x86_64")] {
//! let lines = listing(&function, Shape::of([256, 1, 1])).expect("it has code");
//! assert!(lines.iter().any(|line| line.part == Part::Uniform(0) && line.text.starts_with("add")));
//! # }
//! ```
//!
//! `unsafe` is in `code.rs` alone, and in the types of functions that compiled code calls (`context.rs`).
//!
//! **Exhaustive matches.** What an analysis claims about an operation, and what code does for it, is said operation by
//! operation: a new one does not compile until each analysis has said what it is. `clippy::wildcard_enum_match_arm` holds
//! this, and no arm `_` is over several such things at once, which the lint does not see. There are wildcards over numbers
//! (bytes of an element, opcodes of the CPU), where others are an error: the function is then interpreted. And there are
//! those over forms of instructions (`forms.rs`, `functions.rs`, `integers.rs`, `conversions.rs`): a form that is not
//! listed is computed by the interpreter's loop.

#![warn(clippy::wildcard_enum_match_arm)]

#[cfg(target_arch = "x86_64")]
mod actions;
#[cfg(target_arch = "x86_64")]
mod alignment;
#[cfg(target_arch = "x86_64")]
mod assembler;
#[cfg(target_arch = "x86_64")]
mod blocks;
#[cfg(target_arch = "x86_64")]
mod budget;
#[cfg(target_arch = "x86_64")]
mod buffers;
#[cfg(target_arch = "x86_64")]
mod classes;
#[cfg(target_arch = "x86_64")]
mod code;
// Other CPUs have no compiled code that would look at it.
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
mod context;
#[cfg(target_arch = "x86_64")]
mod conversions;
#[cfg(target_arch = "x86_64")]
mod decode;
#[cfg(target_arch = "x86_64")]
mod emit;
#[cfg(target_arch = "x86_64")]
mod flow;
#[cfg(target_arch = "x86_64")]
mod forms;
#[cfg(target_arch = "x86_64")]
mod functions;
#[cfg(target_arch = "x86_64")]
mod fuse;
#[cfg(target_arch = "x86_64")]
mod groups;
#[cfg(target_arch = "x86_64")]
mod integers;
#[cfg(target_arch = "x86_64")]
mod kept;
#[cfg(target_arch = "x86_64")]
mod listing;
#[cfg(target_arch = "x86_64")]
mod memory;
#[cfg(target_arch = "x86_64")]
pub mod passes;
#[cfg(target_arch = "x86_64")]
mod places;
#[cfg(target_arch = "x86_64")]
mod quotients;
#[cfg(target_arch = "x86_64")]
mod reach;
#[cfg(target_arch = "x86_64")]
mod row_addresses;
#[cfg(target_arch = "x86_64")]
mod same;
#[cfg(target_arch = "x86_64")]
mod sets;
#[cfg(target_arch = "x86_64")]
mod spans;
#[cfg(target_arch = "x86_64")]
mod steps;
#[cfg(target_arch = "x86_64")]
mod stops;
#[cfg(target_arch = "x86_64")]
mod tables;
#[cfg(all(test, target_arch = "x86_64"))]
mod trials;

#[cfg(target_arch = "x86_64")]
pub use budget::{Limits, Refused};
#[cfg(target_arch = "x86_64")]
pub use code::{Compiled, Scratch, compile, compile_within};
pub use context::{
    Call, Context, Done, Entry, GENERIC_SITES, LEARN, Lanes, NextCta, POLL_COST, POLLS, Region, SITES, Step,
    lend,
};
#[cfg(target_arch = "x86_64")]
pub use emit::Part;
#[cfg(target_arch = "x86_64")]
pub use listing::{Line, listing};

/// How the lanes of a warp lie in the rows of a CTA.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rows {
    /// `%tid.x` grows by one from lane to lane, and `%tid.y` is the same in all lanes.
    Whole,
    /// Each half of a warp is a row: in the second half `%tid.y` is larger by one.
    Half,
    /// Nothing is known.
    Other,
}

/// What of the shape of CTAs compiled code relies on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shape {
    /// `%tid.x` and `%tid.y`.
    pub rows: Rows,
    /// `%tid.z` is the same in all lanes of a warp.
    pub third_axis_uniform: bool,
    /// `%ntid.x` is a multiple of 32: so are products of it, as the index of a CTA's first thread.
    pub whole_rows: bool,
}

impl Shape {
    /// Of CTAs with these dimensions.
    pub fn of([x, y, z]: [u32; 3]) -> Shape {
        let rows = match () {
            () if y == 1 && z == 1 || x.is_multiple_of(32) => Rows::Whole,
            () if x == 16 && (z == 1 || y.is_multiple_of(2)) => Rows::Half,
            () => Rows::Other,
        };
        let area = u64::from(x) * u64::from(y);
        Shape {
            rows,
            third_axis_uniform: rows == Rows::Whole || z == 1 || area.is_multiple_of(32),
            whole_rows: x.is_multiple_of(32),
        }
    }

    /// A number below [`Shape::COUNT`].
    pub fn index(self) -> usize {
        let rows = match self.rows {
            Rows::Whole => 0,
            Rows::Half => 1,
            Rows::Other => 2,
        };
        4 * rows + 2 * usize::from(self.whole_rows) + usize::from(self.third_axis_uniform)
    }

    /// How many shapes there are.
    pub const COUNT: usize = 12;
}

/// What is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Masked code, too; without it, the interpreter runs lanes that have diverged.
    pub masked: bool,
    /// Only what is likely to be faster than the interpreter.
    pub profitable: bool,
}

impl Wanted {
    /// Everything.
    pub const ALL: Wanted = Wanted { masked: true, profitable: false };
}

/// What a CPU has that code is made for.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    /// AVX2, FMA, F16C and BMI2.
    Avx2,
    /// AVX-512 F, BW, CD, DQ and VL.
    Avx512,
}

#[cfg(target_arch = "x86_64")]
impl Level {
    /// That of this CPU, or the lower one that the environment asked for. `None` for CPUs without code.
    pub(crate) fn current() -> Option<Level> {
        if !std::is_x86_feature_detected!("popcnt") {
            return None;
        }
        match softwarp_num::Level::current() {
            softwarp_num::Level::Baseline => None,
            softwarp_num::Level::Avx2 => Some(Level::Avx2),
            softwarp_num::Level::Avx512 => Some(Level::Avx512),
        }
    }
}

/// The two kinds of code of a function.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// All 32 lanes execute everything together.
    Uniform,
    /// The lanes of a mask do.
    Masked,
}

#[cfg(not(target_arch = "x86_64"))]
mod portable;
#[cfg(not(target_arch = "x86_64"))]
pub use portable::{Compiled, Limits, Line, Part, Refused, Scratch, compile, compile_within, listing};
