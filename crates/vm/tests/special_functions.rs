//! Special functions and conversions in compiled code against the interpreter.
//!
//! `cargo test --release -p softwarp-vm --test machine special_functions -- --ignored` does this for all numbers of f32, in a
//! minute for each function. `SOFTWARP_FUNCTION` names one.

use softwarp_num::Level;
use softwarp_testkit::SplitMix64;
use softwarp_vm::device::{Device, Jit, Launch, LoadOptions};

/// Functions of one number.
const UNARY: [&str; 15] = [
    "rcp.approx.f32",
    "rcp.approx.ftz.f32",
    "rsqrt.approx.f32",
    "rsqrt.approx.ftz.f32",
    "sqrt.approx.f32",
    "sqrt.approx.ftz.f32",
    "ex2.approx.f32",
    "ex2.approx.ftz.f32",
    "lg2.approx.f32",
    "lg2.approx.ftz.f32",
    "sin.approx.f32",
    "sin.approx.ftz.f32",
    "cos.approx.f32",
    "cos.approx.ftz.f32",
    "tanh.approx.f32",
];

/// Functions of two numbers.
const BINARY: [&str; 8] = [
    "div.approx.f32",
    "div.approx.ftz.f32",
    "div.full.f32",
    "div.full.ftz.f32",
    "cvt.rn.f16x2.f32",
    "cvt.rn.bf16x2.f32",
    "add.ftz.f32",
    "mul.ftz.f32",
];

/// Conversions of words.
const CONVERSIONS: [&str; 23] = [
    "cvt.rn.f16.f32 %h, %f0; cvt.u32.u16 %r4,",
    "cvt.rn.bf16.f32 %h, %f0; cvt.u32.u16 %r4,",
    "mov.b32 {%h, %g}, %f0; cvt.f32.f16 %r4,",
    "mov.b32 {%h, %g}, %f0; cvt.f32.bf16 %r4,",
    "mov.b32 {%h, %g}, %f0; mov.b32 {%i, %j}, %f1; mov.b32 %r5, {%j, %h}; mov.b32 {%h, %i}, %r5; cvt.u32.u16 %r4,",
    "cvt.rzi.s32.f32 %r4, %f0; cvt.u32.u16 %r5,",
    "cvt.rni.s32.f32 %r4, %f0; cvt.u32.u16 %r5,",
    "cvt.rmi.s32.f32 %r4, %f0; cvt.u32.u16 %r5,",
    "cvt.rpi.s32.f32 %r4, %f0; cvt.u32.u16 %r5,",
    "cvt.rzi.u32.f32 %r4, %f0; cvt.u32.u16 %r5,",
    "cvt.rni.u32.f32 %r4, %f0; cvt.u32.u16 %r5,",
    "cvt.rmi.u32.f32 %r4, %f0; cvt.u32.u16 %r5,",
    "cvt.rpi.u32.f32 %r4, %f0; cvt.u32.u16 %r5,",
    "cvt.rzi.ftz.u32.f32 %r4, %f0; cvt.u32.u16 %r5,",
    "cvt.rni.ftz.u32.f32 %r4, %f0; cvt.u32.u16 %r5,",
    "cvt.rmi.ftz.u32.f32 %r4, %f0; cvt.u32.u16 %r5,",
    "cvt.rni.ftz.f32.f32 %r4, %f0; cvt.u32.u16 %r5,",
    "cvt.rzi.ftz.f32.f32 %r4, %f0; cvt.u32.u16 %r5,",
    "cvt.rni.f32.f32 %r4, %f0; cvt.u32.u16 %r5,",
    "cvt.rmi.f32.f32 %r4, %f0; cvt.u32.u16 %r5,",
    "cvt.rpi.f32.f32 %r4, %f0; cvt.u32.u16 %r5,",
    "cvt.rzi.f32.f32 %r4, %f0; cvt.u32.u16 %r5,",
    "cvt.sat.f32.f32 %r4, %f0; cvt.u32.u16 %r5,",
];

