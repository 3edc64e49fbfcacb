//! What the manual says of state spaces and types (5.1 to 5.4) and only running can show: who sees which memory,
//! where parameters are and how they are read, what narrow values and misaligned addresses do.

use softwarp_vm::device::{Device, Launch, LaunchError, LoadError, LoadOptions};
use softwarp_vm::fault::{BadAccess, FaultKind, Problem};

const HEADER: &str = ".version 8.6\n.target sm_90\n.address_size 64\n";

/// Registers for all, and the address of the thread's word of `out` in `%o`.
const PROLOGUE: &str = "
    .reg .pred %p<4>; .reg .b32 %r<16>; .reg .b64 %d<16>; .reg .b64 %out, %o; .reg .b32 %t, %i;
    .reg .b16 %h<4>; .reg .f32 %f<4>; .reg .f64 %g<4>;
    ld.param.u64 %out, [out];
    mov.u32 %t, %tid.x;
    mov.u32 %i, %ctaid.x; mov.u32 %r15, %ntid.x;
    mad.lo.u32 %i, %i, %r15, %t;
    mad.wide.u32 %o, %i, 4, %out;
";

/// A kernel whose first parameter is `out`.
fn kernel(name: &str, parameters: &str, body: &str) -> String {
    format!(".visible .entry {name}(.param .u64 out{parameters})\n{{{PROLOGUE}{body}\nret;\n}}\n")
}

fn load(source: &str) -> Device {
    let source = format!("{HEADER}{source}");
    Device::load(&[&source], LoadOptions::default()).unwrap_or_else(|error| panic!("{error:?}\n{source}"))
}

/// What a kernel leaves in an `out` of a word for each thread.
fn launch(device: &mut Device, name: &str, (grid, block): (u32, u32), more: &[&[u8]]) -> Vec<u32> {
    let count = (grid * block) as usize;
    let out = device.allocate(4 * count as u64).expect("memory");
    let mut arguments = vec![out.to_le_bytes().to_vec()];
    arguments.extend(more.iter().map(|bytes| bytes.to_vec()));
    let launch = Launch::new(name, [grid, 1, 1], [block, 1, 1], &arguments);
    device.launch(&launch).unwrap_or_else(|error| panic!("{error}\n{error:?}"));
    let mut bytes = vec![0; 4 * count];
    device.read(out, &mut bytes).expect("inside");
    bytes.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
}

/// What the kernel `k(out)` leaves, behind other declarations.
fn run(declared: &str, body: &str, shape: (u32, u32)) -> Vec<u32> {
    launch(&mut load(&format!("{declared}\n{}", kernel("k", "", body))), "k", shape, &[])
}

/// The access that stops `k(out)`.
fn refused(declared: &str, body: &str) -> BadAccess {
    let device = load(&format!("{declared}\n{}", kernel("k", "", body)));
    let out = device.allocate(256).expect("memory");
    let arguments = [out.to_le_bytes().to_vec()];
    match device.launch(&Launch::new("k", [1, 1, 1], [32, 1, 1], &arguments)) {
        Err(LaunchError::Fault(fault)) => match fault.kind {
            FaultKind::Access(bad) => *bad,
            other => panic!("{other:?}"),
        },
        other => panic!("{body}: {other:?}"),
    }
}

#[test]
fn a_kernels_parameters_are_what_the_host_passed_in_every_cta() {
    // The manual's `foo`.
    let body = "
        ld.param.u32 %r1, [N];
        ld.param.f64 %g1, [buffer];
        ld.param.f64 %g2, [buffer+56];
        add.f64 %g1, %g1, %g2;
        cvt.rni.u32.f64 %r2, %g1;
        add.u32 %r1, %r1, %r2;
        st.global.u32 [%o], %r1;";
    let mut device = load(&kernel("foo", ", .param .b32 N, .param .align 8 .b8 buffer[64]", body));
    let mut buffer = [0; 64];
    buffer[..8].copy_from_slice(&1000f64.to_le_bytes());
    buffer[56..].copy_from_slice(&200f64.to_le_bytes());
    let out = launch(&mut device, "foo", (9, 40), &[&34u32.to_le_bytes(), &buffer]);
    assert_eq!(out, vec![1234; 360]);
}

