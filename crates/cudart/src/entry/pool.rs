//! Memory pools, and memory that is taken and freed in the order of a stream.

use crate::code::{Code, Done, ensure};
use crate::context::{device, ensure_context};
use crate::driver::memory::Location;
use crate::driver::pool::*;
use crate::ffi::{In, Out};

/// `cudaMemLocationTypeDevice`.
const ON_DEVICE: u32 = 1;
/// `cudaMemAllocationTypePinned`.
const PINNED: u32 = 1;

/// Takes memory. No bytes have no address, and there is none after an error.
fn take(pointer: Out<u64>, bytes: usize, allocate: impl FnOnce(Out<u64>) -> Done) -> Done {
    pointer.required()?;
    ensure_context()?;
    if bytes == 0 {
        return pointer.set(0);
    }
    let mut address = 0;
    let taken = allocate(Out::of(&mut address));
    pointer.set(if taken.is_ok() { address } else { 0 })?;
    taken
}

/// The device of a location that has pools.
fn device_of(location: In<Location>, kind: u32) -> Result<i32, Code> {
    let location = location.get()?;
    ensure_context()?;
    ensure(location.kind == ON_DEVICE && kind == PINNED, Code::NOT_SUPPORTED)?;
    device(location.id)
}

crate::entries! {
    /// Takes memory in the order of a stream.
    fn cudaMallocAsync / cudaMallocAsync_ptsz(pointer: Out<u64>, bytes: usize, stream: u64) {
        take(pointer, bytes, |to| cuMemAllocAsync(to, bytes, stream))
    }

    /// Takes memory from a pool in the order of a stream.
    fn cudaMallocFromPoolAsync / cudaMallocFromPoolAsync_ptsz(pointer: Out<u64>, bytes: usize, pool: u64, stream: u64) {
        take(pointer, bytes, |to| cuMemAllocFromPoolAsync(to, bytes, pool, stream))
    }

    /// Frees memory in the order of a stream; null is nothing.
    fn cudaFreeAsync / cudaFreeAsync_ptsz(pointer: u64, stream: u64) {
        ensure_context()?;
        if pointer == 0 { Ok(()) } else { cuMemFreeAsync(pointer, stream) }
    }

    /// The pool that a device has from the start.
    fn cudaDeviceGetDefaultMemPool(pool: Out<u64>, number: i32) {
        let number = device(number)?;
        pool.required()?;
        ensure_context()?;
        cuDeviceGetDefaultMemPool(pool, number)
    }

    /// The pool that a device takes memory from.
    fn cudaDeviceGetMemPool(pool: Out<u64>, number: i32) {
        let number = device(number)?;
        pool.required()?;
        ensure_context()?;
        cuDeviceGetMemPool(pool, number)
    }

    /// Sets the pool that a device takes memory from.
    fn cudaDeviceSetMemPool(number: i32, pool: u64) {
        let number = device(number)?;
        ensure_context()?;
        cuDeviceSetMemPool(number, pool)
    }

    /// The pool that a location has from the start.
    fn cudaMemGetDefaultMemPool(pool: Out<u64>, location: In<Location>, kind: u32) {
        pool.required()?;
        cuDeviceGetDefaultMemPool(pool, device_of(location, kind)?)
    }

    /// The pool that memory of a location is taken from.
    fn cudaMemGetMemPool(pool: Out<u64>, location: In<Location>, kind: u32) {
        pool.required()?;
        cuDeviceGetMemPool(pool, device_of(location, kind)?)
    }

    /// Sets the pool that memory of a location is taken from.
    fn cudaMemSetMemPool(location: In<Location>, kind: u32, pool: u64) {
        cuDeviceSetMemPool(device_of(location, kind)?, pool)
    }

    /// Makes a pool.
    fn cudaMemPoolCreate(pool: Out<u64>, properties: u64) {
        pool.required()?;
        ensure(properties != 0, Code::INVALID_VALUE)?;
        ensure_context()?;
        cuMemPoolCreate(pool, properties)
    }

    /// Destroys a pool.
    fn cudaMemPoolDestroy(pool: u64) {
        ensure_context()?;
        cuMemPoolDestroy(pool)
    }

    /// An attribute of a pool.
    fn cudaMemPoolGetAttribute(pool: u64, attribute: u32, value: u64) {
        ensure_context()?;
        cuMemPoolGetAttribute(pool, attribute, value)
    }

    /// Sets an attribute of a pool.
    fn cudaMemPoolSetAttribute(pool: u64, attribute: u32, value: u64) {
        ensure_context()?;
        cuMemPoolSetAttribute(pool, attribute, value)
    }

    /// Gives back memory that a pool keeps.
    fn cudaMemPoolTrimTo(pool: u64, kept: usize) {
        ensure_context()?;
        cuMemPoolTrimTo(pool, kept)
    }

    /// What a location may do with the memory of a pool.
    fn cudaMemPoolGetAccess(flags: Out<u32>, pool: u64, location: In<Location>) {
        flags.required()?;
        ensure_context()?;
        cuMemPoolGetAccess(flags, pool, location)
    }

    /// Sets what locations may do with the memory of a pool.
    fn cudaMemPoolSetAccess(pool: u64, accesses: u64, count: usize) {
        ensure_context()?;
        cuMemPoolSetAccess(pool, accesses, count)
    }
}
