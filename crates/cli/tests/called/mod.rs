//! The command line, called: for the tests of its commands.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// What a call came to.
pub struct Ran {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Ran {
        Ran {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8(output.stdout).expect("text"),
            stderr: String::from_utf8(output.stderr).expect("text"),
        }
    }
}

/// The binary with arguments, to be run in a folder; what surrounds the test does not colour its output.
pub fn command(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_softwarp"));
    command.args(args).current_dir(folder).stdin(Stdio::null()).env_remove("NO_COLOR");
    command
}

/// Calls the binary with something on standard input.
pub fn call(mut command: Command, input: &[u8]) -> Ran {
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = piped.spawn().expect("the binary runs");
    // A call that refuses its arguments does not read.
    let _ = child.stdin.take().expect("a pipe").write_all(input);
    child.wait_with_output().expect("it ends").into()
}
