//! What the registers of an instruction held that faulted, as `softwarp run` tells it.

use crate::binary;
use crate::binary::{Ran, command};
use crate::files::with_headers as folder;
use serde_json::{Value as Json, json};
use std::path::Path;

fn run(folder: &Path, args: &[&str]) -> Ran {
    binary::run(command(folder, &[&["run"], args].concat()), b"")
}

/// Kernels of one access each, behind the address and a number that differ from thread to thread.
fn faulting(access: &str) -> (Ran, Json) {
    let text = format!(
        "\
.visible .entry k(.param .u64 p)
{{
    .reg .b16 %rs<4>;
    .reg .b32 %r<8>, %f<8>;
    .reg .b64 %rd<8>, %fd<8>;
    .reg .v2 .b32 %v;
    .reg .pred %p;
    ld.param.u64 %rd1, [p];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd2, %r1, 16;
    add.u64 %rd3, %rd1, %rd2;
    mov.b64 %rd4, %rd3;
    cvt.rn.f32.u32 %f1, %r1;
    add.f32 %f2, %f1, 0f3f000000;
    cvt.rn.f64.u32 %fd1, %r1;
    neg.s32 %r2, %r1;
    cvt.u16.u32 %rs1, %r1;
    setp.gt.u32 %p, %r1, 2;
    mov.b32 %v.x, %r1;
    mov.b32 %v.y, %r2;
    {access}
    ret;
}}
"
    );
    let folder = folder(&[("k.ptx", &text)]);
    let ran = run(folder.path(), &["k.ptx", "--block=8", "--arg=buffer:x=zero:80"]);
    let registers = ran.json()["fault"]["registers"].clone();
    (ran, registers)
}

/// Thread 5 is the first whose address, 80 bytes past the buffer's start, is outside.
#[test]
fn a_fault_shows_what_the_registers_held() {
    let shown = |access: &str| {
        let (ran, registers) = faulting(access);
        assert_eq!(ran.code, 1, "{access}: {}", ran.stdout);
        let one =
            |register: &Json| format!("{} {}", register["name"].as_str().unwrap_or("?"), register["value"]);
        let note = ran.stderr.lines().find(|line| line.contains("note: registers of this thread: "));
        assert_eq!(
            note.is_some(),
            registers.as_array().is_some_and(|list| !list.is_empty()),
            "{access}: {}",
            ran.stderr
        );
        let fault = &ran.json()["fault"];
        if !access.contains('+') && fault["kind"] == "out_of_bounds" {
            assert_eq!(registers[0]["bits"], fault["access"]["address"], "{access}");
        }
        registers.as_array().into_iter().flatten().map(one).collect::<Vec<String>>().join(", ")
    };
    for (access, registers) in [
        ("ld.global.u32 %r3, [%rd3];", "%rd3 null"),
        // A copy of a register, which is read in its place.
        ("ld.global.u32 %r3, [%rd4+0];", "%rd4 null"),
        ("ld.global.v4.f32 {%f3, %f4, %f5, %f6}, [%rd4];", "%rd4 null"),
        ("st.global.f32 [%rd3], %f2;", "%rd3 null, %f2 5.5"),
        ("@%p st.global.s32 [%rd3+4], %r2;", "%rd3 null, %r2 -5"),
        ("st.global.u16 [%rd3], %rs1;", "%rd3 null, %rs1 5"),
        ("st.global.f64 [%rd3], %fd1;", "%rd3 null, %fd1 5.0"),
        ("st.global.v2.u32 [%rd3], {%r1, 9};", "%rd3 null, %r1 5"),
        (
            "st.global.v4.b32 [%rd3], {%r1, %r2, %f1, %f2};",
            "%rd3 null, %r1 null, %r2 null, %f1 null, %f2 null",
        ),
        ("st.global.v2.u32 [%rd3], %v;", "%rd3 null"),
        ("red.global.add.u32 [%rd3], %r1;", "%rd3 null, %r1 5"),
        ("atom.global.add.f32 %f3, [%rd3], %f2;", "%rd3 null, %f2 5.5"),
        ("atom.global.cas.b32 %r3, [%rd3], %r1, %r2;", "%rd3 null, %r1 null, %r2 null"),
        ("st.u32 [%rd3], %r1;", "%rd3 null, %r1 5"),
        // What the instruction would write is still what was read.
        ("ld.global.u64 %rd3, [%rd3];", "%rd3 null"),
        ("ld.global.v2.u64 {%rd3, %rd4}, [%rd3];", "%rd3 null"),
        ("atom.global.exch.b32 %r1, [%rd3], %r1;", "%rd3 null, %r1 null"),
        ("trap;", ""),
    ] {
        assert_eq!(shown(access), registers, "{access}");
    }
    let (ran, registers) = faulting("st.global.f32 [%rd3], %f2;");
    let fault = &ran.json()["fault"];
    assert_eq!(fault["thread"], json!([5, 0, 0]));
    assert_eq!(registers[0]["bits"], fault["access"]["address"]);
    let data = json!({"name": "%f2", "operand": "data", "type": "f32", "bits": "0x40b00000", "value": 5.5});
    assert_eq!(registers[1], data);
    let address = registers[0]["bits"].as_str().expect("an address");
    let note = format!("= note: registers of this thread: %rd3 = {address}, %f2 = 5.5 (0x40b00000)\n");
    assert!(ran.stderr.contains(&note), "{}", ran.stderr);
}

