//! What compiled code and its caller share while it runs.

use softwarp_units::lanes::Frame;
use std::ffi::c_void;
use std::ops::Range;

/// How many regions are remembered.
pub const SITES: usize = 64;

/// The sites of accesses to `.global`, of generic ones, and of those to `.const` and to a kernel's parameters: the same
/// address may mean different memory.
pub(crate) const GLOBAL_SITES: Range<usize> = 0..40;
/// The sites of generic accesses.
pub const GENERIC_SITES: Range<usize> = 40..52;
pub(crate) const CONSTANT_SITES: Range<usize> = 52..62;
pub(crate) const PARAMETER_SITES: Range<usize> = 62..64;

/// How many polls the lanes of a warp execute while others wait elsewhere, before these go first: atomic operations, and
/// loads that are ordered with the stores of other threads. The count starts again when all lanes have reconverged.
pub const POLLS: u32 = 256;

/// What a strong load takes of the budget beside its instruction: a warp that waits for another one's store does not
/// wait long before that one runs.
pub const POLL_COST: i64 = 64;

/// How many groups of accesses that are checked together a block can have.
pub(crate) const POINTERS: usize = 32;

/// How many spans of loads a block can have ([`crate::spans`]).
pub(crate) const SPANS: usize = 8;

/// A region of memory that accesses were in: the bounds that compiled code checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C, align(64))]
pub struct Region {
    /// The address of its first byte.
    pub base: u64,
    /// Where that byte is in the host's memory.
    pub host: u64,
    /// How many places there are for an element of 1, 2, 4, 8 and 16 bytes.
    pub room: [u64; 5],
    /// How many places there are for a row: 32 elements of 4 bytes.
    pub row: u64,
    /// The same for half a row, as far as offsets are below 2^31, less a little.
    pub half: u64,
}

/// An index of 32 bits that wraps around within half a row of words, times the bytes that make its step one word, is
/// above this, also with an offset of [`LEAST_OFFSET`].
const INDEXED: u64 = (1 << 31) - 64 - LEAST_OFFSET.unsigned_abs();

/// The least offset of an address of which [`Region::half`] tells whether its index wraps around.
pub(crate) const LEAST_OFFSET: i64 = -(1 << 16);

impl Region {
    /// No memory.
    pub const EMPTY: Region = Region { base: 0, host: 0, room: [0; 5], row: 0, half: 0 };

    /// A region from an address on, by its place in the host's memory and its length.
    pub fn new(base: u64, host: u64, bytes: u64) -> Region {
        let room = |size: u64| (bytes + 1).saturating_sub(size);
        let places = [room(1), room(2), room(4), room(8), room(16)];
        Region { base, host, room: places, row: room(128), half: room(64).min(INDEXED) }
    }
}

/// The contents of a vector register.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(64))]
pub(crate) struct Register(pub(crate) [u64; 8]);

/// In the number of an operation that [`Step`] is given: an access of all lanes, by the address of the first, whose region
/// is learned. It is not performed.
pub const LEARN: u32 = 1 << 31;

/// Performs an operation on the frame of a context, for the lanes of its mask. Returns 0 if compiled code has to be left
/// there: with [`LEARN`], if the region is the same as before. It must not unwind: code has no tables for that.
///
/// # Safety
/// Compiled code calls it, with the context that it was called with, and accesses neither the context nor rows of frames
/// until it returns.
pub type Step = unsafe extern "C" fn(*mut Context, u32) -> u32;

unsafe extern "C" fn no_step(_: *mut Context, _: u32) -> u32 {
    0
}

/// Prepares the next CTA, after all warps of one have ended: its place is in the context afterwards. Returns 0 if there
/// is none that compiled code can begin. It must not unwind.
///
/// # Safety
/// As for [`Step`].
pub type NextCta = unsafe extern "C" fn(*mut Context) -> u32;

pub(crate) unsafe extern "C" fn no_cta(_: *mut Context) -> u32 {
    0
}

impl Context {
    /// Regions by site.
    pub fn sites(&mut self) -> &mut [Region; SITES] {
        &mut self.sites
    }

    /// The number of the warp that runs, from an entry on.
    pub fn warp(&self, first: *const Entry) -> usize {
        (self.current as usize - first as usize) / size_of::<Entry>()
    }

