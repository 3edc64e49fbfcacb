//! Matrix instructions where no recording can judge them: forms of other targets than sm_90, faults, refusals, and
//! warps that have split. (What an H200 did is replayed by softwarp's own tests.)

use softwarp_vm::device::{Device, Launch, LaunchError, LoadOptions};
use softwarp_vm::fault::{Fault, FaultKind, Problem, Use, What};
use softwarp_vm::sanitize::{FindingKind, Sanitize};

/// A kernel `k(out)` for a target, with registers for all and `%o` the address of the lane's word of `out`.
fn source(target: &str, declared: &str, body: &str) -> String {
    format!(
        ".version 8.8\n.target {target}\n.address_size 64\n{declared}
        .visible .entry k(.param .u64 out) {{
            .reg .pred %p<4>; .reg .b32 %r<32>, %t, %g, %w; .reg .f32 %f<8>; .reg .b64 %o, %d<8>; .reg .b16 %h<4>;
            ld.param.u64 %o, [out];
            mov.u32 %t, %tid.x;
            and.b32 %w, %t, 3;
            shr.u32 %g, %t, 2;
            mad.wide.u32 %o, %t, 4, %o;
            {body}
            ret;
        }}"
    )
}

fn launch(source: &str, threads: u32, words: usize) -> Result<Vec<u32>, LaunchError> {
    let device =
        Device::load(&[source], LoadOptions::default()).unwrap_or_else(|error| panic!("{error:?}\n{source}"));
    let out = device.allocate(4 * words as u64).expect("memory");
    let arguments = [out.to_le_bytes().to_vec()];
    device.launch(&Launch::new("k", [1; 3], [threads, 1, 1], &arguments))?;
    let mut bytes = vec![0; 4 * words];
    device.read(out, &mut bytes).expect("inside");
    Ok(bytes.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect())
}

fn run(target: &str, declared: &str, body: &str, words: usize) -> Vec<u32> {
    launch(&source(target, declared, body), 32, words).unwrap_or_else(|error| panic!("{error}"))
}

fn fault(target: &str, declared: &str, body: &str, threads: u32) -> Fault {
    match launch(&source(target, declared, body), threads, 1024) {
        Err(LaunchError::Fault(fault)) => *fault,
        other => panic!("{other:?}"),
    }
}

/// Stores the lanes' registers one behind the other, 32 words each.
fn stores(names: &[&str]) -> String {
    (0..).zip(names).map(|(at, name)| format!("st.global.b32 [%o+{}], {name};\n", at * 128)).collect()
}

/// The element of a 16 × 8 matrix D of four registers of 32 bits.
fn element(words: &[u32], row: usize, column: usize) -> f32 {
    let (lane, register) = (row % 8 * 4 + column / 2, row / 8 * 2 + column % 2);
    f32::from_bits(words[register * 32 + lane])
}

#[test]
fn lanes_that_went_different_ways_come_together_for_a_matrix() {
    // The first lanes jump back to the instruction before the others have computed what they bring.
    let body = "
            mov.u32 %r0, 7;
            bra START;
        MATRIX:
            movmatrix.sync.aligned.m8n8.trans.b16 %r1, %r0;
            st.global.b32 [%o], %r1;
            bra END;
        START:
            setp.lt.u32 %p0, %t, 16;
            @%p0 bra MATRIX;
            mov.u32 %r0, 9;
            bra MATRIX;
        END:";
    let words = run("sm_90", "", body, 32);
    // Rows 4 to 7 are columns now: the upper half of each row. Even columns have what was set, odd ones zero.
    for (lane, word) in words.into_iter().enumerate() {
        let value = if lane % 4 < 2 { 7 } else { 9 };
        assert_eq!(word, if lane / 4 % 2 == 0 { value | value << 16 } else { 0 }, "lane {lane}");
    }
}