/// A kernel that applies a function to what instructions load or compute.
fn kernel(function: &str, operands: &str, loads: &str) -> String {
    format!(
        ".version 8.5\n.target sm_90\n.address_size 64\n
.visible .entry k(.param .u64 a, .param .u64 b, .param .u64 out, .param .u32 first)
{{
    .reg .b32 %r<6>; .reg .b64 %d<6>; .reg .b32 %f<6>; .reg .pred %p; .reg .b16 %h, %g, %i, %j;
    ld.param.u64 %d0, [a]; ld.param.u64 %d1, [b]; ld.param.u64 %d2, [out]; ld.param.u32 %r0, [first];
    mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x;
    mad.lo.u32 %r1, %r1, %r2, %r3; mul.wide.u32 %d3, %r1, 4;
    add.u64 %d0, %d0, %d3; add.u64 %d1, %d1, %d3; add.u64 %d2, %d2, %d3;
    {loads}
    {function} %f2, {operands};
    st.global.f32 [%d2], %f2;
    ret;
}}\n"
    )
}

const FROM_BUFFERS: &str = "ld.global.f32 %f0, [%d0]; ld.global.f32 %f1, [%d1];";

/// A kernel on a device.
struct Device32 {
    device: Device,
    buffers: [u64; 3],
    count: u32,
}

impl Device32 {
    fn new(module: &str, count: u32) -> Device32 {
        let device = Device::load(&[module], LoadOptions::default()).expect("a kernel");
        let buffers = [(); 3].map(|()| device.allocate(4 * u64::from(count)).expect("memory"));
        Device32 { device, buffers, count }
    }

    fn write(&mut self, buffer: usize, words: &[u32]) {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        self.device.write(self.buffers[buffer], &bytes).expect("inside");
    }

    fn run(&mut self, jit: Jit, first: u32) -> Vec<u8> {
        let mut arguments: Vec<Vec<u8>> =
            self.buffers.iter().map(|buffer| buffer.to_le_bytes().to_vec()).collect();
        arguments.push(first.to_le_bytes().to_vec());
        let launch = Launch { jit, ..Launch::new("k", [self.count / 256, 1, 1], [256, 1, 1], &arguments) };
        let report = self.device.launch(&launch).expect("it runs");
        // Where nothing is compiled, nothing differs.
        let has_code = cfg!(target_arch = "x86_64") && Level::current() != Level::Baseline;
        assert_eq!(report.compiled > 0, jit == Jit::On && has_code, "compiled code ran");
        let mut left = vec![0; 4 * self.count as usize];
        self.device.read(self.buffers[2], &mut left).expect("inside");
        left
    }

    /// The first word that differs, compiled and interpreted.
    fn first_difference(&mut self, first: u32) -> Option<(usize, u32, u32)> {
        let (compiled, interpreted) = (self.run(Jit::On, first), self.run(Jit::Off, first));
        let words = |bytes: &[u8], at: usize| u32::from_le_bytes(std::array::from_fn(|n| bytes[4 * at + n]));
        if compiled == interpreted {
            return None;
        }
        let at = (0..self.count as usize).find(|&at| words(&compiled, at) != words(&interpreted, at))?;
        Some((at, words(&compiled, at), words(&interpreted, at)))
    }
}

/// Numbers of all kinds: rows of ordinary ones, rows with special ones among them, and all exponents with the ends of
/// their ranges.
fn samples(seed: u64, count: usize) -> Vec<u32> {
    let mut random = SplitMix64::new(seed);
    let mut words = Vec::with_capacity(count);
    for exponent in 0..=255u32 {
        for sign in [0, 1 << 31] {
            let fractions = [0, 1, 2, 3, 0x1_ffff, 0x2_0000, 0x40_0000, 0x7f_fffe, 0x7f_ffff];
            // Rows of one exponent, so that special ones are not in all of them.
            words.extend((0..32).map(|n| {
                sign | exponent << 23 | fractions.get(n).copied().unwrap_or(random.next_u64() as u32 >> 9)
            }));
        }
    }
    while words.len() < count {
        // Most rows have numbers of a few powers of two only.
        let (base, spread) =
            (random.next_u64() as u32 % 256, [1, 4, 16, 256][random.next_u64() as usize % 4]);
        let negative = random.next_u64().is_multiple_of(2);
        for _ in 0..32 {
            let exponent = (base + random.next_u64() as u32 % spread) % 256;
            let word = random.next_u64() as u32;
            words.push(word & (if negative { 1 << 31 } else { 0 }) | exponent << 23 | word >> 9);
        }
    }
    words.truncate(count);
    words
}

