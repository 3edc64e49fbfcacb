//! What the sanitizers found, for people and for programs.

use super::fault::{near, place, thread};
use super::{Run, fault};
use crate::render::Event;
use serde_json::{Map, Value as Json, json};
use softwarp::source::Source;
use softwarp::vm::fault::{What, space_name};
use softwarp::vm::sanitize::{ARRAYS, Finding, FindingKind, Site};

/// The finding in words, with buffers by their names.
fn words(run: &Run, finding: &Finding) -> String {
    let mut finding = finding.clone();
    if let Some(touched) = &mut finding.touched
        && let Some(nearest) = &mut touched.nearest
        && nearest.what == What::Allocation
        && let Some(name) = run.buffer_at(nearest.base)
    {
        nearest.what = What::Variable(name.to_owned());
    }
    finding.to_string()
}

/// A finding, for people.
pub fn event(run: &mut Run, finding: &Finding) -> Event {
    let mut event = Event { message: words(run, finding), ..Event::default() };
    let mut show = |site: &Site, role: &str, words: Option<&str>| {
        let place = &site.place;
        event.places.push((place.unit, place.span, words.map(str::to_owned)));
        event.notes.push(format!("{role}{}", thread(place)));
        let origin = run.origin(&finding.kernel, place);
        event.notes.extend(origin.map(|origin| format!("{role}from {origin}")));
    };
    let race = finding.kind.sanitizer() == "race";
    show(&finding.at, if race { "later: " } else { "" }, None);
    if let Some(other) = &finding.other {
        let (role, words) = match finding.kind {
            _ if race => ("earlier: ", "the earlier access"),
            FindingKind::UndefinedRegister { .. } => ("", "declared here"),
            FindingKind::UndefinedShuffle => ("shuffle: ", "the shuffle"),
            _ => ("others: ", "others did this"),
        };
        show(other, role, Some(words));
    }
    if finding.count > 1 {
        event.notes.push(format!("{} times at these places", finding.count));
    }
    event.notes.push(format!("in kernel `{}`", finding.kernel));
    event
}

/// A finding, for programs.
pub fn json(run: &mut Run, sources: &[Source], finding: &Finding) -> Json {
    let mut map = Map::new();
    let mut put = |key: &str, value: Json| map.insert(key.to_owned(), value);
    put("sanitizer", finding.kind.sanitizer().into());
    put("kind", finding.kind.word().into());
    put("message", words(run, finding).into());
    put("kernel", finding.kernel.clone().into());
    put("count", finding.count.into());
    put("at", place(run, sources, &finding.kernel, &finding.at.place).into());
    if let Some(other) = &finding.other {
        put("other", place(run, sources, &finding.kernel, &other.place).into());
    }
    match &finding.kind {
        FindingKind::Race { first, second, across, missing } => {
            put("first", fault::usage(*first).into());
            put("second", fault::usage(*second).into());
            put("across_ctas", (*across).into());
            put("missing", missing.word().into());
        }
        FindingKind::Unwaited { first, second, until } => {
            put("first", fault::usage(*first).into());
            put("second", fault::usage(*second).into());
            put("missing", until.words().into());
        }
        FindingKind::DivergentBarrier { barrier, came, missing, .. } => {
            put("barrier", (*barrier).into());
            put("came", lanes(*came));
            put("missing", lanes(*missing));
        }
        FindingKind::MissedBarrier { barrier, exited } => {
            put("barrier", (*barrier).into());
            put("exited", (*exited).into());
        }
        FindingKind::MissingLanes { named, came } | FindingKind::NotNamed { named, came } => {
            put("named", lanes(*named));
            put("came", lanes(*came));
        }
        FindingKind::ExitedLanes { named, exited } => {
            put("named", lanes(*named));
            put("exited", lanes(*exited));
        }
        FindingKind::PartialWarp { came } => {
            put("came", lanes(*came));
        }
        FindingKind::PartialWarpgroup { first, others } => {
            put("first_warp", (*first).into());
            let others = (0..4).filter(|n| others >> n & 1 == 1).map(|n| first + n);
            put("others", others.collect::<Vec<u32>>().into());
        }
        FindingKind::DivergentBarrierOperand { first, second, .. } => {
            put("operands", json!([first, second]));
        }
        FindingKind::BarrierCounts { barrier, first, second } => {
            put("barrier", (*barrier).into());
            put("counts", json!([first, second]));
        }
        FindingKind::ArrivesTwice { barrier, .. } | FindingKind::ArriveWithoutSync { barrier } => {
            put("barrier", (*barrier).into());
        }
        FindingKind::UndefinedRegister { register, usage, never } => {
            put("register", register.clone().into());
            put("use", usage.words().into());
            put("never_written", (*never).into());
        }
        FindingKind::Leak { bytes } => {
            put("bytes", (*bytes).into());
        }
        FindingKind::OutOfBounds { usage } => {
            put("use", fault::usage(*usage).into());
        }
        FindingKind::Deadlock { barrier, arrived, expected } => {
            put("barrier", json!(barrier));
            put("arrived", (*arrived).into());
            put("expected", (*expected).into());
        }
        _ => {}
    }
    if let Some(touched) = &finding.touched {
        let space = if touched.address < ARRAYS { space_name(touched.space) } else { "array" };
        let memory = json!({
            "space": space.trim_start_matches('.'),
            "address": format!("0x{:x}", touched.address),
            "bytes": touched.bytes,
            "nearest": touched.nearest.as_ref().map(|nearest| near(run, nearest)),
        });
        put("memory", memory);
    }
    Json::Object(map)
}

fn lanes(mask: u32) -> Json {
    format!("0x{mask:08x}").into()
}
