//! Places in kernels, in words: the line of the program that the PTX was made from, the line of the PTX, the thread.

use super::Driver;
use softwarp::lineinfo::{self, SourceLine};
use softwarp::registers;
use softwarp::vm::device::ModuleId;
use softwarp::vm::fault::{Fault, Place};
use std::fmt::Write as _;

/// The most characters of an instruction that are shown.
const MOST_SHOWN: usize = 120;

/// `sum.cu:6:5, line 46 of the PTX: ld.global.f32 %f9, [%rd5];` and the thread, on a line each.
pub fn lines(driver: &Driver, module: ModuleId, kernel: &str, role: &str, place: &Place) -> String {
    let mut text = String::new();
    if let Some(instruction) = instruction(driver, module, place) {
        let stack = stack(driver, module, place);
        let origin = stack.first().map_or(String::new(), |origin| format!("{origin}, "));
        let _ = write!(text, "\n    {role}at {origin}{instruction}");
        for line in stack.iter().skip(1) {
            let function = line.function.as_deref().unwrap_or_default();
            let _ = write!(text, "\n    {role}inlined `{function}` at {line}");
        }
    }
    let [x, y, z] = place.thread;
    let [i, j, k] = place.cta;
    let _ = write!(text, "\n    {role}by thread ({x},{y},{z}) of block ({i},{j},{k})");
    if place.function_name != kernel {
        let _ = write!(text, ", in function `{}`", place.function_name);
    }
    text
}

/// What the registers of the instruction of a fault held, on a line; empty if nothing is known.
pub fn registers(driver: &Driver, module: ModuleId, fault: &Fault) -> String {
    let held = || {
        let place = fault.place.as_ref()?;
        let module = driver.machine.module(module).ok()?;
        Some(registers::named(module.units.get(place.unit as usize)?, place.span, &fault.registers))
    };
    let words: Vec<String> = held().unwrap_or_default().iter().map(ToString::to_string).collect();
    if words.is_empty() { String::new() } else { format!("\n    with {}", words.join(", ")) }
}

/// The line and the text of an instruction.
fn instruction(driver: &Driver, module: ModuleId, place: &Place) -> Option<String> {
    let module = driver.machine.module(module).ok()?;
    let source: &str = &module.units.get(place.unit as usize)?.source;
    let before = source.as_bytes().get(..place.span.start as usize)?;
    let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
    let words: Vec<&str> = place.span.text(source).split_whitespace().collect();
    let words = words.join(" ");
    let shown: String = words.chars().take(MOST_SHOWN).flat_map(char::escape_debug).collect();
    let more = if words.chars().count() > MOST_SHOWN { "…" } else { "" };
    Some(format!("line {line} of the PTX: {shown}{more}"))
}

/// The places that `.loc` gives, from the kernel's own line down to that of an inlined function.
fn stack(driver: &Driver, module: ModuleId, place: &Place) -> Vec<SourceLine> {
    let Ok(module) = driver.machine.module(module) else { return Vec::new() };
    let Some(unit) = module.units.get(place.unit as usize) else { return Vec::new() };
    lineinfo::stack(&unit.source, &unit.module, place.span).into_iter().rev().collect()
}