#[test]
fn factors_of_6_and_4_bits_lie_in_bytes_and_the_rest_of_these_does_not_count() {
    // 1.5 as e2m1 in the middle of a byte, 2 as e3m2 in its low bits, ones around them.
    let body = format!(
        "mov.u32 %r0, 0xcfcfcfcf; mov.u32 %r1, 0xd0d0d0d0; mov.f32 %f0, 0f3f800000;
        mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e2m1.e3m2.f32
            {{%f1, %f2, %f3, %f4}}, {{%r0, %r0, %r0, %r0}}, {{%r1, %r1}}, {{%f0, %f0, %f0, %f0}};
        {}",
        stores(&["%f1", "%f2", "%f3", "%f4"])
    );
    let words = run("sm_120a", "", &body, 128);
    assert!(words.iter().all(|&word| f32::from_bits(word) == 1.0 + 32.0 * 1.5 * 2.0), "{words:x?}");
}

#[test]
fn scales_come_from_the_lanes_and_bytes_that_are_selected() {
    // Each lane's scales: 2 to the power of its number in the group, of its group, and constants for the other half.
    let body = |a: &str, b: &str| {
        format!(
            "mov.u32 %r0, 0x22222222; mov.f32 %f0, 0f00000000;
            add.u32 %r1, %w, 127; add.u32 %r2, %g, 127;
            shl.b32 %r2, %r2, 8; or.b32 %r3, %r1, %r2; or.b32 %r3, %r3, 0x007f0000;
            shl.b32 %r4, %r1, 24; or.b32 %r3, %r3, %r4;
            mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0
                {{%f1, %f2, %f3, %f4}}, {{%r0, %r0, %r0, %r0}}, {{%r0, %r0}}, {{%f0, %f0, %f0, %f0}},
                %r3, {a}, %r3, {b};
            {}",
            stores(&["%f1", "%f2", "%f3", "%f4"])
        )
    };
    let power = |exponent: usize| f32::from(1u16 << exponent);
    let words = run("sm_120a", "", &body("{0, 1}", "{2, 3}"), 128);
    for row in 0..16 {
        for column in 0..8 {
            // A: lanes 2 and 3 of a group have its row and that eight below; the low bytes.
            let (first, second) = (power(2 + row / 8), power(row % 8));
            // B: lane 3; the high bytes, 1 and 2³.
            let expected = 32.0 * (first * 1.0 + second * power(3));
            assert_eq!(element(&words, row, column), expected, "{row} {column}");
        }
    }
    let words = run("sm_120a", "", &body("{2, 0}", "{0, 1}"), 128);
    for row in 0..16 {
        for column in 0..8 {
            let expected = 32.0 * (1.0 * power(1) + power(row / 8) * power(column));
            assert_eq!(element(&words, row, column), expected, "{row} {column}");
        }
    }
}

#[test]
fn blocks_of_sixteen_have_four_scales_and_sparse_rows_theirs() {
    // Bytes 1, 2, 4 and 8 as ue4m3.
    let scales =
        "mov.u32 %r0, 0x22222222; mov.f32 %f0, 0f00000000; mov.u32 %r3, 0x50484038; mov.u32 %r4, 0x38383838;";
    let dense = format!(
        "{scales}
        mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3
            {{%f1, %f2, %f3, %f4}}, {{%r0, %r0, %r0, %r0}}, {{%r0, %r0}}, {{%f0, %f0, %f0, %f0}},
            %r3, {{0, 0}}, %r4, {{0, 0}};
        {}",
        stores(&["%f1", "%f2", "%f3", "%f4"])
    );
    let words = run("sm_120a", "", &dense, 128);
    assert!(words.iter().all(|&word| f32::from_bits(word) == 16.0 * 15.0), "{words:x?}");
    // The second pair of every four; B has 1 there and nothing elsewhere.
    let sparse = format!(
        "{scales} mov.u32 %r5, 0xdddddddd; mov.u32 %r6, 0x22002200;
        mma.sp::ordered_metadata.sync.aligned.m16n8k128.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3
            {{%f1, %f2, %f3, %f4}}, {{%r0, %r0, %r0, %r0}}, {{%r6, %r6, %r6, %r6}}, {{%f0, %f0, %f0, %f0}},
            %r5, 0, %r3, {{0, 0}}, %r4, {{0, 0}};
        {}",
        stores(&["%f1", "%f2", "%f3", "%f4"])
    );
    let words = run("sm_120a", "", &sparse, 128);
    assert!(words.iter().all(|&word| f32::from_bits(word) == 16.0 * 15.0), "{words:x?}");
}

