//! Starts workers, gives them jobs, and ends those that take too long.

use crate::driver::Device;
use crate::error::Failure;
use crate::job::{Job, Results};
use crate::wire::{Reply, receive, send_job};
use std::io::{self, Read};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Why a job has no results.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The worker cannot be started.
    #[error("the process that uses the GPU cannot be started: {0}")]
    Start(io::Error),
    /// The device cannot be used.
    #[error("{0}")]
    Device(Failure),
    /// The job failed.
    #[error("{0}")]
    Job(Failure),
    /// It took too long.
    #[error("it did not end within {} s", .0.as_secs_f64())]
    TimedOut(Duration),
    /// The worker ended by itself.
    #[error("the process that uses the GPU ended: {0}")]
    Ended(String),
}

/// Where jobs are given to a worker, which is started when it is needed.
pub struct Client {
    /// Makes the command that starts one; its standard input is the stream to serve ([`crate::worker::serve`]).
    command: Box<dyn Fn() -> Command>,
    /// How long starting, compiling and running may take, each.
    limit: Duration,
    worker: Option<Worker>,
}

/// A worker that is there.
struct Worker {
    process: Child,
    stream: UnixStream,
    device: Device,
}

/// How long a worker may take to end by itself, so that what kernels printed is not lost.
const END: Duration = Duration::from_secs(5);

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.stream.shutdown(Shutdown::Write);
        let began = Instant::now();
        while matches!(self.process.try_wait(), Ok(None)) {
            if began.elapsed() > END {
                // It may run a kernel that never ends.
                let _ = self.process.kill();
                let _ = self.process.wait();
                return;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

/// In place of a time that no clock has.
const A_YEAR: Duration = Duration::from_secs(365 * 24 * 3600);

/// A stream that is read until a time.
struct Until<'a> {
    stream: &'a UnixStream,
    end: Instant,
}

impl Read for Until<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let left = self.end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.stream.set_read_timeout(Some(left))?;
        let mut stream = self.stream;
        stream.read(into)
    }
}

impl Client {
    /// Nothing is started yet.
    pub fn new(command: impl Fn() -> Command + 'static, limit: Duration) -> Client {
        Client { command: Box::new(command), limit, worker: None }
    }

    /// The device.
    pub fn device(&mut self) -> Result<Device, ClientError> {
        self.worker().map(|worker| worker.device.clone())
    }

    fn worker(&mut self) -> Result<&mut Worker, ClientError> {
        if self.worker.is_none() {
            self.worker = Some(self.start()?);
        }
        self.worker.as_mut().ok_or_else(|| ClientError::Ended("it was not there".to_owned()))
    }

    fn start(&self) -> Result<Worker, ClientError> {
        let (ours, theirs) = UnixStream::pair().map_err(ClientError::Start)?;
        let mut command = (self.command)();
        // What kernels print is no result.
        command.stdin(OwnedFd::from(theirs)).stdout(Stdio::from(io::stderr()));
        let mut process = command.spawn().map_err(ClientError::Start)?;
        // The command holds the other end: a worker that ends must be seen.
        drop(command);
        match answer(&ours, &mut process, self.limit)? {
            (Reply::Ready(device), _) => Ok(Worker { process, stream: ours, device }),
            (Reply::Failed(failure), _) => {
                let _ = process.wait();
                Err(ClientError::Device(failure))
            }
            _ => Err(ClientError::Ended("its first answer is none".to_owned())),
        }
    }

    /// Runs a job. After a failure of a kernel, or one that took too long, the next job gets another worker.
    pub fn run(&mut self, job: &Job) -> Result<Results, ClientError> {
        let limit = self.limit;
        let worker = self.worker()?;
        let done = worker.run(job, limit);
        let lives = match &done {
            Ok(_) => true,
            Err(ClientError::Job(failure)) => failure.stage != crate::error::Stage::Execution,
            Err(_) => false,
        };
        if !lives {
            self.worker = None;
        }
        done
    }
}

impl Worker {
    fn run(&mut self, job: &Job, limit: Duration) -> Result<Results, ClientError> {
        if let Err(error) = send_job(&mut (&self.stream), job) {
            return Err(ClientError::Ended(error.to_string()));
        }
        loop {
            match answer(&self.stream, &mut self.process, limit)? {
                (Reply::Loaded | Reply::Ready(_), _) => {}
                (Reply::Failed(failure), _) => return Err(ClientError::Job(failure)),
                (Reply::Done(names, addresses), mut blobs) => {
                    let mut take =
                        |index: usize| blobs.get_mut(index).map(std::mem::take).unwrap_or_default();
                    let memories = names.into_iter().map(|(name, blob)| (name, take(blob.0))).collect();
                    return Ok(Results { memories, addresses });
                }
            }
        }
    }
}

/// The next answer, within a time.
fn answer(
    stream: &UnixStream,
    process: &mut Child,
    limit: Duration,
) -> Result<(Reply, Vec<Vec<u8>>), ClientError> {
    let now = Instant::now();
    let mut until = Until { stream, end: now.checked_add(limit).unwrap_or(now + A_YEAR) };
    receive(&mut until).map_err(|error| match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
            let _ = process.kill();
            let _ = process.wait();
            ClientError::TimedOut(limit)
        }
        io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset => {
            ClientError::Ended(process.wait().map_or_else(|error| error.to_string(), how))
        }
        _ => ClientError::Ended(error.to_string()),
    })
}

fn how(status: ExitStatus) -> String {
    status.to_string()
}
