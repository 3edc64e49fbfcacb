//! What is left out of a plan changes nothing: copies, rows that a launch gives, accesses found again.

use crate::small::*;
use softwarp_vm::fault::Problem;

#[test]
fn copies_are_of_what_was_there_when_they_were_made() {
    // A swap in a loop, a copy that only some lanes make, and one of a register that is written again.
    let body = "
        mov.u32 %r1, 1; mov.u32 %r2, 2; mov.u32 %r5, 0;
    L:  mov.u32 %r3, %r1;
        mov.u32 %r1, %r2;
        mov.u32 %r2, %r3;
        add.u32 %r5, %r5, 1;
        setp.lt.u32 %p1, %r5, 7;
        @%p1 bra L;
        mov.u32 %r6, %t;
        setp.gt.u32 %p2, %t, 3;
        @%p2 mov.u32 %r6, %r1;
        mov.u32 %r7, %r6;
        add.u32 %r6, %r6, 100;
        mad.lo.u32 %r8, %r7, 1000, %r6;
        mad.lo.u32 %r8, %r2, 100000, %r8;
        st.global.u32 [%o], %r8;";
    let expected = |t: u32| if t > 3 { 102_102 } else { 100_100 + 1001 * t };
    let out = run("", body, (1, 40), 40);
    assert_eq!(out, (0..40).map(expected).collect::<Vec<u32>>());
}

#[test]
fn loops_end_for_each_lane_where_its_own_comparison_says() {
    // An addition, a comparison and a branch, in each width, sign and sense; some lanes leave before others.
    for (ty, register, operator, limit, step, start) in [
        ("u32", "%r1", "lt", "17", "1", "0"),
        ("s32", "%r1", "ne", "0", "-1", "17"),
        ("s32", "%r1", "gt", "-17", "-1", "0"),
        ("u32", "%r1", "ls", "16", "1", "0"),
        ("u64", "%d1", "lo", "17", "1", "0"),
        ("s64", "%d1", "ge", "-16", "-1", "0"),
    ] {
        let body = format!(
            "mov.b{bits} {register}, {start}; mov.u32 %r2, 0;
        L:  add.u32 %r2, %r2, %t;
            add.{ty} {register}, {register}, {step};
            setp.{operator}.{ty} %p1, {register}, {limit};
            @%p1 bra L;
            mov.u32 %r3, 0;
        M:  add.u32 %r3, %r3, 1;
            setp.le.u32 %p2, %r3, %t;
            @!%p2 bra OUT;
            bra M;
        OUT:
            mad.lo.u32 %r2, %r2, 1000, %r3;
            st.global.u32 [%o], %r2;",
            bits = &ty[1..],
        );
        let out = run("", &body, (2, 40), 80);
        let expected = |thread: u32| 17 * (thread % 40) * 1000 + thread % 40 + 1;
        assert_eq!(out, (0..80).map(expected).collect::<Vec<u32>>(), "{ty} {operator}");
    }
}

#[test]
fn registers_that_are_not_written_are_zero_in_every_cta() {
    // Each thread of each CTA reads a register that only the odd ones wrote, and one that is written later.
    let body = "
        and.b32 %r1, %t, 1;
        setp.eq.u32 %p1, %r1, 1;
        @%p1 mov.u32 %r2, 7;
        add.u32 %r3, %r2, %r4;
        st.global.u32 [%o], %r3;
        mov.u32 %r4, 1000;
        st.shared.u32 [scratch], %r4;";
    let out = run(".shared .u32 scratch;", body, (20, 64), 20 * 64);
    assert!(out.iter().zip(0..).all(|(&word, t)| word == 7 * (t % 2)), "{out:?}");
}

#[test]
fn what_a_launch_gives_is_each_threads_own() {
    let body = "
        mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %nctaid.x; mov.u32 %r4, %laneid;
        setp.gt.u32 %p1, %t, 40;
        @%p1 mov.u32 %r4, %warpid;
        mad.lo.u32 %r5, %r1, %r2, %r3;
        mad.lo.u32 %r5, %r5, 100, %r4;
        st.global.u32 [%o], %r5;";
    let out = run("", body, (9, 64), 9 * 64);
    for (index, &word) in (0..).zip(&out) {
        let (cta, t) = (index / 64, index % 64);
        assert_eq!(word, (64 * cta + 9) * 100 + if t > 40 { 1 } else { t % 32 }, "{cta} {t}");
    }
}

#[test]
fn an_access_is_found_again_only_where_its_own_state_space_has_it() {
    // The same instruction with another allocation each time, and with addresses in halves, rows and anywhere.
    let body = "
        mov.u64 %d1, table; mov.u32 %r1, 0; mov.u32 %r2, 0;
    L:  setp.eq.u32 %p1, %r1, 1;
        selp.b64 %d2, %d1, %out, %p1;
        and.b32 %r3, %t, 15;
        setp.eq.u32 %p2, %r1, 2;
        @%p2 mul.lo.u32 %r3, %t, 2;
        mad.wide.u32 %d3, %r3, 4, %d2;
        ld.global.u32 %r4, [%d3];
        add.u32 %r2, %r2, %r4;
        add.u32 %r1, %r1, 1;
        setp.lt.u32 %p3, %r1, 4;
        @%p3 bra L;
        bar.sync 0;
        st.global.u32 [%o], %r2;";
    let table: Vec<String> = (0..32).map(|n| (10 * n).to_string()).collect();
    let table = format!(".global .u32 table[32] = {{{}}};", table.join(", "));
    let out = run(&table, body, (1, 32), 64);
    assert_eq!(out[..32], (0..32).map(|t| 10 * (t % 16)).collect::<Vec<u32>>());
    // What is an address in `.shared` is none in `.global`, however often the one was used before.
    let accesses: String = (0..20).map(|_| "st.shared.u32 [%r1], %t; ld.shared.u32 %r2, [%r1];\n").collect();
    let body = format!(
        "mov.u32 %r1, mine; mad.lo.u32 %r1, %t, 4, %r1; {accesses} cvt.u64.u32 %d1, %r1;
         ld.global.u32 %r2, [%d1]; st.global.u32 [%o], %r2;"
    );
    let (device, _, fault) = fault(".shared .u32 mine[32];", &body, (1, 32), 32);
    assert_eq!(bad(&fault).problem, Problem::OutOfBounds);
    assert_eq!(text(&device, &fault), "ld.global.u32 %r2, [%d1];");
}
