//! Several ranges of managed memory at once, and copies with attributes (driver API: "Memory Management",
//! "Unified Addressing").

use super::copy_rows::copy_batch;
use super::managed::{prefetch, range};
use super::pool::Location;
use super::stream::of;
use crate::c_struct;
use crate::code::{Code, Done, ensure};
use crate::ffi::{In, Out};
use crate::handle::Handle;
use crate::stream::Stream;

c_struct! {
    /// `CUmemcpyAttributes`
    CopyAttributes {
        order: u32,
        from: Location,
        to: Location,
        flags: u32,
    }
}

/// Ranges that a caller passes; there is at least one.
fn ranges(addresses: In<u64>, sizes: In<usize>, count: usize) -> Result<Vec<(u64, usize)>, Code> {
    ensure(count != 0, Code::INVALID_VALUE)?;
    (0..count).map(|index| Ok((addresses.get_at(index)?, sizes.get_at(index)?))).collect()
}

/// The contents of managed memory are not needed any more. They stay, which is one of the things that may happen.
fn discard(ranges: &[(u64, usize)], flags: u64, stream: Handle<Stream>) -> Done {
    let (driver, _, stream) = of(stream)?;
    driver.captures.forbid_stream(stream.id)?;
    ensure(flags == 0, Code::INVALID_VALUE)?;
    ranges.iter().try_for_each(|&(address, bytes)| range(driver, address, bytes).map(drop))
}

/// Moves ranges, each to the place whose first range it is or follows.
fn prefetch_all(
    ranges: &[(u64, usize)],
    (places, firsts, count): (In<Location>, In<usize>, usize),
    flags: u64,
    stream: Handle<Stream>,
) -> Done {
    ensure(flags == 0 && (1..=ranges.len()).contains(&count), Code::INVALID_VALUE)?;
    let (places, firsts) = (places.all(count)?, firsts.all(count)?);
    let is_rising = firsts.windows(2).all(|pair| pair[0] < pair[1]);
    let is_inside = firsts.last().is_some_and(|&last| last < ranges.len());
    ensure(firsts[0] == 0 && is_rising && is_inside, Code::INVALID_VALUE)?;
    for (index, &(address, bytes)) in ranges.iter().enumerate() {
        let place = places[firsts.partition_point(|&first| first <= index) - 1];
        prefetch(address, bytes, place, 0, stream)?;
    }
    Ok(())
}

crate::entries! {
    /// Moves ranges of managed memory to where they are needed.
    fn cuMemPrefetchBatchAsync / cuMemPrefetchBatchAsync_ptsz(
        addresses: In<u64>, sizes: In<usize>, count: usize, places: In<Location>, firsts: In<usize>,
        place_count: usize, flags: u64, stream: Handle<Stream>,
    ) {
        of(stream)?;
        prefetch_all(&ranges(addresses, sizes, count)?, (places, firsts, place_count), flags, stream)
    }

    /// Says that the contents of ranges of managed memory are not needed any more.
    fn cuMemDiscardBatchAsync / cuMemDiscardBatchAsync_ptsz(
        addresses: In<u64>, sizes: In<usize>, count: usize, flags: u64, stream: Handle<Stream>,
    ) {
        of(stream)?;
        discard(&ranges(addresses, sizes, count)?, flags, stream)
    }

    /// Says so, and moves the ranges to where they are needed.
    fn cuMemDiscardAndPrefetchBatchAsync / cuMemDiscardAndPrefetchBatchAsync_ptsz(
        addresses: In<u64>, sizes: In<usize>, count: usize, places: In<Location>, firsts: In<usize>,
        place_count: usize, flags: u64, stream: Handle<Stream>,
    ) {
        of(stream)?;
        let ranges = ranges(addresses, sizes, count)?;
        discard(&ranges, flags, stream)?;
        prefetch_all(&ranges, (places, firsts, place_count), flags, stream)
    }

    /// A copy whose attributes say when the source is read. It is read when the stream comes to it, or sooner.
    fn cuMemcpyWithAttributesAsync / cuMemcpyWithAttributesAsync_ptsz(
        to: u64, from: u64, bytes: usize, attributes: In<CopyAttributes>, stream: Handle<Stream>,
    ) {
        // Stream order, during the call, or any.
        ensure((1..=3).contains(&attributes.get()?.order), Code::INVALID_VALUE)?;
        copy_batch(In::of(&[to]), In::of(&[from]), In::of(&[bytes]), 1, Out::NULL, stream)
    }
}
