//! Virtual memory (driver API: "Virtual Memory Management"): arguments are checked, and what would map memory is
//! refused.

use super::pool::Location;
use crate::c_struct;
use crate::code::{Code, ensure};
use crate::driver::driver;
use crate::ffi::{In, Out};
use crate::symbols::not_supported;

c_struct! {
    /// `CUmemAllocationProp`
    Properties {
        kind: u32,
        handles: u32,
        location: Location,
        security: u64,
        flags: u64,
    }
}

/// Memory is mapped in pieces of this many bytes.
const PIECE: u64 = 2 << 20;

/// `CU_MEM_ALLOCATION_TYPE_PINNED`
const PINNED: u32 = 1;

crate::entries! {
    /// The size of pieces that memory is mapped in.
    fn cuMemGetAllocationGranularity(to: Out<usize>, properties: In<Properties>, option: u32) {
        driver()?;
        to.required()?;
        let properties = properties.get()?;
        ensure(option <= 1 && properties.kind == PINNED, Code::INVALID_VALUE)?;
        to.set(PIECE as usize)
    }

    /// Reserves addresses.
    fn cuMemAddressReserve(to: Out<u64>, bytes: usize, alignment: usize, _address: u64, flags: u64) {
        driver()?;
        to.required()?;
        ensure(bytes != 0 && (bytes as u64).is_multiple_of(PIECE), Code::INVALID_VALUE)?;
        ensure(alignment == 0 || alignment.is_power_of_two(), Code::INVALID_VALUE)?;
        ensure(flags == 0, Code::INVALID_VALUE)?;
        Err(not_supported("cuMemAddressReserve"))
    }

    /// Takes memory that is mapped later.
    fn cuMemCreate(to: Out<u64>, bytes: usize, properties: In<Properties>, flags: u64) {
        let driver = driver()?;
        to.required()?;
        let properties = properties.get()?;
        ensure(bytes != 0 && (bytes as u64).is_multiple_of(PIECE), Code::INVALID_VALUE)?;
        ensure(properties.kind == PINNED && flags == 0, Code::INVALID_VALUE)?;
        let all = driver.config.device_memory();
        ensure(bytes as u64 <= all, Code::OUT_OF_MEMORY)?;
        Err(not_supported("cuMemCreate"))
    }

    /// Gives addresses back: none are reserved.
    fn cuMemAddressFree(_address: u64, _bytes: usize) {
        driver()?;
        Err(Code::INVALID_VALUE)
    }

    /// Gives memory back that is mapped later: there is none.
    fn cuMemRelease(_memory: u64) {
        driver()?;
        Err(Code::INVALID_VALUE)
    }

    /// Maps memory to reserved addresses: there are none.
    fn cuMemMap(_address: u64, _bytes: usize, _offset: usize, _memory: u64, _flags: u64) {
        driver()?;
        Err(Code::INVALID_VALUE)
    }

    /// Ends what mapped memory: none is mapped.
    fn cuMemUnmap(_address: u64, _bytes: usize) {
        driver()?;
        Err(Code::INVALID_VALUE)
    }

    /// Sets who can use mapped memory: none is mapped.
    fn cuMemSetAccess(_address: u64, _bytes: usize, _access: In<u64>, _count: usize) {
        driver()?;
        Err(Code::INVALID_VALUE)
    }

    /// Who can use mapped memory: none is mapped.
    fn cuMemGetAccess(_flags: Out<u64>, _location: In<Location>, _address: u64) {
        driver()?;
        Err(Code::INVALID_VALUE)
    }
}
