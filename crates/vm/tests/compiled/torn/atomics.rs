//! Atomic operations on parts of what others store and load in one piece, and of different sizes at the same place.

use super::{MANY, Run, Table, finds, kernel, load, threads};
use softwarp_vm::device::{Device, Jit, Launch};

/// Operations that leave a word as it is, if it is a positive number as an integer and in all formats of floats: their names,
/// and what they do. A sum that is not performed in one step writes what was there before another thread's store.
const NEUTRAL: [(&str, &str); 28] = [
    ("atom.add.u32", "atom.global.add.u32 %y0, [%at], 0;"),
    ("red.add.u32", "red.global.add.u32 [%at], 0;"),
    ("red.or.b32", "red.relaxed.gpu.global.or.b32 [%at+4], 0;"),
    ("red.and.b32", "red.global.and.b32 [%at+8], -1;"),
    ("atom.xor.b32", "atom.global.xor.b32 %y0, [%at+12], 0;"),
    ("atom.min.u32", "atom.global.min.u32 %y0, [%at], -1;"),
    ("atom.max.s32", "atom.global.max.s32 %y0, [%at+4], 0;"),
    ("red.max.u32", "red.global.max.u32 [%at+8], 0;"),
    ("atom.cas.b32", "atom.global.cas.b32 %y0, [%at+12], -1, 0;"),
    ("atom.acquire.add.u32", "atom.acq_rel.gpu.global.add.u32 %y0, [%at], 0;"),
    ("generic atom.add.u32", "atom.add.u32 %y0, [%at+4], 0;"),
    ("red.add.u64", "red.global.add.u64 [%at], 0;"),
    ("atom.or.b64", "atom.global.or.b64 %w, [%at+8], 0;"),
    ("atom.min.u64", "atom.global.min.u64 %w, [%at], -1;"),
    ("atom.cas.b64", "mov.u64 %x, -1; atom.global.cas.b64 %w, [%at+8], %x, 0;"),
    ("atom.cas.b16", "mov.b16 %h0, -1; mov.b16 %h1, 0; atom.global.cas.b16 %h0, [%at+2], %h0, %h1;"),
    ("atom.cas.b128", "mov.u64 %x, -1; mov.b128 %g0, {%x, %x}; atom.global.cas.b128 %g1, [%at], %g0, %g0;"),
    ("atom.add.f32", "mov.f32 %f0, 0f00000000; atom.global.add.f32 %f1, [%at], %f0;"),
    ("red.add.f64", "mov.f64 %ff0, 0d0000000000000000; red.global.add.f64 [%at+8], %ff0;"),
    ("red.add.v4.f32", "mov.f32 %f0, 0f00000000; red.global.add.v4.f32 [%at], {%f0, %f0, %f0, %f0};"),
    ("atom.add.v2.f32", "mov.f32 %f0, 0f00000000; atom.global.add.v2.f32 {%f1, %f2}, [%at+8], {%f0, %f0};"),
    ("atom.add.f16x2", "mov.u32 %y0, 0; atom.global.add.noftz.f16x2 %y1, [%at+4], %y0;"),
    ("red.add.f16", "mov.b16 %h0, 0; red.global.add.noftz.f16 [%at+6], %h0;"),
    ("red.add.bf16x2", "mov.u32 %y0, 0; red.global.add.noftz.bf16x2 [%at+8], %y0;"),
    ("red.max.v4.f16x2", "mov.u32 %y0, 0; red.global.max.noftz.v4.f16x2 [%at], {%y0, %y0, %y0, %y0};"),
    ("red.async.add.u32", "mov.u32 %y0, 0; red.async.release.gpu.global.add.u32 [%at], %y0;"),
    ("multimem.red.add.u32", "mov.u32 %y0, 0; multimem.red.relaxed.gpu.global.add.u32 [%src], %y0;"),
    (
        "cp.reduce.async.bulk",
        "@%w0 cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%l0], [own], 512;",
    ),
];