#[test]
fn the_address_of_a_kernels_parameter_is_in_param() {
    // The manual's `bar`, with an address of 32 and of 64 bits, and an index that the thread chooses.
    let body = "
        mov.u32 %r1, len; ld.param.u32 %r2, [%r1];
        mov.u64 %d1, len; ld.param.u32 %r3, [%d1];
        mov.u64 %d2, list; mad.wide.u32 %d2, %t, 4, %d2; ld.param.u32 %r4, [%d2];
        mad.lo.u32 %r2, %r2, 1000, %r3; mad.lo.u32 %r2, %r2, 1000, %r4;
        st.global.u32 [%o], %r2;";
    let mut device = load(&kernel("bar", ", .param .b32 len, .param .b32 list[4]", body));
    let list: Vec<u8> = [5u32, 7, 11, 13].iter().flat_map(|word| word.to_le_bytes()).collect();
    let out = launch(&mut device, "bar", (1, 4), &[&17u32.to_le_bytes(), &list]);
    assert_eq!(out, [17_017_005, 17_017_007, 17_017_011, 17_017_013]);
}

#[test]
fn a_structure_travels_by_value_beside_a_register_and_a_constant() {
    // The manual's first example of a call: {double, int} and a `.reg` parameter that gets an immediate.
    let foo = "
.func (.reg .b32 r) foo(.reg .b32 N, .param .align 8 .b8 buffer[12])
{
    .reg .f64 %d; .reg .s32 %y, %z;
    ld.param.f64 %d, [buffer];
    ld.param.s32 %y, [buffer+8];
    cvt.rni.s32.f64 %z, %d;
    mad.lo.s32 %z, %z, 100, %y;
    mad.lo.s32 r, N, 1000000, %z;
    ret;
}";
    let body = "
        .param .align 8 .b8 mystruct[12];
        cvt.rn.f64.u32 %g1, %t;
        add.u32 %r1, %t, 50;
        st.param.f64 [mystruct+0], %g1;
        st.param.s32 [mystruct+8], %r1;
        call (%r2), foo, (4, mystruct);
        st.global.u32 [%o], %r2;";
    let expected = (0..40).map(|t| 4_000_000 + 100 * t + 50 + t);
    assert_eq!(run(foo, body, (1, 40)), expected.collect::<Vec<u32>>());
}

#[test]
fn a_parameter_whose_address_is_taken_is_local_to_the_callee() {
    // The manual's second example: an array that is read in a loop through its address.
    let foo = "
.func (.reg .f32 sum) foo(.param .b32 N, .param .b32 buffer[32])
{
    .reg .u32 %n, %at, %r; .reg .f32 %f; .reg .pred %p; .reg .u64 %d;
    ld.param.u32 %n, [N];
    mov.u32 %r, buffer;
    mov.u64 %d, buffer; cvta.local.u64 %d, %d; isspacep.local %p, %d;
    mov.f32 sum, 0f00000000;
    @!%p ret;
LOOP:
    setp.eq.u32 %p, %n, 0;
    @%p ret;
    ld.local.f32 %f, [%r];
    add.f32 sum, sum, %f;
    add.u32 %r, %r, 4;
    sub.u32 %n, %n, 1;
    bra LOOP;
}";
    let body = "
        .param .b32 n; .param .b32 list[32];
        cvt.rn.f32.u32 %f1, %t;
        st.param.b32 [n], 3;
        st.param.f32 [list], %f1;
        st.param.f32 [list+4], 0f41200000;
        st.param.f32 [list+8], 0f42C80000;
        st.param.f32 [list+12], 0f447A0000;
        call (%f2), foo, (n, list);
        cvt.rni.u32.f32 %r1, %f2;
        st.global.u32 [%o], %r1;";
    assert_eq!(run(foo, body, (1, 40)), (110..150).collect::<Vec<u32>>());
}

