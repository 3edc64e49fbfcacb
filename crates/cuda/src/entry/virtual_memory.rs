//! Virtual memory (driver API: "Virtual Memory Management"). What is mapped has an address in the machine once a device
//! may use it.

use super::pool::{Access, Location};
use crate::c_struct;
use crate::code::{Code, Done, ensure};
use crate::driver::{Driver, driver};
use crate::ffi::{In, Out};
use crate::handle::lock;
use crate::memory::{Block, Kind};
use crate::symbols::not_supported;
use crate::virtual_memory::{Created, Mapping, PIECE, VirtualMemory};
use softwarp::vm::memory::host::{HostMemory, HostPlace};

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

impl Properties {
    fn words(self) -> [u64; 4] {
        let pair = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
        [
            pair(self.kind, self.handles),
            pair(self.location.kind, self.location.id as u32),
            self.security,
            self.flags,
        ]
    }

    fn of_words([kinds, location, security, flags]: [u64; 4]) -> Properties {
        let location = Location { kind: location as u32, id: (location >> 32) as i32 };
        Properties { kind: kinds as u32, handles: (kinds >> 32) as u32, location, security, flags }
    }
}

/// `CU_MEM_ALLOCATION_TYPE_PINNED`
const PINNED: u32 = 1;

/// `CU_MEM_LOCATION_TYPE_DEVICE`
const DEVICE: u32 = 1;

/// `CUmemAccess_flags`
mod access {
    pub const NONE: u32 = 0;
    pub const READ: u32 = 1;
    pub const READ_WRITE: u32 = 3;
}

/// Whether sizes and addresses are multiples of what is mapped.
fn is_whole(address: u64, bytes: usize) -> bool {
    bytes != 0 && (bytes as u64).is_multiple_of(PIECE) && address.is_multiple_of(PIECE)
}

/// Gives what is mapped at an address a meaning in the machine.
fn show(driver: &Driver, memory: &VirtualMemory, base: u64) -> Done {
    let mapping = memory.mapped.get(&base).ok_or(Code::INVALID_VALUE)?;
    let created = memory.created.get(&mapping.handle).ok_or(Code::INVALID_VALUE)?;
    driver.machine.map_host(&created.memory, HostPlace::Reserved(base)).map_err(|_| Code::OUT_OF_MEMORY)?;
    let (kind, device) = (Kind::Mapped, (created.properties[1] >> 32) as u32);
    let block = Block { base, bytes: mapping.bytes, kind, flags: 0, context: 0, device, id: 0 };
    lock(&driver.blocks).insert(block);
    Ok(())
}

/// Takes it away again.
fn hide(driver: &Driver, base: u64) {
    lock(&driver.blocks).remove(base);
    let _ = driver.machine.free(base);
}

