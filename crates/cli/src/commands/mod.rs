//! The command line: arguments, dispatch, and what goes wrong.
//!
//! One file per command. Each computes first and renders then, into one string that is written at the end, or as it
//! goes where that can be long ([`output`]); errors are one line on standard error. Exit codes: 0 success, 1 the input
//! is at fault, 2 a usage error, or a file or stream cannot be read or written.

mod ast;
mod check;
mod checking;
mod completions;
mod constant;
mod containers;
mod cuda;
mod cvt;
mod debug;
mod dequantize;
mod diff;
mod driver;
mod exec;
mod explain;
mod fidelity;
mod files;
mod fmt;
mod formats;
mod gpu;
mod help;
mod jit;
mod kernels;
mod layout;
mod linked;
mod lower;
mod lsp;
mod machine_code;
mod man;
mod output;
mod progress;
mod ptxas;
mod quantize;
mod record;
mod run;
mod sources;
mod tensor;
mod verify;

use crate::columns::columns;
use crate::numbers::{json_number, json_value};
use clap::error::ErrorKind;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use std::ffi::OsString;
use std::process::ExitCode;

/// PTX in software, exact to the bit: run CUDA programs and kernels, check modules, convert numbers.
#[derive(Debug, Parser)]
#[command(
    name = "softwarp",
    version,
    after_help = HELP
)]
struct Cli {
    /// The longest file or stream that is read, in bytes, or with K, M or G; without it, 1G for PTX, 256M for
    /// JSON, 4G for data
    #[arg(long, global = true, value_name = "SIZE", value_parser = files::size)]
    max_input: Option<u64>,
    #[command(subcommand)]
    command: Command,
}

const HELP: &str = "\
What to use for what:
  run a CUDA program without a GPU        softwarp exec -- ./program
  run a kernel from a launch file         softwarp run launch.json
  run a kernel of PTX, CUDA C++, a cubin  softwarp run kernel.cu --arg f32:2
  step through a kernel                   softwarp debug launch.json
  find races and other bugs               softwarp run --sanitize all
  find them in a CUDA program             softwarp exec --check
  count instructions, line by line        softwarp run --stats=lines
  see which lines were executed           softwarp run --coverage lcov.info
  follow threads                          softwarp run --trace 0:5
  check PTX, also in CI                   softwarp check kernel.ptx
  see what a code means                   softwarp explain E0603
  put PTX into one layout                 softwarp fmt kernel.ptx
  take PTX out of a cubin or program      softwarp fmt kernel.cubin
  parse PTX                               softwarp ast --json kernel.ptx
  see the operations of a kernel          softwarp lower kernel.ptx
  see where variables are in memory       softwarp layout kernel.ptx
  stand in for ptxas                      softwarp ptxas
  convert numbers and arrays              softwarp cvt rn.f16.f32 1.5 -300
  quantize, and back                      softwarp quantize, softwarp dequantize
  compare arrays                          softwarp diff a.npy b.npy
  look number formats up                  softwarp formats e4m3
  evaluate a constant expression          softwarp const '(1 << 20) - 1'
  check, encode and draw tensor maps      softwarp tensor check map.json
  perform a tensor copy                   softwarp tensor copy map.json
  replay recorded results                 softwarp verify FOLDER
  list the GPUs of this computer          softwarp gpu
  run on a GPU, and compare               softwarp run --compare launch.json
  verify softwarp with your own GPU       softwarp verify --gpu FOLDER
  record what a GPU does                  softwarp record FOLDER OUT
  write PTX in an editor                  softwarp lsp
  complete commands in a shell            softwarp completions bash
  read the manual pages                   softwarp man | man -l -

Files: `-` is standard input, and standard output where a file is written.

Exit codes: 0 success, 1 the input is at fault, 2 usage error, or a file or stream cannot be read or
written. `softwarp exec` has those of the program, `softwarp ptxas` those of ptxas.";

// clap constructs the arguments of a subcommand only when it is called: constructing all of them takes longer than many
// commands run.
#[derive(Debug, Subcommand)]
#[command(defer = true)]
enum Command {
    Check(check::Args),
    Layout(layout::Args),
    Lower(lower::Args),
    Run(Box<run::Args>),
    Debug(debug::Args),
    Exec(exec::Args),
    Ptxas(ptxas::Args),
    Fmt(fmt::Args),
    Ast(ast::Args),
    Explain(explain::Args),
    Cvt(cvt::Args),
    Const(constant::Args),
    Tensor(tensor::Args),
    Quantize(quantize::Args),
    Dequantize(dequantize::Args),
    Diff(diff::Args),
    Formats(formats::Args),
    Verify(verify::Args),
    Record(record::Args),
    Gpu(gpu::Args),
    Completions(completions::Args),
    Lsp(lsp::Args),
    Man(man::Args),
}