/// Fills `tile` with bytes that count, and puts the address of the lane's row of 16 bytes into `%r8`.
const COUNTING: &str = "
    mov.u32 %r0, tile; mad.lo.u32 %r8, %t, 16, %r0;
    shl.b32 %r1, %t, 4; mul.lo.u32 %r1, %r1, 0x01010101; add.u32 %r1, %r1, 0x03020100;
    st.shared.b32 [%r8], %r1; add.u32 %r1, %r1, 0x04040404; st.shared.b32 [%r8+4], %r1;
    add.u32 %r1, %r1, 0x04040404; st.shared.b32 [%r8+8], %r1; add.u32 %r1, %r1, 0x04040404;
    st.shared.b32 [%r8+12], %r1; bar.sync 0;";

const TILE: &str = ".shared .align 16 .b8 tile[512];";

#[test]
fn tiles_of_bytes_are_transposed_into_two_registers() {
    let body = format!(
        "{COUNTING} ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {{%r10, %r11}}, [%r8]; {}",
        stores(&["%r10", "%r11"])
    );
    let words = run("sm_100a", TILE, &body, 64);
    for lane in 0..32 {
        for register in 0..2 {
            let byte = |at: usize| (lane % 4 * 4 + at) * 16 + lane / 4 + 8 * register;
            let expected = u32::from_le_bytes([0, 1, 2, 3].map(|at| byte(at) as u8));
            assert_eq!(words[register * 32 + lane], expected, "lane {lane}");
        }
    }
}

#[test]
fn packed_elements_are_unpacked_into_bytes() {
    let body = format!(
        "{COUNTING} ldmatrix.sync.aligned.m8n16.x1.shared.b8x16.b6x16_p32 {{%r10}}, [%r8];
        ldmatrix.sync.aligned.m8n16.x2.shared.b8x16.b4x16_p64 {{%r11, %r12}}, [%r8]; {}",
        stores(&["%r10", "%r11", "%r12"])
    );
    let words = run("sm_100a", TILE, &body, 96);
    for lane in 0..32 {
        let row = |tile: usize| {
            let bytes = std::array::from_fn(|at| ((tile * 8 + lane / 4) * 16 + at) as u8);
            u128::from_le_bytes(bytes)
        };
        let unpacked = |row: u128, bits: usize| {
            let element = |at: usize| (row >> (bits * (lane % 4 * 4 + at))) as u8 & ((1 << bits) - 1);
            u32::from_le_bytes([0, 1, 2, 3].map(element))
        };
        assert_eq!(words[lane], unpacked(row(0), 6), "lane {lane}");
        assert_eq!(words[32 + lane], unpacked(row(0), 4), "lane {lane}");
        assert_eq!(words[64 + lane], unpacked(row(1), 4), "lane {lane}");
    }
}

#[test]
fn tiles_of_bytes_are_stored_by_columns() {
    // Each lane's register has its own number in all bytes, two bits of which say which byte.
    let body = format!(
        "{COUNTING} mul.lo.u32 %r1, %t, 0x04040404; add.u32 %r1, %r1, 0x03020100;
        stmatrix.sync.aligned.m16n8.x1.trans.shared.b8 [%r8], {{%r1}}; bar.sync 0;
        ld.shared.b32 %r10, [%r8]; ld.shared.b32 %r11, [%r8+4]; ld.shared.b32 %r12, [%r8+8]; ld.shared.b32 %r13, [%r8+12];
        {}",
        stores(&["%r10", "%r11", "%r12", "%r13"])
    );
    let words = run("sm_100a", TILE, &body, 128);
    for column in 0..8 {
        for row in 0..16 {
            let byte = words[row / 4 * 32 + column] >> (row % 4 * 8) & 0xff;
            let (lane, at) = (row % 8 * 4 + column / 2, column % 2 + row / 8 * 2);
            assert_eq!(byte as usize, lane * 4 + at, "{row} {column}");
        }
    }
}

#[test]
fn a_row_that_is_not_aligned_is_a_fault_of_its_lane() {
    let body = format!(
        "{COUNTING} setp.eq.u32 %p0, %t, 11; @%p0 add.u32 %r8, %r8, 8;
        ldmatrix.sync.aligned.m8n8.x2.shared.b16 {{%r10, %r11}}, [%r8];"
    );
    let fault = fault("sm_90", TILE, &body, 32);
    let FaultKind::Access(bad) = &fault.kind else { panic!("{fault:?}") };
    assert_eq!((bad.problem, bad.bytes), (Problem::Misaligned, 16));
    assert_eq!(fault.place.expect("it has one").thread, [11, 0, 0]);
}

