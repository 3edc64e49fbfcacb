//! Aligned accesses of up to 16 bytes by one lane are performed in one piece, and write nothing beside what they are for.
//!
//! CTAs write elements that are all the same, and others read them at the same time and count what is not: part of the
//! elements from before another thread's store, and part from after it. Every form of access is tested, interpreted and
//! compiled, with addresses of every pattern that compiled code tells apart.
//!
//! - `forms.rs`: what stores and what loads, in global memory of every kind, and in the shared memory of a cluster.
//! - `copies.rs`: bulk copies, copies of tensors, and the host.
//! - `neighbours.rs`: stores to bytes beside those that other threads store at the same time.
//! - `atomics.rs`: atomic operations on parts of what others access in one piece.
//!
//! `SOFTWARP_LOADS` is how many loads each line of the table has (the default is for CI; hundreds of millions find rare
//! cases, and then each line is printed), `SOFTWARP_THREADS` how many threads of the host run them, and `SOFTWARP_ONLY`
//! part of the name of what is tested. `SOFTWARP_SIMD=avx2` tests the code for CPUs without AVX-512, and
//! `SOFTWARP_SIMD=baseline` the interpreter for those without AVX2.

#[path = "torn/atomics.rs"]
mod atomics;
#[path = "torn/copies.rs"]
mod copies;
#[path = "torn/forms.rs"]
mod forms;
#[path = "torn/neighbours.rs"]
mod neighbours;

use softwarp_vm::device::{Device, Jit, Launch, LoadOptions};
use std::time::{Duration, Instant};

/// More loads than this are not for CI.
const MANY: u64 = 1_000_000;

/// The first lines of a module.
const HEADER: &str = ".version 9.1\n.target sm_100a\n.address_size 64\n";

fn number(variable: &str, otherwise: u64) -> u64 {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

/// Threads of the host.
fn threads() -> u32 {
    number("SOFTWARP_THREADS", 4) as u32
}

/// Lines of the table: what was found wrong.
struct Table {
    only: String,
    loads: u64,
    wrong: Vec<String>,
}

impl Table {
    fn new() -> Table {
        let only = std::env::var("SOFTWARP_ONLY").unwrap_or_default();
        Table { only, loads: number("SOFTWARP_LOADS", 8_000), wrong: Vec::new() }
    }

    /// Whether a line is asked for.
    fn has(&self, name: &str) -> bool {
        name.contains(&self.only)
    }

    /// Adds a line.
    fn add(&mut self, name: &str, jit: Jit, (done, torn): (u64, u64)) {
        let line = format!("{torn} of {done} torn: {name}, {jit:?}");
        if self.loads > MANY {
            println!("{line}");
        }
        if torn > 0 {
            self.wrong.push(line);
        }
    }

    fn finish(self) {
        assert!(self.wrong.is_empty(), "{} lines:\n{}", self.wrong.len(), self.wrong.join("\n"));
    }
}

/// Counts until something is found, in each mode: so that it would be found where it must not be. With few loads, on a
/// machine that is busy with other things, nothing may be found in time.
fn finds(count: impl Fn(Jit) -> (u64, u64)) {
    let is_long = number("SOFTWARP_LOADS", 0) > MANY;
    for jit in [Jit::Off, Jit::On] {
        let until = Instant::now() + Duration::from_secs(if is_long { 600 } else { 3 });
        while count(jit).1 == 0 {
            if Instant::now() > until {
                assert!(!is_long, "nothing was found, {jit:?}");
                break;
            }
        }
    }
}

fn load(name: &str, text: &str) -> Device {
    Device::load(&[text], LoadOptions::default()).unwrap_or_else(|error| panic!("{name}: {error:?}\n{text}"))
}

/// What a kernel is launched with: `k(data, from, out, rounds, map)`. Each thread leaves a count in `out`.
struct Run<'a> {
    device: &'a Device,
    /// Where is stored, and where is loaded: two addresses of the same memory.
    places: [u64; 2],
    map: Vec<u8>,
    cluster: Option<u32>,
    /// Of each of this many CTAs, one loads.
    roles: u32,
}