#[test]
fn sampled_numbers_give_the_same() {
    const COUNT: u32 = 1 << 18;
    for function in UNARY.iter().chain(&BINARY) {
        let operands = if BINARY.contains(function) { "%f0, %f1" } else { "%f0" };
        let mut device = Device32::new(&kernel(function, operands, FROM_BUFFERS), COUNT);
        let (a, mut b) = (samples(1, COUNT as usize), samples(2, COUNT as usize));
        // Dividends of all kinds with divisors of all kinds.
        b.rotate_left(32 * 77);
        device.write(0, &a);
        device.write(1, &b);
        if let Some((at, compiled, interpreted)) = device.first_difference(0) {
            panic!(
                "{function} of {:08x} and {:08x} is {compiled:08x}, and {interpreted:08x} interpreted",
                a[at], b[at]
            );
        }
    }
}

#[test]
fn sampled_quotients_in_sums_give_the_same() {
    const COUNT: u32 = 1 << 18;
    for function in &BINARY[..4] {
        // The quotient becomes a product that the sum takes in.
        let body = format!("{FROM_BUFFERS} {function} %f3, %f0, %f1; mul.f32 %f4, %f1, 0f3F000000;");
        let mut device = Device32::new(&kernel("add.f32", "%f3, %f4", &body), COUNT);
        let (a, mut b) = (samples(5, COUNT as usize), samples(6, COUNT as usize));
        b.rotate_left(32 * 99);
        device.write(0, &a);
        device.write(1, &b);
        if let Some((at, compiled, interpreted)) = device.first_difference(0) {
            panic!("{function} of {:08x} and {:08x}: {compiled:08x}, {interpreted:08x}", a[at], b[at]);
        }
    }
}

#[test]
fn sampled_words_are_converted_the_same() {
    const COUNT: u32 = 1 << 18;
    for conversion in CONVERSIONS {
        let body = format!("{FROM_BUFFERS} mov.b16 %h, 0; {conversion} %h; mov.b32 %f3, %r4;");
        let mut device = Device32::new(&kernel("mov.b32", "%f3", &body), COUNT);
        let (mut a, b) = (samples(7, COUNT as usize), samples(8, COUNT as usize));
        // All words of 16 bits, too.
        for (n, word) in a.iter_mut().take(1 << 16).enumerate() {
            *word = *word & 0xffff_0000 | n as u32;
        }
        device.write(0, &a);
        device.write(1, &b);
        if let Some((at, compiled, interpreted)) = device.first_difference(0) {
            panic!("{conversion} of {:08x}: {compiled:08x}, and {interpreted:08x} interpreted", a[at]);
        }
    }
}

