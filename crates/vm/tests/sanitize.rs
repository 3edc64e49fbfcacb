//! What the sanitizers find, and what they do not.

use crate::sanitized::*;
use softwarp_vm::device::{Device, Launch, LaunchError, LoadOptions};
use softwarp_vm::fault::{FaultKind, Problem, Use, What};
use softwarp_vm::sanitize::{FindingKind, Missing, NotLookedAt, Sanitize};

/// The text of a kernel from `bugs/`.
macro_rules! bug {
    ($name:literal) => {
        include_str!(concat!("bugs/", $name, ".ptx"))
    };
}

/// A race between threads of a CTA.
fn race(first: Use, second: Use, missing: Missing) -> FindingKind {
    FindingKind::Race { first, second, across: false, missing }
}

/// The instruction of a site.
fn text<'a>(source: &'a str, site: &softwarp_vm::sanitize::Site) -> &'a str {
    site.place.span.text(source).trim().trim_end_matches(';')
}

const IN_OUT: &[Buffer] = &[(1024, false), (1024, true)];
const OUT: &[Buffer] = &[(1024, true)];

#[test]
fn planted_bugs_are_found_with_the_sanitizer_for_them() {
    let (found, fault) =
        launch(bug!("init_global"), 1, 64, IN_OUT, Sanitize { init: true, ..Sanitize::default() });
    assert_eq!((found.len(), fault), (1, None));
    assert_eq!(found[0].kind, FindingKind::Uninitialised);
    assert_eq!((found[0].at.place.cta, found[0].at.place.thread, found[0].count), ([0; 3], [0; 3], 64));
    assert_eq!(text(bug!("init_global"), &found[0].at), "ld.global.u32 %v, [%b]");
    let touched = found[0].touched.as_ref().unwrap();
    assert_eq!(touched.bytes, 4);
    assert_eq!(touched.nearest.as_ref().unwrap().what, What::Allocation);

    let (found, fault) = launch(bug!("race_raw"), 1, 64, OUT, Sanitize { race: true, ..Sanitize::default() });
    assert_eq!((found.len(), fault), (1, None), "{found:#?}");
    let FindingKind::Race { across: false, .. } = found[0].kind else { panic!("{found:?}") };
    let other = found[0].other.as_ref().unwrap();
    let mut both = [text(bug!("race_raw"), &found[0].at), text(bug!("race_raw"), other)];
    both.sort();
    assert_eq!(both, ["ld.shared.u32 %x, [%w]", "st.shared.u32 [%v], %t"]);
    assert_ne!(found[0].at.place.thread, other.place.thread);
    assert_eq!(
        found[0].touched.as_ref().unwrap().nearest.as_ref().unwrap().what,
        What::Variable("s".to_owned())
    );

    let (found, fault) =
        launch(bug!("sync_half_warp"), 1, 32, OUT, Sanitize { sync: true, ..Sanitize::default() });
    assert_eq!((found.len(), fault), (1, None));
    let divergent = FindingKind::DivergentBarrier { barrier: 0, warp: 0, came: 0xffff, missing: 0xffff_0000 };
    assert_eq!(found[0].kind, divergent);
    assert_eq!(text(bug!("sync_half_warp"), &found[0].at), "bar.sync 0");
    assert_eq!(found[0].other.as_ref().unwrap().place.thread, [16, 0, 0]);
}

#[test]
fn correct_kernels_have_no_findings() {
    for (name, source, buffers) in [
        ("init_written_ok", bug!("init_written_ok"), IN_OUT),
        ("mem_ok", bug!("mem_ok"), OUT),
        ("race_ok", bug!("race_ok"), OUT),
        ("sync_ok", bug!("sync_ok"), OUT),
    ] {
        let (found, fault) = launch(source, 1, 64, buffers, Sanitize::ALL);
        assert_eq!((found.as_slice(), fault), ([].as_slice(), None), "{name}");
    }
}

#[test]
fn bad_accesses_are_faults_also_without_sanitizers() {
    for (source, bytes) in [(bug!("mem_global_write_past"), 256), (bug!("mem_misaligned_u32"), 1024)] {
        for sanitize in [Sanitize::default(), Sanitize::ALL] {
            let (found, fault) = launch(source, 1, 64, &[(bytes, true)], sanitize);
            assert!(found.is_empty() && matches!(fault, Some(FaultKind::Access(_))), "{fault:?}");
        }
    }
}

