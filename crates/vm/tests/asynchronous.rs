//! Mbarriers and asynchronous copies: results, faults and deadlocks.

use softwarp_tensor::{Description, Element, Map, Target, object};
use softwarp_units::mbarrier::Misuse;
use softwarp_vm::device::{Device, Launch, LaunchError, LoadOptions};
use softwarp_vm::fault::{Fault, FaultKind, Problem, Use, What};
use softwarp_vm::sanitize::{FindingKind, Sanitize, Until};
use std::time::Duration;

/// A kernel `k(out, map)` of this body. `mb` is an mbarrier, `s` shared memory.
fn kernel(body: &str) -> String {
    format!(
        ".version 8.6\n.target sm_90a\n.address_size 64
        .visible .entry k(.param .u64 out, .param .align 64 .b8 map[128])\n{{
        .reg .pred %p<8>; .reg .b32 %r<32>, %t; .reg .b64 %d<16>, %out, %map; .reg .b16 %h<8>;
        .shared .align 1024 .b8 s[4096]; .shared .align 8 .b64 mb; .shared .align 8 .b64 more[4];
        ld.param.u64 %out, [out]; mov.u32 %t, %tid.x; setp.eq.u32 %p0, %t, 0;
        mov.b64 %map, map; cvta.param.u64 %map, %map;
        {body}\nret;\n}}\n"
    )
}

/// The map of a tensor of 16 rows of 32 words in `out`, in boxes of 8 rows of 16 words.
fn tensor_map(address: u64) -> Vec<u8> {
    let description =
        Description { address, ..Description::tiled(Element::U32, &[32, 16], &[128], &[16, 8]) };
    object::encode(&Map::new(&description, Target::SM_90).expect("legal")).to_vec()
}

/// What `out` holds after a launch (it begins with 0, 1, 2, …), or what stopped it.
fn run_with(
    body: &str,
    (grid, block): (u32, u32),
    sanitize: Sanitize,
) -> (Result<Vec<u32>, Box<Fault>>, Device) {
    let source = kernel(body);
    let device = Device::load(&[&source], LoadOptions::default()).unwrap_or_else(|error| panic!("{error:?}"));
    let out = device.allocate(4096).expect("memory");
    let words: Vec<u8> = (0..1024u32).flat_map(u32::to_le_bytes).collect();
    device.write(out, &words).expect("written");
    let arguments = [out.to_le_bytes().to_vec(), tensor_map(out)];
    let launch = Launch {
        sanitize,
        most_time: Some(Duration::from_secs(60)),
        ..Launch::new("k", [grid, 1, 1], [block, 1, 1], &arguments)
    };
    match device.launch(&launch) {
        Ok(_) => {}
        Err(LaunchError::Fault(fault)) => return (Err(fault), device),
        Err(error) => panic!("{error}"),
    }
    let mut bytes = vec![0; 4096];
    device.read(out, &mut bytes).expect("read");
    let words = bytes.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word)).collect();
    (Ok(words), device)
}

fn run(body: &str, block: u32) -> Vec<u32> {
    run_with(body, (1, block), Sanitize::default()).0.unwrap_or_else(|fault| panic!("{fault}"))
}

fn fault(body: &str, block: u32) -> FaultKind {
    match run_with(body, (1, block), Sanitize::default()).0 {
        Err(fault) => fault.kind,
        Ok(_) => panic!("it ran"),
    }
}

fn misuse(body: &str) -> Misuse {
    match fault(body, 1) {
        FaultKind::Mbarrier { misuse, .. } => misuse,
        other => panic!("{other}"),
    }
}

const WAIT: &str = "W: mbarrier.try_wait.parity.shared.b64 %p7, [mb], 0; @!%p7 bra W;";

