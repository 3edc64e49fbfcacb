//! `softwarp run` as its users meet it.

use crate::binary;
use crate::binary::{Ran, run as call};
use crate::files::with_headers as folder;
use serde_json::{Value as Json, json};
use softwarp_cli::npy::{Array, DType};
use softwarp_testkit::examples;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

fn command(folder: &Path, args: &[&str]) -> Command {
    binary::command(folder, &[&["run"], args].concat())
}

fn run(folder: &Path, args: &[&str]) -> Ran {
    call(command(folder, args), b"")
}

/// Files, in whose folder the command is run.
const KERNELS: &str = "\
.visible .global .u32 counter = 5;
.visible .entry forever() { L: bra L; }
.visible .entry one(.param .u64 p) { ret; }
.visible .entry count(.param .u64 p)
{
    .reg .b32 %v;
    .reg .b64 %p;
    ld.param.u64 %p, [p];
    ld.global.u32 %v, [counter];
    add.u32 %v, %v, 1;
    st.global.u32 [counter], %v;
    st.global.u32 [%p], %v;
    ret;
}
.visible .entry crash() { trap; }
";

fn kernels(args: &[&str]) -> Ran {
    let folder = folder(&[("k.ptx", KERNELS)]);
    run(folder.path(), &[&["k.ptx"], args].concat())
}

/// Runs a launch file of the example's module.
fn launch_file(text: &str) -> Ran {
    let saxpy = std::fs::read_to_string(examples().join("saxpy.ptx")).expect("the example");
    let folder = folder(&[("l.json", text)]);
    std::fs::write(folder.path().join("l.ptx"), saxpy).expect("written");
    run(folder.path(), &["l.json"])
}

#[test]
fn the_example_runs_from_its_launch_file() {
    let ran = run(&examples(), &["saxpy.json"]);
    let y = "00000000000040410000c041000010420000404200007042000090420000a842";
    assert_eq!((ran.code, ran.json(), ran.stderr.as_str()), (0, json!({"ok": true, "dumps": {"y": y}}), ""));
}

#[test]
fn a_right_result_checks_and_a_wrong_one_does_not() {
    let ran = run(&examples(), &["saxpy.json", "--check"]);
    assert_eq!((ran.code, ran.json()), (0, json!({"ok": true, "differences": {}})), "{}", ran.stderr);

    let folder = softwarp_testkit::files::temporary();
    let text = std::fs::read_to_string(examples().join("saxpy.json")).expect("the example");
    let mut file: Json = serde_json::from_str(&text).expect("JSON");
    file["ptx"] = examples().join("saxpy.ptx").to_string_lossy().into_owned().into();
    file["expect"]["y"] = "00000000000040410000c041000010420000404200007042000090420000a942".into();
    std::fs::write(folder.path().join("l.json"), file.to_string()).expect("written");
    let ran = run(folder.path(), &["l.json", "--check", "--allow-paths"]);
    let difference = "1 of 8 elements differ, first element 7: 0x42a80000, expected 0x42a90000";
    assert_eq!((ran.code, ran.json()), (1, json!({"ok": false, "differences": {"y": difference}})));
    assert!(ran.stderr.contains(&format!("y: {difference}\n")), "{}", ran.stderr);

    file["compare"] = json!({"f32_rel": 0.01});
    std::fs::write(folder.path().join("l.json"), file.to_string()).expect("written");
    assert_eq!(run(folder.path(), &["l.json", "--check", "--allow-paths"]).code, 0);
}

