//! Memory pools and memory in the order of streams.

use super::memory::Location;
use crate::ffi::{In, Out};

crate::driver! {
    fn cuMemAllocAsync / cuMemAllocAsync_ptsz(pointer: Out<u64>, bytes: usize, stream: u64);
    fn cuMemAllocFromPoolAsync / cuMemAllocFromPoolAsync_ptsz(pointer: Out<u64>, bytes: usize, pool: u64, stream: u64);
    fn cuMemFreeAsync / cuMemFreeAsync_ptsz(pointer: u64, stream: u64);
    fn cuDeviceGetDefaultMemPool(pool: Out<u64>, device: i32);
    fn cuDeviceGetMemPool(pool: Out<u64>, device: i32);
    fn cuDeviceSetMemPool(device: i32, pool: u64);
    fn cuMemPoolCreate(pool: Out<u64>, properties: u64);
    fn cuMemPoolDestroy(pool: u64);
    fn cuMemPoolGetAttribute(pool: u64, attribute: u32, value: u64);
    fn cuMemPoolSetAttribute(pool: u64, attribute: u32, value: u64);
    fn cuMemPoolTrimTo(pool: u64, kept: usize);
    fn cuMemPoolGetAccess(flags: Out<u32>, pool: u64, location: In<Location>);
    fn cuMemPoolSetAccess(pool: u64, accesses: u64, count: usize);
}
