//! y = a·x + y on a GPU, with cudarc and a kernel in PTX. `softwarp exec -- saxpy` runs it without one.

use cudarc::driver::{CudaContext, LaunchConfig, PushKernelArg};
use cudarc::nvrtc::Ptx;
use std::error::Error;

const KERNEL: &str = include_str!("../../saxpy.ptx");

fn main() -> Result<(), Box<dyn Error>> {
    let n = 1000u32;
    let a = 2.0f32;
    let x: Vec<f32> = (0..n).map(|i| i as f32).collect();
    let y = vec![1.0f32; n as usize];

    let context = CudaContext::new(0)?;
    println!("on {}", context.name()?);
    let stream = context.default_stream();
    let saxpy = context.load_module(Ptx::from_src(KERNEL))?.load_function("saxpy")?;
    let x_device = stream.clone_htod(&x)?;
    let mut y_device = stream.clone_htod(&y)?;
    let mut launch = stream.launch_builder(&saxpy);
    launch.arg(&a).arg(&x_device).arg(&mut y_device).arg(&n);
    // SAFETY: the arguments are those of the kernel, which stays inside of the two buffers.
    unsafe { launch.launch(LaunchConfig::for_num_elems(n))? };
    let result = stream.clone_dtoh(&y_device)?;

    for (i, (x, result)) in x.iter().zip(&result).enumerate() {
        if *result != a * x + 1.0 {
            return Err(format!("element {i} is {result} instead of {}", a * x + 1.0).into());
        }
    }
    println!("{n} elements are right");
    Ok(())
}
