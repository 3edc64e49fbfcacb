//! Fat binaries as nvcc stores them, and their registration.

use cudart::entry::registration::{
    __cudaRegisterFatBinary, __cudaRegisterFatBinaryEnd, __cudaRegisterFunction, __cudaRegisterVar,
};
use cudart::ffi::Text;
use std::ffi::CStr;

/// A fat binary with PTX for an architecture, without compression.
fn with_ptx(ptx: &str, arch: u32) -> Vec<u8> {
    let mut text = ptx.as_bytes().to_vec();
    text.resize((text.len() + 1).next_multiple_of(8), 0);
    let mut bytes = Vec::new();
    bytes.extend_from_slice(&0xba55_ed50_u32.to_le_bytes());
    bytes.extend_from_slice(&[1, 0, 16, 0]);
    bytes.extend_from_slice(&(64 + text.len() as u64).to_le_bytes());
    bytes.extend_from_slice(&[1, 0, 1, 1]);
    bytes.extend_from_slice(&64_u32.to_le_bytes());
    bytes.extend_from_slice(&(text.len() as u64).to_le_bytes());
    bytes.extend_from_slice(&[0; 8]);
    bytes.extend_from_slice(&[0, 0, 8, 0]);
    bytes.extend_from_slice(&arch.to_le_bytes());
    bytes.extend_from_slice(&[0; 8]);
    bytes.extend_from_slice(&0x11_u64.to_le_bytes());
    bytes.extend_from_slice(&[0; 16]);
    bytes.extend_from_slice(&text);
    bytes
}

/// Registers kernels and variables of PTX for an architecture, each with an address of the host. All of it stays.
#[allow(dead_code, reason = "not all tests have PTX alone")]
pub fn register(ptx: &str, arch: u32, functions: &[(u64, &CStr)], variables: &[(u64, &CStr)]) {
    register_code(with_ptx(ptx, arch), functions, variables);
}

/// Registers kernels and variables of a fat binary, each with an address of the host. All of it stays.
pub fn register_code(code: Vec<u8>, functions: &[(u64, &CStr)], variables: &[(u64, &CStr)]) {
    let data = code.leak().as_ptr() as u64;
    let words = vec![1_u64 << 32 | 0x4662_43b1, data, 0].leak();
    let binary = __cudaRegisterFatBinary(words.as_ptr() as u64);
    for (host, name) in functions {
        __cudaRegisterFunction(binary, *host, 0, Text::of(name), -1, 0, 0, 0, 0, 0);
    }
    for (host, name) in variables {
        __cudaRegisterVar(binary, *host, 0, Text::of(name), 0, 4, 0, 0);
    }
    __cudaRegisterFatBinaryEnd(binary);
}
