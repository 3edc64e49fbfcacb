//! `softwarp run --sanitize` as its users meet it.

use crate::binary;
use crate::binary::{Ran, command};
use crate::files::with_headers as folder;
use serde_json::{Value as Json, json};
use std::path::Path;

fn run(folder: &Path, args: &[&str]) -> Ran {
    binary::run(command(folder, &[&["run"], args].concat()), b"")
}

/// Half of a warp comes to a barrier, and every thread reads shared memory that its neighbour wrote, without order.
const CARELESS: &str = "\
.visible .entry half(.param .u64 p)
{
    .reg .pred %q;
    .reg .b32 %t;
    mov.u32 %t, %tid.x;
    setp.gt.u32 %q, %t, 15;
    @%q bra JOIN;
    bar.sync 0;
JOIN:
    ret;
}
.visible .entry race(.param .u64 p)
{
    .shared .u32 s[64];
    .reg .b32 %t, %a, %b;
    mov.u32 %t, %tid.x;
    mov.u32 %a, s;
    mad.lo.u32 %b, %t, 4, %a;
    st.shared.u32 [%b], %t;
    xor.b32 %t, %t, 32;
    mad.lo.u32 %b, %t, 4, %a;
    ld.shared.u32 %t, [%b];
    ret;
}
";

#[test]
fn what_the_sanitizers_have_no_memory_for_is_told() {
    let kernel = ".visible .entry k(.param .u64 p)
        { .reg .b32 %t<4>; .reg .b64 %p<3>; ld.param.u64 %p1, [p]; mov.u32 %t1, %ctaid.x; mov.u32 %t2, %tid.x;
        mad.lo.u32 %t3, %t1, 256, %t2; mad.wide.u32 %p2, %t3, 4, %p1; st.global.u32 [%p2], %t3; ret; }";
    let folder = folder(&[("k.ptx", kernel)]);
    let args =
        ["k.ptx", "--grid", "2048", "--block", "256", "--arg", "buffer:y=zero:2097152", "--sanitize", "race"];
    let all = run(folder.path(), &[&args[..], &["--dump", "y=y.bin"]].concat());
    assert_eq!((all.code, &all.json()["not_looked_at"]), (0, &Json::Null), "{}", all.stderr);
    let some = run(folder.path(), &[&args[..], &["--dump", "y=y.bin", "--memory", "16M"]].concat());
    let told = some.json();
    assert_eq!((some.code, &told["ok"], &told["findings"]), (0, &json!(true), &json!([])), "{}", some.stderr);
    let one = &told["not_looked_at"][0];
    assert_eq!(one["what"], "accesses", "{told}");
    assert!(one["count"].as_u64().is_some_and(|count| count > 0), "{told}");
    let note = format!("note: {}", one["message"].as_str().expect("a message"));
    assert!(some.stderr.contains(&note), "{}", some.stderr);
}

#[test]
fn sanitizers_find_what_a_gpu_lets_pass() {
    let folder = folder(&[("careless.ptx", CARELESS)]);
    let careless = |kernel: &str, more: &[&str]| {
        let args = ["careless.ptx", "--kernel", kernel, "--block", "64", "--arg", "buffer:p=zero:4"];
        run(folder.path(), &[&args, more].concat())
    };
    for (kernel, sanitizer, kind, line, other) in
        [("half", "sync", "divergent_barrier", 11, 13), ("race", "race", "race", 22, 25)]
    {
        assert_eq!(careless(kernel, &[]).code, 0, "{kernel} runs");
        let ran = careless(kernel, &["--sanitize", sanitizer]);
        let (result, finding) = (ran.json(), &ran.json()["findings"][0]);
        assert_eq!((ran.code, &result["ok"]), (1, &json!(false)));
        assert_eq!((&finding["sanitizer"], &finding["kind"]), (&json!(sanitizer), &json!(kind)), "{finding}");
        let mut lines = [&finding["at"]["line"], &finding["other"]["line"]].map(Json::as_u64);
        lines.sort_unstable();
        assert_eq!(lines, [Some(line), Some(other)], "{finding}");
        assert!(ran.stderr.contains("careless.ptx:"), "{}", ran.stderr);
    }
}

const TOO_EARLY: &str = "\
.visible .entry k(.param .u64 in) {
  .reg .b64 %in; .reg .b32 %s, %v;
  .shared .align 16 .b8 tile[64];
  ld.param.u64 %in, [in];
  mov.u32 %s, tile;
  cp.async.ca.shared.global [%s], [%in], 4;
  bar.sync 0;
  ld.shared.u32 %v, [%s];
  ret;
}
";

#[test]
fn a_copy_that_nobody_waits_for_is_told_with_what_is_missing() {
    let folder = folder(&[("too_early.ptx", TOO_EARLY)]);
    let args = ["too_early.ptx", "--block", "1", "--arg", "buffer:in=zero:4", "--sanitize", "race"];
    let ran = run(folder.path(), &args);
    let finding = &ran.json()["findings"][0];
    assert_eq!((ran.code, &finding["kind"]), (1, &json!("unwaited")), "{finding}");
    assert_eq!(finding["missing"], json!("cp.async.wait_group or cp.async.wait_all"));
    assert_eq!((&finding["at"]["line"], &finding["other"]["line"]), (&json!(11), &json!(9)));
    let shown = "error: this reads what an asynchronous operation writes, and nobody has waited for it: \
        cp.async.wait_group or cp.async.wait_all is missing before this: 4 bytes at .shared address 0x400, 0 bytes \
        into `tile`
  --> too_early.ptx:11:3
   |
 9 |   cp.async.ca.shared.global [%s], [%in], 4;
   |   ----------------------------------------- the earlier access
10 |   bar.sync 0;
11 |   ld.shared.u32 %v, [%s];
   |   ^^^^^^^^^^^^^^^^^^^^^^^
   |
";
    assert!(ran.stderr.contains(shown), "{}", ran.stderr);
}
