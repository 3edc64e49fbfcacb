//! What stops a launch, and what is said of it; what is no launch at all.

use crate::small::*;
use softwarp_ir::Memory;
use softwarp_vm::device::{Device, Launch, LaunchError, LoadOptions};
use softwarp_vm::fault::{FaultKind, Problem, Relative, Use, What};
use softwarp_vm::memory::global::MemoryError;
use softwarp_vm::stats::Progress;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

#[test]
fn a_write_past_an_allocation_names_the_thread_the_address_and_the_allocation() {
    let (device, out, fault) = fault("", "st.global.u32 [%o+4], %t;", (2, 64), 127);
    let bad = bad(&fault);
    assert_eq!((bad.problem, bad.usage, bad.space), (Problem::OutOfBounds, Use::Write, Memory::Global));
    assert_eq!((bad.address, bad.bytes), (out + 508, 4));
    let nearest = bad.nearest.as_ref().expect("the allocation");
    assert_eq!((&nearest.what, nearest.base, nearest.bytes), (&What::Allocation, out, 508));
    assert_eq!((nearest.at, nearest.freed), (Relative::After(0), false));
    let place = fault.place.as_ref().expect("a place");
    assert_eq!((place.cta, place.thread, place.warp), ([1, 0, 0], [62, 0, 0], 1));
    assert_eq!(text(&device, &fault).trim_end_matches(';'), "st.global.u32 [%o+4], %t");
    assert_eq!(fault.kernel, "k");
}

#[test]
fn null_misaligned_freed_and_read_only_are_told_apart() {
    let problem =
        |body: &str| bad(&fault(".const .u32 c[4]; .global .u32 g[4];", body, (1, 32), 32).2).clone();
    let null = problem("mov.u64 %d1, 0; ld.global.u32 %r1, [%d1];");
    assert_eq!((null.problem, null.address, null.nearest), (Problem::OutOfBounds, 0, None));
    let odd = problem("ld.global.u32 %r1, [%o+2];");
    assert_eq!((odd.problem, odd.usage), (Problem::Misaligned, Use::Read));
    let vector = problem("ld.global.v2.u32 {%r1, %r2}, [%out+4];");
    assert_eq!((vector.problem, vector.bytes), (Problem::Misaligned, 8));
    let constant = problem("mov.u64 %d1, c; cvta.const.u64 %d1, %d1; st.u32 [%d1+4], 1;");
    assert_eq!(
        (constant.problem, constant.space, constant.address),
        (Problem::ReadOnly, Memory::Constant, 4)
    );
    assert_eq!(
        constant.nearest.map(|n| (n.what, n.at)),
        Some((What::Variable("c".into()), Relative::Inside(4)))
    );
    let global = problem("ld.global.u32 %r1, [g+16];");
    assert_eq!(
        global.nearest.map(|n| (n.what, n.at)),
        Some((What::Variable("g".into()), Relative::After(0)))
    );
    let shared = problem(".shared .u32 s[4]; ld.shared.u32 %r1, [s+20];");
    let named = shared.nearest.map(|n| (n.what, n.bytes, n.at));
    assert_eq!(named, Some((What::Variable("s".into()), 16, Relative::After(4))));
    let local = problem(".local .u32 l; mov.u64 %d1, l; sub.u64 %d1, %d1, 4096; ld.local.u32 %r1, [%d1];");
    assert_eq!((local.problem, local.space), (Problem::OutOfBounds, Memory::Local));
}

#[test]
fn memory_that_was_freed_is_known_to_have_been() {
    let device = device("", "st.global.u32 [%o], 1;");
    let out = device.allocate(128).expect("memory");
    device.free(out).expect("allocated");
    assert_eq!(device.free(out), Err(MemoryError::Freed { address: out, base: out, bytes: 128 }));
    let arguments = [out.to_le_bytes().to_vec()];
    let result = device.launch(&Launch::new("k", [1, 1, 1], [32, 1, 1], &arguments));
    let Err(LaunchError::Fault(fault)) = result else { panic!("{result:?}") };
    assert_eq!(bad(&fault).problem, Problem::Freed);
    assert_eq!(bad(&fault).nearest.as_ref().map(|nearest| nearest.freed), Some(true));
}

