//! Limits of a launch: steps, time, requests to stop and host memory hold whatever a kernel does.
//!
//! Every kernel here runs for ever, or for years, or wants more memory than there is. Bounds on time are generous: what
//! is tested is that a launch ends at all, and how.

use crate::endless::{Endless, endless};
use crate::small::HEADER;
use softwarp_testkit::recording;
use softwarp_vm::device::{Device, Launch, LaunchError, LoadError, LoadOptions, Report};
use softwarp_vm::fault::FaultKind;
use softwarp_vm::memory::global::MemoryError;
use softwarp_vm::sanitize::Sanitize;
use softwarp_vm::schedule::Schedule;
use softwarp_vm::stats::Progress;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Long enough that a busy machine is no reason to fail; a limit that is not checked fails all the same.
const LATE: Duration = Duration::from_secs(30);

fn load(declared: &str, body: &str) -> Device {
    let source = format!(
        "{HEADER}{declared}\n.visible .entry k(.param .u64 out)\n{{\n.reg .pred %p<4>; .reg .b32 %r<40>; \
         .reg .b64 %d<8>; .reg .f64 %e<4>;\nld.param.u64 %d0, [out];\n{body}\n}}\n"
    );
    Device::load(&[&source], LoadOptions::default()).unwrap_or_else(|error| panic!("{error:?}\n{source}"))
}

/// Launches `k` with a buffer of 256 KiB.
fn launch(
    device: &mut Device,
    grid: u32,
    block: u32,
    set: impl for<'a> FnOnce(Launch<'a>) -> Launch<'a>,
) -> Result<Report, LaunchError> {
    let out = device.allocate(1 << 18).expect("memory");
    let arguments = [out.to_le_bytes().to_vec()];
    device.launch(&set(Launch::new("k", [grid, 1, 1], [block, 1, 1], &arguments)))
}

fn kind(what: &str, result: Result<Report, LaunchError>) -> FaultKind {
    match result {
        Err(LaunchError::Fault(fault)) => fault.kind,
        other => panic!("{what}: {other:?}"),
    }
}

/// Functions that all call each other.
fn mutual(count: usize) -> String {
    let declared: String = (0..count).map(|i| format!(".func f{i}();\n")).collect();
    let calls: String = (0..count).map(|i| format!("call f{i};\n")).collect();
    declared + &(0..count).map(|i| format!(".func f{i}() {{\n{calls}ret; }}\n")).collect::<String>()
}

/// How a launch of what runs for ever ended.
fn ended(one: &Endless, limits: Launch<'_>) -> FaultKind {
    let mut device = one.load();
    let arguments = one.arguments(&mut device);
    let began = Instant::now();
    let result = device.launch(&one.launch(&arguments, limits));
    assert!(began.elapsed() < LATE, "{}: {:?}", one.what, began.elapsed());
    kind(one.what, result)
}

#[test]
fn the_step_limit_ends_whatever_runs_for_ever() {
    for one in endless() {
        let most_time = Some(2 * LATE);
        let kind = ended(&one, Launch { most_instructions: Some(1000), most_time, ..Launch::default() });
        assert_eq!(kind, FaultKind::StepLimit, "{}", one.what);
    }
}

/// Recursion is deep before it is long: the stack ends it where no limit does, and no clock decides which.
#[test]
fn functions_that_all_call_each_other_end() {
    for (most_instructions, expected) in
        [(Some(1000), FaultKind::StepLimit), (None, FaultKind::StackOverflow)]
    {
        let mut device = load(&mutual(100), "call f0;\nret;");
        let began = Instant::now();
        let result = launch(&mut device, 4, 32, |launch| Launch { most_instructions, ..launch });
        assert_eq!(kind("k", result), expected);
        assert!(began.elapsed() < LATE, "{:?}", began.elapsed());
    }
}

#[test]
fn the_time_limit_ends_whatever_runs_for_ever_watched_or_not() {
    for one in endless() {
        for sanitize in [Sanitize::default(), Sanitize::ALL] {
            let most_time = Some(Duration::from_millis(50));
            let kind = ended(&one, Launch { most_time, threads: Some(2), sanitize, ..Launch::default() });
            assert_eq!(kind, FaultKind::TimeLimit, "{} {sanitize:?}", one.what);
        }
    }
}

