//! Compiled code against the interpreter: random programs with arithmetic of many types, divergent branches, loops,
//! memory, shuffles and barriers leave the same memory, the same counts and the same faults.
//!
//! `cargo test --release -p softwarp-vm --test compiled -- --ignored` runs programs for as many seconds as
//! `SOFTWARP_SECONDS` says (two hours without it). `SOFTWARP_SEED` runs one program.

use softwarp_testkit::SplitMix64;
use softwarp_vm::device::{Device, Jit, Launch, LaunchError, LoadOptions};
use std::fmt::Write;
use std::time::{Duration, Instant};

/// Words of the buffer that programs read and write.
const WORDS: usize = 4096;

/// A generator of programs.
struct Generator {
    random: SplitMix64,
    text: String,
    labels: u32,
    /// Loops and branches around the statement.
    depth: u32,
    /// Statements that may still be written.
    left: u32,
}

impl Generator {
    fn new(seed: u64) -> Generator {
        Generator { random: SplitMix64::new(seed), text: String::new(), labels: 0, depth: 0, left: 60 }
    }

    fn below(&mut self, n: u64) -> u64 {
        self.random.next_u64() % n
    }

    fn pick<'a>(&mut self, list: &[&'a str]) -> &'a str {
        list[self.below(list.len() as u64) as usize]
    }

    fn r(&mut self) -> String {
        format!("%r{}", self.below(8))
    }

    fn d(&mut self) -> String {
        format!("%d{}", self.below(4))
    }

    fn f(&mut self) -> String {
        format!("%f{}", self.below(6))
    }

    fn p(&mut self) -> String {
        format!("%p{}", self.below(4))
    }

    /// A source of 32 bits: a register or a constant.
    fn source(&mut self) -> String {
        match self.below(4) {
            0 => ["0", "1", "31", "-1", "0x80000000", "12345", "32", "7"][self.below(8) as usize].to_string(),
            _ => self.r(),
        }
    }

    fn float_source(&mut self) -> String {
        let constants = [
            "0f00000000",
            "0f80000000",
            "0f3F800000",
            "0f7F800000",
            "0f7FFFFFFF",
            "0f00000001",
            "0fC0490FDB",
        ];
        match self.below(4) {
            0 => self.pick(&constants).to_string(),
            _ => self.f(),
        }
    }

    fn guard(&mut self) -> String {
        match self.below(6) {
            0 => format!("@{} ", self.p()),
            1 => format!("@!{} ", self.p()),
            _ => String::new(),
        }
    }

    fn line(&mut self, line: &str) {
        let _ = writeln!(self.text, "    {line}");
    }

    /// A statement.
    fn statement(&mut self) {
        self.left = self.left.saturating_sub(1);
        match self.below(20) {
            0..=4 => self.integer(),
            5..=7 => self.float(),
            8..=9 => self.wide(),
            10..=11 => self.compare(),
            12..=13 => self.memory(),
            14 => self.exchange(),
            15 => self.convert(),
            16..=17 if self.depth < 3 => self.branch(),
            18 if self.depth < 2 => self.repeat(),
            _ => self.integer(),
        }
    }

    fn integer(&mut self) {
        let (guard, d, a, b, c) = (self.guard(), self.r(), self.r(), self.source(), self.source());
        let three = ["mad.lo.u32", "mad.lo.s32", "shf.l.wrap.b32", "shf.r.wrap.b32", "shf.l.clamp.b32"];
        let two = [
            "add.u32",
            "sub.u32",
            "mul.lo.s32",
            "mul.hi.u32",
            "and.b32",
            "or.b32",
            "xor.b32",
            "shl.b32",
            "shr.u32",
            "shr.s32",
            "min.s32",
            "max.u32",
            "min.u32",
            "max.s32",
            "div.u32",
            "rem.s32",
            "add.s32",
        ];
        let line = match self.below(8) {
            0 => format!("{guard}{} {d}, {a}, {b}, {c};", self.pick(&three)),
            1 => format!("{guard}lop3.b32 {d}, {a}, {b}, {c}, {};", self.below(256)),
            2 => format!(
                "{guard}{} {d}, {a};",
                self.pick(&["not.b32", "neg.s32", "popc.b32", "clz.b32", "abs.s32", "mov.b32"])
            ),
            3 => format!("{guard}selp.b32 {d}, {a}, {b}, {};", self.p()),
            4 => format!("{guard}bfe.u32 {d}, {a}, {}, {};", self.below(32), self.below(33)),
            _ => format!("{guard}{} {d}, {a}, {b};", self.pick(&two)),
        };
        self.line(&line);
    }

    fn float(&mut self) {
        let (guard, d, a, b, c) =
            (self.guard(), self.f(), self.f(), self.float_source(), self.float_source());
        let two = [
            "add.f32",
            "sub.f32",
            "mul.f32",
            "min.f32",
            "max.f32",
            "div.rn.f32",
            "add.ftz.f32",
            "mul.rz.f32",
            "add.sat.f32",
            "max.NaN.f32",
        ];
        let one = [
            "neg.f32",
            "abs.f32",
            "sqrt.rn.f32",
            "rcp.rn.f32",
            "rsqrt.approx.f32",
            "ex2.approx.f32",
            "mov.f32",
            "lg2.approx.f32",
            "sin.approx.f32",
            "cos.approx.ftz.f32",
            "rcp.approx.f32",
            "tanh.approx.f32",
            "sqrt.approx.f32",
        ];
        let line = match self.below(5) {
            0 | 1 => format!("{guard}fma.rn.f32 {d}, {a}, {b}, {c};"),
            2 => format!("{guard}{} {d}, {a};", self.pick(&one)),
            _ => format!("{guard}{} {d}, {a}, {b};", self.pick(&two)),
        };
        self.line(&line);
    }

    fn wide(&mut self) {
        let (guard, d, a, b) = (self.guard(), self.d(), self.d(), self.d());
        let (r, s) = (self.r(), self.source());
        let two = [
            "add.s64",
            "sub.s64",
            "mul.lo.u64",
            "and.b64",
            "or.b64",
            "xor.b64",
            "min.s64",
            "max.u64",
            "min.u64",
        ];
        let line = match self.below(6) {
            0 => format!("{guard}{} {d}, {r}, {s};", self.pick(&["mul.wide.s32", "mul.wide.u32"])),
            1 => format!("{guard}{} {d}, {r}, {s}, {a};", self.pick(&["mad.wide.s32", "mad.wide.u32"])),
            2 => format!("{guard}{} {d}, {a}, {s};", self.pick(&["shl.b64", "shr.u64", "shr.s64"])),
            3 => format!("{guard}selp.b64 {d}, {a}, {b}, {};", self.p()),
            4 => format!("{guard}{} {d}, {a};", self.pick(&["not.b64", "neg.s64", "mov.b64"])),
            _ => format!("{guard}{} {d}, {a}, {b};", self.pick(&two)),
        };
        self.line(&line);
    }

    fn convert(&mut self) {
        let (guard, r, f, d) = (self.guard(), self.r(), self.f(), self.d());
        let line = match self.below(10) {
            0 => format!("{guard}cvt.s64.s32 {d}, {r};"),
            1 => format!("{guard}cvt.u64.u32 {d}, {r};"),
            2 => format!("{guard}cvt.u32.u64 {r}, {d};"),
            3 => format!("{guard}cvt.rn.f32.s32 {f}, {r};"),
            4 => format!("{guard}cvt.rn.f32.u32 {f}, {r};"),
            5 => format!("{guard}cvt.rzi.s32.f32 {r}, {f};"),
            6 => format!("{guard}mov.b32 {r}, {f};"),
            7 => format!("{guard}mov.b32 {f}, {r};"),
            8 => format!("{guard}mov.b64 {{{r}, %r0}}, {d};"),
            _ => format!("{guard}mov.b64 {d}, {{{r}, %r1}};"),
        };
        self.line(&line);
    }

    fn compare(&mut self) {
        let (guard, p, q, c) = (self.guard(), self.p(), self.p(), self.p());
        let (a, b) = (self.r(), self.source());
        let (x, y) = (self.f(), self.float_source());
        let (d, e) = (self.d(), self.d());
        let order = self.pick(&["eq", "ne", "lt", "le", "gt", "ge"]);
        let float_order = self.pick(&["eq", "ne", "lt", "leu", "gtu", "ge", "num", "nan", "neu", "equ"]);
        let ty = self.pick(&["s32", "u32"]);
        let wide = self.pick(&["s64", "u64"]);
        let combine = self.pick(&["and", "or", "xor"]);
        let line = match self.below(7) {
            0 => format!("{guard}setp.{order}.{combine}.{ty} {p}, {a}, {b}, {c};"),
            1 if p != q => format!("{guard}setp.{order}.{ty} {p}|{q}, {a}, {b};"),
            2 => format!("{guard}setp.{float_order}.f32 {p}, {x}, {y};"),
            3 => format!("{guard}setp.{order}.{wide} {p}, {d}, {e};"),
            4 => format!("{guard}{}.pred {p}, {q}, {c};", combine),
            5 => format!("{guard}not.pred {p}, {q};"),
            _ => format!("{guard}setp.{order}.{ty} {p}, {a}, {b};"),
        };
        self.line(&line);
    }

    /// An access to the thread's part of the buffer, in some order of the lanes, or to shared memory.
    fn memory(&mut self) {
        let (guard, r, f, d, index) = (self.guard(), self.r(), self.f(), self.d(), self.r());
        let offset = 4 * self.below(8);
        let place = match self.below(8) {
            // Consecutive lanes.
            0 => "%own".to_string(),
            // The same for all threads of a warp.
            1 => "%warp".to_string(),
            // Rows of a CTA: consecutive within each, and the same within each.
            2 => "%row".to_string(),
            3 => "%first".to_string(),
            // Anywhere.
            _ => {
                self.line(&format!("and.b32 %x, {index}, {};", WORDS / 2 - 16));
                self.line("mad.wide.u32 %q, %x, 4, %in;");
                "%q".to_string()
            }
        };
        let line = match self.below(22) {
            13..=20 => return self.shared(&guard, &r, &index),
            9 => format!("{guard}ld.global.v2.u32 {{%r1, %r6}}, [{place}+{}];", 2 * offset),
            10 => format!("{guard}ld.global.v4.f32 {{%f0, %f3, %f2, %f5}}, [{place}+{}];", 4 * offset % 64),
            11 => format!("{guard}ld.const.u32 {r}, [table+{offset}];"),
            12 => {
                self.line(&format!("and.b32 %x, {index}, 60;"));
                self.line("cvt.u64.u32 %q, %x; mov.u64 %k, table; add.s64 %q, %q, %k;");
                format!("{guard}ld.const.u32 {r}, [%q];")
            }
            0 => format!("{guard}ld.global.f32 {f}, [{place}+{offset}];"),
            1 => format!("{guard}ld.global.u8 {r}, [{place}+{}];", offset + self.below(4)),
            2 => format!("{guard}ld.global.s16 {r}, [{place}+{}];", offset + 2 * self.below(2)),
            3 => format!("{guard}ld.u32 {r}, [{place}+{offset}];"),
            4 => format!("{guard}ld.global.u64 {d}, [{place}+{}];", 2 * offset),
            5 => format!("{guard}st.global.u32 [%mine+{offset}], {r};"),
            6 => format!("{guard}st.shared.u32 [%slot], {r};"),
            7 => format!("{guard}ld.shared.u32 {r}, [%slot];"),
            _ => format!("{guard}ld.global.u32 {r}, [{place}+{offset}];"),
        };
        self.line(&line);
    }

    /// An access to the warp's part of shared memory, a store of several elements, or an atomic operation.
    fn shared(&mut self, guard: &str, r: &str, index: &str) {
        let (offset, f) = (4 * self.below(8), self.f());
        let place = ["%slot", "%shared_row", "%shared_first", "%x"][self.below(4) as usize];
        if place == "%x" {
            self.line(&format!("and.b32 %x, {index}, 508; add.u32 %x, %x, %memory;"));
        }
        let atomic = self
            .pick(&["add.u32", "min.s32", "max.s32", "min.u32", "max.u32", "and.b32", "or.b32", "xor.b32"]);
        let line = match self.below(14) {
            // Several lanes may store to one place.
            11..=13 => {
                self.line(&format!("and.b32 %x, {index}, 112; add.u32 %x, %x, %memory;"));
                match self.below(3) {
                    0 => format!("{guard}st.shared.u64 [%x], {};", self.d()),
                    1 => format!("{guard}st.shared.v2.u32 [%x+8], {{{r}, {index}}};"),
                    _ => format!("{guard}st.shared.v4.u32 [%x], {{{r}, %r1, %r2, {index}}};"),
                }
            }
            0 => format!("{guard}st.shared.u32 [{place}+{offset}], {r};"),
            1 => format!("{guard}st.shared.u16 [{place}+{offset}], %h;"),
            2 | 3 => format!("{guard}ld.shared.u32 {r}, [{place}+{offset}];"),
            4 => format!("{guard}ld.shared.f32 {f}, [{place}+{offset}];"),
            5 => format!("{guard}red.shared.{atomic} [{place}+{offset}], {r};"),
            6 => format!("{guard}atom.shared.{atomic} {r}, [{place}+{offset}], {index};"),
            7 => format!(
                "{guard}red.global.{} [%mine+{offset}], {r};",
                self.pick(&["add.u32", "or.b32", "and.b32"])
            ),
            8 => format!("{guard}atom.global.add.u32 {r}, [%mine+{offset}], {index};"),
            9 => format!("{guard}st.global.v2.u32 [%mine+{}], {{{r}, {index}}};", 8 * self.below(4)),
            _ => format!("{guard}st.global.v4.f32 [%mine+{}], {{{f}, %f0, %f1, {f}}};", 16 * self.below(2)),
        };
        self.line(&line);
    }

    fn exchange(&mut self) {
        if self.depth != 0 {
            return self.integer();
        }
        let (d, a, b, p) = (self.r(), self.r(), self.source(), self.p());
        let line = match self.below(3) {
            0 => format!("shfl.sync.{}.b32 {d}, {a}, {b}, 31, -1;", self.pick(&["bfly", "idx", "down"])),
            1 => format!("vote.sync.ballot.b32 {d}, {p}, -1;"),
            _ => "bar.sync 0;".to_string(),
        };
        self.line(&line);
    }

    /// `if`, with or without `else`.
    fn branch(&mut self) {
        self.labels += 1;
        let (label, p) = (self.labels, self.p());
        let negated = if self.below(2) == 0 { "!" } else { "" };
        self.line(&format!("@{negated}{p} bra E{label};"));
        self.depth += 1;
        self.block();
        if self.below(2) == 0 {
            self.line(&format!("bra D{label};"));
            let _ = writeln!(self.text, "E{label}:");
            self.block();
            let _ = writeln!(self.text, "D{label}:");
        } else {
            let _ = writeln!(self.text, "E{label}:");
        }
        self.depth -= 1;
    }

    /// A loop, as often as all lanes agree on, or as each lane says.
    fn repeat(&mut self) {
        self.labels += 1;
        let (label, r, depth) = (self.labels, self.r(), self.depth);
        let times = 1 + self.below(5);
        match self.below(2) {
            0 => self.line(&format!("mov.u32 %c{depth}, {times};")),
            _ => {
                self.line(&format!("and.b32 %c{depth}, {r}, 7;"));
                self.line(&format!("add.u32 %c{depth}, %c{depth}, 1;"));
            }
        }
        let _ = writeln!(self.text, "R{label}:");
        self.depth += 1;
        self.block();
        self.depth -= 1;
        self.line(&format!("sub.u32 %c{depth}, %c{depth}, 1;"));
        self.line(&format!("setp.ne.u32 %l{depth}, %c{depth}, 0;"));
        self.line(&format!("@%l{depth} bra R{label};"));
    }

    fn block(&mut self) {
        for _ in 0..1 + self.below(5) {
            if self.left > 0 {
                self.statement();
            }
        }
    }

    /// A whole module.
    fn module(mut self) -> String {
        while self.left > 0 {
            self.statement();
        }
        let mut stores = String::new();
        for n in 0..8 {
            let _ = writeln!(stores, "    st.global.u32 [%mine+{}], %r{n};", 32 + 4 * n);
        }
        for n in 0..6 {
            let _ = writeln!(stores, "    st.global.f32 [%mine+{}], %f{n};", 64 + 4 * n);
        }
        for n in 0..4 {
            let _ = writeln!(stores, "    st.global.u64 [%mine+{}], %d{n};", 96 + 8 * n);
        }
        format!(
            ".version 8.6\n.target sm_90\n.address_size 64\n.const .align 8 .u32 table[16] = {{3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3}};\n.visible .entry k(.param .u64 in, .param .u64 out)\n{{
    .shared .align 16 .b8 memory[4096];
    .reg .pred %p<4>; .reg .pred %l<4>; .reg .b32 %r<8>; .reg .f32 %f<6>; .reg .b64 %d<4>;
    .reg .b32 %c<4>; .reg .b32 %x, %t, %n, %slot, %tx, %ty, %memory, %shared_row, %shared_first;
    .reg .b16 %h; .reg .b64 %row, %first; .reg .b64 %in, %out, %own, %warp, %mine, %q, %k;
    ld.param.u64 %in, [in]; ld.param.u64 %out, [out];
    mov.u32 %tx, %tid.x; mov.u32 %ty, %tid.y; mov.u32 %t, %ntid.x; mov.u32 %n, %ntid.y; mov.u32 %r1, %ctaid.x;
    mul.lo.u32 %n, %n, %t; mad.lo.u32 %t, %t, %ty, %tx; cvt.u16.u32 %h, %tx;
    mov.u32 %memory, memory; mov.u32 %x, %warpid; mad.lo.u32 %memory, %x, 1024, %memory;
    shl.b32 %x, %ty, 6; add.u32 %shared_first, %x, %memory; cvt.u64.u32 %first, %x; add.s64 %first, %first, %in;
    shl.b32 %x, %tx, 2; add.u32 %shared_row, %shared_first, %x; cvt.u64.u32 %row, %x; add.s64 %row, %row, %first;
    mad.lo.u32 %r0, %r1, %n, %t;
    mad.wide.u32 %own, %r0, 4, %in;
    shr.u32 %r2, %t, 5; mad.wide.u32 %warp, %r2, 64, %in;
    mad.wide.u32 %mine, %r0, 128, %out;
    shl.b32 %slot, %t, 2; add.u32 %slot, %slot, %memory; add.u32 %slot, %slot, 512;
    ld.global.u32 %r3, [%own]; ld.global.u32 %r4, [%own+128]; xor.b32 %r5, %r3, %t;
    ld.global.f32 %f0, [%own+64]; ld.global.f32 %f1, [%own+4]; cvt.rn.f32.u32 %f2, %r0;
    setp.lt.s32 %p0, %r3, 0; setp.gt.u32 %p1, %r5, %r4; setp.lt.u32 %p2, %t, 17;
    cvt.u64.u32 %d0, %r3; mov.b64 %d1, {{%r3, %r4}};
{}{stores}    ret;\n}}\n",
            self.text
        )
    }
}

