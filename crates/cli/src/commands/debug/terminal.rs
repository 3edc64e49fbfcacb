//! The debugger in a terminal.

use super::super::files;
use super::super::{CommandError, Printed, output};
use super::Args;
use super::commands::{Commands, Context, Response};
use super::show;
use super::target::{Launches, to_standard_error};
use crate::input::MOST_JSON;
use softwarp::debug::drive::{Frontend, Interrupt, debug};
use softwarp::debug::expression::Scope;
use softwarp::debug::session::{Reason, Resume, Session};
use softwarp::source::Source;
use softwarp::vm::debug::State;
use std::collections::VecDeque;
use std::io::{BufRead, IsTerminal};
use std::sync::Arc;

/// Asked for by Ctrl-C.
static INTERRUPT: Interrupt = Interrupt::new();

/// Commands from a terminal, a file or the command line.
struct Terminal {
    sources: Arc<[Source]>,
    commands: Commands,
    /// Commands that come before those that are asked for.
    waiting: VecDeque<String>,
    /// The launch ends when no command waits.
    batch: bool,
    /// What an empty line repeats.
    last: String,
    /// Why the answers to commands cannot be written any more.
    closed: Option<CommandError>,
    /// Whether a command of a batch failed.
    failed: bool,
}

impl Terminal {
    fn say(&mut self, text: &str) {
        if self.closed.is_none() {
            self.closed = output::stdout(|out| out.write_all(text.as_bytes())).err();
        }
    }

    /// The next command; none at the end.
    fn command(&mut self) -> Option<String> {
        if let Some(next) = self.waiting.pop_front() {
            self.say(&format!("(softwarp) {next}\n"));
            return Some(next);
        }
        if self.batch || self.closed.is_some() {
            return None;
        }
        let terminal = std::io::stdin().is_terminal();
        if terminal {
            self.say("(softwarp) ");
        }
        let mut line = String::new();
        match std::io::stdin().lock().read_line(&mut line) {
            Ok(0) | Err(_) => return None,
            Ok(_) => {}
        }
        let line = line.trim().to_owned();
        if !terminal && !line.is_empty() {
            self.say(&format!("(softwarp) {line}\n"));
        }
        match (line.is_empty(), terminal) {
            (true, true) => Some(self.last.clone()),
            _ => {
                // Only what moves or lists is worth repeating.
                let word = line.split_whitespace().next().unwrap_or_default();
                let repeated =
                    ["s", "n", "c", "l", "x", "r", "u", "d"].iter().any(|one| word.starts_with(one));
                self.last = if repeated && !matches!(word, "run" | "r" | "restart") {
                    line.clone()
                } else {
                    String::new()
                };
                Some(line)
            }
        }
    }

    /// Asks for commands until one lets the launch go on.
    fn ask(&mut self, session: &mut Session, context: &Context<'_>) -> Resume {
        loop {
            let Some(line) = self.command() else { return Resume::Quit };
            let Response { text, resume } = self.commands.execute(session, context, &line);
            self.failed |= text.starts_with("error:");
            self.say(&text);
            if let Some(resume) = resume {
                // Ctrl-C at the prompt is not meant for what runs now.
                INTERRUPT.clear();
                return resume;
            }
        }
    }
}

impl Frontend for Terminal {
    fn stopped(&mut self, session: &mut Session, state: &dyn State, reason: &Reason) -> Resume {
        let sources = self.sources.clone();
        self.commands.stopped();
        let mut text = show::stop(&sources, &session.view(state), reason);
        if let Reason::Fault(fault) = reason {
            text = format!("{}\n{text}", fault.kind);
        }
        text += &self.commands.displayed(session, state);
        self.say(&text);
        let context = Context { sources: &sources, state: Some(state), afterwards: None };
        loop {
            let resume = self.ask(session, &context);
            if matches!(reason, Reason::Fault(_)) && matches!(resume, Resume::Forward(_)) {
                self.say("error: the launch failed here: go back, run it again or quit\n");
                self.failed = true;
                continue;
            }
            return resume;
        }
    }

    fn log(&mut self, text: &str) {
        self.say(&format!("{text}\n"));
    }

    fn ended(&mut self, session: &mut Session, told: &str, scope: &dyn Scope) -> Resume {
        self.say(told);
        let sources = self.sources.clone();
        let context = Context { sources: &sources, state: None, afterwards: Some(scope) };
        self.ask(session, &context)
    }
}

/// Runs a session.
pub fn run(args: &Args) -> Result<Printed, CommandError> {
    let mut waiting: VecDeque<String> = VecDeque::new();
    if let Some(path) = &args.script {
        let text = files::read(path, MOST_JSON)?;
        let text = String::from_utf8_lossy(&text);
        waiting.extend(text.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned));
    }
    waiting.extend(args.commands.iter().cloned());
    let mut session = Session::default();
    let mut launches = Launches::new(&args.run, session.repeats(), to_standard_error())?;
    let mut terminal = Terminal {
        sources: launches
            .sources()
            .iter()
            .map(|one| Source::new(&one.name, one.text.clone().into()))
            .collect(),
        commands: Commands::default(),
        waiting,
        batch: args.batch,
        last: String::new(),
        closed: None,
        failed: false,
    };
    let _ = ctrlc::set_handler(|| INTERRUPT.set());
    debug(&mut launches, &mut session, &mut terminal, &INTERRUPT)?;
    let failed = (args.batch && terminal.failed).then_some(CommandError::Reported(1));
    let failure = terminal.closed.or(failed);
    Ok(Printed { text: String::new(), failure })
}
