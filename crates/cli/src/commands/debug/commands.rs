//! The commands of the debugger, as text. The terminal and the console of an editor give them.

use super::{inspect, show};
use softwarp::debug::expression::{self, Evaluated, Scope};
use softwarp::debug::session::{Goal, Resume, Session, Unit, Who};
use softwarp::source::Source;
use softwarp::vm::debug::{State, Thread};

/// What a command comes to.
#[derive(Debug, Default)]
pub struct Response {
    /// What it prints.
    pub text: String,
    /// What it lets the launch do.
    pub resume: Option<Resume>,
}

impl From<String> for Response {
    fn from(text: String) -> Response {
        Response { text, resume: None }
    }
}

/// What a command works on.
pub struct Context<'a> {
    /// The PTX files.
    pub sources: &'a [Source],
    /// The launch, if it is stopped.
    pub state: Option<&'a dyn State>,
    /// What names mean if no launch runs.
    pub afterwards: Option<&'a dyn Scope>,
}

/// A command: its names, its arguments and what it does.
struct Command {
    names: &'static [&'static str],
    arguments: &'static str,
    help: &'static str,
}

#[rustfmt::skip]
const COMMANDS: &[Command] = &[
    Command { names: &["break", "b"], arguments: "PLACE [if CONDITION]", help: "Stop at a line (12, kernel.cu:12), function or label. Without a place, at the present line." },
    Command { names: &["tbreak", "tb"], arguments: "PLACE [if CONDITION]", help: "The same, once." },
    Command { names: &["watch"], arguments: "EXPRESSION", help: "Stop when the value changes, for the present thread." },
    Command { names: &["delete", "d"], arguments: "[NUMBER]", help: "Delete a breakpoint or watch; all without a number." },
    Command { names: &["disable", "enable"], arguments: "NUMBER", help: "Pass over a breakpoint, or stop at it again." },
    Command { names: &["condition"], arguments: "NUMBER [CONDITION]", help: "Change or remove the condition of a breakpoint." },
    Command { names: &["ignore"], arguments: "NUMBER COUNT", help: "Pass over a breakpoint COUNT times." },
    Command { names: &["continue", "c"], arguments: "", help: "Run to the next stop." },
    Command { names: &["step", "s"], arguments: "[COUNT] [warp]", help: "Run to another source line, into calls; by instruction where no line is known. With warp, steps of any lanes of the warp count." },
    Command { names: &["next", "n"], arguments: "[COUNT] [warp]", help: "The same, over calls." },
    Command { names: &["stepi", "si"], arguments: "[COUNT] [warp]", help: "Execute one instruction." },
    Command { names: &["nexti", "ni"], arguments: "[COUNT] [warp]", help: "The same, over calls." },
    Command { names: &["finish"], arguments: "", help: "Run to the end of the present function." },
    Command { names: &["until", "advance"], arguments: "PLACE", help: "Run to a place." },
    Command { names: &["goto"], arguments: "NUMBER", help: "Run, forward or back, to the instruction with that number, which `info moment` tells." },
    Command { names: &["reverse-step", "rs"], arguments: "[COUNT] [warp]", help: "Go back to the start of a source line." },
    Command { names: &["reverse-next", "rn"], arguments: "[COUNT] [warp]", help: "The same, over calls." },
    Command { names: &["reverse-stepi", "rsi"], arguments: "[COUNT] [warp]", help: "Go back one instruction." },
    Command { names: &["reverse-nexti", "rni"], arguments: "[COUNT] [warp]", help: "The same, over calls." },
    Command { names: &["reverse-continue", "rc"], arguments: "", help: "Go back to the last breakpoint." },
    Command { names: &["reverse-finish"], arguments: "", help: "Go back to the call of the present function." },
    Command { names: &["run", "restart", "r"], arguments: "", help: "Begin anew." },
    Command { names: &["print", "p"], arguments: "[/x|/d|/u|/f] EXPRESSION", help: "Print a value: %r1, f32(%r1), tile[3], f32[%rd1 + 4], shared.u32[16], %tid.x + 1." },
    Command { names: &["lanes"], arguments: "EXPRESSION", help: "Print a value for each lane of the warp." },
    Command { names: &["display"], arguments: "EXPRESSION", help: "Print a value at each stop." },
    Command { names: &["undisplay"], arguments: "[NUMBER]", help: "Do so no more." },
    Command { names: &["x"], arguments: "[/COUNT] [SPACE.]TYPE ADDRESS", help: "Print memory: x/8 f32 %rd1, x/4 shared.u32 0." },
    Command { names: &["info", "i"], arguments: "WHAT", help: "registers, variables, buffers, warps, threads, barriers, breakpoints, display, line, moment, launch, functions." },
    Command { names: &["backtrace", "bt", "where"], arguments: "", help: "Print the calls of the thread." },
    Command { names: &["frame", "f"], arguments: "[NUMBER]", help: "Look at a call." },
    Command { names: &["up", "down"], arguments: "", help: "Look at the caller, or back." },
    Command { names: &["list", "l"], arguments: "[LINE]", help: "Print the PTX around the present line." },
    Command { names: &["thread"], arguments: "[X[,Y[,Z]]]", help: "Look at another thread of the CTA." },
    Command { names: &["warp"], arguments: "[NUMBER]", help: "Look at another warp." },
    Command { names: &["lane"], arguments: "[NUMBER]", help: "Look at another lane." },
    Command { names: &["help", "h"], arguments: "[COMMAND]", help: "Explain the commands." },
    Command { names: &["quit", "q", "exit"], arguments: "", help: "End." },
];