#[test]
fn warps_wait_for_one_another_at_an_mbarrier_however_long_it_takes() {
    let body = format!(
        "@%p0 mbarrier.init.shared.b64 [mb], 32; bar.sync 0;
        setp.ge.u32 %p1, %t, 32; @%p1 bra W;
        mov.u32 %r1, 0; mov.u32 %r2, 1;
    L:  mad.lo.u32 %r2, %r2, 1664525, 1013904223; add.u32 %r1, %r1, 1; setp.lt.u32 %p2, %r1, 3000000; @%p2 bra L;
        mul.wide.u32 %d1, %t, 4; mov.u64 %d2, s; cvt.u32.u64 %r3, %d1; mov.u32 %r4, s; add.u32 %r4, %r4, %r3;
        st.shared.u32 [%r4], %r2; mbarrier.arrive.shared.b64 %d3, [mb]; bra E;
    {WAIT}
        sub.u32 %r5, %t, 32; mov.u32 %r4, s; mad.lo.u32 %r4, %r5, 4, %r4; ld.shared.u32 %r6, [%r4];
        mul.wide.u32 %d1, %r5, 4; add.u64 %d1, %out, %d1; st.global.u32 [%d1], %r6;
    E:"
    );
    let words = run(&body, 64);
    let expected = (0..3_000_000).fold(1u32, |x, _| x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223));
    assert!(words[..32].iter().all(|&word| word == expected));
}

#[test]
fn a_deadlock_at_an_mbarrier_says_which_and_what_it_lacks() {
    let body = format!(
        "@%p0 mbarrier.init.shared.b64 [more+8], 3; bar.sync 0;
        @%p0 mbarrier.arrive.expect_tx.shared.b64 %d1, [more+8], 128;
        setp.ge.u32 %p1, %t, 32; @%p1 bra B; {}
    B:  bar.sync 1;",
        WAIT.replace("[mb]", "[more+8]")
    );
    let kind = fault(&body, 64);
    let FaultKind::Deadlock(waiting) = &kind else { panic!("{kind}") };
    let polled = waiting.iter().find_map(|one| one.mbarrier.as_ref()).expect("an mbarrier");
    assert_eq!((polled.parity, polled.pending, polled.expected, polled.bytes), (0, 2, 3, 128));
    let nearest = polled.nearest.as_ref().expect("a variable");
    assert_eq!(nearest.what, What::Variable("more".to_owned()));
    assert_eq!(waiting.iter().filter(|one| one.barrier == Some(1)).count(), 1);
    let alone = fault(&format!("mbarrier.init.shared.b64 [mb], 2; {WAIT}"), 1).to_string();
    assert!(alone.contains("one waits for mbarrier `mb`"), "{alone}");
    assert!(alone.contains("whose phase of parity 0 lacks 2 of 2 arrivals and 0 bytes"), "{alone}");
    let never = fault(WAIT, 1).to_string();
    assert!(never.contains("mbarrier `mb`") && never.contains("was not initialised"), "{never}");
}

#[test]
fn who_looks_at_a_clock_while_waiting_may_give_up() {
    let body = "mbarrier.init.shared.b64 [mb], 1; mov.u64 %d1, %clock64; mov.u32 %r1, 0;
    W:  mbarrier.test_wait.parity.shared.b64 %p1, [mb], 0; @%p1 bra E; mov.u64 %d2, %clock64;
        add.u32 %r1, %r1, 1; setp.lt.u32 %p2, %r1, 100000; @%p2 bra W;
    E:  st.global.u32 [%out], %r1;";
    assert_eq!(run(body, 1)[0], 100_000);
}