#[test]
fn arrays_go_in_and_come_out_with_their_types() {
    let folder = folder(&[]);
    let floats = |values: &[f32]| values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>();
    let array = |values: &[f32]| Array::new(DType::new('f', 4), vec![2, 2], floats(values)).to_bytes();
    std::fs::write(folder.path().join("x.npy"), array(&[1.0, 2.0, 3.0, 4.0])).expect("written");
    std::fs::write(folder.path().join("y.npy"), array(&[0.5; 4])).expect("written");
    let saxpy = examples().join("saxpy.ptx");
    let saxpy = saxpy.to_string_lossy();
    let args =
        [&saxpy, "--block", "32", "--arg", "f32:2", "--arg", "buffer:x=@x.npy", "--arg", "buffer:y=@y.npy"];
    let ran =
        run(folder.path(), &[&args[..], &["--arg", "u32:4", "--dump", "y=out.npy", "--dump", "x"]].concat());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(ran.json()["dumps"], json!({"x": "0000803f000000400000404000008040"}));
    let out =
        Array::from_bytes(&std::fs::read(folder.path().join("out.npy")).expect("written")).expect("an array");
    assert_eq!((out.header.dtype, out.header.shape), (DType::new('f', 4), vec![2, 2]));
    assert_eq!(out.data, floats(&[2.5, 4.5, 6.5, 8.5]));

    let ran = run(
        folder.path(),
        &[&args[..], &["--arg", "u32:4", "--dump", "y:u16=out.npy", "--dump", "x=x.bin"]].concat(),
    );
    assert_eq!((ran.code, ran.json()), (0, json!({"ok": true, "dumps": {}})), "{}", ran.stderr);
    let out =
        Array::from_bytes(&std::fs::read(folder.path().join("out.npy")).expect("written")).expect("an array");
    assert_eq!((out.header.dtype, out.header.shape), (DType::new('u', 2), vec![8]));
    assert_eq!(std::fs::read(folder.path().join("x.bin")).expect("written"), floats(&[1.0, 2.0, 3.0, 4.0]));
}

#[test]
fn variables_are_set_and_read_back() {
    let ran = kernels(&["--kernel", "count", "--arg", "buffer:p=zero:4", "--dump", "p", "--dump", "counter"]);
    assert_eq!(ran.json()["dumps"], json!({"p": "06000000", "counter": "06000000"}));
    let args =
        ["--kernel", "count", "--arg", "buffer:p=zero:4", "--set", "counter=hex:ff000000", "--dump", "p"];
    assert_eq!(kernels(&args).json()["dumps"], json!({"p": "00010000"}));
}

#[test]
fn a_surface_is_read_back_when_it_says_so_and_when_it_is_asked_for() {
    let ptx = ".visible .entry fill(.param .u64 s) { .reg .b64 %s; .reg .b32 %x, %y;
        ld.param.u64 %s, [s]; mov.u32 %x, %tid.x; add.u32 %y, %x, 7; shl.b32 %x, %x, 2;
        sust.b.1d.b32.trap [%s, {%x}], {%y}; ret; }";
    let launch = json!({
        "launches": [{"kernel": "fill", "grid": [1, 1, 1], "block": [2, 1, 1], "args": [{"surfobj": "s"}]}],
        "surfaces": [{"name": "s", "kind": "surfobj", "format": "u32x1", "dims": [2, 0, 0], "dump": true,
            "data": "0000000000000000"}],
        "buffers": {}, "dump": [],
    });
    let folder = folder(&[("fill.ptx", ptx), ("fill.json", &launch.to_string())]);
    for args in [&["fill.json"][..], &["fill.json", "--dump", "s"]] {
        let ran = run(folder.path(), args);
        assert_eq!(ran.json(), json!({"ok": true, "dumps": {"s": "0700000008000000"}}), "{}", ran.stderr);
    }
}

/// Every CTA adds one to a counter, waits for all at the grid's barrier as `cooperative_groups` does, and reads it.
const COOPERATE: &str = "\
.visible .entry count(.param .u64 p)
{
    .reg .b32 %hi, %lo, %cta, %n, %add, %old, %new;
    .reg .b64 %bar, %p, %at;
    .reg .pred %first, %waits;
    ld.param.u64 %p, [p];
    mov.u32 %hi, %envreg1;
    mov.u32 %lo, %envreg2;
    mov.b64 %bar, {%lo, %hi};
    setp.eq.u64 %first, %bar, 0;
    @%first trap;
    mov.u32 %cta, %ctaid.x;
    mov.u32 %n, %nctaid.x;
    red.global.add.u32 [%p], 1;
    setp.eq.u32 %first, %cta, 0;
    sub.u32 %add, 0x80000001, %n;
    selp.b32 %add, %add, 1, %first;
    atom.add.release.gpu.u32 %old, [%bar+4], %add;
L:  ld.acquire.gpu.u32 %new, [%bar+4];
    xor.b32 %new, %new, %old;
    setp.gt.s32 %waits, %new, -1;
    @%waits bra L;
    ld.global.u32 %new, [%p];
    mad.wide.u32 %at, %cta, 4, %p;
    st.global.u32 [%at+4], %new;
    ret;
}
";

