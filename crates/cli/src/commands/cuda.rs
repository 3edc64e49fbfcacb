//! CUDA C++ files: NVRTC makes PTX of them, if it is there.

use super::{CommandError, remark};
use std::env;
use std::path::Path;

/// More options of the compiler, separated by blanks.
const OPTIONS: &str = "SOFTWARP_NVRTC_OPTIONS";

/// The PTX of a file. The compiler's warnings go to standard error.
pub fn compile(path: &Path, name: &str, source: &str) -> Result<String, CommandError> {
    let more = env::var(OPTIONS).unwrap_or_default();
    let more: Vec<String> = more.split_whitespace().map(str::to_owned).collect();
    let own = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let (ptx, warnings) =
        crate::cuda::compile(source, name, &more, own).map_err(|why| CommandError::input(name, why))?;
    if !warnings.trim().is_empty() {
        remark(warnings.trim_end());
    }
    Ok(ptx)
}
