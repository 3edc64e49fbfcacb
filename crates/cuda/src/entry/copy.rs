//! Copies and fills (driver API: "Memory Management": `cuMemcpy*`, `cuMemset*`).

use super::memory::second_for;
use crate::code::Done;
use crate::context::Context;
use crate::driver::Driver;
use crate::driver::capture::Status;
use crate::driver::transfer::{Copy, Fill, Side, Wanted};
use crate::driver::work::Work;
use crate::ffi::Host;
use crate::handle::Handle;
use crate::stream::Stream;
use std::sync::Arc;

/// When a copy is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum When {
    /// Before the call returns.
    Now,
    /// In the order of a stream.
    InOrder(Handle<Stream>),
}

pub(crate) fn copy(to: (u64, Wanted), from: (u64, Wanted), bytes: usize, when: When) -> Done {
    let handle = match when {
        When::Now => Handle::NULL,
        When::InOrder(stream) => stream,
    };
    let (driver, context) = second_for(handle)?;
    let stream = driver.stream(&context, handle)?;
    let result = copy_in(driver, &context, &stream, to, from, bytes, when);
    result.inspect_err(|_| driver.captures.invalidate(stream.id))
}

fn copy_in(
    driver: &'static Driver,
    context: &Context,
    stream: &Arc<Stream>,
    to: (u64, Wanted),
    from: (u64, Wanted),
    bytes: usize,
    when: When,
) -> Done {
    if bytes == 0 {
        return Ok(());
    }
    let to = Side::of(driver, to.0, bytes as u64, to.1)?;
    let from = Side::of(driver, from.0, bytes as u64, from.1)?;
    let waits = when == When::Now || matches!((to, from), (Side::Pageable(_), _));
    // What is pageable may change once the call returns.
    let mut copy = Copy { to, from, bytes: bytes as u64, kept: None };
    if let (When::InOrder(_), Side::Pageable(address)) = (when, from)
        && driver.is_later(context, stream)
        && driver.captures.status(stream.id) == Status::None
    {
        // SAFETY: the program says that it has this number of bytes at the address.
        copy.kept = Some(unsafe { Host::at(address).read(bytes, |bytes| Arc::from(bytes)) });
    }
    issue(driver, context, stream, when == When::Now, waits, Work::Copy(copy))
}

/// Gives work to a stream and waits for it if it must be done when the call returns. A call that returns only then
/// cannot be captured.
pub(crate) fn issue(
    driver: &'static Driver,
    context: &Context,
    stream: &Arc<Stream>,
    is_now: bool,
    waits: bool,
    work: Work,
) -> Done {
    if is_now {
        driver.captures.forbid_stream(stream.id)?;
    }
    let is_captured = driver.captures.status(stream.id) != Status::None;
    driver.issue(context, stream, work)?;
    if waits && !is_captured {
        driver.finish(std::slice::from_ref(stream));
        driver.check_fault()?;
    }
    Ok(())
}

fn fill(fill: Fill, when: When) -> Done {
    let handle = match when {
        When::Now => Handle::NULL,
        When::InOrder(stream) => stream,
    };
    let (driver, context) = second_for(handle)?;
    let stream = driver.stream(&context, handle)?;
    match fill.check(driver) {
        Ok(true) => issue(driver, &context, &stream, when == When::Now, false, Work::Fill(fill)),
        Ok(false) => Ok(()),
        Err(code) => {
            driver.captures.invalidate(stream.id);
            Err(code)
        }
    }
}

fn line(address: u64, element: u64, value: u32, count: usize) -> Fill {
    Fill { address, pitch: 0, element, value, width: count as u64, height: 1 }
}

use When::{InOrder, Now};

