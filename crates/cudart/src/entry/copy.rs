//! Copies of bytes, rows and variables, and fills.

use super::memory::{Extent, PitchedPointer};
use crate::code::{Code, Done, ensure};
use crate::context::ensure_context;
use crate::driver::memory::*;
use crate::ffi::{In, zeroed};
use crate::registry;

/// The direction of a copy, `cudaMemcpyKind`.
const HOST_TO_HOST: i32 = 0;
const HOST_TO_DEVICE: i32 = 1;
const DEVICE_TO_HOST: i32 = 2;
const DEVICE_TO_DEVICE: i32 = 3;
const DEFAULT: i32 = 4;

/// `CUmemorytype`.
const DEVICE: u32 = 2;
/// The driver finds out by the address.
const UNIFIED: u32 = 4;

/// Checks the direction of a copy.
pub fn check_kind(kind: i32) -> Done {
    ensure((HOST_TO_HOST..=DEFAULT).contains(&kind), Code::INVALID_MEMCPY_DIRECTION)
}

/// The kinds of memory of the target and the source: what must not be pageable is the device's.
pub fn memory_kinds(kind: i32) -> (u32, u32) {
    let of = |is_device| if is_device { DEVICE } else { UNIFIED };
    (
        of(matches!(kind, HOST_TO_DEVICE | DEVICE_TO_DEVICE)),
        of(matches!(kind, DEVICE_TO_HOST | DEVICE_TO_DEVICE)),
    )
}

/// Copies bytes; a stream makes it asynchronous.
pub fn copy(to: u64, from: u64, bytes: usize, kind: i32, stream: Option<u64>) -> Done {
    ensure_context()?;
    if bytes == 0 {
        return Ok(());
    }
    check_kind(kind)?;
    match (kind, stream) {
        (HOST_TO_DEVICE, None) => cuMemcpyHtoD_v2(to, from, bytes),
        (HOST_TO_DEVICE, Some(stream)) => cuMemcpyHtoDAsync_v2(to, from, bytes, stream),
        (DEVICE_TO_HOST, None) => cuMemcpyDtoH_v2(to, from, bytes),
        (DEVICE_TO_HOST, Some(stream)) => cuMemcpyDtoHAsync_v2(to, from, bytes, stream),
        (DEVICE_TO_DEVICE, None) => cuMemcpyDtoD_v2(to, from, bytes),
        (DEVICE_TO_DEVICE, Some(stream)) => cuMemcpyDtoDAsync_v2(to, from, bytes, stream),
        (_, None) => cuMemcpy(to, from, bytes),
        (_, Some(stream)) => cuMemcpyAsync(to, from, bytes, stream),
    }
}

/// Copies rows.
#[allow(clippy::too_many_arguments, reason = "the arguments are those of the C API")]
fn copy_rows(
    to: u64,
    to_pitch: usize,
    from: u64,
    from_pitch: usize,
    width: usize,
    height: usize,
    kind: i32,
    stream: Option<u64>,
) -> Done {
    ensure_context()?;
    if width == 0 || height == 0 {
        return Ok(());
    }
    check_kind(kind)?;
    ensure(height == 1 || width <= to_pitch && width <= from_pitch, Code::INVALID_PITCH_VALUE)?;
    let (dst_type, src_type) = memory_kinds(kind);
    let copy = Copy2D {
        src_type,
        src_host: from,
        src_device: from,
        src_pitch: from_pitch,
        dst_type,
        dst_host: to,
        dst_device: to,
        dst_pitch: to_pitch,
        width,
        height,
        ..zeroed()
    };
    match stream {
        None => cuMemcpy2DUnaligned_v2(In::of(&copy)),
        Some(stream) => cuMemcpy2DAsync_v2(In::of(&copy), stream),
    }
}

/// The part of a variable that a copy uses.
pub fn part_of_variable(symbol: u64, offset: usize, bytes: usize) -> Result<u64, Code> {
    ensure_context()?;
    let (address, size) = registry::variable(symbol)?;
    ensure(offset.checked_add(bytes).is_some_and(|end| end <= size), Code::INVALID_VALUE)?;
    Ok(address + offset as u64)
}

/// Whether a copy in this direction can be one to a variable.
pub fn copies_to_symbol(kind: i32) -> bool {
    matches!(kind, HOST_TO_DEVICE | DEVICE_TO_DEVICE | DEFAULT)
}

/// Whether a copy in this direction can be one from a variable.
pub fn copies_from_symbol(kind: i32) -> bool {
    matches!(kind, DEVICE_TO_HOST | DEVICE_TO_DEVICE | DEFAULT)
}

/// Copies to a variable.
fn copy_to_symbol(
    symbol: u64,
    from: u64,
    bytes: usize,
    offset: usize,
    kind: i32,
    stream: Option<u64>,
) -> Done {
    let to = part_of_variable(symbol, offset, bytes)?;
    ensure(copies_to_symbol(kind), Code::INVALID_MEMCPY_DIRECTION)?;
    copy(to, from, bytes, kind, stream)
}

/// Copies from a variable.
fn copy_from_symbol(
    to: u64,
    symbol: u64,
    bytes: usize,
    offset: usize,
    kind: i32,
    stream: Option<u64>,
) -> Done {
    let from = part_of_variable(symbol, offset, bytes)?;
    ensure(copies_from_symbol(kind), Code::INVALID_MEMCPY_DIRECTION)?;
    copy(to, from, bytes, kind, stream)
}

