//! What kernels print. As with a GPU, it is kept and written when a call waits for work, or by itself soon after.

use crate::handle::lock;
use softwarp::vm::threads::spawn;
use std::io::Write as _;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// After how long text is written by itself.
const DELAY: Duration = Duration::from_millis(50);

/// Text that was printed and not written yet.
#[derive(Debug, Default)]
pub struct Output {
    text: Mutex<String>,
    /// A thread is about to write.
    scheduled: AtomicBool,
    /// Something was printed.
    used: AtomicBool,
}

impl Output {
    /// Takes text.
    pub fn print(&'static self, text: &str) {
        lock(&self.text).push_str(text);
        self.used.store(true, Ordering::SeqCst);
        if !self.scheduled.swap(true, Ordering::SeqCst) {
            let later = move || {
                std::thread::sleep(DELAY);
                self.scheduled.store(false, Ordering::SeqCst);
                self.flush();
            };
            if spawn("softwarp printf", later).is_err() {
                self.scheduled.store(false, Ordering::SeqCst);
                self.flush();
            }
        }
    }

    /// Whether something was ever printed.
    pub fn is_used(&self) -> bool {
        self.used.load(Ordering::SeqCst)
    }

    /// Writes what there is.
    pub fn flush(&self) {
        let mut kept = lock(&self.text);
        if !kept.is_empty() {
            let mut out = std::io::stdout().lock();
            let _ = out.write_all(kept.as_bytes()).and_then(|()| out.flush());
            kept.clear();
        }
    }
}
