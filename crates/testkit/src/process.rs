//! Running a program: its exit code and what it printed.

use serde_json::Value;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// How a program ended.
#[derive(Debug)]
pub struct Ran {
    /// Its exit code; -1 if a signal ended it.
    pub code: i32,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl Ran {
    /// Panics with the standard error if the run failed.
    #[track_caller]
    pub fn success(&self) -> &Ran {
        assert_eq!(self.code, 0, "{}", self.stderr);
        self
    }

    /// Standard output as JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        let value = serde_json::from_str(&self.stdout);
        value.unwrap_or_else(|error| panic!("{error}: {:.300}{}", self.stdout, self.stderr))
    }

    /// Standard output as JSON lines.
    #[track_caller]
    pub fn rows(&self) -> Vec<Value> {
        let row = |line: &str| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        self.stdout.lines().map(row).collect()
    }

    /// Fails unless it ended with this code, printed nothing, and said only this on standard error, after `error: `.
    #[track_caller]
    pub fn is_refused(&self, code: i32, message: &str) {
        assert_eq!((self.code, self.stdout.as_str()), (code, ""), "{}", self.stderr);
        assert_eq!(self.stderr.trim_end(), format!("error: {message}"));
    }
}

impl From<Output> for Ran {
    fn from(output: Output) -> Ran {
        Ran {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8(output.stdout).expect("standard output is text"),
            stderr: String::from_utf8(output.stderr).expect("standard error is text"),
        }
    }
}

/// A program with arguments, to be run in a folder with no standard input and without the caller's `NO_COLOR`.
/// Tests give `env!("CARGO_BIN_EXE_softwarp")` as the program.
pub fn command(program: &str, folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(folder).stdin(Stdio::null()).env_remove("NO_COLOR");
    command
}

/// Runs a program with something on standard input.
pub fn run(mut command: Command, input: &[u8]) -> Ran {
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = piped.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    // A program that refuses its arguments does not read its input: a broken pipe is no error here.
    let _ = child.stdin.take().expect("a pipe").write_all(input);
    child.wait_with_output().expect("the program ends").into()
}
