//! CUDA C++ files: NVRTC makes PTX of them, if it is there.

use super::{CommandError, remark};
use nvrtc::compile::{CompileError, include_folders, to_ptx};
use std::env;
use std::path::Path;

/// What the compiler is told unless the user says otherwise.
const ARCHITECTURE: &str = "--gpu-architecture=compute_90";

/// More options of the compiler, separated by blanks.
const OPTIONS: &str = "SOFTWARP_NVRTC_OPTIONS";

/// The PTX of a file. The compiler's warnings go to standard error.
pub fn compile(path: &Path, name: &str, source: &str) -> Result<String, CommandError> {
    let more = env::var(OPTIONS).unwrap_or_default();
    let mut options = vec!["-lineinfo".to_owned()];
    if !more.contains("-arch") && !more.contains("--gpu-architecture") {
        options.push(ARCHITECTURE.to_owned());
    }
    options.extend(more.split_whitespace().map(str::to_owned));
    let own = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let folders = [own.to_owned()].into_iter().chain(include_folders());
    options.extend(folders.map(|folder| format!("--include-path={}", folder.display())));
    match to_ptx(source, name, &options) {
        Ok((ptx, warnings)) => {
            if !warnings.trim().is_empty() {
                remark(warnings.trim_end());
            }
            Ok(ptx)
        }
        Err(error) => Err(CommandError::input(name, refusal(&error))),
    }
}

/// Why there is no PTX, and what to do.
fn refusal(error: &CompileError) -> String {
    match error {
        CompileError::NotFound => "it is CUDA C++, and NVRTC, which compiles it, was not found: `pip install \
             nvidia-cuda-nvrtc nvidia-cuda-runtime nvidia-cuda-crt`, or name libnvrtc.so with SOFTWARP_NVRTC; or give \
             PTX, made with `nvcc -ptx`"
            .to_owned(),
        CompileError::Nul => "it has a NUL byte in it".to_owned(),
        CompileError::Refused(log) => format!("the compiler refuses it\n{}", log.trim_end()),
        CompileError::Failed(function, code) => format!("{function} of NVRTC returns {code}"),
    }
}