impl Run<'_> {
    fn new(device: &Device, place: u64) -> Run<'_> {
        Run { device, places: [place; 2], map: vec![0; 128], cluster: None, roles: 2 }
    }

    /// Runs the kernel until its lanes have loaded so often: how many loads there were, and the sum of the counts.
    fn count(&self, jit: Jit, loads: u64) -> (u64, u64) {
        let grid = 2 * self.roles * threads();
        let out = self.device.allocate(u64::from(grid) * 128).expect("memory");
        let each = u64::from(grid / self.roles) * 32;
        let rounds = loads.div_ceil(each).clamp(1, 1 << 20);
        let (mut done, mut torn) = (0, 0);
        while done < loads {
            let [data, from, out_argument] =
                [self.places[0], self.places[1], out].map(|at| at.to_le_bytes().to_vec());
            let arguments =
                [data, from, out_argument, (rounds as u32).to_le_bytes().to_vec(), self.map.clone()];
            let launch = Launch {
                jit,
                threads: Some(threads() as usize),
                cluster: self.cluster.map(|ctas| [ctas, 1, 1]),
                ..Launch::new("k", [grid, 1, 1], [32, 1, 1], &arguments)
            };
            self.device.launch(&launch).unwrap_or_else(|error| panic!("{error}"));
            torn += self.words(out, grid as usize * 32).into_iter().map(u64::from).sum::<u64>();
            done += rounds * each;
        }
        self.device.free(out).expect("allocated");
        (done, torn)
    }

    /// Runs the kernel with one CTA of each role at a time, each pair with memory of its own to begin with.
    fn pairs(device: &Device, jit: Jit, loads: u64) -> (u64, u64) {
        let (mut done, mut wrong) = (0, 0);
        let rounds = (loads / 64).clamp(1, 1 << 20);
        while done < loads {
            let data = device.allocate(4096).expect("memory");
            let out = device.allocate(256).expect("memory");
            let run = Run::new(device, data);
            let addresses = [data, data, out].map(|at| at.to_le_bytes().to_vec()).into_iter();
            let arguments: Vec<Vec<u8>> =
                addresses.chain([(rounds as u32).to_le_bytes().to_vec(), vec![0; 128]]).collect();
            let launch =
                Launch { jit, threads: Some(2), ..Launch::new("k", [2, 1, 1], [32, 1, 1], &arguments) };
            device.launch(&launch).unwrap_or_else(|error| panic!("{error}"));
            wrong += run.words(out, 64).into_iter().map(u64::from).sum::<u64>();
            done += 64 * rounds;
            device.free(data).expect("allocated");
            device.free(out).expect("allocated");
        }
        (done, wrong)
    }

    fn words(&self, at: u64, count: usize) -> Vec<u32> {
        let mut bytes = vec![0; 4 * count];
        self.device.read(at, &mut bytes).expect("inside");
        bytes.as_chunks().0.iter().map(|&word| u32::from_le_bytes(word)).collect()
    }
}

/// The registers and parameters that all kernels have: the role of the CTA is in `%role`, the lane in `%t`.
fn kernel(directives: &str, body: &str, roles: u32) -> String {
    format!(
        "{HEADER}.visible .entry k(.param .u64 data, .param .u64 from, .param .u64 out, .param .u32 rounds,
            .param .align 64 .b8 map[128]) {directives}
{{
    .shared .align 128 .b8 own[1024]; .shared .align 8 .b64 mb;
    .reg .pred %p, %q, %w0; .reg .b32 %t, %c, %role, %o, %s, %v, %n, %r, %z, %y<10>, %e<4>;
    .reg .b64 %at, %src, %out, %w, %x, %wide, %map, %l<4>; .reg .b128 %g<3>;
    .reg .f32 %f<4>; .reg .f64 %ff<2>; .reg .b16 %h<2>;
    ld.param.u64 %at, [data]; ld.param.u64 %src, [from]; ld.param.u64 %out, [out]; ld.param.u32 %r, [rounds];
    mov.b64 %map, map; cvta.param.u64 %map, %map;
    mov.u32 %t, %tid.x; mov.u32 %c, %ctaid.x; rem.u32 %role, %c, {roles};
    mad.lo.u32 %o, %c, 32, %t; mul.wide.u32 %wide, %o, 4; add.u64 %out, %out, %wide;
    mov.u32 %n, 0; mov.u32 %v, 0;
    {body}
DONE:
    st.global.u32 [%out], %n;
    ret;
}}
"
    )
}
