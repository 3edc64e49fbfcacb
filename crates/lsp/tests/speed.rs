//! How long a module of 1 MB takes: opened, and after a change in one function. The limits are wide, since tests run on busy
//! machines; `cargo test --release -p softwarp-lsp --test speed -- --nocapture` prints the figures.

mod client;

use client::Client;
use serde_json::{Value, json};
use softwarp_lsp::Options;
use std::time::{Duration, Instant};

/// A module of about 1 MB, as compilers make it: 181 kernels of 150 instructions.
fn module() -> String {
    let mut text = String::from(".version 8.0\n.target sm_90\n.address_size 64\n");
    let mut seed = 1_u64;
    let mut any = |below: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % below
    };
    let mut kernel = 0;
    while text.len() < 1_000_000 {
        text += &format!(
            "\n.visible .entry kernel_{kernel}(\n\t.param .u64 kernel_{kernel}_param_0,\n\t.param .u32 kernel_{kernel}_param_1\n)\n{{\n\
             \t.reg .pred %p<4>;\n\t.reg .b32 %r<60>;\n\t.reg .f32 %f<60>;\n\t.reg .b64 %rd<20>;\n\n\
             \tld.param.u64 %rd1, [kernel_{kernel}_param_0];\n\tld.param.u32 %r1, [kernel_{kernel}_param_1];\n\
             \tmov.u32 %r2, %tid.x;\n\tsetp.ge.s32 %p1, %r2, %r1;\n\t@%p1 bra $L__BB{kernel}_2;\n"
        );
        for _ in 0..150 {
            let (a, b, c) = (3 + any(57), 3 + any(57), 3 + any(57));
            text += &match any(5) {
                0 => format!("\tadd.s32 %r{a}, %r{b}, {c};\n"),
                1 => format!("\tfma.rn.f32 %f{a}, %f{b}, %f{c}, 0f3F800000;\n"),
                2 => format!("\tmul.wide.s32 %rd{}, %r{b}, 4;\n", 1 + any(19)),
                3 => format!("\tld.global.f32 %f{a}, [%rd{}+{}];\n", 1 + any(19), 4 * b),
                _ => format!("\tst.global.v2.f32 [%rd{}+{}], {{%f{a}, %f{c}}};\n", 1 + any(19), 8 * b),
            };
        }
        text += &format!("\n$L__BB{kernel}_2:\n\tret;\n}}\n");
        kernel += 1;
    }
    text
}

struct Figures {
    client: Client,
    uri: &'static str,
}

impl Figures {
    /// The least time of several that it takes to make a change and get the diagnostics.
    fn change(&mut self, what: &str, mut change: impl FnMut(u32) -> Value) -> Duration {
        let times = (0..7).map(|turn| {
            let changes = json!([change(turn)]);
            let document = json!({"uri": self.uri, "version": turn + 2});
            let start = Instant::now();
            self.client.notify(
                "textDocument/didChange",
                json!({"textDocument": document, "contentChanges": changes}),
            );
            self.client.until_diagnostics(self.uri);
            start.elapsed()
        });
        let least = times.min().expect("times");
        println!("{what}: {:.1} ms", least.as_secs_f64() * 1000.0);
        least
    }

    fn request(&mut self, method: &str, params: Value) -> Duration {
        let start = Instant::now();
        let answer = self.client.request(method, params).pop().expect("an answer");
        let time = start.elapsed();
        assert!(answer.get("result").is_some(), "{answer}");
        println!("{method}: {:.1} ms", time.as_secs_f64() * 1000.0);
        time
    }
}

#[test]
fn a_megabyte_is_checked_while_one_types() {
    let text = module();
    let uri = "untitled:large.ptx";
    let mut client = Client::new(Options::default());
    client.initialize(json!({}), None, Value::Null);
    let document = json!({"uri": uri, "languageId": "ptx", "version": 1, "text": text});
    let start = Instant::now();
    client.notify("textDocument/didOpen", json!({"textDocument": document}));
    client.until_diagnostics(uri);
    let opened = start.elapsed();
    println!("open {} bytes: {:.1} ms", text.len(), opened.as_secs_f64() * 1000.0);
    let mut figures = Figures { client, uri };
    let line = text.lines().count() as u32 / 2;
    let line = (line..)
        .find(|&at| text.lines().nth(at as usize).is_some_and(|text| text.starts_with("\tadd")))
        .expect("an add");
    let insert = |line: u32, character: u32, text: &str| {
        let at = json!({"line": line, "character": character});
        json!({"range": {"start": at, "end": at}, "text": text})
    };
    let whole = figures.change(
        "replace the whole text, with another head",
        |turn| json!({"text": text.replacen("sm_90", if turn % 2 == 0 { "sm_80" } else { "sm_90" }, 1)}),
    );
    let document = json!({"textDocument": {"uri": uri}, "options": {"tabSize": 4, "insertSpaces": true}});
    figures.request("textDocument/formatting", document.clone());
    figures.request("textDocument/foldingRange", document);
    let body = figures.change("change one function", |_| insert(line, 1, "mov.u32 %r5, %r6; "));
    let broken =
        figures.change("the same, with an error of the grammar", |_| insert(line, 1, "mov.u32 %r1 %r2; "));
    let at = json!({"textDocument": {"uri": uri}, "position": {"line": line, "character": 3}});
    figures.request("textDocument/hover", at.clone());
    let hover = figures.request("textDocument/hover", at.clone());
    let completion = figures.request("textDocument/completion", at);
    figures.request("textDocument/semanticTokens/full", json!({"textDocument": {"uri": uri}}));
    figures.request("textDocument/documentSymbol", json!({"textDocument": {"uri": uri}}));
    let limit = Duration::from_millis(if cfg!(debug_assertions) { 3000 } else { 600 });
    for (what, time) in [
        ("open", opened),
        ("whole", whole),
        ("body", body),
        ("broken", broken),
        ("hover", hover),
        ("completion", completion),
    ] {
        assert!(time < limit, "{what} takes {time:?}");
    }
}
