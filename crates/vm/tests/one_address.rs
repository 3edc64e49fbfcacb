//! Loads and stores whose lanes all have one address, in memory of threads and in constant memory: of every width, in
//! a warp of which only some lanes take part, and beside other values of the same word.

use softwarp_vm::device::{Device, Launch, LoadOptions};

const THREADS: u32 = 64;

/// What the kernel leaves in a word for each thread.
fn run(declared: &str, body: &str) -> Vec<u32> {
    let source = format!(
        ".version 8.6\n.target sm_90\n.address_size 64\n{declared}
.visible .entry k(.param .u64 out)
{{
    .reg .pred %p<4>; .reg .b16 %h<8>; .reg .b32 %r<16>; .reg .b64 %d<16>; .reg .b32 %t;
    ld.param.u64 %d0, [out];
    mov.u32 %t, %tid.x;
    mad.wide.u32 %d0, %t, 4, %d0;
{body}
    st.global.u32 [%d0], %r0;
    ret;
}}"
    );
    let device =
        Device::load(&[&source], LoadOptions::default()).unwrap_or_else(|e| panic!("{e:?}\n{source}"));
    let out = device.allocate(4 * u64::from(THREADS)).expect("memory");
    let arguments = [out.to_le_bytes().to_vec()];
    device.launch(&Launch::new("k", [1, 1, 1], [THREADS, 1, 1], &arguments)).expect("a launch");
    let mut bytes = vec![0; 4 * THREADS as usize];
    device.read(out, &mut bytes).expect("inside");
    bytes.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
}

fn expected(f: impl Fn(u32) -> u32) -> Vec<u32> {
    (0..THREADS).map(f).collect()
}

#[test]
fn bytes_and_halves_of_local_memory_keep_their_neighbours() {
    let body = "
        .local .align 8 .b8 room[16];
        mov.u64 %d1, room;
        mov.u32 %r1, 0x11223344;
        st.local.u32 [%d1+8], %r1;
        and.b32 %r2, %t, 1;
        setp.eq.u32 %p1, %r2, 1;
        add.u32 %r3, %t, 0x80;
        @%p1 st.local.u8 [%d1+9], %r3;
        cvt.u16.u32 %h1, %t;
        @!%p1 st.local.u16 [%d1+10], %h1;
        ld.local.s8 %r4, [%d1+9];
        ld.local.u16 %r5, [%d1+10];
        ld.local.u8 %r6, [%d1+8];
        shl.b32 %r5, %r5, 8;
        shl.b32 %r6, %r6, 24;
        add.u32 %r0, %r4, %r5;
        add.u32 %r0, %r0, %r6;";
    let result = expected(|t| {
        let odd = t & 1 == 1;
        let byte = if odd { (t + 0x80) as u8 } else { 0x33 };
        let half = if odd { 0x1122 } else { t };
        (i32::from(byte as i8) as u32).wrapping_add(half << 8).wrapping_add(0x44 << 24)
    });
    assert_eq!(run("", body), result);
}

#[test]
fn words_of_eight_bytes_and_vectors_are_copied_for_the_lanes_that_take_part() {
    let body = "
        .local .align 16 .b8 room[32];
        mov.u64 %d1, room;
        cvt.u64.u32 %d2, %t;
        shl.b64 %d3, %d2, 33;
        st.local.v2.u64 [%d1], {%d2, %d3};
        setp.gt.u32 %p1, %t, 40;
        add.u64 %d4, %d2, 1000;
        @%p1 st.local.u64 [%d1], %d4;
        ld.local.v2.u64 {%d5, %d6}, [%d1];
        shr.u64 %d6, %d6, 33;
        add.u64 %d5, %d5, %d6;
        st.local.v4.u8 [%d1+16], {%t, %t, %t, %t};
        ld.local.u32 %r1, [%d1+16];
        cvt.u32.u64 %r0, %d5;
        xor.b32 %r0, %r0, %r1;";
    let result = expected(|t| (2 * t + if t > 40 { 1000 } else { 0 }) ^ (t * 0x0101_0101));
    assert_eq!(run("", body), result);
}

#[test]
fn constants_are_read_at_one_place_and_at_many() {
    let declared = ".const .align 8 .b32 table[64] = { 7, 11, 13, 17, 19, 23 };";
    let body = "
        mov.u64 %d1, table;
        mov.u32 %r9, 0;
        ld.const.u32 %r1, [%d1+4];
        and.b32 %r2, %t, 3;
        mad.wide.u32 %d2, %r2, 4, %d1;
        ld.const.u32 %r3, [%d2];
        ld.const.v2.u32 {%r4, %r5}, [%d1+8];
        setp.lt.u32 %p1, %t, 5;
        @%p1 ld.const.u8 %r9, [%d2];
        mad.lo.u32 %r0, %r1, 1000, %r3;
        mad.lo.u32 %r0, %r4, 100000, %r0;
        mad.lo.u32 %r0, %r5, 1000000, %r0;
        add.u32 %r0, %r0, %r9;";
    let table = [7, 11, 13, 17];
    let result = expected(|t| {
        let chosen = table[(t & 3) as usize];
        let narrow = if t < 5 { chosen } else { 0 };
        17_000_000 + 1_300_000 + 11_000 + chosen + narrow
    });
    assert_eq!(run(declared, body), result);
}
