//! Programs whose kernels have PTX for newer GPUs, PTX for this one, and no PTX.

mod fat_binary;

use cudart::entry::copy::cudaMemcpy;
use cudart::entry::error::cudaGetLastError;
use cudart::entry::launch::{cudaFuncGetAttributes, cudaLaunchKernel};
use cudart::entry::memory::cudaMalloc;
use cudart::ffi::{Dim3, Out, zeroed};

const ONE: Dim3 = Dim3 { x: 1, y: 1, z: 1 };
const TO_HOST: i32 = 2;
/// `cudaErrorNoKernelImageForDevice`
const NO_IMAGE: u32 = 209;

/// A fat binary of nvcc with machine code alone.
const MACHINE: &[u8] = include_bytes!("../../container/tests/data/machine.fatbin");

/// Addresses of the host that stand for stubs.
static STUBS: [u64; 3] = [0; 3];

fn stub(index: usize) -> u64 {
    &raw const STUBS[index] as u64
}

fn ptx(target: &str, number: u32) -> String {
    format!(
        ".version 9.0\n.target {target}\n.address_size 64\n.visible .entry k(.param .u64 p) {{\n\
         .reg .b64 %d; ld.param.u64 %d, [p]; st.global.u32 [%d], {number}; ret; }}\n"
    )
}

#[test]
fn kernels_with_ptx_run_and_those_without_are_refused_at_their_launch() {
    fat_binary::register(&ptx("sm_80", 80), 80, &[(stub(0), c"k")], &[]);
    fat_binary::register(&ptx("sm_120", 120), 120, &[(stub(1), c"k")], &[]);
    fat_binary::register_code(MACHINE.to_vec(), &[(stub(2), c"machine")], &[]);
    let (mut p, mut stored) = (0_u64, 0_u32);
    assert_eq!(cudaMalloc(Out::of(&mut p), 4), 0);
    let mut launch = |index: usize| {
        let arguments = [Out::of(&mut p).address()];
        let code = cudaLaunchKernel(stub(index), ONE, ONE, (&raw const arguments) as u64, 0, 0);
        assert_eq!(cudaGetLastError(), code);
        assert_eq!(cudaMemcpy(Out::of(&mut stored).address(), p, 4, TO_HOST), 0);
        (code, stored)
    };
    assert_eq!(launch(0), (0, 80));
    assert_eq!(launch(2), (NO_IMAGE, 80));
    assert_eq!(launch(1), (0, 120));
    assert_eq!(launch(2), (NO_IMAGE, 120));
    assert_eq!(cudaFuncGetAttributes(Out::of(&mut zeroed()), stub(2)), NO_IMAGE);
}
