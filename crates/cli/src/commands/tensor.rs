//! `softwarp tensor`: tensor maps checked, encoded and decoded; tensor copies performed, shown and drawn.

mod copy;
mod draw;
mod object;
mod show;

use super::checking::{count, target};
use super::files::read;
use super::{CommandError, Printed, remark, sources};
use crate::codes;
use crate::tensors::file::{self, MapFile};
use crate::tensors::request::{self, Asked, Copy, Refusal};
use serde_json::{Value as Json, json};
use softwarp::diagnostic::{Diagnostic, Severity};
use softwarp::isa::Target;
use softwarp::tensor::reduce::Operation;
use softwarp::tensor::{Description, Direction, Map, Mode};
use std::path::PathBuf;

/// Judge, make, read, perform and draw tensor maps and tensor copies
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

const HELP: &str = "\
A map is a JSON file; `-` is standard input. Names, or the driver's numbers:
  {\"kind\": \"tiled\", \"type\": \"f16\", \"dims\": [64, 64], \"box\": [64, 8], \"swizzle\": \"128B\"}
  kind     tiled (box), im2col (lower, upper, channels, pixels) or wide (wide: w or w128, and those)
  type     u8 … u64, s32, s64, f16, bf16, f32, f64, f32.ftz, tf32, tf32.ftz, b4x16, b4x16_p64, b6x16_p32
  dims     elements, the fastest dimension first; strides: bytes, from dimension 1 (without it, dense)
  others   address (0), element_strides (1), interleave, swizzle, promotion, fill (none), target (sm_90)

Or {\"object\": HEX}, or a file of the 128 bytes that the driver makes.

Examples:
  softwarp tensor check map.json
  softwarp tensor encode map.json --c
  softwarp tensor copy map.json --at 0,8
  softwarp tensor draw map.json --at 0,8 --svg copy.svg --html copy.html";

#[derive(Debug, clap::Subcommand)]
enum Command {
    Check(CheckArgs),
    Encode(object::EncodeArgs),
    Decode(object::DecodeArgs),
    Copy(copy::Args),
    Show(show::Args),
    Draw(draw::Args),
}

/// Say everything that is wrong with a map, and what would be right
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  softwarp tensor check map.json --arch sm_100")]
struct CheckArgs {
    #[command(flatten)]
    map: MapArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Printed, CommandError> {
    match &args.command {
        Command::Check(args) => check(args),
        Command::Encode(args) => object::encode(args),
        Command::Decode(args) => object::decode(args),
        Command::Copy(args) => copy::run(args),
        Command::Show(args) => show::run(args),
        Command::Draw(args) => draw::run(args),
    }
}

/// A map, and the target that it is for.
#[derive(Debug, clap::Args)]
struct MapArgs {
    /// The map: a JSON file, or the 128 bytes; `-` is standard input
    #[arg(value_name = "MAP")]
    file: PathBuf,
    /// The GPU, as in sm_100, unless the file names one [default: sm_90]
    #[arg(long, value_name = "SM", alias = "target")]
    arch: Option<String>,
}

impl MapArgs {
    fn name(&self) -> String {
        sources::name(&self.file)
    }

    fn read(&self) -> Result<(MapFile, Target), CommandError> {
        let given = self.arch.as_deref().map(target).transpose()?.map(Target::baseline);
        let file = file::read(&read(&self.file, file::LONGEST)?);
        let arch = given.or(file.target).unwrap_or(Target::SM_90);
        Ok((file, arch))
    }

    /// The map, or what is wrong with it on standard error.
    fn legal(&self) -> Result<(Description, Map, Target), CommandError> {
        let (file, arch) = self.read()?;
        let findings = file.check(arch);
        let refused = MapFile::is_refused(&findings);
        let shown = findings.iter().filter(|one| !refused || one.severity() == Severity::Error);
        for finding in shown {
            remark(in_words(finding).trim_end());
        }
        let map =
            file.description.as_ref().filter(|_| !refused).map(|description| Map::new(description, arch));
        match (file.description.clone(), map) {
            (Some(description), Some(Ok(map))) => Ok((description, map, arch)),
            _ => {
                remark(&summary(&findings, &self.name(), arch));
                Err(CommandError::Reported(1))
            }
        }
    }
}

fn check(args: &CheckArgs) -> Result<Printed, CommandError> {
    let (file, arch) = args.map.read()?;
    let findings = file.check(arch);
    let refused = MapFile::is_refused(&findings);
    let map = file.description.as_ref().and_then(|description| Map::new(description, arch).ok());
    let failure = refused.then_some(CommandError::Reported(1));
    if args.json {
        let json = json!({
            "file": args.map.name(), "target": arch.to_string(), "legal": !refused,
            "findings": findings.iter().map(in_json).collect::<Vec<Json>>(),
            "copied_bytes": map.filter(|_| !refused).map(|map| map.copied_bytes()),
        });
        return Ok(Printed { text: super::json(&json), failure });
    }
    let mut text: String = findings.iter().map(in_words).collect();
    text += &summary(&findings, &args.map.name(), arch);
    text.push('\n');
    if let Some(map) = map.filter(|_| !refused) {
        text += &format!("a copy completes {} bytes on its mbarrier\n", map.copied_bytes());
    }
    Ok(Printed { text, failure })
}

/// `error[E1013]: strides[0] = 1000 is not a multiple of 16`, and what would be right.
fn in_words(finding: &Diagnostic) -> String {
    let mut text = format!("{}[{}]: {}\n", finding.severity().name(), finding.code, finding.message);
    if let Some(fix) = &finding.help {
        text += &format!("  fix: {fix}\n");
    }
    text + "\n"
}

fn in_json(finding: &Diagnostic) -> Json {
    json!({
        "code": finding.code.0, "severity": finding.severity().name(), "message": finding.message,
        "title": codes::title(finding.code), "fix": finding.help,
    })
}

/// "map.json is legal on sm_90", "2 errors, 1 warning in map.json (sm_90)"
fn summary(findings: &[Diagnostic], name: &str, arch: Target) -> String {
    let errors = findings.iter().filter(|one| one.severity() == Severity::Error).count();
    let warnings = findings.len() - errors;
    let counts: Vec<String> =
        [(errors, "error"), (warnings, "warning")].into_iter().filter(|(n, _)| *n > 0).map(count).collect();
    match errors {
        0 if warnings == 0 => format!("{name} is legal on {arch}"),
        0 => format!("{name} is legal on {arch}, with {}", counts.join(", ")),
        _ => format!("{} in {name} ({arch})", counts.join(", ")),
    }
}

/// The instruction.
#[derive(Debug, clap::Args)]
struct CopyArgs {
    #[command(flatten)]
    map: MapArgs,
    /// Coordinates, the fastest dimension first; for gather4 the column and four rows [default: the first legal]
    #[arg(long, value_name = "C0,C1,…", allow_hyphen_values = true)]
    at: Option<String>,
    /// im2col offsets in W, H, D; for im2col::w wHalo and wOffset [default: 0]
    #[arg(long, value_name = "W,H,D")]
    offsets: Option<String>,
    /// tile, gather4, scatter4, im2col, im2col_no_offs, im2col::w, im2col::w::128 [default: by the map]
    #[arg(long)]
    mode: Option<String>,
    /// Store instead of load
    #[arg(long)]
    store: bool,
    /// Reduce instead of load: add, min, max, inc, dec, and, or, xor
    #[arg(long, value_name = "OP", conflicts_with = "store")]
    reduce: Option<String>,
    /// The address in shared memory
    #[arg(long, value_name = "ADDRESS", default_value = "0")]
    shared: String,
}

impl CopyArgs {
    fn asked(&self) -> Result<Asked, CommandError> {
        let named = |option: &str, why: String| CommandError::Usage(format!("{option}: {why}"));
        let at = self.at.as_deref().map(request::numbers).transpose().map_err(|why| named("--at", why))?;
        let offsets = self.offsets.as_deref().map(request::numbers).transpose();
        let offsets = offsets.map_err(|why| named("--offsets", why))?;
        let shared = request::number(&self.shared).map_err(|why| named("--shared", why))?;
        let unknown = |what: &str, given: &str, known: Vec<&str>| {
            let shown: String = given.chars().take(32).flat_map(char::escape_debug).collect();
            CommandError::Usage(format!("`{shown}` is not a {what}; there are {}", known.join(", ")))
        };
        let mode =
            match &self.mode {
                None => None,
                Some(name) => Some(request::mode(name).ok_or_else(|| {
                    unknown("mode", name, Mode::ALL.iter().map(|mode| mode.name()).collect())
                })?),
            };
        let direction = match &self.reduce {
            None if self.store => Direction::Store,
            None => Direction::Load,
            Some(name) => Direction::Reduce(Operation::from_name(name).ok_or_else(|| {
                unknown("reduction", name, Operation::ALL.iter().map(|one| one.name()).collect())
            })?),
        };
        Ok(Asked { at, offsets, mode, direction, shared })
    }

    fn copy(&self) -> Result<Copy, CommandError> {
        let asked = self.asked()?;
        let (_, map, arch) = self.map.legal()?;
        Copy::new(map, arch, &asked).map_err(|refusal| match refusal {
            Refusal::Usage(why) => CommandError::Usage(why),
            failure => CommandError::input(self.map.name(), failure),
        })
    }
}
