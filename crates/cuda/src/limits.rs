//! Limits of contexts (`CUlimit`): what they begin with, and how the driver rounds what is asked for (recorded on an
//! H200).

use crate::code::Code;
use softwarp::isa::device::LOCAL_BYTES;

/// How many limits have a value.
pub const COUNT: usize = 9;

/// What limits begin with, by number: stack, printf buffer, malloc heap, synchronisation depth (none), pending launches,
/// L2 fetch granularity, persisting L2 bytes, shared memory of a CTA, and whether launches from a file descriptor are on.
pub const INITIAL: [u64; COUNT] = [1024, 8_650_752, 8_388_608, 0, 2048, 64, 11_796_480, 232_448, 0];

/// `CU_LIMIT_PRINTF_FIFO_SIZE`
pub const PRINTF: u32 = 1;

/// `CU_LIMIT_MALLOC_HEAP_SIZE`
pub const HEAP: u32 = 2;

/// Bytes of the second-level cache are kept in units of this.
const L2_UNIT: u64 = 3_932_160;

/// The most bytes that can be kept in the second-level cache.
const MOST_L2: u64 = 39_321_600;

/// The value that a limit has after it was set.
pub fn rounded(limit: u32, value: u64) -> Result<u64, Code> {
    Ok(match limit {
        0 if value > LOCAL_BYTES => return Err(Code::INVALID_VALUE),
        0 => value.next_multiple_of(16),
        1 => value.clamp(512 << 10, 2 << 30),
        2 => value.clamp(4 << 20, 16 << 30),
        4 => value.max(32),
        5 if value <= 128 => value,
        6 if value <= MOST_L2 => value.next_multiple_of(L2_UNIT),
        3 | 9 => return Err(Code::UNSUPPORTED_LIMIT),
        7 | 8 => return Err(Code::NOT_PERMITTED),
        _ => return Err(Code::INVALID_VALUE),
    })
}

/// A limit's place, if it has a value.
pub fn index(limit: u32) -> Result<usize, Code> {
    match limit {
        3 | 9 => Err(Code::UNSUPPORTED_LIMIT),
        limit if (limit as usize) < COUNT => Ok(limit as usize),
        _ => Err(Code::INVALID_VALUE),
    }
}