/// Fills bytes.
fn fill(to: u64, value: i32, bytes: usize, stream: Option<u64>) -> Done {
    ensure_context()?;
    match stream {
        None => cuMemsetD8_v2(to, value as u8, bytes),
        Some(stream) => cuMemsetD8Async(to, value as u8, bytes, stream),
    }
}

/// Fills rows.
fn fill_rows(to: u64, pitch: usize, value: i32, width: usize, height: usize, stream: Option<u64>) -> Done {
    ensure_context()?;
    match stream {
        None => cuMemsetD2D8_v2(to, pitch, value as u8, width, height),
        Some(stream) => cuMemsetD2D8Async(to, pitch, value as u8, width, height, stream),
    }
}

/// Fills planes.
fn fill_planes(to: PitchedPointer, value: i32, extent: Extent, stream: Option<u64>) -> Done {
    ensure_context()?;
    if extent.width == 0 || extent.height == 0 || extent.depth == 0 {
        return Ok(());
    }
    ensure(extent.width <= to.pitch || extent.height * extent.depth == 1, Code::INVALID_VALUE)?;
    if extent.height == to.ysize || extent.depth == 1 {
        let rows = extent.height.checked_mul(extent.depth).ok_or(Code::INVALID_VALUE)?;
        return fill_rows(to.pointer, to.pitch, value, extent.width, rows, stream);
    }
    let plane = to.pitch.checked_mul(to.ysize).ok_or(Code::INVALID_VALUE)?;
    ensure(extent.height < to.ysize, Code::INVALID_VALUE)?;
    (0..extent.depth as u64).try_for_each(|z| {
        fill_rows(
            to.pointer.wrapping_add(z * plane as u64),
            to.pitch,
            value,
            extent.width,
            extent.height,
            stream,
        )
    })
}

crate::entries! {
    /// Copies bytes.
    fn cudaMemcpy / cudaMemcpy_ptds(to: u64, from: u64, bytes: usize, kind: i32) {
        copy(to, from, bytes, kind, None)
    }

    /// Copies bytes in the order of a stream.
    fn cudaMemcpyAsync / cudaMemcpyAsync_ptsz(to: u64, from: u64, bytes: usize, kind: i32, stream: u64) {
        copy(to, from, bytes, kind, Some(stream))
    }

    /// Copies rows.
    fn cudaMemcpy2D / cudaMemcpy2D_ptds(to: u64, to_pitch: usize, from: u64, from_pitch: usize, width: usize, height: usize, kind: i32) {
        copy_rows(to, to_pitch, from, from_pitch, width, height, kind, None)
    }

    /// Copies rows in the order of a stream.
    fn cudaMemcpy2DAsync / cudaMemcpy2DAsync_ptsz(
        to: u64, to_pitch: usize, from: u64, from_pitch: usize, width: usize, height: usize, kind: i32, stream: u64,
    ) {
        copy_rows(to, to_pitch, from, from_pitch, width, height, kind, Some(stream))
    }

    /// Copies to a variable.
    fn cudaMemcpyToSymbol / cudaMemcpyToSymbol_ptds(symbol: u64, from: u64, bytes: usize, offset: usize, kind: i32) {
        copy_to_symbol(symbol, from, bytes, offset, kind, None)
    }

    /// Copies to a variable in the order of a stream.
    fn cudaMemcpyToSymbolAsync / cudaMemcpyToSymbolAsync_ptsz(
        symbol: u64, from: u64, bytes: usize, offset: usize, kind: i32, stream: u64,
    ) {
        copy_to_symbol(symbol, from, bytes, offset, kind, Some(stream))
    }

    /// Copies from a variable.
    fn cudaMemcpyFromSymbol / cudaMemcpyFromSymbol_ptds(to: u64, symbol: u64, bytes: usize, offset: usize, kind: i32) {
        copy_from_symbol(to, symbol, bytes, offset, kind, None)
    }

    /// Copies from a variable in the order of a stream.
    fn cudaMemcpyFromSymbolAsync / cudaMemcpyFromSymbolAsync_ptsz(
        to: u64, symbol: u64, bytes: usize, offset: usize, kind: i32, stream: u64,
    ) {
        copy_from_symbol(to, symbol, bytes, offset, kind, Some(stream))
    }

    /// Fills bytes.
    fn cudaMemset / cudaMemset_ptds(to: u64, value: i32, bytes: usize) {
        fill(to, value, bytes, None)
    }

    /// Fills bytes in the order of a stream.
    fn cudaMemsetAsync / cudaMemsetAsync_ptsz(to: u64, value: i32, bytes: usize, stream: u64) {
        fill(to, value, bytes, Some(stream))
    }

    /// Fills rows.
    fn cudaMemset2D / cudaMemset2D_ptds(to: u64, pitch: usize, value: i32, width: usize, height: usize) {
        fill_rows(to, pitch, value, width, height, None)
    }

    /// Fills rows in the order of a stream.
    fn cudaMemset2DAsync / cudaMemset2DAsync_ptsz(to: u64, pitch: usize, value: i32, width: usize, height: usize, stream: u64) {
        fill_rows(to, pitch, value, width, height, Some(stream))
    }

    /// Fills planes.
    fn cudaMemset3D / cudaMemset3D_ptds(to: PitchedPointer, value: i32, extent: Extent) {
        fill_planes(to, value, extent, None)
    }

    /// Fills planes in the order of a stream.
    fn cudaMemset3DAsync / cudaMemset3DAsync_ptsz(to: PitchedPointer, value: i32, extent: Extent, stream: u64) {
        fill_planes(to, value, extent, Some(stream))
    }
}
