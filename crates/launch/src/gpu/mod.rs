//! Launches on a GPU of this computer, and how what it computes compares with what the machine does.
//!
//! [`mod@job`] makes jobs of launch files, [`mod@compare`] compares memories, [`mod@writer`] finds the thread that wrote a place
//! last.

pub mod compare;
pub mod job;
pub mod writer;

use crate::run::file::{FileError, LaunchFile};
use crate::run::{Memories, Memory, RunError};
use serde_json::{Value as Json, json};
use softwarp::isa::{Target, Variant};
use softwarp::source::Source;
use softwarp_gpu::job::Results;
use softwarp_gpu::{Client, ClientError, Device, Failure};

/// Why there are no results of a GPU.
#[derive(Debug, thiserror::Error)]
pub enum GpuError {
    /// The launch file asks for what a GPU, or its driver, does not do.
    #[error(transparent)]
    File(#[from] FileError),
    /// The module is for another GPU.
    #[error("{0}")]
    Target(String),
    /// The driver, or the process that uses it, failed.
    #[error("{}", told(.0))]
    Client(#[from] ClientError),
}

fn told(error: &ClientError) -> String {
    match error {
        ClientError::Job(failure) if failure.name.as_deref() == Some(TOO_NEW) => {
            format!(
                "{failure}\nthe driver is older than the PTX: `.version` may be lowered if nothing newer is used, or the \
                 driver updated"
            )
        }
        _ => error.to_string(),
    }
}

/// The driver does not know the version of PTX.
const TOO_NEW: &str = "CUDA_ERROR_UNSUPPORTED_PTX_VERSION";

impl GpuError {
    /// What stopped a kernel that ran, if that is what happened.
    pub fn fault(&self) -> Option<&Failure> {
        match self {
            GpuError::Client(ClientError::Job(failure))
                if failure.stage == softwarp_gpu::Stage::Execution =>
            {
                Some(failure)
            }
            _ => None,
        }
    }

    /// Whether it took too long.
    pub fn timed_out(&self) -> bool {
        matches!(self, GpuError::Client(ClientError::TimedOut(_)))
    }

    /// Whether it is about this one program: another may still run.
    pub fn is_about_program(&self) -> bool {
        !matches!(self, GpuError::Client(ClientError::Start(_) | ClientError::Device(_)))
    }
}

/// A GPU of this computer.
pub struct Gpu {
    client: Client,
}

impl Gpu {
    /// One that a client talks to.
    pub fn new(client: Client) -> Gpu {
        Gpu { client }
    }

    /// What it is.
    pub fn device(&mut self) -> Result<Device, GpuError> {
        Ok(self.client.device()?)
    }

    /// Runs what a launch file says, and reads memories back.
    pub fn run(
        &mut self,
        file: &LaunchFile,
        sources: &[Source],
        read: Vec<String>,
    ) -> Result<Results, GpuError> {
        let device = self.device()?;
        for source in sources {
            is_for(source, &device).map_err(GpuError::Target)?;
        }
        let texts = sources.iter().map(|source| source.text.clone()).collect();
        Ok(self.client.run(&job::job(file, texts, read)?)?)
    }
}

/// The name of a device's architecture.
pub fn architecture(device: &Device) -> String {
    let (major, minor) = device.compute_capability;
    format!("sm_{major}{minor}")
}

/// A device in a few words.
pub fn in_words(device: &Device) -> String {
    let driver = device.driver.as_ref().map_or(String::new(), |driver| format!(", driver {driver}"));
    format!("{} ({}, CUDA {}{driver})", device.name, architecture(device), device.cuda)
}

/// A device for programs.
pub fn in_json(device: &Device) -> Json {
    let (major, minor) = device.compute_capability;
    let mut json = json!({
        "name": device.name,
        "compute_capability": format!("{major}.{minor}"),
        "cuda": device.cuda,
    });
    if let Some(driver) = &device.driver {
        json["driver"] = driver.as_str().into();
    }
    json
}

/// The `.target` of a module.
fn target(text: &str) -> Option<Target> {
    let line = text.lines().find_map(|line| line.trim_start().strip_prefix(".target"))?;
    let name = line.split([',', ' ', '\t', ';', '/']).find(|word| !word.is_empty())?;
    Target::from_name(name.trim())
}

/// Whether a module can be compiled for a device; else why not.
fn is_for(source: &Source, device: &Device) -> Result<(), String> {
    let Some(target) = target(&source.text) else { return Ok(()) };
    let (major, minor) = device.compute_capability;
    let sm = u16::try_from(major * 10 + minor).unwrap_or(u16::MAX);
    let family = |sm: u16| Target::all().find(|one| one.sm() == sm).and_then(Target::family);
    let why = match target.variant() {
        Variant::Baseline if sm >= target.sm() => return Ok(()),
        Variant::Baseline => "and such code runs on that GPU and later ones",
        Variant::Architecture if sm == target.sm() => return Ok(()),
        Variant::Architecture => "and such code runs on no other GPU",
        Variant::Family if sm >= target.sm() && target.family() == family(sm) => return Ok(()),
        Variant::Family => "and such code runs on the same family alone",
    };
    Err(format!(
        "{}: the PTX is for {}, {why}: the GPU is {} ({})",
        source.name,
        target.name(),
        architecture(device),
        device.name
    ))
}

impl Memories for Results {
    fn memory(&self, name: &str) -> Result<Memory<'_>, RunError> {
        match self.memories.iter().find(|(known, _)| known == name) {
            Some((_, bytes)) => Ok(Memory::of(bytes)),
            None => Err(RunError::File(FileError::new("dump", format!("`{name}` was not read back")))),
        }
    }

    fn has(&self, _: &LaunchFile, name: &str) -> bool {
        self.memories.iter().any(|(known, _)| known == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn can_run(target: &str, capability: (u32, u32)) -> bool {
        let text = format!("// .target sm_10\n.version 8.8\n.target {target}, debug\n");
        let device = Device {
            number: 0,
            name: "a GPU".to_owned(),
            compute_capability: capability,
            memory: 0,
            multiprocessors: 1,
            cuda: "13.0".to_owned(),
            driver: None,
        };
        is_for(&Source::new("k.ptx", text.into_bytes()), &device).is_ok()
    }

    #[test]
    fn code_runs_on_the_gpus_that_its_target_allows() {
        for (target, capability, runs) in [
            ("sm_80", (9, 0), true),
            ("sm_90", (9, 0), true),
            ("sm_90a", (9, 0), true),
            ("sm_90a", (10, 0), false),
            ("sm_100", (9, 0), false),
            ("sm_100a", (9, 0), false),
            ("sm_100f", (10, 3), true),
            ("sm_100f", (12, 0), false),
            ("sm_100a", (10, 3), false),
            ("sm_90", (20, 0), true),
        ] {
            assert_eq!(can_run(target, capability), runs, "{target} on {capability:?}");
        }
    }
}
