//! Formats as text and as JSON.
//!
//! The JSON object of a format, whose keys stay as they are: `name`, `bits`, `about`, `kind` (`float`,
//! `exponent`, `fixed`, `int`), `fields` (`name`, `bits`, top field first), `bias`, and the codes
//! `largest`, `least`, `least_normal`, `least_positive`, `infinity`, `nan`, each with `bits` and `value`, or
//! null, and `aliases`: its other names. One format asked for by name also has `codes`, if it has at most 8 bits:
//! `bits`, `value`, `class`. A block-scaled format has `name`, `kind` (`block`), `element`, `scale`, `block` (elements
//! that share a scale), `tensor_scale` (whether the whole tensor has one) and `aliases`.

use super::describe::{bias, fields, formula, landmarks, nans};
use super::has_tensor_scale;
use crate::columns::columns;
use crate::literal::{display, display_f64};
use crate::names;
use crate::numbers::json_value;
use serde_json::{Value as Json, json};
use softwarp::num::block::BlockFormat;
use softwarp::num::{Class, Format, Kind};

fn hex(format: Format, code: u64) -> String {
    format!("0x{code:0digits$x}", digits = format.bits().div_ceil(4) as usize)
}

/// `1/4/3`: bits of sign, exponent and mantissa.
fn field_widths(format: Format) -> String {
    match format.spec().kind {
        Kind::Float { exponent, mantissa, signed, .. } => {
            format!("{}/{exponent}/{mantissa}", u8::from(signed))
        }
        Kind::Exponent { .. } => format!("0/{}/0", format.bits()),
        Kind::Fixed { .. } | Kind::Int { .. } => "-".into(),
    }
}

/// All formats in one table.
pub fn list() -> String {
    let names = [
        "format",
        "bits",
        "s/e/m",
        "bias",
        "largest",
        "least normal",
        "least positive",
        "inf",
        "nan",
        "about",
    ];
    let mut rows = vec![names.map(str::to_owned).to_vec()];
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".into());
    for format in Format::ALL {
        let spec = format.spec();
        let nans: Vec<String> = nans(format).iter().map(|&code| hex(format, code)).collect();
        rows.push(vec![
            spec.name.to_owned(),
            spec.bits.to_string(),
            field_widths(format),
            or_dash(bias(format).map(|bias| bias.to_string())),
            short(format, format.max_finite()),
            or_dash(format.min_normal().map(|code| short(format, code))),
            short(format, format.min_positive()),
            or_dash(format.infinity().map(|code| hex(format, code))),
            or_dash((!nans.is_empty()).then(|| nans.join(" "))),
            spec.about.to_owned(),
        ]);
    }
    format!("{}\n{}", columns(&rows), other_names())
}

/// The block-scaled formats, and the other names of all formats.
fn other_names() -> String {
    let mut rows =
        vec![["block format", "element", "scale", "block", "other names"].map(str::to_owned).to_vec()];
    for format in BlockFormat::ALL {
        rows.push(vec![
            format.name().to_owned(),
            format.element().to_string(),
            format.scale().to_string(),
            format.block().to_string(),
            names::block_aliases(format).join(" "),
        ]);
    }
    let mut other = vec![["format", "other names"].map(str::to_owned).to_vec()];
    let named = Format::ALL.into_iter().filter(|format| !names::aliases(*format).is_empty());
    other.extend(named.map(|format| vec![format.to_string(), names::aliases(format).join(" ")]));
    format!("{}\n{}", columns(&rows), columns(&other))
}

/// A block-scaled format in full.
pub fn block(format: BlockFormat) -> String {
    let (element, scale) = (format.element(), format.scale());
    let article = if scale == Format::E4m3 { "an" } else { "a" };
    let tensor = if has_tensor_scale(format) { ", and an f32 scale for the whole tensor" } else { "" };
    let mut text = format!(
        "{}: blocks of {} {element} elements, each with {article} {scale} scale{tensor}\n",
        format.name(),
        format.block()
    );
    let bits = f64::from(element.bits()) + f64::from(scale.bits()) / format.block() as f64;
    text.push_str(&format!(
        "  value: element × scale{}\n",
        if tensor.is_empty() { "" } else { " × tensor scale" }
    ));
    text.push_str(&format!("  bits for an element, scales included: {bits}\n"));
    text.push_str(&format!("  also called {}\n", names::block_aliases(format).join(", ")));
    text.push_str(&format!("\nsee `softwarp formats {element}` and `softwarp formats {scale}`\n"));
    text
}

/// A block-scaled format as JSON.
pub fn json_block(format: BlockFormat) -> Json {
    json!({
        "name": format.name(), "kind": "block", "element": format.element().name(), "scale": format.scale().name(),
        "block": format.block(), "tensor_scale": has_tensor_scale(format), "aliases": names::block_aliases(format),
    })
}