#[test]
fn the_ctas_of_a_cooperative_launch_wait_for_one_another() {
    let folder = folder(&[("count.ptx", COOPERATE)]);
    let count = |ctas: &str, more: &[&str]| {
        let args = ["count.ptx", "--grid", ctas, "--arg", "buffer:y=zero:20000", "--dump", "y"];
        run(folder.path(), &[&args, more].concat())
    };
    // More than are started where nobody says that they cooperate.
    let ctas = 3000;
    for threads in ["1", "2"] {
        let ran = count("3000", &["--cooperative", "--threads", threads]);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        let expected = format!("{}{}", "b80b0000".repeat(ctas + 1), "00".repeat(20000 - 4 * ctas - 4));
        assert!(ran.json()["dumps"]["y"] == json!(expected));
    }
    assert_eq!(count("1", &[]).json()["fault"]["kind"], "trap");
    count("5000", &["--cooperative"])
        .is_refused(2, "5000 CTAs in a cooperative launch: at most 4224 can be there at once");
}

#[test]
fn a_fault_is_told_to_people_and_to_programs() {
    let args = ["saxpy.ptx", "--block", "32", "--arg", "f32:2", "--arg", "buffer:x=iota32:128"];
    let ran = run(&examples(), &[&args[..], &["--arg", "buffer:y=zero:64", "--arg", "u32:17"]].concat());
    assert_eq!(ran.code, 1);
    let address = ran.json()["fault"]["access"]["address"].as_str().expect("an address").to_owned();
    let message = format!(
        "read of 4 bytes at .global address {address} is out of bounds: right behind `y`, which has 64 bytes"
    );
    let fault = ran.json()["fault"].clone();
    assert_eq!(ran.json()["ok"], false);
    for (key, value) in [
        ("kind", json!("out_of_bounds")),
        ("message", json!(message)),
        ("kernel", json!("saxpy")),
        ("file", json!("saxpy.ptx")),
        ("line", json!(35)),
        ("instruction", json!("ld.global.f32 %y, [%py];")),
        ("cta", json!([0, 0, 0])),
        ("thread", json!([16, 0, 0])),
        ("lanes", json!("0x0001ffff")),
    ] {
        assert_eq!(fault[key], value, "{key}");
    }
    let nearest = &fault["access"]["nearest"];
    assert_eq!(
        (&nearest["name"], &nearest["side"], &nearest["distance"]),
        (&json!("y"), &json!("after"), &json!(0))
    );
    let shown = format!(
        "\
error: {message}
  --> saxpy.ptx:35:5
   |
35 |     ld.global.f32 %y, [%py];
   |     ^^^^^^^^^^^^^^^^^^^^^^^^
   |
   = note: thread (16,0,0) of CTA (0,0,0), in warp 0 with 17 active lanes
   = note: in kernel `saxpy`
   = note: registers of this thread: %py = {address}
"
    );
    assert_eq!(ran.stderr, shown);
    let registers =
        json!([{"name": "%py", "operand": "address", "type": "b64", "bits": address, "value": null}]);
    assert_eq!(fault["registers"], registers);
}

#[test]
fn a_fault_names_the_line_that_the_ptx_was_made_from() {
    let text = ".visible .entry k()\n{\n.loc 1 12 3\ntrap;\nret;\n}\n.file 1 \"kernel.cu\"\n";
    let folder = folder(&[("k.ptx", text)]);
    let ran = run(folder.path(), &["k.ptx"]);
    assert_eq!(ran.json()["fault"]["source"], json!({"file": "kernel.cu", "line": 12, "column": 3}));
    assert!(ran.stderr.contains("note: from kernel.cu:12:3\n"), "{}", ran.stderr);
}

