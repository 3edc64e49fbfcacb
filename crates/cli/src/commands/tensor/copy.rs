//! `softwarp tensor copy`: performs a copy on files, and says which bytes it moves.

use super::super::files::Output;
use super::super::{CommandError, Printed, columns, sources};
use super::CopyArgs;
use crate::npy::Array;
use crate::tensors::request::Copy;
use serde_json::{Value as Json, json};
use softwarp::tensor::copy::{load, store};
use softwarp::tensor::{Direction, Run, Source};
use std::path::{Path, PathBuf};

/// Perform a copy, and show which bytes go where
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A load reads --input as global memory, from the tensor's address on: a .npy array or plain bytes. It
writes to --output the shared memory that the copy may touch, from the shared address on; what it does
not touch is zero. A store or reduction reads --input as shared memory from the shared address on and
writes to --output all of global memory, which was --global before, or zero.

JSON fields: mode, direction, at, offsets, shared, transaction_bytes (of loads), footprint (bytes of
shared memory), runs (global: byte offset or null if out of bounds; shared: address; bytes).

Examples:
  softwarp tensor copy map.json --at 0,8
  softwarp tensor copy map.json --at 0,8 --input tensor.npy --output tile.bin
  softwarp tensor copy map.json --at 0,8 --reduce add --input tile.bin \\
      --global old.bin --output new.bin")]
pub struct Args {
    #[command(flatten)]
    copy: CopyArgs,
    /// The memory to copy from; `-` is standard input
    #[arg(long, value_name = "FILE", requires = "output")]
    input: Option<PathBuf>,
    /// What is in global memory before a store or reduction; `-` is standard input [default: zeros]
    #[arg(long, value_name = "FILE", requires = "input")]
    global: Option<PathBuf>,
    /// Where to write the memory that was copied to; `-` is standard output, which then has nothing else
    #[arg(long, value_name = "FILE", requires = "input")]
    output: Option<PathBuf>,
    /// Print JSON, with all runs
    #[arg(long)]
    json: bool,
}

/// The most runs that people are shown.
const SHOWN: usize = 32;
/// The largest memory that is read or made.
const LARGEST: u64 = 4 << 30;

/// Runs the command.
pub fn run(args: &Args) -> Result<Printed, CommandError> {
    let files: Vec<PathBuf> = [&args.input, &args.global].into_iter().flatten().cloned().collect();
    sources::only_one_standard_input(&[vec![args.copy.map.file.clone()], files].concat())?;
    let copy = args.copy.copy()?;
    if copy.request.direction == Direction::Load && args.global.is_some() {
        return Err(CommandError::usage("--global is for stores and reductions; a load reads --input"));
    }
    if let Some(input) = &args.input {
        if let Some(output) = &args.output {
            Output::unless_both_to_stdout(output, args.json)?;
        }
        let written = perform(&copy, input, args.global.as_deref())?;
        if let Some(output) = &args.output {
            Output::write(output, &written)?;
            // Standard output has the memory.
            if sources::is_standard_input(output) {
                return Ok(Printed::default());
            }
        }
    }
    let text = if args.json { super::super::json(&in_json(&copy)) } else { in_words(&copy) };
    Ok(text.into())
}

