//! Launches of kernels.

use super::{Driver, report};
use crate::code::Code;
use crate::handle::Handle;
use crate::module::Function;
use softwarp::isa::Target;
use softwarp::vm::device::{ClusterError, Launch, LaunchError, NestedLaunch, NestedLaunches};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, OnceLock};

/// What is launched.
#[derive(Clone, Debug, Default)]
pub struct Request {
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) cluster: Option<[u32; 3]>,
    /// Larger clusters that blocks may be grouped into instead.
    pub(crate) preferred_cluster: Option<[u32; 3]>,
    pub(crate) cooperative: bool,
    pub(crate) shared: u32,
    /// It may begin before what is before it in the stream has ended. It does not, but graphs say so.
    pub(crate) programmatic: bool,
}

/// A launch that was checked.
#[derive(Debug)]
pub struct KernelLaunch {
    /// The handle that was given: that of a function or of a kernel.
    pub(crate) handle: Handle<Function>,
    /// The function.
    pub(crate) function: Arc<Function>,
    /// The grid and so on.
    pub(crate) request: Request,
    /// The bytes of each parameter.
    pub(crate) arguments: Vec<Vec<u8>>,
    /// Where the bytes of each parameter are, once that was asked for.
    pub(crate) pointers: OnceLock<Vec<u64>>,
    /// Attributes that a node of a graph was given.
    pub(crate) attributes: BTreeMap<u32, [u32; 16]>,
}

/// The code for a launch that is refused.
pub(crate) fn code_of(error: &LaunchError) -> Code {
    match error {
        LaunchError::Cluster(ClusterError::Target { .. }) => Code::NOT_SUPPORTED,
        LaunchError::Cluster(_) => Code::INVALID_CLUSTER_SIZE,
        LaunchError::Cooperative { .. } => Code::COOPERATIVE_LAUNCH_TOO_LARGE,
        LaunchError::Unsupported(_) => Code::NOT_SUPPORTED,
        LaunchError::Memory(_) => Code::OUT_OF_MEMORY,
        LaunchError::Local { .. } => Code::LAUNCH_OUT_OF_RESOURCES,
        _ => Code::INVALID_VALUE,
    }
}

/// A launch as the machine takes it.
pub(crate) fn machine_launch<'a>(
    driver: &'a Driver,
    function: &'a Function,
    request: &Request,
    arguments: &'a [Vec<u8>],
) -> Launch<'a> {
    Launch {
        cancel: Some(driver.ending.stop()),
        module: function.id,
        cluster: request.cluster,
        cooperative: request.cooperative,
        dynamic_shared: request.shared,
        threads: driver.config.threads,
        sanitize: driver.config.sanitize,
        ..Launch::new(&function.name, request.grid, request.block, arguments)
    }
}

/// Runs a kernel to its end, with all that it launches. A fault is kept.
pub(crate) fn run(driver: &'static Driver, launch: &KernelLaunch) {
    let KernelLaunch { function, request, arguments, .. } = launch;
    let print = |text: &str| driver.print(text);
    let launch = Launch { print: Some(&print), ..machine_launch(driver, function, request, arguments) };
    let mut waiting = NestedLaunches::default();
    waiting.extend(execute(driver, &launch, function.newer));
    while driver.may_launch()
        && let Some(next) = waiting.take_next()
    {
        waiting.extend(execute(driver, &next.of(&launch), function.newer));
    }
    while waiting.take_next().is_some() {
        driver.lose();
    }
}

/// Runs one grid to its end; what it launched. `newer` is the GPU that its code is for, if this is an older one. A panic is a mistake of ours: the kernel ends with `CUDA_ERROR_UNKNOWN`.
fn execute(driver: &Driver, launch: &Launch<'_>, newer: Option<Target>) -> Vec<NestedLaunch> {
    driver.summary.begins(launch.kernel);
    // What the machine has half done is not looked at: every later call fails.
    let ended = match catch_unwind(AssertUnwindSafe(|| driver.machine.execute(launch))) {
        Ok(ended) => ended,
        Err(panic) => {
            report::panicked(driver, launch.kernel, &*panic);
            driver.set_fault(Code::UNKNOWN);
            return Vec::new();
        }
    };
    match ended {
        Ok(outcome) => {
            if let Some(newer) = newer {
                driver.summary.is_newer(newer.name());
            }
            report::ended(driver, launch, &outcome);
            outcome.nested
        }
        Err(error) => {
            let code = code_of(&error);
            driver.summary.did_not_begin(launch.kernel);
            report::refused(driver, launch.kernel, &error, code);
            driver.set_fault(code);
            Vec::new()
        }
    }
}
