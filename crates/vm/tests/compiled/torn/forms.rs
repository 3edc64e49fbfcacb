//! Stores, and loads at the same time, of the same size or of another.

use super::{MANY, Run, Table, finds, kernel, load};
use softwarp_vm::device::{Device, Jit, Launch};
use softwarp_vm::memory::host::{HostMemory, HostPlace};
use std::fmt::Write;

/// Elements of an access.
#[derive(Clone, Copy)]
pub(super) struct Shape {
    /// Their type, and the type of their registers.
    pub(super) ty: &'static str,
    pub(super) register: &'static str,
    pub(super) count: usize,
    pub(super) bytes: usize,
}

const fn shape(ty: &'static str, register: &'static str, count: usize, bytes: usize) -> Shape {
    Shape { ty, register, count, bytes }
}

const U8X2: Shape = shape("v2.u8", "b16", 2, 1);
const U8X4: Shape = shape("v4.u8", "b16", 4, 1);
const B8X8: Shape = shape("v8.b8", "b16", 8, 1);
const U16X2: Shape = shape("v2.u16", "b16", 2, 2);
const U16X4: Shape = shape("v4.u16", "b16", 4, 2);
const B16X8: Shape = shape("v8.b16", "b16", 8, 2);
const U32X2: Shape = shape("v2.u32", "b32", 2, 4);
const F32X2: Shape = shape("v2.f32", "f32", 2, 4);
const B32X2: Shape = shape("v2.b32", "b32", 2, 4);
const U64: Shape = shape("u64", "b64", 1, 8);
const U32X4: Shape = shape("v4.u32", "b32", 4, 4);
const S32X4: Shape = shape("v4.s32", "b32", 4, 4);
const F32X4: Shape = shape("v4.f32", "f32", 4, 4);
const B32X4: Shape = shape("v4.b32", "b32", 4, 4);
const U64X2: Shape = shape("v2.u64", "b64", 2, 8);
const S64X2: Shape = shape("v2.s64", "b64", 2, 8);
const B64X2: Shape = shape("v2.b64", "b64", 2, 8);
const F64X2: Shape = shape("v2.f64", "f64", 2, 8);
const B128: Shape = shape("b128", "b128", 1, 16);
const B32X8: Shape = shape("v8.b32", "b32", 8, 4);
const F32X8: Shape = shape("v8.f32", "f32", 8, 4);
const U64X4: Shape = shape("v4.u64", "b64", 4, 8);

impl Shape {
    pub(super) fn total(self) -> usize {
        self.count * self.bytes
    }

    /// An operand of all registers of a name.
    pub(super) fn operand(self, name: &str) -> String {
        let names: Vec<String> = (0..self.count).map(|n| format!("%{name}{n}")).collect();
        if self.count == 1 { names[0].clone() } else { format!("{{{}}}", names.join(", ")) }
    }

