//! Writes of values and waits for values in the order of streams (driver API: "Stream Memory Operations").

use super::stream::of;
use crate::code::{Code, Done, ensure};
use crate::driver::Driver;
use crate::ffi::In;
use crate::handle::Handle;
use crate::stream::Stream;
use std::time::Duration;

/// `CUstreamWaitValue_flags`: what is compared, and whether writes of other devices are flushed before.
mod wait {
    pub const AT_LEAST: u32 = 0;
    pub const EQUAL: u32 = 1;
    pub const AND: u32 = 2;
    pub const NOR: u32 = 3;
    pub const FLUSH: u32 = 1 << 30;
}

/// `CUstreamBatchMemOpType` values.
mod operation {
    pub const WAIT_32: u32 = 1;
    pub const WRITE_32: u32 = 2;
    pub const FLUSH: u32 = 3;
    pub const WAIT_64: u32 = 4;
    pub const WRITE_64: u32 = 5;
    pub const BARRIER: u32 = 6;
}

/// How often memory is looked at.
const PERIOD: Duration = Duration::from_micros(50);

/// A value in memory.
#[derive(Clone, Copy, Debug)]
struct Value {
    address: u64,
    bits: u64,
    /// 4 or 8.
    bytes: u64,
    flags: u32,
}

impl Value {
    /// The number at the address.
    fn now(&self, driver: &Driver) -> Result<u64, Code> {
        let mut bytes = [0; 8];
        let part = &mut bytes[..self.bytes as usize];
        driver.machine.read(self.address, part).map_err(|_| Code::INVALID_VALUE)?;
        Ok(u64::from_le_bytes(bytes))
    }

    /// Whether what is at the address is what is waited for.
    fn is_reached(&self, driver: &Driver) -> Result<bool, Code> {
        let (now, wanted) = (self.now(driver)?, self.bits);
        // The difference counts, so that numbers can begin again.
        let at_least = match self.bytes {
            4 => (now as u32).wrapping_sub(wanted as u32) as i32 >= 0,
            _ => now.wrapping_sub(wanted) as i64 >= 0,
        };
        Ok(match self.flags & !wait::FLUSH {
            wait::AT_LEAST => at_least,
            wait::EQUAL => now == wanted,
            wait::AND => now & wanted != 0,
            _ => !(now | wanted) & (u64::MAX >> (64 - 8 * self.bytes)) != 0,
        })
    }

    fn check(&self, driver: &Driver) -> Done {
        ensure(self.address != 0 && self.address.is_multiple_of(self.bytes), Code::INVALID_VALUE)?;
        let block = driver.block(self.address).ok_or(Code::INVALID_VALUE)?;
        ensure(block.holds(self.address, self.bytes), Code::INVALID_VALUE)
    }
}

fn write_value(stream: Handle<Stream>, value: Value) -> Done {
    let (driver, context, stream) = of(stream)?;
    // The only flag is that other writes need not come before.
    ensure(value.flags <= 1, Code::INVALID_VALUE)?;
    value.check(driver)?;
    driver.submit(&context, &stream, false, move || {
        let bytes = value.bits.to_le_bytes();
        let part = &bytes[..value.bytes as usize];
        driver.machine.write(value.address, part).map_err(|_| Code::INVALID_VALUE)
    })
}

fn wait_value(stream: Handle<Stream>, value: Value) -> Done {
    let (driver, context, stream) = of(stream)?;
    ensure(value.flags & !wait::FLUSH <= wait::NOR, Code::INVALID_VALUE)?;
    value.check(driver)?;
    if stream.pending().is_none() && value.is_reached(driver)? {
        return Ok(());
    }
    driver.submit(&context, &stream, true, move || {
        while driver.fault().is_none() && !value.is_reached(driver)? {
            std::thread::sleep(PERIOD);
        }
        Ok(())
    })
}

/// Six words of `CUstreamBatchMemOpParams`.
type Operation = [u64; 6];

fn batch(stream: Handle<Stream>, count: u32, operations: In<Operation>, flags: u32) -> Done {
    of(stream)?;
    ensure(flags == 0 && count <= 256, Code::INVALID_VALUE)?;
    for [kind, address, bits, flags, ..] in operations.all(count as usize)? {
        let value = |bytes: u64| {
            let bits = if bytes == 4 { bits & u64::from(u32::MAX) } else { bits };
            Value { address, bits, bytes, flags: flags as u32 }
        };
        match kind as u32 {
            operation::WAIT_32 => wait_value(stream, value(4))?,
            operation::WAIT_64 => wait_value(stream, value(8))?,
            operation::WRITE_32 => write_value(stream, value(4))?,
            operation::WRITE_64 => write_value(stream, value(8))?,
            operation::FLUSH | operation::BARRIER => {}
            _ => return Err(Code::NOT_SUPPORTED),
        }
    }
    Ok(())
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
