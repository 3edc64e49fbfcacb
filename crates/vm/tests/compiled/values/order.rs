//! Warps run in one order, compiled or not: programs whose instructions depend on what other warps have done count the
//! same.

use super::{BLOCKS, compare, module};
use std::fmt::Write;

const DECLARED: &str =
    "    .shared .align 16 .b8 memory[64]; .reg .pred %p, %q; .reg .b32 %r<6>, %c, %s; .reg .b64 %a<4>;";

/// Lanes that try again until their exchange has succeeded, by what they do between two tries.
#[test]
fn lanes_that_try_again_count_the_same_compiled_and_interpreted() {
    let tries = [
        ("global", "%a0", "", ""),
        ("shared", "%s", "", ""),
        ("global", "%a0", "nanosleep.u32 20;", ""),
        ("shared", "%s", "", "bar.sync 0;"),
        (
            "global",
            "%a0",
            "and.b32 %r4, %t, 1; setp.eq.u32 %p, %r4, 0; @%p add.u32 %acc, %acc, 1;",
            "bar.sync 0;",
        ),
    ];
    for (space, place, between, behind) in tries {
        let mut body = "    mad.wide.u32 %a0, %cta, 4096, %in; mov.u32 %s, memory; st.shared.u32 [%s], %n0;
    st.global.u32 [%a0], %n0; st.shared.u32 [%s+4], %n1; st.global.u32 [%a0+4], %n1; bar.sync 0;\n"
            .to_owned();
        for n in 0..3 {
            let at = 4 * (n % 2);
            let _ = writeln!(
                body,
                "    ld.{space}.u32 %r0, [{place}+{at}]; mov.u32 %c, 0;
A{n}:
    mov.u32 %r1, %r0; add.u32 %r2, %r1, 3; atom.{space}.cas.b32 %r0, [{place}+{at}], %r1, %r2; {between}
    add.u32 %c, %c, 1; setp.ne.u32 %q, %r0, %r1; @%q bra A{n};
    mad.lo.u32 %acc, %acc, 31, %c; xor.b32 %acc, %acc, %r0; {behind}"
            );
        }
        body += "    st.global.u32 [%mine], %acc;\n";
        compare(&format!("{space} {between} {behind}"), &module("", DECLARED, &body), &BLOCKS);
    }
}

/// Warps that take turns by a counter without a barrier, each from what the ones before have left.
#[test]
fn warps_that_see_what_others_have_left_do_the_same_compiled_and_interpreted() {
    let left = [
        "call.uni noted, ();",
        "nanosleep.u32 20;",
        "add.u32 %r3, %x, 0x7ffffff0; mul.wide.s32 %a1, %r3, 4; cvt.u32.u64 %r3, %a1; xor.b32 %acc, %acc, %r3;",
        "setp.lt.u32 %p, %lane, 7; @%p bra OVER; add.u32 %acc, %acc, 5; nanosleep.u32 1; OVER:",
    ];
    for (n, leaves) in left.into_iter().enumerate() {
        let body = format!(
            "    mad.wide.u32 %a0, %cta, 4096, %in; mov.u32 %s, memory; st.shared.u32 [%s], 5; bar.sync 0;
    ld.shared.u32 %r0, [%s]; add.u32 %r1, %r0, %n0; {leaves}
    st.shared.u32 [%s], %r1; ld.shared.u32 %r2, [%s]; mad.lo.u32 %acc, %acc, 31, %r2; add.u32 %r2, %r2, 1;
    st.shared.u32 [%s], %r2; mov.u32 %c, 0;
L:
    add.u32 %c, %c, 1; setp.lt.u32 %q, %c, %r0; @%q bra L;
    bar.sync 0; ld.shared.u32 %r5, [%s]; xor.b32 %acc, %acc, %r5; bar.sync 0;
    ld.shared.u32 %r0, [%s]; add.u32 %r0, %r0, 1; st.shared.u32 [%s], %r0; {}
    mad.lo.u32 %acc, %acc, 31, %r0; st.global.u32 [%mine], %acc; st.global.u32 [%mine+4], %c;
",
            leaves.replace("OVER", "AGAIN")
        );
        let before = ".func noted()\n{\n    .reg .b32 %r0; mov.u32 %r0, 1; ret;\n}";
        compare(&format!("order {n}"), &module(before, DECLARED, &body), &BLOCKS);
    }
}
