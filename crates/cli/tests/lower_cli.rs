//! `softwarp lower`: the operations of kernels beside their text, and what cannot be executed.

use crate::binary::{command, run};
use serde_json::json;
use softwarp_testkit::{examples, files, repository};

const HEAD: &str = ".version 9.4\n.target sm_100a\n.address_size 64\n";

/// `docs/running.md` shows what the command prints.
#[test]
fn the_documentation_shows_the_operations_of_an_example() {
    let ran = run(command(&examples(), &["lower", "saxpy.ptx"]), b"");
    let page = std::fs::read_to_string(repository("docs/running.md")).expect("the page");
    let indented: String = ran
        .success()
        .stdout
        .trim_end()
        .lines()
        .map(|line| format!("    {line}").trim_end().to_owned() + "\n")
        .collect();
    assert!(page.contains(&indented), "docs/running.md should show\n{indented}");
}

#[test]
fn programs_get_operations_with_their_lines() {
    let ran = run(command(&examples(), &["lower", "--json", "saxpy.ptx"]), b"");
    let kernel = &ran.success().json()["kernels"][0];
    assert_eq!((&kernel["name"], &kernel["supported"]), (&json!("saxpy"), &json!(true)));
    let operations = kernel["functions"][0]["operations"].as_array().expect("operations");
    let multiply =
        operations.iter().find(|one| one["text"].as_str().is_some_and(|text| text.contains("fma.rn.f32")));
    assert!(multiply.is_some_and(|one| one["line"].as_u64().is_some_and(|line| line > 1)), "{operations:?}");
}

#[test]
fn whatever_cannot_be_executed_is_named_with_its_line() {
    let text = format!(
        "{HEAD}.entry k()\n{{\n.reg .b32 %r<3>;\n\
         ldmatrix.sync.aligned.m8n16.x1.shared.s8.s4 {{%r1}}, [%r2];\nadd.u32 %r2, %r1, 1;\n\
         ldmatrix.sync.aligned.m8n16.x2.shared.s8.s4 {{%r1, %r2}}, [%r2];\nret;\n}}\n.entry good()\n{{\nret;\n}}\n"
    );
    let folder = files::folder(&[("k.ptx", &text)]);
    let ran = run(command(folder.path(), &["lower", "k.ptx"]), b"");
    assert_eq!(ran.code, 1);
    for part in ["k.ptx:7:1", "k.ptx:9:1", "`k` will not run: 2 instructions cannot be executed"] {
        assert!(ran.stderr.contains(part), "{part}: {}", ran.stderr);
    }
    assert!(ran.stdout.contains(".entry good\n"), "{}", ran.stdout);
    let ran = run(command(folder.path(), &["lower", "--json", "k.ptx"]), b"");
    let kernels = ran.json()["kernels"].clone();
    assert_eq!(ran.code, 1);
    assert_eq!(kernels[0]["unsupported"][1]["line"], 9);
    assert_eq!((&kernels[0]["supported"], &kernels[1]["supported"]), (&json!(false), &json!(true)));
    let ran = run(command(folder.path(), &["lower", "--kernel", "good", "k.ptx"]), b"");
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
}

#[test]
fn a_kernel_that_is_not_there_is_a_usage_error() {
    let ran = run(command(&examples(), &["lower", "--kernel", "saxpi", "saxpy.ptx"]), b"");
    ran.is_refused(2, "there is no kernel `saxpi`: there is `saxpy`; did you mean `saxpy`?");
}

