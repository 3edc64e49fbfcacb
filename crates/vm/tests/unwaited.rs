//! Asynchronous operations that are not waited for, and missing proxy fences: each with a correct kernel.

use softwarp_tensor::{Description, Element, Map, Target, object};
use softwarp_vm::device::{Device, Launch, LaunchError, LoadOptions};
use softwarp_vm::fault::Use::{self, Read, Write};
use softwarp_vm::sanitize::FindingKind::{
    MissingProxyFence, MissingRegisterFence, Race, Unwaited, UnwaitedRegister,
};
use softwarp_vm::sanitize::{FindingKind, Sanitize, Until};

/// What is found in a kernel of this body. `%t` is the thread, `%out` its word of `out`,
/// `%in` a buffer of 4096 bytes and `%map` a map of it, in boxes of 16 by 8 words.
fn found(body: &str, block: u32) -> Vec<FindingKind> {
    run(body, block).0
}

/// The same, with what `out` holds then.
fn run(body: &str, block: u32) -> (Vec<FindingKind>, Vec<u32>) {
    let source = format!(
        ".version 8.6\n.target sm_90a\n.address_size 64
        .visible .entry k(.param .u64 in, .param .u64 out, .param .align 64 .b8 map[128])\n{{
        .reg .pred %p<8>; .reg .b32 %r<16>, %t, %s; .reg .b64 %d<8>, %in, %out, %map; .reg .f32 %f<8>;
        .shared .align 128 .b8 tile[4096]; .shared .align 8 .b64 bar;
        ld.param.u64 %in, [in]; ld.param.u64 %out, [out]; mov.b64 %map, map; cvta.param.u64 %map, %map;
        mov.u32 %t, %tid.x; mad.wide.u32 %out, %t, 4, %out; mov.u32 %s, tile; mov.u32 %r0, 0;
        setp.eq.u32 %p0, %t, 0;
        @%p0 mbarrier.init.shared.b64 [bar], 1; @%p0 fence.mbarrier_init.release.cluster; bar.sync 0;
        {body}
        ret;\n}}"
    );
    let load = Device::load(&[&source], LoadOptions::default());
    let device = load.unwrap_or_else(|error| panic!("{error:?}"));
    let [input, output] = [0; 2].map(|_| device.allocate(4096).expect("memory"));
    let map = Description { address: input, ..Description::tiled(Element::U32, &[32, 16], &[128], &[16, 8]) };
    let map = object::encode(&Map::new(&map, Target::SM_90).expect("legal")).to_vec();
    let arguments = [input.to_le_bytes().to_vec(), output.to_le_bytes().to_vec(), map];
    let sanitize = Sanitize { race: true, sync: true, ..Sanitize::default() };
    let launch = Launch { sanitize, ..Launch::new("k", [1; 3], [block, 1, 1], &arguments) };
    let report = match device.launch(&launch) {
        Ok(report) => report,
        Err(LaunchError::Fault(fault)) => panic!("{fault}"),
        Err(error) => panic!("{error:?}"),
    };
    let mut bytes = [0; 4096];
    device.read(output, &mut bytes).expect("inside");
    let words = bytes.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word)).collect();
    (report.findings.into_iter().map(|finding| finding.kind).collect(), words)
}

fn unwaited(first: Use, second: Use, until: Until) -> FindingKind {
    Unwaited { first, second, until }
}

/// A wait for a phase of the mbarrier.
fn wait(label: &str, parity: u32) -> String {
    format!("{label}: mbarrier.try_wait.parity.shared.b64 %p1, [bar], {parity}; @!%p1 bra {label};")
}

#[test]
fn cp_async_is_read_before_its_group_is_waited_for() {
    // Each thread copies a word, and reads its own, or its neighbour's.
    let kernel = |between: &str, read: &str| {
        let body = format!(
            "mad.lo.u32 %r1, %t, 4, %s; mad.wide.u32 %d0, %t, 4, %in; xor.b32 %r2, %r1, 128;
            cp.async.ca.shared.global [%r1], [%d0], 4; {between}
            ld.shared.u32 %r3, [{read}]; st.global.u32 [%out], %r3;"
        );
        found(&body, 64)
    };
    let expected = [unwaited(Write, Read, Until::Copies)];
    assert_eq!(kernel("", "%r1"), expected);
    assert_eq!(kernel("cp.async.commit_group;", "%r1"), expected);
    assert_eq!(kernel("cp.async.commit_group; cp.async.wait_group 1;", "%r1"), expected);
    assert_eq!(kernel("cp.async.wait_group 0;", "%r1"), expected, "it was never committed");
    assert_eq!(kernel("bar.sync 0;", "%r2"), expected, "a barrier does not wait for it");
    // The thread that copies has waited, but has not synchronised with the reader.
    let races = kernel("cp.async.wait_all;", "%r2");
    assert!(!races.is_empty() && races.iter().all(|it| matches!(it, Race { .. })), "{races:?}");
    assert_eq!(kernel("cp.async.commit_group; cp.async.wait_group 0;", "%r1"), []);
    assert_eq!(kernel("cp.async.wait_all;", "%r1"), []);
    assert_eq!(kernel("cp.async.wait_all; bar.sync 0;", "%r2"), []);
}

