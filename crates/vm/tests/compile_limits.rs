//! Compiling a function takes work, and makes code, in proportion to the function, or is given up; and it ends where a
//! launch has to stop. Work is counted in steps, not in time.

use crate::small::HEADER;
use softwarp_check::resolve_references;
use softwarp_image::{FunctionId, Unit, lay_out};
use softwarp_ir::Program;
use softwarp_jit::{Compiled, Limits, Refused, Shape, Wanted, compile_within};
use softwarp_lower::{Fidelity, Lowering, lower};
use softwarp_syntax::parse;
use softwarp_vm::device::{Device, Jit, Launch, LaunchError, LoadOptions};
use softwarp_vm::fault::FaultKind;
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The text of a kernel `k(p)` with a body for a number of operations.
fn kernel(declared: &str, body: &str) -> String {
    format!(
        "{HEADER}{declared}\n.visible .entry k(.param .u64 p)\n{{
        .reg .pred %p<64>; .reg .b16 %h<64>; .reg .b32 %r<64>; .reg .b64 %d<64>; .reg .f32 %f<64>; .reg .f64 %e<64>;
        ld.param.u64 %d0, [p]; mov.u32 %r0, %tid.x; mad.wide.u32 %d1, %r0, 16, %d0; ld.global.u32 %r1, [%d1];
        ld.global.f32 %f1, [%d1]; cvt.f64.f32 %e1, %f1; cvt.u64.u32 %d2, %r1; cvt.u16.u32 %h1, %r1;
        setp.eq.u32 %p1, %r1, %r0;
        {body}
        st.global.u32 [%d1], %r1; st.global.f32 [%d1+4], %f1; st.global.f64 [%d1+8], %e1; st.global.u64 [%d1], %d2;
        ret;\n}}\n"
    )
}

fn times(count: usize, line: impl Fn(usize) -> String) -> String {
    (0..count).map(|i| line(i) + "\n").collect()
}

/// Declares registers that are all written, then read.
fn live(count: usize, between: &str) -> String {
    let write = times(count, |i| format!("add.u32 %z{i}, %r1, {i};"));
    let read = times(count, |i| format!("xor.b32 %r1, %r1, %z{i};"));
    format!(".reg .b32 %z<{count}>;\n{write}\n{between}\n{read}")
}

