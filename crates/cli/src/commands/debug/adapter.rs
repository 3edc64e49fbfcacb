//! The debugger for editors: a server of the Debug Adapter Protocol.
//!
//! A thread of the protocol is a group of lanes that are at the same instruction. While a launch runs, another thread
//! reads requests and interrupts the launch for each, so that breakpoints can be set and the launch can be paused.

use super::super::{CommandError, Printed, run};
use super::commands::{Commands, Context};
use super::protocol::{Writer, read};
use super::target::Launches;
use super::{answers, show};
use clap::Parser;
use serde_json::{Value as Json, json};
use softwarp::debug::drive::{Frontend, Interrupt, Target, debug};
use softwarp::debug::expression::Scope;
use softwarp::debug::session::{Goal, Reason, Resume, Session, Unit, Who};
use softwarp::source::Source;
use softwarp::vm::debug::State;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};

/// Asked for by each request.
static INTERRUPT: Interrupt = Interrupt::new();

/// What an editor's request gives as the launch.
#[derive(Debug, Parser)]
#[command(name = "softwarp debug", no_binary_name = true)]
struct Line {
    #[command(flatten)]
    launch: run::LaunchArgs,
}

/// An editor.
struct Editor {
    out: Arc<Writer>,
    requests: Receiver<Json>,
    sources: Arc<[Source]>,
    commands: Commands,
    stop_on_entry: bool,
    /// Whether a request wants the launch to stop.
    paused: bool,
}

/// Serves an editor on standard input and output.
pub fn run() -> Result<Printed, CommandError> {
    let (send, requests) = channel();
    std::thread::spawn(move || {
        let mut input = std::io::stdin().lock();
        while let Ok(Some(message)) = read(&mut input) {
            if send.send(message).is_err() {
                return;
            }
            INTERRUPT.set();
        }
        // At the end of its input the session ends, which the closed channel says.
        drop(send);
        INTERRUPT.set();
    });
    let out = Arc::new(Writer::new(Box::new(std::io::stdout())));
    serve(&requests, &out).map_or(Ok(Printed::default()), |launch| begin(launch, requests, out))
}

/// A launch that an editor asked for.
struct Asked {
    request: Json,
    launches: Launches,
    session: Session,
    stop_on_entry: bool,
}

/// Answers requests until one asks for a launch; none if the editor leaves.
fn serve(requests: &Receiver<Json>, out: &Arc<Writer>) -> Option<Asked> {
    while let Ok(request) = requests.recv() {
        match request["command"].as_str().unwrap_or_default() {
            "initialize" => out.answer(&request, Ok(capabilities())),
            "launch" => match asked(&request, out) {
                Ok(asked) => return Some(asked),
                Err(why) => {
                    out.answer(&request, Err(why));
                    out.event("terminated", json!({}));
                }
            },
            "disconnect" | "terminate" => {
                out.answer(&request, Ok(json!({})));
                return None;
            }
            "attach" => out.answer(&request, Err("there is nothing to attach to: use launch".to_owned())),
            other => out.answer(&request, Err(format!("`{other}` comes before launch"))),
        }
    }
    None
}

/// The launch of a request: `program`, `args`, `cwd`, `stopOnEntry`.
fn asked(request: &Json, out: &Arc<Writer>) -> Result<Asked, String> {
    let arguments = &request["arguments"];
    let program = arguments["program"].as_str().ok_or("launch needs `program`: a launch file or PTX")?;
    if let Some(folder) = arguments["cwd"].as_str() {
        std::env::set_current_dir(folder).map_err(|error| format!("cwd {folder}: {error}"))?;
    }
    let mut words = vec![program.to_owned()];
    for word in arguments["args"].as_array().into_iter().flatten() {
        words.push(word.as_str().ok_or("`args` is a list of strings")?.to_owned());
    }
    let line = Line::try_parse_from(words).map_err(|error| error.to_string())?;
    let mut session = Session::default();
    let printing = out.clone();
    let print = move |text: &str| printing.event("output", json!({"category": "stdout", "output": text}));
    let told =
        |error: CommandError| error.line().unwrap_or("the launch cannot begin: see the output").to_owned();
    let mut launches = Launches::new(&line.launch, session.repeats(), Box::new(print)).map_err(told)?;
    session.program = launches.restart().map_err(told)?;
    let stop_on_entry = arguments["stopOnEntry"].as_bool().unwrap_or(false);
    Ok(Asked { request: request.clone(), launches, session, stop_on_entry })
}

/// Takes breakpoints, and runs the launch.
fn begin(asked: Asked, requests: Receiver<Json>, out: Arc<Writer>) -> Result<Printed, CommandError> {
    let Asked { request: launch, mut launches, mut session, stop_on_entry } = asked;
    let sources: Arc<[Source]> =
        launches.sources().iter().map(|one| Source::new(&one.name, one.text.clone().into())).collect();
    let commands = Commands::default();
    let mut editor = Editor { out, requests, sources, commands, stop_on_entry, paused: false };
    editor.out.event("initialized", json!({}));
    while let Ok(request) = editor.requests.recv() {
        let name = request["command"].as_str().unwrap_or_default();
        if matches!(name, "disconnect" | "terminate") {
            editor.out.answer(&request, Ok(json!({})));
            return Ok(Printed::default());
        }
        editor.answer(&mut session, None, &request);
        if name == "configurationDone" {
            editor.out.answer(&launch, Ok(json!({})));
            let ended = debug(&mut launches, &mut session, &mut editor, &INTERRUPT);
            editor.out.event("terminated", json!({}));
            editor.out.event("exited", json!({"exitCode": i32::from(ended.is_err())}));
            return ended.map(|()| Printed::default());
        }
    }
    Ok(Printed::default())
}