#[test]
fn a_pipeline_of_cp_async_waits_for_the_group_before_the_last() {
    let kernel = |pending: u32| {
        let body = format!(
            "mad.lo.u32 %r1, %t, 4, %s; mad.wide.u32 %d0, %t, 4, %in;
            cp.async.ca.shared.global [%r1], [%d0], 4; cp.async.commit_group;
            cp.async.ca.shared.global [%r1+1024], [%d0], 4; cp.async.commit_group;
            cp.async.wait_group {pending};
            ld.shared.u32 %r3, [%r1]; st.global.u32 [%out], %r3;
            cp.async.wait_group 0; ld.shared.u32 %r3, [%r1+1024]; st.global.u32 [%out], %r3;"
        );
        found(&body, 32)
    };
    assert_eq!(kernel(1), []);
    assert_eq!(kernel(2), [unwaited(Write, Read, Until::Copies)]);
}

#[test]
fn cp_async_arrives_at_an_mbarrier() {
    let kernel = |between: &str| {
        let body = format!(
            "@!%p0 bra ELSE; cp.async.ca.shared.global [tile], [%in], 4;
            cp.async.mbarrier.arrive.noinc.shared.b64 [bar]; {between}
            ld.shared.u32 %r3, [tile]; st.global.u32 [%out], %r3; ELSE:"
        );
        found(&body, 32)
    };
    assert_eq!(kernel(""), [unwaited(Write, Read, Until::Copies)]);
    assert_eq!(kernel(&wait("W", 0)), []);
}

#[test]
fn a_bulk_load_is_read_before_its_mbarrier_was_waited_for() {
    for copy in [
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [tile], [%in], 512, [bar];",
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [tile], [%map, {%r0, %r0}], [bar];",
    ] {
        let kernel = |between: &str| {
            let body = format!(
                "@!%p0 bra ELSE; mbarrier.arrive.expect_tx.shared.b64 _, [bar], 512; {copy} ELSE: {between}
                mad.lo.u32 %r1, %t, 4, %s; ld.shared.u32 %r3, [%r1]; st.global.u32 [%out], %r3;"
            );
            found(&body, 64)
        };
        assert_eq!(kernel(&wait("W", 0)), []);
        assert_eq!(kernel("bar.sync 0;"), [unwaited(Write, Read, Until::Mbarrier)]);
        // One waits, and a barrier orders the others behind it.
        let one = format!("@!%p0 bra JOIN; {} JOIN: bar.sync 0;", wait("W", 0));
        assert_eq!(kernel(&one), []);
    }
}

#[test]
fn what_a_bulk_store_reads_is_overwritten_too_early() {
    for copy in [
        "cp.async.bulk.global.shared::cta.bulk_group [%in], [tile], 512;",
        "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%map, {%r0, %r0}], [tile];",
    ] {
        let kernel = |fence: &str, wait: &str| {
            let body = format!(
                "mad.lo.u32 %r1, %t, 4, %s; st.shared.u32 [%r1], %t; {fence} bar.sync 0;
                @!%p0 bra ELSE; {copy} cp.async.bulk.commit_group; {wait} ELSE: bar.sync 0;
                st.shared.u32 [%r1], 7;"
            );
            found(&body, 128)
        };
        let fence = "fence.proxy.async.shared::cta;";
        assert_eq!(kernel(fence, "cp.async.bulk.wait_group.read 0;"), []);
        assert_eq!(kernel(fence, "cp.async.bulk.wait_group 0;"), []);
        assert_eq!(kernel(fence, ""), [unwaited(Read, Write, Until::BulkRead)]);
        assert_eq!(kernel("", "cp.async.bulk.wait_group.read 0;"), [MissingProxyFence]);
    }
}