/// A kind of kernel, by the number of its operations.
type Kind = (&'static str, fn(usize) -> String);

/// Kernels of many operations of a kind, which are compiled.
const COMPILED: [Kind; 23] = [
    ("sin and div", |n| {
        kernel(
            "",
            &times(n / 2, |i| format!("sin.approx.f32 %f1, %f1; div.approx.f32 %f1, %f1, %f{};", 2 + i % 8)),
        )
    }),
    ("ex2, rcp and tanh", |n| {
        kernel("", &times(n, |i| format!("{}.approx.f32 %f1, %f1;", ["ex2", "rcp", "tanh", "lg2"][i % 4])))
    }),
    ("integers", |n| {
        kernel(
            "",
            &times(n / 2, |i| {
                format!("mad.lo.u32 %r{}, %r1, %r0, {}; xor.b32 %r1, %r1, %r{0};", 2 + i % 30, 7 * i)
            }),
        )
    }),
    ("float", |n| kernel("", &times(n, |i| format!("fma.rn.f32 %f1, %f1, %f{}, %f1;", 2 + i % 30)))),
    ("double", |n| kernel("", &times(n, |i| format!("fma.rn.f64 %e1, %e1, %e{}, %e1;", 2 + i % 30)))),
    ("half", |n| kernel("", &times(n, |i| format!("fma.rn.f16x2 %r1, %r1, %r{}, %r1;", 2 + i % 30)))),
    ("loads", |n| {
        let line = |i| format!("ld.global.u32 %r2, [%d1+{}]; add.u32 %r1, %r1, %r2;", 16 * (i % 5000));
        kernel("", &times(n / 2, line))
    }),
    ("loads anywhere", |n| {
        let line =
            |_| "and.b32 %r1, %r1, 15; mad.wide.u32 %d3, %r1, 4, %d0; ld.global.u32 %r1, [%d3];".to_owned();
        kernel("", &times(n / 3, line))
    }),
    ("loads by some lanes", |n| {
        kernel("", &times(n / 2, |i| format!("setp.lt.u32 %p2, %r1, {i}; @%p2 ld.global.u32 %r1, [%d1];")))
    }),
    ("stores", |n| {
        kernel("", &times(n, |i| format!("st.global.u32 [%d1+{}], %r{};", 16 * (i % 500), i % 60)))
    }),
    ("predicates", |n| {
        kernel(
            "",
            &times(n / 2, |i| format!("setp.lt.u32 %p{}, %r1, {i}; @%p{0} add.u32 %r1, %r1, 1;", 2 + i % 50)),
        )
    }),
    ("shared memory", |n| {
        let line = |i| {
            format!("st.shared.u32 [s+{}], %r1; ld.shared.u32 %r1, [s+{}];", 4 * (i % 1000), 28 * i % 4000)
        };
        kernel(".shared .align 4 .b8 s[4096];", &times(n / 2, line))
    }),
    ("local memory", |n| {
        let line =
            |i| format!("st.local.u32 [l+{}], %r1; ld.local.u32 %r1, [l+{}];", 4 * (i % 1000), 28 * i % 4000);
        kernel("", &(".local .align 4 .b8 l[4096];\n".to_owned() + &times(n / 2, line)))
    }),
    ("reductions", |n| kernel("", &times(n, |i| format!("red.global.add.u32 [%d1+{}], %r1;", 4 * (i % 4))))),
    ("conversions", |n| {
        let forms = [
            "cvt.rzi.s32.f32 %r1, %f1;",
            "cvt.rn.f32.s32 %f1, %r1;",
            "cvt.rn.f16.f32 %h1, %f1;",
            "cvt.f32.f16 %f1, %h1;",
        ];
        kernel("", &times(n, |i| forms[i % 4].to_owned()))
    }),
    ("wide words", |n| {
        kernel("", &times(n / 2, |i| format!("mul.lo.u64 %d2, %d2, %d1; add.u64 %d2, %d2, {i};")))
    }),
    ("selects", |n| {
        kernel("", &times(n, |i| format!("selp.u32 %r1, %r{}, %r1, %p{};", 2 + i % 30, 1 + i % 3)))
    }),
    ("constants", |n| {
        kernel("", &times(n, |i| format!("add.u32 %r1, %r1, {};", (i as u64 * 2_654_435_761) & 0x7fff_ffff)))
    }),
    ("lanes", |n| kernel("", &times(n, |_| "shfl.sync.bfly.b32 %r1, %r1, 1, 31, -1;".to_owned()))),
    ("live registers", |n| kernel("", &live(n / 2, ""))),
    ("live registers and blocks", |n| {
        let blocks =
            times(100, |i| format!("setp.lt.u32 %p2, %r1, {i}; @%p2 bra L{i}; add.u32 %r1, %r1, 3; L{i}:"));
        kernel("", &live(n / 20, &blocks))
    }),
    ("live registers and barriers", |n| {
        let block = times(n * 9 / 10 / 20, |i| format!("mad.lo.u32 %r1, %r1, %r{}, {i};", 2 + i % 30));
        kernel("", &live(n / 20, &times(20, |_| format!("{block}bar.sync 0;"))))
    }),
    ("values that go around a loop once for each operation", |n| {
        let chain = times(n / 8, |i| format!("add.u32 %z{i}, %z{}, 1;", i + 1));
        let n = n / 8;
        let rounds = times(8, |i| {
            format!(
                "L{i}:\n{chain}add.u32 %z{n}, %r0, %z{n}; add.u32 %r1, %r1, %z0; setp.lt.u32 %p2, %r1, 5; @%p2 bra L{i};"
            )
        });
        kernel("", &format!(".reg .b32 %z<{}>;\n{rounds}", n + 1))
    }),
];

/// Kernels that are translated.
const TRANSLATED: [Kind; 3] = [
    ("products that are read in another block", |n| {
        let products = times(n / 3, |i| format!("mul.f32 %z{i}, %f1, %f{};", 2 + i % 30));
        let between = times(n / 3, |i| format!("add.u32 %r1, %r1, %r{};", 2 + i % 30));
        let sums = times(n / 3, |i| format!("add.f32 %f1, %f1, %z{};", n / 3 - 1 - i));
        kernel("", &format!(".reg .f32 %z<{n}>;\n{products}@%p1 bra L;\n{between}L:\n{sums}"))
    }),
    ("products by a constant, and many blocks", |n| {
        let products = times(n / 2, |i| format!("mul.f32 %z{i}, %f1, 0f40400000;"));
        let sums = times(2, |i| format!("add.f32 %f1, %f1, %z{i};"));
        let blocks = times(n / 2, |_| "@%p1 exit;".to_owned());
        kernel("", &format!(".reg .f32 %z<{n}>;\n{products}{blocks}{sums}"))
    }),
    ("a table that repeats its targets", |n| {
        let targets: Vec<_> = (0..2 * n).map(|i| format!("L{}", i % 2)).collect();
        let table = format!("T: .branchtargets {};", targets.join(", "));
        let branch = "and.b32 %r2, %r1, 1; brx.idx %r2, T; L0: add.u32 %r1, %r1, 1; L1:";
        kernel("", &live(n / 2, &format!("{table}\n{branch}")))
    }),
];

/// Kernels that are given up.
const GIVEN_UP: [Kind; 2] = [
    ("many blocks and live registers", |n| {
        let blocks =
            times(n, |i| format!("setp.lt.u32 %p2, %r1, {i}; @%p2 bra L{i}; add.u32 %r1, %r1, 3; L{i}:"));
        kernel("", &live(n, &blocks))
    }),
    ("many loops", |n| {
        let body = times(n, |i| format!("add.u32 %r1, %r1, 1; setp.gt.u32 %p2, %r1, {i}; @%p2 bra L;"));
        kernel("", &format!("L:\n{body}"))
    }),
];

fn lowered(source: &str) -> Program {
    timed(source).0
}

/// The program of a kernel, and how long it took to translate it once it had been checked.
fn timed(source: &str) -> (Program, Duration) {
    let parsed = parse(source);
    let module = &parsed.module;
    let (checked, references, _) = resolve_references(module, source, softwarp_check::Options::default());
    let linked = [Unit { module, checked: &checked }];
    let image = lay_out(&linked, softwarp_image::Options::default()).expect("it fits");
    let units = [Lowering { module, source, checked: &checked, references: &references }];
    let started = Instant::now();
    let program = lower(&units, &image, FunctionId(0), Fidelity::PTXAS).expect("it can run");
    (program, started.elapsed())
}

fn compiled(program: &Program, limits: Limits<'_>) -> Result<Compiled, Refused> {
    compile_within(&program.functions[0], Shape::of([256, 1, 1]), Wanted::ALL, limits)
}

#[test]
#[cfg_attr(not(target_arch = "x86_64"), ignore = "there is no compiled code")]
fn work_and_code_grow_in_proportion() {
    for (name, text) in COMPILED {
        let [small, large] = [1_000, 4_000].map(|count| {
            let program = lowered(&text(count));
            let compiled =
                compiled(&program, Limits::default()).unwrap_or_else(|why| panic!("{name}: {why:?}"));
            [compiled.steps(), compiled.len() as u64]
        });
        for (what, small, large) in [("steps", small[0], large[0]), ("bytes", small[1], large[1])] {
            assert!(large <= 5 * small + 100_000, "{name}: {small} and {large} {what}");
        }
        // Functions that are not made to be costly are far below the budget.
        assert!(large[0] < 4_000 * 2_000, "{name}: {} steps", large[0]);
    }
}

#[test]
fn translation_takes_time_in_proportion() {
    const COUNT: usize = 20_000;
    let plain = kernel("", &times(COUNT, |i| format!("fma.rn.f32 %f1, %f1, %f{}, %f1;", 2 + i % 30)));
    for (name, text) in TRANSLATED {
        let text = text(COUNT);
        // Something else may run meanwhile.
        let mut tries = (0..5).map(|_| (timed(&text).1, timed(&plain).1));
        let found = tries.find(|&(taken, plain)| taken <= 20 * plain);
        assert!(found.is_some(), "{name}");
    }
}

#[test]
#[cfg_attr(not(target_arch = "x86_64"), ignore = "there is no compiled code")]
fn what_takes_too_much_is_given_up() {
    for (name, text) in GIVEN_UP {
        let program = lowered(&text(10_000));
        let asked = Cell::new(0u64);
        let stop = || {
            asked.set(asked.get() + 1);
            false
        };
        let refused = compiled(&program, Limits { stop: &stop, ..Limits::default() }).err();
        assert_eq!(refused, Some(Refused::Never), "{name}");
        // As often as the budget has it for a function of this size.
        assert!(asked.get() < 20_000, "{name}: {}", asked.get());
    }
}

#[test]
#[cfg_attr(not(target_arch = "x86_64"), ignore = "there is no compiled code")]
fn a_compilation_ends_when_it_is_told_to() {
    for (name, text) in COMPILED {
        let program = lowered(&text(3_000));
        let asked = Cell::new(0);
        let most = Cell::new(u64::MAX);
        let stop = || {
            asked.set(asked.get() + 1);
            asked.get() > most.get()
        };
        compiled(&program, Limits { stop: &stop, ..Limits::default() }).expect("code");
        let all = asked.get();
        for last in [0, all / 2, all - 1] {
            asked.set(0);
            most.set(last);
            let refused = compiled(&program, Limits { stop: &stop, ..Limits::default() }).err();
            assert_eq!((refused, asked.get()), (Some(Refused::Stopped), last + 1), "{name}");
        }
        let refused = compiled(&program, Limits { memory: 1 << 20, ..Limits::default() }).err();
        assert_eq!(refused, Some(Refused::Never), "{name}");
    }
}

#[test]
fn a_launch_ends_while_its_kernel_is_compiled() {
    let (_, text) = COMPILED[0];
    let source = text(20_000);
    let device = Device::load(&[&source], LoadOptions::default()).unwrap_or_else(|error| panic!("{error:?}"));
    let out = device.allocate(1 << 16).expect("memory");
    let arguments = [out.to_le_bytes().to_vec()];
    let cancel = AtomicBool::new(true);
    let launch = Launch { jit: Jit::On, ..Launch::new("k", [1; 3], [32, 1, 1], &arguments) };
    let kind = |launch: &Launch<'_>| match device.launch(launch) {
        Err(LaunchError::Fault(fault)) => Some(fault.kind),
        Ok(_) => None,
        Err(other) => panic!("{other:?}"),
    };
    assert_eq!(kind(&Launch { cancel: Some(&cancel), ..launch }), Some(FaultKind::Cancelled));
    let soon = Launch { most_time: Some(Duration::from_nanos(1)), ..launch };
    assert_eq!(kind(&soon), Some(FaultKind::TimeLimit));
    // It is compiled all the same once there is time.
    cancel.store(false, Ordering::Relaxed);
    assert_eq!(kind(&Launch { cancel: Some(&cancel), ..launch }), None);
    let report = device.launch(&launch).expect("it runs");
    assert!(
        report.compiled > 0
            || cfg!(not(target_arch = "x86_64"))
            || std::env::var_os("SOFTWARP_SIMD").is_some()
    );
}

