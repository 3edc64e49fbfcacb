//! Stores beside one another: no store writes a byte that it is not for.
//!
//! Each lane has bytes of its own, beside those of lanes of other CTAs. It stores to them, and later finds there what it has
//! stored. Code that stored more bytes than it should, with what it has found there, would undo stores of others.

use super::forms::Shape;
use super::{MANY, Run, Table, finds, kernel, load};
use softwarp_vm::device::Jit;

const fn shape(ty: &'static str, register: &'static str, count: usize, bytes: usize) -> Shape {
    Shape { ty, register, count, bytes }
}

const SHAPES: [Shape; 14] = [
    shape("u8", "b16", 1, 1),
    shape("u16", "b16", 1, 2),
    shape("u8", "b32", 1, 1),
    shape("u16", "b32", 1, 2),
    shape("u32", "b32", 1, 4),
    shape("f32", "f32", 1, 4),
    shape("u64", "b64", 1, 8),
    shape("v2.u8", "b16", 2, 1),
    shape("v4.u8", "b16", 4, 1),
    shape("v2.u16", "b16", 2, 2),
    shape("v4.u16", "b16", 4, 2),
    shape("v2.u32", "b32", 2, 4),
    shape("v4.f32", "f32", 4, 4),
    shape("v2.u64", "b64", 2, 8),
];

/// Which lanes have what: the number of the place of a lane in `%o`, whether it takes part in `%q`.
struct Shares {
    name: &'static str,
    place: &'static str,
    /// By a guard, by a branch, or not at all.
    by: By,
}

#[derive(Clone, Copy, PartialEq)]
enum By {
    Nothing,
    Guard,
    Branch,
    /// The first CTA has the lanes below a number, and the second one the others.
    First(u32),
}

const SHARES: [Shares; 10] = [
    // Where each lane of a CTA has a neighbour of the other CTA.
    Shares { name: "by turns", place: "mad.lo.u32 %o, %t, 2, %role;", by: By::Nothing },
    Shares {
        name: "by turns, anywhere",
        place: "mul.lo.u32 %o, %t, 13; and.b32 %o, %o, 31; mad.lo.u32 %o, %o, 2, %role;",
        by: By::Nothing,
    },
    // A row of which a CTA has some lanes.
    Shares { name: "lanes of a row", place: "mov.u32 %o, %t; and.b32 %z, %t, 1;", by: By::Guard },
    Shares { name: "a branch in a row", place: "mov.u32 %o, %t; and.b32 %z, %t, 1;", by: By::Branch },
    Shares {
        name: "lanes anywhere",
        place: "mul.lo.u32 %o, %t, 13; and.b32 %o, %o, 31; and.b32 %z, %o, 1;",
        by: By::Guard,
    },
    Shares {
        name: "a branch anywhere",
        place: "mul.lo.u32 %o, %t, 13; and.b32 %o, %o, 31; and.b32 %z, %o, 1;",
        by: By::Branch,
    },
    Shares {
        name: "lanes far apart",
        place: "shl.b32 %o, %t, 1; shr.u32 %z, %t, 2; and.b32 %z, %z, 1;",
        by: By::Guard,
    },
    Shares { name: "the first 8", place: "mov.u32 %o, %t;", by: By::First(8) },
    Shares { name: "the first 2", place: "mov.u32 %o, %t;", by: By::First(2) },
    Shares { name: "the first 5", place: "mov.u32 %o, %t;", by: By::First(5) },
];

/// What each round does, under a guard: looks at what the round before has stored, and stores again.
fn round(shape: Shape, guard: &str) -> String {
    let ty = shape.ty;
    let (fill, to, from) = (shape.fill("a"), shape.operand("b"), shape.operand("a"));
    // What a lane finds is compared with what it would store.
    let compare: String = (0..shape.count)
        .map(|n| match (shape.register, shape.bytes) {
            ("b16", bytes) => format!(
                "cvt.u32.u16 %y0, %a{n}; cvt.u32.u16 %y1, %b{n}; xor.b32 %y0, %y0, %y1; and.b32 %y0, %y0, {}; or.b32 %y2, %y2, %y0;\n",
                (1u32 << (8 * bytes)) - 1
            ),
            ("b64", _) => format!(
                "xor.b64 %w, %a{n}, %b{n}; cvt.u32.u64 %y0, %w; or.b32 %y2, %y2, %y0; shr.u64 %w, %w, 32; cvt.u32.u64 %y0, %w; or.b32 %y2, %y2, %y0;\n"
            ),
            (_, bytes) => format!(
                "mov.b32 %y0, %a{n}; mov.b32 %y1, %b{n}; xor.b32 %y0, %y0, %y1; and.b32 %y0, %y0, {}; or.b32 %y2, %y2, %y0;\n",
                if bytes == 4 { u32::MAX } else { (1u32 << (8 * bytes)) - 1 }
            ),
        })
        .collect();
    format!(
        "{fill}
    {guard}ld.global.{ty} {to}, [%at];
    mov.u32 %y2, 0;
    {compare}
    setp.ne.u32 %p, %y2, 0; selp.u32 %z, 1, 0, %p;
    {guard}add.u32 %n, %n, %z;
    add.u32 %v, %v, 0x01010101;
    {fill}
    {guard}st.global.{ty} [%at], {from};\n"
    )
}

