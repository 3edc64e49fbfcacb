//! `cudaDeviceProp`, field by field.
//!
//! The structure of CUDA 13 has 1008 bytes and that of CUDA 12 has 1032; the fields that CUDA 13 dropped are marked. The
//! reserved words at the end are left alone.

use crate::code::Code;
use crate::driver::context::*;
use crate::ffi::Out;

/// Which structure a program has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// That of CUDA 12, `cudaGetDeviceProperties_v2`.
    Cuda12,
    /// That of CUDA 13.
    Cuda13,
}

/// What a field holds.
enum Field {
    /// The name, 256 bytes.
    Name,
    /// The UUID, the LUID and the mask of its nodes.
    Ids,
    /// The size of the device's memory.
    Memory,
    /// 32-bit attributes.
    Ints(&'static [i32]),
    /// An attribute as `size_t`.
    Size(i32),
    /// 32-bit attributes that CUDA 13 does not have.
    Only12(&'static [i32]),
    /// 32-bit attributes that CUDA 12 does not have.
    Only13(&'static [i32]),
}

use Field::{Ids, Ints, Memory, Name, Only12, Only13, Size};

/// The fields in order, with the numbers of the driver's attributes.
const FIELDS: &[Field] = &[
    Name,
    Ids,
    Memory,
    // sharedMemPerBlock, regsPerBlock, warpSize, memPitch
    Size(8),
    Ints(&[12, 10]),
    Size(11),
    // maxThreadsPerBlock, maxThreadsDim, maxGridSize
    Ints(&[1, 2, 3, 4, 5, 6, 7]),
    // clockRate
    Only12(&[13]),
    // totalConstMem
    Size(9),
    // major, minor
    Ints(&[75, 76]),
    // textureAlignment, texturePitchAlignment
    Size(14),
    Size(51),
    // deviceOverlap, multiProcessorCount, kernelExecTimeoutEnabled, integrated, canMapHostMemory, computeMode
    Only12(&[15]),
    Ints(&[16]),
    Only12(&[17]),
    Ints(&[18, 19]),
    Only12(&[20]),
    // maxTexture1D, maxTexture1DMipmap, maxTexture1DLinear
    Ints(&[21, 77]),
    Only12(&[69]),
    // maxTexture2D, Mipmap, Linear, Gather
    Ints(&[22, 23, 73, 74, 70, 71, 72, 45, 46]),
    // maxTexture3D, Alt, Cubemap, 1DLayered, 2DLayered, CubemapLayered
    Ints(&[24, 25, 26, 47, 48, 49, 52, 42, 43, 27, 28, 29, 53, 54]),
    // maxSurface1D, 2D, 3D, 1DLayered, 2DLayered, Cubemap, CubemapLayered
    Ints(&[55, 56, 57, 58, 59, 60, 61, 62, 63, 64, 65, 66, 67, 68]),
    // surfaceAlignment
    Size(30),
    // concurrentKernels, ECCEnabled, pciBusID, pciDeviceID, pciDomainID, tccDriver, asyncEngineCount, unifiedAddressing
    Ints(&[31, 32, 33, 34, 50, 35, 40, 41]),
    // memoryClockRate
    Only12(&[36]),
    // memoryBusWidth, l2CacheSize, persistingL2CacheMaxSize, maxThreadsPerMultiProcessor, streamPrioritiesSupported,
    // globalL1CacheSupported, localL1CacheSupported
    Ints(&[37, 38, 108, 39, 78, 79, 80]),
    // sharedMemPerMultiprocessor
    Size(81),
    // regsPerMultiprocessor, managedMemory, isMultiGpuBoard, multiGpuBoardGroupID, hostNativeAtomicSupported
    Ints(&[82, 83, 84, 85, 86]),
    // singleToDoublePrecisionPerfRatio
    Only12(&[87]),
    // pageableMemoryAccess, concurrentManagedAccess, computePreemptionSupported, canUseHostPointerForRegisteredMem,
    // cooperativeLaunch
    Ints(&[88, 89, 90, 91, 95]),
    // cooperativeMultiDeviceLaunch
    Only12(&[96]),
    // sharedMemPerBlockOptin
    Size(97),
    // pageableMemoryAccessUsesHostPageTables, directManagedMemAccessFromHost, maxBlocksPerMultiProcessor,
    // accessPolicyMaxWindowSize
    Ints(&[100, 101, 106, 109]),
    // reservedSharedMemPerBlock
    Size(111),
    // hostRegisterSupported, sparseCudaArraySupported, hostRegisterReadOnlySupported, timelineSemaphoreInteropSupported,
    // memoryPoolsSupported, gpuDirectRDMASupported, gpuDirectRDMAFlushWritesOptions, gpuDirectRDMAWritesOrdering,
    // memoryPoolSupportedHandleTypes, deferredMappingCudaArraySupported, ipcEventSupported, clusterLaunch,
    // unifiedFunctionPointers
    Ints(&[99, 112, 113, 114, 115, 116, 117, 118, 119, 121, 125, 120, 129]),
    // deviceNumaConfig, deviceNumaId, mpsEnabled, hostNumaId, gpuPciDeviceID, gpuPciSubsystemID,
    // hostNumaMultinodeIpcSupported
    Only13(&[130, 131, 133, 134, 139, 140, 143]),
];

/// The properties of a device as the bytes of the structure.
pub fn properties(device: i32, version: Version) -> Result<Vec<u8>, Code> {
    let mut bytes: Vec<u8> = Vec::with_capacity(1032);
    for field in FIELDS {
        add(&mut bytes, field, device, version)?;
    }
    Ok(bytes)
}

fn add(bytes: &mut Vec<u8>, field: &Field, device: i32, version: Version) -> Result<(), Code> {
    match field {
        Name => {
            let mut name = [0_u8; 256];
            cuDeviceGetName(Out::of(&mut name).cast(), 256, device)?;
            bytes.extend_from_slice(&name);
        }
        Ids => {
            let (mut uuid, mut luid, mut mask) = ([0; 16], [0; 8], 0_u32);
            cuDeviceGetUuid_v2(Out::of(&mut uuid), device)?;
            // Only Windows has LUIDs.
            let _ = cuDeviceGetLuid(Out::of(&mut luid), Out::of(&mut mask), device);
            bytes.extend_from_slice(&uuid);
            bytes.extend_from_slice(&luid);
            bytes.extend_from_slice(&mask.to_le_bytes());
        }
        Memory => {
            let mut total = 0;
            cuDeviceTotalMem_v2(Out::of(&mut total), device)?;
            add_size(bytes, total as u64);
        }
        Size(number) => add_size(bytes, attribute(*number, device) as u64),
        Only12(_) if version == Version::Cuda13 => {}
        Only13(_) if version == Version::Cuda12 => {}
        Ints(numbers) | Only12(numbers) | Only13(numbers) => {
            for number in *numbers {
                bytes.extend_from_slice(&attribute(*number, device).to_le_bytes());
            }
        }
    }
    Ok(())
}

/// Adds a `size_t`, aligned to 8 bytes.
fn add_size(bytes: &mut Vec<u8>, value: u64) {
    bytes.resize(bytes.len().next_multiple_of(8), 0);
    bytes.extend_from_slice(&value.to_le_bytes());
}

/// An attribute; one that the driver does not have is 0.
fn attribute(number: i32, device: i32) -> i32 {
    let mut value = 0;
    let _ = cuDeviceGetAttribute(Out::of(&mut value), number, device);
    value
}