#[test]
fn what_was_freed_is_a_fault_also_without_sanitizers() {
    for sanitize in [Sanitize::default(), Sanitize::ALL] {
        let device = Device::load(&[bug!("mem_freed")], LoadOptions::default()).unwrap();
        let [out, keep] = [1024, 64].map(|bytes| device.allocate(bytes).unwrap());
        device.free(out).unwrap();
        let arguments = [out.to_le_bytes().to_vec(), keep.to_le_bytes().to_vec()];
        let launch = Launch { sanitize, ..Launch::new("k", [1; 3], [64, 1, 1], &arguments) };
        let Err(LaunchError::Fault(fault)) = device.launch(&launch) else { panic!("it ran") };
        let FaultKind::Access(bad) = &fault.kind else { panic!("{fault}") };
        assert_eq!(bad.problem, Problem::Freed);
    }
}

#[test]
fn nothing_is_found_by_a_sanitizer_that_is_off() {
    for (source, buffers, off) in [
        (bug!("init_global"), IN_OUT, Sanitize { init: false, ..Sanitize::ALL }),
        // What it reads too early is not written yet, either.
        (bug!("race_raw"), OUT, Sanitize { sync: true, ..Sanitize::default() }),
        (bug!("sync_half_warp"), OUT, Sanitize { sync: false, ..Sanitize::ALL }),
    ] {
        assert_eq!(launch(source, 1, 64, buffers, off).0, []);
    }
}

#[test]
fn a_buffer_is_initialised_by_the_host_or_by_an_earlier_launch() {
    let mut device = Device::load(&[bug!("init_global")], LoadOptions::default()).unwrap();
    let [input, output] = [0; 2].map(|_| device.allocate_uninitialised(256).unwrap());
    let forth = [input.to_le_bytes().to_vec(), output.to_le_bytes().to_vec()];
    let back = [output.to_le_bytes().to_vec(), input.to_le_bytes().to_vec()];
    let count = |device: &mut Device, arguments: &[Vec<u8>]| {
        let launch = Launch { sanitize: Sanitize::ALL, ..Launch::new("k", [1; 3], [64, 1, 1], arguments) };
        device.launch(&launch).unwrap().findings.first().map_or(0, |finding| finding.count)
    };
    device.write(input, &[1; 200]).unwrap();
    assert_eq!(count(&mut device, &forth), 14, "the last 56 bytes are not written");
    assert_eq!(count(&mut device, &back), 0, "the launch before wrote all of it");
    assert_eq!(count(&mut device, &forth), 0);
}

#[test]
fn shared_and_local_memory_begin_unwritten_in_every_cta_and_call() {
    let body = "mov.u32 %s, s; mad.lo.u32 %s, %t, 4, %s;
        setp.lt.u32 %p1, %t, 48; @%p1 st.shared.u32 [%s], %t; ld.shared.u32 %r1, [%s]; st.global.u32 [%o], %r1;";
    let found = found_on(SHARED, body, 3, 64);
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!((&found[0].kind, found[0].count), (&FindingKind::Uninitialised, 3 * 16));
    assert_eq!(found[0].at.place.thread, [48, 0, 0]);

    let local = ".func (.reg .b32 %v) f(.reg .b32 %w) { .local .align 4 .b32 x; .reg .pred %p;
        setp.eq.u32 %p, %w, 0; @%p st.local.u32 [x], %w; ld.local.u32 %v, [x]; ret; }";
    let calls = "call (%r1), f, (0); call (%r2), f, (1); st.global.u32 [%o], %r2;";
    let found = found_on(local, calls, 1, 32);
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!(found[0].count, 32, "the second call only: {found:#?}");
    let touched = found[0].touched.as_ref().unwrap();
    assert_eq!(touched.nearest.as_ref().unwrap().what, What::Variable("x".to_owned()));
}

