//! Attributes of addresses (driver API: "Unified Addressing").

use crate::code::{Code, ensure};
use crate::driver::{Driver, driver};
use crate::ffi::{In, Out};
use crate::memory::{Block, Kind};

/// `CUpointer_attribute` values.
mod attribute {
    pub const CONTEXT: u32 = 1;
    pub const MEMORY_TYPE: u32 = 2;
    pub const DEVICE_POINTER: u32 = 3;
    pub const HOST_POINTER: u32 = 4;
    pub const P2P_TOKENS: u32 = 5;
    pub const SYNC_MEMOPS: u32 = 6;
    pub const BUFFER_ID: u32 = 7;
    pub const IS_MANAGED: u32 = 8;
    pub const DEVICE_ORDINAL: u32 = 9;
    pub const LEGACY_IPC: u32 = 10;
    pub const RANGE_START: u32 = 11;
    pub const RANGE_SIZE: u32 = 12;
    pub const MAPPED: u32 = 13;
    pub const HANDLE_TYPES: u32 = 14;
    pub const GPU_DIRECT: u32 = 15;
    pub const ACCESS_FLAGS: u32 = 16;
    pub const MEMPOOL: u32 = 17;
    pub const MAPPING_SIZE: u32 = 18;
    pub const MAPPING_BASE: u32 = 19;
    pub const BLOCK_ID: u32 = 20;
    pub const DECOMPRESS: u32 = 21;
    /// Numbers from this on are no attributes.
    pub const END: u32 = 22;
}

/// The value of an attribute, and how many bytes it has: 1, 4 or 8. An error may come with a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Value {
    bits: u64,
    bytes: u32,
    error: Option<Code>,
}

const fn value(bits: u64, bytes: u32) -> Value {
    Value { bits, bytes, error: None }
}

/// An attribute of an address in an allocation.
fn of_block(block: &Block, address: u64, id: u32) -> Option<Value> {
    use attribute as a;
    let pool = block.pool().unwrap_or(0);
    let is_device = !matches!(block.kind, Kind::Pinned | Kind::PooledHost(_) | Kind::Registered);
    let is_linear = block.kind == Kind::Device;
    let mapping = match block.kind {
        Kind::Registered => block.bytes,
        Kind::Pooled(_) => crate::pool::RESERVED,
        _ => block.bytes.next_multiple_of(2 << 20),
    };
    Some(match id {
        a::CONTEXT => value(if pool != 0 { 0 } else { block.context }, 8),
        a::MEMORY_TYPE => value(if is_device { 2 } else { 1 }, 4),
        a::DEVICE_POINTER => value(address, 8),
        a::HOST_POINTER if block.is_host() => value(address, 8),
        a::HOST_POINTER => Value { error: Some(Code::INVALID_VALUE), ..value(0, 8) },
        a::P2P_TOKENS if is_device => value(block.id, 8),
        a::P2P_TOKENS => Value { error: Some(Code::INVALID_VALUE), ..value(block.id, 8) },
        a::SYNC_MEMOPS => value(u64::from(is_device), 4),
        a::BUFFER_ID | a::BLOCK_ID => value(block.id, 8),
        a::IS_MANAGED => value(u64::from(block.is_managed()), 4),
        a::DEVICE_ORDINAL => value(block.device.into(), 4),
        a::LEGACY_IPC | a::GPU_DIRECT => value(u64::from(is_linear), 4),
        a::RANGE_START => value(block.base, 8),
        a::RANGE_SIZE => value(block.bytes, 8),
        a::MAPPED => value(1, 4),
        a::HANDLE_TYPES => value(0, 8),
        a::ACCESS_FLAGS => value(3, 4),
        a::MEMPOOL => value(pool, 8),
        a::MAPPING_SIZE => value(mapping, 8),
        a::MAPPING_BASE => value(block.base, 8),
        a::DECOMPRESS => value(0, 1),
        _ => return None,
    })
}

/// An attribute of an address that is in no allocation.
fn of_nothing(id: u32) -> Option<Value> {
    match id {
        attribute::DEVICE_ORDINAL => Some(value(-2i32 as u32 as u64, 4)),
        0 | attribute::END.. => None,
        id => of_block(&NOTHING, 0, id).map(|it| value(0, it.bytes)),
    }
}

const NOTHING: Block =
    Block { base: 0, bytes: 0, kind: Kind::Device, flags: 0, context: 0, device: 0, id: 0 };

fn write(to: Out<u64>, Value { bits, bytes, .. }: Value) {
    match bytes {
        8 => to.set_if_any(bits),
        4 => to.first_half().set_if_any(bits as u32),
        _ => to.first_byte().set_if_any(bits as u8),
    }
}

fn known(driver: &Driver, address: u64) -> Result<Block, Code> {
    driver.block(address).ok_or(Code::INVALID_VALUE)
}

crate::entries! {
    /// An attribute of an address. An address that is not known is an error.
    fn cuPointerGetAttribute(to: Out<u64>, id: u32, address: u64) {
        let driver = driver()?;
        to.required()?;
        ensure(id != 0 && id < attribute::END, Code::INVALID_VALUE)?;
        let found = of_block(&known(driver, address)?, address, id).ok_or(Code::INVALID_VALUE)?;
        write(to, found);
        found.error.map_or(Ok(()), Err)
    }

    /// Attributes of an address. For an address that is not known they are zero.
    fn cuPointerGetAttributes(count: u32, ids: In<u32>, to: In<Out<u64>>, address: u64) {
        let driver = driver()?;
        ensure(count != 0 && !ids.is_null() && !to.is_null(), Code::INVALID_VALUE)?;
        let ids = ids.all(count as usize)?;
        ensure(ids.iter().all(|id| (1..attribute::END).contains(id)), Code::INVALID_VALUE)?;
        let block = driver.block(address);
        for (index, &id) in ids.iter().enumerate() {
            let found = match &block {
                Some(block) => of_block(block, address, id),
                None => of_nothing(id),
            };
            write(to.get_at(index)?, found.ok_or(Code::INVALID_VALUE)?);
        }
        Ok(())
    }

    /// Sets an attribute of an address: only whether copies are synchronous, which they are.
    fn cuPointerSetAttribute(value: In<u32>, id: u32, address: u64) {
        let driver = driver()?;
        ensure(!value.is_null() && id == attribute::SYNC_MEMOPS, Code::INVALID_VALUE)?;
        known(driver, address).map(drop)
    }
}
