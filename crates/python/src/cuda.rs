//! CUDA C++ made into PTX.

use pyo3::prelude::*;
use std::path::Path;

/// Compiles CUDA C++: the PTX and the compiler's warnings, and otherwise why there is no PTX.
#[pyfunction]
pub fn compile_cuda(
    py: Python<'_>,
    source: &str,
    name: &str,
    options: Vec<String>,
    folder: &str,
) -> (Option<(String, String)>, String) {
    match py.detach(|| softwarp_cli::cuda::compile(source, name, &options, Path::new(folder))) {
        Ok(made) => (Some(made), String::new()),
        Err(why) => (None, why),
    }
}