#[test]
fn memory_from_malloc_begins_unwritten_also_when_it_was_used_before() {
    let malloc = ".extern .func (.param .b64 r) malloc(.param .b64 n);\n.extern .func free(.param .b64 p);";
    let take = "{ .param .b64 n; .param .b64 r; st.param.b64 [n], 16; call (r), malloc, (n); ld.param.b64 %d1, [r]; }";
    let give = "{ .param .b64 p; st.param.b64 [p], %d1; call free, (p); }";
    let body = format!("{take} st.u32 [%d1], %t; ld.u32 %r1, [%d1]; {give} {take} ld.u32 %r1, [%d1]; {give}");
    let found = found_on(malloc, &body, 1, 1);
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!(found[0].touched.as_ref().unwrap().nearest.as_ref().unwrap().what, What::Heap);
}

/// The address of the thread's word of `s` in `%s`.
const OWN_WORD: &str = "mov.u32 %r9, s; mad.lo.u32 %s, %t, 4, %r9;";

#[test]
fn lanes_of_a_warp_race_without_a_barrier_of_the_warp() {
    let body = |between: &str| {
        format!(
            "{OWN_WORD} st.shared.u32 [%s], %t; {between} xor.b32 %r1, %t, 1; mad.lo.u32 %r1, %r1, 4, %r9;
            ld.shared.u32 %r2, [%r1]; st.global.u32 [%o], %r2;"
        )
    };
    let racy = found(SHARED, &body(""));
    assert_eq!(racy.len(), 1, "{racy:#?}");
    let expected = race(Use::Write, Use::Read, Missing::WarpBarrier);
    assert_eq!((&racy[0].kind, racy[0].count), (&expected, 64));
    assert_eq!(found(SHARED, &body("bar.warp.sync -1;")), []);
    assert_eq!(found(SHARED, &body("bar.sync 0;")), []);
}

#[test]
fn atomic_operations_and_equal_values_do_not_race() {
    assert_eq!(found(SHARED, "mov.u32 %r1, 7; st.shared.u32 [s], %r1;"), []);
    assert_eq!(
        found(SHARED, "mov.u32 %r1, 7; st.shared.u32 [s], %r1; bar.sync 0; red.shared.add.u32 [s], 1;"),
        []
    );
    let different = found(SHARED, "st.shared.u32 [s], %t;");
    assert_eq!(different.len(), 1);
    assert_eq!(different[0].kind, race(Use::Write, Use::Write, Missing::WarpBarrier));
    let mixed = found(
        SHARED,
        "setp.eq.u32 %p1, %t, 0; @%p1 st.shared.u32 [s], 5; setp.eq.u32 %p1, %t, 63; @%p1 red.shared.add.u32 [s], 1;",
    );
    assert_eq!(mixed.len(), 1, "{mixed:#?}");
    assert_eq!(mixed[0].kind, race(Use::Write, Use::Atomic, Missing::Everything));
}

#[test]
fn a_barrier_for_some_warps_orders_only_these() {
    // Warp 0 produces, warp 1 waits for it, warp 2 does not.
    let body = |third: &str| {
        format!(
            "setp.ge.u32 %p1, %t, 32; @%p1 bra others;
            st.shared.u32 [s+4], %t; bar.arrive 1, 64; bra done;
            others: setp.ge.u32 %p1, %t, 64; @%p1 bra third;
            bar.sync 1, 64; ld.shared.u32 %r1, [s+4]; bra done;
            third: {third}
            done:"
        )
    };
    // All lanes of warp 0 write the same.
    let body = |third: &str| body(third).replace("st.shared.u32 [s+4], %t", "st.shared.u32 [s+4], 1");
    assert_eq!(found_on(SHARED, &body(""), 1, 96), []);
    let racy = found_on(SHARED, &body("ld.shared.u32 %r2, [s+4];"), 1, 96);
    assert_eq!(racy.len(), 1, "{racy:#?}");
    assert_eq!(racy[0].at.place.warp, 2);
}

