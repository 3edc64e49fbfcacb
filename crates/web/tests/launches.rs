//! Launches: runs to the end, steps in both directions, and what can be seen at a stop.

use crate::common;
use crate::common::{Page, STEPS, turn};
use serde_json::{Value as Json, json};

fn line(text: &str) -> u64 {
    STEPS.lines().position(|line| line.contains(text)).expect("a line") as u64
}

fn started(page: &mut Page) -> (Json, Json) {
    let status = page.ok("launch.start", turn());
    (status["launch"].clone(), status)
}

#[test]
fn a_run_gives_results_and_counts() {
    let result = Page::default().ok("run", turn());
    assert_eq!(result["state"], "done");
    let values: Vec<String> = (0..64).rev().map(|value| value.to_string()).collect();
    assert_eq!(result["buffers"][0]["values"], json!(values));
    assert_eq!(result["buffers"][0]["name"], "data");
    assert_eq!(result["buffers"][0]["changed"].as_array().map(Vec::len), Some(64));
    assert_eq!(result["stats"]["warpInstructions"], 2 * 16);
    let lines = result["stats"]["lines"].as_array().expect("lines");
    let store = lines.iter().find(|one| one["line"] == line("st.global")).expect("the store");
    assert_eq!((&store["warp"], &store["thread"], &store["sectors"]), (&json!(2), &json!(64), &json!(8)));
}

#[test]
fn steps_go_forward_and_back() {
    let mut page = Page::default();
    let (launch, status) = started(&mut page);
    assert_eq!(
        (&status["state"], &status["moment"], &status["reason"]),
        (&json!("stopped"), &json!(0), &json!("start"))
    );
    assert_eq!(status["at"]["line"], line("ld.param.u64"));
    let status = page.ok("launch.step", json!({"launch": launch, "by": "instruction"}));
    assert_eq!((&status["at"]["line"], &status["reason"]), (&json!(line("ld.param.u32")), &json!("step")));
    let status = page.ok("launch.step", json!({"launch": launch, "by": "any", "count": 3, "trace": true}));
    assert_eq!(status["moment"], 4);
    let steps = status["steps"].as_array().expect("steps");
    assert_eq!(
        steps.iter().map(|one| one["moment"].as_u64()).collect::<Vec<_>>(),
        [Some(1), Some(2), Some(3), Some(4)]
    );
    let back = page.ok("launch.back", json!({"launch": launch, "by": "instruction"}));
    assert_eq!(back["moment"], 3);
    let back = page.ok("launch.back", json!({"launch": launch, "by": "any", "count": 2}));
    assert_eq!(back["moment"], 1);
    let end = page.ok("launch.step", json!({"launch": launch, "by": "run"}));
    assert_eq!((&end["state"], &end["at"], &end["moment"]), (&json!("done"), &Json::Null, &json!(32)));
    let back = page.ok("launch.back", json!({"launch": launch, "by": "any"}));
    assert_eq!((&back["state"], &back["moment"]), (&json!("stopped"), &json!(31)));
    let there = page.ok("launch.goto", json!({"launch": launch, "moment": 5}));
    assert_eq!(there["moment"], 5);
    assert_eq!(page.ok("launch.status", json!({"launch": launch}))["moment"], 5);
}

