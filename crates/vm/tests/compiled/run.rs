//! Runs a program interpreted and compiled, and compares what it leaves.

use softwarp_num::Level;
use softwarp_num::splitmix::SplitMix64;
use softwarp_vm::device::{Device, Jit, Launch, LaunchError, Report};
use softwarp_vm::fault::FaultKind;
use std::cell::Cell;
use std::time::{Duration, Instant};

/// The shapes of CTAs: whole and partial warps, rows of 16 threads, other rows. Rows that programs access in shared memory
/// are those of a warp where there are at most 11.
const BLOCKS: [[u32; 2]; 27] = [
    [32, 1],
    [64, 1],
    [50, 1],
    [96, 1],
    [1, 1],
    [16, 4],
    [16, 3],
    [32, 3],
    [8, 8],
    [128, 1],
    [16, 8],
    [16, 2],
    [16, 7],
    [4, 9],
    [2, 5],
    [3, 11],
    [12, 9],
    [15, 5],
    [17, 4],
    [20, 6],
    [24, 3],
    [31, 2],
    [33, 3],
    [48, 2],
    [7, 1],
    [1, 9],
    [100, 1],
];

/// Words that programs read.
const WORDS: usize = 4096;

/// Bytes of the output of four CTAs of up to 128 threads, and of words that all threads add to.
pub const OWN: usize = 4 * 128 * STRIDE + 1024;

/// Bytes of the output: behind these, several threads may write the same values.
const OUTPUT: usize = OWN + (1 << 15);

/// Bytes of a thread's output.
pub const STRIDE: usize = 256;

/// The data and the shape of a launch.
#[derive(Clone, Copy)]
pub struct Setup {
    /// The input is made from it.
    pub seed: u64,
    pub block: [u32; 2],
    /// The most instructions of warps.
    pub most: u64,
}

impl Setup {
    /// Of a number.
    pub fn of(seed: u64) -> Setup {
        let most = if seed.is_multiple_of(16) { seed / 16 % 1000 } else { 100_000 };
        Setup { seed, block: BLOCKS[(seed % BLOCKS.len() as u64) as usize], most }
    }
}

/// What a program leaves.
pub struct Left {
    memory: Vec<u8>,
    /// Its counts or its fault.
    ended: String,
    faulted: bool,
}