/// Which lanes perform the operation, and where.
const PLACES: [(&str, &str, &str); 4] = [
    ("row", "mov.u32 %o, %t;", ""),
    ("one place", "mov.u32 %o, 0;", ""),
    ("anywhere", "mul.lo.u32 %o, %t, 13; and.b32 %o, %o, 31;", ""),
    ("some of a row", "mov.u32 %o, %t;", "@!%q bra OPERATED;"),
];

/// A module of which one CTA of three stores 16 bytes for each lane, one performs an operation, and one loads.
fn module(what: &str, offset: &str, skip: &str) -> String {
    let body = format!(
        "mov.u32 %s, own; mad.lo.u32 %s, %t, 16, %s; mov.u32 %z, 0; st.shared.v4.u32 [%s], {{%z, %z, %z, %z}};
    bar.warp.sync -1;
    and.b32 %z, %t, 5; setp.ne.u32 %q, %z, 1; setp.eq.u32 %w0, %t, 0;
    mov.u64 %l0, %at;
    {offset} mul.wide.u32 %wide, %o, 16; add.u64 %at, %at, %wide; add.u64 %src, %src, %wide;
    mov.u32 %e0, 0;
    setp.eq.u32 %p, %role, 1; @%p bra OPERATE;
    setp.eq.u32 %p, %role, 2; @%p bra READ;
WRITE:
    add.u32 %e0, %e0, 1; and.b32 %v, %e0, 0x3fff; add.u32 %v, %v, 0x400; mul.lo.u32 %v, %v, 0x10001;
    st.global.v4.u32 [%at], {{%v, %v, %v, %v}};
    sub.u32 %r, %r, 1; setp.ne.u32 %p, %r, 0;
    @%p bra WRITE;
    bra DONE;
OPERATE:
    {skip}
    {what}
OPERATED:
    sub.u32 %r, %r, 1; setp.ne.u32 %p, %r, 0;
    @%p bra OPERATE;
    bra DONE;
READ:
    ld.global.v4.u32 {{%y0, %y1, %y2, %y3}}, [%at];
    xor.b32 %y4, %y0, %y1; xor.b32 %y5, %y0, %y2; xor.b32 %y6, %y0, %y3;
    or.b32 %y4, %y4, %y5; or.b32 %y4, %y4, %y6;
    setp.ne.u32 %p, %y4, 0; selp.u32 %z, 1, 0, %p; add.u32 %n, %n, %z;
    sub.u32 %r, %r, 1; setp.ne.u32 %p, %r, 0;
    @%p bra READ;"
    );
    kernel("", &body, 3)
}

fn count(device: &Device, jit: Jit, loads: u64) -> (u64, u64) {
    let data = device.allocate(4096).expect("memory");
    let both = device.multicast(&[data], 4096).expect("it is there");
    let counts = Run { places: [data, both], roles: 3, ..Run::new(device, data) }.count(jit, loads);
    device.free(both).expect("there");
    device.free(data).expect("allocated");
    counts
}

#[test]
fn no_atomic_operation_undoes_a_store() {
    let mut table = Table::new();
    for (operation, what) in NEUTRAL {
        for (place, offset, skip) in PLACES {
            let name = format!("{operation} beside st.global.v4.u32, {place}");
            if !table.has(&name) {
                continue;
            }
            let device = load(&name, &module(what, offset, skip));
            for jit in [Jit::Off, Jit::On] {
                table.add(&name, jit, count(&device, jit, table.loads));
            }
        }
    }
    table.finish();
}