crate::entries! {
    /// Copies between any two places.
    fn cuMemcpy / cuMemcpy_ptds(to: u64, from: u64, bytes: usize) {
        copy((to, Wanted::Any), (from, Wanted::Any), bytes, Now)
    }

    /// Copies between any two places, in the order of a stream.
    fn cuMemcpyAsync / cuMemcpyAsync_ptsz(to: u64, from: u64, bytes: usize, stream: Handle<Stream>) {
        copy((to, Wanted::Any), (from, Wanted::Any), bytes, InOrder(stream))
    }

    /// Copies from the host to the device.
    fn cuMemcpyHtoD_v2 / cuMemcpyHtoD_v2_ptds(to: u64, from: Host, bytes: usize) {
        copy((to, Wanted::Device), (from.address(), Wanted::Any), bytes, Now)
    }

    /// Copies from the host to the device, in the order of a stream.
    fn cuMemcpyHtoDAsync_v2 / cuMemcpyHtoDAsync_v2_ptsz(to: u64, from: Host, bytes: usize, stream: Handle<Stream>) {
        copy((to, Wanted::Device), (from.address(), Wanted::Any), bytes, InOrder(stream))
    }

    /// Copies from the device to the host.
    fn cuMemcpyDtoH_v2 / cuMemcpyDtoH_v2_ptds(to: Host, from: u64, bytes: usize) {
        copy((to.address(), Wanted::Any), (from, Wanted::Device), bytes, Now)
    }

    /// Copies from the device to the host, in the order of a stream.
    fn cuMemcpyDtoHAsync_v2 / cuMemcpyDtoHAsync_v2_ptsz(to: Host, from: u64, bytes: usize, stream: Handle<Stream>) {
        copy((to.address(), Wanted::Any), (from, Wanted::Device), bytes, InOrder(stream))
    }

    /// Copies within the device.
    fn cuMemcpyDtoD_v2 / cuMemcpyDtoD_v2_ptds(to: u64, from: u64, bytes: usize) {
        copy((to, Wanted::Device), (from, Wanted::Device), bytes, InOrder(Handle::NULL))
    }

    /// Copies within the device, in the order of a stream.
    fn cuMemcpyDtoDAsync_v2 / cuMemcpyDtoDAsync_v2_ptsz(to: u64, from: u64, bytes: usize, stream: Handle<Stream>) {
        copy((to, Wanted::Device), (from, Wanted::Device), bytes, InOrder(stream))
    }

    /// Fills bytes.
    fn cuMemsetD8_v2 / cuMemsetD8_v2_ptds(to: u64, value: u32, count: usize) {
        fill(line(to, 1, value & 0xff, count), Now)
    }

    /// Fills 16-bit elements.
    fn cuMemsetD16_v2 / cuMemsetD16_v2_ptds(to: u64, value: u32, count: usize) {
        fill(line(to, 2, value & 0xffff, count), Now)
    }

    /// Fills 32-bit elements.
    fn cuMemsetD32_v2 / cuMemsetD32_v2_ptds(to: u64, value: u32, count: usize) {
        fill(line(to, 4, value, count), Now)
    }

    /// Fills bytes, in the order of a stream.
    fn cuMemsetD8Async / cuMemsetD8Async_ptsz(to: u64, value: u32, count: usize, stream: Handle<Stream>) {
        fill(line(to, 1, value & 0xff, count), InOrder(stream))
    }

    /// Fills 16-bit elements, in the order of a stream.
    fn cuMemsetD16Async / cuMemsetD16Async_ptsz(to: u64, value: u32, count: usize, stream: Handle<Stream>) {
        fill(line(to, 2, value & 0xffff, count), InOrder(stream))
    }

    /// Fills 32-bit elements, in the order of a stream.
    fn cuMemsetD32Async / cuMemsetD32Async_ptsz(to: u64, value: u32, count: usize, stream: Handle<Stream>) {
        fill(line(to, 4, value, count), InOrder(stream))
    }

    /// Fills rows of bytes.
    fn cuMemsetD2D8_v2 / cuMemsetD2D8_v2_ptds(to: u64, pitch: usize, value: u32, width: usize, height: usize) {
        fill(rows(to, pitch, 1, value & 0xff, width, height), Now)
    }

    /// Fills rows of 16-bit elements.
    fn cuMemsetD2D16_v2 / cuMemsetD2D16_v2_ptds(to: u64, pitch: usize, value: u32, width: usize, height: usize) {
        fill(rows(to, pitch, 2, value & 0xffff, width, height), Now)
    }

    /// Fills rows of 32-bit elements.
    fn cuMemsetD2D32_v2 / cuMemsetD2D32_v2_ptds(to: u64, pitch: usize, value: u32, width: usize, height: usize) {
        fill(rows(to, pitch, 4, value, width, height), Now)
    }

    /// Fills rows of bytes, in the order of a stream.
    fn cuMemsetD2D8Async / cuMemsetD2D8Async_ptsz(
        to: u64, pitch: usize, value: u32, width: usize, height: usize, stream: Handle<Stream>,
    ) {
        fill(rows(to, pitch, 1, value & 0xff, width, height), InOrder(stream))
    }

    /// Fills rows of 16-bit elements, in the order of a stream.
    fn cuMemsetD2D16Async / cuMemsetD2D16Async_ptsz(
        to: u64, pitch: usize, value: u32, width: usize, height: usize, stream: Handle<Stream>,
    ) {
        fill(rows(to, pitch, 2, value & 0xffff, width, height), InOrder(stream))
    }

    /// Fills rows of 32-bit elements, in the order of a stream.
    fn cuMemsetD2D32Async / cuMemsetD2D32Async_ptsz(
        to: u64, pitch: usize, value: u32, width: usize, height: usize, stream: Handle<Stream>,
    ) {
        fill(rows(to, pitch, 4, value, width, height), InOrder(stream))
    }
}

fn rows(address: u64, pitch: usize, element: u64, value: u32, width: usize, height: usize) -> Fill {
    Fill { address, pitch: pitch as u64, element, value, width: width as u64, height: height as u64 }
}