#[test]
fn a_request_ends_whatever_runs_for_ever() {
    for one in endless() {
        let (cancel, progress) = (AtomicBool::new(false), Progress::default());
        let kind = std::thread::scope(|scope| {
            scope.spawn(|| {
                while progress.ctas.load(Ordering::Relaxed) == 0 {
                    std::thread::yield_now();
                }
                cancel.store(true, Ordering::Relaxed);
            });
            ended(&one, Launch { cancel: Some(&cancel), progress: Some(&progress), ..Launch::default() })
        });
        assert_eq!(kind, FaultKind::Cancelled, "{}", one.what);
    }
}

/// An address may stand for very many places, with and without observers.
#[test]
fn limits_hold_while_one_instruction_writes_to_65536_places() {
    let copy = "multimem.cp.async.bulk.global.shared::cta.bulk_group [%d0], [%r0], 32768;";
    let source = format!(
        ".version 9.1\n.target sm_100a\n.address_size 64\n.shared .align 128 .b8 s[32768];\n\
         .visible .entry k(.param .u64 all) {{ .reg .b32 %r0; .reg .b64 %d0; ld.param.u64 %d0, [all]; mov.u32 %r0, s;\n\
         L: {copy}\nbra L; }}"
    );
    for sanitize in [Sanitize::default(), Sanitize::ALL] {
        for (most_instructions, most_time, stopped) in [
            (None, Some(Duration::from_millis(50)), FaultKind::TimeLimit),
            (Some(1000), None, FaultKind::StepLimit),
        ] {
            let device = Device::load(&[&source], LoadOptions::default()).expect("valid");
            let place = device.allocate(32768).expect("memory");
            let all = device.multicast(&vec![place; 65536], 32768).expect("it is there");
            let arguments = [all.to_le_bytes().to_vec()];
            let launch = Launch::new("k", [1, 1, 1], [32, 1, 1], &arguments);
            let began = Instant::now();
            let result = device.launch(&Launch { most_instructions, most_time, sanitize, ..launch });
            assert_eq!(kind(copy, result), stopped, "{sanitize:?}");
            assert!(began.elapsed() < LATE, "{sanitize:?}: {:?}", began.elapsed());
        }
    }
}

#[test]
fn a_grid_of_ctas_that_do_nothing_is_stopped() {
    let source = format!("{HEADER}.visible .entry k() {{ }}\n");
    for (steps, time, stopped) in [
        (Some(1000), None, FaultKind::StepLimit),
        (None, Some(Duration::from_millis(50)), FaultKind::TimeLimit),
    ] {
        let device = Device::load(&[&source], LoadOptions::default()).expect("valid");
        let began = Instant::now();
        let result = device.launch(&Launch {
            most_instructions: steps,
            most_time: time,
            ..Launch::new("k", [0x7fff_ffff, 65535, 65535], [1024, 1, 1], &[])
        });
        assert_eq!(kind("k", result), stopped);
        assert!(began.elapsed() < LATE, "{:?}", began.elapsed());
    }
}

#[test]
fn steps_count_work_and_not_instructions_alone() {
    // Four instructions of a warp, of which one copies 32 times 32 KiB.
    let body = "mov.u32 %r0, s;\ncp.async.bulk.global.shared::cta.bulk_group [%d0], [%r0], 32768;\nret;";
    let mut device = load(".shared .align 128 .b8 s[32768];", body);
    let steps = |device: &mut Device, most: u64| {
        launch(device, 1, 32, |launch| Launch { most_instructions: Some(most), ..launch })
    };
    let report = steps(&mut device, 100_000).expect("it is little");
    assert!(report.counts.warp_instructions <= 4);
    assert_eq!(kind("k", steps(&mut device, 1000)), FaultKind::StepLimit);
}

#[test]
fn limits_hold_in_the_midst_of_a_long_basic_block() {
    let body = "add.u32 %r0, %r0, 1;\n".repeat(100_000) + "st.global.u32 [%d0], 1;\nret;";
    let device = load("", &body);
    let out = device.allocate(4).expect("memory");
    let arguments = [out.to_le_bytes().to_vec()];
    let launch = Launch::new("k", [1, 1, 1], [32, 1, 1], &arguments);
    let result = device.launch(&Launch { most_instructions: Some(1000), ..launch });
    assert_eq!(kind("a long block", result), FaultKind::StepLimit);
    let mut word = [0; 4];
    device.read(out, &mut word).expect("inside");
    assert_eq!(u32::from_le_bytes(word), 0, "the block did not run to its end");
}