#[test]
fn an_array_without_a_size_has_what_each_call_passes() {
    // As nvcc compiles `int sum(int n, ...)`.
    let sum = "
.func (.param .b32 r) sum(.param .b32 n, .param .align 8 .b8 %VAParam[])
{
    .reg .b32 %n, %sum, %x; .reg .pred %p; .reg .u64 %at;
    ld.param.u32 %n, [n];
    ld.param.u32 %sum, [%VAParam];
    mul.lo.u32 %sum, %sum, 1000;
    mov.u64 %at, %VAParam;
LOOP:
    setp.eq.u32 %p, %n, 0;
    @%p bra DONE;
    ld.local.u32 %x, [%at];
    add.u32 %sum, %sum, %x;
    add.u64 %at, %at, 8;
    sub.u32 %n, %n, 1;
    bra LOOP;
DONE:
    st.param.b32 [r], %sum;
    ret;
}";
    let body = "
        .param .b32 n; .param .b32 r;
        .param .align 8 .b8 one[4]; .param .align 8 .b8 five[36];
        .reg .b64 %call;
        st.param.b32 [n], 1;
        st.param.b32 [one], %t;
        call (r), sum, (n, one);
        ld.param.b32 %r1, [r];
        st.param.b32 [n], 5;
        st.param.b32 [five], 1;
        st.param.b32 [five+8], %r1;
        st.param.b32 [five+16], 10;
        st.param.b32 [five+24], 100;
        st.param.b32 [five+32], %t;
        mov.u64 %call, sum;
    PROTOTYPE: .callprototype (.param .b32 _) _ (.param .b32 _, .param .align 8 .b8 _[]);
        call (r), %call, (n, five), PROTOTYPE;
        ld.param.b32 %r1, [r];
        st.global.u32 [%o], %r1;";
    let expected = (0..40).map(|t| 1000 + 1 + 1001 * t + 110 + t);
    assert_eq!(run(sum, body, (1, 40)), expected.collect::<Vec<u32>>());
}

#[test]
fn the_callee_gets_a_copy_of_an_array_for_each_parameter() {
    // One array for two parameters: what is written to the first is not in the second.
    let f = "
.func (.param .b32 r) f(.param .b32 a[2], .param .b32 b[2])
{
    .reg .u64 %d; .reg .b32 %x, %y;
    mov.u64 %d, a;
    st.local.b32 [%d+4], 7;
    ld.local.b32 %x, [%d+4];
    ld.param.b32 %y, [b+4];
    mad.lo.u32 %x, %x, 1000, %y;
    st.param.b32 [r], %x;
    ret;
}";
    let body = "
        .param .b32 list[2]; .param .b32 result;
        st.param.b32 [list], 1;
        st.param.b32 [list+4], %t;
        call (result), f, (list, list);
        ld.param.b32 %r1, [result];
        st.global.u32 [%o], %r1;";
    assert_eq!(run(f, body, (1, 32)), (7000..7032).collect::<Vec<u32>>());
}

#[test]
fn a_return_parameter_can_be_written_through_its_address() {
    let f = "
.func (.param .b32 r) f(.param .b32 a)
{
    .reg .u64 %d; .reg .b32 %x;
    ld.param.b32 %x, [a];
    add.u32 %x, %x, 500;
    mov.u64 %d, r;
    st.local.b32 [%d], %x;
    ret;
}";
    let body = "
        .param .b32 x, y;
        st.param.b32 [x], %t;
        call (y), f, (x);
        ld.param.b32 %r1, [y];
        st.global.u32 [%o], %r1;";
    assert_eq!(run(f, body, (1, 32)), (500..532).collect::<Vec<u32>>());
}

#[test]
fn any_number_of_registers_keep_their_values() {
    const COUNT: u32 = 3000;
    let mut body = format!(".reg .b32 %v<{COUNT}>;\n");
    for n in 0..COUNT {
        body += &format!("mad.lo.u32 %v{n}, %t, {n}, {n};\n");
    }
    body += "bar.sync 0; mov.u32 %r1, 0;\n";
    for n in (0..COUNT).rev() {
        body += &format!("mad.lo.u32 %r1, %r1, 3, %v{n};\n");
    }
    body += "st.global.u32 [%o], %r1;";
    let expected = |t: u32| {
        (0..COUNT)
            .rev()
            .fold(0u32, |sum, n| sum.wrapping_mul(3).wrapping_add(t.wrapping_mul(n).wrapping_add(n)))
    };
    assert_eq!(run("", &body, (1, 40)), (0..40).map(expected).collect::<Vec<u32>>());
}

