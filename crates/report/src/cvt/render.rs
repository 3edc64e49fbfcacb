//! A form, and what it did, as text and as JSON.
//!
//! The JSON object, whose keys stay as they are:
//!
//! - `form`, `syntax`, `about`: the canonical spelling, the syntax with operands, what the modifiers do;
//! - `operands`: for each, `name`, `type` and the accepted `registers`; with values also `bits`, `values`
//!   (lane 0 first; absent for plain bits) and `exact`: whether that is what was written;
//! - `result`, with values: `bits`, `extended` (what a 32-bit register holds, if that differs), `elements`
//!   (lane 0 first), each with `lane`, `format`, `from`, `source` and `value` (numbers, or the strings
//!   `inf`, `-inf`, `nan`), `source_bits`, `bits`, `outcome` ([`crate::explain::Outcome::name`]),
//!   `error` (a number or null) and `words`;
//! - `availability`: `words`, `alternatives` (`targets`, `since`), and if asked `target`, `ptx`, `legal`
//!   and `since`.

use super::availability::Verdict;
use super::operands::{Bound, Evaluation, registers};
use crate::columns::columns;
use crate::literal::{display, display_f64};
use crate::numbers::json_value;
use serde_json::{Map, Value as Json, json};
use softwarp::isa::CvtForm;
use softwarp::isa::cvt::OperandName;
use softwarp::num::Packed;

/// A pattern with all the digits of its width.
fn hex(bits: u64, width: u32) -> String {
    format!("0x{bits:0digits$x}", digits = width.div_ceil(4) as usize)
}

/// The form with the names of its operands.
pub fn syntax(form: CvtForm) -> String {
    let operands: Vec<String> = form.operands().iter().map(ToString::to_string).collect();
    format!("{form} {}", operands.join(", "))
}

/// What the modifiers do.
pub fn about(form: CvtForm) -> Option<String> {
    let words: Vec<&str> = form.modifiers().iter().map(|modifier| modifier.about()).collect();
    (!words.is_empty()).then(|| words.join("; "))
}

/// The operands in the order of their values, the destination last.
fn operand_names(form: CvtForm) -> impl Iterator<Item = OperandName> {
    let names = super::operands::sources(form);
    names.into_iter().chain([OperandName::D])
}

/// The lanes of a register, highest first, as values.
fn lanes(packed: Packed, bits: u64) -> impl Iterator<Item = u64> {
    (0..u32::from(packed.lanes)).rev().map(move |lane| packed.get(bits, lane))
}

fn values_in_words(bound: &Bound) -> String {
    let Some(packed) = bound.layout else { return String::new() };
    let value = |(i, code): (usize, u64)| match bound.rounded_from.get(i) {
        Some(Some(written)) => {
            format!("{} (the nearest to {written})", display_f64(packed.element.decode(code)))
        }
        _ => display(packed.element, code),
    };
    lanes(packed, bound.bits).enumerate().map(value).collect::<Vec<_>>().join(", ")
}

/// The form and what it did, as text.
pub fn text(form: CvtForm, verdict: &Verdict, evaluation: Option<&Evaluation>) -> String {
    let mut text = format!("{}\n", syntax(form));
    if let Some(about) = about(form) {
        text.push_str(&format!("  {about}\n"));
    }
    let before = if verdict.legal.is_some() { "" } else { "exists on " };
    text.push_str(&format!("  {before}{}\n\n", verdict.words));

    let cell = |text: &str| text.to_owned();
    let header: &[&str] = match evaluation {
        Some(_) => &["operand", "type", "bits", "value", "registers"],
        None => &["operand", "type", "registers"],
    };
    let mut rows = vec![header.iter().map(|name| cell(name)).collect::<Vec<_>>()];
    for name in operand_names(form) {
        let ty = form.operand_type(name);
        let mut row = vec![name.to_string(), ty.map(|ty| ty.to_string()).unwrap_or_default()];
        let width = ty.map_or(64, |ty| ty.bits());
        if let Some(evaluation) = evaluation {
            match evaluation.operands.iter().find(|bound| bound.name == name) {
                Some(bound) => row.extend([hex(bound.bits, width), values_in_words(bound)]),
                None => row.extend([hex(evaluation.result, evaluation.width), String::new()]),
            }
        }
        let registers: Vec<String> = registers(form, name).iter().map(|ty| format!(".{ty}")).collect();
        row.push(registers.join(" "));
        rows.push(row);
    }
    text.push_str(&columns(&rows));

    if let Some(evaluation) = evaluation {
        if let Some(extended) = evaluation.extended {
            text.push_str(&format!("  (in a 32-bit register, d is {})\n", hex(extended, 32)));
        }
        let mut rows = vec![["element", "bits", "value", "what happened"].map(cell).to_vec()];
        for element in &evaluation.elements {
            let story = &element.story;
            let to = story.conversion.dst;
            let name =
                if evaluation.elements.len() == 1 { "d".into() } else { format!("d[{}]", element.lane) };
            let happened = format!("from {}: {story}", element.from);
            rows.push(vec![name, hex(story.result, to.bits()), display(to, story.result), happened]);
        }
        text.push_str(&format!("\n{}", columns(&rows)));
    }
    text
}

