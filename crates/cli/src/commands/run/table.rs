//! Memory for people: a short table of its values.

use super::super::json_value;
use super::document::Shown;
use crate::columns::lines;
use crate::literal::display;
use crate::run::elements::{self, Elements};
use crate::run::{Memory, RunError};
use softwarp::num::Format;

/// The most values of a row, and the most rows.
const WIDE: usize = 8;
const HIGH: usize = 16;

/// The value of a code as JSON has it.
pub fn json_number(format: Format, code: u64) -> String {
    match format {
        // The shortest decimal that stands for that very number.
        Format::F32 | Format::Tf32 if f32::from_bits(code as u32).is_finite() => {
            format!("{:?}", f32::from_bits(code as u32))
        }
        _ => json_value(format, code).to_string(),
    }
}

/// What a memory holds, as far as it is shown.
pub fn table(shown: &Shown, memory: &Memory<'_>) -> Result<String, RunError> {
    let bytes = memory.length();
    let (word, format, shape) = match &shown.elements {
        Some(Elements { format: Some(format), shape, .. }) => (format.name(), *format, shape.clone()),
        _ if bytes.is_multiple_of(4) => ("b32", Format::U32, vec![(bytes / 4) as usize]),
        _ => ("b8", Format::U8, vec![bytes as usize]),
    };
    let sizes: Vec<String> = shape.iter().map(usize::to_string).collect();
    let head = format!("{}: {word}[{}], {bytes} bytes\n", shown.name, sizes.join(", "));
    let start = memory.start(WIDE * HIGH * 8)?;
    let codes: Vec<u64> = elements::codes(format, &start).collect();
    let all = shape.iter().product::<usize>();
    let axis = shape.last().copied().unwrap_or(1).max(1);
    let value = |code: u64| match word {
        "b32" => format!("{code:08x}"),
        "b8" => format!("{code:02x}"),
        _ => display(format, code),
    };
    let mut rows: Vec<Vec<String>> = Vec::new();
    let mut at = 0;
    while at < all.min(codes.len()) && rows.len() < HIGH {
        let length = (axis - at % axis).min(WIDE).min(codes.len() - at);
        let mut row = vec![format!("  [{}]", index(&shape, at))];
        row.extend(codes[at..at + length].iter().map(|code| value(*code)));
        row.resize(WIDE.min(axis) + 1, String::new());
        rows.push(row);
        at += length;
    }
    let columns: Vec<usize> = (0..=WIDE.min(axis)).collect();
    let mut text = head + &lines(&rows, &columns, |column| column > 0, "");
    if at < all {
        text += &format!("  … and {} more\n", all - at);
    }
    Ok(text)
}

/// The indices of an element.
fn index(shape: &[usize], at: usize) -> String {
    let (mut rest, mut indices) = (at, Vec::new());
    for size in shape.iter().rev() {
        indices.push((rest % size.max(&1)).to_string());
        rest /= size.max(&1);
    }
    indices.reverse();
    indices.join(", ")
}
