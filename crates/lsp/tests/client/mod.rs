//! A client that has a conversation with the server, over pipes, as an editor does.

#![allow(dead_code)] // Each test uses a part of it.

use serde_json::{Value, json};
use softwarp_lsp::{Options, serve};
use std::io::{BufRead, BufReader, PipeReader, PipeWriter, Read, Write, pipe};
use std::thread::JoinHandle;

/// A server on a thread of its own, and the streams to it.
pub struct Client {
    to: Option<PipeWriter>,
    from: BufReader<PipeReader>,
    server: Option<JoinHandle<softwarp_lsp::Ended>>,
    next_id: i64,
}

impl Client {
    /// Starts a server.
    pub fn new(options: Options) -> Client {
        let (server_input, to) = pipe().expect("a pipe");
        let (from, server_output) = pipe().expect("a pipe");
        let server = std::thread::spawn(move || {
            serve(BufReader::new(server_input), server_output, options).expect("the client reads")
        });
        Client { to: Some(to), from: BufReader::new(from), server: Some(server), next_id: 0 }
    }

    /// Sends bytes as they are.
    pub fn send_bytes(&mut self, bytes: &[u8]) {
        // A server that has ended cannot be written to.
        let _ = self.to.as_mut().expect("the stream is open").write_all(bytes);
    }

    /// Sends a message.
    pub fn send(&mut self, message: &Value) {
        let text = message.to_string();
        self.send_bytes(format!("Content-Length: {}\r\n\r\n{text}", text.len()).as_bytes());
    }

    /// Sends a notification.
    pub fn notify(&mut self, method: &str, params: Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    /// The next message; `None` when the server has ended.
    pub fn receive(&mut self) -> Option<Value> {
        let mut length = None;
        loop {
            let mut line = String::new();
            if self.from.read_line(&mut line).expect("a line") == 0 {
                return None;
            }
            match line.trim_end().split_once(": ") {
                Some(("Content-Length", number)) => length = number.parse::<usize>().ok(),
                _ if line.trim_end().is_empty() => break,
                _ => {}
            }
        }
        let mut bytes = vec![0; length.expect("a length")];
        self.from.read_exact(&mut bytes).expect("a message");
        Some(serde_json::from_slice(&bytes).expect("JSON"))
    }

    /// Sends a request; gives what comes up to the answer, the answer last.
    pub fn request(&mut self, method: &str, params: Value) -> Vec<Value> {
        self.next_id += 1;
        let id = self.next_id;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        self.until(|message| message["id"] == id && message.get("method").is_none())
    }

    /// What comes up to a message, which is last.
    pub fn until(&mut self, is_last: impl Fn(&Value) -> bool) -> Vec<Value> {
        let mut messages = Vec::new();
        while let Some(message) = self.receive() {
            let last = is_last(&message);
            messages.push(message);
            if last {
                return messages;
            }
        }
        panic!("the server ended after {messages:?}")
    }

    /// What comes up to the diagnostics of a document.
    pub fn until_diagnostics(&mut self, uri: &str) -> Vec<Value> {
        self.until(|message| {
            message["method"] == "textDocument/publishDiagnostics" && message["params"]["uri"] == uri
        })
    }

    /// Starts the session.
    pub fn initialize(&mut self, capabilities: Value, folder: Option<&str>, settings: Value) -> Value {
        let folders = folder.map(|uri| json!([{"uri": uri, "name": "workspace"}]));
        let params = json!({
            "processId": null, "rootUri": null, "capabilities": capabilities,
            "workspaceFolders": folders, "initializationOptions": settings,
        });
        let answer = self.request("initialize", params).pop().expect("an answer");
        self.notify("initialized", json!({}));
        answer
    }

    /// Ends the session; says how it ended.
    pub fn end(mut self) -> softwarp_lsp::Ended {
        let _ = self.request("shutdown", Value::Null);
        self.notify("exit", Value::Null);
        self.join()
    }

    /// Closes the stream and waits for the server.
    pub fn join(&mut self) -> softwarp_lsp::Ended {
        self.to = None;
        self.server.take().expect("it runs").join().expect("the server does not panic")
    }
}