#[test]
fn rows_of_lanes_that_give_none_are_not_looked_at() {
    let body = format!(
        "{COUNTING} setp.ge.u32 %p0, %t, 8; @%p0 mov.u32 %r8, 0xfffffff1;
        ldmatrix.sync.aligned.m8n8.x1.shared.b16 {{%r10}}, [%r8]; {}",
        stores(&["%r10"])
    );
    assert_eq!(run("sm_90", TILE, &body, 32)[5], 0x1716_1514);
}

#[test]
fn a_fragment_past_its_buffer_is_a_fault() {
    let body = "ld.param.u64 %d0, [out]; add.u64 %d0, %d0, 4064;
        wmma.load.c.sync.aligned.row.m16n16k16.global.f32 {%f0, %f1, %f2, %f3, %f4, %f5, %f6, %f7}, [%d0], 4;";
    let fault = fault("sm_90", "", body, 32);
    let FaultKind::Access(bad) = &fault.kind else { panic!("{fault:?}") };
    assert_eq!((bad.problem, bad.bytes), (Problem::OutOfBounds, 4));
}

#[test]
fn a_descriptor_that_leads_past_shared_memory_is_a_fault() {
    // The matrix B begins in the last kilobyte, and eight columns lie 4096 bytes from the first eight.
    let body =
        "mov.u32 %r0, tile; shr.u32 %r0, %r0, 4; cvt.u64.u32 %d0, %r0; or.b64 %d0, %d0, 0x0000010000080000;
        mov.u32 %r1, 0; setp.ne.u32 %p0, %r1, 0;
        wgmma.fence.sync.aligned;
        wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 {%f0, %f1, %f2, %f3, %f4, %f5, %f6, %f7},
            {%r1, %r1, %r1, %r1}, %d0, %p0, 1, 1, 0;
        wgmma.commit_group.sync.aligned;
        wgmma.wait_group.sync.aligned 0;";
    let fault = fault("sm_90a", ".shared .align 128 .b8 tile[1024];", body, 128);
    let FaultKind::Access(bad) = &fault.kind else { panic!("{fault:?}") };
    assert_eq!((bad.problem, bad.bytes), (Problem::OutOfBounds, 16));
    assert_eq!(bad.nearest.as_ref().map(|near| &near.what), Some(&What::Shared));
}

#[test]
fn what_cannot_be_executed_is_refused_by_name() {
    let refused = |target: &str, body: &str| match launch(&source(target, "", body), 32, 32) {
        Err(LaunchError::Unsupported(found)) => found[0].what.clone(),
        other => panic!("{other:?}"),
    };
    let words = refused(
        "sm_90",
        "mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 {%f0, %f1, %f2, %f3}, {%r0, %r1, %r2, %r3},
            {%r4, %r5, %r6, %r7}, {%f0, %f1, %f2, %f3}, %r8, 2;",
    );
    assert!(words.contains("is not executed with that sparsity selector"), "{words}");
}

