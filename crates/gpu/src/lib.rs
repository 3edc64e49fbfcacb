//! Launches on a GPU, through the CUDA driver of the system.
//!
//! The driver's library (`libcuda.so.1`) is opened at run time. A launch runs in a worker, a process of its own
//! ([`worker`]): a kernel that faults takes the context with it, one that never ends is stopped by ending the process, and
//! what a kernel writes to wrong addresses cannot be memory of the process that asked. [`Client`] starts workers and talks to
//! them; a [`Job`] is what a worker is asked to do, in the driver's own numbers.
//!
//! `unsafe` is in `raw` and `driver` alone.

pub mod client;
pub mod driver;
pub mod error;
pub mod job;
mod raw;
pub mod session;
mod wire;
pub mod worker;

pub use client::{Client, ClientError};
pub use driver::{Device, Driver};
pub use error::{DriverError, Failure, Stage};
pub use job::Job;

/// The devices of a driver, in its order.
pub fn devices(driver: Option<&std::path::Path>) -> Result<Vec<Device>, DriverError> {
    let driver = Driver::open(driver)?;
    driver.init()?;
    (0..driver.device_count()?).map(|number| driver.device(number)).collect()
}
