//! Devices, contexts, limits, peers.

use crate::ffi::{Out, Text};

crate::driver! {
    fn cuInit(flags: u32);
    fn cuDriverGetVersion(version: Out<i32>);
    fn cuDeviceGetCount(count: Out<i32>);
    fn cuDeviceGetName(name: Out<u8>, length: i32, device: i32);
    fn cuDeviceGetUuid_v2(uuid: Out<[u8; 16]>, device: i32);
    fn cuDeviceGetLuid(luid: Out<[u8; 8]>, mask: Out<u32>, device: i32);
    fn cuDeviceTotalMem_v2(bytes: Out<usize>, device: i32);
    fn cuDeviceGetAttribute(value: Out<i32>, attribute: i32, device: i32);
    fn cuDeviceGetPCIBusId(id: Out<u8>, length: i32, device: i32);
    fn cuDeviceGetByPCIBusId(device: Out<i32>, id: Text);
    fn cuDeviceCanAccessPeer(can: Out<i32>, device: i32, peer: i32);
    fn cuDeviceGetP2PAttribute(value: Out<i32>, attribute: u32, source: i32, target: i32);
    fn cuDeviceGetTexture1DLinearMaxWidth(width: Out<usize>, format: u32, channels: u32, device: i32);
    fn cuDevicePrimaryCtxRetain(context: Out<u64>, device: i32);
    fn cuDevicePrimaryCtxReset_v2(device: i32);
    fn cuDevicePrimaryCtxGetState(device: i32, flags: Out<u32>, active: Out<i32>);
    fn cuDevicePrimaryCtxSetFlags_v2(device: i32, flags: u32);
    fn cuCtxGetCurrent(context: Out<u64>);
    fn cuCtxSetCurrent(context: u64);
    fn cuCtxGetDevice(device: Out<i32>);
    fn cuCtxGetFlags(flags: Out<u32>);
    fn cuCtxSetFlags(flags: u32);
    fn cuCtxSynchronize();
    fn cuCtxGetLimit(value: Out<usize>, limit: u32);
    fn cuCtxSetLimit(limit: u32, value: usize);
    fn cuCtxGetCacheConfig(config: Out<u32>);
    fn cuCtxSetCacheConfig(config: u32);
    fn cuCtxGetSharedMemConfig(config: Out<u32>);
    fn cuCtxSetSharedMemConfig(config: u32);
    fn cuCtxGetStreamPriorityRange(least: Out<i32>, greatest: Out<i32>);
    fn cuCtxResetPersistingL2Cache();
    fn cuCtxEnablePeerAccess(peer: u64, flags: u32);
    fn cuCtxDisablePeerAccess(peer: u64);
    fn cuProfilerStart();
    fn cuProfilerStop();
    fn cuGetProcAddress_v2(name: Text, function: Out<u64>, version: i32, flags: u64, status: Out<u32>);
    fn cuGetExportTable(table: Out<u64>, id: u64);
    fn cuThreadExchangeStreamCaptureMode(mode: Out<u32>);
    fn cuFlushGPUDirectRDMAWrites(target: u32, scope: u32);
}