#[test]
fn what_a_bulk_store_writes_is_read_too_early() {
    let kernel = |wait: &str| {
        let body = format!(
            "@!%p0 bra ELSE; st.shared.u32 [tile], 1; st.shared.v2.u32 [tile+8], {{%t, %t}}; fence.proxy.async;
            cp.async.bulk.global.shared::cta.bulk_group [%in], [tile], 16; cp.async.bulk.commit_group; {wait}
            ld.global.u32 %r1, [%in]; st.global.u32 [%out], %r1; ELSE:"
        );
        found(&body, 32)
    };
    assert_eq!(kernel("cp.async.bulk.wait_group 0;"), []);
    assert_eq!(kernel("cp.async.bulk.wait_group.read 0;"), [unwaited(Write, Read, Until::Bulk)]);
}

#[test]
fn a_proxy_fence_counts_on_either_side_of_the_barrier() {
    let kernel = |before: &str, after: &str| {
        let body = format!(
            "mad.lo.u32 %r1, %t, 4, %s; st.shared.u32 [%r1], %t; {before} bar.sync 0; {after}
            @%p0 cp.async.bulk.global.shared::cta.bulk_group [%in], [tile], 256;"
        );
        found(&body, 64)
    };
    let fence = "fence.proxy.async;";
    assert_eq!(kernel(fence, ""), []);
    assert_eq!(kernel("", fence), []);
    assert_eq!(kernel("fence.acq_rel.cta;", ""), [MissingProxyFence]);
}

/// A product of four warps with B in shared memory, which threads write before and after.
fn product(fence: &str, wait: &str) -> Vec<FindingKind> {
    let body = format!(
        "mad.lo.u32 %r1, %t, 4, %s; st.shared.u32 [%r1], 0; {fence} bar.sync 0;
        shr.u32 %r2, %s, 4; cvt.u64.u32 %d0, %r2; or.b64 %d0, %d0, 0x0000000800080000;
        setp.ne.u32 %p2, %r0, 0;
        wgmma.fence.sync.aligned;
        wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {{%f0, %f1, %f2, %f3}}, {{%r0, %r0, %r0, %r0}}, %d0, %p2, 1, 1, 0;
        wgmma.commit_group.sync.aligned; {wait} bar.sync 0; st.shared.u32 [%r1], 1;"
    );
    found(&body, 128)
}

#[test]
fn wgmma_reads_shared_memory_until_its_group_is_waited_for() {
    let fence = "fence.proxy.async;";
    assert_eq!(product(fence, "wgmma.wait_group.sync.aligned 0;"), []);
    assert_eq!(product(fence, "wgmma.wait_group.sync.aligned 1;"), [unwaited(Read, Write, Until::Products)]);
    assert_eq!(product(fence, ""), [unwaited(Read, Write, Until::Products)]);
    assert_eq!(product("", "wgmma.wait_group.sync.aligned 0;"), [MissingProxyFence]);
}

#[test]
fn a_warp_that_waits_for_a_product_answers_for_its_warpgroup() {
    // The first warp arrives for all four, the fifth overwrites what they read: the ones that B and A have.
    let body = format!(
        "mad.lo.u32 %r1, %t, 4, %s; st.shared.u32 [%r1], 0x3c003c00; fence.proxy.async; bar.sync 0;
        mov.u32 %r5, 0x3c003c00; setp.ge.u32 %p3, %t, 128; @%p3 bra PRODUCER;
        shr.u32 %r2, %s, 4; cvt.u64.u32 %d0, %r2; or.b64 %d0, %d0, 0x0000000800080000;
        setp.ne.u32 %p2, %r0, 0;
        // All but the first come late.
        setp.lt.u32 %p4, %t, 32; @%p4 bra NOW; mov.u32 %r6, 20000;
        LATE: sub.u32 %r6, %r6, 1; setp.ne.u32 %p4, %r6, 0; @%p4 bra LATE;
        NOW: wgmma.fence.sync.aligned;
        wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {{%f0, %f1, %f2, %f3}}, {{%r5, %r5, %r5, %r5}}, %d0, %p2, 1, 1, 0;
        wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;
        @%p0 mbarrier.arrive.shared.b64 _, [bar]; st.global.f32 [%out], %f0; bra END;
        PRODUCER: {} and.b32 %r1, %t, 31; mad.lo.u32 %r1, %r1, 8, %s; st.shared.v2.u32 [%r1], {{0, 0}}; END:",
        wait("W", 0)
    );
    let (findings, words) = run(&body, 160);
    assert_eq!(findings, []);
    assert_eq!(words[..128], [16f32.to_bits(); 128]);
}