#[test]
fn breakpoints_stop_and_registers_are_seen() {
    let mut page = Page::default();
    let (launch, _) = started(&mut page);
    let set = page.ok(
        "launch.breakpoints",
        json!({"launch": launch, "lines": [line("st.shared"), {"line": line("ld.shared"), "condition": "%tid.x == 33"}, 4000]}),
    );
    assert_eq!(set["set"][0]["line"], line("st.shared"));
    assert!(set["refused"][0]["message"].as_str().expect("why").contains("4001"), "{set}");
    let status = page.ok("launch.step", json!({"launch": launch, "by": "continue"}));
    assert_eq!((&status["reason"], &status["at"]["line"]), (&json!("breakpoint"), &json!(line("st.shared"))));
    let access = &status["access"];
    assert_eq!(
        (&access["kind"], &access["space"], &access["bytes"]),
        (&json!("store"), &json!("shared"), &json!(4))
    );
    assert_eq!((&access["banks"]["wavefronts"], &access["banks"]["lanes"][5]), (&json!(1), &json!([5])));
    let registers = page.ok("launch.registers", json!({"launch": launch}));
    let row = |name: &str| -> Json {
        let all = registers["registers"].as_array().expect("rows");
        all.iter().find(|row| row["name"] == name).cloned().unwrap_or_else(|| panic!("{name}: {registers}"))
    };
    assert_eq!((&row("%i")["text"][7], &row("%x")["text"][9]), (&json!("7"), &json!("9")));
    assert_eq!(row("%x")["bits"][1], "0x3f800000");
    // The other warp has the same registers, and has not begun or is elsewhere.
    let other = page.ok("launch.registers", json!({"launch": launch, "warp": 1}));
    assert_eq!(other["warp"], 1);
    let warps = page.ok("launch.warps", json!({"launch": launch}));
    assert_eq!(warps["warps"].as_array().map(Vec::len), Some(2));
    assert_eq!(warps["warps"][0]["live"], u32::MAX);
    // Across the barrier, to the condition that holds in the second warp.
    page.ok("launch.step", json!({"launch": launch, "by": "continue"}));
    let status = page.ok("launch.step", json!({"launch": launch, "by": "continue"}));
    assert_eq!((&status["at"]["line"], &status["at"]["warp"]), (&json!(line("ld.shared")), &json!(1)));
    let memory = page.ok("launch.memory", json!({"launch": launch, "space": "shared", "format": "f32"}));
    assert_eq!((&memory["values"][63], &memory["names"][0]["name"]), (&json!("63"), &json!("tile")));
    let named = page.ok("launch.memory", json!({"launch": launch, "name": "tile"}));
    assert_eq!((&named["format"], &named["values"][3]), (&json!("f32"), &json!("3")));
    let text = page.ok("launch.evaluate", json!({"launch": launch, "expression": "%i + 1"}));
    assert_eq!(text["text"], "34 (0x22)");
    let buffers = page.ok("launch.buffers", json!({"launch": launch}));
    // The first warp has written its part, and the second has not.
    assert_eq!((&buffers[0]["values"][0], &buffers[0]["values"][40]), (&json!("63"), &json!("40")));
    let stats = page.ok("launch.stats", json!({"launch": launch}));
    assert_eq!(stats["warpInstructions"], status["moment"]);
    page.ok("launch.end", json!({"launch": launch}));
    assert!(page.error("launch.status", json!({"launch": launch})).contains("no launch"));
}

#[test]
fn changed_registers_are_marked_and_the_focus_moves() {
    let mut page = Page::default();
    let (launch, _) = started(&mut page);
    page.ok("launch.step", json!({"launch": launch, "by": "instruction", "count": 2}));
    page.ok("launch.step", json!({"launch": launch, "by": "instruction"}));
    let registers = page.ok("launch.registers", json!({"launch": launch}));
    let changed: Vec<&Json> = registers["registers"]
        .as_array()
        .expect("rows")
        .iter()
        .filter(|row| row["changed"] == true)
        .collect();
    assert_eq!(changed.iter().map(|row| &row["name"]).collect::<Vec<_>>(), ["%i"]);
    let status = page.ok("launch.focus", json!({"launch": launch, "warp": 1, "lane": 3}));
    assert_eq!(
        (&status["at"]["warp"], &status["at"]["lane"], &status["moment"]),
        (&json!(1), &json!(3), &json!(3))
    );
    let status = page.ok("launch.step", json!({"launch": launch, "by": "instruction"}));
    assert_eq!(status["at"]["warp"], 1);
    assert!(page.error("launch.focus", json!({"launch": launch, "warp": 2})).contains("2 warps"));
    assert!(page.error("launch.focus", json!({"launch": launch, "lane": 32})).contains("0 to 31"));
}

/// A kernel that never ends.
fn forever() -> Json {
    let text = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k()\n{\nL:\n    bra L;\n}\n";
    json!({"text": text, "kernel": "k", "grid": [1], "block": [32], "limit": 5000})
}

#[test]
fn kernels_that_never_end_are_bounded() {
    let mut page = Page::default();
    let result = page.ok("run", forever());
    assert_eq!(result["state"], "limit");
    let status = page.ok("launch.start", forever());
    let launch = &status["launch"];
    let status = page.ok("launch.step", json!({"launch": launch, "by": "continue", "max": 1000}));
    assert_eq!(
        (&status["reason"], &status["state"], &status["moment"]),
        (&json!("bound"), &json!("stopped"), &json!(1000))
    );
    let status = page.ok("launch.step", json!({"launch": launch, "by": "run", "max": 1_000_000}));
    assert_eq!(
        (&status["reason"], &status["state"], &status["moment"]),
        (&json!("limit"), &json!("limit"), &json!(5000))
    );
    let again = page.ok("launch.step", json!({"launch": launch, "by": "run"}));
    assert_eq!(again["moment"], 5000);
    let back = page.ok("launch.back", json!({"launch": launch, "by": "any"}));
    assert_eq!((&back["state"], &back["moment"]), (&json!("stopped"), &json!(4999)));
}