/// The form and what it did, as JSON.
pub fn json(form: CvtForm, verdict: &Verdict, evaluation: Option<&Evaluation>) -> Json {
    let mut object = Map::new();
    object.insert("form".into(), form.to_string().into());
    object.insert("syntax".into(), syntax(form).into());
    object.insert("about".into(), about(form).into());
    let operands = operand_names(form).map(|name| json_operand(form, name, evaluation));
    object.insert("operands".into(), operands.collect());
    if let Some(evaluation) = evaluation {
        object.insert("result".into(), json_result(evaluation));
    }
    object.insert("availability".into(), json_availability(form, verdict));
    object.into()
}

fn json_operand(form: CvtForm, name: OperandName, evaluation: Option<&Evaluation>) -> Json {
    let ty = form.operand_type(name);
    let registers: Vec<&str> = registers(form, name).iter().map(|ty| ty.name()).collect();
    let mut operand = json!({"name": name.name(), "type": ty.map(|ty| ty.name()), "registers": registers});
    if let Some(bound) = evaluation.and_then(|e| e.operands.iter().find(|bound| bound.name == name)) {
        operand["bits"] = hex(bound.bits, ty.map_or(64, |ty| ty.bits())).into();
        if let Some(packed) = bound.layout {
            let mut values: Vec<Json> =
                lanes(packed, bound.bits).map(|code| json_value(packed.element, code)).collect();
            values.reverse();
            operand["values"] = values.into();
            operand["exact"] = bound.rounded_from.iter().all(Option::is_none).into();
        }
    }
    operand
}

fn json_result(evaluation: &Evaluation) -> Json {
    let element = |element: &super::operands::Element| {
        let story = &element.story;
        let (from, to) = (story.conversion.src, story.conversion.dst);
        json!({
            "lane": element.lane,
            "format": to.name(),
            "from": element.from,
            "source_bits": hex(story.source, from.bits()),
            "source": json_value(from, story.source),
            "bits": hex(story.result, to.bits()),
            "value": json_value(to, story.result),
            "outcome": story.outcome.name(),
            "error": story.error,
            "words": story.to_string(),
        })
    };
    let elements: Vec<Json> = evaluation.elements.iter().rev().map(element).collect();
    let mut result = json!({"bits": hex(evaluation.result, evaluation.width)});
    if let Some(extended) = evaluation.extended {
        result["extended"] = hex(extended, 32).into();
    }
    result["elements"] = elements.into();
    result
}

fn json_availability(form: CvtForm, verdict: &Verdict) -> Json {
    let alternative = |one: &softwarp::isa::Availability| json!({"targets": one.targets.to_string(), "since": one.since.to_string()});
    let alternatives: Vec<Json> = form.availability().iter().map(alternative).collect();
    let mut availability = json!({"words": verdict.words, "alternatives": alternatives});
    if let Some(legal) = verdict.legal {
        availability["target"] = verdict.question.target.map(|target| target.name()).into();
        availability["ptx"] = verdict.question.ptx.map(|ptx| ptx.to_string()).into();
        availability["legal"] = legal.into();
        availability["since"] = verdict.since.map(|since| since.to_string()).into();
    }
    availability
}
