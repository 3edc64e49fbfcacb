//! The functions of the driver API, one module for each of its chapters.
//!
//! A function is declared with [`entries!`](crate::entries). Its body gives `Ok(())` or a code. Arguments are checked in
//! the order in which the driver checks them, as recorded.

pub mod array;
pub mod capture;
pub mod context;
pub mod copy;
pub mod copy_rows;
pub mod device;
pub mod device_properties;
pub mod event;
pub mod graph;
pub mod graph_any;
pub mod graph_condition;
pub mod graph_exec;
pub mod graph_kernel;
pub mod graph_memory;
pub mod graph_node;
pub mod graph_operation;
pub mod init;
pub mod ipc;
pub mod launch;
pub mod launch_old;
pub mod link;
pub mod managed;
pub mod memory;
pub mod memory_batch;
pub mod module;
pub mod occupancy;
pub mod peer;
pub mod pointer;
pub mod pool;
pub mod profiler;
pub mod stream;
pub mod stream_attribute;
pub mod stream_memory;
pub mod tensor_map;
pub mod texture;
pub mod texture_reference;
pub mod unsupported;
pub mod user_object;
pub mod virtual_memory;

use crate::code::{Code, Done};
use crate::driver::ending;
use crate::thread;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;

/// Runs the body of a function: a panic, which is a mistake here, is `CUDA_ERROR_UNKNOWN`.
#[inline]
pub fn enter(name: &'static str, body: impl FnOnce() -> Done) -> u32 {
    let mut body = Some(body);
    enter_once(name, &mut || match body.take() {
        Some(body) => body(),
        None => Err(Code::UNKNOWN),
    })
}

/// [`enter`], compiled once for all functions.
fn enter_once(name: &'static str, body: &mut dyn FnMut() -> Done) -> u32 {
    static TRACE: OnceLock<bool> = OnceLock::new();
    thread::notice();
    let result = catch_unwind(AssertUnwindSafe(body)).unwrap_or(Err(Code::UNKNOWN));
    let code = result.err().unwrap_or(Code::SUCCESS);
    ending::after_the_end();
    if flushes(name) {
        crate::driver::flush_output();
    }
    if *TRACE.get_or_init(|| crate::config::Config::from_environment().trace) {
        eprintln!("softwarp: {name} -> {}", code.0);
    }
    code.0
}

/// Whether a call writes what kernels printed. Those that only submit work or ask for settings leave it for later, and
/// `cuStreamQuery` does it itself.
fn flushes(name: &str) -> bool {
    let later = ["cuLaunch", "cuEventRecord", "cuCtxGet", "cuCtxSet", "cuStreamQuery"];
    !later.iter().any(|start| name.starts_with(start)) && !name.contains("Async")
}

/// Declares exported functions. `cuX / cuX_ptsz(…)` has a twin for which the null stream is the thread's own.
#[macro_export]
macro_rules! entries {
    ($($(#[$meta:meta])* fn $name:ident $(/ $twin:ident)? ($($argument:ident: $type:ty),* $(,)?) $body:block)*) => {
        $(
            $(#[$meta])*
            #[unsafe(no_mangle)]
            pub extern "C" fn $name($($argument: $type),*) -> u32 {
                $crate::entry::enter(stringify!($name), move || $body)
            }
            $crate::entries!(@twin $name $($twin)? ($($argument: $type),*));
        )*
    };
    (@twin $name:ident ($($argument:ident: $type:ty),*)) => {};
    (@twin $name:ident $twin:ident ($($argument:ident: $type:ty),*)) => {
        #[doc = concat!("The same as [`", stringify!($name), "`] with the thread's own default stream.")]
        #[unsafe(no_mangle)]
        pub extern "C" fn $twin($($argument: $type),*) -> u32 {
            $crate::context::with_per_thread_stream(|| $name($($argument),*))
        }
    };
}