#[test]
fn registers_of_8_bits_are_loaded_stored_converted_and_grouped() {
    let body = "
        .reg .u8 %b<4>; .reg .s8 %c;
        .local .align 4 .b8 l[8];
        add.u32 %r1, %t, 0xfe; st.local.u32 [l], %r1;
        ld.local.u8 %b0, [l]; ld.local.s8 %c, [l];
        cvt.u32.u8 %r2, %b0; cvt.s32.s8 %r3, %c;
        mov.b32 %r4, 0x44332211; st.local.u32 [l], %r4;
        ld.local.v4.u8 {%b0, %b1, %b2, %b3}, [l];
        st.local.v4.u8 [l+4], {%b3, %b2, %b1, %b0};
        st.local.u8 [l+4], %b1;
        ld.local.u32 %r5, [l+4];
        setp.ne.u32 %p1, %r5, 0x11223322; @%p1 trap;
        cvt.u8.u32 %b0, %r1; cvt.u32.u8 %r6, %b0;
        setp.ne.u32 %p1, %r6, %r2; @%p1 trap;
        mad.lo.u32 %r2, %r2, 1000, %r3;
        st.global.u32 [%o], %r2;";
    let value = |byte: u8| (u32::from(byte) * 1000).wrapping_add_signed(i32::from(byte as i8));
    assert_eq!(run("", body, (1, 4)), [254, 255, 0, 1].map(value));
}

#[test]
fn narrow_values_are_extended_when_loaded_and_converted_and_cut_when_stored() {
    // Each makes a word in `%r1`, by way of a register of 64 bits its upper half.
    let rows = [
        ("ld.global.s8 %r1, [data];", 0xffff_ff80),
        ("ld.global.u8 %r1, [data];", 0x80),
        ("ld.global.s16 %r1, [data];", 0xffff_ff80),
        ("ld.global.u16 %r1, [data];", 0xff80),
        ("ld.global.b16 %r1, [data];", 0xff80),
        ("ld.global.s8 %d1, [data]; mov.b64 {_, %r1}, %d1;", 0xffff_ffff),
        ("ld.global.s16 %d1, [data]; mov.b64 {_, %r1}, %d1;", 0xffff_ffff),
        ("mov.b64 %d1, -1; ld.global.u16 %d1, [data]; mov.b64 {_, %r1}, %d1;", 0),
        ("cvt.s32.s8 %r1, %r2;", 0xffff_ff80),
        ("cvt.u32.u8 %r1, %r2;", 0x80),
        ("cvt.s64.s8 %d1, %r2; mov.b64 {_, %r1}, %d1;", 0xffff_ffff),
        ("cvt.s16.s32 %r1, %r3;", 0xffff_8765),
        ("st.local.u8 [l], %r2; ld.local.u32 %r1, [l];", 0x80),
        ("st.local.u16 [l+2], %r2; ld.local.u32 %r1, [l];", 0x5680_0000),
        ("st.local.u16 [l], %d2; ld.local.u32 %r1, [l];", 0x7788),
    ];
    let declared = ".global .align 8 .b8 data[2] = {0x80, 0xff};";
    for (text, expected) in rows {
        let body = format!(
            ".local .u32 l; st.local.u32 [l], 0;
            mov.u32 %r2, 0x12345680; mov.u32 %r3, 0x12348765; mov.u64 %d2, 0x1122334455667788;
            {text} st.global.u32 [%o], %r1;"
        );
        assert_eq!(run(declared, &body, (1, 2)), [expected; 2], "{text}");
    }
}

