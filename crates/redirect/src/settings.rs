//! Settings, from the environment.

use std::env;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::sync::OnceLock;

/// Whether what is redirected is told on standard error.
pub fn trace() -> bool {
    static TRACE: OnceLock<bool> = OnceLock::new();
    *TRACE.get_or_init(|| variable("SOFTWARP_TRACE").is_some_and(|value| !value.is_empty() && value != "0"))
}

/// A variable. While libraries are loaded at the start of a program, the C library may not know the environment yet;
/// then it is what the program was started with.
pub fn variable(name: &str) -> Option<OsString> {
    env::var_os(name).or_else(|| {
        let all = std::fs::read("/proc/self/environ").ok()?;
        let mut lines = all.split(|byte| *byte == 0);
        let value = lines.find_map(|line| line.strip_prefix(name.as_bytes())?.strip_prefix(b"="))?;
        Some(OsStr::from_bytes(value).to_owned())
    })
}

/// Writes a line to standard error, in one piece.
pub fn say(text: &str) {
    use std::io::Write as _;
    let _ = std::io::stderr().write_all(format!("softwarp: {text}\n").as_bytes());
}
