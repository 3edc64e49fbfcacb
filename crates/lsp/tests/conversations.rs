//! Conversations with the server, recorded: `tests/conversations/*.txt`. `SOFTWARP_BLESS=1` records them anew.
//!
//! A file has steps, each from a line that begins with `=== ` to the next:
//!
//! - `=== what`: what it shows.
//! - `=== initialize`: the client's capabilities; without it, those of a common editor. `=== settings`: what it sets.
//! - `=== file NAME`: a file of the workspace. `«1»` in it is a place that steps name.
//! - `=== open NAME`, `=== close NAME`: a document. `=== change NAME`: its changes as JSON, or a whole new text.
//! - `=== ask METHOD NAME PLACE`: a request about a place, a range (`1-2`) or all of a document, with more parameters
//!   behind it. `=== request METHOD`: any other, with its parameters.
//! - `=== notify METHOD`: a notification, with its parameters. `=== raw`: bytes (`\n` for ends of lines is made `\r\n`).
//! - `=== got`: what came back.

mod client;

use client::Client;
use serde_json::{Map, Value, json};
use softwarp_testkit::{expected, files};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A step: its head, and what follows it.
struct Step {
    head: String,
    body: String,
}

fn steps(text: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for line in text.lines() {
        match (line.strip_prefix("=== "), steps.last_mut()) {
            (Some(head), _) => steps.push(Step { head: head.to_owned(), body: String::new() }),
            (None, Some(step)) => step.body += &format!("{line}\n"),
            (None, None) => {}
        }
    }
    steps
}

/// A file with its places.
struct Marked {
    text: String,
    places: BTreeMap<String, (u32, u32)>,
}

impl Marked {
    fn new(text: &str) -> Marked {
        let mut marked = Marked { text: String::new(), places: BTreeMap::new() };
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('«') {
            let (name, after) = after.split_once('»').expect("a place ends with »");
            marked.text += before;
            let line = marked.text.matches('\n').count() as u32;
            let column = marked.text.rsplit('\n').next().unwrap_or_default().encode_utf16().count() as u32;
            marked.places.insert(name.to_owned(), (line, column));
            rest = after;
        }
        marked.text += rest;
        marked
    }

    fn position(&self, name: &str) -> Value {
        let (line, character) = self.places.get(name).unwrap_or_else(|| panic!("there is no place {name}"));
        json!({"line": line, "character": character})
    }
}

struct Talk {
    client: Client,
    folder: tempfile_uri::Folder,
    files: BTreeMap<String, Marked>,
    version: i64,
}

/// A temporary folder and its URI.
mod tempfile_uri {
    use super::*;

    pub struct Folder {
        pub path: PathBuf,
        _kept: Box<dyn std::any::Any>,
    }

    impl Folder {
        pub fn new() -> Folder {
            let kept = files::temporary();
            let path = kept.path().canonicalize().expect("a folder");
            Folder { path, _kept: Box::new(kept) }
        }

        pub fn uri(&self) -> String {
            format!("file://{}", self.path.display())
        }
    }
}

impl Talk {
    fn uri(&self, name: &str) -> String {
        format!("{}/{name}", self.folder.uri())
    }

    fn params(&self, words: &[&str], body: &str) -> Value {
        let mut params: Map<String, Value> = match body.trim() {
            "" => Map::new(),
            text => serde_json::from_str(text).unwrap_or_else(|error| panic!("{error} in {text}")),
        };
        let file = words[0];
        params.insert("textDocument".into(), json!({"uri": self.uri(file)}));
        match words.get(1).map(|place| (place, place.split_once('-'))) {
            Some((_, Some((start, end)))) => {
                let at = |name: &str| self.files[file].position(name);
                params.insert("range".into(), json!({"start": at(start), "end": at(end)}));
            }
            Some((place, None)) => {
                params.insert("position".into(), self.files[file].position(place));
            }
            None => {}
        }
        params.into()
    }