/// The state that commands keep.
#[derive(Debug, Default)]
pub struct Commands {
    displays: Vec<(u32, String)>,
    next_display: u32,
    /// The line that `list` goes on with.
    listed: Option<u32>,
}

fn error(text: impl std::fmt::Display) -> Response {
    Response::from(format!("error: {text}\n"))
}

fn forward(goal: Goal) -> Response {
    Response { text: String::new(), resume: Some(Resume::Forward(goal)) }
}

fn backward(goal: Goal) -> Response {
    Response { text: String::new(), resume: Some(Resume::Backward(goal)) }
}

impl Commands {
    /// What is printed at each stop.
    pub fn displayed(&self, session: &Session, state: &dyn State) -> String {
        let view = session.view(state);
        let line = |(number, expression): &(u32, String)| {
            let value =
                view.evaluate(expression).map_or_else(|why| format!("({why})"), |one| one.to_string());
            format!("{number}: {expression} = {value}\n")
        };
        self.displays.iter().map(line).collect()
    }

    /// A new stop: `list` begins there.
    pub fn stopped(&mut self) {
        self.listed = None;
    }

    /// Executes a command.
    pub fn execute(&mut self, session: &mut Session, context: &Context<'_>, line: &str) -> Response {
        let line = line.trim();
        let end = line.find(|one: char| one.is_whitespace() || one == '/').unwrap_or(line.len());
        let (word, rest) = (&line[..end], line[end..].trim());
        if word.is_empty() || word.starts_with('#') {
            return Response::default();
        }
        let named = |command: &&Command| command.names.contains(&word);
        let begins = |command: &&Command| command.names.iter().any(|name| name.starts_with(word));
        let name = match COMMANDS.iter().find(named) {
            Some(_) => word,
            None => match COMMANDS.iter().find(begins) {
                Some(command) => {
                    command.names.iter().copied().find(|name| name.starts_with(word)).unwrap_or(word)
                }
                None => return error(format!("there is no command `{}`; try help", word.escape_debug())),
            },
        };
        match name {
            "break" | "b" => self.set_breakpoint(session, context, rest, false),
            "tbreak" | "tb" => self.set_breakpoint(session, context, rest, true),
            "watch" => watch(session, context, rest),
            "delete" | "d" => delete(session, rest),
            "disable" | "enable" => with_breakpoint(session, rest, |one, _| one.enabled = name == "enable"),
            "condition" => with_breakpoint(session, rest, |one, rest| {
                one.condition = (!rest.is_empty()).then(|| rest.to_owned());
            }),
            "ignore" => with_breakpoint(session, rest, |one, rest| one.ignore = rest.parse().unwrap_or(0)),
            "run" | "restart" | "r" => Response { text: String::new(), resume: Some(Resume::Restart) },
            "quit" | "q" | "exit" => Response { text: String::new(), resume: Some(Resume::Quit) },
            "help" | "h" => help(rest).into(),
            "undisplay" => {
                let number = rest.parse::<u32>().ok();
                self.displays.retain(|(one, _)| number.is_some_and(|number| number != *one));
                Response::default()
            }
            "print" | "p" => print(session, context, rest),
            "info" | "i" => self.info(session, context, rest),
            _ => self.moves(session, context, name, rest),
        }
    }

