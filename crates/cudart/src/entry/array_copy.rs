//! Copies of planes, and copies to and from arrays.

use super::array::descriptor;
use super::copy::{check_kind, memory_kinds};
use super::memory::{Extent, PitchedPointer};
use crate::code::{Code, Done, ensure};
use crate::context::{device, ensure_context, retain};
use crate::driver::memory::*;
use crate::ffi::{In, zeroed};

crate::c_struct! {
    /// One side of `cudaMemcpy3DParms`: an array or memory, and where the copy begins in it.
    Side { array: u64, position: [usize; 3], memory: PitchedPointer, }
}

crate::c_struct! {
    /// `cudaMemcpy3DParms`.
    Parameters3D { src: Side, dst: Side, extent: Extent, kind: i32, }
}

crate::c_struct! {
    /// `cudaMemcpy3DPeerParms`.
    PeerParameters3D { src: Side, src_device: i32, dst: Side, dst_device: i32, extent: Extent, }
}

/// `CUmemorytype`.
pub(super) mod memory_type {
    pub const HOST: u32 = 1;
    pub const DEVICE: u32 = 2;
    pub const ARRAY: u32 = 3;
    pub const UNIFIED: u32 = 4;
}

/// `cudaMemcpyKind`.
mod kind {
    pub const HOST_TO_HOST: i32 = 0;
    pub const HOST_TO_DEVICE: i32 = 1;
    pub const DEVICE_TO_HOST: i32 = 2;
    pub const DEVICE_TO_DEVICE: i32 = 3;
    pub const DEFAULT: i32 = 4;
}

/// Checks the direction of a copy to an array.
fn check_to_array(direction: i32) -> Done {
    let known = matches!(direction, kind::HOST_TO_DEVICE | kind::DEVICE_TO_DEVICE | kind::DEFAULT);
    ensure(known, Code::INVALID_MEMCPY_DIRECTION)
}

/// Checks the direction of a copy from an array.
fn check_from_array(direction: i32) -> Done {
    let known = matches!(direction, kind::DEVICE_TO_HOST | kind::DEVICE_TO_DEVICE | kind::DEFAULT);
    ensure(known, Code::INVALID_MEMCPY_DIRECTION)
}

/// Bytes of a texel of an array; 1 without one.
pub fn texel(array: u64) -> Result<usize, Code> {
    if array == 0 { Ok(1) } else { Ok(descriptor(array)?.texel()) }
}

/// A product; one that is too large is an error.
pub fn times(left: usize, right: usize) -> Result<usize, Code> {
    left.checked_mul(right).ok_or(Code::INVALID_VALUE)
}

impl Side {
    /// The driver's side of a copy. Positions in arrays are counted in texels, those in memory in bytes.
    fn to_driver(self, memory_type: u32) -> Result<Side3D, Code> {
        let [x, y, z] = self.position;
        let PitchedPointer { pointer, pitch, ysize, .. } = self.memory;
        if self.array != 0 {
            let x = times(x, texel(self.array)?)?;
            return Ok(Side3D { x, y, z, kind: memory_type::ARRAY, array: self.array, ..zeroed() });
        }
        let (host, device) = (pointer, pointer);
        Ok(Side3D { x, y, z, kind: memory_type, host, device, pitch, height: ysize, ..zeroed() })
    }

    fn of_driver(from: &Side3D, width: usize) -> Result<Side, Code> {
        if from.kind == memory_type::ARRAY {
            let x = from.x / texel(from.array)?.max(1);
            return Ok(Side { array: from.array, position: [x, from.y, from.z], memory: zeroed() });
        }
        let pointer = if from.kind == memory_type::HOST { from.host } else { from.device };
        let memory = PitchedPointer { pointer, pitch: from.pitch, xsize: width, ysize: from.height };
        Ok(Side { array: 0, position: [from.x, from.y, from.z], memory })
    }