#[test]
fn sampled_sums_and_products_are_flushed_the_same() {
    const COUNT: u32 = 1 << 18;
    let operations = [
        ("add.ftz.f32", 2),
        ("sub.rn.ftz.f32", 2),
        ("mul.ftz.f32", 2),
        ("mul.rn.ftz.f32", 2),
        ("fma.rn.ftz.f32", 3),
        ("div.rn.ftz.f32", 2),
        ("rcp.rn.ftz.f32", 1),
        ("sqrt.rn.ftz.f32", 1),
        ("neg.ftz.f32", 1),
        ("abs.ftz.f32", 1),
        ("min.ftz.f32", 2),
        ("max.ftz.f32", 2),
        ("setp.lt.ftz.f32 %p, %f0, %f1; selp.b32", 0),
        ("setp.geu.and.ftz.f32 %p, %f0, %f1, %p; selp.b32", 0),
    ];
    for (operation, count) in operations {
        let operands = ["%f0, %f1, %p", "%f0", "%f0, %f1", "%f0, %f1, %f3"][count];
        // The third source cannot be subnormal.
        let body = format!("{FROM_BUFFERS} setp.ne.u32 %p, %r1, 7; mul.ftz.f32 %f3, %f1, 0f3F000000;");
        let mut device = Device32::new(&kernel(operation, operands, &body), COUNT);
        let (a, mut b) = (samples(9, COUNT as usize), samples(10, COUNT as usize));
        // Quotients and products near the least normal number, too.
        for (n, word) in b.iter_mut().enumerate().take(1 << 17) {
            let exponent = match n % 64 < 32 {
                true => 128u32.wrapping_sub(a[n] >> 23 & 0xff) & 0xff,
                false => 126u32.wrapping_add(a[n] >> 23) & 0xff,
            };
            *word = *word & 0x807f_ffff | exponent << 23;
        }
        device.write(0, &a);
        device.write(1, &b);
        if let Some((at, compiled, interpreted)) = device.first_difference(0) {
            panic!("{operation} of {:08x} and {:08x}: {compiled:08x}, {interpreted:08x}", a[at], b[at]);
        }
    }
}

#[test]
fn masked_and_guarded_functions_give_the_same() {
    const COUNT: u32 = 1 << 16;
    for function in UNARY.iter().chain(&BINARY) {
        let operands = if BINARY.contains(function) { "%f0, %f1" } else { "%f0" };
        // Under a guard, then in a branch that lanes take by the bits of their number, over the source.
        let body = format!(
            "{FROM_BUFFERS} mov.b32 %r4, %f0; and.b32 %r5, %r4, 5; setp.eq.u32 %p, %r5, 0;
    mov.f32 %f2, 0f00000000;
    @%p {function} %f2, {operands};
    add.f32 %f1, %f1, %f2;
    and.b32 %r5, %r4, 2; setp.eq.u32 %p, %r5, 0;
    @%p bra other;
    {function} %f0, {operands};
    bra end;
other:
    {function} %f1, {operands};
    @%p mul.f32 %f0, %f0, %f1;
end:"
        );
        let mut device = Device32::new(&kernel(function, operands, &body), COUNT);
        let (a, b) = (samples(3, COUNT as usize), samples(4, COUNT as usize));
        device.write(0, &a);
        device.write(1, &b);
        // Masked code is made when lanes have diverged a few times.
        for _ in 0..2 {
            if let Some((at, compiled, interpreted)) = device.first_difference(0) {
                panic!(
                    "{function} with {:08x} and {:08x} leaves {compiled:08x}, and {interpreted:08x} interpreted",
                    a[at], b[at]
                );
            }
        }
    }
}

#[test]
#[ignore = "runs for a minute for each function"]
fn all_numbers_give_the_same() {
    // Each thread adds up 64 results with odd factors: one that differs makes another sum.
    const COUNT: u32 = 1 << 18;
    let body = |function: &str| {
        format!(
            "add.u32 %r4, %r0, %r1; mov.u32 %r5, 0; mov.u32 %r2, 0;
again:
    mov.b32 %f0, %r4;
    {function} %f1, %f0;
    mov.b32 %r3, %f1;
    mad.lo.u32 %r5, %r5, 0x9e3779b1, %r3;
    add.u32 %r4, %r4, {COUNT};
    add.u32 %r2, %r2, 1; setp.ne.u32 %p, %r2, 64;
    @%p bra again;
    mov.b32 %f0, %r5;"
        )
    };
    let only = std::env::var("SOFTWARP_FUNCTION").ok();
    for function in UNARY.iter().filter(|function| only.as_ref().is_none_or(|only| only == *function)) {
        let mut device = Device32::new(&kernel("mov.f32", "%f0", &body(function)), COUNT);
        for first in (0..=u32::MAX).step_by(64 * COUNT as usize) {
            if let Some((at, ..)) = device.first_difference(first) {
                panic!("{function}: a result differs from {:08x} on, {COUNT} apart", first + at as u32);
            }
        }
        println!("{function}: all numbers give the same");
    }
}
