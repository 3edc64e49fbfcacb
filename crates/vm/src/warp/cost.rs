//! What operations cost: how a warp's slice ends after a bounded amount of host work, whatever it executes.
//!
//! Two quantities are kept apart.
//!
//! - **Cost** ends a slice. A unit is about the host work of one plain instruction of a warp (10 to 300 ns; some
//!   conversions take 6 µs). The fast loop pays for the instructions of a basic block when the block ends with a jump
//!   or a pause; everything else pays by itself. Limits of time and requests to stop are looked at between slices, in
//!   the midst of a slice of the fast loop after each [`LOOK`](crate::meter::LOOK), and by cost within a long
//!   instruction.
//! - **Steps** are what `most_instructions` limits: instructions of warps, and one more for each unit of *work* that
//!   an instruction does beyond a fixed amount (`Meter::work`). `docs/running.md` has the table.

use softwarp_ir::MatrixOp;
use softwarp_ir::Step;

/// The most cost of a slice.
pub(crate) const SLICE: i64 = 1 << 18;

/// The shortest slice of a random schedule, as a power of two: one operation.
pub(super) const SHORTEST: u32 = 5;

/// The cost of an access that other threads may react to: a slice is 256 rounds of a loop that polls, so that other warps
/// run soon.
pub(super) const POLL: i64 = SLICE / 256;

/// The cost of a slice that does nothing.
pub(super) const TURN: i64 = 64;

/// The cost of an operation outside of the fast loop.
pub(super) const STEP: i64 = 32;

/// The cost of an operation that is looked up again in the fast loop.
pub(super) const TOUCH: i64 = 4;

/// The cost of a product of matrices.
pub(super) const PRODUCT: i64 = 32;

/// The cost of a unit of work.
pub(super) const WORK: i64 = 4;

/// The cost of an operation while it is observed: registers only, and anything else.
pub(super) const OBSERVED: i64 = 32;
pub(super) const OBSERVED_STEP: i64 = 256;

/// The factor by which work costs more while it is observed.
pub(super) const OBSERVED_WORK: i64 = 32;

/// Bytes copied that are one unit of work.
const COPIED: u64 = 512;

/// Bytes of registers set to zero that are one unit of work.
const ZEROED: u64 = 4096;

/// Work to copy a number of bytes; few bytes are work, too.
pub(crate) fn copying(bytes: u64) -> u64 {
    bytes.div_ceil(COPIED)
}

/// Work to fill a number of bytes with zeros.
pub(crate) fn zeroing(bytes: u64) -> u64 {
    bytes / ZEROED
}

/// Work of an operation by what it is; what depends on sizes in registers is added where it is done.
pub(super) fn work_of(step: &Step, lanes: u32) -> u64 {
    match step {
        // Each lane looks up several texels.
        Step::Texture(..) => u64::from(lanes.count_ones()) / 2,
        // A warp multiplies 16 rows with all columns.
        Step::Matrix(MatrixOp::Wgmma(op)) => (op.product.n * op.product.k) as u64 / 16,
        Step::Matrix(..) => 8,
        _ => 0,
    }
}
