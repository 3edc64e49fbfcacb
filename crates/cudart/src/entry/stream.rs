//! Streams and events.

use crate::code::{Code, ensure};
use crate::context::ensure_context;
use crate::driver::launch::cuLaunchHostFunc;
use crate::driver::stream::*;
use crate::ffi::{HostFunction, Out, StreamCallback};
use std::ffi::c_void;

crate::entries! {
    /// A stream.
    fn cudaStreamCreate(stream: Out<u64>) {
        stream.required()?;
        ensure_context()?;
        cuStreamCreate(stream, 0)
    }

    /// A stream with flags.
    fn cudaStreamCreateWithFlags(stream: Out<u64>, flags: u32) {
        stream.required()?;
        ensure_context()?;
        cuStreamCreate(stream, flags)
    }

    /// A stream with a priority.
    fn cudaStreamCreateWithPriority(stream: Out<u64>, flags: u32, priority: i32) {
        stream.required()?;
        ensure_context()?;
        cuStreamCreateWithPriority(stream, flags, priority)
    }

    /// Destroys a stream.
    fn cudaStreamDestroy(stream: u64) {
        ensure_context()?;
        cuStreamDestroy_v2(stream)
    }

    /// Waits for a stream.
    fn cudaStreamSynchronize / cudaStreamSynchronize_ptsz(stream: u64) {
        ensure_context()?;
        cuStreamSynchronize(stream)
    }

    /// Whether a stream is done.
    fn cudaStreamQuery / cudaStreamQuery_ptsz(stream: u64) {
        ensure_context()?;
        cuStreamQuery(stream)
    }

    /// The priority of a stream.
    fn cudaStreamGetPriority / cudaStreamGetPriority_ptsz(stream: u64, priority: Out<i32>) {
        priority.required()?;
        ensure_context()?;
        cuStreamGetPriority(stream, priority)
    }

    /// The flags of a stream.
    fn cudaStreamGetFlags / cudaStreamGetFlags_ptsz(stream: u64, flags: Out<u32>) {
        flags.required()?;
        ensure_context()?;
        cuStreamGetFlags(stream, flags)
    }

    /// The number of a stream.
    fn cudaStreamGetId / cudaStreamGetId_ptsz(stream: u64, id: Out<u64>) {
        id.required()?;
        ensure_context()?;
        cuStreamGetId(stream, id)
    }

    /// The device of a stream.
    fn cudaStreamGetDevice / cudaStreamGetDevice_ptsz(stream: u64, device: Out<i32>) {
        device.required()?;
        ensure_context()?;
        cuStreamGetDevice(stream, device)
    }

    /// Makes a stream wait for an event.
    fn cudaStreamWaitEvent / cudaStreamWaitEvent_ptsz(stream: u64, event: u64, flags: u32) {
        ensure_context()?;
        cuStreamWaitEvent(stream, event, flags)
    }

    /// Calls a function with the result when a stream gets there.
    fn cudaStreamAddCallback / cudaStreamAddCallback_ptsz(stream: u64, callback: StreamCallback, data: *mut c_void, flags: u32) {
        ensure_context()?;
        ensure(callback.is_some() && flags == 0, Code::INVALID_VALUE)?;
        cuStreamAddCallback(stream, callback, data, flags)
    }

    /// Calls a function when a stream gets there.
    fn cudaLaunchHostFunc / cudaLaunchHostFunc_ptsz(stream: u64, function: HostFunction, data: *mut c_void) {
        ensure_context()?;
        ensure(function.is_some(), Code::INVALID_VALUE)?;
        cuLaunchHostFunc(stream, function, data)
    }

    /// The same. How the stream waits for the function is its own choice.
    fn cudaLaunchHostFunc_v2 / cudaLaunchHostFunc_v2_ptsz(stream: u64, function: HostFunction, data: *mut c_void, _sync_mode: u32) {
        ensure_context()?;
        ensure(function.is_some(), Code::INVALID_VALUE)?;
        cuLaunchHostFunc(stream, function, data)
    }

    /// Copies the attributes of a stream.
    fn cudaStreamCopyAttributes / cudaStreamCopyAttributes_ptsz(to: u64, from: u64) {
        ensure_context()?;
        cuStreamCopyAttributes(to, from)
    }

    /// An attribute of a stream.
    fn cudaStreamGetAttribute / cudaStreamGetAttribute_ptsz(stream: u64, attribute: u32, value: u64) {
        ensure_context()?;
        cuStreamGetAttribute(stream, attribute, value)
    }

    /// Sets an attribute of a stream.
    fn cudaStreamSetAttribute / cudaStreamSetAttribute_ptsz(stream: u64, attribute: u32, value: u64) {
        ensure_context()?;
        cuStreamSetAttribute(stream, attribute, value)
    }

    /// An event.
    fn cudaEventCreate(event: Out<u64>) {
        event.required()?;
        ensure_context()?;
        cuEventCreate(event, 0)
    }

    /// An event with flags.
    fn cudaEventCreateWithFlags(event: Out<u64>, flags: u32) {
        event.required()?;
        ensure_context()?;
        cuEventCreate(event, flags)
    }

    /// Destroys an event.
    fn cudaEventDestroy(event: u64) {
        ensure_context()?;
        cuEventDestroy_v2(event)
    }

    /// Records an event in a stream.
    fn cudaEventRecord / cudaEventRecord_ptsz(event: u64, stream: u64) {
        ensure_context()?;
        cuEventRecord(event, stream)
    }

    /// Records an event in a stream, with flags.
    fn cudaEventRecordWithFlags / cudaEventRecordWithFlags_ptsz(event: u64, stream: u64, flags: u32) {
        ensure_context()?;
        cuEventRecordWithFlags(event, stream, flags)
    }

    /// Whether an event has happened.
    fn cudaEventQuery(event: u64) {
        ensure_context()?;
        cuEventQuery(event)
    }

    /// Waits for an event.
    fn cudaEventSynchronize(event: u64) {
        ensure_context()?;
        cuEventSynchronize(event)
    }

    /// The time between two events in milliseconds.
    fn cudaEventElapsedTime(time: Out<f32>, start: u64, end: u64) {
        time.required()?;
        ensure_context()?;
        cuEventElapsedTime_v2(time, start, end)
    }

    /// The time between two events in milliseconds.
    fn v12_cudaEventElapsedTime(time: Out<f32>, start: u64, end: u64) {
        time.required()?;
        ensure_context()?;
        cuEventElapsedTime_v2(time, start, end)
    }
}