/// Launches a program.
pub type Launcher<'a> = &'a dyn Fn(&Launch<'_>) -> Result<Report, LaunchError>;

/// Runs a program, with buffers for its input and output.
fn run(device: &Device, setup: Setup, jit: Jit, [input, out]: [u64; 2], launch: Launcher<'_>) -> Left {
    let mut random = SplitMix64::new(setup.seed ^ 0x5eed);
    let special = [0x7fc0_0001u32, 0xffff_ffff, 0, 0x8000_0000, 0x7f80_0000, 1, 0x3f80_0000];
    let words = (0..WORDS).flat_map(|_| {
        let word = random.next_u64() as u32;
        let word = if word.is_multiple_of(8) { special[(word >> 8) as usize % special.len()] } else { word };
        word.to_le_bytes()
    });
    let bytes: Vec<u8> = words.collect();
    device.write(input, &bytes).expect("inside");
    device.write(out, &vec![0xaa; OUTPUT]).expect("inside");
    let arguments = [input.to_le_bytes().to_vec(), out.to_le_bytes().to_vec()];
    let block = [setup.block[0], setup.block[1], 1];
    let result = launch(&Launch {
        jit,
        threads: Some(1),
        // Also where other programs take nearly all of the time.
        most_time: Some(Duration::from_secs(300)),
        most_instructions: Some(setup.most),
        ..Launch::new("k", [4, 1, 1], block, &arguments)
    });
    if let (Jit::On, Ok(report)) = (jit, &result) {
        let (all, compiled) = LAUNCHES.get();
        LAUNCHES.set((all + 1, compiled + u64::from(report.compiled > 0)));
    }
    let (ended, faulted) = match result {
        Ok(report) => (format!("{:?}", report.counts), false),
        // Where warps stand when the limit is noticed is left open.
        Err(LaunchError::Fault(fault)) if fault.kind == FaultKind::StepLimit => (LIMIT.to_owned(), true),
        Err(LaunchError::Fault(fault)) => (format!("{fault:?}"), true),
        Err(error) => panic!("{error}"),
    };
    let mut memory = vec![0; OUTPUT];
    device.read(out, &mut memory).expect("inside");
    Left { memory, ended, faulted }
}

thread_local! {
    /// The launches of this thread's test that were to be compiled and had no fault, and those of them in which compiled
    /// code executed instructions.
    static LAUNCHES: Cell<(u64, u64)> = const { Cell::new((0, 0)) };
}

/// Checks that compiled code ran in most launches of a test: where nothing is compiled, nothing differs.
pub fn assert_compiled_code_ran() {
    let (all, compiled) = LAUNCHES.get();
    let has_code = cfg!(target_arch = "x86_64") && Level::current() != Level::Baseline;
    assert!(!has_code || all == 0 || 2 * compiled > all, "compiled code ran in {compiled} of {all} launches");
}

/// How a launch ends that has reached its limit on instructions.
const LIMIT: &str = "step limit";

/// How compiled code differs from the interpreter, if it does.
pub fn difference(device: &Device, setup: Setup, launch: Launcher<'_>) -> Option<String> {
    let buffers = [4 * WORDS, OUTPUT].map(|bytes| device.allocate(bytes as u64).expect("memory"));
    let interpreted = run(device, setup, Jit::Off, buffers, launch);
    // Masked code is made once lanes have diverged often.
    let times = if interpreted.faulted { 1 } else { 3 };
    let found = (0..times).find_map(|_| {
        let compiled = run(device, setup, Jit::On, buffers, launch);
        let ends = [&interpreted.ended, &compiled.ended];
        if ends[0] == ends[1] || !ends.iter().any(|end| *end == LIMIT) {
            return between(&interpreted, &compiled);
        }
        // When the limit is noticed is left open. Without it both end as the one did that did not notice it.
        let setup = Setup { most: u64::MAX, ..setup };
        let [whole, again] = [Jit::Off, Jit::On].map(|jit| run(device, setup, jit, buffers, launch));
        let other = if *ends[0] == LIMIT { &compiled } else { &interpreted };
        between(&whole, &again).or_else(|| between(&whole, other))
    });
    buffers.iter().for_each(|&buffer| device.free(buffer).expect("allocated"));
    found
}

fn between(interpreted: &Left, compiled: &Left) -> Option<String> {
    if interpreted.ended != compiled.ended {
        return Some(format!("interpreted: {}\ncompiled:    {}", interpreted.ended, compiled.ended));
    }
    if interpreted.faulted {
        // How far other warps came is left open.
        return None;
    }
    let at = interpreted.memory.iter().zip(&compiled.memory).position(|(a, b)| a != b)?;
    let (thread, offset) = (at / STRIDE, at % STRIDE / 4 * 4);
    let value = |bytes: &[u8]| u32::from_le_bytes(bytes[at / 4 * 4..][..4].try_into().expect("four bytes"));
    let (wanted, got) = (value(&interpreted.memory), value(&compiled.memory));
    Some(format!("byte {offset} of thread {thread}: {got:08x} compiled, {wanted:08x} interpreted"))
}

/// How long it is looked for a smaller program.
const LONGEST: Duration = Duration::from_secs(60);

/// Takes out of a list what is not needed for it to differ.
pub fn reduce<T: Clone>(
    list: Vec<T>,
    differs: impl Fn(&[T]) -> bool,
    without: impl Fn(&[T], usize, usize) -> Vec<T>,
) -> Vec<T> {
    let (mut list, start) = (list, Instant::now());
    let mut size = list.len().div_ceil(2);
    while size > 0 {
        let mut at = 0;
        while at < list.len() && start.elapsed() < LONGEST {
            let shorter = without(&list, at, (at + size).min(list.len()));
            match differs(&shorter) {
                true if shorter.len() < list.len() => list = shorter,
                true => {
                    list = shorter;
                    at += size;
                }
                false => at += size,
            }
        }
        size = if size == 1 { 0 } else { size.div_ceil(2) };
    }
    list
}
