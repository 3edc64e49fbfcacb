//! Values of all classes in CTAs of many shapes: the same in all lanes, from lane to lane or from half to half a step
//! further, or anything. Programs are run compiled and interpreted; memory, counts and faults have to be the same.

#[path = "values/indices.rs"]
mod indices;
#[path = "values/mixed.rs"]
mod mixed;
#[path = "values/order.rs"]
mod order;
#[path = "values/own_memory.rs"]
mod own_memory;
#[path = "values/products.rs"]
mod products;
#[path = "values/repeated.rs"]
mod repeated;
#[path = "values/twice.rs"]
mod twice;

use softwarp_num::splitmix::SplitMix64;
use softwarp_vm::device::{Device, Jit, Launch, LaunchError, LoadOptions};

/// The shapes of CTAs: rows of 16 threads and others, whole and partial warps, two and three axes.
pub const BLOCKS: [[u32; 3]; 16] = [
    [16, 16, 1],
    [16, 8, 1],
    [16, 4, 1],
    [16, 3, 1],
    [16, 2, 3],
    [8, 8, 1],
    [4, 4, 4],
    [32, 3, 1],
    [64, 1, 2],
    [33, 1, 1],
    [1, 1, 1],
    [7, 1, 1],
    [20, 3, 1],
    [5, 7, 3],
    [3, 5, 2],
    [256, 1, 1],
];

/// Words of the input; programs get the address of the one in the middle.
pub const WORDS: usize = 1 << 15;

/// Words that all threads read, small numbers.
pub const SMALL: [u32; 8] = [3, 16, 5, 1, 2, 7, 0, 4];

/// Threads of a CTA, at most.
const THREADS: usize = 256;
const CTAS: u32 = 2;

/// Bytes of a thread's output.
pub const STRIDE: usize = 256;

/// What a kernel begins with. Its registers: `%x`, `%y`, `%z`, `%cta`, `%nx`, `%ny`, `%lane` as they are named, `%n0` to
/// `%n7` the small numbers, `%t` the number of the thread, and the addresses `%in`, `%out`, `%small` and `%mine`.
pub const BEGIN: &str = "    .reg .b32 %x, %y, %z, %cta, %nx, %ny, %lane, %t, %n<8>, %acc; .reg .b64 %in, %out, %small, %mine;
    ld.param.u64 %in, [in]; ld.param.u64 %small, [small]; ld.param.u64 %out, [out];
    mov.u32 %x, %tid.x; mov.u32 %y, %tid.y; mov.u32 %z, %tid.z; mov.u32 %cta, %ctaid.x; mov.u32 %lane, %laneid;
    mov.u32 %nx, %ntid.x; mov.u32 %ny, %ntid.y; mad.lo.u32 %t, %z, %ny, %y; mad.lo.u32 %t, %t, %nx, %x;
    ld.global.u32 %n0, [%small]; ld.global.u32 %n1, [%small+4]; ld.global.u32 %n2, [%small+8];
    ld.global.u32 %n3, [%small+12]; ld.global.u32 %n4, [%small+16]; ld.global.u32 %n5, [%small+20];
    ld.global.u32 %n6, [%small+24]; ld.global.u32 %n7, [%small+28];
    mad.lo.u32 %acc, %cta, 256, %t; mad.wide.u32 %mine, %acc, 256, %out;
";

/// A module with a kernel that begins so. What stands before it and what it declares come first.
pub fn module(before: &str, declared: &str, body: &str) -> String {
    format!(
        ".version 8.6\n.target sm_90\n.address_size 64\n{before}
.visible .entry k(.param .u64 in, .param .u64 small, .param .u64 out)
{{
{declared}
{BEGIN}{body}    ret;
}}
"
    )
}

/// How many programs of a kind there are: `SOFTWARP_PROGRAMS` times as many as otherwise.
pub fn programs(count: u64) -> std::ops::Range<u64> {
    if let Some(seed) = crate::only() {
        return seed..seed + 1;
    }
    let times = std::env::var("SOFTWARP_PROGRAMS").ok().and_then(|text| text.parse().ok());
    0..count * times.unwrap_or(1u64)
}