    /// Whether rows and planes have room in memory.
    fn check(&self, width: usize, extent: Extent) -> Done {
        let Extent { height, depth, .. } = extent;
        let rows_fit = width <= self.memory.pitch || height <= 1 && depth <= 1;
        let planes_fit = height <= self.memory.ysize || depth <= 1;
        ensure(self.array != 0 || rows_fit && planes_fit, Code::INVALID_PITCH_VALUE)
    }
}

/// The driver's copy between two sides, of which the first is the source.
pub fn planes(src: Side, dst: Side, extent: Extent, (to, from): (u32, u32)) -> Result<Copy3D, Code> {
    let sizes = [texel(src.array)?, texel(dst.array)?];
    ensure(src.array == 0 || dst.array == 0 || sizes[0] == sizes[1], Code::INVALID_VALUE)?;
    let width = times(extent.width, sizes[0].max(sizes[1]))?;
    src.check(width, extent)?;
    dst.check(width, extent)?;
    let (height, depth) = (extent.height, extent.depth);
    Ok(Copy3D { src: src.to_driver(from)?, dst: dst.to_driver(to)?, width, height, depth })
}

fn is_empty(extent: Extent) -> bool {
    extent.width == 0 || extent.height == 0 || extent.depth == 0
}

impl Parameters3D {
    /// The driver's copy.
    pub fn to_driver(self) -> Result<Copy3D, Code> {
        check_kind(self.kind)?;
        if self.src.array != 0 {
            check_from_array(self.kind)?;
        }
        if self.dst.array != 0 {
            check_to_array(self.kind)?;
        }
        planes(self.src, self.dst, self.extent, memory_kinds(self.kind))
    }

    /// What the driver's copy is here.
    pub fn of_driver(from: &Copy3D) -> Result<Parameters3D, Code> {
        let array = if from.src.kind == memory_type::ARRAY { from.src.array } else { from.dst.array };
        let width = from.width / texel(array)?.max(1);
        let is_device = |kind: u32| matches!(kind, memory_type::DEVICE | memory_type::ARRAY);
        let direction = match (from.src.kind, from.dst.kind) {
            (memory_type::HOST, memory_type::HOST) => kind::HOST_TO_HOST,
            (src, dst) if is_device(src) && is_device(dst) => kind::DEVICE_TO_DEVICE,
            (src, _) if is_device(src) => kind::DEVICE_TO_HOST,
            (_, dst) if is_device(dst) => kind::HOST_TO_DEVICE,
            _ => kind::DEFAULT,
        };
        Ok(Parameters3D {
            src: Side::of_driver(&from.src, from.width)?,
            dst: Side::of_driver(&from.dst, from.width)?,
            extent: Extent { width, height: from.height, depth: from.depth },
            kind: direction,
        })
    }

    /// A copy of bytes.
    pub fn of_bytes(to: u64, from: u64, bytes: usize, kind: i32) -> Parameters3D {
        let side = |pointer| Side {
            memory: PitchedPointer { pointer, pitch: bytes, xsize: bytes, ysize: 1 },
            ..zeroed()
        };
        let extent = Extent { width: bytes, height: 1, depth: 1 };
        Parameters3D { src: side(from), dst: side(to), extent, kind }
    }
}

/// Copies planes; a stream makes it asynchronous.
fn copy_planes(given: In<Parameters3D>, stream: Option<u64>) -> Done {
    let given = given.get()?;
    ensure_context()?;
    if is_empty(given.extent) {
        return Ok(());
    }
    let copy = given.to_driver()?;
    match stream {
        None => cuMemcpy3D_v2(In::of(&copy)),
        Some(stream) => cuMemcpy3DAsync_v2(In::of(&copy), stream),
    }
}

