//! The machine: divergence, progress, calls, barriers and memory, on small kernels.

use crate::small::*;
use softwarp_vm::device::Launch;
use softwarp_vm::fault::{FaultKind, Problem, Relative, What};
use std::sync::Mutex;

#[test]
fn lanes_part_and_meet_again() {
    // Both sides, then together: the ballot after the join sees all lanes, without naming them.
    let body = "
        and.b32 %r1, %t, 1;
        setp.eq.u32 %p1, %r1, 0;
        @%p1 bra EVEN;
        mul.lo.u32 %r2, %t, 3;
        bra JOIN;
    EVEN:
        add.u32 %r2, %t, 100;
    JOIN:
        activemask.b32 %r3;
        xor.b32 %r2, %r2, %r3;
        st.global.u32 [%o], %r2;";
    let out = run("", body, (1, 64), 64);
    for (t, &word) in out.iter().enumerate() {
        let t = t as u32;
        assert_eq!(!word, if t.is_multiple_of(2) { t + 100 } else { 3 * t }, "thread {t}");
    }
}

#[test]
fn nested_loops_with_other_trip_counts_in_each_lane_give_each_lane_its_own_sum() {
    let body = "
        mov.u32 %r1, 0; mov.u32 %r2, 0;
    OUTER:
        setp.gt.u32 %p1, %r2, %t;
        @%p1 bra DONE;
        mov.u32 %r3, 0;
    INNER:
        setp.ge.u32 %p2, %r3, %r2;
        @%p2 bra NEXT;
        add.u32 %r1, %r1, %r3;
        add.u32 %r3, %r3, 1;
        bra INNER;
    NEXT:
        add.u32 %r2, %r2, 1;
        bra OUTER;
    DONE:
        st.global.u32 [%o], %r1;";
    let out = run("", body, (1, 50), 50);
    for (t, &word) in out.iter().enumerate() {
        let expected: u32 = (0..=t as u32).map(|i| (0..i).sum::<u32>()).sum();
        assert_eq!(word, expected, "thread {t}");
    }
}

#[test]
fn lanes_of_a_warp_take_a_lock_one_after_the_other() {
    // Each lane spins until it has the lock; the holder is at a larger program counter than those that spin.
    let body = "
    SPIN:
        atom.global.cas.b32 %r1, [lock], 0, 1;
        setp.ne.u32 %p1, %r1, 0;
        @%p1 bra SPIN;
        ld.volatile.global.u32 %r2, [count];
        add.u32 %r2, %r2, 1;
        st.volatile.global.u32 [count], %r2;
        membar.gl;
        st.volatile.global.u32 [lock], 0;
        st.global.u32 [%o], %r2;";
    let mut out = run_sorted("  .global .u32 lock; .global .u32 count;", body, (8, 64), 512);
    out.sort_unstable();
    assert_eq!(out, (1..=512).collect::<Vec<u32>>());
}

/// What `k` leaves on two threads, sorted, since the order is not defined.
fn run_sorted(declared: &str, body: &str, shape: (u32, u32), count: usize) -> Vec<u32> {
    let mut device = device(declared, body);
    let (out, result) = launch_on(&mut device, shape, count, |launch| Launch { threads: Some(2), ..launch });
    result.unwrap_or_else(|error| panic!("{error}"));
    let mut words = words(&device, out, count);
    words.sort_unstable();
    words
}

#[test]
fn a_lane_can_wait_for_another_of_its_warp() {
    // Lane 0 spins on a plain flag at a smaller program counter than the lane that sets it.
    let body = "
        setp.ne.u32 %p1, %t, 0;
        @%p1 bra SET;
    WAIT:
        ld.volatile.global.u32 %r1, [flag];
        setp.eq.u32 %p2, %r1, 0;
        @%p2 bra WAIT;
        st.global.u32 [%o], %r1;
        bra END;
    SET:
        setp.ne.u32 %p3, %t, 7;
        @%p3 bra END;
        st.volatile.global.u32 [flag], 55;
    END:";
    assert_eq!(run(".global .u32 flag;", body, (1, 32), 1), [55]);
}