/// A product of four warps of this accumulator, with what stands around it.
fn registers(before: &str, after: &str) -> Vec<FindingKind> {
    let body = format!(
        "mad.lo.u32 %r1, %t, 4, %s; st.shared.u32 [%r1], 0; fence.proxy.async; bar.sync 0;
        shr.u32 %r2, %s, 4; cvt.u64.u32 %d0, %r2; or.b64 %d0, %d0, 0x0000000800080000; mov.u32 %r5, 0;
        setp.ne.u32 %p2, %r0, 0; {before}
        wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {{%f0, %f1, %f2, %f3}}, {{%r5, %r5, %r5, %r5}}, %d0, %p2, 1, 1, 0;
        wgmma.commit_group.sync.aligned; {after}"
    );
    found(&body, 128)
}

#[test]
fn registers_of_wgmma_are_used_only_behind_the_wait() {
    let (fence, wait) = ("wgmma.fence.sync.aligned;", "wgmma.wait_group.sync.aligned 0;");
    let store = "st.global.f32 [%out], %f0;";
    assert_eq!(registers(fence, &format!("{wait} {store}")), []);
    assert_eq!(registers(fence, &format!("{store} {wait}")), [UnwaitedRegister]);
    assert_eq!(registers(fence, &format!("add.f32 %f1, %f7, %f7; {wait}")), [UnwaitedRegister]);
    // What A is in may be read meanwhile, not written.
    assert_eq!(registers(fence, &format!("st.global.u32 [%out], %r5; {wait}")), []);
    assert_eq!(registers(fence, &format!("add.u32 %r5, %r5, 1; {wait}")), [UnwaitedRegister]);
    assert_eq!(
        registers(fence, &format!("wgmma.wait_group.sync.aligned 1; {store} {wait}")),
        [UnwaitedRegister]
    );
}

#[test]
fn registers_of_wgmma_are_written_before_a_fence() {
    let (fence, wait) = ("wgmma.fence.sync.aligned;", "wgmma.wait_group.sync.aligned 0;");
    assert_eq!(registers("", wait), [MissingRegisterFence]);
    assert_eq!(registers(&format!("add.f32 %f2, %f7, %f7; {fence}"), wait), []);
    assert_eq!(registers(&format!("{fence} add.f32 %f2, %f7, %f7;"), wait), [MissingRegisterFence]);
    assert_eq!(registers(&format!("{fence} add.u32 %r5, %r0, 3;"), wait), [MissingRegisterFence]);
    assert_eq!(registers(&format!("{fence} add.u32 %r6, %r0, 3;"), wait), [], "it is none of its registers");
    // Compilers rename registers, also behind the fence.
    assert_eq!(registers(&format!("add.f32 %f7, %f7, %f7; {fence} mov.f32 %f2, %f7;"), wait), []);
    assert_eq!(
        registers(&format!("{fence} add.f32 %f7, %f7, %f7; mov.f32 %f2, %f7;"), wait),
        [MissingRegisterFence]
    );
    // One product after the other into the same accumulator needs no fence between them.
    let again = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, {%r5, %r5, %r5, %r5}, %d0, %p2, 1, 1, 0;";
    assert_eq!(registers(fence, &format!("{again} wgmma.commit_group.sync.aligned; {wait}")), []);
}

#[test]
fn a_bulk_group_is_waited_for_by_the_thread_that_committed_it() {
    let kernel = |waits: &str| {
        let body = format!(
            "@%p0 st.shared.u32 [tile], 1; fence.proxy.async; bar.sync 0;
            @%p0 cp.async.bulk.global.shared::cta.bulk_group [%in], [tile], 16; @%p0 cp.async.bulk.commit_group;
            {waits} bar.sync 0; setp.eq.u32 %p4, %t, 1; @%p4 st.shared.u32 [tile], 7;"
        );
        found(&body, 64)
    };
    assert_eq!(kernel("@%p0 cp.async.bulk.wait_group.read 0;"), []);
    assert_eq!(kernel("cp.async.bulk.wait_group.read 0;"), []);
    let expected = [unwaited(Read, Write, Until::BulkRead)];
    assert_eq!(kernel("@!%p0 cp.async.bulk.wait_group.read 0;"), expected, "others wait");
    // `cp.async` without a wait, likewise.
    let kernel = |waits: &str| {
        let body = format!(
            "@%p0 cp.async.ca.shared.global [tile], [%in], 4; @%p0 cp.async.commit_group; {waits} bar.sync 0;
            ld.shared.u32 %r3, [tile]; st.global.u32 [%out], %r3;"
        );
        found(&body, 64)
    };
    assert_eq!(kernel("@%p0 cp.async.wait_group 0;"), []);
    assert_eq!(kernel("@!%p0 cp.async.wait_group 0;"), [unwaited(Write, Read, Until::Copies)]);
}

