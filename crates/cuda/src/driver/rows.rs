//! Copies of rows and planes, in memory or in arrays.

use super::Driver;
use super::region::{Place, Region};
use super::transfer::{Side, Wanted};
use crate::c_struct;
use crate::code::{Code, ensure};
use crate::context::Context;
use crate::ffi::Host;
use crate::handle::Handle;
use crate::image::Array;

c_struct! {
    /// A side of `CUDA_MEMCPY3D` and `CUDA_MEMCPY3D_PEER`.
    Side3D {
        x: usize,
        y: usize,
        z: usize,
        level: usize,
        kind: u32,
        padding: u32,
        host: Host,
        device: u64,
        array: Handle<Array>,
        context: Handle<Context>,
        pitch: usize,
        height: usize,
    }
}

c_struct! {
    /// `CUDA_MEMCPY3D` and `CUDA_MEMCPY3D_PEER`
    Copy3D {
        from: Side3D,
        to: Side3D,
        width: usize,
        height: usize,
        depth: usize,
    }
}

/// `CUmemorytype` values.
pub(crate) mod kind {
    pub const HOST: u32 = 1;
    pub const DEVICE: u32 = 2;
    pub const ARRAY: u32 = 3;
    pub const UNIFIED: u32 = 4;
}

/// A side that is a row of memory.
pub(crate) fn row_of(kind: u32, address: u64) -> Side3D {
    Side3D { kind, host: Host::at(address), device: address, ..row_of_array(Handle::NULL, 0) }
}

/// A side that is a row of an array, from a byte of it on.
pub(crate) fn row_of_array(array: Handle<Array>, x: usize) -> Side3D {
    let (host, context, kind) = (Host::at(0), Handle::NULL, kind::ARRAY);
    let level = 0;
    Side3D { x, y: 0, z: 0, level, kind, padding: 0, host, device: 0, array, context, pitch: 0, height: 0 }
}

/// Where a side is, if a copy of an extent fits there.
fn place(driver: &Driver, side: &Side3D, extent: [u64; 3]) -> Result<Place, Code> {
    let [width, height, depth] = extent;
    let origin = [side.x as u64, side.y as u64, side.z as u64];
    let end = |dimension: usize| origin[dimension].checked_add(extent[dimension]).ok_or(Code::INVALID_VALUE);
    if side.kind == kind::ARRAY {
        ensure(!side.array.is_null() && side.level == 0, Code::INVALID_VALUE)?;
        let array = driver.images.array(side.array)?;
        let (texels, level) = (array.texels.clone(), array.level);
        let size = texels.description.level_size(level);
        let row = u64::from(size[0]) * u64::from(texels.description.format.bytes());
        let most = [row, size[1].into(), texels.description.slices(level)];
        for (dimension, most) in most.into_iter().enumerate() {
            ensure(end(dimension)? <= most, Code::INVALID_VALUE)?;
        }
        return Ok(Place::Array { texels, level, origin });
    }
    let (address, wanted) = match side.kind {
        kind::HOST => (side.host.address(), Wanted::Any),
        kind::DEVICE => (side.device, Wanted::Device),
        kind::UNIFIED => (side.device, Wanted::Any),
        _ => return Err(Code::INVALID_VALUE),
    };
    ensure(address != 0, Code::INVALID_VALUE)?;
    // A pitch or a height of 0 means that there are no gaps.
    let pitch = if side.pitch == 0 { end(0)? } else { side.pitch as u64 };
    let rows = if side.height == 0 { end(1)? } else { side.height as u64 };
    ensure(end(0)? <= pitch && end(1)? <= rows, Code::INVALID_VALUE)?;
    let reach = |z: u64, y: u64| {
        let line = z.checked_mul(rows)?.checked_add(y)?;
        line.checked_mul(pitch)
    };
    let first = reach(origin[2], origin[1]).and_then(|at| at.checked_add(origin[0]));
    let first = first.ok_or(Code::INVALID_VALUE)?;
    let bytes =
        reach(depth - 1, height - 1).and_then(|at| at.checked_add(width)).ok_or(Code::INVALID_VALUE)?;
    let start = address.checked_add(first).ok_or(Code::INVALID_VALUE)?;
    let is_known = matches!(Side::of(driver, start, bytes, wanted)?, Side::Known(_));
    let slice = pitch.checked_mul(rows).ok_or(Code::INVALID_VALUE)?;
    Ok(Place::Memory { is_known, start, pitch, slice })
}

/// A copy of rows that was checked, and as it was asked for.
#[derive(Debug)]
pub struct Rows {
    /// What is copied.
    pub(crate) region: Region,
    /// What was asked for.
    pub(crate) asked: Copy3D,
}

impl Rows {
    /// Checks a copy of an extent that is not empty.
    pub(crate) fn checked(driver: &Driver, asked: Copy3D) -> Result<Rows, Code> {
        let extent = [asked.width as u64, asked.height as u64, asked.depth as u64];
        ensure(!extent.contains(&0), Code::INVALID_VALUE)?;
        let (to, from) = (place(driver, &asked.to, extent)?, place(driver, &asked.from, extent)?);
        Ok(Rows { region: Region { to, from, extent }, asked })
    }
}

impl Copy3D {
    /// A copy of bytes that follow one another.
    pub(crate) fn of_bytes(to: Side, from: Side, bytes: u64) -> Copy3D {
        let side = |side| match side {
            Side::Known(address) => row_of(kind::DEVICE, address),
            Side::Pageable(address) => row_of(kind::HOST, address),
        };
        Copy3D { from: side(from), to: side(to), width: bytes as usize, height: 1, depth: 1 }
    }
}
