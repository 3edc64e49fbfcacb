//! The profiler (driver API: "Profiler Control"): there is none.

use crate::code::Code;
use crate::driver::{current, driver};
use crate::ffi::Text;

crate::entries! {
    /// Sets the profiler up.
    fn cuProfilerInitialize(_config: Text<'_>, _output: Text<'_>, _mode: u32) {
        driver()?;
        Err(Code::NOT_SUPPORTED)
    }

    /// Starts the profiler.
    fn cuProfilerStart() {
        current().map(drop)
    }

    /// Stops the profiler.
    fn cuProfilerStop() {
        current().map(drop)
    }
}