#[test]
fn warps_and_ctas_can_wait_for_later_ones() {
    // All threads wait for the last thread of the grid, which has not begun when the first wait.
    let body = "
        mov.u32 %r1, %nctaid.x; mul.lo.u32 %r1, %r1, %r31; sub.u32 %r1, %r1, 1;
        setp.ne.u32 %p1, %r30, %r1;
        @%p1 bra WAIT;
        st.volatile.global.u32 [flag], 9;
    WAIT:
        ld.volatile.global.u32 %r2, [flag];
        setp.eq.u32 %p2, %r2, 0;
        @%p2 bra WAIT;
        st.global.u32 [%o], %r2;";
    assert_eq!(run(".global .u32 flag;", body, (40, 96), 40 * 96), vec![9; 40 * 96]);
}

#[test]
fn a_barrier_of_the_whole_grid_holds() {
    let body = "
        atom.global.add.u32 %r1, [sum], %r30;
        bar.sync 0;
        setp.ne.u32 %p1, %t, 0;
        @%p1 bra WAIT;
        membar.gl;
        atom.global.add.u32 %r2, [here], 1;
    POLL:
        ld.acquire.gpu.global.u32 %r3, [here];
        mov.u32 %r4, %nctaid.x;
        setp.lt.u32 %p2, %r3, %r4;
        @%p2 bra POLL;
    WAIT:
        bar.sync 0;
        ld.volatile.global.u32 %r5, [sum];
        st.global.u32 [%o], %r5;";
    let total = (0..100 * 64).sum::<u32>();
    assert_eq!(run(".global .u32 sum; .global .u32 here;", body, (100, 64), 6400), vec![total; 6400]);
}

#[test]
fn recursion_has_a_frame_for_every_call_of_every_lane() {
    let declared = "
.func (.param .b32 r) fib(.param .b32 n)
{
    .reg .b32 %a<6>; .reg .pred %q;
    .local .b32 kept;
    ld.param.u32 %a0, [n];
    setp.lt.u32 %q, %a0, 2;
    @%q bra SMALL;
    st.local.u32 [kept], %a0;
    sub.u32 %a1, %a0, 1;
    { .param .b32 x; .param .b32 y; st.param.b32 [x], %a1; call (y), fib, (x); ld.param.b32 %a2, [y]; }
    ld.local.u32 %a3, [kept];
    sub.u32 %a3, %a3, 2;
    { .param .b32 x; .param .b32 y; st.param.b32 [x], %a3; call (y), fib, (x); ld.param.b32 %a4, [y]; }
    add.u32 %a2, %a2, %a4;
    st.param.b32 [r], %a2;
    ret;
SMALL:
    st.param.b32 [r], %a0;
    ret;
}";
    let body = "
        { .param .b32 x; .param .b32 y; st.param.b32 [x], %t; call (y), fib, (x); ld.param.b32 %r1, [y]; }
        st.global.u32 [%o], %r1;";
    let out = run(declared, body, (1, 14), 14);
    assert_eq!(out, [0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233]);
}

#[test]
fn endless_recursion_is_a_stack_overflow() {
    let declared = "
.func f()
{
    .local .b32 kept[64];
    .reg .b32 %a;
    st.local.u32 [kept], 1;
    call f;
    ld.local.u32 %a, [kept];
    st.local.u32 [kept+4], %a;
    ret;
}";
    let (_, _, fault) = fault(declared, "call f;", (1, 32), 32);
    assert_eq!(fault.kind, FaultKind::StackOverflow);
    assert_eq!(fault.place.map(|place| place.function_name), Some("f".into()));
}

#[test]
fn calls_through_pointers_go_where_each_lane_says() {
    let declared = "
.func (.param .b32 r) one(.param .b32 n) { .reg .b32 %a; ld.param.b32 %a, [n]; add.u32 %a, %a, 1; st.param.b32 [r], %a; ret; }
.func (.param .b32 r) two(.param .b32 n) { .reg .b32 %a; ld.param.b32 %a, [n]; mul.lo.u32 %a, %a, 2; st.param.b32 [r], %a; ret; }
.global .u64 table[2] = {one, two};";
    let body = "
    P: .callprototype (.param .b32 _) _ (.param .b32 _);
        and.b32 %r1, %t, 1;
        mul.wide.u32 %d1, %r1, 8;
        mov.u64 %d2, table;
        add.u64 %d1, %d1, %d2;
        ld.global.u64 %d3, [%d1];
        { .param .b32 x; .param .b32 y; st.param.b32 [x], %t; call (y), %d3, (x), P; ld.param.b32 %r2, [y]; }
        st.global.u32 [%o], %r2;";
    let out = run(declared, body, (1, 32), 32);
    assert_eq!(out, (0..32).map(|t| if t % 2 == 0 { t + 1 } else { 2 * t }).collect::<Vec<u32>>());
    let wild = body.replace("ld.global.u64 %d3, [%d1];", "mov.u64 %d3, 24;");
    let (_, _, fault) = fault(declared, &wild, (1, 32), 32);
    assert_eq!(fault.kind, FaultKind::NoFunction(24));
}

