//! Events (driver API: "Event Management").

use super::stream::{event, submitting};
use crate::code::{Code, Done, ensure};
use crate::driver::capture::Status;
use crate::driver::event::{Event, Recorded};
use crate::driver::work::{EventOf, Reached, Work};
use crate::driver::{Driver, current, driver};
use crate::ffi::Out;
use crate::handle::{Handle, Missing, lock};
use crate::stream::Stream;
use std::sync::{Arc, Mutex};

/// `CU_EVENT_DISABLE_TIMING`
const NO_TIMING: u32 = 2;
/// `CU_EVENT_INTERPROCESS`
const INTERPROCESS: u32 = 4;

fn record(recorded: Handle<Event>, stream: Handle<Stream>, flags: u32) -> Done {
    let (driver, context, stream) = submitting(stream)?;
    let event = event(driver, recorded)?;
    ensure(event.context == stream.context, Code::INVALID_HANDLE)?;
    if flags == 1 && driver.captures.status(stream.id) != Status::None {
        return driver.issue(&context, &stream, Work::RecordEvent(EventOf { handle: recorded, event }));
    }
    ensure(flags != 1, Code::ILLEGAL_STATE)?;
    ensure(flags == 0, Code::INVALID_VALUE)?;
    if let Some(captured) = driver.captures.record(stream.id)? {
        *lock(&event.recorded) = Recorded { captured: Some(captured), ..Recorded::default() };
        return Ok(());
    }
    let time = Reached::default();
    driver.issue(&context, &stream, Work::Reach(time.clone()))?;
    set_recorded(&event, &stream, time);
    Ok(())
}

/// Notes that an event was recorded by the last work of a stream, which keeps the time.
pub(crate) fn set_recorded(event: &Event, stream: &Stream, time: Reached) {
    let done = stream.pending().or_else(|| Some(Arc::default())).filter(|_| lock(&time).is_none());
    *lock(&event.recorded) = Recorded { done, time, captured: None };
}

/// Whether an event's point was reached. An event that was never recorded counts as reached.
fn is_reached(event: &Event) -> bool {
    event.recorded().done.is_none_or(|done| done.is_done())
}

fn by_handle(handle: Handle<Event>) -> Result<(&'static Driver, Arc<Event>), Code> {
    let driver = driver()?;
    ensure(!handle.is_null(), Code::INVALID_HANDLE)?;
    let found = driver.events.get(handle).map_err(|missing| match missing {
        Missing::Destroyed => Code::CONTEXT_IS_DESTROYED,
        Missing::Never => Code::INVALID_CONTEXT,
    })?;
    let context = driver.contexts.get(Handle::of(found.context)).map_err(|_| Code::INVALID_CONTEXT)?;
    ensure(context.is_active(), Code::CONTEXT_IS_DESTROYED)?;
    driver.check_fault()?;
    Ok((driver, found))
}

fn elapsed(to: Out<f32>, start: Handle<Event>, end: Handle<Event>) -> Done {
    let (_, start) = by_handle(start)?;
    let (_, end) = by_handle(end)?;
    let never = |event: &Event| {
        !event.timed || event.recorded().done.is_none() && lock(&event.recorded().time).is_none()
    };
    ensure(!never(&start) && !never(&end), Code::INVALID_HANDLE)?;
    ensure(!to.is_null(), Code::INVALID_HANDLE)?;
    ensure(is_reached(&start) && is_reached(&end), Code::NOT_READY)?;
    // One after the other: both may be the same event.
    let from = *lock(&start.recorded().time);
    let until = *lock(&end.recorded().time);
    let (Some(from), Some(until)) = (from, until) else {
        return Err(Code::NOT_READY);
    };
    let seconds = match until >= from {
        true => (until - from).as_secs_f64(),
        false => -(from - until).as_secs_f64(),
    };
    to.set((seconds * 1e3) as f32)
}

crate::entries! {
    /// Makes an event.
    fn cuEventCreate(to: Out<Handle<Event>>, flags: u32) {
        let (driver, context) = current()?;
        to.required()?;
        ensure(flags & !7 == 0, Code::INVALID_VALUE)?;
        // An event of several processes has no time.
        ensure(flags & INTERPROCESS == 0 || flags & NO_TIMING != 0, Code::INVALID_VALUE)?;
        let event = Event {
            context: context.handle,
            timed: flags & NO_TIMING == 0,
            shared: flags & INTERPROCESS != 0,
            recorded: Mutex::default(),
        };
        to.set(driver.events.insert(Arc::new(event)).ok_or(Code::OUT_OF_MEMORY)?)
    }

    /// Destroys an event.
    fn cuEventDestroy_v2(destroyed: Handle<Event>) {
        let (driver, _) = by_handle(destroyed)?;
        driver.events.remove(destroyed).map(drop).map_err(|_| Code::CONTEXT_IS_DESTROYED)
    }

    /// Records an event: it is reached when all work that the stream has now is done.
    fn cuEventRecord / cuEventRecord_ptsz(recorded: Handle<Event>, stream: Handle<Stream>) {
        record(recorded, stream, 0)
    }

    /// Records an event.
    fn cuEventRecordWithFlags / cuEventRecordWithFlags_ptsz(recorded: Handle<Event>, stream: Handle<Stream>, flags: u32) {
        record(recorded, stream, flags)
    }

    /// Whether an event was reached.
    fn cuEventQuery(queried: Handle<Event>) {
        let (driver, event) = by_handle(queried)?;
        driver.captures.forbid_event(event.recorded().captured.as_ref())?;
        ensure(is_reached(&event), Code::NOT_READY)
    }

    /// Waits until an event is reached.
    fn cuEventSynchronize(waited: Handle<Event>) {
        let (driver, event) = by_handle(waited)?;
        driver.captures.forbid_event(event.recorded().captured.as_ref())?;
        if let Some(done) = event.recorded().done {
            driver.finish_task(&done);
        }
        driver.check_fault()
    }

    /// Milliseconds from one event to another.
    fn cuEventElapsedTime(milliseconds: Out<f32>, start: Handle<Event>, end: Handle<Event>) {
        elapsed(milliseconds, start, end)
    }

    /// Milliseconds from one event to another.
    fn cuEventElapsedTime_v2(milliseconds: Out<f32>, start: Handle<Event>, end: Handle<Event>) {
        elapsed(milliseconds, start, end)
    }
}
