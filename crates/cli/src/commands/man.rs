//! `softwarp man`: the manual pages, made from the help.

use super::files::Output;
use super::{CommandError, Printed, remark, sources};
use std::path::PathBuf;

/// Print the manual page, or write those of all commands into a folder
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    /// The folder, in which softwarp.1, softwarp-check.1 and so on are written; without it, or for `-`, softwarp(1) is printed
    #[arg(value_name = "DIR")]
    folder: Option<PathBuf>,
}

const HELP: &str = "\
Examples:
  softwarp man | man -l -
  softwarp man ~/.local/share/man/man1";

/// Runs the command.
pub fn run(args: &Args) -> Result<Printed, CommandError> {
    let cli = super::cli();
    let Some(folder) = args.folder.as_ref().filter(|folder| !sources::is_standard_input(folder)) else {
        return Ok(page(&cli)?.into());
    };
    std::fs::create_dir_all(folder)
        .map_err(|error| CommandError::Io(format!("cannot write {}: {error}", folder.display())))?;
    let mut written = 0;
    write(&cli, folder, &mut written)?;
    remark(&format!("{written} pages written to {}", folder.display()));
    Ok(Printed::default())
}

/// Writes the page of a command and those of its commands.
fn write(command: &clap::Command, folder: &std::path::Path, written: &mut usize) -> Result<(), CommandError> {
    let name = command.get_display_name().unwrap_or_else(|| command.get_name());
    Output::write(&folder.join(format!("{name}.1")), page(command)?.as_bytes())?;
    *written += 1;
    let inner = command.get_subcommands().filter(|inner| inner.get_name() != "help" && !inner.is_hide_set());
    inner.into_iter().try_for_each(|inner| write(inner, folder, written))
}

fn page(command: &clap::Command) -> Result<String, CommandError> {
    let mut page = Vec::new();
    let rendered = clap_mangen::Man::new(command.clone()).render(&mut page);
    rendered.map_err(|error| CommandError::Io(error.to_string()))?;
    Ok(String::from_utf8_lossy(&page).into_owned())
}
