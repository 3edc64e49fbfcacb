//! The CUDA driver of the system: which one, which GPU, how long.

use super::CommandError;
use super::checking::seconds;
use crate::gpu::{Gpu, GpuError};
use crate::verify::gpu::OnGpuError;
use softwarp_gpu::{Client, ClientError};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// How long starting, compiling and running take at most, unless the user says otherwise.
const LIMIT: Duration = Duration::from_secs(60);

/// The word by which this program is told to be the process that uses the GPU.
const WORKER: &str = "gpu-worker";

/// Which GPU, by which driver.
#[derive(Clone, Debug, clap::Args)]
pub struct DriverArgs {
    /// With a GPU: its number
    #[arg(long, value_name = "N")]
    device: Option<i32>,
    /// With a GPU: the driver's library; without it, what SOFTWARP_GPU_DRIVER says, else the system's libcuda.so.1
    #[arg(long, value_name = "PATH")]
    driver: Option<PathBuf>,
    /// With a GPU: how long starting it, compiling a module and running its kernels may take, each; 60 without it
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    timeout: Option<Duration>,
}

impl DriverArgs {
    /// One of the options that is given, if any is.
    pub fn given(&self) -> Option<&'static str> {
        let given = [
            ("--device", self.device.is_some()),
            ("--driver", self.driver.is_some()),
            ("--timeout", self.timeout.is_some()),
        ];
        given.into_iter().find(|(_, given)| *given).map(|(option, _)| option)
    }

    /// Whether a GPU is the one that is asked for, if one is.
    pub fn is_chosen(&self, number: i32) -> bool {
        self.device.is_none_or(|device| device == number)
    }

    /// The driver's library, where it is not the system's.
    pub fn library(&self) -> Option<PathBuf> {
        let set =
            || std::env::var_os("SOFTWARP_GPU_DRIVER").filter(|path| !path.is_empty()).map(PathBuf::from);
        self.driver.clone().or_else(set)
    }

    /// The GPU. Nothing is started yet.
    pub fn gpu(&self) -> Result<Gpu, CommandError> {
        let executable = super::exec::command()
            .ok_or_else(|| CommandError::Io("cannot find the file of this program".to_owned()))?;
        let mut words = vec![OsString::from(WORKER), self.device.unwrap_or(0).to_string().into()];
        words.extend(self.library().map(PathBuf::into_os_string));
        let command = move || {
            let mut command = Command::new(&executable);
            command.args(&words);
            command
        };
        Ok(Gpu::new(Client::new(command, self.timeout.unwrap_or(LIMIT))))
    }
}

/// Whether the words of a call say that it is the process that uses the GPU.
pub fn is_worker(words: &[OsString]) -> bool {
    words.get(1).is_some_and(|word| word == WORKER)
}

/// Serves jobs on standard input, which is a socket; gives the exit code.
pub fn work(words: &[OsString]) -> u8 {
    let device = words.get(2).and_then(|word| word.to_str()).and_then(|word| word.parse().ok());
    let library = words.get(3).map(Path::new);
    match device.map(|device| softwarp_gpu::worker::on_standard_input(library, device)) {
        Some(Ok(())) => 0,
        _ => 2,
    }
}

/// Why there is no GPU to use; what to do about it.
pub fn no_gpu(error: &ClientError) -> String {
    match error {
        ClientError::Device(failure)
            if failure.code.is_none() && failure.message.contains("cannot be opened") =>
        {
            missing(error)
        }
        _ => error.to_string(),
    }
}

/// The driver is not there.
pub fn missing(error: &dyn std::fmt::Display) -> String {
    format!(
        "{error}; this needs an NVIDIA GPU and its driver: install the driver, or name its library with --driver or \
         SOFTWARP_GPU_DRIVER"
    )
}

/// Why nothing could be held against a GPU.
pub fn on_gpu(error: OnGpuError) -> CommandError {
    match error {
        OnGpuError::Golden(error) => super::verify::unreadable(error),
        OnGpuError::Gpu(GpuError::Client(error)) => CommandError::Io(no_gpu(&error)),
        OnGpuError::Gpu(error) => CommandError::Input(error.to_string()),
    }
}
