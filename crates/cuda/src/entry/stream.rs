//! Streams (driver API: "Stream Management").

use crate::code::{Code, Done, ensure};
use crate::context::Context;
use crate::driver::capture::Status;
use crate::driver::event::Event;
use crate::driver::work::{EventOf, Work};
use crate::driver::{Driver, current, current_for, driver, flush_output};
use crate::ffi::{Host, HostFunction, Out, StreamCallback};
use crate::handle::{Handle, Missing};
use crate::stream::Stream;
use std::ffi::c_void;
use std::sync::Arc;

/// The highest priority of streams.
const HIGHEST: i32 = -5;

/// The current context and one of its streams, which is not used.
pub(crate) fn find(stream: Handle<Stream>) -> Result<(&'static Driver, Arc<Context>, Arc<Stream>), Code> {
    let (driver, context) = current_for(stream)?;
    let stream = driver.find_stream(&context, stream)?;
    Ok((driver, context, stream))
}

/// The current context and one of its streams, which is used.
pub(crate) fn of(stream: Handle<Stream>) -> Result<(&'static Driver, Arc<Context>, Arc<Stream>), Code> {
    let (driver, context) = current_for(stream)?;
    let stream = driver.stream(&context, stream)?;
    Ok((driver, context, stream))
}

/// The same for work that is submitted and not waited for: a fault that no call has waited for yet is not seen.
pub(crate) fn submitting(
    stream: Handle<Stream>,
) -> Result<(&'static Driver, Arc<Context>, Arc<Stream>), Code> {
    let driver = driver()?;
    let context = driver.context_for(stream)?;
    driver.check_noticed_fault()?;
    let stream = driver.stream(&context, stream)?;
    Ok((driver, context, stream))
}

/// An event by its handle.
pub(crate) fn event(driver: &Driver, event: Handle<Event>) -> Result<Arc<Event>, Code> {
    driver.events.get(event).map_err(|missing| match missing {
        Missing::Destroyed => Code::CONTEXT_IS_DESTROYED,
        Missing::Never => Code::INVALID_HANDLE,
    })
}

fn create(to: Out<Handle<Stream>>, flags: u32, priority: i32) -> Done {
    let (driver, context) = current().inspect_err(|_| {
        // The driver writes the place here, too. The legacy default stream does no harm.
        to.set_if_any(Handle::of(1));
    })?;
    to.required()?;
    ensure(flags <= 1, Code::INVALID_VALUE)?;
    let stream = Stream::new(context.handle, driver.new_id(), flags == 1, priority.clamp(HIGHEST, 0));
    to.set(driver.streams.insert(Arc::new(stream)).ok_or(Code::OUT_OF_MEMORY)?)
}

