//! Aligned accesses of up to 16 bytes by one lane are performed in one piece.
//!
//! CTAs write elements that are all the same, and others read them at the same time and count what is not: half of the
//! elements from before another thread's store, and half from after it. Every form of access is tested, interpreted and
//! compiled, with addresses of every pattern that compiled code tells apart.
//!
//! `SOFTWARP_LOADS` is how many loads each form and pattern has (millions of them find rare cases; the default is for CI),
//! `SOFTWARP_THREADS` how many threads of the host run them, and `SOFTWARP_ONLY` part of the name of what is tested.

use softwarp_vm::device::{Device, Jit, Launch, LoadOptions};
use std::fmt::Write;
use std::sync::atomic::{AtomicBool, Ordering};

/// Elements of an access.
#[derive(Clone, Copy)]
struct Shape {
    /// Their type, and the type of their registers.
    ty: &'static str,
    register: &'static str,
    count: usize,
    bytes: usize,
}

const fn shape(ty: &'static str, register: &'static str, count: usize, bytes: usize) -> Shape {
    Shape { ty, register, count, bytes }
}

const U8X4: Shape = shape("v4.u8", "b16", 4, 1);
const U16X2: Shape = shape("v2.u16", "b16", 2, 2);
const U16X4: Shape = shape("v4.u16", "b16", 4, 2);
const U32X2: Shape = shape("v2.u32", "b32", 2, 4);
const F32X2: Shape = shape("v2.f32", "f32", 2, 4);
const B32X2: Shape = shape("v2.b32", "b32", 2, 4);
const U64: Shape = shape("u64", "b64", 1, 8);
const U32X4: Shape = shape("v4.u32", "b32", 4, 4);
const F32X4: Shape = shape("v4.f32", "f32", 4, 4);
const B32X4: Shape = shape("v4.b32", "b32", 4, 4);
const U64X2: Shape = shape("v2.u64", "b64", 2, 8);
const F64X2: Shape = shape("v2.f64", "f64", 2, 8);
const B128: Shape = shape("b128", "b128", 1, 16);

impl Shape {
    fn total(self) -> usize {
        self.count * self.bytes
    }

    /// An operand of all registers of a name.
    fn operand(self, name: &str) -> String {
        let names: Vec<String> = (0..self.count).map(|n| format!("%{name}{n}")).collect();
        if self.count == 1 { names[0].clone() } else { format!("{{{}}}", names.join(", ")) }
    }

    /// Fills registers with the word `%v`.
    fn fill(self, name: &str) -> String {
        let mut text = String::new();
        for n in 0..self.count {
            let to = format!("%{name}{n}");
            _ = match self.register {
                "b16" => writeln!(text, "cvt.u16.u32 {to}, %v;"),
                "b64" | "f64" => writeln!(text, "mov.b64 {to}, {{%v, %v}};"),
                "b128" => writeln!(text, "mov.b64 %w, {{%v, %v}}; mov.b128 {to}, {{%w, %w}};"),
                _ => writeln!(text, "mov.b32 {to}, %v;"),
            };
        }
        text
    }

    /// Adds one to `%n` where registers do not have one word.
    fn compare(self, name: &str) -> String {
        // All as words of 32 bits.
        let (mut text, mut words) = (String::new(), Vec::new());
        let mut word = |text: &mut String, instruction: &str, from: &str| {
            let name = format!("%y{}", words.len());
            _ = writeln!(text, "{} {name}, {from};", instruction);
            words.push(name);
        };
        for n in 0..self.count {
            let from = format!("%{name}{n}");
            match self.register {
                "b16" => word(&mut text, "cvt.u32.u16", &from),
                "b64" | "f64" => {
                    _ = writeln!(text, "mov.b64 %w, {from};");
                    word(&mut text, "cvt.u32.u64", "%w");
                    _ = writeln!(text, "shr.u64 %w, %w, 32;");
                    word(&mut text, "cvt.u32.u64", "%w");
                }
                "b128" => {
                    _ = writeln!(text, "mov.b128 {{%w, %x}}, {from};");
                    word(&mut text, "cvt.u32.u64", "%w");
                    word(&mut text, "cvt.u32.u64", "%x");
                    _ = writeln!(text, "shr.u64 %w, %w, 32; shr.u64 %x, %x, 32;");
                    word(&mut text, "cvt.u32.u64", "%w");
                    word(&mut text, "cvt.u32.u64", "%x");
                }
                _ => word(&mut text, "mov.b32", &from),
            }
        }
        _ = writeln!(text, "mov.u32 %z, 0;");
        for other in &words[1..] {
            _ = writeln!(text, "xor.b32 %y7, {}, {other}; or.b32 %z, %z, %y7;", words[0]);
        }
        _ = writeln!(text, "setp.ne.u32 %p, %z, 0; selp.u32 %z, 1, 0, %p; add.u32 %n, %n, %z;");
        text
    }
}