#[test]
fn what_an_mbarrier_cannot_count_is_a_fault() {
    assert_eq!(misuse("mbarrier.arrive.shared.b64 %d1, [mb];"), Misuse::Uninitialised);
    assert_eq!(
        misuse(
            "mbarrier.init.shared.b64 [mb], 1; mbarrier.inval.shared.b64 [mb]; mbarrier.arrive.shared.b64 %d1, [mb];"
        ),
        Misuse::Invalidated
    );
    assert_eq!(
        misuse("mbarrier.init.shared.b64 [mb], 2; mbarrier.arrive.shared.b64 %d1, [mb], 5;"),
        Misuse::Arrivals { count: 5, pending: 2 }
    );
    assert_eq!(misuse("mov.u32 %r1, 0; mbarrier.init.shared.b64 [mb], %r1;"), Misuse::Count(0));
    // Lanes arrive at once.
    let FaultKind::Mbarrier { misuse, .. } = fault(
        "@%p0 mbarrier.init.shared.b64 [mb], 16; bar.warp.sync -1; mbarrier.arrive.shared.b64 %d1, [mb];",
        32,
    ) else {
        panic!("another fault")
    };
    assert_eq!(misuse, Misuse::Arrivals { count: 32, pending: 16 });
}

#[test]
fn copies_that_break_a_rule_are_faults_that_name_it() {
    let bulk = "mbarrier.init.shared.b64 [mb], 1; mov.u32 %r1, SIZE;
        cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s+TO], [%out], %r1, [mb];";
    let with = |size: &str, to: &str| fault(&bulk.replace("SIZE", size).replace("TO", to), 1);
    let FaultKind::Copy { rule: "copy-size", message } = with("24", "0") else { panic!("another fault") };
    assert_eq!(message, "bulk copies are of multiples of 16 bytes, not 24");
    let FaultKind::Access(bad) = with("16", "8") else { panic!("another fault") };
    assert_eq!((bad.problem, bad.bytes), (Problem::Misaligned, 16));
    let FaultKind::Access(bad) = with("8192", "0") else { panic!("another fault") };
    assert_eq!((bad.problem, bad.bytes), (Problem::OutOfBounds, 8192));

    let tensor = |dim: &str, at: &str, more: &str| {
        let load = format!(
            "mbarrier.init.shared.b64 [mb], 1; mov.u32 %r1, 0; {more}
            cp.async.bulk.tensor.{dim}.shared::cluster.global.mbarrier::complete_tx::bytes [s], [%map, {at}], [mb];"
        );
        match fault(&load, 1) {
            FaultKind::Copy { rule, .. } => rule,
            other => panic!("{other}"),
        }
    };
    assert_eq!(tensor("3d", "{%r1, %r1, %r1}", ""), "copy-rank");
    assert_eq!(tensor("2d", "{%r2, %r1}", "mov.u32 %r2, 2;"), "copy-start");
    // What is no map: the words 0, 1, 2, … of `out`.
    assert_eq!(tensor("1d", "{%r1}", "mov.b64 %map, %out;"), "E1021");
}

#[test]
fn a_tile_goes_to_shared_memory_and_back_through_the_map() {
    let body = format!(
        "@!%p0 bra W; mbarrier.init.shared.b64 [mb], 1; mov.u32 %r1, 16; mov.u32 %r2, 12; mov.u32 %r3, 0;
        mbarrier.arrive.expect_tx.shared.b64 _, [mb], 512;
        cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [s], [%map, {{%r1, %r2}}], [mb];
        {WAIT}
        bar.sync 0; @!%p0 bra E;
        cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%map, {{%r3, %r3}}], [s];
        cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;
    E:"
    );
    let words = run(&body, 32);
    // The last four rows of the box are outside, and so zero.
    for row in 0..8u32 {
        let expected = |column: u32| if row < 4 { (12 + row) * 32 + 16 + column } else { 0 };
        let found = &words[row as usize * 32..][..16];
        assert!((0..16).all(|column| found[column as usize] == expected(column)), "row {row}: {found:?}");
    }
}