    /// An empty one.
    pub(crate) fn new() -> Context {
        use std::ptr::{null, null_mut};
        Context {
            shared: Region::EMPTY,
            own: Region::EMPTY,
            parameters: Region::EMPTY,
            first: null_mut(),
            current: null_mut(),
            last: null_mut(),
            budget: 0,
            step: no_step,
            next_cta: no_cta,
            cta: [0; 4],
            warps: 0,
            stop: MIXED,
            begun: 0,
            target: 0,
            sites: [Region::EMPTY; SITES],
            constants: null(),
            masked_blocks: null(),
            masked_loads: null(),
            masked_saves: null(),
            masked_switches: null(),
            pending: null_mut(),
            pending_blocks: null_mut(),
            state: null_mut(),
            threads: 0,
            exchanges: 0,
            divergent: 0,
            atomics: 0,
            polled: 0,
            turn: 0,
            exit: 0,
            mask: 0,
            first_pending: u32::MAX,
            pointers: [0; POINTERS],
            lane_offsets: [0; 32],
            lane_values: [0; 32],
            lane_results: [0; 32],
            elements: [0; 2],
            float_control: [0x1f80, 0x9fc0],
            saved: [Register::default(); 32],
            saved_scalars: [0; 16],
            reciprocals: [Register::default(); 2],
            rare_divisors: 0,
            spans: [[Register::default(); 6]; SPANS],
            loaded_spans: [0; SPANS],
            emulated: Emulated::new(),
        }
    }
}

/// What compiled code and its caller share. What code reads most is in the first 128 bytes: instructions are shorter.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Context {
    /// The first warp of a CTA that runs with all warps together; null otherwise.
    pub(crate) first: *mut Entry,
    /// The warp that runs.
    pub(crate) current: *mut Entry,
    /// The end of the warps that run one after the other.
    pub(crate) last: *mut Entry,
    /// The barrier or end at which all warps have been left so far, or [`MIXED`].
    pub(crate) stop: u32,
    /// Where the warps of a CTA that are together were entered last: the operation, and the code.
    pub(crate) begun: u32,
    pub(crate) target: u64,
    /// Prepares the next CTA.
    pub(crate) next_cta: NextCta,
    /// `%ctaid` of the CTA that was prepared last.
    pub cta: [u32; 4],
    /// The CTA's shared memory.
    pub(crate) shared: Region,
    /// Regions by site.
    pub(crate) sites: [Region; SITES],
    /// The memory that each thread has to itself, from the first variable of the frame on. It is interleaved: the same words of
    /// all lanes are one behind the other, and each warp has its own ([`Entry::own`]).
    pub(crate) own: Region,
    /// The parameters of functions, those of the call that runs and of calls that it makes: interleaved, too.
    pub(crate) parameters: Region,
    /// What may still be executed. Compiled code subtracts the instructions that it executes, and stops at a jump
    /// back when none is left.
    pub(crate) budget: i64,
    /// Performs an operation on the frame. Returns 0 if compiled code has to be left there.
    pub(crate) step: Step,
    /// How many warps the CTA has.
    pub(crate) warps: u32,
    /// Constants of the code.
    pub(crate) constants: *const Register,
    /// Where masked code and its stubs are, by block.
    pub(crate) masked_blocks: *const u64,
    pub(crate) masked_loads: *const u64,
    pub(crate) masked_saves: *const u64,
    pub(crate) masked_switches: *const u64,
    /// Lanes that wait at a block, by block.
    pub(crate) pending: *mut u32,
    /// A bit for each block with such lanes.
    pub(crate) pending_blocks: *mut u64,
    /// The state of the caller.
    pub state: *mut c_void,
    /// Instructions of threads, less 32 for each instruction of a warp.
    pub(crate) threads: i64,
    /// How many operations among lanes were executed.
    pub(crate) exchanges: u64,
    /// How many branches diverged.
    pub(crate) divergent: u64,
    /// How many atomic operations and ordered stores were executed.
    pub(crate) atomics: u64,
    /// What strong loads have taken of the budget ([`POLL_COST`]).
    pub(crate) polled: u64,
    /// While lanes wait: the polls that are left in the low half ([`POLLS`]); the high half is not 0 if lanes have waited
    /// ever since code was entered. Code writes both where lanes diverge that were together.
    pub(crate) turn: u64,
    /// The operation at which code was left.
    pub(crate) exit: u32,
    /// The lanes that execute.
    pub mask: u32,
    /// The first block at which lanes wait, or a number past all blocks.
    pub(crate) first_pending: u32,
    /// Places in the host's memory of the first accesses of groups; 0 where a check failed.
    pub(crate) pointers: [u64; POINTERS],
    /// Vector registers while the interpreter performs an operation.
    pub(crate) saved: [Register; 32],
    /// The offsets, operands and results of the lanes of an atomic operation, each of 32 or 64 bits. They are aligned as
    /// registers are, so that a lane can be read soon after a register was written.
    pub(crate) lane_offsets: [u64; 32],
    pub(crate) lane_values: [u64; 32],
    pub(crate) lane_results: [u64; 32],
    /// The elements of an access to one place by all lanes.
    pub(crate) elements: [u64; 2],
    /// MXCSR as code has it, and with FTZ and DAZ: subnormal numbers are zeros.
    pub(crate) float_control: [u32; 2],
    /// General-purpose registers, likewise.
    pub(crate) saved_scalars: [u64; 16],
    /// The reciprocals of divisors, and the lanes whose divisors are not ordinary.
    pub(crate) reciprocals: [Register; 2],
    pub(crate) rare_divisors: u32,
    /// The rows of spans of loads but for the first, and whether they are there.
    pub(crate) spans: [[Register; 6]; SPANS],
    pub(crate) loaded_spans: [u32; SPANS],
    /// What code without AVX-512 has beside vector registers, which are in `saved` then.
    pub(crate) emulated: Emulated,
}

