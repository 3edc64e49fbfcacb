//! The functions of the runtime API, one module for each of its chapters.
//!
//! A function is declared with [`entries!`](crate::entries). Its body gives `Ok(())` or a code, which becomes the last
//! error of the thread.

pub mod array;
pub mod array_copy;
pub mod batch_copy;
pub mod capture;
pub mod copy;
pub mod device;
pub mod entry_point;
pub mod error;
pub mod graph;
pub mod graph_copy;
pub mod graph_kernel;
pub mod graph_node;
pub mod ipc;
pub mod launch;
pub mod library;
pub mod memory;
pub mod pool;
pub mod registration;
pub mod stream;
pub mod texture;
pub mod user_object;

use crate::code::{Code, Done, note};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;

/// Runs the body of a function: a panic, which is a mistake here, is `cudaErrorUnknown`.
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
    let result = catch_unwind(AssertUnwindSafe(body)).unwrap_or(Err(Code::UNKNOWN));
    let code = result.err().unwrap_or(Code::SUCCESS);
    note(code);
    if *TRACE.get_or_init(|| std::env::var_os("SOFTWARP_TRACE").is_some_and(|value| value == "1")) {
        eprintln!("softwarp: {name} -> {}", code.0);
    }
    code.0
}

/// Declares exported functions. `cudaX / cudaX_ptsz(…)` has a twin for which the null stream is the thread's own.
#[macro_export]
macro_rules! entries {
    ($($(#[$meta:meta])* fn $name:ident $(/ $twin:ident)? ($($argument:ident: $type:ty),* $(,)?) $body:block)*) => {
        $(
            $(#[$meta])*
            #[allow(clippy::too_many_arguments, reason = "the arguments are those of the C API")]
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
        #[allow(clippy::too_many_arguments, reason = "the arguments are those of the C API")]
        #[unsafe(no_mangle)]
        pub extern "C" fn $twin($($argument: $type),*) -> u32 {
            $crate::driver::with_per_thread_stream(|| $name($($argument),*))
        }
    };
}
