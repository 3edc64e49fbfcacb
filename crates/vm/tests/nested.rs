//! Launches by kernels, launches at the same time, and the size of the heap.

use softwarp_vm::device::{Device, Launch, LaunchError, LoadOptions};
use softwarp_vm::fault::FaultKind;

fn device(body: &str) -> Device {
    let source = format!(".version 8.0\n.target sm_90\n.address_size 64\n{body}");
    Device::load(&[&source], LoadOptions::default()).expect("a legal module")
}

fn word(device: &Device, address: u64) -> u32 {
    let mut bytes = [0; 4];
    device.read(address, &mut bytes).expect("a buffer");
    u32::from_le_bytes(bytes)
}

/// Counts in a word and launches itself, as long as the count is below `most`.
const RECURSIVE: &str = "
.extern .func (.param .b64 r) cnpGetParameterBufferV2(
    .param .b64 k, .param .align 4 .b8 g[12], .param .align 4 .b8 b[12], .param .b32 s);
.extern .func (.param .b32 r) cnpLaunchDeviceV2(.param .b64 p, .param .b64 s);
.visible .entry again(.param .u64 count, .param .u32 most)
{
    .reg .pred %p1;
    .reg .b32 %r<4>;
    .reg .b64 %d<4>;
    ld.param.u64 %d1, [count];
    ld.param.u32 %r1, [most];
    atom.global.add.u32 %r2, [%d1], 1;
    setp.ge.u32 %p1, %r2, %r1;
    @%p1 ret;
    mov.u64 %d2, again;
    {
        .param .b64 k;
        .param .align 4 .b8 g[12];
        .param .align 4 .b8 b[12];
        .param .b32 s;
        .param .b64 r;
        st.param.b64 [k], %d2;
        st.param.b32 [g], 1;
        st.param.b32 [g+4], 1;
        st.param.b32 [g+8], 1;
        st.param.b32 [b], 1;
        st.param.b32 [b+4], 1;
        st.param.b32 [b+8], 1;
        st.param.b32 [s], 0;
        call (r), cnpGetParameterBufferV2, (k, g, b, s);
        ld.param.b64 %d3, [r];
    }
    st.u64 [%d3], %d1;
    st.u32 [%d3+8], %r1;
    {
        .param .b64 p;
        .param .b64 s;
        .param .b32 r;
        st.param.b64 [p], %d3;
        st.param.b64 [s], 0;
        call (r), cnpLaunchDeviceV2, (p, s);
        ld.param.b32 %r3, [r];
    }
    ret;
}";

#[test]
fn a_launch_ends_with_what_it_launched() {
    let device = device(RECURSIVE);
    let count = device.allocate(4).expect("memory");
    let arguments = [count.to_le_bytes().to_vec(), 1000u32.to_le_bytes().to_vec()];
    let report = device.launch(&Launch::new("again", [1; 3], [1; 3], &arguments)).expect("no fault");
    assert_eq!(word(&device, count), 1001);
    assert_eq!(report.ctas, 1001);
    assert!(report.counts.thread_instructions > 20_000);
}

#[test]
fn limits_hold_for_endless_launches() {
    let device = device(RECURSIVE);
    let count = device.allocate(4).expect("memory");
    let arguments = [count.to_le_bytes().to_vec(), u32::MAX.to_le_bytes().to_vec()];
    let launch =
        Launch { most_instructions: Some(100_000), ..Launch::new("again", [1; 3], [1; 3], &arguments) };
    let Err(LaunchError::Fault(fault)) = device.launch(&launch) else { panic!("it has no end") };
    assert!(matches!(fault.kind, FaultKind::StepLimit), "{}", fault.kind);
    assert!(word(&device, count) > 1000);
}

#[test]
fn atomic_operations_of_launches_at_the_same_time_are_not_lost() {
    let device = device(
        ".visible .entry count(.param .u64 to)
        {
            .reg .pred %p1;
            .reg .b32 %i;
            .reg .b64 %to;
            ld.param.u64 %to, [to];
            mov.u32 %i, 0;
        NEXT:
            red.global.add.u32 [%to], 1;
            add.u32 %i, %i, 1;
            setp.lt.u32 %p1, %i, 20000;
            @%p1 bra NEXT;
            ret;
        }",
    );
    let to = device.allocate(4).expect("memory");
    let arguments = [to.to_le_bytes().to_vec()];
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                device.launch(&Launch::new("count", [1; 3], [32, 1, 1], &arguments)).expect("no fault")
            });
        }
    });
    assert_eq!(word(&device, to), 4 * 32 * 20_000);
}

#[test]
fn the_heap_has_the_size_that_was_set() {
    let body = "
        .extern .func (.param .b64 r) malloc(.param .b64 n);
        .visible .entry take(.param .u64 to, .param .u64 bytes)
        {
            .reg .pred %p1;
            .reg .b32 %r1;
            .reg .b64 %d<4>;
            ld.param.u64 %d1, [to];
            ld.param.u64 %d2, [bytes];
            {
                .param .b64 n;
                .param .b64 r;
                st.param.b64 [n], %d2;
                call (r), malloc, (n);
                ld.param.b64 %d3, [r];
            }
            setp.ne.u64 %p1, %d3, 0;
            selp.u32 %r1, 1, 2, %p1;
            st.global.u32 [%d1], %r1;
            ret;
        }";
    let take = |device: &Device| {
        let to = device.allocate(4).expect("memory");
        let arguments = [to.to_le_bytes().to_vec(), (16u64 << 20).to_le_bytes().to_vec()];
        device.launch(&Launch::new("take", [1; 3], [1; 3], &arguments)).expect("no fault");
        word(device, to)
    };
    let small = device(body);
    assert_eq!(take(&small), 2, "8 MiB have no room for 16");
    assert!(!small.set_heap(32 << 20), "it is in use");
    let large = device(body);
    assert!(large.set_heap(32 << 20));
    assert_eq!(take(&large), 1);
}
