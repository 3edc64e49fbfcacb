//! The server: takes messages, keeps documents, and sends answers.
//!
//! One thread reads messages, another answers them one after the other. Messages that have come meanwhile are looked at
//! first: a request that was cancelled is not worked on, and a document is checked once after several changes.

use crate::analysis::Document;
use crate::capabilities::capabilities;
use crate::diagnostics;
use crate::initialize::InitializeParams;
use crate::levels::Levels;
use crate::protocol::json::{self, Read};
use crate::protocol::{
    DidChangeTextDocumentParams, DidChangeWorkspaceFoldersParams, DidCloseTextDocumentParams,
    DidOpenTextDocumentParams, ErrorCode, ExecuteCommandParams, Message, MessageParams, MessageType,
    Notification, PublishDiagnosticsParams, Request, RequestId, TextDocumentItem, Uri,
    VersionedTextDocumentIdentifier, notification, params as read, refusal, response, send,
};
use crate::requests;
use crate::run;
use crate::text::Encoding;
use crate::transport::{self, Incoming};
use crate::uri;
use crate::world::{Failure, World};
use serde_json::Value;
use std::collections::{BTreeSet, VecDeque};
use std::io::{self, BufRead, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::mpsc::{Receiver, Sender, channel};

/// The notification of what is wrong with a document.
const DIAGNOSTICS: &str = "textDocument/publishDiagnostics";

/// How to serve.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The program that runs kernels: `softwarp`. Without it there are no code lenses for runs.
    pub program: Option<PathBuf>,
    /// How modules are checked, where the client does not say it.
    pub check: softwarp_check::Options,
    /// What warnings are.
    pub levels: Levels,
    /// Something to tell the client once it has started: that a configuration cannot be read.
    pub notice: Option<String>,
}

/// How the conversation ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The client said `shutdown` and `exit`.
    Properly,
    /// The client said `exit`, or closed the stream, without `shutdown`.
    Early,
    /// The stream cannot be read.
    Unreadable(String),
}

/// Serves a client until it says `exit` or closes the stream.
pub fn serve(
    input: impl BufRead + Send + 'static,
    mut output: impl Write,
    options: Options,
) -> io::Result<Ended> {
    // The server is compiled once, not for each type of stream.
    serve_streams(Box::new(input), &mut output, options)
}

fn serve_streams(
    mut input: Box<dyn BufRead + Send>,
    output: &mut dyn Write,
    options: Options,
) -> io::Result<Ended> {
    let (sender, receiver) = channel();
    let from_runs = sender.clone();
    std::thread::spawn(move || {
        loop {
            let incoming = transport::read(&mut input);
            let is_last = match &incoming {
                Incoming::End(_) => true,
                Incoming::Message(Message::Notification(one)) => one.method == "exit",
                _ => false,
            };
            if sender.send(incoming).is_err() || is_last {
                break;
            }
        }
    });
    let world = World::new(options.program, options.check, options.levels);
    let mut server = Server {
        world,
        output,
        state: State::New,
        dirty: BTreeSet::new(),
        queue: VecDeque::new(),
        sender: from_runs,
        notice: options.notice,
    };
    server.run(&receiver)
}

/// What the client may set when it starts the server.
#[derive(Debug)]
struct Settings {
    /// Modules will be linked with others: `.extern` functions need not be defined.
    relocatable: Switch,
    /// Follow the manual where the assembler lets more pass.
    strict: Switch,
    /// The GPU to check for, instead of the module's.
    arch: Option<String>,
}

json::reads!(Settings: "relocatable" = relocatable, "strict" = strict, "arch" = arch);

/// A setting that is off where it is not named.
#[derive(Debug)]
struct Switch(bool);

impl Read for Switch {
    fn read(value: Value) -> Result<Switch, serde_json::Error> {
        bool::read(value).map(Switch)
    }

    fn missing(_: &'static str) -> Result<Switch, serde_json::Error> {
        Ok(Switch(false))
    }
}

/// What may come next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Nothing but `initialize`.
    New,
    /// Anything.
    Running,
    /// Nothing but `exit`.
    ShutDown,
}

/// The server.
struct Server<'a> {
    world: World,
    output: &'a mut dyn Write,
    state: State,
    /// Documents that are to be checked.
    dirty: BTreeSet<String>,
    queue: VecDeque<Incoming>,
    /// Where runs that have ended are told.
    sender: Sender<Incoming>,
    /// What to tell the client once it has started.
    notice: Option<String>,
}