/// What the command line names and the module has not is a usage error, whichever option names it.
#[test]
fn names_that_are_not_there_are_usage_errors() {
    let count = |more: &[&str]| {
        kernels(&[&["--kernel", "count", "--block", "1", "--arg", "buffer:p=zero:4"], more].concat())
    };
    count(&["--set", "conter=u32:1"]).is_refused(2, "--set conter: there is no variable of this name");
    count(&["--dump", "conter"])
        .is_refused(2, "--dump conter: there is no buffer, variable or surface of this name");
    let ran = count(&["--set", "counter=hex:00000000000000000000000000000000"]);
    assert!(
        ran.code == 2 && ran.stderr.starts_with("error: --set counter: `counter` has "),
        "{}",
        ran.stderr
    );
    assert_eq!(count(&["--set", "counter=u32:1"]).code, 0);
}

#[test]
fn a_trap_stops_the_launch() {
    let ran = kernels(&["--kernel", "crash"]);
    assert_eq!((ran.code, &ran.json()["fault"]["kind"]), (1, &json!("trap")));
}

#[test]
fn a_kernel_that_never_ends_is_stopped_by_its_limits() {
    for (limits, kind, words) in [
        (["--steps", "10000"], "step_limit", "stopped: the limit on instructions was reached"),
        (["--time", "1"], "time_limit", "stopped: the time limit was reached"),
    ] {
        for grid in ["1", "2147483647"] {
            let ran =
                kernels(&[&["--kernel", "forever", "--block", "1", "--grid", grid][..], &limits].concat());
            assert_eq!((ran.code, &ran.json()["fault"]["kind"]), (1, &json!(kind)));
            assert_eq!(ran.json()["dumps"], json!({}));
            let title = format!("error: {words}, in kernel `forever`\n");
            assert!(ran.stderr.starts_with(&title), "{}", ran.stderr);
            if grid == "1" {
                assert!(ran.stderr.contains("- 1 of 1 warps were here\n"), "{}", ran.stderr);
                let place = &ran.json()["fault"]["running"][0];
                assert_eq!((&place["line"], &place["warps"]), (&json!(5), &json!(1)), "{place}");
            }
        }
    }
}

