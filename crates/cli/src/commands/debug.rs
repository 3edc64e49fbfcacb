//! `softwarp debug`: runs kernels step by step, forward and backward, from a terminal or an editor.

mod adapter;
mod answers;
mod commands;
mod inspect;
mod protocol;
mod show;
mod target;
mod terminal;

use super::{CommandError, Printed, run};
use std::path::PathBuf;

/// Run kernels step by step, forward and backward
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    /// Speak the Debug Adapter Protocol on standard input and output: for editors
    #[arg(long, exclusive = true)]
    dap: bool,
    /// Execute a command before asking for one; can be given several times
    #[arg(long = "ex", value_name = "COMMAND")]
    commands: Vec<String>,
    /// Execute the commands of a file, one on each line
    #[arg(short = 'x', long = "command", value_name = "FILE")]
    script: Option<PathBuf>,
    /// End after these commands, instead of asking for more
    #[arg(long)]
    batch: bool,
    #[command(flatten)]
    run: run::LaunchArgs,
}

const HELP: &str = "\
Commands are those of gdb and cuda-gdb where these have them; `help` lists them, `help break` and the like
explain them. The launch stops before the first instruction. Break by a line of the PTX (break 12), of the
program that it was made from (break kernel.cu:12), or a function or label, with a condition
(break 12 if %tid.x == 5 && f32(%r3) > 1.0). step and next go to another source line where the PTX has
.loc, else by instruction; stepi, nexti by instruction; reverse-step, reverse-continue and the like go back.

Kernels run in the same order each time, on one thread of this computer; clocks count their reads. To go
back, they are run again from the start.

The launch is given as for `softwarp run`. An editor starts `softwarp debug --dap`, and sends the launch
file or PTX as `program` and the other arguments as `args` (docs/debugging.md).

Examples:
  softwarp debug examples/saxpy.json
  softwarp debug --batch --ex 'break saxpy if %tid.x == 5' --ex continue --ex 'info registers' \\
      examples/saxpy.json";

/// Runs the command.
pub fn run(args: &Args) -> Result<Printed, CommandError> {
    if args.dap {
        return adapter::run();
    }
    terminal::run(args)
}