/// Copies planes between devices.
fn copy_planes_of_peers(given: In<PeerParameters3D>, stream: Option<u64>) -> Done {
    let given = given.get()?;
    let (src_device, dst_device) = (device(given.src_device)?, device(given.dst_device)?);
    ensure_context()?;
    if is_empty(given.extent) {
        return Ok(());
    }
    let unified = (memory_type::UNIFIED, memory_type::UNIFIED);
    let mut copy = planes(given.src, given.dst, given.extent, unified)?;
    copy.src.reserved = retain(src_device)?;
    copy.dst.reserved = retain(dst_device)?;
    match stream {
        None => cuMemcpy3DPeer(In::of(&copy)),
        Some(stream) => cuMemcpy3DPeerAsync(In::of(&copy), stream),
    }
}

/// A place in an array: the offset in bytes within a row, and the row.
#[derive(Clone, Copy)]
struct InArray {
    array: u64,
    x: usize,
    y: usize,
}

impl InArray {
    fn source(self, copy: &mut Copy2D) {
        let InArray { array, x, y } = self;
        (copy.src_type, copy.src_array, copy.src_x, copy.src_y) = (memory_type::ARRAY, array, x, y);
    }

    fn target(self, copy: &mut Copy2D) {
        let InArray { array, x, y } = self;
        (copy.dst_type, copy.dst_array, copy.dst_x, copy.dst_y) = (memory_type::ARRAY, array, x, y);
    }

    /// The parts of an array that a copy of a given number of bytes covers from this position on: the rest of the first
    /// row, whole rows, and the beginning of the last row.
    fn parts(self, bytes: usize) -> Result<Vec<(InArray, usize, usize)>, Code> {
        let found = descriptor(self.array)?;
        let row = times(found.width, found.texel())?;
        let start = times(self.y, row)?.checked_add(self.x);
        let end = start.and_then(|start| start.checked_add(bytes)).ok_or(Code::INVALID_VALUE)?;
        ensure(self.x < row && end <= times(row, found.height.max(1))?, Code::INVALID_VALUE)?;
        let (mut parts, mut at, mut rest) = (Vec::new(), self, bytes);
        while rest > 0 {
            let width = (row - at.x).min(rest);
            let rows = if at.x == 0 { (rest / row).max(1) } else { 1 };
            parts.push((at, width, rows));
            rest -= width * rows;
            at = InArray { array: at.array, x: (at.x + width) % row, y: at.y + rows };
        }
        Ok(parts)
    }
}

fn copy_rows(copy: &Copy2D, stream: Option<u64>) -> Done {
    match stream {
        None => cuMemcpy2DUnaligned_v2(In::of(copy)),
        Some(stream) => cuMemcpy2DAsync_v2(In::of(copy), stream),
    }
}

/// Rows of memory: the address, and the bytes from a row to the next.
type Rows = (u64, usize);

/// Copies rows to an array.
fn rows_to_array(to: InArray, from: Rows, size: [usize; 2], direction: i32, stream: Option<u64>) -> Done {
    ensure_context()?;
    let ((address, src_pitch), [width, height]) = (from, size);
    if width == 0 || height == 0 {
        return Ok(());
    }
    check_to_array(direction)?;
    ensure(width <= src_pitch || height == 1, Code::INVALID_PITCH_VALUE)?;
    let (_, src_type) = memory_kinds(direction);
    let (src_host, src_device) = (address, address);
    let mut copy = Copy2D { src_type, src_host, src_device, src_pitch, width, height, ..zeroed() };
    to.target(&mut copy);
    copy_rows(&copy, stream)
}

/// Copies rows from an array.
fn rows_from_array(to: Rows, from: InArray, size: [usize; 2], direction: i32, stream: Option<u64>) -> Done {
    ensure_context()?;
    let ((address, dst_pitch), [width, height]) = (to, size);
    if width == 0 || height == 0 {
        return Ok(());
    }
    check_from_array(direction)?;
    ensure(width <= dst_pitch || height == 1, Code::INVALID_PITCH_VALUE)?;
    let (dst_type, _) = memory_kinds(direction);
    let (dst_host, dst_device) = (address, address);
    let mut copy = Copy2D { dst_type, dst_host, dst_device, dst_pitch, width, height, ..zeroed() };
    from.source(&mut copy);
    copy_rows(&copy, stream)
}

