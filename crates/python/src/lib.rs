//! What the Python package `softwarp` is written on: functions on flat arrays of bytes, which the files in
//! `python/softwarp` give shapes, dtypes and documentation.
//!
//! Arrays come as one-dimensional, contiguous NumPy arrays. Work on them runs without Python's lock. Names of formats
//! are those that the command line takes ([`softwarp_cli::names`]).

mod check;
mod command;
mod convert;
mod cuda;
mod debug;
mod formats;
mod machine;
mod pool;
mod quantize;
mod tensor;
mod texture;
mod watch;

/// What is done where there is no memory ([`softwarp_heap`]).
#[cfg(unix)]
#[global_allocator]
static HEAP: softwarp_heap::Heap = softwarp_heap::Heap;

#[pyo3::pymodule]
mod _softwarp {
    #[pymodule_export]
    use crate::check::{check, layout};
    #[pymodule_export]
    use crate::command::run_command;
    #[pymodule_export]
    use crate::convert::{convert, cvt, cvt_form, to_odd};
    #[pymodule_export]
    use crate::cuda::compile_cuda;
    #[pymodule_export]
    use crate::debug::Stepper;
    #[pymodule_export]
    use crate::formats::{decode, encode, format_drawing, format_properties, format_table};
    #[pymodule_export]
    use crate::machine::Machine;
    #[pymodule_export]
    use crate::quantize::{block_format, dequantize, quantize};
    #[pymodule_export]
    use crate::tensor::{tensor_check, tensor_copy, tensor_decode, tensor_draw, tensor_encode, tensor_store};
    #[pymodule_export]
    use crate::texture::Texels;
}
