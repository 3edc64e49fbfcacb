//! `softwarp ptxas`: stands in for NVIDIA's assembler where a tool insists on one. It takes ptxas's options, checks the
//! input by its rules, reports errors in its form, and hands the PTX through as the output, which softwarp's driver
//! library loads in place of a cubin. A link by the name `ptxas` to the softwarp executable does the same.

mod options;

use super::checking::errors;
use super::{CommandError, Printed, files, output, sources};
use options::{Input, Invocation};
use softwarp::check;
use softwarp::source::Source;
use softwarp::syntax::{Diagnostic, Severity};
use std::ffi::OsString;
use std::path::Path;

/// Stand in for ptxas: check PTX and hand it through
#[derive(Debug, clap::Args)]
#[command(after_help = HELP, disable_help_flag = true)]
pub struct Args {
    /// As ptxas takes them
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "OPTION")]
    words: Vec<OsString>,
}

pub(super) const HELP: &str = "\
Usage: softwarp ptxas [options] FILE.ptx

`-` in place of the file is standard input.

It takes the options of ptxas 13.4. These have an effect:
  -arch, --gpu-name SM     check for this GPU; the module's .target without it
  -o, --output-file FILE   where the PTX goes, with a NUL at its end; elf.o without it; `-` is standard output
  -c, --compile-only       names may be defined elsewhere
  -fmad, --fmad=false      written into the output: softwarp's driver does not contract products and sums
  -optf, --options-file F  more options
  -ias, --input-as-string  the PTX itself instead of a file
  -v, --verbose            a line about each input
  -w, --disable-warnings   no warnings
  -Werror                  warnings are errors
  --version, --list-arch, --help
The others of ptxas's options are taken and do nothing; unknown ones are warned about.

Exit code 0, or 255 if the PTX, an option or a file is at fault, as with ptxas.

Examples:
  softwarp ptxas -arch=sm_90 -o kernel.cubin kernel.ptx
  ln -s \"$(command -v softwarp)\" ptxas && TRITON_PTXAS_PATH=$PWD/ptxas python3 kernel.py";

/// ptxas's exit code for every failure.
const FAILED: CommandError = CommandError::Reported(255);

/// Whether the executable was called by the name `ptxas`.
pub fn is_called_so(name: &OsString) -> bool {
    Path::new(name).file_name().is_some_and(|name| name == "ptxas")
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Printed, CommandError> {
    assemble(&args.words)
}

/// Does what the options say.
pub fn assemble(words: &[OsString]) -> Result<Printed, CommandError> {
    let invocation = Invocation::parse(words).map_err(|why| fatal(&why))?;
    if let Some(text) = information(&invocation) {
        return Ok(text.into());
    }
    if !invocation.no_warnings {
        for option in &invocation.unknown {
            say("warning", &format!("Unknown option '{option}' is ignored"));
        }
    }
    let [input] = invocation.inputs.as_slice() else {
        return Err(fatal(match invocation.inputs.len() {
            0 => "No input file was given",
            _ => "softwarp takes one input file at a time",
        }));
    };
    let source = match input {
        Input::File(path) => sources::read(path).map_err(|_| {
            let name = path.display();
            output::stderr(&format!("ptxas fatal   : Input file '{name}' could not be opened\n"));
            fatal(ABORTED)
        })?,
        Input::Text(text) => Source::new("<ptx string>", text.clone().into_bytes()),
    };
    check(&source, &invocation)?;
    let text = handed_through(&source.text, &invocation);
    files::Output::write(&invocation.output, text.as_bytes())
        .map_err(|_| fatal(&format!("Could not open output file '{}'", invocation.output.display())))?;
    Ok(Printed::default())
}

const ABORTED: &str = "Ptx assembly aborted due to errors";

/// What is printed instead of an assembly, if that was asked for.
fn information(invocation: &Invocation) -> Option<String> {
    let asked = invocation.asked?;
    Some(match asked {
        options::Asked::Version => format!(
            "ptxas: softwarp {} in place of the PTX assembler\n\
             Cuda compilation tools, release 13.4, V13.4.0\n",
            env!("CARGO_PKG_VERSION")
        ),
        options::Asked::Help => format!("{HELP}\n"),
        options::Asked::Targets => {
            let names = softwarp::isa::Target::all().filter(|target| target.sm() >= 75);
            names.map(|target| format!("{}\n", target.name())).collect()
        }
    })
}

/// Reports what is wrong with the text.
fn check(source: &Source, invocation: &Invocation) -> Result<(), CommandError> {
    let diagnostics = source.diagnose(check::Options {
        arch: invocation.arch,
        relocatable: invocation.relocatable,
        strict: false,
    });
    for diagnostic in &diagnostics {
        let is_error = diagnostic.severity() == Severity::Error || invocation.warnings_are_errors;
        if is_error || !invocation.no_warnings {
            output::stderr(&line(source, diagnostic, is_error));
        }
    }
    let failed =
        errors(&diagnostics).next().is_some() || (invocation.warnings_are_errors && !diagnostics.is_empty());
    if failed {
        return Err(fatal(ABORTED));
    }
    if invocation.verbose {
        let name = &source.name;
        say("info   ", &format!("'{name}' is PTX that can be assembled; it is handed through unchanged"));
    }
    Ok(())
}

/// `ptxas x.ptx, line 3; error   : message`
fn line(source: &Source, diagnostic: &Diagnostic, is_error: bool) -> String {
    let line = source.position(diagnostic.span().start).line;
    let word = if is_error { "error  " } else { "warning" };
    let message = diagnostic.message.replace('\n', " ");
    format!("ptxas {}, line {line}; {word} : {message}\n", source.name)
}

/// The text as the driver library takes it: what changes results goes before it, a NUL behind it.
fn handed_through(text: &str, invocation: &Invocation) -> String {
    let told = match invocation.fmad {
        Some(false) => "/* softwarp ptxas: -fmad false */ ",
        _ => "",
    };
    // The text ends at the first NUL.
    let text = text.split('\0').next().unwrap_or_default();
    format!("{told}{text}\0")
}

fn fatal(why: &str) -> CommandError {
    say("fatal  ", why);
    FAILED
}

fn say(word: &str, message: &str) {
    output::stderr(&format!("ptxas {word} : {message}\n"));
}
