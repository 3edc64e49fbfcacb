//! `softwarp layout`: where the variables of PTX files are in memory, and what they hold before a kernel runs.

use super::checking::ErrorColour;
use super::files::Output;
use super::linked::{LinkedArgs, check_outlines, laid_out};
use super::progress::Working;
use super::{CommandError, Printed, output, sources};
use crate::layout::{View, json, svg, table};
use softwarp::image::Windows;
use std::path::PathBuf;

/// Show where the variables of PTX files are in memory, and what they hold at first
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    #[command(flatten)]
    linked: LinkedArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Draw a map of the memory into this file instead of printing tables; `-` is standard output
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Place the state spaces too: tell absolute addresses, and put them into the bytes
    #[arg(long)]
    bases: bool,
    #[command(flatten)]
    colour: ErrorColour,
}

const HELP: &str = "\
Offsets count from the start of what a variable lives in: its state space (of .const, its bank),
for .local the frame of its function, for .param the parameters. Several files are linked as the
linker would. Errors go to standard error as `softwarp check` shows them, with exit code 1.

JSON fields:
  version, target, address_size
  variables: name, space, function (or null), type, dims, align, size, offset (null for registers
    and for what is defined elsewhere), init (all bytes in hexadecimal, zero where addresses go;
    null if nothing was given), relocations (offset, width, symbol, addend, kind: generic, offset
    or function, byte: null, or which byte of the address is stored; offsets of constants are
    settled and in init unless --relocatable), linkage (or null), attributes
  kernels: name, params (name, offset, size, align, ptr: null, or space and align), param_bytes,
    align, shared_static, shared_dynamic_offset (or null), local_bytes (the stack, callees
    included), recursive, stack_per_round
  functions: name, linkage, defined, returns, params, param_bytes, return_bytes, frame_bytes,
    local_bytes, recursive
Where they apply, variables also have:
  bank        of .const, unless it is 0
  count       how many members of a family a row stands for: all if they are registers; of others,
              the first 65536 have rows of their own
  handle_bytes  of textures, samplers and surfaces, whose size is 0: what their handles take
  members     of handles, by name, null if not given; for an array, a list of the elements that
              were given any
  init_zeros  of a variable of more than 16 MiB: init ends with the last byte that was written; this
              is the number of bytes that follow. They are zero, except for
  init_runs   what was written far out (offset, bytes), where init would otherwise be more than
              16 MiB longer than what was written
  file        with several files; functions and kernels have it too
  address     with --bases, or null; functions and kernels have it too. init then has addresses
              in place

Examples:
  softwarp layout kernel.ptx
  softwarp layout --json a.ptx b.ptx
  softwarp layout --svg map.svg kernel.ptx
  nvcc -ptx -o - kernel.cu | softwarp layout --bases -";

/// Runs the command.
pub fn run(args: &Args) -> Result<Printed, CommandError> {
    let options = args.linked.options()?;
    let to_stdout = args.svg.as_deref().is_some_and(sources::is_standard_input);
    if to_stdout && args.json {
        return Err(CommandError::usage("--json and --svg - cannot both write to standard output"));
    }
    let sources = args.linked.read(options)?.sources;
    let colour = args.colour.wanted();
    let working = Working::begin("laying out");
    let checked = check_outlines(&sources, options, colour)?;
    let image = laid_out(&sources, &checked, options, colour)?;
    let files: Vec<&str> = sources.iter().map(|source| source.name.as_str()).collect();
    let windows = args.bases.then(|| Windows::for_target(image.header.address_bits, image.header.arch));
    let view = View { image: &image, files: &files, windows: windows.as_ref() };
    drop(working);
    if let Some(path) = &args.svg {
        let drawing = svg::draw(&view);
        if to_stdout {
            return Ok(drawing.into());
        }
        Output::write(path, drawing.as_bytes())?;
    }
    let mut printed = Printed::default();
    if args.json {
        // As it goes: JSON can be much longer than the files.
        output::stdout(|out| json::write(&view, out))?;
    } else if args.svg.is_none() {
        printed = table::table(&view).into();
    }
    // The process ends here. Giving every name and row back first would take a tenth of the time.
    std::mem::forget((image, checked));
    Ok(printed)
}
