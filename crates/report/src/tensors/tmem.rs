//! Fragments of tensor memory as a table: which register of which thread holds which cell.

use softwarp::units::tensor_core::fragment::{Fragment, Shape};
use std::fmt::Write;

/// Columns that are shown.
const SHOWN: usize = 8;

/// Reads `16x256b.x2` or `32x32b.x8.pack::16b`; what is wrong with it otherwise.
pub fn fragment(text: &str) -> Result<Fragment, String> {
    let mut words = text.split('.').filter(|word| !word.is_empty());
    let shapes = || Shape::ALL.map(Shape::name).join(", ");
    let name = words.next().unwrap_or_default();
    let shape = Shape::ALL.into_iter().find(|shape| shape.name() == name);
    let shape = shape.ok_or_else(|| format!("there is no shape `{name}`: there are {}", shapes()))?;
    let mut fragment = Fragment { shape, repeat: 1, packed: false };
    for word in words {
        match word.strip_prefix('x').and_then(|number| number.parse().ok()) {
            Some(repeat) => fragment.repeat = repeat,
            None if matches!(word, "pack::16b" | "unpack::16b") => fragment.packed = true,
            None if word == "b32" => {}
            None => return Err(format!("there is no `.{word}`: `.x2` or `.pack::16b` may follow a shape")),
        }
    }
    match fragment.exists() {
        true => Ok(fragment),
        false => Err(format!("`.{name}` is not repeated {} times", fragment.repeat)),
    }
}

/// The table. Rows are lanes, columns are columns; `t5 r2` is register 2 of thread 5.
pub fn table(fragment: &Fragment) -> String {
    let Fragment { shape, repeat, packed } = *fragment;
    let (registers, columns) = (fragment.registers(), fragment.columns());
    let mut held = std::collections::HashMap::new();
    for register in 0..registers {
        for thread in 0..32 {
            let cell = fragment.cell(register, thread);
            held.insert((cell.second, cell.lane, cell.column), (thread, register));
        }
    }
    let pack = if packed { ".pack::16b" } else { "" };
    let plural = |count: usize, word: &str| format!("{count} {word}{}", if count == 1 { "" } else { "s" });
    let mut text = format!(
        ".{}.x{repeat}{pack}: {}, {}; {} of each of 32 threads\n",
        shape.name(),
        plural(shape.lanes(), "lane"),
        plural(columns, "column"),
        plural(registers, "register"),
    );
    let step = if packed { 2 } else { 1 };
    let halves = if shape == Shape::Lanes16x32bx2 { 2 } else { 1 };
    let shown = columns.min(SHOWN * step);
    for second in [false, true].into_iter().take(halves) {
        if second {
            text.push_str("from the offset on:\n");
        }
        text.push_str("lane |");
        for column in (0..shown).step_by(step) {
            let name = if packed { format!("{column}, {}", column + 1) } else { column.to_string() };
            let _ = write!(text, " {name:>8}");
        }
        text.push('\n');
        for lane in 0..shape.lanes() {
            let _ = write!(text, "{lane:>4} |");
            for column in (0..shown).step_by(step) {
                if let Some((thread, register)) = held.get(&(second, lane, column)) {
                    let _ = write!(text, " {:>8}", format!("t{thread} r{register}"));
                }
            }
            text.push('\n');
        }
    }
    if shown < columns {
        let _ = writeln!(
            text,
            "and so on: every {} further columns have the next {} of the same threads",
            shown,
            plural(registers * shown / columns, "register")
        );
    }
    text
}
