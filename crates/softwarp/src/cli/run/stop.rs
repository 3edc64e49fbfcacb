//! A launch that was stopped: what is told about it, and what is still read back.

use super::super::{Fault, Printed, remark};
use serde_json::{Map, json};
use softwarp::render;
use softwarp::run::data::digits;
use softwarp::run::{Run, fault};
use softwarp::source::Source;
use softwarp::vm::fault::Fault as Stop;

/// What to print. After a limit or a request, what was done so far is printed too; after a fault of the kernel it
/// means nothing, as on a GPU.
pub fn stopped(
    machine: &mut Run,
    sources: &[Source],
    stop: &Stop,
    names: &[String],
    colour: bool,
) -> Result<Printed, Fault> {
    let event = fault::event(machine, stop);
    remark(render::event(sources, &event, colour).trim_end_matches('\n'));
    let mut result = json!({"ok": false, "fault": fault::json(machine, sources, stop)});
    if fault::was_cut_short(stop)
        && let Some(result) = result.as_object_mut()
    {
        let read = |name: &String| Some((name.clone(), digits(&machine.read(name).ok()?).into()));
        let dumps: Map<String, serde_json::Value> = names.iter().filter_map(read).collect();
        result.insert("dumps".to_owned(), dumps.into());
    }
    Ok(Printed { text: format!("{result}\n"), fault: Some(Fault::Told(1)) })
}