/// Copies rows from an array to another.
fn rows_between_arrays(to: InArray, from: InArray, width: usize, height: usize, direction: i32) -> Done {
    ensure_context()?;
    if width == 0 || height == 0 {
        return Ok(());
    }
    let known = matches!(direction, kind::DEVICE_TO_DEVICE | kind::DEFAULT);
    ensure(known, Code::INVALID_MEMCPY_DIRECTION)?;
    let mut copy = Copy2D { width, height, ..zeroed() };
    to.target(&mut copy);
    from.source(&mut copy);
    copy_rows(&copy, None)
}

/// Copies bytes to an array, row after row.
fn bytes_to_array(to: InArray, mut from: u64, bytes: usize, direction: i32, stream: Option<u64>) -> Done {
    ensure_context()?;
    if bytes == 0 {
        return Ok(());
    }
    check_to_array(direction)?;
    for (part, width, rows) in to.parts(bytes)? {
        rows_to_array(part, (from, width), [width, rows], direction, stream)?;
        from = from.wrapping_add((width * rows) as u64);
    }
    Ok(())
}

/// Copies bytes from an array, row after row.
fn bytes_from_array(mut to: u64, from: InArray, bytes: usize, direction: i32, stream: Option<u64>) -> Done {
    ensure_context()?;
    if bytes == 0 {
        return Ok(());
    }
    check_from_array(direction)?;
    for (part, width, rows) in from.parts(bytes)? {
        rows_from_array((to, width), part, [width, rows], direction, stream)?;
        to = to.wrapping_add((width * rows) as u64);
    }
    Ok(())
}

/// Single rows of parts.
fn single_rows(parts: Vec<(InArray, usize, usize)>) -> impl Iterator<Item = (InArray, usize)> {
    parts.into_iter().flat_map(|(at, width, rows)| {
        (0..rows).map(move |row| (InArray { array: at.array, x: at.x, y: at.y + row }, width))
    })
}

/// Copies bytes from an array to another, row after row. Rows may have different lengths.
fn bytes_between_arrays(to: InArray, from: InArray, bytes: usize, direction: i32) -> Done {
    ensure_context()?;
    if bytes == 0 {
        return Ok(());
    }
    let (mut targets, mut sources) = (single_rows(to.parts(bytes)?), single_rows(from.parts(bytes)?));
    let (mut target, mut source) = (targets.next(), sources.next());
    while let (Some((into, room)), Some((out_of, there))) = (target, source) {
        let width = room.min(there);
        rows_between_arrays(into, out_of, width, 1, direction)?;
        let behind = |at: InArray| InArray { array: at.array, x: at.x + width, y: at.y };
        target = if room == width { targets.next() } else { Some((behind(into), room - width)) };
        source = if there == width { sources.next() } else { Some((behind(out_of), there - width)) };
    }
    Ok(())
}

