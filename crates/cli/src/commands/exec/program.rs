//! The program that is run: where it is, what kind it is, and how it ended.

use super::super::{CommandError, print_error, remark};
use super::environment::Variables;
use softwarp_redirect::loader::{self, Way};
use std::ffi::OsString;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

/// The runtime library of CUDA 11.
const CUDA_11: &str = "libcudart.so.11.0";

/// How many bytes of a program are looked at.
const LOOKED_AT: u64 = 64 << 20;

/// A program, by its file.
#[derive(Debug)]
pub struct Program(PathBuf);

/// Finds a program as a shell does.
pub fn find(name: &OsString) -> Result<Program, CommandError> {
    let path = Path::new(name);
    if path.components().count() > 1 || path.is_absolute() {
        return Ok(Program(path.to_owned()));
    }
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&folders).map(|folder| folder.join(path)).find(|path| path.is_file());
    found.map(Program).ok_or_else(|| {
        print_error(&format!("there is no program `{}` in PATH", path.display()));
        CommandError::Reported(127)
    })
}

impl Program {
    /// The first bytes of the file.
    fn begin(&self, most: u64) -> Vec<u8> {
        let mut bytes = Vec::new();
        // A file that cannot be read is no reason not to run it.
        let _ = File::open(&self.0).and_then(|file| file.take(most).read_to_end(&mut bytes));
        bytes
    }

    /// Whether it is an executable in which the name of a library occurs.
    pub fn names_library(&self, name: &str) -> bool {
        let bytes = self.begin(LOOKED_AT);
        let is_executable = bytes.starts_with(b"\x7fELF");
        is_executable && bytes.windows(name.len()).any(|window| window == name.as_bytes())
    }

    /// Says why a program has not begun, if it needs a library that is not here.
    pub fn explain(&self, code: u8) {
        // What the loader ends a program with.
        const NOT_LOADED: u8 = 127;
        if code == NOT_LOADED && self.names_library(CUDA_11) {
            remark(&format!(
                "softwarp: the program needs the CUDA runtime 11 ({CUDA_11}), which is not supported: build it with CUDA 12 \
                 or 13"
            ));
        }
    }

    /// How its loader lets runtimes be redirected that are linked into programs.
    pub fn redirection(&self) -> Way {
        loader::way(&self.0)
    }

    /// Whether it runs with more rights than its caller's. The loader ignores `LD_LIBRARY_PATH` and the like then.
    #[cfg(unix)]
    pub fn has_other_rights(&self) -> bool {
        use std::os::unix::fs::MetadataExt as _;
        // The folder of a process belongs to its user.
        let of = |path: &Path| std::fs::metadata(path).ok().map(|it| (it.mode(), it.uid(), it.gid()));
        let (Some(program), Some((_, user, group))) = (of(&self.0), of(Path::new("/proc/self"))) else {
            return false;
        };
        let (mode, owner, owners) = program;
        (mode & 0o4000 != 0 && owner != user) || (mode & 0o2000 != 0 && owners != group)
    }

    /// Whether it runs with more rights than its caller's.
    #[cfg(not(unix))]
    pub fn has_other_rights(&self) -> bool {
        false
    }

    /// Whether it is Python, or a script for it.
    pub fn is_python(&self) -> bool {
        let is_python = |path: &Path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with("python") || name.starts_with("pypy")
        };
        if is_python(&self.0) {
            return true;
        }
        let head = self.begin(256);
        let Some(line) = head.strip_prefix(b"#!") else { return false };
        let line = line.split(|byte| *byte == b'\n').next().unwrap_or_default();
        String::from_utf8_lossy(line).split_whitespace().any(|word| is_python(Path::new(word)))
    }
}

/// Runs it to its end; gives its exit code.
pub fn run(program: &Program, words: &[OsString], variables: &Variables) -> Result<u8, CommandError> {
    let mut command = Command::new(&program.0);
    command.args(&words[1..]);
    for (name, value) in variables {
        command.env(name, value);
    }
    #[cfg(unix)]
    std::os::unix::process::CommandExt::arg0(&mut command, &words[0]);
    let child = command.spawn();
    let mut child = child.map_err(|error| {
        print_error(&format!("cannot run {}: {error}", program.0.display()));
        CommandError::Reported(if error.kind() == std::io::ErrorKind::NotFound { 127 } else { 126 })
    })?;
    signals::pass_to(child.id());
    let status = child.wait();
    let status = status
        .map_err(|error| CommandError::Io(format!("cannot wait for {}: {error}", program.0.display())))?;
    Ok(code_of(status))
}

/// The exit code, as a shell has it.
fn code_of(status: ExitStatus) -> u8 {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return u8::try_from(128 + signal).unwrap_or(255);
    }
    status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(255)
}

/// Signals while a program runs: it decides what they do. A terminal sends `SIGINT` and `SIGQUIT` to the program too;
/// others are passed on.
#[cfg(unix)]
mod signals {
    use nix::sys::signal::{SigSet, Signal, kill};
    use nix::unistd::Pid;

    /// From now on, signals go to the program and do not end this process. The program has been started already: it
    /// would inherit that they are held back.
    pub fn pass_to(process: u32) {
        let Ok(process) = i32::try_from(process) else { return };
        let set: SigSet =
            [Signal::SIGINT, Signal::SIGQUIT, Signal::SIGTERM, Signal::SIGHUP].into_iter().collect();
        if set.thread_block().is_err() {
            return;
        }
        let pass = move || {
            while let Ok(signal) = set.wait() {
                if matches!(signal, Signal::SIGTERM | Signal::SIGHUP) {
                    let _ = kill(Pid::from_raw(process), signal);
                }
            }
        };
        let _ = std::thread::Builder::new().name("signals".to_owned()).spawn(pass);
    }
}

#[cfg(not(unix))]
mod signals {
    pub fn pass_to(_: u32) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn python_is_recognized() {
        assert!(Program("/opt/bin/python3.11".into()).is_python());
        assert!(!Program("/bin/sh".into()).is_python());
        let script = std::env::temp_dir().join(format!("softwarp-script-{}", std::process::id()));
        for (text, python) in
            [("#!/usr/bin/env python3\n", true), ("#!/bin/sh\n# python\n", false), ("", false)]
        {
            std::fs::write(&script, text).expect("written");
            assert_eq!(Program(script.clone()).is_python(), python, "{text}");
        }
        let _ = std::fs::remove_file(script);
    }
}