#[test]
fn faults_and_findings_have_places() {
    let mut page = Page::default();
    let mut short = turn();
    short["arguments"][0]["buffer"]["count"] = 40.into();
    let result = page.ok("run", short.clone());
    assert_eq!(result["state"], "fault");
    assert_eq!(result["fault"]["range"]["start"]["line"], line("ld.global"));
    assert!(result["fault"]["message"].as_str().expect("words").contains("data"), "{}", result["fault"]);
    let launch = page.ok("launch.start", short)["launch"].clone();
    let status = page.ok("launch.step", json!({"launch": launch, "by": "run"}));
    assert_eq!((&status["state"], &status["at"]["line"]), (&json!("fault"), &json!(line("ld.global"))));
    assert!(status["fault"]["thread"]["thread"][0].as_u64() >= Some(40), "{status}");
    let mut racy = turn();
    racy["text"] = STEPS.replace("    bar.sync 0;\n", "").into();
    racy["sanitize"] = json!(["race"]);
    let result = page.ok("run", racy);
    let finding = &result["findings"][0];
    assert_eq!(finding["sanitizer"], "race");
    assert_eq!(finding["related"].as_array().map(Vec::len), Some(1));
    assert!(result["findingsTotal"].as_u64() >= Some(1));
    assert_eq!(page.ok("run", turn())["findingsTotal"], 0);
}

#[test]
fn sanitizers_look_at_steps_too() {
    let mut page = Page::default();
    let mut racy = turn();
    racy["text"] = STEPS.replace("    bar.sync 0;\n", "").into();
    racy["sanitize"] = json!(["race", "bounds"]);
    let status = page.ok("launch.start", racy);
    assert_eq!(status["findings"], json!([]));
    let status = page.ok("launch.step", json!({"launch": status["launch"], "by": "run"}));
    assert_eq!((&status["state"], &status["findings"][0]["sanitizer"]), (&json!("done"), &json!("race")));
}

#[test]
fn every_space_can_be_read() {
    let text = "\
.version 8.0
.target sm_80
.address_size 64
.const .u32 table[2] = {7, 8};
.global .u32 count = 5;
.visible .entry k(.param .u32 n)
{
    .local .align 8 .u32 own[2];
    .reg .b32 %r;
    ld.param.u32 %r, [n];
    st.local.u32 [own+4], %r;
    st.global.u32 [count], %r;
    ret;
}
";
    let mut page = Page::default();
    let launch = json!({
        "text": text, "kernel": "k", "grid": [1], "block": [1], "arguments": [{"scalar": {"type": "u32", "value": 3}}],
    });
    let launch = page.ok("launch.start", launch)["launch"].clone();
    page.ok("launch.step", json!({"launch": launch, "by": "any", "count": 3}));
    let mut values = |request: Json| {
        let mut request = request;
        request["launch"] = launch.clone();
        page.ok("launch.memory", request)["values"].clone()
    };
    assert_eq!(values(json!({"name": "own"}))[1], "3");
    assert_eq!(values(json!({"space": "local", "bytes": 8}))[1], "3");
    assert_eq!(values(json!({"name": "count"})), json!(["3"]));
    assert_eq!(values(json!({"name": "table", "format": "u32"})), json!(["7", "8"]));
    assert_eq!(values(json!({"name": "n"})), json!(["3"]));
}

#[test]
fn tensor_maps_are_arguments() {
    let map = json!({"kind": "tiled", "type": "f32", "dims": [64, 64], "box": [64, 16]});
    let launch = json!({
        "text": common::file("examples/tiles.ptx"), "kernel": "tiles", "grid": [1], "block": [128],
        "arguments": [
            {"tensor": {"map": map, "buffer": {"format": "f32", "count": 4096, "fill": "iota"}}},
            {"tensor": {"map": map, "buffer": {"format": "f32", "count": 4096}}},
        ],
    });
    let mut page = Page::default();
    let result = page.ok("run", launch.clone());
    assert_eq!((&result["state"], &result["buffers"][1]["values"][4095]), (&json!("done"), &json!("8190")));
    let mut wrong = launch;
    wrong["arguments"][0]["tensor"]["map"]["box"] = json!([66, 300]);
    let message = page.error("run", wrong);
    assert!(message.starts_with("argument 0: the tensor map is not legal"), "{message}");
}

#[test]
fn deadlocks_are_told() {
    let text = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k()\n{\n    barrier.sync 0, 64;\n    ret;\n}\n";
    let launch = json!({"text": text, "kernel": "k", "grid": [1], "block": [32]});
    let mut page = Page::default();
    let result = page.ok("run", launch.clone());
    assert_eq!(result["state"], "fault");
    let number = page.ok("launch.start", launch)["launch"].clone();
    let status = page.ok("launch.step", json!({"launch": number, "by": "run"}));
    assert_eq!(status["state"], "fault");
    assert!(status["fault"]["message"].as_str().is_some_and(|text| !text.is_empty()), "{status}");
}