/// A product and a sum become one operation as in ptxas, unless that is switched off; so does the kernel compute.
#[test]
fn contraction_can_be_switched_off() {
    let text = "\
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 out, .param .f32 x)
{
    .reg .f32 %f<4>;
    .reg .b64 %rd1;
    ld.param.u64 %rd1, [out];
    ld.param.f32 %f1, [x];
    mul.f32 %f2, %f1, %f1;
    sub.f32 %f3, %f2, 0f3F800002;
    st.global.f32 [%rd1], %f3;
    ret;
}
";
    let folder = files::folder(&[("k.ptx", text)]);
    let lowered = |options: &[&str]| {
        run(command(folder.path(), &[&["lower"], options, &["k.ptx"]].concat()), b"").success().stdout.clone()
    };
    for (options, contracted) in [
        (&[][..], true),
        (&["--fidelity", "manual"], false),
        (&["--fmad=false"], false),
        (&["--fidelity", "manual", "--fmad=true"], true),
    ] {
        assert_eq!(lowered(options).contains("fma.rn.f32"), contracted, "{options:?}");
        let launch = [
            "run",
            "k.ptx",
            "--grid",
            "1",
            "--block",
            "1",
            "--arg",
            "buffer:out=zero:4",
            "--arg",
            "f32:0f3F800001",
        ];
        let all = [&launch[..], &["--dump", "out"], options].concat();
        let ran = run(command(folder.path(), &all), b"");
        // x = 1 + 2^-23: the product is rounded to 1 + 2^-22; in the fused multiply-add it is exact, and 2^-46 is left.
        let expected = if contracted { r#""out":"00008028""# } else { r#""out":"00000000""# };
        assert!(ran.success().stdout.contains(expected), "{options:?}: {}", ran.stdout);
    }
}

/// `--asm` shows machine code, and how it depends on the shape of CTAs.
#[test]
fn machine_code_is_shown_for_each_operation() {
    let asm = |option: &str| run(command(&examples(), &["lower", option, "saxpy.ptx"]), b"");
    let whole = asm("--asm").success().stdout.clone();
    if cfg!(target_arch = "x86_64") {
        assert!(whole.starts_with(".entry saxpy\n"), "{whole}");
        assert!(whole.contains("vfmadd231ps") || whole.contains("vfmadd213ps"), "{whole}");
        assert!(whole.contains(", some lanes: "), "{whole}");
        // The operation and the PTX that it is made from stand above its code.
        let head = whole.lines().find(|line| line.contains(" = fma.rn.f32 ") && !line.contains("some lanes"));
        assert!(head.is_some_and(|line| line.ends_with(": fma.rn.f32 %y, %a, %x, %y;")), "{whole}");
        // The first axis of such CTAs does not grow by one from lane to lane: addresses are gathered.
        let small = asm("--asm=16,16").success().stdout.clone();
        assert!(small.contains("vpgatherqd") && small != whole, "{small}");
    } else {
        assert!(whole.contains("not compiled"), "{whole}");
    }
    asm("--asm=0").is_refused(2, "invalid value '0' for '--asm[=<X,Y,Z>]': `0` is no size");
    let many = "invalid value '1,2,3,4' for '--asm[=<X,Y,Z>]': a CTA has at most three dimensions";
    asm("--asm=1,2,3,4").is_refused(2, many);
}

/// The machine code in JSON: each operation's, in the order of the code.
#[test]
fn programs_get_machine_code_of_each_operation() {
    let ran = run(command(&examples(), &["lower", "--asm", "--json", "saxpy.ptx"]), b"");
    let function = ran.success().json()["kernels"][0]["functions"][0].clone();
    if !cfg!(target_arch = "x86_64") {
        assert!(function["code"].is_null(), "{function}");
        return;
    }
    let operations = function["operations"].as_array().expect("operations");
    let product = operations.iter().position(|one| one["text"].as_str().unwrap_or("").contains("fma.rn.f32"));
    let parts = function["code"].as_array().expect("machine code");
    assert_eq!(parts[0]["part"], "frame");
    for masked in [false, true] {
        let part = parts.iter().find(|one| one["operation"] == json!(product) && one["masked"] == masked);
        let instructions =
            part.expect("code of the product")["instructions"].as_array().expect("instructions");
        assert!(
            instructions.iter().any(|one| one["text"].as_str().unwrap_or("").starts_with("vfmadd")),
            "{instructions:?}"
        );
    }
    let offsets: Vec<u64> = parts
        .iter()
        .flat_map(|part| part["instructions"].as_array().expect("instructions"))
        .map(|one| one["offset"].as_u64().expect("an offset"))
        .collect();
    assert!(offsets.is_sorted() && offsets[0] == 0, "{offsets:?}");
}

/// Compiled code and the interpreter print the same.
#[test]
fn kernels_run_the_same_compiled_and_interpreted() {
    let ran = |when: &str| {
        let ran = run(command(&examples(), &["run", "--jit", when, "saxpy.json"]), b"");
        ran.success().stdout.clone()
    };
    assert!(!ran("off").is_empty());
    assert_eq!(ran("off"), ran("on"));
    assert_eq!(ran("off"), ran("auto"));
    let refused = run(command(&examples(), &["run", "--jit", "often", "saxpy.json"]), b"");
    refused
        .is_refused(2, "invalid value 'often' for '--jit <WHEN>' [possible values: off, on, auto, compare]");
}