/// Two CTAs of one thread: the first writes `out[1024]` and sets the flag `out[2048]` with `set`, the second waits for it
/// with `get` into `%r1`, and then reads what the first wrote. What is found, in words.
fn message(set: &str, get: &str) -> Vec<String> {
    let body = format!(
        "setp.eq.u32 %p1, %c, 0; @!%p1 bra wait; st.global.u32 [%out+4096], 5; {set} ret;
        wait: {get} setp.eq.u32 %p2, %r1, 0; @%p2 bra wait; {} ld.global.u32 %r2, [%out+4096];",
        if get.contains("relaxed") || get.contains("volatile") { "fence.acq_rel.gpu;" } else { "" }
    );
    found_on("", &body, 2, 1).iter().map(ToString::to_string).collect()
}

#[test]
fn a_flag_orders_ctas_if_it_is_released_and_acquired_with_scopes_that_include_both() {
    let racy = found_on(
        "",
        "st.global.u32 [%o], %t; xor.b32 %r1, %c, 1; mad.lo.u32 %r1, %r1, %r31, %t; mad.wide.u32 %d1, %r1, 4, %out;
        ld.global.u32 %r2, [%d1];",
        2,
        32,
    );
    assert_eq!(racy.len(), 1, "{racy:#?}");
    assert!(matches!(racy[0].kind, FindingKind::Race { across: true, .. }));
    let other_cta = racy[0].other.as_ref().unwrap().place.cta;
    assert_eq!([other_cta[0], racy[0].at.place.cta[0]], [0, 1]);

    let get = "ld.acquire.gpu.global.u32 %r1, [%out+8192];";
    for set in [
        "st.release.gpu.global.u32 [%out+8192], 1;",
        "fence.acq_rel.gpu; st.relaxed.gpu.global.u32 [%out+8192], 1;",
        "membar.gl; st.volatile.global.u32 [%out+8192], 1;",
        "fence.release.sys; red.relaxed.sys.global.add.u32 [%out+8192], 1;",
        "atom.release.gpu.global.exch.b32 %r1, [%out+8192], 1;",
        "st.release.gpu.global.u32 [%out+8192], 2; red.relaxed.gpu.global.add.u32 [%out+8192], 1;",
    ] {
        for get in [
            get,
            "ld.relaxed.gpu.global.u32 %r1, [%out+8192];",
            "ld.volatile.global.u32 %r1, [%out+8192];",
            "atom.acquire.gpu.global.or.b32 %r1, [%out+8192], 0;",
        ] {
            assert_eq!(message(set, get), [""; 0], "{set} {get}");
        }
    }
    // No release, a fence behind the flag, one for the CTA only, a flag elsewhere, scopes that are too narrow.
    for set in [
        "st.relaxed.gpu.global.u32 [%out+8192], 1;",
        "st.relaxed.gpu.global.u32 [%out+8192], 1; fence.acq_rel.gpu;",
        "membar.cta; st.volatile.global.u32 [%out+8192], 1;",
        "st.release.gpu.global.u32 [%out+9000], 1; st.relaxed.gpu.global.u32 [%out+8192], 1;",
        "fence.acq_rel.gpu; st.relaxed.cta.global.u32 [%out+8192], 1;",
        "st.release.cta.global.u32 [%out+8192], 1;",
        "st.volatile.global.u32 [%out+8192], 1;",
    ] {
        let found = message(set, get);
        assert!(
            !found.is_empty()
                && found.iter().all(|it| it.starts_with("race between threads of different CTAs")),
            "{set}: {found:?}"
        );
    }
    for get in ["ld.acquire.cta.global.u32 %r1, [%out+8192];", "ld.global.u32 %r1, [%out+8192];"] {
        assert!(!message("st.release.gpu.global.u32 [%out+8192], 1;", get).is_empty(), "{get}");
    }
}

