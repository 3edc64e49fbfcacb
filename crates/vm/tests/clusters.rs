//! Clusters of CTAs, multicast memory and launch control: what recordings of an H200 do not show, or what stops a
//! launch there. (`cli/tests/clusters.rs` replays the recordings.)

use softwarp_vm::device::{ClusterError, Device, Launch, LaunchError, LoadOptions, Report};
use softwarp_vm::fault::{Fault, FaultKind, Problem};
use softwarp_vm::sanitize::Sanitize;

const HOPPER: &str = ".version 8.6\n.target sm_90\n.address_size 64\n";
const BLACKWELL: &str = ".version 8.6\n.target sm_100a\n.address_size 64\n";

/// Registers for all, the rank in the cluster, and the address of the thread's word of `out` in `%o`.
const PROLOGUE: &str = "
    .reg .pred %p<4>; .reg .b32 %r<16>; .reg .b64 %d<16>; .reg .b64 %out, %o; .reg .b32 %t, %i, %rank;
    .reg .b128 %q<2>; .reg .b16 %h<9>; .reg .f32 %f<4>;
    ld.param.u64 %out, [out];
    mov.u32 %t, %tid.x;
    mov.u32 %rank, %cluster_ctarank;
    mov.u32 %i, %ctaid.x; mov.u32 %r15, %ntid.x;
    mad.lo.u32 %i, %i, %r15, %t;
    mad.wide.u32 %o, %i, 4, %out;
";

const SYNC: &str = "barrier.cluster.arrive; barrier.cluster.wait;\n";

/// A kernel `k(out)` with directives.
fn module(header: &str, directives: &str, body: &str) -> Device {
    let source =
        format!("{header}.visible .entry k(.param .u64 out) {directives}\n{{{PROLOGUE}{body}\nret;\n}}\n");
    Device::load(&[&source], LoadOptions::default()).unwrap_or_else(|error| panic!("{error:?}\n{source}"))
}

type Shape = (u32, u32, Option<u32>);

/// Launches `k` with a given grid, block and cluster size, and an `out` of a word for each thread.
fn try_run(device: &mut Device, (grid, block, cluster): Shape) -> Result<(Vec<u32>, Report), LaunchError> {
    let out = device.allocate(u64::from(grid * block) * 4).expect("memory");
    let arguments = [out.to_le_bytes().to_vec()];
    let cluster = cluster.map(|ctas| [ctas, 1, 1]);
    let launch = Launch::new("k", [grid, 1, 1], [block, 1, 1], &arguments);
    let report = device.launch(&Launch { cluster, sanitize: Sanitize::ALL, ..launch })?;
    device.launch(&Launch { cluster, ..launch })?;
    let mut bytes = vec![0; (grid * block * 4) as usize];
    device.read(out, &mut bytes).expect("inside");
    Ok((bytes.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect(), report))
}

fn run(body: &str, shape: Shape) -> Vec<u32> {
    let (words, report) =
        try_run(&mut module(HOPPER, "", body), shape).unwrap_or_else(|error| panic!("{error}"));
    assert!(report.findings.is_empty(), "{:?}", report.findings);
    words
}

fn fault(body: &str, shape: Shape) -> Box<Fault> {
    match try_run(&mut module(HOPPER, "", body), shape) {
        Err(LaunchError::Fault(fault)) => fault,
        other => panic!("{other:?}"),
    }
}

fn problem(body: &str, shape: Shape) -> Problem {
    match fault(body, shape).kind {
        FaultKind::Access(bad) => bad.problem,
        other => panic!("{other:?}"),
    }
}