    /// Commands that run or go back, and those that need a thread.
    fn moves(&mut self, session: &mut Session, context: &Context<'_>, name: &str, rest: &str) -> Response {
        match name {
            "reverse-continue" | "rc" => return backward(Goal::Continue),
            "reverse-step" | "rs" => return steps(Unit::Line, false, rest, backward),
            "reverse-next" | "rn" => return steps(Unit::Line, true, rest, backward),
            "reverse-stepi" | "rsi" => return steps(Unit::Instruction, false, rest, backward),
            "reverse-nexti" | "rni" => return steps(Unit::Instruction, true, rest, backward),
            "goto" => {
                return match rest.parse::<u64>() {
                    Ok(moment) if moment > session.moment && context.state.is_some() => {
                        forward(Goal::Moment(moment))
                    }
                    Ok(moment) if moment > 0 => backward(Goal::Moment(moment)),
                    _ => error("goto takes the number of an instruction, from 1"),
                };
            }
            _ => {}
        }
        let Some(state) = context.state else {
            return error("no launch runs: try run, reverse-continue, print or quit");
        };
        match name {
            "continue" | "c" => forward(Goal::Continue),
            "step" | "s" => steps(Unit::Line, false, rest, forward),
            "next" | "n" => steps(Unit::Line, true, rest, forward),
            "stepi" | "si" => steps(Unit::Instruction, false, rest, forward),
            "nexti" | "ni" => steps(Unit::Instruction, true, rest, forward),
            "finish" => match session.view(state).calls().len() > session.focus.call + 1 {
                true => forward(Goal::Finish),
                false => error("the thread is in no call"),
            },
            "reverse-finish" => match session.view(state).calls().len() > 1 {
                true => backward(Goal::Finish),
                false => error("the thread is in no call"),
            },
            "until" | "advance" => {
                let set = self.set_breakpoint(session, context, rest, true);
                if set.text.starts_with("error") { set } else { forward(Goal::Continue) }
            }
            "lanes" => inspect::lanes(session, state, rest).into(),
            "display" => {
                self.next_display += 1;
                self.displays.push((self.next_display, rest.to_owned()));
                let value = session.view(state).evaluate(rest);
                let value = value.map_or_else(|why| format!("({why})"), |one| one.to_string());
                Response::from(format!("{}: {rest} = {value}\n", self.next_display))
            }
            "x" => inspect::memory(session, state, rest).into(),
            "backtrace" | "bt" | "where" => inspect::backtrace(context.sources, session, state).into(),
            "frame" | "f" => frame(session, context, state, rest.parse().unwrap_or(session.focus.call)),
            "up" => frame(session, context, state, session.focus.call + 1),
            "down" => frame(session, context, state, session.focus.call.saturating_sub(1)),
            "list" | "l" => self.list(session, context, state, rest).into(),
            "thread" | "warp" | "lane" => focus(session, context, state, name, rest),
            _ => error(format!("there is no command `{name}`")),
        }
    }

    fn set_breakpoint(
        &mut self,
        session: &mut Session,
        context: &Context<'_>,
        rest: &str,
        once: bool,
    ) -> Response {
        let (place, condition) = match rest.strip_prefix("if ") {
            Some(condition) => ("", Some(condition)),
            None => match rest.split_once(" if ") {
                Some((place, condition)) => (place.trim(), Some(condition.trim())),
                None => (rest, None),
            },
        };
        let here = context.state.and_then(|state| {
            let view = session.view(state);
            view.call().and_then(|call| view.instruction(&call)).cloned()
        });
        let keys = match (&here, place) {
            (Some(here), "") => Ok(vec![here.key]),
            (None, "") => return error("break takes a place: a line, a function or a label"),
            _ => session.code().find(place, here.as_ref()),
        };
        let keys = match keys {
            Ok(keys) => keys,
            Err(why) => return error(why),
        };
        let shown: Vec<String> = keys
            .iter()
            .filter_map(|key| session.code().get(*key))
            .map(|one| show::instruction(context.sources, one))
            .collect();
        let breakpoint = session.add_breakpoint(if place.is_empty() { "here" } else { place }, keys);
        breakpoint.condition = condition.map(str::to_owned);
        breakpoint.once = once;
        let number = breakpoint.number;
        Response::from(format!("breakpoint {number} at {}\n", shown.join("\n  and at ")))
    }

