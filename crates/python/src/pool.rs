//! The threads that work on arrays and launches.
//!
//! `fork` copies the memory of a process, but of its threads only the one that calls it. A process that is made so has
//! a pool of its own, since the threads of the usual one are not there.

use rayon::{ThreadPool, ThreadPoolBuilder};
use std::process;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// The process that first worked: its pool is rayon's usual one.
static FIRST: OnceLock<u32> = OnceLock::new();
/// The pool of a process that was forked from it.
static FORKED: Mutex<Option<(u32, Arc<ThreadPool>)>> = Mutex::new(None);

/// Runs work whose parallel parts are for the threads of this process.
pub fn on_pool<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    let own = process::id();
    if *FIRST.get_or_init(|| own) == own {
        return work();
    }
    let pool = {
        let mut forked = FORKED.lock().unwrap_or_else(PoisonError::into_inner);
        match &*forked {
            Some((of, pool)) if *of == own => Some(Arc::clone(pool)),
            _ => ThreadPoolBuilder::new().build().ok().map(|pool| {
                let pool = Arc::new(pool);
                // That of a process before this one is forgotten: its threads would be waited for.
                std::mem::forget(forked.replace((own, Arc::clone(&pool))));
                pool
            }),
        }
    };
    match pool {
        Some(pool) => pool.install(work),
        // Without threads, the work is done here.
        None => work(),
    }
}
