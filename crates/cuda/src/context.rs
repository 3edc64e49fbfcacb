//! Contexts, and each thread's stack of them.

use crate::code::{Code, Done};
use crate::handle::{Handle, Handled, Kind, lock};
use crate::limits::COUNT;
use crate::stream::Stream;
use crate::thread;
use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// A context.
#[derive(Debug, Default)]
pub struct Context {
    /// Its own handle.
    pub handle: u64,
    /// A number that no other context has.
    pub id: u64,
    /// The device that it is for.
    pub device: u32,
    /// Whether it is the device's primary context.
    pub primary: bool,
    /// Whether it was made by the first version of the API, which has other functions for memory.
    pub old: bool,
    /// Its flags, as `cuCtxGetFlags` gives them.
    pub flags: AtomicU32,
    /// It is there: it was not destroyed, and a primary one is retained.
    pub active: AtomicBool,
    /// Its limits, by number.
    pub limits: [AtomicU64; COUNT],
    /// Which cache is preferred, as it was set.
    pub cache: AtomicU32,
    /// The size of shared memory banks, as it was set.
    pub banks: AtomicU32,
    /// How often it is attached, in the old way.
    pub attached: AtomicU32,
    /// The legacy default stream.
    pub legacy: Arc<Stream>,
}

impl Handled for Context {
    const KIND: Kind = Kind::Context;
}

thread_local! {
    /// The context on top of the thread's stack. Like the others without a destructor it is there until the process ends:
    /// functions that `exit` calls find it.
    static TOP: Cell<Option<Handle<Context>>> = const { Cell::new(None) };
    /// Those below it, the last on top. A context stays on the stack when it is destroyed.
    static BELOW: RefCell<Vec<Handle<Context>>> = const { RefCell::new(Vec::new()) };
    static PER_THREAD: Cell<bool> = const { Cell::new(false) };
    static IN_HOST_FUNCTION: Cell<bool> = const { Cell::new(false) };
}

/// What threads that end push above their top: each entry with the number of its thread.
static LATE: Mutex<Vec<(u64, Handle<Context>)>> = Mutex::new(Vec::new());

/// The context on top of the thread's stack.
pub fn current() -> Option<Handle<Context>> {
    TOP.get()
}

/// Puts a context on the thread's stack.
pub fn push(context: Handle<Context>) {
    if let Some(before) = TOP.replace(Some(context))
        && BELOW.try_with(|below| below.borrow_mut().push(before)).is_err()
    {
        lock(&LATE).push((thread::number(), before));
    }
}

/// Takes the context on top from the thread's stack.
pub fn pop() -> Option<Handle<Context>> {
    let next = BELOW.try_with(|below| below.borrow_mut().pop()).unwrap_or_else(|_| {
        let mut late = lock(&LATE);
        let at = late.iter().rposition(|(thread, _)| *thread == thread::number())?;
        Some(late.remove(at).1)
    });
    TOP.replace(next)
}

/// Replaces the context on top of the thread's stack; none takes it away.
pub fn replace(context: Option<Handle<Context>>) {
    match context {
        Some(_) => TOP.set(context),
        None => {
            pop();
        }
    }
}

/// Does something with the null stream meaning the thread's own.
pub fn with_per_thread_stream<R>(f: impl FnOnce() -> R) -> R {
    let before = PER_THREAD.replace(true);
    let result = f();
    PER_THREAD.set(before);
    result
}

/// Whether the null stream means the thread's own.
pub fn has_per_thread_stream() -> bool {
    PER_THREAD.get()
}

/// Does something as a function of the program that a stream calls: it must not call the driver.
pub fn in_host_function<R>(f: impl FnOnce() -> R) -> R {
    IN_HOST_FUNCTION.set(true);
    let result = f();
    IN_HOST_FUNCTION.set(false);
    result
}

/// Whether the thread is in a function that a stream called.
pub fn ensure_not_in_host_function() -> Done {
    if IN_HOST_FUNCTION.get() { Err(Code::NOT_PERMITTED) } else { Ok(()) }
}

impl Context {
    /// Whether it can be used.
    pub fn is_active(&self) -> bool {
        self.active.load(Ordering::SeqCst)
    }
}