#[test]
fn special_registers_are_those_of_the_thread_and_cannot_be_written() {
    let body = "
        mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %nctaid.x; mov.u32 %r4, %laneid;
        mov.u32 %r5, %ntid.x;
        mov.u32 %r6, %ctaid.y; mov.u32 %r7, %nctaid.z; mov.u32 %r8, %warpid;
        setp.ne.u32 %p1, %r6, 0; @%p1 trap; setp.ne.u32 %p1, %r7, 1; @%p1 trap;
        shr.u32 %r9, %t, 5; setp.ne.u32 %p1, %r8, %r9; @%p1 trap;
        mad.lo.u32 %r1, %r1, 100, %r2; mad.lo.u32 %r1, %r1, 10, %r3; mad.lo.u32 %r1, %r1, 100, %r4;
        mad.lo.u32 %r1, %r1, 100, %r5;
        st.global.u32 [%o], %r1;";
    let expected = |i: u32| {
        let (t, c) = (i % 40, i / 40);
        (((t * 100 + c) * 10 + 3) * 100 + t % 32) * 100 + 40
    };
    assert_eq!(run("", body, (3, 40)), (0..120).map(expected).collect::<Vec<u32>>());
    let written = format!("{HEADER}{}", kernel("k", "", "mov.u32 %tid.x, 1;"));
    let Err(LoadError::Invalid(errors)) = Device::load(&[&written], LoadOptions::default()) else {
        panic!("it was loaded");
    };
    let places =
        errors.iter().map(|(_, error)| &written[error.span().start as usize..error.span().end as usize]);
    assert_eq!(places.collect::<Vec<_>>(), ["%tid.x"]);
}

#[test]
fn constants_have_what_the_host_wrote_and_kernels_cannot_change_them() {
    let declared = ".const .u32 c[4] = {1, 2, 3, 4};";
    let read = "
        mov.u64 %d1, c; mad.wide.u32 %d1, %t, 4, %d1;
        ld.const.u32 %r1, [%d1];
        st.global.u32 [%o], %r1;";
    let mut device = load(&format!("{declared}\n{}", kernel("k", "", read)));
    assert_eq!(launch(&mut device, "k", (1, 4), &[]), [1, 2, 3, 4]);
    let bytes: Vec<u8> = [50u32, 60, 70, 80].iter().flat_map(|word| word.to_le_bytes()).collect();
    device.write_variable("c", &bytes).expect("fits");
    assert_eq!(launch(&mut device, "k", (1, 4), &[]), [50, 60, 70, 80]);
    let written = refused(declared, "mov.u64 %d1, c; cvta.const.u64 %d1, %d1; st.u32 [%d1], 9;");
    assert_eq!(written.problem, Problem::ReadOnly);
}

#[test]
fn a_pointer_to_constants_can_be_a_kernels_parameter() {
    let body = "
        ld.param.u64 %d1, [at];
        ld.const.u32 %r1, [%d1+4];
        st.global.u32 [%o], %r1;";
    let kernel = kernel("k", ", .param .u64 .ptr .const .align 8 at", body);
    let mut device =
        load(&format!(".const .align 8 .u32 first[2]; .const .align 8 .u32 second[2];\n{kernel}"));
    for (name, value) in [("first", 31u32), ("second", 62)] {
        device.write_variable(name, &(u64::from(value) << 32).to_le_bytes()).expect("fits");
        let at = device
            .module(Default::default())
            .expect("loaded")
            .variable(name)
            .and_then(|(_, object)| object.offset)
            .expect("a place");
        assert_eq!(launch(&mut device, "k", (1, 3), &[&at.to_le_bytes()]), [value; 3]);
    }
}