fn capabilities() -> Json {
    json!({
        "supportsConfigurationDoneRequest": true,
        "supportsFunctionBreakpoints": true,
        "supportsConditionalBreakpoints": true,
        "supportsHitConditionalBreakpoints": true,
        "supportsLogPoints": true,
        "supportsEvaluateForHovers": true,
        "supportsStepBack": true,
        "supportsRestartRequest": true,
        "supportsTerminateRequest": true,
        "supportsSteppingGranularity": true,
        "supportsReadMemoryRequest": true,
        "supportsDisassembleRequest": true,
        "supportsExceptionInfoRequest": true,
    })
}

impl Editor {
    /// Answers a request. Gives what the launch is to do, if the request lets it run.
    fn answer(&mut self, session: &mut Session, state: Option<&dyn State>, request: &Json) -> Option<Resume> {
        let arguments = &request["arguments"];
        let name = request["command"].as_str().unwrap_or_default();
        if let Some(state) = state
            && let Some(id) = arguments["threadId"].as_u64()
            && name != "stackTrace"
        {
            answers::focus_on(session, state, id);
        }
        let unit = match arguments["granularity"].as_str() {
            Some("instruction") => Unit::Instruction,
            _ => Unit::Line,
        };
        let step = |over| Goal::Step { unit, over, who: Who::Thread, count: 1 };
        let resume = match name {
            "continue" => Some(Resume::Forward(Goal::Continue)),
            "next" => Some(Resume::Forward(step(true))),
            "stepIn" => Some(Resume::Forward(step(false))),
            "stepOut" => Some(Resume::Forward(Goal::Finish)),
            "stepBack" => Some(Resume::Backward(step(true))),
            "reverseContinue" => Some(Resume::Backward(Goal::Continue)),
            "restart" => Some(Resume::Restart),
            "disconnect" | "terminate" => Some(Resume::Quit),
            _ => None,
        };
        if resume.is_some() {
            let body = if name == "continue" { json!({"allThreadsContinued": true}) } else { json!({}) };
            self.out.answer(request, Ok(body));
            return resume;
        }
        if name == "evaluate" && arguments["context"] == "repl" {
            return self.console(session, state, request);
        }
        let sources = self.sources.clone();
        let answer = answers::answer(&sources, session, state, request);
        self.paused |= name == "pause";
        self.out.answer(request, answer);
        None
    }

    /// A command of the console, or an expression.
    fn console(
        &mut self,
        session: &mut Session,
        state: Option<&dyn State>,
        request: &Json,
    ) -> Option<Resume> {
        let text = request["arguments"]["expression"].as_str().unwrap_or_default();
        let value = state.map(|state| session.view(state).evaluate(text));
        if let Some(Ok(value)) = value {
            self.out.answer(request, Ok(json!({"result": value.to_string(), "variablesReference": 0})));
            return None;
        }
        let sources = self.sources.clone();
        let context = Context { sources: &sources, state, afterwards: None };
        let response = self.commands.execute(session, &context, text);
        let result = match response.text.strip_prefix("error: ") {
            Some(why) => Err(why.trim_end().to_owned()),
            None => Ok(json!({"result": response.text.trim_end(), "variablesReference": 0})),
        };
        self.out.answer(request, result);
        response.resume
    }

    /// Answers requests until one lets the launch run.
    fn ask(&mut self, session: &mut Session, state: &dyn State) -> Resume {
        loop {
            let Ok(request) = self.requests.recv() else { return Resume::Quit };
            if let Some(resume) = self.answer(session, Some(state), &request) {
                return resume;
            }
        }
    }
}

impl Frontend for Editor {
    fn stopped(&mut self, session: &mut Session, state: &dyn State, reason: &Reason) -> Resume {
        self.commands.stopped();
        let name = match reason {
            Reason::Interrupted => {
                self.paused = false;
                while let Ok(request) = self.requests.try_recv() {
                    if let Some(resume) = self.answer(session, Some(state), &request) {
                        return resume;
                    }
                }
                if !self.paused {
                    return Resume::Unchanged;
                }
                "pause"
            }
            Reason::Start if !self.stop_on_entry && session.breakpoint_here(state).is_none() => {
                return Resume::Forward(Goal::Continue);
            }
            Reason::Start if self.stop_on_entry => "entry",
            Reason::Start | Reason::Breakpoint(_) => "breakpoint",
            Reason::Watch(..) => "data breakpoint",
            Reason::Step | Reason::Exited | Reason::Beginning => "step",
            Reason::Fault(_) => "exception",
        };
        let mut body = json!({
            "reason": name,
            "threadId": answers::thread_id(session.focus),
            "allThreadsStopped": true,
        });
        if let Some(text) = show::reason(reason) {
            body["description"] = text.into();
        }
        if let Reason::Fault(fault) = reason {
            body["text"] = fault.kind.to_string().into();
        }
        if let Reason::Breakpoint(number) = reason {
            body["hitBreakpointIds"] = json!([number]);
        }
        self.out.event("stopped", body);
        match self.ask(session, state) {
            // Nothing can follow a fault.
            Resume::Forward(_) | Resume::Unchanged if matches!(reason, Reason::Fault(_)) => Resume::Quit,
            resume => resume,
        }
    }

    fn log(&mut self, text: &str) {
        self.out.event("output", json!({"category": "console", "output": format!("{text}\n")}));
    }

    fn ended(&mut self, _session: &mut Session, told: &str, _scope: &dyn Scope) -> Resume {
        self.out.event("output", json!({"category": "console", "output": told}));
        Resume::Quit
    }
}
