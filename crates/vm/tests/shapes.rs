//! Compiled code against the interpreter, for many shapes of CTAs and grids: kernels in the styles of real code, as a
//! CUDA compiler made them at several settings, and random kernels whose addresses and branches come from the indices of
//! threads. Memory, counts and faults are the same.
//!
//! `SOFTWARP_SHAPES=50` runs each kernel in 50 shapes, and `SOFTWARP_KERNEL=name` one kernel. `SOFTWARP_MODULES=20000`
//! runs as many random modules, from `SOFTWARP_SEED` on. `SOFTWARP_SECONDS=60 … -- --ignored` runs random modules for as
//! long. `SOFTWARP_SIMD=avx2` tests the code for CPUs without AVX-512.

#[path = "shapes/buffers.rs"]
mod buffers;
#[allow(dead_code, reason = "other tests and fuzzers choose otherwise, too")]
#[path = "compiled/choices.rs"]
mod choices;
#[path = "shapes/compare.rs"]
mod compare;
#[path = "shapes/corpus.rs"]
mod corpus;
#[path = "shapes/indices.rs"]
mod indices;
#[path = "shapes/kernel.rs"]
mod kernel;
#[path = "shapes/launches.rs"]
mod launches;
#[path = "shapes/modules.rs"]
mod modules;
#[path = "shapes/recorded.rs"]
mod recorded;

use buffers::{BYTES, Contents};
use choices::Choices;
use compare::{Buffer, Job, MOST, Outcome, compare};
use corpus::{kernels, parameters, text, variants};
use kernel::{Argument, Kernel};
use launches::Shape;
use softwarp_vm::device::{Device, LoadOptions};
use std::collections::BTreeSet;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

/// Buffers that all kernels of a module use.
struct Memory {
    addresses: Vec<u64>,
    contents: Contents,
}

/// Threads of a grid, about.
const THREADS: u32 = 1536;

/// Room after a buffer, so that it can begin later.
const ROOM: usize = 64;

/// The most buffers of a kernel.
const MOST_BUFFERS: usize = 6;

fn run(device: &Device, memory: &mut Memory, code: &str, kernel: &Kernel, shape: Shape, way: u64) -> Outcome {
    let sizes = parameters(code, &kernel.name);
    assert_eq!(sizes.len(), kernel.arguments.len(), "{}", kernel.name);
    let shift = if way == 1 { kernel.shift } else { 0 };
    let mut first = None;
    let mut arguments = Vec::new();
    let mut buffers = Vec::new();
    for (place, (argument, &bytes)) in kernel.arguments.iter().zip(&sizes).enumerate() {
        let Argument::Buffer(kind) = argument else {
            arguments.push(shape.argument(argument, bytes));
            continue;
        };
        let aliased = way == 2 && kernel.alias && kind == "out";
        let address = match first {
            Some(first) if aliased => first,
            _ => {
                memory.contents.prepare(kind, place);
                let address = memory.addresses[buffers.len()] + shift;
                buffers.push((address, kind, place));
                address
            }
        };
        first = first.or(Some(address));
        arguments.push(address.to_le_bytes().to_vec());
    }
    let buffer = |&(address, kind, place): &(u64, &String, usize)| Buffer {
        address,
        initial: memory.contents.of(kind, place),
    };
    let threads: u32 = shape.block.iter().product();
    let job = Job {
        kernel: &kernel.name,
        grid: shape.grid,
        block: shape.block,
        dynamic_shared: kernel.shared * threads,
        arguments,
        buffers: buffers.iter().map(buffer).collect(),
        most: MOST,
    };
    compare(device, &job)
}

