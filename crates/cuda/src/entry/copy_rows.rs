//! Copies of rows and planes, of arrays, and between devices (driver API: "Memory Management": `cuMemcpy2D*`,
//! `cuMemcpy3D*`, `cuMemcpy*A*`, `cuMemcpyPeer*`, `cuMemcpyBatch*`).

use super::copy::When::{InOrder, Now};
use super::copy::{When, copy, issue};
use super::memory::{second, second_for};
use crate::c_struct;
use crate::code::{Code, Done, ensure};
use crate::context::Context;
use crate::driver::Driver;
use crate::driver::capture::Status;
use crate::driver::rows::{Copy3D, Rows, Side3D, kind, row_of, row_of_array};
use crate::driver::transfer::Wanted;
use crate::driver::work::Work;
use crate::ffi::{Host, In, Out};
use crate::handle::Handle;
use crate::image::Array;
use crate::stream::Stream;
use std::sync::Arc;

c_struct! {
    /// A side of `CUDA_MEMCPY2D`.
    Side2D {
        x: usize,
        y: usize,
        kind: u32,
        padding: u32,
        host: Host,
        device: u64,
        array: Handle<Array>,
        pitch: usize,
    }
}

c_struct! {
    /// `CUDA_MEMCPY2D`
    Copy2D {
        from: Side2D,
        to: Side2D,
        width: usize,
        height: usize,
    }
}

impl From<Side2D> for Side3D {
    fn from(it: Side2D) -> Side3D {
        let Side2D { x, y, kind, host, device, array, pitch, .. } = it;
        let context = Handle::NULL;
        Side3D { x, y, z: 0, level: 0, kind, padding: 0, host, device, array, context, pitch, height: 0 }
    }
}

impl From<Copy2D> for Copy3D {
    fn from(it: Copy2D) -> Copy3D {
        Copy3D { from: it.from.into(), to: it.to.into(), width: it.width, height: it.height, depth: 1 }
    }
}

fn copy_region(asked: Copy3D, when: When) -> Done {
    let handle = match when {
        Now => Handle::NULL,
        InOrder(stream) => stream,
    };
    let (driver, context) = second_for(handle)?;
    let stream = driver.stream(&context, handle)?;
    if [asked.width, asked.height, asked.depth].contains(&0) {
        return Ok(());
    }
    let rows = Rows::checked(driver, asked).inspect_err(|_| driver.captures.invalidate(stream.id))?;
    let Rows { region, asked } = rows;
    // What is pageable may change once the call returns.
    let must_keep = when != Now
        && region.from.is_pageable()
        && driver.is_later(&context, &stream)
        && driver.captures.status(stream.id) == Status::None;
    let waits = region.to.is_pageable() || when == Now && region.from.is_pageable();
    let region = if must_keep && !waits { region.keep_source(driver)? } else { region };
    let work = Work::Rows(Arc::new(Rows { region, asked }));
    issue(driver, &context, &stream, when == Now, waits, work)
}

fn copy_2d(asked: In<Copy2D>, when: When) -> Done {
    second()?;
    copy_region(asked.get()?.into(), when)
}

fn copy_3d(asked: In<Copy3D>, when: When) -> Done {
    second()?;
    copy_region(asked.get()?, when)
}

/// Copies a part of a row.
fn copy_row(to: Side3D, from: Side3D, bytes: usize, when: When) -> Done {
    copy_region(Copy3D { from, to, width: bytes, height: 1, depth: 1 }, when)
}

/// A context of a copy between devices: null is the current one.
fn check_context(driver: &Driver, context: Handle<Context>) -> Done {
    if context.is_null() {
        return Ok(());
    }
    driver.contexts.get(context).map(drop).map_err(|_| Code::INVALID_CONTEXT)
}

fn copy_peer(to: (u64, Handle<Context>), from: (u64, Handle<Context>), bytes: usize, when: When) -> Done {
    let (driver, _) = second()?;
    check_context(driver, to.1)?;
    check_context(driver, from.1)?;
    copy((to.0, Wanted::Device), (from.0, Wanted::Device), bytes, when)
}

fn copy_3d_peer(asked: In<Copy3D>, when: When) -> Done {
    let (driver, _) = second()?;
    let copy = asked.get()?;
    check_context(driver, copy.from.context)?;
    check_context(driver, copy.to.context)?;
    copy_region(copy, when)
}

/// Copies that are in no order among each other.
pub(crate) fn copy_batch(
    to: In<u64>,
    from: In<u64>,
    sizes: In<usize>,
    count: usize,
    failed: Out<usize>,
    stream: Handle<Stream>,
) -> Done {
    second()?;
    ensure(count != 0 && !to.is_null() && !from.is_null() && !sizes.is_null(), Code::INVALID_VALUE)?;
    // The null stream takes no batches.
    ensure(!stream.is_null(), Code::INVALID_VALUE)?;
    for index in 0..count {
        let (to, from) = (to.get_at(index)?, from.get_at(index)?);
        copy((to, Wanted::Any), (from, Wanted::Any), sizes.get_at(index)?, InOrder(stream))
            .inspect_err(|_| failed.set_if_any(index))?;
    }
    Ok(())
}

