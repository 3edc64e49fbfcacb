//! `softwarp gpu`: lists the GPUs of this computer.

use super::driver::{DriverArgs, missing};
use super::{CommandError, Printed};
use crate::columns::columns;
use crate::gpu::{architecture, in_json};
use serde_json::Value as Json;
use softwarp_gpu::{Device, DriverError};

/// List the GPUs of this computer, as its CUDA driver has them
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    #[command(flatten)]
    driver: DriverArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

const HELP: &str = "\
The number is what --device of `softwarp run --gpu`, `verify --gpu` and `record` takes.

Example:
  softwarp gpu";

/// Runs the command.
pub fn run(args: &Args) -> Result<Printed, CommandError> {
    let library = args.driver.library();
    let found = softwarp_gpu::devices(library.as_deref()).map_err(|error| match error {
        DriverError::Missing { .. } => CommandError::Io(missing(&error)),
        error => CommandError::Io(error.to_string()),
    })?;
    let chosen: Vec<&Device> = found.iter().filter(|device| args.driver.is_chosen(device.number)).collect();
    if args.json {
        let rows: Json = chosen.iter().map(|device| row(device)).collect();
        return Ok(super::json(&rows).into());
    }
    if chosen.is_empty() {
        return Err(CommandError::Input("the driver has no such GPU".to_owned()));
    }
    let line = |device: &&Device| {
        let gib = device.memory as f64 / f64::from(1 << 30);
        let driver = device.driver.as_ref().map_or(String::new(), |driver| format!(", driver {driver}"));
        vec![
            device.number.to_string(),
            device.name.clone(),
            architecture(device),
            format!("{gib:.1} GiB"),
            format!("{} multiprocessors", device.multiprocessors),
            format!("CUDA {}{driver}", device.cuda),
        ]
    };
    let rows: Vec<Vec<String>> = chosen.iter().map(line).collect();
    Ok(columns(&rows).into())
}

fn row(device: &Device) -> Json {
    let mut row = in_json(device);
    row["number"] = device.number.into();
    row["memory"] = device.memory.into();
    row["multiprocessors"] = device.multiprocessors.into();
    row
}
