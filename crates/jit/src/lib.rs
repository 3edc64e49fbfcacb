//! Compiles functions of the intermediate representation to vector code of the CPU, for warps of 32 lanes.
//!
//! A row of 32-bit words is two registers of 512 bits, a row of 64-bit words four. Values that are the same in all lanes,
//! or grow by a constant from lane to lane, are one scalar (`classes.rs`). Predicates are words of the frame.
//!
//! A function is compiled twice: uniform code assumes that all 32 lanes execute everything together; masked
//! code executes any set of lanes. Uniform code goes over into masked code where a branch diverges, and masked code
//! goes back where the lanes have met again.
//!
//! **Exits.** Compiled code can be left at every operation: the values of the frame that the interpreter will read are
//! then in the frame. It is left at what has no code (barriers, atomics, calls), at an access that is not simple, and
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
//! `unsafe` is in `code.rs` alone.

mod classes;
#[cfg(target_arch = "x86_64")]
mod code;
mod context;
mod decode;
#[cfg(target_arch = "x86_64")]
mod emit;
mod flow;
mod places;

#[cfg(target_arch = "x86_64")]
pub use code::{Compiled, Line, Scratch, compile, listing};
pub use context::{Call, Context, Done, GENERIC_SITES, Lanes, Region, SITES, Step};
#[cfg(target_arch = "x86_64")]
pub use emit::{Part, site};

/// What of the shape of CTAs compiled code relies on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shape {
    /// `%tid.x` grows by one from lane to lane.
    pub first_axis_affine: bool,
    /// `%tid.y` is the same in all lanes of a warp.
    pub second_axis_uniform: bool,
    /// `%tid.z` is the same in all lanes of a warp.
    pub third_axis_uniform: bool,
}

impl Shape {
    /// Of CTAs with these dimensions.
    pub fn of([x, y, z]: [u32; 3]) -> Shape {
        let one_row = y == 1 && z == 1;
        let rows = one_row || x.is_multiple_of(32);
        Shape {
            first_axis_affine: rows,
            second_axis_uniform: rows,
            third_axis_uniform: rows || z == 1 || (u64::from(x) * u64::from(y)).is_multiple_of(32),
        }
    }

    /// A number below [`Shape::COUNT`].
    pub fn index(self) -> usize {
        usize::from(self.first_axis_affine) | usize::from(self.third_axis_uniform) << 1
    }

    /// How many shapes there are.
    pub const COUNT: usize = 4;
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

/// The two kinds of code of a function.
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
pub use portable::{Compiled, Line, Part, Scratch, compile, listing, site};