#[test]
fn barriers_order_warps_and_reduce() {
    let body = "
        .shared .u32 s[128];
        mov.u32 %r1, s;
        shl.b32 %r2, %t, 2; add.u32 %r2, %r1, %r2;
        st.shared.u32 [%r2], %t;
        bar.sync 0;
        xor.b32 %r3, %t, 127; shl.b32 %r3, %r3, 2; add.u32 %r3, %r1, %r3;
        ld.shared.u32 %r4, [%r3];
        setp.lt.u32 %p1, %t, 40;
        bar.red.popc.u32 %r5, 1, %p1;
        bar.red.and.pred %p2, 1, %p1;
        bar.red.or.pred %p3, 1, !%p1;
        selp.u32 %r6, 1000, 0, %p2; selp.u32 %r7, 10000, 0, %p3;
        mad.lo.u32 %r4, %r5, 100000, %r4; add.u32 %r4, %r4, %r6; add.u32 %r4, %r4, %r7;
        st.global.u32 [%o], %r4;";
    let out = run("", body, (2, 128), 256);
    let expected = |t: u32| 40 * 100_000 + 10_000 + (127 - t);
    assert_eq!(out, (0..256).map(|i| expected(i % 128)).collect::<Vec<u32>>());
}

#[test]
fn producers_arrive_and_consumers_wait() {
    // Warp 0 writes and goes on; warp 1 waits for both. The other barrier holds the producer back in turn.
    let body = "
        .shared .u32 s[32];
        mov.u32 %r1, s; and.b32 %r2, %t, 31; shl.b32 %r2, %r2, 2; add.u32 %r1, %r1, %r2;
        mov.u32 %r3, 0; mov.u32 %r4, 0;
        setp.ge.u32 %p1, %t, 32;
        @%p1 bra CONSUMER;
    PRODUCER:
        bar.sync 2, 64;
        add.u32 %r3, %r3, 1;
        st.shared.u32 [%r1], %r3;
        bar.arrive 1, 64;
        setp.lt.u32 %p2, %r3, 10;
        @%p2 bra PRODUCER;
        bra END;
    CONSUMER:
        bar.arrive 2, 64;
        bar.sync 1, 64;
        ld.shared.u32 %r5, [%r1];
        add.u32 %r4, %r4, %r5;
        add.u32 %r3, %r3, 1;
        setp.lt.u32 %p2, %r3, 10;
        @%p2 bra CONSUMER;
    END:
        st.global.u32 [%o], %r4;";
    let out = run("", body, (1, 64), 64);
    assert_eq!(out[..32], [0; 32]);
    assert_eq!(out[32..], [55; 32]);
}

#[test]
fn lanes_that_have_exited_count_as_arrived() {
    let body = "
        setp.lt.u32 %p1, %t, 40;
        @%p1 bra STAY;
        exit;
    STAY:
        bar.sync 0;
        st.global.u32 [%o], 7;";
    let out = run("", body, (1, 96), 96);
    assert_eq!(out[..40], [7; 40]);
    assert_eq!(out[40..], [0; 56]);
}

#[test]
fn threads_come_to_a_barrier_one_by_one_where_it_is_not_aligned() {
    // The halves of the warp come by different ways, each to a barrier of its own.
    let body = "
        setp.lt.u32 %p1, %t, 16;
        @%p1 bra LOW;
        barrier.sync 0;
        mov.u32 %r1, 2;
        bra END;
    LOW:
        barrier.sync 0;
        mov.u32 %r1, 1;
    END:
        st.global.u32 [%o], %r1;";
    let out = run("", body, (1, 32), 32);
    assert_eq!(out, (0..32).map(|t| if t < 16 { 1 } else { 2 }).collect::<Vec<u32>>());
}

