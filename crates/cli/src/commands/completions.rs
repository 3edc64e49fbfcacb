//! `softwarp completions`: scripts that complete the command line in a shell.

use super::{CommandError, Printed};

/// Print a script that completes the command line in a shell
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    /// The shell
    #[arg(value_enum)]
    shell: clap_complete::Shell,
}

const HELP: &str = "\
Examples:
  softwarp completions bash > ~/.local/share/bash-completion/completions/softwarp
  softwarp completions zsh > ~/.zfunc/_softwarp
  softwarp completions fish > ~/.config/fish/completions/softwarp.fish";

/// Runs the command.
pub fn run(args: &Args) -> Result<Printed, CommandError> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut super::cli(), "softwarp", &mut script);
    Ok(String::from_utf8_lossy(&script).into_owned().into())
}