/// The memory that was copied to.
fn perform(copy: &Copy, input: &Path, global: Option<&Path>) -> Result<Vec<u8>, CommandError> {
    let name = sources::name(input);
    // The walk is bounded by the size of shared memory.
    let (start, length) = (copy.request.shared as usize, copy.walk.footprint() as usize);
    let failure = |failure: softwarp::tensor::CopyFault| CommandError::input(&name, failure);
    if copy.request.direction == Direction::Load {
        let tensor = memory(copy, input)?;
        let mut shared = vec![0; start + length];
        load(&copy.map, &copy.request, tensor.as_slice(), &mut shared).map_err(failure)?;
        return Ok(shared.split_off(start));
    }
    let mut shared = vec![0; start];
    shared.extend(memory(copy, input)?);
    if shared.len() < start + length {
        // What a swizzle could reach behind the last row need not be there.
        let (_, pitch) = copy.walk.row_bytes();
        let needed = copy.walk.rows().saturating_mul(pitch.into());
        if ((shared.len() - start) as u64) < needed {
            let found = shared.len() - start;
            return Err(CommandError::input(
                &name,
                format!("{found} bytes; the copy reads {needed} of shared memory"),
            ));
        }
        shared.resize(start + length, 0);
    }
    let mut tensor = match global {
        Some(path) => memory(copy, path)?,
        None => {
            let end = copy.walk.clone().filter_map(|run| match run.source {
                Source::Global(at) => at.checked_add(run.length.into()),
                Source::Fill => Some(0),
            });
            let bytes = end.max().unwrap_or(0);
            if bytes > LARGEST {
                let why = format!("the copy writes up to byte {bytes} of the tensor, which is too far");
                return Err(CommandError::Input(why));
            }
            vec![0; bytes as usize]
        }
    };
    store(&copy.map, &copy.request, &shared, tensor.as_mut_slice()).map_err(failure)?;
    Ok(tensor)
}

/// The bytes of a file: an array's data, or all of it.
fn memory(copy: &Copy, path: &Path) -> Result<Vec<u8>, CommandError> {
    let name = sources::name(path);
    let bytes = super::read(path, LARGEST)?;
    if !bytes.starts_with(b"\x93NUMPY") {
        return Ok(bytes);
    }
    let array = Array::from_bytes(&bytes).map_err(|error| CommandError::input(&name, error))?;
    let (dtype, element) = (array.header.dtype, copy.map.element);
    if dtype.bytes() != u64::from(element.bits().div_ceil(8)) {
        return Err(CommandError::input(&name, format!("the array holds {dtype}, and the tensor {element}")));
    }
    if dtype.order == crate::npy::Order::Big || array.header.fortran_order && array.header.shape.len() > 1 {
        let why =
            "the array is big-endian or in Fortran order; save numpy.ascontiguousarray(x, '<…') instead";
        return Err(CommandError::input(&name, why));
    }
    Ok(array.data)
}

fn in_words(copy: &Copy) -> String {
    let walk = &copy.walk;
    let mut text = format!("{}\n", copy.title());
    if copy.request.direction == Direction::Load {
        text += &format!("mbarrier: {} bytes\n", walk.transaction_bytes());
    }
    let (bytes, pitch) = walk.row_bytes();
    let every = if bytes == pitch { String::new() } else { format!(", one every {pitch}") };
    text += &format!("{} {}s of {bytes} bytes{every}\n\n", walk.rows(), copy.row_word());
    let mut lines = vec![["global", "shared", "bytes"].map(str::to_owned).to_vec()];
    let mut runs = walk.clone();
    lines.extend(runs.by_ref().take(SHOWN).map(|run| {
        let global = match (run.source, copy.request.direction) {
            (Source::Global(at), _) => format!("{at:#x}"),
            (Source::Fill, Direction::Load) => "fill".to_owned(),
            (Source::Fill, _) => "skipped".to_owned(),
        };
        vec![global, format!("{:#x}", run.shared), run.length.to_string()]
    }));
    text += &columns(&lines);
    match runs.count() {
        0 => {}
        more => text += &format!("… {more} more runs (--json has all)\n"),
    }
    text
}

fn in_json(copy: &Copy) -> Json {
    let run = |run: Run| {
        let global = match run.source {
            Source::Global(at) => Some(at),
            Source::Fill => None,
        };
        json!({"global": global, "shared": run.shared, "bytes": run.length})
    };
    let load = copy.request.direction == Direction::Load;
    json!({
        "mode": copy.request.mode.name(), "direction": copy.verb(), "at": copy.coordinates(),
        "offsets": copy.offsets(), "shared": copy.request.shared,
        "transaction_bytes": load.then(|| copy.walk.transaction_bytes()),
        "footprint": copy.walk.footprint(),
        "runs": copy.walk.clone().map(run).collect::<Vec<Json>>(),
    })
}