/// Every kernel, as it was compiled in each way, in some shapes.
#[test]
fn kernels_do_the_same_compiled_and_interpreted_in_many_shapes() {
    let shapes = setting("SOFTWARP_SHAPES").unwrap_or(3);
    let only = std::env::var("SOFTWARP_KERNEL").ok();
    let kernels = kernels();
    let files: BTreeSet<&str> = kernels.iter().map(|kernel| kernel.file.as_str()).collect();
    let (mut pairs, mut faults, mut number, mut wrong) = (0, 0, 0, Vec::new());
    // Kernels of which compiled code ran nothing.
    let (mut never, mut versions) = (BTreeSet::new(), 0);
    let mut widths = BTreeSet::new();
    for file in files {
        for variant in variants(file) {
            let code = text(file, variant);
            let device = Device::load(&[&code], LoadOptions::default()).expect("a valid module");
            let allocate = |_| device.allocate((BYTES + ROOM) as u64).expect("memory");
            let mut memory = Memory {
                addresses: (0..MOST_BUFFERS).map(allocate).collect(),
                contents: Contents::default(),
            };
            for kernel in kernels.iter().filter(|kernel| kernel.file == file) {
                let (mut wanted, mut compiled) = (shapes, 0);
                while wanted > 0 {
                    number += 1;
                    let Some(shape) = Shape::of(kernel, THREADS, number) else { continue };
                    wanted -= 1;
                    if only.as_ref().is_some_and(|only| *only != kernel.name) {
                        continue;
                    }
                    pairs += 1;
                    widths.insert(shape.block[0]);
                    match run(&device, &mut memory, &code, kernel, shape, number % 3) {
                        Outcome::Same { compiled: more } => compiled += more,
                        Outcome::SameFault => faults += 1,
                        Outcome::Endless => panic!("{} does not end", kernel.name),
                        Outcome::Differs(found) => {
                            compiled += 1;
                            wrong.push(format!("{} ({file}.{variant}), {shape:?}: {found}", kernel.name));
                        }
                    }
                }
                versions += 1;
                if compiled == 0 && !kernel.faults {
                    never.insert(format!("{} ({variant})", kernel.name));
                }
            }
        }
    }
    println!("{} kernels, {pairs} pairs of a kernel and a shape, {faults} with a fault", kernels.len());
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
    if only.is_none() {
        assert!(kernels.len() >= 100 && pairs > 1000 && faults > 0);
        // With AVX2 alone, little that has exchanges among lanes is compiled.
        assert!(never.len() * 50 < versions, "no code was compiled: {never:?}");
        assert_eq!(widths.len(), launches::WIDTHS.len());
    }
}

/// The recorded programs, in other blocks than they were recorded in.
#[test]
fn recorded_programs_do_the_same_compiled_and_interpreted_in_other_blocks() {
    let blocks = setting("SOFTWARP_SHAPES").unwrap_or(2);
    let (mut same, mut compiled, mut faults, mut endless, mut wrong) = (0, 0, 0, 0, Vec::new());
    for (what, outcome) in recorded::compare_recorded(blocks as usize) {
        match outcome {
            Outcome::Same { compiled: more } => {
                same += 1;
                compiled += u64::from(more > 0);
            }
            Outcome::SameFault => faults += 1,
            Outcome::Endless => endless += 1,
            Outcome::Differs(found) => wrong.push(format!("{what}: {found}")),
        }
    }
    println!(
        "{same} recorded programs did the same, {compiled} with compiled code; {faults} faulted alike, {endless} do not end"
    );
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
    assert!(same > 500 && compiled * 2 > same);
}

/// Random modules that differ after which no more are looked for.
const MOST_WRONG: usize = 20;

/// Random kernels whose addresses and branches come from indices.
#[test]
fn random_modules_do_the_same_compiled_and_interpreted_in_many_shapes() {
    let count = setting("SOFTWARP_MODULES").unwrap_or(500);
    let first = setting("SOFTWARP_SEED").unwrap_or(0);
    let (mut same, mut faults, mut never, mut wrong) = (0, 0, 0, Vec::new());
    for seed in first..first + count {
        match modules::compare_module(seed, &mut Choices::seeded(seed)) {
            Outcome::Same { compiled } => {
                same += 1;
                never += u64::from(compiled == 0);
            }
            Outcome::SameFault => faults += 1,
            Outcome::Endless => panic!("seed {seed} does not end"),
            Outcome::Differs(found) => wrong.push(found),
        }
        if wrong.len() == MOST_WRONG {
            break;
        }
    }
    println!(
        "{same} random modules did the same, {never} of them without compiled code, and {faults} faulted alike"
    );
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
    assert!(count < 500 || never * 50 < same && faults > 0);
}

/// Random modules for as many seconds as `SOFTWARP_SECONDS` says, from `SOFTWARP_SEED` or the time on.
#[test]
#[ignore = "runs for as long as asked for"]
fn random_modules_for_a_long_time() {
    let seconds = Duration::from_secs(setting("SOFTWARP_SECONDS").unwrap_or(60));
    let now = || SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_micros() as u64);
    let first = setting("SOFTWARP_SEED").unwrap_or_else(now);
    println!("the first seed is {first}");
    let (start, mut seed) = (Instant::now(), first);
    while start.elapsed() < seconds {
        if let Outcome::Differs(found) = modules::compare_module(seed, &mut Choices::seeded(seed)) {
            panic!("{found}");
        }
        seed += 1;
    }
    println!("{} random modules did the same", seed - first);
}

/// The tests above, for CPUs with AVX2 alone: in a process of their own, since a process has one level.
#[test]
fn kernels_do_the_same_without_avx_512() {
    let level = softwarp_num::LEVEL_VARIABLE;
    if std::env::var_os(level).is_some() {
        return;
    }
    let mut tests = std::process::Command::new(std::env::current_exe().expect("this test"));
    let done = tests.env(level, softwarp_num::Level::Avx2.name()).output().expect("it starts");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stdout));
}