/// A module, and what its kernel is launched with.
struct Run {
    device: Device,
    out: u64,
    arguments: [Vec<u8>; 3],
}

/// Bytes of the output.
const OUTPUT: usize = CTAS as usize * THREADS * STRIDE;

impl Run {
    fn of(text: &str) -> Run {
        let loaded = Device::load(&[text], LoadOptions::default());
        let device = loaded.unwrap_or_else(|error| panic!("{error}\n{text}"));
        let sizes = [4 * WORDS, 4 * SMALL.len(), OUTPUT];
        let [input, small, out] = sizes.map(|bytes| device.allocate(bytes as u64).expect("memory"));
        let mut random = SplitMix64::new(text.len() as u64);
        let words = (0..WORDS).flat_map(|_| (random.next_u64() as u32).to_le_bytes());
        device.write(input, &words.collect::<Vec<u8>>()).expect("inside");
        device.write(small, &SMALL.map(u32::to_le_bytes).concat()).expect("inside");
        let middle = input + 2 * WORDS as u64;
        let arguments = [middle, small, out].map(|pointer| pointer.to_le_bytes().to_vec());
        Run { device, out, arguments }
    }

    /// Launches it: its counts or its fault, and what it leaves.
    fn launch(&self, jit: Jit, block: [u32; 3]) -> (Result<String, String>, Vec<u8>) {
        self.device.write(self.out, &[0xaa; OUTPUT]).expect("inside");
        let launch = Launch {
            jit,
            threads: Some(1),
            most_instructions: Some(10_000_000),
            ..Launch::new("k", [CTAS, 1, 1], block, &self.arguments)
        };
        let ended = match self.device.launch(&launch) {
            Ok(report) => Ok(format!("{:?}", report.counts)),
            Err(LaunchError::Fault(fault)) => Err(format!("{fault:?}")),
            Err(error) => panic!("{error}"),
        };
        let mut bytes = vec![0; OUTPUT];
        self.device.read(self.out, &mut bytes).expect("inside");
        (ended, bytes)
    }
}

/// Whether a module ends without a fault, interpreted.
pub fn ends_well(text: &str) -> bool {
    Run::of(text).launch(Jit::Off, [32, 1, 1]).0.is_ok()
}

/// How compiled code differs from the interpreter for a module in CTAs of some shapes, if it does.
pub fn difference(text: &str, blocks: &[[u32; 3]]) -> Option<String> {
    let run = Run::of(text);
    for &block in blocks {
        let interpreted = run.launch(Jit::Off, block);
        // Masked code is made once lanes have diverged often.
        for _ in 0..3 {
            let compiled = run.launch(Jit::On, block);
            if interpreted.0 != compiled.0 {
                let (a, b) = (&interpreted.0, &compiled.0);
                return Some(format!("CTAs of {block:?}: interpreted {a:?}\ncompiled {b:?}"));
            }
            // How far other warps came is left open where there is a fault.
            let differs = interpreted.0.is_ok().then(|| interpreted.1.iter().zip(&compiled.1));
            let Some(at) = differs.and_then(|mut both| both.position(|(a, b)| a != b)) else { continue };
            let word =
                |bytes: &[u8]| u32::from_le_bytes(bytes[at / 4 * 4..][..4].try_into().expect("four bytes"));
            let (wanted, got) = (word(&interpreted.1), word(&compiled.1));
            let (thread, byte) = (at / STRIDE % THREADS, at % STRIDE);
            return Some(format!(
                "CTAs of {block:?}: byte {byte} of thread {thread}: {got:08x} compiled, {wanted:08x} interpreted"
            ));
        }
    }
    None
}

/// Runs a module compiled and interpreted in CTAs of some shapes.
pub fn compare(what: &str, text: &str, blocks: &[[u32; 3]]) {
    if let Some(found) = difference(text, blocks) {
        panic!("{what}: {found}\n{text}");
    }
}
