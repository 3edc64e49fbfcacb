//! The speed of the driver library through its C functions: an empty launch, the way from `cuInit` to the first launch,
//! and copies, beside `memcpy`.
//!
//! usage: `cargo run --release -p softwarp-cuda --example speed`

#[path = "../tests/driver_api/mod.rs"]
mod driver_api;

use driver_api::*;
use std::ptr::null_mut;
use std::time::Instant;

const SOURCE: &[u8] =
    b".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry nothing() { ret; }\n\0";
const BYTES: usize = 64 << 20;
const LAUNCHES: u32 = 20_000;
const ROUNDS: usize = 7;

/// The least of some rounds, in seconds.
fn best(mut round: impl FnMut()) -> f64 {
    let timed = (0..ROUNDS).map(|_| {
        let start = Instant::now();
        round();
        start.elapsed().as_secs_f64()
    });
    timed.fold(f64::INFINITY, f64::min)
}

fn launch(function: u64) {
    // SAFETY: the function has no parameters.
    let code = unsafe { cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, 0, null_mut(), null_mut()) };
    assert_eq!(code, 0);
}

/// From `cuInit` to the end of the first launch; gives the function.
fn start() -> u64 {
    let (mut context, mut module, mut function) = (0, 0, 0);
    // SAFETY: all pointers are to variables of the right types; the text ends with a NUL.
    unsafe {
        assert_eq!(cuInit(0), 0);
        assert_eq!(cuDevicePrimaryCtxRetain(&mut context, 0), 0);
        assert_eq!(cuCtxSetCurrent(context), 0);
        assert_eq!(cuModuleLoadData(&mut module, SOURCE.as_ptr().cast()), 0);
        assert_eq!(cuModuleGetFunction(&mut function, module, c"nothing".as_ptr()), 0);
    }
    launch(function);
    function
}

fn main() {
    let begin = Instant::now();
    let function = start();
    println!("cuInit to the first launch: {:.2} ms", begin.elapsed().as_secs_f64() * 1e3);
    let launches = best(|| (0..LAUNCHES).for_each(|_| launch(function)));
    println!("an empty launch: {:.2} us", launches / f64::from(LAUNCHES) * 1e6);
    let (from, mut to) = (vec![1_u8; BYTES], vec![2_u8; BYTES]);
    let mut device = 0;
    // SAFETY: the pointer is to a variable of the right type.
    assert_eq!(unsafe { cuMemAlloc_v2(&mut device, BYTES) }, 0);
    let copy = best(|| to.copy_from_slice(std::hint::black_box(&from)));
    // SAFETY: source and destination have at least `BYTES` bytes.
    let down = best(|| assert_eq!(unsafe { cuMemcpyHtoD_v2(device, from.as_ptr().cast(), BYTES) }, 0));
    // SAFETY: source and destination have at least `BYTES` bytes.
    let up = best(|| assert_eq!(unsafe { cuMemcpyDtoH_v2(to.as_mut_ptr().cast(), device, BYTES) }, 0));
    let speed = |seconds: f64| BYTES as f64 / seconds / 1e9;
    println!("memcpy of 64 MiB: {:.2} GB/s", speed(copy));
    println!("cuMemcpyHtoD of 64 MiB: {:.2} GB/s, {:.2} of memcpy", speed(down), copy / down);
    println!("cuMemcpyDtoH of 64 MiB: {:.2} GB/s, {:.2} of memcpy", speed(up), copy / up);
}