#[test]
fn arguments_are_read_in_every_form() {
    let mut page = Page::default();
    let mut given = turn();
    for (buffer, first) in [
        (json!({"format": "f32", "values": [1.5, "nan", "0x40000000"], "count": 64}), "1.5"),
        (json!({"format": "f32", "hex": "0000803f".repeat(64)}), "1"),
        (json!({"format": "f32", "count": 64, "fill": 0.25}), "0.25"),
        (json!({"format": "float", "count": 64, "fill": "-2^-3"}), "-0.125"),
    ] {
        given["arguments"][0] = json!({ "buffer": buffer });
        let result = page.ok("run", given.clone());
        assert_eq!(result["buffers"][0]["values"][63], first, "{}", given["arguments"]);
    }
    given["arguments"][0] = json!({"buffer": {"format": "f32", "count": 64, "fill": "random", "seed": 3}});
    let values = page.ok("run", given.clone())["buffers"][0]["values"].clone();
    let in_range = |one: &Json| {
        one.as_str().and_then(|text| text.parse::<f64>().ok()).is_some_and(|x| (-1.0..1.0).contains(&x))
    };
    assert!(values.as_array().expect("values").iter().all(in_range), "{values}");
    given["arguments"][0] = json!({"buffer": {"format": "f32", "count": 64, "fill": "uninitialised"}});
    given["sanitize"] = json!(["init"]);
    assert!(page.ok("run", given.clone())["findingsTotal"].as_u64() > Some(0));
    given["arguments"][1] = json!({"bytes": {"hex": "40000000"}});
    assert_eq!(page.ok("run", given)["state"], "done");
}

#[test]
fn wrong_launches_are_refused_in_words() {
    let mut page = Page::default();
    let cases = [
        ("/kernel", json!("torn"), "torn"),
        ("/grid", json!([]), "grid"),
        ("/block", json!([0]), "block"),
        ("/block", json!([4096]), "4096"),
        ("/grid", json!([-1]), "request"),
        ("/arguments", json!([]), "0 arguments"),
        ("/arguments/0", json!({"buffer": {"format": "f33", "count": 1}}), "f33"),
        ("/arguments/0", json!({"buffer": {"format": "f32"}}), "values"),
        ("/arguments/0", json!({"buffer": {"format": "f32", "count": 1e12 as u64}}), "more than"),
        ("/arguments/0", json!({"buffer": {"format": "f32", "hex": "0"}}), "hexadecimal"),
        ("/arguments/1", json!({"scalar": {"type": "u32", "value": 1.5}}), "integer"),
        ("/arguments/1", json!({}), "argument 1"),
        ("/sanitize", json!(["dust"]), "dust"),
        ("/shared", json!(1 << 30), "shared"),
        ("/text", json!("nonsense"), "error"),
    ];
    for (path, value, word) in cases {
        let mut wrong = turn();
        wrong["sanitize"] = json!([]);
        wrong["shared"] = 0.into();
        *wrong.pointer_mut(path).expect("a path") = value;
        for call in ["run", "launch.start"] {
            let message = page.error(call, wrong.clone());
            assert!(message.contains(word), "{path}: {message}");
        }
    }
    let mut unsupported = page.answer("run", json!({
        "text": ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k() { .reg .b32 %r; add.s32 %r, %r; ret; }",
        "kernel": "k", "grid": [1], "block": [1],
    }));
    assert!(
        unsupported["error"]["diagnostics"][0]["code"]
            .take()
            .as_str()
            .is_some_and(|code| code.starts_with('E'))
    );
    for call in
        ["launch.step", "launch.warps", "launch.registers", "launch.memory", "launch.buffers", "launch.stats"]
    {
        assert!(page.error(call, json!({"launch": 99, "by": "run"})).contains("no launch 99"));
    }
    let launch = page.ok("launch.start", turn())["launch"].clone();
    assert!(page.error("launch.step", json!({"launch": launch, "by": "leaps"})).contains("leaps"));
    assert!(page.error("launch.memory", json!({"launch": launch, "space": "attic"})).contains("attic"));
    assert!(page.error("launch.memory", json!({"launch": launch, "name": "nobody"})).contains("nobody"));
    assert!(
        page.error("launch.memory", json!({"launch": launch, "space": "global", "address": "0x10"}))
            .contains("0x10")
    );
    assert!(!page.error("launch.evaluate", json!({"launch": launch, "expression": "%nothing +"})).is_empty());
}

#[test]
fn a_page_that_forgets_launches_does_not_fill_memory() {
    let mut page = Page::default();
    for _ in 0..20 {
        page.ok("launch.start", turn());
    }
    assert!(page.error("launch.status", json!({"launch": 1})).contains("no launch 1"));
    assert_eq!(page.ok("launch.status", json!({"launch": 20}))["state"], "stopped");
}