/// Why a command failed: one line, and what the exit code is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CommandError {
    /// The content of a file, or what was asked about.
    Input(String),
    /// The arguments.
    Usage(String),
    /// A file or stream cannot be read or written.
    Io(String),
    /// One of these, which has been reported already; the exit code.
    Reported(u8),
}

impl CommandError {
    fn input(name: impl std::fmt::Display, why: impl std::fmt::Display) -> CommandError {
        CommandError::Input(format!("{name}: {why}"))
    }

    fn usage(why: impl std::fmt::Display) -> CommandError {
        CommandError::Usage(why.to_string())
    }

    /// What is still to say.
    fn line(&self) -> Option<&str> {
        match self {
            CommandError::Input(line) | CommandError::Usage(line) | CommandError::Io(line) => Some(line),
            CommandError::Reported(_) => None,
        }
    }

    fn code(&self) -> u8 {
        match self {
            CommandError::Input(_) => 1,
            CommandError::Usage(_) | CommandError::Io(_) => 2,
            CommandError::Reported(code) => *code,
        }
    }

    /// Says what there is to say now, so that the command can go on.
    fn report(&self) -> CommandError {
        self.line().iter().for_each(|line| print_error(line));
        CommandError::Reported(self.code())
    }
}

/// What a command prints, and its verdict if that was asked for and is bad.
#[derive(Debug, Default)]
struct Printed {
    text: String,
    failure: Option<CommandError>,
}

impl From<String> for Printed {
    fn from(text: String) -> Printed {
        Printed { text, failure: None }
    }
}

/// Runs the command that the process was called with.
pub fn main() -> ExitCode {
    ExitCode::from(run_words(std::env::args_os().collect()))
}

/// Runs the command that these words are, the program's name first; gives the exit code.
pub fn run_words(words: Vec<OsString>) -> u8 {
    if words.first().is_some_and(ptxas::is_called_so) {
        return finish(ptxas::assemble(&words[1..]));
    }
    if driver::is_worker(&words) {
        return driver::work(&words);
    }
    let cli = match parse(words.into_iter()) {
        Ok(cli) => cli,
        Err(error) => return refuse(&error),
    };
    files::set_limit(cli.max_input);
    let outcome = match cli.command {
        Command::Check(args) => check::run(&args),
        Command::Layout(args) => layout::run(&args),
        Command::Lower(args) => lower::run(&args),
        Command::Run(args) => run::run(&args),
        Command::Debug(args) => debug::run(&args),
        Command::Exec(args) => exec::run(&args),
        Command::Ptxas(args) => ptxas::run(&args),
        Command::Fmt(args) => fmt::run(&args),
        Command::Ast(args) => ast::run(&args),
        Command::Explain(args) => explain::run(&args),
        Command::Cvt(args) => cvt::run(&args),
        Command::Const(args) => constant::run(&args),
        Command::Tensor(args) => tensor::run(&args),
        Command::Quantize(args) => quantize::run(&args),
        Command::Dequantize(args) => dequantize::run(&args),
        Command::Diff(args) => diff::run(&args),
        Command::Formats(args) => formats::run(&args),
        Command::Verify(args) => verify::run(&args),
        Command::Record(args) => record::run(&args),
        Command::Gpu(args) => gpu::run(&args),
        Command::Completions(args) => completions::run(&args),
        Command::Lsp(args) => lsp::run(&args),
        Command::Man(args) => man::run(&args),
    };
    finish(outcome)
}

/// Prints what a command came to; gives the exit code.
fn finish(outcome: Result<Printed, CommandError>) -> u8 {
    let printed = outcome.unwrap_or_else(|failure| Printed { text: String::new(), failure: Some(failure) });
    let failures = [print(&printed.text).err(), printed.failure];
    end(failures.iter().flatten().map(|failure| failure.report().code()).max().unwrap_or(0))
}