/// How memory is accessed.
#[derive(Clone, Copy)]
struct Form {
    store: (&'static str, Shape),
    load: (&'static str, Shape),
}

const fn both(store: &'static str, load: &'static str, shape: Shape) -> Form {
    Form { store: (store, shape), load: (load, shape) }
}

const fn mixed(store: (&'static str, Shape), load: (&'static str, Shape)) -> Form {
    Form { store, load }
}

/// Loads are instructions, or copies to shared memory by `cp.async`.
const FORMS: [Form; 31] = [
    both("st.global", "ld.global", U8X4),
    both("st.global", "ld.global", U16X2),
    both("st.global", "ld.global", U16X4),
    both("st.global", "ld.global", U32X2),
    both("st.global", "ld.global", F32X2),
    both("st.global", "ld.global", U32X4),
    both("st.global", "ld.global", F32X4),
    both("st.global", "ld.global", B32X4),
    both("st.global", "ld.global", U64X2),
    both("st.global", "ld.global", F64X2),
    both("st", "ld", U32X2),
    both("st", "ld", F32X4),
    both("st", "ld", U64X2),
    both("st.volatile.global", "ld.volatile.global", U32X2),
    both("st.volatile.global", "ld.volatile.global", U32X4),
    both("st.volatile.global", "ld.volatile.global", U64X2),
    both("st.volatile.global", "ld.volatile.global", F64X2),
    both("st.relaxed.gpu.global", "ld.relaxed.gpu.global", B32X2),
    both("st.relaxed.gpu.global", "ld.relaxed.gpu.global", B32X4),
    both("st.relaxed.gpu.global", "ld.relaxed.gpu.global", U64X2),
    both("st.release.sys.global", "ld.acquire.sys.global", U32X4),
    both("st.release.gpu.global", "ld.acquire.gpu.global", U64X2),
    both("st.global", "ld.global.nc", F32X4),
    both("st.global", "ld.global.nc", U64X2),
    both("st.relaxed.gpu.global", "ld.relaxed.gpu.global", B128),
    mixed(("st.relaxed.gpu.global", B128), ("ld.global", U32X4)),
    mixed(("st.global", F64X2), ("ld.relaxed.gpu.global", B128)),
    mixed(("st.global", U64X2), ("ld.global", F32X4)),
    mixed(("st.volatile.global", U32X2), ("ld.global", U64)),
    mixed(("st.global", F32X4), ("cp.async", U32X4)),
    mixed(("st.global", U64), ("cp.async", U32X2)),
];

/// The addresses of lanes: the offset of a lane in `%o`, from `%t` on, if a lane has so many bytes.
struct Pattern {
    name: &'static str,
    offset: fn(usize) -> String,
    /// The lanes that take part, as a guard.
    guard: &'static str,
}

const PATTERNS: [Pattern; 8] = [
    Pattern { name: "one place", offset: |_| "mov.u32 %o, 0;".to_owned(), guard: "" },
    Pattern { name: "row", offset: |bytes| format!("mul.lo.u32 %o, %t, {bytes};"), guard: "" },
    Pattern { name: "apart", offset: |bytes| format!("mul.lo.u32 %o, %t, {};", 3 * bytes), guard: "" },
    Pattern { name: "16 bytes apart", offset: |_| "mul.lo.u32 %o, %t, 16;".to_owned(), guard: "" },
    Pattern {
        name: "halves",
        offset: |bytes| {
            format!(
                "and.b32 %o, %t, 15; shr.u32 %z, %t, 4; mul.lo.u32 %o, %o, {bytes}; mad.lo.u32 %o, %z, 1024, %o;"
            )
        },
        guard: "",
    },
    Pattern {
        name: "anywhere",
        offset: |bytes| format!("mul.lo.u32 %o, %t, 13; and.b32 %o, %o, 31; mul.lo.u32 %o, %o, {bytes};"),
        guard: "",
    },
    Pattern { name: "some of a row", offset: |bytes| format!("mul.lo.u32 %o, %t, {bytes};"), guard: "@%q " },
    Pattern {
        name: "some anywhere",
        offset: |bytes| format!("mul.lo.u32 %o, %t, 13; and.b32 %o, %o, 31; mul.lo.u32 %o, %o, {bytes};"),
        guard: "@%q ",
    },
];

/// A module whose even CTAs store and whose odd ones load. A thread leaves how many of its loads were torn.
fn module(form: Form, pattern: &Pattern) -> String {
    let Form { store: (store, stored), load: (load, loaded) } = form;
    let lane = stored.total().max(loaded.total());
    let (offset, guard) = ((pattern.offset)(lane), pattern.guard);
    let (fill, compare) = (stored.fill("a"), loaded.compare("b"));
    let load = match load {
        "cp.async" => format!(
            "{guard}cp.async.ca.shared.global [%s], [%at], {};\ncp.async.wait_all;\n{guard}ld.shared.{} {}, [%s];",
            loaded.total(),
            loaded.ty,
            loaded.operand("b")
        ),
        load => format!("{guard}{load}.{} {}, [%at];", loaded.ty, loaded.operand("b")),
    };
    // Where fewer bytes are stored at once, all of a lane's are stored.
    let stores: String = (0..lane / stored.total())
        .map(|n| {
            format!("{guard}{store}.{} [%at+{}], {};\n", stored.ty, n * stored.total(), stored.operand("a"))
        })
        .collect();
    let zeros = Shape { count: loaded.count, ..loaded }.fill("b");
    format!(
        ".version 8.6\n.target sm_90\n.address_size 64
.visible .entry k(.param .u64 data, .param .u64 out, .param .u32 rounds)
{{
    .shared .align 16 .b8 own[512];
    .reg .pred %p, %q; .reg .b32 %t, %c, %o, %s, %v, %n, %r, %z, %y<8>; .reg .b64 %at, %out, %w, %x, %wide;
    .reg .{} %a<4>; .reg .{} %b<4>;
    ld.param.u64 %at, [data]; ld.param.u64 %out, [out]; ld.param.u32 %r, [rounds];
    mov.u32 %t, %tid.x; mov.u32 %c, %ctaid.x;
    mad.lo.u32 %o, %c, 32, %t; mul.wide.u32 %wide, %o, 4; add.u64 %out, %out, %wide;
    mov.u32 %s, own; mad.lo.u32 %s, %t, 16, %s;
    and.b32 %z, %t, 5; setp.ne.u32 %q, %z, 1;
    {offset}
    cvt.u64.u32 %wide, %o; add.u64 %at, %at, %wide;
    mov.u32 %n, 0; mov.u32 %v, 0;
    {zeros}
    and.b32 %z, %c, 1; setp.ne.u32 %p, %z, 0;
    @%p bra READ;
WRITE:
    add.u32 %v, %v, 0x01010101;
    {fill}
    {stores}
    sub.u32 %r, %r, 1; setp.ne.u32 %p, %r, 0;
    @%p bra WRITE;
    bra DONE;
READ:
    {load}
    {compare}
    sub.u32 %r, %r, 1; setp.ne.u32 %p, %r, 0;
    @%p bra READ;
DONE:
    st.global.u32 [%out], %n;
    ret;
}}
",
        stored.register, loaded.register
    )
}

fn number(variable: &str, otherwise: u64) -> u64 {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

/// Runs a kernel until its lanes have loaded so often: how many loads there were, and how many were torn.
fn run(device: &Device, jit: Jit, loads: u64) -> (u64, u64) {
    let threads = number("SOFTWARP_THREADS", 4);
    let grid = 4 * threads as u32;
    let data = device.allocate(4096).expect("memory");
    let out = device.allocate(u64::from(grid) * 128).expect("memory");
    let each = u64::from(grid) / 2 * 32;
    let rounds = (loads / each).clamp(1, 1 << 20);
    let (mut done, mut torn) = (0, 0);
    while done < loads {
        let arguments =
            [data.to_le_bytes().to_vec(), out.to_le_bytes().to_vec(), (rounds as u32).to_le_bytes().to_vec()];
        let launch = Launch {
            jit,
            threads: Some(threads as usize),
            ..Launch::new("k", [grid, 1, 1], [32, 1, 1], &arguments)
        };
        device.launch(&launch).expect("no fault");
        let mut counts = vec![0; grid as usize * 128];
        device.read(out, &mut counts).expect("inside");
        let words = counts.as_chunks::<4>().0;
        torn += words.iter().map(|&word| u64::from(u32::from_le_bytes(word))).sum::<u64>();
        done += rounds * each;
    }
    device.free(data).expect("allocated");
    device.free(out).expect("allocated");
    (done, torn)
}

#[test]
fn no_access_is_torn() {
    let only = std::env::var("SOFTWARP_ONLY").unwrap_or_default();
    let loads = number("SOFTWARP_LOADS", 60_000);
    let mut wrong = Vec::new();
    for form in FORMS {
        for pattern in &PATTERNS {
            let name = format!(
                "{}.{} of {}.{}, {}",
                form.load.0, form.load.1.ty, form.store.0, form.store.1.ty, pattern.name
            );
            if !name.contains(&only) {
                continue;
            }
            let text = module(form, pattern);
            let device = Device::load(&[&text], LoadOptions::default())
                .unwrap_or_else(|error| panic!("{name}: {error:?}\n{text}"));
            for jit in [Jit::Off, Jit::On] {
                let (done, torn) = run(&device, jit, loads);
                if loads > 1_000_000 {
                    println!("{torn} of {done} torn: {name}, {jit:?}");
                }
                if torn > 0 {
                    wrong.push(format!("{torn} of {done}: {name}, {jit:?}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "torn:\n{}", wrong.join("\n"));
}

/// The host copies memory while a kernel writes it.
#[test]
fn no_copy_of_the_host_is_torn() {
    let form = both("st.global", "ld.global", F32X4);
    let device = Device::load(&[&module(form, &PATTERNS[1])], LoadOptions::default()).expect("valid");
    let data = device.allocate(4096).expect("memory");
    let out = device.allocate(4096).expect("memory");
    let rounds = number("SOFTWARP_LOADS", 60_000) as u32;
    let arguments = [data.to_le_bytes().to_vec(), out.to_le_bytes().to_vec(), rounds.to_le_bytes().to_vec()];
    for jit in [Jit::Off, Jit::On] {
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let launch = Launch { jit, ..Launch::new("k", [1; 3], [32, 1, 1], &arguments) };
                device.launch(&launch).expect("no fault");
                done.store(true, Ordering::Release);
            });
            let mut bytes = [0; 512 + 3];
            while !done.load(Ordering::Acquire) {
                device.read(data, &mut bytes).expect("inside");
                for piece in bytes.as_chunks::<16>().0 {
                    let [first, rest @ ..] = piece.as_chunks::<4>().0 else { continue };
                    assert!(rest.iter().all(|word| word == first), "{piece:x?} is torn, {jit:?}");
                }
            }
        });
    }
}
