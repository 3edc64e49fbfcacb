//! File tests of the compiler: what a pass finds out about a kernel, and the kernel run both ways.
//!
//! A file of `crates/jit/tests/filetests` is a kernel in PTX (`.ptx`) or in the intermediate representation (`.ir`). Its
//! comments say what is tested:
//!
//! - `// pass: NAME`: a pass of `softwarp_jit::passes::PASSES`;
//! - `// shape: 16 4 1`: the CTA that it is compiled for (256 1 1 without it);
//! - `// level: avx2`: the instructions that it is compiled to (AVX-512 without it);
//! - `// run: 16 4 1`: the CTAs that it is run with; without any, those of [`BLOCKS`];
//! - `// not compiled`: no instruction runs in compiled code.
//!
//! Below `// expected:` is what the pass finds out; `SOFTWARP_BLESS=1` writes it. Then the kernel is run interpreted and
//! compiled, at the level of this CPU or the one that `SOFTWARP_SIMD` names: memory, counts and faults must be the same. The
//! kernel is `k`, with two parameters of 64 bits: the addresses of an input of 16 KiB and of an output of 64 KiB.

use softwarp_num::Level;
use softwarp_testkit::SplitMix64;
use softwarp_vm::device::{Device, Jit, Launch, LaunchError, LoadOptions, Program};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const EXPECTED: &str = "// expected:\n";

/// CTAs that a kernel is run with: whole and partial warps, rows of 16 threads, other rows, three axes.
const BLOCKS: [[u32; 3]; 8] =
    [[32, 1, 1], [64, 1, 1], [50, 1, 1], [1, 1, 1], [16, 4, 1], [16, 3, 1], [8, 3, 2], [4, 4, 3]];

const INPUT: usize = 16 << 10;
const OUTPUT: usize = 64 << 10;

/// The module whose parameters a function of the intermediate representation has.
const STUB: &str = ".version 8.6\n.target sm_90\n.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out) { ret; }\n";

/// What the comments of a file say of something.
fn said<'a>(text: &'a str, what: &str) -> Vec<&'a str> {
    let lines = text.lines().filter_map(|line| line.strip_prefix("// ")?.strip_prefix(what));
    lines.map(|rest| rest.trim_start_matches(':').trim()).collect()
}

/// The dimensions of a CTA.
fn dimensions(text: &str) -> [u32; 3] {
    let numbers: Vec<u32> = text.split_whitespace().map(|word| word.parse().expect("a dimension")).collect();
    numbers.try_into().expect("three dimensions")
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../jit/tests/filetests")
}

/// A kernel on a device.
struct Kernel {
    device: Device,
    program: Arc<Program>,
}

impl Kernel {
    fn of(name: &str, source: &str) -> Kernel {
        let is_ir = name.ends_with(".ir");
        let text = if is_ir { STUB } else { source };
        let device =
            Device::load(&[text], LoadOptions::default()).unwrap_or_else(|error| panic!("{name}: {error}"));
        let program = device.program("k").unwrap_or_else(|error| panic!("{name}: {error}"));
        if !is_ir {
            return Kernel { device, program };
        }
        let mut function =
            softwarp_ir::Function::parse(source).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(round_trip(&function), format!("{function:#}"), "{name}: it is printed as it was parsed");
        function.function = program.functions().next().expect("a kernel").function;
        let program = softwarp_ir::Program { functions: vec![function], of_function: vec![Some(0)] };
        Kernel { device, program: Arc::new(Program::new(program)) }
    }

