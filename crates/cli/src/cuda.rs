//! CUDA C++ compiled to PTX by NVRTC, if it is there.

use nvrtc::compile::{CompileError, include_folders, to_ptx};
use std::path::Path;

/// What the compiler is told unless the user says otherwise.
const ARCHITECTURE: &str = "--gpu-architecture=compute_90";

/// The PTX of a source, and the compiler's warnings; or why there is none, and what to do.
///
/// `more` has further options of the compiler. Headers are looked for in `folder` first.
pub fn compile(source: &str, name: &str, more: &[String], folder: &Path) -> Result<(String, String), String> {
    let mut options = vec!["-lineinfo".to_owned()];
    if !more.iter().any(|option| option.contains("-arch") || option.contains("--gpu-architecture")) {
        options.push(ARCHITECTURE.to_owned());
    }
    options.extend(more.iter().cloned());
    let folders = [folder.to_owned()].into_iter().chain(include_folders());
    options.extend(folders.map(|folder| format!("--include-path={}", folder.display())));
    to_ptx(source, name, &options).map_err(|error| refusal(&error))
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