    /// What comes back for a step.
    fn step(&mut self, step: &Step) -> Option<Vec<Value>> {
        let words: Vec<&str> = step.head.split(' ').collect();
        let folder = self.folder.uri();
        let body = step.body.replace("WORKSPACE", &folder);
        Some(match words[0] {
            "open" => {
                let uri = self.uri(words[1]);
                let text = &self.files[words[1]].text;
                let document = json!({"uri": uri, "languageId": "ptx", "version": 1, "text": text});
                self.client.notify("textDocument/didOpen", json!({"textDocument": document}));
                self.client.until_diagnostics(&uri)
            }
            "change" => {
                let uri = self.uri(words[1]);
                self.version += 1;
                let document = json!({"uri": uri, "version": self.version});
                let changes = serde_json::from_str(&body).unwrap_or_else(|_| {
                    let marked = Marked::new(&body);
                    let text = marked.text.clone();
                    self.files.insert(words[1].to_owned(), marked);
                    json!([{"text": text}])
                });
                self.client.notify(
                    "textDocument/didChange",
                    json!({"textDocument": document, "contentChanges": changes}),
                );
                self.client.until_diagnostics(&uri)
            }
            "close" => {
                let uri = self.uri(words[1]);
                self.client.notify("textDocument/didClose", json!({"textDocument": {"uri": uri}}));
                self.client.until_diagnostics(&uri)
            }
            "ask" => {
                let params = self.params(&words[2..], &body);
                self.client.request(words[1], params)
            }
            "request" => {
                let params = match body.trim() {
                    "" => Value::Null,
                    text => serde_json::from_str(text).expect("JSON"),
                };
                self.client.request(words[1], params)
            }
            "notify" => {
                let params = serde_json::from_str(&body).unwrap_or(Value::Null);
                self.client.notify(words[1], params);
                return None;
            }
            "raw" => {
                self.client.send_bytes(body.trim_end().replace('\n', "\r\n").as_bytes());
                vec![self.client.receive().expect("an answer")]
            }
            other => panic!("there is no step {other}"),
        })
    }
}

/// What editors can do.
fn common() -> Value {
    json!({
        "general": {"positionEncodings": ["utf-16"]},
        "textDocument": {
            "completion": {"completionItem": {"snippetSupport": true}},
            "publishDiagnostics": {"relatedInformation": true},
        },
    })
}

/// JSON on few lines: what fits on one stands on one.
fn print(value: &Value, indent: usize, into: &mut String) {
    const WIDTH: usize = 150;
    let sorted = sorted(value);
    let line = one_line(&sorted);
    let pad = " ".repeat(indent + 2);
    match &sorted {
        _ if line.chars().count() + indent <= WIDTH => into.push_str(&line),
        Value::Object(members) => {
            into.push('{');
            for (number, (key, member)) in members.iter().enumerate() {
                into.push_str(&format!("{}\n{pad}{}: ", if number > 0 { "," } else { "" }, json!(key)));
                print(member, indent + 2, into);
            }
            into.push_str(&format!("\n{}}}", " ".repeat(indent)));
        }
        // Tokens, of five numbers each.
        Value::Array(elements) if elements.iter().all(Value::is_u64) => {
            into.push('[');
            for (number, tokens) in elements.chunks(25).enumerate() {
                let rows: Vec<String> = tokens
                    .chunks(5)
                    .map(|token| token.iter().map(Value::to_string).collect::<Vec<_>>().join(","))
                    .collect();
                into.push_str(&format!("{}\n{pad}{}", if number > 0 { "," } else { "" }, rows.join(", ")));
            }
            into.push_str(&format!("\n{}]", " ".repeat(indent)));
        }
        Value::Array(elements) => {
            into.push('[');
            for (number, element) in elements.iter().enumerate() {
                into.push_str(&format!("{}\n{pad}", if number > 0 { "," } else { "" }));
                print(element, indent + 2, into);
            }
            into.push_str(&format!("\n{}]", " ".repeat(indent)));
        }
        Value::String(text) if text.contains('\n') => {
            into.push_str("text");
            for line in text.lines() {
                into.push_str(format!("\n{pad}| {line}").trim_end());
            }
        }
        _ => into.push_str(&line),
    }
}