    /// How a launch ends, what it leaves, and how many instructions compiled code executed.
    fn run(&self, block: [u32; 3], jit: Jit, [input, out]: [u64; 2]) -> (String, Vec<u8>, u64) {
        let mut random = SplitMix64::new(1);
        let bytes: Vec<u8> = (0..INPUT / 8).flat_map(|_| random.next_u64().to_le_bytes()).collect();
        self.device.write(input, &bytes).expect("inside");
        self.device.write(out, &vec![0xaa; OUTPUT]).expect("inside");
        let arguments = [input, out].map(|buffer| buffer.to_le_bytes().to_vec());
        let launch = Launch {
            jit,
            threads: Some(1),
            most_instructions: Some(1_000_000),
            ..Launch::new("k", [2, 1, 1], block, &arguments)
        };
        let (ended, compiled) = match self.device.launch_program(&launch, &self.program) {
            Ok(report) => (format!("{:?}", report.counts), report.compiled),
            Err(LaunchError::Fault(fault)) => (format!("{fault:?}"), 0),
            Err(error) => panic!("{error}"),
        };
        let mut left = vec![0; OUTPUT];
        self.device.read(out, &mut left).expect("inside");
        (ended, left, compiled)
    }

    /// Runs it both ways.
    fn compare(&self, name: &str, source: &str) {
        let runs: Vec<[u32; 3]> = said(source, "run:").into_iter().map(dimensions).collect();
        let runs = if runs.is_empty() { BLOCKS.to_vec() } else { runs };
        let buffers = [INPUT, OUTPUT].map(|bytes| self.device.allocate(bytes as u64).expect("memory"));
        let has_code = cfg!(target_arch = "x86_64") && Level::current() != Level::Baseline;
        let expected = has_code && said(source, "not compiled").is_empty();
        let mut ran = false;
        for block in runs {
            let interpreted = self.run(block, Jit::Off, buffers);
            // Masked code is made once lanes have diverged often.
            for _ in 0..3 {
                let compiled = self.run(block, Jit::On, buffers);
                assert_eq!(interpreted.0, compiled.0, "{name}, CTAs of {block:?}");
                let at = interpreted.1.iter().zip(&compiled.1).position(|(a, b)| a != b);
                assert_eq!(at, None, "{name}, CTAs of {block:?}: the byte of the output that differs");
                ran |= compiled.2 > 0;
            }
        }
        assert_eq!(ran, expected, "{name}: whether compiled code ran");
    }
}

/// A function, printed and parsed.
fn round_trip(function: &softwarp_ir::Function) -> String {
    let text = format!("{function:#}");
    let parsed = softwarp_ir::Function::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    format!("{parsed:#}")
}

/// What a pass finds out about a kernel, as comments.
#[cfg(target_arch = "x86_64")]
fn found(name: &str, source: &str, pass: &str, kernel: &Kernel) -> String {
    use softwarp_jit::{Shape, passes};
    let shape = said(source, "shape:").first().map_or([256, 1, 1], |text| dimensions(text));
    let width = match said(source, "level:").first() {
        Some(&"avx2") => passes::Width::Avx2,
        None | Some(&"avx512") => passes::Width::Avx512,
        Some(other) => panic!("{name}: there is no level {other}"),
    };
    let function = kernel.program.functions().next().expect("a kernel");
    let found = passes::run(pass, function, Shape::of(shape), width);
    let found = found.unwrap_or_else(|| format!("not compiled\n{function}"));
    found.lines().map(|line| format!("// {line}\n")).collect()
}

#[test]
fn passes_find_what_their_files_say() {
    let folder = folder();
    let names = softwarp_testkit::files::names(&folder);
    let mut tested = BTreeSet::new();
    for name in &names {
        let path = folder.join(name);
        let text = std::fs::read_to_string(&path).expect("a file");
        let source = text.split(EXPECTED).next().unwrap_or_default();
        let kernel = Kernel::of(name, source);
        let passes = said(source, "pass:");
        assert_eq!(passes.len(), 1, "{name} names a pass");
        #[cfg(target_arch = "x86_64")]
        softwarp_testkit::expected::assert_file(
            &path,
            &format!("{source}{EXPECTED}{}", found(name, source, passes[0], &kernel)),
        );
        tested.insert(passes[0].to_owned());
        kernel.compare(name, source);
    }
    #[cfg(target_arch = "x86_64")]
    {
        let without: Vec<&str> = (softwarp_jit::passes::PASSES.iter())
            .map(|pass| pass.name)
            .filter(|name| !tested.contains(*name))
            .collect();
        println!("passes without a file test: {}", without.len());
        assert!(without.is_empty(), "passes without a file test: {without:?}");
    }
}
