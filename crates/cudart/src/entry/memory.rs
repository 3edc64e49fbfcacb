//! Linear memory of devices, page-locked memory of the host, attributes of pointers.

use crate::code::Code;
use crate::context::{device_count, ensure_context};
use crate::driver::memory::*;
use crate::ffi::{In, Out};

crate::c_struct! {
    /// `cudaPitchedPtr`.
    PitchedPointer { pointer: u64, pitch: usize, xsize: usize, ysize: usize, }
}

crate::c_struct! {
    /// `cudaExtent`.
    Extent { width: usize, height: usize, depth: usize, }
}

crate::c_struct! {
    /// `cudaPointerAttributes`; the reserved words after it are left alone.
    PointerAttributes { kind: u32, device: i32, device_pointer: u64, host_pointer: u64, }
}

/// `cudaHostAllocMapped`: all memory of the host is mapped.
const MAPPED: u32 = 2;

/// Rows of memory: the address and the pitch.
fn allocate_rows(width: usize, rows: usize) -> Result<(u64, usize), (Code, usize)> {
    if width == 0 || rows == 0 {
        return Ok((0, 0));
    }
    let (mut address, mut pitch) = (0, 0);
    cuMemAllocPitch_v2(Out::of(&mut address), Out::of(&mut pitch), width, rows, 4)
        .map_err(|code| (code, pitch))?;
    Ok((address, pitch))
}

