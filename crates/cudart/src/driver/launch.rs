//! Launches and occupancy.

use crate::ffi::{HostFunction, In, Out};
use std::ffi::c_void;

crate::c_struct! {
    /// `CUlaunchConfig`.
    LaunchConfig { grid: [u32; 3], block: [u32; 3], shared: u32, stream: u64, attributes: u64, count: u32, }
}

crate::driver! {
    fn cuLaunchKernel / cuLaunchKernel_ptsz(function: u64, gx: u32, gy: u32, gz: u32, bx: u32, by: u32, bz: u32, shared: u32, stream: u64, arguments: u64, extra: u64);
    fn cuLaunchKernelEx / cuLaunchKernelEx_ptsz(config: In<LaunchConfig>, function: u64, arguments: u64, extra: u64);
    fn cuLaunchCooperativeKernel / cuLaunchCooperativeKernel_ptsz(function: u64, gx: u32, gy: u32, gz: u32, bx: u32, by: u32, bz: u32, shared: u32, stream: u64, arguments: u64);
    fn cuLaunchHostFunc / cuLaunchHostFunc_ptsz(stream: u64, function: HostFunction, data: *mut c_void);
    fn cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(count: Out<i32>, function: u64, block: i32, shared: usize, flags: u32);
    fn cuOccupancyAvailableDynamicSMemPerBlock(bytes: Out<usize>, function: u64, blocks: i32, block: i32);
    fn cuOccupancyMaxPotentialClusterSize(size: Out<i32>, function: u64, config: In<LaunchConfig>);
    fn cuOccupancyMaxActiveClusters(count: Out<i32>, function: u64, config: In<LaunchConfig>);
}