// R5.1.3-5, R5.1.3-9, R5.1.3-10: the host makes buffers in constant memory, fills them, and hands over pointers.
#[test]
fn the_host_makes_constant_buffers_and_kernels_get_pointers_to_them() {
    let body = "
        ld.param.u64 %d1, [at]; mad.wide.u32 %d1, %t, 4, %d1; ld.const.u32 %r1, [%d1];
        st.global.u32 [%o], %r1;";
    let mut device = load(&kernel("k", ", .param .u64 .ptr .const .align 8 at", body));
    let [first, second] = [(); 2].map(|()| device.allocate_constant(16).expect("room"));
    for (address, start) in [(first, 10u32), (second, 20)] {
        let bytes: Vec<u8> = (start..start + 4).flat_map(u32::to_le_bytes).collect();
        device.write_constant(address, &bytes).expect("inside");
    }
    assert_eq!(launch(&mut device, "k", (1, 4), &[&first.to_le_bytes()]), [10, 11, 12, 13]);
    assert_eq!(launch(&mut device, "k", (1, 4), &[&second.to_le_bytes()]), [20, 21, 22, 23]);
    let out = device.allocate(256).expect("memory");
    let arguments = [out.to_le_bytes().to_vec(), first.to_le_bytes().to_vec()];
    match device.launch(&Launch::new("k", [1, 1, 1], [5, 1, 1], &arguments)) {
        Err(LaunchError::Fault(fault)) => assert!(matches!(fault.kind, FaultKind::Access(_)), "{fault}"),
        other => panic!("the fifth word is not the buffer's: {other:?}"),
    }
    assert!(device.write_constant(first + 8, &[0; 16]).is_err(), "past its end");
}

// R5.1.3-6.
#[test]
fn a_constant_buffer_never_spans_two_banks() {
    let device = load(&kernel("k", "", ""));
    for _ in 0..10 {
        let at = device.allocate_constant(40_000).expect("a bank each");
        assert_eq!(at / 65_536, (at + 39_999) / 65_536);
    }
    assert!(device.allocate_constant(40_000).is_err(), "25,536 bytes are left in each of ten banks");
    assert!(device.allocate_constant(20_000).is_ok());
}

// R5.1.3.1-7, R5.1.3.1-10: an array without a size is its bank, which the host fills.
#[test]
fn an_array_without_a_size_reaches_all_of_the_bank_that_the_host_filled() {
    let source = ".version 1.5\n.target sm_13\n.extern .const[2] .b32 const_buffer[];\n\
        .entry k(.param .u64 out)\n{\n.reg .b64 %o; .reg .b32 %r1, %r2;\nld.param.u64 %o, [out];\n\
        ld.const[2].b32 %r1, [const_buffer+4];\nld.const[2].b32 %r2, [const_buffer+65532];\n\
        st.global.b32 [%o], %r1;\nst.global.b32 [%o+4], %r2;\nexit;\n}\n";
    let mut device = Device::load(&[source], LoadOptions::default()).expect("valid");
    let mut bank = vec![0; 65_536];
    bank[4..8].copy_from_slice(&7u32.to_le_bytes());
    bank[65_532..].copy_from_slice(&9u32.to_le_bytes());
    device.write_variable("const_buffer", &bank).expect("a bank");
    assert_eq!(launch(&mut device, "k", (1, 2), &[]), [7, 9]);
    bank.push(0);
    assert!(device.write_variable("const_buffer", &bank).is_err(), "more than a bank");
}

#[test]
fn global_memory_is_seen_by_all_ctas_and_by_later_grids() {
    let declared = ".global .u32 sum; .global .u32 last;";
    let first = kernel("first", "", "atom.global.add.u32 %r1, [sum], %i; st.global.u32 [%o], 0;");
    let second = kernel(
        "second",
        "",
        "
        ld.global.u32 %r1, [sum]; ld.u32 %r2, [last];
        add.u32 %r1, %r1, %r2;
        st.global.u32 [%o], %r1;
        bar.sync 0;
        setp.eq.u32 %p1, %i, 0; @%p1 st.u32 [last], 5;",
    );
    let mut device = load(&format!("{declared}\n{first}{second}"));
    launch(&mut device, "first", (10, 40), &[]);
    let total = (0..400).sum::<u32>();
    assert_eq!(launch(&mut device, "second", (1, 64), &[]), vec![total; 64]);
    assert_eq!(launch(&mut device, "second", (2, 64), &[]), vec![total + 5; 128]);
}