    fn info(&mut self, session: &mut Session, context: &Context<'_>, rest: &str) -> Response {
        let (what, rest) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        let is = |name: &str| !what.is_empty() && name.starts_with(what);
        if is("breakpoints") || what == "b" {
            return inspect::breakpoints(context.sources, session).into();
        }
        if is("display") {
            let lines = self.displays.iter().map(|(number, one)| format!("{number}: {one}\n"));
            return lines.collect::<String>().into();
        }
        if is("functions") {
            return inspect::functions(session).into();
        }
        if is("buffers") {
            return inspect::buffers(session).into();
        }
        if is("moment") {
            return format!("instruction {} of warps since the start\n", session.moment).into();
        }
        let Some(state) = context.state else { return error("no launch runs") };
        let text = match () {
            () if is("registers") || what == "reg" => inspect::registers(session, state, rest),
            () if is("variables") || is("locals") => inspect::variables(session, state),
            () if is("warps") => inspect::warps(context.sources, session, state),
            () if is("threads") => inspect::threads(context.sources, session, state),
            () if is("barriers") => inspect::barriers(state),
            () if is("line") || is("source") => {
                show::stop(context.sources, &session.view(state), &softwarp::debug::session::Reason::Step)
            }
            () if is("launch") => inspect::launch(state),
            () => {
                return error(
                    "info takes one of: registers, variables, buffers, warps, threads, barriers, breakpoints, display, line, moment, launch, functions",
                );
            }
        };
        text.into()
    }

    fn list(&mut self, session: &Session, context: &Context<'_>, state: &dyn State, rest: &str) -> String {
        let view = session.view(state);
        let here = view.call().and_then(|call| view.instruction(&call));
        let Some(here) = here else { return "error: the thread has exited\n".to_owned() };
        let first = match rest.parse::<u32>() {
            Ok(line) => line.saturating_sub(5),
            Err(_) => self.listed.unwrap_or(here.line.saturating_sub(5)),
        };
        let first = first.max(1);
        self.listed = Some(first + 10);
        inspect::list(context.sources, session, here, first..first + 10)
    }
}

/// A command that steps.
fn steps(unit: Unit, over: bool, rest: &str, goes: fn(Goal) -> Response) -> Response {
    let (mut count, mut who) = (1, Who::Thread);
    for word in rest.split_whitespace() {
        match (word, word.parse::<u64>()) {
            ("warp", _) => who = Who::Warp,
            ("thread", _) => who = Who::Thread,
            (_, Ok(number)) if number > 0 => count = number,
            _ => return error(format!("`{}` is neither a count nor warp", word.escape_debug())),
        }
    }
    goes(Goal::Step { unit, over, who, count })
}

fn watch(session: &mut Session, context: &Context<'_>, rest: &str) -> Response {
    let Some(state) = context.state else { return error("no launch runs") };
    match session.view(state).evaluate(rest) {
        Ok(value) => {
            let number = session.add_watch(rest, Some(value.to_string()));
            Response::from(format!("watch {number}: {rest} = {value}\n"))
        }
        Err(why) => error(why),
    }
}

fn delete(session: &mut Session, rest: &str) -> Response {
    if rest.is_empty() {
        session.delete_if(|_| true);
        session.watches.clear();
        return Response::default();
    }
    match rest.parse::<u32>().is_ok_and(|number| session.delete(number)) {
        true => Response::default(),
        false => error(format!("there is no breakpoint `{}`", rest.escape_debug())),
    }
}

fn with_breakpoint(
    session: &mut Session,
    rest: &str,
    change: impl FnOnce(&mut softwarp::debug::session::Breakpoint, &str),
) -> Response {
    let (number, rest) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let number: Option<u32> = number.parse().ok();
    match session.breakpoints.iter_mut().find(|one| Some(one.number) == number) {
        Some(breakpoint) => {
            change(breakpoint, rest.trim());
            Response::default()
        }
        None => error("the command takes the number of a breakpoint"),
    }
}

