//! What an editor asks of the engine, layouts, operations, kernels; and requests that are none.

use crate::common::{Page, STEPS, file};
use serde_json::{Value as Json, json};
use softwarp_web::CALLS;

fn at(text: &str, part: &str) -> Json {
    let (line, found) = text.lines().enumerate().find(|(_, line)| line.contains(part)).expect("the part");
    json!({"text": text, "position": {"line": line, "character": found.find(part).expect("a column") + 1}})
}

#[test]
fn the_version_names_everything() {
    let version = Page::default().ok("version", json!({}));
    assert_eq!(version["calls"].as_array().map(Vec::len), Some(CALLS.len()));
    assert!(version["formats"].as_array().expect("formats").contains(&json!("e2m1")));
    assert!(version["targets"].as_array().expect("targets").contains(&json!("sm_100a")));
    assert!(version["sanitizers"].as_array().expect("sanitizers").contains(&json!("race")));
}

/// The types of the front end name every call, and no other.
#[test]
fn the_interface_states_every_call() {
    let types = file("web/src/engine-types.ts");
    let (_, calls) = types.split_once("export interface Calls {").expect("the calls");
    let calls = calls.split("\n}\n").next().unwrap_or_default();
    let stated: Vec<&str> = calls
        .lines()
        .filter_map(|line| line.strip_prefix("  ")?.split_once(": ["))
        .map(|(name, _)| name.trim_matches('"'))
        .filter(|name| !name.starts_with(' '))
        .collect();
    for call in CALLS {
        assert!(stated.contains(&call), "{call} is not stated");
    }
    assert_eq!(stated.len(), CALLS.len(), "{stated:?}");
}

#[test]
fn modules_are_checked() {
    let mut page = Page::default();
    assert_eq!(page.ok("check", json!({"text": STEPS}))["diagnostics"], json!([]));
    let broken = file("examples/broken.ptx");
    let found = page.ok("check", json!({ "text": broken }));
    assert!(found["errors"].as_u64() > Some(0), "{found}");
    let first = &found["diagnostics"][0];
    assert!(
        first["code"].as_str().is_some_and(|code| code.len() == 5) && first["title"].is_string(),
        "{first}"
    );
    // Columns count UTF-16 units: the letter outside of the basic plane is two.
    let text = ".version 8.0\n.target sm_80\n.address_size 64\n/* \u{1d465} */ .reg .b33 %r;\n";
    let found = page.ok("check", json!({ "text": text }));
    assert_eq!(found["diagnostics"][0]["range"]["start"], json!({"line": 3, "character": 14}), "{found}");
    assert!(page.error("check", json!({"text": STEPS, "arch": "sm_1"})).contains("sm_1"));
}

#[test]
fn certain_fixes_are_edits() {
    let text = STEPS.replace("ld.global.f32", "ld.gobal.f32");
    let found = Page::default().ok("check", json!({ "text": text }));
    let fix = &found["diagnostics"][0]["fix"][0];
    assert_eq!(fix["newText"], "ld.global.f32", "{found}");
    assert_eq!(fix["range"]["start"], json!({"line": 13, "character": 4}));
}

#[test]
fn an_editor_gets_its_answers() {
    let mut page = Page::default();
    let hover = page.ok("hover", at(STEPS, "mad.wide"));
    assert!(hover["contents"].as_str().is_some_and(|text| text.contains("mad.wide")), "{hover}");
    assert_eq!(page.ok("hover", json!({"text": STEPS, "position": {"line": 4, "character": 0}})), Json::Null);
    let text = STEPS.replace("    ret;", "    ld.\n    ret;");
    let mut place = at(&text, "    ld.\n".trim_end());
    place["position"]["character"] = 7.into();
    let items = page.ok("complete", place);
    let labels: Vec<&str> =
        items.as_array().expect("items").iter().filter_map(|one| one["label"].as_str()).collect();
    assert!(labels.iter().any(|label| label.contains("global")), "{labels:?}");
    assert!(
        items[0]["edit"]["range"]["start"]["line"].is_u64() && items[0]["kind"].is_string(),
        "{}",
        items[0]
    );
    let mut place = at(STEPS, "%i, 4, %base");
    place["position"]["character"] = 25.into();
    let help = page.ok("signature", place);
    assert!(
        help["signatures"][0]["label"].as_str().is_some_and(|label| label.starts_with("mad.wide")),
        "{help}"
    );
    let symbols = page.ok("symbols", json!({"text": STEPS}));
    assert_eq!(symbols[0]["name"], "turn");
    let tokens = page.ok("tokens", json!({"text": STEPS}));
    assert!(tokens.as_array().expect("tokens").iter().any(|token| token["type"] == "parameter"), "{tokens}");
    let definition = page.ok("definition", at(STEPS, "%to, %i"));
    assert_eq!(definition[0]["start"]["line"], 7);
    let references = page.ok("references", at(STEPS, "%to, %i"));
    assert_eq!(references.as_array().map(Vec::len), Some(4));
    let mut rename = at(STEPS, "%to, %i");
    rename["name"] = "%place".into();
    let edits = page.ok("rename", rename);
    assert_eq!((edits.as_array().map(Vec::len), &edits[0]["newText"]), (Some(4), &json!("%place")));
    assert!(page.error("rename", at(STEPS, "%to, %i")).contains("name"));
    assert!(
        page.error("hover", json!({"text": STEPS, "position": {"line": 4000, "character": 0}}))
            .contains("4000")
    );
    let formatted = page.ok("format", json!({"text": STEPS.replace("    ret;", "ret ;")}));
    assert!(
        formatted["changed"] == true && formatted["text"].as_str().is_some_and(|text| text.contains("ret;"))
    );
    assert!(page.error("format", json!({"text": ".version 8.0\n.reg {"})).contains("error"));
    let page_of_code = page.ok("explain", json!({"code": "E0601"}));
    assert!(page_of_code["wrong"].is_string() && page_of_code["title"].is_string());
    assert_eq!(page.ok("number.explain", json!({"code": "e0601"}))["code"], "E0601");
    assert!(page.error("explain", json!({"code": "E9999"})).contains("E9999"));
}