/// A loop of a CTA. What its stores have left is looked at when they are no longer in the CPU's store buffer.
fn rounds(shape: Shape, guard: &str, label: &str, branches: bool) -> String {
    let skip = if branches { format!("@!%q bra {label}_END;") } else { String::new() };
    let body = round(shape, guard);
    format!(
        "{label}:
    {skip}
    {body}
{label}_END:
    membar.gl;
    sub.u32 %r, %r, 1; setp.ne.u32 %p, %r, 0;
    @%p bra {label};
    bra DONE;\n"
    )
}

fn module(shape: Shape, shares: &Shares) -> String {
    let loops = match shares.by {
        By::Nothing => rounds(shape, "", "L", false),
        By::Guard => rounds(shape, "@%q ", "L", false),
        By::Branch => rounds(shape, "", "L", true),
        By::First(count) => format!(
            "setp.lt.u32 %q, %t, {count}; setp.ge.u32 %w0, %t, {count}; setp.ne.u32 %p, %role, 0;\n@%p bra M;\n{}{}",
            rounds(shape, "@%q ", "L", false),
            rounds(shape, "@%w0 ", "M", false)
        ),
    };
    let body = format!(
        ".reg .{register} %a<4>; .reg .{register} %b<4>;
    mov.u32 %z, 0;
    {}
    setp.eq.u32 %q, %z, %role;
    mul.wide.u32 %wide, %o, {};
    add.u64 %at, %at, %wide;
    {loops}",
        shares.place,
        shape.total(),
        register = shape.register,
    );
    kernel("", &body, 2)
}

/// Two CTAs run at a time, each with the lanes of its role.
#[test]
fn no_store_undoes_that_of_a_neighbour() {
    let mut table = Table::new();
    for shape in SHAPES {
        for shares in &SHARES {
            let name = format!("st.global.{} from {}, {}", shape.ty, shape.register, shares.name);
            if !table.has(&name) {
                continue;
            }
            let device = load(&name, &module(shape, shares));
            for jit in [Jit::Off, Jit::On] {
                let counts = Run::pairs(&device, jit, table.loads);
                table.add(&name, jit, counts);
            }
        }
    }
    table.finish();
}

/// Bulk copies of some bytes of each 16, beside stores to the others.
#[test]
fn no_copy_of_some_bytes_undoes_a_store() {
    let mut table = Table::new();
    // The first CTA copies the lower halves, and the second one stores the upper ones.
    let body = "
    mov.u32 %s, own; mad.lo.u32 %s, %t, 16, %s; setp.eq.u32 %q, %t, 0;
    mov.u64 %x, %at; mul.wide.u32 %wide, %t, 16; add.u64 %at, %at, %wide;
    mov.b16 %h0, 255; mov.u32 %e0, 512;
    setp.ne.u32 %p, %role, 0; @%p bra M;
L:
    ld.global.u32 %y0, [%at]; setp.ne.u32 %p, %y0, %v; selp.u32 %z, 1, 0, %p; add.u32 %n, %n, %z;
    add.u32 %v, %v, 0x01010101;
    st.shared.v4.u32 [%s], {%v, %v, %v, %v}; bar.warp.sync -1;
    @%q cp.async.bulk.global.shared::cta.bulk_group.cp_mask [%x], [own], %e0, %h0;
    membar.gl;
    sub.u32 %r, %r, 1; setp.ne.u32 %p, %r, 0; @%p bra L;
    bra DONE;
M:
    ld.global.u32 %y0, [%at+8]; setp.ne.u32 %p, %y0, %v; selp.u32 %z, 1, 0, %p; add.u32 %n, %n, %z;
    add.u32 %v, %v, 0x01010101;
    st.global.v2.u32 [%at+8], {%v, %v};
    membar.gl;
    sub.u32 %r, %r, 1; setp.ne.u32 %p, %r, 0; @%p bra M;";
    let name = "cp.async.bulk.cp_mask beside st.global.v2.u32";
    if table.has(name) {
        let device = load(name, &kernel("", body, 2));
        for jit in [Jit::Off, Jit::On] {
            let counts = Run::pairs(&device, jit, table.loads);
            table.add(name, jit, counts);
        }
    }
    table.finish();
}

/// What would be found: bytes that are stored with the words around them.
#[test]
fn a_store_of_a_whole_word_undoes_those_of_neighbours() {
    let bytes = SHAPES.iter().find(|shape| shape.ty == "u8" && shape.register == "b32").expect("one");
    let whole = "and.b64 %x, %at, -4; cvt.u32.u64 %y3, %at; and.b32 %y3, %y3, 3; shl.b32 %y3, %y3, 3;
    ld.global.u32 %y4, [%x]; bfi.b32 %y4, %a0, %y4, %y3, 8; st.global.u32 [%x], %y4;";
    let text = module(*bytes, &SHARES[0]);
    let device = load("whole words", &text.replace("st.global.u8 [%at], %a0;", whole));
    finds(|jit| Run::pairs(&device, jit, MANY / 20));
}
