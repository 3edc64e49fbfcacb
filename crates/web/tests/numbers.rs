//! Number formats, conversions, blocks, tensor maps and copies.

use crate::common::{Page, file};
use serde_json::{Value as Json, json};

#[test]
fn formats_are_described() {
    let formats = Page::default().ok("formats", json!({}));
    let e4m3 = formats.as_array().expect("formats").iter().find(|one| one["name"] == "e4m3").expect("e4m3");
    assert_eq!(
        (&e4m3["bits"], &e4m3["largest"]["value"], &e4m3["infinity"]),
        (&json!(8), &json!(448.0), &Json::Null)
    );
    assert_eq!(e4m3["fields"][1], json!({"name": "exponent", "letter": "e", "bits": 4}));
    let u64s = formats.as_array().expect("formats").iter().find(|one| one["name"] == "u64").expect("u64");
    assert_eq!(u64s["largest"]["value"], "18446744073709551615");
}

#[test]
fn codes_are_decoded() {
    let mut page = Page::default();
    let one = page.ok("number.decode", json!({"format": "f32", "bits": "0x3fc00000"}));
    assert_eq!(
        (&one["text"], &one["class"], &one["fields"][1]["value"]),
        (&json!("1.5"), &json!("normal"), &json!("0x7f"))
    );
    assert_eq!(one["up"]["bits"], "0x3fc00001");
    let zero = page.ok("number.decode", json!({"format": "e2m1", "text": "-0"}));
    assert_eq!((&zero["bits"], &zero["class"]), (&json!("0x8"), &json!("zero")));
    assert!(page.ok("number.decode", json!({"format": "f16", "bits": "7c00"}))["value"] == "inf");
    assert!(page.error("number.decode", json!({"format": "e2m1", "bits": "0x10"})).contains("4 bits"));
    assert!(page.error("number.decode", json!({"format": "e2m1"})).contains("bits"));
    assert!(page.error("number.decode", json!({"format": "e9", "bits": "0"})).contains("e9"));
}

#[test]
fn number_lines_ascend() {
    let mut page = Page::default();
    for (format, complete) in
        [("e2m1", true), ("e4m3", true), ("f32", false), ("f64", false), ("u64", false), ("s8", true)]
    {
        let line = page.ok("number.line", json!({"format": format, "most": 300}));
        assert_eq!(line["complete"], complete, "{format}");
        let values = line["values"].as_array().expect("values");
        assert!(values.len() > 10 && values.len() < 310, "{format}: {}", values.len());
        let number = |one: &Json| match &one["value"] {
            Json::String(text) => text.parse::<f64>().expect("a number"),
            other => other.as_f64().expect("a number"),
        };
        assert!(values.windows(2).all(|pair| number(&pair[0]) <= number(&pair[1])), "{format}");
    }
    assert!(
        page.ok("number.svg", json!({"format": "e4m3"}))["svg"]
            .as_str()
            .is_some_and(|svg| svg.starts_with("<svg"))
    );
}

#[test]
fn conversions_are_explained_and_compared() {
    let mut page = Page::default();
    let one = page.ok("number.cvt", json!({"form": "rn.satfinite.e4m3x2.f32", "values": ["1.5", "-300"]}));
    assert_eq!(
        (&one["result"]["bits"], &one["result"]["elements"][0]["words"]),
        (&json!("0x3cf9"), &json!("rounded up, error +12"))
    );
    assert!(page.error("number.cvt", json!({"form": "rn.e4m3.f32", "values": ["1"]})).contains("e4m3"));
    assert!(page.error("number.cvt", json!({"form": "rn.f16.f32", "values": ["one"]})).contains("one"));
    let forms = page.ok("number.forms", json!({"from": "f32", "to": "f16"}));
    assert!(forms.as_array().expect("forms").iter().any(|one| one["form"] == "cvt.rz.f16.f32"), "{forms}");
    let rows = page.ok("number.compare", json!({"from": "f32", "to": "f16", "value": "70000"}));
    let of = |form: &str| {
        let row = rows.as_array().expect("rows").iter().find(|one| one["form"] == form).cloned();
        row.unwrap_or_else(|| panic!("{form}: {rows}"))["element"].clone()
    };
    assert_eq!(
        (&of("cvt.rn.f16.f32")["value"], &of("cvt.rz.f16.f32")["value"]),
        (&json!("inf"), &json!(65504.0))
    );
    let wide = page.ok("number.compare", json!({"from": "e2m1", "to": "f64", "value": "1.5"}));
    assert_eq!(wide[0]["element"]["value"], 1.5);
    assert!(
        page.error("number.compare", json!({"from": "f64", "to": "e2m1", "value": "1"}))
            .contains("no conversion")
    );
}

