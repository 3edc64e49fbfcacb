//! Memory that each thread has to itself, at addresses that all threads share: `.local` by generic addresses, and memory
//! that other threads write in between.

use super::{BLOCKS, compare, module};
use std::fmt::Write;

const DECLARED: &str = "    .local .align 16 .b8 own[128]; .shared .align 16 .b8 memory[2048];
    .reg .pred %p<2>, %q; .reg .b16 %h<4>; .reg .b32 %r<10>, %c; .reg .b64 %a<6>, %d<4>; .reg .f32 %f<4>;";

/// Loads from `[%a1]`, of all widths and vectors, where threads have words that begin with their number: what is done
/// with the results.
const LOADS: [&str; 14] = [
    "ld.u32 %r1, [%a1]; mad.lo.u32 %acc, %acc, 31, %r1;",
    "ld.u32 %r1, [%a1+4]; add.u32 %r2, %r1, 3; mul.lo.u32 %r2, %r2, %r1; xor.b32 %acc, %acc, %r2;",
    "ld.f32 %f1, [%a1+8]; add.f32 %f0, %f0, %f1;",
    "ld.u64 %d1, [%a1+8]; cvt.u32.u64 %r1, %d1; xor.b32 %acc, %acc, %r1;",
    "ld.v2.u32 {%r1, %r2}, [%a1]; mad.lo.u32 %acc, %r1, %r2, %acc;",
    "ld.v4.u32 {%r1, %r2, %r3, %r4}, [%a1+16]; mad.lo.u32 %acc, %r1, %r2, %acc; mad.lo.u32 %acc, %r3, %r4, %acc;",
    "ld.v2.u64 {%d1, %d2}, [%a1+32]; add.s64 %d1, %d1, %d2; cvt.u32.u64 %r1, %d1; xor.b32 %acc, %acc, %r1;",
    "ld.u16 %h1, [%a1+2]; cvt.u32.u16 %r1, %h1; add.u32 %acc, %acc, %r1;",
    "ld.s8 %r1, [%a1+5]; add.u32 %acc, %acc, %r1;",
    "ld.v4.u8 {%h0, %h1, %h2, %h3}, [%a1+8]; cvt.u32.u16 %r1, %h2; add.u32 %acc, %acc, %r1;",
    "ld.volatile.u32 %r1, [%a1]; mad.lo.u32 %acc, %acc, 31, %r1;",
    "ld.relaxed.sys.u64 %d1, [%a1]; cvt.u32.u64 %r1, %d1; mad.lo.u32 %acc, %acc, 31, %r1;",
    "ld.u32 %r1, [%a1]; and.b32 %r1, %r1, 255; mul.wide.u32 %d0, %r1, 4; add.s64 %d0, %in, %d0; ld.global.u32 %r2, [%d0]; xor.b32 %acc, %acc, %r2;",
    "ld.u32 %r1, [%a1]; and.b32 %r1, %r1, 3; setp.gt.u32 %p0, %r1, 1; @%p0 add.u32 %acc, %acc, 9; selp.u32 %r2, %r1, 7, %p0; mad.lo.u32 %acc, %acc, 31, %r2;",
];

/// What threads store at `[%a0]`: different values, and values that all have.
const STORES: [&str; 3] = [
    "st.u32 [%a0], %t; st.u32 [%a0+4], %acc; st.v2.u32 [%a0+8], {%x, %y}; st.v4.u32 [%a0+16], {%t, %z, %x, %acc}; st.v2.u64 [%a0+32], {%mine, %out};",
    "st.u32 [%a0], %n0; st.u32 [%a0+4], %n1; st.v2.u32 [%a0+8], {%cta, %n2}; st.v4.u32 [%a0+16], {%n0, %cta, %n3, %n4}; st.v2.u64 [%a0+32], {%in, %out};",
    "st.u32 [%a0], %t; st.u32 [%a0+4], %n1; st.v2.u32 [%a0+8], {%cta, %lane}; st.v4.u32 [%a0+16], {%n0, %t, %n3, %lane}; st.v2.u64 [%a0+32], {%in, %mine};",
];