#[test]
fn recursion_without_end_is_a_stack_overflow() {
    let plain = ".func f() { call f; ret; }";
    let register = ".func f(.reg .u32 %a) { .reg .u32 %b; add.u32 %b, %a, 1; call f, (%b); ret; }";
    let frame =
        ".func f() { .local .b8 a[4096]; .reg .b64 %a; mov.u64 %a, a; st.local.u8 [%a], 1; call f; ret; }";
    for (declared, body) in
        [(plain, "call f;\nret;"), (register, "call f, (0);\nret;"), (frame, "call f;\nret;")]
    {
        let mut device = load(declared, body);
        let before = device.account().used();
        assert_eq!(
            kind("k", launch(&mut device, 1, 64, |launch| launch)),
            FaultKind::StackOverflow,
            "{declared}"
        );
        // Everything is given back but the buffer.
        assert!(device.account().used() <= before + (1 << 18) + 256);
    }
}

#[test]
fn what_all_warps_hold_together_is_bounded() {
    // Each lane recurses by itself, in 32 warps of each CTA.
    let declared = ".func f(.reg .u32 %a) { .reg .u32 %b; .reg .pred %q; mov.u32 %b, %laneid; setp.eq.u32 %q, %a, %b; \
                    @%q call f, (%b); call f, (%b); ret; }";
    let source = format!(
        "{HEADER}{declared}\n.visible .entry k() {{ .reg .u32 %l; mov.u32 %l, %laneid; call f, (%l); ret; }}"
    );
    let options = LoadOptions { memory: Some(64 << 20), ..LoadOptions::default() };
    let device = Device::load(&[&source], options).expect("valid");
    let result =
        device.launch(&Launch { threads: Some(1), ..Launch::new("k", [4, 1, 1], [1024, 1, 1], &[]) });
    assert_eq!(kind("k", result), FaultKind::StackOverflow);
    assert!(device.account().used() < 1 << 20);
}

/// `golden/record/local_memory.py` recorded `local_memory.jsonl.gz` on an H200 (driver 580).
#[test]
fn kernels_with_more_local_memory_than_a_thread_has_are_refused_as_by_the_driver() {
    let rows = recording::values(recording::golden("vm", "local_memory.jsonl.gz"));
    let (mut accepted, mut refused) = (0, 0);
    for row in rows.filter(|row| row["kind"] == "local") {
        let number = |key: &str| row[key].as_u64().expect("a number");
        let (bytes, threads) = (number("bytes"), number("threads") as u32);
        assert_eq!(row["load"], "CUDA_SUCCESS", "it is the launch that is refused");
        // From 4 GiB on, the assembler counts anew, and the kernel runs with too little: that is not followed.
        let fits = row["launch"] == "CUDA_SUCCESS" && bytes < 1 << 32;
        let body = format!(
            ".local .align 16 .b8 a[{bytes}];\nmov.u64 %d1, a;\nadd.u64 %d1, %d1, {};\nst.local.u32 [%d1], 7;\n\
             ld.local.u32 %r0, [%d1];\nst.global.u32 [%d0], %r0;\nret;",
            number("argument")
        );
        let mut device = load("", &body);
        match launch(&mut device, 1, threads.min(64), |launch| launch) {
            Ok(_) => assert!(fits, "{row}"),
            Err(LaunchError::Local { bytes: wanted, most }) => {
                assert!(!fits && wanted == bytes && most < bytes, "{row}");
            }
            other => panic!("{row}: {other:?}"),
        }
        accepted += u32::from(fits);
        refused += u32::from(!fits);
    }
    assert_eq!((accepted, refused), (35, 51));
}