fn one_line(value: &Value) -> String {
    match value {
        Value::Object(members) => {
            let members: Vec<String> =
                members.iter().map(|(key, member)| format!("{}: {}", json!(key), one_line(member))).collect();
            format!("{{{}}}", members.join(", "))
        }
        Value::Array(elements) => {
            format!("[{}]", elements.iter().map(one_line).collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}

/// With the keys of objects in order: those of maps have none.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let ordered: BTreeMap<&String, Value> =
                members.iter().map(|(key, one)| (key, sorted(one))).collect();
            Value::Object(ordered.into_iter().map(|(key, one)| (key.clone(), one)).collect())
        }
        Value::Array(elements) => elements.iter().map(sorted).collect(),
        other => other.clone(),
    }
}

/// What a message says, without what is the same in all.
fn shown(message: &Value) -> Value {
    if let Some(result) = message.get("result") {
        return result.clone();
    }
    let mut message = message.clone();
    if let Some(members) = message.as_object_mut() {
        members.remove("jsonrpc");
        if members.contains_key("error") && !members["id"].is_null() {
            members.remove("id");
        }
    }
    message
}

/// Has a conversation; gives its record.
fn record(path: &Path) -> String {
    let text = std::fs::read_to_string(path).expect("a conversation");
    let steps = steps(&text);
    let client = Client::new(softwarp_lsp::Options::default());
    let mut talk = Talk { client, folder: tempfile_uri::Folder::new(), files: BTreeMap::new(), version: 1 };
    for step in steps.iter().filter(|step| step.head.starts_with("file ")) {
        let name = &step.head["file ".len()..];
        let marked = Marked::new(&step.body);
        std::fs::write(talk.folder.path.join(name), &marked.text).expect("a file");
        talk.files.insert(name.to_owned(), marked);
    }
    let folder = talk.folder.uri();
    let capabilities = steps.iter().find(|step| step.head == "initialize");
    let is_raw = steps.iter().any(|step| step.head == "uninitialized");
    let mut first = Vec::new();
    if !is_raw {
        let given = capabilities.map_or_else(common, |step| serde_json::from_str(&step.body).expect("JSON"));
        let settings = steps.iter().find(|step| step.head == "settings");
        let settings = settings.map_or(Value::Null, |step| serde_json::from_str(&step.body).expect("JSON"));
        let answer = talk.client.initialize(given, Some(&folder), settings);
        first.extend(capabilities.map(|_| answer));
    }
    let mut out = String::new();
    let got = |out: &mut String, messages: &[Value]| {
        let mut text = String::new();
        for message in messages {
            print(&shown(message), 0, &mut text);
            text.push('\n');
        }
        out.push_str(&format!("=== got\n{}", text.replace(&folder, "WORKSPACE")));
    };
    for step in &steps {
        if step.head == "got" {
            continue;
        }
        out.push_str(&format!("=== {}\n{}", step.head, step.body));
        match step.head.split(' ').next().unwrap_or_default() {
            "what" | "file" | "settings" | "uninitialized" => {}
            "initialize" => got(&mut out, &first),
            _ => {
                if let Some(messages) = talk.step(step) {
                    got(&mut out, &messages);
                }
            }
        }
    }
    talk.client.join();
    out
}

#[test]
fn conversations_go_as_recorded() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/conversations");
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(&folder).expect("a folder").map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    let mut failures = Vec::new();
    for path in &paths {
        let outcome = std::panic::catch_unwind(|| expected::assert_file(path, &record(path)));
        if outcome.is_err() {
            failures.push(path.file_name().unwrap_or_default().to_string_lossy().into_owned());
        }
    }
    assert!(failures.is_empty(), "{failures:?}");
    assert!(paths.len() >= 40, "there are {} conversations", paths.len());
}