    /// Fills registers with the word `%v`.
    pub(super) fn fill(self, name: &str) -> String {
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

    /// Adds one to `%n` where the registers of 16 bytes do not have one word, less the last ones.
    pub(super) fn compare(self, name: &str, less: usize) -> String {
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
        words.truncate(words.len() - less);
        _ = writeln!(text, "mov.u32 %z, 0;");
        let piece = if self.total() == 32 { 4 } else { words.len() };
        for words in words.chunks(piece) {
            for other in &words[1..] {
                _ = writeln!(text, "xor.b32 %y9, {}, {other}; or.b32 %z, %z, %y9;", words[0]);
            }
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

/// Where not just an instruction without a type is named, [`stores`] and [`loads`] say what it is.
const FORMS: [Form; 56] = [
    both("st.global", "ld.global", U8X2),
    both("st.global", "ld.global", U8X4),
    mixed(("st.global", B8X8), ("ld.global", U32X2)),
    both("st.global", "ld.global", U16X2),
    both("st.global", "ld.global", U16X4),
    mixed(("st.global", B16X8), ("ld.global", U64X2)),
    both("st.global", "ld.global", U32X2),
    both("st.global", "ld.global", F32X2),
    both("st.global", "ld.global", U32X4),
    both("st.global", "ld.global", S32X4),
    both("st.global", "ld.global", F32X4),
    both("st.global", "ld.global", B32X4),
    both("st.global", "ld.global", U64X2),
    both("st.global", "ld.global", S64X2),
    both("st.global", "ld.global", B64X2),
    both("st.global", "ld.global", F64X2),
    both("st.global", "ld.global", B32X8),
    both("st.global", "ld.global", F32X8),
    both("st.global", "ld.global", U64X4),
    both("st", "ld", U32X2),
    both("st", "ld", F32X4),
    both("st", "ld", U64X2),
    both("st", "ld", U8X4),
    both("st.volatile.global", "ld.volatile.global", U32X2),
    both("st.volatile.global", "ld.volatile.global", U32X4),
    both("st.volatile.global", "ld.volatile.global", U64X2),
    both("st.volatile.global", "ld.volatile.global", F64X2),
    both("st.relaxed.gpu.global", "ld.relaxed.gpu.global", B32X2),
    both("st.relaxed.gpu.global", "ld.relaxed.gpu.global", B32X4),
    both("st.relaxed.gpu.global", "ld.relaxed.gpu.global", U64X2),
    both("st.relaxed.sys", "ld.relaxed.sys", F32X4),
    both("st.release.sys.global", "ld.acquire.sys.global", U32X4),
    both("st.release.gpu.global", "ld.acquire.gpu.global", U64X2),
    both("st.global.wt", "ld.global.cv", F32X4),
    both("st.global.cs", "ld.global.cs", U64X2),
    both("st.global.cg", "ld.global.cg", U16X4),
    both("st.global.L1::no_allocate", "ld.global.L1::no_allocate.L2::128B", U32X4),
    both("st.global", "ld.global.nc", F32X4),
    both("st.global", "ld.global.nc", U64X2),
    both("st.global", "ld.global.nc", U32X2),
    both("st.global", "ld.global.nc", U16X4),
    both("st.relaxed.gpu.global", "ld.relaxed.gpu.global", B128),
    both("exchange", "compare", B128),
    mixed(("st.relaxed.gpu.global", B128), ("ld.global", U32X4)),
    mixed(("st.global", F64X2), ("ld.relaxed.gpu.global", B128)),
    mixed(("st.global", U64X2), ("ld.global", F32X4)),
    mixed(("st.global", B32X8), ("ld.global", U64X2)),
    mixed(("st.global", B16X8), ("ld.global", U32X4)),
    mixed(("exchange", B128), ("ld.global", F32X4)),
    mixed(("st.global", F32X4), ("compare", B128)),
    mixed(("st.volatile.global", U32X2), ("ld.global", U64)),
    mixed(("st.global", F32X4), ("cp.async.cg", U32X4)),
    mixed(("st.global", F32X4), ("cp.async.ca", U32X4)),
    mixed(("st.global", F32X4), ("cp.async of 12 bytes", U32X4)),
    mixed(("st.global", U64), ("cp.async.ca", U32X2)),
    mixed(("st.global", U64X2), ("cp.async.ca", U32X2)),
];

/// The store of a lane's elements `%a` to an address in a register.
fn stores(what: &str, shape: Shape, guard: &str, at: &str) -> String {
    let (ty, from) = (shape.ty, shape.operand("a"));
    match what {
        "exchange" => format!("{guard}atom.global.relaxed.gpu.exch.b128 %g0, [{at}], %a0;"),
        _ => format!("{guard}{what}.{ty} [{at}], {from};"),
    }
}

/// The load of `%b`, and the comparison.
fn loads(what: &str, shape: Shape, guard: &str, at: &str) -> String {
    let (ty, to) = (shape.ty, shape.operand("b"));
    let (text, less) = match what {
        "compare" => (format!("{guard}atom.global.relaxed.gpu.cas.b128 %b0, [{at}], %b0, %b0;"), 0),
        "cp.async of 12 bytes" => (
            format!(
                "{guard}cp.async.ca.shared.global [%s], [{at}], 16, 12;\ncp.async.wait_all;
                {guard}ld.shared.v4.u32 {to}, [%s];"
            ),
            1,
        ),
        copy if copy.starts_with("cp.async") => (
            format!(
                "{guard}{copy}.shared.global [%s], [{at}], {};\ncp.async.wait_all;\n{guard}ld.shared.{ty} {to}, [%s];",
                shape.total(),
            ),
            0,
        ),
        load => (format!("{guard}{load}.{ty} {to}, [{at}];"), 0),
    };
    format!("{text}\n{}", shape.compare("b", less))
}

/// The addresses of lanes: the offset of a lane in `%o`, from `%t` on, for a number of bytes of each lane.
struct Pattern {
    name: &'static str,
    offset: fn(usize) -> String,
    /// The lanes that take part.
    taking: Taking,
}

/// Which lanes take part in an access.
#[derive(Clone, Copy, PartialEq)]
enum Taking {
    All,
    /// Those of the predicate `%q`, as a guard, or by a branch.
    Guarded,
    Branching,
    /// Fewer than 8, whose number is known.
    First,
}

fn in_a_row(bytes: usize) -> String {
    format!("mul.lo.u32 %o, %t, {bytes};")
}

fn anywhere(bytes: usize) -> String {
    format!("mul.lo.u32 %o, %t, 13; and.b32 %o, %o, 31; mul.lo.u32 %o, %o, {bytes};")
}

fn one_place(_: usize) -> String {
    "mov.u32 %o, 0;".to_owned()
}

const PATTERNS: [Pattern; 12] = [
    Pattern { name: "row", offset: in_a_row, taking: Taking::All },
    Pattern { name: "anywhere", offset: anywhere, taking: Taking::All },
    Pattern { name: "one place", offset: one_place, taking: Taking::All },
    Pattern { name: "some of a row", offset: in_a_row, taking: Taking::Guarded },
    Pattern {
        name: "apart",
        offset: |bytes| format!("mul.lo.u32 %o, %t, {};", 3 * bytes),
        taking: Taking::All,
    },
    Pattern {
        name: "16 bytes apart",
        offset: |bytes| format!("mul.lo.u32 %o, %t, {};", bytes.max(16)),
        taking: Taking::All,
    },
    Pattern {
        name: "halves",
        offset: |bytes| {
            format!(
                "and.b32 %o, %t, 15; shr.u32 %z, %t, 4; mul.lo.u32 %o, %o, {bytes}; mad.lo.u32 %o, %z, 1024, %o;"
            )
        },
        taking: Taking::All,
    },
    Pattern { name: "some anywhere", offset: anywhere, taking: Taking::Guarded },
    Pattern { name: "some at one place", offset: one_place, taking: Taking::Guarded },
    Pattern { name: "a branch in a row", offset: in_a_row, taking: Taking::Branching },
    Pattern { name: "a branch anywhere", offset: anywhere, taking: Taking::Branching },
    Pattern { name: "first of a row", offset: in_a_row, taking: Taking::First },
];

/// A module whose even CTAs store and whose odd ones load. A thread leaves how many of its loads were torn.
fn module(form: Form, pattern: &Pattern) -> String {
    let Form { store: (store, stored), load: (load, loaded) } = form;
    let lane = stored.total().max(loaded.total());
    let offset = (pattern.offset)(lane);
    let guard = match pattern.taking {
        Taking::All | Taking::Branching => "",
        Taking::Guarded => "@%q ",
        Taking::First => "@%w0 ",
    };
    let [skip_write, skip_read] = ["WRITTEN", "LOADED"].map(|to| {
        if pattern.taking == Taking::Branching { format!("@!%q bra {to};") } else { String::new() }
    });
    // Where fewer bytes are stored at once, all of a lane's are stored.
    let stores: String = (0..lane / stored.total())
        .map(|n| stores(store, stored, guard, &format!("%at+{}", n * stored.total())) + "\n")
        .collect();
    let (fill, loads) = (stored.fill("a"), loads(load, loaded, guard, "%src"));
    let zeros = loaded.fill("b");
    let body = format!(
        ".reg .{} %a<8>; .reg .{} %b<8>;
    mov.u32 %s, own; mad.lo.u32 %s, %t, 16, %s;
    and.b32 %z, %t, 5; setp.ne.u32 %q, %z, 1; setp.lt.u32 %w0, %t, 8;
    {offset}
    cvt.u64.u32 %wide, %o; add.u64 %at, %at, %wide; add.u64 %src, %src, %wide;
    {zeros}
    setp.ne.u32 %p, %role, 0;
    @%p bra READ;
WRITE:
    add.u32 %v, %v, 0x01010101;
    {fill}
    {skip_write}
    {stores}
WRITTEN:
    sub.u32 %r, %r, 1; setp.ne.u32 %p, %r, 0;
    @%p bra WRITE;
    bra DONE;
READ:
    {skip_read}
    {loads}
LOADED:
    sub.u32 %r, %r, 1; setp.ne.u32 %p, %r, 0;
    @%p bra READ;",
        stored.register, loaded.register
    );
    kernel("", &body, 2)
}

fn name(form: Form, what: &str) -> String {
    format!("{}.{} of {}.{}, {what}", form.load.0, form.load.1.ty, form.store.0, form.store.1.ty)
}

#[test]
fn no_access_is_torn() {
    let mut table = Table::new();
    for form in FORMS {
        for pattern in &PATTERNS {
            let name = name(form, pattern.name);
            if !table.has(&name) {
                continue;
            }
            let device = load(&name, &module(form, pattern));
            let data = device.allocate(4096).expect("memory");
            for jit in [Jit::Off, Jit::On] {
                let counts = Run::new(&device, data).count(jit, table.loads);
                table.add(&name, jit, counts);
            }
        }
    }
    table.finish();
}

/// What would be found: 16 bytes that are stored in two pieces.
#[test]
fn two_stores_are_torn() {
    let device = load("two stores", &module(mixed(("st.global", U32X2), ("ld.global", U32X4)), &PATTERNS[0]));
    let data = device.allocate(4096).expect("memory");
    finds(|jit| Run::new(&device, data).count(jit, MANY / 20));
}

/// Makes memory: the addresses for stores and for loads, and what has to be kept.
type Place = fn(&Device) -> ([u64; 2], Option<HostMemory>);

/// The kinds of memory besides buffers of a device.
const KINDS: [(&str, Place); 5] = [
    ("mapped", |device| {
        let memory = HostMemory::new(4096).expect("memory");
        let at = device.map_host(&memory, HostPlace::Anywhere).expect("free");
        ([at; 2], Some(memory))
    }),
    ("managed", |device| {
        let memory = HostMemory::new(4096).expect("memory");
        // The device may have its windows there.
        let at = device.map_host(&memory, HostPlace::SameAddress);
        let at = at.or_else(|_| device.map_host(&memory, HostPlace::Anywhere)).expect("free");
        ([at; 2], Some(memory))
    }),
    ("mapped twice", |device| {
        let memory = HostMemory::new(4096).expect("memory");
        let at = [0; 2].map(|_| device.map_host(&memory, HostPlace::Anywhere).expect("free"));
        (at, Some(memory))
    }),
    ("variable", |device| ([device.symbol("variable").expect("there").address; 2], None)),
    ("heap", |device| {
        let out = device.allocate(8).expect("memory");
        let arguments = [out.to_le_bytes().to_vec()];
        device.launch(&Launch::new("take", [1; 3], [1; 3], &arguments)).expect("no fault");
        let mut at = [0; 8];
        device.read(out, &mut at).expect("inside");
        ([u64::from_le_bytes(at); 2], None)
    }),
];

const MORE: &str = "
    .global .align 16 .b8 variable[4096];
    .extern .func (.param .b64 r) malloc(.param .b64 n);
    .visible .entry take(.param .u64 out)
    {
        .param .b64 n; .param .b64 r; .reg .b64 %out, %d;
        ld.param.u64 %out, [out]; st.param.b64 [n], 4096;
        call.uni (r), malloc, (n);
        ld.param.b64 %d, [r]; st.global.u64 [%out], %d; ret;
    }
";

#[test]
fn no_access_to_other_memory_is_torn() {
    let mut table = Table::new();
    let forms = [
        both("st.global", "ld.global", F32X4),
        both("st", "ld", U64X2),
        both("st.relaxed.sys", "ld.relaxed.sys", B128),
        both("st.volatile", "ld.volatile", U32X2),
        mixed(("st.global", U64X2), ("cp.async.ca", U32X4)),
    ];
    for form in forms {
        for (kind, place) in KINDS {
            for pattern in [0, 1, 3].map(|n| &PATTERNS[n]) {
                let name = name(form, &format!("{kind}, {}", pattern.name));
                if !table.has(&name) {
                    continue;
                }
                let text = module(form, pattern);
                let text = text.replacen(".visible", &format!("{MORE}.visible"), 1);
                let device = load(&name, &text);
                let (places, _memory) = place(&device);
                for jit in [Jit::Off, Jit::On] {
                    let counts = Run { places, ..Run::new(&device, 0) }.count(jit, table.loads);
                    table.add(&name, jit, counts);
                }
            }
        }
    }
    table.finish();
}

/// The first CTA of a cluster stores to its shared memory, and the second one loads from there.
#[test]
fn no_access_to_the_shared_memory_of_a_cluster_is_torn() {
    let mut table = Table::new();
    let forms = [
        both("st.shared", "ld.shared::cluster", F32X4),
        both("st", "ld", U64X2),
        both("st.shared::cluster", "ld.relaxed.cluster.shared::cluster", U32X4),
        both("st.volatile.shared", "ld.volatile.shared::cluster", U32X2),
        both("st.relaxed.cluster.shared", "ld.relaxed.cluster.shared::cluster", B128),
    ];
    for form in forms {
        for pattern in &PATTERNS[..4] {
            let name = name(form, &format!("cluster, {}", pattern.name));
            if !table.has(&name) {
                continue;
            }
            // The CTAs' own memory, by addresses in both.
            let base = match form.store.0 {
                "st" => {
                    "mov.b64 %at, own; cvta.shared.u64 %at, %at; mov.u32 %z, 0; mapa.u64 %src, %at, %z;"
                }
                _ => {
                    "mov.u32 %y0, own; cvt.u64.u32 %at, %y0; mov.u32 %z, 0; mapa.shared::cluster.u32 %y1, %y0, %z;
                     cvt.u64.u32 %src, %y1;"
                }
            };
            let text = module(form, pattern);
            let text = text.replacen("    mov.u32 %s, own;", &format!("{base}\n    mov.u32 %s, own;"), 1);
            // No CTA ends before the other.
            let text = text.replacen("DONE:", "DONE:\nbarrier.cluster.arrive; barrier.cluster.wait;", 1);
            let device = load(&name, &text);
            for jit in [Jit::Off, Jit::On] {
                let counts = Run { cluster: Some(2), ..Run::new(&device, 0) }.count(jit, table.loads);
                table.add(&name, jit, counts);
            }
        }
    }
    table.finish();
}