#[test]
fn memory_beyond_the_limit_is_an_error_that_says_what_wanted_it() {
    let source = format!("{HEADER}.global .b8 big[100000];\n.visible .entry k() {{ ret; }}");
    let options = |memory| LoadOptions { memory: Some(memory), ..LoadOptions::default() };
    let refused = Device::load(&[&source], options(1000));
    assert!(matches!(refused, Err(LoadError::Memory(MemoryError::Limit(_)))), "{refused:?}");

    let device = Device::load(&[&source], options(1 << 20)).expect("it fits");
    let first = device.allocate(600_000).expect("it fits");
    let error = device.allocate(600_000).expect_err("twice does not");
    let MemoryError::Limit(limit) = error else { panic!("{error}") };
    assert_eq!((limit.bytes >= 600_000, limit.most), (true, 1 << 20));
    device.free(first).expect("it was there");
    device.allocate(600_000).expect("it fits again");

    // Registers and stacks of a CTA.
    let body = ".local .b8 a[100000];\nmov.u64 %d1, a;\nst.local.u8 [%d1], 1;\nret;";
    let source = format!("{HEADER}.visible .entry k() {{ .reg .b64 %d<2>; {body} }}");
    let device = Device::load(&[&source], options(64 << 20)).expect("valid");
    let result = device.launch(&Launch::new("k", [1, 1, 1], [1024, 1, 1], &[]));
    let FaultKind::OutOfMemory { what, bytes, most, .. } = kind("k", result) else {
        panic!("no fault of memory")
    };
    assert_eq!((what, most), ("variables in .local memory", 64 << 20));
    assert!(bytes >= 3_200_000, "a warp has 32 threads: {bytes}");
    device.launch(&Launch::new("k", [1, 1, 1], [64, 1, 1], &[])).expect("two warps fit");
}

#[test]
fn the_bits_of_the_init_sanitizer_count() {
    let source =
        format!("{HEADER}.visible .entry k() {{ .shared .b8 s[40000]; .reg .b32 %r; mov.u32 %r, s; ret; }}");
    let options = LoadOptions { memory: Some(1 << 20), ..LoadOptions::default() };
    let device = Device::load(&[&source], options).expect("it fits");
    // An eighth more does not fit.
    let error = device.allocate_uninitialised(950_000).expect_err("bits");
    let MemoryError::Limit(limit) = error else { panic!("{error}") };
    assert_eq!(limit.bytes, 950_000_u64.div_ceil(64) * 8);
    let before = device.account().used();
    let other = device.allocate(950_000).expect("it fits without");
    device.free(other).expect("it was there");
    let other = device.allocate_uninitialised(800_000).expect("it fits with its bits");
    assert!(device.account().used() >= before + 900_000);
    device.free(other).expect("it was there");
    assert_eq!(device.account().used(), before);
}

#[test]
fn a_bulk_copy_of_a_size_that_no_memory_has_takes_no_memory() {
    let body = "mov.u32 %r0, s;\nmov.u32 %r1, 4294967280;\n\
        cp.async.bulk.global.shared::cta.bulk_group [%d0], [%r0], %r1;\nret;";
    let mut device = load(".shared .align 128 .b8 s[128];", body);
    assert!(matches!(kind("k", launch(&mut device, 1, 1, |launch| launch)), FaultKind::Access(_)));
}

#[test]
fn tables_of_targets_are_lowered_in_time_that_is_no_square() {
    let count = 20_000;
    let tables: String = (0..count).map(|i| format!("T{i}: .branchtargets L{i};\n")).collect();
    let jumps: String = (0..count).map(|i| format!("L{i}: brx.idx %r0, T{i};\n")).collect();
    let began = Instant::now();
    let body = format!("mov.u32 %r0, 0;\nmad.hi.sat.s32 %r0, %r0, %r0, %r0;\n{tables}{jumps}ret;");
    load("", &body).program("k").expect("it can be executed");
    assert!(began.elapsed() < 2 * LATE, "{:?}", began.elapsed());

    let names: Vec<String> = (0..count).map(|i| format!("L{i}")).collect();
    let jumps: String = (0..count).map(|i| format!("L{i}: brx.idx %r0, T;\n")).collect();
    let body = format!("mov.u32 %r0, 0;\nT: .branchtargets {};\n{jumps}ret;", names.join(", "));
    let refused = load("", &body).program("k").map(drop);
    let Err(LaunchError::Unsupported(list)) = refused else { panic!("{refused:?}") };
    assert!(list[0].what.contains("targets in all tables"), "{}", list[0].what);
}

/// A kernel in which warp 1 reads what warp 0 writes, without a barrier.
const UNORDERED: &str = "mov.u32 %r0, %tid.x;\nsetp.ge.u32 %p0, %r0, 32;\n@%p0 bra READ;\nst.volatile.global.u32 [%d0], 7;\nret;\n\
                         READ: ld.volatile.global.u32 %r1, [%d0];\nst.global.u32 [%d0+4], %r1;\nret;";

