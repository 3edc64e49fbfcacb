//! Exact conversions that PTX has no form of: `softwarp cvt f32.e4m3`.

use super::{Args, CommandError, Printed, array};
use crate::commands::{columns, json_number, json_value};
use crate::explain::explain;
use crate::literal::{Literal, display};
use crate::names;
use crate::widening::Widening;
use serde_json::{Value as Json, json};

/// Reads `TO.FROM`, with or without `cvt.` before it.
pub fn parse(spelling: &str) -> Option<Widening> {
    let (to, from) = spelling.strip_prefix("cvt.").unwrap_or(spelling).split_once('.')?;
    Widening::new(names::find(from)?, names::find(to)?)
}

/// As it is written.
pub fn name(widening: &Widening) -> String {
    format!("{}.{}", widening.dst, widening.src)
}

/// Converts values or an array, or describes the conversion.
pub fn run(widening: &Widening, args: &Args, values: &[String]) -> Result<Printed, CommandError> {
    if args.arch.is_some() || args.ptx.is_some() {
        let message =
            format!("{} is no form of PTX, so that --arch and --ptx say nothing about it", name(widening));
        return Err(CommandError::Usage(message));
    }
    if let (Some(input), Some(output)) = (&args.input, &args.output) {
        return array::widen(widening, args, input, output);
    }
    let mut codes = Vec::new();
    for value in values {
        let literal = Literal::parse(value).map_err(CommandError::usage)?;
        codes.push(literal.encode(widening.src).map_err(CommandError::usage)?.code);
    }
    Ok(if args.json { crate::commands::json(&in_json(widening, &codes)) } else { text(widening, &codes) }
        .into())
}

fn text(widening: &Widening, codes: &[u64]) -> String {
    let (src, dst) = (widening.src, widening.dst);
    let mut text = format!(
        "{}\n  every value of {src} is one of {dst}, so that nothing is rounded; PTX has no single instruction for it\n",
        name(widening)
    );
    if codes.is_empty() {
        return text;
    }
    let digits = |bits: u32| bits.div_ceil(4) as usize;
    let mut rows = vec![["from", "bits", "to", "value"].map(str::to_owned).to_vec()];
    for &code in codes {
        let result = widening.one(code);
        rows.push(vec![
            display(src, code),
            format!("0x{code:0width$x}", width = digits(src.bits())),
            format!("0x{result:0width$x}", width = digits(dst.bits())),
            display(dst, result),
        ]);
    }
    text.push('\n');
    text.push_str(&columns(&rows));
    text
}

/// `form`, `exact` and `elements`, each with `source_bits`, `source`, `bits`, `value` and `words`.
fn in_json(widening: &Widening, codes: &[u64]) -> Json {
    let (src, dst) = (widening.src, widening.dst);
    let element = |&code: &u64| {
        let result = widening.one(code);
        let story = explain(widening.conversion(), code, 0, result);
        json!({
            "source_bits": format!("{code:#x}"), "source": json_value(src, code),
            "bits": format!("{result:#x}"), "value": json_number(dst.decode(result)),
            "words": story.to_string(),
        })
    };
    let elements: Vec<Json> = codes.iter().map(element).collect();
    json!({"form": name(widening), "exact": true, "elements": elements})
}