#[test]
fn layouts_have_drawings() {
    let mut page = Page::default();
    let found = page.ok("layout", json!({"text": file("examples/layout.ptx")}));
    assert_eq!(found["layout"]["variables"][0]["name"], "taps");
    assert!(found["svg"].as_str().is_some_and(|svg| svg.starts_with("<svg") && svg.contains("taps")));
    assert!(
        page.ok("layout", json!({"text": file("examples/layout.ptx"), "bases": true}))["layout"]["variables"]
            [0]["address"]
            .is_u64()
    );
    let answer = page.answer("layout", json!({"text": file("examples/broken.ptx")}));
    assert!(answer["error"]["diagnostics"].as_array().is_some_and(|all| !all.is_empty()), "{answer}");
}

#[test]
fn operations_have_lines() {
    let mut page = Page::default();
    let found = page.ok("lower", json!({"text": STEPS}));
    let operations = found["kernels"][0]["functions"][0]["operations"].as_array().expect("operations");
    let barrier = operations.iter().find(|one| one["line"] == 17).expect("the barrier");
    assert!(
        barrier["text"].as_str().is_some_and(|text| text.contains("barrier") || text.contains("bar")),
        "{barrier}"
    );
    assert!(found["kernels"][0]["functions"][0]["head"].is_array());
    assert!(page.error("lower", json!({"text": STEPS, "kernel": "torn"})).contains("torn"));
    assert!(
        page.error("lower", json!({"text": ".version 8.0\n.target sm_80\n.address_size 64\n"}))
            .contains("no kernel")
    );
}

#[test]
fn kernels_have_parameters() {
    let mut page = Page::default();
    let kernels = page.ok("kernels", json!({"text": file("examples/saxpy.ptx")}));
    let parameters = kernels[0]["parameters"].as_array().expect("parameters");
    let pointers: Vec<(&Json, &Json, &Json)> =
        parameters.iter().map(|one| (&one["type"], &one["pointer"], &one["element"])).collect();
    let is = |ty: &str, pointer: bool| {
        pointers.iter().filter(|one| *one.0 == json!(ty) && *one.1 == json!(pointer)).count()
    };
    assert_eq!((is("u64", true), is("u32", false), is("f32", false)), (2, 1, 1), "{pointers:?}");
    assert!(
        pointers.iter().filter(|one| *one.1 == json!(true)).all(|one| *one.2 == json!("f32")),
        "{pointers:?}"
    );
    let kernels = page.ok("kernels", json!({"text": STEPS}));
    assert_eq!((&kernels[0]["name"], &kernels[0]["staticShared"]), (&json!("turn"), &json!(256)));
}

#[test]
fn what_is_no_request_is_refused() {
    let mut page = Page::default();
    for (bytes, word) in [
        (&b""[..], "not JSON"),
        (b"{", "not JSON"),
        (b"\xff\xfe", "not JSON"),
        (b"[]", "no `call`"),
        (b"{\"call\": 1}", "no `call`"),
        (b"{\"call\": \"chek\"}", "did you mean `check`?"),
        (b"{\"call\": \"check\"}", "text"),
        (b"{\"call\": \"check\", \"text\": 5}", "string"),
        (b"{\"call\": \"launch.step\", \"launch\": -1}", "-1"),
    ] {
        let message = page.raw(bytes)["error"]["message"].as_str().unwrap_or_default().to_owned();
        assert!(message.contains(word), "{}: {message}", String::from_utf8_lossy(bytes));
    }
    let deep = format!("{{\"call\": \"check\", \"text\": {}1{}}}", "[".repeat(5000), "]".repeat(5000));
    assert!(
        page.raw(deep.as_bytes())["error"]["message"].as_str().is_some_and(|text| text.contains("not JSON"))
    );
    // Every call says what it needs, and none fails otherwise.
    for call in CALLS {
        let answer = page.answer(call, json!({}));
        assert!(answer.get("ok").is_some() || answer["error"]["message"].is_string(), "{call}: {answer}");
    }
}

/// Texts that are meant to hurt.
#[test]
fn hostile_texts_are_answered() {
    let mut page = Page::default();
    let head = ".version 8.0\n.target sm_80\n.address_size 64\n";
    let texts = [
        String::new(),
        "{".repeat(100_000),
        format!("{head}.global .b8 x[{}];\n", u64::MAX),
        format!("{head}.global .b32 x = {}1{};\n", "(".repeat(50_000), ")".repeat(50_000)),
        format!("{head}.visible .entry k() {{ .reg .b32 %r<4000000000>; .local .b8 l[4294967295]; ret; }}\n"),
        format!("{head}.visible .entry k() {{ .shared .b8 s[2147483647]; ret; }}\n"),
        "\u{0}\u{feff}\u{1f600}".repeat(1000),
    ];
    for text in &texts {
        for call in ["check", "format", "symbols", "tokens", "layout", "lower", "kernels"] {
            let answer = page.answer(call, json!({ "text": text }));
            assert!(answer.is_object(), "{call}");
        }
        let answer = page.answer("run", json!({"text": text, "kernel": "k", "grid": [1], "block": [1]}));
        assert!(answer.is_object());
    }
}
