//! Textures and surfaces in launch files: the recorded programs (tests/golden/README.md says what they are), the
//! example, and what is wrong with files.

use crate::binary::{command, run as call};
use crate::recorded::{assert_agree, programs};
use serde_json::{Value as Json, json};
use softwarp_cli::run::file::LaunchFile;
use softwarp_cli::verify::programs::{Program, Verdict, verdict};

#[test]
fn recorded_lookups_and_surfaces_are_as_an_h200_had_them() {
    assert_agree(&programs("textures.jsonl.gz"), 906);
}

#[test]
fn recorded_levels_from_gradients_borders_and_odd_texels_are_as_an_h200_had_them() {
    assert_agree(&programs("lookups.jsonl.gz"), 491);
}

#[test]
fn the_example_resamples_an_image() {
    let examples = softwarp_testkit::examples();
    let ran = call(command(&examples, &["run", "resample.json", "--check"]), b"");
    let answer: Json = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!((ran.code, answer), (0, json!({"ok": true, "differences": {}})), "{}", ran.stderr);
}

/// What is wrong with a launch file of one texture, which is right but for these members.
fn complaint(change: Json) -> String {
    let mut texture =
        json!({"name": "t", "kind": "texobj", "format": "u8x4", "dims": [4, 4, 0], "filter": "point"});
    for (key, value) in change.as_object().expect("members") {
        texture[key] = value.clone();
    }
    let file = json!({"launches": [], "textures": [texture]});
    LaunchFile::from_json(&file).map(drop).expect_err("it is wrong").to_string()
}

#[test]
fn what_is_wrong_with_a_texture_is_told_with_its_place() {
    for (change, words) in [
        (json!({"kind": "surfref"}), "textures[0].kind: it must be texref, texobj"),
        (json!({"format": "u7x4"}), "textures[0].format: it must be a type and 1, 2 or 4 channels"),
        (json!({"dims": [4, 4, 4, 4]}), "textures[0].dims: there are one to three dimensions"),
        (json!({"dims": [0]}), "textures[0].dims: width: 0 is not from 1 to 131072"),
        (json!({"dims": [1u64 << 40]}), "textures[0].dims[0]: it must be less than 2^32"),
        (json!({"dims": [4, 4, 5], "cubemap": true}), "textures[0].dims: a cube has square faces"),
        (json!({"filter": "cubic"}), "textures[0].filter: it must be point, linear"),
        (
            json!({"address": ["wrap", "around"]}),
            "textures[0].address[1]: it must be wrap, mirror, clamp, border",
        ),
        (json!({"border": ["red"]}), "textures[0].border[0]: it must be a number"),
        (json!({"memory": "linear"}), "textures[0].memory: such a texture is .1d"),
        (json!({"mips": ["00", "00", "00", "00"]}), "textures[0].dims: levels: 4 is not from 1 to 3"),
        (json!({"data": "0g"}), "textures[0].data: data has a character that is no hexadecimal digit"),
        (json!({"normalized": 1}), "textures[0].normalized: it must be true or false"),
    ] {
        let complaint = complaint(change);
        assert!(complaint.starts_with(words), "{complaint}");
    }
}

#[test]
fn a_texture_over_a_buffer_sees_what_kernels_write_there() {
    let ptx = ".version 8.6\n.target sm_90\n.address_size 64\n.global .texref t;
        .visible .entry k(.param .u64 out, .param .u64 b) { .reg .b32 %r<8>; .reg .b64 %o, %b;
        ld.param.u64 %o, [out]; ld.param.u64 %b, [b]; mov.u32 %r4, 3;
        tex.1d.v4.u32.s32 {%r0,%r1,%r2,%r3}, [t, {%r4}]; st.global.u32 [%o], %r0;
        mov.u32 %r5, 7; st.global.u32 [%b+12], %r5; ret; }";
    let launch =
        json!({"kernel": "k", "grid": [1], "block": [1], "args": [{"buffer": "out"}, {"buffer": "b"}]});
    let second = json!({"kernel": "k", "grid": [1], "block": [1],
        "args": [{"buffer": "out", "offset": 4}, {"buffer": "b"}]});
    let launch = json!({
        "launches": [launch, second],
        "buffers": {"out": {"bytes": 8}, "b": {"bytes": 64, "init": "iota32"}},
        "textures": [{"name": "t", "kind": "texref", "format": "u32x1", "dims": [16], "memory": "linear",
                      "buffer": "b", "read_as_integer": true}],
        "dump": ["out"], "expect": {"out": "0300000007000000"},
    });
    let program = Program { name: "over".into(), ptx: ptx.into(), launch, files: None, fmad: None };
    assert_eq!(verdict(&program), Verdict::Passed);
}