fn print(session: &Session, context: &Context<'_>, rest: &str) -> Response {
    let (form, text) = match rest.strip_prefix('/') {
        Some(rest) => rest.split_once(char::is_whitespace).unwrap_or((rest, "")),
        None => ("", rest),
    };
    let value = match (context.state, context.afterwards) {
        (Some(state), _) => session.view(state).evaluate(text),
        (None, Some(scope)) => expression::evaluate(text, scope),
        (None, None) => return error("no launch runs"),
    };
    match value.map_err(|why| why.to_string()).and_then(|value| formatted(form, &value)) {
        Ok(value) => Response::from(format!("{} = {value}\n", text.trim())),
        Err(why) => error(why),
    }
}

/// A value in the form that was asked for.
fn formatted(form: &str, value: &Evaluated) -> Result<String, String> {
    use softwarp::debug::expression::Number;
    use softwarp::isa::Type;
    let typed = |types: [Type; 4]| match value.value() {
        Some(one) => {
            let index = match softwarp::debug::value::bits_of(one.ty) {
                ..=8 => 0,
                9..=16 => 1,
                17..=32 => 2,
                _ => 3,
            };
            Ok(one.as_type(types[index]).number())
        }
        None => Ok(value.to_string()),
    };
    match form {
        "" => Ok(value.to_string()),
        "x" => match (value.value(), value) {
            (Some(one), _) => Ok(one.hexadecimal()),
            (None, Evaluated::Number(Number::Int(number))) => Ok(format!("{number:#x}")),
            (None, Evaluated::Array(values, _)) => {
                Ok(values.iter().map(|one| one.hexadecimal()).collect::<Vec<_>>().join(" "))
            }
            _ => Ok(value.to_string()),
        },
        "d" => typed([Type::S8, Type::S16, Type::S32, Type::S64]),
        "u" => typed([Type::U8, Type::U16, Type::U32, Type::U64]),
        "f" => typed([Type::E4m3, Type::F16, Type::F32, Type::F64]),
        _ => Err(format!("/{}: the forms are /x, /d, /u and /f", form.escape_debug())),
    }
}

fn frame(session: &mut Session, context: &Context<'_>, state: &dyn State, call: usize) -> Response {
    let calls = session.view(state).calls().len();
    if call >= calls {
        return error(format!("the thread is in {calls} calls, counted from 0"));
    }
    session.focus.call = call;
    inspect::backtrace_line(context.sources, session, state, call).into()
}

/// Looks at another thread.
fn focus(
    session: &mut Session,
    context: &Context<'_>,
    state: &dyn State,
    name: &str,
    rest: &str,
) -> Response {
    let mut wanted = session.focus;
    if !rest.is_empty() {
        let numbers: Option<Vec<u32>> = rest.split(',').map(|part| part.trim().parse().ok()).collect();
        let Some(numbers) = numbers.filter(|numbers| numbers.len() <= 3) else {
            return error(format!("{name} takes numbers"));
        };
        let at = |index: usize| numbers.get(index).copied().unwrap_or(0);
        let [width, height, _] = state.shape().block;
        match name {
            "lane" => wanted.lane = at(0),
            "warp" => {
                wanted.warp = at(0);
                let lanes = state.groups().iter().find(|group| group.warp == at(0)).map(|group| group.lanes);
                wanted.lane = lanes.map_or(0, u32::trailing_zeros);
            }
            _ => {
                let rows = at(2).saturating_mul(height).saturating_add(at(1));
                let index = rows.saturating_mul(width).saturating_add(at(0));
                (wanted.warp, wanted.lane) = (index / 32, index % 32);
            }
        }
        wanted.call = 0;
    }
    if state.calls(Thread { warp: wanted.warp, lane: wanted.lane }).is_empty() {
        return error("there is no such thread in the CTA, or it has exited");
    }
    session.focus = wanted;
    let mut text = format!("{}\n", show::focus(state, wanted));
    text += &inspect::backtrace_line(context.sources, session, state, wanted.call);
    text.into()
}

fn help(rest: &str) -> String {
    let row = |command: &Command| {
        vec![format!("{} {}", command.names.join(", "), command.arguments), command.help.to_owned()]
    };
    match COMMANDS.iter().find(|command| command.names.contains(&rest)) {
        Some(command) => format!("{} {}\n  {}\n", command.names.join(", "), command.arguments, command.help),
        None => crate::columns::columns(&COMMANDS.iter().map(row).collect::<Vec<_>>()),
    }
}
