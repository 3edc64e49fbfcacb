//! Conversions of and to 64 bits, and arithmetic that is rounded in a direction, in compiled code against the interpreter,
//! on numbers around the bounds of integers and of formats.

use softwarp_num::Level;
use softwarp_testkit::SplitMix64;
use softwarp_vm::device::{Device, Jit, Launch, LoadOptions};
use std::fmt::Write;

/// Threads, each of which has its own inputs.
const THREADS: usize = 4096;
/// Bytes of the output of a thread: one result for each instruction.
const STRIDE: usize = 512;

const TO_INTEGERS: [&str; 4] = ["s32", "u32", "s64", "u64"];
const ROUNDINGS: [&str; 4] = ["rni", "rzi", "rmi", "rpi"];
const DIRECTIONS: [&str; 3] = ["rm", "rp", "rz"];

/// Numbers at which conversions change what they do.
fn edges() -> Vec<f64> {
    let mut edges = vec![0.0, 0.5, 1.5, 2.5, f64::INFINITY, f64::MAX, f64::MIN_POSITIVE, 5e-324];
    for power in [7, 8, 15, 16, 23, 24, 31, 32, 52, 53, 62, 63, 64, 127, 128, -126, -149, -150] {
        let bound = 2f64.powi(power);
        for step in [-1.0, -0.5, 0.0, 0.5, 1.0] {
            edges.push(bound + step);
        }
        edges.extend([bound.next_up(), bound.next_down()]);
        edges.extend([f64::from((bound as f32).next_up()), f64::from((bound as f32).next_down())]);
    }
    let negative: Vec<f64> = edges.iter().map(|edge| -edge).collect();
    edges.extend(negative);
    edges.extend([f64::NAN, -f64::NAN, f64::from_bits(0x7ff0_0000_0000_0001), f64::from_bits(0xfff7 << 48)]);
    edges
}

/// The inputs of a thread: an f64, two f32 and a word of 64 bits.
fn inputs() -> Vec<u8> {
    let edges = edges();
    let mut random = SplitMix64::new(11);
    let mut bytes = Vec::new();
    for thread in 0..THREADS {
        let any = random.next_u64();
        let double = match edges.get(thread) {
            Some(edge) => edge.to_bits(),
            None if thread % 3 == 0 => (any as i64 as f64).to_bits(),
            None => any,
        };
        let integer = match thread % 4 {
            0 => any >> (any % 64),
            1 => (any as i64 >> (any % 64)) as u64,
            2 => 1u64.checked_shl(thread as u32 / 4 % 64).unwrap_or(0).wrapping_sub(any % 3),
            _ => any,
        };
        let single = match thread % 8 {
            0..4 => f64::from_bits(double) as f32,
            _ => f32::from_bits(random.next_u64() as u32),
        };
        let near = f32::from_bits(single.to_bits() ^ (random.next_u64() as u32 % 64));
        bytes.extend(double.to_le_bytes());
        bytes.extend(single.to_bits().to_le_bytes());
        bytes.extend(near.to_bits().to_le_bytes());
        bytes.extend(integer.to_le_bytes());
        // A divisor: small in most threads of a warp in one of four, any in others.
        let divisor = random.next_u64();
        let divisor = match thread / 32 % 4 {
            0 => (divisor as i64 >> 40) as u64,
            1 => divisor >> 32 & 0xff,
            2 => (divisor as i64 >> (divisor % 64)) as u64,
            _ => integer,
        };
        bytes.extend(divisor.to_le_bytes());
    }
    bytes
}

/// Instructions with the registers of their result: `%d`, `%r`, `%h` or `%b` of 64, 32, 16 bits and 8 bits in 32.
fn conversions() -> Vec<(String, &'static str)> {
    let register = |ty: &str| match ty {
        "s64" | "u64" | "f64" => "%d",
        "s16" | "u16" => "%h",
        _ => "%r",
    };
    let mut all = Vec::new();
    for to in TO_INTEGERS {
        for rounding in ROUNDINGS {
            for (from, source) in [("f64", "%e"), ("f32", "%f")] {
                all.push((format!("cvt.{rounding}.{to}.{from} X, {source}"), register(to)));
            }
        }
        all.push((format!("cvt.rzi.ftz.{to}.f32 X, %f"), register(to)));
    }
    for from in ["s64", "u64"] {
        all.push((format!("cvt.rn.f64.{from} X, %i"), "%d"));
        all.push((format!("cvt.rn.f32.{from} X, %i"), "%r"));
        for to in ["s8", "u8", "s16", "u16"] {
            all.push((format!("cvt.{to}.{from} X, %i"), if to.ends_with('8') { "%r" } else { "%h" }));
        }
    }
    for to in ["s64", "u64"] {
        for from in ["s8", "u8", "s16", "u16"] {
            let source = if from.ends_with('8') { "%j" } else { "%k" };
            all.push((format!("cvt.{to}.{from} X, {source}"), "%d"));
        }
    }
    for rounding in ROUNDINGS {
        all.push((format!("cvt.{rounding}.f64.f64 X, %e"), "%d"));
    }
    for rounding in ["rn", "rm", "rp", "rz"] {
        all.push((format!("cvt.{rounding}.f32.f64 X, %e"), "%r"));
    }
    all.push(("cvt.f64.f32 X, %f".to_owned(), "%d"));
    all
}