#[test]
fn a_barrier_that_cannot_complete_is_a_deadlock_that_names_the_waiting_threads() {
    let body = "
        setp.ge.u32 %p1, %t, 32;
        @%p1 bra OTHER;
        bar.sync 3, 64;
        bra END;
    OTHER:
        bar.sync 4, 64;
    END:";
    let (device, _, fault) = fault("", body, (1, 64), 64);
    let FaultKind::Deadlock(waiting) = &fault.kind else { panic!("{fault}") };
    let who: Vec<_> = waiting.iter().map(|w| (w.place.warp, w.barrier, w.arrived, w.expected)).collect();
    assert_eq!(who, [(0, Some(3), 32, 64), (1, Some(4), 32, 64)]);
    assert!(text(&device, &fault).starts_with("bar.sync 3"));
}

#[test]
fn there_are_sixteen_barriers_and_counts_are_whole_warps() {
    let (_, _, none) = fault("", "mov.u32 %r1, 16; bar.sync %r1;", (1, 32), 32);
    assert_eq!(none.kind, FaultKind::NoBarrier(16));
    let (_, _, count) = fault("", "mov.u32 %r1, 33; bar.sync 0, %r1;", (1, 64), 64);
    assert_eq!(count.kind, FaultKind::BarrierCount(33));
}

#[test]
fn lanes_named_by_a_mask_wait_for_one_another_wherever_they_are() {
    // The halves come to the shuffle by different ways and at different times.
    let body = "
        setp.lt.u32 %p1, %t, 16;
        @%p1 bra LOW;
        add.u32 %r1, %t, 100;
        shfl.sync.bfly.b32 %r2, %r1, 16, 31, -1;
        bra END;
    LOW:
        add.u32 %r1, %t, 200;
        shfl.sync.bfly.b32 %r2, %r1, 16, 31, -1;
    END:
        st.global.u32 [%o], %r2;";
    let out = run("", body, (1, 32), 32);
    assert_eq!(out, (0..32).map(|t| (t ^ 16) + if t < 16 { 100 } else { 200 }).collect::<Vec<u32>>());
}

#[test]
fn lanes_with_masks_of_their_own_form_groups() {
    let body = "
        and.b32 %r1, %t, 3;
        match.any.sync.b32 %r2, %r1, -1;
        redux.sync.add.u32 %r3, %t, %r2;
        st.global.u32 [%o], %r3;";
    let out = run("", body, (1, 32), 32);
    let sum = |group: u32| (0..32).filter(|t| t % 4 == group).sum::<u32>();
    assert_eq!(out, (0..32).map(|t| sum(t % 4)).collect::<Vec<u32>>());
}

#[test]
fn atomics_give_every_thread_another_value() {
    let body = "
        .shared .u32 s;
        setp.ne.u32 %p1, %t, 0;
        @!%p1 st.shared.u32 [s], 0;
        bar.sync 0;
        atom.shared.inc.u32 %r1, [s], 100000;
        atom.global.add.u32 %r2, [total], 1;
        st.global.u32 [%o], %r2;
        bar.sync 0;
        ld.shared.u32 %r3, [s];
        setp.ne.u32 %p2, %r3, 256;
        @%p2 trap;";
    let out = run_sorted(".global .u32 total;", body, (16, 256), 4096);
    assert_eq!(out, (0..4096).collect::<Vec<u32>>());
}

#[test]
fn an_exchange_of_128_bits_is_whole() {
    // Every thread puts a pair of equal halves there; what comes back is always such a pair.
    let body = "
        .reg .b128 %q<3>;
        cvt.u64.u32 %d1, %r30;
        mov.b128 %q1, {%d1, %d1};
        mov.u32 %r1, 0;
    AGAIN:
        atom.global.exch.b128 %q2, [cell], %q1;
        mov.b128 {%d2, %d3}, %q2;
        setp.ne.u64 %p1, %d2, %d3;
        @%p1 trap;
        add.u32 %r1, %r1, 1;
        setp.lt.u32 %p2, %r1, 50;
        @%p2 bra AGAIN;";
    run(".global .align 16 .b8 cell[16];", body, (8, 64), 512);
}