crate::entries! {
    /// Makes a stream.
    fn cuStreamCreate(to: Out<Handle<Stream>>, flags: u32) {
        create(to, flags, 0)
    }

    /// Makes a stream with a priority.
    fn cuStreamCreateWithPriority(to: Out<Handle<Stream>>, flags: u32, priority: i32) {
        create(to, flags, priority)
    }

    /// Destroys a stream. Work that it has is still done.
    fn cuStreamDestroy_v2(stream: Handle<Stream>) {
        let driver = driver()?;
        ensure(stream.bits() > 2, Code::INVALID_HANDLE)?;
        driver.check_fault()?;
        let destroyed = driver.streams.remove(stream).map_err(|missing| match missing {
            Missing::Destroyed => Code::CONTEXT_IS_DESTROYED,
            Missing::Never => Code::INVALID_HANDLE,
        })?;
        driver.captures.forget(driver, destroyed.id);
        driver.retire_stream(destroyed);
        Ok(())
    }

    /// Whether all work is done.
    fn cuStreamQuery / cuStreamQuery_ptsz(stream: Handle<Stream>) {
        let (driver, _, stream) = of(stream)?;
        driver.captures.forbid_stream(stream.id)?;
        driver.captures.forbid_unsafe()?;
        let is_done = stream.pending().is_none();
        // What kernels printed is written if the stream has had any.
        if stream.had_work() {
            flush_output();
        }
        driver.check_fault()?;
        ensure(is_done, Code::NOT_READY)
    }

    /// Waits until all work is done.
    fn cuStreamSynchronize / cuStreamSynchronize_ptsz(stream: Handle<Stream>) {
        let (driver, _, stream) = of(stream)?;
        driver.captures.forbid_stream(stream.id)?;
        driver.captures.forbid_unsafe()?;
        driver.finish(std::slice::from_ref(&stream));
        driver.check_fault()
    }

    /// Lets later work of a stream wait for an event.
    fn cuStreamWaitEvent / cuStreamWaitEvent_ptsz(stream: Handle<Stream>, waited: Handle<Event>, flags: u32) {
        let (driver, context, stream) = of(stream)?;
        let event = event(driver, waited)?;
        if flags == 1 && driver.captures.status(stream.id) != Status::None {
            return driver.issue(&context, &stream, Work::WaitEvent(EventOf { handle: waited, event }));
        }
        ensure(flags != 1, Code::ILLEGAL_STATE)?;
        ensure(flags == 0, Code::INVALID_VALUE)?;
        let recorded = event.recorded();
        if driver.captures.wait(&stream, recorded.captured.as_ref())? {
            return Ok(());
        }
        match recorded.done.filter(|done| !done.is_done()) {
            Some(done) => driver.issue(&context, &stream, Work::WaitFor(done)),
            None => Ok(()),
        }
    }

    /// The flags of a stream.
    fn cuStreamGetFlags / cuStreamGetFlags_ptsz(stream: Handle<Stream>, flags: Out<u32>) {
        let (_, _, stream) = find(stream)?;
        flags.set(u32::from(stream.nonblocking))
    }

    /// The priority of a stream.
    fn cuStreamGetPriority / cuStreamGetPriority_ptsz(stream: Handle<Stream>, priority: Out<i32>) {
        let (_, _, stream) = find(stream)?;
        priority.set(stream.priority)
    }

    /// The number of a stream.
    fn cuStreamGetId / cuStreamGetId_ptsz(stream: Handle<Stream>, id: Out<u64>) {
        let (_, _, stream) = find(stream)?;
        id.set(stream.id)
    }

    /// The device of a stream.
    fn cuStreamGetDevice / cuStreamGetDevice_ptsz(stream: Handle<Stream>, device: Out<i32>) {
        let (_, context, _) = find(stream)?;
        device.set(context.device as i32)
    }

    /// The context of a stream.
    fn cuStreamGetCtx / cuStreamGetCtx_ptsz(stream: Handle<Stream>, to: Out<Handle<Context>>) {
        let (_, _, stream) = find(stream)?;
        to.set(Handle::of(stream.context))
    }

    /// Calls a function of the program in the order of a stream.
    fn cuLaunchHostFunc / cuLaunchHostFunc_ptsz(
        stream: Handle<Stream>, function: Option<extern "C" fn(*mut c_void)>, data: Host,
    ) {
        driver()?;
        let function = function.ok_or(Code::INVALID_VALUE)?;
        let (driver, context, stream) = submitting(stream)?;
        let function = HostFunction { function, data };
        driver.issue(&context, &stream, Work::HostFunction(function))
    }

    /// Calls a function of the program in the order of a stream, even after a fault.
    fn cuStreamAddCallback / cuStreamAddCallback_ptsz(
        stream: Handle<Stream>, function: Option<extern "C" fn(u64, u32, *mut c_void)>, data: Host, flags: u32,
    ) {
        let handle = stream.bits();
        let (driver, context, stream) = submitting(stream)?;
        let function = function.ok_or(Code::INVALID_VALUE)?;
        ensure(flags == 0, Code::INVALID_VALUE)?;
        let callback = StreamCallback { function, stream: handle, data };
        driver.issue(&context, &stream, Work::Callback(callback))
    }
}