crate::entries! {
    /// The size of pieces that memory is mapped in.
    fn cuMemGetAllocationGranularity(to: Out<usize>, properties: In<Properties>, option: u32) {
        driver()?;
        to.required()?;
        let properties = properties.get()?;
        ensure(option <= 1 && properties.kind == PINNED, Code::INVALID_VALUE)?;
        to.set(PIECE as usize)
    }

    /// Reserves addresses. Those that the program would like are not looked at.
    fn cuMemAddressReserve(to: Out<u64>, bytes: usize, alignment: usize, _address: u64, flags: u64) {
        let driver = driver()?;
        to.required()?;
        ensure(is_whole(0, bytes) && flags == 0, Code::INVALID_VALUE)?;
        ensure(alignment == 0 || alignment.is_power_of_two(), Code::INVALID_VALUE)?;
        let mut memory = lock(&driver.virtual_memory);
        let alignment = (alignment as u64).max(PIECE);
        let base = driver.machine.reserve(bytes as u64, alignment).map_err(|_| Code::OUT_OF_MEMORY)?;
        memory.reserved.insert(base, bytes as u64);
        to.set(base)
    }

    /// Gives addresses back: a whole reservation, with nothing mapped in it.
    fn cuMemAddressFree(address: u64, bytes: usize) {
        let driver = driver()?;
        let mut memory = lock(&driver.virtual_memory);
        ensure(memory.reserved.get(&address) == Some(&(bytes as u64)), Code::INVALID_VALUE)?;
        ensure(!memory.is_mapped(address, bytes as u64), Code::INVALID_VALUE)?;
        memory.reserved.remove(&address);
        driver.machine.unreserve(address);
        Ok(())
    }

    /// Takes memory that is mapped later.
    fn cuMemCreate(to: Out<u64>, bytes: usize, properties: In<Properties>, flags: u64) {
        let driver = driver()?;
        to.required()?;
        let properties = properties.get()?;
        ensure(is_whole(0, bytes), Code::INVALID_VALUE)?;
        ensure(properties.kind == PINNED && flags == 0, Code::INVALID_VALUE)?;
        if properties.location.kind != DEVICE {
            return Err(not_supported("cuMemCreate with memory of the host"));
        }
        if properties.handles != 0 {
            return Err(not_supported("cuMemCreate with handles for other processes"));
        }
        driver.device(properties.location.id)?;
        let mut memory = lock(&driver.virtual_memory);
        let used = memory.bytes().saturating_add(lock(&driver.blocks).device_bytes());
        let free = driver.config.device_memory().saturating_sub(used);
        ensure(bytes as u64 <= free, Code::OUT_OF_MEMORY)?;
        let taken = HostMemory::new(bytes as u64).map_err(|_| Code::OUT_OF_MEMORY)?;
        // Handles look like none of the others.
        let handle = 0x7_0000_0000 | driver.new_id();
        let properties = properties.words();
        memory.created.insert(handle, Created { memory: taken, bytes: bytes as u64, properties, held: 1 });
        to.set(handle)
    }

    /// Gives memory back. What is mapped stays until it is unmapped.
    fn cuMemRelease(handle: u64) {
        let driver = driver()?;
        let mut memory = lock(&driver.virtual_memory);
        let created = memory.created.get_mut(&handle).filter(|created| created.held > 0);
        created.ok_or(Code::INVALID_VALUE)?.held -= 1;
        memory.drop_unused(handle);
        Ok(())
    }

    /// Maps memory to reserved addresses: the whole of it.
    fn cuMemMap(address: u64, bytes: usize, offset: usize, handle: u64, flags: u64) {
        let driver = driver()?;
        ensure(flags == 0, Code::INVALID_VALUE)?;
        let mut memory = lock(&driver.virtual_memory);
        let created = memory.created.get(&handle).filter(|created| created.held > 0);
        let size = created.ok_or(Code::INVALID_VALUE)?.bytes;
        ensure(offset == 0 && bytes as u64 == size, Code::NOT_SUPPORTED)?;
        ensure(is_whole(address, bytes) && memory.is_reserved(address, size), Code::INVALID_VALUE)?;
        ensure(!memory.is_mapped(address, size), Code::INVALID_VALUE)?;
        memory.mapped.insert(address, Mapping { handle, bytes: size, access: access::NONE });
        Ok(())
    }

    /// Ends what mapped memory. Reserved addresses where nothing is mapped may be in the range.
    fn cuMemUnmap(address: u64, bytes: usize) {
        let driver = driver()?;
        let mut memory = lock(&driver.virtual_memory);
        let bytes = bytes as u64;
        ensure(bytes != 0 && memory.is_reserved(address, bytes), Code::INVALID_VALUE)?;
        let end = address + bytes;
        let inside: Vec<u64> = memory.mapped.range(address..end).map(|(base, _)| *base).collect();
        let sticks_out = |base: u64| memory.at(base).is_some_and(|(base, it)| base < address || base + it.bytes > end);
        ensure(!sticks_out(address) && !sticks_out(end - 1), Code::INVALID_VALUE)?;
        for base in inside {
            let Some(mapping) = memory.mapped.remove(&base) else { continue };
            if mapping.access != access::NONE {
                hide(driver, base);
            }
            memory.drop_unused(mapping.handle);
        }
        Ok(())
    }

    /// Sets what devices may do with mapped memory.
    fn cuMemSetAccess(address: u64, bytes: usize, of: In<Access>, count: usize) {
        let driver = driver()?;
        ensure(count != 0, Code::INVALID_VALUE)?;
        let mut memory = lock(&driver.virtual_memory);
        let bases = memory.mapped_in(address, bytes as u64).filter(|bases| !bases.is_empty());
        let bases = bases.ok_or(Code::INVALID_VALUE)?;
        let mut wanted = access::NONE;
        for index in 0..count {
            let said = of.get_at(index)?;
            ensure(said.location.kind == DEVICE, Code::INVALID_VALUE)?;
            driver.device(said.location.id).map_err(|_| Code::INVALID_VALUE)?;
            match said.flags {
                access::NONE | access::READ_WRITE => wanted |= said.flags,
                access::READ => return Err(not_supported("cuMemSetAccess with memory that can only be read")),
                _ => return Err(Code::INVALID_VALUE),
            }
        }
        for base in bases {
            let before = memory.mapped.get(&base).map_or(access::NONE, |mapping| mapping.access);
            match (before, wanted) {
                (access::NONE, access::READ_WRITE) => show(driver, &memory, base)?,
                (access::READ_WRITE, access::NONE) => hide(driver, base),
                _ => {}
            }
            if let Some(mapping) = memory.mapped.get_mut(&base) {
                mapping.access = wanted;
            }
        }
        Ok(())
    }

    /// What a device may do with mapped memory.
    fn cuMemGetAccess(flags: Out<u64>, location: In<Location>, address: u64) {
        let driver = driver()?;
        flags.required()?;
        let location = location.get()?;
        ensure(location.kind == DEVICE, Code::INVALID_VALUE)?;
        driver.device(location.id).map_err(|_| Code::INVALID_VALUE)?;
        let memory = lock(&driver.virtual_memory);
        let (_, mapping) = memory.at(address).ok_or(Code::INVALID_VALUE)?;
        flags.set(mapping.access.into())
    }

    /// The handle of the memory that is mapped at an address. The program holds it once more.
    fn cuMemRetainAllocationHandle(to: Out<u64>, address: u64) {
        let driver = driver()?;
        to.required()?;
        let mut memory = lock(&driver.virtual_memory);
        let handle = memory.at(address).map(|(_, mapping)| mapping.handle).ok_or(Code::INVALID_VALUE)?;
        if let Some(created) = memory.created.get_mut(&handle) {
            created.held += 1;
        }
        to.set(handle)
    }

    /// What memory was created with.
    fn cuMemGetAllocationPropertiesFromHandle(to: Out<Properties>, handle: u64) {
        let driver = driver()?;
        to.required()?;
        let memory = lock(&driver.virtual_memory);
        let created = memory.created.get(&handle).ok_or(Code::INVALID_VALUE)?;
        to.set(Properties::of_words(created.properties))
    }
}
