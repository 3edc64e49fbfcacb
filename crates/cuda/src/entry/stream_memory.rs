//! Writes of values and waits for values in the order of streams (driver API: "Stream Memory Operations").

use super::stream::of;
use crate::code::{Code, Done, ensure};
use crate::driver::Driver;
use crate::driver::capture::Status;
use crate::driver::memory_operation::{Batch, Operation, Step, Value};
use crate::driver::work::Work;
use crate::ffi::In;
use crate::handle::Handle;
use crate::stream::Stream;
use std::sync::Arc;

/// Gives operations to a stream. A wait for what is there already is not given to a stream that has nothing to do.
fn issue(stream: Handle<Stream>, batch: impl FnOnce(&Driver, u64) -> Result<Batch, Code>) -> Done {
    let (driver, context, stream) = of(stream)?;
    let batch = batch(driver, context.handle)?;
    let is_captured = driver.captures.status(stream.id) != Status::None;
    if !is_captured && stream.pending().is_none() && batch.is_over(driver)? {
        return Ok(());
    }
    driver.issue(&context, &stream, Work::Memory(Arc::new(batch)))
}

fn write_value(stream: Handle<Stream>, value: Value) -> Done {
    issue(stream, |driver, context| Batch::single(driver, context, Step::Write(value)))
}

fn wait_value(stream: Handle<Stream>, value: Value) -> Done {
    issue(stream, |driver, context| Batch::single(driver, context, Step::Wait(value)))
}

fn batch(stream: Handle<Stream>, count: u32, operations: In<Operation>, flags: u32) -> Done {
    issue(stream, |driver, context| {
        ensure(flags == 0 && count <= 256, Code::INVALID_VALUE)?;
        Batch::of(driver, context, operations.all(count as usize)?)
    })
}

/// A number of 32 bits in memory.
fn narrow(address: u64, bits: u32, flags: u32) -> Value {
    Value { address, bits: bits.into(), bytes: 4, flags }
}

crate::entries! {
    /// Lets a stream wait for a number in memory.
    fn cuStreamWaitValue32 / cuStreamWaitValue32_ptsz(stream: Handle<Stream>, address: u64, bits: u32, flags: u32) {
        wait_value(stream, narrow(address, bits, flags))
    }

    /// Lets a stream wait for a number in memory.
    fn cuStreamWaitValue32_v2 / cuStreamWaitValue32_v2_ptsz(
        stream: Handle<Stream>, address: u64, bits: u32, flags: u32,
    ) {
        wait_value(stream, narrow(address, bits, flags))
    }

    /// Lets a stream wait for a number of 64 bits in memory.
    fn cuStreamWaitValue64 / cuStreamWaitValue64_ptsz(stream: Handle<Stream>, address: u64, bits: u64, flags: u32) {
        wait_value(stream, Value { address, bits, bytes: 8, flags })
    }

    /// Lets a stream wait for a number of 64 bits in memory.
    fn cuStreamWaitValue64_v2 / cuStreamWaitValue64_v2_ptsz(
        stream: Handle<Stream>, address: u64, bits: u64, flags: u32,
    ) {
        wait_value(stream, Value { address, bits, bytes: 8, flags })
    }

    /// Writes a number to memory, in the order of a stream.
    fn cuStreamWriteValue32 / cuStreamWriteValue32_ptsz(stream: Handle<Stream>, address: u64, bits: u32, flags: u32) {
        write_value(stream, narrow(address, bits, flags))
    }

    /// Writes a number to memory, in the order of a stream.
    fn cuStreamWriteValue32_v2 / cuStreamWriteValue32_v2_ptsz(
        stream: Handle<Stream>, address: u64, bits: u32, flags: u32,
    ) {
        write_value(stream, narrow(address, bits, flags))
    }

    /// Writes a number of 64 bits to memory, in the order of a stream.
    fn cuStreamWriteValue64 / cuStreamWriteValue64_ptsz(stream: Handle<Stream>, address: u64, bits: u64, flags: u32) {
        write_value(stream, Value { address, bits, bytes: 8, flags })
    }

    /// Writes a number of 64 bits to memory, in the order of a stream.
    fn cuStreamWriteValue64_v2 / cuStreamWriteValue64_v2_ptsz(
        stream: Handle<Stream>, address: u64, bits: u64, flags: u32,
    ) {
        write_value(stream, Value { address, bits, bytes: 8, flags })
    }

    /// Several writes and waits.
    fn cuStreamBatchMemOp / cuStreamBatchMemOp_ptsz(
        stream: Handle<Stream>, count: u32, operations: In<Operation>, flags: u32,
    ) {
        batch(stream, count, operations, flags)
    }

    /// Several writes and waits.
    fn cuStreamBatchMemOp_v2 / cuStreamBatchMemOp_v2_ptsz(
        stream: Handle<Stream>, count: u32, operations: In<Operation>, flags: u32,
    ) {
        batch(stream, count, operations, flags)
    }
}
