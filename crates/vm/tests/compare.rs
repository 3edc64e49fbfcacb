//! Compare mode: what is equal, what depends on the order of threads, and what is not compared.

use softwarp_vm::comparison::{Comparisons, NotCompared};
use softwarp_vm::device::{Device, Jit, Launch, LaunchError, LoadOptions, Report};
use softwarp_vm::memory::host::{HostMemory, HostPlace};
use std::sync::Mutex;

const HEAD: &str = ".version 8.6\n.target sm_90\n.address_size 64\n\
    .extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n.global .align 1 .b8 text[4] = {37, 100, 10, 0};\n";

/// A device with the kernel `k`, which has an address as its parameter.
fn device(body: &str) -> Device {
    let source = format!(
        "{HEAD}.visible .entry k(.param .u64 out) {{ .reg .b32 %r<20>; .reg .b64 %d<20>; .reg .pred %p<9>; .reg .f32 %f<9>;\n\
         ld.param.u64 %d0, [out]; mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x;\n{body}\nret; }}"
    );
    Device::load(&[&source], LoadOptions::default()).expect("a valid module")
}

fn launch(device: &Device, out: u64, grid: u32, block: u32) -> Result<Report, LaunchError> {
    let arguments = [out.to_le_bytes().to_vec()];
    let launch = Launch::new("k", [grid, 1, 1], [block, 1, 1], &arguments);
    device.launch(&Launch { jit: Jit::Compare, ..launch })
}

fn compared(body: &str, grid: u32, block: u32) -> Comparisons {
    let device = device(body);
    let out = device.allocate(1 << 16).expect("memory");
    let report = launch(&device, out, grid, block).expect("no fault");
    assert!(report.findings.is_empty(), "{:?}", report.findings);
    report.comparisons
}

/// Adds the thread's number to a word that all share, by compare and swap, and writes in what order it came.
const RETRY: &str = "
    mov.u32 %r9, 0;
  AGAIN:
    ld.relaxed.gpu.global.u32 %r2, [%d0];
    add.u32 %r3, %r2, 1;
    atom.global.cas.b32 %r4, [%d0], %r2, %r3;
    setp.ne.u32 %p1, %r4, %r2;
    @%p1 bra AGAIN;
    mul.wide.u32 %d1, %r2, 4;
    add.u64 %d1, %d0, %d1;
    st.global.u32 [%d1+4], %r0;
    add.u32 %r9, %r9, 1;
    setp.lt.u32 %p2, %r9, 40;
    @%p2 bra AGAIN;";

#[test]
fn plain_kernels_and_clocks_are_equal() {
    let plain = "mad.lo.u32 %r2, %r1, 50, %r0; mul.wide.u32 %d1, %r2, 4; add.u64 %d1, %d0, %d1; st.global.u32 [%d1], %r2;";
    let clocks = "mov.u64 %d2, %clock64; mov.u64 %d3, %globaltimer; add.u64 %d2, %d2, %d3; mul.wide.u32 %d1, %r0, 8;\n\
        add.u64 %d1, %d0, %d1; st.global.u64 [%d1], %d2;";
    let comparisons = compared(plain, 4, 50);
    assert_eq!((comparisons.equal, comparisons.launches()), (1, 1), "{comparisons:?}");
    // Of one warp: in which order several read clocks is left open.
    let comparisons = compared(clocks, 1, 20);
    assert_eq!((comparisons.equal, comparisons.launches()), (1, 1), "{comparisons:?}");
    assert_eq!(compared(clocks, 4, 90).mismatches, 0);
}

/// Lanes that diverge are compared in the code that is made for them, too.
#[test]
fn diverged_lanes_are_equal() {
    let body = "and.b32 %r2, %r0, 7; mov.u32 %r3, 1;\n\
        L: mad.lo.u32 %r3, %r3, 5, %r0; sub.u32 %r2, %r2, 1; setp.gt.s32 %p1, %r2, 0; @%p1 bra L;\n\
        mul.wide.u32 %d1, %r0, 4; add.u64 %d1, %d0, %d1; st.global.u32 [%d1], %r3;";
    let device = device(body);
    let out = device.allocate(4096).expect("memory");
    for _ in 0..3 {
        let comparisons = launch(&device, out, 2, 70).expect("no fault").comparisons;
        assert_eq!((comparisons.equal, comparisons.launches()), (1, 1), "{comparisons:?}");
    }
}

#[test]
fn what_depends_on_the_order_is_no_finding() {
    let comparisons = compared(RETRY, 3, 96);
    assert_eq!(comparisons.mismatches, 0, "{comparisons:?}");
    assert_eq!(comparisons.compared(), 1, "{comparisons:?}");
}