#[test]
fn an_acquire_is_of_the_thread_that_executes_it_until_a_barrier_hands_it_on() {
    let body = |between: &str| {
        format!(
            "setp.eq.u32 %p1, %c, 0; @!%p1 bra second; setp.ne.u32 %p2, %t, 0; @%p2 ret;
            st.global.u32 [%out+4096], 5; st.release.gpu.global.u32 [%out+8192], 1; ret;
            second: setp.ne.u32 %p2, %t, 0; @%p2 bra ready;
            wait: ld.acquire.gpu.global.u32 %r1, [%out+8192]; setp.eq.u32 %p3, %r1, 0; @%p3 bra wait;
            ready: {between} ld.global.u32 %r2, [%out+4096];"
        )
    };
    assert_eq!(found_on("", &body("bar.sync 0;"), 2, 64), []);
    assert_eq!(found_on("", &body("bar.warp.sync -1;"), 2, 32), []);
    // The other warp, or the other lanes, have no part in it.
    for (between, block) in
        [("", 32), ("", 64), ("bar.warp.sync -1;", 64), ("shfl.sync.idx.b32 %r3, %r3, 0, 31, -1;", 32)]
    {
        let racy = found_on("", &body(between), 2, block);
        assert_eq!(racy.len(), 1, "{between} {block}: {racy:#?}");
        assert!(matches!(racy[0].kind, FindingKind::Race { across: true, .. }));
    }
}

#[test]
fn halves_of_a_warp_are_ordered_among_themselves_only() {
    let body = |mask: &str, partner: u32| {
        format!(
            "{OWN_WORD} st.shared.u32 [%s], %t; and.b32 %r1, %t, 16; mov.u32 %r2, {mask}; shl.b32 %r2, %r2, %r1;
            bar.warp.sync %r2; xor.b32 %r3, %t, {partner}; mad.lo.u32 %r3, %r3, 4, %r9; ld.shared.u32 %r4, [%r3];"
        )
    };
    assert_eq!(found_on(SHARED, &body("0xffff", 1), 1, 32), []);
    assert_eq!(found_on(SHARED, &body("0xffff", 16), 1, 32).len(), 1);
}

#[test]
fn operations_among_lanes_do_not_order_memory() {
    let body = |between: &str| {
        format!(
            "{OWN_WORD} st.shared.u32 [%s], %t; {between} xor.b32 %r1, %t, 1; mad.lo.u32 %r1, %r1, 4, %r9; ld.shared.u32 %r2, [%r1];"
        )
    };
    for between in [
        "shfl.sync.bfly.b32 %r5, %t, 1, 31, -1;",
        "vote.sync.any.pred %p1, 1, -1;",
        "match.any.sync.b32 %r5, %t, -1;",
        "redux.sync.add.s32 %r5, %t, -1;",
    ] {
        assert_eq!(found_on(SHARED, &body(between), 1, 32).len(), 1, "{between}");
        assert_eq!(found_on(SHARED, &body(&format!("{between} bar.warp.sync -1;")), 1, 32), []);
    }
}

#[test]
fn a_lock_orders_what_it_guards_if_it_acquires_and_releases() {
    let body = |acquire: &str, release: &str| {
        format!(
            "setp.ne.u32 %p1, %t, 0; @%p1 bra ready; st.shared.u32 [s], 0; st.shared.u32 [s+4], 0; ready: bar.sync 0;
            and.b32 %r1, %t, 31; setp.ne.u32 %p1, %r1, 0; @%p1 bra done;
            again: atom.{acquire}shared.cas.b32 %r1, [s], 0, 1; setp.ne.u32 %p1, %r1, 0; @%p1 bra again; {}
            ld.shared.u32 %r2, [s+4]; add.u32 %r2, %r2, 1; st.shared.u32 [s+4], %r2;
            {release} done:",
            if acquire.is_empty() { "membar.cta;" } else { "" }
        )
    };
    let released = "membar.cta; atom.shared.exch.b32 %r1, [s], 0;";
    assert_eq!(found_on(SHARED, &body("", released), 1, 128), []);
    assert_eq!(found_on(SHARED, &body("acquire.cta.", "st.release.cta.shared.u32 [s], 0;"), 1, 128), []);
    let relaxed = found_on(SHARED, &body("relaxed.cta.", released), 1, 128);
    assert!(!relaxed.is_empty(), "the lock is not acquired");
    let relaxed = found_on(SHARED, &body("", "atom.shared.exch.b32 %r1, [s], 0;"), 1, 128);
    assert!(!relaxed.is_empty(), "the lock is not released");
}