/// What a program leaves: memory, counts and a fault.
fn run(device: &mut Device, seed: u64, (jit, block): (Jit, [u32; 2])) -> (Vec<u8>, String) {
    let mut random = SplitMix64::new(seed ^ 0x5eed);
    let special = [0x7fc0_0001u32, 0xffff_ffff, 0, 0x8000_0000, 0x7f80_0000, 1, 0x3f80_0000];
    let words = (0..WORDS).flat_map(|_| {
        let word = random.next_u64() as u32;
        let word = if word.is_multiple_of(8) { special[(word >> 8) as usize % special.len()] } else { word };
        word.to_le_bytes()
    });
    let bytes: Vec<u8> = words.collect();
    let input = device.allocate(bytes.len() as u64).expect("memory");
    device.write(input, &bytes).expect("inside");
    let size = 128 * 4 * u64::from(block[0] * block[1]);
    let out = device.allocate(size).expect("memory");
    device.write(out, &vec![0xaa; size as usize]).expect("inside");
    let arguments = [input.to_le_bytes().to_vec(), out.to_le_bytes().to_vec()];
    let launch = Launch {
        jit,
        threads: Some(1),
        most_time: Some(Duration::from_secs(60)),
        ..Launch::new("k", [4, 1, 1], [block[0], block[1], 1], &arguments)
    };
    let ended = match device.launch(&launch) {
        Ok(report) => format!("{:?}", report.counts),
        Err(LaunchError::Fault(fault)) => format!("{fault:?}"),
        Err(error) => panic!("{error}"),
    };
    let mut left = vec![0; size as usize];
    device.read(out, &mut left).expect("inside");
    device.free(input).expect("allocated");
    device.free(out).expect("allocated");
    (left, ended)
}