#[test]
fn local_memory_is_each_threads_own() {
    // All write to one name before any reads it.
    let body = "
        .local .u32 mine[2];
        st.local.u32 [mine], %i; add.u32 %r1, %i, 7; st.local.u32 [mine+4], %r1;
        bar.sync 0;
        ld.local.u32 %r2, [mine]; ld.local.u32 %r3, [mine+4];
        mad.lo.u32 %r2, %r2, 1000, %r3;
        st.global.u32 [%o], %r2;";
    assert_eq!(run("", body, (3, 96)), (0..288).map(|i| 1000 * i + i + 7).collect::<Vec<u32>>());
}

#[test]
fn a_local_variable_of_the_module_is_one_place_for_all_functions_of_a_thread() {
    // Before PTX 3.0 there is no stack, and a function finds what its caller left.
    let source = "
.version 2.3
.target sm_20
.address_size 64
.local .u32 left;
.func twice { .reg .u32 %x; ld.local.u32 %x, [left]; add.u32 %x, %x, %x; st.local.u32 [left], %x; ret; }
.entry k(.param .u64 out)
{
    .reg .u32 %t; .reg .u64 %o;
    ld.param.u64 %o, [out];
    mov.u32 %t, %tid.x; mad.wide.u32 %o, %t, 4, %o;
    st.local.u32 [left], %t;
    call twice;
    ld.local.u32 %t, [left];
    st.global.u32 [%o], %t;
    ret;
}";
    let mut device = Device::load(&[source], LoadOptions::default()).expect("a module");
    assert_eq!(launch(&mut device, "k", (1, 40), &[]), (0..40).map(|t| 2 * t).collect::<Vec<u32>>());
}

#[test]
fn shared_memory_is_each_ctas_own_and_all_its_threads_see_it() {
    // The first thread writes, and waits until the first of every CTA has; the last adds; then all threads read.
    let declared = ".shared .u32 s; .global .u32 here;";
    let body = "
        setp.ne.u32 %p1, %t, 0; @%p1 bra WRITTEN;
        mov.u32 %r1, %ctaid.x; st.shared.u32 [s], %r1;
        atom.global.add.u32 %r2, [here], 1;
    POLL:
        ld.acquire.gpu.global.u32 %r2, [here];
        mov.u32 %r3, %nctaid.x;
        setp.lt.u32 %p2, %r2, %r3; @%p2 bra POLL;
    WRITTEN:
        bar.sync 0;
        setp.ne.u32 %p2, %t, 95; @%p2 bra ADDED;
        ld.shared.u32 %r4, [s]; add.u32 %r4, %r4, 100; st.shared.u32 [s], %r4;
    ADDED:
        bar.sync 0;
        ld.shared.u32 %r5, [s];
        st.global.u32 [%o], %r5;";
    assert_eq!(run(declared, body, (5, 96)), (0..480).map(|i| 100 + i / 96).collect::<Vec<u32>>());
}

#[test]
fn a_shared_variable_is_in_the_window_of_its_cta_and_in_that_of_the_cluster() {
    let body = "
        .shared .u32 s;
        mov.u32 %r1, %ctaid.x; st.shared::cta.u32 [s], %r1;
        bar.sync 0;
        mov.u64 %d1, s; cvta.shared.u64 %d2, %d1;
        isspacep.shared::cta %p1, %d2; isspacep.shared::cluster %p2, %d2;
        selp.u32 %r2, 10, 0, %p1; selp.u32 %r3, 100, 0, %p2;
        ld.shared::cluster.u32 %r4, [%d1];
        add.u32 %r2, %r2, %r3; add.u32 %r2, %r2, %r4;
        st.global.u32 [%o], %r2;";
    assert_eq!(run("", body, (4, 32)), (0..128).map(|i| 110 + i / 32).collect::<Vec<u32>>());
}