/// The program sees one run: a counter in memory counts once, and every call prints once.
#[test]
fn effects_happen_once() {
    let body = "red.global.add.u32 [%d0], 1; setp.ne.u32 %p1, %r0, 0; @%p1 bra D;\n\
        { .param .b64 f; .param .b64 a; .param .b32 r; .local .align 8 .b32 v[2];\n\
        st.local.u32 [v], %r1; cvta.global.u64 %d2, %d3; mov.u64 %d3, text; cvta.global.u64 %d2, %d3; mov.u64 %d4, v;\n\
        cvta.local.u64 %d4, %d4; st.param.b64 [f], %d2; st.param.b64 [a], %d4; call (r), vprintf, (f, a); }\nD:";
    let device = device(body);
    let out = device.allocate(64).expect("memory");
    let printed = Mutex::new(String::new());
    let print = |text: &str| printed.lock().expect("no panic").push_str(text);
    let arguments = [out.to_le_bytes().to_vec()];
    let launch = Launch::new("k", [3, 1, 1], [64, 1, 1], &arguments);
    let report =
        device.launch(&Launch { jit: Jit::Compare, print: Some(&print), ..launch }).expect("no fault");
    let mut bytes = [0; 4];
    device.read(out, &mut bytes).expect("inside");
    assert_eq!((u32::from_le_bytes(bytes), &*printed.into_inner().expect("no panic")), (192, "0\n1\n2\n"));
    assert_eq!((report.comparisons.equal, report.findings.len()), (1, 0), "{:?}", report.findings);
}

#[test]
fn faults_are_compared() {
    let device = device("mul.wide.u32 %d1, %r0, 4; add.u64 %d1, %d0, %d1; st.global.u32 [%d1], %r0;");
    let out = device.allocate(4 * 70).expect("memory");
    let Err(LaunchError::Fault(_)) = launch(&device, out, 1, 96) else { panic!("a fault") };
    let comparisons = device.stopped().expect("a report").comparisons;
    assert_eq!((comparisons.equal, comparisons.launches()), (1, 1), "{comparisons:?}");
}

/// Memory of the host is the program's own: compiled code does not write it.
#[test]
fn memory_of_the_host_changes_once() {
    let device = device("red.global.add.u32 [%d0], 1;");
    let memory = HostMemory::new(4096).expect("memory");
    let out = device.map_host(&memory, HostPlace::SameAddress).expect("free");
    let comparisons = launch(&device, out, 2, 32).expect("no fault").comparisons;
    let mut bytes = [0; 4];
    memory.bytes().read(0, &mut bytes);
    assert_eq!((u32::from_le_bytes(bytes), comparisons.equal), (64, 1), "{comparisons:?}");
}

/// A kernel that waits for the host ends, although nobody writes to the copy that compiled code works on.
#[test]
fn waiting_for_the_host_is_not_compared() {
    let device = device("W: ld.volatile.global.u32 %r2, [%d0]; setp.eq.u32 %p1, %r2, 0; @%p1 bra W;");
    let memory = HostMemory::new(4096).expect("memory");
    let out = device.map_host(&memory, HostPlace::Anywhere).expect("free");
    let comparisons = std::thread::scope(|scope| {
        let running = scope.spawn(|| launch(&device, out, 1, 32).expect("no fault").comparisons);
        std::thread::sleep(std::time::Duration::from_millis(200));
        memory.bytes().write(0, &[1]);
        running.join().expect("no panic")
    });
    assert_eq!(comparisons.not_compared.get(&NotCompared::WaitsForHost), Some(&1), "{comparisons:?}");
}

/// Without memory for a copy, the launch runs all the same, and is counted. Copies make room for memory that the program
/// needs.
#[test]
fn without_memory_for_copies_launches_run() {
    let source = format!(
        "{HEAD}.visible .entry k(.param .u64 out) {{ .reg .b64 %d; ld.param.u64 %d, [out]; red.global.add.u32 [%d], 1; ret; }}"
    );
    let device = Device::load(&[&source], LoadOptions { memory: Some(64 << 20), ..LoadOptions::default() });
    let device = device.expect("a valid module");
    let small = device.allocate(16 << 20).expect("memory");
    assert_eq!(launch(&device, small, 1, 32).expect("no fault").comparisons.equal, 1);
    let out = device.allocate(40 << 20).expect("the memory of the copy");
    let comparisons = launch(&device, out, 1, 32).expect("no fault").comparisons;
    let mut bytes = [0; 4];
    device.read(out, &mut bytes).expect("inside");
    assert_eq!(
        (u32::from_le_bytes(bytes), comparisons.not_compared.get(&NotCompared::Memory)),
        (32, Some(&1))
    );
}