#[test]
fn sanitizers_see_the_rows_of_tiles_and_the_pieces_of_fragments() {
    let found = |declared: &str, body: &str| {
        let source = source("sm_90a", declared, body);
        let device = Device::load(&[&source], LoadOptions::default()).expect("a module");
        let out = device.allocate(4096).expect("memory");
        let arguments = [out.to_le_bytes().to_vec()];
        let sanitize = Sanitize::ALL;
        let launch = Launch { sanitize, ..Launch::new("k", [1; 3], [128, 1, 1], &arguments) };
        let report = device.launch(&launch).expect("it runs");
        report.findings.into_iter().map(|finding| finding.kind).collect::<Vec<_>>()
    };
    // The first warp stores a tile, the second loads it.
    let tiles = |between: &str| {
        format!(
            "mov.u32 %r0, tile; and.b32 %r1, %t, 31; mad.lo.u32 %r8, %r1, 16, %r0;
            setp.lt.u32 %p0, %t, 32; setp.ge.u32 %p1, %t, 64; @!%p0 bra LOAD;
            stmatrix.sync.aligned.m8n8.x4.shared.b16 [%r8], {{%r1, %r1, %r1, %r1}};
            LOAD: {between} @%p0 bra END; @%p1 bra END;
            ldmatrix.sync.aligned.m8n8.x4.shared.b16 {{%r2, %r3, %r4, %r5}}, [%r8];
            END:"
        )
    };
    assert_eq!(found(TILE, &tiles("bar.sync 0;")), []);
    let races = found(TILE, &tiles(""));
    let is_race = |kind: &FindingKind| {
        matches!(kind, FindingKind::Race { first: Use::Write, second: Use::Read, across: false, .. })
    };
    assert!(races.iter().any(is_race), "{races:?}");

    let unwritten = "wmma.load.a.sync.aligned.row.m16n16k16.shared.s8 {%r2, %r3}, [tile], 16;";
    assert!(found(TILE, unwritten).contains(&FindingKind::Uninitialised));
    let unwritten = "mov.u32 %r0, tile; shr.u32 %r0, %r0, 4; cvt.u64.u32 %d0, %r0; or.b64 %d0, %d0, 0x0000000800080000;
        mov.u32 %r1, 0; setp.ne.u32 %p0, %r1, 0;
        wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, {%r1, %r1, %r1, %r1}, %d0, %p0, 1, 1, 0;";
    assert!(found(TILE, unwritten).contains(&FindingKind::Uninitialised));
}

#[test]
fn a_warp_that_has_waited_for_a_group_may_write_what_the_warps_of_the_group_read() {
    // Every warp clears the factors as soon as it has waited; the last one would else find nothing but zeros.
    let body = "
        mov.u32 %r0, tiles; mad.lo.u32 %r1, %t, 20, %r0; mov.b32 %r2, 0x3c003c00;
        st.shared.b32 [%r1], %r2; st.shared.b32 [%r1+4], %r2; st.shared.b32 [%r1+8], %r2;
        st.shared.b32 [%r1+12], %r2; st.shared.b32 [%r1+16], %r2;
        fence.proxy.async; bar.sync 0;
        shr.u32 %r3, %r0, 4; cvt.u64.u32 %d0, %r3; or.b64 %d0, %d0, 0x0000001000080000;
        add.u32 %r4, %r0, 2048; shr.u32 %r4, %r4, 4; cvt.u64.u32 %d1, %r4; or.b64 %d1, %d1, 0x0000001000080000;
        mov.f32 %f0, 0f00000000; mov.f32 %f1, %f0; mov.f32 %f2, %f0; mov.f32 %f3, %f0;
        wgmma.fence.sync.aligned;
        wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0,%f1,%f2,%f3}, %d0, %d1, 1, 1, 1, 0, 0;
        wgmma.commit_group.sync.aligned;
        wgmma.wait_group.sync.aligned 0;
        mov.b32 %r2, 0; mov.u32 %r5, 0;
        L: add.u32 %r6, %r0, %r5; st.shared.b32 [%r6], %r2; add.u32 %r5, %r5, 4; setp.lt.u32 %p1, %r5, 2560; @%p1 bra L;
        st.global.f32 [%o], %f0;";
    let source = source("sm_90a", ".shared .align 128 .b8 tiles[2560];", body);
    let words = launch(&source, 128, 128).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(words, [16.0f32.to_bits(); 128]);
}

#[test]
fn scales_of_a_product_may_stand_in_braces() {
    let ones = "mov.b32 %r0, 0x22222222; mov.b32 %r1, 0x38383838; mov.f32 %f0, 0f00000000; mov.b16 %h0, 0;";
    let mma = |scale: &str| {
        format!(
            "{ones} mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3 \
            {{%f0,%f1,%f2,%f3}}, {{%r0,%r0,%r0,%r0}}, {{%r0,%r0}}, {{%f0,%f0,%f0,%f0}}, {scale}, {{%h0,%h0}}, {scale}, \
            {{%h0,%h0}}; st.global.f32 [%o], %f0;"
        )
    };
    let bare = run("sm_120a", "", &mma("%r1"), 32);
    assert_eq!(run("sm_120a", "", &mma("{%r1}"), 32), bare);
    assert_eq!(bare[0], 64.0f32.to_bits());
}