#[test]
fn the_last_cta_needs_a_fence_before_the_counter() {
    // Each CTA writes a word and counts itself; the last one reads all.
    let body = |before: &str, after: &str| {
        format!(
            "setp.ne.u32 %p1, %t, 0; @%p1 bra done; st.global.u32 [%o], %c; {before}
            atom.global.inc.u32 %r1, [%out+8192], 3; {after} setp.ne.u32 %p2, %r1, 3; @%p2 bra done;
            ld.global.u32 %r2, [%out]; ld.global.u32 %r2, [%out+4]; ld.global.u32 %r2, [%out+8]; done:"
        )
    };
    assert_eq!(found_on("", &body("membar.gl;", "membar.gl;"), 4, 1), []);
    assert!(!found_on("", &body("", "membar.gl;"), 4, 1).is_empty());
    // The manual has none behind it; samples and books leave it out.
    assert_eq!(found_on("", &body("membar.gl;", ""), 4, 1), []);
    assert!(!found_on("", &body("membar.cta;", "membar.gl;"), 4, 1).is_empty());
}

#[test]
fn strong_accesses_race_if_a_scope_is_too_narrow_and_weak_ones_with_all() {
    assert_eq!(found_on("", "red.global.add.u32 [%out], 1;", 2, 32), []);
    assert!(!found_on("", "red.cta.global.add.u32 [%out], 1;", 2, 32).is_empty());
    assert_eq!(found_on("", "red.cta.global.add.u32 [%out], 1;", 1, 64), []);
    let read = "setp.eq.u32 %p1, %c, 0; @%p1 red.global.add.u32 [%out], 1; @!%p1 ld.global.u32 %r1, [%out];";
    assert!(!found_on("", read, 2, 1).is_empty());
    assert_eq!(found_on("", &read.replace("ld.global", "ld.relaxed.gpu.global"), 2, 1), []);
    // Unrelated atomic operations order nothing.
    let unrelated = "st.global.u32 [%out], %c; red.global.add.u32 [%out+64], 1;";
    assert!(!found_on("", unrelated, 2, 1).is_empty());
    let fences = "st.global.u32 [%out], %c; fence.sc.gpu;";
    assert!(!found_on("", fences, 2, 1).is_empty());
}

#[test]
fn a_first_guess_of_compare_and_swap_may_be_old() {
    let body = "ld.global.u32 %r1, [%out]; again: add.u32 %r2, %r1, 1; mov.u32 %r3, %r1;
        atom.global.cas.b32 %r1, [%out], %r3, %r2; setp.ne.u32 %p1, %r1, %r3; @%p1 bra again;";
    assert_eq!(found_on("", body, 2, 64), []);
    assert!(
        !found_on("", &body.replace("cas.b32 %r1, [%out], %r3,", "exch.b32 %r1, [%out],"), 2, 1).is_empty()
    );
}

#[test]
fn lanes_that_execute_different_barriers_are_found() {
    let body = "setp.gt.u32 %p1, %t, 15; @%p1 bra other; bar.sync 0; bra done; other: bar.sync 0; done:";
    let found = found_on("", body, 1, 32);
    assert_eq!(found.len(), 1, "{found:#?}");
    assert!(matches!(found[0].kind, FindingKind::DivergentBarrier { missing: 0, came: 0xffff, .. }));
    assert_ne!(found[0].other.as_ref().unwrap().place.span, found[0].at.place.span);
}

#[test]
fn a_warp_that_exits_while_others_wait_is_found() {
    let body = "setp.gt.u32 %p1, %t, 31; @%p1 exit; bar.sync 0;";
    let found = found("", body);
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!(found[0].kind, FindingKind::MissedBarrier { barrier: 0, exited: 32 });
    assert_eq!(found[0].other.as_ref().unwrap().place.thread, [32, 0, 0]);
}

#[test]
fn a_deadlock_is_a_fault_and_a_finding() {
    let source =
        kernel("", "setp.gt.u32 %p1, %t, 31; @%p1 bra other; bar.sync 0; bra done; other: bar.sync 1; done:");
    let (found, fault) = launch(&source, 1, 64, OUT, Sanitize::ALL);
    assert!(matches!(fault, Some(FaultKind::Deadlock(_))));
    assert_eq!(found.len(), 1);
    assert!(matches!(found[0].kind, FindingKind::Deadlock { .. }));
    assert!(found[0].other.is_some());
}