fn refused(directives: &str, shape: Shape) -> ClusterError {
    match try_run(&mut module(HOPPER, directives, ""), shape) {
        Err(LaunchError::Cluster(error)) => error,
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_cta_of_a_cluster_reaches_the_shared_memory_of_every_other() {
    // 3 CTAs of 40 threads: each thread reads its word from each CTA.
    let body = format!(
        ".shared .align 4 .u32 s[40];
         mov.u32 %r1, s; mad.lo.u32 %r1, %t, 4, %r1;
         mad.lo.u32 %r2, %rank, 1000, %t; st.shared.u32 [%r1], %r2;
         {SYNC}
         mov.u32 %r3, 0; mov.u32 %r4, 0;
         L: mapa.shared::cluster.u32 %r5, %r1, %r3; ld.shared::cluster.u32 %r6, [%r5]; add.u32 %r4, %r4, %r6;
         add.u32 %r3, %r3, 1; setp.lt.u32 %p1, %r3, 3; @%p1 bra L;
         st.global.u32 [%o], %r4;
         {SYNC}"
    );
    let wanted: Vec<u32> = (0..6 * 40).map(|i| 3000 + 3 * (i % 40)).collect();
    assert_eq!(run(&body, (6, 40, Some(3))), wanted);
}

#[test]
fn clusters_and_later_grids_see_the_same_global_memory_and_the_same_parameters() {
    // The last CTA hands a word to all others, of its own cluster and of those before; a second grid sees it, too.
    let body = "
        mov.u32 %r1, %ctaid.x; mov.u32 %r2, %nctaid.x; sub.u32 %r2, %r2, 1;
        setp.ne.u32 %p1, %r1, %r2; @%p1 bra W;
        st.release.gpu.global.u32 [%out], 9;
        W: ld.acquire.gpu.global.u32 %r3, [%out]; setp.eq.u32 %p1, %r3, 0; @%p1 bra W;
        setp.eq.u32 %p1, %i, 0; @!%p1 red.global.add.u32 [%o], %r3;";
    // Twice: `run` launches it again on what the first left.
    assert_eq!(run(body, (6, 1, Some(2))), [9, 18, 18, 18, 18, 18]);
}

#[test]
fn the_largest_cluster_runs_with_the_most_threads() {
    let body = format!(
        ".shared .align 4 .u32 s;
         setp.eq.u32 %p1, %t, 0; @%p1 st.shared.u32 [s], 0;
         {SYNC}
         add.u32 %r1, %rank, 1; and.b32 %r1, %r1, 15; mapa.shared::cluster.u32 %r2, s, %r1;
         red.shared::cluster.add.u32 [%r2], %rank;
         {SYNC}
         ld.shared.u32 %r3, [s]; st.global.u32 [%o], %r3;"
    );
    let words = run(&body, (32, 1024, Some(16)));
    let wanted = |i: usize| ((i / 1024 + 15) % 16) as u32 * 1024;
    assert!(words.iter().enumerate().all(|(i, &word)| word == wanted(i)));
}

#[test]
fn a_barrier_of_the_cluster_can_be_left_between_arriving_and_waiting() {
    // Another CTA's arrival is not waited for until the wait.
    let body = "
        barrier.cluster.arrive.release;
        mov.u32 %r1, 0;
        L: add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, 100; @%p1 bra L;
        barrier.cluster.wait.acquire;
        barrier.cluster.arrive.relaxed;
        barrier.cluster.wait;
        st.global.u32 [%o], %r1;";
    assert_eq!(run(body, (4, 33, Some(2))), [100; 4 * 33]);
    // A CTA by itself is a cluster of one.
    assert_eq!(run(body, (2, 33, None)), [100; 2 * 33]);
}

#[test]
fn threads_that_have_exited_are_not_waited_for() {
    let body = format!(
        "setp.eq.u32 %p1, %rank, 0; @%p1 exit;
         setp.lt.u32 %p1, %t, 3; @%p1 exit;
         {SYNC} st.global.u32 [%o], 7;"
    );
    let words = run(&body, (2, 70, Some(2)));
    assert_eq!(words.iter().filter(|&&word| word == 7).count(), 67);
    // Threads that wait go on when the last of the others exits, long after.
    let body = format!(
        "setp.eq.u32 %p1, %rank, 0; @%p1 bra W;
         mov.u32 %r1, 0; L: nanosleep.u32 1; add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, 100; @%p1 bra L;
         exit;
         W: {SYNC} st.global.u32 [%o], 7;"
    );
    assert_eq!(run(&body, (2, 2, Some(2))), [7, 7, 0, 0]);
}

#[test]
fn a_deadlock_of_a_cluster_says_who_waits_where() {
    let body = "
        setp.eq.u32 %p1, %rank, 0; @%p1 bra A;
        barrier.sync 3, 64;
        A: barrier.cluster.arrive; barrier.cluster.wait;";
    let fault = fault(body, (2, 32, Some(2)));
    let FaultKind::Deadlock(waiting) = &fault.kind else { panic!("{fault}") };
    let said: Vec<_> =
        waiting.iter().map(|it| (it.barrier, it.arrived, it.expected, it.place.cta[0])).collect();
    assert_eq!(said, [(None, 32, 64, 0), (Some(3), 32, 64, 1)]);
    assert!(fault.to_string().contains("the cluster's barrier has 32 of 64 threads"), "{fault}");
}

#[test]
fn a_thread_must_not_arrive_twice() {
    let body = "barrier.cluster.arrive; barrier.cluster.arrive; barrier.cluster.wait;";
    assert_eq!(fault(body, (2, 32, Some(2))).kind, FaultKind::ArrivesTwice);
}

#[test]
fn what_says_shared_reaches_no_other_cta() {
    let remote = |access: &str| {
        format!(
            ".shared .align 4 .u32 s; st.shared.u32 [s], 1; xor.b32 %r1, %rank, 1;
             mapa.shared::cluster.u32 %r2, s, %r1; {SYNC} {access} {SYNC}"
        )
    };
    for access in
        ["ld.shared.u32 %r3, [%r2];", "st.shared::cta.u32 [%r2], 5;", "red.shared.add.u32 [%r2], 5;"]
    {
        assert_eq!(problem(&remote(access), (2, 32, Some(2))), Problem::OtherCta, "{access}");
    }
    // The address of its own variable has the rank in it, and works.
    let own = ".shared .align 4 .u32 s; mov.u32 %r2, s; st.shared.u32 [%r2], %r2; ld.shared.u32 %r3, [s];
        st.global.u32 [%o], %r3;";
    assert_eq!(run(own, (2, 1, Some(2))), [0x400, 0x100_0400]);
}

#[test]
fn addresses_in_no_cta_of_the_cluster_and_in_one_that_has_ended_stop_the_launch() {
    let beyond =
        ".shared .align 4 .u32 s; mapa.shared::cluster.u32 %r2, s, 2; ld.shared::cluster.u32 %r3, [%r2];";
    assert_eq!(problem(beyond, (2, 1, Some(2))), Problem::NoCta);
    let past =
        ".shared .align 4 .u32 s; mapa.shared::cluster.u32 %r2, s, 1; st.shared::cluster.u32 [%r2+4], 1;";
    assert_eq!(problem(past, (2, 1, Some(2))), Problem::OutOfBounds);
    let ended = format!(
        ".shared .align 4 .u32 s; {SYNC} setp.eq.u32 %p1, %rank, 1; @%p1 exit;
         mov.u32 %r1, 0; L: nanosleep.u32 1; add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, 100; @%p1 bra L;
         mapa.shared::cluster.u32 %r2, s, 1; ld.shared::cluster.u32 %r3, [%r2];"
    );
    assert_eq!(problem(&ended, (2, 1, Some(2))), Problem::Ended);
}

#[test]
fn launches_with_clusters_that_cannot_be_are_refused() {
    assert_eq!(refused("", (5, 1, Some(2))), ClusterError::Grid { grid: [5, 1, 1], cluster: [2, 1, 1] });
    assert_eq!(refused("", (17, 1, Some(17))), ClusterError::TooMany { given: 17, most: 16 });
    assert_eq!(refused("", (4, 1, Some(0))), ClusterError::Empty { cluster: [0, 1, 1] });
    assert_eq!(refused(".explicitcluster", (4, 1, None)), ClusterError::Missing);
    assert_eq!(refused(".maxclusterrank 2", (4, 1, Some(4))), ClusterError::TooMany { given: 4, most: 2 });
    let differs = ClusterError::Differs { given: [1; 3], wanted: [2, 1, 1] };
    assert_eq!(refused(".reqnctapercluster 2", (4, 1, Some(1))), differs);
    let old = ".version 8.6\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 out) { ret; }\n";
    let mut device = Device::load(&[old], LoadOptions::default()).expect("a module");
    let error = try_run(&mut device, (4, 1, Some(2))).map(drop).expect_err("no clusters there");
    assert_eq!(error.to_string(), "sm_80 has no clusters: they came with sm_90");
}

#[test]
fn a_grid_of_two_billion_ctas_in_clusters_needs_no_room_for_them() {
    let device = module(HOPPER, "", "");
    let arguments = [0u64.to_le_bytes().to_vec()];
    let launch = Launch::new("k", [0x7fff_fff8, 1, 1], [1, 1, 1], &arguments);
    let launch = Launch { cluster: Some([8, 1, 1]), most_instructions: Some(100_000), ..launch };
    match device.launch(&launch) {
        Err(LaunchError::Fault(fault)) => assert_eq!(fault.kind, FaultKind::StepLimit),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_race_between_ctas_of_a_cluster_is_found_and_the_barrier_ends_it() {
    let body = |between: &str| {
        format!(
            ".shared .align 4 .u32 s;
             setp.eq.u32 %p1, %rank, 1; @%p1 bra B;
             mapa.shared::cluster.u32 %r2, s, 1; st.shared::cluster.u32 [%r2], %t;
             B: {between}
             setp.eq.u32 %p1, %rank, 0; @%p1 bra E;
             ld.shared.u32 %r3, [s];
             E: {SYNC}"
        )
    };
    let findings = |between: &str| {
        let mut device = module(HOPPER, "", &body(between));
        try_run(&mut device, (2, 1, Some(2))).unwrap_or_else(|error| panic!("{error}")).1.findings
    };
    assert_eq!(findings("").len(), 1, "{:?}", findings(""));
    assert_eq!(findings(SYNC), []);
}

#[test]
fn multimem_instructions_reach_all_places_that_an_address_stands_for() {
    // f16: 1, 2; 0.5, -2; and 2048, 1. Each sum of the first alone loses a bit that f32 keeps.
    let body = "
        ld.global.u64 %d1, [%out];
        multimem.ld_reduce.global.add.f16x2 %r1, [%d1];
        multimem.ld_reduce.global.add.acc::f32.f16x2 %r2, [%d1];
        multimem.ld_reduce.global.max.v2.f16 {%h1, %h2}, [%d1];
        mov.b32 %r3, {%h1, %h2};
        multimem.ld_reduce.global.and.b32 %r4, [%d1+4];
        multimem.ld_reduce.global.min.s32 %r5, [%d1+4];
        st.global.u32 [%out], %r1; st.global.u32 [%out+4], %r2; st.global.u32 [%out+8], %r3;
        st.global.u32 [%out+12], %r4; st.global.u32 [%out+16], %r5;
        multimem.red.global.add.u32 [%d1+4], 1;
        multimem.st.global.u32 [%d1], 77;";
    let device = module(HOPPER, "", body);
    let parts = [[0x4000_3c00u32, 12], [0xc000_3800, 0xffff_fff8], [0x3c00_6800, 24]].map(|words| {
        let part = device.allocate(8).expect("memory");
        device.write(part, words.map(u32::to_le_bytes).as_flattened()).expect("inside");
        part
    });
    let all = device.multicast(&parts, 8).expect("they are there");
    let out = device.allocate(32).expect("memory");
    device.write(out, &all.to_le_bytes()).expect("inside");
    let arguments = [out.to_le_bytes().to_vec()];
    device.launch(&Launch::new("k", [1; 3], [1; 3], &arguments)).unwrap_or_else(|error| panic!("{error}"));
    let read = |at: u64| {
        let mut word = [0; 4];
        device.read(at, &mut word).expect("inside");
        u32::from_le_bytes(word)
    };
    // 2049.5 is between 2048 and 2050.
    assert_eq!(read(out), 0x3c00_6801);
    assert_eq!(read(out + 4), 0x3c00_6801);
    assert_eq!(read(out + 8), 0x4000_6800);
    assert_eq!(read(out + 12), 8);
    assert_eq!(read(out + 16), 0xffff_fff8);
    for (part, before) in parts.into_iter().zip([12u32, 0xffff_fff8, 24]) {
        assert_eq!((read(part), read(part + 4)), (77, before + 1));
    }
    assert!(device.read(all, &mut [0; 4]).is_err(), "it stands for several places");
    assert!(device.multicast(&parts, 9).is_err(), "that is more than there is");
    device.free(all).expect("it was made");
}

#[test]
fn bulk_copies_go_to_all_places_that_an_address_stands_for() {
    let body = "
        .shared .align 16 .b32 s[4];
        st.shared.v4.u32 [s], {1, 2, 3, 4};
        fence.proxy.async;
        multimem.cp.async.bulk.global.shared::cta.bulk_group [%out], [s], 16;
        multimem.cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%out+16], [s], 16;
        cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;";
    let device = module(&HOPPER.replace("8.6", "9.1"), "", body);
    let parts = [10u32, 20].map(|word| {
        let part = device.allocate(32).expect("memory");
        device.write(part, [word; 8].map(u32::to_le_bytes).as_flattened()).expect("inside");
        part
    });
    let all = device.multicast(&parts, 32).expect("they are there");
    let launch = Launch::new("k", [1; 3], [1; 3], &[]);
    let arguments = [all.to_le_bytes().to_vec()];
    let report = device.launch(&Launch { arguments: &arguments, sanitize: Sanitize::ALL, ..launch });
    assert_eq!(report.unwrap_or_else(|error| panic!("{error}")).findings, []);
    for (part, word) in parts.into_iter().zip([10u32, 20]) {
        let mut bytes = [0; 32];
        device.read(part, &mut bytes).expect("inside");
        let words: Vec<u32> =
            bytes.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
        assert_eq!(words, [1, 2, 3, 4, word + 1, word + 2, word + 3, word + 4]);
    }
}

#[test]
fn sums_of_halves_are_rounded_at_each_step_or_at_the_end() {
    let body = "
        ld.global.u64 %d1, [%out];
        multimem.ld_reduce.global.add.f16x2 %r1, [%d1];
        multimem.ld_reduce.global.add.acc::f32.f16x2 %r2, [%d1];
        st.global.u32 [%out], %r1; st.global.u32 [%out+4], %r2;";
    let device = module(HOPPER, "", body);
    // 2048 + 1 + 1: the first sum is a tie, and goes down.
    let parts = [0x6800u32, 0x3c00, 0x3c00].map(|word| {
        let part = device.allocate(4).expect("memory");
        device.write(part, &word.to_le_bytes()).expect("inside");
        part
    });
    let all = device.multicast(&parts, 4).expect("they are there");
    let out = device.allocate(8).expect("memory");
    device.write(out, &all.to_le_bytes()).expect("inside");
    device.launch(&Launch::new("k", [1; 3], [1; 3], &[out.to_le_bytes().to_vec()])).expect("it runs");
    let mut bytes = [0; 8];
    device.read(out, &mut bytes).expect("inside");
    assert_eq!(bytes, [0x00, 0x68, 0, 0, 0x01, 0x68, 0, 0]);
}

#[test]
fn other_instructions_do_not_reach_multicast_memory_nor_multimem_anything_else() {
    for (body, wanted) in [
        ("ld.global.u32 %r1, [%out];", Problem::Multicast),
        ("st.u32 [%out], 1;", Problem::Multicast),
        ("atom.global.add.u32 %r1, [%out], 1;", Problem::Multicast),
        ("add.u64 %out, %out, 8; multimem.st.global.u32 [%out], 1;", Problem::NotMulticast),
        ("add.u64 %out, %out, 2; multimem.st.global.u32 [%out], 1;", Problem::Misaligned),
        (
            ".shared .u32 s; mov.u64 %d1, s; cvta.shared.u64 %d1, %d1; multimem.st.u32 [%d1], 1;",
            Problem::WrongSpace,
        ),
    ] {
        let device = module(HOPPER, "", body);
        let part = device.allocate(8).expect("memory");
        let all = device.multicast(&[part], 8).expect("it is there");
        let error = device.launch(&Launch::new("k", [1; 3], [1; 3], &[all.to_le_bytes().to_vec()]));
        match error {
            Err(LaunchError::Fault(fault)) => match fault.kind {
                FaultKind::Access(bad) => assert_eq!(bad.problem, wanted, "{body}"),
                other => panic!("{other:?}"),
            },
            other => panic!("{other:?}"),
        }
    }
}

/// Work that CTAs take over from others, one after another, until there is none left: each counts in `out` what it
/// did itself. `all` is what stands behind the mechanism.
fn stealing(all: &str, elected: &str) -> String {
    format!(
        ".shared .align 16 .b8 response[16]; .shared .align 8 .b64 mbar;
         mov.u32 %r9, %ctaid.x; sub.u32 %r9, %r9, %rank; mov.u32 %r8, 0;
         mbarrier.init.shared::cta.b64 [mbar], 1;
         {SYNC}
         WORK:
         add.u32 %r10, %r9, %rank; mad.wide.u32 %d1, %r10, 4, %out; red.global.add.u32 [%d1], 1;
         mbarrier.arrive.expect_tx.shared::cta.b64 %d2, [mbar], 16;
         {SYNC}
         {elected} clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes{all}.b128
             [response], [mbar];
         WAIT: mbarrier.try_wait.parity.shared::cta.b64 %p1, [mbar], %r8; @!%p1 bra WAIT;
         xor.b32 %r8, %r8, 1;
         ld.shared.b128 %q0, [response];
         clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p2, %q0;
         {SYNC}
         @!%p2 bra DONE;
         clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {{%r9, %r1, %r2, _}}, %q0;
         clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 %r3, %q0;
         setp.ne.u32 %p3, %r3, %r9; @%p3 trap;
         bra WORK;
         DONE: {SYNC}"
    )
}

#[test]
fn a_cta_takes_over_the_work_of_those_that_have_not_begun() {
    let mut device = module(BLACKWELL, "", &stealing("", ""));
    let (words, report) = try_run(&mut device, (100, 1, None)).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(words, [2; 100], "once in each of two launches");
    assert_eq!(report.ctas, 1, "one did it all");
}

#[test]
fn a_cluster_takes_over_the_work_of_another_and_all_its_ctas_know() {
    let first = "setp.eq.u32 %p3, %rank, 0; @%p3";
    let mut device = module(BLACKWELL, "", &stealing(".multicast::cluster::all", first));
    let (words, report) = try_run(&mut device, (24, 1, Some(4))).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(words, [2; 24]);
    assert_eq!(report.ctas, 4);
}
