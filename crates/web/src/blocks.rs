//! Block-scaled formats: MX and NVFP4, block by block.

use crate::numbers::exact;
use crate::request::{Answer, Failure, Number, pattern, read, shown};
use serde::Deserialize;
use serde_json::{Value as Json, json};
use softwarp::literal::Literal;
use softwarp::num::Format;
use softwarp::num::block::{ElementRounding, Rules, ScaleRule, dequantize, quantize_by};
use softwarp_report::formats::has_tensor_scale;
use softwarp_report::names;
use softwarp_report::numbers::json_number;

/// The most elements.
const MOST: usize = 4096;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Asked {
    format: String,
    values: Vec<Number>,
    scale_rule: Option<String>,
    rounding: Option<String>,
}

impl Asked {
    fn rules(&self) -> Result<Rules, Failure> {
        let scale = match self.scale_rule.as_deref() {
            None | Some("floor") => ScaleRule::Floor,
            Some("nearest") => ScaleRule::Nearest,
            Some("even") => ScaleRule::Even,
            Some("amax") => ScaleRule::Ceil,
            Some(other) => {
                let known = "floor, nearest, even and amax";
                return Err(Failure::new(format!(
                    "there is no scale rule `{}`; there are {known}",
                    shown(other)
                )));
            }
        };
        let rounding = match self.rounding.as_deref() {
            None | Some("nearest") => ElementRounding::NearestEven,
            Some("zero") => ElementRounding::TowardZero,
            Some(other) => {
                return Err(Failure::new(format!(
                    "there is no rounding `{}`; there are nearest and zero",
                    shown(other)
                )));
            }
        };
        Ok(Rules { scale, rounding })
    }
}

/// What became of a number.
fn outcome(input: f32, result: f32, code: u64, element: Format) -> &'static str {
    let at_edge = code == element.max_finite() || code == element.min_finite();
    match () {
        () if input.is_nan() => "nan",
        () if result == input => "exact",
        () if result == 0.0 => "underflowed",
        () if at_edge && result.abs() < input.abs() => "saturated",
        () if result > input => "rounded_up",
        () => "rounded_down",
    }
}

/// Answers `number.blocks`.
pub fn blocks(request: &Json) -> Answer {
    let asked: Asked = read(request)?;
    let format = names::block(&asked.format)?;
    if asked.values.is_empty() || asked.values.len() > MOST {
        return Err(Failure::new(format!("`values` must be 1 to {MOST} numbers")));
    }
    let mut values = Vec::new();
    for number in &asked.values {
        let literal = Literal::parse(&number.text()).map_err(|error| Failure::new(error.to_string()))?;
        let code = literal.encode(Format::F32).map_err(|error| Failure::new(error.to_string()))?.code;
        values.push(f32::from_bits(code as u32));
    }
    let row = values.len();
    let quantized = quantize_by(format, asked.rules()?, &values, row);
    let results = dequantize(&quantized, row, row);
    let (element, scale) = (format.element(), format.scale());
    let is_packed = element.bits() == 4;
    let code = |index: usize| -> u64 {
        let byte = quantized.codes.get(if is_packed { index / 2 } else { index }).copied().unwrap_or(0);
        u64::from(if is_packed { byte >> (4 * (index % 2)) & 15 } else { byte })
    };
    let mut blocks = Vec::new();
    let (mut squares, mut largest, mut underflowed, mut saturated) = (0.0, 0.0f64, 0, 0);
    for (number, part) in values.chunks(format.block()).enumerate() {
        let first = number * format.block();
        let mut elements = Vec::new();
        for (offset, input) in part.iter().enumerate() {
            let (code, result) = (code(first + offset), results.get(first + offset).copied().unwrap_or(0.0));
            let error = f64::from(result) - f64::from(*input);
            let outcome = outcome(*input, result, code, element);
            if error.is_finite() {
                squares += error * error;
                largest = largest.max(error.abs());
            }
            underflowed += u32::from(outcome == "underflowed");
            saturated += u32::from(outcome == "saturated");
            elements.push(json!({
                "input": json_number((*input).into()), "bits": pattern(element.bits(), code),
                "value": exact(element, code), "result": json_number(result.into()),
                "error": json_number(error), "outcome": outcome,
            }));
        }
        let code = quantized.scales.get(number).copied().unwrap_or(0).into();
        let most = part.iter().fold(0.0f32, |most, one| most.max(one.abs()));
        blocks.push(json!({
            "scale": {"format": scale.name(), "bits": pattern(scale.bits(), code), "value": exact(scale, code)},
            "largest": json_number(most.into()), "elements": elements,
        }));
    }
    let tensor_scale = has_tensor_scale(format).then(|| json_number(quantized.tensor_scale.into()));
    Ok(json!({
        "format": format.name(), "element": element.name(), "blockSize": format.block(),
        "tensorScale": tensor_scale, "blocks": blocks,
        "errors": {
            "rms": json_number((squares / row as f64).sqrt()), "largest": json_number(largest),
            "underflowed": underflowed, "saturated": saturated,
        },
    }))
}
