//! The variables that a program is given.
//!
//! Settings that the user has made stay: lists are added to, single values are set only where there are none. Options
//! of the command line come before variables.

use super::super::CommandError;
use super::super::run::sanitize::What;
use super::Args;
use super::libraries::Folder;
use super::program::Program;
use clap::ValueEnum as _;
use softwarp::isa::Target;
use std::env;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// When nvJitLink is hidden.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum When {
    /// For Python programs
    Auto,
    /// For every program
    Always,
    /// Never
    Never,
}

/// Variables and their values.
pub type Variables = Vec<(&'static str, OsString)>;

/// The variables that differ from this process's.
pub fn variables(
    args: &Args,
    arch: Option<Target>,
    folder: &Folder,
    program: &Program,
    counts: &Path,
    report: Option<&Path>,
) -> Result<Variables, CommandError> {
    let mut all = settings(args, arch, report)?;
    all.push(("SOFTWARP_SUMMARY", counts.into()));
    let place = folder.path().as_os_str();
    all.push(("LD_LIBRARY_PATH", before(place, "LD_LIBRARY_PATH", ":")));
    let driver = folder.path().join("libcuda.so.1");
    let single = |name, value: OsString| (set(name).is_none()).then_some((name, value));
    all.extend(single("TRITON_LIBCUDA_PATH", place.to_owned()));
    all.extend(single("NUMBA_CUDA_DRIVER", driver.into()));
    // Cubins have their PTX in them if the assembler is told to write line numbers.
    for name in ["NVCC_APPEND_FLAGS", "PYCUDA_DEFAULT_NVCC_FLAGS"] {
        all.extend(with_line_info(set(name).as_deref()).map(|value| (name, value)));
    }
    // Without line numbers, Triton's cubins have no PTX.
    let no_lines = set("TRITON_DISABLE_LINE_INFO").is_some_and(|value| value != "0");
    if args.ptxas || no_lines {
        for name in ["TRITON_PTXAS_PATH", "TRITON_PTXAS_BLACKWELL_PATH"] {
            all.push((name, folder.assembler().into()));
        }
    }
    let hide = match args.hide_nvjitlink {
        When::Auto => program.is_python(),
        When::Always => true,
        When::Never => false,
    };
    let linker = folder.nvjitlink();
    if linker.is_none() && args.hide_nvjitlink == When::Always {
        return Err(CommandError::Usage(
            "libnvjitlink.so was not found; `cargo build --release` builds it".to_owned(),
        ));
    }
    // Python packages load NVRTC by its path, unless a library with its name is there already.
    let compiler = folder.nvrtc().filter(|_| program.is_python());
    let mut loaded: Vec<PathBuf> = linker.filter(|_| hide).into_iter().chain(compiler).collect();
    match folder.redirection(program) {
        Some(("LD_PRELOAD", library)) => loaded.insert(0, library),
        Some((variable, library)) => all.push((variable, before(library.as_os_str(), variable, ":"))),
        None => {}
    }
    if !loaded.is_empty() {
        let list = loaded.iter().map(|path| path.as_os_str()).collect::<Vec<&OsStr>>().join(OsStr::new(":"));
        all.push(("LD_PRELOAD", before(&list, "LD_PRELOAD", ":")));
    }
    Ok(all)
}

/// Options as the driver library takes them.
fn settings(args: &Args, arch: Option<Target>, report: Option<&Path>) -> Result<Variables, CommandError> {
    let mut all = Variables::new();
    let mut sanitizers = args.sanitize.clone();
    if args.check && sanitizers.is_empty() && set("SOFTWARP_SANITIZE").is_none() {
        sanitizers.push(What::All);
    }
    if !sanitizers.is_empty() {
        let names = sanitizers.iter().filter_map(What::to_possible_value);
        let names: Vec<String> = names.map(|value| value.get_name().to_owned()).collect();
        all.push(("SOFTWARP_SANITIZE", names.join(",").into()));
    }
    all.extend(arch.map(|arch| ("SOFTWARP_ARCH", arch.name().into())));
    all.extend(args.devices.map(|count| ("SOFTWARP_DEVICES", count.to_string().into())));
    all.extend(args.threads.map(|count| ("SOFTWARP_THREADS", count.to_string().into())));
    all.extend(args.memory.map(|bytes| ("SOFTWARP_MEMORY", bytes.to_string().into())));
    all.extend(args.exit_timeout.map(|time| ("SOFTWARP_EXIT_TIMEOUT", time.to_string().into())));
    if let Some(report) = report {
        all.push(("SOFTWARP_REPORT", absolute(report)?.into()));
    }
    if let Some(jit) = args.jit.and_then(|jit| jit.to_possible_value()) {
        all.push(("SOFTWARP_JIT", jit.get_name().into()));
    }
    if let Some(folder) = &args.mismatches {
        all.push(("SOFTWARP_MISMATCHES", absolute(folder)?.into()));
    }
    if args.trace {
        all.push(("SOFTWARP_TRACE", "1".into()));
    }
    Ok(all)
}

/// The path from the root: the program may change its folder.
fn absolute(path: &Path) -> Result<PathBuf, CommandError> {
    std::path::absolute(path)
        .map_err(|error| CommandError::Usage(format!("`{}` is not a path: {error}", path.display())))
}

/// A variable that is set and not empty.
fn set(name: &str) -> Option<OsString> {
    env::var_os(name).filter(|value| !value.is_empty())
}

/// A list with something before what is in it.
fn before(first: &OsStr, name: &str, separator: &str) -> OsString {
    let mut list = first.to_owned();
    if let Some(rest) = set(name) {
        list.push(separator);
        list.push(rest);
    }
    list
}

/// nvcc's options with `-lineinfo`; nothing if they have it, or `-G`, which cannot stand beside it.
fn with_line_info(options: Option<&OsStr>) -> Option<OsString> {
    let Some(options) = options else { return Some("-lineinfo".into()) };
    let has = |word: &str| matches!(word, "-lineinfo" | "--generate-line-info" | "-G" | "--device-debug");
    if options.to_string_lossy().split_whitespace().any(has) {
        return None;
    }
    let mut longer = options.to_owned();
    longer.push(" -lineinfo");
    Some(longer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_numbers_are_asked_for_once() {
        let with = |options: &str| with_line_info(Some(options.as_ref()));
        assert_eq!(with_line_info(None), Some("-lineinfo".into()));
        assert_eq!(with("-O2"), Some("-O2 -lineinfo".into()));
        assert_eq!(with("-O2 -G"), None);
        assert_eq!(with("--generate-line-info"), None);
    }
}