/// The exit code, unless what was said on standard error was lost.
fn end(code: u8) -> u8 {
    if output::stderr_is_whole() { code } else { code.max(2) }
}

/// The command line as data, with the arguments of all commands.
fn cli() -> clap::Command {
    // clap's `help` lists the subcommands of a subcommand only if their construction is not deferred.
    let mut cli = Cli::command().mut_subcommands(|command| match command.get_name() {
        "tensor" => <tensor::Args as clap::Args>::augment_args(command.defer(|command| command)),
        _ => command,
    });
    cli.build();
    cli
}

fn parse(args: impl Iterator<Item = OsString>) -> Result<Cli, clap::Error> {
    let mut belongs_to_program = false;
    let words: Vec<OsString> = args
        .map(|word| {
            // What follows these two is for other programs to read.
            belongs_to_program |= word == "exec" || word == "ptxas";
            if belongs_to_program { word } else { keep_negative(word) }
        })
        .collect();
    let matches = match Cli::command().try_get_matches_from(&words) {
        Err(error) if is_help(&error) => help::fitted(cli()).try_get_matches_from(&words)?,
        matches => matches?,
    };
    Cli::from_arg_matches(&matches)
}

/// Whether help was asked for: its text needs the arguments of all subcommands.
fn is_help(error: &clap::Error) -> bool {
    matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand)
}

/// clap takes `-inf`, and some negative numbers, for flags. A typeset minus, which a number may have too,
/// makes them words like any other.
fn keep_negative(arg: OsString) -> OsString {
    let number = |word: &str| {
        let lower = word.to_ascii_lowercase();
        ["inf", "infinity", "nan"].contains(&lower.as_str())
            || lower.starts_with(|first: char| first == '.' || first.is_ascii_digit())
    };
    match arg.to_str().and_then(|text| text.strip_prefix('-')) {
        Some(word) if number(word) => format!("\u{2212}{word}").into(),
        _ => arg,
    }
}

/// Prints help or the version where that was asked for, else the error on one line.
fn refuse(error: &clap::Error) -> u8 {
    match error.kind() {
        ErrorKind::DisplayHelp
        | ErrorKind::DisplayVersion
        | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            end(print(&error.to_string()).err().map_or(0, |failure| failure.report().code()))
        }
        _ => {
            // Negative numbers were given with a typeset minus: see `keep_negative`.
            print_error(&one_line(&error.to_string()).replace('\u{2212}', "-"));
            end(2)
        }
    }
}

/// clap's message without its usage: the first paragraph on one line, and its tip if it has one.
fn one_line(message: &str) -> String {
    let words = |paragraph: &str| paragraph.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut paragraphs = message.split("\n\n").map(words);
    let first = paragraphs.next().unwrap_or_default();
    let first = first.strip_prefix("error: ").unwrap_or(&first).to_owned();
    match paragraphs.find(|paragraph| paragraph.starts_with("tip: ")) {
        Some(tip) => format!("{first}; {tip}"),
        None => first,
    }
}

/// Writes to standard output.
fn print(text: &str) -> Result<(), CommandError> {
    if text.is_empty() { Ok(()) } else { output::stdout(|out| out.write_all(text.as_bytes())) }
}

fn print_error(line: &str) {
    output::stderr(&format!("error: {line}\n"));
}

/// A remark on standard error that is no error.
fn remark(line: &str) {
    output::stderr(&format!("{line}\n"));
}

/// JSON, indented, with a line end.
fn json(value: &serde_json::Value) -> String {
    format!("{value:#}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arguments_are_consistent() {
        cli().debug_assert();
    }

    #[test]
    fn help_knows_subcommands_of_subcommands() {
        let cli = cli();
        let help = cli.find_subcommand("help").and_then(|help| help.find_subcommand("tensor"));
        assert!(help.is_some_and(|tensor| tensor.find_subcommand("copy").is_some()));
    }

    #[test]
    fn every_command_shows_an_example() {
        let mut commands: Vec<clap::Command> = cli().get_subcommands().cloned().collect();
        assert!(commands.len() > 15);
        while let Some(command) = commands.pop() {
            // clap's own command.
            if command.get_name() == "help" {
                continue;
            }
            commands.extend(command.get_subcommands().cloned());
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            let has_example = help.contains("Example:\n  ") || help.contains("Examples:\n  ");
            assert!(has_example && help.contains("softwarp "), "{}", command.get_name());
        }
    }
}
