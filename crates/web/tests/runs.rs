//! Runs of the examples: `web/test/runs.json` has requests with what they came to. The test of the module in WebAssembly
//! (`web/test/engine.test.mjs`) reads the same file, so that both engines have the same results. `SOFTWARP_BLESS=1` writes it.

use crate::common::{Page, file};
use serde_json::{Value as Json, json};

#[test]
fn runs_come_to_what_is_recorded() {
    let recorded: Vec<Json> = serde_json::from_str(&file("web/test/runs.json")).expect("JSON");
    let mut page = Page::default();
    let mut now = Vec::new();
    for mut one in recorded.clone() {
        let mut request = one["request"].clone();
        request["text"] = file(one["file"].as_str().expect("a file")).into();
        let result = page.ok("run", request);
        let buffers: Vec<&Json> =
            result["buffers"].as_array().expect("buffers").iter().map(|buffer| &buffer["hex"]).collect();
        one["expected"] = json!({
            "state": result["state"], "fault": result["fault"]["message"], "findings": result["findingsTotal"],
            "warpInstructions": result["stats"]["warpInstructions"], "buffers": buffers,
        });
        now.push(one);
    }
    if std::env::var_os("SOFTWARP_BLESS").is_some() {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web/test/runs.json");
        std::fs::write(path, format!("{:#}\n", Json::from(now.clone()))).expect("it can be written");
        return;
    }
    for (recorded, now) in recorded.iter().zip(&now) {
        assert_eq!(recorded["expected"], now["expected"], "{}", recorded["name"]);
    }
}