#[test]
fn blocks_are_scaled() {
    let mut page = Page::default();
    let values: Vec<f64> = (0..40).map(|index| f64::from(index) * 0.75).collect();
    let found = page.ok("number.blocks", json!({"format": "mxfp4", "values": values}));
    let blocks = found["blocks"].as_array().expect("blocks");
    assert_eq!((blocks.len(), blocks[1]["elements"].as_array().map(Vec::len)), (2, Some(8)));
    assert_eq!(
        (&blocks[0]["scale"]["value"], &blocks[0]["elements"][16]["result"]),
        (&json!(4.0), &json!(12.0))
    );
    // By the usual rule the largest element of a block may saturate; by `amax` none does.
    let amax = page.ok("number.blocks", json!({"format": "mxfp4", "values": [7, 1], "scaleRule": "amax"}));
    let floor = page.ok("number.blocks", json!({"format": "mxfp4", "values": [7, 1]}));
    assert_eq!((&floor["errors"]["saturated"], &amax["errors"]["saturated"]), (&json!(1), &json!(0)));
    let nvfp4 = page.ok("number.blocks", json!({"format": "nvfp4", "values": values, "rounding": "zero"}));
    assert!(nvfp4["tensorScale"].is_number() && nvfp4["blockSize"] == 16);
    assert!(page.error("number.blocks", json!({"format": "mxfp5", "values": [1]})).contains("mxfp5"));
    assert!(page.error("number.blocks", json!({"format": "mxfp4", "values": []})).contains("values"));
    assert!(
        page.error("number.blocks", json!({"format": "mxfp4", "values": [1], "scaleRule": "x"}))
            .contains("`x`")
    );
}

fn map(name: &str) -> Json {
    serde_json::from_str(&file(&format!("examples/tensor/{name}.json"))).expect("JSON")
}

#[test]
fn tensor_copies_are_shown_and_walked() {
    let mut page = Page::default();
    for name in ["tile", "im2col", "interleaved", "gather4", "wide"] {
        let mut spec = json!({"map": map(name), "target": "sm_100"});
        if name == "gather4" {
            spec["mode"] = "gather4".into();
        }
        let shown = page.ok("tensor.show", spec.clone());
        assert!(
            shown["legal"] == true && shown["svg"].as_str().is_some_and(|svg| svg.starts_with("<svg")),
            "{name}: {shown}"
        );
        let walk = page.ok("tensor.walk", spec);
        let elements = walk["elements"].as_array().expect("elements");
        assert!(elements.len() > 16, "{name}");
        let bank = |one: &Json| one["bank"].as_u64() == one["shared"].as_u64().map(|at| at / 4 % 32);
        assert!(elements.iter().all(bank), "{name}");
    }
    let swizzled =
        json!({"kind": "tiled", "type": "f16", "dims": [64, 64], "box": [64, 8], "swizzle": "128B"});
    let shown = page.ok("tensor.show", json!({ "map": swizzled }));
    let ldmatrix =
        shown["conflicts"].as_array().expect("conflicts").iter().find(|one| one["pattern"] == "ldmatrix");
    let ldmatrix = ldmatrix.expect("ldmatrix");
    assert_eq!(ldmatrix["wavefronts"], ldmatrix["ideal"]);
    assert!(ldmatrix["unswizzled"].as_u64() > ldmatrix["wavefronts"].as_u64());
    let walk = page.ok("tensor.walk", json!({"map": swizzled, "most": 80}));
    assert_eq!((walk["elements"].as_array().map(Vec::len), &walk["total"]), (Some(80), &json!(512)));
    assert_ne!(walk["elements"][64]["shared"], walk["elements"][64]["plain"]);
}

#[test]
fn broken_rules_have_reasons() {
    let mut page = Page::default();
    let shown = page.ok("tensor.show", json!({"map": map("broken")}));
    assert!(shown["legal"] == false && shown["svg"].is_null());
    assert_eq!(shown["findings"][0]["code"], "E1013");
    assert!(shown["findings"][0]["fix"].as_str().is_some_and(|fix| fix.contains("1008")));
    let answer = page.answer("tensor.walk", json!({"map": map("broken")}));
    assert!(answer["error"]["findings"].is_array(), "{answer}");
    let refused = page.ok("tensor.show", json!({"map": map("tile"), "at": [0]}));
    assert!(refused["refused"].as_str().is_some_and(|why| why.contains("coordinates")), "{refused}");
    assert!(page.error("tensor.show", json!({"map": map("tile"), "mode": "x"})).contains("mode"));
    assert!(page.error("tensor.show", json!({"map": map("tile"), "target": "x"})).contains("target"));
    assert_eq!(page.ok("tensor.show", json!({"map": 7}))["legal"], false);
}

#[test]
fn fragments_of_tensor_memory_are_told() {
    let mut page = Page::default();
    let found = page.ok("tensor.tmem", json!({"shape": "16x256b.x2"}));
    assert_eq!(
        (&found["lanes"], &found["columns"], &found["registers"]),
        (&json!(16), &json!(16), &json!(8))
    );
    assert_eq!(found["cells"].as_array().map(Vec::len), Some(8 * 32));
    assert!(found["text"].as_str().is_some_and(|text| text.contains("t0 r0")));
    assert!(page.error("tensor.tmem", json!({"shape": "7x7b"})).contains("7x7b"));
}
