//! What the sanitizers found, for people and for programs.

use super::fault::{near, place, thread};
use super::{Run, fault, origin};
use crate::render::Event;
use serde_json::{Map, Value as Json, json};
use softwarp::diagnostic::Location;
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
pub fn event(run: &mut Run, sources: &[Source], finding: &Finding) -> Event {
    let mut event = Event { message: words(run, finding), ..Event::default() };
    let mut show = |site: &Site, role: &str, words: Option<&str>| {
        let place = &site.place;
        event.places.push((Location { unit: place.unit, span: place.span }, words.map(str::to_owned)));
        event.notes.push(format!("{role}{}", thread(place)));
        event.notes.extend(origin::notes(run, sources, role, place));
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
    let mut row = Map::new();
    let mut put = |key: &str, value: Json| row.insert(key.to_owned(), value);
    put("sanitizer", finding.kind.sanitizer().into());
    put("kind", finding.kind.word().into());
    put("message", words(run, finding).into());
    put("kernel", finding.kernel.clone().into());
    put("count", finding.count.into());
    put("at", place(run, sources, &finding.at.place).into());
    if let Some(other) = &finding.other {
        put("other", place(run, sources, &other.place).into());
    }
    if let Json::Object(fields) = fields(&finding.kind) {
        row.extend(fields);
    }
    if let Some(touched) = &finding.touched {
        let space = if touched.address < ARRAYS { space_name(touched.space) } else { "array" };
        let memory = json!({
            "space": space.trim_start_matches('.'),
            "address": format!("0x{:x}", touched.address),
            "bytes": touched.bytes,
            "nearest": touched.nearest.as_ref().map(|nearest| near(run, nearest)),
        });
        row.insert("memory".to_owned(), memory);
    }
    Json::Object(row)
}

/// What findings of one kind have and others lack.
fn fields(kind: &FindingKind) -> Json {
    match kind {
        FindingKind::Race { first, second, across, missing } => json!({
            "first": fault::usage(*first), "second": fault::usage(*second),
            "across_ctas": across, "missing": missing.word(),
        }),
        FindingKind::Unwaited { first, second, until } => json!({
            "first": fault::usage(*first), "second": fault::usage(*second), "missing": until.words(),
        }),
        FindingKind::DivergentBarrier { barrier, came, missing, .. } => {
            json!({"barrier": barrier, "came": lanes(*came), "missing": lanes(*missing)})
        }
        FindingKind::MissedBarrier { barrier, exited } => json!({"barrier": barrier, "exited": exited}),
        FindingKind::MissingLanes { named, came } | FindingKind::NotNamed { named, came } => {
            json!({"named": lanes(*named), "came": lanes(*came)})
        }
        FindingKind::ExitedLanes { named, exited } => {
            json!({"named": lanes(*named), "exited": lanes(*exited)})
        }
        FindingKind::PartialWarp { came } => json!({"came": lanes(*came)}),
        FindingKind::PartialWarpgroup { first, others } => {
            let others = (0..4).filter(|n| others >> n & 1 == 1).map(|n| first + n);
            json!({"first_warp": first, "others": others.collect::<Vec<u32>>()})
        }
        FindingKind::DivergentBarrierOperand { first, second, .. } => json!({"operands": [first, second]}),
        FindingKind::BarrierCounts { barrier, first, second } => {
            json!({"barrier": barrier, "counts": [first, second]})
        }
        FindingKind::ArrivesTwice { barrier, .. } | FindingKind::ArriveWithoutSync { barrier } => {
            json!({"barrier": barrier})
        }
        FindingKind::UndefinedRegister { register, usage, never } => {
            json!({"register": register, "use": usage.words(), "never_written": never})
        }
        FindingKind::Leak { bytes } => json!({"bytes": bytes}),
        FindingKind::UninitialisedTensor { lane, column } => json!({"lane": lane, "column": column}),
        FindingKind::TensorLeak { columns } => json!({"columns": columns}),
        FindingKind::OutOfBounds { usage } => json!({"use": fault::usage(*usage)}),
        FindingKind::Deadlock { barrier, arrived, expected } => {
            json!({"barrier": barrier, "arrived": arrived, "expected": expected})
        }
        FindingKind::JitMismatch(mismatch) => {
            let [interpreted, compiled] = mismatch.what.values();
            json!({
                "grid": mismatch.grid, "block": mismatch.block, "cluster": mismatch.cluster,
                "dynamic_smem": mismatch.dynamic_shared, "what": mismatch.what.word(),
                "interpreted": interpreted, "compiled": compiled, "written": mismatch.placed,
            })
        }
        _ => Json::Null,
    }
}

fn lanes(mask: u32) -> Json {
    format!("0x{mask:08x}").into()
}