#[test]
fn values_of_threads_at_one_generic_address_do_the_same_compiled_and_interpreted() {
    for (n, store) in STORES.into_iter().enumerate() {
        for (number, load) in LOADS.into_iter().enumerate() {
            // Once, after a branch of some lanes, in loops, and in loops that lanes leave one by one.
            let bodies = [
                format!("{store} {load} add.u32 %acc, %acc, %n0; {load}"),
                format!("{store} setp.lt.u32 %p1, %x, 5; @%p1 bra A; {load} A: {load} add.u32 %acc, %acc, 1;"),
                format!(
                    "{store} mov.u32 %c, 0; A: {load} st.u32 [%a0], %acc; add.u32 %c, %c, 1; setp.lt.u32 %q, %c, %n0;
                     @%q bra A;"
                ),
                format!(
                    "{store} and.b32 %r8, %t, 3; add.u32 %r8, %r8, 1; mov.u32 %c, 0; A: {load} add.u32 %c, %c, 1;
                     st.u32 [%a0+4], %c; setp.lt.u32 %q, %c, %r8; @%q bra A; {load}"
                ),
            ];
            let mut body =
                "    mov.f32 %f0, 0f3f800000; cvta.local.u64 %a0, own_address; mov.b64 %a1, %a0;\n"
                    .replace("cvta.local.u64 %a0, own_address", "mov.u64 %a0, own; cvta.local.u64 %a0, %a0");
            for (place, one) in bodies.iter().enumerate() {
                let _ = writeln!(
                    body,
                    "    {}",
                    one.replace("A:", &format!("A{place}:")).replace("bra A;", &format!("bra A{place};"))
                );
            }
            body += "    st.global.u32 [%mine], %acc; st.global.f32 [%mine+4], %f0;\n";
            compare(&format!("store {n}, load {number}"), &module("", DECLARED, &body), &BLOCKS[..10]);
        }
    }
}

/// A pointer that means the thread's own memory in one round, memory of all in the next.
#[test]
fn one_generic_address_in_memories_by_turns_does_the_same_compiled_and_interpreted() {
    for load in LOADS {
        let body = format!(
            "    mov.f32 %f0, 0f3f800000; mov.u64 %a0, own; cvta.local.u64 %a0, %a0; {}
    mov.u64 %a2, memory; cvta.shared.u64 %a2, %a2; mov.u32 %c, 0;
ROUND:
    mov.b64 %a1, %a0; setp.ne.u32 %q, %c, 1; @%q bra ONE; mov.b64 %a1, %in;
ONE:
    setp.ne.u32 %q, %c, 2; @%q bra TWO; mov.b64 %a1, %a2;
TWO:
    {load}
    setp.lt.u32 %p1, %c, 5; @%p1 bra OVER; {load}
OVER:
    bar.sync 0; st.u32 [%a2], %c; bar.sync 0;
    add.u32 %c, %c, 1; and.b32 %r9, %c, 3; setp.ne.u32 %q, %r9, 0; @%q bra ROUND;
    setp.lt.u32 %q, %c, 8; @%q bra ROUND;
    st.global.u32 [%mine], %acc; st.global.f32 [%mine+4], %f0;
",
            STORES[0]
        );
        compare(load, &module("", DECLARED, &body), &BLOCKS[..10]);
    }
}

/// Functions with parameters that are pointers to the caller's variables, and with structures.
#[test]
fn pointers_to_variables_of_callers_do_the_same_compiled_and_interpreted() {
    let before = "
.func set(.param .b64 to, .param .b32 value)
{
    .reg .b64 %a; .reg .b32 %r<3>;
    ld.param.u64 %a, [to]; ld.param.u32 %r0, [value]; ld.u32 %r1, [%a]; add.u32 %r1, %r1, %r0; st.u32 [%a], %r1;
    ret;
}
.func (.param .align 8 .b8 back[16]) both(.param .align 8 .b8 of[16])
{
    .reg .b32 %r<4>;
    ld.param.v2.u32 {%r0, %r1}, [of]; ld.param.v2.u32 {%r2, %r3}, [of+8]; add.u32 %r0, %r0, %r3; xor.b32 %r1, %r1, %r2;
    st.param.v2.u32 [back], {%r1, %r0}; st.param.v2.u32 [back+8], {%r3, %r2};
    ret;
}
";
    let body = "
    mov.u64 %a0, own; cvta.local.u64 %a0, %a0; st.u32 [%a0], 1; mov.u32 %c, 0;
ROUND:
    { .param .b64 to; .param .b32 value; st.param.b64 [to], %a0; st.param.b32 [value], %t; call set, (to, value); }
    ld.u32 %r1, [%a0]; mad.lo.u32 %acc, %acc, 31, %r1; add.u32 %r1, %r1, %n0;
    { .param .align 8 .b8 of[16]; .param .align 8 .b8 back[16]; st.param.v2.u32 [of], {%r1, %n1};
      st.param.v2.u32 [of+8], {%cta, %t}; call (back), both, (of); ld.param.v2.u32 {%r2, %r3}, [back];
      ld.param.v2.u32 {%r4, %r5}, [back+8]; }
    mad.lo.u32 %acc, %r2, %r3, %acc; mad.lo.u32 %acc, %r4, %r5, %acc;
    add.u32 %c, %c, 1; setp.lt.u32 %q, %c, %n2; @%q bra ROUND;
    st.global.u32 [%mine], %acc;
";
    compare("calls", &module(before, DECLARED, body), &BLOCKS);
}