impl Server<'_> {
    fn run(&mut self, receiver: &Receiver<Incoming>) -> io::Result<Ended> {
        loop {
            self.queue.extend(receiver.try_iter());
            if self.queue.is_empty() {
                self.publish_dirty()?;
                match receiver.recv() {
                    Ok(incoming) => self.queue.push_back(incoming),
                    Err(_) => return Ok(Ended::Early),
                }
            }
            let Some(incoming) = self.queue.pop_front() else { continue };
            if let Some(ended) = self.take(incoming)? {
                return Ok(ended);
            }
        }
    }

    fn take(&mut self, incoming: Incoming) -> io::Result<Option<Ended>> {
        match incoming {
            Incoming::Message(Message::Request(request)) => self.request(request)?,
            Incoming::Message(Message::Notification(one)) if one.method == "exit" => {
                let properly = self.state == State::ShutDown;
                return Ok(Some(if properly { Ended::Properly } else { Ended::Early }));
            }
            Incoming::Message(Message::Notification(one)) => self.notification(one)?,
            Incoming::Message(Message::Response) => {}
            Incoming::Ran(id, outcome) => self.ran(id, *outcome)?,
            Incoming::Malformed(code, why) => self.send(&refusal(None, code, &why))?,
            Incoming::End(None) => return Ok(Some(Ended::Early)),
            Incoming::End(Some(why)) => return Ok(Some(Ended::Unreadable(why))),
        }
        Ok(None)
    }

    fn send(&mut self, message: &str) -> io::Result<()> {
        send(message, self.output)
    }

    fn notify(&mut self, method: &str, params: &dyn json::Write) -> io::Result<()> {
        self.send(&notification(method, params))
    }

    fn refuse(&mut self, id: &RequestId, code: ErrorCode, message: &str) -> io::Result<()> {
        self.send(&refusal(Some(id), code, message))
    }

    /// Whether the client has cancelled a request meanwhile.
    fn is_cancelled(&self, id: &RequestId) -> bool {
        self.queue.iter().any(|incoming| match incoming {
            Incoming::Message(Message::Notification(one)) if one.method == "$/cancelRequest" => {
                one.params.get("id").and_then(RequestId::of).as_ref() == Some(id)
            }
            _ => false,
        })
    }

    fn request(&mut self, request: Request) -> io::Result<()> {
        let Request { id, method, params } = request;
        match (self.state, method.as_str()) {
            (State::New, "initialize") => return self.initialize(id, params),
            (State::New, _) => {
                let why = "the first request is `initialize`";
                return self.refuse(&id, ErrorCode::ServerNotInitialized, why);
            }
            (_, "initialize") => {
                return self.refuse(&id, ErrorCode::InvalidRequest, "`initialize` was sent before");
            }
            (State::ShutDown, _) => {
                return self.refuse(&id, ErrorCode::InvalidRequest, "after `shutdown` comes `exit`");
            }
            (State::Running, "shutdown") => {
                self.state = State::ShutDown;
                return self.send(&response(&id, "null"));
            }
            (State::Running, _) => {}
        }
        if self.is_cancelled(&id) {
            return self.refuse(&id, ErrorCode::RequestCancelled, "cancelled");
        }
        if method == "workspace/executeCommand" {
            return self.execute(id, params);
        }
        let answer = catch_unwind(AssertUnwindSafe(|| requests::answer(&self.world, &method, params)));
        let failed = |_| Some(Err((ErrorCode::InternalError, internal(&method))));
        match answer.unwrap_or_else(failed) {
            Some(answer) => self.answer(&id, answer),
            None => {
                let why = format!("there is no request `{}` here", shown(&method));
                self.refuse(&id, ErrorCode::MethodNotFound, &why)
            }
        }
    }

    fn answer(&mut self, id: &RequestId, answer: requests::Result) -> io::Result<()> {
        match answer {
            Ok(result) => self.send(&response(id, &result)),
            Err((code, message)) => self.refuse(id, code, &message),
        }
    }

    fn initialize(&mut self, id: RequestId, params: Value) -> io::Result<()> {
        let params: InitializeParams = match read(params) {
            Ok(params) => params,
            Err(why) => return self.refuse(&id, ErrorCode::InvalidParams, &why),
        };
        self.world.encoding = Encoding::choose(params.position_encodings());
        self.world.snippets = params.snippets();
        self.world.related = params.related_information();
        self.world.folders = params.folders().filter_map(uri::to_path).collect();
        let wrong = self.settings(params.initialization_options);
        self.state = State::Running;
        let server = serde_json::json!({"name": "softwarp", "version": env!("CARGO_PKG_VERSION")});
        let mut result = String::new();
        json::object(&[("capabilities", &capabilities(&self.world)), ("serverInfo", &server)], &mut result);
        self.send(&response(&id, &result))?;
        if let Err(why) = wrong {
            self.log(format!("initializationOptions: {why}"))?;
        }
        match self.notice.take() {
            Some(notice) => self.log(notice),
            None => Ok(()),
        }
    }

    /// Takes the settings: how modules are checked.
    fn settings(&mut self, settings: Option<Value>) -> Result<(), String> {
        let Some(settings) = settings else { return Ok(()) };
        let settings: Settings = read(settings)?;
        self.world.check.relocatable |= settings.relocatable.0;
        self.world.check.strict |= settings.strict.0;
        if let Some(arch) = settings.arch.filter(|arch| !arch.is_empty()) {
            let known = softwarp_isa::Target::from_name(&arch);
            self.world.check.arch =
                Some(known.ok_or_else(|| format!("there is no target `{}`", shown(&arch)))?);
        }
        Ok(())
    }

    fn log(&mut self, message: String) -> io::Result<()> {
        self.notify("window/logMessage", &MessageParams { kind: MessageType::Error, message })
    }

    fn notification(&mut self, notification: Notification) -> io::Result<()> {
        if self.state != State::Running {
            return Ok(());
        }
        let Notification { method, params } = notification;
        let wrong = match method.as_str() {
            "textDocument/didOpen" => read(params).map(|params| self.opened(params)),
            "textDocument/didChange" => read(params).and_then(|params| self.changed(params)),
            "textDocument/didClose" => match read::<DidCloseTextDocumentParams>(params) {
                Ok(params) => return self.closed(&params.text_document.uri),
                Err(why) => Err(why),
            },
            "workspace/didChangeWorkspaceFolders" => read(params).map(|params| self.folders(params)),
            // What is not known need not be: the protocol says so for all but requests.
            _ => Ok(()),
        };
        match wrong {
            Ok(()) => Ok(()),
            Err(why) => self.log(format!("{}: {why}", shown(&method))),
        }
    }

    fn opened(&mut self, params: DidOpenTextDocumentParams) {
        let TextDocumentItem { uri, version, text, .. } = params.text_document;
        self.dirty.insert(uri.0.clone());
        self.world.open(uri, version, text);
    }

    fn changed(&mut self, params: DidChangeTextDocumentParams) -> Result<(), String> {
        let VersionedTextDocumentIdentifier { version, uri } = params.text_document;
        let Some(open) = self.world.opened(&uri) else { return Err(format!("{} is not open", uri.0)) };
        open.version = version;
        open.findings.clear();
        if Rc::get_mut(&mut open.document).is_none() {
            open.document = Rc::new(Document::new(open.document.text.clone(), open.document.options));
        }
        if let Some(document) = Rc::get_mut(&mut open.document) {
            document.change(|text| params.content_changes.into_iter().for_each(|change| text.apply(change)));
        }
        self.dirty.insert(uri.0);
        Ok(())
    }

    fn closed(&mut self, uri: &Uri) -> io::Result<()> {
        self.world.close(uri);
        self.dirty.remove(&uri.0);
        let nothing = PublishDiagnosticsParams { uri: uri.clone(), version: None, diagnostics: vec![] };
        self.notify(DIAGNOSTICS, &nothing)
    }

    fn folders(&mut self, params: DidChangeWorkspaceFoldersParams) {
        for folder in &params.event.removed {
            let gone = uri::to_path(&folder.uri);
            self.world.folders.retain(|known| Some(known) != gone.as_ref());
        }
        self.world.folders.extend(params.event.added.iter().filter_map(|folder| uri::to_path(&folder.uri)));
    }

    /// Checks what has changed, and says what is wrong with it.
    fn publish_dirty(&mut self) -> io::Result<()> {
        for uri in std::mem::take(&mut self.dirty) {
            self.publish(&Uri(uri))?;
        }
        Ok(())
    }

    fn publish(&mut self, uri: &Uri) -> io::Result<()> {
        let Some(open) = self.world.opened(uri) else { return Ok(()) };
        let document = open.document.clone();
        let version = open.version;
        let recheck = &mut open.recheck;
        let options = document.options;
        let found = catch_unwind(AssertUnwindSafe(|| recheck.check(document.source(), options)));
        let mut findings = open.findings.clone();
        let mut all = diagnostics::of(&self.world, uri, &document, &found.unwrap_or_default());
        all.append(&mut findings);
        let all = PublishDiagnosticsParams { uri: uri.clone(), version: Some(version), diagnostics: all };
        self.notify(DIAGNOSTICS, &all)
    }

    /// Starts what a command asks for. The answer comes when it is done.
    fn execute(&mut self, id: RequestId, params: Value) -> io::Result<()> {
        let params: ExecuteCommandParams = match read(params) {
            Ok(params) => params,
            Err(why) => return self.refuse(&id, ErrorCode::InvalidParams, &why),
        };
        match run::job(&self.world, &params) {
            Ok(job) => {
                let sender = self.sender.clone();
                std::thread::spawn(move || {
                    // Sending fails only if the server has ended.
                    let _ = sender.send(Incoming::Ran(id, Box::new(job.run())));
                });
                Ok(())
            }
            Err(failure) => self.answer(&id, Err(failure.in_protocol())),
        }
    }

    /// Shows what a run found, and answers the request.
    fn ran(&mut self, id: RequestId, outcome: run::Outcome) -> io::Result<()> {
        if let Some(open) = self.world.opened(&outcome.document) {
            open.findings = outcome.findings;
            self.publish(&outcome.document)?;
        }
        let (kind, message) = outcome.message;
        self.notify("window/showMessage", &MessageParams { kind, message })?;
        let result = outcome.result.map(|result| json::text(&result));
        self.answer(&id, result.map_err(Failure::in_protocol))
    }
}

fn internal(method: &str) -> String {
    format!("`{}` failed: this is an error in softwarp", shown(method))
}

/// Text of the client, as it may be shown: on one line, and not at any length.
fn shown(text: &str) -> String {
    text.chars().take(80).flat_map(char::escape_debug).collect()
}