#[cfg(unix)]
#[test]
fn an_interrupt_stops_a_launch_and_leaves_what_was_done() {
    // It says that it has begun: after that, it is in its loop or about to be.
    let text = ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n\
        .global .align 1 .b8 text[7] = {98, 101, 103, 117, 110, 10, 0};\n\
        .visible .entry k(.param .u64 p)\n{\n.reg .b64 %p, %f;\nld.param.u64 %p, [p];\nst.global.u8 [%p], 7;\n\
        mov.u64 %f, text;\ncvta.global.u64 %f, %f;\n{\n.param .b64 f;\n.param .b64 a;\n.param .b32 r;\n\
        st.param.b64 [f], %f;\nst.param.b64 [a], 0;\ncall.uni (r), vprintf, (f, a);\n}\nL: bra L;\n}\n";
    let folder = folder(&[("k.ptx", text)]);
    let mut child =
        command(folder.path(), &["k.ptx", "--arg", "buffer:p=zero:1", "--dump", "p", "--time", "60"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary runs");
    let mut said = String::new();
    let stderr = child.stderr.as_mut().expect("piped");
    BufReader::new(stderr).read_line(&mut said).expect("a line");
    assert_eq!(said, "begun\n");
    let began = Instant::now();
    let told = Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill runs");
    assert!(told.success());
    let output = child.wait_with_output().expect("it ends");
    assert!(began.elapsed() < Duration::from_secs(20));
    assert_eq!(output.status.code(), Some(1));
    let result: Json = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!((&result["fault"]["kind"], &result["dumps"]["p"]), (&json!("cancelled"), &json!("07")));
}

#[test]
fn launches_that_cannot_be_are_refused() {
    for (args, line) in [
        (&["--kernel", "nope"][..], "there is no kernel `nope`: there is `forever`, `one`, `count`, `crash`"),
        (
            &[],
            "the module has 4 kernels: choose one, as in --kernel forever: `forever`, `one`, `count`, `crash`",
        ),
        (&["--kernel", "forever", "--grid", "0"], "grid.x is 0: it must be from 1 to 2147483647"),
        (
            &["--kernel", "forever", "--grid", "4294967295"],
            "grid.x is 4294967295: it must be from 1 to 2147483647",
        ),
        (&["--kernel", "forever", "--grid", "1,65536"], "grid.y is 65536: it must be from 1 to 65535"),
        (&["--kernel", "forever", "--block", "1025"], "block.x is 1025: it must be from 1 to 1024"),
        (&["--kernel", "forever", "--block", "1,1,65"], "block.z is 65: it must be from 1 to 64"),
        (&["--kernel", "forever", "--block", "64,64"], "a CTA of 4096 threads: there can be 1024"),
        (
            &["--kernel", "forever", "--shared", "4294967295"],
            "the launch needs 4294967295 bytes of shared memory for each CTA, and a CTA can have 232448",
        ),
        (&["--kernel", "one"], "0 arguments: kernel `one` has 1 parameters: .u64 p"),
        (&["--kernel", "forever", "--arg", "u8:1"], "1 arguments: kernel `forever` has 0 parameters"),
        (&["--kernel", "one", "--arg", "u32:1"], "argument 0 has 4 bytes: parameter `p` has 8"),
        (&["--kernel", "one", "--arg", "u64:1", "--threads", "0"], "--threads 0: there must be at least one"),
        (
            &["--kernel", "one", "--arg", "u64:1", "--dump", "q"],
            "--dump q: there is no buffer, variable or surface of this name",
        ),
        (
            &["--kernel", "one", "--arg", "u64:1", "--check"],
            "--check: the launch file has no `expect` to compare with",
        ),
        (
            &["--kernel", "one", "--arg", "u64:1", "--time", "inf"],
            "--time inf: it must be a number of seconds",
        ),
    ] {
        kernels(args).is_refused(2, line);
    }
}

#[test]
fn arguments_that_say_nothing_are_refused() {
    for (argument, why) in [
        ("7", "it is KIND:VALUE, as in u32:7"),
        ("q:1", "`q` is no kind of argument"),
        ("u64:x", "`x` is not a number"),
        ("u8:256", "256 is out of range for u8: 0 to 255"),
        ("bytes:0", "1 hexadecimal digits: there are two for each byte"),
        ("buffer:x", "there is no buffer of this name yet: give its contents, as in buffer:x=zero:4096"),
        ("buffer:=zero:4", "a buffer has a name of its own"),
        ("buffer:x=zero:99999999999999999999", "the number of bytes is not a number"),
        ("buffer:x=splitmix32:4", "it is splitmix32:SEED:BYTES"),
    ] {
        let ran = kernels(&["--kernel", "one", "--arg", argument]);
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{argument}");
        assert!(ran.stderr.starts_with(&format!("error: --arg {argument}: ")), "{}", ran.stderr);
        assert!(ran.stderr.contains(why) || argument == "u64:x", "{}", ran.stderr);
    }
    let ran = kernels(&["--kernel", "one", "--arg", "buffer:x=zero:99999999999999999"]);
    ran.is_refused(1, "`x`: no room for 99999999999999999 bytes");
    kernels(&["--kernel", "one", "--arg", "buffer:x=@gone.npy"])
        .is_refused(2, "cannot read gone.npy: No such file or directory (os error 2)");
}

#[test]
fn malformed_launch_files_are_refused_with_the_place() {
    let launch =
        |rest: &str| format!(r#"{{"launches": [{{"kernel": "saxpy", "grid": 1, "block": 1, {rest}}}]}}"#);
    let argument = |argument: &str| launch(&format!(r#""args": [{argument}]"#));
    for (text, line) in [
        ("{}".to_owned(), "`launches` is missing"),
        ("[]".to_owned(), "it must be an object"),
        (r#"{"launches": 7}"#.to_owned(), "launches: it must be a list"),
        (r#"{"launches": [{}]}"#.to_owned(), "launches[0]: `kernel` is missing"),
        (
            r#"{"launches": [{"kernel": "k", "grid": [1, 1, 1, 1], "block": 1}]}"#.to_owned(),
            "launches[0].grid: there are one to three dimensions",
        ),
        (
            r#"{"launches": [{"kernel": "k", "grid": 4294967296, "block": 1}]}"#.to_owned(),
            "launches[0].grid: it must be less than 2^32",
        ),
        (
            r#"{"launches": [{"kernel": "k", "grid": 1, "block": -1}]}"#.to_owned(),
            "launches[0].block: it must be a whole number that is not negative",
        ),
        (argument(r#"{"f32": "x"}"#), "launches[0].args[0].f32: it must be a number"),
        (argument(r#"{"u8": 256}"#), "launches[0].args[0].u8: it does not fit: u8 is from 0 to 255"),
        (
            argument(r#"{"u8": 1, "u16": 1}"#),
            "launches[0].args[0]: an argument has one value, as in {\"u32\": 7}",
        ),
        (argument(r#"{"q": 1}"#), "launches[0].args[0].q: `q` is no kind of argument"),
        (argument(r#"{"buffer": "x"}"#), "launches[0].args[0]: there is no buffer `x`"),
        (
            argument(r#"{"packed": {"size": 99999999999, "fields": []}}"#),
            "launches[0].args[0]: a struct of 99999999999 bytes: parameters have at most 32764",
        ),
        (
            argument(r#"{"packed": {"size": 4, "fields": [{"at": 2, "u32": 1}]}}"#),
            "launches[0].args[0]: a member at 2 does not fit into 4 bytes",
        ),
        (
            argument(r#"{"packed": {"size": 4, "fields": [{"at": 18446744073709551615, "u32": 1}]}}"#),
            "launches[0].args[0]: a member at 18446744073709551615 does not fit into 4 bytes",
        ),
        (
            argument(r#"{"f32": 1}"#),
            "launches[0].args: 1 arguments: kernel `saxpy` has 4 parameters: .f32 a, .u64 x, .u64 y, .u32 n",
        ),
        (argument(r#"{"texobj": "t"}"#), "launches[0].args[0]: there is no texture object `t`"),
        (argument(r#"{"tensormap": {}}"#), "launches[0].args[0].tensormap: it must name its `buffer`"),
        (
            r#"{"launches": [], "buffers": {"x": {"bytes": 18446744073709551615}}}"#.to_owned(),
            "`x`: no room for 18446744073709551615 bytes",
        ),
        (
            r#"{"launches": [], "buffers": {"x": {"bytes": 2, "init": {"hex": "000000"}}}}"#.to_owned(),
            "buffers.x.init: 3 bytes of data: there is room for 2",
        ),
        (
            r#"{"launches": [], "buffers": {"x": {"bytes": 2, "init": "what"}}}"#.to_owned(),
            "buffers.x.init: it must be zero, none, iota32, hexadecimal digits or an object",
        ),
        (
            r#"{"launches": [], "dump": ["q"]}"#.to_owned(),
            "dump: there is no buffer, variable or surface `q`",
        ),
        (r#"{"launches": [], "freed": ["q"]}"#.to_owned(), "freed[0]: there is no buffer `q`"),
        (
            r#"{"launches": [], "compare": {"x": 1}}"#.to_owned(),
            "compare: no rule of comparison that is known",
        ),
        (
            r#"{"launches": [], "globals": [{"name": "g", "set": "00"}]}"#.to_owned(),
            "`g`: there is no variable `g`",
        ),
    ] {
        let ran = launch_file(&text);
        assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{text}");
        // With its place in the file, unless it is only found out when memory is made.
        let shown = ran.stderr.starts_with(&format!("error: {line}\n --> l.json:1:"));
        assert!(shown || ran.stderr == format!("error: l.json: {line}\n"), "{line}: {}", ran.stderr);
    }
    assert_eq!(launch_file("{").code, 1);
}

#[test]
fn a_launch_file_stands_alone() {
    let ran = run(&examples(), &["saxpy.json", "--grid", "4"]);
    ran.is_refused(2, "--grid goes with PTX files: a launch file says it itself");
    run(&examples(), &["saxpy.json", "saxpy.ptx"])
        .is_refused(2, "a launch file stands alone: it names its module");
}

#[test]
fn a_module_with_errors_is_shown_as_check_shows_it() {
    let folder = folder(&[("k.ptx", ".visible .entry k() { .reg .u32 %r; add.u64 %r, %r, 1; ret; }\n")]);
    let ran = run(folder.path(), &["k.ptx"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (1, ""));
    assert!(ran.stderr.starts_with("error[E0"), "{}", ran.stderr);
    assert!(ran.stderr.ends_with("error: 1 error: the module cannot be loaded\n"), "{}", ran.stderr);
}

#[test]
fn what_the_machine_lacks_is_named_with_its_place() {
    let text = ".version 9.4\n.target sm_100a\n.address_size 64\n.visible .entry k() { .reg .b32 %r<2>;\n\
                ldmatrix.sync.aligned.m8n16.x1.shared.s8.s4 {%r0}, [%r1]; ret; }\n";
    let folder = folder(&[]);
    std::fs::write(folder.path().join("k.ptx"), text).expect("written");
    let ran = run(folder.path(), &["k.ptx"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{}", ran.stderr);
    assert!(
        ran.stderr
            .contains("`ldmatrix.sync.aligned.m8n16.x1.shared.s8.s4` is not executed\n --> k.ptx:5:1\n"),
        "{}",
        ran.stderr
    );
}

#[test]
fn modules_are_linked() {
    let folder = folder(&[
        (
            "a.ptx",
            ".extern .func (.reg .u32 r) twice(.reg .u32 a);\n.visible .entry k(.param .u64 p)\n{\n\
                   .reg .b32 %v;\n.reg .b64 %p;\nld.param.u64 %p, [p];\nmov.u32 %v, 21;\n\
                   call (%v), twice, (%v);\nst.global.u32 [%p], %v;\nret;\n}\n",
        ),
        ("b.ptx", ".visible .func (.reg .u32 r) twice(.reg .u32 a) { add.u32 r, a, a; ret; }\n"),
    ]);
    let ran = run(folder.path(), &["a.ptx", "b.ptx", "--arg", "buffer:p=zero:4", "--dump", "p"]);
    assert_eq!(
        (ran.code, ran.json()),
        (0, json!({"ok": true, "dumps": {"p": "2a000000"}})),
        "{}",
        ran.stderr
    );
}

#[test]
fn counts_are_those_of_the_program() {
    let ran = run(&examples(), &["saxpy.json", "--check", "--stats"]);
    let stats = &ran.json()["stats"];
    assert_eq!(
        (&stats["warp_instructions"], &stats["thread_instructions"]),
        (&json!(20), &json!(7 * 32 + 8 * 13 + 24))
    );
    assert_eq!(stats["by_instruction"]["ld.global.f32"], json!({"warp": 2, "thread": 16}));
    assert_eq!(stats["divergent_branches"], 1);
    assert!(ran.stderr.contains("active lanes on average  17.6 of 32\n"), "{}", ran.stderr);
}

#[test]
fn counts_are_told_up_to_a_fault() {
    let ptx = ".visible .entry k()\n{\n.reg .b64 %a; .reg .b32 %r;\n\
        mov.u64 %a, 64;\nmov.u32 %r, 1;\nst.global.u32 [%a], %r;\nmov.u32 %r, 2;\nret;\n}\n";
    let folder = folder(&[("k.ptx", ptx)]);
    let ran = run(folder.path(), &["k.ptx", "--block", "32", "--stats"]);
    let (result, once) = (ran.json(), json!({"warp": 1, "thread": 32}));
    assert_eq!((ran.code, &result["fault"]["kind"]), (1, &json!("out_of_bounds")));
    let stats = &result["stats"];
    let expected = json!({"mov.u64": once, "mov.u32": once, "st.global.u32": once});
    assert_eq!((&stats["by_instruction"], &stats["ctas"]), (&expected, &json!(0)));
    assert_eq!(stats["warp_instructions"], 3);
    assert!(ran.stderr.contains("instructions of threads  96\n"), "{}", ran.stderr);
}

#[test]
fn constants_that_the_host_makes_can_be_arguments() {
    let ptx = ".visible .entry k(.param .u64 .ptr .const c, .param .u64 out)\n{\n.reg .b64 %c, %o; .reg .b32 %r;\n\
        ld.param.u64 %c, [c];\nld.param.u64 %o, [out];\nld.const.u32 %r, [%c+4];\nst.global.u32 [%o], %r;\nret;\n}\n";
    let folder = folder(&[("k.ptx", ptx)]);
    let expected = json!({"ok": true, "dumps": {"y": "05060708"}});
    let arguments = ["--arg", "constant:c=hex:0102030405060708", "--arg", "buffer:y=zero:4", "--dump", "y"];
    let ran = run(folder.path(), &[&["k.ptx"][..], &arguments].concat());
    assert_eq!((ran.code, ran.json()), (0, expected.clone()), "{}", ran.stderr);
    let launch = json!({
        "launches": [{"kernel": "k", "grid": 1, "block": 1, "args": [{"constant": "c", "offset": 256}, {"buffer": "y"}]}],
        "constants": {"c": {"bytes": 512, "init": "iota32"}},
        "buffers": {"y": {"bytes": 4}}, "dump": ["y"],
    });
    std::fs::write(folder.path().join("k.json"), launch.to_string()).expect("a file");
    let ran = run(folder.path(), &["k.json"]);
    assert_eq!((ran.code, &ran.json()["dumps"]["y"]), (0, &json!("41000000")), "{}", ran.stderr);
}

#[test]
fn a_thread_can_be_followed() {
    let ran = run(&examples(), &["saxpy.json", "--trace", "0:3"]);
    assert_eq!(ran.code, 0);
    let lines: Vec<&str> = ran.stderr.lines().collect();
    assert_eq!(lines.len(), 20, "{}", ran.stderr);
    assert_eq!(lines[17], "0,0,0:3,0,0     36  fma.rn.f32 %y, %a, %x, %y;  → %y = 36 (0x42100000)");
    assert_eq!(lines[16], "0,0,0:3,0,0     35  ld.global.f32 %y, [%py];  [y+12]  → %y = 30 (0x41f00000)");
    assert_eq!(lines[18], "0,0,0:3,0,0     37  st.global.f32 [%py], %y;  [y+12] ← 36 (0x42100000)");
    let some = ["--trace-only", "register:%offset", "--trace-only", "line:30-32"];
    let ran = run(&examples(), &[&["saxpy.json", "--trace", "0:3"], &some[..]].concat());
    assert_eq!(ran.stderr.lines().count(), 2, "{}", ran.stderr);
    let folder = folder(&[]);
    let file = folder.path().join("trace.jsonl");
    let path = file.to_str().expect("a path");
    let ran = run(&examples(), &["saxpy.json", "--trace", "0:3", "--trace-file", path]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    let rows = std::fs::read_to_string(&file).expect("the file");
    let rows: Vec<Json> = rows.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(rows.len(), 20);
    assert_eq!(rows[18]["memory"]["stored"][0]["value"], "36");
    assert_eq!(
        rows[17]["results"][0],
        json!({"register": "%y", "type": "f32", "value": "36", "bits": "0x42100000"})
    );
    let outside = run(&examples(), &["saxpy.json", "--trace", "9"]);
    assert_eq!(outside.stderr.lines().count(), 8, "{}", outside.stderr);
}

#[test]
fn what_a_kernel_prints_goes_to_standard_error() {
    let text = ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n\
        .global .align 1 .b8 text[7] = {104, 101, 108, 108, 111, 10, 0};\n\
        .visible .entry k()\n{\n.reg .b64 %f;\n.reg .b32 %r;\n\
        mov.u64 %f, text;\ncvta.global.u64 %f, %f;\n{\n.param .b64 f;\n.param .b64 a;\n.param .b32 r;\n\
        st.param.b64 [f], %f;\nst.param.b64 [a], 0;\ncall.uni (r), vprintf, (f, a);\nld.param.b32 %r, [r];\n}\nret;\n}\n";
    let folder = folder(&[("k.ptx", text)]);
    let ran = run(folder.path(), &["k.ptx", "--grid", "2", "--block", "1"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, "hello\nhello\n"), "{}", ran.stdout);
    assert_eq!(ran.json(), json!({"ok": true, "dumps": {}}));
}