fn second_word(schedule: Schedule) -> u32 {
    let device = load("", UNORDERED);
    let out = device.allocate(8).expect("memory");
    let arguments = [out.to_le_bytes().to_vec()];
    device
        .launch(&Launch { schedule, ..Launch::new("k", [1, 1, 1], [64, 1, 1], &arguments) })
        .expect("it runs");
    let mut bytes = [0; 4];
    device.read(out + 4, &mut bytes).expect("inside");
    u32::from_le_bytes(bytes)
}

#[test]
fn random_schedules_differ_by_their_seeds_and_only_by_them() {
    assert_eq!(second_word(Schedule::Fixed), 7);
    let all: Vec<u32> = (0..32).map(|seed| second_word(Schedule::Random(seed))).collect();
    assert!(all.contains(&0) && all.contains(&7), "{all:?}");
    assert_eq!(all, (0..32).map(|seed| second_word(Schedule::Random(seed))).collect::<Vec<_>>());
}

#[test]
fn random_schedules_vary_ctas_and_lanes() {
    // The order in which CTAs and diverged lanes take numbers.
    let ctas = "mov.u32 %r0, %ctaid.x;\natom.global.add.u32 %r1, [%d0], 1;\nmad.wide.u32 %d1, %r0, 4, %d0;\n\
                st.global.u32 [%d1+4], %r1;\nret;";
    let lanes = "mov.u32 %r0, %tid.x;\nsetp.lt.u32 %p0, %r0, 16;\n@%p0 bra LOW;\natom.global.add.u32 %r1, [%d0], 1;\nbra PUT;\n\
                 LOW: atom.global.add.u32 %r1, [%d0], 1;\nPUT: mad.wide.u32 %d1, %r0, 4, %d0;\nst.global.u32 [%d1+4], %r1;\nret;";
    for (body, grid, block, words) in [(ctas, 8, 1, 8), (lanes, 1, 32, 32)] {
        let order = |seed| {
            let device = load("", body);
            let out = device.allocate(256).expect("memory");
            let arguments = [out.to_le_bytes().to_vec()];
            let launch = Launch::new("k", [grid, 1, 1], [block, 1, 1], &arguments);
            device.launch(&Launch { schedule: Schedule::Random(seed), ..launch }).expect("it runs");
            let mut bytes = vec![0; 4 * words];
            device.read(out + 4, &mut bytes).expect("inside");
            bytes
        };
        let orders: std::collections::HashSet<Vec<u8>> = (0..24).map(order).collect();
        assert!(orders.len() > 1, "{body}");
    }
}

#[test]
fn random_schedules_keep_what_warps_execute_together() {
    // Halves of a warp part and meet again at a product of matrices and at a barrier.
    let body = "mov.u32 %r0, %tid.x;\nand.b32 %r20, %r0, 31;\nsetp.lt.u32 %p0, %r20, 16;\nmov.u32 %r5, 0x01010101;\nmov.u32 %r6, %r5;\n\
                mov.u32 %r7, %r5;\n@%p0 bra LOW;\nmov.u32 %r1, 1;\nbra MEET;\nLOW: mov.u32 %r1, 1;\nadd.u32 %r21, %r1, %r1;\n\
                MEET: mov.u32 %r2, %r1;\nmov.u32 %r3, %r1;\nmov.u32 %r4, %r1;\n\
                mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%r1, %r2}, {%r5}, {%r6}, {%r3, %r4};\n\
                bar.sync 0;\nmad.wide.u32 %d1, %r0, 4, %d0;\nst.global.u32 [%d1], %r1;\nret;";
    for seed in 0..40 {
        let device = load("", body);
        let out = device.allocate(512).expect("memory");
        let arguments = [out.to_le_bytes().to_vec()];
        let launch = Launch::new("k", [1, 1, 1], [128, 1, 1], &arguments);
        let report =
            device.launch(&Launch { schedule: Schedule::Random(seed), sanitize: Sanitize::ALL, ..launch });
        assert!(report.expect("it runs").findings.is_empty(), "{seed}");
        let mut bytes = [0; 512];
        device.read(out, &mut bytes).expect("inside");
        assert!(bytes.chunks_exact(4).all(|word| word == [17, 0, 0, 0]), "{seed}: {bytes:?}");
    }
}
