//! Whatever a client sends, the server answers and lives on: every request at odd places of odd texts, huge texts, and
//! streams that break off.

mod client;

use client::Client;
use serde_json::{Value, json};
use softwarp_lsp::{Ended, Options};
use softwarp_testkit::repository;

const REQUESTS: &[&str] = &[
    "textDocument/hover",
    "textDocument/completion",
    "textDocument/signatureHelp",
    "textDocument/definition",
    "textDocument/references",
    "textDocument/documentHighlight",
    "textDocument/prepareRename",
    "textDocument/rename",
    "textDocument/documentSymbol",
    "textDocument/foldingRange",
    "textDocument/semanticTokens/full",
    "textDocument/semanticTokens/range",
    "textDocument/formatting",
    "textDocument/inlayHint",
    "textDocument/prepareCallHierarchy",
    "textDocument/codeAction",
    "textDocument/codeLens",
    "softwarp/sourceLine",
];

/// What every request takes, together.
fn params(uri: &str, line: u32, character: u32) -> Value {
    let at = json!({"line": line, "character": character});
    json!({
        "textDocument": {"uri": uri}, "position": at, "range": {"start": at, "end": {"line": line + 2, "character": 1}},
        "context": {"includeDeclaration": true, "diagnostics": []}, "newName": "other",
        "options": {"tabSize": 4, "insertSpaces": true},
    })
}

fn open(client: &mut Client, uri: &str, text: &str) {
    let document = json!({"uri": uri, "languageId": "ptx", "version": 1, "text": text});
    client.notify("textDocument/didOpen", json!({"textDocument": document}));
    client.until_diagnostics(uri);
}

#[test]
fn every_request_is_answered_at_every_place() {
    let whole = std::fs::read_to_string(repository("examples/saxpy.ptx")).expect("an example");
    let mut client = Client::new(Options::default());
    client.initialize(json!({}), None, Value::Null);
    // The example cut off at places, and with characters in it that do not belong.
    let cuts = (1..whole.len()).step_by(97).filter(|&cut| whole.is_char_boundary(cut));
    let mut texts: Vec<String> = cuts.map(|cut| whole[..cut].to_owned()).collect();
    texts.extend(
        ["{", "\"", "\u{1f600}", "/*", "}", "\0", "."].iter().map(|mark| whole.replacen("    ld", mark, 2)),
    );
    texts.push(whole.replace('\n', "\r"));
    for (number, text) in texts.iter().enumerate() {
        let uri = format!("untitled:{number}");
        open(&mut client, &uri, text);
        let lines = text.lines().count() as u32;
        for (turn, request) in REQUESTS.iter().enumerate() {
            let line = (turn as u32 * 7 + number as u32) % (lines + 1);
            let answer =
                client.request(request, params(&uri, line, turn as u32 * 5 % 40)).pop().expect("an answer");
            assert_ne!(answer["error"]["code"], -32603, "{request} in {text}: {answer}");
        }
    }
    assert_eq!(client.end(), Ended::Properly);
}

#[test]
fn huge_texts_are_no_trouble() {
    let deep = "{".repeat(200_000);
    let long_line =
        format!(".version 8.0\n.target sm_90\n.global .u32 a[100000] = {{{}}};\n", "1,".repeat(99_999) + "1");
    let names = (0..20_000).map(|n| format!(".global .u32 v{n};\n")).collect::<String>();
    let many = format!(".version 8.0\n.target sm_90\n.address_size 64\n{names}");
    let nothing = "x".repeat(4 << 20);
    let mut client = Client::new(Options::default());
    client.initialize(json!({}), None, Value::Null);
    for (number, text) in [deep, long_line, many, nothing].iter().enumerate() {
        let uri = format!("untitled:{number}");
        open(&mut client, &uri, text);
        for request in [
            "textDocument/hover",
            "textDocument/completion",
            "textDocument/documentSymbol",
            "textDocument/codeAction",
        ] {
            let answer = client.request(request, params(&uri, 0, 2)).pop().expect("an answer");
            assert_ne!(answer["error"]["code"], -32603, "{request}: {answer}");
        }
        client.notify("textDocument/didClose", json!({"textDocument": {"uri": uri}}));
        client.until_diagnostics(&uri);
    }
    assert_eq!(client.end(), Ended::Properly);
}

#[test]
fn streams_that_break_off_end_the_server() {
    for (bytes, properly) in [
        (&b""[..], true),
        (b"Content-Length: 10\r\n\r\n{}", false),
        (b"nonsense\r\n\r\n", false),
        (b"Content-Length: x\r\n\r\n", false),
    ] {
        let mut client = Client::new(Options::default());
        client.send_bytes(bytes);
        let ended = client.join();
        assert_eq!(matches!(ended, Ended::Early), properly, "{ended:?}");
    }
}

#[test]
fn a_request_that_was_cancelled_is_not_worked_on() {
    let mut client = Client::new(Options::default());
    client.initialize(json!({}), None, Value::Null);
    // The server is busy with the first request while the others come.
    let text =
        ".version 8.0\n.target sm_90\n.address_size 64\n".to_owned() + &".global .u32 a;\n".repeat(100_000);
    let document = json!({"uri": "untitled:1", "languageId": "ptx", "version": 1, "text": text});
    let messages = [
        json!({"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": {"textDocument": document}}),
        json!({"jsonrpc": "2.0", "id": "a", "method": "textDocument/documentSymbol", "params": {"textDocument": {"uri": "untitled:1"}}}),
        json!({"jsonrpc": "2.0", "id": "b", "method": "textDocument/documentSymbol", "params": {"textDocument": {"uri": "untitled:1"}}}),
        json!({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": "b"}}),
    ];
    let framed = messages.iter().map(|message| {
        let text = message.to_string();
        format!("Content-Length: {}\r\n\r\n{text}", text.len())
    });
    client.send_bytes(framed.collect::<String>().as_bytes());
    let answers = client.until(|message| message["id"] == "b");
    assert_eq!(answers.last().expect("an answer")["error"]["code"], -32800);
}