/// What code without AVX-512 keeps in memory, and constants of it.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Emulated {
    /// Mask registers as vectors.
    pub(crate) vectors: [Register; 8],
    /// Vectors whose elements are accessed one by one.
    pub(crate) spilled: [Register; 2],
    /// The bit of each element in a mask.
    pub(crate) lanes: [u32; 16],
    pub(crate) wide_lanes: [u64; 8],
    /// Mask registers.
    pub(crate) masks: [u64; 8],
    /// 0 and 1 in turn.
    pub(crate) odd: [u32; 8],
    /// By [`Word`].
    pub(crate) words: [u32; 8],
    /// 2^52 and a half more, and 2^52, as doubles.
    pub(crate) wide_words: [u64; 2],
    /// The control word of floating-point instructions: to nearest, then by the number of the rounding.
    pub(crate) rounding: [u32; 5],
}

/// A constant for all 32-bit words.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Word {
    /// All bits but the sign.
    Magnitude,
    /// The least normal float.
    LeastNormal,
    Infinity,
    /// The biased exponent of 2^31.
    ExponentOf31,
    /// The bits of a word.
    Bits,
    /// As floats.
    TwoTo16,
    TwoTo31,
}

impl Emulated {
    fn new() -> Emulated {
        let magnitude = u32::MAX >> 1;
        let powers = [65536f32, 2_147_483_648f32].map(f32::to_bits);
        Emulated {
            vectors: [Register::default(); 8],
            spilled: [Register::default(); 2],
            lanes: std::array::from_fn(|lane| 1 << lane),
            wide_lanes: std::array::from_fn(|lane| 1 << lane),
            masks: [0; 8],
            odd: [0, 1, 0, 1, 0, 1, 0, 1],
            words: [magnitude, 1 << 23, f32::INFINITY.to_bits(), 127 + 31, 32, powers[0], powers[1], 0],
            wide_words: [0x4338 << 48, 0x4330 << 48],
            rounding: [0, 0, 1, 2, 3].map(|rounding| 0x1f80 | rounding << 13),
        }
    }
}

/// Lanes at an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lanes {
    /// The operation.
    pub op: u32,
    /// The lanes.
    pub mask: u32,
}

/// A warp that compiled code runs: where it is entered, and afterwards where it was left.
///
/// It has the addresses of the rows of a frame, and no reference. Compiled code and Rust code access the rows in turns: Rust
/// code before compiled code is called, while that waits for a callback, and afterwards. The rows are lists on the heap, which are not made longer
/// meanwhile, so that the addresses stay. Each turn of Rust code ends with [`lend`], after its last reference to a row.
#[derive(Debug)]
#[repr(C, align(128))]
pub struct Entry {
    /// The rows of 32-bit words of the frame.
    pub(crate) narrow: *mut c_void,
    /// The rows of 64-bit words.
    pub(crate) wide: *mut c_void,
    /// The predicates.
    pub(crate) predicates: *mut u32,
    /// The code that is entered.
    pub(crate) target: u64,
    /// The operation at which the lanes in `mask` stand.
    pub op: u32,
    /// The lanes.
    pub mask: u32,
    /// What was left of the budget when it was left.
    pub left: i64,
    /// It was left at a barrier, with values that grow by constants from lane to lane in the first lanes of their rows
    /// only ([`crate::Compiled::complete`]).
    pub(crate) compact: bool,
    /// Where the threads' own memory is in the host's memory, from the beginning of [`Call::own`] on.
    pub own: u64,
    /// Where the parameters of functions are.
    pub parameters: u64,
}