#[test]
fn code_of_all_functions_is_bounded() {
    const MEMORY: u64 = 32 << 20;
    // Some 100 KiB of code each, with AVX2 several times as much.
    let body = times(100, |_| "lg2.approx.f32 %x, %x;".to_owned());
    let function = |n: usize| {
        format!(
            ".func f{n}(.param .b32 a)\n{{ .reg .f32 %x; .reg .pred %q; ld.param.f32 %x, [a];\n{body}\
             setp.eq.f32 %q, %x, 0f3f800000; @%q trap; ret; }}"
        )
    };
    let call = |n: usize| format!("{{ .param .b32 a; st.param.f32 [a], %f1; call.uni f{n}, (a); }}");
    let source = kernel(&times(100, function), &times(100, call));
    let options = LoadOptions { memory: Some(MEMORY), ..LoadOptions::default() };
    let device = Device::load(&[&source], options).unwrap_or_else(|error| panic!("{error:?}"));
    let out = device.allocate(1 << 16).expect("memory");
    let arguments = [out.to_le_bytes().to_vec()];
    let launch = Launch { jit: Jit::On, ..Launch::new("k", [1; 3], [32, 1, 1], &arguments) };
    device.launch(&launch).expect("it runs");
    assert!(device.code_bytes() <= MEMORY / 8);
    // There is some.
    assert!(
        device.code_bytes() > MEMORY / 16
            || cfg!(not(target_arch = "x86_64"))
            || std::env::var_os("SOFTWARP_SIMD").is_some()
    );
}

#[test]
fn a_comparison_ends_in_the_time_of_the_launch() {
    let (_, text) = COMPILED[0];
    let device =
        Device::load(&[&text(20_000)], LoadOptions::default()).unwrap_or_else(|error| panic!("{error:?}"));
    let out = device.allocate(1 << 16).expect("memory");
    let arguments = [out.to_le_bytes().to_vec()];
    let launch = Launch { jit: Jit::Compare, ..Launch::new("k", [1; 3], [32, 1, 1], &arguments) };
    // Long enough for the interpreter, and too short to compile the kernel.
    let interpreted = Launch { jit: Jit::Off, ..launch };
    let most = 2 * device.launch(&interpreted).expect("it runs").elapsed + Duration::from_millis(2);
    let started = Instant::now();
    let report = device.launch(&Launch { most_time: Some(most), ..launch });
    // If something else ran meanwhile, it may not be long enough.
    if let Ok(report) = report {
        let comparisons = report.comparisons;
        let expected =
            usize::from(cfg!(target_arch = "x86_64") && std::env::var_os("SOFTWARP_SIMD").is_none());
        assert!(comparisons.not_compared.len() >= expected, "{comparisons:?} after {:?}", started.elapsed());
    }
}
