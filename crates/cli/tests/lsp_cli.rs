//! `softwarp lsp` as an editor starts it: the process, its exit codes, and the lenses that run kernels.

use serde_json::{Value, json};
use softwarp_testkit::{files, process};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

struct Editor {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    next_id: u32,
}

impl Editor {
    fn new(folder: &Path) -> Editor {
        let mut command = process::command(env!("CARGO_BIN_EXE_softwarp"), folder, &["lsp"]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
        let (to, from) = (child.stdin.take().expect("a pipe"), child.stdout.take().expect("a pipe"));
        let mut editor = Editor { child, to, from: BufReader::new(from), next_id: 0 };
        let capabilities = json!({"textDocument": {"publishDiagnostics": {"relatedInformation": true}}});
        editor
            .request("initialize", json!({"processId": null, "rootUri": null, "capabilities": capabilities}));
        editor
    }

    fn send(&mut self, message: &Value) {
        let text = message.to_string();
        write!(self.to, "Content-Length: {}\r\n\r\n{text}", text.len()).expect("written");
    }

    fn receive(&mut self) -> Value {
        let mut length = 0;
        loop {
            let mut line = String::new();
            self.from.read_line(&mut line).expect("a line");
            match line.trim_end().strip_prefix("Content-Length: ") {
                Some(number) => length = number.parse().expect("a number"),
                None => break,
            }
        }
        let mut bytes = vec![0; length];
        self.from.read_exact(&mut bytes).expect("a message");
        serde_json::from_slice(&bytes).expect("JSON")
    }

    /// What comes up to the answer of a request, which is last.
    fn request(&mut self, method: &str, params: Value) -> Vec<Value> {
        self.next_id += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": self.next_id, "method": method, "params": params}));
        let mut messages = Vec::new();
        loop {
            let message = self.receive();
            let is_answer = message["id"] == self.next_id;
            messages.push(message);
            if is_answer {
                return messages;
            }
        }
    }

    fn open(&mut self, uri: &str, text: &str) -> Value {
        let document = json!({"uri": uri, "languageId": "ptx", "version": 1, "text": text});
        self.send(&json!({"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": {"textDocument": document}}));
        self.receive()
    }

    fn end(mut self, says_shutdown: bool) -> i32 {
        if says_shutdown {
            self.request("shutdown", Value::Null);
        }
        self.send(&json!({"jsonrpc": "2.0", "method": "exit"}));
        self.child.wait().expect("it ends").code().expect("a code")
    }
}

const RACE: &str = ".version 8.0
.target sm_90
.address_size 64
.visible .entry race(.param .u64 p)
{
    .reg .b32 %r<4>;
    .reg .b64 %rd<4>;
    .shared .u32 s[4];
    ld.param.u64 %rd1, [p];
    mov.u32 %r1, %tid.x;
    st.shared.u32 [s], %r1;
    ld.shared.u32 %r2, [s];
    st.global.u32 [%rd1], %r2;
    ret;
}
";
const LAUNCH: &str = r#"{"launches": [{"kernel": "race", "grid": 1, "block": 64, "args": [{"buffer": "p"}]}],
    "buffers": {"p": {"init": {"u32": [0]}}}, "dump": ["p"]}"#;

