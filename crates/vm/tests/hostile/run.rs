//! Runs a kernel interpreted, compiled, as it is run where nothing is said, and in compare mode: it ends the same, and
//! leaves the same memory.

use crate::choices::Choices;
use crate::kernel::{From, INPUT, Kernel, OUT, STORED, kernel};
use softwarp_num::splitmix::SplitMix64;
use softwarp_vm::device::{Device, Jit, Launch, LaunchError, LoadOptions, Report};

/// Buffers of a launch: the input, the one that is stored to, and the output.
struct Buffers {
    input: u64,
    stored: u64,
    out: u64,
}

impl Buffers {
    /// Those of a device. The buffer that is meant has the highest addresses, or the lowest.
    fn new(device: &Device, kernel: &Kernel) -> Buffers {
        let allocate = |bytes: u64| device.allocate(bytes).expect("memory");
        // Each is allocated after the one before.
        let mut sizes = [INPUT, OUT, STORED];
        let is_first = kernel.is_last == kernel.stores;
        if !is_first {
            sizes.reverse();
        }
        let mut places = sizes.map(allocate);
        if !is_first {
            places.reverse();
        }
        let [input, out, stored] = places;
        Buffers { input, stored, out }
    }

    fn all(&self) -> [(u64, u64); 3] {
        [(self.input, INPUT), (self.stored, STORED), (self.out, OUT)]
    }
}

/// What a kernel leaves.
struct Left {
    ended: String,
    faulted: bool,
    /// Nothing where other warps may have come more or less far.
    memory: Vec<u8>,
    report: Report,
}

fn run(device: &Device, kernel: &Kernel, buffers: &Buffers, jit: Jit) -> Left {
    let mut random = SplitMix64::new(7);
    for (at, bytes) in buffers.all() {
        let bytes: Vec<u8> = (0..bytes).map(|_| random.next_u64() as u8).collect();
        device.write(at, &bytes).expect("inside");
    }
    let (base, other) = match kernel.stores {
        true => (buffers.stored, buffers.input),
        false => (buffers.input, buffers.stored),
    };
    let from = match kernel.place.from {
        From::Base => 0,
        From::Other => other.wrapping_sub(base),
        From::Zero => base.wrapping_neg(),
    };
    let far = from.wrapping_add(kernel.place.more);
    let block: Vec<u8> = (0..48).collect();
    let arguments =
        [block, base.to_le_bytes().into(), buffers.out.to_le_bytes().into(), far.to_le_bytes().into()];
    let shape = [kernel.block[0], kernel.block[1], 1];
    let launch = Launch { jit, threads: Some(1), ..Launch::new("k", [kernel.ctas, 1, 1], shape, &arguments) };
    let (ended, faulted, report) = match device.launch(&launch) {
        Ok(report) => (format!("{:?}", report.counts), false, report),
        Err(LaunchError::Fault(fault)) => {
            (format!("{fault:?}"), true, device.stopped().expect("what was done until then"))
        }
        Err(error) => panic!("{error}\n{}", kernel.text),
    };
    let is_one_warp = kernel.ctas == 1 && kernel.block[0] * kernel.block[1] <= 32;
    let mut memory = Vec::new();
    if !faulted || is_one_warp {
        for (at, bytes) in buffers.all() {
            let start = memory.len();
            memory.resize(start + bytes as usize, 0);
            device.read(at, &mut memory[start..]).expect("inside");
        }
    }
    Left { ended, faulted, memory, report }
}

/// A kernel that choices make: whether it has faulted. Panics if it does not end the same in all modes.
pub fn compare(name: &str, choices: &mut Choices<'_>) -> bool {
    let kernel = kernel(choices);
    if std::env::var_os("SHOW").is_some() {
        eprintln!("{}", kernel.text);
    }
    let device = Device::load(&[&kernel.text], LoadOptions::default())
        .unwrap_or_else(|error| panic!("{name}: {error}\n{}", kernel.text));
    let buffers = Buffers::new(&device, &kernel);
    let interpreted = run(&device, &kernel, &buffers, Jit::Off);
    // Masked code is made once lanes have diverged often.
    for jit in [Jit::On, Jit::On, Jit::Auto, Jit::Compare] {
        let compiled = run(&device, &kernel, &buffers, jit);
        let Kernel { block, ctas, text, .. } = &kernel;
        assert!(
            interpreted.ended == compiled.ended,
            "{name}, {jit:?}, {ctas} CTAs of {block:?} threads\ninterpreted: {}\ncompiled:    {}\n{text}",
            interpreted.ended,
            compiled.ended,
        );
        let differs = interpreted.memory.iter().zip(&compiled.memory).position(|(a, b)| a != b);
        assert!(
            differs.is_none(),
            "{name}, {jit:?}, {ctas} CTAs of {block:?} threads: byte {differs:?}\n{text}"
        );
        if jit == Jit::Compare {
            let Report { comparisons, findings, .. } = compiled.report;
            let is_same = comparisons.mismatches + comparisons.order_dependent == 0 && findings.is_empty();
            assert!(is_same, "{name}, compare mode: {comparisons:?} {findings:?}\n{text}");
        }
    }
    interpreted.faulted
}