#[test]
fn lanes_that_are_named_and_never_come_are_found() {
    let body = "setp.gt.u32 %p1, %t, 15; @%p1 bra other; bar.warp.sync -1; bra done;
        other: vote.sync.any.pred %p2, 1, -1; done:";
    let found = found_on("", body, 1, 32);
    assert!(!found.is_empty());
    let missing = FindingKind::MissingLanes { named: u32::MAX, came: 0xffff };
    assert!(found.iter().any(|finding| finding.kind == missing), "{found:#?}");
    let outside = found_on("", "bar.warp.sync 0xffff;", 1, 32);
    assert_eq!(outside.len(), 1, "{outside:#?}");
    assert_eq!(outside[0].kind, FindingKind::NotNamed { named: 0xffff, came: u32::MAX });
}

#[test]
fn a_finding_says_what_and_where() {
    let (found, _) = launch(bug!("race_raw"), 1, 64, OUT, Sanitize::ALL);
    let race = found.iter().find(|finding| finding.kind.sanitizer() == "race").unwrap();
    let text = race.to_string();
    assert!(text.starts_with("race between threads of a CTA: "), "{text}");
    assert!(text.contains("4 bytes at .shared address 0x4") && text.ends_with("bytes into `s`"), "{text}");
    assert_eq!(race.kernel, "k");
}

#[test]
fn atomic_operations_do_not_order_the_write_that_makes_their_place_ready() {
    let body = |between: &str| {
        format!("setp.eq.u32 %p1, %t, 0; @%p1 st.shared.u32 [s], 0; {between} red.shared.add.u32 [s], 1;")
    };
    assert_eq!(found(SHARED, &body("bar.sync 0;")), []);
    let racy = found(SHARED, &body(""));
    assert_eq!(racy.len(), 1, "{racy:#?}");
    let between = FindingKind::Race {
        first: Use::Write,
        second: Use::Atomic,
        across: false,
        missing: Missing::Release,
    };
    assert_eq!(racy[0].kind, between, "the atomic operation of the same thread is no release");
    // A flag elsewhere does, with fences.
    let flag = |fence: &str| {
        format!(
            "setp.eq.u32 %p1, %t, 0; @%p1 st.shared.u32 [s+64], 5; {fence} @%p1 st.volatile.shared.u32 [s], 1;
            setp.ne.u32 %p1, %t, 63; @%p1 ret;
            again: ld.volatile.shared.u32 %r1, [s]; setp.ne.u32 %p1, %r1, 1; @%p1 bra again; {fence}
            red.shared.add.u32 [s+64], 1;"
        )
    };
    assert_eq!(found(SHARED, &flag("membar.cta;")), []);
    assert_eq!(found(SHARED, &flag("")).len(), 1);
}

#[test]
fn what_there_is_no_shadow_memory_for_is_told() {
    let source = kernel("", "st.global.u32 [%o], %t;");
    let (bytes, block) = (2u64 << 20, 256);
    let mut told = Vec::new();
    for memory in [None, Some(16 << 20)] {
        let options = LoadOptions { memory, ..LoadOptions::default() };
        let device = Device::load(&[&source], options).unwrap_or_else(|error| panic!("{error:?}"));
        let arguments = [device.allocate(bytes).expect("memory").to_le_bytes().to_vec()];
        let grid = [(bytes / 4) as u32 / block, 1, 1];
        let sanitize = Sanitize { race: true, ..Sanitize::default() };
        let launch = Launch { sanitize, ..Launch::new("k", grid, [block, 1, 1], &arguments) };
        let report = device.launch(&launch).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(report.findings, []);
        assert_eq!(report.not_looked_at, device.not_looked_at());
        told.push(report.not_looked_at);
    }
    assert_eq!(told[0], []);
    let [NotLookedAt::Accesses { count, bytes: room }] = told[1][..] else { panic!("{told:?}") };
    // Fifteen bytes for each, of what the buffer leaves.
    assert!((1..bytes / 4).contains(&count) && (8 << 20..=14 << 20).contains(&room), "{count} {room}");
    assert!(told[1][0].to_string().contains("accesses were not looked at"), "{}", told[1][0]);
}
