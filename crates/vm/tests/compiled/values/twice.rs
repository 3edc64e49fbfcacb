//! Vector loads that name a register twice: what is loaded last remains in it, as on an H200.

use super::{BLOCKS, compare, ends_well, module};
use std::fmt::Write;

const DECLARED: &str = "    .shared .align 16 .b8 memory[4096]; .local .align 16 .b8 own[64];
    .reg .pred %p, %q; .reg .b16 %h<3>; .reg .b32 %r<3>, %s, %c; .reg .b64 %d<3>, %a<4>; .reg .f32 %f<3>;";

const FIXED: &str = ".const .align 16 .b8 fixed[64] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22};";

/// Elements of loads, and the registers that are loaded.
const LOADS: [(&str, &str); 16] = [
    ("v2.u32", "%r0, %r0"),
    ("v4.u32", "%r0, %r1, %r0, %r2"),
    ("v4.u32", "%r0, %r1, %r1, %r1"),
    ("v4.u32", "%r2, %r2, %r1, %r1"),
    ("v4.f32", "%f0, %f1, %f0, %f0"),
    ("v2.f32", "%f1, %f1"),
    ("v2.u64", "%d0, %d0"),
    ("v2.u16", "%h0, %h0"),
    ("v4.u16", "%h0, %h1, %h0, %h1"),
    ("v2.u16", "%r0, %r0"),
    ("v4.u8", "%h0, %h0, %h1, %h2"),
    ("v4.u8", "%h0, %h1, %h2, %h0"),
    ("v4.s8", "%r0, %r1, %r0, %r0"),
    ("v2.u8", "%h1, %h1"),
    ("v2.s64", "%d1, %d1"),
    ("v2.s32", "%r1, %r1"),
];

/// The memories, with addresses that all lanes have and others.
const ADDRESSES: [(&str, &str); 9] = [
    (".global", "%a0"),
    (".global", "%in+64"),
    ("", "%a0"),
    ("", "%a1"),
    (".shared", "%s"),
    (".shared", "memory+16"),
    (".local", "own"),
    ("", "%a2"),
    (".const", "fixed"),
];

#[test]
fn registers_that_a_load_names_twice_do_the_same_compiled_and_interpreted() {
    for (space, address) in ADDRESSES {
        let mut body = "    mad.wide.u32 %a0, %t, 16, %in; shl.b32 %s, %t, 4; and.b32 %s, %s, 2047; mov.u32 %c, memory; add.u32 %s, %s, %c;
    mov.u64 %a1, memory; cvta.shared.u64 %a1, %a1; mov.u64 %a2, own; cvta.local.u64 %a2, %a2;
    st.local.v4.u32 [own], {%t, %x, %y, 0x01020304}; st.shared.v4.u32 [%s], {%n0, %n1, %n2, 0x05060708}; bar.sync 0;
    mov.u32 %r0, 1; mov.u32 %r1, 2; mov.u32 %r2, 3; mov.u64 %d0, 4; mov.u64 %d1, 5; mov.u16 %h0, 6; mov.u16 %h1, 7; mov.u16 %h2, 8;
    mov.f32 %f0, 0f3f800000; mov.f32 %f1, %f0;\n"
            .to_owned();
        for (n, (elements, registers)) in LOADS.into_iter().enumerate() {
            let load = format!("ld{space}.{elements} {{{registers}}}, [{address}];");
            let _ = writeln!(
                body,
                "    {load} mad.lo.u32 %acc, %acc, 31, %r0; mad.lo.u32 %acc, %acc, 31, %r1; and.b32 %r2, %t, 3; mov.u32 %c, 0;
A{n}:
    {load} cvt.u32.u16 %r2, %h0; mad.lo.u32 %acc, %acc, 31, %r0; mad.lo.u32 %acc, %acc, 7, %r1; add.u32 %acc, %acc, %r2;
    cvt.u32.u16 %r2, %h1; mad.lo.u32 %acc, %acc, 3, %r2; cvt.u32.u64 %r2, %d0; xor.b32 %acc, %acc, %r2;
    mov.b32 %r2, %f0; xor.b32 %acc, %acc, %r2; mov.b32 %r2, %f1; add.u32 %acc, %acc, %r2; cvt.u32.u64 %r2, %d1;
    mad.lo.u32 %acc, %acc, 5, %r2; add.u32 %r0, %r0, 1; add.u32 %r1, %r1, 1; add.f32 %f0, %f0, %f1; add.s64 %d0, %d0, %d1;
    and.b32 %r2, %t, 3; add.u32 %c, %c, 1; setp.le.u32 %q, %c, %r2; @%q bra A{n};
    setp.lt.u32 %p, %x, 3; @%p {load} mad.lo.u32 %acc, %acc, 31, %r0; mov.b64 {{%r1, %r1}}, %d0; xor.b32 %acc, %acc, %r1;
    st.global.u32 [%mine+{}], %acc;",
                4 * n
            );
        }
        compare(&format!("{space} {address}"), &module(FIXED, DECLARED, &body), &BLOCKS[..12]);
    }
}

/// What the interpreter does, too: the last element remains, in all memories.
#[test]
fn the_last_of_the_elements_remains() {
    let body = "    st.shared.v4.u32 [memory], {11, 22, 33, 44}; bar.sync 0; mov.u32 %c, 0;
A:
    ld.shared.v2.u32 {%r0, %r0}, [memory]; ld.shared.v4.u32 {%r1, %r2, %r1, %r2}, [memory];
    sub.u32 %r0, %r0, 22; sub.u32 %r1, %r1, 33; sub.u32 %r2, %r2, 44; or.b32 %r0, %r0, %r1; or.b32 %r0, %r0, %r2;
    setp.ne.u32 %p, %r0, 0; @%p trap; add.u32 %c, %c, 1; setp.lt.u32 %q, %c, 3; @%q bra A;
    st.global.u32 [%mine], %r0;
";
    let text = module("", DECLARED, body);
    compare("the last", &text, &BLOCKS[..4]);
    assert!(ends_well(&text));
}
