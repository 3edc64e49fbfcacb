//! Which call is answered by what.

use crate::launch::{self, Launches};
use crate::request::{Answer, Failure, shown};
use crate::{blocks, module, numbers, tensors, text};
use serde_json::{Value as Json, json};
use softwarp::isa::{Target, Version, nearest};
use softwarp::num::Format;

/// The engine: it keeps launches between calls.
#[derive(Default)]
pub struct Engine {
    launches: Launches,
}

/// What answers a call.
#[derive(Clone, Copy)]
enum Handler {
    /// It needs nothing but the request.
    Plain(fn(&Json) -> Answer),
    /// It needs the launches, too.
    Launch(fn(&mut Launches, &Json) -> Answer),
}

use Handler::{Launch, Plain};

/// All calls.
const TABLE: &[(&str, Handler)] = &[
    ("version", Plain(version)),
    ("check", Plain(text::check)),
    ("hover", Plain(text::hover)),
    ("complete", Plain(text::complete)),
    ("signature", Plain(text::signature)),
    ("format", Plain(text::format)),
    ("symbols", Plain(text::symbols)),
    ("tokens", Plain(text::tokens)),
    ("definition", Plain(text::definition)),
    ("references", Plain(text::references)),
    ("rename", Plain(text::rename)),
    ("explain", Plain(text::explain)),
    ("layout", Plain(module::layout)),
    ("lower", Plain(module::lowered)),
    ("kernels", Plain(module::kernels)),
    ("run", Plain(launch::run)),
    ("launch.start", Launch(launch::start)),
    ("launch.step", Launch(launch::step)),
    ("launch.back", Launch(launch::back)),
    ("launch.goto", Launch(launch::go_to)),
    ("launch.status", Launch(launch::status)),
    ("launch.breakpoints", Launch(launch::breakpoints)),
    ("launch.focus", Launch(launch::focus)),
    ("launch.warps", Launch(launch::warps)),
    ("launch.registers", Launch(launch::registers)),
    ("launch.memory", Launch(launch::memory)),
    ("launch.buffers", Launch(launch::buffers)),
    ("launch.evaluate", Launch(launch::evaluate)),
    ("launch.stats", Launch(launch::stats)),
    ("launch.end", Launch(launch::end)),
    ("formats", Plain(numbers::formats)),
    ("number.decode", Plain(numbers::decode)),
    ("number.line", Plain(numbers::line)),
    ("number.svg", Plain(numbers::svg)),
    ("number.cvt", Plain(numbers::cvt)),
    ("number.forms", Plain(numbers::forms)),
    ("number.compare", Plain(numbers::compare)),
    ("number.explain", Plain(text::explain)),
    ("number.blocks", Plain(blocks::blocks)),
    ("tensor.show", Plain(tensors::show)),
    ("tensor.walk", Plain(tensors::walk)),
    ("tensor.tmem", Plain(tensors::tmem)),
];

/// How many calls there are.
const COUNT: usize = TABLE.len();

/// The names of all calls.
pub const CALLS: [&str; COUNT] = {
    let mut names = [""; COUNT];
    let mut at = 0;
    while at < COUNT {
        names[at] = TABLE[at].0;
        at += 1;
    }
    names
};

impl Engine {
    /// Answers a request: `{"ok": …}` or `{"error": {"message": …}}`.
    pub fn call(&mut self, request: &[u8]) -> Vec<u8> {
        let answer = match self.answer(request) {
            Ok(result) => json!({ "ok": result }),
            Err(failure) => json!({ "error": failure.json() }),
        };
        answer.to_string().into_bytes()
    }

    fn answer(&mut self, request: &[u8]) -> Answer {
        let request: Json = serde_json::from_slice(request)
            .map_err(|error| Failure::new(format!("the request is not JSON: {error}")))?;
        let name = request.get("call").and_then(Json::as_str);
        let name = name.ok_or_else(|| Failure::new("the request has no `call`"))?;
        match TABLE.iter().find(|(one, _)| *one == name) {
            Some((_, Plain(handler))) => handler(&request),
            Some((_, Launch(handler))) => handler(&mut self.launches, &request),
            None => {
                let meant = nearest(name, CALLS.iter().copied());
                let meant = meant.map_or(String::new(), |one| format!("; did you mean `{one}`?"));
                Err(Failure::new(format!("there is no call `{}`{meant}", shown(name))))
            }
        }
    }
}

fn version(_: &Json) -> Answer {
    Ok(json!({
        "version": env!("CARGO_PKG_VERSION"),
        "calls": CALLS.as_slice(),
        "ptx": Version::all().last().map(|version| version.to_string()),
        "targets": Target::all().map(Target::name).collect::<Vec<_>>(),
        "formats": Format::ALL.iter().map(|format| format.name()).collect::<Vec<_>>(),
        "sanitizers": launch::SANITIZERS.map(|(name, _)| name),
    }))
}