crate::entries! {
    /// Memory of the device.
    fn cudaMalloc(pointer: Out<u64>, bytes: usize) {
        pointer.required()?;
        ensure_context()?;
        if bytes == 0 {
            return pointer.set(0);
        }
        cuMemAlloc_v2(pointer, bytes)
    }

    /// Rows of memory of the device.
    fn cudaMallocPitch(pointer: Out<u64>, pitch: Out<usize>, width: usize, height: usize) {
        pointer.required()?;
        pitch.required()?;
        ensure_context()?;
        match allocate_rows(width, height) {
            Ok((address, bytes)) => {
                pitch.set(bytes)?;
                pointer.set(address)
            }
            Err((code, bytes)) => {
                pitch.set(bytes)?;
                pointer.set(0)?;
                Err(code)
            }
        }
    }

    /// Planes of memory of the device.
    fn cudaMalloc3D(place: Out<PitchedPointer>, extent: Extent) {
        place.required()?;
        ensure_context()?;
        let rows = extent.height.checked_mul(extent.depth).ok_or(Code::MEMORY_ALLOCATION)?;
        let (pointer, pitch) = allocate_rows(extent.width, rows).map_err(|(code, _)| code)?;
        place.set(PitchedPointer { pointer, pitch, xsize: extent.width, ysize: extent.height })
    }

    /// Frees memory of the device; null is nothing.
    fn cudaFree(pointer: u64) {
        ensure_context()?;
        if pointer == 0 { Ok(()) } else { cuMemFree_v2(pointer) }
    }

    /// How much memory of the device is free, and how much there is.
    fn cudaMemGetInfo(free: Out<usize>, total: Out<usize>) {
        ensure_context()?;
        let (mut free_now, mut all) = (0, 0);
        let got = cuMemGetInfo_v2(Out::of(&mut free_now), Out::of(&mut all));
        free.set_if_any(free_now);
        total.set_if_any(all);
        got
    }

    /// Page-locked memory of the host.
    fn cudaMallocHost(pointer: Out<u64>, bytes: usize) {
        pointer.required()?;
        ensure_context()?;
        cuMemHostAlloc(pointer, bytes, MAPPED)
    }

    /// Page-locked memory of the host.
    fn cudaHostAlloc(pointer: Out<u64>, bytes: usize, flags: u32) {
        pointer.required()?;
        ensure_context()?;
        cuMemHostAlloc(pointer, bytes, flags | MAPPED)
    }

    /// Frees page-locked memory; null is nothing.
    fn cudaFreeHost(pointer: u64) {
        ensure_context()?;
        if pointer == 0 { Ok(()) } else { cuMemFreeHost(pointer) }
    }

    /// Makes memory of the program page-locked.
    fn cudaHostRegister(pointer: u64, bytes: usize, flags: u32) {
        ensure_context()?;
        cuMemHostRegister_v2(pointer, bytes, flags | MAPPED)
    }

    /// Undoes `cudaHostRegister`.
    fn cudaHostUnregister(pointer: u64) {
        ensure_context()?;
        cuMemHostUnregister(pointer)
    }

    /// The address by which kernels know memory of the host.
    fn cudaHostGetDevicePointer(device: Out<u64>, host: u64, flags: u32) {
        device.required()?;
        ensure_context()?;
        if flags != 0 || host == 0 {
            return Err(Code::INVALID_VALUE);
        }
        cuMemHostGetDevicePointer_v2(device, host, flags)
    }

    /// The flags with which memory of the host was made.
    fn cudaHostGetFlags(flags: Out<u32>, host: u64) {
        flags.required()?;
        ensure_context()?;
        let mut found = 0;
        cuMemHostGetFlags(Out::of(&mut found), host)?;
        flags.set(found | MAPPED)
    }

    /// What a pointer points to.
    fn cudaPointerGetAttributes(place: Out<PointerAttributes>, pointer: u64) {
        /// The attributes of the driver: the kind of memory, both addresses, whether it is managed, and the device.
        const ASKED: [u32; 5] = [2, 3, 4, 8, 9];
        place.required()?;
        device_count()?;
        let (mut kind, mut managed, mut device) = (0_u32, 0_u32, -2_i32);
        let (mut device_pointer, mut host_pointer) = (0_u64, 0_u64);
        let places = [
            Out::of(&mut kind).address(),
            Out::of(&mut device_pointer).address(),
            Out::of(&mut host_pointer).address(),
            Out::of(&mut managed).address(),
            Out::of(&mut device).address(),
        ];
        cuPointerGetAttributes(ASKED.len() as u32, In::of_all(&ASKED), In::of_all(&places), pointer)?;
        let attributes = match (kind, managed & 0xff) {
            (0, _) => PointerAttributes { kind: 0, device: -2, device_pointer: 0, host_pointer: pointer },
            (_, 1) => PointerAttributes { kind: 3, device, device_pointer: pointer, host_pointer: pointer },
            (2, _) => PointerAttributes { kind: 2, device, device_pointer: pointer, host_pointer: 0 },
            _ => PointerAttributes { kind: 1, device, device_pointer, host_pointer },
        };
        place.set(attributes)
    }

    /// Managed memory.
    fn cudaMallocManaged(pointer: Out<u64>, bytes: usize, flags: u32) {
        pointer.required()?;
        ensure_context()?;
        if bytes == 0 {
            return pointer.set(0);
        }
        cuMemAllocManaged(pointer, bytes, flags)
    }

    /// Moves managed memory to a place.
    fn cudaMemPrefetchAsync / cudaMemPrefetchAsync_ptsz(pointer: u64, bytes: usize, to: Location, flags: u32, stream: u64) {
        ensure_context()?;
        cuMemPrefetchAsync_v2(pointer, bytes, to, flags, stream)
    }

    /// Moves managed memory to a device, or to the host (−1).
    fn v12_cudaMemPrefetchAsync / v12_cudaMemPrefetchAsync_ptsz(pointer: u64, bytes: usize, device: i32, stream: u64) {
        ensure_context()?;
        cuMemPrefetchAsync_v2(pointer, bytes, location(device), 0, stream)
    }

    /// Says how managed memory will be used.
    fn cudaMemAdvise(pointer: u64, bytes: usize, advice: u32, location: Location) {
        ensure_context()?;
        cuMemAdvise_v2(pointer, bytes, advice, location)
    }

    /// Says how managed memory will be used by a device, or by the host (−1).
    fn v12_cudaMemAdvise(pointer: u64, bytes: usize, advice: u32, device: i32) {
        ensure_context()?;
        cuMemAdvise_v2(pointer, bytes, advice, location(device))
    }

    /// An attribute of managed memory.
    fn cudaMemRangeGetAttribute(data: u64, size: usize, attribute: u32, pointer: u64, bytes: usize) {
        ensure_context()?;
        cuMemRangeGetAttribute(data, size, attribute, pointer, bytes)
    }

    /// Attributes of managed memory.
    fn cudaMemRangeGetAttributes(data: In<u64>, sizes: In<usize>, attributes: In<u32>, count: usize, pointer: u64, bytes: usize) {
        ensure_context()?;
        cuMemRangeGetAttributes(data, sizes, attributes, count, pointer, bytes)
    }

    /// Attaches managed memory to a stream.
    fn cudaStreamAttachMemAsync / cudaStreamAttachMemAsync_ptsz(stream: u64, pointer: u64, bytes: usize, flags: u32) {
        ensure_context()?;
        crate::driver::stream::cuStreamAttachMemAsync(stream, pointer, bytes, flags)
    }

    /// The address of a variable.
    fn cudaGetSymbolAddress(pointer: Out<u64>, symbol: u64) {
        pointer.required()?;
        ensure_context()?;
        pointer.set(crate::registry::variable(symbol)?.0)
    }

    /// The size of a variable.
    fn cudaGetSymbolSize(bytes: Out<usize>, symbol: u64) {
        bytes.required()?;
        ensure_context()?;
        bytes.set(crate::registry::variable(symbol)?.1)
    }

    /// Writes that come over PCI are visible: they always are.
    fn cudaDeviceFlushGPUDirectRDMAWrites(target: u32, scope: u32) {
        ensure_context()?;
        crate::driver::context::cuFlushGPUDirectRDMAWrites(target, scope)
    }

    /// Copies between devices.
    fn cudaMemcpyPeer(to: u64, to_device: i32, from: u64, from_device: i32, bytes: usize) {
        let (to_context, from_context) = peers(to_device, from_device)?;
        cuMemcpyPeer(to, to_context, from, from_context, bytes)
    }

    /// Copies between devices in the order of a stream.
    fn cudaMemcpyPeerAsync(to: u64, to_device: i32, from: u64, from_device: i32, bytes: usize, stream: u64) {
        let (to_context, from_context) = peers(to_device, from_device)?;
        cuMemcpyPeerAsync(to, to_context, from, from_context, bytes, stream)
    }
}

/// The contexts of two devices.
fn peers(to: i32, from: i32) -> Result<(u64, u64), Code> {
    ensure_context()?;
    let context = |number| crate::context::device(number).and_then(crate::context::retain);
    Ok((context(to)?, context(from)?))
}

/// A device, or the host, as a location.
fn location(device: i32) -> Location {
    const DEVICE: u32 = 1;
    const HOST: u32 = 2;
    if device == -1 { Location { kind: HOST, id: 0 } } else { Location { kind: DEVICE, id: device } }
}
