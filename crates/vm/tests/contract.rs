//! Products and sums without a rounding, where no recording judges them. (What an H200 did with 121 kernels is replayed
//! by softwarp's own tests.)

use softwarp_vm::device::{Device, Launch, LoadOptions};

/// 1 + 2^-12, whose square rounds: 1 + 2^-11 + 2^-24 loses its last bit.
const A: u32 = 0x3f80_0800;
/// The square, rounded, and negated.
const ROUNDED: u32 = 0xbf80_1000;
/// What is left where it is not rounded: 2^-24.
const LEFT: f32 = 1.0 / 16_777_216.0;

/// What a kernel leaves in `%f9`, of `%f1` = A and `%f2` the rounded square of it, negated.
fn left(options: &str, body: &str) -> f32 {
    let sections = if options.is_empty() { "" } else { ".section .debug_info { .b32 0 }" };
    let source = format!(
        ".version 8.0\n.target sm_90{options}\n.address_size 64\n
        .visible .entry k(.param .u64 out) {{
            .reg .f32 %f<16>; .reg .b64 %o; .reg .b32 %r<4>; .reg .pred %p<2>;
            ld.param.u64 %o, [out];
            ld.global.f32 %f1, [%o]; ld.global.f32 %f2, [%o+4];
            mov.u32 %r1, %tid.x; setp.eq.u32 %p1, %r1, 0;
            {body}
            st.global.f32 [%o+8], %f9;
            ret;
        }}
        {sections}"
    );
    let device = Device::load(&[&source], LoadOptions::default()).unwrap_or_else(|error| panic!("{error:?}"));
    let out = device.allocate(16).expect("memory");
    device.write(out, &[A.to_le_bytes(), ROUNDED.to_le_bytes()].concat()).expect("inside");
    let arguments = [out.to_le_bytes().to_vec()];
    device.launch(&Launch::new("k", [1; 3], [1; 3], &arguments)).expect("it runs");
    let mut bytes = [0; 4];
    device.read(out + 8, &mut bytes).expect("inside");
    f32::from_le_bytes(bytes)
}

#[test]
fn a_sum_takes_in_the_product_before_it_unless_one_of_them_says_how_to_round() {
    assert_eq!(left("", "mul.f32 %f3, %f1, %f1; add.f32 %f9, %f3, %f2;"), LEFT);
    assert_eq!(left("", "mul.rn.f32 %f3, %f1, %f1; add.f32 %f9, %f3, %f2;"), 0.0);
    assert_eq!(left("", "mul.f32 %f3, %f1, %f1; add.rn.f32 %f9, %f3, %f2;"), 0.0);
}

#[test]
fn nothing_is_contracted_in_modules_for_debugging() {
    assert_eq!(left(", debug", "mul.f32 %f3, %f1, %f1; add.f32 %f9, %f3, %f2;"), 0.0);
}

#[test]
fn factors_that_are_overwritten_before_the_sum_are_kept_for_it() {
    let body = "mul.f32 %f3, %f1, %f1; mov.f32 %f1, 0f00000000; add.f32 %f9, %f3, %f2;";
    assert_eq!(left("", body), LEFT);
    assert_eq!(left("", "mul.f32 %f1, %f1, %f1; add.f32 %f9, %f1, %f2;"), LEFT);
}

#[test]
fn a_product_whose_register_is_read_in_another_block_stays_one() {
    let read = "mul.f32 %f3, %f1, %f1; add.f32 %f9, %f3, %f2; @%p1 bra L; st.global.f32 [%o+12], %f3; L:";
    assert_eq!(left("", read), 0.0);
    // Written there before it is read: another value.
    let written = "mul.f32 %f3, %f1, %f1; add.f32 %f9, %f3, %f2; @%p1 bra L;
        mov.f32 %f3, 0f00000000; st.global.f32 [%o+12], %f3; L:";
    assert_eq!(left("", written), LEFT);
    // Around a loop to a read that stands before.
    let around = "mov.u32 %r2, 0; mov.f32 %f3, 0f00000000;
        L: st.global.f32 [%o+12], %f3; mul.f32 %f3, %f1, %f1; add.f32 %f9, %f3, %f2;
        add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, 2; @%p1 bra L;";
    assert_eq!(left("", around), 0.0);
}

#[test]
fn times_one_is_no_product_however_the_one_is_written() {
    // If it were, it would be the first, and the other would be rounded.
    let of = |one: &str| {
        let body = format!("mov.f32 %f5, {one}; mul.f32 %f3, %f2, %f5;");
        left("", &format!("{body} mul.f32 %f4, %f1, %f1; add.f32 %f9, %f3, %f4;"))
    };
    for one in ["0f3F800000", "1.0", "0d3FF0000000000000"] {
        assert_eq!(of(one), LEFT, "{one}");
    }
}

#[test]
fn a_product_by_a_constant_goes_into_sums_of_other_blocks() {
    let by = |factor: &str| {
        let sum = "@%p1 bra L; st.global.f32 [%o+12], %f1; L: add.f32 %f9, %f3, %f2;";
        left("", &format!("mul.f32 %f3, %f1, {factor}; {sum}"))
    };
    assert_eq!(by("0f3F800800"), LEFT);
    assert_eq!(by("%f1"), 0.0);
    // In a register that holds nothing else, and in one that does.
    let sum = "@%p1 bra L; st.global.f32 [%o+12], %f1; L: add.f32 %f9, %f3, %f2;";
    assert_eq!(left("", &format!("mov.f32 %f5, 0f3F800800; mul.f32 %f3, %f1, %f5; {sum}")), LEFT);
    assert_eq!(
        left("", &format!("mov.f32 %f5, 0f3F800800; mul.f32 %f3, %f1, %f5; {sum} mov.f32 %f5, %f9;")),
        0.0
    );
    // Something else reads it, in yet another block.
    let body =
        "mul.f32 %f3, %f1, 0f3F800800; @%p1 bra L; st.global.f32 [%o+12], %f3; L: add.f32 %f9, %f3, %f2;";
    assert_eq!(left("", body), 0.0);
}