fn arithmetic() -> Vec<(String, &'static str)> {
    let mut all = Vec::new();
    for direction in DIRECTIONS {
        for opcode in ["add", "sub", "mul", "div"] {
            all.push((format!("{opcode}.{direction}.f32 X, %f, %g"), "%r"));
            all.push((format!("{opcode}.{direction}.f32 X, %f, 0f3F800001"), "%r"));
        }
        all.push((format!("fma.{direction}.f32 X, %f, %g, %f"), "%r"));
        all.push((format!("fma.{direction}.f32 X, %g, 0f3EAAAAAB, %f"), "%r"));
        all.push((format!("rcp.{direction}.f32 X, %f"), "%r"));
        all.push((format!("sqrt.{direction}.f32 X, %f"), "%r"));
    }
    all.push(("copysign.f32 X, %f, %g".to_owned(), "%r"));
    all.push(("copysign.f64 X, %e, %i".to_owned(), "%d"));
    all
}

/// Runs instructions compiled and interpreted, in all lanes and in some.
fn compare(instructions: &[(String, &str)]) {
    let mut body = String::new();
    for (n, (instruction, register)) in instructions.iter().enumerate() {
        let (bits, store) = match *register {
            "%d" => (64, "%d"),
            "%h" => (32, "%r"),
            _ => (32, "%r"),
        };
        let _ = writeln!(body, "    mov.b{bits} {store}, 5;\n    mov.b16 %h, 5;");
        let _ = writeln!(body, "    GUARD {};", instruction.replace('X', register));
        if *register == "%h" {
            body.push_str("    cvt.u32.u16 %r, %h;\n");
        }
        let _ = writeln!(body, "    st.global.b{bits} [%out+{}], {store};", 8 * n);
    }
    assert!(instructions.len() * 8 <= STRIDE, "the output of a thread is too small");
    for guard in ["", "@%p"] {
        let body = body.replace("GUARD", guard);
        // Branches around the instructions make them run under masks.
        for divergent in [false, true] {
            let skip = if divergent { "@!%p bra END;" } else { "" };
            run(&format!("{skip}\n{body}"), &format!("guard {guard:?}, divergent {divergent}"));
        }
    }
}

fn run(body: &str, what: &str) {
    let module = format!(
        ".version 8.6\n.target sm_90\n.address_size 64
.visible .entry k(.param .u64 in, .param .u64 results)
{{
    .reg .pred %p; .reg .b32 %r, %t, %n, %j; .reg .f32 %f, %g; .reg .b64 %d, %i, %m, %o, %in, %out; .reg .f64 %e;
    .reg .b16 %h, %k;
    mov.u32 %t, %tid.x; mov.u32 %n, %ctaid.x; mad.lo.u32 %n, %n, 128, %t;
    ld.param.u64 %in, [in]; ld.param.u64 %out, [results];
    mad.wide.u32 %in, %n, 32, %in; mad.wide.u32 %out, %n, {STRIDE}, %out;
    ld.global.f64 %e, [%in]; ld.global.f32 %f, [%in+8]; ld.global.f32 %g, [%in+12]; ld.global.b64 %i, [%in+16];
    shr.s64 %o, %i, 17; ld.global.b64 %m, [%in+24];
    cvt.u32.u64 %j, %i; cvt.u16.u32 %k, %j; and.b32 %t, %j, 5; setp.ne.u32 %p, %t, 0;
{body}
END:
    ret;
}}
"
    );
    let device = Device::load(&[&module], LoadOptions::default()).expect("a valid module");
    let input = device.allocate((THREADS * 32) as u64).expect("memory");
    let out = device.allocate((THREADS * STRIDE) as u64).expect("memory");
    device.write(input, &inputs()).expect("inside");
    let arguments = [input.to_le_bytes().to_vec(), out.to_le_bytes().to_vec()];
    let results = |jit| {
        device.write(out, &vec![0xaa; THREADS * STRIDE]).expect("inside");
        let grid = [THREADS as u32 / 128, 1, 1];
        let launch = Launch { jit, ..Launch::new("k", grid, [128, 1, 1], &arguments) };
        let report = device.launch(&launch).expect("no fault");
        // Where nothing is compiled, nothing differs.
        let has_code = cfg!(target_arch = "x86_64") && Level::current() != Level::Baseline;
        assert_eq!(report.compiled > 0, jit == Jit::On && has_code, "compiled code ran");
        let mut bytes = vec![0; THREADS * STRIDE];
        device.read(out, &mut bytes).expect("inside");
        (format!("{:?}", report.counts), bytes)
    };
    let (interpreted, compiled) = (results(Jit::Off), results(Jit::On));
    assert_eq!(interpreted.0, compiled.0, "{what}");
    let at = interpreted.1.iter().zip(&compiled.1).position(|(a, b)| a != b);
    let place = at.map(|at| (at / STRIDE, at % STRIDE / 8, inputs()[at / STRIDE * 32..][..32].to_vec()));
    assert_eq!(place, None, "{what}: thread, instruction and inputs that differ in {body}");
}

#[test]
fn conversions_of_64_bits_are_the_same() {
    for instructions in conversions().chunks(48) {
        compare(instructions);
    }
}

#[test]
fn quotients_of_64_bits_are_the_same() {
    let mut all = Vec::new();
    for opcode in ["div", "rem"] {
        for ty in ["s64", "u64"] {
            for operands in ["%i, %m", "%m, %i", "%i, 7", "%o, %m", "%o, 10", "%m, %o", "%o, %o", "-9, %m"] {
                all.push((format!("{opcode}.{ty} X, {operands}"), "%d"));
            }
        }
    }
    compare(&all);
}

#[test]
fn directed_roundings_are_the_same() {
    compare(&arithmetic());
}