/// A value as it is if that is short, else in six digits, for tables.
fn short(format: Format, code: u64) -> String {
    let exact = exact(format, code);
    if format.is_int() || exact.len() <= 11 && !exact.contains('e') {
        return exact;
    }
    format!("{:.5e}", format.decode(code))
}

/// A value in all the digits that an f64 has: the shortest decimal of the least f32 is 1e-45, which says
/// too little here.
fn exact(format: Format, code: u64) -> String {
    match format {
        Format::F32 | Format::Tf32 => display_f64(format.decode(code)),
        _ => display(format, code),
    }
}

/// One format in full.
pub fn one(format: Format) -> String {
    let spec = format.spec();
    let mut text = format!("{}: {}\n\n{}\n", spec.name, spec.about, layout(format));
    text.push_str(&format!("  value: {}\n", formula(format)));
    if !names::aliases(format).is_empty() {
        text.push_str(&format!("  also called {}\n", names::aliases(format).join(", ")));
    }
    text.push('\n');
    let mut rows = vec![["landmark", "bits", "value"].map(str::to_owned).to_vec()];
    for (name, code) in landmarks(format) {
        rows.push(vec![name.to_owned(), hex(format, code), exact(format, code)]);
    }
    text.push_str(&columns(&rows));
    if format.bits() <= 8 {
        text.push_str(&format!("\n{}", code_table(format)));
    }
    text
}

/// The bits, their numbers above them and their fields below.
fn layout(format: Format) -> String {
    let fields = fields(format);
    let bits = format.bits();
    let width = if bits > 10 { 3 } else { 2 };
    let (mut numbers, mut letters) = (String::new(), String::new());
    let mut bit = bits;
    for field in &fields {
        for _ in 0..field.bits {
            bit -= 1;
            numbers.push_str(&format!("{bit:>width$}"));
            letters.push_str(&format!("{:>width$}", field.letter));
        }
        numbers.push(' ');
        letters.push(' ');
    }
    let mut text = format!(" {}\n {}\n\n", numbers.trim_end(), letters.trim_end());
    let mut rows = Vec::new();
    for field in &fields {
        let plural = if field.bits == 1 { "bit" } else { "bits" };
        let bias = bias(format).filter(|_| field.name == "exponent");
        let bias = bias.map(|bias| format!(", bias {bias}")).unwrap_or_default();
        let name = format!("{}{bias}", field.name);
        rows.push(vec![format!("  {}", field.letter), format!("{} {plural}", field.bits), name]);
    }
    text.push_str(&columns(&rows));
    text
}

/// The widest line of a table of codes.
const LINE: usize = 100;

/// Every code: in each row, the codes that follow its first.
fn code_table(format: Format) -> String {
    let values: Vec<String> = format.codes().map(|code| display(format, code)).collect();
    let widest = values.iter().map(|value| value.chars().count()).max().unwrap_or(1);
    let per_row = [8, 4, 2].into_iter().find(|count| 6 + count * (widest + 2) <= LINE).unwrap_or(1);
    let mut rows = vec![vec!["code".to_owned()]];
    rows[0].extend((0..per_row.min(values.len())).map(|column| format!("+{column}")));
    for (row, values) in values.chunks(per_row).enumerate() {
        let mut cells = vec![hex(format, (row * per_row) as u64)];
        cells.extend(values.iter().cloned());
        rows.push(cells);
    }
    columns(&rows)
}

/// All formats.
pub fn json_list() -> Json {
    Format::ALL.into_iter().map(describe).collect()
}

/// One format, with its codes if these are few.
pub fn json_one(format: Format) -> Json {
    let mut object = describe(format);
    if format.bits() <= 8 {
        let code = |code| {
            let class = match format.classify(code) {
                Class::Zero => "zero",
                Class::Subnormal => "subnormal",
                Class::Normal => "normal",
                Class::Infinite => "infinite",
                Class::Nan => "nan",
            };
            json!({"bits": hex(format, code), "value": json_value(format, code), "class": class})
        };
        object["codes"] = format.codes().map(code).collect();
    }
    object
}

fn describe(format: Format) -> Json {
    let spec = format.spec();
    let kind = match spec.kind {
        Kind::Float { .. } => "float",
        Kind::Exponent { .. } => "exponent",
        Kind::Fixed { .. } => "fixed",
        Kind::Int { .. } => "int",
    };
    let fields: Vec<Json> =
        fields(format).iter().map(|field| json!({"name": field.name, "bits": field.bits})).collect();
    let number = |code: u64| json!({"bits": hex(format, code), "value": json_value(format, code)});
    json!({
        "name": spec.name,
        "bits": spec.bits,
        "about": spec.about,
        "kind": kind,
        "fields": fields,
        "bias": bias(format),
        "largest": number(format.max_finite()),
        "least": number(format.min_finite()),
        "least_normal": format.min_normal().map(number),
        "least_positive": number(format.min_positive()),
        "infinity": format.infinity().map(number),
        "nan": format.canonical_nan().map(number),
        "aliases": names::aliases(format),
    })
}
