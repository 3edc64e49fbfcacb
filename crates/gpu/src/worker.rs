//! The worker: a process that runs jobs, one after another, until it is told to end or a kernel has failed.

use crate::driver::{Device, Driver};
use crate::error::{DriverError, Failure, Stage};
use crate::job::{Blob, Job};
use crate::session;
use crate::wire::{Reply, receive, send};
use std::io::{self, Read, Write};
use std::path::Path;

fn start(library: Option<&Path>, number: i32) -> Result<(Driver, Device), DriverError> {
    let driver = Driver::open(library)?;
    driver.init()?;
    let count = driver.device_count()?;
    if !(0..count).contains(&number) {
        let have = match count {
            0 => "the driver has none".to_owned(),
            1 => "there is one, device 0".to_owned(),
            _ => format!("there are {count}, from 0 to {}", count - 1),
        };
        return Err(DriverError::Unusable(format!("there is no device {number}: {have}")));
    }
    let device = driver.device(number)?;
    driver.use_device(number)?;
    Ok((driver, device))
}

/// Serves jobs on standard input, a socket that answers go to as well. Standard output is left to what kernels print.
#[cfg(unix)]
pub fn on_standard_input(library: Option<&Path>, device: i32) -> io::Result<()> {
    use std::os::fd::AsFd;
    let socket = io::stdin().as_fd().try_clone_to_owned()?;
    let stream = std::os::unix::net::UnixStream::from(socket);
    serve(library, device, &mut io::BufReader::new(&stream), &mut io::BufWriter::new(&stream))
}

/// Serves jobs that come on a stream, and answers on another. It ends where the first ends, or after a failure that the
/// context does not survive.
pub fn serve(library: Option<&Path>, device: i32, from: &mut dyn Read, to: &mut dyn Write) -> io::Result<()> {
    let driver = match start(library, device) {
        Ok((driver, device)) => {
            send(to, &Reply::Ready(device), &[])?;
            driver
        }
        Err(error) => return send(to, &Reply::Failed(Failure::new(Stage::Device, &error)), &[]),
    };
    loop {
        let (mut job, blobs): (Job, _) = match receive(from) {
            Ok(message) => message,
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
            Err(error) => return Err(error),
        };
        job.blobs = blobs;
        let mut unsent = Ok(());
        let done = session::run(&driver, &job, &mut || unsent = send(to, &Reply::Loaded, &[]));
        unsent?;
        match done {
            Ok(results) => {
                let (names, blobs): (Vec<String>, Vec<Vec<u8>>) = results.memories.into_iter().unzip();
                let memories = names.into_iter().enumerate().map(|(index, name)| (name, Blob(index)));
                send(to, &Reply::Done(memories.collect(), results.addresses), &blobs)?;
            }
            Err(failure) => {
                let ends = failure.stage == Stage::Execution;
                send(to, &Reply::Failed(failure), &[])?;
                if ends {
                    return Ok(());
                }
            }
        }
    }
}