#[test]
fn loads_of_all_shapes_read_what_is_there() {
    // Coalesced, uniform, strided, reversed, under a mask, of all widths.
    let declared = ".global .align 16 .b8 data[4096];";
    let body = "
        mov.u64 %d1, data;
        mad.wide.u32 %d2, %t, 4, %d1; ld.global.u32 %r1, [%d2+4];
        ld.global.u32 %r2, [data+40];
        mad.wide.u32 %d3, %t, 12, %d1; ld.global.u32 %r3, [%d3];
        xor.b32 %r4, %t, 31; mad.wide.u32 %d4, %r4, 8, %d1; ld.global.u64 %d5, [%d4]; cvt.u32.u64 %r5, %d5;
        setp.gt.u32 %p1, %t, 20; mov.u32 %r6, 0; @%p1 ld.global.u32 %r6, [%d2];
        cvt.u64.u32 %d6, %t; add.u64 %d6, %d6, %d1; ld.global.u8 %r7, [%d6];
        mad.wide.u32 %d7, %t, 2, %d1; ld.global.s16 %r8, [%d7+2];
        mad.wide.u32 %d8, %t, 16, %d1; ld.global.v4.u32 {%r9, _, %r10, %r11}, [%d8];
        xor.b32 %r1, %r1, %r2; xor.b32 %r1, %r1, %r3; xor.b32 %r1, %r1, %r5; xor.b32 %r1, %r1, %r6;
        xor.b32 %r1, %r1, %r7; xor.b32 %r1, %r1, %r8; xor.b32 %r1, %r1, %r9; xor.b32 %r1, %r1, %r10;
        xor.b32 %r1, %r1, %r11;
        st.global.u32 [%o], %r1;";
    let data: Vec<u8> = (0..4096u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let mut device = device(declared, body);
    device.write_variable("data", &data).expect("fits");
    let (out, result) = launch_on(&mut device, (1, 32), 32, |launch| launch);
    result.expect("no fault");
    let word = |at: usize| u32::from_le_bytes([data[at], data[at + 1], data[at + 2], data[at + 3]]);
    let half = |at: usize| i32::from(i16::from_le_bytes([data[at], data[at + 1]])) as u32;
    for (t, &got) in words(&device, out, 32).iter().enumerate() {
        let masked = if t > 20 { word(4 * t) } else { 0 };
        let vector = word(16 * t) ^ word(16 * t + 8) ^ word(16 * t + 12);
        let expected = word(4 * t + 4) ^ word(40) ^ word(12 * t) ^ word(8 * (t ^ 31)) ^ masked;
        assert_eq!(got, expected ^ u32::from(data[t]) ^ half(2 * t + 2) ^ vector, "thread {t}");
    }
}

#[test]
fn generic_addresses_of_several_spaces_in_one_instruction() {
    let declared = ".global .u32 g = 11; .const .u32 c = 22;";
    let body = "
        .shared .u32 s; .local .u32 l;
        st.shared.u32 [s], 33; add.u32 %r1, %t, 44; st.local.u32 [l], %r1;
        bar.sync 0;
        and.b32 %r2, %t, 3;
        mov.u64 %d1, g; cvta.global.u64 %d1, %d1;
        mov.u64 %d2, c; cvta.const.u64 %d2, %d2;
        mov.u64 %d3, s; cvta.shared.u64 %d3, %d3;
        mov.u64 %d4, l; cvta.local.u64 %d4, %d4;
        setp.eq.u32 %p1, %r2, 1; @%p1 mov.u64 %d1, %d2;
        setp.eq.u32 %p1, %r2, 2; @%p1 mov.u64 %d1, %d3;
        setp.eq.u32 %p1, %r2, 3; @%p1 mov.u64 %d1, %d4;
        ld.u32 %r3, [%d1];
        st.global.u32 [%o], %r3;";
    let out = run(declared, body, (1, 32), 32);
    let expected = (0..32).map(|t| [11, 22, 33, t + 44][t as usize % 4]);
    assert_eq!(out, expected.collect::<Vec<u32>>());
}

#[test]
fn kernels_print_allocate_and_assert() {
    let declared = "
.extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);
.extern .func (.param .b64 r) malloc(.param .b64 n);
.extern .func free(.param .b64 p);
.extern .func __assertfail(.param .b64 m, .param .b64 f, .param .b32 l, .param .b64 n, .param .b64 c);
.global .align 1 .b8 fmt[] = {116, 37, 100, 58, 37, 115, 58, 37, 46, 49, 102, 10, 0};
.global .align 1 .b8 str[] = {104, 105, 0};";
    let print = "
        .local .align 8 .b8 buf[24];
        setp.ne.u32 %p1, %t, 1;
        @%p1 bra NOT;
        st.local.u32 [buf], %t;
        mov.u64 %d1, str; cvta.global.u64 %d1, %d1; st.local.u64 [buf+8], %d1;
        mov.b64 %d2, 0d3FF8000000000000; st.local.b64 [buf+16], %d2;
        mov.u64 %d3, fmt; cvta.global.u64 %d3, %d3;
        mov.u64 %d4, buf; cvta.local.u64 %d4, %d4;
        { .param .b64 f; .param .b64 a; .param .b32 r; st.param.b64 [f], %d3; st.param.b64 [a], %d4;
          call (r), vprintf, (f, a); ld.param.b32 %r1, [r]; }
        st.global.u32 [%out], %r1;
    NOT:
        { .param .b64 n; .param .b64 r; st.param.b64 [n], 8; call (r), malloc, (n); ld.param.b64 %d5, [r]; }
        st.u32 [%d5+4], %t;
        ld.u32 %r2, [%d5+4];
        setp.ne.u32 %p2, %r2, %t; @%p2 trap;";
    let free = "{ .param .b64 q; st.param.b64 [q], %d5; call free, (q); }";
    let printed = Mutex::new(String::new());
    let with_free = device(declared, &format!("{print}{free}"));
    let out = with_free.allocate(4).expect("memory");
    let arguments = [out.to_le_bytes().to_vec()];
    let take = |text: &str| printed.lock().expect("no panic").push_str(text);
    let launch = Launch { print: Some(&take), ..Launch::new("k", [1, 1, 1], [64, 1, 1], &arguments) };
    with_free.launch(&launch).expect("no fault");
    assert_eq!(*printed.lock().expect("no panic"), "t1:hi:1.5\n");
    assert_eq!(words(&with_free, out, 1), [3]);
    let past = fault(declared, &format!("{print} st.u32 [%d5+8], 1;"), (1, 32), 1).2;
    let nearest = bad(&past).nearest.clone().expect("the block");
    assert_eq!((nearest.what, nearest.bytes, nearest.at), (What::Heap, 8, Relative::After(0)));
    let after = fault(declared, &format!("{print}{free} st.u32 [%d5], 1;"), (1, 32), 1).2;
    assert_eq!(bad(&after).problem, Problem::Freed);
    let twice = fault(declared, &format!("{print}{free}{free}"), (1, 32), 1).2;
    assert!(matches!(twice.kind, FaultKind::BadFree(_)), "{twice}");
    let assertion = "
        mov.u64 %d1, str; cvta.global.u64 %d1, %d1;
        { .param .b64 m; .param .b64 f; .param .b32 l; .param .b64 n; .param .b64 c;
          st.param.b64 [m], %d1; st.param.b64 [f], %d1; st.param.b32 [l], 77; st.param.b64 [n], %d1; st.param.b64 [c], 1;
          call __assertfail, (m, f, l, n, c); }";
    let failed = fault(declared, assertion, (1, 32), 1).2;
    let (message, file, function) = ("hi".to_owned(), "hi".to_owned(), "hi".to_owned());
    assert_eq!(failed.kind, FaultKind::Assert { message, file, line: 77, function });
}

#[test]
fn stack_memory_is_taken_and_given_back() {
    let body = "
        add.u32 %r1, %t, 1; cvt.u64.u32 %d1, %r1; shl.b64 %d1, %d1, 2;
        alloca.u64 %d2, %d1;
        mad.wide.u32 %d3, %t, 4, %d2;
        st.local.u32 [%d3], %t;
        alloca.u64 %d4, 64;
        st.local.u32 [%d4], 5;
        ld.local.u32 %r2, [%d3];
        st.global.u32 [%o], %r2;";
    assert_eq!(run("", body, (1, 40), 40), (0..40).collect::<Vec<u32>>());
    let (_, _, huge) = fault("", "alloca.u64 %d1, 100000000;", (1, 32), 32);
    assert_eq!(huge.kind, FaultKind::StackOverflow);
}