/// What an H200 says of the addresses of one variable in each space: the parameters of a kernel are global as well.
#[test]
fn the_parameters_of_a_kernel_are_in_the_global_window_too() {
    let spaces = ["global", "const", "shared::cta", "shared::cluster", "local", "param"];
    let asked: String = (0..)
        .zip(spaces)
        .map(|(bit, space)| {
            let truth = format!("isspacep.{space} %p1, %d1; selp.u32 %r2, {}, 0, %p1;", 1 << bit);
            format!("{truth} or.b32 %r1, %r1, %r2;\n")
        })
        .collect();
    for (address, wanted) in [
        ("mov.u64 %d1, g;", 0x01),
        ("mov.u64 %d1, c; cvta.const.u64 %d1, %d1;", 0x02),
        ("mov.u64 %d1, s; cvta.shared.u64 %d1, %d1;", 0x0c),
        ("mov.u64 %d1, l; cvta.local.u64 %d1, %d1;", 0x10),
        ("mov.b64 %d1, out; cvta.param.u64 %d1, %d1;", 0x21),
        ("mov.u64 %d1, 0;", 0x01),
    ] {
        let declared = ".global .u32 g; .const .u32 c;";
        let body = format!(
            ".shared .u32 s; .local .u32 l; {address} mov.u32 %r1, 0;\n{asked} st.global.u32 [%o], %r1;"
        );
        assert_eq!(run(declared, &body, (1, 1)), [wanted], "{address}");
    }
    let body = "mov.b64 %d1, out; cvta.param.u64 %d1, %d1; ld.u64 %d2, [%d1];
        sub.u64 %d2, %d2, %out; cvt.u32.u64 %r1, %d2; st.global.u32 [%o], %r1;";
    assert_eq!(run("", body, (1, 1)), [0], "a generic load reads it");
}

#[test]
fn every_access_needs_an_address_that_is_a_multiple_of_all_its_bytes() {
    let zero =
        "mov.u64 %d1, 0; mov.u64 %d2, 0; mov.b64 {%r0, %r1}, %d1; mov.b64 {%r2, %r3}, %d1; mov.u64 %d3, g;";
    for (access, bytes) in [
        ("ld.global.u16 %h0, [%d3+1];", 2),
        ("ld.global.u32 %r0, [%d3+2];", 4),
        ("st.global.u64 [%d3+4], %d1;", 8),
        ("ld.global.v2.u8 {%h0, %h1}, [%d3+1];", 2),
        ("ld.global.v2.f32 {%f0, %f1}, [%d3+4];", 8),
        ("ld.global.v4.b32 {%r0, %r1, %r2, %r3}, [%d3+8];", 16),
        ("st.global.v4.b32 [%d3+4], {%r0, %r1, %r2, %r3};", 16),
        ("st.global.v2.b64 [%d3+8], {%d1, %d2};", 16),
        ("atom.global.add.noftz.f16x2 %r0, [%d3+2], %r1;", 4),
        ("atom.global.cas.b64 %d1, [%d3+4], %d1, %d2;", 8),
        ("red.global.add.u32 [%d3+1], %r1;", 4),
    ] {
        let bad = refused(".global .align 32 .b8 g[64];", &format!("{zero} {access}"));
        assert_eq!((bad.problem, bad.bytes), (Problem::Misaligned, bytes), "{access}");
    }
}

#[test]
fn a_managed_variable_is_read_and_written_by_the_host_at_its_address() {
    let declared = ".global .attribute(.managed) .u32 m = 3;";
    let body = "
        setp.ne.u32 %p1, %t, 0; @%p1 ret;
        ld.global.u32 %r1, [m];
        mov.u64 %d1, m; cvta.global.u64 %d1, %d1;
        mad.lo.u32 %r2, %r1, 2, 1; st.u32 [%d1], %r2;
        shr.u64 %d2, %d1, 32; cvt.u32.u64 %r3, %d2; st.global.u32 [%out], %r3; cvt.u32.u64 %r3, %d1;
        st.global.u32 [%out+4], %r3; st.global.u32 [%out+8], %r1;";
    let mut device = load(&format!("{declared}\n{}", kernel("k", "", body)));
    // The pointer that the kernel sees is the one that the host uses.
    let seen = launch(&mut device, "k", (1, 3), &[]);
    let address = u64::from(seen[0]) << 32 | u64::from(seen[1]);
    let mut word = [0; 4];
    device.read(address, &mut word).expect("mapped");
    assert_eq!((seen[2], u32::from_le_bytes(word)), (3, 7));
    device.write(address, &40u32.to_le_bytes()).expect("mapped");
    assert_eq!(launch(&mut device, "k", (1, 3), &[])[2], 40);
}