#[test]
fn what_a_thread_wrote_is_fenced_before_a_bulk_copy_overwrites_it() {
    let kernel = |fence: &str| {
        let body = format!(
            "@%p0 st.shared.u32 [tile], 1; {fence} bar.sync 0;
            @!%p0 bra ELSE; mbarrier.arrive.expect_tx.shared.b64 _, [bar], 16;
            cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [tile], [%in], 16, [bar]; ELSE: {}
            ld.shared.u32 %r3, [tile]; st.global.u32 [%out], %r3;",
            wait("W", 0)
        );
        found(&body, 32)
    };
    assert_eq!(kernel("fence.proxy.async;"), []);
    assert_eq!(kernel("fence.proxy.async.shared::cta;"), []);
    assert_eq!(kernel("fence.proxy.async.global;"), [MissingProxyFence]);
    assert_eq!(kernel("fence.acq_rel.cta;"), [MissingProxyFence]);
}

#[test]
fn an_mbarrier_is_initialised_before_others_use_it() {
    let kernel = |between: &str| {
        let body = format!(
            ".shared .align 8 .b64 other; @%p0 mbarrier.init.shared.b64 [other], 64; {between}
            mbarrier.arrive.shared.b64 %d1, [other];"
        );
        found(&body, 64)
    };
    assert_eq!(kernel("bar.sync 0;"), []);
    let racy = kernel("");
    assert!(!racy.is_empty() && racy.iter().all(|it| matches!(it, Race { .. })), "{racy:?}");
    // A fence alone does not synchronise threads.
    assert!(!kernel("@%p0 fence.mbarrier_init.release.cluster;").is_empty());
}

#[test]
fn arrivals_and_waits_order_unless_they_are_relaxed() {
    let kernel = |arrive: &str, wait: &str, before: &str, after: &str| {
        let body = format!(
            "@!%p0 bra OTHERS; st.shared.u32 [tile], 1; {before} mbarrier.arrive{arrive}.shared::cta.b64 %d1, [bar]; bra END;
            OTHERS: setp.ne.u32 %p4, %t, 32; @%p4 bra END;
            W: mbarrier.try_wait.parity{wait}.shared::cta.b64 %p1, [bar], 0; @!%p1 bra W; {after}
            ld.shared.u32 %r3, [tile]; st.global.u32 [%out], %r3; END:"
        );
        found(&body, 64)
    };
    let races =
        |found: Vec<FindingKind>| !found.is_empty() && found.iter().all(|it| matches!(it, Race { .. }));
    assert_eq!(kernel("", "", "", ""), []);
    assert_eq!(kernel(".release.cta", ".acquire.cta", "", ""), []);
    assert!(races(kernel(".relaxed.cta", "", "", "")));
    assert!(races(kernel("", ".relaxed.cta", "", "")));
    assert_eq!(kernel(".relaxed.cta", ".relaxed.cta", "fence.acq_rel.cta;", "fence.acq_rel.cta;"), []);
}

#[test]
fn a_copy_completes_on_its_own_mbarrier() {
    let kernel = |waits: &str| {
        let body = format!(
            ".shared .align 8 .b64 second; @%p0 mbarrier.init.shared.b64 [second], 1; @%p0 fence.mbarrier_init.release.cluster; bar.sync 0;
            @!%p0 bra ELSE;
            mbarrier.arrive.expect_tx.shared.b64 _, [bar], 16;
            cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [tile], [%in], 16, [bar];
            mbarrier.arrive.expect_tx.shared.b64 _, [second], 16;
            cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [tile+16], [%in+16], 16, [second];
            ELSE: {waits} ld.shared.u32 %r3, [tile]; st.global.u32 [%out], %r3;"
        );
        found(&body, 32)
    };
    assert_eq!(kernel(&wait("W", 0)), []);
    let expected = [unwaited(Write, Read, Until::Mbarrier)];
    assert_eq!(kernel(&wait("W", 0).replace("[bar]", "[second]")), expected, "the other mbarrier");
    assert_eq!(kernel(""), expected);
}

