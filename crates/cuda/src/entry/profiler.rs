//! The profiler (driver API: "Profiler Control"): there is none. And a function of softwarp's own for test runners.

use crate::code::Code;
use crate::driver::{current, driver, existing, report};
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

    /// Reports what would be reported at the end of the process: blocks of the device's heap that no kernel has freed.
    /// Those that were reported are not reported again. No driver has this function; softwarp's plugin for pytest calls it.
    fn softwarpReportLeaks() {
        if let Some(driver) = existing() {
            report::leaks(driver);
        }
        Ok(())
    }
}