#[test]
fn maps_lie_in_parameters_constants_or_global_memory_and_nowhere_else() {
    let body = |map: &str| {
        format!(
            "mbarrier.init.shared.b64 [mb], 1; mov.u32 %r1, 0; mov.u32 %r2, 1; {map}
            mbarrier.arrive.expect_tx.shared.b64 _, [mb], 512;
            cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [s], [%map, {{%r1, %r2}}], [mb];
            {WAIT} ld.shared.u32 %r3, [s+64]; st.global.u32 [%out], %r3;"
        )
    };
    let copied = |to: &str| {
        let words = (0..16).map(|word| format!("ld.u64 %d3, [%map+{0}]; st{to} [%d4+{0}], %d3;", 8 * word));
        words.collect::<Vec<_>>().join(" ")
    };
    // Row 2 of the tensor begins with 64.
    assert_eq!(run(&body(""), 1)[0], 64);
    let global = format!("add.u64 %d4, %out, 2048; {} mov.b64 %map, %d4;", copied(".global.u64"));
    assert_eq!(run(&body(&global), 1)[0], 64);
    let source = kernel(&body("mov.u64 %map, cmap; cvta.const.u64 %map, %map;"))
        .replace(".visible", ".const .align 64 .b8 cmap[128];\n.visible");
    let device = Device::load(&[&source], LoadOptions::default()).unwrap_or_else(|error| panic!("{error:?}"));
    let out = device.allocate(4096).expect("memory");
    let words: Vec<u8> = (0..1024u32).flat_map(u32::to_le_bytes).collect();
    device.write(out, &words).expect("written");
    device.write_variable("cmap", &tensor_map(out)).expect("written");
    let arguments = [out.to_le_bytes().to_vec(), vec![0; 128]];
    device.launch(&Launch::new("k", [1; 3], [1; 3], &arguments)).expect("it runs");
    let mut word = [0; 4];
    device.read(out, &mut word).expect("read");
    assert_eq!(u32::from_le_bytes(word), 64);
    let shared = format!(
        "mov.u64 %d4, s; cvta.shared.u64 %d4, %d4; add.u64 %d4, %d4, 1024; {} mov.b64 %map, %d4;",
        copied(".u64")
    );
    let FaultKind::Copy { rule: "copy-map", message } = fault(&body(&shared), 1) else {
        panic!("another fault")
    };
    assert!(message.contains("not in .shared"), "{message}");
}

#[test]
fn a_read_before_the_wait_is_a_race_and_one_behind_it_is_none() {
    let body = |wait: &str| {
        format!(
            "@%p0 mbarrier.init.shared.b64 [mb], 1; bar.sync 0; @!%p0 bra W;
            mbarrier.arrive.expect_tx.shared.b64 _, [mb], 256;
            cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [%out], 256, [mb];
            {wait}
            mul.wide.u32 %d1, %t, 4; mov.u32 %r4, s; mad.lo.u32 %r4, %t, 4, %r4; ld.shared.u32 %r5, [%r4];
            add.u64 %d1, %out, %d1; st.global.u32 [%d1+1024], %r5;"
        )
    };
    let found = |body: &str| {
        let (result, device) = run_with(body, (1, 64), Sanitize::ALL);
        (result.unwrap_or_else(|fault| panic!("{fault}")), device.findings().to_vec())
    };
    let (words, findings) = found(&body(WAIT));
    assert_eq!((findings, &words[256..320]), (vec![], &(0..64).collect::<Vec<u32>>()[..]));
    let (_, findings) = found(&body("W:"));
    let until = Until::Mbarrier;
    let unwaited = FindingKind::Unwaited { first: Use::Write, second: Use::Read, until };
    assert!(findings.iter().any(|one| one.kind == unwaited), "{findings:?}");
}

#[test]
fn what_is_beyond_the_machine_is_refused_by_name() {
    let source =
        kernel("cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [s], [%out], 16, [mb];")
            .replace(".version 8.6", ".version 9.4")
            .replace("sm_90a", "sm_107f")
            .replace("::bytes [s]", "::bytes.mbarrier::report::validity::per_16bytes::8 [s]");
    match Device::load(&[&source], LoadOptions::default()) {
        Ok(device) => {
            let error = device.program("k").map(drop).expect_err("refused");
            assert!(format!("{error}").contains("a report of what is valid"), "{error}");
        }
        Err(error) => panic!("{error:?}"),
    }
}