/// What is found in two CTAs of a cluster, of 32 threads each: `%peer` is the address of `tile` in the other, `%far` that
/// of `bar`, and `%rank` the CTA.
fn found_in_cluster(body: &str) -> Vec<FindingKind> {
    let source = format!(
        ".version 8.6\n.target sm_90a\n.address_size 64
        .visible .entry k(.param .u64 out) .reqnctapercluster 2\n{{
        .reg .pred %p<8>; .reg .b32 %r<16>, %t, %s, %rank, %peer, %far; .reg .b64 %d<8>, %out;
        .shared .align 128 .b8 tile[4096]; .shared .align 8 .b64 bar;
        ld.param.u64 %out, [out]; mov.u32 %t, %tid.x; mov.u32 %rank, %cluster_ctarank; setp.eq.u32 %p0, %t, 0;
        mov.u32 %s, tile; xor.b32 %r0, %rank, 1; mapa.shared::cluster.u32 %peer, %s, %r0;
        mov.u32 %r1, bar; mapa.shared::cluster.u32 %far, %r1, %r0; setp.eq.u32 %p5, %rank, 0;
        {body}
        ret;\n}}"
    );
    let load = Device::load(&[&source], LoadOptions::default());
    let device = load.unwrap_or_else(|error| panic!("{error:?}"));
    let output = device.allocate(4096).expect("memory");
    let arguments = [output.to_le_bytes().to_vec()];
    let sanitize = Sanitize { race: true, ..Sanitize::default() };
    let launch =
        Launch { sanitize, cluster: Some([2, 1, 1]), ..Launch::new("k", [2, 1, 1], [32, 1, 1], &arguments) };
    let report = device.launch(&launch).unwrap_or_else(|error| panic!("{error}"));
    report.findings.into_iter().map(|finding| finding.kind).collect()
}

const CLUSTER: &str = "barrier.cluster.arrive.release; barrier.cluster.wait.acquire;";

#[test]
fn the_barrier_of_the_cluster_orders_unless_it_is_relaxed() {
    let kernel = |arrive: &str| {
        found_in_cluster(&format!(
            "@%p0 st.shared::cluster.u32 [%peer], 1; {arrive} barrier.cluster.wait; ld.shared.u32 %r3, [tile]; {CLUSTER}"
        ))
    };
    assert_eq!(kernel("barrier.cluster.arrive;"), []);
    assert_eq!(kernel("fence.acq_rel.cluster; barrier.cluster.arrive.relaxed;"), []);
    let races = |found: Vec<FindingKind>| {
        !found.is_empty() && found.iter().all(|it| matches!(it, Race { across: true, .. }))
    };
    assert!(races(kernel("barrier.cluster.arrive.relaxed;")));
    assert!(races(kernel("fence.acq_rel.cta; barrier.cluster.arrive.relaxed;")));
    assert!(races(kernel("fence.mbarrier_init.release.cluster; barrier.cluster.arrive.relaxed;")));
}

#[test]
fn an_mbarrier_of_another_cta_is_initialised_before_it_is_used() {
    let kernel = |between: &str| {
        found_in_cluster(&format!(
            "@%p0 mbarrier.init.shared.b64 [bar], 1; {between} @%p0 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%far]; {CLUSTER}"
        ))
    };
    let fence = "fence.mbarrier_init.release.cluster;";
    assert_eq!(kernel(&format!("{fence} barrier.cluster.arrive.relaxed; barrier.cluster.wait;")), []);
    assert_eq!(kernel(CLUSTER), []);
    assert!(!kernel("barrier.cluster.arrive.relaxed; barrier.cluster.wait;").is_empty());
}

#[test]
fn st_async_is_waited_for_at_its_mbarrier() {
    let kernel = |between: &str| {
        found_in_cluster(&format!(
            "@%p0 mbarrier.init.shared.b64 [bar], 1; @%p0 fence.mbarrier_init.release.cluster; {CLUSTER}
            @%p0 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 4;
            @%p0 st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%peer], %t, [%far];
            {between} ld.shared.u32 %r3, [tile]; {CLUSTER}"
        ))
    };
    assert_eq!(kernel(&wait("W", 0)), []);
    // In each of the CTAs.
    assert_eq!(
        kernel(CLUSTER),
        [unwaited(Write, Read, Until::Mbarrier), unwaited(Write, Read, Until::Mbarrier)]
    );
}
