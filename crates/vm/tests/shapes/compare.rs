//! Runs a kernel interpreted and compiled, from the same memory, and compares what it leaves; then in compare mode.

use softwarp_vm::device::{Device, Jit, Launch, LaunchError};
use softwarp_vm::fault::FaultKind;
use std::time::Duration;

/// A buffer of a launch.
pub struct Buffer<'a> {
    pub address: u64,
    /// What it holds before the kernel runs.
    pub initial: &'a [u8],
}

/// A launch that is run both ways.
pub struct Job<'a> {
    pub kernel: &'a str,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub dynamic_shared: u32,
    pub arguments: Vec<Vec<u8>>,
    pub buffers: Vec<Buffer<'a>>,
    /// The most instructions of warps.
    pub most: u64,
}

/// The most instructions of warps of kernels that are known to end: none needs as many.
pub const MOST: u64 = 20_000_000;

/// How often a launch runs at most until it runs compiled code: that for lanes that have diverged, and for warps of few
/// threads, is made once there were some of these.
const MOST_TIMES: u32 = 20;

/// How a launch ends that needs more.
const LIMIT: &str = "step limit";

struct Left {
    memory: Vec<Vec<u8>>,
    /// Its counts or its fault.
    ended: String,
    faulted: bool,
    /// Instructions of warps that compiled code executed.
    compiled: u64,
}

fn run(device: &Device, job: &Job<'_>, jit: Jit) -> Left {
    for buffer in &job.buffers {
        device.write(buffer.address, buffer.initial).expect("inside");
    }
    let result = device.launch(&Launch {
        jit,
        // One order of warps and CTAs.
        threads: Some(1),
        most_time: Some(Duration::from_secs(300)),
        most_instructions: Some(job.most),
        dynamic_shared: job.dynamic_shared,
        ..Launch::new(job.kernel, job.grid, job.block, &job.arguments)
    });
    let (ended, faulted, compiled) = match result {
        Ok(report) => (format!("{:?}", report.counts), false, report.compiled),
        // Where warps stand when the limit is noticed is left open.
        Err(LaunchError::Fault(fault)) if fault.kind == FaultKind::StepLimit => (LIMIT.to_owned(), true, 0),
        Err(LaunchError::Fault(fault)) => (format!("{fault:?}"), true, 0),
        Err(error) => panic!("{}: {error}", job.kernel),
    };
    let read = |buffer: &Buffer<'_>| {
        let mut bytes = vec![0; buffer.initial.len()];
        device.read(buffer.address, &mut bytes).expect("inside");
        bytes
    };
    Left { memory: job.buffers.iter().map(read).collect(), ended, faulted, compiled }
}

/// How a kernel ended both ways.
pub enum Outcome {
    /// The same, with this many instructions of warps in compiled code.
    Same { compiled: u64 },
    /// With the same fault.
    SameFault,
    /// Without an end.
    Endless,
    /// Differently.
    Differs(String),
}

/// Runs a launch in compare mode. Returns what it finds.
fn compare_mode(device: &Device, job: &Job<'_>) -> Option<String> {
    for buffer in &job.buffers {
        device.write(buffer.address, buffer.initial).expect("inside");
    }
    let report = device
        .launch(&Launch {
            jit: Jit::Compare,
            dynamic_shared: job.dynamic_shared,
            ..Launch::new(job.kernel, job.grid, job.block, &job.arguments)
        })
        .unwrap_or_else(|error| panic!("{}: {error}", job.kernel));
    // Nothing here depends on the order of threads, so that is no explanation.
    let comparisons = &report.comparisons;
    let is_equal = comparisons.equal == 1 && report.findings.is_empty();
    (!is_equal).then(|| format!("compare mode: {comparisons:?} {:?}", report.findings))
}

/// Runs a launch interpreted, then compiled, then in compare mode.
pub fn compare(device: &Device, job: &Job<'_>) -> Outcome {
    let interpreted = run(device, job, Jit::Off);
    if interpreted.ended == LIMIT {
        return Outcome::Endless;
    }
    let threads: u32 = job.grid.iter().chain(&job.block).product();
    let least = if threads < 256 { 5 } else { 2 };
    let (mut compiled, mut times) = (0, 0);
    while times < least || compiled == 0 && times < MOST_TIMES {
        times += 1;
        let found = run(device, job, Jit::On);
        if found.ended != interpreted.ended {
            return Outcome::Differs(format!(
                "interpreted: {}\ncompiled:    {}",
                interpreted.ended, found.ended
            ));
        }
        compiled += found.compiled;
        // With a fault it is left open how far other warps came.
        if interpreted.faulted {
            return Outcome::SameFault;
        }
        for (index, (wanted, got)) in interpreted.memory.iter().zip(&found.memory).enumerate() {
            let Some(at) = wanted.iter().zip(got).position(|(a, b)| a != b) else { continue };
            let count = wanted.iter().zip(got).filter(|(a, b)| a != b).count();
            let word = |bytes: &[u8]| bytes[at / 4 * 4..].iter().take(4).rev().fold(0, word_of);
            return Outcome::Differs(format!(
                "byte {at} of buffer {index} ({count} bytes differ): {:08x} compiled, {:08x} interpreted",
                word(got),
                word(wanted)
            ));
        }
    }
    match compare_mode(device, job) {
        Some(found) if compiled > 0 => Outcome::Differs(found),
        _ => Outcome::Same { compiled },
    }
}

fn word_of(word: u32, byte: &u8) -> u32 {
    word << 8 | u32::from(*byte)
}
