//! A launch that was stopped: what is told about it, and what is still read back.

use super::super::{Fault, Printed, remark};
use super::report::Stats;
use serde_json::{Map, Value as Json};
use softwarp::render;
use softwarp::run::data::digits;
use softwarp::run::{Run, fault};
use softwarp::source::Source;
use softwarp::vm::fault::Fault as Stop;

/// What to print. After a limit or a request, what was done so far is printed too; after a fault of the kernel it
/// means nothing, as on a GPU. What was counted is told in either case.
pub fn stopped(
    machine: &mut Run,
    sources: &[Source],
    stop: &Stop,
    names: &[String],
    stats: Option<Stats>,
    colour: bool,
) -> Result<Printed, Fault> {
    let event = fault::event(machine, stop);
    remark(render::event(sources, &event, colour).trim_end_matches('\n'));
    let mut result = Map::new();
    result.insert("ok".to_owned(), false.into());
    result.insert("fault".to_owned(), fault::json(machine, sources, stop));
    if fault::was_cut_short(stop) {
        let read = |name: &String| Some((name.clone(), digits(&machine.read(name).ok()?).into()));
        let dumps: Map<String, Json> = names.iter().filter_map(read).collect();
        result.insert("dumps".to_owned(), dumps.into());
    }
    if let Some(stats) = stats {
        stats.tell(&mut result);
    }
    let result = Json::Object(result);
    Ok(Printed { text: format!("{result}\n"), fault: Some(Fault::Told(1)) })
}
