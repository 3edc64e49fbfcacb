//! Launches use the room that others have left: they do what they do on a device of their own.

use softwarp_vm::device::{Device, Jit, Launch, LoadOptions};

/// Kernels with different registers, parameters, shared memory, variables and calls. None writes all that it reads.
const MODULE: &str = "
.version 8.6
.target sm_90
.address_size 64
.visible .entry few(.param .u64 out, .param .u32 add)
{
    .reg .b32 %r<8>; .reg .b64 %d<4>; .reg .pred %p;
    ld.param.u64 %d0, [out]; ld.param.u32 %r1, [add]; mov.u32 %r2, %tid.x; mov.u32 %r3, %ctaid.x;
    mad.lo.u32 %r4, %r3, 128, %r2; mul.wide.u32 %d1, %r4, 4; add.s64 %d0, %d0, %d1;
    setp.gt.u32 %p, %r2, 40; @%p mov.u32 %r5, %r1; add.u32 %r1, %r1, %r5; st.global.u32 [%d0], %r1; ret;
}
.visible .entry many(.param .u64 out, .param .u32 add)
{
    .shared .u32 tile[128]; .local .u32 own[4];
    .reg .b32 %r<40>; .reg .b64 %d<12>; .reg .pred %p, %q;
    ld.param.u64 %d0, [out]; ld.param.u32 %r1, [add]; mov.u32 %r2, %tid.x; mov.u32 %r3, %ctaid.x;
    mad.lo.u32 %r4, %r3, 128, %r2; mul.wide.u32 %d1, %r4, 4; add.s64 %d0, %d0, %d1;
    shl.b32 %r6, %r2, 2; mov.u32 %r7, tile; add.u32 %r6, %r6, %r7; ld.shared.u32 %r8, [%r6];
    add.u32 %r8, %r8, %r1; st.shared.u32 [%r6], %r8; bar.sync 0;
    setp.lt.u32 %p, %r2, 77; @%p mov.u32 %r30, 5; @%p mov.u64 %d9, 9; cvt.u32.u64 %r31, %d9;
    add.u32 %r8, %r8, %r30; add.u32 %r8, %r8, %r31; st.local.u32 [own], %r8; ld.local.u32 %r9, [own];
    selp.u32 %r10, 1, 0, %q; add.u32 %r9, %r9, %r10; setp.lt.u32 %q, %r2, 9;
    st.global.u32 [%d0], %r9; ret;
}
.func (.reg .b32 result) deep(.reg .b32 n)
{
    .reg .b32 %r<4>; .reg .pred %p;
    setp.eq.u32 %p, n, 0; mov.u32 result, 1; @%p ret; sub.u32 %r0, n, 1;
    call (%r1), deep, (%r0); mad.lo.u32 result, %r1, 3, n; ret;
}
.visible .entry calls(.param .u64 out, .param .u32 add)
{
    .reg .b32 %r<8>; .reg .b64 %d<4>;
    ld.param.u64 %d0, [out]; ld.param.u32 %r1, [add]; mov.u32 %r2, %tid.x; mov.u32 %r3, %ctaid.x;
    mad.lo.u32 %r4, %r3, 128, %r2; mul.wide.u32 %d1, %r4, 4; add.s64 %d0, %d0, %d1;
    and.b32 %r5, %r2, 7; call (%r6), deep, (%r5); add.u32 %r6, %r6, %r1; st.global.u32 [%d0], %r6; ret;
}
.visible .entry fails(.param .u64 out, .param .u32 add)
{
    .reg .b32 %r<8>; .reg .b64 %d<4>; .reg .pred %p;
    mov.u64 %d0, 8; mov.u32 %r0, %ctaid.x; setp.eq.u32 %p, %r0, 2; @%p st.global.u32 [%d0], %r0; ret;
}";

/// Bytes of the output.
const BYTES: usize = 3 * 128 * 4;

/// What a launch did: its output and counts, or that it failed.
fn run(
    device: &Device,
    out: u64,
    kernel: &str,
    add: u32,
    block: [u32; 3],
    jit: Jit,
    threads: usize,
) -> String {
    device.write(out, &[0; BYTES]).expect("inside");
    let arguments = [out.to_le_bytes().to_vec(), add.to_le_bytes().to_vec()];
    let launch = Launch { jit, threads: Some(threads), ..Launch::new(kernel, [3, 1, 1], block, &arguments) };
    match device.launch(&launch) {
        Ok(report) => {
            let mut bytes = vec![0; BYTES];
            device.read(out, &mut bytes).expect("inside");
            format!("{:?} {bytes:?}", report.counts)
        }
        Err(error) => error.to_string(),
    }
}

#[test]
fn launches_do_the_same_in_the_room_of_others() {
    let load = || {
        let device = Device::load(&[MODULE], LoadOptions::default()).expect("a valid module");
        let out = device.allocate(BYTES as u64).expect("memory");
        (device, out)
    };
    let (device, out) = load();
    let used = device.account().used();
    let blocks = [[128, 1, 1], [96, 1, 1], [32, 4, 1], [7, 3, 2]];
    for (round, jit) in [Jit::On, Jit::Off, Jit::On, Jit::Auto].into_iter().enumerate() {
        for block in blocks {
            for (number, kernel) in ["many", "few", "many", "calls", "fails", "few", "few", "calls", "many"]
                .into_iter()
                .enumerate()
            {
                let (add, threads) = ((10 * round + number) as u32, 1 + (number + round) % 2);
                let (own, own_out) = load();
                let expected = run(&own, own_out, kernel, add, block, jit, threads);
                let found = run(&device, out, kernel, add, block, jit, threads);
                assert_eq!(found, expected, "{kernel}, {add}, {block:?}, {jit:?}, {threads} threads");
                assert_eq!(device.account().used(), used, "what is kept has no charge");
            }
        }
    }
}

/// The limit of memory refuses a launch whether another has left room or not.
#[test]
fn the_room_of_others_is_charged() {
    let (least, launch) =
        (1 << 14, |device: &Device, out| run(device, out, "many", 1, [128, 1, 1], Jit::On, 1));
    let mut refused = 0;
    for memory in (least..1 << 18).step_by(1 << 12) {
        let load = || {
            let device =
                Device::load(&[MODULE], LoadOptions { memory: Some(memory), ..LoadOptions::default() })
                    .ok()?;
            let out = device.allocate(BYTES as u64).ok()?;
            Some((device, out))
        };
        let (Some((fresh, fresh_out)), Some((device, out))) = (load(), load()) else { continue };
        let expected = launch(&fresh, fresh_out);
        launch(&device, out);
        let again = launch(&device, out);
        assert_eq!(again, expected, "{memory} bytes");
        refused += usize::from(expected.contains("memory"));
        // What another launch leaves takes nothing from the host's buffers.
        let left = device.account().used();
        let room = memory - left;
        assert!(device.allocate(room.saturating_sub(1 << 12)).is_ok() || room < 1 << 13, "{memory} bytes");
    }
    assert!(refused > 2, "{refused}");
}