crate::entries! {
    /// Copies planes.
    fn cudaMemcpy3D / cudaMemcpy3D_ptds(copy: In<Parameters3D>) {
        copy_planes(copy, None)
    }

    /// Copies planes in the order of a stream.
    fn cudaMemcpy3DAsync / cudaMemcpy3DAsync_ptsz(copy: In<Parameters3D>, stream: u64) {
        copy_planes(copy, Some(stream))
    }

    /// Copies planes between devices.
    fn cudaMemcpy3DPeer / cudaMemcpy3DPeer_ptds(copy: In<PeerParameters3D>) {
        copy_planes_of_peers(copy, None)
    }

    /// Copies planes between devices in the order of a stream.
    fn cudaMemcpy3DPeerAsync / cudaMemcpy3DPeerAsync_ptsz(copy: In<PeerParameters3D>, stream: u64) {
        copy_planes_of_peers(copy, Some(stream))
    }

    /// Copies rows to an array.
    fn cudaMemcpy2DToArray / cudaMemcpy2DToArray_ptds(
        array: u64, x: usize, y: usize, from: u64, pitch: usize, width: usize, height: usize, kind: i32,
    ) {
        rows_to_array(InArray { array, x, y }, (from, pitch), [width, height], kind, None)
    }

    /// Copies rows to an array in the order of a stream.
    fn cudaMemcpy2DToArrayAsync / cudaMemcpy2DToArrayAsync_ptsz(
        array: u64, x: usize, y: usize, from: u64, pitch: usize, width: usize, height: usize, kind: i32, stream: u64,
    ) {
        rows_to_array(InArray { array, x, y }, (from, pitch), [width, height], kind, Some(stream))
    }

    /// Copies rows from an array.
    fn cudaMemcpy2DFromArray / cudaMemcpy2DFromArray_ptds(
        to: u64, pitch: usize, array: u64, x: usize, y: usize, width: usize, height: usize, kind: i32,
    ) {
        rows_from_array((to, pitch), InArray { array, x, y }, [width, height], kind, None)
    }

    /// Copies rows from an array in the order of a stream.
    fn cudaMemcpy2DFromArrayAsync / cudaMemcpy2DFromArrayAsync_ptsz(
        to: u64, pitch: usize, array: u64, x: usize, y: usize, width: usize, height: usize, kind: i32, stream: u64,
    ) {
        rows_from_array((to, pitch), InArray { array, x, y }, [width, height], kind, Some(stream))
    }

    /// Copies rows from an array to another.
    fn cudaMemcpy2DArrayToArray / cudaMemcpy2DArrayToArray_ptds(
        to: u64, to_x: usize, to_y: usize, from: u64, from_x: usize, from_y: usize, width: usize, height: usize, kind: i32,
    ) {
        let to = InArray { array: to, x: to_x, y: to_y };
        rows_between_arrays(to, InArray { array: from, x: from_x, y: from_y }, width, height, kind)
    }

    /// Copies bytes to an array.
    fn cudaMemcpyToArray / cudaMemcpyToArray_ptds(array: u64, x: usize, y: usize, from: u64, bytes: usize, kind: i32) {
        bytes_to_array(InArray { array, x, y }, from, bytes, kind, None)
    }

    /// Copies bytes to an array in the order of a stream.
    fn cudaMemcpyToArrayAsync / cudaMemcpyToArrayAsync_ptsz(
        array: u64, x: usize, y: usize, from: u64, bytes: usize, kind: i32, stream: u64,
    ) {
        bytes_to_array(InArray { array, x, y }, from, bytes, kind, Some(stream))
    }

    /// Copies bytes from an array.
    fn cudaMemcpyFromArray / cudaMemcpyFromArray_ptds(to: u64, array: u64, x: usize, y: usize, bytes: usize, kind: i32) {
        bytes_from_array(to, InArray { array, x, y }, bytes, kind, None)
    }

    /// Copies bytes from an array in the order of a stream.
    fn cudaMemcpyFromArrayAsync / cudaMemcpyFromArrayAsync_ptsz(
        to: u64, array: u64, x: usize, y: usize, bytes: usize, kind: i32, stream: u64,
    ) {
        bytes_from_array(to, InArray { array, x, y }, bytes, kind, Some(stream))
    }

    /// Copies bytes from an array to another.
    fn cudaMemcpyArrayToArray / cudaMemcpyArrayToArray_ptds(
        to: u64, to_x: usize, to_y: usize, from: u64, from_x: usize, from_y: usize, bytes: usize, kind: i32,
    ) {
        let to = InArray { array: to, x: to_x, y: to_y };
        bytes_between_arrays(to, InArray { array: from, x: from_x, y: from_y }, bytes, kind)
    }
}