crate::entries! {
    /// Copies rows.
    fn cuMemcpy2D_v2 / cuMemcpy2D_v2_ptds(asked: In<Copy2D>) {
        copy_2d(asked, Now)
    }

    /// Copies rows.
    fn cuMemcpy2DUnaligned_v2 / cuMemcpy2DUnaligned_v2_ptds(asked: In<Copy2D>) {
        copy_2d(asked, Now)
    }

    /// Copies rows, in the order of a stream.
    fn cuMemcpy2DAsync_v2 / cuMemcpy2DAsync_v2_ptsz(asked: In<Copy2D>, stream: Handle<Stream>) {
        copy_2d(asked, InOrder(stream))
    }

    /// Copies planes.
    fn cuMemcpy3D_v2 / cuMemcpy3D_v2_ptds(asked: In<Copy3D>) {
        copy_3d(asked, Now)
    }

    /// Copies planes, in the order of a stream.
    fn cuMemcpy3DAsync_v2 / cuMemcpy3DAsync_v2_ptsz(asked: In<Copy3D>, stream: Handle<Stream>) {
        copy_3d(asked, InOrder(stream))
    }

    /// Copies planes between contexts.
    fn cuMemcpy3DPeer / cuMemcpy3DPeer_ptds(asked: In<Copy3D>) {
        copy_3d_peer(asked, Now)
    }

    /// Copies planes between contexts, in the order of a stream.
    fn cuMemcpy3DPeerAsync / cuMemcpy3DPeerAsync_ptsz(asked: In<Copy3D>, stream: Handle<Stream>) {
        copy_3d_peer(asked, InOrder(stream))
    }

    /// Copies between contexts.
    fn cuMemcpyPeer / cuMemcpyPeer_ptds(
        to: u64, to_context: Handle<Context>, from: u64, from_context: Handle<Context>, bytes: usize,
    ) {
        copy_peer((to, to_context), (from, from_context), bytes, InOrder(Handle::NULL))
    }

    /// Copies between contexts, in the order of a stream.
    fn cuMemcpyPeerAsync / cuMemcpyPeerAsync_ptsz(
        to: u64, to_context: Handle<Context>, from: u64, from_context: Handle<Context>, bytes: usize,
        stream: Handle<Stream>,
    ) {
        copy_peer((to, to_context), (from, from_context), bytes, InOrder(stream))
    }

    /// Many copies, in the order of a stream.
    fn cuMemcpyBatchAsync / cuMemcpyBatchAsync_ptsz(
        to: In<u64>, from: In<u64>, sizes: In<usize>, count: usize, _attributes: In<u8>, _indices: In<usize>,
        _attribute_count: usize, failed: Out<usize>, stream: Handle<Stream>,
    ) {
        copy_batch(to, from, sizes, count, failed, stream)
    }

    /// Many copies, in the order of a stream.
    fn cuMemcpyBatchAsync_v2 / cuMemcpyBatchAsync_v2_ptsz(
        to: In<u64>, from: In<u64>, sizes: In<usize>, count: usize, _attributes: In<u8>, _indices: In<usize>,
        _attribute_count: usize, stream: Handle<Stream>,
    ) {
        copy_batch(to, from, sizes, count, Out::NULL, stream)
    }

    /// Copies from the device to a row of an array.
    fn cuMemcpyDtoA_v2 / cuMemcpyDtoA_v2_ptds(to: Handle<Array>, offset: usize, from: u64, bytes: usize) {
        copy_row(row_of_array(to, offset), row_of(kind::DEVICE, from), bytes, Now)
    }

    /// Copies from a row of an array to the device.
    fn cuMemcpyAtoD_v2 / cuMemcpyAtoD_v2_ptds(to: u64, from: Handle<Array>, offset: usize, bytes: usize) {
        copy_row(row_of(kind::DEVICE, to), row_of_array(from, offset), bytes, Now)
    }

    /// Copies from the host to a row of an array.
    fn cuMemcpyHtoA_v2 / cuMemcpyHtoA_v2_ptds(to: Handle<Array>, offset: usize, from: Host, bytes: usize) {
        copy_row(row_of_array(to, offset), row_of(kind::HOST, from.address()), bytes, Now)
    }

    /// Copies from a row of an array to the host.
    fn cuMemcpyAtoH_v2 / cuMemcpyAtoH_v2_ptds(to: Host, from: Handle<Array>, offset: usize, bytes: usize) {
        copy_row(row_of(kind::HOST, to.address()), row_of_array(from, offset), bytes, Now)
    }

    /// Copies between rows of arrays.
    fn cuMemcpyAtoA_v2 / cuMemcpyAtoA_v2_ptds(
        to: Handle<Array>, to_offset: usize, from: Handle<Array>, from_offset: usize, bytes: usize,
    ) {
        copy_row(row_of_array(to, to_offset), row_of_array(from, from_offset), bytes, Now)
    }

    /// Copies from the host to a row of an array, in the order of a stream.
    fn cuMemcpyHtoAAsync_v2 / cuMemcpyHtoAAsync_v2_ptsz(
        to: Handle<Array>, offset: usize, from: Host, bytes: usize, stream: Handle<Stream>,
    ) {
        copy_row(row_of_array(to, offset), row_of(kind::HOST, from.address()), bytes, InOrder(stream))
    }

    /// Copies from a row of an array to the host, in the order of a stream.
    fn cuMemcpyAtoHAsync_v2 / cuMemcpyAtoHAsync_v2_ptsz(
        to: Host, from: Handle<Array>, offset: usize, bytes: usize, stream: Handle<Stream>,
    ) {
        copy_row(row_of(kind::HOST, to.address()), row_of_array(from, offset), bytes, InOrder(stream))
    }
}
