//! A shared library without functions whose soname is that of nvJitLink, NVIDIA's linker for cubins and LTO-IR.
//!
//! numba-cuda and cuda.core ask whether nvJitLink is there. If it is, they compile to LTO-IR and link that to a cubin,
//! which has no PTX in it and cannot be run here. If this library is loaded first (`LD_PRELOAD`), they find no linker
//! and hand PTX to the driver. `softwarp exec` does so for Python programs.

#![forbid(unsafe_code)]