#[test]
fn the_first_cta_that_fails_is_the_one_reported() {
    let body = "setp.lt.u32 %p1, %r30, 640; @%p1 bra OK; trap; OK:";
    for threads in [1, 2] {
        let mut device = device("", body);
        let (_, result) = launch_on(&mut device, (50, 32), 1, |l| Launch { threads: Some(threads), ..l });
        let Err(LaunchError::Fault(fault)) = result else { panic!("{result:?}") };
        assert_eq!(fault.kind, FaultKind::Trap);
        assert_eq!(fault.place.map(|place| place.cta), Some([20, 0, 0]));
    }
}

#[test]
fn limits_and_requests_stop_an_endless_loop() {
    let body = "L: add.u32 %r1, %r1, 1; bra L;";
    let stopped = |set: &dyn for<'a> Fn(Launch<'a>) -> Launch<'a>| {
        let (_, result) = launch_on(&mut device("", body), (4, 64), 1, set);
        match result {
            Err(LaunchError::Fault(fault)) => fault.kind,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(stopped(&|l| Launch { most_instructions: Some(100_000), ..l }), FaultKind::StepLimit);
    assert_eq!(
        stopped(&|l| Launch { most_time: Some(Duration::from_millis(20)), ..l }),
        FaultKind::TimeLimit
    );
    static CANCEL: AtomicBool = AtomicBool::new(true);
    assert_eq!(stopped(&|l| Launch { cancel: Some(&CANCEL), ..l }), FaultKind::Cancelled);
}

#[test]
fn a_large_grid_that_does_little_takes_no_memory_and_says_how_far_it_is() {
    let device = device("", "");
    let progress = Progress::default();
    let out = device.allocate(4).expect("memory");
    let arguments = [out.to_le_bytes().to_vec()];
    let launch =
        Launch { progress: Some(&progress), ..Launch::new("k", [20_000, 5, 1], [32, 1, 1], &arguments) };
    let report = device.launch(&launch).expect("no fault");
    assert_eq!((report.ctas, progress.ctas_done.load(Ordering::Relaxed)), (100_000, 100_000));
    assert_eq!(report.counts.warp_instructions, progress.warp_instructions.load(Ordering::Relaxed));
    assert_eq!(report.counts.thread_instructions, 32 * report.counts.warp_instructions);
}

#[test]
fn launches_that_cannot_be_are_refused() {
    let source = format!(
        "{HEADER}.visible .entry k(.param .u64 a, .param .u32 b) .maxntid 128 {{ .shared .b8 s[40000]; st.shared.u8 [s], 1; ret; }}
         .visible .entry r() .reqntid 32, 2 {{ ret; }}"
    );
    let mut device = Device::load(&[&source], LoadOptions::default()).expect("valid");
    let good = [vec![0; 8], vec![0; 4]];
    let refused = |device: &mut Device, launch: Launch<'_>| match device.launch(&launch) {
        Err(error) => error.to_string(),
        Ok(_) => "ran".into(),
    };
    let plain = Launch::new("k", [1, 1, 1], [32, 1, 1], &good);
    let rows = [
        (Launch { kernel: "q", ..plain }, "there is no kernel `q`"),
        (Launch { grid: [1, 0, 1], ..plain }, "grid.y is 0: it must be from 1 to 65535"),
        (Launch { block: [1, 1, 65], ..plain }, "block.z is 65: it must be from 1 to 64"),
        (Launch { block: [64, 32, 1], ..plain }, "a CTA of 2048 threads: there can be 1024"),
        (Launch { block: [129, 1, 1], ..plain }, "a CTA of 129 threads: there can be 128"),
        (
            Launch { dynamic_shared: 200_000, ..plain },
            "the launch needs 240000 bytes of shared memory for each CTA, and a CTA can have 232448",
        ),
        (Launch { arguments: &good[..1], ..plain }, "1 arguments: the kernel has 2 parameters"),
        (
            Launch { kernel: "r", arguments: &[], ..plain },
            "CTAs of [32, 1, 1] threads: the kernel is for [32, 2, 1]",
        ),
        (plain, "ran"),
    ];
    for (launch, said) in rows {
        assert_eq!(refused(&mut device, launch), said);
    }
    let wrong = [vec![0; 8], vec![0; 8]];
    let said = refused(&mut device, Launch { arguments: &wrong, ..plain });
    assert_eq!(said, "argument 1 has 8 bytes: parameter `b` has 4");
}