/// CTAs count in the words of 16 bytes by operations of each size, and others take all counts out at once: none is lost.
#[test]
fn operations_of_all_sizes_count_together() {
    let mut table = Table::new();
    let name = "atom of 4, 8 and 16 bytes at one place";
    if !table.has(name) {
        return table.finish();
    }
    // What is taken out is added to sums at `from`. Counts are small, so that no word overflows.
    let body = "
    setp.eq.u32 %p, %role, 1; @%p bra WIDE;
    setp.eq.u32 %p, %role, 2; @%p bra WHOLE;
    setp.eq.u32 %p, %role, 3; @%p bra TAKE;
NARROW:
    atom.global.add.u32 %y0, [%at], 1; red.global.inc.u32 [%at+4], -1;
    sub.u32 %r, %r, 1; setp.ne.u32 %p, %r, 0; @%p bra NARROW;
    bra DONE;
WIDE:
    red.global.add.u64 [%at+8], 1;
    sub.u32 %r, %r, 1; setp.ne.u32 %p, %r, 0; @%p bra WIDE;
    bra DONE;
WHOLE:
    ld.relaxed.gpu.global.b128 %g0, [%at];
AGAIN:
    mov.b128 {%l0, %l1}, %g0; add.u64 %l2, %l0, 0x100000001; add.u64 %l3, %l1, 1; mov.b128 %g1, {%l2, %l3};
    atom.global.cas.b128 %g2, [%at], %g0, %g1;
    mov.b128 {%l2, %l3}, %g2; setp.ne.u64 %p, %l2, %l0; setp.ne.or.u64 %p, %l3, %l1, %p;
    mov.b128 %g0, {%l2, %l3};
    @%p bra AGAIN;
    sub.u32 %r, %r, 1; setp.ne.u32 %p, %r, 0; @%p bra WHOLE;
    bra DONE;
TAKE:
    mov.u64 %l0, 0; mov.b128 %g0, {%l0, %l0};
    atom.global.exch.b128 %g1, [%at], %g0; mov.b128 {%l0, %l1}, %g1;
    cvt.u32.u64 %y0, %l0; shr.u64 %l0, %l0, 32; cvt.u32.u64 %y1, %l0;
    red.global.add.u32 [%src], %y0; red.global.add.u32 [%src+4], %y1; red.global.add.u64 [%src+8], %l1;
    sub.u32 %r, %r, 1; setp.ne.u32 %p, %r, 0; @%p bra TAKE;";
    let device = load(name, &kernel("", body, 4));
    let grid = 4 * threads();
    let rounds = (table.loads / u64::from(32 * threads())).clamp(1, 1 << 20) as u32;
    for jit in [Jit::Off, Jit::On] {
        let data = device.allocate(4096).expect("memory");
        let out = device.allocate(u64::from(grid) * 128).expect("memory");
        let addresses = [data, data + 2048, out].map(|at| at.to_le_bytes().to_vec()).into_iter();
        let arguments: Vec<Vec<u8>> =
            addresses.chain([rounds.to_le_bytes().to_vec(), vec![0; 128]]).collect();
        let launch = Launch {
            jit,
            threads: Some(threads() as usize),
            ..Launch::new("k", [grid, 1, 1], [32, 1, 1], &arguments)
        };
        device.launch(&launch).unwrap_or_else(|error| panic!("{error}"));
        let [left, taken] = [data, data + 2048].map(|at| Run::new(&device, at).words(at, 4));
        let each = threads() * 32 * rounds;
        let expected = [2 * each, 2 * each, 2 * each, 0];
        let lost = (0..4).filter(|&n| left[n].wrapping_add(taken[n]) != expected[n]).count();
        if lost > 0 {
            println!("{left:?} and {taken:?}, not {expected:?}");
        }
        table.add(name, jit, (u64::from(each) * 4, lost as u64));
    }
    table.finish();
}

/// What would be found.
#[test]
fn an_operation_in_two_steps_undoes_stores() {
    let (_, offset, skip) = PLACES[0];
    let what = "ld.global.u32 %y0, [%at]; st.global.u32 [%at], %y0;";
    let device = load("two steps", &module(what, offset, skip));
    finds(|jit| count(&device, jit, MANY / 20));
}