/// In the number of an operation: code was left with such rows.
pub(crate) const COMPACT: u32 = 1 << 31;

/// The same: values are still in registers, which the context has.
pub(crate) const IN_REGISTERS: u32 = 1 << 30;

/// The same: at neither a barrier nor an end. The caller goes on with the warp before the next one is entered, in the order
/// that the interpreter has.
pub(crate) const GOES_ON: u32 = 1 << 29;

/// No operation: warps were left at several, or otherwise than together.
pub(crate) const MIXED: u32 = u32::MAX;

impl Entry {
    /// A warp with lanes that stand at an operation, which cannot be entered yet ([`crate::Compiled::enter_at`]).
    pub fn new(frame: &mut Frame, at: Lanes) -> Entry {
        lend(frame);
        Entry {
            narrow: frame.narrow.as_mut_ptr().cast(),
            wide: frame.wide.as_mut_ptr().cast(),
            predicates: frame.predicates.as_mut_ptr(),
            target: 0,
            op: at.op,
            mask: at.mask,
            left: 0,
            compact: false,
            own: 0,
            parameters: 0,
        }
    }
}

/// Lets compiled code access the rows of a frame, until Rust code uses the frame again: the provenance of their addresses is
/// exposed, so that what is reached by these addresses, in code that the language knows nothing of, is the rows.
#[inline]
pub fn lend(frame: &mut Frame) {
    let _ = frame.narrow.as_mut_ptr().expose_provenance();
    let _ = frame.wide.as_mut_ptr().expose_provenance();
    let _ = frame.predicates.as_mut_ptr().expose_provenance();
}

/// What compiled code needs of its caller.
pub struct Call {
    /// The CTA's shared memory.
    pub shared: Region,
    /// The memory that each thread has to itself, from the first variable of the frame on: how many bytes a thread has. It
    /// begins at a multiple of 16. Where it is in the host's memory is each warp's ([`Entry::own`]).
    pub own: Region,
    /// The parameters of functions, likewise.
    pub parameters: Region,
    /// Performs an operation on the frame. Returns 0 if compiled code has to be left there.
    pub step: Step,
    /// Prepares the next CTA, if compiled code may begin one where all warps have ended.
    pub next_cta: Option<NextCta>,
    /// What `step` and `next_cta` find in the context.
    pub state: *mut c_void,
}

/// What compiled code did.
#[derive(Clone, Copy, Debug, Default)]
pub struct Done {
    /// How many warps ran.
    pub warps: usize,
    /// Instructions of warps.
    pub instructions: u64,
    /// Instructions of threads.
    pub threads: u64,
    /// Branches that diverged.
    pub divergent: u64,
    /// Operations among lanes.
    pub exchanges: u64,
    /// Atomic operations and ordered stores.
    pub atomics: u64,
    /// What strong loads have taken of the budget: [`POLL_COST`] each.
    pub polled: u64,
    /// Values of the last warp that ran are still in registers, which the scratch has
    /// ([`crate::Compiled::write_registers`]).
    pub in_registers: bool,
}

#[cfg(test)]
mod tests {
    use super::{LEAST_OFFSET, Region};

    /// Where the index of a lane wraps around, the first lane is behind the places for half a row in any region.
    #[test]
    fn an_index_that_wraps_around_is_behind_half_a_row() {
        for bytes in [1 << 16, 1 << 31, 1 << 34, 1 << 40] {
            let half = Region::new(0, 0, bytes).half;
            for (end, factor) in [(1i64 << 31, 4), (1 << 32, 4), (1 << 31, 1), (1 << 32, 1)] {
                let steps = 15 * 4 / factor;
                let first = factor * (end - steps) + LEAST_OFFSET;
                assert!(first as u64 >= half, "{bytes} {end} {factor}");
            }
        }
        assert_eq!(Region::new(0, 0, 63).half, 0);
        assert_eq!(Region::new(0, 0, 64).half, 1);
    }
}