#[test]
fn lenses_run_kernels_and_show_what_is_found() {
    let folder = files::folder(&[("race.ptx", RACE), ("race.json", LAUNCH), ("other.json", "{}")]);
    let path = folder.path().canonicalize().expect("a folder");
    let uri = format!("file://{}/race.ptx", path.display());
    let mut editor = Editor::new(&path);
    editor.open(&uri, RACE);
    let lenses = editor.request("textDocument/codeLens", json!({"textDocument": {"uri": uri}})).remove(0);
    let commands: Vec<Value> =
        lenses["result"].as_array().expect("lenses").iter().map(|lens| lens["command"].clone()).collect();
    let titles: Vec<&str> =
        commands.iter().map(|command| command["title"].as_str().expect("a title")).collect();
    assert_eq!(titles, ["▶ run race.json", "sanitize race.json"]);

    let ran = editor.request("workspace/executeCommand", commands[0].clone());
    let answer = &ran.last().expect("an answer")["result"];
    assert_eq!(answer["ok"], true, "{answer}");
    assert!(answer["dumps"]["p"].is_string(), "{answer}");

    let ran = editor.request("workspace/executeCommand", commands[1].clone());
    let published =
        ran.iter().find(|one| one["method"] == "textDocument/publishDiagnostics").expect("findings");
    let findings = published["params"]["diagnostics"].as_array().expect("a list");
    assert_eq!(findings.len(), 3, "{findings:?}");
    let read = findings.iter().find(|one| one["range"]["start"]["line"] == 11).expect("the read");
    assert_eq!((&read["code"], &read["source"]), (&json!("race"), &json!("softwarp run")));
    assert_eq!(read["relatedInformation"][0]["location"]["range"]["start"]["line"], 10);
    let told = ran.iter().find(|one| one["method"] == "window/showMessage").expect("a message");
    assert_eq!(told["params"]["message"], "race.json: 3 things found");

    // What is on the disk runs, so changes have to be saved.
    let change = json!({"textDocument": {"uri": uri, "version": 2}, "contentChanges": [{"text": RACE.replace("s[4]", "s[8]")}]});
    editor.send(&json!({"jsonrpc": "2.0", "method": "textDocument/didChange", "params": change}));
    let cleared = editor.receive();
    assert_eq!(cleared["params"]["diagnostics"], json!([]));
    let refused = editor.request("workspace/executeCommand", commands[0].clone()).remove(0);
    assert!(
        refused["error"]["message"].as_str().expect("an error").ends_with("has changes: save it first"),
        "{refused}"
    );
    assert_eq!(editor.end(true), 0);
}

#[test]
fn a_launch_file_that_is_wrong_is_told() {
    let wrong = LAUNCH.replace("\"grid\": 1", "\"grid\": \"x\"");
    let folder = files::folder(&[("race.ptx", RACE), ("race.json", &wrong)]);
    let path = folder.path().canonicalize().expect("a folder");
    let uri = format!("file://{}/race.ptx", path.display());
    let mut editor = Editor::new(&path);
    editor.open(&uri, RACE);
    let params = json!({"command": "softwarp.run", "arguments": [uri, path.join("race.json")]});
    let refused = editor.request("workspace/executeCommand", params).pop().expect("an answer");
    assert!(refused["error"]["message"].as_str().expect("an error").starts_with("race.json: "), "{refused}");
    assert_eq!(editor.end(true), 0);
}

#[test]
fn exit_codes_say_how_it_ended() {
    let folder = files::temporary();
    assert_eq!(Editor::new(folder.path()).end(true), 0);
    assert_eq!(Editor::new(folder.path()).end(false), 1);
    let command = process::command(env!("CARGO_BIN_EXE_softwarp"), folder.path(), &["lsp", "--stdio"]);
    let ran = process::run(command, b"nonsense\r\n\r\n");
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("error: cannot read a message"), "{}", ran.stderr);
}

/// A module with a warning, W0202.
const EXTERN: &str = ".version 8.0\n.target sm_90\n.address_size 64\n.extern .global .u32 count;\n\
    .visible .entry k() { .reg .b32 %r; ld.global.u32 %r, [count]; ret; }\n";

#[test]
fn what_a_project_says_about_warnings_counts() {
    let severities = |configuration: &str| {
        let folder = files::folder(&[("softwarp.toml", configuration)]);
        let mut editor = Editor::new(folder.path());
        let published = editor.open("untitled:a.ptx", EXTERN);
        assert_eq!(editor.end(true), 0);
        if published["method"] == "window/logMessage" {
            return vec![published["params"]["message"].clone()];
        }
        let diagnostics = published["params"]["diagnostics"].as_array().expect("a list").clone();
        diagnostics.iter().map(|one| one["severity"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(severities(""), [2]);
    assert_eq!(severities("warnings = \"error\""), [1]);
    assert_eq!(severities("allow = [\"W0202\"]"), Vec::<Value>::new());
    assert_eq!(severities("warnings = \"allow\"\ndeny = [\"W0202\"]"), [1]);
    let told = severities("warnigs = 1");
    assert!(told[0].as_str().is_some_and(|text| text.contains("softwarp.toml")), "{told:?}");
}