/// Addresses of 32 bits, generic addresses of shared memory, and frames of calls in a diverged warp.
#[test]
fn registers_of_functions_and_of_shared_memory_are_shown() {
    let text = "\
.shared .align 4 .b8 tile[64];
.func store(.param .u64 at, .param .f32 x)
{
    .reg .b64 %p;
    .reg .f32 %x;
    ld.param.u64 %p, [at];
    ld.param.f32 %x, [x];
    mul.f32 %x, %x, 0f40000000;
    st.f32 [%p+4], %x;
    ret;
}
.visible .entry called(.param .u64 p)
{
    .reg .b32 %t, %x;
    .reg .b64 %p, %o;
    .reg .pred %odd;
    ld.param.u64 %p, [p];
    mov.u32 %t, %tid.x;
    and.b32 %x, %t, 1;
    setp.eq.u32 %odd, %x, 1;
    cvt.rn.f32.u32 %x, %t;
    mad.wide.u32 %p, %t, 16, %p;
    @!%odd bra done;
    { .param .u64 a; .param .f32 b;
      st.param.u64 [a], %p; st.param.f32 [b], %x;
      call store, (a, b); }
done:
    ret;
}
.visible .entry shared()
{
    .reg .b32 %t, %a;
    mov.u32 %t, %tid.x;
    mov.u32 %a, tile;
    mad.lo.u32 %a, %t, 0x10000000, %a;
    st.shared.u32 [%a], %t;
    ret;
}
.visible .entry generic()
{
    .reg .b32 %t;
    .reg .b64 %a, %o;
    mov.u32 %t, %tid.x;
    mov.u64 %a, tile;
    cvta.shared.u64 %a, %a;
    mul.wide.u32 %o, %t, 0x100000;
    add.u64 %a, %a, %o;
    st.u32 [%a], %t;
    ret;
}
";
    let folder = folder(&[("k.ptx", text)]);
    let fault = |kernel: &str, more: &[&str]| {
        let ran = run(folder.path(), &[&["k.ptx", "--kernel", kernel, "--block=8"], more].concat());
        assert_eq!(ran.code, 1, "{kernel}: {}", ran.stderr);
        ran.json()["fault"].clone()
    };
    let called = fault("called", &["--arg=buffer:x=zero:80"]);
    assert_eq!((&called["thread"], &called["function"]), (&json!([5, 0, 0]), &json!("store")));
    let names = |fault: &Json| {
        let list = fault["registers"].as_array().cloned().unwrap_or_default();
        list.iter().map(|one| format!("{} {} {}", one["name"], one["type"], one["value"])).collect::<Vec<_>>()
    };
    assert_eq!(names(&called), [r#""%p" "b64" null"#, r#""%x" "f32" 10.0"#]);
    let shared = fault("shared", &[]);
    assert_eq!(names(&shared), [r#""%a" "b32" null"#, r#""%t" "u32" 1"#]);
    assert_eq!(shared["registers"][0]["bits"], shared["access"]["address"]);
    let generic = fault("generic", &[]);
    assert_eq!(generic["registers"][0]["bits"], generic["access"]["generic"], "{generic}");
    assert_eq!(generic["registers"][1]["bits"], "0x00000001");
}