/// Holds compiled code against the interpreter for one program.
fn compare(seed: u64) {
    let module = Generator::new(seed).module();
    let load = || Device::load(&[&module], LoadOptions::default());
    let mut device = load().unwrap_or_else(|error| panic!("seed {seed}: {error:?}\n{module}"));
    let blocks = [[32, 1], [64, 1], [50, 1], [96, 1], [1, 1], [16, 4], [16, 3], [32, 3], [8, 8]];
    let block = blocks[(seed % blocks.len() as u64) as usize];
    let interpreted = run(&mut device, seed, (Jit::Off, block));
    let mut device = load().expect("it loaded before");
    // Masked code is made once lanes have diverged often.
    for _ in 0..if interpreted.1.starts_with("Fault") { 1 } else { 3 } {
        let compiled = run(&mut device, seed, (Jit::On, block));
        compare_runs(seed, &module, &interpreted, &compiled);
    }
}

type Run = (Vec<u8>, String);

fn compare_runs(seed: u64, module: &str, interpreted: &Run, compiled: &Run) {
    assert_eq!(interpreted.1, compiled.1, "seed {seed}\n{module}");
    if interpreted.1.starts_with("Fault") {
        // How far other warps came is left open.
        return;
    }
    let first = interpreted.0.iter().zip(&compiled.0).position(|(a, b)| a != b);
    if let Some(at) = first {
        let (thread, word) = (at / 128, at % 128 / 4);
        let value = |bytes: &[u8]| {
            bytes[at / 4 * 4..][..4]
                .iter()
                .rev()
                .fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
        };
        let (wanted, got) = (value(&interpreted.0), value(&compiled.0));
        panic!("seed {seed}: word {word} of thread {thread} is {got}, and {wanted} interpreted\n{module}");
    }
}

#[test]
fn random_programs_do_the_same_compiled_and_interpreted() {
    let only = std::env::var("SOFTWARP_SEED").ok().and_then(|text| text.parse().ok());
    match only {
        Some(seed) => compare(seed),
        None => (0..400).for_each(compare),
    }
}

#[test]
#[ignore = "runs for as long as asked for"]
fn random_programs_for_a_long_time() {
    let seconds = std::env::var("SOFTWARP_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(7200);
    let (start, mut seed) = (Instant::now(), 1_000_000);
    while start.elapsed() < Duration::from_secs(seconds) {
        compare(seed);
        seed += 1;
    }
    println!("{} programs", seed - 1_000_000);
}
